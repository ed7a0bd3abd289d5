package commerce_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
)

func TestPaymentAuthority_redactsItself(t *testing.T) {
	t.Parallel()
	p := commerce.PaymentAuthority{Type: "t", CustomerID: "canary"}
	sub := commerce.Subscription{Attributes: commerce.SubscriptionAttributes{PaymentAuthority: p}}
	var odd commerce.Subscription // an authority that is no object is redacted too
	if err := json.Unmarshal([]byte(`{"attributes":{"payment_authority":"canary"}}`), &odd); err != nil {
		t.Fatal(err)
	}
	roundTrip(t, `{"attributes":{"payment_authority":"canary"}}`, odd)
	var log strings.Builder
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("x", "p", p, "sub", sub, "pointer", &sub, "odd", odd)
	}
	if strings.Count(log.String(), "REDACTED") != 8 {
		t.Errorf("not all were logged: %s", log.String())
	}
	for _, text := range []string{
		fmt.Sprint(p), fmt.Sprintf("%+v", &p), fmt.Sprintf("%#v", p), fmt.Sprintf("%q %s %x", p, p, p), log.String(),
		fmt.Sprintf("%v", sub), fmt.Sprintf("%+v", sub), fmt.Sprintf("%#v", sub), fmt.Sprintf("%+v", odd), fmt.Sprintf("%+v", []*commerce.Subscription{&sub}),
	} {
		if strings.Contains(text, "canary") || strings.Contains(text, fmt.Sprintf("%x", "canary")) {
			t.Errorf("holds the customer id: %s", text)
		}
	}
	// Each field alone is redacted too.
	for _, p := range []commerce.PaymentAuthority{
		{Type: "canary"}, {CustomerID: "canary"}, {CardID: "canary"}, {PaymentProfileID: "canary"}, {CustomerProfileID: "canary"},
		{Extra: commerce.Extra{"x": json.RawMessage(`"canary"`)}},
	} {
		var log strings.Builder
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "sub", commerce.Subscription{Attributes: commerce.SubscriptionAttributes{PaymentAuthority: p}})
		if strings.Contains(log.String(), "canary") || !strings.Contains(log.String(), "REDACTED") {
			t.Error(log.String())
		}
	}
	b, err := json.Marshal(sub)
	if err != nil || !strings.Contains(string(b), `"customer_id":"canary"`) {
		t.Errorf("JSON lost the value: %s, %v", b, err)
	}
}

func TestLinks_forms(t *testing.T) {
	t.Parallel()
	for _, data := range []string{`[]`, `null`, `[{"type":"a","id":"` + itemID + `"}]`, `{"type":"a","id":"` + itemID + `"}`} {
		in := `{"relationships":{"r":{"links":{"a":"x","b":null,"c":{"href":"y","title":"t"}},"data":` + data + `}}}`
		var sub commerce.Subscription
		if err := json.Unmarshal([]byte(in), &sub); err != nil {
			t.Fatal(err)
		}
		diff(t, "links", sub.Relationships.Get("r").Links, links("a", commerce.Link{Href: "x"}, "b", commerce.Link{}, "c", commerce.Link{Href: "y", Title: "t"}))
		if many := data[0] == '['; sub.Relationships.Get("r").Data.Many != many || len(sub.Relationships.Get("r").Data.Refs) != strings.Count(data, "type") {
			t.Errorf("%s: %+v", data, sub.Relationships.Get("r").Data)
		}
		b, err := json.Marshal(sub)
		if err != nil || data != "null" && !strings.Contains(string(b), `"data":`+data) {
			t.Errorf("%s became %s, %v", data, b, err)
		}
	}
}

// A payment authority with a member whose name is empty is still an object.
func TestPaymentAuthority_emptyName(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`{"":5,"type":"x"}`, `5`, `{"type":"x"}`} {
		record := `{"attributes":{"payment_authority":` + in + `}}`
		var sub commerce.Subscription
		if err := json.Unmarshal([]byte(record), &sub); err != nil {
			t.Fatal(err)
		}
		if b, err := json.Marshal(sub); err != nil || !strings.Contains(string(b), `"type":"x"`) && in != `5` {
			t.Errorf("%s is encoded as %s, error %v", in, b, err)
		}
	}
}

