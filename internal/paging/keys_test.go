package paging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// keyList is a fake list that is read by key.
type keyList struct {
	ids    []int // sorted
	links  links
	alter  func(after int, ids []int) []int // makes a page wrong
	refuse func(after int) error
	change func(l *keyList) // called after each page
	delays []time.Duration  // by request

	traffic
	took time.Duration // the walk
}

func (l *keyList) config(limit, segments int) KeysConfig[int] {
	return KeysConfig[int]{
		Fetch: l.fetch, Compare: cmp.Compare[int], Limit: limit, Segments: segments,
		Predict: predict,
	}
}

func predict(first, last, times int) (int, bool) { return last + times*(last-first), true }

func (l *keyList) fetch(ctx context.Context, after, limit int) (p KeyPage[int], err error) {
	n := l.begin()
	defer l.end()
	unique := time.Duration(after % 997) // so that the order of events is the same each time
	if err := wait(ctx, l.delays[n%len(l.delays)]+unique); err != nil {
		return p, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.ids {
		if id > after && len(p.IDs) < limit {
			p.IDs = append(p.IDs, id)
		}
	}
	n = len(p.IDs)
	p.Next = l.links.next(n == 0 || p.IDs[n-1] == l.ids[len(l.ids)-1], n == limit)
	if l.alter != nil {
		if p.IDs = l.alter(after, p.IDs); len(p.IDs) < n {
			p.Next = NextNone
		}
	}
	if l.refuse != nil {
		err = l.refuse(after)
	}
	if l.change != nil {
		l.change(l)
	}
	return p, err
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

// A walk that reads ahead yields the same ids as one that does not, and ends in the same error.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range keysTests {
		for _, segments := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s, %d segments", tt.name, segments), func(t *testing.T) {
				t.Parallel()
				l := &keyList{ids: upTo(tt.total + 1)[1:], links: tt.links, alter: tt.alter, delays: []time.Duration{latency}}
				got, err := l.run(t, l.config(10, segments), tt.cancelAt, 0)
				if diff := gocmp.Diff(l.ids[:tt.want:tt.want], got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("ids (-want +got):\n%s", diff)
				}
				if !errors.Is(err, tt.wantErr) || segments == 1 && l.requests != tt.wantRequests {
					t.Errorf("got error %v after %d requests, want %v after %d", err, l.requests, tt.wantErr, tt.wantRequests)
				}
			})
		}
	}
}

// run walks the list, and cancels or leaves the walk after so many ids, if that is not 0.
func (l *keyList) run(t *testing.T, cfg KeysConfig[int], cancelAt, leaveAt int) (got []int, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		defer func() { l.took = time.Since(start) }()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for id, e := range Keys(ctx, cfg) {
			if err != nil || len(got) > 0 && e == nil && id <= got[len(got)-1] {
				t.Errorf("%d and error %v follow %d ids, the last %d, and error %v", id, e, len(got), got[len(got)-1], err)
			}
			if err = e; err == nil {
				got = append(got, id)
			}
			if len(got) == cancelAt {
				cancel()
			}
			if len(got) == leaveAt {
				break
			}
		}
	})
	want := Error{Seen: len(got), Finished: cfg.After}
	if len(got) > 0 {
		want.Finished = got[len(got)-1]
	}
	if stop, ok := errors.AsType[*Error](err); ok && (stop.Seen != want.Seen || stop.Finished != want.Finished) {
		t.Errorf("Seen = %d, Finished = %v, want %d, %v", stop.Seen, stop.Finished, want.Seen, want.Finished)
	}
	if most := 2*cfg.Segments - 1; l.inFlight > 0 || l.maxInFlight > most { // some for segments that were dropped
		t.Errorf("%d requests in flight at the end, up to %d before, want at most %d", l.inFlight, l.maxInFlight, most)
	}
	return got, err
}

// drawKeys draws a list whose ids lie close together, far from each other, or both, and a walk over
// it with good predictions, bad ones, or none. The ids are even; odd ones are for those that are
// added. stays is emptied of the ids that are removed.
func drawKeys(t *rapid.T) (l *keyList, cfg KeysConfig[int], stays map[int]bool) {
	l, stays = &keyList{links: links(rapid.IntRange(0, 1).Draw(t, "links"))}, map[int]bool{}
	gap := rapid.SampledFrom([]int{1, 1, 2, 3, 10, 1000, 1_000_000})
	last := 0
	for range rapid.IntRange(0, 5).Draw(t, "clusters") {
		gaps := rapid.SliceOfN(gap, 1, 5).Draw(t, "gaps")
		for i := range rapid.IntRange(0, 200).Draw(t, "ids") {
			last += 2 * gaps[i%len(gaps)]
			l.ids, stays[last] = append(l.ids, last), true
		}
	}
	l.delays = delays().Draw(t, "delays")
	if rapid.Bool().Draw(t, "changes") {
		changes := drawKeyedChanges(t, 5)
		l.change = func(l *keyList) {
			for _, c := range changes[l.requests%len(changes)] {
				l.apply(c, stays)
			}
		}
	}
	cfg = l.config(rapid.IntRange(1, 20).Draw(t, "limit"), rapid.IntRange(1, 4).Draw(t, "segments"))
	percent, most := rapid.IntRange(0, 400).Draw(t, "predicted distance"), rapid.IntRange(0, 3*last).Draw(t, "most")
	cfg.Predict = func(first, last, times int) (int, bool) {
		id := last + times*(last-first)*percent/100
		return id, id <= most
	}
	return l, cfg, stays
}

// apply removes an id, or adds one right after another.
func (l *keyList) apply(c keyedChange, stays map[int]bool) {
	at := int(c.at * float64(len(l.ids)))
	switch {
	case at == len(l.ids):
	case !c.add:
		delete(stays, l.ids[at])
		l.ids = slices.Delete(l.ids, at, at+1)
	case l.ids[at]%2 == 0 && (at+1 == len(l.ids) || l.ids[at+1] > l.ids[at]+1):
		l.ids = slices.Insert(l.ids, at+1, l.ids[at]+1)
	}
}

// A list that changes, and a walk that is broken off now and then, and goes on after the last id:
// each id that stays is yielded once, in order. A prediction, however wrong, costs a limited number
// of requests.
func TestModel_keys(t *testing.T) {
	t.Parallel()
	var walks, stayed, requests int
	rapid.Check(t, func(rt *rapid.T) {
		l, cfg, stays := drawKeys(rt)
		most := rapid.IntRange(5, len(l.ids)+20).Draw(rt, "ids until a break")
		for isEnd := false; !isEnd; {
			got, err := l.run(t, cfg, 0, most)
			if err != nil {
				rt.Fatalf("error %v", err)
			}
			for _, id := range got {
				cfg.After = id
				if stays[id] {
					stayed++
				}
				delete(stays, id)
			}
			requests += l.requests
			l.requests = 0
			walks++
			isEnd = len(got) < most
		}
		if len(stays) > 0 {
			rt.Fatalf("%d ids that stayed are missing", len(stays))
		}
	})
	t.Logf("%d walks, %d ids that stayed, %d requests", walks, stayed, requests)
}
