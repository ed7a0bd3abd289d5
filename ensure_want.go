package commerce

import (
	"context"
	"errors"
	"slices"
)

var errNewKey = errors.New("a discount with another key is wanted after discounts were added")

// setWant sets the wanted discounts. A key that is new after a discount was sent must not be added:
// if each call of choose made one up, there would be a copy for each.
func (e *ensureRun) setWant(want []NewCustomDiscount) {
	isLate := e.journal.has(func(w *ensureWrite) bool { return w.kind != enableWrite && w.isSent() })
	e.want = make([]NewCustomDiscount, len(want))
	for i := range want {
		e.want[i] = want[i].copyItem()
		if _, isKnown := e.journal.keys[want[i].key()]; !isKnown {
			e.journal.keys[want[i].key()] = !isLate
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
	if slices.ContainsFunc(e.plan.add, func(d *NewCustomDiscount) bool { return !e.journal.keys[d.key()] }) {
		return errNewKey
	}
	return nil
}

// undecided returns the result if it is not known which discounts are wanted now.
func (e *ensureRun) undecided(err error) (*EnsureCustomDiscountsResult, error) {
	problems, ok := err.(*ValidationError) //nolint:errorlint // of decide
	if ok && !e.journal.has((*ensureWrite).isSent) {
		return nil, problems
	}
	if e.want != nil { // for the result
		e.plan = newPlan(e.cart, e.want, e.opts, e.journal)
	}
	return e.end(err)
}

// mustEnable reports whether custom discounts must be enabled for the cart, which this call did not
// try yet, before a discount can be added.
func (e *ensureRun) mustEnable() bool {
	isEnabling := func(w *ensureWrite) bool { return w.kind == enableWrite }
	return e.opts.Enable && !e.journal.has(isEnabling) && !e.cart.CustomDiscountsEnabled &&
		e.cart.takesNone() == nil && slices.ContainsFunc(e.plan.add, e.journal.mayAdd)
}

// enable enables custom discounts for the cart.
func (e *ensureRun) enable(ctx context.Context) *ensureWrite {
	w := &ensureWrite{kind: enableWrite, shown: e.opts.DryRun}
	w.outcome = e.send(func() error {
		_, _, err := e.writer.enable().send(ctx, e.service.core)
		return err
	})
	e.journal.record(w)
	return w
}
