package commerce_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"
	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
)

func TestNew_baseURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://store.example":           "/v2/x",
		"https://store.example/":          "/v2/x",
		"https://store.example/v2":        "/v2/x",
		"https://store.example/v2/":       "/v2/x",
		"https://store.example/api":       "/api/v2/x",
		"https://store.example/api/v2//":  "/api/v2/x",
		"https://store.example/apiv2":     "/apiv2/v2/x",
		"https://store.example:8443":      "/v2/x",
		"http://localhost:80":             "/v2/x",
		"http://127.8.9.1":                "/v2/x",
		"http://[::1]:80/v2":              "/v2/x",
		"HTTPS://store.example/sous-chef": "/sous-chef/v2/x",
	} {
		s := newStub(t, answer(200, ""))
		c, err := commerce.New(in, commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: s}))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if _, err := c.Do(bg, "GET", []string{"v2", "x"}, nil, nil, nil); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if got := s.got(t)[0].Path; got != want {
			t.Errorf("%s: path %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{
		"", "store.example", "//store.example", "ftp://store.example", "https://", "https://:443", "https://user:secret-pw@store.example", "https://secret-pw@store.example",
		"https://store.example?x=secret-pw", "https://store.example?", "https://store.example#secret-pw", "https://store.example#", "http://store.example", "http://127.0.0.1.store.example",
		"https://store.example/a/../b", "https://store.example/a%2fb", "https://store.example/a//b", "https://store.example/%zz", "https:store.example", "https://store.example/\x00", "https://st ore.example",
	} {
		_, err := commerce.New(in, commerce.WithToken(token))
		var v *commerce.ValidationError
		if !errors.As(err, &v) || len(v.Fields) != 1 || v.Fields[0].Field != "base URL" || strings.Contains(err.Error(), "secret-pw") {
			t.Errorf("%q: error %v", in, err)
		}
	}
	if _, err := commerce.New("http://store.example", commerce.WithToken(token), commerce.WithInsecureHTTP()); err != nil {
		t.Errorf("plain http, allowed: %v", err)
	}
}

func TestNew_options(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		opts []commerce.Option
		want []string // fields
	}{
		{"no credentials", nil, []string{"credentials"}},
		{"a nil option", []commerce.Option{commerce.WithToken(token), nil}, []string{"option 1"}},
		{"all that is wrong at once", []commerce.Option{
			commerce.WithToken(""), commerce.WithTokenSource(nil), commerce.WithClientCredentials("", ""), commerce.WithHTTPClient(nil),
			commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: -1, MinBackoff: -1, MaxBackoff: -1, AttemptTimeout: -1}), commerce.WithLimiter(nil),
			commerce.WithLogger(nil), commerce.WithUserAgent(" "),
		}, []string{"token", "token source", "client id", "client secret", "http client", "retry.MaxAttempts", "retry.MinBackoff", "retry.MaxBackoff",
			"retry.AttemptTimeout", "limiter", "logger", "user agent"}},
		{"a small cap alone is fine", []commerce.Option{commerce.WithRetry(commerce.RetryPolicy{MaxBackoff: time.Millisecond})}, []string{"credentials"}},
		{"backoff bounds crossed", []commerce.Option{commerce.WithToken(token), commerce.WithRetry(commerce.RetryPolicy{MinBackoff: time.Minute})}, []string{"retry.MinBackoff"}},
		{"a token with a line break", []commerce.Option{commerce.WithToken("a\r\nb")}, []string{"token"}},
		{"a token with a space", []commerce.Option{commerce.WithToken("a b")}, []string{"token"}},
		{"headers that are not the caller's", []commerce.Option{
			commerce.WithToken(token), commerce.WithHeader("authorization", "x"), commerce.WithHeader("Host", "x"), commerce.WithHeader("content-length", "1"),
			commerce.WithHeader("Content-Type", "x"), commerce.WithHeader("Idempotency-Key", "x"), commerce.WithHeader("x-idempotency-key", "x"),
			commerce.WithHeader("Connection", "x"), commerce.WithHeader("Transfer-Encoding", "x"), commerce.WithHeader("Accept-Encoding", "x"), commerce.WithHeader("User-Agent", "x"),
		}, []string{"header Authorization", "header Host", "header Content-Length", "header Content-Type", "header Idempotency-Key", "header X-Idempotency-Key",
			"header Connection", "header Transfer-Encoding", "header Accept-Encoding", "header User-Agent"}},
		{"header injections", []commerce.Option{commerce.WithToken(token), commerce.WithHeader("X-A\r\nX-B", "x"), commerce.WithHeader("", "x"),
			commerce.WithHeader("X-A", "x\r\nX-B: y"), commerce.WithUserAgent("a\r\nb")}, []string{"header key", "header key", "header X-A", "user agent"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := commerce.New(base, tt.opts...)
			var v *commerce.ValidationError
			if c != nil || !errors.As(err, &v) {
				t.Fatalf("client %v, error %v", c, err)
			}
			var fields []string
			for _, f := range v.Fields {
				fields = append(fields, f.Field)
			}
			diff(t, "fields", fields, tt.want)
		})
	}
}

