package wire

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

type extra = map[string]stdjson.RawMessage

type record struct {
	ID    uuid.UUID `json:"id,omitzero"`
	At    time.Time `json:"at,omitzero"`
	Name  string    `json:"name,omitzero"`
	Flag  bool      `json:"flag"`
	Inner inner     `json:"inner,omitzero"`
	List  []inner   `json:"list,omitzero"`
	Extra extra     `json:",embed"`
}

type inner struct {
	N     int   `json:"n,omitzero"`
	Extra extra `json:",embed"`
}

type twin record

func (r record) MarshalJSON() ([]byte, error) { return nil, errors.New("the method was called") }
func (r *record) UnmarshalJSON([]byte) error  { return errors.New("the method was called") }

// shade is a string or an object.
type shade struct {
	Name string `json:"name"`
}

func newTestCodec() *Codec {
	return NewCodec(
		Record(func(r *record) *twin { return (*twin)(r) }),
		Union(`"`, func(raw []byte, s *shade) error { return stdjson.Unmarshal(raw, &s.Name) },
			func(s *shade) ([]byte, error) {
				switch s.Name {
				case "plain":
					return []byte(`"plain"`), nil
				case "bad":
					return nil, errors.New("can't be written")
				}
				return nil, nil
			}),
	)
}

