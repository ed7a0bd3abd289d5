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

// ensureWrite is what became of one discount of a write.
type ensureWrite struct {
	kind writeKind
	want *NewCustomDiscount // the wanted discount that is added or updated; nil for a deletion
	// discount that is updated or deleted. For an add, the one that the response or a read
	// showed; before that the wanted one, without an ID.
	discount CustomDiscount
	outcome  Outcome       // Applied, Unknown, Rejected or NotSent; None in a dry run
	reasons  []ErrorObject // why it was refused
	settled  bool          // Settle has passed since
	shown    bool          // a read showed its effect
}

func (w *ensureWrite) isAddOf(d *NewCustomDiscount) bool { return w.kind == addWrite && w.want == d }

// isSent reports whether the service may have received the write.
func (w *ensureWrite) isSent() bool { return w.outcome != OutcomeNotSent && w.outcome != OutcomeNone }

// isDone reports whether the write was applied. The writes of a dry run count.
func (w *ensureWrite) isDone() bool { return w.outcome == OutcomeApplied || w.outcome == OutcomeNone }

func (w *ensureWrite) isUnknown() bool { return w.outcome == OutcomeUnknown }

// isRefused reports whether the write must not be made again in this call.
func (w *ensureWrite) isRefused() bool {
	return w.outcome == OutcomeRejected || w.outcome == OutcomeNotSent || len(w.reasons) > 0
}

// isInDoubt reports whether the write may still take effect.
func (w *ensureWrite) isInDoubt() bool {
	return !w.shown && (w.isUnknown() || w.kind == addWrite && w.outcome == OutcomeApplied)
}

// isRenamed reports whether the service changed the key of the discount that was added.
func (w *ensureWrite) isRenamed() bool {
	return w.kind == addWrite && w.shown && w.discount.key() != w.want.key()
}

// journal lists the writes of a call, with an entry for each discount.
type journal struct {
	writes []*ensureWrite
	read   int                // number of writes before the last read that succeeded
	failed bool               // a later read failed
	seen   map[uuid.UUID]bool // discounts that the reads showed
}

func (j *journal) record(w *ensureWrite) { j.writes = append(j.writes, w) }

// recent returns the writes since the last read.
func (j *journal) recent() []*ensureWrite { return j.writes[j.read:] }

func (j *journal) has(match func(w *ensureWrite) bool) bool {
	return slices.ContainsFunc(j.writes, match)
}

// recordBatch records adds that were sent in one request, which ended with err.
func (j *journal) recordBatch(adds []*ensureWrite, result *AddCustomDiscountsResult, err error) {
	var entries []ErrorObject
	if failed, ok := errors.AsType[*Error](err); ok {
		entries = failed.Errors
	}
	for _, w := range adds {
		isThis := func(u UnconfirmedDiscount) bool { return u.key() == w.want.key() }
		isPartial := w.outcome == OutcomePartial
		if isPartial && !slices.ContainsFunc(result.Unconfirmed, isThis) {
			w.outcome = OutcomeApplied
		} else if isPartial || w.isRefused() {
			w.reasons = reasonsFor(w.want, entries)
		}
		if w.outcome == OutcomePartial {
			w.outcome = OutcomeUnknown
		}
		if len(w.reasons) > 0 {
			w.outcome = OutcomeRejected
		}
		j.record(w)
	}
	if result != nil {
		j.confirm(adds, result.Added)
	}
}

// confirm attributes the discounts of a response to the adds of the request: by their key, or
// else to one that has no discount yet.
func (j *journal) confirm(adds []*ensureWrite, added []CustomDiscount) {
	for _, d := range added {
		n := slices.IndexFunc(adds, func(w *ensureWrite) bool { return w.want.key() == d.key() })
		if n < 0 {
			n = slices.IndexFunc(adds, func(w *ensureWrite) bool { return w.discount.ID == uuid.Nil })
		}
		if n < 0 || d.ID == uuid.Nil {
			continue
		}
		if w := adds[n]; w.outcome == OutcomeApplied {
			w.discount = d
		} else {
			j.record(&ensureWrite{want: w.want, discount: d, outcome: OutcomeApplied})
		}
	}
}

// compare compares the cart, which was read, with the writes: it attributes discounts that
// appeared to adds, and finds out about updates and deletions.
func (e *ensureRun) compare() {
	j := &e.journal
	for _, d := range e.cart.CustomDiscounts {
		if !j.seen[d.ID] {
			j.seen[d.ID] = true
			e.credit(d)
		}
	}
	for _, w := range j.writes {
		n := slices.IndexFunc(e.cart.CustomDiscounts, func(d CustomDiscount) bool { return d.ID == w.discount.ID })
		switch {
		case w.kind == deleteWrite && !w.isRefused() && n < 0:
			w.shown = true
		case w.kind == updateWrite && w.isUnknown() && n >= 0 && w.want.hasContents(&e.cart.CustomDiscounts[n]):
			w.discount, w.shown = e.cart.CustomDiscounts[n], true
		}
	}
	j.read, j.failed = len(j.writes), false
}

// credit attributes a discount that appeared on the cart to an add that no read has shown.
func (e *ensureRun) credit(d CustomDiscount) {
	isWanted := slices.ContainsFunc(e.want, func(w NewCustomDiscount) bool { return w.key() == d.key() })
	isNamed := func(w *ensureWrite) bool { return w.outcome == OutcomeApplied && w.discount.ID == d.ID }
	isEqual := func(w *ensureWrite) bool {
		return w.isUnknown() && e.cart.isFor(w.want, &d) && w.want.hasContents(&d) &&
			(w.want.key() == d.key() || !isWanted)
	}
	for _, matches := range []func(w *ensureWrite) bool{isNamed, isEqual} {
		n := slices.IndexFunc(e.journal.writes, func(w *ensureWrite) bool {
			return w.kind == addWrite && !w.shown && matches(w)
		})
		if n >= 0 {
			e.journal.writes[n].discount, e.journal.writes[n].shown = d, true
			return
		}
	}
}

// mayDelete reports whether a deletion of d may be sent. One that got a response is not
// repeated: if d was not found, it is on another level, or another writer deleted it.
func (j *journal) mayDelete(d CustomDiscount) bool {
	return !j.has(func(w *ensureWrite) bool {
		return w.kind == deleteWrite && w.discount.ID == d.ID && !w.isUnknown()
	})
}
