package commerce

import (
	"errors"
	"slices"

	"github.com/google/uuid"
)

// writeKind is what a write does with a discount.
type writeKind uint8

const (
	addWrite writeKind = iota
	updateWrite
	deleteWrite
)

// ensureWrite is an entry of the journal: what became of one discount of a write.
type ensureWrite struct {
	kind     writeKind
	index    int            // of the wanted discount that is added or updated; -1 for a deletion
	discount CustomDiscount // that is updated or deleted, or was added; its ID may be zero
	outcome  Outcome        // OutcomeApplied, OutcomeUnknown, OutcomeRejected or OutcomeNotSent
	reasons  []ErrorObject  // why it was refused
	settled  bool           // Settle has passed since
	shown    bool           // a read showed its effect
}

// isRefused reports whether the write must not be made again in this call.
func (w *ensureWrite) isRefused() bool {
	return w.outcome == OutcomeRejected || w.outcome == OutcomeNotSent || len(w.reasons) > 0
}

// journal lists the writes of a call of EnsureCustomDiscounts.
type journal struct {
	writes []ensureWrite
	read   int                // number of writes before the last read
	seen   map[uuid.UUID]bool // discounts that a read showed
}

func (j *journal) has(match func(w *ensureWrite) bool) bool { return j.find(match) != nil }

// find returns the first write that matches, or nil.
func (j *journal) find(match func(w *ensureWrite) bool) *ensureWrite {
	for i := range j.writes {
		if match(&j.writes[i]) {
			return &j.writes[i]
		}
	}
	return nil
}

// recordAdd records the outcome of an add of the wanted discounts at indexes.
func (j *journal) recordAdd(
	e *ensureRun, indexes []int, result *AddCustomDiscountsResult, err error,
) {
	first := len(j.writes)
	for _, i := range indexes {
		w := ensureWrite{kind: addWrite, index: i, outcome: OutcomeOf(err)}
		if w.outcome == OutcomeUnreadable {
			w.outcome = OutcomeUnknown
		}
		if w.outcome == OutcomePartial {
			w.outcome = OutcomeApplied
			n := slices.IndexFunc(result.Unconfirmed, func(u UnconfirmedDiscount) bool { return u.key() == e.want[i].key() })
			if n >= 0 {
				w.outcome, w.reasons = OutcomeUnknown, result.Unconfirmed[n].Reasons
			}
		}
		if failed, ok := errors.AsType[*Error](err); ok && w.outcome != OutcomeApplied && w.isRefused() && w.reasons == nil {
			w.reasons = reasonsFor(&e.want[i], failed.Errors)
		}
		if len(w.reasons) > 0 {
			w.outcome = OutcomeRejected
		}
		j.writes = append(j.writes, w)
	}
	if result == nil {
		return
	}
	for _, d := range result.Added {
		if d.ID == uuid.Nil {
			continue
		}
		i := slices.IndexFunc(indexes, func(i int) bool { return e.want[i].key() == d.key() })
		if i < 0 {
			i = slices.IndexFunc(indexes, func(i int) bool {
				return !j.has(func(w *ensureWrite) bool {
					return w.kind == addWrite && w.index == i && w.discount.ID != uuid.Nil && !w.shown
				})
			})
		}
		if i < 0 {
			continue
		}
		w := slices.IndexFunc(j.writes[first:], func(w ensureWrite) bool {
			return w.index == indexes[i] && w.outcome == OutcomeApplied && w.discount.ID == uuid.Nil
		})
		if w >= 0 {
			j.writes[first+w].discount = d
		} else {
			j.writes = append(j.writes, ensureWrite{kind: addWrite, index: indexes[i], discount: d, outcome: OutcomeApplied})
		}
	}
}

// recordWrite records the outcome of an update or a deletion.
func (j *journal) recordWrite(kind writeKind, index int, d CustomDiscount, err error) {
	outcome := OutcomeOf(err)
	if outcome == OutcomeUnreadable {
		outcome = OutcomeUnknown
	}
	j.writes = append(j.writes, ensureWrite{kind: kind, index: index, discount: d, outcome: outcome})
}

// credit compares a cart with the writes.
func (j *journal) credit(e *ensureRun) {
	shown := map[uuid.UUID]bool{}
	for _, d := range e.cart.CustomDiscounts {
		shown[d.ID] = true
		if !j.seen[d.ID] {
			j.seen[d.ID] = true
			j.creditAdd(e, d)
		}
	}
	for i := range j.writes {
		w := &j.writes[i]
		switch w.kind {
		case updateWrite:
			w.shown = w.shown || slices.ContainsFunc(e.cart.CustomDiscounts, func(d CustomDiscount) bool {
				return d.ID == w.discount.ID && e.want[w.index].hasContents(&d)
			})
		case deleteWrite:
			w.shown = w.shown || !shown[w.discount.ID]
		}
	}
	j.read = len(j.writes)
}

func (j *journal) creditAdd(e *ensureRun, d CustomDiscount) {
	for i := range e.want {
		named := j.find(func(w *ensureWrite) bool {
			return w.kind == addWrite && w.index == i && !w.shown && w.outcome == OutcomeApplied && w.discount.ID == d.ID
		})
		unknown := j.find(func(w *ensureWrite) bool {
			return w.kind == addWrite && w.index == i && !w.shown && w.outcome == OutcomeUnknown
		})
		isEqual := e.cart.isFor(&e.want[i], &d) && e.want[i].hasContents(&d) &&
			(e.want[i].key() == d.key() || !e.isWanted(d.key()))
		switch {
		case named != nil:
			named.shown, named.discount = true, d
		case unknown != nil && isEqual:
			unknown.shown, unknown.discount = true, d
		default:
			continue
		}
		return
	}
}
