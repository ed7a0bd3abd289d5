package commercetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/commerce-go/commerce"
)

// addOptions is the options member of a bulk request and of its response.
type addOptions struct {
	AllOrNothing bool `json:"add_all_or_nothing"`
}

// addResponse is the body of the response to a request that adds discounts.
type addResponse struct {
	Data    any             `json:"data,omitempty"` // like the request: an array or one discount
	Errors  []discountError `json:"errors,omitempty"`
	Options *addOptions     `json:"options,omitempty"`
}

// addDiscounts handles POST /v2/carts/{cartID}/custom-discounts. If the request is
// not valid, all of it is refused. Otherwise each discount is checked against the
// cart.
func (s *Store) addDiscounts(in *call) response {
	var b batch
	if refusal := s.readBody(in, b.read); refusal != nil {
		return *refusal
	}
	return s.writeCart(in, func(c *cart) response { return s.addBatch(c, b) })
}

// addItemDiscount handles POST /v2/carts/{cartID}/items/{itemID}/custom-discounts.
// The path names the item; relationships in the body have no effect. The published schema of the
// body leaves out data, and the service refuses that with a 422.
func (s *Store) addItemDiscount(in *call) response {
	var b batch
	withoutData := false
	refusal := s.readBody(in, func(v *validator, root members) {
		withoutData = root["data"] == nil
		b.readObject(v, root)
	})
	switch {
	case withoutData:
		return errorResponse(http.StatusUnprocessableEntity, "Unprocessable Entity", "The data field is required")
	case refusal != nil:
		return *refusal
	}
	return s.writeCart(in, func(c *cart) response {
		id := in.uuid("item")
		b.discounts[0].Item = &commerce.CartItemRef{Type: c.itemType(id), ID: id}
		return s.addBatch(c, b)
	})
}

// addBatch adds those discounts of a batch that c accepts. The caller holds s.mu.
func (s *Store) addBatch(c *cart, b batch) response {
	switch {
	case len(c.items) == 0:
		return errorsResponse(http.StatusUnprocessableEntity, errorObject{
			Status: 422, Title: "Cart is empty", Detail: "Custom discounts cannot be added to an empty cart.",
		})
	case !c.settings.CustomDiscountsEnabled || s.cfg.CartDiscountLimit < 0 ||
		s.cfg.CalculationMethod == SimpleCalculation:
		return errorsResponse(http.StatusBadRequest,
			errorObject{Status: 400, Title: "Bad Request", Detail: "Custom discounts not enabled for this cart"})
	}
	if len(c.promotions) > 0 {
		return errorsResponse(http.StatusUnprocessableEntity, errorObject{
			Status: 422, Title: "Cart contains Elastic Path promotions",
			Detail: "Custom discounts cannot be combined with Elastic Path promotions. " +
				"Remove all Elastic Path promotions from the cart before adding custom discounts.",
		})
	}
	accepted, refused := s.checkBatch(c, b.discounts)
	switch {
	case len(refused) > 0 && (b.options.AllOrNothing || b.isObject):
		return jsonResponse(refused[0].status, addResponse{Errors: refused})
	case len(accepted) == 0:
		return jsonResponse(refused[0].status, addResponse{Data: accepted, Errors: refused})
	}
	for i := range accepted {
		accepted[i].ID, accepted[i].Amount = s.newDiscountID(), c.currency.money(accepted[i].Amount.Amount)
	}
	c.discounts = append(c.discounts, accepted...)
	if b.isObject {
		return jsonResponse(s.cfg.AddStatus, addResponse{Data: accepted[0]})
	}
	return jsonResponse(s.cfg.AddStatus, addResponse{Data: accepted, Errors: refused, Options: &b.options})
}

// findDiscount returns the index of the discount that the path of a request names,
// or -1. A discount of an item is found only under that item, and one of the cart
// only under the cart.
func (in *call) findDiscount(c *cart) int {
	id, item := in.uuid("discount"), in.uuid("item")
	return slices.IndexFunc(c.discounts, func(d commerce.CustomDiscount) bool {
		return d.ID == id && target(d).ID == item && (d.Item != nil) == (in.ids["item"] != "")
	})
}

func discountNotFound() response {
	return errorResponse(http.StatusNotFound, "Not Found", "There is no such custom discount")
}

// updateDiscount handles PUT .../custom-discounts/{id} of a cart and of an item.
func (s *Store) updateDiscount(in *call) response {
	var data members
	refusal := s.readBody(in, func(v *validator, root members) {
		data, _ = v.object("data", root["data"])
		if data != nil {
			var d commerce.CustomDiscount
			v.discount(&d, "data", data)
		}
	})
	if refusal != nil {
		return *refusal
	}
	return s.writeCart(in, func(c *cart) response {
		i := in.findDiscount(c)
		if i < 0 {
			return discountNotFound()
		}
		d := &c.discounts[i]
		new(validator).discount(d, "data", data) // has no problems, see above
		d.Amount = c.currency.money(d.Amount.Amount)
		return jsonResponse(http.StatusOK, cartBody{Data: *d})
	})
}

// deleteDiscount handles DELETE .../custom-discounts/{id} of a cart and of an item.
func (s *Store) deleteDiscount(in *call) response {
	return s.writeCart(in, func(c *cart) response {
		i := in.findDiscount(c)
		if i < 0 {
			return discountNotFound()
		}
		c.discounts = slices.Delete(c.discounts, i, i+1)
		return response{status: http.StatusNoContent}
	})
}

// deleteDiscounts handles DELETE /v2/carts/{cartID}/custom-discounts. Discounts of
// items stay.
func (s *Store) deleteDiscounts(in *call) response {
	return s.writeCart(in, func(c *cart) response {
		c.discounts = slices.DeleteFunc(c.discounts, func(d commerce.CustomDiscount) bool { return d.Item == nil })
		return response{status: http.StatusNoContent}
	})
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
	itemType := c.itemType(item.ID)
	switch {
	case itemType == "":
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

// discountError is the reason why a discount was not added.
type discountError struct {
	status        int
	title, detail string
	item          *commerce.CartItemRef // nil: the error concerns the cart
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
