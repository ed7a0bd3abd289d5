package wire

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// A valueReader reads the next value into v, which is zero, except that a slice may have capacity.
type valueReader func(r *reader, v reflect.Value) error

// A part is a type that values of another type have in them.
type part struct {
	typ  reflect.Type
	read valueReader
}

// reader returns how to read a type: by its rule if it has one, otherwise by default.
func (c *Codec) reader(t reflect.Type) valueReader {
	if found, ok := c.byType.Load(t); ok {
		return found.(valueReader)
	}
	read := c.defaultReader(t)
	if rule := c.rules[t]; rule != nil && rule.read != nil {
		byDefault := read
		var types []part
		for _, typ := range rule.parts {
			types = append(types, part{typ: typ, read: c.reader(typ)})
		}
		read = func(r *reader, v reflect.Value) error {
			err := rule.read(r, types, v.Addr().Interface())
			if err != nil && errors.Is(err, errors.ErrUnsupported) {
				return byDefault(r, v)
			}
			return err
		}
	}
	c.byType.Store(t, read)
	return read
}

// defaultReader returns how to read a type without a rule, a record, or a value that the rule of
// its type leaves to the default.
func (c *Codec) defaultReader(t reflect.Type) valueReader {
	switch rule := c.rules[t]; {
	case t == reflect.TypeFor[uuid.UUID]():
		return readUUID
	case t == reflect.TypeFor[time.Time]():
		return readTime
	case rule != nil && rule.separate != nil:
		return repeatedReader(t, c.structReader(t), rule.separate)
	case rule != nil && rule.read == nil: // a record
		return c.structReader(t)
	case reflect.PointerTo(t).Implements(reflect.TypeFor[stdjson.Unmarshaler]()):
		return readByMethod
	}
	switch text := reflect.TypeFor[string](); {
	case t == text:
		return readText
	case t == reflect.TypeFor[bool]():
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

func readByMethod(r *reader, v reflect.Value) error {
	raw, err := r.readRaw()
	if err != nil {
		return err
	}
	return v.Addr().Interface().(stdjson.Unmarshaler).UnmarshalJSON(raw)
}

func (c *Codec) readByDecoder(r *reader, v reflect.Value) error {
	raw, err := r.readRaw()
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v.Addr().Interface(), c.decodeOptions)
}

func readUUID(r *reader, v reflect.Value) error {
	r.peek()
	if length := usualUUID(r.input[r.pos:], v.Bytes()); length > 0 {
		r.pos += length
		return nil
	}
	raw, err := r.readRaw()
	if err != nil {
		return err
	}
	id, err := parseUUID(raw)
	copy(v.Bytes(), id[:])
	return err
}

func readTime(r *reader, v reflect.Value) error {
	if r.peek() == 'n' { // most records have several
		return r.literal("null")
	}
	at := v.Addr().Interface().(*time.Time) // takes less time than v.Set
	rest := r.input[r.pos:]
	if len(r.rawAt) > 0 && bytes.HasPrefix(rest, r.rawAt) {
		r.pos += len(r.rawAt)
		*at = r.at
		return nil
	}
	if length := usualTime(rest, at); length > 0 {
		r.pos += length
		r.at, r.rawAt = *at, rest[:length]
		return nil
	}
	raw, err := r.readRaw()
	if err != nil {
		return err
	}
	*at, err = parseTime(raw)
	return err
}

func readText(r *reader, v reflect.Value) error {
	text, err := r.text()
	v.SetString(text)
	return err
}

func readBool(r *reader, v reflect.Value) error {
	if r.peek() == 't' {
		v.SetBool(true)
		return r.literal("true")
	}
	if r.peek() == 'f' {
		return r.literal("false")
	}
	return r.literal("null")
}

func (c *Codec) pointerReader(t reflect.Type) valueReader {
	read := c.reader(t.Elem())
	return func(r *reader, v reflect.Value) error {
		if r.peek() == 'n' {
			return r.literal("null")
		}
		v.Set(reflect.New(t.Elem()))
		return read(r, v.Elem())
	}
}

func (c *Codec) sliceReader(t reflect.Type) valueReader {
	read, rule := c.reader(t.Elem()), c.rules[t.Elem()]
	if t.Elem().Kind() == reflect.Pointer {
		rule = c.rules[t.Elem().Elem()]
	}
	return func(r *reader, list reflect.Value) error {
		if r.peek() == 'n' {
			list.SetZero()
			return r.literal("null")
		}
		if err := r.begin('['); err != nil {
			return err
		}
		for n := 0; ; n++ {
			more, err := r.more(']')
			if err != nil {
				return err
			}
			if !more {
				break
			}
			if rule != nil && rule.limit > 0 && n == rule.limit {
				return errTooMany
			}
			if n == list.Cap() {
				list.Grow(max(2, n))
			}
			list.SetLen(n + 1)
			if err := read(r, list.Index(n)); err != nil {
				return err
			}
		}
		if list.IsNil() {
			list.Set(reflect.MakeSlice(t, 0, 0))
		}
		return nil
	}
}

func (c *Codec) mapReader(t reflect.Type) valueReader {
	read := c.reader(t.Elem())
	return func(r *reader, v reflect.Value) error {
		if r.peek() == 'n' {
			return r.literal("null")
		}
		if err := r.begin('{'); err != nil {
			return err
		}
		values := reflect.MakeMap(t)
		v.Set(values)
		value := reflect.New(t.Elem()).Elem()
		for n := 1; ; n++ {
			more, err := r.more('}')
			if !more {
				return err
			}
			value.SetZero()
			var name string
			if err := r.name(&name); err != nil {
				return err
			}
			if err := read(r, value); err != nil {
				return err
			}
			r.key = name
			values.SetMapIndex(r.keyValue, value)
			if values.Len() != n { // two members have the same name
				return errUnusual
			}
		}
	}
}

var extraType = reflect.TypeFor[map[string]stdjson.RawMessage]()

// A table tells how to read a type of struct, whose tags name its members, and whose Extra field
// holds the members that have no field.
type table struct {
	members []member // in the order of the fields, in which the service usually sends them
	byName  map[string]int
	extra   []int // index of Extra, or nil
}

type member struct {
	start []byte // comma, name and colon
	index []int
	read  valueReader
}

const maxMembers = 64 // bits of a set

// structReader returns how to read a struct by a table, or leaves it to the decoder.
func (c *Codec) structReader(t reflect.Type) valueReader {
	tab := newTable(t)
	if tab == nil {
		return c.readByDecoder
	}
	for i := range tab.members {
		m := &tab.members[i]
		m.read = c.reader(t.FieldByIndex(m.index).Type)
	}
	return tab.read
}

// newTable returns the table of a struct without the functions that read its members. It returns
// nil for a struct that has other tags than the payloads have.
func newTable(t reflect.Type) *table {
	tab := &table{byName: map[string]int{}}
	for _, f := range reflect.VisibleFields(t) {
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Tag.Get("json") == "-": // not a member
		case f.Anonymous && f.Tag == "" && f.Type.Kind() == reflect.Struct:
			// VisibleFields returns its fields too.
		case name != "" && f.IsExported() && (!tagged || options == "omitzero" || options == "omitempty"):
			tab.byName[name] = len(tab.members)
			tab.members = append(tab.members, member{start: []byte(`,"` + name + `":`), index: f.Index})
		case name == "" && options == "embed" && f.Type == extraType:
			tab.extra = f.Index
		default:
			return nil
		}
	}
	if len(tab.members) > maxMembers {
		return nil
	}
	return tab
}

