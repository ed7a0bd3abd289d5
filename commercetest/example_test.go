package commercetest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// The response to a write is lost after the write took effect.
func ExampleStore_Inject() {
	ctx := context.Background()
	store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
	cartID := store.AddCart(commerce.CartItemRef{})
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
	for _, d := range store.Discounts(cartID) {
		fmt.Println("in the cart:", d.ExternalID, d.Amount.Formatted)
	}
	// Output:
	// outcome unknown: true
	// requests: 1
	// in the cart: welcome-1 -$10.00
}

// The store refuses the second page once, and the client tries again.
func ExampleStore_Seed() {
	ctx := context.Background()
	store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
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
	fmt.Println("subscriber:", who.Email)
	// Output:
	// 250 subscriptions, error: <nil>
	// newest: order-000250
	// subscriber: subscriber-0084@example.com
}

// After the first page of a walk, a record of it is removed, so that the others move
// up. The walk does not miss the first record of the second page.
func ExampleConfig_afterRequest() {
	store := commercetest.NewStore(commercetest.Config{
		DiscountsEnabled: true,
		AfterRequest: func(s *commercetest.Store, in commercetest.Request) {
			if in.ID == "commercetest-000001" {
				newest := uuid.MustParse("bbbdcfa3-5be8-8f98-a023-0eaf62c2288d")
				fmt.Println("removed:", s.RemoveSubscription(newest))
			}
		},
	})
	store.Seed(100)
	opts := &commerce.SubscriptionListOptions{PageSize: 10}
	subs, err := commerce.Collect(store.Client().Subscriptions.All(context.Background(), opts))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(subs), "subscriptions, the 11th is", subs[10].Attributes.ExternalRef)
	// Output:
	// removed: true
	// 100 subscriptions, the 11th is order-000090
}

// A store with the payload of the live service.
func ExampleNewStore() {
	ctx := context.Background()
	store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
	store.Seed(1)
	page, err := store.Client().Subscriptions.List(ctx, &commerce.SubscriptionListOptions{
		Include: commerce.SubscriptionInclude{Plans: true, PricingOptions: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	sub := page.Subscriptions[0].Attributes
	plan, _ := page.Included.Plan(sub.PlanID)
	option, _ := page.Included.PricingOption(sub.PricingOptionID)
	fmt.Printf("%s, %s: %s\n", plan.Attributes.Name, option.Attributes.Name, option.Meta.DisplayPrice.WithTax.Formatted)
	// Output:
	// Green Tea Box, Monthly: $15.40
}
