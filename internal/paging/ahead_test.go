package paging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestReadAhead_window counts the requests while the consumer works on a page.
func TestReadAhead_window(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 2, 5, 16} {
		synctest.Test(t, func(t *testing.T) {
			const pages = 51
			l := newList(5000)
			cfg := l.config()
			cfg.Concurrency = concurrency
			n := 0
			for _, err := range Walk(t.Context(), cfg) {
				if err != nil {
					t.Fatal(err)
				}
				n++
				time.Sleep(10 * latency) // all requests in flight end, and no other begins
				if got, _ := l.counts(); got != n+min(n, concurrency, pages-n) {
					t.Fatalf("Concurrency %d: %d requests when page %d is yielded, want %d",
						concurrency, got, n, n+min(n, concurrency, pages-n))
				}
			}
			if n != pages {
				t.Errorf("Concurrency %d: got %d pages, want %d", concurrency, n, pages)
			}
		})
	}
}

// TestReadAhead_time shows that pages are read at the same time, and while the consumer works.
func TestReadAhead_time(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		concurrency int
		work        time.Duration // of the consumer on a page
		want        time.Duration
	}{
		{concurrency: 0, want: 102 * latency},
		{concurrency: 1, want: 102 * latency},
		{concurrency: 4, want: 28 * latency},
		{concurrency: 8, want: 16 * latency},
		{concurrency: 0, work: latency, want: (2*102 - 1) * latency},
		{concurrency: 1, work: latency, want: 102 * latency},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newList(10_000)
			cfg := l.config()
			cfg.Concurrency = tt.concurrency
			start := time.Now()
			for _, err := range Walk(t.Context(), cfg) {
				if err != nil {
					t.Error(err)
				}
				time.Sleep(tt.work)
			}
			if got := time.Since(start).Truncate(latency / 2); got != tt.want {
				t.Errorf("Concurrency %d, work %v: took %v, want %v", tt.concurrency, tt.work, got, tt.want)
			}
		})
	}
}

// TestReadAhead_break ends the loop over a walk at each page. After the loop no request is in
// flight, and none begins.
func TestReadAhead_break(t *testing.T) {
	t.Parallel()
	const pages = 12
	ends := map[string]func(cancel context.CancelFunc) (goOn bool){
		"break":  func(context.CancelFunc) bool { return false },
		"panic":  func(context.CancelFunc) bool { panic("test") },
		"cancel": func(cancel context.CancelFunc) bool { cancel(); return true },
	}
	for name, end := range ends {
		for _, concurrency := range []int{0, 1, 4, 16} {
			for at := 1; at <= pages; at++ {
				t.Run(fmt.Sprint(name, " at page ", at, " Concurrency ", concurrency), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						l := newList(99 * pages)
						cfg := l.config()
						cfg.Concurrency = concurrency
						var ended time.Time
						n, err := 0, error(nil)
						func() {
							defer func() { _ = recover() }()
							for _, err = range Walk(ctx, cfg) {
								if err == nil {
									n++
								}
								if ended = time.Now(); n == at && err == nil && !end(cancel) {
									break
								}
							}
						}()
						if took := time.Since(ended); took > 0 {
							t.Errorf("the loop ended after %v, want 0", took)
						}
						made := l.requests
						if most := at + min(at, concurrency); l.inFlight != 0 || made > most {
							t.Errorf("%d requests, %d in flight, want at most %d, 0", made, l.inFlight, most)
						}
						time.Sleep(time.Minute)
						if l.requests != made {
							t.Errorf("%d requests after the loop, want 0", l.requests-made)
						}
						isCanceled := name == "cancel" && at < pages
						if n != at || errors.Is(err, context.Canceled) != isCanceled {
							t.Errorf("got %d pages, error %v, want %d", n, err, at)
						}
					})
				})
			}
		}
	}
}

// TestReadAhead_errors makes each request fail in turn, at once. The pages before it come first,
// then the error.
func TestReadAhead_errors(t *testing.T) {
	t.Parallel()
	errTest := errors.New("test")
	for _, concurrency := range []int{0, 1, 4, 16} {
		for failing := range 12 {
			t.Run(fmt.Sprint("page ", failing, " Concurrency ", concurrency), func(t *testing.T) {
				t.Parallel()
				l := newList(99 * 12)
				cfg := l.config()
				cfg.Concurrency = concurrency
				cfg.Fetch = func(ctx context.Context, offset, limit int) (*page, error) {
					if offset == 99*failing {
						return nil, errTest
					}
					return l.fetch(ctx, offset, limit)
				}
				got, err := l.walk(t, cfg)
				want := upTo(min(failing*99+1, failing*100))
				if stop, ok := errors.AsType[*Error](err); !ok || stop.Offset != len(want) || !errors.Is(err, errTest) {
					t.Errorf("error %#v, want %v at offset %d", err, errTest, len(want))
				}
				if !slices.Equal(got, want) {
					t.Errorf("got %d records, want %d", len(got), len(want))
				}
			})
		}
	}
}

