package commerce_test

import (
	"bytes"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"

	"github.com/commerce-go/commerce"
)

// accountServer responds to the list of accounts as the service does.
type accountServer struct {
	ids      []uuid.UUID // sorted
	noLinks  bool
	requests []string // with their query, decoded
}

// newAccountServer returns one with n accounts.
func newAccountServer(n int) *accountServer { return &accountServer{ids: sortedIDs(n)} }

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

func (s *accountServer) RoundTrip(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	text, err := url.QueryUnescape(req.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	s.requests = append(s.requests, req.Method+" "+req.URL.Path+" "+text)
	limit, err := strconv.Atoi(query.Get("page[limit]"))
	if err != nil {
		return nil, err
	}
	after := strings.TrimSuffix(strings.TrimPrefix(query.Get("filter"), "gt(id,"), ")")
	from := slices.IndexFunc(s.ids, func(id uuid.UUID) bool { return id.String() > after })
	if from < 0 {
		from = len(s.ids)
	}
	to := min(from+limit, len(s.ids))
	links := `,"links":{"next":null}`
	switch {
	case s.noLinks:
		links = ""
	case to < len(s.ids):
		links = `,"links":{"next":"https://elsewhere.example/next"}`
	}
	return httpmock.NewStringResponse(http.StatusOK, accountPage(links, s.ids[from:to]...)), nil
}

// accountPage returns a page of accounts, with other members after its data.
func accountPage(members string, ids ...uuid.UUID) string {
	records := make([]string, len(ids))
	for i, id := range ids {
		records[i] = `{"type":"account","id":"` + id.String() + `","name":"n","external_ref":null}`
	}
	return `{"data":[` + strings.Join(records, ",") + `]` + members + `}`
}

func TestIDs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                   string
		total                  int
		requests, withoutLinks int
	}{
		{name: "no account", total: 0, requests: 1, withoutLinks: 1},
		{name: "one account", total: 1, requests: 1, withoutLinks: 2},
		{name: "a short page", total: 99, requests: 1, withoutLinks: 2},
		{name: "a full page is never the last", total: 100, requests: 2, withoutLinks: 2},
		{name: "two pages", total: 101, requests: 2, withoutLinks: 3},
		{name: "more than any offset reaches", total: 10_250, requests: 103, withoutLinks: 104},
	} {
		for noLinks, requests := range map[bool]int{false: tt.requests, true: tt.withoutLinks} {
			s := newAccountServer(tt.total)
			s.noLinks = noLinks
			got, err := commerce.Collect(newClient(t, s).Accounts.IDs(t.Context(), uuid.Nil))
			if err != nil || !slices.Equal(got, s.ids) || len(s.requests) != requests {
				t.Errorf("%s, no links %t: got %d ids, %d requests, error %v, want %d, %d",
					tt.name, noLinks, len(got), len(s.requests), err, tt.total, requests)
			}
		}
	}
}

func TestIDs_request(t *testing.T) {
	t.Parallel()
	s := newAccountServer(101)
	c := newClient(t, s)
	all, some := c.Accounts.IDs(t.Context(), uuid.Nil), c.Accounts.IDs(t.Context(), s.ids[97])
	diff(t, "requests before the loop", len(s.requests), 0)
	for _, tt := range []struct {
		walk iter.Seq2[uuid.UUID, error]
		want []uuid.UUID
	}{
		{walk: all, want: s.ids},
		{walk: some, want: s.ids[98:]},
		{walk: some, want: s.ids[98:]}, // each loop is a new walk
		{walk: c.Accounts.IDs(t.Context(), s.ids[100])},
	} {
		got, err := commerce.Collect(tt.walk)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "ids", got, tt.want)
	}
	page := func(filter string) string { return "GET /v2/accounts " + filter + "page[limit]=100&sort=id" }
	after := func(i int) string { return page("filter=gt(id," + s.ids[i].String() + ")&") }
	diff(t, "requests", s.requests, []string{page(""), after(99), after(97), after(97), after(100)})
}

