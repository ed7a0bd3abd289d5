package paging

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// errGone is the error of a fetch that ended its goroutine.
var errGone = errors.New("the fetch ended without a page")

// future is a page that is being fetched.
type future[T, Info any] struct {
	start, limit int
	expected     int // number of records, if the list goes on
	cancel       context.CancelFunc

	done     chan struct{} // closed when the rest is there
	page     Page[T, Info]
	err      error
	panicked any
}

// result waits for the page. A panic of the fetch goes on in the caller, who can
// recover from it.
func (f *future[T, Info]) result() (Page[T, Info], error) {
	<-f.done
	if f.panicked != nil {
		panic(f.panicked)
	}
	return f.page, f.err
}

// ended reports whether the page is there and shows that no more are needed.
func (f *future[T, Info]) ended() bool {
	select {
	case <-f.done:
		return f.err != nil || f.panicked != nil || len(f.page.Items) < f.expected
	default:
		return false
	}
}

// ahead are the pages that are fetched ahead of the consumer, in the order of the
// list.
type ahead[T, Info any] struct {
	queue   []*future[T, Info]
	fetches sync.WaitGroup
}

// take returns the first page, if it is the one asked for.
func (a *ahead[T, Info]) take(start, limit int) *future[T, Info] {
	if len(a.queue) == 0 || a.queue[0].start != start || a.queue[0].limit != limit {
		return nil
	}
	f := a.queue[0]
	a.queue[0], a.queue = nil, a.queue[1:]
	return f
}

// launch begins to fetch the page after those in the queue.
func (a *ahead[T, Info]) launch(ctx context.Context, f *future[T, Info], fetch func(context.Context, int, int) (Page[T, Info], error)) {
	ctx, f.cancel = context.WithCancel(ctx)
	f.done, f.err = make(chan struct{}), errGone
	a.queue = append(a.queue, f)
	a.fetches.Go(func() {
		defer f.cancel()
		defer close(f.done)
		defer func() { f.panicked = recover() }()
		f.page, f.err = fetch(ctx, f.start, f.limit)
	})
}

// drop ends all fetches, and waits for them.
func (a *ahead[T, Info]) drop() {
	for _, f := range a.queue {
		f.cancel()
	}
	a.fetches.Wait()
	a.queue = nil
}

// readAhead begins to fetch the pages that come next. How many grows by one with
// each full page: short lists cost no request that is not needed, and others at most
// Concurrency-1 if they hold still and their pages are of one length.
func (w *walk[T, ID, Info]) readAhead(ctx context.Context) {
	if w.done || w.alone { // step looks behind a page of one record before it goes on
		return
	}
	queue := w.ahead.queue
	if len(queue) > 0 {
		if start, limit := w.request(w.next, w.overlap); queue[0].start != start || queue[0].limit != limit {
			w.ahead.drop() // not what comes next after all: pages differ in length
			queue, w.streak = nil, 1
		}
	}
	if slices.ContainsFunc(queue, (*future[T, Info]).ended) {
		return
	}
	before, next := -1, w.next
	if n := len(queue); n > 0 {
		before, next = queue[n-1].start, queue[n-1].start+queue[n-1].expected
	}
	for n := len(queue); n < min(w.streak, w.Concurrency) && w.requests < w.budget(); n++ {
		start, limit := w.request(next, w.overlap)
		if start <= before {
			return // the last page in reach is under way, or the overlap leaves no progress
		}
		f := &future[T, Info]{start: start, limit: limit, expected: min(limit, w.length)}
		w.requests++
		w.ahead.launch(ctx, f, w.Fetch)
		before, next = start, start+f.expected
	}
}
