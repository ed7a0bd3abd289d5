package commerce

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

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
	c.Response, c.result = newResponse(r), r
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
	needsItems := func(c *cartRead) bool { return !c.hasItems || c.lacksNamed() }
	c, err := s.read(ctx, op, cartID, needsItems)
	if err == nil && c.hasItems && c.lacksNamed() { // an item may have gone between two requests
		c, err = s.read(ctx, op, cartID, needsItems)
	}
	if err != nil {
		return nil, err
	}
	if err = c.checkComplete(); errors.Is(err, ErrBadResponse) && !c.hasList && s.core.cfg.cartQuery.swap(0) {
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
			RequestID: c.Response.RequestID, Attempts: c.Response.Attempts, Err: err, Raw: newRawResponse(c.result),
		}
	}
	return c, nil
}

// readItems reads the items of a cart that came without some of them: as long as one is missing,
// and a page has others than those before.
func (s *CartService) readItems(ctx context.Context, op, cartID string, c *cartRead) error {
	o := operation[*cartRead]{
		op: op, method: http.MethodGet, path: cartPath(cartID, "items"), query: cartQueries[1], decides: true, part: "items",
		accept: func(b []byte) (*cartRead, error) { return readItems(b, cartID) },
	}
	for isFirst := true; ; isFirst = false {
		page, _, err := o.request(ctx, s.core)
		if err != nil || !page.hasItems {
			return err
		}
		if isFirst {
			c.Items, c.listed, c.hasItems, c.itemOf = nil, nil, true, page.itemOf
		}
		has := c.itemIDs()
		others := slices.DeleteFunc(page.Items, func(i CartItem) bool { return has[i.ID] })
		c.Items, c.listed = append(c.Items, others...), append(c.listed, page.listed...)
		c.Errors = append(c.Errors, page.Errors...)
		maps.Copy(c.itemOf, page.itemOf)
		c.setItems()
		if len(others) == 0 || !c.lacksNamed() || len(c.Items) > maxItems {
			return nil
		}
		next := url.Values{"page[limit]": {"100"}, "page[offset]": {strconv.Itoa(len(c.Items))}}
		o.query = cartQueries[1] + "&" + next.Encode()
	}
}

// checkComplete returns an error, which matches [ErrBadResponse], if the response may leave out an
// item or a discount. It is [ErrPromotionConflict] if there is no list of discounts, but an item
// that shows that the cart takes none.
func (c *cartRead) checkComplete() error {
	unusable := func(text string) error { return matching(ErrBadResponse, errors.New(text)) }
	switch {
	case !c.hasItems:
		return unusable("the cart was read without its items")
	case c.lacksNamed():
		return unusable("a relationship names an item that is not included")
	case !c.hasList && len(c.owned)+len(c.listed) == 0 && c.showsAll():
		return nil
	case !c.hasList && slices.ContainsFunc(c.Items, func(i CartItem) bool { return i.Type == promotionItem }):
		return ErrPromotionConflict
	case !c.hasList:
		return unusable("the cart was read without its custom discounts")
	}
	has := c.customIDs()
	for _, id := range slices.Concat(c.owned, c.listed) {
		if !has[id] {
			return unusable("a relationship names a custom discount that is not included")
		}
	}
	return nil
}

// showsAll reports whether a response without a list of custom discounts shows that there are none:
// the total discount is 0 and there is no promotion, or known promotions make up the total.
func (c *cartRead) showsAll() bool {
	total, sum, shown := c.DisplayPrice.Discount.Amount, Decimal{}, c.shownPromotions()
	isPromoted := len(shown) > 0 && total.isSet()
	for _, p := range shown {
		sum, isPromoted = sum.Add(p.Amount.Amount), isPromoted && p.isKnown && p.Amount.Amount.isSet()
	}
	isNone := len(shown) == 0 && total.IsZero() && (total.isSet() || c.isEmpty() && c.showsNone)
	return isNone || isPromoted && total.Equal(sum)
}
