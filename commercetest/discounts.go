package commercetest

import (
	"encoding/json"
	"fmt"
	"mime"
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
	discounts []commerce.CustomDiscount // never changed, only appended to
}

// AddCart adds a cart with items, and returns its id. An item without a type is
// a cart_item.
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

// Discounts returns the custom discounts of a cart and its items, in the order
// they were added; nil if there is no such cart. The result is the caller's own copy.
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

// getCart is GET /v2/carts/{cartID}; of what it may include, only the custom
// discounts are there.
func (s *Store) getCart(in *Request, cartID string) answer {
	query, err := url.ParseQuery(in.RawQuery)
	if err != nil {
		return failure(http.StatusBadRequest, "Bad Request", "Could not parse the query")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.carts[cartID]
	if !ok {
		return noSuchCart()
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
	}{Data: data{cartID, "cart"}}
	if slices.Contains(strings.Split(query.Get("include"), ","), "custom_discounts") {
		body.Included = &included{orEmpty(c.discounts)}
	}
	return reply(http.StatusOK, body)
}

func noSuchCart() answer {
	return refusal(http.StatusNotFound, errorObject{Status: 404, Title: "Not Found", Detail: "The requested cart could not be found"})
}

// addOptions is the options member of a bulk request and of its answer.
type addOptions struct {
	AllOrNothing bool `json:"add_all_or_nothing"`
}

// addDiscounts is POST /v2/carts/{cartID}/custom-discounts. A request that is
// not valid is refused as a whole; what does not fit the cart, by discount.
func (s *Store) addDiscounts(in *Request, cartID string) answer {
	if media, _, _ := mime.ParseMediaType(in.Header.Get("Content-Type")); media != "application/json" {
		return failure(http.StatusUnsupportedMediaType, "Unsupported Media Type", "The body must be application/json")
	}
	batch, options, faults := readBatch(in.Body)
	if len(faults) > 0 {
		return refusal(http.StatusBadRequest, faults...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.carts[cartID]
	if !ok {
		return noSuchCart()
	}
	if s.cfg.CartDiscountLimit < 0 {
		return refusal(http.StatusBadRequest, errorObject{Status: 400, Title: "Bad Request", Detail: "Custom discounts not enabled for this cart"})
	}
	added, refused := s.fit(c, batch)
	switch {
	case len(refused) > 0 && options.AllOrNothing:
		return reply(refused[0].status, addAnswer{Errors: refused})
	case len(added) == 0:
		return reply(refused[0].status, addAnswer{Data: &added, Errors: refused})
	}
	for i := range added {
		s.added++
		added[i].ID = newID("custom-discounts", s.added)
	}
	c.discounts = append(c.discounts, added...)
	return reply(s.cfg.AddStatus, addAnswer{Data: &added, Errors: refused, Options: &options})
}

// addAnswer is the body of an answer to a bulk request.
type addAnswer struct {
	Data    *[]commerce.CustomDiscount `json:"data,omitempty"`
	Errors  []itemFault                `json:"errors,omitempty"`
	Options *addOptions                `json:"options,omitempty"`
}

// itemFault tells why a discount was not added.
type itemFault struct {
	status        int
	title, detail string
	item          *commerce.CartItemRef // nil: it is about the cart
	capitals      bool                  // the names of the members, as one example of the documentation has them
}

// MarshalJSON encodes the fault as an error object.
func (f itemFault) MarshalJSON() ([]byte, error) {
	o := errorObject{Status: f.status, Title: f.title, Detail: f.detail}
	if f.item != nil {
		o.Meta = &errorMeta{f.item.ID.String()}
	}
	if !f.capitals {
		return json.Marshal(o)
	}
	return json.Marshal(struct {
		Status any
		Title  string
		Detail string
		Meta   *errorMeta `json:"meta,omitempty"`
	}(o))
}

// fit tells which discounts of a batch can be added to c, one after the other,
// and why the others can't. s.mu is held.
func (s *Store) fit(c *cart, batch []commerce.CustomDiscount) (added []commerce.CustomDiscount, refused []itemFault) {
	added = []commerce.CustomDiscount{}
	count := map[commerce.CartItemRef]int{} // by item; zero: the cart itself
	for _, d := range c.discounts {
		count[place(d)]++
	}
	wasFull := count[commerce.CartItemRef{}] >= s.cfg.CartDiscountLimit
	for _, d := range batch {
		if fault := s.misfit(c, d, count[place(d)], wasFull); fault != nil {
			fault.item = d.Item
			refused = append(refused, *fault)
			continue
		}
		count[place(d)]++
		added = append(added, d)
	}
	return added, refused
}

// place returns the item that d is attached to; zero: the cart itself.
func place(d commerce.CustomDiscount) commerce.CartItemRef {
	if d.Item == nil {
		return commerce.CartItemRef{}
	}
	return *d.Item
}

// misfit tells why d can't be added where there are count discounts, or nil.
func (s *Store) misfit(c *cart, d commerce.CustomDiscount, count int, wasFull bool) *itemFault {
	const notAdded = "Custom discount not added to cart item."
	if d.Item == nil {
		switch limit := s.cfg.CartDiscountLimit; {
		case wasFull:
			return &itemFault{status: 422, title: "Limit Reached", detail: "Custom discount limit reached for this cart"}
		case count >= limit:
			detail := fmt.Sprintf("Cannot exceed custom discount limit of (%d) at the cart level.", limit)
			return &itemFault{status: 422, title: "Custom discount not added to cart", detail: detail}
		}
		return nil
	}
	kind, ok := c.items[d.Item.ID]
	switch {
	case !ok:
		return &itemFault{status: 404, title: notAdded, detail: "Cart Item is not present in the cart."}
	case kind != d.Item.Type:
		detail := fmt.Sprintf("Mismatch between bulk custom discount type (%s) and cart item type (%s).", d.Item.Type, kind)
		return &itemFault{status: 404, title: notAdded, detail: detail, capitals: true}
	case count >= s.cfg.ItemDiscountLimit:
		return &itemFault{status: 422, title: "Limit Reached", detail: "Custom discount limit reached for this cart item"}
	}
	return nil
}

// orEmpty returns list, so that it encodes as an array.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
