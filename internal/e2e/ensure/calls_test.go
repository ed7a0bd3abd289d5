package ensure_test

import (
	"testing"

	"github.com/commerce-go/commerce"
)

// If the response to the read of a cart leaves out its items, the read takes a second request.
// TestEnsureCustomDiscounts of the root counts those of other carts.
func TestEnsure_requests(t *testing.T) {
	t.Parallel()
	for there, requests := range map[int]int{2: 2, 1: 5, 0: 5} { // by the discounts that are on the cart
		item := commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: [16]byte{1}}
		want := []commerce.NewCustomDiscount{newDiscount("item", &item), newDiscount("cart", nil)}
		sc := &randomScenario{
			habits: habits{Limit: 2, WithoutItems: true}, Items: []commerce.CartItemRef{item}, Initial: onCarts(want[:there]),
		}
		run := &randomRun{t: t, sc: sc, server: sc.newServer()}
		t.Cleanup(run.server.store.Close)
		made := run.newClient(plannedCaller{}, nil).call(want, plannedCall{})
		if got := len(run.server.log); made.Err != nil || got != requests {
			t.Errorf("%d discounts are there: %d requests, error %v, want %d and no error", there, got, made.Err, requests)
		}
	}
}
