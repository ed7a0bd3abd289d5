package commerce_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

func TestCollect(t *testing.T) {
	t.Parallel()
	got, err := commerce.Collect(func(yield func(int, error) bool) {
		if yield(0, nil) && yield(-1, io.EOF) {
			yield(1, nil) // Collect must not go on after an error
		}
	})
	diff(t, "values", got, []int{0})
	if !errors.Is(err, io.EOF) {
		t.Errorf("error = %v, want %v", err, io.EOF)
	}
}

// invoice is a record of a list that the library has no method for.
type invoice struct {
	ID     string `json:"id"`
	Number int    `json:"number"`
}

// invoices is that list.
func invoices() commerce.OffsetList[invoice] {
	return commerce.OffsetList[invoice]{
		Path: []string{"v2", "subscriptions", "invoices"},
		ID:   func(i *invoice) string { return i.ID },
	}
}

func TestWalk_request(t *testing.T) {
	t.Parallel()
	s := newStub(t, respond(503, ""), respond(200, `{"data":[{"id":"a","number":1},{"id":"b","number":2}],
		"links":{"next":null},"errors":[],"meta":5}`))
	list := invoices()
	list.Query = url.Values{"filter": {"eq(a,b)"}, "sort": {"id", "x y"}}
	walk := commerce.Walk(t.Context(), s.client(t), list)
	diff(t, "requests before the loop", len(s.sent()), 0)
	diff(t, "query of the caller", list.Query, url.Values{"filter": {"eq(a,b)"}, "sort": {"id", "x y"}})
	list.Query.Set("filter", "changed")
	list.Path[2] = "changed"
	got, err := commerce.Collect(walk)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "records", got, []*invoice{{ID: "a", Number: 1}, {ID: "b", Number: 2}})
	sent := s.sent()[1]
	diff(t, "path", sent.Method+" "+sent.Path, "GET /v2/subscriptions/invoices")
	diff(t, "query", parseQuery(t, sent.RawQuery), url.Values{
		"filter": {"eq(a,b)"}, "sort": {"id", "x y"}, "page[offset]": {"0"}, "page[limit]": {"100"},
	})
}

// An ID that is the same for two records of a page would make the walk miss one.
func TestWalk_sameID(t *testing.T) {
	t.Parallel()
	page := respond(200, `{"data":[{"id":"a","number":1},{"id":"a","number":2}],"links":{"next":null}}`)
	got, err := commerce.Collect(commerce.Walk(t.Context(), newStub(t, page, page).client(t), invoices()))
	checkStop(t, err, commerce.PagingError{Err: commerce.ErrBadResponse})
	if len(got) > 0 || !strings.Contains(err.Error(), "OffsetList.ID") {
		t.Errorf("got %d records, error %v, want none, and a hint", len(got), err)
	}
	page = respond(200, `{"data":[`+elements(2, record)+`],"links":{"next":null}}`)
	_, err = commerce.Collect(newStub(t, page, page).client(t).Subscriptions.All(t.Context(), nil))
	checkStop(t, err, commerce.PagingError{Err: commerce.ErrBadResponse})
	account := respond(200, `{"data":[{"id":"`+numberedID(1).String()+`"}],"links":{"next":null}}`)
	_, err = commerce.Collect(newStub(t, account, page, page).client(t).Subscriptions.All(t.Context(), byAccount()))
	checkStop(t, err, commerce.PagingError{Err: commerce.ErrBadResponse, Account: numberedID(1)})
}

