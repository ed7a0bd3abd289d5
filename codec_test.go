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
	"github.com/google/uuid"
)

// All that a page or a discount consists of is registered.
//
//nolint:paralleltest // comes before the tests that a missing record ends, by a stack overflow
func TestTables(t *testing.T) {
	if problems := unregistered(reflect.TypeFor[listBody]()); len(problems) > 0 {
		t.Errorf("got problems, want none:\n%s", strings.Join(problems, "\n"))
	}
}

// Each type with JSON methods is registered, or its methods do not call the codec with the same
// type. Without that, they would call each other without end.
//
//nolint:paralleltest // as TestTables
func TestTables_methods(t *testing.T) {
	want := []string{ // not registered
		"CustomDiscount", "Decimal", "Error", "Links", "Money", "NewCustomDiscount", "Relationships", "Settings",
		"UnconfirmedDiscount", "oddAuthority", "subscriptionWithoutLogValue",
	}
	method := regexp.MustCompile(`(?m)^func \(\w* ?\*?(\w+)\) (?:M|Unm)arshalJSON\(`)
	record := regexp.MustCompile(`wire\.Record\[(\w+)\]`)
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
			if found[1] != "plainDiscount" { // it has no methods
				want = append(want, found[1])
			}
		}
	}
	slices.Sort(want)
	if d := cmp.Diff(want, slices.Sorted(maps.Keys(withMethods))); d != "" {
		t.Errorf("types with JSON methods (-registered +found):\n%s", d)
	}
}

// unregistered returns what payloads should know of t, and of what it consists of down to the
// records, and does not know.
func unregistered(t reflect.Type) (problems []string) {
	_, hasMethods := reflect.TypeAssert[json.Unmarshaler](reflect.New(t))
	switch hasRule := payloads.HasRule(t); {
	case isStruct(t) && hasRule:
		return nil
	case isStruct(t) && hasMethods:
		problems = append(problems, fmt.Sprintf("%v has JSON methods, but is not registered", t))
	case t.Kind() == reflect.Slice && isStruct(t.Elem()) && !hasRule && !payloads.HasRule(t.Elem()):
		problems = append(problems, fmt.Sprintf("%v has no limit", t))
	}
	for _, part := range parts(t) {
		problems = append(problems, unregistered(part)...)
	}
	return problems
}

// isStruct reports whether t is a struct in JSON too, and not a text.
func isStruct(t reflect.Type) bool {
	_, isText := reflect.TypeAssert[interface{ UnmarshalText([]byte) error }](reflect.New(t))
	return t.Kind() == reflect.Struct && !isText
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
	for f := range t.Fields() {
		if f.Tag.Get("json") != "-" {
			list = append(list, f.Type)
		}
	}
	return list
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

// An offering that was separated has no slice of the one that it is a copy of.
func TestOffering_separate(t *testing.T) {
	t.Parallel()
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0))
		case reflect.Struct:
			for _, field := range v.Fields() {
				if field.CanSet() {
					fill(field)
				}
			}
		case reflect.Pointer, reflect.Interface:
			t.Errorf("%v cannot be in an offering: separate would have to copy it", v.Type())
		default:
		}
	}
	var check func(name string, a, b reflect.Value)
	check = func(name string, a, b reflect.Value) {
		switch a.Kind() {
		case reflect.Slice:
			if a.Pointer() == b.Pointer() {
				t.Errorf("%s is the same slice in both", name)
			}
			check(name+"[0]", a.Index(0), b.Index(0))
		case reflect.Struct:
			for f, field := range a.Fields() {
				check(name+"."+f.Name, field, b.FieldByIndex(f.Index))
			}
		default:
		}
	}
	var o Offering
	fill(reflect.ValueOf(&o).Elem())
	separated := o
	separated.separate()
	if d := cmp.Diff(o, separated); d != "" {
		t.Errorf("the copy differs (-want +got):\n%s", d)
	}
	check("Offering", reflect.ValueOf(o), reflect.ValueOf(separated))
}

// Subscriptions with the same offering share no memory that can change.
func TestSubscription_offering(t *testing.T) {
	t.Parallel()
	record := `{"id":"%d0000000-0000-4000-8000-000000000000","attributes":{"offering":{"id":"` + uuid.Max.String() + `",` +
		`"relationships":{"plans":{"links":{"self":"/a","next":""},` +
		`"data":[{"type":"plan","id":"` + uuid.Max.String() + `"}]}},` +
		`"meta":{"external_product_refs":["a"],"external_plan_refs":["b"]}}}}`
	body := []byte(fmt.Sprintf(`{"data":[`+record+`,`+record+`]}`, 1, 2))
	if !payloads.HasRule(reflect.TypeFor[Offering]()) {
		t.Error("an offering that repeats is read each time")
	}
	page, err := readPage(body, 2)
	other, errOther := readPage(body, 2)
	if err != nil || errOther != nil {
		t.Fatal(err, errOther)
	}
	first := &page.Subscriptions[0].Attributes.Offering
	_ = append(first.Meta.ExternalProductRefs[:0], "changed")
	_ = append(first.Meta.ExternalPlanRefs[:0], "changed")
	_ = append(first.Relationships[0].Data.Refs[:0], ResourceRef{})
	first.Relationships[0].Links[1].Extra["changed"] = nil
	_ = append(first.Relationships[0].Links[:0], NamedLink{})
	_ = append(first.Relationships[:0], NamedRelationship{})
	if d := cmp.Diff(other.Subscriptions[1], page.Subscriptions[1]); d != "" {
		t.Errorf("the second subscription changed with the first (-want +got):\n%s", d)
	}
}
