package paging

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestWalk_requests reads lists that do not change. It counts requests, which the rate limit of a
// store makes expensive. Reading ahead wastes none on a list of less than two pages, and at most
// Concurrency-1 on a longer one.
func TestWalk_requests(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		total, length  int // length: maximum length of a page
		links, noLinks int // requests that are needed
	}{
		{name: "no records", total: 0, links: 1, noLinks: 1},
		{name: "one record", total: 1, links: 1, noLinks: 2},
		{name: "a short page", total: 99, links: 1, noLinks: 2},
		{name: "a full page", total: 100, links: 2, noLinks: 3},
		{name: "a full page and one record", total: 101, links: 2, noLinks: 3},
		{name: "a full page and a short one", total: 198, links: 2, noLinks: 3},
		{name: "two full pages", total: 199, links: 3, noLinks: 4},
		{name: "three pages", total: 250, links: 3, noLinks: 4},
		{name: "eleven pages", total: 1000, links: 11, noLinks: 12},
		{name: "pages of 25", total: 240, length: 25, links: 10, noLinks: 12},
		{name: "the longest list that shows its end without links", total: 10_000, links: 102, noLinks: 103},
		{name: "the longest list that shows its end with links", total: 10_099, links: 103, noLinks: 103},
		{name: "all within reach, with one request that proves it", total: 10_100, links: 104, noLinks: 103},
	} {
		for links, want := range map[links]int{trueLinks: tt.links, noLinks: tt.noLinks} {
			for _, concurrency := range []int{0, 1, 4, 8} {
				l := newList(tt.total)
				l.links = links
				l.length = func(int) int { return cmp.Or(tt.length, 100) }
				cfg := l.config()
				cfg.Concurrency = concurrency
				got, err := l.walk(t, cfg)
				if tt.total <= 10_000 && (err != nil || !slices.Equal(got, l.ids)) {
					t.Errorf("%s, links %d, Concurrency %d: got %d, error %v", tt.name, links, concurrency, len(got), err)
				}
				most := want
				if tt.total >= 199 && tt.total < 10_099 { // from 10,099 on, there is no page after the last
					most += max(0, concurrency-1)
				}
				if l.requests < want || l.requests > most {
					t.Errorf("%s, links %d, Concurrency %d: %d requests, want %d to %d",
						tt.name, links, concurrency, l.requests, want, most)
				}
			}
		}
	}
}

// lengths are the maximum lengths of the pages. The last one stays.
func lengths(lengths ...int) func(n int) int {
	return func(n int) int { return lengths[min(n, len(lengths)-1)] }
}

// add returns a change that adds n new records, with negative ids, at an index.
func add(at, n int) func(l *list) {
	return func(l *list) {
		added := make([]int, n)
		for i := range added {
			l.added++
			added[i] = -l.added
		}
		l.ids = slices.Insert(l.ids, min(at, len(l.ids)), added...)
	}
}

// remove returns a change that removes at most n records from an index on.
func remove(at, n int) func(l *list) {
	return func(l *list) { l.ids = slices.Delete(l.ids, min(at, len(l.ids)), min(at+n, len(l.ids))) }
}

// replace returns a change that replaces the first n records.
func replace(n int) func(l *list) {
	return func(l *list) {
		remove(0, n)(l)
		add(0, n)(l)
	}
}

// after returns a change that happens once, after page n.
func after(n int, change func(l *list)) func(l *list) {
	return func(l *list) {
		if l.pages == n {
			change(l)
		}
	}
}

// walkTest is a walk over a list. Each record that stays in it must be yielded, or the walk must
// end in wantErr.
type walkTest struct {
	name          string
	total         int // records in the list at first
	offset, limit int
	length        func(n int) int // maximum length of page n; nil: as requested
	links         links
	change        func(l *list) // after each page
	alter         func(r request, p page) page
	requests      int // at most; 0: not checked
	want          int // records in their order, if the list does not change
	added         int // new records that are yielded
	wantErr       error
}

