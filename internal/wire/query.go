package wire

import (
	"errors"
	"net/url"
	"strings"
)

// Equal is a condition of a filter: the field equals the value.
type Equal struct{ Field, Value string }

// Filter returns a filter that matches the records which meet all conditions:
//
//	eq(account_id,"…"):eq(email,"…")
//
// Values are always quoted: only a quoted value may hold any character.
func Filter(conditions []Equal) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	parts := make([]string, len(conditions))
	for i, c := range conditions {
		parts[i] = "eq(" + c.Field + `,"` + escape.Replace(c.Value) + `")`
	}
	return strings.Join(parts, ":")
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
