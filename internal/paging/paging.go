// Package paging walks a list that is read by offset and limit. It knows record
// ids and a function that fetches a page, and nothing of HTTP.
//
// Offset paging over a list that changes is unsafe: a record removed before the
// cursor moves the rest up, and the next page skips one. So each page overlaps
// the one before by a record, the anchor: if it is where it was expected or
// further on, nothing was skipped.
//
// A page may be shorter than was asked for, and the next one shorter still. So a short
// page alone does not prove the end. A walk ends without an error at
//   - an empty page,
//   - a page that is not full and says that there is no next one,
//   - a page of one record, if the page behind it is empty,
//   - a page that holds only the anchor, right after the first short page, if the store
//     does not say whether there is a next one.
//
// If the store returns one record at a time, no page can overlap another: a record may
// then be missed while the list changes.
package paging

import (
	"context"
	"errors"
	"iter"
)

// The errors of a walk itself. Errors of a fetch are passed on as they are.
var (
	ErrOffsetLimit = errors.New("the highest offset is reached and there may be more records; narrow the filter, e.g. by account, and walk each part")
	ErrListDrift   = errors.New("the order of the list changed too much to go on without missing records; walk it again")
	ErrNoProgress  = errors.New("the service returned a page without new records that is not the end of the list")
)

// Next is what a page says about the page after it.
type Next uint8

// What a page can say: nothing, that there is none, that there is one.
const (
	NextUnknown Next = iota
	NextNone
	NextExists
)

// Page is what a fetch returns. Info is for the consumer, and passed through. The
// walk takes the items over.
type Page[T, Info any] struct {
	Items []T
	Next  Next
	Info  Info
}

// Config describes a walk. Limit is 1 to MaxLimit, Offset 0 to MaxOffset.
type Config[T any, ID comparable, Info any] struct {
	// Fetch reads a page. It is called from several goroutines if Concurrency is
	// more than 1, and else from one at a time; it must return when ctx ends.
	Fetch     func(ctx context.Context, offset, limit int) (Page[T, Info], error)
	ID        func(*T) ID
	Offset    int // of the first record
	Limit     int // page size
	MaxOffset int // highest offset that can be asked for
	MaxLimit  int // largest page size

	// Concurrency is how many pages may be fetched ahead of the consumer: 0 none, 1
	// the next while the consumer works on the one in hand.
	Concurrency int
}

// Chunk is a page without what was yielded before. It has at least one item.
type Chunk[T, Info any] struct {
	Offset int // of the first item, when it was read
	Items  []T
	Info   Info
}

// Stop is the error that ends a walk.
type Stop struct {
	Offset int // of the first record not yielded
	Seen   int // records yielded
	Err    error
}

func (s *Stop) Error() string { return s.Err.Error() }
func (s *Stop) Unwrap() error { return s.Err }

// maxSteps bounds the steps back in search of a record seen before. The
// distance doubles with each, so that it spans any list that can be read.
const maxSteps = 16

// Walk yields all records from cfg.Offset on, a chunk at a time, each record
// once. A [*Stop] ends it early. Ranging again walks again. When the loop over
// it ends, however it does, no fetch is under way.
func Walk[T any, ID comparable, Info any](ctx context.Context, cfg Config[T, ID, Info]) iter.Seq2[Chunk[T, Info], error] {
	return func(yield func(Chunk[T, Info], error) bool) {
		w := &walk[T, ID, Info]{Config: cfg, next: cfg.Offset, resume: cfg.Offset, overlap: 1, seen: map[ID]struct{}{}}
		defer w.ahead.drop()
		for !w.done {
			chunk, err := w.step(ctx)
			if err != nil {
				w.ahead.drop()
				yield(Chunk[T, Info]{}, &Stop{Offset: w.resume, Seen: len(w.seen), Err: err})
				return
			}
			w.readAhead(ctx)
			if len(chunk.Items) > 0 && !yield(chunk, nil) {
				return
			}
		}
		if w.end != nil {
			yield(Chunk[T, Info]{}, &Stop{Offset: w.resume, Seen: len(w.seen), Err: w.end})
		}
	}
}

