package commercetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// has returns a condition.
func has(field string, values ...string) condition { return condition{field: field, values: values} }

func TestFilter_parse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want []condition
	}{
		{text: `eq(email,ron+1@swanson.com)`, want: []condition{has("email", "ron+1@swanson.com")}},
		{text: `eq(external_ref,a-b_c.d@e*f$g)`, want: []condition{has("external_ref", "a-b_c.d@e*f$g")}},
		{text: `eq(name,Zoë Müller)`, want: []condition{has("name", "Zoë Müller")}},
		{text: `eq(account_id,1):eq(email,x@y.z)`, want: []condition{has("account_id", "1"), has("email", "x@y.z")}},
		{text: `eq(name,"a,b):eq(c")`, want: []condition{has("name", "a,b):eq(c")}},
		{text: `eq(name,'a,b)')`, want: []condition{has("name", "a,b)")}},
		{text: `eq(name,"a\"b")`, want: []condition{has("name", `a"b`)}},
		{text: `eq(name,'a\'b')`, want: []condition{has("name", `a'b`)}},
		{text: `eq(name,"a'b")`, want: []condition{has("name", `a'b`)}},
		{text: `eq(name,"a\\")`, want: []condition{has("name", `a\`)}},
		{text: `eq(name,"")`, want: []condition{has("name", "")}},
		{text: `eq(name," a")`, want: []condition{has("name", " a")}},
		{text: "eq(name,\"a\nb\")", want: []condition{has("name", "a\nb")}},
		{text: `in(name,a)`, want: []condition{has("name", "a")}},
		{text: `in(account_id,1,2):eq(email,x)`, want: []condition{has("account_id", "1", "2"), has("email", "x")}},
		{text: `in(name,"a,b",c d,'')`, want: []condition{has("name", "a,b", "c d", "")}},
		{text: tenConditions, want: slices.Repeat([]condition{has("name", "a")}, 10)},
	} {
		got, ok := subscriptionFilter.parse(tt.text)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(condition{})); !ok || diff != "" {
			t.Errorf("parse(%q) = ok %t, want true (-want +got):\n%s", tt.text, ok, diff)
		}
	}
}

const tenConditions = `eq(name,a):eq(name,a):eq(name,a):eq(name,a):eq(name,a)` +
	`:eq(name,a):eq(name,a):eq(name,a):eq(name,a):eq(name,a)`

func TestFilter_refusals(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		// incomplete
		``, `name`, `eq`, `eq()`, `eq(name)`, `eq(name,)`, `eq(name,a`,
		`in()`, `in(name)`, `in(name,)`, `in(name,a,)`, `in(name,a,,b)`, `in(name,a`,
		`eq(name,"a)`, `eq(name,"a')`, `eq(name,"a\")`, `eq(name,"a\`,
		// spaces
		`eq(name, a)`, ` eq(name,a)`, `eq( name,a)`, `in(name,a, b)`,
		// other operators and fields
		`EQ(name,a)`, `eq(Name,a)`, `eq(status,active)`, `in(status,active)`, `like(name,*a*)`, `IN(name,a)`,
		// characters that need quotes
		`eq(name,a,b)`, `eq(name,(a))`, `eq(name,a:b)`, `eq(name,O'Brien)`, `eq(name,a"b)`, `eq(name,a&b)`, `eq(name,a=b)`,
		`eq(name,a#b)`, `eq(name,100%)`, `eq(name,a\b)`, "eq(name,a\nb)", "eq(name,a\x7fb)", `eq(name,"a"b)`,
		// separators
		`eq(name,a):`, `:eq(name,a)`, `eq(name,a)eq(name,b)`, `eq(name,a)::eq(name,b)`, `eq(name,a),eq(name,b)`,
		// too many
		tenConditions + ":eq(name,a)",
	} {
		if got, ok := subscriptionFilter.parse(text); ok || got != nil {
			t.Errorf("parse(%.40q) = %v, %t, want nil, false", text, got, ok)
		}
	}
}

// The parser does not panic. A quoted text is read as it
// was before it was quoted.
func FuzzFilter(f *testing.F) {
	for _, text := range []string{
		``, `a`, `"`, `'`, `\`, `\"`, `a,b`, `)`, `):eq(name,"b`, "\x00\xff", `Siobhán O'Brien`,
		`eq(name,a)`, `eq(name,"a\"b"):eq(email,'c')`, `eq(name,"a\`, `eq(name,` + "\xff)",
		`eq(`, `in(name,a,"b")`, `""\\\\""`, `\"\"""`, `0'0"`, "eq(name,\xb0HZ\u5c30\xb0", "eq(name,++\U000f0c30",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		conditions, ok := subscriptionFilter.parse(text)
		if ok != (len(conditions) > 0) || len(conditions) > maxConditions {
			t.Errorf("parse(%q) = %d conditions, %t; want 1 to 10 and true, or 0 and false", text, len(conditions), ok)
		}
		for _, c := range conditions {
			if n := len(strings.Join(c.values, "")); n > len(text) || len(c.values) == 0 {
				t.Errorf("parse(%q) has the values %q, want at least one, and none longer than the filter", text, c.values)
			}
		}
		for _, quote := range []string{`"`, `'`} {
			quoted := quote + strings.NewReplacer(`\`, `\\`, quote, `\`+quote).Replace(text) + quote
			want := []condition{has("name", text, "b"), has("email", "x")}
			got, ok := subscriptionFilter.parse("in(name," + quoted + ",b):eq(email,x)")
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(condition{})); !ok || diff != "" {
				t.Errorf("quoted as %s: ok = %t, want true (-want +got):\n%s", quoted, ok, diff)
			}
		}
	})
}
