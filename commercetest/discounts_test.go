package commercetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// The cart of the tests has these items.
const (
	cartItem   = "3b4de20a-ccd0-44e6-894f-628e7afb3db0"
	customItem = "5c1b2a2e-6c9f-4f0e-9d7c-0d7f2a0b9c11"
	absentItem = "00000000-0000-4000-8000-000000000000"
)

func newCart(cfg commercetest.Config) (store *commercetest.Store, path string) {
	store = commercetest.NewStore(cfg)
	id := store.AddCart(
		commerce.CartItemRef{ID: uuid.MustParse(cartItem)},
		commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: uuid.MustParse(customItem)},
	)
	return store, "/v2/carts/" + id
}

// onCart is a discount as the documentation has it.
func onCart(externalID string) string {
	return `{"type":"custom_discount","external_id":"` + externalID + `","discount_engine":"Custom Discount Engine",` +
		`"amount":-1000,"description":"custom discount description","discount_code":"10 off cart"}`
}

func onItem(externalID, kind, id string) string {
	return strings.TrimSuffix(onCart(externalID), "}") + `,"relationships":{"item":{"data":{"type":"` + kind + `","id":"` + id + `"}}}}`
}

func bulk(allOrNothing bool, discounts ...string) string {
	return fmt.Sprintf(`{"data":[%s],"options":{"add_all_or_nothing":%t}}`, strings.Join(discounts, ","), allOrNothing)
}

// added is what is answered for a discount: onCart with an id and the amount as an object.
func added(id, discount string) string {
	return strings.Replace(`{"id":"`+id+`",`+discount[1:], `-1000`, `{"amount":-1000,"currency":"USD","formatted":"-$10.00"}`, 1)
}

// The ids of the first discounts of any store.
const (
	id1 = "a2ec4002-ea45-57b8-b220-b462f9d52f99"
	id2 = "3e179ce5-bd7d-5ab2-acac-7a886bd0c288"
)

const (
	notPresent = `{"status":404,"title":"Custom discount not added to cart item.","detail":"Cart Item is not present in the cart.","meta":{"id":"` + absentItem + `"}}`
	mismatch   = `{"Status":404,"Title":"Custom discount not added to cart item.","Detail":"Mismatch between bulk custom discount type (custom_item) and cart item type (cart_item).","meta":{"id":"` + cartItem + `"}}`
	cartFull   = `{"status":422,"title":"Limit Reached","detail":"Custom discount limit reached for this cart"}`
	itemFull   = `{"status":422,"title":"Limit Reached","detail":"Custom discount limit reached for this cart item","meta":{"id":"` + cartItem + `"}}`
	cartOver   = `{"status":422,"title":"Custom discount not added to cart","detail":"Cannot exceed custom discount limit of (1) at the cart level."}`
)