// walk is a walk under way. All of it is for one goroutine. What is fetched ahead
// are requests that step is expected to make: a page counts when step asks for
// it, in its turn, and then it does not matter when it was read.
type walk[T any, ID comparable, Info any] struct {
	Config[T, ID, Info]
	next     int  // offset of the first record not seen, as far as the last page tells
	resume   int  // the same, as far as the last page with a new record proves
	overlap  int  // records by which the next page overlaps the last; below 1 if it starts further on
	far      int  // the highest offset that a page ended at so far
	length   int  // number of records in the last page
	shortest int  // the same, at least, of pages with something new
	streak   int  // pages since the start, or since one that may be the last: how many to read ahead
	stale    *ID  // first record of the last page, if that had nothing new
	alone    bool // the last page held one record only
	short    bool // the last page held several records, and fewer than were asked for
	more     bool // the last page said that there is another one
	checked  bool // and held one record, but the page behind it was empty
	uneven   bool // a short page was followed by more: one tells little about the end
	requests int
	seen     map[ID]struct{}
	ahead    ahead[T, Info]
	done     bool
	end      error // why, if the end of the list was not reached
}

// budget is how many requests the walk may have made by now: three times what a
// list takes that reaches as far as was read, if all pages are as short as the
// shortest so far, of two records at least, and half of each is overlap. Only a
// list that changes faster than it is read asks for more.
func (w *walk[T, ID, Info]) budget() int {
	const few = 50 // enough for steps back in a short list
	return few + 6*(w.far+w.Limit)/max(2, w.shortest)
}

// fetch returns a page: the one that was fetched ahead, if it is the one expected.
func (w *walk[T, ID, Info]) fetch(ctx context.Context, start, limit int) (Page[T, Info], error) {
	if err := ctx.Err(); err != nil {
		return Page[T, Info]{}, err
	}
	if f := w.ahead.take(start, limit); f != nil {
		return f.result()
	}
	w.ahead.drop()
	if w.requests++; w.requests > w.budget() {
		return Page[T, Info]{}, ErrListDrift
	}
	return w.Fetch(ctx, start, limit)
}

// request returns the start and the limit of the request that goes on at next. The
// limit is at least 2, so that a page of one record may be the end of the list:
// nothingBeyond then checks it.
func (w *walk[T, ID, Info]) request(next, overlap int) (start, limit int) {
	start = min(max(0, next-overlap), w.MaxOffset)
	if len(w.seen) == 0 {
		start = w.Offset
	}
	if start == w.MaxOffset {
		return start, w.MaxLimit // nothing lies beyond: take all there is to have
	}
	return start, min(max(w.Limit, overlap+1, 2), w.MaxLimit)
}

// step reads the next page, stepping back as far as it takes to connect to what
// was seen. It sets done where the page is the last.
func (w *walk[T, ID, Info]) step(ctx context.Context) (Chunk[T, Info], error) {
	var none Chunk[T, Info]
	if w.alone {
		empty, err := w.nothingBeyond(ctx)
		if err != nil {
			return none, err
		}
		if empty && (!w.more || w.checked) {
			w.done = true
			return none, nil
		}
		w.checked = empty // it said that there is more: the list may have become shorter
	}
	back := w.overlap
	for range maxSteps {
		start, limit := w.request(w.next, back)
		page, err := w.fetch(ctx, start, limit)
		if err != nil {
			return none, err
		}
		if w.doubtful(start, page) {
			if page, err = w.fetch(ctx, start, limit); err != nil {
				return none, err
			}
		}
		if from, ok := w.connect(start, page.Items); ok {
			return w.take(start, from, limit, page)
		}
		if start == 0 {
			break
		}
		w.stale, w.streak = nil, 0
		back = max(1, 2*back)
		w.overlap = min(back, max(1, w.length/2)) // at most half a page, so that each page makes progress
	}
	return none, ErrListDrift
}

// nothingBeyond reads a page behind the last one, which held one record, and reports
// whether it is empty. If not, the store may give one record at a time. Nothing
// connects that page to what was seen, so its records do not count.
func (w *walk[T, ID, Info]) nothingBeyond(ctx context.Context) (bool, error) {
	beyond, err := w.fetch(ctx, min(w.next+max(0, 1-w.overlap), w.MaxOffset), w.Limit)
	return err == nil && len(beyond.Items) == 0, err
}

