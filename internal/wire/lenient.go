package wire

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"io"
	"iter"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Member is a member of a JSON object.
type Member struct {
	Name  string
	Value []byte // raw JSON, a part of what was read
}

// A lenientDecoder accepts invalid UTF-8 and duplicate names.
type lenientDecoder struct {
	jsontext.Decoder
	input bytes.Buffer
}

var (
	lenientDecoders = sync.Pool{New: func() any { return &lenientDecoder{} }}
	lenient         = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
)

// newLenientDecoder returns a decoder from the pool. release returns it there.
func newLenientDecoder(b []byte) *lenientDecoder {
	dec := lenientDecoders.Get().(*lenientDecoder)
	dec.read(b)
	return dec
}

func (dec *lenientDecoder) read(b []byte) {
	dec.input = *bytes.NewBuffer(b)
	dec.Reset(&dec.input, lenient)
}

func (dec *lenientDecoder) release() {
	dec.read(nil) // the pool must not keep the input
	lenientDecoders.Put(dec)
}

// readValue reads the next value, and returns it as a part of b, which is what dec reads.
func (dec *lenientDecoder) readValue(b []byte) ([]byte, error) {
	value, err := dec.ReadValue()
	end := int(dec.InputOffset())
	return b[end-len(value) : end : end], err
}

// Members returns the members of the JSON object b in order, duplicates included. With
// an error it returns those before the error; they are nil only if b is not an object.
func Members(b []byte) ([]Member, error) {
	dec := newLenientDecoder(b)
	defer dec.release()
	if dec.PeekKind() != '{' {
		return nil, errors.New("not a JSON object")
	}
	_, _ = dec.ReadToken()
	list := []Member{}
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return list, describe(err)
		}
		name := token.String()
		value, err := dec.readValue(b)
		if err != nil {
			return list, describe(err)
		}
		list = append(list, Member{Name: name, Value: value})
	}
	_, _ = dec.ReadToken()
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return list, errors.New("more than one JSON value")
	}
	return list, nil
}

// Elements yields the elements of the valid JSON b if it is an array, and b itself if it
// is another value. Null and empty input have no elements. The elements are parts of b.
func Elements(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		dec := newLenientDecoder(b)
		defer dec.release()
		kind := dec.PeekKind()
		if kind == 'n' {
			return
		}
		if kind == '[' {
			_, _ = dec.ReadToken()
		}
		for dec.PeekKind() != ']' {
			element, err := dec.readValue(b)
			if err != nil || !yield(element) {
				return
			}
		}
	}
}

// HasMember reports whether match returns true for a member of any object in the valid
// JSON b, at any depth. match is called with the name and, if the value is a string, with
// its text. Members of the top-level object whose name is skipped, in any letter case,
// are ignored with everything in them.
func HasMember(b []byte, skipped string, match func(name, text string) bool) bool {
	dec := newLenientDecoder(b)
	defer dec.release()
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
			_ = dec.SkipValue() // the next ReadToken returns the error, if any
			continue
		}
		if dec.PeekKind() == '"' {
			value, _ := dec.ReadToken()
			text = value.String()
		}
		if match(name, text) {
			return true
		}
	}
}

// Text returns the text of a JSON string, and any other value as raw JSON.
func Text(raw []byte) string {
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s, jsontext.AllowInvalidUTF8(true)) == nil {
		return s
	}
	return string(raw)
}

// Object holds the members of a JSON object by their lower-case name.
type Object map[string]Member

// ReadObject reads a JSON object, and returns nil for any other value. Of members whose
// names differ only in letter case, the last one counts. If b is truncated or invalid,
// the object has the members before the error.
func ReadObject(b []byte) Object {
	members, _ := Members(b)
	if members == nil {
		return nil
	}
	o := Object{}
	for _, m := range members {
		o[strings.ToLower(m.Name)] = m
	}
	return o
}

// Peek returns the raw value of the member with this lower-case name, or nil.
func (o Object) Peek(name string) []byte { return o[name].Value }

// Take is Peek, and removes the member.
func (o Object) Take(name string) []byte {
	m := o[name]
	delete(o, name)
	return m.Value
}

// TakeText removes a member and returns its text: of a string its content, of a number
// or boolean the raw JSON, of null "". An object or array is not removed; the text is "".
func (o Object) TakeText(name string) string {
	switch jsontext.Value(o.Peek(name)).Kind() {
	case '"', '0', 't', 'f':
		return Text(o.Take(name))
	case 'n':
		delete(o, name)
		return ""
	default:
		return ""
	}
}

// TakeInt removes a member and returns its value, if it is a whole number, a string that
// holds one, or null, which is 0. Any other value is not removed; the result is 0.
func (o Object) TakeInt(name string) int {
	raw := o.Peek(name)
	n, err := strconv.Atoi(strings.TrimSpace(Text(raw)))
	if err != nil && string(raw) != "null" {
		return 0
	}
	delete(o, name)
	return n
}

// Rest returns copies of the members that were not taken, under their original names, or nil if
// there are none.
func (o Object) Rest() map[string]stdjson.RawMessage {
	if len(o) == 0 {
		return nil
	}
	rest := make(map[string]stdjson.RawMessage, len(o))
	for _, m := range o {
		rest[m.Name] = bytes.Clone(m.Value)
	}
	return rest
}
