// Package wire turns the service's JSON, paths and queries into Go values and
// back. It knows neither HTTP nor the payload types: the root package tells it
// which types are records and which need a reading of their own.
package wire

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// Codec decodes and encodes payloads. Its rules do not change, and it is safe for
// concurrent use. Types must not contain themselves.
type Codec struct {
	decode json.Options
	encode json.Options
	read   *json.Unmarshalers

	// Of the cursor.
	rules    map[reflect.Type]func(src source, v any) error // nil for a record
	readings sync.Map                                       // of reading by reflect.Type
	cursors  sync.Pool
}

// A source is what a rule reads from: the decoder, or the cursor.
type source interface {
	kind() jsontext.Kind  // of what comes next: a value, or the end of an object or array
	raw() ([]byte, error) // the next value as it is written, valid until the next call
	bracket() error       // takes what an object or array starts or ends with
	read(v any) error     // decodes the next value, or the next name
}

// decoder is the source that reads anything.
type decoder struct{ *jsontext.Decoder }

func (d decoder) kind() jsontext.Kind  { return d.PeekKind() }
func (d decoder) raw() ([]byte, error) { return d.ReadValue() }
func (d decoder) read(v any) error     { return json.UnmarshalDecode(d.Decoder, v) }
func (d decoder) bracket() error {
	_, err := d.ReadToken()
	return err
}

// A Rule tells a Codec how to treat one type.
type Rule struct {
	typ   reflect.Type                  // nil if it is decoded as it stands
	read  func(src source, v any) error // nil for a record
	plain *json.Unmarshalers
	write *json.Marshalers
}

// newRule returns the rule for T. read returns errors.ErrUnsupported, before it took
// anything, for a value that is to be decoded as the Go type stands.
func newRule[T any](read func(src source, v *T) error, write *json.Marshalers) Rule {
	return Rule{
		typ:   reflect.TypeFor[T](),
		read:  func(src source, v any) error { return read(src, v.(*T)) },
		plain: json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *T) error { return read(decoder{dec}, v) }),
		write: write,
	}
}

// Record is the rule for a type with MarshalJSON and UnmarshalJSON methods that
// lead back to the codec: the codec goes around them, through a twin type
// without methods. That keeps a page a single pass of the decoder.
func Record[T, Twin any](twin func(*T) *Twin) Rule {
	return Rule{
		typ: reflect.TypeFor[T](),
		plain: json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *T) error {
			return json.UnmarshalDecode(dec, twin(v))
		}),
		write: json.MarshalToFunc(func(enc *jsontext.Encoder, v *T) error {
			return json.MarshalEncode(enc, twin(v))
		}),
	}
}

// EncodedAs is the rule for a type that is encoded as the value that other returns, or
// as the Go type stands if other returns nil. It does not change how T is decoded.
func EncodedAs[T, Other any](other func(*T) *Other) Rule {
	return Rule{write: json.MarshalToFunc(func(enc *jsontext.Encoder, v *T) error {
		if o := other(v); o != nil {
			return json.MarshalEncode(enc, o)
		}
		return errors.ErrUnsupported
	})}
}

// Union is the rule for a type with more than one form on the wire. read gets
// raw values of the kinds named (the first byte of a JSON value, '0' for any
// number); values of other kinds are decoded as the Go type stands. write
// returns nil for a value that is to be encoded as the Go type stands. Both may
// call the codec that the rule is for, with other types.
func Union[T any](kinds string, read func(raw []byte, v *T) error, write func(v *T) ([]byte, error)) Rule {
	return newRule(func(src source, v *T) error {
		if strings.IndexByte(kinds, byte(src.kind())) < 0 {
			return errors.ErrUnsupported
		}
		raw, err := src.raw()
		if err != nil {
			return err
		}
		return read(raw, v)
	}, orOrdinary(write))
}

