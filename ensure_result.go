package commerce

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/transport"
)

var errEnabled = errors.New("custom discounts are now enabled for the cart")

// end returns the result of a call, from the last read and the writes, and its error. stopped
// is why the call ended early; nil if it made all the reads and writes that it could.
func (e *ensureRun) end(stopped error) (*CustomDiscountsResult, error) {
	if stopped != nil {
		e.failures = append(e.failures, stopped)
	}
	r := &CustomDiscountsResult{
		Discounts: cloneAll(e.plan.found),
		Added:     e.effects(addWrite),
		Updated:   e.effects(updateWrite),
		Deleted:   e.effects(deleteWrite),
		Missing:   e.missing(),
		Different: cloneAll(append(slices.Clone(e.plan.different), e.plan.unchanged()...)),
		InDoubt:   e.journal.inDoubt(),
		Enabled:   !e.wasEnabled && e.journal.has((*ensureWrite).hasEnabled),
		Lowered:   e.price.lowered,
	}
	if e.cart != nil {
		r.Cart = e.cart.Cart
	}
	isDoubtful := e.choose != nil && e.journal.has((*ensureWrite).isInDoubt)
	if stopped == nil && len(r.Missing)+len(r.Different) == 0 && !isDoubtful {
		return r, nil
	}
	return r, e.newError(r, stopped)
}

// effects returns the discounts that writes of a kind added, updated or deleted, as far as is
// known, each as the last write left it.
func (e *ensureRun) effects(kind writeKind) []CustomDiscount {
	var list []CustomDiscount
	for _, w := range slices.Backward(e.journal.writes) {
		isListed := w.discount.ID != uuid.Nil && hasDiscount(list, w.discount.ID)
		if w.kind == kind && e.hadEffect(w) && !isListed {
			list = append(list, w.discount.clone())
		}
	}
	slices.Reverse(list)
	return list
}

func (e *ensureRun) hadEffect(w *ensureWrite) bool {
	if w.kind == updateWrite || slices.Contains(e.journal.recent(), w) {
		return w.isDone() || w.isSeen
	}
	return w.isSeen && hasDiscount(e.cart.CustomDiscounts, w.discount.ID) == (w.kind == addWrite)
}

// missing returns the wanted discounts that the cart does not have.
func (e *ensureRun) missing() []UnconfirmedDiscount {
	var list []UnconfirmedDiscount
	for _, d := range e.plan.add {
		adds, recent := e.journal.adds[d.key()], e.journal.recent()
		if slices.ContainsFunc(adds, func(w *ensureWrite) bool { return w.isDone() && slices.Contains(recent, w) }) {
			continue
		}
		missing := UnconfirmedDiscount{NewCustomDiscount: d.copyItem()}
		for _, w := range adds {
			if w.reasons.entries != nil {
				missing.Reasons = w.reasons.entries
			}
		}
		list = append(list, missing)
	}
	return list
}

// outcome returns what is known about the writes of the call.
func (e *ensureRun) outcome(stopped error) Outcome {
	isSent := (*ensureWrite).isSent
	isAccepted := func(w *ensureWrite) bool { return w.isSent() && w.outcome != OutcomeRejected }
	isUnread := e.journal.failed || slices.ContainsFunc(e.journal.recent(), isSent)
	switch {
	case !e.journal.has(isSent):
		return OutcomeNotSent
	case !e.journal.has(isAccepted):
		return OutcomeRejected
	case e.journal.has((*ensureWrite).isInDoubt), stopped != nil && isUnread:
		return OutcomeUnknown
	}
	return OutcomePartial
}

// isDifferent reports whether the options did not let the call change a discount, or the
// service changed what it was sent. It does not count that an update or a deletion failed.
func (e *ensureRun) isDifferent() bool {
	return e.journal.has((*ensureWrite).isRenamed) || slices.ContainsFunc(e.plan.different, func(d CustomDiscount) bool {
		isKnown := func(w *ensureWrite) bool { return w.changes(&d) && (!w.isDone() || w.isSeen && !w.isChanged) }
		return !e.journal.has(isKnown)
	})
}

