package commerce

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"runtime"
	"strings"

	"github.com/commerce-go/commerce/internal/transport"
	"github.com/commerce-go/commerce/internal/wire"
)

// Version of the library, as its User-Agent header tells.
const Version = "0.1.0"

// Client calls the service. It is immutable and safe for concurrent use; make
// one with [New] and keep it.
type Client struct {
	// Carts adds custom discounts to carts.
	Carts *CartService
	// Subscriptions lists and walks subscriptions.
	Subscriptions *SubscriptionService

	core *core
}

// core is what the services of a client share.
type core struct {
	base      *url.URL // path without a trailing slash or /v2
	cfg       config
	userAgent string
}

// Response is what is kept of the HTTP answer besides its body.
type Response struct {
	// StatusCode of the answer, a 2xx where there is no error.
	StatusCode int
	// Header holds those of the headers Cache-Control, Content-Language,
	// Content-Length, Content-Type, Date, Etag, Last-Modified, Ratelimit-*,
	// Retry-After, Server, X-Moltin-Request-Id, X-Ratelimit-* and X-Request-Id that
	// the answer has; others are dropped, as they may hold secrets.
	Header http.Header
	// RequestID identifies the request to the service's support; may be empty.
	RequestID string
	// Attempts is how often the request was handed to the HTTP transport.
	Attempts int
}

// New returns a client for the store at baseURL, e.g.
// "https://euwest.api.elasticpath.com"; a path is kept, and a trailing /v2 makes
// no difference. Plain http is for this machine only: see [WithInsecureHTTP]. One of
// [WithToken], [WithTokenSource] and [WithClientCredentials] is required; of
// several, the last counts. Nothing is sent until the first call.
//
// Its error is a [*ValidationError] that tells all that is wrong, also with options
// that later ones replace.
func New(baseURL string, opts ...Option) (*Client, error) {
	cfg, faults := config{retry: RetryPolicy{}.withDefaults()}.with(opts)
	base, fault := parseBase(baseURL, cfg.insecure)
	if fault != "" {
		faults.add("base URL", fault)
	}
	if cfg.credentials == nil {
		faults.add("credentials", "are required: use WithToken, WithTokenSource or WithClientCredentials")
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	if cfg.exchange == nil {
		cfg.exchange = transport.New(nil)
	}
	return newClient(base, cfg), nil
}

func newClient(base *url.URL, cfg config) *Client {
	c := &core{base: base, cfg: cfg, userAgent: cfg.product + "commerce-go/" + Version + " (" + runtime.Version() + ")"}
	return &Client{Carts: &CartService{c}, Subscriptions: &SubscriptionService{c}, core: c}
}

// With returns a copy of the client with opts applied, for settings of single
// calls; each replaces its setting as a whole. The copy shares the connections of c
// unless opts change the HTTP client, and the token cache and the gate (see
// [WithLimiter]) unless they change the credentials. c does not change. The error is
// a [*ValidationError].
func (c *Client) With(opts ...Option) (*Client, error) {
	cfg, faults := c.core.cfg.with(opts)
	if err := faults.err(); err != nil {
		return nil, err
	}
	return newClient(c.core.base, cfg), nil
}

// parseBase returns the base address, or says what is wrong with it. The text
// does not repeat the address, which may hold a password.
func parseBase(s string, insecure bool) (*url.URL, string) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, "must be a URL"
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, "must start with https://"
	case u.Host == "" || u.Hostname() == "":
		return nil, "must have a host"
	case u.User != nil:
		return nil, "must not hold a user name or password"
	case u.RawQuery != "" || u.ForceQuery:
		return nil, "must not have a query"
	case u.Fragment != "" || strings.Contains(s, "#"):
		return nil, "must not have a fragment"
	case u.Scheme == "http" && !insecure && !isLoopback(u.Hostname()):
		return nil, "must start with https:// (plain http to another machine needs WithInsecureHTTP)"
	}
	path := strings.TrimSuffix(strings.TrimRight(u.EscapedPath(), "/"), "/v2")
	if path != "" {
		if _, err := wire.Path(strings.Split(path[1:], "/")...); err != nil {
			return nil, "must have a plain path: no empty or dot segments, no escapes"
		}
	}
	return &url.URL{Scheme: u.Scheme, Host: strings.TrimSuffix(u.Host, ":"), Path: path}, ""
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// address returns the base address with an escaped path and a query appended.
func (c *core) address(path, query string) *url.URL {
	u := *c.base
	u.RawPath = u.Path + path
	u.Path, _ = url.PathUnescape(u.RawPath) // built by wire.Path: can't fail
	u.RawQuery = query
	return &u
}

// call returns a call with the client's settings.
func (c *core) call(op string, class transport.Class, method string, u *url.URL, body []byte) *transport.Call {
	header := http.Header{}
	if c.cfg.header != nil {
		c.cfg.header(header)
	}
	header.Set("Accept", "application/json")
	header.Set("User-Agent", c.userAgent)
	if body != nil {
		header.Set("Content-Type", "application/json")
	}
	return &transport.Call{
		Op: op, Class: class, Method: method, URL: u, Header: header, Body: body,
		Applied: mayHoldDiscounts,
		Policy:  transport.Policy(c.cfg.retry),
		Limiter: c.cfg.limiter,
		Gate:    c.cfg.gate,
		Auth:    authorizer{c},
		Logger:  c.cfg.logger,
	}
}

// send makes the call.
func (c *core) send(ctx context.Context, call *transport.Call) *transport.Result {
	return c.cfg.exchange.Do(ctx, call)
}

