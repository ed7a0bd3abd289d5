package commercetest_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func TestGetCart(t *testing.T) {
	t.Parallel()
	const (
		data     = `"data":{"id":"` + cartID + `","type":"cart"}`
		notFound = `{"errors":[{"status":404,"title":"Not Found","detail":"The requested cart could not be found"}]}`
		badQuery = `{"errors":[{"status":"400","title":"Bad Request","detail":"Could not parse the query"}]}`
	)
	added := onCart("a").response(discountIDs[0])
	for _, tt := range []struct {
		name   string
		add    []discount
		raw    string
		status int
		want   string
	}{
		{name: "without include", raw: get(cartPath), status: 200, want: `{` + data + `}`},
		{
			name: "without discounts", raw: get(cartPath + "?include=custom_discounts"), status: 200,
			want: `{` + data + `,"included":{"custom_discounts":[]}}`,
		},
		{
			name: "with a discount", add: []discount{onCart("a")},
			raw: get(cartPath + "?include=items,custom_discounts"), status: 200,
			want: `{` + data + `,"included":{"custom_discounts":[` + added + `]}}`,
		},
		{name: "bad query", raw: get(cartPath + "?include=%zz"), status: 400, want: badQuery},
		{name: "unknown cart", raw: get("/v2/carts/other"), status: 404, want: notFound},
		{
			name: "discount for an unknown cart", raw: post("/v2/carts/other/custom-discounts", bulk(false, onCart("a"))),
			status: 404, want: notFound,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachSender(t, func(t *testing.T, send sendFunc) {
				store := newCart(t, commercetest.Config{})
				if tt.add != nil {
					send(store, addRequest(tt.add...))
				}
				wantJSON(t, send(store, tt.raw), tt.status, tt.want)
				if got := store.Discounts("other"); got != nil {
					t.Errorf("Discounts of an unknown cart = %v, want nil", got)
				}
			})
		})
	}
}

func TestDiscounts_returnsCopy(t *testing.T) {
	t.Parallel()
	store := newCart(t, commercetest.Config{})
	send(t, store, addRequest(discount{"a", "cart_item", cartItem}))
	first := store.Discounts(cartID)
	first[0].ExternalID, first[0].Item.ID = "changed", uuid.Nil
	wantEqual(t, "discounts", store.Discounts(cartID), []commerce.CustomDiscount{{
		ID: uuid.MustParse(discountIDs[0]), Type: "custom_discount",
		Amount:      commerce.Money{Amount: commerce.NewDecimal(-1000), Currency: "USD", Formatted: "-$10.00"},
		Description: "custom discount description", DiscountCode: "10 off cart",
		DiscountEngine: "Custom Discount Engine", ExternalID: "a",
		Item: &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse(cartItem)},
	}})
}
