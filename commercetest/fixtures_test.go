package commercetest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// A cart is as the fixture says, and a request that changes it shows it before and after.
func TestStore_AddCartFixture(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	discount := commerce.NewCustomDiscount{
		Amount: commerce.NewDecimal(-100), Description: "d", DiscountCode: "c", DiscountEngine: "e", ExternalID: "1",
	}
	id, err := store.AddCartFixture(commercetest.CartFixture{
		Items: []commercetest.ItemFixture{
			{Price: new(int64(250)), Quantity: 4}, {Price: new(int64(1))}, {Price: new(int64)},
		},
		Discounts: []commerce.NewCustomDiscount{discount, discount},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := store.Client()
	cart, err := client.Carts.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	total := cart.DisplayPrice.WithTax.Amount.String()
	wantEqual(t, "total, of 4 x 250 + 1 + 0 - 2 x 100", total, "801")
	if len(cart.CustomDiscounts) != 2 || !cart.CustomDiscountsEnabled {
		t.Errorf("cart %+v, want two discounts, and more accepted", cart)
	}
	discount.ExternalID = "2"
	_, err = client.Carts.AddCustomDiscounts(t.Context(), id, []commerce.NewCustomDiscount{discount}, nil)
	if err != nil {
		t.Fatal(err)
	}
	requests := store.Requests()
	if in := requests[0]; in.Before != nil || in.After != nil {
		t.Errorf("a read changed the cart from %v to %v", in.Before, in.After)
	}
	in := requests[1]
	got := fmt.Sprintf("%d items %v, %d items %v",
		len(in.Before.Items), in.Before.Discounts, len(in.After.Items), in.After.Discounts)
	wantEqual(t, "before and after", got,
		"3 items [e 1 -$1.00 e 1 -$1.00], 3 items [e 1 -$1.00 e 1 -$1.00 e 2 -$1.00]")
	in.After.Discounts[0].ExternalID, in.Before.Items[0] = "changed", commercetest.CartItemState{}
	again := store.Requests()[1]
	wantEqual(t, "after the result was changed", again.After.Discounts[0].ExternalID, "1")
	if again.Before.Items[0].ID == uuid.Nil {
		t.Error("the items changed with the result")
	}
}

// A cart may take no discounts, have a promotion, or have discounts of its items.
func TestStore_AddCartFixture_others(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	item := commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: uuid.New()}
	for want, f := range map[string]commercetest.CartFixture{
		"true []: cart_item custom_item":                {},
		"false []: cart_item custom_item":               {DiscountsEnabled: new(false)},
		"true []: cart_item custom_item promotion_item": {Promotion: true},
		"true []:": {Items: []commercetest.ItemFixture{}},
		fmt.Sprintf("true [%s]: custom_item", item.ID): {
			Items: []commercetest.ItemFixture{{CartItemRef: item}},
			Discounts: []commerce.NewCustomDiscount{{
				Amount: commerce.NewDecimal(-1), Description: "d", DiscountCode: "c", DiscountEngine: "e", ExternalID: "1",
				Item: &item,
			}},
		},
	} {
		id, err := store.AddCartFixture(f)
		if err != nil {
			t.Fatal(err)
		}
		cart, err := store.Client().Carts.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var items []uuid.UUID
		for _, d := range cart.CustomDiscounts {
			items = append(items, d.Item.ID)
		}
		got := fmt.Sprintf("%t %v:", cart.CustomDiscountsEnabled, items)
		for _, item := range cart.Items {
			got += " " + string(item.Type)
		}
		wantEqual(t, "cart", got, want)
	}
}

// A cart that takes custom discounts does not use promotions, whatever the store sets.
func TestStore_AddCartFixture_settings(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	send(t, store, put("/v2/settings/cart", `{"data":{"type":"settings","discounts":{"use_rule_promotions":true}}}`))
	for _, tt := range []struct {
		name    string
		fixture commercetest.CartFixture
		want    [2]bool
	}{
		{name: "enabled", want: [2]bool{true, false}},
		{name: "not enabled", fixture: commercetest.CartFixture{DiscountsEnabled: new(false)}, want: [2]bool{false, true}},
	} {
		id, err := store.AddCartFixture(tt.fixture)
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, tt.name+": settings", settingsOf(t, send(t, store, get("/v2/carts/"+id))), tt.want)
	}
}

