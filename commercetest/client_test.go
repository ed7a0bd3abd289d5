package commercetest_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// The tests of this file run the client of package commerce against the store.

// A program sees the same store as a handler, over loopback, and inside a synctest
// bubble, and so does the store see the same program.
func TestClient_sameOverEachTransport(t *testing.T) {
	t.Parallel()
	newStore := func() *commercetest.Store {
		store := commercetest.NewStore(commercetest.Config{
			Generation: commercetest.SecondGeneration, PageLength: 7, CartDiscountLimit: 5,
		})
		store.Seed(40)
		return store
	}
	store := newStore()
	want := runProgram(t, store, "https://store.test", handlerTransport{store})
	if len(want) < 15 {
		t.Fatalf("the program saw %d things, want 15 or more", len(want))
	}

	store = newStore()
	defer store.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	wantEqual(t, "over loopback", runProgram(t, store, store.URL(), tr), want)

	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		wantEqual(t, "in a bubble", runProgram(t, store, "https://store.test", store.Transport()), want)
	})
}

// runProgram returns what a program saw, and which requests the store received.
func runProgram(t *testing.T, store *commercetest.Store, address string, tr http.RoundTripper) (seen []string) {
	t.Helper()
	note := func(values ...any) {
		t.Helper()
		encoded, err := json.Marshal(values)
		if err != nil {
			t.Error(err)
		}
		seen = append(seen, string(encoded))
	}
	client, err := commerce.New(address,
		commerce.WithHTTPClient(&http.Client{Transport: tr}),
		commerce.WithClientCredentials(store.Config().ClientID, store.Config().ClientSecret),
		commerce.WithRetry(commerce.RetryPolicy{MinBackoff: 1, MaxBackoff: 1}),
	)
	if err != nil {
		t.Fatal(err)
	}
	ctx, include := t.Context(), commerce.SubscriptionInclude{Plans: true, PricingOptions: true}
	store.Inject(commercetest.Fault{
		Operation: commercetest.OpList, After: 1, Status: 429, Header: http.Header{"Retry-After": {"0"}}, Body: "slow down",
	})
	opts := &commerce.SubscriptionListOptions{PageSize: 15, Include: include}
	for page, err := range client.Subscriptions.Pages(ctx, opts) {
		if err != nil {
			t.Fatal(err)
		}
		note(page.Subscriptions, page.Included.Plans, page.Included.PricingOptions, page.Links)
	}
	id := store.AddCart(commerce.CartItemRef{})
	for _, fault := range []commercetest.Fault{
		{Operation: commercetest.OpSettings}, // does not concern the request
		{Operation: commercetest.OpAdd, Apply: true, Cut: true},
		{Operation: commercetest.OpAdd, Apply: true, Cut: true, CutAfter: 20},
	} {
		store.Inject(fault)
		result, err := client.Carts.AddCustomDiscounts(ctx, id, newDiscounts("a", "b"), nil)
		note(result != nil, err != nil, commerce.OutcomeOf(err).String())
		if result != nil {
			note(result.Added, result.Errors, result.Unconfirmed, result.Response.RequestID)
		}
	}
	for _, r := range store.Requests() {
		note(r.ID, r.Method, r.Path, r.RawQuery, r.Header["Authorization"], string(r.Body))
	}
	note(store.Discounts(id))
	return seen
}
