package timing_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

const rejected = commerce.OutcomeRejected

// TestRetry shows after which responses and errors a call is sent again, how often, and when. A
// call that is sent again waits exactly as long as the service asks for. The values of the header
// are in internal/transport.
func TestRetry(t *testing.T) {
	t.Parallel()
	check(t, []scenario{
		{name: "the fourth succeeds",
			service: []reply{status(429, "1"), status(425, "2"), status(421, "4"), success}, want: "sent 0s 1s 3s 7s, done 7s"},
		{name: "a read is also sent again after a server error",
			service: []reply{status(503, "1"), status(429, "2"), status(500, "4"), success}, want: "sent 0s 1s 3s 7s, done 7s",
			wantWrite: "sent 0s, failed 0s: 503, retry after 1s"},
		{name: "the first of two headers counts",
			service: []reply{status(429, "3", "7"), success}, want: "sent 0s 3s, done 3s"},
		{name: "a 200 that is not JSON, whatever its Retry-After", outcome: commerce.OutcomeUnreadable,
			service: []reply{body(200, "<html>", "5"), success}, want: "sent 0s 0s, done 0s",
			wantWrite: "sent 0s, failed 0s: 200, bad response"},

		{name: "four attempts by default", outcome: rejected,
			service: times(4, status(429, "1")), want: "sent 0s 1s 2s 3s, failed 3s: 429, retry after 1s"},

		// A wait that is too long: the call returns at once.
		{name: "a MaxBackoff of an hour", retry: commerce.RetryPolicy{MaxBackoff: time.Hour},
			service: []reply{status(429, "3600"), success}, want: "sent 0s 1h0m0s, done 1h0m0s"},
		{name: "the longest MaxBackoff, and a deadline", outcome: rejected,
			retry: commerce.RetryPolicy{MaxBackoff: forever}, deadline: 5 * time.Second,
			service: []reply{status(429, "9223372037")}, want: "sent 0s, failed 0s: 429, retry after " + forever.String()},
		{name: "a backoff beyond the deadline", outcome: rejected,
			retry: commerce.RetryPolicy{MinBackoff: forever, MaxBackoff: forever}, deadline: 1,
			service: []reply{status(425)}, want: "sent 0s, failed 0s: 425"},
	})
}

// The default backoff is spread over the whole of [0, 250 ms). TestPolicy_backoff checks how the
// bound grows.
func TestRetry_defaultBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var longest time.Duration
		for range 100 {
			s := newService(t, status(425), success)
			if _, err := write.Do(t.Context(), newClient(t, s.send), calls.NewArgs()); err != nil {
				t.Fatal(err)
			}
			longest = max(longest, s.sent[1])
		}
		if longest < 200*time.Millisecond || longest >= 250*time.Millisecond {
			t.Errorf("the longest of 100 backoffs is %v, want 200ms to 250ms", longest)
		}
	})
}

// TestAttemptTimeout shows that each attempt has its own timeout.
func TestAttemptTimeout(t *testing.T) {
	t.Parallel()
	threeSeconds := commerce.RetryPolicy{MaxBackoff: 1, AttemptTimeout: 3 * time.Second}
	check(t, []scenario{
		{name: "30 s by default", retry: commerce.RetryPolicy{MaxBackoff: 1}, service: times(4, silence),
			want: "sent 0s 30s 1m0s 1m30s, failed 2m0s: no response", wantWrite: "sent 0s, failed 30s: no response"},
		{name: "a silence, then a response just in time", retry: threeSeconds,
			service: []reply{silence, after(3*time.Second-1, success)},
			want:    "sent 0s 3s, done 5.999999999s", wantWrite: "sent 0s, failed 3s: no response"},
		{name: "waits do not count", retry: commerce.RetryPolicy{AttemptTimeout: 3 * time.Second},
			service: []reply{after(2*time.Second, status(429, "10")), after(2*time.Second, success)},
			want:    "sent 0s 12s, done 14s"},
		{name: "the deadline is later", retry: threeSeconds, deadline: 4 * time.Second, service: times(2, silence),
			want: "sent 0s 3s, failed 4s: no response, deadline exceeded", wantWrite: "sent 0s, failed 3s: no response"},
	})
}

