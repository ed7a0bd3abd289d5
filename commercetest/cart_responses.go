package commercetest

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// cartData is a cart as responses show it.
type cartData struct {
	ID               string            `json:"id"`
	Type             string            `json:"type"`
	Name             string            `json:"name"`
	Links            map[string]string `json:"links"`
	DiscountSettings discountSettings  `json:"discount_settings"`
	CustomAttributes json.RawMessage   `json:"custom_attributes,omitempty"`
	Meta             cartMeta          `json:"meta"`
	Relationships    relationships     `json:"relationships"`
}

type discountSettings struct {
	CustomDiscountsEnabled bool `json:"custom_discounts_enabled"`
	UseRulePromotions      bool `json:"use_rule_promotions,omitempty"`
}

type cartMeta struct {
	DisplayPrice *displayPrice `json:"display_price"`
	Timestamps   timestamps    `json:"timestamps"`
}

type itemMeta struct {
	DisplayPrice *itemDisplayPrice `json:"display_price,omitempty"`
	Timestamps   timestamps        `json:"timestamps"`
}

type displayPrice struct {
	WithTax         money  `json:"with_tax"`
	WithoutTax      money  `json:"without_tax"`
	Tax             money  `json:"tax"`
	Discount        *money `json:"discount,omitempty"`
	WithoutDiscount *money `json:"without_discount,omitempty"`
	Shipping        *money `json:"shipping,omitempty"`
}

// itemDisplayPrice is what an item costs after all discounts, with its part of those of the cart.
type itemDisplayPrice struct {
	WithTax         itemMoney `json:"with_tax"`
	WithoutTax      itemMoney `json:"without_tax"`
	Tax             itemMoney `json:"tax"`
	Discount        itemMoney `json:"discount"`
	WithoutDiscount itemMoney `json:"without_discount"`
}

// itemMoney is for one piece and for all.
type itemMoney struct {
	Unit  money `json:"unit"`
	Value money `json:"value"`
}

type money struct {
	Amount    commerce.Decimal `json:"amount"`
	Currency  string           `json:"currency"`
	Formatted string           `json:"formatted"`
}

type timestamps struct {
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
	ExpiresAt string `json:"expires_at,omitempty"` // of a cart
}

// relationships belong to a cart or to an item.
type relationships struct {
	Items           *relationship `json:"items,omitempty"`
	CustomDiscounts *relationship `json:"custom_discounts,omitempty"`
	Promotions      *relationship `json:"promotions,omitempty"`
}

// relationship with nil Data is sent as null.
type relationship struct {
	Data []resourceRef `json:"data"`
}

type resourceRef struct {
	Type string    `json:"type"`
	ID   uuid.UUID `json:"id"`
}

// itemData is an item of a cart as responses show it.
type itemData struct {
	ID            uuid.UUID             `json:"id"`
	Type          commerce.CartItemType `json:"type"`
	ProductID     string                `json:"product_id,omitempty"`
	PromotionID   uuid.UUID             `json:"promotion_id,omitzero"`
	Name          string                `json:"name"`
	Description   string                `json:"description,omitempty"`
	SKU           string                `json:"sku"`
	Quantity      int64                 `json:"quantity"`
	UnitPrice     itemPrice             `json:"unit_price"`
	Value         itemPrice             `json:"value"` // of all pieces, before all discounts
	Discounts     []itemDiscount        `json:"discounts,omitempty"`
	Meta          itemMeta              `json:"meta"`
	Relationships relationships         `json:"relationships"`
	// PromotionSource of an item of the type promotion_item.
	PromotionSource string `json:"promotion_source,omitempty"`
}

// itemDiscount is what a promotion of the store takes off an item.
type itemDiscount struct {
	ID              uuid.UUID `json:"id"` // of the promotion
	Amount          itemPrice `json:"amount"`
	Code            string    `json:"code"`
	PromotionSource string    `json:"promotion_source,omitempty"`
}

type itemPrice struct {
	Amount      commerce.Decimal `json:"amount"`
	Currency    string           `json:"currency"`
	IncludesTax bool             `json:"includes_tax"`
}

// relationship names resources. asPrinted is how the service prints one that names none.
func (l EmptyLists) relationship(refs []resourceRef, asPrinted *relationship) *relationship {
	switch {
	case len(refs) > 0:
		return &relationship{Data: refs}
	case l == EmptyListsNull:
		return &relationship{}
	case l == EmptyListsAsArrays:
		return &relationship{Data: []resourceRef{}}
	case l == EmptyListsAsPrinted:
		return asPrinted
	}
	return nil
}

