package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"time"

	"github.com/google/uuid"
)

func isBlank(raw []byte) bool { return string(raw) == "null" || string(raw) == `""` }

// parseUUID parses a raw JSON value. null and "" are the zero UUID. Any other value must be a
// string of 36 characters that uuid.Parse accepts. Each of them may be an escape.
func parseUUID(raw []byte) (id uuid.UUID, err error) {
	if isBlank(raw) {
		return id, nil
	}
	const plain, escaped = 2 + 36, 2 + 36*len(`\u0000`)
	if raw[0] == '"' && len(raw) > plain && len(raw) <= escaped {
		raw = []byte(`"` + Text(raw) + `"`)
	}
	if len(raw) != plain || raw[0] != '"' {
		return id, errors.New("not a UUID")
	}
	if id, err = uuid.ParseBytes(raw[1 : plain-1]); err != nil {
		return uuid.Nil, errors.New("not a UUID") // its error quotes the value
	}
	return id, nil
}

// usualUUID parses the raw UUID at the start of b into id, where it stands. It returns its length,
// or 0 if there is none in the usual form: then parseUUID decides.
func usualUUID(b, id []byte) (length int) {
	const end = 1 + 36
	if len(b) <= end || b[0] != '"' || b[9] != '-' || b[14] != '-' || b[19] != '-' || b[24] != '-' || b[end] != '"' {
		return 0
	}
	var digits [32]byte
	copy(digits[:8], b[1:])
	copy(digits[8:12], b[10:])
	copy(digits[12:16], b[15:])
	copy(digits[16:20], b[20:])
	copy(digits[20:], b[25:])
	if _, err := hex.Decode(id, digits[:]); err != nil {
		clear(id)
		return 0
	}
	return end + 1
}

// maxFraction is the number of digits of a second that a time.Time holds.
const maxFraction = 9

// parseTime parses a raw JSON value. null and "" are the zero time. Any other value must be a
// string that time.Parse accepts in the format of RFC 3339, reads without a loss, and can write.
func parseTime(raw []byte) (at time.Time, err error) {
	if isBlank(raw) {
		return at, nil
	}
	if raw[0] != '"' {
		return at, errors.New("not a timestamp")
	}
	// UnmarshalText needs no string. But it is stricter than time.Parse, and knows no escapes.
	text := raw[1 : len(raw)-1]
	if at.UnmarshalText(text) != nil {
		text = []byte(Text(raw))
		at, err = time.Parse(time.RFC3339, string(text))
	}
	if len(text) > len("2006-01-02T3:04:05.999999999Z") { // time.Parse accepts an hour of one digit
		fraction := text[bytes.LastIndexAny(text, ".,")+1:]
		if len(fraction)-len(bytes.TrimLeft(fraction, "0123456789")) > maxFraction {
			return time.Time{}, errors.New("not a timestamp in nanoseconds")
		}
	}
	if err == nil && at.IsZero() {
		err = errors.New("a timestamp that would count as none")
	}
	if err == nil {
		_, err = at.MarshalText() // refuses +24:00
	}
	return at, err
}

// usualTime is usualUUID for a time in UTC, with or without a fraction.
func usualTime(b []byte, at *time.Time) (length int) {
	const seconds = len(`"2006-01-02T15:04:05`)
	if len(b) < seconds+2 || b[0] != '"' || b[5] != '-' || b[8] != '-' || b[11] != 'T' || b[14] != ':' || b[17] != ':' {
		return 0
	}
	end, nanosecond := seconds, 0
	if b[end] == '.' {
		end++
		for unit := int(time.Second) / 10; unit > 0 && end < len(b) && isDigit(b[end]); unit /= 10 {
			nanosecond += unit * int(b[end]-'0')
			end++
		}
	}
	if end == seconds+1 || end+1 >= len(b) || b[end] != 'Z' || b[end+1] != '"' {
		return 0
	}
	year, month, day := number(b[1:5]), number(b[6:8]), number(b[9:11])
	hour, minute, second := number(b[12:14]), number(b[15:17]), number(b[18:20])
	// The zero time is in year 1.
	if year < 2 || month < 1 || month > 12 || day < 1 ||
		min(hour, minute, second) < 0 || hour > 23 || max(minute, second) > 59 {
		return 0
	}
	*at = time.Date(year, time.Month(month), day, hour, minute, second, nanosecond, time.UTC)
	if day > 28 && at.Day() != day { // the month is shorter
		return 0
	}
	return end + 2
}

// number returns the number whose digits b holds, or -1.
func number(b []byte) (n int) {
	for _, c := range b {
		if !isDigit(c) {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
