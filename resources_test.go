package commerce_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// payloadPages hold every documented member of a payload generation, and the zero values
// that the service always sends. Each has a list of the fields of the other generation.
var payloadPages = map[string][]string{
	"first_generation.json": {
		"DisplayPrice.Tax", "Included.PricingOptions", "OfferingMeta.ExternalPlanRefs",
		"PlanAttributes.FeatureConfigurations", "PlanAttributes.MainImage", "PlanAttributes.Price",
		"PlanAttributes.PriceUnits", "PlanAttributes.SKU", "PlanMeta.Prices",
		"SubscriptionAttributes.PricingOptionID", "SubscriptionMeta.FirstInvoicePrepaid",
		"SubscriptionMeta.LastRefundAmount", "SubscriptionMeta.LastRefundID", "SubscriptionMeta.PausedBy",
		"SubscriptionMeta.PendingPriceChange", "SubscriptionMeta.PriceUpdateHistory",
		"SubscriptionStateAttributes.CancelImmediately",
	},
	"second_generation.json": {
		"Included.Products", "OfferingMeta.ExternalProductRefs", "PlanAttributes.Billing", "PlanMeta.Price",
	},
}

// Every documented member has a field of its name: a page leaves nothing in any Extra, and
// fills every field of its generation. Each record is encoded as it was, from the page or
// from encoding/json.
func TestPayload(t *testing.T) {
	t.Parallel()
	for _, name := range payloadPages["first_generation.json"] {
		if slices.Contains(payloadPages["second_generation.json"], name) {
			t.Errorf("no page fills %s: add the member to one of testdata/payload", name)
		}
	}
	for file, unfilled := range payloadPages {
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
			diff(t, "fields that no record of testdata/payload/"+file+" fills", fields.unfilled(), unfilled)
			diff(t, "fields with the name of another member", fields.misnamed, []string(nil))

			var body struct {
				Data     []json.RawMessage            `json:"data"`
				Included map[string][]json.RawMessage `json:"included"`
			}
			if err := json.Unmarshal(raw, &body); err != nil {
				t.Fatal(err)
			}
			checkRecords(t, reflect.ValueOf(page.Subscriptions), body.Data)
			checkParts(t, page.Subscriptions, raw)
			for name, list := range includedLists(&page.Included) {
				checkRecords(t, list, body.Included[name])
			}
		})
	}
}

// checkParts is checkRecords for the parts of subscriptions that have JSON methods.
func checkParts(t *testing.T, subs []commerce.Subscription, page []byte) {
	t.Helper()
	var body struct {
		Data []struct {
			Attributes          struct{ Offering json.RawMessage }
			Meta, Relationships json.RawMessage
		}
	}
	if err := json.Unmarshal(page, &body); err != nil {
		t.Fatal(err)
	}
	for i, raw := range body.Data {
		sub := &subs[i]
		var meta struct{ State json.RawMessage }
		if err := json.Unmarshal(raw.Meta, &meta); err != nil {
			t.Fatal(err)
		}
		for _, part := range []struct {
			raw  json.RawMessage
			list any
		}{
			{raw.Meta, []commerce.SubscriptionMeta{sub.Meta}},
			{meta.State, []commerce.SubscriptionState{sub.Meta.State}},
			{raw.Relationships, []commerce.Relationships{sub.Relationships}},
			{raw.Attributes.Offering, []commerce.Offering{sub.Attributes.Offering}},
		} {
			if part.raw != nil {
				checkRecords(t, reflect.ValueOf(part.list), []json.RawMessage{part.raw})
			}
		}
		for _, related := range sub.Relationships {
			checkRoundTrip(t, encode(t, related.Links), related.Links)
		}
	}
}

