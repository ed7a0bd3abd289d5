package commercetest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// cart is a cart with its items and custom discounts.
type cart struct {
	items     map[uuid.UUID]commerce.CartItemType
	discounts []commerce.CustomDiscount // of the cart and its items; elements never change
}

// AddCart adds a cart with these items and returns its id. The default type of an
// item is cart_item.
func (s *Store) AddCart(items ...commerce.CartItemRef) (cartID string) {
	c := &cart{items: map[uuid.UUID]commerce.CartItemType{}}
	for _, item := range items {
		if item.Type == "" {
			item.Type = commerce.ItemTypeCartItem
		}
		c.items[item.ID] = item.Type
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	cartID = newID("carts", len(s.carts)+1).String()
	s.carts[cartID] = c
	return cartID
}

// Discounts returns the custom discounts of a cart and of its items, in the order
// they were added. It returns nil if there is no such cart. The result is a copy.
func (s *Store) Discounts(cartID string) []commerce.CustomDiscount {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.carts[cartID]
	if !ok {
		return nil
	}
	list := slices.Clone(c.discounts)
	for i, d := range list {
		if d.Item != nil {
			item := *d.Item
			list[i].Item = &item
		}
	}
	return list
}

// getCart handles GET /v2/carts/{cartID}. It can include only custom_discounts.
func (s *Store) getCart(in *Request, cartID string) response {
	query, err := url.ParseQuery(in.RawQuery)
	if err != nil {
		return errorResponse(http.StatusBadRequest, "Bad Request", "Could not parse the query")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.carts[cartID]
	if !ok {
		return cartNotFound()
	}
	type data struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}
	type included struct {
		CustomDiscounts []commerce.CustomDiscount `json:"custom_discounts"`
	}
	body := struct {
		Data     data      `json:"data"`
		Included *included `json:"included,omitempty"`
	}{Data: data{ID: cartID, Type: "cart"}}
	if slices.Contains(strings.Split(query.Get("include"), ","), "custom_discounts") {
		// An empty list is sent as [], not as null.
		body.Included = &included{CustomDiscounts: append([]commerce.CustomDiscount{}, c.discounts...)}
	}
	return jsonResponse(http.StatusOK, body)
}

func cartNotFound() response {
	return errorsResponse(http.StatusNotFound,
		errorObject{Status: 404, Title: "Not Found", Detail: "The requested cart could not be found"})
}
