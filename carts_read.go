package commerce

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/transport"
)

// Get reads a cart with its items and custom discounts:
// https://developer.elasticpath.com/docs/api/carts/get-a-cart
//
// A cart that does not exist, e.g. because it expired, reads as an empty one: there is no
// error, and len(Items) is 0. The service may create an empty cart with that id.
//
// The items are read apart if the response leaves them out; if that shows none either, Items is
// empty, and the Item of a discount may be nil. A response with another cart, or with more than
// 10,000 items or discounts, is an [ErrBadResponse]. The error is a [*ValidationError] or an
// [*Error].
func (s *CartService) Get(ctx context.Context, cartID string) (*Cart, error) {
	if err := checkCartID(cartID).err(); err != nil {
		return nil, err
	}
	const op = "Carts.Get"
	var cart *Cart
	err := s.core.observe(ctx, op, http.MethodGet, func(ctx context.Context) error {
		c, err := s.read(ctx, op, cartID, (*cartRead).lacksItems)
		if err == nil {
			cart = c.Cart
		}
		return err
	})
	return cart, err
}

// cartQueries ask for what a read of a cart includes. The newest specification lists only
// custom_discounts and promotions, but its text names items too, and all clients of the vendor send
// items. The second query is for a store that refuses or ignores the first.
var cartQueries = [2]string{"include=items,custom_discounts", "include=custom_discounts"}

// read reads a cart, and apart from it the items, if it needs them.
func (s *CartService) read(
	ctx context.Context, op, cartID string, needsItems func(*cartRead) bool,
) (*cartRead, error) {
	o := operation[*cartRead]{
		op: op, method: http.MethodGet, path: cartPath(cartID), decides: true,
		vary: func(send func(string) *transport.Result) *transport.Result {
			return s.core.cfg.cartQuery.try(cartQueries, isAboutInclude, send)
		},
		accept: func(b []byte) (*cartRead, error) { return readCart(b, cartID) },
	}
	c, r, err := o.request(ctx, s.core)
	if err == nil && needsItems(c) {
		err = s.readItems(ctx, op, cartID, c)
	}
	if err != nil {
		return nil, err
	}
	c.Response = newResponse(r)
	return c, nil
}

// isAboutInclude reports whether a refusal is about the parameter include.
func isAboutInclude(body []byte) bool {
	return slices.ContainsFunc(readErrors(body), func(o ErrorObject) bool {
		return strings.Contains(strings.ToLower(o.Title+o.Detail+o.Source), "include")
	})
}

// readComplete reads a cart with its items, and returns an error if it may have a discount that the
// response leaves out.
func (s *CartService) readComplete(ctx context.Context, op, cartID string) (*cartRead, error) {
	needsItems := func(c *cartRead) bool { return !c.hasItems }
	c, err := s.read(ctx, op, cartID, needsItems)
	if err != nil {
		return nil, err
	}
	if err = c.checkComplete(); err != nil && !c.hasList && s.core.cfg.cartQuery.swap(0) {
		// The store may ignore an include that it does not know as a whole.
		again, errAgain := s.read(ctx, op, cartID, needsItems)
		if errAgain != nil {
			s.core.cfg.cartQuery.swap(1)
			return nil, errAgain
		}
		if again.hasList {
			c, err = again, again.checkComplete()
		} else {
			s.core.cfg.cartQuery.swap(1)
		}
	}
	if err != nil {
		return nil, &Error{
			Op: op, Outcome: OutcomeNone, StatusCode: c.Response.StatusCode,
			RequestID: c.Response.RequestID, Attempts: c.Response.Attempts, Err: matching(ErrBadResponse, err),
		}
	}
	return c, nil
}

// readItems reads the items of a cart that came without them.
func (s *CartService) readItems(ctx context.Context, op, cartID string, c *cartRead) error {
	o := operation[*cartRead]{
		op: op, method: http.MethodGet, path: cartPath(cartID, "items"), query: cartQueries[1], decides: true, part: "items",
		accept: func(b []byte) (*cartRead, error) { return readItems(b, cartID) },
	}
	items, _, err := o.request(ctx, s.core)
	if err != nil || !items.hasItems {
		return err
	}
	c.Items, c.itemOf, c.listed, c.hasItems = items.Items, items.itemOf, items.listed, true
	c.Errors = append(c.Errors, items.Errors...)
	c.setItems()
	return nil
}

// checkComplete returns an error if the response may leave out a discount.
func (c *cartRead) checkComplete() error {
	if !c.hasItems {
		return errors.New("the cart was read without its items")
	}
	if !c.hasList {
		return c.checkUnlisted()
	}
	has := map[uuid.UUID]bool{}
	for _, d := range c.CustomDiscounts {
		has[d.ID] = true
	}
	for _, id := range slices.Concat(c.owned, c.listed) {
		if !has[id] {
			return errors.New("a relationship names a custom discount that is not included")
		}
	}
	return nil
}

// checkUnlisted returns an error unless a response without a list of custom discounts shows that
// there are none: no relationship names one, and the total discount is 0 and no item shows a
// discount, or the items show promotions of the store that make up the total.
func (c *cartRead) checkUnlisted() error {
	total, sum, shown, isPromotion := c.DisplayPrice.Discount.Amount, Decimal{}, 0, true
	for i := range c.Items {
		discounts, err := c.Items[i].shownDiscounts()
		if err != nil {
			return err
		}
		for _, d := range discounts {
			sum = sum.Add(d.Amount.Amount)
			isPromotion = isPromotion && d.PromotionSource != ""
		}
		if shown += len(discounts); c.Items[i].Type == "promotion_item" {
			shown++
		}
	}
	isNone := total.IsZero() && shown == 0 && (total.isSet() || c.isEmpty() && c.showsNone)
	isPromoted := shown > 0 && isPromotion && total.isSet() && total.Equal(sum)
	if len(c.owned)+len(c.listed) > 0 || !isNone && !isPromoted {
		return errors.New("the cart was read without its custom discounts")
	}
	return nil
}
