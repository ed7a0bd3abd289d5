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

// evidence records what the hooks of httptrace and the request body show about one attempt: whether
// anything may have been sent. The hooks may still run after the attempt has returned.
type evidence struct {
	class         Class
	isOwn         bool   // the transport is the library's own, see guard
	host          string // host and userAgent distinguish this request from others that the transport sends
	userAgent     string
	cancelAttempt func()
	hooks         httptrace.ClientTrace
	seesHeader    bool // the hooks observe the header

	mu            sync.Mutex
	connRequested bool  // the transport requested a connection, and so calls the hooks
	hasConn       bool  // it has had a connection. If the header is observed: since it last requested one
	conns         int   // connections used since the last response
	http2         bool  // HTTP/2 was used
	wroteHeader   bool  // a header field of any request was written, perhaps only to a buffer
	headers       int   // how often the header of this request was written
	otherRequest  bool  // the header that is being written is for another host, and may be another request's
	dumping       bool  // httputil.DumpRequestOut prints the request, and sends nothing
	bodyRead      bool  // the body of a Once call was read, see guard
	unprovable    bool  // the body cannot show whether it was sent, and the hooks may not be called, see guard
	canceled      error // why the attempt was canceled; nil if it was not
}

// maxConns is how many connections net/http may use in one attempt. One or two that the server has
// closed are normal, but if an HTTP/2 server resets each stream, net/http sends a request without a
// body hundreds of times per second.
const maxConns = 4

var (
	errConnsFailed = errors.New("several connections failed one after another; check the network and any proxy")
	errSecondSend  = errors.New("the transport tried to send the request a second time")
	errBodySent    = errors.New("the request may have been sent and must not be sent again")
)

// collect prepares e for an attempt of c, which cancel ends. The header of a read is not observed:
// that hook costs the most, and a read may be sent again anyway.
func (e *evidence) collect(c *call, cancel func()) {
	e.class, e.isOwn, e.cancelAttempt = c.Class, c.isOwn, cancel
	e.host, e.userAgent = c.URL.Host, c.Header.Get("User-Agent")
	e.hooks.GetConn = e.requestConn
	e.hooks.GotConn = e.useConn
	e.hooks.GotFirstResponseByte = func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.conns = 0
	}
	if e.seesHeader = !IsRead(c.Method); e.seesHeader {
		e.hooks.WroteHeaderField = e.writeField
	}
}

func (e *evidence) requestConn(string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.connRequested, e.dumping = true, false
	e.hasConn = e.hasConn && !e.seesHeader // the header shows whether the last connection was used
	if e.conns >= maxConns {
		e.cancel(errConnsFailed)
	}
	e.cancelSecondSend()
}

func (e *evidence) useConn(info httptrace.GotConnInfo) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.class == Once && fmt.Sprintf("%T", info.Conn) == "*httputil.dumpConn" {
		e.connRequested, e.dumping = false, true
		return
	}
	e.conns++
	e.hasConn = true
	e.cancelSecondSend() // HTTP/2 may use another connection without a GetConn
	if e.canceled != nil && e.class == Once && !e.http2 && info.Conn != nil {
		_ = info.Conn.Close() // net/http may write to an HTTP/1.1 connection even after the cancellation
	}
}

func (e *evidence) writeField(key string, values []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dumping {
		return
	}
	e.wroteHeader = true
	switch value := strings.Join(values, ","); key {
	case "Host", ":authority": // the first field, in HTTP/1.1 and in HTTP/2
		e.http2 = e.http2 || key == ":authority"
		if e.otherRequest = value != e.host; !e.otherRequest {
			e.countHeader()
		}
	case "User-Agent", "user-agent":
		if e.otherRequest && value == e.userAgent { // this request, sent to another host
			e.otherRequest = false
			e.countHeader()
		}
	}
}

// countHeader counts a header of this request. The caller holds e.mu.
func (e *evidence) countHeader() {
	if e.headers++; e.headers > 1 && e.class == Once {
		e.cancel(errSecondSend)
	}
}

// cancelSecondSend cancels a Once attempt that requests or uses a connection after its header was
// written: the transport retries by itself. The caller holds e.mu.
func (e *evidence) cancelSecondSend() {
	if e.class == Once && e.headers > 0 {
		e.cancel(errSecondSend)
	}
}

// cancel cancels the attempt. The caller holds e.mu.
func (e *evidence) cancel(reason error) {
	e.canceled = reason
	e.cancelAttempt()
}

// findings returns whether it is proved that nothing was sent, whether the request was written more
// than once, and why the attempt was canceled, or nil if it was not. Any of these means that
// something may have been sent:
//
//	observed           why there is no proof
//	no connRequested   the transport does not call the hooks, so they show nothing
//	hasConn            a header may be written to the connection even after the attempt has returned
//	wroteHeader        a header was written, perhaps only to a buffer
//	bodyRead           perhaps only to sign it, but the transport may also have sent it without calling the hooks
//	unprovable         there is no body to observe, and a transport of the caller's may send the request without calling
//	                   the hooks
func (e *evidence) findings() (notSent, sentTwice bool, canceled error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	notSent = e.connRequested && !e.hasConn && !e.wroteHeader && !e.bodyRead && !e.unprovable
	return notSent, e.headers > 1, e.canceled
}

// markSent records that something may have been sent, whatever the hooks say.
func (e *evidence) markSent() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wroteHeader = true
}

// guard prepares the request of a Once call.
//
// GetBody, which lets a transport send the request again, fails if anything may have been sent.
//
// The body records when it is read. On the library's own transport it does not: the hooks there
// show the header before the body is read, and with a plain reader as the body net/http sends
// header and body in one packet.
func (e *evidence) guard(req *http.Request, body []byte) {
	// net/http would send a request without a body again, and not call GetBody. Therefore the
	// request has an empty body of unknown length. net/http sends it as an empty body, or leaves
	// it out with a method like DELETE. A custom transport may send the request without reading
	// that body, also one that is registered with an http.Transport.
	e.unprovable = len(body) == 0 && !e.isOwn
	newBody := func() io.ReadCloser {
		b := io.NopCloser(bytes.NewReader(body))
		if e.isOwn {
			return b
		}
		return &observedBody{b, e}
	}
	req.Body = newBody()
	req.GetBody = func() (io.ReadCloser, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.wroteHeader || e.bodyRead {
			return nil, errBodySent
		}
		return newBody(), nil
	}
}

// observedBody is a request body that records that it was read.
type observedBody struct {
	io.ReadCloser
	evidence *evidence
}

func (b *observedBody) Read(p []byte) (int, error) {
	b.evidence.mu.Lock()
	b.evidence.bodyRead = true
	b.evidence.mu.Unlock()
	return b.ReadCloser.Read(p)
}
