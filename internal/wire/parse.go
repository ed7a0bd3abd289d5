package wire

import (
	"errors"
	"strings"
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

// parseTime parses a raw JSON value. null and "" are the zero time. Any other value must be a
// string that time.Parse accepts in the format of RFC 3339. What the service usually sends is
// parsed here: a time in UTC.
func parseTime(raw []byte) (time.Time, error) {
	if isBlank(raw) {
		return time.Time{}, nil
	}
	if raw[0] != '"' {
		return time.Time{}, errors.New("not a timestamp")
	}
	text := raw[1 : len(raw)-1]
	const form = "2006-01-02T15:04:05Z"
	n := len(text)
	if n < len(form) || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':' ||
		text[n-1] != 'Z' {
		return parseAnyTime(raw)
	}
	century, year, month, day := twoDigits(text[0:]), twoDigits(text[2:]), twoDigits(text[5:]), twoDigits(text[8:])
	hour, minute, second := twoDigits(text[11:]), twoDigits(text[14:]), twoDigits(text[17:])
	nanos, ok := fraction(text[19 : n-1])
	// Leave days 29 to 31 to time.Parse, which knows the length of each month.
	if !ok || century < 1 || max(century, year) > 99 || month < 1 || month > 12 || day < 1 || day > 28 ||
		hour > 23 || minute > 59 || second > 59 {
		return parseAnyTime(raw)
	}
	days := int64(daysSince1970(century*100+year, month, day)) // an int of 32 bits is too small for the seconds
	return time.Unix(days*24*60*60+int64((hour*60+minute)*60+second), int64(nanos)).UTC(), nil
}

// parseAnyTime parses a raw JSON string, which may have escapes.
func parseAnyTime(raw []byte) (time.Time, error) {
	text := string(raw[1 : len(raw)-1])
	if strings.Contains(text, `\`) {
		text = Text(raw)
	}
	return time.Parse(time.RFC3339, text)
}

// daysSince1970 is for years from 1 on. It counts in years that begin in March, so that a leap day
// is the last one.
func daysSince1970(year, month, day int) int {
	if month < 3 {
		year, month = year-1, month+12
	}
	const march1970 = 1970*365 + 1970/4 - 1970/100 + 1970/400 - 59
	return year*365 + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - march1970
}

// twoDigits returns the value of the first two bytes, which is more than 99 if they are not digits.
func twoDigits(text []byte) int {
	tens, ones := text[0]-'0', text[1]-'0'
	if tens > 9 || ones > 9 {
		return 100
	}
	return int(tens)*10 + int(ones)
}

// fraction returns the nanoseconds of a fraction of a second, which is empty or a point and 1 to 9
// digits.
func fraction(text []byte) (nanos int, ok bool) {
	if len(text) == 0 {
		return 0, true
	}
	if len(text) == 1 || len(text) > 10 || text[0] != '.' {
		return 0, false
	}
	for i := range 9 {
		nanos *= 10
		if i+1 < len(text) {
			digit := text[i+1] - '0'
			if digit > 9 {
				return 0, false
			}
			nanos += int(digit)
		}
	}
	return nanos, true
}
