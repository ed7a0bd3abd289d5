package commerce_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const emptyList = `{"data":[],"links":{"next":null}}`

func TestList_request(t *testing.T) {
	t.Parallel()
	account := id("1a5e2b7c-0000-4000-8000-000000000001")
	tests := []struct {
		name  string
		opts  *commerce.SubscriptionListOptions
		raw   string
		query url.Values
	}{
		{"nil options", nil, "", url.Values{}},
		{"zero options", &commerce.SubscriptionListOptions{}, "", url.Values{}},
		{"concurrency is not for the service", &commerce.SubscriptionListOptions{Concurrency: 16}, "", url.Values{}},
		{"account", &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{AccountID: account}},
			"filter=eq%28account_id%2C%221a5e2b7c-0000-4000-8000-000000000001%22%29",
			url.Values{"filter": {`eq(account_id,"1a5e2b7c-0000-4000-8000-000000000001")`}}},
		{"e-mail with a plus", &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{Email: "ron+1@swanson.com"}},
			"filter=eq%28email%2C%22ron%2B1%40swanson.com%22%29",
			url.Values{"filter": {`eq(email,"ron+1@swanson.com")`}}},
		{"all filters", &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{AccountID: account, Name: "n", Email: "e", ExternalRef: "r"}},
			"filter=eq%28account_id%2C%221a5e2b7c-0000-4000-8000-000000000001%22%29%3Aeq%28name%2C%22n%22%29%3Aeq%28email%2C%22e%22%29%3Aeq%28external_ref%2C%22r%22%29",
			url.Values{"filter": {`eq(account_id,"1a5e2b7c-0000-4000-8000-000000000001"):eq(name,"n"):eq(email,"e"):eq(external_ref,"r")`}}},
		{"characters of the grammar", &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{Name: ` a"b\c,(d):'e'&f=g#h%20é`}},
			"filter=eq%28name%2C%22%20a%5C%22b%5C%5Cc%2C%28d%29%3A%27e%27%26f%3Dg%23h%2520%C3%A9%22%29",
			url.Values{"filter": {`eq(name," a\"b\\c,(d):'e'&f=g#h%20é")`}}},
		{"an injection", &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{Email: `x"):eq(name,"y`}},
			"filter=eq%28email%2C%22x%5C%22%29%3Aeq%28name%2C%5C%22y%22%29",
			url.Values{"filter": {`eq(email,"x\"):eq(name,\"y")`}}},
		{"plans", &commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{Plans: true}}, "include=plans", url.Values{"include": {"plans"}}},
		{"products", &commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{Products: true}}, "include=products", url.Values{"include": {"products"}}},
		{"plans and products", &commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{Plans: true, Products: true}},
			"include=plans%2Cproducts", url.Values{"include": {"plans,products"}}},
		{"the second generation's", &commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{Plans: true, PricingOptions: true}},
			"include=plans%2Cpricing_options", url.Values{"include": {"plans,pricing_options"}}},
		{"the highest of both", &commerce.SubscriptionListOptions{Offset: commerce.MaxOffset, PageSize: commerce.MaxPageSize},
			"page%5Blimit%5D=100&page%5Boffset%5D=10000", url.Values{"page[limit]": {"100"}, "page[offset]": {"10000"}}},
		{"everything", &commerce.SubscriptionListOptions{
			Filter: commerce.SubscriptionFilter{Name: "n"}, Include: commerce.SubscriptionInclude{Plans: true}, Offset: 7, PageSize: 1},
			"filter=eq%28name%2C%22n%22%29&include=plans&page%5Blimit%5D=1&page%5Boffset%5D=7",
			url.Values{"filter": {`eq(name,"n")`}, "include": {"plans"}, "page[limit]": {"1"}, "page[offset]": {"7"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, answer(200, emptyList))
			page, err := s.client(t).Subscriptions.List(bg, tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			if page.Subscriptions == nil || len(page.Subscriptions) != 0 || page.Response.StatusCode != 200 {
				t.Errorf("page %+v", page)
			}
			diff(t, "requests", s.got(t), []request{{
				Method: "GET", Path: "/v2/subscriptions/subscriptions", RawQuery: tt.raw,
				Header: http.Header{
					"Accept": {"application/json"}, "Authorization": {"Bearer " + token},
					"User-Agent": {"commerce-go/" + commerce.Version + " (" + runtime.Version() + ")"},
				},
			}})
			diff(t, "decoded query", mustQuery(t, s.got(t)[0].RawQuery), tt.query)
		})
	}
}

func TestList_validation(t *testing.T) {
	t.Parallel()
	opts := &commerce.SubscriptionListOptions{
		Filter: commerce.SubscriptionFilter{Name: "\xff", Email: "\xff", ExternalRef: strings.Repeat("x", 8<<10)},
		Offset: commerce.MaxOffset + 1, PageSize: 101, Concurrency: 17,
	}
	want := []commerce.FieldError{
		{Index: -1, Field: "filter.name", Message: "must be valid UTF-8"},
		{Index: -1, Field: "filter.email", Message: "must be valid UTF-8"},
		{Index: -1, Field: "filter", Message: "must not be longer than 8 KB, percent-encoded"},
		{Index: -1, Field: "offset", Message: "must be 0 to 10000"},
		{Index: -1, Field: "page size", Message: "must be 1 to 100, or 0 for the default"},
		{Index: -1, Field: "concurrency", Message: "must be 1 to 16, or 0 for the default"},
	}
	c := newStub(t).client(t)
	check := func(what string, err error) {
		t.Helper()
		var v *commerce.ValidationError
		if !errors.As(err, &v) {
			t.Fatalf("%s: error %v", what, err)
		}
		diff(t, what, v.Fields, want)
	}
	_, err := c.Subscriptions.List(bg, opts)
	check("List", err)
	_, err = commerce.Collect(c.Subscriptions.All(bg, opts))
	check("All", err)
	_, err = commerce.Collect(c.Subscriptions.Pages(bg, opts))
	check("Pages", err)
	for _, o := range []commerce.SubscriptionListOptions{{Offset: -1}, {PageSize: -1}, {Concurrency: -1}} {
		if _, err := c.Subscriptions.List(bg, &o); !errors.Is(err, commerce.ErrInvalidArgument) {
			t.Errorf("%+v: error %v", o, err)
		}
	}
}

