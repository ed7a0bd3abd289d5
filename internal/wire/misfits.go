package wire

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxMisfits limits the values that do not fit their field: each is decoded on its own.
const maxMisfits = 5_000

// A misfitDecoder decodes a struct that has an Extra field one member at a time. A
// misfit, a value that does not fit its field, goes to Extra, and the rest is decoded.
type misfitDecoder struct {
	options json.Options
	misfits int // so far
}

// decodeMisfits decodes b into v, a pointer to a zero value.
func (c *Codec) decodeMisfits(b []byte, v any) error {
	d := misfitDecoder{}
	d.options = json.JoinOptions(c.decodeOptions, json.WithUnmarshalers(
		json.JoinUnmarshalers(json.UnmarshalFromFunc(d.unmarshal), c.unmarshalers)))
	return json.Unmarshal(b, v, d.options)
}

func (d *misfitDecoder) unmarshal(dec *jsontext.Decoder, v any) error {
	rv := reflect.ValueOf(v).Elem()
	if rv.Kind() != reflect.Struct || dec.PeekKind() != '{' {
		return errors.ErrUnsupported
	}
	field := rv.FieldByName("Extra")
	if !field.IsValid() {
		return errors.ErrUnsupported
	}
	extra := field.Addr().Interface().(*map[string]stdjson.RawMessage)
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	members, _ := Members(raw) // ReadValue returns valid JSON, without duplicate names
	fields := fieldsByName(rv.Type())
	for _, m := range members {
		if index, ok := fields[m.Name]; ok {
			to := rv.FieldByIndex(index)
			err := json.Unmarshal(m.Value, to.Addr().Interface(), d.options)
			if err == nil {
				continue
			}
			if d.misfits++; d.misfits > maxMisfits || errors.Is(err, errTooMany) {
				return errTooMany
			}
			to.SetZero()
		}
		if *extra == nil {
			*extra = map[string]stdjson.RawMessage{}
		}
		(*extra)[m.Name] = bytes.Clone(m.Value)
	}
	return nil
}

// fieldsByName returns the index of each field of a struct, by the name of its member.
func fieldsByName(t reflect.Type) map[string][]int {
	fields := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = f.Index
		}
	}
	return fields
}
