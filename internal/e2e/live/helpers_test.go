// Package live_test runs the tests whose names begin with TestLive against a real store. They
// are skipped unless COMMERCE_LIVE=1, which `make live` sets: a plain `go test ./...` calls no
// store, even if credentials are set. They need COMMERCE_BASE_URL, and COMMERCE_TOKEN or both
// COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET. Each test that writes creates carts of its
// own, and removes them, so several runs may use a store at the same time.
package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"
	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce"
)

// A live run ends with open connections: only the server closes those of the library's own
// transport.
func TestMain(m *testing.M) {
	if os.Getenv("COMMERCE_LIVE") != "" {
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}

// limiter stays below 25 requests a second, the rate of a small store.
var limiter = rate.NewLimiter(20, 1)

func liveClient(t *testing.T) *commerce.Client {
	t.Helper()
	if os.Getenv("COMMERCE_LIVE") != "1" {
		t.Skip("needs a store: see make live")
	}
	address, token := os.Getenv("COMMERCE_BASE_URL"), os.Getenv("COMMERCE_TOKEN")
	clientID, clientSecret := os.Getenv("COMMERCE_CLIENT_ID"), os.Getenv("COMMERCE_CLIENT_SECRET")
	var credentials commerce.Option
	switch {
	case address != "" && token != "":
		credentials = commerce.WithToken(token)
	case address != "" && clientID != "" && clientSecret != "":
		credentials = commerce.WithClientCredentials(clientID, clientSecret)
	default:
		t.Fatal("set COMMERCE_BASE_URL, and COMMERCE_TOKEN or COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET")
	}
	c, err := commerce.New(address, credentials, commerce.WithLimiter(limiter))
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

// check ends the test if there is an error. It skips the test if the store takes no custom
// discounts, or has a promotion that cannot be combined with them.
func check(t *testing.T, err error) {
	t.Helper()
	switch {
	case errors.Is(err, commerce.ErrDiscountsDisabled), errors.Is(err, commerce.ErrPromotionConflict):
		t.Skipf("the store refuses custom discounts: %v %q", err, details(err))
	case err != nil:
		t.Fatalf("error = %v %q", err, details(err))
	}
}

// details returns what the service says about an error. It is shown in the test's log only.
func details(err error) []string {
	e, _ := errors.AsType[*commerce.Error](err)
	return e.Details()
}

// The texts have no spaces: the service's documentation does not say which characters are
// allowed.
const (
	cartName   = "commerce-live-cart"
	openCart   = `{"data":{"name":"` + cartName + `","discount_settings":{"custom_discounts_enabled":true}}}`
	closedCart = `{"data":{"name":"` + cartName + `","discount_settings":{"custom_discounts_enabled":false}}}`
	cartItem   = `{"data":{"type":"custom_item","name":"commerce-live-item","sku":"COMMERCE-LIVE",
		"quantity":1,"price":{"amount":100000}}}`
)

// createCart creates a cart, and removes it when the test ends.
func createCart(t *testing.T, c *commerce.Client, body string) (cart string) {
	t.Helper()
	var created json.RawMessage
	_, err := c.Do(liveContext(t), "POST", []string{"v2", "carts"}, nil, json.RawMessage(body), &created)
	cart = removeLater(t, c, created, err)
	check(t, err)
	return cart
}

// newCart creates a cart with an item.
func newCart(t *testing.T, c *commerce.Client, body string) (cart string, item commerce.CartItemRef) {
	t.Helper()
	cart = createCart(t, c, body)
	var added json.RawMessage
	path := []string{"v2", "carts", cart, "items"}
	_, err := c.Do(liveContext(t), "POST", path, nil, json.RawMessage(cartItem), &added)
	check(t, err)
	id, err := uuid.Parse(find(added, "type", "custom_item")["id"])
	if err != nil {
		t.Fatalf("got no custom_item: %v", err)
	}
	return cart, commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: id}
}

// removeLater reads the id of a cart from the response to its creation, and removes the cart
// when the test ends. Without an id, it fails the test if there may be a cart.
func removeLater(t *testing.T, c *commerce.Client, created json.RawMessage, err error) (cart string) {
	t.Helper()
	if cart = find(created, "type", "cart")["id"]; cart != "" {
		t.Cleanup(func() { removeCart(t, c, cart) })
		return cart
	}
	outcome := commerce.OutcomeOf(err)
	if outcome != commerce.OutcomeRejected && outcome != commerce.OutcomeNotSent {
		t.Errorf("a cart named %s may be left: the outcome of its creation is %s: %v", cartName, outcome, err)
	}
	return ""
}

func removeCart(t *testing.T, c *commerce.Client, cart string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	var err error
	for range 5 { // the client does not retry a DELETE, but here a second one does no harm
		_, err = c.Do(ctx, "DELETE", []string{"v2", "carts", cart}, nil, nil, nil)
		if err == nil || errors.Is(err, commerce.ErrNotFound) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	t.Errorf("cart %s is left: %v", cart, err)
}

// find returns the string members of the first object in a JSON text that has this member. If
// value is not empty, the member must have it.
func find(text json.RawMessage, member, value string) map[string]string {
	var members map[string]json.RawMessage
	var elements []json.RawMessage
	if json.Unmarshal(text, &members) == nil {
		found := map[string]string{}
		for name, raw := range members {
			var s string
			if json.Unmarshal(raw, &s) == nil {
				found[name] = s
			}
			elements = append(elements, raw)
		}
		if got, ok := found[member]; ok && (value == "" || value == got) {
			return found
		}
	} else if json.Unmarshal(text, &elements) != nil {
		return nil
	}
	for _, element := range elements {
		if found := find(element, member, value); found != nil {
			return found
		}
	}
	return nil
}

func discount(externalID string, item *commerce.CartItemRef) commerce.NewCustomDiscount {
	return commerce.NewCustomDiscount{
		Amount: commerce.NewDecimal(-1000), Description: "live-test", DiscountCode: "LIVE",
		DiscountEngine: "engine", ExternalID: externalID, Item: item,
	}
}

// discounts returns a discount for the cart, and one for the item. A store may allow no more.
func discounts(item commerce.CartItemRef) []commerce.NewCustomDiscount {
	return []commerce.NewCustomDiscount{discount("live-cart", nil), discount("live-item", &item)}
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
