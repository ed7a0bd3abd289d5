package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	storeURL = "https://store.example"
	notSent  = -1
)

var testPolicy = Policy{
	MaxAttempts: 3, MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond, AttemptTimeout: time.Minute,
}

// newCall returns a GET if class is Replayable, and a POST if it is Once.
func newCall(t *testing.T, class Class, address string) *Call {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"X-A": {"b"}, "User-Agent": {"commerce-go"}}
	c := &Call{Op: "op", Class: class, Method: http.MethodGet, URL: u, Header: header, Policy: testPolicy}
	if class == Once {
		c.Method, c.Body = http.MethodPost, []byte(`{"body":1}`)
	}
	return c
}

// stub is a custom transport that calls no httptrace hooks.
type stub func(*http.Request) (*http.Response, error)

func (s stub) RoundTrip(req *http.Request) (*http.Response, error) { return s(req) }

func (s stub) do(ctx context.Context, call *Call) *Result {
	return New(&http.Client{Transport: s}).Do(ctx, call)
}

// script is a transport that responds to the n-th attempt with the n-th status, and to later ones
// with the last. Status 0 is an error that does not prove that nothing was sent, notSent one that
// does.
type script struct {
	statuses   []int
	retryAfter string
	body       string
	start      time.Time
	at         []time.Duration // when each attempt came, since start
	tokens     []string        // Authorization of each attempt
}

func (s *script) do(ctx context.Context, call *Call) *Result {
	s.start, s.at = time.Now(), nil
	return stub(func(req *http.Request) (*http.Response, error) {
		s.at = append(s.at, time.Since(s.start))
		s.tokens = append(s.tokens, req.Header.Get("Authorization"))
		status := s.statuses[min(len(s.at), len(s.statuses))-1]
		if status == notSent {
			httptrace.ContextClientTrace(req.Context()).GetConn("store.example:443")
		}
		if status <= 0 {
			return nil, errors.New("stub")
		}
		h := http.Header{}
		if s.retryAfter != "" {
			h.Set("Retry-After", s.retryAfter)
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(s.body))}, nil
	}).do(ctx, call)
}

type limiter func(context.Context) error

func (f limiter) Wait(ctx context.Context) error { return f(ctx) }

// auth is an Authorizer with the first of its tokens. It fails without one. It removes one that was
// refused.
type auth []string

func (a *auth) Token(_ context.Context, refused string) (string, error) {
	if refused != "" {
		*a = (*a)[1:]
	}
	if len(*a) == 0 {
		return "", errors.New("no token")
	}
	return (*a)[0], nil
}
