package commerce

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/commerce-go/commerce/internal/paging"
	"github.com/commerce-go/commerce/internal/transport"
)

// Sentinels for [errors.Is]. The first group follows [Error.StatusCode]. In addition,
// ErrRateLimited matches a call that the client stopped before it was sent, and a 403 with
// Retry-After, or with a RateLimit-Remaining or X-RateLimit-Remaining of 0. ErrBadResponse matches
// a 2xx that cannot be read. If [Error.Op] is "token", the status is the status of the token
// request: check Op before you conclude from ErrNotFound that the cart does not exist.
var (
	ErrBadRequest    = errors.New("bad request")       // 400
	ErrUnauthorized  = errors.New("unauthorized")      // 401
	ErrForbidden     = errors.New("forbidden")         // 403
	ErrNotFound      = errors.New("not found")         // 404
	ErrConflict      = errors.New("conflict")          // 409
	ErrUnprocessable = errors.New("unprocessable")     // 422
	ErrRateLimited   = errors.New("rate limited")      // 429
	ErrServer        = errors.New("server error")      // 5xx
	ErrBadResponse   = errors.New("unusable response") // 1xx, 3xx, and a 2xx that cannot be read

	// ErrOutcomeUnknown matches an [*Error] with [OutcomeUnknown]: the write may or may not
	// have been applied.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrPartialFailure matches an [*Error] with [OutcomePartial]: the call also returned a
	// result.
	ErrPartialFailure = errors.New("partial failure")
	// ErrTimeout means that an attempt took longer than [RetryPolicy].AttemptTimeout, or that
	// a connection timed out. The caller's context has not ended.
	ErrTimeout = transport.ErrTimeout
	// ErrCertificate means that the certificate of the service, or of a proxy, was not accepted. It
	// is not tried again.
	ErrCertificate = transport.ErrCertificate
	// ErrConnection means that for another reason there was no connection, or that it was closed
	// before the whole response was there. The caller's context has not ended.
	ErrConnection = transport.ErrConnection
	// ErrToken means that no access token could be obtained. [Error.Op] is "token", unless
	// the token was refused during a call.
	ErrToken = errors.New("no access token")
	// ErrDifferent means that a discount on the cart differs from the wanted one, and that the
	// options of the call do not let it change the discount, or the service changes what it is
	// sent: see Update in [EnsureCustomDiscountsOptions].
	ErrDifferent = errors.New("a discount on the cart differs")
	// ErrLock means that the [Locker] refused the lock, that the lock was lost, or that the
	// context ended while the call waited for the lock. Then the error matches the error of
	// the context too.
	ErrLock = errors.New("the cart is not locked")
	// ErrEnded means that a subscription is canceled or closed, and is not resumed without
	// [StateChange].Reopen.
	ErrEnded = errors.New("the subscription is canceled or closed: only Reopen resumes it")
	// ErrStateNotShown means that the service confirmed a change of the state of a subscription,
	// but did not make it: see [SubscriptionService.EnsureState].
	ErrStateNotShown = errors.New("the change was confirmed, but is not made")
	// ErrInvalidArgument matches a [*ValidationError].
	ErrInvalidArgument = errors.New("invalid argument")

	// ErrOffsetLimit ends a walk that read up to the highest offset of the service: there may be
	// more records. [SubscriptionService.Pages] describes when it ends a walk of all subscriptions.
	ErrOffsetLimit = paging.ErrOffsetLimit
	// ErrListDrift ends a walk if the order of the list changed so much that the walk found
	// none of the records that it had read. It also ends a walk if the list changes faster
	// than the walk can read it.
	ErrListDrift = paging.ErrListDrift
	// ErrNoProgress ends a walk if the service returned a page without new records that was
	// not the end of the list.
	ErrNoProgress = paging.ErrNoProgress
)

