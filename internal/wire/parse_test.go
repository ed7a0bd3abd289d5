package wire

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// Whatever package time accepts is parsed as by package time, and nothing else. A fraction of which
// package time drops digits is no time, nor is an offset that package time cannot write.
func TestParseTime(t *testing.T) {
	t.Parallel()
	texts := []string{
		"", "Z", "soon", "2024-02-28", "2024-02-28T12:30:30.123456789Z", "2024-02-28T12:30:30Z", "2024-02-28T12:30:30",
		"2024-02-28T12:30:30+02:00", "2024-02-28T12:30:30-00:00",
		"2024-02-28T12:30:30.Z", "2024-02-28T12:30:30,5Z", "2024-02-28T12:30:30.5z", "2024-02-28T1:30:30.123456789Z",
		"2024-02-28T12:30:30.123456789+02:00", "2024-02-28T1:30:30,123456789-02:00",
		"2024-02-28 12:30:30Z", "2024-02-28T1:30:30Z", "2024-02-28T24:00:00Z", "2024-02-29T12:30:30Z",
		"2023-02-29T12:30:30Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z",
	}
	for _, text := range texts {
		got, err := parseTime([]byte(`"` + text + `"`))
		want, wantErr := time.Parse(time.RFC3339, text)
		if text == "" {
			wantErr = nil
		}
		if got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("parseTime(%s) = %v, error %v; want %v, error %v", text, got, err, want, wantErr)
		}
	}
	const fine = `"2024-02-28T12:30:30.1234567890`
	for _, raw := range []string{
		`5`, `{}`, `true`, `[""]`, fine + `Z"`, fine + `+02:00"`, fine + `123Z"`, `"2024-02-28T1:30:30.0000000000Z"`,
		`"2024-02-28T12:30:30,1234567890Z"`, `"2024-02-28T12:30:30\u002e1234567890Z"`,
		`"2024-02-28T12:30:30.123456789\u0030Z"`, `"0001-01-01T00:00:00Z"`,
		`"2024-02-28T12:30:30+24:00"`, // cannot be written
	} {
		if got, err := parseTime([]byte(raw)); err == nil {
			t.Errorf("parseTime(%s) = %v, want an error", raw, got)
		}
	}
}

// uuid.ParseBytes takes other forms, too: only the usual one is an id.
func TestParseUUID(t *testing.T) {
	t.Parallel()
	for _, text := range []string{someID, strings.ToUpper(someID)} {
		if got, err := parseUUID([]byte(`"` + text + `"`)); err != nil || got != uuid.MustParse(someID) {
			t.Errorf("parseUUID(%s) = %v, error %v, want no error", text, got, err)
		}
	}
	for raw, want := range map[string]bool{
		`null`: true, `""`: true, `5`: false, `{}`: false, `"` + someID[1:] + `"`: false, `"` + someID + `0"`: false,
		`[` + someID + `]`: false, `"{` + someID + `}"`: false, `"urn:uuid:` + someID + `"`: false,
		`"` + strings.ReplaceAll(someID, "-", "") + `"`: false, `"` + strings.Replace(someID, "-", "0", 1) + `"`: false,
		`"g` + someID[1:] + `"`: false,
	} {
		if got, err := parseUUID([]byte(raw)); got != uuid.Nil || (err == nil) != want {
			t.Errorf("parseUUID(%s) = %v, error %v; want the zero UUID, accepted: %v", raw, got, err, want)
		}
	}
}

// randomTexts is how many texts the tests of usualTime and usualUUID compare.
const randomTexts = 25_000

// change changes up to two bytes of a text, and sometimes cuts the last one.
func change(r *rand.Rand, text string) string {
	const alphabet = "0123456789abcdefABCDEFgTtZz.,:-+ \\\x00é"
	b := []byte(text)
	for range r.IntN(3) {
		b[r.IntN(len(b))] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b[:len(b)-r.IntN(20)/19])
}

