package commercetest

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// storedSubscription is a subscription of a store, with the values that filters need. It
// does not change: an update replaces it.
type storedSubscription struct {
	number        int // a newer subscription has a larger one; that of Seed
	id, accountID uuid.UUID
	externalRef   string
	offeringName  string
	// Exactly one is set. A subscription of Seed is encoded when a response needs it: a
	// store may have many. The others are encoded when they are added, so that the caller
	// cannot change them afterwards.
	seed *seed
	kept *encodedSubscription
}

// encodedSubscription is a subscription with the values that responses need.
type encodedSubscription struct {
	raw    json.RawMessage
	plans  []uuid.UUID   // all plans that it or its offering names
	own    []uuid.UUID   // the resources that are active because of it
	states []storedState // oldest first; the last is that of its meta
}

type storedState struct {
	id  uuid.UUID
	raw json.RawMessage
}

// newStoredSubscription returns sub without seed and kept.
func newStoredSubscription(number int, sub commerce.Subscription) *storedSubscription {
	return &storedSubscription{
		number:       number,
		id:           sub.ID,
		accountID:    sub.Attributes.AccountID,
		externalRef:  sub.Attributes.ExternalRef,
		offeringName: sub.Attributes.Offering.Attributes.Name,
	}
}

func (sub *storedSubscription) encoded() *encodedSubscription {
	if sub.seed == nil {
		return sub.kept
	}
	return encodeSubscription(sub.seed.subscription(sub.number), nil)
}

// encodedFor returns sub as a shopper sees it, or as the store does if the account is zero. Only
// the store sees who paused it.
func (sub *storedSubscription) encodedFor(account uuid.UUID) *encodedSubscription {
	encoded := sub.encoded()
	if account == uuid.Nil {
		return encoded
	}
	shown := sub.decoded()
	shown.Meta.PausedBy = ""
	return encodeSubscription(shown, encoded.states)
}

// decoded returns a copy of sub that shares no memory with others.
func (sub *storedSubscription) decoded() (decoded commerce.Subscription) {
	if sub.seed != nil {
		return sub.seed.subscription(sub.number)
	}
	if err := json.Unmarshal(sub.kept.raw, &decoded); err != nil {
		panic("commercetest: " + err.Error()) // it was encoded from a commerce.Subscription
	}
	return decoded
}

// encodeSubscription returns sub with the states that it had before. A state without an id
// counts as none.
func encodeSubscription(sub commerce.Subscription, before []storedState) *encodedSubscription {
	a := sub.Attributes
	raw, err := sub.MarshalJSON() // encoding/json would scan the result once more
	if err != nil {
		panic("commercetest: " + err.Error())
	}
	encoded := &encodedSubscription{
		raw:    raw,
		plans:  slices.Concat([]uuid.UUID{a.PlanID}, plansOf(sub.Relationships), plansOf(a.Offering.Relationships)),
		own:    []uuid.UUID{a.PlanID, a.PricingOptionID},
		states: before,
	}
	if state := sub.Meta.State; state.ID != uuid.Nil {
		isSame := func(s storedState) bool { return s.id == state.ID }
		encoded.states = slices.DeleteFunc(slices.Clone(before), isSame)
		encoded.states = append(encoded.states, storedState{id: state.ID, raw: encode(state)})
	}
	return encoded
}

// plansOf returns the ids in the plans relationship.
func plansOf(rel commerce.Relationships) []uuid.UUID {
	var ids []uuid.UUID
	for _, ref := range rel.Get("plans").Data.Refs {
		ids = append(ids, ref.ID)
	}
	return ids
}

// include is a kind of resource that lists and subscriptions can include.
type include struct {
	name string // in the include parameter and in the response
	// mark is the member that is true if the resource is the own one of a subscription on the
	// page. Otherwise the service sends it as null. Empty: there is none.
	mark string
}

var (
	plansInclude          = include{name: "plans", mark: "active_plan"}
	productsInclude       = include{name: "products"}
	pricingOptionsInclude = include{name: "pricing_options", mark: "active_pricing_option"}
)

// includes lists what each generation can include.
var includes = map[Generation][]include{
	FirstGeneration:  {plansInclude, productsInclude},
	SecondGeneration: {plansInclude, pricingOptionsInclude},
}

