package commerce

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce/internal/transport"
)

// Option configures a [Client]. The With functions return options. [New] and [Client.With]
// report the problems of all options.
type Option func(*config, *ValidationError)

// config holds the settings of a client. It does not change: options are applied to a copy.
type config struct {
	credentials credentials
	generation  *generation // belongs to the credentials, as does the next
	cartQuery   *rememberedQuery
	gate        *transport.Gate // New makes it, With never changes it
	transport   *transport.Client
	retry       RetryPolicy
	limiter     Limiter
	turnsOf     *transport.Client // that New chose, With never changes it
	locker      Locker            // nil: none
	logger      *slog.Logger
	observer    Observer // nil: none
	product     string   // first part of the User-Agent header
	header      transport.Hidden[http.Header]
	insecure    bool
}

// with returns a copy of c with opts applied, and their problems.
func (c config) with(opts []Option) (config, *ValidationError) {
	problems := &ValidationError{}
	for i, opt := range opts {
		if opt == nil {
			problems.add(fmt.Sprintf("option %d", i), "must not be nil")
			continue
		}
		opt(&c, problems)
	}
	return c, problems
}

// authorize sets the credentials, and forgets what was learned about the store: they may be for one
// with another generation.
func (c *config) authorize(by credentials) {
	c.credentials, c.generation, c.cartQuery = by, &generation{}, &rememberedQuery{}
}

// WithToken authorizes calls with a bearer token that does not change. It must be printable
// ASCII without spaces.
func WithToken(token string) Option {
	return func(c *config, problems *ValidationError) {
		if problem := tokenProblem(token); problem != "" {
			problems.add("token", problem)
		}
		c.authorize(staticToken{transport.Hide(token)})
	}
}

// WithTokenSource authorizes calls with the tokens of src. Its Token method is called before
// each attempt, and must be safe for concurrent use. It should cache tokens, as
// [oauth2.ReuseTokenSource] does. A token must be printable ASCII without spaces.
//
// After a 401, Token is called once more. If it returns a different token, the call is sent
// again. The call waits for Token no longer than its context allows. If Token never returns,
// each call that used it leaves a goroutine behind.
//
// [errors.Is] finds the error of src in the error of the call. [errors.As] does not, and its
// text is not shown, because it may hold secrets.
func WithTokenSource(src oauth2.TokenSource) Option {
	return func(c *config, problems *ValidationError) {
		if src == nil {
			problems.add("token source", "must not be nil")
			return
		}
		c.authorize(tokenSource(src.Token))
	}
}

// WithClientCredentials authorizes calls with tokens from POST {base}/oauth/access_token,
// by the OAuth 2 client-credentials grant. Both are printable ASCII without a space at either end.
//
// Tokens are cached. A token is renewed 1 minute before it expires, or after three quarters of
// its life if that is later. Concurrent calls share one token request. After a 401, a new
// token is requested and the call is sent again, once. If the context of a call ends, the call
// stops waiting. When no call waits any more, the token request is canceled.
func WithClientCredentials(clientID, clientSecret string) Option {
	return func(c *config, problems *ValidationError) {
		for _, of := range [][2]string{{"client id", clientID}, {"client secret", clientSecret}} {
			if text := of[1]; text == "" || !transport.IsPrintable(text) || strings.TrimSpace(text) != text {
				problems.add(of[0], "must be printable ASCII, not empty, and without a space at either end")
			}
		}
		c.authorize(&clientCredentials{id: clientID, secret: transport.Hide(clientSecret)})
	}
}

