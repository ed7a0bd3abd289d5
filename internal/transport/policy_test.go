package transport

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptrace"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// policyTest counts what happens if every attempt gets the same status. Status 0 is an error.
type policyTest struct {
	status  int
	class   Class
	applied bool // what Applied returns
}

func (tt policyTest) run(t *testing.T, wantRequests, wantAsked int) {
	t.Helper()
	accepted, asked := 0, 0
	call := newCall(t, tt.class, storeURL)
	call.Auth = &auth{"t0", "t1"}
	call.Accept = func([]byte) error { accepted++; return nil }
	call.Applied = func(r *Result) bool {
		asked++
		return tt.applied && r.StatusCode == tt.status && string(r.Body) == "body"
	}
	s := &script{statuses: []int{tt.status}, body: "body"}
	r := s.do(t.Context(), call)
	if n := len(s.at); n != wantRequests || r.Attempts != n || asked != wantAsked {
		t.Errorf("%+v: %d requests, %d attempts, Applied called %d times, want %d, %d, %d",
			tt, n, r.Attempts, asked, wantRequests, wantRequests, wantAsked)
	}
	success := tt.status >= 200 && tt.status <= 299
	if r.StatusCode != tt.status || r.MaybeSent != (tt.status == 0) || r.OK() != success || (accepted == 1) != success ||
		(r.Err == errSwitched) != (tt.status == http.StatusSwitchingProtocols) {
		t.Errorf("%+v: %+v, %d bodies accepted, want success %v", tt, r, accepted, success)
	}
}

// Applied is called only for Once calls that would be sent again, and prevents that.
func TestPolicy_statuses(t *testing.T) {
	t.Parallel()
	retried := map[Class][]int{
		Replayable: {0, 408, 421, 425, 429, 500, 502, 503, 504},
		Once:       {421, 425, 429},
	}
	for _, status := range []int{0, 100, 101, 102, 199, 200, 201, 204, 299, 300, 301, 302, 303, 304, 307, 308, 399,
		400, 401, 403, 404, 405, 407, 408, 409, 410, 413, 418, 420, 421, 422, 424, 425, 426, 428, 429, 430, 451, 499,
		500, 501, 502, 503, 504, 505, 507, 511, 599, 600, 999} {
		for _, class := range []Class{Replayable, Once} {
			retries := 0
			if slices.Contains(retried[class], status) {
				retries = testPolicy.MaxAttempts - 1
			} else if status == 401 {
				retries = 1 // with a new token
			}
			asked := 0
			if class == Once {
				asked = retries
			}
			policyTest{status: status, class: class}.run(t, 1+retries, asked)
			if class == Once {
				retries, asked = 0, min(asked, 1)
			}
			policyTest{status: status, class: class, applied: true}.run(t, 1+retries, asked)
		}
	}
}

// An attempt that the service may have applied is remembered, whatever comes after it.
func TestPolicy_maybeAppliedBefore(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		statuses []int
		want     bool
	}{
		{name: "one attempt", statuses: []int{404}},
		{name: "a 503 at last", statuses: []int{429, 429, 503}},
		{name: "no response at last", statuses: []int{425, notSent, 0}},
		{name: "429", statuses: []int{429, 404}},
		{name: "425, 421", statuses: []int{425, 421, 404}},
		{name: "401", statuses: []int{401, 404}},
		{name: "not sent", statuses: []int{notSent, 404}},
		{name: "408", statuses: []int{408, 404}, want: true},
		{name: "500", statuses: []int{500, 200}, want: true},
		{name: "503, then 429", statuses: []int{503, 429, 404}, want: true},
		{name: "no response", statuses: []int{0, 404}, want: true},
		{name: "no response, then not sent", statuses: []int{0, notSent, notSent}, want: true},
		{name: "2xx that is not accepted", statuses: []int{200, 404}, want: true},
	} {
		call := newCall(t, Replayable, storeURL)
		call.Auth = &auth{"t0", "t1"}
		if tt.statuses[0] == 200 {
			call.Accept = func([]byte) error { return errors.New("not accepted") }
		}
		r := (&script{statuses: tt.statuses}).do(t.Context(), call)
		if r.MaybeAppliedBefore != tt.want || r.Attempts != len(tt.statuses) {
			t.Errorf("%s: %+v, want MaybeAppliedBefore %v after %d attempts", tt.name, r, tt.want, len(tt.statuses))
		}
	}
}

// A refusal says nothing about a second copy of the request.
func TestPolicy_sentTwice(t *testing.T) {
	t.Parallel()
	for class, want := range map[Class]int{Replayable: testPolicy.MaxAttempts, Once: 1} {
		call := newCall(t, class, storeURL)
		call.Method = http.MethodDelete
		r := stub(func(req *http.Request) (*http.Response, error) {
			for range 2 {
				httptrace.ContextClientTrace(req.Context()).WroteHeaderField("Host", []string{req.URL.Host})
			}
			return &http.Response{StatusCode: 429}, nil
		}).do(t.Context(), call)
		if r.Attempts != want || !r.SentTwice {
			t.Errorf("class %d: %+v, want %d attempts and SentTwice", class, r, want)
		}
	}
}

