package main

import (
	"crypto/fips140"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// Whatever becomes of one request, and of those after it, the customer who clicks until the order
// is there has one order, of the price on the page.
func TestPay_faults(t *testing.T) {
	t.Parallel()
	if fips140.Enabled() {
		t.Skip("with FIPS 140, the clock of a bubble has no entropy for references")
	}
	for _, op := range []commercetest.Operation{
		commercetest.OpCart, commercetest.OpAdd, commercetest.OpCheckout, commercetest.OpOrders,
	} {
		for i, fault := range faults {
			for _, times := range []int{1, 10} {
				if testing.Short() && times == 1 {
					continue
				}
				t.Run(fmt.Sprint(op, i, times), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
						cartID := store.AddCart(commerce.CartItemRef{})
						s := &shop{client: store.Client(), offers: tenPercent}
						ref := newRef()
						price, err := s.view(t.Context(), cartID)
						if err != nil {
							t.Fatal(err)
						}
						store.RemoveDiscount(cartID, store.Discounts(cartID)[0].ID) // so that there is an add
						fault.Operation, fault.Times = op, times
						store.Inject(fault)
						clicks := 1
						placed, err := s.pay(t.Context(), cartID, ref, price)
						for ; err != nil && clicks < 20; clicks++ {
							placed, err = s.pay(t.Context(), cartID, ref, price)
						}
						orders := store.Orders()
						if err != nil || len(orders) != 1 || orders[0].ID.String() != placed.ID || !isSame(orders[0].Total, price) {
							t.Errorf("after %d clicks: order %v, error %v, the store has %+v", clicks, placed, err, orders)
						}
					})
				})
			}
		}
	}
}

// The page shows another price than the cart has: nothing is ordered. An order that is there is
// returned, whatever the cart costs now.
func TestPay_otherPrice(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	cartID := store.AddCart(commerce.CartItemRef{})
	s := &shop{client: store.Client(), offers: tenPercent}
	ref := newRef()
	price, err := s.view(t.Context(), cartID)
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.pay(t.Context(), cartID, ref, price)
	if err != nil {
		t.Fatal(err)
	}
	store.AddDiscount(cartID, commerce.CustomDiscount{
		Amount: commerce.Money{Amount: commerce.NewDecimal(-100)}, DiscountEngine: "loyalty", ExternalID: "a",
	})
	if again, err := s.pay(t.Context(), cartID, ref, price); err != nil || again.ID != first.ID {
		t.Errorf("the same page again: %v, %v, want order %s", again, err, first.ID)
	}
	placed, err := s.pay(t.Context(), cartID, newRef(), price)
	if !errors.Is(err, errPrice) || placed.ID != "" {
		t.Errorf("another page with the old price: %v, %v, want errPrice", placed, err)
	}
	store.RemoveItem(cartID, store.CartItems(cartID)[0].ID)
	if again, err := s.pay(t.Context(), cartID, ref, price); err != nil || again.ID != first.ID {
		t.Errorf("the cart is empty now: %v, %v, want order %s", again, err, first.ID)
	}
	if commerce.RemedyOf(errPrice) != commerce.RemedyCart {
		t.Error("a program would pay again with the old price")
	}
	if n := len(store.Orders()); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
}
