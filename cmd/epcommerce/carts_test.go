package main

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// defect is why a customer misses a discount.
type defect struct {
	name  string
	spoil func(s *commercetest.Store, cart string)
	cart  string // default: a cart that takes discounts
	fails string // the check that finds it
	want  string // how to repair it
	// repair are the words of the command that does it; "" if it is no command.
	repair string
	clean  bool // apply --dry-run finds nothing wrong, as it repairs it
}

var defects = []defect{
	{name: "unknown cart", cart: "unknown", fails: "cart", want: "check the id of the cart"},
	{name: "empty", fails: "cart", want: "put something into it", spoil: func(s *commercetest.Store, cart string) {
		for _, item := range s.CartItems(cart) {
			s.RemoveItem(cart, item.ID)
		}
	}},
	{name: "disabled", cart: "disabled", fails: "enabled", want: "epcommerce discounts enable ",
		repair: "discounts enable CART --yes"},
	{name: "disabled, with a promotion", cart: "disabled", fails: "enabled", want: mayEnd,
		repair: "discounts enable CART --yes", spoil: (*commercetest.Store).AddPromotion},
	{name: "disabled, and promotions are asked for", cart: "disabled", fails: "enabled", want: mayEnd,
		repair: "discounts enable CART --yes", spoil: askForPromotions},
	{name: "promotion", fails: "promotions", want: "remove the promotion", spoil: (*commercetest.Store).AddPromotion},
	{name: "full", fails: "limit", want: "2 of 2 on the cart",
		repair: "discounts remove CART --engine x --yes",
		spoil:  func(s *commercetest.Store, cart string) { add(s, cart, "x", "1"); add(s, cart, "x", "2") }},
	{name: "full item", fails: "limit", want: "2 of 2 on item ",
		repair: "discounts remove CART --engine x --yes", clean: true,
		spoil: func(s *commercetest.Store, cart string) {
			for _, id := range []string{"1", "2"} {
				s.AddDiscount(cart, commerce.CustomDiscount{
					Amount: commerce.Money{Amount: commerce.NewDecimal(-1)}, DiscountEngine: "x", ExternalID: id,
					Description: "d", DiscountCode: "c", Item: &s.CartItems(cart)[0],
				})
			}
		}},
	{name: "limit of 0", fails: "limit", want: "its limit is 0", spoil: settings(`{"custom_discount_limit": 0}`)},
	{name: "simple", fails: "limit", want: "calculation method is simple",
		spoil: settings(`{"calculation_method": "simple"}`)},
	{name: "below 0", fails: "totals", want: "the customer pays -$50.00",
		spoil: func(s *commercetest.Store, cart string) {
			addAmount(s, cart, "x", "1", -15000)
		}},
	{name: "totals that lag", fails: "totals", want: "the total discount is $0.00, but the discounts are -0.01 USD",
		spoil: func(s *commercetest.Store, cart string) {
			before := readCart(s, cart)["data"]["meta"].(object)["display_price"].(object)
			add(s, cart, "x", "1")
			shown(func(price, _ object) { maps.Copy(price, before) })(s, cart)
		}},
	{name: "promotion beside a discount", fails: "promotions", want: "remove the promotion",
		spoil: func(s *commercetest.Store, cart string) {
			add(s, cart, "x", "1")
			shown(func(_, included object) {
				discounts := []any{object{"amount": 0}, object{"promotion_source": "rule"}, object{}}
				included["items"].([]any)[0].(object)["discounts"] = discounts
			})(s, cart)
		}},
	{name: "doubled, other amount", fails: "doubled", want: "with other amounts",
		spoil: func(s *commercetest.Store, cart string) {
			add(s, cart, "e", "1")
			addAmount(s, cart, "e", "1", -2)
		}},
	{name: "doubled", fails: "doubled", want: "epcommerce discounts remove ",
		repair: "discounts remove CART --id SECOND --yes",
		spoil:  func(s *commercetest.Store, cart string) { add(s, cart, "x", "1"); add(s, cart, "x", "1") }},
}

// settings returns a function that gives a store these settings.
func settings(text string) func(*commercetest.Store, string) {
	return func(s *commercetest.Store, _ string) {
		s.Inject(commercetest.Fault{
			Operation: commercetest.OpSettings, Status: 200, Body: `{"data":` + text + `}`, Times: -1,
		})
	}
}

// readCart returns the response with a cart.
func readCart(s *commercetest.Store, cart string) (body map[string]map[string]any) {
	query := url.Values{"include": {"items,custom_discounts"}}
	path := []string{"v2", "carts", cart}
	if _, err := s.Client().Do(context.Background(), http.MethodGet, path, query, nil, &body); err != nil {
		panic(err)
	}
	return body
}

// object is a JSON object.
type object = map[string]any

// shown returns a function that lets a store show a cart as change leaves it: the cart, its price
// and what is included.
func shown(change func(price, included object)) func(*commercetest.Store, string) {
	return func(s *commercetest.Store, cart string) {
		body := readCart(s, cart)
		change(body["data"]["meta"].(object)["display_price"].(object), body["included"])
		text, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		s.Inject(commercetest.Fault{Operation: commercetest.OpCart, Status: 200, Times: -1, Body: string(text)})
	}
}

