package wire

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Member is a member of a JSON object.
type Member struct {
	Name  string
	Value []byte
}

// object returns the member as a JSON object of its own.
func (m Member) object() []byte {
	name, _ := jsontext.AppendQuote(nil, m.Name) // replaces invalid UTF-8, as the decoder did
	return slices.Concat([]byte("{"), name, []byte(":"), m.Value, []byte("}"))
}

// Members returns the members of the JSON object b, in order, duplicates included.
func Members(b []byte) ([]Member, error) { return members(b, true) }

// members splits a JSON object into its members, in order. Duplicate names are
// an error unless lenient.
func members(b []byte, lenient bool) ([]Member, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(lenient))
	if dec.PeekKind() != '{' {
		return nil, errors.New("not a JSON object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, describe(err)
	}
	var list []Member
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, describe(err)
		}
		m := Member{Name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, describe(err)
		}
		m.Value = slices.Clone(value)
		list = append(list, m)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, describe(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return list, nil
}

// HasMember reports whether an object in the JSON value b, at any depth, has a member
// for which match returns true. match gets the name, and the content of a value that
// is a string. It skips the members of the top-level object whose name is skipped, in
// any letter case.
func HasMember(b []byte, skipped string, match func(name, text string) bool) bool {
	dec := jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	for {
		container, length := dec.StackIndex(dec.StackDepth())
		isName := container == '{' && length%2 == 0
		token, err := dec.ReadToken()
		if err != nil {
			return false
		}
		if !isName || token.Kind() != '"' {
			continue
		}
		name, text := token.String(), ""
		if dec.StackDepth() == 1 && strings.EqualFold(name, skipped) {
			if dec.SkipValue() != nil {
				return false
			}
			continue
		}
		if dec.PeekKind() == '"' {
			value, err := dec.ReadToken()
			if err != nil {
				return false
			}
			text = value.String()
		}
		if match(name, text) {
			return true
		}
	}
}

// Elements yields the elements of raw, which is valid JSON: those of an array, or raw
// itself if it is another value. Null and empty input have no elements. An element is valid until
// the next one.
func Elements(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
		kind := dec.PeekKind()
		if kind == 'n' {
			return
		}
		if kind == '[' {
			_, _ = dec.ReadToken()
		}
		for {
			element, err := dec.ReadValue()
			if err != nil || !yield(element) {
				return
			}
		}
	}
}

// Object is a JSON object read leniently: names without case, the last of
// duplicates wins.
type Object map[string]objectMember

type objectMember struct {
	name string // as sent
	raw  stdjson.RawMessage
}

// Text returns the content of a JSON string, and any other value as it is written.
func Text(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s, jsontext.AllowInvalidUTF8(true)) != nil {
		return string(raw)
	}
	return s
}

// ReadObject reads a JSON object; anything else gives none.
func ReadObject(raw []byte) Object {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if dec.PeekKind() != '{' {
		return nil
	}
	l := Object{}
	_, _ = dec.ReadToken()
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return l
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return l
		}
		l[strings.ToLower(key)] = objectMember{key, stdjson.RawMessage(slices.Clone(value))}
	}
	return l
}

// Take removes the member with that (lower-case) name and returns its raw value, nil if there is none.
func (l Object) Take(name string) []byte {
	m := l[name]
	delete(l, name)
	return m.raw
}

// Peek returns the raw value of the member with that (lower-case) name, nil if there is none.
func (l Object) Peek(name string) []byte { return l[name].raw }

// TakeText takes a member as text: a string's content, or a number or boolean
// as it is written. Anything else stays.
func (l Object) TakeText(name string) string {
	m, ok := l[name]
	if !ok {
		return ""
	}
	var s string
	switch jsontext.Value(m.raw).Kind() {
	case '"', '0', 't', 'f':
		s = Text(m.raw)
	case 'n':
	default:
		return ""
	}
	delete(l, name)
	return s
}

// TakeInt takes a member that is a whole number, a string that holds one, or
// null. Anything else stays, and gives 0.
func (l Object) TakeInt(name string) int {
	m, ok := l[name]
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(strings.Trim(string(m.raw), `"`)))
	if err != nil && string(m.raw) != "null" {
		return 0
	}
	delete(l, name)
	return n
}

// Rest returns what was not taken, under the names as sent; nil if nothing is left.
func (l Object) Rest() map[string]stdjson.RawMessage {
	if len(l) == 0 {
		return nil
	}
	rest := make(map[string]stdjson.RawMessage, len(l))
	for _, key := range slices.Sorted(maps.Keys(l)) {
		rest[l[key].name] = l[key].raw
	}
	return rest
}
