package commercetest

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"

	"github.com/commerce-go/commerce"
)

// addOptions is the options member of a bulk request and of its response.
type addOptions struct {
	AllOrNothing bool `json:"add_all_or_nothing"`
}

// addResponse is the body of the response to a bulk request.
type addResponse struct {
	Data    *[]commerce.CustomDiscount `json:"data,omitempty"`
	Errors  []discountError            `json:"errors,omitempty"`
	Options *addOptions                `json:"options,omitempty"`
}

// addDiscounts handles POST /v2/carts/{cartID}/custom-discounts. If the request is
// not valid, all of it is refused. Otherwise each discount is checked against the
// cart.
func (s *Store) addDiscounts(in *Request, cartID string) response {
	if mediaType, _, _ := mime.ParseMediaType(in.Header.Get("Content-Type")); mediaType != "application/json" {
		return errorResponse(http.StatusUnsupportedMediaType, "Unsupported Media Type", "The body must be application/json")
	}
	batch, options, problems := readBatch(in.Body)
	if len(problems) > 0 {
		return errorsResponse(http.StatusBadRequest, problems...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.carts[cartID]
	if !ok {
		return cartNotFound()
	}
	if s.cfg.CartDiscountLimit < 0 {
		return errorsResponse(http.StatusBadRequest,
			errorObject{Status: 400, Title: "Bad Request", Detail: "Custom discounts not enabled for this cart"})
	}
	accepted, refused := s.checkBatch(c, batch)
	switch {
	case len(refused) > 0 && options.AllOrNothing:
		return jsonResponse(refused[0].status, addResponse{Errors: refused})
	case len(accepted) == 0:
		return jsonResponse(refused[0].status, addResponse{Data: &accepted, Errors: refused})
	}
	for i := range accepted {
		s.discountCount++
		accepted[i].ID = newID("custom-discounts", s.discountCount)
	}
	c.discounts = append(c.discounts, accepted...)
	return jsonResponse(s.cfg.AddStatus, addResponse{Data: &accepted, Errors: refused, Options: &options})
}

// checkBatch checks the discounts of a batch in turn. accepted is not nil. The
// caller holds s.mu.
func (s *Store) checkBatch(c *cart, batch []commerce.CustomDiscount) (
	accepted []commerce.CustomDiscount, refused []discountError,
) {
	accepted = []commerce.CustomDiscount{}
	counts := map[commerce.CartItemRef]int{}
	for _, d := range c.discounts {
		counts[target(d)]++
	}
	before := counts[commerce.CartItemRef{}]
	for _, d := range batch {
		var refusal *discountError
		if d.Item == nil {
			refusal = s.checkCartDiscount(before, counts[target(d)])
		} else {
			refusal = s.checkItemDiscount(c, *d.Item, counts[target(d)])
		}
		if refusal != nil {
			refused = append(refused, *refusal)
			continue
		}
		counts[target(d)]++
		accepted = append(accepted, d)
	}
	return accepted, refused
}

// target returns the item that d belongs to, or zero for the cart.
func target(d commerce.CustomDiscount) commerce.CartItemRef {
	if d.Item == nil {
		return commerce.CartItemRef{}
	}
	return *d.Item
}

// checkCartDiscount returns why the cart itself accepts no further discount, or
// nil. before is the number of its discounts before the batch, count the number now.
func (s *Store) checkCartDiscount(before, count int) *discountError {
	switch limit := s.cfg.CartDiscountLimit; {
	case before >= limit:
		return &discountError{status: 422, title: "Limit Reached", detail: "Custom discount limit reached for this cart"}
	case count >= limit:
		detail := fmt.Sprintf("Cannot exceed custom discount limit of (%d) at the cart level.", limit)
		return &discountError{status: 422, title: "Custom discount not added to cart", detail: detail}
	}
	return nil
}

// checkItemDiscount returns why an item that has count discounts accepts no further
// one, or nil.
func (s *Store) checkItemDiscount(c *cart, item commerce.CartItemRef, count int) *discountError {
	const notAdded = "Custom discount not added to cart item."
	itemType, ok := c.items[item.ID]
	switch {
	case !ok:
		return &discountError{status: 404, title: notAdded, detail: "Cart Item is not present in the cart.", item: &item}
	case itemType != item.Type:
		detail := fmt.Sprintf("Mismatch between bulk custom discount type (%s) and cart item type (%s).", item.Type, itemType)
		return &discountError{status: 404, title: notAdded, detail: detail, item: &item, capitalized: true}
	case count >= s.cfg.ItemDiscountLimit:
		return &discountError{
			status: 422, title: "Limit Reached", detail: "Custom discount limit reached for this cart item", item: &item,
		}
	}
	return nil
}

// discountError says why a discount was not added.
type discountError struct {
	status        int
	title, detail string
	item          *commerce.CartItemRef // nil: the error is about the cart
	// capitalized writes the names of the members as Status, Title and Detail: the
	// documentation of the service prints one error that way.
	capitalized bool
}

// MarshalJSON encodes e as an error object.
func (e discountError) MarshalJSON() ([]byte, error) {
	o := errorObject{Status: e.status, Title: e.title, Detail: e.detail}
	if e.item != nil {
		o.Meta = &errorMeta{ID: e.item.ID.String()}
	}
	if !e.capitalized {
		return json.Marshal(o)
	}
	return json.Marshal(struct {
		Status any
		Title  string
		Detail string
		Meta   *errorMeta `json:"meta,omitempty"`
	}(o))
}
