package ensure_test

import (
	"testing"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// If the response to the read of a cart leaves out its items, the read takes a second request.
// TestEnsureCustomDiscounts of the root counts those of other carts.
func TestEnsure_requests(t *testing.T) {
	t.Parallel()
	for there, requests := range map[int]int{2: 2, 1: 5, 0: 5} { // by the discounts that are on the cart
		item := commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: [16]byte{1}}
		want := []commerce.NewCustomDiscount{newDiscount("item", &item), newDiscount("cart", nil)}
		store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
		s := &cartServer{store: store, cartID: store.AddCart(item)}
		for _, d := range want[:there] {
			store.AddDiscount(s.cartID, onCart(d))
		}
		s.keepState()
		client := newClient(t, &serverClient{server: s, call: 1, edit: withoutItems})
		_, err := client.Carts.EnsureCustomDiscounts(t.Context(), s.cartID, want, nil)
		if got := len(s.log); err != nil || got != requests {
			t.Errorf("%d discounts are there: %d requests, error %v, want %d and no error", there, got, err, requests)
		}
	}
}

// withoutItems removes the items from the response to the read of a cart.
func withoutItems(e *exchange, r reply) reply {
	if !e.isRead() {
		return r
	}
	return r.edit(func(body map[string]any) {
		included, _ := body["included"].(map[string]any)
		delete(included, "items")
	})
}
