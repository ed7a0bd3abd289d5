package commerce_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

func TestCustomDiscount_forms(t *testing.T) {
	t.Parallel()
	type discount = commerce.CustomDiscount
	id := uuid.MustParse(itemID)
	item := func(itemType commerce.CartItemType, id uuid.UUID) discount {
		return discount{Item: &commerce.CartItemRef{Type: itemType, ID: id}}
	}
	money := func(currency string) discount {
		return discount{Amount: commerce.Money{Amount: commerce.NewDecimal(-5), Currency: currency}}
	}
	for _, tt := range []struct {
		name, json string
		want       discount
		extra      string // member that Extra keeps as it is
	}{
		{name: "empty", json: `{}`},
		{name: "amount as a number", json: `{"amount":-5}`, want: money("")},
		{name: "amount without formatted", json: `{"amount":{"amount":-5,"currency":"USD"}}`, want: money("USD")},
		{name: "amount null", json: `{"amount":null}`},
		{name: "odd amount", json: `{"amount":true}`, extra: "amount"},
		{name: "odd id", json: `{"id":"x"}`, extra: "id"},
		{name: "unknown member", json: `{"new":[1]}`, extra: "new"},
		{name: "a member named like the tag of Item", json: `{"-":{}}`, extra: "-"},
		{
			name: "item", want: item(commerce.ItemTypeCartItem, id),
			json: `{"relationships":{"item":{"data":{"type":"cart_item","id":"` + itemID + `"}}}}`,
		},
		{
			name: "item and more", want: item(commerce.ItemTypeCartItem, id), extra: "relationships",
			json: `{"relationships":{"item":{"data":{"type":"cart_item","id":"` + itemID + `"}},"cart":{"data":5}}}`,
		},
		{
			name: "item with a new member", want: item(commerce.ItemTypeCartItem, id), extra: "relationships",
			json: `{"relationships":{"item":{"data":{"type":"cart_item","id":"` + itemID + `","new":1}}}}`,
		},
		{
			name: "item with an odd id", want: item(commerce.ItemTypeCartItem, uuid.Nil), extra: "relationships",
			json: `{"relationships":{"item":{"data":{"type":"cart_item","id":"7"}}}}`,
		},
		{name: "item, no type", json: `{"relationships":{"item":{"data":{"id":"` + itemID + `"}}}}`, want: item("", id)},
		{
			name: "item without an id", json: `{"relationships":{"item":{"data":{"type":"cart_item"}}}}`,
			want: item(commerce.ItemTypeCartItem, uuid.Nil),
		},
		{name: "item without either", json: `{"relationships":{"item":{"data":{}}}}`},
		{name: "item null", json: `{"relationships":{"item":{"data":null}}}`},
		{name: "relationships are an array", json: `{"relationships":[1]}`, extra: "relationships"},
	} {
		if tt.extra != "" {
			_, value, _ := strings.Cut(strings.TrimSuffix(tt.json, "}"), ":")
			tt.want.Extra = commerce.Extra{tt.extra: json.RawMessage(value)}
		}
		checkRoundTrip(t, tt.json, tt.want)
	}
	got := discount{ID: id}
	if err := json.Unmarshal([]byte("null"), &got); err != nil || got.ID != id {
		t.Errorf("null: got %v, error %v, want the value unchanged", got, err)
	}
	if err := json.Unmarshal([]byte(`{"id":1,"id":2}`), &got); err == nil {
		t.Error("the same name twice: no error")
	}
}

// The JSON of a discount to add is that of the request, which keeps each digit of an amount.
func TestNewCustomDiscount_json(t *testing.T) {
	t.Parallel()
	const text = `{"type":"custom_discount","amount":-12345678901234567890.1,"description":"d","discount_code":"c",` +
		`"discount_engine":"e","external_id":"x",` +
		`"relationships":{"item":{"data":{"type":"cart_item","id":"` + itemID + `"}}}}`
	want := commerce.NewCustomDiscount{
		Amount: parseDecimal(t, "-12345678901234567890.1"), Description: "d", DiscountCode: "c", DiscountEngine: "e",
		ExternalID: "x", Item: &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse(itemID)},
	}
	got := discount("before")
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	diff(t, "decoded", got, want)
	diff(t, "encoded", encode(t, want), text)
	s := newStub(t, respond(201, `{}`))
	_, _ = s.client(t).Carts.AddCustomDiscounts(t.Context(), "c", []commerce.NewCustomDiscount{want}, nil)
	diff(t, "sent", s.sent()[0].Body, `{"data":[`+text+`],"options":{"add_all_or_nothing":false}}`)

	unconfirmed := commerce.UnconfirmedDiscount{
		NewCustomDiscount: discount("a"), Reasons: []commerce.ErrorObject{{Title: "Limit Reached"}},
	}
	both := encode(t, unconfirmed)
	if !strings.Contains(both, `"external_id":"a"`) || !strings.Contains(both, "Limit Reached") {
		t.Errorf("unconfirmed: got %s, want the discount and its reason", both)
	}
	var decoded commerce.UnconfirmedDiscount
	if err := json.Unmarshal([]byte(both), &decoded); err != nil {
		t.Fatal(err)
	}
	kept := decoded
	err := json.Unmarshal([]byte(`{"discount":null,"reasons":null}`), &decoded)
	if diff(t, "unconfirmed", kept, unconfirmed); err != nil || decoded.ExternalID != "" || decoded.Reasons != nil {
		t.Errorf("null decoded into %+v: error %v", decoded, err)
	}
}

