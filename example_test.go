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
	"time"

	"github.com/google/uuid"
	"golang.org/x/oauth2"
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

// Tokens that another part of the program keeps fresh.
func ExampleWithTokenSource() {
	issue := func() (*oauth2.Token, error) { // e.g. from a vault, or by another grant
		return &oauth2.Token{AccessToken: commercetest.DefaultToken, Expiry: time.Now().Add(time.Hour)}, nil
	}
	tokens := oauth2.ReuseTokenSource(nil, tokenSource(issue)) // asks again when the token expires
	client := exampleStore().Client(commerce.WithTokenSource(tokens))

	page, err := client.Subscriptions.List(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(page.Subscriptions))
	// Output: 3
}

// tokenSource is a function as an [oauth2.TokenSource].
type tokenSource func() (*oauth2.Token, error)

func (f tokenSource) Token() (*oauth2.Token, error) { return f() }

func ExampleCartService_AddCustomDiscounts() {
	store := exampleStore()
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart(commerce.CartItemRef{})

	discounts := []commerce.NewCustomDiscount{{
		Amount:         commerce.NewDecimal(-1000), // $10.00 off
		Description:    "Ten dollars off",
		DiscountCode:   "TEN-OFF",
		DiscountEngine: "promo-engine",
		ExternalID:     "promo-1",
	}}
	if err := client.Carts.EnableCustomDiscounts(ctx, cartID); err != nil {
		log.Fatal(err)
	}
	result, err := client.Carts.AddCustomDiscounts(ctx, cartID, discounts, nil)
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
	if err := client.Carts.EnableCustomDiscounts(ctx, cartID); err != nil {
		log.Fatal(err)
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
		fmt.Println("call EnsureCustomDiscounts:", err)
	default:
		fmt.Println("none was added:", err)
	}
	// Output:
	// added: promo-1
	// not confirmed: promo-2
	// reason: Cart Item is not present in the cart.
}

// Two vouchers whose external id is the same, because another system chose it. Nothing tells
// their discounts apart: EnsureCustomDiscounts deletes the second as a copy, and after a lost
// response nothing repairs the cart. Give each an external id of its own if you can.
func ExampleAddCustomDiscountsOptions_allowRepeated() {
	store := exampleStore()
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart(commerce.CartItemRef{})
	if err := client.Carts.EnableCustomDiscounts(ctx, cartID); err != nil {
		log.Fatal(err)
	}

	vouchers := []commerce.NewCustomDiscount{oneOff, oneOff}
	_, err := client.Carts.AddCustomDiscounts(ctx, cartID, vouchers, nil)
	fmt.Println(errors.Is(err, commerce.ErrInvalidArgument))
	opts := &commerce.AddCustomDiscountsOptions{AllowRepeated: true}
	result, err := client.Carts.AddCustomDiscounts(ctx, cartID, vouchers, opts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(result.Added))
	// Output:
	// true
	// 2
}

// An offer is checked when the staff enters it, not when a customer pays.
func ExampleNewCustomDiscount_Validate() {
	offer := oneOff
	offer.Amount = commerce.NewDecimal(100)
	fmt.Println(offer.Validate())
	// Output: commerce: invalid argument: amount must be less than zero
}

// The response is lost, so the outcome is unknown. EnsureCustomDiscounts reads the cart and
// adds what is missing. Here, nothing is.
func ExampleCartService_EnsureCustomDiscounts() {
	store := exampleStore()
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart(commerce.CartItemRef{})
	store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Status: 504})

	discounts := []commerce.NewCustomDiscount{oneOff}
	if err := client.Carts.EnableCustomDiscounts(ctx, cartID); err != nil {
		log.Fatal(err)
	}
	_, err := client.Carts.AddCustomDiscounts(ctx, cartID, discounts, nil)
	fmt.Println("outcome", commerce.OutcomeOf(err))

	opts := &commerce.EnsureCustomDiscountsOptions{Enable: true}
	ensured, err := client.Carts.EnsureCustomDiscounts(ctx, cartID, discounts, opts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(ensured.Discounts), "on the cart,", len(ensured.Added), "added by this call")
	// Output:
	// outcome unknown
	// 1 on the cart, 0 added by this call
}

