package commerce_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

var errWant = errors.New("the prices are not known")

// amounts returns a choice of the discount a, with one of these amounts each time, and then the
// last.
func amounts(list ...int64) func(*commerce.Cart, int) ([]commerce.NewCustomDiscount, error) {
	return func(_ *commerce.Cart, n int) ([]commerce.NewCustomDiscount, error) {
		d := discount("a")
		d.Amount = commerce.NewDecimal(list[min(n, len(list))-1])
		return []commerce.NewCustomDiscount{d}, nil
	}
}

// ids returns a choice of these external ids: one list each time, separated by commas, and then the
// last.
func ids(lists ...string) func(*commerce.Cart, int) ([]commerce.NewCustomDiscount, error) {
	return func(_ *commerce.Cart, n int) ([]commerce.NewCustomDiscount, error) {
		text := lists[min(n, len(lists))-1]
		if text == "" {
			return nil, nil
		}
		return discounts(strings.Split(text, ",")...), nil
	}
}

// tenPercent takes a tenth off the cart.
func tenPercent(cart *commerce.Cart, _ int) ([]commerce.NewCustomDiscount, error) {
	d := discount("a")
	d.Amount.Decimal = cart.DisplayPrice.WithoutDiscount.Amount.Shift(-1).Round(0).Neg()
	return []commerce.NewCustomDiscount{d}, nil
}

// failAt fails the n-th time.
func failAt(n int, choose func(*commerce.Cart, int) ([]commerce.NewCustomDiscount, error)) func(
	*commerce.Cart, int,
) ([]commerce.NewCustomDiscount, error) {
	return func(c *commerce.Cart, call int) ([]commerce.NewCustomDiscount, error) {
		if call == n {
			return nil, errWant
		}
		return choose(c, call)
	}
}

// removeAfter removes the only item's twin after a request of the operation.
func removeAfter(op commercetest.Operation) func(*commercetest.Store, string, commercetest.Request) {
	return func(s *commercetest.Store, cartID string, in commercetest.Request) {
		if items := s.CartItems(cartID); in.Operation == op && len(items) > 1 {
			s.RemoveItem(cartID, items[1].ID)
		}
	}
}

// removeOnce removes what the first add added.
func removeOnce(s *commercetest.Store, cartID string, in commercetest.Request) {
	isAdd := func(r commercetest.Request) bool { return r.Operation == opAdd }
	if all := s.Requests(); isAdd(in) && all[slices.IndexFunc(all, isAdd)].ID == in.ID {
		s.RemoveDiscount(cartID, s.Discounts(cartID)[0].ID)
	}
}

func addTwin(s *commercetest.Store, cartID string) {
	send(s, http.MethodPost, `{"data":{"type":"cart_item","id":"p","quantity":1}}`, "carts", cartID, "items")
}

var (
	withUpdate = commerce.EnsureCustomDiscountsOptions{Update: true}
	withEnable = commerce.EnsureCustomDiscountsOptions{Enable: true}
)

