package timing_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
)

// TestAttemptTimeout shows that each attempt has its own timeout, the body included.
func TestAttemptTimeout(t *testing.T) {
	t.Parallel()
	const unreadable = commerce.OutcomeUnreadable
	threeSeconds := commerce.RetryPolicy{MaxBackoff: 1, AttemptTimeout: 3 * time.Second}
	check(t, []scenario{
		{name: "30 s by default", retry: commerce.RetryPolicy{MaxBackoff: 1}, service: times(4, silence),
			want: "sent 0s 30s 1m0s 1m30s, failed 2m0s: no response", wantWrite: "sent 0s, failed 30s: no response"},
		{name: "a response just in time", retry: threeSeconds, service: []reply{after(3*time.Second-1, success)},
			want: "sent 0s, done 2.999999999s"},
		{name: "a silence, then a response just in time", retry: threeSeconds,
			service: []reply{silence, after(3*time.Second-1, success)},
			want:    "sent 0s 3s, done 5.999999999s", wantWrite: "sent 0s, failed 3s: no response"},
		{name: "waits do not count", retry: commerce.RetryPolicy{AttemptTimeout: 3 * time.Second},
			service: []reply{after(2*time.Second, status(429, "10")), after(2*time.Second, success)},
			want:    "sent 0s 12s, done 14s"},
		{name: "in the body", retry: threeSeconds, service: times(4, stalledBody(200)), outcome: unreadable,
			want: "sent 0s 3s 6s 9s, failed 12s: 200, bad response", wantWrite: "sent 0s, failed 3s: 200, bad response"},
		{name: "in the body of an error", retry: threeSeconds, service: []reply{stalledBody(400)},
			want: "sent 0s, failed 3s: 400"},
		{name: "http.Client.Timeout is shorter", retry: threeSeconds, httpTimeout: 2 * time.Second,
			service: times(4, silence), want: "sent 0s 2s 4s 6s, failed 8s: no response",
			wantWrite: "sent 0s, failed 2s: no response"},
		{name: "http.Client.Timeout is longer", retry: threeSeconds, httpTimeout: 4 * time.Second,
			service: times(4, silence), want: "sent 0s 3s 6s 9s, failed 12s: no response",
			wantWrite: "sent 0s, failed 3s: no response"},
		{name: "the deadline is later", retry: threeSeconds, ctx: deadline(4 * time.Second), service: times(2, silence),
			want: "sent 0s 3s, failed 4s: no response, deadline exceeded", wantWrite: "sent 0s, failed 3s: no response"},
	})
}

