package commerce_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// The store that the examples talk to.
func exampleStore() *commercetest.Store {
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(3)
	return store
}

func ExampleNew() {
	id, secret := os.Getenv("COMMERCE_CLIENT_ID"), os.Getenv("COMMERCE_CLIENT_SECRET")
	client, err := commerce.New("https://euwest.api.elasticpath.com", commerce.WithClientCredentials(id, secret))
	if err != nil {
		fmt.Println(err) // the variables are not set
		return
	}
	_, _ = client.Subscriptions.List(context.Background(), nil)
}

func ExampleCartService_AddCustomDiscounts() {
	store := exampleStore()
	defer store.Close()
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart()

	result, err := client.Carts.AddCustomDiscounts(ctx, cartID, []commerce.NewCustomDiscount{{
		Amount:         commerce.NewDecimal(-1000), // $10.00 off
		Description:    "Ten dollars off",
		DiscountCode:   "TEN-OFF",
		DiscountEngine: "promo-engine",
		ExternalID:     "promo-1",
	}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Added[0].ExternalID, result.Added[0].Amount.Formatted)
	// Output: promo-1 -$10.00
}

// One of the discounts is for an item that is not in the cart.
func ExampleCartService_AddCustomDiscounts_partial() {
	store := exampleStore()
	defer store.Close()
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart()

	off := func(externalID string, item *commerce.CartItemRef) commerce.NewCustomDiscount {
		return commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(-500), Description: "Five off", DiscountCode: "FIVE",
			DiscountEngine: "promo-engine", ExternalID: externalID, Item: item,
		}
	}
	gone := &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse("3b4de20a-ccd0-44e6-894f-628e7afb3db0")}
	result, err := client.Carts.AddCustomDiscounts(ctx, cartID, []commerce.NewCustomDiscount{off("a", nil), off("b", gone)}, nil)
	switch commerce.OutcomeOf(err) {
	case commerce.OutcomeApplied:
		fmt.Println("all added")
	case commerce.OutcomePartial:
		fmt.Println("added:", result.Added[0].ExternalID)
		fmt.Println("not proved added:", result.Unconfirmed[0].ExternalID)
		fmt.Println("why:", result.Errors[0].Detail)
	case commerce.OutcomeUnknown, commerce.OutcomeUnreadable:
		fmt.Println("look at the cart before sending them again")
	default:
		log.Fatal(err) // none was added
	}
	// Output:
	// added: a
	// not proved added: b
	// why: Cart Item is not present in the cart.
}

// The answer gets lost after the discount was added: the cart shows it.
func ExampleCartService_AddCustomDiscounts_unknown() {
	store := exampleStore()
	defer store.Close()
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart()
	store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Status: 504})

	_, err := client.Carts.AddCustomDiscounts(ctx, cartID, []commerce.NewCustomDiscount{{
		Amount: commerce.NewDecimal(-1000), Description: "Ten dollars off", DiscountCode: "TEN-OFF",
		DiscountEngine: "promo-engine", ExternalID: "promo-1",
	}}, nil)
	if !errors.Is(err, commerce.ErrOutcomeUnknown) {
		log.Fatal(err)
	}
	var cart struct {
		Included struct {
			CustomDiscounts []commerce.CustomDiscount `json:"custom_discounts"`
		} `json:"included"`
	}
	query := url.Values{"include": {"custom_discounts"}}
	if _, err := client.Do(ctx, "GET", []string{"v2", "carts", cartID}, query, nil, &cart); err != nil {
		log.Fatal(err)
	}
	for _, d := range cart.Included.CustomDiscounts {
		fmt.Println("in the cart:", d.DiscountEngine, d.ExternalID)
	}
	// Output: in the cart: promo-engine promo-1
}

func ExampleSubscriptionService_All() {
	store := exampleStore()
	defer store.Close()
	client, ctx := store.Client(), context.Background()

	n := 0
	for sub, err := range client.Subscriptions.All(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(sub.ID, sub.Attributes.Currency, sub.Meta.Status)
		n++
	}
	fmt.Println(n)
	// Output:
	// b62b7b82-31c3-5375-90bd-baae28962b76 USD active
	// 2447bb63-6876-5e38-ab7b-5ceca15e68f3 USD active
	// 50babc88-edc9-5c16-b82b-2d0d723bc6f0 USD active
	// 3
}

