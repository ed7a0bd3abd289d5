package commerce_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jarcoal/httpmock"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

// sentinels are the errors of the table in reasons.go, by their names there.
var sentinels = func() map[string]error {
	source, err := os.ReadFile("reasons.go")
	_, table, _ := strings.Cut(string(source), "var sentinels = ")
	names, byName := regexp.MustCompile(`\berr: ([\w.]+)`).FindAllStringSubmatch(table, -1), map[string]error{}
	rows := commerce.SentinelRows()
	if err != nil || len(names) != len(rows) {
		panic(fmt.Sprintf("reasons.go shows %d sentinels, want %d; error %v", len(names), len(rows), err))
	}
	for i, row := range rows {
		byName[names[i][1]] = row.Err
	}
	return byName
}()

// A write without a result must not take what a gateway sends for a success, nor a report of
// errors.
func TestError_noConfirmation(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Carts.DeleteCustomDiscount", "Carts.DeleteCustomDiscounts", "Subscriptions.ChangeState",
	} {
		for _, tt := range []struct {
			body string
			want commerce.Outcome
		}{
			{body: "", want: commerce.OutcomeApplied},
			{body: `{"data":{"type":"other"}}`, want: commerce.OutcomeApplied},
			{body: gateway, want: commerce.OutcomeUnreadable},
			{body: refusal, want: commerce.OutcomeUnreadable},
		} {
			c := newStub(t, respond(200, tt.body)).client(t, attempts(1))
			_, err := calls.Named(name).Do(t.Context(), c, calls.NewArgs())
			isBad := errors.Is(err, commerce.ErrBadResponse)
			if got := commerce.OutcomeOf(err); got != tt.want || isBad != (err != nil) {
				t.Errorf("%s, 200 %s: error %v, outcome %v, want %v", name, tt.body, err, got, tt.want)
			}
		}
	}
}

func TestError_statusSentinels(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]error{
		101: commerce.ErrBadResponse, 204: commerce.ErrBadResponse, 301: commerce.ErrBadResponse,
		304: commerce.ErrBadResponse, 400: commerce.ErrBadRequest, 401: commerce.ErrUnauthorized, 402: nil,
		403: commerce.ErrForbidden, 404: commerce.ErrNotFound, 408: nil, 409: commerce.ErrConflict, 418: nil,
		422: commerce.ErrUnprocessable, 429: commerce.ErrRateLimited, 500: commerce.ErrServer, 503: commerce.ErrServer,
		599: commerce.ErrServer,
	} {
		err := list(t.Context(), newStub(t, respond(status, "")).client(t, attempts(1)))
		checkError(t, err, commerce.Error{
			Op: "Subscriptions.List", StatusCode: status, Outcome: commerce.OutcomeNone, Attempts: 1,
		})
		for _, sentinel := range sentinels {
			if got := errors.Is(err, sentinel); got != errors.Is(want, sentinel) {
				t.Errorf("status %d: errors.Is(%v, %v) = %t, want %t", status, err, sentinel, got, !got)
			}
		}
	}
}

