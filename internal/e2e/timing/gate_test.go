package timing_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce"
)

// derive returns a copy of c with other options.
func derive(t *testing.T, c *commerce.Client, opts ...commerce.Option) *commerce.Client {
	t.Helper()
	c, err := c.With(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestGate_isShared makes a call that gets a 429, and another one right after it. The
// gate is shared by all clients of one credential.
func TestGate_isShared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		retryAfter []string
		first      operation
		opts       []commerce.Option // of the client of the second call
		second     operation
		waits      bool
	}{
		{name: "a read, then a write", retryAfter: []string{"2"}, first: read, second: write, waits: true},
		{name: "a write, then a read", retryAfter: []string{"2"}, first: write, second: read, waits: true},
		{name: "no Retry-After", first: read, second: write},
		{name: "Retry-After: 0", retryAfter: []string{"0"}, first: read, second: write},
		{name: "a copy with another policy", retryAfter: []string{"2"}, first: read, second: write, waits: true,
			opts: []commerce.Option{commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1})}},
		{name: "a copy with another token", retryAfter: []string{"2"}, first: read, second: read,
			opts: []commerce.Option{commerce.WithToken("another")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newService(t, status(429, tt.retryAfter...))
				s.rest = success
				c := newClient(t, s)
				var wg sync.WaitGroup
				wg.Go(func() {
					if _, err := tt.first.do(t.Context(), c); err != nil {
						t.Errorf("first call: %v", err)
					}
				})
				synctest.Wait()
				if _, err := tt.second.do(t.Context(), derive(t, c, tt.opts...)); err != nil {
					t.Errorf("second call: %v", err)
				}
				returned := time.Since(s.start)
				wg.Wait()
				// Both calls wait: the later one leaves the gate 50 ms after the other.
				least, most := time.Duration(0), time.Duration(0)
				if tt.waits {
					least, most = 2*time.Second, 2100*time.Millisecond
				}
				if returned < least || returned > most {
					t.Errorf("second call returned after %v, want %v to %v", returned, least, most)
				}
			})
		})
	}
}

// TestGate_turnsAway makes calls that may not wait as long as the gate is shut. They
// return at once, and nothing is sent.
func TestGate_turnsAway(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		op      operation
		outcome commerce.Outcome
	}{{op: read, outcome: commerce.OutcomeNone}, {op: write, outcome: commerce.OutcomeNotSent}} {
		t.Run(tt.op.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newService(t, status(429, "3600"))
				s.rest = success
				c := newClient(t, s)
				if _, err := tt.op.do(t.Context(), c); !errors.Is(err, commerce.ErrRateLimited) {
					t.Fatalf("first call: error = %v, want ErrRateLimited", err)
				}
				time.Sleep(5 * time.Second) // the gate is shut for 20 s, which is MaxBackoff
				impatient := derive(t, c, commerce.WithRetry(commerce.RetryPolicy{MaxBackoff: 14 * time.Second}))
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				want := "sent 0s, failed 5s: no response, retry after 15s, attempts 0, " + tt.outcome.String()
				for _, call := range []struct {
					name   string
					ctx    context.Context
					client *commerce.Client
				}{
					{name: "deadline", ctx: ctx, client: c},
					{name: "MaxBackoff", ctx: t.Context(), client: impatient},
				} {
					resp, err := tt.op.do(call.ctx, call.client)
					if got := s.timeline(tt.op, time.Since(s.start), resp, err); got != want {
						t.Errorf("%s:\n got %s\nwant %s", call.name, got, want)
					}
					if !errors.Is(err, commerce.ErrRateLimited) {
						t.Errorf("%s: error = %v, want ErrRateLimited", call.name, err)
					}
				}
				if _, err := tt.op.do(t.Context(), c); err != nil || s.sent[len(s.sent)-1] != 20*time.Second {
					t.Errorf("patient call: error = %v, sent = %v, want no error, and a request after 20 s", err, s.sent)
				}
			})
		})
	}
}

// TestGate_limiter lets 40 calls wait at a shut gate. When it opens, they leave no
// faster than their limiter allows.
func TestGate_limiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, status(429, "15"))
		s.rest = success
		c := newClient(t, s, commerce.WithLimiter(rate.NewLimiter(5, 1)))
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if _, err := read.do(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for n := 6; n < len(s.sent); n++ {
			if s.sent[n]-s.sent[n-6] < time.Second {
				t.Fatalf("requests were sent after %v, want at most 6 within a second", s.sent[n-6:n+1])
			}
		}
	})
}

// TestGate_shutDuringTokenRequest shuts the gate while the second call waits for its
// token: it goes back to the gate.
func TestGate_shutDuringTokenRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, status(429, "10")) // after 2 s, to the first call
		s.rest = success
		c := newClient(t, s, commerce.WithTokenSource(slowSource(2*time.Second)))
		var wg sync.WaitGroup
		for n := range 2 {
			wg.Go(func() {
				time.Sleep(time.Duration(n) * time.Second)
				if _, err := read.do(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(s.sent) != 3 || s.sent[0] != 2*time.Second || s.sent[1] < 12*time.Second {
			t.Errorf("requests were sent after %v, want 2s, and two after 12s or more", s.sent)
		}
	})
}
