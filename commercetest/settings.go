package commercetest

import "net/http"

// getSettings handles GET /v2/settings. It sends only the settings that concern
// discounts and lists.
func (s *Store) getSettings(*call) response {
	type settings struct {
		Type                string `json:"type"`
		PageLength          int    `json:"page_length"`
		CustomDiscountLimit int    `json:"custom_discount_limit"`
	}
	return jsonResponse(http.StatusOK, struct {
		Data settings `json:"data"`
	}{settings{Type: "settings", PageLength: s.cfg.PageLength, CustomDiscountLimit: max(s.cfg.CartDiscountLimit, 0)}})
}
