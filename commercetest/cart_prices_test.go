package commercetest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// addItems adds a cart with items, which may have ids, and discounts: of the cart, or of the item
// with that index.
func addItems(t *testing.T, store *commercetest.Store, items []commercetest.ItemFixture, offs ...itemOff) string {
	t.Helper()
	id, err := store.AddCartFixture(commercetest.CartFixture{Items: items})
	if err != nil {
		t.Fatal(err)
	}
	refs := store.CartItems(id)
	for _, off := range offs {
		d := commerce.CustomDiscount{Amount: commerce.Money{Amount: commerce.NewDecimal(off.amount)}}
		if off.item > 0 {
			d.Item = &refs[off.item-1]
		}
		store.AddDiscount(id, d)
	}
	return id
}

// itemOff is a discount of an item, counted from 1, or of the cart.
type itemOff struct {
	item   int
	amount int64
}

type totalsTest struct {
	name  string
	cfg   commercetest.Config
	items []commercetest.ItemFixture
	offs  []itemOff
	want  string // with tax, without tax, tax, discount, without discount
}

// totalsTests returns both examples in the guide of the vendor, and what it does not show. Its
// example of the method line has a cent less, which its own numbers do not add up to.
func totalsTests() []totalsTest {
	type (
		config = commercetest.Config
		items  = []commercetest.ItemFixture
	)
	item := func(price, quantity int64, percent ...float64) commercetest.ItemFixture {
		f := commercetest.ItemFixture{Price: &price, Quantity: quantity}
		if len(percent) > 0 {
			f.TaxPercent = &percent[0]
		}
		return f
	}
	guide, cents := items{item(999, 3, 20), item(3, 1, 0)}, items{item(1, 1, 100), item(1, 1, 100), item(1, 1, 0)}
	both, three := []itemOff{{1, -5}, {2, -5}, {0, -7}}, []itemOff{{1, -5}, {2, -3}, {0, -10}}
	thousand := []itemOff{{0, -1000}}
	return []totalsTest{
		{name: "line", items: guide, offs: thousand, want: "2400 2000 400 -1000 3000"},
		{
			name: "simple, as printed", cfg: config{CalculationMethod: commercetest.SimpleCalculation},
			items: guide, offs: thousand, want: "2597 2000 597 -1000 3000",
		},
		{
			name: "simple, prices include tax", items: items{item(120, 3, 20)},
			cfg: config{CalculationMethod: commercetest.SimpleCalculation, PricesIncludeTax: true}, want: "360 300 60 0 360",
		},
		{name: "of the item with tax", items: guide, offs: []itemOff{{1, -997}}, want: "2403 2003 400 -997 3000"},
		{name: "of the item without tax", items: guide, offs: []itemOff{{2, -3}}, want: "3596 2997 599 -3 3000"},
		{name: "the last line gets the rest", items: cents, offs: []itemOff{{0, -1}}, want: "4 2 2 -1 3"},
		{name: "rate of the store", cfg: config{TaxPercent: 7.25}, items: items{item(10, 1)}, want: "11 10 1 0 10"},
		{name: "rate of 0", cfg: config{TaxPercent: 7.25}, items: items{item(10000, 1, 0)}, want: "10000 10000 0 0 10000"},
		{
			name: "prices include tax", cfg: config{PricesIncludeTax: true, TaxPercent: 25},
			items: items{item(125, 2), item(110, 1, 10)}, offs: []itemOff{{0, -30}}, want: "324 270 54 -30 360",
		},
		{name: "below zero", items: guide, offs: []itemOff{{0, -4000}}, want: "-1200 -1000 -200 -4000 3000"},
		{
			name: "not below zero", cfg: config{TotalsNotBelowZero: true},
			items: guide, offs: []itemOff{{0, -4000}}, want: "0 0 0 -4000 3000",
		},
		{
			name: "not below zero, and one item is", cfg: config{TotalsNotBelowZero: true},
			items: items{item(1000, 1, 0), item(1000, 1, 20)}, offs: []itemOff{{1, -1500}}, want: "700 500 200 -1500 2000",
		},
		{
			name: "prices that include tax add up", cfg: config{PricesIncludeTax: true},
			items: items{item(999, 3, 19)}, want: "2997 2518 479 0 2997",
		},
		{
			name: "also by the simple method", items: items{item(999, 3, 19)},
			cfg: config{PricesIncludeTax: true, CalculationMethod: commercetest.SimpleCalculation}, want: "2997 2517 480 0 2997",
		},
		{name: "shipping", cfg: config{Shipping: 700}, items: guide, offs: thousand, want: "3100 2700 400 -1000 3700"},
		{name: "shipping of an empty cart", cfg: config{Shipping: 700}, items: items{}, want: "0 0 0 0 0"},
		{
			name: "shipping, not below zero", cfg: config{Shipping: 700, TotalsNotBelowZero: true},
			items: guide, offs: []itemOff{{0, -4000}}, want: "700 700 0 -4000 3700",
		},
		{name: "per piece", cfg: config{AmountPerPiece: true}, items: guide, offs: three, want: "3566 2972 594 -28 3000"},
		{name: "items that cost nothing", items: items{item(5, 1), item(5, 1)}, offs: both, want: "-7 -7 0 -17 10"},
	}
}

