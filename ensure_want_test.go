package commerce_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
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

// oneMore returns a choice of these external ids, each with the amount -1. The n-th time, the first
// n have the amount -2.
func oneMore(ids ...string) func(*commerce.Cart, int) ([]commerce.NewCustomDiscount, error) {
	return func(_ *commerce.Cart, n int) (want []commerce.NewCustomDiscount, err error) {
		for i, id := range ids {
			amount := int64(-1)
			if i < n {
				amount = -2
			}
			want = append(want, amountOf(discount(id), amount))
		}
		return want, nil
	}
}

// undoFirst undoes the update of the discount a after an update of b.
func undoFirst(s *commercetest.Store, cartID string, in commercetest.Request) {
	list := s.Discounts(cartID)
	if in.Operation == opUpdate && list[1].ExternalID == "b" && strings.HasSuffix(in.Path, list[1].ID.String()) {
		s.RemoveDiscount(cartID, list[0].ID)
		list[0].Amount = commerce.Money{Amount: commerce.NewDecimal(-1)}
		s.AddDiscount(cartID, list[0])
	}
}

// othersChange adds a discount of another engine after each read.
func othersChange(s *commercetest.Store, cartID string, in commercetest.Request) {
	if in.Operation == opCart {
		s.AddDiscount(cartID, foreign(placed("x", -1)))
	}
}

