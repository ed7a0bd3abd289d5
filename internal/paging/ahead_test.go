package paging

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// latency of each request to a still list.
const latency = 20 * time.Millisecond

// still is a list of the numbers from 0 to total that does not change. Its links
// say where it ends.
func still(total, concurrency int) *model {
	return newModel(&scenario{
		total: total, limit: 100, concurrency: concurrency, hints: honest,
		before: []time.Duration{latency}, after: []time.Duration{0},
	})
}

// made is the number of requests so far.
func (m *model) made() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests
}

// config is a walk over the model.
func (m *model) config() Config[record, int, int] {
	return Config[record, int, int]{
		Fetch: m.fetch, ID: func(r *record) int { return r.id },
		Offset: m.offset, Limit: m.limit, MaxOffset: 10_000, MaxLimit: 100, Concurrency: m.concurrency,
	}
}

func TestWalk_requests(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		total          int
		links, without int // requests, with links and without
	}{
		{name: "none", total: 0, links: 1, without: 1},
		{name: "one", total: 1, links: 1, without: 2},
		{name: "a short page", total: 99, links: 1, without: 2},
		{name: "a full page", total: 100, links: 2, without: 3},
		{name: "a full page and a short one", total: 150, links: 2, without: 3},
		{name: "two full pages", total: 199, links: 3, without: 4},
		{name: "three pages", total: 250, links: 3, without: 4},
		{name: "the last that shows its end without links", total: 10_000, links: 102, without: 103},
		{name: "the last that shows its end with links", total: 10_099, links: 103, without: 103},
		{name: "all in reach", total: 10_100, links: 103, without: 103},
	} {
		for _, concurrency := range []int{0, 1} {
			for hints, want := range map[hints]int{honest: tt.links, untold: tt.without} {
				m := still(tt.total, concurrency)
				m.hints = hints
				_, broken, _ := m.run(t)
				if broken != "" || m.requests != want {
					t.Errorf("%s, hints %d, concurrency %d: got %d requests, want %d; %s",
						tt.name, hints, concurrency, m.requests, want, broken)
				}
			}
		}
	}
}

// TestWalk_waste counts the requests that a walk makes beyond those needed.
func TestWalk_waste(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	for _, total := range []int{0, 1, 50, 100, 101, 198, 199, 250, 1000, 10_000} {
		for _, hints := range []hints{honest, untold} {
			sequential := still(total, 0)
			sequential.hints = hints
			if _, broken, _ := sequential.run(t); broken != "" {
				t.Error(broken)
			}
			fmt.Fprintf(&table, "\n%6d records, hints %d, %3d requests needed; wasted:", total, hints, sequential.requests)
			for _, concurrency := range []int{1, 4, 8} {
				m := still(total, concurrency)
				m.hints = hints
				_, broken, _ := m.run(t)
				wasted := m.requests - sequential.requests
				fmt.Fprintf(&table, " %d at Concurrency %d", wasted, concurrency)
				most := concurrency - 1
				if total < 199 {
					most = 0
				}
				if broken != "" || wasted > most {
					t.Errorf("%d records, hints %d, concurrency %d: got %d requests wasted, want at most %d; %s",
						total, hints, concurrency, wasted, most, broken)
				}
			}
		}
	}
	t.Log(table.String())
}

// TestWalk_window follows the number of requests in flight.
func TestWalk_window(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 2, 5, 16} {
		synctest.Test(t, func(t *testing.T) {
			m := still(5000, concurrency)
			handed := 0
			for _, err := range Walk(t.Context(), m.config()) {
				if err != nil {
					t.Fatal(err)
				}
				handed++
				time.Sleep(10 * latency) // all that is under way arrives, and nothing more is begun
				if rest := 51 - handed; m.made() != handed+min(handed, concurrency, rest) {
					t.Fatalf("concurrency %d: %d requests with page %d in hand", concurrency, m.made(), handed)
				}
			}
			if handed != 51 {
				t.Errorf("%d pages", handed)
			}
		})
	}
}

// TestWalk_time shows that pages are read side by side, and the next one while
// the consumer works.
func TestWalk_time(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		concurrency int
		work        time.Duration // of the consumer, a page
		rounds      int           // of latency
	}{
		{0, 0, 102}, {1, 0, 102}, {4, 0, 28}, {8, 0, 16},
		{0, latency, 2*102 - 1}, {1, latency, 102},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := still(10_000, tt.concurrency)
			start := time.Now()
			for _, err := range Walk(t.Context(), m.config()) {
				if err != nil {
					t.Error(err)
				}
				time.Sleep(tt.work)
			}
			if took := time.Since(start).Truncate(latency / 2); took != time.Duration(tt.rounds)*latency {
				t.Errorf("concurrency %d, work %v: took %v, want %d rounds of %v", tt.concurrency, tt.work, took, tt.rounds, latency)
			}
		})
	}
}

