package paging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// dated is a record with times.
type dated struct{ id, created, updated int }

type datedPage = testPage[dated]

// orders are what a list may be sorted by.
var orders = []struct {
	name    string
	compare func(a, b dated) int
	isFound bool // a walk notices what the order does
	// isProven: by the ids or the times of creation.
	isProven bool
}{
	{name: "created", compare: byCreated, isFound: true, isProven: true},
	{name: "created, newest first", compare: reverse(byCreated), isFound: true, isProven: true},
	{name: "id", compare: byID, isFound: true, isProven: true},
	{name: "id, last first", compare: reverse(byID), isFound: true, isProven: true},
	{name: "updated", compare: byUpdated, isFound: true},
	{name: "updated, last first", compare: reverse(byUpdated), isFound: true},
	{name: "a name that changes", compare: func(a, b dated) int { return a.updated*7919%997 - b.updated*7919%997 }},
}

func createdOf(r dated) int    { return r.created }
func byCreated(a, b dated) int { return a.created - b.created }
func byID(a, b dated) int      { return a.id - b.id }
func byUpdated(a, b dated) int { return a.updated - b.updated }

func always(n int) func(dated) int { return func(dated) int { return n } }

func reverse(compare func(a, b dated) int) func(a, b dated) int {
	return func(a, b dated) int { return compare(b, a) }
}

// datedList is a store with one list, in which records change.
type datedList struct {
	mu       sync.Mutex
	records  []dated
	compare  func(a, b dated) int
	random   *rand.Rand
	changes  float64 // part of the records that change after each request
	now      int
	requests int
	before   func(offset int) // a request of walk reads the list
	after    func(offset int) // a request has read it
}

func newDatedList(total int, compare func(a, b dated) int, seed uint64) *datedList {
	l := &datedList{compare: compare, random: rand.New(rand.NewPCG(seed, 0)), now: 10 * total}
	for i, id := range l.random.Perm(total) {
		l.records = append(l.records, dated{id: id, created: i + 1, updated: 1 + l.random.IntN(10*total)})
	}
	return l
}

// page returns a page of the records that are wanted, and then changes some.
func (l *datedList) page(isWanted func(dated) bool, offset, limit int) (*datedPage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	slices.SortFunc(l.records, func(a, b dated) int { return cmp.Or(l.compare(a, b), a.id-b.id) })
	list := slices.DeleteFunc(slices.Clone(l.records), func(r dated) bool { return !isWanted(r) })
	end := min(offset+limit, len(list))
	p := &datedPage{Items: list[min(offset, end):end], Next: trueLinks.next(end == len(list), false)}
	if l.after != nil {
		l.after(offset)
	}
	for n := l.changes * float64(len(l.records)); n > 0 && l.random.Float64() < n; n-- {
		l.now++
		i := l.random.IntN(len(l.records))
		if l.records[i].updated = l.now; l.random.IntN(4) == 0 { // removed, and another one is added
			l.records[i] = dated{id: l.now, created: l.now, updated: l.now}
		}
	}
	return p, nil
}

// timeAt returns the zero time for 0.
func timeAt(n int) time.Time { return time.Time{}.Add(time.Duration(n)) }

// datedPages are those of a walk that looks at the order.
func datedPages() Pages[*datedPage, int] {
	pages := testPages(dated.number)
	pages.Compare = cmp.Compare[int]
	pages.Times = func(p *datedPage, i int) (created, updated time.Time) {
		return timeAt(p.Items[i].created), timeAt(p.Items[i].updated)
	}
	return pages
}

func (r dated) number() int { return r.id }

// walk walks the list.
func (l *datedList) walk(
	ctx context.Context, pages Pages[*datedPage, int], concurrency int,
) iter.Seq2[*datedPage, error] {
	return Walk(ctx, Config[*datedPage, int]{
		Fetch: func(_ context.Context, offset, limit int) (*datedPage, error) {
			if l.before != nil {
				l.before(offset)
			}
			return l.page(func(dated) bool { return true }, offset, limit)
		},
		Pages: pages, Limit: 100, MaxOffset: 10_000, MaxLimit: 100, Concurrency: concurrency,
	})
}

