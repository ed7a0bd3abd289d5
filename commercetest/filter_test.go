package commercetest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFilter(t *testing.T) {
	t.Parallel()
	ten := strings.Repeat("eq(name,a):", 9) + "eq(name,a)"
	for _, tt := range []struct {
		text string
		want []condition // nil: does not parse
	}{
		{`eq(email,ron+1@swanson.com)`, []condition{{"email", "ron+1@swanson.com"}}},
		{`eq(external_ref,a-b_c.d@e*f$g)`, []condition{{"external_ref", "a-b_c.d@e*f$g"}}},
		{`eq(name,Zoë Müller)`, []condition{{"name", "Zoë Müller"}}},
		{`eq(account_id,1):eq(email,x@y.z)`, []condition{{"account_id", "1"}, {"email", "x@y.z"}}},
		{`eq(name,"a,b):eq(c")`, []condition{{"name", "a,b):eq(c"}}},
		{`eq(name,'a,b)')`, []condition{{"name", "a,b)"}}},
		{`eq(name,"a\"b")`, []condition{{"name", `a"b`}}},
		{`eq(name,'a\'b')`, []condition{{"name", `a'b`}}},
		{`eq(name,"a'b")`, []condition{{"name", `a'b`}}},
		{`eq(name,"a\\")`, []condition{{"name", `a\`}}},
		{`eq(name,"")`, []condition{{"name", ""}}},
		{`eq(name," a")`, []condition{{"name", " a"}}},
		{"eq(name,\"a\nb\")", []condition{{"name", "a\nb"}}},

		{``, nil},
		{`name`, nil},
		{`eq`, nil},
		{`eq()`, nil},
		{`eq(name)`, nil},
		{`eq(name,)`, nil},
		{`eq(name,a`, nil},
		{`eq(name, a)`, nil},
		{` eq(name,a)`, nil},
		{`eq( name,a)`, nil},
		{`EQ(name,a)`, nil},
		{`eq(Name,a)`, nil},
		{`eq(status,active)`, nil},
		{`in(name,a,b)`, nil},
		{`like(name,*a*)`, nil},
		{`eq(name,a,b)`, nil},
		{`eq(name,(a))`, nil},
		{`eq(name,a:b)`, nil},
		{`eq(name,O'Brien)`, nil},
		{`eq(name,a"b)`, nil},
		{`eq(name,a&b)`, nil},
		{`eq(name,a=b)`, nil},
		{`eq(name,a#b)`, nil},
		{`eq(name,100%)`, nil},
		{`eq(name,a\b)`, nil},
		{"eq(name,a\nb)", nil},
		{`eq(name,"a)`, nil},
		{`eq(name,"a')`, nil},
		{`eq(name,"a\")`, nil},
		{`eq(name,"a\`, nil},
		{`eq(name,"a"b)`, nil},
		{`eq(name,a):`, nil},
		{`:eq(name,a)`, nil},
		{`eq(name,a)eq(name,b)`, nil},
		{`eq(name,a)::eq(name,b)`, nil},
		{`eq(name,a),eq(name,b)`, nil},
		{ten + ":eq(name,a)", nil},
		{`eq(name,` + strings.Repeat("a", maxFilterLength) + `)`, nil},
	} {
		t.Run(tt.text[:min(len(tt.text), 40)], func(t *testing.T) {
			t.Parallel()
			got, ok := parseFilter(tt.text)
			if ok != (tt.want != nil) {
				t.Errorf("parseFilter(%q) ok = %t", tt.text, ok)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(condition{})); diff != "" {
				t.Errorf("parseFilter(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
	if got, ok := parseFilter(ten); !ok || len(got) != 10 {
		t.Errorf("10 conditions: ok = %t, %d of them", ok, len(got))
	}
}

// FuzzParseFilter holds that the parser does not panic on anything, bounds what
// it accepts, and that a quoted text comes out as it went in.
func FuzzParseFilter(f *testing.F) {
	for _, text := range []string{
		``, `a`, `"`, `'`, `\`, `\"`, `a,b`, `)`, `):eq(name,"b`, "\x00\xff", `Siobhán O'Brien`,
		`eq(name,a)`, `eq(name,"a\"b"):eq(email,'c')`, `eq(name,"a\`, `eq(name,` + "\xff)",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		conditions, ok := parseFilter(text)
		if ok != (len(conditions) > 0) || len(conditions) > maxConditions {
			t.Errorf("parseFilter(%q) = %d conditions, %t", text, len(conditions), ok)
		}
		for _, c := range conditions {
			if len(c.value) > len(text) {
				t.Errorf("parseFilter(%q): value %q is longer than the filter", text, c.value)
			}
		}
		if len(text) > maxFilterLength/4 {
			return // it does not fit any more when it is escaped
		}
		for _, quote := range []string{`"`, `'`} {
			quoted := quote + strings.NewReplacer(`\`, `\\`, quote, `\`+quote).Replace(text) + quote
			want := []condition{{"name", text}, {"email", "x"}}
			got, ok := parseFilter("eq(name," + quoted + "):eq(email,x)")
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(condition{})); !ok || diff != "" {
				t.Errorf("quoted as %s: ok = %t (-want +got):\n%s", quoted, ok, diff)
			}
		}
	})
}