// WithHTTPClient makes calls through the Transport of hc, e.g. a proxy or a stub for tests; for
// traces and metrics, see [WithObserver]. If hc.Timeout is less than
// [RetryPolicy].AttemptTimeout, it limits each attempt instead. The client follows no redirects and
// sends no cookies, so hc.CheckRedirect and hc.Jar are not used. hc is copied. If hc.Transport is
// nil, calls go through the transport of a client without this option, see [NewTransport].
//
// Give all clients of a store one transport, not a wrapper each: writes to a cart take turns only
// if New got the same transport. A func, or a struct that has one or a slice, is never the same.
//
// Through another transport, proof that nothing of a write was sent comes only from the hooks of
// [net/http/httptrace]. A write without a body has none.
//
// A write is applied at most once if Transport is an [*http.Transport], or passes each request to
// one once, with its context and body. Turn off whatever sends requests again: retries, a second
// route, logins. If the library sees such a write, it cancels it, with OutcomeUnknown. It does not
// recognize a copy with another Host and User-Agent: discounts may be on the cart twice, without an
// error. It cannot stop a transport that copies the body and ignores cancellation, or that sends on
// several connections at once: discounts may be on the cart twice then too, and an add that the
// service confirms is [OutcomePartial] at best.
func WithHTTPClient(hc *http.Client) Option {
	return func(c *config, problems *ValidationError) {
		if hc == nil {
			problems.add("http client", "must not be nil")
		}
		c.transport = transport.New(hc)
	}
}

// NewTransport returns a transport with the settings of the library's own. Add a proxy or a
// certificate, and pass it to [WithHTTPClient], which describes what other transports cannot prove.
//
// It closes an idle connection after 50 s. Load balancers often do so after 60 s, and a write that
// is sent at that moment has [OutcomeUnknown]: set the IdleConnTimeout of any other transport to
// less than the limit of the server.
//
// All clients that have no transport share the library's own. If [http.DefaultTransport] is not an
// [*http.Transport] when a call is made, e.g. because a test replaced it by a mock, they use that.
func NewTransport() *http.Transport { return transport.NewTransport() }

// RetryPolicy limits the attempts of a call. Zero fields mean the defaults.
//
// A read, [CartService.DeleteCustomDiscount] or [CartService.EnableCustomDiscounts] is retried
//   - if there was no response, e.g. after a connection error or a timeout,
//   - after a 408, 421, 425, 429, 500, 502, 503 or 504,
//   - if the body of a 2xx is truncated or cannot be read.
//
// It is not retried if the body is larger than the limit, or if a certificate is not accepted.
//
// Any other write is sent again only if it is certain that nothing was sent, or after a 421, 425 or
// 429, which state that the service did nothing. After a 401, any call is sent again once if there
// is a new token. If a wait would last beyond the deadline of the context, the call returns the
// last response as an error instead. [WithLimiter] describes the waits after a 429.
type RetryPolicy struct {
	// MaxAttempts is the maximum number of attempts of a call, without those that get a 429 without
	// a Retry-After. 1 turns retries off, unless MaxRefusals is set. A call that is sent again
	// after a 401 with a new token may exceed it by one. Raise it for a job that competes with many
	// others for a store that sends Retry-After, or that nobody waits for: 20 attempts at a store
	// that is down take about two minutes. Default 4.
	MaxAttempts int
	// MaxRefusals is the maximum number of all attempts, if it is greater than MaxAttempts. Default
	// MaxAttempts if that is set, otherwise 12. Twelve refusals in a row end a call anyway. With
	// 12, a call without a deadline that gets nothing but quick 429s lasts about 40 s, and any call
	// at most 12 times AttemptTimeout and MaxBackoff, not counting waits for its turn, for a
	// limiter or for a token.
	MaxRefusals int
	// MinBackoff is the upper bound of the first wait between two attempts. The bound
	// doubles with each attempt, up to MaxBackoff. Waits are random and may be shorter than
	// MinBackoff. It must not be greater than MaxBackoff. Default 250 ms, or MaxBackoff if
	// that is less.
	MinBackoff time.Duration
	// MaxBackoff limits every wait between two attempts, including a wait that the service
	// asks for with Retry-After: a call that should wait longer returns at once. It does not
	// limit how long a call waits for its turn after 429s (see [WithLimiter]): the deadline
	// of its context does. Default 20 s.
	MaxBackoff time.Duration
	// AttemptTimeout limits each attempt, from the request for a connection to the end of
	// the body. Default 30 s.
	AttemptTimeout time.Duration
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	p.MaxRefusals = cmp.Or(p.MaxRefusals, p.MaxAttempts, 12)
	p.MaxAttempts = cmp.Or(p.MaxAttempts, 4)
	p.MaxBackoff = cmp.Or(p.MaxBackoff, 20*time.Second)
	p.MinBackoff = cmp.Or(p.MinBackoff, min(250*time.Millisecond, p.MaxBackoff))
	p.AttemptTimeout = cmp.Or(p.AttemptTimeout, 30*time.Second)
	return p
}