func TestTotals(t *testing.T) {
	t.Parallel()
	for _, tt := range totalsTests() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := commercetest.NewStore(tt.cfg)
			id := addItems(t, store, tt.items, tt.offs...)
			body := send(t, store, get("/v2/carts/"+id+"?include=items")).Body
			got := displayPrice(t, body)
			text := fmt.Sprint(got["with_tax"], got["without_tax"], got["tax"], got["discount"], got["without_discount"])
			wantEqual(t, "totals", text, tt.want)
			wantEqual(t, "CartState", store.CartState(id).Total.Amount.String(), fmt.Sprint(got["with_tax"]))
			shipping := tt.cfg.Shipping
			if len(tt.items) == 0 {
				shipping = 0
			}
			wantEqual(t, "shipping", int64(got["shipping"]), shipping)
			_, isShown := got["shipping"]
			isNamed := strings.Contains(body, `{"type":"shipping_group","id":"`)
			wantEqual(t, "shipping is shown, and its group named", []bool{isShown, isNamed}, []bool{shipping > 0, shipping > 0})
			if tt.cfg.CalculationMethod == commercetest.LineCalculation && !tt.cfg.TotalsNotBelowZero {
				wantSums(t, itemPrices(t, body), got)
			}
		})
	}
}

// wantSums checks that the prices of items add up to those of their cart, but for shipping.
func wantSums(t *testing.T, items []map[string][2]int, cart map[string]int) {
	t.Helper()
	sums := map[string]int{}
	for _, item := range items {
		for name, price := range item {
			sums[name] += price[1]
		}
	}
	for name, sum := range sums {
		if name == "with_tax" || name == "without_tax" || name == "without_discount" {
			sum += cart["shipping"]
		}
		wantEqual(t, "sum of "+name, sum, cart[name])
	}
}

