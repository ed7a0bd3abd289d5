package commercetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

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

func TestClient_addsDiscounts(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{})
	id := store.AddCart(commerce.CartItemRef{})
	sent := newDiscounts("good", "bad")
	sent[1].Item = &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse(absentItem)}
	result, err := store.Client().Carts.AddCustomDiscounts(t.Context(), id, sent, nil)
	if !errors.Is(err, commerce.ErrPartialFailure) || len(result.Errors) != 1 {
		t.Fatalf("error = %v with entries %v, want one entry and %v", err, result.Errors, commerce.ErrPartialFailure)
	}
	wantEqual(t, "added", result.Added, store.Discounts(id))
	wantEqual(t, "unconfirmed", result.Unconfirmed,
		[]commerce.UnconfirmedDiscount{{NewCustomDiscount: sent[1], Reasons: result.Errors}})
	wantEqual(t, "item of the error", result.Errors[0].Meta.ID, absentItem)
	wantEqual(t, "request id", result.Response.RequestID, store.Requests()[0].ID)

	opts := &commerce.AddCustomDiscountsOptions{AllOrNothing: true}
	_, err = store.Client().Carts.AddCustomDiscounts(t.Context(), id, sent, opts)
	if !errors.Is(err, commerce.ErrNotFound) || commerce.OutcomeOf(err) != commerce.OutcomeRejected {
		t.Errorf("all or nothing: error = %v, want %v, rejected", err, commerce.ErrNotFound)
	}
	wantEqual(t, "discounts of the cart", len(store.Discounts(id)), 1)
}

// The filters that the client writes are read by the parser of the store.
func TestClient_filters(t *testing.T) {
	t.Parallel()
	store := seeded(commercetest.FirstGeneration, 228) // three for each account
	client := store.Client()
	count := func(f commerce.SubscriptionFilter) int {
		t.Helper()
		subs, err := commerce.Collect(client.Subscriptions.All(t.Context(), &commerce.SubscriptionListOptions{Filter: f}))
		if err != nil {
			t.Fatal(err)
		}
		return len(subs)
	}
	wantEqual(t, "all", count(commerce.SubscriptionFilter{}), 228)
	page, err := client.Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{PageSize: 24})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, sub := range page.Subscriptions {
		account, ref := sub.Attributes.AccountID, sub.Attributes.ExternalRef
		who, _ := store.SubscriberOf(account)
		names[who.Name] = true
		wantEqual(t, ref+" by account", count(commerce.SubscriptionFilter{AccountID: account}), 3)
		wantEqual(t, ref+" by email", count(commerce.SubscriptionFilter{Email: who.Email}), 3)
		wantEqual(t, ref+" by name", count(commerce.SubscriptionFilter{Name: who.Name, AccountID: account}), 3)
		wantEqual(t, ref+" by external ref", count(commerce.SubscriptionFilter{ExternalRef: ref}), 1)
	}
	wantEqual(t, "names", len(names), 8) // all of Seed
}

// The client gets a new token before the old one expires, and after it was refused.
func TestClient_renewsToken(t *testing.T) {
	t.Parallel()
	const token = "/oauth/access_token"
	for _, tt := range []struct {
		name  string
		life  time.Duration
		fault commercetest.Fault
		wait  time.Duration // between two calls
		want  []string      // paths
		used  int           // tokens
	}{
		{
			name: "valid", life: time.Hour, wait: 30 * time.Minute,
			want: []string{token, listPath, listPath}, used: 1,
		},
		{
			name: "expires between the calls", wait: 2 * time.Hour,
			want: []string{token, listPath, token, listPath}, used: 2,
		},
		{
			name: "expires during a call", life: 20 * time.Second,
			fault: commercetest.Fault{Operation: commercetest.OpList, Delay: 25 * time.Second},
			want:  []string{token, listPath, token, listPath, listPath}, used: 2,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := commercetest.NewStore(commercetest.Config{TokenLife: tt.life})
				store.Inject(tt.fault)
				cfg := store.Config()
				client := store.Client(commerce.WithClientCredentials(cfg.ClientID, cfg.ClientSecret))
				for range 2 {
					if _, err := client.Subscriptions.List(t.Context(), nil); err != nil {
						t.Errorf("List: error = %v, want nil", err)
					}
					time.Sleep(tt.wait)
				}
				var paths []string
				tokens := map[string]bool{}
				for _, r := range store.Requests() {
					paths = append(paths, r.Path)
					if r.Path == listPath {
						tokens[r.Header.Get("Authorization")] = true
					}
				}
				wantEqual(t, "requests", paths, tt.want)
				wantEqual(t, "tokens used", len(tokens), tt.used)
			})
		})
	}
}

