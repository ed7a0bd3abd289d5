package timing_test

import (
	"fmt"
	"slices"
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
	threeSeconds := commerce.RetryPolicy{MaxBackoff: 3 * time.Second}
	check(t, []scenario{
		{name: "as long as MaxBackoff", retry: threeSeconds,
			service: []reply{status(429, "3"), success}, want: "sent 0s 3s, done 3s"},
		{name: "longer than MaxBackoff", retry: threeSeconds, outcome: rejected,
			service: []reply{status(429, "4")}, want: "sent 0s, failed 0s: 429, retry after 4s"},
		{name: "the second wait is longer than MaxBackoff", retry: threeSeconds, outcome: rejected,
			service: []reply{status(429, "3"), status(429, "4")}, want: "sent 0s 3s, failed 3s: 429, retry after 4s"},
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
		{name: "a pause until just before the deadline",
			retry: commerce.RetryPolicy{MaxBackoff: time.Millisecond}, ctx: deadline(time.Millisecond + 1),
			service: []reply{status(429), success}, want: "sent 0s 1ms, done 1ms"},
		{name: "until just before the deadline", ctx: deadline(5 * time.Second),
			service: []reply{status(429, "4.999999999"), success}, want: "sent 0s 4.999999999s, done 4.999999999s"},
		{name: "until the deadline", ctx: deadline(5 * time.Second), outcome: rejected,
			service: []reply{status(429, "5")}, want: "sent 0s, failed 0s: 429, retry after 5s"},
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

// TestRetry_backoff shows that a backoff is spread over the whole of [0, bound), and
// that the bound doubles with each attempt, up to MaxBackoff.
func TestRetry_backoff(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	bounds := commerce.RetryPolicy{MaxAttempts: 6, MinBackoff: 100 * ms, MaxBackoff: 300 * ms}
	for _, tt := range []struct {
		name    string
		retry   commerce.RetryPolicy
		op      operation
		replies []reply       // before the backoff
		bound   time.Duration // of the last backoff
	}{
		{name: "first by default", op: write, replies: times(1, status(425)), bound: 250 * ms},
		{name: "after a 503", op: read, replies: times(3, status(503)), bound: 1000 * ms},
		{name: "after connection errors", op: read, replies: times(3, connectionError), bound: 1000 * ms},
		{name: "after refused connections", op: write, replies: times(3, connectionRefused), bound: 1000 * ms},
		{name: "after a Retry-After of 0", op: write, replies: times(1, status(425, "0")), bound: 250 * ms},
		{name: "after a Retry-After that cannot be read", op: read, replies: times(1, status(503, "soon")), bound: 250 * ms},
		{name: "after a Retry-After", op: write, replies: []reply{status(429, "5"), status(425)}, bound: 500 * ms},
		{name: "twice MinBackoff", op: write, retry: bounds, replies: times(2, status(425)), bound: 200 * ms},
		{name: "MaxBackoff again", op: write, retry: bounds, replies: times(5, status(425)), bound: 300 * ms},
		{name: "doubled more often than a Duration can hold", op: read, replies: times(69, status(503)), bound: time.Second,
			retry: commerce.RetryPolicy{MaxAttempts: 70, MinBackoff: 1, MaxBackoff: time.Second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const calls = 100
				var sum time.Duration
				var fifths [5]int // of the bound: how many backoffs were in each
				for range calls {
					s := newService(t, append(slices.Clone(tt.replies), success)...)
					if _, err := tt.op.do(t.Context(), newClient(t, s, commerce.WithRetry(tt.retry))); err != nil {
						t.Fatal(err)
					}
					last := len(s.sent) - 1
					backoff := s.sent[last] - s.sent[last-1]
					if backoff >= tt.bound {
						t.Fatalf("backoff = %v, want less than %v", backoff, tt.bound)
					}
					sum += backoff
					fifths[backoff*5/tt.bound]++
				}
				if mean := sum / calls; slices.Min(fifths[:]) == 0 || mean < tt.bound/3 || mean > tt.bound*2/3 {
					t.Errorf("mean = %v, fifths = %v, want about %v, and some in each fifth", mean, fifths, tt.bound/2)
				}
			})
		})
	}
}
