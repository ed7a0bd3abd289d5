package wire

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// The reader must read these inputs itself.
var readerInputs = []string{
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
	`{"records":[{"id":"` + someID + `","at":"2024-01-02T03:04:05Z"},` +
		`{"id":"` + someID + `","at":"2024-01-02T03:04:05Z"},` +
		`{"id":"","at":""},{"id":"00000000-0000-4000-8000-000000000001","at":"2024-01-02T03:04:06Z"}]}`,
	`{"map":{"a":{"n":1},"b":{"x":"}"},"":{}},"words":{"a":"b"},"pointer":true,"bytes":"AAEC","raw":[ 1 , {} ]}`,
	`{"links":{"self":"/a","next":null,"odd":{"href":"\\","title":"t"}},"several":[{"n":1},{},{}]}`,
	`{"links":{"a":null,"b":"","c":{},"d":{"href":""},"e":{"href":null}}}`,
	`{"links":{},"several":{"n":1},"shade":"s","new":[{"a":"\"}"},[[]]],"no_tags":{"A":1,"B":2}}`,
	`{"shade":{"name":"s"},"shades":["s",null,{}],"several":[],"new":{}}`,
	`{"no_tags":{"A":1,"C":2}}`,
	`{"pointer":false,"sub":{"n":1,"x":2},"subs":[{"n":1},null,{}]}`,
	`{"text":"\u00e9\\\"\n","texts":["\\","\\\\\"","\ud83d\ude00","é"],"new name":{"a":1},"Text":"no field"}`,
	`{"texts":["a\\nb","a\nb","a\\nb"]}`,
	`{"texts":["` + strings.Repeat("a", 97) + `","` + strings.Repeat("b", 96) + `"],"a":0,"b":-1e9,"c":true}`,
	`{"a":-0,"b":0.10,"c":1E+2,"d":-12.5e-07,"e":"\u00e9\\","f":[{"a":"]","b":{}},[]],"g":false,"h":null,"i":""}`,
	`{"a":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}`,
	`{"texts":["1234567","12345678","1234567é","123456789abcdef","é","12345678\u0031"],"flag":true}`,
	`{"sub":{"n":1,"":2,"N":3},"map":{"n":{"n":1}},"text":"after"}`,
	`{"a":1,"b":9,"c":0.5,"text":"a b"}`,
	`{"things":[` + someThing + `,` + someThing + `,null, ` + someThing + ` ,{},{},null]}`,
	`{"things":[{"name":"a"},{"name":"a","texts":["b"]},{"name":"a"},{"name":"a","texts":["b","c"]},{ "name":"a"}]}`,
	`{"things":[{"name":"a","new":1},{"name":"a","new":1},{"inner":{"new":[2]}},{"inner":{"new":[2]}}]}`,
	`{"things":[{"name":"` + strings.Repeat("a", 600) + `"}],"others":[{"name":"` + strings.Repeat("a", 600) + `"},` +
		`{"name":"` + strings.Repeat("a", 600) + `"}]}`,
	`{"things":[{"texts":null,"links":{},"list":[]},{"texts":null,"links":{},"list":[]}]}`,

	// Members that are not kept.
	`{"shade":{"new":"\u0031","name":"s","":[{}]}}`,
	`{"nested":{"a":1,"shades":[{"a":2,"b":3},{"a":4,"name":"s"},{}],"b":5}}`,
	`{"shade":{` + skipped(maxNamed) + `}}`,

	// Times and members in an order that is nearly the usual one.
	`{"records":[{"at":"2024-01-31T03:04:05.000000001Z"},{"at":"2024-01-31T03:04:05.1Z"},{"at":"2024-02-29T23:59:59Z"},` +
		`{"at":"0001-01-01T00:00:00.000000001Z"},{"at":"2024-01-31T3:04:05Z"},{"at":"2024-01-31T03:04:05,1Z"}]}`,
	`{"text":"a","flag":true,"texts":[],"shade":null,"nested":{},"deep":"d","id":null,"upper":"u","word":"w"}`,
}

// skipped returns n members, each with another name.
func skipped(n int) string {
	var members strings.Builder
	for i := range n {
		fmt.Fprintf(&members, `,"%d":{}`, i)
	}
	return members.String()[1:]
}

const someThing = `{"name":"a","at":"2024-01-02T03:04:05Z","texts":["b","c","d"],"links":{"e":"f"},"inner":{"n":1},` +
	`"list":[{"texts":["g"]},{"texts":[]}]}`