// byKey walks the list by four keys.
func (l *datedList) byKey(
	ctx context.Context, pages Pages[*datedPage, int], concurrency int,
) iter.Seq2[*datedPage, error] {
	keys := newKeyedList(4, each(0))
	cfg := keys.config(concurrency)
	return Parts(ctx, PartsConfig[*datedPage, int, int]{
		KeyList: cfg.KeyList, MaxKeys: 4, TooManyKeys: cfg.TooManyKeys, Concurrency: concurrency,
		Fetch: func(_ context.Context, keys []int, offset, limit int) (*datedPage, error) {
			return l.page(func(r dated) bool { return slices.Contains(keys, 1+r.id%4) }, offset, limit)
		},
		OfOneKey: func(err error) bool { return errors.Is(err, ErrListDrift) },
		Finish:   func(*datedPage, int) {},
		Pages:    pages, Limit: 100, MaxOffset: 10_000, MaxLimit: 100,
	})
}

// collect returns the ids of the records that a walk yields, and its error.
func collect(t *testing.T, pages iter.Seq2[*datedPage, error]) (seen map[int]bool, last error) {
	t.Helper()
	seen = map[int]bool{}
	for p, err := range pages {
		if last = err; err != nil {
			continue // it must be the last value
		}
		for _, r := range p.Items {
			if seen[r.id] {
				t.Errorf("record %d was yielded twice", r.id)
			}
			seen[r.id] = true
		}
	}
	return seen, last
}

// datedWalk is a walk over a list, in which this part of the records changes after each request.
type datedWalk struct {
	compare     func(a, b dated) int
	changes     float64
	byKey       bool
	concurrency int
}

// datedResult counts walks that lost records without an error, and walks that ended in an error.
type datedResult struct{ losing, stopped, requests int }

// run walks so many lists.
func (w *datedWalk) run(t *testing.T, walks int, with Pages[*datedPage, int]) (r datedResult) {
	t.Helper()
	const total = 600
	for seed := range uint64(walks) {
		l := newDatedList(total, w.compare, seed)
		l.changes = w.changes
		pages := l.walk(t.Context(), with, w.concurrency)
		if w.byKey {
			pages = l.byKey(t.Context(), with, w.concurrency)
		}
		seen, stop := collect(t, pages)
		switch {
		case stop != nil:
			r.stopped++
		case slices.ContainsFunc(l.records, func(r dated) bool { return r.id < total && !seen[r.id] }):
			r.losing++
		}
		r.requests += l.requests
	}
	return r
}

// TestOrder walks lists in all orders. Without a look at the order, walks over a list that is
// sorted by the last change lose records. With it, none does, and if another order is proven, it
// costs no request.
func TestOrder(t *testing.T) {
	t.Parallel()
	walks := 16
	if testing.Short() {
		walks = 2
	}
	for _, order := range orders {
		for _, changes := range []float64{0, 0.002, 0.01, 0.05} {
			for n := range 4 {
				w := datedWalk{compare: order.compare, changes: changes, byKey: n > 1, concurrency: 1 + 7*(n%2)}
				without, with := w.run(t, walks, testPages(dated.number)), w.run(t, walks, datedPages())
				what := fmt.Sprintf("%s, %g %% changed, by key %t, concurrency %d: before %v, now %v of %d walks",
					order.name, 100*changes, w.byKey, w.concurrency, without, with, walks)
				t.Log(what)
				if order.isFound && (with.losing > 0 || with.stopped > 0 && changes <= 0.01) {
					t.Errorf("lost records, or ended in an error: %s", what)
				}
				if order.isProven && w.concurrency == 1 && with.requests != without.requests {
					t.Errorf("more requests: %s", what)
				}
			}
		}
	}
}

// A list that was never changed is sorted by each of the times. One more request shows that it
// still is. None is needed if one page has it all, or the last change is at the end, or there are
// no times.
func TestOrder_neverChanged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		total   int
		compare func(a, b dated) int
		updated func(r dated) int
		want    int
	}{
		{name: "newest first", total: 250, compare: reverse(byCreated), updated: createdOf, want: 4},
		{name: "newest last", total: 250, compare: byCreated, updated: createdOf, want: 3},
		{name: "a page", total: 99, compare: reverse(byCreated), updated: createdOf, want: 1},
		{name: "all at once", total: 250, compare: byCreated, updated: always(1), want: 4},
		{name: "no times", total: 250, compare: byCreated, updated: always(0), want: 3},
	} {
		l := newDatedList(tt.total, tt.compare, 1)
		for i, r := range l.records {
			l.records[i].updated = tt.updated(r)
		}
		_, err := collect(t, l.walk(t.Context(), datedPages(), 1))
		if l.requests != tt.want || err != nil {
			t.Errorf("%s: %d requests, error %v, want %d", tt.name, l.requests, err, tt.want)
		}
	}
}