func TestList_badAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
	}{
		{"empty", ""},
		{"HTML", "<html>"},
		{"null", "null"},
		{"an array", "[]"},
		{"no data", `{"links":{}}`},
		{"data null", `{"data":null}`},
		{"data an object", `{"data":{}}`},
		{"a record that is a number", `{"data":[5]}`},
		{"cut", `{"data":[{"id":"` + itemID + `"`},
		{"two values", emptyList + emptyList},
		{"data twice", `{"data":[],"data":[]}`},
		{"a name twice in a record", `{"data":[{"id":"` + itemID + `","id":"` + itemID + `"}]}`},
		{"Errors beside data", `{"data":[],"Errors":["Half of it is missing"]}`},
		{"errors beside data", `{"data":[],"errors":[{"title":"Half of it is missing"}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, answer(200, tt.body), answer(200, tt.body))
			page, err := s.client(t, commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 2, MinBackoff: 1, MaxBackoff: 1})).Subscriptions.List(bg, nil)
			var e *commerce.Error
			if page != nil || !errors.As(err, &e) || !errors.Is(err, commerce.ErrBadResponse) {
				t.Fatalf("page %v, error %v", page, err)
			}
			if e.StatusCode != 200 || e.Attempts != 2 || e.Outcome != commerce.OutcomeNone || e.Op != "Subscriptions.List" {
				t.Errorf("error %+v", *e)
			}
		})
	}
}

func TestList_isRepeated(t *testing.T) {
	t.Parallel()
	fault := func(*http.Request) (*http.Response, error) { return nil, errors.New("fault") }
	one := `{"data":[{"id":"` + itemID + `"}]}`
	tests := []struct {
		name       string
		responders []httpmock.Responder
		err        error
	}{
		{"after faults of every kind", []httpmock.Responder{fault, answer(429, "not JSON"), answer(503, ""), answer(200, one)}, nil},
		{"after a cut body", []httpmock.Responder{answer(200, one[:20]), answer(200, one)}, nil},
		{"four times at most", []httpmock.Responder{answer(500, ""), answer(502, ""), answer(504, ""), answer(408, "")}, nil},
		{"not after 400", []httpmock.Responder{answer(400, `{"errors":[{"title":"Bad Request"}]}`)}, commerce.ErrBadRequest},
		{"not after 404", []httpmock.Responder{answer(404, "")}, commerce.ErrNotFound},
		{"not after 501", []httpmock.Responder{answer(501, "")}, commerce.ErrServer},
		{"not after a redirect", []httpmock.Responder{answerWith(302, "", "Location", "https://elsewhere.example/?t="+token)}, commerce.ErrBadResponse},
		{"not after a switch of protocols", []httpmock.Responder{answer(101, "")}, commerce.ErrBadResponse},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, tt.responders...)
			page, err := s.client(t).Subscriptions.List(bg, nil)
			last := tt.name != "four times at most" && tt.err == nil
			if last != (err == nil) || tt.err != nil && !errors.Is(err, tt.err) {
				t.Errorf("error %v", err)
			}
			if last && (len(page.Subscriptions) != 1 || page.Response.Attempts != len(tt.responders)) {
				t.Errorf("page %+v", page)
			}
			if len(s.got(t)) != len(tt.responders) {
				t.Errorf("%d requests", len(s.got(t)))
			}
		})
	}
}

// listServer answers list requests from records, as the service does. untold
// leaves links out; clamp bounds the page size, and so does length, by request
// from 1 on. next, if it is set, is the next link of every page.
type listServer struct {
	ids      []string
	untold   bool
	next     string
	clamp    int
	length   func(request int) int
	requests []string
}

func (l *listServer) RoundTrip(req *http.Request) (*http.Response, error) {
	return httpmock.NewStringResponse(200, l.page(req)), nil
}

// page is the body of the answer.
func (l *listServer) page(req *http.Request) string {
	q := req.URL.Query()
	offset, limit := 0, 25
	_, _ = fmt.Sscan(q.Get("page[offset]"), &offset)
	_, _ = fmt.Sscan(q.Get("page[limit]"), &limit)
	l.requests = append(l.requests, fmt.Sprintf("%d+%d", offset, limit))
	if l.clamp > 0 {
		limit = min(limit, l.clamp)
	}
	if l.length != nil {
		limit = min(limit, l.length(len(l.requests)))
	}
	from := min(offset, len(l.ids))
	to := min(from+limit, len(l.ids))
	var b strings.Builder
	b.WriteString(`{"data":[`)
	for i, id := range l.ids[from:to] {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%q}`, id)
	}
	b.WriteString(`]`)
	if !l.untold {
		next := `null`
		if to < len(l.ids) {
			next = `"https://elsewhere.example/next"`
		}
		if l.next != "" {
			next = l.next
		}
		fmt.Fprintf(&b, `,"links":{"next":%s}`, next)
	}
	b.WriteString(`}`)
	return b.String()
}

func newListServer(n int) *listServer {
	l := &listServer{}
	for i := range n {
		l.ids = append(l.ids, nth(i).String())
	}
	return l
}

func (l *listServer) client(t *testing.T) *commerce.Client {
	t.Helper()
	c, err := commerce.New(base, commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: l}))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAll_quietList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name               string
		total, size, clamp int
		links, without     int // requests, with links and without
	}{
		{name: "no record", total: 0, links: 1, without: 1},
		{name: "one record", total: 1, links: 1, without: 2},
		{name: "a short page", total: 99, links: 1, without: 2},
		{name: "a full page always goes on", total: 100, links: 2, without: 3},
		{name: "two full pages", total: 199, links: 3, without: 4},
		{name: "three pages", total: 250, size: 100, links: 3, without: 4},
		{name: "short pages", total: 250, size: 7, links: 42, without: 43},
		{name: "read two at a time: the second of the last two is the end", total: 250, size: 1, links: 250, without: 251},
		{name: "pages of 25 at most", total: 60, size: 100, clamp: 25, links: 3, without: 5},
		{name: "the most that one walk can confirm without links", total: 10_000, links: 102, without: 103},
	} {
		for links, requests := range map[bool]int{true: tt.links, false: tt.without} {
			t.Run(fmt.Sprintf("%s, links %t", tt.name, links), func(t *testing.T) {
				t.Parallel()
				l := newListServer(tt.total)
				l.untold, l.clamp = !links, tt.clamp
				opts := &commerce.SubscriptionListOptions{PageSize: tt.size}
				subs, err := commerce.Collect(l.client(t).Subscriptions.All(bg, opts))
				if err != nil {
					t.Fatal(err)
				}
				var ids []string
				for _, s := range subs {
					ids = append(ids, s.ID.String())
				}
				diff(t, "ids", ids, l.ids)
				if len(l.requests) != requests {
					t.Errorf("got %d requests, want %d: %v", len(l.requests), requests, l.requests)
				}
			})
		}
	}
}

