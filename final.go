package commerce

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
)

// OutcomeOf returns the most severe outcome of all errors of this package in the tree
// of err: OutcomeUnknown, then OutcomeUnreadable, OutcomePartial, OutcomeRejected,
// OutcomeNotSent and OutcomeNone. It does not look inside an [*Error]. A
// [*ValidationError] counts as OutcomeNotSent, a [*PagingError] as OutcomeNone. If err
// holds no error of this package, the outcome is OutcomeUnknown; if err is nil, it is
// OutcomeApplied.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OutcomeApplied
	}
	found := outcomesIn(err, nil)
	if len(found) == 0 || slices.Contains(found, OutcomeUnknown) || slices.Max(found) > OutcomeUnreadable {
		return OutcomeUnknown
	}
	return slices.Max(found) // the others are declared in this order
}

// outcomesIn appends the outcomes of this package's errors in the tree of err to list.
func outcomesIn(err error, list []Outcome) []Outcome {
	switch e := err.(type) { //nolint:errorlint // walks the tree itself
	case *Error:
		if e != nil {
			list = append(list, e.Outcome)
		}
	case *ValidationError:
		return append(list, OutcomeNotSent)
	case *PagingError:
		return append(list, OutcomeNone)
	case interface{ Unwrap() []error }:
		for _, branch := range e.Unwrap() {
			list = outcomesIn(branch, list)
		}
	case interface{ Unwrap() error }:
		list = outcomesIn(e.Unwrap(), list)
	}
	return list
}

// IsFinal reports whether the same call, with the same credentials, can only fail in the same way
// until the cart, the discounts, the subscription, the accounts or the settings change. A job
// queue need not call again. It is true for
//
//   - a [*ValidationError],
//   - a refusal by the service: a response with an error object that has a title or a status,
//     and a 4xx status other than 401, 403, 407, 408, 409, 421, 423, 425 and 429. A batch that
//     was refused with a 2xx, in full or in part, counts too,
//   - [ErrEmptyCart], [ErrPromotionConflict], [ErrBelowZero] and [ErrDifferent],
//   - [ErrEnded] and [ErrStateNotShown],
//   - [ErrOffsetLimit], also beside an error that kept the walk from going on.
//
// Without ErrOffsetLimit, it is false if the tree of err holds any other error, also one of
// another package, or an error with [OutcomeUnknown], [OutcomeUnreadable] or a RetryAfter; for
// nil; and if no access token could be obtained.
//
// An error of [CartService.EnsureCustomDiscounts] or [CartService.SetCustomDiscounts] is final only
// if each of its causes is, and never because a read does not show what the call wrote, or because
// a read showed the cause only after the call wrote something. A refused add is not final if the
// call also deleted a discount. No error is final if a discount to update or delete was gone (404).
func IsFinal(err error) bool {
	switch e := err.(type) { //nolint:errorlint // walks the tree itself
	case *Error:
		return e.isFinal()
	case *ValidationError:
		return e != nil
	case interface{ Unwrap() []error }:
		list := e.Unwrap()
		return slices.Contains(list, ErrOffsetLimit) || areFinal(list)
	case interface{ Unwrap() error }:
		return IsFinal(e.Unwrap())
	}
	return isFinalSentinel(err)
}

func isFinalSentinel(err error) bool {
	return sentinelOf(func(s sentinel) bool { return s.err == err }).isFinal //nolint:errorlint // the tree ends here
}

func areFinal(errs []error) bool {
	isNot := func(err error) bool { return !IsFinal(err) }
	return len(errs) > 0 && !slices.ContainsFunc(errs, isNot)
}

func (e *Error) isFinal() bool {
	if e == nil || e.Outcome == OutcomeUnknown || e.Outcome == OutcomeUnreadable || e.RetryAfter > 0 {
		return false
	}
	if end, ok := errors.AsType[ensureEnd](e.Err); ok {
		return !end.mayPass && areFinal(end.causes())
	}
	return e.isFinalRefusal() || isFinalSentinel(e.Err)
}

