package paging

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// keyList is a fake list that is read by key.
type keyList struct {
	ids      []int // sorted
	links    links
	requests int
	alter    func(after int, ids []int) []int // makes a page wrong
	change   func(l *keyList)                 // called after each page
}

func (l *keyList) config(limit int) KeysConfig[int] {
	return KeysConfig[int]{Fetch: l.fetch, Compare: cmp.Compare[int], Limit: limit}
}

func (l *keyList) fetch(ctx context.Context, after, limit int) (ids []int, next Next, err error) {
	l.requests++
	for _, id := range l.ids {
		if id > after && len(ids) < limit {
			ids = append(ids, id)
		}
	}
	n := len(ids)
	next = l.links.next(n == 0 || ids[n-1] == l.ids[len(l.ids)-1], n == limit)
	if l.alter != nil {
		ids = l.alter(after, ids)
	}
	if l.change != nil {
		l.change(l)
	}
	return ids, next, ctx.Err()
}

var keysTests = []struct {
	name         string
	total        int
	links        links
	alter        func(after int, ids []int) []int
	want         int // number of ids
	wantRequests int
	wantErr      error
	cancelAt     int // number of ids after which the context is canceled; 0: never
}{
	{name: "empty", wantRequests: 1},
	{name: "one page", total: 3, want: 3, wantRequests: 1},
	{name: "full pages", total: 20, want: 20, wantRequests: 3},
	{name: "short page", total: 23, want: 23, wantRequests: 3},
	{name: "short page without links", total: 23, links: noLinks, want: 23, wantRequests: 4},
	{name: "no page is the last", total: 3, links: alwaysNext, want: 3, wantRequests: 2, wantErr: ErrNoProgress},
	{
		name: "ignores sort", total: 23, wantRequests: 1, wantErr: ErrListDrift,
		alter: func(_ int, ids []int) []int { slices.Reverse(ids); return ids },
	},
	{
		name: "ignores the filter", total: 23, want: 10, wantRequests: 2, wantErr: ErrListDrift,
		alter: func(int, []int) []int { return []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10} },
	},
	{
		name: "repeats an id", total: 23, wantRequests: 1, wantErr: ErrListDrift,
		alter: func(_ int, ids []int) []int { return append(ids, ids[len(ids)-1]) },
	},
	{
		name: "includes the id asked for", total: 23, want: 10, wantRequests: 2, wantErr: ErrListDrift,
		alter: func(after int, ids []int) []int {
			if after == 0 {
				return ids
			}
			return append([]int{after}, ids...)
		},
	},
	{name: "canceled within a page", total: 30, cancelAt: 13, want: 13, wantRequests: 2, wantErr: context.Canceled},
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range keysTests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := &keyList{ids: upTo(tt.total + 1)[1:], links: tt.links, alter: tt.alter}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var got []int
			var err error
			for id, e := range Keys(ctx, l.config(10)) {
				if err = e; err == nil {
					got = append(got, id)
				}
				if len(got) == tt.cancelAt {
					cancel()
				}
			}
			if diff := gocmp.Diff(l.ids[:tt.want:tt.want], got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
			if !errors.Is(err, tt.wantErr) || l.requests != tt.wantRequests {
				t.Errorf("got error %v after %d requests, want %v after %d", err, l.requests, tt.wantErr, tt.wantRequests)
			}
			if stop, ok := errors.AsType[*Error](err); ok && (stop.Seen != tt.want || stop.Finished != tt.want) {
				t.Errorf("Seen = %d, Finished = %v, want %d", stop.Seen, stop.Finished, tt.want)
			}
		})
	}
}

// A list that changes, and a walk that is broken off now and then, and goes on after the last id:
// each id that stays is yielded once, in order.
func TestModel_keys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(0, 300).Draw(t, "total")
		l := &keyList{links: links(rapid.IntRange(0, 1).Draw(t, "links"))}
		stays := map[int]bool{}
		for i := range total {
			l.ids = append(l.ids, 2*i+2) // odd ids are for those that are added
			stays[2*i+2] = true
		}
		l.change = func(l *keyList) {
			for range rapid.IntRange(0, 20).Draw(t, "changes") {
				id := rapid.IntRange(1, 2*total+20).Draw(t, "id")
				at, found := slices.BinarySearch(l.ids, id)
				switch {
				case found:
					delete(stays, id)
					l.ids = slices.Delete(l.ids, at, at+1)
				case !stays[id]:
					l.ids = slices.Insert(l.ids, at, id)
				}
			}
		}
		cfg := l.config(rapid.IntRange(1, 40).Draw(t, "limit"))
		idsPerWalk := rapid.IntRange(5, 2*total+20).Draw(t, "ids until a break")
		var got []int
		for n := idsPerWalk; n == idsPerWalk; {
			n = 0
			for id, err := range Keys(context.Background(), cfg) {
				if err != nil {
					t.Fatalf("error %v", err)
				}
				if len(got) > 0 && id <= got[len(got)-1] {
					t.Fatalf("%d follows %d", id, got[len(got)-1])
				}
				got, cfg.After = append(got, id), id
				if n++; n == idsPerWalk {
					break
				}
			}
		}
		for _, id := range got {
			delete(stays, id)
		}
		if len(stays) > 0 {
			t.Fatalf("%d ids that stayed are missing", len(stays))
		}
	})
}
