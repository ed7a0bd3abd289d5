// Package wire turns the service's JSON, paths and queries into Go values and
// back. It knows neither HTTP nor the payload types: the root package tells it
// which types are records and which need a reading of their own.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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

func (d decoder) kind() jsontext.Kind { return d.PeekKind() }

func (d decoder) raw() ([]byte, error) { return d.ReadValue() }

func (d decoder) read(v any) error { return json.UnmarshalDecode(d.Decoder, v) }

func (d decoder) bracket() error {
	_, err := d.ReadToken()
	return err
}

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
