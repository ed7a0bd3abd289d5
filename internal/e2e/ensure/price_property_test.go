package ensure_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// priceKinds are kinds of store: they compute or show prices otherwise. Each sets the configuration
// of the store of one cart.
var priceKinds = []struct {
	name    string
	set     func(*commercetest.Config, *rand.Rand)
	hides   bool     // the prices that items show
	reasons []string // of the errors that calls may return, besides below_zero
}{
	{name: "without tax", set: func(c *commercetest.Config, _ *rand.Rand) { c.TaxPercent = 0 }},
	{name: "tax", set: func(c *commercetest.Config, _ *rand.Rand) { c.PricesIncludeTax = false }},
	{name: "tax included", set: func(c *commercetest.Config, _ *rand.Rand) { c.PricesIncludeTax = true }},
	{name: "without item prices", hides: true, set: func(*commercetest.Config, *rand.Rand) {}},
	{name: "totals not below 0", set: func(c *commercetest.Config, _ *rand.Rand) { c.TotalsNotBelowZero = true }},
	{name: "shipping", set: func(c *commercetest.Config, r *rand.Rand) { c.Shipping = 1 + r.Int64N(900) }},
	{name: "printed lists", set: printLists, reasons: []string{"bad_response"}},
	{name: "promotions", set: promote, reasons: []string{"promotion_conflict"}},
	{
		name: "per piece", reasons: []string{"price_differs", "partial"}, // again: nothing is on the cart
		set: func(c *commercetest.Config, _ *rand.Rand) { c.AmountPerPiece = true },
	},
}

func printLists(c *commercetest.Config, r *rand.Rand) {
	c.EmptyLists, c.BarePrices = commercetest.EmptyLists(r.IntN(4)), r.IntN(2) == 0
}

func promote(c *commercetest.Config, r *rand.Rand) {
	c.PromotionsStay, c.StandardPromotions = r.IntN(2) == 0, r.IntN(2) == 0
}

// pricedItem is an item of a random cart. Prices are in cents, for all pieces.
type pricedItem struct {
	ref        commerce.CartItemRef
	quantity   int64
	gross, net int64 // gross is with tax if prices include it
	rate       int64 // of the tax, in percent
	offs       []itemOffer
}

// itemOffer is an offer for an item, or for the cart: a percentage of its price, or an amount.
type itemOffer struct{ percent, fixed int64 }

// pricedCart is a random cart in a store of one kind.
type pricedCart struct {
	*findings

	t      *testing.T
	name   string
	number int
	hides  bool
	cfg    commercetest.Config
	store  *commercetest.Store
	id     string
	items  []*pricedItem
	offs   []itemOffer // for the cart
	writes int         // requests that may change something
	// isVague: the cart may cost less than 0 although the prices that it shows do not say so: there
	// are several rates of tax, or items do not show that they are taxed, or amounts are per piece.
	isVague bool
}

// TestPrices makes random carts in stores of each kind, and calls SetCustomDiscounts twice for
// each. PRICES is the number of carts of each kind, CHAOS_SEED their seed. What the store holds
// after a call is compared with the items that it was given: the methods of the library that read
// prices are not asked.
func TestPrices(t *testing.T) {
	t.Parallel()
	carts := 25
	if s := os.Getenv("PRICES"); s != "" {
		var err error
		if carts, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	_, seed := settings(t)
	t.Logf("CHAOS_SEED=%d", seed)
	broken := &findings{wrong: map[string][]int{}}
	for k, kind := range priceKinds {
		ends, lowered := map[string]int{}, 0
		for n := range carts {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, uint64(k)<<32+uint64(n)))
				cfg := newPriceConfig(r)
				kind.set(&cfg, r)
				c := &pricedCart{findings: broken, t: t, name: kind.name, number: n, hides: kind.hides, cfg: cfg}
				c.fill(r)
				defer c.store.Close()
				reason, isLowered := c.callTwice(append(kind.reasons, "", "below_zero"))
				if ends[reason]++; isLowered {
					lowered++
				}
			})
		}
		t.Logf("%s: %d carts, %d with lowered discounts, ends %v", kind.name, carts, lowered, ends)
		if ends[""] == 0 || carts >= 100 && (lowered == 0 || len(ends) < 2+min(1, len(kind.reasons))) {
			t.Errorf("%s: %d lowered, ends %v: the test proves little", kind.name, lowered, ends)
		}
	}
	broken.report(t)
}

func newPriceConfig(r *rand.Rand) commercetest.Config {
	return commercetest.Config{
		CartDiscountLimit: 1000, ItemDiscountLimit: 1000, DiscountsEnabled: r.IntN(2) == 0,
		EmptyLists: commercetest.EmptyListsAsArrays,
		TaxPercent: []float64{0, 7, 19, 20, 100}[r.IntN(5)], PricesIncludeTax: r.IntN(2) == 0,
	}
}

