package commerce_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"

	"github.com/commerce-go/commerce"
)

// includedLists returns the lists of i by the names of their members. Each list can be asked for by
// that name, and a method finds its elements by id: see the tests.
func includedLists(i *commerce.Included) map[string]reflect.Value {
	lists := map[string]reflect.Value{}
	for field, value := range reflect.ValueOf(i).Elem().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			lists[name] = value
		}
	}
	return lists
}

// Each field of SubscriptionInclude asks for the list of Included with its name, and so does All.
// Each list can be asked for.
func TestIncluded_includes(t *testing.T) {
	t.Parallel()
	includes, lists := reflect.TypeFor[commerce.SubscriptionInclude](), reflect.TypeFor[commerce.Included]()
	inAll := asksFor(t, everything, respond(400, `{}`), respond(200, `{"data":[]}`))
	for field := range includes.Fields() {
		list, ok := lists.FieldByName(field.Name)
		if !ok && field.Name != "All" {
			t.Errorf("SubscriptionInclude.%s asks for nothing: add its list to Included in included.go", field.Name)
		}
		if !ok {
			continue
		}
		var alone commerce.SubscriptionInclude
		reflect.ValueOf(&alone).Elem().FieldByIndex(field.Index).SetBool(true)
		name, _, _ := strings.Cut(list.Tag.Get("json"), ",")
		diff(t, "SubscriptionInclude."+field.Name, asksFor(t, alone, respond(200, `{"data":[]}`)), []string{name})
		if !slices.Contains(inAll, name) {
			t.Errorf("SubscriptionInclude.All asks for %q, not for %s: add it to allIncludes in include.go", inAll, name)
		}
	}
	for list := range lists.Fields() {
		if _, ok := includes.FieldByName(list.Name); !ok && list.Name != "Extra" {
			t.Errorf("Included.%s cannot be asked for: add it to SubscriptionInclude in include.go", list.Name)
		}
	}
}

