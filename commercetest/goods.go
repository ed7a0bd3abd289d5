package commercetest

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// The types of what a list may include.
const (
	planType    = "subscription_offering_plan"
	productType = "subscription_offering_product"
	optionType  = "subscription_offering_pricing_option"
)

// good is what is sold: a product of the first generation, a plan of the second.
type good struct {
	n     int
	name  string
	cents int64 // a month
}

func (g good) product() commerce.Product {
	return commerce.Product{
		ID:   newID("products", g.n),
		Type: productType,
		Attributes: commerce.ProductAttributes{
			ExternalRef: fmt.Sprintf("product-%02d", g.n),
			Name:        g.name,
			Description: g.name,
			SKU:         g.sku(),
			MainImage:   g.image(),
			Price:       seedPrices(g.cents),
			PriceUnits:  seedUnits(),
			CreatedAt:   seedStart,
			UpdatedAt:   seedStart,
		},
		Meta: commerce.ProductMeta{DisplayPrice: seedDisplayPrice(g.cents), Owner: "store", Timestamps: seedTimes()},
	}
}

func (g good) planID() uuid.UUID { return newID("plans", g.n) }

func (g good) plan() commerce.Plan {
	return commerce.Plan{
		ID:   g.planID(),
		Type: planType,
		Attributes: commerce.PlanAttributes{
			ExternalRef:           fmt.Sprintf("plan-%02d", g.n),
			Name:                  g.name,
			Description:           g.name,
			SKU:                   g.sku(),
			MainImage:             g.image(),
			Price:                 seedPrices(g.cents),
			PriceUnits:            seedUnits(),
			FeatureConfigurations: g.features(),
			CreatedAt:             seedStart,
			UpdatedAt:             seedStart,
		},
		Meta: commerce.PlanMeta{DisplayPrice: seedTaxedPrice(g.cents), ActivePlan: true, Owner: "store", Timestamps: seedTimes()},
	}
}

// features has one of each type.
func (g good) features() map[string]commerce.FeatureConfiguration {
	return map[string]commerce.FeatureConfiguration{
		newID("features", 1).String(): {Type: "access"},
		newID("features", 2).String(): {Type: "promotion", Tag: "members_discount"},
		newID("features", 3).String(): {Type: "usage", DefaultValue: new(commerce.NewDecimal(int64(g.n % 2)))},
	}
}

func (g good) sku() string { return fmt.Sprintf("SKU-%04d", g.n) }

func (g good) image() string { return fmt.Sprintf("https://images.example/%04d.jpg", g.n) }

// tariff is how it is billed: a plan of the first generation, a pricing option
// of the second.
type tariff struct {
	offering int
	months   int   // between two bills: 1 or 12
	cents    int64 // a bill
}

// number tells the tariffs of all offerings apart.
func (t tariff) number() int { return t.offering*100 + t.months }

func (t tariff) plan() commerce.Plan {
	name, interval := t.names()
	return commerce.Plan{
		ID:   newID("plans", t.number()),
		Type: planType,
		Attributes: commerce.PlanAttributes{
			ExternalRef: fmt.Sprintf("plan-%d-%d", t.offering+1, t.months),
			Name:        name,
			Description: "Billed by the " + interval,
			Billing:     t.billing(),
			CreatedAt:   seedStart,
			UpdatedAt:   seedStart,
		},
		Meta: commerce.PlanMeta{
			Price:        seedPrices(t.cents),
			DisplayPrice: seedDisplayPrice(t.cents),
			ActivePlan:   true,
			Owner:        "store",
			Timestamps:   seedTimes(),
		},
	}
}

func (t tariff) optionID() uuid.UUID { return newID("pricing-options", t.number()) }

func (t tariff) option() commerce.PricingOption {
	name, interval := t.names()
	return commerce.PricingOption{
		ID:   t.optionID(),
		Type: optionType,
		Attributes: commerce.PricingOptionAttributes{
			ExternalRef: fmt.Sprintf("option-%d-%d", t.offering+1, t.months),
			Name:        name,
			Description: "Billed by the " + interval,
			Billing:     t.billing(),
			LeadTime:    commerce.LeadTime{Type: "day", Time: commerce.NewDecimal(14)},
			NotificationSchedule: []commerce.Notification{
				{Name: "1 week before renewal", Unit: "week", Amount: commerce.NewDecimal(1)},
			},
			CreatedAt: seedStart,
			UpdatedAt: seedStart,
		},
		Meta: commerce.PricingOptionMeta{
			Price:               seedPrices(t.cents),
			DisplayPrice:        seedTaxedPrice(t.cents),
			ActivePricingOption: true,
			Owner:               "store",
			Timestamps:          seedTimes(),
		},
	}
}

// price is what any plan costs with a pricing option.
func (t tariff) price() commerce.OptionPrice {
	return commerce.OptionPrice{Price: seedPrices(t.cents), DisplayPrice: seedTaxedPrice(t.cents)}
}

// names returns the name of the tariff and its interval.
func (t tariff) names() (name, interval string) {
	if t.months == 12 {
		return "Yearly", "year"
	}
	return "Monthly", "month"
}

func (t tariff) billing() commerce.Billing {
	percentage, err := commerce.ParseDecimal("87.5")
	if err != nil {
		panic("commercetest: " + err.Error())
	}
	_, interval := t.names()
	return commerce.Billing{
		BillingIntervalType: interval,
		BillingFrequency:    commerce.NewDecimal(1),
		TrialPeriod:         commerce.NewDecimal(1),
		PlanLength:          commerce.NewDecimal(24 / int64(t.months)),
		EndBehavior:         "close",
		CanPause:            true,
		CanResume:           true,
		CanCancel:           true,
		BasePricePercentage: percentage,
		FixedPrice:          seedPrices(t.cents),
	}
}

func seedTimes() commerce.Timestamps {
	return commerce.Timestamps{CreatedAt: seedStart, UpdatedAt: seedStart}
}

// seedPrices returns a price without tax in the currency of the subscriptions, and
// one with tax in another.
func seedPrices(cents int64) commerce.Prices {
	return commerce.Prices{
		"USD": {Amount: commerce.NewDecimal(cents)},
		"GBP": {Amount: commerce.NewDecimal(cents * 9 / 10), IncludesTax: true},
	}
}

func seedMoney(cents int64) commerce.Money {
	return commerce.Money{
		Amount:    commerce.NewDecimal(cents),
		Currency:  "USD",
		Formatted: fmt.Sprintf("$%d.%02d", cents/100, cents%100),
	}
}

func seedUnits() commerce.PriceUnits {
	return commerce.PriceUnits{Unit: "month", Amount: commerce.NewDecimal(1)}
}

// seedDisplayPrice adds a tax of a tenth.
func seedDisplayPrice(cents int64) commerce.DisplayPrice {
	return commerce.DisplayPrice{WithoutTax: seedMoney(cents), WithTax: seedMoney(cents + cents/10)}
}

// seedTaxedPrice tells the tax too, as the second generation does.
func seedTaxedPrice(cents int64) commerce.DisplayPrice {
	p := seedDisplayPrice(cents)
	p.Tax = seedMoney(cents / 10)
	return p
}
