package commerce

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce/internal/wire"
)

// All that a page or a discount consists of is registered.
//
//nolint:paralleltest // comes before the tests that a missing record ends, by a stack overflow
func TestTables(t *testing.T) {
	check := tableCheck{codec: payloads}
	check.body(reflect.TypeFor[listBody]())
	check.record(reflect.TypeFor[customDiscountWire]())
	if len(check.problems) > 0 {
		t.Errorf("got problems, want none:\n%s", strings.Join(check.problems, "\n"))
	}
}

// Each type with JSON methods is registered, or its methods do not call the codec with the same
// type. Without that, they would call each other without end.
//
//nolint:paralleltest // as TestTables
func TestTables_methods(t *testing.T) {
	want := []string{"CustomDiscount", "Decimal", "Error", "subscriptionWithoutLogValue"} // not registered
	method := regexp.MustCompile(`(?m)^func \(\w* ?\*?(\w+)\) (?:M|Unm)arshalJSON\(`)
	record := regexp.MustCompile(`wire\.Record\(\w+, func\(\w+ \*(\w+),`)
	withMethods := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range method.FindAllStringSubmatch(string(source), -1) {
			withMethods[found[1]] = true
		}
		for _, found := range record.FindAllStringSubmatch(string(source), -1) {
			want = append(want, found[1])
		}
	}
	slices.Sort(want)
	if d := cmp.Diff(want, slices.Sorted(maps.Keys(withMethods))); d != "" {
		t.Errorf("types with JSON methods (-registered +found):\n%s", d)
	}
}

// tableCheck finds what a codec should know of a type, and does not.
type tableCheck struct {
	codec    *wire.Codec
	problems []string
}

func (c *tableCheck) add(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// rules returns what is registered for the type of v, a pointer. A type with JSON methods must be a
// record.
func (c *tableCheck) rules(v reflect.Value) (fields []any, other bool) {
	fields, other = c.codec.Rules(v.Interface())
	if _, hasMethods := reflect.TypeAssert[json.Unmarshaler](v); hasMethods && isStruct(v.Type().Elem()) && !other {
		c.add("%v has JSON methods, but is not registered", v.Type().Elem())
	}
	return fields, other
}

// body checks a type that has records in it. Its lists need a limit.
func (c *tableCheck) body(t reflect.Type) {
	_, hasRule := c.rules(reflect.New(t))
	switch {
	case t.Kind() == reflect.Struct && hasRule:
		c.record(t)
		return
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && !hasRule:
		c.add("%v has no limit", t)
	}
	for _, part := range parts(t) {
		c.body(part)
	}
}

// record checks a record, or a part of one. All structs in it need a list of their fields.
func (c *tableCheck) record(t reflect.Type) {
	v := reflect.New(t)
	got, _ := c.rules(v)
	if want := fieldsOf(v.Elem()); !slices.Equal(got, want) {
		c.add("%v lists %d fields, want all %d in their order", t, len(got), len(want))
	}
	for _, part := range parts(t) {
		c.record(part)
	}
}

// isStruct reports whether t is a struct in JSON too, and not a text.
func isStruct(t reflect.Type) bool {
	_, isText := reflect.TypeAssert[interface{ UnmarshalText([]byte) error }](reflect.New(t))
	return t.Kind() == reflect.Struct && !isText
}

// isTagged reports whether t is a struct that is decoded by the tags of its fields.
func isTagged(t reflect.Type) bool {
	untagged := func(f reflect.StructField) bool { return f.Tag == "" && !f.Anonymous }
	return isStruct(t) && !slices.ContainsFunc(reflect.VisibleFields(t), untagged)
}

// parts returns the types of the elements or the fields of t.
func parts(t reflect.Type) (list []reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return []reflect.Type{t.Elem()}
	default:
	}
	if !isStruct(t) {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		isPromoting := f.Anonymous && isTagged(t) // the list of t has its fields
		if !isPromoting && f.Tag.Get("json") != "-" {
			list = append(list, f.Type)
		}
	}
	return list
}

// fieldsOf returns pointers to the fields of v that are members, and to Extra.
func fieldsOf(v reflect.Value) (list []any) {
	if !isTagged(v.Type()) {
		return nil
	}
	pointer := func(f reflect.StructField) any { return v.FieldByIndex(f.Index).Addr().Interface() }
	for _, f := range reflect.VisibleFields(v.Type()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			list = append(list, pointer(f))
		}
	}
	if extra, ok := v.Type().FieldByName("Extra"); ok {
		list = append(list, pointer(extra))
	}
	return list
}

type (
	madeUpBody struct {
		List []madeUp `json:"list"`
	}
	madeUp struct {
		Name  string     `json:"name"`
		Part  madeUpPart `json:"part"`
		Extra Extra      `json:",embed"`
	}
	madeUpPart struct {
		Number int   `json:"number"`
		Extra  Extra `json:",embed"`
	}
)

func (madeUp) MarshalJSON() ([]byte, error) { return nil, nil }
func (*madeUp) UnmarshalJSON([]byte) error  { return nil }

// Whatever is forgotten is found.
func TestTables_problems(t *testing.T) {
	t.Parallel()
	record := wire.Record(1, func(v *madeUp, to []any) []any { return append(to, &v.Name, &v.Part, &v.Extra) })
	swapped := wire.Record(1, func(v *madeUp, to []any) []any { return append(to, &v.Part, &v.Name, &v.Extra) })
	part := wire.Fields(func(v *madeUpPart, to []any) []any { return append(to, &v.Number, &v.Extra) })
	for _, tt := range []struct {
		name  string
		rules []wire.Rule
		want  []string
	}{
		{name: "none", rules: append(record, part...)},
		{name: "fields of a part", rules: record, want: []string{
			"commerce.madeUpPart lists 0 fields, want all 2 in their order",
		}},
		{name: "order of fields", rules: append(swapped, part...), want: []string{
			"commerce.madeUp lists 3 fields, want all 3 in their order",
		}},
		{name: "record", rules: part, want: []string{
			"[]commerce.madeUp has no limit", "commerce.madeUp has JSON methods, but is not registered",
		}},
	} {
		check := tableCheck{codec: wire.NewCodec(tt.rules...)}
		check.body(reflect.TypeFor[madeUpBody]())
		if d := cmp.Diff(tt.want, check.problems); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// ListBody, ReadFast and ReadByDecoder are for tests that compare the two ways to read the body of
// a list.
type ListBody = listBody

func ReadFast(b []byte) (body ListBody, err error) {
	err = payloads.DecodeFast(b, &body)
	return body, err
}

func ReadByDecoder(b []byte) (body ListBody, err error) {
	err = payloads.Decode(b, &body)
	return body, err
}