// newError returns the error of a call that did not reach its aim. Its causes are each named
// once.
func (e *ensureRun) newError(r *CustomDiscountsResult, stopped error) *Error {
	causes := slices.Clone(e.failures)
	if e.isDifferent() {
		causes = slices.Insert(causes, 0, ErrDifferent)
	}
	failed := &Error{Op: e.writer.op, Outcome: e.outcome(stopped)}
	list := []any{ensureEnd{e.plan.matched, e.wanted, transport.Hide(causes), e.mayPass(causes)}}
	named := map[string]bool{}
	name := func(cause error) {
		if text := cause.Error(); !named[text] {
			named[text], list = true, append(list, cause)
		}
	}
	if r.Enabled && !e.opts.DryRun {
		name(errEnabled)
	}
	if n := len(r.InDoubt); n > 0 {
		name(fmt.Errorf("%d may still change the cart", n))
	}
	for _, cause := range causes {
		if f, ok := cause.(*Error); ok { //nolint:errorlint // of a call that this call made
			if f.Attempts > 0 {
				failed.RequestID, failed.RetryAfter, failed.Attempts = f.RequestID, f.RetryAfter, f.Attempts
				failed.Raw = f.Raw
			}
			failed.Errors = append(failed.Errors, f.Errors...)
			cause = failedCall{transport.Hide(f)}
		}
		name(cause)
	}
	failed.Err = fmt.Errorf("%w"+strings.Repeat("; %w", len(named)), list...)
	if failed.Outcome == OutcomeUnknown && e.journal.has((*ensureWrite).isInDoubt) {
		settle := cmp.Or(max(0, e.opts.Settle), defaultSettle)
		failed.RetryAfter = max(failed.RetryAfter, settle) // until a late write is shown
	}
	return failed
}

// mayPass reports whether the same call may succeed although all causes are final: a read did not
// show what this call wrote, or showed a cause only after something was written.
func (e *ensureRun) mayPass(causes []error) bool {
	return e.isCut || e.journal.has(e.mayBeAccepted) || slices.ContainsFunc(causes, e.isLate) ||
		slices.ContainsFunc(e.plan.different, e.isUnexplained)
}

// isLate reports whether a cause was first shown after something was written, which may be why.
func (e *ensureRun) isLate(cause error) bool {
	isOfCart := slices.Contains([]error{ErrEmptyCart, ErrPromotionConflict, ErrBelowZero}, cause)
	isNew := isOfCart && !slices.Contains(e.before.causes[:], cause)
	// The cart may cost more than the last read showed.
	mayCostMore := cause == ErrBelowZero && !e.price.isShort //nolint:errorlint // it is not wrapped
	return e.journal.has((*ensureWrite).isSent) && (isNew || mayCostMore)
}

// isUnexplained reports whether d differs although no read showed that before something was
// written, and the service neither changed it nor refused a write to it.
func (e *ensureRun) isUnexplained(d CustomDiscount) bool {
	isOfService := func(w *ensureWrite) bool { return w.discount.ID == d.ID && (w.isChanged || w.isFinal()) }
	return !hasDiscount(e.before.different, d.ID) && !e.journal.has(isOfService)
}

// mayBeAccepted reports whether a write that was refused may be accepted next time: another
// program may write to the cart too, if the last read does not show the reason, or after a 404.
func (e *ensureRun) mayBeAccepted(w *ensureWrite) bool {
	return w.isUndone || w.isOver || w.isGone ||
		slices.Contains(w.reasons.causes, ErrDiscountsDisabled) && e.cart.CustomDiscountsEnabled && !e.opts.Enable ||
		slices.Contains(w.reasons.causes, ErrEmptyCart) && !e.cart.isEmpty() ||
		slices.Contains(w.reasons.causes, ErrPromotionConflict) && !e.cart.showsPromotions()
}
