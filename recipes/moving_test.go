package recipes_test

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// moved has the code of docs/moving.md, so that it compiles. TestMoving runs what
// needs no live store.
func moved(ctx context.Context, client *commerce.Client, cartID, email string) error {
	discounts := []commerce.NewCustomDiscount{{
		Amount: commerce.NewDecimal(-1), Description: "d", DiscountCode: "c", DiscountEngine: "e", ExternalID: "x",
	}}
	opts := &commerce.SubscriptionListOptions{
		Filter:  commerce.SubscriptionFilter{Emails: []string{email}},
		Include: commerce.SubscriptionInclude{All: true},
	}
	page, err := client.Subscriptions.List(ctx, opts)
	if err != nil {
		return err
	}
	for _, sub := range page.Subscriptions {
		id := sub.ID
		if _, err := client.Subscriptions.Get(ctx, id, commerce.SubscriptionInclude{All: true}); err != nil {
			return err
		}
		err := client.Subscriptions.ChangeState(ctx, id, commerce.StateChange{Action: commerce.ActionPause})
		if err != nil {
			return err
		}
	}
	if _, err := client.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{PageSize: 50, Offset: 100}); err != nil {
		return err
	}
	if _, err := commerce.Collect(client.Subscriptions.All(ctx, nil)); err != nil {
		return err
	}
	if err := client.Carts.EnableCustomDiscounts(ctx, cartID); err != nil {
		return err
	}
	if _, err := client.Carts.AddCustomDiscounts(ctx, cartID, discounts, nil); err != nil {
		return err
	}
	allOrNone := &commerce.AddCustomDiscountsOptions{AllOrNothing: true}
	if _, err := client.Carts.AddCustomDiscounts(ctx, cartID, discounts, allOrNone); err != nil {
		return err
	}
	return movedCart(ctx, client, cartID, discounts)
}

func movedCart(
	ctx context.Context, client *commerce.Client, cartID string, discounts []commerce.NewCustomDiscount,
) error {
	want := func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) { return discounts, nil }
	opts := &commerce.SetCustomDiscountsOptions{Engine: "e"}
	if _, err := client.Carts.SetCustomDiscounts(ctx, cartID, want, opts); err != nil {
		return err
	}
	cart, err := client.Carts.Get(ctx, cartID)
	if err != nil {
		return err
	}
	for _, discount := range cart.CustomDiscounts {
		if _, err := client.Carts.UpdateCustomDiscount(ctx, cartID, discount); err != nil {
			return err
		}
		if err := client.Carts.DeleteCustomDiscount(ctx, cartID, discount); err != nil {
			return err
		}
	}
	if err := client.Carts.DeleteCustomDiscounts(ctx, cartID); err != nil {
		return err
	}
	if _, err := client.Settings(ctx); err != nil {
		return err
	}
	var created json.RawMessage
	body := map[string]any{"data": map[string]any{"name": "A cart"}}
	if _, err := client.Do(ctx, "POST", []string{"v2", "carts"}, nil, body, &created); err != nil {
		return err
	}
	item := map[string]any{"data": map[string]any{"type": "cart_item", "id": "a-product", "quantity": 1}}
	if _, err := client.Do(ctx, "POST", []string{"v2", "carts", cartID, "items"}, nil, item, nil); err != nil {
		return err
	}
	_, err = client.Do(ctx, "PUT", []string{"v2", "carts", cartID}, nil, body, nil)
	return err
}

func TestMoving(t *testing.T) {
	t.Parallel()
	const id, secret = "an-id", "a-secret"
	_, err := commerce.New("https://euwest.api.elasticpath.com", commerce.WithClientCredentials(id, secret))
	if err != nil {
		t.Error(err)
	}
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(120)
	client := store.Client(
		commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 2}),
		commerce.WithLimiter(rate.NewLimiter(90, 1)))
	unlimited, err := client.With(commerce.WithLimiter(rate.NewLimiter(rate.Inf, 1)))
	if err != nil {
		t.Fatal(err)
	}
	cartID := store.AddCart(commerce.CartItemRef{})
	if err := moved(t.Context(), unlimited, cartID, "subscriber-0001@example.com"); err != nil {
		t.Error(err)
	}

	doc, err := os.ReadFile("../docs/moving.md")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("moving_test.go")
	if err != nil {
		t.Fatal(err)
	}
	samples := regexp.MustCompile("`(&?(?:commerce|client)\\.[^`]*)`").FindAllStringSubmatch(string(doc), -1)
	if len(samples) != 21 {
		t.Errorf("docs/moving.md has %d pieces of code, want 21", len(samples))
	}
	for _, sample := range samples {
		if !strings.Contains(string(self), sample[1]) {
			t.Errorf("not in this file: %s", sample[1])
		}
	}
}
