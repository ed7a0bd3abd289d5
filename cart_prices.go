package commerce

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// Subtotal returns the price of the goods before all discounts, without shipping: what a percentage
// is computed from. It is the first of these that the response shows, minus Shipping:
//   - WithoutDiscount of [CartDisplayPrice], unless it is 0 or less and the next one is higher,
//   - WithoutTax minus Discount, which is 0 or less,
//   - WithoutTax minus the custom discounts, unless the cart shows a promotion.
//
// It is below 0 if credits take more than the goods cost. What is absent is not 0: if the response
// does not show the price, the error matches [ErrBadResponse] and names the member.
func (c *Cart) Subtotal() (Money, error) {
	shown := c.DisplayPrice.goods(c.DisplayPrice.WithoutDiscount)
	net, err := c.net()
	if shown.Amount.Sign() > 0 || shown.Amount.isSet() && (err != nil || net.Amount.Cmp(shown.Amount) <= 0) {
		net, err = shown, nil
	}
	return net, err
}

// goods returns a price that contains shipping without it.
func (p *CartDisplayPrice) goods(price Money) Money {
	if !price.Amount.isSet() || p.Shipping.Amount.IsZero() {
		return price
	}
	return Money{Amount: price.Amount.Sub(p.Shipping.Amount), Currency: price.Currency}
}

// net returns the price of the goods without tax, before all discounts. A WithoutTax of 0 may be
// none.
func (c *Cart) net() (Money, error) {
	p, discount := &c.DisplayPrice, c.DisplayPrice.Discount.Amount
	price := p.goods(p.WithoutTax)
	switch {
	case !price.Amount.isSet(), p.WithoutTax.Amount.IsZero() && p.showsMore():
		return Money{}, unreadablePrice("without_discount and without_tax")
	case !discount.isSet() && c.showsPromotions():
		return Money{}, unreadablePrice("without_discount and discount")
	case !discount.isSet():
		var err error
		if discount, err = sumOf(c.CustomDiscounts); err != nil {
			return Money{}, err
		}
	}
	return Money{Amount: price.Amount.Sub(discount), Currency: price.Currency}, nil
}