// WithRetry sets the whole retry policy: zero fields mean the defaults, also in [Client.With].
func WithRetry(p RetryPolicy) Option {
	return func(c *config, problems *ValidationError) {
		if p.MaxAttempts < 0 {
			problems.add("retry.MaxAttempts", "must be at least 1, or 0 for the default")
		}
		if p.MaxRefusals < 0 {
			problems.add("retry.MaxRefusals", "must be at least 1, or 0 for the default")
		}
		for _, d := range []struct {
			field string
			value time.Duration
		}{{"MinBackoff", p.MinBackoff}, {"MaxBackoff", p.MaxBackoff}, {"AttemptTimeout", p.AttemptTimeout}} {
			if d.value < 0 {
				problems.add("retry."+d.field, "must not be negative")
			}
		}
		c.retry = p.withDefaults()
		if c.retry.MinBackoff > c.retry.MaxBackoff {
			problems.add("retry.MinBackoff", "must not be greater than MaxBackoff")
		}
	}
}

// setting returns an option with a value that must not be nil. field is where it goes.
func setting[T comparable](name string, value T, field func(*config) *T) Option {
	return func(c *config, problems *ValidationError) {
		if value == *new(T) {
			problems.add(name, "must not be nil")
		}
		*field(c) = value
	}
}

// Limiter limits the rate of attempts. A pointer to a [golang.org/x/time/rate.Limiter] is one.
//
// Wait returns nil when the attempt may start. If it returns an error, the call ends;
// [errors.Is] finds that error in the error of the call. [errors.As] does not, and its text
// is not shown unless it has a method SafeMessage() string. Wait must return when ctx ends, and
// be safe for concurrent use.
type Limiter interface {
	Wait(ctx context.Context) error
}

// WithLimiter waits for l before each attempt, including retries and token requests. Clients of
// the same store should share one, because they share the store's limit: 100 requests per second in
// production, 25 in development. A rate that is reserved for an application key is a part of that.
// Set 90 % of it:
//
//	commerce.WithLimiter(rate.NewLimiter(90, 1))   // production
//	commerce.WithLimiter(rate.NewLimiter(22.5, 1)) // development
//
// Without a limiter, a client learns the rate from 429s, which takes longer. With one, it obeys
// them too. After a 429 with Retry-After, all calls wait for that time, at most MaxBackoff.
//
// After a 429 without it, the calls of its operation wait for a moment. All calls of [Client.Do]
// are one operation, see [Error].Op. Then the calls pass one by one: as many per second as were
// accepted in the last second, and at first at least 10. A refusal makes the wait longer, up to 5 s
// or MaxBackoff if that is less. Calls that are accepted raise the rate. A minute after the last
// 429, calls that come do not wait, unless others still do.
//
// If the turn of a call would come after its deadline, it fails with [ErrRateLimited] at once, and
// is not sent. After twelve refusals in a row, calls that wait fail, and only one at a time may
// wait, until one is accepted.
func WithLimiter(l Limiter) Option {
	return setting("limiter", l, func(c *config) *Limiter { return &c.limiter })
}

// WithCartLocker holds a lock of l during each write to a cart, and during the whole of
// [CartService.SetCustomDiscounts] and [CartService.EnsureCustomDiscounts]. Without it, only the
// writes of one process take turns: see [CartService]. [Client.Do] takes neither a turn nor a lock.
//
// If the lock is lost during a write, the write goes on and the call then ends in [ErrLock].
// A lock cannot prevent what a process sends after a pause in the middle of a write;
// these two calls repair it.
func WithCartLocker(l Locker) Option {
	return setting("cart locker", l, func(c *config) *Locker { return &c.locker })
}

