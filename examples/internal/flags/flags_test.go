package flags_test

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/examples/internal/flags"
)

type values struct {
	Path   string
	Count  int
	Filter commerce.SubscriptionFilter
}

// parse parses args into a copy of before.
func parse(args []string, before values) (got values, help string, err error) {
	set := flag.NewFlagSet("test", flag.ContinueOnError)
	set.Func("path", "", flags.Text(&before.Path))
	set.Func("count", "", flags.Number(&before.Count, 2, 4))
	flags.Filters(set, &before.Filter)
	var b bytes.Buffer
	err = flags.Parse(set, args, flags.Help{Before: "First.", After: "Last."}, &b)
	return before, b.String(), err
}

func TestParse(t *testing.T) {
	t.Parallel()
	before := values{Path: "before", Count: -1}
	id := uuid.MustParse("29979e80-3e0f-52f4-9d48-2efc43cf8844")
	tests := []struct {
		name string
		args string // separated by commas
		want values
	}{
		{name: "none", want: before},
		{name: "all",
			args: "-path,x,-count,3,-account," + id.String() + ",-name,Li Wei,-email,li@example.com,-external-ref,r-1",
			want: values{Path: "x", Count: 3, Filter: commerce.SubscriptionFilter{
				AccountID: id, Name: "Li Wei", Email: "li@example.com", ExternalRef: "r-1"}}},
		{name: "minimum", args: "-count,2", want: values{Path: "before", Count: 2}},
		{name: "maximum", args: "-count,4", want: values{Path: "before", Count: 4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, help, err := parse(strings.FieldsFunc(tt.args, func(r rune) bool { return r == ',' }), before)
			if err != nil || help != "" {
				t.Errorf("Parse() = %v and help %q, want neither", err, help)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParse_errors(t *testing.T) {
	t.Parallel()
	const noNumber, noUUID = ": must be a whole number from 2 to 4", ": must be a UUID, and not the zero UUID"
	tests := []struct {
		arg, want string
	}{
		{arg: "-count=1", want: noNumber},
		{arg: "-count=5", want: noNumber},
		{arg: "-count=three", want: noNumber},
		{arg: "-path=", want: ": must not be empty"},
		{arg: "-account=nonsense", want: noUUID},
		{arg: "-account=" + uuid.Nil.String(), want: noUUID},
		{arg: "-name=", want: ": must not be empty"},
		{arg: "-email=", want: ": must not be empty"},
		{arg: "-external-ref=", want: ": must not be empty"},
		{arg: "stray", want: `unexpected argument "stray"`},
		{arg: "-bogus", want: "flag provided but not defined: -bogus"},
	}
	for _, tt := range tests {
		t.Run(tt.arg, func(t *testing.T) {
			t.Parallel()
			got, help, err := parse([]string{tt.arg}, values{})
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("Parse() = %v, want an error that ends in %q", err, tt.want)
			}
			if help != "" || !cmp.Equal(got, values{}) {
				t.Errorf("values %+v, help %q, want neither", got, help)
			}
		})
	}
}

func TestParse_help(t *testing.T) {
	t.Parallel()
	_, help, err := parse([]string{"-h"}, values{})
	if !errors.Is(err, flag.ErrHelp) {
		t.Errorf("Parse() = %v, want %v", err, flag.ErrHelp)
	}
	const first, last = "First.\n\nUsage: test [flags]\n\nFlags:\n  -account uuid\n", "\nLast.\n"
	if !strings.HasPrefix(help, first) || !strings.HasSuffix(help, last) {
		t.Errorf("help:\n%s\nwant it to begin with %q and end with %q", help, first, last)
	}
}
