// Package wire turns the service's JSON, paths and queries into Go values and
// back. It knows neither HTTP nor the payload types: the root package tells it
// which types are records and which need a reading of their own.
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
