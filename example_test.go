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

// exampleStore returns the store of the examples, with 3 subscriptions.
func exampleStore() *commercetest.Store {
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(3)
	return store
}

// oneOff is the discount of the examples that are about something else.
var oneOff = commerce.NewCustomDiscount{
	Amount: commerce.NewDecimal(-100), Description: "One dollar off", DiscountCode: "ONE",
	DiscountEngine: "promo-engine", ExternalID: "promo-1",
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
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart(commerce.CartItemRef{})

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
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart(commerce.CartItemRef{})

	discounts := []commerce.NewCustomDiscount{oneOff, oneOff}
	discounts[1].ExternalID = "promo-2"
	discounts[1].Item = &commerce.CartItemRef{
		Type: commerce.ItemTypeCartItem, ID: uuid.MustParse("3b4de20a-ccd0-44e6-894f-628e7afb3db0"),
	}
	result, err := client.Carts.AddCustomDiscounts(ctx, cartID, discounts, nil)
	switch commerce.OutcomeOf(err) {
	case commerce.OutcomeApplied:
		fmt.Println("all added")
	case commerce.OutcomePartial:
		for _, d := range result.Added {
			fmt.Println("added:", d.ExternalID)
		}
		for _, d := range result.Unconfirmed {
			fmt.Println("not confirmed:", d.ExternalID)
		}
		for _, e := range result.Errors {
			fmt.Println("reason:", e.Detail)
		}
	case commerce.OutcomeUnknown, commerce.OutcomeUnreadable:
		fmt.Println("read the cart before you add them again:", err)
	default:
		fmt.Println("none was added:", err)
	}
	// Output:
	// added: promo-1
	// not confirmed: promo-2
	// reason: Cart Item is not present in the cart.
}

// The response is lost after the discount was added: the cart shows it.
func ExampleCartService_AddCustomDiscounts_unknown() {
	store := exampleStore()
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart(commerce.CartItemRef{})
	store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Status: 504})

	_, err := client.Carts.AddCustomDiscounts(ctx, cartID, []commerce.NewCustomDiscount{oneOff}, nil)
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

// A walk that ended in an error resumes a few records earlier. If some of these were
// yielded before, nothing was missed in between.
func ExampleSubscriptionService_All_resume() {
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(250)
	store.Inject(commercetest.Fault{Operation: commercetest.OpList, After: 1, Status: 403}) // the second page
	client, ctx := store.Client(), context.Background()

	const overlap = 10 // records
	seen := map[uuid.UUID]bool{}
	opts := &commerce.SubscriptionListOptions{}
	for range 3 {
		repeated := 0
		var stopped *commerce.PagingError
		for sub, err := range client.Subscriptions.All(ctx, opts) {
			if e, ok := errors.AsType[*commerce.PagingError](err); ok {
				stopped = e
				break
			}
			if err != nil {
				log.Fatal(err)
			}
			if seen[sub.ID] {
				repeated++
				continue
			}
			seen[sub.ID] = true
		}
		fmt.Println("from", opts.Offset, "on:", len(seen), "seen,", repeated, "repeated")
		if opts.Offset > 0 && repeated == 0 {
			log.Fatal("the list moved too far: start over")
		}
		if stopped == nil {
			return
		}
		fmt.Println("stopped at", stopped.Offset)
		opts.Offset = max(0, stopped.Offset-overlap)
	}
	// Output:
	// from 0 on: 100 seen, 0 repeated
	// stopped at 100
	// from 90 on: 250 seen, 10 repeated
}

// A store with more subscriptions than one walk reaches is read by account. A few accounts
// are read at a time, and one limiter keeps all walks below the rate that the store allows.
func ExampleSubscriptionService_All_byAccount() {
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(30)
	accounts := accountsOf(store) // a real program knows them from elsewhere

	const concurrency = 4
	client := store.Client(commerce.WithLimiter(rate.NewLimiter(1000, 1)))
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)

	var total atomic.Int64
	var workers sync.WaitGroup
	next := make(chan uuid.UUID)
	for range concurrency {
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

func ExampleSubscriptionService_All_options() {
	store := exampleStore()
	client, ctx := store.Client(), context.Background()

	opts := &commerce.SubscriptionListOptions{
		Filter:      commerce.SubscriptionFilter{Email: "subscriber-0001@example.com"},
		Concurrency: 4, // page requests in flight; 1 if not set
	}
	subs, err := commerce.Collect(client.Subscriptions.All(ctx, opts))
	fmt.Println(len(subs), err)
	// Output: 2 <nil>
}

func ExampleSubscriptionService_Pages() {
	store := exampleStore()
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
	client, ctx := store.Client(), context.Background()

	page, err := client.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{PageSize: 2})
	if err != nil {
		log.Fatal(err)
	}
	next, ok := page.Links.Get("next")
	fmt.Println(len(page.Subscriptions), ok, next.Href != "")
	// Output: 2 true true
}