var setScenarios = []ensureScenario{
	{
		name: "other amounts for the same cart", choose: amounts(-1, -2, -3),
		requests: "cart add cart update-discount cart", cart: []string{"a -2"},
		counts: "discounts 1, added 1, updated 1", outcome: commerce.OutcomePartial, reason: "want_changed",
	},
	{
		name: "the cart changes with each read", choose: amounts(-1, -2, -3, -4), after: othersChange,
		requests: "cart add cart update-discount cart update-discount cart",
		cart:     []string{"a -3", "x -1", "x -1", "x -1", "x -1"},
		counts:   "discounts 1, added 1, updated 1, different 1", outcome: commerce.OutcomePartial,
		differs: []error{commerce.ErrDifferent},
	},
	{
		name: "each read asks for one more change", choose: oneMore("a", "b", "c", "d"),
		before:   place(placed("a", -1), placed("b", -1), placed("c", -1), placed("d", -1)),
		requests: "cart" + strings.Repeat(" update-discount cart", 3), cart: []string{"a -2", "b -2", "c -2", "d -1"},
		counts: "discounts 4, updated 3, different 1", outcome: commerce.OutcomePartial,
		differs: []error{commerce.ErrDifferent},
	},
	{
		name: "another program undoes a change that a read has shown", choose: oneMore("a", "b"), after: undoFirst,
		before:   place(placed("a", -1), placed("b", -1)),
		requests: "cart" + strings.Repeat(" update-discount cart", 3), cart: []string{"a -2", "b -2"},
		counts: "discounts 2, updated 2", outcome: commerce.OutcomeApplied,
	},
	{
		name: "the service changes an update, and another amount is wanted", choose: amounts(-1000, -500),
		before: place(placed("a", -1)), request: roundAmounts, takes: 2 * second,
		requests: "cart update-discount cart cart update-discount cart", cart: []string{"a -500"},
		counts: "discounts 1, updated 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "the engine of the call, with spaces", requests: "cart add cart", cart: []string{"a -1000"},
		choose: func(*commerce.Cart, int) ([]commerce.NewCustomDiscount, error) {
			d := discount("a")
			d.DiscountEngine = " engine "
			return []commerce.NewCustomDiscount{d}, nil
		},
		counts: "discounts 1, added 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "the total lags, and the cart cannot be read", choose: ids("a"),
		store:    commercetest.Config{TotalsLag: time.Hour},
		faults:   []commercetest.Fault{{Operation: opCart, After: 2, Status: 403, Times: -1}},
		requests: "cart add cart cart", cart: []string{"a -1000"}, counts: "discounts 1, added 1",
		outcome: commerce.OutcomeUnknown, reason: "forbidden", takes: 2 * second,
	},
	{
		name: "nothing is wanted", choose: ids(""), before: place(placed("x", -1)),
		requests: "cart delete-discount cart", counts: "deleted 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "an error", choose: failAt(1, percents(10)), before: place(placed("x", -1)), cart: []string{"x -1"},
		requests: "cart", outcome: commerce.OutcomeNotSent,
		matches: []error{errWant},
	},
	{
		name: "an error after an add", choose: failAt(2, percents(10)), requests: "cart add cart", cart: []string{"a -1000"},
		counts: "discounts 1, added 1", outcome: commerce.OutcomePartial, matches: []error{errWant},
	},
	{
		name: "an error after an add without a response", choose: failAt(2, percents(10)),
		faults: []commercetest.Fault{{Operation: opAdd, Cut: true}}, requests: "cart add cart", takes: 2 * second,
		counts: "missing 1, in doubt 1", outcome: commerce.OutcomeUnknown, matches: []error{errWant},
	},
	{
		name: "not valid after an add", choose: amounts(-1, 1), requests: "cart add cart", cart: []string{"a -1"},
		counts: "discounts 1, added 1", outcome: commerce.OutcomePartial, matches: []error{commerce.ErrInvalidArgument},
		isFinal: true,
	},
	{
		name: "more than 1,000 after an add", choose: ids("a", elements(1_001, "%d")), requests: "cart add cart",
		cart: []string{"a -1000"}, counts: "discounts 1, added 1", outcome: commerce.OutcomePartial,
		matches: []error{commerce.ErrInvalidArgument}, isFinal: true,
	},
	{
		name: "a random key, the response is lost", choose: ids("1", "2", "3"),
		faults:   []commercetest.Fault{{Operation: opAdd, Apply: true, Cut: true}},
		requests: "cart add cart", cart: []string{"1 -1000"}, takes: 2 * second,
		counts: "discounts 1, added 1", outcome: commerce.OutcomePartial, reason: "want_changed",
	},
	{
		name: "a new key for another cart", choose: ids("1", "2"), after: othersChange,
		requests: "cart add cart delete-discount add cart", cart: []string{"2 -1000", "x -1", "x -1", "x -1"},
		counts: "discounts 1, added 1, deleted 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "the response is lost", choose: ids("a"), faults: []commercetest.Fault{{Operation: opAdd, Cut: true}},
		requests: "cart add cart add cart", cart: []string{"a -1000"}, takes: 2 * second,
		counts: "discounts 1, added 1, in doubt 1", outcome: commerce.OutcomeUnknown,
		matches: []error{commerce.ErrOutcomeUnknown},
	},
	{
		name: "in doubt, with another amount", choose: amounts(-1, -2), takes: 2 * second,
		faults:   []commercetest.Fault{{Operation: opAdd, Late: true, Delay: second, Cut: true}},
		requests: "cart add cart update-discount cart", cart: []string{"a -2"},
		counts: "discounts 1, added 1, updated 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "in doubt, and must not wait", choose: amounts(-1, -2), takes: 0,
		set:      commerce.SetCustomDiscountsOptions{Settle: -1},
		faults:   []commercetest.Fault{{Operation: opAdd, Cut: true}},
		requests: "cart add cart", counts: "missing 1, in doubt 1", outcome: commerce.OutcomeUnknown,
	},
	{
		name: "in doubt, and no longer wanted", choose: ids("a", ""), takes: 2 * second,
		faults:   []commercetest.Fault{{Operation: opAdd, Late: true, Delay: time.Hour, Cut: true}},
		requests: "cart add cart", counts: "in doubt 1", outcome: commerce.OutcomeUnknown,
	},
}

// ofEngine are the options of a call for the engine "engine".
var ofEngine = &commerce.SetCustomDiscountsOptions{Engine: "engine"}