// checkRecords compares what records are encoded to with the JSON they were read from. By
// itself, each of them must read the same.
func checkRecords(t *testing.T, records reflect.Value, want []json.RawMessage) {
	t.Helper()
	typ := records.Type().Elem()
	if records.Len() != len(want) {
		t.Fatalf("got %d of %v, want %d", records.Len(), typ, len(want))
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
	for i := range want {
		alone := reflect.New(typ).Interface()
		if err := json.Unmarshal(want[i], alone); err != nil {
			t.Fatal(err)
		}
		diff(t, fmt.Sprintf("%v %d by itself", typ, i), alone, records.Index(i).Addr().Interface())
		if d := cmp.Diff(jsonValue(t, want[i]), jsonValue(t, []byte(encode(t, alone))), number, optional); d != "" {
			t.Errorf("%v %d, encoded (-want +got):\n%s", typ, i, d)
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
	sub := commerce.Subscription{Relationships: commerce.Relationships{
		{Name: "r", Relationship: commerce.Relationship{Links: want}},
	}}
	checkRoundTrip(t, `{`+in+`}`, sub)
	sub.Extra = commerce.Extra{"type": json.RawMessage(`5`)} // it is read in the unusual way
	checkRoundTrip(t, `{"type":5,`+in+`}`, sub)
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
		checkRoundTrip(t, `{"relationships":{"r":{"data":`+data+`}}}`, commerce.Subscription{
			Relationships: commerce.Relationships{{Name: "r", Relationship: commerce.Relationship{Data: want}}},
		})
	}
}

// elements returns n elements of an array, with the number of each in place of %d.
func elements(n int, element string) string {
	parts := strings.SplitAfter(strings.Repeat(element+",", n), "%d")
	for i := range parts {
		parts[i] = strings.Replace(parts[i], "%d", strconv.Itoa(i), 1)
	}
	return strings.TrimSuffix(strings.Join(parts, ""), ",")
}

type limitTest struct {
	name  string
	body  func(n int) string
	limit int
	error string // "" for one that only says what to do
}

// includedBody returns a page with n included resources: some in each list, the rest in the list
// with that name.
func includedBody(n int, rest string, some int) string {
	all := includedLists(&commerce.Included{})
	lists := []string{`"` + rest + `":[` + elements(n-some*(len(all)-1), `{}`) + `]`}
	delete(all, rest)
	for name := range all {
		lists = append(lists, `"`+name+`":[`+elements(some, `{}`)+`]`)
	}
	return `{"data":[],"included":{` + strings.Join(lists, ",") + `}}`
}

// includedLimits returns tests of each list of Included, alone and together with the others.
func includedLimits() (tests []limitTest) {
	for name := range includedLists(&commerce.Included{}) {
		tests = append(tests,
			limitTest{
				name: name, limit: 10_000, error: "more values than a response may have", // while it is read
				body: func(n int) string { return includedBody(n, name, 0) },
			},
			limitTest{
				name: name + " and others", limit: 10_000, error: "more included resources than a response may have",
				body: func(n int) string { return includedBody(n, name, 5) },
			},
		)
	}
	return tests
}

// Goes to each limit on the elements of a response, and beyond it.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range append(includedLimits(), []limitTest{
		{
			name: "records", limit: 1_000,
			body: func(n int) string { return `{"data":[` + elements(n, `{"id":"`+itemID+`"}`) + `]}` },
		},
		{
			name: "records after an unusual name", limit: 1_000,
			body: func(n int) string { return `{"d\u0061ta":[` + elements(n, `{"id":"`+itemID+`"}`) + `]}` },
		},
		{
			name: "records with values that do not fit", limit: 1_000,
			body: func(n int) string { return `{"data":[` + elements(n, `{"id":"`+itemID+`","type":%d}`) + `]}` },
		},
		{
			name: "values", limit: 100_001,
			body: func(n int) string { return `{"data":[],"x":[` + elements(n-1, `""`) + `]}` },
		},
	}...) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for n, want := range map[int]error{tt.limit: nil, tt.limit + 1: commerce.ErrBadResponse} {
				c := newStub(t, respond(200, tt.body(n))).client(t, attempts(1))
				err := list(t.Context(), c)
				if !errors.Is(err, want) || err != nil &&
					(!strings.Contains(err.Error(), tt.error) || !strings.Contains(err.Error(), "use a smaller PageSize")) {
					t.Errorf("%d: error = %v, want %v: %s, and what to do", n, err, want, tt.error)
				}
			}
		})
	}
}

// Entries of errors beyond the limit are not read.
func TestLimits_errors(t *testing.T) {
	t.Parallel()
	for _, n := range []int{999, 1_000, 1_001, 5_000} {
		c := newStub(t, respond(400, `{"errors":[`+elements(n, `{"title":"%d"}`)+`]}`)).client(t)
		e, ok := errors.AsType[*commerce.Error](list(t.Context(), c))
		if want := min(n, 1_000); !ok || len(e.Errors) != want || e.Errors[want-1].Title != fmt.Sprint(want-1) {
			t.Errorf("%d entries: got error %v, want the first %d", n, e, want)
		}
	}
}

