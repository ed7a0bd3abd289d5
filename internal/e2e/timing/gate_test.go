package timing_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

// TestGate_isShared makes a call that gets a 429, and another one right after it. The
// gate is shared by all clients of one credential.
func TestGate_isShared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		retryAfter []string
		first      calls.Call
		opts       []commerce.Option // of the client of the second call
		second     calls.Call
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
				c := newClient(t, s.send)
				other, err := c.With(tt.opts...)
				if err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				wg.Go(func() {
					if _, err := tt.first.Do(t.Context(), c, calls.NewArgs()); err != nil {
						t.Errorf("first call: %v", err)
					}
				})
				synctest.Wait()
				if _, err := tt.second.Do(t.Context(), other, calls.NewArgs()); err != nil {
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
