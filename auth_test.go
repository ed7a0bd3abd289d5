package commerce_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"
	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
)

// tokenServer issues tokens t1, t2 and so on, and responds to calls with an empty list.
type tokenServer struct {
	status  int                // of token requests; 0: 200
	body    func(n int) string // of the n-th token request; nil: a token that lives for an hour
	delay   time.Duration      // of token requests
	linger  time.Duration      // after a token request is canceled
	refused map[string]bool    // tokens that get a 401

	mu       sync.Mutex
	forms    []string // token requests
	used     []string // tokens of calls
	inFlight int      // token requests
}

func (s *tokenServer) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.URL.Path != "/oauth/access_token" {
		used := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
		s.used = append(s.used, used)
		if s.refused[used] {
			return httpmock.NewStringResponse(401, ""), nil
		}
		return httpmock.NewStringResponse(200, emptyList), nil
	}
	form, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	s.forms = append(s.forms, strings.Join([]string{
		req.Method, req.URL.String(), req.Header.Get("Authorization"), req.Header.Get("Content-Type"), string(form),
	}, " "))
	n := len(s.forms)
	s.inFlight++
	defer func() { s.inFlight-- }()
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-time.After(s.delay):
	case <-req.Context().Done():
		time.Sleep(s.linger)
		return nil, req.Context().Err()
	}
	body := fmt.Sprintf(`{"access_token":"t%d","token_type":"Bearer","expires_in":3600,"expires":1}`, n)
	if s.body != nil {
		body = s.body(n)
	}
	return respond(max(s.status, 200), body, "Content-Type", "text/plain")(req) // the type must not matter
}

func (s *tokenServer) client(t *testing.T) *commerce.Client {
	t.Helper()
	return newClient(t, s, commerce.WithClientCredentials("the id&x=~", "the+secret: 1%"), attempts(1))
}

// always returns one body for all token requests.
func always(body string) func(int) string { return func(int) string { return body } }

func TestClientCredentials_request(t *testing.T) {
	t.Parallel()
	s := &tokenServer{}
	c := s.client(t)
	sharing, err1 := c.With(commerce.WithUserAgent("x"))
	other, err2 := c.With(commerce.WithClientCredentials("other", "x"))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*commerce.Client{c, c, sharing, other} {
		if err := list(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"the id&x=~"}, "client_secret": {"the+secret: 1%"},
	}
	want := "POST https://store.example/oauth/access_token  application/x-www-form-urlencoded " + form.Encode()
	diff(t, "first token request", s.forms[0], want)
	diff(t, "tokens used", s.used, []string{"t1", "t1", "t1", "t2"})
}

// livesFor returns tokens with this expires_in.
func livesFor(expiresIn string) func(int) string {
	return func(n int) string { return fmt.Sprintf(`{"access_token":"t%d","expires_in":%s}`, n, expiresIn) }
}