// A walk that an error stopped goes on where it was, a few records earlier: those
// that it yielded before tell that nothing was missed in between.
func ExampleSubscriptionService_All_resume() {
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(250)
	store.Inject(commercetest.Fault{Operation: commercetest.OpList, After: 1, Status: 403}) // the second page
	client, ctx := store.Client(), context.Background()

	const overlap = 10 // records
	seen := map[uuid.UUID]bool{}
	opts := &commerce.SubscriptionListOptions{}
	for range 3 {
		again := 0
		var stopped *commerce.PagingError
		for sub, err := range client.Subscriptions.All(ctx, opts) {
			if errors.As(err, &stopped) {
				break
			} else if err != nil {
				log.Fatal(err)
			}
			if seen[sub.ID] {
				again++
				continue
			}
			seen[sub.ID] = true
		}
		fmt.Println("from", opts.Offset, "on:", len(seen), "seen,", again, "of them again")
		if opts.Offset > 0 && again == 0 {
			log.Fatal("the list moved too far: start over")
		}
		if stopped == nil {
			return
		}
		fmt.Println(stopped)
		opts.Offset = max(0, stopped.Offset-overlap)
	}
	// Output:
	// from 0 on: 100 seen, 0 of them again
	// commerce: walk stopped at offset 100 after 100 records: commerce: Subscriptions.List: 403 Forbidden (attempts 1, request id commercetest-000002)
	// from 90 on: 250 seen, 10 of them again
}

// A store with more subscriptions than one walk reaches is read by account: the
// lists are disjoint. A few are walked at a time, and one limiter keeps all of
// them below the rate that the store allows.
func ExampleSubscriptionService_All_byAccount() {
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(30)
	accounts := accountsOf(store) // a real program knows them from elsewhere

	const atATime = 4
	client := store.Client(commerce.WithLimiter(rate.NewLimiter(1000, 1)))
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)

	var total atomic.Int64
	var workers sync.WaitGroup
	next := make(chan uuid.UUID)
	for range atATime {
		workers.Go(func() {
			for account := range next {
				opts := &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{AccountID: account}}
				for _, err := range client.Subscriptions.All(ctx, opts) {
					if err != nil {
						cancel(fmt.Errorf("account %s: %w", account, err)) // stops the others
						break
					}
					total.Add(1)
				}
			}
		})
	}
	for _, account := range accounts {
		next <- account
	}
	close(next)
	workers.Wait()
	fmt.Println(len(accounts), "accounts,", total.Load(), "subscriptions, error", context.Cause(ctx))
	// Output: 10 accounts, 30 subscriptions, error <nil>
}

// accountsOf returns the accounts that have subscriptions.
func accountsOf(store *commercetest.Store) []uuid.UUID {
	var accounts []uuid.UUID
	for sub, err := range store.Client().Subscriptions.All(context.Background(), nil) {
		if err != nil {
			log.Fatal(err)
		}
		if id := sub.Attributes.AccountID; !slices.Contains(accounts, id) {
			accounts = append(accounts, id)
		}
	}
	return accounts
}

func ExampleSubscriptionService_Pages() {
	store := exampleStore()
	defer store.Close()
	client, ctx := store.Client(), context.Background()

	opts := &commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{Plans: true}}
	for page, err := range client.Subscriptions.Pages(ctx, opts) {
		if err != nil {
			log.Fatal(err)
		}
		for _, sub := range page.Subscriptions {
			_, ok := page.Included.Plan(sub.Attributes.PlanID)
			fmt.Println("plan included:", ok)
		}
	}
	// Output:
	// plan included: true
	// plan included: true
	// plan included: true
}

func ExampleSubscriptionService_List() {
	store := exampleStore()
	defer store.Close()
	client, ctx := store.Client(), context.Background()

	page, err := client.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{PageSize: 2})
	if err != nil {
		log.Fatal(err)
	}
	next, ok := page.Links.Get("next")
	fmt.Println(len(page.Subscriptions), ok, next.Href != "")
	// Output: 2 true true
}

// A store's limit of custom discounts is one of its settings.
func ExampleClient_Do() {
	store := exampleStore()
	defer store.Close()
	client, ctx := store.Client(), context.Background()

	var settings struct {
		Data struct {
			CustomDiscountLimit *int `json:"custom_discount_limit"` // may be missing
		} `json:"data"`
	}
	if _, err := client.Do(ctx, "GET", []string{"v2", "settings"}, nil, nil, &settings); err != nil {
		log.Fatal(err)
	}
	limit := 5 // the default
	if n := settings.Data.CustomDiscountLimit; n != nil {
		limit = *n
	}
	fmt.Println(limit)
	// Output: 5
}

