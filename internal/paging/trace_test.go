package paging

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/requests.txt anew")

// traced are walks over lists that are as small as the limits of the store, 40 and
// 10 here, allow: each decision of a walk is made within a few requests.
type traced struct {
	total, limit, offset, max int
	lengths                   []int // page lengths at most, by request; the last stays
	told                      bool
	churn                     string
}

func (tt traced) String() string {
	s := fmt.Sprintf("%d from %d by %d", tt.total, tt.offset, tt.limit)
	if tt.max > 0 {
		s += fmt.Sprintf(", %d at most", tt.max)
	}
	if len(tt.lengths) > 0 {
		s += fmt.Sprintf(", %v at most", tt.lengths)
	}
	if tt.told {
		s += ", told"
	}
	if tt.churn != "" {
		s += ", " + tt.churn
	}
	return s
}

// churns change the list after each request.
func churns(name string, total int) func(*list) {
	id := 1000
	insert := func(l *list, at, n int) {
		for range n {
			id++
			l.ids = slices.Insert(l.ids, min(at, len(l.ids)), id)
		}
	}
	remove := func(l *list, at, n int) {
		if at < len(l.ids) {
			l.ids = slices.Delete(l.ids, at, min(at+n, len(l.ids)))
		}
	}
	r := rand.New(rand.NewPCG(uint64(total), 7))
	return map[string]func(l *list){
		"":                         nil,
		"one removed":              func(l *list) { remove(l, 0, 1) },
		"three removed":            func(l *list) { remove(l, 0, 3) },
		"all but one removed":      func(l *list) { remove(l, 0, len(l.ids)-1) },
		"all removed at once":      func(l *list) { l.ids = l.ids[:0] },
		"one inserted":             func(l *list) { insert(l, 0, 1) },
		"a burst inserted":         func(l *list) { insert(l, 0, 40*(l.requests%3/2)) },
		"a burst removed":          func(l *list) { remove(l, 0, 12*(l.requests%4/3)) },
		"grows at the end":         func(l *list) { insert(l, len(l.ids), 1) },
		"shrinks at the end":       func(l *list) { remove(l, len(l.ids)-1, 1) },
		"here and there":           func(l *list) { remove(l, r.IntN(len(l.ids)+1), 1); insert(l, r.IntN(len(l.ids)+1), 1) },
		"all replaced after three": func(l *list) { insert(l, 0, len(l.ids)*(l.requests/3%2)); remove(l, total, 1000*(l.requests/3%2)) },
		"order reversed":           func(l *list) { slices.Reverse(l.ids) },
	}[name]
}

func tracedWalks() []traced {
	var all []traced
	for _, total := range []int{0, 1, 2, 9, 10, 11, 18, 19, 20, 33, 49, 50, 60} {
		for _, told := range []bool{false, true} {
			all = append(all, traced{total: total, limit: 10, told: told})
		}
		all = append(all, traced{total: total, limit: 4, max: 3}, traced{total: total, limit: 10, offset: 15}, traced{total: total, limit: 2, offset: 40}, traced{total: total, limit: 1, max: 1})
	}
	for _, lengths := range [][]int{{10, 5}, {10, 10, 9, 10}, {10, 1, 10}, {10, 2, 1}} {
		for _, total := range []int{5, 10, 14, 33} {
			for _, told := range []bool{false, true} {
				all = append(all, traced{total: total, limit: 10, lengths: lengths, told: told})
			}
		}
	}
	for _, churn := range []string{"one removed", "three removed", "all but one removed", "all removed at once", "one inserted", "a burst inserted", "a burst removed", "grows at the end", "shrinks at the end", "here and there", "all replaced after three", "order reversed"} {
		for _, total := range []int{11, 35, 55} {
			all = append(all, traced{total: total, limit: 10, churn: churn}, traced{total: total, limit: 10, told: true, churn: churn},
				traced{total: total, limit: 3, churn: churn}, traced{total: total, limit: 10, max: 4, told: true, churn: churn}, traced{total: total, limit: 10, offset: 12, churn: churn},
				traced{total: total, limit: 2, max: 2, churn: churn}, traced{total: total, limit: 10, max: 1, told: true, churn: churn})
		}
	}
	return all
}

// What a walk asks for takes from the rate limit of a store: these are the requests
// that it makes, as offset+limit, the records that each gave to it first, and how it
// ended. A change of them is to be seen in a review: go test -run trace -update.
func TestWalk_trace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testTrace) // which of several requests ends first is exact there
}

func testTrace(t *testing.T) {
	const golden = "testdata/requests.txt"
	var b strings.Builder
	for _, tt := range tracedWalks() {
		for _, concurrency := range []int{1, 3} {
			if tt.churn != "" && concurrency > 1 {
				continue // the one that comes first would change the list for the others
			}
			fmt.Fprintf(&b, "%v, %d in flight\n\t%s\n", tt, concurrency, tt.trace(concurrency))
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func (tt traced) trace(concurrency int) string {
	l := &list{ids: upTo(tt.total), max: tt.max, told: tt.told, churn: churns(tt.churn, tt.total)}
	if n := len(tt.lengths); n > 0 {
		l.length = func(request int) int { return tt.lengths[min(request, n)-1] }
	}
	type request struct{ offset, limit int }
	var requests []request
	l.asked = func(offset, limit int) { requests = append(requests, request{offset, limit}) }
	var chunks []string
	end := "end"
	fetch := func(ctx context.Context, offset, limit int) (Page[int, int], error) {
		time.Sleep(time.Millisecond + time.Duration(offset)*time.Microsecond)
		return l.fetch(ctx, offset, limit)
	}
	names := map[error]string{ErrListDrift: "drift", ErrNoProgress: "no progress", ErrOffsetLimit: "offset limit"}
	for page, err := range Walk(context.Background(), Config[int, int, int]{
		Fetch: fetch, ID: func(n *int) int { return *n }, Offset: tt.offset, Limit: tt.limit, MaxOffset: 40, MaxLimit: 10, Concurrency: concurrency,
	}) {
		if stop := (*Error)(nil); errors.As(err, &stop) {
			end = fmt.Sprintf("%s at %d after %d", names[stop.Err], stop.Offset, stop.Seen)
			continue
		}
		chunks = append(chunks, fmt.Sprintf("%d+%d", page.Offset, len(page.Items)))
	}
	if concurrency > 1 {
		slices.SortFunc(requests, func(a, b request) int { return a.offset - b.offset })
	}
	asked := make([]string, len(requests))
	for i, r := range requests {
		asked[i] = fmt.Sprintf("%d+%d", r.offset, r.limit)
	}
	return fmt.Sprintf("%s; gives %s; %s", strings.Join(asked, " "), strings.Join(chunks, " "), end)
}
