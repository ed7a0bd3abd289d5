// Package hostile_test gives a client input that tries to change where requests go, or what is in
// them.
package hostile_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/commerce-go/commerce"
)

const (
	host  = "store.example"
	base  = "https://" + host
	token = "canary-token-5f2e"

	listPath  = "/v2/subscriptions/subscriptions"
	emptyList = `{"data":[],"links":{"next":null}}`
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a transport that keeps the requests as net/http would write them.
type recorder struct {
	respond func(*http.Request) *http.Response // nil: with an empty list, or a token

	mu   sync.Mutex
	urls []*url.URL
	raw  []string
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var b bytes.Buffer
	if err := req.Clone(req.Context()).Write(&b); err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.urls, r.raw = append(r.urls, req.URL), append(r.raw, b.String())
	r.mu.Unlock()
	switch {
	case r.respond != nil:
		return r.respond(req), nil
	case req.URL.Path == "/oauth/access_token":
		return response(200, `{"access_token":"issued","expires_in":3600}`), nil
	case req.Method == http.MethodPost:
		return response(201, `{"data":[{"type":"custom_discount","external_id":"a"}]}`), nil
	}
	return response(200, emptyList), nil
}

func response(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

// newClient returns a client for the address over a recorder, if New accepts the options.
func newClient(address string, opts ...commerce.Option) (*recorder, *commerce.Client, error) {
	r := &recorder{}
	c, err := commerce.New(address, append([]commerce.Option{
		commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: r}),
		commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}),
	}, opts...)...)
	return r, c, err
}

func mustClient(t *testing.T, opts ...commerce.Option) (*recorder, *commerce.Client) {
	t.Helper()
	r, c, err := newClient(base, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return r, c
}

// request returns the only request as a server reads it. It checks the path, the host and the
// fields of the header.
func (r *recorder) request(t *testing.T, path string) *http.Request {
	t.Helper()
	if len(r.raw) != 1 {
		t.Fatalf("requests = %d, want 1", len(r.raw))
	}
	in := bufio.NewReader(strings.NewReader(r.raw[0]))
	req, err := http.ReadRequest(in)
	if err != nil {
		t.Fatalf("a server cannot read %q: %v", r.raw[0], err)
	}
	if err := req.ParseForm(); err != nil {
		t.Errorf("%q has no form: %v", r.raw[0], err)
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil || in.Buffered() > 0 {
		t.Errorf("%q, want one request: error %v", r.raw[0], err)
	}
	isSplit := strings.Count(req.URL.EscapedPath(), "/") != strings.Count(path, "/")
	if req.Host != host || r.urls[0].Host != host || req.URL.Path != path || isSplit {
		t.Errorf("sent to %s %s, want %s %s", req.Host, req.URL.EscapedPath(), host, path)
	}
	for key, values := range req.Header {
		switch key {
		case "Accept", "Accept-Encoding", "Authorization", "Content-Length", "Content-Type", "User-Agent", "X-Key":
			if len(values) == 1 {
				continue
			}
		}
		t.Errorf("header %s = %q, want one value of a field of the library", key, values)
	}
	return req
}

// refused checks that err is a ValidationError that does not repeat the value, and that nothing was
// sent.
func (r *recorder) refused(t *testing.T, err error, value string) {
	t.Helper()
	_, ok := errors.AsType[*commerce.ValidationError](err)
	if !ok || !errors.Is(err, commerce.ErrInvalidArgument) || commerce.OutcomeOf(err) != commerce.OutcomeNotSent {
		t.Fatalf("error = %v, want a ValidationError", err)
	}
	if len(r.raw) != 0 {
		t.Errorf("sent %q, want no request", r.raw)
	}
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	if len(value) > 5 && strings.Contains(err.Error(), value) || strings.ContainsFunc(err.Error(), odd) {
		t.Errorf("error = %q, want a text without the value", err)
	}
}

func list(t *testing.T, c *commerce.Client) error {
	t.Helper()
	_, err := c.Subscriptions.List(t.Context(), nil)
	return err
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
