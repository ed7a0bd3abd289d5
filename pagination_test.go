package commerce_test

import (
	"errors"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
)

func TestCollect(t *testing.T) {
	t.Parallel()
	sequence := func(n int, end error) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				if !yield(i, nil) {
					return
				}
			}
			if end != nil && yield(-1, end) {
				yield(n, nil) // Collect must not go on after an error
			}
		}
	}
	for _, tt := range []struct {
		name string
		n    int
		err  error
		want []int
	}{
		{name: "empty"},
		{name: "three", n: 3, want: []int{0, 1, 2}},
		{name: "two and an error", n: 2, err: io.EOF, want: []int{0, 1}},
		{name: "an error", err: io.EOF},
	} {
		got, err := commerce.Collect(sequence(tt.n, tt.err))
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: error = %v, want %v", tt.name, err, tt.err)
		}
		diff(t, tt.name, got, tt.want)
	}
}

func TestPagingError(t *testing.T) {
	t.Parallel()
	err := &commerce.PagingError{Offset: 12, Seen: 10, Err: commerce.ErrOffsetLimit}
	text := err.Error()
	if !errors.Is(err, commerce.ErrOffsetLimit) || !strings.Contains(text, "12") || !strings.Contains(text, "10") {
		t.Errorf("error = %q, want the offset, the number of records and ErrOffsetLimit", text)
	}
	var none *commerce.PagingError
	if none.Error() != "<nil>" || errors.Unwrap(none) != nil {
		t.Errorf("a nil *PagingError is %q", none)
	}
}
