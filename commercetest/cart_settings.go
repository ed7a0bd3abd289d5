package commercetest

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/google/uuid"
)

// cartSettings are the settings for new carts. The store has no stock and no locations, and nobody
// lists its carts: of these settings, it keeps only the values.
type cartSettings struct {
	Type           string         `json:"type"`
	ID             uuid.UUID      `json:"id"`
	CartExpiryDays int            `json:"cart_expiry_days"`
	Discounts      storeDiscounts `json:"discounts"`
	Inventories    struct {
		DeferInventoryCheck bool `json:"defer_inventory_check"`
	} `json:"inventories"`
	Items struct {
		SeparateItemsByLocation bool `json:"separate_items_by_location"`
	} `json:"items"`
	ShowAllCarts bool `json:"show_all_carts"`
}

// storeDiscounts are discountSettings as the settings for new carts show them.
type storeDiscounts struct {
	CustomDiscountsEnabled bool `json:"custom_discounts_enabled"`
	UseRulePromotions      bool `json:"use_rule_promotions"`
}

// newCartSettings returns the settings at first.
func newCartSettings(cfg *Config) cartSettings {
	enabled := cfg.DiscountsEnabled && cfg.CartDiscountLimit >= 0
	return cartSettings{
		Type: "settings", ID: newID("cart-settings", 1), CartExpiryDays: defaultCartDays, ShowAllCarts: true,
		Discounts: storeDiscounts{CustomDiscountsEnabled: enabled, UseRulePromotions: !enabled && cfg.usesBuilder()},
	}
}

// cartSettingsChange holds those settings that a request sets. nil and 0: not set.
type cartSettingsChange struct {
	days                                 int
	discounts                            settingsChange
	deferCheck, separateItems, showCarts *bool
}

func (v *validator) cartSettings(o members) (change cartSettingsChange) {
	v.resourceType("data.type", o["type"], "settings")
	change.days = v.expiryDays(o["cart_expiry_days"])
	change.discounts = v.discountSettings("data.discounts", o["discounts"])
	change.deferCheck = v.booleanIn(o, "inventories", "defer_inventory_check")
	change.separateItems = v.booleanIn(o, "items", "separate_items_by_location")
	change.showCarts = v.boolean("data.show_all_carts", o["show_all_carts"])
	return change
}

// booleanIn reads a boolean in an object of data. It returns nil if either is absent.
func (v *validator) booleanIn(data members, name, member string) *bool {
	if data[name] == nil {
		return nil
	}
	o, _ := v.object("data."+name, data[name])
	return v.boolean("data."+name+"."+member, o[member])
}

// expiryDays reads after how many days new carts expire. It returns 0 if raw is absent.
func (v *validator) expiryDays(raw json.RawMessage) (n int) {
	if raw != nil && (json.Unmarshal(raw, &n) != nil || n < 1 || n > 365) {
		v.addProblem("data.cart_expiry_days", "must be a whole number from 1 to 365")
	}
	return n
}

// apply changes settings. It returns why the result is refused, or nil.
func (change cartSettingsChange) apply(settings *cartSettings) *errorObject {
	settings.CartExpiryDays = cmp.Or(change.days, settings.CartExpiryDays)
	set(&settings.Inventories.DeferInventoryCheck, change.deferCheck)
	set(&settings.Items.SeparateItemsByLocation, change.separateItems)
	set(&settings.ShowAllCarts, change.showCarts)
	return change.discounts.apply((*discountSettings)(&settings.Discounts))
}

// set changes a setting to a value, unless that is nil.
func set(setting, value *bool) {
	if value != nil {
		*setting = *value
	}
}

// updateCartSettings handles PUT /v2/settings/cart. The settings are for new carts. A refusal is
// that of updateCart.
func (s *Store) updateCartSettings(in *call) response {
	var change cartSettingsChange
	refusal := s.readBody(in, func(v *validator, root members) {
		if o, ok := v.object("data", root["data"]); ok {
			change = v.cartSettings(o)
		}
	})
	if refusal != nil {
		return *refusal
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.newCarts
	if refusal := change.apply(&changed); refusal != nil {
		return jsonResponse(http.StatusUnprocessableEntity, refusal)
	}
	s.newCarts = changed
	return jsonResponse(http.StatusOK, cartBody{Data: changed})
}

// getCartSettings handles GET /v2/settings/cart.
func (s *Store) getCartSettings(*call) response {
	s.mu.Lock()
	defer s.mu.Unlock()
	return jsonResponse(http.StatusOK, cartBody{Data: s.newCarts})
}
