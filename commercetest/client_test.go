package commercetest_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/internal/e2e/calls"
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

// The store has what each call of the client sends, except the two that take any path.
func TestClient_calls(t *testing.T) {
	t.Parallel()
	for _, call := range calls.All() {
		store := commercetest.NewStore(commercetest.Config{})
		_, _ = call.Do(t.Context(), store.Client(), calls.NewArgs()) // the store may refuse the ids
		for _, r := range store.Requests() {
			if r.Operation == commercetest.OpAny && !strings.HasPrefix(call.Name, "Client.Do") && call.Name != "Walk" {
				t.Errorf("%s sends %s %s, which the store does not have: add it to endpoints in endpoints.go",
					call.Name, r.Method, r.Path)
			}
		}
	}
}

// The store knows each field of a filter of the client.
func TestClient_filters(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(1)
	for field := range reflect.TypeFor[commerce.SubscriptionFilter]().Fields() {
		opts := &commerce.SubscriptionListOptions{}
		value := reflect.ValueOf(&opts.Filter).Elem().FieldByIndex(field.Index)
		if field.Type.Kind() == reflect.Slice {
			value.Set(reflect.MakeSlice(field.Type, 1, 1))
			value = value.Index(0)
		}
		value.Set(reflect.ValueOf(map[bool]any{true: "of none", false: uuid.Max}[value.Kind() == reflect.String]))
		page, err := store.Client().Subscriptions.List(t.Context(), opts)
		if err != nil || len(page.Subscriptions) > 0 {
			t.Errorf("SubscriptionFilter.%s selects none, but the store lists some, error %v: add it to subscriptionFilter in "+
				"filter.go, and to what reads it", field.Name, err)
		}
	}
}

// The store has resources for each list of Included, in one of the generations.
func TestClient_includes(t *testing.T) {
	t.Parallel()
	for list := range reflect.TypeFor[commerce.Included]().Fields() {
		opts, n := &commerce.SubscriptionListOptions{}, 0
		include := reflect.ValueOf(&opts.Include).Elem().FieldByName(list.Name)
		if !include.IsValid() { // Extra
			continue
		}
		include.SetBool(true)
		for _, generation := range []commercetest.Generation{commercetest.FirstGeneration, commercetest.SecondGeneration} {
			store := commercetest.NewStore(commercetest.Config{Generation: generation})
			store.Seed(12)
			if page, err := store.Client().Subscriptions.List(t.Context(), opts); err == nil {
				n += reflect.ValueOf(page.Included).FieldByIndex(list.Index).Len()
			}
		}
		if n == 0 {
			t.Errorf("the store includes no %s in any generation: add them to includes in subscriptions.go, and to what "+
				"Seed makes", list.Name)
		}
	}
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
