package wire

import (
	stdjson "encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the cursor reads is what the decoder reads, into fields of every kind.
func FuzzCursor(f *testing.F) {
	for _, tt := range cursorTests {
		f.Add([]byte(tt.in))
	}
	c := newEveryCodec()
	f.Fuzz(func(t *testing.T, b []byte) {
		var got, want every
		err, wantErr := c.Unmarshal(b, &got), c.Decode(b, &want)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("error %v, of the decoder %v", err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(want, got) {
			t.Errorf("-decoder +cursor:\n%s", cmp.Diff(want, got, exported))
		}
	})
}

func FuzzValid(f *testing.F) {
	for _, tt := range cursorTests {
		f.Add([]byte(tt.in))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := Valid(b), stdjson.Valid(b); got != want {
			t.Errorf("valid: %t, by encoding/json %t", got, want)
		}
	})
}
