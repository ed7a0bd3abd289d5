package live_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// suite is what a store must pass. Each test that writes creates a cart of its own.
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
	{name: "filter", test: liveFilter},
	{name: "filter in", test: liveFilterIn},
	{name: "filter grammar", test: liveFilterGrammar},
	{name: "walk", test: liveWalk},
	{name: "walk by account", test: liveWalkByAccount},
	{name: "unauthorized", test: liveUnauthorized},
}

func TestLive(t *testing.T) {
	t.Parallel()
	c := liveClient(t)
	for _, live := range suite {
		t.Run(live.name, func(t *testing.T) {
			t.Parallel()
			live.test(t, c)
		})
	}
}

// stores are kinds of stores that have nothing wrong.
var stores = []struct {
	name    string
	cfg     commercetest.Config
	faults  []commercetest.Fault
	prepare func(*commerce.Subscription)
	skipped []string
}{
	{name: "first generation"},
	{name: "second generation", cfg: commercetest.Config{Generation: commercetest.SecondGeneration}},
	{
		name: "an older offering", cfg: commercetest.Config{Generation: commercetest.SecondGeneration},
		prepare: func(sub *commerce.Subscription) {
			sub.Attributes.PricingOptionID, sub.Attributes.PlanID = uuid.Nil, uuid.New()
			sub.Attributes.Offering.Meta.ExternalProductRefs = []string{"gone"}
		},
	},
	{name: "one discount", cfg: commercetest.Config{CartDiscountLimit: 1, ItemDiscountLimit: 1}},
	{
		name: "no custom discounts", cfg: commercetest.Config{CartDiscountLimit: -1},
		skipped: []string{"add custom discounts", "ensure custom discounts", "update and delete"},
	},
	{
		name: "a promotion", faults: []commercetest.Fault{{
			Operation: commercetest.OpAdd, Times: -1, Status: http.StatusUnprocessableEntity,
			Body: `{"errors":[{"title":"Cart contains Elastic Path promotions",
				"detail":"Custom discounts cannot be combined with Elastic Path promotions."}]}`,
		}},
		skipped: []string{"add custom discounts", "ensure custom discounts", "update and delete"},
	},
	{
		name: "in is not known", faults: []commercetest.Fault{{
			Times: -1, Status: http.StatusBadRequest,
			Match: func(in commercetest.Request) bool { return strings.Contains(in.RawQuery, "=in%28") },
		}},
		skipped: []string{"filter in"},
	},
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

// describe describes discounts by what a test decides: level, external id and amount.
func describe(discounts []commerce.CustomDiscount) (list []string) {
	for _, d := range discounts {
		level := "cart"
		if d.Item != nil {
			level = string(d.Item.Type)
		}
		list = append(list, fmt.Sprintf("%s: %s %s", level, d.ExternalID, d.Amount.Amount))
	}
	slices.Sort(list)
	return list
}

// readCart reads a cart, and checks its discounts.
func readCart(t *testing.T, c *commerce.Client, cart string, want ...string) *commerce.Cart {
	t.Helper()
	got, err := c.Carts.Get(liveContext(t), cart)
	check(t, err)
	diff(t, "discounts of the cart", describe(got.CustomDiscounts), want)
	isCustom := func(item commerce.CartItem) bool { return item.Type == commerce.ItemTypeCustomItem }
	if !slices.ContainsFunc(got.Items, isCustom) || !got.CustomDiscountsEnabled {
		t.Errorf("got items %v, discounts enabled %t, want a custom_item and true", got.Items, got.CustomDiscountsEnabled)
	}
	return got
}

func liveAddCustomDiscounts(t *testing.T, c *commerce.Client) {
	t.Helper()
	ctx := liveContext(t)
	cart, item := newCart(t, c, openCart)
	missing := commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: uuid.New()}
	batch := append(discounts(item), discount("live-refused", &missing))
	result, err := c.Carts.AddCustomDiscounts(ctx, cart, batch, nil)
	if !errors.Is(err, commerce.ErrPartialFailure) || !errors.Is(err, commerce.ErrCartItemNotFound) {
		check(t, err)
		t.Fatal("got no error, want ErrPartialFailure and ErrCartItemNotFound")
	}
	if len(result.Added) != 2 || len(result.Unconfirmed) != 1 || result.Unconfirmed[0].ExternalID != "live-refused" {
		t.Errorf("got %+v, want 2 discounts added and live-refused unconfirmed", result)
	}
	readCart(t, c, cart, "cart: live-cart -1000", "custom_item: live-item -1000")
}

