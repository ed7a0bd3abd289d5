package wire

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"reflect"

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
		json.JoinUnmarshalers(c.unmarshalers, json.UnmarshalFromFunc(d.unmarshal))))
	return json.Unmarshal(b, v, d.options)
}

func (d *misfitDecoder) unmarshal(dec *jsontext.Decoder, v any) error {
	rv := reflect.ValueOf(v).Elem()
	if rv.Kind() != reflect.Struct || dec.PeekKind() != '{' {
		return errors.ErrUnsupported
	}
	tab := newTable(rv.Type())
	if tab == nil || tab.extra == nil {
		return errors.ErrUnsupported
	}
	extra := rv.FieldByIndex(tab.extra).Addr().Interface().(*map[string]stdjson.RawMessage)
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	members, _ := Members(raw) // ReadValue returns valid JSON, without duplicate names
	for _, m := range members {
		if i, ok := tab.byName[m.Name]; ok {
			to := rv.FieldByIndex(tab.members[i].index)
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
