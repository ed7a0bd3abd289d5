package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"
)

// The steps of an attempt that evidence sees.
var (
	requestsConn = func(e *evidence, _ *http.Request) { e.trace().GetConn("a.example:443") }
	getsConn     = func(e *evidence, _ *http.Request) { e.trace().GotConn(httptrace.GotConnInfo{}) }
	responds     = func(e *evidence, _ *http.Request) { e.trace().GotFirstResponseByte() }
	writesHTTP1  = writes("Host", "a.example")
	writesHTTP2  = writes(":authority", "a.example")
	writesField  = writes("Accept", "text/plain")
	writesOther  = writes("Host", "tokens.example")
	writesAgent  = writes("User-Agent", "commerce-go")
	readsBody    = func(_ *evidence, req *http.Request) { _, _ = req.Body.Read(make([]byte, 1)) }
	readsCopy    = func(_ *evidence, req *http.Request) {
		body, _ := req.GetBody()
		_, _ = body.Read(make([]byte, 1))
	}
)

func writes(key, value string) func(*evidence, *http.Request) {
	return func(e *evidence, _ *http.Request) { e.trace().WroteHeaderField(key, []string{value}) }
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	type steps = []func(*evidence, *http.Request)
	tests := []struct {
		name      string
		class     Class
		own       bool // the library's own transport
		foreign   bool // neither that nor an http.Transport
		noBody    bool
		steps     steps
		notSent   bool
		rewinds   bool // GetBody succeeds afterwards
		cancelled error
		twice     bool
	}{
		{name: "no hooks", class: Once, rewinds: true},
		{name: "a connection was requested", class: Once, steps: steps{requestsConn}, notSent: true, rewinds: true},
		{name: "a connection was used", class: Once, steps: steps{requestsConn, getsConn}, rewinds: true},
		{name: "a connection failed, and another one", class: Once,
			steps: steps{requestsConn, getsConn, requestsConn}, notSent: true, rewinds: true},
		{name: "a body that does not show whether it was read", class: Once, foreign: true, noBody: true,
			steps: steps{requestsConn}, rewinds: true},
		{name: "no body, on an http.Transport", class: Once, noBody: true,
			steps: steps{requestsConn}, notSent: true, rewinds: true},
		{name: "another request, then a connection", class: Once,
			steps: steps{requestsConn, getsConn, writesOther, requestsConn}},
		{name: "this request to another host, then a connection", class: Once,
			steps: steps{requestsConn, getsConn, writesOther, writesAgent, requestsConn}, cancelled: errSecondSend},
		{name: "this request to other hosts, twice", class: Once, cancelled: errSecondSend, twice: true,
			steps: steps{requestsConn, requestsConn, writesOther, writesAgent, writesOther, writesAgent}},
		{name: "HTTP/1.1 header", class: Once, steps: steps{requestsConn, getsConn, writesHTTP1}},
		{name: "HTTP/2 header", class: Once, steps: steps{requestsConn, getsConn, writesHTTP2}},
		{name: "another header field", class: Once, steps: steps{requestsConn, getsConn, writesField}},
		{name: "a header without a connection", class: Once, steps: steps{writesHTTP2}},
		{name: "body read, then a connection", class: Once, steps: steps{readsBody, requestsConn}},
		{name: "a connection, then body read", class: Once, steps: steps{requestsConn, readsBody}},
		{name: "copy of the body read", class: Once, steps: steps{readsCopy, requestsConn}},
		{name: "own transport: body read", class: Once, own: true,
			steps: steps{requestsConn, readsBody}, notSent: true, rewinds: true},
		{name: "two connections failed", class: Once, steps: steps{requestsConn, requestsConn}, notSent: true, rewinds: true},
		{name: "connection requested after a header", class: Once,
			steps: steps{requestsConn, getsConn, writesHTTP1, requestsConn}, cancelled: errSecondSend},
		{name: "connection used after a header", class: Once,
			steps: steps{requestsConn, getsConn, writesHTTP2, getsConn}, cancelled: errSecondSend},
		{name: "connection requested after a header, on the own transport", class: Once, own: true,
			steps: steps{requestsConn, getsConn, writesHTTP2, requestsConn}, cancelled: errSecondSend},
		{name: "two headers at once", class: Once,
			steps: steps{requestsConn, requestsConn, getsConn, getsConn, writesHTTP1, writesField, writesAgent, writesHTTP1},
			twice: true, cancelled: errSecondSend},
		{name: "a read is sent again", class: Replayable,
			steps: steps{requestsConn, getsConn, writesHTTP1, requestsConn, getsConn, writesHTTP1}, twice: true},
		{name: "a read on four connections", class: Replayable,
			steps: steps{requestsConn, getsConn, getsConn, getsConn, getsConn}},
		{name: "a read on a fifth, after a response", class: Replayable,
			steps: steps{requestsConn, getsConn, getsConn, getsConn, getsConn, responds, requestsConn}, notSent: true},
		{name: "a read on a fifth", class: Replayable,
			steps:   steps{requestsConn, getsConn, getsConn, getsConn, getsConn, requestsConn},
			notSent: true, cancelled: errConnsFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ended := false
			e := &evidence{class: tt.class, host: "a.example", userAgent: "commerce-go", cancelAttempt: func() { ended = true }}
			body := "{}"
			if tt.noBody {
				body = ""
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://a.example", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if tt.noBody {
				req.Body = nil
			}
			e.transport = callersHTTPTransport
			if tt.own {
				e.transport = ownHTTPTransport
			}
			if tt.foreign {
				e.transport = customTransport
			}
			if tt.class == Once {
				e.guard(req, []byte(body))
			}
			for _, step := range tt.steps {
				step(e, req)
			}
			if got := e.notSent(); got != tt.notSent {
				t.Errorf("notSent() = %v, want %v", got, tt.notSent)
			}
			if got := e.sentTwice(); got != tt.twice {
				t.Errorf("sentTwice() = %v, want %v", got, tt.twice)
			}
			if got := e.cancelReason(); got != tt.cancelled || ended != (tt.cancelled != nil) {
				t.Errorf("reason() = %v, ended %v, want %v", got, ended, tt.cancelled)
			}
			if tt.class == Replayable {
				return
			}
			again, err := req.GetBody()
			if (err == nil) != tt.rewinds || err != nil && err != errBodySent {
				t.Fatalf("GetBody: error %v, want success %v", err, tt.rewinds)
			}
			if err == nil {
				if b, err := io.ReadAll(again); err != nil || string(b) != body {
					t.Errorf("GetBody returns %q, error %v, want %q", b, err, body)
				}
			}
		})
	}
}

