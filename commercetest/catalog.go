package commercetest

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// seedOfferings are the offerings with the names of their products. One has a single
// tariff, so that relationships with one resource occur in both generations.
var seedOfferings = []struct {
	name, description string
	products          []string
	cents             int64 // a month
	months            []int // between two bills, of each tariff
}{
	{"Coffee Club", "Fresh beans at your door", []string{"House Blend 500 g"}, 1850, []int{1, 12}},
	{"Tea Box", "Teas of the season", []string{"Green Tea Box", "Teapot"}, 1400, []int{1, 12}},
	{"Daily Digest", "The news, every morning", []string{"Digest Subscription"}, 900, []int{12}},
	{"Razor Plan", "Blades as you need them", []string{"Razor Handle", "Blades, pack of 8"}, 675, []int{1, 12}},
}

// seedCatalog returns the offerings, and what a list may include for them, by
// the name that includes it.
func seedCatalog(g Generation) (offerings []commerce.Offering, included map[string][]*resource) {
	included = map[string][]*resource{}
	for n, o := range seedOfferings {
		offering := commerce.Offering{
			ID:   newID("offerings", n),
			Type: "subscription_offering",
			Attributes: commerce.OfferingAttributes{
				ExternalRef: fmt.Sprintf("offering-%d", n+1), Name: o.name, Description: o.description,
				CreatedAt: seedStart, UpdatedAt: seedStart,
			},
			Meta: commerce.OfferingMeta{Owner: "store", Timestamps: seedTimes()},
		}
		var tariffs []tariff
		for _, months := range o.months {
			cents := o.cents
			if months == 12 {
				cents *= 10
			}
			tariffs = append(tariffs, tariff{n, months, cents})
		}
		var goods []good
		for k, name := range o.products {
			goods = append(goods, good{n*10 + k, name, o.cents})
		}
		if g == SecondGeneration {
			seedSecond(&offering, goods, tariffs, included)
		} else {
			seedFirst(&offering, goods, tariffs, included)
		}
		offerings = append(offerings, offering)
	}
	return offerings, included
}

// seedFirst completes an offering of the first generation: its plans are the
// tariffs, its products the goods.
func seedFirst(offering *commerce.Offering, goods []good, tariffs []tariff, included map[string][]*resource) {
	var refs []commerce.ResourceRef
	for _, t := range tariffs {
		refs = append(refs, commerce.ResourceRef{Type: planType, ID: t.plan().ID})
	}
	offering.Relationships = commerce.Relationships{seedRelation(offering.ID, "plans", refs)}
	for _, t := range tariffs {
		p := t.plan()
		p.Relationships = offering.Relationships
		included["plans"] = append(included["plans"], newResource(p.ID, []uuid.UUID{p.ID}, p))
	}
	for _, g := range goods {
		p := g.product()
		p.Relationships = offering.Relationships
		offering.Meta.ExternalProductRefs = append(offering.Meta.ExternalProductRefs, p.Attributes.ExternalRef)
		included["products"] = append(included["products"], newResource(p.ID, plansOf(offering.Relationships), p))
	}
}

// seedSecond completes an offering of the second generation: its plans are the
// goods, its pricing options the tariffs. Each plan can be had with each option.
func seedSecond(offering *commerce.Offering, goods []good, tariffs []tariff, included map[string][]*resource) {
	var planRefs, optionRefs []commerce.ResourceRef
	for _, g := range goods {
		planRefs = append(planRefs, commerce.ResourceRef{Type: planType, ID: g.planID()})
	}
	prices := map[string]commerce.OptionPrice{} // of each plan, by option
	for _, t := range tariffs {
		optionRefs = append(optionRefs, commerce.ResourceRef{Type: optionType, ID: t.optionID()})
		prices[t.optionID().String()] = t.price()
	}
	plans := seedRelation(offering.ID, "plans", planRefs)
	options := seedRelation(offering.ID, "pricing_options", optionRefs)
	offering.Relationships = commerce.Relationships{plans, options}
	for _, g := range goods {
		p := g.plan()
		p.Relationships = commerce.Relationships{options}
		p.Meta.Prices = prices
		offering.Meta.ExternalPlanRefs = append(offering.Meta.ExternalPlanRefs, p.Attributes.ExternalRef)
		included["plans"] = append(included["plans"], newResource(p.ID, []uuid.UUID{p.ID}, p))
	}
	for _, t := range tariffs {
		o := t.option()
		o.Relationships = commerce.Relationships{plans}
		o.Meta.Prices = map[string]commerce.OptionPrice{}
		for _, g := range goods {
			o.Meta.Prices[g.planID().String()] = t.price()
		}
		included["pricing_options"] = append(included["pricing_options"], newResource(o.ID, plansOf(offering.Relationships), o))
	}
}

// seedRelation returns the relationship of an offering to its plans, or its
// pricing options. One is an object and several are an array, as the service sends both.
func seedRelation(offering uuid.UUID, name string, refs []commerce.ResourceRef) commerce.NamedRelationship {
	return commerce.NamedRelationship{Name: name, Relationship: commerce.Relationship{
		Links: seedLinks("offerings", offering, name),
		Data:  commerce.RelationshipData{Many: len(refs) > 1, Refs: refs},
	}}
}

func seedLinks(kind string, id uuid.UUID, name string) commerce.Links {
	self := fmt.Sprintf("/v2/subscriptions/%s/%s", kind, id)
	return commerce.Links{
		{Name: "related", Link: commerce.Link{Href: self + "/" + name}},
		{Name: "self", Link: commerce.Link{Href: self}},
	}
}
