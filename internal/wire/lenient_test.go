package wire

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	got, err := Members([]byte(` {"data":[1,2],"errors":0,"errors":{"a":1,"a":2},"n":null} `))
	want := []Member{
		{Name: "data", Value: []byte(`[1,2]`)},
		{Name: "errors", Value: []byte(`0`)},
		{Name: "errors", Value: []byte(`{"a":1,"a":2}`)},
		{Name: "n", Value: []byte(`null`)},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("Members() error = %v (-want +got):\n%s", err, d)
	}
	for _, in := range []string{
		``, ` `, `null`, `[]`, `"x"`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{"a":1}{}`, `{"a":1}x`, `{1:2}`,
	} {
		if got, err := Members([]byte(in)); err == nil {
			t.Errorf("Members(%s) = %v, want an error", in, got)
		}
	}
}

func TestElements(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{
		`[]`: 0, `[1,{"a":1,"a":2}]`: 2, `{"a":1}`: 1, `null`: 0, ``: 0, `5`: 1, `"x"`: 1, `true`: 1,
	} {
		if got := len(slices.Collect(Elements([]byte(in)))); got != want {
			t.Errorf("Elements(%s): got %d, want %d", in, got, want)
		}
	}
}

// The pool of decoders keeps nothing of an input, also if a loop over its elements ends early.
func TestElements_pool(t *testing.T) {
	t.Parallel()
	for range 100 { // a pool may drop what is put in
		for range Elements([]byte(`["canary","canary"]`)) {
			break
		}
		dec := lenientDecoders.Get().(*lenientDecoder)
		if left := dec.UnreadBuffer(); len(left) > 0 || dec.input.Len() > 0 {
			t.Fatalf("got a decoder with %q, want one without input", left)
		}
	}
}

func TestHasMember(t *testing.T) {
	t.Parallel()
	isX := func(name, text string) bool { return name == "x" || name == "t" && text == "x" }
	for in, want := range map[string]bool{
		`{"x":1}`: true, `[{"x":1}]`: true, `{"a":{"b":[{"x":null}]}}`: true, `{"errors":1,"x":{}}`: true,
		`{"Errors":[{"x":1}]}`: false, `{"a":{"errors":{"x":1}}}`: true, `{"a":"x"}`: false, `["x","x"]`: false,
		`{"t":"x"}`: true, `{"t":{"t":"y","u":"x"}}`: false, `[[{"t":"x"}]]`: true, `{}`: false, `5`: false, ``: false,
		`{"a":1,"b":{"errors":2},"t":"x"}`: true, `{"errors":[{"t":"x"}],"t":"y"}`: false, `{"a":[1,"t","x"]}`: false,
	} {
		if got := HasMember([]byte(in), "errors", isX); got != want {
			t.Errorf("HasMember(%s) = %v, want %v", in, got, want)
		}
	}
}

func TestReadObject(t *testing.T) {
	t.Parallel()
	o := ReadObject([]byte(`{"Title":"a","TITLE":"b","status":"40\u0034","n":7,"t":true,"x":{"y":1},"null":null,` +
		`"Array":[1],"fraction":1.5`)) // truncated
	for name, want := range map[string]string{
		"title": "b", "n": "7", "t": "true", "null": "", "array": "", "none": "",
	} {
		if got := o.TakeText(name); got != want {
			t.Errorf("TakeText(%s) = %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]int{"status": 404, "fraction": 0, "none": 0} {
		if got := o.TakeInt(name); got != want {
			t.Errorf("TakeInt(%s) = %d, want %d", name, got, want)
		}
	}
	if peeked, taken := o.Peek("x"), o.Take("x"); string(peeked) != `{"y":1}` || string(taken) != string(peeked) {
		t.Errorf("Peek, Take = %s, %s, want the object", peeked, taken)
	}
	if got := o.Take("x"); got != nil {
		t.Errorf("Take() = %s for the second time, want nil", got)
	}
	rest := o.Rest()
	clear(o.Peek("array")) // the rest must not keep what was read alive
	if d := cmp.Diff(extra{"Array": raw(`[1]`), "fraction": raw(`1.5`)}, rest); d != "" {
		t.Errorf("Rest (-want +got):\n%s", d)
	}
	for in, wantNil := range map[string]bool{
		``: true, `[]`: true, `null`: true, `x`: true, `{}`: false, `{`: false, `{"a"`: false, `{5:1}`: false,
	} {
		if o := ReadObject([]byte(in)); (o == nil) != wantNil || o.Rest() != nil {
			t.Errorf("ReadObject(%s) = %v, want nil: %v, want no members", in, o, wantNil)
		}
	}
}
