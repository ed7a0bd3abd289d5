package paging

import (
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
				cfg.Fetch = func(ctx context.Context, offset, limit int) (page, error) {
					if offset == 99*failing {
						return page{}, errTest
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
			cfg.Fetch = func(ctx context.Context, offset, limit int) (page, error) {
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

// TestReadAhead_unequalPages walks a list whose pages differ in length, so that pages fetched ahead
// are not those that the walk requests. That costs requests, but not many, and no record.
func TestReadAhead_unequalPages(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{0, 1, 2, 4, 8, 16} {
		l := newList(9000)
		l.length = func(n int) int { return 100 - n*7%34 }
		cfg := l.config()
		cfg.Concurrency = concurrency
		got, err := l.walk(t, cfg)
		if err != nil || !slices.Equal(got, l.ids) || l.requests > 250 {
			t.Errorf("Concurrency %d: got %d records in %d requests, error %v, want 9000 in at most 250",
				concurrency, len(got), l.requests, err)
		}
	}
}

// TestReadAhead_growing adds records at the front of a list for each request, as new subscriptions
// come first. A walk with pages in flight ends like one without, and needs at most twice the
// requests, and Concurrency more.
func TestReadAhead_growing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		total int
		added int // for each request
		links links
	}{
		{name: "1 added", total: 1000, added: 1},
		{name: "2 added", total: 1000, added: 2},
		{name: "5 added", total: 1000, added: 5},
		{name: "5 added to a short list", total: 150, added: 5},
		{name: "5 added to a long list", total: 8000, added: 5},
		{name: "1 added, no links", total: 1000, added: 1, links: noLinks},
		{name: "2 added, no links", total: 1000, added: 2, links: noLinks},
		{name: "5 added, no links", total: 1000, added: 5, links: noLinks},
		{name: "5 added to a short list, no links", total: 150, added: 5, links: noLinks},
		{name: "5 added to a long list, no links", total: 8000, added: 5, links: noLinks},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for order := range uint64(10) {
				one := 0
				for concurrency := 1; concurrency <= 16; concurrency++ {
					l := newList(tt.total)
					l.links, l.change = tt.links, add(0, tt.added)
					if order > 0 { // otherwise the list is read in the order of the requests
						l.delay = randomDelays(order)
					}
					cfg := l.config()
					cfg.Concurrency = concurrency
					got, err := l.walk(t, cfg)
					if missing := lost(upTo(tt.total), got); err != nil || len(missing) > 0 {
						t.Errorf("order %d, Concurrency %d: error %v, %d records missing, want none",
							order, concurrency, err, len(missing))
					}
					if concurrency == 1 {
						one = l.requests
					}
					if most := 2*one + concurrency; l.requests > most {
						t.Errorf("order %d, Concurrency %d: %d requests, want at most %d",
							order, concurrency, l.requests, most)
					}
				}
			}
		})
	}
}

// TestReadAhead_growingAtRandom adds no record, one, or more for each request, so that the end of
// the list is never where it is expected.
func TestReadAhead_growingAtRandom(t *testing.T) {
	t.Parallel()
	for order := range uint64(40) {
		for _, concurrency := range []int{1, 2, 4, 16} {
			for most := 1; most <= 5; most += 2 {
				l := newList(250)
				random := rand.New(rand.NewPCG(order, uint64(most)))
				l.links, l.delay = noLinks, randomDelays(order)
				l.change = func(l *list) { add(0, random.IntN(most+1))(l) }
				cfg := l.config()
				cfg.Concurrency = concurrency
				got, err := l.walk(t, cfg)
				if missing := lost(upTo(250), got); err != nil || len(missing) > 0 || l.requests > 60 {
					t.Errorf("order %d, Concurrency %d, up to %d added: %d requests, error %v, %d records missing, "+
						"want at most 60 requests", order, concurrency, most, l.requests, err, len(missing))
				}
			}
		}
	}
}

// TestReadAhead_outrun adds about as many records for each request as a page has. A walk may give
// up, but only after few more than 6 requests for each page within reach, and it never ends without
// an error if a record is missing.
func TestReadAhead_outrun(t *testing.T) {
	t.Parallel()
	const most = 50 + 6*(10_100+100)/100
	for _, links := range []links{trueLinks, noLinks} {
		for _, added := range []int{50, 90, 100, 150} {
			t.Run(fmt.Sprintf("links %d, %d added", links, added), func(t *testing.T) {
				t.Parallel()
				for order := range uint64(4) {
					for _, concurrency := range []int{1, 2, 4, 16} {
						l := newList(1000)
						l.links, l.delay = links, randomDelays(order)
						l.change = func(l *list) {
							newest := slices.Repeat([]int{-1 - l.pages}, added) // add is too slow for so many
							for i := range newest {
								newest[i] = newest[i]*added - i
							}
							l.ids = slices.Concat(newest, l.ids)
						}
						cfg := l.config()
						cfg.Concurrency = concurrency
						got, err := l.walk(t, cfg)
						expected := errors.Is(err, ErrListDrift) || errors.Is(err, ErrOffsetLimit)
						if missing := lost(upTo(1000), got); !expected && (err != nil || len(missing) > 0) {
							t.Errorf("order %d, Concurrency %d: error %v, %d records missing", order, concurrency, err, len(missing))
						}
						if l.requests > most {
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
