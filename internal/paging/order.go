package paging

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// order is what the pages of a walk show about the order of the list. A list that is sorted by the
// time of the last change moves each record that changes: to its start, where the walk was already,
// or to its end, where a record that was seen seems to connect a page.
type order struct {
	id, created, updated steps
	pages                int       // that connected
	front, newest        time.Time // newest last change on the first of them that has one, and on all
}

// steps are the ways that a value goes from record to record.
type steps struct{ up, down bool }

func (s *steps) add(comparison int) {
	s.up, s.down = s.up || comparison < 0, s.down || comparison > 0
}

// observe learns from a page how its records are sorted. A page shows the list at one moment.
func (w *walk[P, ID]) observe(f fetched[P, ID]) {
	for i := 1; i < len(f.ids) && w.Times != nil; i++ {
		lastCreated, lastUpdated := w.Times(f.page, i-1)
		created, updated := w.Times(f.page, i)
		w.order.id.add(w.Compare(f.ids[i-1], f.ids[i]))
		w.order.created.addTimes(lastCreated, created)
		w.order.updated.addTimes(lastUpdated, updated)
	}
}

// addTimes leaves out a step from or to a record without a time, which shows nothing.
func (s *steps) addTimes(last, next time.Time) {
	if !last.IsZero() && !next.IsZero() {
		s.add(last.Compare(next))
	}
}

// acceptTimes is called with a page that connects.
func (w *walk[P, ID]) acceptTimes(f fetched[P, ID]) {
	for i := 0; i < len(f.ids) && w.Times != nil; i++ {
		if _, updated := w.Times(f.page, i); updated.After(w.order.newest) {
			w.order.newest = updated
		}
	}
	if w.order.pages++; w.order.front.IsZero() {
		w.order.front = w.order.newest
	}
}

// onlyRises reports whether the list may be sorted by the last change, the last one at the end.
func (w *walk[P, ID]) onlyRises() bool { return w.order.updated.up && !w.order.updated.down }

// isMoved reports whether a record that was seen may have moved to the end of the list since,
// because it changed after all that the walk knows.
func (w *walk[P, ID]) isMoved(f fetched[P, ID], record int) bool {
	if w.Times == nil || w.order.updated.down {
		return false
	}
	_, updated := w.Times(f.page, record)
	return updated.After(w.order.newest)
}

// isUnproven reports whether records may move to the start of the list behind the walk. It is false
// if the ids or the times of creation show the order, and the times of the last change another one.
// It is false if these only rise too: see isMoved.
func (w *walk[P, ID]) isUnproven() bool {
	o := &w.order
	isOneWay := !o.id.up || !o.id.down || !o.created.up || !o.created.down
	isProven := o.updated.up && (isOneWay || !o.updated.down)
	return w.Offset == 0 && !o.newest.IsZero() && !isProven
}

// maxLooks limits how often a walk looks at the start of the list again.
const maxLooks = 10

var errSortedByChange = fmt.Errorf("%w; it is sorted by a time that changes faster than it can be read", ErrListDrift)

// lookAgain yields the records that moved to the start of the list. All that changed since the
// first page of the walk come before the newest record of that page, or beside it if the times are
// equal. It reads up to there, until nothing moved while it was read: one page has it all, or the
// newest record is the same as the time before.
func (w *walk[P, ID]) lookAgain(ctx context.Context, yield func(P, error) bool) {
	again := &walk[P, ID]{order: w.order}
	for range maxLooks {
		front := again.order.front
		again = &walk[P, ID]{Config: w.Config}
		again.Concurrency, again.Yielded, again.Unproven = 0, nil, nil
		offset, found := 0, false
		for page, err := range again.all(ctx) {
			if stop, ok := errors.AsType[*Error](err); ok {
				stop.Seen, stop.Offset = len(w.seen), 0
				yield(page, stop)
				return
			}
			ids, _ := w.Look(page)
			_, oldest := w.Times(page, len(ids)-1)
			added := addNew(w.seen, ids, 0)
			if len(added) > 0 {
				found = true
				if w.Keep(page, added, offset+added[0]); !yield(page, nil) {
					return
				}
			}
			offset += len(ids)
			if !oldest.IsZero() && (oldest.Before(front) || oldest.Equal(front) && len(added) == 0) {
				break
			}
		}
		if again.order.pages <= 1 || !found && again.order.front.Equal(front) {
			return
		}
	}
	yield(*new(P), &Error{Seen: len(w.seen), Err: errSortedByChange})
}