func TestClient_headers(t *testing.T) {
	t.Parallel()
	s := newStub(t, answer(200, emptyList), answer(200, emptyList), answer(200, emptyList))
	first := s.client(t, commerce.WithUserAgent("shop/1.0"), commerce.WithHeader("x-store", "one"))
	second, err := first.With(commerce.WithHeader("X-Store", "two"), commerce.WithHeader("X-Other", "three"), commerce.WithToken("other"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*commerce.Client{first, second, first} {
		if _, err := c.Subscriptions.List(bg, nil); err != nil {
			t.Fatal(err)
		}
	}
	got := s.got(t)
	diff(t, "the first client before and after With", got[0], got[2])
	for i, want := range []map[string]string{
		{"X-Store": "one", "X-Other": "", "Authorization": "Bearer " + token},
		{"X-Store": "two", "X-Other": "three", "Authorization": "Bearer other"},
	} {
		for key, value := range want {
			if g := got[i].Header.Get(key); g != value {
				t.Errorf("request %d: %s = %q, want %q", i, key, g, value)
			}
		}
		if ua := got[i].Header.Get("User-Agent"); !strings.HasPrefix(ua, "shop/1.0 commerce-go/"+commerce.Version+" (go") {
			t.Errorf("User-Agent = %q", ua)
		}
	}
	if _, err := first.With(commerce.WithLimiter(nil)); !errors.Is(err, commerce.ErrInvalidArgument) {
		t.Errorf("With a bad option: %v", err)
	}
}

func TestClient_httpClientIsCopied(t *testing.T) {
	t.Parallel()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newStub(t, answerWith(200, emptyList, "Set-Cookie", "a=b"), answer(200, emptyList))
	hc := &http.Client{Transport: s, Jar: jar, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("not asked") }}
	want := *hc
	c, err := commerce.New(base, commerce.WithToken(token), commerce.WithHTTPClient(hc))
	if err != nil {
		t.Fatal(err)
	}
	hc.Transport = nil // too late to matter
	for range 2 {
		if _, err := c.Subscriptions.List(bg, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.got(t)[1].Header.Get("Cookie"); got != "" { // the jar is not used
		t.Errorf("Cookie = %q", got)
	}
	if hc.Timeout != want.Timeout || hc.Jar != want.Jar {
		t.Error("the caller's client was changed")
	}
}

func TestDo(t *testing.T) {
	t.Parallel()
	s := newStub(t, answer(200, ` {"data": {"custom_discount_limit":5}} `), answer(200, ` {"a": 1.0} `), answer(204, ""), answer(201, `{"b":2}`))
	c := s.client(t)
	var settings struct {
		Data struct {
			Limit int `json:"custom_discount_limit"`
		}
	}
	resp, err := c.Do(bg, "GET", []string{"v2", "settings"}, nil, nil, &settings)
	if err != nil || settings.Data.Limit != 5 || resp.StatusCode != 200 || resp.RequestID != "req-1" || resp.Attempts != 1 {
		t.Errorf("%+v, %+v, %v", settings, resp, err)
	}
	var raw json.RawMessage
	if _, err = c.Do(bg, "GET", []string{"v2", "a b é+", "y"}, url.Values{"q": {"a b+c"}}, nil, &raw); !errors.Is(err, commerce.ErrInvalidArgument) {
		t.Errorf("a space in a path: %v", err)
	}
	if _, err = c.Do(bg, "GET", []string{"v2", "é+", "y"}, url.Values{"q": {"a b+c"}}, nil, &raw); err != nil || string(raw) != ` {"a": 1.0} ` {
		t.Errorf("raw %q, error %v", raw, err)
	}
	if _, err = c.Do(bg, "DELETE", []string{"v2", "x"}, nil, nil, nil); err != nil {
		t.Error(err)
	}
	if _, err = c.Do(bg, "PUT", []string{"v2", "x"}, nil, map[string]int{"a": 1}, &raw); err != nil || string(raw) != `{"b":2}` {
		t.Errorf("raw %q, error %v", raw, err)
	}
	var lines []string
	for _, r := range s.got(t) {
		lines = append(lines, strings.Join([]string{r.Method, r.Path, r.RawQuery, r.Header.Get("Content-Type"), r.Body}, "|"))
	}
	diff(t, "requests", lines, []string{
		"GET|/v2/settings|||", "GET|/v2/%C3%A9+/y|q=a%20b%2Bc||", "DELETE|/v2/x|||", `PUT|/v2/x||application/json|{"a":1}`})
}

func TestDo_errors(t *testing.T) {
	t.Parallel()
	var out struct{ A int }
	_, err := newStub(t).client(t).Do(bg, "get", []string{"v2", ".."}, nil, func() {}, nil)
	var v *commerce.ValidationError
	if !errors.As(err, &v) || len(v.Fields) != 3 {
		t.Errorf("error %v", err)
	}
	if _, err := newStub(t).client(t).Do(bg, "GET", nil, nil, nil, nil); !errors.Is(err, commerce.ErrInvalidArgument) {
		t.Errorf("no path: %v", err)
	}
	tests := []struct {
		name, method string
		responders   []httpmock.Responder
		out          any
		want         commerce.Outcome
		is           error
		attempts     int
	}{
		{"a read: empty answer", "GET", []httpmock.Responder{answer(200, ""), answer(200, "")}, &out, commerce.OutcomeNone, commerce.ErrBadResponse, 2},
		{"a read: 500", "GET", []httpmock.Responder{answer(500, ""), answer(500, "")}, &out, commerce.OutcomeNone, commerce.ErrServer, 2},
		{"a write: empty answer", "POST", []httpmock.Responder{answer(200, "")}, &out, commerce.OutcomeUnreadable, commerce.ErrBadResponse, 1},
		{"a write: of another form", "PUT", []httpmock.Responder{answer(200, "[]")}, &out, commerce.OutcomeUnreadable, commerce.ErrBadResponse, 1},
		{"a write: not JSON", "PATCH", []httpmock.Responder{answer(200, "x")}, new(json.RawMessage), commerce.OutcomeUnreadable, commerce.ErrBadResponse, 1},
		{"a write: 500", "DELETE", []httpmock.Responder{answer(500, "")}, nil, commerce.OutcomeUnknown, commerce.ErrOutcomeUnknown, 1},
		{"a write: 409", "POST", []httpmock.Responder{answer(409, "")}, nil, commerce.OutcomeRejected, commerce.ErrConflict, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, tt.responders...)
			_, err := s.client(t, commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 2, MinBackoff: 1, MaxBackoff: 1})).Do(bg, tt.method, []string{"v2"}, nil, nil, tt.out)
			var e *commerce.Error
			if !errors.As(err, &e) || e.Op != "Client.Do" || e.Outcome != tt.want || !errors.Is(err, tt.is) || e.Attempts != tt.attempts || len(s.got(t)) != tt.attempts {
				t.Errorf("error %v", err)
			}
		})
	}
}

