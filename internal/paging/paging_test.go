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
	max      int                   // page size it gives at most; 0: as asked
	length   func(request int) int // the same, by request from 1 on
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
	if l.length != nil {
		limit = min(limit, l.length(l.requests))
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
	for page, err := range Walk(context.Background(), Config[int, int, int]{
		Fetch: l.fetch, ID: func(n *int) int { return *n }, Offset: offset, Limit: limit, MaxOffset: 10_000, MaxLimit: 100,
	}) {
		if err != nil {
			return got, err
		}
		got = append(got, page.Items...)
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
		name                      string
		total, offset, limit, max int
		untold                    bool
		seen                      int
		end                       error
	}{
		{name: "all but one of those in reach", total: 10_099, limit: 100, seen: 10_099},
		{name: "all but one by 30", total: 10_099, limit: 30, seen: 10_099},
		{name: "the last page by 30", total: 10_030, limit: 30, seen: 10_030},
		{name: "one on the last page", total: 10_001, limit: 1, seen: 10_001},
		{name: "none on the last page", total: 10_000, limit: 2, seen: 10_000},
		{name: "none on the last page, without links", total: 10_000, limit: 2, untold: true, seen: 10_000},
		{name: "all in reach", total: 10_100, limit: 30, seen: 10_100, end: ErrOffsetLimit},
		{name: "more than in reach", total: 10_200, limit: 100, seen: 10_100, end: ErrOffsetLimit},
		{name: "25 at most", total: 10_010, limit: 100, max: 25, seen: 10_010},
		{name: "25 at most, more than in reach", total: 10_099, limit: 100, max: 25, seen: 10_025, end: ErrOffsetLimit},
		{name: "from the last page", total: 10_050, offset: 10_000, limit: 100, seen: 50},
		{name: "from the last page, with one record", total: 10_001, offset: 10_000, limit: 2, seen: 1},
		{name: "from the last page, if full", total: 10_100, offset: 10_000, limit: 2, seen: 100, end: ErrOffsetLimit},
		{name: "from beyond the end", total: 9_000, offset: 10_000, limit: 100},
		{name: "from beyond the end, without links", total: 9_000, offset: 10_000, limit: 100, untold: true},
		// Nothing lies beyond the last page that could show that it is the last.
		{name: "10,001 without links", total: 10_001, limit: 100, untold: true, seen: 10_001},
		{name: "10,002 without links", total: 10_002, limit: 100, untold: true, seen: 10_002, end: ErrOffsetLimit},
		{name: "10,099 without links", total: 10_099, limit: 100, untold: true, seen: 10_099, end: ErrOffsetLimit},
		{name: "10,100 without links", total: 10_100, limit: 100, untold: true, seen: 10_100, end: ErrOffsetLimit},
		{
			name: "25 at most, without links", total: 10_099, limit: 100, max: 25, untold: true,
			seen: 10_025, end: ErrOffsetLimit,
		},
		{
			name: "25 at most, the end without links", total: 10_024, limit: 100, max: 25, untold: true,
			seen: 10_024, end: ErrOffsetLimit,
		},
		{
			name: "from the last page, without links", total: 10_050, offset: 10_000, limit: 9, untold: true,
			seen: 50, end: ErrOffsetLimit,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := &list{ids: upTo(tt.total), max: tt.max, told: !tt.untold}
			got, err := l.walkFrom(tt.offset, tt.limit)
			if len(got) != tt.seen || !errors.Is(err, tt.end) {
				t.Errorf("got %d records, error %v, want %d, %v", len(got), err, tt.seen, tt.end)
			}
		})
	}
}

// TestWalk_lastPageUnderChurn removes records between the requests of a walk that
// begins at the highest offset.
func TestWalk_lastPageUnderChurn(t *testing.T) {
	t.Parallel()
	l := &list{ids: upTo(10_050), told: true}
	l.churn = func(l *list) { l.ids = slices.Delete(l.ids, 0, 2) }
	got, err := l.walkFrom(10_000, 100)
	if want := upTo(10_050)[10_000:]; err != nil || !slices.Equal(got, want) || l.requests != 1 {
		t.Errorf("got %v, error %v, %d requests, want %v in one", got, err, l.requests, want)
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

// pageLengths are the page lengths of stores that change them during a walk.
var pageLengths = []struct {
	name   string
	length func(request int) int
}{
	{name: "drops from 100 to 50", length: func(n int) int { return 100 - 50*min(1, n/3) }},
	{name: "one page of 99", length: func(n int) int { return 100 - n%5/4 }},
	{name: "one page of 1", length: func(n int) int { return 100 - 99*(n%5/4) }},
	{name: "halves with each page, to 2", length: func(n int) int { return max(2, 100>>n) }},
	{name: "different each time", length: func(n int) int { return 2 + n*37%99 }},
	{name: "grows", length: func(n int) int { return min(100, 2*n) }},
}

// TestWalk_pageLengthChanges walks lists without links: a short page does not tell
// whether the list ends or the store gives fewer records at a time.
func TestWalk_pageLengthChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range pageLengths {
		for _, total := range []int{1, 2, 50, 99, 100, 101, 149, 150, 248, 396, 1000} {
			t.Run(fmt.Sprint(tt.name, " ", total), func(t *testing.T) {
				t.Parallel()
				l := &list{ids: upTo(total), length: tt.length}
				got, err := l.walk(100)
				if err != nil || !slices.Equal(got, l.ids) {
					t.Errorf("got %d records, error %v, want all %d", len(got), err, total)
				}
			})
		}
	}
}

// A store that comes to give one record at a time leaves nothing to overlap by: the
// walk must say so, and not take it for the end. It cannot notice a store that does so
// right after its first short page.
func TestWalk_pageLengthDropsToOne(t *testing.T) {
	t.Parallel()
	for name, lengths := range map[string][]int{
		"full": {100, 100, 1}, "short": {50, 50, 1}, "two": {2, 2, 1}, "uneven": {99, 3, 7, 1},
	} {
		l := &list{ids: upTo(1000), length: func(n int) int { return lengths[min(n, len(lengths))-1] }}
		got, err := l.walk(100)
		if !errors.Is(err, ErrNoProgress) || !slices.Equal(got, upTo(len(got))) {
			t.Errorf("%s: got %d records, error %v, want %v", name, len(got), err, ErrNoProgress)
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
	var stop *Error
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

// A page of one record says that there is more, and then so many records are removed that
// nothing lies behind it: the list may go on before it.
func TestWalk_removedBehindOne(t *testing.T) {
	t.Parallel()
	l := &list{ids: upTo(300), told: true, length: func(n int) int { return 100 - 99*(1-min(1, max(n-2, 2-n))) }}
	l.churn = func(l *list) {
		if l.requests == 2 {
			l.ids = slices.Delete(l.ids, 0, 210)
		}
	}
	got, err := l.walk(100)
	if want := slices.Concat(upTo(100), upTo(300)[210:]); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %d records, error %v, want %d", len(got), err, len(want))
	}
}