func TestWalk_pages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		total    int
		list     commerce.OffsetList[invoice]
		want     []string // requests
		seen     int
		err      error
		atOffset int // of err
	}{
		{name: "no record", want: []string{"0+100"}},
		{name: "three pages", total: 250, want: []string{"0+100", "99+100", "198+100"}, seen: 250},
		{
			name: "small pages", total: 5, list: commerce.OffsetList[invoice]{PageSize: 3}, seen: 5,
			want: []string{"0+3", "2+3", "4+3"},
		},
		{name: "resumed", total: 250, list: commerce.OffsetList[invoice]{Offset: 200}, want: []string{"200+100"}, seen: 50},
		{
			name: "a limit of its own", total: 10, list: commerce.OffsetList[invoice]{PageSize: 4, MaxOffset: 3}, seen: 10,
			want: []string{"0+4", "3+100"},
		},
		{
			name: "beyond a limit of its own", total: 250, list: commerce.OffsetList[invoice]{MaxOffset: 50}, seen: 150,
			want: []string{"0+100", "50+100"}, err: commerce.ErrOffsetLimit, atOffset: 150,
		},
	} {
		for _, concurrency := range []int{0, 8} {
			l := newListServer(tt.total)
			list := invoices()
			list.PageSize, list.Offset, list.MaxOffset = tt.list.PageSize, tt.list.Offset, tt.list.MaxOffset
			list.Concurrency = concurrency
			got, err := commerce.Collect(commerce.Walk(t.Context(), newClient(t, l), list))
			var ids []string
			for _, i := range got {
				ids = append(ids, i.ID)
			}
			diff(t, tt.name, ids, append([]string(nil), l.ids[list.Offset:list.Offset+tt.seen]...))
			if tt.err == nil {
				diff(t, tt.name+": error", err, nil)
			} else {
				checkStop(t, err, commerce.PagingError{Offset: tt.atOffset, Seen: tt.seen, Err: tt.err})
			}
			if concurrency == 0 {
				diff(t, tt.name+": requests", l.requests, tt.want)
			}
		}
	}
}

func TestWalk_validation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*commerce.OffsetList[invoice])
		want   []string // fields
	}{
		{
			name: "the zero value", want: []string{"path", "id"},
			change: func(l *commerce.OffsetList[invoice]) { *l = commerce.OffsetList[invoice]{} },
		},
		{
			name: "path", want: []string{"path"},
			change: func(l *commerce.OffsetList[invoice]) { l.Path = []string{"v2", "a/b"} },
		},
		{
			name: "offset in the query", want: []string{"query"},
			change: func(l *commerce.OffsetList[invoice]) { l.Query = url.Values{"page[offset]": {"0"}} },
		},
		{
			name: "limit in the query", want: []string{"query"},
			change: func(l *commerce.OffsetList[invoice]) { l.Query = url.Values{"page[limit]": nil} },
		},
		{
			name: "negative numbers", want: []string{"maximum offset", "offset", "page size", "concurrency"},
			change: func(l *commerce.OffsetList[invoice]) {
				l.Offset, l.MaxOffset, l.PageSize, l.Concurrency = -1, -1, -1, -1
			},
		},
		{
			name: "numbers too high", want: []string{"offset", "page size", "concurrency"},
			change: func(l *commerce.OffsetList[invoice]) { l.Offset, l.PageSize, l.Concurrency = 10_001, 101, 17 },
		},
		{
			name: "offset above a maximum of its own", want: []string{"offset"},
			change: func(l *commerce.OffsetList[invoice]) { l.Offset, l.MaxOffset = 21, 20 },
		},
		{
			name: "all at their limits",
			change: func(l *commerce.OffsetList[invoice]) {
				l.Offset, l.MaxOffset, l.PageSize, l.Concurrency = 20_000, 20_000, 100, 16
			},
		},
	} {
		r := &recorder{respond: respond(200, emptyList)}
		list := invoices()
		tt.change(&list)
		_, err := commerce.Collect(commerce.Walk(t.Context(), newClient(t, r), list))
		if diff(t, "invalid fields: "+tt.name, invalidFields(err), tt.want); tt.want == nil {
			diff(t, "error: "+tt.name, err, nil)
		} else {
			r.checkRefused(t, err, "")
		}
	}
}

const record = `{"id":"` + itemID + `"}`

// notLists are bodies that are no lists of records, by name.
var notLists = map[string]string{
	"empty":              ``,
	"HTML":               `<html>`,
	"null":               `null`,
	"array":              `[]`,
	"no data":            `{"links":{}}`,
	"data an object":     `{"data":` + record + `}`,
	"data twice":         `{"data":[],"data":[` + record + `]}`,
	"two values":         emptyList + emptyList,
	"record is a number": `{"data":[` + record + `,5]}`,
	"truncated":          `{"data":[` + record,
	"errors beside data": `{"data":[` + record + `],"errors":[{"title":"Half of it is missing"}]}`,
	"Errors beside data": `{"data":[],"Errors":["Half of it is missing"]}`,
	"1,001 records":      `{"data":[` + elements(1_001, record) + `]}`,
	"very many records":  `{"data":[` + elements(200_000, `{}`) + `]}`,
}

