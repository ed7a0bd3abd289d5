// Package paging walks a list that is read by offset and limit. It knows record ids and a function
// that fetches a page. It knows nothing of HTTP.
//
// # Anchor and overlap
//
// Reading by offset is unsafe while the list changes: if a record before the offset is removed, all
// records after it move up, and the next page misses one. Therefore each page overlaps the page
// before it by one record, the anchor. A page connects to the pages before it if any of its
// records was seen before. Then no record in between is missing, because the order of the records
// is stable; if it may not be, see order. The walk yields the new records of the page, and drops
// those that it has seen.
//
// # Steps back
//
// A page does not connect if none of its records was seen before: records were removed, and the
// page may begin too far on. Then the walk steps back. It reads from a lower offset, and doubles
// the distance until a page connects or begins at the start of the list. Later pages overlap by
// more than one record, because the list changes fast.
//
// # The end of the list
//
// A page is short if it has fewer records than were requested. A short page does not prove that the
// list ends, as a store may return fewer records than it has. A walk ends without an error at
//   - an empty page, if it is the first page of the walk, or was read from offset 0: the list is
//     now empty,
//   - a short page which states that there is no next page, see mayBeOld,
//   - a page of one record, the tail, if the page after it is empty,
//   - if the store does not say whether there is a next page: a page that stops at the tail, if
//     what showsEnd or checkAfterLast find out about it shows that.
//
// The tail is the record where the walk is: the last one of those that it yielded, unless it
// stepped back. A page that neither has the tail nor leads on is not the end, because a store may
// return a page once more. Nor is an empty page that states that there is a next one: a store whose
// pages all do so never shows its end, and the walk ends in ErrNoProgress after the last record.
//
// If the store returns one record at a time, no page can overlap another. A record may then be
// missed while the list changes.
//
// # Reading ahead
//
// The walk decides page by page. Pages that it will probably request next are fetched ahead, see
// readAhead. They change how long a walk takes, but not what it yields.
package paging

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"
)

// The errors of a walk itself. Errors of a fetch are passed on as they are.
var (
	ErrOffsetLimit = errors.New("the highest offset is reached, and there may be more records: narrow the filter")
	ErrListDrift   = errors.New("the order of the list changed too much to go on without missing records; " +
		"walk it again")
	ErrNoProgress = errors.New("the service returned a page without new records that is not the end of the list; " +
		"walk it again, and check that the server respects the offset")

	errEnd = errors.New("end of the list")
)

// Next is what a page states about the page after it.
type Next uint8

// What a page can say: nothing, that there is no next page, that there is one.
const (
	NextUnknown Next = iota
	NextNone
	NextExists
)

// Pages says how to use pages of type P, with records that have an ID.
type Pages[P any, ID comparable] struct {
	// Look returns the ids of the records of a page, and what the page states about the next one.
	Look func(P) ([]ID, Next)
	// Keep removes all records from a page but those with these indexes, which increase. There is
	// at least one. The first of them was at offset when the page was read.
	Keep func(page P, records []int, offset int)
	// Repeats is the error of a page that has an id twice, also when it is read again.
	Repeats error

	// Compare compares ids, and Times returns when a record of a page was created and last changed,
	// the zero time if it does not say. With them, a walk looks at the order of the list. Both may
	// be nil.
	Compare func(a, b ID) int
	Times   func(page P, record int) (created, updated time.Time)
}

// Kept returns those items that have these indexes, which increase. It uses the memory of items,
// because records may be large.
func Kept[T any](items []T, records []int) []T {
	kept := items[records[0]:records[0]]
	for _, i := range records {
		kept = append(kept, items[i])
	}
	return kept
}

// Config describes a walk. Limit is 1 to MaxLimit, Offset 0 to MaxOffset.
type Config[P any, ID comparable] struct {
	// Fetch reads a page. It may run in any goroutine; calls overlap only if Concurrency is more
	// than 1. It must return when ctx ends.
	Fetch func(ctx context.Context, offset, limit int) (P, error)
	Pages[P, ID]
	Offset    int // of the first record of the walk
	Limit     int // page size
	MaxOffset int // highest offset that can be requested
	MaxLimit  int // largest page size

	// Concurrency is the number of pages that may be fetched while the consumer works on one. 0:
	// none.
	Concurrency int

	// Yielded collects the ids of the records that the walk yields. It starts empty, or is nil.
	Yielded map[ID]struct{}
	// Unproven is set before a page is yielded: records may have moved to the start of the list
	// since, so that only a walk from there finds them. It may be nil.
	Unproven *bool
}