// The store reads the list for the last page before it does so for the page before. In between, a
// record moves from the one to the other. It is not lost.
func TestOrder_lastPageAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newDatedList(450, byUpdated, 1)
		for i, r := range l.records {
			l.records[i].updated = r.created
		}
		l.before = func(offset int) {
			if offset == 297 {
				time.Sleep(latency)
			}
		}
		l.after = func(offset int) {
			if offset == 396 {
				l.records[350].updated, l.after = 10_000, nil
			}
		}
		seen, err := collect(t, l.walk(t.Context(), datedPages(), 8))
		if len(seen) != 450 || err != nil || l.after != nil {
			t.Errorf("got %d of 450 records, error %v, changed: %t", len(seen), err, l.after == nil)
		}
	})
}

// More records than a page has moved to the start behind the walk. It looks again from the newest
// one on that it has seen, and not from where the walk began: else it would look without end.
func TestOrder_manyMoved(t *testing.T) {
	t.Parallel()
	l := newDatedList(600, reverse(byUpdated), 1)
	l.after = func(offset int) {
		if offset > 300 {
			for i := 450; i < 600; i++ {
				l.now++
				l.records[i].updated = l.now
			}
			l.after = nil
		}
	}
	seen, err := collect(t, l.walk(t.Context(), datedPages(), 1))
	if len(seen) != 600 || err != nil || l.requests != 12 {
		t.Errorf("got %d records by %d requests, error %v, want 600 by 12", len(seen), l.requests, err)
	}
}

// A list that changes faster than it can be read ends the walk in an error, which begins again.
func TestOrder_fast(t *testing.T) {
	t.Parallel()
	l := newDatedList(600, reverse(byUpdated), 1)
	l.changes = 0.4
	seen, err := collect(t, l.walk(t.Context(), datedPages(), 1))
	stop, ok := errors.AsType[*Error](err)
	if !ok || !errors.Is(stop, errSortedByChange) || stop.Offset != 0 || stop.Seen != len(seen) {
		t.Errorf("error %+v after %d records, want errSortedByChange, Offset 0", err, len(seen))
	}
	if l.requests != 71 {
		t.Errorf("%d requests, want those of a walk and 10 looks", l.requests)
	}
}

// A walk that stops begins again at 0, whatever it had read: all that changed meanwhile is there.
func TestOrder_stops(t *testing.T) {
	t.Parallel()
	for n := range 12 {
		ctx, cancel := context.WithCancel(t.Context())
		l := newDatedList(600, reverse(byUpdated), 1)
		l.changes = 0.1
		l.after = func(int) {
			if l.requests == 1+n {
				cancel()
			}
		}
		seen, err := collect(t, l.walk(ctx, datedPages(), 1))
		stop, ok := errors.AsType[*Error](err)
		if !ok || stop.Err != context.Canceled || stop.Offset != 0 || stop.Seen != len(seen) {
			t.Errorf("after %d requests: %+v after %d records, want Offset 0 and the cause", 1+n, err, len(seen))
		}
	}
}

// Records that changed at the time of the newest one are behind the walk too, and so are those
// after records without a time. Without times of creation, only those of the change show the order.
func TestOrder_sameTime(t *testing.T) {
	t.Parallel()
	const total = 600
	nullsFirst := func(a, b dated) int {
		return cmp.Or(min(1, a.updated)-min(1, b.updated), byUpdated(b, a))
	}
	for name, tt := range map[string]struct {
		compare func(a, b dated) int
		without int // each record with such a number has no time
		change  func(l *datedList)
	}{
		"at once": {compare: reverse(byUpdated), change: func(l *datedList) {
			newest := l.records[0].updated
			for i := range 250 {
				l.records[total-1-i].updated = newest
			}
		}},
		"without a time": {compare: nullsFirst, without: 3, change: func(l *datedList) {
			for i := range 5 {
				l.records[total-1-i].updated = l.now + i
			}
		}},
	} {
		l := newDatedList(total, tt.compare, 1)
		for i := range l.records {
			if l.records[i].created = 0; tt.without > 0 && i%tt.without == 0 {
				l.records[i].updated = 0
			}
		}
		l.after = func(int) {
			if l.requests == 4 {
				tt.change(l)
			}
		}
		seen, err := collect(t, l.walk(t.Context(), datedPages(), 1))
		if len(seen) != total || err != nil || l.requests > 13 {
			t.Errorf("%s: got %d of %d records after %d requests, error %v", name, len(seen), total, l.requests, err)
		}
	}
}