// The cart may have only one discount. The error matches the reasons of all that are missing.
func ExampleCartService_EnsureCustomDiscounts_missing() {
	store := commercetest.NewStore(commercetest.Config{CartDiscountLimit: 1})
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart(commerce.CartItemRef{})

	discounts := []commerce.NewCustomDiscount{oneOff, oneOff}
	discounts[1].ExternalID = "promo-2"
	opts := &commerce.EnsureCustomDiscountsOptions{Enable: true}
	ensured, err := client.Carts.EnsureCustomDiscounts(ctx, cartID, discounts, opts)
	if errors.Is(err, commerce.ErrDiscountLimit) {
		fmt.Println("your cart cannot take more discounts")
	}
	if ensured != nil { // nil if the cart could not be read
		for _, d := range ensured.Missing {
			fmt.Println("missing:", d.ExternalID, d.Reasons[0].Reason())
		}
	}
	// Output:
	// your cart cannot take more discounts
	// missing: promo-2 discount limit reached
}

// basket is a cart, and the codes that its customer has entered.
type basket struct {
	cartID string
	codes  []string
}

// applyOffers gives the cart the offers of these codes, and takes off all others of the engine
// "shop". It returns what the customer pays.
func applyOffers(
	ctx context.Context, client *commerce.Client, b basket,
	then func(context.Context, *commerce.CustomDiscountsResult) error, // nil: only show the price
) (commerce.Money, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // a closed tab does not end it
	defer cancel()
	want := func(_ context.Context, cart *commerce.Cart) (list []commerce.NewCustomDiscount, err error) {
		price, err := cart.Subtotal()
		for _, code := range []string{"SUMMER-10", "LOYAL"} { // ten percent each
			if slices.Contains(b.codes, code) {
				list = append(list, commerce.NewCustomDiscount{
					Amount: price.Amount.Percent(commerce.NewDecimal(-10)), Description: code, DiscountCode: code, ExternalID: code,
				})
			}
		}
		return list, err
	}
	opts := &commerce.SetCustomDiscountsOptions{Engine: "shop", Then: then}
	result, err := client.Carts.SetCustomDiscounts(ctx, b.cartID, want, opts)
	if err != nil {
		return commerce.Money{}, err
	}
	return result.Cart.Total()
}

