package commercetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/commerce-go/commerce/commercetest"
)

// validDiscount has the shortest valid members.
const validDiscount = `{"type":"custom_discount","external_id":"x","discount_engine":"e","amount":-1,` +
	`"description":"d","discount_code":"c"}`

const (
	textRequired   = " is required, and must be a string that is not empty"
	numberRequired = " is required, and must be a number"
)

// wantProblems sends the body of a bulk request. The response must list the problems.
func wantProblems(t *testing.T, body string, problems ...string) {
	t.Helper()
	store := newCart(t, commercetest.Config{})
	var want []string
	for _, detail := range problems {
		want = append(want, fmt.Sprintf(`{"status":400,"title":"Validation Error","detail":%q}`, detail))
	}
	resp := send(t, store, post(cartPath+"/custom-discounts", body))
	wantJSON(t, resp, 400, `{"errors":[`+strings.Join(want, ",")+`]}`)
	wantEqual(t, "discounts of the cart", len(store.Discounts(cartID)), 0)
}

func TestAddDiscounts_bodyProblems(t *testing.T) {
	t.Parallel()
	const (
		notObject = "body must be an object"
		noData    = "data must be a custom discount, or an array with at least one"
		data      = `"data":[` + validDiscount + `]`
	)
	for _, tt := range []struct{ name, body, want string }{
		{name: "empty", body: "", want: notObject},
		{name: "not JSON", body: "{", want: notObject},
		{name: "null", body: "null", want: notObject},
		{name: "array", body: "[]", want: notObject},
		{name: "no data", body: "{}", want: noData},
		{name: "data in capitals", body: `{"Data":[` + validDiscount + `]}`, want: noData},
		{name: "data is a number", body: `{"data":1}`, want: noData},
		{
			name: "data is an object", body: `{"data":` + strings.Replace(validDiscount, "-1", "1", 1) + `}`,
			want: "data.amount must be less than zero",
		},
		{name: "no discount", body: `{"data":[]}`, want: noData},
		{name: "discount is null", body: `{"data":[null]}`, want: "data[0] must be an object"},
		{name: "options are a boolean", body: `{` + data + `,"options":true}`, want: "options must be an object"},
		{
			name: "all or nothing is a string", body: `{` + data + `,"options":{"add_all_or_nothing":"true"}}`,
			want: "options.add_all_or_nothing must be a boolean",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantProblems(t, tt.body, tt.want)
		})
	}
}

func TestAddDiscounts_discountProblems(t *testing.T) {
	t.Parallel()
	const (
		positive = "amount must be less than zero"
		lastPart = `"c"}`
		item     = `"c","relationships":{"item":{"data":`
	)
	for _, tt := range []struct {
		name     string
		old, new string // changes the valid discount
		want     string // after data[0]
	}{
		{name: "no type", old: `"type":"custom_discount",`, new: "", want: "type" + textRequired},
		{name: "other type", old: `"custom_discount"`, new: `"discount"`, want: "type must be custom_discount"},
		{name: "no external id", old: `"external_id":"x",`, new: "", want: "external_id" + textRequired},
		{name: "external id is null", old: `"x"`, new: "null", want: "external_id" + textRequired},
		{name: "external id is a number", old: `"x"`, new: "7", want: "external_id" + textRequired},
		{name: "external id in capitals", old: `"external_id"`, new: `"External_ID"`, want: "external_id" + textRequired},
		{name: "empty engine", old: `"e"`, new: `""`, want: "discount_engine" + textRequired},
		{name: "blank description", old: `"d"`, new: `" "`, want: "description" + textRequired},
		{name: "no code", old: `,"discount_code":"c"`, new: "", want: "discount_code" + textRequired},
		{name: "no amount", old: `"amount":-1,`, new: "", want: "amount" + numberRequired},
		{name: "amount is a string", old: "-1", new: `"-1"`, want: "amount" + numberRequired},
		{name: "amount is null", old: "-1", new: "null", want: "amount" + numberRequired},
		{name: "amount is an object", old: "-1", new: `{"amount":-1}`, want: "amount" + numberRequired},
		{name: "amount is zero", old: "-1", new: "0", want: positive},
		{name: "amount is minus zero", old: "-1", new: "-0.0", want: positive},
		{name: "amount is positive", old: "-1", new: "5", want: positive},
		{name: "amount is a positive fraction", old: "-1", new: "0.5", want: positive},
		{name: "amount is a fraction", old: "-1", new: "-12.50", want: "amount must be a whole number"},
		{name: "amount is a fraction by its exponent", old: "-1", new: "-5e-1", want: "amount must be a whole number"},
		{
			name: "item is a string", old: lastPart, new: item + `"` + cartItem + `"}}}`,
			want: "relationships.item.data must be an object",
		},
		{
			name: "item of another type", old: lastPart, new: item + `{"type":"promotion_item","id":"` + cartItem + `"}}}}`,
			want: "relationships.item.data.type must be cart_item or custom_item",
		},
		{
			name: "item without an id", old: lastPart, new: item + `{"type":"cart_item"}}}}`,
			want: "relationships.item.data.id" + textRequired,
		},
		{
			name: "item id is not a UUID", old: lastPart, new: item + `{"type":"cart_item","id":"sku-1"}}}}`,
			want: "relationships.item.data.id must be a UUID",
		},
		{
			name: "item id has no hyphens", old: lastPart,
			new:  item + `{"type":"cart_item","id":"` + strings.ReplaceAll(cartItem, "-", "") + `"}}}}`,
			want: "relationships.item.data.id must be a UUID",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(validDiscount, tt.old) {
				t.Fatalf("the valid discount is %s, want %s in it", validDiscount, tt.old)
			}
			wantProblems(t, `{"data":[`+strings.Replace(validDiscount, tt.old, tt.new, 1)+`]}`, "data[0]."+tt.want)
		})
	}
}

