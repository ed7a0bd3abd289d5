package ensure_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// If the response to the read of a cart leaves out its items, and an item has discounts, the read
// takes a second request. TestEnsureCustomDiscounts of the root counts those of other carts.
func TestEnsure_requests(t *testing.T) {
	t.Parallel()
	for there, requests := range map[int]int{2: 2, 1: 5, 0: 4} { // by the discounts that are on the cart
		store := commercetest.New(t, commercetest.Config{})
		item := commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: [16]byte{1}}
		cartID := store.AddCart(item)
		want := []commerce.NewCustomDiscount{newDiscount("item", &item), newDiscount("cart", nil)}
		for _, d := range want[:there] {
			store.AddDiscount(cartID, onCart(d))
		}
		client := store.Client(scenario{WithoutItems: true}.transport(store.Transport()))
		if _, err := client.Carts.EnsureCustomDiscounts(t.Context(), cartID, want, nil); err != nil {
			t.Fatal(err)
		}
		if got := len(store.Requests()); got != requests {
			t.Errorf("%d discounts are there: the call sent %d requests, want %d", there, got, requests)
		}
	}
}

// Many calls at the same time, e.g. after a double click, add each discount once. The store
// loses one of two writes that overlap.
func TestEnsure_doubleClick(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		clients int
	}{
		{name: "one client", clients: 1},
		{name: "four clients with a lock", clients: 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := commercetest.New(t, commercetest.Config{LoseOverlappingWrites: true})
				store.Inject(commercetest.Fault{Delay: 100 * time.Millisecond, Times: -1})
				cartID := store.AddCart(commerce.CartItemRef{})
				want := []commerce.NewCustomDiscount{newDiscount("a", nil), newDiscount("b", nil)}
				lock := newSharedLock(0)
				var clients []*commerce.Client
				for range test.clients {
					client := store.Client()
					if test.clients > 1 {
						client = store.Client(commerce.WithCartLocker(lock))
					}
					clients = append(clients, client)
				}
				var running sync.WaitGroup
				for i := range 16 {
					running.Go(func() {
						carts := clients[i%len(clients)].Carts
						if _, err := carts.EnsureCustomDiscounts(t.Context(), cartID, want, nil); err != nil {
							t.Errorf("got error %v, want none", err)
						}
					})
				}
				running.Wait()
				got := describe(store.Discounts(cartID))
				if want := describe([]commerce.CustomDiscount{onCart(want[0]), onCart(want[1])}); got != want {
					t.Errorf("the cart has the discounts\n%s\nwant\n%s", got, want)
				}
				if got, want := len(store.Requests()), 3+15; got != want {
					t.Errorf("the calls sent %d requests, want %d", got, want)
				}
			})
		})
	}
}

// If the service changes what it is sent, a call sends one update and ends in ErrDifferent.
// White space that the service removes is no difference.
func TestEnsure_changedByTheService(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(discount map[string]any)
		update bool
		puts   int
		is     error // nil: no error
	}{
		{name: "shortens texts", change: shorten, update: true, puts: 1, is: commerce.ErrDifferent},
		{name: "shortens texts, no update", change: shorten, is: commerce.ErrDifferent},
		{name: "rounds amounts", change: roundAmount, update: true, puts: 1, is: commerce.ErrDifferent},
		{name: "rounds amounts, no update", change: roundAmount, is: commerce.ErrDifferent},
		{name: "trims texts", change: trim, update: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := commercetest.New(t, commercetest.Config{})
			cartID := store.AddCart(commerce.CartItemRef{})
			d := newDiscount(" a ", nil)
			d.Amount, d.Description = commerce.NewDecimal(-123), " Summer sale "
			e := editor{request: func(body map[string]any) {
				switch data := body["data"].(type) {
				case map[string]any:
					test.change(data)
				case []any:
					for _, discount := range data {
						test.change(discount.(map[string]any))
					}
				}
			}}
			client := store.Client(commerce.WithHTTPClient(&http.Client{Transport: e.transport(store.Transport())}))
			result, err := client.Carts.EnsureCustomDiscounts(t.Context(), cartID, []commerce.NewCustomDiscount{d},
				&commerce.EnsureCustomDiscountsOptions{Update: test.update})
			if !errors.Is(err, test.is) {
				t.Errorf("got error %v, want %v", err, test.is)
			}
			if got, want := len(result.Different) > 0, test.is != nil; got != want {
				t.Errorf("Different = %+v, want some: %t", result.Different, want)
			}
			counts := map[commercetest.Operation]int{}
			for _, in := range store.Requests() {
				counts[in.Operation]++
			}
			if counts[commercetest.OpUpdateDiscount] != test.puts || counts[commercetest.OpAdd] != 1 ||
				counts[commercetest.OpDeleteDiscount] != 0 {
				t.Errorf("got requests %v, want 1 add, %d updates and no delete", counts, test.puts)
			}
		})
	}
}

// shorten, trim and roundAmount are what a service may do to a discount that it is sent.
func shorten(discount map[string]any) {
	if text, ok := discount["description"].(string); ok {
		discount["description"] = text[:min(len(text), 6)]
	}
}

func trim(discount map[string]any) {
	for name, value := range discount {
		if text, ok := value.(string); ok {
			discount[name] = strings.TrimSpace(text)
		}
	}
}

func roundAmount(discount map[string]any) {
	if amount, ok := discount["amount"].(float64); ok {
		discount["amount"] = float64(int(amount/10) * 10)
	}
}
