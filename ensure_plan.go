package commerce

import (
	"bytes"
	"slices"
	"strings"
)

// ensurePlan is how a cart differs from the wanted discounts.
type ensurePlan struct {
	cart       *cartRead
	opts       *EnsureCustomDiscountsOptions
	journal    *journal
	wanted     int                  // number of wanted discounts
	matched    int                  // number of wanted discounts that are as wanted
	found      []CustomDiscount     // wanted discounts that the cart has, in the order of want
	add        []*NewCustomDiscount // wanted discounts that the cart does not have
	update     []*ensureWrite       // of discounts of the cart
	delete     []*ensureWrite
	different  []CustomDiscount // that must not be changed, or cannot be
	enable     bool             // custom discounts must be enabled before the add
	holdsAdds  bool             // as custom discounts are not enabled
	mustSettle bool             // a write is needed that may be made later
}

func (p *ensurePlan) isDone() bool {
	return len(p.add) == 0 && len(p.update) == 0 && len(p.delete) == 0 && len(p.different) == 0
}

// newPlan compares a cart with the wanted discounts. The journal permits which writes are made.
func newPlan(
	cart *cartRead, want []NewCustomDiscount, opts *EnsureCustomDiscountsOptions, journal *journal,
) *ensurePlan {
	p := &ensurePlan{cart: cart, opts: opts, journal: journal}
	byKey := map[discountKey][]CustomDiscount{}
	for _, d := range cart.CustomDiscounts {
		byKey[d.key()] = append(byKey[d.key()], d)
	}
	for i := range want {
		key := want[i].key()
		p.planKey(&want[i], byKey[key])
		delete(byKey, key)
	}
	if engines := engineSet(want, opts); opts.Prune {
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
	slices.SortStableFunc(p.update, byRaise)
	p.planAdds()
	return p
}

// planAdds finds out whether custom discounts must be enabled before the adds, and whether an add
// must wait.
func (p *ensurePlan) planAdds() {
	mayAdd := false
	for _, d := range p.add {
		permitted := p.journal.mayAdd(d)
		p.mustSettle = p.mustSettle || permitted == later
		mayAdd = mayAdd || permitted != never
	}
	isRefused := p.journal.has(func(w *ensureWrite) bool { return w.isEnabling() && w.isFinal() })
	mustEnable := p.opts.Enable && !p.cart.CustomDiscountsEnabled
	if mayAdd && mustEnable && p.cart.takesNone() == nil {
		permitted := permits(p.journal.writes, (*ensureWrite).isEnabling)
		p.enable, p.mustSettle = permitted == now, p.mustSettle || permitted == later
		p.holdsAdds = permitted == later || isRefused
	}
}

// engineSet returns the engines whose unwanted discounts Prune deletes.
func engineSet(want []NewCustomDiscount, opts *EnsureCustomDiscountsOptions) map[string]bool {
	engines := map[string]bool{}
	for _, name := range opts.Engines {
		engines[strings.TrimSpace(name)] = true
	}
	for i := range want {
		engines[want[i].key().engine] = true
	}
	return engines
}

// planKey compares w with the discounts of the cart that have its key. It keeps one of them and
// removes the others: the one with the smallest id, so that all callers keep the same, of those
// that match; if none matches, of those that an update can make match.
func (p *ensurePlan) planKey(w *NewCustomDiscount, copies []CustomDiscount) {
	if w.isNone() { // it must not be on the cart
		for _, d := range copies {
			p.remove(d)
		}
		return
	}
	if p.wanted++; len(copies) == 0 {
		p.add = append(p.add, w)
		return
	}
	slices.SortFunc(copies, func(a, b CustomDiscount) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	match := slices.IndexFunc(copies, func(d CustomDiscount) bool { return p.cart.isFor(w, &d) && w.hasContents(&d) })
	if match >= 0 || p.opts.Update {
		p.planCopies(w, copies, match)
		return
	}
	p.found = append(p.found, copies[0])
	p.different = append(p.different, copies...)
}

// planCopies keeps one of the discounts with the key of w: the one at the index match, or, if that
// is below 0, one that an update can make match.
func (p *ensurePlan) planCopies(w *NewCustomDiscount, copies []CustomDiscount, match int) {
	keep, matches := match, match >= 0
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
	case p.isChanged(w, &copies[keep]):
		p.different = append(p.different, copies[keep])
	default:
		p.write(&ensureWrite{kind: updateWrite, want: w, discount: copies[keep]}, &p.update)
	}
	p.found = append(p.found, copies[keep])
}

// remove deletes d, unless the response does not show its item or level, so that its path is
// unknown.
func (p *ensurePlan) remove(d CustomDiscount) {
	if p.cart.isPlaced(&d) {
		p.write(&ensureWrite{kind: deleteWrite, want: d.asNew(), discount: d}, &p.delete)
	} else {
		p.different = append(p.different, d)
	}
}

// write adds an update or a deletion to list, if the journal permits it.
func (p *ensurePlan) write(w *ensureWrite, list *[]*ensureWrite) {
	permitted := p.journal.mayChange(w.kind, &w.discount)
	if permitted == now {
		*list = append(*list, w)
		return
	}
	p.different, p.mustSettle = append(p.different, w.discount), p.mustSettle || permitted == later
}

// isChanged reports whether the service changed d when it was sent these contents.
func (p *ensurePlan) isChanged(want *NewCustomDiscount, d *CustomDiscount) bool {
	return p.journal.has(func(w *ensureWrite) bool {
		return w.isChanged && w.changes(d) && want.hasContents(new(w.wanted()))
	})
}

// takesNone returns why the cart takes no discounts at all, as far as the response shows.
func (c *cartRead) takesNone() error {
	switch {
	case c.isEmpty():
		return ErrEmptyCart
	case c.showsPromotions():
		return ErrPromotionConflict
	}
	return nil
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
