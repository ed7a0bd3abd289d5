package commerce

import (
	"bytes"
	"slices"
	"strings"
)

// ensurePlan is how a cart differs from the wanted discounts.
type ensurePlan struct {
	matched   int              // number of wanted discounts that are as wanted
	found     []CustomDiscount // wanted discounts that the cart has, in the order of want
	add       []int            // indexes in want of discounts that the cart does not have
	update    []*ensureWrite   // of discounts of the cart
	delete    []*ensureWrite
	different []CustomDiscount // that must not be changed, or cannot be
}

func (p *ensurePlan) isDone() bool {
	return len(p.add) == 0 && len(p.update) == 0 && len(p.delete) == 0 && len(p.different) == 0
}

// makePlan compares the cart with the wanted discounts. What this call has written is not written
// again, see isUpdated and isDeleted.
func (e *ensureRun) makePlan() {
	e.plan = &ensurePlan{}
	byKey := map[discountKey][]CustomDiscount{}
	for _, d := range e.cart.CustomDiscounts {
		byKey[d.key()] = append(byKey[d.key()], d)
	}
	engines := map[string]bool{}
	for _, name := range e.opts.Engines {
		engines[strings.TrimSpace(name)] = true
	}
	for i := range e.want {
		key := e.want[i].key()
		engines[key.engine] = true
		e.planKey(i, byKey[key])
		delete(byKey, key)
	}
	if e.opts.Prune {
		for _, d := range e.cart.CustomDiscounts { // in the order of the cart
			if _, isUnwanted := byKey[d.key()]; isUnwanted && engines[d.key().engine] {
				e.remove(d)
			}
		}
	}
	for _, w := range e.journal.writes {
		isDeleted := slices.ContainsFunc(e.plan.delete, func(d *ensureWrite) bool { return d.changes(&w.discount) })
		isPlanned := isDeleted || hasDiscount(e.plan.different, w.discount.ID)
		if w.isRenamed() && !isPlanned {
			e.plan.different = append(e.plan.different, w.discount)
		}
	}
}

// planKey compares want[i] with the discounts of the cart that have its key. It keeps one of
// them and removes the others: the one with the smallest id, so that all callers keep the
// same, of those that match; if none matches, of those that an update can make match.
func (e *ensureRun) planKey(i int, copies []CustomDiscount) {
	w := &e.want[i]
	if len(copies) == 0 {
		e.plan.add = append(e.plan.add, i)
		return
	}
	slices.SortFunc(copies, func(a, b CustomDiscount) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	keep := slices.IndexFunc(copies, func(d CustomDiscount) bool { return e.cart.isFor(w, &d) && w.hasContents(&d) })
	matches := keep >= 0
	if !matches && !e.opts.Update {
		e.plan.found = append(e.plan.found, copies[0])
		e.plan.different = append(e.plan.different, copies...)
		return
	}
	if !matches {
		keep = slices.IndexFunc(copies, func(d CustomDiscount) bool { return e.cart.isFor(w, &d) })
	}
	allPlaced := true
	for n, d := range copies {
		allPlaced = allPlaced && e.cart.isPlaced(&d)
		if n != keep {
			e.remove(d)
		}
	}
	switch {
	case keep < 0 && allPlaced: // an update cannot move a discount to another item or level
		e.plan.add = append(e.plan.add, i)
		return
	case keep < 0: // one of them may be the wanted one
		return
	case matches && len(copies) == 1:
		e.plan.matched++
	case matches: // the others are to be removed
	case e.isUpdated(w, &copies[keep]): // the service changes what it is sent
		e.plan.different = append(e.plan.different, copies[keep])
	default:
		e.plan.update = append(e.plan.update, &ensureWrite{kind: updateWrite, want: w, discount: copies[keep]})
	}
	e.plan.found = append(e.plan.found, copies[keep])
}

// remove deletes d, unless the response does not show its item or level, so that its path is
// unknown, or a deletion got a response: if d was not found, it is on another level.
func (e *ensureRun) remove(d CustomDiscount) {
	if e.cart.isPlaced(&d) && !e.isDeleted(&d) {
		e.plan.delete = append(e.plan.delete, &ensureWrite{kind: deleteWrite, want: d.asNew(), discount: d})
	} else {
		e.plan.different = append(e.plan.different, d)
	}
}

// isUpdated reports whether this call updated d to the contents that are wanted.
func (e *ensureRun) isUpdated(want *NewCustomDiscount, d *CustomDiscount) bool {
	return e.journal.has(func(w *ensureWrite) bool {
		return w.kind == updateWrite && w.changes(d) && want.hasContents(new(w.wanted()))
	})
}

// isDeleted reports whether this call must not delete d again. Only a deletion without a response
// is repeated.
func (e *ensureRun) isDeleted(d *CustomDiscount) bool {
	return e.journal.has(func(w *ensureWrite) bool {
		return w.kind == deleteWrite && w.changes(d) && !w.isUnknown()
	})
}

// isFor reports whether d is a discount of the item that w is for, or of the cart if w is for
// no item.
func (c *cartRead) isFor(w *NewCustomDiscount, d *CustomDiscount) bool {
	if w.Item == nil || d.Item == nil {
		return w.Item == nil && d.Item == nil && c.isPlaced(d)
	}
	return w.Item.ID == d.Item.ID
}