var ensureWants = []ensureScenario{
	{
		name: "a percentage", choose: tenPercent, requests: "cart add cart", cart: []string{"a -1000"},
		counts: "discounts 1, added 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "a percentage, and the cart changes", choose: tenPercent, opts: withUpdate, before: addTwin,
		after: removeAfter(opAdd), requests: "add-item cart add cart update-discount cart", cart: []string{"a -1000"},
		counts: "discounts 1, added 1, updated 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "a percentage, and the cart changes, without Update", choose: tenPercent, before: addTwin,
		after: removeAfter(opAdd), requests: "add-item cart add cart", cart: []string{"a -2000"},
		counts: "discounts 1, added 1, different 1", outcome: commerce.OutcomePartial,
		matches: []error{commerce.ErrDifferent}, isFinal: true,
	},
	{
		name: "the cart changes with each read", choose: amounts(-1, -2, -3, -4), opts: withUpdate,
		requests: "cart add cart update-discount cart update-discount cart", cart: []string{"a -3"},
		counts: "discounts 1, added 1, updated 1, different 1", outcome: commerce.OutcomePartial,
		differs: []error{commerce.ErrDifferent},
	},
	{
		name: "the cart changes with each read, after it was enabled", choose: amounts(-9, -1, -2, -3, -4),
		disabled: true,
		opts:     commerce.EnsureCustomDiscountsOptions{Update: true, Enable: true},
		requests: "cart update-cart cart add cart update-discount cart update-discount cart", cart: []string{"a -3"},
		counts: "discounts 1, added 1, updated 1, different 1, enabled", outcome: commerce.OutcomePartial,
	},
	{
		name: "the add is confirmed, but the cart does not show it", choose: ids("a"), after: removeOnce,
		requests: "cart add cart cart add cart", cart: []string{"a -1000"}, takes: 2 * second,
		counts: "discounts 1, added 1, in doubt 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "the service changes what it is sent", choose: amounts(-1000), opts: withUpdate, request: roundAmounts,
		requests: "cart add cart update-discount cart", cart: []string{"a -990"},
		counts: "discounts 1, added 1, updated 1, different 1", outcome: commerce.OutcomePartial,
		matches: []error{commerce.ErrDifferent}, isFinal: true,
	},
	{
		name: "nothing is wanted", choose: ids(""), requests: "cart", outcome: commerce.OutcomeApplied,
		before: place(placed("x", -1)), cart: []string{"x -1"},
	},
	{
		name: "nothing is wanted, with Prune", choose: ids(""), before: place(placed("x", -1)),
		opts:     commerce.EnsureCustomDiscountsOptions{Prune: true, Engines: []string{"engine"}},
		requests: "cart delete-discount cart", counts: "deleted 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "an error", choose: failAt(1, tenPercent), requests: "cart", outcome: commerce.OutcomeNotSent,
		matches: []error{errWant},
	},
	{
		name: "an error, with Prune", choose: failAt(1, tenPercent), before: place(placed("x", -1)), cart: []string{"x -1"},
		opts:     commerce.EnsureCustomDiscountsOptions{Prune: true, Engines: []string{"engine"}},
		requests: "cart", outcome: commerce.OutcomeNotSent, matches: []error{errWant},
	},
	{
		name: "an error after an add", choose: failAt(2, tenPercent), requests: "cart add cart", cart: []string{"a -1000"},
		counts: "discounts 1, added 1", outcome: commerce.OutcomePartial, matches: []error{errWant},
	},
	{
		name: "an error after an add without a response", choose: failAt(2, tenPercent),
		faults: []commercetest.Fault{{Operation: opAdd, Cut: true}}, requests: "cart add cart", takes: 2 * second,
		counts: "missing 1, in doubt 1", outcome: commerce.OutcomeUnknown, matches: []error{errWant},
	},
	{
		name: "not valid after an add", choose: amounts(-1, 1), requests: "cart add cart", cart: []string{"a -1"},
		counts: "discounts 1, added 1", outcome: commerce.OutcomePartial, matches: []error{commerce.ErrInvalidArgument},
		isFinal: true,
	},
	{
		name: "another key after an add", choose: ids("a", "b"), requests: "cart add cart", cart: []string{"a -1000"},
		counts: "added 1, missing 1", outcome: commerce.OutcomePartial,
	},
	{
		name: "another key after an add, which is there", choose: ids("a", "a,b"), before: place(placed("b", -1000)),
		requests: "cart add cart", cart: both, counts: "discounts 2, added 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "another key after an add, which is there on another level", choose: ids("a", "a,b"), opts: withUpdate,
		before: place(forItem(placed("b", -1000))), requests: "cart add cart",
		cart: []string{"a -1000", "b -1000 item"}, counts: "discounts 1, added 1, missing 1, different 1",
		outcome: commerce.OutcomePartial,
	},
	{
		name: "a random key, the response is lost", choose: ids("1", "2", "3"),
		faults:   []commercetest.Fault{{Operation: opAdd, Apply: true, Cut: true}},
		requests: "cart add cart", cart: []string{"1 -1000"}, takes: 2 * second,
		counts: "added 1, missing 1", outcome: commerce.OutcomePartial,
	},
	{
		name: "the response is lost", choose: ids("a"), faults: []commercetest.Fault{{Operation: opAdd, Cut: true}},
		requests: "cart add cart add cart", cart: []string{"a -1000"}, takes: 2 * second,
		counts: "discounts 1, added 1, in doubt 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "in doubt, with another amount", choose: amounts(-1, -2, -3), opts: withUpdate, takes: 2 * second,
		faults:   []commercetest.Fault{{Operation: opAdd, Late: true, Delay: second, Cut: true}},
		requests: "cart add cart update-discount cart update-discount cart", cart: []string{"a -3"},
		counts: "discounts 1, added 1, updated 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "in doubt, and must not wait", choose: amounts(-1, -2), takes: 0,
		opts:     commerce.EnsureCustomDiscountsOptions{Settle: -1},
		faults:   []commercetest.Fault{{Operation: opAdd, Cut: true}},
		requests: "cart add cart", counts: "missing 1, in doubt 1", outcome: commerce.OutcomeUnknown,
	},
	{
		name: "in doubt, and no longer wanted", choose: ids("a", ""), takes: 2 * second,
		faults:   []commercetest.Fault{{Operation: opAdd, Late: true, Delay: time.Hour, Cut: true}},
		requests: "cart add cart", counts: "in doubt 1", outcome: commerce.OutcomeApplied,
	},
}

