package commercetest

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// The types of the resources that a list can include.
const (
	planType          = "subscription_offering_plan"
	productType       = "subscription_offering_product"
	pricingOptionType = "subscription_offering_pricing_option"
)

// seedProduct is something that is sold: a product in the first generation, a plan
// in the second.
type seedProduct struct {
	number int
	name   string
	cents  int64 // per month
}

func (p seedProduct) product() commerce.Product {
	return commerce.Product{
		ID:   newID("products", p.number),
		Type: productType,
		Attributes: commerce.ProductAttributes{
			ExternalRef: fmt.Sprintf("product-%02d", p.number),
			Name:        p.name,
			Description: p.name,
			SKU:         p.sku(),
			MainImage:   p.image(),
			Price:       seedPrices(p.cents),
			PriceUnits:  seedUnits(),
			CreatedAt:   seedStart,
			UpdatedAt:   seedStart,
		},
		Meta: commerce.ProductMeta{
			DisplayPrice: seedDisplayPrice(p.cents), Owner: "store", Timestamps: seedTimestamps(),
		},
	}
}

func (p seedProduct) planID() uuid.UUID { return newID("plans", p.number) }

func (p seedProduct) plan() commerce.Plan {
	return commerce.Plan{
		ID:   p.planID(),
		Type: planType,
		Attributes: commerce.PlanAttributes{
			ExternalRef:           fmt.Sprintf("plan-%02d", p.number),
			Name:                  p.name,
			Description:           p.name,
			SKU:                   p.sku(),
			MainImage:             p.image(),
			Price:                 seedPrices(p.cents),
			PriceUnits:            seedUnits(),
			FeatureConfigurations: p.features(),
			CreatedAt:             seedStart,
			UpdatedAt:             seedStart,
		},
		Meta: commerce.PlanMeta{
			DisplayPrice: seedDisplayPriceWithTax(p.cents), ActivePlan: true, Owner: "store", Timestamps: seedTimestamps(),
		},
	}
}

// features returns one feature of each type.
func (p seedProduct) features() map[string]commerce.FeatureConfiguration {
	return map[string]commerce.FeatureConfiguration{
		newID("features", 1).String(): {Type: "access"},
		newID("features", 2).String(): {Type: "promotion", Tag: "members_discount"},
		newID("features", 3).String(): {Type: "usage", DefaultValue: new(commerce.NewDecimal(int64(p.number % 2)))},
	}
}

func (p seedProduct) sku() string { return fmt.Sprintf("SKU-%04d", p.number) }

func (p seedProduct) image() string { return fmt.Sprintf("https://images.example/%04d.jpg", p.number) }

// seedPeriod describes how often and how much is billed. It is a plan in the first
// generation, a pricing option in the second.
type seedPeriod struct {
	offering int
	months   int   // between two bills: 1 or 12, or 0 for a week
	cents    int64 // per bill
}

// number is unique among the periods of all offerings.
func (p seedPeriod) number() int { return p.offering*100 + p.months }

func (p seedPeriod) plan() commerce.Plan {
	name, interval := p.names()
	return commerce.Plan{
		ID:   newID("plans", p.number()),
		Type: planType,
		Attributes: commerce.PlanAttributes{
			ExternalRef: fmt.Sprintf("plan-%d-%d", p.offering+1, p.months),
			Name:        name,
			Description: "Billed by the " + interval,
			Billing:     p.billing(),
			CreatedAt:   seedStart,
			UpdatedAt:   seedStart,
		},
		Meta: commerce.PlanMeta{
			Price:        seedPrices(p.cents),
			DisplayPrice: seedDisplayPrice(p.cents),
			ActivePlan:   true,
			Owner:        "store",
			Timestamps:   seedTimestamps(),
		},
	}
}

func (p seedPeriod) optionID() uuid.UUID { return newID("pricing-options", p.number()) }

func (p seedPeriod) option() commerce.PricingOption {
	name, interval := p.names()
	return commerce.PricingOption{
		ID:   p.optionID(),
		Type: pricingOptionType,
		Attributes: commerce.PricingOptionAttributes{
			ExternalRef: fmt.Sprintf("option-%d-%d", p.offering+1, p.months),
			Name:        name,
			Description: "Billed by the " + interval,
			Billing:     p.billing(),
			LeadTime:    commerce.LeadTime{Type: "day", Time: commerce.NewDecimal(14)},
			NotificationSchedule: []commerce.Notification{
				{Name: "1 week before renewal", Unit: "week", Amount: commerce.NewDecimal(1)},
			},
			CreatedAt: seedStart,
			UpdatedAt: seedStart,
		},
		Meta: commerce.PricingOptionMeta{
			Price:               seedPrices(p.cents),
			DisplayPrice:        seedDisplayPriceWithTax(p.cents),
			ActivePricingOption: true,
			Owner:               "store",
			Timestamps:          seedTimestamps(),
		},
	}
}

// price returns what a plan of the offering costs with this pricing option.
func (p seedPeriod) price() commerce.OptionPrice {
	return commerce.OptionPrice{Price: seedPrices(p.cents), DisplayPrice: seedDisplayPriceWithTax(p.cents)}
}

// names returns the display name of the period and its billing interval type.
func (p seedPeriod) names() (name, interval string) {
	switch p.months {
	case 0:
		return "Weekly", "week"
	case 12:
		return "Yearly", "year"
	}
	return "Monthly", "month"
}

func (p seedPeriod) billing() commerce.Billing {
	percentage, err := commerce.ParseDecimal("87.5")
	if err != nil {
		panic("commercetest: " + err.Error())
	}
	_, interval := p.names()
	lengths := map[int]int64{0: 104, 1: 24, 12: 2} // two years
	return commerce.Billing{
		BillingIntervalType: interval,
		BillingFrequency:    commerce.NewDecimal(1),
		TrialPeriod:         commerce.NewDecimal(1),
		PlanLength:          commerce.NewDecimal(lengths[p.months]),
		EndBehavior:         "close",
		CanPause:            p.months < 12, // a yearly subscription cannot be paused
		CanResume:           p.months < 12,
		CanCancel:           true,
		BasePricePercentage: percentage,
		FixedPrice:          seedPrices(p.cents),
	}
}

func seedTimestamps() commerce.Timestamps {
	return commerce.Timestamps{CreatedAt: seedStart, UpdatedAt: seedStart}
}

// seedPrices returns a price without tax in one currency, one with tax in another, and one in a
// third, where only small prices are with tax.
func seedPrices(cents int64) commerce.Prices {
	return commerce.Prices{
		"USD": {Amount: commerce.NewDecimal(cents)},
		"GBP": {Amount: commerce.NewDecimal(cents * 9 / 10), IncludesTax: true},
		"EUR": {Amount: commerce.NewDecimal(cents), IncludesTax: cents < 1000},
	}
}

// seedCurrency returns the currency of the subscriptions of an account.
func seedCurrency(account int) string { return []string{"USD", "USD", "USD", "GBP", "EUR"}[account%5] }

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

// seedDisplayPrice adds a tax of 10 %.
func seedDisplayPrice(cents int64) commerce.DisplayPrice {
	return commerce.DisplayPrice{WithoutTax: seedMoney(cents), WithTax: seedMoney(cents + cents/10)}
}

// seedDisplayPriceWithTax also states the tax, as the second generation does.
func seedDisplayPriceWithTax(cents int64) commerce.DisplayPrice {
	price := seedDisplayPrice(cents)
	price.Tax = seedMoney(cents / 10)
	return price
}
