package commercetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// seedStart is when the first seeded subscription was created.
var seedStart = time.Date(2024, time.January, 2, 8, 30, 0, 0, time.UTC)

// seedNames are the names of the subscribers, in turn. Some need quotes in a filter.
var seedNames = []string{
	"Amara Okafor", "Siobhán O'Brien", "Ron Swanson", `Dwayne "The Rock" Johnson`,
	"Ana Pereira, Lda. (Billing)", "Li Wei", "Smith & Sons", "Zoë Müller",
}

// Seed replaces all subscriptions of the store with n new ones, newest first, in the payload of
// [Config.Generation]. It also replaces the accounts and the subscribers, and the resources that a
// list can include. With n below 1 there are no subscriptions.
//
// Seed is deterministic: the subscriptions are the same in every store of the generation. A larger
// n adds newer ones. Their external refs are "order-000001" for the oldest, "order-000002" and so
// on. Each account has up to three subscriptions and one subscriber, whose email is
// "subscriber-0001@example.com", then "subscriber-0002@example.com" and so on; see
// [Store.SubscriberOf]. Of five accounts, one pays in GBP with tax, one in EUR, with tax if the
// price is below 10, and the others in USD without tax.
//
// Some subscriptions are paused, canceled, closed, suspended or pending. Some are canceled and
// still active, as happens before the last billing run. Others were canceled at once, and are
// inactive. Those that are closed or suspended are so because payments failed. A closed one is
// inactive, and not canceled; whether the service cancels it too is not documented. If n is 13 or
// more, the subscriptions show every documented member of their generation, and if n is 22 or more,
// every state.
//
// The subscriptions are encoded when a response needs them: a store of 250,000 is ready
// in less than two seconds.
func (s *Store) Seed(n int) {
	n = max(n, 0)
	offerings, includable := sharedOfferings(s.cfg.Generation)
	seed := &seed{offerings: offerings}
	var accounts []uuid.UUID
	subscribers := map[uuid.UUID][]Subscriber{}
	subscriptions := newSubscriptionSet(n)
	for i := 1; i <= n; i++ {
		stored := newStoredSubscription(i, seed.start(i))
		stored.seed = seed
		account, isListed := seedAccount(i), true
		if n := s.cfg.UnlistedAccounts; n > 0 {
			isListed = account%n > 0
		}
		if account > len(subscribers) { // its first subscription
			subscribers[stored.accountID] = []Subscriber{seedSubscriber(account)}
			if isListed {
				accounts = append(accounts, stored.accountID)
			}
		}
		subscriptions.add(stored)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts, s.subscribers = newAccountSet(accounts), subscribers
	s.subscriptions, s.lastNumber = subscriptions, n
	s.includable = includable
}

// seed computes the subscriptions of [Store.Seed] and of [Store.AddSubscriptionFixture].
type seed struct {
	offerings []commerce.Offering
	fixture   SubscriptionFixture // zero: that of Seed
}

func seedSubscriber(account int) Subscriber {
	return Subscriber{
		Name:  seedNames[(account-1)%len(seedNames)],
		Email: fmt.Sprintf("subscriber-%04d@example.com", account),
	}
}

// seedAccount returns the number of the account of the i-th oldest subscription. Six
// subscriptions alternate between two accounts.
func seedAccount(i int) int { return 1 + (i-1)/6*2 + (i-1)%2 }

// start returns what the store keeps of the i-th oldest subscription. The offering is shared.
func (s *seed) start(i int) commerce.Subscription {
	return commerce.Subscription{
		ID: newID("subscriptions", i),
		Attributes: commerce.SubscriptionAttributes{
			ExternalRef: fmt.Sprintf("order-%06d", i),
			AccountID:   cmp.Or(s.fixture.AccountID, newID("accounts", seedAccount(i))),
			Offering:    s.offerings[i%len(s.offerings)],
		},
	}
}

// subscription returns the i-th oldest subscription. It shares no memory with others. If its
// offering has pricing options, it is of the second generation.
func (s *seed) subscription(i int) commerce.Subscription {
	sub := s.start(i)
	account, created := seedAccount(i), seedStart.Add(time.Duration(i)*97*time.Minute+fractionOfSecond(i))
	sub.Type = "subscription"
	a := &sub.Attributes
	a.Offering = copyOffering(a.Offering)
	sub.Relationships = ownRelationships(i, sub.ID, a.Offering)
	a.AddressID = newID("addresses", account)
	plan := &sub.Relationships.Get("plans").Data.Refs[0]
	plan.ID = cmp.Or(s.fixture.PlanID, plan.ID)
	a.PlanID = plan.ID
	a.Currency = cmp.Or(s.fixture.Currency, seedCurrency(account))
	a.PaymentAuthority = seedPaymentAuthority(account)
	sub.Meta = commerce.SubscriptionMeta{
		Owner:  "store",
		Status: "active",
		Timestamps: commerce.Timestamps{
			CreatedAt: created,
			UpdatedAt: created.Add(5 * time.Second),
			GoLive:    created.Add(24 * time.Hour),
			EndDate:   created.AddDate(2, 0, 0),
		},
		InvoiceAfter: created.AddDate(0, 1, 0),
	}
	state := cmp.Or(s.fixture.State, seedState(i))
	enterState(i, &sub, state)
	if state == stateActive && i%6 == 0 {
		sub.Meta.ManualPayments, a.PaymentAuthority = true, commerce.PaymentAuthority{}
	}
	if hasPricingOptions(a.Offering) {
		a.PricingOptionID = sub.Relationships.Get("pricing_options").Data.Refs[0].ID
		setSecondGenerationMeta(i, &sub)
	}
	return sub
}

// copyOffering returns a copy of an offering of Seed that shares no memory with it.
func copyOffering(offering commerce.Offering) commerce.Offering {
	m := &offering.Meta
	m.ExternalProductRefs, m.ExternalPlanRefs = slices.Clone(m.ExternalProductRefs), slices.Clone(m.ExternalPlanRefs)
	offering.Relationships = slices.Clone(offering.Relationships)
	for i := range offering.Relationships {
		rel := &offering.Relationships[i]
		rel.Links, rel.Data.Refs = slices.Clone(rel.Links), slices.Clone(rel.Data.Refs)
	}
	return offering
}

func hasPricingOptions(offering commerce.Offering) bool {
	return len(offering.Relationships.Get("pricing_options").Data.Refs) > 0
}

// ownRelationships selects one of the plans of the offering for the i-th
// subscription, and one of the pricing options if there are any. In the second
// generation all combinations occur.
func ownRelationships(i int, subscription uuid.UUID, offering commerce.Offering) commerce.Relationships {
	var own commerce.Relationships
	for _, rel := range offering.Relationships {
		turn := i / 2 // in the first generation, all subscriptions of an offering have the same plan
		if hasPricingOptions(offering) {
			turn = i / 4 // counts the subscriptions of this offering
		}
		if rel.Name == "pricing_options" {
			turn /= 2 // each plan occurs with each option
		}
		ref := rel.Data.Refs[turn%len(rel.Data.Refs)]
		own = append(own, commerce.NamedRelationship{Name: rel.Name, Relationship: commerce.Relationship{
			Links: relationshipLinks("subscriptions", subscription, rel.Name),
			Data:  commerce.RelationshipData{Refs: []commerce.ResourceRef{ref}},
		}})
	}
	return own
}

// seedPaymentAuthority returns the payment method of an account.
func seedPaymentAuthority(account int) commerce.PaymentAuthority {
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

// setSecondGenerationMeta adds the members that only the second generation has.
func setSecondGenerationMeta(i int, sub *commerce.Subscription) {
	m := &sub.Meta
	m.FirstInvoicePrepaid = new(i%3 == 0)
	switch m.State.Attributes.Action {
	case "cancel":
		isEnded := m.Status == "inactive"
		m.State.Attributes.CancelImmediately = new(isEnded)
		if isEnded {
			m.LastRefundID, m.LastRefundAmount = newID("refunds", i).String(), new(commerce.NewDecimal(500))
		}
	case "pause":
		m.PausedBy = []string{"subscriber", "merchandizer", "dunning"}[i/7%3]
	}
	plan, option := sub.Attributes.PlanID.String(), sub.Attributes.PricingOptionID.String()
	switch i % 6 {
	case 0: // a future price
		m.PendingPriceChange = &commerce.PriceChanges{
			PlanPrices: map[string]commerce.Prices{plan: seedPrices(2000)},
			PricingOptionPrices: map[string]commerce.PricingOptionPrice{
				option: {BasePricePercentage: new(commerce.NewDecimal(90))},
			},
		}
	case 1: // a former price
		m.PriceUpdateHistory = []commerce.PriceUpdate{{
			PriceChanges: commerce.PriceChanges{
				PlanPrices:          map[string]commerce.Prices{plan: seedPrices(1000)},
				PricingOptionPrices: map[string]commerce.PricingOptionPrice{option: {FixedPrice: seedPrices(800)}},
			},
			ValidUntil: m.Timestamps.CreatedAt.AddDate(0, 1, 0),
		}}
	}
}

// The states of the subscriptions of Seed.
const (
	stateActive    = "active"
	stateCanceled  = "canceled" // and active until the next billing run
	stateClosed    = "closed"   // because payments failed
	stateEnded     = "canceled_at_once"
	statePaused    = "paused"
	statePending   = "pending"
	stateResumed   = "resumed"
	stateSuspended = "suspended"
)

// seedState returns the state of the i-th oldest subscription.
func seedState(i int) string {
	switch {
	case i%22 == 11:
		return stateEnded
	case i%11 == 0:
		return stateClosed
	case i%7 == 0:
		return statePaused
	case i%5 == 0:
		return stateCanceled
	case i%13 == 0:
		return stateResumed
	case i%9 == 0:
		return statePending
	case i%8 == 0:
		return stateSuspended
	}
	return stateActive
}

// enterState changes an active subscription, which is the i-th oldest.
func enterState(i int, sub *commerce.Subscription, state string) {
	m := &sub.Meta
	var action string
	at := m.Timestamps.CreatedAt.AddDate(0, 2, 3)
	switch state {
	case stateEnded:
		action, m.Canceled, m.Timestamps.CanceledAt = "cancel", true, at
		m.Status = "inactive"
	case statePaused:
		action, m.Paused, m.Timestamps.PausedAt = "pause", true, at
	case stateCanceled:
		action, m.Canceled, m.Timestamps.CanceledAt = "cancel", true, at
	case stateResumed:
		action, m.Timestamps.PausedAt, m.Timestamps.ResumedAt = "resume", at, at.AddDate(0, 1, 0)
		at = m.Timestamps.ResumedAt
	case statePending: // goes live later
		action, m.Pending, m.Timestamps.GoLiveAfter = "pending", true, at
		m.Timestamps.GoLive, at = time.Time{}, m.Timestamps.UpdatedAt
	case stateSuspended: // payments failed; nobody asked for a change of state
		m.Suspended, m.Timestamps.UpdatedAt = true, at
		return
	case stateClosed: // later
		m.Closed, m.Status, m.Timestamps.UpdatedAt = true, "inactive", at
		return
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

// fractionOfSecond returns a fraction with 3, 6 or 9 digits.
func fractionOfSecond(i int) time.Duration {
	d := time.Duration(i*10%1000 + 1) // the last digit is not 0
	switch i % 3 {
	case 0:
		return d * time.Millisecond
	case 1:
		return 123*time.Millisecond + d*time.Microsecond
	}
	return 123456*time.Microsecond + d*time.Nanosecond
}
