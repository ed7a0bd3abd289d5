package commerce

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce/internal/transport"
)

// Option configures a [Client]. Options are made by the With functions, and
// report what is wrong with them when they are used.
type Option func(*config, *ValidationError)

// config is what options change. A config is copied before options are applied
// to it, and not changed after.
type config struct {
	credentials credentials
	gate        *transport.Gate // of those who share the credentials
	exchange    *transport.Client
	retry       RetryPolicy
	limiter     Limiter
	logger      *slog.Logger
	product     string
	header      func(http.Header) // sets the caller's headers; a function, as their values may be secret
	insecure    bool
}

// with returns a copy of c with opts applied, and what is wrong with them.
func (c config) with(opts []Option) (config, *ValidationError) {
	faults := &ValidationError{}
	for i, opt := range opts {
		if opt == nil {
			faults.add(fmt.Sprintf("option %d", i), "must not be nil")
			continue
		}
		opt(&c, faults)
	}
	return c, faults
}

// authorize sets the credentials, and a gate for the calls made with them.
func (c *config) authorize(by credentials) {
	c.credentials, c.gate = by, transport.NewGate()
}

// WithToken authorizes calls with a bearer token that does not change
// (specification, section 5).
func WithToken(token string) Option {
	return func(c *config, faults *ValidationError) {
		if fault := tokenFault(token); fault != "" {
			faults.add("token", fault)
		}
		c.authorize(staticToken{newSecret(token)})
	}
}

// WithTokenSource authorizes calls with the tokens of src, which is asked once
// for each attempt and must be safe for concurrent use. It should cache, as
// [oauth2.ReuseTokenSource] does.
//
// After a 401, src is asked once more, and the call repeated if the token is
// another one. The time of a slow src counts against the caller's context. Its error
// is found by [errors.Is] in that of the call, and not by [errors.As]: its text is
// withheld.
func WithTokenSource(src oauth2.TokenSource) Option {
	return func(c *config, faults *ValidationError) {
		if isNil(src) {
			faults.add("token source", "must not be nil")
			return
		}
		c.authorize(tokenSource(src.Token))
	}
}

// WithClientCredentials authorizes calls with tokens that the client gets by the
// OAuth 2 client-credentials grant, from POST {base}/oauth/access_token.
//
// A token is kept until shortly before it expires, and got once for all calls
// that wait for it. After a 401 a new one is got and the call repeated, once. A call
// whose context ends gives up its wait; the last one ends the token request, and
// returns when the HTTP transport has let go of it, as with any other request.
func WithClientCredentials(clientID, clientSecret string) Option {
	return func(c *config, faults *ValidationError) {
		if clientID == "" {
			faults.add("client id", "must not be empty")
		}
		if clientSecret == "" {
			faults.add("client secret", "must not be empty")
		}
		c.authorize(&clientCredentials{id: clientID, secret: newSecret(clientSecret)})
	}
}

// WithHTTPClient makes calls through hc's Transport, Jar and Timeout. hc is
// copied, never changed. A proxy, a stub transport for tests or one that traces
// goes in here.
//
// Timeout holds for each attempt, where it is shorter than
// [RetryPolicy.AttemptTimeout]. CheckRedirect is not used: redirects are never
// followed. Without a Transport the library's own is used, which differs from
// [http.DefaultTransport] in its bounds: 10 s to connect, 64 KiB of headers, 16 idle
// connections to the store.
//
// A write is applied at most once if Transport is an [*http.Transport]. The same is true of
// a transport that passes each request to an [*http.Transport] once, with the context and
// the body of the request. Other transports behave as follows:
//
//   - If it does not call the hooks of net/http/httptrace, or reads the body before it
//     requests a connection, for example to sign it, then no failure proves that nothing
//     was sent: the outcome is [OutcomeUnknown] instead of [OutcomeNotSent], and the
//     write is not sent again.
//   - If it retries, tries a second route, or sends a request again to log in (Digest,
//     NTLM), then a write is cancelled before it is sent a second time, and its outcome is
//     OutcomeUnknown. Turn such retries off. A transport cannot be stopped if it keeps a
//     copy of the body, and does not pass on the cancellation of the request's context. A
//     request that it sends with another Host and another User-Agent is not recognised as
//     the same one.
//   - If it sends a write on several connections at once, all may be applied. If it calls
//     the hooks, the outcome is never OutcomeRejected or OutcomeNotSent.
func WithHTTPClient(hc *http.Client) Option {
	return func(c *config, faults *ValidationError) {
		switch {
		case hc == nil:
			faults.add("http client", "must not be nil")
		case hc.Transport != nil && isNil(hc.Transport):
			faults.add("http client's Transport", "must not be a nil of its type")
		}
		c.exchange = transport.New(hc)
	}
}

// RetryPolicy bounds the attempts of a call. Zero fields mean the defaults.
type RetryPolicy struct {
	// MaxAttempts of a call, the first included: at least 1, default 4. The one
	// repeat after a 401 with a new token counts, but is made in any case.
	MaxAttempts int
	// MinBackoff bounds the first wait between two attempts; the bound doubles
	// with each. Waits are random below their bound. It must not be greater than
	// MaxBackoff. Default 250 ms, or MaxBackoff if that is less.
	MinBackoff time.Duration
	// MaxBackoff bounds every wait, also one that the service asks for with
	// Retry-After: a call that is asked for a longer one returns at once, and others
	// wait no longer than this. Default 20 s.
	MaxBackoff time.Duration
	// AttemptTimeout bounds each attempt, from the search for a connection to the
	// end of the body. Default 30 s.
	AttemptTimeout time.Duration
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = 4
	}
	if p.MaxBackoff == 0 {
		p.MaxBackoff = 20 * time.Second
	}
	if p.MinBackoff == 0 {
		p.MinBackoff = min(250*time.Millisecond, p.MaxBackoff)
	}
	if p.AttemptTimeout == 0 {
		p.AttemptTimeout = 30 * time.Second
	}
	return p
}

