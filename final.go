package commerce

import (
	"cmp"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/commerce-go/commerce/internal/transport"
)

// OutcomeOf returns the most severe outcome of all errors of this package in the tree
// of err: OutcomeUnknown, then OutcomeUnreadable, OutcomePartial, OutcomeRejected,
// OutcomeNotSent and OutcomeNone. The Outcome of an [*Error] covers what is inside it. A
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
//   - a [*ValidationError], and [ErrInvalidArgument],
//   - a refusal: an error object of the service in a 2xx to a batch, or in a 4xx other than 401,
//     403, 407, 408, 409, 421, 423, 425 and 429; and its sentinels alone, e.g. in a test,
//   - [ErrEmptyCart], [ErrPromotionConflict], [ErrBelowZero], [ErrDifferent], [ErrEnded],
//     [ErrStateNotShown], and [ErrOffsetLimit], also joined with why the walk did not go on,
//   - an error of yours that states [RemedyCart].
//
// All errors in the tree of err must be among these, except those joined with ErrOffsetLimit. An
// error of another package is not. Nor is one with [OutcomeUnknown], [OutcomeUnreadable] or a
// RetryAfter, or of a call without an access token.
//
// A refusal depends on the cart as it was then. For EnsureCustomDiscounts and SetCustomDiscounts it
// is final only if the last read shows the same items, price before discounts and promotions, and
// no fewer discounts, and the same write is wanted. Their errors are not final if a read does not
// show what the call wrote, if only a read after a write shows the cause, or if a discount to
// change was gone. A change that was undone between two reads is not seen.
func IsFinal(err error) bool {
	if stated := statedRemedy(err); stated != 0 && stated != RemedyStaff {
		return stated == RemedyCart
	}
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
	row := sentinelOf(func(s sentinel) bool { return s.err == err }) //nolint:errorlint // the tree ends here
	return row.isFinal || row.words != nil || row.status > 0 && !isTemporary(row.status)
}

func areFinal(errs []error) bool {
	isNot := func(err error) bool { return !IsFinal(err) }
	return len(errs) > 0 && !slices.ContainsFunc(errs, isNot)
}

