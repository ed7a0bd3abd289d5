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
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

type object = map[string]any

// showing returns a client of a store that shows carts as show edits them; nil: as they are.
func showing(s *commercetest.Store, show func(cart object)) *commerce.Client {
	e := editor{RoundTripper: s.Transport()}
	if show != nil {
		e.show = func(body string) string {
			var cart object
			err := json.Unmarshal([]byte(body), &cart)
			show(cart)
			text, errText := json.Marshal(cart)
			if err := errors.Join(err, errText); err != nil {
				panic(err)
			}
			return string(text)
		}
	}
	return s.Client(commerce.WithHTTPClient(&http.Client{Transport: e}))
}

// addCart adds a cart with these items, whose ids are those of itemOf, and these discounts.
func addCart(
	t *testing.T, s *commercetest.Store, items []commercetest.ItemFixture, placed []commerce.CustomDiscount,
) (cartID string) {
	t.Helper()
	items = slices.Clone(items)
	for i := range items {
		items[i].ID = itemOf(i)
	}
	cartID, err := s.AddCartFixture(commercetest.CartFixture{Items: items})
	if err != nil {
		t.Fatal(err)
	}
	place(placed...)(s, cartID)
	return cartID
}

// member returns a member of nested objects and arrays, which must be there.
func member(of any, names ...any) any {
	for _, name := range names {
		switch name := name.(type) {
		case string:
			of = of.(object)[name]
		case int:
			of = of.([]any)[name]
		}
	}
	return of
}

func displayPrice(cart object) object { return member(cart, "data", "meta", "display_price").(object) }

// A shownPrice is a cart, and how SetCustomDiscounts ends that wants these discounts for it.
type shownPrice struct {
	name       string
	store      commercetest.Config
	items      []commercetest.ItemFixture // nil: one of 10,000
	isPromoted bool
	want       []commerce.NewCustomDiscount
	before     []commerce.CustomDiscount
	show       func(cart object) // edits what a read shows
	set        commerce.SetCustomDiscountsOptions

	cart    []string // at the end, as onCart has it
	reason  string
	remedy  commerce.Remedy
	isIdle  bool // nothing is written
	isFinal bool
}

// itemOf returns the id of the item n of a cart, from 0.
func itemOf(n int) uuid.UUID { return numberedID(100 + n) }

// offItem returns a discount for an item.
func offItem(id string, item int, amount int64) commerce.NewCustomDiscount {
	return amountOf(discountOf(id, itemOf(item)), amount)
}

// setAmount edits a member of the display price.
func setAmount(name string, amount int64) func(object) {
	return func(cart object) { displayPrice(cart)[name] = object{"amount": amount, "currency": "USD"} }
}

// atSum edits a member of the display price if the total discount is this.
func atSum(discount int64, name string, amount int64) func(object) {
	return func(cart object) {
		if member(displayPrice(cart), "discount", "amount") == float64(discount) {
			setAmount(name, amount)(cart)
		}
	}
}

func totalAtSum(discount, total int64) func(object) { return atSum(discount, "with_tax", total) }

func discountAtSum(discount, shown int64) func(object) { return atSum(discount, "discount", shown) }

var withLists = commercetest.Config{EmptyLists: commercetest.EmptyListsAsArrays}

var taxIncluded = commercetest.Config{TaxPercent: 19, PricesIncludeTax: true}

