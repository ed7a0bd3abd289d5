package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"reflect"
)

// Repeated is the rule of a Record whose values are long and often repeat in an input. The reader
// reads such a value once, and copies it for its repetitions, if all its members have fields: every
// Extra is empty. separate gives an exact copy slices of its own, so that copies share nothing that
// can change. The type must not be in a map.
func Repeated[T any](record Rule, separate func(*T)) Rule {
	record.separate = func(v any) { separate(v.(*T)) }
	return record
}

// repetition is a value that was read, and may be repeated.
type repetition struct {
	raw   []byte // of the input
	value reflect.Value
}

// repeatedReader returns how to read a type that has the rule Repeated. read is how to read it
// without that.
func repeatedReader(t reflect.Type, read valueReader, separate func(v any)) valueReader {
	const maxMisses = 64 // in a row; then the values of this input differ
	return func(r *reader, v reflect.Value) error {
		if r.misses == maxMisses {
			return read(r, v)
		}
		r.peek()
		rest := r.input[r.pos:]
		known := &r.repetitions[sampleHash(rest)&(r.size-1)%uint64(len(r.repetitions))]
		if known.raw != nil && bytes.HasPrefix(rest, known.raw) && known.value.Type() == t {
			r.pos += len(known.raw)
			r.misses = 0
			v.Set(known.value)
			separate(v.Addr().Interface())
			return nil
		}
		pos, extras := r.pos, r.extras
		err := read(r, v)
		if err == nil && r.extras == extras {
			*known = repetition{raw: r.input[pos:r.pos], value: v}
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