// Reasons for which the service refuses a discount. [errors.Is] reports true for an [*Error]
// if one of its Errors has the reason; see [ErrorObject.Reason].
var (
	// ErrDiscountLimit means that the cart, or the item, has as many custom discounts as the
	// store allows: see [Client.Settings].
	ErrDiscountLimit = errors.New("discount limit reached")
	// ErrDiscountsDisabled means that custom discounts are not enabled for the cart.
	ErrDiscountsDisabled = errors.New("custom discounts not enabled")
	// ErrCartItemNotFound means that the item of a discount is not in the cart.
	ErrCartItemNotFound = errors.New("cart item not found")
	// ErrItemTypeMismatch means that the item of a discount has another type in the cart.
	ErrItemTypeMismatch = errors.New("item type mismatch")
	// ErrPromotionConflict means that the cart has promotions of the store, which cannot be
	// combined with custom discounts.
	ErrPromotionConflict = errors.New("promotion conflict")
	// ErrBelowZero means that the cart, or an item, costs less than 0, mostly as discounts of
	// others take more than it costs.
	ErrBelowZero = errors.New("the cart would cost less than 0")
	// ErrPriceDiffers means that the total discount of the cart is not the sum of the discounts
	// that it shows: see [CartService.SetCustomDiscounts].
	ErrPriceDiffers = errors.New("the total discount is not the sum of the discounts that the cart shows")
	// ErrWantChanged means that the function want of [CartService.SetCustomDiscounts] returned
	// another list for the same cart.
	ErrWantChanged = errors.New("want returned another list for the same cart")
	// ErrEmptyCart means that the cart has no items. A cart that does not exist reads as an
	// empty one.
	ErrEmptyCart = errors.New("empty cart")
)

// sentinel is what the library knows of an error for [errors.Is].
type sentinel struct {
	err     error
	name    string // of ReasonOf
	status  int    // of responses that match; 0: there is more to it, see statusSentinel
	isFinal bool   // by itself, without an error of a call: see IsFinal
	isShown bool   // its text says more to an observer than what it wraps
	remedy  Remedy // RemedyCart if it is final, RemedyStaff if it is not; otherwise 0
	// words are in the title and detail of a refusal for this reason, all of one list. Letter case,
	// numbers and punctuation do not matter.
	words [][]string
}

// sentinels has all of them. If several match, the first one counts: what tells most about the
// cause comes first.
var sentinels = []sentinel{
	{err: ErrInvalidArgument, name: "invalid_argument", isFinal: true},
	{err: ErrLock, name: "lock", isShown: true},
	{err: ErrRateLimited, name: "rate_limited", status: http.StatusTooManyRequests},
	{err: transport.ErrLimiter, name: "limiter"},
	{err: ErrTimeout, name: "timeout"},
	{err: context.DeadlineExceeded, name: "deadline_exceeded"},
	{err: context.Canceled, name: "canceled"},
	{err: ErrServer, name: "server_error"},
	{err: ErrOffsetLimit, name: "offset_limit", isFinal: true, isShown: true},
	{err: ErrCertificate, name: "certificate", remedy: RemedyStaff},
	{err: ErrToken, name: "token", isShown: true, remedy: RemedyStaff},
	{err: ErrBadResponse, name: "bad_response", isShown: true, remedy: RemedyStaff},
	{err: ErrUnauthorized, name: "unauthorized", status: http.StatusUnauthorized, remedy: RemedyStaff},
	{err: ErrForbidden, name: "forbidden", status: http.StatusForbidden, remedy: RemedyStaff},
	{
		err: ErrEmptyCart, name: "empty_cart", isFinal: true, isShown: true, remedy: RemedyCart,
		words: [][]string{{"empty cart"}, {"cart is empty"}},
	},
	{err: ErrBelowZero, name: "below_zero", isFinal: true, isShown: true, remedy: RemedyCart},
	{err: ErrPriceDiffers, name: "price_differs", isShown: true, remedy: RemedyStaff},
	{err: ErrWantChanged, name: "want_changed", isShown: true, remedy: RemedyStaff},
	{err: ErrDiscountLimit, name: "discount_limit", words: [][]string{{"discount limit"}}, remedy: RemedyCart},
	{
		err: ErrPromotionConflict, name: "promotion_conflict", isFinal: true, isShown: true, remedy: RemedyCart,
		words: [][]string{{"discounts", "promotions"}, {"both discounts", "together"}},
	},
	{
		err: ErrCartItemNotFound, name: "cart_item_not_found", remedy: RemedyCart,
		words: [][]string{{"cart item", "not present"}},
	},
	{err: ErrDiscountsDisabled, name: "discounts_disabled", words: [][]string{{"discounts", "not enabled"}}},
	{err: ErrItemTypeMismatch, name: "item_type_mismatch", words: [][]string{{"mismatch", "type"}}},
	{err: ErrNotFound, name: "not_found", status: http.StatusNotFound},
	{err: ErrConflict, name: "conflict", status: http.StatusConflict},
	{err: ErrUnprocessable, name: "unprocessable", status: http.StatusUnprocessableEntity, remedy: RemedyCart},
	{err: ErrBadRequest, name: "bad_request", status: http.StatusBadRequest},
	{err: ErrDifferent, name: "different", isFinal: true, isShown: true},
	{err: ErrEnded, name: "ended", isFinal: true, isShown: true},
	{err: ErrStateNotShown, name: "state_not_shown", isFinal: true, isShown: true},
	{err: ErrListDrift, name: "list_drift"},
	{err: ErrNoProgress, name: "no_progress"},
	{err: ErrPartialFailure, name: "partial", isShown: true},
	{err: ErrOutcomeUnknown, name: "outcome_unknown"},
	{err: ErrConnection, name: "connection"},
}

