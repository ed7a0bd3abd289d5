package commerce

import (
	"time"

	"github.com/google/uuid"
)

// Included holds the related resources that a list was asked to include
// (specification, section 2.4). The first payload generation has Products and
// Plans, the second Plans and PricingOptions.
type Included struct {
	Plans          []Plan          `json:"plans,omitzero"`           // in the order of the answer
	Products       []Product       `json:"products,omitzero"`        // in the order of the answer
	PricingOptions []PricingOption `json:"pricing_options,omitzero"` // in the order of the answer
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

func (i *Included) len() int { return len(i.Plans) + len(i.Products) + len(i.PricingOptions) }

// Plan returns the included plan with that id. The pointer leads into i.Plans.
func (i *Included) Plan(id uuid.UUID) (*Plan, bool) {
	if i == nil {
		return nil, false
	}
	return find(i.Plans, id, func(p *Plan) uuid.UUID { return p.ID })
}

// Product returns the included product with that id. The pointer leads into i.Products.
func (i *Included) Product(id uuid.UUID) (*Product, bool) {
	if i == nil {
		return nil, false
	}
	return find(i.Products, id, func(p *Product) uuid.UUID { return p.ID })
}

// PricingOption returns the included pricing option with that id. The pointer leads into i.PricingOptions.
func (i *Included) PricingOption(id uuid.UUID) (*PricingOption, bool) {
	if i == nil {
		return nil, false
	}
	return find(i.PricingOptions, id, func(p *PricingOption) uuid.UUID { return p.ID })
}

// find returns the element of list with that id. A zero id, which a record
// without a readable id has, finds nothing.
func find[T any](list []T, id uuid.UUID, idOf func(*T) uuid.UUID) (*T, bool) {
	for n := range list {
		if id != uuid.Nil && idOf(&list[n]) == id {
			return &list[n], true
		}
	}
	return nil, false
}

// Product is a subscription_offering_product (specification, section 2.4). The
// second payload generation has no products: their fields moved to [Plan].
type Product struct {
	ID            uuid.UUID         `json:"id,omitzero"`            // identifier
	Type          string            `json:"type,omitzero"`          // "subscription_offering_product"
	Attributes    ProductAttributes `json:"attributes,omitzero"`    // what it is
	Relationships Relationships     `json:"relationships,omitzero"` // by name
	Meta          ProductMeta       `json:"meta,omitzero"`          // what the service knows about it
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// ProductAttributes are the attributes of a [Product].
type ProductAttributes struct {
	ExternalRef string     `json:"external_ref,omitzero"` // reference of the store's own
	Name        string     `json:"name,omitzero"`         // for people to read
	Description string     `json:"description,omitzero"`  // for people to read
	SKU         string     `json:"sku,omitzero"`          // stock keeping unit
	MainImage   string     `json:"main_image,omitzero"`   // address of an image
	Price       Prices     `json:"price,omitzero"`        // by currency
	PriceUnits  PriceUnits `json:"price_units,omitzero"`  // what Price is for
	UpdatedAt   time.Time  `json:"updated_at,omitzero"`   // last change
	CreatedAt   time.Time  `json:"created_at,omitzero"`   // creation
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// ProductMeta is what the service knows about a [Product].
type ProductMeta struct {
	DisplayPrice DisplayPrice `json:"display_price,omitzero"` // as the store shows it
	Owner        string       `json:"owner,omitzero"`         // "store" and "organization" have been seen
	Timestamps   Timestamps   `json:"timestamps,omitzero"`    // of the record
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// Plan is a subscription_offering_plan (specification, section 2.4). In the
// first payload generation it says how a subscription is billed; in the second
// it holds what [Product] held, and [PricingOption] says how it is billed.
type Plan struct {
	ID            uuid.UUID      `json:"id,omitzero"`            // identifier
	Type          string         `json:"type,omitzero"`          // "subscription_offering_plan"
	Attributes    PlanAttributes `json:"attributes,omitzero"`    // what it is
	Relationships Relationships  `json:"relationships,omitzero"` // by name
	Meta          PlanMeta       `json:"meta,omitzero"`          // what the service knows about it
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// Billing says how a subscription is billed. It is part of [PlanAttributes] in
// the first payload generation, of [PricingOptionAttributes] in the second.
type Billing struct {
	// BillingIntervalType is the unit of BillingFrequency: "day", "week", "month" and "year" have been seen.
	BillingIntervalType string `json:"billing_interval_type,omitzero"`
	// BillingFrequency is the number of intervals between two bills.
	BillingFrequency Decimal `json:"billing_frequency,omitzero"`
	// TrialPeriod is the number of intervals before the first bill.
	TrialPeriod Decimal `json:"trial_period,omitzero"`
	// PlanLength is the number of intervals that the subscription lasts.
	PlanLength Decimal `json:"plan_length,omitzero"`
	// EndBehavior at the end of PlanLength: "close" and "roll" have been seen.
	EndBehavior string `json:"end_behavior,omitzero"`
	CanPause    bool   `json:"can_pause,omitzero"`  // the subscriber may pause it
	CanResume   bool   `json:"can_resume,omitzero"` // the subscriber may resume it
	CanCancel   bool   `json:"can_cancel,omitzero"` // the subscriber may cancel it
	// BasePricePercentage of the product's price that the subscriber pays; may be fractional.
	BasePricePercentage Decimal `json:"base_price_percentage,omitzero"`
	// FixedPrice instead of a percentage, by currency.
	FixedPrice Prices `json:"fixed_price,omitzero"`
}

// PlanAttributes are the attributes of a [Plan].
type PlanAttributes struct {
	ExternalRef string `json:"external_ref,omitzero"` // reference of the store's own
	Name        string `json:"name,omitzero"`         // for people to read
	Description string `json:"description,omitzero"`  // for people to read
	Billing
	UpdatedAt time.Time `json:"updated_at,omitzero"` // last change
	CreatedAt time.Time `json:"created_at,omitzero"` // creation

	// SKU is the stock keeping unit; second payload generation only, as are the fields
	// that follow.
	SKU        string     `json:"sku,omitzero"`
	MainImage  string     `json:"main_image,omitzero"`  // address of an image; second generation
	Price      Prices     `json:"price,omitzero"`       // by currency; second generation
	PriceUnits PriceUnits `json:"price_units,omitzero"` // what Price is for; second generation
	// FeatureConfigurations say what a subscriber of the plan is entitled to, by feature
	// id; second generation.
	FeatureConfigurations map[string]FeatureConfiguration `json:"feature_configurations,omitzero"`

	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// FeatureConfiguration is how a plan grants a feature. Second payload generation only.
type FeatureConfiguration struct {
	// Type: "access", "promotion" and "usage" are documented.
	Type string `json:"type,omitzero"`
	// Tag of the promotion that a feature of type promotion makes available.
	Tag string `json:"tag,omitzero"`
	// DefaultValue that the count of a feature of type usage starts with; nil for the
	// other types.
	DefaultValue *Decimal `json:"default_value,omitempty"`
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// PlanMeta is what the service knows about a [Plan].
type PlanMeta struct {
	// Price by currency; first payload generation only.
	Price Prices `json:"price,omitzero"`
	// Prices by pricing option id; second payload generation only.
	Prices       map[string]OptionPrice `json:"prices,omitzero"`
	DisplayPrice DisplayPrice           `json:"display_price,omitzero"` // as the store shows it
	// ActivePlan tells whether the plan is the subscription's own; null on the wire counts as false.
	ActivePlan bool       `json:"active_plan,omitzero"`
	Owner      string     `json:"owner,omitzero"`      // "store" and "organization" have been seen
	Timestamps Timestamps `json:"timestamps,omitzero"` // of the record
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// PricingOption says how a subscription is billed. Second payload generation
// only: its fields are those of the first generation's [Plan], LeadTime and
// NotificationSchedule.
type PricingOption struct {
	ID            uuid.UUID               `json:"id,omitzero"`            // identifier
	Type          string                  `json:"type,omitzero"`          // kind of the resource
	Attributes    PricingOptionAttributes `json:"attributes,omitzero"`    // what it is
	Relationships Relationships           `json:"relationships,omitzero"` // by name
	Meta          PricingOptionMeta       `json:"meta,omitzero"`          // what the service knows about it
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// PricingOptionAttributes are the attributes of a [PricingOption].
type PricingOptionAttributes struct {
	ExternalRef string `json:"external_ref,omitzero"` // reference of the store's own
	Name        string `json:"name,omitzero"`         // for people to read
	Description string `json:"description,omitzero"`  // for people to read
	Billing
	// LeadTime is how long before payment is due a pro forma invoice is created. The zero
	// value means that there is none.
	LeadTime LeadTime `json:"lead_time,omitzero"`
	// NotificationSchedule says which notifications are sent, counted from the end of a
	// billing period.
	NotificationSchedule []Notification `json:"notification_schedule,omitzero"`
	UpdatedAt            time.Time      `json:"updated_at,omitzero"` // last change
	CreatedAt            time.Time      `json:"created_at,omitzero"` // creation
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// LeadTime is a length of time, e.g. 14 days. Second payload generation only.
type LeadTime struct {
	// Type is the unit of Time: "day" and "week" are documented.
	Type string  `json:"type,omitzero"`
	Time Decimal `json:"time"` // number of units
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// Notification is an entry of [PricingOptionAttributes].NotificationSchedule.
type Notification struct {
	Name string `json:"name,omitzero"` // e.g. "7 days before renewal"
	// Unit of Amount: "day", "week" and "month" are documented.
	Unit   string  `json:"unit,omitzero"`
	Amount Decimal `json:"amount"` // number of units
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// PricingOptionMeta is what the service knows about a [PricingOption].
type PricingOptionMeta struct {
	// Prices by plan id.
	Prices       map[string]OptionPrice `json:"prices,omitzero"`
	Price        Prices                 `json:"price,omitzero"`         // by currency
	DisplayPrice DisplayPrice           `json:"display_price,omitzero"` // as the store shows it
	// ActivePricingOption tells whether the option is the subscription's own; null on the wire counts as false.
	ActivePricingOption bool       `json:"active_pricing_option,omitzero"`
	Owner               string     `json:"owner,omitzero"`      // "store" and "organization" have been seen
	Timestamps          Timestamps `json:"timestamps,omitzero"` // of the record
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// MarshalJSON encodes p in the service's form, Extra included. Members that
// are zero are mostly left out.
func (p Product) MarshalJSON() ([]byte, error) { return payloads.Marshal(&p) }

// UnmarshalJSON decodes what the service sends; unknown members go to Extra.
func (p *Product) UnmarshalJSON(b []byte) error { return decodeRecord(b, p) }

// MarshalJSON encodes p in the service's form, Extra included. Members that
// are zero are mostly left out.
func (p Plan) MarshalJSON() ([]byte, error) { return payloads.Marshal(&p) }

// UnmarshalJSON decodes what the service sends; unknown members go to Extra.
func (p *Plan) UnmarshalJSON(b []byte) error { return decodeRecord(b, p) }

// MarshalJSON encodes p in the service's form, Extra included. Members that
// are zero are mostly left out.
func (p PricingOption) MarshalJSON() ([]byte, error) { return payloads.Marshal(&p) }

// UnmarshalJSON decodes what the service sends; unknown members go to Extra.
func (p *PricingOption) UnmarshalJSON(b []byte) error { return decodeRecord(b, p) }
