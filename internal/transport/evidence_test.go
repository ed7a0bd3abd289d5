package transport

import (
	"context"
	"errors"
	"io"
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
	writesHTTP1  = func(e *evidence, _ *http.Request) { e.trace().WroteHeaderField("Host", nil) }
	writesHTTP2  = func(e *evidence, _ *http.Request) { e.trace().WroteHeaderField(":authority", nil) }
	writesField  = func(e *evidence, _ *http.Request) { e.trace().WroteHeaderField("Accept", nil) }
	readsBody    = func(_ *evidence, req *http.Request) { _, _ = req.Body.Read(make([]byte, 1)) }
	readsCopy    = func(_ *evidence, req *http.Request) {
		body, _ := req.GetBody()
		_, _ = body.Read(make([]byte, 1))
	}
)

func TestEvidence(t *testing.T) {
	t.Parallel()
	type steps = []func(*evidence, *http.Request)
	tests := []struct {
		name      string
		class     Class
		own       bool // the library's own transport
		steps     steps
		notSent   bool
		rewinds   bool // GetBody succeeds afterwards
		cancelled error
		twice     bool
	}{
		{name: "no hooks", class: Once, rewinds: true},
		{name: "a connection was requested", class: Once, steps: steps{requestsConn}, notSent: true, rewinds: true},
		{name: "a connection was used", class: Once, steps: steps{requestsConn, getsConn}, notSent: true, rewinds: true},
		{name: "HTTP/1.1 header", class: Once, steps: steps{requestsConn, getsConn, writesHTTP1}},
		{name: "HTTP/2 header", class: Once, steps: steps{requestsConn, getsConn, writesHTTP2}},
		{name: "another header field", class: Once, steps: steps{requestsConn, getsConn, writesField}},
		{name: "a header without a connection", class: Once, steps: steps{writesHTTP2}},
		{name: "body read, then a connection", class: Once, steps: steps{readsBody, requestsConn}},
		{name: "a connection, then body read", class: Once, steps: steps{requestsConn, readsBody}},
		{name: "copy of the body read", class: Once, steps: steps{readsCopy, requestsConn}},
		{name: "own transport: body read", class: Once, own: true, steps: steps{requestsConn, readsBody}, notSent: true, rewinds: true},
		{name: "two connections failed", class: Once, steps: steps{requestsConn, requestsConn}, notSent: true, rewinds: true},
		{name: "connection requested after a header", class: Once,
			steps: steps{requestsConn, getsConn, writesHTTP1, requestsConn}, cancelled: errSecondSend},
		{name: "connection used after a header", class: Once,
			steps: steps{requestsConn, getsConn, writesHTTP2, getsConn}, cancelled: errSecondSend},
		{name: "connection requested after a header, on the own transport", class: Once, own: true,
			steps: steps{requestsConn, getsConn, writesHTTP2, requestsConn}, cancelled: errSecondSend},
		{name: "two headers at once", class: Once,
			steps: steps{requestsConn, requestsConn, getsConn, getsConn, writesHTTP1, writesField, writesHTTP1}, twice: true},
		{name: "a read is sent again", class: Replayable,
			steps: steps{requestsConn, getsConn, writesHTTP1, requestsConn, getsConn, writesHTTP1}, twice: true},
		{name: "a read on four connections", class: Replayable,
			steps: steps{requestsConn, getsConn, getsConn, getsConn, getsConn}, notSent: true},
		{name: "a read on a fifth", class: Replayable,
			steps:   steps{requestsConn, getsConn, getsConn, getsConn, getsConn, requestsConn},
			notSent: true, cancelled: errConnsFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ended := false
			e := &evidence{class: tt.class, end: func() { ended = true }}
			body := []byte("{}")
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://a.example", strings.NewReader(string(body)))
			if err != nil {
				t.Fatal(err)
			}
			if tt.class == Once {
				e.guard(req, body, tt.own)
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
			if got := e.reason(); got != tt.cancelled || ended != (tt.cancelled != nil) {
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
				if b, err := io.ReadAll(again); err != nil || string(b) != string(body) {
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
	for name, resp := range map[string]*http.Response{"none": nil, "status 0": {Body: http.NoBody}, "status 99": {StatusCode: 99, Body: http.NoBody}} {
		c := New(&http.Client{Transport: stub(func(req *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(req.Context()).GetConn("a.example:443")
			return resp, nil
		})})
		if r := c.Do(t.Context(), newCall(t, Once, "https://a.example")); !r.MaybeSent || r.Attempts != 1 || r.Err != errNoAnswer {
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
	if err := reduce(lateTimer{t.Context()}, errors.New("dial: i/o timeout")); err != context.DeadlineExceeded {
		t.Errorf("reduce: %v, want %v", err, context.DeadlineExceeded)
	}
}