// Error is the error that ends a walk.
type Error struct {
	Seen int // number of records yielded
	Err  error

	// Walk: of the first record that the walk has not yielded, or 0 if records may have moved to
	// the start of the list.
	Offset int

	// Keys of a list, nil if there is none. Key is nil too if the failed request was for several
	// keys.
	Finished any // Keys, Parts: all records of this key and of the keys before it were yielded
	Key      any // Parts: the key whose records could not be read
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Walk yields all records from cfg.Offset on, page by page, each record once: the pages that Fetch
// returns, with only those records that were not yielded before, at least one. If the walk cannot
// reach the end of the list, the last value is an [*Error]. Each range over the result is a new
// walk. When the range ends, for whatever reason, no fetch is running.
func Walk[P any, ID comparable](ctx context.Context, cfg Config[P, ID]) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		w := &walk[P, ID]{Config: cfg}
		for page, err := range w.all(ctx) {
			if !yield(page, err) || err != nil {
				return
			}
		}
		if w.isUnproven() && w.order.pages > 1 {
			w.lookAgain(ctx, yield)
		}
	}
}

// all yields the pages up to the end of the list.
func (w *walk[P, ID]) all(ctx context.Context) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		w.resume, w.overlap, w.seen, w.page = w.Offset, 1, w.Yielded, map[ID]struct{}{}
		if w.seen == nil {
			w.seen = map[ID]struct{}{}
		}
		w.last.start = w.Offset
		defer w.cancelAhead()
		for {
			page, hasNew, err := w.step(ctx)
			if err == nil {
				w.readAhead(ctx)
			} else {
				w.cancelAhead()
			}
			isUnproven := w.isUnproven()
			if w.Unproven != nil {
				*w.Unproven = isUnproven
			}
			if hasNew && !yield(page, nil) || errors.Is(err, errEnd) {
				return
			}
			if err != nil {
				stop := &Error{Offset: w.resume, Seen: len(w.seen), Err: err}
				if isUnproven { // what changed since may be before the offset
					stop.Offset = 0
				}
				yield(*new(P), stop)
				return
			}
		}
	}
}

// fetched is a page, and what the walk looks at.
type fetched[P any, ID comparable] struct {
	page P
	ids  []ID // of its records
	next Next
}

// walk is the state of a walk. Only the goroutine that ranges over the walk uses it.
type walk[P any, ID comparable] struct {
	Config[P, ID]
	seen     map[ID]struct{}       // the records of all pages that connected, from cfg.Offset on
	page     map[ID]struct{}       // the records of a page, see hasTwice
	order    order                 // of the list
	last     pageFacts[ID]         // the last page that connected
	tail     ID                    // the record where the walk is, see update
	resume   int                   // end of the last page with new records: another walk can resume there
	overlap  int                   // number of records that the next page shares with the last; see setOverlap
	requests int                   // number of requests made
	ahead    []*pendingPage[P, ID] // pages fetched ahead, in the order of the list
	window   int                   // number of pages to fetch ahead, if Concurrency allows

	farthest       int  // highest end of a page so far
	shortest       int  // fewest records in a page after which new ones came; pages of one record do not count
	usual          int  // number of records in such a page, see countUsual
	usuals         int  // number of such pages, at most minUsual
	stops          int  // number of pages since the last new record that stop at the tail
	doubts         int  // pages since the last new record that may be old ones, see mayBeOld
	emptyAfterLast bool // the last page had one record, and the page after it was empty
	steppedBack    bool // so pages that are fetched ahead may be of no use again
}

// request is what a walk asks for: a page of at most limit records from offset start on.
type request struct{ start, limit int }

// pageFacts is what a walk remembers of a page.
type pageFacts[ID comparable] struct {
	request
	number        int // of the request in the walk, from 1 on
	length        int // number of records
	next          Next
	first, last   ID   // of the records
	hasNew        bool // it had a record that was not seen before
	endsNew       bool // its last record was not seen before
	hasTail       bool
	afterStepBack bool // the walk stepped back to read it
	mayBeEnd      bool // so the page after it shows whether the list ends, see checkAfterLast
	repeats       int  // number of pages right before it that began with the same record, see isRepeated
}

