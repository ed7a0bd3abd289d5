package commerce

import (
	"bytes"
	"slices"
	"strings"
)

// ensurePlan is how a cart differs from the wanted discounts.
type ensurePlan struct {
	cart      *cartRead
	opts      *EnsureCustomDiscountsOptions
	journal   *journal
	matched   int                  // number of wanted discounts that are as wanted
	found     []CustomDiscount     // wanted discounts that the cart has, in the order of want
	add       []*NewCustomDiscount // wanted discounts that the cart does not have
	update    []*ensureWrite       // of discounts of the cart
	delete    []*ensureWrite
	different []CustomDiscount // that must not be changed, or cannot be
}

func (p *ensurePlan) isDone() bool {
	return len(p.add) == 0 && len(p.update) == 0 && len(p.delete) == 0 && len(p.different) == 0
}

// newPlan compares a cart with the wanted discounts. What the journal lists is not written again,
// see isUpdated and isDeleted.
func newPlan(
	cart *cartRead, want []NewCustomDiscount, opts *EnsureCustomDiscountsOptions, journal *journal,
) *ensurePlan {
	p := &ensurePlan{cart: cart, opts: opts, journal: journal}
	byKey := map[discountKey][]CustomDiscount{}
	for _, d := range cart.CustomDiscounts {
		byKey[d.key()] = append(byKey[d.key()], d)
	}
	engines := map[string]bool{}
	for _, name := range opts.Engines {
		engines[strings.TrimSpace(name)] = true
	}
	for i := range want {
		key := want[i].key()
		engines[key.engine] = true
		if copies := byKey[key]; len(copies) == 0 {
			p.add = append(p.add, &want[i])
		} else {
			p.planKey(&want[i], copies)
		}
		delete(byKey, key)
	}
	if opts.Prune {
		for _, d := range cart.CustomDiscounts { // in the order of the cart
			if _, isUnwanted := byKey[d.key()]; isUnwanted && engines[d.key().engine] {
				p.remove(d)
			}
		}
	}
	for _, w := range journal.writes {
		isDeleted := slices.ContainsFunc(p.delete, func(d *ensureWrite) bool { return d.changes(&w.discount) })
		isPlanned := isDeleted || hasDiscount(p.different, w.discount.ID)
		if w.isRenamed() && !isPlanned {
			p.different = append(p.different, w.discount)
		}
	}
	return p
}

// planKey compares w with the discounts of the cart that have its key. It keeps one of them and
// removes the others: the one with the smallest id, so that all callers keep the same, of those
// that match; if none matches, of those that an update can make match.
func (p *ensurePlan) planKey(w *NewCustomDiscount, copies []CustomDiscount) {
	slices.SortFunc(copies, func(a, b CustomDiscount) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	keep := slices.IndexFunc(copies, func(d CustomDiscount) bool { return p.cart.isFor(w, &d) && w.hasContents(&d) })
	matches := keep >= 0
	if !matches && !p.opts.Update {
		p.found = append(p.found, copies[0])
		p.different = append(p.different, copies...)
		return
	}
	if !matches {
		keep = slices.IndexFunc(copies, func(d CustomDiscount) bool { return p.cart.isFor(w, &d) })
	}
	allPlaced := true
	for n, d := range copies {
		allPlaced = allPlaced && p.cart.isPlaced(&d)
		if n != keep {
			p.remove(d)
		}
	}
	switch {
	case keep < 0 && allPlaced: // an update cannot move a discount to another item or level
		p.add = append(p.add, w)
		return
	case keep < 0: // one of them may be the wanted one
		return
	case matches && len(copies) == 1:
		p.matched++
	case matches: // the others are to be removed
	case p.isUpdated(w, &copies[keep]): // the service changes what it is sent
		p.different = append(p.different, copies[keep])
	default:
		p.update = append(p.update, &ensureWrite{kind: updateWrite, want: w, discount: copies[keep]})
	}
	p.found = append(p.found, copies[keep])
}

// remove deletes d, unless the response does not show its item or level, so that its path is
// unknown, or a deletion got a response: if d was not found, it is on another level.
func (p *ensurePlan) remove(d CustomDiscount) {
	if p.cart.isPlaced(&d) && !p.isDeleted(&d) {
		p.delete = append(p.delete, &ensureWrite{kind: deleteWrite, want: d.asNew(), discount: d})
	} else {
		p.different = append(p.different, d)
	}
}

// isUpdated reports whether this call updated d to the contents that are wanted.
func (p *ensurePlan) isUpdated(want *NewCustomDiscount, d *CustomDiscount) bool {
	return p.journal.has(func(w *ensureWrite) bool {
		return w.kind == updateWrite && w.changes(d) && want.hasContents(new(w.wanted()))
	})
}

// isDeleted reports whether this call must not delete d again. Only a deletion without a response
// is repeated.
func (p *ensurePlan) isDeleted(d *CustomDiscount) bool {
	return p.journal.has(func(w *ensureWrite) bool {
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

// unchanged returns the discounts that were not updated and not deleted, although they should.
func (p *ensurePlan) unchanged() []CustomDiscount {
	var list []CustomDiscount
	for _, w := range slices.Concat(p.delete, p.update) {
		if !w.isDone() {
			list = append(list, w.discount)
		}
	}
	return list
}