// orOrdinary encodes a value by write, or as the Go type stands where that
// returns nil.
func orOrdinary[T any](write func(v *T) ([]byte, error)) *json.Marshalers {
	return json.MarshalToFunc(func(enc *jsontext.Encoder, v *T) error {
		raw, err := write(v)
		if err != nil {
			return err
		}
		if raw == nil {
			return errors.ErrUnsupported
		}
		return enc.WriteValue(raw)
	})
}

// OneOrMany is the rule for a type that is an array of E on the wire, or one E
// alone. parts are where its elements go, and whether they were an array.
func OneOrMany[T, E any](parts func(*T) (list *[]E, many *bool), write func(v *T) ([]byte, error)) Rule {
	return newRule(func(src source, v *T) error {
		kind := src.kind()
		if kind != '[' && kind != '{' {
			return errors.ErrUnsupported
		}
		*v = *new(T)
		list, many := parts(v)
		if *many = kind == '['; *many {
			return src.read(list)
		}
		*list = make([]E, 1)
		return src.read(&(*list)[0])
	}, orOrdinary(write))
}

// Named is the rule for a list of E that is an object on the wire, each element
// with its name: with few entries it takes a third of the memory of a map. There
// are mostly as many elements as usual. notNull, if it is not nil, is called with
// each value that was not null.
func Named[L ~[]E, E, V any](usual int, parts func(*E) (name *string, value *V), notNull func(*V)) Rule {
	return newRule(func(src source, l *L) error {
		switch src.kind() {
		case 'n':
			*l = nil
			_, err := src.raw()
			return err
		case '{':
		default:
			return errors.New("not an object")
		}
		if err := src.bracket(); err != nil {
			return err
		}
		*l = make(L, 0, usual)
		for src.kind() != '}' {
			*l = append(*l, *new(E))
			name, value := parts(&(*l)[len(*l)-1])
			if err := src.read(name); err != nil {
				return err
			}
			null := src.kind() == 'n'
			if err := src.read(value); err != nil {
				return err
			}
			if !null && notNull != nil {
				notNull(value)
			}
		}
		return src.bracket()
	}, json.MarshalToFunc(func(enc *jsontext.Encoder, l *L) error {
		if err := enc.WriteToken(jsontext.BeginObject); err != nil {
			return err
		}
		for i := range *l {
			name, value := parts(&(*l)[i])
			if err := enc.WriteToken(jsontext.String(*name)); err != nil {
				return err
			}
			if err := json.MarshalEncode(enc, value); err != nil {
				return err
			}
		}
		return enc.WriteToken(jsontext.EndObject)
	}))
}

// TextOr is the rule for a type that may be a string on the wire, which goes to
// text, instead of what the Go type stands for.
func TextOr[T any](text func(*T) *string, write func(v *T) ([]byte, error)) Rule {
	return newRule(func(src source, v *T) error {
		if src.kind() != '"' {
			return errors.ErrUnsupported
		}
		*v = *new(T)
		return src.read(text(v))
	}, orOrdinary(write))
}

// AtMost is the rule for a list that must not have more than n elements. A few bytes
// of JSON make a large element, so the limit holds while the list is read.
func AtMost[E any](n int) Rule {
	return newRule(func(src source, list *[]E) error {
		if src.kind() != '[' {
			return errors.ErrUnsupported
		}
		if err := src.bracket(); err != nil {
			return err
		}
		*list = (*list)[:0]
		for src.kind() != ']' {
			if len(*list) == n {
				return errTooMany
			}
			*list = append(*list, *new(E))
			if err := src.read(&(*list)[len(*list)-1]); err != nil {
				return err
			}
		}
		if *list == nil {
			*list = []E{}
		}
		return src.bracket()
	}, nil)
}

// errTooMany is the error of input that would take much more memory than its size.
var errTooMany = errors.New("more elements than a response may have")

// maxCommas limits the number of values in one input: each value but the first of an
// object or array follows a comma. The largest pages have about 20,000.
const maxCommas = 100_000

// maxMisfits limits the values that do not fit their field, each of which is decoded on
// its own.
const maxMisfits = 5_000

