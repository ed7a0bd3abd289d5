package paging

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// list is a list that is read by offset and limit.
type list struct {
	ids      []int
	max      int // page size it gives at most; 0: as asked
	told     bool
	requests int
	churn    func(l *list)           // after each request
	asked    func(offset, limit int) // at each request
	broken   func(page *Page[int, int])
	mu       sync.Mutex
}

func (l *list) fetch(_ context.Context, offset, limit int) (Page[int, int], error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	if l.asked != nil {
		l.asked(offset, limit)
	}
	if l.max > 0 {
		limit = min(limit, l.max)
	}
	from := min(offset, len(l.ids))
	to := min(from+limit, len(l.ids))
	page := Page[int, int]{Items: slices.Clone(l.ids[from:to]), Info: l.requests}
	if l.told {
		page.Next = NextExists
		if to == len(l.ids) {
			page.Next = NextNone
		}
	}
	if l.broken != nil {
		l.broken(&page)
	}
	if l.churn != nil {
		l.churn(l)
	}
	return page, nil
}

func (l *list) walk(limit int) ([]int, error) { return l.walkFrom(0, limit) }

func (l *list) walkFrom(offset, limit int) ([]int, error) {
	var got []int
	for chunk, err := range Walk(context.Background(), Config[int, int, int]{
		Fetch: l.fetch, ID: func(n *int) int { return *n }, Offset: offset, Limit: limit, MaxOffset: 10_000, MaxLimit: 100,
	}) {
		if err != nil {
			return got, err
		}
		got = append(got, chunk.Items...)
	}
	return got, nil
}

func upTo(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}

func TestWalk_quiet(t *testing.T) {
	t.Parallel()
	for _, total := range []int{0, 1, 2, 3, 49, 50, 51, 99, 100, 101, 198, 199, 200, 1000} {
		for _, limit := range []int{1, 2, 3, 50, 99, 100} {
			for _, most := range []int{0, 2, 25} {
				for _, told := range []bool{false, true} {
					t.Run(fmt.Sprint(total, limit, most, told), func(t *testing.T) {
						t.Parallel()
						l := &list{ids: upTo(total), max: most, told: told}
						got, err := l.walk(limit)
						if err != nil || !slices.Equal(got, l.ids) {
							t.Errorf("%d of %d records, error %v", len(got), total, err)
						}
					})
				}
			}
		}
	}
}

func TestWalk_offsetLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		total, offset, limit, max int
		seen                      int
		end                       error
	}{
		{10_099, 0, 100, 0, 10_099, nil},
		{10_099, 0, 30, 0, 10_099, nil},
		{10_030, 0, 30, 0, 10_030, nil},
		{10_001, 0, 1, 0, 10_001, nil},
		{10_000, 0, 2, 0, 10_000, nil},
		{10_100, 0, 30, 0, 10_100, ErrOffsetLimit},
		{10_200, 0, 100, 0, 10_100, ErrOffsetLimit},
		{10_099, 0, 100, 25, 10_025, ErrOffsetLimit}, // the store gives 25 at most: there may be more
		{10_010, 0, 100, 25, 10_010, nil},
		{10_050, 10_000, 100, 0, 50, nil},
		{10_001, 10_000, 2, 0, 1, nil},
		{10_100, 10_000, 2, 0, 100, ErrOffsetLimit},
		{9_000, 10_000, 100, 0, 0, nil},
	} {
		t.Run(fmt.Sprintf("%d from %d by %d, %d at most", tt.total, tt.offset, tt.limit, tt.max), func(t *testing.T) {
			t.Parallel()
			l := &list{ids: upTo(tt.total), max: tt.max}
			got, err := l.walkFrom(tt.offset, tt.limit)
			if len(got) != tt.seen || !errors.Is(err, tt.end) {
				t.Errorf("%d records, error %v", len(got), err)
			}
		})
	}
}