// itemPrices returns the amounts of the display_price of each item in the body of a cart: of one
// piece, and of all.
func itemPrices(t *testing.T, body string) (list []map[string][2]int) {
	t.Helper()
	var c struct {
		Included struct {
			Items []struct {
				Meta struct {
					DisplayPrice map[string]struct{ Unit, Value struct{ Amount int } } `json:"display_price"`
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		t.Fatalf("body %s: %v", body, err)
	}
	for _, item := range c.Included.Items {
		prices := map[string][2]int{}
		for name, m := range item.Meta.DisplayPrice {
			prices[name] = [2]int{m.Unit.Amount, m.Value.Amount}
		}
		list = append(list, prices)
	}
	return list
}

// An item shows its price after its own discounts, promotions and its part of those of the cart.
// Without tax, the price minus the discount is that before discounts.
func TestItemDisplayPrice(t *testing.T) {
	t.Parallel()
	type config = commercetest.Config
	simple := config{CalculationMethod: commercetest.SimpleCalculation}
	for _, tt := range []struct {
		name  string
		cfg   config
		price int64 // of a piece; there are three
		offs  []itemOff
		want  string // of a piece and of all: with tax, without tax, tax, discount, without discount
	}{
		{name: "no discount", price: 999, want: "[1199 3596] [999 2997] [200 599] [0 0] [999 2997]"},
		{
			name: "rounded", price: 999, offs: []itemOff{{1, -100}, {0, -1000}},
			want: "[759 2278] [633 1898] [127 380] [-366 -1099] [999 2997]",
		},
		{
			name: "for each piece", cfg: config{AmountPerPiece: true, Shipping: 700}, price: 1000, offs: []itemOff{{1, -100}},
			want: "[1080 3240] [900 2700] [180 540] [-100 -300] [1000 3000]",
		},
		{
			name: "tax in the price", cfg: config{PricesIncludeTax: true}, price: 120,
			want: "[120 360] [100 300] [20 60] [0 0] [120 360]",
		},
		{
			name: "simple, without its part", cfg: simple, price: 999, offs: []itemOff{{1, -300}, {0, -1000}},
			want: "[1098 3294] [899 2697] [199 597] [-100 -300] [999 2997]",
		},
		{name: "bare", cfg: config{BarePrices: true}, price: 999, want: "<nil> <nil> <nil> <nil> <nil>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := commercetest.NewStore(tt.cfg)
			percent, none := 20.0, 0.0
			id := addItems(t, store, []commercetest.ItemFixture{
				{Price: &tt.price, Quantity: 3, TaxPercent: &percent}, {Price: new(int64(3)), TaxPercent: &none},
			}, tt.offs...)
			p := itemPrices(t, send(t, store, get("/v2/carts/"+id+"?include=items")).Body)[0]
			got := fmt.Sprint(p["with_tax"], p["without_tax"], p["tax"], p["discount"], p["without_discount"])
			if len(p) == 0 {
				got = "<nil> <nil> <nil> <nil> <nil>"
			}
			wantEqual(t, "display_price", got, tt.want)
		})
	}
}

// The discount of a cart whose items are free has no item to go by.
func TestTotals_free(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{TaxPercent: 10})
	const free = `{"data":{"type":"custom_item","name":"n","quantity":1,"price":{"amount":0}}}`
	for range 2 {
		wantEqual(t, "status", send(t, store, post("/v2/carts/c/items", free)).Status, 201)
	}
	store.AddDiscount("c", commerce.CustomDiscount{Amount: commerce.Money{Amount: commerce.NewDecimal(-100)}})
	wantEqual(t, "total", store.CartState("c").Total.Formatted, "-$1.10")
}

// A store that calculates by the simple method takes no custom discounts, and its settings name it.
func TestSimpleCalculation_refuses(t *testing.T) {
	t.Parallel()
	store := newCart(t, commercetest.Config{CalculationMethod: commercetest.SimpleCalculation})
	resp := send(t, store, addRequest(onCart("a")))
	if resp.Status != 400 || !strings.Contains(resp.Body, "Custom discounts not enabled for this cart") {
		t.Errorf("got %d %s", resp.Status, resp.Body)
	}
	if body := send(t, store, get(settingsPath)).Body; !strings.Contains(body, `"calculation_method":"simple"`) {
		t.Errorf("settings %s", body)
	}
}

// A cart has a currency, whose digits and signs are those of the store.
func TestCurrencies(t *testing.T) {
	t.Parallel()
	cents := commercetest.Currency{Code: "USD", DecimalPlaces: 3, Format: "US${price}", ThousandSeparator: " "}
	for _, tt := range []struct {
		name       string
		currencies []commercetest.Currency
		code       string
		price      int64
		want       string
	}{
		{name: "default", price: 123_456_789, want: "USD $1,234,567.89"},
		{name: "three digits", code: "KWD", price: 1_234_567, want: "KWD KD 1,234.567"},
		{name: "no digits", code: "JPY", price: 1_234, want: "JPY ¥1,234"},
		{name: "comma", code: "EUR", price: 100_05, want: "EUR 100,05 €"},
		{name: "of the store", currencies: []commercetest.Currency{cents}, price: 1_000_005, want: "USD US$1 000.005"},
		{name: "the first is the default", currencies: []commercetest.Currency{{Code: "XTS"}}, price: 5, want: "XTS 5 XTS"},
	} {
		store := commercetest.NewStore(commercetest.Config{Currencies: tt.currencies, DiscountsEnabled: true})
		id, err := store.AddCartFixture(commercetest.CartFixture{
			Currency: tt.code, Items: []commercetest.ItemFixture{{Price: &tt.price}},
		})
		if err != nil {
			t.Fatal(err)
		}
		total := store.CartState(id).Total
		wantEqual(t, tt.name, total.Currency+" "+total.Formatted, tt.want)
		body := send(t, store, get("/v2/carts/"+id+"?include=items")).Body
		wantEqual(t, tt.name+": the code in the response", strings.Count(body, `"currency":"`+total.Currency+`"`), 17)
		wantEqual(t, tt.name+": discount", send(t, store, post("/v2/carts/"+id+"/custom-discounts",
			`{"data":[`+onCart("a").request()+`]}`)).Status, 201)
		d := store.Discounts(id)[0]
		wantEqual(t, tt.name+": currency of the discount", d.Amount.Currency, total.Currency)
		change := `{"data":{"type":"custom_discount","amount":-2}}`
		if body := send(t, store, put("/v2/carts/"+id+"/custom-discounts/"+d.ID.String(), change)).Body; !strings.Contains(
			body, `"amount":-2,"currency":"`+total.Currency+`"`) {
			t.Errorf("%s: changed discount %s", tt.name, body)
		}
	}
	unknown := commercetest.CartFixture{Currency: "XTS"}
	if _, err := commercetest.NewStore(commercetest.Config{}).AddCartFixture(unknown); err == nil {
		t.Error("a cart in a currency that the store does not have: error = nil")
	}
}

// The header of the request that creates a cart, or adds its first item, chooses the currency.
func TestCurrencies_header(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{})
	in := func(code, raw string) string {
		return strings.Replace(raw, "\r\n", "\r\nX-Moltin-Currency: "+code+"\r\n", 1)
	}
	const item = `{"data":{"type":"custom_item","name":"n","quantity":1,"price":{"amount":500}}}`
	id := uuid.NewString()
	wantEqual(t, "unknown", send(t, store, in("XTS", post("/v2/carts/"+id+"/items", item))).Status, 400)
	wantEqual(t, "unknown, new cart", send(t, store, in("XTS", post("/v2/carts", `{"data":{}}`))).Status, 400)
	for _, step := range []struct{ raw, want string }{
		{raw: in("JPY", post("/v2/carts/"+id+"/items", item)), want: "¥500"},
		{raw: in("EUR", post("/v2/carts/"+id+"/items", item)), want: "¥1,000"},
	} {
		wantEqual(t, "status", send(t, store, step.raw).Status, 201)
		wantEqual(t, "total", store.CartState(id).Total.Formatted, step.want)
	}
	store.AddDiscount(id, commerce.CustomDiscount{Amount: commerce.Money{Amount: commerce.NewDecimal(-1)}})
	for _, item := range store.CartItems(id) {
		store.RemoveItem(id, item.ID)
	}
	send(t, store, in("EUR", post("/v2/carts/"+id+"/items", item)))
	wantEqual(t, "total of a cart that has a discount in yen", store.CartState(id).Total.Formatted, "¥499")
	send(t, store, in("GBP", post("/v2/carts", `{"data":{"name":"n"}}`)))
	created := store.Carts()[len(store.Carts())-1]
	wantEqual(t, "status", send(t, store, post("/v2/carts/"+created+"/items", item)).Status, 201)
	wantEqual(t, "total of a cart that was created in pounds", store.CartState(created).Total.Formatted, "£5.00")
}

// With TotalsLag, a change shows in the list at once, and in the totals later.
func TestTotalsLag(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCart(t, commercetest.Config{TotalsLag: 2 * time.Second})
		total := func() int { return displayPrice(t, send(t, store, get("/v2/carts/"+cartID)).Body)["with_tax"] }
		before := total() // of a new cart
		time.Sleep(time.Minute)
		wantEqual(t, "total before any change", total(), before)
		for i, key := range []string{"a", "b"} { // the second comes while the first is not shown yet
			send(t, store, addRequest(onCart(key)))
			wantEqual(t, "discounts", len(store.Discounts(cartID)), i+1)
			wantEqual(t, "total at once", total(), before)
			prices := itemPrices(t, send(t, store, get(cartPath+"?include=items")).Body)
			wantEqual(t, "part of an item at once", prices[0]["discount"][1], -500*(i+1))
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		if after := total(); after >= before {
			t.Errorf("total after the lag %d, want less than %d", after, before)
		}
		if state := store.CartState(cartID).Total.Amount; state.String() != fmt.Sprint(total()) {
			t.Errorf("CartState shows %s, want the true total %d", state, total())
		}
	})
}