var shownPrices = []shownPrice{
	{
		name: "an item is free, prices with tax", store: taxIncluded, items: at(1190, 11_900),
		want: []commerce.NewCustomDiscount{offItem("a", 0, -1190)}, cart: []string{"a -1000 item"},
	},
	{
		name: "two free items, prices with tax", store: taxIncluded, items: at(99, 9),
		want: []commerce.NewCustomDiscount{offItem("a", 0, -99), offItem("b", 1, -9)},
		cart: []string{"a -83 item", "b -8 item"},
	},
	{
		name: "two free items, prices with tax, none without", items: at(99, 9), store: commercetest.Config{
			TaxPercent: 19, PricesIncludeTax: true, BarePrices: true, EmptyLists: commercetest.EmptyListsAsArrays,
		},
		want: []commerce.NewCustomDiscount{offItem("a", 0, -99), offItem("b", 1, -9)},
		cart: []string{"a -83 item", "b -7 item"},
	},
	{
		name: "others take more than an item", items: at(100, 10_000), want: discounts("b"),
		before: []commerce.CustomDiscount{foreign(placedOn("x", 0, -101)), placed("b", -1000)},
		cart:   []string{"x -101 item"}, reason: "below_zero", remedy: commerce.RemedyCart, isFinal: true,
	},
	{
		name: "the last of the list is lowered first", want: []commerce.NewCustomDiscount{
			offCart("b", -7000), offCart("a", -7000),
		},
		cart: []string{"a -3000", "b -7000"},
	},
	{
		name: "shipping", want: []commerce.NewCustomDiscount{offCart("a", -20_000)},
		show: setAmount("shipping", 700), cart: []string{"a -9300"},
	},
	{
		name: "another currency", want: discounts("a"), show: func(cart object) {
			displayPrice(cart)["with_tax"].(object)["currency"] = "EUR"
		},
		reason: "bad_response", remedy: commerce.RemedyStaff, isIdle: true,
	},
	{
		name: "a discount in another currency", want: discounts("a"),
		before: []commerce.CustomDiscount{inEuros(placed("a", -1))}, cart: []string{"a -1"},
		reason: "bad_response", remedy: commerce.RemedyStaff, isIdle: true,
	},
	{
		name: "a total discount that is no sum", store: withLists, want: discounts("a"), show: setAmount("discount", -1),
		cart: []string{"a -1000"}, reason: "price_differs", remedy: commerce.RemedyAgain,
	},
	{
		name: "a total discount that is no sum, nothing to write", want: discounts("a"), show: setAmount("discount", -1),
		before: []commerce.CustomDiscount{placed("a", -1000)}, cart: []string{"a -1000"},
		reason: "price_differs", remedy: commerce.RemedyStaff, isIdle: true,
	},
	{
		name: "a total discount that is the sum, rounded for each item", store: withLists, items: at(6000, 4000),
		want: discounts("a"), show: discountAtSum(-1000, -1002), cart: []string{"a -1000"},
	},
	{
		name: "a total discount that rounding does not make", store: withLists, items: at(6000, 4000),
		want: discounts("a"), show: discountAtSum(-1000, -1003), cart: []string{"a -1000"},
		reason: "price_differs", remedy: commerce.RemedyStaff,
	},
	{
		name: "any total", store: withLists, want: discounts("a"), show: setAmount("discount", -1),
		set: commerce.SetCustomDiscountsOptions{AnyTotal: true}, cart: []string{"a -1000"},
	},
	{
		name: "an amount for each piece", store: commercetest.Config{AmountPerPiece: true},
		items: []commercetest.ItemFixture{{Quantity: 3}},
		want:  []commerce.NewCustomDiscount{offItem("a", 0, -1000)}, cart: []string{"a -1000 item"},
		reason: "price_differs", remedy: commerce.RemedyStaff,
	},
	{
		name: "an amount for each piece takes more than the cart costs", store: commercetest.Config{AmountPerPiece: true},
		items: []commercetest.ItemFixture{{Quantity: 3}}, want: []commerce.NewCustomDiscount{offItem("a", 0, -20_000)},
		reason: "price_differs", remedy: commerce.RemedyStaff,
	},
	{
		name: "totals below 0 come late", store: commercetest.Config{TotalsLag: time.Second},
		want:   []commerce.NewCustomDiscount{offCart("a", -10_000)},
		before: []commerce.CustomDiscount{placed("a", -15_000)}, cart: []string{"a -10000"},
	},
	{
		name: "a free cart costs less than 0 with tax", show: totalAtSum(-10_000, -3),
		want:   []commerce.NewCustomDiscount{offCart("a", -10_000)},
		before: []commerce.CustomDiscount{placed("b", -15_000)}, cart: []string{"a -9997"},
	},
	{
		name: "a total below 0, and a promotion", store: withLists,
		want:   []commerce.NewCustomDiscount{offCart("a", -20_000)},
		before: []commerce.CustomDiscount{placed("b", -5000)}, show: func(cart object) {
			totalAtSum(-5000, -3)(cart)
			included := member(cart, "included").(object)
			included["items"] = append(included["items"].([]any), object{"type": "promotion_item", "value": object{"amount": 0}})
		},
		reason: "promotion_conflict", remedy: commerce.RemedyCart, isFinal: true,
	},
	{
		name: "a promotion beside a price with tax, and no total discount", store: commercetest.Config{
			TaxPercent: 20, PricesIncludeTax: true, PromotionsStay: true, EmptyLists: commercetest.EmptyListsAsArrays,
		},
		want:   []commerce.NewCustomDiscount{offCart("a", -20_000)},
		before: []commerce.CustomDiscount{placed("a", -100)}, cart: []string{"a -100"},
		isPromoted: true, show: func(cart object) { delete(displayPrice(cart), "discount") },
		reason: "promotion_conflict", remedy: commerce.RemedyCart, isFinal: true, isIdle: true,
	},
	{
		name: "rounded taxes are less than 0", store: commercetest.Config{TaxPercent: 7}, items: at(108, 411, 746, 9),
		want:   []commerce.NewCustomDiscount{offCart("a", -20_000)},
		before: []commerce.CustomDiscount{foreign(placedOn("x", 2, -547))}, cart: []string{"a -722", "x -547 item"},
	},
	{
		name: "tax that items do not show", store: commercetest.Config{
			TaxPercent: 7, BarePrices: true, EmptyLists: commercetest.EmptyListsAsArrays,
		},
		items: at(108, 411, 746, 9), want: []commerce.NewCustomDiscount{offCart("a", -20_000)},
		before: []commerce.CustomDiscount{foreign(placedOn("x", 2, -547))}, cart: []string{"a -722", "x -547 item"},
	},
	{
		name: "a small cart without a price without tax", store: commercetest.Config{Shipping: 700}, items: at(3),
		want: []commerce.NewCustomDiscount{offCart("a", -20_000)}, cart: []string{"a -3"},
		show: func(cart object) { delete(displayPrice(cart), "without_tax") },
	},
	{
		name: "a free cart costs less than its shipping", store: commercetest.Config{Shipping: 170},
		want: []commerce.NewCustomDiscount{offCart("a", -10_000)},
		show: totalAtSum(-10_000, 167), cart: []string{"a -9997"},
	},
	{
		name: "just tax is left of a cart", store: taxIncluded, cart: []string{"a -8403"},
		want: []commerce.NewCustomDiscount{offCart("a", -20_000)}, show: func(cart object) {
			totalAtSum(-8403, 300)(cart)
			if member(displayPrice(cart), "with_tax", "amount") == int64(300) {
				setAmount("tax", 300)(cart)
			}
		},
	},
	{
		name: "totals come late", store: commercetest.Config{TotalsLag: time.Second}, want: discounts("a"),
		cart: []string{"a -1000"},
	},
	{
		name: "an item is left out, but a list has it", items: at(6000, 4000), show: dropItem,
		want: []commerce.NewCustomDiscount{offCart("a", -20_000)}, cart: []string{"a -10000"},
	},
	{
		name: "a discount without an engine", want: discounts("a"), before: []commerce.CustomDiscount{placed("a", -1000)},
		show: dropEngine, cart: []string{"a -1000"}, reason: "bad_response", remedy: commerce.RemedyStaff, isIdle: true,
	},
	{
		name: "a discount of somebody without an engine", want: discounts("b"), show: dropEngine,
		before: []commerce.CustomDiscount{foreign(placed("x", -9500))}, cart: []string{"b -500", "x -9500"},
	},
	{
		name: "credits", before: []commerce.CustomDiscount{placed("a", -1000)}, show: func(cart object) {
			for _, member := range []string{"without_discount", "without_tax", "with_tax"} {
				setAmount(member, -500)(cart)
			}
			setAmount("discount", 0)(cart)
		},
		reason: "below_zero", remedy: commerce.RemedyAgain, // the cart may cost more without the discount
	},
	{
		name: "credits, and shipping", before: []commerce.CustomDiscount{placed("a", -1000)}, show: func(cart object) {
			for _, member := range []string{"without_discount", "without_tax", "with_tax"} {
				setAmount(member, 200)(cart)
			}
			setAmount("discount", 0)(cart)
			setAmount("shipping", 700)(cart)
		},
		set: commerce.SetCustomDiscountsOptions{AnyTotal: true},
	},
	{
		name: "the price without tax is 0 beside a total",
		want: []commerce.NewCustomDiscount{offCart("a", -20_000)}, show: setAmount("without_tax", 0),
		cart: []string{"a -10000"},
	},
	{
		name: "an item shows no price", items: at(10_000, 100), want: []commerce.NewCustomDiscount{offItem("a", 0, -1)},
		show: func(cart object) {
			for _, item := range member(cart, "included", "items").([]any) {
				delete(item.(object), "value")
				delete(item.(object), "meta")
			}
		},
		reason: "bad_response", remedy: commerce.RemedyStaff, isIdle: true,
	},
	{
		name: "a promotion and no price", want: discounts("a"), isIdle: true, show: func(cart object) {
			member(cart, "data", "meta").(object)["display_price"] = object{}
			included := member(cart, "included").(object)
			included["items"] = append(included["items"].([]any), object{"type": "promotion_item"})
		},
		reason: "promotion_conflict", remedy: commerce.RemedyCart, isFinal: true,
	},
}