// check makes the walk. Rows may leave out what most rows of their table have in common: total and
// limit.
func (tt *walkTest) check(t *testing.T, total, limit int) {
	t.Helper()
	tt.total = cmp.Or(tt.total, total)
	l := newList(tt.total)
	l.links, l.length, l.change, l.alter = tt.links, tt.length, tt.change, tt.alter
	cfg := l.config()
	cfg.Offset, cfg.Limit = tt.offset, cmp.Or(tt.limit, limit)
	got, err := l.walk(t, cfg)
	if tt.requests > 0 && l.requests > tt.requests || !errors.Is(err, tt.wantErr) {
		t.Errorf("%d requests, error %v, want at most %d, %v", l.requests, err, tt.requests, tt.wantErr)
	}
	if tt.change == nil {
		if want := upTo(tt.offset + tt.want)[tt.offset:]; !slices.Equal(got, want) {
			t.Errorf("got %d records, want %d in their order", len(got), len(want))
		}
		if stop, ok := errors.AsType[*Error](err); ok && stop.Offset != tt.offset+tt.want {
			t.Errorf("Offset = %d of %v, want %d", stop.Offset, err, tt.offset+tt.want)
		}
		return
	}
	missing, added := lost(lost(l.staying(tt.total), upTo(tt.offset)), got), lost(got, upTo(tt.total)[tt.offset:])
	if err == nil && (len(missing) > 0 || len(added) != tt.added) {
		t.Errorf("%d new records, want %d; missing of those that stay: %v", len(added), tt.added, missing)
	}
}

func testWalks(t *testing.T, total, limit int, tests []walkTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.check(t, total, limit)
		})
	}
}

func TestWalk_offsetLimit(t *testing.T) {
	t.Parallel()
	testWalks(t, 0, 100, []walkTest{
		{name: "all but one of those within reach", total: 10_099, want: 10_099},
		{name: "all but one by 30", total: 10_099, limit: 30, want: 10_099},
		{name: "last page by 30", total: 10_030, limit: 30, want: 10_030},
		{name: "one on the last page", total: 10_001, limit: 1, want: 10_001},
		{name: "none on the last page", total: 10_000, limit: 2, want: 10_000},
		{name: "none on the last page, no links", total: 10_000, limit: 2, links: noLinks, want: 10_000},
		{name: "all within reach", total: 10_100, limit: 30, want: 10_100},
		{name: "more than within reach", total: 10_101, want: 10_100, wantErr: ErrOffsetLimit},
		// Links that stop at the highest offset prove nothing there.
		{name: "10,000, capped links", total: 10_000, links: cappedNext, want: 10_000},
		{name: "10,099, capped links", total: 10_099, links: cappedNext, want: 10_099},
		{name: "10,100, capped links", total: 10_100, links: cappedNext, want: 10_100, wantErr: ErrOffsetLimit},
		{name: "10,101, capped links", total: 10_101, links: cappedNext, want: 10_100, wantErr: ErrOffsetLimit},
		{name: "10,100, no next page ever", total: 10_100, links: neverNext, want: 10_100, wantErr: ErrOffsetLimit},
		{
			name: "10,100, no link after a page of 99", total: 10_100, want: 10_100, wantErr: ErrOffsetLimit,
			alter: func(r request, p page) page {
				if r.limit == 99 {
					p.Next = NextUnknown
				}
				return p
			},
		},
		{name: "10,100, always a next page", total: 10_100, links: alwaysNext, want: 10_100, wantErr: ErrOffsetLimit},
		{name: "pages of 25", total: 10_010, length: lengths(25), want: 10_010},
		{name: "pages of 25, too many", total: 10_099, length: lengths(25), want: 10_025, wantErr: ErrOffsetLimit},
		{name: "start at the limit", total: 10_050, offset: 10_000, want: 50},
		{name: "start at the limit, one record", total: 10_001, offset: 10_000, limit: 2, want: 1},
		{name: "start at the limit, full page", total: 10_100, offset: 10_000, limit: 2, want: 100},
		{name: "start after the end", total: 9_000, offset: 10_000},
		{name: "start after the end, no links", total: 9_000, offset: 10_000, links: noLinks},
		// Without links, a short last page is the end only if all pages before it were full: then
		// the store does not shorten pages.
		{name: "10,001, no links", total: 10_001, links: noLinks, want: 10_001},
		{name: "10,002, no links", total: 10_002, links: noLinks, want: 10_002},
		{name: "10,099, no links", total: 10_099, links: noLinks, want: 10_099},
		{name: "10,100, no links", total: 10_100, links: noLinks, want: 10_100, wantErr: ErrOffsetLimit},
		{
			name: "pages of 25, no links", total: 10_099, length: lengths(25), links: noLinks,
			want: 10_025, wantErr: ErrOffsetLimit,
		},
		{name: "25, no links", total: 10_024, length: lengths(25), links: noLinks, want: 10_024, wantErr: ErrOffsetLimit},
		{name: "50, no links", total: 10_050, offset: 10_000, limit: 9, links: noLinks, want: 50, wantErr: ErrOffsetLimit},
	})
}

