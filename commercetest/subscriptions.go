package commercetest

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// storedSubscription is a subscription with the values that filters and included
// resources need. It is encoded when it is added, so that the caller cannot change
// it afterwards.
type storedSubscription struct {
	raw          json.RawMessage
	id           uuid.UUID
	accountID    uuid.UUID
	externalRef  string
	offeringName string
	plans        []uuid.UUID  // all plans that it or its offering names
	ownResources [2]uuid.UUID // its plan and its pricing option
}

func newStoredSubscription(sub commerce.Subscription) *storedSubscription {
	a := sub.Attributes
	stored := &storedSubscription{
		raw:          encode(sub),
		id:           sub.ID,
		accountID:    a.AccountID,
		externalRef:  a.ExternalRef,
		offeringName: a.Offering.Attributes.Name,
		ownResources: [2]uuid.UUID{a.PlanID, a.PricingOptionID},
	}
	if a.PlanID != uuid.Nil {
		stored.plans = []uuid.UUID{a.PlanID}
	}
	stored.plans = append(stored.plans, plansOf(sub.Relationships)...)
	stored.plans = append(stored.plans, plansOf(a.Offering.Relationships)...)
	return stored
}

// plansOf returns the ids in the plans relationship.
func plansOf(rel commerce.Relationships) []uuid.UUID {
	var ids []uuid.UUID
	for _, ref := range rel.Get("plans").Data.Refs {
		ids = append(ids, ref.ID)
	}
	return ids
}

// resource is a plan, product or pricing option that a list can include.
type resource struct {
	id    uuid.UUID
	plans []uuid.UUID // the plans that it belongs to; for a plan, its own id
	// active and inactive are the two encodings. A plan or pricing option is sent as
	// active if it is the own one of a subscription on the page.
	active, inactive json.RawMessage
}

// newResource encodes v, which is marked as active if it can be. The service sends
// null as the mark of what is not active.
func newResource(id uuid.UUID, plans []uuid.UUID, v any) *resource {
	active := encode(v)
	inactive := bytes.Replace(active, []byte(`"active_plan":true`), []byte(`"active_plan":null`), 1)
	inactive = bytes.Replace(inactive, []byte(`"active_pricing_option":true`), []byte(`"active_pricing_option":null`), 1)
	return &resource{id: id, plans: plans, active: active, inactive: inactive}
}

// AddSubscription adds sub at the start of the list, which is newest first. The
// store sends sub unchanged, with no default values. With it, a list can include
// those plans of [Store.Seed] that sub or its offering names, and their products
// or pricing options. AddSubscription panics if sub cannot be encoded.
func (s *Store) AddSubscription(sub commerce.Subscription) {
	stored := newStoredSubscription(sub)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscriptions = slices.Insert(s.subscriptions, 0, stored)
}

// RemoveSubscription removes the subscription with this id, the newest if there are
// several. It reports whether there was one.
func (s *Store) RemoveSubscription(id uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.subscriptions, func(sub *storedSubscription) bool { return sub.id == id })
	if i < 0 {
		return false
	}
	s.subscriptions = slices.Delete(s.subscriptions, i, i+1)
	return true
}

// Subscriber is the owner of an account. Lists can be filtered by name and email,
// but do not contain them.
type Subscriber struct{ Name, Email string }

// SetSubscriber sets the owner of an account. The filters name and email find the
// subscriptions of the account by it. If an account has no subscriber, the filter
// name compares the name of the offering, and the filter email finds nothing.
func (s *Store) SetSubscriber(accountID uuid.UUID, who Subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers[accountID] = who
}

// SubscriberOf returns the owner of an account, and whether the account has one.
// [Store.Seed] and [Store.SetSubscriber] set it.
func (s *Store) SubscriberOf(accountID uuid.UUID) (Subscriber, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, ok := s.subscribers[accountID]
	return who, ok
}
