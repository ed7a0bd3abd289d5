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
}

type cartMeta struct {
	DisplayPrice *displayPrice  `json:"display_price,omitempty"` // nil: an item, not a cart
	Timestamps   cartTimestamps `json:"timestamps"`
}

type displayPrice struct {
	WithTax         money `json:"with_tax"`
	WithoutTax      money `json:"without_tax"`
	Tax             money `json:"tax"`
	Discount        money `json:"discount"`
	WithoutDiscount money `json:"without_discount"`
}

type money struct {
	Amount    commerce.Decimal `json:"amount"`
	Currency  string           `json:"currency"`
	Formatted string           `json:"formatted"`
}

type cartTimestamps struct {
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
	ExpiresAt string `json:"expires_at,omitempty"`
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
	Meta          cartMeta              `json:"meta"`
	Relationships relationships         `json:"relationships"`
}

type itemPrice struct {
	Amount      commerce.Decimal `json:"amount"`
	Currency    string           `json:"currency"`
	IncludesTax bool             `json:"includes_tax"`
}

// data returns c as responses show it. Like the service, it leaves out the
// relationship to discounts if the cart has none of its own.
func (c *cart) data() cartData {
	items := []resourceRef{}
	for _, item := range c.items {
		items = append(items, resourceRef{Type: string(item.ref.Type), ID: item.ref.ID})
	}
	related := relationships{Items: &relationship{Data: items}}
	if own := c.discountRefs(uuid.Nil); own != nil {
		related.CustomDiscounts = &relationship{Data: own}
	}
	return cartData{
		ID:               c.id,
		Type:             "cart",
		Name:             c.name,
		Links:            map[string]string{"self": "https://" + linkHost + "/v2/carts/" + c.id},
		DiscountSettings: discountSettings{CustomDiscountsEnabled: c.discountsEnabled},
		Meta: cartMeta{
			DisplayPrice: c.displayPrice(),
			Timestamps: cartTimestamps{
				CreatedAt: timestamp(c.createdAt),
				UpdatedAt: timestamp(c.updatedAt),
				ExpiresAt: timestamp(c.updatedAt.Add(cartLife)),
			},
		},
		Relationships: related,
	}
}

// displayPrice returns the sums of the prices and of all discounts. There is no tax.
func (c *cart) displayPrice() *displayPrice {
	var prices, discounts commerce.Decimal
	for _, item := range c.items {
		prices = sum(prices, item.value())
	}
	for _, d := range c.discounts {
		discounts = sum(discounts, d.Amount.Amount)
	}
	display := func(amount commerce.Decimal) money {
		m := usd(amount)
		return money{Amount: m.Amount, Currency: m.Currency, Formatted: m.Formatted}
	}
	total := display(sum(prices, discounts))
	return &displayPrice{
		WithTax:         total,
		WithoutTax:      total,
		Tax:             display(commerce.Decimal{}),
		Discount:        display(discounts),
		WithoutDiscount: display(prices),
	}
}

// value is the price of all pieces.
func (i cartItem) value() commerce.Decimal {
	return commerce.Decimal{Decimal: i.price.Mul(commerce.NewDecimal(i.quantity).Decimal)}
}

func sum(a, b commerce.Decimal) commerce.Decimal {
	return commerce.Decimal{Decimal: a.Add(b.Decimal)}
}

// usd returns an amount in cents as the service sends it.
func usd(amount commerce.Decimal) commerce.Money {
	sign := ""
	if amount.Sign() < 0 {
		sign = "-"
	}
	return commerce.Money{
		Amount:    amount,
		Currency:  "USD",
		Formatted: sign + "$" + amount.Abs().Shift(-2).StringFixed(2),
	}
}

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// itemsData returns the items as responses show them. It is never nil.
func (c *cart) itemsData() []itemData {
	list := []itemData{}
	for _, item := range c.items {
		price := func(amount commerce.Decimal) itemPrice { return itemPrice{Amount: amount, Currency: "USD"} }
		created := timestamp(item.createdAt)
		list = append(list, itemData{
			ID:            item.ref.ID,
			Type:          item.ref.Type,
			ProductID:     item.productID,
			Name:          item.name,
			SKU:           item.sku,
			Quantity:      item.quantity,
			UnitPrice:     price(item.price),
			Value:         price(item.value()),
			Meta:          cartMeta{Timestamps: cartTimestamps{CreatedAt: created, UpdatedAt: created}},
			Relationships: relationships{CustomDiscounts: &relationship{Data: c.discountRefs(item.ref.ID)}},
		})
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
