package paging

import (
	"cmp"
	"context"
	"slices"

	"github.com/commerce-go/commerce/internal/future"
)

// keysWalk is the state of a walk by key.
//
// The list is read in segments. Where one ends, and the next begins, is predicted from the ids of
// a page. Each is read from where it begins on, page by page, so a wrong prediction costs requests,
// but never an id. Segments must connect: the first id that was found behind the end of one must be
// the first of the next. Otherwise the next one is dropped, and the one before it goes on. If the
// list seems to end before a segment with ids, both are read once more; if that is so again, the
// walk ends in [ErrNoProgress].
//
// A segment begins only while the consumer waits, so that a walk whose consumer or store is slow
// makes no request in vain.
type keysWalk[ID any] struct {
	KeysConfig[ID]
	segments      []*segment[ID]    // in order; the walk yields the ids of the first
	landed        chan *segment[ID] // whose page has come
	flying        int               // number of pages in flight
	waits         bool              // the consumer had to wait since the last segment began
	noneAfter     *ID               // behind this id, none was found
	kept, dropped int               // ids that were read; a segment that is dropped counts as a page or more
}

// segment is a part of the list.
type segment[ID any] struct {
	after ID                          // where its next page begins
	end   *ID                         // its last id, if that exists; nil: the list ends first
	page  *future.Future[KeyPage[ID]] // in flight, or nil
	ids   []ID                        // for the consumer
	done  bool                        // it was read to its end, to that of the list, or to err
	again bool                        // it was read to the end of the list before, too early
	err   error

	first, beyond *ID // of the ids that were read: the first, and the first behind end; nil: none
}

// next returns the next ids. There are none at the end of the list, and at an error of the first
// segment.
func (w *keysWalk[ID]) next(ctx context.Context) (ids []ID) {
	for ctx.Err() == nil {
		head := w.segments[0]
		if w.Segments > 1 || len(head.ids) == 0 {
			w.fetch(ctx)
		}
		select {
		case s := <-w.landed:
			w.land(ctx, s)
			continue
		default:
		}
		switch {
		case len(head.ids) > 0:
			ids, head.ids = head.ids, nil
			return ids
		case head.err != nil || head.done && len(w.segments) == 1:
			return nil
		case head.done && (w.segments[1].done || w.segments[1].first != nil):
			w.connect(head, w.segments[1])
		default:
			w.waits = true
			w.land(ctx, <-w.landed)
		}
	}
	return nil
}

// fetch requests the next page of each segment, unless several pages of it wait for the consumer.
func (w *keysWalk[ID]) fetch(ctx context.Context) {
	const waiting = 8 // by TestIdeal, TestKeys_slowConsumer
	for _, s := range w.segments {
		if s.page != nil || s.done || len(s.ids) > waiting*w.Limit {
			continue
		}
		after := s.after
		w.flying++
		s.page = future.Go(func() (KeyPage[ID], error) {
			defer func() { w.landed <- s }()
			return w.Fetch(ctx, after, w.Limit)
		})
	}
}

// wait waits for all fetches.
func (w *keysWalk[ID]) wait() {
	for ; w.flying > 0; w.flying-- {
		<-w.landed
	}
}

// land adds a page to its segment.
func (w *keysWalk[ID]) land(ctx context.Context, s *segment[ID]) {
	w.flying--
	page, err := s.page.Wait(context.WithoutCancel(ctx)) // it is about to end
	s.page = nil
	i := slices.Index(w.segments, s)
	if i < 0 {
		return // it was dropped
	}
	if err = cmp.Or(err, w.check(page, s.after)); err != nil {
		s.done, s.err = true, err
		return
	}
	n, found := len(page.IDs), false
	if s.first == nil && n > 0 {
		s.first = &page.IDs[0]
	}
	if s.end != nil {
		if n, found = slices.BinarySearchFunc(page.IDs, *s.end, w.Compare); found {
			n++
		}
	}
	if s.ids = append(s.ids, page.IDs[:n]...); n > 0 {
		s.after = page.IDs[n-1]
	}
	w.kept += n
	w.dropped += len(page.IDs) - n
	switch {
	case n < len(page.IDs):
		s.done, s.beyond = true, &page.IDs[n]
	case n == w.Limit || n > 0 && page.Next != NextNone:
		w.split(i, page.IDs[0])
	case s.first == nil && i > 0 && i == len(w.segments)-1:
		w.noneAfter = &s.after
		w.readOn(i - 1)
	default:
		s.done = true
	}
}

// split begins a new segment within segment i, about four pages behind its last page, which begins
// with first.
func (w *keysWalk[ID]) split(i int, first ID) {
	const pages, maxDropped = 4, 6 // by TestIdeal, TestKeys_ahead
	s := w.segments[i]
	if !w.waits || len(w.segments) >= w.Segments || w.dropped > w.Limit+w.kept/maxDropped {
		return
	}
	end, ok := w.Predict(first, s.after, pages)
	if !ok || w.Compare(end, s.after) <= 0 {
		return
	}
	if limit := cmp.Or(s.end, w.noneAfter); limit == nil || w.Compare(end, *limit) < 0 {
		w.segments = slices.Insert(w.segments, i+1, &segment[ID]{after: end, end: s.end})
		s.end, w.waits = &end, false
	}
}

// connect is called when the first segment is done, and the second has a page.
func (w *keysWalk[ID]) connect(head, second *segment[ID]) {
	k := slices.IndexFunc(w.segments[1:], func(s *segment[ID]) bool { return s.first != nil })
	switch {
	case head.beyond != nil && second.first != nil && w.Compare(*head.beyond, *second.first) == 0:
		w.segments = w.segments[1:]
	case head.beyond == nil && head.again && (k >= 0 || second.err != nil):
		head.err = cmp.Or(second.err, ErrNoProgress)
	case head.beyond != nil || k < 0:
		w.readOn(0)
	default:
		end := w.segments[k].end // the next segment has ids
		w.readOn(0)
		w.segments = append(w.segments, &segment[ID]{after: *end})
		head.end, head.done, head.again = end, false, true
	}
}

// readOn drops the segments behind segment i, which goes on to the end of the list.
func (w *keysWalk[ID]) readOn(i int) {
	for _, s := range w.segments[i+1:] {
		w.dropped += max(w.Limit, len(s.ids))
	}
	w.segments = w.segments[:i+1]
	s := w.segments[i]
	s.done = s.done && s.beyond == nil
	s.end, s.beyond = nil, nil
}
