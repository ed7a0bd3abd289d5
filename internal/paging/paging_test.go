package paging

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// list is a list that is read by offset and limit.
type list struct {
	ids      []int
	max      int // page size it gives at most; 0: as asked
	told     bool
	requests int
	churn    func(l *list) // after each request
}

func (l *list) fetch(_ context.Context, offset, limit int) (Page[int, int], error) {
	l.requests++
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
		t.Run(fmt.Sprintf("%+v", tt), func(t *testing.T) {
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

func TestWalk_onePerPageIsNoProgress(t *testing.T) {
	t.Parallel()
	got, err := (&list{ids: upTo(5), max: 1}).walk(100)
	if !errors.Is(err, ErrNoProgress) || len(got) != 1 {
		t.Errorf("%v, error %v", got, err)
	}
}

// TestWalk_churn removes and adds records between requests: none that stays
// throughout may be missed, none yielded twice.
func TestWalk_churn(t *testing.T) {
	t.Parallel()
	const walks = 2000
	var errs, naiveLost int
	for seed := range uint64(walks) {
		r := rand.New(rand.NewPCG(seed, 0))
		total, limit, offset := 1+r.IntN(600), 1+r.IntN(100), 0
		l := &list{ids: upTo(total), told: r.IntN(2) == 0}
		if r.IntN(3) == 0 {
			l.max = 2 + r.IntN(40)
		}
		if r.IntN(3) == 0 {
			offset = r.IntN(total)
		}
		// Up to twice what the store gives in a page changes between two requests: then
		// a walk may be outrun, and end in an error. It must not lose a record.
		size := max(2, limit)
		if l.max > 0 {
			size = min(size, l.max)
		}
		wild := r.IntN(2) == 0
		burst := 1 + size/4
		if wild {
			burst = 1 + 2*size
		}
		fresh, front := 1_000_000, r.IntN(2)
		l.churn = func(l *list) {
			n := r.IntN(burst)
			add := r.IntN(2) == 0
			for range n {
				at := r.IntN(len(l.ids) + 1)
				if front == 1 {
					at = 0
				}
				if add {
					fresh++
					l.ids = slices.Insert(l.ids, at, fresh)
				} else if at < len(l.ids) {
					l.ids = slices.Delete(l.ids, at, at+1)
				}
			}
		}
		got, err := l.walkFrom(offset, limit)
		if len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
			t.Errorf("seed %d: a record came twice", seed)
		}
		if err != nil {
			if !wild {
				errs++
			}
			if !errors.Is(err, ErrListDrift) && !errors.Is(err, ErrNoProgress) {
				t.Errorf("seed %d: error %v", seed, err)
			}
			continue
		}
		if missed := missing(l.ids, got, offset, total); len(missed) > 0 {
			t.Errorf("seed %d: %d of %d records missed: %v", seed, len(missed), total, missed)
		}

		// The same kind of list, read as most clients read it.
		n := &list{ids: upTo(total), churn: func(l *list) { l.ids = slices.Delete(l.ids, 0, min(1, len(l.ids))) }}
		var naive []int
		for offset := 0; ; offset += limit {
			page, _ := n.fetch(context.Background(), offset, limit)
			if naive = append(naive, page.Items...); len(page.Items) < limit {
				break
			}
		}
		naiveLost += len(missing(n.ids, naive, 0, total))
	}
	t.Logf("%d walks: none lost or doubled a record, %d of those with less churn ended in an error; naive paging with one removal a page lost %d records", walks, errs, naiveLost)
	if errs > walks/100 {
		t.Errorf("%d walks with less churn ended in an error", errs)
	}
	if naiveLost == 0 {
		t.Error("the churn harms nobody: this test proves nothing")
	}
}

// missing returns the records of those from offset to total that are in the list and were not got.
func missing(ids, got []int, offset, total int) []int {
	var m []int
	for _, id := range ids {
		if id >= offset && id < total && !slices.Contains(got, id) {
			m = append(m, id)
		}
	}
	return m
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

func TestWalk_fetchErrors(t *testing.T) {
	t.Parallel()
	fault := errors.New("fault")
	for at := range 5 {
		l := &list{ids: upTo(40)}
		var got []int
		var stop *Stop
		for chunk, err := range Walk(context.Background(), Config[int, int, int]{
			Fetch: func(ctx context.Context, o, n int) (Page[int, int], error) {
				if l.requests == at {
					return Page[int, int]{}, fault
				}
				return l.fetch(ctx, o, n)
			},
			ID: func(n *int) int { return *n }, Limit: 10, MaxOffset: 10_000, MaxLimit: 100,
		}) {
			if stop != nil {
				t.Fatal("the walk goes on after an error")
			}
			if err != nil && (!errors.As(err, &stop) || !errors.Is(err, fault)) {
				t.Fatal(err)
			}
			got = append(got, chunk.Items...)
		}
		if stop == nil || stop.Seen != len(got) || stop.Offset != len(got) || !slices.Equal(got, upTo(len(got))) {
			t.Errorf("fault at request %d: %d records, stop %+v", at, len(got), stop)
		}
	}
}
