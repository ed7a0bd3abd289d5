package wire

import (
	"strings"
	"testing"
)

func TestPath(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{in: "a+bé:@&=$,;~", want: "a+b%C3%A9:@&=$%2C%3B~"},
		{in: "...", want: "..."},
		{in: "..;x=y", want: "..%3Bx=y"},
		{in: "user:pw@evil.example:80", want: "user:pw@evil.example:80"},
		{in: "．．／＼？", want: "%EF%BC%8E%EF%BC%8E%EF%BC%8F%EF%BC%BC%EF%BC%9F"}, // wide forms of ../\?
		{in: "\u0085\u202e\ufeff", want: "%C2%85%E2%80%AE%EF%BB%BF"},
		{in: `<"{[|^]}'>`, want: "%3C%22%7B%5B%7C%5E%5D%7D%27%3E"},
		{in: strings.Repeat("a", 1024), want: strings.Repeat("a", 1024)},
	} {
		if got, err := Path("v2", tt.in); err != nil || got != "/v2/"+tt.want {
			t.Errorf("Path(%q) = %s, %v, want /v2/%s", tt.in, got, err, tt.want)
		}
	}
	if got, err := Path(); err == nil {
		t.Errorf("Path() = %s without elements, want an error", got)
	}
	for _, bad := range []string{
		"", ".", "..", "/", `\`, "a/b", `a\b`, "../x", `..\x`, "x/..", "//evil.example", "https://evil.example/x", "a?b", "?",
		"a#b", "#", "%", "a%b", "%2e%2e", "%2f", "%252f", "%00", "%0d%0a", "a b", " a", "a ", "\n", "a\tb", "a\x00",
		"a\r\nHost: evil.example", "\x1b[31m", "a\x7f", "\xff", "a\xc0\xaf", "\xed\xa0\x80", "\ufffd",
		strings.Repeat("a", 1025),
	} {
		got, err := Path("v2", bad, "x")
		if err == nil || len(bad) > 2 && strings.Contains(err.Error(), bad) {
			t.Errorf("Path(%q) = %s, %v, want an error that does not quote it", bad, got, err)
		}
	}
}
