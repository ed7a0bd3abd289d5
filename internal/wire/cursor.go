package wire

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"hash/maphash"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The codec has two ways to decode. The decoder, of package json, reads any input. The
// cursor reads only what the service usually sends, in about two thirds of the time. At
// anything else it gives up with an error, and the decoder reads the whole input again. So
// the cursor alone never rejects input, except for lists that are too long (see [AtMost]).
// But it must not accept a value that the decoder would read differently. They agree because
//   - both use the same rules, which read from a source: the decoder or the cursor,
//   - the cursor passes the types that it does not know to the decoder,
//   - FuzzCursor compares the two.

// A cursor decodes JSON that was found to be valid UTF-8 and valid JSON without duplicate
// names. That keeps it simple: it skips commas and colons without a check, and each
// string, object and array has an end.
type cursor struct {
	codec    *Codec
	input    []byte
	pos      int
	interned [1024]string // short strings by their hash: many records have some in common
}

// A valueReader reads the next value into v, which is zero, except that a slice may have
// capacity.
type valueReader func(c *cursor, v reflect.Value) error

var errUnusual = errors.New("must be read by the decoder")

// decodeFast decodes b into v, a pointer, by a cursor. If it returns an error, v may have
// been changed.
func (c *Codec) decodeFast(b []byte, v any) error {
	if !jsontext.Value(b).IsValid() {
		return errUnusual
	}
	cur, _ := c.cursors.Get().(*cursor)
	if cur == nil {
		cur = &cursor{codec: c}
	}
	cur.input, cur.pos = b, 0
	err := cur.decode(v)
	cur.input = nil
	clear(cur.interned[:]) // the pool must not keep a part of a payload
	c.cursors.Put(cur)
	return err
}

var (
	isSeparator = [256]bool{' ': true, '\t': true, '\r': true, '\n': true, ',': true, ':': true}
	isEnd       = [256]bool{'}': true, ']': true}
)

func (c *cursor) kind() jsontext.Kind {
	for isSeparator[c.input[c.pos]] {
		c.pos++
	}
	k := c.input[c.pos]
	if k == '-' || '0' <= k && k <= '9' {
		k = '0'
	}
	return jsontext.Kind(k)
}

func (c *cursor) readDelimiter() error {
	c.kind()
	c.pos++
	return nil
}

// readRaw never returns an error.
func (c *cursor) readRaw() ([]byte, error) {
	kind, b, start := c.kind(), c.input, c.pos
	end := start
	switch kind {
	case '"':
		end = stringEnd(b, start)
	case '{', '[':
		for depth := 1; depth > 0; {
			switch end++; b[end] {
			case '"':
				end = stringEnd(b, end) - 1
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
		}
		end++
	default: // a number, true, false or null
		for end < len(b) && !isSeparator[b[end]] && !isEnd[b[end]] {
			end++
		}
	}
	c.pos = end
	return b[start:end], nil
}

// stringEnd returns the index after the string that begins at start.
func stringEnd(b []byte, start int) int {
	for end := start + 1; ; end++ {
		end += bytes.IndexByte(b[end:], '"')
		escapes := 0
		for b[end-1-escapes] == '\\' { // stops at the quotation mark at start
			escapes++
		}
		if escapes%2 == 0 {
			return end + 1
		}
	}
}

// skipName moves behind the next member name and returns true if that name is equal to name.
// Otherwise it does not move. The input must be at the opening quotation mark.
func (c *cursor) skipName(name string) bool {
	rest := c.input[c.pos+1:]
	if len(rest) <= len(name) || rest[len(name)] != '"' || string(rest[:len(name)]) != name {
		return false
	}
	c.pos += len(name) + 2
	return true
}

func (c *cursor) decode(v any) error {
	if text, ok := v.(*string); ok {
		return c.readText(text)
	}
	rv := reflect.ValueOf(v).Elem()
	return c.codec.reader(rv.Type())(c, rv)
}

// reader returns how to read a type: by its rule if it has one, else by default.
func (c *Codec) reader(t reflect.Type) valueReader {
	if found, ok := c.readers.Load(t); ok {
		return found.(valueReader)
	}
	read := c.defaultReader(t)
	if rule := c.rules[t]; rule != nil {
		byDefault := read
		read = func(cur *cursor, v reflect.Value) error {
			err := rule(cur, v.Addr().Interface())
			if err != nil && errors.Is(err, errors.ErrUnsupported) {
				return byDefault(cur, v)
			}
			return err
		}
	}
	c.readers.Store(t, read)
	return read
}

// defaultReader returns how to read a type without a rule, a record, or a value that the rule
// of its type leaves to the default.
func (c *Codec) defaultReader(t reflect.Type) valueReader {
	pointer := reflect.PointerTo(t)
	rule, hasRule := c.rules[t]
	switch {
	case hasRule && rule == nil: // a record
		return c.structReader(t)
	case pointer.Implements(reflect.TypeFor[stdjson.Unmarshaler]()):
		return readByMethod
	case pointer.Implements(reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()):
		return c.readByDecoder
	}
	switch text := reflect.TypeFor[string](); {
	case t == text:
		return func(cur *cursor, v reflect.Value) error { return cur.readText(v.Addr().Interface().(*string)) }
	case t.Kind() == reflect.Bool:
		return readBool
	case t.Kind() == reflect.Struct:
		return c.structReader(t)
	case t.Kind() == reflect.Pointer:
		return c.pointerReader(t)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return c.sliceReader(t)
	case t.Kind() == reflect.Map && t.Key() == text:
		return c.mapReader(t)
	}
	return c.readByDecoder
}

func readByMethod(cur *cursor, v reflect.Value) error {
	raw, _ := cur.readRaw()
	return v.Addr().Interface().(stdjson.Unmarshaler).UnmarshalJSON(raw)
}

func (c *Codec) readByDecoder(cur *cursor, v reflect.Value) error {
	raw, _ := cur.readRaw()
	return json.Unmarshal(raw, v.Addr().Interface(), c.decodeOptions)
}

func readBool(cur *cursor, v reflect.Value) error {
	raw, _ := cur.readRaw()
	if strings.IndexByte("tfn", raw[0]) < 0 {
		return errUnusual
	}
	v.SetBool(raw[0] == 't')
	return nil
}

var hashSeed = maphash.MakeSeed()

func (c *cursor) readText(v *string) error {
	raw, _ := c.readRaw()
	if raw[0] == 'n' {
		*v = ""
		return nil
	}
	if raw[0] != '"' {
		return errUnusual
	}
	const maxInterned = 96 // bytes: the links of an offering, which many records share, are that long
	text := raw[1 : len(raw)-1]
	if len(text) > maxInterned || bytes.IndexByte(text, '\\') >= 0 {
		*v = unquote(raw)
		return nil
	}
	interned := &c.interned[maphash.Bytes(hashSeed, text)%uint64(len(c.interned))]
	if *interned != string(text) {
		*interned = string(text)
	}
	*v = *interned
	return nil
}

// unquote returns the text of a valid JSON string.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	text, _ := jsontext.AppendUnquote(nil, raw)
	return string(text)
}

