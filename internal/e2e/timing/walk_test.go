package timing_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce"
)

const emptyCart = `{"data":{"id":"cart-1","type":"cart"}}`

// store is a list of subscriptions, and a cart, behind a rate limit.
type store struct {
	total    int
	allow    func() bool // counts a request, and reports whether it is within the limit
	noHeader bool        // a 429 has no Retry-After

	mu              sync.Mutex
	served, refused int
}

func (s *store) RoundTrip(req *http.Request) (*http.Response, error) {
	return after(20*time.Millisecond, s.reply(req))(req)
}

func (s *store) reply(req *http.Request) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.allow() {
		s.refused++
		if s.noHeader {
			return status(http.StatusTooManyRequests)
		}
		return status(http.StatusTooManyRequests, "1")
	}
	s.served++
	if strings.HasPrefix(req.URL.Path, "/v2/carts/") {
		return body(http.StatusOK, emptyCart)
	}
	return body(http.StatusOK, s.page(req))
}

func (s *store) page(req *http.Request) string {
	query := req.URL.Query()
	offset, _ := strconv.Atoi(query.Get("page[offset]"))
	limit, _ := strconv.Atoi(query.Get("page[limit]"))
	next := "null"
	if offset+limit < s.total {
		next = `"/next"`
	}
	var records []string
	for i := offset; i < min(offset+limit, s.total); i++ {
		records = append(records, fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d"}`, i))
	}
	return fmt.Sprintf(`{"data":[%s],"links":{"next":%s}}`, strings.Join(records, ","), next)
}

// walk reads all subscriptions of the store.
func (s *store) walk(ctx context.Context, c *commerce.Client, concurrency int) error {
	n := 0
	for _, err := range c.Subscriptions.All(ctx, &commerce.SubscriptionListOptions{Concurrency: concurrency}) {
		if err != nil {
			return err
		}
		n++
	}
	if n != s.total {
		return fmt.Errorf("the walk yielded %d records, want %d", n, s.total)
	}
	return nil
}

// TestWalk_rateLimit walks 10,000 records of a store that allows 25 requests a
// second, with and without a limiter.
func TestWalk_rateLimit(t *testing.T) {
	t.Parallel()
	const requests, limit, burst = 102, 25, 6
	ideal := float64(requests-burst) / limit
	run := func(concurrency int, opts ...commerce.Option) (ratio float64, refused int) {
		synctest.Test(t, func(t *testing.T) {
			s := &store{total: 10_000, allow: rate.NewLimiter(limit, burst).Allow}
			start := time.Now()
			if err := s.walk(t.Context(), newClient(t, s, opts...), concurrency); err != nil {
				t.Errorf("Concurrency %d: %v", concurrency, err)
			}
			ratio, refused = time.Since(start).Seconds()/ideal, s.refused
		})
		return ratio, refused
	}
	one, _ := run(1)
	eight, refused := run(8)
	known, refusedKnown := run(8, commerce.WithLimiter(rate.NewLimiter(limit-1, 1)))
	t.Logf("of the ideal time: Concurrency 1 %.3f; 8 %.3f, %d refusals; 8 with a limiter %.3f, %d refusals",
		one, eight, refused, known, refusedKnown)
	if most := min(2.5, 1.01*one); eight > most || refused > 8 {
		t.Errorf("Concurrency 8: %.3f of the ideal time, %d refusals, want at most %.3f and 8", eight, refused, most)
	}
	if known > 1.3 || refusedKnown > 0 {
		t.Errorf("with a limiter: %.3f of the ideal time, %d refusals, want at most 1.3 and none", known, refusedKnown)
	}
}

// walker is a client that walks a store on its own.
type walker func(ctx context.Context, s *store) error

// herd is what comes of walkers that read the same store at the same time.
type herd struct {
	finished       int
	pages, refused float64 // a second
}

// runHerd lets walkers read a store of 1,000 records, for at most 20 s.
func runHerd(t *testing.T, walkers int, allow func() bool, walk walker) herd {
	t.Helper()
	s := &store{total: 1000, allow: allow}
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
		return s.walk(ctx, newClient(t, s, commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: attempts})), 1)
	}
}

// insisting sends a refused request again at once.
func insisting(attempts int) walker {
	return func(ctx context.Context, s *store) error {
		for offset, attempt := 0, 1; offset < s.total; attempt++ {
			url := fmt.Sprintf("%s?page[offset]=%d&page[limit]=100", baseURL, offset)
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
			if err != nil {
				return err
			}
			resp, err := s.RoundTrip(req)
			if err != nil {
				return err
			}
			if _ = resp.Body.Close(); resp.StatusCode == http.StatusOK {
				offset, attempt = offset+100, 0
			} else if attempt == attempts {
				return errors.New("refused")
			}
		}
		return nil
	}
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
			run("insisting, 4 attempts:", insisting(4))
			insistent := run("insisting, until served:", insisting(math.MaxInt))
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
