package commerce

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
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

// Ref returns the Item of a [NewCustomDiscount] for this item.
func (i *CartItem) Ref() *CartItemRef { return &CartItemRef{Type: i.Type, ID: i.ID} }

// CartDisplayPrice is the price of a [Cart] as the store shows it.
type CartDisplayPrice struct {
	WithTax    Money `json:"with_tax,omitzero"`
	WithoutTax Money `json:"without_tax,omitzero"`
	Tax        Money `json:"tax,omitzero"`
	// Discount is the sum of all discounts, less than zero if there are any.
	Discount        Money `json:"discount,omitzero"`
	WithoutDiscount Money `json:"without_discount,omitzero"`
	// Shipping is contained in WithTax, WithoutTax and WithoutDiscount. If the response leaves it
	// out, there is none.
	Shipping Money `json:"shipping,omitzero"`
	Extra    Extra `json:",embed"`
}

// MarshalJSON encodes i like the service.
func (i CartItem) MarshalJSON() ([]byte, error) { return payloads.Marshal(&i) }

// UnmarshalJSON decodes an item of the service.
func (i *CartItem) UnmarshalJSON(b []byte) error { return decodeRecord(b, i) }

// MarshalJSON encodes p like the service.
func (p CartDisplayPrice) MarshalJSON() ([]byte, error) { return payloads.Marshal(&p) }

// UnmarshalJSON decodes the display price of a cart.
func (p *CartDisplayPrice) UnmarshalJSON(b []byte) error { return decodeRecord(b, p) }

// cartRead is a cart as it was read, and what the response shows about its discounts.
type cartRead struct {
	*Cart
	owned     []uuid.UUID                // ids of the discounts of the cart itself
	itemOf    map[uuid.UUID]*CartItemRef // the items of the others
	listed    []uuid.UUID                // ids of discounts that items name
	hasList   bool                       // the response lists discounts, perhaps none
	hasItems  bool                       // the response lists items, perhaps none
	namesItem bool                       // a relationship of the cart names an item
	named     []ResourceRef              // those items of which it is known that they are some
	showsNone bool                       // the response itself shows that the cart has no items
	result    *transport.Result          // of the read of the cart
}

// cartBody is a response about a cart. Data is the cart, or its items.
type cartBody[Data any] struct {
	Data     Data `json:"data"`
	Included struct {
		Items           listed[*CartItem]      `json:"items"`
		CustomDiscounts listed[*plainDiscount] `json:"custom_discounts"`
		Extra           Extra                  `json:",embed"`
	} `json:"included"`
	Extra Extra `json:",embed"`
}

// cartRules are the rules of types of carts only.
func cartRules() []wire.Rule {
	return []wire.Rule{
		wire.Record[CartItem](maxItems),
		wire.Record[plainDiscount](maxDiscounts),
		wire.Record[CartDisplayPrice](1),
		orNull[*CartItem](),
		orNull[*plainDiscount](),
		wire.As(`{n`, decodeRelatedRefs, nil, reflect.TypeFor[ResourceRef]()),
	}
}

// listed is a list that is nil only if it is absent: the service sends null for some empty lists.
type listed[T any] []T

func orNull[T any]() wire.Rule {
	return wire.As(`n`, func(_ byte, l *listed[T]) any {
		*l = listed[T]{}
		return new(string) // reads null
	}, nil)
}

// relatedRefs are given as an array or one object. They are nil only if they are absent.
type relatedRefs []ResourceRef

func decodeRelatedRefs(kind byte, refs *relatedRefs) any {
	if *refs = (relatedRefs{}); kind == 'n' {
		return new(string)
	}
	*refs = make(relatedRefs, 1)
	return &(*refs)[0]
}

// cartRelations are those relationships of a cart or an item that count.
type cartRelations struct {
	Items           cartRelation `json:"items"`
	CustomDiscounts cartRelation `json:"custom_discounts"`
	Promotions      cartRelation `json:"promotions"`
}

// cartRelation names resources by an array or one object. Data is nil if it has no data, and if
// these do not fit: Extra then has them.
type cartRelation struct {
	Data  relatedRefs `json:"data"`
	Extra Extra       `json:",embed"`
}