func TestStore_AddCartFixture_refuses(t *testing.T) {
	t.Parallel()
	item := commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.New()}
	discount := commerce.NewCustomDiscount{
		Amount: commerce.NewDecimal(-1), Description: "d", DiscountCode: "c", DiscountEngine: "e", ExternalID: "1",
		Item: &item,
	}
	store := commercetest.New(t, commercetest.Config{})

	unknown := commercetest.ItemFixture{CartItemRef: commerce.CartItemRef{Type: "x"}}
	for want, f := range map[string]commercetest.CartFixture{
		"items: the type of item 0":        {Items: []commercetest.ItemFixture{unknown}},
		"items: the price and the quanti":  {Items: []commercetest.ItemFixture{{Price: new(int64(-1))}}},
		"items: the price and the quantit": {Items: []commercetest.ItemFixture{{Quantity: -1}}},
		"items: the id of item 1":          {Items: []commercetest.ItemFixture{{CartItemRef: item}, {CartItemRef: item}}},
		"discounts: number 0: ":            {Discounts: []commerce.NewCustomDiscount{{}}},
		"discounts: number 0 is for an":    {Discounts: []commerce.NewCustomDiscount{discount}},
	} {
		if _, err := store.AddCartFixture(f); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error = %v, want %s", err, want)
		}
	}
	wantEqual(t, "carts", len(store.Carts()), 0)
}

// Subscriptions are as the fixture says, in each generation, and their plans can be included.
func TestStore_AddSubscriptionFixture(t *testing.T) {
	t.Parallel()
	for _, generation := range []commercetest.Generation{commercetest.FirstGeneration, commercetest.SecondGeneration} {
		plans := commercetest.New(t, commercetest.Config{Generation: generation})
		plans.Seed(20)
		var plan uuid.UUID
		for sub := range plans.Subscriptions() {
			plan = sub.Attributes.PlanID
		}
		store := commercetest.New(t, commercetest.Config{Generation: generation})
		account := uuid.New()
		states := []string{
			"", "active", "canceled", "closed", "canceled_at_once", "paused", "pending", "resumed", "suspended",
		}
		for _, state := range states {
			f := commercetest.SubscriptionFixture{
				Number: 2, State: state, Currency: "GBP", PlanID: plan, AccountID: account,
			}
			ids, err := store.AddSubscriptionFixture(f)
			if err != nil || len(ids) != 2 {
				t.Fatalf("%+v: got %v, %v, want two ids", f, ids, err)
			}
			sub, err := store.Client().Subscriptions.Get(t.Context(), ids[1], commerce.SubscriptionInclude{})
			if err != nil {
				t.Fatal(err)
			}
			wantState(t, state, generation, sub.Subscription.Meta)
			a := sub.Subscription.Attributes
			got, want := fmt.Sprint(a.AccountID, a.PlanID, a.Currency), fmt.Sprint(account, plan, "GBP")
			wantEqual(t, "owner, plan and currency", got, want)
		}
		page, err := store.Client().Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{
			Include: commerce.SubscriptionInclude{Plans: true},
		})
		if err != nil || len(page.Subscriptions) != 18 {
			t.Fatalf("%v generation: got %v, %v, want 18 subscriptions", generation, page, err)
		}
		sub := &page.Subscriptions[0]
		if _, ok := page.Included.PlanOf(sub); !ok {
			t.Errorf("%v generation: the plan is not included", generation)
		}
		if refs := sub.Attributes.Offering.Relationships.Get("plans").Data.Refs; !slices.ContainsFunc(refs, isID(plan)) {
			t.Errorf("%v generation: the offering has the plans %v, want %v", generation, refs, plan)
		}
		var accounts []uuid.UUID
		for id, err := range store.Client().Accounts.IDs(t.Context(), uuid.Nil) {
			if err != nil {
				t.Fatal(err)
			}
			accounts = append(accounts, id)
		}
		wantEqual(t, "accounts", accounts, []uuid.UUID{account})
	}
}

func TestStore_AddSubscriptionFixture_refuses(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	for want, f := range map[string]commercetest.SubscriptionFixture{
		"number must":      {Number: -1},
		"number must be":   {Number: 250_001},
		"state must":       {State: "gone"},
		"currency must":    {Currency: "usd"},
		"currency must be": {Currency: "USDT"},
		"plan_id must":     {PlanID: uuid.New()},
	} {
		if _, err := store.AddSubscriptionFixture(f); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error = %v, want %s", err, want)
		}
	}
}