func dropItem(cart object) {
	included := member(cart, "included").(object)
	included["items"] = included["items"].([]any)[:1]
}

func dropEngine(cart object) {
	list, _ := member(cart, "included").(object)["custom_discounts"].([]any)
	for _, d := range list {
		if d := d.(object); d["external_id"] != "b" {
			delete(d, "discount_engine")
		}
	}
}

// placedOn returns a discount that is on an item of the cart already.
func placedOn(id string, item int, amount int64) commerce.CustomDiscount {
	d := placed(id, amount)
	d.Item = offItem(id, item, amount).Item
	return d
}

func inEuros(d commerce.CustomDiscount) commerce.CustomDiscount {
	d.Amount.Currency = "EUR"
	return d
}

// A price that is not there, contradicts another one, or is not the sum of what is shown is not
// believed. Neither the cart nor an item costs less than 0.
func TestSetCustomDiscounts_shownPrices(t *testing.T) {
	t.Parallel()
	for _, tt := range shownPrices {
		inBubble(t, tt.name, tt.run)
	}
}

func (tt *shownPrice) run(t *testing.T) {
	tt.store.DiscountsEnabled = true
	s := commercetest.New(t, tt.store)
	if tt.items == nil {
		tt.items = at(10_000)
	}
	cartID := addCart(t, s, tt.items, tt.before)
	if tt.isPromoted {
		s.AddPromotion(cartID)
	}
	c := showing(s, tt.show)
	tt.set.Engine = "engine"
	call := func() (*commerce.CustomDiscountsResult, error) {
		return c.Carts.SetCustomDiscounts(t.Context(), cartID,
			func(_ context.Context, c *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
				if price, err := c.Subtotal(); err != nil || price.Amount.IsNegative() {
					t.Errorf("want was called for the price %v, error %v", price, err)
				}
				return tt.want, nil
			}, &tt.set)
	}
	time.Sleep(tt.store.TotalsLag) // of what was placed
	before := s.Discounts(cartID)
	result, err := call()
	diff(t, "cart", onCart(s, cartID), tt.cart)
	if commerce.ReasonOf(err) != tt.reason || commerce.RemedyOf(err) != tt.remedy || commerce.IsFinal(err) != tt.isFinal {
		t.Errorf("error %v, reason %s, remedy %v, final %t, want %s, %v, %t", err, commerce.ReasonOf(err),
			commerce.RemedyOf(err), commerce.IsFinal(err), tt.reason, tt.remedy, tt.isFinal)
	}
	if tt.isIdle {
		diff(t, "what is on the cart", s.Discounts(cartID), before)
	}
	if err == nil && tt.show == nil {
		total, err := result.Cart.Total()
		if want := s.CartState(cartID).Total; err != nil || !total.Amount.Equal(want.Amount) || total.Amount.IsNegative() {
			t.Errorf("the total is %v, error %v, want %v", total, err, want)
		}
	}
	before = s.Discounts(cartID)
	requests := operations(s)
	_, _ = call()
	diff(t, "after a second call", s.Discounts(cartID), before)
	mayTry := err != nil || tt.show != nil || tt.store.BarePrices // whether the cart takes more
	if again := strings.TrimPrefix(operations(s), requests); !mayTry && again != " cart" {
		t.Errorf("the second call made the requests%s", again)
	}
}