var ensureEnables = []ensureScenario{
	{
		name: "enable", disabled: true, opts: withEnable, requests: "cart update-cart cart add cart", cart: both,
		counts: "discounts 2, added 2, enabled", outcome: commerce.OutcomeApplied,
	},
	{
		name: "not enabled", disabled: true, requests: "cart add cart", counts: "missing 2",
		outcome: commerce.OutcomeRejected, matches: []error{commerce.ErrDiscountsDisabled}, isFinal: true,
	},
	{
		name: "enabled already", opts: withEnable, requests: "cart add cart", cart: both,
		counts: "discounts 2, added 2", outcome: commerce.OutcomeApplied,
	},
	{
		name: "nothing to add", disabled: true, opts: withEnable, before: place(placed("a", -1000), placed("b", -1000)),
		requests: "cart", cart: both, counts: "discounts 2", outcome: commerce.OutcomeApplied,
	},
	{
		name: "enable before surplus copies are deleted", disabled: true, opts: withEnable,
		before:   place(placed("a", -1000), placed("a", -1000)),
		requests: "cart update-cart cart delete-discount add cart", cart: both,
		counts: "discounts 2, added 1, deleted 1, enabled", outcome: commerce.OutcomeApplied,
	},
	{
		name: "enable, as a copy on another level must be replaced", disabled: true,
		opts:   commerce.EnsureCustomDiscountsOptions{Enable: true, Update: true},
		before: place(forItem(placed("a", -1000)), placed("b", -1000)), cart: both,
		requests: "cart update-cart cart delete-discount add cart",
		counts:   "discounts 2, added 1, deleted 1, enabled", outcome: commerce.OutcomeApplied,
	},
	{
		name: "enable for an empty cart", disabled: true, opts: withEnable,
		before:   func(s *commercetest.Store, cartID string) { s.RemoveItem(cartID, uuid.MustParse(itemID)) },
		requests: "cart items", counts: "missing 2", outcome: commerce.OutcomeNotSent, reason: "empty_cart", isFinal: true,
	},
	{
		name: "enable for promotions of the store", disabled: true, opts: withEnable,
		before:   func(s *commercetest.Store, cartID string) { s.AddPromotion(cartID) },
		requests: "cart", counts: "missing 2", outcome: commerce.OutcomeNotSent, reason: "promotion_conflict", isFinal: true,
	},
	{
		name: "enable is refused", disabled: true, opts: withEnable, before: useRulePromotions,
		requests: "update-cart cart update-cart", counts: "missing 2", outcome: commerce.OutcomeRejected,
		reason: "promotion_conflict", isFinal: true,
	},
	{
		name: "the response to enable is lost", disabled: true, opts: withEnable,
		faults:   []commercetest.Fault{{Operation: commercetest.OpUpdateCart, Apply: true, Cut: true, Times: 2}},
		requests: "cart update-cart update-cart cart add cart", cart: both,
		counts: "discounts 2, added 2, enabled", outcome: commerce.OutcomeApplied,
	},
	{
		name: "enable may come late", disabled: true, opts: withEnable,
		faults:   []commercetest.Fault{{Operation: commercetest.OpUpdateCart, Cut: true, Times: 2}},
		requests: "cart update-cart update-cart cart add cart", counts: "missing 2",
		outcome: commerce.OutcomeUnknown, matches: []error{commerce.ErrDiscountsDisabled},
	},
	{
		name: "enabled, and the cart cannot be read", disabled: true, opts: withEnable,
		faults:   []commercetest.Fault{{Operation: opCart, After: 1, Status: 500, Times: 2}},
		requests: "cart update-cart cart cart", counts: "missing 2",
		outcome: commerce.OutcomeUnknown, matches: []error{commerce.ErrServer},
	},
	{
		name: "enabled, and the add is refused", disabled: true, opts: withEnable,
		faults:   []commercetest.Fault{{Operation: opAdd, Status: 422, Body: refusal}},
		requests: "cart update-cart cart add cart", counts: "missing 2, enabled",
		outcome: commerce.OutcomePartial, isFinal: true,
	},
	{
		name: "enable in a dry run", disabled: true, requests: "cart", counts: "added 2, enabled",
		opts:    commerce.EnsureCustomDiscountsOptions{Enable: true, DryRun: true},
		outcome: commerce.OutcomeApplied,
	},
	{
		name: "enable, and other amounts are wanted", disabled: true, opts: withEnable, choose: ids("1", "2"),
		requests: "cart update-cart cart add cart", cart: []string{"2 -1000"},
		counts: "discounts 1, added 1, enabled", outcome: commerce.OutcomeApplied,
	},
}

