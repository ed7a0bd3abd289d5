// Package wire turns the service's JSON, paths and queries into Go values and
// back. It knows neither HTTP nor the payload types: the root package tells it
// which types are records and which need a reading of their own.
package wire

import (
	stdjson "encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxMisfits limits the values that do not fit their field, each of which is decoded on
// its own.
const maxMisfits = 5_000

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
