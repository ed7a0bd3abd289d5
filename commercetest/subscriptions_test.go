package commercetest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func TestAddSubscription(t *testing.T) {
	t.Parallel()
	store := seeded(commercetest.FirstGeneration, 2)
	sub := commerce.Subscription{ID: uuid.MustParse(cartItem), Type: "subscription"}
	sub.Attributes.ExternalRef = "new"
	sub.Meta.Timestamps.CreatedAt = time.Date(2025, 1, 2, 3, 4, 5, 123456789, time.UTC)
	sub.Extra = commerce.Extra{"later": json.RawMessage(`{"a":1}`)}
	store.AddSubscription(sub)
	sub.Extra["later"][5] = '2' // the store must not see this change

	resp := send(t, store, get(listPath))
	wantEqual(t, "list", decodeList(t, resp).refs(), []string{"new", "order-000002", "order-000001"})
	for _, want := range []string{`"later":{"a":1}`, `"created_at":"2025-01-02T03:04:05.123456789Z"`} {
		if !strings.Contains(resp.Body, want) {
			t.Errorf("list = %s, want %s in it", resp.Body, want)
		}
	}
	invalid := commerce.Subscription{Extra: commerce.Extra{"x": json.RawMessage("{")}}
	if panicText(func() { store.AddSubscription(invalid) }) == "" {
		t.Error("AddSubscription with invalid JSON does not panic, want a panic")
	}
}

func TestRemoveSubscription(t *testing.T) {
	t.Parallel()
	store := seeded(commercetest.FirstGeneration, 3)
	second := uuid.MustParse(decodeList(t, send(t, store, get(listPath))).Data[1].ID)
	wantEqual(t, "RemoveSubscription", store.RemoveSubscription(second), true)
	wantEqual(t, "RemoveSubscription again", store.RemoveSubscription(second), false)
	wantEqual(t, "list", decodeList(t, send(t, store, get(listPath))).refs(), []string{"order-000003", "order-000001"})
}

// A list can include the seeded plans and pricing options that an added
// subscription names. Its own ones are active.
func TestAddSubscription_namesSeededPlans(t *testing.T) {
	t.Parallel()
	store := seeded(commercetest.SecondGeneration, 12)
	newest := func() *commerce.SubscriptionPage {
		t.Helper()
		page, err := store.Client().Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{
			PageSize: 1, Include: commerce.SubscriptionInclude{Plans: true, PricingOptions: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	page := newest()
	seed := page.Subscriptions[0].Attributes
	var other commerce.PricingOption // the one that the seeded subscription does not have
	for _, o := range page.Included.PricingOptions {
		wantEqual(t, "active: "+o.ID.String(), o.Meta.ActivePricingOption, o.ID == seed.PricingOptionID)
		if o.ID != seed.PricingOptionID {
			other = o
		}
	}

	sub := commerce.Subscription{ID: uuid.MustParse(cartItem), Type: "subscription"}
	sub.Attributes.PlanID, sub.Attributes.PricingOptionID = seed.PlanID, other.ID
	store.AddSubscription(sub)
	page = newest()
	wantEqual(t, "list", page.Subscriptions, []commerce.Subscription{sub})
	plan, _ := page.Included.Plan(seed.PlanID)
	wantEqual(t, "plan is active", plan.Meta.ActivePlan, true)
	for _, o := range page.Included.PricingOptions {
		wantEqual(t, "active: "+o.ID.String(), o.Meta.ActivePricingOption, o.ID == other.ID)
	}
}

func TestUpdateSubscription(t *testing.T) {
	t.Parallel()
	store := seeded(commercetest.SecondGeneration, 10)
	before := slices.Collect(store.Subscriptions())
	paused := before[3] // order-000007
	target := listPath + "/" + paused.ID.String()
	read := func(target string) wireResponse { return send(t, store, get(target)) }
	wantEqual(t, "state", paused.Meta.State.Attributes.Action, "pause")
	change := func(what string, change func(*commerce.Subscription)) {
		t.Helper()
		wantEqual(t, what, store.UpdateSubscription(paused.ID, change), true)
	}
	change("new ref", func(sub *commerce.Subscription) {
		wantEqual(t, "subscription to change", *sub, paused)
		sub.Attributes.ExternalRef = "new"
		sub.Extra = commerce.Extra{"later": json.RawMessage(`1`)}
	})
	want := slices.Clone(before)
	want[3].Attributes.ExternalRef, want[3].Extra = "new", commerce.Extra{"later": json.RawMessage(`1`)}
	wantEqual(t, "subscriptions", slices.Collect(store.Subscriptions()), want)
	found := decodeList(t, send(t, store, get(listPath+"?filter=eq(external_ref,new)"))).refs()
	wantEqual(t, "found by the new ref", found, []string{"new"})
	wantStates(t, read, target, []string{"pause"})

	change("same state, changed", func(sub *commerce.Subscription) { sub.Meta.State.Attributes.Action = "resume" })
	change("state with another id", func(sub *commerce.Subscription) { sub.Meta.State.ID = uuid.New() })
	change("no state", func(sub *commerce.Subscription) { sub.Meta.State = commerce.SubscriptionState{} })
	wantStates(t, read, target, []string{"resume", "resume"})

	if store.UpdateSubscription(uuid.New(), func(*commerce.Subscription) { t.Error("change is called") }) {
		t.Error("UpdateSubscription of an unknown id = true, want false")
	}
}

// A loop over the subscriptions may end early, and sees no changes that are made meanwhile.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	store := seeded(commercetest.FirstGeneration, 3)
	var refs []string
	for sub := range store.Subscriptions() {
		refs = append(refs, sub.Attributes.ExternalRef)
		store.RemoveSubscription(sub.ID)
		store.AddSubscription(commerce.Subscription{ID: uuid.New()})
		if len(refs) == 2 {
			break
		}
	}
	wantEqual(t, "refs", refs, []string{"order-000003", "order-000002"})
}
