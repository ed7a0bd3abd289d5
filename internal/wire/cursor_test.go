package wire

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

type (
	word  string
	upper struct{ text string } // has a method of its own

	// every has a field of each kind that the cursor knows, and of some that it leaves
	// to the decoder.
	every struct {
		Text    string             `json:"text,omitzero"`
		Word    word               `json:"word,omitzero"`
		Flag    bool               `json:"flag"`
		Number  int                `json:"number,omitzero"`
		Upper   upper              `json:"upper,omitzero"`
		Texts   []string           `json:"texts,omitzero"`
		Records []record           `json:"records,omitzero"`
		Table   map[string]inner   `json:"table,omitzero"`
		Shade   shade              `json:"shade,omitzero"`
		Raw     stdjson.RawMessage `json:"raw,omitzero"`
		Bytes   []byte             `json:"bytes,omitzero"`
		Pointer *bool              `json:"pointer,omitzero"`
		Sub     *inner             `json:"sub,omitempty"`
		Words   map[word]string    `json:"words,omitzero"`
		Odd     struct{ A, B int } `json:"odd,omitzero"`
		Links   links              `json:"links,omitzero"`
		Several several            `json:"several,omitzero"`
		Promoted
		Extra extra `json:",embed"`
	}
	Promoted struct {
		Deep string    `json:"deep,omitzero"`
		ID   uuid.UUID `json:"id,omitzero"`
	}
	link struct {
		name  string
		where place
	}
	links []link
	place struct {
		Href  string `json:"href"`
		Extra extra  `json:",embed"`
		given bool   // was not null
	}
	several struct {
		list []inner
		many bool
	}
)

func (u *upper) UnmarshalJSON(b []byte) error {
	if string(b) == `"bad"` {
		return errors.New("bad")
	}
	u.text = strings.ToUpper(string(b))
	return nil
}

func newEveryCodec() *Codec {
	return NewCodec(
		Record(func(r *record) *twin { return (*twin)(r) }),
		Union(`"`, func(raw []byte, s *shade) error { return stdjson.Unmarshal(raw, &s.Name) }, func(*shade) ([]byte, error) { return nil, nil }),
		Named[links](1, func(l *link) (*string, *place) { return &l.name, &l.where },
			func(p *place) { p.given = true }),
		TextOr(func(p *place) *string { return &p.Href }, func(*place) ([]byte, error) { return nil, nil }),
		OneOrMany(func(s *several) (*[]inner, *bool) { return &s.list, &s.many }, func(*several) ([]byte, error) { return nil, nil }),
	)
}

const someID = "3b4de20a-ccd0-44e6-894f-628e7afb3db0"