func liveEnsureCustomDiscounts(t *testing.T, c *commerce.Client) {
	t.Helper()
	ctx := liveContext(t)
	cart, item := newCart(t, c, openCart)
	for _, step := range []struct {
		name                    string
		amount                  int64 // of each wanted discount; 0: none is wanted
		opts                    commerce.EnsureCustomDiscountsOptions
		added, updated, deleted int
	}{
		{name: "add", amount: -1000, added: 2},
		{name: "once more", amount: -1000},
		{name: "update", amount: -2000, opts: commerce.EnsureCustomDiscountsOptions{Update: true}, updated: 2},
		{name: "delete", opts: commerce.EnsureCustomDiscountsOptions{Prune: true, Engines: []string{"engine"}}, deleted: 2},
	} {
		var want []commerce.NewCustomDiscount
		if step.amount != 0 {
			want = discounts(item)
		}
		for i := range want {
			want[i].Amount = commerce.NewDecimal(step.amount)
		}
		result, err := c.Carts.EnsureCustomDiscounts(ctx, cart, want, &step.opts)
		check(t, err)
		got := []int{len(result.Discounts), len(result.Added), len(result.Updated), len(result.Deleted)}
		diff(t, "discounts, added, updated, deleted: "+step.name, got,
			[]int{len(want), step.added, step.updated, step.deleted})
	}
	readCart(t, c, cart)
}

func liveUpdateAndDelete(t *testing.T, c *commerce.Client) {
	t.Helper()
	ctx := liveContext(t)
	cart, item := newCart(t, c, openCart)
	_, err := c.Carts.AddCustomDiscounts(ctx, cart, discounts(item), nil)
	check(t, err)
	for _, d := range readCart(t, c, cart, "cart: live-cart -1000", "custom_item: live-item -1000").CustomDiscounts {
		d.Amount.Amount = commerce.NewDecimal(-500)
		_, err := c.Carts.UpdateCustomDiscount(ctx, cart, d)
		check(t, err)
	}
	for _, d := range readCart(t, c, cart, "cart: live-cart -500", "custom_item: live-item -500").CustomDiscounts {
		check(t, c.Carts.DeleteCustomDiscount(ctx, cart, d))
	}
	readCart(t, c, cart)
	_, err = c.Carts.AddCustomDiscounts(ctx, cart, discounts(item), nil)
	check(t, err)
	check(t, c.Carts.DeleteCustomDiscounts(ctx, cart))
	readCart(t, c, cart, "custom_item: live-item -1000")
}

func liveSettings(t *testing.T, c *commerce.Client) {
	t.Helper()
	settings, err := c.Settings(liveContext(t))
	check(t, err)
	if settings.CustomDiscountLimit < 0 || settings.PageLength < 0 || settings.PageLength > commerce.MaxPageSize {
		t.Errorf("got limit %d, page length %d", settings.CustomDiscountLimit, settings.PageLength)
	}
}

// subscriptions returns up to 5 subscriptions. It skips the test if the store has none.
func subscriptions(
	t *testing.T, c *commerce.Client, include commerce.SubscriptionInclude,
) *commerce.SubscriptionPage {
	t.Helper()
	page, err := c.Subscriptions.List(liveContext(t), &commerce.SubscriptionListOptions{PageSize: 5, Include: include})
	check(t, err)
	if len(page.Subscriptions) == 0 {
		t.Skip("the store has no subscriptions")
	}
	return page
}

func liveList(t *testing.T, c *commerce.Client) {
	t.Helper()
	page := subscriptions(t, c, commerce.SubscriptionInclude{Plans: true})
	if len(page.Subscriptions) > 5 {
		t.Errorf("got %d subscriptions, want at most 5", len(page.Subscriptions))
	}
	for i := range page.Subscriptions {
		sub := &page.Subscriptions[i]
		if sub.ID == uuid.Nil || sub.Type != "subscription" || sub.Meta.Status == "" ||
			sub.Meta.Timestamps.CreatedAt.IsZero() {
			t.Errorf("subscription %s of type %q has no type, status or creation time", sub.ID, sub.Type)
		}
		checkPlan(t, &page.Included, sub)
	}
}

// checkPlan checks that PlanOf finds the plan, if the store included it.
func checkPlan(t *testing.T, included *commerce.Included, sub *commerce.Subscription) {
	t.Helper()
	want, ok := included.Plan(sub.Attributes.PlanID)
	if plan, _ := included.PlanOf(sub); ok && plan != want {
		t.Errorf("subscription %s: PlanOf does not find the included plan %s", sub.ID, want.ID)
	}
}