// WithLogger logs each call that failed, once, as "commerce: failed" (level warn). The level is
// info if the remedy is RemedyCart or the reason "canceled", because nobody needs to act. The keys
// are op, error, reason, remedy, outcome, attempts, duration, status and request_id, as in
// [CallResult]. Arguments that are invalid before a call begins are not logged. A token request
// that failed is logged as the failure of the call that needs the token.
//
// It also logs each attempt as "commerce: attempt" (level debug), each wait at the gate as
// "commerce: waited" (level debug), and each retry as "commerce: retry" (level warn). The keys are
// op, method, attempt, status, request_id and error, and a [time.Duration]: duration of the
// attempt, or wait.
//
// These texts may change. No event holds a URL, a network address, a header, a token or a body.
// The handler gets the context of the call, with the values that an [Observer] added when the call
// began. Therefore a log record shows the trace id of its call. By default nothing is logged.
func WithLogger(l *slog.Logger) Option {
	return setting("logger", l, func(c *config) **slog.Logger { return &c.logger })
}

// WithObserver tells o about each call and each attempt, e.g. for tracing and metrics. Package
// github.com/commerce-go/commerce/otelcommerce has an Observer for OpenTelemetry. By default
// there is none.
func WithObserver(o Observer) Option {
	return setting("observer", o, func(c *config) *Observer { return &c.observer })
}

// WithUserAgent puts product, e.g. "shop-sync/2.1", before the library's own name in the
// User-Agent header. It must be printable ASCII and not empty.
func WithUserAgent(product string) Option {
	return func(c *config, problems *ValidationError) {
		if strings.TrimSpace(product) == "" || !transport.IsPrintable(product) {
			problems.add("user agent", "must be printable ASCII and not empty")
		}
		c.product = product + " "
	}
}

// WithHeader sends a header with each call, including token requests. It replaces an earlier
// value of the same key. The key has letters, digits, "-" and "_", and the value is printable
// ASCII. The library or the connection sets some headers itself, so these
// are refused: Accept, Accept-Encoding, Authorization, Connection, Content-*, Expect, Host,
// Keep-Alive, Proxy-*, TE, Trailer, Transfer-Encoding, Upgrade, User-Agent (see
// [WithUserAgent]). Idempotency-Key and X-Idempotency-Key are refused because they make
// net/http send writes again.
//
// A shopper has an implicit token, which the service issues for a client id without a secret, and
// sees the subscriptions of one account. Make a client for each shopper by [Client.With], and send
// the token of the account in the header EP-Account-Management-Authentication-Token.
func WithHeader(key, value string) Option {
	return func(c *config, problems *ValidationError) {
		canonical := http.CanonicalHeaderKey(key)
		switch {
		case key == "" || strings.Trim(key, transport.Alphanumeric+"-_") != "":
			problems.add("header key", "must be a token of letters, digits, - and _")
		case refusedHeaders[canonical],
			strings.HasPrefix(canonical, "Content-"), strings.HasPrefix(canonical, "Proxy-"):
			problems.add("header "+canonical, "must not be set")
		case !transport.IsPrintable(value):
			problems.add("header "+canonical, "must have a value of printable ASCII")
		}
		header := c.header().Clone()
		header.Set(canonical, value)
		c.header = transport.Hide(header)
	}
}

var refusedHeaders = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Authorization": true, "Connection": true, "Expect": true, "Host": true,
	"Idempotency-Key": true, "X-Idempotency-Key": true, "Keep-Alive": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true, "User-Agent": true,
}

// WithInsecureHTTP allows a base address with plain http to another machine. Tokens and
// customers' data are then sent unencrypted.
func WithInsecureHTTP() Option {
	return func(c *config, _ *ValidationError) { c.insecure = true }
}