func (e *Error) isFinal() bool {
	if e == nil || e.isUnknown() || e.Outcome == OutcomeUnreadable || e.RetryAfter > 0 {
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

// Equal reports whether two errors are equal, also for cmp.Diff of github.com/google/go-cmp. Causes
// are equal if they have the same text and match the same sentinels. Raw does not count. cmp.Diff
// prints the texts of errors that differ, or all fields, Detail included, if the texts are equal.
func (e *Error) Equal(other *Error) bool {
	if e == nil || other == nil {
		return e == other
	}
	a, b := *e, *other
	a.Err, b.Err, a.Raw, b.Raw = nil, nil, nil, nil
	return reflect.DeepEqual(a, b) && areEqual(e.Err, other.Err)
}

// Equal reports whether two errors are equal: see [Error.Equal].
func (e *PagingError) Equal(other *PagingError) bool {
	if e == nil || other == nil {
		return e == other
	}
	a, b := *e, *other
	a.Err, b.Err = nil, nil
	return a == b && areEqual(e.Err, other.Err)
}

// areEqual reports whether two causes are equal, as far as texts, sentinels and fields show.
func areEqual(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	x, _ := errors.AsType[*Error](a)
	y, _ := errors.AsType[*Error](b)
	differs := func(s sentinel) bool { return errors.Is(a, s.err) != errors.Is(b, s.err) }
	return x.Equal(y) && a.Error() == b.Error() && !slices.ContainsFunc(sentinels, differs)
}

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
// [WithLimiter] refused. If a token request failed, it is the name of the cause, e.g. "timeout". It
// is "token" if the credentials were refused, or no cause is known. Another error is "other", and
// nil is "". [OutcomeOf] reports what became of a write.
func ReasonOf(err error) string {
	if err == nil {
		return ""
	}
	return cmp.Or(reasonOf(err).name, "other")
}

// reasonOf returns the row of the sentinel that tells most about the cause of err.
func reasonOf(err error) sentinel {
	isRefused := !anyFailure(err, (*Error).isOfCall) || anyFailure(err, func(e *Error) bool {
		return e.Op == opToken && (e.StatusCode == http.StatusUnauthorized || slices.ContainsFunc(e.Errors, isObject))
	})
	row := sentinelOf(func(s sentinel) bool {
		return errors.Is(err, s.err) && (s.err != ErrToken || isRefused) //nolint:errorlint // a row of the table
	})
	if row.err == nil && errors.Is(err, ErrToken) {
		return sentinel{err: ErrToken, name: "token"}
	}
	return row
}

// RemedyOf returns what to do after err; 0 if it is nil. A program that calls again as long as it
// is RemedyAgain applies nothing twice. It refines [IsFinal]: after a final error it is RemedyCart,
// if the cart or the offer must change, or RemedyStaff. After another one it is
//
//   - RemedyStaff if somebody must first fix the credentials, the certificate, the address, what a
//     gateway refuses, or the cause of [ErrBadResponse], [ErrPriceDiffers] or [ErrWantChanged] (a
//     body that is not JSON, and a total from before the first write, may pass),
//   - RemedyRead if the outcome is OutcomeUnknown, OutcomeUnreadable or OutcomePartial, and the
//     call might do harm twice. SetCustomDiscounts, EnsureCustomDiscounts, EnableCustomDiscounts,
//     DeleteCustomDiscount and EnsureState do none,
//   - otherwise RemedyAgain.
//
// If an error of yours, e.g. of the functions want and Then of SetCustomDiscounts, has a method
// Remedy() Remedy, that decides, unless a write is in doubt.
func RemedyOf(err error) Remedy {
	if err == nil {
		return 0
	}
	isFinal, reason := IsFinal(err), reasonOf(err)
	mayPass := errors.Is(err, errTotalLags) || errors.Is(err, errNotJSON) ||
		errors.Is(reason.err, ErrUnauthorized) && anyFailure(err, (*Error).isTokenDown)
	switch stated := statedRemedy(err); {
	case stated != 0:
		return stated
	case isFinal && reason.remedy == RemedyCart && !anyFailure(err, (*Error).isOfOther):
		return RemedyCart
	case isFinal, reason.remedy == RemedyStaff && !mayPass, errors.Is(err, transport.ErrAddress),
		anyFailure(err, (*Error).isOfGateway):
		return RemedyStaff
	case mayDoHarm(err):
		return RemedyRead
	}
	return RemedyAgain
}

// statedRemedy returns what an error of the caller says is to do; 0 if there is none, or if a
// write is in doubt.
func statedRemedy(err error) Remedy {
	stated, ok := errors.AsType[interface {
		error
		Remedy() Remedy
	}](err)
	if !ok || isNilPointer(stated) || errors.Is(err, ErrOutcomeUnknown) || mayDoHarm(err) {
		return 0
	}
	if remedy := stated.Remedy(); int(remedy) < len(remedyNames) {
		return remedy
	}
	return 0
}

// harmlessTwice are the calls that do no harm if they are made again, whatever became of the
// first.
var harmlessTwice = []string{
	"Carts.SetCustomDiscounts", "Carts.EnsureCustomDiscounts", "Carts.EnableCustomDiscounts",
	"Carts.DeleteCustomDiscount", "Subscriptions.EnsureState",
}

// mayDoHarm reports whether a write may have been applied that would then be applied twice.
func mayDoHarm(err error) bool {
	isMock := !anyFailure(err, (*Error).isOfCall)
	return isMock && errors.Is(err, ErrPartialFailure) || anyFailure(err, func(e *Error) bool {
		isApplied := e.isUnknown() || e.Outcome == OutcomeUnreadable || e.Outcome == OutcomePartial
		return isApplied && !slices.Contains(harmlessTwice, e.Op)
	})
}

// isTokenDown reports whether the service could not say anything about the credentials.
func (e *Error) isTokenDown() bool {
	return e.Op == opToken && (e.StatusCode == 0 || e.StatusCode >= 500 || e.StatusCode == http.StatusTooManyRequests)
}

// isOfOther reports whether the call is not one of a cart.
func (e *Error) isOfOther() bool { return e.isOfCall() && !strings.HasPrefix(e.Op, "Carts.") }

// isOfGateway reports whether something before the service refused the call. A 404 to the part of a
// call that changes a discount mostly means that another program has deleted it.
func (e *Error) isOfGateway() bool {
	isGone := (e.Part == "update" || e.Part == "delete") && e.StatusCode == http.StatusNotFound
	mayPass := isGone || isTemporary(e.StatusCode) && e.StatusCode != http.StatusProxyAuthRequired
	return e.StatusCode >= 400 && e.StatusCode <= 499 && !mayPass && !slices.ContainsFunc(e.Errors, isObject)
}
