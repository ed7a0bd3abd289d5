// Package secrets_test looks for secrets in everything that a program can print, log, encode or
// reach by reflection.
package secrets_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

const (
	host = "store.example"
	base = "https://" + host
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call is a call whose arguments contain secrets.
type call func(context.Context, *commerce.Client) (*commerce.Response, error)

// everyCall returns all public calls, by name.
func everyCall() map[string]call {
	args := calls.NewArgs()
	args.NewDiscount.Description, args.NewDiscount.ExternalID = secretDetail, secretExternalID
	args.Discount.Description, args.Discount.ExternalID = secretDetail, secretExternalID
	args.Options = &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{
		Emails: []string{secretEmail}, Names: []string{secretDetail}, ExternalRefs: []string{secretExternalID},
	}}
	args.Query = url.Values{"filter": {secretEmail}, secretExternalID: {secretDetail}}
	args.Body = map[string]string{secretExternalID: secretEmail}
	all := map[string]call{}
	for _, c := range calls.All() {
		all[c.Name] = func(ctx context.Context, client *commerce.Client) (*commerce.Response, error) {
			responses := &successes{list: c.Responses(args)}
			result, err := c.Do(context.WithValue(ctx, successesKey{}, responses), client, args)
			return calls.ResponseIn(result), err
		}
	}
	return all
}

// someCalls returns a list, a write, a call of several requests, and one by Do. For faults that do
// not depend on the response that a call wants, they are enough: all calls share the code.
func someCalls() map[string]call {
	some, all := map[string]call{}, everyCall()
	for _, name := range []string{
		"Subscriptions.All", "Carts.AddCustomDiscounts", "Carts.EnsureCustomDiscounts", "Client.Do (write)",
	} {
		some[name] = all[name]
	}
	return some
}

// successes are the responses with which a call succeeds, in the context of its requests.
type successes struct{ list []calls.Response }

type successesKey struct{}

// Each way to authorize a client.
func credentials() map[string]commerce.Option {
	return map[string]commerce.Option{
		"static token":       commerce.WithToken(secretToken),
		"token source":       tokenSource(&oauth2.Token{AccessToken: secretToken, RefreshToken: secretClient}, nil),
		"client credentials": commerce.WithClientCredentials("id", secretClient),
	}
}

type sourceFunc func() (*oauth2.Token, error)

func (f sourceFunc) Token() (*oauth2.Token, error) { return f() }

func tokenSource(token *oauth2.Token, err error) commerce.Option {
	return commerce.WithTokenSource(sourceFunc(func() (*oauth2.Token, error) { return token, err }))
}

// newClient returns a client with a secret header, and its log. The client has a static token
// unless opts say otherwise.
func newClient(t *testing.T, address string, opts ...commerce.Option) (*commerce.Client, *events) {
	t.Helper()
	log, logger := newLog()
	c, err := commerce.New(address, append([]commerce.Option{
		commerce.WithToken(secretToken), commerce.WithHeader("X-Key", secretHeader), commerce.WithLogger(logger),
		commerce.WithObserver(log),
		commerce.WithRetry(commerce.RetryPolicy{
			MaxAttempts: 2, MinBackoff: 1, MaxBackoff: 1, AttemptTimeout: 20 * time.Second,
		}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c, log
}

// newLog returns a logger, and its events as text and as JSON.
func newLog() (*events, *slog.Logger) {
	log := &events{}
	opts := &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}
	return log, slog.New(slog.NewMultiHandler(slog.NewTextHandler(log, opts), slog.NewJSONHandler(log, opts)))
}

type events struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (e *events) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.buf.Write(p)
}

// StartCall and StartAttempt implement [commerce.Observer]: they write all that they get.
func (e *events) StartCall(
	ctx context.Context, call commerce.CallInfo,
) (context.Context, func(commerce.CallResult)) {
	e.write(call)
	return ctx, func(r commerce.CallResult) { e.write(r) }
}

func (e *events) StartAttempt(
	ctx context.Context, attempt commerce.AttemptInfo,
) (context.Context, func(commerce.AttemptResult)) {
	e.write(attempt)
	return ctx, func(r commerce.AttemptResult) { e.write(r) }
}

func (e *events) write(v any) { _, _ = fmt.Fprintf(e, "%+v\n", v) }

func (e *events) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.buf.String()
}

type transport = calls.Transport

func over(rt http.RoundTripper) commerce.Option {
	return commerce.WithHTTPClient(&http.Client{Transport: rt})
}

// describe returns all that a server knows about a request, and every secret, on one line. It reads
// the body.
func describe(req *http.Request) string {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		_ = req.Body.Close()
	}
	return fmt.Sprintf("%s %s %v %s %s", req.Method, req.URL, req.Header, body, allSecrets)
}

// expand fills the template of a response. $TEXT becomes text, $JSON is text escaped for a JSON
// string, and $URL is text escaped for a path.
func expand(template, text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	json := string(quoted[1 : len(quoted)-1])
	return strings.NewReplacer("$TEXT", text, "$JSON", json, "$URL", url.PathEscape(text)).Replace(template)
}

// echo responds with a body expanded from the description of the request, and repeats that in the
// status text and in headers.
func echo(status int, template string) transport {
	return func(req *http.Request) (*http.Response, error) {
		text := describe(req)
		return &http.Response{
			StatusCode: status, Status: fmt.Sprint(status, " ", text), Header: echoHeader(text),
			Body: io.NopCloser(strings.NewReader(expand(template, text))), ContentLength: -1, Request: req,
		}, nil
	}
}

// echoHeader returns headers that the library must drop because of their keys: their values are
// printable ASCII.
func echoHeader(text string) http.Header {
	text = strings.ReplaceAll(text, "ü", "")
	h := http.Header{}
	for _, key := range []string{
		"Location", "Set-Cookie", "Link", "Www-Authenticate", "Warning", "Refresh", "X-Echo", "Authorization", "Via",
		"Trailer", "Content-Disposition",
	} {
		h[key] = []string{text}
	}
	return h
}

// succeed is a transport with which each call of everyCall succeeds.
func succeed(req *http.Request) (*http.Response, error) {
	if req.URL.Path == "/oauth/access_token" {
		return echo(200, `{"access_token":"`+secretToken+`","refresh_token":"`+secretClient+`"}`)(req)
	}
	s, ok := req.Context().Value(successesKey{}).(*successes)
	if !ok || len(s.list) == 0 {
		return echo(200, `{"data":[],"links":{"next":null}}`)(req)
	}
	next := s.list[0]
	s.list = s.list[1:]
	return echo(next.Status, next.Body)(req)
}

// verboseError shows its text in every rendering.
type verboseError struct{ Text string }

func (e verboseError) Error() string                { return e.Text }
func (e verboseError) String() string               { return e.Text }
func (e verboseError) GoString() string             { return e.Text }
func (e verboseError) LogValue() slog.Value         { return slog.StringValue(e.Text) }
func (e verboseError) MarshalJSON() ([]byte, error) { return json.Marshal(e.Text) }
func (e verboseError) MarshalText() ([]byte, error) { return []byte(e.Text), nil }
func (e verboseError) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, e.Text) }
func (e verboseError) Timeout() bool                { return strings.HasPrefix(e.Text, "timeout") }
func (e verboseError) Temporary() bool              { return true }