// All yields no included resources, and so asks for none; Pages does both. The options
// are not changed.
func TestAll_include(t *testing.T) {
	t.Parallel()
	opts := commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{Plans: true}}
	s := newStub(t, answer(200, emptyList), answer(200, emptyList))
	c := s.client(t)
	if _, err := commerce.Collect(c.Subscriptions.All(bg, &opts)); err != nil {
		t.Error(err)
	}
	if _, err := commerce.Collect(c.Subscriptions.Pages(bg, &opts)); err != nil {
		t.Error(err)
	}
	for i, want := range []string{"", "plans"} {
		if got := mustQuery(t, s.got(t)[i].RawQuery).Get("include"); got != want {
			t.Errorf("request %d: include %q, want %q", i, got, want)
		}
	}
	if !opts.Include.Plans {
		t.Error("the options were changed")
	}
}

// TestAll_shortPages walks a list of 1,000 records at stores that return short pages
// before its end, and no next of null.
func TestAll_shortPages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		server listServer
	}{
		{name: "length drops from 100 to 50", server: listServer{
			untold: true, length: func(request int) int { return 100 - 50*min(1, request/3) },
		}},
		{name: "one page of 99", server: listServer{
			untold: true, length: func(request int) int { return 100 - request%5/4 },
		}},
		{name: "next is an empty string", server: listServer{next: `""`, clamp: 25}},
		{name: "next is an empty object", server: listServer{next: `{}`, clamp: 25}},
		{name: "next has an empty href", server: listServer{next: `{"href":""}`, clamp: 25}},
		{name: "next has a href of null", server: listServer{next: `{"href":null}`, clamp: 25}},
		{name: "next has a title only", server: listServer{next: `{"title":"t"}`, clamp: 25}},
		{name: "next is a number", server: listServer{next: `5`, clamp: 25}},
		{name: "next is empty beside a link that is a number", server: listServer{next: `{},"last":5`, clamp: 25}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newListServer(1000)
			tt.server.ids = l.ids
			subs, err := commerce.Collect(tt.server.client(t).Subscriptions.All(bg, nil))
			if err != nil || len(subs) != 1000 {
				t.Errorf("got %d records, error %v, want 1000", len(subs), err)
			}
		})
	}
}

func TestAll_offsetLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		total, size int
		untold      bool
		seen        int
		limit       bool
	}{
		{name: "all but one of those in reach", total: 10_099, seen: 10_099},
		{name: "all in reach", total: 10_100, seen: 10_100, limit: true},
		{name: "one more", total: 10_101, seen: 10_100, limit: true},
		{name: "all but one by 30", total: 10_099, size: 30, seen: 10_099},
		{name: "many more by 30", total: 10_200, size: 30, seen: 10_100, limit: true},
		{name: "10,000 without links", total: 10_000, untold: true, seen: 10_000},
		{name: "one more without links", total: 10_001, untold: true, seen: 10_001},
		{name: "all but one without links", total: 10_099, untold: true, seen: 10_099, limit: true},
		{name: "all in reach without links", total: 10_100, untold: true, seen: 10_100, limit: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newListServer(tt.total)
			l.untold = tt.untold
			opts := &commerce.SubscriptionListOptions{PageSize: tt.size}
			subs, err := commerce.Collect(l.client(t).Subscriptions.All(bg, opts))
			if len(subs) != tt.seen || errors.Is(err, commerce.ErrOffsetLimit) != tt.limit || !tt.limit && err != nil {
				t.Fatalf("got %d records, error %v, want %d, offset limit %t", len(subs), err, tt.seen, tt.limit)
			}
			var p *commerce.PagingError
			if tt.limit && (!errors.As(err, &p) || p.Seen != tt.seen || p.Offset != tt.seen) {
				t.Errorf("got %+v, want Seen and Offset %d", p, tt.seen)
			}
			if err != nil && commerce.OutcomeOf(err) != commerce.OutcomeNone {
				t.Errorf("got outcome %v, want none", commerce.OutcomeOf(err))
			}
		})
	}
}

