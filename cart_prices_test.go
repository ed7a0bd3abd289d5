package commerce_test

import (
	"cmp"
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
		name: "shipping", subtotal: "1000", total: "1700",
		price: `"with_tax":{"amount":1700},"without_discount":{"amount":1700},"shipping":{"amount":700}`,
	},
	{
		name: "shipping, a subtotal of 0", subtotal: "0", total: "with_tax", price: `"without_discount":{"amount":0},` +
			`"without_tax":{"amount":600},"discount":{"amount":-100},"shipping":{"amount":700}`,
	},
	{
		name: "shipping, no subtotal", subtotal: "1000", total: "with_tax",
		price: `"without_tax":{"amount":1600},"discount":{"amount":-100},"shipping":{"amount":700}`,
	},
	{
		name: "no price without tax beside a total", price: `"with_tax":{"amount":900},"without_tax":{"amount":0}`,
		subtotal: "without_discount and without_tax", total: "900",
	},
	{
		name: "credits", price: `"with_tax":{"amount":-5},"without_discount":{"amount":-5}`, subtotal: "-5", total: "-5",
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

// A price of an item is that without tax and before discounts, or none.
func TestCart_PriceOf(t *testing.T) {
	t.Parallel()
	const (
		ofCart  = `"with_tax":{"amount":1190},"without_tax":{"amount":1000},"discount":{"amount":0}`
		withTax = `"value":{"amount":1190,"includes_tax":true}`
		shown   = `"meta":{"display_price":{"without_tax":{"value":{"amount":900}},"discount":{"value":{"amount":-100}}}}`
	)
	for _, tt := range []struct{ name, cart, item, want string }{
		{name: "shown", cart: ofCart, item: withTax + `,` + shown, want: "1000"},
		{name: "shown, no more than the value", cart: ofCart, item: `"value":{"amount":950},` + shown, want: "950"},
		{name: "the value", item: `"value":{"amount":950,"includes_tax":false}`, want: "950"},
		{name: "it is not known whether the value has tax", item: `"value":{"amount":950}`},
		{
			name: "the part without tax", cart: ofCart + `,"without_discount":{"amount":1190}`,
			item: `"value":{"amount":99,"includes_tax":true}`, want: "83",
		},
		{
			name: "shown prices of 0", cart: ofCart, want: "950", item: `"value":{"amount":950,"includes_tax":false},` +
				`"meta":{"display_price":{"without_tax":{"value":{"amount":0}},"discount":{"value":{"amount":0}}}}`,
		},
		{name: "a credit", item: strings.ReplaceAll(shown, "900", "-900"), want: "-800"},
		{name: "in another form", item: `"value":"free","meta":{"display_price":[7]}`},
		{name: "nothing", cart: ofCart, item: `"value":{}`},
	} {
		body := cartOf(`,"meta":{"display_price":{`+tt.cart+`}}`, `,"included":{"items":[{`+item+`,`+tt.item+`}]}`)
		c, err := newStub(t, respond(200, body)).client(t).Carts.Get(t.Context(), cartID)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got, err := c.PriceOf(&c.Items[0])
		if got.Amount.String() != cmp.Or(tt.want, "0") || errors.Is(err, commerce.ErrBadResponse) != (tt.want == "") {
			t.Errorf("%s: PriceOf() = %v, error %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

// Each promotion is there once, whatever names it.
func TestCart_Promotions(t *testing.T) {
	t.Parallel()
	entry := func(id, amount string) string {
		return `{"id":"` + id + `","code":"SALE","amount":{"amount":` + amount + `,"currency":"USD"}}`
	}
	first := entry(another, "-3") + `,` + entry(discountID, "-9")
	second := entry(another, "-4") + `,` + entry(itemID, "null") + `,` + entry(itemID, "-1")
	items := `"items":[{` + item + withPromotion + `,"discounts":[` + first + `]},` +
		`{"type":"cart_item","discounts":[` + second + `]},` +
		`{"type":"promotion_item","promotion_id":"` + another + `","name":"Sale","value":{"amount":-7}},` +
		`{"type":"promotion_item","id":"` + numberedID(2).String() + `","name":"Order","value":{"amount":-5}}]`
	body := cartOf(strings.ReplaceAll(withPromotion, another, numberedID(1).String()),
		`,"included":{`+items+`,"custom_discounts":[{"id":"`+discountID+`"}]}`)
	c, err := newStub(t, respond(200, body)).client(t).Carts.Get(t.Context(), cartID)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range c.Promotions() {
		got = append(got, strings.Join([]string{p.ID.String(), p.Name, encode(t, p.Amount.Amount)}, " "))
	}
	diff(t, "promotions", got, []string{
		another + " Sale -7", itemID + " SALE 0", numberedID(2).String() + " Order -5", numberedID(1).String() + "  0",
	})
}
