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

// cartBody is the part of a cart that the tests check.
type cartBody struct {
	Data struct {
		ID, Name         string
		DiscountSettings struct {
			Enabled bool `json:"custom_discounts_enabled"`
		} `json:"discount_settings"`
		Relationships struct {
			Items struct{ Data []commerce.CartItemRef }
		}
	}
}

func decodeCart(t *testing.T, resp wireResponse, status int) (c cartBody) {
	t.Helper()
	wantEqual(t, "status", resp.Status, status)
	if err := json.Unmarshal([]byte(resp.Body), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func readCart(t *testing.T, store *commercetest.Store, id string) cartBody {
	t.Helper()
	return decodeCart(t, send(t, store, get("/v2/carts/"+id)), 200)
}

// Parts of responses, at the time at which a synctest bubble begins.
const (
	timestamps    = `"created_at":"2000-01-01T00:00:00.000Z","updated_at":"2000-01-01T00:00:00.000Z"`
	emptyCartData = `{"id":"new","type":"cart","name":"Cart","links":{"self":"https://store-links.example/v2/carts/new"},
		"discount_settings":{"custom_discounts_enabled":true},
		"meta":{"display_price":{
			"with_tax":{"amount":0,"currency":"","formatted":"0"},
			"without_tax":{"amount":0,"currency":"","formatted":"0"},
			"tax":{"amount":0,"currency":"","formatted":"0"},
			"discount":{"amount":0,"currency":"","formatted":"0"},
			"without_discount":{"amount":0,"currency":"","formatted":"0"}},
		"timestamps":{` + timestamps + `,"expires_at":"2000-01-08T00:00:00.000Z"}},
		"relationships":{"items":{"data":null}}}`
	fullCartData = `{"id":"` + cartID + `","type":"cart","name":"Cart",
		"links":{"self":"https://store-links.example/v2/carts/` + cartID + `"},
		"discount_settings":{"custom_discounts_enabled":true},
		"meta":{"display_price":{
			"with_tax":{"amount":18000,"currency":"USD","formatted":"$180.00"},
			"without_tax":{"amount":18000,"currency":"USD","formatted":"$180.00"},
			"tax":{"amount":0,"currency":"USD","formatted":"$0.00"},
			"discount":{"amount":-2000,"currency":"USD","formatted":"-$20.00"},
			"without_discount":{"amount":20000,"currency":"USD","formatted":"$200.00"}},
		"timestamps":{` + timestamps + `,"expires_at":"2000-01-08T00:00:00.000Z"}},
		"relationships":{
			"items":{"data":[{"type":"cart_item","id":"` + cartItem + `"},{"type":"custom_item","id":"` + customItem + `"}]},
			"custom_discounts":{"data":[{"type":"custom_discount","id":"` + firstID + `"}]}}}`
)

// fullCartItems returns the items of the cart, which have a part of its discount.
func fullCartItems() string {
	price := func(amount, formatted string) string {
		m := `{"amount":` + amount + `,"currency":"USD","formatted":"` + formatted + `"}`
		return `{"unit":` + m + `,"value":` + m + `}`
	}
	display := func(price, tax, off, before string) string {
		return `{"with_tax":` + price + `,"without_tax":` + price + `,"tax":` + tax + `,"discount":` + off +
			`,"without_discount":` + before + `}`
	}
	zero, before := price("0", "$0.00"), price("10000", "$100.00")
	first := display(price("8500", "$85.00"), zero, price("-1500", "-$15.00"), before)
	second := display(price("9500", "$95.00"), zero, price("-500", "-$5.00"), before)
	return `[
		{"id":"` + cartItem + `","type":"cart_item","product_id":"ab407484-c2f3-8fdc-a9d1-e010ca016afa",
			"name":"Product","sku":"sku-000001","quantity":1,
			"unit_price":{"amount":10000,"currency":"USD","includes_tax":false},
			"value":{"amount":10000,"currency":"USD","includes_tax":false},"meta":{"display_price":` + first + `,
			"timestamps":{` + timestamps + `}},
			"relationships":{"custom_discounts":{"data":[{"type":"custom_discount","id":"` + secondID + `"}]}}},
		{"id":"` + customItem + `","type":"custom_item","name":"Custom item","sku":"sku-000002","quantity":1,
			"unit_price":{"amount":10000,"currency":"USD","includes_tax":false},
			"value":{"amount":10000,"currency":"USD","includes_tax":false},"meta":{"display_price":` + second + `,
			"timestamps":{` + timestamps + `}},
			"relationships":{"custom_discounts":{"data":null}}}]`
}

// The cart of the test has a discount of its own and one of an item, which responses
// include without its item and its formatted amount.
func TestGetCart(t *testing.T) {
	t.Parallel()
	const badQuery = `{"errors":[{"status":"400","title":"Bad Request","detail":"Could not parse the query"}]}`
	own := onCartA.response(firstID)
	ofItem := strings.Replace(onCart("i").response(secondID), `,"formatted":"-$10.00"`, "", 1)
	both := `"custom_discounts":[` + own + `,` + ofItem + `]`
	for _, tt := range []struct {
		name, target string
		status       int
		want         string
	}{
		{name: "without include", target: cartPath, want: `{"data":` + fullCartData + `}`},
		{name: "unknown include", target: cartPath + "?include=tax_items", want: `{"data":` + fullCartData + `}`},
		{
			name: "discounts", target: cartPath + "?include=custom_discounts",
			want: `{"data":` + fullCartData + `,"included":{` + both + `}}`,
		},
		{
			name: "items and discounts", target: cartPath + "?include=items,custom_discounts",
			want: `{"data":` + fullCartData + `,"included":{"items":` + fullCartItems() + `,` + both + `}}`,
		},
		{
			name: "two include parameters", target: cartPath + "?include=items&include=custom_discounts",
			want: `{"data":` + fullCartData + `,"included":{"items":` + fullCartItems() + `,` + both + `}}`,
		},
		{name: "items of the cart", target: cartPath + "/items", want: `{"data":` + fullCartItems() + `}`},
		{
			name: "items with discounts", target: cartPath + "/items?include=custom_discounts",
			want: `{"data":` + fullCartItems() + `,"included":{"custom_discounts":[` + ofItem + `]}}`,
		},
		{name: "unknown cart", target: "/v2/carts/new", want: `{"data":` + emptyCartData + `}`},
		{
			name: "unknown cart with includes", target: "/v2/carts/new?include=items,custom_discounts",
			want: `{"data":` + emptyCartData + `}`,
		},
		{name: "items of an unknown cart", target: "/v2/carts/new/items", want: `{"data":[]}`},
		{name: "bad query", target: cartPath + "?include=%zz", status: 400, want: badQuery},
		{name: "bad query for the items", target: cartPath + "/items?include=%zz", status: 400, want: badQuery},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newCart(t, commercetest.Config{})
				send(t, store, addRequest(onCartA, item))
				wantJSON(t, send(t, store, get(tt.target)), max(tt.status, 200), tt.want)
			})
		})
	}
}

