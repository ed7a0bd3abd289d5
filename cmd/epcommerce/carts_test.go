package main

import (
	"context"
	"net/http"
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
	{name: "full", fails: "limit", want: "epcommerce discounts remove ",
		repair: "discounts remove CART --engine x --yes",
		spoil:  func(s *commercetest.Store, cart string) { add(s, cart, "x", "1"); add(s, cart, "x", "2") }},
	{name: "full item", fails: "limit", want: "raise custom_discount_limit",
		repair: "discounts remove CART --engine x --yes", clean: true,
		spoil: func(s *commercetest.Store, cart string) {
			for _, id := range []string{"1", "2"} {
				s.AddDiscount(cart, commerce.CustomDiscount{
					Amount: commerce.Money{Amount: commerce.NewDecimal(-1)}, DiscountEngine: "x", ExternalID: id,
					Description: "d", DiscountCode: "c", Item: &s.CartItems(cart)[0],
				})
			}
		}},
	{name: "doubled", fails: "doubled", want: "epcommerce discounts remove ",
		repair: "discounts remove CART --id SECOND --yes",
		spoil:  func(s *commercetest.Store, cart string) { add(s, cart, "x", "1"); add(s, cart, "x", "1") }},
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

// What cannot be read is no failure.
func TestCheck_limitUnknown(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	s.Inject(commercetest.Fault{Operation: commercetest.OpSettings, Status: 403, Times: -1})
	got := caller{env: storeEnv(s)}.run(t, "carts", "check", s.AddCart(commerce.CartItemRef{}))
	if got.code != 0 || !strings.Contains(got.stdout, "the limit cannot be read") {
		t.Errorf("got %+v, want exit code 0 and a limit that is not known", got)
	}
}
