package commercetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// Currency is a currency of a store, which chooses the digits and the signs of its prices.
type Currency struct {
	Code string `json:"code"` // three capital letters
	// DecimalPlaces is the number of digits after the point: 2 if the amounts are in cents.
	DecimalPlaces int32 `json:"decimal_places"`
	// Format of a price, with {price}. Default: "{price} " and the code.
	Format            string `json:"format"`
	DecimalPoint      string `json:"decimal_point"`      // default: "."
	ThousandSeparator string `json:"thousand_separator"` // default: ","
	// ExchangeRate is shown to clients only: the store converts no prices. Default: 1.
	ExchangeRate float64 `json:"exchange_rate"`
}

func defaultCurrencies() []Currency {
	return []Currency{
		{Code: "EUR", ExchangeRate: 0.92, Format: "{price} €", DecimalPoint: ",", ThousandSeparator: ".", DecimalPlaces: 2},
		{Code: "USD", Format: "${price}", DecimalPlaces: 2},
		{Code: "GBP", ExchangeRate: 0.79, Format: "£{price}", DecimalPlaces: 2},
		{Code: "JPY", ExchangeRate: 150, Format: "¥{price}"},
		{Code: "KWD", ExchangeRate: 0.31, Format: "KD {price}", DecimalPlaces: 3},
	}
}

func (c Currency) withDefaults() Currency {
	c.Format = cmp.Or(c.Format, "{price} "+c.Code)
	c.DecimalPoint, c.ThousandSeparator = cmp.Or(c.DecimalPoint, "."), cmp.Or(c.ThousandSeparator, ",")
	c.ExchangeRate = cmp.Or(c.ExchangeRate, 1)
	return c
}

// currencyProblem returns why a store cannot have these currencies, or "".
func currencyProblem(list []Currency) string {
	codes := map[string]bool{}
	for _, c := range list {
		switch {
		case !currencyCode.MatchString(c.Code) || codes[c.Code]:
			return "Currencies must have codes of three capital letters, each once"
		case c.DecimalPlaces < 0 || c.DecimalPlaces > 9:
			return "Currencies must have 0 to 9 decimal places"
		case c.Format != "" && !strings.Contains(c.Format, "{price}"):
			return "Currencies must have {price} in their formats"
		}
		codes[c.Code] = true
	}
	return ""
}

// money returns an amount, in the smallest unit, as the service sends it.
func (c Currency) money(amount commerce.Decimal) commerce.Money {
	sign, shown := "", amount.Shift(-c.DecimalPlaces).Round(c.DecimalPlaces)
	if shown.IsNegative() {
		sign, shown = "-", shown.Neg()
	}
	whole, fraction, _ := strings.Cut(shown.StringFixed(c.DecimalPlaces), ".")
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + c.ThousandSeparator + whole[at:]
	}
	if fraction != "" {
		whole += c.DecimalPoint + fraction
	}
	return commerce.Money{
		Amount: amount, Currency: c.Code, Formatted: sign + strings.Replace(c.Format, "{price}", whole, 1),
	}
}

// currency returns a currency of the store by its code. Without one it is the default: USD, or the
// first if there is no USD.
func (c *Config) currency(code string) (Currency, error) {
	isMeant := func(has Currency) bool { return has.Code == cmp.Or(code, "USD") }
	i := slices.IndexFunc(c.Currencies, isMeant)
	if i < 0 && code != "" {
		return Currency{}, fmt.Errorf("currency %q is none of the store", code)
	}
	return c.Currencies[max(i, 0)], nil
}

// currencyData is a currency as responses show it.
type currencyData struct {
	Currency

	ID      uuid.UUID         `json:"id"`
	Type    string            `json:"type"`
	Default bool              `json:"default"`
	Enabled bool              `json:"enabled"`
	Links   map[string]string `json:"links"`
	Meta    map[string]any    `json:"meta"`
}

// listCurrencies handles GET /v2/currencies. It has no filter.
func (s *Store) listCurrencies(in *call) response {
	created := timestamp(seedStart)
	usual, _ := s.cfg.currency("") // there is one
	return listOf(s, in, nil, func([]condition) (all []any) {
		for i, c := range s.cfg.Currencies {
			id := newID("currencies", i+1)
			all = append(all, currencyData{
				Currency: c, ID: id, Type: "currency", Default: c.Code == usual.Code, Enabled: true,
				Links: map[string]string{"self": "https://" + linkHost + in.Path + "/" + id.String()},
				Meta:  map[string]any{"owner": "store", "timestamps": timestamps{CreatedAt: created, UpdatedAt: created}},
			})
		}
		return all
	})
}
