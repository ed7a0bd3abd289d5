package commerce

import (
	"context"
	"errors"
	"net/http"

	"github.com/commerce-go/commerce/internal/wire"
)

// Settings are the settings of a store.
type Settings struct {
	// CustomDiscountLimit is the maximum number of custom discounts on a cart, and on each
	// of its items. It is 5 if the store does not report it.
	CustomDiscountLimit int `json:"custom_discount_limit"`
	// CalculationMethod of prices, "line" or "simple". With "simple", the store takes no custom
	// discounts. It is empty if the store does not report it.
	CalculationMethod string `json:"calculation_method"`
	// PageLength is the number of records on a page of [SubscriptionService.List] without a
	// PageSize. It is 0 if the store does not say.
	PageLength int `json:"page_length"`
	// PageOffsetLimit is the highest page[offset] of the store's lists. It is 0 if the store does
	// not say. Lists may have a limit of their own: see [MaxOffset].
	PageOffsetLimit int   `json:"page_offset_limit"`
	Extra           Extra `json:",embed"`
}

// plainSettings are [Settings] without their methods.
type plainSettings Settings

// MarshalJSON encodes s like the service.
func (s Settings) MarshalJSON() ([]byte, error) { return payloads.Marshal((*plainSettings)(&s)) }

// UnmarshalJSON decodes settings of the service.
func (s *Settings) UnmarshalJSON(b []byte) error { return decodeRecord(b, (*plainSettings)(s)) }

// Settings reads the settings of the store:
// https://developer.elasticpath.com/docs/api/settings/get-v-2-settings
//
// The error is an [*Error]. It matches [ErrBadResponse] if CustomDiscountLimit or PageOffsetLimit
// is not an integer.
func (c *Client) Settings(ctx context.Context) (*Settings, error) {
	o := operation[*Settings]{
		op: "Client.Settings", method: http.MethodGet, path: "/v2/settings", accept: readSettings, decides: true,
	}
	settings, _, err := o.do(ctx, c.core)
	return settings, err
}

func readSettings(b []byte) (*Settings, error) {
	var body struct {
		Data  *Settings `json:"data"`
		Extra Extra     `json:",embed"`
	}
	if err := payloads.Unmarshal(b, &body); err != nil {
		return nil, err
	}
	if body.Data == nil {
		return nil, errors.New("data is missing, or not an object")
	}
	for _, name := range []string{"custom_discount_limit", "page_offset_limit"} {
		if body.Data.Extra[name] != nil {
			return nil, errors.New(name + " is not an integer")
		}
	}
	limit := wire.ReadObject(wire.ReadObject(b).Peek("data")).Peek("custom_discount_limit")
	if body.Data.CustomDiscountLimit == 0 && string(limit) != "0" {
		body.Data.CustomDiscountLimit = 5 // the store does not report it
	}
	return body.Data, checkErrors(body.Extra)
}