// TestReadAhead_panic shows that the caller can recover from a panic of Fetch, after all pages
// before it.
func TestReadAhead_panic(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			l := newList(2000)
			cfg := l.config()
			cfg.Concurrency = concurrency
			cfg.Fetch = func(ctx context.Context, offset, limit int) (*page, error) {
				if offset > 900 {
					panic("test")
				}
				return l.fetch(ctx, offset, limit)
			}
			pages := 0
			defer func() {
				if got := recover(); got != "test" || pages != 10 {
					t.Errorf("Concurrency %d: got panic %v after %d pages, want test after 10", concurrency, got, pages)
				}
			}()
			for _, err := range Walk(t.Context(), cfg) {
				if err == nil {
					pages++
				}
			}
		})
	}
}

// TestReadAhead_growing adds records at the front of a list for each request, as new subscriptions
// come first, or makes pages that differ in length. Pages fetched ahead are then not those that the
// walk requests. A walk with pages in flight still ends like one without, and needs few requests
// more. If about as many records are added as a page has, it may give up.
func TestReadAhead_growing(t *testing.T) {
	t.Parallel()
	const allPages = 50 + 6*(10_100+100)/100 // the budget of a walk over all records within reach
	for _, tt := range []struct {
		name        string
		total       int
		least, most int // records that are added for each request
		length      func(n int) int
		maxOffset   int // 0: 10,000
		requests    int // at most; 0: twice those of Concurrency 1, and Concurrency more
		mayGiveUp   bool
	}{
		{name: "1 added", total: 1000, least: 1, most: 1},
		{name: "2 added", total: 1000, least: 2, most: 2},
		{name: "5 added", total: 1000, least: 5, most: 5},
		{name: "5 added to a short list", total: 150, least: 5, most: 5},
		{name: "5 added to a long list", total: 4000, least: 5, most: 5},
		{name: "up to 1 added", total: 250, most: 1, requests: 60},
		{name: "up to 3 added", total: 250, most: 3, requests: 60},
		{name: "up to 5 added", total: 250, most: 5, requests: 60},
		{name: "unequal pages", total: 2400, length: func(n int) int { return 100 - n*7%34 }, requests: 60},
		{name: "50 added", total: 1000, least: 50, most: 50, requests: allPages, mayGiveUp: true},
		{name: "90 added", total: 1000, least: 90, most: 90, requests: allPages, mayGiveUp: true},
		{name: "100 added", total: 1000, least: 100, most: 100, requests: allPages, mayGiveUp: true},
		{name: "150 added", total: 1000, least: 150, most: 150, maxOffset: 2500, requests: 210, mayGiveUp: true},
	} {
		for name, links := range map[string]links{"links": trueLinks, "no links": noLinks} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				t.Parallel()
				for order := range uint64(3) {
					one := 0 // requests of Concurrency 1
					for _, concurrency := range []int{1, 2, 4, 8, 16} {
						random := rand.New(rand.NewPCG(order, uint64(tt.most)))
						l := newList(tt.total)
						l.links, l.length = links, tt.length
						if tt.most > 0 {
							l.change = func(l *list) { add(0, tt.least+random.IntN(tt.most-tt.least+1))(l) }
						}
						if order > 0 { // otherwise the list is read in the order of the requests
							l.delay = randomDelays(order)
						}
						cfg := l.config()
						cfg.MaxOffset, cfg.Concurrency = cmp.Or(tt.maxOffset, 10_000), concurrency
						got, err := l.walk(t, cfg)
						gaveUp := tt.mayGiveUp && (errors.Is(err, ErrListDrift) || errors.Is(err, ErrOffsetLimit))
						if missing := lost(upTo(tt.total), got); !gaveUp && (err != nil || len(missing) > 0) {
							t.Errorf("order %d, Concurrency %d: error %v, %d records missing", order, concurrency, err, len(missing))
						}
						if concurrency == 1 {
							one = l.requests
						}
						if most := cmp.Or(tt.requests, 2*one+concurrency); l.requests > most {
							t.Errorf("order %d, Concurrency %d: %d requests, want at most %d", order, concurrency, l.requests, most)
						}
					}
				}
			})
		}
	}
}

// randomDelays returns the delays of a store that reads its list, and responds, in random order.
func randomDelays(order uint64) func(offset int) (before, after time.Duration) {
	return func(offset int) (before, after time.Duration) {
		random := rand.New(rand.NewPCG(order, uint64(offset)))
		delay := func() time.Duration {
			return time.Duration(random.Int64N(int64(latency))) + time.Duration(offset) // unique, as that of newList
		}
		return delay(), delay()
	}
}