// Carts allow no discounts unless they, or the store, say so.
func TestCreateCart(t *testing.T) {
	t.Parallel()
	const (
		enable  = `"discount_settings":{"custom_discounts_enabled":true}`
		disable = `"discount_settings":{"custom_discounts_enabled":false}`
	)
	storeEnables := put("/v2/settings/cart", `{"data":{"type":"settings","discounts":{"custom_discounts_enabled":true}}}`)
	for _, tt := range []struct {
		name, settings, data string
		wantName             string
		wantEnabled          bool
	}{
		{name: "nothing", data: ``, wantName: "Cart"},
		{name: "name", data: `"name":"Mine"`, wantName: "Mine"},
		{name: "enabled", data: `"name":"Mine",` + enable, wantName: "Mine", wantEnabled: true},
		{name: "enabled by the store", settings: storeEnables, wantName: "Cart", wantEnabled: true},
		{name: "enabled by the store, disabled by the cart", settings: storeEnables, data: disable, wantName: "Cart"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachSender(t, func(t *testing.T, send sendFunc) {
				store := commercetest.NewStore(commercetest.Config{})
				before := decodeCart(t, send(store, post("/v2/carts", `{"data":{}}`)), 201)
				if tt.settings != "" {
					wantEqual(t, "status of the settings", send(store, tt.settings).Status, 200)
				}
				c := decodeCart(t, send(store, post("/v2/carts", `{"data":{`+tt.data+`}}`)), 201)
				wantEqual(t, "name", c.Data.Name, tt.wantName)
				wantEqual(t, "enabled", c.Data.DiscountSettings.Enabled, tt.wantEnabled)
				wantEqual(t, "cart", readCart(t, store, c.Data.ID), c)
				wantEqual(t, "the cart before", readCart(t, store, before.Data.ID), before)
				wantEqual(t, "ids are equal", c.Data.ID == before.Data.ID, false)
			})
		})
	}
}

func TestUpdateCart(t *testing.T) {
	t.Parallel()
	store := newCart(t, commercetest.Config{})
	for _, tt := range []struct {
		name, data string
		wantName   string
		want       bool // custom discounts are enabled
	}{
		{name: "name", data: `"name":"Mine"`, wantName: "Mine", want: true},
		{name: "disable", data: `"discount_settings":{"custom_discounts_enabled":false}`, wantName: "Mine"},
		{name: "nothing", data: `"discount_settings":{}`, wantName: "Mine"},
		{
			name: "both", data: `"name":"Yours","discount_settings":{"custom_discounts_enabled":true}`,
			wantName: "Yours", want: true,
		},
	} {
		c := decodeCart(t, send(t, store, put(cartPath, `{"data":{`+tt.data+`}}`)), 200)
		wantEqual(t, tt.name+": name", c.Data.Name, tt.wantName)
		wantEqual(t, tt.name+": enabled", c.Data.DiscountSettings.Enabled, tt.want)
		wantEqual(t, tt.name+": cart", readCart(t, store, cartID), c)
	}
	decodeCart(t, send(t, store, put("/v2/carts/new", `{"data":{"name":"New"}}`)), 200)
	wantEqual(t, "name of a cart that was not there", readCart(t, store, "new").Data.Name, "New")
}

