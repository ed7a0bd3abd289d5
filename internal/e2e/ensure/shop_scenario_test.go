package ensure_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// shopScenario is what happens to a cart on which shops set their offers.
type shopScenario struct {
	Config commercetest.Config
	Shops  []offers
	// Start and Carts are the prices of the items of the cart, at the start and after each change
	// by the customer, again and again.
	Start     []int64
	Carts     [][]int64
	Promoted  bool // the cart has a promotion of the store at the start
	Enabled   bool
	UsesRules bool // use_rule_promotions is set at the start, if Enabled is not
	Initial   []initialDiscount
	Fickle    bool // the shops return their offers in another order each time
	// Hidden are the members that reads leave out. HidesAny: others with each read.
	Hidden   []string
	HidesAny bool
	Callers  []shopCaller
	Rates    rates
	seed     uint64 // of what happens meanwhile
}

// shopCaller makes calls one after the other.
type shopCaller struct {
	Shop    int
	Calls   []plannedCall
	Codes   [][]string // of each call
	Faults  []fault
	Latency time.Duration // different for each caller, so that their requests have an order
}

// rates are how often something happens after a request, in a hundred.
type rates struct {
	Customer, Promotion, Disable, Others int
	Undo, Ignore                         int    // of writes that were applied at once, and of enabling
	Undone                               string // method of the writes that are undone; empty: all
}

// offers are those of a shop, by their codes: percentages of the price, and amounts in cents. Items
// has those that are for an item, and for which one; the others are for the cart.
type offers struct {
	Engine         string
	Percent, Fixed map[string]int64
	Items          map[string]int
}

// initialDiscount is on the cart at the start: on which item, from 1; 0: on the cart itself.
type initialDiscount struct {
	commerce.CustomDiscount

	item int
}

func (o offers) codes() []string {
	return append(slices.Sorted(maps.Keys(o.Percent)), slices.Sorted(maps.Keys(o.Fixed))...)
}

const (
	third         = "another engine"
	theCustomer   = "the customer"
	shortSettle   = 100 * time.Millisecond
	defaultSettle = 2 * time.Second
	longestLate   = 4 * shortSettle
	faultsPerCall = 40
)

func newShopScenario(r *rand.Rand) *shopScenario {
	sc := &shopScenario{seed: r.Uint64()}
	sc.Config = commercetest.Config{
		CartDiscountLimit: 1000, ItemDiscountLimit: 1000, EmptyLists: commercetest.EmptyLists(r.IntN(4)),
		ErrorsBesideCarts: r.IntN(6) == 0, PromotionsStay: r.IntN(3) == 0,
		TaxPercent: []float64{0, 0, 20}[r.IntN(3)], PricesIncludeTax: r.IntN(3) == 0,
		StandardPromotions: r.IntN(2) == 0, Shipping: []int64{0, 0, 700}[r.IntN(3)],
	}
	if r.IntN(6) == 0 {
		sc.Config.TotalsLag = []time.Duration{shortSettle / 2, defaultSettle / 2, 2*defaultSettle + 1}[r.IntN(3)]
	}
	sc.Fickle = r.IntN(20) == 0
	sc.Promoted, sc.Enabled, sc.UsesRules = r.IntN(5) == 0, r.IntN(2) == 0, r.IntN(2) == 0
	if sc.Config.TaxPercent == 0 {
		sc.Config.PricesIncludeTax = false
	}
	sc.Start = newPrices(r)
	for range 1 + r.IntN(4) {
		sc.Carts = append(sc.Carts, newPrices(r))
	}
	if r.IntN(2) == 0 { // a price that changes back
		sc.Carts = [][]int64{{1000}, {2000}}
	}
	if sc.Hidden = sc.newHidden(r); r.IntN(6) == 0 {
		sc.Hidden, sc.HidesAny = nil, true
	}
	rate := func() int { return []int{0, 0, 0, 5, 10, 40}[r.IntN(6)] }
	sc.Rates = rates{
		Customer: rate(), Promotion: rate() / 4, Disable: rate() / 2, Others: rate() / 2, Undo: rate(), Ignore: rate(),
		Undone: []string{"", http.MethodPost, http.MethodPut, http.MethodDelete}[r.IntN(4)],
	}
	if r.IntN(12) == 0 {
		sc.Rates.Undo = 100
	}
	sc.addShops(r)
	sc.addCallers(r)
	return sc
}

func newPrices(r *rand.Rand) (list []int64) {
	if r.IntN(8) == 0 {
		return nil
	}
	for range 1 + r.IntN(4) {
		list = append(list, []int64{0, 3, 100, 999, 1000, 1000, 2000, 2000, 2000, 12345}[r.IntN(10)])
	}
	return list
}

