package commercetest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// writeCart handles a request that changes its cart. The change takes effect if the
// response is a success.
func (s *Store) writeCart(in *call, change func(*cart) response) (resp response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cart(in.ids["cart"])
	if s.cfg.LoseOverlappingWrites {
		c = in.cartOnArrival
	}
	if s.changeCart(c, func(c *cart) bool {
		resp = change(c)
		return resp.status < 300
	}) {
		in.Before, in.After = s.stateOf(c), s.stateOf(s.carts[c.id])
		s.grow(in.entry, discountSize*(len(in.Before.Discounts)+len(in.After.Discounts))+
			itemSize*(len(in.Before.Items)+len(in.After.Items)))
	}
	return resp
}

// About what a discount and an item take in the list of requests, in bytes.
const discountSize, itemSize = 400, 300

// cartBody is the body of a response about a cart or its items.
type cartBody struct {
	Data     any            `json:"data"`
	Included map[string]any `json:"included,omitempty"`
	Errors   []errorObject  `json:"errors,omitempty"`
}

// getCart handles GET /v2/carts/{cartID}. It can include items and custom_discounts. It creates
// the cart if there is none.
func (s *Store) getCart(in *call) response {
	return s.readCart(in, func(c *cart, names []string) cartBody {
		s.carts[c.id] = c
		included := map[string]any{}
		if slices.Contains(names, "items") {
			includeList(s.cfg.EmptyLists, included, "items", c.itemsData(&s.cfg))
		}
		if slices.Contains(names, "custom_discounts") {
			includeList(s.cfg.EmptyLists, included, "custom_discounts", includedDiscounts(c.discounts))
		}
		return cartBody{Data: c.data(&s.cfg), Included: included}
	})
}

// getItems handles GET /v2/carts/{cartID}/items. It can include custom_discounts:
// the discounts of the items, not of the cart itself.
func (s *Store) getItems(in *call) response {
	return s.readCart(in, func(c *cart, names []string) cartBody {
		included := map[string]any{}
		if slices.Contains(names, "custom_discounts") {
			isOfCart := func(d commerce.CustomDiscount) bool { return d.Item == nil }
			ofItems := slices.DeleteFunc(slices.Clone(c.discounts), isOfCart)
			includeList(s.cfg.EmptyLists, included, "custom_discounts", includedDiscounts(ofItems))
		}
		items := c.itemsData(&s.cfg)
		if len(items) == 0 && s.cfg.EmptyLists == EmptyListsNull {
			items = nil
		}
		return cartBody{Data: items, Included: included}
	})
}

// readCart responds with what body returns for the cart of a request. names are those in all
// include parameters. body is called while s.mu is held.
func (s *Store) readCart(in *call, body func(c *cart, names []string) cartBody) response {
	query, err := url.ParseQuery(in.RawQuery)
	if err != nil {
		return errorResponse(http.StatusBadRequest, "Bad Request", "Could not parse the query")
	}
	names := strings.Split(strings.Join(query["include"], ","), ",")
	s.mu.Lock()
	defer s.mu.Unlock()
	b := body(s.cart(in.ids["cart"]), names)
	if s.cfg.ErrorsBesideCarts {
		b.Errors = []errorObject{{Status: 404, Title: "Not Found", Detail: "A price was not found"}}
	}
	return jsonResponse(http.StatusOK, b)
}

// cartChange holds those members of a cart that a request sets. nil: not set.
type cartChange struct {
	name             *string
	customAttributes json.RawMessage
	settings         settingsChange
}

// settingsChange holds those discount settings, of a cart or of new carts, that a request sets.
// nil: not set.
type settingsChange struct{ enableDiscounts, useRulePromotions *bool }

func (change *cartChange) read(v *validator, root members) {
	o, ok := v.object("data", root["data"])
	if !ok {
		return
	}
	if raw, ok := o["name"]; ok {
		change.name = new(v.text("data.name", raw))
	}
	if raw, ok := o["custom_attributes"]; ok {
		if _, ok := v.object("data.custom_attributes", raw); ok {
			change.customAttributes = raw
		}
	}
	change.settings = v.discountSettings("data.discount_settings", o["discount_settings"])
}

// applyChange changes c, or returns why it must not.
func (s *Store) applyChange(c *cart, change cartChange) *errorObject {
	if change.name != nil {
		c.name = *change.name
	}
	if change.customAttributes != nil {
		c.customAttributes = change.customAttributes
	}
	if enable := change.settings.enableDiscounts; enable != nil && *enable {
		s.dropPromotions(c)
	}
	return change.settings.apply(&c.settings)
}

// apply changes settings, both before it checks them. It returns why the result is refused, or nil.
func (change settingsChange) apply(settings *discountSettings) *errorObject {
	set(&settings.CustomDiscountsEnabled, change.enableDiscounts)
	set(&settings.UseRulePromotions, change.useRulePromotions)
	if settings.CustomDiscountsEnabled && settings.UseRulePromotions {
		return &errorObject{
			Status: 422, Title: "Cannot use both discounts together",
			Detail: "Only one discount setting can be set to true at a time.",
		}
	}
	return nil
}

