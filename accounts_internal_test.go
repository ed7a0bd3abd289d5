package commerce

import (
	"testing"

	"github.com/google/uuid"
)

func TestPredictID(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, first, last, want string }{
		{
			name: "random", first: "10000000-0000-4000-8000-000000000000", last: "12000000-0000-4000-a000-000000000000",
			want: "18000000-0000-4001-8000-000000000000",
		},
		{
			name: "by time", first: "01900000-0000-7fff-8000-000000000000", last: "01900000-0100-7000-bfff-ffffffffffff",
			want: "01900000-0400-7004-bfff-fffffffffffc", // it has the version of last
		},
		{
			name: "one prefix", first: "12345678-9abc-4000-8000-000000000001", last: "12345678-9abc-4000-8000-000000000100",
			want: "12345678-9abc-4000-8000-0000000003fd",
		},
		{
			name: "one id", first: "10000000-0000-4000-8000-000000000000", last: "10000000-0000-4000-8000-000000000000",
			want: "10000000-0000-4000-8000-000000000000",
		},
		{name: "too far", first: "10000000-0000-4000-8000-000000000000", last: "50000000-0000-4000-8000-000000000000"},
	} {
		got, ok := predictID(uuid.MustParse(tt.first), uuid.MustParse(tt.last), 3)
		if ok != (tt.want != "") || ok && got.String() != tt.want {
			t.Errorf("%s: got %v, %v, want %q", tt.name, got, ok, tt.want)
		}
	}
}