// fill makes the store and a cart of 1 to 4 items, and chooses the offers and the discounts that
// the cart has already.
func (c *pricedCart) fill(r *rand.Rand) {
	c.store = commercetest.NewStore(c.cfg)
	// With another rate for each item, nothing else says what an item costs without tax.
	isUniform := c.hides || c.cfg.BarePrices || c.cfg.TaxPercent == 0
	fixture := commercetest.CartFixture{Items: []commercetest.ItemFixture{}, DiscountsEnabled: &c.cfg.DiscountsEnabled}
	for range 1 + r.IntN(4) {
		ref := commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: newID(r)}
		i := &pricedItem{ref: ref, quantity: 1 + r.Int64N(3)}
		if i.rate = int64(c.cfg.TaxPercent); r.IntN(2) == 0 && !isUniform {
			i.rate = []int64{0, 5, 19, 50}[r.IntN(4)]
		}
		price := []int64{0, 1 + r.Int64N(9), 1 + r.Int64N(200), 1 + r.Int64N(5000)}[r.IntN(4)]
		if c.cfg.TotalsNotBelowZero && len(c.items) == 0 {
			price++ // a cart of free items, whose total is cut, does not show that they are free
		}
		i.gross = price * i.quantity
		if i.net = i.gross; c.cfg.PricesIncludeTax {
			i.net = (200*i.gross + 100 + i.rate) / (200 + 2*i.rate) // half up
		}
		c.items = append(c.items, i)
		fixture.Items = append(fixture.Items, commercetest.ItemFixture{
			CartItemRef: i.ref, Price: &price, Quantity: i.quantity, TaxPercent: new(float64(i.rate)),
		})
	}
	c.isVague = c.cfg.AmountPerPiece || isUniform && c.cfg.TaxPercent > 0
	for _, i := range c.items {
		c.isVague = c.isVague || i.rate != c.items[0].rate
	}
	var err error
	if c.id, err = c.store.AddCartFixture(fixture); err != nil {
		c.t.Fatal(err)
	}
	c.offs = newOffs(r)
	c.place(r, nil, 0)
	for _, i := range c.items {
		if r.IntN(2) == 0 {
			i.offs = newOffs(r)
		}
		c.place(r, &i.ref, i.gross)
	}
	if strings.HasPrefix(c.name, "promotions") && r.IntN(2) == 0 {
		c.store.AddPromotion(c.id)
	}
}

func (c *pricedCart) server() *cartServer { return &cartServer{store: c.store, cartID: c.id} }

// newOffs returns up to 3 offers.
func newOffs(r *rand.Rand) (list []itemOffer) {
	for range r.IntN(4) {
		list = append(list, []itemOffer{
			{percent: 1 + r.Int64N(60)}, {percent: 100}, {fixed: 1 + r.Int64N(9)}, {fixed: 1 + r.Int64N(3000)},
		}[r.IntN(4)])
	}
	return list
}

// place adds discounts that the cart has already: of others, and own ones, some of which are wanted
// with another amount, or for another item.
func (c *pricedCart) place(r *rand.Rand, item *commerce.CartItemRef, price int64) {
	for _, engine := range []string{third, "shop", "shop"} {
		if r.IntN(4) > 0 {
			continue
		}
		amount := 1 + r.Int64N([]int64{20, 2000, max(1, price), 2*price + 2}[r.IntN(4)])
		d := onCart(newOffer(engine, c.offerID(r.IntN(5)-1, r.IntN(3)), commerce.NewDecimal(-amount)))
		d.ID, d.Item = newID(r), item
		c.store.AddDiscount(c.id, d)
	}
}

// offerID is the external id of offer n for an item; -1: for the cart.
func (c *pricedCart) offerID(item, n int) string { return fmt.Sprintf("%d-%d", item, n) }

// want returns the offers for a cart.
func (c *pricedCart) want(_ context.Context, cart *commerce.Cart) (list []commerce.NewCustomDiscount, err error) {
	subtotal, err := cart.Subtotal()
	add := func(item int, offs []itemOffer, price commerce.Decimal) {
		for n, o := range offs {
			amount := price.Percent(commerce.NewDecimal(-o.percent))
			if o.percent == 0 {
				amount = commerce.NewDecimal(-o.fixed)
			}
			d := newOffer("", c.offerID(item, n), amount)
			if item >= 0 {
				d.Item = &c.items[item].ref
			}
			list = append(list, d)
		}
	}
	for n, i := range c.items {
		at := slices.IndexFunc(cart.Items, func(o commerce.CartItem) bool { return o.ID == i.ref.ID })
		isPercent := func(o itemOffer) bool { return o.percent > 0 }
		var price commerce.Money
		if slices.ContainsFunc(i.offs, isPercent) {
			var errItem error
			price, errItem = cart.PriceOf(&cart.Items[at])
			err = errors.Join(err, errItem)
		}
		add(n, i.offs, price.Amount)
	}
	add(-1, c.offs, subtotal.Amount)
	return list, err
}

// RoundTrip implements [http.RoundTripper]. It counts writes, and hides the prices of items.
func (c *pricedCart) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		c.writes++
	}
	resp, err := c.store.Transport().RoundTrip(req)
	if err != nil || !c.hides || req.Method != http.MethodGet {
		return resp, err
	}
	r := replyOf(resp).edit(func(body map[string]any) {
		included, _ := body["included"].(map[string]any)
		items, _ := included["items"].([]any)
		for _, i := range items {
			delete(i.(map[string]any)["meta"].(map[string]any), "display_price")
		}
	})
	return (&exchange{}).respond(req, r)
}

