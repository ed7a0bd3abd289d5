package commercetest

import (
	"math/big"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// CalculationMethod is how a store computes the totals of its carts.
type CalculationMethod uint8

const (
	// LineCalculation spreads the discounts of a cart over its items in proportion to their values
	// before tax. The tax of an item is computed after that, and rounded once.
	LineCalculation CalculationMethod = iota
	// SimpleCalculation cuts the tax of each piece to whole units, and takes the discounts off
	// after tax. Such a store takes no custom discounts.
	SimpleCalculation
)

var calculationNames = []string{"line", "simple"}

// MarshalText returns "line" or "simple".
func (m CalculationMethod) MarshalText() ([]byte, error) { return textOf(m, calculationNames) }

// UnmarshalText reads what [CalculationMethod.MarshalText] returns.
func (m *CalculationMethod) UnmarshalText(text []byte) error {
	return readName(m, text, calculationNames)
}

// totals are what a cart costs, in the smallest unit of its currency. Shipping is in prices and in
// withoutTax too.
type totals struct {
	prices, discounts, withoutTax, tax, shipping commerce.Decimal
	lines                                        []line // one for each item
}

// line is an item in the computation of totals. gross is net if prices have no tax.
type line struct{ gross, net, off, rate, tax commerce.Decimal }

// totals computes what c costs.
func (c *cart) totals(cfg *Config) (t totals) {
	off := map[uuid.UUID]commerce.Decimal{} // by item; that of the cart has no id
	for _, d := range c.discounts {
		id := target(d).ID
		off[id] = off[id].Add(d.Amount.Amount)
	}
	for _, item := range c.items {
		own, quantity := off[item.ref.ID], commerce.NewDecimal(item.quantity)
		if cfg.AmountPerPiece {
			own = own.Mul(quantity)
		}
		l := line{gross: item.value(), rate: item.taxRate(cfg)}
		l.net, l.off = l.gross, c.promotionsOf(item).Add(own)
		switch {
		case cfg.CalculationMethod == SimpleCalculation:
			net, tax := item.netOfPiece(cfg)
			l.net, l.tax = net.Mul(quantity), tax.Mul(quantity)
		case cfg.PricesIncludeTax:
			l.net = withoutTax(l.gross, l.rate)
		}
		t.prices, t.withoutTax, t.discounts = t.prices.Add(l.gross), t.withoutTax.Add(l.net), t.discounts.Add(l.off)
		t.lines = append(t.lines, l)
	}
	if cfg.CalculationMethod == LineCalculation {
		spread(t.lines, t.withoutTax, off[uuid.Nil])
	}
	for _, l := range t.lines {
		t.tax = t.tax.Add(l.tax)
	}
	t.discounts = t.discounts.Add(off[uuid.Nil])
	t.withoutTax = t.withoutTax.Add(t.discounts)
	if cfg.TotalsNotBelowZero && t.withoutTax.Add(t.tax).IsNegative() {
		t.withoutTax, t.tax = commerce.Decimal{}, commerce.Decimal{}
	}
	if len(c.items) > 0 {
		t.shipping = commerce.NewDecimal(cfg.Shipping)
	}
	t.prices, t.withoutTax = t.prices.Add(t.shipping), t.withoutTax.Add(t.shipping)
	return t
}

// spread takes what a cart gets off from its lines: each gets its part, rounded, and the last one
// the rest. Then it computes the taxes of the lines. net is the sum of the lines before.
func spread(lines []line, net, off commerce.Decimal) {
	rest := off
	for i := range lines {
		l, part := &lines[i], rest
		if i < len(lines)-1 && !net.IsZero() {
			part = quotient(off.Mul(l.net), net)
		}
		rest = rest.Sub(part)
		if l.off = l.off.Add(part); l.off.IsZero() && !l.gross.Equal(l.net) {
			l.tax = l.gross.Sub(l.net) // what the price includes
		} else {
			l.tax = l.net.Add(l.off).Mul(l.rate).Round(0)
		}
	}
}

// netOfPiece returns the price of a piece without tax, and its tax, by the method simple.
func (i cartItem) netOfPiece(cfg *Config) (net, tax commerce.Decimal) {
	price, rate := i.price, i.taxRate(cfg)
	if cfg.PricesIncludeTax {
		net = withoutTax(price, rate)
		return net, price.Sub(net)
	}
	return price, truncate(price.Mul(rate))
}

// withoutTax returns what is left of a price that includes tax.
func withoutTax(price, rate commerce.Decimal) commerce.Decimal {
	return quotient(price, rate.Add(commerce.NewDecimal(1)))
}

// taxRate returns the tax on an item, as a part of its price.
func (i cartItem) taxRate(cfg *Config) commerce.Decimal {
	percent := cfg.TaxPercent
	if i.taxPercent != nil {
		percent = *i.taxPercent
	}
	d, _ := commerce.ParseDecimal(strconv.FormatFloat(percent, 'g', -1, 64))
	return d.Shift(-2)
}

// displayPrice returns what c costs, as responses show it. An empty cart has no currency.
func (c *cart) displayPrice(cfg *Config) *displayPrice {
	display := c.money
	if len(c.items) == 0 {
		display = withoutCurrency
	}
	t := c.totals(cfg)
	price := &displayPrice{
		WithTax: display(t.withoutTax.Add(t.tax)), WithoutTax: display(t.withoutTax), Tax: display(t.tax),
	}
	if !cfg.BarePrices {
		price.Discount, price.WithoutDiscount = new(display(t.discounts)), new(display(t.prices))
	}
	if !t.shipping.IsZero() {
		price.Shipping = new(display(t.shipping))
	}
	return price
}

func (c *cart) money(d commerce.Decimal) money {
	m := c.currency.money(d)
	return money{Amount: d, Currency: m.Currency, Formatted: m.Formatted}
}

func withoutCurrency(d commerce.Decimal) money { return money{Amount: d, Formatted: d.String()} }

// itemDisplayPrice returns what so many pieces of an item cost, as responses show it. The price of
// one is that of all, divided and rounded half away from zero: how the service rounds is not
// documented.
func (c *cart) itemDisplayPrice(l line, quantity int64) *itemDisplayPrice {
	display := func(value commerce.Decimal) itemMoney {
		unit := value
		if quantity != 1 {
			unit = quotient(value, commerce.NewDecimal(quantity))
		}
		return itemMoney{Unit: c.money(unit), Value: c.money(value)}
	}
	net := l.net.Add(l.off)
	return &itemDisplayPrice{
		WithTax: display(net.Add(l.tax)), WithoutTax: display(net), Tax: display(l.tax),
		Discount: display(l.off), WithoutDiscount: display(l.gross),
	}
}

// shownPrice is displayPrice, or that of before the last change, for as long as the totals lag.
func (c *cart) shownPrice(cfg *Config) *displayPrice {
	if c.priceBefore != nil && time.Since(c.updatedAt) < cfg.TotalsLag {
		return c.priceBefore
	}
	return c.displayPrice(cfg)
}

// value is the price of all pieces.
func (i cartItem) value() commerce.Decimal {
	return i.price.Mul(commerce.NewDecimal(i.quantity))
}

// quotient returns a / b, rounded half away from zero to a whole number.
func quotient(a, b commerce.Decimal) commerce.Decimal {
	x, _ := new(big.Rat).SetString(a.String())
	y, _ := new(big.Rat).SetString(b.String())
	d, _ := commerce.ParseDecimal(x.Quo(x, y).FloatString(0))
	return d
}

// truncate returns d without what is after its point.
func truncate(d commerce.Decimal) commerce.Decimal {
	half := commerce.NewDecimal(int64(5 * d.Sign())).Shift(-1)
	return d.Sub(half).Round(0)
}
