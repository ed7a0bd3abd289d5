package commercetest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

var generations = []struct {
	name       string
	generation commercetest.Generation
	second     string // what a list can include besides plans
	secondType string
}{
	{
		name: "second", generation: commercetest.SecondGeneration,
		second: "pricing_options", secondType: "subscription_offering_pricing_option",
	},
	{
		name: "first", generation: commercetest.FirstGeneration,
		second: "products", secondType: "subscription_offering_product",
	},
}

// A page of 13 subscriptions, of which the newest seven suffice, has exactly the
// members of the page in testdata/payload, which was written after the documentation
// of the service. So a member name that the library encodes and decodes in the same
// wrong way is noticed.
func TestSeed_documentedMembers(t *testing.T) {
	t.Parallel()
	for _, g := range generations {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			documented, err := os.ReadFile("../testdata/payload/" + g.name + "_generation.json")
			if err != nil {
				t.Fatal(err)
			}
			resp := send(t, seeded(g.generation, 13), get(listPath+"?page[limit]=7&include=plans,"+g.second))
			want, got := map[string]bool{}, map[string]bool{}
			addMembers(want, "", decodeJSON(t, string(documented)))
			addMembers(got, "", decodeJSON(t, resp.Body))
			wantEqual(t, "members", got, want)

			for _, member := range []string{"first_invoice_prepaid", "cancel_immediately"} {
				for _, value := range []string{"true", "false"} {
					found := strings.Contains(resp.Body, `"`+member+`":`+value)
					wantEqual(t, member+" is "+value, found, g.generation == commercetest.SecondGeneration)
				}
			}
		})
	}
}

var isKey = regexp.MustCompile(`^([A-Z]{3}|[0-9a-f]{8}-[0-9a-f-]{27})$`) // a currency or an id

// addMembers adds the names of all members in v, each with its type and the name of
// the member that it is in. Keys of maps are not names. Links differ in form, and null
// is a value of any type, so both are left out.
func addMembers(members map[string]bool, parent string, v any) {
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			addMembers(members, parent, element)
		}
	case map[string]any:
		for name, value := range v {
			if isKey.MatchString(name) {
				addMembers(members, parent, value)
				continue
			}
			if value != nil {
				members[fmt.Sprintf("%s.%s %T", parent, name, value)] = true
			}
			if name != "links" {
				addMembers(members, name, value)
			}
		}
	}
}

// Each subscription has a plan that is included as active, and in the second
// generation a pricing option. Plans and pricing options agree on their prices. A
// relationship to several resources is an array, one to a single resource an object.
func TestSeed_plansAndPricingOptions(t *testing.T) {
	t.Parallel()
	for _, g := range generations {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			isSecond := g.generation == commercetest.SecondGeneration
			page, err := seeded(g.generation, 100).Client().Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{
				PageSize: 100,
				Include:  commerce.SubscriptionInclude{Plans: true, Products: !isSecond, PricingOptions: isSecond},
			})
			if err != nil {
				t.Fatal(err)
			}
			combinations, arrays := map[[2]uuid.UUID]bool{}, map[bool]bool{}
			for _, sub := range page.Subscriptions {
				planID, optionID := sub.Attributes.PlanID, sub.Attributes.PricingOptionID
				combinations[[2]uuid.UUID{planID, optionID}] = true
				plans := sub.Attributes.Offering.Relationships.Get("plans").Data
				arrays[plans.Many] = true
				wantEqual(t, "plans of the offering are an array", plans.Many, len(plans.Refs) > 1)
				plan, ok := page.Included.Plan(planID)
				wantEqual(t, sub.Attributes.ExternalRef+": plan is active", ok && plan.Meta.ActivePlan, true)
				option, ok := page.Included.PricingOption(optionID)
				wantEqual(t, sub.Attributes.ExternalRef+": option is active", ok && option.Meta.ActivePricingOption, isSecond)
			}
			wantEqual(t, "plans are an array or an object", arrays, map[bool]bool{true: true, false: true})
			for _, option := range page.Included.PricingOptions {
				for id, price := range option.Meta.Prices {
					plan, ok := page.Included.Plan(uuid.MustParse(id))
					if !ok {
						t.Fatalf("pricing option %s has a price for plan %s, want that plan included", option.ID, id)
					}
					wantEqual(t, "price of the plan for the option", plan.Meta.Prices[option.ID.String()], price)
					wantEqual(t, "price of the option", price.Price, option.Meta.Price)
				}
			}
			if isSecond { // each plan occurs with each pricing option of its offering
				wantEqual(t, "combinations", len(combinations), 2*1+2*2+1*1+2*2)
				wantEqual(t, "plans", len(page.Included.Plans), 6)
				wantEqual(t, "pricing options", len(page.Included.PricingOptions), 7)
			} else { // one plan of each offering occurs
				wantEqual(t, "combinations", len(combinations), 4)
				wantEqual(t, "plans", len(page.Included.Plans), 7)
				wantEqual(t, "products", len(page.Included.Products), 6)
			}
		})
	}
}

