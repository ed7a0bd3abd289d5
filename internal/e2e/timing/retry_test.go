package timing_test

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce"
)

// TestRetry_statuses shows which statuses a Retry-After belongs to. A call that is sent again waits
// exactly as long as the service asks for. The values of the header are in internal/transport.
func TestRetry_statuses(t *testing.T) {
	t.Parallel()
	const failed = "sent 0s, failed 0s: %d, retry after 5s"
	for code, tt := range map[int]struct {
		readAgain, writeAgain bool
		outcome               commerce.Outcome // of a write that fails
	}{
		400: {outcome: commerce.OutcomeRejected},
		408: {readAgain: true, outcome: commerce.OutcomeUnknown},
		421: {readAgain: true, writeAgain: true},
		429: {readAgain: true, writeAgain: true},
		501: {outcome: commerce.OutcomeUnknown},
		503: {readAgain: true, outcome: commerce.OutcomeUnknown},
	} {
		sc := scenario{
			name: strconv.Itoa(code), service: []reply{status(code, "5"), success}, outcome: tt.outcome,
			want: "sent 0s 5s, done 5s",
		}
		if !tt.readAgain {
			sc.want = fmt.Sprintf(failed, code)
		}
		if !tt.writeAgain {
			sc.wantWrite = fmt.Sprintf(failed, code)
		}
		check(t, []scenario{sc})
	}
}

// TestRetry_longestWait shows which waits are too long: then the call returns at once,
// instead of after a wait that comes to nothing.
func TestRetry_longestWait(t *testing.T) {
	t.Parallel()
	const rejected = commerce.OutcomeRejected
	check(t, []scenario{
		{name: "a MaxBackoff of an hour", retry: commerce.RetryPolicy{MaxBackoff: time.Hour},
			service: []reply{status(429, "3600"), success}, want: "sent 0s 1h0m0s, done 1h0m0s"},
		{name: "the longest MaxBackoff, and a deadline", outcome: rejected,
			retry: commerce.RetryPolicy{MaxBackoff: forever}, ctx: deadline(5 * time.Second),
			service: []reply{status(429, "9223372037")}, want: "sent 0s, failed 0s: 429, retry after " + forever.String()},
		{name: "a backoff beyond the deadline", outcome: rejected,
			retry: commerce.RetryPolicy{MinBackoff: forever, MaxBackoff: forever}, ctx: deadline(1),
			service: []reply{status(425)}, want: "sent 0s, failed 0s: 425"},
		{name: "a pause of the operation beyond the deadline", outcome: rejected,
			retry: commerce.RetryPolicy{MaxBackoff: time.Millisecond}, ctx: deadline(time.Millisecond),
			service: []reply{status(429)}, want: "sent 0s, failed 0s: 429, retry after 1ms"},
		{name: "until the deadline, by a date", ctx: deadline(5 * time.Second), outcome: rejected,
			service: []reply{status(429, "Sat, 01 Jan 2000 00:00:05 GMT")}, want: "sent 0s, failed 0s: 429, retry after 5s"},
		{name: "two waits until the deadline", ctx: deadline(5 * time.Second), outcome: rejected,
			service: []reply{status(429, "3"), status(429, "2")}, want: "sent 0s 3s, failed 3s: 429, retry after 2s"},
		{name: "a slow response and a wait until the deadline", ctx: deadline(5 * time.Second), outcome: rejected,
			service: []reply{after(3*time.Second, status(429, "2"))}, want: "sent 0s, failed 3s: 429, retry after 2s"},
		{name: "the first of two headers counts",
			service: []reply{status(429, "3", "7"), success}, want: "sent 0s 3s, done 3s"},
		{name: "the first of two headers cannot be read",
			service: []reply{status(425, "soon", "7"), success}, want: "sent 0s 0s, done 0s"},
	})
}

// TestRetry_attempts shows how often a call is sent, and after which errors.
func TestRetry_attempts(t *testing.T) {
	t.Parallel()
	const rejected = commerce.OutcomeRejected
	noBackoff := commerce.RetryPolicy{MaxBackoff: 1}
	check(t, []scenario{
		{name: "one", retry: commerce.RetryPolicy{MaxAttempts: 1}, outcome: rejected,
			service: []reply{status(429, "1")}, want: "sent 0s, failed 0s: 429, retry after 1s"},
		{name: "four by default", outcome: rejected,
			service: times(4, status(429, "1")), want: "sent 0s 1s 2s 3s, failed 3s: 429, retry after 1s"},
		{name: "one without a Retry-After", retry: commerce.RetryPolicy{MaxAttempts: 1}, outcome: rejected,
			service: []reply{status(429)}, want: "sent 0s, failed 0s: 429"},
		{name: "the fourth succeeds",
			service: []reply{status(429, "1"), status(425, "2"), status(421, "4"), success}, want: "sent 0s 1s 3s 7s, done 7s"},
		{name: "a read is also sent again after a server error",
			service: []reply{status(503, "1"), status(429, "2"), status(500, "4"), success}, want: "sent 0s 1s 3s 7s, done 7s",
			wantWrite: "sent 0s, failed 0s: 503, retry after 1s"},
		{name: "the second response is final", outcome: rejected, service: []reply{status(429, "1"), status(400, "9")},
			want: "sent 0s 1s, failed 1s: 400, retry after 9s"},
		{name: "a connection error", retry: noBackoff, service: []reply{connectionError, success},
			want: "sent 0s 0s, done 0s", wantWrite: "sent 0s, failed 0s: no response"},
		{name: "refused connections", retry: noBackoff,
			service: []reply{connectionRefused, connectionRefused, success}, want: "sent 0s 0s 0s, done 0s"},
		{name: "four refused connections", retry: noBackoff, outcome: commerce.OutcomeNotSent,
			service: times(4, connectionRefused), want: "sent 0s 0s 0s 0s, failed 0s: no response"},
		{name: "a refused connection after a 429", retry: commerce.RetryPolicy{MaxAttempts: 2}, outcome: rejected,
			service: []reply{status(429, "5"), connectionRefused}, want: "sent 0s 5s, failed 5s: 429"},
		{name: "a connection error after a 429", retry: commerce.RetryPolicy{MaxAttempts: 2},
			service: []reply{status(429, "5"), connectionError}, want: "sent 0s 5s, failed 5s: no response"},
		{name: "a 200 that is not JSON, whatever its Retry-After", outcome: commerce.OutcomeUnreadable,
			service: []reply{body(200, "<html>", "5"), success}, want: "sent 0s 0s, done 0s",
			wantWrite: "sent 0s, failed 0s: 200, bad response"},
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
			if _, err := write.do(t.Context(), newClient(t, s)); err != nil {
				t.Fatal(err)
			}
			longest = max(longest, s.sent[1])
		}
		if longest < 200*time.Millisecond || longest >= 250*time.Millisecond {
			t.Errorf("the longest of 100 backoffs is %v, want 200ms to 250ms", longest)
		}
	})
}
