//go:build !race

package allocations

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

const records = 1_000

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

type allocationTest struct {
	name  string
	call  func(context.Context) (int, error)
	count int     // what call returns
	limit float64 // allocations for one of them
}

func writes(c *commerce.Client, cart string) []allocationTest {
	batch := make([]commerce.NewCustomDiscount, 3)
	for i, id := range []string{"a", "b", "c"} {
		batch[i] = commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(-1000), Description: "d", DiscountCode: "c", DiscountEngine: "e", ExternalID: id,
		}
	}
	return []allocationTest{
		{name: "Do", count: 1, limit: 42, call: func(ctx context.Context) (int, error) {
			var out json.RawMessage
			_, err := c.Do(ctx, http.MethodGet, []string{"v2", "settings"}, url.Values{"a": {"b"}}, nil, &out)
			return 1, err
		}},
		{name: "AddCustomDiscounts", count: 1, limit: 122, call: func(ctx context.Context) (int, error) {
			_, err := c.Carts.AddCustomDiscounts(ctx, cart, batch, nil)
			return 1, err
		}},
		{name: "Ensure without a change", count: 1, limit: 225, call: func(ctx context.Context) (int, error) {
			_, err := c.Carts.EnsureCustomDiscounts(ctx, cart, batch, nil)
			return 1, err
		}},
	}
}

// walks are the walks over a store. A record of the second generation has more members: the fake
// store adds prices of the past and of the future to it.
func walks(c *commerce.Client, all, pages float64) []allocationTest {
	included := &commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{All: true}}
	return []allocationTest{
		{name: "All", count: records, limit: all, call: func(ctx context.Context) (int, error) {
			all, err := commerce.Collect(c.Subscriptions.All(ctx, nil))
			return len(all), err
		}},
		{name: "Pages", count: records, limit: pages, call: func(ctx context.Context) (n int, err error) {
			pages, err := commerce.Collect(c.Subscriptions.Pages(ctx, included))
			for _, page := range pages {
				n += len(page.Subscriptions)
			}
			return n, err
		}},
	}
}

// TestAllocations holds the numbers of allocations. About 8 per request are those of the test's own
// transport.
//
//nolint:paralleltest // AllocsPerRun counts those of other tests, too
func TestAllocations(t *testing.T) {
	newClient := func(g commercetest.Generation) (*commerce.Client, string) {
		store := commercetest.New(t, commercetest.Config{Generation: g})
		store.Seed(records)
		hc := &http.Client{Transport: replay(store)}
		return store.Client(commerce.WithHTTPClient(hc)), store.AddCart(commerce.CartItemRef{})
	}
	first, _ := newClient(commercetest.FirstGeneration)
	second, cart := newClient(commercetest.SecondGeneration)
	for _, tt := range slices.Concat(writes(second, cart), walks(first, 11.5, 15.6), walks(second, 28, 37)) {
		got := math.Inf(1)
		for range 3 { // the lowest counts: a garbage collection, which empties pools, only adds
			got = min(got, testing.AllocsPerRun(20, func() {
				if n, err := tt.call(t.Context()); n != tt.count || err != nil {
					t.Fatalf("%s: got %d, error %v, want %d", tt.name, n, err, tt.count)
				}
			})/float64(tt.count))
		}
		t.Logf("%s: %.2f allocations", tt.name, got)
		if got > tt.limit {
			t.Errorf("%s: got %.2f allocations, want at most %.1f", tt.name, got, tt.limit)
		}
	}
}
