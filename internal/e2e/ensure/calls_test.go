package ensure_test

import (
	"testing"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// If the response to the read of a cart leaves out its items, and an item has discounts, the read
// takes a second request. TestEnsureCustomDiscounts of the root counts those of other carts.
func TestEnsure_requests(t *testing.T) {
	t.Parallel()
	for there, requests := range map[int]int{2: 2, 1: 5, 0: 4} { // by the discounts that are on the cart
		store := commercetest.New(t, commercetest.Config{})
		item := commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: [16]byte{1}}
		cartID := store.AddCart(item)
		want := []commerce.NewCustomDiscount{newDiscount("item", &item), newDiscount("cart", nil)}
		for _, d := range want[:there] {
			store.AddDiscount(cartID, onCart(d))
		}
		client := store.Client(scenario{WithoutItems: true}.transport(store.Transport()))
		if _, err := client.Carts.EnsureCustomDiscounts(t.Context(), cartID, want, nil); err != nil {
			t.Fatal(err)
		}
		if got := len(store.Requests()); got != requests {
			t.Errorf("%d discounts are there: the call sent %d requests, want %d", there, got, requests)
		}
	}
}
