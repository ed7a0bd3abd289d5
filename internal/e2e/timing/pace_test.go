package timing_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

// limits are ways in which a store may count requests.
var limits = []struct {
	name string
	new  func(perSecond int) func() bool
}{
	{name: "bucket", new: func(n int) func() bool { return rate.NewLimiter(rate.Limit(n), n).Allow }},
	{name: "small bucket", new: func(n int) func() bool { return rate.NewLimiter(rate.Limit(n), n/4).Allow }},
	{name: "window", new: window},
	{name: "sliding window", new: slidingWindow},
}

// window allows limit requests in each second of the clock.
func window(limit int) func() bool {
	second, n := int64(0), 0
	return func() bool {
		if now := time.Now().Unix(); now != second {
			second, n = now, 0
		}
		n++
		return n <= limit
	}
}

// slidingWindow allows limit requests in any second.
func slidingWindow(limit int) func() bool {
	var last []time.Time
	return func() bool {
		if last = lastSecond(last); len(last) == limit {
			return false
		}
		last = append(last, time.Now())
		return true
	}
}

// busyWindow is a slidingWindow that counts those that it refuses too.
func busyWindow(limit int) func() bool {
	var last []time.Time
	return func() bool {
		last = append(lastSecond(last), time.Now())
		return len(last) <= limit
	}
}

// lastSecond returns those of the times that are less than a second ago.
func lastSecond(times []time.Time) []time.Time {
	return slices.DeleteFunc(times, func(at time.Time) bool { return time.Since(at) >= time.Second })
}

// perSecond are the limits of stores.
var perSecond = []int{10, 25, 100}

// TestPace_walk walks 90 pages of a store that sends no Retry-After.
func TestPace_walk(t *testing.T) {
	t.Parallel()
	for _, limit := range limits {
		for _, n := range perSecond {
			for _, concurrency := range []int{1, 8, 16} {
				t.Run(fmt.Sprintf("%s/%d/%d", limit.name, n, concurrency), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						s := &store{pages: 90, allow: limit.new(n), noHeader: true}
						took := s.walkAlone(t, concurrency)
						most := time.Duration(1.5*float64(s.served)/float64(n)*float64(time.Second)) + 2*time.Second
						refused := float64(s.refused-concurrency) / took.Seconds() // those of the first ones in flight do not count
						t.Logf("%.1f s, %d served, %d refused, %.1f a second", took.Seconds(), s.served, s.refused, refused)
						if took > most || refused > float64(n)/4 {
							t.Errorf("took %v, %.1f refused a second, want at most %v and %d", took, refused, most, n/4)
						}
					})
				})
			}
		}
	}
}

// walkAlone walks the store with a new client, and returns how long that took.
func (s *store) walkAlone(t *testing.T, concurrency int) time.Duration {
	t.Helper()
	start := time.Now()
	if err := s.walk(t.Context(), newClient(t, s.send), concurrency); err != nil {
		t.Errorf("Concurrency %d: %v", concurrency, err)
	}
	return time.Since(start)
}

// TestWalk_rateLimit walks 90 pages of a store that allows 25 requests a second, and sends a
// Retry-After.
func TestWalk_rateLimit(t *testing.T) {
	t.Parallel()
	const limit, burst = 25, 6
	run := func(concurrency int) (ratio float64, refused int) {
		synctest.Test(t, func(t *testing.T) {
			s := &store{pages: 90, allow: rate.NewLimiter(limit, burst).Allow}
			took := s.walkAlone(t, concurrency)
			ratio, refused = took.Seconds()*limit/float64(s.served-burst), s.refused
		})
		return ratio, refused
	}
	one, _ := run(1)
	eight, refused := run(8)
	t.Logf("of the ideal time: Concurrency 1 %.3f; 8 %.3f, %d refusals", one, eight, refused)
	if most := min(2.5, 1.01*one); eight > most || refused > 8 {
		t.Errorf("Concurrency 8: %.3f of the ideal time, %d refusals, want at most %.3f and 8", eight, refused, most)
	}
}

// A single 429 of a store without a limit costs a walk at most two seconds.
func TestPace_single(t *testing.T) {
	t.Parallel()
	walk := func(concurrency, refused int) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			s := &store{pages: 90, noHeader: true, allow: func() bool { n++; return n != refused }}
			took = s.walkAlone(t, concurrency)
		})
		return took
	}
	for _, concurrency := range []int{1, 4, 16} {
		unhindered := walk(concurrency, 0)
		for _, refused := range []int{1, 2, 20, 80} {
			if cost := walk(concurrency, refused) - unhindered; cost > 2*time.Second {
				t.Errorf("Concurrency %d, request %d is refused: the walk takes %v longer, want at most 2s",
					concurrency, refused, cost)
			}
		}
	}
}