// The reader must leave these inputs to the decoder.
var decoderInputs = []string{
	// An escaped name, invalid UTF-8.
	`{"te\u0078t":"a"}`, `{"new \"name\"":{"a":1}}`, `{"map":{"\u0061":{}}}`, "{\"text\":\"\xff\"}",
	"{\"texts\":[\"\xe0\",5]}", "{\"\xff\":1}", `{"text":"\ud800"}`,

	// Misfits.
	`[]`, `0`, `{"text":5}`, `{"links":{"a":null,"b":"","c":{},"d":{"href":""}},"text":5}`, `{"flag":"true"}`,
	`{"number":"5"}`, `{"texts":{"a":"b"}}`, `{"texts":["a",5]}`, `{"records":[{"id":"odd"}]}`,
	`{"records":[{"at":"soon"}]}`, `{"records":[{"at":"2024-02-30T03:04:05Z"}]}`,
	`{"records":[[]]}`, `{"map":[]}`, `{"map":{"a":5}}`, `{"links":[]}`,
	`{"links":{"a":5}}`, `{"links":"text","text":"after"}`, `{"upper":"bad"}`, `{"pointer":0}`,
	`{"sub":{"n":"x"}}`, `{"shade":5}`,

	// Members that are not kept: too many of them, one that is there twice, one that is not valid.
	`{"shade":{` + skipped(maxNamed+1) + `}}`, `{"shade":{"new":1,"name":"s","new":2}}`, `{"shade":{"new":{"a":1,"a":2}}}`,
	`{"nested":{"a":1,"shades":[{"b":2},{"b":3}],"a":4}}`, `{"nested":{"shades":[{"a":1},{"b":2,"b":3}]}}`,

	// More elements than the rule of the element allows.
	`{"several":[{},{},{},{}]}`, `{"subs":[{},{},{},{}]}`,

	// Duplicate names.
	`{"text":"a","text":"b"}`, `{"map":{"a":{},"a":{}}}`,

	// Not valid JSON.
	`00`, `0"`, `" `, `""--`, `{"":[""],]`, `{"text":"a"}}`, "[[\r\x00", "\"\\u0\xc2",
	`{"text":"a",}`, `{,"text":"a"}`, `{"text":"a" "flag":true}`, `{"text":"a"]`, `{"text" "a"}`,
	`{"text":}`, `{"text":nul}`, `{"flag":tru}`, `{"flag":truee}`, `{"flag":nan}`, `{"texts":["a",]}`,
	`{"texts":[,"a"]}`, `{"texts":["a"}`,
	`{"texts":["a" "b"]}`, `{"texts":["a"],]}`, `{"text":"\x"}`, `{"text":"\u12"}`, `{"a":01}`,
	`{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":1e+}`,
	`{"a":-}`, `{"a":+1}`, `{"a":--1}`,
	`{"a":1x}`, `{"a":"\ud800"}`, `{"a":[1,]}`, `{"a":[}`, `{"a":{"b":1,"b":2}}`,
	`{"a":{"b":[{"c":"\x"}]}}`, `{"a":1,"a":2}`,
	`{"links":{"a":"","a":""}}`, `{"links":{"a":"",}}`, `{"sub":{"n":1,"n":1}}`, `{"words":{"a":"","a":""}}`,
	"{\"text\":\"a\"}\x00", "\x00{}", "{\x00}", "{\"text\":\"1234567\x00\"}", "{\"text\":\"\x1f2345678\"}",
	"{\"text\":\"1234\n678\"}", "{\"text\":\"12345678\x7f\x80\"}", "{\"a\":\"\xff\"}", "{\"a\":[\"\x00\"]}",
	"{\"\x00\":1}",
	`{"a":` + strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1) + `}`,
}

func TestCodec_reader(t *testing.T) {
	t.Parallel()
	c := newTestCodec()
	for i, in := range slices.Concat(readerInputs, decoderInputs) {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			compareWays(t, c, []byte(in))
			var v every
			got, want := c.DecodeFast([]byte(in), &v) == nil, i < len(readerInputs)
			if got != want {
				t.Errorf("the reader accepts the input: %v, want %v", got, want)
			}
			for n := 0; n < len(in) && want; n++ {
				compareWays(t, c, []byte(in[:n])) // truncated
			}
		})
	}
}

func FuzzReader(f *testing.F) {
	for _, in := range slices.Concat(readerInputs, decoderInputs) {
		f.Add([]byte(in))
	}
	c := newTestCodec()
	f.Fuzz(func(t *testing.T, in []byte) { compareWays(t, c, in) })
}

// compareWays decodes in with and without the reader: the results must be equal.
func compareWays(t *testing.T, c *Codec, in []byte) {
	t.Helper()
	var got, want every
	err, wantErr := c.Unmarshal(in, &got), c.Decode(in, &want)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Errorf("Unmarshal() error = %v, want %v as by the decoder", err, wantErr)
	}
	if err == nil && !reflect.DeepEqual(want, got) {
		all := cmp.Exporter(func(reflect.Type) bool { return true })
		t.Errorf("-decoder +reader:\n%s", cmp.Diff(want, got, all))
	}
}

// Equal values of a type that repeats are equal copies, and share nothing that can change. The pool
// keeps none of them.
func TestCodec_repeated(t *testing.T) {
	t.Parallel()
	c := newTestCodec()
	for _, one := range []string{someThing, `{"name":"a","new":1}`, `{"inner":{"new":1}}`} {
		in := []byte(`{"things":[` + strings.Repeat(one+",", 9) + one + `]}`)
		var got, want every
		if err := errors.Join(c.DecodeFast(in, &got), c.DecodeFast(in, &want)); err != nil {
			t.Fatal(err)
		}
		for i := range got.Things {
			scramble(reflect.ValueOf(&got.Things[i]).Elem())
			if reflect.DeepEqual(got.Things[i], want.Things[i]) {
				t.Errorf("thing %d is not changed: %+v", i, got.Things[i])
			}
			if rest := got.Things[i+1:]; !reflect.DeepEqual(rest, want.Things[i+1:]) {
				t.Errorf("things after thing %d changed with it: %+v", i, rest)
			}
		}
	}
}