// showsMore reports whether a WithoutTax of 0 is no price, as other members show one: a total that
// is not just tax, or a price without any discount.
func (p *CartDisplayPrice) showsMore() bool {
	isWhole := p.Discount.Amount.isSet() && p.Discount.Amount.IsZero()
	return !p.WithTax.Amount.Equal(p.Tax.Amount) || isWhole && p.goods(p.WithoutDiscount).Amount.Sign() > 0
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

// shownPrices returns the members of the display price of i that are readable, by their names. The
// value is for all pieces.
func (i *CartItem) shownPrices() map[string]struct{ Value Money } {
	var meta struct {
		Prices map[string]struct{ Value Money } `json:"display_price"`
	}
	_ = json.Unmarshal(i.Extra["meta"], &meta) // what is not readable is not shown
	return meta.Prices
}

// PriceOf returns the price of all pieces of an item of c, without tax and before discounts: what
// the discounts for the item may take in all. It is without_tax minus discount of the display price
// of the item, or Value if that is less; else Value, if that does not include tax; else the part of
// Value that is no tax in the price of the cart, rounded down. If the response shows none of these,
// the error matches [ErrBadResponse].
func (c *Cart) PriceOf(item *CartItem) (Money, error) { return item.price(c.withoutTax()) }

// withoutTax returns the price of the goods before discounts, and the part of it that is no tax: 0
// and 0 if the cart does not show both. A Subtotal that is less than the items cost has no tax.
func (c *Cart) withoutTax() (whole, part Decimal) {
	net, err := c.net()
	subtotal, errSubtotal := c.Subtotal()
	if err != nil || errSubtotal != nil {
		return whole, part
	}
	for i := range c.Items {
		whole = whole.Add(highest(Decimal{}, c.Items[i].Value.Amount))
	}
	whole = highest(whole, subtotal.Amount)
	return whole, lowest(whole, net.Amount)
}

// price returns the price of all pieces of i. whole and part are those of its cart.
func (i *CartItem) price(whole, part Decimal) (Money, error) {
	shown, value := i.shownPrices(), i.Value
	net, off := shown["without_tax"].Value, shown["discount"].Value.Amount
	switch price := net.Amount.Sub(off); {
	case net.Amount.isSet() && off.isSet() && (!price.IsZero() || value.Amount.Sign() <= 0): // else it is not filled in
		if !value.Amount.IsZero() {
			price = lowest(price, value.Amount)
		}
		return Money{Amount: price, Currency: net.Currency}, nil
	case !value.Amount.isSet():
	case string(value.Extra["includes_tax"]) == "false", value.Amount.IsZero():
		return value, nil
	case whole.Sign() > 0:
		price = Decimal{value.Amount.Mul(part).number.Div(whole.number).Floor()}
		return Money{Amount: price, Currency: value.Currency}, nil
	}
	return Money{}, fmt.Errorf("%w: an item shows no price without tax", ErrBadResponse)
}

// isTaxed reports whether the cart may have tax, so that parts of its discounts are rounded.
func (c *Cart) isTaxed() bool {
	return !c.DisplayPrice.Tax.Amount.IsZero() || slices.ContainsFunc(c.Items, func(i CartItem) bool {
		return string(i.Value.Extra["includes_tax"]) == "true" || !i.shownPrices()["tax"].Value.Amount.IsZero()
	})
}

// checkCurrency returns an error if the prices and the custom discounts are not in one currency.
func (c *Cart) checkCurrency() error {
	p, one := &c.DisplayPrice, ""
	shown := []Money{p.WithTax, p.WithoutTax, p.Tax, p.Discount, p.WithoutDiscount, p.Shipping}
	for i := range c.Items {
		shown = append(shown, c.Items[i].Value)
	}
	for i := range c.CustomDiscounts {
		shown = append(shown, c.CustomDiscounts[i].Amount)
	}
	for _, m := range shown {
		if one = cmp.Or(one, m.Currency); m.Currency != "" && m.Currency != one {
			return fmt.Errorf("%w: the cart shows amounts in several currencies", ErrBadResponse)
		}
	}
	return nil
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

// promotionsOff returns what promotions of the store take off, and their number.
func (c *Cart) promotionsOff() (sum Decimal, n int, err error) {
	shown := c.Promotions()
	for _, p := range shown {
		if !p.Amount.Amount.isSet() {
			return sum, n, fmt.Errorf("%w: a promotion has no readable amount", ErrBadResponse)
		}
		sum = sum.Add(p.Amount.Amount)
	}
	return sum, len(shown), nil
}

// totalDiffers reports whether the total discount is not the sum of the discounts that c shows, as
// far as it shows them. Each of them may be rounded for each item, but not one that is for an item.
func (c *Cart) totalDiffers() bool {
	promotions, n, err := c.promotionsOff()
	custom, errCustom := sumOf(c.CustomDiscounts)
	for i := range c.CustomDiscounts {
		if c.CustomDiscounts[i].Item == nil {
			n++
		}
	}
	units := NewDecimal(int64(len(c.Items) * n))
	difference := c.DisplayPrice.Discount.Amount.Sub(promotions.Add(custom))
	return err == nil && errCustom == nil && c.DisplayPrice.Discount.Amount.isSet() &&
		lowest(difference, difference.Neg()).Add(units).IsNegative()
}

// Promotion is a promotion of the store, of either kind, that a [Cart] shows.
type Promotion struct {
	// ID is zero if the response does not show it.
	ID uuid.UUID
	// Name is that of the promotion, or its code.
	Name string
	// Amount is what the promotion takes off, less than 0; the zero value if that is not readable.
	Amount Money
}

// Promotions returns the promotions of the store that the cart shows, each once: discounts of items
// that are not in CustomDiscounts, items of the type promotion_item, and what the relationships of
// the cart and its items name. The service adds no custom discounts beside one.
func (c *Cart) Promotions() []Promotion {
	var list []Promotion
	for _, p := range c.shownPromotions() {
		list = append(list, p.Promotion)
	}
	return list
}

func (c *Cart) showsPromotions() bool { return len(c.shownPromotions()) > 0 }

// shownPromotion is a promotion, and how the cart shows it.
type shownPromotion struct {
	Promotion
	hasAmounts bool // Amount is the sum of amounts, or one of them is not readable
	isKnown    bool // it is a promotion also if the custom discounts are not known
}

// add adds what the promotion takes off an item.
func (p *shownPromotion) add(m Money) {
	if m.Amount.isSet() && (p.Amount.Amount.isSet() || !p.hasAmounts) {
		p.Amount = Money{Amount: m.Amount.Add(p.Amount.Amount), Currency: m.Currency}
	} else {
		p.Amount = Money{}
	}
	p.hasAmounts = true
}

// shownPromotions returns the promotions that the cart shows, and what may be one.
func (c *Cart) shownPromotions() (list []*shownPromotion) {
	byID := map[uuid.UUID]*shownPromotion{}
	find := func(id uuid.UUID) *shownPromotion {
		p := byID[id]
		if p == nil || id == uuid.Nil {
			p = &shownPromotion{Promotion: Promotion{ID: id}}
			byID[id], list = p, append(list, p)
		}
		return p
	}
	isCustom, extras := c.customIDs(), []Extra{c.Extra}
	for i := range c.Items {
		for _, d := range c.Items[i].promotions(isCustom) {
			p := find(d.ID)
			p.Name, p.isKnown = d.Code, p.isKnown || d.PromotionSource != "" || d.Extra["promotion_source"] != nil
			p.add(d.Amount)
		}
	}
	for _, item := range c.Items {
		if extras = append(extras, item.Extra); item.Type == promotionItem {
			id := item.ID
			_ = json.Unmarshal(item.Extra["promotion_id"], &id) // absent, or not for us
			p := find(id)
			if p.Name, p.isKnown = cmp.Or(item.Name, p.Name), true; !p.hasAmounts {
				p.add(item.Value)
			}
		}
	}
	for _, extra := range extras {
		relations, err := readRelations(extra)
		refs, errRefs := relations.Promotions.refs()
		if cmp.Or(err, errRefs) != nil {
			find(uuid.Nil)
		}
		for _, ref := range refs {
			find(ref.ID).isKnown = true
		}
	}
	return list
}

func (c *Cart) customIDs() map[uuid.UUID]bool {
	ids := map[uuid.UUID]bool{}
	for i := range c.CustomDiscounts {
		ids[c.CustomDiscounts[i].ID] = true
	}
	return ids
}

// shownDiscount is an entry of the discounts of an item.
type shownDiscount struct {
	ID              uuid.UUID `json:"id"`
	Code            string    `json:"code"`
	Amount          Money     `json:"amount"`
	PromotionSource string    `json:"promotion_source"`
	Extra           Extra     `json:",embed"`
}

// promotions returns the discounts that i shows and that are no custom ones. If they cannot be
// read, it returns one that says nothing.
func (i *CartItem) promotions(isCustom map[uuid.UUID]bool) (list []shownDiscount) {
	if raw := i.Extra["discounts"]; raw != nil && payloads.Unmarshal(raw, &list) != nil {
		return make([]shownDiscount, 1)
	}
	return slices.DeleteFunc(list, func(d shownDiscount) bool { return isCustom[d.ID] })
}

// contents returns what a cart costs, and why: items, price before discounts, and promotions.
func (c *Cart) contents() []string {
	price, _ := c.Subtotal()
	shown := []string{fmt.Sprint(price.Amount)}
	for _, p := range c.Promotions() {
		shown = append(shown, fmt.Sprint(p))
	}
	for _, i := range c.Items {
		shown = append(shown, fmt.Sprint(i.ID, i.Quantity, i.Value.Amount))
	}
	return shown
}