// TestWalk_break ends walks at each page: by break, by a panic of the consumer and
// by cancelling. Nothing goes on after that.
func TestWalk_break(t *testing.T) {
	t.Parallel()
	const pages = 12
	ends := map[string]func(cancel context.CancelFunc) bool{
		"break":  func(context.CancelFunc) bool { return false },
		"panic":  func(context.CancelFunc) bool { panic("enough") },
		"cancel": func(cancel context.CancelFunc) bool { cancel(); return true },
	}
	for name, end := range ends {
		for _, concurrency := range []int{0, 1, 4, 16} {
			for at := 1; at <= pages; at++ {
				t.Run(fmt.Sprint(name, " at page ", at, " concurrency ", concurrency), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						m := still(99*pages, concurrency)
						handed, last := 0, error(nil)
						func() {
							defer func() {
								if p := recover(); p != nil && p != "enough" {
									t.Errorf("panic: %v", p)
								}
							}()
							for _, err := range Walk(ctx, m.config()) {
								if last = err; err != nil {
									continue
								}
								if handed++; handed == at && !end(cancel) {
									break
								}
							}
						}()
						if m.inFlight != 0 {
							t.Errorf("%d requests in flight after the end", m.inFlight)
						}
						requests := m.requests
						time.Sleep(time.Minute)
						if m.requests != requests {
							t.Errorf("%d requests after the end", m.requests-requests)
						}
						if most := at + min(at, concurrency); requests > most {
							t.Errorf("%d requests, more than %d", requests, most)
						}
						cancelled := name == "cancel" && at < pages
						if handed != at || errors.Is(last, context.Canceled) != cancelled {
							t.Errorf("%d pages, error %v", handed, last)
						}
					})
				})
			}
		}
	}
}

// TestWalk_errors makes each request fail in turn. The pages before it come
// first, and then the error, and nothing after it.
func TestWalk_errors(t *testing.T) {
	t.Parallel()
	fault := errors.New("fault")
	for _, concurrency := range []int{0, 1, 4, 16} {
		for at := range 12 {
			t.Run(fmt.Sprint("page ", at, " concurrency ", concurrency), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					m := still(99*12, concurrency)
					cfg := m.config()
					cfg.Fetch = func(ctx context.Context, offset, limit int) (Page[record, int], error) {
						if offset == 99*at {
							m.mu.Lock()
							defer m.mu.Unlock()
							m.requests++
							return Page[record, int]{}, fault // before those that were asked for before it
						}
						return m.fetch(ctx, offset, limit)
					}
					var got []record
					var stop *Error
					requests := 0
					for page, err := range Walk(t.Context(), cfg) {
						if stop != nil {
							t.Fatal("the walk goes on after an error")
						}
						if err != nil && (!errors.As(err, &stop) || !errors.Is(err, fault)) {
							t.Fatal(err)
						}
						got = append(got, page.Items...)
						requests = m.made()
					}
					time.Sleep(time.Minute)
					want := min(at*99+1, at*100)
					if stop == nil || stop.Seen != want || stop.Offset != want || !slices.Equal(got, m.first[:want]) {
						t.Errorf("%d records, stop %+v", len(got), stop)
					}
					if m.requests != requests || m.inFlight != 0 {
						t.Errorf("%d requests after the error, %d in flight", m.requests-requests, m.inFlight)
					}
				})
			})
		}
	}
}

// TestWalk_fetchPanics shows that a panic of a fetch can be recovered from by who
// ranges, wherever it was made, and that a fetch that ends its goroutine does not
// hold up the walk.
func TestWalk_fetchPanics(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			m := still(2000, concurrency)
			cfg := m.config()
			exit := func() { panic("broken fetch") }
			cfg.Fetch = func(ctx context.Context, offset, limit int) (Page[record, int], error) {
				if offset > 900 {
					exit()
				}
				return m.fetch(ctx, offset, limit)
			}
			walk := func() (pages int, recovered any, last error) {
				defer func() { recovered = recover() }()
				for _, err := range Walk(t.Context(), cfg) {
					if last = err; err == nil {
						pages++
					}
				}
				return
			}
			if pages, recovered, _ := walk(); pages != 10 || recovered != "broken fetch" {
				t.Errorf("%d pages, recovered %v", pages, recovered)
			}
		})
	}
}

// TestWalk_pagesOfOddLength walks a list whose pages differ in length, so that what
// was read ahead does not fit: it costs requests, but bounded ones, and no record.
func TestWalk_pagesOfOddLength(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{0, 1, 2, 4, 8, 16} {
		m := still(9000, concurrency)
		m.hints, m.whim = honest, variesLength
		got, broken, end := m.run(t)
		if broken != "" || end != nil || len(got) != 9000 {
			t.Errorf("concurrency %d: %d records, %s, end %v", concurrency, len(got), broken, end)
		}
		if m.requests > 250 {
			t.Errorf("concurrency %d: %d requests", concurrency, m.requests)
		}
	}
}

// TestWalk_shortPages walks a list that gives short pages in the middle, and says
// that there is more.
func TestWalk_shortPages(t *testing.T) {
	t.Parallel()
	m := still(400, 1)
	cfg := m.config()
	cfg.Fetch = func(ctx context.Context, offset, limit int) (Page[record, int], error) {
		page, err := m.fetch(ctx, offset, limit)
		page.Next = NextExists
		if offset+len(page.Items) >= 400 {
			page.Next = NextNone
		} else if offset > 0 {
			page.Items = page.Items[:min(60, len(page.Items))]
		}
		return page, err
	}
	synctest.Test(t, func(t *testing.T) {
		n := 0
		for page, err := range Walk(t.Context(), cfg) {
			if err != nil {
				t.Error(err)
			}
			n += len(page.Items)
		}
		if n != 400 {
			t.Errorf("%d of 400 records", n)
		}
	})
}

// TestWalk_budgetAtTheEnd walks on from the end of a list that says that there is
// more, and changes all the time. It must give up after few requests.
func TestWalk_budgetAtTheEnd(t *testing.T) {
	t.Parallel()
	m := still(118, 0)
	m.offset, m.limit, m.hints = 118, 40, alwaysNext
	m.churn = [][]change{{{add: true}, {add: true}}, {{at: .5}, {at: .5}}, {}, {}}
	_, broken, end := m.run(t)
	if broken != "" || !errors.Is(end, ErrListDrift) || m.requests > 530 {
		t.Errorf("got %d requests, %s, end %v, want at most 530, %v", m.requests, broken, end, ErrListDrift)
	}
}
