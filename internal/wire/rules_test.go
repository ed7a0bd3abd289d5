package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The reader compares the names of few members, and leaves more of them to the decoder. Neither
// lets a name be there twice.
func TestNamed_names(t *testing.T) {
	t.Parallel()
	c := newTestCodec()
	for n := range 3 * maxNamed {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf(`"%d":"/%[1]d"`, i))
		}
		object := func(members []string) []byte { return []byte(`{"links":{` + strings.Join(members, ",") + `}}`) }
		var v every
		isRead := c.DecodeFast(object(members), &v) == nil
		if want := n <= maxNamed; isRead != want {
			t.Errorf("%d names: the reader accepts them: %v, want %v", n, isRead, want)
		}
		compareWays(t, c, object(members))
		for i := range n {
			twice := slices.Concat(members, members[i:i+1])
			if c.DecodeFast(object(twice), new(every)) == nil || c.Unmarshal(object(twice), new(every)) == nil {
				t.Errorf("member %d of %d is repeated: got no error, want one", i+1, n)
			}
		}
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     string // after decoding and encoding; "" for an error
	}{
		{name: "As, text", in: `{"shade":"plain"}`, want: `{"shade":"plain"}`},
		{name: "As, object", in: `{"shade":{"name":"x"}}`, want: `{"shade":{"name":"x"}}`},
		{name: "As, error", in: `{"shade":"bad"}`},
		{
			name: "Named and As",
			in:   `{"links":{"a":null,"b":"/b","c":{}}}`,
			want: `{"links":{"a":null,"b":{"href":"/b"},"c":{"href":""}}}`,
		},
		{name: "EncodedAs, nil", in: `{"list":[{"n":0},{"n":1}]}`, want: `{"list":[{},{"n":1}]}`},
		{name: "EncodedAs", in: `{"list":[{"n":0,"x":1},{"n":2}]}`, want: `{"list":[{"n":0,"x":1},{"n":2}]}`},
	}
	c := newTestCodec()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var v struct {
				Shade shade   `json:"shade,omitzero"`
				Links links   `json:"links,omitzero"`
				List  []inner `json:"list,omitzero"`
			}
			if err := c.Unmarshal([]byte(tt.in), &v); err != nil {
				t.Fatal(err)
			}
			b, err := c.Marshal(&v)
			if (err != nil) != (tt.want == "") || err == nil && string(b) != tt.want {
				t.Errorf("Marshal() = %s, %v, want %s", b, err, tt.want)
			}
		})
	}
}
