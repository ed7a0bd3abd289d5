package commerce_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/commerce-go/commerce"
)

// issuer is a store that issues numbered tokens and lists nothing. Its fields
// are to be set before use.
type issuer struct {
	mu      sync.Mutex
	forms   []string
	used    []string        // tokens of the calls
	refused map[string]bool // tokens that get a 401
	body    func(n int) string
	status  int
	delay   time.Duration
}

func (i *issuer) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path != "/oauth/access_token" {
		i.mu.Lock()
		defer i.mu.Unlock()
		tok := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
		i.used = append(i.used, tok)
		if i.refused[tok] {
			return httpmock.NewStringResponse(401, `{"errors":[{"title":"Unable to validate access token"}]}`), nil
		}
		return httpmock.NewStringResponse(200, emptyList), nil
	}
	form, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	i.forms = append(i.forms, strings.Join([]string{req.Method, req.URL.String(), req.Header.Get("Authorization"), req.Header.Get("Content-Type"), string(form)}, " "))
	n := len(i.forms)
	status, delay := i.status, i.delay
	i.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	if status == 0 {
		status = 200
	}
	body := fmt.Sprintf(`{"access_token":"t%d","token_type":"Bearer","expires_in":3600,"expires":1,"identifier":"client_credentials"}`, n)
	if i.body != nil {
		body = i.body(n)
	}
	resp := httpmock.NewStringResponse(status, body)
	resp.Header.Set("Content-Type", "text/plain") // must not matter
	return resp, nil
}

