package commerce_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// payloadPages hold every documented member of a payload generation, and the zero values
// that the service always sends.
var payloadPages = map[string]struct {
	unfilled []string // fields of the other generation
}{
	"first_generation.json": {unfilled: []string{
		"DisplayPrice.Tax", "Included.PricingOptions", "OfferingMeta.ExternalPlanRefs",
		"PlanAttributes.FeatureConfigurations", "PlanAttributes.MainImage", "PlanAttributes.Price",
		"PlanAttributes.PriceUnits", "PlanAttributes.SKU", "PlanMeta.Prices",
		"SubscriptionAttributes.PricingOptionID", "SubscriptionMeta.FirstInvoicePrepaid",
		"SubscriptionMeta.LastRefundAmount", "SubscriptionMeta.LastRefundID", "SubscriptionMeta.PausedBy",
		"SubscriptionMeta.PendingPriceChange", "SubscriptionMeta.PriceUpdateHistory",
		"SubscriptionStateAttributes.CancelImmediately",
	}},
	"second_generation.json": {unfilled: []string{
		"Included.Products", "OfferingMeta.ExternalProductRefs", "PlanAttributes.Billing", "PlanMeta.Price",
	}},
}

// Every documented member has a field of its name: a page leaves nothing in any Extra, and
// fills every field of its generation. Each record is encoded as it was, from the page or
// from encoding/json.
func TestPayload(t *testing.T) {
	t.Parallel()
	for file, tt := range payloadPages {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(filepath.Join("testdata", "payload", file))
			if err != nil {
				t.Fatal(err)
			}
			page, err := newStub(t, respond(200, string(raw))).client(t).Subscriptions.List(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			fields := fieldUse{}
			fields.visit(reflect.ValueOf(page.Subscriptions), "data")
			fields.visit(reflect.ValueOf(page.Included), "included")
			fields.visit(reflect.ValueOf(page.Links), "links")
			diff(t, "members in an Extra", fields.extra, []string(nil))
			diff(t, "members of the page in its Extra", page.Extra, commerce.Extra(nil))
			diff(t, "fields that no record fills", fields.unfilled(), tt.unfilled)
			diff(t, "fields with the name of another member", fields.misnamed, []string(nil))

			var body struct {
				Data     []json.RawMessage            `json:"data"`
				Included map[string][]json.RawMessage `json:"included"`
			}
			if err := json.Unmarshal(raw, &body); err != nil {
				t.Fatal(err)
			}
			checkRecords(t, page.Subscriptions, body.Data)
			checkRecords(t, page.Included.Plans, body.Included["plans"])
			checkRecords(t, page.Included.Products, body.Included["products"])
			checkRecords(t, page.Included.PricingOptions, body.Included["pricing_options"])
		})
	}
}

// checkRecords compares what records are encoded to with the JSON they were read from. By
// itself, each of them must read the same.
func checkRecords[T any](t *testing.T, records []T, want []json.RawMessage) {
	t.Helper()
	if len(records) != len(want) {
		t.Fatalf("got %d of %T, want %d", len(records), records, len(want))
	}
	number := cmp.Comparer(func(a, b json.Number) bool {
		x, okX := new(big.Rat).SetString(a.String())
		y, okY := new(big.Rat).SetString(b.String())
		return okX && okY && x.Cmp(y) == 0
	})
	// A null counts as false for these two, and is left out like other zero values.
	optional := cmp.FilterPath(func(p cmp.Path) bool {
		member, ok := p.Last().(cmp.MapIndex)
		if !ok || !slices.Contains([]string{"active_plan", "active_pricing_option"}, member.Key().String()) {
			return false
		}
		want, got := member.Values()
		return want.IsValid() && want.IsNil() && !got.IsValid()
	}, cmp.Ignore())
	for i := range records {
		var alone T
		if err := json.Unmarshal(want[i], &alone); err != nil {
			t.Fatal(err)
		}
		diff(t, fmt.Sprintf("%T %d by itself", alone, i), alone, records[i])
		if d := cmp.Diff(jsonValue(t, want[i]), jsonValue(t, []byte(encode(t, alone))), number, optional); d != "" {
			t.Errorf("%T %d, encoded (-want +got):\n%s", alone, i, d)
		}
	}
}

// jsonValue decodes b with its numbers as they are written.
func jsonValue(t *testing.T, b []byte) (v any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("decode %s: %v", b, err)
	}
	return v
}

