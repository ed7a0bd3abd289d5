package commerce_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func TestGet(t *testing.T) {
	t.Parallel()
	id := numberedID(1)
	sub := `{"id":"` + strings.ToUpper(id.String()) + `","type":"subscription","later":1}`
	s := newStub(t, respond(503, ""), respond(200, `{"data":`+sub+`,"errors":[],"links":{},
		"included":{"plans":[{"id":"`+itemID+`"}]}}`, "X-Request-Id", "r-1"))
	include := commerce.SubscriptionInclude{Plans: true, PricingOptions: true}
	got, err := s.client(t).Subscriptions.Get(t.Context(), id, include)
	if err != nil {
		t.Fatal(err)
	}
	sent := s.sent()[1]
	diff(t, "path", sent.Method+" "+sent.Path, "GET /v2/subscriptions/subscriptions/"+id.String())
	diff(t, "query", parseQuery(t, sent.RawQuery), url.Values{"include": {"plans,pricing_options"}})
	diff(t, "response", []any{got.Response.Attempts, got.Response.RequestID}, []any{2, "r-1"})
	got.Response = nil
	diff(t, "result", *got, commerce.SubscriptionResult{
		Subscription: commerce.Subscription{ID: id, Type: "subscription", Extra: commerce.Extra{"later": []byte(`1`)}},
		Included:     commerce.Included{Plans: []commerce.Plan{{ID: uuid.MustParse(itemID)}}},
		Extra:        commerce.Extra{"links": []byte(`{}`)},
	})
	_, err = s.client(t).Subscriptions.Get(t.Context(), uuid.Nil, include)
	diff(t, "invalid fields", invalidFields(err), []string{"subscription id"})
}

// What Get returns is what List returns for the same subscription.
func TestGet_eachGeneration(t *testing.T) {
	t.Parallel()
	commercetest.EachGeneration(t, commercetest.Config{}, func(t *testing.T, s *commercetest.Store) {
		s.Seed(1)
		isSecond := s.Config().Generation == commercetest.SecondGeneration
		include := commerce.SubscriptionInclude{Plans: true, Products: !isSecond, PricingOptions: isSecond}
		c := s.Client()
		page, err := c.Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{Include: include})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Subscriptions.Get(t.Context(), page.Subscriptions[0].ID, include)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "subscription", got.Subscription, page.Subscriptions[0])
		diff(t, "included", got.Included, page.Included)
	})
}

func TestList_request(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		opts *commerce.SubscriptionListOptions
		want url.Values
	}{
		{name: "nil options", want: url.Values{}},
		{name: "zero options", opts: &commerce.SubscriptionListOptions{}, want: url.Values{}},
		{
			name: "include", want: url.Values{"include": {"plans,products,pricing_options"}},
			opts: &commerce.SubscriptionListOptions{
				Include: commerce.SubscriptionInclude{Plans: true, Products: true, PricingOptions: true},
			},
		},
		{
			name: "page", opts: &commerce.SubscriptionListOptions{Offset: 10_000, PageSize: 100, Concurrency: 16},
			want: url.Values{"page[limit]": {"100"}, "page[offset]": {"10000"}},
		},
	} {
		s := newStub(t, respond(200, emptyList))
		page, err := s.client(t).Subscriptions.List(t.Context(), tt.opts)
		if err != nil || page.Subscriptions == nil || len(page.Subscriptions) != 0 {
			t.Errorf("%s: got page %+v, error %v, want one without subscriptions", tt.name, page, err)
		}
		raw := s.sent()[0].RawQuery
		diff(t, "request: "+tt.name, s.sent(), []request{{
			Method: "GET", Path: "/v2/subscriptions/subscriptions", RawQuery: raw,
			Header: http.Header{
				"Accept": {"application/json"}, "Authorization": {"Bearer " + token},
				"User-Agent": {"commerce-go/" + commerce.Version + " (" + runtime.Version() + ")"},
			},
		}})
		diff(t, "query: "+tt.name, parseQuery(t, raw), tt.want)
		if strings.Contains(raw, "+") {
			t.Errorf("%s: query %s has a space as +, want %%20", tt.name, raw)
		}
	}
}