// Only one of the two kinds of discounts can be enabled. The refusal of an update is an error
// object without a list around it.
func TestUpdateCart_bothSettings(t *testing.T) {
	t.Parallel()
	const (
		refusal = `{"status":422,"title":"Cannot use both discounts together",` +
			`"detail":"Only one discount setting can be set to true at a time."}`
		promotions = `{"data":{"discount_settings":{"custom_discounts_enabled":%t,"use_rule_promotions":true}}}`
	)
	store := newCart(t, commercetest.Config{})
	wantJSON(t, send(t, store, put(cartPath, fmt.Sprintf(promotions, true))), 422, refusal)
	wantEqual(t, "enabled after a refusal", readCart(t, store, cartID).Data.DiscountSettings.Enabled, true)
	wantJSON(t, send(t, store, post("/v2/carts", fmt.Sprintf(promotions, true))), 422, `{"errors":[`+refusal+`]}`)
	if resp := send(t, store, put(cartPath, fmt.Sprintf(promotions, false))); resp.Status != 200 ||
		!strings.Contains(resp.Body, `"custom_discounts_enabled":false,"use_rule_promotions":true`) {
		t.Errorf("response %d %s, want the settings", resp.Status, resp.Body)
	}
	wantJSON(t, send(t, store, put(cartPath, enableDiscounts)), 422, refusal)

	// One request may exchange them.
	exchanged := send(t, store, put(cartPath, exchangeSettings))
	wantEqual(t, "settings afterwards", settingsOf(t, exchanged), [2]bool{true, false})
	wantEqual(t, "settings read", settingsOf(t, send(t, store, get(cartPath))), [2]bool{true, false})
	wantEqual(t, "status of an add", send(t, store, addRequest(onCartA)).Status, 201)
}

// Bodies of requests that change the settings of a cart.
const (
	enableDiscounts  = `{"data":{"discount_settings":{"custom_discounts_enabled":true}}}`
	usePromotions    = `{"data":{"discount_settings":{"custom_discounts_enabled":false,"use_rule_promotions":true}}}`
	exchangeSettings = `{"data":{"discount_settings":{"custom_discounts_enabled":true,"use_rule_promotions":false}}}`
)

// settingsOf returns whether a cart takes custom discounts, and whether it uses promotions.
func settingsOf(t *testing.T, resp wireResponse) [2]bool {
	t.Helper()
	var c struct {
		Data struct {
			Settings struct {
				Enabled    bool `json:"custom_discounts_enabled"`
				Promotions bool `json:"use_rule_promotions"`
			} `json:"discount_settings"`
		}
	}
	if err := json.Unmarshal([]byte(resp.Body), &c); err != nil || resp.Status >= 300 {
		t.Fatalf("response %d %s, error %v, want a cart", resp.Status, resp.Body, err)
	}
	return [2]bool{c.Data.Settings.Enabled, c.Data.Settings.Promotions}
}

