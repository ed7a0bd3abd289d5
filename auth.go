package commerce

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/commerce-go/commerce/internal/transport"
)

// opToken is the Op of an Error that tells why there is no token.
const opToken = "token"

type secret = transport.Hidden[string]

func newSecret(s string) secret { return transport.Hide(s) }

// credentials give bearer tokens. Failures are *Error values with Op "token".
type credentials interface {
	// token returns the token for an attempt of a call made by c.
	token(ctx context.Context, c *core) (string, error)
	// refresh returns a token other than refused, or "" if there is none.
	refresh(ctx context.Context, c *core, refused string) (string, error)
}

// authorizer is the transport's view of a client's credentials.
type authorizer struct{ *core }

func (a authorizer) Token(ctx context.Context) (string, error) {
	return a.cfg.credentials.token(ctx, a.core)
}

func (a authorizer) Refresh(ctx context.Context, refused string) (string, error) {
	return a.cfg.credentials.refresh(ctx, a.core, refused)
}

// tokenFault says what is wrong with a token, without repeating it.
func tokenFault(token string) string {
	switch {
	case token == "":
		return "must not be empty"
	case !validHeaderValue(token) || bytes.ContainsRune([]byte(token), ' '):
		return "must be printable ASCII without spaces"
	}
	return ""
}

func tokenError(err error) *Error {
	return &Error{Op: opToken, Outcome: OutcomeNotSent, Err: err}
}

// checkedToken returns the token of t, if it has one that can be sent.
func checkedToken(t *oauth2.Token) (string, error) {
	if t == nil {
		return "", tokenError(errors.New("the token source returned no token"))
	}
	if fault := tokenFault(t.AccessToken); fault != "" {
		return "", tokenError(errors.New("the access token " + fault))
	}
	return t.AccessToken, nil
}

type staticToken struct{ value secret }

func (t staticToken) token(context.Context, *core) (string, error)           { return t.value(), nil }
func (t staticToken) refresh(context.Context, *core, string) (string, error) { return "", nil }

// tokenSource is the Token method of an [oauth2.TokenSource].
type tokenSource func() (*oauth2.Token, error)

// token asks the source. It has no context, so the wait for it is bounded here;
// a source that never returns costs a goroutine, as it would any caller.
func (t tokenSource) token(ctx context.Context, _ *core) (string, error) {
	type answer struct {
		token    *oauth2.Token
		err      error
		panicked any
	}
	answers := make(chan answer, 1)
	go func() {
		a := answer{err: errors.New("the source ended its goroutine")}
		defer func() {
			a.panicked = recover()
			answers <- a
		}()
		a.token, a.err = t()
	}()
	select {
	case a := <-answers:
		if a.panicked != nil {
			panic(a.panicked) // here, where the caller can recover
		}
		if a.err != nil {
			return "", sourceError(a.err)
		}
		return checkedToken(a.token)
	case <-ctx.Done():
		return "", tokenError(ctx.Err())
	}
}

func (t tokenSource) refresh(ctx context.Context, c *core, refused string) (string, error) {
	token, err := t.token(ctx, c)
	if token == refused {
		token = ""
	}
	return token, err
}

// sourceError reduces the error of a token source to what may be shown: its
// text may hold the answer of a token endpoint.
func sourceError(err error) *Error {
	e := tokenError(transport.Withhold("the token source failed (its text is withheld)", err))
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil {
		e.StatusCode = refused.Response.StatusCode
	}
	return e
}

// clientCredentials gets tokens by the client-credentials grant, and keeps the
// last one. It is shared by a client and its copies.
type clientCredentials struct {
	id     string
	secret secret

	mu      sync.Mutex
	cached  secret    // nil: none
	renewAt time.Time // zero: never
	flight  *tokenFlight
}

// tokenFlight is a token request under way, for all callers that wait for it.
type tokenFlight struct {
	done     chan struct{}
	cancel   context.CancelFunc
	waiting  int
	token    secret
	err      error
	panicked any // what the request panicked with, for those who wait to panic with
}

func (cc *clientCredentials) token(ctx context.Context, c *core) (string, error) {
	return cc.get(ctx, c, "")
}

func (cc *clientCredentials) refresh(ctx context.Context, c *core, refused string) (string, error) {
	token, err := cc.get(ctx, c, refused)
	if token == refused {
		token = ""
	}
	return token, err
}

