package commerce

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/transport"
	"github.com/commerce-go/commerce/internal/wire"
)

// Cart is a cart with its items and custom discounts, as [CartService.Get] reads it. encoding/json
// does not decode a response of the service into it.
type Cart struct {
	ID, Type, Name         string
	CustomDiscountsEnabled bool
	// ExpiresAt is when the cart expires if it does not change. It is zero if the store does not
	// say.
	ExpiresAt time.Time
	// Items of the cart. A cart that does not exist has none.
	Items []CartItem
	// CustomDiscounts of the cart and of its items. The relationships of the cart and of its
	// items say which Item a discount is for; if the response has none of them, Item is nil.
	CustomDiscounts []CustomDiscount
	DisplayPrice    CartDisplayPrice
	// Errors that the service reports beside the cart or its items, with a status of success.
	Errors     []ErrorObject
	Timestamps Timestamps
	Response   *Response
	// Extra holds the other members of the cart, e.g. links and relationships. "included" holds
	// the other included resources. Other members of the response are in Extra too, with a "/"
	// before their name if the name is taken.
	Extra Extra
}

// CartItem is an item of a [Cart].
type CartItem struct {
	ID       uuid.UUID    `json:"id,omitzero"`
	Type     CartItemType `json:"type,omitzero"`
	Name     string       `json:"name,omitzero"`
	SKU      string       `json:"sku,omitzero"`
	Quantity int          `json:"quantity,omitzero"`
	// ProductID is zero for a custom item.
	ProductID uuid.UUID `json:"product_id,omitzero"`
	// UnitPrice is the price of one piece, Value the price of Quantity pieces.
	UnitPrice Money `json:"unit_price,omitzero"`
	Value     Money `json:"value,omitzero"`
	Extra     Extra `json:",embed"`
}

// Ref returns what the Item of a [NewCustomDiscount] for this item is.
func (i *CartItem) Ref() *CartItemRef { return &CartItemRef{Type: i.Type, ID: i.ID} }

// CartDisplayPrice is the price of a [Cart] as the store shows it.
type CartDisplayPrice struct {
	WithTax    Money `json:"with_tax,omitzero"`
	WithoutTax Money `json:"without_tax,omitzero"`
	Tax        Money `json:"tax,omitzero"`
	// Discount is the sum of all discounts, less than zero if there are any.
	Discount        Money `json:"discount,omitzero"`
	WithoutDiscount Money `json:"without_discount,omitzero"`
	Extra           Extra `json:",embed"`
}

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

// cartRead is a cart as it was read, and what the response shows about its discounts.
type cartRead struct {
	*Cart
	owned     []uuid.UUID                // ids of the discounts of the cart itself; nil if unknown
	itemOf    map[uuid.UUID]*CartItemRef // the items of the others
	listed    []uuid.UUID                // ids of discounts that items name
	hasList   bool                       // the response lists discounts, perhaps none
	hasItems  bool                       // the response lists items, perhaps none
	namesItem bool                       // a relationship of the cart names an item
	showsNone bool                       // the response itself shows that the cart has no items
}

type cartBody struct {
	Data     json.RawMessage `json:"data"`
	Included Extra           `json:"included"`
	Extra    Extra           `json:",embed"`
}