// newHidden returns members that the response to a read leaves out. "zero" means that
// without_discount is there, but 0; "items" are the prices of items; "engines" are those of
// discounts; "currency" means that there are two.
func (sc *shopScenario) newHidden(r *rand.Rand) []string {
	hidden := [][]string{
		nil, nil, nil, nil, nil, nil, {"without_discount"}, {"without_discount"}, {"discount"},
		{"without_discount", "discount"}, {"without_tax"}, {"without_tax", "without_discount"}, {"with_tax"},
		{"list"}, {"zero"}, {"items"}, {"items", "without_discount"}, {"currency"}, {"engines"},
	}[r.IntN(19)]
	if sc.Config.PricesIncludeTax && hidden != nil && hidden[0] == "without_tax" {
		return nil // what the items cost without tax cannot be known
	}
	return hidden
}

// addShops sets one or two shops, and the discounts that are on the cart at the start: some of
// those of the shops, perhaps twice, or with other amounts, and one of another engine.
func (sc *shopScenario) addShops(r *rand.Rand) {
	for n := range []int{1, 1, 2}[r.IntN(3)] {
		o := offers{Engine: fmt.Sprintf("shop-%d", n)}
		o.Percent, o.Fixed, o.Items = map[string]int64{}, map[string]int64{}, map[string]int{}
		for k := range 1 + r.IntN(4) {
			code := fmt.Sprintf("%c-%d", 'a'+byte(r.IntN(26)), k)
			if r.IntN(3) > 0 {
				o.Percent[code] = []int64{1, 5, 10, 33, 50, 70, 100}[r.IntN(7)]
			} else {
				o.Fixed[code] = []int64{1, 100, 500, 1500, 3000}[r.IntN(5)]
			}
			if r.IntN(3) == 0 {
				o.Items[code] = 1 + r.IntN(4)
			}
		}
		sc.Shops = append(sc.Shops, o)
		for _, code := range append(o.codes(), "unwanted") {
			for range []int{0, 0, 0, 1, 2}[r.IntN(5)] {
				d := onCart(newOffer(o.Engine, code, commerce.NewDecimal(-1-r.Int64N(1000))))
				sc.Initial = append(sc.Initial, initialDiscount{d, r.IntN(3)})
			}
		}
	}
	if r.IntN(2) == 0 {
		sc.Initial = append(sc.Initial, initialDiscount{newForeign(r), r.IntN(3)})
	}
	for i := range sc.Initial {
		sc.Initial[i].ID = newID(r)
	}
}

func newOffer(engine, code string, amount commerce.Decimal) commerce.NewCustomDiscount {
	return commerce.NewCustomDiscount{
		Amount: amount, Description: "Offer " + code, DiscountCode: code, DiscountEngine: engine, ExternalID: code,
	}
}

// newForeign returns a discount of another engine, which may exceed the price.
func newForeign(r *rand.Rand) commerce.CustomDiscount {
	d := onCart(newOffer(third, "a-1", commerce.NewDecimal(-1-r.Int64N([]int64{300, 300, 2500, 30_000}[r.IntN(4)]))))
	d.ID = newID(r)
	return d
}

func (sc *shopScenario) addCallers(r *rand.Rand) {
	callers, rate := max(len(sc.Shops), []int{1, 1, 1, 2}[r.IntN(4)]), []int{0, 15, 50}[r.IntN(3)]
	for n := range callers {
		c := shopCaller{Shop: n % len(sc.Shops)}
		codes := sc.Shops[c.Shop].codes()
		for range 1 + r.IntN(3) {
			p := newCall(r)
			c.Calls = append(c.Calls, p)
			chosen := slices.DeleteFunc(slices.Clone(codes), func(string) bool { return callers == 1 && r.IntN(4) == 0 })
			c.Codes = append(c.Codes, chosen)
			for range faultsPerCall {
				c.Faults = append(c.Faults, newFault(r, rate))
			}
		}
		if callers > 1 {
			c.Latency = time.Duration(n+1)*time.Millisecond + time.Duration(r.IntN(1e6))
		}
		sc.Callers = append(sc.Callers, c)
	}
}

func newCall(r *rand.Rand) plannedCall {
	c := plannedCall{
		Options: commerce.SetCustomDiscountsOptions{
			AllOrNothing: r.IntN(4) == 0, DryRun: r.IntN(20) == 0,
			Settle: []time.Duration{shortSettle, shortSettle, shortSettle, 0, -1}[r.IntN(5)],
		},
		Pause: time.Duration(r.IntN(2)) * time.Duration(r.Int64N(int64(2*longestLate))),
	}
	if r.IntN(5) == 0 {
		c.Timeout = time.Duration(1 + r.Int64N(int64(20*attemptTimeout)))
	}
	return c
}