// A value that does not fit its field is kept, and takes nothing else with it when the
// record is encoded again: no zero, and no flag that is false.
func TestSubscription_oddValueKeepsZeros(t *testing.T) {
	t.Parallel()
	const record = `{"meta":{"manual_payments":false,"canceled":false,"paused":"odd","closed":false,"suspended":false,
	 "pending":false,"pending_price_change":{"plan_prices":{"p":{"EUR":{"amount":0,"includes_tax":false},
	 "USD":{"amount":0,"includes_tax":"odd"}}}},"price_update_history":[{"price_changes":{}}]}}`
	var sub commerce.Subscription
	if err := json.Unmarshal([]byte(record), &sub); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(sub)
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := errors.Join(json.Unmarshal(b, &got), json.Unmarshal([]byte(record), &want)); err != nil {
		t.Fatal(err)
	}
	diff(t, "encoded again", got, want)

	sub.Meta.Paused = true // and Extra has it, too
	if b, err := json.Marshal(sub); err == nil {
		t.Errorf("a field that is set, and a member of Extra with its name: encoded as %s", b)
	}
}

// Only null is the zero Link, whichever decoder reads it: the second input has a value
// that makes it unusual. What is decoded survives a round trip.
func TestLinks_null(t *testing.T) {
	t.Parallel()
	empty := commerce.Link{Extra: commerce.Extra{}}
	want := links("a", commerce.Link{}, "b", empty, "c", empty, "d", empty, "e", empty, "f", commerce.Link{Title: "t"})
	const in = `"relationships":{"r":{"links":{"a":null,"b":"","c":{},"d":{"href":""},"e":{"href":null},
	 "f":{"title":"t"}}}}`
	for _, record := range []string{`{` + in + `}`, `{"type":5,` + in + `}`} {
		var sub, again commerce.Subscription
		if err := json.Unmarshal([]byte(record), &sub); err != nil {
			t.Fatal(err)
		}
		diff(t, "links of "+record, sub.Relationships.Get("r").Links, want)
		b, err := json.Marshal(sub)
		if err != nil || !strings.Contains(string(b), `{"a":null,"b":"","c":"","d":"","e":"",`) {
			t.Errorf("got %s, error %v, want a null and four empty strings", b, err)
		}
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatal(err)
		}
		diff(t, "links after a round trip", again.Relationships.Get("r").Links, want)
	}
}

// links returns links of names and links in turn.
func links(entries ...any) (all commerce.Links) {
	for pair := range slices.Chunk(entries, 2) {
		name, _ := pair[0].(string)
		link, _ := pair[1].(commerce.Link)
		all = append(all, commerce.NamedLink{Name: name, Link: link})
	}
	return all
}

// A field that is set where Extra keeps another value for it is an error, not lost.
func TestExtra_besideItsField(t *testing.T) {
	t.Parallel()
	const in = `{"id":"` + itemID + `","type":"custom_discount","external_id":"a","relationships":{"item":{"data":{"type":"cart_item","id":"` + itemID + `"},"new":1}}}`
	var d commerce.CustomDiscount
	if err := json.Unmarshal([]byte(in), &d); err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(d); err != nil || !strings.Contains(string(b), `"new":1`) {
		t.Fatalf("unchanged: %s, %v", b, err)
	}
	d.Item = &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: nth(2)}
	if b, err := json.Marshal(d); err == nil {
		t.Errorf("a changed item is lost: %s", b)
	}
	delete(d.Extra, "relationships")
	if b, err := json.Marshal(d); err != nil || !strings.Contains(string(b), nth(2).String()) {
		t.Errorf("%s, %v", b, err)
	}
	var sub commerce.Subscription
	if err := json.Unmarshal([]byte(`{"attributes":{"account_id":7}}`), &sub); err != nil {
		t.Fatal(err)
	}
	sub.Attributes.AccountID = nth(1)
	if b, err := json.Marshal(sub); err == nil {
		t.Errorf("encoded %s", b)
	}
}

// What a record was decoded from it can be encoded to.
func TestExtra_comesBack(t *testing.T) {
	t.Parallel()
	for in, v := range map[string]any{
		`{"amount":{"amount":"ten","currency":"USD"}}`: &commerce.CustomDiscount{},
		`{"amount":"ten"}`:           &commerce.CustomDiscount{},
		`{"id":5,"type":[],"new":1}`: &commerce.Plan{},

		`{"attributes":{"can_pause":"yes","trial_period":0,"feature_configurations":[{"id":1}]}}`: &commerce.Plan{},

		`{"attributes":{"lead_time":3,"notification_schedule":{}}}`: &commerce.PricingOption{},
	} {
		if err := json.Unmarshal([]byte(in), v); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		again := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		if err := json.Unmarshal(b, again); err != nil {
			t.Fatal(err)
		}
		diff(t, in, again, v)
	}
}