func TestSeed_isDeterministic(t *testing.T) {
	t.Parallel()
	body := func(store *commercetest.Store) string {
		return send(t, store, get(listPath+"?include=plans,products&page[limit]=100")).Body
	}
	store := seeded(commercetest.FirstGeneration, 3)
	store.Seed(100)
	wantEqual(t, "list", body(store), body(seeded(commercetest.FirstGeneration, 100)))
	smaller := decodeList(t, send(t, seeded(commercetest.FirstGeneration, 40), get(listPath+"?page[limit]=100")))
	larger := decodeList(t, send(t, store, get(listPath+"?page[limit]=100")))
	wantEqual(t, "oldest", larger.Data[60:], smaller.Data)
	store.Seed(-1)
	wantEqual(t, "list after Seed(-1)", len(decodeList(t, send(t, store, get(listPath))).Data), 0)
}

func TestSeed_states(t *testing.T) {
	t.Parallel()
	store := seeded(commercetest.FirstGeneration, 100)
	var list struct{ Data []commerce.Subscription }
	if err := json.Unmarshal([]byte(send(t, store, get(listPath+"?page[limit]=100")).Body), &list); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	accounts, ids := map[uuid.UUID]int{}, map[uuid.UUID]bool{}
	email := regexp.MustCompile(`^subscriber-\d{4}@example\.com$`)
	for i, sub := range list.Data {
		ref, m := sub.Attributes.ExternalRef, sub.Meta
		ids[sub.ID] = true
		accounts[sub.Attributes.AccountID]++
		if who, ok := store.SubscriberOf(sub.Attributes.AccountID); !ok || who.Name == "" || !email.MatchString(who.Email) {
			t.Errorf("%s: SubscriberOf() = %+v, %t, want a name and an email", ref, who, ok)
		}
		if i > 0 && !m.Timestamps.CreatedAt.Before(list.Data[i-1].Meta.Timestamps.CreatedAt) {
			t.Errorf("%s: created_at = %v, want it before that of the previous one", ref, m.Timestamps.CreatedAt)
		}
		counts["status "+m.Status]++
		counts["action "+m.State.Attributes.Action]++
		for name, flag := range map[string]bool{
			"paused": m.Paused, "canceled": m.Canceled, "closed": m.Closed, "suspended": m.Suspended, "pending": m.Pending,
			"canceled and active": m.Canceled && m.Status == "active", "manual payments": m.ManualPayments,
			"closed, but not only": m.Closed && (m.Canceled || m.Status == "active"),
			"goes live later":      m.Timestamps.GoLive.IsZero() && m.Timestamps.GoLiveAfter.After(m.Timestamps.CreatedAt),
		} {
			if flag {
				counts[name]++
			}
		}
		_, fraction, _ := strings.Cut(m.Timestamps.CreatedAt.Format(time.RFC3339Nano), ".")
		counts[fmt.Sprint("digits ", len(fraction)-len("Z"))]++
	}
	wantEqual(t, "subscriptions by state", counts, map[string]int{
		"status active": 91, "status inactive": 9,
		"action ": 53, "action cancel": 22, "action pause": 13, "action pending": 7, "action resume": 5,
		"canceled": 22, "canceled and active": 17, "closed": 4, "paused": 13, "suspended": 7, "pending": 7,
		"goes live later": 7, "manual payments": 2, "digits 3": 33, "digits 6": 34, "digits 9": 33,
	})
	wantEqual(t, "ids", len(ids), 100)
	wantEqual(t, "accounts", len(accounts), 34)
	for id, n := range accounts {
		if n > 3 {
			t.Errorf("account %s has %d subscriptions, want at most 3", id, n)
		}
	}
	if who, ok := store.SubscriberOf(uuid.Nil); ok {
		t.Errorf("SubscriberOf(uuid.Nil) = %+v, true, want false", who)
	}
}