// doubtful reports whether a page may be a slip of the service, which is worth a
// second look: it is empty, and yet there is to be more, or it is the start of the
// list, and all that was seen is gone from it.
func (w *walk[T, ID, Info]) doubtful(start int, page Page[T, Info]) bool {
	if len(w.seen) == 0 {
		return len(page.Items) == 0 && page.Next == NextExists
	}
	return start == 0 && w.Offset == 0 && w.firstSeen(page.Items) < 0
}

// known reports whether a record was seen before.
func (w *walk[T, ID, Info]) known(item *T) bool {
	_, ok := w.seen[w.ID(item)]
	return ok
}

// firstSeen returns the index of the first of items that was seen before, or -1.
func (w *walk[T, ID, Info]) firstSeen(items []T) int {
	for i := range items {
		if w.known(&items[i]) {
			return i
		}
	}
	return -1
}

// connect reports whether no record can lie unseen between what was seen and a
// page at start, and from which of its records on: one of them was seen, or it is
// the first page of the walk or of the list. What comes before a seen record is
// new, or from before the start of a walk that began further on than the list:
// then it does not count.
func (w *walk[T, ID, Info]) connect(start int, items []T) (from int, ok bool) {
	if len(w.seen) == 0 || start == 0 && (w.Offset == 0 || len(items) == 0) {
		return 0, true
	}
	from = w.firstSeen(items)
	if from > 0 && w.Offset == 0 {
		return 0, true
	}
	return from, from >= 0
}

// take returns what is new in a page that connects from its record from on, and
// decides what is next.
func (w *walk[T, ID, Info]) take(start, from, limit int, page Page[T, Info]) (Chunk[T, Info], error) {
	n := len(page.Items)
	chunk := w.fresh(start, from, page)

	// Records added before the cursor push the list towards it: a page of records
	// seen is no fault. The same one twice is.
	var stale *ID
	if n > 0 && len(chunk.Items) == 0 {
		id := w.ID(&page.Items[0])
		stale = &id
	}

	switch {
	case n == 0 && page.Next == NextExists && len(w.seen) > 0:
		return chunk, ErrNoProgress // it can't be both the end and not
	case n == 0, n < limit && page.Next == NextNone:
		w.done = true
	case n == 1 && stale != nil && w.short && !w.uneven && page.Next == NextUnknown:
		w.done = true // the page before was the first short one, and this one confirms it
	case start == w.MaxOffset: // nothing beyond can be read that would show the end
		w.done, w.end = true, ErrOffsetLimit
	case stale != nil && w.stale != nil && *stale == *w.stale && !w.checked:
		return chunk, ErrNoProgress
	}
	if n < limit && n < w.length && page.Next != NextExists {
		w.streak = 0 // this may be the end: read ahead only the page that confirms it
	}
	w.streak++
	if stale == nil && n > 1 && (w.shortest == 0 || n < w.shortest) {
		w.shortest = n
	}
	w.uneven = w.uneven || w.short && stale == nil
	w.more, w.checked = page.Next == NextExists, w.checked && n == 1
	w.alone, w.short = n == 1, n > 1 && n < limit
	w.follow(start, limit, n, stale == nil)
	w.stale, w.next, w.far, w.length = stale, start+n, max(w.far, start+n), n
	return chunk, nil
}

// follow sets the overlap of the next page with the last page, which had n records. After
// a short page without a new record, the next page starts at the last record: if the list
// ends there, that record is alone in it. If records were added meanwhile, the next page
// starts further on by the number of these.
func (w *walk[T, ID, Info]) follow(start, limit, n int, progress bool) {
	switch {
	case progress:
		w.resume = start + n
		w.overlap = max(1, w.overlap)
	case n < limit:
		w.overlap = 1 - max(0, start+n-w.next)
	}
}

// fresh returns what is new in a page from its record from on.
func (w *walk[T, ID, Info]) fresh(start, from int, page Page[T, Info]) Chunk[T, Info] {
	var fresh []T // in the memory of the page: records may be large
	offset := start + len(page.Items)
	for i := from; i < len(page.Items); i++ {
		if w.known(&page.Items[i]) {
			continue
		}
		w.seen[w.ID(&page.Items[i])] = struct{}{}
		switch {
		case fresh == nil:
			offset, fresh = start+i, page.Items[i:i+1]
		case offset+len(fresh) == start+i:
			fresh = fresh[:len(fresh)+1]
		default:
			fresh = append(fresh, page.Items[i])
		}
	}
	return Chunk[T, Info]{Offset: offset, Items: fresh, Info: page.Info}
}