// A response that asks for a wait is not final, and a 403 that does is a refusal of the rate too.
func TestError_rateLimited(t *testing.T) {
	t.Parallel()
	const asks, remaining = "Retry-After", "X-RateLimit-Remaining"
	for _, tt := range []struct {
		name    string
		status  int
		header  []string
		reason  string // of ReasonOf
		isFinal bool
	}{
		{name: "422", status: 422, reason: "unprocessable", isFinal: true},
		{name: "422 that asks for no wait", status: 422, header: []string{asks, "0"}, reason: "unprocessable", isFinal: true},
		{name: "422 that asks for a wait", status: 422, header: []string{asks, "30"}, reason: "unprocessable"},
		{name: "400 that asks for a wait", status: 400, header: []string{asks, "30"}, reason: "bad_request"},
		{name: "403", status: 403, reason: "forbidden"},
		{name: "403 that asks for no wait", status: 403, header: []string{asks, "0"}, reason: "forbidden"},
		{name: "403 that asks for a wait", status: 403, header: []string{asks, "30"}, reason: "rate_limited"},
		{name: "403, one remains", status: 403, header: []string{remaining, "1"}, reason: "forbidden"},
		{name: "403, none remains", status: 403, header: []string{remaining, "0"}, reason: "rate_limited"},
		{name: "403, none remains", status: 403, header: []string{"RateLimit-Remaining", "0"}, reason: "rate_limited"},
		{name: "404, none remains", status: 404, header: []string{remaining, "0"}, reason: "not_found", isFinal: true},
	} {
		for _, call := range append(calls.All(), tokenCall) {
			requests := 0
			c := newClient(t, roundTripper(func(req *http.Request) (*http.Response, error) {
				requests++
				return respond(tt.status, refusal, tt.header...)(req)
			}))
			_, err := call.Do(t.Context(), c, calls.NewArgs())
			want := tt.reason
			if call.Name == tokenCall.Name && want != "rate_limited" {
				want = "token"
			}
			isFinal := tt.isFinal && call.Name != tokenCall.Name
			if got := commerce.ReasonOf(err); got != want || commerce.IsFinal(err) != isFinal || requests != 1 {
				t.Errorf("%s, %s: error %v, reason %s, final %t after %d requests, want %s, %t after 1",
					call.Name, tt.name, err, got, commerce.IsFinal(err), requests, want, isFinal)
			}
			if got, want := errors.Is(err, commerce.ErrForbidden), tt.status == 403; got != want {
				t.Errorf("%s, %s: error %v matches ErrForbidden: %t, want %t", call.Name, tt.name, err, got, want)
			}
		}
	}
	truncated := func(*http.Request) (*http.Response, error) {
		resp, err := respondTruncated(403, refusal)(nil)
		resp.Header.Set(remaining, "0")
		return resp, err
	}
	err := list(t.Context(), newStub(t, truncated).client(t))
	if !errors.Is(err, commerce.ErrRateLimited) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v, want ErrRateLimited and io.ErrUnexpectedEOF", err)
	}
}

// tlsServer is a server whose certificate no authority has signed. It counts connections.
func tlsServer(t *testing.T, connections *atomic.Int32) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// certificateTest is a transport that refuses the certificate of a server.
type certificateTest struct {
	name    string
	change  func(*tls.Config, *x509.CertPool) // nil: the library's own transport
	wrapper func(http.RoundTripper) roundTripper
}

// options returns the options of a client with that transport.
func (tt *certificateTest) options(s *httptest.Server) []commerce.Option {
	opts := []commerce.Option{commerce.WithToken("t"), attempts(4)}
	if tt.change == nil {
		return opts
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	own := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	tt.change(own.TLSClientConfig, roots)
	var base http.RoundTripper = own
	if tt.wrapper != nil {
		base = tt.wrapper(own)
	}
	return append(opts, commerce.WithHTTPClient(&http.Client{Transport: base}))
}

// A certificate that is not accepted is not tried again, and nothing is sent.
func TestError_certificate(t *testing.T) {
	t.Parallel()
	names := []string{"Carts.AddCustomDiscounts", "Carts.EnableCustomDiscounts", "Subscriptions.List", "token"}
	for _, tt := range []certificateTest{
		{name: "own transport"},
		{name: "self-signed", change: func(*tls.Config, *x509.CertPool) {}},
		{
			name:   "wrong name",
			change: func(c *tls.Config, roots *x509.CertPool) { c.RootCAs, c.ServerName = roots, "store.example" },
		},
		{name: "expired", change: func(c *tls.Config, roots *x509.CertPool) {
			c.RootCAs, c.Time = roots, func() time.Time { return time.Now().AddDate(200, 0, 0) }
		}},
		{
			name: "wrapped", change: func(*tls.Config, *x509.CertPool) {},
			wrapper: func(base http.RoundTripper) roundTripper {
				return func(req *http.Request) (*http.Response, error) {
					resp, err := base.RoundTrip(req)
					return resp, fmt.Errorf("%s: %w", token, errors.Join(io.EOF, err))
				}
			},
		},
	} {
		for _, name := range names {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				t.Parallel()
				var connections atomic.Int32
				s := tlsServer(t, &connections)
				opts, call := tt.options(s), tokenCall
				if name != tokenCall.Name {
					call = calls.Named(name)
				}
				c, err := commerce.New(s.URL, opts...)
				if err != nil {
					t.Fatal(err)
				}
				_, err = call.Do(t.Context(), c, calls.NewArgs())
				want := commerce.OutcomeNotSent
				if name == "Subscriptions.List" {
					want = commerce.OutcomeNone
				}
				if got := commerce.OutcomeOf(err); got != want || commerce.IsFinal(err) || errors.Is(err, commerce.ErrConnection) {
					t.Errorf("error %v, outcome %v, want %v, and neither final nor ErrConnection", err, got, want)
				}
				if got := commerce.ReasonOf(err); got != "certificate" || !errors.Is(err, commerce.ErrCertificate) {
					t.Errorf("error %v, reason %s, want certificate", err, got)
				}
				if n := connections.Load(); n != 1 || attemptsOf(err) != 1 || strings.Contains(fmt.Sprintf("%+v", err), token) {
					t.Errorf("error %v, %d connections, want 1 attempt and 1 connection", err, n)
				}
			})
		}
	}
}

