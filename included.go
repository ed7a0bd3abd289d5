package commerce

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Included holds the related resources that a call was asked to include. In the first payload
// generation it has Products and Plans, in the second Plans and PricingOptions.
//
// Its methods change nothing. They find nothing in a nil pointer.
type Included struct {
	Plans          []Plan          `json:"plans,omitzero"`
	Products       []Product       `json:"products,omitzero"`
	PricingOptions []PricingOption `json:"pricing_options,omitzero"`
	Extra          Extra           `json:",embed"`
}

// len returns the number of resources in all lists.
func (i *Included) len() int { return len(i.Plans) + len(i.Products) + len(i.PricingOptions) }

// Plan returns the included plan with that id. The pointer is to an element of i.Plans.
func (i *Included) Plan(id uuid.UUID) (*Plan, bool) {
	return find(cmp.Or(i, &Included{}).Plans, id, func(p *Plan) uuid.UUID { return p.ID })
}

// Product returns the included product with that id. The pointer is to an element of
// i.Products.
func (i *Included) Product(id uuid.UUID) (*Product, bool) {
	return find(cmp.Or(i, &Included{}).Products, id, func(p *Product) uuid.UUID { return p.ID })
}

// PricingOption returns the included pricing option with that id. The pointer is to an
// element of i.PricingOptions.
func (i *Included) PricingOption(id uuid.UUID) (*PricingOption, bool) {
	return find(cmp.Or(i, &Included{}).PricingOptions, id, func(p *PricingOption) uuid.UUID { return p.ID })
}

// PlanOf returns the included plan of a subscription, in both payload generations. It is the
// plan with the id PlanID. Only if PlanID is zero, it is the plan that the relationships of the
// subscription name, if they name exactly one.
func (i *Included) PlanOf(sub *Subscription) (*Plan, bool) {
	if sub == nil {
		return nil, false
	}
	return i.Plan(sub.Relationships.idOr("plans", sub.Attributes.PlanID))
}

// PricingOptionOf returns the included pricing option of a subscription, by PricingOptionID or
// its relationships, as [Included.PlanOf] does. The first payload generation has none.
func (i *Included) PricingOptionOf(sub *Subscription) (*PricingOption, bool) {
	if sub == nil {
		return nil, false
	}
	return i.PricingOption(sub.Relationships.idOr("pricing_options", sub.Attributes.PricingOptionID))
}

// BillingOf returns how a subscription is billed: as defined by its pricing option, or by its
// plan in the first payload generation. It needs both to be included, see
// [SubscriptionInclude].All. It returns false if neither is included, or if what is included has
// no billing. The pointer is into an element of i.
func (i *Included) BillingOf(sub *Subscription) (*Billing, bool) {
	option, _ := i.PricingOptionOf(sub)
	if option != nil && !reflect.ValueOf(option.Attributes.Billing).IsZero() {
		return &option.Attributes.Billing, true
	}
	plan, _ := i.PlanOf(sub)
	if plan != nil && !reflect.ValueOf(plan.Attributes.Billing).IsZero() { // it is for the second generation
		return &plan.Attributes.Billing, true
	}
	return nil, false
}

// PriceOf returns what a subscription costs per billing interval, in its own currency, as its
// included pricing option or plan state it: the price of the plan with the option, else the fixed
// price of the option; without an option, the price of the plan, else its fixed price. It returns
// false if neither states one in that currency, or if the two differ. The Extra of the price is
// that of the resource.
//
// An amount with tax (IncludesTax) is gross: do not add it to one without.
//
// That the price is per billing interval is a conclusion: the documentation does not say so.
// Quantities and a PendingPriceChange do not count, and nothing is computed from a
// BasePricePercentage, whose meaning is not clear.
func (i *Included) PriceOf(sub *Subscription) (Price, bool) {
	if sub == nil || sub.Attributes.Currency == "" {
		return Price{}, false
	}
	currency, rels := sub.Attributes.Currency, sub.Relationships
	planID := rels.idOr("plans", sub.Attributes.PlanID)
	optionID := rels.idOr("pricing_options", sub.Attributes.PricingOptionID)
	foundPlan, _ := i.Plan(planID)
	foundOption, _ := i.PricingOption(optionID)
	plan, option := cmp.Or(foundPlan, &Plan{}), cmp.Or(foundOption, &PricingOption{})
	switch {
	case optionID == uuid.Nil && len(rels.ids("pricing_options")) > 0: // one of several
		return Price{}, false
	case optionID == uuid.Nil:
		return firstPrice(currency, plan.Meta.Price, plan.Attributes.FixedPrice)
	}
	ofOption, ofPlan := option.Meta.Prices[planID.String()].Price, plan.Meta.Prices[optionID.String()].Price
	p, ok := ofOption[currency]
	other, both := ofPlan[currency]
	if ok && both && (!p.Amount.Equal(other.Amount) || p.IncludesTax != other.IncludesTax) {
		return Price{}, false
	}
	return firstPrice(currency, ofOption, ofPlan, option.Attributes.FixedPrice)
}

