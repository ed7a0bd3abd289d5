package commerce_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"
	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce"
)

// refuseFirst answers the first request with a 429 and Retry-After: 2, where it
// has one, and those after it as each operation wants. It notes when each came.
type refuseFirst struct {
	retryAfter []string
	start      time.Time

	mu   sync.Mutex
	came []time.Duration
}

func (r *refuseFirst) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.came = append(r.came, time.Since(r.start))
	first := len(r.came) == 1
	r.mu.Unlock()
	if first {
		return says(http.StatusTooManyRequests, r.retryAfter...)(req)
	}
	return httpmock.Responder(fine)(req)
}

func (r *refuseFirst) client(t *testing.T, opts ...commerce.Option) *commerce.Client {
	t.Helper()
	r.start = time.Now()
	c, err := commerce.New(base, append([]commerce.Option{commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: r})}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func add(ctx context.Context, c *commerce.Client) error {
	_, err := c.Carts.AddCustomDiscounts(ctx, "cart-1", []commerce.NewCustomDiscount{discount("a")}, nil)
	return err
}

// TestGate_isShared makes one call meet a 429, and others after it.
func TestGate_isShared(t *testing.T) {
	t.Parallel()
	const wait = 2 * time.Second
	with := func(opts ...commerce.Option) func(*testing.T, *commerce.Client) *commerce.Client {
		return func(t *testing.T, c *commerce.Client) *commerce.Client {
			t.Helper()
			c, err := c.With(opts...)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
	}
	same := with()
	for _, tt := range []struct {
		name       string
		retryAfter []string
		first      func(context.Context, *commerce.Client) error
		other      func(*testing.T, *commerce.Client) *commerce.Client
		then       func(context.Context, *commerce.Client) error
		waits      bool
	}{
		{"a read, then a write", []string{"2"}, list, same, add, true},
		{"a write, then a read", []string{"2"}, add, same, list, true},
		{"no Retry-After", nil, list, same, list, false},
		{"Retry-After: 0", []string{"0"}, list, same, list, false},
		{"a copy with another policy", []string{"2"}, list, with(commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1})), add, true},
		{"a copy with other credentials", []string{"2"}, list, with(commerce.WithToken("another")), list, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &refuseFirst{retryAfter: tt.retryAfter}
				c := r.client(t)
				var wg sync.WaitGroup
				wg.Go(func() {
					if err := tt.first(t.Context(), c); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
				start := time.Now()
				if err := tt.then(t.Context(), tt.other(t, c)); err != nil {
					t.Error(err)
				}
				took := time.Since(start)
				if wg.Wait(); tt.waits != (took >= wait) || !tt.waits && took != 0 || took > wait+100*time.Millisecond {
					t.Errorf("the other call took %v; requests came after %v", took, r.came)
				}
			})
		})
	}
}

// TestGate_turnsAway makes calls meet a shut gate that may not wait for it.
func TestGate_turnsAway(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		call    func(context.Context, *commerce.Client) error
		outcome commerce.Outcome
	}{{"read", list, commerce.OutcomeNone}, {"write", add, commerce.OutcomeNotSent}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &refuseFirst{retryAfter: []string{"3600"}} // more than the cap: the call that meets it returns at once
				c := r.client(t)
				err := list(t.Context(), c)
				if failed, ok := errors.AsType[*commerce.Error](err); !ok || failed.StatusCode != 429 || failed.RetryAfter != time.Hour {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				hasty, err := c.With(commerce.WithRetry(commerce.RetryPolicy{MaxBackoff: 14 * time.Second}))
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				for name, err := range map[string]error{"a deadline": tt.call(ctx, c), "a lower cap": tt.call(t.Context(), hasty)} {
					failed, ok := errors.AsType[*commerce.Error](err)
					if !ok || !errors.Is(err, commerce.ErrRateLimited) || errors.Is(err, context.DeadlineExceeded) || commerce.OutcomeOf(err) != tt.outcome ||
						failed.StatusCode != 0 || failed.Attempts != 0 || failed.RetryAfter != 15*time.Second {
						t.Errorf("%s: %v", name, err)
					}
				}
				if len(r.came) != 1 || time.Since(r.start) != 5*time.Second {
					t.Errorf("requests came after %v; %v passed", r.came, time.Since(r.start))
				}
				if err := tt.call(t.Context(), c); err != nil || r.came[1] != 20*time.Second { // the default cap
					t.Errorf("error %v, requests came after %v", err, r.came)
				}
			})
		})
	}
}

// TestGate_andLimiter makes calls wait at a shut gate that have a limiter, too: when
// it opens, they do not leave faster than that allows.
func TestGate_andLimiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &refuseFirst{retryAfter: []string{"15"}}
		c := r.client(t, commerce.WithLimiter(rate.NewLimiter(5, 1)))
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if err := list(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for n := 6; n < len(r.came); n++ {
			if r.came[n]-r.came[n-6] < time.Second {
				t.Fatalf("7 requests within a second: %v", r.came[n-6:n+1])
			}
		}
	})
}

// TestGate_shutBeforeTheToken shuts the gate while a call waits for its token.
func TestGate_shutBeforeTheToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &refuseFirst{retryAfter: []string{"10"}}
		c := r.client(t, commerce.WithTokenSource(slowSource(2*time.Second)))
		var wg sync.WaitGroup
		for n := range 2 {
			wg.Go(func() {
				time.Sleep(time.Duration(n) * time.Second)
				if err := list(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(r.came) != 3 || r.came[0] != 2*time.Second || r.came[1] < 12*time.Second {
			t.Errorf("requests came after %v", r.came)
		}
	})
}
