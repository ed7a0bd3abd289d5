package commercetest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/commerce-go/commerce/commercetest"
)

func TestAddDiscounts_problems(t *testing.T) {
	t.Parallel()
	const (
		members = `"type":"custom_discount","external_id":"x","discount_engine":"e","amount":-1,` +
			`"description":"d","discount_code":"c"`
		valid    = `{` + members + `}`
		required = " is required, and must be a string that is not empty"
		noNumber = " is required, and must be a number"
		noData   = "data must be an array with at least one custom discount"
		positive = "data[0].amount must be less than zero"
	)
	data := func(discounts ...string) string { return `{"data":[` + strings.Join(discounts, ",") + `]}` }
	replace := func(old, with string) string {
		if !strings.Contains(valid, old) {
			t.Fatalf("the discount has no %s", old)
		}
		return data(strings.Replace(valid, old, with, 1))
	}
	onItem := func(ref string) string {
		return data(`{` + members + `,"relationships":{"item":{"data":` + ref + `}}}`)
	}
	type list = []string
	for _, tt := range []struct {
		name, body string
		problems   list
	}{
		{name: "empty", body: "", problems: list{"body must be an object"}},
		{name: "not JSON", body: "{", problems: list{"body must be an object"}},
		{name: "null", body: "null", problems: list{"body must be an object"}},
		{name: "array", body: "[]", problems: list{"body must be an object"}},
		{name: "no data", body: "{}", problems: list{noData}},
		{name: "data in capitals", body: `{"Data":[` + valid + `]}`, problems: list{noData}},
		{name: "data is an object", body: `{"data":` + valid + `}`, problems: list{noData}},
		{name: "no discount", body: data(), problems: list{noData}},
		{name: "discount is null", body: data("null"), problems: list{"data[0] must be an object"}},
		{
			name: "options are a boolean", body: `{"data":[` + valid + `],"options":true}`,
			problems: list{"options must be an object"},
		},
		{
			name: "all or nothing is a string", body: `{"data":[` + valid + `],"options":{"add_all_or_nothing":"true"}}`,
			problems: list{"options.add_all_or_nothing must be a boolean"},
		},
		{name: "no type", body: replace(`"type":"custom_discount",`, ""), problems: list{"data[0].type" + required}},
		{
			name: "other type", body: replace(`"custom_discount"`, `"discount"`),
			problems: list{"data[0].type must be custom_discount"},
		},
		{name: "no external id", body: replace(`"external_id":"x",`, ""), problems: list{"data[0].external_id" + required}},
		{name: "external id is null", body: replace(`"x"`, "null"), problems: list{"data[0].external_id" + required}},
		{name: "external id is a number", body: replace(`"x"`, "7"), problems: list{"data[0].external_id" + required}},
		{
			name: "external id in capitals", body: replace(`"external_id"`, `"External_ID"`),
			problems: list{"data[0].external_id" + required},
		},
		{name: "empty engine", body: replace(`"e"`, `""`), problems: list{"data[0].discount_engine" + required}},
		{name: "blank description", body: replace(`"d"`, `" "`), problems: list{"data[0].description" + required}},
		{name: "no code", body: replace(`,"discount_code":"c"`, ""), problems: list{"data[0].discount_code" + required}},
		{name: "no amount", body: replace(`"amount":-1,`, ""), problems: list{"data[0].amount" + noNumber}},
		{name: "amount is a string", body: replace("-1", `"-1"`), problems: list{"data[0].amount" + noNumber}},
		{name: "amount is null", body: replace("-1", "null"), problems: list{"data[0].amount" + noNumber}},
		{name: "amount is an object", body: replace("-1", `{"amount":-1}`), problems: list{"data[0].amount" + noNumber}},
		{name: "amount is zero", body: replace("-1", "0"), problems: list{positive}},
		{name: "amount is minus zero", body: replace("-1", "-0.0"), problems: list{positive}},
		{name: "amount is positive", body: replace("-1", "5"), problems: list{positive}},
		{
			name: "item is a string", body: onItem(`"` + cartItem + `"`),
			problems: list{"data[0].relationships.item.data must be an object"},
		},
		{
			name: "item of another type", body: onItem(`{"type":"promotion_item","id":"` + cartItem + `"}`),
			problems: list{"data[0].relationships.item.data.type must be cart_item or custom_item"},
		},
		{
			name: "item without an id", body: onItem(`{"type":"cart_item"}`),
			problems: list{"data[0].relationships.item.data.id" + required},
		},
		{
			name: "item id is not a UUID", body: onItem(`{"type":"cart_item","id":"sku-1"}`),
			problems: list{"data[0].relationships.item.data.id must be a UUID"},
		},
		{
			name: "several problems", body: data(valid, "{}"),
			problems: list{
				"data[1].type" + required, "data[1].amount" + noNumber, "data[1].description" + required,
				"data[1].discount_code" + required, "data[1].discount_engine" + required, "data[1].external_id" + required,
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := newCart(t, commercetest.Config{})
			var want []string
			for _, detail := range tt.problems {
				want = append(want, fmt.Sprintf(`{"status":400,"title":"Validation Error","detail":%q}`, detail))
			}
			resp := send(t, store, post(cartPath+"/custom-discounts", tt.body))
			wantJSON(t, resp, 400, `{"errors":[`+strings.Join(want, ",")+`]}`)
			wantEqual(t, "discounts of the cart", len(store.Discounts(cartID)), 0)
		})
	}
}

func TestAddDiscounts_validBodies(t *testing.T) {
	t.Parallel()
	withoutOptions := `{"data":[` + onCart("a").request() + `]}`
	for _, tt := range []struct {
		name, body        string
		amount, formatted string // default: -1000, -$10.00
	}{
		{name: "without options", body: withoutOptions},
		{
			name: "item is null",
			body: strings.Replace(withoutOptions, "}]", `,"relationships":{"item":{"data":null}}}]`, 1),
		},
		{name: "one cent", amount: "-1", formatted: "-$0.01"},
		{name: "fraction of a cent", amount: "-12.5", formatted: "-$0.13"},
		{name: "exponent", body: strings.Replace(withoutOptions, "-1000", "-1e5", 1), amount: "-100000", formatted: "-$1000.00"},
		{name: "large amount", amount: "-123456789012345678901", formatted: "-$1234567890123456789.01"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := onCart("a").response(discountIDs[0])
			if tt.body == "" {
				tt.body = strings.Replace(withoutOptions, "-1000", tt.amount, 1)
			}
			if tt.amount != "" {
				want = strings.NewReplacer("-1000", tt.amount, "-$10.00", tt.formatted).Replace(want)
			}
			resp := send(t, newCart(t, commercetest.Config{}), post(cartPath+"/custom-discounts", tt.body))
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