func TestAddDiscounts_severalProblems(t *testing.T) {
	t.Parallel()
	wantProblems(t, `{"data":[`+validDiscount+`,{}]}`,
		"data[1].type"+textRequired, "data[1].amount"+numberRequired, "data[1].description"+textRequired,
		"data[1].discount_code"+textRequired, "data[1].discount_engine"+textRequired, "data[1].external_id"+textRequired)
}

func TestAddDiscounts_validBodies(t *testing.T) {
	t.Parallel()
	withoutOptions := `{"data":[` + onCart("a").request() + `]}`
	for _, tt := range []struct {
		name, old, new    string // changes the body
		cfg               commercetest.Config
		amount, formatted string // in the response
	}{
		{name: "without options", amount: "-1000", formatted: "-$10.00"},
		{
			name: "item is null", old: "}]", new: `,"relationships":{"item":{"data":null}}}]`,
			amount: "-1000", formatted: "-$10.00",
		},
		{name: "one cent", old: "-1000", new: "-1", amount: "-1", formatted: "-$0.01"},
		{
			name: "fraction of a cent", old: "-1000", new: "-12.5", cfg: commercetest.Config{FractionalAmounts: true},
			amount: "-12.5", formatted: "-$0.13",
		},
		{name: "whole, with decimals", old: "-1000", new: "-7.00", amount: "-7", formatted: "-$0.07"},
		{name: "exponent", old: "-1000", new: "-1e5", amount: "-100000", formatted: "-$1,000.00"},
		{
			name: "large amount", old: "-1000", new: "-123456789012345678901",
			amount: "-123456789012345678901", formatted: "-$1,234,567,890,123,456,789.01",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			body := strings.Replace(withoutOptions, tt.old, tt.new, 1)
			resp := send(t, newCart(t, tt.cfg), post(cartPath+"/custom-discounts", body))
			want := strings.NewReplacer("-1000", tt.amount, "-$10.00", tt.formatted).
				Replace(onCart("a").response(discountIDs[0]))
			wantJSON(t, resp, 201, `{"data":[`+want+`],"options":{"add_all_or_nothing":false}}`)
		})
	}
}

func TestAddDiscounts_mediaType(t *testing.T) {
	t.Parallel()
	eachSender(t, func(t *testing.T, send sendFunc) {
		store, raw := newCart(t, commercetest.Config{}), addRequest(onCart("a"))
		resp := send(store, strings.Replace(raw, "Content-Type: application/json", "Content-Type: text/plain", 1))
		wantJSON(t, resp, 415,
			`{"errors":[{"status":"415","title":"Unsupported Media Type","detail":"The body must be application/json"}]}`)
		raw = strings.Replace(raw, "Content-Type: application/json", "Content-Type: application/json; charset=utf-8", 1)
		wantEqual(t, "status with a charset", send(store, raw).Status, 201)
	})
}
