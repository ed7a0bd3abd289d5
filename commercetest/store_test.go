package commercetest_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func TestClient_panicsIfOptionIsInvalid(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
	if panicText(func() { store.Client(commerce.WithToken("")) }) == "" {
		t.Error("Client with an empty token does not panic, want a panic")
	}
}

func TestStore_concurrentUse(t *testing.T) {
	t.Parallel()
	store := seeded(commercetest.FirstGeneration, 50)
	client := store.Client()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			id := store.AddCart(commerce.CartItemRef{})
			store.Inject(commercetest.Fault{Operation: commercetest.OpToken})
			sub := commerce.Subscription{ID: uuid.New()}
			store.AddSubscription(sub)
			store.SetSubscriber(uuid.New(), commercetest.Subscriber{})
			store.AddSubscriber(uuid.Nil, commercetest.Subscriber{})
			store.SubscriberOf(uuid.Nil)
			if _, err := client.Carts.AddCustomDiscounts(t.Context(), id, newDiscounts("x"), nil); err != nil {
				t.Errorf("AddCustomDiscounts: error = %v, want nil", err)
			}
			for range 5 {
				if _, err := client.Subscriptions.List(t.Context(), nil); err != nil {
					t.Errorf("List: error = %v, want nil", err)
				}
			}
			wantEqual(t, "discounts of the cart", len(store.Discounts(id)), 1)
			wantEqual(t, "RemoveSubscription", store.RemoveSubscription(sub.ID), true)
		})
	}
	wg.Wait()
	ids := map[string]bool{}
	for _, r := range store.Requests() {
		ids[r.ID] = true
	}
	wantEqual(t, "requests", len(store.Requests()), 48)
	wantEqual(t, "request ids", len(ids), 48)
}

func TestNew_closes(t *testing.T) {
	t.Parallel()
	var address string
	t.Run("uses a store", func(t *testing.T) {
		address = commercetest.New(t, commercetest.Config{DiscountsEnabled: true}).URL()
	})
	client, err := commerce.New(address,
		commerce.WithToken(commercetest.DefaultToken), commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Subscriptions.List(t.Context(), nil); err == nil {
		t.Error("List after the test: error = nil, want one")
	}
}

func TestEachGeneration(t *testing.T) {
	t.Parallel()
	var stores []string
	t.Run("each", func(t *testing.T) {
		commercetest.EachGeneration(t, commercetest.Config{PageLength: 7}, func(t *testing.T, s *commercetest.Store) {
			t.Helper()
			wantEqual(t, "page length", s.Config().PageLength, 7)
			cfg := s.Config()
			form := fmt.Sprint(": ", cfg.Generation, " ", uint8(cfg.EmptyLists), " ", cfg.ErrorsBesideCarts)
			stores = append(stores, t.Name()+form)
		})
	})
	wantEqual(t, "number of stores", len(stores), 8)
	const each = "TestEachGeneration/each/"
	wantEqual(t, "first", stores[0], each+"first_generation,_empty_lists_as_printed: first 0 false")
	wantEqual(t, "last", stores[7], each+"second_generation,_empty_lists_as_arrays: second 3 true")
}
