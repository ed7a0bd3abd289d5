package commerce

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
)

var errNewKey = errors.New("a discount with another key is wanted after discounts were added")

// checkWanted adds the problems of the wanted discounts.
func checkWanted(want []NewCustomDiscount, problems *ValidationError) {
	checkRepeated(want, problems)
	for i, d := range want {
		d.check(i, problems)
		if !d.Amount.IsInteger() {
			problems.addAt(i, "amount", "must be a whole number")
		}
		d.checkKey(i, problems)
	}
}

// setWant sets the wanted discounts. A key that is new after a discount was sent must not be added:
// if each call of choose made one up, there would be a copy for each.
func (e *ensureRun) setWant(want []NewCustomDiscount) {
	isLate := e.journal.has(func(w *ensureWrite) bool { return !w.isEnabling() && w.isSent() })
	e.want, e.wanted = make([]NewCustomDiscount, len(want)), 0
	for i := range want {
		if e.want[i] = want[i].copyItem(); !want[i].isNone() {
			e.wanted++
		}
		if _, isKnown := e.journal.keys[want[i].key()]; !isKnown {
			e.journal.keys[want[i].key()] = !isLate
		}
	}
}

// decide finds out which discounts are wanted for the cart, which was read. The error is a
// [*ValidationError] if they are not valid.
func (e *ensureRun) decide(ctx context.Context) error {
	want, err := e.chosen(ctx)
	if err != nil {
		return err
	}
	e.setWant(want)
	if e.opts.NotBelowZero {
		if err := e.price.lower(e.cart, e.want, e.staying()); err != nil {
			return err
		}
	}
	return e.mustStop(ctx) // want may have taken long
}

// chosen returns the discounts that are wanted for the cart. It calls the function want only for a
// cart with items whose price is readable.
func (e *ensureRun) chosen(ctx context.Context) ([]NewCustomDiscount, error) {
	if e.opts.NotBelowZero && !e.cart.isEmpty() {
		_, errSubtotal := e.cart.Subtotal()
		_, errTotal := e.cart.Total()
		if err := cmp.Or(errSubtotal, errTotal); err != nil {
			return nil, err
		}
	}
	switch {
	case e.choose == nil:
		return e.given, nil
	case e.cart.isEmpty():
		return nil, nil
	}
	ofWant, end := e.writer.startWant(ctx, e.service.core)
	defer end()
	want, err := e.choose(ofWant, e.cart.copy())
	if err != nil {
		return nil, err
	}
	problems, checked := &ValidationError{}, slices.Clone(want)
	for i := range checked {
		if checked[i].isNone() { // it is left out
			checked[i].Amount = NewDecimal(-1)
		}
	}
	checkWanted(checked, problems)
	return want, problems.err()
}

// staying returns the discounts of the cart that the call does not change.
func (e *ensureRun) staying() []CustomDiscount {
	engines := engineSet(e.want, e.opts)
	return slices.DeleteFunc(slices.Clone(e.cart.CustomDiscounts), func(d CustomDiscount) bool {
		isWanted := func(w NewCustomDiscount) bool { return w.key() == d.key() }
		return slices.ContainsFunc(e.want, isWanted) || e.opts.Prune && engines[d.key().engine]
	})
}

// makePlan plans what to write. As long as nothing was sent, it keeps what the cart shows.
func (e *ensureRun) makePlan() {
	e.plan = newPlan(e.cart, e.want, e.opts, e.journal)
	if !e.journal.has((*ensureWrite).isSent) {
		e.before = look{different: e.plan.different, causes: [2]error{e.cart.takesNone(), e.objection()}}
	}
}

// look is what a read of a cart shows.
type look struct {
	different []CustomDiscount
	causes    [2]error // why the cart cannot become as wanted; nil elements do not count
}

// objection returns why a cart that has the wanted discounts is not as it should be.
func (e *ensureRun) objection() error {
	total, err := e.cart.Total()
	isBelow := err == nil && total.Amount.Sign() < 0 && !e.opts.DryRun && !e.cart.isEmpty()
	switch {
	case e.choose != nil && e.cart.isEmpty():
		return ErrEmptyCart
	case e.opts.NotBelowZero && (e.price.isShort || isBelow):
		return ErrBelowZero
	}
	return nil
}