func TestClientCredentials_refreshBeforeExpiry(t *testing.T) {
	t.Parallel()
	const aMinuteBefore, year = 3539 * time.Second, 365 * 24 * time.Hour
	for _, tt := range []struct {
		name      string
		expiresIn []string
		waits     []time.Duration
		want      []string
	}{
		{
			name:      "a minute before the end of an hour",
			expiresIn: []string{"3600", `"3600"`, "3600.0", "3.6e3", "3600.9", `"3600.5"`, `"36e2"`},
			waits:     []time.Duration{0, aMinuteBefore, time.Second, time.Hour},
			want:      []string{"t1", "t1", "t2", "t3"},
		},
		{
			name:      "a quarter of a short life before its end",
			expiresIn: []string{`"8"`, "8.0"},
			waits:     []time.Duration{0, 5 * time.Second, time.Second},
			want:      []string{"t1", "t1", "t2"},
		},
		{
			name:      "not given, or not readable",
			expiresIn: []string{"0", "0.0", "null", `""`, `"soon"`, "true", "[3600]", "{}", `"NaN"`, `"0x10"`, `"1h"`},
			waits:     []time.Duration{0, year},
			want:      []string{"t1", "t1"},
		},
		{
			name:      "a very long life",
			expiresIn: []string{"1e400", "99999999999", strings.Repeat("9", 500)},
			waits:     []time.Duration{0, 60 * year},
			want:      []string{"t1", "t1"},
		},
		{
			name:      "less than a second, or over",
			expiresIn: []string{"0.5", "-1", "-1e400", "1e-400"},
			waits:     []time.Duration{0, 0},
			want:      []string{"t1", "t2"},
		},
	} {
		for _, expiresIn := range tt.expiresIn {
			synctest.Test(t, func(t *testing.T) {
				s := &tokenServer{body: livesFor(expiresIn)}
				c := s.client(t)
				for _, wait := range tt.waits {
					time.Sleep(wait)
					if err := list(t.Context(), c); err != nil {
						t.Fatalf("%s, expires_in %s: %v", tt.name, expiresIn, err)
					}
				}
				diff(t, tt.name+", tokens used with expires_in "+expiresIn, s.used, tt.want)
			})
		}
	}
}

func TestClientCredentials_after401(t *testing.T) {
	t.Parallel()
	s := &tokenServer{refused: map[string]bool{"t1": true}}
	c := s.client(t)
	if err := errors.Join(list(t.Context(), c), list(t.Context(), c)); err != nil {
		t.Fatal(err)
	}
	diff(t, "tokens used", s.used, []string{"t1", "t2", "t2"})

	refused := newStub(t,
		respond(200, `{"access_token":"t1"}`), respond(401, ""), respond(400, `{"error":"invalid_client"}`))
	err := addDiscount(t.Context(), refused.client(t, commerce.WithClientCredentials("id", "secret"), attempts(1)))
	checkError(t, err, commerce.Error{
		Op: "Carts.AddCustomDiscounts", StatusCode: 401, Outcome: commerce.OutcomeRejected, Attempts: 1,
	})
	cause, ok := errors.AsType[*commerce.Error](errors.Unwrap(err))
	// The status of the token request is not that of the call.
	isBoth := errors.Is(err, commerce.ErrUnauthorized) && errors.Is(err, commerce.ErrToken)
	if !ok || cause.Op != "token" || !isBoth || errors.Is(err, commerce.ErrBadRequest) ||
		!strings.Contains(err.Error(), "token") {
		t.Errorf("error %v, want ErrUnauthorized, and a failed token request as the cause", err)
	}
}

func TestClientCredentials_failures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		status int
		body   string
		is     error
	}{
		{name: "refused", status: 401, body: `{"errors":[{"detail":"` + token + `"}]}`, is: commerce.ErrUnauthorized},
		{
			name: "refused as in OAuth", status: 400, is: commerce.ErrBadRequest,
			body: `{"error":"invalid_client","error_description":"` + token + `"}`,
		},
		{name: "200 that refuses", status: 200, body: `{"error":"invalid_client"}`, is: commerce.ErrBadResponse},
		{name: "200 with HTML", status: 200, body: `<html>`, is: commerce.ErrBadResponse},
		{name: "200 without a token", status: 200, body: `{}`, is: commerce.ErrBadResponse},
		{name: "unavailable", status: 503, body: token, is: commerce.ErrServer},
		{name: "redirect", status: 302, is: commerce.ErrBadResponse},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &tokenServer{status: tt.status, body: always(tt.body)}
			c := s.client(t)
			for range 2 { // an error is not cached
				err := addDiscount(t.Context(), c)
				checkError(t, err, commerce.Error{
					Op: "token", StatusCode: tt.status, Outcome: commerce.OutcomeNotSent, Attempts: 1,
				})
				if !errors.Is(err, tt.is) || !errors.Is(err, commerce.ErrToken) ||
					strings.Contains(fmt.Sprintf("%+v", err), token) {
					t.Errorf("error %v, want ErrToken and %v without the text of the body", err, tt.is)
				}
			}
			if len(s.forms) != 2 || len(s.used) != 0 {
				t.Errorf("got %d token requests and %d calls, want 2 and 0", len(s.forms), len(s.used))
			}
		})
	}
	s := &tokenServer{body: always(`{"access_token":"a\nb"}`)}
	checkError(t, list(t.Context(), s.client(t)), commerce.Error{Op: "token", Outcome: commerce.OutcomeNotSent})
}

