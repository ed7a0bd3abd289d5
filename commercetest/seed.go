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

// Seed replaces the store's subscriptions with n others, newest first, and its
// subscribers and what a list may include with those that belong to them, in the
// payload of [Config.Generation]. They are the same for the same n, in every store
// of that generation; those of a smaller n are the oldest of a greater one.
//
// The i-th oldest has the external ref "order-000001" and so on. Each account has
// up to three subscriptions, and a subscriber with the email
// "subscriber-0001@example.com" and so on; see [Store.SubscriberOf]. Some are
// paused, canceled (yet active, as happens before the last billing run), closed,
// suspended or pending. From 13 on they show every member of their generation. n
// below 1 leaves the store without subscriptions.
func (s *Store) Seed(n int) {
	offerings, catalog := seedCatalog(s.cfg.Generation)
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
	s.records, s.subscribers, s.catalog = records, subscribers, catalog
}

// seedSubscription returns the i-th oldest subscription. Offerings with pricing
// options make it one of the second generation.
func seedSubscription(i, account int, offering commerce.Offering) commerce.Subscription {
	created := seedStart.Add(time.Duration(i)*97*time.Minute + seedFraction(i))
	id := newID("subscriptions", i)
	second := len(offering.Relationships.Get("pricing_options").Data.Refs) > 0
	var own commerce.Relationships // one of each kind of what the offering has
	for _, rel := range offering.Relationships {
		turn := i / 2 // first generation: one plan of each offering, as ever
		if second {
			turn = i / 4 // of the subscription among those of its offering
		}
		if rel.Name == "pricing_options" {
			turn /= 2 // each plan with each option
		}
		ref := rel.Data.Refs[turn%len(rel.Data.Refs)]
		own = append(own, commerce.NamedRelationship{Name: rel.Name, Relationship: commerce.Relationship{
			Links: seedLinks("subscriptions", id, rel.Name),
			Data:  commerce.RelationshipData{Refs: []commerce.ResourceRef{ref}},
		}})
	}
	sub := commerce.Subscription{
		ID:   id,
		Type: "subscription",
		Attributes: commerce.SubscriptionAttributes{
			ExternalRef:      fmt.Sprintf("order-%06d", i),
			AccountID:        newID("accounts", account),
			AddressID:        newID("addresses", account),
			Offering:         offering,
			PlanID:           own.Get("plans").Data.Refs[0].ID,
			Currency:         "USD",
			PaymentAuthority: seedAuthority(account),
		},
		Relationships: own,
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
	if second {
		sub.Attributes.PricingOptionID = own.Get("pricing_options").Data.Refs[0].ID
		seedSecondMeta(i, &sub)
	}
	return sub
}

// seedAuthority returns what an account pays with.
func seedAuthority(account int) commerce.PaymentAuthority {
	if account%4 == 3 {
		return commerce.PaymentAuthority{
			Type:              "authorize_net",
			PaymentProfileID:  fmt.Sprintf("payment_%04d", account),
			CustomerProfileID: fmt.Sprintf("profile_%04d", account),
		}
	}
	return commerce.PaymentAuthority{
		Type:       "elastic_path_payments_stripe",
		CustomerID: fmt.Sprintf("cus_%04d", account),
		CardID:     fmt.Sprintf("card_%04d", account),
	}
}

// seedSecondMeta adds what only the second generation has.
func seedSecondMeta(i int, sub *commerce.Subscription) {
	m := &sub.Meta
	m.FirstInvoicePrepaid = new(i%3 == 0)
	switch m.State.Attributes.Action {
	case "cancel":
		m.State.Attributes.CancelImmediately = new(m.Closed)
		if m.Closed {
			m.LastRefundID, m.LastRefundAmount = newID("refunds", i).String(), new(commerce.NewDecimal(500))
		}
	case "pause":
		m.PausedBy = []string{"subscriber", "merchandizer", "dunning"}[i/7%3]
	}
	plan, option := sub.Attributes.PlanID.String(), sub.Attributes.PricingOptionID.String()
	switch i % 6 {
	case 0: // a new price to come
		m.PendingPriceChange = &commerce.PriceChanges{
			PlanPrices: map[string]commerce.Prices{plan: seedPrices(2000)},
			PricingOptionPrices: map[string]commerce.PricingOptionPrice{
				option: {BasePricePercentage: new(commerce.NewDecimal(90))},
			},
		}
	case 1: // an old price
		m.PriceUpdateHistory = []commerce.PriceUpdate{{
			PriceChanges: commerce.PriceChanges{
				PlanPrices:          map[string]commerce.Prices{plan: seedPrices(1000)},
				PricingOptionPrices: map[string]commerce.PricingOptionPrice{option: {FixedPrice: seedPrices(800)}},
			},
			ValidUntil: m.Timestamps.CreatedAt.AddDate(0, 1, 0),
		}}
	}
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
	case i%9 == 0: // goes live later
		action, m.Pending, m.Timestamps.GoLiveAfter = "pending", true, at
		m.Timestamps.GoLive, at = time.Time{}, m.Timestamps.UpdatedAt
	case i%8 == 0: // payments failed: no change of state that the subscriber asked for
		m.Suspended, m.Timestamps.UpdatedAt = true, at
		return
	default:
		if i%6 == 0 {
			m.ManualPayments, sub.Attributes.PaymentAuthority = true, commerce.PaymentAuthority{}
		}
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