func TestCodec_record(t *testing.T) {
	t.Parallel()
	const someID = "3b4de20a-ccd0-44e6-894f-628e7afb3db0"
	raw := func(s string) stdjson.RawMessage { return stdjson.RawMessage(s) }
	tests := []struct {
		name, in string
		want     record
	}{
		{"ordinary", `{"id":"` + someID + `","at":"2024-01-02T03:04:05.123456789Z","name":"é","flag":true,"inner":{"n":1},"list":[{"n":2}],"new":[1.0]}`,
			record{ID: uuid.MustParse(someID), At: time.Date(2024, 1, 2, 3, 4, 5, 123456789, time.UTC), Name: "é", Flag: true, Inner: inner{N: 1},
				List: []inner{{N: 2}}, Extra: extra{"new": raw(`[1.0]`)}}},
		{"blank", `{"id":"","at":"","name":null,"inner":null,"list":null}`, record{}},
		{"null", `{"id":null,"at":null,"flag":null}`, record{}},
		{"odd, each in its place", `{"id":"urn:uuid:` + someID + `","at":"soon","name":5,"flag":"x","inner":{"n":"x","m":1},"list":[{"n":[]},{"n":3}]}`,
			record{Inner: inner{Extra: extra{"n": raw(`"x"`), "m": raw(`1`)}}, List: []inner{{Extra: extra{"n": raw(`[]`)}}, {N: 3}},
				Extra: extra{"id": raw(`"urn:uuid:` + someID + `"`), "at": raw(`"soon"`), "name": raw(`5`), "flag": raw(`"x"`)}}},
		{"objects and arrays swapped", `{"inner":[1],"list":{"n":1},"at":5,"id":{}}`,
			record{Extra: extra{"inner": raw(`[1]`), "list": raw(`{"n":1}`), "at": raw(`5`), "id": raw(`{}`)}}},
		{"an element that does not fit", `{"list":[{"n":1},5]}`, record{Extra: extra{"list": raw(`[{"n":1},5]`)}}},
		{"a number too large", `{"inner":{"n":1e400}}`, record{Inner: inner{Extra: extra{"n": raw(`1e400`)}}}},
		{"invalid UTF-8", "{\"name\":\"a\xffb\",\"n\xff\":1}", record{Name: "a\ufffdb", Extra: extra{"n\ufffd": raw(`1`)}}},
		{"invalid UTF-8, and odd", "{\"name\":5,\"n\xff\":1}", record{Extra: extra{"name": raw(`5`), "n\ufffd": raw(`1`)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newTestCodec()
			var got, again record
			if err := c.Unmarshal([]byte(tt.in), &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			b, err := c.Marshal(&got)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Unmarshal(b, &again); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(got, again); d != "" {
				t.Errorf("after a round trip by %s:\n%s", b, d)
			}
		})
	}
}

// A type that is encoded as another one is so at any depth, and decoded as it stands.
func TestCodec_encodedAs(t *testing.T) {
	t.Parallel()
	type spelledOut struct {
		*inner
		N int `json:"n"` // before the one of inner, which leaves out 0
	}
	c := NewCodec(EncodedAs(func(v *inner) *spelledOut {
		if v.Extra == nil {
			return nil
		}
		return &spelledOut{inner: v, N: v.N}
	}))
	for _, tt := range []struct{ name, in, want string }{
		{name: "as it stands", in: `{"list":[{"n":0},{"n":1}]}`, want: `{"list":[{},{"n":1}]}`},
		{name: "as the other", in: `{"list":[{"n":0,"x":1},{"n":2,"x":3}]}`, want: `{"list":[{"n":0,"x":1},{"n":2,"x":3}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var v struct {
				List []inner `json:"list"`
			}
			if err := c.Unmarshal([]byte(tt.in), &v); err != nil {
				t.Fatal(err)
			}
			b, err := c.Marshal(&v)
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := errors.Join(stdjson.Unmarshal(b, &got), stdjson.Unmarshal([]byte(tt.want), &want)); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestCodec_errors(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                          "not readable as JSON",
		`{"name":"secret"`:          "not valid JSON at byte 16",
		`{"name":"secret"}x`:        "not valid JSON at byte 17",
		`{"name":1,"name":"s"}`:     "not valid JSON at byte 10",
		`{"inner":{"n":"x","n":1}}`: "not valid JSON at byte 18",
		`{"name":5,"inner":{"secret":1,"secret":2}}`: "not valid JSON",
		`[]`:       "a JSON value of an unexpected kind or form at byte 0",
		`"secret"`: "a JSON value of an unexpected kind or form at byte 0",
	} {
		var r record
		err := newTestCodec().Unmarshal([]byte(in), &r)
		if err == nil || !strings.HasPrefix(err.Error(), want) && want != "not readable as JSON" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v, want %s", in, err, want)
		}
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(`{"inner":`, 20_000))
	var r record
	if err := newTestCodec().Unmarshal([]byte(b.String()), &r); err == nil {
		t.Error("endless nesting is no error")
	}
}

func TestCodec_union(t *testing.T) {
	t.Parallel()
	c := newTestCodec()
	var got []shade
	if err := c.Unmarshal([]byte(`["plain",{"name":"x"}]`), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]shade{{"plain"}, {"x"}}, got); d != "" {
		t.Error(d)
	}
	b, err := c.Marshal(got)
	if err != nil || string(b) != `["plain",{"name":"x"}]` {
		t.Errorf("%s, %v", b, err)
	}
	if b, err := c.Marshal([]shade{{"bad"}}); err == nil {
		t.Errorf("encoded %s", b)
	}
}

// TestCodec_misfitsAreBounded decodes a page in which every record is odd: the
// second pass must stay in proportion to the page.
//
//nolint:paralleltest // AllocsPerRun measures the whole process
func TestCodec_misfitsAreBounded(t *testing.T) {
	one := `{"id":"x","inner":{"n":"x"},"list":[{"n":"y"},{"n":"z"}]}`
	for _, n := range []int{10, 1000} {
		var page []record
		in := "[" + strings.Repeat(one+",", n-1) + one + "]"
		allocs := testing.AllocsPerRun(1, func() {
			page = nil
			if err := newTestCodec().Unmarshal([]byte(in), &page); err != nil {
				t.Fatal(err)
			}
		})
		if len(page) != n || string(page[n-1].List[1].Extra["n"]) != `"z"` {
			t.Fatalf("%d records", len(page))
		}
		if perRecord := allocs / float64(n); perRecord > 1000 {
			t.Errorf("%d records: %.0f allocations each", n, perRecord)
		}
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	got, err := Members([]byte(` {"data":[1,2],"errors":0,"errors":{"a":1,"a":2},"n":null} `))
	want := []Member{
		{Name: "data", Value: []byte(`[1,2]`)}, {Name: "errors", Value: []byte(`0`)},
		{Name: "errors", Value: []byte(`{"a":1,"a":2}`)}, {Name: "n", Value: []byte(`null`)},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("error %v (-want +got)\n%s", err, d)
	}
	for _, in := range []string{
		``, ` `, `null`, `[]`, `"x"`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{"a":1}{}`, `{"a":1}x`, `{1:2}`,
	} {
		if got, err := Members([]byte(in)); err == nil {
			t.Errorf("%s: %v, want an error", in, got)
		}
	}
}

func TestHasMember(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		`{"x":1}`: true, `[{"x":1}]`: true, `{"a":{"b":[{"x":null}]}}`: true, `{"errors":1,"x":{}}`: true,
		`{"Errors":[{"x":1}]}`: false, `{"a":{"errors":{"x":1}}}`: true, `{"a":"x"}`: false, `["x","x"]`: false,
		`{"t":"x"}`: true, `{"t":{"t":"y","u":"x"}}`: false, `[[{"t":"x"}]]`: true, `{}`: false, `5`: false, ``: false,
		`{"a":1,"b":{"errors":2},"t":"x"}`: true, `{"errors":[{"t":"x"}],"t":"y"}`: false, `{"a":[1,"t","x"]}`: false,
	} {
		isX := func(name, text string) bool { return name == "x" || name == "t" && text == "x" }
		got := HasMember([]byte(in), "errors", isX)
		if got != want {
			t.Errorf("HasMember(%s) = %v, want %v", in, got, want)
		}
	}
}

func TestElements(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{`[]`: 0, `[1,{"a":1,"a":2}]`: 2, `{"a":1}`: 1, `null`: 0, ``: 0, `5`: 1, `"x"`: 1, `true`: 1} {
		if got := len(slices.Collect(Elements([]byte(in)))); got != want {
			t.Errorf("%s: %d elements, want %d", in, got, want)
		}
	}
	for in, want := range map[string]string{`"a\"b"`: `a"b`, `5`: `5`, `[1]`: `[1]`, `tru`: `tru`} {
		if got := Text([]byte(in)); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func TestReadLoose(t *testing.T) {
	t.Parallel()
	l := ReadObject([]byte(`{"Title":"a","TITLE":"b","status":"404","n":7,"t":true,"x":{"y":1},"nul":null,"odd":[1],"bad":1.5`))
	if s := l.TakeText("title"); s != "b" {
		t.Errorf("title %q", s)
	}
	if n := l.TakeInt("status"); n != 404 {
		t.Errorf("status %d", n)
	}
	if s := l.TakeText("n") + l.TakeText("t") + l.TakeText("nul") + l.TakeText("odd") + l.TakeText("none"); s != "7true" {
		t.Errorf("texts %q", s)
	}
	if n := l.TakeInt("bad") + l.TakeInt("none"); n != 0 {
		t.Errorf("bad %d", n)
	}
	if string(l.Peek("x")) != `{"y":1}` || string(l.Take("x")) != `{"y":1}` || l.Take("x") != nil {
		t.Error("x")
	}
	if d := cmp.Diff(extra{"odd": stdjson.RawMessage(`[1]`), "bad": stdjson.RawMessage(`1.5`)}, l.Rest()); d != "" {
		t.Error(d)
	}
	for _, in := range []string{``, `[]`, `null`, `x`, `{`, `{"a"`, `{5:1}`} {
		if l := ReadObject([]byte(in)); l.Rest() != nil {
			t.Errorf("%s: %v", in, l)
		}
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	if got := Filter(nil); got != "" {
		t.Errorf("none: %q", got)
	}
	got := Filter([]Equal{{"email", `a"b\`}, {"name", ":,()'"}})
	if want := `eq(email,"a\"b\\"):eq(name,":,()'")`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	got, err := Path("v2", "a+b é:@&=$,;~", "...")
	if err == nil {
		t.Errorf("a space: %s", got)
	}
	got, err = Path("v2", "a+bé:@&=$,;~", "...")
	if want := "/v2/a+b%C3%A9:@&=$%2C%3B~/..."; err != nil || got != want {
		t.Errorf("%s, want %s (%v)", got, want, err)
	}
	for _, bad := range []string{"", ".", "..", "a/b", `a\b`, "a?b", "a#b", "a%b", "a b", "a\tb", "a\x00", "a\x7f", "\xff", strings.Repeat("a", 1025)} {
		if got, err := Path(bad); err == nil || strings.Contains(fmt.Sprint(err), bad) && len(bad) > 2 {
			t.Errorf("%q: %s, %v", bad, got, err)
		}
	}
	if _, err := Path(); err == nil {
		t.Error("no elements")
	}
}
