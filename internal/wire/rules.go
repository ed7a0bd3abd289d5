package wire

import (
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// A Rule tells a Codec how to decode and encode one type. A type without a rule is treated as
// github.com/go-json-experiment/json does by default.
type Rule struct {
	typ       reflect.Type                  // nil if the rule does not change decoding
	read      func(src source, v any) error // v points to a value of the type; nil for a Record
	unmarshal *json.Unmarshalers
	marshal   *json.Marshalers
}

// A source is what a rule reads from: the decoder or the cursor.
type source interface {
	kind() jsontext.Kind      // of the next token
	readRaw() ([]byte, error) // the next value as raw JSON, valid until the next call
	readDelimiter() error     // reads the next token, which begins or ends an object or array
	decode(v any) error       // decodes the next value or name
}

// decoder is the source that reads any input.
type decoder struct{ *jsontext.Decoder }

func (d decoder) kind() jsontext.Kind { return d.PeekKind() }

func (d decoder) readRaw() ([]byte, error) { return d.ReadValue() }

func (d decoder) readDelimiter() error {
	_, err := d.ReadToken()
	return err
}

func (d decoder) decode(v any) error { return json.UnmarshalDecode(d.Decoder, v) }

// newRule returns the rule for T. For a value that the default suits, read returns
// errors.ErrUnsupported before it has read anything.
func newRule[T any](read func(src source, v *T) error, marshal *json.Marshalers) Rule {
	return Rule{
		typ:  reflect.TypeFor[T](),
		read: func(src source, v any) error { return read(src, v.(*T)) },
		unmarshal: json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *T) error {
			return read(decoder{dec}, v)
		}),
		marshal: marshal,
	}
}

// Record is the rule for a type whose MarshalJSON and UnmarshalJSON methods call the codec.
// Twin is the same type without JSON methods, and twin converts a pointer. Decoding into a T
// would call its method, and so the codec again for each record. Decoding into the Twin does
// not, so the codec reads a page of records in a single pass.
func Record[T, Twin any](twin func(*T) *Twin) Rule {
	return Rule{
		typ: reflect.TypeFor[T](),
		unmarshal: json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *T) error {
			return json.UnmarshalDecode(dec, twin(v))
		}),
		marshal: json.MarshalToFunc(func(enc *jsontext.Encoder, v *T) error {
			return json.MarshalEncode(enc, twin(v))
		}),
	}
}

// EncodedAs is the rule for a type that is encoded as the value that other returns, or
// by default if other returns nil. It does not change how T is decoded.
func EncodedAs[T, Other any](other func(*T) *Other) Rule {
	return Rule{marshal: json.MarshalToFunc(func(enc *jsontext.Encoder, v *T) error {
		if o := other(v); o != nil {
			return json.MarshalEncode(enc, o)
		}
		return errors.ErrUnsupported
	})}
}

// Union is the rule for a type that has more than one form in JSON. kinds lists the kinds of
// values that read decodes: a kind is the first byte of the value, or '0' for any number. read
// is called with the raw JSON. Values of other kinds are decoded by default. For write see
// [TextOr]. read and write may call the same codec with other types.
func Union[T any](kinds string, read func(raw []byte, v *T) error, write func(v *T) ([]byte, error)) Rule {
	return newRule(func(src source, v *T) error {
		if strings.IndexByte(kinds, byte(src.kind())) < 0 {
			return errors.ErrUnsupported
		}
		raw, err := src.readRaw()
		if err != nil {
			return err
		}
		return read(raw, v)
	}, writeOrDefault(write))
}

// TextOr is the rule for a type that may be a string in JSON. text returns where to store
// the string. Values of other kinds are decoded by default. write returns the JSON of a
// value, or nil if the value is encoded by default. If write is nil, all values are encoded by
// default.
func TextOr[T any](text func(*T) *string, write func(v *T) ([]byte, error)) Rule {
	return newRule(func(src source, v *T) error {
		if src.kind() != '"' {
			return errors.ErrUnsupported
		}
		*v = *new(T)
		return src.decode(text(v))
	}, writeOrDefault(write))
}

// OneOrMany is the rule for a type that is an array of E in JSON, or a single E. parts
// returns where to store the elements, and whether they were in an array. For write see
// [TextOr].
func OneOrMany[T, E any](parts func(*T) (list *[]E, many *bool), write func(v *T) ([]byte, error)) Rule {
	return newRule(func(src source, v *T) error {
		kind := src.kind()
		if kind != '[' && kind != '{' {
			return errors.ErrUnsupported
		}
		*v = *new(T)
		list, many := parts(v)
		if *many = kind == '['; *many {
			return src.decode(list)
		}
		*list = make([]E, 1)
		return src.decode(&(*list)[0])
	}, writeOrDefault(write))
}

func writeOrDefault[T any](write func(v *T) ([]byte, error)) *json.Marshalers {
	if write == nil {
		return nil
	}
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

// Named is the rule for a slice of E that is an object in JSON, with one member for each
// element. A short slice takes a third of the memory of a map. parts returns where to
// store the name and the value of an element. capacity is the initial capacity of the
// slice. notNull may be nil; it is called with each value that was not null.
func Named[L ~[]E, E, V any](capacity int, parts func(*E) (name *string, value *V), notNull func(*V)) Rule {
	return newRule(func(src source, l *L) error {
		switch src.kind() {
		case 'n':
			*l = nil
			_, err := src.readRaw()
			return err
		case '{':
		default:
			return errors.New("not an object")
		}
		if err := src.readDelimiter(); err != nil {
			return err
		}
		*l = make(L, 0, capacity)
		for src.kind() != '}' {
			*l = append(*l, *new(E))
			name, value := parts(&(*l)[len(*l)-1])
			if err := src.decode(name); err != nil {
				return err
			}
			null := src.kind() == 'n'
			if err := src.decode(value); err != nil {
				return err
			}
			if !null && notNull != nil {
				notNull(value)
			}
		}
		return src.readDelimiter()
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

// AtMost is the rule for slices of E, which must not have more than n elements. The
// limit is checked while the list is read, because a few bytes of JSON can become a large
// element in memory.
func AtMost[E any](n int) Rule {
	return newRule(func(src source, list *[]E) error {
		if src.kind() != '[' {
			return errors.ErrUnsupported
		}
		if err := src.readDelimiter(); err != nil {
			return err
		}
		*list = (*list)[:0]
		for src.kind() != ']' {
			if len(*list) == n {
				return errTooMany
			}
			*list = append(*list, *new(E))
			if err := src.decode(&(*list)[len(*list)-1]); err != nil {
				return err
			}
		}
		if *list == nil {
			*list = []E{}
		}
		return src.readDelimiter()
	}, nil)
}

// readUUID reads null and "" as the zero UUID. Any other value must be a string of
// 36 characters that uuid.Parse accepts.
func readUUID(src source, v *uuid.UUID) error {
	raw, err := src.readRaw()
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

// readTime reads null and "" as the zero time. Any other value must be a string in the
// format of RFC 3339.
func readTime(src source, v *time.Time) error {
	raw, err := src.readRaw()
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
	return err
}

func isBlank(raw []byte) bool { return string(raw) == "null" || string(raw) == `""` }
