package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnion(t *testing.T) {
	t.Parallel()
	c := newTestCodec()
	const in = `["plain",{"name":"x"}]`
	var got []shade
	if err := c.Unmarshal([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]shade{{Name: "plain"}, {Name: "x"}}, got); d != "" {
		t.Errorf("Unmarshal (-want +got):\n%s", d)
	}
	if b, err := c.Marshal(got); err != nil || string(b) != in {
		t.Errorf("Marshal() = %s, %v, want %s", b, err, in)
	}
	if b, err := c.Marshal([]shade{{Name: "bad"}}); err == nil {
		t.Errorf("Marshal() = %s, want an error", b)
	}
}

// The rule counts at any depth, and only for encoding.
func TestEncodedAs(t *testing.T) {
	t.Parallel()
	type withZero struct {
		*inner
		N int `json:"n"` // hides the field of inner, which leaves out 0
	}
	c := NewCodec(EncodedAs(func(v *inner) *withZero {
		if v.Extra == nil {
			return nil
		}
		return &withZero{inner: v, N: v.N}
	}))
	for _, tt := range []struct{ name, in, want string }{
		{name: "by default", in: `{"list":[{"n":0},{"n":1}]}`, want: `{"list":[{},{"n":1}]}`},
		{name: "as the other type", in: `{"list":[{"n":0,"x":1},{"n":2}]}`, want: `{"list":[{"n":0,"x":1},{"n":2}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var v struct {
				List []inner `json:"list"`
			}
			if err := c.Unmarshal([]byte(tt.in), &v); err != nil {
				t.Fatal(err)
			}
			if b, err := c.Marshal(&v); err != nil || string(b) != tt.want {
				t.Errorf("Marshal() = %s, %v, want %s", b, err, tt.want)
			}
		})
	}
}
