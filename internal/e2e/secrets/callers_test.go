package secrets_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
)

type limiter func() error

func (l limiter) Wait(context.Context) error { return l() }

func limit(err error) commerce.Option {
	return commerce.WithLimiter(limiter(func() error { return err }))
}

// Token sources and limiters of the program fail with errors that contain secrets.
func TestLeaks_credentials(t *testing.T) {
	t.Parallel()
	wrapped := fmt.Errorf("%s: %w", allSecrets, retrieveError(allSecrets))
	token := func(text string) *oauth2.Token {
		return &oauth2.Token{AccessToken: text, RefreshToken: secretClient}
	}
	faults := map[string]fault{}
	for name, opt := range map[string]commerce.Option{
		"source: error":                 tokenSource(nil, verboseError{allSecrets}),
		"source: RetrieveError":         tokenSource(nil, retrieveError(allSecrets)),
		"source: wrapped RetrieveError": tokenSource(nil, wrapped),
		"source: no token":              tokenSource(nil, nil),
		"source: line break":            tokenSource(token(secretToken+"\r\nX: y"), nil),
		"source: space":                 tokenSource(token(secretToken+" x"), nil),
		"source: not ASCII":             tokenSource(token(secretToken+"ü"), nil),
		"source: a token and an error":  tokenSource(token(secretToken), verboseError{allSecrets}),
		"limiter: error":                limit(verboseError{allSecrets}),
		"limiter: deadline":             limit(fmt.Errorf("%s: %w", allSecrets, context.DeadlineExceeded)),
	} {
		c, _ := newClient(t, base, over(transport(succeed)), opt)
		if _, err := c.Subscriptions.List(t.Context(), nil); err == nil {
			t.Errorf("%s: no error, want one", name)
		}
		faults[name] = fault{transport: transport(succeed), opts: []commerce.Option{opt}}
	}
	searchFaults(t, faults)
}

// After a 401, the client asks for another token and does not get one: the error is about both.
func TestLeaks_refresh(t *testing.T) {
	t.Parallel()
	s := newSearch(t)
	for name, second := range map[string]transport{
		"errors": echo(400, errorsBody),
		"HTML":   echo(200, htmlBody),
		"error":  func(req *http.Request) (*http.Response, error) { return nil, verboseError{describe(req)} },
	} {
		for what, call := range everyCall() {
			tokens := 0
			c, log := newClient(t, base, commerce.WithClientCredentials("id", secretClient),
				over(transport(func(req *http.Request) (*http.Response, error) {
					if req.URL.Path != "/oauth/access_token" {
						return echo(401, errorsBody)(req)
					}
					if tokens++; tokens == 1 {
						return succeed(req)
					}
					return second(req)
				})))
			_, err := call(t.Context(), c)
			if tokens < 2 || !errors.Is(err, commerce.ErrUnauthorized) {
				t.Errorf("%s: error %v after %d token requests, want ErrUnauthorized after 2", name, err, tokens)
			}
			s.value(t, name+": "+what, err)
			s.text(t, name+": log", log.String())
		}
	}
}

// failingJSON can be neither encoded nor decoded.
type failingJSON struct{}

func (failingJSON) MarshalJSON() ([]byte, error)  { return nil, verboseError{allSecrets} }
func (*failingJSON) UnmarshalJSON(b []byte) error { return verboseError{allSecrets + string(b)} }

func errorOf[T any](_ T, err error) error { return err }

// Invalid arguments that contain secrets.
func TestLeaks_arguments(t *testing.T) {
	t.Parallel()
	s := newSearch(t)
	ctx := t.Context()
	c, _ := newClient(t, base, over(transport(succeed)))
	filter := func(f commerce.SubscriptionFilter) *commerce.SubscriptionListOptions {
		return &commerce.SubscriptionListOptions{Filter: f}
	}
	discounts := []commerce.NewCustomDiscount{{
		Description: secretDetail, ExternalID: secretExternalID + "\xff", DiscountCode: secretEmail,
		DiscountEngine: secretEmail + "\xff", Item: &commerce.CartItemRef{Type: secretClient},
	}}
	email := filter(commerce.SubscriptionFilter{Email: secretEmail + "\xff"})
	name := filter(commerce.SubscriptionFilter{Name: strings.Repeat(secretDetail, 999)})
	for what, err := range map[string]error{
		"discounts":   errorOf(c.Carts.AddCustomDiscounts(ctx, secretExternalID, discounts, nil)),
		"filter":      errorOf(c.Subscriptions.List(ctx, email)),
		"long filter": errorOf(c.Subscriptions.List(ctx, name)),
		"walk":        errorOf(commerce.Collect(c.Subscriptions.All(ctx, email))),
		"Do":          errorOf(c.Do(ctx, secretToken, []string{secretEmail + "/"}, nil, failingJSON{}, allSecrets)),
		"output":      errorOf(c.Do(ctx, "GET", []string{"v2"}, nil, nil, &failingJSON{})),
		"With":        errorOf(c.With(commerce.WithToken(secretToken + " "))),
		"New, no URL": errorOf(commerce.New("https://[" + secretToken)),
		"New": errorOf(commerce.New("https://user:"+secretClient+"@"+secretToken+"/?"+secretEmail,
			commerce.WithToken(secretToken+"\n"), commerce.WithHeader("X-Key", secretHeader+"\n"),
			commerce.WithHeader("X-"+secretHeader, "x"), commerce.WithUserAgent(secretHeader+"\n"))),
	} {
		if err == nil {
			t.Errorf("%s: no error, want one", what)
			continue
		}
		s.value(t, what, err)
	}
}