func TestList_validation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		opts commerce.SubscriptionListOptions
		want []string // fields
	}{
		{
			name: "all at once",
			opts: commerce.SubscriptionListOptions{
				Filter: commerce.SubscriptionFilter{Names: []string{}},
				Offset: commerce.MaxOffset + 1, PageSize: 101, Concurrency: 17,
			},
			want: []string{"filter.name", "offset", "page size", "concurrency"},
		},
		{
			name: "negative numbers", opts: commerce.SubscriptionListOptions{Offset: -1, PageSize: -1, Concurrency: -1},
			want: []string{"offset", "page size", "concurrency"},
		},
		{
			name: "all at their limits",
			opts: commerce.SubscriptionListOptions{
				Offset: commerce.MaxOffset, PageSize: commerce.MaxPageSize, Concurrency: commerce.MaxConcurrency,
			},
		},
	} {
		c := newClient(t, roundTripper(respond(200, emptyList)))
		_, listErr := c.Subscriptions.List(t.Context(), &tt.opts)
		_, allErr := commerce.Collect(c.Subscriptions.All(t.Context(), &tt.opts))
		_, pagesErr := commerce.Collect(c.Subscriptions.Pages(t.Context(), &tt.opts))
		for _, err := range []error{listErr, allErr, pagesErr} {
			diff(t, "invalid fields: "+tt.name, invalidFields(err), tt.want)
		}
	}
}

func TestList_unknownMembers(t *testing.T) {
	t.Parallel()
	c := newStub(t, respond(200, `{"data":[],"errors":[],"meta":{"results":{"total":0}}}`)).client(t)
	page, err := c.Subscriptions.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "extra", page.Extra, commerce.Extra{"meta": json.RawMessage(`{"results":{"total":0}}`)})
}

// One odd value at a time takes the place of a member. None may cost the page, and none
// may be lost.
func TestList_oddValues(t *testing.T) {
	t.Parallel()
	for _, member := range []string{
		`"type":%s`, `"attributes":%s`, `"attributes":{"plan_id":%s}`, `"attributes":{"account_id":%s}`,
		`"attributes":{"offering":{"attributes":{"created_at":%s}}}`, `"attributes":{"payment_authority":%s}`,
		`"attributes":{"offering":{"meta":{"external_product_refs":%s}}}`, `"relationships":%s`,
		`"relationships":{"plans":%s}`, `"relationships":{"plans":{"data":%s}}`, `"relationships":{"plans":{"links":%s}}`,
		`"relationships":{"plans":{"links":{"self":%s}}}`, `"meta":%s`, `"meta":{"timestamps":%s}`,
		`"meta":{"canceled":%s}`, `"meta":{"state":{"meta":%s}}`, `"meta":{"first_invoice_prepaid":%s}`,
		`"meta":{"last_refund_amount":%s}`, `"meta":{"price_update_history":%s}`, `"meta":{"pending_price_change":%s}`,
		`"meta":{"pending_price_change":{"plan_prices":%s}}`,
		`"meta":{"pending_price_change":{"pricing_option_prices":{"o":{"base_price_percentage":%s}}}}`,
	} {
		for _, value := range []string{
			`5`, `-1.5e3`, strings.Repeat("9", 20_000), `"odd"`, `""`, `"\ud800"`, `null`, `true`,
			`[]`, `[5,"odd"]`, `{"odd":5}`, `"2026-01-02T03:04:05.1234567891Z"`,
		} {
			record := `{"id":"` + itemID + `",` + fmt.Sprintf(member, value) + `}`
			t.Run(record[:min(100, len(record))], func(t *testing.T) {
				t.Parallel()
				page, err := newStub(t, respond(200, `{"data":[`+record+`]}`)).client(t).Subscriptions.List(t.Context(), nil)
				if err != nil || len(page.Subscriptions) != 1 || page.Subscriptions[0].ID.String() != itemID {
					t.Fatalf("got page %+v, error %v, want the subscription", page, err)
				}
				text := encode(t, page.Subscriptions[0])
				if value == `"\ud800"` { // half a character becomes U+FFFD
					return
				}
				checkRoundTrip(t, text, page.Subscriptions[0])
				if strings.ContainsAny(value, "oT") && !strings.Contains(text, strings.Trim(value, `"[]{}`)) {
					t.Errorf("the odd value is lost: %s", text)
				}
			})
		}
	}
}

