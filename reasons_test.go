package commerce_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
)

// reasonRows are the errors in the documentation of the service, and variations of them.
var reasonRows = []struct {
	name, title, detail string
	want                error
}{
	{
		name:  "not enabled",
		title: "Bad Request", detail: "Custom discounts not enabled for this cart",
		want: commerce.ErrDiscountsDisabled,
	},
	{
		name:  "item not in the cart",
		title: "Custom discount not added to cart item.", detail: "Cart Item is not present in the cart.",
		want: commerce.ErrCartItemNotFound,
	},
	{
		name:  "other item type",
		title: "Custom discount not added to cart item.",
		detail: "Mismatch between bulk custom discount type (custom_item) and " +
			"cart item type (cart_item).",
		want: commerce.ErrItemTypeMismatch,
	},
	{
		name:  "limit of the cart",
		title: "Limit Reached", detail: "Custom discount limit reached for this cart",
		want: commerce.ErrDiscountLimit,
	},
	{
		name:  "promotions",
		title: "Cart contains Elastic Path promotions",
		detail: "Custom discounts cannot be combined with Elastic Path promotions. Remove all Elastic Path " +
			"promotions from the cart before adding custom discounts.",
		want: commerce.ErrPromotionConflict,
	},
	{
		name:  "empty cart",
		title: "Bad Request", detail: "You cannot add custom discounts to an empty cart",
		want: commerce.ErrEmptyCart,
	},
	{
		name:  "other letter case, number and white space",
		title: "custom DISCOUNT not added", detail: "cannot exceed  Custom Discount LIMIT of 12",
		want: commerce.ErrDiscountLimit,
	},
	{name: "empty cart, only a title", title: "Cart is empty", want: commerce.ErrEmptyCart},
	{
		name: "both settings", title: "Cannot use both discounts together",
		detail: "Only one discount setting can be set to true at a time.", want: commerce.ErrPromotionConflict,
	},
	{name: "only a title", title: "CART ITEM IS NOT PRESENT", want: commerce.ErrCartItemNotFound},
	{name: "unknown text", title: "Bad Request", detail: "The amount is not a number"},
	{name: "no text"},
}

// Each exported sentinel is in the list of the tests, and in the table of causes in
// docs/discounts.md, unless it is about something else.
func TestSentinels(t *testing.T) {
	t.Parallel()
	elsewhere := []string{
		"ErrBadRequest", "ErrNotFound", "ErrUnprocessable", // the reason of the service counts
		"ErrPartialFailure",                               // the result and the reasons count
		"ErrOffsetLimit", "ErrListDrift", "ErrNoProgress", // of walks
		"ErrEnded", "ErrStateNotShown", // of subscriptions
	}
	_, table, _ := strings.Cut(readFile(t, "docs/discounts.md"), "|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	exported := regexp.MustCompile(`(?m)^\tErr[A-Z]\w+$`)
	for _, name := range exported.FindAllString(readFile(t, "testdata/api/commerce.txt"), -1) {
		name = strings.TrimSpace(name)
		if sentinels[name] == nil {
			t.Errorf("%s is not in the sentinels of errors_test.go", name)
		}
		if isThere := strings.Contains(table, "`"+name+"`"); isThere == slices.Contains(elsewhere, name) {
			t.Errorf("%s: in the table of docs/discounts.md is %t, want %t", name, isThere, !isThere)
		}
	}
}

func TestErrorObject_Reason(t *testing.T) {
	t.Parallel()
	for _, tt := range reasonRows {
		o := commerce.ErrorObject{Title: tt.title, Detail: tt.detail}
		if got := o.Reason(); got != tt.want { //nolint:errorlint // must be the sentinel itself
			t.Errorf("%s: Reason() = %v, want %v", tt.name, got, tt.want)
		}
		err := &commerce.Error{Errors: []commerce.ErrorObject{{Title: "Bad Request"}, o}}
		for _, row := range reasonRows {
			if got, want := errors.Is(err, row.want), errors.Is(tt.want, row.want); row.want != nil && got != want {
				t.Errorf("%s: errors.Is(%v, %v) = %t, want %t", tt.name, err, row.want, got, want)
			}
		}
	}
}