// resource is something that a list can include.
type resource struct {
	include include
	id      uuid.UUID
	plans   []uuid.UUID // the plans that it belongs to; for a plan, its own id
	// active and inactive are the encodings with and without the mark of its include.
	active, inactive json.RawMessage
}

// newResource encodes v, which has the mark of its include.
func newResource(kind include, id uuid.UUID, plans []uuid.UUID, v any) *resource {
	active, mark := encode(v), `"`+kind.mark+`":`
	inactive := bytes.Replace(active, []byte(mark+"true"), []byte(mark+"null"), 1)
	return &resource{include: kind, id: id, plans: plans, active: active, inactive: inactive}
}

// AddSubscription adds sub at the start of the list, which is newest first. The
// store sends sub unchanged, with no default values. With it, a list can include
// those plans of [Store.Seed] that sub or its offering names, and their products
// or pricing options.
//
// Each subscription of the service has an account, so AddSubscription also adds the account of sub
// to the list of GET /v2/accounts, unless it is zero. [Store.RemoveAccount] takes it off the
// list again. AddSubscription panics if sub cannot be encoded.
func (s *Store) AddSubscription(sub commerce.Subscription) {
	kept := encodeSubscription(sub, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastNumber++
	stored := newStoredSubscription(s.lastNumber, sub)
	stored.kept = kept
	s.subscriptions.add(stored)
	s.addAccountOf(stored)
}

// addAccountOf adds the account of sub, if sub has one. The caller holds s.mu.
func (s *Store) addAccountOf(sub *storedSubscription) {
	if sub.accountID != uuid.Nil {
		s.accounts.add(sub.accountID)
	}
}

// UpdateSubscription changes the subscription with this id, the newest if there are
// several. It reports whether there was one. If change sets a state with another id, the
// states of the subscription have both. If it sets another account, the store adds that
// account, as [Store.AddSubscription] does. The store is locked while change runs: change
// must not use it. UpdateSubscription panics if the result cannot be encoded.
func (s *Store) UpdateSubscription(id uuid.UUID, change func(*commerce.Subscription)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.subscriptions.newest(id)
	if before == nil {
		return false
	}
	sub := before.decoded()
	change(&sub)
	after := newStoredSubscription(before.number, sub)
	after.kept = encodeSubscription(sub, before.encoded().states)
	s.subscriptions.remove(before)
	s.subscriptions.add(after)
	if after.accountID != before.accountID {
		s.addAccountOf(after)
	}
	return true
}

// Subscriptions returns the subscriptions that the store has when the loop starts, newest
// first. Each is a copy.
func (s *Store) Subscriptions() iter.Seq[commerce.Subscription] {
	return func(yield func(commerce.Subscription) bool) {
		s.mu.Lock()
		list := slices.Clone(s.subscriptions.all)
		s.mu.Unlock()
		for _, stored := range slices.Backward(list) {
			if !yield(stored.decoded()) {
				return
			}
		}
	}
}

// RemoveSubscription removes the subscription with this id, the newest if there are
// several. It reports whether there was one.
func (s *Store) RemoveSubscription(id uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.subscriptions.newest(id)
	if sub == nil {
		return false
	}
	s.subscriptions.remove(sub)
	return true
}

// Subscriber is the owner of an account, which may have several. Lists can be filtered by name and
// email, but do not contain them.
type Subscriber struct{ Name, Email string }

// SetSubscriber sets the only owner of an account. The filters name and email find the
// subscriptions of the account by it. If an account has no subscriber, the filter
// name compares the name of the offering, and the filter email finds nothing.
func (s *Store) SetSubscriber(accountID uuid.UUID, who Subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers[accountID] = []Subscriber{who}
}

// AddSubscriber adds an owner to those that an account has, which may be none. Filters find the
// subscriptions and the invoices of the account by each of them. One of them must meet all
// conditions on name and email.
func (s *Store) AddSubscriber(accountID uuid.UUID, who Subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers[accountID] = append(s.subscribers[accountID], who)
}

// SubscriberOf returns the first owner of an account, and whether the account has one.
// [Store.Seed], [Store.SetSubscriber] and [Store.AddSubscriber] set it.
func (s *Store) SubscriberOf(accountID uuid.UUID) (Subscriber, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.subscribers[accountID]
	if len(list) == 0 {
		return Subscriber{}, false
	}
	return list[0], true
}