// TestContext_ends ends the caller's context after 3 s, at each point of a call. The
// call returns at once, and its error keeps what the last response said.
func TestContext_ends(t *testing.T) {
	t.Parallel()
	const rejected, notSent, unreadable = commerce.OutcomeRejected, commerce.OutcomeNotSent, commerce.OutcomeUnreadable
	ends := map[string]endsContext{ // by what the error matches
		"canceled":          canceled(3 * time.Second),
		"deadline exceeded": hiddenDeadline(3 * time.Second),
	}
	// ENDS stands for what the error matches.
	during := []scenario{
		{name: "an attempt", service: []reply{silence}, want: "sent 0s, failed 3s: no response, ENDS"},
		{name: "the second attempt", service: []reply{status(429, "1"), silence},
			want: "sent 0s 1s, failed 3s: no response, ENDS"},
		{name: "a body", service: []reply{stalledBody(200)}, outcome: unreadable,
			want: "sent 0s, failed 3s: 200, ENDS", wantWrite: "sent 0s, failed 3s: 200, bad response, ENDS"},
		{name: "the body of an error", service: []reply{stalledBody(429)}, want: "sent 0s, failed 3s: 429, ENDS"},
		{name: "the limiter's wait", limiter: limiter{wait: 5 * time.Second}, outcome: notSent,
			want: "failed 3s: no response, ENDS while waiting for the limiter"},
		{name: "the limiter's second wait", limiter: limiter{wait: 1400 * time.Millisecond}, outcome: rejected,
			service: []reply{status(429, "1")},
			want:    "sent 1.4s, failed 3s: 429, ENDS while waiting for the limiter, retry after 1s"},
		{name: "a token request", opts: credentials, service: []reply{silence},
			want: "sent 0s, failed 3s: no response, ENDS while waiting for a token, token, attempts 0"},
		// A token request is made for all callers: it waits beyond the deadline of one of them.
		{name: "a wait of a token request", opts: credentials, service: []reply{status(429, "10")},
			want: "sent 0s, failed 3s: no response, ENDS while waiting for a token, token, attempts 0"},
		{name: "the wait for a token source", opts: source(5 * time.Second),
			want: "failed 3s: no response, ENDS while waiting for a token, token"},
	}
	waits := []scenario{ // which are not begun if the context has a deadline
		{name: "a wait", service: []reply{status(429, "10")}, outcome: rejected,
			want: "sent 0s, failed 3s: 429, ENDS while waiting for the next attempt, retry after 10s"},
		{name: "the last nanosecond of a wait", service: []reply{status(425, "3.000000001")}, outcome: rejected,
			want: "sent 0s, failed 3s: 425, ENDS while waiting for the next attempt, retry after 3.000000001s"},
		{name: "the third wait", service: []reply{status(429, "1"), status(421, "1"), status(429, "10")}, outcome: rejected,
			want: "sent 0s 1s 2s, failed 3s: 429, ENDS while waiting for the next attempt, retry after 10s"},
		{name: "a backoff after a refused connection", service: []reply{connectionRefused}, outcome: notSent,
			retry: commerce.RetryPolicy{MinBackoff: forever, MaxBackoff: forever},
			want:  "sent 0s, failed 3s: no response, ENDS while waiting for the next attempt"},
	}
	for word, end := range ends {
		check(t, endedBy(end, word, append(waits, during...)))
	}
	check(t, endedBy(deadline(3*time.Second), "deadline exceeded", during))

	check(t, []scenario{
		{name: "canceled before the call", ctx: canceled(0), outcome: notSent, want: "failed 0s: no response, canceled"},
		{name: "deadline before the call", ctx: deadline(0), outcome: notSent,
			want: "failed 0s: no response, deadline exceeded"},
		{name: "canceled after the call", ctx: canceled(3 * time.Second),
			service: []reply{after(2*time.Second, success)}, want: "sent 0s, done 2s"},
	})
}

func endedBy(end endsContext, word string, scenarios []scenario) []scenario {
	ended := make([]scenario, len(scenarios))
	for i, sc := range scenarios {
		sc.name, sc.ctx = word+" during "+sc.name, end
		sc.want, sc.wantWrite = strings.ReplaceAll(sc.want, "ENDS", word), strings.ReplaceAll(sc.wantWrite, "ENDS", word)
		ended[i] = sc
	}
	return ended
}

var credentials = []commerce.Option{commerce.WithClientCredentials("id", "secret")}

// source is a token source that takes d for each token.
func source(d time.Duration) []commerce.Option {
	return []commerce.Option{commerce.WithTokenSource(slowSource(d))}
}

// TestLimiter shows that a limiter is asked before each request.
func TestLimiter(t *testing.T) {
	t.Parallel()
	const rejected, notSent = commerce.OutcomeRejected, commerce.OutcomeNotSent
	oneSecond := limiter{wait: time.Second}
	check(t, []scenario{
		{name: "each attempt", limiter: oneSecond, service: []reply{status(429, "2"), status(429, "4"), success},
			want: "sent 1s 4s 9s, done 9s"},
		{name: "its wait is no part of the attempt", limiter: limiter{wait: time.Minute},
			retry: commerce.RetryPolicy{AttemptTimeout: time.Second}, service: []reply{success}, want: "sent 1m0s, done 1m0s"},
		{name: "its error ends the call", limiter: limiter{wait: time.Second, allows: 2, err: errBudget}, outcome: rejected,
			service: []reply{status(429, "2"), status(425, "4")},
			want:    "sent 1s 4s, failed 8s: 425, no budget left, retry after 4s"},
		{name: "its error comes first", limiter: limiter{err: errBudget}, outcome: notSent,
			want: "failed 0s: no response, no budget left"},
		{name: "a context's error that is not the caller's", outcome: rejected,
			limiter: limiter{wait: time.Second, allows: 1, err: context.DeadlineExceeded},
			service: []reply{status(429, "2")}, want: "sent 1s, failed 3s: 429, retry after 2s"},
		{name: "token requests", limiter: oneSecond, opts: credentials,
			service: []reply{status(429, "2"), token("first"), status(429, "4"), success},
			want:    "sent 2s 5s 5s 10s, done 10s, attempts 2"},
	})
}