// fieldUse notes which fields of the library's types values fill, and the members that
// they keep in an Extra at any depth.
type fieldUse struct {
	filled map[string]bool // by "Type.Field"
	extra  []string        // paths

	misnamed []string // fields whose name is not that of their member
}

func (u *fieldUse) visit(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			u.visit(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			u.visit(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			u.visit(v.MapIndex(key), fmt.Sprintf("%s[%q]", path, key))
		}
	case reflect.Struct:
		if strings.HasSuffix(v.Type().PkgPath(), "/commerce") && v.Type() != reflect.TypeFor[commerce.Decimal]() {
			u.visitFields(v, path)
		}
	default: // has no fields
	}
}

func (u *fieldUse) visitFields(v reflect.Value, path string) {
	if u.filled == nil {
		u.filled = map[string]bool{}
	}
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Name
		member, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if member != "" && strings.ReplaceAll(member, "_", "") != strings.ToLower(name) {
			u.misnamed = append(u.misnamed, path+"."+name)
		}
		if name == "Extra" {
			for _, key := range field.MapKeys() {
				u.extra = append(u.extra, path+"."+key.String())
			}
			continue
		}
		key := v.Type().Name() + "." + name
		u.filled[key] = u.filled[key] || !field.IsZero() && (field.Kind() != reflect.Slice || field.Len() > 0)
		if name != "Billing" || !field.IsZero() { // a plan of the second generation has none
			u.visit(field, path+"."+name)
		}
	}
}

// unfilled returns the fields that are zero wherever their type occurs.
func (u *fieldUse) unfilled() []string {
	names := maps.Clone(u.filled)
	maps.DeleteFunc(names, func(_ string, filled bool) bool { return filled })
	return slices.Sorted(maps.Keys(names))
}

func TestFieldUse(t *testing.T) {
	t.Parallel()
	extra := commerce.Extra{"new": nil}
	fields := fieldUse{}
	fields.visit(reflect.ValueOf([]*commerce.Plan{
		{Meta: commerce.PlanMeta{Prices: map[string]commerce.OptionPrice{"p": {Extra: extra}}}},
		{Attributes: commerce.PlanAttributes{Price: commerce.Prices{"USD": {IncludesTax: true, Extra: extra}}}},
	}), "plans")
	diff(t, "extra", fields.extra, []string{`plans[0].Meta.Prices["p"].new`, `plans[1].Attributes.Price["USD"].new`})
	for name, want := range map[string]bool{
		"Plan.ID": true, "PlanMeta.Prices": false, "Price.Amount": true, "Price.IncludesTax": false,
	} {
		if got := slices.Contains(fields.unfilled(), name); got != want {
			t.Errorf("%s is unfilled: %t, want %t", name, got, want)
		}
	}
}

// Zero values print, encode and decode.
func TestZeroValues(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		&commerce.Subscription{}, &commerce.Plan{}, &commerce.Product{}, &commerce.PricingOption{},
		&commerce.CustomDiscount{}, &commerce.Decimal{}, &commerce.Included{}, &commerce.SubscriptionPage{},
		&commerce.Error{}, &commerce.ValidationError{}, &commerce.PagingError{Err: commerce.ErrListDrift},
		&commerce.Response{}, &commerce.AddCustomDiscountsResult{}, &commerce.NewCustomDiscount{}, &commerce.Money{},
	} {
		before := fmt.Sprintf("%+v", v)
		if strings.Contains(fmt.Sprintf("%v %+v %#v", v, v, v), "PANIC") {
			t.Errorf("%T prints as %s", v, before)
		}
		text := encode(t, v)
		if _, ok := v.(json.Unmarshaler); !ok {
			continue
		}
		if err := json.Unmarshal([]byte(text), v); err != nil || fmt.Sprintf("%+v", v) != before {
			t.Errorf("%s is decoded as %+v, error %v", text, v, err)
		}
	}
}

