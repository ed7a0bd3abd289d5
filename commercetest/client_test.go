package commercetest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// TestSession runs one session with a store as a plain handler, over loopback,
// and inside a synctest bubble: the program sees the same, and so does the store.
func TestSession(t *testing.T) {
	t.Parallel()
	var want []string
	for _, way := range []struct {
		name string
		run  func(t *testing.T, store *commercetest.Store) []string
	}{
		{"handler", func(t *testing.T, store *commercetest.Store) []string {
			return session(t, store, "https://store.test", handlerTransport{store})
		}},
		{"loopback", func(t *testing.T, store *commercetest.Store) []string {
			defer store.Close()
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			return session(t, store, store.URL(), tr)
		}},
		{"synctest", func(t *testing.T, store *commercetest.Store) (lines []string) {
			synctest.Test(t, func(t *testing.T) {
				lines = session(t, store, "https://store.test", store.Transport())
			})
			return lines
		}},
	} {
		store := commercetest.NewStore(commercetest.Config{Generation: commercetest.SecondGeneration, PageLength: 7, CartDiscountLimit: 2})
		store.Seed(40)
		got := way.run(t, store)
		if want == nil {
			if want = got; len(want) < 40 {
				t.Fatalf("only %d lines", len(want))
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-handler +got):\n%s", way.name, diff)
		}
	}
}

// session talks to a store, and returns what came of it: what the program saw,
// then what the store did.
func session(t *testing.T, store *commercetest.Store, address string, tr http.RoundTripper) (lines []string) {
	t.Helper()
	note := func(what string, v any, err error) {
		t.Helper()
		encoded, fault := json.Marshal(v)
		if fault != nil {
			t.Error(fault)
		}
		lines = append(lines, fmt.Sprintf("%s: %s, outcome %v, error %t", what, encoded, commerce.OutcomeOf(err), err != nil))
	}
	cfg := store.Config()
	client, err := commerce.New(address,
		commerce.WithHTTPClient(&http.Client{Transport: tr}),
		commerce.WithClientCredentials(cfg.ClientID, cfg.ClientSecret),
		commerce.WithRetry(commerce.RetryPolicy{MinBackoff: 1, MaxBackoff: 1}),
	)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()

	page, err := client.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{Plans: true, PricingOptions: true}})
	if err != nil {
		t.Fatal(err)
	}
	note("page", page.Subscriptions, err)
	note("included", []any{page.Included.Plans, page.Included.PricingOptions}, err)
	note("links", page.Links, err)
	_, err = client.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{Products: true}})
	note("include of the other generation", errors.Is(err, commerce.ErrBadRequest), err)

	store.Inject(commercetest.Fault{Operation: commercetest.OpList, After: 1, Status: 429, Header: http.Header{"Retry-After": {"0"}}, Body: "slow down"})
	for sub, err := range client.Subscriptions.All(ctx, &commerce.SubscriptionListOptions{PageSize: 15}) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, "walked "+sub.Attributes.ExternalRef)
	}

	discount := func(ref string, item *commerce.CartItemRef) commerce.NewCustomDiscount {
		return commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(-250), Description: "d", DiscountCode: "c", DiscountEngine: "e", ExternalID: ref, Item: item,
		}
	}
	add := func(what, cartID string, opts *commerce.AddCustomDiscountsOptions, discounts ...commerce.NewCustomDiscount) {
		t.Helper()
		result, err := client.Carts.AddCustomDiscounts(ctx, cartID, discounts, opts)
		var seen any
		if result != nil {
			seen = []any{result.Added, result.Errors, result.Unconfirmed, result.AllOrNothing, result.Response.RequestID}
		}
		note(what, seen, err)
	}
	absent := &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse(absentItem)}
	cartID := store.AddCart()
	add("partly", cartID, nil, discount("a", nil), discount("b", absent))
	add("all or nothing", cartID, &commerce.AddCustomDiscountsOptions{AllOrNothing: true}, discount("c", nil), discount("d", nil))
	add("no such cart", "other", nil, discount("e", nil))
	store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Cut: true})
	add("the answer is lost", cartID, nil, discount("f", nil))
	store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Cut: true, CutAfter: 20})
	add("the answer is cut", cartID, nil, discount("g", absent))
	var cart json.RawMessage
	_, err = client.Do(ctx, http.MethodGet, []string{"v2", "carts", cartID}, map[string][]string{"include": {"custom_discounts"}}, nil, &cart)
	note("cart", cart, err)

	for _, r := range store.Requests() {
		lines = append(lines, fmt.Sprintf("%s %s %s?%s %s %q", r.ID, r.Method, r.Path, r.RawQuery, r.Header.Get("Authorization"), r.Body))
	}
	note("kept", store.Discounts(cartID), nil)
	return lines
}