var cursorTests = []struct {
	in       string
	ordinary bool
}{
	{`null`, true},
	{`{}`, true},
	{" \t\r\n{ \"text\" : \"a\" ,\n\"flag\"\t:\rtrue } \n", true},
	{`{"text":"a","word":"b","flag":true,"number":-10,"upper":"c","texts":["a","","a"],"deep":"d","id":"` + someID + `"}`, true},
	{`{"id":"","deep":"d","texts":[],"flag":false,"text":"the wrong way round"}`, true},
	{`{"text":null,"word":null,"flag":null,"number":null,"upper":null,"texts":null,"records":null,"table":null,"shade":null,"raw":null,"odd":null,"links":null,"several":null,"id":null}`, true},
	{`{"records":[{"id":"` + someID + `","at":"2024-01-02T03:04:05.123456789+02:00","inner":{"n":5,"new":[{"a":"]}"}]}},null,{},{"list":[{},{}]}]}`, true},
	{`{"table":{"a":{"n":1},"b":{"x":"}"},"":{}},"words":{"a":"b"},"pointer":true,"bytes":"AAEC","raw":[ 1 , {} ]}`, true},
	{`{"links":{"self":"/a","next":null,"odd":{"href":"\\","title":"t"}},"several":[{"n":1},{}]}`, true},
	{`{"links":{"a":null,"b":"","c":{},"d":{"href":""},"e":{"href":null}}}`, true},
	{`{"links":{"a":null,"b":"","c":{},"d":{"href":""}},"text":5}`, false},
	{`{"links":{},"several":{"n":1},"shade":"s","new":[{"a":"\"}"},[[]]],"odd":{"A":1,"B":2}}`, true},
	{`{"shade":{"name":"s"},"several":[],"new":{}}`, true},
	{`{"pointer":false,"sub":{"n":1,"x":2}}`, true},
	{`{"pointer":null,"sub":null}`, true},
	{`{"text":"\u00e9\\\"\n","texts":["\\","\\\\\"","\ud83d\ude00","é"],"new \"name\"":{"a":1},"Text":"no field"}`, true},
	{`{"texts":["a\\nb","a\nb","a\\nb"]}`, true},
	{"{\"text\":\"\xff\"}", false},
	{"{\"\xff\":1}", false},
	{`{"text":"\ud800"}`, false},
	{`{"texts":["` + strings.Repeat("a", 97) + `","` + strings.Repeat("b", 96) + `"],"a":0,"b":-1e9,"c":true}`, true},

	{`{"te\u0078t":"an escaped name"}`, false},
	{`{"text":5}`, false},
	{`{"flag":"true"}`, false},
	{`{"texts":{"a":"b"}}`, false},
	{`{"texts":["a",5]}`, false},
	{`{"records":[{"id":"odd"}]}`, false},
	{`{"records":[{"at":"soon"}]}`, false},
	{`{"records":[[]]}`, false},
	{`{"table":[]}`, false},
	{`{"table":{"a":5}}`, false},
	{`{"links":[]}`, false},
	{`{"links":{"a":5}}`, false},
	{`{"links":"text","text":"after"}`, false},
	{`{"upper":"bad"}`, false},
	{`{"pointer":0}`, false},
	{`{"sub":{"n":"x"}}`, false},
	{`{"shade":5}`, false},
	{`{"odd":{"A":1,"C":2}}`, true},
	{`{"number":"5"}`, false},
	{`[]`, false},
	{`{"text":"a","text":"b"}`, false},
	{`{"table":{"a":{},"a":{}}}`, false},
	{`{"text":"a"`, false},
	{`{"text":"a"}}`, false},
	{``, false},
}

var exported = cmp.Exporter(func(reflect.Type) bool { return true })

// What the cursor reads must be what the decoder reads; and what is ordinarily sent
// it must read, as it is there for nothing else.
func TestCodec_cursor(t *testing.T) {
	t.Parallel()
	c := newEveryCodec()
	for _, tt := range cursorTests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			var got, want, alone every
			err, wantErr := c.Unmarshal([]byte(tt.in), &got), c.Decode([]byte(tt.in), &want)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("error %v, of the decoder %v", err, wantErr)
			}
			if err == nil && !reflect.DeepEqual(want, got) {
				t.Errorf("-decoder +cursor:\n%s", cmp.Diff(want, got, exported))
			}
			if err := c.glance([]byte(tt.in), &alone); (err == nil) != tt.ordinary {
				t.Errorf("the cursor alone: error %v", err)
			}
		})
	}
}

// A string is made once, and a cursor that goes back to its pool holds none.
func TestCodec_cursorShares(t *testing.T) {
	t.Parallel()
	c := newEveryCodec()
	var got every
	if err := c.Unmarshal([]byte(`{"texts":["a short text","a short text","another text"]}`), &got); err != nil {
		t.Fatal(err)
	}
	at := func(i int) *byte { return unsafe.StringData(got.Texts[i]) } //nolint:gosec // compared only
	if at(0) != at(1) || at(0) == at(2) {
		t.Errorf("shared: the same text %t, another %t", at(0) == at(1), at(0) == at(2))
	}
	var cur *cursor
	for range 1000 { // under the race detector a pool drops some of what it gets
		if err := c.Unmarshal([]byte(`{"texts":["canary"]}`), &got); err != nil {
			t.Fatal(err)
		}
		if cur, _ = c.cursors.Get().(*cursor); cur != nil {
			break
		}
	}
	if cur == nil || strings.Contains(fmt.Sprint(string(cur.b), cur.made), "canary") {
		t.Errorf("the cursor keeps a payload, or there is none: %t", cur == nil)
	}
}
