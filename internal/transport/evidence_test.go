package transport

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// attempt is an attempt of a transport that has one connection.
type attempt struct {
	*evidence
	req *http.Request
	net.Conn
	closed bool // the connection was closed
}

func (a *attempt) Close() error {
	a.closed = true
	return nil
}

// step is something that a transport does during an attempt.
type step func(*attempt)

var (
	requestsConn step = func(a *attempt) { a.hooks.GetConn("store.example:443") }
	getsConn     step = func(a *attempt) { a.hooks.GotConn(httptrace.GotConnInfo{Conn: a}) }
	responds     step = func(a *attempt) { a.hooks.GotFirstResponseByte() }
	writesHTTP1       = writes("Host", "store.example")
	writesHTTP2       = writes(":authority", "store.example")
	writesField       = writes("Accept", "text/plain")
	writesOther       = writes("Host", "tokens.example")
	writesAgent       = writes("User-Agent", "commerce-go")
	readsBody    step = func(a *attempt) { _, _ = a.req.Body.Read(make([]byte, 1)) }
	readsCopy    step = func(a *attempt) {
		body, _ := a.req.GetBody()
		_, _ = body.Read(make([]byte, 1))
	}
)

func writes(key, value string) step {
	return func(a *attempt) {
		if a.hooks.WroteHeaderField != nil {
			a.hooks.WroteHeaderField(key, []string{value})
		}
	}
}

