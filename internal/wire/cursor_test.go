package wire

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// The cursor must read these inputs itself.
var cursorInputs = []string{
	`null`,
	`{}`,
	" \t\r\n{ \"text\" : \"a\" ,\n\"flag\"\t:\rtrue } \n",
	`{"text":"a","word":"b","flag":true,"number":-10,"upper":"c","texts":["a","","a"],"deep":"d"}`,
	`{"id":"` + someID + `"}`,
	`{"id":"","deep":"d","texts":[],"flag":false,"text":"in reverse order"}`,
	`{"text":null,"word":null,"flag":null,"number":null,"upper":null,"texts":null,"records":null,"map":null}`,
	`{"shade":null,"raw":null,"no_tags":null,"links":null,"several":null,"id":null,"pointer":null,"sub":null}`,
	`{"records":[{"id":"` + someID + `","inner":{"n":5,"new":[{"a":"]}"}]}},null,{},{"list":[{},{}]}]}`,
	`{"records":[{"at":"2024-01-02T03:04:05.123456789+02:00"}]}`,
	`{"map":{"a":{"n":1},"b":{"x":"}"},"":{}},"words":{"a":"b"},"pointer":true,"bytes":"AAEC","raw":[ 1 , {} ]}`,
	`{"links":{"self":"/a","next":null,"odd":{"href":"\\","title":"t"}},"several":[{"n":1},{}]}`,
	`{"links":{"a":null,"b":"","c":{},"d":{"href":""},"e":{"href":null}}}`,
	`{"links":{},"several":{"n":1},"shade":"s","new":[{"a":"\"}"},[[]]],"no_tags":{"A":1,"B":2}}`,
	`{"shade":{"name":"s"},"several":[],"new":{}}`,
	`{"no_tags":{"A":1,"C":2}}`,
	`{"pointer":false,"sub":{"n":1,"x":2}}`,
	`{"text":"\u00e9\\\"\n","texts":["\\","\\\\\"","\ud83d\ude00","é"],"new \"name\"":{"a":1},"Text":"no field"}`,
	`{"texts":["a\\nb","a\nb","a\\nb"]}`,
	`{"texts":["` + strings.Repeat("a", 97) + `","` + strings.Repeat("b", 96) + `"],"a":0,"b":-1e9,"c":true}`,
}

// The cursor must leave these inputs to the decoder.
var decoderInputs = []string{
	// An escaped name, invalid UTF-8.
	`{"te\u0078t":"a"}`, "{\"text\":\"\xff\"}", "{\"texts\":[\"\xe0\",5]}", "{\"\xff\":1}", `{"text":"\ud800"}`,

	// Misfits.
	`[]`, `0`, `{"text":5}`, `{"links":{"a":null,"b":"","c":{},"d":{"href":""}},"text":5}`, `{"flag":"true"}`,
	`{"number":"5"}`, `{"texts":{"a":"b"}}`, `{"texts":["a",5]}`, `{"records":[{"id":"odd"}]}`,
	`{"records":[{"at":"soon"}]}`, `{"records":[[]]}`, `{"map":[]}`, `{"map":{"a":5}}`, `{"links":[]}`,
	`{"links":{"a":5}}`, `{"links":"text","text":"after"}`, `{"upper":"bad"}`, `{"pointer":0}`,
	`{"sub":{"n":"x"}}`, `{"shade":5}`,

	// More elements than AtMost allows.
	`{"several":[{},{},{},{}]}`,

	// Duplicate names.
	`{"text":"a","text":"b"}`, `{"map":{"a":{},"a":{}}}`,

	// Not valid JSON.
	``, `n`, `00`, `0"`, `" `, `""--`, `{"":[""],]`, `{"text":"a"`, `{"text":"a"}}`, "[[\r\x00", "\"\\u0\xc2",
}

func TestCodec_cursor(t *testing.T) {
	t.Parallel()
	c := newTestCodec()
	for i, in := range slices.Concat(cursorInputs, decoderInputs) {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			compareCursor(t, c, []byte(in))
			var v every
			got := c.decodeFast([]byte(in), &v) == nil
			if want := i < len(cursorInputs); got != want {
				t.Errorf("the cursor accepts the input: %v, want %v", got, want)
			}
		})
	}
}

func FuzzCursor(f *testing.F) {
	for _, in := range slices.Concat(cursorInputs, decoderInputs) {
		f.Add([]byte(in))
	}
	c := newTestCodec()
	f.Fuzz(func(t *testing.T, in []byte) { compareCursor(t, c, in) })
}

// compareCursor decodes in with and without the cursor: the results must be equal.
func compareCursor(t *testing.T, c *Codec, in []byte) {
	t.Helper()
	var got, want every
	err, wantErr := c.Unmarshal(in, &got), c.Decode(in, &want)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Errorf("Unmarshal() error = %v, want %v as by the decoder", err, wantErr)
	}
	if err == nil && !reflect.DeepEqual(want, got) {
		all := cmp.Exporter(func(reflect.Type) bool { return true })
		t.Errorf("-decoder +cursor:\n%s", cmp.Diff(want, got, all))
	}
}

// Equal short strings of an input share memory, but the pool keeps no string of an input.
func TestCodec_cursorInterns(t *testing.T) {
	t.Parallel()
	c := newTestCodec()
	var got every
	if err := c.Unmarshal([]byte(`{"texts":["a short text","a short text","another text"]}`), &got); err != nil {
		t.Fatal(err)
	}
	at := func(i int) *byte { return unsafe.StringData(got.Texts[i]) } //nolint:gosec // compared only
	if at(0) != at(1) || at(0) == at(2) {
		t.Errorf("shared: equal texts %v, want true; other texts %v, want false", at(0) == at(1), at(0) == at(2))
	}
	var cur *cursor
	for range 1000 { // under the race detector a pool drops some of what is put in
		if err := c.Unmarshal([]byte(`{"texts":["canary"]}`), &got); err != nil {
			t.Fatal(err)
		}
		if cur, _ = c.cursors.Get().(*cursor); cur != nil {
			break
		}
	}
	if cur == nil || strings.Contains(fmt.Sprint(string(cur.input), cur.interned), "canary") {
		t.Errorf("got cursor %v with a part of the input, want one without", cur != nil)
	}
}
