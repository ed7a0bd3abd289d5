package commerce

import (
	"errors"
	"slices"
	"strings"
	"unicode"
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
	// ErrEmptyCart means that the cart has no items. A cart that does not exist reads as an
	// empty one.
	ErrEmptyCart = errors.New("empty cart")
)

// reasons maps the words of a title and detail to a reason. The first row counts of which all
// texts occur. Letter case, numbers and punctuation do not matter.
var reasons = []reasonRow{
	{texts: []string{"discount limit"}, reason: ErrDiscountLimit},
	{texts: []string{"discounts", "not enabled"}, reason: ErrDiscountsDisabled},
	{texts: []string{"cart item", "not present"}, reason: ErrCartItemNotFound},
	{texts: []string{"mismatch", "type"}, reason: ErrItemTypeMismatch},
	{texts: []string{"discounts", "promotions"}, reason: ErrPromotionConflict},
	{texts: []string{"empty cart"}, reason: ErrEmptyCart},
	{texts: []string{"cart is empty"}, reason: ErrEmptyCart},
}

type reasonRow struct {
	texts  []string
	reason error
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
	for _, row := range reasons {
		if !slices.ContainsFunc(row.texts, isAbsent) {
			return row.reason
		}
	}
	return nil
}

// hasReason reports whether one of the entries has this reason. If target is not a reason, as
// in most calls of errors.Is, it does not look at the texts.
func hasReason(entries []ErrorObject, target error) bool {
	isTarget := func(reason error) bool { return reason == target } //nolint:errorlint // a reason is a sentinel
	return slices.ContainsFunc(reasons, func(row reasonRow) bool { return isTarget(row.reason) }) &&
		slices.ContainsFunc(entries, func(o ErrorObject) bool { return isTarget(o.Reason()) })
}