// createCart handles POST /v2/carts.
func (s *Store) createCart(in *call) response {
	var change cartChange
	if refusal := s.readBody(in, change.read); refusal != nil {
		return *refusal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.newCart()
	if refusal := s.useCurrency(c, in); refusal != nil {
		return *refusal
	}
	if refusal := s.applyChange(c, change); refusal != nil {
		return errorsResponse(http.StatusUnprocessableEntity, *refusal)
	}
	s.carts[c.id] = c
	return jsonResponse(http.StatusCreated, cartBody{Data: c.data(&s.cfg)})
}

// useCurrency gives c the currency of a request, if it has no items and no discounts yet.
func (s *Store) useCurrency(c *cart, in *call) *response {
	code := in.Header.Get("X-Moltin-Currency")
	if code == "" || len(c.items)+len(c.discounts) > 0 {
		return nil
	}
	currency, err := s.cfg.currency(code)
	if err != nil {
		return new(errorResponse(http.StatusBadRequest, "Bad Request", err.Error()))
	}
	c.currency = currency
	return nil
}

// updateCart handles PUT /v2/carts/{cartID}. A refusal is an error object, not a list of them.
func (s *Store) updateCart(in *call) response {
	var change cartChange
	if refusal := s.readBody(in, change.read); refusal != nil {
		return *refusal
	}
	return s.writeCart(in, func(c *cart) response {
		if refusal := s.applyChange(c, change); refusal != nil {
			return jsonResponse(http.StatusUnprocessableEntity, refusal)
		}
		return jsonResponse(http.StatusOK, cartBody{Data: c.data(&s.cfg)})
	})
}

// deleteCart handles DELETE /v2/carts/{cartID}.
func (s *Store) deleteCart(in *call) response {
	s.RemoveCart(in.ids["cart"])
	return response{status: http.StatusNoContent}
}

// addCartItem handles POST /v2/carts/{cartID}/items. Products have no prices of
// their own: each costs the same.
func (s *Store) addCartItem(in *call) response {
	var item cartItem
	refusal := s.readBody(in, func(v *validator, root members) {
		if o, ok := v.object("data", root["data"]); ok {
			item = v.cartItem(o)
		}
	})
	if refusal != nil {
		return *refusal
	}
	return s.writeCart(in, func(c *cart) response {
		if item.ref.Type == promotionItem {
			refusal = s.applyCode(c, item.sku)
		} else if refusal = s.useCurrency(c, in); refusal == nil && !c.mergeItem(item) {
			s.addItem(c, item)
		}
		if refusal != nil {
			return *refusal
		}
		return jsonResponse(http.StatusCreated, cartBody{Data: c.itemsData(&s.cfg)})
	})
}

// updateCartItem handles PUT /v2/carts/{cartID}/items/{itemID}, which changes the quantity. It may
// have none, but a shipping group, which has no effect here.
func (s *Store) updateCartItem(in *call) response {
	var quantity int64 // 0: it stays
	refusal := s.readBody(in, func(v *validator, root members) {
		if o, ok := v.object("data", root["data"]); ok {
			if raw, ok := o["quantity"]; ok {
				quantity = v.quantity(raw)
			}
		}
	})
	if refusal != nil {
		return *refusal
	}
	return s.writeCart(in, func(c *cart) response {
		id := in.uuid("item")
		i := slices.IndexFunc(c.items, func(item cartItem) bool { return item.ref.ID == id })
		if i < 0 {
			return itemNotFound()
		}
		c.items[i].quantity = cmp.Or(quantity, c.items[i].quantity)
		return jsonResponse(http.StatusOK, cartBody{Data: c.itemsData(&s.cfg)})
	})
}

func itemNotFound() response {
	return errorResponse(http.StatusNotFound, "Not Found", "The cart has no such item")
}

// cartItem reads the data of a request that adds an item. The code of a promotion is the SKU of its
// item.
func (v *validator) cartItem(o members) (item cartItem) {
	item.ref.Type = commerce.CartItemType(v.text("data.type", o["type"]))
	if item.ref.Type == promotionItem {
		item.sku = v.text("data.code", o["code"])
		return item
	}
	item.quantity = v.quantity(o["quantity"])
	switch item.ref.Type {
	case commerce.ItemTypeCartItem:
		item.productID = v.text("data.id", o["id"])
		item.name, item.price = "Product", commerce.NewDecimal(defaultItemPrice)
	case commerce.ItemTypeCustomItem:
		item.name = v.text("data.name", o["name"])
		if raw, ok := o["sku"]; ok {
			item.sku = v.text("data.sku", raw)
		}
		if price, ok := v.object("data.price", o["price"]); ok {
			item.price = v.price("data.price.amount", price["amount"])
		}
	case "":
	default:
		v.addProblem("data.type", "must be cart_item or custom_item")
	}
	return item
}

func (v *validator) quantity(raw json.RawMessage) (n int64) {
	if json.Unmarshal(raw, &n) != nil || n < 1 {
		v.addProblem("data.quantity", "is required, and must be a whole number of at least 1")
	}
	return n
}

// deleteItems handles DELETE /v2/carts/{cartID}/items. The cart keeps its own discounts.
func (s *Store) deleteItems(in *call) response {
	return s.writeCart(in, func(c *cart) response {
		c.items, c.promotions = nil, nil
		c.discounts = slices.DeleteFunc(c.discounts, func(d commerce.CustomDiscount) bool { return d.Item != nil })
		return response{status: http.StatusNoContent}
	})
}

// deleteItem handles DELETE /v2/carts/{cartID}/items/{itemID}. The discounts of the
// item go with it.
func (s *Store) deleteItem(in *call) response {
	return s.writeCart(in, func(c *cart) response {
		if !c.removeItem(in.uuid("item")) {
			return itemNotFound()
		}
		return jsonResponse(http.StatusOK, cartBody{Data: c.itemsData(&s.cfg)})
	})
}

// uuid returns an id of the path. It is zero if the path element is not a UUID, and
// nothing in the store has that id.
func (in *call) uuid(name string) uuid.UUID {
	id, _ := uuid.Parse(in.ids[name])
	return id
}