func TestAll_errorsEndTheWalk(t *testing.T) {
	t.Parallel()
	page := func(from, n int) httpmock.Responder {
		var ids []string
		for i := from; i < from+n; i++ {
			ids = append(ids, `{"id":"`+nth(i).String()+`"}`)
		}
		return answer(200, `{"data":[`+strings.Join(ids, ",")+`]}`)
	}
	tests := []struct {
		name       string
		responders []httpmock.Responder
		want       error
		seen       int
	}{
		{"an error of the service", []httpmock.Responder{page(0, 3), answer(403, "")}, commerce.ErrForbidden, 3},
		{"an id that is missing", []httpmock.Responder{page(0, 3), answer(200, `{"data":[{"id":"`+nth(2).String()+`"},{"type":"subscription"}]}`)}, commerce.ErrBadResponse, 3},
		{"an id that is no UUID", []httpmock.Responder{answer(200, `{"data":[{"id":"12"}]}`)}, commerce.ErrBadResponse, 0},
		{"the same full page again", []httpmock.Responder{page(0, 3), page(0, 3), page(0, 3)}, commerce.ErrNoProgress, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, tt.responders...)
			var last error
			var after, seen int
			for sub, err := range s.client(t).Subscriptions.All(bg, &commerce.SubscriptionListOptions{PageSize: 3}) {
				if last != nil {
					after++
				}
				if last = err; err == nil {
					seen++
				} else if sub != nil {
					t.Error("a record with an error")
				}
			}
			var p *commerce.PagingError
			if !errors.Is(last, tt.want) || !errors.As(last, &p) || p.Seen != tt.seen || p.Offset != tt.seen || seen != tt.seen || after != 0 {
				t.Errorf("%d records, %d after the error %v", seen, after, last)
			}
		})
	}
}

func TestAll_resumes(t *testing.T) {
	t.Parallel()
	l := newListServer(50)
	s := newStub(t, l.RoundTrip, l.RoundTrip, answer(403, ""), l.RoundTrip, l.RoundTrip, l.RoundTrip, l.RoundTrip)
	c := s.client(t)
	opts := &commerce.SubscriptionListOptions{PageSize: 11}
	first, err := commerce.Collect(c.Subscriptions.All(bg, opts))
	var p *commerce.PagingError
	if !errors.As(err, &p) || p.Offset != 21 || len(first) != 21 {
		t.Fatalf("%d records, error %v", len(first), err)
	}
	opts.Offset = p.Offset
	rest, err := commerce.Collect(c.Subscriptions.All(bg, opts))
	if err != nil || len(rest) != 29 || rest[0].ID != nth(21) {
		t.Errorf("%d records, error %v", len(rest), err)
	}
	if len(s.got(t)) != 6 {
		t.Errorf("%d requests", len(s.got(t)))
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	l := newListServer(5)
	seq := l.client(t).Subscriptions.Pages(bg, &commerce.SubscriptionListOptions{PageSize: 3})
	if len(l.requests) != 0 {
		t.Fatal("a request before the first range")
	}
	for range 2 { // ranging again starts anew
		l.requests = nil
		var offsets, sizes []int
		for page, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			offsets, sizes = append(offsets, page.Offset), append(sizes, len(page.Subscriptions))
			if page.Response.StatusCode != 200 || page.Links == nil {
				t.Errorf("page %+v", page)
			}
		}
		diff(t, "offsets", offsets, []int{0, 3})
		diff(t, "sizes", sizes, []int{3, 2})
		diff(t, "requests", l.requests, []string{"0+3", "2+3", "4+3"})
	}
	l.requests = nil
	for _, err := range seq {
		if err != nil {
			t.Error(err)
		}
		break
	}
	diff(t, "requests of a walk that was left", l.requests, []string{"0+3"})
}

func TestPages_optionsAreCopied(t *testing.T) {
	t.Parallel()
	l := newListServer(5)
	opts := &commerce.SubscriptionListOptions{PageSize: 3}
	seq := l.client(t).Subscriptions.Pages(bg, opts)
	opts.PageSize, opts.Offset = 2, 4
	pages, err := commerce.Collect(seq)
	if err != nil || len(pages) != 2 || pages[0].Offset != 0 {
		t.Errorf("%d pages, error %v", len(pages), err)
	}
	diff(t, "options", *opts, commerce.SubscriptionListOptions{PageSize: 2, Offset: 4})
}

func TestAll_contextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	l := newListServer(500)
	var n int
	var last error
	for _, err := range l.client(t).Subscriptions.All(ctx, nil) {
		if last = err; err == nil {
			if n++; n == 150 {
				cancel()
			}
		}
	}
	stop := &commerce.PagingError{}
	if !errors.Is(last, context.Canceled) || !errors.As(last, &stop) || n != 150 || stop.Seen != 150 || stop.Offset != 150 || len(l.requests) > 3 {
		t.Errorf("%d records, %d requests, error %v", n, len(l.requests), last)
	}
}

