//go:build !race

package allocations

import (
	"bytes"
	"context"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

// replay responds to an address as the store did the first time. So the store's own allocations do
// not count.
func replay(store *commercetest.Store) calls.Transport {
	responses := map[string]*httptest.ResponseRecorder{}
	return func(req *http.Request) (*http.Response, error) {
		key := req.Method + " " + req.URL.RequestURI()
		w := responses[key]
		if w == nil {
			w = httptest.NewRecorder()
			store.ServeHTTP(w, req)
			responses[key] = w
		}
		body := io.NopCloser(bytes.NewReader(w.Body.Bytes()))
		return &http.Response{
			StatusCode: w.Code, Header: w.Header(), ContentLength: int64(w.Body.Len()), Body: body, Request: req,
		}, nil
	}
}

// TestAllocations holds the numbers of allocations of calls. The walks yield 1,000 subscriptions.
// A record of the second generation has more members: the fake store adds prices of the past and of
// the future to it. About 8 allocations per request are those of the test's own transport.
//
//nolint:paralleltest // AllocsPerRun counts those of other tests, too
func TestAllocations(t *testing.T) {
	newClient := func(g commercetest.Generation) (*commerce.Client, string) {
		store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true, Generation: g})
		store.Seed(1000)
		hc := &http.Client{Transport: replay(store)}
		return store.Client(commerce.WithHTTPClient(hc)), store.AddCart(commerce.CartItemRef{})
	}
	args := calls.NewArgs()
	args.Path = []string{"v2", "settings"}
	args.Options = &commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{All: true}}
	first, _ := newClient(commercetest.FirstGeneration)
	second, cart := newClient(commercetest.SecondGeneration)
	args.CartID = cart
	for _, tt := range []struct {
		client *commerce.Client
		call   string
		limit  float64
	}{
		{client: second, call: "Client.Do (read)", limit: 40},
		{client: second, call: "Carts.AddCustomDiscounts", limit: 103},
		{client: second, call: "Carts.EnsureCustomDiscounts", limit: 208}, // reads the discount that was added
		{client: first, call: "Subscriptions.All", limit: 11_500},
		{client: first, call: "Subscriptions.Pages", limit: 15_600},
		{client: second, call: "Subscriptions.All", limit: 28_000},
		{client: second, call: "Subscriptions.Pages", limit: 37_000},
	} {
		got, call := math.Inf(1), calls.Named(tt.call)
		for range 3 { // the lowest counts: a garbage collection, which empties pools, only adds
			got = min(got, testing.AllocsPerRun(5, func() {
				if _, err := call.Do(t.Context(), tt.client, args); err != nil {
					t.Fatalf("%s: %v", tt.call, err)
				}
			}))
		}
		t.Logf("%s: %.0f allocations", tt.call, got)
		if got > tt.limit {
			t.Errorf("%s: got %.0f allocations, want at most %.0f", tt.call, got, tt.limit)
		}
	}
}

// TestAllocations_refused holds that calls with twice as many discounts, all refused with as many
// reasons each, allocate twice as much memory.
//
//nolint:paralleltest // the allocations of other tests would count, too
func TestAllocations_refused(t *testing.T) {
	refuse := func(n int) uint64 {
		store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
		store.Inject(commercetest.Fault{
			Operation: commercetest.OpAdd, Status: 422, Times: -1,
			Body: `{"errors":[` + strings.Repeat(`{"detail":"Custom discount limit reached"},`, n) + `{}]}`,
		})
		want := slices.Repeat([]commerce.NewCustomDiscount{calls.NewArgs().NewDiscount}, n)
		for i := range want {
			want[i].ExternalID = strconv.Itoa(i)
		}
		choose := func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) { return want, nil }
		carts, cart := store.Client().Carts, store.AddCart(commerce.CartItemRef{})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, errEnsure := carts.EnsureCustomDiscounts(t.Context(), cart, want, nil)
		opts := &commerce.SetCustomDiscountsOptions{Engine: "engine"}
		_, errSet := carts.SetCustomDiscounts(t.Context(), cart, choose, opts)
		_, errAdd := carts.AddCustomDiscounts(t.Context(), cart, want, nil)
		for _, err := range []error{errEnsure, errSet, errAdd} {
			if got := commerce.ReasonOf(err); got != "discount_limit" {
				t.Errorf("reason %q of %v, want discount_limit", got, err)
			}
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if size, twice := refuse(500), refuse(1_000); 2*twice > 5*size {
		t.Errorf("500 discounts take %d bytes, and 1,000 take %d, want at most 2.5 times as many", size, twice)
	}
}
