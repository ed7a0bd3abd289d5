package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// There are two ways to decode. The decoder, of package json, reads any input. The reader reads
// only what the service usually sends, in a fraction of the time, with a table for each type of
// struct (see tables.go). At anything else it gives up with [errUnusual], and the decoder reads the
// whole input again. Therefore the reader alone never rejects input, except for lists that are
// too long (see [Record]). It only must not accept input that the decoder would reject, or read
// it differently. Both use the same rules, and tests and FuzzReader compare them.
//
// Unusual is
//   - an escape in the name of a member, a name that occurs twice in an object,
//   - invalid UTF-8 and half of a surrogate pair,
//   - a value that does not fit its field, or that a method or a rule rejects,
//   - arrays and objects more than maxDepth levels deep in a value that is kept or passed on as it
//     is. All other values are as deep as their types, so the decoder's own limit is never reached.
//
// Nothing that was read refers to the input, because the caller uses its buffer again. Short
// strings share memory, and nothing else does: equal ones the same bytes, others a chunk of up to
// chunkSize bytes, which lives as long as one of its strings.

// A reader is the source that reads usual input.
type reader struct {
	input []byte
	pos   int
	begun bool // the token before pos begins an object or array

	size     uint64                // of the tables in use, a power of 2: a short input uses a part
	interned [1 << hashBits]string // short strings by their hash: many records have some in common
	chunk    strings.Builder       // holds the short strings that were stored last
	last     string                // the one that was stored last

	repetitions [256]repetition // by the hash of their start
	misses      int             // values that could be repetitions, and were none, since the last one
	extras      int             // number of members without a field so far

	skipped [][]byte // names of the members that were skipped, of all objects that have not ended

	at    time.Time // was read last
	rawAt []byte    // what it was read from: the times of most records are equal

	key      string // of an entry of a map
	keyValue reflect.Value
}

var errUnusual = errors.New("must be read by the decoder")

const maxDepth = 64

// DecodeFast decodes b into v, a pointer, by a reader. If it returns an error, v may have been
// changed. It is exported for tests that compare it with Decode.
func (c *Codec) DecodeFast(b []byte, v any) error {
	r, _ := c.readers.Get().(*reader)
	if r == nil {
		r = &reader{}
		r.keyValue = reflect.ValueOf(&r.key).Elem()
	}
	r.input, r.pos = b, 0
	r.size = 1 << min(hashBits, bits.Len(uint(len(b))/32)) // a text or a number takes about 32 bytes
	value := reflect.ValueOf(v).Elem()
	err := c.reader(value.Type())(r, value)
	if err == nil && (r.peek() != 0 || r.pos < len(b)) {
		err = errUnusual
	}
	r.forget()
	c.readers.Put(r)
	return err
}

// forget removes what was read, which the pool must not keep.
func (r *reader) forget() {
	clear(r.interned[:r.size])
	clear(r.repetitions[:min(r.size, uint64(len(r.repetitions)))])
	clear(r.skipped[:cap(r.skipped)])
	r.skipped, r.chunk, r.at, r.rawAt = r.skipped[:0], strings.Builder{}, time.Time{}, nil
	r.input, r.last, r.key, r.misses, r.extras = nil, "", "", 0, 0
}

// peek skips white space and returns the next byte, or 0 at the end.
func (r *reader) peek() byte {
	for r.pos < len(r.input) {
		c := r.input[r.pos]
		if c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' { // mostly the first test decides
			return c
		}
		r.pos++
	}
	return 0
}

func (r *reader) kind() jsontext.Kind {
	c := r.peek()
	if c == '-' || isDigit(c) {
		c = '0'
	}
	return jsontext.Kind(c)
}

// begin reads the delimiter that begins an object or array. The next call must be more.
func (r *reader) begin(kind jsontext.Kind) error {
	if r.peek() != byte(kind) {
		return errUnusual
	}
	r.pos++
	r.begun = true
	return nil
}

func (r *reader) more(end jsontext.Kind) (bool, error) {
	c, first := r.peek(), r.begun
	r.begun = false
	switch {
	case c == byte(end):
		r.pos++
		return false, nil
	case first:
		return true, nil
	case c == ',':
		r.pos++
		return true, nil
	}
	return false, errUnusual
}

func (r *reader) name(name *string) error {
	raw, err := r.rawName()
	*name = r.intern(raw)
	return err
}

// rawName reads the name of a member and the colon after it.
func (r *reader) rawName() ([]byte, error) {
	raw, escaped, err := r.scanString()
	if err != nil || escaped || r.peek() != ':' {
		return nil, errUnusual
	}
	r.pos++
	return raw[1 : len(raw)-1], nil
}

func (r *reader) decode(v any, types []part) error {
	if text, ok := v.(*string); ok {
		read, err := r.text()
		*text = read
		return err
	}
	value := reflect.ValueOf(v).Elem()
	if value.Type() == types[0].typ {
		return types[0].read(r, value)
	}
	return types[1].read(r, value)
}

// text reads a string, or null as "".
func (r *reader) text() (string, error) {
	if r.peek() == 'n' {
		return "", r.literal("null")
	}
	raw, escaped, err := r.scanString()
	if err != nil {
		return "", err
	}
	if escaped {
		text, err := jsontext.AppendUnquote(nil, raw)
		return string(text), err
	}
	return r.intern(raw[1 : len(raw)-1]), nil
}