// TestAll_breaks ends walks at many records: by break, by a panic and by
// cancelling. Nothing is requested after that, and nothing is left under way.
func TestAll_breaks(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"break", "panic", "cancel"} {
		for _, concurrency := range []int{1, 4, 16} {
			for _, at := range []int{1, 2, 99, 100, 101, 199, 200, 201, 450, 500} {
				synctest.Test(t, func(t *testing.T) {
					s := newPageServer(500, 10*time.Millisecond)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					n, last := 0, error(nil)
					func() {
						defer func() { _ = recover() }()
						for _, err := range s.client(t).Subscriptions.All(ctx, &commerce.SubscriptionListOptions{Concurrency: concurrency}) {
							if last = err; err != nil {
								continue
							}
							if n++; n < at {
								continue
							}
							switch how {
							case "break":
								return
							case "panic":
								panic("enough")
							default:
								cancel()
							}
						}
					}()
					served, inFlight := s.served, s.inFlight
					time.Sleep(time.Hour)
					stop := &commerce.PagingError{}
					cancelled := errors.As(last, &stop) && errors.Is(last, context.Canceled) && stop.Seen == at && stop.Offset == at
					if n != at || inFlight != 0 || s.served != served || s.crowd > concurrency || cancelled != (how == "cancel" && at < 500) {
						t.Errorf("%s at record %d, concurrency %d: %d records, %d in flight, %d requests after, at most %d at a time, error %v",
							how, at, concurrency, n, inFlight, s.served-served, s.crowd, last)
					}
				})
			}
		}
	}
}

// TestPages_keepNothingOfTheBody walks over pages whose bodies are read into the
// same buffer: what was yielded before must not change. The first page is one that
// the cursor reads, and one that it leaves to the decoder.
func TestPages_keepNothingOfTheBody(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, unusual string }{
		{name: "ordinary"},
		{name: "with an address_id that is no UUID", unusual: `"address_id":"odd",`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newStub(t,
				answer(200, bodyOf("a", tt.unusual, `"/"`)), answer(200, bodyOf("b", tt.unusual, `"/"`)),
				answer(200, bodyOf("c", tt.unusual, "null")),
				answer(200, `{"data":[{"id":"`+itemID+`"}],"links":{"next":null}}`),
			).client(t)
			var before string
			var first *commerce.SubscriptionPage
			pages := 0
			for page, err := range c.Subscriptions.Pages(bg, &commerce.SubscriptionListOptions{PageSize: 2}) {
				if err != nil {
					t.Fatal(err)
				}
				if pages++; pages == 1 {
					first, before = page, contents(t, page)
				}
			}
			if n := strings.Count(before, strings.Repeat("a", 30)); pages != 3 || n < 30 {
				t.Fatalf("got %d pages, and %d values of the first, want 3 and 30 or more: %s", pages, n, before)
			}
			diff(t, "the first page", contents(t, first), before)
		})
	}
}

// bodyOf returns a page with two records, all of whose values are of one letter.
func bodyOf(letter, unusual, next string) string {
	s := strings.Repeat(letter, 30)
	one := func(id string) string {
		return `{"id":"` + id + `","type":"` + s + `","new":"` + s + `",
		 "attributes":{` + unusual + `"external_ref":"` + s + `","new":{"a":"` + s + `"},"payment_authority":"` + s + `"},
		 "meta":{"prices":"` + s + `"},"relationships":{"` + s + `":{"links":{"` + s + `":"` + s + `"}}}}`
	}
	return `{"data":[` + one(itemID) + `,` + one("00000000-0000-4000-8000-00000000000"+letter) + `],
	 "included":{"plans":[{"attributes":{"name":"` + s + `","new":"` + s + `"}}],"` + s + `":["` + s + `"]},
	 "links":{"next":` + next + `,"last":{"href":"` + s + `","new":"` + s + `"}},"new":"` + s + `"}`
}

// contents returns all that a page holds, and what prints as REDACTED too.
func contents(t *testing.T, page *commerce.SubscriptionPage) string {
	t.Helper()
	b, err := json.Marshal(page.Subscriptions)
	if err != nil {
		t.Errorf("encode what was kept: %v", err)
	}
	return fmt.Sprintf("%+v %s %s %s", page, b, page.Extra, page.Included.Extra)
}

// TestList_allocations guards what a call and a record cost, without a clock.
//
//nolint:paralleltest // AllocsPerRun counts those of other tests, too
func TestList_allocations(t *testing.T) {
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(commerce.MaxPageSize)
	store.AddSubscription(commerce.Subscription{ID: id(itemID)})
	for _, tt := range []struct {
		size int
		most float64 // a record, what the call costs included
	}{{1, 100}, {commerce.MaxPageSize, 20}} {
		opts := &commerce.SubscriptionListOptions{PageSize: tt.size, Include: commerce.SubscriptionInclude{Plans: true, Products: true}}
		var page []byte
		stub := roundTripper(func(req *http.Request) (*http.Response, error) {
			if page == nil {
				w := httptest.NewRecorder()
				store.ServeHTTP(w, req)
				page = w.Body.Bytes()
			}
			return &http.Response{StatusCode: http.StatusOK, ContentLength: int64(len(page)), Body: io.NopCloser(bytes.NewReader(page)), Request: req}, nil
		})
		c := store.Client(commerce.WithHTTPClient(&http.Client{Transport: stub}))
		allocs := testing.AllocsPerRun(20, func() {
			if p, err := c.Subscriptions.List(bg, opts); err != nil || len(p.Subscriptions) != tt.size {
				t.Fatal(err)
			}
		}) / float64(tt.size)
		t.Logf("%d records a page: %.1f allocations a record", tt.size, allocs)
		if allocs > tt.most {
			t.Errorf("more than %.0f", tt.most)
		}
	}
}