// A walk under a rate limit yields all records, after retries.
func TestClient_rateLimit(t *testing.T) {
	t.Parallel()
	for _, retryAfter := range []time.Duration{0, time.Second} {
		t.Run(retryAfter.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := commercetest.NewStore(commercetest.Config{RateLimit: 5, RateBurst: 2, RetryAfter: retryAfter})
				store.Seed(300)
				client := store.Client(commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 20})) // the backoff is random
				opts := &commerce.SubscriptionListOptions{PageSize: 20}
				subs, err := commerce.Collect(client.Subscriptions.All(t.Context(), opts))
				if err != nil || len(subs) != 300 {
					t.Errorf("All yields %d subscriptions, error %v; want 300, nil", len(subs), err)
				}
				if n := len(store.Requests()); n <= 16 {
					t.Errorf("All needs %d requests, want more than the 16 without refusals", n)
				}
			})
		})
	}
}

// listChanger changes the list after each request for a page.
type listChanger struct {
	add, remove int // records, each time

	mu      sync.Mutex
	changes int
	present []uuid.UUID // seeded records that were not removed; nil: do not change the list yet
}

func (c *listChanger) afterRequest(s *commercetest.Store, _ commercetest.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.present == nil {
		return
	}
	c.changes++
	for range min(c.remove, len(c.present)) {
		i := c.changes * 37 % len(c.present) // all over the list
		s.RemoveSubscription(c.present[i])
		c.present = slices.Delete(c.present, i, i+1)
	}
	for range c.add {
		s.AddSubscription(commerce.Subscription{ID: uuid.New(), Type: "subscription"})
	}
}

type readFunc func(context.Context, *commerce.Client) ([]*commerce.Subscription, error)

// walk reads all pages, several at a time, with All.
func walk(concurrency int) readFunc {
	return func(ctx context.Context, client *commerce.Client) ([]*commerce.Subscription, error) {
		opts := &commerce.SubscriptionListOptions{PageSize: 10, Concurrency: concurrency}
		return commerce.Collect(client.Subscriptions.All(ctx, opts))
	}
}

// readByOffset reads page after page with List.
func readByOffset(ctx context.Context, client *commerce.Client) (subs []*commerce.Subscription, err error) {
	for {
		page, err := client.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{PageSize: 10, Offset: len(subs)})
		if err != nil {
			return subs, err
		}
		for i := range page.Subscriptions {
			subs = append(subs, &page.Subscriptions[i])
		}
		if len(page.Subscriptions) < 10 {
			return subs, nil
		}
	}
}

// While the list changes, a walk yields each record that stays exactly once. Reading
// page after page by offset does not.
func TestClient_changingList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		add, remove int
		read        readFunc
		misses      bool
		duplicates  bool
	}{
		{name: "walk, removals", remove: 2, read: walk(1)},
		{name: "walk, additions", add: 2, read: walk(1)},
		{name: "walk, both", add: 2, remove: 3, read: walk(1)},
		{name: "concurrent walk", add: 2, remove: 3, read: walk(4)},
		{name: "by offset, removals", remove: 2, read: readByOffset, misses: true},
		{name: "by offset, additions", add: 2, read: readByOffset, duplicates: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &listChanger{add: tt.add, remove: tt.remove}
			store := commercetest.NewStore(commercetest.Config{AfterRequest: c.afterRequest})
			store.Seed(100)
			seeds, err := commerce.Collect(store.Client().Subscriptions.All(t.Context(), nil))
			if err != nil {
				t.Fatal(err)
			}
			c.mu.Lock()
			for _, sub := range seeds {
				c.present = append(c.present, sub.ID)
			}
			c.mu.Unlock()
			subs, err := tt.read(t.Context(), store.Client())
			if err != nil {
				t.Fatal(err)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			times := map[uuid.UUID]int{}
			for _, sub := range subs {
				times[sub.ID]++
			}
			missed := slices.ContainsFunc(c.present, func(id uuid.UUID) bool { return times[id] == 0 })
			wantEqual(t, "misses records", missed, tt.misses)
			wantEqual(t, "yields records twice", slices.Max(slices.Collect(maps.Values(times))) > 1, tt.duplicates)
			if c.changes < 5 {
				t.Errorf("the list changed %d times, want 5 or more", c.changes)
			}
		})
	}
}
