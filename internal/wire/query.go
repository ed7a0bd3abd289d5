package wire

import (
	"errors"
	"net/url"
	"strings"
)

// Condition is a condition of a filter: the field has one of the values. Without values it does not
// filter. No value is "".
type Condition struct {
	Field  string
	Values []string
}

// Filter returns a filter that matches the records which meet all conditions:
//
//	eq(email,"…"):in(account_id,…,…)
//
// The value of eq is always quoted: only a quoted value may hold any character. The documentation
// shows no quotes in a list of values, so those that need none have none.
func Filter(conditions []Condition) string {
	var parts []string
	for _, c := range conditions {
		switch len(c.Values) {
		case 0:
		case 1:
			parts = append(parts, "eq("+c.Field+","+quote(c.Values[0])+")")
		default:
			values := make([]string, len(c.Values))
			for i, v := range c.Values {
				if values[i] = v; strings.ContainsFunc(v, needsQuotes) {
					values[i] = quote(v)
				}
			}
			parts = append(parts, "in("+c.Field+","+strings.Join(values, ",")+")")
		}
	}
	return strings.Join(parts, ":")
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func quote(s string) string { return `"` + escape.Replace(s) + `"` }

func needsQuotes(r rune) bool {
	isLetter, isDigit := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z', r >= '0' && r <= '9'
	return !isLetter && !isDigit && !strings.ContainsRune("-_.@", r)
}

// Query encodes values like url.Values.Encode, but a space as %20 instead of a plus sign:
// the service's documentation shows only percent-encoding.
func Query(values url.Values) string {
	return strings.ReplaceAll(values.Encode(), "+", "%20")
}

// Path returns an escaped path with one segment for each element. It refuses characters
// that could begin another segment or end the path: escaping them would not be enough,
// because proxies decode a path before they route the request. An error does not quote
// the element.
func Path(elements ...string) (string, error) {
	if len(elements) == 0 {
		return "", errors.New("must have at least one element")
	}
	var b strings.Builder
	for _, e := range elements {
		if err := checkElement(e); err != nil {
			return "", err
		}
		b.WriteByte('/')
		b.WriteString(url.PathEscape(e))
	}
	return b.String(), nil
}

func checkElement(e string) error {
	switch {
	case e == "":
		return errors.New("must not be empty")
	case e == "." || e == "..":
		return errors.New("must not be a dot segment")
	case len(e) > 1024:
		return errors.New("must not be longer than 1024 bytes")
	}
	for _, r := range e {
		if r <= ' ' || r == 0x7f || r == '\ufffd' || strings.ContainsRune(`/\?#%`, r) {
			return errors.New(`must not contain white space, control characters, invalid UTF-8 or any of / \ ? # %`)
		}
	}
	return nil
}
