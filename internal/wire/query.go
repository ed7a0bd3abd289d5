package wire

import (
	"errors"
	"net/url"
	"strings"
)

// Equal is one condition of a filter: the field equals the value.
type Equal struct{ Field, Value string }

// Filter writes conditions in the service's grammar, all of which must hold:
//
//	eq(account_id,"…"):eq(email,"…")
//
// Values are always quoted: quoted operands may hold any character, and always
// reach the service's newer parser.
func Filter(conditions []Equal) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	parts := make([]string, len(conditions))
	for i, c := range conditions {
		parts[i] = "eq(" + c.Field + `,"` + escape.Replace(c.Value) + `")`
	}
	return strings.Join(parts, ":")
}

// Query percent-encodes values, a space as %20: the service's documentation
// shows percent-encoding only.
func Query(values url.Values) string {
	return strings.ReplaceAll(values.Encode(), "+", "%20")
}

// Path returns the escaped path of elements. Each stays one segment: what could
// change the number of segments or end the path is refused rather than escaped,
// since proxies decode before they route. The text of an error does not repeat
// an element.
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