// get returns the cached token, unless it is refused or about to expire; else
// it joins or starts a request for a new one. The request goes on as long as
// anyone waits for it, whoever started it.
func (cc *clientCredentials) get(ctx context.Context, c *core, refused string) (string, error) {
	cc.mu.Lock()
	fresh := cc.renewAt.IsZero() || time.Now().Before(cc.renewAt)
	if fresh && cc.cached != nil && cc.cached() != refused {
		defer cc.mu.Unlock()
		return cc.cached(), nil
	}
	f := cc.flight
	if f == nil {
		f = &tokenFlight{done: make(chan struct{})}
		detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f.cancel = cancel
		cc.flight = f
		go cc.fly(detached, c, f)
	}
	f.waiting++
	cc.mu.Unlock()

	select {
	case <-f.done:
		if f.panicked != nil {
			panic(f.panicked) // here, where the caller can recover
		}
		return f.token(), f.err
	case <-ctx.Done():
		if cc.giveUp(f) {
			<-f.done // as any request that is cancelled
		}
		return "", tokenError(ctx.Err())
	}
}

// giveUp takes a caller from those that wait for f, and cancels it after the last.
func (cc *clientCredentials) giveUp(f *tokenFlight) (last bool) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if f.waiting--; f.waiting > 0 {
		return false
	}
	f.cancel()
	if cc.flight == f {
		cc.flight = nil // a caller that comes now must not join what was given up
	}
	return true
}

func (cc *clientCredentials) fly(ctx context.Context, c *core, f *tokenFlight) {
	var token *oauth2.Token
	err := error(tokenError(errors.New("the token request ended its goroutine")))
	defer func() {
		f.panicked = recover()
		f.cancel()
		cc.land(f, token, err)
	}()
	token, err = cc.fetch(ctx, c)
}

// land ends the flight with a token or an error.
func (cc *clientCredentials) land(f *tokenFlight, token *oauth2.Token, err error) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.flight == f {
		cc.flight = nil
	}
	text := ""
	if err == nil {
		text, err = checkedToken(token)
	}
	f.token, f.err = newSecret(text), err
	if err == nil {
		cc.cached, cc.renewAt = f.token, time.Time{}
		if !token.Expiry.IsZero() {
			// Early enough that a token does not expire under way, and not so early
			// that a short-lived one is never used.
			life := time.Until(token.Expiry)
			cc.renewAt = token.Expiry.Add(-min(time.Minute, life/4))
		}
	}
	close(f.done)
}

// fetch makes the token request. golang.org/x/oauth2 writes it and reads the
// answer; the exchange is the transport's, under the rules of any replayable call.
func (cc *clientCredentials) fetch(ctx context.Context, c *core) (*oauth2.Token, error) {
	exchange := &tokenExchange{core: c, ctx: ctx}
	conf := clientcredentials.Config{
		ClientID:     cc.id,
		ClientSecret: cc.secret(),
		TokenURL:     c.address("/oauth/access_token", "").String(),
		AuthStyle:    oauth2.AuthStyleInParams,
	}
	token, err := conf.Token(context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: exchange}))
	if err == nil {
		return token, nil
	}
	// err is never wrapped: its text may hold the body.
	e := tokenError(errors.New("the token request could not be made"))
	if r := exchange.result; r != nil {
		if r.OK() {
			r.Err = errors.New("the answer holds no access token")
		}
		e = newError(opToken, r, OutcomeNotSent, errorsOf(r.Body))
	}
	return nil, e
}

// tokenExchange is the transport that golang.org/x/oauth2 gets.
type tokenExchange struct {
	core   *core
	ctx    context.Context
	result *transport.Result
}

// RoundTrip makes the request as a call of its own, without a bearer token.
func (t *tokenExchange) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, err
	}
	call := t.core.call(opToken, transport.Replayable, req.Method, req.URL, body)
	call.Auth, call.Gate = nil, nil
	call.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	call.Accept = acceptJSON
	r := t.core.cfg.exchange.Do(t.ctx, call)
	t.result = r
	if r.Err != nil {
		return nil, r.Err
	}
	return &http.Response{
		StatusCode: r.StatusCode,
		Status:     http.StatusText(r.StatusCode),
		Header:     http.Header{"Content-Type": {"application/json"}}, // it is read as JSON, however it was labelled
		Body:       io.NopCloser(bytes.NewReader(r.Body)),
		Request:    req,
	}, nil
}
