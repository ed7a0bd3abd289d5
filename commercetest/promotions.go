package commercetest

import (
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// PromotionCode is a code of a promotion of the store: see [Config.PromotionCodes].
type PromotionCode struct {
	Code string `json:"code"`
	// Standard makes the promotion one of the older kind, "Promotions Standard". Otherwise it is of
	// the Promotions Builder.
	Standard bool `json:"standard"`
}

// What the promotions of the store look like in responses.
const (
	promotionItem   = "promotion_item"
	promotionCode   = "TEN-PERCENT" // of AddPromotion
	promotionSource = "rule-promotion"
)

// promotionProblem returns why a store cannot have these codes, or "".
func promotionProblem(list []PromotionCode) string {
	codes := map[string]bool{"": true}
	for _, p := range list {
		if codes[p.Code] {
			return "PromotionCodes must have codes that are not empty, each once"
		}
		codes[p.Code] = true
	}
	return ""
}

// usesBuilder reports whether the store has codes of the Promotions Builder.
func (c *Config) usesBuilder() bool {
	return slices.ContainsFunc(c.PromotionCodes, func(p PromotionCode) bool { return !p.Standard })
}

// AddPromotion adds a promotion of the store to a cart, which then refuses custom discounts until
// they are enabled for it, even if they were before: see [Config.PromotionsStay]. It takes a tenth
// off each item. Responses show it as discounts of the items, as an item of the type
// promotion_item, in relationships, and in the total discount: it is one promotion, with one id.
// [Config.StandardPromotions] sets its kind. If there is no such cart, AddPromotion adds one.
func (s *Store) AddPromotion(cartID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changeCart(s.cart(cartID), func(c *cart) bool {
		c.addPromotion(s.cfg.ownPromotion())
		return true
	})
}

// ownPromotion is the promotion of AddPromotion.
func (c *Config) ownPromotion() PromotionCode {
	return PromotionCode{promotionCode, c.StandardPromotions}
}

// addPromotion adds a promotion that c does not have yet.
func (c *cart) addPromotion(p PromotionCode) {
	if !slices.Contains(c.promotions, p) {
		c.promotions = append(slices.Clone(c.promotions), p)
	}
}

// dropPromotions removes the promotions of a cart for which custom discounts were enabled.
func (s *Store) dropPromotions(c *cart) {
	c.promotions = slices.DeleteFunc(slices.Clone(c.promotions), func(p PromotionCode) bool {
		return !p.Standard && !s.cfg.PromotionsStay
	})
}

// applyCode adds the promotion of a code to c, or returns why it must not. A cart that does not use
// rule promotions has those of the older kind only.
func (s *Store) applyCode(c *cart, code string) *response {
	i := slices.IndexFunc(s.cfg.PromotionCodes, func(p PromotionCode) bool { return p.Code == code })
	switch {
	case i >= 0 && c.settings.CustomDiscountsEnabled:
		return new(errorsResponse(http.StatusUnprocessableEntity, errorObject{
			Status: 422, Title: "Could not apply EP promotion with the given code",
			Detail: "The cart is configured to use custom discounts", Meta: &errorMeta{Code: code},
		}))
	case i < 0, !s.cfg.PromotionCodes[i].Standard && !c.settings.UseRulePromotions:
		return new(errorsResponse(http.StatusNotFound, errorObject{
			Status: 404, Title: "Not Found", Detail: "No promotion could be found with the given code.",
			Meta: &errorMeta{Code: code},
		}))
	}
	c.addPromotion(s.cfg.PromotionCodes[i])
	return nil
}

// shownPromotions are the promotions of c. They apply to items: without any, they do not show.
func (c *cart) shownPromotions() []PromotionCode {
	if len(c.items) == 0 {
		return nil
	}
	return c.promotions
}

func (p PromotionCode) id() uuid.UUID { return newID("promotions/"+p.Code, 1) }

// itemID is the id of the item that shows p in a cart.
func (p PromotionCode) itemID(c *cart) uuid.UUID { return newID("promotion-items/"+p.Code, c.number) }

func (p PromotionCode) source() string {
	if p.Standard {
		return ""
	}
	return promotionSource
}

// promotionRefs names promotions. It returns nil if there are none.
func promotionRefs(list []PromotionCode) *relationship {
	if len(list) == 0 {
		return nil
	}
	var refs []resourceRef
	for _, p := range list {
		refs = append(refs, resourceRef{"promotion", p.id()})
	}
	return &relationship{Data: refs}
}

// promotion returns what a promotion takes off an item: a tenth.
func (i cartItem) promotion() commerce.Decimal { return truncate(i.value().Shift(-1)).Neg() }

// promotionsOf returns what the promotions of c take off an item.
func (c *cart) promotionsOf(item cartItem) commerce.Decimal {
	return item.promotion().Mul(commerce.NewDecimal(int64(len(c.promotions))))
}

// promotionDiscounts returns the promotions of an item as it shows them.
func (c *cart) promotionDiscounts(cfg *Config, item cartItem) (list []itemDiscount) {
	for _, p := range c.promotions {
		list = append(list, itemDiscount{
			ID: p.id(), Amount: c.itemPrice(cfg, item.promotion()), Code: p.Code, PromotionSource: p.source(),
		})
	}
	return list
}

// promotionData returns the item that shows a promotion of c.
func (c *cart) promotionData(cfg *Config, p PromotionCode) itemData {
	var off commerce.Decimal
	for _, item := range c.items {
		off = off.Add(item.promotion())
	}
	created := timestamp(c.items[len(c.items)-1].createdAt)
	data := itemData{
		ID: p.itemID(c), Type: promotionItem, PromotionID: p.id(),
		Name: "Ten percent off", Description: "Promotion", SKU: p.Code, Quantity: 1,
		UnitPrice: c.itemPrice(cfg, off), Value: c.itemPrice(cfg, off), PromotionSource: p.source(),
		Meta: itemMeta{Timestamps: timestamps{CreatedAt: created, UpdatedAt: created}},
		Relationships: relationships{
			CustomDiscounts: cfg.EmptyLists.relationship(nil, &relationship{}),
			Promotions:      promotionRefs([]PromotionCode{p}),
		},
	}
	if !cfg.BarePrices {
		data.Meta.DisplayPrice = c.promotionDisplayPrice(off)
	}
	return data
}

// promotionDisplayPrice returns what a promotion of a cart takes off in all, as an item shows it.
func (c *cart) promotionDisplayPrice(off commerce.Decimal) *itemDisplayPrice {
	display := func(m money) itemMoney { return itemMoney{m, m} }
	price, zero := display(c.money(off)), display(c.money(commerce.Decimal{}))
	return &itemDisplayPrice{
		WithTax: price, WithoutTax: price, Tax: zero, Discount: zero,
		WithoutDiscount: display(withoutCurrency(commerce.Decimal{})),
	}
}
