package fakestore

import (
	"github.com/google/uuid"

	"github.com/commerce-go/commerce/cmd/epcommerce/internal/subscriptionstate"
	"github.com/commerce-go/commerce/commercetest"
)

// cartEntry is a cart of a store.
type cartEntry struct {
	ID string `json:"id"`
	commercetest.CartState
}

// cartList is what a list of carts sends.
type cartList struct {
	Carts []cartEntry `json:"carts"`
}

func newCartEntry(store *commercetest.Store, id string) cartEntry {
	return cartEntry{id, store.CartState(id)}
}

// addCart adds a cart as the body says. Without a body it is the default one.
func addCart(c *call, f commercetest.CartFixture) (cartEntry, error) {
	store := c.store()
	id, err := store.AddCartFixture(f)
	if err != nil {
		return cartEntry{}, err
	}
	return newCartEntry(store, id), nil
}

func listCarts(c *call, _ none) (cartList, error) {
	store, list := c.store(), cartList{}
	for _, id := range store.Carts() {
		list.Carts = append(list.Carts, newCartEntry(store, id))
	}
	return list, nil
}

// idList has the ids of what was added.
type idList struct {
	IDs []uuid.UUID `json:"ids"`
}

func addSubscriptions(c *call, f commercetest.SubscriptionFixture) (idList, error) {
	ids, err := c.store().AddSubscriptionFixture(f)
	return idList{ids}, err
}

// subscriptionList has the newest subscriptions.
type subscriptionList struct {
	Subscriptions []subscriptionEntry `json:"subscriptions"`
}

// subscriptionEntry is a subscription of a store.
type subscriptionEntry struct {
	ID          uuid.UUID `json:"id"`
	ExternalRef string    `json:"external_ref"`
	AccountID   uuid.UUID `json:"account_id"`
	Email       string    `json:"email"`
	State       string    `json:"state"`
	Currency    string    `json:"currency"`
	PlanID      uuid.UUID `json:"plan_id"`
}

// maxListed is the number of subscriptions that are listed.
const maxListed = 100

func listSubscriptions(c *call, _ none) (subscriptionList, error) {
	store, list := c.store(), subscriptionList{}
	for sub := range store.Subscriptions() {
		a := sub.Attributes
		who, _ := store.SubscriberOf(a.AccountID)
		list.Subscriptions = append(list.Subscriptions, subscriptionEntry{
			ID: sub.ID, ExternalRef: a.ExternalRef, AccountID: a.AccountID, Email: who.Email,
			State: subscriptionstate.Of(&sub.Meta), Currency: a.Currency, PlanID: a.PlanID,
		})
		if len(list.Subscriptions) == maxListed {
			break
		}
	}
	return list, nil
}
