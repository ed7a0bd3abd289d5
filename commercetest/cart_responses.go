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

// cartSettings are the settings for new carts.
type cartSettings struct {
	Type           string           `json:"type"`
	CartExpiryDays int              `json:"cart_expiry_days,omitempty"` // 0: not set
	Discounts      discountSettings `json:"discounts"`
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
	promotions := c.promotions()
	if promotions != nil {
		items = append(items, resourceRef{promotionItem, c.promotionItemID()})
	}
	related := relationships{
		Items:           lists.relationship(items, &relationship{}),
		CustomDiscounts: lists.relationship(c.discountRefs(uuid.Nil), nil),
		Promotions:      promotions,
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

// The promotion of the store, as responses show it.
const (
	promotionItem   = "promotion_item"
	promotionCode   = "TEN-PERCENT"
	promotionSource = "rule-promotion"
)

func (c *cart) promotionID() uuid.UUID { return newID("promotions", c.number) }

func (c *cart) promotionItemID() uuid.UUID { return newID("promotion-items", c.number) }

// promotions names the promotion of a cart. It returns nil if there is none that shows.
func (c *cart) promotions() *relationship {
	if !c.hasPromotion || len(c.items) == 0 {
		return nil
	}
	return &relationship{Data: []resourceRef{{"promotion", c.promotionID()}}}
}

// itemsData returns the items as responses show them. It is never nil.
func (c *cart) itemsData(cfg *Config) []itemData {
	list, promotions := []itemData{}, c.promotions()
	price := func(amount commerce.Decimal) itemPrice {
		return itemPrice{Amount: amount, Currency: c.currency.Code, IncludesTax: cfg.PricesIncludeTax}
	}
	related := func(item uuid.UUID) relationships {
		refs := c.discountRefs(item)
		return relationships{
			CustomDiscounts: cfg.EmptyLists.relationship(refs, &relationship{}), Promotions: promotions,
		}
	}
	source := promotionSource
	if cfg.StandardPromotions {
		source = ""
	}
	var off commerce.Decimal
	t := c.totals(cfg)
	for i, item := range c.items {
		created := timestamp(item.createdAt)
		data := itemData{
			ID:            item.ref.ID,
			Type:          item.ref.Type,
			ProductID:     item.productID,
			Name:          item.name,
			SKU:           item.sku,
			Quantity:      item.quantity,
			UnitPrice:     price(item.price),
			Value:         price(item.value()),
			Meta:          itemMeta{Timestamps: timestamps{CreatedAt: created, UpdatedAt: created}},
			Relationships: related(item.ref.ID),
		}
		if !cfg.BarePrices {
			data.Meta.DisplayPrice = c.itemDisplayPrice(t.lines[i], item.quantity)
		}
		if promotions != nil {
			amount := c.promotion(item)
			off = off.Add(amount)
			data.Discounts = []itemDiscount{{
				ID: c.promotionID(), Amount: price(amount), Code: promotionCode, PromotionSource: source,
			}}
		}
		list = append(list, data)
	}
	if promotions == nil {
		return list
	}
	promotion := itemData{
		ID: c.promotionItemID(), Type: promotionItem, PromotionID: c.promotionID(),
		Name: "Ten percent off", Description: "Promotion", SKU: promotionCode, Quantity: 1,
		UnitPrice: price(off), Value: price(off), PromotionSource: source,
		Meta: itemMeta{Timestamps: list[len(list)-1].Meta.Timestamps}, Relationships: related(c.promotionItemID()),
	}
	if !cfg.BarePrices {
		promotion.Meta.DisplayPrice = c.promotionDisplayPrice(off)
	}
	return append(list, promotion)
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