// mutations is the number of pages that TestBothWays_mutated changes. `make proof NAME=both-ways`
// changes more.
var mutations = flag.Int("mutations", 1_000, "number of pages that TestBothWays_mutated changes")

// pages returns bodies of lists: of both payload generations, from the service's documentation and
// from the fake store, and one with unknown members and values that do not fit.
func pages(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for file := range payloadPages {
		all[file] = []byte(readFile(t, filepath.Join("testdata", "payload", file)))
	}
	commercetest.EachGeneration(t, commercetest.Config{}, func(t *testing.T, s *commercetest.Store) {
		s.Seed(5)
		all[t.Name()] = list100(t, s)
	})
	all["odd"] = []byte(`{"data":[{"id":"` + itemID + `","type":"text","new":"text","attributes":{"address_id":"odd",
		"external_ref":"text","new":{"a":"text"},"payment_authority":"text"},"meta":{"prices":"text"},
		"relationships":{"text":{"links":{"text":"text"}}}}],
		"included":{"plans":[{"attributes":{"name":"text","new":"text"}}],"text":["text"]},
		"links":{"next":null,"last":{"href":"text","new":"text"}},"new":"text"}`)
	all["unknown members"] = bytes.Replace(all["odd"], []byte(`"address_id":"odd",`), nil, 1)
	return all
}

// list100 returns the body of a list of up to 100 subscriptions with what can be included.
func list100(t *testing.T, s *commercetest.Store) []byte {
	t.Helper()
	query := url.Values{"include": {"plans,products"}, "page[limit]": {"100"}}
	if s.Config().Generation == commercetest.SecondGeneration {
		query.Set("include", "plans,pricing_options")
	}
	var body json.RawMessage
	path := []string{"v2", "subscriptions", "subscriptions"}
	if _, err := s.Client().Do(t.Context(), "GET", path, query, nil, &body); err != nil {
		t.Fatal(err)
	}
	return body
}

// The reader accepts usual pages itself, and reads them like the decoder.
func TestBothWays(t *testing.T) {
	t.Parallel()
	for name, page := range pages(t) {
		if isRead := compareWays(t, page); isRead != (name != "odd") {
			t.Errorf("%s: the reader reads the page itself: %t, want %t", name, isRead, !isRead)
		}
	}
}

// Whatever the reader accepts, it reads like the decoder.
func TestBothWays_mutated(t *testing.T) {
	t.Parallel()
	all := pages(t)
	delete(all, "odd") // the reader does not accept it
	names := slices.Sorted(maps.Keys(all))
	const seed = 19
	random := rand.New(rand.NewPCG(seed, seed))
	count, accepted := *mutations, 0
	if testing.Short() {
		count /= 10
	}
	for n := range count {
		page := slices.Clone(all[names[n%len(names)]])
		for range 1 + random.IntN(3) {
			page = mutate(random, page)
		}
		if compareWays(t, page) {
			accepted++
		}
		if t.Failed() {
			t.Fatalf("the last page of %d:\n%q", n+1, page)
		}
	}
	if accepted < count/10 || accepted > count*9/10 {
		t.Errorf("the reader accepted %d of %d pages, want a tenth to nine tenths", accepted, count)
	}
}

var fragments = []string{
	``, ` `, `,`, `:`, `"`, `\`, "\x00", "\n", "\xff", "é", `{`, `}`, `[`, `]`, `-`, `.`, `e`, `0`, `1`,
	`null`, `true`, `false`,
	`""`, `[]`, `{}`, `-0`, `01`, `1.5`, `1e9`, `1e`, `-`, `0.`, `12345678901234567890`, `"\u00e9"`,
	`"\ud800"`, `"\x"`, `"é"`,
	`"a\\nb"`, `"x":1,`, `,"id":null`, `"2024-02-29T23:59:59.999999999Z"`, `"2023-02-29T00:00:00Z"`,
	`"2024-06-30T23:59:60Z"`,
	`"2024-01-02T03:04:05+07:00"`, `"2024-01-02T03:04:05.Z"`, `"2024-01-02t03:04:05Z"`,
	`"11111111-0000-4000-8000-00000000000G"`,
	`"11111111-0000-4000-8000-0000000000aF"`, `{"a":[1,{"b":null}]}`, `{"a":1,"a":2}`, strings.Repeat("[", 70),
	strings.Repeat("[", 60) + strings.Repeat("]", 60), strings.Repeat("[", 70) + strings.Repeat("]", 70),
}

// value matches a JSON value that is not an object or array.
var value = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?[0-9.]+|null|true|false`)

