package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
)

// evidence records what httptrace and the request body show of one attempt: whether
// any of it was sent. The hooks may still run after the attempt has returned.
type evidence struct {
	class     Class
	host      string // with userAgent, tells the header of this request from those of others
	userAgent string
	end       func() // cancels the attempt

	mu            sync.Mutex
	connRequested bool  // so the transport calls the hooks
	hasConn       bool  // a connection was used after the last request for one
	conns         int   // connections that were used without a response
	http2         bool  // HTTP/2 was used
	wroteHeader   bool  // a header field of any request was written, perhaps only to a buffer
	headers       int   // times that the header of this request was written
	foreign       bool  // the header being written is that of another request
	dumped        bool  // the request is only printed, by httputil.DumpRequestOut
	readBody      bool  // of a Once call
	unwatched     bool  // a Once call without a body, through a transport that may not call the hooks
	cancelled     error // why the attempt was cancelled; nil if it was not
}

// maxConns is how many connections net/http may use in one attempt. One or two stale
// ones are normal, but against an HTTP/2 server that resets each stream, net/http
// sends a request without a body hundreds of times per second.
const maxConns = 4

var (
	errConnsFailed = errors.New("connections failed one after the other")
	errSecondSend  = errors.New("the transport tried to send the request a second time")
	errBodySent    = errors.New("the request may have been sent and must not be sent again")
)

// trace returns the hooks.
func (e *evidence) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn:          func(string) { e.requestConn() },
		GotConn:          e.useConn,
		WroteHeaderField: e.writeField,
		GotFirstResponseByte: func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.conns = 0
		},
	}
}

func (e *evidence) requestConn() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.connRequested, e.hasConn, e.dumped = true, false, false
	if e.conns >= maxConns {
		e.cancel(errConnsFailed)
	}
	e.cancelSecondSend()
}

func (e *evidence) useConn(info httptrace.GotConnInfo) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.class == Once && fmt.Sprintf("%T", info.Conn) == "*httputil.dumpConn" {
		e.connRequested, e.dumped = false, true
		return
	}
	e.conns++
	e.hasConn = true
	e.cancelSecondSend() // HTTP/2 uses a connection that it has without GetConn
	if e.cancelled != nil && e.class == Once && !e.http2 && info.Conn != nil {
		_ = info.Conn.Close() // HTTP/1.1 may write to it in spite of the cancellation
	}
}

func (e *evidence) writeField(key string, values []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dumped {
		return
	}
	e.wroteHeader = true
	switch value := strings.Join(values, ","); key {
	case "Host", ":authority": // the first field, in HTTP/1.1 and in HTTP/2
		e.http2 = e.http2 || key == ":authority"
		if e.foreign = value != e.host; !e.foreign {
			e.countHeader()
		}
	case "User-Agent", "user-agent":
		if e.foreign && value == e.userAgent { // sent to another host
			e.foreign = false
			e.countHeader()
		}
	}
}

// countHeader counts that the header of this request is written. The caller holds e.mu.
func (e *evidence) countHeader() {
	if e.headers++; e.headers > 1 && e.class == Once {
		e.cancel(errSecondSend)
	}
}

// cancelSecondSend cancels a Once attempt that asks for a connection after its header was
// written: the transport retries on its own. The caller holds e.mu.
func (e *evidence) cancelSecondSend() {
	if e.class == Once && e.headers > 0 {
		e.cancel(errSecondSend)
	}
}

// cancel ends the attempt. The caller holds e.mu.
func (e *evidence) cancel(reason error) {
	e.cancelled = reason
	e.end()
}

// notSent reports whether it is proved that nothing was sent: a connection was
// requested, none was used, no header was written and the body was not read. A header
// may be written to a connection that was used even after the attempt has returned.
// Without hooks there is no proof. If the body was read, there is no proof either: the
// transport may have read it only to sign it, but it may also have sent it without hooks.
func (e *evidence) notSent() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.connRequested && !e.hasConn && !e.wroteHeader && !e.readBody && !e.unwatched
}

// sentTwice reports whether the request was written more than once.
func (e *evidence) sentTwice() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.headers > 1
}

// markSent records that the attempt may have been sent, whatever the hooks say.
func (e *evidence) markSent() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wroteHeader = true
}

// reason returns why the attempt was cancelled, nil if it was not.
func (e *evidence) reason() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cancelled
}

// guard prepares the body of a Once request so that no transport can send it a second
// time through GetBody. The library's own transport reads a body only after the
// header, which its hooks show: its body needs no wrapper, and so travels in one
// packet with the header.
func (e *evidence) guard(req *http.Request, body []byte, base http.RoundTripper, own bool) {
	if req.Body == nil {
		// Without a body, net/http needs no GetBody to send the request again. A body of
		// unknown length is sent as an empty one, or not at all if the method has none.
		req.Body = io.NopCloser(strings.NewReader(""))
		_, hasHooks := base.(*http.Transport)
		e.unwatched = !hasHooks // such a transport may send the request without that body
	}
	wrap := func(b io.ReadCloser) io.ReadCloser {
		if own {
			return b
		}
		return &observedBody{b, e}
	}
	req.Body = wrap(req.Body)
	req.GetBody = func() (io.ReadCloser, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.wroteHeader || e.readBody {
			return nil, errBodySent
		}
		return wrap(io.NopCloser(bytes.NewReader(body))), nil
	}
}

// observedBody records that it was read.
type observedBody struct {
	io.ReadCloser
	evidence *evidence
}

func (b *observedBody) Read(p []byte) (int, error) {
	b.evidence.mu.Lock()
	b.evidence.readBody = true
	b.evidence.mu.Unlock()
	return b.ReadCloser.Read(p)
}
