package commerce_test

import (
	"bytes"
	"iter"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// sortedIDs returns n ids in increasing order.
func sortedIDs(n int) []uuid.UUID {
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = numberedID(i)
	}
	slices.SortFunc(ids, compareIDs)
	return ids
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// Each loop is a new walk. TestKeys of internal/paging has other lists, and errors.
func TestIDs(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, make([]int, 101)...)
	c := s.Client()
	all, some := c.Accounts.IDs(t.Context(), uuid.Nil), c.Accounts.IDs(t.Context(), s.accounts[97])
	diff(t, "requests before the loop", len(s.Requests()), 0)
	for _, tt := range []struct {
		walk iter.Seq2[uuid.UUID, error]
		want []uuid.UUID
	}{
		{walk: all, want: s.accounts},
		{walk: some, want: s.accounts[98:]},
		{walk: some, want: s.accounts[98:]},
		{walk: c.Accounts.IDs(t.Context(), s.accounts[100])},
	} {
		got, err := commerce.Collect(tt.walk)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "ids", got, tt.want)
	}
	var got []string
	for _, r := range s.Requests() {
		got = append(got, r.Method+" "+r.Path+" "+parseQuery(t, r.RawQuery).Encode())
	}
	page := func(filter string) string { return "GET /v2/accounts " + filter + "page%5Blimit%5D=100&sort=id" }
	after := func(i int) string { return page("filter=gt%28id%2C" + s.accounts[i].String() + "%29&") }
	diff(t, "requests", got, []string{page(""), after(99), after(97), after(97), after(100)})
}
