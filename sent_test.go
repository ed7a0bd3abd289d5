package commerce_test

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/commerce-go/commerce"
)

// sent is a transport that keeps the requests as net/http would write them. It responds to each with one body.
type sent struct {
	mu     sync.Mutex
	raw    []string
	status int // 0: 200
	body   func(*http.Request) string
}

func (s *sent) RoundTrip(req *http.Request) (*http.Response, error) {
	var b bytes.Buffer
	if err := req.Clone(req.Context()).Write(&b); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.raw = append(s.raw, b.String())
	s.mu.Unlock()
	return answer(cmp.Or(s.status, 200), s.body(req))(req)
}

// refusedAs checks that err is a ValidationError that does not repeat the value, and that nothing was sent.
func refusedAs(t *testing.T, s *sent, err error, value string) {
	t.Helper()
	_, ok := errors.AsType[*commerce.ValidationError](err)
	if !ok || !errors.Is(err, commerce.ErrInvalidArgument) || commerce.OutcomeOf(err) != commerce.OutcomeNotSent {
		t.Errorf("error = %v, want a ValidationError", err)
		return
	}
	if len(s.raw) != 0 {
		t.Errorf("sent %q, want no request", s.raw)
	}
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	if len(value) > 5 && strings.Contains(err.Error(), value) || strings.ContainsFunc(err.Error(), odd) {
		t.Errorf("error = %q, want a text without the value", err)
	}
}

// tripper is a function as a transport.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
