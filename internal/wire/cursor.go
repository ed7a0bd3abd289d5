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

// A cursor decodes JSON that the decoder has found valid, in about two thirds of the
// decoder's time. That the input is valid makes it simple: what stands between
// values tells nothing, and each string has an end. How a type is read is found out
// once, and strings that many records have in common are made once.
//
// It reads what the service ordinarily sends. What is unusual it leaves, with an
// error, to the decoder, which reads the whole input anew: a value that is read here
// must be the one that is read there.
type cursor struct {
	codec *Codec
	b     []byte
	at    int
	made  [1024]string // short strings, by their hash
}

// A reading reads the next value into v, which is zero but for the room of a slice.
type reading func(c *cursor, v reflect.Value) error

var errUnusual = errors.New("not what is ordinarily sent")

// glance reads b into v, a pointer, by a cursor.
func (c *Codec) glance(b []byte, v any) error {
	if !jsontext.Value(b).IsValid() { // nor is invalid UTF-8 ordinary
		return errUnusual
	}
	cur, _ := c.cursors.Get().(*cursor)
	if cur == nil {
		cur = &cursor{codec: c}
	}
	cur.b, cur.at = b, 0
	err := cur.read(v)
	cur.b = nil
	clear(cur.made[:]) // keeps nothing of a payload
	c.cursors.Put(cur)
	return err
}

// between tells which bytes stand between values and names, and closing which end
// what they are in: either ends a number, true, false or null.
var (
	between = [256]bool{' ': true, '\t': true, '\r': true, '\n': true, ',': true, ':': true}
	closing = [256]bool{'}': true, ']': true}
)

func (c *cursor) kind() jsontext.Kind {
	for between[c.b[c.at]] {
		c.at++
	}
	k := c.b[c.at]
	if k == '-' || '0' <= k && k <= '9' {
		k = '0'
	}
	return jsontext.Kind(k)
}

func (c *cursor) bracket() error {
	c.kind()
	c.at++
	return nil
}

func (c *cursor) raw() ([]byte, error) {
	kind, b, start := c.kind(), c.b, c.at
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
	default:
		for end < len(b) && !between[b[end]] && !closing[b[end]] {
			end++
		}
	}
	c.at = end
	return b[start:end], nil
}

// stringEnd returns where the string that starts at start ends.
func stringEnd(b []byte, start int) int {
	for end := start + 1; ; end++ {
		end += bytes.IndexByte(b[end:], '"')
		escapes := 0
		for b[end-1-escapes] == '\\' { // the quotation mark at start ends that
			escapes++
		}
		if escapes%2 == 0 {
			return end + 1
		}
	}
}

// skipName skips the name of a member if it is this one.
func (c *cursor) skipName(name string) bool {
	rest := c.b[c.at+1:]
	if len(rest) <= len(name) || rest[len(name)] != '"' || string(rest[:len(name)]) != name {
		return false
	}
	c.at += len(name) + 2
	return true
}

func (c *cursor) read(v any) error {
	if text, ok := v.(*string); ok {
		return c.readText(text)
	}
	rv := reflect.ValueOf(v).Elem()
	return c.codec.reading(rv.Type())(c, rv)
}

// reading returns how to read a type: by its rule if it has one.
func (c *Codec) reading(t reflect.Type) reading {
	if found, ok := c.readings.Load(t); ok {
		return found.(reading)
	}
	read := c.asItStands(t)
	if rule := c.rules[t]; rule != nil {
		stands := read
		read = func(cur *cursor, v reflect.Value) error {
			err := rule(cur, v.Addr().Interface())
			if err != nil && errors.Is(err, errors.ErrUnsupported) {
				return stands(cur, v)
			}
			return err
		}
	}
	c.readings.Store(t, read)
	return read
}

// asItStands returns how to read a type without regard to its rule.
func (c *Codec) asItStands(t reflect.Type) reading {
	pointer := reflect.PointerTo(t)
	rule, ruled := c.rules[t]
	switch {
	case ruled && rule == nil: // a record
		return c.structure(t)
	case pointer.Implements(reflect.TypeFor[stdjson.Unmarshaler]()):
		return byMethod
	case pointer.Implements(reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()):
		return c.byDecoder
	}
	switch text := reflect.TypeFor[string](); {
	case t == text:
		return func(cur *cursor, v reflect.Value) error { return cur.readText(v.Addr().Interface().(*string)) }
	case t.Kind() == reflect.Bool:
		return readBool
	case t.Kind() == reflect.Struct:
		return c.structure(t)
	case t.Kind() == reflect.Pointer:
		return c.pointer(t)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return c.list(t)
	case t.Kind() == reflect.Map && t.Key() == text:
		return c.table(t)
	}
	return c.byDecoder
}

