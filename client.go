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
	"slices"
	"strings"

	"github.com/commerce-go/commerce/internal/transport"
	"github.com/commerce-go/commerce/internal/wire"
)

// Version of the library. It is part of the User-Agent header.
const Version = "0.1.0"

// Client calls the service. It is immutable and safe for concurrent use. Make one with
// [New] and keep it.
type Client struct {
	// Carts reads carts and changes their custom discounts.
	Carts *CartService
	// Subscriptions reads subscriptions and changes their state.
	Subscriptions *SubscriptionService
	// Accounts reads accounts.
	Accounts *AccountService

	core *core
}

// New returns a client for the store at baseURL, e.g.
// "https://euwest.api.elasticpath.com". A path in baseURL is kept; a trailing /v2 makes no
// difference. Plain http works for the local machine only, see [WithInsecureHTTP].
//
// One of [WithToken], [WithTokenSource] and [WithClientCredentials] is required; the last
// one counts. New sends nothing.
//
// The error is a [*ValidationError] with all problems of the arguments, including the problems of
// options that later options replace.
func New(baseURL string, opts ...Option) (*Client, error) {
	defaults := config{
		retry: RetryPolicy{}.withDefaults(), header: transport.Hide(http.Header{}), gate: transport.NewGate(),
		transport: transport.New(nil),
	}
	cfg, problems := defaults.with(opts)
	cfg.turnsOf = cfg.transport
	base, problem := parseBase(baseURL, cfg)
	if problem != "" {
		problems.add("base URL", problem)
	}
	if cfg.credentials == nil {
		problems.add("credentials", "are required: use WithToken, WithTokenSource or WithClientCredentials")
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	return newClient(base, cfg), nil
}

func newClient(base *url.URL, cfg config) *Client {
	header := cfg.header().Clone()
	header.Set("Accept", "application/json")
	header.Set("User-Agent", cfg.product+"commerce-go/"+Version+" ("+runtime.Version()+")")
	c := &core{base: base, lockPrefix: lockPrefix(base), cfg: cfg, header: transport.Hide(header)}
	return &Client{Carts: &CartService{c}, Subscriptions: &SubscriptionService{c}, Accounts: &AccountService{c}, core: c}
}

// With returns a copy of the client with other options, e.g. for a single call. Each option
// replaces its setting as a whole. The copy shares the connections of c unless opts change
// the HTTP client, and the token cache unless opts change the credentials. It always shares the
// gate (see [WithLimiter]), so make clients for different stores with [New]. The error is a
// [*ValidationError].
func (c *Client) With(opts ...Option) (*Client, error) {
	cfg, problems := c.core.cfg.with(opts)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return newClient(c.core.base, cfg), nil
}

// CloseIdleConnections closes connections of the transport of c, and so of all clients that have
// the same one, if no request uses them. It does nothing if the transport lacks this method.
func (c *Client) CloseIdleConnections() { c.core.cfg.transport.CloseIdleConnections() }

// parseBase returns the base address, or its problem. The text of the problem does not
// repeat the address, which may hold a password.
func parseBase(s string, cfg config) (base *url.URL, problem string) {
	u, err := url.Parse(s)
	switch {
	case err != nil && !strings.Contains(s, "://"): // e.g. 127.0.0.1:8080
		return nil, "must start with https://"
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
	case u.Scheme == "http" && !cfg.insecure &&
		!strings.EqualFold(u.Hostname(), "localhost") && !net.ParseIP(u.Hostname()).IsLoopback():
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

// Do calls any other endpoint of the service under the same rules. GET and HEAD are retried
// after an error; other methods only if that cannot apply them twice.
//
// path holds the unescaped elements of the path after the base address, e.g.
// {"v2", "carts", id}. The version is part of it, even if the base address ends in /v2.
// Elements such as ".." are refused.
//
// If in is not nil, it is encoded as the JSON body. If out is not nil, the response is
// decoded into it. Both use encoding/json; pass JSON text as a [json.RawMessage], not as an
// [io.Reader] or a []byte. Of the types of this package, use [Subscription], [Plan],
// [Product], [PricingOption], [CustomDiscount] and [Decimal]; others decode the service's
// JSON only as a part of these.
//
// If out is nil, any 2xx is a success, even with an empty body. If out is not nil, an empty
// body is an [ErrBadResponse], and so is a body of more than 1 MiB with more than 100,000
// values. A write with a 204 response succeeds, and out does not change.
//
// The error is a [*ValidationError] before anything is sent, and an [*Error] after. The
// Response is nil if there is an error.
func (c *Client) Do( //nolint:revive // argument-limit: a request has that many parts
	ctx context.Context, method string, path []string, query url.Values, in, out any,
) (*Response, error) {
	problems := &ValidationError{}
	if !slices.Contains(methods, method) {
		problems.add("method", "must be GET, HEAD, POST, PUT, PATCH or DELETE")
	}
	escaped, err := wire.Path(path...)
	if err != nil {
		problems.add("path", err.Error())
	}
	body, problem := encodeBody(in)
	if problem != "" {
		problems.add("in", problem)
	}
	if v := reflect.ValueOf(out); out != nil && (v.Kind() != reflect.Pointer || v.IsNil()) {
		problems.add("out", "must be a pointer that is not nil")
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	decode := out != nil && method != http.MethodHead
	o := operation[none]{
		op: "Client.Do", method: method, path: escaped, query: wire.Query(query), body: body,
		finish: func(_ *none, r *transport.Result) error {
			if !decode || !transport.IsRead(method) && r.StatusCode == http.StatusNoContent {
				return nil
			}
			return decodeAny(r.Body, out)
		},
	}
	if decode && transport.IsRead(method) {
		o.accept = acceptJSON // a response that is not JSON is retried
	}
	_, r, err := o.do(ctx, c.core)
	if err != nil {
		return nil, err
	}
	return newResponse(r), nil
}

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
}

// encodeBody encodes the body of [Client.Do], or returns why it cannot. It refuses a reader,
// which encoding/json would encode as {}, and bytes, which it would encode as base64.
func encodeBody(in any) (body []byte, problem string) {
	if in == nil {
		return nil, ""
	}
	_, encodesItself := in.(json.Marshaler)
	_, isReader := in.(io.Reader)
	t := reflect.TypeOf(in)
	isBytes := t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
	if !encodesItself && (isReader || isBytes) {
		return nil, "must be a value to encode as JSON; pass JSON text as a json.RawMessage"
	}
	body, err := json.Marshal(in)
	if err != nil {
		return nil, "must encode as JSON"
	}
	return body, ""
}

// decodeAny decodes the JSON text b, which becomes the caller's, into out. The error holds nothing
// of b.
func decodeAny(b []byte, out any) error {
	if wire.HasTooManyValues(b) {
		return errExcessive
	}
	if raw, ok := out.(*json.RawMessage); ok && wire.Valid(b) {
		if cap(b) > len(b)+len(b)/4 { // the length was not known before
			b = bytes.Clone(b)
		}
		*raw = slices.Clip(b)
		return nil
	}
	if json.Unmarshal(b, out) != nil {
		return errors.New("the response does not fit the value to decode into")
	}
	return nil
}
