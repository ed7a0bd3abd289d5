package commercetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/commerce-go/commerce/commercetest"
)

const (
	ruleCode     = `{"data":{"type":"promotion_item","code":"RULE"}}`
	standardCode = `{"data":{"type":"promotion_item","code":"OLD"}}`
)

// withCodes returns a store with a code of each kind, and an empty cart of it.
func withCodes(t *testing.T) (store *commercetest.Store, cart string) {
	t.Helper()
	store = commercetest.NewStore(commercetest.Config{
		PromotionCodes: []commercetest.PromotionCode{{Code: "RULE"}, {Code: "OLD", Standard: true}},
	})
	return store, "/v2/carts/" + decodeCart(t, send(t, store, post("/v2/carts", `{"data":{}}`)), 201).Data.ID
}

// shownPromotions returns the code, the amount and the source of each promotion of a cart, and its
// total discount.
func shownPromotions(t *testing.T, store *commercetest.Store, path string) (text string) {
	t.Helper()
	cart, err := store.Client().Carts.Get(t.Context(), strings.TrimPrefix(path, "/v2/carts/"))
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range cart.Items {
		if item.Type == "promotion_item" {
			source := item.Extra["promotion_source"]
			text += fmt.Sprintf("%s %v %s, ", item.SKU, item.Value.Amount, string(source))
		}
	}
	wantEqual(t, "promotions that the library finds", len(cart.Promotions()), strings.Count(text, ","))
	return text + cart.DisplayPrice.Discount.Amount.String()
}

// A code adds its promotion once. Codes of the Promotions Builder need a cart that uses rule
// promotions, as new carts of such a store do.
func TestPromotionCodes(t *testing.T) {
	t.Parallel()
	const (
		noRules  = `{"data":{"discount_settings":{"use_rule_promotions":false}}}`
		notFound = `{"errors":[{"status":404,"title":"Not Found",` +
			`"detail":"No promotion could be found with the given code.","meta":{"code":%q}}]}`
	)
	unknown := strings.Replace(ruleCode, "RULE", "NONE", 1)
	for _, tt := range []struct {
		name, settings string // of the cart; empty: those of the store
		codes          []string
		refusal        string // of the last one
		status         int    // of it
		want           string
	}{
		{name: "of the builder", codes: []string{ruleCode}, want: `RULE -1000 "rule-promotion", -1000`},
		{name: "of the older kind", codes: []string{standardCode}, want: "OLD -1000 , -1000"},
		{
			name: "both", codes: []string{standardCode, ruleCode},
			want: `OLD -1000 , RULE -1000 "rule-promotion", -2000`,
		},
		{name: "twice", codes: []string{standardCode, standardCode}, want: "OLD -1000 , -1000"},
		{
			name: "unknown", codes: []string{unknown}, status: 404, refusal: fmt.Sprintf(notFound, "NONE"), want: "0",
		},
		{
			name: "of the builder, without rule promotions", settings: noRules, codes: []string{ruleCode}, status: 404,
			refusal: fmt.Sprintf(notFound, "RULE"), want: "0",
		},
		{
			name: "of the older kind, without rule promotions", settings: noRules, codes: []string{standardCode},
			want: "OLD -1000 , -1000",
		},
		{
			name: "with custom discounts", settings: exchangeSettings, codes: []string{ruleCode}, status: 422, want: "0",
			refusal: `{"errors":[{"status":422,"title":"Could not apply EP promotion with the given code",` +
				`"detail":"The cart is configured to use custom discounts","meta":{"code":"RULE"}}]}`,
		},
		{
			name: "no code", codes: []string{`{"data":{"type":"promotion_item"}}`}, status: 400, want: "0",
			refusal: `{"errors":[{"status":400,"title":"Validation Error","detail":"data.code` + textRequired + `"}]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, cart := withCodes(t)
			send(t, store, post(cart+"/items", `{"data":{"type":"cart_item","id":"p","quantity":1}}`))
			if tt.settings != "" {
				wantEqual(t, "status of the settings", send(t, store, put(cart, tt.settings)).Status, 200)
			}
			var last wireResponse
			for _, code := range tt.codes {
				last = send(t, store, post(cart+"/items", code))
			}
			if tt.refusal != "" {
				wantJSON(t, last, tt.status, tt.refusal)
			} else {
				wantEqual(t, "status", last.Status, 201)
			}
			wantEqual(t, "promotions", shownPromotions(t, store, cart), tt.want)
		})
	}
}

// A promotion of a code is like each other: custom discounts end it, unless it is of the older
// kind, and are refused as long as the cart has it.
func TestPromotionCodes_discounts(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{ruleCode: 201, standardCode: 422} {
		store, cart := withCodes(t)
		wantEqual(t, "status of a code before the items", send(t, store, post(cart+"/items", code)).Status, 201)
		wantEqual(t, "promotions of an empty cart", shownPromotions(t, store, cart), "0")
		send(t, store, post(cart+"/items", `{"data":{"type":"cart_item","id":"p","quantity":3}}`))
		wantEqual(t, "status of enable", send(t, store, put(cart, enableDiscounts)).Status, 422)
		wantEqual(t, "status of exchange", send(t, store, put(cart, exchangeSettings)).Status, 200)
		add := strings.ReplaceAll(addRequest(onCartA), cartPath, cart)
		wantEqual(t, "status of an add with "+code, send(t, store, add).Status, want)
	}
}

// Without codes of the Promotions Builder, or with custom discounts, new carts do not use rules.
func TestPromotionCodes_settings(t *testing.T) {
	t.Parallel()
	old := []commercetest.PromotionCode{{Code: "OLD", Standard: true}}
	both := []commercetest.PromotionCode{old[0], {Code: "RULE"}}
	for _, tt := range []struct {
		name string
		cfg  commercetest.Config
		want [2]bool
	}{
		{name: "older ones", cfg: commercetest.Config{PromotionCodes: old}},
		{name: "rules", cfg: commercetest.Config{PromotionCodes: both}, want: [2]bool{false, true}},
		{
			name: "discounts", cfg: commercetest.Config{PromotionCodes: both, DiscountsEnabled: true},
			want: [2]bool{true, false},
		},
	} {
		store := commercetest.NewStore(tt.cfg)
		wantEqual(t, tt.name, settingsOf(t, send(t, store, post("/v2/carts", `{"data":{}}`))), tt.want)
	}
}