// Settings of a single call: one attempt, of two seconds at most. A deadline for the
// whole call belongs in its context.
func ExampleClient_With() {
	store := exampleStore()
	defer store.Close()
	store.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 503, Times: -1})

	client, err := store.Client().With(commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1, AttemptTimeout: 2 * time.Second}))
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Subscriptions.List(context.Background(), nil)
	if failed, ok := errors.AsType[*commerce.Error](err); ok {
		fmt.Println(failed.StatusCode, "after", failed.Attempts, "attempt")
	}
	// Output: 503 after 1 attempt
}

// A limiter for all that this process does with the store.
func ExampleWithLimiter() {
	store := exampleStore()
	defer store.Close()
	limiter := rate.NewLimiter(20, 1) // requests a second, and at a time
	reader := store.Client(commerce.WithLimiter(limiter))
	writer := store.Client(commerce.WithLimiter(limiter), commerce.WithUserAgent("price-sync/1.0"))

	_, err := reader.Subscriptions.List(context.Background(), nil)
	fmt.Println(err)
	_, err = writer.Carts.AddCustomDiscounts(context.Background(), store.AddCart(), []commerce.NewCustomDiscount{{
		Amount: commerce.NewDecimal(-100), Description: "One dollar off", DiscountCode: "ONE", DiscountEngine: "promo-engine", ExternalID: "promo-1",
	}}, nil)
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
}

// roundTripper is a transport of a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A stub in place of the network.
func ExampleWithHTTPClient() {
	stub := roundTripper(func(req *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK,
			Body:       io.NopCloser(strings.NewReader(`{"data":[],"links":{"next":null}}`)),
			Request:    req,
		}, nil
	})
	client, err := commerce.New("https://store.example", commerce.WithToken("token"), commerce.WithHTTPClient(&http.Client{Transport: stub}))
	if err != nil {
		log.Fatal(err)
	}
	subs, err := commerce.Collect(client.Subscriptions.All(context.Background(), nil))
	fmt.Println(len(subs), err)
	// Output: 0 <nil>
}

func ExampleOutcomeOf() {
	store := exampleStore()
	defer store.Close()
	store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Cut: true})

	_, err := store.Client().Carts.AddCustomDiscounts(context.Background(), store.AddCart(), []commerce.NewCustomDiscount{{
		Amount: commerce.NewDecimal(-100), Description: "One dollar off", DiscountCode: "ONE", DiscountEngine: "promo-engine", ExternalID: "promo-1",
	}}, nil)
	fmt.Println(commerce.OutcomeOf(nil), commerce.OutcomeOf(err))
	// Output: applied unknown
}

func ExampleParseDecimal() {
	amount, err := commerce.ParseDecimal("-1000")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(amount.Shift(-2).StringFixed(2)) // of cents
	// Output: -10.00
}

func ExampleError() {
	store := exampleStore()
	defer store.Close()
	client, ctx := store.Client(), context.Background()

	_, err := client.Carts.AddCustomDiscounts(ctx, "no-such-cart", []commerce.NewCustomDiscount{{
		Amount: commerce.NewDecimal(-1), Description: "d", DiscountCode: "c", DiscountEngine: "e", ExternalID: "x",
	}}, nil)
	if failed, ok := errors.AsType[*commerce.Error](err); ok {
		fmt.Println(failed.StatusCode, failed.Outcome, errors.Is(err, commerce.ErrNotFound))
	}
	// Output: 404 rejected true
}

func ExampleValidationError() {
	store := exampleStore()
	defer store.Close()

	_, err := store.Client().Carts.AddCustomDiscounts(context.Background(), "cart-1", []commerce.NewCustomDiscount{{
		Amount: commerce.NewDecimal(1000), Description: "d", DiscountCode: "c", DiscountEngine: "e",
	}}, nil)
	if invalid, ok := errors.AsType[*commerce.ValidationError](err); ok {
		for _, f := range invalid.Fields {
			fmt.Println(f.Index, f.Field, f.Message)
		}
	}
	// Output:
	// 0 amount must be less than zero
	// 0 external_id must not be empty
}

func ExampleCollect() {
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(3)
	client := store.Client()

	subs, err := commerce.Collect(client.Subscriptions.All(context.Background(), nil))
	fmt.Println(len(subs), err)
	// Output: 3 <nil>
}