// wantState checks the meta of a subscription that is in a state of a fixture.
func wantState(t *testing.T, state string, g commercetest.Generation, m commerce.SubscriptionMeta) {
	t.Helper()
	is := func(states ...string) bool { return slices.Contains(states, state) }
	var want commerce.SubscriptionMeta
	want.Canceled, want.Closed, want.Paused = is("canceled", "canceled_at_once"), is("closed"), is("paused")
	want.Pending, want.Suspended, want.Status = is("pending"), is("suspended"), "active"
	if is("closed", "canceled_at_once") {
		want.Status = "inactive"
	}
	want.State.Attributes.Action = map[string]string{
		"canceled": "cancel", "canceled_at_once": "cancel", "paused": "pause", "pending": "pending", "resumed": "resume",
	}[state]
	if want.Canceled && g == commercetest.SecondGeneration {
		want.State.Attributes.CancelImmediately = new(is("canceled_at_once"))
	}
	got := commerce.SubscriptionMeta{
		Canceled: m.Canceled, Closed: m.Closed, Paused: m.Paused, Pending: m.Pending, Suspended: m.Suspended,
		Status: m.Status, State: commerce.SubscriptionState{Attributes: m.State.Attributes},
	}
	wantEqual(t, fmt.Sprintf("%v generation, state %q", g, state), got, want)
	isAt := []bool{!m.Timestamps.CanceledAt.IsZero(), !m.Timestamps.ResumedAt.IsZero()}
	wantEqual(t, "has canceled_at, resumed_at of "+state, isAt, []bool{want.Canceled, is("resumed")})
}

func isID(id uuid.UUID) func(commerce.ResourceRef) bool {
	return func(ref commerce.ResourceRef) bool { return ref.ID == id }
}

// Without an account, they go on where those of Seed end.
func TestStore_AddSubscriptionFixture_numbers(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	store.Seed(4)
	for sub := range store.Subscriptions() {
		store.SetSubscriber(sub.Attributes.AccountID, commercetest.Subscriber{Email: sub.Attributes.ExternalRef})
	}
	if _, err := store.AddSubscriptionFixture(commercetest.SubscriptionFixture{}); err != nil {
		t.Fatal(err)
	}
	for sub := range store.Subscriptions() {
		who, _ := store.SubscriberOf(sub.Attributes.AccountID)
		wantEqual(t, "the newest", sub.Attributes.ExternalRef+" "+who.Email, "order-000005 order-000001")
		break
	}
}

// A configuration is the same after it was encoded. A choice that does not exist is not encoded.
func TestConfig_MarshalText(t *testing.T) {
	t.Parallel()
	for n := range uint8(5) {
		want := commercetest.Config{
			Generation: commercetest.Generation(n % 2), Links: commercetest.Links(n), EmptyLists: commercetest.EmptyLists(n),
		}
		text, err := json.Marshal(want)
		if n == 4 {
			if err == nil {
				t.Errorf("%+v is encoded as %s", want, text)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var got commercetest.Config
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, string(text), fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	}
}

// The names of a store's choices are those of its JSON.
func TestConfig_UnmarshalText(t *testing.T) {
	t.Parallel()
	var cfg commercetest.Config
	for _, row := range []struct {
		name   string
		into   interface{ UnmarshalText([]byte) error }
		reason string
	}{
		{"first", &cfg.Generation, ""},
		{"third", &cfg.Generation, `must be one of ["second" "first"]`},
		{"without_next", &cfg.Links, ""},
		{"arrays", &cfg.EmptyLists, ""},
		{"", &cfg.EmptyLists, "must be one of"},
	} {
		err := row.into.UnmarshalText([]byte(row.name))
		if fmt.Sprint(err) == "<nil>" != (row.reason == "") || err != nil && !strings.HasPrefix(err.Error(), row.reason) {
			t.Errorf("%q: error = %v, want %q", row.name, err, row.reason)
		}
	}
	want := commercetest.Config{
		Generation: commercetest.FirstGeneration, Links: commercetest.LinksWithoutNext,
		EmptyLists: commercetest.EmptyListsAsArrays,
	}
	wantEqual(t, "config", fmt.Sprintf("%+v", cfg), fmt.Sprintf("%+v", want))
}

// A fault that cannot be, or changes nothing, is refused with the name of a field.
func TestFault_Validate(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]commercetest.Fault{
		"Operation": {Operation: "ad", Status: 503},
		"Status":    {Status: 199},
		"Status, ":  {Apply: true},
		"Status m":  {Status: 600},
		"After, ":   {After: -1, Status: 503},
		"After, D":  {Delay: -1},
		"After, De": {Cut: true, CutAfter: -1},
		"CutAfter":  {Status: 503, CutAfter: 1},
		"Apply":     {Apply: true, Late: true},
	} {
		if err := f.Validate(); err == nil || !strings.HasPrefix(err.Error(), "commercetest: Fault."+want) {
			t.Errorf("%+v: error = %v, want %s", f, err, want)
		}
	}
	for _, f := range []commercetest.Fault{
		{Status: 101}, {Cut: true}, {Late: true}, {Delay: 1}, {Body: "x"}, {Header: http.Header{"A": {"b"}}, Times: -1},
	} {
		if err := f.Validate(); err != nil {
			t.Errorf("%+v: error = %v, want nil", f, err)
		}
	}
}
