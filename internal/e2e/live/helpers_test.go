// Package live_test runs TestLive against a real store. It is skipped unless COMMERCE_LIVE=1,
// which `make live` sets: a plain `go test ./...` calls no store, even if credentials are set. It
// needs COMMERCE_BASE_URL, and COMMERCE_TOKEN or both COMMERCE_CLIENT_ID and
// COMMERCE_CLIENT_SECRET. Each test that writes creates carts of its own, and removes them, so
// several runs may use a store at the same time.
package live_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

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
	if e, ok := errors.AsType[*commerce.Error](err); ok {
		return e.Details()
	}
	return nil
}

// The texts have no spaces: the service's documentation does not say which characters are
// allowed.
const (
	cartPrefix = "commerce-live-"
	cartItem   = `{"data":{"type":"custom_item","name":"commerce-live-item","sku":"COMMERCE-LIVE",
		"quantity":1,"price":{"amount":100000}}}`
)

// newCart creates a cart that takes custom discounts, with an item. It chooses the id itself, and
// the test removes the cart when it ends, so no lost response can leave one.
func newCart(t *testing.T, c *commerce.Client) (cart string, item commerce.CartItemRef) {
	t.Helper()
	cart = cartPrefix + strings.ToLower(rand.Text()[:12])
	t.Cleanup(func() { removeCart(t, c, cart) })
	var added struct{ Data []struct{ Type, ID string } }
	path := []string{"v2", "carts", cart, "items"}
	_, err := c.Do(t.Context(), "POST", path, nil, json.RawMessage(cartItem), &added)
	check(t, err)
	item.Type = commerce.ItemTypeCustomItem
	for _, line := range added.Data { // a store may add lines of its own
		if line.Type == string(item.Type) {
			item.ID, err = uuid.Parse(line.ID)
		}
	}
	if item.ID == uuid.Nil {
		t.Fatalf("got items %v, error %v, want a custom_item", added.Data, err)
	}
	check(t, c.Carts.EnableCustomDiscounts(t.Context(), cart))
	return cart, item
}

func removeCart(t *testing.T, c *commerce.Client, cart string) {
	t.Helper()
	var err error
	for range 5 { // the client does not retry a DELETE, but here a second one does no harm
		_, err = c.Do(context.WithoutCancel(t.Context()), "DELETE", []string{"v2", "carts", cart}, nil, nil, nil)
		if err == nil || errors.Is(err, commerce.ErrNotFound) {
			return
		}
		time.Sleep(time.Second)
	}
	t.Errorf("cart %s is left: %v", cart, err)
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