type cartData struct {
	ID               string `json:"id"`
	Type             string `json:"type"`
	Name             string `json:"name"`
	DiscountSettings struct {
		CustomDiscountsEnabled bool  `json:"custom_discounts_enabled"`
		Extra                  Extra `json:",embed"`
	} `json:"discount_settings"`
	Meta struct {
		DisplayPrice CartDisplayPrice `json:"display_price"`
		Timestamps   struct {
			Timestamps
			ExpiresAt time.Time `json:"expires_at"`
		} `json:"timestamps"`
		Extra Extra `json:",embed"`
	} `json:"meta"`
	Extra Extra `json:",embed"`
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

// readItems decodes a response that should hold the items of a cart. If it holds the cart itself,
// as the response of a stub that knows no items, they stay unknown.
func readItems(b []byte, cartID string) (*cartRead, error) {
	body, errs, err := readCartBody(b)
	if err != nil {
		return nil, err
	}
	if !isList(body.Data) {
		if _, err := readCart(b, cartID); err != nil {
			return nil, errors.New("data is missing, or not an array of items")
		}
		return &cartRead{}, nil
	}
	c := &cartRead{Cart: &Cart{Errors: errs}, itemOf: map[uuid.UUID]*CartItemRef{}}
	return c, c.addItems(body.Data)
}

// readCartBody decodes a response about a cart or its items, which may report errors too.
func readCartBody(b []byte) (body cartBody, errs []ErrorObject, err error) {
	if err := payloads.Unmarshal(b, &body); err != nil {
		return body, nil, err
	}
	if _, ok := body.Extra["included"]; ok { // a value that does not fit
		return body, nil, errors.New("included is not an object")
	}
	return body, takeErrors(body.Extra), nil
}

// isSameCart reports whether two ids name the same cart. Letter case makes a difference, except
// in a UUID.
func isSameCart(a, b string) bool {
	return a == b || strings.EqualFold(a, b) && uuid.Validate(a) == nil
}

// readCart decodes a response that should hold the cart with that id. Its error holds nothing of b.
func readCart(b []byte, cartID string) (*cartRead, error) {
	body, errs, err := readCartBody(b)
	if err != nil {
		return nil, err
	}
	var data cartData
	if err := payloads.Unmarshal(body.Data, &data); err != nil || data.ID == "" {
		return nil, errors.New("data is missing, or not a cart with an id")
	}
	if !isSameCart(data.ID, cartID) {
		return nil, errors.New("data is not the cart that was asked for")
	}
	c := &cartRead{
		Cart: &Cart{
			ID: data.ID, Type: data.Type, Name: data.Name,
			CustomDiscountsEnabled: data.DiscountSettings.CustomDiscountsEnabled,
			ExpiresAt:              data.Meta.Timestamps.ExpiresAt,
			DisplayPrice:           data.Meta.DisplayPrice,
			Errors:                 errs,
			Timestamps:             data.Meta.Timestamps.Timestamps,
		},
		itemOf: map[uuid.UUID]*CartItemRef{},
	}
	for _, name := range []string{"items", "custom_discounts"} {
		if list := body.Included[name]; list != nil && !isList(list) {
			return nil, errors.New("included." + name + " is not an array")
		}
	}
	err = cmp.Or(c.addRelationships(data.Extra),
		c.addItems(body.Included["items"]), c.addDiscounts(body.Included["custom_discounts"]))
	if err != nil {
		return nil, err
	}
	isZero := func(m Money) bool { return m.Amount.isSet() && m.Amount.IsZero() }
	price := &c.DisplayPrice
	c.showsNone = c.showsNone || c.hasItems && len(c.Items) == 0 ||
		isZero(price.WithTax) || isZero(price.WithoutTax) || isZero(price.WithoutDiscount)
	c.setItems()
	c.Extra, err = otherMembers(&data, &body)
	return c, err
}

// addRelationships reads the relationships of the cart.
func (c *cartRead) addRelationships(extra Extra) error {
	items, err := readRefs(extra, "items")
	c.namesItem, c.showsNone = len(items) > 0, items != nil && len(items) == 0
	owned, errOwned := readRefs(extra, "custom_discounts")
	c.owned = owned
	return cmp.Or(err, errOwned)
}

// addItems reads the items of the cart, and the discounts of each.
func (c *cartRead) addItems(raw []byte) error {
	c.hasItems = raw != nil
	for element := range wire.Elements(raw) {
		var item CartItem
		if element[0] != '{' || payloads.Unmarshal(element, &item) != nil {
			return errors.New("an item is not an object")
		}
		if len(c.Items) == maxItems {
			return errors.New("more items than a cart may have")
		}
		refs, err := readRefs(item.Extra, "custom_discounts")
		if err != nil {
			return err
		}
		c.Items = append(c.Items, item)
		for _, id := range refs {
			if item.ID != uuid.Nil { // without it, the path of the discount is unknown
				c.itemOf[id] = item.Ref()
			}
			c.listed = append(c.listed, id)
		}
	}
	return nil
}

// addDiscounts reads the discounts of the cart and its items, each id once.
func (c *cartRead) addDiscounts(raw []byte) error {
	c.hasList = raw != nil
	seen := map[uuid.UUID]bool{}
	for element := range wire.Elements(raw) {
		var d CustomDiscount
		switch err := d.UnmarshalJSON(element); {
		case err != nil || element[0] != '{' || d.ID == uuid.Nil:
			return errors.New("a custom discount is not an object with an id")
		case d.Extra["external_id"] != nil || d.Extra["discount_engine"] != nil:
			return errors.New("the external id or the engine of a custom discount is not a text")
		case d.Item != nil && d.Item.ID == uuid.Nil:
			return errors.New("a custom discount is for an item without an id")
		case len(c.CustomDiscounts) == maxDiscounts:
			return errors.New("more custom discounts than a cart may have")
		case seen[d.ID]:
			continue
		}
		seen[d.ID] = true
		c.CustomDiscounts = append(c.CustomDiscounts, d)
	}
	return nil
}

// setItems sets the Item of each discount that an item names.
func (c *cartRead) setItems() {
	for i := range c.CustomDiscounts {
		d := &c.CustomDiscounts[i]
		if ref := c.itemOf[d.ID]; ref != nil && d.Item == nil {
			d.Item = ref.clone()
		}
	}
}

// isPlaced reports whether the response shows if d is a discount of the cart or of an item.
func (c *cartRead) isPlaced(d *CustomDiscount) bool {
	return d.Item != nil || slices.Contains(c.owned, d.ID)
}

// isEmpty reports whether the cart has no items.
func (c *cartRead) isEmpty() bool { return len(c.Items) == 0 && !c.namesItem }

// takesNone returns why the cart takes no discounts at all, as far as the response shows.
func (c *cartRead) takesNone() error {
	switch {
	case c.isEmpty():
		return ErrEmptyCart
	case c.showsPromotions():
		return ErrPromotionConflict
	}
	return nil
}

// lacksItems reports whether the response leaves out items that the cart has, or an item that a
// discount may be for.
func (c *cartRead) lacksItems() bool {
	isUnplaced := func(d CustomDiscount) bool { return !c.isPlaced(&d) }
	return !c.hasItems && (c.namesItem || slices.ContainsFunc(c.CustomDiscounts, isUnplaced))
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

// shownDiscount is an entry of the discounts of an item.
type shownDiscount struct {
	Amount          Money  `json:"amount"`
	PromotionSource string `json:"promotion_source"`
	Extra           Extra  `json:",embed"`
}

// shownDiscounts returns the discounts that an item shows.
func (i *CartItem) shownDiscounts() (list []shownDiscount, err error) {
	if raw := i.Extra["discounts"]; raw != nil && payloads.Unmarshal(raw, &list) != nil {
		err = errors.New("the discounts of an item are not an array")
	}
	return list, err
}

// readRefs returns the ids of the resources that a relationship names; nil if there is no such
// relationship. extra has the relationships, of which only the data count.
func readRefs(extra Extra, name string) ([]uuid.UUID, error) {
	var relationships map[string]struct {
		Data  json.RawMessage `json:"data"`
		Extra Extra           `json:",embed"`
	}
	if raw := extra["relationships"]; raw != nil && payloads.Unmarshal(raw, &relationships) != nil {
		return nil, errors.New("a relationship is not an object")
	}
	raw := relationships[name].Data
	if raw == nil {
		return nil, nil
	}
	ids := []uuid.UUID{}
	for element := range wire.Elements(raw) {
		var ref ResourceRef
		if payloads.Unmarshal(element, &ref) != nil || ref.ID == uuid.Nil {
			return nil, errors.New("a relationship names a resource without an id")
		}
		ids = append(ids, ref.ID)
	}
	return ids, nil
}

// Subtotal returns the price of the cart before all discounts: what a percentage is computed from.
// It is [CartDisplayPrice].WithoutDiscount. If the response leaves that out, or it is below 0, or 0
// although the cart costs something, it is WithoutTax minus Discount; without Discount, minus the
// custom discounts, unless an item shows a promotion. What is absent is not 0: if the response does
// not show the price, the error matches [ErrBadResponse] and names the member.
func (c *Cart) Subtotal() (Money, error) {
	shown := c.DisplayPrice.WithoutDiscount
	net, err := c.net()
	isFree := shown.Amount.isSet() && shown.Amount.IsZero() && (err != nil || net.Amount.Sign() <= 0)
	if shown.Amount.Sign() > 0 || isFree {
		return shown, nil
	}
	return net, err
}

// net returns the price of the cart without tax, before all discounts.
func (c *Cart) net() (Money, error) {
	p, discount := &c.DisplayPrice, c.DisplayPrice.Discount.Amount
	switch {
	case !p.WithoutTax.Amount.isSet():
		return Money{}, unreadablePrice("without_discount and without_tax")
	case !discount.isSet() && c.showsPromotions():
		return Money{}, unreadablePrice("without_discount and discount")
	case !discount.isSet():
		var err error
		if discount, err = sumOf(c.CustomDiscounts); err != nil {
			return Money{}, err
		}
	}
	return Money{Amount: p.WithoutTax.Amount.Sub(discount), Currency: p.WithoutTax.Currency}, nil
}

// Total returns what the customer pays: [CartDisplayPrice].WithTax. If the response does not show
// it, the error matches [ErrBadResponse] and names the member.
func (c *Cart) Total() (Money, error) {
	if !c.DisplayPrice.WithTax.Amount.isSet() {
		return Money{}, unreadablePrice("with_tax")
	}
	return c.DisplayPrice.WithTax, nil
}

func unreadablePrice(members string) error {
	return fmt.Errorf("%w: meta.display_price shows no number in %s", ErrBadResponse, members)
}

// sumOf returns the sum of the amounts of discounts, which must all be readable.
func sumOf(discounts []CustomDiscount) (sum Decimal, err error) {
	for i := range discounts {
		amount := discounts[i].Amount.Amount
		if !amount.isSet() {
			return sum, fmt.Errorf("%w: a custom discount has no readable amount", ErrBadResponse)
		}
		sum = sum.Add(amount)
	}
	return sum, nil
}

// showsPromotions reports whether an item of the cart is, or has, a promotion of the store, or what
// may be one.
func (c *Cart) showsPromotions() bool {
	return slices.ContainsFunc(c.Items, func(i CartItem) bool {
		shown, err := i.shownDiscounts()
		isPromotion := func(d shownDiscount) bool { return d.PromotionSource != "" || d.Extra["promotion_source"] != nil }
		return i.Type == "promotion_item" || err != nil || slices.ContainsFunc(shown, isPromotion)
	})
}

// promotions returns what promotions of the store take off, 0 or less: the total discount without
// the custom discounts, whose sum is custom.
func (c *Cart) promotions(custom Decimal) (sum Decimal, err error) {
	all := c.DisplayPrice.Discount.Amount
	switch {
	case !c.showsPromotions():
		return sum, nil
	case !all.isSet():
		return sum, unreadablePrice("discount")
	}
	return lowest(sum, all.Sub(custom)), nil
}
