package live_test

import (
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// suite is what a store must pass. Each test that writes creates a cart of its own. What the
// documentation leaves open, epcommerce verify asks.
var suite = []struct {
	name string
	test func(*testing.T, *commerce.Client)
}{
	{name: "add custom discounts", test: liveAddCustomDiscounts},
	{name: "ensure custom discounts", test: liveEnsureCustomDiscounts},
	{name: "update and delete", test: liveUpdateAndDelete},
	{name: "settings", test: liveSettings},
	{name: "list", test: liveList},
	{name: "get", test: liveGet},
	{name: "filter", test: func(t *testing.T, c *commerce.Client) {
		a := subscriptions(t, c)[0].Attributes
		filter := commerce.SubscriptionFilter{AccountIDs: []uuid.UUID{a.AccountID}}
		if a.ExternalRef != "" {
			filter.ExternalRefs = []string{a.ExternalRef}
		}
		checkFilter(t, c, a.AccountID, filter)
	}},
	{name: "filter in", test: func(t *testing.T, c *commerce.Client) {
		id := subscriptions(t, c)[0].Attributes.AccountID
		checkFilter(t, c, id, commerce.SubscriptionFilter{AccountIDs: []uuid.UUID{id, uuid.New()}})
	}},
	{name: "filter grammar", test: liveFilterGrammar},
	{name: "walk", test: func(t *testing.T, c *commerce.Client) {
		checkWalk(t, c.Subscriptions.All(t.Context(), nil))
	}},
	{name: "walk by account", test: func(t *testing.T, c *commerce.Client) {
		checkWalk(t, c.Subscriptions.All(t.Context(), &commerce.SubscriptionListOptions{ByAccount: true}))
	}},
	{name: "unauthorized", test: liveUnauthorized},
}

func TestLive(t *testing.T) {
	t.Parallel()
	if os.Getenv("COMMERCE_LIVE") != "1" {
		t.Skip("needs a store: see make live")
	}
	credentials := commerce.WithClientCredentials(os.Getenv("COMMERCE_CLIENT_ID"), os.Getenv("COMMERCE_CLIENT_SECRET"))
	if token := os.Getenv("COMMERCE_TOKEN"); token != "" {
		credentials = commerce.WithToken(token)
	}
	limiter := rate.NewLimiter(20, 1) // below 25 requests a second, the rate of a small store
	c, err := commerce.New(os.Getenv("COMMERCE_BASE_URL"), credentials, commerce.WithLimiter(limiter))
	if err != nil {
		t.Fatalf("set COMMERCE_BASE_URL, and COMMERCE_TOKEN or COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET: %v", err)
	}
	for _, live := range suite {
		t.Run(live.name, func(t *testing.T) {
			t.Parallel()
			live.test(t, c)
		})
	}
}

var testsOfDiscounts = []string{"add custom discounts", "ensure custom discounts", "update and delete"}

// stores are kinds of stores that have nothing wrong.
var stores = []struct {
	name    string
	cfg     commercetest.Config
	faults  []commercetest.Fault
	prepare func(*commerce.Subscription)
	skipped []string
}{
	{name: "first generation", cfg: commercetest.Config{Generation: commercetest.FirstGeneration}},
	{name: "second generation"},
	{name: "an older offering", prepare: func(sub *commerce.Subscription) {
		sub.Attributes.PricingOptionID, sub.Attributes.PlanID = uuid.Nil, uuid.New()
		sub.Attributes.Offering.Meta.ExternalProductRefs = []string{"gone"}
	}},
	{name: "one discount", cfg: commercetest.Config{CartDiscountLimit: 1, ItemDiscountLimit: 1}},
	{name: "no custom discounts", cfg: commercetest.Config{CartDiscountLimit: -1}, skipped: testsOfDiscounts},
	{name: "a promotion", skipped: testsOfDiscounts, faults: []commercetest.Fault{{
		Operation: commercetest.OpAdd, Times: -1, Status: http.StatusUnprocessableEntity,
		Body: `{"errors":[{"title":"Cart contains Elastic Path promotions",
			"detail":"Custom discounts cannot be combined with Elastic Path promotions."}]}`,
	}}},
	{name: "in is not known", skipped: []string{"filter in"}, faults: []commercetest.Fault{{
		Operation: commercetest.OpList, Times: -1, Status: http.StatusBadRequest,
		Match: func(in commercetest.Request) bool { return strings.Contains(in.RawQuery, "=in%28") },
	}}},
}

func TestSuite_stores(t *testing.T) {
	t.Parallel()
	for _, tt := range stores {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := commercetest.New(t, tt.cfg)
			store.Seed(8)
			store.Inject(tt.faults...)
			for sub := range store.Subscriptions() {
				if tt.prepare != nil {
					store.UpdateSubscription(sub.ID, tt.prepare)
				}
			}
			var skipped []string
			for _, live := range suite { // one after the other: they share skipped
				t.Run(live.name, func(t *testing.T) {
					t.Cleanup(func() {
						if t.Skipped() {
							skipped = append(skipped, live.name)
						}
					})
					live.test(t, store.Client())
				})
			}
			diff(t, "skipped tests", skipped, tt.skipped)
			diff(t, "carts that are left", len(store.Carts()), 0)
		})
	}
}

