package commercetest

import "net/http"

// getSettings handles GET /v2/settings. It sends only the settings that concern
// discounts and lists.
func (s *Store) getSettings(*call) response {
	type settings struct {
		Type                string            `json:"type"`
		PageLength          int               `json:"page_length"`
		PageOffsetLimit     int               `json:"page_offset_limit"`
		CustomDiscountLimit int               `json:"custom_discount_limit"`
		CalculationMethod   CalculationMethod `json:"calculation_method"`
	}
	return jsonResponse(http.StatusOK, struct {
		Data settings `json:"data"`
	}{settings{
		Type: "settings", PageLength: s.cfg.PageLength, PageOffsetLimit: maxPageOffset,
		CustomDiscountLimit: max(s.cfg.CartDiscountLimit, 0), CalculationMethod: s.cfg.CalculationMethod,
	}})
}