// end returns the offset after the last record of the page.
func (p *pageFacts[ID]) end() int { return p.start + p.length }

// short reports whether the page has fewer records than requested. A page of one record is not
// called short: step checks it in another way.
func (p *pageFacts[ID]) short() bool { return p.length != 1 && p.length < p.limit }

// budget is the maximum number of requests of a walk, so that the walk ends even if the list
// changes faster than it can be read. Suppose that all pages are as short as the shortest so far,
// and that each overlaps the one before by half. Then n records need 2*n/shortest requests. The
// budget is three times that, and some more for steps back.
func (w *walk[P, ID]) budget() int {
	const stepsBack = 50 // enough for steps back in a short list: TestWalk_wrongPages
	return stepsBack + 6*(w.farthest+w.Limit)/max(2, w.shortest)
}

// read returns a page: the one that was fetched ahead, if it is the requested one.
func (w *walk[P, ID]) read(ctx context.Context, r request) (fetched[P, ID], error) {
	if err := ctx.Err(); err != nil {
		return fetched[P, ID]{}, err
	}
	if w.isAhead(r) {
		pending := w.ahead[0]
		w.ahead = slices.Delete(w.ahead, 0, 1)
		// Wait does not return before the page is fetched, because no fetch must outlast the walk:
		// Fetch itself watches ctx.
		f, err := pending.page.Wait(context.WithoutCancel(ctx))
		if err != nil || !pending.isLast || w.Concurrency == 1 || !w.onlyRises() {
			return f, err
		}
		// The store may have read the list for this page before it did so for the page before. A
		// record that moved to the end in between is on neither.
	}
	w.cancelAhead()
	if w.requests++; w.requests > w.budget() {
		return fetched[P, ID]{}, ErrListDrift
	}
	return w.fetch(ctx, r)
}

// fetch fetches a page.
func (w *walk[P, ID]) fetch(ctx context.Context, r request) (f fetched[P, ID], err error) {
	f.page, err = w.Fetch(ctx, r.start, r.limit)
	if err == nil {
		f.ids, f.next = w.Look(f.page)
	}
	return f, err
}

// requestAfter returns the request for the page after the one that ends at end. The limit is at
// least 2, because a page of one record is how the walk sees the end of a list.
func (w *walk[P, ID]) requestAfter(end, overlap int) request {
	start := min(max(0, end-overlap), w.MaxOffset)
	if len(w.seen) == 0 {
		start = w.Offset
	}
	if start == w.MaxOffset {
		return request{start, w.MaxLimit} // no later page can be requested: read as much as possible
	}
	return request{start, min(max(w.Limit, overlap+1, 2), w.MaxLimit)}
}

// maxStepsBack limits the steps back in search of a record seen before. The distance doubles with
// each step, so that this many span any list that can be read.
const maxStepsBack = 16

// step reads the next page, and steps back until it connects. It returns the page with its new
// records, if it has any. The error is errEnd at the end of the list. A page may come with errEnd
// or ErrOffsetLimit.
func (w *walk[P, ID]) step(ctx context.Context) (page P, hasNew bool, err error) {
	var none P
	if w.last.mayBeEnd {
		if err := w.checkAfterLast(ctx); err != nil {
			return none, false, err
		}
	}
	back := w.overlap
	r := w.requestAfter(w.last.end(), back)
	for steps := range maxStepsBack {
		wasAhead := w.isAhead(r)
		f, err := w.read(ctx, r)
		if err == nil && (w.hasTwice(f.ids) || w.looksWrong(r, f)) {
			if f, err = w.read(ctx, r); err == nil && w.hasTwice(f.ids) {
				err = w.Repeats
			}
		}
		if err != nil {
			return none, false, err
		}
		w.observe(f)
		from, connects := w.connects(r, f)
		p := w.facts(r, f, from)
		p.afterStepBack = steps > 0
		isOld := connects && w.mayBeOld(&p)
		switch {
		case connects && !isOld:
			w.acceptTimes(f)
			added := addNew(w.seen, f.ids, from)
			if len(added) > 0 {
				w.Keep(f.page, added, p.start+added[0])
			}
			if err = w.accept(p); errors.Is(err, ErrOffsetLimit) {
				err = w.checkLimit(ctx, &p)
			}
			return f.page, len(added) > 0, err
		case isOld && w.doubts == maxDoubts:
			return none, false, ErrNoProgress
		case r.start == 0:
			return none, false, ErrListDrift
		}
		w.window, w.steppedBack = 0, true
		if isOld {
			w.doubts++
			r = w.requestBefore(&p)
			continue
		}
		back = max(1, 2*back)
		limit := max(1, w.last.length/2) // so that each page makes progress
		if wasAhead {
			limit = w.maxOverlapAhead()
		}
		w.overlap = min(back, limit)
		r = w.requestAfter(w.last.end(), back)
	}
	return none, false, ErrListDrift
}

