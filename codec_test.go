package commerce_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// elements returns n elements of an array, with the number of each in place of %d.
func elements(n int, element string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.ReplaceAll(element, "%d", strconv.Itoa(i))
	}
	return strings.Join(list, ",")
}

// Goes to each limit on the elements of a response, and beyond it.
func TestLimits(t *testing.T) {
	t.Parallel()
	included := func(member string) func(n int) string {
		return func(n int) string { return `{"data":[],"included":{"` + member + `":[` + elements(n, `{}`) + `]}}` }
	}
	for _, tt := range []struct {
		name  string
		body  func(n int) string
		limit int
	}{
		{name: "records", limit: 1_000, body: func(n int) string { return `{"data":[` + elements(n, `{}`) + `]}` }},
		{
			name: "records after an unusual name", limit: 1_000,
			body: func(n int) string { return `{"d\u0061ta":[` + elements(n, `{}`) + `]}` },
		},
		{
			name: "records with values that do not fit", limit: 1_000,
			body: func(n int) string { return `{"data":[` + elements(n, `{"id":%d}`) + `]}` },
		},
		{name: "plans", limit: 10_000, body: included("plans")},
		{name: "products", limit: 10_000, body: included("products")},
		{name: "pricing options", limit: 10_000, body: included("pricing_options")},
		{
			name: "included resources together", limit: 10_000,
			body: func(n int) string {
				return `{"data":[],"included":{"plans":[` + elements(9_990, `{}`) + `],"products":[` + elements(n-9_995, `{}`) +
					`],"pricing_options":[` + elements(5, `{}`) + `]}}`
			},
		},
		{
			name: "values", limit: 100_001,
			body: func(n int) string { return `{"data":[],"links":{` + elements(n-1, `"%d":""`) + `}}` },
		},
		{
			name: "values beside commas in texts", limit: 100_001,
			body: func(n int) string {
				return `{"data":[],"a":"` + strings.Repeat(`,\",\\`, 60_000) + `","links":{` + elements(n-2, `"%d":","`) + `}}`
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for n, want := range map[int]error{tt.limit: nil, tt.limit + 1: commerce.ErrBadResponse} {
				c := newStub(t, respond(200, tt.body(n))).client(t, attempts(1))
				err := list(t.Context(), c)
				if !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), "use a smaller PageSize") {
					t.Errorf("%d: error = %v, want %v, and what to do", n, err, want)
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

// mutations is the number of pages that TestBothWays_mutated changes. The race detector makes each ten times as slow.
func mutations() int {
	info, _ := debug.ReadBuildInfo()
	if testing.Short() || slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return 5_000
	}
	return 100_000
}

// pages returns bodies of lists: of both payload generations, from the service's documentation and from the fake store,
// and the inputs that fuzzing found.
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
		if isRead := compareWays(t, page); !isRead {
			t.Errorf("%s: the reader left the page to the decoder", name)
		}
	}
}

// Whatever the reader accepts, it reads like the decoder.
func TestBothWays_mutated(t *testing.T) {
	t.Parallel()
	all := pages(t)
	names := slices.Sorted(maps.Keys(all))
	const seed = 19
	random := rand.New(rand.NewPCG(seed, seed))
	count, accepted := mutations(), 0
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

// compareWays reports whether the reader accepts page. If so, the decoder must read the same.
func compareWays(t *testing.T, page []byte) bool {
	t.Helper()
	buffer := slices.Clone(page)
	got, err := commerce.ReadFast(buffer)
	for i := range buffer { // the next response uses it again
		buffer[i] = 'x'
	}
	if err != nil {
		return false
	}
	want, err := commerce.ReadByDecoder(page)
	if err != nil {
		t.Errorf("the reader accepts the page, error of the decoder = %v, want none", err)
	} else if !reflect.DeepEqual(want, got) {
		diff(t, "page of the reader", got, want)
		t.Errorf("the reader and the decoder do not return the same")
	}
	return true
}

// heap returns the memory that is in use, in bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC() // empties the pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// neighbours are relationships with large values, which take all forms that a list in a record can have.
func neighbours() []string {
	text := strings.Repeat("x", 500_000)
	object, link := `{"data":{"meta":"`+text+`"}}`, `"`+text+`"`
	array := `{"data":[` + strings.Repeat(`{"type":"t","id":"`+itemID+`","meta":{"m":"`+text[:500]+`"}},`, 20) + `{}]}`
	return []string{
		`{"plans":` + array + `}`,
		`{"plans":` + object + `}`,
		`{"plans":` + object + `,"products":{},"others":{}}`,
		`{"plans":{"links":{"self":` + link + `,"related":"","next":""}}}`,
	}
}

// A record that is copied keeps nothing else of its page in memory.
//
//nolint:paralleltest // measures the memory of the whole process
func TestReadFast_keepsLittle(t *testing.T) {
	const records, pages, limit = 200, 20, 10 << 10
	store := commercetest.New(t, commercetest.Config{})
	store.Seed(100)
	var list struct {
		Data []json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(list100(t, store), &list); err != nil {
		t.Fatal(err)
	}
	list.Data = slices.Repeat(list.Data, records/len(list.Data))
	large := neighbours()
	for i := range list.Data {
		if place := i % (records / pages); place > 0 {
			relationships := large[i%len(large)] + `,"relationships2":`
			list.Data[i] = bytes.Replace(list.Data[i], []byte(`"relationships":`), []byte(`"relationships":`+relationships), 1)
		}
	}
	page, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
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
