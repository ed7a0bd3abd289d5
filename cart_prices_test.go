package commerce_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
)

// pricesOfCarts are display prices, and what they show.
var pricesOfCarts = []struct {
	name, price, included string
	subtotal, total       string // an amount, or the members that the error names
}{
	{name: "all", price: `"with_tax":{"amount":108},"without_discount":{"amount":100}`, subtotal: "100", total: "108"},
	{name: "numbers", price: `"with_tax":1080,"without_discount":1000`, subtotal: "1000", total: "1080"},
	{name: "an empty cart", price: `"with_tax":{"amount":0},"without_discount":{"amount":0}`, subtotal: "0", total: "0"},
	{name: "nothing", subtotal: "without_discount and without_tax", total: "with_tax"},
	{
		name: "null", price: `"with_tax":null,"without_discount":{"amount":null},"without_tax":{}`,
		subtotal: "without_discount and without_tax", total: "with_tax",
	},
	{
		name: "a text", price: `"with_tax":{"amount":"much"},"without_discount":"free","without_tax":[]`,
		subtotal: "without_discount and without_tax", total: "with_tax",
	},
	{
		name: "no subtotal", price: `"with_tax":{"amount":-5},"without_tax":{"amount":900},"discount":{"amount":-100}`,
		subtotal: "1000", total: "-5",
	},
	{
		name: "a subtotal of 0", subtotal: "1000", total: "with_tax",
		price: `"without_discount":{"amount":0},"without_tax":{"amount":900},"discount":{"amount":-100}`,
	},
	{
		name: "a subtotal below 0", subtotal: "1000", total: "with_tax",
		price: `"without_discount":{"amount":-1},"without_tax":{"amount":900},"discount":{"amount":-100}`,
	},
	{name: "no discount", price: `"without_tax":{"amount":900}`, subtotal: "900", total: "with_tax"},
	{
		name: "no discount, but custom ones", price: `"without_tax":{"amount":900}`, subtotal: "1000", total: "with_tax",
		included: `"items":[{` + item + `}],"custom_discounts":[{"id":"` + discountID + `","amount":-100}]`,
	},
	{
		name: "no discount, and one without an amount", price: `"without_tax":{"amount":900}`,
		included: `"items":[{` + item + `}],"custom_discounts":[{"id":"` + discountID + `"}]`,
		subtotal: "a custom discount", total: "with_tax",
	},
	{
		name: "no discount, but a promotion", price: `"without_tax":{"amount":900}`, included: promoted,
		subtotal: "without_discount and discount", total: "with_tax",
	},
	{
		name: "a discount, and a promotion", included: promoted, subtotal: "1000", total: "with_tax",
		price: `"without_tax":{"amount":900},"discount":{"amount":-100}`,
	},
}

// A price that the response does not show is an error that names the member, and never 0.
func TestCart_prices(t *testing.T) {
	t.Parallel()
	for _, tt := range pricesOfCarts {
		body := cartOf(`,"meta":{"display_price":{`+tt.price+`}}`, `,"included":{`+tt.included+`}`)
		c, err := newStub(t, respond(200, body)).client(t).Carts.Get(t.Context(), cartID)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		for _, price := range []struct {
			name, want string
			of         func() (commerce.Money, error)
		}{{"Subtotal", tt.subtotal, c.Subtotal}, {"Total", tt.total, c.Total}} {
			got, err := price.of()
			isNamed := err != nil && errors.Is(err, commerce.ErrBadResponse) && strings.Contains(err.Error(), price.want)
			if got.Amount.String() != price.want && !isNamed || err != nil && got.Amount.Sign() != 0 {
				t.Errorf("%s: %s() = %v, error %v, want %s", tt.name, price.name, got, err, price.want)
			}
		}
	}
}
