package transport

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
)

// evidence records what httptrace and the request body show of one attempt: whether
// any of it was sent. The hooks may still run after the attempt has returned.
type evidence struct {
	class Class
	end   func() // cancels the attempt

	mu            sync.Mutex
	connRequested bool  // so the transport calls the hooks
	conns         int   // connections that were used
	wroteHeader   bool  // at least one header field was written, perhaps only to a buffer
	headers       int   // times that writing a header began
	readBody      bool  // of a Once call
	cancelled     error // why the attempt was cancelled; nil if it was not
}

// maxConns is how many connections net/http may use in one attempt. One or two stale
// ones are normal, but against an HTTP/2 server that resets each stream, net/http
// sends a request without a body hundreds of times per second.
const maxConns = 4

var (
	errConnsFailed = errors.New("connections failed one after the other")
	errSecondSend  = errors.New("the transport tried to send the request a second time")
	errBodySent    = errors.New("the body was sent and must not be sent again")
)

// trace returns the hooks.
func (e *evidence) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.connRequested = true
			if e.conns >= maxConns {
				e.cancel(errConnsFailed)
			}
			e.endSecondSend()
		},
		GotConn: func(httptrace.GotConnInfo) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.conns++
			e.endSecondSend() // HTTP/2 takes a connection that it has without GetConn
		},
		WroteHeaderField: func(key string, _ []string) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.wroteHeader = true
			if key == "Host" || key == ":authority" { // once per header, in HTTP/1.1 and in HTTP/2
				e.headers++
			}
		},
	}
}

// endSecondSend cancels a Once attempt that asks for a connection after a header was
// written: the transport retries on its own. The caller holds e.mu.
func (e *evidence) endSecondSend() {
	if e.class == Once && e.wroteHeader {
		e.cancel(errSecondSend)
	}
}

// cancel ends the attempt. The caller holds e.mu.
func (e *evidence) cancel(reason error) {
	e.cancelled = reason
	e.end()
}

// notSent reports whether it is proved that nothing was sent: a connection was
// requested, and neither a header was written nor the body read. Without hooks there
// is no proof. If the body is read, then perhaps by a transport that signs it, but
// perhaps by one that sends it without hooks.
func (e *evidence) notSent() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.connRequested && !e.wroteHeader && !e.readBody
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
func (e *evidence) guard(req *http.Request, body []byte, ownTransport bool) {
	if req.Body == nil {
		// Without a body, net/http needs no GetBody to send the request again. A body of
		// unknown length is sent as an empty one, or not at all where the method has none.
		req.Body = io.NopCloser(strings.NewReader(""))
	}
	wrap := func(b io.ReadCloser) io.ReadCloser {
		if ownTransport {
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