var readsOfLists = []struct {
	op     string
	call   func(context.Context, *commerce.Client) error
	others map[string]string
}{
	{
		op: "Subscriptions.List", call: list,
		others: map[string]string{"a name twice": `{"data":[{"id":"` + itemID + `","id":"` + itemID + `"}]}`},
	},
	{
		op: "Accounts.IDs",
		call: func(ctx context.Context, c *commerce.Client) error {
			_, err := commerce.Collect(c.Accounts.IDs(ctx, uuid.Nil))
			return err
		},
		others: map[string]string{
			"record is null": `{"data":[` + record + `,null]}`,
			"no id":          `{"data":[` + record + `,{}]}`,
			"id is no UUID":  `{"data":[{"id":"1"}]}`,
			"id is a number": `{"data":[{"id":1}]}`,
			"id is zero":     `{"data":[{"id":"` + uuid.Nil.String() + `"}]}`,
		},
	},
	{
		op: "Subscriptions.Get",
		call: func(ctx context.Context, c *commerce.Client) error {
			_, err := c.Subscriptions.Get(ctx, numberedID(1), commerce.SubscriptionInclude{})
			return err
		},
		others: map[string]string{
			"array of one":     `{"data":[` + numbered(1, "") + `]}`,
			"data null":        `{"data":null}`,
			"no id":            `{"data":{}}`,
			"errors beside it": `{"data":` + numbered(1, "") + `,"errors":[{"title":"Half of it is missing"}]}`,
			"too many resources": `{"data":` + numbered(1, "") + `,"included":{"plans":[` + elements(5_001, `{}`) + `],` +
				`"products":[` + elements(5_000, `{}`) + `]}}`,
		},
	},
	{
		op: "Walk",
		call: func(ctx context.Context, c *commerce.Client) error {
			_, err := commerce.Collect(commerce.Walk(ctx, c, invoices()))
			return err
		},
		others: map[string]string{
			"record is null":   `{"data":[` + record + `,null]}`,
			"no id":            `{"data":[` + record + `,{"number":1}]}`,
			"empty id":         `{"data":[{"id":""}]}`,
			"a misfit":         `{"data":[{"id":"a","number":"one"}]}`,
			"very many values": `{"data":[{"id":"a","x":[` + elements(200_000, `5`) + `]}]}`,
		},
	},
}

func TestLists_badResponses(t *testing.T) {
	t.Parallel()
	for _, tt := range readsOfLists {
		bodies := maps.Clone(notLists)
		maps.Copy(bodies, tt.others)
		for name, body := range bodies {
			t.Run(tt.op+" "+name, func(t *testing.T) {
				t.Parallel()
				err := tt.call(t.Context(), newStub(t, respond(200, body), respond(200, body)).client(t, attempts(2)))
				checkError(t, err, commerce.Error{Op: tt.op, StatusCode: 200, Outcome: commerce.OutcomeNone, Attempts: 2})
				if !errors.Is(err, commerce.ErrBadResponse) {
					t.Errorf("error = %v, want ErrBadResponse", err)
				}
			})
		}
	}
}

// nullableLists are the lists of responses. Each call reads one that is empty.
var nullableLists = []struct {
	name     string
	member   string // of the list
	optional bool   // the response may lack the list
	body     string // %s is the list, or nothing
	before   responders
	call     func(context.Context, *commerce.Client) error
}{
	{name: "List", call: list},
	{name: "Accounts.IDs", call: errorOf("Accounts.IDs")},
	{name: "Walk", call: errorOf("Walk")},
	{name: "All", call: errorOf("Subscriptions.All")},
	{
		name: "items of a cart", call: ensureOnEmpty,
		before: responders{respond(200, `{"data":{"id":"0a8d0b6c-cart"},"included":{"custom_discounts":[]}}`)},
	},
	{
		name: "included items", member: "items", optional: true,
		body: `{"data":{"id":"0a8d0b6c-cart"},"included":{%s"x":5}}`, call: getCart,
	},
	{
		name: "included discounts", member: "custom_discounts", optional: true,
		body: `{"data":{"id":"0a8d0b6c-cart"},"included":{%s"x":5}}`, call: getCart,
	},
}

