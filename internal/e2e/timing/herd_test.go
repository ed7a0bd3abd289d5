package timing_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce"
)

// walker is a client that walks a store on its own.
type walker func(ctx context.Context, s *store) error

// herd is what comes of walkers that read the same store at the same time.
type herd struct {
	finished       int
	pages, refused float64 // a second
}

// runHerd lets walkers read a store of 10 pages, for at most 20 s.
func runHerd(t *testing.T, walkers int, allow func() bool, walk walker) herd {
	t.Helper()
	s := &store{pages: 10, allow: allow}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	start := time.Now()
	var finished atomic.Int64
	var wg sync.WaitGroup
	for range walkers {
		wg.Go(func() {
			if walk(ctx, s) == nil {
				finished.Add(1)
			}
		})
	}
	wg.Wait()
	seconds := time.Since(start).Seconds()
	return herd{int(finished.Load()), float64(s.served) / seconds, float64(s.refused) / seconds}
}

// retrying walks with a client of this package.
func retrying(t *testing.T, attempts int) walker {
	return func(ctx context.Context, s *store) error {
		return s.walk(ctx, newClient(t, s.send, commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: attempts})), 1)
	}
}

// insist walks without this package: it sends a refused request again at once, until it is served.
func insist(ctx context.Context, s *store) error {
	for page := 0; page < s.pages; {
		url := fmt.Sprintf("%s?page[offset]=%d&page[limit]=%d", baseURL, page*pageSize, pageSize)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		resp, err := s.send(req)
		if err != nil {
			return err
		}
		if _ = resp.Body.Close(); resp.StatusCode == http.StatusOK {
			page++
		}
	}
	return nil
}

// slidingWindow allows limit requests in any second, and counts those that it refuses.
func slidingWindow(limit int) func() bool {
	var last []time.Time
	return func() bool {
		now := time.Now()
		for len(last) > 0 && now.Sub(last[0]) >= time.Second {
			last = last[1:]
		}
		last = append(last, now)
		return len(last) <= limit
	}
}

// TestWalk_herd lets 50 clients, which know nothing of each other, walk a store that
// allows 100 requests a second in all; then as many that send refused requests again
// at once. Most stores do not count what they refuse, and serve those who insist; for
// others each request counts.
func TestWalk_herd(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes most of the time of this package")
	}
	const walkers, limit = 50, 100
	bucket := func(burst int) func() bool { return rate.NewLimiter(limit, burst).Allow }
	for _, tt := range []struct {
		name            string
		allow           func() func() bool
		defaultSuffices bool // 4 attempts are enough for all clients
		isFaster        bool // for these clients than for those that insist
	}{
		{name: "100 at a time", allow: func() func() bool { return bucket(limit) }, defaultSuffices: true},
		{name: "10 at a time", allow: func() func() bool { return bucket(10) }},
		{name: "refusals count", allow: func() func() bool { return slidingWindow(limit) },
			defaultSuffices: true, isFaster: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			run := func(name string, walk walker) (h herd) {
				synctest.Test(t, func(t *testing.T) { h = runHerd(t, walkers, tt.allow(), walk) })
				fmt.Fprintf(&log, "\n%-26s %d of %d finish, %6.1f pages/s, %6.1f refusals/s",
					name, h.finished, walkers, h.pages, h.refused)
				return h
			}
			four, eight := run("this client, 4 attempts:", retrying(t, 4)), run("this client, 8 attempts:", retrying(t, 8))
			insistent := run("insisting, until served:", insist)
			t.Log(tt.name + log.String())
			if tt.defaultSuffices && four.finished != walkers {
				t.Errorf("%d clients with 4 attempts finished, want %d", four.finished, walkers)
			}
			if eight.finished != walkers {
				t.Errorf("%d clients with 8 attempts finished, want %d", eight.finished, walkers)
			}
			if eight.refused*10 > insistent.refused {
				t.Errorf("%.1f refusals a second, want at most a tenth of %.1f", eight.refused, insistent.refused)
			}
			if tt.isFaster && eight.pages <= insistent.pages {
				t.Errorf("%.1f pages a second, want more than the %.1f of those who insist", eight.pages, insistent.pages)
			}
		})
	}
}
