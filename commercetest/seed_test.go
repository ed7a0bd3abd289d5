package commercetest_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

var generations = []struct {
	name       string
	generation commercetest.Generation
	second     string // what a list includes besides plans
	file       string // a page with all that is included
}{
	{"first", commercetest.FirstGeneration, "products", "testdata/first_generation.json"},
	{"second", commercetest.SecondGeneration, "pricing_options", "testdata/second_generation.json"},
}

func seededGeneration(g commercetest.Generation, n int) *commercetest.Store {
	store := commercetest.NewStore(commercetest.Config{Generation: g})
	store.Seed(n)
	return store
}

// everyMember is the number of subscriptions from which on the seeds show every member
// of their generation: the seven newest do.
const everyMember = 13

// TestGenerations compares a page with one that was checked against the
// documentation, so that a name which the library encodes and decodes in the same
// wrong way is noticed.
func TestGenerations(t *testing.T) {
	t.Parallel()
	for _, tt := range generations {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(tt.file)
			if err != nil {
				t.Fatal(err)
			}
			eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
				store := seededGeneration(tt.generation, everyMember)
				wantJSON(t, send(store, get(listPath+"?page[limit]=7&include=plans,"+tt.second)), 200, string(want))
			})
		})
	}
}

func TestGenerationIncludes(t *testing.T) {
	t.Parallel()
	for _, tt := range generations {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			other := generations[1-int(tt.generation)].second
			for _, row := range []struct {
				include string
				plans   int // of the offering of the newest subscription
				second  int
				refused bool
			}{
				{include: "plans", plans: 2},
				{include: tt.second, second: 2},
				{include: "plans," + tt.second, plans: 2, second: 2},
				{include: tt.second + "%2Cplans", plans: 2, second: 2},
				{include: ""},
				{include: other, refused: true},
				{include: "plans," + other, refused: true},
				{include: tt.second + "," + other, refused: true},
				{include: "plan", refused: true},
			} {
				t.Run(row.include, func(t *testing.T) {
					t.Parallel()
					eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
						a := send(seededGeneration(tt.generation, 9), get(listPath+"?page[limit]=1&include="+row.include))
						if row.refused {
							wantJSON(t, a, 400, fmt.Sprintf(
								`{"errors":[{"status":"400","title":"Validation Error","detail":"include must be plans, %[1]s or plans,%[1]s"}]}`, tt.second))
							return
						}
						got := map[string]int{}
						for name, list := range decodeList(t, a).Included {
							got[name] = len(list)
						}
						want := map[string]int{}
						if row.plans > 0 {
							want["plans"] = row.plans
						}
						if row.second > 0 {
							want[tt.second] = row.second
						}
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("included (-want +got):\n%s", diff)
						}
					})
				})
			}
		})
	}
}

