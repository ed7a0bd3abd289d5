package timing_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce"
)

// TestWalk_herd lets 50 clients, which know nothing of each other, walk a store that allows 100
// requests a second in all. Most stores do not count what they refuse; for others each request
// counts. Clients that send a refused request again at once get 1,900 to 2,500 refusals a second,
// and only 5 pages a second if refusals count.
func TestWalk_herd(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes most of the time of this package")
	}
	const limit, leastPages, mostRefused = 100, 60, 60 // a second
	for _, tt := range []struct {
		name     string
		attempts int
		allow    func() bool
	}{
		{name: "100 at a time", attempts: 4, allow: rate.NewLimiter(limit, limit).Allow},
		{name: "10 at a time", attempts: 8, allow: rate.NewLimiter(limit, 10).Allow},
		{name: "refusals count", attempts: 4, allow: busyWindow(limit)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &store{pages: 10, allow: tt.allow}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				start := time.Now()
				var wg sync.WaitGroup
				for range 50 {
					c := newClient(t, s.send, commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: tt.attempts, MaxRefusals: 12}))
					wg.Go(func() {
						if err := s.walk(ctx, c, 1); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				seconds := time.Since(start).Seconds()
				pages, refused := float64(s.served)/seconds, float64(s.refused)/seconds
				t.Logf("%.1f pages and %.1f refusals a second", pages, refused)
				if pages < leastPages || refused > mostRefused {
					t.Errorf("%.1f pages and %.1f refusals a second, want at least %d, and at most %d",
						pages, refused, leastPages, mostRefused)
				}
			})
		})
	}
}
