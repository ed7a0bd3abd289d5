package timing_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

// TestGate_isShared makes a read that gets a 429, and a write right after it. The gate is shared by
// a client and its copies, whatever their credentials.
func TestGate_isShared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		opts []commerce.Option // of the client of the write
	}{
		{name: "the same client"},
		{name: "a copy with another policy",
			opts: []commerce.Option{commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1})}},
		{name: "a copy with another token", opts: []commerce.Option{commerce.WithToken("another")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newService(t, status(429, "2"))
				s.rest = success
				c := newClient(t, s.send)
				other, err := c.With(tt.opts...)
				if err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				wg.Go(func() {
					if _, err := read.Do(t.Context(), c, calls.NewArgs()); err != nil {
						t.Errorf("read: %v", err)
					}
				})
				synctest.Wait()
				if _, err := write.Do(t.Context(), other, calls.NewArgs()); err != nil {
					t.Errorf("write: %v", err)
				}
				returned := time.Since(s.start)
				wg.Wait()
				// Both calls wait: the later one leaves the gate 100 ms after the other.
				const least, most = 2 * time.Second, 2100 * time.Millisecond
				if returned < least || returned > most {
					t.Errorf("the write returned after %v, want %v to %v", returned, least, most)
				}
			})
		})
	}
}