func TestError_facts(t *testing.T) {
	t.Parallel()
	const body = `{"errors":[{"title":"a","request_id":"from-body"}]}`
	s := newStub(t, respond(503, body, "X-Moltin-Request-Id", "from-header", "Retry-After", "120"),
		respond(418, body, "X-Request-Id", "not an id"),
		respond(418, `{"errors":[{"request_id":"not an id"}]}`, "X-Moltin-Request-Id", "not an id"))
	c := s.client(t)
	e, ok := errors.AsType[*commerce.Error](list(t.Context(), c))
	if !ok || e.RequestID != "from-header" || e.RetryAfter != 2*time.Minute || e.Attempts != 1 {
		t.Fatalf("error = %v, want request id from-header and 2 minutes, after 1 attempt", e)
	}
	e, ok = errors.AsType[*commerce.Error](list(t.Context(), c))
	if !ok || e.RequestID != "from-body" {
		t.Errorf("error = %v, want request id from-body", e)
	}
	e, ok = errors.AsType[*commerce.Error](list(t.Context(), c))
	if text := fmt.Sprintf("%v %+v %#v %s", e, e, e, encode(t, e)); !ok || strings.Contains(text, "an id") {
		t.Errorf("error = %s, want no request id", text)
	}
}

// failure is a way for a call to fail.
type failure struct {
	name           string
	first, respond httpmock.Responder // to the first request, if it differs, and to the others
	opts           []commerce.Option
	less           time.Duration // than an hour to the deadline
	isSecond       bool          // a call was made before
	call, want     string        // of TestError_Body
}

// failures are ways for a call to fail, each with an error of its own.
var failures = []failure{
	{name: "refused", respond: respond(422, `{"errors":[{"title":"a","detail":"b"}]}`)},
	{name: "another detail", respond: respond(422, `{"errors":[{"title":"a","detail":"c"}]}`)},
	{name: "not JSON", respond: respond(200, gateway)},
	{name: "truncated", respond: respondTruncated(200, `{"data":`)},
	{name: "partial", respond: respond(201, partial)},
	{name: "no response", respond: failTransport},
	{name: "token", respond: respond(502, gateway), opts: byCredentials},
	{name: "refresh", first: respond(200, `{"access_token":"t"}`), respond: respond(401, ""), opts: byCredentials},
	{name: "limiter", respond: respond(504, ""), opts: []commerce.Option{commerce.WithLimiter(failingLimiter{})}},
	{name: "lock lost", respond: respond(506, ""), opts: []commerce.Option{commerce.WithCartLocker(losingLocker)}},
	{name: "deadline", less: time.Hour},
	{name: "gate", respond: respond(429, "", "Retry-After", "10"), less: time.Hour - time.Second, isSecond: true},
}

const partial = `{"data":[{"type":"custom_discount","id":"` + itemID + `"}],"errors":[` + bare + `]}`

var byCredentials = []commerce.Option{commerce.WithClientCredentials("id", "secret")}

// do makes a call that fails.
func (f *failure) do(t *testing.T, call calls.Call) error {
	t.Helper()
	requests := 0
	s := roundTripper(func(req *http.Request) (*http.Response, error) {
		if requests++; requests == 1 && f.first != nil {
			return f.first(req)
		}
		return f.respond(req)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour-f.less)
	defer cancel()
	opts := []commerce.Option{commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1})}
	c := newClient(t, s, append(opts, f.opts...)...)
	if f.isSecond {
		_, _ = call.Do(ctx, c, calls.NewArgs())
	}
	_, err := call.Do(ctx, c, calls.NewArgs())
	return err
}