// firstPrice returns the price in a currency of the first list that has one.
func firstPrice(currency string, lists ...Prices) (p Price, ok bool) {
	for _, prices := range lists {
		if p, ok = prices[currency]; ok {
			break
		}
	}
	return p, ok
}

// ProductsOf returns the included products of a subscription, as pointers to elements of
// i.Products, in their order. They are those whose ExternalRef is among the
// ExternalProductRefs of the offering. Products of different offerings may have the same
// ExternalRef. Of these it returns the ones that share a plan with the subscription, or all if
// none does.
//
// Products exist in the first payload generation only. In the second, the plan is the product,
// see [Included.PlanOf].
func (i *Included) ProductsOf(sub *Subscription) []*Product {
	if i == nil || sub == nil {
		return nil
	}
	var products []*Product
	offering := &sub.Attributes.Offering
	plans := slices.Concat(offering.Relationships.ids("plans"), sub.Relationships.ids("plans"))
	plans = append(plans, sub.Attributes.PlanID)
	sharesPlan := func(p *Product) bool {
		return slices.ContainsFunc(p.Relationships.ids("plans"), func(id uuid.UUID) bool {
			return slices.Contains(plans, id)
		})
	}
	shared := map[string]bool{} // refs of products that share a plan
	for n := range i.Products {
		if p := &i.Products[n]; sharesPlan(p) {
			shared[p.Attributes.ExternalRef] = true
		}
	}
	for n := range i.Products {
		p := &i.Products[n]
		ref := p.Attributes.ExternalRef
		isOffered := ref != "" && slices.Contains(offering.Meta.ExternalProductRefs, ref)
		if isOffered && (sharesPlan(p) || !shared[ref]) {
			products = append(products, p)
		}
	}
	return products
}

// separate gives o, a copy of an offering without unknown members, slices of its own.
func (o *Offering) separate() {
	o.Relationships = slices.Clone(o.Relationships)
	for i := range o.Relationships {
		r := &o.Relationships[i]
		r.Links, r.Data.Refs = slices.Clone(r.Links), slices.Clone(r.Data.Refs)
		for n := range r.Links {
			copyExtras(&r.Links[n].Extra) // an empty link has one
		}
	}
	m := &o.Meta
	m.ExternalProductRefs, m.ExternalPlanRefs = slices.Clone(m.ExternalProductRefs), slices.Clone(m.ExternalPlanRefs)
}

// find returns the element of list with that id. The zero id, which a record without a
// readable id has, finds nothing.
func find[T any](list []T, id uuid.UUID, idOf func(*T) uuid.UUID) (*T, bool) {
	for n := range list {
		if id != uuid.Nil && idOf(&list[n]) == id {
			return &list[n], true
		}
	}
	return nil, false
}

// Product is what a subscriber receives. First payload generation only: in the second, [Plan]
// has its fields.
type Product struct {
	ID            uuid.UUID         `json:"id,omitzero"`
	Type          string            `json:"type,omitzero"` // "subscription_offering_product"
	Attributes    ProductAttributes `json:"attributes,omitzero"`
	Relationships Relationships     `json:"relationships,omitzero"`
	Meta          ProductMeta       `json:"meta,omitzero"`
	Extra         Extra             `json:",embed"`
}

// ProductAttributes are the attributes of a [Product].
type ProductAttributes struct {
	ExternalRef string     `json:"external_ref,omitzero"`
	Name        string     `json:"name,omitzero"`
	Description string     `json:"description,omitzero"`
	SKU         string     `json:"sku,omitzero"`
	MainImage   string     `json:"main_image,omitzero"`
	Price       Prices     `json:"price,omitzero"`
	PriceUnits  PriceUnits `json:"price_units,omitzero"`
	UpdatedAt   time.Time  `json:"updated_at,omitzero"`
	CreatedAt   time.Time  `json:"created_at,omitzero"`
	Extra       Extra      `json:",embed"`
}

