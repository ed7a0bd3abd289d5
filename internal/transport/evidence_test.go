package transport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"testing"
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
	name       string
	replayable string // method of a Replayable call; "": a POST that is sent once
	isOwn      bool   // the library's own transport
	noBody     bool
	steps      []step
	notSent    bool
	getBody    bool // GetBody succeeds after the steps
	canceled   error
	closed     bool // the last connection was closed
	sentTwice  bool
}

var evidenceTests = []evidenceTest{
	{name: "no hooks", getBody: true},
	{name: "a connection was requested", steps: []step{requestsConn}, notSent: true, getBody: true},
	{name: "a connection was used", steps: []step{requestsConn, getsConn}, getBody: true},
	{name: "a connection failed, and another one",
		steps: []step{requestsConn, getsConn, requestsConn}, notSent: true, getBody: true},
	{name: "no body, on a transport of the caller's", noBody: true, steps: []step{requestsConn}, getBody: true},
	{name: "no body, on the own transport", isOwn: true, noBody: true,
		steps: []step{requestsConn}, notSent: true, getBody: true},
	{name: "another request, then a connection",
		steps: []step{requestsConn, getsConn, writesOther, requestsConn}},
	{name: "another request with its own User-Agent, then a connection",
		steps: []step{requestsConn, getsConn, writesOther, writes("User-Agent", "other"), requestsConn}},
	{name: "this request to another host, then a connection",
		steps: []step{requestsConn, getsConn, writesOther, writesAgent, requestsConn}, canceled: errSecondSend},
	{name: "this request to other hosts, twice", canceled: errSecondSend, sentTwice: true,
		steps: []step{requestsConn, requestsConn, writesOther, writesAgent, writesOther, writesAgent}},
	{name: "HTTP/1.1 header", steps: []step{requestsConn, getsConn, writesHTTP1}},
	{name: "HTTP/2 header", steps: []step{requestsConn, getsConn, writesHTTP2}},
	{name: "another header field", steps: []step{requestsConn, getsConn, writesField}},
	{name: "a header without a connection", steps: []step{writesHTTP2}},
	{name: "body read, then a connection", steps: []step{readsBody, requestsConn}},
	{name: "a connection, then body read", steps: []step{requestsConn, readsBody}},
	{name: "copy of the body read",
		steps: []step{readsCopy, requestsConn}},
	{name: "own transport: body read", isOwn: true,
		steps: []step{requestsConn, readsBody}, notSent: true, getBody: true},
	{name: "two connections failed",
		steps: []step{requestsConn, requestsConn}, notSent: true, getBody: true},
	{name: "connection requested after a header",
		steps: []step{requestsConn, getsConn, writesHTTP1, requestsConn}, canceled: errSecondSend},
	{name: "second connection, HTTP/1.1",
		steps:    []step{requestsConn, getsConn, writesHTTP1, requestsConn, getsConn},
		canceled: errSecondSend, closed: true},
	{name: "second connection, HTTP/2",
		steps: []step{requestsConn, getsConn, writesHTTP2, requestsConn, getsConn}, canceled: errSecondSend},
	{name: "second connection after another request",
		steps: []step{requestsConn, getsConn, writesOther, requestsConn, getsConn}},
	{name: "connection used after a header",
		steps: []step{requestsConn, getsConn, writesHTTP2, getsConn}, canceled: errSecondSend},
	{name: "connection requested after a header, on the own transport", isOwn: true,
		steps: []step{requestsConn, getsConn, writesHTTP2, requestsConn}, canceled: errSecondSend},
	{name: "two headers at once",
		steps:     []step{requestsConn, requestsConn, getsConn, getsConn, writesHTTP1, writesField, writesAgent, writesHTTP1},
		sentTwice: true, canceled: errSecondSend},
	{name: "a delete is sent again", replayable: http.MethodDelete,
		steps: []step{requestsConn, getsConn, writesHTTP1, requestsConn, getsConn, writesHTTP1}, sentTwice: true},
	{name: "a delete without a second connection", replayable: http.MethodDelete,
		steps: []step{requestsConn, getsConn, writesHTTP1, requestsConn}},
	{name: "a read without a connection", replayable: http.MethodGet,
		steps: []step{requestsConn}, notSent: true},
	{name: "a read without a second connection", replayable: http.MethodGet,
		steps: []step{requestsConn, getsConn, writesHTTP1, requestsConn}},
	{name: "a read on four connections", replayable: http.MethodGet,
		steps: []step{requestsConn, getsConn, getsConn, getsConn, getsConn}},
	{name: "a read on a fifth, after a response", replayable: http.MethodGet,
		steps: []step{requestsConn, getsConn, getsConn, getsConn, getsConn, responds, requestsConn}},
	{name: "a read on a fifth", replayable: http.MethodHead,
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
	spec := newCall(t, Once, storeURL)
	if tt.replayable != "" {
		spec = newCall(t, Replayable, storeURL)
		spec.Method = tt.replayable
	}
	canceled := false
	e := &evidence{}
	e.collect(&call{isOwn: tt.isOwn, Call: spec}, func() { canceled = true })
	body := []byte("{}")
	a := &attempt{evidence: e, req: &http.Request{Body: http.NoBody}}
	if tt.noBody {
		a.req.Body, body = nil, nil
	}
	if spec.Class == Once {
		e.guard(a.req, body)
	}
	for _, step := range tt.steps {
		step(a)
	}
	notSent, sentTwice, reason := e.findings()
	if notSent != tt.notSent || sentTwice != tt.sentTwice || reason != tt.canceled || canceled != (reason != nil) {
		t.Errorf("not sent %v, sent twice %v, canceled %v for %v; want %v, %v and %v",
			notSent, sentTwice, canceled, reason, tt.notSent, tt.sentTwice, tt.canceled)
	}
	if a.closed != tt.closed {
		t.Errorf("connection closed %v, want %v", a.closed, tt.closed)
	}
	if spec.Class == Replayable {
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
		if r := New(srv.Client()).Do(t.Context(), call); !r.OK() || fmt.Sprint(got) != want {
			t.Errorf("%s: Transfer-Encoding %v, %+v, want %s and success", method, got, r, want)
		}
	}
}
