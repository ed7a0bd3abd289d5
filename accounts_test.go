package commerce_test

import (
	"bytes"
	"iter"
	"slices"
	"strings"
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

// accountPage returns a page of accounts, with other members after its data. The accounts have odd
// values that a walk does not need.
func accountPage(members string, ids ...uuid.UUID) string {
	records := make([]string, len(ids))
	for i, id := range ids {
		records[i] = `{"type":5,"id":"` + strings.ToUpper(id.String()) + `","name":null,"x":{"id":1}}`
	}
	return `{"data":[` + strings.Join(records, ",") + `]` + members + `}`
}

// Each loop is a new walk. TestKeys of internal/paging has lists of other lengths.
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

// Finished is where another walk resumes, also if a walk ends before its first id.
func TestIDs_errors(t *testing.T) {
	t.Parallel()
	ids := sortedIDs(6)
	three := respond(200, accountPage("", ids[:3]...))
	for _, tt := range []struct {
		name       string
		responders responders
		after      uuid.UUID
		want       error
		seen       int
		finished   uuid.UUID
	}{
		{
			name: "not sorted", want: commerce.ErrListDrift,
			responders: responders{respond(200, accountPage("", ids[1], ids[0]))},
		},
		{
			name: "an error at once", after: ids[1], responders: responders{respond(403, "")},
			want: commerce.ErrForbidden, finished: ids[1],
		},
		{
			name: "an error later", responders: responders{three, respond(401, "")},
			want: commerce.ErrUnauthorized, seen: 3, finished: ids[2],
		},
		{
			name: "an error that passes", seen: 4,
			responders: responders{
				three, respond(503, ""), respond(200, accountPage(`,"errors":[],"meta":7,"links":{"next":null}`, ids[3])),
			},
		},
	} {
		s := newStub(t, tt.responders...)
		got, err := commerce.Collect(s.client(t).Accounts.IDs(t.Context(), tt.after))
		diff(t, tt.name+": ids", got, append([]uuid.UUID(nil), ids[:tt.seen]...))
		diff(t, tt.name+": requests", len(s.sent()), len(tt.responders))
		if tt.want == nil {
			diff(t, tt.name+": error", err, nil)
		} else {
			checkStop(t, err, commerce.PagingError{Seen: tt.seen, Finished: tt.finished, Err: tt.want})
		}
	}
}