func TestSetCustomDiscounts_invalid(t *testing.T) {
	t.Parallel()
	choice := func(change func(d *commerce.NewCustomDiscount)) func(
		context.Context, *commerce.Cart,
	) ([]commerce.NewCustomDiscount, error) {
		return func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
			list := discounts("a", "b")
			change(&list[1])
			return list, nil
		}
	}
	for _, tt := range []struct {
		name, engine string
		change       func(d *commerce.NewCustomDiscount)
		bad          []string
	}{
		{name: "no engine", bad: []string{"engine"}},
		{name: "engine with a line feed", engine: "engine\n", bad: []string{"engine"}},
		{
			name: "another engine", engine: "engine", bad: []string{"discount_engine"},
			change: func(d *commerce.NewCustomDiscount) { d.DiscountEngine = "other" },
		},
		{
			name: "fraction", engine: "engine", bad: []string{"amount"},
			change: func(d *commerce.NewCustomDiscount) { d.Amount = parseDecimal(t, "-0.5") },
		},
		{
			name: "a surcharge", engine: "engine", bad: []string{"amount"},
			change: func(d *commerce.NewCustomDiscount) { d.Amount = commerce.NewDecimal(1) },
		},
		{
			name: "no external id", engine: "engine", bad: []string{"external_id"},
			change: func(d *commerce.NewCustomDiscount) { d.ExternalID = "" },
		},
		{
			name: "an external id twice, once with nothing", engine: "engine", bad: []string{"external_id"},
			change: func(d *commerce.NewCustomDiscount) { d.ExternalID, d.Amount = "a", commerce.NewDecimal(0) },
		},
	} {
		s := commercetest.New(t, commercetest.Config{})
		result, err := s.Client().Carts.SetCustomDiscounts(
			t.Context(), s.AddCart(commerce.CartItemRef{}), choice(tt.change),
			&commerce.SetCustomDiscountsOptions{Engine: tt.engine})
		if diff(t, "invalid fields: "+tt.name, invalidFields(err), tt.bad); result != nil {
			t.Errorf("%s: result = %+v, want nil", tt.name, result)
		}
	}
	_, err := newStub(t).client(t).Carts.SetCustomDiscounts(t.Context(), cartID, nil, ofEngine)
	diff(t, "invalid fields", invalidFields(err), []string{"want"})
}

// want gets a copy of the cart, in the turn and under the lock. If it panics, both are released.
func TestSetCustomDiscounts_panics(t *testing.T) {
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
			_, _ = c.Carts.SetCustomDiscounts(t.Context(), cartID,
				func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) { panic("test") }, ofEngine)
		}()
		result, err := c.Carts.SetCustomDiscounts(t.Context(), cartID,
			func(_ context.Context, cart *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
				cart.CustomDiscounts[0].ExternalID, cart.CustomDiscounts[0].Item.ID = "changed", uuid.Nil
				cart.Items[0].Extra["relationships"][1] = 'x'
				cart.Items = nil
				clear(cart.Response.Header)
				return []commerce.NewCustomDiscount{discountOf("a", uuid.MustParse(itemID))}, nil
			}, ofEngine)
		if err != nil || result.Discounts[0].Item.ID.String() != itemID || len(result.Cart.Items) != 1 ||
			result.Cart.Items[0].Extra["relationships"][1] == 'x' || len(result.Cart.Response.Header) == 0 {
			t.Errorf("result %+v, error %v, want a discount of the item", result, err)
		}
	})
}

// A write to the cart with the context of want ends at once, because it would wait for the turn of
// the call that waits for it. So does one below a call for another cart, also if an observer drops
// the values of the context. After want, or for another cart, writes take their turn.
func TestSetCustomDiscounts_contextOfWant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
		cartID, otherID := s.AddCart(commerce.CartItemRef{}), s.AddCart(commerce.CartItemRef{})
		carts := s.Client(commerce.WithObserver(carelessObserver{context.Background()})).Carts
		var kept context.Context //nolint:containedctx // of a goroutine that outlasts want
		set := func(ctx context.Context, id string, inTurn func(context.Context) error) error {
			_, err := carts.SetCustomDiscounts(ctx, id,
				func(ctx context.Context, _ *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
					kept = ctx
					return discounts("a"), inTurn(ctx)
				}, ofEngine)
			return err
		}
		ensure := func(id string) func(context.Context) error {
			return func(ctx context.Context) error {
				_, err := carts.EnsureCustomDiscounts(ctx, id, discounts("b"), nil)
				return err
			}
		}
		below := func(ctx context.Context) error { return set(ctx, otherID, ensure(cartID)) }
		belowDryRun := func(ctx context.Context) error {
			_, err := carts.SetCustomDiscounts(ctx, otherID,
				func(ctx context.Context, _ *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
					return nil, ensure(strings.ToUpper(cartID))(ctx)
				}, &commerce.SetCustomDiscountsOptions{Engine: "engine", DryRun: true})
			return err
		}
		enable := func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			return carts.EnableCustomDiscounts(ctx, cartID)
		}
		for name, inTurn := range map[string]func(context.Context) error{
			"the same cart": ensure(cartID), "below another cart": below, "a derived context": enable,
			"below a dry run, in upper case": belowDryRun,
		} {
			err := set(t.Context(), cartID, inTurn)
			if invalid, ok := errors.AsType[*commerce.ValidationError](err); !ok || !commerce.IsFinal(err) {
				t.Errorf("%s: error %v, final %t, want a ValidationError, final", name, err, commerce.IsFinal(err))
			} else {
				diff(t, name, invalidFields(invalid), []string{"context"})
			}
		}
		if err := set(t.Context(), cartID, ensure(otherID)); err != nil {
			t.Errorf("another cart: %v", err)
		}
		if err := ensure(cartID)(kept); err != nil {
			t.Errorf("after want: %v", err)
		}
		dryRun := func(ctx context.Context) error {
			opts := &commerce.EnsureCustomDiscountsOptions{DryRun: true}
			_, err := carts.EnsureCustomDiscounts(ctx, cartID, discounts("b"), opts)
			return err
		}
		if err := set(t.Context(), cartID, dryRun); err != nil {
			t.Errorf("a dry run: %v", err)
		}
	})
}

