package commerce

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce/internal/future"
	"github.com/commerce-go/commerce/internal/transport"
	"github.com/commerce-go/commerce/internal/wire"
)

// credentials supply bearer tokens. Their errors are *Error values with the Op "token".
type credentials interface {
	// token returns a token for a call of c. If a token was refused, it is passed in,
	// and token tries to return another one.
	token(ctx context.Context, c *core, refused string) (string, error)
}

// Token makes c the Authorizer of its calls.
func (c *core) Token(ctx context.Context, refused string) (string, error) {
	return c.cfg.credentials.token(ctx, c, refused)
}

type staticToken struct{ value transport.Hidden[string] }

func (t staticToken) token(context.Context, *core, string) (string, error) { return t.value(), nil }

// tokenSource is the Token method of an [oauth2.TokenSource]. A function hides the source,
// which may hold secrets, from packages that print values.
type tokenSource func() (*oauth2.Token, error)

// token waits for the source no longer than ctx allows. A source that never returns leaves
// a goroutine behind.
func (t tokenSource) token(ctx context.Context, _ *core, _ string) (string, error) {
	token, err := future.Go(t).Wait(ctx)
	switch {
	case err == nil:
		return checkedToken(token)
	case ctx.Err() != nil:
		return "", tokenError(transport.WaitError(ctx, "a token"))
	}
	// The text of err may hold the response of a token endpoint.
	e := tokenError(transport.Withhold("the token source failed (its text is withheld)", err))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil {
		e.StatusCode = refused.Response.StatusCode
	}
	return "", e
}

// clientCredentials request tokens and cache the last one. A client and its copies share
// them.
type clientCredentials struct {
	id     string
	secret transport.Hidden[string]

	mu      sync.Mutex
	cached  transport.Hidden[string] // nil if there is no token
	renewAt time.Time                // zero if the token does not expire
	request *tokenRequest            // nil if none is running
}

// tokenRequest is a running request, shared by all calls that wait for a token.
type tokenRequest struct {
	*future.Future[*oauth2.Token]
	cancel  context.CancelFunc
	waiting int // number of calls
}

// token returns the cached token, unless it was refused or is about to expire. Otherwise it
// joins the running token request, or starts one.
func (cc *clientCredentials) token(ctx context.Context, c *core, refused string) (string, error) {
	cc.mu.Lock()
	fresh := cc.renewAt.IsZero() || time.Now().Before(cc.renewAt)
	if fresh && cc.cached != nil && cc.cached() != refused {
		defer cc.mu.Unlock()
		return cc.cached(), nil
	}
	if cc.request == nil {
		cc.request = cc.start(ctx, c)
	}
	r := cc.request
	r.waiting++
	cc.mu.Unlock()

	token, err := r.Wait(ctx)
	switch {
	case err == nil:
		return checkedToken(token)
	case ctx.Err() == nil:
		return "", err
	}
	if cc.leave(r) {
		<-r.Done() // the call does not return before the request that it canceled
	}
	return "", tokenError(transport.WaitError(ctx, "a token"))
}

// start starts a token request, which continues as long as any call waits for it. The
// caller holds cc.mu.
func (cc *clientCredentials) start(ctx context.Context, c *core) *tokenRequest {
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &tokenRequest{cancel: cancel}
	r.Future = future.Go(func() (token *oauth2.Token, err error) {
		defer cancel()
		defer func() { cc.finish(r, token) }() // also after a panic
		return cc.fetch(detached, c)
	})
	return r
}

// leave removes a call from those that wait for r. The last one cancels r.
func (cc *clientCredentials) leave(r *tokenRequest) (last bool) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if r.waiting--; r.waiting > 0 {
		return false
	}
	r.cancel()
	if cc.request == r {
		cc.request = nil // later calls must not join a canceled request
	}
	return true
}

