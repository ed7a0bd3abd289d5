package commercetest_test

import (
	"fmt"
	"testing"

	"github.com/commerce-go/commerce/commercetest"
)

func TestGetSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  commercetest.Config
		want string
	}{
		{name: "defaults", want: `"page_length":25,"custom_discount_limit":5`},
		{
			name: "set", cfg: commercetest.Config{PageLength: 100, CartDiscountLimit: 8},
			want: `"page_length":100,"custom_discount_limit":8`,
		},
		{
			name: "discounts not enabled", cfg: commercetest.Config{CartDiscountLimit: -1},
			want: `"page_length":25,"custom_discount_limit":0`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := commercetest.NewStore(tt.cfg)
			wantJSON(t, send(t, store, get(settingsPath)), 200,
				`{"data":{"type":"settings","page_offset_limit":10000,"calculation_method":"line",`+tt.want+`}}`)
		})
	}
}

func TestGetCartSettings(t *testing.T) {
	t.Parallel()
	eachSender(t, func(t *testing.T, send sendFunc) {
		store := commercetest.NewStore(commercetest.Config{})
		for _, enabled := range []bool{false, true, false} {
			body := fmt.Sprintf(`{"data":{"type":"settings","discounts":{"custom_discounts_enabled":%t}}}`, enabled)
			want := cartSettings(7, fmt.Sprintf(`{"custom_discounts_enabled":%t,"use_rule_promotions":false}`, enabled), false)
			wantJSON(t, send(store, put("/v2/settings/cart", body)), 200, want)
			wantJSON(t, send(store, get("/v2/settings/cart")), 200, want)
		}
	})
}
