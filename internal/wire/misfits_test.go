package wire

import (
	"errors"
	"strings"
	"testing"
)

// The work for each misfit must not depend on the size of the page.
//
//nolint:paralleltest // AllocsPerRun measures the whole process
func TestCodec_misfitsAreBounded(t *testing.T) {
	one := `{"id":"x","inner":{"n":"x"},"list":[{"n":"y"},{"n":"z"}]}`
	for _, n := range []int{10, 1000} {
		var page []record
		in := "[" + strings.Repeat(one+",", n-1) + one + "]"
		allocs := testing.AllocsPerRun(1, func() {
			page = nil
			if err := newTestCodec().Unmarshal([]byte(in), &page); err != nil {
				t.Fatal(err)
			}
		})
		if len(page) != n || string(page[n-1].List[1].Extra["n"]) != `"z"` {
			t.Fatalf("got %d records, the last is %+v; want %d", len(page), page[len(page)-1], n)
		}
		if got := allocs / float64(n); got > 1000 {
			t.Errorf("%d records: got %.0f allocations each, want at most 1000", n, got)
		}
	}
}

func TestCodec_maxMisfits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]error{maxMisfits: nil, maxMisfits + 1: errTooMany} {
		var page []record
		in := "[" + strings.Repeat(`{"name":5},`, n-1) + `{"name":5}]`
		if err := newTestCodec().Unmarshal([]byte(in), &page); !errors.Is(err, want) {
			t.Errorf("%d misfits: Unmarshal() error = %v, want %v", n, err, want)
		}
	}
}