// TestContext_ends cancels the caller's context after 3 s. The call returns at once, and its error
// keeps what the last response said.
func TestContext_ends(t *testing.T) {
	t.Parallel()
	scenarios := []scenario{
		{name: "in the limiter's second wait", limiter: limiter{wait: 1400 * time.Millisecond}, outcome: rejected,
			service: []reply{status(429, "1")},
			want:    "sent 1.4s, failed 3s: 429, canceled while waiting for the limiter, retry after 1s"},
		{name: "in a token request", opts: credentials, service: []reply{silence},
			want: "sent 0s, failed 3s: no response, canceled while waiting for a token, token, attempts 0"},
		// A token request is made for all callers: it waits beyond the deadline of one of them.
		{name: "in a wait of a token request", opts: credentials, service: []reply{status(429, "10")},
			want: "sent 0s, failed 3s: no response, canceled while waiting for a token, token, attempts 0"},
		{name: "in the wait for a token source", opts: source(5 * time.Second),
			want: "failed 3s: no response, canceled while waiting for a token, token"},
		{name: "after the call", service: []reply{after(2*time.Second, success)}, want: "sent 0s, done 2s"},
	}
	for i := range scenarios {
		scenarios[i].cancel = 3 * time.Second
	}
	check(t, scenarios)
}

var credentials = []commerce.Option{commerce.WithClientCredentials("id", "secret")}

// source is a token source that takes d for each token.
func source(d time.Duration) []commerce.Option {
	return []commerce.Option{commerce.WithTokenSource(slowSource(d))}
}

// TestLimiter shows that a limiter is asked before each request.
func TestLimiter(t *testing.T) {
	t.Parallel()
	oneSecond := limiter{wait: time.Second}
	check(t, []scenario{
		{name: "its wait is no part of the attempt", limiter: limiter{wait: time.Minute},
			retry: commerce.RetryPolicy{AttemptTimeout: time.Second}, service: []reply{success}, want: "sent 1m0s, done 1m0s"},
		{name: "its error ends the call", limiter: limiter{wait: time.Second, allows: 2, err: errBudget}, outcome: rejected,
			service: []reply{status(429, "2"), status(425, "4")},
			want:    "sent 1s 4s, failed 8s: 425, no budget left, retry after 4s"},
		{name: "a context's error that is not the caller's", outcome: rejected,
			limiter: limiter{wait: time.Second, allows: 1, err: context.DeadlineExceeded},
			service: []reply{status(429, "2")}, want: "sent 1s, failed 3s: 429, retry after 2s"},
		{name: "token requests", limiter: oneSecond, opts: credentials,
			service: []reply{status(429, "2"), token("first"), status(429, "4"), success},
			want:    "sent 2s 5s 5s 10s, done 10s, attempts 2"},
	})
}

// TestToken shows how the requests for a token follow the same rules, and what a 401 leads to.
func TestToken(t *testing.T) {
	t.Parallel()
	check(t, []scenario{
		{name: "the endpoint recovers", opts: credentials,
			service: []reply{status(503, "1"), status(429, "2"), status(408, "4"), token("first"), success},
			want:    "sent 0s 1s 3s 7s 7s, done 7s, attempts 1"},
		{name: "the retry after a 401 counts", opts: credentials, outcome: rejected,
			retry:   commerce.RetryPolicy{MaxAttempts: 2},
			service: []reply{token("first"), status(401, "9"), token("second"), status(429, "1")},
			want:    "sent 0s 0s 0s 0s, failed 0s: 429, retry after 1s, attempts 2"},
		{name: "a 401, then the endpoint asks to wait", opts: credentials,
			service: []reply{token("first"), status(401), status(429, "2"), token("second"), success},
			want:    "sent 0s 0s 0s 2s 2s, done 2s, attempts 2"},
		{name: "a slow source is no part of the attempt, and is asked for each", opts: source(40 * time.Second),
			service: []reply{status(429, "2"), success}, want: "sent 40s 1m22s, done 1m22s"},
	})
}
