package commerce

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// What an operation leaves out has the careful value: a write is sent once, and its response must
// be a confirmation. A read needs no confirmation.
func TestOperation_leftOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		operation[none]
		status   int
		body     string
		requests int
		outcome  Outcome
	}{
		{name: "write", operation: operation[none]{method: http.MethodPost}, status: 503, requests: 1,
			outcome: OutcomeUnknown},
		{name: "write that is harmless twice", operation: operation[none]{method: http.MethodPut, harmlessTwice: true},
			status: 503, requests: 2, outcome: OutcomeUnknown},
		{name: "read", operation: operation[none]{method: http.MethodGet}, status: 503, requests: 2, outcome: OutcomeNone},
		{name: "write, not confirmed", operation: operation[none]{method: http.MethodPost}, status: 200,
			body: "<html>", requests: 1, outcome: OutcomeUnreadable},
		{name: "write, with errors", operation: operation[none]{method: http.MethodPost}, status: 200,
			body: `{"errors":[{"title":"a"}]}`, requests: 1, outcome: OutcomeUnreadable},
		{name: "write, confirmed", operation: operation[none]{method: http.MethodPost}, status: 200, body: `{"data":{}}`,
			requests: 1, outcome: OutcomeApplied},
	} {
		requests := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests++
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.body))
		}))
		c, err := New(s.URL, WithToken("token"), WithRetry(RetryPolicy{MaxAttempts: 2, MaxBackoff: 1}))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = tt.do(t.Context(), c.core)
		s.Close()
		if requests != tt.requests || OutcomeOf(err) != tt.outcome {
			t.Errorf("%s: %d requests, outcome %v, error %v, want %d, %v", tt.name, requests, OutcomeOf(err), err,
				tt.requests, tt.outcome)
		}
	}
}