// The lists have 500 records, which are read by 20. A walk needs few requests more than the 27 for
// a list that does not change.
func TestWalk_changes(t *testing.T) {
	t.Parallel()
	testWalks(t, 500, 20, []walkTest{
		{name: "nothing", want: 500, requests: 27},
		{name: "nothing, no links", links: noLinks, want: 500, requests: 28},
		{name: "one removed", change: remove(0, 1), requests: 32},
		{name: "one removed, no links", links: noLinks, change: remove(0, 1), requests: 37},
		{name: "ten removed", change: remove(0, 10), requests: 37},
		{name: "thirty removed", change: remove(0, 30), requests: 16},
		{name: "the anchor removed", change: func(l *list) { remove(19*l.pages, 1)(l) }, requests: 28},
		{name: "last ten removed", change: func(l *list) { remove(max(0, len(l.ids)-10), 10)(l) }, requests: 18},
		{name: "many removed at once", change: after(5, remove(0, 90)), requests: 45},
		{name: "all but one removed at once", change: after(5, remove(0, 499)), requests: 14},
		{name: "all removed at once", change: after(5, remove(0, 500)), requests: 14},
		{name: "all that was read replaced at once", change: after(5, replace(96)), requests: 55, added: 96},
		{name: "one added", change: add(0, 1), requests: 28},
		{name: "one added, no links", links: noLinks, change: add(0, 1), requests: 30},
		{name: "ten added", change: add(0, 10), requests: 55},
		{name: "many added at once", change: after(5, add(0, 90)), requests: 32},
		{
			name: "many added at once, each page says that there is no next one", links: neverNext,
			change: after(5, add(0, 90)), requests: 33,
		},
		{name: "one added near the end", change: add(480, 1), requests: 28, added: 25},
		{name: "one added at the end", change: add(1000, 1), requests: 28, added: 27},
		{name: "order reversed", change: func(l *list) { slices.Reverse(l.ids) }, requests: 88, wantErr: ErrListDrift},
		{name: "all replaced each time", change: replace(500), requests: 86, wantErr: ErrListDrift},

		// Records from before the start of the walk may come into its pages, and must not be
		// yielded.
		{name: "many added, start at 250", offset: 250, change: after(2, add(0, 45)), requests: 16},
		{name: "many removed, start at 250", offset: 250, change: after(5, remove(0, 90)), requests: 23},
		{name: "all removed, start at 250", offset: 250, change: after(2, remove(0, 500)), requests: 12},
		{
			name: "all replaced, start at 250", offset: 250, change: after(2, replace(500)),
			requests: 12, wantErr: ErrListDrift,
		},
		{
			name: "after a page of one, all that comes next is removed", total: 300, limit: 100, length: lengths(100, 1, 100),
			change: after(2, remove(0, 210)),
		},
		{name: "each page is new", total: 200, limit: 2, change: replace(200), requests: 20_200, wantErr: ErrListDrift},
		{
			name: "around the end", total: 118, offset: 118, limit: 40, links: alwaysNext,
			change: func(l *list) {
				switch l.pages % 4 {
				case 1:
					add(0, 2)(l)
				case 2:
					remove(60, 2)(l)
				}
			},
			requests: 530, wantErr: ErrListDrift,
		},
	})
}

// So many records are added that a page ends with the last record of the walk, which is not the
// end.
func TestWalk_seemsToEnd(t *testing.T) {
	t.Parallel()
	testWalks(t, 500, 20, []walkTest{
		{
			name: "after a page of one, as many added as are on the next page, no links", links: noLinks,
			length: lengths(20, 20, 20, 20, 20, 20, 1, 12, 20), change: after(7, add(0, 12)),
		},
		{
			name: "three times, so many added that the next page stops at the last record, no links", links: noLinks,
			length: lengths(20, 20, 20, 20, 20, 12, 20, 12, 20),
			change: func(l *list) { add(0, map[int]int{6: 19, 7: 11, 8: 31}[l.pages])(l) },
		},
		{
			name: "two pages of one length, which prove nothing, no links", total: 300, links: noLinks, requests: 24,
			length: lengths(20, 20, 20, 20, 20, 20, 16, 16, 16, 16, 16, 16, 20),
			change: func(l *list) { add(0, map[int]int{6: 20, 7: 17, 8: 32, 9: 25, 10: 15}[l.pages])(l) },
		},
	})
}

