package commerce_test

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
)

func TestCollect(t *testing.T) {
	t.Parallel()
	seq := func(n int, end error) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := range n {
				if !yield(i, nil) {
					return
				}
			}
			if end != nil && yield(-1, end) {
				yield(n, nil) // an iterator that goes on after an error is not followed
			}
		}
	}
	for _, tt := range []struct {
		n    int
		end  error
		want []int
	}{{0, nil, nil}, {3, nil, []int{0, 1, 2}}, {2, io.EOF, []int{0, 1}}, {0, io.EOF, nil}} {
		got, err := commerce.Collect(seq(tt.n, tt.end))
		if !errors.Is(err, tt.end) {
			t.Errorf("error %v", err)
		}
		diff(t, "collected", got, tt.want)
	}
}

func TestPagingError(t *testing.T) {
	t.Parallel()
	err := error(&commerce.PagingError{Offset: 12, Seen: 10, Err: commerce.ErrOffsetLimit})
	if !errors.Is(err, commerce.ErrOffsetLimit) || !strings.Contains(err.Error(), "offset 12 after 10 records") || !strings.Contains(err.Error(), "narrow the filter") {
		t.Error(err)
	}
	if text := fmt.Sprintf("%+v", err); text != err.Error() {
		t.Error(text)
	}
}