// TestToken shows how the requests for a token follow the same rules, and what a
// 401 leads to.
func TestToken(t *testing.T) {
	t.Parallel()
	const rejected = commerce.OutcomeRejected
	check(t, []scenario{
		{name: "the endpoint asks to wait", opts: credentials, service: []reply{status(429, "2"), token("first"), success},
			want: "sent 0s 2s 2s, done 2s, attempts 1"},
		{name: "the endpoint recovers", opts: credentials,
			service: []reply{status(503, "1"), status(500, "2"), status(408, "4"), token("first"), success},
			want:    "sent 0s 1s 3s 7s 7s, done 7s, attempts 1"},
		{name: "the endpoint asks for more than MaxBackoff", opts: credentials, service: []reply{status(429, "21")},
			want: "sent 0s, failed 0s: 429, retry after 21s, token"},
		{name: "the endpoint does not recover", opts: credentials, service: times(4, status(503, "1")),
			want: "sent 0s 1s 2s 3s, failed 3s: 503, retry after 1s, token"},
		{name: "the endpoint is silent", opts: credentials, service: times(2, silence),
			retry: commerce.RetryPolicy{MaxAttempts: 2, MaxBackoff: 1, AttemptTimeout: 3 * time.Second},
			want:  "sent 0s 3s, failed 6s: no response, token"},
		{name: "a 401 with a static token", service: []reply{status(401)}, outcome: rejected,
			want: "sent 0s, failed 0s: 401"},
		{name: "a 401, then another token at once", opts: credentials, retry: commerce.RetryPolicy{MaxAttempts: 1},
			service: []reply{token("first"), status(401, "9"), token("second"), success},
			want:    "sent 0s 0s 0s 0s, done 0s, attempts 2"},
		{name: "a 401, then the same token", opts: credentials, service: []reply{token("first"), status(401), token("first")},
			outcome: rejected, want: "sent 0s 0s 0s, failed 0s: 401, attempts 1"},
		{name: "a second 401", opts: credentials, outcome: rejected,
			service: []reply{token("first"), status(401), token("second"), status(401)},
			want:    "sent 0s 0s 0s 0s, failed 0s: 401, attempts 2"},
		{name: "the retry after a 401 counts", opts: credentials, outcome: rejected,
			retry:   commerce.RetryPolicy{MaxAttempts: 2},
			service: []reply{token("first"), status(401), token("second"), status(429, "1")},
			want:    "sent 0s 0s 0s 0s, failed 0s: 429, retry after 1s, attempts 2"},
		{name: "a 401, then the endpoint asks to wait", opts: credentials,
			service: []reply{token("first"), status(401), status(429, "2"), token("second"), success},
			want:    "sent 0s 0s 0s 2s 2s, done 2s, attempts 2"},
		{name: "a 401 after a wait, then another token at once", opts: credentials,
			service: []reply{token("first"), status(425, "2"), status(401), token("second"), success},
			want:    "sent 0s 0s 2s 2s 2s, done 2s, attempts 3"},
		{name: "a slow source is no part of the attempt", opts: source(40 * time.Second), service: []reply{success},
			want: "sent 40s, done 40s"},
		{name: "a source is asked for each attempt", opts: source(time.Second), service: []reply{status(429, "2"), success},
			want: "sent 1s 4s, done 4s"},
	})
}