func (i *issuer) client(t *testing.T, opts ...commerce.Option) *commerce.Client {
	t.Helper()
	c, err := commerce.New(base+"/v2", append([]commerce.Option{
		commerce.WithClientCredentials("the id", "the+secret"),
		commerce.WithHTTPClient(&http.Client{Transport: i}),
		commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func list(ctx context.Context, c *commerce.Client) error {
	_, err := c.Subscriptions.List(ctx, nil)
	return err
}

func TestClientCredentials_request(t *testing.T) {
	t.Parallel()
	i := &issuer{}
	c := i.client(t)
	if err := errors.Join(list(bg, c), list(bg, c)); err != nil {
		t.Fatal(err)
	}
	want := url.Values{"grant_type": {"client_credentials"}, "client_id": {"the id"}, "client_secret": {"the+secret"}}.Encode()
	diff(t, "token requests", i.forms, []string{"POST https://store.example/oauth/access_token  application/x-www-form-urlencoded " + want})
	diff(t, "tokens used", i.used, []string{"t1", "t1"})

	changed, err := c.With(commerce.WithUserAgent("x"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := c.With(commerce.WithClientCredentials("other", "x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(list(bg, changed), list(bg, other)); err != nil {
		t.Fatal(err)
	}
	diff(t, "tokens used by copies", i.used[2:], []string{"t1", "t2"})
}

func TestClientCredentials_refreshBeforeExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{}
		c := i.client(t)
		for _, wait := range []time.Duration{0, 3539 * time.Second, time.Second, time.Hour} {
			time.Sleep(wait)
			if err := list(bg, c); err != nil {
				t.Fatal(err)
			}
		}
		diff(t, "tokens used", i.used, []string{"t1", "t1", "t2", "t3"})

		brief := &issuer{body: func(n int) string { return fmt.Sprintf(`{"access_token":"s%d","expires_in":"8"}`, n) }}
		c = brief.client(t)
		for _, wait := range []time.Duration{0, 5 * time.Second, time.Second} {
			time.Sleep(wait)
			if err := list(bg, c); err != nil {
				t.Fatal(err)
			}
		}
		diff(t, "short-lived tokens used", brief.used, []string{"s1", "s1", "s2"})
	})
}

func TestClientCredentials_after401(t *testing.T) {
	t.Parallel()
	i := &issuer{refused: map[string]bool{"t1": true}}
	c := i.client(t)
	if err := errors.Join(list(bg, c), list(bg, c)); err != nil {
		t.Fatal(err)
	}
	diff(t, "tokens used", i.used, []string{"t1", "t2", "t2"})

	i = &issuer{refused: map[string]bool{"t1": true, "t2": true}}
	err := list(bg, i.client(t))
	var e *commerce.Error
	if !errors.As(err, &e) || e.StatusCode != 401 || e.Attempts != 2 || len(i.forms) != 2 {
		t.Errorf("a second 401: %d token requests, %v", len(i.forms), err)
	}

	// A token endpoint that gives the same token again leaves the 401 as it is.
	i = &issuer{refused: map[string]bool{"same": true}, body: func(int) string { return `{"access_token":"same"}` }}
	if err := list(bg, i.client(t)); !errors.As(err, &e) || e.StatusCode != 401 || e.Attempts != 1 || len(i.forms) != 2 {
		t.Errorf("the same token: %d token requests, %v", len(i.forms), err)
	}

	// One that fails is told beside it.
	i = &issuer{refused: map[string]bool{"t1": true}, body: func(n int) string {
		if n > 1 {
			return "<html>"
		}
		return `{"access_token":"t1"}`
	}}
	_, err = i.client(t).Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{discount("a")}, nil)
	var cause *commerce.Error
	if !errors.As(err, &e) || e.Op != "Carts.AddCustomDiscounts" || e.StatusCode != 401 || e.Outcome != commerce.OutcomeRejected || !errors.As(e.Err, &cause) || cause.Op != "token" {
		t.Errorf("a failed refresh: %v", err)
	}
}

// When a call that was cancelled returns, its token request is over too; where others
// wait for the token it goes on.
func TestClientCredentials_givenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var inFlight atomic.Int32
		stub := roundTripper(func(req *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(req.URL.Path, "/oauth/access_token") {
				return saysBody(200, `{"data":[]}`)(req)
			}
			inFlight.Add(1)
			defer inFlight.Add(-1)
			select {
			case <-req.Context().Done():
				time.Sleep(time.Second) // it takes its time to end
				return nil, req.Context().Err()
			case <-time.After(10 * time.Second):
				return saysBody(200, accessTok)(req)
			}
		})
		c, err := commerce.New(base, commerce.WithClientCredentials("id", "secret"), commerce.WithHTTPClient(&http.Client{Transport: stub}))
		if err != nil {
			t.Fatal(err)
		}
		later := make(chan error, 1)
		go func() {
			time.Sleep(2500 * time.Millisecond) // while the request that was given up ends
			later <- list(t.Context(), c)
		}()
		short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		err = list(short, c)
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || inFlight.Load() != 1 || took != 3*time.Second {
			t.Errorf("after %v: %d token requests in flight, error %v; want 3s, the later one's, a deadline", took, inFlight.Load(), err)
		}
		if err := <-later; err != nil || inFlight.Load() != 0 {
			t.Errorf("one that came later: %d token requests in flight, error %v", inFlight.Load(), err)
		}
		if c, err = c.With(commerce.WithClientCredentials("id", "secret")); err != nil { // another token
			t.Fatal(err)
		}
		patient := make(chan error, 1)
		go func() { patient <- list(t.Context(), c) }()
		synctest.Wait()
		short, cancel = context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if err := list(short, c); !errors.Is(err, context.DeadlineExceeded) || inFlight.Load() != 1 {
			t.Errorf("%d token requests in flight, error %v", inFlight.Load(), err)
		}
		if err := <-patient; err != nil {
			t.Errorf("the one that waits: %v", err)
		}
	})
}

