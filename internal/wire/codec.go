// Package wire converts between Go values and the service's JSON, paths and
// queries. It knows neither HTTP nor the payload types: the root package passes a
// [Rule] for each type that the default decoding does not suit.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// errTooMany is the error for input that would need much more memory than its size.
var errTooMany = errors.New("more values than a response may have; for a list, use a smaller PageSize")

// maxCommas limits the number of values in one input: each value but the first of an
// object or array follows a comma. The largest pages have about 20,000.
const maxCommas = 100_000

// A Codec decodes and encodes payloads. It does not change after NewCodec and is safe
// for concurrent use. The types that it decodes must not be recursive.
//
// It decodes in one of two ways, see [reader].
type Codec struct {
	decodeOptions json.Options
	encodeOptions json.Options
	unmarshalers  *json.Unmarshalers // of all rules

	// For the readers.
	rules   map[reflect.Type]*Rule
	byType  sync.Map // of valueReader, by reflect.Type
	readers sync.Pool
}

// UnmarshalStrict decodes b into v. A member without a field, or a second one of the same name, is
// an error.
func UnmarshalStrict(b []byte, v any) error {
	return json.Unmarshal(b, v, json.RejectUnknownMembers(true))
}

// NewCodec returns a codec with these rules. It also accepts what the service is known
// to send: ids and timestamps that are empty or null, members without a field, and
// invalid UTF-8.
func NewCodec(rules ...Rule) *Codec {
	c := &Codec{rules: map[reflect.Type]*Rule{}}
	var unmarshalers []*json.Unmarshalers
	var marshalers []*json.Marshalers
	for _, r := range append(rules, scalar(parseUUID), scalar(parseTime)) {
		if r.typ != nil {
			c.rules[r.typ] = &r
		}
		unmarshalers = append(unmarshalers, r.unmarshal)
		marshalers = append(marshalers, r.marshal)
	}
	c.unmarshalers = json.JoinUnmarshalers(unmarshalers...)
	c.decodeOptions = json.JoinOptions(jsontext.AllowInvalidUTF8(true), json.WithUnmarshalers(c.unmarshalers))
	c.encodeOptions = json.JoinOptions(jsontext.AllowInvalidUTF8(true), json.Deterministic(true),
		json.WithMarshalers(json.JoinMarshalers(marshalers...)))
	return c
}

// Unmarshal decodes b into v. v must point to a value that is zero, except that its
// slices may have capacity.
//
// A value that does not fit its field, such as a number instead of an object, is not an
// error if a surrounding object has an Extra field. Extra then holds the value under its
// name, the field stays zero, and the rest is decoded. Such input is decoded more slowly.
// Duplicate names are an error.
func (c *Codec) Unmarshal(b []byte, v any) error {
	if hasTooManyValues(b) {
		return errTooMany
	}
	err := c.DecodeFast(b, v)
	if err == nil || errors.Is(err, errTooMany) {
		return err
	}
	reflect.ValueOf(v).Elem().SetZero()
	return c.Decode(b, v)
}

// Decode is Unmarshal without the reader. It is exported for tests that compare the two.
func (c *Codec) Decode(b []byte, v any) error {
	err := json.Unmarshal(b, v, c.decodeOptions)
	_, isMisfit := errors.AsType[*json.SemanticError](err)
	if !isMisfit || errors.Is(err, errTooMany) {
		return describe(err)
	}
	reflect.ValueOf(v).Elem().SetZero()
	return describe(c.decodeMisfits(b, v))
}

// Marshal encodes v. If Unmarshal kept a value in Extra because it did not fit its field,
// that value is written instead of the field, which must still be zero.
func (c *Codec) Marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v, c.encodeOptions)
	if !errors.Is(err, jsontext.ErrDuplicateName) {
		return b, err
	}
	// A field that is written even if it is zero has the name of an Extra member. If
	// the field is not zero, one of the two values would be lost: that is an error.
	if b, err := json.Marshal(v, c.encodeOptions, json.OmitZeroStructFields(true)); err != nil {
		return b, err
	}
	b, err = json.Marshal(v, c.encodeOptions, jsontext.AllowDuplicateNames(true))
	if err != nil {
		return nil, err
	}
	return dropDuplicates(b), nil
}

// dropDuplicates returns the valid JSON b with only the last of the members that have
// the same name, in each object: the members of Extra are written last.
func dropDuplicates(b []byte) []byte {
	lenient := json.JoinOptions(lenient, json.Deterministic(true))
	switch jsontext.Value(b).Kind() {
	case jsontext.KindBeginObject:
		var members map[string]jsontext.Value
		_ = json.Unmarshal(b, &members, lenient) // no error: it was encoded
		for name, value := range members {
			members[name] = dropDuplicates(value)
		}
		b, _ = json.Marshal(members, lenient)
	case jsontext.KindBeginArray:
		var elements []jsontext.Value
		_ = json.Unmarshal(b, &elements, lenient)
		for i, value := range elements {
			elements[i] = dropDuplicates(value)
		}
		b, _ = json.Marshal(elements, lenient)
	default: // no member
	}
	return b
}

// Valid is json.Valid of encoding/json, in half of the time.
func Valid(b []byte) bool {
	return jsontext.Value(b).IsValid(lenient)
}

// HasTooManyValues reports whether JSON text has more values than a response may have.
// It is false for text of up to 1 MiB, the limit for an error response.
func HasTooManyValues(b []byte) bool { return len(b) > 1<<20 && hasTooManyValues(b) }

// hasTooManyValues counts the commas that are not within texts only if there may be too many of
// them.
func hasTooManyValues(b []byte) bool {
	if bytes.Count(b, []byte(",")) <= maxCommas {
		return false
	}
	commas, inText := 0, false
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '"':
			inText = !inText
		case b[i] == '\\':
			i++ // the next character may be a quotation mark
		case b[i] == ',' && !inText:
			commas++
		}
	}
	return commas > maxCommas
}

// describe reduces a decoding error to what is wrong and where. The text of the
// original error may quote the input, and no error text may hold a part of a payload.
func describe(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errTooMany) {
		return errTooMany
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("not valid JSON at byte %d", syntax.ByteOffset)
	}
	if misfit, ok := errors.AsType[*json.SemanticError](err); ok {
		return fmt.Errorf("a JSON value of an unexpected kind or form at byte %d", misfit.ByteOffset)
	}
	return errors.New("not readable as JSON")
}
