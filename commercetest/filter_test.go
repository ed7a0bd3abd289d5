package commercetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFilter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want []condition
	}{
		{text: `eq(email,ron+1@swanson.com)`, want: []condition{{"email", "ron+1@swanson.com"}}},
		{text: `eq(external_ref,a-b_c.d@e*f$g)`, want: []condition{{"external_ref", "a-b_c.d@e*f$g"}}},
		{text: `eq(name,Zoë Müller)`, want: []condition{{"name", "Zoë Müller"}}},
		{text: `eq(account_id,1):eq(email,x@y.z)`, want: []condition{{"account_id", "1"}, {"email", "x@y.z"}}},
		{text: `eq(name,"a,b):eq(c")`, want: []condition{{"name", "a,b):eq(c"}}},
		{text: `eq(name,'a,b)')`, want: []condition{{"name", "a,b)"}}},
		{text: `eq(name,"a\"b")`, want: []condition{{"name", `a"b`}}},
		{text: `eq(name,'a\'b')`, want: []condition{{"name", `a'b`}}},
		{text: `eq(name,"a'b")`, want: []condition{{"name", `a'b`}}},
		{text: `eq(name,"a\\")`, want: []condition{{"name", `a\`}}},
		{text: `eq(name,"")`, want: []condition{{"name", ""}}},
		{text: `eq(name," a")`, want: []condition{{"name", " a"}}},
		{text: "eq(name,\"a\nb\")", want: []condition{{"name", "a\nb"}}},
		{text: tenConditions, want: slices.Repeat([]condition{{"name", "a"}}, 10)},
	} {
		got, ok := parseFilter(tt.text)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(condition{})); !ok || diff != "" {
			t.Errorf("parseFilter(%q) = ok %t, want true (-want +got):\n%s", tt.text, ok, diff)
		}
	}
}

const tenConditions = `eq(name,a):eq(name,a):eq(name,a):eq(name,a):eq(name,a)` +
	`:eq(name,a):eq(name,a):eq(name,a):eq(name,a):eq(name,a)`

func TestParseFilter_refusals(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		// incomplete
		``, `name`, `eq`, `eq()`, `eq(name)`, `eq(name,)`, `eq(name,a`,
		`eq(name,"a)`, `eq(name,"a')`, `eq(name,"a\")`, `eq(name,"a\`,
		// spaces
		`eq(name, a)`, ` eq(name,a)`, `eq( name,a)`,
		// other operators and fields
		`EQ(name,a)`, `eq(Name,a)`, `eq(status,active)`, `in(name,a,b)`, `like(name,*a*)`,
		// characters that need quotes
		`eq(name,a,b)`, `eq(name,(a))`, `eq(name,a:b)`, `eq(name,O'Brien)`, `eq(name,a"b)`, `eq(name,a&b)`, `eq(name,a=b)`,
		`eq(name,a#b)`, `eq(name,100%)`, `eq(name,a\b)`, "eq(name,a\nb)", "eq(name,a\x7fb)", `eq(name,"a"b)`,
		// separators
		`eq(name,a):`, `:eq(name,a)`, `eq(name,a)eq(name,b)`, `eq(name,a)::eq(name,b)`, `eq(name,a),eq(name,b)`,
		// too long
		tenConditions + ":eq(name,a)", `eq(name,` + strings.Repeat("a", maxFilterLength) + `)`,
	} {
		if got, ok := parseFilter(text); ok || got != nil {
			t.Errorf("parseFilter(%.40q) = %v, %t, want nil, false", text, got, ok)
		}
	}
}

// The parser does not panic and limits what it accepts. A quoted text is read as it
// was before it was quoted.
func FuzzParseFilter(f *testing.F) {
	for _, text := range []string{
		``, `a`, `"`, `'`, `\`, `\"`, `a,b`, `)`, `):eq(name,"b`, "\x00\xff", `Siobhán O'Brien`,
		`eq(name,a)`, `eq(name,"a\"b"):eq(email,'c')`, `eq(name,"a\`, `eq(name,` + "\xff)",
		`eq(`, `""\\\\""`, `\"\"""`, `0'0"`, "eq(name,\xb0HZ\u5c30\xb0", "eq(name,++\U000f0c30",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		conditions, ok := parseFilter(text)
		if ok != (len(conditions) > 0) || len(conditions) > maxConditions {
			t.Errorf("parseFilter(%q) = %d conditions, %t; want 1 to 10 and true, or 0 and false", text, len(conditions), ok)
		}
		for _, c := range conditions {
			if len(c.value) > len(text) {
				t.Errorf("parseFilter(%q) has the value %q, want none longer than the filter", text, c.value)
			}
		}
		if len(text) > maxFilterLength/4 {
			return // it may be too long after it is escaped
		}
		for _, quote := range []string{`"`, `'`} {
			quoted := quote + strings.NewReplacer(`\`, `\\`, quote, `\`+quote).Replace(text) + quote
			want := []condition{{"name", text}, {"email", "x"}}
			got, ok := parseFilter("eq(name," + quoted + "):eq(email,x)")
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(condition{})); !ok || diff != "" {
				t.Errorf("quoted as %s: ok = %t, want true (-want +got):\n%s", quoted, ok, diff)
			}
		}
	})
}