// want may return any error, also a pointer that is nil.
func TestSetCustomDiscounts_wantFails(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	cartID := s.AddCart(commerce.CartItemRef{})
	ofCall := &commerce.Error{Op: "Client.Do", StatusCode: 404, Errors: []commerce.ErrorObject{{Title: "No customer"}}}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{err: (*commerce.Error)(nil), want: "nil *commerce.Error"},
		{err: (*commerce.ValidationError)(nil), want: "nil *commerce.ValidationError"},
		{err: (*commerce.PagingError)(nil), want: "nil *commerce.PagingError"},
		{err: (*net.OpError)(nil), want: "nil *net.OpError"},
		{err: fmt.Errorf("level of the customer: %w", ofCall), want: "level of the customer: commerce: Client.Do: 404"},
	} {
		result, err := s.Client().Carts.SetCustomDiscounts(t.Context(), cartID,
			func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) { return nil, tt.err }, ofEngine)
		if err == nil || !strings.Contains(err.Error(), tt.want) || result == nil {
			t.Errorf("result %v, error %v, want a result, and an error with %q", result, err, tt.want)
		}
		if outcome := commerce.OutcomeOf(err); outcome != commerce.OutcomeNotSent || commerce.ReasonOf(err) == "" {
			t.Errorf("error %v, outcome %v, want not sent", err, outcome)
		}
		_, _ = commerce.IsFinal(err), commerce.RemedyOf(err)
	}
}

// The lock and the context count right after want, which may take long.
func TestSetCustomDiscounts_lockLost(t *testing.T) {
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
		result, err := c.Carts.SetCustomDiscounts(ctx, cartID,
			func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
				tt.lose()
				return discounts("a"), nil
			}, ofEngine)
		if !errors.Is(err, tt.want) || commerce.OutcomeOf(err) != commerce.OutcomeNotSent || len(result.Missing) != 1 {
			t.Errorf("result %+v, error %v, want %v, not sent", result, err, tt.want)
		}
	}
	s.AddDiscount(cartID, placed("a", -1000))
	result, err := c.Carts.SetCustomDiscounts(t.Context(), cartID,
		func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
			locker.Lose("commerce/store.example/carts/" + cartID)
			return discounts("a"), nil
		}, ofEngine)
	if !errors.Is(err, commerce.ErrLock) || len(result.Discounts) != 1 {
		t.Errorf("as wanted: result %+v, error %v, want ErrLock", result, err)
	}
	if got := operations(s); got != "cart cart cart" {
		t.Errorf("requests = %q, want no write", got)
	}
}

// percents takes these parts off the cart, as the discounts a, b and so on.
func percents(list ...int64) func(*commerce.Cart, int) ([]commerce.NewCustomDiscount, error) {
	return func(cart *commerce.Cart, _ int) (want []commerce.NewCustomDiscount, err error) {
		price, err := cart.Subtotal()
		for i, percent := range list {
			d := discount(string(rune('a' + i)))
			d.Amount, d.DiscountEngine = price.Amount.Percent(commerce.NewDecimal(-percent)), ""
			want = append(want, d)
		}
		return want, err
	}
}

// notCalled is a choice that must not be made.
func notCalled(*commerce.Cart, int) ([]commerce.NewCustomDiscount, error) { panic("want was called") }