// A walk reaches the end if records near it go, and if more are added than the walk reads.
func TestWalk_changesAtEnd(t *testing.T) {
	t.Parallel()
	testWalks(t, 58, 10, []walkTest{
		{
			name: "for 80 requests more are added than a page has", total: 14, length: lengths(2), added: 240,
			change: func(l *list) { add(0, max(0, min(3, 3*(81-l.pages))))(l) },
		},
		{name: "the last records go when the walk has read most", links: neverNext, change: after(6, remove(42, 23))},
		{
			name: "the last ones go, others come, and pages are short", total: 9, limit: 4, length: lengths(3, 2), added: 1,
			change: after(5, func(l *list) { remove(6, 12)(l); add(3, 4)(l) }),
		},
		{
			name: "the last ones go twice, and pages have one record", total: 12, limit: 4, length: lengths(4, 1),
			change: func(l *list) { after(2, remove(7, 10))(l); after(4, remove(4, 8))(l) },
		},
	})
}

// The pages of lists of 300 records by 100 are wrong or too short to overlap.
func TestWalk_wrongPages(t *testing.T) {
	t.Parallel()
	// oldEnd returns earlier records, instead of the last page of 250, so many times.
	oldEnd := func(times int) func(request, page) page {
		return func(r request, p page) page {
			if n := len(p.Items); r.start+n == 250 && times > 0 {
				times--
				p.Items = upTo(98 + n)[98:]
			}
			return p
		}
	}
	onePageOfOne := func(n int) int { return 100 - 99*((n+1)%5/4) }
	testWalks(t, 300, 100, []walkTest{
		{name: "one page of 1", total: 1000, length: onePageOfOne, want: 1000},
		{name: "one page of 1, no links", total: 1000, length: onePageOfOne, links: noLinks, want: 1000},
		{name: "limit 1, no links", limit: 1, links: noLinks, want: 300},
		{name: "each says that there is a next one", links: alwaysNext, want: 300, requests: 8, wantErr: ErrNoProgress},
		{name: "one of two", total: 2, length: lengths(1), links: noLinks, want: 1, wantErr: ErrNoProgress},
		{name: "one always", length: lengths(1), links: noLinks, want: 1, requests: 7, wantErr: ErrNoProgress},
		{name: "one after full pages", length: lengths(100, 100, 1), links: noLinks, want: 199, wantErr: ErrNoProgress},
		{name: "one after short pages", length: lengths(50, 50, 1), links: noLinks, want: 99, wantErr: ErrNoProgress},
		{name: "one after pages of 2", length: lengths(2, 2, 1), links: noLinks, want: 3, wantErr: ErrNoProgress},
		{name: "one after different pages", length: lengths(99, 3, 7, 1), links: noLinks, want: 107, wantErr: ErrNoProgress},
		{name: "one after a short page", length: lengths(100, 50, 1), want: 149, wantErr: ErrNoProgress},
		{name: "a short page in the middle", length: lengths(100, 60, 100), want: 300},
		{name: "an old page at the end, once", total: 250, alter: oldEnd(1), want: 250, requests: 5},
		{name: "an old page at the end, twice", total: 250, alter: oldEnd(2), want: 250, requests: 7},
		{
			name: "an old page at the end, always", total: 250, alter: oldEnd(9), want: 249, requests: 11,
			wantErr: ErrNoProgress,
		},
		{
			name:  "the offset is ignored",
			alter: func(_ request, p page) page { p.Items = upTo(100); return p },
			want:  100, wantErr: ErrNoProgress,
		},
		{
			name:    "always empty, but there is a next page",
			alter:   func(request, page) page { return page{Next: NextExists} },
			wantErr: ErrNoProgress,
		},
		{
			name: "empty after the first page, but there is a next page",
			alter: func(r request, p page) page {
				if r.start > 0 {
					p.Items, p.Next = nil, NextExists
				}
				return p
			},
			want: 100, wantErr: ErrListDrift,
		},
	})
}