// The customer enters codes and changes the cart, and the price follows. No codes take all off.
func ExampleCartService_SetCustomDiscounts() {
	store := exampleStore()
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart(commerce.CartItemRef{})

	for _, codes := range [][]string{{"SUMMER-10"}, {"SUMMER-10", "LOYAL", "UNKNOWN"}, nil} {
		price, err := applyOffers(ctx, client, basket{cartID, codes}, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(price, len(store.Discounts(cartID)))
	}
	// Output:
	// $90.00 1
	// $80.00 2
	// $100.00 0
}

// errPrice means that the customer must see the price again.
var errPrice error = priceError{}

type priceError struct{}

func (priceError) Error() string { return "show the price again" }

func (priceError) Remedy() commerce.Remedy { return commerce.RemedyCart }

// The customer pays the price that the page showed.
func ExampleSetCustomDiscountsOptions_then() {
	store := exampleStore()
	client, ctx := store.Client(), context.Background()
	b := basket{store.AddCart(commerce.CartItemRef{}), []string{"SUMMER-10"}}
	placeOrder := func(context.Context, *commerce.Client, string) error { return nil }

	seen, err := applyOffers(ctx, client, b, nil)
	if err != nil {
		log.Fatal(err)
	}
	b.codes = nil // another tab takes the code off
	pay := func(ctx context.Context, result *commerce.CustomDiscountsResult) error {
		if total, err := result.Cart.Total(); err != nil || !total.Amount.Equal(seen.Amount) {
			return errPrice // its method Remedy returns RemedyCart
		}
		return placeOrder(ctx, client, b.cartID)
	}
	_, err = applyOffers(ctx, client, b, pay)
	fmt.Println(err)
	// Output:
	// show the price again
}

// A dry run changes nothing, and says what the call would do. An empty cart or a discount that
// differs is an error, as it would be later.
func ExampleCartService_EnsureCustomDiscounts_dryRun() {
	store := exampleStore()
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart(commerce.CartItemRef{})

	opts := &commerce.EnsureCustomDiscountsOptions{DryRun: true}
	planned, err := client.Carts.EnsureCustomDiscounts(ctx, cartID, []commerce.NewCustomDiscount{oneOff}, opts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("to add:", planned.Added[0].ExternalID)
	fmt.Println("on the cart:", len(store.Discounts(cartID)))
	// Output:
	// to add: promo-1
	// on the cart: 0
}

func ExampleCartService_Get() {
	store := exampleStore()
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart(commerce.CartItemRef{})

	cart, err := client.Carts.Get(ctx, cartID)
	if err != nil {
		log.Fatal(err)
	}
	if len(cart.Items) == 0 {
		log.Fatal("the cart is empty, or does not exist")
	}
	fmt.Println(cart.CustomDiscountsEnabled, len(cart.CustomDiscounts))
	// Output: false 0
}

// UpdateCustomDiscount and DeleteCustomDiscount find a discount by its ID and Item.
func ExampleCartService_UpdateCustomDiscount() {
	store := exampleStore()
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart(commerce.CartItemRef{})
	opts := &commerce.EnsureCustomDiscountsOptions{Enable: true}
	result, err := client.Carts.EnsureCustomDiscounts(ctx, cartID, []commerce.NewCustomDiscount{oneOff}, opts)
	if err != nil {
		log.Fatal(err)
	}

	discount := result.Added[0] // or one of Cart.CustomDiscounts
	discount.Amount.Amount = commerce.NewDecimal(-200)
	updated, err := client.Carts.UpdateCustomDiscount(ctx, cartID, discount)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(updated.ExternalID, updated.Amount.Formatted)
	// Output: promo-1 -$2.00
}

// If the discount is no longer on the cart, that is what was wanted.
func ExampleCartService_DeleteCustomDiscount() {
	store := exampleStore()
	client, ctx, cartID := store.Client(), context.Background(), store.AddCart(commerce.CartItemRef{})
	opts := &commerce.EnsureCustomDiscountsOptions{Enable: true}
	result, err := client.Carts.EnsureCustomDiscounts(ctx, cartID, []commerce.NewCustomDiscount{oneOff}, opts)
	if err != nil {
		log.Fatal(err)
	}

	for range 2 {
		err := client.Carts.DeleteCustomDiscount(ctx, cartID, result.Added[0])
		if err != nil && !errors.Is(err, commerce.ErrNotFound) {
			log.Fatal(err)
		}
		fmt.Println("on the cart:", len(store.Discounts(cartID)), "- was there:", err == nil)
	}
	// Output:
	// on the cart: 0 - was there: true
	// on the cart: 0 - was there: false
}

func ExampleSubscriptionService_All() {
	client, ctx := exampleStore().Client(), context.Background()

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
	// 27af62e6-cb8f-8017-b4b9-4dcb0fc148be USD active
	// 5a969bed-a0ce-8c35-90fb-c5e61bc3d2c0 USD active
	// 0a78ef43-f062-848a-8e85-62b822a8da86 USD active
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
		opts = stopped.Resume(opts)
		opts.Offset = max(0, opts.Offset-overlap)
	}
	// Output:
	// from 0 on: 100 seen, 0 repeated
	// stopped at 100
	// from 90 on: 250 seen, 10 repeated
}

// A job that resumes after an error or a crash: it stores Finished together with the records
// up to it. Those after it are yielded again.
func ExampleSubscriptionService_Pages_finished() {
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(500)
	store.Inject(commercetest.Fault{Operation: commercetest.OpList, After: 4, Status: 403})
	client, ctx := store.Client(), context.Background()

	var finished uuid.UUID // in a state file; zero at the start
	written := 0           // records in the output
	export := func() error {
		pending := 0 // records after finished
		opts := &commerce.SubscriptionListOptions{ByAccount: true, After: finished}
		for page, err := range client.Subscriptions.Pages(ctx, opts) {
			if err != nil {
				return err
			}
			pending += len(page.Subscriptions)
			if page.Finished != uuid.Nil {
				written, pending, finished = written+pending, 0, page.Finished
			}
		}
		written += pending // the end of the walk finishes all
		return nil
	}
	fmt.Println(errors.Is(export(), commerce.ErrForbidden), written < 500)
	fmt.Println(export(), written)
	// Output:
	// true true
	// <nil> 500
}

// Walk reads any other list, up to the highest offset.
func ExampleWalk() {
	client, ctx := exampleStore().Client(), context.Background()

	type account struct{ ID, Name string }
	list := commerce.OffsetList[account]{
		Path:  []string{"v2", "accounts"},
		Query: url.Values{"sort": {"id"}}, // so that the order is stable
		ID:    func(a *account) string { return a.ID },
	}
	for a, err := range commerce.Walk(ctx, client, list) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(a.Name)
	}
	// Output:
	// Amara Okafor
	// Siobhán O'Brien
}