// maxOverlapAhead returns the maximum overlap after a page that was fetched ahead and did not
// connect. It is only a quarter of a page, because the reason may be that the store read the list
// for that page before it did so for the last one, and records were added in between. Simulation:
// TestReadAhead_growing.
func (w *walk[P, ID]) maxOverlapAhead() int {
	return max(1, w.last.length/4, w.overlap)
}

// checkAfterLast reads the page after the last one, with which the list may end. It returns errEnd
// if that page is empty, or is the third one that stops at the tail, because the list grows before
// it. If neither, the store may return short pages, of one record even. The records do not count,
// because that page does not overlap the last.
func (w *walk[P, ID]) checkAfterLast(ctx context.Context) error {
	start := min(w.last.end()+max(0, 1-w.overlap), w.MaxOffset)
	f, err := w.read(ctx, request{start, w.Limit})
	if err != nil {
		return err
	}
	// If one of the two pages stated that there is a next one, the list may have become shorter
	// since: look twice.
	lookedTwice := w.emptyAfterLast
	w.emptyAfterLast = len(f.ids) == 0 && w.last.last == w.tail
	after := w.facts(request{start, w.Limit}, f, 0)
	switch {
	case w.last.length > 1 && w.stopsAtTail(&after):
		return errEnd
	case !w.emptyAfterLast:
		return nil
	case f.next == NextExists && lookedTwice:
		return ErrNoProgress
	case f.next != NextExists && (w.last.next != NextExists || lookedTwice):
		return errEnd
	}
	return nil
}

// checkLimit returns errEnd if the list ends with p, a page at the highest offset. A null next link
// of a full page may only mean that no page can follow. It is true if the store links to a page
// even from there, so that a page with one record less has a next link.
func (w *walk[P, ID]) checkLimit(ctx context.Context, p *pageFacts[ID]) error {
	if p.next == NextNone {
		f, err := w.read(ctx, request{p.start, p.limit - 1})
		if err != nil || f.next == NextExists {
			return cmp.Or(err, errEnd)
		}
	}
	return ErrOffsetLimit
}

// maxDoubts limits the pages without new records in between that may be old ones. No simulation
// chose it: with 1, none changes.
const maxDoubts = 2

// mayBeOld reports whether page p, which states that the list ends with it, may be a page that the
// store returned before: it begins like the page before, or neither has the tail nor ends with a
// new record. At the start of the list, an old page cannot be told from a new one.
func (w *walk[P, ID]) mayBeOld(p *pageFacts[ID]) bool {
	if p.next != NextNone || p.length >= p.limit || p.start == 0 || len(w.seen) == 0 {
		return false
	}
	return w.beginsLikeLast(p.first) || !p.endsNew && !p.hasTail
}

// requestBefore returns the request that checks page p, which may be an old one. It begins half a
// page earlier, and leaves out the last record, so that it is not for the end of the list. The walk
// goes on from that page. If the list became shorter, the page after it ends the walk.
func (w *walk[P, ID]) requestBefore(p *pageFacts[ID]) request {
	start := max(0, p.start-max(2, w.last.length/2))
	return request{start, min(max(2, p.end()-1-start), w.MaxLimit)}
}

