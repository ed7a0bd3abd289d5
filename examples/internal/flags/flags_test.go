package flags_test

import (
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce/examples/internal/flags"
)

type values struct {
	Name  string
	Count int
	ID    uuid.UUID
}

func TestParse(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("29979e80-3e0f-52f4-9d48-2efc43cf8844")
	tests := []struct {
		name string
		args []string
		want values
		err  string // that the error ends in
	}{
		{"none", nil, values{"before", -1, uuid.Max}, ""},
		{"all", []string{"-name", "Li Wei", "-count", "3", "-id", id.String()}, values{"Li Wei", 3, id}, ""},
		{"least", []string{"-count", "2"}, values{"before", 2, uuid.Max}, ""},
		{"most", []string{"-count", "4"}, values{"before", 4, uuid.Max}, ""},
		{"below", []string{"-count", "1"}, values{"before", -1, uuid.Max}, "must be a whole number from 2 to 4"},
		{"above", []string{"-count", "5"}, values{"before", -1, uuid.Max}, "must be a whole number from 2 to 4"},
		{"no number", []string{"-count", "three"}, values{"before", -1, uuid.Max}, "must be a whole number from 2 to 4"},
		{"no text", []string{"-name", ""}, values{"before", -1, uuid.Max}, "must not be empty"},
		{"no id", []string{"-id", "nonsense"}, values{"before", -1, uuid.Max}, "must be a UUID, and not the zero one"},
		{"zero id", []string{"-id", uuid.Nil.String()}, values{"before", -1, uuid.Max}, "must be a UUID, and not the zero one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := values{"before", -1, uuid.Max}
			set := flag.NewFlagSet("test", flag.ContinueOnError)
			set.SetOutput(io.Discard)
			flags.Text(set, &got.Name, "name", "")
			flags.Number(set, &got.Count, "count", 2, 4, "")
			flags.UUID(set, &got.ID, "id", "")
			err := set.Parse(tt.args)
			if (err != nil) != (tt.err != "") || err != nil && !strings.HasSuffix(err.Error(), ": "+tt.err) {
				t.Errorf("error %v, want one that ends in %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}