// checkCart checks that the cart has a custom_item, and the discounts on it by their level,
// external id and amount. It returns the discounts.
func checkCart(t *testing.T, c *commerce.Client, cart string, want ...string) []commerce.CustomDiscount {
	t.Helper()
	read, err := c.Carts.Get(t.Context(), cart)
	check(t, err)
	var got []string
	for _, d := range read.CustomDiscounts {
		level := "cart"
		if d.Item != nil {
			level = string(d.Item.Type)
		}
		got = append(got, fmt.Sprintf("%s: %s %s", level, d.ExternalID, d.Amount.Amount))
	}
	slices.Sort(got)
	diff(t, "discounts of the cart", got, want)
	isCustom := func(item commerce.CartItem) bool { return item.Type == commerce.ItemTypeCustomItem }
	if !slices.ContainsFunc(read.Items, isCustom) || !read.CustomDiscountsEnabled {
		t.Errorf("got items %v, discounts enabled %t, want a custom_item and true", read.Items, read.CustomDiscountsEnabled)
	}
	return read.CustomDiscounts
}

func liveAddCustomDiscounts(t *testing.T, c *commerce.Client) {
	cart, item := newCart(t, c)
	missing := commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: uuid.New()}
	batch := append(discounts(item), discount("live-refused", &missing))
	result, err := c.Carts.AddCustomDiscounts(t.Context(), cart, batch, nil)
	if !errors.Is(err, commerce.ErrPartialFailure) || !errors.Is(err, commerce.ErrCartItemNotFound) {
		check(t, err)
		t.Fatal("got no error, want ErrPartialFailure and ErrCartItemNotFound")
	}
	if len(result.Added) != 2 || len(result.Unconfirmed) != 1 || result.Unconfirmed[0].ExternalID != "live-refused" {
		t.Errorf("got %+v, want 2 discounts added and live-refused unconfirmed", result)
	}
	checkCart(t, c, cart, "cart: live-cart -1000", "custom_item: live-item -1000")
}