func TestClientCredentials_failures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		i    *issuer
		is   error
		code int
	}{
		"refused":             {&issuer{status: 401, body: func(int) string { return `{"errors":[{"title":"Unauthorized ` + token + `"}]}` }}, commerce.ErrUnauthorized, 401},
		"refused, as OAuth":   {&issuer{status: 400, body: func(int) string { return `{"error":"invalid_client","error_description":"` + token + `"}` }}, commerce.ErrBadRequest, 400},
		"a 200 that refuses":  {&issuer{body: func(int) string { return `{"error":"invalid_client"}` }}, commerce.ErrBadResponse, 200},
		"HTML":                {&issuer{body: func(int) string { return `<html>` }}, commerce.ErrBadResponse, 200},
		"no token":            {&issuer{body: func(int) string { return `{}` }}, commerce.ErrBadResponse, 200},
		"expires_in no whole": {&issuer{body: func(int) string { return `{"access_token":"x","expires_in":1.5}` }}, commerce.ErrBadResponse, 200},
		"unavailable":         {&issuer{status: 503, body: func(int) string { return token }}, commerce.ErrServer, 503},
		"a redirect":          {&issuer{status: 302, body: func(int) string { return "" }}, commerce.ErrBadResponse, 302},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := tt.i.client(t)
			for range 2 { // a failure is not kept
				_, err := c.Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{discount("a")}, nil)
				var e *commerce.Error
				if !errors.As(err, &e) || e.Op != "token" || e.Outcome != commerce.OutcomeNotSent || e.StatusCode != tt.code || !errors.Is(err, tt.is) {
					t.Errorf("error %v", err)
				}
				if name != "refused" && strings.Contains(fmt.Sprintf("%+v", err), token) { // there it is in a title
					t.Errorf("the error holds the answer: %v", err)
				}
			}
			if len(tt.i.forms) != 2 || len(tt.i.used) != 0 {
				t.Errorf("%d token requests, %d calls", len(tt.i.forms), len(tt.i.used))
			}
		})
	}
	i := &issuer{body: func(int) string { return `{"access_token":"a\nb"}` }}
	var e *commerce.Error
	if err := list(bg, i.client(t)); !errors.As(err, &e) || e.Op != "token" || len(i.used) != 0 {
		t.Errorf("a token that is none: %v", err)
	}
	i = &issuer{status: 503}
	if err := list(bg, i.client(t, commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 3, MinBackoff: 1, MaxBackoff: 1}))); !errors.As(err, &e) || e.Attempts != 3 || len(i.forms) != 3 {
		t.Errorf("%d token requests, %v", len(i.forms), err)
	}
}

// TestClientCredentials_panics has the caller's transport panic: the caller must
// be able to recover, and the next call must not wait for the one that is gone.
func TestClientCredentials_panics(t *testing.T) {
	t.Parallel()
	panics := true
	i := &issuer{body: func(int) string {
		if panics {
			panic("in the transport")
		}
		return `{"access_token":"x"}`
	}}
	c := i.client(t)
	func() {
		defer func() {
			if r := recover(); r != "in the transport" {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = list(bg, c)
	}()
	panics = false
	if err := list(bg, c); err != nil {
		t.Error(err)
	}
}

func TestClientCredentials_oneRequestForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{delay: time.Minute / 4}
		c := i.client(t)
		first, cancel := context.WithCancel(bg)
		defer cancel()
		errs := make([]error, 100)
		var wg sync.WaitGroup
		for n := range errs {
			wg.Go(func() {
				if n == 0 {
					errs[n] = list(first, c)
					return
				}
				time.Sleep(time.Second) // the first starts the request
				errs[n] = list(context.WithoutCancel(first), c)
			})
		}
		time.Sleep(2 * time.Second)
		cancel()
		wg.Wait()
		var e *commerce.Error
		if !errors.As(errs[0], &e) || !errors.Is(errs[0], context.Canceled) || e.Op != "token" || e.Outcome != commerce.OutcomeNotSent {
			t.Errorf("the one that was cancelled: %v", errs[0])
		}
		if err := errors.Join(errs[1:]...); err != nil {
			t.Errorf("the others: %v", err)
		}
		if len(i.forms) != 1 || len(i.used) != 99 {
			t.Errorf("%d token requests, %d calls", len(i.forms), len(i.used))
		}

		// When nobody waits any longer, the request ends, and the next one is new.
		i = &issuer{delay: time.Minute / 4}
		c = i.client(t)
		ctx, cancel2 := context.WithTimeout(bg, time.Second)
		defer cancel2()
		if err := list(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		synctest.Wait()
		if err := list(bg, c); err != nil || len(i.forms) != 2 {
			t.Errorf("%d token requests, %v", len(i.forms), err)
		}
	})
}

// A failed refresh leaves the call with the status of its own answer.
func TestClientCredentials_failedRefresh(t *testing.T) {
	t.Parallel()
	s := newStub(t, answer(200, accessTok), answer(401, ""), answer(400, `{"error":"invalid_client"}`))
	_, err := s.client(t, commerce.WithClientCredentials("id", "secret")).Subscriptions.List(bg, nil)
	if !errors.Is(err, commerce.ErrUnauthorized) || errors.Is(err, commerce.ErrBadRequest) {
		t.Errorf("matches ErrUnauthorized: %t, ErrBadRequest of the token request: %t", errors.Is(err, commerce.ErrUnauthorized), errors.Is(err, commerce.ErrBadRequest))
	}
	if err == nil || !strings.Contains(err.Error(), "token: 400 Bad Request") {
		t.Errorf("the text does not tell of the token request: %v", err)
	}
}
