package wire

import "testing"

func TestRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     string // after decoding and encoding; "" for an error
	}{
		{name: "Union, text", in: `{"shade":"plain"}`, want: `{"shade":"plain"}`},
		{name: "Union, object", in: `{"shade":{"name":"x"}}`, want: `{"shade":{"name":"x"}}`},
		{name: "Union, error", in: `{"shade":"bad"}`},
		{
			name: "Named and TextOr",
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
