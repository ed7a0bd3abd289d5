package commercetest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// The discount of a cart lowers the price before tax, also if the prices of items include the tax.
func TestDisplayPrice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		cfg             commercetest.Config
		price, off      int64 // of the item, and of the discount of the cart
		gross, net, tax int   // with_tax, without_tax and tax
	}{
		{name: "no tax", price: 10_000, off: -500, gross: 9500, net: 9500},
		{
			name: "tax", cfg: commercetest.Config{TaxPercent: 20}, price: 10_000, off: -500,
			gross: 11_400, net: 9500, tax: 1900,
		},
		{
			name: "half a cent of tax", cfg: commercetest.Config{TaxPercent: 10}, price: 15, off: -10,
			gross: 6, net: 5, tax: 1,
		},
		{
			name: "half a cent below zero", cfg: commercetest.Config{TaxPercent: 10}, price: 5, off: -10,
			gross: -6, net: -5, tax: -1,
		},
		{
			name: "less than half a cent", cfg: commercetest.Config{TaxPercent: 10}, price: 14, off: -10,
			gross: 4, net: 4,
		},
		{
			name: "prices include tax", cfg: commercetest.Config{TaxPercent: 10, PricesIncludeTax: true},
			price: 11_000, off: -500, gross: 10_450, net: 9500, tax: 950,
		},
		{
			name: "half a cent without tax", cfg: commercetest.Config{TaxPercent: 100, PricesIncludeTax: true},
			price: 5, off: -1, gross: 4, net: 2, tax: 2,
		},
		{
			name: "prices include no tax", cfg: commercetest.Config{PricesIncludeTax: true},
			price: 10_000, off: -500, gross: 9500, net: 9500,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := commercetest.NewStore(tt.cfg)
			id := addPricedCart(t, store, tt.price, tt.off)
			want := map[string]int{
				"with_tax": tt.gross, "without_tax": tt.net, "tax": tt.tax,
				"discount": int(tt.off), "without_discount": int(tt.price),
			}
			body := send(t, store, get("/v2/carts/"+id+"?include=items")).Body
			wantEqual(t, "display_price", displayPrice(t, body), want)
			includes := fmt.Sprintf(`"includes_tax":%t`, tt.cfg.PricesIncludeTax)
			wantEqual(t, includes+" in an item", strings.Count(body, includes), 2)
		})
	}
}

// addPricedCart adds a cart with one item and a discount of the cart.
func addPricedCart(t *testing.T, store *commercetest.Store, price, off int64) (cartID string) {
	t.Helper()
	cartID, err := store.AddCartFixture(commercetest.CartFixture{Items: []commercetest.ItemFixture{{Price: &price}}})
	if err != nil {
		t.Fatal(err)
	}
	store.AddDiscount(cartID, commerce.CustomDiscount{Amount: commerce.Money{Amount: commerce.NewDecimal(off)}})
	return cartID
}

// displayPrice returns the amounts of the display_price in the body of a cart.
func displayPrice(t *testing.T, body string) map[string]int {
	t.Helper()
	var c struct {
		Data struct {
			Meta struct {
				DisplayPrice map[string]struct{ Amount int } `json:"display_price"`
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		t.Fatalf("body %s: %v", body, err)
	}
	amounts := map[string]int{}
	for name, m := range c.Data.Meta.DisplayPrice {
		amounts[name] = m.Amount
	}
	return amounts
}

// BarePrices leaves members out of each cart, also of one without items, and the display_price out
// of items.
func TestBarePrices(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{BarePrices: true, TaxPercent: 10})
	id := addPricedCart(t, store, 1000, -500)
	for _, tt := range []struct {
		name, raw string
		want      map[string]int
	}{
		{
			name: "read", raw: get("/v2/carts/" + id),
			want: map[string]int{"with_tax": 550, "without_tax": 500, "tax": 50},
		},
		{
			name: "changed", raw: put("/v2/carts/"+id, `{"data":{}}`),
			want: map[string]int{"with_tax": 550, "without_tax": 500, "tax": 50},
		},
		{name: "empty", raw: get("/v2/carts/new"), want: map[string]int{"with_tax": 0, "without_tax": 0, "tax": 0}},
	} {
		wantEqual(t, tt.name, displayPrice(t, send(t, store, tt.raw).Body), tt.want)
	}
	store.AddPromotion(id)
	for _, item := range itemPrices(t, send(t, store, get("/v2/carts/"+id+"?include=items")).Body) {
		wantEqual(t, "prices of an item", len(item), 0)
	}
}
