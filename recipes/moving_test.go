package recipes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
	var order json.RawMessage
	body = map[string]any{"data": json.RawMessage(`{"customer": {"id": "a-customer"},
		"billing_address": ` + anAddress + `, "shipping_address": ` + anAddress + `}`)}
	if _, err := client.Do(ctx, "POST", []string{"v2", "carts", cartID, "checkout"}, nil, body, &order); err != nil {
		return err
	}
	body = map[string]any{"data": map[string]any{"name": "Another"}}
	_, err = client.Do(ctx, "PUT", []string{"v2", "carts", cartID}, nil, body, nil)
	return err
}

const anAddress = `{"first_name": "A", "last_name": "B", "line_1": "1 Street", "postcode": "1", "country": "GB",
	"region": "C"}`

// takeOffOld takes the discounts of the old code off a cart. It is harmless to call it again.
func takeOffOld(ctx context.Context, client *commerce.Client, cartID string) error {
	opts := &commerce.EnsureCustomDiscountsOptions{Prune: true, Engines: []string{"old"}}
	if _, err := client.Carts.EnsureCustomDiscounts(ctx, cartID, nil, opts); err != nil {
		return fmt.Errorf("cart %s may have discounts of the old code: %w", cartID, err)
	}
	return nil
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
	for _, line := range regexp.MustCompile("`([A-Z]+) (/[^`]*)`").FindAllStringSubmatch(string(doc), -1) {
		if commercetest.OperationOf(line[1], line[2]) == commercetest.OpAny {
			t.Errorf("no endpoint: %s %s", line[1], line[2])
		}
	}
	samples := regexp.MustCompile("`(&?(?:commerce|client)\\.[^`]*)`").FindAllStringSubmatch(string(doc), -1)
	if len(samples) != 22 {
		t.Errorf("docs/moving.md has %d pieces of code, want 22", len(samples))
	}
	for _, sample := range samples {
		if !strings.Contains(string(self), sample[1]) {
			t.Errorf("not in this file: %s", sample[1])
		}
	}
}

// inFlight returns a cart of $100.00 that has discounts of the old code on itself and on its item,
// one of them twice, and one of another program.
func inFlight(t *testing.T, store *commercetest.Store) (cartID string) {
	t.Helper()
	cartID = store.AddCart(commerce.CartItemRef{})
	item := store.CartItems(cartID)[0]
	for _, d := range []commerce.CustomDiscount{
		{DiscountEngine: "old", ExternalID: "1"}, {DiscountEngine: "old", ExternalID: "1"},
		{DiscountEngine: "old", ExternalID: "2", Item: &item}, {DiscountEngine: "loyalty", ExternalID: "1"},
	} {
		d.Amount, d.Description, d.DiscountCode = commerce.Money{Amount: commerce.NewDecimal(-500)}, "d", "c"
		store.AddDiscount(cartID, d)
	}
	return cartID
}

// Without takeOffOld the discounts of the old code are counted too, and the error is nil.
func TestTakeOffOld(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	client, cartID := store.Client(), inFlight(t, store)
	want := func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
		return []commerce.NewCustomDiscount{{
			Amount: commerce.NewDecimal(-500), Description: "d", DiscountCode: "c", ExternalID: "1",
		}}, nil
	}
	set := func(want func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error), total string) {
		t.Helper()
		opts := &commerce.SetCustomDiscountsOptions{Engine: "new"}
		_, err := client.Carts.SetCustomDiscounts(t.Context(), cartID, want, opts)
		if got := store.CartState(cartID).Total.Formatted; err != nil || got != total {
			t.Errorf("SetCustomDiscounts() = %v, and the cart costs %s, want nil, %s", err, got, total)
		}
	}
	set(want, "$75.00")
	for range 2 { // the second call finds nothing to do
		if err := takeOffOld(t.Context(), client, cartID); err != nil {
			t.Error(err)
		}
	}
	set(want, "$90.00")
	for _, id := range []string{store.AddCart(), "absent"} {
		if err := takeOffOld(t.Context(), client, id); err != nil {
			t.Errorf("cart without items: error = %v, want nil", err)
		}
	}
}

// Whatever happens to one call, and if others run at the same time, one more call is enough.
func TestTakeOffOld_failures(t *testing.T) {
	t.Parallel()
	lost := commercetest.Fault{Operation: commercetest.OpDeleteDiscount, Apply: true, Cut: true}
	for name, fault := range map[string]commercetest.Fault{
		"none": {Operation: commercetest.OpToken, Status: 500}, "lost": lost,
		"refused": {Operation: commercetest.OpDeleteDiscount, Status: 403, After: 1},
		"late":    {Operation: commercetest.OpDeleteDiscount, Late: true, Delay: time.Minute, Status: 504},
	} {
		for _, killed := range []int32{0, 1, 2, 3} { // while this deletion is on its way; 0: never
			synctest.Test(t, func(t *testing.T) {
				ctx, kill := context.WithCancel(t.Context())
				defer kill()
				var deletions atomic.Int32
				store := commercetest.New(t, commercetest.Config{
					DiscountsEnabled: true, LoseOverlappingWrites: true,
					AfterRequest: func(_ *commercetest.Store, r commercetest.Request) {
						if r.Operation == commercetest.OpDeleteDiscount && deletions.Add(1) == killed {
							kill()
						}
					},
				})
				store.Inject(fault)
				cartID := inFlight(t, store)
				first := takeOffOld(ctx, store.Client(), cartID)
				if killed == 0 && fault.Status == 0 && first != nil {
					t.Errorf("%s: error = %v, want nil", name, first)
				}
				for _, d := range store.Discounts(cartID) {
					if first == nil && d.DiscountEngine == "old" {
						t.Errorf("%s, killed at %d: the error is nil, and a discount of the old code is there", name, killed)
					}
				}
				time.Sleep(time.Hour) // a worker calls again
				errs := make(chan error, 2)
				for range cap(errs) { // clients that share no turns, as in two processes
					go func() { errs <- takeOffOld(t.Context(), store.Client(), cartID) }()
				}
				if err := errors.Join(<-errs, <-errs); err != nil || len(store.Discounts(cartID)) != 1 {
					t.Errorf("%s, killed at %d: error = %v, the cart has %d discounts, want nil, 1",
						name, killed, err, len(store.Discounts(cartID)))
				}
			})
		}
	}
}