// cmp.Diff compares each error with another one, without options.
func TestError_Equal(t *testing.T) {
	t.Parallel()
	for _, call := range calls.All() {
		synctest.Test(t, func(t *testing.T) {
			kinds := map[string]func() error{
				"ended":         func() error { return &commerce.Error{Err: commerce.ErrEnded} },
				"text of ended": func() error { return &commerce.Error{Err: errors.New(commerce.ErrEnded.Error())} },
				"end of a walk": func() error { return &commerce.PagingError{Err: commerce.ErrOffsetLimit} },
				"nil":           func() error { return (*commerce.Error)(nil) },
				"invalid":       func() error { return &commerce.ValidationError{Fields: make([]commerce.FieldError, 1)} },
			}
			for _, f := range failures {
				kinds[f.name] = func() error { return f.do(t, call) }
			}
			for name, kind := range kinds {
				for other, again := range kinds {
					a, b := kind(), again()
					if d := cmp.Diff(a, b); a != nil && (d == "") != (name == other) { // Client.Do takes any 2xx
						t.Errorf("%s, %s and %s: %v and %v (-first +second):\n%s", call.Name, name, other, a, b, d)
					}
				}
			}
		})
	}
}

// An error keeps the beginning of the last response, unless that may hold a token or is a success
// in part.
func TestError_Body(t *testing.T) {
	t.Parallel()
	const read, ensure = "Carts.Get", "Carts.EnsureCustomDiscounts"
	const flagless = `{"data":{"id":"02000000-0000-0000-0000-000000000000","type":"subscription"}}`
	page := func(status int, body string) httpmock.Responder {
		return respond(status, body, "Content-Type", "text/html")
	}
	cart := cartOf(hasItem, "")
	filled := cartOf(hasItem+noSum, `,"included":{"items":[{`+item+`}],"custom_discounts":[]}`)
	two := []commerce.Option{attempts(2)}
	tests := []failure{
		{name: "lost", first: page(503, "a"), respond: failTransport, opts: two, call: read},
		{name: "last", first: page(503, ""), respond: page(403, "b"), opts: two, call: read, want: "b"},
		{name: "partial", respond: page(201, partial), call: "Carts.AddCustomDiscounts"},
		{name: "incomplete", respond: page(200, cart), call: ensure, want: cart},
		{name: "add", first: page(200, filled), respond: page(403, "b"), call: ensure, want: "b"},
		{name: "no flag", respond: page(200, flagless), call: "Subscriptions.EnsureState", want: flagless},
		{name: "token", respond: page(403, "b"), opts: byCredentials, call: read, want: "b"},
		{name: "token, 200", respond: page(200, "b"), opts: byCredentials, call: read},
	}
	for _, call := range calls.All() {
		tt := failure{name: "403", respond: page(403, gateway), call: call.Name, want: gateway}
		tests = append(tests, tt)
		if tt.name, tt.respond = "200", page(200, gateway); call.Op != "Client.Do" { // takes any 2xx
			tests = append(tests, tt)
		}
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			e, _ := errors.AsType[*commerce.Error](tt.do(t, calls.Named(tt.call)))
			if got := string(e.Body()); got != tt.want || (e.ContentType() == "text/html") != (tt.want != "") {
				t.Errorf("%s, %s: error %v, body %.80q of %q, want %.80q", tt.name, tt.call, e, got, e.ContentType(), tt.want)
			}
		})
	}
}