func liveEnsureCustomDiscounts(t *testing.T, c *commerce.Client) {
	cart, item := newCart(t, c)
	for _, step := range []struct {
		name   string
		amount int64 // of each wanted discount; 0: none is wanted
		opts   commerce.EnsureCustomDiscountsOptions
		want   []int // discounts, added, updated, deleted
	}{
		{name: "add", amount: -1000, want: []int{2, 2, 0, 0}},
		{name: "once more", amount: -1000, want: []int{2, 0, 0, 0}},
		{name: "update", amount: -2000, opts: commerce.EnsureCustomDiscountsOptions{Update: true}, want: []int{2, 0, 2, 0}},
		{
			name: "delete", opts: commerce.EnsureCustomDiscountsOptions{Prune: true, Engines: []string{"engine"}},
			want: []int{0, 0, 0, 2},
		},
	} {
		var wanted []commerce.NewCustomDiscount
		if step.amount != 0 {
			wanted = discounts(item)
		}
		for i := range wanted {
			wanted[i].Amount = commerce.NewDecimal(step.amount)
		}
		result, err := c.Carts.EnsureCustomDiscounts(t.Context(), cart, wanted, &step.opts)
		check(t, err)
		got := []int{len(result.Discounts), len(result.Added), len(result.Updated), len(result.Deleted)}
		diff(t, "discounts, added, updated, deleted: "+step.name, got, step.want)
	}
	checkCart(t, c, cart)
}

func liveUpdateAndDelete(t *testing.T, c *commerce.Client) {
	ctx := t.Context()
	cart, item := newCart(t, c)
	_, err := c.Carts.AddCustomDiscounts(ctx, cart, discounts(item), nil)
	check(t, err)
	for _, d := range checkCart(t, c, cart, "cart: live-cart -1000", "custom_item: live-item -1000") {
		d.Amount.Amount = commerce.NewDecimal(-500)
		_, err := c.Carts.UpdateCustomDiscount(ctx, cart, d)
		check(t, err)
	}
	for _, d := range checkCart(t, c, cart, "cart: live-cart -500", "custom_item: live-item -500") {
		check(t, c.Carts.DeleteCustomDiscount(ctx, cart, d))
	}
	checkCart(t, c, cart)
	_, err = c.Carts.AddCustomDiscounts(ctx, cart, discounts(item), nil)
	check(t, err)
	check(t, c.Carts.DeleteCustomDiscounts(ctx, cart))
	checkCart(t, c, cart, "custom_item: live-item -1000")
}

func liveSettings(t *testing.T, c *commerce.Client) {
	settings, err := c.Settings(t.Context())
	check(t, err)
	if settings.CustomDiscountLimit < 0 || settings.PageLength < 0 || settings.PageLength > commerce.MaxPageSize {
		t.Errorf("got limit %d, page length %d", settings.CustomDiscountLimit, settings.PageLength)
	}
}

// subscriptions returns up to 5 subscriptions. It skips the test if the store has none.
func subscriptions(t *testing.T, c *commerce.Client) []commerce.Subscription {
	t.Helper()
	opts := &commerce.SubscriptionListOptions{PageSize: 5, Include: commerce.SubscriptionInclude{Plans: true}}
	page, err := c.Subscriptions.List(t.Context(), opts)
	check(t, err)
	if len(page.Subscriptions) == 0 {
		t.Skip("the store has no subscriptions")
	}
	for i := range page.Subscriptions {
		checkIncluded(t, &page.Included, &page.Subscriptions[i])
	}
	return page.Subscriptions
}

func liveList(t *testing.T, c *commerce.Client) {
	list := subscriptions(t, c)
	if len(list) > 5 {
		t.Errorf("got %d subscriptions, want at most 5", len(list))
	}
	for _, sub := range list {
		if sub.ID == uuid.Nil || sub.Type != "subscription" || sub.Meta.Status == "" ||
			sub.Meta.Timestamps.CreatedAt.IsZero() {
			t.Errorf("subscription %s of type %q has no type, status or creation time", sub.ID, sub.Type)
		}
	}
}

// checkIncluded checks that PlanOf and PricingOptionOf find what the store included.
func checkIncluded(t *testing.T, included *commerce.Included, sub *commerce.Subscription) {
	t.Helper()
	want, ok := included.Plan(sub.Attributes.PlanID)
	if plan, _ := included.PlanOf(sub); ok && plan != want {
		t.Errorf("subscription %s: PlanOf does not find the included plan %s", sub.ID, want.ID)
	}
	wantOption, ok := included.PricingOption(sub.Attributes.PricingOptionID)
	if option, _ := included.PricingOptionOf(sub); ok && option != wantOption {
		t.Errorf("subscription %s: PricingOptionOf does not find %s", sub.ID, wantOption.ID)
	}
}

