package transport

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// step is something that a transport does during an attempt.
type step func(*evidence, *http.Request)

var (
	requestsConn step = func(e *evidence, _ *http.Request) { e.trace().GetConn("store.example:443") }
	getsConn     step = func(e *evidence, _ *http.Request) { e.trace().GotConn(httptrace.GotConnInfo{}) }
	responds     step = func(e *evidence, _ *http.Request) { e.trace().GotFirstResponseByte() }
	writesHTTP1       = writes("Host", "store.example")
	writesHTTP2       = writes(":authority", "store.example")
	writesField       = writes("Accept", "text/plain")
	writesOther       = writes("Host", "tokens.example")
	writesAgent       = writes("User-Agent", "commerce-go")
	readsBody    step = func(_ *evidence, req *http.Request) { _, _ = req.Body.Read(make([]byte, 1)) }
	readsCopy    step = func(_ *evidence, req *http.Request) {
		body, _ := req.GetBody()
		_, _ = body.Read(make([]byte, 1))
	}
)

func writes(key, value string) step {
	return func(e *evidence, _ *http.Request) { e.trace().WroteHeaderField(key, []string{value}) }
}

type evidenceTest struct {
	name      string
	class     Class
	transport transportKind
	noBody    bool
	steps     []step
	notSent   bool
	getBody   bool // GetBody succeeds after the steps
	cancelled error
	sentTwice bool
}

var evidenceTests = []evidenceTest{
	{name: "no hooks", class: Once, getBody: true},
	{name: "a connection was requested", class: Once, steps: []step{requestsConn}, notSent: true, getBody: true},
	{name: "a connection was used", class: Once, steps: []step{requestsConn, getsConn}, getBody: true},
	{name: "a connection failed, and another one", class: Once,
		steps: []step{requestsConn, getsConn, requestsConn}, notSent: true, getBody: true},
	{name: "a body that does not show whether it was read", class: Once, transport: customTransport, noBody: true,
		steps: []step{requestsConn}, getBody: true},
	{name: "no body, on an http.Transport", class: Once, transport: callersHTTPTransport, noBody: true,
		steps: []step{requestsConn}, notSent: true, getBody: true},
	{name: "another request, then a connection", class: Once,
		steps: []step{requestsConn, getsConn, writesOther, requestsConn}},
	{name: "this request to another host, then a connection", class: Once,
		steps: []step{requestsConn, getsConn, writesOther, writesAgent, requestsConn}, cancelled: errSecondSend},
	{name: "this request to other hosts, twice", class: Once, cancelled: errSecondSend, sentTwice: true,
		steps: []step{requestsConn, requestsConn, writesOther, writesAgent, writesOther, writesAgent}},
	{name: "HTTP/1.1 header", class: Once, steps: []step{requestsConn, getsConn, writesHTTP1}},
	{name: "HTTP/2 header", class: Once, steps: []step{requestsConn, getsConn, writesHTTP2}},
	{name: "another header field", class: Once, steps: []step{requestsConn, getsConn, writesField}},
	{name: "a header without a connection", class: Once, steps: []step{writesHTTP2}},
	{name: "body read, then a connection", class: Once, steps: []step{readsBody, requestsConn}},
	{name: "a connection, then body read", class: Once, steps: []step{requestsConn, readsBody}},
	{name: "copy of the body read", class: Once, transport: callersHTTPTransport, steps: []step{readsCopy, requestsConn}},
	{name: "own transport: body read", class: Once, transport: ownHTTPTransport,
		steps: []step{requestsConn, readsBody}, notSent: true, getBody: true},
	{name: "two connections failed", class: Once, steps: []step{requestsConn, requestsConn}, notSent: true, getBody: true},
	{name: "connection requested after a header", class: Once,
		steps: []step{requestsConn, getsConn, writesHTTP1, requestsConn}, cancelled: errSecondSend},
	{name: "connection used after a header", class: Once,
		steps: []step{requestsConn, getsConn, writesHTTP2, getsConn}, cancelled: errSecondSend},
	{name: "connection requested after a header, on the own transport", class: Once, transport: ownHTTPTransport,
		steps: []step{requestsConn, getsConn, writesHTTP2, requestsConn}, cancelled: errSecondSend},
	{name: "two headers at once", class: Once,
		steps:     []step{requestsConn, requestsConn, getsConn, getsConn, writesHTTP1, writesField, writesAgent, writesHTTP1},
		sentTwice: true, cancelled: errSecondSend},
	{name: "a read is sent again", class: Replayable,
		steps: []step{requestsConn, getsConn, writesHTTP1, requestsConn, getsConn, writesHTTP1}, sentTwice: true},
	{name: "a read on four connections", class: Replayable,
		steps: []step{requestsConn, getsConn, getsConn, getsConn, getsConn}},
	{name: "a read on a fifth, after a response", class: Replayable,
		steps: []step{requestsConn, getsConn, getsConn, getsConn, getsConn, responds, requestsConn}, notSent: true},
	{name: "a read on a fifth", class: Replayable,
		steps:   []step{requestsConn, getsConn, getsConn, getsConn, getsConn, requestsConn},
		notSent: true, cancelled: errConnsFailed},
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	for _, tt := range evidenceTests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t)
		})
	}
}