// The text is not part of the API, but what it tells is: the facts of the error and the
// titles of the service's errors, shortened.
func TestError_text(t *testing.T) {
	t.Parallel()
	e := commerce.Error{
		Op: "op", StatusCode: 500, RequestID: "r", RetryAfter: time.Second, Attempts: 2, Err: io.EOF,
		Errors: []commerce.ErrorObject{{Title: "t", Detail: "canary"}, {}},
	}
	for _, text := range []string{fmt.Sprint(e), fmt.Sprintf("%+v", &e), fmt.Sprintf("%#v", e), fmt.Sprintf("%q", e)} {
		for _, want := range []string{"op", "500", "t", "unknown", "2", "r", "1s", "EOF"} {
			if !strings.Contains(text, want) || strings.Contains(text, "canary") {
				t.Errorf("text %s, want %s in it, and no detail", text, want)
			}
		}
	}
	for _, title := range []string{"Not Found", "Gone"} {
		e := commerce.Error{Op: "op", StatusCode: 404, Errors: []commerce.ErrorObject{{Title: title}}}
		if n := strings.Count(e.Error(), title); n != 1 {
			t.Errorf("text %v, want %q once", &e, title)
		}
	}
	forged := commerce.Error{Op: "op", Errors: []commerce.ErrorObject{{Title: "t\nforged line"}}}
	if text := forged.Error(); strings.Contains(text, "\n") || !strings.Contains(text, `"t\nforged line"`) {
		t.Errorf("text %s, want the title quoted", text)
	}
	const facts = `{"attempts":2,"cause":"EOF","op":"op","outcome":"unknown","request_id":"r",` +
		`"retry_after":1000000000,"status":500,"titles":["t"]}`
	diff(t, "JSON", encode(t, e), facts)
	diff(t, "JSON of a pointer", encode(t, &e), facts)
	diff(t, "details, which nothing else shows", e.Details(), []string{"canary"})
	for i := range 7 {
		e.Errors = append(e.Errors, commerce.ErrorObject{Title: fmt.Sprint(i) + strings.Repeat("é", 100)})
	}
	if text := e.Error(); len(text) > 800 || !strings.Contains(text, "9 in all") {
		t.Errorf("got %d bytes: %s, want the first titles and how many there are", len(text), text)
	}
}

// An error says what is known: the reason if the title is only the status, each title once, and
// which request of a call failed.
func TestError_textOfReason(t *testing.T) {
	t.Parallel()
	const notEnabled = `{"title":"Bad Request","detail":"Custom discounts not enabled for this cart"}`
	const disabled = `{"errors":[` + notEnabled + `,` + notEnabled + `]}`
	const twice = `{"errors":[{"title":"Refused"},{"title":"Refused"},{"title":"Other"}]}`
	filled := cartOf(hasItem+noSum, `,"included":{"items":[{`+item+`}],"custom_discounts":[]}`)
	ensure := func(c *commerce.Client) error {
		_, err := c.Carts.EnsureCustomDiscounts(t.Context(), cartID, discounts("a"), nil)
		return err
	}
	get := func(c *commerce.Client) error {
		_, err := c.Carts.Get(t.Context(), cartID)
		return err
	}
	add := func(c *commerce.Client) error { return addDiscount(t.Context(), c) }
	for _, tt := range []struct {
		name      string
		responses responders
		call      func(*commerce.Client) error
		want      string
	}{
		{
			name: "a title that is the status", responses: responders{respond(400, disabled)}, call: add,
			want: "Carts.AddCustomDiscounts: 400 Bad Request: custom discounts not enabled (",
		},
		{
			name: "a title twice", responses: responders{respond(422, twice)}, call: add,
			want: `Carts.AddCustomDiscounts: 422 Unprocessable Entity: "Refused", "Other" (`,
		},
		{
			name: "the items of a cart", responses: responders{respond(200, cartOf(hasItem, "")), respond(500, "")},
			call: get, want: "Carts.Get: items: 500 Internal Server Error (",
		},
		{
			name: "the add of a call", responses: responders{respond(200, filled), respond(422, twice), respond(200, filled)},
			call: ensure, want: `Carts.EnsureCustomDiscounts: 0 of 1 discounts are as wanted; ` +
				`add: 422 Unprocessable Entity: "Refused", "Other" (`,
		},
		{
			name: "the read of a call", responses: responders{respond(500, "")}, call: ensure,
			want: "Carts.EnsureCustomDiscounts: 500 Internal Server Error (",
		},
	} {
		err := tt.call(newStub(t, tt.responses...).client(t, attempts(1)))
		if err == nil || !strings.HasPrefix(err.Error(), "commerce: "+tt.want) {
			t.Errorf("%s: error %v, want %s…", tt.name, err, tt.want)
		}
	}
}