func TestNewCustomDiscount_jsonOfAFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       commerce.NewCustomDiscount
		problem    string // part of the error
	}{
		{name: "null changes nothing", text: `null`, want: discount("before")},
		{name: "empty", text: `{}`},
		{name: "item null", text: `{"relationships":{"item":{"data":null}}}`},
		{name: "a misspelled member", text: `{"amuont":-1}`, problem: `"amuont"`},
		{name: "the name of the Go field", text: `{"ExternalID":"x"}`, problem: `"ExternalID"`},
		{name: "another case", text: `{"amount":-1,"Amount":-9}`, problem: `"Amount"`},
		{name: "the same name twice", text: `{"amount":-1,"amount":-9}`, problem: "duplicate object member name"},
		{name: "an unknown relationship", text: `{"relationships":{"x":{}}}`, problem: `unknown object member name "x"`},
		{name: "another type", text: `{"type":"promotion"}`, problem: `type is "promotion"`},
		{name: "an object as amount", text: `{"amount":{"amount":-1}}`, problem: "not a decimal number"},
		{name: "a number as code", text: `{"discount_code":5}`, problem: "discount_code"},
		{name: "an item without an id", text: `{"relationships":{"item":{"data":{"id":"x"}}}}`, problem: "invalid UUID"},
		{name: "an array", text: `[]`, problem: "array"},
	} {
		got := discount("before")
		err := json.Unmarshal([]byte(tt.text), &got)
		if tt.problem == "" {
			diff(t, tt.name, got, tt.want)
		}
		if (err != nil) != (tt.problem != "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.problem)
		}
	}
}

// A log shows what a discount is, not who got it or by which code.
func TestCustomDiscount_String(t *testing.T) {
	t.Parallel()
	amount := commerce.Money{Amount: commerce.NewDecimal(-1000), Currency: "USD", Formatted: "-$10.00"}
	d := commerce.CustomDiscount{
		Amount: amount, Description: "canary", DiscountCode: "canary", DiscountEngine: "promo-engine", ExternalID: "promo-1",
	}
	diff(t, "discount", d.String(), "promo-engine promo-1 -$10.00")
	amount.Formatted = ""
	diff(t, "without a formatted amount", amount.String(), "-1000 (smallest unit of USD)")
	diff(t, "a number alone", commerce.Money{Amount: commerce.NewDecimal(-5)}.String(), "-5")
}

// Validate finds what AddCustomDiscounts refuses.
func TestNewCustomDiscount_Validate(t *testing.T) {
	t.Parallel()
	forItem, noItem := discount("a"), discount("a")
	forItem.Item = &commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: numberedID(1)}
	noItem.Item = &commerce.CartItemRef{}
	odd := discount("a")
	odd.Amount, odd.Description, odd.DiscountEngine = commerce.NewDecimal(1), "\xff", "\t"
	for _, tt := range []struct {
		name string
		d    commerce.NewCustomDiscount
		want []string
	}{
		{name: "valid", d: discount("a")},
		{name: "valid, for an item", d: forItem},
		{name: "nothing", want: []string{"amount", "description", "discount_code", "discount_engine", "external_id"}},
		{
			name: "amount above zero, invalid UTF-8, white space", d: odd,
			want: []string{"amount", "description", "discount_engine"},
		},
		{name: "empty item", d: noItem, want: []string{"relationships.item.data.type", "relationships.item.data.id"}},
	} {
		err := tt.d.Validate()
		diff(t, "invalid fields: "+tt.name, invalidFields(err), tt.want)
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%s: Validate() = %v, want fields %v", tt.name, err, tt.want)
		}
		if tt.want == nil {
			continue
		}
		list := []commerce.NewCustomDiscount{tt.d}
		_, err = newStub(t).client(t).Carts.AddCustomDiscounts(t.Context(), cartID, list, nil)
		diff(t, "invalid fields of AddCustomDiscounts: "+tt.name, invalidFields(err), tt.want)
	}
	if text := (commerce.NewCustomDiscount{}).Validate().Error(); strings.Contains(text, "discount -1") {
		t.Errorf("Validate() = %s, want no index", text)
	}
}

// If Item is changed while Extra keeps the relationships, one of them would be lost.
func TestCustomDiscount_changedItem(t *testing.T) {
	t.Parallel()
	const in = `{"relationships":{"item":{"data":{"type":"cart_item","id":"` + itemID + `"},"new":1}}}`
	var d commerce.CustomDiscount
	if err := json.Unmarshal([]byte(in), &d); err != nil {
		t.Fatal(err)
	}
	diff(t, "encoded", encode(t, d), in)
	d.Item = &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: numberedID(2)}
	if b, err := json.Marshal(d); err == nil {
		t.Errorf("encoded with a changed item: %s, want an error", b)
	}
	delete(d.Extra, "relationships")
	if text := encode(t, d); !strings.Contains(text, numberedID(2).String()) {
		t.Errorf("encoded as %s, want the changed item", text)
	}
}
