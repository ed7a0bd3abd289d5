package commercetest

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// seedStart is when the first seeded subscription was created.
var seedStart = time.Date(2024, time.January, 2, 8, 30, 0, 0, time.UTC)

// seedNames are the names of the seeded subscribers, in turn. Some need quotes in a filter.
var seedNames = []string{
	"Amara Okafor", "Siobhán O'Brien", "Ron Swanson", `Dwayne "The Rock" Johnson`,
	"Ana Pereira, Lda. (Billing)", "Li Wei", "Smith & Sons", "Zoë Müller",
}

// seedOfferings are the names of the offerings and of their products.
var seedOfferings = []struct {
	name, description string
	products          []string
	cents             int64 // a month
}{
	{"Coffee Club", "Fresh beans at your door", []string{"House Blend 500 g"}, 1850},
	{"Tea Box", "Teas of the season", []string{"Green Tea Box", "Teapot"}, 1400},
	{"Daily Digest", "The news, every morning", []string{"Digest Subscription"}, 900},
	{"Razor Plan", "Blades as you need them", []string{"Razor Handle", "Blades, pack of 8"}, 675},
}

// Seed replaces the store's subscriptions with n others, newest first, and its
// subscribers, plans and products with those that belong to them. They are the same for the same n, in every store;
// those of a smaller n are the oldest of a greater one.
//
// The i-th oldest has the external ref "order-000001" and so on. Each account has
// up to three subscriptions, and a subscriber with the email
// "subscriber-0001@example.com" and so on; see [Store.SubscriberOf]. Some are
// paused, canceled (yet active, as happens before the last billing run) or
// closed. n below 1 leaves the store without subscriptions.
func (s *Store) Seed(n int) {
	offerings, plans, products := seedCatalog()
	subscribers := map[uuid.UUID]Subscriber{}
	records := make([]*record, 0, max(n, 0))
	for i := n; i >= 1; i-- {
		account := 1 + (i-1)/6*2 + (i-1)%2 // two accounts take turns for six subscriptions
		id := newID("accounts", account)
		subscribers[id] = Subscriber{
			Name:  seedNames[(account-1)%len(seedNames)],
			Email: fmt.Sprintf("subscriber-%04d@example.com", account),
		}
		records = append(records, newRecord(seedSubscription(i, account, offerings[i%len(offerings)])))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records, s.subscribers, s.plans, s.products = records, subscribers, plans, products
}

// seedSubscription returns the i-th oldest subscription.
func seedSubscription(i, account int, offering commerce.Offering) commerce.Subscription {
	created := seedStart.Add(time.Duration(i)*97*time.Minute + seedFraction(i))
	plan := offering.Relationships.Get("plans").Data.Refs[i/2%2]
	sub := commerce.Subscription{
		ID:   newID("subscriptions", i),
		Type: "subscription",
		Attributes: commerce.SubscriptionAttributes{
			ExternalRef: fmt.Sprintf("order-%06d", i),
			AccountID:   newID("accounts", account),
			AddressID:   newID("addresses", account),
			Offering:    offering,
			PlanID:      plan.ID,
			Currency:    "USD",
			PaymentAuthority: commerce.PaymentAuthority{
				Type:       "elastic_path_payments_stripe",
				CustomerID: fmt.Sprintf("cus_%04d", account),
				CardID:     fmt.Sprintf("card_%04d", account),
			},
		},
		Relationships: seedRelationships("subscriptions", newID("subscriptions", i), commerce.RelationshipData{Refs: []commerce.ResourceRef{plan}}),
		Meta: commerce.SubscriptionMeta{
			Owner:  "store",
			Status: "active",
			Timestamps: commerce.Timestamps{
				CreatedAt: created,
				UpdatedAt: created.Add(5 * time.Second),
				GoLive:    created.Add(24 * time.Hour),
				EndDate:   created.AddDate(2, 0, 0),
			},
			InvoiceAfter: created.AddDate(0, 1, 0),
		},
	}
	seedState(i, &sub)
	return sub
}

// seedState gives some subscriptions another state than active.
func seedState(i int, sub *commerce.Subscription) {
	m := &sub.Meta
	var action string
	at := m.Timestamps.CreatedAt.AddDate(0, 2, 3)
	switch {
	case i%11 == 0:
		action = "cancel"
		m.Canceled, m.Closed, m.Status = true, true, "inactive"
		m.Timestamps.CanceledAt = at
	case i%7 == 0:
		action, m.Paused, m.Timestamps.PausedAt = "pause", true, at
	case i%5 == 0:
		action, m.Canceled, m.Timestamps.CanceledAt = "cancel", true, at
	case i%13 == 0:
		action, m.Timestamps.PausedAt, m.Timestamps.ResumedAt = "resume", at, at.AddDate(0, 1, 0)
		at = m.Timestamps.ResumedAt
	default:
		return
	}
	m.Timestamps.UpdatedAt = at
	m.State = commerce.SubscriptionState{
		ID:         newID("states", i),
		Type:       "subscription_state",
		Attributes: commerce.SubscriptionStateAttributes{Action: action},
		Meta:       commerce.SubscriptionStateMeta{CreatedAt: at},
	}
}

// seedFraction is the fraction of a second of a timestamp: 3, 6 or 9 digits.
func seedFraction(i int) time.Duration {
	d := time.Duration(i*10%1000 + 1) // does not end in 0
	switch i % 3 {
	case 0:
		return d * time.Millisecond
	case 1:
		return 123*time.Millisecond + d*time.Microsecond
	}
	return 123456*time.Microsecond + d*time.Nanosecond
}

// seedCatalog returns the offerings, with what may be included for them.
func seedCatalog() (offerings []commerce.Offering, plans, products []*resource) {
	for n, o := range seedOfferings {
		id := newID("offerings", n)
		ref := fmt.Sprintf("offering-%d", n+1)
		monthly, yearly := seedPlan(n, 1, o.cents), seedPlan(n, 12, o.cents*10)
		belongs := seedRelationships("offerings", id, commerce.RelationshipData{Many: true, Refs: []commerce.ResourceRef{
			{Type: monthly.Type, ID: monthly.ID}, {Type: yearly.Type, ID: yearly.ID},
		}})
		offering := commerce.Offering{
			ID:   id,
			Type: "subscription_offering",
			Attributes: commerce.OfferingAttributes{
				ExternalRef: ref, Name: o.name, Description: o.description, CreatedAt: seedStart, UpdatedAt: seedStart,
			},
			Relationships: belongs,
			Meta:          commerce.OfferingMeta{Owner: "store", Timestamps: seedTimes()},
		}
		for _, p := range []commerce.Plan{monthly, yearly} {
			p.Relationships = belongs
			plans = append(plans, &resource{encode(p), []uuid.UUID{p.ID}})
		}
		for k, name := range o.products {
			p := seedProduct(n*10+k, name, o.cents)
			p.Relationships = belongs
			offering.Meta.ExternalProductRefs = append(offering.Meta.ExternalProductRefs, p.Attributes.ExternalRef)
			products = append(products, &resource{encode(p), plansOf(belongs)})
		}
		offerings = append(offerings, offering)
	}
	return offerings, plans, products
}

// seedPlan returns a plan of the n-th offering, billed every so many months.
func seedPlan(n, months int, cents int64) commerce.Plan {
	interval, name := "month", "Monthly"
	if months == 12 {
		interval, name = "year", "Yearly"
	}
	percentage, err := commerce.ParseDecimal("87.5")
	if err != nil {
		panic("commercetest: " + err.Error())
	}
	return commerce.Plan{
		ID:   newID("plans", n*100+months),
		Type: "subscription_offering_plan",
		Attributes: commerce.PlanAttributes{
			ExternalRef: fmt.Sprintf("plan-%d-%d", n+1, months),
			Name:        name,
			Description: "Billed by the " + interval,
			Billing: commerce.Billing{
				BillingIntervalType: interval,
				BillingFrequency:    commerce.NewDecimal(1),
				TrialPeriod:         commerce.NewDecimal(0),
				PlanLength:          commerce.NewDecimal(24 / int64(months)),
				EndBehavior:         "close",
				CanPause:            true,
				CanResume:           true,
				CanCancel:           true,
				BasePricePercentage: percentage,
				FixedPrice:          seedPrices(cents),
			},
			CreatedAt: seedStart,
			UpdatedAt: seedStart,
		},
		Meta: commerce.PlanMeta{
			Price:        seedPrices(cents),
			DisplayPrice: seedDisplayPrice(cents),
			ActivePlan:   true,
			Owner:        "store",
			Timestamps:   seedTimes(),
		},
	}
}

func seedProduct(n int, name string, cents int64) commerce.Product {
	return commerce.Product{
		ID:   newID("products", n),
		Type: "subscription_offering_product",
		Attributes: commerce.ProductAttributes{
			ExternalRef: fmt.Sprintf("product-%02d", n),
			Name:        name,
			Description: name,
			SKU:         fmt.Sprintf("SKU-%04d", n),
			MainImage:   fmt.Sprintf("https://images.example/%04d.jpg", n),
			Price:       seedPrices(cents),
			PriceUnits:  commerce.PriceUnits{Unit: "month", Amount: commerce.NewDecimal(1)},
			CreatedAt:   seedStart,
			UpdatedAt:   seedStart,
		},
		Meta: commerce.ProductMeta{DisplayPrice: seedDisplayPrice(cents), Owner: "store", Timestamps: seedTimes()},
	}
}

func seedTimes() commerce.Timestamps {
	return commerce.Timestamps{CreatedAt: seedStart, UpdatedAt: seedStart}
}

func seedPrices(cents int64) commerce.Prices {
	return commerce.Prices{"USD": {Amount: commerce.NewDecimal(cents)}}
}

// seedDisplayPrice adds a tax of a tenth.
func seedDisplayPrice(cents int64) commerce.DisplayPrice {
	money := func(cents int64) commerce.Money {
		return commerce.Money{
			Amount:    commerce.NewDecimal(cents),
			Currency:  "USD",
			Formatted: fmt.Sprintf("$%d.%02d", cents/100, cents%100),
		}
	}
	return commerce.DisplayPrice{WithoutTax: money(cents), WithTax: money(cents + cents/10)}
}

// seedRelationships returns the plans of a resource of a kind.
func seedRelationships(kind string, id uuid.UUID, plans commerce.RelationshipData) commerce.Relationships {
	self := fmt.Sprintf("/v2/subscriptions/%s/%s", kind, id)
	return commerce.Relationships{{Name: "plans", Relationship: commerce.Relationship{
		Links: commerce.Links{
			{Name: "self", Link: commerce.Link{Href: self}},
			{Name: "related", Link: commerce.Link{Href: self + "/plans"}},
		},
		Data: plans,
	}}}
}