// Of the response of an OAuth server, only an error code of the standard is shown.
func TestClientCredentials_errorCodes(t *testing.T) {
	t.Parallel()
	known := []string{
		"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
		"invalid_scope",
	}
	for _, status := range []int{200, 400, 401} {
		for _, code := range append(known, token, "INVALID_CLIENT", "invalid_client ", "") {
			body := fmt.Sprintf(`{"error":%q,"error_description":%q,"error_uri":%[2]q}`, code, token)
			s := &tokenServer{status: status, body: always(body)}
			err := addDiscount(t.Context(), s.client(t))
			e, ok := errors.AsType[*commerce.Error](err)
			isShown := slices.Contains(known, code)
			if !ok || len(e.Errors) > 0 != isShown || isShown && !strings.Contains(err.Error(), `"`+code+`"`) {
				t.Errorf("status %d, error %q: got %v, want the code: %t", status, code, err, isShown)
			}
			if text := fmt.Sprintf("%v %+v %#v %s", err, err, e, encode(t, e)); strings.Contains(text, token) {
				t.Errorf("status %d, error %q: %s, want nothing else of the body", status, code, text)
			}
		}
	}
	for _, body := range []string{`{"error":{"code":"invalid_client"}}`, `["invalid_client"]`, `"invalid_client"`} {
		s := &tokenServer{status: 400, body: always(body)}
		if err := addDiscount(t.Context(), s.client(t)); strings.Contains(err.Error(), "invalid_client") {
			t.Errorf("%s: got %v, want nothing of it", body, err)
		}
	}
}

// The caller's transport panics: the caller must be able to recover, and the next call
// must not wait for the one that panicked.
func TestClientCredentials_panics(t *testing.T) {
	t.Parallel()
	c := (&tokenServer{body: func(n int) string {
		if n == 1 {
			panic("in the transport")
		}
		return `{"access_token":"x"}`
	}}).client(t)
	if got := recovered(func() { _ = list(t.Context(), c) }); got != "in the transport" {
		t.Errorf("recovered %v, want the panic of the transport", got)
	}
	if err := list(t.Context(), c); err != nil {
		t.Error(err)
	}
}

// recovered returns what f panics with.
func recovered(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func TestClientCredentials_oneRequestForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &tokenServer{delay: 15 * time.Second}
		c := s.client(t)
		first, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		errs := make([]error, 99)
		var calls sync.WaitGroup
		for i := range errs {
			calls.Go(func() {
				time.Sleep(time.Second) // the first call starts the token request
				errs[i] = list(t.Context(), c)
			})
		}
		err := list(first, c)
		checkError(t, err, commerce.Error{Op: "token", Outcome: commerce.OutcomeNotSent})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the first call: error %v, want DeadlineExceeded", err)
		}
		calls.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Errorf("the other calls: %v", err)
		}
		if len(s.forms) != 1 || len(s.used) != 99 {
			t.Errorf("got %d token requests and %d calls, want 1 and 99", len(s.forms), len(s.used))
		}
	})
}

// After a 401, a call uses the token that another call has renewed meanwhile.
func TestClientCredentials_renewedByAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &tokenServer{refused: map[string]bool{"t1": true}}
		slow := roundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := s.RoundTrip(req)
			if req.URL.Query().Get("page[offset]") == "7" {
				time.Sleep(time.Second) // its 401 comes when the other call is over
			}
			return resp, err
		})
		c := newClient(t, slow, commerce.WithClientCredentials("id", "secret"), attempts(1))
		var calls sync.WaitGroup
		var err error
		calls.Go(func() {
			_, err = c.Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{Offset: 7})
		})
		synctest.Wait()
		err2 := list(t.Context(), c)
		if calls.Wait(); errors.Join(err, err2) != nil || len(s.forms) != 2 {
			t.Errorf("errors %v, %v, %d token requests, want 2", err, err2, len(s.forms))
		}
	})
}

