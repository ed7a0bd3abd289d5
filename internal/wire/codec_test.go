package wire

import (
	stdjson "encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

var roundTrips = []struct {
	name, in string
	want     record
}{
	{
		name: "usual",
		in: `{"id":"` + someID + `","at":"2024-01-02T03:04:05.123456789Z","name":"é","flag":true,` +
			`"inner":{"n":1},"list":[{"n":2}],"new":[1.0]}`,
		want: record{
			ID: uuid.MustParse(someID), At: time.Date(2024, 1, 2, 3, 4, 5, 123456789, time.UTC),
			Name: "é", Flag: true, Inner: inner{N: 1}, List: []inner{{N: 2}}, Extra: extra{"new": raw(`[1.0]`)},
		},
	},
	{name: "blank", in: `{"id":"","at":"","name":null,"inner":null,"list":null}`},
	{name: "null", in: `{"id":null,"at":null,"flag":null}`},
	{
		name: "misfits at each level",
		in: `{"id":"urn:uuid:` + someID + `","at":"soon","name":5,"flag":"x",` +
			`"inner":{"n":"x","m":1},"list":[{"n":[]},{"n":3}]}`,
		want: record{
			Inner: inner{Extra: extra{"n": raw(`"x"`), "m": raw(`1`)}},
			List:  []inner{{Extra: extra{"n": raw(`[]`)}}, {N: 3}},
			Extra: extra{
				"id": raw(`"urn:uuid:` + someID + `"`), "at": raw(`"soon"`), "name": raw(`5`), "flag": raw(`"x"`),
			},
		},
	},
	{
		name: "objects and arrays swapped",
		in:   `{"inner":[1],"list":{"n":1},"at":5,"id":{}}`,
		want: record{Extra: extra{
			"inner": raw(`[1]`), "list": raw(`{"n":1}`), "at": raw(`5`), "id": raw(`{}`),
		}},
	},
	{
		name: "misfit in an array",
		in:   `{"list":[{"n":1},5]}`,
		want: record{Extra: extra{"list": raw(`[{"n":1},5]`)}},
	},
	{
		name: "number too large",
		in:   `{"inner":{"n":1e400}}`,
		want: record{Inner: inner{Extra: extra{"n": raw(`1e400`)}}},
	},
	{
		name: "invalid UTF-8",
		in:   "{\"name\":\"a\xffb\",\"n\xff\":1}",
		want: record{Name: "a\ufffdb", Extra: extra{"n\ufffd": raw(`1`)}},
	},
	{
		name: "invalid UTF-8 and a misfit",
		in:   "{\"name\":5,\"n\xff\":1}",
		want: record{Extra: extra{"name": raw(`5`), "n\ufffd": raw(`1`)}},
	},
}

func TestCodec_roundTrip(t *testing.T) {
	t.Parallel()
	for _, tt := range roundTrips {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newTestCodec()
			var got, again record
			if err := c.Unmarshal([]byte(tt.in), &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Unmarshal (-want +got):\n%s", d)
			}
			b, err := c.Marshal(&got)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Unmarshal(b, &again); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(got, again); d != "" {
				t.Errorf("Unmarshal of what Marshal returned, %s (-want +got):\n%s", b, d)
			}
		})
	}
}

func TestCodec_errors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{name: "empty", in: ``, want: "not valid JSON at byte 0"},
		{name: "truncated", in: `{"name":"secret"`, want: "not valid JSON at byte 16"},
		{name: "trailing byte", in: `{"name":"secret"}x`, want: "not valid JSON at byte 17"},
		{name: "duplicate", in: `{"name":1,"name":"s"}`, want: "not valid JSON at byte 10"},
		{name: "duplicate after a misfit", in: `{"inner":{"n":"x","n":1}}`, want: "not valid JSON at byte 18"},
		{name: "duplicate beside a misfit", in: `{"name":5,"inner":{"s":1,"s":2}}`, want: "not valid JSON at byte 25"},
		{name: "array", in: `[]`, want: "a JSON value of an unexpected kind or form at byte 0"},
		{name: "string", in: `"secret"`, want: "a JSON value of an unexpected kind or form at byte 0"},
		{name: "deep", in: strings.Repeat(`{"inner":`, 20_000), want: "not valid JSON at byte 90000"},
		{name: "long list", in: `{"list":[{},{},{},{}]}`, want: errTooMany.Error()},
		{name: "long list after a misfit", in: `{"id":5,"list":[{},{},{},{}]}`, want: errTooMany.Error()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var r record
			if err := newTestCodec().Unmarshal([]byte(tt.in), &r); err == nil || err.Error() != tt.want {
				t.Errorf("Unmarshal() error = %v, want %s", err, tt.want)
			}
		})
	}
}

// A member of Extra replaces a field of the same name only if the field is zero. Zeros
// of other fields are written.
func TestCodec_Marshal_sameName(t *testing.T) {
	t.Parallel()
	v := every{Records: []record{{}}, Extra: extra{"flag": raw(`"x"`)}}
	const want = `{"flag":"x","records":[{"flag":false}]}`
	if b, err := newTestCodec().Marshal(&v); err != nil || string(b) != want {
		t.Errorf("Marshal() = %s, %v, want %s", b, err, want)
	}
	v.Flag = true
	if b, err := newTestCodec().Marshal(&v); err == nil {
		t.Errorf("Marshal() = %s, want an error", b)
	}
}

func TestHasTooManyValues(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	commas := strings.Repeat(",", maxCommas)
	for _, tt := range []struct {
		name, in string
		size     int // in is filled up with spaces
		want     bool
	}{
		{name: "as many as allowed", in: commas, size: limit + 1},
		{name: "one more", in: commas + ",", size: limit + 1, want: true},
		{name: "one more in a short text", in: commas + ",", size: limit},
		{name: "one in a string", in: commas + `","`, size: limit + 1},
		{name: "one after an escape", in: commas + `"\","`, size: limit + 1},
		{name: "one after a string", in: commas + `"\\",`, size: limit + 1, want: true},
	} {
		in := tt.in + strings.Repeat(" ", tt.size-len(tt.in))
		if got := HasTooManyValues([]byte(in)); got != tt.want {
			t.Errorf("%s: HasTooManyValues() = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func FuzzValid(f *testing.F) {
	for _, in := range slices.Concat(readerInputs, decoderInputs) {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := Valid(b), stdjson.Valid(b); got != want {
			t.Errorf("Valid() = %v, want %v as in encoding/json", got, want)
		}
	})
}
