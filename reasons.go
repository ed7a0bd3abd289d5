package commerce

import (
	"errors"
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
var reasons = []struct {
	texts  []string
	reason error
}{
	{texts: []string{"discount limit"}, reason: ErrDiscountLimit},
	{texts: []string{"discounts", "not enabled"}, reason: ErrDiscountsDisabled},
	{texts: []string{"cart item", "not present"}, reason: ErrCartItemNotFound},
	{texts: []string{"mismatch", "type"}, reason: ErrItemTypeMismatch},
	{texts: []string{"discounts", "promotions"}, reason: ErrPromotionConflict},
	{texts: []string{"empty cart"}, reason: ErrEmptyCart},
	{texts: []string{"cart is empty"}, reason: ErrEmptyCart},
}

// Reason returns why the service refused a discount: one of [ErrDiscountLimit],
// [ErrDiscountsDisabled], [ErrCartItemNotFound], [ErrItemTypeMismatch],
// [ErrPromotionConflict] and [ErrEmptyCart]; nil if the reason is unknown. The service has no
// codes for reasons, so it is found from the words of Title and Detail.
func (o ErrorObject) Reason() error {
	isSeparator := func(r rune) bool { return !unicode.IsLetter(r) }
	words := strings.FieldsFunc(strings.ToLower(o.Title+" "+o.Detail), isSeparator)
	text := strings.Join(words, " ")
rows:
	for _, row := range reasons {
		for _, t := range row.texts {
			if !strings.Contains(text, t) {
				continue rows
			}
		}
		return row.reason
	}
	return nil
}

// hasReason reports whether one of the entries has this reason.
func hasReason(entries []ErrorObject, reason error) bool {
	for _, o := range entries {
		if r := o.Reason(); r != nil && r == reason { //nolint:errorlint // a sentinel
			return true
		}
	}
	return false
}