// finish stores the token of r, if it has one that can be sent.
func (cc *clientCredentials) finish(r *tokenRequest, token *oauth2.Token) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.request == r {
		cc.request = nil
	}
	text, err := checkedToken(token)
	if err != nil {
		return
	}
	cc.cached, cc.renewAt = transport.Hide(text), time.Time{}
	if !token.Expiry.IsZero() {
		// Renew the token 1 minute before it expires, so that it does not expire during a
		// call, or a quarter of its life before that if that is less, so that a short-lived
		// token is used at all.
		cc.renewAt = token.Expiry.Add(-min(time.Minute, time.Until(token.Expiry)/4))
	}
}

// fetch makes the token request:
// https://developer.elasticpath.com/docs/authentication/Tokens/client-credential-token
func (cc *clientCredentials) fetch(ctx context.Context, c *core) (*oauth2.Token, error) {
	var token *oauth2.Token
	err := c.observe(ctx, opToken, http.MethodPost, func(ctx context.Context) (err error) {
		token, err = cc.post(ctx, c)
		return err
	})
	return token, err
}

func (cc *clientCredentials) post(ctx context.Context, c *core) (*oauth2.Token, error) {
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {cc.id}, "client_secret": {cc.secret()},
	}
	call := &transport.Call{
		Op: opToken, Class: transport.Replayable,
		Method: http.MethodPost, URL: c.address("/oauth/access_token", ""), Body: []byte(form.Encode()),
		ContentType: "application/x-www-form-urlencoded",
		Accept:      func(b []byte) error { _, err := acceptJSON(b); return err },
	}
	r := c.exchange(ctx, call)
	var token *oauth2.Token
	if r.OK() {
		token, r.Err = readToken(r.Body)
	}
	if !r.OK() {
		return nil, newError(call, r, OutcomeNotSent, readTokenErrors(r.Body))
	}
	return token, nil
}

// readToken reads the body of a token response. Its error holds nothing of b. A life that cannot be
// read is not known, and the token serves until it is refused.
func readToken(b []byte) (*oauth2.Token, error) {
	var body struct {
		AccessToken string          `json:"access_token"`
		ExpiresIn   json.RawMessage `json:"expires_in"` // seconds; absent or 0 if the token does not expire
		Error       string          `json:"error"`
	}
	if json.Unmarshal(b, &body) != nil || body.Error != "" || body.AccessToken == "" {
		return nil, errors.New("the response holds no access token")
	}
	token := &oauth2.Token{AccessToken: body.AccessToken}
	if life, _ := ParseDecimal(wire.Text(body.ExpiresIn)); !life.IsZero() {
		seconds := min(max(life.number.InexactFloat64(), -1), math.MaxInt32)
		token.Expiry = time.Now().Add(time.Duration(seconds) * time.Second)
	}
	return token, nil
}

// tokenErrorCodes are the error codes of https://datatracker.ietf.org/doc/html/rfc6749.
var tokenErrorCodes = []string{
	"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
}

// readTokenErrors returns the errors of a body, of the service's form or with a code of OAuth. Of
// the latter, only the code is kept: as a title, which errors show.
func readTokenErrors(b []byte) []ErrorObject {
	var body struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(b, &body) == nil && slices.Contains(tokenErrorCodes, body.Error) {
		return []ErrorObject{{Title: body.Error}}
	}
	return readErrors(b)
}

func tokenError(err error) *Error {
	return &Error{Op: opToken, Outcome: OutcomeNotSent, Err: err}
}

// checkedToken returns the text of a token, or an error if it cannot be sent.
func checkedToken(t *oauth2.Token) (string, error) {
	if t == nil {
		return "", tokenError(errors.New("no token was returned"))
	}
	if problem := tokenProblem(t.AccessToken); problem != "" {
		return "", tokenError(errors.New("the access token " + problem))
	}
	return t.AccessToken, nil
}

// tokenProblem returns why a token cannot be sent, without repeating it.
func tokenProblem(token string) string {
	switch {
	case token == "":
		return "must not be empty"
	case !transport.IsPrintable(token) || strings.Contains(token, " "):
		return "must be printable ASCII without spaces"
	}
	return ""
}