// The limit on custom discounts is one of the store's settings.
func ExampleClient_Do() {
	store := exampleStore()
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

// Options for a single call: one attempt, of at most two seconds. A deadline for the whole
// call belongs in its context.
func ExampleClient_With() {
	store := exampleStore()
	store.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 503, Times: -1})

	policy := commerce.RetryPolicy{MaxAttempts: 1, AttemptTimeout: 2 * time.Second}
	client, err := store.Client().With(commerce.WithRetry(policy))
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Subscriptions.List(context.Background(), nil)
	if failed, ok := errors.AsType[*commerce.Error](err); ok {
		fmt.Println(failed.StatusCode, "after", failed.Attempts, "attempt")
	}
	// Output: 503 after 1 attempt
}

// One limiter for all requests of this process to the store.
func ExampleWithLimiter() {
	store := exampleStore()
	limiter := rate.NewLimiter(20, 1) // 20 requests a second, one at a time
	reader := store.Client(commerce.WithLimiter(limiter))
	writer := store.Client(commerce.WithLimiter(limiter), commerce.WithUserAgent("price-sync/1.0"))

	ctx, cartID := context.Background(), store.AddCart(commerce.CartItemRef{})
	_, listErr := reader.Subscriptions.List(ctx, nil)
	_, addErr := writer.Carts.AddCustomDiscounts(ctx, cartID, []commerce.NewCustomDiscount{oneOff}, nil)
	fmt.Println(listErr, addErr)
	// Output: <nil> <nil>
}

// roundTripper is a function as a transport.
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
	client, err := commerce.New("https://store.example",
		commerce.WithToken("token"), commerce.WithHTTPClient(&http.Client{Transport: stub}))
	if err != nil {
		log.Fatal(err)
	}
	subs, err := commerce.Collect(client.Subscriptions.All(context.Background(), nil))
	fmt.Println(len(subs), err)
	// Output: 0 <nil>
}

func ExampleOutcomeOf() {
	store := exampleStore()
	store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Cut: true})

	client, ctx, cartID := store.Client(), context.Background(), store.AddCart(commerce.CartItemRef{})
	_, err := client.Carts.AddCustomDiscounts(ctx, cartID, []commerce.NewCustomDiscount{oneOff}, nil)
	fmt.Println(commerce.OutcomeOf(nil), commerce.OutcomeOf(err))
	// Output: applied unknown
}

func ExampleParseDecimal() {
	amount, err := commerce.ParseDecimal("-1000")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(amount.Shift(-2).StringFixed(2)) // cents to dollars
	// Output: -10.00
}

func ExampleError() {
	store := exampleStore()
	client, ctx := store.Client(), context.Background()

	_, err := client.Carts.AddCustomDiscounts(ctx, "no-such-cart", []commerce.NewCustomDiscount{oneOff}, nil)
	if failed, ok := errors.AsType[*commerce.Error](err); ok {
		fmt.Println(failed.StatusCode, failed.Outcome, failed.Errors[0].Title)
	}
	// Output: 422 rejected Cart is empty
}

func ExampleValidationError() {
	store := exampleStore()

	invalid := oneOff
	invalid.Amount, invalid.ExternalID = commerce.NewDecimal(100), ""
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart(commerce.CartItemRef{})
	_, err := client.Carts.AddCustomDiscounts(ctx, cartID, []commerce.NewCustomDiscount{invalid}, nil)
	if e, ok := errors.AsType[*commerce.ValidationError](err); ok {
		for _, f := range e.Fields {
			fmt.Println(f.Index, f.Field)
		}
	}
	// Output:
	// 0 amount
	// 0 external_id
}

func ExampleCollect() {
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(3)
	client := store.Client()

	subs, err := commerce.Collect(client.Subscriptions.All(context.Background(), nil))
	fmt.Println(len(subs), err)
	// Output: 3 <nil>
}

// A test of one's own code: the response to a write is lost.
func Example_commercetest() {
	store := commercetest.NewStore(commercetest.Config{})
	defer store.Close()
	store.Seed(3) // subscriptions
	client, cartID := store.Client(), store.AddCart(commerce.CartItemRef{})
	store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Cut: true}) // added, response lost

	_, err := client.Carts.AddCustomDiscounts(context.Background(), cartID, []commerce.NewCustomDiscount{oneOff}, nil)
	fmt.Println(commerce.OutcomeOf(err), len(store.Discounts(cartID)))
	// Output: unknown 1
}