// HasRule reports whether a rule is registered for a type. It is exported for a test.
func (c *Codec) HasRule(t reflect.Type) bool { return c.rules[t] != nil }

func (t *table) read(r *reader, fields reflect.Value) error {
	if r.peek() == 'n' {
		return r.literal("null")
	}
	if err := r.begin('{'); err != nil {
		return err
	}
	var seen uint64 // bit i: there was a value for members[i]
	skipped := len(r.skipped)
	for expected := 0; ; {
		i, name, err := t.next(r, expected)
		if err != nil || i == noMember {
			r.skipped = r.skipped[:skipped]
			return err
		}
		if i == noField {
			if t.extra == nil {
				err = r.skip(name, skipped)
			} else {
				err = r.readExtra(name, fields.FieldByIndex(t.extra).Addr().Interface())
			}
			if err != nil {
				return err
			}
			continue
		}
		if seen&(1<<i) != 0 { // two members have the same name
			return errUnusual
		}
		seen |= 1 << i
		expected = i + 1
		m := &t.members[i]
		field := fields.Field(m.index[0]) // takes less time than FieldByIndex
		for _, i := range m.index[1:] {
			field = field.Field(i)
		}
		if err := m.read(r, field); err != nil {
			return err
		}
	}
}

const (
	noMember = -1 // the object ends
	noField  = -2 // the next member has no field
)

// next moves to the value of the next member. It returns the index of its field, or, if there is no
// such field, noField and the name.
func (t *table) next(r *reader, expected int) (i int, name []byte, err error) {
	for i := expected; i < min(expected+4, len(t.members)); i++ {
		start := t.members[i].start
		if r.begun {
			start = start[1:]
		}
		if bytes.HasPrefix(r.input[r.pos:], start) {
			r.pos += len(start)
			r.begun = false
			return i, nil, nil
		}
	}
	if more, err := r.more('}'); !more {
		return noMember, nil, err
	}
	name, err = r.rawName()
	if i, ok := t.byName[string(name)]; ok {
		return i, nil, err
	}
	return noField, name, err
}

// readExtra reads the value of the member with this name into the field Extra.
func (r *reader) readExtra(name []byte, field any) error {
	extra := field.(*map[string]stdjson.RawMessage)
	r.extras++
	raw, err := r.readRaw()
	if err != nil {
		return err
	}
	if _, twice := (*extra)[string(name)]; twice {
		return errUnusual
	}
	if *extra == nil {
		*extra = map[string]stdjson.RawMessage{}
	}
	(*extra)[string(name)] = slices.Clone(raw)
	return nil
}

// skip skips the value of a member that is not kept. The names in r.skipped from start on are those
// of other such members of the object.
func (r *reader) skip(name []byte, start int) error {
	for _, other := range r.skipped[start:] {
		if string(other) == string(name) {
			return errUnusual
		}
	}
	if len(r.skipped)-start == maxNamed {
		return errUnusual
	}
	r.skipped = append(r.skipped, name)
	_, err := r.readRaw()
	return err
}