// askForPromotions lets a cart without promotions use those of the store.
func askForPromotions(s *commercetest.Store, cart string) {
	settings := map[string]any{"custom_discounts_enabled": false, "use_rule_promotions": true}
	path, body := []string{"v2", "carts", cart}, map[string]any{"data": map[string]any{"discount_settings": settings}}
	if _, err := s.Client().Do(context.Background(), http.MethodPut, path, nil, body, nil); err != nil {
		panic(err)
	}
}

// Each defect is found by carts check, doctor, discounts show and apply --dry-run, is the only
// failure, and ends when it is repaired as they say.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range defects {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, commercetest.Config{CartDiscountLimit: 2, ItemDiscountLimit: 2})
			cart := s.AddCart(commerce.CartItemRef{})
			switch tt.cart {
			case "unknown":
				cart = tt.cart
			case "":
				s.EnableDiscounts(cart)
			}
			if tt.spoil != nil {
				tt.spoil(s, cart)
			}
			c := caller{env: storeEnv(s)}
			got := c.run(t, "carts", "check", cart)
			if got.code != exitFailed || strings.Count(got.stdout, "FAIL") != 1 ||
				!strings.Contains(got.stdout, "FAIL  "+tt.fails+" ") || !strings.Contains(got.stdout, tt.want) {
				t.Errorf("got %+v, want only %s to fail, and %q", got, tt.fails, tt.want)
			}
			t.Logf("\n%s", got.stdout)
			if got := c.run(t, "doctor", "--cart", cart); got.code != exitFailed || strings.Count(got.stdout, "FAIL") != 1 {
				t.Errorf("doctor: got %+v, want one failure", got)
			}
			if got := c.run(t, "discounts", "show", cart); got.code != 0 || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("show: got %+v, want %q", got, tt.want)
			}
			dry := caller{env: storeEnv(s), stdin: twoDiscounts}
			got = dry.run(t, "discounts", "apply", cart, "-", "--dry-run")
			if (got.code == 0) != tt.clean || !tt.clean && !strings.Contains(got.stderr, "\n  to do: ") {
				t.Errorf("dry run: got %+v, want a failure and what to do: %t", got, !tt.clean)
			}
			if tt.repair == "" {
				return
			}
			words := strings.Fields(strings.ReplaceAll(tt.repair, "CART", cart))
			for i := range words {
				if words[i] == "SECOND" {
					words[i] = s.Discounts(cart)[1].ID.String()
				}
			}
			if got := c.run(t, words...); got.code != 0 {
				t.Errorf("%v: got %+v, want exit code 0", words, got)
			}
			if got := c.run(t, "carts", "check", cart); got.code != 0 {
				t.Errorf("after %v: got %+v, want no failure", words, got)
			}
		})
	}
}

// What the store does not show is neither a failure nor ok. The cart's discounts must be there.
func TestCheck_unread(t *testing.T) {
	t.Parallel()
	none := object{"amount": 0, "currency": "USD"}
	for name, row := range map[string]struct {
		spoil func(s *commercetest.Store, cart string)
		code  int
		want  string
	}{
		"settings": {want: "skip  limit ", spoil: func(s *commercetest.Store, _ string) {
			s.Inject(commercetest.Fault{Operation: commercetest.OpSettings, Status: 403, Times: -1})
		}},
		"limit that is no number": {want: "skip  limit ", spoil: settings(`{"custom_discount_limit": "5"}`)},
		"totals":                  {want: "skip  totals ", spoil: shown(func(price, _ object) { clear(price) })},
		"total discount": {want: "skip  totals ", spoil: shown(func(price, _ object) {
			delete(price, "discount")
		})},
		"total with tax": {want: "skip  totals ", spoil: shown(func(price, _ object) {
			delete(price, "with_tax")
		})},
		"subtotal of a total that lags": {want: "skip  totals ", spoil: shown(func(price, _ object) {
			price["discount"] = none
			delete(price, "without_discount")
		})},
		"amount of a discount": {want: "skip  totals ", spoil: shown(func(_, included object) {
			delete(included["custom_discounts"].([]any)[0].(object), "amount")
		})},
		"no total discount, but lower prices": {want: "ok    totals ", spoil: shown(func(price, _ object) {
			price["discount"] = none
		})},
		"discounts": {code: exitFailed, want: "custom discount", spoil: shown(func(_, included object) {
			delete(included, "custom_discounts")
		})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
			cart := s.AddCart(commerce.CartItemRef{})
			add(s, cart, "e", "1")
			row.spoil(s, cart)
			got := caller{env: storeEnv(s)}.run(t, "carts", "check", cart)
			if got.code != row.code || !strings.Contains(got.stdout+got.stderr, row.want) {
				t.Errorf("got %+v, want exit code %d and %q", got, row.code, row.want)
			}
		})
	}
}

// Rule promotions are named, and enabling ends them.
func TestCheck_rulePromotions(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	cart := s.AddCart(commerce.CartItemRef{})
	askForPromotions(s, cart)
	got := caller{env: storeEnv(s)}.run(t, "carts", "check", cart)
	if !strings.Contains(got.stdout, "use_rule_promotions") {
		t.Errorf("got %+v, want use_rule_promotions", got)
	}
}