func TestIDs_errors(t *testing.T) {
	t.Parallel()
	ids := sortedIDs(6)
	three := respond(200, accountPage("", ids[:3]...))
	for _, tt := range []struct {
		name       string
		responders responders
		want       error
		seen       int
	}{
		{
			name: "not sorted", want: commerce.ErrListDrift,
			responders: responders{respond(200, accountPage("", ids[1], ids[0]))},
		},
		{
			name: "an id twice", want: commerce.ErrListDrift,
			responders: responders{respond(200, accountPage("", ids[1], ids[1]))},
		},
		{name: "the filter is ignored", want: commerce.ErrListDrift, seen: 3, responders: responders{three, three}},
		{
			name: "the next page begins too early", want: commerce.ErrListDrift, seen: 3,
			responders: responders{three, respond(200, accountPage("", ids[2:]...))},
		},
		{
			name: "no record, but a next page", want: commerce.ErrNoProgress, seen: 3,
			responders: responders{three, respond(200, accountPage(`,"links":{"next":"/"}`))},
		},
		{name: "forbidden, as for shoppers", want: commerce.ErrForbidden, responders: responders{respond(403, "")}},
		{name: "an error later", want: commerce.ErrUnauthorized, seen: 3, responders: responders{three, respond(401, "")}},
		{
			name: "server down", want: commerce.ErrServer, seen: 3,
			responders: append(responders{three}, slices.Repeat(responders{respond(503, "")}, 4)...),
		},
		{
			name: "an error that passes", seen: 4,
			responders: responders{three, respond(503, ""), respond(200, accountPage(`,"links":{"next":null}`, ids[3]))},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, tt.responders...)
			got, err := commerce.Collect(s.client(t).Accounts.IDs(t.Context(), uuid.Nil))
			diff(t, "ids", got, append([]uuid.UUID(nil), ids[:tt.seen]...))
			diff(t, "requests", len(s.sent()), len(tt.responders))
			if tt.want == nil {
				diff(t, "error", err, nil)
				return
			}
			last := uuid.Nil
			if tt.seen > 0 {
				last = ids[tt.seen-1]
			}
			checkStop(t, err, commerce.PagingError{Seen: tt.seen, Finished: last, Err: tt.want})
		})
	}
}

// The error of a walk that began after an account says that it is finished.
func TestIDs_resume(t *testing.T) {
	t.Parallel()
	s := newAccountServer(250)
	stub := newStub(t, s.RoundTrip, respond(403, ""), respond(403, ""), s.RoundTrip, s.RoundTrip)
	c := stub.client(t)
	all, err := commerce.Collect(c.Accounts.IDs(t.Context(), uuid.Nil))
	for seen := 100; ; seen = 0 {
		stop, ok := errors.AsType[*commerce.PagingError](err)
		if !ok {
			break
		}
		checkStop(t, err, commerce.PagingError{Seen: seen, Finished: s.ids[99], Err: commerce.ErrForbidden})
		var more []uuid.UUID
		more, err = commerce.Collect(c.Accounts.IDs(t.Context(), stop.Finished))
		all = append(all, more...)
	}
	diff(t, "ids", all, s.ids)
}

func TestIDs_badResponses(t *testing.T) {
	t.Parallel()
	id := `{"id":"` + itemID + `"}`
	for name, body := range badLists(id, map[string]string{
		"record is null":    `{"data":[` + id + `,null]}`,
		"no id":             `{"data":[` + id + `,{}]}`,
		"id is no UUID":     `{"data":[{"id":"1"}]}`,
		"id is a number":    `{"data":[{"id":1}]}`,
		"id is zero":        `{"data":[{"id":"` + uuid.Nil.String() + `"}]}`,
		"very many records": `{"data":[` + elements(2_000_000, `{}`) + `]}`,
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, respond(200, body), respond(200, body))
			got, err := commerce.Collect(s.client(t, attempts(2)).Accounts.IDs(t.Context(), uuid.Nil))
			if len(got) > 0 {
				t.Errorf("got ids %v, want none", got)
			}
			checkStop(t, err, commerce.PagingError{Err: commerce.ErrBadResponse})
			checkError(t, err, commerce.Error{
				Op: "Accounts.IDs", StatusCode: 200, Outcome: commerce.OutcomeNone, Attempts: 2,
			})
		})
	}
}

// Odd values that the walk does not need lose no account, and empty errors are none.
func TestIDs_oddValues(t *testing.T) {
	t.Parallel()
	body := `{"data":[{"id":"` + strings.ToUpper(itemID) + `","type":5,"name":null,"x":{"id":1}}],"errors":[],"meta":7,
		"links":{"next":null}}`
	got, err := commerce.Collect(newStub(t, respond(200, body)).client(t).Accounts.IDs(t.Context(), uuid.Nil))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "ids", got, []uuid.UUID{uuid.MustParse(itemID)})
}