// isFinalRefusal reports whether the service refused a call, and would refuse it again. If there is
// a cause, the response alone does not explain the error; for a partial success, the cause only
// counts the discounts. Without a token, the call itself was not sent.
func (e *Error) isFinalRefusal() bool {
	switch {
	case e.Op == opToken, !slices.ContainsFunc(e.Errors, isObject), e.Err != nil && e.Outcome != OutcomePartial:
		return false
	case e.StatusCode >= 200 && e.StatusCode <= 299: // each entry has a status of its own
		return !slices.ContainsFunc(e.Errors, func(o ErrorObject) bool { return isTemporary(o.Status) })
	}
	return e.StatusCode >= 400 && !isTemporary(e.StatusCode)
}

// isObject reports whether an entry was an object of the service, and not a text of a gateway.
func isObject(o ErrorObject) bool { return o.Title != "" || o.Status != 0 }

// ReasonOf returns a short name of the cause of err, for metrics and logs. The names do not
// change. If several match, the first one of this list counts:
//
//	invalid_argument, lock, rate_limited, limiter, timeout, deadline_exceeded, canceled,
//	server_error, offset_limit, certificate, token, bad_response, unauthorized, forbidden,
//	empty_cart, below_zero, price_differs, want_changed, discount_limit, promotion_conflict,
//	cart_item_not_found, discounts_disabled, item_type_mismatch, not_found, conflict, unprocessable, bad_request,
//	different, ended, state_not_shown, list_drift, no_progress, partial, outcome_unknown,
//	connection
//
// Each is the name of a sentinel, except the two of a context, and "limiter": the limiter of
// [WithLimiter] refused. It is "token" only if the credentials were refused, or nothing else is
// known. Another error is "other", and nil is "". What became of a write is in [OutcomeOf].
func ReasonOf(err error) string {
	if err == nil {
		return ""
	}
	return cmp.Or(reasonOf(err).name, "other")
}

// reasonOf returns the row of the sentinel that tells most about the cause of err.
func reasonOf(err error) sentinel {
	isRefused := false
	for failed := range failuresIn(err) {
		isRefused = isRefused || failed.Op == opToken &&
			(failed.StatusCode == http.StatusUnauthorized || slices.ContainsFunc(failed.Errors, isObject))
	}
	row := sentinelOf(func(s sentinel) bool {
		return errors.Is(err, s.err) && (s.err != ErrToken || isRefused) //nolint:errorlint // a row of the table
	})
	if row.err == nil && errors.Is(err, ErrToken) {
		return sentinel{err: ErrToken, name: "token"}
	}
	return row
}

// RemedyOf returns what to do after err; 0 if it is nil. It refines [IsFinal]: after a final error
// it is RemedyCart or RemedyStaff. After another one it is RemedyAgain, or RemedyStaff if calling
// again helps only when somebody has fixed the credentials, the certificate, the address, or what
// [ErrPriceDiffers] and [ErrWantChanged] name.
func RemedyOf(err error) Remedy {
	if err == nil {
		return 0
	}
	isFinal, known := IsFinal(err), reasonOf(err).remedy
	switch {
	case errors.Is(err, errTotalLags):
		return RemedyAgain
	case isFinal && known == RemedyCart:
		return RemedyCart
	case isFinal, known == RemedyStaff:
		return RemedyStaff
	}
	for failed := range failuresIn(err) { // refused by something before the service
		mayPass := isTemporary(failed.StatusCode) && failed.StatusCode != http.StatusProxyAuthRequired
		isClient := failed.StatusCode >= 400 && failed.StatusCode <= 499
		if isClient && !mayPass && !slices.ContainsFunc(failed.Errors, isObject) {
			return RemedyStaff
		}
	}
	return RemedyAgain
}