// calledCart is a cart for which the same call is made three times: no total is below 0 after one,
// a call after a nil error writes nothing, and the third does not ask for one more.
type calledCart struct {
	name   string
	store  commercetest.Config
	items  []commercetest.ItemFixture
	before []commerce.CustomDiscount
	faults []commercetest.Fault
	show   func(cart object)
	want   func(*commerce.Cart) []commerce.NewCustomDiscount

	isPromoted bool

	cart   []string // after the first call; nil: it does not matter
	reason string   // of each call; "*": it does not matter, "!": not nil
	remedy commerce.Remedy
}

func at(prices ...int64) (list []commercetest.ItemFixture) {
	for _, p := range prices {
		list = append(list, commercetest.ItemFixture{Price: &p})
	}
	return list
}

func taxed(percent float64, price int64) commercetest.ItemFixture {
	return commercetest.ItemFixture{Price: &price, TaxPercent: &percent}
}

func offer(list ...commerce.NewCustomDiscount) func(*commerce.Cart) []commerce.NewCustomDiscount {
	return func(*commerce.Cart) []commerce.NewCustomDiscount { return list }
}

func offCart(id string, amount int64) commerce.NewCustomDiscount {
	return amountOf(discount(id), amount)
}

var (
	bareTax      = commercetest.Config{TaxPercent: 19, BarePrices: true, EmptyLists: commercetest.EmptyListsAsArrays}
	bareIncluded = commercetest.Config{
		TaxPercent: 19, PricesIncludeTax: true, BarePrices: true, EmptyLists: commercetest.EmptyListsAsArrays,
	}
	thousands = at(10_000)
)