// fail returns the error of a failed call other than AddCustomDiscounts.
func fail(call *transport.Call, r *transport.Result) *Error {
	if call.Class == transport.Replayable {
		return failWith(call, r, OutcomeNone, errorsOf(r.Body))
	}
	b := readBatch(r)
	if len(b.added) > 0 { // there is no result to return them in
		b.added, b.mayHold = nil, true
	}
	return failWith(call, r, b.outcome(r), b.errors)
}

// failWith returns the error of a call that failed, or that of its token request if
// the call itself was not begun.
func failWith(call *transport.Call, r *transport.Result, outcome Outcome, errs []ErrorObject) *Error {
	if failed, ok := errors.AsType[*transport.AuthError](r.Err); ok {
		if token, ok := errors.AsType[*Error](failed.Err); ok {
			if r.StatusCode == 0 {
				return token
			}
			r.Err = refreshError(func() *Error { return token })
		}
	}
	return newError(call.Op, r, outcome, errs)
}

// refreshError is the failed token request after a call was refused. It matches what
// its cause matches, and is found as an *Error, but it does not match the sentinel of
// its status: the call has a status of its own. A function, as fmt shows fields.
type refreshError func() *Error

func (e refreshError) Error() string { return e().Error() }
func (e refreshError) Unwrap() error { return e().Err }
func (e refreshError) As(target any) bool {
	token, ok := target.(**Error)
	if ok {
		*token = e()
	}
	return ok
}

func newResponse(r *transport.Result) *Response {
	return &Response{
		StatusCode: r.StatusCode,
		Header:     transport.KeptHeader(r.Header),
		RequestID:  transport.RequestID(r.Header),
		Attempts:   r.Attempts,
	}
}

// Do calls any other endpoint of the service under the same rules: GET and HEAD
// are repeated after faults, other methods only where that can't apply them twice.
//
// path holds the unescaped elements of the path after the base address, e.g.
// {"v2", "carts", id}, with the version also where the base address ends in it;
// elements that could leave their place are refused. in, if not nil, is encoded as
// the JSON body, and the response is decoded into out, both by encoding/json. JSON
// text goes in and out as a [json.RawMessage]; an [io.Reader] and a []byte are refused.
// Of this package's types,
// [Subscription], [Plan], [Product], [PricingOption], [CustomDiscount] and [Decimal]
// are made for that; others read the service's JSON only as a part of these.
//
// If out is nil, any 2xx is accepted, also an empty one. If out is not nil, an empty
// response is an [ErrBadResponse], and so is one of more than 1 MiB with more than
// 100,000 values. A write with a 204 response succeeds, and out does not change.
//
// Errors are those of the other operations: [*ValidationError] before anything
// is sent, [*Error] after. The Response is nil with an error.
func (c *Client) Do(ctx context.Context, method string, path []string, query url.Values, in, out any) (*Response, error) {
	const op = "Client.Do"
	faults := &ValidationError{}
	if ctx == nil {
		faults.add("ctx", "must not be nil")
	}
	class := transport.Once
	switch method {
	case http.MethodGet, http.MethodHead:
		class = transport.Replayable
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		faults.add("method", "must be GET, HEAD, POST, PUT, PATCH or DELETE")
	}
	escaped, err := wire.Path(path...)
	if err != nil {
		faults.add("path", err.Error())
	}
	var body []byte
	if problem := inProblem(in); problem != "" {
		faults.add("in", problem)
	} else if in != nil {
		if body, err = json.Marshal(in); err != nil {
			faults.add("in", "must encode as JSON")
		}
	}
	if v := reflect.ValueOf(out); out != nil && (v.Kind() != reflect.Pointer || v.IsNil()) {
		faults.add("out", "must be a pointer that is not nil")
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	call := c.core.call(op, class, method, c.core.address(escaped, wire.Query(query)), body)
	decode := out != nil && method != http.MethodHead
	if decode && class == transport.Replayable {
		call.Accept = acceptJSON // a read is sent again if it fails
	}
	r := c.core.send(ctx, call)
	if class == transport.Once && r.StatusCode == http.StatusNoContent {
		decode = false // the write succeeded, and there is nothing to decode
	}
	if r.OK() && decode {
		r.Err = decodeAny(r.Body, out)
	}
	if !r.OK() {
		return nil, fail(call, r)
	}
	return newResponse(r), nil
}

// inProblem says why in cannot be the body of [Client.Do]: encoding/json would encode a
// reader as {} and bytes as base64.
func inProblem(in any) string {
	_, encodesItself := in.(json.Marshaler)
	_, isReader := in.(io.Reader)
	t := reflect.TypeOf(in)
	isBytes := t != nil && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
	if !encodesItself && (isReader || isBytes) {
		return "must be a value to encode as JSON; pass JSON text as a json.RawMessage"
	}
	return ""
}

// acceptJSON refuses what is not one JSON value. Its error holds nothing of b.
func acceptJSON(b []byte) error {
	if !wire.Valid(b) {
		return errors.New("the answer is not JSON")
	}
	return nil
}

// decodeAny decodes JSON into the caller's out. Its error holds nothing of b.
func decodeAny(b []byte, out any) error {
	if wire.HasTooManyValues(b) {
		return errors.New("the response has too many JSON values")
	}
	if raw, ok := out.(*json.RawMessage); ok {
		if err := acceptJSON(b); err != nil {
			return err
		}
		*raw = bytes.Clone(b)
		return nil
	}
	if json.Unmarshal(b, out) != nil {
		return errors.New("the answer does not fit the value to decode into")
	}
	return nil
}