// listServer responds to List as the service does.
type listServer struct {
	ids       []string
	noLinks   bool
	next      string // link of every page; "": null on the last page
	pageLimit int    // maximum length of a page; 0: as requested

	mu       sync.Mutex
	requests []string // as "offset+limit"
}

func newListServer(n int) *listServer {
	l := &listServer{}
	for i := range n {
		l.ids = append(l.ids, numberedID(i).String())
	}
	return l
}

func (l *listServer) RoundTrip(req *http.Request) (*http.Response, error) {
	if list := baseURL + "/v2/subscriptions/"; !strings.HasPrefix(req.URL.String(), list) {
		return nil, errors.New("a link was followed")
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return httpmock.NewStringResponse(200, l.page(req)), nil
}

func (l *listServer) page(req *http.Request) string {
	q := req.URL.Query()
	offset, limit := 0, 25
	_, _ = fmt.Sscan(q.Get("page[offset]"), &offset)
	_, _ = fmt.Sscan(q.Get("page[limit]"), &limit)
	l.requests = append(l.requests, fmt.Sprintf("%d+%d", offset, limit))
	if l.pageLimit > 0 {
		limit = min(limit, l.pageLimit)
	}
	from := min(offset, len(l.ids))
	to := min(from+limit, len(l.ids))
	next := l.next
	switch {
	case next == "" && to < len(l.ids):
		next = `"https://elsewhere.example/next"`
	case next == "":
		next = `null`
	}
	var records []string
	for _, id := range l.ids[from:to] {
		records = append(records, `{"id":"`+id+`"}`)
	}
	body := `{"data":[` + strings.Join(records, ",") + `]`
	if !l.noLinks {
		body += `,"links":{"next":` + next + `}`
	}
	return body + `}`
}

// Stores return short pages before the end of the list, and no next of null. If each page states
// that there is a next one, nothing shows the end.
func TestAll_shortPages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		server  *listServer
		wantErr error // after all records
	}{
		{name: "no links", server: &listServer{noLinks: true, pageLimit: 25}},
		{name: "next is an empty string", server: &listServer{next: `""`, pageLimit: 25}},
		{name: "next has an empty href", server: &listServer{next: `{"href":""}`, pageLimit: 25}},
		{name: "next is a number", server: &listServer{next: `5`, pageLimit: 25}},
		{name: "next is another host", server: &listServer{next: `{"href":"//evil.example/"}`, pageLimit: 25},
			wantErr: commerce.ErrNoProgress},
		{name: "next is no address", server: &listServer{next: `"%zz\r\nHost: evil.example"`, pageLimit: 25},
			wantErr: commerce.ErrNoProgress},
		{name: "next is empty, another link a number", server: &listServer{next: `{},"last":5`, pageLimit: 25}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.server.ids = newListServer(1000).ids
			subs, err := commerce.Collect(newClient(t, tt.server).Subscriptions.All(t.Context(), nil))
			if !errors.Is(err, tt.wantErr) || len(subs) != 1000 {
				t.Errorf("got %d records, error %v, want 1000, %v", len(subs), err, tt.wantErr)
			}
		})
	}
}