// A transport that asked for a connection and then returns no usable response may
// have sent the request all the same: something made up that response.
func TestDo_responseWithoutStatus(t *testing.T) {
	t.Parallel()
	for name, resp := range map[string]*http.Response{
		"none": nil, "status 0": {Body: http.NoBody}, "status 99": {StatusCode: 99, Body: http.NoBody},
	} {
		c := New(&http.Client{Transport: stub(func(req *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(req.Context()).GetConn("a.example:443")
			return resp, nil
		})})
		r := c.Do(t.Context(), newCall(t, Once, "https://a.example"))
		if !r.MaybeSent || r.Attempts != 1 || r.Err != errNoResponse {
			t.Errorf("%s: %+v, want MaybeSent after 1 attempt", name, r)
		}
	}
}

// lateTimer is a context whose deadline has passed, though it does not say so yet.
type lateTimer struct{ context.Context }

func (lateTimer) Deadline() (time.Time, bool) { return time.Unix(0, 0), true }

// A deadline counts from the moment it passes, not from when the timer of the context
// fires: a dialer that looks at the deadline may be first.
func TestDo_deadlineBeforeItsTimer(t *testing.T) {
	t.Parallel()
	sent := 0
	c := New(&http.Client{Transport: stub(func(*http.Request) (*http.Response, error) {
		sent++
		return nil, errors.New("dial: i/o timeout")
	})})
	for _, class := range []Class{Replayable, Once} {
		r := c.Do(lateTimer{t.Context()}, newCall(t, class, "https://a.example"))
		if r.Err != context.DeadlineExceeded || r.MaybeSent || r.Attempts != 0 || sent != 0 {
			t.Errorf("class %d: %+v, %d requests, want a deadline and none", class, r, sent)
		}
	}
	if err := redact(lateTimer{t.Context()}, errors.New("dial: i/o timeout")); err != context.DeadlineExceeded {
		t.Errorf("reduce: %v, want %v", err, context.DeadlineExceeded)
	}
}

// closable is a connection that records that it was closed.
type closable struct {
	net.Conn
	closed bool
}

func (c *closable) Close() error {
	c.closed = true
	return nil
}

// net/http may write to an idle HTTP/1.1 connection although the context has just ended:
// the connection must be closed before. One of HTTP/2 carries other requests, and is not
// written to once the context has ended.
func TestEvidence_secondConnection(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		class  Class
		first  func(*evidence, *http.Request)
		closed bool
	}{
		{name: "HTTP/1.1", class: Once, first: writesHTTP1, closed: true},
		{name: "HTTP/2", class: Once, first: writesHTTP2},
		{name: "a read", class: Replayable, first: writesHTTP1},
		{name: "another request", class: Once, first: writesOther},
	} {
		e := &evidence{class: tt.class, host: "a.example", cancelAttempt: func() {}}
		requestsConn(e, nil)
		getsConn(e, nil)
		tt.first(e, nil)
		requestsConn(e, nil)
		conn := &closable{}
		e.trace().GotConn(httptrace.GotConnInfo{Conn: conn})
		if conn.closed != tt.closed {
			t.Errorf("%s: closed %v, want %v", tt.name, conn.closed, tt.closed)
		}
	}
}