var calledAgain = []calledCart{
	{
		name: "prices with tax, nothing but totals", store: bareIncluded, items: at(1190, 11_900),
		want: offer(offItem("a", 0, -1190)), cart: []string{"a -1000 item"},
	},
	{ // the tax of the item that is below 0 makes the total less than 0
		name: "a discount on a cheap item", items: []commercetest.ItemFixture{taxed(0, 328), taxed(100, 1)},
		before: []commerce.CustomDiscount{placedOn("b", 1, -219)}, want: offer(offCart("a", -329)), cart: []string{"a -329"},
	},
	{ // ends at -270, then without discounts, then at -270 …, RemedyAgain each time
		name: "two rates of tax", store: commercetest.Config{TaxPercent: 19},
		items: []commercetest.ItemFixture{taxed(19, 9000), taxed(7, 9000)},
		want:  offer(offItem("i", 0, -4500), offCart("c", -18_000)), reason: "*",
	},
	{ // the tax of each item is 0 when the hold is needed
		name: "one rate of tax", store: commercetest.Config{TaxPercent: 19}, items: at(5435, 5, 8),
		want: offer(offItem("i", 0, -1811), offCart("c", -5448)), reason: "*",
	},
	{ // without_tax is 0 beside a tax of 1 by rounding: bad_response for ever, below 0 with other prices
		name: "all off, a tax by rounding", store: bareTax, items: at(2632, 400, 2, 6817, 2),
		want: offer(offItem("i", 0, -2632), offCart("c", -9853)),
	},
	{
		name: "an amount for each piece, below 0", store: commercetest.Config{AmountPerPiece: true},
		items: []commercetest.ItemFixture{{Price: new(int64(100)), Quantity: 3}}, want: offer(offItem("a", 0, -300)),
		reason: "*",
	},
	{
		name: "an amount for each piece, a small one", store: commercetest.Config{AmountPerPiece: true},
		items: []commercetest.ItemFixture{{Price: new(int64(100)), Quantity: 3}, {Price: new(int64(100))}},
		want:  offer(offItem("a", 0, -2), offItem("b", 1, -1)), reason: "price_differs", remedy: commerce.RemedyStaff,
	},
	{
		name: "promotions, and no price", store: withLists, items: thousands, isPromoted: true,
		want:   offer(offCart("a", -100)),
		show:   func(c object) { member(c, "data", "meta").(object)["display_price"] = object{} },
		reason: "promotion_conflict", remedy: commerce.RemedyCart,
	},
	{
		name: "an offer for each item, one is a credit", items: at(10_000, 500), show: showCredit,
		want: offer(offItem("a", 0, -100), offItem("b", 1, -100)), cart: []string{"a -100 item"},
	},
	{ // item 0 costs 100
		name: "a deletion is refused", items: at(100, 10_000), want: offer(offItem("b", 0, -100)),
		before: []commerce.CustomDiscount{placedOn("a", 0, -60), placedOn("b", 0, -40)}, reason: "*",
		faults: []commercetest.Fault{{Operation: commercetest.OpDeleteDiscount, Status: 422, Body: refusal, Times: -1}},
		cart:   []string{"a -60 item", "b -40 item"},
	},
	{
		name: "totals of 0 beside a price", items: thousands, want: offer(offCart("a", -100)), show: func(c object) {
			for _, name := range []string{"without_tax", "with_tax", "discount"} {
				setAmount(name, 0)(c)
			}
		},
		reason: "!",
	},
	{
		name: "a value of 0 beside a price of the item", items: thousands, want: offer(offItem("a", 0, -100)),
		show: func(c object) {
			member(c, "included", "items", 0).(object)["value"] = object{"amount": 0, "currency": "USD"}
		},
		cart: []string{"a -100 item"},
	},
	{
		name: "an amount of 0 is left out", items: thousands, cart: []string{"a -10"},
		want: func(c *commerce.Cart) []commerce.NewCustomDiscount {
			if len(c.CustomDiscounts) > 0 {
				return []commerce.NewCustomDiscount{offCart("a", -10), offCart("none", 0)}
			}
			return []commerce.NewCustomDiscount{offCart("a", -10)}
		},
	},
}

