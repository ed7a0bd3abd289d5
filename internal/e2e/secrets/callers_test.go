package secrets_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
)

type limiter func() error

func (l limiter) Wait(context.Context) error { return l() }

// Token sources and limiters of the program fail with errors that contain secrets.
func TestLeaks_credentials(t *testing.T) {
	t.Parallel()
	token := func(text string) *oauth2.Token {
		return &oauth2.Token{AccessToken: text, RefreshToken: secretClient}
	}
	wrap := func(err error) error { return fmt.Errorf("%s: %w", allSecrets, err) }
	faults := map[string]fault{}
	for name, opt := range map[string]commerce.Option{
		"error":                 tokenSource(nil, verboseError{allSecrets}),
		"RetrieveError":         tokenSource(nil, retrieveError(allSecrets)),
		"wrapped RetrieveError": tokenSource(nil, wrap(retrieveError(allSecrets))),
		"no token":              tokenSource(nil, nil),
		"line break":            tokenSource(token(secretToken+"\r\nX: y"), nil),
		"space":                 tokenSource(token(secretToken+" x"), nil),
		"not ASCII":             tokenSource(token(secretToken+"ü"), nil),
		"a token and an error":  tokenSource(token(secretToken), verboseError{allSecrets}),
	} {
		opts := []commerce.Option{opt}
		faults["source: "+name] = fault{transport: transport(succeed), opts: opts, want: commerce.ErrToken}
	}
	for name, err := range map[string]error{
		"error": verboseError{allSecrets}, "deadline": wrap(context.DeadlineExceeded),
	} {
		opts := []commerce.Option{commerce.WithLimiter(limiter(func() error { return err }))}
		faults["limiter: "+name] = fault{transport: transport(succeed), opts: opts}
	}
	searchFaults(t, someCalls(), faults)
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
		for _, call := range someCalls() {
			tokens := 0
			f := fault{want: commerce.ErrUnauthorized}
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
			f.search(t, s, c, call)
			s.text(t, name+": log", log.String())
		}
	}
}

// Contexts end with causes that contain secrets: the errors are those of the context, without the
// cause.
func TestLeaks_contexts(t *testing.T) {
	t.Parallel()
	end := func(req *http.Request) error {
		end, ok := req.Context().Value(endKey{}).(context.CancelCauseFunc)
		if ok { // the context of a call, and not of the token request that it may share
			end(verboseError{allSecrets})
			<-req.Context().Done()
		}
		return fmt.Errorf("%s: %w", describe(req), context.Cause(req.Context()))
	}
	searchFaults(t, someCalls(), map[string]fault{
		"before": {transport: transport(succeed), ended: true, want: context.Canceled},
		"attempt": {want: context.Canceled, transport: transport(func(req *http.Request) (*http.Response, error) {
			return nil, end(req)
		})},
		"wait for a retry": {want: context.Canceled, transport: transport(func(req *http.Request) (*http.Response, error) {
			resp, err := echo(429, errorsBody)(req)
			resp.Header.Set("Retry-After", "9")
			_ = end(req)
			return resp, err
		})},
	})
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
	email := filter(commerce.SubscriptionFilter{Emails: []string{secretEmail + "\xff"}})
	name := filter(commerce.SubscriptionFilter{Names: []string{strings.Repeat(secretDetail, 999)}})
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

// A transport panics during a call: the log stays clean.
func TestLeaks_panics(t *testing.T) {
	t.Parallel()
	s := newSearch(t)
	for how, auth := range credentials() {
		c, log := newClient(t, base, auth, over(transport(func(req *http.Request) (*http.Response, error) {
			panic(describe(req))
		})))
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic, want that of the transport", how)
				}
			}()
			_, _ = everyCall()["Client.Do (write)"](t.Context(), c)
		}()
		s.text(t, how+": log", log.String())
	}
}
