package commerce

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"
)

// priceLimit keeps the prices of a cart, and of its items, from falling below 0.
type priceLimit struct {
	lowered []NewCustomDiscount // as they were wanted
	isShort bool                // what stays takes more than the cart, or an item of it, costs
	misses  int                 // reads of the call that showed a total below 0 for no other reason
	gap     Decimal             // how much less than its members show the cart costs, by such a total
	isOver  bool                // the discounts take more than the cart, or an item of it, costs now
	isWrong bool                // a total below 0 was not the sum of what the read showed

	// left of the prices of the items, and of the cart by the zero id, when what was written since
	// the last read has taken effect.
	left map[uuid.UUID]Decimal
}

// mayTake reports whether no price is below 0 after a write to an item, or nil, that adds this
// amount.
func (p *priceLimit) mayTake(item *CartItemRef, amount Decimal) bool {
	isBelow := func(id uuid.UUID) bool {
		left, isKnown := p.left[id]
		return isKnown && left.Add(amount).IsNegative()
	}
	return !amount.IsNegative() || !isBelow(uuid.Nil) && (item == nil || !isBelow(item.ID))
}

// changed counts an update or a deletion that adds this amount to the price. One that takes less
// off counts only if it is confirmed.
func (p *priceLimit) changed(w *ensureWrite, amount Decimal) {
	if amount.IsNegative() || w.isDone() && !w.isChanged && !w.isGone {
		p.take(w.discount.Item, amount)
	}
}

// take counts a write to an item, or nil, that adds this amount.
func (p *priceLimit) take(item *CartItemRef, amount Decimal) {
	for id, left := range p.left {
		if id == uuid.Nil || item != nil && id == item.ID {
			p.left[id] = left.Add(amount)
		}
	}
}

// lower lowers the amounts of want, the last ones first, so that they and what stays take no more
// than each item costs, and than the cart costs. A discount that was lowered to nothing has the
// amount 0.
func (p *priceLimit) lower(c *cartRead, want []NewCustomDiscount, staying []CustomDiscount) error {
	p.lowered, p.isShort, p.left = nil, false, map[uuid.UUID]Decimal{} // the rest outlasts a read
	if c.isEmpty() {
		return nil
	}
	wanted := slices.Clone(want)
	if err := p.lowerForItems(c, want, staying); err != nil {
		return err
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

// lowerForItems lowers the discounts for each item, so that they and what stays take no more than
// it costs.
func (p *priceLimit) lowerForItems(c *cartRead, want []NewCustomDiscount, staying []CustomDiscount) error {
	isOwn := map[uuid.UUID]bool{}
	for _, d := range want {
		if d.Item != nil && !d.isNone() {
			isOwn[d.Item.ID] = true
		}
	}
	all, others, isCustom := byItem(c.CustomDiscounts), byItem(staying), c.customIDs()
	whole, part := c.withoutTax()
	for i := range c.Items {
		item, id := &c.Items[i], c.Items[i].ID
		price, err := item.price(whole, part)
		switch {
		case !isOwn[id] && (err != nil || all[id].IsZero()):
			continue
		case err != nil:
			return err
		}
		limit := price.Amount
		for _, d := range item.promotions(isCustom) {
			limit = limit.Add(d.Amount.Amount)
		}
		p.left[id] = limit.Add(all[id])
		limit = limit.Add(others[id])
		p.isShort = p.isShort || limit.IsNegative() && !price.Amount.IsNegative()
		cut(want, limit, func(d *NewCustomDiscount) bool { return d.Item != nil && d.Item.ID == id })
	}
	return nil
}

// byItem returns the sums of discounts by their items.
func byItem(discounts []CustomDiscount) map[uuid.UUID]Decimal {
	sums := map[uuid.UUID]Decimal{}
	for i := range discounts {
		if d := &discounts[i]; d.Item != nil {
			sums[d.Item.ID] = sums[d.Item.ID].Add(d.Amount.Amount)
		}
	}
	return sums
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
	net, errNet := c.net()
	if errNet == nil { // prices may include tax
		limit = lowest(limit, net.Amount)
	}
	custom, errCustom := sumOf(staying)
	all, errAll := sumOf(c.CustomDiscounts)
	promotions, n, errPromotions := c.promotionsOff()
	if n > 0 {
		errPromotions = cmp.Or(errPromotions, errNet)
	}
	if err := cmp.Or(errCustom, errAll, errPromotions); err != nil {
		return limit, err
	}
	limit = limit.Add(promotions)
	p.left[uuid.Nil] = limit.Add(all)
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
	limit = limit.Sub(p.gap)
	total, wasOver := c.DisplayPrice.goods(c.DisplayPrice.WithTax).Amount, p.isOver
	p.isOver = own.Cmp(limit) > 0 || slices.ContainsFunc(slices.Collect(maps.Values(p.left)), Decimal.IsNegative)
	switch {
	case !total.IsNegative() && !units.IsZero() && total.Cmp(units.Mul(NewDecimal(3))) <= 0:
		return lowest(limit, own) // more would be too much again
	case !total.IsNegative(), p.isOver && !wasOver: // that is why
		return limit
	case p.isOver: // it was not lowered
		p.misses++
	}
	if p.misses++; p.misses > 1 {
		return Decimal{}
	}
	lower := lowest(limit, own.Add(total).Sub(units))
	p.gap, p.isWrong = limit.Sub(lower), c.totalDiffers()
	return lower
}
