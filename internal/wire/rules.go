package wire

import (
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Rule tells a Codec how to decode and encode one type. A type without a rule is treated as
// github.com/go-json-experiment/json does by default.
type Rule struct {
	typ       reflect.Type                                // nil if the rule does not change decoding
	read      func(src source, types []part, v any) error // v points to a value of the type; nil for a Record
	parts     []reflect.Type                              // types that read decodes
	limit     int                                         // on the elements of a list of a Record
	separate  func(v any)                                 // see Repeated; nil for all other rules
	unmarshal *json.Unmarshalers
	marshal   *json.Marshalers
}

// A source is what a rule reads from: the decoder or the reader.
type source interface {
	kind() jsontext.Kind                  // of the next token
	begin(kind jsontext.Kind) error       // reads the token that begins an object or array
	more(end jsontext.Kind) (bool, error) // is there another member or element? If not, it reads the end
	name(name *string) error              // reads the name of a member
	decode(v any, types []part) error     // decodes the next value, of one of the types
}

// decoder is the source that reads any input.
type decoder struct{ *jsontext.Decoder }

func (d decoder) kind() jsontext.Kind { return d.PeekKind() }

func (d decoder) begin(jsontext.Kind) error {
	_, err := d.ReadToken()
	return err
}

func (d decoder) more(end jsontext.Kind) (bool, error) {
	if d.PeekKind() != end {
		return true, nil
	}
	_, err := d.ReadToken()
	return false, err
}

func (d decoder) name(name *string) error { return json.UnmarshalDecode(d.Decoder, name) }

func (d decoder) decode(v any, _ []part) error { return json.UnmarshalDecode(d.Decoder, v) }

// newRule returns the rule for T, which decodes the types parts. For a value that the default
// suits, read returns errors.ErrUnsupported before it has read anything.
func newRule[T any](
	read func(src source, types []part, v *T) error, marshal *json.Marshalers, parts ...reflect.Type,
) Rule {
	return Rule{
		typ:   reflect.TypeFor[T](),
		read:  func(src source, types []part, v any) error { return read(src, types, v.(*T)) },
		parts: parts,
		unmarshal: json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *T) error {
			return read(decoder{dec}, nil, v)
		}),
		marshal: marshal,
	}
}

// Record is the rule for a type whose methods MarshalJSON and UnmarshalJSON, if any, call the
// codec: it is decoded and encoded without them. A list of the type, or of pointers to it, must not
// have more elements than the limit. This is checked while the list is read, because a few bytes of
// JSON can become a large element in memory.
func Record[T any](limit int) Rule {
	// The methods would call the codec again for each record, without end. The twin is the same
	// type without methods: it has the same fields, so a pointer to a T points to a twin too.
	// Convert would compare the types again each time.
	twin := reflect.StructOf(slices.Collect(reflect.TypeFor[T]().Fields()))
	asTwin := func(v *T) any { return reflect.NewAt(twin, reflect.ValueOf(v).UnsafePointer()).Interface() }
	return Rule{
		typ:   reflect.TypeFor[T](),
		limit: limit,
		unmarshal: json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *T) error {
			if kind, before := dec.StackIndex(dec.StackDepth()); kind == '[' && before >= int64(limit) {
				return errTooMany
			}
			return json.UnmarshalDecode(dec, asTwin(v))
		}),
		marshal: json.MarshalToFunc(func(enc *jsontext.Encoder, v *T) error {
			return json.MarshalEncode(enc, asTwin(v))
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

// As is the rule for a type that has more than one form in JSON.
//
// kinds lists the kinds of values with another form. A kind is the first byte of a value, or '0'
// for any number. Such a value is decoded to what to returns: a pointer to a string, or to one of
// the types parts. All others are decoded by default.
//
// write returns the JSON of a value, or nil if the value is encoded by default. It may call the
// same codec with other types. If write is nil, all values are encoded by default.
func As[T any](
	kinds string, to func(kind byte, v *T) any, write func(v *T) ([]byte, error), parts ...reflect.Type,
) Rule {
	return newRule(func(src source, types []part, v *T) error {
		kind := byte(src.kind())
		if strings.IndexByte(kinds, kind) < 0 {
			return errors.ErrUnsupported
		}
		return src.decode(to(kind, v), types)
	}, writeOrDefault(write), parts...)
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

const maxNamed = 16 // members of an object that a reader reads: it compares their names with each other

// Named is the rule for a slice of E that is an object in JSON, with one member for each
// element. A short slice takes a third of the memory of a map. parts returns where to
// store the name and the value of an element. capacity is the initial capacity of the
// slice. notNull may be nil; it is called with each value that was not null.
func Named[L ~[]E, E, V any](capacity int, parts func(*E) (name *string, value *V), notNull func(*V)) Rule {
	return newRule(func(src source, types []part, l *L) error {
		switch src.kind() {
		case 'n':
			return errors.ErrUnsupported
		case '{':
		default:
			return errors.New("not an object")
		}
		if err := src.begin('{'); err != nil {
			return err
		}
		for *l = make(L, 0, capacity); ; {
			if more, err := src.more('}'); !more {
				return err
			}
			*l = append(*l, *new(E))
			name, value := parts(&(*l)[len(*l)-1])
			if err := src.name(name); err != nil {
				return err
			}
			if _, ok := src.(*reader); ok && (len(*l) > maxNamed || isRepeated(*l, parts)) {
				return errUnusual
			}
			null := src.kind() == 'n'
			if err := src.decode(value, types); err != nil {
				return err
			}
			if !null && notNull != nil {
				notNull(value)
			}
		}
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
	}), reflect.TypeFor[V]())
}

// isRepeated reports whether another element of l has the name of the last one. The decoder knows
// that without help.
func isRepeated[L ~[]E, E, V any](l L, parts func(*E) (name *string, value *V)) bool {
	last := len(l) - 1
	name, _ := parts(&l[last])
	for i := range last {
		if other, _ := parts(&l[i]); *other == *name {
			return true
		}
	}
	return false
}

// scalar is the rule for a type that parse reads from raw JSON, as [readScalar] does.
func scalar[T any](parse func(raw []byte) (T, error)) Rule {
	return Rule{unmarshal: json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *T) error {
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		*v, err = parse(raw)
		return err
	})}
}
