package commercetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

const (
	defaultCartDays  = 7 // after the last change
	defaultCartName  = "Cart"
	defaultItemPrice = 10_000 // in the smallest unit of the currency
)

// cart is a cart with its items and custom discounts. A cart in Store.carts never
// changes: a write replaces it with a changed copy.
type cart struct {
	id, name             string
	settings             discountSettings
	customAttributes     json.RawMessage // an object; nil: not set
	promotions           []PromotionCode // in the order they were added; replaced, never changed
	currency             Currency
	priceBefore          *displayPrice // before the last change; nil: there was none
	items                []cartItem
	discounts            []commerce.CustomDiscount // of the cart and its items, in the order they were added
	createdAt, updatedAt time.Time
	life                 time.Duration // after the last change
	number               int           // counts the carts in the order they were created
}

func (c *cart) expiresAt() time.Time { return c.updatedAt.Add(c.life) }

func (c *cart) expired() bool { return time.Now().After(c.expiresAt()) }

type cartItem struct {
	ref                  commerce.CartItemRef
	productID, name, sku string
	quantity             int64
	price                commerce.Decimal // of one piece, in the smallest unit of the currency
	taxPercent           *float64         // nil: that of the store
	createdAt            time.Time
}

// AddCart adds a cart and returns its id. It takes custom discounts if
// [Config.DiscountsEnabled] is set, or as soon as they are enabled for it. The default type of
// an item is cart_item, the default id a new one. Without items the cart is empty, and an empty
// cart accepts no discounts.
func (s *Store) AddCart(items ...commerce.CartItemRef) (cartID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var f CartFixture
	for _, ref := range items {
		f.Items = append(f.Items, ItemFixture{CartItemRef: ref})
	}
	return s.addCart(f).id
}

// addCart adds a cart with the items of f. The caller holds s.mu.
func (s *Store) addCart(f CartFixture) *cart {
	c := s.newCart()
	for _, in := range f.Items {
		item := cartItem{
			ref: in.CartItemRef, name: cmp.Or(in.Name, "Product"), quantity: cmp.Or(in.Quantity, 1),
			price: commerce.NewDecimal(defaultItemPrice), taxPercent: in.TaxPercent,
		}
		if in.Price != nil {
			item.price = commerce.NewDecimal(*in.Price)
		}
		if in.Type == commerce.ItemTypeCustomItem {
			item.name = cmp.Or(in.Name, "Custom item")
		}
		s.addItem(c, item)
	}
	s.carts[c.id] = c
	return c
}

// newCart returns an empty cart with a new id, which is not in the store yet. The
// caller holds s.mu.
func (s *Store) newCart() *cart {
	s.cartCount++
	return s.emptyCart(newID("carts", s.cartCount).String())
}

// emptyCart returns a cart without items that has the settings of the store. The caller
// holds s.mu.
func (s *Store) emptyCart(id string) *cart {
	now := time.Now()
	s.emptyCartCount++
	currency, _ := s.cfg.currency("") // there is one
	return &cart{
		currency: currency,

		id: id, name: defaultCartName, settings: discountSettings(s.newCarts.Discounts), createdAt: now, updatedAt: now,
		life:   time.Duration(s.newCarts.CartExpiryDays) * 24 * time.Hour,
		number: s.emptyCartCount,
	}
}

// Carts returns the ids of the carts that exist and have not expired, in the order they
// were created.
func (s *Store) Carts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.SortedFunc(maps.Values(s.carts), func(a, b *cart) int { return a.number - b.number })
	var ids []string
	for _, c := range list {
		if !c.expired() {
			ids = append(ids, c.id)
		}
	}
	return ids
}

// CartState returns what a cart holds, and what it costs. A cart that does not exist is empty.
func (s *Store) CartState(cartID string) CartState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.stateOf(s.cart(cartID)).clone()
}

// CartItems returns the items of a cart, in the order they were added. It returns nil if there
// is no such cart.
func (s *Store) CartItems(cartID string) []commerce.CartItemRef {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []commerce.CartItemRef
	for _, item := range s.cart(cartID).items {
		list = append(list, item.ref)
	}
	return list
}

// stateOf returns what c holds. The discounts are those of c, not copies.
func (s *Store) stateOf(c *cart) *CartState {
	total := c.displayPrice(&s.cfg).WithTax
	state := &CartState{
		Discounts: c.discounts,
		Total:     commerce.Money{Amount: total.Amount, Currency: total.Currency, Formatted: total.Formatted},
	}
	for _, item := range c.items {
		state.Items = append(state.Items, CartItemState{item.ref, item.name, item.quantity, c.currency.money(item.price)})
	}
	return state
}

func (state *CartState) clone() *CartState {
	if state == nil {
		return nil
	}
	return &CartState{slices.Clone(state.Items), cloneDiscounts(state.Discounts), state.Total}
}

func cloneDiscounts(list []commerce.CustomDiscount) []commerce.CustomDiscount {
	list = slices.Clone(list)
	for i := range list {
		list[i].Item = cloneItemRef(list[i].Item)
	}
	return list
}