// When a canceled call returns, its token request has ended too, unless other calls wait
// for the token. A call that comes later makes a request of its own.
func TestClientCredentials_givenUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		start time.Duration // of another call; the first one is canceled after 2 s, its request ends after 3 s
		took  time.Duration // by the first call
		forms int
	}{
		{name: "another call waits", start: time.Second, took: 2 * time.Second, forms: 1},
		{name: "another call comes later", start: 2500 * time.Millisecond, took: 3 * time.Second, forms: 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &tokenServer{delay: 10 * time.Second, linger: time.Second}
			c := s.client(t)
			other := make(chan error, 1)
			go func() {
				time.Sleep(tt.start)
				other <- list(t.Context(), c)
			}()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			begin := time.Now()
			err := list(ctx, c)
			if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took != tt.took {
				t.Errorf("%s: error %v after %v, want DeadlineExceeded after %v", tt.name, err, took, tt.took)
			}
			if err := <-other; err != nil || len(s.forms) != tt.forms || s.inFlight != 0 {
				t.Errorf("%s: error %v, %d token requests, want none and %d", tt.name, err, len(s.forms), tt.forms)
			}
		})
	}
}

// sourceOf returns a source of one token, or of an error.
func sourceOf(text string, err error) sourceFunc {
	return func() (*oauth2.Token, error) { return &oauth2.Token{AccessToken: text}, err }
}

func TestTokenSource_failures(t *testing.T) {
	t.Parallel()
	errOwn := errors.New("text with " + token)
	exits := sourceFunc(func() (*oauth2.Token, error) { runtime.Goexit(); return nil, nil })
	refusal := &oauth2.RetrieveError{Response: &http.Response{StatusCode: 403, Status: "403"}, Body: []byte(token)}
	for _, tt := range []struct {
		name   string
		source oauth2.TokenSource
		status int
		is     error // may be nil
	}{
		{name: "error", source: sourceOf("", errOwn), is: errOwn},
		{name: "refusal", source: sourceOf("", refusal), status: 403, is: commerce.ErrForbidden},
		{name: "empty token", source: sourceOf("", nil)},
		{name: "token with a space", source: sourceOf("a b"+token, nil)},
		{name: "end of the goroutine", source: exits},
	} {
		err := addDiscount(t.Context(), newStub(t).client(t, commerce.WithTokenSource(tt.source)))
		checkError(t, err, commerce.Error{Op: "token", StatusCode: tt.status, Outcome: commerce.OutcomeNotSent})
		if tt.is != nil && !errors.Is(err, tt.is) || !errors.Is(err, commerce.ErrToken) ||
			strings.Contains(fmt.Sprintf("%+v", err), token) {
			t.Errorf("%s: error %v, want ErrToken and %v without its text", tt.name, err, tt.is)
		}
		if _, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
			t.Errorf("%s: errors.As finds the error of oauth2, which holds the body", tt.name)
		}
	}
	panics := newStub(t).client(t, commerce.WithTokenSource(sourceFunc(func() (*oauth2.Token, error) { panic("source") })))
	if got := recovered(func() { _ = list(t.Context(), panics) }); got != "source" {
		t.Errorf("recovered %v, want the panic of the source", got)
	}
}

func TestTokenSource_blocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		source := sourceFunc(func() (*oauth2.Token, error) { <-release; return nil, errors.New("late") })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := list(ctx, newStub(t).client(t, commerce.WithTokenSource(source)))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want DeadlineExceeded", err)
		}
		close(release)
	})
}