// ProductMeta is the meta member of a [Product].
type ProductMeta struct {
	DisplayPrice DisplayPrice `json:"display_price,omitzero"`
	Owner        string       `json:"owner,omitzero"`
	Timestamps   Timestamps   `json:"timestamps,omitzero"`
	Extra        Extra        `json:",embed"`
}

// Plan defines in the first payload generation how a subscription is billed. In the second, it
// has the fields of a [Product], and [PricingOption] defines how the subscription is billed.
type Plan struct {
	ID            uuid.UUID      `json:"id,omitzero"`
	Type          string         `json:"type,omitzero"` // "subscription_offering_plan"
	Attributes    PlanAttributes `json:"attributes,omitzero"`
	Relationships Relationships  `json:"relationships,omitzero"`
	Meta          PlanMeta       `json:"meta,omitzero"`
	Extra         Extra          `json:",embed"`
}

// Billing is how a subscription is billed. It is part of [PlanAttributes] in the first
// payload generation, and of [PricingOptionAttributes] in the second.
type Billing struct {
	// BillingIntervalType is the unit of BillingFrequency: "day", "week", "month" or "year".
	BillingIntervalType string `json:"billing_interval_type,omitzero"`
	// BillingFrequency is the number of intervals between two bills.
	BillingFrequency Decimal `json:"billing_frequency,omitzero"`
	// TrialPeriod is the number of intervals before the first bill.
	TrialPeriod Decimal `json:"trial_period,omitzero"`
	// PlanLength is the number of intervals that the subscription lasts.
	PlanLength Decimal `json:"plan_length,omitzero"`
	// EndBehavior at the end of PlanLength, e.g. "close" or "roll".
	EndBehavior string `json:"end_behavior,omitzero"`
	// CanPause, CanResume and CanCancel say what the subscriber may do.
	CanPause  bool `json:"can_pause,omitzero"`
	CanResume bool `json:"can_resume,omitzero"`
	CanCancel bool `json:"can_cancel,omitzero"`
	// BasePricePercentage may be fractional. The documentation calls it a discount, which its
	// examples are not: compute nothing from it.
	BasePricePercentage Decimal `json:"base_price_percentage,omitzero"`
	// FixedPrice instead of a percentage.
	FixedPrice Prices `json:"fixed_price,omitzero"`
}

// PlanAttributes are the attributes of a [Plan].
type PlanAttributes struct {
	ExternalRef string `json:"external_ref,omitzero"`
	Name        string `json:"name,omitzero"`
	Description string `json:"description,omitzero"`
	Billing
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	CreatedAt time.Time `json:"created_at,omitzero"`

	// SKU exists in the second payload generation only, and so do the fields that follow.
	SKU        string     `json:"sku,omitzero"`
	MainImage  string     `json:"main_image,omitzero"` // URL
	Price      Prices     `json:"price,omitzero"`
	PriceUnits PriceUnits `json:"price_units,omitzero"`
	// FeatureConfigurations say what a subscriber of the plan may use, by feature id.
	FeatureConfigurations map[string]FeatureConfiguration `json:"feature_configurations,omitzero"`

	Extra Extra `json:",embed"`
}

// FeatureConfiguration is how a plan grants a feature. Second payload generation only.
type FeatureConfiguration struct {
	// Type is "access", "promotion" or "usage".
	Type string `json:"type,omitzero"`
	// Tag of the promotion that a feature of Type "promotion" makes available.
	Tag string `json:"tag,omitzero"`
	// DefaultValue at which the counter of a feature of Type "usage" starts, otherwise nil.
	DefaultValue *Decimal `json:"default_value,omitempty"`
	Extra        Extra    `json:",embed"`
}