func ExampleSubscriptionService_All_options() {
	client, ctx := exampleStore().Client(), context.Background()

	opts := &commerce.SubscriptionListOptions{
		Filter:      commerce.SubscriptionFilter{Emails: []string{"subscriber-0001@example.com"}},
		Concurrency: 4, // page requests in flight; 1 if not set
	}
	subs, err := commerce.Collect(client.Subscriptions.All(ctx, opts))
	fmt.Println(len(subs), err)
	// Output: 2 <nil>
}

func ExampleSubscriptionService_Pages() {
	client, ctx := exampleStore().Client(), context.Background()

	opts := &commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{All: true}}
	for page, err := range client.Subscriptions.Pages(ctx, opts) {
		if err != nil {
			log.Fatal(err)
		}
		for i := range page.Subscriptions {
			sub := &page.Subscriptions[i]
			plan, hasPlan := page.Included.PlanOf(sub)
			billing, hasBilling := page.Included.BillingOf(sub)
			if hasPlan && hasBilling {
				fmt.Println(plan.Attributes.Name, "is billed every", billing.BillingFrequency, billing.BillingIntervalType)
			}
		}
	}
	// Output:
	// Razor Handle is billed every 1 month
	// Digest Subscription is billed every 1 week
	// Green Tea Box is billed every 1 month
}

// In the first payload generation, subscriptions have products.
func ExampleIncluded_ProductsOf() {
	store := commercetest.NewStore(commercetest.Config{Generation: commercetest.FirstGeneration})
	store.Seed(1)

	opts := &commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{Plans: true, Products: true}}
	for page, err := range store.Client().Subscriptions.Pages(context.Background(), opts) {
		if err != nil {
			log.Fatal(err)
		}
		for i := range page.Subscriptions {
			for _, product := range page.Included.ProductsOf(&page.Subscriptions[i]) {
				fmt.Println(product.Attributes.Name)
			}
		}
	}
	// Output:
	// Green Tea Box
	// Teapot
}

func ExampleSubscriptionService_List() {
	client, ctx := exampleStore().Client(), context.Background()

	page, err := client.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{PageSize: 2})
	if err != nil {
		log.Fatal(err)
	}
	next, ok := page.Links.Get("next")
	fmt.Println(len(page.Subscriptions), ok, next.Href != "")
	// Output: 2 true true
}

