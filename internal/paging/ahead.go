package paging

import (
	"context"
	"slices"

	"github.com/commerce-go/commerce/internal/future"
)

// pendingPage is a page that is fetched ahead.
type pendingPage[T, Info any] struct {
	request
	expected int // number of records, if the list does not end here
	cancel   context.CancelFunc
	page     *future.Future[Page[T, Info]]
	isLast   bool // the list probably ends here; valid when page is done
}

// end returns the offset after the last record that is expected.
func (p *pendingPage[T, Info]) end() int { return p.start + p.expected }

// knownLast reports whether the page is fetched, and the list probably ends with it.
func (p *pendingPage[T, Info]) knownLast() bool {
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
func (w *walk[T, ID, Info]) readAhead(ctx context.Context) {
	if w.last.length == 1 { // step first checks the page after it
		return
	}
	if len(w.ahead) > 0 && w.ahead[0].request != w.requestAfter(w.last.end(), w.overlap) {
		w.cancelAhead() // the last page did not have the expected length
		w.window = 1
	}
	if slices.ContainsFunc(w.ahead, (*pendingPage[T, Info]).knownLast) {
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
func (w *walk[T, ID, Info]) fetchAhead(ctx context.Context, r request) *pendingPage[T, Info] {
	ctx, cancel := context.WithCancel(ctx)
	p := &pendingPage[T, Info]{request: r, expected: min(r.limit, w.last.length), cancel: cancel}
	p.page = future.Go(func() (Page[T, Info], error) {
		defer cancel()
		page, err := w.Fetch(ctx, r.start, r.limit)
		p.isLast = len(page.Items) < p.expected // also after an error, without items
		return page, err
	})
	w.requests++
	w.ahead = append(w.ahead, p)
	return p
}

// isAhead reports whether r is the request of the first page that is fetched ahead.
func (w *walk[T, ID, Info]) isAhead(r request) bool {
	return len(w.ahead) > 0 && w.ahead[0].request == r
}

// cancelAhead cancels all fetches, and waits for their end.
func (w *walk[T, ID, Info]) cancelAhead() {
	for _, p := range w.ahead {
		p.cancel()
	}
	for _, p := range w.ahead {
		<-p.page.Done()
	}
	w.ahead = nil
}