func (c *Codec) pointerReader(t reflect.Type) valueReader {
	read := c.reader(t.Elem())
	return func(cur *cursor, v reflect.Value) error {
		if cur.kind() == 'n' {
			_, err := cur.readRaw()
			return err
		}
		v.Set(reflect.New(t.Elem()))
		return read(cur, v.Elem())
	}
}

// begin reads the delimiter that begins a value of this kind and returns true. If the
// value is null, it sets v to zero and returns false.
func (c *cursor) begin(kind jsontext.Kind, v reflect.Value) (bool, error) {
	if next := c.kind(); next == kind {
		return true, c.readDelimiter()
	} else if next != 'n' {
		return false, errUnusual
	}
	v.SetZero()
	_, err := c.readRaw()
	return false, err
}

// structReader returns how to read a struct whose tags name its members, and whose Extra
// field holds members that have no field. Any other struct is left to the decoder.
func (c *Codec) structReader(t reflect.Type) valueReader {
	type member struct {
		name  string
		index []int
		read  valueReader
	}
	var members []member // in the order of the fields, which is mostly the service's
	byName := map[string]int{}
	extra := -1
	for _, f := range reflect.VisibleFields(t) {
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		isExtra := name == "" && options == "embed" && f.Type == reflect.TypeFor[map[string]stdjson.RawMessage]()
		switch {
		case f.Tag.Get("json") == "-": // not a member
		case f.Anonymous && f.Tag == "" && f.Type.Kind() == reflect.Struct:
			// VisibleFields returns its fields too.
		case name != "" && f.IsExported() && (!tagged || options == "omitzero" || options == "omitempty"):
			byName[name] = len(members)
			members = append(members, member{name: name, index: f.Index, read: c.reader(f.Type)})
		case isExtra && len(f.Index) == 1:
			extra = f.Index[0]
		default:
			return c.readByDecoder
		}
	}
	return func(cur *cursor, v reflect.Value) error {
		if begun, err := cur.begin('{', v); !begun {
			return err
		}
		for next := 0; cur.kind() != '}'; next++ {
			if next >= len(members) || !cur.skipName(members[next].name) {
				raw, _ := cur.readRaw()
				found, ok := byName[string(raw[1:len(raw)-1])]
				if !ok {
					name := unquote(raw)
					if _, escaped := byName[name]; escaped || extra < 0 {
						return errUnusual
					}
					cur.readExtra(name, v.Field(extra))
					continue
				}
				next = found
			}
			m := &members[next]
			if err := m.read(cur, v.FieldByIndex(m.index)); err != nil {
				return err
			}
		}
		return cur.readDelimiter()
	}
}

// readExtra reads the next value into the map extra, under this name.
func (c *cursor) readExtra(name string, extra reflect.Value) {
	members := extra.Addr().Interface().(*map[string]stdjson.RawMessage)
	if *members == nil {
		*members = map[string]stdjson.RawMessage{}
	}
	raw, _ := c.readRaw()
	(*members)[name] = slices.Clone(raw)
}

func (c *Codec) sliceReader(t reflect.Type) valueReader {
	read := c.reader(t.Elem())
	return func(cur *cursor, v reflect.Value) error {
		if begun, err := cur.begin('[', v); !begun {
			return err
		}
		n := 0
		for ; cur.kind() != ']'; n++ {
			if n == v.Cap() {
				v.Grow(max(2, n))
			}
			v.SetLen(n + 1)
			if err := read(cur, v.Index(n)); err != nil {
				return err
			}
		}
		if n == 0 && v.IsNil() {
			v.Set(reflect.MakeSlice(t, 0, 0))
		}
		return cur.readDelimiter()
	}
}

func (c *Codec) mapReader(t reflect.Type) valueReader {
	read := c.reader(t.Elem())
	return func(cur *cursor, v reflect.Value) error {
		if begun, err := cur.begin('{', v); !begun {
			return err
		}
		v.Set(reflect.MakeMap(t))
		name := reflect.New(t.Key()).Elem()
		for cur.kind() != '}' {
			value := reflect.New(t.Elem()).Elem()
			if err := cur.readText(name.Addr().Interface().(*string)); err != nil {
				return err
			}
			if err := read(cur, value); err != nil {
				return err
			}
			v.SetMapIndex(name, value)
		}
		return cur.readDelimiter()
	}
}