// TestClientDecodesGenerations holds that the library has a typed field for all
// that the store sends, and fills it.
func TestClientDecodesGenerations(t *testing.T) {
	t.Parallel()
	// What one generation has and the other has not, by what is looked at.
	differ := map[commercetest.Generation][]string{
		commercetest.FirstGeneration: {
			"included.products", "offering.external_product_refs", "plan.billing", "plan.price by currency in meta",
		},
		commercetest.SecondGeneration: {
			"included.pricing_options", "offering.external_plan_refs", "pricing_option_id", "first_invoice_prepaid",
			"plan.sku", "plan.main_image", "plan.price", "plan.price_units", "plan.feature_configurations", "plan.meta.prices", "plan.tax",
		},
	}
	for _, tt := range generations {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client := seededGeneration(tt.generation, 120).Client()
			opts := &commerce.SubscriptionListOptions{PageSize: 50, Include: commerce.SubscriptionInclude{
				Plans: true, Products: tt.second == "products", PricingOptions: tt.second == "pricing_options",
			}}
			seen := map[string]bool{}
			see := func(what string, v any) { seen[what] = seen[what] || !reflect.ValueOf(v).IsZero() }
			n := 0
			sold := map[[2]uuid.UUID]bool{} // plans with their pricing options
			for page, err := range client.Subscriptions.Pages(t.Context(), opts) {
				if err != nil {
					t.Fatal(err)
				}
				checked := 0
				for _, path := range extras(reflect.ValueOf(page), "page", &checked) {
					t.Errorf("untyped: %s", path)
				}
				if checked < 500 {
					t.Errorf("only %d places for what is untyped", checked)
				}
				see("included.products", page.Included.Products)
				see("included.pricing_options", page.Included.PricingOptions)
				for _, sub := range page.Subscriptions {
					n++
					sold[[2]uuid.UUID{sub.Attributes.PlanID, sub.Attributes.PricingOptionID}] = true
					see("offering.external_product_refs", sub.Attributes.Offering.Meta.ExternalProductRefs)
					see("offering.external_plan_refs", sub.Attributes.Offering.Meta.ExternalPlanRefs)
					see("pricing_option_id", sub.Attributes.PricingOptionID)
					see("first_invoice_prepaid", sub.Meta.FirstInvoicePrepaid)
					if p, ok := page.Included.Plan(sub.Attributes.PlanID); !ok || !p.Meta.ActivePlan {
						t.Errorf("%s: its plan is not included as active", sub.Attributes.ExternalRef)
					}
					if tt.generation == commercetest.SecondGeneration {
						if o, ok := page.Included.PricingOption(sub.Attributes.PricingOptionID); !ok || !o.Meta.ActivePricingOption {
							t.Errorf("%s: its pricing option is not included as active", sub.Attributes.ExternalRef)
						}
					}
				}
				for _, p := range page.Included.Plans {
					see("plan.billing", p.Attributes.BillingIntervalType)
					see("plan.price by currency in meta", p.Meta.Price)
					see("plan.sku", p.Attributes.SKU)
					see("plan.main_image", p.Attributes.MainImage)
					see("plan.price", p.Attributes.Price)
					see("plan.price_units", p.Attributes.PriceUnits.Unit)
					see("plan.feature_configurations", p.Attributes.FeatureConfigurations)
					see("plan.meta.prices", p.Meta.Prices)
					see("plan.tax", p.Meta.DisplayPrice.Tax)
				}
				for _, o := range page.Included.PricingOptions {
					checkPricingOption(t, page, o)
				}
			}
			if n != 120 {
				t.Errorf("%d subscriptions, want 120", n)
			}
			if want := 4 + 7*int(tt.generation); len(sold) != want { // second: each plan with each option of its offering
				t.Errorf("sold in %d ways, want %d", len(sold), want)
			}
			want := map[string]bool{}
			for g, names := range differ {
				for _, name := range names {
					want[name] = g == tt.generation
				}
			}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("what is filled (-want +got):\n%s", diff)
			}
		})
	}
}

// checkPricingOption checks that every field is filled, and agrees with the plans.
func checkPricingOption(t *testing.T, page *commerce.SubscriptionPage, o commerce.PricingOption) {
	t.Helper()
	v := reflect.ValueOf(o.Attributes)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "Extra" && v.Field(i).IsZero() {
			t.Errorf("pricing option %s: no %s", o.ID, name)
		}
	}
	for name, part := range map[string]any{
		"price": o.Meta.Price, "prices": o.Meta.Prices, "tax": o.Meta.DisplayPrice.Tax, "owner": o.Meta.Owner,
	} {
		if reflect.ValueOf(part).IsZero() {
			t.Errorf("pricing option %s: no %s in meta", o.ID, name)
		}
	}
	for text, price := range o.Meta.Prices {
		id, err := uuid.Parse(text)
		if err != nil {
			t.Errorf("pricing option %s: a price by %q", o.ID, text)
		}
		p, ok := page.Included.Plan(id)
		if !ok {
			t.Errorf("pricing option %s: a price by plan %s, which is not there", o.ID, id)
			continue
		}
		if diff := cmp.Diff(price, p.Meta.Prices[o.ID.String()]); diff != "" || len(price.Price) == 0 {
			t.Errorf("price of option %s (-option +plan):\n%s", o.ID, diff)
		}
	}
}