type evidenceTest struct {
	name      string
	class     Class
	method    string // POST if empty
	transport transportKind
	noBody    bool
	steps     []step
	notSent   bool
	getBody   bool // GetBody succeeds after the steps
	canceled  error
	closed    bool // the last connection was closed
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
	{name: "no body, on an http.Transport, which may have another one registered", class: Once,
		transport: callersHTTPTransport, noBody: true, steps: []step{requestsConn}, getBody: true},
	{name: "no body, on the own transport", class: Once, transport: ownHTTPTransport, noBody: true,
		steps: []step{requestsConn}, notSent: true, getBody: true},
	{name: "another request, then a connection", class: Once,
		steps: []step{requestsConn, getsConn, writesOther, requestsConn}},
	{name: "another request with its own User-Agent, then a connection", class: Once,
		steps: []step{requestsConn, getsConn, writesOther, writes("User-Agent", "other"), requestsConn}},
	{name: "this request to another host, then a connection", class: Once,
		steps: []step{requestsConn, getsConn, writesOther, writesAgent, requestsConn}, canceled: errSecondSend},
	{name: "this request to other hosts, twice", class: Once, canceled: errSecondSend, sentTwice: true,
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
		steps: []step{requestsConn, getsConn, writesHTTP1, requestsConn}, canceled: errSecondSend},
	{name: "second connection, HTTP/1.1", class: Once,
		steps:    []step{requestsConn, getsConn, writesHTTP1, requestsConn, getsConn},
		canceled: errSecondSend, closed: true},
	{name: "second connection, HTTP/2", class: Once,
		steps: []step{requestsConn, getsConn, writesHTTP2, requestsConn, getsConn}, canceled: errSecondSend},
	{name: "second connection after another request", class: Once,
		steps: []step{requestsConn, getsConn, writesOther, requestsConn, getsConn}},
	{name: "connection used after a header", class: Once,
		steps: []step{requestsConn, getsConn, writesHTTP2, getsConn}, canceled: errSecondSend},
	{name: "connection requested after a header, on the own transport", class: Once, transport: ownHTTPTransport,
		steps: []step{requestsConn, getsConn, writesHTTP2, requestsConn}, canceled: errSecondSend},
	{name: "two headers at once", class: Once,
		steps:     []step{requestsConn, requestsConn, getsConn, getsConn, writesHTTP1, writesField, writesAgent, writesHTTP1},
		sentTwice: true, canceled: errSecondSend},
	{name: "a delete is sent again", class: Replayable, method: http.MethodDelete,
		steps: []step{requestsConn, getsConn, writesHTTP1, requestsConn, getsConn, writesHTTP1}, sentTwice: true},
	{name: "a delete without a second connection", class: Replayable, method: http.MethodDelete,
		steps: []step{requestsConn, getsConn, writesHTTP1, requestsConn}},
	{name: "a read without a connection", class: Replayable, method: http.MethodGet,
		steps: []step{requestsConn}, notSent: true},
	{name: "a read without a second connection", class: Replayable, method: http.MethodGet,
		steps: []step{requestsConn, getsConn, writesHTTP1, requestsConn}},
	{name: "a read on four connections", class: Replayable, method: http.MethodGet,
		steps: []step{requestsConn, getsConn, getsConn, getsConn, getsConn}},
	{name: "a read on a fifth, after a response", class: Replayable, method: http.MethodGet,
		steps: []step{requestsConn, getsConn, getsConn, getsConn, getsConn, responds, requestsConn}},
	{name: "a read on a fifth", class: Replayable, method: http.MethodHead,
		steps:    []step{requestsConn, getsConn, getsConn, getsConn, getsConn, requestsConn},
		canceled: errConnsFailed},
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
	canceled := false
	e := &evidence{}
	e.collect(&call{client: &Client{kind: tt.transport}, Call: &Call{
		Class: tt.class, Method: cmp.Or(tt.method, http.MethodPost),
		URL: &url.URL{Host: "store.example"}, Header: http.Header{"User-Agent": {"commerce-go"}},
	}}, func() { canceled = true })
	body := []byte("{}")
	a := &attempt{evidence: e, req: &http.Request{Body: http.NoBody}}
	if tt.noBody {
		a.req.Body, body = nil, nil
	}
	if tt.class == Once {
		e.guard(a.req, body)
	}
	for _, step := range tt.steps {
		step(a)
	}
	if got := e.notSent(); got != tt.notSent {
		t.Errorf("notSent() = %v, want %v", got, tt.notSent)
	}
	if got := e.sentTwice(); got != tt.sentTwice {
		t.Errorf("sentTwice() = %v, want %v", got, tt.sentTwice)
	}
	if got := e.cancelReason(); got != tt.canceled || canceled != (tt.canceled != nil) {
		t.Errorf("cancelReason() = %v, canceled %v, want %v", got, canceled, tt.canceled)
	}
	if a.closed != tt.closed {
		t.Errorf("connection closed %v, want %v", a.closed, tt.closed)
	}
	if tt.class == Replayable {
		return
	}
	again, err := a.req.GetBody()
	if (err == nil) != tt.getBody || err != nil && err != errBodySent {
		t.Fatalf("GetBody() returns error %v, want success %v", err, tt.getBody)
	}
	if err == nil {
		if b, err := io.ReadAll(again); err != nil || string(b) != string(body) {
			t.Errorf("GetBody() returns %q, error %v, want %q", b, err, body)
		}
	}
}

// DumpRequestOut calls the hooks, but sends nothing: they prove nothing about what the transport
// does next.
func TestEvidence_dump(t *testing.T) {
	t.Parallel()
	for requestsConn, want := range map[bool]int{false: 1, true: testPolicy.MaxAttempts} {
		r := stub(func(req *http.Request) (*http.Response, error) {
			if _, err := httputil.DumpRequestOut(req, false); err != nil {
				t.Error(err)
			}
			if requestsConn {
				httptrace.ContextClientTrace(req.Context()).GetConn("store.example:443")
			}
			return nil, errors.New("stub")
		}).do(t.Context(), newCall(t, Once, storeURL))
		if r.Attempts != want || r.MaybeSent == requestsConn {
			t.Errorf("connection requested %v: %+v, want %d attempts", requestsConn, r, want)
		}
	}
}