func ExampleClient_Settings() {
	settings, err := exampleStore().Client().Settings(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(settings.CustomDiscountLimit, "discounts on a cart, and on each item")
	// Output: 5 discounts on a cart, and on each item
}

// Do calls endpoints that have no method. This one creates a cart, which takes custom discounts
// only after they were enabled.
func ExampleClient_Do() {
	client, ctx := exampleStore().Client(), context.Background()

	type object = map[string]any
	body := object{"data": object{"name": "A cart"}}
	var created struct {
		Data struct{ ID string }
	}
	if _, err := client.Do(ctx, "POST", []string{"v2", "carts"}, nil, body, &created); err != nil {
		log.Fatal(err)
	}
	cartID := created.Data.ID
	if err := client.Carts.EnableCustomDiscounts(ctx, cartID); err != nil {
		log.Fatal(err)
	}
	cart, err := client.Carts.Get(ctx, cartID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cart.Name, cart.CustomDiscountsEnabled)
	// Output: A cart true
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

// The currency of a cart is probably that of the request for its first item; this is not
// documented. Do does not wait for other writes to the cart.
func ExampleWithHeader() {
	client, ctx := exampleStore().Client(), context.Background()

	inEuros, err := client.With(commerce.WithHeader("X-Moltin-Currency", "EUR"))
	if err != nil {
		log.Fatal(err)
	}
	type object = map[string]any
	item := object{"type": "custom_item", "name": "Engraving", "quantity": 1, "price": object{"amount": 500}}
	path := []string{"v2", "carts", "my-cart", "items"}
	if _, err := inEuros.Do(ctx, "POST", path, nil, object{"data": item}, nil); err != nil {
		log.Fatal(err)
	}
	cart, err := client.Carts.Get(ctx, "my-cart")
	if err != nil {
		log.Fatal(err)
	}
	price, err := cart.Subtotal()
	fmt.Println(price.Amount, price.Currency, err)
	// Output: 500 EUR <nil>
}

// A fake store in another container: `epcommerce serve`. Loopback addresses need no option.
func ExampleWithInsecureHTTP() {
	const address = "http://store:8080"
	_, err := commerce.New(address, commerce.WithToken("token"))
	fmt.Println(errors.Is(err, commerce.ErrInvalidArgument))
	_, err = commerce.New(address, commerce.WithToken("token"), commerce.WithInsecureHTTP())
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}

// One limiter for all requests of this process to the store.
func ExampleWithLimiter() {
	store := exampleStore()
	limiter := rate.NewLimiter(20, 1) // 20 requests a second, one at a time
	reader := store.Client(commerce.WithLimiter(limiter))
	writer := store.Client(commerce.WithLimiter(limiter), commerce.WithUserAgent("price-sync/1.0"))

	ctx, cartID := context.Background(), store.AddCart(commerce.CartItemRef{})
	_, listErr := reader.Subscriptions.List(ctx, nil)
	enableErr := writer.Carts.EnableCustomDiscounts(ctx, cartID)
	fmt.Println(listErr, enableErr)
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

func ExampleParseDecimal() {
	amount, err := commerce.ParseDecimal("-1000")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(amount.Shift(-2).StringFixed(2)) // cents to dollars
	// Output: -10.00
}

func ExampleError() {
	client, ctx := exampleStore().Client(), context.Background()

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

// A test of one's own code: the response to a write is lost.
func Example_commercetest() {
	store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true}) // for all carts
	defer store.Close()
	store.Seed(3) // subscriptions
	client, cartID := store.Client(), store.AddCart(commerce.CartItemRef{})
	store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Cut: true}) // added, response lost

	_, err := client.Carts.AddCustomDiscounts(context.Background(), cartID, []commerce.NewCustomDiscount{oneOff}, nil)
	fmt.Println(commerce.OutcomeOf(err), len(store.Discounts(cartID)))
	// Output: unknown 1
}