// What a record was decoded from, it can be encoded to: values that do not fit are kept.
func TestExtra(t *testing.T) {
	t.Parallel()
	for in, v := range map[string]any{
		`{"amount":{"amount":"ten","currency":"USD"}}`: &commerce.CustomDiscount{},
		`{"amount":"ten"}`:           &commerce.CustomDiscount{},
		`{"id":5,"type":[],"new":1}`: &commerce.Plan{},
		`{"attributes":{"can_pause":"yes","trial_period":0,"feature_configurations":[{"id":1}]}}`: &commerce.Plan{},
		`{"meta":{"prices":{"p":{"USD":{"amount":7}}}}}`:                                          &commerce.PricingOption{},
		`{"attributes":{"lead_time":3,"notification_schedule":{}}}`:                               &commerce.PricingOption{},
		`{"attributes":{"payment_authority":"odd"}}`:                                              &commerce.Subscription{},
		`{"attributes":{"payment_authority":{"":5,"type":"x"}}}`:                                  &commerce.Subscription{},
		`{"meta":{"timestamps":{"updated_at":"2024-01-02T03:04:05+23:59"}}}`:                      &commerce.Subscription{},
		`{"meta":{"paused":"odd","canceled":false,"pending_price_change":{"plan_prices":{"p":{` +
			`"EUR":{"amount":0,"includes_tax":false},"USD":{"amount":0,"includes_tax":"odd"}}}}}}`: &commerce.Subscription{},
	} {
		if err := json.Unmarshal([]byte(in), v); err != nil {
			t.Fatal(err)
		}
		again := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		text := encode(t, v)
		if err := json.Unmarshal([]byte(text), again); err != nil {
			t.Fatal(err)
		}
		diff(t, in, again, v)
		for _, value := range []string{`"ten"`, `[]`, `"yes"`, `"odd"`, `"":5`} {
			if strings.Contains(in, value) && !strings.Contains(text, value) {
				t.Errorf("%s is encoded as %s", in, text)
			}
		}
	}
}

// A value that does not fit its field takes no zeros with it when the record is encoded.
// If the field is set too, one of the values would be lost.
func TestExtra_besideFields(t *testing.T) {
	t.Parallel()
	const record = `{"meta":{"manual_payments":false,"canceled":false,"paused":"odd","closed":false,"suspended":false,
	 "pending":false,"pending_price_change":{"plan_prices":{"p":{"EUR":{"amount":0,"includes_tax":false},
	 "USD":{"amount":0,"includes_tax":"odd"}}}},"price_update_history":[{"price_changes":{}}]}}`
	var sub commerce.Subscription
	if err := json.Unmarshal([]byte(record), &sub); err != nil {
		t.Fatal(err)
	}
	diff(t, "encoded", jsonValue(t, []byte(encode(t, sub))), jsonValue(t, []byte(record)))
	sub.Meta.Paused = true
	if b, err := json.Marshal(sub); err == nil {
		t.Errorf("encoded with a field that Extra holds too: %s, want an error", b)
	}
}

func TestPaymentAuthority_redactsItself(t *testing.T) {
	t.Parallel()
	var odd commerce.Subscription // an authority that is no object
	if err := json.Unmarshal([]byte(`{"attributes":{"payment_authority":"canary"}}`), &odd); err != nil {
		t.Fatal(err)
	}
	for _, p := range []commerce.PaymentAuthority{
		{Type: "canary"}, {CustomerID: "canary"}, {CardID: "canary"}, {PaymentProfileID: "canary"},
		{CustomerProfileID: "canary"}, {Extra: commerce.Extra{"x": json.RawMessage(`"canary"`)}},
		odd.Attributes.PaymentAuthority,
	} {
		sub := commerce.Subscription{Attributes: commerce.SubscriptionAttributes{PaymentAuthority: p}}
		for _, v := range []any{p, &p, sub, &sub} {
			var log strings.Builder
			slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v)
			slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", v)
			if strings.Count(log.String(), "REDACTED") != 2 {
				t.Errorf("%T is logged as %s, want REDACTED", v, &log)
			}
			text := log.String() + fmt.Sprintf("%v %+v %#v %q %x %+v", v, v, v, v, v, []any{v})
			if strings.Contains(text, "canary") || strings.Contains(text, fmt.Sprintf("%x", "canary")) {
				t.Errorf("%T is shown as %s", v, text)
			}
		}
		if text := encode(t, sub); !strings.Contains(text, "canary") {
			t.Errorf("encoded as %s, want the value", text)
		}
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	const in = `"relationships":{"r":{"links":{"null":null,"text":"x","empty":"","object":{},"no href":{"href":""},` +
		`"null href":{"href":null},"title":{"title":"t"},"both":{"href":"y","title":"t"}}}}`
	notNull := commerce.Link{Extra: commerce.Extra{}}
	want := commerce.Links{ // only null is the zero Link
		{Name: "null"}, {Name: "text", Link: commerce.Link{Href: "x"}}, {Name: "empty", Link: notNull},
		{Name: "object", Link: notNull}, {Name: "no href", Link: notNull}, {Name: "null href", Link: notNull},
		{Name: "title", Link: commerce.Link{Title: "t"}}, {Name: "both", Link: commerce.Link{Href: "y", Title: "t"}},
	}
	for _, record := range []string{`{` + in + `}`, `{"type":5,` + in + `}`} { // 5 is read in the unusual way
		var sub, again commerce.Subscription
		if err := json.Unmarshal([]byte(record), &sub); err != nil {
			t.Fatal(err)
		}
		diff(t, "links of "+record, sub.Relationships.Get("r").Links, want)
		if err := json.Unmarshal([]byte(encode(t, sub)), &again); err != nil {
			t.Fatal(err)
		}
		diff(t, "links after a round trip", again.Relationships.Get("r").Links, want)
	}
}

