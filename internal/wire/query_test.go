package wire

import (
	"strings"
	"testing"
)

func TestFilter(t *testing.T) {
	t.Parallel()
	one := func(field, value string) Condition { return Condition{Field: field, Values: []string{value}} }
	tests := []struct {
		name       string
		conditions []Condition
		want       string
	}{
		{name: "none"},
		{name: "no values", conditions: []Condition{{Field: "name"}, one("email", "a")}, want: `eq(email,"a")`},
		{
			name: "quoted", conditions: []Condition{one("email", `a"b\`), one("name", ":,()'")},
			want: `eq(email,"a\"b\\"):eq(name,":,()'")`,
		},
		{
			name:       "several values",
			conditions: []Condition{{Field: "name", Values: []string{"aZ09-_.@", "", "a b", `"`, `\`, "a,b)", "é", "*", "$"}}},
			want:       `in(name,aZ09-_.@,"","a b","\"","\\","a,b)","é","*","$")`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Filter(tt.conditions); got != tt.want {
				t.Errorf("Filter() = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	got, err := Path("v2", "a+bé:@&=$,;~", "...", strings.Repeat("a", 1024))
	if want := "/v2/a+b%C3%A9:@&=$%2C%3B~/.../" + strings.Repeat("a", 1024); err != nil || got != want {
		t.Errorf("Path() = %s, %v, want %s", got, err, want)
	}
	if got, err := Path(); err == nil {
		t.Errorf("Path() = %s without elements, want an error", got)
	}
	for _, bad := range []string{
		"", ".", "..", "a/b", `a\b`, "a?b", "a#b", "a%b", "a b", "a\tb", "a\x00", "a\x7f", "\xff",
		strings.Repeat("a", 1025),
	} {
		got, err := Path("v2", bad)
		if err == nil || len(bad) > 2 && strings.Contains(err.Error(), bad) {
			t.Errorf("Path(%q) = %s, %v, want an error that does not quote it", bad, got, err)
		}
	}
}