// TestWalk_lastPageUnderChurn removes records between the requests of a walk that
// begins at the highest offset.
func TestWalk_lastPageUnderChurn(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{false, true} {
		l := &list{ids: upTo(10_050), told: told}
		l.churn = func(l *list) { l.ids = slices.Delete(l.ids, 0, 2) }
		got, err := l.walkFrom(10_000, 100)
		if want := upTo(10_050)[10_000:]; err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, error %v", got, err)
		}
		if told && l.requests != 1 {
			t.Errorf("%d requests", l.requests)
		}
	}
}

// TestWalk_resumedUnderInserts adds records before the start of a walk that began
// further on: what is from before it comes into its pages, and does not count.
func TestWalk_resumedUnderInserts(t *testing.T) {
	t.Parallel()
	fresh := 1_000_000
	l := &list{ids: upTo(900)}
	l.churn = func(l *list) {
		if l.requests == 2 {
			for range 100 {
				fresh++
				l.ids = slices.Insert(l.ids, 0, fresh)
			}
		}
	}
	got, err := l.walkFrom(500, 100)
	if want := upTo(900)[500:]; err != nil || !slices.Equal(got, want) {
		t.Errorf("%d records, error %v", len(got), err)
	}
}

// A page that is empty and yet says that there is another one ends no walk, wherever
// it comes: also where it is what a second look at the start of the list found.
func TestWalk_emptyAndMore(t *testing.T) {
	t.Parallel()
	for slip := 2; slip <= 10; slip++ {
		l := &list{ids: upTo(300), told: true}
		l.churn = func(l *list) {
			if l.requests == 1 { // the first page is gone from the list
				front := upTo(150)
				for i := range front {
					front[i] += 1000
				}
				l.ids = slices.Concat(front, l.ids[120:])
			}
		}
		l.broken = func(page *Page[int, int]) {
			if l.requests == slip {
				page.Items, page.Next = nil, NextExists
			}
		}
		got, err := l.walk(100)
		if slip == 10 && !errors.Is(err, ErrNoProgress) {
			t.Errorf("the second look at the start is empty: %d records, error %v", len(got), err)
		}
		if stays := upTo(300)[120:]; err == nil && slices.ContainsFunc(stays, func(id int) bool { return !slices.Contains(got, id) }) {
			t.Errorf("request %d is empty: %d records, and no error", slip, len(got))
		}
	}
}

func TestWalk_onePerPageIsNoProgress(t *testing.T) {
	t.Parallel()
	got, err := (&list{ids: upTo(5), max: 1}).walk(100)
	if !errors.Is(err, ErrNoProgress) || len(got) != 1 {
		t.Errorf("%v, error %v", got, err)
	}
}

func TestWalk_drift(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	l := &list{ids: upTo(5000), churn: func(l *list) { l.ids = upTo(5000 + r.IntN(3)); slices.Reverse(l.ids); l.churn = replaceAll(new(int)) }}
	got, err := l.walk(100)
	if !errors.Is(err, ErrListDrift) && !errors.Is(err, ErrNoProgress) {
		t.Errorf("%d records, error %v", len(got), err)
	}
	var stop *Stop
	if !errors.As(err, &stop) || stop.Seen != len(got) || stop.Error() != stop.Err.Error() {
		t.Errorf("stop %+v", stop)
	}
}

// replaceAll gives every record another id after each request: no anchor is
// ever found again.
func replaceAll(n *int) func(*list) {
	return func(l *list) {
		for i := range l.ids {
			*n++
			l.ids[i] = -*n
		}
	}
}

func TestWalk_endsWithinItsBudget(t *testing.T) {
	t.Parallel()
	// Everything moves back by a page a request: each page is new, and none ends it.
	n := 0
	l := &list{churn: func(l *list) {
		l.ids = l.ids[:0]
		for range 200 {
			n++
			l.ids = append(l.ids, n)
		}
	}}
	l.churn(l)
	_, err := l.walk(2)
	if !errors.Is(err, ErrListDrift) || l.requests > 2*10_100 {
		t.Errorf("%d requests, error %v", l.requests, err)
	}
}