// callTwice makes the call twice. The second one must change nothing; if prices are vague, a third
// one. It returns the reason of the first error, and whether discounts were lowered.
func (c *pricedCart) callTwice(reasons []string) (reason string, isLowered bool) {
	client := c.store.Client(commerce.WithHTTPClient(&http.Client{Transport: c}))
	opts := &commerce.SetCustomDiscountsOptions{Engine: "shop"}
	call := func() (*commerce.CustomDiscountsResult, error) {
		c.writes = 0
		return client.Carts.SetCustomDiscounts(c.t.Context(), c.id, c.want, opts)
	}
	before := describe(c.store.Discounts(c.id))
	result, err := call()
	reason = commerce.ReasonOf(err)
	if !slices.Contains(reasons, reason) {
		c.broken(before, "it fails only as it may", "it returned %v", err)
	}
	first := describe(c.store.Discounts(c.id))
	if reason == "bad_response" && c.writes > 0 && first != "" { // else it is not known whether there is one
		c.broken(before, "bad_response before a write", "it made %d writes, and returned %v", c.writes, err)
	}
	if err == nil {
		c.check(before, result)
	}
	_, errAgain := call()
	again := commerce.ReasonOf(errAgain)
	if err == nil && errAgain == nil && c.isVague {
		first = describe(c.store.Discounts(c.id))
		if _, errAgain = call(); describe(c.store.Discounts(c.id)) == first {
			c.writes = 0 // it may try again whether the cart takes more
		}
	}
	switch {
	case again != reason && (!c.isVague || !slices.Contains(reasons, again)) && reason != "below_zero":
		c.broken(before, "the second call ends like the first", "it returned %v, and then %v", err, errAgain)
	case err == nil && errAgain == nil && c.writes > 0:
		c.broken(before, "the second call has nothing to do",
			"the second call made %d writes; after the first one the cart had\n%s", c.writes, first)
	}
	return reason, result != nil && len(result.Lowered) > 0
}

// check checks what a cart costs after a call that returned nil.
func (c *pricedCart) check(before string, result *commerce.CustomDiscountsResult) {
	state := c.store.CartState(c.id)
	var sum, off int64
	ofItem := map[uuid.UUID]int64{}
	units := int64(len(c.items) * len(state.Discounts))
	for _, d := range state.Discounts {
		amount, pieces := whole(d.Amount.Amount), int64(1)
		for _, i := range c.items {
			if d.Item != nil && d.Item.ID == i.ref.ID && c.cfg.AmountPerPiece {
				pieces = i.quantity
			}
		}
		if sum, off = sum+amount, off+amount*pieces; d.Item != nil {
			ofItem[d.Item.ID] += amount
		}
	}
	raw := c.server().send(http.MethodGet, "/v2/carts/"+c.id+"?include=items", nil)
	isPromoted := strings.Contains(raw.body, `"promotion_item"`)
	var net int64
	for n, i := range c.items {
		if isPromoted {
			ofItem[i.ref.ID] -= i.gross / 10
			sum, off = sum-i.gross/10, off-i.gross/10
		}
		if net += i.net; i.net+ofItem[i.ref.ID] < 0 {
			c.broken(before, "no item below 0",
				"item %d costs %d without tax, but discounts take %d", n, i.net, -ofItem[i.ref.ID])
		}
	}
	total := whole(state.Total.Amount)
	shown, err := result.Cart.Total()
	switch {
	case total < c.cfg.Shipping:
		c.broken(before, "no cart below 0", "the cart costs %d, with shipping of %d", total, c.cfg.Shipping)
	case net+sum < 0 && !c.cfg.TotalsNotBelowZero: // else nothing shows the price without tax
		c.broken(before, "no cart below 0 without tax", "the items cost %d without tax, but the discounts take %d", net, -sum)
	case max(off-sum, sum-off) > units:
		c.broken(before, "the total is the sum", "the total discount is %d, but the sum %d", off, sum)
	case err != nil || whole(shown.Amount) != total:
		c.broken(before, "the result shows the total", "the result shows the total %v, %v, want %d", shown, err, total)
	}
}

// broken counts a broken promise, and describes the cart the first time.
func (c *pricedCart) broken(before, promise, format string, args ...any) {
	c.fail(c.name+": "+promise, c.number, func() string {
		state := c.store.CartState(c.id)
		text := fmt.Sprintf(format, args...) + "\nit had\n" + before
		text += fmt.Sprintf("\nand has, for %v,\n%s\noffers %v, items\n",
			state.Total.Amount, describe(state.Discounts), c.offs)
		for _, i := range c.items {
			text += fmt.Sprintf("%s x%d: %d, net %d, tax %d %%, ", i.ref.ID, i.quantity, i.gross, i.net, i.rate)
			text += fmt.Sprintf("offers %v\n", i.offs)
		}
		return text + fmt.Sprintf("%+v", c.cfg)
	})
}