// firstCartID is the id of the first cart of a store.
const firstCartID = "e464336d-da0a-8870-9408-6383528dbe14"

// The item costs 10,000. What the customer pays is never below 0.
var priceScenarios = []ensureScenario{
	{
		name: "more than all", choose: percents(70, 60, 20), requests: "cart add cart", cart: []string{"a -7000", "b -3000"},
		counts: "discounts 2, added 2, lowered 2", outcome: commerce.OutcomeApplied,
	},
	{
		name: "an amount of 0", choose: percents(10, 0), before: place(placed("b", -1)),
		requests: "cart delete-discount add cart", cart: []string{"a -1000"}, counts: "discounts 1, added 1, deleted 1",
		outcome: commerce.OutcomeApplied,
	},
	{
		name: "others take all", choose: percents(80), before: place(foreign(placed("x", -10_000)), placed("a", -1)),
		requests: "cart delete-discount cart", cart: []string{"x -10000"}, counts: "deleted 1, lowered 1",
		outcome: commerce.OutcomeApplied,
	},
	{
		name: "others take more than all", choose: percents(80),
		before:   place(foreign(placed("x", -10_001)), placed("a", -1)),
		requests: "cart delete-discount cart", cart: []string{"x -10001"}, counts: "deleted 1, lowered 1",
		outcome: commerce.OutcomePartial, reason: "below_zero", matches: []error{commerce.ErrBelowZero}, isFinal: true,
	},
	{
		name: "without tax", choose: percents(100), store: commercetest.Config{TaxPercent: 20}, requests: "cart add cart",
		cart: []string{"a -10000"}, counts: "discounts 1, added 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "with tax", choose: percents(100), requests: "cart add cart", cart: []string{"a -8333"},
		store:  commercetest.Config{TaxPercent: 20, PricesIncludeTax: true},
		counts: "discounts 1, added 1, lowered 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "no price", choose: notCalled, before: place(placed("a", -500)), cart: []string{"a -500"}, requests: "cart",
		faults: []commercetest.Fault{{Operation: opCart, Status: 200, Body: `{"data":{"id":"` + firstCartID + `"},` +
			`"included":{"items":[{` + item + `}],"custom_discounts":[]}}`}},
		outcome: commerce.OutcomeNotSent, reason: "bad_response", matches: []error{commerce.ErrBadResponse},
	},
	{
		name: "more only after less is confirmed", choose: percents(10, 90), after: notBelowZero,
		before:   place(placed("a", -9000), placed("b", -1000)),
		faults:   []commercetest.Fault{{Operation: commercetest.OpUpdateDiscount, Status: 504}},
		requests: "cart update-discount cart update-discount update-discount cart", cart: []string{"a -1000", "b -9000"},
		counts: "discounts 2, updated 2", outcome: commerce.OutcomeApplied, takes: 2 * second,
	},
	{
		name: "none after a deletion that may not have happened", choose: percents(0, 100), after: notBelowZero,
		before: place(placed("a", -9000)),
		faults: []commercetest.Fault{
			{Operation: commercetest.OpDeleteDiscount, Cut: true},
			{Operation: commercetest.OpDeleteDiscount, Status: 404, Body: refusal},
		},
		requests: "cart delete-discount delete-discount cart cart delete-discount add cart", cart: []string{"b -10000"},
		counts: "discounts 1, added 1, deleted 1", outcome: commerce.OutcomeApplied, takes: 2 * second,
	},
	{
		name: "a deletion and an add are refused", choose: percents(0, 50), before: place(placed("a", -1)),
		faults: []commercetest.Fault{
			{Operation: commercetest.OpDeleteDiscount, Status: 422, Body: refusal, Times: -1},
			{Operation: opAdd, Status: 422, Body: refusal, Times: -1},
		},
		requests: "cart delete-discount add cart", cart: []string{"a -1"}, counts: "missing 1, different 1",
		outcome: commerce.OutcomeRejected, reason: "unprocessable", isFinal: true,
	},
	{
		name: "an update is refused, the cart costs less than 0", choose: percents(10), before: place(placed("a", -12_000)),
		faults:   []commercetest.Fault{{Operation: opUpdate, Status: 422, Body: refusal, Times: -1}},
		requests: "cart update-discount cart delete-discount cart add cart", cart: []string{"a -1000"},
		counts: "discounts 1, added 1, deleted 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "enabling is refused, the others are changed", choose: percents(10, 20), disabled: true,
		before:   place(placed("a", -9000), placed("x", -500)),
		faults:   []commercetest.Fault{{Operation: commercetest.OpUpdateCart, Status: 422, Body: refusal, Times: -1}},
		requests: "cart update-cart delete-discount update-discount cart", cart: []string{"a -1000"},
		counts: "discounts 1, updated 1, deleted 1, missing 1", outcome: commerce.OutcomePartial,
		reason: "unprocessable", isFinal: true,
	},
	{
		name: "enabling is refused, a copy on another level stays", choose: percents(10), disabled: true,
		before:   place(forItem(placed("a", -1000))),
		faults:   []commercetest.Fault{{Operation: commercetest.OpUpdateCart, Status: 422, Body: refusal, Times: -1}},
		requests: "cart update-cart", cart: []string{"a -1000 item"},
		counts: "missing 1, different 1", outcome: commerce.OutcomeRejected, reason: "unprocessable", isFinal: true,
	},
	{
		name: "none after a deletion was refused", choose: percents(0, 100), after: notBelowZero,
		before:   place(placed("a", -9000)),
		faults:   []commercetest.Fault{{Operation: commercetest.OpDeleteDiscount, Status: 422, Body: refusal, Times: -1}},
		requests: "cart delete-discount cart", cart: []string{"a -9000"}, counts: "missing 1, different 1",
		outcome: commerce.OutcomeRejected, reason: "unprocessable", isFinal: true,
	},
	{
		name: "an empty cart with discounts", choose: notCalled, requests: "cart items delete-discount cart items",
		before: func(s *commercetest.Store, cartID string) {
			s.RemoveItem(cartID, uuid.MustParse(itemID))
			place(placed("a", -1), foreign(placed("x", -1)))(s, cartID)
		},
		cart: []string{"x -1"}, counts: "deleted 1", outcome: commerce.OutcomePartial, reason: "empty_cart", isFinal: true,
	},
	{
		name: "others took more than the cart costs, at the first read alone", choose: percents(10),
		before: place(placed("a", -1000), foreign(placed("x", -12_000))),
		after: func(s *commercetest.Store, cartID string, _ commercetest.Request) {
			for _, d := range s.Discounts(cartID) {
				if d.ExternalID == "x" {
					s.RemoveDiscount(cartID, d.ID)
				}
			}
		},
		requests: "cart delete-discount cart add cart", cart: []string{"a -1000"},
		counts: "discounts 1, added 1, deleted 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "the customer exchanges the item", requests: "cart add cart cart add cart", counts: "discounts 1, added 1",
		takes: 2 * time.Second,
		cart:  []string{"a -1000 item"},
		choose: func(_ *commerce.Cart, n int) ([]commerce.NewCustomDiscount, error) {
			item := uuid.MustParse(itemID)
			if n == 1 { // it is gone before the add
				item = itemOf(1)
			}
			return []commerce.NewCustomDiscount{discountOf("a", item)}, nil
		},
		outcome: commerce.OutcomeApplied,
	},
	{
		name: "a dry run", choose: percents(70, 60), set: commerce.SetCustomDiscountsOptions{DryRun: true}, disabled: true,
		before: place(placed("x", -1)), requests: "cart", cart: []string{"x -1"},
		counts: "added 2, deleted 1, lowered 1, enabled", outcome: commerce.OutcomeApplied,
	},
}

