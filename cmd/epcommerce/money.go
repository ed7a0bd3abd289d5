package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/commerce-go/commerce"
)

// readCurrencies returns the decimal places of the store's currencies, by code.
func readCurrencies(ctx context.Context, c *commerce.Client) (map[string]int32, error) {
	var list struct {
		Data []struct {
			Code   string
			Places *commerce.Decimal `json:"decimal_places"`
		}
	}
	query := url.Values{"page[limit]": {strconv.Itoa(commerce.MaxPageSize)}}
	if _, err := c.Do(ctx, http.MethodGet, []string{"v2", "currencies"}, query, nil, &list); err != nil {
		return nil, err
	}
	places := map[string]int32{}
	for _, currency := range list.Data {
		if currency.Places == nil {
			continue
		}
		if n, err := strconv.ParseUint(currency.Places.String(), 10, 8); err == nil && n < 10 {
			places[currency.Code] = int32(n)
		}
	}
	return places, nil
}

// placesOf returns the number of decimal places of a currency.
func (s *shop) placesOf(ctx context.Context, code string) (int32, error) {
	if s.places == nil && s.errPlaces == nil { // once, also if it fails
		s.places, s.errPlaces = readCurrencies(ctx, s.Client)
	}
	n, ok := s.places[code]
	if s.errPlaces == nil && !ok {
		return 0, errors.New("the store does not say")
	}
	return n, s.errPlaces
}

// money returns an amount as the store shows it, otherwise in its currency; "-" if it is absent.
func (s *shop) money(ctx context.Context, m commerce.Money) string {
	if m.Formatted == "" && m.Currency == "" && m.Amount.IsZero() {
		return "-"
	}
	if m.Formatted == "" && m.Currency != "" {
		if places, err := s.placesOf(ctx, m.Currency); err == nil {
			amount := m.Amount.Shift(-places)
			if m.Formatted = amount.String(); amount.Round(places).Equal(amount) {
				m.Formatted = amount.StringFixed(places)
			}
			m.Formatted += " " + m.Currency
		}
	}
	return plain(m.String()) // else it is said to be in the smallest unit
}

// currencyOf returns the currency of a cart; "" if it is empty.
func currencyOf(cart *commerce.Cart) string {
	if cart == nil {
		return ""
	}
	return cmp.Or(cart.DisplayPrice.WithTax.Currency, cart.DisplayPrice.WithoutTax.Currency)
}

// amountOf returns the amount of a discount for a table. If it names no currency, it has that of
// the cart.
func (s *shop) amountOf(ctx context.Context, cart *commerce.Cart, d commerce.CustomDiscount) string {
	if s.output != "table" {
		return ""
	}
	if !d.Amount.Amount.IsZero() {
		d.Amount.Currency = cmp.Or(d.Amount.Currency, currencyOf(cart))
	}
	return s.money(ctx, d.Amount)
}

var amountForm = regexp.MustCompile(`^(-?\d+(\.\d+)?)([A-Za-z]{3})?$`)

// parseAmount returns the value of --amount in the smallest unit of the cart's currency. With a
// point it is in the currency itself.
func (s *shop) parseAmount(ctx context.Context, text string, cart *commerce.Cart) (commerce.Decimal, error) {
	parts := amountForm.FindStringSubmatch(text)
	if parts == nil {
		return commerce.Decimal{}, usagef("--amount must be like -500, -5.00 (with a point) or -5.00USD, not %q", text)
	}
	amount, err := commerce.ParseDecimal(parts[1])
	point, code := parts[2], strings.ToUpper(parts[3])
	if err != nil || point == "" && code == "" {
		return amount, err
	}
	currency := currencyOf(cart)
	switch {
	case currency == "":
		return amount, usagef("--amount %s: the cart shows no currency: use the smallest unit, such as -500", text)
	case code != "" && code != currency:
		return amount, usagef("--amount %s: the cart is in %s", text, currency)
	}
	places, err := s.placesOf(ctx, currency)
	switch {
	case err != nil:
		return amount, usagef("--amount %s: the decimal places of %s can't be read: %s\n"+
			"  to do: use the smallest unit, such as -500", text, currency, s.describe(err))
	case max(len(point)-1, 0) != int(places): // -500.0 may be meant to be 5.00
		return amount, usagef("--amount %s: %s has %d decimal places", text, currency, places)
	}
	return amount.Shift(places), nil
}
