package commerce_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
)

// A member of a response that has no field of its own is in an Extra, whatever object has it.
func TestCart_losesNothing(t *testing.T) {
	t.Parallel()
	const beside = `,"errors":[{"title":"x","meta":{"id":"a"}}],"meta":{},"links":{}}`
	var body any
	if err := json.Unmarshal([]byte(strings.TrimSuffix(documentedCart, "}")+beside), &body); err != nil {
		t.Fatal(err)
	}
	added := addMembers(body, nil)
	cart, err := newStub(t, respond(200, encode(t, body))).client(t).Carts.Get(t.Context(), cartID)
	if err != nil {
		t.Fatal(err)
	}
	text := encode(t, cart)
	for _, name := range added {
		if !strings.Contains(text, name) {
			t.Errorf("%s: the cart does not have it", name)
		}
	}
	if len(added) < 20 {
		t.Errorf("got %d objects in the response, want at least 20", len(added))
	}
}

// addMembers adds a member to each object in a value of JSON, and returns their names, which say
// what else the object has.
func addMembers(value any, names []string) []string {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			names = addMembers(element, names)
		}
	case map[string]any:
		members := slices.Sorted(maps.Keys(v))
		for _, name := range members {
			names = addMembers(v[name], names)
		}
		name := fmt.Sprintf("member %d beside %s", len(names), members)
		v[name], names = map[string]any{}, append(names, name)
	}
	return names
}

// The Extra of a cart has the members of the cart, what else is included, and the members of the
// response, under names that are free.
func TestCart_extra(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, body, want string }{
		{name: "only an id", body: cartOf("", ""), want: `null`},
		{name: "lists of null", body: cartOf("", `,"included":{"items":null,"custom_discounts":null}`), want: `null`},
		{
			name: "members of the response",
			body: cartOf(`,"x":1,"links":{}`, `,"x":2,"/x":3,"links":5,"meta":{"n":1},"errors":[]`),
			want: `{"x":1,"links":{},"//x":2,"/x":3,"/links":5,"meta":{"n":1}}`,
		},
		{
			name: "names of fields", body: cartOf(`,"name":5`, `,"type":"x","id":5,"name":{},"discount_settings":"x"`),
			want: `{"name":5,"type":"x","id":5,"/name":{},"discount_settings":"x"}`,
		},
		{
			name: "other included resources", body: cartOf("", `,"included":{"promotions":[{"id":"p"}],"tax_items":null}`),
			want: `{"included":{"promotions":[{"id":"p"}],"tax_items":null}}`,
		},
		{
			name: "all parts", want: `{"meta":{"n":1},"discount_settings":{"n":3},"/meta":{"n":4}}`,
			body: cartOf(`,"meta":{"timestamps":{},"n":1},"discount_settings":{"n":3}`, `,"meta":{"n":4}`),
		},
	} {
		for range 20 { // the names are the same each time
			cart, err := newStub(t, respond(200, tt.body)).client(t).Carts.Get(t.Context(), cartID)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			diff(t, tt.name, jsonValue(t, []byte(encode(t, cart.Extra))), jsonValue(t, []byte(tt.want)))
		}
	}
}

// The parts of a cart have JSON like the service's too. An amount that is not set is left out, and
// 0 is not.
func TestCart_jsonOfParts(t *testing.T) {
	t.Parallel()
	const money = `{"amount":-1000,"currency":"USD","formatted":"-$10.00","float_price":-10}`
	for _, tt := range []struct {
		text string
		v    any
	}{
		{text: money, v: &commerce.Money{}},
		{text: `{"id":"` + itemID + `","type":"cart_item","unit_price":` + money + `,"new":1}`, v: &commerce.CartItem{}},
		{
			text: `{"with_tax":` + money + `,"without_tax":{"currency":"USD"},"tax":{"amount":0},"shipping":{"amount":0}}`,
			v:    &commerce.CartDisplayPrice{},
		},
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
