package commerce

import (
	"context"
	"errors"
	"slices"
)

var (
	errNewKey = errors.New("a discount with another key is wanted after discounts were added")
	errNoSale = errors.New("custom discounts are now enabled for the cart, so the store's promotions are off for it")
)

// setWant sets the wanted discounts. A key that is new after a discount was sent must not be added:
// if each call of choose made one up, there would be a copy for each.
func (e *ensureRun) setWant(want []NewCustomDiscount) {
	isLate := e.journal.has((*ensureWrite).isSent)
	e.want = make([]NewCustomDiscount, len(want))
	for i := range want {
		e.want[i] = want[i].copyItem()
		if _, isKnown := e.keys[want[i].key()]; !isKnown {
			e.keys[want[i].key()] = !isLate
		}
	}
}

// decide finds out which discounts are wanted for the cart, which was read. The error is a
// [*ValidationError] if they are not valid.
func (e *ensureRun) decide(ctx context.Context) error {
	if e.choose == nil {
		return nil
	}
	cart, err := e.cart.copy()
	if err != nil {
		return err
	}
	want, err := e.choose(cart)
	if err != nil {
		return err
	}
	problems := &ValidationError{}
	checkWanted(want, e.opts, problems)
	if err := problems.err(); err != nil {
		return err
	}
	e.setWant(want)
	return e.mustStop(ctx) // want may have taken long
}

// checkKeys returns an error if the plan adds a key that it must not add.
func (e *ensureRun) checkKeys() error {
	if slices.ContainsFunc(e.plan.add, func(i int) bool { return !e.keys[e.want[i].key()] }) {
		return errNewKey
	}
	return nil
}

// undecided returns the result if it is not known which discounts are wanted now.
func (e *ensureRun) undecided(err error) (*EnsureCustomDiscountsResult, error) {
	if problems, ok := err.(*ValidationError); ok && !e.hasWrite((*ensureWrite).isSent) { //nolint:errorlint // of decide
		return nil, problems
	}
	if e.want != nil { // for the result
		e.makePlan()
	}
	return e.end(err)
}

// mustEnable reports whether custom discounts must be enabled for the cart, which this call did not
// try yet, before a discount can be added.
func (e *ensureRun) mustEnable() bool {
	if !e.opts.Enable || e.enable != nil || e.cart.CustomDiscountsEnabled || e.cart.takesNone() != nil {
		return false
	}
	return slices.ContainsFunc(e.plan.add, func(i int) bool { return e.journal.mayAdd(&e.want[i]) })
}

// makeEnable enables custom discounts for the cart.
func (e *ensureRun) makeEnable(ctx context.Context) {
	e.enable = &ensureWrite{kind: updateWrite, shown: e.opts.DryRun}
	e.enable.outcome = e.send(func() error { return e.writer.enable(ctx) })
}

// hasWrite reports whether one of the writes matches, that of the setting too.
func (e *ensureRun) hasWrite(match func(w *ensureWrite) bool) bool {
	return e.journal.has(match) || e.enable != nil && match(e.enable)
}