type asBytes []byte

// What encoding/json would encode as something else than the caller meant is refused.
func TestDo_in(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]any{
		"a reader": strings.NewReader("{}"), "a buffer": new(bytes.Buffer), "bytes": []byte("{}"),
		"bytes of another type": asBytes("{}"), "a function": func() {},
	} {
		_, err := newStub(t).client(t).Do(bg, "POST", []string{"v2"}, nil, in, nil)
		if v, ok := errors.AsType[*commerce.ValidationError](err); !ok || len(v.Fields) != 1 || v.Fields[0].Field != "in" {
			t.Errorf("%s: error %v, want a ValidationError of in", name, err)
		}
	}
	s := newStub(t, answer(204, ""))
	if _, err := s.client(t).Do(bg, "POST", []string{"v2"}, nil, json.RawMessage(`{"a": 1}`), nil); err != nil {
		t.Fatal(err)
	}
	if got, want := s.got(t)[0].Body, `{"a":1}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
}

// A 204 has no body to decode: a write succeeded, and a read did not return anything.
func TestDo_noContent(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		out := struct{ A int }{A: 1}
		resp, err := newStub(t, answer(204, "")).client(t).Do(bg, method, []string{"v2"}, nil, nil, &out)
		if err != nil || resp.StatusCode != 204 || out.A != 1 {
			t.Errorf("%s: out %+v, error %v, want it unchanged and none", method, out, err)
		}
	}
	var out struct{ A int }
	c := newStub(t, answer(204, "")).client(t, commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}))
	if _, err := c.Do(bg, "GET", []string{"v2"}, nil, nil, &out); !errors.Is(err, commerce.ErrBadResponse) {
		t.Errorf("GET: error %v, want ErrBadResponse", err)
	}
}

// A refusal whose body may hold discounts is neither a refusal nor sent again.
func TestDo_mayHoldDiscounts(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 429} {
		s := newStub(t, answer(status, `{"data":[{"type":"custom_discount","id":"`+itemID+`"}]}`))
		_, err := s.client(t).Do(bg, "POST", []string{"v2", "carts", "c", "custom-discounts"}, nil, nil, nil)
		if got := commerce.OutcomeOf(err); got != commerce.OutcomeUnknown {
			t.Errorf("%d: outcome %v, want %v", status, got, commerce.OutcomeUnknown)
		}
	}
}

func TestDo_out(t *testing.T) {
	t.Parallel()
	for name, out := range map[string]any{"a value": struct{}{}, "a map": map[string]int{}, "a nil pointer": (*int)(nil)} {
		if _, err := newStub(t).client(t).Do(bg, "POST", []string{"v2"}, nil, nil, out); !errors.Is(err, commerce.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What does not fit will not fit the next time.
	s := newStub(t, answer(200, `{"a":"text"}`))
	var number struct{ A int }
	if _, err := s.client(t).Do(bg, "GET", []string{"v2"}, nil, nil, &number); !errors.Is(err, commerce.ErrBadResponse) || len(s.got(t)) != 1 {
		t.Errorf("%d requests, %v", len(s.got(t)), err)
	}
	s = newStub(t, answer(200, ""))
	if _, err := s.client(t).Do(bg, "HEAD", []string{"v2"}, nil, nil, &number); err != nil {
		t.Error(err)
	}
}

func TestResponse_headersAreAnAllowList(t *testing.T) {
	t.Parallel()
	s := newStub(t, answerWith(200, emptyList, "Set-Cookie", token, "Location", token, "X-Echo", token, "Retry-After", "1", "Date", "now"))
	page, err := s.client(t).Subscriptions.List(bg, nil)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "headers", page.Response.Header, http.Header{"Retry-After": {"1"}, "Date": {"now"}})
}

func TestClient_isSafeOnANetwork(t *testing.T) {
	t.Parallel()
	var hits int
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits++ }))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Location", elsewhere.URL+"/%zz")
		if r.URL.Query().Has("good") {
			w.Header().Set("Location", elsewhere.URL)
		}
		w.WriteHeader(307)
	}))
	t.Cleanup(func() { srv.Close(); elsewhere.Close() })
	c, err := commerce.New(srv.URL, commerce.WithToken(token), commerce.WithHTTPClient(srv.Client()))
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []url.Values{{"good": {""}}, {"bad": {""}}} {
		_, err = c.Do(bg, "POST", []string{"v2"}, query, map[string]int{}, nil)
		var e *commerce.Error
		if !errors.As(err, &e) || e.StatusCode != 307 || e.Outcome != commerce.OutcomeRejected || e.Err != nil {
			t.Errorf("error %v", err)
		}
	}
	if hits != 0 {
		t.Errorf("a redirect was followed %d times", hits)
	}
}

// limiter counts, and fails from the n-th time on.
type limiter struct {
	asked, most int
	err         error
}

func (l *limiter) Wait(context.Context) error {
	if l.asked++; l.most > 0 && l.asked > l.most {
		return l.err
	}
	return nil
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	errFull := errors.New("no budget left for " + token)
	l := &limiter{most: 2, err: errFull}
	s := newStub(t, answer(429, ""), answer(429, ""))
	_, err := s.client(t, commerce.WithLimiter(l)).Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{discount("a")}, nil)
	var e *commerce.Error
	if !errors.As(err, &e) || e.Outcome != commerce.OutcomeRejected || e.StatusCode != 429 || e.Attempts != 2 || !errors.Is(err, errFull) || l.asked != 3 {
		t.Errorf("asked %d times, error %v", l.asked, err)
	}
	_, err = newStub(t).client(t, commerce.WithLimiter(l)).Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{discount("a")}, nil)
	if !errors.As(err, &e) || e.Outcome != commerce.OutcomeNotSent || e.StatusCode != 0 || e.Attempts != 0 || strings.Contains(err.Error(), token) {
		t.Errorf("error %v", err)
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		block := func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}
		ended, cancel := context.WithCancel(bg)
		cancel()
		_, err := newStub(t).client(t).Carts.AddCustomDiscounts(ended, cartID, []commerce.NewCustomDiscount{discount("a")}, nil)
		if !errors.Is(err, context.Canceled) || commerce.OutcomeOf(err) != commerce.OutcomeNotSent {
			t.Errorf("ended before: %v", err)
		}

		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		start := time.Now()
		_, err = newStub(t, block).client(t).Subscriptions.List(ctx, nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("deadline in an attempt, after %v: %v", time.Since(start), err)
		}

		// A cancel while the body is read is no fault of the service.
		ctx3, cancel3 := context.WithTimeout(bg, time.Second)
		defer cancel3()
		_, err = newStub(t, func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(untilDone{req.Context()})}, nil
		}).client(t).Subscriptions.List(ctx3, nil)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, commerce.ErrBadResponse) {
			t.Errorf("deadline in a body: %v", err)
		}

		// The attempt's own timeout is not the caller's.
		start = time.Now()
		_, err = newStub(t, block).client(t, commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1, AttemptTimeout: time.Minute})).
			Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{discount("a")}, nil)
		if errors.Is(err, context.DeadlineExceeded) || commerce.OutcomeOf(err) != commerce.OutcomeUnknown || time.Since(start) != time.Minute {
			t.Errorf("timeout of an attempt, after %v: %v", time.Since(start), err)
		}

		// A cancel in a wait returns at once, and keeps what was known.
		ctx2, cancel2 := context.WithCancel(bg)
		time.AfterFunc(3*time.Second, cancel2)
		start = time.Now()
		_, err = newStub(t, answerWith(429, "", "Retry-After", "10")).client(t, commerce.WithRetry(commerce.RetryPolicy{})).
			Carts.AddCustomDiscounts(ctx2, cartID, []commerce.NewCustomDiscount{discount("a")}, nil)
		var e *commerce.Error
		if !errors.As(err, &e) || !errors.Is(err, context.Canceled) || e.StatusCode != 429 || e.Attempts != 1 || e.Outcome != commerce.OutcomeRejected || time.Since(start) != 3*time.Second {
			t.Errorf("cancel in a wait, after %v: %v", time.Since(start), err)
		}
	})
}

// untilDone is a body that stalls.
type untilDone struct{ ctx context.Context }

func (u untilDone) Read([]byte) (int, error) {
	<-u.ctx.Done()
	return 0, u.ctx.Err()
}

func TestRetryAfter_timing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		list := func(ctx context.Context, responders ...httpmock.Responder) (time.Duration, error) {
			start := time.Now()
			_, err := newStub(t, responders...).client(t, commerce.WithRetry(commerce.RetryPolicy{})).Subscriptions.List(ctx, nil)
			return time.Since(start), err
		}
		ok := answer(200, emptyList)
		// The bubble starts at a whole second, as an HTTP date needs it.
		date := time.Now().Add(5 * time.Second).UTC().Format(http.TimeFormat)
		if took, err := list(bg, answerWith(503, "", "Retry-After", date), ok); err != nil || took != 5*time.Second {
			t.Errorf("Retry-After %q: %v, %v", date, took, err)
		}
		for value, want := range map[string]time.Duration{
			"7": 7 * time.Second, " 7 ": 7 * time.Second, "1.5": 1500 * time.Millisecond, "20": 20 * time.Second,
		} {
			if took, err := list(bg, answerWith(503, "", "Retry-After", value), ok); err != nil || took != want {
				t.Errorf("Retry-After %q: %v, %v", value, took, err)
			}
		}
		for _, value := range []string{"21", "9223372037", "99999999999999999999999", "1e3"} {
			took, err := list(bg, answerWith(429, "", "Retry-After", value), ok)
			if value == "1e3" { // garbage: an ordinary backoff
				if err != nil || took > 250*time.Millisecond {
					t.Errorf("Retry-After %q: %v, %v", value, took, err)
				}
				continue
			}
			var e *commerce.Error
			if !errors.As(err, &e) || took != 0 || e.RetryAfter < 21*time.Second || e.Attempts != 1 || !errors.Is(err, commerce.ErrRateLimited) {
				t.Errorf("Retry-After %q: %v, %v", value, took, err)
			}
		}
		ctx, cancel := context.WithTimeout(bg, 5*time.Second)
		defer cancel()
		if took, err := list(ctx, answerWith(429, "", "Retry-After", "6")); took != 0 || !errors.Is(err, commerce.ErrRateLimited) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("beyond the deadline: %v, %v", took, err)
		}
	})
}

// tokens is a token source.
type tokens struct {
	list  []string
	err   error
	asked int
}

func (s *tokens) Token() (*oauth2.Token, error) {
	if s.err != nil {
		return nil, s.err
	}
	tok := s.list[min(s.asked, len(s.list)-1)]
	s.asked++
	return &oauth2.Token{AccessToken: tok}, nil
}

func TestTokenSource(t *testing.T) {
	t.Parallel()
	add := func(t *testing.T, src oauth2.TokenSource, responders ...httpmock.Responder) ([]string, error) {
		t.Helper()
		s := newStub(t, responders...)
		_, err := s.client(t, commerce.WithTokenSource(src), commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1})).
			Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{discount("cart discount 1")}, nil)
		var sent []string
		for _, r := range s.got(t) {
			sent = append(sent, r.Header.Get("Authorization"))
		}
		return sent, err
	}
	added := answer(201, strings.Split(documented, `"errors"`)[0]+`"x":1}`)

	sent, err := add(t, &tokens{list: []string{"a", "b"}}, answer(401, ""), added)
	diff(t, "another token after a 401, though MaxAttempts is 1", sent, []string{"Bearer a", "Bearer b"})
	if err != nil {
		t.Error(err)
	}
	sent, err = add(t, &tokens{list: []string{"a", "b", "c"}}, answer(401, ""), answer(401, ""))
	diff(t, "a second 401 is final", sent, []string{"Bearer a", "Bearer b"})
	if !errors.Is(err, commerce.ErrUnauthorized) || commerce.OutcomeOf(err) != commerce.OutcomeRejected {
		t.Error(err)
	}
	sent, err = add(t, &tokens{list: []string{"a"}}, answer(401, ""))
	diff(t, "the same token is not tried again", sent, []string{"Bearer a"})
	if !errors.Is(err, commerce.ErrUnauthorized) {
		t.Error(err)
	}
	for name, src := range map[string]*tokens{
		"a failure":          {err: errors.New("text with " + token)},
		"a refusal":          {err: &oauth2.RetrieveError{Response: &http.Response{StatusCode: 403, Status: "403"}, Body: []byte(token)}},
		"an empty token":     {list: []string{""}},
		"a token with a gap": {list: []string{"a b" + token}},
	} {
		_, err = add(t, src)
		var e *commerce.Error
		if !errors.As(err, &e) || e.Op != "token" || e.Outcome != commerce.OutcomeNotSent || strings.Contains(fmt.Sprintf("%+v", err), token) {
			t.Errorf("%s: %v", name, err)
		}
		if _, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
			t.Errorf("%s: oauth2's error is wrapped", name)
		}
	}
	// The repeat after a 401 counts as an attempt.
	s2 := newStub(t, answer(401, ""), answer(503, ""))
	err = list(bg, s2.client(t, commerce.WithTokenSource(&tokens{list: []string{"a", "b"}}), commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 2, MinBackoff: 1, MaxBackoff: 1})))
	if !errors.Is(err, commerce.ErrServer) || len(s2.got(t)) != 2 {
		t.Errorf("%d requests, %v", len(s2.got(t)), err)
	}
	// A static token is never tried twice.
	s := newStub(t, answer(401, ""))
	if _, err := s.client(t).Subscriptions.List(bg, nil); !errors.Is(err, commerce.ErrUnauthorized) {
		t.Error(err)
	}
}

// sourceFunc is a token source.
type sourceFunc func() (*oauth2.Token, error)

func (f sourceFunc) Token() (*oauth2.Token, error) { return f() }

func TestTokenSource_misbehaves(t *testing.T) {
	t.Parallel()
	func() {
		defer func() {
			if r := recover(); r != "at the source" {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = list(bg, newStub(t).client(t, commerce.WithTokenSource(sourceFunc(func() (*oauth2.Token, error) { panic("at the source") }))))
		t.Error("the panic is lost")
	}()
	err := list(bg, newStub(t).client(t, commerce.WithTokenSource(sourceFunc(func() (*oauth2.Token, error) { runtime.Goexit(); return nil, nil }))))
	if commerce.OutcomeOf(err) != commerce.OutcomeNotSent {
		t.Errorf("error %v", err)
	}
	own := errors.New("own")
	err = list(bg, newStub(t).client(t, commerce.WithTokenSource(sourceFunc(func() (*oauth2.Token, error) { return nil, own }))))
	if !errors.Is(err, own) {
		t.Errorf("error %v", err)
	}
	refused := &oauth2.RetrieveError{Response: &http.Response{StatusCode: 403}}
	err = list(bg, newStub(t).client(t, commerce.WithTokenSource(sourceFunc(func() (*oauth2.Token, error) { return nil, refused }))))
	var e *commerce.Error
	if !errors.As(err, &e) || e.Op != "token" || e.StatusCode != 403 || !errors.Is(err, commerce.ErrForbidden) {
		t.Errorf("error %v", err)
	}
}

func TestTokenSource_blocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		_, err := newStub(t).client(t, commerce.WithTokenSource(blocked{release})).Subscriptions.List(ctx, nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		close(release)
	})
}

type blocked struct{ until chan struct{} }

func (b blocked) Token() (*oauth2.Token, error) {
	<-b.until
	return &oauth2.Token{AccessToken: "late"}, nil
}

//nolint:paralleltest // changes the default logger, which is where a careless library would log to
func TestLogger_isSilentByDefault(t *testing.T) {
	var byDefault, asked int
	before := slog.Default()
	slog.SetDefault(slog.New(counting{&byDefault})) // also that of package log
	t.Cleanup(func() { slog.SetDefault(before) })
	c := newStub(t, answer(500, ""), answer(200, emptyList)).client(t)
	if err := list(bg, c); err != nil || byDefault != 0 {
		t.Errorf("%d events, error %v", byDefault, err)
	}
	c = newStub(t, answer(500, ""), answer(200, emptyList)).client(t, commerce.WithLogger(slog.New(counting{&asked})))
	if err := list(bg, c); err != nil || asked != 3 || byDefault != 0 {
		t.Errorf("%d events, %d of them by default, error %v", asked, byDefault, err)
	}
}

// counting is a slog.Handler that counts.
type counting struct{ n *int }

func (c counting) Enabled(context.Context, slog.Level) bool  { return true }
func (c counting) Handle(context.Context, slog.Record) error { *c.n++; return nil }
func (c counting) WithAttrs([]slog.Attr) slog.Handler        { return c }
func (c counting) WithGroup(string) slog.Handler             { return c }
