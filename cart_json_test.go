package commerce_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/commerce-go/commerce"
)

// The JSON of a cart is like the service's, and holds all that was read.
func TestCart_json(t *testing.T) {
	t.Parallel()
	odd := strings.Replace(documentedCart, `"type":"custom_discount","external_id":"b"`,
		`"type":"custom_discount","external_id":"b","relationships":{"other":{}}`, 1)
	const oddError = `{"title":"x","status":404,"meta":{"id":"a","n":1},"source":"s","new":2}`
	for name, body := range map[string]string{
		"documented":                    documentedCart,
		"a discount with relationships": odd,
		"only an id":                    cartOf("", ""),
		"errors":                        cartOf("", `,"errors":[`+oddError+`]`),
		"lists of null":                 cartOf("", `,"included":{"items":null,"custom_discounts":null}`),
		"members of the response":       cartOf(`,"x":1,"links":{}`, `,"x":2,"/x":3,"links":{},"meta":{"n":1}`),
		"members that look like others": cartOf("", `,"meta":{"display_price":5}`),
		"members that are no objects":   cartOf("", `,"meta":5,"discount_settings":"x"`),
		"names of fields beside data":   cartOf("", `,"type":"x","id":5,"name":{},"included":{},"meta":{"n":1}`),
		"amounts that are absent": cartOf(`,"meta":{"display_price":{"with_tax":{"currency":"USD"},`+
			`"discount":{"amount":null},"tax":{"amount":"x"},"without_tax":{"amount":0}}}`, ""),
		"other included resources": cartOf("", `,"included":{"promotions":[{"id":"p"}],"tax_items":null}`),
		"all parts":                cartOf(`,"meta":{"timestamps":{}},"discount_settings":{"n":3}`, `,"meta":{"n":4}`),
		"items":                    cartOf("", `,"included":{"items":[{`+item+`,"unit_price":{"amount":5,"n":1}}]}`),
	} {
		want, err := newStub(t, respond(200, body)).client(t).Carts.Get(t.Context(), cartID)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var read, again commerce.Cart
		text := encode(t, want)
		if err := errors.Join(json.Unmarshal([]byte(body), &read), json.Unmarshal([]byte(text), &again)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name == "a discount with relationships" { // which now name its item too
			delete(want.CustomDiscounts[1].Extra, "relationships")
			delete(again.CustomDiscounts[1].Extra, "relationships")
			delete(read.CustomDiscounts[1].Extra, "relationships")
		}
		want.Response = nil
		compact := cmp.Transformer("compact", func(raw json.RawMessage) string {
			var b bytes.Buffer
			if json.Compact(&b, raw) != nil {
				return "invalid"
			}
			return b.String()
		})
		same := cmp.Options{cmpopts.EquateEmpty(), compact}
		if d := cmp.Diff(want, &read, same); d != "" {
			t.Errorf("%s: decoded (-want +got):\n%s", name, d)
		}
		if d := cmp.Diff(want, &again, same); d != "" {
			t.Errorf("%s: decoded again from %s (-want +got):\n%s", name, text, d)
		}
	}
	text := encode(t, commerce.Cart{ID: "c", CustomDiscountsEnabled: true, Errors: []commerce.ErrorObject{{Title: "x"}}})
	diff(t, "a cart", text, `{"data":{"id":"c","discount_settings":{"custom_discounts_enabled":true},"meta":{}},`+
		`"included":{"custom_discounts":[],"items":[]},"errors":[{"title":"x"}]}`)
	kept := commerce.Cart{ID: "c"}
	if err := json.Unmarshal([]byte("null"), &kept); err != nil || kept.ID != "c" {
		t.Errorf("null: cart %+v, error %v, want no change", kept, err)
	}
	if err := json.Unmarshal([]byte(`{"data":{}}`), &kept); err == nil || kept.ID != "c" {
		t.Errorf("no id: cart %+v, error %v, want an error", kept, err)
	}
}

// The parts of a cart have JSON like the service's too.
func TestCart_jsonOfParts(t *testing.T) {
	t.Parallel()
	const money = `{"amount":-1000,"currency":"USD","formatted":"-$10.00","float_price":-10}`
	for _, tt := range []struct {
		text string
		v    any
	}{
		{text: money, v: &commerce.Money{}},
		{text: `{"id":"` + itemID + `","type":"cart_item","unit_price":` + money + `,"new":1}`, v: &commerce.CartItem{}},
		{text: `{"with_tax":` + money + `,"shipping":{"amount":0}}`, v: &commerce.CartDisplayPrice{}},
	} {
		if err := json.Unmarshal([]byte(tt.text), tt.v); err != nil {
			t.Errorf("%s: %v", tt.text, err)
		}
		diff(t, "JSON", encode(t, tt.v), tt.text)
	}
	var m commerce.Money
	for _, text := range []string{`-1000`, `"-1000"`} {
		if err := json.Unmarshal([]byte(text), &m); err != nil || m.String() != "-1000" {
			t.Errorf("%s: %v, error %v", text, m, err)
		}
	}
	for _, text := range []string{`true`, `[]`} {
		if err := json.Unmarshal([]byte(text), &m); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

// An amount that is not set is left out, and 0 is not.
func TestCart_jsonOfPrices(t *testing.T) {
	t.Parallel()
	price := commerce.CartDisplayPrice{
		WithTax: commerce.Money{Currency: "USD"}, Tax: commerce.Money{Amount: commerce.NewDecimal(0)},
	}
	diff(t, "price", encode(t, price), `{"with_tax":{"currency":"USD"},"tax":{"amount":0}}`)
}

func TestCart_jsonOfFieldInExtra(t *testing.T) {
	t.Parallel()
	twice := []commerce.CartItem{{Name: "x", Extra: commerce.Extra{"name": json.RawMessage("1")}}}
	if _, err := json.Marshal(commerce.Cart{Items: twice}); err == nil {
		t.Error("a field and its Extra: no error")
	}
}
