package commercetest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/commerce-go/commerce/commercetest"
)

func TestNewStore_config(t *testing.T) {
	t.Parallel()
	defaults := commercetest.Config{
		ClientID: commercetest.DefaultClientID, ClientSecret: commercetest.DefaultClientSecret,
		Token: commercetest.DefaultToken, TokenLife: time.Hour,
		PageLength: 25, MaxPage: 100, AddStatus: 201, CartDiscountLimit: 5, ItemDiscountLimit: 5,
	}
	usual := commercetest.NewStore(commercetest.Config{}).Config().Currencies // TestListCurrencies shows them
	defaults.Currencies = usual
	rateLimited := defaults
	rateLimited.RateLimit, rateLimited.RateBurst = 9, 9
	set := commercetest.Config{
		Generation: commercetest.SecondGeneration,
		ClientID:   "a", ClientSecret: "b", Token: "c", TokenLife: time.Second,
		PageLength: 1, Links: commercetest.NoLinks, MaxPage: 2, AddStatus: 200, CartDiscountLimit: -1, ItemDiscountLimit: 3,
		TaxPercent: 20, TotalsLag: time.Second, CalculationMethod: commercetest.SimpleCalculation,
		Currencies: []commercetest.Currency{{
			Code: "ABC", Format: "{price}", DecimalPoint: ",", ThousandSeparator: "'", ExchangeRate: 2,
		}},
		RateLimit: 7, RateBurst: 2, RetryAfter: time.Minute,
	}
	for _, tt := range []struct {
		name      string
		cfg, want commercetest.Config
	}{
		{name: "defaults", cfg: commercetest.Config{}, want: defaults},
		{name: "the burst is the rate", cfg: commercetest.Config{RateLimit: 9}, want: rateLimited},
		{name: "all set", cfg: set, want: set},
	} {
		wantEqual(t, tt.name, commercetest.NewStore(tt.cfg).Config(), tt.want)
	}
}

func withCurrencies(list ...commercetest.Currency) commercetest.Config {
	return commercetest.Config{Currencies: list}
}

func TestNewStore_refusesConfig(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		field string
		cfg   commercetest.Config
	}{
		{field: "Generation", cfg: commercetest.Config{Generation: 2}},
		{field: "TokenLife", cfg: commercetest.Config{TokenLife: -1}},
		{field: "PageLength", cfg: commercetest.Config{PageLength: -1}},
		{field: "PageLength", cfg: commercetest.Config{PageLength: 101}},
		{field: "Links", cfg: commercetest.Config{Links: 4}},
		{field: "MaxPage", cfg: commercetest.Config{MaxPage: -1}},
		{field: "MaxPage", cfg: commercetest.Config{MaxPage: 101}},
		{field: "UnlistedAccounts", cfg: commercetest.Config{UnlistedAccounts: -1}},
		{field: "AddStatus", cfg: commercetest.Config{AddStatus: 202}},
		{field: "TaxPercent, TotalsLag and Shipping", cfg: commercetest.Config{TaxPercent: -1}},
		{field: "TaxPercent, TotalsLag and Shipping", cfg: commercetest.Config{TotalsLag: -1}},
		{field: "TaxPercent, TotalsLag and Shipping", cfg: commercetest.Config{Shipping: -1}},
		{field: "Currencies", cfg: withCurrencies(commercetest.Currency{Code: "EURO"})},
		{field: "Currencies", cfg: withCurrencies(commercetest.Currency{Code: "EUR"}, commercetest.Currency{Code: "EUR"})},
		{field: "Currencies", cfg: withCurrencies(commercetest.Currency{Code: "EUR", DecimalPlaces: 10})},
		{field: "Currencies", cfg: withCurrencies(commercetest.Currency{Code: "EUR", DecimalPlaces: -1})},
		{field: "Currencies", cfg: withCurrencies(commercetest.Currency{Code: "EUR", Format: "{}"})},
		{field: "PromotionCodes", cfg: commercetest.Config{PromotionCodes: []commercetest.PromotionCode{{}}}},
		{field: "PromotionCodes", cfg: commercetest.Config{PromotionCodes: []commercetest.PromotionCode{
			{Code: "A"}, {Code: "A", Standard: true},
		}}},
		{field: "CalculationMethod", cfg: commercetest.Config{CalculationMethod: 2}},
		{field: "RateLimit", cfg: commercetest.Config{RateLimit: -1}},
		{field: "RateLimit", cfg: commercetest.Config{RateLimit: 1_000_001}},
		{field: "RateBurst", cfg: commercetest.Config{RateBurst: -1}},
		{field: "RateBurst", cfg: commercetest.Config{RateBurst: 1_000_001}},
		{field: "RetryAfter", cfg: commercetest.Config{RetryAfter: -1}},
	} {
		got, want := panicText(func() { commercetest.NewStore(tt.cfg) }), "commercetest: Config."+tt.field+" must "
		if !strings.HasPrefix(got, want) {
			t.Errorf("NewStore(%+v) panics with %q, want %q", tt.cfg, got, want)
		}
	}
}