func byMethod(cur *cursor, v reflect.Value) error {
	raw, _ := cur.raw()
	return v.Addr().Interface().(stdjson.Unmarshaler).UnmarshalJSON(raw)
}

func (c *Codec) byDecoder(cur *cursor, v reflect.Value) error {
	raw, _ := cur.raw()
	return json.Unmarshal(raw, v.Addr().Interface(), c.decode)
}

// pointer returns how to read a pointer: null is nil.
func (c *Codec) pointer(t reflect.Type) reading {
	read := c.reading(t.Elem())
	return func(cur *cursor, v reflect.Value) error {
		if cur.kind() == 'n' {
			_, err := cur.raw()
			return err
		}
		v.Set(reflect.New(t.Elem()))
		return read(cur, v.Elem())
	}
}

// begin goes into an object or array, or takes null, which is the zero value.
func (c *cursor) begin(kind jsontext.Kind, v reflect.Value) (in bool, err error) {
	if next := c.kind(); next == kind {
		return true, c.bracket()
	} else if next != 'n' {
		return false, errUnusual
	}
	v.SetZero()
	_, err = c.raw()
	return false, err
}

// structure returns how to read a struct whose tags name its members, and whose
// field Extra holds those that have no field.
func (c *Codec) structure(t reflect.Type) reading {
	type member struct {
		name  string
		index []int
		read  reading
	}
	var members []member // mostly in the order that the service sends
	byName := map[string]int{}
	extra := -1
	for _, f := range reflect.VisibleFields(t) {
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && f.Tag == "" && f.Type.Kind() == reflect.Struct:
			// Its fields are visible ones.
		case name != "" && f.IsExported() && (!tagged || options == "omitzero" || options == "omitempty"):
			byName[name] = len(members)
			members = append(members, member{name, f.Index, c.reading(f.Type)})
		case name == "" && options == "embed" && len(f.Index) == 1 && f.Type == reflect.TypeFor[map[string]stdjson.RawMessage]():
			extra = f.Index[0]
		default:
			return c.byDecoder
		}
	}
	return func(cur *cursor, v reflect.Value) error {
		if in, err := cur.begin('{', v); !in {
			return err
		}
		for expected := 0; cur.kind() != '}'; expected++ {
			if expected >= len(members) || !cur.skipName(members[expected].name) {
				raw, _ := cur.raw()
				found, ok := byName[string(raw[1:len(raw)-1])]
				if !ok {
					name := unquote(raw)
					if _, escaped := byName[name]; escaped || extra < 0 {
						return errUnusual
					}
					cur.keep(name, v.Field(extra))
					continue
				}
				expected = found
			}
			m := &members[expected]
			if err := m.read(cur, v.FieldByIndex(m.index)); err != nil {
				return err
			}
		}
		return cur.bracket()
	}
}

// keep puts the next value into extra under a name.
func (c *cursor) keep(name string, extra reflect.Value) {
	members := extra.Addr().Interface().(*map[string]stdjson.RawMessage)
	if *members == nil {
		*members = map[string]stdjson.RawMessage{}
	}
	raw, _ := c.raw()
	(*members)[name] = slices.Clone(raw)
}

// list returns how to read a slice, into the room that it has.
func (c *Codec) list(t reflect.Type) reading {
	read := c.reading(t.Elem())
	return func(cur *cursor, v reflect.Value) error {
		if in, err := cur.begin('[', v); !in {
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
		return cur.bracket()
	}
}

// table returns how to read a map by names.
func (c *Codec) table(t reflect.Type) reading {
	read := c.reading(t.Elem())
	return func(cur *cursor, v reflect.Value) error {
		if in, err := cur.begin('{', v); !in {
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
		return cur.bracket()
	}
}

func readBool(cur *cursor, v reflect.Value) error {
	raw, _ := cur.raw()
	if strings.IndexByte("tfn", raw[0]) < 0 {
		return errUnusual
	}
	v.SetBool(raw[0] == 't')
	return nil
}

var seed = maphash.MakeSeed()

func (c *cursor) readText(v *string) error {
	raw, _ := c.raw()
	if raw[0] == 'n' {
		*v = ""
		return nil
	}
	if raw[0] != '"' {
		return errUnusual
	}
	const short = 96 // bytes: links of an offering are what many records share
	text := raw[1 : len(raw)-1]
	if len(text) > short || bytes.IndexByte(text, '\\') >= 0 {
		*v = unquote(raw)
		return nil
	}
	made := &c.made[maphash.Bytes(seed, text)%uint64(len(c.made))]
	if *made != string(text) {
		*made = string(text)
	}
	*v = *made
	return nil
}

// unquote returns what a JSON string says.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // valid, so that there is no error
	return string(text)
}
