package commerce_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"
	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

type sourceFunc func() (*oauth2.Token, error)

func (f sourceFunc) Token() (*oauth2.Token, error) { return f() }

func TestNew_options(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		opts []commerce.Option // after WithToken, if it is not nil
		want []string          // fields
	}{
		{name: "no credentials", want: []string{"credentials"}},
		{name: "nil option", opts: []commerce.Option{nil}, want: []string{"option 1"}},
		{
			name: "everything at once",
			opts: []commerce.Option{
				commerce.WithToken(""), commerce.WithTokenSource(nil), commerce.WithClientCredentials("", ""),
				commerce.WithHTTPClient(nil), commerce.WithLimiter(nil), commerce.WithLogger(nil), commerce.WithUserAgent(" "),
				commerce.WithObserver(nil), commerce.WithCartLocker(nil),
				commerce.WithRetry(commerce.RetryPolicy{
					MaxAttempts: -1, MaxRefusals: -1, MinBackoff: -1, MaxBackoff: -1, AttemptTimeout: -1,
				}),
			},
			want: []string{
				"token", "token source", "client id", "client secret", "http client", "limiter", "logger", "user agent",
				"observer", "cart locker",
				"retry.MaxAttempts", "retry.MaxRefusals", "retry.MinBackoff", "retry.MaxBackoff", "retry.AttemptTimeout",
			},
		},
		{
			name: "MaxBackoff alone is below the default MinBackoff",
			opts: []commerce.Option{commerce.WithRetry(commerce.RetryPolicy{MaxBackoff: time.Millisecond})},
		},
		{
			name: "MinBackoff above MaxBackoff",
			opts: []commerce.Option{commerce.WithRetry(commerce.RetryPolicy{MinBackoff: time.Minute})},
			want: []string{"retry.MinBackoff"},
		},
		{
			name: "header injection",
			opts: []commerce.Option{
				commerce.WithHeader("X-A\r\nX-B", "x"), commerce.WithHeader("", "x"),
				commerce.WithHeader("X-A", "x\r\nX-B: y"), commerce.WithUserAgent("a\r\nb"),
			},
			want: []string{"header key", "header key", "header X-A", "user agent"},
		},
	} {
		if tt.opts != nil {
			tt.opts = append([]commerce.Option{commerce.WithToken(token)}, tt.opts...)
		}
		_, err := commerce.New(baseURL, tt.opts...)
		diff(t, "invalid fields: "+tt.name, invalidFields(err), tt.want)
	}
}

// Headers of the library and of the connection cannot be set.
func TestWithHeader_refused(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"authorization", "Host", "content-length", "Content-Type", "Content-Anything", "Idempotency-Key",
		"x-idempotency-key", "Connection", "Transfer-Encoding", "Accept", "Accept-Encoding", "User-Agent", "TE", "Trailer",
		"Upgrade", "Expect", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection",
	} {
		_, err := commerce.New(baseURL, commerce.WithToken(token), commerce.WithHeader(key, "x"))
		diff(t, "invalid fields: "+key, invalidFields(err), []string{"header " + http.CanonicalHeaderKey(key)})
	}
}

// The characters of header keys, header values and tokens, byte by byte. The last characters have
// the low bytes of "a" and of a line break.
func TestNew_characters(t *testing.T) {
	t.Parallel()
	accepts := func(opts ...commerce.Option) bool {
		_, err := commerce.New(baseURL, append([]commerce.Option{commerce.WithToken(token)}, opts...)...)
		return err == nil
	}
	chars := []string{"é", "\u2028", "\u0161", "\u560a"}
	for b := range 256 {
		chars = append(chars, string([]byte{byte(b)}))
	}
	for _, char := range chars {
		const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
		isPrintable := len(char) == 1 && char >= " " && char <= "~"
		if got := accepts(commerce.WithClientCredentials("i"+char+"d", "s")); got != isPrintable {
			t.Errorf("client id with %q: accepted %t, want %t", char, got, isPrintable)
		}
		if got, want := accepts(commerce.WithClientCredentials("id", "s"+char)), isPrintable && char != " "; got != want {
			t.Errorf("client secret that ends in %q: accepted %t, want %t", char, got, want)
		}
		if got, want := accepts(commerce.WithHeader("X"+char, "v")), strings.Contains(letters, char); got != want {
			t.Errorf("header key with %q accepted: %t, want %t", char, got, want)
		}
		if got, want := accepts(commerce.WithHeader("X-A", "v"+char)), isPrintable; got != want {
			t.Errorf("header value with %q accepted: %t, want %t", char, got, want)
		} else if got := accepts(commerce.WithUserAgent("v" + char)); got != want {
			t.Errorf("user agent with %q accepted: %t, want %t", char, got, want)
		}
		if got, want := accepts(commerce.WithToken("t"+char)), isPrintable && char != " "; got != want {
			t.Errorf("token with %q accepted: %t, want %t", char, got, want)
		}
	}
}