// extras returns where in v there is something in a field named Extra, and
// counts these fields.
func extras(v reflect.Value, path string, checked *int) (found []string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			found = extras(v.Elem(), path, checked)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := range v.Len() {
			found = append(found, extras(v.Index(i), fmt.Sprintf("%s[%d]", path, i), checked)...)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			found = append(found, extras(v.MapIndex(key), fmt.Sprintf("%s[%q]", path, key), checked)...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			switch {
			case !field.IsExported() || field.Name == "Response":
			case field.Name == "Extra":
				*checked++
				for _, key := range v.Field(i).MapKeys() {
					found = append(found, path+"."+key.String())
				}
			default:
				found = append(found, extras(v.Field(i), path+"."+field.Name, checked)...)
			}
		}
	default: // has no fields
	}
	return found
}

// TestSeedShowsEveryMember holds that a program which works with the seeded records has
// met all that the documentation has, also relationships with one resource.
func TestSeedShowsEveryMember(t *testing.T) {
	t.Parallel()
	absent := map[commercetest.Generation][]string{
		commercetest.FirstGeneration: {
			"DisplayPrice.Tax", "Included.PricingOptions", "OfferingMeta.ExternalPlanRefs",
			"PlanAttributes.FeatureConfigurations", "PlanAttributes.MainImage", "PlanAttributes.Price",
			"PlanAttributes.PriceUnits", "PlanAttributes.SKU", "PlanMeta.Prices",
			"SubscriptionAttributes.PricingOptionID", "SubscriptionMeta.FirstInvoicePrepaid",
			"SubscriptionMeta.LastRefundAmount", "SubscriptionMeta.LastRefundID", "SubscriptionMeta.PausedBy",
			"SubscriptionMeta.PendingPriceChange", "SubscriptionMeta.PriceUpdateHistory",
			"SubscriptionStateAttributes.CancelImmediately",
		},
		commercetest.SecondGeneration: {
			"Included.Products", "OfferingMeta.ExternalProductRefs", "PlanAttributes.Billing", "PlanMeta.Price",
		},
	}
	for _, tt := range generations {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client := seededGeneration(tt.generation, everyMember).Client()
			page, err := client.Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{PageSize: 7,
				Include: commerce.SubscriptionInclude{
					Plans: true, Products: tt.second == "products", PricingOptions: tt.second == "pricing_options",
				}})
			if err != nil {
				t.Fatal(err)
			}
			filled := map[string]bool{}
			noteFilled(reflect.ValueOf(page.Subscriptions), filled)
			noteFilled(reflect.ValueOf(page.Included), filled)
			var got []string
			for name := range filled {
				if !filled[name] {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			want := append([]string{"Link.DescribedBy", "Link.Title"}, absent[tt.generation]...) // the links are strings
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("fields that no record fills (-want +got):\n%s", diff)
			}
			checkForms(t, tt.generation, page.Subscriptions)
		})
	}
}

// checkForms checks that values occur in each form that the service sends them in.
func checkForms(t *testing.T, g commercetest.Generation, list []commerce.Subscription) {
	t.Helper()
	forms := map[string]bool{}
	for _, sub := range list {
		plans := sub.Attributes.Offering.Relationships.Get("plans").Data
		forms[fmt.Sprintf("plans as an array: %t", plans.Many)] = len(plans.Refs) > 0
		if p := sub.Meta.FirstInvoicePrepaid; p != nil {
			forms[fmt.Sprintf("first invoice prepaid: %t", *p)] = true
		}
		if c := sub.Meta.State.Attributes.CancelImmediately; c != nil {
			forms[fmt.Sprintf("cancel immediately: %t", *c)] = true
		}
	}
	want := map[string]bool{"plans as an array: true": true, "plans as an array: false": true}
	if g == commercetest.SecondGeneration {
		for _, name := range []string{"first invoice prepaid", "cancel immediately"} {
			want[name+": true"], want[name+": false"] = true, true
		}
	}
	if diff := cmp.Diff(want, forms); diff != "" {
		t.Errorf("forms (-want +got):\n%s", diff)
	}
}

