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
		{
			name: "item", json: `{"relationships":{"item":{"data":{"type":"cart_item","id":"` + itemID + `"}}}}`,
			want: item(commerce.ItemTypeCartItem, id),
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
		{
			name: "item without a type", json: `{"relationships":{"item":{"data":{"id":"` + itemID + `"}}}}`, want: item("", id),
		},
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
