package commerce_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"

	"github.com/commerce-go/commerce"
)

const (
	base  = "https://store.example"
	token = "canary-token-5f2e"
)

// request is what a stub got.
type request struct {
	Method, Path, RawQuery string
	Header                 http.Header
	Body                   string
}

// stub is a transport that answers the n-th request with the n-th responder; nil
// stands for a connection that is refused. A request beyond them fails the test.
type stub struct {
	*httpmock.MockTransport
	mu       sync.Mutex
	requests []request
}

func newStub(t *testing.T, responders ...httpmock.Responder) *stub {
	t.Helper()
	s := &stub{MockTransport: httpmock.NewMockTransport()}
	s.RegisterNoResponder(func(req *http.Request) (*http.Response, error) {
		s.mu.Lock()
		n := len(s.requests)
		s.mu.Unlock()
		isReached := n >= len(responders) || responders[n] != nil
		var body []byte
		if req.Body != nil && isReached {
			var err error
			if body, err = io.ReadAll(req.Body); err != nil {
				t.Errorf("read request body: %v", err)
			}
		}
		s.mu.Lock()
		s.requests = append(s.requests, request{req.Method, req.URL.EscapedPath(), req.URL.RawQuery, req.Header.Clone(), string(body)})
		s.mu.Unlock()
		if n >= len(responders) {
			t.Errorf("request %d of %d: %s %s", n+1, len(responders), req.Method, req.URL.Path)
			return httpmock.NewStringResponse(http.StatusTeapot, ""), nil
		}
		if !isReached {
			httptrace.ContextClientTrace(req.Context()).GetConn("store.example:443")
			return nil, errors.New("unreached")
		}
		return responders[n](req)
	})
	return s
}

// client returns a client over s that makes its retries at once.
func (s *stub) client(t *testing.T, opts ...commerce.Option) *commerce.Client {
	t.Helper()
	all := append([]commerce.Option{
		commerce.WithToken(token),
		commerce.WithHTTPClient(&http.Client{Transport: s}),
		commerce.WithRetry(commerce.RetryPolicy{MinBackoff: 1, MaxBackoff: 1}),
	}, opts...)
	c, err := commerce.New(base, all...)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return c
}

// got returns the requests so far.
func (s *stub) got(t *testing.T) []request {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// answer is a responder with a JSON body.
func answer(status int, body string) httpmock.Responder {
	return func(req *http.Request) (*http.Response, error) {
		resp := httpmock.NewStringResponse(status, body)
		resp.Header.Set("Content-Type", "application/json")
		resp.Header.Set("X-Request-Id", "req-1")
		resp.Request = req
		return resp, nil
	}
}

// answerWith is a responder with a body and headers of its own.
func answerWith(status int, body string, header ...string) httpmock.Responder {
	return func(req *http.Request) (*http.Response, error) {
		resp := httpmock.NewStringResponse(status, body)
		for i := 0; i < len(header); i += 2 {
			resp.Header.Set(header[i], header[i+1])
		}
		resp.Request = req
		return resp, nil
	}
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func id(s string) uuid.UUID { return uuid.MustParse(s) }

// n returns the n-th of a series of UUIDs.
func nth(n int) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, []byte{byte(n >> 8), byte(n)}) }

func mustQuery(t *testing.T, raw string) url.Values {
	t.Helper()
	q, err := url.ParseQuery(raw)
	if err != nil {
		t.Fatalf("query %q: %v", raw, err)
	}
	return q
}

func discount(externalID string) commerce.NewCustomDiscount {
	return commerce.NewCustomDiscount{
		Amount: commerce.NewDecimal(-1000), Description: "ten off", DiscountCode: "TEN", DiscountEngine: "engine", ExternalID: externalID,
	}
}

var bg = context.Background()