// Tokens and header values arrive as they are, and add no other header.
func FuzzHeaders(f *testing.F) {
	for _, value := range []string{
		"", "v", "a b", "a\r\nX-Evil: 1", "a\x00", "é", "\t", " lead", "trail ", `"q"`, "a: b", "\x7f", "\xc1", "y_2\x99",
	} {
		f.Add("token", "X-Key", value, "product")
		f.Add(value, "x-key_2", "value", value)
		f.Add("t", value, "Authorization", "p")
	}
	f.Add("t", "content-length", "5", "p")
	f.Add("t", "accept", "5", "p")
	f.Fuzz(func(t *testing.T, secret, key, value, product string) {
		r := &recorder{respond: respond(200, emptyList)}
		c, err := commerce.New(baseURL, commerce.WithHTTPClient(&http.Client{Transport: r}),
			commerce.WithToken(secret), commerce.WithHeader(key, value), commerce.WithUserAgent(product))
		if err != nil {
			r.checkRefused(t, err, secret)
			return
		}
		if err := list(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		req := r.read(t)
		diff(t, "Authorization", req.Header.Values("Authorization"), []string{"Bearer " + secret})
		// A server removes the white space around a value.
		diff(t, key, req.Header.Values(key), []string{strings.TrimSpace(value)})
		if got := req.UserAgent(); !strings.HasPrefix(got, strings.TrimLeft(product, " ")+" commerce-go/") {
			t.Errorf("User-Agent = %q, want %q first", got, product)
		}
		if len(req.Header) != 4 || req.Host != "store.example" {
			t.Errorf("got Host %s and headers %v, want store.example and 4 headers", req.Host, req.Header)
		}
	})
}

func TestClient_httpClientIsCopied(t *testing.T) {
	t.Parallel()
	hc := &http.Client{Transport: newStub(t, respond(200, emptyList)), Timeout: time.Minute}
	c, err := commerce.New(baseURL, commerce.WithToken(token), commerce.WithHTTPClient(hc))
	if err != nil {
		t.Fatal(err)
	}
	hc.Transport = nil // too late to matter
	if err := list(t.Context(), c); err != nil {
		t.Error(err)
	}
	if hc.Timeout != time.Minute || hc.CheckRedirect != nil {
		t.Error("the caller's client was changed")
	}
}

// What replaces http.DefaultTransport, before a client is made or after, gets the calls of clients
// without a transport of their own: a test with a mock must not look up a store.
//
//nolint:paralleltest // changes http.DefaultTransport and net.DefaultResolver
func TestClient_defaultTransport(t *testing.T) {
	const mocked = `=~^https://live\.store\.example/`
	var lookups atomic.Int32
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		lookups.Add(1)
		return nil, errors.New("no network")
	}}
	defer func() { net.DefaultResolver = before }()
	defer httpmock.DeactivateAndReset()
	stub := newStub(t, respond(204, ""), respond(204, ""))
	var clients []*commerce.Client
	for range 2 { // the first clients are made before the mock
		for _, hc := range []*http.Client{nil, {Timeout: time.Minute}, {Transport: stub}} {
			opts := []commerce.Option{commerce.WithToken(token), attempts(1), commerce.WithHTTPClient(hc)}
			if hc == nil {
				opts = opts[:2]
			}
			c, err := commerce.New("https://live.store.example", opts...)
			if err != nil {
				t.Fatal(err)
			}
			clients = append(clients, c)
		}
		httpmock.Activate()
	}
	httpmock.RegisterResponder("DELETE", mocked, respond(204, ""))
	write := func(c *commerce.Client) error { return c.Carts.DeleteCustomDiscounts(t.Context(), cartID) }
	for i, c := range clients {
		if err := write(c); err != nil || lookups.Load() > 0 {
			t.Errorf("client %d: error %v, and %d look-ups, want neither", i, err, lookups.Load())
		}
	}
	diff(t, "calls of the mock", httpmock.GetTotalCallCount(), 4)
	httpmock.RegisterResponder("DELETE", mocked, func(req *http.Request) (*http.Response, error) {
		httptrace.ContextClientTrace(req.Context()).GetConn("store.example:443")
		return nil, errors.New("connection refused")
	})
	if err := write(clients[0]); commerce.OutcomeOf(err) != commerce.OutcomeUnknown {
		t.Errorf("error %v, want an unknown outcome, as the hooks of a mock prove nothing without a body", err)
	}
	httpmock.DeactivateAndReset()
	if err := write(clients[0]); !errors.Is(err, commerce.ErrConnection) || lookups.Load() == 0 {
		t.Errorf("without the mock: error %v, and %d look-ups, want ErrConnection after some", err, lookups.Load())
	}
}

