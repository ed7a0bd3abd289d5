package commercetest

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// CartFixture is a cart as a test wants it. The zero value accepts custom discounts, and has an
// item of each kind. Its JSON is the body of POST /_store/carts of epcommerce serve.
type CartFixture struct {
	// Items of the cart. nil: one of each kind. Empty, but not nil: none.
	Items []ItemFixture `json:"items"`
	// DiscountsEnabled says whether the cart accepts custom discounts. nil: yes. If it does not, a
	// request can enable them.
	DiscountsEnabled *bool `json:"discounts_enabled"`
	// Promotion gives the cart a promotion of the store: see [Store.AddPromotion].
	Promotion bool `json:"promotion"`
	// Currency is the code of one of the store. Empty: the default of the store.
	Currency string `json:"currency"`
	// Discounts that the cart has already. They may be there twice, or beyond the limit.
	Discounts []commerce.NewCustomDiscount `json:"discounts"`
}

// ItemFixture is an item of a [CartFixture].
type ItemFixture struct {
	// The default type is cart_item, the default id a new one.
	commerce.CartItemRef

	Name string `json:"name"` // "": one that its type has
	// Price of one piece, in the smallest unit of the currency. nil: 10,000. A free item has
	// new(int64), which is 0.
	Price    *int64 `json:"price"`
	Quantity int64  `json:"quantity"` // 0: 1
	// TaxPercent is the tax on the item. nil: that of [Config.TaxPercent].
	TaxPercent *float64 `json:"tax_percent"`
}

func (f *CartFixture) validate() error {
	ids := map[uuid.UUID]bool{}
	for i, item := range f.Items {
		switch {
		case item.Type != "" && item.Type != commerce.ItemTypeCartItem && item.Type != commerce.ItemTypeCustomItem:
			return fmt.Errorf("items: the type of item %d must be cart_item or custom_item", i)
		case item.Price != nil && *item.Price < 0, item.Quantity < 0:
			return fmt.Errorf("items: the price and the quantity of item %d must not be negative", i)
		case item.TaxPercent != nil && !(*item.TaxPercent >= 0 && *item.TaxPercent <= 1_000_000):
			return fmt.Errorf("items: the tax_percent of item %d must not be negative", i)
		case item.ID != uuid.Nil && ids[item.ID]:
			return fmt.Errorf("items: the id of item %d is that of another one", i)
		}
		ids[item.ID] = true
	}
	for i, d := range f.Discounts {
		if err := d.Validate(); err != nil {
			return fmt.Errorf("discounts: number %d: %w", i, err)
		}
		if d.Item != nil && !ids[d.Item.ID] {
			return fmt.Errorf("discounts: number %d is for an item that the cart does not have", i)
		}
	}
	return nil
}

// AddCartFixture adds a cart, and returns its id. The error names what is not valid; then there is
// no cart.
func (s *Store) AddCartFixture(f CartFixture) (cartID string, err error) {
	if err := f.validate(); err != nil {
		return "", err
	}
	if f.Items == nil {
		f.Items = []ItemFixture{{}, {CartItemRef: commerce.CartItemRef{Type: commerce.ItemTypeCustomItem}}}
	}
	currency, err := s.cfg.currency(f.Currency)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.addCart(f) // others cannot see it before the lock is released
	c.currency = currency
	enabled := f.DiscountsEnabled == nil || *f.DiscountsEnabled
	c.settings = discountSettings{
		CustomDiscountsEnabled: enabled, UseRulePromotions: !enabled && c.settings.UseRulePromotions,
	}
	if f.Promotion {
		c.addPromotion(s.cfg.ownPromotion())
	}
	for _, d := range f.Discounts {
		s.addDiscount(c, commerce.CustomDiscount{
			Amount: commerce.Money{Amount: d.Amount}, Description: d.Description, DiscountCode: d.DiscountCode,
			DiscountEngine: d.DiscountEngine, ExternalID: d.ExternalID, Item: d.Item,
		})
	}
	return c.id, nil
}

// SubscriptionFixture is a number of subscriptions as a test wants them. All else is as
// [Store.Seed] has it. Its JSON is the body of POST /_store/subscriptions of epcommerce serve.
type SubscriptionFixture struct {
	// Number of subscriptions, at most 250,000. 0: one.
	Number int `json:"number"`
	// State is active, canceled (which is active until the next billing run), canceled_at_once
	// (which is inactive), closed (because payments failed; it is inactive and not canceled),
	// paused, pending, resumed or suspended. Empty: active.
	State string `json:"state"`
	// Currency of the subscription. The plans have prices in USD, GBP and EUR. Empty: USD.
	Currency string `json:"currency"`
	// PlanID is that of a plan of Seed. Zero: all in turn.
	PlanID uuid.UUID `json:"plan_id"`
	// AccountID is the owner of all of them. Zero: as in Seed, up to three for an account.
	AccountID uuid.UUID `json:"account_id"`
}

var fixtureStates = []string{
	stateActive, stateCanceled, stateClosed, stateEnded, statePaused, statePending, stateResumed, stateSuspended,
}

var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`)

func (f *SubscriptionFixture) validate() error {
	switch {
	case f.Number < 0 || f.Number > 250_000:
		return errors.New("number must be 1 to 250000, or 0 for one")
	case f.State != "" && !slices.Contains(fixtureStates, f.State):
		return fmt.Errorf("state must be one of %q", fixtureStates)
	case f.Currency != "" && !currencyCode.MatchString(f.Currency):
		return errors.New("currency must be a code such as USD")
	}
	return nil
}

// AddSubscriptionFixture adds subscriptions as the newest ones, and returns their ids, the oldest
// first. The error names what is not valid; then there are no new subscriptions.
func (s *Store) AddSubscriptionFixture(f SubscriptionFixture) ([]uuid.UUID, error) {
	if err := f.validate(); err != nil {
		return nil, err
	}
	f.Number, f.State, f.Currency = max(f.Number, 1), cmp.Or(f.State, stateActive), cmp.Or(f.Currency, "USD")
	offerings, includable := sharedOfferings(s.cfg.Generation)
	if f.PlanID != uuid.Nil {
		if offerings = withPlan(offerings, f.PlanID); offerings == nil {
			return nil, errors.New("plan_id must be the id of a plan of the store")
		}
	}
	seed := &seed{offerings: offerings, fixture: f}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.includable == nil { // Seed was not called
		s.includable = includable
	}
	var ids []uuid.UUID
	for range f.Number {
		s.lastNumber++
		stored := newStoredSubscription(s.lastNumber, seed.start(s.lastNumber))
		stored.seed = seed
		s.subscriptions.add(stored)
		s.addAccountOf(stored)
		if _, ok := s.subscribers[stored.accountID]; !ok {
			s.subscribers[stored.accountID] = []Subscriber{seedSubscriber(seedAccount(s.lastNumber))}
		}
		ids = append(ids, stored.id)
	}
	return ids, nil
}

// withPlan returns the offerings that have a plan.
func withPlan(offerings []commerce.Offering, plan uuid.UUID) (list []commerce.Offering) {
	isPlan := func(ref commerce.ResourceRef) bool { return ref.ID == plan }
	for _, o := range offerings {
		if slices.ContainsFunc(o.Relationships.Get("plans").Data.Refs, isPlan) {
			list = append(list, o)
		}
	}
	return list
}