// IsExcessive reports whether JSON text has more values than may be read. Text of up to
// 1 MiB, the limit of an error response, is always read.
func IsExcessive(b []byte) bool { return len(b) > 1<<20 && hasTooManyValues(b) }

func hasTooManyValues(b []byte) bool { return bytes.Count(b, []byte(",")) > maxCommas }

// NewCodec returns a codec with these rules, and with tolerance for what the
// service is known to send: ids and timestamps that are empty or null, members
// without a field, invalid UTF-8.
func NewCodec(rules ...Rule) *Codec {
	c := &Codec{rules: map[reflect.Type]func(source, any) error{}}
	var reads []*json.Unmarshalers
	var writes []*json.Marshalers
	for _, r := range append(rules, newRule(readUUID, nil), newRule(readTime, nil)) {
		if r.typ != nil {
			c.rules[r.typ] = r.read
		}
		reads = append(reads, r.plain)
		writes = append(writes, r.write)
	}
	c.read = json.JoinUnmarshalers(reads...)
	c.decode = json.JoinOptions(jsontext.AllowInvalidUTF8(true), json.WithUnmarshalers(c.read))
	c.encode = json.JoinOptions(jsontext.AllowInvalidUTF8(true), json.Deterministic(true), json.WithMarshalers(json.JoinMarshalers(writes...)))
	return c
}

// Marshal encodes v. A value that Unmarshal kept in Extra takes the place of its
// zero field.
func (c *Codec) Marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v, c.encode)
	if !errors.Is(err, jsontext.ErrDuplicateName) {
		return b, err
	}
	// A name twice: a field that is written even if it is zero, and a member of Extra,
	// which comes after it. It is an error if the field is not zero.
	if b, err := json.Marshal(v, c.encode, json.OmitZeroStructFields(true)); err != nil {
		return b, err
	}
	b, err = json.Marshal(v, c.encode, jsontext.AllowDuplicateNames(true))
	if err != nil {
		return nil, err
	}
	return lastOfEachName(b), nil
}

// lastOfEachName returns the JSON value b with the last of the members that have the same
// name, in each of its objects.
func lastOfEachName(b []byte) []byte {
	switch jsontext.Value(b).Kind() {
	case jsontext.KindBeginObject:
		list, err := Members(b)
		if err != nil {
			return b
		}
		last := map[string]int{}
		for i, m := range list {
			last[m.Name] = i
		}
		var parts [][]byte
		for i, m := range list {
			if last[m.Name] == i {
				m.Value = lastOfEachName(m.Value)
				object := m.object()
				parts = append(parts, object[1:len(object)-1])
			}
		}
		return slices.Concat([]byte("{"), bytes.Join(parts, []byte(",")), []byte("}"))
	case jsontext.KindBeginArray:
		var parts [][]byte
		for element := range Elements(b) {
			parts = append(parts, lastOfEachName(slices.Clone(element)))
		}
		return slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]"))
	default:
		return b
	}
}

// Unmarshal decodes b into v, a pointer to a value that is zero but for the room
// of its slices.
//
// A value that does not fit its field, such as a number where an object was
// expected, is not an error where a surrounding object has an Extra field: it is
// kept there under its name, the field stays zero, and the rest is decoded. Such
// input takes slower passes; ordinary input pays nothing for it.
// Duplicate names are an error.
func (c *Codec) Unmarshal(b []byte, v any) error {
	if hasTooManyValues(b) {
		return errTooMany
	}
	err := c.glance(b, v)
	if err == nil || errors.Is(err, errTooMany) {
		return err
	}
	reflect.ValueOf(v).Elem().SetZero()
	return c.Decode(b, v)
}