// Contexts end with causes that contain secrets: the errors are those of the context, without the
// cause.
func TestLeaks_contexts(t *testing.T) {
	t.Parallel()
	s := newSearch(t)
	cause := verboseError{allSecrets}
	check := func(t *testing.T, when string, auth commerce.Option, call call) {
		t.Helper()
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		switch when {
		case "before":
			cancel(cause)
		case "past deadline":
			var stop context.CancelFunc
			ctx, stop = context.WithDeadlineCause(ctx, time.Now().Add(-time.Second), cause)
			defer stop()
		}
		rt := transport(func(req *http.Request) (*http.Response, error) {
			cancel(cause)
			if when == "wait for a retry" {
				resp, err := echo(429, errorsBody)(req)
				resp.Header.Set("Retry-After", "9")
				return resp, err
			}
			<-req.Context().Done()
			return nil, fmt.Errorf("%s: %w", describe(req), context.Cause(req.Context()))
		})
		c, log := newClient(t, base, auth, over(rt), commerce.WithRetry(commerce.RetryPolicy{}))
		_, err := call(ctx, c)
		if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
			t.Errorf("error %v, want %v", err, ctx.Err())
		}
		s.value(t, "error", err)
		s.text(t, "log", log.String())
	}
	for _, when := range []string{"before", "past deadline", "attempt", "wait for a retry"} {
		for how, auth := range credentials() {
			for what, call := range everyCall() {
				t.Run(when+"/"+how+"/"+what, func(t *testing.T) {
					t.Parallel()
					check(t, when, auth, call)
				})
			}
		}
	}
}

type panickingBody struct{}

func (panickingBody) Read([]byte) (int, error) { panic("boom") }
func (panickingBody) Close() error             { return nil }

// A part of the program panics during a call: the panic passes through, and the log stays clean.
func TestLeaks_panics(t *testing.T) {
	t.Parallel()
	s := newSearch(t)
	granted := commerce.WithClientCredentials("id", secretClient)
	failing := commerce.WithLimiter(limiter(func() error { panic("boom") }))
	for name, opts := range map[string][]commerce.Option{
		"transport":         {},
		"token request":     {granted},
		"token source":      {commerce.WithTokenSource(sourceFunc(func() (*oauth2.Token, error) { panic("boom") }))},
		"limiter":           {failing},
		"limiter of tokens": {granted, failing},
		"body": {over(transport(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: panickingBody{}}, nil
		}))},
	} {
		rt := transport(func(req *http.Request) (*http.Response, error) { _ = describe(req); panic("boom") })
		for what, call := range everyCall() {
			c, log := newClient(t, base, append([]commerce.Option{over(rt)}, opts...)...)
			func() {
				defer func() {
					if got := recover(); got != "boom" {
						t.Errorf("%s: %s: recover() = %v, want boom", name, what, got)
					}
				}()
				_, _ = call(t.Context(), c)
			}()
			s.value(t, name+": client", c)
			s.text(t, name+": log", log.String())
		}
	}
}

// A program dies of a panic with an error, while it panics with a client: the runtime prints both,
// and all stacks.
func TestLeaks_panicOutput(t *testing.T) {
	t.Parallel()
	const variable = "COMMERCE_TEST_PANIC"
	if os.Getenv(variable) != "" {
		c, _ := newClient(t, base, over(echo(500, errorsBody)))
		_, err := everyCall()["Carts.AddCustomDiscounts"](t.Context(), c)
		defer func() { panic(err) }()
		defer func() { panic(*c) }()
		panic(c)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestLeaks_panicOutput$") //nolint:gosec // this program
	cmd.Env = append(os.Environ(), variable+"=1", "GOTRACEBACK=all")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("the program exits with 0, want a panic")
	}
	for _, want := range []string{"panic: ", "Carts.AddCustomDiscounts", "goroutine "} {
		if !strings.Contains(string(out), want) {
			t.Errorf("output without %q:\n%s", want, out)
		}
	}
	newSearch(t).text(t, "the output", string(out))
}
