package commerce_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce"
)

// goldenPages hold every documented member of a payload generation, and the zero
// values that the service always sends.
var goldenPages = []struct {
	name, file string
	absent     []string // fields of the other generation
}{
	{
		name: "first generation",
		file: "first_generation.json",
		absent: []string{
			"DisplayPrice.Tax", "Included.PricingOptions", "OfferingMeta.ExternalPlanRefs",
			"PlanAttributes.FeatureConfigurations", "PlanAttributes.MainImage", "PlanAttributes.Price",
			"PlanAttributes.PriceUnits", "PlanAttributes.SKU", "PlanMeta.Prices",
			"SubscriptionAttributes.PricingOptionID", "SubscriptionMeta.FirstInvoicePrepaid",
			"SubscriptionMeta.LastRefundAmount", "SubscriptionMeta.LastRefundID", "SubscriptionMeta.PausedBy",
			"SubscriptionMeta.PendingPriceChange", "SubscriptionMeta.PriceUpdateHistory",
			"SubscriptionStateAttributes.CancelImmediately",
		},
	},
	{
		name: "second generation",
		file: "second_generation.json",
		absent: []string{
			"Included.Products", "OfferingMeta.ExternalProductRefs", "PlanAttributes.Billing", "PlanMeta.Price",
		},
	},
}

// goldenBody is a golden page with its records as they are written.
type goldenBody struct {
	Data     []json.RawMessage            `json:"data"`
	Included map[string][]json.RawMessage `json:"included"`
}

func readGolden(t *testing.T, file string) (raw []byte, body goldenBody) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "payload", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatal(err)
	}
	return raw, body
}

// Every documented member has a field: a page leaves nothing in any Extra, fills every
// field of its generation, and is encoded again as it was.
func TestGolden_list(t *testing.T) {
	t.Parallel()
	for _, tt := range goldenPages {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			raw, body := readGolden(t, tt.file)
			page, err := newStub(t, answer(200, string(raw))).client(t).Subscriptions.List(bg, nil)
			if err != nil {
				t.Fatal(err)
			}
			seen := newCoverage()
			seen.walk(reflect.ValueOf(page.Subscriptions), "data")
			seen.walk(reflect.ValueOf(page.Included), "included")
			seen.walk(reflect.ValueOf(page.Links), "links")
			diff(t, "members in an Extra", seen.extra, []string(nil))
			diff(t, "members of the page in its Extra", page.Extra, commerce.Extra(nil))
			diff(t, "fields that no record fills", seen.unfilled(), tt.absent)

			for i, want := range body.Data {
				wantEncoded(t, fmt.Sprintf("data[%d]", i), page.Subscriptions[i], want)
			}
			for kind, want := range body.Included {
				wantAllEncoded(t, kind, page.Included, want)
			}
		})
	}
}