// Which includes there are depends on the generation of the store's payload. A subscription to
// an older offering may lack some of them.
func liveGet(t *testing.T, c *commerce.Client) {
	t.Helper()
	ctx := liveContext(t)
	listed := &subscriptions(t, c, commerce.SubscriptionInclude{}).Subscriptions[0]
	include := commerce.SubscriptionInclude{Plans: true, PricingOptions: true}
	got, err := c.Subscriptions.Get(ctx, listed.ID, include)
	if errors.Is(err, commerce.ErrBadRequest) {
		include = commerce.SubscriptionInclude{Plans: true, Products: true}
		got, err = c.Subscriptions.Get(ctx, listed.ID, include)
	}
	check(t, err)
	sub, a := &got.Subscription, &got.Subscription.Attributes
	diff(t, "account and plan", []uuid.UUID{a.AccountID, a.PlanID},
		[]uuid.UUID{listed.Attributes.AccountID, listed.Attributes.PlanID})
	checkPlan(t, &got.Included, sub)
	want, ok := got.Included.PricingOption(a.PricingOptionID)
	if option, _ := got.Included.PricingOptionOf(sub); ok && option != want {
		t.Errorf("PricingOptionOf does not find the included pricing option %s", want.ID)
	}
	t.Logf("%d plans, %d products, %d pricing options",
		len(got.Included.Plans), len(got.Included.Products), len(got.Included.PricingOptions))
	_, err = c.Subscriptions.Get(ctx, uuid.New(), include)
	if !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("an unknown id: error = %v, want ErrNotFound", err)
	}
}

func liveFilter(t *testing.T, c *commerce.Client) {
	t.Helper()
	a := subscriptions(t, c, commerce.SubscriptionInclude{}).Subscriptions[0].Attributes
	filter := commerce.SubscriptionFilter{AccountID: a.AccountID, ExternalRef: a.ExternalRef}
	page, err := c.Subscriptions.List(liveContext(t), &commerce.SubscriptionListOptions{Filter: filter, PageSize: 5})
	check(t, err)
	if len(page.Subscriptions) == 0 {
		t.Error("got no subscription, want at least one")
	}
	for _, sub := range page.Subscriptions {
		if sub.Attributes.AccountID != a.AccountID || a.ExternalRef != "" && sub.Attributes.ExternalRef != a.ExternalRef {
			t.Errorf("subscription %s: got another account or external reference", sub.ID)
		}
	}
}

// A list of values becomes the operator in.
func liveFilterIn(t *testing.T, c *commerce.Client) {
	t.Helper()
	account := subscriptions(t, c, commerce.SubscriptionInclude{}).Subscriptions[0].Attributes.AccountID
	filter := commerce.SubscriptionFilter{AccountIDs: []uuid.UUID{account, uuid.New()}}
	page, err := c.Subscriptions.List(liveContext(t), &commerce.SubscriptionListOptions{Filter: filter, PageSize: 5})
	if errors.Is(err, commerce.ErrBadRequest) {
		t.Skip("the store does not know the operator in, as older ones")
	}
	check(t, err)
	if len(page.Subscriptions) == 0 {
		t.Error("got no subscription, want at least one")
	}
	for _, sub := range page.Subscriptions {
		if sub.Attributes.AccountID != account {
			t.Errorf("subscription %s: got another account", sub.ID)
		}
	}
}

// The service accepts any text in a quoted operand of a filter.
func liveFilterGrammar(t *testing.T, c *commerce.Client) {
	t.Helper()
	ctx := liveContext(t)
	for _, text := range []string{"nobody+1@example.com", `a "quoted" \ one`, "a,b(c):d'e'", "ünïcode & = # %"} {
		filter := commerce.SubscriptionFilter{ExternalRef: text}
		page, err := c.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{Filter: filter})
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if n := len(page.Subscriptions); n != 0 {
			t.Errorf("%q: got %d subscriptions, want none", text, n)
		}
	}
}

func liveWalk(t *testing.T, c *commerce.Client) {
	t.Helper()
	checkWalk(t, c.Subscriptions.All(liveContext(t), nil))
}

func liveWalkByAccount(t *testing.T, c *commerce.Client) {
	t.Helper()
	checkWalk(t, c.Subscriptions.AllByAccount(liveContext(t), nil, nil))
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
	t.Helper()
	c, err := c.With(commerce.WithToken("not-a-token"))
	check(t, err)
	if _, err = c.Subscriptions.List(liveContext(t), nil); !errors.Is(err, commerce.ErrUnauthorized) {
		t.Errorf("error = %v, want ErrUnauthorized", err)
	}
}

// A store may add lines of its own to a cart.
func TestFind(t *testing.T) {
	t.Parallel()
	items := json.RawMessage(`{"data":[{"type":"promotion_item","id":"a"},{"meta":[1],"type":"custom_item","id":"b"}]}`)
	diff(t, "id of the custom_item", find(items, "type", "custom_item")["id"], "b")
	diff(t, "id of a cart", find(items, "type", "cart")["id"], "")
}