// useRulePromotions lets the cart use the store's promotions by its settings.
func useRulePromotions(s *commercetest.Store, cartID string) {
	send(s, http.MethodPut, `{"data":{"discount_settings":{"use_rule_promotions":true}}}`, "carts", cartID)
}

// send makes a request, as another program would.
func send(s *commercetest.Store, method, body string, path ...string) {
	path = append([]string{"v2"}, path...)
	if _, err := s.Client().Do(context.Background(), method, path, nil, json.RawMessage(body), nil); err != nil {
		panic(err)
	}
}

// If custom discounts were enabled, the error says what that means.
func TestEnsureCustomDiscounts_enabledText(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	cartID := s.AddCart(commerce.CartItemRef{})
	s.Inject(commercetest.Fault{Operation: opAdd, Status: 422, Body: refusal})
	result, err := s.Client().Carts.EnsureCustomDiscounts(t.Context(), cartID, discounts("a"), &withEnable)
	isEnabled := result.Enabled && result.Cart.CustomDiscountsEnabled
	dry, opts := s.AddCart(commerce.CartItemRef{}), commerce.EnsureCustomDiscountsOptions{Enable: true, DryRun: true}
	s.AddDiscount(dry, placed("b", -1))
	_, dryErr := s.Client().Carts.EnsureCustomDiscounts(t.Context(), dry, discounts("a", "b"), &opts)
	if dryErr == nil || strings.Contains(dryErr.Error(), "promotions are off") {
		t.Errorf("dry run: error %v, want one that says nothing of promotions", dryErr)
	}
	if err == nil || !strings.Contains(err.Error(), "promotions are off") || !isEnabled {
		t.Errorf("result %+v, error %v, want one that says that promotions are off", result, err)
	}
}

// With AllOrNothing, nothing is added as long as one of the wanted discounts may be on the cart in
// another form: its level is unknown.
func TestEnsureCustomDiscounts_allOrNothingUnplaced(t *testing.T) {
	t.Parallel()
	unplaced := cartOf("", `,"included":{"items":[{`+item+`}],"custom_discounts":[{"id":"`+discountID+
		`","discount_engine":"engine","external_id":"a","amount":-1}]}`)
	opts := &commerce.EnsureCustomDiscountsOptions{Update: true, AllOrNothing: true}
	s := newStub(t, respond(200, unplaced)) // a write fails the test
	result, err := s.client(t).Carts.EnsureCustomDiscounts(t.Context(), cartID, discounts("a", "b"), opts)
	if err == nil || counts(result) != "missing 1, different 1" {
		t.Errorf("result %s, error %v, want one missing and one different", counts(result), err)
	}
}

