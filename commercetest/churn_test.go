package commercetest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// churn changes a list after each request for a page of it.
type churn struct {
	add, remove int // records, each time

	mu      sync.Mutex
	calls   int
	present []uuid.UUID // of the seed, newest first
	removed map[uuid.UUID]bool
}

func (c *churn) afterRequest(s *commercetest.Store, in commercetest.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if in.Path != listPath || c.removed == nil {
		return
	}
	c.calls++
	for range min(c.remove, len(c.present)) {
		i := c.calls * 37 % len(c.present) // all over the list
		id := c.present[i]
		c.present = append(c.present[:i:i], c.present[i+1:]...)
		c.removed[id] = s.RemoveSubscription(id)
	}
	for range c.add {
		s.AddSubscription(commerce.Subscription{ID: uuid.New(), Type: "subscription"})
	}
}

// start begins to change the list; before, it is read to know it.
func (c *churn) start(t *testing.T, store *commercetest.Store) {
	t.Helper()
	for sub, err := range store.Client().Subscriptions.All(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		c.present = append(c.present, sub.ID)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removed = map[uuid.UUID]bool{}
}

// judge tells how many records that stayed were missed, and how many were read twice.
func (c *churn) judge(t *testing.T, read []uuid.UUID) (missed, doubled int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, ok := range c.removed {
		if !ok {
			t.Errorf("%s was not there to remove", id)
		}
	}
	times := map[uuid.UUID]int{}
	for _, id := range read {
		if times[id]++; times[id] == 2 {
			doubled++
		}
	}
	for _, id := range c.present {
		if times[id] == 0 {
			missed++
		}
	}
	return missed, doubled
}

// TestChurn walks over a list that changes after each request: every record
// that stays comes exactly once. Reading page after page by offset fails at that.
func TestChurn(t *testing.T) {
	t.Parallel()
	walk := func(concurrency int) func(context.Context, *commerce.Client) ([]uuid.UUID, error) {
		return func(ctx context.Context, client *commerce.Client) (ids []uuid.UUID, err error) {
			opts := &commerce.SubscriptionListOptions{PageSize: 10, Concurrency: concurrency}
			for sub, err := range client.Subscriptions.All(ctx, opts) {
				if err != nil {
					return ids, err
				}
				ids = append(ids, sub.ID)
			}
			return ids, nil
		}
	}
	naive := func(ctx context.Context, client *commerce.Client) (ids []uuid.UUID, err error) {
		for {
			page, err := client.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{PageSize: 10, Offset: len(ids)})
			if err != nil {
				return ids, err
			}
			for _, sub := range page.Subscriptions {
				ids = append(ids, sub.ID)
			}
			if len(page.Subscriptions) < 10 {
				return ids, nil
			}
		}
	}
	for _, tt := range []struct {
		name        string
		add, remove int
		read        func(context.Context, *commerce.Client) ([]uuid.UUID, error)
		misses      bool
		doubles     bool
	}{
		{"walk, removals", 0, 2, walk(1), false, false},
		{"walk, additions", 2, 0, walk(1), false, false},
		{"walk, both", 2, 3, walk(1), false, false},
		{"walk, four at a time", 2, 3, walk(4), false, false},
		{"by offset, removals", 0, 2, naive, true, false},
		{"by offset, additions", 2, 0, naive, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &churn{add: tt.add, remove: tt.remove}
			store := commercetest.NewStore(commercetest.Config{AfterRequest: c.afterRequest})
			store.Seed(100)
			c.start(t, store)
			ids, err := tt.read(t.Context(), store.Client())
			if err != nil {
				t.Fatal(err)
			}
			missed, doubled := c.judge(t, ids)
			if (missed > 0) != tt.misses || (doubled > 0) != tt.doubles {
				t.Errorf("%d missed, %d doubled; want any: %t, %t", missed, doubled, tt.misses, tt.doubles)
			}
			if c.calls < 5 {
				t.Errorf("the list changed only %d times", c.calls)
			}
		})
	}
}

// TestAfterRequest tells when the hook is called, and with what.
func TestAfterRequest(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			var seen []string
			var cartID string
			store := commercetest.NewStore(commercetest.Config{
				RateLimit: 1, RateBurst: 5,
				AfterRequest: func(s *commercetest.Store, in commercetest.Request) {
					// That it can ask the store shows that the lock is free.
					seen = append(seen, fmt.Sprintf("%s %s %s %d", in.ID, in.Method, in.Path, len(s.Discounts(cartID))))
					in.Header.Set("Accept", "changed")
					for i := range in.Body {
						in.Body[i] = 'x'
					}
				},
			})
			cartID = store.AddCart()
			add := post("/v2/carts/"+cartID+"/custom-discounts", bulk(false, onCart("a")))
			store.Inject(
				commercetest.Fault{Operation: commercetest.OpAdd, After: 1, Apply: true, Cut: true},
				commercetest.Fault{Operation: commercetest.OpAdd, After: 2, Status: 503},
			)
			var errs []bool
			for _, raw := range []string{add, add, add, get("/nowhere"), form(goodForm)} {
				_, err := way.send(t, store, raw)
				errs = append(errs, err != nil)
			}
			store.Close() // waits for the calls
			if diff := cmp.Diff([]bool{false, true, false, false, false}, errs); diff != "" {
				t.Errorf("cut (-want +got):\n%s", diff)
			}
			path := "/v2/carts/" + cartID + "/custom-discounts"
			want := []string{
				"commercetest-000001 POST " + path + " 1",
				"commercetest-000002 POST " + path + " 2", // applied, then cut
				"commercetest-000003 POST " + path + " 2", // met by the 503
				"commercetest-000004 GET /nowhere 2",
				"commercetest-000005 POST /oauth/access_token 2",
			}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if got := store.Requests()[0]; string(got.Body) != bulk(false, onCart("a")) || got.Header.Get("Accept") != "application/json" {
				t.Error("the hook changed what is recorded")
			}
		})
	}
}

// The hook is called before the answer goes out, also with a request that is refused.
func TestAfterRequestComesFirst(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			called := 0
			var mu sync.Mutex
			store := commercetest.NewStore(commercetest.Config{RateLimit: 1, AfterRequest: func(*commercetest.Store, commercetest.Request) {
				mu.Lock()
				defer mu.Unlock()
				called++
			}})
			refused := false
			for n := 1; n <= 100 && !refused; n++ {
				a, err := way.send(t, store, get(listPath))
				if err != nil {
					t.Fatal(err)
				}
				refused = a.Status == 429
				mu.Lock()
				if called != n {
					t.Errorf("%d calls after %d answers", called, n)
				}
				mu.Unlock()
			}
			if !refused {
				t.Error("never refused")
			}
		})
	}
}
