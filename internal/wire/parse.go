package wire

import (
	"bytes"
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

// maxFraction is the number of digits of a second that a time.Time holds.
const maxFraction = 9

// parseTime parses a raw JSON value. null and "" are the zero time. Any other value must be a
// string that time.Parse accepts in the format of RFC 3339, and reads without a loss.
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
	return at, err
}