// With a filter on accounts, or an Offset, a walk cannot go on by account. TestWalk_offsetLimit of
// internal/paging has the other cases.
func TestAll_offsetLimit(t *testing.T) {
	t.Parallel()
	ofAccount := commerce.SubscriptionFilter{AccountIDs: []uuid.UUID{numberedID(1)}}
	for _, tt := range []struct {
		name    string
		total   int
		noLinks bool
		opts    commerce.SubscriptionListOptions
		seen    int // before ErrOffsetLimit; 0: no error
	}{
		{name: "one fewer than within reach", total: 10_099},
		{name: "all within reach", total: 10_100, opts: commerce.SubscriptionListOptions{Filter: ofAccount}},
		{name: "more", total: 10_101, seen: 10_100, opts: commerce.SubscriptionListOptions{Filter: ofAccount}},
		{
			name: "several accounts", total: 10_200, seen: 10_100, opts: commerce.SubscriptionListOptions{
				Filter: commerce.SubscriptionFilter{AccountIDs: []uuid.UUID{numberedID(1), numberedID(2)}},
			},
		},
		{name: "an offset", total: 10_200, opts: commerce.SubscriptionListOptions{Offset: 1}, seen: 10_099},
		{
			name: "more, without links", total: 10_200, noLinks: true,
			opts: commerce.SubscriptionListOptions{Filter: ofAccount}, seen: 10_100,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newListServer(tt.total)
			l.noLinks = tt.noLinks
			subs, err := commerce.Collect(newClient(t, l).Subscriptions.All(t.Context(), &tt.opts))
			diff(t, "first request", l.requests[0], fmt.Sprintf("%d+100", tt.opts.Offset))
			if tt.seen == 0 {
				diff(t, "error", err, nil)
				diff(t, "number of records", len(subs), tt.total)
				return
			}
			checkStop(t, err, commerce.PagingError{Seen: tt.seen, Offset: 10_100, Err: commerce.ErrOffsetLimit})
		})
	}
}

// All yields no included resources, so it does not ask for them. Options and their lists are
// copied, and not changed.
func TestAll_options(t *testing.T) {
	t.Parallel()
	empty, accounts := respond(200, emptyList), listing([]uuid.UUID{numberedID(0), numberedID(4)}).RoundTrip
	s := newStub(t, empty, empty, accounts, empty, empty, accounts, empty, empty)
	subscriptions, ctx := s.client(t).Subscriptions, t.Context()
	ids, texts := []uuid.UUID{numberedID(1), numberedID(2)}, []string{"a", "b"}
	opts := commerce.SubscriptionListOptions{
		PageSize: 7, Include: commerce.SubscriptionInclude{Plans: true},
		Filter: commerce.SubscriptionFilter{AccountIDs: ids, Names: texts, Emails: texts, ExternalRefs: texts},
	}
	byAccount, skip := opts, []uuid.UUID{numberedID(0)}
	byAccount.Filter.AccountIDs, byAccount.ByAccount, byAccount.Skip = nil, true, skip
	all, pages := subscriptions.All(ctx, &opts), subscriptions.Pages(ctx, &opts)
	allOf, pagesOf := subscriptions.All(ctx, &byAccount), subscriptions.Pages(ctx, &byAccount)
	if !opts.Include.Plans || !byAccount.Include.Plans {
		t.Error("the options were changed")
	}
	ids[0], skip[0], texts[0] = numberedID(3), numberedID(3), "c"
	opts, byAccount = commerce.SubscriptionListOptions{}, opts
	_, err1 := commerce.Collect(all)
	_, err2 := commerce.Collect(pages)
	_, err3 := commerce.Collect(allOf)
	_, err4 := commerce.Collect(pagesOf)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	of := "in(account_id," + numberedID(1).String() + "," + numberedID(2).String() + ")"
	one := `eq(account_id,"` + numberedID(4).String() + `")`
	for i, include := range []string{"", "plans", "", "plans"} {
		query := parseQuery(t, s.sent()[[]int{0, 1, 3, 6}[i]].RawQuery) // the others are for accounts, or for all
		diff(t, "include and limit", query.Get("include")+" "+query.Get("page[limit]"), include+" 7")
		diff(t, "filter", query.Get("filter"), []string{of, one}[i/2]+":in(name,a,b):in(email,a,b):in(external_ref,a,b)")
	}
}

