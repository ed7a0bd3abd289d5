package commercetest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func ExampleStore_Client() {
	ctx := context.Background()
	store := commercetest.NewStore(commercetest.Config{})
	cartID := store.AddCart()

	_, err := store.Client().Carts.AddCustomDiscounts(ctx, cartID, []commerce.NewCustomDiscount{{
		Amount:         commerce.NewDecimal(-1000),
		Description:    "Welcome",
		DiscountCode:   "WELCOME10",
		DiscountEngine: "shop",
		ExternalID:     "welcome-1",
	}}, nil)
	fmt.Println("error:", err)
	for _, d := range store.Discounts(cartID) {
		fmt.Println(d.ExternalID, d.Amount.Formatted)
	}
	// Output:
	// error: <nil>
	// welcome-1 -$10.00
}

// The answer to a write is lost, after it took effect.
func ExampleStore_Inject() {
	ctx := context.Background()
	store := commercetest.NewStore(commercetest.Config{})
	cartID := store.AddCart()
	store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Cut: true})

	_, err := store.Client().Carts.AddCustomDiscounts(ctx, cartID, []commerce.NewCustomDiscount{{
		Amount:         commerce.NewDecimal(-1000),
		Description:    "Welcome",
		DiscountCode:   "WELCOME10",
		DiscountEngine: "shop",
		ExternalID:     "welcome-1",
	}}, nil)
	fmt.Println("outcome unknown:", errors.Is(err, commerce.ErrOutcomeUnknown))
	fmt.Println("requests:", len(store.Requests()))
	fmt.Println("in the cart:", len(store.Discounts(cartID)))
	// Output:
	// outcome unknown: true
	// requests: 1
	// in the cart: 1
}

// The store asks for patience, and a walk over it has some.
func ExampleStore_Seed() {
	ctx := context.Background()
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(250)
	store.Inject(commercetest.Fault{
		Operation: commercetest.OpList,
		After:     1,
		Status:    http.StatusTooManyRequests,
		Header:    http.Header{"Retry-After": {"0"}},
	})
	client := store.Client(commerce.WithRetry(commerce.RetryPolicy{MinBackoff: time.Millisecond}))

	subs, err := commerce.Collect(client.Subscriptions.All(ctx, nil))
	fmt.Println(len(subs), "subscriptions, error:", err)
	fmt.Println("newest:", subs[0].Attributes.ExternalRef)
	who, _ := store.SubscriberOf(subs[0].Attributes.AccountID)
	fmt.Println("of:", who.Email)
	// Output:
	// 250 subscriptions, error: <nil>
	// newest: order-000250
	// of: subscriber-0084@example.com
}