// sentinelOf returns the first row that fits, or one without an error.
func sentinelOf(fits func(sentinel) bool) sentinel {
	if i := slices.IndexFunc(sentinels, fits); i >= 0 {
		return sentinels[i]
	}
	return sentinel{}
}

// Reason returns why the service refused a discount: one of [ErrDiscountLimit],
// [ErrDiscountsDisabled], [ErrCartItemNotFound], [ErrItemTypeMismatch],
// [ErrPromotionConflict] and [ErrEmptyCart]; nil if the reason is unknown. The service has no
// codes for reasons, so it is found from the words of Title and Detail.
func (o ErrorObject) Reason() error {
	isSeparator := func(r rune) bool { return !unicode.IsLetter(r) }
	words := strings.FieldsFunc(strings.ToLower(o.Title+" "+o.Detail), isSeparator)
	text := strings.Join(words, " ")
	isAbsent := func(t string) bool { return !strings.Contains(text, t) }
	areThere := func(words []string) bool { return !slices.ContainsFunc(words, isAbsent) }
	return sentinelOf(func(s sentinel) bool { return slices.ContainsFunc(s.words, areThere) }).err
}

// hasReason reports whether one of the entries has this reason. If target is not a reason, as
// in most calls of errors.Is, it does not look at the texts. Of equal entries it reads the first.
func hasReason(entries []ErrorObject, target error) bool {
	isTarget := func(reason error) bool { return reason == target } //nolint:errorlint // a reason is a sentinel
	isEqual := func(a, b ErrorObject) bool { return a.Title == b.Title && a.Detail == b.Detail }
	hasTarget := func(o ErrorObject) bool { return isTarget(o.Reason()) }
	return slices.ContainsFunc(sentinels, func(s sentinel) bool { return s.words != nil && isTarget(s.err) }) &&
		slices.ContainsFunc(slices.CompactFunc(slices.Clone(entries), isEqual), hasTarget)
}

// Remedy is what to do after an error: see [RemedyOf].
type Remedy uint8

const (
	// RemedyAgain means: call again, after the RetryAfter of the [*Error], or after a while.
	RemedyAgain Remedy = iota + 1
	// RemedyCart means that the customer, or what the customer is offered, must change: the cart
	// is empty, an item is gone, the limit is reached, or the service refuses the discount.
	RemedyCart
	// RemedyStaff means that your staff must act: the program, the credentials, the address or
	// the settings are wrong.
	RemedyStaff
	// RemedyRead means that a write may have been applied, and that the same call might apply it a
	// second time: read what it changes, then decide.
	RemedyRead
)

var remedyNames = [...]string{"", "again", "cart", "staff", "read"}

// String returns "again", "cart", "staff" or "read"; "" for 0.
func (r Remedy) String() string {
	if int(r) < len(remedyNames) {
		return remedyNames[r]
	}
	return "Remedy(" + strconv.Itoa(int(r)) + ")"
}

// MarshalText returns what String does.
func (r Remedy) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