// mutate changes page in a random place.
func mutate(random *rand.Rand, page []byte) []byte {
	if len(page) == 0 {
		return page
	}
	from := random.IntN(len(page))
	to := min(len(page), from+random.IntN(40))
	fragment := []byte(fragments[random.IntN(len(fragments))])
	switch random.IntN(7) {
	case 0:
		page[from] ^= 1 << random.IntN(8)
		return page
	case 1: // one byte
		return slices.Replace(page, from, from+1, fragment...)
	case 2:
		return slices.Insert(page, from, fragment...)
	case 3:
		return slices.Insert(page, from, slices.Clone(page[from:to])...)
	case 4:
		return slices.Delete(page, from, to)
	case 5:
		return page[:from]
	}
	// A value or a name.
	if at := value.FindIndex(page[from:]); at != nil {
		return slices.Replace(page, from+at[0], from+at[1], fragment...)
	}
	return page
}

// compareWays reports whether the reader accepts page. If so, it must read the same as the decoder.
// Neither keeps anything of its input: the next response is read into the same buffer.
func compareWays(t *testing.T, page []byte) (isRead bool) {
	t.Helper()
	read := func(way func([]byte) (commerce.ListBody, error), next byte) (commerce.ListBody, error) {
		buffer := slices.Clone(page)
		body, err := way(buffer)
		copy(buffer, bytes.Repeat([]byte{next}, len(page)))
		return body, err
	}
	want, wantErr := read(commerce.ReadByDecoder, 'x')
	got, err := read(commerce.ReadFast, 'y')
	if isRead = err == nil; !isRead {
		got, err = read(commerce.ReadByDecoder, 'y')
	}
	if err == nil && (wantErr != nil || !reflect.DeepEqual(want, got)) {
		diff(t, "page", got, want)
		t.Errorf("the reader accepts the page: %t, error of the decoder = %v, and something else is read", isRead, wantErr)
	}
	return isRead
}

// heap returns the memory that is in use, in bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC() // empties the pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// neighbours are relationships with large values, which take all forms that a list in a record can
// have.
func neighbours() []string {
	text := strings.Repeat("x", 200_000)
	object, link := `{"data":{"meta":"`+text+`"}}`, `"`+text+`"`
	array := `{"data":[` + strings.Repeat(`{"type":"t","id":"`+itemID+`","meta":{"m":"`+text[:500]+`"}},`, 20) + `{}]}`
	return []string{
		`{"plans":` + array + `}`,
		`{"plans":` + object + `}`,
		`{"plans":` + object + `,"products":{},"others":{}}`,
		`{"plans":{"links":{"self":` + link + `,"related":"","next":""}}}`,
	}
}

// A record that is copied keeps little else of its page in memory: short texts share chunks.
//
//nolint:paralleltest // measures the memory of the whole process
func TestReadFast_keepsLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("has one goroutine")
	}
	const records, pages, limit = 100, 20, 10 << 10
	store := commercetest.New(t, commercetest.Config{})
	store.Seed(records)
	var list struct {
		Data []json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(list100(t, store), &list); err != nil {
		t.Fatal(err)
	}
	large := neighbours()
	for i := range list.Data {
		if place := i % (records / pages); place > 0 {
			relationships := large[i%len(large)] + `,"relationships2":`
			list.Data[i] = bytes.Replace(list.Data[i], []byte(`"relationships":`), []byte(`"relationships":`+relationships), 1)
		}
	}
	page, err := json.Marshal(list)
	if _, errRead := commerce.ReadFast(page); err != nil || errRead != nil { // makes the tables of types
		t.Fatal(err, errRead)
	}
	kept := make([]commerce.Subscription, pages)
	before := heap()
	for i := range kept {
		body, err := commerce.ReadFast(page)
		if err != nil || len(body.Data) != records {
			t.Fatalf("got %d records, error %v, want %d", len(body.Data), err, records)
		}
		kept[i] = body.Data[i*records/pages] // each in another place of its page
	}
	each := (heap() - before) / pages
	t.Logf("a record keeps %d bytes", each)
	if each < 500 || each > limit {
		t.Errorf("a record keeps %d bytes, want at least 500 and at most %d", each, limit)
	}
	runtime.KeepAlive(kept)
	runtime.KeepAlive(list)
	runtime.KeepAlive(page)
}