func showCredit(c object) {
	item := member(c, "included", "items", 1).(object)
	item["value"] = object{"amount": -500, "currency": "USD", "includes_tax": false}
	delete(item["meta"].(object), "display_price")
	for _, name := range []string{"without_discount", "without_tax", "with_tax"} {
		setAmount(name, int64(displayPrice(c)[name].(object)["amount"].(float64))-1000)(c)
	}
}

func TestSetCustomDiscounts_calledAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range calledAgain {
		inBubble(t, tt.name, tt.run)
	}
}

func (tt *calledCart) run(t *testing.T) {
	tt.store.DiscountsEnabled = true
	s := commercetest.New(t, tt.store)
	cartID := addCart(t, s, tt.items, tt.before)
	if tt.isPromoted {
		s.AddPromotion(cartID)
	}
	s.Inject(tt.faults...)
	c := showing(s, tt.show)
	wasDone, before := false, "" // the writes so far
	for n := range 3 {
		_, err := c.Carts.SetCustomDiscounts(t.Context(), cartID,
			func(_ context.Context, c *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
				return tt.want(c), nil
			},
			&commerce.SetCustomDiscountsOptions{Engine: "engine"})
		cart, total, remedy := onCart(s, cartID), s.CartState(cartID).Total.Amount, commerce.RemedyOf(err)
		what := fmt.Sprintf("call %d: cart %q, total %v, remedy %v, error %v", n+1, cart, total, remedy, err)
		if tt.cart != nil && !slices.Equal(cart, tt.cart) {
			t.Errorf("%s, want cart %q", what, tt.cart)
		}
		requests := strings.ReplaceAll(operations(s)+" ", "cart ", "")
		if wasDone && requests != before && tt.reason != "*" { // then nothing shows that there is tax
			t.Errorf("%s, want no write after %q: %q", what, before, requests)
		}
		wasDone, before = err == nil, requests
		switch reason := commerce.ReasonOf(err); {
		case total.IsNegative():
			t.Error("below 0:", what)
		case n == 2 && remedy == commerce.RemedyAgain:
			t.Error("for ever:", what)
		case tt.reason == "*", tt.reason == "!" && err != nil:
		case reason != tt.reason || remedy != tt.remedy:
			t.Errorf("%s, want reason %q, remedy %v", what, tt.reason, tt.remedy)
		}
	}
}
