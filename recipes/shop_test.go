package recipes_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// The shop of docs/discounts.md, whose code is a part of this file.

// engine is the name of this program. It must own all discounts of the engine.
const engine = "shop"

type shop struct{ client *commerce.Client }

// apply makes sure that the cart has exactly these offers of the shop: no others, each once. It
// returns the price that the customer pays. No offers take all off.
func (s shop) apply(ctx context.Context, cartID string, offers ...offer) (commerce.Money, error) {
	want := func(cart *commerce.Cart) (list []commerce.NewCustomDiscount, err error) {
		for _, o := range offers {
			if d := o.discount(cart.DisplayPrice.WithoutDiscount.Amount); d.Amount.Sign() < 0 {
				list = append(list, d)
			}
		}
		return list, nil
	}
	opts := &commerce.EnsureCustomDiscountsOptions{Update: true, Prune: true, Engines: []string{engine}, Enable: true}
	result, err := s.client.Carts.EnsureCustomDiscountsFunc(ctx, cartID, want, opts)
	if err == nil && len(result.InDoubt) > 0 {
		err = errors.New("a discount may still appear twice: call again before the customer pays")
	}
	if err != nil {
		return commerce.Money{}, err // see the table of causes
	}
	return result.Cart.DisplayPrice.WithTax, nil
}

// offer takes something off a cart.
type offer struct {
	code    string
	percent int64 // of the cart, or
	cents   int64 // a fixed amount
}

func (o offer) discount(price commerce.Decimal) commerce.NewCustomDiscount {
	amount := commerce.NewDecimal(-o.cents)
	if o.percent > 0 { // rounded to the smallest unit, e.g. cents
		amount.Decimal = price.Mul(commerce.NewDecimal(-o.percent).Decimal).Shift(-2).Round(0)
	}
	return commerce.NewCustomDiscount{
		Amount: amount, Description: "Offer " + o.code, DiscountCode: o.code, DiscountEngine: engine,
		ExternalID: o.code, // the same each time, so that the cart has it once
	}
}

// The end of the shop.

// On a cart as the service creates it: offers are applied, changed and taken off.
func TestShop(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	cartID := store.AddCart(commerce.CartItemRef{}, commerce.CartItemRef{})
	s := shop{store.Client()}
	ten, five := offer{code: "TEN", percent: 10}, offer{code: "FIVE", cents: 500}
	for _, tt := range []struct {
		name   string
		offers []offer
		before func()
		price  string
		count  int
	}{
		{name: "two offers", offers: []offer{ten, five}, price: "$175.00", count: 2},
		{name: "again", offers: []offer{ten, five}, price: "$175.00", count: 2},
		{
			name: "the customer removes an item", offers: []offer{ten, five}, price: "$85.00", count: 2,
			before: func() { store.RemoveItem(cartID, store.CartItems(cartID)[1].ID) },
		},
		{name: "one offer", offers: []offer{ten}, price: "$90.00", count: 1},
		{name: "none", price: "$100.00"},
	} {
		if tt.before != nil {
			tt.before()
		}
		price, err := s.apply(t.Context(), cartID, tt.offers...)
		if err != nil || price.String() != tt.price || len(store.Discounts(cartID)) != tt.count {
			t.Errorf("%s: %v, error %v, %d discounts, want %s, %d",
				tt.name, price, err, len(store.Discounts(cartID)), tt.price, tt.count)
		}
	}
	// Two processes, at a service that may lose one of two writes that overlap.
	shared := commercetest.New(t, commercetest.Config{LoseOverlappingWrites: true})
	cartID, locker := shared.AddCart(commerce.CartItemRef{}), commercetest.NewLocker()
	var running sync.WaitGroup
	for range 2 {
		process := shop{shared.Client(commerce.WithCartLocker(locker))}
		running.Go(func() {
			for range 20 {
				if _, err := process.apply(t.Context(), cartID, ten, five); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if n := len(shared.Discounts(cartID)); n != 2 {
		t.Errorf("two processes: %d discounts, want each once", n)
	}
	if _, err := s.apply(t.Context(), "no-such-cart", ten); !errors.Is(err, commerce.ErrEmptyCart) && err != nil {
		t.Errorf("no cart: error %v, want ErrEmptyCart, or none for a percentage of nothing", err)
	}
	if _, err := s.apply(t.Context(), "no-such-cart", five); !errors.Is(err, commerce.ErrEmptyCart) {
		t.Errorf("no cart: error %v, want ErrEmptyCart", err)
	}
}
