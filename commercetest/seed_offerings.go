package commercetest

import (
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// seedOfferings describes the offerings of [Store.Seed]. One has a single billing
// period, so that both generations have relationships with one resource.
var seedOfferings = []struct {
	name, description string
	products          []string
	monthlyCents      int64
	months            []int // between two bills, for each billing period; 0: a week
}{
	{
		name: "Coffee Club", description: "Fresh beans at your door",
		products: []string{"House Blend 500 g"}, monthlyCents: 1850, months: []int{1, 12},
	},
	{
		name: "Tea Box", description: "Teas of the season",
		products: []string{"Green Tea Box", "Teapot"}, monthlyCents: 1400, months: []int{1, 12},
	},
	{
		name: "Daily Digest", description: "The news, every morning",
		products: []string{"Digest Subscription"}, monthlyCents: 900, months: []int{0},
	},
	{
		name: "Razor Plan", description: "Blades as you need them",
		products: []string{"Razor Handle", "Blades, pack of 8"}, monthlyCents: 675, months: []int{1, 12},
	},
}

// sharedOfferings returns what newSeedOfferings does, the same for all stores: a test may make
// thousands of stores. Nobody must change it.
func sharedOfferings(g Generation) (offerings []commerce.Offering, includable []*resource) {
	if g == FirstGeneration {
		return firstOfferings()
	}
	return secondOfferings()
}

var (
	firstOfferings = sync.OnceValues(func() ([]commerce.Offering, []*resource) {
		return newSeedOfferings(FirstGeneration)
	})
	secondOfferings = sync.OnceValues(func() ([]commerce.Offering, []*resource) {
		return newSeedOfferings(SecondGeneration)
	})
)

// newSeedOfferings returns the offerings and the resources that a list can include
// for them.
func newSeedOfferings(g Generation) (offerings []commerce.Offering, includable []*resource) {
	for n, o := range seedOfferings {
		offering := commerce.Offering{
			ID:   newID("offerings", n),
			Type: "subscription_offering",
			Attributes: commerce.OfferingAttributes{
				ExternalRef: fmt.Sprintf("offering-%d", n+1), Name: o.name, Description: o.description,
				CreatedAt: seedStart, UpdatedAt: seedStart,
			},
			Meta: commerce.OfferingMeta{Owner: "store", Timestamps: seedTimestamps()},
		}
		var products []seedProduct
		for k, name := range o.products {
			products = append(products, seedProduct{number: n*10 + k, name: name, cents: o.monthlyCents})
		}
		var periods []seedPeriod
		for _, months := range o.months {
			cents := o.monthlyCents
			switch months {
			case 0:
				cents /= 4
			case 12:
				cents *= 10
			}
			periods = append(periods, seedPeriod{offering: n, months: months, cents: cents})
		}
		if g == SecondGeneration {
			includable = append(includable, completeSecondGeneration(&offering, products, periods)...)
		} else {
			includable = append(includable, completeFirstGeneration(&offering, products, periods)...)
		}
		offerings = append(offerings, offering)
	}
	return offerings, includable
}

// completeFirstGeneration adds to an offering what depends on the generation, and returns
// what a list can include for it. A billing period is a plan.
func completeFirstGeneration(
	offering *commerce.Offering, products []seedProduct, periods []seedPeriod,
) (includable []*resource) {
	var planRefs []commerce.ResourceRef
	for _, period := range periods {
		planRefs = append(planRefs, commerce.ResourceRef{Type: planType, ID: period.plan().ID})
	}
	offering.Relationships = commerce.Relationships{offeringRelationship(offering.ID, "plans", planRefs)}
	for _, period := range periods {
		p := period.plan()
		p.Relationships = offering.Relationships
		includable = append(includable, newResource(plansInclude, p.ID, []uuid.UUID{p.ID}, p))
	}
	for _, product := range products {
		p := product.product()
		p.Relationships = offering.Relationships
		offering.Meta.ExternalProductRefs = append(offering.Meta.ExternalProductRefs, p.Attributes.ExternalRef)
		includable = append(includable, newResource(productsInclude, p.ID, plansOf(offering.Relationships), p))
	}
	return includable
}

// completeSecondGeneration adds to an offering what depends on the generation, and returns
// what a list can include for it. A product is a plan, and a billing period is a pricing
// option. Each plan can be bought with each pricing option.
func completeSecondGeneration(
	offering *commerce.Offering, products []seedProduct, periods []seedPeriod,
) (includable []*resource) {
	var planRefs, optionRefs []commerce.ResourceRef
	for _, product := range products {
		planRefs = append(planRefs, commerce.ResourceRef{Type: planType, ID: product.planID()})
	}
	pricesByOption := map[string]commerce.OptionPrice{}
	for _, period := range periods {
		optionRefs = append(optionRefs, commerce.ResourceRef{Type: pricingOptionType, ID: period.optionID()})
		pricesByOption[period.optionID().String()] = period.price()
	}
	plans := offeringRelationship(offering.ID, "plans", planRefs)
	options := offeringRelationship(offering.ID, "pricing_options", optionRefs)
	offering.Relationships = commerce.Relationships{plans, options}
	for _, product := range products {
		p := product.plan()
		p.Relationships = commerce.Relationships{options}
		p.Meta.Prices = pricesByOption
		offering.Meta.ExternalPlanRefs = append(offering.Meta.ExternalPlanRefs, p.Attributes.ExternalRef)
		includable = append(includable, newResource(plansInclude, p.ID, []uuid.UUID{p.ID}, p))
	}
	for _, period := range periods {
		o := period.option()
		o.Relationships = commerce.Relationships{plans}
		o.Meta.Prices = map[string]commerce.OptionPrice{}
		for _, product := range products {
			o.Meta.Prices[product.planID().String()] = period.price()
		}
		includable = append(includable, newResource(pricingOptionsInclude, o.ID, plansOf(offering.Relationships), o))
	}
	return includable
}

// offeringRelationship returns the relationship of an offering to its plans or its
// pricing options. Its data is an object for one resource and an array for several:
// the service sends both.
func offeringRelationship(offering uuid.UUID, name string, refs []commerce.ResourceRef) commerce.NamedRelationship {
	return commerce.NamedRelationship{Name: name, Relationship: commerce.Relationship{
		Links: relationshipLinks("offerings", offering, name),
		Data:  commerce.RelationshipData{Many: len(refs) > 1, Refs: refs},
	}}
}

func relationshipLinks(kind string, id uuid.UUID, name string) commerce.Links {
	self := fmt.Sprintf("/v2/subscriptions/%s/%s", kind, id)
	return commerce.Links{
		{Name: "related", Link: commerce.Link{Href: self + "/" + name}},
		{Name: "self", Link: commerce.Link{Href: self}},
	}
}