// intern returns text as a string.
func (r *reader) intern(text []byte) string {
	const maxInterned = 96 // bytes: the links of an offering, which many records share, are that long
	if len(text) > maxInterned {
		return string(text)
	}
	interned := &r.interned[hash(text)&(r.size-1)]
	if *interned != string(text) {
		// Most links "related" of a record begin with its link "self", which comes after them.
		if len(text) > len(r.last) || r.last[:len(text)] != string(text) {
			r.last = r.store(text)
		}
		*interned = r.last[:len(text)]
	}
	return *interned
}

// chunkSize is how many bytes of short strings are allocated at once.
const chunkSize = 512

// store returns a short text as a string.
func (r *reader) store(text []byte) string {
	start := r.chunk.Len()
	if start+len(text) > r.chunk.Cap() {
		start, r.chunk = 0, strings.Builder{}
		r.chunk.Grow(min(chunkSize, max(len(text), len(r.input)/2)))
	}
	r.chunk.Write(text)
	return r.chunk.String()[start:]
}

const hashBits = 10

// hash returns hashBits bits. It is faster than hash/maphash, but who knows it can find collisions:
// then equal strings do not share memory.
func hash(text []byte) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := uint64(len(text))
	for ; len(text) >= 8; text = text[8:] {
		h = bits.RotateLeft64(h^binary.LittleEndian.Uint64(text), 29) * odd
	}
	for _, c := range text {
		h = (h ^ uint64(c)) * odd
	}
	return h >> (64 - hashBits)
}

// scanString reads a string and returns it with its quotation marks. It does not check escapes.
func (r *reader) scanString() (raw []byte, escaped bool, err error) {
	if r.peek() != '"' {
		return nil, false, errUnusual
	}
	b, start, ascii := r.input, r.pos, true
	for i := start + 1; ; {
		if i = plainEnd(b, i); i >= len(b) {
			return nil, false, errUnusual
		}
		switch c := b[i]; {
		case c == '"':
			raw, r.pos = b[start:i+1], i+1
			if !ascii && !utf8.Valid(raw) {
				return nil, false, errUnusual
			}
			return raw, escaped, nil
		case c == '\\':
			escaped = true
			i += 2
		case c >= utf8.RuneSelf:
			ascii = false
			i++
		default: // a control character
			return nil, false, errUnusual
		}
	}
}

// plainEnd returns the index of the first byte of b, from i on, that is a quotation mark, a
// backslash, a control character or not ASCII. If there is none, it returns len(b) or more. It
// looks at 8 bytes at a time.
func plainEnd(b []byte, i int) int {
	const ones = 0x0101010101010101
	for ; i+8 <= len(b); i += 8 {
		word := binary.LittleEndian.Uint64(b[i:])
		// The subtraction sets the high bit of a byte that is smaller than what is subtracted. It
		// borrows from the bytes after such a byte, so only the first high bit counts.
		quote, backslash := word^'"'*ones, word^'\\'*ones
		if found := (word | (word - ' '*ones) | (quote - ones) | (backslash - ones)) & (0x80 * ones); found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' && b[i] < utf8.RuneSelf {
		i++
	}
	return i
}

func (r *reader) literal(text string) error {
	if len(r.input)-r.pos < len(text) || string(r.input[r.pos:r.pos+len(text)]) != text {
		return errUnusual
	}
	r.pos += len(text)
	return nil
}

func (r *reader) readRaw() ([]byte, error) {
	var err error
	kind, start := r.kind(), r.pos
	switch kind {
	case '"':
		raw, escaped, err := r.scanString()
		if escaped && !jsontext.Value(raw).IsValid() {
			return nil, errUnusual
		}
		return raw, err
	case '{', '[':
		err = r.skipNested()
	case '0':
		err = r.skipNumber()
	case 'n':
		err = r.literal("null")
	case 't':
		err = r.literal("true")
	case 'f':
		err = r.literal("false")
	default:
		err = errUnusual
	}
	return r.input[start:r.pos], err
}

// skipNested skips an array or object, and checks it.
func (r *reader) skipNested() error {
	start, depth := r.pos, 0
	for r.pos < len(r.input) {
		switch r.input[r.pos] {
		case '"':
			if _, _, err := r.scanString(); err != nil {
				return err
			}
			continue
		case '{', '[':
			if depth++; depth > maxDepth {
				return errUnusual
			}
		case '}', ']':
			depth--
		}
		if r.pos++; depth == 0 {
			break
		}
	}
	if !jsontext.Value(r.input[start:r.pos]).IsValid() {
		return errUnusual
	}
	return nil
}

// skipNumber skips a number. Only the form of one that is not a plain integer is looked at.
func (r *reader) skipNumber() error {
	start, isPlain := r.pos, true
	for ; r.pos < len(r.input); r.pos++ {
		if c := r.input[r.pos]; !isDigit(c) {
			if bytes.IndexByte([]byte("+-.eE"), c) < 0 {
				break
			}
			isPlain = false
		}
	}
	number := r.input[start:r.pos]
	isPlain = isPlain && (number[0] != '0' || len(number) == 1)
	if !isPlain && !jsontext.Value(number).IsValid() {
		return errUnusual
	}
	return nil
}