// notBelowZero panics if the discounts take more than the item costs.
func notBelowZero(s *commercetest.Store, cartID string, _ commercetest.Request) {
	sum := commerce.NewDecimal(10_000)
	for _, d := range s.Discounts(cartID) {
		sum = sum.Add(d.Amount.Amount)
	}
	if sum.IsNegative() {
		panic(fmt.Sprintf("the cart costs %v", sum))
	}
}

var withEnable = commerce.EnsureCustomDiscountsOptions{Enable: true}

var ensureEnables = []ensureScenario{
	{
		name: "the service enables late", disabled: true, opts: withEnable, takes: 2 * second,
		faults: []commercetest.Fault{{
			Operation: opAdd, Status: 400, Body: `{"errors":[{"title":"Bad Request","detail":"Custom discounts not enabled"}]}`,
		}},
		requests: "cart update-cart add cart cart add cart", cart: both,
		counts: "discounts 2, added 2, enabled", outcome: commerce.OutcomeApplied,
	},
	{
		name: "not enabled", disabled: true, requests: "cart add cart", counts: "missing 2",
		outcome: commerce.OutcomeRejected, matches: []error{commerce.ErrDiscountsDisabled}, isFinal: true,
	},
	{
		name: "another program enables them after the add", disabled: true, requests: "cart add cart", counts: "missing 2",
		after: func(s *commercetest.Store, cartID string, r commercetest.Request) {
			if r.Method == http.MethodPost {
				s.EnableDiscounts(cartID)
			}
		},
		outcome: commerce.OutcomeRejected, matches: []error{commerce.ErrDiscountsDisabled},
	},
	{
		name: "nothing to add", disabled: true, opts: withEnable, before: place(placed("a", -1000), placed("b", -1000)),
		requests: "cart", cart: both, counts: "discounts 2", outcome: commerce.OutcomeApplied,
	},
	{
		name: "enable, as a copy on another level must be replaced", disabled: true,
		opts:   commerce.EnsureCustomDiscountsOptions{Enable: true, Update: true},
		before: place(forItem(placed("a", -1000)), placed("b", -1000)), cart: both,
		requests: "cart update-cart delete-discount add cart",
		counts:   "discounts 2, added 1, deleted 1, enabled", outcome: commerce.OutcomeApplied,
	},
	{
		name: "enable for a cart that uses rule promotions", disabled: true, opts: withEnable, before: useRulePromotions,
		requests: "update-cart cart update-cart add cart", cart: both,
		counts: "discounts 2, added 2, enabled", outcome: commerce.OutcomeApplied,
	},
	{
		name: "enable is refused", disabled: true, opts: withEnable,
		faults:   []commercetest.Fault{{Operation: commercetest.OpUpdateCart, Status: 422, Body: refusal}},
		requests: "cart update-cart", counts: "missing 2", outcome: commerce.OutcomeRejected,
		reason: "unprocessable", isFinal: true,
	},
	{
		name: "the response to enable shows another cart", disabled: true, opts: withEnable,
		faults: []commercetest.Fault{{
			Operation: commercetest.OpUpdateCart, Status: 200,
			Body: `{"data":{"id":"other","discount_settings":{"custom_discounts_enabled":true}}}`,
		}},
		requests: "cart update-cart cart cart update-cart add cart", cart: both, takes: 2 * second,
		counts: "discounts 2, added 2, enabled", outcome: commerce.OutcomeApplied,
	},
	{
		name: "the response to enable is lost", disabled: true, opts: withEnable,
		faults:   []commercetest.Fault{{Operation: commercetest.OpUpdateCart, Apply: true, Cut: true, Times: 2}},
		requests: "cart update-cart update-cart cart add cart", cart: both,
		counts: "discounts 2, added 2, enabled", outcome: commerce.OutcomeApplied,
	},
	{
		name: "enabled, and the add is refused", disabled: true, opts: withEnable,
		faults:   []commercetest.Fault{{Operation: opAdd, Status: 422, Body: refusal}},
		requests: "cart update-cart add cart", counts: "missing 2, enabled",
		outcome: commerce.OutcomePartial, isFinal: true,
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
	if dryErr == nil || strings.Contains(dryErr.Error(), "are now enabled") {
		t.Errorf("dry run: error %v, want one that says nothing of it", dryErr)
	}
	if err == nil || !strings.Contains(err.Error(), "are now enabled") || !isEnabled {
		t.Errorf("result %+v, error %v, want one that says that they are enabled", result, err)
	}
}

// A store that lists items in another order each time does not hide that want makes up ids.
func TestSetCustomDiscounts_wantChangedOrder(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	cartID, reads := addCart(t, s, at(5000, 5000), nil), 0
	c := showing(s, func(cart object) {
		if reads++; reads%2 == 0 {
			slices.Reverse(member(cart, "included", "items").([]any))
		}
	})
	_, err := c.Carts.SetCustomDiscounts(t.Context(), cartID,
		func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
			return []commerce.NewCustomDiscount{offCart(uuid.NewString(), -1)}, nil
		}, ofEngine)
	if commerce.ReasonOf(err) != "want_changed" {
		t.Errorf("error %v, want ErrWantChanged", err)
	}
}
