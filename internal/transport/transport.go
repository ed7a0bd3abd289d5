// Package transport makes one HTTP exchange with the service: it sends a
// request, again where that is safe, and reports what came back and what is
// known of what was sent. It knows nothing of the operations above it.
//
// It runs on go-retryablehttp, with none of that library's defaults: they send
// POSTs twice, obey a Retry-After of any length, drop the last answer and log
// whole URLs. A call is its own policy, backoff and innermost RoundTripper:
//
//	Client.Do → retryablehttp.Client.Do → http.Client.Do → call.RoundTrip → the base transport
//
// Above call.RoundTrip only headers and an empty body pass: it reads the answer
// itself, so that a body that is cut or never ends is a fault of the attempt.
package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// Class tells what may be done with a call that failed.
type Class uint8

const (
	// Replayable calls change nothing: they may be sent again after any fault.
	Replayable Class = iota
	// Once calls must not be applied twice: they are sent again only after proof
	// that nothing was sent, or a refusal that says the service did nothing.
	Once
)

// Policy bounds the attempts of a call.
type Policy struct {
	MaxAttempts    int           // at least 1
	MinBackoff     time.Duration // the first backoff is random below it
	MaxBackoff     time.Duration // of a backoff and of a Retry-After that is waited for
	AttemptTimeout time.Duration // of each attempt, the body included
}

// Limiter is asked before each attempt.
type Limiter interface {
	Wait(ctx context.Context) error
}

// Authorizer gives the bearer tokens of a call.
type Authorizer interface {
	// Token returns the token for the next attempt.
	Token(ctx context.Context) (string, error)
	// Refresh is asked once a call, after a 401 for the token refused. It returns
	// "" where there is no other token to try.
	Refresh(ctx context.Context, refused string) (string, error)
}

// Call is one exchange to make. It is not changed, but for cookies of the jar that
// come to its Header.
type Call struct {
	Op     string // for log events
	Class  Class
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte // nil for none

	Policy  Policy
	Limiter Limiter      // nil for none
	Gate    *Gate        // of all calls that the service may ask to wait; nil for none
	Auth    Authorizer   // nil: no Authorization header
	Logger  *slog.Logger // nil: silent

	// Accept reads the body of a 2xx that arrived whole. Its error is a fault of
	// the attempt, so that a replayable call is sent again. It may run more than
	// once; the last run counts. nil accepts anything.
	Accept func(body []byte) error
	// Buffers is where room for the body comes from, and where it goes back after an
	// Accept without error, which must keep nothing of it. nil: the body stays with
	// the result.
	Buffers *Buffers
	// Applied reports whether the response to a Once call shows, or may show, that
	// something was applied. Such a call is not sent again, whatever its status. It is
	// asked only if the call would be sent again. nil: never.
	Applied func(*Result) bool
}

// Result is what became of a Call.
type Result struct {
	// StatusCode, Header and Body of the last answer; 0 and nil if none arrived,
	// or if a later attempt may have been sent and was not answered.
	StatusCode int
	Header     http.Header
	Body       []byte        // nil also where its room went back to Buffers
	Cut        bool          // the body did not arrive whole; Body has what did
	RetryAfter time.Duration // as the last answer asked, 0 if it did not
	Attempts   int           // requests handed to the base transport

	// Err is why there is no usable answer: nil where the last attempt was
	// answered with a body that arrived whole (and, if 2xx, was accepted).
	// Its text holds nothing of the exchange. It matches the error of the caller's
	// context exactly if that context ended the call.
	Err error
	// MaybeSent tells that the last attempt got no answer and that it is not
	// proved that nothing of it was sent.
	MaybeSent bool
	// SentTwice tells that in the last attempt the transport wrote the request more
	// than once. Then no response says what became of all copies.
	SentTwice bool
}

// OK reports whether the answer is a 2xx that arrived whole and was accepted.
func (r *Result) OK() bool { return r.Err == nil && r.Is2xx() }

// Is2xx reports whether the status is one of success, whatever became of the body.
func (r *Result) Is2xx() bool { return is2xx(r.StatusCode) }

func is2xx(status int) bool { return status >= 200 && status <= 299 }

// Limits on what is read of an answer, counted after decompression.
const (
	MaxBody      = 32 << 20 // of a 2xx
	MaxErrorBody = 1 << 20  // of any other status
	maxHeader    = 64 << 10 // on the library's own transport
)

// maxConnsIdle is how many idle connections to the service are kept: as many as
// a walk may have requests in flight.
const maxConnsIdle = 16

// ownTransport is shared by all clients that bring none: connections carry no
// credentials, and a client per job must not leave a pool behind each.
var ownTransport = sync.OnceValue(func() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConns:           100,
		MaxIdleConnsPerHost:    maxConnsIdle,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeader,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}, // a dead peer is noticed
	}
})

// Client makes calls. It is immutable and safe for concurrent use.
type Client struct {
	base    Hidden[http.RoundTripper] // its idle connections have buffers that hold requests
	own     bool                      // base is the library's own transport
	jar     Hidden[http.CookieJar]
	timeout time.Duration // of the caller's http.Client; 0: none
}

// New returns a client on hc's transport, cookie jar and timeout, which holds
// for each attempt. hc is neither kept nor changed; nil, or one without a
// transport, means the library's own.
func New(hc *http.Client) *Client {
	if hc == nil {
		hc = &http.Client{}
	}
	c := &Client{base: Hide(hc.Transport), own: hc.Transport == nil, jar: Hide(hc.Jar), timeout: hc.Timeout}
	if c.own {
		c.base = Hide[http.RoundTripper](ownTransport())
	}
	return c
}

// Do makes the call. It always returns a result.
func (c *Client) Do(ctx context.Context, spec *Call) *Result {
	run := &call{Call: spec, client: c, ctx: ctx}
	req, err := retryablehttp.NewRequestWithContext(ctx, spec.Method, "/", body(spec.Body))
	if err != nil { // the method, which was checked above this package
		return &Result{Err: errors.New("the request could not be built")}
	}
	req.URL, req.Host = spec.URL, spec.URL.Host
	prepare := func(req *http.Request) error { // each attempt has headers of its own, without cookies of the one before
		if req.Header = spec.Header.Clone(); req.Header == nil {
			req.Header = http.Header{}
		}
		return nil
	}
	_ = prepare(req.Request)
	// Built for each call: its hooks see no request where there is no answer, and
	// a call's policy may differ from the next one's.
	loop := &retryablehttp.Client{
		HTTPClient: &http.Client{
			Transport:     run, // has no CloseIdleConnections, which the loop would call on the caller's transport
			Jar:           c.jar(),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		RetryMax:     math.MaxInt, // run.checkRetry counts
		CheckRetry:   run.checkRetry,
		Backoff:      func(time.Duration, time.Duration, int, *http.Response) time.Duration { return run.wait },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
		PrepareRetry: prepare,
	}
	// What matters is in run: the answer has an empty body, and the error wraps
	// what run has already reduced.
	resp, err := loop.Do(req)
	if resp != nil {
		_ = resp.Body.Close()
	}
	return run.finish(err)
}

// body returns b as go-retryablehttp wants it: an untyped nil for none.
func body(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}