func TestAddDiscounts(t *testing.T) {
	t.Parallel()
	one := commercetest.Config{CartDiscountLimit: 1, ItemDiscountLimit: 1}
	older := commercetest.Config{AddStatus: 200}
	for _, tt := range []struct {
		name   string
		cfg    commercetest.Config
		before string // a request made first
		body   string
		status int
		want   string
		inCart []string // external ids
	}{
		{
			name: "on the cart", body: bulk(false, onCart("a")), status: 201,
			want:   `{"data":[` + added(id1, onCart("a")) + `],"options":{"add_all_or_nothing":false}}`,
			inCart: []string{"a"},
		},
		{
			name: "without options", body: `{"data":[` + onCart("a") + `]}`, status: 201,
			want:   `{"data":[` + added(id1, onCart("a")) + `],"options":{"add_all_or_nothing":false}}`,
			inCart: []string{"a"},
		},
		{
			name: "on items", body: bulk(true, onItem("a", "cart_item", cartItem), onItem("b", "custom_item", customItem)), status: 201,
			want: `{"data":[` + added(id1, onItem("a", "cart_item", cartItem)) + `,` + added(id2, onItem("b", "custom_item", customItem)) +
				`],"options":{"add_all_or_nothing":true}}`,
			inCart: []string{"a", "b"},
		},
		{
			name: "relationships without an item", status: 201,
			body:   bulk(false, strings.TrimSuffix(onCart("a"), "}")+`,"relationships":{"item":{"data":null}}}`),
			want:   `{"data":[` + added(id1, onCart("a")) + `],"options":{"add_all_or_nothing":false}}`,
			inCart: []string{"a"},
		},
		{
			name: "one external id twice", body: bulk(false, onCart("a"), onCart("a")), status: 201,
			want:   `{"data":[` + added(id1, onCart("a")) + `,` + added(id2, onCart("a")) + `],"options":{"add_all_or_nothing":false}}`,
			inCart: []string{"a", "a"},
		},
		{
			name: "partly", body: bulk(false, onItem("a", "cart_item", absentItem), onCart("b"), onItem("c", "custom_item", cartItem)), status: 201,
			want: `{"data":[` + added(id1, onCart("b")) + `],"errors":[` + notPresent + `,` + mismatch +
				`],"options":{"add_all_or_nothing":false}}`,
			inCart: []string{"b"},
		},
		{
			name: "partly, all or nothing", body: bulk(true, onCart("b"), onItem("a", "cart_item", absentItem)), status: 404,
			want: `{"errors":[` + notPresent + `]}`,
		},
		{
			name: "none", body: bulk(false, onItem("a", "cart_item", absentItem), onItem("b", "cart_item", absentItem)), status: 404,
			want: `{"data":[],"errors":[` + notPresent + `,` + notPresent + `]}`,
		},
		{
			name: "cart full", cfg: one, before: bulk(false, onCart("a")), body: bulk(false, onCart("b")), status: 422,
			want:   `{"data":[],"errors":[` + cartFull + `]}`,
			inCart: []string{"a"},
		},
		{
			name: "batch over the cart's limit", cfg: one, body: bulk(false, onCart("a"), onCart("b")), status: 201,
			want:   `{"data":[` + added(id1, onCart("a")) + `],"errors":[` + cartOver + `],"options":{"add_all_or_nothing":false}}`,
			inCart: []string{"a"},
		},
		{
			name: "batch over the cart's limit, all or nothing", cfg: one, body: bulk(true, onCart("a"), onCart("b")), status: 422,
			want: `{"errors":[` + cartOver + `]}`,
		},
		{
			name: "item full", cfg: one, before: bulk(false, onItem("a", "cart_item", cartItem)),
			body: bulk(false, onItem("b", "cart_item", cartItem)), status: 422,
			want:   `{"data":[],"errors":[` + itemFull + `]}`,
			inCart: []string{"a"},
		},
		{
			name: "limits are apart", cfg: one, before: bulk(false, onCart("a")),
			body: bulk(false, onItem("b", "custom_item", customItem)), status: 201,
			want:   `{"data":[` + added(id2, onItem("b", "custom_item", customItem)) + `],"options":{"add_all_or_nothing":false}}`,
			inCart: []string{"a", "b"},
		},
		{
			name: "mismatch alone", body: bulk(false, onItem("a", "custom_item", cartItem)), status: 404,
			want: `{"data":[],"errors":[` + mismatch + `]}`,
		},
		{
			name: "mismatch, all or nothing", body: bulk(true, onCart("a"), onItem("b", "custom_item", cartItem)), status: 404,
			want: `{"errors":[` + mismatch + `]}`,
		},
		{
			name: "batch over the item's limit", cfg: one, status: 201,
			body: bulk(false, onItem("a", "cart_item", cartItem), onItem("b", "cart_item", cartItem)),
			want: `{"data":[` + added(id1, onItem("a", "cart_item", cartItem)) + `],"errors":[` + itemFull +
				`],"options":{"add_all_or_nothing":false}}`,
			inCart: []string{"a"},
		},
		{
			name: "all or nothing, in a cart that is full", cfg: one, before: bulk(false, onCart("a")),
			body: bulk(true, onItem("b", "custom_item", customItem), onCart("c")), status: 422,
			want:   `{"errors":[` + cartFull + `]}`,
			inCart: []string{"a"},
		},
		{
			name: "older status", cfg: older, body: bulk(false, onCart("a")), status: 200,
			want:   `{"data":[` + added(id1, onCart("a")) + `],"options":{"add_all_or_nothing":false}}`,
			inCart: []string{"a"},
		},
		{
			name: "older status, partly", cfg: older, body: bulk(false, onItem("a", "cart_item", absentItem), onCart("b")), status: 200,
			want:   `{"data":[` + added(id1, onCart("b")) + `],"errors":[` + notPresent + `],"options":{"add_all_or_nothing":false}}`,
			inCart: []string{"b"},
		},
		{
			name: "older status, none", cfg: older, body: bulk(false, onItem("a", "cart_item", absentItem)), status: 404,
			want: `{"data":[],"errors":[` + notPresent + `]}`,
		},
		{
			name: "not enabled, on an item", cfg: commercetest.Config{CartDiscountLimit: -1}, status: 400,
			body: bulk(true, onItem("a", "cart_item", cartItem)),
			want: `{"errors":[{"status":400,"title":"Bad Request","detail":"Custom discounts not enabled for this cart"}]}`,
		},
		{
			name: "not enabled", cfg: commercetest.Config{CartDiscountLimit: -1}, body: bulk(false, onCart("a")), status: 400,
			want: `{"errors":[{"status":400,"title":"Bad Request","detail":"Custom discounts not enabled for this cart"}]}`,
		},
		{
			name: "no discounts on items", cfg: commercetest.Config{ItemDiscountLimit: -1},
			body: bulk(false, onItem("a", "cart_item", cartItem)), status: 422,
			want: `{"data":[],"errors":[` + itemFull + `]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
				store, path := newCart(tt.cfg)
				if tt.before != "" {
					if a := send(store, post(path+"/custom-discounts", tt.before)); a.Status != store.Config().AddStatus {
						t.Fatalf("status %d of the request before: %s", a.Status, a.Body)
					}
				}
				wantJSON(t, send(store, post(path+"/custom-discounts", tt.body)), tt.status, tt.want)
				var inCart []string
				for _, d := range store.Discounts(strings.TrimPrefix(path, "/v2/carts/")) {
					inCart = append(inCart, d.ExternalID)
				}
				if diff := cmp.Diff(tt.inCart, inCart); diff != "" {
					t.Errorf("in the cart (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestEmptyCart adds to a cart without items, which takes discounts for itself.
func TestEmptyCart(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
		store := commercetest.NewStore(commercetest.Config{})
		path := "/v2/carts/" + store.AddCart()
		store.AddCart(commerce.CartItemRef{ID: uuid.MustParse(absentItem)}) // its item is not the other's
		a := send(store, post(path+"/custom-discounts", bulk(false, onItem("a", "cart_item", absentItem), onCart("b"))))
		wantJSON(t, a, 201, `{"data":[`+added(id1, onCart("b"))+`],"errors":[`+notPresent+`],"options":{"add_all_or_nothing":false}}`)
		wantJSON(t, send(store, get(path+"?include=custom_discounts")), 200,
			`{"data":{"id":"`+strings.TrimPrefix(path, "/v2/carts/")+`","type":"cart"},"included":{"custom_discounts":[`+added(id1, onCart("b"))+`]}}`)
	})
}

func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
		store, path := newCart(commercetest.Config{})
		var batch []string
		for i := range 6 {
			batch = append(batch, onCart(fmt.Sprint("cart ", i)), onItem(fmt.Sprint("item ", i), "cart_item", cartItem))
		}
		a := send(store, post(path+"/custom-discounts", bulk(false, batch...)))
		body, _ := decode(t, a.Body).(map[string]any)
		data, _ := body["data"].([]any)
		errors, _ := body["errors"].([]any)
		if a.Status != 201 || len(data) != 10 || len(errors) != 2 {
			t.Errorf("status %d, %d added, %d errors; want 201, 10, 2", a.Status, len(data), len(errors))
		}
	})
}

func TestAddDiscountsValidation(t *testing.T) {
	t.Parallel()
	const good = `"type":"custom_discount","external_id":"x","discount_engine":"e","amount":-1,"description":"d","discount_code":"c"`
	replace := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("no %s in the discount", old)
		}
		return bulk(false, "{"+strings.Replace(good, old, with, 1)+"}")
	}
	item := func(data string) string {
		return bulk(false, "{"+good+`,"relationships":{"item":{"data":`+data+`}}}`)
	}
	const (
		text   = " is required, and must be a string that is not empty"
		number = " is required, and must be a number"
		data   = "data must be an array with at least one custom discount"
	)
	for _, tt := range []struct {
		name, body string
		details    []string
	}{
		{"empty", "", []string{"body must be an object"}},
		{"not JSON", "{", []string{"body must be an object"}},
		{"null", "null", []string{"body must be an object"}},
		{"array", "[]", []string{"body must be an object"}},
		{"no data", "{}", []string{data}},
		{"data in capitals", `{"Data":[{` + good + `}]}`, []string{data}},
		{"data is an object", `{"data":{` + good + `}}`, []string{data}},
		{"no discount", bulk(false), []string{data}},
		{"discount is null", bulk(false, "null"), []string{"data[0] must be an object"}},
		{"options are a boolean", `{"data":[{` + good + `}],"options":true}`, []string{"options must be an object"}},
		{
			"all or nothing is a string", `{"data":[{` + good + `}],"options":{"add_all_or_nothing":"true"}}`,
			[]string{"options.add_all_or_nothing must be a boolean"},
		},
		{"no type", replace(`"type":"custom_discount",`, ""), []string{"data[0].type" + text}},
		{"other type", replace(`"custom_discount"`, `"discount"`), []string{"data[0].type must be custom_discount"}},
		{"no external id", replace(`"external_id":"x",`, ""), []string{"data[0].external_id" + text}},
		{"external id is null", replace(`"x"`, "null"), []string{"data[0].external_id" + text}},
		{"external id is a number", replace(`"x"`, "7"), []string{"data[0].external_id" + text}},
		{"external id in capitals", replace(`"external_id"`, `"External_ID"`), []string{"data[0].external_id" + text}},
		{"empty engine", replace(`"e"`, `""`), []string{"data[0].discount_engine" + text}},
		{"blank description", replace(`"d"`, `" "`), []string{"data[0].description" + text}},
		{"no code", replace(`,"discount_code":"c"`, ""), []string{"data[0].discount_code" + text}},
		{"no amount", replace(`"amount":-1,`, ""), []string{"data[0].amount" + number}},
		{"amount is a string", replace("-1", `"-1"`), []string{"data[0].amount" + number}},
		{"amount is null", replace("-1", "null"), []string{"data[0].amount" + number}},
		{"amount is an object", replace("-1", `{"amount":-1}`), []string{"data[0].amount" + number}},
		{"amount is zero", replace("-1", "0"), []string{"data[0].amount must be less than zero"}},
		{"amount is minus zero", replace("-1", "-0.0"), []string{"data[0].amount must be less than zero"}},
		{"amount is positive", replace("-1", "5"), []string{"data[0].amount must be less than zero"}},
		{"item is a string", item(`"` + cartItem + `"`), []string{"data[0].relationships.item.data must be an object"}},
		{
			"item of another type", item(`{"type":"promotion_item","id":"` + cartItem + `"}`),
			[]string{"data[0].relationships.item.data.type must be cart_item or custom_item"},
		},
		{"item without an id", item(`{"type":"cart_item"}`), []string{"data[0].relationships.item.data.id" + text}},
		{"item with another id", item(`{"type":"cart_item","id":"sku-1"}`), []string{"data[0].relationships.item.data.id must be a UUID"}},
		{
			"every fault at once", bulk(false, "{"+good+"}", "{}"),
			[]string{
				"data[1].type" + text, "data[1].amount" + number, "data[1].description" + text,
				"data[1].discount_code" + text, "data[1].discount_engine" + text, "data[1].external_id" + text,
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
				store, path := newCart(commercetest.Config{})
				var errors []string
				for _, detail := range tt.details {
					errors = append(errors, fmt.Sprintf(`{"status":400,"title":"Validation Error","detail":%q}`, detail))
				}
				a := send(store, post(path+"/custom-discounts", tt.body))
				wantJSON(t, a, 400, `{"errors":[`+strings.Join(errors, ",")+`]}`)
				if got := store.Discounts(strings.TrimPrefix(path, "/v2/carts/")); len(got) != 0 {
					t.Errorf("added %v", got)
				}
			})
		})
	}
}

func TestAddDiscountsMediaType(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
		store, path := newCart(commercetest.Config{})
		raw := post(path+"/custom-discounts", bulk(false, onCart("a")))
		a := send(store, strings.Replace(raw, "Content-Type: application/json", "Content-Type: text/plain", 1))
		wantJSON(t, a, 415, `{"errors":[{"status":"415","title":"Unsupported Media Type","detail":"The body must be application/json"}]}`)
		a = send(store, strings.Replace(raw, "Content-Type: application/json", "Content-Type: application/json; charset=utf-8", 1))
		if a.Status != 201 {
			t.Errorf("status %d with a charset, want 201", a.Status)
		}
	})
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ sent, amount, formatted string }{
		{"-1000", "-1000", "-$10.00"},
		{"-1", "-1", "-$0.01"},
		{"-12.5", "-12.5", "-$0.13"},
		{"-1e5", "-100000", "-$1000.00"},
		{"-123456789012345678901", "-123456789012345678901", "-$1234567890123456789.01"},
	} {
		t.Run(tt.sent, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
				store, path := newCart(commercetest.Config{})
				discount := strings.Replace(onCart("a"), "-1000", tt.sent, 1)
				a := send(store, post(path+"/custom-discounts", bulk(false, discount)))
				want := strings.Replace(onCart("a"), "-1000", `{"amount":`+tt.amount+`,"currency":"USD","formatted":"`+tt.formatted+`"}`, 1)
				wantJSON(t, a, 201, `{"data":[{"id":"`+id1+`",`+want[1:]+`],"options":{"add_all_or_nothing":false}}`)
			})
		})
	}
}

func TestCart(t *testing.T) {
	t.Parallel()
	const missing = `{"errors":[{"status":404,"title":"Not Found","detail":"The requested cart could not be found"}]}`
	eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
		store, path := newCart(commercetest.Config{})
		id := strings.TrimPrefix(path, "/v2/carts/")
		data := `"data":{"id":"` + id + `","type":"cart"}`

		wantJSON(t, send(store, get(path)), 200, `{`+data+`}`)
		wantJSON(t, send(store, get(path+"?include=custom_discounts")), 200, `{`+data+`,"included":{"custom_discounts":[]}}`)
		send(store, post(path+"/custom-discounts", bulk(false, onCart("a"))))
		wantJSON(t, send(store, get(path+"?include=items,custom_discounts")), 200,
			`{`+data+`,"included":{"custom_discounts":[`+added(id1, onCart("a"))+`]}}`)
		wantJSON(t, send(store, get(path+"?include=%zz")), 400,
			`{"errors":[{"status":"400","title":"Bad Request","detail":"Could not parse the query"}]}`)

		wantJSON(t, send(store, get("/v2/carts/other")), 404, missing)
		wantJSON(t, send(store, post("/v2/carts/other/custom-discounts", bulk(false, onCart("a")))), 404, missing)
		if got := store.Discounts("other"); got != nil {
			t.Errorf("discounts of a cart that is not there: %v", got)
		}
	})
}

func TestDiscountsAreCopies(t *testing.T) {
	t.Parallel()
	store, path := newCart(commercetest.Config{})
	if _, err := overTransport(t, store, post(path+"/custom-discounts", bulk(false, onItem("a", "cart_item", cartItem)))); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimPrefix(path, "/v2/carts/")
	first := store.Discounts(id)
	first[0].ExternalID, first[0].Item.ID = "changed", uuid.Nil
	want := []commerce.CustomDiscount{{
		ID: uuid.MustParse(id1), Type: "custom_discount",
		Amount:      commerce.Money{Amount: commerce.NewDecimal(-1000), Currency: "USD", Formatted: "-$10.00"},
		Description: "custom discount description", DiscountCode: "10 off cart", DiscountEngine: "Custom Discount Engine", ExternalID: "a",
		Item: &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse(cartItem)},
	}}
	if diff := cmp.Diff(want, store.Discounts(id)); diff != "" {
		t.Errorf("discounts (-want +got):\n%s", diff)
	}
}