// net/http may send a call again by itself only if it has written nothing.
func TestEvidence_staleConnection(t *testing.T) {
	t.Parallel()
	var bodies atomic.Int32
	address := rawServer(t, func(conn net.Conn, body string) {
		if body != "" {
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

// After some resets, net/http sends a request again by itself: as often as GetBody succeeds, or
// without limit if there is no body. It must do so never with a Once call, and at most four times
// with a read.
func TestEvidence_http2(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		code byte
		ok   bool
	}{
		{name: "success", code: noReset, ok: true},
		{name: "PROTOCOL_ERROR", code: 1},
		{name: "INTERNAL_ERROR", code: 2},
		{name: "REFUSED_STREAM", code: 7},
		{name: "CANCEL", code: 8},
	} {
		for _, body := range []string{"", "{}"} {
			t.Run(tt.name+body, func(t *testing.T) {
				t.Parallel()
				var requests atomic.Int32
				srv := httptest.NewUnstartedServer(http.NotFoundHandler())
				srv.TLS = &tls.Config{NextProtos: []string{"h2"}}
				srv.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
					"h2": func(_ *http.Server, conn *tls.Conn, _ http.Handler) { serveHTTP2(conn, tt.code, &requests) },
				}
				srv.StartTLS()
				t.Cleanup(srv.Close)
				srv.Client().Transport.(*http.Transport).ForceAttemptHTTP2 = true
				c := New(srv.Client())
				call := newCall(t, Once, srv.URL)
				call.Method, call.Body = http.MethodDelete, nil
				if body != "" {
					call.Method, call.Body = http.MethodPost, []byte(body)
				}
				call.Policy.MaxAttempts = 1
				r := c.Do(t.Context(), call)
				if n := requests.Swap(0); n != 1 || r.MaybeSent == tt.ok || r.OK() != tt.ok {
					t.Errorf("Once: %d requests, %+v, want 1 request, and success %v or MaybeSent", n, r, tt.ok)
				}
				read := newCall(t, Replayable, srv.URL)
				if read.Policy.MaxAttempts = 1; tt.name == "REFUSED_STREAM" { // net/http sends it again, after ever longer waits
					read.Policy.AttemptTimeout = time.Second / 2
				}
				r = c.Do(t.Context(), read)
				if n := requests.Load(); n > maxConns || r.OK() != tt.ok {
					t.Errorf("Replayable: %d requests, %+v, want at most %d, and success %v", n, r, maxConns, tt.ok)
				}
			})
		}
	}
}

const noReset = 0xff

// serveHTTP2 counts the requests of a connection. It resets each stream with code, or responds with
// status 200.
func serveHTTP2(conn net.Conn, code byte, requests *atomic.Int32) {
	const data, headers, rst, settings = 0, 1, 3, 4
	if _, err := io.CopyN(io.Discard, conn, 24); err != nil { // the preface
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
			requests.Add(1)
		}
		stream := frame[5:9]
		switch {
		case kind == settings && !endOfStream:
			_, _ = conn.Write([]byte{0, 0, 0, settings, 1, 0, 0, 0, 0})
		case kind != headers && kind != data || !endOfStream:
		case code == noReset: // 0x88 is ":status: 200", 5 the end of the header and of the stream
			_, _ = conn.Write(append(append([]byte{0, 0, 1, headers, 5}, stream...), 0x88))
		default:
			_, _ = conn.Write(append(append([]byte{0, 0, 4, rst, 0}, stream...), 0, 0, 0, code))
		}
	}
}

// A Once call without a body gets an empty body of unknown length. This is what the service sees of
// it.
func TestEvidence_withoutBody(t *testing.T) {
	t.Parallel()
	var got []string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r.TransferEncoding
		if length := r.Header.Get("Content-Length"); length != "" {
			t.Errorf("%s: Content-Length: %s, want none", r.Method, length)
		}
	}))
	t.Cleanup(srv.Close)
	for method, want := range map[string]string{http.MethodDelete: "[]", http.MethodPost: "[chunked]"} {
		call := newCall(t, Once, srv.URL)
		call.Method, call.Body = method, nil
		if r := newClient(t).Do(t.Context(), call); !r.OK() || fmt.Sprint(got) != want {
			t.Errorf("%s: Transfer-Encoding %v, %+v, want %s and success", method, got, r, want)
		}
	}
}
