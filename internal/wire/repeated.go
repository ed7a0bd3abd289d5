package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"time"
)

// Repeated is the rule for a type of struct whose values often repeat in an input, and begin with
// something that tells them apart, such as an id. The reader reads such a value once, and copies it
// for its repetitions, if all its members have fields. Copies share nothing that can change. The
// type must not be in a map.
func Repeated[T any]() Rule { return Rule{typ: reflect.TypeFor[T](), repeats: true} }

// repetition is a value that was read, and may be repeated.
type repetition struct {
	raw   []byte // of the input
	value reflect.Value
}

// repetitions are the last values whose starts have the same hash.
type repetitions struct {
	known [8]repetition
	next  int // index of the oldest
}

// repeatedReader returns how to read a type that has the rule Repeated. read is how to read it
// without that.
func repeatedReader(t reflect.Type, read valueReader) valueReader {
	const start = 64 // bytes, which have the id
	separate := separator(t)
	return func(r *reader, v reflect.Value) error {
		r.peek()
		rest := r.input[r.pos:]
		set := &r.repetitions[hash(rest[:min(start, len(rest))])%uint64(len(r.repetitions))]
		for _, known := range set.known {
			if known.raw != nil && bytes.HasPrefix(rest, known.raw) && known.value.Type() == t {
				r.pos += len(known.raw)
				v.Set(known.value)
				separate(v, known.value)
				return nil
			}
		}
		pos, extras := r.pos, r.extras
		err := read(r, v)
		if err == nil && r.extras == extras {
			set.known[set.next] = repetition{raw: r.input[pos:r.pos], value: v}
			set.next = (set.next + 1) % len(set.known)
			r.repeats = true
		}
		return err
	}
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
	case kind == reflect.Pointer, kind == reflect.Map, kind == reflect.Interface, kind == reflect.Func, kind == reflect.Chan:
		panic(cannotCopy(t))
	}
	return nil
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