func wantAllEncoded(t *testing.T, kind string, included commerce.Included, want []json.RawMessage) {
	t.Helper()
	var got []any
	for _, v := range included.Plans {
		if kind == "plans" {
			got = append(got, v)
		}
	}
	for _, v := range included.Products {
		if kind == "products" {
			got = append(got, v)
		}
	}
	for _, v := range included.PricingOptions {
		if kind == "pricing_options" {
			got = append(got, v)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("got %d %s, want %d", len(got), kind, len(want))
	}
	for i := range got {
		wantEncoded(t, fmt.Sprintf("%s[%d]", kind, i), got[i], want[i])
	}
}

// The same holds for each record by itself, through the caller's encoding/json.
func TestGolden_records(t *testing.T) {
	t.Parallel()
	for _, tt := range goldenPages {
		_, body := readGolden(t, tt.file)
		records := maps.Clone(body.Included)
		records["subscriptions"] = body.Data
		for kind, list := range records {
			for i, want := range list {
				t.Run(fmt.Sprintf("%s/%s/%d", tt.name, kind, i), func(t *testing.T) {
					t.Parallel()
					var record any
					switch kind {
					case "subscriptions":
						record = &commerce.Subscription{}
					case "plans":
						record = &commerce.Plan{}
					case "products":
						record = &commerce.Product{}
					case "pricing_options":
						record = &commerce.PricingOption{}
					}
					if err := json.Unmarshal(want, record); err != nil {
						t.Fatal(err)
					}
					seen := newCoverage()
					seen.walk(reflect.ValueOf(record), kind)
					diff(t, "members in an Extra", seen.extra, []string(nil))
					wantEncoded(t, kind, record, want)
				})
			}
		}
	}
}

// A null counts as false for these two, and is left out like other zero values.
var nullIsAbsent = []string{"active_plan", "active_pricing_option"}

// wantEncoded compares what v is encoded to with want, as JSON values.
func wantEncoded(t *testing.T, what string, v any, want []byte) {
	t.Helper()
	got, err := json.Marshal(v)
	if err != nil {
		t.Errorf("%s: encode: %v", what, err)
		return
	}
	equal := cmp.Comparer(func(a, b json.Number) bool {
		x, okX := new(big.Rat).SetString(a.String())
		y, okY := new(big.Rat).SetString(b.String())
		return okX && okY && x.Cmp(y) == 0
	})
	optional := cmp.FilterPath(func(p cmp.Path) bool {
		member, ok := p.Last().(cmp.MapIndex)
		if !ok || !slices.Contains(nullIsAbsent, member.Key().String()) {
			return false
		}
		want, got := member.Values()
		return want.IsValid() && want.IsNil() && !got.IsValid()
	}, cmp.Ignore())
	if d := cmp.Diff(jsonValue(t, want), jsonValue(t, got), equal, optional); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
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

// coverage notes which fields of the library's types values fill, and what they keep
// in an Extra at any depth.
type coverage struct {
	filled map[string]bool // by "Type.Field"
	extra  []string        // paths
}

func newCoverage() *coverage { return &coverage{filled: map[string]bool{}} }

func (c *coverage) walk(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			c.walk(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			c.walk(v.MapIndex(key), fmt.Sprintf("%s[%q]", path, key))
		}
	case reflect.Struct:
		if strings.HasSuffix(v.Type().PkgPath(), "/commerce") && v.Type() != reflect.TypeFor[commerce.Decimal]() {
			c.walkFields(v, path)
		}
	default: // has no fields
	}
}

func (c *coverage) walkFields(v reflect.Value, path string) {
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Name
		if name == "Extra" {
			for _, key := range field.MapKeys() {
				c.extra = append(c.extra, path+"."+key.String())
			}
			continue
		}
		key := v.Type().Name() + "." + name
		c.filled[key] = c.filled[key] || !field.IsZero() && (field.Kind() != reflect.Slice || field.Len() > 0)
		if name != "Billing" || !field.IsZero() { // a plan of the second generation has none
			c.walk(field, path+"."+name)
		}
	}
}

// unfilled returns the fields that are zero wherever their type occurs.
func (c *coverage) unfilled() (names []string) {
	for name, filled := range c.filled {
		if !filled {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	extra := commerce.Extra{"new": nil}
	seen := newCoverage()
	seen.walk(reflect.ValueOf([]*commerce.Plan{
		{Meta: commerce.PlanMeta{Prices: map[string]commerce.OptionPrice{"p": {Extra: extra}}}},
		{Attributes: commerce.PlanAttributes{Price: commerce.Prices{"USD": {IncludesTax: true, Extra: extra}}}},
	}), "plans")
	slices.Sort(seen.extra)
	diff(t, "extra", seen.extra, []string{`plans[0].Meta.Prices["p"].new`, `plans[1].Attributes.Price["USD"].new`})
	for name, want := range map[string]bool{
		"Plan.ID": true, "PlanMeta.Prices": false, "OptionPrice.Price": true,
		"Price.Amount": true, "Price.IncludesTax": false,
	} {
		if got := slices.Contains(seen.unfilled(), name); got != want {
			t.Errorf("%s unfilled: got %t, want %t", name, got, want)
		}
	}
}