// Clients with one transport share its connections, until one of them closes those that are idle.
func TestNewTransport(t *testing.T) {
	t.Parallel()
	var conns atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	own := commerce.NewTransport()
	first, second := newClientAt(t, server.URL, own), newClientAt(t, server.URL, own)
	for i, c := range []*commerce.Client{first, second, first} {
		if i == 2 {
			second.CloseIdleConnections()
		}
		err := c.Carts.DeleteCustomDiscounts(t.Context(), cartID)
		if got, want := conns.Load(), int32(1+i/2); err != nil || got != want || own == commerce.NewTransport() {
			t.Errorf("write %d: error %v, and %d connections, want none and %d; or one transport is returned again",
				i, err, got, want)
		}
	}
}

// recordFunc is called with each event. It is a slog.Handler.
type recordFunc func(context.Context, slog.Record)

func (recordFunc) Enabled(context.Context, slog.Level) bool          { return true }
func (f recordFunc) Handle(ctx context.Context, r slog.Record) error { f(ctx, r); return nil }
func (f recordFunc) WithAttrs([]slog.Attr) slog.Handler              { return f }
func (f recordFunc) WithGroup(string) slog.Handler                   { return f }

//nolint:paralleltest // changes the default logger, which is where a careless library would log to
func TestWithLogger(t *testing.T) {
	byDefault, events := 0, 0
	before := slog.Default()
	slog.SetDefault(slog.New(recordFunc(func(context.Context, slog.Record) { byDefault++ }))) // also that of package log
	t.Cleanup(func() { slog.SetDefault(before) })
	silent := newStub(t, respond(500, ""), respond(200, emptyList)).client(t)
	logger := slog.New(recordFunc(func(context.Context, slog.Record) { events++ }))
	logged := newStub(t, respond(500, ""), respond(200, emptyList)).client(t, commerce.WithLogger(logger))
	if err := errors.Join(list(t.Context(), silent), list(t.Context(), logged)); err != nil {
		t.Fatal(err)
	}
	if byDefault != 0 || events != 3 { // two attempts and a retry
		t.Errorf("got %d events by default and %d with a logger, want 0 and 3", byDefault, events)
	}
}

