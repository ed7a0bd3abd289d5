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

// The tests in this file run against a live store, and are skipped unless
// COMMERCE_LIVE=1, as `make live` sets it: a plain `go test ./...` touches no store,
// whatever credentials are around. They need COMMERCE_BASE_URL and COMMERCE_TOKEN, or
// COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET. They read only, but for
// TestLiveAddCustomDiscounts, which needs COMMERCE_LIVE_CART_ID and leaves a
// discount of one hundredth in that cart.

func liveClient(t *testing.T) *commerce.Client {
	t.Helper()
	if os.Getenv("COMMERCE_LIVE") != "1" {
		t.Skip("for make live")
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
		t.Fatal("needs a live store: COMMERCE_BASE_URL and COMMERCE_TOKEN, or COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET")
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
	page, err := c.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{PageSize: 5, Include: commerce.SubscriptionInclude{Plans: true}})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Subscriptions) > 5 {
		t.Errorf("%d subscriptions in a page of 5", len(page.Subscriptions))
	}
	for _, sub := range page.Subscriptions {
		if sub.ID == uuid.Nil || sub.Type != "subscription" || sub.Meta.Status == "" || sub.Meta.Timestamps.CreatedAt.IsZero() {
			t.Errorf("subscription %s of type %q lacks a member that every one has", sub.ID, sub.Type)
		}
		filtered, err := c.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{AccountID: sub.Attributes.AccountID}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range filtered.Subscriptions {
			if f.Attributes.AccountID != sub.Attributes.AccountID {
				t.Errorf("the filter let through subscription %s", f.ID)
			}
		}
	}
}

// TestLiveFilterGrammar shows that the service reads quoted operands of any text.
func TestLiveFilterGrammar(t *testing.T) {
	t.Parallel()
	c, ctx := liveClient(t), liveContext(t)
	for _, text := range []string{"nobody+1@example.com", `a "quoted" \ one`, "a,b(c):d'e'", "ünïcode & = # %"} {
		page, err := c.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{ExternalRef: text}})
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if len(page.Subscriptions) != 0 {
			t.Errorf("%q selects %d subscriptions", text, len(page.Subscriptions))
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
			t.Errorf("subscription %s came twice", sub.ID)
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
		t.Errorf("error %v", err)
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
	onNothing := added
	onNothing.ExternalID = "live-" + uuid.NewString()
	onNothing.Item = &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.New()}
	result, err := c.Carts.AddCustomDiscounts(ctx, cart, []commerce.NewCustomDiscount{added, onNothing}, nil)
	if !errors.Is(err, commerce.ErrPartialFailure) {
		t.Fatalf("one of two discounts is for an item that is not there: error %v", err)
	}
	if len(result.Added) != 1 || result.Added[0].ExternalID != added.ExternalID || !result.Added[0].Amount.Amount.Equal(added.Amount) {
		t.Errorf("added %+v", result.Added)
	}
	if len(result.Unconfirmed) != 1 || result.Unconfirmed[0].ExternalID != onNothing.ExternalID {
		t.Errorf("unconfirmed %+v", result.Unconfirmed)
	}
}