func TestSubscription_firstGeneration(t *testing.T) {
	t.Parallel()
	const body = `{"data":[{
	 "id":"3b4de20a-ccd0-44e6-894f-628e7afb3db0","type":"subscription",
	 "attributes":{"external_ref":"ref-1","account_id":"00000000-0000-4000-8000-00000000000a","address_id":"",
	  "offering":{"id":"00000000-0000-4000-8000-00000000000b","type":"subscription_offering",
	   "attributes":{"external_ref":null,"name":"Coffee","description":"Beans","updated_at":"2024-03-01T10:00:00.123Z","created_at":"2024-02-01T10:00:00.123456789Z"},
	   "relationships":{"plans":{"links":{"related":"/r","self":"/s"},"data":[{"type":"subscription_offering_plan","id":"00000000-0000-4000-8000-00000000000c"}]}},
	   "meta":{"external_product_refs":["a","b"],"owner":"store","timestamps":{"updated_at":"2024-03-01T10:00:00Z","created_at":"2024-02-01T10:00:00Z"}}},
	  "plan_id":"00000000-0000-4000-8000-00000000000c","currency":"USD",
	  "payment_authority":{"type":"stripe_payment_intents","customer_id":"cus","card_id":"card","new":1}},
	 "relationships":{"plans":{"links":{"related":{"href":"/r","title":"t","describedby":"d"},"self":null},"data":{"type":"subscription_offering_plan","id":"00000000-0000-4000-8000-00000000000c"}},
	  "products":{"links":{"self":"/p"}}},
	 "meta":{"owner":"store","status":"active","canceled":true,"paused":false,"pending":null,
	  "timestamps":{"updated_at":"2024-03-01T10:00:00+02:00","canceled_at":"2024-03-02T00:00:00.123456Z","go_live":null,"end_date":"","go_live_after":"soon"},
	  "state":{"id":"00000000-0000-4000-8000-00000000000d","type":"subscription_state","attributes":{"action":"cancel"},"meta":{"created_at":"2024-03-02T00:00:00Z"}},
	  "invoice_after":"2024-04-01T00:00:00Z"},
	 "new_member":{"kept":[1.0]}}],
	"included":{
	 "plans":[{"id":"00000000-0000-4000-8000-00000000000c","type":"subscription_offering_plan",
	  "attributes":{"name":"Monthly","billing_interval_type":"month","billing_frequency":1,"trial_period":0,"plan_length":12.0,"end_behavior":"close","can_pause":true,"base_price_percentage":87.5,
	   "fixed_price":{"USD":{"amount":100,"includes_tax":false}}},
	  "meta":{"price":{"USD":{"amount":12345678901234567890,"includes_tax":true}},"active_plan":null,"owner":"organization",
	   "display_price":{"without_tax":{"amount":100,"currency":"USD","formatted":"$1.00"},"with_tax":{"amount":119,"currency":"USD","formatted":"$1.19"}}}}],
	 "products":[{"id":"00000000-0000-4000-8000-00000000000e","type":"subscription_offering_product",
	  "attributes":{"name":"Bag","sku":"bag-1","main_image":"img","price":{"USD":{"amount":1.5e3,"includes_tax":true}},"price_units":{"unit":"month","amount":1}},
	  "meta":{"owner":"store","timestamps":{"created_at":"2024-02-01T10:00:00Z"}}}],
	 "other":[]},
	"links":{"first":"https://another.example/x?page%5Blimit%5D=25&page%5Boffset%5D=0","last":null,"next":null,"prev":null}}`
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	usd := func(n int64, formatted string) commerce.Money {
		return commerce.Money{Amount: commerce.NewDecimal(n), Currency: "USD", Formatted: formatted}
	}
	planRef := commerce.ResourceRef{Type: "subscription_offering_plan", ID: id("00000000-0000-4000-8000-00000000000c")}
	wantSub := commerce.Subscription{
		ID: id("3b4de20a-ccd0-44e6-894f-628e7afb3db0"), Type: "subscription",
		Attributes: commerce.SubscriptionAttributes{
			ExternalRef: "ref-1", AccountID: id("00000000-0000-4000-8000-00000000000a"),
			Offering: commerce.Offering{
				ID: id("00000000-0000-4000-8000-00000000000b"), Type: "subscription_offering",
				Attributes: commerce.OfferingAttributes{Name: "Coffee", Description: "Beans",
					UpdatedAt: at("2024-03-01T10:00:00.123Z"), CreatedAt: at("2024-02-01T10:00:00.123456789Z")},
				Relationships: commerce.Relationships{{Name: "plans", Relationship: commerce.Relationship{
					Links: links("related", commerce.Link{Href: "/r"}, "self", commerce.Link{Href: "/s"}),
					Data:  commerce.RelationshipData{Refs: []commerce.ResourceRef{planRef}, Many: true}}}},
				Meta: commerce.OfferingMeta{ExternalProductRefs: []string{"a", "b"}, Owner: "store",
					Timestamps: commerce.Timestamps{UpdatedAt: at("2024-03-01T10:00:00Z"), CreatedAt: at("2024-02-01T10:00:00Z")}},
			},
			PlanID: planRef.ID, Currency: "USD",
			PaymentAuthority: commerce.PaymentAuthority{Type: "stripe_payment_intents", CustomerID: "cus", CardID: "card", Extra: commerce.Extra{"new": json.RawMessage("1")}},
		},
		Relationships: commerce.Relationships{
			{Name: "plans", Relationship: commerce.Relationship{
				Links: links("related", commerce.Link{Href: "/r", Title: "t", DescribedBy: "d"}, "self", commerce.Link{}),
				Data:  commerce.RelationshipData{Refs: []commerce.ResourceRef{planRef}}}},
			{Name: "products", Relationship: commerce.Relationship{Links: links("self", commerce.Link{Href: "/p"})}},
		},
		Meta: commerce.SubscriptionMeta{
			Owner: "store", Status: "active", Canceled: true,
			Timestamps: commerce.Timestamps{UpdatedAt: at("2024-03-01T10:00:00+02:00"), CanceledAt: at("2024-03-02T00:00:00.123456Z"),
				Extra: commerce.Extra{"go_live_after": json.RawMessage(`"soon"`)}},
			State: commerce.SubscriptionState{ID: id("00000000-0000-4000-8000-00000000000d"), Type: "subscription_state",
				Attributes: commerce.SubscriptionStateAttributes{Action: "cancel"}, Meta: commerce.SubscriptionStateMeta{CreatedAt: at("2024-03-02T00:00:00Z")}},
			InvoiceAfter: at("2024-04-01T00:00:00Z"),
		},
		Extra: commerce.Extra{"new_member": json.RawMessage(`{"kept":[1.0]}`)},
	}
	wantIncluded := commerce.Included{
		Plans: []commerce.Plan{{
			ID: planRef.ID, Type: "subscription_offering_plan",
			Attributes: commerce.PlanAttributes{Name: "Monthly", Billing: commerce.Billing{
				BillingIntervalType: "month", BillingFrequency: commerce.NewDecimal(1), PlanLength: commerce.NewDecimal(12), EndBehavior: "close",
				CanPause: true, BasePricePercentage: decimal(t, "87.5"), FixedPrice: commerce.Prices{"USD": {Amount: commerce.NewDecimal(100)}},
			}},
			Meta: commerce.PlanMeta{Price: commerce.Prices{"USD": {Amount: decimal(t, "12345678901234567890"), IncludesTax: true}}, Owner: "organization",
				DisplayPrice: commerce.DisplayPrice{WithoutTax: usd(100, "$1.00"), WithTax: usd(119, "$1.19")}},
		}},
		Products: []commerce.Product{{
			ID: id("00000000-0000-4000-8000-00000000000e"), Type: "subscription_offering_product",
			Attributes: commerce.ProductAttributes{Name: "Bag", SKU: "bag-1", MainImage: "img",
				Price:      commerce.Prices{"USD": {Amount: commerce.NewDecimal(1500), IncludesTax: true}},
				PriceUnits: commerce.PriceUnits{Unit: "month", Amount: commerce.NewDecimal(1)}},
			Meta: commerce.ProductMeta{Owner: "store", Timestamps: commerce.Timestamps{CreatedAt: at("2024-02-01T10:00:00Z")}},
		}},
		Extra: commerce.Extra{"other": json.RawMessage(`[]`)},
	}
	page, err := newStub(t, answer(200, body)).client(t).Subscriptions.List(bg, nil)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "subscriptions", page.Subscriptions, []commerce.Subscription{wantSub})
	diff(t, "included", page.Included, wantIncluded)
	diff(t, "links", page.Links, links(
		"first", commerce.Link{Href: "https://another.example/x?page%5Blimit%5D=25&page%5Boffset%5D=0"}, "last", commerce.Link{}, "next", commerce.Link{}, "prev", commerce.Link{}))

	plan, ok := page.Included.Plan(planRef.ID)
	if !ok || plan != &page.Included.Plans[0] {
		t.Errorf("Plan: %v, %v", plan, ok)
	}
	if _, ok := page.Included.Product(planRef.ID); ok {
		t.Error("Product found a plan")
	}
	if _, ok := page.Included.PricingOption(planRef.ID); ok {
		t.Error("PricingOption found a plan")
	}
	// Each record goes through the caller's encoding/json and back.
	encoded := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	roundTrip(t, encoded(page.Subscriptions[0]), wantSub)
	roundTrip(t, encoded(page.Included.Plans[0]), wantIncluded.Plans[0])
	roundTrip(t, encoded(page.Included.Products[0]), wantIncluded.Products[0])
	if got := encoded(page.Subscriptions); !strings.Contains(got, `"new_member":{"kept":[1.0]}`) || !strings.Contains(got, `"self":null`) {
		t.Errorf("a list of records lost something: %s", got)
	}
}