// asksFor returns the names of what a call with these responses asks for.
func asksFor(t *testing.T, include commerce.SubscriptionInclude, responders ...httpmock.Responder) (names []string) {
	t.Helper()
	stub := newStub(t, responders...)
	opts := &commerce.SubscriptionListOptions{Include: include}
	if _, err := stub.client(t).Subscriptions.List(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	for _, r := range stub.sent() {
		names = append(names, strings.Split(parseQuery(t, r.RawQuery).Get("include"), ",")...)
	}
	return names
}

func TestIncluded_find(t *testing.T) {
	t.Parallel()
	id, full := numberedID(1), &commerce.Included{}
	for field, list := range reflect.ValueOf(full).Elem().Fields() {
		if list.Kind() != reflect.Slice {
			continue
		}
		list.Set(reflect.MakeSlice(list.Type(), 2, 2))
		list.Index(1).FieldByName("ID").Set(reflect.ValueOf(id))
		for _, tt := range []struct {
			name     string
			included *commerce.Included
			id       uuid.UUID
			want     uintptr
		}{
			{name: "all", included: full, id: id, want: list.Index(1).Addr().Pointer()},
			{name: "another id", included: full, id: numberedID(2)},
			{name: "the zero id", included: full},
			{name: "nil", id: id},
		} {
			find := reflect.ValueOf(tt.included).MethodByName(strings.TrimSuffix(field.Name, "s"))
			if !find.IsValid() {
				t.Fatalf("no method of Included finds an element of %s by its id: add one to included.go", field.Name)
			}
			found := find.Call([]reflect.Value{reflect.ValueOf(tt.id)})
			if got := found[0].Pointer(); got != tt.want || found[1].Bool() != (tt.want != 0) {
				t.Errorf("%s in %s: got %v, %v, want the element: %t", field.Name, tt.name, found[0], found[1], tt.want != 0)
			}
		}
	}
}

// relationTo returns the JSON of a relationship to plans or pricing options with these numbers.
func relationTo(name string, numbers ...int) string {
	var list []string
	for _, n := range numbers {
		list = append(list, fmt.Sprintf(`{"type":"x","id":%q}`, numberedID(n)))
	}
	return fmt.Sprintf(`"relationships":{%q:{"data":[%s]}}`, name, strings.Join(list, ","))
}

// numbered returns the JSON of a resource with that number and other members.
func numbered(n int, rest string) string { return fmt.Sprintf(`{"id":%q%s}`, numberedID(n), rest) }

// numberedProduct returns the JSON of a product.
func numberedProduct(n int, ref, rest string) string {
	return numbered(n, fmt.Sprintf(`,"attributes":{"external_ref":%q},%s`, ref, rest))
}

// Resources that a page has in each generation, and an offering of the first.
var (
	firstIncluded = `{"plans":[` + numbered(1, "") + `,` + numbered(2, "") + `,` + numbered(3, "") + `],"products":[` +
		strings.Join([]string{
			numberedProduct(11, "beans", relationTo("plans", 1, 2)),
			numberedProduct(12, "cup", `"relationships":{"plans":{"links":{"self":"/"}}}`),
			numberedProduct(13, "", `"meta":{}`),
			numberedProduct(14, "beans", relationTo("plans", 3)),
			numberedProduct(15, "pot", `"relationships":{"plans":{"data":[{"id":5},`+numbered(1, "")+`]}}`),
			numberedProduct(16, "pot", relationTo("plans", 3)),
			numberedProduct(17, "tin", relationTo("plans", 1)),
		}, ",") + `]}`
	secondIncluded = `{"plans":[` + numbered(1, "") + `],"pricing_options":[` + numbered(21, "") + `,` +
		numbered(22, "") + `]}`
	coffee = `"offering":{"meta":{"external_product_refs":["cup","beans",""]},` + relationTo("plans", 1, 2) + `}`
)

// relatedTests name plans, pricing options and products by their numbers; 0 is none.
var relatedTests = []struct {
	name, included, sub string
	plan, option        int
	products            []int
}{
	{
		name: "first generation", included: firstIncluded, plan: 2, products: []int{11, 12},
		sub: `{"attributes":{"plan_id":"` + numberedID(2).String() + `",` + coffee + `}}`,
	},
	{
		name: "plan of its relationships", included: firstIncluded, plan: 1, products: []int{11, 12},
		sub: `{"attributes":{` + coffee + `},` + relationTo("plans", 1) + `}`,
	},
	{
		name: "two plans in its relationships", included: firstIncluded, products: []int{11, 12},
		sub: `{"attributes":{` + coffee + `},` + relationTo("plans", 1, 2) + `}`,
	},
	{
		name: "plan that is not included", included: firstIncluded, products: []int{11, 12},
		sub: `{"attributes":{"plan_id":"` + itemID + `",` + coffee + `},` + relationTo("plans", 1) + `}`,
	},
	{
		name: "the same product in another offering", included: firstIncluded, plan: 3, products: []int{14},
		sub: `{"attributes":{"plan_id":"` + numberedID(3).String() + `",
			"offering":{"meta":{"external_product_refs":["beans"]},` + relationTo("plans", 3) + `}}}`,
	},
	{
		name: "only the subscription names its plan", included: firstIncluded, plan: 3, products: []int{14},
		sub: `{"attributes":{"offering":{"meta":{"external_product_refs":["beans"]}}},` + relationTo("plans", 3) + `}`,
	},
	{
		name: "only its attributes name its plan", included: firstIncluded, plan: 3, products: []int{14},
		sub: `{"attributes":{"plan_id":"` + numberedID(3).String() + `",
			"offering":{"meta":{"external_product_refs":["beans"]}}}}`,
	},
	{
		name: "the only product names another plan", included: firstIncluded, plan: 2, products: []int{17},
		sub: `{"attributes":{"offering":{"meta":{"external_product_refs":["tin"]}}},` + relationTo("plans", 2) + `}`,
	},
	{
		name: "neither names plans", included: firstIncluded, products: []int{11, 12, 14},
		sub: `{"attributes":{"offering":{"meta":{"external_product_refs":["beans","cup"]}}}}`,
	},
	{
		name: "plans whose ids are not readable", included: firstIncluded, products: []int{14, 16},
		sub: `{"attributes":{"offering":{"meta":{"external_product_refs":["pot","beans"]},
			"relationships":{"plans":{"data":[{"id":5},` + numbered(3, "") + `]}}}}}`,
	},
	{name: "no references", included: firstIncluded, sub: `{` + relationTo("plans", 1) + `}`, plan: 1},
	{
		name: "second generation", included: secondIncluded, plan: 1, option: 22,
		sub: `{"attributes":{"plan_id":"` + numberedID(1).String() + `","pricing_option_id":"` + numberedID(22).String() +
			`","offering":{"meta":{"external_plan_refs":["beans"]}}},` + relationTo("pricing_options", 21) + `}`,
	},
	{
		name: "pricing option of its relationships", included: secondIncluded, option: 21,
		sub: `{` + relationTo("pricing_options", 21) + `}`,
	},
	{
		name: "two pricing options in its relationships", included: secondIncluded,
		sub: `{` + relationTo("pricing_options", 21, 22) + `}`,
	},
	{name: "nothing included", included: `{}`, sub: `{"attributes":{` + coffee + `},` + relationTo("plans", 1) + `}`},
}

func TestIncluded_of(t *testing.T) {
	t.Parallel()
	for _, tt := range relatedTests {
		c := newStub(t, respond(200, `{"data":[{"id":"`+itemID+`",`+tt.sub[1:]+`],"included":`+tt.included+`}`)).client(t)
		page, err := c.Subscriptions.List(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, tt.name, related(&page.Included, &page.Subscriptions[0]), relatedIDs(tt.plan, tt.option, tt.products...))
	}
	some := &commerce.Included{Products: []commerce.Product{{}}, Plans: []commerce.Plan{{}}}
	diff(t, "a nil Included", related(nil, &commerce.Subscription{}), relatedIDs(0, 0))
	diff(t, "a nil Subscription", related(some, nil), relatedIDs(0, 0))
	diff(t, "zero values", related(some, &commerce.Subscription{}), relatedIDs(0, 0))
}

// related returns the ids of what i has of sub, the zero id for none.
func related(i *commerce.Included, sub *commerce.Subscription) []uuid.UUID {
	ids := make([]uuid.UUID, 2)
	if plan, ok := i.PlanOf(sub); ok {
		ids[0] = plan.ID
	}
	if option, ok := i.PricingOptionOf(sub); ok {
		ids[1] = option.ID
	}
	for _, product := range i.ProductsOf(sub) {
		ids = append(ids, product.ID)
	}
	return ids
}

// relatedIDs returns what related should return, by numbers.
func relatedIDs(plan, option int, products ...int) (ids []uuid.UUID) {
	for _, n := range append([]int{plan, option}, products...) {
		if n == 0 {
			ids = append(ids, uuid.Nil)
			continue
		}
		ids = append(ids, numberedID(n))
	}
	return ids
}

var planID, optionID = numberedID(1), numberedID(2)

func price(amount int64) commerce.Price { return commerce.Price{Amount: commerce.NewDecimal(amount)} }

func usd(amount int64) commerce.Prices { return commerce.Prices{"USD": price(amount)} }

func withTax(amount int64) commerce.Prices {
	return commerce.Prices{"USD": {Amount: commerce.NewDecimal(amount), IncludesTax: true}}
}

func ofOption(p commerce.Prices) map[string]commerce.OptionPrice {
	return map[string]commerce.OptionPrice{optionID.String(): {Price: p}}
}

func ofPlan(p commerce.Prices) map[string]commerce.OptionPrice {
	return map[string]commerce.OptionPrice{planID.String(): {Price: p}}
}

var pricesOf = []struct {
	name     string
	currency string // "": USD; "-": none
	option   bool   // the subscription has a pricing option
	change   func(plan *commerce.Plan, option *commerce.PricingOption)
	want     int64 // 0: none
}{
	{name: "plan", change: func(p *commerce.Plan, _ *commerce.PricingOption) { p.Meta.Price = usd(5) }, want: 5},
	{
		name: "plan before its fixed price", want: 5, change: func(p *commerce.Plan, _ *commerce.PricingOption) {
			p.Meta.Price, p.Attributes.FixedPrice = usd(5), usd(6)
		},
	},
	{
		name: "fixed price of the plan", want: 6, change: func(p *commerce.Plan, _ *commerce.PricingOption) {
			p.Meta.Price, p.Attributes.FixedPrice = commerce.Prices{"GBP": price(5)}, usd(6)
		},
	},
	{
		name: "another currency", currency: "usd", change: func(p *commerce.Plan, _ *commerce.PricingOption) {
			p.Meta.Price, p.Attributes.FixedPrice = usd(5), usd(6)
		},
	},
	{
		name: "no currency", currency: "-", change: func(p *commerce.Plan, _ *commerce.PricingOption) {
			p.Meta.Price = commerce.Prices{"": price(5)}
		},
	},
	{
		name: "option, without its own branch", option: true,
		change: func(p *commerce.Plan, _ *commerce.PricingOption) {
			p.Meta.Price, p.Attributes.FixedPrice = usd(5), usd(6)
		},
	},
	{
		name: "plan, without its own branch", change: func(p *commerce.Plan, o *commerce.PricingOption) {
			p.Meta.Prices, o.Meta.Prices, o.Attributes.FixedPrice = ofOption(usd(5)), ofPlan(usd(5)), usd(6)
		},
	},
	{
		name: "option", option: true, want: 5, change: func(_ *commerce.Plan, o *commerce.PricingOption) {
			o.Meta.Prices, o.Meta.Price, o.Attributes.FixedPrice = ofPlan(usd(5)), usd(7), usd(6)
		},
	},
	{
		name: "plan with the option", option: true, want: 5, change: func(p *commerce.Plan, o *commerce.PricingOption) {
			p.Meta.Prices, o.Attributes.FixedPrice = ofOption(usd(5)), usd(6)
		},
	},
	{
		name: "both, equal", option: true, want: 5, change: func(p *commerce.Plan, o *commerce.PricingOption) {
			p.Meta.Prices, o.Meta.Prices = ofOption(usd(5)), ofPlan(usd(5))
		},
	},
	{
		name: "both, different", option: true, change: func(p *commerce.Plan, o *commerce.PricingOption) {
			p.Meta.Prices, o.Meta.Prices, o.Attributes.FixedPrice = ofOption(usd(5)), ofPlan(usd(6)), usd(6)
		},
	},
	{
		name: "both, with and without tax", option: true, change: func(p *commerce.Plan, o *commerce.PricingOption) {
			p.Meta.Prices, o.Meta.Prices = ofOption(usd(5)), ofPlan(withTax(5))
		},
	},
	{
		name: "both, of different currencies", option: true, want: 5,
		change: func(p *commerce.Plan, o *commerce.PricingOption) {
			p.Meta.Prices, o.Meta.Prices = ofOption(usd(5)), ofPlan(commerce.Prices{"GBP": price(6)})
		},
	},
	{
		name: "fixed price of the option", option: true, want: 6, change: func(_ *commerce.Plan, o *commerce.PricingOption) {
			o.Attributes.FixedPrice = usd(6)
		},
	},
	{
		name: "only a percentage, and what is shown", option: true,
		change: func(p *commerce.Plan, o *commerce.PricingOption) {
			o.Attributes.BasePricePercentage = commerce.NewDecimal(90)
			p.Meta.DisplayPrice.WithTax = commerce.Money{Amount: commerce.NewDecimal(5), Currency: "USD"}
		},
	},
}

// The price that a subscription costs, from what the store states in its currency.
func TestIncluded_PriceOf(t *testing.T) {
	t.Parallel()
	for _, tt := range pricesOf {
		sub := &commerce.Subscription{Attributes: commerce.SubscriptionAttributes{PlanID: planID, Currency: "USD"}}
		switch tt.currency {
		case "":
		case "-":
			sub.Attributes.Currency = ""
		default:
			sub.Attributes.Currency = tt.currency
		}
		if tt.option {
			sub.Attributes.PricingOptionID = optionID
		}
		plan, option := commerce.Plan{ID: planID}, commerce.PricingOption{ID: optionID}
		tt.change(&plan, &option)
		included := &commerce.Included{
			Plans: []commerce.Plan{plan}, PricingOptions: []commerce.PricingOption{option},
		}
		if got, ok := included.PriceOf(sub); ok != (tt.want != 0) || !got.Amount.Equal(commerce.NewDecimal(tt.want)) {
			t.Errorf("%s: PriceOf() = %v, %t, want %d", tt.name, got, ok, tt.want)
		}
		if !tt.option {
			continue
		}
		sub.Attributes.PlanID, sub.Attributes.PricingOptionID = uuid.Nil, uuid.Nil // only relationships name them
		refs := []commerce.ResourceRef{{ID: optionID}}
		sub.Relationships = commerce.Relationships{
			{Name: "plans", Relationship: commerce.Relationship{Data: commerce.RelationshipData{
				Refs: []commerce.ResourceRef{{ID: planID}},
			}}},
			{Name: "pricing_options", Relationship: commerce.Relationship{Data: commerce.RelationshipData{Refs: refs}}},
		}
		if got, ok := included.PriceOf(sub); ok != (tt.want != 0) || !got.Amount.Equal(commerce.NewDecimal(tt.want)) {
			t.Errorf("%s, by relationships: PriceOf() = %v, %t, want %d", tt.name, got, ok, tt.want)
		}
		sub.Relationships[1].Data.Refs = []commerce.ResourceRef{{ID: optionID}, {ID: planID}}
		if got, ok := included.PriceOf(sub); ok {
			t.Errorf("%s, one of two options: PriceOf() = %v, want none", tt.name, got)
		}
	}
	var none *commerce.Included
	if _, ok := none.PriceOf(&commerce.Subscription{}); ok {
		t.Error("PriceOf found a price in nothing")
	}
	if _, ok := none.PriceOf(nil); ok {
		t.Error("PriceOf found a price of nothing")
	}
}
