package commercetest

import (
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

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

// totals are what a cart costs, in the smallest unit of its currency.
type totals struct{ prices, discounts, withoutTax, tax decimal.Decimal }

// line is an item in the computation of totals.
type line struct{ gross, net, off, rate decimal.Decimal } // gross is net if prices have no tax

// totals computes what c costs.
func (c *cart) totals(cfg *Config) (t totals) {
	off := map[uuid.UUID]decimal.Decimal{} // by item; that of the cart has no id
	for _, d := range c.discounts {
		id := target(d).ID
		off[id] = off[id].Add(d.Amount.Amount.Decimal)
	}
	var lines []line
	for _, item := range c.items {
		l := line{gross: item.value().Decimal, rate: item.taxRate(cfg)}
		l.net, l.off = l.gross, c.promotion(item).Add(off[item.ref.ID])
		switch quantity := decimal.NewFromInt(item.quantity); {
		case cfg.CalculationMethod == SimpleCalculation:
			net, tax := item.netOfPiece(cfg)
			l.net, t.tax = net.Mul(quantity), t.tax.Add(tax.Mul(quantity))
		case cfg.PricesIncludeTax:
			l.net = withoutTax(l.gross, l.rate)
		}
		t.prices, t.withoutTax, t.discounts = t.prices.Add(l.gross), t.withoutTax.Add(l.net), t.discounts.Add(l.off)
		lines = append(lines, l)
	}
	if cfg.CalculationMethod == LineCalculation {
		t.tax = lineTaxes(lines, t.withoutTax, off[uuid.Nil])
	}
	t.discounts = t.discounts.Add(off[uuid.Nil])
	t.withoutTax = t.withoutTax.Add(t.discounts)
	if cfg.TotalsNotBelowZero && t.withoutTax.Add(t.tax).IsNegative() {
		t.withoutTax, t.tax = decimal.Zero, decimal.Zero
	}
	return t
}

// lineTaxes returns the taxes of lines after all discounts. off is that of the cart: each line gets
// its part, rounded, and the last one the rest. net is the sum of the lines.
func lineTaxes(lines []line, net, off decimal.Decimal) (tax decimal.Decimal) {
	rest := off
	for i, l := range lines {
		part := rest
		if i < len(lines)-1 && !net.IsZero() {
			part = off.Mul(l.net).DivRound(net, 0)
		}
		rest = rest.Sub(part)
		if off := l.off.Add(part); off.IsZero() && !l.gross.Equal(l.net) {
			tax = tax.Add(l.gross.Sub(l.net)) // what the price includes
		} else {
			tax = tax.Add(l.net.Add(off).Mul(l.rate).Round(0))
		}
	}
	return tax
}

// netOfPiece returns the price of a piece without tax, and its tax, by the method simple.
func (i cartItem) netOfPiece(cfg *Config) (net, tax decimal.Decimal) {
	price, rate := i.price.Decimal, i.taxRate(cfg)
	if cfg.PricesIncludeTax {
		net = withoutTax(price, rate)
		return net, price.Sub(net)
	}
	return price, price.Mul(rate).Truncate(0)
}

// withoutTax returns what is left of a price that includes tax.
func withoutTax(price, rate decimal.Decimal) decimal.Decimal {
	return price.DivRound(rate.Add(decimal.NewFromInt(1)), 0)
}

// taxRate returns the tax on an item, as a part of its price.
func (i cartItem) taxRate(cfg *Config) decimal.Decimal {
	percent := cfg.TaxPercent
	if i.taxPercent != nil {
		percent = *i.taxPercent
	}
	return decimal.NewFromFloat(percent).Shift(-2)
}

// displayPrice returns what c costs, as responses show it. An empty cart has no currency.
func (c *cart) displayPrice(cfg *Config) *displayPrice {
	display := func(amount decimal.Decimal) money {
		d := commerce.Decimal{Decimal: amount}
		if len(c.items) == 0 {
			return money{Amount: d, Formatted: d.String()}
		}
		m := c.currency.money(d)
		return money{Amount: d, Currency: m.Currency, Formatted: m.Formatted}
	}
	t := c.totals(cfg)
	price := &displayPrice{
		WithTax: display(t.withoutTax.Add(t.tax)), WithoutTax: display(t.withoutTax), Tax: display(t.tax),
	}
	if !cfg.BarePrices {
		price.Discount, price.WithoutDiscount = new(display(t.discounts)), new(display(t.prices))
	}
	return price
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
	return commerce.Decimal{Decimal: i.price.Mul(commerce.NewDecimal(i.quantity).Decimal)}
}

// promotion returns what the promotion of a cart takes off an item: a tenth.
func (c *cart) promotion(item cartItem) commerce.Decimal {
	if !c.hasPromotion {
		return commerce.Decimal{}
	}
	return commerce.Decimal{Decimal: item.value().Shift(-1).Truncate(0).Neg()}
}

func sum(a, b commerce.Decimal) commerce.Decimal {
	return commerce.Decimal{Decimal: a.Add(b.Decimal)}
}
