package commercetest_test

import (
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
			wantJSON(t, send(t, store, get(settingsPath)), 200, `{"data":{"type":"settings",`+tt.want+`}}`)
		})
	}
}
