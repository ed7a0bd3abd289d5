package commercetest

import (
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
	DisplayPrice *displayPrice `json:"display_price,omitempty"` // nil: an item, not a cart
	Timestamps   timestamps    `json:"timestamps"`
}

type displayPrice struct {
	WithTax         money  `json:"with_tax"`
	WithoutTax      money  `json:"without_tax"`
	Tax             money  `json:"tax"`
	Discount        *money `json:"discount,omitempty"`
	WithoutDiscount *money `json:"without_discount,omitempty"`
	Shipping        *money `json:"shipping,omitempty"`
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
	Name          string                `json:"name"`
	SKU           string                `json:"sku"`
	Quantity      int64                 `json:"quantity"`
	UnitPrice     itemPrice             `json:"unit_price"`
	Value         itemPrice             `json:"value"` // of all pieces
	Discounts     []itemDiscount        `json:"discounts,omitempty"`
	Meta          cartMeta              `json:"meta"`
	Relationships relationships         `json:"relationships"`
	// PromotionSource of an item of the type promotion_item.
	PromotionSource string `json:"promotion_source,omitempty"`
}

// itemDiscount is what a promotion of the store takes off an item.
type itemDiscount struct {
	ID              uuid.UUID `json:"id"`
	Amount          itemPrice `json:"amount"`
	Code            string    `json:"code"`
	PromotionSource string    `json:"promotion_source"`
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
	for _, item := range c.itemsData(cfg) {
		items = append(items, resourceRef{Type: string(item.Type), ID: item.ID})
	}
	related := relationships{
		Items:           lists.relationship(items, &relationship{}),
		CustomDiscounts: lists.relationship(c.discountRefs(uuid.Nil), nil),
	}
	return cartData{
		ID:               c.id,
		Type:             "cart",
		Name:             c.name,
		Links:            map[string]string{"self": "https://" + linkHost + "/v2/carts/" + c.id},
		DiscountSettings: c.settings,
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
	promotionCode   = "TEN-PERCENT"
	promotionSource = "rule-promotion"
)

// itemsData returns the items as responses show them. It is never nil.
func (c *cart) itemsData(cfg *Config) []itemData {
	list, lists := []itemData{}, cfg.EmptyLists
	price := func(amount commerce.Decimal) itemPrice {
		return itemPrice{Amount: amount, Currency: c.currency.Code, IncludesTax: cfg.PricesIncludeTax}
	}
	promotion := itemData{
		ID: newID("promotions", c.number), Type: "promotion_item", Name: "Ten percent off", SKU: promotionCode,
		Quantity: 1, PromotionSource: promotionSource,
		Relationships: relationships{CustomDiscounts: lists.relationship(nil, &relationship{})},
	}
	for _, item := range c.items {
		var discounts []itemDiscount
		off := c.promotion(item)
		if c.hasPromotion {
			discounts = append(discounts, itemDiscount{
				ID: promotion.ID, Amount: price(off), Code: promotionCode, PromotionSource: promotionSource,
			})
			promotion.UnitPrice = price(promotion.UnitPrice.Amount.Add(off))
			promotion.Value = promotion.UnitPrice
		}
		created := timestamp(item.createdAt)
		promotion.Meta = cartMeta{Timestamps: timestamps{CreatedAt: created, UpdatedAt: created}}
		list = append(list, itemData{
			ID:            item.ref.ID,
			Type:          item.ref.Type,
			ProductID:     item.productID,
			Name:          item.name,
			SKU:           item.sku,
			Quantity:      item.quantity,
			UnitPrice:     price(item.price),
			Value:         price(item.value().Add(off)),
			Discounts:     discounts,
			Meta:          promotion.Meta,
			Relationships: relationships{CustomDiscounts: lists.relationship(c.discountRefs(item.ref.ID), &relationship{})},
		})
	}
	if c.hasPromotion && len(list) > 0 {
		list = append(list, promotion)
	}
	return list
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