// A 429 without a Retry-After does not count against MaxAttempts, up to MaxRefusals, 12.
func TestPolicy_refusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		class      Class
		attempts   int // MaxAttempts
		statuses   []int
		retryAfter string
		noGate     bool
		applied    bool
		want       int // attempts
	}{
		{name: "only refusals", class: Replayable, attempts: 4, statuses: []int{429}, want: 12},
		{name: "a write", class: Once, attempts: 4, statuses: []int{429}, want: 12},
		{name: "a write that may be applied", class: Once, attempts: 4, statuses: []int{429}, applied: true, want: 1},
		{name: "other failures count", class: Replayable, attempts: 3, statuses: []int{429, 503, 429, 0, 429,
			503}, want: 6},
		{name: "the twelfth is another failure", class: Replayable, attempts: 3, want: 12,
			statuses: []int{429, 429, 429, 429, 429, 429, 429, 429, 429, 429, 429, 503}},
		{name: "then a success", class: Replayable, attempts: 2, statuses: []int{429, 429, 429, 429, 200}, want: 5},
		{name: "with a Retry-After", class: Replayable, attempts: 3, statuses: []int{429}, retryAfter: "0.001",
			want: 3},
		{name: "with a Retry-After of 0", class: Replayable, attempts: 3, statuses: []int{429}, retryAfter: "0",
			want: 12},
		{name: "without a gate", class: Replayable, attempts: 3, statuses: []int{429}, noGate: true, want: 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			call := newCall(t, tt.class, storeURL)
			call.Policy.MaxAttempts, call.Policy.MinBackoff, call.Policy.MaxBackoff = tt.attempts, time.Hour, time.Hour
			call.Policy.MaxRefusals = 12
			call.Applied = func(*Result) bool { return tt.applied }
			if !tt.noGate {
				call.Gate = NewGate()
			}
			s := &script{statuses: tt.statuses, retryAfter: tt.retryAfter}
			r := s.do(t.Context(), call)
			last := tt.statuses[len(tt.statuses)-1]
			if len(s.at) != tt.want || r.Attempts != tt.want || r.StatusCode != last {
				t.Errorf("%s: %d requests, %+v, want %d and status %d", tt.name, len(s.at), r, tt.want, last)
			}
			for i := 1; i < len(s.at); i++ {
				longest := call.Policy.MaxBackoff
				if !tt.noGate && tt.statuses[min(i, len(tt.statuses))-1] == http.StatusTooManyRequests {
					longest = maxPause // the pace of the operation, without a backoff
				}
				if pause := s.at[i] - s.at[i-1]; pause > longest {
					t.Errorf("%s: attempt %d after %v, want at most %v", tt.name, i+1, pause, longest)
				}
			}
		})
	}
}

// The pause of the gate takes the place of a backoff after a 429, and not after an attempt without
// a response that follows it.
func TestPolicy_notSentAfterRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		call := newCall(t, Once, storeURL)
		call.Gate, call.Policy.MinBackoff, call.Policy.MaxBackoff = NewGate(), 100*365*24*time.Hour, math.MaxInt64
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s := &script{statuses: []int{429, notSent, 200}}
		if r := s.do(ctx, call); r.OK() || len(s.at) != 2 {
			t.Errorf("%d requests, %+v, want 2 requests, as the backoff would end after the deadline", len(s.at), r)
		}
	})
}

func seconds(n ...time.Duration) []time.Duration {
	for i := range n {
		n[i] *= time.Second
	}
	return n
}

