package commerce_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
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

// links returns links of names and links in turn.
func links(entries ...any) (all commerce.Links) {
	for pair := range slices.Chunk(entries, 2) {
		name, _ := pair[0].(string)
		link, _ := pair[1].(commerce.Link)
		all = append(all, commerce.NamedLink{Name: name, Link: link})
	}
	return all
}