// All times of the usual form are read as by package time, and nothing else is.
func TestUsualTime(t *testing.T) {
	t.Parallel()
	isUsual := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$`)
	r, n := rand.New(rand.NewPCG(1, 2)), 0
	for range randomTexts {
		date := fmt.Sprintf("%04d-%02d-%02d", r.IntN(3000), 1+r.IntN(12), 1+r.IntN(31)) // also February 31
		fraction := fmt.Sprintf(".%010d", r.Int64N(1e10))[:r.IntN(12)]
		text := change(r, date+time.Unix(r.Int64N(1e5), 0).UTC().Format("T15:04:05")+fraction+"Z")
		want, err := time.Parse(time.RFC3339, text)
		wantLength := len(text) + 2
		if err != nil || want.Year() < 2 || !isUsual.MatchString(text) {
			want, wantLength = time.Time{}, 0
		}
		n += min(1, wantLength)
		var got time.Time
		if length := usualTime([]byte(`"`+text+`",`), &got); length != wantLength || length > 0 && got != want {
			t.Fatalf("%q: read %v from %d bytes, want %v from %d", text, got, length, want, wantLength)
		}
		raw := []byte(`"` + text)
		for end := len(raw) - 3; end <= len(raw); end++ {
			if usualTime(raw[:end:end], &got) > 0 {
				t.Fatalf("%s is read, want nothing: it has no end", raw[:end])
			}
		}
	}
	if t.Logf("%d of %d are usual", n, randomTexts); n < randomTexts/4 {
		t.Errorf("%d times are usual, want more", n)
	}
}

// All ids of the usual form are read as by package uuid, and nothing else is.
func TestUsualUUID(t *testing.T) {
	t.Parallel()
	r, n := rand.New(rand.NewPCG(3, 4)), 0
	for range randomTexts {
		var id, got uuid.UUID
		binary.BigEndian.PutUint64(id[:], r.Uint64())
		binary.BigEndian.PutUint64(id[8:], r.Uint64())
		text := change(r, id.String())
		want, err := uuid.Parse(text)
		wantLength := len(text) + 2
		if err != nil || len(text) != 36 {
			want, wantLength = uuid.Nil, 0
		}
		n += min(1, wantLength)
		if length := usualUUID([]byte(`"`+text+`",`), got[:]); length != wantLength || got != want {
			t.Fatalf("%q: read %v from %d bytes, want %v from %d", text, got, length, want, wantLength)
		}
		raw := []byte(`"` + text)
		if usualUUID(slices.Clip(raw), got[:]) > 0 {
			t.Fatalf("%s is read, want nothing: it has no end", raw)
		}
	}
	if t.Logf("%d of %d are usual", n, randomTexts); n < randomTexts/4 {
		t.Errorf("%d ids are usual, want more", n)
	}
}

// Texts with escapes are read by both decoders. encoding/json does so for an id, and for each text.
func TestParse_escapes(t *testing.T) {
	t.Parallel()
	escaped := func(text string) string { // each character is an escape
		var b strings.Builder
		for _, c := range text {
			fmt.Fprintf(&b, `\u%04x`, c)
		}
		return b.String()
	}
	const at = "2024-01-02T03:04:05.5+00:00"
	for _, tt := range []struct {
		name, id, at string
		isMisfit     bool
	}{
		{name: "none", id: someID, at: at},
		{name: "a plus sign", id: someID, at: `2024-01-02T03:04:05.5\u002B00:00`},
		{name: "a letter and a digit", id: `\u0033` + someID[1:], at: at[:10] + `\u0054` + at[11:]},
		{name: "all", id: escaped(someID), at: escaped(at)},
		{name: "UTC", id: someID, at: escaped("2024-01-02T03:04:05.5Z")},
		{name: "no id and no time", id: escaped(someID + "0"), at: escaped("soon"), isMisfit: true},
		{name: "a quotation mark", id: `\"` + someID[1:], at: at + `\"`, isMisfit: true},
		{name: "ten digits", id: someID + "0", at: "2024-01-02T03:04:05.5000000000Z", isMisfit: true},
		{name: "half of a surrogate pair", id: `\ud800` + someID[1:], at: at + `\ud800`, isMisfit: true},
	} {
		in := []byte(`{"records":[{"id":"` + tt.id + `","at":"` + tt.at + `"}]}`)
		var fast, slow every
		c := newTestCodec()
		if err := c.DecodeFast(in, &fast); (err != nil) != tt.isMisfit {
			t.Errorf("%s: error of the reader = %v, want one: %v", tt.name, err, tt.isMisfit)
		}
		if err := c.Decode(in, &slow); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		compareWays(t, c, in)
		want := record{ID: uuid.MustParse(someID), At: time.Date(2024, 1, 2, 3, 4, 5, 5e8, time.UTC)}
		if tt.isMisfit {
			want = record{Extra: extra{"id": raw(`"` + tt.id + `"`), "at": raw(`"` + tt.at + `"`)}}
		}
		if diff := cmp.Diff(want, slow.Records[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