// noteFilled notes, by type and name, the fields of the library's types in v, and
// which of them are filled in at least one value.
func noteFilled(v reflect.Value, filled map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			noteFilled(v.Elem(), filled)
		}
	case reflect.Slice:
		for i := range v.Len() {
			noteFilled(v.Index(i), filled)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			noteFilled(v.MapIndex(key), filled)
		}
	case reflect.Struct:
		decimal := reflect.TypeFor[commerce.Decimal]()
		if v.Type().PkgPath() != decimal.PkgPath() || v.Type() == decimal {
			return
		}
		for i := range v.NumField() {
			field, name := v.Field(i), v.Type().Field(i).Name
			if name == "Extra" {
				continue
			}
			key := v.Type().Name() + "." + name
			filled[key] = filled[key] || !field.IsZero()
			if name != "Billing" || !field.IsZero() { // a plan of the second generation has none
				noteFilled(field, filled)
			}
		}
	default: // has no fields
	}
}

func TestExtras(t *testing.T) {
	t.Parallel()
	some := commerce.Extra{"x": nil}
	page := &commerce.SubscriptionPage{
		Subscriptions: []commerce.Subscription{{}, {Meta: commerce.SubscriptionMeta{Extra: some}}},
		Included:      commerce.Included{Plans: []commerce.Plan{{Meta: commerce.PlanMeta{Prices: map[string]commerce.OptionPrice{"p": {Extra: some}}}}}},
		Extra:         some,
	}
	checked := 0
	want := []string{"page.Subscriptions[1].Meta.x", `page.Included.Plans[0].Meta.Prices["p"].x`, "page.x"}
	if diff := cmp.Diff(want, extras(reflect.ValueOf(page), "page", &checked)); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}

// A subscription that was added includes the seeded plans that it names.
func TestAddSubscriptionOfSecondGeneration(t *testing.T) {
	t.Parallel()
	store := seededGeneration(commercetest.SecondGeneration, 12)
	include := commerce.SubscriptionInclude{Plans: true, PricingOptions: true}
	first := &commerce.SubscriptionListOptions{PageSize: 1, Include: include}
	page, err := store.Client().Subscriptions.List(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	own := page.Subscriptions[0].Attributes
	option := page.Included.PricingOptions[0]
	if option.ID == own.PricingOptionID {
		option = page.Included.PricingOptions[1]
	}
	if option.Meta.ActivePricingOption {
		t.Errorf("pricing option %s is active, and nobody's", option.ID)
	}

	sub := commerce.Subscription{ID: uuid.MustParse(cartItem), Type: "subscription"}
	sub.Attributes.PlanID, sub.Attributes.PricingOptionID = own.PlanID, option.ID
	store.AddSubscription(sub)
	if page, err = store.Client().Subscriptions.List(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]commerce.Subscription{sub}, page.Subscriptions); diff != "" {
		t.Errorf("listed (-added +got):\n%s", diff)
	}
	if p, ok := page.Included.Plan(own.PlanID); !ok || !p.Meta.ActivePlan {
		t.Error("its plan is not included as active")
	}
	for _, o := range page.Included.PricingOptions {
		if o.Meta.ActivePricingOption != (o.ID == option.ID) {
			t.Errorf("pricing option %s: active %t", o.ID, o.Meta.ActivePricingOption)
		}
	}
}