// A store shows a record twice in a page, in place of another one. A walk reads such a page again,
// so that it does not miss the other one. If it cannot, it ends in an error.
func TestWalk_twice(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{0, 4} {
		for n := range 60 {
			random := rand.New(rand.NewPCG(uint64(n), 0))
			l := newList(300)
			l.alter = func(_ request, p page) page {
				if len(p.Items) > 1 && random.IntN(4) == 0 {
					p.Items = slices.Clone(p.Items)
					i := 1 + random.IntN(len(p.Items)-1)
					p.Items[i] = p.Items[random.IntN(i)]
				}
				return p
			}
			cfg := l.config()
			cfg.Limit, cfg.Concurrency = 30, concurrency
			got, err := l.walk(t, cfg)
			if err == nil && len(got) != 300 || err != nil && !errors.Is(err, errTwice) {
				t.Errorf("walk %d: got %d of 300 records, error %v", n, len(got), err)
			}
		}
	}
	l := newList(250)
	l.alter = func(r request, p page) page {
		if r.start > 0 && l.pages == 1 {
			p.Items = append([]int{p.Items[1]}, p.Items[1:]...)
		}
		return p
	}
	got, err := l.walk(t, l.config())
	if err != nil || len(got) != 250 {
		t.Errorf("one page was wrong: got %d of 250 records, error %v", len(got), err)
	}
}

// TestWalk_emptyPageInBetween makes each page in turn empty, although it says that there is a next
// one. That does not end a walk, not even after the start of the list was replaced.
func TestWalk_emptyPageInBetween(t *testing.T) {
	t.Parallel()
	for n := 1; n < 10; n++ {
		l := newList(300)
		l.change = after(1, func(l *list) { remove(0, 120)(l); add(0, 150)(l) })
		l.alter = func(_ request, p page) page {
			if l.pages == n {
				p.Items, p.Next = nil, NextExists
			}
			return p
		}
		got, err := l.walk(t, l.config())
		if missing := lost(l.staying(300), got); err == nil && len(missing) > 0 {
			t.Errorf("page %d is empty: got no error, %d records missing", n, len(missing))
		}
		if n == 9 && !errors.Is(err, ErrNoProgress) {
			t.Errorf("second page at the start of the list is empty: error %v, want %v", err, ErrNoProgress)
		}
	}
}

// The request for the page after one that ends at end: with the overlap, a new record, and at least
// two records.
func TestWalk_requestAfter(t *testing.T) {
	t.Parallel()
	w := &walk[*page, int]{Config: config{Offset: 7, Limit: 5, MaxLimit: 100, MaxOffset: 1000}}
	if got, want := w.requestAfter(0, 1), (request{7, 5}); got != want {
		t.Errorf("the first request is %v, want %v", got, want)
	}
	w.seen = map[int]struct{}{1: {}}
	for _, tt := range []struct {
		limit, end, overlap int
		want                request
	}{
		{limit: 5, end: 50, overlap: 1, want: request{49, 5}},
		{limit: 5, end: 50, overlap: 4, want: request{46, 5}},
		{limit: 5, end: 50, overlap: 5, want: request{45, 6}},
		{limit: 5, end: 50, overlap: 32, want: request{18, 33}},
		{limit: 5, end: 500, overlap: 256, want: request{244, 100}},
		{limit: 5, end: 50, overlap: 64, want: request{0, 65}},
		{limit: 5, end: 50, overlap: -2, want: request{52, 5}},
		{limit: 1, end: 50, overlap: 0, want: request{50, 2}},
		{limit: 5, end: 1000, overlap: 1, want: request{999, 5}},
		{limit: 5, end: 1001, overlap: 1, want: request{1000, 100}},
		{limit: 5, end: 1001, overlap: -9, want: request{1000, 100}},
	} {
		w.Limit = tt.limit
		if got := w.requestAfter(tt.end, tt.overlap); got != tt.want {
			t.Errorf("limit %d, end %d, overlap %d: %v, want %v", tt.limit, tt.end, tt.overlap, got, tt.want)
		}
	}
}

