package commercetest

import "github.com/google/uuid"

// currency is a currency of the store, which chooses the digits and the signs of its prices.
type currency struct {
	ID                uuid.UUID         `json:"id"`
	Type              string            `json:"type"`
	Code              string            `json:"code"`
	ExchangeRate      float64           `json:"exchange_rate"`
	Format            string            `json:"format"` // with {price}
	DecimalPoint      string            `json:"decimal_point"`
	ThousandSeparator string            `json:"thousand_separator"`
	DecimalPlaces     int               `json:"decimal_places"`
	Default           bool              `json:"default"`
	Enabled           bool              `json:"enabled"`
	Links             map[string]string `json:"links"`
	Meta              map[string]any    `json:"meta"`
}

// currencies are those of every store.
var currencies = []currency{
	{Code: "EUR", ExchangeRate: 0.92, Format: "{price} €", DecimalPoint: ",", ThousandSeparator: ".", DecimalPlaces: 2},
	{Code: "USD", ExchangeRate: 1, Format: "${price}", DecimalPoint: ".", ThousandSeparator: ",", DecimalPlaces: 2},
	{Code: "GBP", ExchangeRate: 0.79, Format: "£{price}", DecimalPoint: ".", ThousandSeparator: ",", DecimalPlaces: 2},
	{Code: "JPY", ExchangeRate: 150, Format: "¥{price}", DecimalPoint: ".", ThousandSeparator: ","},
	{Code: "KWD", ExchangeRate: 0.31, Format: "KD {price}", DecimalPoint: ".", ThousandSeparator: ",", DecimalPlaces: 3},
}

// listCurrencies handles GET /v2/currencies. It has no filter.
func (s *Store) listCurrencies(in *call) response {
	created := timestamp(seedStart)
	return listOf(s, in, nil, func([]condition) (all []any) {
		for i, c := range currencies {
			c.ID, c.Type, c.Default, c.Enabled = newID("currencies", i+1), "currency", c.Code == "USD", true
			c.Links = map[string]string{"self": "https://" + linkHost + in.Path + "/" + c.ID.String()}
			c.Meta = map[string]any{"owner": "store", "timestamps": timestamps{CreatedAt: created, UpdatedAt: created}}
			all = append(all, c)
		}
		return all
	})
}
