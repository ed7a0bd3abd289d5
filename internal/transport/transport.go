// Package transport makes one call to the service: it sends an HTTP request, retries it if that is
// safe, and reports the last response and whether anything may have been sent. It knows nothing
// about the operations above it.
//
// Of go-retryablehttp it uses only the loop: attempt, decide, wait, and stop when the context ends.
// The defaults are turned off, because they send a POST twice, wait as long as any Retry-After
// asks for, discard the last response and log whole URLs. A call passes through these layers:
//
//	Client.Do → retryablehttp.Client.Do → http.Client.Do → call.RoundTrip → the base transport
//
// call.RoundTrip reads the whole body, so that a truncated or endless body is an error of the
// attempt. The response that it hands to the
// layers above has neither header nor body.
package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"sync"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// Class decides when a call may be sent again.
type Class uint8

const (
	// Once calls must not be applied twice. They are sent again only with proof that nothing was
	// sent, or if the status means that the service did nothing.
	Once Class = iota
	// Replayable calls do no harm if they are applied twice: reads and token requests. They are
	// sent again after any error that a retry may fix.
	Replayable
)

// IsRead reports whether requests with this method change nothing.
func IsRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// Policy limits the attempts of a call.
type Policy struct {
	MaxAttempts    int           // that are not refused by a 429 without a Retry-After; at least 1
	MaxRefusals    int           // attempts in all, unless MaxAttempts is greater
	MinBackoff     time.Duration // the first backoff is random and less than this
	MaxBackoff     time.Duration // maximum of each backoff; a call with a longer Retry-After is not sent again
	AttemptTimeout time.Duration // for each attempt, including its response body
}

// Limiter is asked before each attempt.
type Limiter interface {
	Wait(ctx context.Context) error
}

// Authorizer provides the bearer tokens of a call.
type Authorizer interface {
	// Token returns the token for the next attempt. If the service refused one with a 401, it is
	// passed in, at most once per call: Token then returns another one, or the same one if there is
	// no other.
	Token(ctx context.Context, refused string) (string, error)
}

// Call is one call to make. Client.Do does not change it.
type Call struct {
	Op          string // for log events
	Class       Class
	Method      string
	URL         *url.URL
	Header      http.Header // without Authorization and Content-Type; not nil
	Body        []byte      // nil: none
	ContentType string      // of Body
	NoCache     bool        // no cache may respond, unless it asked the service first

	Policy  Policy
	Limiter Limiter      // nil: none
	Gate    *Gate        // shared by all calls of a client; nil: none
	Auth    Authorizer   // nil: no Authorization header
	Logger  *slog.Logger // nil: no log events

	Observer Observer // nil: none

	// Accept reads the complete body of a 2xx. If it returns an error, the attempt failed, and a
	// Replayable call is sent again. It may run more than once; the last run counts. nil: every
	// body is accepted.
	Accept func(body []byte) error
	// Buffers provides the buffer for the body, and takes it back after Accept returned nil. Accept
	// must then keep no reference to the body. nil: the body stays in the Result.
	Buffers *Buffers
	// BeforeAttempt is called when everything else is ready for an attempt. If it returns an error,
	// the attempt is not made and the call ends. nil: none.
	BeforeAttempt func() error
	// Applied reports whether the response to a Once call shows, or may show, that something was
	// applied. Such a call is not sent again, whatever its status. It is asked only if the call
	// would be sent again. nil: never.
	Applied func(*Result) bool
}

// Result is the result of a Call.
type Result struct {
	// StatusCode, Header and Body belong to the last response. They are 0 and nil if there was
	// none, or if a later attempt may have been sent and had no response.
	StatusCode int
	Header     http.Header
	Body       []byte        // also nil if Buffers took it back
	Truncated  bool          // Body is incomplete
	RetryAfter time.Duration // of the last response; 0: none
	Attempts   int           // requests passed to the base transport

	// Err is nil if the last attempt had a response with a complete body which, for a 2xx, was
	// accepted. Its text contains nothing from the request or the response. If the caller's context
	// ended the call, Err matches the error of that context, and no other error matches
	// context.Canceled or context.DeadlineExceeded.
	Err error
	// MaybeSent means that the last attempt got no response, and that it may have been sent.
	MaybeSent bool
	// MaybeAppliedBefore means that an attempt before the last one may have been applied.
	MaybeAppliedBefore bool
	// SentTwice means that the base transport wrote the request more than once in the last attempt.
	// The response then does not say what happened to the other copies.
	SentTwice bool
}