func (tt evidenceTest) run(t *testing.T) {
	t.Helper()
	cancelled := false
	e := &evidence{
		class: tt.class, transport: tt.transport, host: "store.example", userAgent: "commerce-go",
		cancelAttempt: func() { cancelled = true },
	}
	var body []byte
	req := httptest.NewRequest(http.MethodPost, storeURL, nil)
	if tt.noBody {
		req.Body = nil
	} else {
		body = []byte("{}")
	}
	if tt.class == Once {
		e.guard(req, body)
	}
	for _, step := range tt.steps {
		step(e, req)
	}
	if got := e.notSent(); got != tt.notSent {
		t.Errorf("notSent() = %v, want %v", got, tt.notSent)
	}
	if got := e.sentTwice(); got != tt.sentTwice {
		t.Errorf("sentTwice() = %v, want %v", got, tt.sentTwice)
	}
	if got := e.cancelReason(); got != tt.cancelled || cancelled != (tt.cancelled != nil) {
		t.Errorf("cancelReason() = %v, cancelled %v, want %v", got, cancelled, tt.cancelled)
	}
	if tt.class == Replayable {
		return
	}
	again, err := req.GetBody()
	if (err == nil) != tt.getBody || err != nil && err != errBodySent {
		t.Fatalf("GetBody() returns error %v, want success %v", err, tt.getBody)
	}
	if err == nil {
		if b, err := io.ReadAll(again); err != nil || string(b) != string(body) {
			t.Errorf("GetBody() returns %q, error %v, want %q", b, err, body)
		}
	}
}

// closeRecorder is a connection that records that it was closed.
type closeRecorder struct {
	net.Conn
	closed bool
}

func (c *closeRecorder) Close() error {
	c.closed = true
	return nil
}

// net/http may write to an idle HTTP/1.1 connection even if the context has just ended, so the connection must be
// closed. An HTTP/2 connection carries other requests, and net/http does not write to it after the context has ended.
func TestEvidence_secondConnection(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		class  Class
		first  step
		closed bool
	}{
		{name: "HTTP/1.1", class: Once, first: writesHTTP1, closed: true},
		{name: "HTTP/2", class: Once, first: writesHTTP2},
		{name: "a read", class: Replayable, first: writesHTTP1},
		{name: "another request", class: Once, first: writesOther},
	} {
		e := &evidence{class: tt.class, host: "store.example", cancelAttempt: func() {}}
		requestsConn(e, nil)
		getsConn(e, nil)
		tt.first(e, nil)
		requestsConn(e, nil)
		conn := &closeRecorder{}
		e.trace().GotConn(httptrace.GotConnInfo{Conn: conn})
		if conn.closed != tt.closed {
			t.Errorf("%s: closed %v, want %v", tt.name, conn.closed, tt.closed)
		}
	}
}