func TestSubscription_secondGeneration(t *testing.T) {
	t.Parallel()
	const (
		option = "00000000-0000-4000-8000-0000000000a1"
		plan   = "00000000-0000-4000-8000-0000000000a2"
		body   = `{"data":[{"id":"3b4de20a-ccd0-44e6-894f-628e7afb3db0","type":"subscription",
		 "attributes":{"plan_id":"` + plan + `","pricing_option_id":"` + option + `","offering":{"meta":{"external_plan_refs":["p"]}}},
		 "meta":{"first_invoice_prepaid":true}}],
		"included":{
		 "plans":[{"id":"` + plan + `","attributes":{"name":"Bag","sku":"bag-1","main_image":"img","price":{"USD":{"amount":5,"includes_tax":true}},"price_units":{"unit":"day","amount":2},
		   "feature_configurations":{"f":{"type":"usage","default_value":5}}},
		  "meta":{"prices":{"` + option + `":{"price":{"USD":{"amount":7,"includes_tax":false}},"display_price":{"tax":{"amount":1,"currency":"USD"}}}},"active_plan":true}}],
		 "pricing_options":[{"id":"` + option + `","type":"subscription_offering_pricing_option",
		  "attributes":{"name":"Monthly","billing_interval_type":"week","billing_frequency":2,
		   "lead_time":{"type":"week","time":3},"can_cancel":true},
		  "meta":{"prices":{"` + plan + `":{"USD":{"amount":7,"includes_tax":false}}},"price":{"USD":{"amount":8,"includes_tax":false}},"active_pricing_option":true}}]}}`
	)
	page, err := newStub(t, answer(200, body)).client(t).Subscriptions.List(bg, nil)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "subscriptions", page.Subscriptions, []commerce.Subscription{{
		ID: id("3b4de20a-ccd0-44e6-894f-628e7afb3db0"), Type: "subscription",
		Attributes: commerce.SubscriptionAttributes{PlanID: id(plan), PricingOptionID: id(option), Offering: commerce.Offering{Meta: commerce.OfferingMeta{ExternalPlanRefs: []string{"p"}}}},
		Meta:       commerce.SubscriptionMeta{FirstInvoicePrepaid: new(true)},
	}})
	want := commerce.Included{
		Plans: []commerce.Plan{{ID: id(plan), Attributes: commerce.PlanAttributes{Name: "Bag", SKU: "bag-1", MainImage: "img",
			Price: commerce.Prices{"USD": {Amount: commerce.NewDecimal(5), IncludesTax: true}}, PriceUnits: commerce.PriceUnits{Unit: "day", Amount: commerce.NewDecimal(2)},
			FeatureConfigurations: map[string]commerce.FeatureConfiguration{
				"f": {Type: "usage", DefaultValue: new(commerce.NewDecimal(5))},
			}},
			Meta: commerce.PlanMeta{ActivePlan: true, Prices: map[string]commerce.OptionPrice{option: {
				Price:        commerce.Prices{"USD": {Amount: commerce.NewDecimal(7)}},
				DisplayPrice: commerce.DisplayPrice{Tax: commerce.Money{Amount: commerce.NewDecimal(1), Currency: "USD"}}}}}}},
		PricingOptions: []commerce.PricingOption{{ID: id(option), Type: "subscription_offering_pricing_option",
			Attributes: commerce.PricingOptionAttributes{Name: "Monthly",
				LeadTime: commerce.LeadTime{Type: "week", Time: commerce.NewDecimal(3)},
				Billing:  commerce.Billing{BillingIntervalType: "week", BillingFrequency: commerce.NewDecimal(2), CanCancel: true}},
			Meta: commerce.PricingOptionMeta{ActivePricingOption: true, Price: commerce.Prices{"USD": {Amount: commerce.NewDecimal(8)}},
				// Another nesting than expected is kept, not lost.
				Prices: map[string]commerce.OptionPrice{plan: {Extra: commerce.Extra{"USD": json.RawMessage(`{"amount":7,"includes_tax":false}`)}}}}}},
	}
	diff(t, "included", page.Included, want)
	if o, ok := page.Included.PricingOption(id(option)); !ok || o.Attributes.Name != "Monthly" {
		t.Errorf("PricingOption: %v, %v", o, ok)
	}
	for _, v := range []any{want.Plans[0], want.PricingOptions[0], page.Subscriptions[0]} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		switch v := v.(type) {
		case commerce.Plan:
			roundTrip(t, string(b), v)
		case commerce.PricingOption:
			roundTrip(t, string(b), v)
		case commerce.Subscription:
			roundTrip(t, string(b), v)
		}
	}
}