// A call that failed is one event, also without an observer; invalid arguments and successes are
// none. TestObserver_failures has all calls.
func TestWithLogger_failures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault commercetest.Fault
		items []commerce.CartItemRef
		want  string // without the message and the op
	}{
		"an empty cart": {want: `INFO error="empty cart" reason=empty_cart remedy=cart outcome="not sent" ` +
			`attempts=2 duration=0s status=200 request_id=commercetest-000003`},
		"refused": {
			items: make([]commerce.CartItemRef, 1), fault: commercetest.Fault{Operation: commercetest.OpAdd, Status: 400},
			want: `WARN error="400 Bad Request" reason=bad_request remedy=staff outcome=rejected ` +
				`attempts=3 duration=0s status=200 request_id=commercetest-000003`,
		},
		"no token": {
			fault: commercetest.Fault{Operation: commercetest.OpToken, Status: 401},
			want:  `WARN error="401 Unauthorized" reason=token remedy=staff outcome="not sent" attempts=0 duration=0s`,
		},
		"canceled": {
			fault: commercetest.Fault{Operation: commercetest.OpCart, Delay: time.Hour},
			want:  `INFO error="context canceled" reason=canceled remedy=again outcome="not sent" attempts=1 duration=10s`,
		},
		"a success": {items: make([]commerce.CartItemRef, 1)},
	} {
		inBubble(t, name, func(t *testing.T) {
			store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
			store.Inject(tt.fault)
			var log bytes.Buffer
			c := store.Client(commerce.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), attempts(1),
				commerce.WithClientCredentials(commercetest.DefaultClientID, commercetest.DefaultClientSecret))
			ctx, cancel := context.WithCancel(t.Context())
			defer time.AfterFunc(10*time.Second, cancel).Stop()
			for _, cart := range []string{"", store.AddCart(tt.items...)} {
				_, _ = c.Carts.EnsureCustomDiscounts(ctx, cart, discounts("a"), nil)
			}
			_, got, _ := strings.Cut(strings.TrimSpace(log.String()), " level=")
			diff(t, "log", strings.Replace(got, ` msg="commerce: failed" op=Carts.EnsureCustomDiscounts`, "", 1), tt.want)
		})
	}
}

// The comment of RetryPolicy lists the statuses after which a read, and a write, is sent again.
func TestRetryPolicy_statuses(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("options.go")
	if err != nil {
		t.Fatal(err)
	}
	lists := regexp.MustCompile(`after a ([0-9,or/\s]+), *(which|\n)`).FindAllStringSubmatch(string(source), -1)
	if len(lists) != 2 {
		t.Fatalf("options.go has %d lists of statuses, want 2: %q", len(lists), lists)
	}
	documented := func(list int, status int) bool { return strings.Contains(lists[list][1], strconv.Itoa(status)) }
	for status := 300; status <= 599; status++ {
		for i, call := range []func(context.Context, *commerce.Client) error{list, addDiscount} {
			requests := 0
			c := newClient(t, roundTripper(func(req *http.Request) (*http.Response, error) {
				requests++
				return respond(status, "")(req)
			}))
			if err := call(t.Context(), c); err == nil {
				t.Errorf("status %d: no error", status)
			}
			if got, want := requests > 1, documented(i, status); got != want {
				t.Errorf("status %d: call %d is sent again: %t, documented: %t", status, i, got, want)
			}
		}
	}
}

// A call sends at most MaxAttempts requests, and up to MaxRefusals if they get a 429.
func TestWithRetry_attempts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		attempts, refusals     int
		only429, only503, both int // requests
	}{
		{only429: 12, only503: 4, both: 8},
		{attempts: 1, only429: 1, only503: 1, both: 1},
		{attempts: 2, only429: 2, only503: 2, both: 2},
		{attempts: 20, only429: 12, only503: 20, both: 20}, // after 12 in a row, the service accepts nothing
		{refusals: 6, only429: 6, only503: 4, both: 6},
		{attempts: 1, refusals: 5, only429: 5, only503: 1, both: 2},
		{attempts: 3, refusals: 2, only429: 3, only503: 3, both: 3},
	} {
		for want, statuses := range map[*int][]int{&tt.only429: {429}, &tt.only503: {503}, &tt.both: {429, 503}} {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				c := newClient(t, roundTripper(func(req *http.Request) (*http.Response, error) {
					requests++
					return respond(statuses[(requests-1)%len(statuses)], "")(req)
				}), commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: tt.attempts, MaxRefusals: tt.refusals}))
				if err := list(t.Context(), c); err == nil || requests != *want {
					t.Errorf("MaxAttempts %d, MaxRefusals %d, %v: error %v after %d requests, want %d",
						tt.attempts, tt.refusals, statuses, err, requests, *want)
				}
			})
		}
	}
}