func TestPolicy_waits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		class      Class
		statuses   []int
		retryAfter string
		deadline   time.Duration // 0: none
		cancel     time.Duration // when the context is canceled; 0: never
		attempts   int           // MaxAttempts; 0: 3
		wantAt     []time.Duration
		wantAsked  time.Duration // RetryAfter of the result
		wantStatus int
		wantErr    error
	}{
		{name: "as long as MaxBackoff", class: Once, statuses: []int{429}, retryAfter: "5",
			wantAt: seconds(0, 5, 10), wantAsked: 5 * time.Second, wantStatus: 429},
		{name: "longer than MaxBackoff", class: Once, statuses: []int{429}, retryAfter: "6",
			wantAt: seconds(0), wantAsked: 6 * time.Second, wantStatus: 429},
		{name: "until the deadline", class: Once, statuses: []int{429}, retryAfter: "5", deadline: 5 * time.Second,
			wantAt: seconds(0), wantAsked: 5 * time.Second, wantStatus: 429},
		{name: "until just before the deadline", class: Once, statuses: []int{429}, retryAfter: "5",
			deadline: 5*time.Second + 1, wantAt: seconds(0, 5), wantAsked: 5 * time.Second, wantStatus: 429},
		{name: "no Retry-After", class: Once, statuses: []int{429}, wantAt: seconds(0, 0, 0), wantStatus: 429},
		{name: "canceled during a wait", class: Once, statuses: []int{429}, retryAfter: "5", cancel: 2 * time.Second,
			wantAt: seconds(0), wantAsked: 5 * time.Second, wantStatus: 429, wantErr: context.Canceled},
		{name: "Retry-After of an earlier response", class: Replayable, statuses: []int{429, 0, 404}, retryAfter: "5",
			wantAt: seconds(0, 5, 5), wantAsked: 5 * time.Second, wantStatus: 404},
		{name: "Retry-After before an attempt that was not sent", class: Once, statuses: []int{429, notSent, 404},
			retryAfter: "5", wantAt: seconds(0, 5, 5), wantAsked: 5 * time.Second, wantStatus: 404},
		{name: "a response, then attempts that were not sent", class: Once, statuses: []int{429, notSent},
			retryAfter: "5",
			wantAt:     seconds(0, 5, 5), wantStatus: 429, wantErr: ErrConnection},
		{name: "refresh after a wait", class: Once, statuses: []int{429, 401, 200}, retryAfter: "5",
			wantAt: seconds(0, 5, 5), wantStatus: 200},
		{name: "refresh in spite of MaxAttempts and Retry-After", class: Once, attempts: 1, statuses: []int{401, 200},
			retryAfter: "5", wantAt: seconds(0, 0), wantStatus: 200},
	} {
		synctest.Test(t, func(t *testing.T) {
			call := newCall(t, tt.class, storeURL)
			call.Auth = &auth{"t0", "t1"}
			call.Policy = Policy{MaxAttempts: 3, MaxBackoff: 5 * time.Second, AttemptTimeout: time.Minute}
			if tt.attempts > 0 {
				call.Policy.MaxAttempts = tt.attempts
			}
			ctx, cancel := context.WithCancel(t.Context())
			if tt.deadline > 0 {
				ctx, cancel = context.WithTimeout(ctx, tt.deadline)
			}
			if tt.cancel > 0 {
				time.AfterFunc(tt.cancel, cancel)
			}
			defer cancel()
			s := &script{statuses: tt.statuses, retryAfter: tt.retryAfter}
			r := s.do(ctx, call)
			if took := time.Since(s.start); tt.cancel > 0 && took != tt.cancel {
				t.Errorf("%s: returned after %v, want %v", tt.name, took, tt.cancel)
			}
			if !slices.Equal(s.at, tt.wantAt) || r.RetryAfter != tt.wantAsked || r.StatusCode != tt.wantStatus ||
				!errors.Is(r.Err, tt.wantErr) {
				t.Errorf("%s: attempts at %v, %+v, want attempts at %v, RetryAfter %v, status %d, error %v",
					tt.name, s.at, r, tt.wantAt, tt.wantAsked, tt.wantStatus, tt.wantErr)
			}
		})
	}
}

// Backoffs are spread over [0, bound), and the bound doubles up to MaxBackoff.
func TestPolicy_backoff(t *testing.T) {
	t.Parallel()
	bounds := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 6 * time.Second, 6 * time.Second}
	policy := Policy{
		MaxAttempts: 6, MinBackoff: time.Second, MaxBackoff: 6 * time.Second, AttemptTimeout: time.Minute,
	}
	synctest.Test(t, func(t *testing.T) {
		call := newCall(t, Replayable, storeURL)
		call.Policy = policy
		waits := make([][]time.Duration, len(bounds))
		for range 200 {
			s := &script{statuses: []int{503}}
			s.do(t.Context(), call)
			for i := range bounds {
				waits[i] = append(waits[i], s.at[i+1]-s.at[i])
			}
		}
		for i, bound := range bounds {
			shortest, longest := slices.Min(waits[i]), slices.Max(waits[i])
			if shortest > bound/10 || longest < bound*9/10 || longest >= bound {
				t.Errorf("wait %d: from %v to %v, want from 0 to just under %v", i+1, shortest, longest, bound)
			}
		}
	})
	c := &call{Call: &Call{Policy: policy}}
	if d := c.backoff(1000); d < 0 || d >= policy.MaxBackoff {
		t.Errorf("backoff(1000) = %v, want less than %v", d, policy.MaxBackoff)
	}
	if d := (&call{Call: &Call{}}).backoff(1); d != 0 {
		t.Errorf("backoff(1) = %v with a zero Policy, want 0", d)
	}
}