// looksWrong reports whether a page may be an error of the service, so that the walk reads it
// again. The page is empty but states that there is a next one. Or it is the start of the list, and
// nothing that was seen is in it.
func (w *walk[P, ID]) looksWrong(r request, f fetched[P, ID]) bool {
	if len(w.seen) == 0 {
		return len(f.ids) == 0 && f.next == NextExists
	}
	return r.start == 0 && w.Offset == 0 && !slices.ContainsFunc(f.ids, w.isSeen)
}

// hasTwice reports whether one of the ids of a page occurs more than once, perhaps in place of
// another one.
func (w *walk[P, ID]) hasTwice(ids []ID) bool {
	clear(w.page)
	for _, id := range ids {
		w.page[id] = struct{}{}
	}
	return len(w.page) < len(ids)
}

func (w *walk[P, ID]) isSeen(id ID) bool {
	_, ok := w.seen[id]
	return ok
}

// connects reports whether a page connects. If it does, from is the index of the first record that
// belongs to the walk. Records before the first one that was seen were added meanwhile, so they
// belong to the walk. But if the walk did not begin at the start of the list, they may be from
// before the start of the walk, so they do not belong to it.
func (w *walk[P, ID]) connects(r request, f fetched[P, ID]) (from int, ok bool) {
	if len(w.seen) == 0 || r.start == 0 && (w.Offset == 0 || len(f.ids) == 0) {
		return 0, true
	}
	for from < len(f.ids) && (!w.isSeen(f.ids[from]) || w.isMoved(f, from)) {
		from++
	}
	if ok = from < len(f.ids); w.Offset == 0 {
		from = 0
	}
	return from, ok
}

// facts returns the facts of a page, in which only the records from index from on belong to the
// walk.
func (w *walk[P, ID]) facts(r request, f fetched[P, ID], from int) pageFacts[ID] {
	p := pageFacts[ID]{request: r, length: len(f.ids), next: f.next}
	for i, id := range f.ids {
		p.last = id
		if i == 0 {
			p.first = id
		}
		p.endsNew = i >= from && !w.isSeen(id)
		p.hasNew = p.hasNew || p.endsNew
		p.hasTail = p.hasTail || id == w.tail
	}
	return p
}

// accept updates the state of the walk after page p, which connects.
func (w *walk[P, ID]) accept(p pageFacts[ID]) error {
	p.number = w.requests - len(w.ahead) // the pages ahead were all requested after p
	if w.isRepeated(&p) {
		p.repeats = w.last.repeats + 1
	}
	// Two pages that stop at the same tail, but differ in length, were hardly shortened by the
	// store.
	p.mayBeEnd = p.length == 1 || w.stopsAtTail(&p) && w.stopsAtTail(&w.last) && p.length != w.last.length
	end := w.endAt(p)
	w.update(p)
	return end
}

// addNew adds the ids from index from on to those that were seen. It returns the indexes of the new
// ones.
func addNew[ID comparable](seen map[ID]struct{}, ids []ID, from int) []int {
	added := make([]int, 0, len(ids))
	for i := from; i < len(ids); i++ {
		if _, ok := seen[ids[i]]; !ok {
			seen[ids[i]] = struct{}{}
			added = append(added, i)
		}
	}
	return added
}

// endAt returns errEnd if the list ends with page p, an error if the walk cannot go on after it,
// and otherwise nil.
func (w *walk[P, ID]) endAt(p pageFacts[ID]) error {
	switch {
	case p.length == 0 && p.next == NextExists:
		return ErrNoProgress // the page contradicts itself, and was read twice
	case p.length == 0, p.length < p.limit && p.next == NextNone, p.next == NextUnknown && w.showsEnd(p):
		return errEnd
	case p.start == w.MaxOffset:
		return ErrOffsetLimit // no page after it can be requested, so nothing can show that the list ends
	case p.repeats == maxRepeats:
		return ErrNoProgress
	}
	return nil // without new records too: records were added before it, and moved the list on
}

// showsEnd reports whether the list probably ends with page p, which does not state whether there
// is a next page. p proves less than the pages before it: they show how the store shortens pages.
//   - If all of them were full, a short page at the highest offset is the end. There is no other.
//   - If only the last of them was short, a page with only the tail is the end.
func (w *walk[P, ID]) showsEnd(p pageFacts[ID]) bool {
	switch {
	case w.beginsLikeLast(p.first):
		return false
	case p.start == w.MaxOffset:
		return p.length < w.Limit && w.Limit <= w.shortest && (p.last == w.tail || p.endsNew && !w.last.short())
	}
	return p.length == 1 && p.last == w.tail && w.last.short() && w.Limit <= cmp.Or(w.shortest, w.Limit)
}

