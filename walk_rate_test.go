package commerce_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce"
)

// pageServer is a list that takes its time, and may refuse what goes beyond a rate.
type pageServer struct {
	*listServer
	latency time.Duration
	allow   func() bool // nil: everything

	mu       sync.Mutex
	served   int
	refused  int
	inFlight int
	crowd    int // the most requests in flight
}

func newPageServer(total int, latency time.Duration, allow func() bool) *pageServer {
	return &pageServer{listServer: newListServer(total), latency: latency, allow: allow}
}

func (s *pageServer) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.inFlight++
	s.crowd = max(s.crowd, s.inFlight)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inFlight--
	}()
	select {
	case <-time.After(s.latency / 2):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: req}
	s.mu.Lock()
	if s.allow == nil || s.allow() {
		s.served++
		resp.Body = io.NopCloser(strings.NewReader(s.page(req)))
	} else {
		s.refused++
		resp.StatusCode, resp.Body = http.StatusTooManyRequests, http.NoBody
		resp.Header.Set("Retry-After", "1")
	}
	s.mu.Unlock()
	select {
	case <-time.After(s.latency - s.latency/2):
		return resp, nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

func (s *pageServer) client(t *testing.T, opts ...commerce.Option) *commerce.Client {
	t.Helper()
	c, err := commerce.New(base, append([]commerce.Option{commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: s})}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// walkAll counts the subscriptions of a store, and takes the time.
func walkAll(ctx context.Context, c *commerce.Client, concurrency int) (n int, took time.Duration, err error) {
	start := time.Now()
	for _, err := range c.Subscriptions.All(ctx, &commerce.SubscriptionListOptions{Concurrency: concurrency}) {
		if err != nil {
			return n, time.Since(start), err
		}
		n++
	}
	return n, time.Since(start), nil
}

// TestWalk_rateLimit walks 10,000 records of a store that allows 25 requests a
// second, with and without knowing that.
func TestWalk_rateLimit(t *testing.T) {
	t.Parallel()
	const requests, limit, burst = 102, 25, 6
	ideal := float64(requests-burst) / limit
	run := func(concurrency int, opts ...commerce.Option) (ratio float64, refused int) {
		synctest.Test(t, func(t *testing.T) {
			s := newPageServer(10_000, 20*time.Millisecond, rate.NewLimiter(limit, burst).Allow)
			n, took, err := walkAll(t.Context(), s.client(t, opts...), concurrency)
			if n != 10_000 || err != nil {
				t.Errorf("concurrency %d: %d records, error %v", concurrency, n, err)
			}
			ratio, refused = took.Seconds()/ideal, s.refused
		})
		return ratio, refused
	}
	one, oneRefused := run(1)
	eight, eightRefused := run(8)
	known, knownRefused := run(8, commerce.WithLimiter(rate.NewLimiter(24, 1)))
	t.Logf("times the ideal of %.2f s, and answers of 429: one at a time %.3f, %d; eight %.3f, %d; eight with a limiter at 24/s %.3f, %d",
		ideal, one, oneRefused, eight, eightRefused, known, knownRefused)
	if known > 1.3 || knownRefused > 0 || eight > 2.5 || eightRefused > 8 || eight > 1.01*one {
		t.Error("not within bounds")
	}
}

// herd is what became of clients that walk the same store at a time.
type herd struct {
	pages, refused float64 // a second
	finished       int     // walks
	fairness       float64 // time of the slowest walk over the mean
}

// runHerd lets clients walk, for at most a minute.
func runHerd(t *testing.T, clients int, allow func() func() bool, walk func(ctx context.Context, s *pageServer) error) (h herd) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newPageServer(1000, 20*time.Millisecond, allow())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		var mu sync.Mutex
		var sum, slowest time.Duration
		start := time.Now()
		for range clients {
			wg.Go(func() {
				err := walk(ctx, s)
				took := time.Since(start)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					h.finished++
				}
				sum += took
				slowest = max(slowest, took)
			})
		}
		wg.Wait()
		h.pages = float64(s.served) / slowest.Seconds()
		h.refused = float64(s.refused) / slowest.Seconds()
		h.fairness = slowest.Seconds() / (sum.Seconds() / float64(clients))
	})
	return h
}

// TestWalk_herd lets 50 clients that know nothing of each other walk a store that
// allows 100 requests a second in all, and beside them as many that try again at
// once. Most stores do not count what they refuse, and give their all to those who
// insist; to others each request counts.
func TestWalk_herd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes most of the time of this package")
	}
	t.Parallel()
	const clients, limit = 50, 100
	bucket := func(burst int) func() func() bool {
		return func() func() bool { return rate.NewLimiter(limit, burst).Allow }
	}
	window := func() func() bool {
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
	ours := func(attempts int) func(context.Context, *pageServer) error {
		return func(ctx context.Context, s *pageServer) error {
			c := s.client(t, commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: attempts}))
			n, _, err := walkAll(ctx, c, 1)
			if err == nil && n != len(s.ids) {
				err = errors.New("a walk ended early")
			}
			return err
		}
	}
	atOnce := func(attempts int) func(context.Context, *pageServer) error {
		return func(ctx context.Context, s *pageServer) error {
			for offset := 0; offset < len(s.ids); offset += 100 {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s?page[offset]=%d&page[limit]=100", base, offset), nil)
				if err != nil {
					return err
				}
				for n := 1; ; n++ {
					resp, err := s.RoundTrip(req)
					if err != nil {
						return err
					}
					if _ = resp.Body.Close(); resp.StatusCode == http.StatusOK {
						break
					}
					if n == attempts {
						return errors.New("refused")
					}
				}
			}
			return nil
		}
	}
	var log strings.Builder
	for _, store := range []struct {
		name  string
		allow func() func() bool
		all   bool // of our walks finish with four attempts a call
	}{{"100 at a time", bucket(100), true}, {"10 at a time", bucket(10), false}, {"refusals count", window, true}} {
		fmt.Fprintf(&log, "\n%d clients, 100 requests a second, %s:", clients, store.name)
		results := map[string]herd{}
		for _, client := range []struct {
			name string
			walk func(context.Context, *pageServer) error
		}{
			{"this one, 4 attempts", ours(0)}, {"this one, 8 attempts", ours(8)},
			{"at once, 4 attempts", atOnce(4)}, {"at once, until served", atOnce(math.MaxInt)},
		} {
			h := runHerd(t, clients, store.allow, client.walk)
			results[client.name] = h
			fmt.Fprintf(&log, "\n  %-22s %3d finish, %6.1f pages/s, %6.1f refusals/s, slowest over mean %.2f", client.name, h.finished, h.pages, h.refused, h.fairness)
		}
		us, insisting := results["this one, 8 attempts"], results["at once, until served"]
		if us.finished != clients || store.all && results["this one, 4 attempts"].finished != clients {
			t.Errorf("%s: not all finish", store.name)
		}
		if us.refused*10 > insisting.refused {
			t.Errorf("%s: %.1f refusals a second", store.name, us.refused)
		}
		if store.name == "refusals count" && us.pages <= insisting.pages {
			t.Errorf("%s: %.1f pages a second, not more than those who insist", store.name, us.pages)
		}
	}
	t.Log(log.String())
}
