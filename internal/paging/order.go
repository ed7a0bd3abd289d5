package paging

import (
	"context"
	"fmt"
	"time"
)

// order is what the pages of a walk show about the order of the list. A list that is sorted by the
// time of the last change moves each record that changes: to its start, where the walk was already,
// or to its end, where a record that was seen seems to connect a page.
type order struct {
	id, created, updated steps
	pages                int       // that connected
	newest               time.Time // newest time of the last change on them
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
		w.order.created.add(lastCreated.Compare(created))
		w.order.updated.add(lastUpdated.Compare(updated))
	}
}

// acceptTimes is called with a page that connects.
func (w *walk[P, ID]) acceptTimes(f fetched[P, ID]) {
	for i := 0; i < len(f.ids) && w.Times != nil; i++ {
		if _, updated := w.Times(f.page, i); updated.After(w.order.newest) {
			w.order.newest = updated
		}
	}
	w.order.pages++
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

// mayHaveMissed reports whether records may have moved to the start of the list behind the walk. It
// is false if the ids or the times of creation show the order, and the times of the last change
// another one. It is false if these only rise too: see isMoved.
func (w *walk[P, ID]) mayHaveMissed() bool {
	o := &w.order
	isOneWay := !o.id.up || !o.id.down || !o.created.up || !o.created.down
	isProven := o.updated.up && (isOneWay || !o.updated.down)
	return w.Offset == 0 && o.pages > 1 && !o.newest.IsZero() && !isProven
}

// maxLooks limits how often a walk looks at the start of the list again.
const maxLooks = 10

var errSortedByChange = fmt.Errorf("%w; it is sorted by a time that changes faster than it can be read", ErrListDrift)

// lookAgain yields the records that moved to the start of the list. Those that the walk missed come
// before the newest record that it saw. It reads up to there, until one page has it all, so that
// nothing moved while it was read.
func (w *walk[P, ID]) lookAgain(ctx context.Context, yield func(P, error) bool) {
	again := &walk[P, ID]{order: w.order}
	for range maxLooks {
		newest := again.order.newest
		again = &walk[P, ID]{Config: w.Config}
		again.Concurrency, again.Yielded = 0, nil
		for page, err := range again.all(ctx) {
			if err != nil {
				yield(page, &Error{Seen: len(w.seen), Err: err})
				return
			}
			ids, _ := w.Look(page)
			_, oldest := w.Times(page, len(ids)-1)
			if added := addNew(w.seen, ids, 0); len(added) > 0 {
				if w.Keep(page, added, 0); !yield(page, nil) {
					return
				}
			}
			if !oldest.After(newest) {
				break
			}
		}
		if again.order.pages <= 1 {
			return
		}
	}
	yield(*new(P), &Error{Seen: len(w.seen), Err: errSortedByChange})
}