// stopsAtTail reports whether page p, which does not state whether there is a next page, is shorter
// than usual and leads nowhere: it has no new record, and ends with the tail.
func (w *walk[P, ID]) stopsAtTail(p *pageFacts[ID]) bool {
	isShort := w.usuals == minUsual && p.length < min(w.usual, p.limit)
	return isShort && p.next == NextUnknown && p.last == w.tail && !p.hasNew && p.repeats == 0
}

// minUsual is the number of pages that show what is usual. Simulation: TestWalk_grows, which needs
// many more requests with 15, and no more with 2.
const minUsual = 5

// countUsual counts a page of that length that led on. The first minUsual pages in a row with one
// length show what is usual.
func (w *walk[P, ID]) countUsual(length int) {
	switch {
	case w.usuals == minUsual:
	case length == w.usual:
		w.usuals++
	default:
		w.usual, w.usuals = length, 1
	}
}

// maxRepeats limits the pages in a row that begin with the same record. It is more than 1, because
// so does a correct page if the list grows by as much as the offset. Simulations: TestWalk_grows,
// TestReadAhead_growing.
const maxRepeats = 3

// isRepeated reports whether p may be the last page once more.
func (w *walk[P, ID]) isRepeated(p *pageFacts[ID]) bool {
	return !p.hasNew && !p.afterStepBack && w.beginsLikeLast(p.first)
}

// beginsLikeLast reports whether a page that begins with that record may be the last page once
// more. It is not if the walk saw an empty page in between.
func (w *walk[P, ID]) beginsLikeLast(first ID) bool {
	return first == w.last.first && !w.emptyAfterLast
}

// update sets the state of the walk after page p. The tail is the last record of p if p leads on
// from the tail before it. If the walk steps back, or no page states where the list ends, the walk
// goes on from p.
func (w *walk[P, ID]) update(p pageFacts[ID]) {
	if p.length < p.limit && p.length < w.last.length && p.next != NextExists {
		w.window = 0 // the list may end here: fetch only the page ahead that confirms it
	}
	w.window++
	if p.endsNew && w.last.length != 1 {
		w.shortest = min(w.last.length, cmp.Or(w.shortest, w.last.length))
		w.countUsual(w.last.length)
	}
	w.emptyAfterLast = w.emptyAfterLast && p.length == 1
	w.farthest = max(w.farthest, p.end())
	if p.endsNew || p.hasTail || p.afterStepBack || p.next == NextUnknown && p.repeats == 0 {
		w.tail = p.last
	}
	if p.last == w.tail && !p.endsNew {
		w.stops++
	}
	if p.hasNew {
		w.doubts, w.stops = 0, 0
	}
	w.setOverlap(p)
	w.last = p
}

// setOverlap sets the overlap of the page after p. If p is short and has no new record, the list
// probably ends with p, and the next page confirms it. It starts at the last record, so that it has
// only this record if the list ends there. If p stopped at the tail, that page starts before p, and
// earlier each time: it has another length then, even if records are removed.
//
// If records were added before the last record since the last page, as many more are expected for
// each request. Example: the last page was request 7 and ended at offset 150. p is request 9,
// starts at 149 and has five records, none of them new: four records were added, two for each
// request. p ends at 154, but when request 10 is made, its last record is expected at 155. The next
// page should start there, one after the end of p: the overlap is negative, 154-155 = -1.
func (w *walk[P, ID]) setOverlap(p pageFacts[ID]) {
	switch {
	case p.hasNew:
		w.resume = p.end()
		w.overlap = max(1, w.overlap)
	case p.length < p.limit && p.next == NextUnknown:
		w.overlap = 1
		if w.stops > 0 {
			w.overlap = p.length + w.stops
		}
		if added := p.end() - w.last.end(); added > 0 {
			w.overlap = 1 - added*(w.requests+1-p.number)/(p.number-w.last.number)
		}
	}
}
