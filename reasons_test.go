package commerce_test

import (
	"errors"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
)

type reasonRow struct {
	name, title, detail string
	want                error
}

// reasonRows are the errors in the documentation of the service, and variations of them.
var reasonRows = []reasonRow{
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

// Each exported sentinel has a row in the table of reasons.go. It has one in the table of
// docs/discounts.md too, unless no error about discounts matches it, or another row tells more. The
// comments that list sentinels list all.
func TestSentinels(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]bool{
		// The reason of the service tells more, or the result does.
		"ErrBadRequest": true, "ErrNotFound": true, "ErrUnprocessable": true,
		// They are about walks and subscriptions.
		"ErrOffsetLimit": true, "ErrListDrift": true, "ErrNoProgress": true, "ErrEnded": true, "ErrStateNotShown": true,
	}
	_, table, _ := strings.Cut(readFile(t, "docs/discounts.md"), "|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, object := range declared(t) {
		name := object.Name()
		if _, isVar := object.(*types.Var); !isVar || object.Type() != types.Universe.Lookup("error").Type() {
			continue
		}
		if sentinels[name] == nil {
			t.Errorf("%s has no row in the table sentinels of reasons.go: add it", name)
		}
		switch isThere := strings.Contains(table, "`"+name+"`"); {
		case isThere && elsewhere[name]:
			t.Errorf("%s has a row in the table of docs/discounts.md: take it out of elsewhere in this test", name)
		case !isThere && !elsewhere[name]:
			t.Errorf("%s has no row in the table of docs/discounts.md: add it, or name it in elsewhere of this test if no "+
				"error about discounts matches it", name)
		}
		delete(elsewhere, name)
	}
	diff(t, "names in elsewhere that do not exist", elsewhere, map[string]bool{})
	for function, has := range map[string]func(commerce.SentinelRow) bool{
		"func (o ErrorObject) Reason(": func(row commerce.SentinelRow) bool { return row.IsReason },
		"func IsFinal(":                func(row commerce.SentinelRow) bool { return row.IsFinal },
	} {
		listed := map[error]bool{}
		for _, name := range regexp.MustCompile(`\bErr[A-Z]\w+`).FindAllString(comment(t, function), -1) {
			listed[sentinels[name]] = true
		}
		for _, row := range commerce.SentinelRows() {
			if listed[row.Err] != has(row) {
				t.Errorf("the comment of %s) lists the sentinel %s: %t, want %t, as its row in reasons.go has it",
					function, row.Name, !has(row), has(row))
			}
		}
	}
}

func TestErrorObject_Reason(t *testing.T) {
	t.Parallel()
	for _, row := range commerce.SentinelRows() {
		isOfRow := func(r reasonRow) bool { return r.want == row.Err } //nolint:errorlint // the sentinel itself
		if row.IsReason && !slices.ContainsFunc(reasonRows, isOfRow) {
			t.Errorf("%s has words, but no row in reasonRows of this test: add the text of the service", row.Name)
		}
	}
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