func TestEnsureCustomDiscountsFunc_invalid(t *testing.T) {
	t.Parallel()
	want := func(*commerce.Cart) ([]commerce.NewCustomDiscount, error) { return discounts("a", "b\n", "a"), nil }
	_, err := newStub(t).client(t).Carts.EnsureCustomDiscountsFunc(t.Context(), cartID, nil, nil)
	diff(t, "invalid fields", invalidFields(err), []string{"want"})
	prune := &commerce.EnsureCustomDiscountsOptions{Prune: true}
	_, err = newStub(t).client(t).Carts.EnsureCustomDiscountsFunc(t.Context(), cartID, want, prune)
	diff(t, "invalid fields", invalidFields(err), []string{"engines"})
	s := commercetest.New(t, commercetest.Config{})
	result, err := s.Client().Carts.EnsureCustomDiscountsFunc(t.Context(), s.AddCart(commerce.CartItemRef{}), want, nil)
	if fields := invalidFields(err); result != nil || fmt.Sprint(fields) != "[external_id external_id]" {
		t.Errorf("result %+v, invalid %v, want nil and external_id twice", result, fields)
	}
}

// want gets a copy of the cart, in the turn and under the lock. If it panics, both are released.
func TestEnsureCustomDiscountsFunc_panics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
		cartID := s.AddCart(commerce.CartItemRef{ID: uuid.MustParse(itemID)})
		s.AddDiscount(cartID, forItem(placed("a", -1)))
		c := s.Client(commerce.WithCartLocker(commercetest.NewLocker()))
		func() {
			defer func() {
				if recover() == nil {
					t.Error("want did not panic")
				}
			}()
			_, _ = c.Carts.EnsureCustomDiscountsFunc(t.Context(), cartID,
				func(*commerce.Cart) ([]commerce.NewCustomDiscount, error) { panic("test") }, nil)
		}()
		result, err := c.Carts.EnsureCustomDiscountsFunc(t.Context(), cartID,
			func(cart *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
				cart.CustomDiscounts[0].ExternalID, cart.CustomDiscounts[0].Item.ID = "changed", uuid.Nil
				cart.Items[0].Extra["relationships"][1] = 'x'
				cart.Items = nil
				clear(cart.Response.Header)
				return []commerce.NewCustomDiscount{discountOf("a", uuid.MustParse(itemID))}, nil
			}, &withUpdate)
		if err != nil || result.Discounts[0].Item.ID.String() != itemID || len(result.Cart.Items) != 1 ||
			result.Cart.Items[0].Extra["relationships"][1] == 'x' || len(result.Cart.Response.Header) == 0 {
			t.Errorf("result %+v, error %v, want a discount of the item", result, err)
		}
	})
}

// The lock and the context count right after want, which may take long.
func TestEnsureCustomDiscountsFunc_lockLost(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	cartID := s.AddCart(commerce.CartItemRef{})
	locker := commercetest.NewLocker()
	c := s.Client(commerce.WithCartLocker(locker))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, tt := range []struct {
		lose func()
		want error
	}{
		{lose: func() { locker.Lose("commerce/store.example/carts/" + cartID) }, want: commerce.ErrLock},
		{lose: cancel, want: context.Canceled},
	} {
		result, err := c.Carts.EnsureCustomDiscountsFunc(ctx, cartID,
			func(*commerce.Cart) ([]commerce.NewCustomDiscount, error) {
				tt.lose()
				return discounts("a"), nil
			}, nil)
		if !errors.Is(err, tt.want) || commerce.OutcomeOf(err) != commerce.OutcomeNotSent || len(result.Missing) != 1 {
			t.Errorf("result %+v, error %v, want %v, not sent", result, err, tt.want)
		}
	}
	s.AddDiscount(cartID, placed("a", -1000))
	result, err := c.Carts.EnsureCustomDiscountsFunc(t.Context(), cartID,
		func(*commerce.Cart) ([]commerce.NewCustomDiscount, error) {
			locker.Lose("commerce/store.example/carts/" + cartID)
			return discounts("a"), nil
		}, nil)
	if !errors.Is(err, commerce.ErrLock) || len(result.Discounts) != 1 {
		t.Errorf("as wanted: result %+v, error %v, want ErrLock", result, err)
	}
	if got := operations(s); got != "cart cart cart" {
		t.Errorf("requests = %q, want no write", got)
	}
}
