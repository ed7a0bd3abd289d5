package paging

import (
	"context"
	"slices"

	"github.com/commerce-go/commerce/internal/future"
)

// pendingPage is a page that is fetched ahead.
type pendingPage[P any, ID comparable] struct {
	request
	expected int // number of records, if the list does not end here
	cancel   context.CancelFunc
	page     *future.Future[fetched[P, ID]]
	isLast   bool // the list probably ends here; valid when page is done
}

// end returns the offset after the last record that is expected.
func (p *pendingPage[P, ID]) end() int { return p.start + p.expected }

// knownLast reports whether the page is fetched, and the list probably ends with it.
func (p *pendingPage[P, ID]) knownLast() bool {
	select {
	case <-p.page.Done():
		return p.isLast
	default:
		return false
	}
}

// readAhead starts to fetch the pages that the walk will probably request next. Their number grows
// by one with each full page, and half as fast once the walk has stepped back. Therefore a short
// list costs no unneeded request, and a longer one at most Concurrency-1, if it does not change
// and its pages have the same length.
func (w *walk[P, ID]) readAhead(ctx context.Context) {
	if w.last.length == 1 { // step first checks the page after it
		return
	}
	if len(w.ahead) > 0 && w.ahead[0].request != w.requestAfter(w.last.end(), w.overlap) {
		w.cancelAhead() // the last page did not have the expected length
		w.window = 1
	}
	if slices.ContainsFunc(w.ahead, (*pendingPage[P, ID]).knownLast) {
		return
	}
	previous, end := -1, w.last.end()
	if n := len(w.ahead); n > 0 {
		previous, end = w.ahead[n-1].start, w.ahead[n-1].end()
	}
	window := w.window
	if w.steppedBack {
		window = (window + 1) / 2
	}
	for len(w.ahead) < min(window, w.Concurrency) && w.requests < w.budget() {
		r := w.requestAfter(end, w.overlap)
		if r.start <= previous {
			return // the highest offset is already requested, or the overlap leaves no progress
		}
		p := w.fetchAhead(ctx, r)
		previous, end = p.start, p.end()
	}
}

// fetchAhead starts to fetch the page after those that are fetched ahead already.
func (w *walk[P, ID]) fetchAhead(ctx context.Context, r request) *pendingPage[P, ID] {
	ctx, cancel := context.WithCancel(ctx)
	p := &pendingPage[P, ID]{request: r, expected: min(r.limit, w.last.length), cancel: cancel}
	p.page = future.Go(func() (fetched[P, ID], error) {
		defer cancel()
		f, err := w.fetch(ctx, r)
		p.isLast = len(f.ids) < p.expected // also after an error, without ids
		return f, err
	})
	w.requests++
	w.ahead = append(w.ahead, p)
	return p
}

// isAhead reports whether r is the request of the first page that is fetched ahead.
func (w *walk[P, ID]) isAhead(r request) bool {
	return len(w.ahead) > 0 && w.ahead[0].request == r
}

// cancelAhead cancels all fetches, and waits for their end.
func (w *walk[P, ID]) cancelAhead() {
	for _, p := range w.ahead {
		p.cancel()
	}
	for _, p := range w.ahead {
		<-p.page.Done()
	}
	w.ahead = nil
}