// newFault returns a random fault with a probability of rate in a hundred.
func newFault(r *rand.Rand, rate int) fault {
	if r.IntN(100) >= rate {
		return noFault
	}
	late := time.Duration(1 + r.Int64N(int64(longestLate)))
	faults := []fault{
		{Lost: true, Delay: short(r)},
		{Apply: true, Lost: true, Delay: short(r)},
		{Apply: true, Delay: short(r)},
		{Apply: true, Delay: long(r)},
		{Lost: true, Delay: long(r)},
		{Late: late, Lost: true},
		{Late: late, Status: retryable(r)},
		{Status: retryable(r), Delay: short(r)},
		{Apply: true, Status: retryable(r), Delay: short(r)},
		{Status: http.StatusTooManyRequests},
		{Apply: true, Cut: true},
		{Status: http.StatusUnprocessableEntity, WithCart: true},
	}
	return faults[r.IntN(len(faults))]
}

// newServer returns a server with the cart as it is at the start.
func (sc *shopScenario) newServer() *cartServer {
	store := commercetest.NewStore(sc.Config)
	s := &cartServer{store: store, cartID: store.AddCart(), shipping: sc.Config.Shipping, lags: sc.Config.TotalsLag > 0}
	s.setItems(sc.Start)
	s.setSettings(discountSettings{sc.Enabled, sc.UsesRules && !sc.Enabled})
	for _, d := range sc.Initial {
		if d.item > 0 && len(sc.Start) > 0 {
			d.Item = &store.CartItems(s.cartID)[d.item%len(sc.Start)]
		}
		store.AddDiscount(s.cartID, d.CustomDiscount)
	}
	if sc.Promoted {
		store.AddPromotion(s.cartID)
	}
	s.keepState()
	return s
}

// setItems replaces the items of the cart.
func (s *cartServer) setItems(prices []int64) {
	for _, item := range s.store.CartItems(s.cartID) {
		s.store.RemoveItem(s.cartID, item.ID)
	}
	for _, price := range prices {
		body := fmt.Sprintf(`{"data":{"type":"custom_item","name":"Item","quantity":1,"price":{"amount":%d}}}`, price)
		if r := s.send(http.MethodPost, "/v2/carts/"+s.cartID+"/items", []byte(body)); r.status > 299 {
			panic(r.body)
		}
	}
}

// discountSettings are those of the cart.
type discountSettings struct {
	Enabled   bool `json:"custom_discounts_enabled"`
	UsesRules bool `json:"use_rule_promotions"`
}

func (s *cartServer) setSettings(settings discountSettings) {
	text, _ := json.Marshal(settings) // no error: two flags
	body := fmt.Sprintf(`{"data":{"discount_settings":%s}}`, text)
	if r := s.send(http.MethodPut, "/v2/carts/"+s.cartID, []byte(body)); r.status > 299 {
		panic(r.body)
	}
}

// settle waits until no write is in flight.
func (s *cartServer) settle() {
	time.Sleep(2 * longestLate)
	s.last() // after the last write, for the race detector
}

// last returns the present state of the cart.
func (s *cartServer) last() cartState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.states[len(s.states)-1]
}

// undo makes the cart what it was before a write, as another write does that overlaps. It reports
// whether it did: not if the cart has changed since.
func (s *cartServer) undo(e *exchange) (done bool) {
	s.change("another write undoes "+e.Method, func() {
		if done = e.state > 0 && e.state == len(s.states)-1; done {
			s.restore(e, s.states[e.state-1])
		}
	})
	return done
}

func (s *cartServer) restore(e *exchange, before cartState) {
	switch {
	case e.isEnable():
		if s.setSettings(discountSettings{Enabled: before.isEnabled}); before.isPromoted {
			s.store.AddPromotion(s.cartID)
		}
		return
	case e.Method == http.MethodPost:
		for _, d := range e.Changed {
			s.store.RemoveDiscount(s.cartID, d.ID)
		}
		return
	}
	s.store.RemoveDiscount(s.cartID, e.target())
	for _, d := range before.discounts {
		if d.ID == e.target() {
			s.store.AddDiscount(s.cartID, d)
		}
	}
}

// hide removes the members that e.hidden names from the response to a read of the cart.
func (e *exchange) hide(r reply) reply {
	return r.edit(func(body map[string]any) {
		data, _ := body["data"].(map[string]any)
		meta, _ := data["meta"].(map[string]any)
		price, _ := meta["display_price"].(map[string]any)
		included, _ := body["included"].(map[string]any)
		for _, name := range e.hidden {
			switch member, _ := price["without_discount"].(map[string]any); name {
			case "list":
				delete(included, "custom_discounts")
			case "zero":
				member["amount"] = 0
			case "currency":
				price["with_tax"].(map[string]any)["currency"] = "EUR"
			case "items", "engines":
				list, member := "items", "meta"
				if name == "engines" {
					list, member = "custom_discounts", "discount_engine"
				}
				entries, _ := included[list].([]any)
				for _, entry := range entries {
					delete(entry.(map[string]any), member)
				}
			default:
				delete(price, name)
			}
		}
	})
}