// includeList adds a list to the included resources.
func includeList[T any](l EmptyLists, included map[string]any, name string, list []T) {
	switch {
	case len(list) > 0, l == EmptyListsAsArrays:
		included[name] = list
	case l == EmptyListsNull:
		included[name] = nil
	}
}

// data returns c as responses show it.
func (c *cart) data(cfg *Config) cartData {
	lists := cfg.EmptyLists
	var items []resourceRef
	if cfg.Shipping > 0 && len(c.items) > 0 {
		items = append(items, resourceRef{"shipping_group", newID("shipping-groups", c.number)})
	}
	for _, item := range c.items {
		items = append(items, resourceRef{string(item.ref.Type), item.ref.ID})
	}
	promotions := c.shownPromotions()
	for _, p := range promotions {
		items = append(items, resourceRef{promotionItem, p.itemID(c)})
	}
	related := relationships{
		Items:           lists.relationship(items, &relationship{}),
		CustomDiscounts: lists.relationship(c.discountRefs(uuid.Nil), nil),
		Promotions:      promotionRefs(promotions),
	}
	return cartData{
		ID:               c.id,
		Type:             "cart",
		Name:             c.name,
		Links:            map[string]string{"self": "https://" + linkHost + "/v2/carts/" + c.id},
		DiscountSettings: c.settings,
		CustomAttributes: c.customAttributes,
		Meta: cartMeta{
			DisplayPrice: c.shownPrice(cfg),
			Timestamps: timestamps{
				CreatedAt: timestamp(c.createdAt),
				UpdatedAt: timestamp(c.updatedAt),
				ExpiresAt: timestamp(c.expiresAt()),
			},
		},
		Relationships: related,
	}
}

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// itemsData returns the items as responses show them, and an item for each promotion. It is never
// nil.
func (c *cart) itemsData(cfg *Config) []itemData {
	list, t := []itemData{}, c.totals(cfg)
	for i, item := range c.items {
		list = append(list, c.itemData(cfg, item, t.lines[i]))
	}
	for _, p := range c.shownPromotions() {
		list = append(list, c.promotionData(cfg, p))
	}
	return list
}

// itemData returns an item as responses show it.
func (c *cart) itemData(cfg *Config, item cartItem, l line) itemData {
	created := timestamp(item.createdAt)
	data := itemData{
		ID:        item.ref.ID,
		Type:      item.ref.Type,
		ProductID: item.productID,
		Name:      item.name,
		SKU:       item.sku,
		Quantity:  item.quantity,
		UnitPrice: c.itemPrice(cfg, item.price),
		Value:     c.itemPrice(cfg, item.value()),
		Discounts: c.promotionDiscounts(cfg, item),
		Meta:      itemMeta{Timestamps: timestamps{CreatedAt: created, UpdatedAt: created}},
		Relationships: relationships{
			CustomDiscounts: cfg.EmptyLists.relationship(c.discountRefs(item.ref.ID), &relationship{}),
			Promotions:      promotionRefs(c.promotions),
		},
	}
	if !cfg.BarePrices {
		data.Meta.DisplayPrice = c.itemDisplayPrice(l, item.quantity)
	}
	return data
}

func (c *cart) itemPrice(cfg *Config, amount commerce.Decimal) itemPrice {
	return itemPrice{Amount: amount, Currency: c.currency.Code, IncludesTax: cfg.PricesIncludeTax}
}

// discountRefs names the discounts of an item, or of the cart itself if the
// id is zero. It returns nil if there are none.
func (c *cart) discountRefs(item uuid.UUID) (refs []resourceRef) {
	for _, d := range c.discounts {
		if target(d).ID == item {
			refs = append(refs, resourceRef{Type: d.Type, ID: d.ID})
		}
	}
	return refs
}

// includedDiscounts returns discounts as the service includes them: the discounts of items
// without their relationships and without formatted amounts. It is never nil.
func includedDiscounts(discounts []commerce.CustomDiscount) []commerce.CustomDiscount {
	list := []commerce.CustomDiscount{}
	for _, d := range discounts {
		if d.Item != nil {
			d.Item, d.Amount.Formatted = nil, ""
		}
		list = append(list, d)
	}
	return list
}