// addItem adds an item to c and fills in what is missing. The caller holds s.mu.
func (s *Store) addItem(c *cart, item cartItem) {
	s.itemCount++
	if item.ref.Type == "" {
		item.ref.Type = commerce.ItemTypeCartItem
	}
	if item.ref.ID == uuid.Nil {
		item.ref.ID = newID("cart-items", s.itemCount)
	}
	if item.sku == "" {
		item.sku = fmt.Sprintf("sku-%06d", s.itemCount)
	}
	if item.productID == "" && item.ref.Type == commerce.ItemTypeCartItem {
		item.productID = newID("products", s.itemCount).String()
	}
	item.createdAt = time.Now()
	c.items = append(c.items, item)
}

// mergeItem adds the quantity of an item to that of the same one: a custom item with its SKU, or a
// cart item of its product. It reports whether c has one. A custom item without a SKU is none.
func (c *cart) mergeItem(item cartItem) bool {
	i := slices.IndexFunc(c.items, func(has cartItem) bool {
		return has.productID == item.productID && (has.sku == item.sku || item.productID != "")
	})
	if i < 0 {
		return false
	}
	c.items[i].quantity += item.quantity
	return true
}

// cart returns the cart with this id. Like the service, it returns an empty one if
// there is none, or if it has expired. The caller holds s.mu.
func (s *Store) cart(id string) *cart {
	if c, ok := s.carts[id]; ok && !c.expired() {
		return c
	}
	return s.emptyCart(id)
}

// changeCart replaces c with a copy that change has changed, if change returns
// true. It returns what change returns. The caller holds s.mu.
func (s *Store) changeCart(c *cart, change func(*cart) bool) bool {
	changed := *c
	changed.items, changed.discounts = slices.Clone(c.items), slices.Clone(c.discounts)
	if s.cfg.TotalsLag > 0 {
		changed.priceBefore = c.shownPrice(&s.cfg)
	}
	changed.updatedAt = time.Now()
	if !change(&changed) {
		return false
	}
	s.carts[c.id] = &changed
	return true
}

// itemType returns the type of an item, or "" if c has no such item.
func (c *cart) itemType(id uuid.UUID) commerce.CartItemType {
	for _, item := range c.items {
		if item.ref.ID == id {
			return item.ref.Type
		}
	}
	return ""
}

// removeItem removes an item and its discounts. It reports whether c had the item.
func (c *cart) removeItem(id uuid.UUID) bool {
	before := len(c.items)
	c.items = slices.DeleteFunc(c.items, func(item cartItem) bool { return item.ref.ID == id })
	c.discounts = slices.DeleteFunc(c.discounts, func(d commerce.CustomDiscount) bool {
		return d.Item != nil && d.Item.ID == id
	})
	return len(c.items) < before
}

// Discounts returns the custom discounts of a cart and of its items, in the order
// they were added. It returns nil if there is no such cart. The result is a copy.
func (s *Store) Discounts(cartID string) []commerce.CustomDiscount {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cloneDiscounts(s.cart(cartID).discounts)
}

func cloneItemRef(ref *commerce.CartItemRef) *commerce.CartItemRef {
	if ref == nil {
		return nil
	}
	return new(*ref)
}

// EnableDiscounts enables custom discounts for a cart without a request, instead of promotions of
// the store: those that the cart has go, unless [Config.PromotionsStay] or
// [Config.StandardPromotions] is set. If there is no such cart, EnableDiscounts adds one.
func (s *Store) EnableDiscounts(cartID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changeCart(s.cart(cartID), func(c *cart) bool {
		c.settings = discountSettings{CustomDiscountsEnabled: true}
		s.dropPromotions(c)
		return true
	})
}

// AddDiscount adds a discount to a cart without a request, as another program would,
// and without any check: not of the limits, and not of the item. If d has no ID, it
// gets a new one. If there is no such cart, AddDiscount adds one.
func (s *Store) AddDiscount(cartID string, d commerce.CustomDiscount) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changeCart(s.cart(cartID), func(c *cart) bool {
		s.addDiscount(c, d)
		return true
	})
}

// addDiscount adds a discount to c, and fills in what is missing. The caller holds s.mu.
func (s *Store) addDiscount(c *cart, d commerce.CustomDiscount) {
	d.Type = "custom_discount"
	d.Item = cloneItemRef(d.Item)
	if d.Amount.Currency == "" {
		d.Amount = c.currency.money(d.Amount.Amount)
	}
	if d.ID == uuid.Nil {
		d.ID = s.newDiscountID()
	}
	c.discounts = append(c.discounts, d)
}

// newDiscountID returns the id of the next discount. The caller holds s.mu.
func (s *Store) newDiscountID() uuid.UUID {
	s.discountCount++
	return newID("custom-discounts", s.discountCount)
}

// RemoveDiscount removes a discount of a cart or of one of its items without a
// request. It reports whether the discount was there.
func (s *Store) RemoveDiscount(cartID string, id uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changeCart(s.cart(cartID), func(c *cart) bool {
		before := len(c.discounts)
		c.discounts = slices.DeleteFunc(c.discounts, func(d commerce.CustomDiscount) bool { return d.ID == id })
		return len(c.discounts) < before
	})
}

// RemoveItem removes an item of a cart, and its discounts, without a request. It
// reports whether the item was there.
func (s *Store) RemoveItem(cartID string, id uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changeCart(s.cart(cartID), func(c *cart) bool { return c.removeItem(id) })
}

// RemoveCart removes a cart without a request. It reports whether the cart was
// there. Afterwards its id reads as an empty cart.
func (s *Store) RemoveCart(cartID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.carts[cartID]
	delete(s.carts, cartID)
	return ok
}