// WithRetry sets the whole retry policy: zero fields mean the defaults, also in
// [Client.With]. Which calls are repeated at all is not a matter of policy: a write
// never is once it may have been applied.
func WithRetry(p RetryPolicy) Option {
	return func(c *config, faults *ValidationError) {
		if p.MaxAttempts < 0 {
			faults.add("retry.MaxAttempts", "must be at least 1, or 0 for the default")
		}
		for _, d := range []struct {
			field string
			value time.Duration
		}{{"MinBackoff", p.MinBackoff}, {"MaxBackoff", p.MaxBackoff}, {"AttemptTimeout", p.AttemptTimeout}} {
			if d.value < 0 {
				faults.add("retry."+d.field, "must not be negative")
			}
		}
		c.retry = p.withDefaults()
		if c.retry.MinBackoff > c.retry.MaxBackoff {
			faults.add("retry.MinBackoff", "must not be greater than MaxBackoff")
		}
	}
}

// Limiter lets attempts through at a rate. [golang.org/x/time/rate.Limiter] is
// one. Wait returns nil when the attempt may go on, or an error to end the call, which
// [errors.Is] then finds in the call's error, and [errors.As] does not: its text is
// withheld. It must return when ctx ends, and be safe for concurrent use.
type Limiter interface {
	Wait(ctx context.Context) error
}

// WithLimiter asks l before each attempt, retries and token requests included.
// Clients of the same store do well to share one: the store's rate limit is shared by
// all of them.
//
// Without one, the limit is learned from refusals. After a 429 with a Retry-After
// all calls of the client wait for it, MaxBackoff at most, and then leave one by
// one, at 20 a second or half of what was refused, for 5 s after the last 429; a
// call that may not wait that long returns at once with [ErrRateLimited], and was
// not sent. That costs time: a known limit belongs in l. A job that competes with
// many others for the limit should also raise [RetryPolicy].MaxAttempts.
func WithLimiter(l Limiter) Option {
	return func(c *config, faults *ValidationError) {
		if isNil(l) {
			faults.add("limiter", "must not be nil")
		}
		c.limiter = l
	}
}

// WithLogger logs an event for each attempt and each wait at the gate (level debug)
// and for each retry (level warn) to l. Their keys are op, method, attempt, status,
// request_id, error, duration and wait; they never hold an address, a header, a token
// or a body. Without it, nothing is logged.
func WithLogger(l *slog.Logger) Option {
	return func(c *config, faults *ValidationError) {
		if l == nil {
			faults.add("logger", "must not be nil")
		}
		c.logger = l
	}
}

// WithUserAgent puts product, e.g. "shop-sync/2.1", before the library's own
// name in the User-Agent header.
func WithUserAgent(product string) Option {
	return func(c *config, faults *ValidationError) {
		if strings.TrimSpace(product) == "" || !validHeaderValue(product) {
			faults.add("user agent", "must be printable ASCII and not empty")
		}
		c.product = product + " "
	}
}

// WithHeader sends a header with each call, token requests included, and in place of
// one set before with the same key. Headers that the library or the connection owns
// are refused: Accept, Accept-Encoding, Authorization, Connection, Content-*, Expect,
// Host, Keep-Alive, Proxy-*, TE, Trailer, Transfer-Encoding, Upgrade, User-Agent (see
// [WithUserAgent]), Idempotency-Key, which makes net/http repeat writes, and X-Idempotency-Key.
func WithHeader(key, value string) Option {
	return func(c *config, faults *ValidationError) {
		canonical := http.CanonicalHeaderKey(key)
		switch {
		case !validHeaderKey(key):
			faults.add("header key", "must be a token of letters, digits, - and _")
			return
		case refusedHeaders[canonical] || strings.HasPrefix(canonical, "Content-") || strings.HasPrefix(canonical, "Proxy-"):
			faults.add("header "+canonical, "must not be set")
			return
		case !validHeaderValue(value):
			faults.add("header "+canonical, "must have a value of printable ASCII")
			return
		}
		before := c.header
		c.header = func(h http.Header) {
			if before != nil {
				before(h)
			}
			h.Set(canonical, value)
		}
	}
}

var refusedHeaders = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Authorization": true, "Connection": true, "Expect": true, "Host": true,
	"Idempotency-Key": true, "X-Idempotency-Key": true, "Keep-Alive": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true, "User-Agent": true,
}

// WithInsecureHTTP allows a base address with plain http to a host other than
// this machine. Tokens and customers' data then travel readable.
func WithInsecureHTTP() Option {
	return func(c *config, _ *ValidationError) { c.insecure = true }
}

// isNil reports whether an interface is nil or holds a nil pointer or function, which
// would panic only when it is used.
func isNil(v any) bool {
	rv := reflect.ValueOf(v)
	return v == nil || (rv.Kind() == reflect.Pointer || rv.Kind() == reflect.Func) && rv.IsNil()
}

func validHeaderKey(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) < 0
}

func validHeaderValue(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}
