package commerce

import (
	"context"
	"errors"
)

// Settings are the settings of a store.
type Settings struct {
	// CustomDiscountLimit is the maximum number of custom discounts on a cart, and on each
	// of its items. It is 5 if the store does not report it as a JSON integer: see Extra.
	CustomDiscountLimit int
	// CalculationMethod of prices, "line" or "simple". With "simple", the store takes no custom
	// discounts. It is empty if the store does not report it.
	CalculationMethod string
	// PageLength is the number of records on a page of [SubscriptionService.List] without a
	// PageSize. It is 0 if the store does not say.
	PageLength int
	// PageOffsetLimit is the highest page[offset] of the store's lists. It is 0 if the store does
	// not say. Lists may have a limit of their own: see [MaxOffset].
	PageOffsetLimit int
	Extra           Extra
}

// Settings reads the settings of the store:
// https://developer.elasticpath.com/docs/api/settings/get-v-2-settings
//
// The error is an [*Error].
func (c *Client) Settings(ctx context.Context) (*Settings, error) {
	var settings *Settings
	_, err := c.core.read(ctx, "Client.Settings", c.core.address("/v2/settings", ""), func(b []byte) (err error) {
		settings, err = readSettings(b)
		return err
	})
	if err != nil {
		return nil, err
	}
	return settings, nil
}

func readSettings(b []byte) (*Settings, error) {
	var body struct {
		Data *struct {
			CustomDiscountLimit *int   `json:"custom_discount_limit"`
			CalculationMethod   string `json:"calculation_method"`
			PageLength          int    `json:"page_length"`
			PageOffsetLimit     int    `json:"page_offset_limit"`
			Extra               Extra  `json:",embed"`
		} `json:"data"`
		Extra Extra `json:",embed"`
	}
	if err := payloads.Unmarshal(b, &body); err != nil {
		return nil, err
	}
	if body.Data == nil {
		return nil, errors.New("data is missing, or not an object")
	}
	settings := &Settings{
		CustomDiscountLimit: 5, CalculationMethod: body.Data.CalculationMethod,
		PageLength: body.Data.PageLength, PageOffsetLimit: body.Data.PageOffsetLimit, Extra: body.Data.Extra,
	}
	if limit := body.Data.CustomDiscountLimit; limit != nil { // it may be 0
		settings.CustomDiscountLimit = *limit
	}
	return settings, checkErrors(body.Extra)
}