// OK reports whether the response is a 2xx with a complete and accepted body.
func (r *Result) OK() bool { return r.Err == nil && r.Is2xx() }

// Is2xx reports whether the status is a 2xx, even if the body could not be read.
func (r *Result) Is2xx() bool { return r.StatusCode >= 200 && r.StatusCode <= 299 }

// Limits of a response, in bytes. Bodies count after decompression.
const (
	MaxBody      = 32 << 20 // of a 2xx
	MaxErrorBody = 1 << 20  // of any other status
	maxHeader    = 64 << 10 // only with the library's own transport
)

// maxIdleConns is the number of connections that are kept for later requests. With fewer than
// requests in flight, HTTP/1.1 opens a new one for about every second request. It is the number of
// requests that a store accepts in a second.
const maxIdleConns = 100

// maxIdle is how long they are kept: less than the 60 s after which load balancers close them. A
// write that meets a connection which is just closed has an unknown outcome. On HTTP/2 a GOAWAY
// would prove that it was not processed, but net/http does not show it.
const maxIdle = 50 * time.Second

// ownTransport is shared by all clients that have no transport of the caller's, so that a program
// that makes a client per job does not leave a connection pool behind for each. Connections carry
// no credentials.
var ownTransport = sync.OnceValue(NewTransport)

// NewTransport returns a transport with the settings of the library's own.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConns:           maxIdleConns,
		MaxIdleConnsPerHost:    maxIdleConns,
		IdleConnTimeout:        maxIdle,
		MaxResponseHeaderBytes: maxHeader,
		// Pings detect a connection whose other end is gone.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// noHeader is never changed. Without a header, http.Client would make one.
var noHeader = http.Header{}

// Client makes calls. It is immutable and safe for concurrent use.
type Client struct {
	given   Hidden[http.RoundTripper] // the caller's, or nil; buffers of its idle connections contain requests
	timeout time.Duration             // of the caller's http.Client, for each attempt
}

// New returns a client that uses the Transport and the Timeout of hc, and nothing else of it. hc is
// neither kept nor changed. If hc or its Transport is nil, the client uses the library's own
// transport, or what replaces [http.DefaultTransport].
func New(hc *http.Client) *Client {
	hc = cmp.Or(hc, &http.Client{})
	return &Client{given: Hide(hc.Transport), timeout: cmp.Or(max(0, hc.Timeout), math.MaxInt64)}
}

// base returns the transport of a call, and whether it is the library's own. A mock or a wrapper in
// place of [http.DefaultTransport] means all requests of the program.
func (c *Client) base() (base http.RoundTripper, isOwn bool) {
	if base = c.given(); base != nil {
		return base, false
	}
	switch base = http.DefaultTransport; base.(type) {
	case nil, *http.Transport:
		return ownTransport(), true
	}
	return base, false
}

// CloseIdleConnections closes the idle connections of the transport.
func (c *Client) CloseIdleConnections() {
	base, _ := c.base()
	(&http.Client{Transport: base}).CloseIdleConnections()
}

// Key is equal for clients with the same transport of the caller's, or with none. A transport that
// cannot be compared, or has no contents that would tell it from others, is another one for each
// client.
func (c *Client) Key() any {
	given := c.given()
	v := reflect.ValueOf(given)
	if given == nil || v.Comparable() && reflect.Indirect(v).Type().Size() > 0 {
		return given
	}
	return c
}

// Do makes the call. It always returns a result.
func (c *Client) Do(ctx context.Context, spec *Call) *Result {
	run := &call{Call: spec, client: c, ctx: ctx}
	run.base, run.isOwn = c.base()
	run.httpClient.Transport = run
	run.loop = retryablehttp.Client{
		HTTPClient:   &run.httpClient,
		RetryMax:     math.MaxInt, // run.checkRetry counts
		CheckRetry:   run.checkRetry,
		Backoff:      func(time.Duration, time.Duration, int, *http.Response) time.Duration { return run.wait },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	// RoundTrip makes the request and reads the response. What passes through the loop is not used.
	run.passed.Request = (&http.Request{Method: spec.Method, URL: spec.URL, Header: noHeader}).WithContext(ctx)
	resp, err := run.loop.Do(&run.passed)
	if resp != nil {
		_ = resp.Body.Close()
	}
	if err != nil && !run.finished { // the context ended during a wait; the last response stays in the result
		run.endBackoff()
		if run.result.Err = WaitError(ctx, "the next attempt"); run.result.Err == nil {
			run.result.Err = redact(ctx, err)
		}
	}
	run.result.MaybeAppliedBefore = run.maybeAppliedBefore
	return &run.result
}