// net/http may send a call again by itself only if it has written nothing.
func TestEvidence_staleConnection(t *testing.T) {
	t.Parallel()
	var bodies atomic.Int32
	address := rawServer(t, func(conn net.Conn, request string) {
		if strings.Contains(request, "body") {
			bodies.Add(1)
		}
		send(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") // and closes the connection, which the client keeps
	})
	c := newClient(t)
	succeeded := 0
	const calls = 50
	for range calls {
		r := c.Do(t.Context(), newCall(t, Once, address))
		if r.OK() {
			succeeded++
		} else if !r.MaybeSent {
			t.Errorf("%+v, want success or MaybeSent", r)
		}
	}
	if n := int(bodies.Load()); n < succeeded || n > calls {
		t.Errorf("%d bodies arrived for %d calls, want at least %d and at most one per call", n, calls, succeeded)
	}
}

func TestEvidence_http2(t *testing.T) {
	t.Parallel()
	var bodies atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if b, _ := io.ReadAll(r.Body); len(b) > 0 {
			bodies.Add(1)
		}
		if r.URL.Path == "/abort" {
			panic(http.ErrAbortHandler) // resets the stream
		}
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	c := New(srv.Client())
	if r := c.Do(t.Context(), newCall(t, Once, srv.URL)); !r.OK() || bodies.Swap(0) != 1 {
		t.Errorf("%+v, want success", r)
	}
	r := c.Do(t.Context(), newCall(t, Once, srv.URL+"/abort"))
	if n := bodies.Load(); n != 1 || !r.MaybeSent || r.StatusCode != 0 || r.Attempts != 1 {
		t.Errorf("aborted: %d bodies, %+v, want 1 body and MaybeSent", n, r)
	}
}

// After some resets, net/http sends a request again by itself: as often as GetBody succeeds, or without limit if there
// is no body. It must do so never with a Once call, and at most four times with a read.
func TestEvidence_http2Resets(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]byte{"PROTOCOL_ERROR": 1, "REFUSED_STREAM": 7, "CANCEL": 8} {
		for _, body := range []string{"", "{}"} {
			t.Run(name+body, func(t *testing.T) {
				t.Parallel()
				var requests atomic.Int32
				srv := httptest.NewUnstartedServer(http.NotFoundHandler())
				srv.TLS = &tls.Config{NextProtos: []string{"h2"}}
				srv.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
					"h2": func(_ *http.Server, conn *tls.Conn, _ http.Handler) { resetStreams(conn, code, &requests) },
				}
				srv.StartTLS()
				t.Cleanup(srv.Close)
				srv.Client().Transport.(*http.Transport).ForceAttemptHTTP2 = true
				call := newCall(t, Once, srv.URL)
				call.Method, call.Body = http.MethodDelete, nil
				if body != "" {
					call.Method, call.Body = http.MethodPost, []byte(body)
				}
				call.Policy.MaxAttempts, call.Policy.AttemptTimeout = 1, 3*time.Second
				c := New(srv.Client())
				r := c.Do(t.Context(), call)
				if n := requests.Swap(0); n != 1 || !r.MaybeSent || r.StatusCode != 0 {
					t.Errorf("Once: %d requests, %+v, want 1 request and MaybeSent", n, r)
				}
				read := newCall(t, Replayable, srv.URL)
				read.Policy.MaxAttempts, read.Policy.AttemptTimeout = 1, time.Second/2 // net/http waits after REFUSED_STREAM
				r = c.Do(t.Context(), read)
				if n := requests.Load(); n > maxConns || r.Err == nil {
					t.Errorf("Replayable: %d requests, %+v, want at most %d requests and an error", n, r, maxConns)
				}
			})
		}
	}
}

// resetStreams is an HTTP/2 server that counts the streams a client opens, and resets each.
func resetStreams(conn net.Conn, code byte, opened *atomic.Int32) {
	const data, headers, settings, rst = 0, 1, 4, 3
	preface := make([]byte, 24)
	if _, err := io.ReadFull(conn, preface); err != nil {
		return
	}
	_, _ = conn.Write([]byte{0, 0, 0, settings, 0, 0, 0, 0, 0})
	for {
		frame := make([]byte, 9)
		if _, err := io.ReadFull(conn, frame); err != nil {
			return
		}
		length := int64(frame[0])<<16 | int64(frame[1])<<8 | int64(frame[2])
		if _, err := io.CopyN(io.Discard, conn, length); err != nil {
			return
		}
		kind, endOfStream := frame[3], frame[4]&1 != 0 // of settings, the same bit means an acknowledgement
		if kind == headers {
			opened.Add(1)
		}
		switch {
		case kind == settings && !endOfStream:
			_, _ = conn.Write([]byte{0, 0, 0, settings, 1, 0, 0, 0, 0})
		case (kind == headers || kind == data) && endOfStream:
			_, _ = conn.Write(append(append([]byte{0, 0, 4, rst, 0}, frame[5:9]...), 0, 0, 0, code))
		}
	}
}

// A Once call without a body gets an empty body of unknown length. This is what the service sees of it.
func TestEvidence_withoutBody(t *testing.T) {
	t.Parallel()
	for method, chunked := range map[string]bool{http.MethodDelete: false, http.MethodPost: true} {
		requests := make(chan string, 1)
		address := rawServer(t, func(conn net.Conn, request string) {
			requests <- request
			send(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		})
		call := newCall(t, Once, address)
		call.Method, call.Body = method, nil
		if r := newClient(t).Do(t.Context(), call); !r.OK() {
			t.Errorf("%s: %+v, want success", method, r)
		}
		request := <-requests
		if got := strings.Contains(request, "Transfer-Encoding: chunked"); got != chunked ||
			strings.Contains(request, "Content-Length") {
			t.Errorf("%s: chunked %v, want %v and no Content-Length in\n%s", method, got, chunked, request)
		}
	}
}