// scramble changes all that v refers to, within the capacity of its slices.
func scramble(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + " changed")
	case reflect.Map:
		if !v.IsNil() {
			v.SetMapIndex(reflect.ValueOf("changed"), reflect.Zero(v.Type().Elem()))
		}
	case reflect.Slice:
		all := v.Slice(0, v.Cap())
		for i := range all.Len() {
			scramble(all.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				scramble(v.Field(i))
			}
		}
	default:
	}
}

// Values that repeat are read again after many that do not: the reader gives up for this input.
func TestCodec_repeatedLate(t *testing.T) {
	t.Parallel()
	var in strings.Builder
	in.WriteString(`{"things":[`)
	for i := range 300 {
		fmt.Fprintf(&in, `{"name":"%0700d","texts":["a"]},`, i%200)
	}
	in.WriteString(`{}]}`)
	compareWays(t, newTestCodec(), []byte(in.String()))
}

// Equal short strings of an input share memory, but the pool keeps nothing of an input.
func TestCodec_readerInterns(t *testing.T) {
	t.Parallel()
	c := newTestCodec()
	var got every
	in := `{"texts":["a short text","a short text","another text","another","a short"]}`
	if err := c.Unmarshal([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	at := func(i int) *byte { return unsafe.StringData(got.Texts[i]) } //nolint:gosec // compared only
	// A text that begins the text before it shares its memory too.
	shared := []bool{true, false, true, false}
	for i, want := range shared {
		if got := at(i) == at(i+1); got != want {
			t.Errorf("texts %d and %d share memory: %v, want %v", i, i+1, got, want)
		}
	}
	const canaryTime = "2024-01-02T03:04:05Z"
	var r *reader
	for range 1000 { // under the race detector a pool drops some of what is put in
		in := `{"texts":["canary"],"links":{"a":"b"},"things":[{"name":"canary","at":"` + canaryTime + `"}],` +
			`"map":{"canary":{}},"shade":{"canary":0}}`
		if err := c.Unmarshal([]byte(in), &got); err != nil {
			t.Fatal(err)
		}
		if r, _ = c.readers.Get().(*reader); r != nil {
			break
		}
	}
	if r == nil {
		t.Fatalf("got reader %v, want one that was used", r)
	}
	skipped := r.skipped[:cap(r.skipped)]
	kept := fmt.Sprintf("%s %s %s %s %s %s", r.input, r.interned, r.last, r.chunk.String(), r.key, skipped)
	if strings.Contains(kept, "canary") || len(r.rawAt) > 0 || !r.at.IsZero() || !reflect.ValueOf(r.repetitions).IsZero() {
		t.Error("got a reader with a part of the input, want one without")
	}
}

// Texts whose hashes collide stay different, and a reader that gave up can be used again.
func TestCodec_readerAgain(t *testing.T) {
	t.Parallel()
	c := newTestCodec()
	const n = 5000 // more than there are hashes
	var in strings.Builder
	in.WriteString(`{"texts":[`)
	for i := range n {
		fmt.Fprintf(&in, `"%08d",`, i)
	}
	in.WriteString(`""]}`)
	var got every
	for range 2 {
		if err := c.DecodeFast([]byte(in.String()), &got); err != nil || len(got.Texts) != n+1 {
			t.Fatalf("got %d texts, error %v, want %d", len(got.Texts), err, n+1)
		}
		for i, text := range got.Texts[:n] {
			if want := fmt.Sprintf("%08d", i); text != want {
				t.Fatalf("text %d = %q, want %q", i, text, want)
			}
		}
		got = every{}
		if c.DecodeFast([]byte(`{"texts":["a"],"links":{"a":`), new(every)) == nil {
			t.Error("got no error for input that ends within an object")
		}
	}
}

// A string that is kept keeps a chunk of its page, and no more.
//
//nolint:paralleltest // measures the memory of the whole process
func TestCodec_chunks(t *testing.T) {
	const pages, texts, most = 100, 1000, 1024
	c, heap := newTestCodec(), func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // empties the pools
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	kept := make([]string, pages)
	before := heap()
	for page := range pages {
		var in strings.Builder
		for i := range texts {
			fmt.Fprintf(&in, `,"a text of page %d, number %d"`, page, i)
		}
		var v every
		if err := c.DecodeFast([]byte(`{"texts":[`+in.String()[1:]+`]}`), &v); err != nil {
			t.Fatal(err)
		}
		kept[page] = v.Texts[page*7]
	}
	each := (int64(heap()) - int64(before)) / pages
	t.Logf("%d bytes for each text that is kept", each)
	if each < 20 || each > most {
		t.Errorf("%d bytes for each text that is kept, want at most %d", each, most)
	}
	runtime.KeepAlive(kept)
}