// A request that enables custom discounts removes the promotions of the store, which would
// refuse them, even if they were enabled before. The cart of the test has a promotion.
func TestUpdateCart_promotions(t *testing.T) {
	t.Parallel()
	stay, older := commercetest.Config{PromotionsStay: true}, commercetest.Config{StandardPromotions: true}
	for _, tt := range []struct {
		name, body string
		cfg        commercetest.Config
		status     int
		items      int // afterwards; the promotion is one
		add        int // status of an add afterwards
	}{
		{name: "enable", body: enableDiscounts, status: 200, items: 2, add: 201},
		{name: "exchange", body: exchangeSettings, status: 200, items: 2, add: 201},
		{name: "enable, they stay", body: enableDiscounts, cfg: stay, status: 200, items: 3, add: 422},
		{name: "enable, older ones stay", body: enableDiscounts, cfg: older, status: 200, items: 3, add: 422},
		{name: "only the name", body: `{"data":{"name":"Mine"}}`, status: 200, items: 3, add: 422},
		{name: "disable", body: usePromotions, status: 200, items: 3, add: 400},
		{
			name: "refused", status: 422, items: 3, add: 422,
			body: `{"data":{"discount_settings":{"custom_discounts_enabled":true,"use_rule_promotions":true}}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachSender(t, func(t *testing.T, send sendFunc) {
				store := newCart(t, tt.cfg)
				store.AddPromotion(cartID)
				wantEqual(t, "status", send(store, put(cartPath, tt.body)).Status, tt.status)
				wantEqual(t, "items", len(readCart(t, store, cartID).Data.Relationships.Items.Data), tt.items)
				wantEqual(t, "status of an add", send(store, addRequest(onCartA)).Status, tt.add)
			})
		})
	}
}

// The settings of the store are those of new carts. Both cannot be true.
func TestUpdateCartSettings(t *testing.T) {
	t.Parallel()
	const refusal = `{"status":422,"title":"Cannot use both discounts together",` +
		`"detail":"Only one discount setting can be set to true at a time."}`
	none, enabled, promotions := [2]bool{}, [2]bool{true, false}, [2]bool{false, true}
	shown := map[[2]bool]string{
		none:       `{"custom_discounts_enabled":false,"use_rule_promotions":false}`,
		enabled:    `{"custom_discounts_enabled":true,"use_rule_promotions":false}`,
		promotions: `{"custom_discounts_enabled":false,"use_rule_promotions":true}`,
	}
	const path = "/v2/settings/cart"
	store := commercetest.NewStore(commercetest.Config{})
	for i, tt := range []struct { // each changes what the one before left
		name, discounts string
		refused         bool
		want            [2]bool // settings afterwards
	}{
		{name: "both", discounts: `{"custom_discounts_enabled":true,"use_rule_promotions":true}`, refused: true, want: none},
		{name: "promotions", discounts: `{"use_rule_promotions":true}`, want: promotions},
		{name: "enable with promotions", discounts: `{"custom_discounts_enabled":true}`, refused: true, want: promotions},
		{name: "nothing", discounts: `{}`, want: promotions},
		{name: "exchange", discounts: `{"custom_discounts_enabled":true,"use_rule_promotions":false}`, want: enabled},
		{name: "promotions with discounts", discounts: `{"use_rule_promotions":true}`, refused: true, want: enabled},
		{name: "none", discounts: `{"custom_discounts_enabled":false}`, want: none},
	} {
		resp := send(t, store, put(path, `{"data":{"type":"settings","discounts":`+tt.discounts+`}}`))
		want := cartSettings(7, shown[tt.want], false)
		if tt.refused {
			wantJSON(t, resp, 422, refusal)
		} else {
			wantJSON(t, resp, 200, want)
		}
		wantJSON(t, send(t, store, get(path)), 200, want)
		wantEqual(t, tt.name+": a new cart", settingsOf(t, send(t, store, post("/v2/carts", `{"data":{}}`))), tt.want)
		read := send(t, store, get(fmt.Sprint("/v2/carts/new-", i)))
		wantEqual(t, tt.name+": a cart that a read created", settingsOf(t, read), tt.want)
		added := send(t, store, get("/v2/carts/"+store.AddCart()))
		wantEqual(t, tt.name+": a cart of AddCart", settingsOf(t, added), tt.want)
	}
}

// cartSettings returns the body of the settings for new carts. isSet tells whether those that
// change nothing in this store are other than at first.
func cartSettings(days int, discounts string, isSet bool) string {
	return fmt.Sprintf(`{"data":{"type":"settings","id":"7b61cbc7-06e6-89f8-9444-e5a22b9a3d13","cart_expiry_days":%d,`+
		`"discounts":%s,"inventories":{"defer_inventory_check":%t},"items":{"separate_items_by_location":%[3]t},`+
		`"show_all_carts":%t}}`, days, discounts, isSet, !isSet)
}

// The settings that change nothing in this store are kept, each for itself.
func TestUpdateCartSettings_others(t *testing.T) {
	t.Parallel()
	const (
		path = "/v2/settings/cart"
		none = `{"custom_discounts_enabled":false,"use_rule_promotions":false}`
	)
	store := commercetest.NewStore(commercetest.Config{})
	first := cartSettings(7, none, false)
	wantJSON(t, send(t, store, get(path)), 200, first)
	settings := []string{
		`"inventories":{"defer_inventory_check":%t}`, `"items":{"separate_items_by_location":%t}`, `"show_all_carts":%t`,
	}
	set := func(i int, value bool) wireResponse {
		return send(t, store, put(path, fmt.Sprintf(`{"data":{"type":"settings",`+settings[i]+`}}`, value)))
	}
	for i := range settings {
		value := i < 2 // those that are false at first
		want := strings.Replace(first, fmt.Sprintf(settings[i], !value), fmt.Sprintf(settings[i], value), 1)
		wantJSON(t, set(i, value), 200, want)
		wantJSON(t, set(i, !value), 200, first)
	}
	for i := range settings {
		set(i, i < 2)
	}
	wantJSON(t, send(t, store, get(path)), 200, cartSettings(7, none, true))
}

// A new cart may exchange the settings that it has from the store.
func TestCreateCart_exchangesSettings(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{})
	send(t, store, put("/v2/settings/cart", `{"data":{"type":"settings","discounts":{"use_rule_promotions":true}}}`))
	wantEqual(t, "status of enable", send(t, store, post("/v2/carts", enableDiscounts)).Status, 422)
	exchanged := send(t, store, post("/v2/carts", exchangeSettings))
	wantEqual(t, "settings", settingsOf(t, exchanged), [2]bool{true, false})
}

// Lists that are empty have several forms.
func TestEmptyLists(t *testing.T) {
	t.Parallel()
	const target = "?include=items,custom_discounts"
	for _, tt := range []struct {
		lists commercetest.EmptyLists
		// The relationships of an empty cart, of a cart with an item, and of the item.
		empty, full, item string
		included          string // in a cart without items
		discounts         string // in a cart with an item
		items             string // of an empty cart
	}{
		{
			lists: commercetest.EmptyListsAsPrinted, empty: `{"items":{"data":null}}`, full: `{"items":%s}`,
			item: `{"custom_discounts":{"data":null}}`, items: `[]`,
		},
		{lists: commercetest.EmptyListsLeftOut, empty: `{}`, full: `{"items":%s}`, item: `{}`, items: `[]`},
		{
			lists: commercetest.EmptyListsNull, empty: `{"items":{"data":null},"custom_discounts":{"data":null}}`,
			full: `{"items":%s,"custom_discounts":{"data":null}}`, item: `{"custom_discounts":{"data":null}}`,
			included: `{"custom_discounts":null,"items":null}`, discounts: `null`, items: `null`,
		},
		{
			lists: commercetest.EmptyListsAsArrays, empty: `{"items":{"data":[]},"custom_discounts":{"data":[]}}`,
			full: `{"items":%s,"custom_discounts":{"data":[]}}`, item: `{"custom_discounts":{"data":[]}}`,
			included: `{"custom_discounts":[],"items":[]}`, discounts: `[]`, items: `[]`,
		},
	} {
		store := commercetest.NewStore(commercetest.Config{EmptyLists: tt.lists})
		id := store.AddCart(commerce.CartItemRef{ID: uuid.MustParse(cartItem)})
		name := fmt.Sprint("EmptyLists ", tt.lists)
		full := rawCart(t, send(t, store, get("/v2/carts/"+id+target)))
		wantEqual(t, name+": relationships of a cart", string(full.Data.Relationships),
			fmt.Sprintf(tt.full, `{"data":[{"type":"cart_item","id":"`+cartItem+`"}]}`))
		var items []struct{ Relationships json.RawMessage }
		if err := json.Unmarshal(full.Included["items"], &items); err != nil || len(items) != 1 {
			t.Fatalf("%s: items %s, error %v, want one", name, full.Included["items"], err)
		}
		wantEqual(t, name+": relationships of an item", string(items[0].Relationships), tt.item)
		wantEqual(t, name+": discounts", string(full.Included["custom_discounts"]), tt.discounts)
		empty := send(t, store, get("/v2/carts/new"+target))
		wantEqual(t, name+": relationships of an empty cart", string(rawCart(t, empty).Data.Relationships), tt.empty)
		_, included, _ := strings.Cut(empty.Body, `,"included":`)
		wantEqual(t, name+": included in an empty cart", strings.TrimSuffix(included, "}"), tt.included)
		wantJSON(t, send(t, store, get("/v2/carts/new/items")), 200, `{"data":`+tt.items+`}`)
	}
}

// rawCartBody is a cart whose parts are not decoded.
type rawCartBody struct {
	Data struct {
		Relationships json.RawMessage
		Meta          struct {
			DisplayPrice struct{ Discount struct{ Amount int } } `json:"display_price"`
		}
	}
	Included map[string]json.RawMessage
	Errors   []json.RawMessage
}

func rawCart(t *testing.T, resp wireResponse) (c rawCartBody) {
	t.Helper()
	if err := json.Unmarshal([]byte(resp.Body), &c); err != nil {
		t.Fatalf("body %s: %v", resp.Body, err)
	}
	return c
}

func TestErrorsBesideCarts(t *testing.T) {
	t.Parallel()
	store := newCart(t, commercetest.Config{ErrorsBesideCarts: true})
	for target, want := range map[string]int{cartPath: 1, "/v2/carts/new": 1} {
		wantEqual(t, target+": errors", len(rawCart(t, send(t, store, get(target))).Errors), want)
	}
	if resp := send(t, store, get(cartPath+"/items")); resp.Status != 200 || !strings.Contains(resp.Body, `"errors":[`) {
		t.Errorf("items: %d %s, want errors beside them", resp.Status, resp.Body)
	}
	if resp := send(t, store, put(cartPath, `{"data":{}}`)); strings.Contains(resp.Body, "errors") {
		t.Errorf("a write: %s, want no errors", resp.Body)
	}
}

// A promotion of the store is in the total discount, which the discounts of the items make up, and
// it is an item. Those of the older kind do not say where they are from.
func TestAddPromotion_shown(t *testing.T) {
	t.Parallel()
	for source, cfg := range map[any]commercetest.Config{"rule-promotion": {}, nil: {StandardPromotions: true}} {
		store := newCart(t, cfg)
		store.AddPromotion(cartID)
		resp := send(t, store, get(cartPath+"?include=items"))
		c := rawCart(t, resp)
		var items []struct {
			ID, Type      string
			PromotionID   string `json:"promotion_id"`
			Source        any    `json:"promotion_source"`
			Value         struct{ Amount int }
			Relationships json.RawMessage
			Discounts     []struct {
				ID     string
				Amount struct{ Amount int }
				Source any `json:"promotion_source"`
			}
		}
		if err := json.Unmarshal(c.Included["items"], &items); err != nil || len(items) != 3 {
			t.Fatalf("items %s, error %v, want 3", c.Included["items"], err)
		}
		total, promotion := 0, items[2]
		for _, item := range items[:2] {
			wantEqual(t, "discounts of an item", len(item.Discounts), 1)
			wantEqual(t, "source", item.Discounts[0].Source, source)
			wantEqual(t, "promotion", item.Discounts[0].ID, promotion.PromotionID)
			wantEqual(t, "value", item.Value.Amount, 10_000)
			total += item.Discounts[0].Amount.Amount
		}
		wantEqual(t, "total", c.Data.Meta.DisplayPrice.Discount.Amount, total)
		wantEqual(t, "total", total, -2000)
		wantEqual(t, "last item", promotion.Type, "promotion_item")
		wantEqual(t, "source of the last item", promotion.Source, source)
		wantEqual(t, "value of the last item", promotion.Value.Amount, total)
		prices := itemPrices(t, resp.Body)
		wantEqual(t, "price of the first item", prices[0]["with_tax"], [2]int{9000, 9000})
		wantEqual(t, "price of the last item", prices[2], map[string][2]int{
			"with_tax": {total, total}, "without_tax": {total, total}, "tax": {}, "discount": {}, "without_discount": {},
		})
		named := `"promotions":{"data":[{"type":"promotion","id":"` + promotion.PromotionID + `"}]}`
		for _, related := range []json.RawMessage{
			c.Data.Relationships, items[0].Relationships, items[1].Relationships, promotion.Relationships,
		} {
			wantEqual(t, "relationships name it: "+string(related), strings.Contains(string(related), named), true)
		}
		wantEqual(t, "items that the relationships name", strings.Count(string(c.Data.Relationships), `"id"`), 3+1)
		wantEqual(t, "its item is named", strings.Contains(string(c.Data.Relationships), promotion.ID), true)
	}
}

// Custom attributes are replaced as a whole, by a request that has them.
func TestCustomAttributes(t *testing.T) {
	t.Parallel()
	const one, two = `{"a":{"type":"string","value":"x"}}`, `{"b":{"type":"integer","value":1}}`
	store := newCart(t, commercetest.Config{})
	for _, tt := range []struct {
		name, raw, want string
		status          int
	}{
		{name: "none", raw: get(cartPath), status: 200},
		{name: "set", raw: put(cartPath, `{"data":{"custom_attributes":`+one+`}}`), status: 200, want: one},
		{name: "kept", raw: put(cartPath, `{"data":{"name":"n"}}`), status: 200, want: one},
		{name: "replaced", raw: put(cartPath, `{"data":{"custom_attributes":`+two+`}}`), status: 200, want: two},
		{name: "no object", raw: put(cartPath, `{"data":{"custom_attributes":[]}}`), status: 422},
		{name: "read", raw: get(cartPath), status: 200, want: two},
		{name: "new cart", raw: post("/v2/carts", `{"data":{"custom_attributes":`+one+`}}`), status: 201, want: one},
	} {
		var c struct {
			Data struct {
				Attributes json.RawMessage `json:"custom_attributes"`
			}
		}
		resp := send(t, store, tt.raw)
		if err := json.Unmarshal([]byte(resp.Body), &c); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, tt.name+": status", resp.Status, tt.status)
		wantEqual(t, tt.name+": attributes", string(c.Data.Attributes), tt.want)
	}
}

// A change sets updated_at and moves expires_at, also in its own response.
func TestUpdateCart_timestamps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCart(t, commercetest.Config{})
		time.Sleep(time.Hour)
		resp := send(t, store, put(cartPath, `{"data":{"name":"Cart"}}`))
		want := `"timestamps":{"created_at":"2000-01-01T00:00:00.000Z","updated_at":"2000-01-01T01:00:00.000Z",` +
			`"expires_at":"2000-01-08T01:00:00.000Z"}`
		if !strings.Contains(resp.Body, want) {
			t.Errorf("body = %s, want %s in it", resp.Body, want)
		}
	})
}

func TestDeleteCart(t *testing.T) {
	t.Parallel()
	eachSender(t, func(t *testing.T, send sendFunc) {
		store := newCart(t, commercetest.Config{})
		send(store, addRequest(onCartA))
		for range 2 {
			wantNoContent(t, send(store, del(cartPath)))
			wantEqual(t, "items", len(readCart(t, store, cartID).Data.Relationships.Items.Data), 0)
			wantEqual(t, "discounts", len(store.Discounts(cartID)), 0)
		}
	})
}

func wantNoContent(t *testing.T, resp wireResponse) {
	t.Helper()
	wantEqual(t, "status", resp.Status, 204)
	wantEqual(t, "body", resp.Body, "")
}

// itemsBody is the part of a list of items that the tests check.
type itemsBody struct {
	Data []struct {
		ID        uuid.UUID
		Type      string
		ProductID string `json:"product_id"`
		Name, SKU string
		Quantity  int
		UnitPrice struct{ Amount int } `json:"unit_price"`
		Value     struct{ Amount int }
	}
}

func decodeItems(t *testing.T, resp wireResponse, status int) (items itemsBody) {
	t.Helper()
	wantEqual(t, "status", resp.Status, status)
	if err := json.Unmarshal([]byte(resp.Body), &items); err != nil {
		t.Fatal(err)
	}
	return items
}

func TestItems(t *testing.T) {
	t.Parallel()
	eachSender(t, func(t *testing.T, send sendFunc) {
		store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
		const items = "/v2/carts/new/items" // of a cart that is not there yet
		send(store, post(items, `{"data":{"type":"cart_item","id":"product-1","quantity":2}}`))
		added := decodeItems(t, send(store, post(items,
			`{"data":{"type":"custom_item","name":"Gift wrap","sku":"wrap","quantity":3,"price":{"amount":250}}}`)), 201)
		var got []string
		for _, i := range added.Data {
			got = append(got, fmt.Sprintf("%s %q %s %s %d*%d=%d",
				i.Type, i.ProductID, i.Name, i.SKU, i.Quantity, i.UnitPrice.Amount, i.Value.Amount))
		}
		wantEqual(t, "items", got, []string{
			`cart_item "product-1" Product sku-000001 2*10000=20000`, `custom_item "" Gift wrap wrap 3*250=750`,
		})
		wantEqual(t, "items read", decodeItems(t, send(store, get(items)), 200), added)

		left := decodeItems(t, send(store, del(items+"/"+added.Data[0].ID.String())), 200)
		wantEqual(t, "items left", left.Data, added.Data[1:])
		wantEqual(t, "items read", decodeItems(t, send(store, get(items)), 200), left)
		for _, id := range []string{added.Data[0].ID.String(), "no-uuid"} {
			wantJSON(t, send(store, del(items+"/"+id)), 404,
				`{"errors":[{"status":"404","title":"Not Found","detail":"The cart has no such item"}]}`)
		}
	})
}

// Custom items of one SKU are one item, and cart items of one product. The first says what it is.
func TestAddItem_same(t *testing.T) {
	t.Parallel()
	store := newCart(t, commercetest.Config{}) // with an item of each type
	var last wireResponse
	for _, data := range []string{
		`{"type":"custom_item","name":"One","sku":"a","quantity":1,"price":{"amount":5}}`,
		`{"type":"custom_item","name":"Two","sku":"a","quantity":2,"price":{"amount":7}}`,
		`{"type":"custom_item","name":"Three","sku":"b","quantity":1,"price":{"amount":0}}`,
		`{"type":"custom_item","name":"Four","quantity":1,"price":{"amount":1}}`,
		`{"type":"custom_item","name":"Four","quantity":1,"price":{"amount":1}}`, // nobody says that it is the same
		`{"type":"cart_item","id":"p","quantity":1}`, `{"type":"cart_item","id":"q","quantity":1}`,
		`{"type":"cart_item","id":"p","quantity":40}`,
	} {
		last = send(t, store, post(cartPath+"/items", `{"data":`+data+`}`))
	}
	var got []string
	for _, i := range decodeItems(t, last, 201).Data[2:] {
		got = append(got, fmt.Sprintf("%s %s%s %d*%d=%d",
			i.Name, i.Type, i.ProductID, i.Quantity, i.UnitPrice.Amount, i.Value.Amount))
	}
	wantEqual(t, "items", got, []string{
		"One custom_item 3*5=15", "Three custom_item 1*0=0", "Four custom_item 1*1=1", "Four custom_item 1*1=1",
		"Product cart_itemp 41*10000=410000", "Product cart_itemq 1*10000=10000",
	})
}

// A cart that is emptied keeps its name and its own discounts.
func TestDeleteItems(t *testing.T) {
	t.Parallel()
	store := newCart(t, commercetest.Config{StandardPromotions: true})
	send(t, store, addRequest(onCartA, item))
	send(t, store, put(cartPath, `{"data":{"name":"Mine"}}`))
	store.AddPromotion(cartID)
	for range 2 {
		wantNoContent(t, send(t, store, del(cartPath+"/items")))
		c := readCart(t, store, cartID)
		wantEqual(t, "items", len(c.Data.Relationships.Items.Data), 0)
		wantEqual(t, "name", c.Data.Name, "Mine")
		if list := store.Discounts(cartID); len(list) != 1 || list[0].Item != nil {
			t.Errorf("discounts %v, want that of the cart", list)
		}
	}
	wantEqual(t, "status of a new item", send(t, store, post(cartPath+"/items",
		`{"data":{"type":"cart_item","id":"p","quantity":1}}`)).Status, 201)
	wantEqual(t, "status of an add: the promotion has gone", send(t, store, addRequest(onCartA)).Status, 201)
}

// A change of the quantity changes the value of the item.
func TestUpdateItem(t *testing.T) {
	t.Parallel()
	store := newCart(t, commercetest.Config{})
	cart, err := store.Client().Carts.Get(t.Context(), cartID)
	if err != nil {
		t.Fatal(err)
	}
	resp := send(t, store, put(itemPath, `{"data":{"quantity":3}}`))
	wantEqual(t, "status", resp.Status, 200)
	changed, err := store.Client().Carts.Get(t.Context(), cartID)
	if err != nil {
		t.Fatal(err)
	}
	was, is := cart.Items[0], changed.Items[0]
	wantEqual(t, "quantity", is.Quantity, 3)
	wantEqual(t, "unit price", is.UnitPrice.String(), was.UnitPrice.String())
	wantEqual(t, "value", is.Value.Amount.String(), was.UnitPrice.Amount.Mul(commerce.NewDecimal(3)).String())
	same := send(t, store, put(itemPath, `{"data":{"type":"cart_item","shipping_group_id":"`+absentItem+`"}}`))
	wantEqual(t, "quantity without a change", decodeItems(t, same, 200).Data[0].Quantity, 3)
	wantEqual(t, "unknown item", send(t, store, put(cartPath+"/items/"+absentItem, `{"data":{"quantity":3}}`)).Status, 404)
}

func TestCartEndpoints_problems(t *testing.T) {
	t.Parallel()
	checkProblems(t, []problem{
		{name: "cart without data", raw: post("/v2/carts", `{}`), want: "data must be an object"},
		{name: "change without data", raw: put(cartPath, `{}`), want: "data must be an object"},
		{
			name: "two problems", raw: put(cartPath, `{"data":{"name":1,"custom_attributes":[]}}`),
			want: "data.name" + textRequired + "; data.custom_attributes must be an object",
		},
		{name: "blank name", raw: post("/v2/carts", `{"data":{"name":" "}}`), want: "data.name" + textRequired},
		{
			name: "settings are a boolean", raw: put(cartPath, `{"data":{"discount_settings":true}}`),
			want: "data.discount_settings must be an object",
		},
		{
			name: "enabled is a string", raw: put(cartPath, `{"data":{"discount_settings":{"custom_discounts_enabled":"x"}}}`),
			want: "data.discount_settings.custom_discounts_enabled must be a boolean",
		},
		{
			name: "enabled is null", raw: put(cartPath, `{"data":{"discount_settings":{"custom_discounts_enabled":null}}}`),
			want: "data.discount_settings.custom_discounts_enabled must be a boolean",
		},
		{
			name: "settings of another type", raw: put("/v2/settings/cart", `{"data":{"type":"cart"}}`),
			want: "data.type must be settings",
		},
		{
			name: "location is a text", raw: put("/v2/settings/cart",
				`{"data":{"type":"settings","items":{"separate_items_by_location":"x"}}}`),
			want: "data.items.separate_items_by_location must be a boolean",
		},
		{
			name: "inventories are a list", raw: put("/v2/settings/cart", `{"data":{"type":"settings","inventories":[]}}`),
			want: "data.inventories must be an object",
		},
		{
			name: "all carts are null", raw: put("/v2/settings/cart", `{"data":{"type":"settings","show_all_carts":null}}`),
			want: "data.show_all_carts must be a boolean",
		},
		{name: "settings without data", raw: put("/v2/settings/cart", `{}`), want: "data must be an object"},
		{
			name: "promotions are a string", want: "data.discounts.use_rule_promotions must be a boolean",
			raw: put("/v2/settings/cart", `{"data":{"type":"settings","discounts":{"use_rule_promotions":"x"}}}`),
		},
	})
	for _, days := range []string{"0", "366", "-7", "1.5", `"7"`, "null", "1e99"} {
		checkProblems(t, []problem{{
			name: "expiry after " + days + " days", want: "data.cart_expiry_days must be a whole number from 1 to 365",
			raw: put("/v2/settings/cart", `{"data":{"type":"settings","cart_expiry_days":`+days+`}}`),
		}})
	}
}

func TestCartItemEndpoints_problems(t *testing.T) {
	t.Parallel()
	const (
		quantity      = "data.quantity is required, and must be a whole number of at least 1"
		priceRequired = " must be a whole number of at least 0"
	)
	item := func(data string) string { return post(cartPath+"/items", `{"data":`+data+`}`) }
	checkProblems(t, []problem{
		{name: "item without data", raw: post(cartPath+"/items", `{}`), want: "data must be an object"},
		{name: "item without a type", raw: item(`{"quantity":1}`), want: "data.type" + textRequired},
		{
			name: "item of another type", raw: item(`{"type":"subscription_item","quantity":1}`),
			want: "data.type must be cart_item or custom_item",
		},
		{name: "no product", raw: item(`{"type":"cart_item","quantity":1}`), want: "data.id" + textRequired},
		{name: "no quantity", raw: item(`{"type":"cart_item","id":"p"}`), want: quantity},
		{name: "quantity is zero", raw: item(`{"type":"cart_item","id":"p","quantity":0}`), want: quantity},
		{name: "quantity is a fraction", raw: item(`{"type":"cart_item","id":"p","quantity":1.5}`), want: quantity},
		{name: "item changed to none", raw: put(itemPath, `{"data":{"quantity":0}}`), want: quantity},
		{name: "item changed to null", raw: put(itemPath, `{"data":{"quantity":null}}`), want: quantity},
		{
			name: "discount changed to a fraction",
			raw:  put(cartPath+"/custom-discounts/"+absentItem, `{"data":{"type":"custom_discount","amount":-0.5}}`),
			want: "data.amount must be a whole number",
		},
		{
			name: "no name", raw: item(`{"type":"custom_item","quantity":1,"price":{"amount":1}}`),
			want: "data.name" + textRequired,
		},
		{
			name: "blank SKU", raw: item(`{"type":"custom_item","name":"n","sku":"","quantity":1,"price":{"amount":1}}`),
			want: "data.sku" + textRequired,
		},
		{
			name: "no price", raw: item(`{"type":"custom_item","name":"n","quantity":1}`),
			want: "data.price must be an object",
		},
		{
			name: "price is a fraction", raw: item(`{"type":"custom_item","name":"n","quantity":1,"price":{"amount":0.5}}`),
			want: "data.price.amount" + priceRequired,
		},
		{
			name: "price below 0", raw: item(`{"type":"custom_item","name":"n","quantity":1,"price":{"amount":-1}}`),
			want: "data.price.amount" + priceRequired,
		},
		{
			name: "price is a string", raw: item(`{"type":"custom_item","name":"n","quantity":1,"price":{"amount":"1"}}`),
			want: "data.price.amount" + numberRequired,
		},
	})
}

// problem is a request that the store refuses, and the detail of its error.
type problem struct{ name, raw, want string }

// checkProblems sends each request to a store with a cart, which it must not change. A refusal of a
// change of the cart is a 422 with one error object.
func checkProblems(t *testing.T, problems []problem) {
	t.Helper()
	for _, tt := range problems {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := newCart(t, commercetest.Config{})
			before := readCart(t, store, cartID)
			refusal := fmt.Sprintf(`"title":"Validation Error","detail":%q}`, tt.want)
			if strings.HasPrefix(tt.raw, "PUT "+cartPath+" ") {
				wantJSON(t, send(t, store, tt.raw), 422, `{"status":422,`+refusal)
			} else {
				wantJSON(t, send(t, store, tt.raw), 400, `{"errors":[{"status":400,`+refusal+`]}`)
			}
			wantEqual(t, "cart", readCart(t, store, cartID), before)
		})
	}
}