// Decode is Unmarshal without the cursor.
func (c *Codec) Decode(b []byte, v any) error {
	err := json.Unmarshal(b, v, c.decode)
	misfit := (*json.SemanticError)(nil)
	if errors.Is(err, errTooMany) || !errors.As(err, &misfit) {
		return describe(err)
	}
	reflect.ValueOf(v).Elem().SetZero()
	s := salvage{}
	s.options = json.JoinOptions(jsontext.AllowInvalidUTF8(true), json.WithUnmarshalers(
		json.JoinUnmarshalers(json.UnmarshalFromFunc(s.read), c.read)))
	return describe(json.Unmarshal(b, v, s.options))
}

// Valid is what json.Valid of encoding/json is, in half of its time.
func Valid(b []byte) bool {
	return jsontext.Value(b).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// describe reduces a decoding error to what is wrong and where: the decoder's
// own text may quote the input, and a payload belongs in no error text.
func describe(err error) error {
	var misfit *json.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTooMany):
		return errTooMany
	case errors.As(err, &syntax):
		return fmt.Errorf("not valid JSON at byte %d", syntax.ByteOffset)
	case errors.As(err, &misfit):
		return fmt.Errorf("a JSON value of an unexpected kind or form at byte %d", misfit.ByteOffset)
	default:
		return errors.New("not readable as JSON")
	}
}

// salvage decodes structs that have an Extra field member by member, so that
// one that does not fit costs itself only.
type salvage struct {
	options json.Options
	inside  any // the struct whose member is being decoded: to be left to the decoder once
	misfits int
}

func (s *salvage) read(dec *jsontext.Decoder, v any) error {
	if s.inside == v {
		s.inside = nil
		return errors.ErrUnsupported
	}
	rv := reflect.ValueOf(v).Elem()
	if rv.Kind() != reflect.Struct || dec.PeekKind() != '{' {
		return errors.ErrUnsupported
	}
	field := rv.FieldByName("Extra")
	if !field.IsValid() {
		return errors.ErrUnsupported
	}
	extra, ok := reflect.TypeAssert[*map[string]stdjson.RawMessage](field.Addr())
	if !ok {
		return errors.ErrUnsupported
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	members, err := members(raw, false)
	if err != nil {
		return err
	}
	fields := fieldsByName(rv.Type())
	for _, m := range members {
		if index, ok := fields[m.Name]; ok {
			s.inside = v
			err := json.Unmarshal(m.object(), v, s.options)
			if err == nil {
				continue
			}
			if s.misfits++; s.misfits > maxMisfits || errors.Is(err, errTooMany) {
				return errTooMany
			}
			rv.FieldByIndex(index).SetZero()
		}
		if *extra == nil {
			*extra = map[string]stdjson.RawMessage{}
		}
		(*extra)[m.Name] = stdjson.RawMessage(m.Value)
	}
	return nil
}

// fieldsByName returns the index of each field of a struct by the name of its member.
func fieldsByName(t reflect.Type) map[string][]int {
	fields := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			fields[name] = f.Index
		}
	}
	return fields
}

// readUUID takes null and "" for the zero UUID; other text must be a UUID in
// its usual form.
func readUUID(src source, v *uuid.UUID) error {
	raw, err := src.raw()
	if err != nil {
		return err
	}
	if isBlank(raw) {
		*v = uuid.Nil
		return nil
	}
	if len(raw) != 38 || raw[0] != '"' {
		return errors.New("not a UUID")
	}
	*v, err = uuid.ParseBytes(raw[1:37])
	return err
}

// readTime takes null and "" for the zero time; other text must be RFC 3339.
func readTime(src source, v *time.Time) error {
	raw, err := src.raw()
	if err != nil {
		return err
	}
	if isBlank(raw) {
		*v = time.Time{}
		return nil
	}
	if raw[0] != '"' {
		return errors.New("not a timestamp")
	}
	*v, err = time.Parse(time.RFC3339, string(raw[1:len(raw)-1]))
	if err == nil && raw[len(raw)-2] != 'Z' {
		_, err = v.MarshalText() // an offset of 24 hours is read, and can't be written again
	}
	return err
}

func isBlank(raw []byte) bool { return string(raw) == "null" || string(raw) == `""` }
