package commerce

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

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

// setWant sets the wanted discounts.
func (e *ensureRun) setWant(want []NewCustomDiscount) {
	e.want, e.wanted = make([]NewCustomDiscount, len(want)), 0
	for i := range want {
		if e.want[i] = want[i].copyItem(); !want[i].isNone() {
			e.wanted++
		}
		e.journal.wanted[want[i].key()] = true
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
	if err := e.checkEngines(); err != nil {
		return err
	}
	if e.opts.NotBelowZero {
		if err := e.price.lower(e.cart, e.want, e.staying()); err != nil {
			return e.orPromotions(err)
		}
	}
	return e.mustStop(ctx) // want may have taken long
}

// chosen returns the discounts that are wanted for the cart. It calls the function want only for a
// cart with items whose price is readable, and not below 0.
func (e *ensureRun) chosen(ctx context.Context) ([]NewCustomDiscount, error) {
	price, err := e.readPrice()
	e.wasAsked = false
	switch {
	case err != nil:
		return nil, err
	case e.choose == nil:
		return e.given, nil
	case e.cart.isEmpty(), price.Amount.IsNegative():
		return nil, nil
	}
	ofWant, end := e.writer.startWant(ctx, e.service.core)
	defer end()
	e.wasAsked = true
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
	if err := problems.err(); err != nil {
		return nil, err
	}
	return want, e.checkReturned(want)
}

// readPrice returns the price before discounts, if the call needs it.
func (e *ensureRun) readPrice() (price Money, err error) {
	if !e.opts.NotBelowZero || e.cart.isEmpty() {
		return price, nil
	}
	if e.choose != nil {
		err = e.cart.checkCurrency()
	}
	price, errPrice := e.cart.Subtotal()
	_, errTotal := e.cart.Total()
	return price, e.orPromotions(cmp.Or(err, errPrice, errTotal))
}

// orPromotions returns the error of a price that cannot be read. A cart that shows promotions takes
// no discounts, whatever it costs.
func (e *ensureRun) orPromotions(err error) error {
	if err != nil && e.cart.showsPromotions() {
		return ErrPromotionConflict
	}
	return err
}

// checkEngines returns an error if a discount that shows no engine may be a wanted one.
func (e *ensureRun) checkEngines() error {
	for _, d := range e.cart.CustomDiscounts {
		key := d.key()
		isWanted := func(w NewCustomDiscount) bool { return w.key().externalID == key.externalID }
		if key.engine == "" && (key.externalID == "" || slices.ContainsFunc(e.want, isWanted)) {
			return fmt.Errorf("%w: a custom discount that may be a wanted one shows no engine", ErrBadResponse)
		}
	}
	return nil
}

// checkReturned compares a list with those that want returned before for the same cart: the same
// items, price before discounts, and discounts of others. It returns ErrWantChanged if a key is
// new, or its contents have changed twice.
func (e *ensureRun) checkReturned(want []NewCustomDiscount) error {
	shown := e.cart.contents()
	for _, d := range e.staying() {
		shown = append(shown, fmt.Sprint(d.ID, d.Amount.Amount))
	}
	slices.Sort(shown)
	isSame := slices.Equal(e.shown, shown)
	if !isSame {
		e.shown, e.returned = shown, map[discountKey][2]string{}
	}
	want = slices.DeleteFunc(slices.Clone(want), func(d NewCustomDiscount) bool { return d.isNone() })
	for i, d := range want {
		contents := fmt.Sprint(i, d.contents())
		before, isKnown := e.returned[d.key()]
		isChanged := before[0] != before[1] && before[1] != contents
		if isSame && !isKnown || isChanged {
			return ErrWantChanged
		}
		e.returned[d.key()] = [2]string{cmp.Or(before[0], contents), contents}
	}
	return nil
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
	e.journal.enter(&scene{cart: e.cart.Cart, want: e.want, isWhole: e.opts.AllOrNothing})
	e.plan = newPlan(e.cart, e.want, e.opts, e.journal)
	if !e.journal.has((*ensureWrite).isSent) {
		e.before = look{
			different: e.plan.different, causes: [2]error{e.cart.takesNone(), e.objection()},
			discount: e.cart.DisplayPrice.Discount.Amount,
		}
	}
}

// look is what a read of a cart shows.
type look struct {
	different []CustomDiscount
	causes    [2]error // why the cart cannot become as wanted; nil elements do not count
	discount  Decimal  // in all
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
	case !e.plan.isDone() || !e.totalDiffers():
		return nil
	case e.price.isWrong || !e.journal.has((*ensureWrite).isSent),
		!e.cart.DisplayPrice.Discount.Amount.Equal(e.before.discount):
		return ErrPriceDiffers
	}
	return errTotalLags
}

var errTotalLags = fmt.Errorf("%w: it is still that of before the first write", ErrPriceDiffers)

// totalDiffers reports whether SetCustomDiscounts must not believe the total discount of the cart.
func (e *ensureRun) totalDiffers() bool {
	return e.choose != nil && !e.anyTotal && !e.opts.DryRun && (e.price.isWrong || e.cart.totalDiffers())
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
