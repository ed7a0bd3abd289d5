package fakestore

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// pathPattern selects paths, of faults and of stubs: each part between slashes is a text, or "*" or
// a name in braces for any text.
type pathPattern string

var (
	pathPart = regexp.MustCompile(`^(\*|\{\w+\}|[^\s*?#:<>{}%]+)$`)
	// others are what other tools mean by any text.
	others = regexp.MustCompile(`^(?::(\w+)|<(?:\w+:)?(\w+)>|\{(\w+)[^}]*\}?|(\w+)\})\??$`)
)

// validate returns why p cannot be, with the right form if it looks like that of another tool.
func (p pathPattern) validate(member string) error {
	wrong, parts := false, strings.Split(string(p), "/")
	for i, part := range parts[1:] {
		if pathPart.MatchString(part) {
			continue
		}
		wrong = true
		if name := strings.Join(others.FindStringSubmatch(part), "|"); name != "" {
			parts[i+1] = "{" + strings.Trim(name[len(part):], "|") + "}"
		}
		if part == "**" {
			parts[i+1] = "*"
		}
	}
	right := strings.Join(parts, "/")
	switch {
	case parts[0] != "" || len(parts) < 2:
		return fmt.Errorf("%s must be a path that begins with /, such as /v2/carts/*", member)
	case wrong && right != string(p) && pathPattern(right).validate(member) == nil:
		return fmt.Errorf("%s %q must be written %s: {name} or * is one part between slashes", member, p, right)
	case wrong:
		return fmt.Errorf("%s %q must have no query, no %%, and a text, {name} or * for each part between slashes", member, p)
	}
	return nil
}

// fits reports whether a path fits, which is percent-encoded.
func (p pathPattern) fits(path string) bool {
	want, got := strings.Split(string(p), "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		isAny := want[i] == "*" || strings.HasPrefix(want[i], "{")
		part, err := url.PathUnescape(got[i])
		if err != nil || !isAny && want[i] != part || isAny && part == "" {
			return false
		}
	}
	return true
}

// overlaps reports whether p may fit a request of an endpoint, such as "GET /v2/carts/{cart}".
func (p pathPattern) overlaps(endpoint string) bool {
	_, path, _ := strings.Cut(endpoint, " ")
	parts := strings.Split(path, "/")
	for i, part := range strings.Split(string(p), "/") {
		if i < len(parts) && (part == "*" || strings.HasPrefix(part, "{") || strings.HasPrefix(parts[i], "{")) {
			parts[i] = part
		}
	}
	return strings.Join(parts, "/") == string(p)
}

// forMux returns p as a pattern of [net/http.ServeMux], in which names differ.
func (p pathPattern) forMux() string {
	parts := strings.Split(string(p), "/")
	for i, part := range parts {
		if part == "*" || strings.HasPrefix(part, "{") {
			parts[i] = "{p" + strconv.Itoa(i) + "}"
		}
	}
	return strings.Join(parts, "/")
}