// A walk whose context ends yields no further record, not even one that it has read already.
// TestReadAhead_break of internal/paging ends walks at other places, and in other ways.
func TestAll_ends(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 16} {
		for _, at := range []int{1, 99, 100, 101, 450} {
			opts := &commerce.SubscriptionListOptions{Concurrency: concurrency}
			got, last := stopAt(t, at, func(ctx context.Context) iter.Seq2[*commerce.Subscription, error] {
				return newClient(t, newListServer(500)).Subscriptions.All(ctx, opts)
			})
			diff(t, "number of records", len(got), at)
			checkStop(t, last, commerce.PagingError{Seen: at, Offset: at, Err: context.Canceled})
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	l := newListServer(5)
	seq := newClient(t, l).Subscriptions.Pages(t.Context(), &commerce.SubscriptionListOptions{PageSize: 3})
	if len(l.requests) != 0 {
		t.Error("a request before the sequence is ranged over")
	}
	for range 2 { // ranging again starts another walk
		l.requests = nil
		var offsets, sizes []int
		for page, err := range seq {
			if err != nil || page.Response.StatusCode != 200 || page.Links == nil {
				t.Fatalf("got page %+v, error %v", page, err)
			}
			offsets, sizes = append(offsets, page.Offset), append(sizes, len(page.Subscriptions))
		}
		diff(t, "offsets", offsets, []int{0, 3})
		diff(t, "sizes", sizes, []int{3, 2})
		diff(t, "requests", l.requests, []string{"0+3", "2+3", "4+3"})
	}
}

// A list is accepted exactly if it is a JSON object with an array of objects that have ids, or
// null, as data: other odd values cannot lose a page. Whatever the reader accepts, it reads like
// the decoder.
func FuzzListBody(f *testing.F) {
	for _, generation := range []string{"first", "second"} {
		page, err := os.ReadFile("testdata/payload/" + generation + "_generation.json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(page)
	}
	const id = `"id":"` + itemID + `"`
	const record = `{` + id + `}`
	for _, page := range []string{
		`{}`, `null`, `[]`, `n`, `"\ud8`, `{"":`, `{"data":null}`, `{"data":[]}`, `{"data":[5]}`, `{"data":[{}],"data":[]}`,
		` { "data" : [ ` + record + ` , ` + record + ` ] , "links" : { "next" : null } } `,
		`{"data":[{"id":1,"id":2}]}`, `{"data":[],"errors":[]}`,
		`{"data":[{}]}`, `{"data":[` + record + `,{"id":null}]}`,
		`{"data":[{` + id + `,"type":"\u0061\\","meta":{"canceled":null,"timestamps":{"created_at":"soon"}},"Extra":1}]}`,
		`{"data":[{` + id + `,"relationships":{"r":{"data":[{"id":"` + itemID + `"}],"links":{"self":{"href":"/"}}}}}]}`,
		`{"data":[],"included":{"plans":[{"attributes":{"plan_length":1.50,"fixed_price":{"USD":{"amount":"12"}}},` +
			`"meta":{"display_price":{"with_tax":5}}}]}}`,
		"{\"data\":[{" + id + ",\"type\":\"\xff\",\"\xff\":{\"a\":[1e9,{}]}}]}", `{"data":[],"links":[],"included":false}`,
		"{\"data\":[],\"links\":[],\"\\\\\\\\K\\\\dd\xcbe\":false}", "{\"data\":[{" + id + ",\"p\xe5\xe5lan\":1}]}",
	} {
		f.Add([]byte(page))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) > 50_000 {
			return // may have more values than a response may have
		}
		err := list(t.Context(), newStub(t, respond(200, string(body))).client(t, attempts(1)))
		if want := isList(t, body); (err == nil) != want {
			t.Fatalf("error = %v, want accepted %t: %q", err, want, body)
		}
		compareWays(t, body)
	})
}

// isList reports whether a body is a list, by other JSON decoders.
func isList(t *testing.T, body []byte) bool {
	t.Helper()
	if !jsontext.Value(body).IsValid(jsontext.AllowInvalidUTF8(true)) {
		return false
	}
	var members map[string]json.RawMessage
	var data []map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || json.Unmarshal(members["data"], &data) != nil {
		return false
	}
	for name := range members {
		if strings.EqualFold(name, "errors") {
			t.Skip("depends on what the errors say")
		}
	}
	return !slices.ContainsFunc(data, func(record map[string]json.RawMessage) bool {
		var id string
		_ = json.Unmarshal(record["id"], &id)
		parsed, err := uuid.Parse(id)
		return err != nil || parsed == uuid.Nil || len(id) != len(itemID) // other forms are no ids
	})
}