func TestRelationshipData(t *testing.T) {
	t.Parallel()
	refs := []commerce.ResourceRef{{Type: "a", ID: uuid.MustParse(itemID)}}
	for data, want := range map[string]commerce.RelationshipData{
		`null`:                                 {},
		`[]`:                                   {Many: true, Refs: []commerce.ResourceRef{}},
		`{"type":"a","id":"` + itemID + `"}`:   {Refs: refs},
		`[{"type":"a","id":"` + itemID + `"}]`: {Many: true, Refs: refs},
	} {
		var sub commerce.Subscription
		if err := json.Unmarshal([]byte(`{"relationships":{"r":{"data":`+data+`}}}`), &sub); err != nil {
			t.Fatal(err)
		}
		diff(t, data, sub.Relationships.Get("r").Data, want)
		if text := encode(t, sub); data != "null" && !strings.Contains(text, `"data":`+data) {
			t.Errorf("%s is encoded as %s", data, text)
		}
	}
}

// Links are data: wherever they point, requests go to the store. They are the same after
// a round trip.
func FuzzLinks(f *testing.F) {
	for _, links := range []string{
		`null`, `{}`, `[]`, `"x"`, `{`, `n`, `[[[`, `0 `, `{"next":null}`, `{"next":5}`, `{"next":null,"next":"/"}`,
		`{"next":"https://evil.example/?page[offset]=100"}`, `{"\u006eext":""}`, "{\"xt\":\"h\xe7evil\"}", `{"":{"":"/x"}}`,
		`{"next":{"href":"/x","title":"t","new":[1]},"self":""}`, "{\"next\":{\"href\":\"/x\",\"tit\xe9le\":\"t\"}}",
	} {
		f.Add([]byte(links))
	}
	f.Fuzz(func(t *testing.T, links []byte) {
		record := `{"id":"` + itemID + `","relationships":{"r":{"links":` + string(links) + `}}}`
		r := &recorder{respond: respond(200, `{"data":[`+record+`],"links":`+string(links)+`}`)}
		subs, err := commerce.Collect(newClient(t, r, attempts(1)).Subscriptions.All(t.Context(), nil))
		if _, ok := errors.AsType[*commerce.PagingError](err); err != nil && !ok || err == nil && len(subs) != 1 {
			t.Fatalf("got %d subscriptions, error %v, want 1 or a PagingError", len(subs), err)
		}
		for _, written := range r.written {
			if !strings.HasPrefix(written, "GET /v2/subscriptions/subscriptions?page%5Blimit%5D=100") ||
				!strings.Contains(written, "\r\nHost: store.example\r\n") {
				t.Fatalf("a link was followed: %q", written)
			}
		}
		if len(subs) == 0 {
			return
		}
		// The first encoding may write the JSON in an Extra in another way.
		var once, twice commerce.Subscription
		if err := json.Unmarshal([]byte(encode(t, subs[0])), &once); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(encode(t, once)), &twice); err != nil {
			t.Fatal(err)
		}
		diff(t, "links after a second round trip", twice.Relationships.Get("r").Links, once.Relationships.Get("r").Links)
		texts := func(sub *commerce.Subscription) (all []string) {
			for _, l := range sub.Relationships.Get("r").Links {
				all = append(all, l.Name, l.Href, l.Title, l.DescribedBy)
			}
			return all
		}
		diff(t, "links after a round trip", texts(&once), texts(subs[0]))
	})
}