// Which includes there are depends on the generation of the store's payload. A subscription to
// an older offering may lack some of them.
func liveGet(t *testing.T, c *commerce.Client) {
	listed := subscriptions(t, c)[0]
	include := commerce.SubscriptionInclude{Plans: true, PricingOptions: true}
	got, err := c.Subscriptions.Get(t.Context(), listed.ID, include)
	if errors.Is(err, commerce.ErrBadRequest) {
		include = commerce.SubscriptionInclude{Plans: true, Products: true}
		got, err = c.Subscriptions.Get(t.Context(), listed.ID, include)
	}
	check(t, err)
	a := got.Subscription.Attributes
	diff(t, "account and plan", []uuid.UUID{a.AccountID, a.PlanID},
		[]uuid.UUID{listed.Attributes.AccountID, listed.Attributes.PlanID})
	checkIncluded(t, &got.Included, &got.Subscription)
	t.Logf("%d plans, %d products, %d pricing options",
		len(got.Included.Plans), len(got.Included.Products), len(got.Included.PricingOptions))
	_, err = c.Subscriptions.Get(t.Context(), uuid.New(), include)
	if !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("an unknown id: error = %v, want ErrNotFound", err)
	}
}

// checkFilter checks that a filter for an account finds only subscriptions of it, and with the
// external reference of the filter if there is one. A list of values becomes the operator in.
func checkFilter(t *testing.T, c *commerce.Client, account uuid.UUID, filter commerce.SubscriptionFilter) {
	t.Helper()
	page, err := c.Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{Filter: filter, PageSize: 5})
	if len(filter.AccountIDs) > 1 && errors.Is(err, commerce.ErrBadRequest) {
		t.Skip("the store does not know the operator in, as older ones")
	}
	check(t, err)
	if len(page.Subscriptions) == 0 {
		t.Error("got no subscription, want at least one")
	}
	for _, sub := range page.Subscriptions {
		a := sub.Attributes
		if a.AccountID != account || filter.ExternalRefs != nil && !slices.Contains(filter.ExternalRefs, a.ExternalRef) {
			t.Errorf("subscription %s: got another account or external reference", sub.ID)
		}
	}
}

// The service accepts any text in a quoted operand of a filter.
func liveFilterGrammar(t *testing.T, c *commerce.Client) {
	for _, text := range []string{"nobody+1@example.com", `a "quoted" \ one`, "a,b(c):d'e'", "ünïcode & = # %"} {
		filter := commerce.SubscriptionFilter{ExternalRefs: []string{text}}
		page, err := c.Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{Filter: filter})
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if n := len(page.Subscriptions); n != 0 {
			t.Errorf("%q: got %d subscriptions, want none", text, n)
		}
	}
}

func checkWalk(t *testing.T, walk iter.Seq2[*commerce.Subscription, error]) {
	t.Helper()
	const enough = 1_000 // records of a large store: a test should not use up its rate limit
	seen := map[uuid.UUID]bool{}
	for sub, err := range walk {
		check(t, err)
		if seen[sub.ID] {
			t.Errorf("subscription %s was yielded twice", sub.ID)
		}
		if seen[sub.ID] = true; len(seen) == enough {
			t.Log("stopped before the end")
			break
		}
	}
	t.Logf("%d subscriptions", len(seen))
}

func liveUnauthorized(t *testing.T, c *commerce.Client) {
	c, err := c.With(commerce.WithToken("not-a-token"))
	check(t, err)
	if _, err = c.Subscriptions.List(t.Context(), nil); !errors.Is(err, commerce.ErrUnauthorized) {
		t.Errorf("error = %v, want ErrUnauthorized", err)
	}
}
