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

// The list changes between the pages of a walk, which does not mind.
func ExampleConfig_afterRequest() {
	ctx := context.Background()
	var oldest, newest []uuid.UUID // yet to go
	store := commercetest.NewStore(commercetest.Config{
		AfterRequest: func(s *commercetest.Store, _ commercetest.Request) {
			if len(newest) > 0 {
				s.RemoveSubscription(newest[0])
				s.RemoveSubscription(oldest[0])
				s.AddSubscription(commerce.Subscription{ID: uuid.New(), Type: "subscription"})
				newest, oldest = newest[1:], oldest[1:]
			}
		},
	})
	store.Seed(100)
	all, err := commerce.Collect(store.Client().Subscriptions.All(ctx, nil))
	if err != nil {
		log.Fatal(err)
	}
	for i := range 10 {
		newest, oldest = append(newest, all[i].ID), append(oldest, all[99-i].ID)
	}

	times := map[uuid.UUID]int{}
	for sub, err := range store.Client().Subscriptions.All(ctx, &commerce.SubscriptionListOptions{PageSize: 10}) {
		if err != nil {
			log.Fatal(err)
		}
		times[sub.ID]++
	}
	once := 0
	for _, sub := range all[10:90] {
		if times[sub.ID] == 1 {
			once++
		}
	}
	fmt.Println("removed:", 10-len(newest), "of the newest, and as many of the oldest")
	fmt.Println("of the 80 that stayed, read once:", once)
	// Output:
	// removed: 10 of the newest, and as many of the oldest
	// of the 80 that stayed, read once: 80
}

// A store of the generation that the live service sends.
func ExampleNewStore() {
	ctx := context.Background()
	store := commercetest.NewStore(commercetest.Config{Generation: commercetest.SecondGeneration})
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
