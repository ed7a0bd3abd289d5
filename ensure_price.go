package commerce

import (
	"cmp"
	"slices"
)

// priceLimit keeps the prices of a cart, and of its items, from falling below 0.
type priceLimit struct {
	lowered []NewCustomDiscount // as they were wanted
	isShort bool                // what stays takes more than the cart, or an item of it, costs
	misses  int                 // reads of the call that showed a total below 0

	isSet bool
	left  Decimal // of the price, when what was written since the last read has taken effect
}

// mayTake reports whether the price is not below 0 after a write that adds this amount to it.
func (p *priceLimit) mayTake(amount Decimal) bool {
	return !p.isSet || !amount.IsNegative() || !p.left.Add(amount).IsNegative()
}

// changed counts an update or a deletion that adds this amount to the price. One that takes less
// off counts only if it is confirmed.
func (p *priceLimit) changed(w *ensureWrite, amount Decimal) {
	if amount.IsNegative() || w.isDone() && !w.isChanged && !w.isGone {
		p.take(amount)
	}
}

// take counts a write that adds this amount to the price.
func (p *priceLimit) take(amount Decimal) { p.left = p.left.Add(amount) }

// lower lowers the amounts of want, the last ones first, so that they and what stays take no more
// than each item costs, and than the cart costs. A discount that was lowered to nothing has the
// amount 0.
func (p *priceLimit) lower(c *cartRead, want []NewCustomDiscount, staying []CustomDiscount) error {
	*p = priceLimit{misses: p.misses} // nothing else outlasts a read
	if c.isEmpty() {
		return nil
	}
	wanted := slices.Clone(want)
	for i := range c.Items {
		if err := p.lowerFor(c, &c.Items[i], want, staying); err != nil {
			return err
		}
	}
	limit, err := p.of(c, staying)
	if err != nil {
		return err
	}
	if p.isShort {
		limit = Decimal{}
	}
	cut(want, limit, func(*NewCustomDiscount) bool { return true })
	for i := range slices.Backward(want) {
		if !want[i].Amount.Equal(wanted[i].Amount) {
			p.lowered = append(p.lowered, wanted[i].copyItem())
		}
	}
	return nil
}

// lowerFor lowers the discounts for an item, so that they and what stays take no more
// than it costs.
func (p *priceLimit) lowerFor(c *cartRead, item *CartItem, want []NewCustomDiscount, staying []CustomDiscount) error {
	isOwn := func(d *NewCustomDiscount) bool { return d.Item != nil && d.Item.ID == item.ID }
	isOther := func(d CustomDiscount) bool { return d.Item == nil || d.Item.ID != item.ID }
	isAny := slices.ContainsFunc(want, func(d NewCustomDiscount) bool { return isOwn(&d) && d.Amount.Sign() < 0 })
	others := slices.DeleteFunc(slices.Clone(staying), isOther)
	if !isAny && len(others) == 0 {
		return nil
	}
	price, err := c.PriceOf(item)
	off, errOff := sumOf(others)
	if err = cmp.Or(err, errOff); err != nil && isAny {
		return err
	} else if err != nil {
		return nil
	}
	for _, d := range c.promotionsOf(item) {
		off = off.Add(d.Amount.Amount)
	}
	limit := price.Amount.Add(off)
	p.isShort = p.isShort || limit.IsNegative()
	cut(want, limit, isOwn)
	return nil
}

// cut lowers those of want that are chosen, the last one first, so that they take no more than
// limit, in whole units.
func cut(want []NewCustomDiscount, limit Decimal, isChosen func(*NewCustomDiscount) bool) {
	limit = Decimal{limit.number.Floor()}
	for i := range want {
		if isChosen(&want[i]) {
			limit = limit.Add(want[i].Amount)
		}
	}
	for i := range slices.Backward(want) { // limit is below 0 by what is too much
		if d := &want[i]; isChosen(d) && limit.IsNegative() && d.Amount.Sign() < 0 {
			much := lowest(limit.Neg(), d.Amount.Neg())
			d.Amount, limit = d.Amount.Add(much), limit.Add(much)
		}
	}
}

// of returns what the wanted discounts may take in all.
func (p *priceLimit) of(c *cartRead, staying []CustomDiscount) (limit Decimal, err error) {
	subtotal, err := c.Subtotal()
	if err != nil {
		return limit, err
	}
	limit = subtotal.Amount
	if net, err := c.net(); err == nil { // prices may include tax
		limit = lowest(limit, net.Amount)
	}
	custom, errCustom := sumOf(staying)
	all, errAll := sumOf(c.CustomDiscounts)
	promotions, errPromotions := c.promotionsOff(all)
	if err := cmp.Or(errCustom, errAll, errPromotions); err != nil {
		return limit, err
	}
	limit = limit.Add(promotions)
	p.isSet, p.left = true, limit.Add(all)
	limit = limit.Add(custom)
	p.isShort = p.isShort || limit.IsNegative() && !subtotal.Amount.IsNegative()
	return p.held(c, limit, custom.Sub(all)), nil
}

// held returns the limit, or a lower one if the total shows that the cart costs less than is
// computed from its members. own is what the wanted discounts take now, 0 or more.
func (p *priceLimit) held(c *cartRead, limit, own Decimal) Decimal {
	units := Decimal{} // that rounding may take in all
	if c.isTaxed() {
		units = NewDecimal(int64(len(c.Items)))
	}
	total := c.DisplayPrice.WithTax
	switch {
	case !total.Amount.IsNegative() && !units.IsZero() && total.Amount.Cmp(units.Mul(NewDecimal(3))) <= 0:
		return lowest(limit, own) // more would be too much again
	case !total.Amount.IsNegative():
		return limit
	}
	if p.misses++; p.misses > 1 {
		return Decimal{}
	}
	return lowest(limit, own.Add(c.DisplayPrice.goods(total).Amount).Sub(units))
}