// TestWalk_oldPages reads lists by 20 of a store that returns old pages. Each walk yields all
// records, or ends in an error.
func TestWalk_oldPages(t *testing.T) {
	t.Parallel()
	firstEmpty := func(r request, p page) page {
		if r.start == 0 {
			p.Items, p.Next = nil, NextExists
		}
		return p
	}
	for _, tt := range []struct {
		name  string
		quirk quirk
		alter func(r request, p page) page // instead of a quirk
	}{
		{name: "page 1 repeated", quirk: ignoresOffset},
		{name: "page 1 cut to what is left", quirk: cutsFirst},
		{name: "the last page is the one before", quirk: oldEnd},
		{name: "the last page has earlier records", quirk: earlierEnd},
		{name: "the third page is empty once", quirk: emptyPage},
		{name: "the first page is empty", alter: firstEmpty},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			complete, stopped := 0, 0
			for total := 1; total <= 120; total++ {
				for _, length := range []int{20, 10, 3} {
					for _, concurrency := range []int{1, 4} {
						s := scenario{
							total: total, lengths: []int{length}, quirk: tt.quirk, quirkAt: 2,
							before: []time.Duration{latency}, after: []time.Duration{0},
						}
						l := s.list()
						if tt.alter != nil {
							l.alter = tt.alter
						}
						cfg := l.config()
						cfg.Limit, cfg.MaxLimit, cfg.Concurrency = 20, 20, concurrency
						got, err := l.walk(t, cfg)
						switch missing := total - len(got); {
						case err != nil:
							stopped++
						case missing > 0:
							t.Errorf("%d records, pages of %d, Concurrency %d: %d are missing, and no error",
								total, length, concurrency, missing)
						default:
							complete++
						}
					}
				}
			}
			t.Logf("%d walks were complete, %d ended in an error", complete, stopped)
		})
	}
}

// TestWalk_changesAnywhere removes and adds records at random after each request. A walk reaches
// the end with few requests, also if the store sends no links.
func TestWalk_changesAnywhere(t *testing.T) {
	t.Parallel()
	const total, walks = 950, 10
	for _, links := range []links{trueLinks, noLinks} {
		for _, concurrency := range []int{1, 4} {
			for removed := range 6 {
				t.Run(fmt.Sprintf("links %d, Concurrency %d, %d removed", links, concurrency, removed), func(t *testing.T) {
					t.Parallel()
					for _, added := range []int{0, 1, 5, 10, 20} {
						most := 0
						for seed := range uint64(walks) {
							random := rand.New(rand.NewPCG(seed, uint64(added)))
							l := newList(total)
							l.links = links
							l.change = func(l *list) {
								for range removed {
									remove(random.IntN(len(l.ids)), 1)(l)
								}
								for range added {
									add(random.IntN(len(l.ids)+1), 1)(l)
								}
							}
							cfg := l.config()
							cfg.Concurrency = concurrency
							got, err := l.walk(t, cfg)
							if missing := lost(l.staying(total), got); err != nil || len(missing) > 0 {
								t.Errorf("%d added, seed %d: error %v, %d records missing", added, seed, err, len(missing))
							}
							most = max(most, l.requests)
						}
						if most > 32 || concurrency == 1 && most > 25 {
							t.Errorf("%d added: up to %d requests, want at most 25, or 32 with 4 in flight", added, most)
						}
						t.Logf("%d added: %d walks, up to %d requests", added, walks, most)
					}
				})
			}
		}
	}
}

// TestWalk_grows adds some records at the start after each request, if any. Without links, three
// pages in a row that stop at the last record show the end of such a list.
func TestWalk_grows(t *testing.T) {
	t.Parallel()
	for most := 2; most <= 20; most += 6 {
		for seed := range uint64(60) {
			random := rand.New(rand.NewPCG(seed, 0))
			l := newList(950)
			l.links, l.change = noLinks, func(l *list) { add(0, random.IntN(most+1))(l) }
			cfg := l.config()
			cfg.Concurrency = int(seed % 5)
			got, err := l.walk(t, cfg)
			if missing := lost(l.staying(950), got); err != nil || len(missing) > 0 || l.requests > 25 {
				t.Errorf("up to %d added, seed %d: %d requests, error %v, missing %v, want at most 25, none",
					most, seed, l.requests, err, missing)
			}
		}
	}
}