// undecided returns the result if it is not known which discounts are wanted now.
func (e *ensureRun) undecided(err error) (*CustomDiscountsResult, error) {
	problems, ok := err.(*ValidationError) //nolint:errorlint // of chosen
	if ok && !e.journal.has((*ensureWrite).isSent) {
		return nil, problems
	}
	if e.want != nil { // for the result
		e.makePlan()
	}
	return e.end(err)
}

// priceLimit keeps the price of a cart from falling below 0.
type priceLimit struct {
	staying Decimal             // highest sum of discounts that the call does not change, of all reads; 0 or less
	lowered []NewCustomDiscount // as they were wanted
	// isShort: what stays takes more than the cart costs. isShortNow: that is so by the last read
	// alone.
	isShort, isShortNow bool

	isSet bool
	left  Decimal // of the price, when what was written since the last read has taken effect
}

// mayTake reports whether the price is not below 0 after a write that adds this amount to it.
func (p *priceLimit) mayTake(amount Decimal) bool {
	return !p.isSet || !amount.IsNegative() || !p.left.Add(amount).IsNegative()
}

// changed counts an update or a deletion that adds this amount to the price. One that takes less
// off counts only if it is confirmed.
func (p *priceLimit) changed(w *ensureWrite, amount Decimal) {
	if amount.IsNegative() || w.isDone() && !w.isChanged && !w.isGone {
		p.take(amount)
	}
}

// take counts a write that adds this amount to the price.
func (p *priceLimit) take(amount Decimal) { p.left = p.left.Add(amount) }

// lower lowers the amounts of want, so that they and what stays take no more than the cart costs. A
// discount that was lowered to nothing has the amount 0.
func (p *priceLimit) lower(c *cartRead, want []NewCustomDiscount, staying []CustomDiscount) error {
	*p = priceLimit{staying: p.staying} // nothing else outlasts a read
	if c.isEmpty() {
		return nil
	}
	limit, err := p.of(c, staying)
	if err != nil {
		return err
	}
	p.isShort = limit.IsNegative()
	order := make([]*NewCustomDiscount, len(want))
	for i := range want {
		order[i] = &want[i]
		limit = limit.Add(want[i].Amount)
	}
	slices.SortFunc(order, func(a, b *NewCustomDiscount) int {
		return cmp.Or(strings.Compare(b.ExternalID, a.ExternalID), strings.Compare(b.DiscountEngine, a.DiscountEngine))
	})
	for _, d := range order { // limit is below 0 by what is too much
		if limit.IsNegative() && d.Amount.Sign() < 0 {
			p.lowered = append(p.lowered, d.copyItem())
			cut := lowest(limit.Neg(), d.Amount.Neg())
			d.Amount, limit = d.Amount.Add(cut), limit.Add(cut)
		}
	}
	return nil
}

// of returns what the wanted discounts may take in all, in whole units. It is below 0 if what stays
// takes more than the cart costs.
func (p *priceLimit) of(c *cartRead, staying []CustomDiscount) (limit Decimal, err error) {
	subtotal, err := c.Subtotal()
	if err != nil {
		return limit, err
	}
	limit = subtotal.Amount
	if net, err := c.net(); err == nil { // prices may include tax
		limit = lowest(limit, net.Amount)
	}
	custom, errCustom := sumOf(staying)
	all, errAll := sumOf(c.CustomDiscounts)
	promotions, errPromotions := c.promotions(all)
	if err := cmp.Or(errCustom, errAll, errPromotions); err != nil {
		return limit, err
	}
	limit = limit.Add(promotions)
	p.isSet, p.left = true, limit.Add(all)
	p.isShortNow = limit.Add(custom).IsNegative()
	p.staying = lowest(p.staying, custom)
	return Decimal{limit.Add(p.staying).number.Floor()}, nil
}