// errorOf returns a call for its error.
func errorOf(name string) func(context.Context, *commerce.Client) error {
	return func(ctx context.Context, c *commerce.Client) error {
		_, err := calls.Named(name).Do(ctx, c, calls.NewArgs())
		return err
	}
}

func getCart(ctx context.Context, c *commerce.Client) error {
	_, err := c.Carts.Get(ctx, cartID)
	return err
}

// ensureOnEmpty returns no error if the cart was read as an empty one.
func ensureOnEmpty(ctx context.Context, c *commerce.Client) error {
	_, err := c.Carts.EnsureCustomDiscounts(ctx, cartID, discounts("a"), nil)
	if errors.Is(err, commerce.ErrEmptyCart) {
		return nil
	}
	return err
}

// The service sends null for empty lists. A list that is absent is another matter.
func TestLists_null(t *testing.T) {
	t.Parallel()
	for _, tt := range nullableLists {
		for value, isList := range map[string]bool{
			"null": true, "[]": true, " [ ] ": true, "": tt.optional,
			"{}": false, `"text"`: false, "0": false, "false": false, "[5]": false, "[[]]": false,
		} {
			list, body := "", cmp.Or(tt.body, `{%s"links":{"next":null}}`)
			if value != "" {
				list = `"` + cmp.Or(tt.member, "data") + `":` + value + `,`
			}
			s := newStub(t, append(slices.Clone(tt.before), respond(200, fmt.Sprintf(body, list)))...)
			err := tt.call(t.Context(), s.client(t, attempts(1)))
			if isList && err != nil || !isList && !errors.Is(err, commerce.ErrBadResponse) {
				t.Errorf("%s: %q: got error %v, want none: %t, otherwise ErrBadResponse", tt.name, value, err, isList)
			}
		}
	}
}

// stopAt ranges over a walk, and cancels its context at a record. It returns what was yielded.
func stopAt[T any](t *testing.T, at int, walk func(context.Context) iter.Seq2[T, error]) (got []T, last error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for record, err := range walk(ctx) {
		if last = err; err == nil {
			got = append(got, record)
		}
		if len(got) == at {
			cancel()
		}
	}
	return got, last
}

// After a cancel, nothing is yielded. After a break, nothing is requested.
func TestWalk_ends(t *testing.T) {
	t.Parallel()
	l := newListServer(250)
	list := invoices()
	list.Offset = 100
	got, err := stopAt(t, 120, func(ctx context.Context) iter.Seq2[*invoice, error] {
		return commerce.Walk(ctx, newClient(t, l), list)
	})
	diff(t, "number of records", len(got), 120)
	checkStop(t, err, commerce.PagingError{Offset: 220, Seen: 120, Err: context.Canceled})
	left := newStub(t, l.RoundTrip, l.RoundTrip) // the next page may be read ahead
	for _, err := range commerce.Walk(t.Context(), left.client(t), invoices()) {
		if err != nil {
			t.Error(err)
		}
		break // in the first page of three
	}
	if n := len(left.sent()); n > 2 {
		t.Errorf("%d requests of a loop that is left, want at most 2", n)
	}
}

func TestPagingError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  *commerce.PagingError
		want string
	}{
		{
			err:  &commerce.PagingError{Offset: 12, Seen: 10, Err: io.EOF},
			want: "commerce: walk stopped at offset 12 after 10 records: EOF",
		},
		{
			err:  &commerce.PagingError{Seen: 3, Finished: numberedID(1), Account: numberedID(2), Err: io.EOF},
			want: "commerce: walk stopped after 3 records: EOF",
		},
	} {
		diff(t, "text", tt.err.Error(), tt.want)
		diff(t, "formatted", fmt.Sprint(tt.err), tt.want)
		if !errors.Is(tt.err, io.EOF) {
			t.Errorf("error %v does not unwrap to its cause", tt.err)
		}
	}
}
