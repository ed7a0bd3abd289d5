package commerce_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// The tests in this file use a real store. They are skipped unless COMMERCE_LIVE=1, which
// `make live` sets: a plain `go test ./...` calls no store, even if credentials are set.
// They need COMMERCE_BASE_URL, and COMMERCE_TOKEN or both COMMERCE_CLIENT_ID and
// COMMERCE_CLIENT_SECRET. They only read, except TestLiveAddCustomDiscounts: it needs
// COMMERCE_LIVE_CART_ID, and leaves a discount of 0.01 on that cart.

func liveClient(t *testing.T) *commerce.Client {
	t.Helper()
	if os.Getenv("COMMERCE_LIVE") != "1" {
		t.Skip("needs a store: see make live")
	}
	address, tok := os.Getenv("COMMERCE_BASE_URL"), os.Getenv("COMMERCE_TOKEN")
	clientID, clientSecret := os.Getenv("COMMERCE_CLIENT_ID"), os.Getenv("COMMERCE_CLIENT_SECRET")
	var credentials commerce.Option
	switch {
	case address != "" && tok != "":
		credentials = commerce.WithToken(tok)
	case address != "" && clientID != "" && clientSecret != "":
		credentials = commerce.WithClientCredentials(clientID, clientSecret)
	default:
		t.Fatal("set COMMERCE_BASE_URL, and COMMERCE_TOKEN or COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET")
	}
	c, err := commerce.New(address, credentials)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func liveContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestLiveList(t *testing.T) {
	t.Parallel()
	c, ctx := liveClient(t), liveContext(t)
	opts := &commerce.SubscriptionListOptions{PageSize: 5, Include: commerce.SubscriptionInclude{Plans: true}}
	page, err := c.Subscriptions.List(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Subscriptions) > 5 {
		t.Errorf("got %d subscriptions, want at most 5", len(page.Subscriptions))
	}
	for _, sub := range page.Subscriptions {
		meta := sub.Meta
		if sub.ID == uuid.Nil || sub.Type != "subscription" || meta.Status == "" || meta.Timestamps.CreatedAt.IsZero() {
			t.Errorf("subscription %s of type %q has no type, status or creation time", sub.ID, sub.Type)
		}
		filter := commerce.SubscriptionFilter{AccountID: sub.Attributes.AccountID}
		filtered, err := c.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{Filter: filter})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range filtered.Subscriptions {
			if f.Attributes.AccountID != sub.Attributes.AccountID {
				t.Errorf("got subscription %s of another account", f.ID)
			}
		}
	}
}

// The service accepts any text in a quoted operand of a filter.
func TestLiveFilterGrammar(t *testing.T) {
	t.Parallel()
	c, ctx := liveClient(t), liveContext(t)
	for _, text := range []string{"nobody+1@example.com", `a "quoted" \ one`, "a,b(c):d'e'", "ünïcode & = # %"} {
		filter := commerce.SubscriptionFilter{ExternalRef: text}
		page, err := c.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{Filter: filter})
		if err != nil || len(page.Subscriptions) != 0 {
			t.Errorf("%q: got page %+v, error %v, want no subscription", text, page, err)
		}
	}
}

func TestLiveWalk(t *testing.T) {
	t.Parallel()
	c, ctx := liveClient(t), liveContext(t)
	seen := map[uuid.UUID]bool{}
	for sub, err := range c.Subscriptions.All(ctx, nil) {
		if errors.Is(err, commerce.ErrOffsetLimit) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if seen[sub.ID] {
			t.Errorf("subscription %s was yielded twice", sub.ID)
		}
		seen[sub.ID] = true
	}
	t.Logf("%d subscriptions", len(seen))
}

func TestLiveUnauthorized(t *testing.T) {
	t.Parallel()
	c, err := liveClient(t).With(commerce.WithToken("not-a-token"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Subscriptions.List(liveContext(t), nil); !errors.Is(err, commerce.ErrUnauthorized) {
		t.Errorf("error = %v, want ErrUnauthorized", err)
	}
}

func TestLiveAddCustomDiscounts(t *testing.T) {
	t.Parallel()
	c, ctx := liveClient(t), liveContext(t)
	cart := os.Getenv("COMMERCE_LIVE_CART_ID")
	if cart == "" {
		t.Skip("writes to a cart: set COMMERCE_LIVE_CART_ID to allow it")
	}
	added := commerce.NewCustomDiscount{
		Amount: commerce.NewDecimal(-1), Description: "integration test", DiscountCode: "LIVE-TEST",
		DiscountEngine: "commerce-go", ExternalID: "live-" + uuid.NewString(),
	}
	refused := added // because its item is not in the cart
	refused.ExternalID = "live-" + uuid.NewString()
	refused.Item = &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.New()}
	result, err := c.Carts.AddCustomDiscounts(ctx, cart, []commerce.NewCustomDiscount{added, refused}, nil)
	if !errors.Is(err, commerce.ErrPartialFailure) {
		t.Fatalf("error = %v, want ErrPartialFailure", err)
	}
	if len(result.Added) != 1 || result.Added[0].ExternalID != added.ExternalID ||
		!result.Added[0].Amount.Amount.Equal(added.Amount) {
		t.Errorf("added %+v, want %+v", result.Added, added)
	}
	if len(result.Unconfirmed) != 1 || result.Unconfirmed[0].ExternalID != refused.ExternalID {
		t.Errorf("unconfirmed %+v, want %+v", result.Unconfirmed, refused)
	}
}