// PlanMeta is the meta member of a [Plan].
type PlanMeta struct {
	// Price exists in the first payload generation only.
	Price Prices `json:"price,omitzero"`
	// Prices by pricing option id exist in the second payload generation only.
	Prices       map[string]OptionPrice `json:"prices,omitzero"`
	DisplayPrice DisplayPrice           `json:"display_price,omitzero"`
	// ActivePlan reports whether the subscription has this plan. A JSON null is false.
	ActivePlan bool       `json:"active_plan,omitzero"`
	Owner      string     `json:"owner,omitzero"`
	Timestamps Timestamps `json:"timestamps,omitzero"`
	Extra      Extra      `json:",embed"`
}

// PricingOption defines how a subscription is billed. Second payload generation only: the first
// one has the same fields in [Plan], but no LeadTime and no NotificationSchedule.
type PricingOption struct {
	ID            uuid.UUID               `json:"id,omitzero"`
	Type          string                  `json:"type,omitzero"`
	Attributes    PricingOptionAttributes `json:"attributes,omitzero"`
	Relationships Relationships           `json:"relationships,omitzero"`
	Meta          PricingOptionMeta       `json:"meta,omitzero"`
	Extra         Extra                   `json:",embed"`
}

// PricingOptionAttributes are the attributes of a [PricingOption].
type PricingOptionAttributes struct {
	ExternalRef string `json:"external_ref,omitzero"`
	Name        string `json:"name,omitzero"`
	Description string `json:"description,omitzero"`
	Billing
	// LeadTime is the time from the creation of a pro forma invoice to the payment. It is
	// zero if there is no such invoice.
	LeadTime LeadTime `json:"lead_time,omitzero"`
	// NotificationSchedule lists the notifications before the end of a billing period.
	NotificationSchedule []Notification `json:"notification_schedule,omitzero"`
	UpdatedAt            time.Time      `json:"updated_at,omitzero"`
	CreatedAt            time.Time      `json:"created_at,omitzero"`
	Extra                Extra          `json:",embed"`
}

// LeadTime is a length of time, e.g. 14 days. Second payload generation only.
type LeadTime struct {
	// Type is the unit of Time: "day" or "week".
	Type  string  `json:"type,omitzero"`
	Time  Decimal `json:"time"`
	Extra Extra   `json:",embed"`
}

// Notification is an entry of [PricingOptionAttributes].NotificationSchedule.
type Notification struct {
	Name string `json:"name,omitzero"` // e.g. "7 days before renewal"
	// Unit of Amount: "day", "week" or "month".
	Unit   string  `json:"unit,omitzero"`
	Amount Decimal `json:"amount"`
	Extra  Extra   `json:",embed"`
}

// PricingOptionMeta is the meta member of a [PricingOption].
type PricingOptionMeta struct {
	// Prices by plan id.
	Prices       map[string]OptionPrice `json:"prices,omitzero"`
	Price        Prices                 `json:"price,omitzero"`
	DisplayPrice DisplayPrice           `json:"display_price,omitzero"`
	// ActivePricingOption reports whether the subscription has this option. A JSON null is false.
	ActivePricingOption bool       `json:"active_pricing_option,omitzero"`
	Owner               string     `json:"owner,omitzero"`
	Timestamps          Timestamps `json:"timestamps,omitzero"`
	Extra               Extra      `json:",embed"`
}

// MarshalJSON encodes p like the service. It leaves out fields that are zero, except Amount
// and IncludesTax of prices, and Amount of PriceUnits.
func (p Product) MarshalJSON() ([]byte, error) { return payloads.Marshal(&p) }

// UnmarshalJSON decodes a product of the service.
func (p *Product) UnmarshalJSON(b []byte) error { return decodeRecord(b, p) }

// MarshalJSON encodes p like the service. It leaves out fields that are zero, except those that
// [Product.MarshalJSON] keeps and, if Billing is not zero, its flags and its numbers that were
// set or decoded.
func (p Plan) MarshalJSON() ([]byte, error) { return payloads.Marshal(&p) }

// UnmarshalJSON decodes a plan of the service.
func (p *Plan) UnmarshalJSON(b []byte) error { return decodeRecord(b, p) }

// MarshalJSON encodes p like the service. It leaves out fields that are zero, except those that
// [Plan.MarshalJSON] keeps, Time of a LeadTime that is not zero, and Amount of notifications.
func (p PricingOption) MarshalJSON() ([]byte, error) { return payloads.Marshal(&p) }

// UnmarshalJSON decodes a pricing option of the service.
func (p *PricingOption) UnmarshalJSON(b []byte) error { return decodeRecord(b, p) }