// refs returns the resources. Each has an id, but for a promotion_item.
func (r *cartRelation) refs() ([]ResourceRef, error) {
	lacksID := func(ref ResourceRef) bool { return ref.ID == uuid.Nil && ref.Type != string(promotionItem) }
	if r.Extra["data"] != nil || slices.ContainsFunc(r.Data, lacksID) {
		return nil, errors.New("a relationship names a resource without an id")
	}
	return r.Data, nil
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

// readItems decodes a response that should hold the items of a cart. If it holds the cart itself,
// as the response of a stub that knows no items, they stay unknown.
func readItems(b []byte, cartID string) (*cartRead, error) {
	body, errs, err := readCartBody[listed[*CartItem]](b)
	if err != nil {
		return nil, err
	}
	if body.Data == nil {
		if _, err := readCart(b, cartID); err != nil {
			return nil, errors.New("data is missing, or not an array of items")
		}
		return &cartRead{}, nil
	}
	c := &cartRead{Cart: &Cart{Errors: errs}, itemOf: map[uuid.UUID]*CartItemRef{}}
	return c, c.addItems(body.Data)
}

// readCartBody decodes a response about a cart or its items, which may report errors too.
func readCartBody[Data any](b []byte) (body cartBody[Data], errs []ErrorObject, err error) {
	if err := payloads.Unmarshal(b, &body); err != nil {
		return body, nil, err
	}
	switch included := body.Included.Extra; { // has the values that do not fit
	case body.Extra["included"] != nil:
		return body, nil, errors.New("included is not an object")
	case included["items"] != nil:
		return body, nil, errors.New("included.items is not an array of objects")
	case included["custom_discounts"] != nil:
		return body, nil, errors.New("included.custom_discounts is not an array of objects")
	}
	return body, takeErrors(body.Extra), nil
}

// canonicalCartID returns the one spelling of a cart id: letter case makes a difference, except in
// a UUID.
func canonicalCartID(cartID string) string {
	if uuid.Validate(cartID) == nil {
		return strings.ToLower(cartID)
	}
	return cartID
}

// readCart decodes a response that should hold the cart with that id. Its error holds nothing of b.
func readCart(b []byte, cartID string) (*cartRead, error) {
	body, errs, err := readCartBody[cartData](b)
	if err != nil {
		return nil, err
	}
	data := &body.Data
	if data.ID == "" {
		return nil, errors.New("data is missing, or not a cart with an id")
	}
	if canonicalCartID(data.ID) != canonicalCartID(cartID) {
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
	err = cmp.Or(c.addRelationships(data.Extra),
		c.addItems(body.Included.Items), c.addDiscounts(body.Included.CustomDiscounts))
	if err != nil {
		return nil, err
	}
	isZero := func(m Money) bool { return m.Amount.isSet() && m.Amount.IsZero() }
	price := &c.DisplayPrice
	c.showsNone = c.showsNone || c.hasItems && len(c.Items) == 0 ||
		isZero(price.WithTax) || isZero(price.WithoutTax) || isZero(price.WithoutDiscount)
	c.setItems()
	c.Extra, err = otherMembers(data, body.Included.Extra, body.Extra)
	return c, err
}

// addRelationships reads the relationships of the cart.
func (c *cartRead) addRelationships(extra Extra) error {
	relations, err := readRelations(extra)
	items, errItems := relations.Items.refs()
	owned, errOwned := relations.CustomDiscounts.refs()
	items = slices.DeleteFunc(items, func(ref ResourceRef) bool { return ref.Type == "shipping_group" })
	c.namesItem, c.showsNone = len(items) > 0, items != nil && len(items) == 0
	c.named = slices.DeleteFunc(items, func(ref ResourceRef) bool { return !strings.HasSuffix(ref.Type, "_item") })
	for _, ref := range owned {
		c.owned = append(c.owned, ref.ID)
	}
	return cmp.Or(err, errItems, errOwned)
}

// addItems reads the items of the cart, and the discounts of each.
func (c *cartRead) addItems(items listed[*CartItem]) error {
	c.hasItems = items != nil
	for _, item := range items {
		if item == nil {
			return errors.New("an item is not an object")
		}
		relations, err := readRelations(item.Extra)
		refs, errRefs := relations.CustomDiscounts.refs()
		if err := cmp.Or(err, errRefs); err != nil {
			return err
		}
		c.Items = append(c.Items, *item)
		for _, ref := range refs {
			if item.ID != uuid.Nil { // without it, the path of the discount is unknown
				c.itemOf[ref.ID] = item.Ref()
			}
			c.listed = append(c.listed, ref.ID)
		}
	}
	return nil
}

// addDiscounts reads the discounts of the cart and its items, each id once.
func (c *cartRead) addDiscounts(discounts listed[*plainDiscount]) error {
	c.hasList = discounts != nil
	seen := map[uuid.UUID]bool{}
	for _, plain := range discounts {
		switch {
		case plain == nil || plain.ID == uuid.Nil:
			return errors.New("a custom discount is not an object with an id")
		case plain.Extra["external_id"] != nil || plain.Extra["discount_engine"] != nil:
			return errors.New("the external id or the engine of a custom discount is not a text")
		case seen[plain.ID]:
			continue
		}
		seen[plain.ID] = true
		d := plain.withItem()
		if d.Item != nil && d.Item.ID == uuid.Nil {
			return errors.New("a custom discount is for an item without an id")
		}
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

// lacksItems reports whether the response leaves out items that the cart has, or an item that a
// discount may be for.
func (c *cartRead) lacksItems() bool {
	isUnplaced := func(d CustomDiscount) bool { return !c.isPlaced(&d) }
	return c.lacksNamed() || !c.hasItems && (c.namesItem || slices.ContainsFunc(c.CustomDiscounts, isUnplaced))
}

// lacksNamed reports whether a relationship names an item that is not included.
func (c *cartRead) lacksNamed() bool {
	has := c.itemIDs()
	return slices.ContainsFunc(c.named, func(ref ResourceRef) bool { return ref.ID != uuid.Nil && !has[ref.ID] })
}

func (c *cartRead) itemIDs() map[uuid.UUID]bool {
	ids := map[uuid.UUID]bool{}
	for i := range c.Items {
		ids[c.Items[i].ID] = true
	}
	return ids
}

// readRelations reads the relationships in the Extra of a cart or an item.
func readRelations(extra Extra) (r cartRelations, err error) {
	if raw := extra["relationships"]; raw != nil && payloads.Unmarshal(raw, &r) != nil {
		err = errors.New("a relationship is not an object")
	}
	return r, err
}

// maxSlashes limits the time that it takes to find a name in Extra which is not taken.
const maxSlashes = 8

// otherMembers returns the Extra of a cart. It is nil if there are no other members.
func otherMembers(data *cartData, included, ofResponse Extra) (Extra, error) {
	nested := Extra{}
	for name, extra := range map[string]Extra{
		"discount_settings": data.DiscountSettings.Extra, "meta": data.Meta.Extra, "included": included,
	} {
		if len(extra) > 0 {
			nested[name], _ = json.Marshal(extra) // no error: it was decoded
		}
	}
	all := Extra{}
	maps.Copy(all, data.Extra)
	for _, extra := range []Extra{nested, ofResponse} {
		for _, name := range slices.Sorted(maps.Keys(extra)) { // so that the names are the same each time
			free := name
			for all[free] != nil {
				if free = "/" + free; len(free)-len(name) == maxSlashes {
					return nil, errors.New("too many members of the response have the same name but for slashes")
				}
			}
			all[free] = extra[name]
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// copy returns a copy of a cart that shares no memory with it.
func (c *Cart) copy() *Cart {
	fresh := new(*c)
	fresh.Items, fresh.Errors = slices.Clone(c.Items), slices.Clone(c.Errors)
	fresh.CustomDiscounts = cloneAll(c.CustomDiscounts)
	for i := range fresh.Items {
		item := &fresh.Items[i]
		copyExtras(&item.Extra, &item.UnitPrice.Extra, &item.Value.Extra)
	}
	for i := range fresh.Errors {
		o := &fresh.Errors[i]
		o.Meta.MissingIDs = slices.Clone(o.Meta.MissingIDs)
		copyExtras(&o.Extra, &o.Meta.Extra)
	}
	p := &fresh.DisplayPrice
	copyExtras(&p.Extra, &p.WithTax.Extra, &p.WithoutTax.Extra, &p.Tax.Extra, &p.Discount.Extra,
		&p.WithoutDiscount.Extra, &p.Shipping.Extra, &fresh.Timestamps.Extra, &fresh.Extra)
	if c.Response != nil {
		fresh.Response = new(*c.Response)
		fresh.Response.Header = c.Response.Header.Clone()
	}
	return fresh
}
