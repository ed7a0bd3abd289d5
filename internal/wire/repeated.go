package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"time"
)

// Repeated is the rule of a Record whose values are long and often repeat in an input. The reader
// reads such a value once, and copies it for its repetitions, if all its members have fields.
// Copies share nothing that can change. The type must not be in a map.
func Repeated(record Rule) Rule {
	record.repeats = true
	return record
}

// repetition is a value that was read, and may be repeated.
type repetition struct {
	raw   []byte // of the input
	value reflect.Value
}

// repeatedReader returns how to read a type that has the rule Repeated. read is how to read it
// without that.
func repeatedReader(t reflect.Type, read valueReader) valueReader {
	const maxMisses = 64 // in a row; then the values of this input differ
	separate := separator(t)
	return func(r *reader, v reflect.Value) error {
		if r.misses == maxMisses {
			return read(r, v)
		}
		r.peek()
		rest := r.input[r.pos:]
		known := &r.repetitions[sampleHash(rest)%uint64(len(r.repetitions))]
		if known.raw != nil && bytes.HasPrefix(rest, known.raw) && known.value.Type() == t {
			r.pos += len(known.raw)
			r.misses = 0
			if v.Set(known.value); separate != nil {
				separate(v, known.value)
			}
			return nil
		}
		pos, extras := r.pos, r.extras
		err := read(r, v)
		if err == nil && r.extras == extras {
			*known, r.repeats = repetition{raw: r.input[pos:r.pos], value: v}, true
			r.misses++
		}
		return err
	}
}

// sampleHash returns a hash of the start of a value, which is not read yet. It looks at 8 of 32
// bytes, so that an id always counts.
func sampleHash(rest []byte) uint64 {
	const start, step, odd = 640, 32, 0x9e3779b97f4a7c15
	h := uint64(0)
	for i := 0; i+8 <= min(start, len(rest)); i += step {
		h = bits.RotateLeft64(h, 5) ^ binary.LittleEndian.Uint64(rest[i:])
	}
	return h * odd >> (64 - hashBits)
}

// separator returns a function that gives to, an exact copy of from, slices of its own. It is nil
// if values of the type share nothing that can change.
func separator(t reflect.Type) (separate func(to, from reflect.Value)) {
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[time.Time](), t == extraType: // Extra is nil
		return nil
	case kind == reflect.Slice:
		return sliceSeparator(separator(t.Elem()))
	case kind == reflect.Struct:
		for i := range t.NumField() {
			if f := separator(t.Field(i).Type); f != nil {
				if !t.Field(i).IsExported() {
					panic(cannotCopy(t))
				}
				others := separate
				separate = func(to, from reflect.Value) {
					if others != nil {
						others(to, from)
					}
					f(to.Field(i), from.Field(i))
				}
			}
		}
		return separate
	case slices.Contains(referring, kind):
		panic(cannotCopy(t))
	}
	return nil
}

// referring are the kinds of values that refer to others, besides slices.
var referring = []reflect.Kind{
	reflect.Pointer, reflect.Map, reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer,
}

func cannotCopy(t reflect.Type) string { return fmt.Sprintf("values of %v cannot be copied", t) }

func sliceSeparator(separate func(to, from reflect.Value)) func(to, from reflect.Value) {
	return func(to, from reflect.Value) {
		if from.IsNil() {
			return
		}
		n := from.Len()
		if to.SetZero(); n == 0 {
			to.Set(reflect.MakeSlice(to.Type(), 0, 0))
			return
		}
		to.Grow(n)
		to.SetLen(n)
		reflect.Copy(to, from)
		for i := 0; i < n && separate != nil; i++ {
			separate(to.Index(i), from.Index(i))
		}
	}
}
