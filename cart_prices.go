package commerce

import "fmt"

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
