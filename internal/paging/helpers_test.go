package paging

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

// TestMain makes 400 the default of -rapid.checks. With -short, a fifth of them is made.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "400"); err != nil { // the command line is parsed later
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	goleak.VerifyTestMain(m)
}

type (
	config = Config[*page, int]
	page   = testPage[int]
)

// testPage is a page of a list.
type testPage[T any] struct {
	Items             []T
	Offset, Requested int // Offset is set by the walk
	Next              Next
	Finished          int // set by Parts
}

// testPages are the pages of a list whose records have these ids.
func testPages[T any](id func(T) int) Pages[*testPage[T], int] {
	return Pages[*testPage[T], int]{
		Look: func(p *testPage[T]) (ids []int, next Next) {
			for _, record := range p.Items {
				ids = append(ids, id(record))
			}
			return ids, p.Next
		},
		Keep: func(p *testPage[T], records []int, offset int) {
			p.Items, p.Offset = Kept(p.Items, records), offset
		},
		Repeats: errTwice,
	}
}

var errTwice = errors.New("an id is twice in a page")

// links are what the pages of a list say about the next page.
type links int

const (
	trueLinks links = iota
	noLinks
	alwaysNext // there is always a next page
	neverNext  // there is no next page, even after a full page
	cappedNext // like trueLinks, but there is no next page if it would begin beyond offset 10,000
)

// next returns what a page says that is the end of its list, or has as many records as requested.
func (l links) next(isEnd, isFull bool) Next {
	switch {
	case l == alwaysNext, (l == trueLinks || l == cappedNext) && !isEnd:
		return NextExists
	case l == trueLinks, l == cappedNext, l == neverNext && (isEnd || isFull):
		return NextNone
	}
	return NextUnknown
}

// traffic counts the requests to a fake store.
type traffic struct {
	mu                    sync.Mutex
	requests              int
	inFlight, maxInFlight int
}

// begin counts a request, and returns its number, from 1 on. end must be called at its end.
func (c *traffic) begin() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	c.inFlight++
	c.maxInFlight = max(c.maxInFlight, c.inFlight)
	return c.requests
}

func (c *traffic) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight--
}

// counts returns the number of requests so far, and of those in flight.
func (c *traffic) counts() (made, inFlight int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests, c.inFlight
}

// list is a fake store with one list, which may change while it is read. The list begins as 0, 1, 2
// and so on.
type list struct {
	ids    []int
	links  links
	length func(n int) int                                // maximum length of page n, from 0 on; nil: as requested
	change func(l *list)                                  // called after each page
	alter  func(r request, p page) page                   // makes a page wrong
	delay  func(offset int) (before, after time.Duration) // until the list is read, and from then on

	traffic
	pages    int // requests for which the list was read
	farthest int // highest end of a requested page
	added    int // number of records that apply added
}

// latency of the requests to a list.
const latency = 20 * time.Millisecond

func newList(total int) *list {
	return &list{ids: upTo(total), delay: func(offset int) (before, after time.Duration) {
		return latency + time.Duration(offset), 0 // different for each page, so that the order of events is fixed
	}}
}

// upTo returns the numbers from 0 to n-1.
func upTo(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}

// config returns the config of a walk over l with the limits of the service.
func (l *list) config() config {
	return config{
		Fetch: l.fetch, Pages: testPages(func(id int) int { return id }),
		Limit: 100, MaxOffset: 10_000, MaxLimit: 100,
	}
}

func (l *list) fetch(ctx context.Context, offset, limit int) (*page, error) {
	l.begin()
	defer l.end()
	before, after := l.delay(offset)
	if err := wait(ctx, before); err != nil {
		return nil, err
	}
	p := l.read(request{offset, limit})
	return &p, wait(ctx, after)
}

func wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read returns a page, and then changes the list.
func (l *list) read(r request) page {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.farthest = max(l.farthest, r.start+r.limit)
	p := l.page(r)
	if l.alter != nil {
		p = l.alter(r, p)
	}
	l.pages++
	if l.change != nil {
		l.change(l)
	}
	return p
}

// page returns a page of the list as it is. Requested is the offset that was requested.
func (l *list) page(r request) page {
	from, length := min(r.start, len(l.ids)), r.limit
	if l.length != nil {
		length = min(length, l.length(l.pages))
	}
	to := min(from+length, len(l.ids))
	isEnd := to == len(l.ids) || l.links == cappedNext && to > 10_000
	next := l.links.next(isEnd, to-from == r.limit)
	return page{Items: slices.Clone(l.ids[from:to]), Requested: r.start, Next: next}
}

// run walks the list. problem is the promise that the walk broke, of those that hold for every
// walk.
func (l *list) run(t *testing.T, cfg config) (got []int, problem string, err error) {
	t.Helper()
	seen := make(map[int]bool, len(l.ids))
	synctest.Test(t, func(t *testing.T) {
		for p, e := range Walk(t.Context(), cfg) {
			_, inFlight := l.counts()
			p = cmp.Or(p, &page{})
			switch {
			case err != nil:
				problem = fmt.Sprintf("the walk goes on after the error %v", err)
			case e == nil && len(p.Items) == 0:
				problem = "the walk yielded a page without records"
			case e != nil && inFlight > 0:
				problem = "requests in flight when the walk yields an error"
			case e == nil && (p.Offset < p.Requested || p.Offset >= p.Requested+cfg.MaxLimit):
				problem = fmt.Sprintf("Offset = %d of a page that was requested from %d on", p.Offset, p.Requested)
			case e == nil && l.change == nil && l.alter == nil && p.Offset != p.Items[0]:
				problem = fmt.Sprintf("Offset = %d of a page that begins with record %d", p.Offset, p.Items[0])
			}
			for _, id := range p.Items {
				if seen[id] {
					problem = fmt.Sprintf("record %d was yielded twice", id)
				}
				seen[id] = true
			}
			got, err = append(got, p.Items...), e
		}
	})
	stop, isError := errors.AsType[*Error](err)
	switch {
	case l.inFlight != 0:
		problem = fmt.Sprintf("%d requests in flight after the end", l.inFlight)
	case l.maxInFlight > max(1, cfg.Concurrency):
		problem = fmt.Sprintf("%d requests in flight, want at most %d", l.maxInFlight, cfg.Concurrency)
	case err != nil && (!isError || stop.Seen != len(got)):
		problem = fmt.Sprintf("the error is %#v after %d records", err, len(got))
	}
	return got, problem, err
}

// walk is run for a walk that must keep all promises.
func (l *list) walk(t *testing.T, cfg config) ([]int, error) {
	t.Helper()
	got, problem, err := l.run(t, cfg)
	if problem != "" {
		t.Error(problem)
	}
	return got, err
}

// staying returns those of the records 0, 1, 2 and so on that were in the list from the start to
// the end.
func (l *list) staying(total int) []int {
	var ids []int
	for _, id := range l.ids {
		if id >= 0 && id < total {
			ids = append(ids, id)
		}
	}
	return ids
}

// lost returns the elements of want that are not in got.
func lost(want, got []int) []int {
	yielded := make(map[int]bool, len(got))
	for _, id := range got {
		yielded[id] = true
	}
	return slices.DeleteFunc(slices.Clone(want), func(id int) bool { return yielded[id] })
}