func TestList_unknownMembers(t *testing.T) {
	t.Parallel()
	page, err := newStub(t, answer(200, `{"data":[],"errors":[],"meta":{"results":{"total":0}}}`)).client(t).Subscriptions.List(bg, nil)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "extra", page.Extra, commerce.Extra{"meta": json.RawMessage(`{"results":{"total":0}}`)})
}

func TestIncluded_zero(t *testing.T) {
	t.Parallel()
	zero := commerce.Included{Plans: make([]commerce.Plan, 1)}
	if _, ok := zero.Plan(commerce.Plan{}.ID); ok {
		t.Error("the zero id found a plan")
	}
}

// TestList_oddValues decodes one odd value at a time in the place of each
// member: none may cost the page, and none may be lost.
func TestList_oddValues(t *testing.T) {
	t.Parallel()
	const good = `"id":"3b4de20a-ccd0-44e6-894f-628e7afb3db0"`
	for _, member := range []string{
		`"attributes":{"plan_id":%s}`,
		`"type":%s`, `"attributes":%s`, `"attributes":{"account_id":%s}`, `"attributes":{"offering":{"attributes":{"created_at":%s}}}`,
		`"attributes":{"offering":{"meta":{"external_product_refs":%s}}}`, `"attributes":{"payment_authority":%s}`,
		`"relationships":%s`, `"relationships":{"plans":%s}`, `"relationships":{"plans":{"data":%s}}`, `"relationships":{"plans":{"links":%s}}`,
		`"relationships":{"plans":{"links":{"self":%s}}}`, `"meta":%s`, `"meta":{"timestamps":%s}`, `"meta":{"canceled":%s}`, `"meta":{"state":{"meta":%s}}`,
		`"meta":{"first_invoice_prepaid":%s}`, `"meta":{"last_refund_amount":%s}`, `"meta":{"price_update_history":%s}`,
		`"meta":{"pending_price_change":%s}`, `"meta":{"pending_price_change":{"plan_prices":%s}}`,
		`"meta":{"pending_price_change":{"pricing_option_prices":{"o":{"base_price_percentage":%s}}}}`,
	} {
		for _, value := range []string{`5`, `-1.5e3`, `"odd"`, `""`, `null`, `true`, `[]`, `[5,"odd"]`, `{"odd":5}`, `"\ud800"`, strings.Repeat("9", 20_000)} {
			record := "{" + good + "," + fmt.Sprintf(member, value) + "}"
			t.Run(record[:min(100, len(record))], func(t *testing.T) {
				t.Parallel()
				page, err := newStub(t, answer(200, `{"data":[`+record+`]}`)).client(t).Subscriptions.List(bg, nil)
				if err != nil {
					t.Fatal(err)
				}
				if len(page.Subscriptions) != 1 || page.Subscriptions[0].ID.String() != itemID {
					t.Fatalf("page %+v", page)
				}
				b, err := json.Marshal(page.Subscriptions[0])
				if err != nil {
					t.Fatal(err)
				}
				if value == `"\ud800"` { // half a character comes back as U+FFFD
					return
				}
				roundTrip(t, string(b), page.Subscriptions[0])
				if kept := strings.Trim(value, `"`); strings.Contains(value, "odd") && !strings.Contains(string(b), strings.Trim(kept, "[]{}")) {
					t.Errorf("lost: %s", b)
				}
			})
		}
	}
}
