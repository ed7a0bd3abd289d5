package commerce_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/bits"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// accountStore is a store whose accounts have these numbers of subscriptions.
type accountStore struct {
	*commercetest.Store
	accounts      []uuid.UUID // sorted
	subscriptions map[uuid.UUID][]uuid.UUID
}

func newAccountStore(t *testing.T, sizes ...int) *accountStore {
	t.Helper()
	s := &accountStore{
		Store:    commercetest.New(t, commercetest.Config{}),
		accounts: sortedIDs(len(sizes)), subscriptions: map[uuid.UUID][]uuid.UUID{},
	}
	for i, size := range sizes {
		account := s.accounts[i]
		s.AddAccount(account)
		for n := range size {
			sub := commerce.Subscription{ID: uuid.NewSHA1(account, []byte{byte(n >> 8), byte(n)})}
			sub.Attributes.AccountID = account
			s.AddSubscription(sub)
			s.subscriptions[account] = append(s.subscriptions[account], sub.ID)
		}
	}
	return s
}

// of returns the ids of the subscriptions of accounts, sorted.
func (s *accountStore) of(accounts ...uuid.UUID) (ids []uuid.UUID) {
	for _, account := range accounts {
		ids = append(ids, s.subscriptions[account]...)
	}
	slices.SortFunc(ids, compareIDs)
	return ids
}

// upTo returns the ids of the subscriptions of the accounts up to one, sorted.
func (s *accountStore) upTo(account uuid.UUID) []uuid.UUID {
	return s.of(s.accounts[:slices.Index(s.accounts, account)+1]...)
}

// listed returns the requests for subscriptions so far.
func (s *accountStore) listed() []commercetest.Request {
	return slices.DeleteFunc(s.Requests(), func(r commercetest.Request) bool { return r.Operation != commercetest.OpList })
}

// idsOf returns the ids of subscriptions, sorted.
func idsOf(subs []*commerce.Subscription) (ids []uuid.UUID) {
	for _, sub := range subs {
		ids = append(ids, sub.ID)
	}
	slices.SortFunc(ids, compareIDs)
	return ids
}

// sequence yields these accounts, and then err if it is not nil.
func sequence(err error, accounts ...uuid.UUID) iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) {
		for _, account := range accounts {
			if !yield(account, nil) {
				return
			}
		}
		if err != nil {
			yield(uuid.Nil, err)
		}
	}
}

// isIn reports whether a request is for several accounts.
func isIn(r commercetest.Request) bool { return strings.Contains(r.RawQuery, "in%28account_id") }

// The store refuses filters with several accounts, so the order of the records shows that of
// the accounts.
func TestAllByAccount_accounts(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, 1, 0, 1, 1)
	a, empty, b, c := s.accounts[0], s.accounts[1], s.accounts[2], s.accounts[3]
	unknown := uuid.New()
	for _, tt := range []struct {
		name     string
		accounts iter.Seq2[uuid.UUID, error]
		want     []uuid.UUID // accounts with subscriptions
		err      error
		finished uuid.UUID
	}{
		{name: "no account", accounts: sequence(nil)},
		{name: "one account", accounts: sequence(nil, b), want: []uuid.UUID{b}},
		{name: "another order", accounts: sequence(nil, c, a, empty, b), want: []uuid.UUID{c, a, b}},
		{name: "repeated", accounts: sequence(nil, a, a, empty, empty, c, c, c), want: []uuid.UUID{a, c}},
		{name: "unknown account", accounts: sequence(nil, a, unknown, b), want: []uuid.UUID{a, b}},
		{name: "error only", accounts: sequence(io.EOF), err: io.EOF},
		{
			name: "error after accounts", accounts: sequence(io.EOF, c, b, empty), want: []uuid.UUID{c, b},
			err: io.EOF, finished: empty,
		},
		{
			name: "zero account", accounts: sequence(nil, a, b, uuid.Nil, c), want: []uuid.UUID{a, b},
			err: commerce.ErrInvalidArgument, finished: b,
		},
		{name: "zero account first", accounts: sequence(nil, uuid.Nil, c), err: commerce.ErrInvalidArgument},
	} {
		for _, concurrency := range []int{1, 8} {
			before := len(s.listed())
			s.Inject(commercetest.Fault{Match: isIn, Status: 400, Times: -1})
			opts := &commerce.SubscriptionListOptions{Concurrency: concurrency}
			subs, err := commerce.Collect(s.Client().Subscriptions.AllByAccount(t.Context(), tt.accounts, opts))
			var got []uuid.UUID
			for _, sub := range subs {
				got = append(got, sub.Attributes.AccountID)
			}
			diff(t, tt.name, got, tt.want)
			if tt.err == nil {
				diff(t, tt.name+": error", err, nil)
			} else {
				checkStop(t, err, commerce.PagingError{Seen: len(tt.want), Finished: tt.finished, Err: tt.err})
			}
			if len(s.listed()) > before && tt.want == nil {
				t.Errorf("%s: got %d requests, want none", tt.name, len(s.listed())-before)
			}
		}
	}
}

// TestAllByAccount_longFilters has a filter without space for an account.
func TestAllByAccount_validation(t *testing.T) {
	t.Parallel()
	opts := &commerce.SubscriptionListOptions{
		Filter: commerce.SubscriptionFilter{AccountIDs: []uuid.UUID{numberedID(1)}, Names: []string{""}},
		Offset: 1, PageSize: 101, Concurrency: 17,
	}
	r := &recorder{respond: respond(200, emptyList)}
	c := newClient(t, r)
	_, allErr := commerce.Collect(c.Subscriptions.AllByAccount(t.Context(), nil, opts))
	_, pagesErr := commerce.Collect(c.Subscriptions.PagesByAccount(t.Context(), nil, opts))
	for _, err := range []error{allErr, pagesErr} {
		want := []string{"filter.account_id", "offset", "filter.name", "page size", "concurrency"}
		diff(t, "invalid fields", invalidFields(err), want)
		r.checkRefused(t, err, "")
	}
}

// The first line of a request names as many accounts as 6,000 bytes have space for, whatever else
// it has.
func TestAllByAccount_requestLine(t *testing.T) {
	t.Parallel()
	accounts := sortedIDs(400)
	include := commerce.SubscriptionInclude{Plans: true, Products: true, PricingOptions: true}
	for _, tt := range []struct {
		name string
		path string // of the base address
		opts commerce.SubscriptionListOptions
	}{
		{name: "no options"},
		{name: "includes", opts: commerce.SubscriptionListOptions{PageSize: 10, Concurrency: 8, Include: include}},
		{
			name: "a long path and a long filter", path: strings.Repeat("/path", 500),
			opts: commerce.SubscriptionListOptions{
				Filter: commerce.SubscriptionFilter{Names: []string{strings.Repeat("ö", 100), strings.Repeat("a", 1_000)}},
			},
		},
	} {
		r := &recorder{respond: respond(200, emptyList)}
		c := newClientAt(t, baseURL+tt.path, r)
		walk := c.Subscriptions.AllByAccount(t.Context(), sequence(nil, accounts...), &tt.opts)
		if _, err := commerce.Collect(walk); err != nil {
			t.Fatal(err)
		}
		longest, named := 0, 0
		for _, line := range r.lines() {
			longest = max(longest, len(line))
			for _, account := range accounts {
				named += strings.Count(line, account.String())
			}
		}
		if longest > 6_000 || longest < 5_900 || named != len(accounts) {
			t.Errorf("%s: %d accounts in lines of up to %d bytes, want %d in nearly 6,000",
				tt.name, named, longest, len(accounts))
		}
	}
}

// However long the filter is, no line is too long, also that of the last page. The walk is refused
// if there is no line for a single account. The last filters leave space for 1 to 4 accounts.
func TestAllByAccount_longFilters(t *testing.T) {
	t.Parallel()
	perLine := map[int]bool{}
	for n := 5_600; ; n++ {
		r := &recorder{respond: respond(200, emptyList)}
		opts := &commerce.SubscriptionListOptions{PageSize: 100}
		opts.Filter.Emails = []string{strings.Repeat("a", n)}
		walk := newClient(t, r).Subscriptions.AllByAccount(t.Context(), sequence(nil, sortedIDs(8)...), opts)
		if _, err := commerce.Collect(walk); err != nil {
			diff(t, "invalid fields", invalidFields(err), []string{"filter"})
			r.checkRefused(t, err, opts.Filter.Emails[0])
			break
		}
		for _, line := range r.lines() {
			perLine[strings.Count(line, "%2C")] = true
			if longest := len(line + "&page%5Boffset%5D=10000"); longest > 6_000 {
				t.Fatalf("a filter of %d bytes: at the highest offset a line of %d bytes, want at most 6,000", n, longest)
			}
		}
	}
	if len(perLine) < 4 {
		t.Errorf("got %d numbers of accounts in a line, want at least 4", len(perLine))
	}
}

// A page with Finished is the last one of the accounts up to it. TestModel_parts of
// internal/paging checks the walk, and TestAllByAccount_errors goes on after Finished.
func TestPagesByAccount_finished(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, slices.Repeat([]int{1, 0, 2, 150}, 10)...)
	refusesMany := func(r commercetest.Request) bool { return strings.Count(r.RawQuery, "%2C") > 10 }
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 400, Times: -1, Match: refusesMany})
	var yielded []*commerce.Subscription
	var last uuid.UUID
	for page, err := range s.Client().Subscriptions.PagesByAccount(t.Context(), nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Subscriptions {
			yielded = append(yielded, &page.Subscriptions[i])
		}
		if page.Finished != uuid.Nil {
			last = page.Finished
			diff(t, "yielded up to "+last.String(), idsOf(yielded), s.upTo(last))
		}
	}
	diff(t, "last Finished", last, s.accounts[len(s.accounts)-1])
}

// A store may refuse several accounts in a filter. Then there is a request for each, and a few to
// find that out. If it refuses one too, the first error ends the walk, and no account is blamed.
func TestAllByAccount_refusedFilter(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 413, 414, 431} {
		s := newAccountStore(t, slices.Repeat([]int{1, 0, 3, 2}, 100)...)
		s.Inject(commercetest.Fault{Status: status, Times: -1, Match: isIn})
		got, err := commerce.Collect(s.Client().Subscriptions.AllByAccount(t.Context(), nil, nil))
		diff(t, fmt.Sprint(status, ": error"), err, nil)
		diff(t, fmt.Sprint(status, ": subscriptions"), idsOf(got), s.of(s.accounts...))
		if n, most := len(s.listed()), len(s.accounts)+1+bits.Len(uint(len(s.accounts))); n > most {
			t.Errorf("%d: got %d requests, want at most %d", status, n, most)
		}
	}
	s := newAccountStore(t, slices.Repeat([]int{1}, 300)...)
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 400, After: 3, Times: -1})
	got, err := commerce.Collect(s.Client().Subscriptions.AllByAccount(t.Context(), nil, nil))
	stop, ok := errors.AsType[*commerce.PagingError](err)
	if !ok {
		t.Fatalf("error = %v, want a *PagingError", err)
	}
	checkStop(t, err, commerce.PagingError{Seen: len(got), Finished: stop.Finished, Err: commerce.ErrBadRequest})
	listed := s.listed()
	if e, _ := errors.AsType[*commerce.Error](err); e.RequestID != listed[3].ID || len(listed) != 5 {
		t.Errorf("got %d requests, error %v, want 5, and the error of the first refused one", len(listed), err)
	}
}

// The error of a walk of accounts is not nested: none of its accounts is finished here. One that
// the caller wrapped is returned with what the caller added.
func TestAllByAccount_errorOfAnotherWalk(t *testing.T) {
	t.Parallel()
	other := &commerce.PagingError{Seen: 7, Finished: numberedID(1), Err: commerce.ErrForbidden}
	wrapped := fmt.Errorf("read the accounts: %w", other)
	for err, want := range map[error]error{other: commerce.ErrForbidden, wrapped: wrapped} {
		_, err := commerce.Collect(newStub(t).client(t).Subscriptions.AllByAccount(t.Context(), sequence(err), nil))
		stop, ok := errors.AsType[*commerce.PagingError](err)
		if !ok || *stop != (commerce.PagingError{Err: want}) {
			t.Errorf("got error %#v, want a PagingError with %v only", err, want)
		}
	}
}

// An account with more subscriptions than can be read is in the error. The walk goes on after it.
func TestAllByAccount_offsetLimit(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, 5, 10_100, 0, 5, 1)
	c, opts := s.Client(), &commerce.SubscriptionListOptions{Concurrency: 8}
	got, err := commerce.Collect(c.Subscriptions.AllByAccount(t.Context(), nil, opts))
	checkStop(t, err, commerce.PagingError{
		Seen: len(got), Finished: s.accounts[0], Account: s.accounts[1], Err: commerce.ErrOffsetLimit,
	})
	after := c.Accounts.IDs(t.Context(), s.accounts[1])
	rest, err := commerce.Collect(c.Subscriptions.AllByAccount(t.Context(), after, opts))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "rest", idsOf(rest), s.of(s.accounts[2:]...))
}

// Whenever an error ends the walk, its fields say what was yielded, and another walk yields the
// rest.
func TestAllByAccount_errors(t *testing.T) {
	t.Parallel()
	for _, operation := range []commercetest.Operation{commercetest.OpAccounts, commercetest.OpList} {
		for _, concurrency := range []int{1, 8} {
			s := newAccountStore(t, slices.Repeat([]int{1, 0, 3}, 100)...)
			for after := 0; after < 20; after += 3 {
				s.Inject(commercetest.Fault{Operation: operation, After: after, Status: 403})
			}
			s.checkResumes(t, &commerce.SubscriptionListOptions{Concurrency: concurrency})
		}
	}
}

// checkResumes walks until no error is left, each time after the last account that was finished,
// and checks each walk.
func (s *accountStore) checkResumes(t *testing.T, opts *commerce.SubscriptionListOptions) {
	t.Helper()
	c := s.Client()
	yielded := map[uuid.UUID]bool{}
	var finished uuid.UUID
	for stops := 0; ; stops++ {
		var accounts iter.Seq2[uuid.UUID, error] // all
		if finished != uuid.Nil {
			accounts = c.Accounts.IDs(t.Context(), finished)
		}
		subs, err := commerce.Collect(c.Subscriptions.AllByAccount(t.Context(), accounts, opts))
		for _, sub := range subs {
			if compareIDs(sub.Attributes.AccountID, finished) <= 0 {
				t.Fatalf("got a subscription of account %s after %s", sub.Attributes.AccountID, finished)
			}
			yielded[sub.ID] = true
		}
		if err == nil {
			diff(t, "subscriptions", slices.SortedFunc(maps.Keys(yielded), compareIDs), s.of(s.accounts...))
			if stops < 2 {
				t.Errorf("the walk stopped %d times, want more", stops)
			}
			return
		}
		stop, ok := errors.AsType[*commerce.PagingError](err)
		if !ok {
			t.Fatalf("error = %v, want a *PagingError", err)
		}
		checkStop(t, err, commerce.PagingError{Seen: len(subs), Finished: stop.Finished, Err: commerce.ErrForbidden})
		if _, ok := stop.Err.(*commerce.Error); !ok { //nolint:errorlint // itself, not what it wraps
			t.Errorf("the cause is a %T, want an *Error", stop.Err)
		}
		if stop.Finished != uuid.Nil {
			finished = stop.Finished
		}
	}
}

// A record without an id ends the walk. It names the account if it asked for no other.
func TestAllByAccount_badRecord(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, 1, 1, 1)
	bad := commerce.Subscription{}
	bad.Attributes.AccountID = s.accounts[1]
	s.AddSubscription(bad)
	for _, tt := range []struct {
		name     string
		accounts []uuid.UUID
		want     commerce.PagingError
	}{
		{
			name: "several accounts", accounts: s.accounts,
			want: commerce.PagingError{Seen: 1, Finished: s.accounts[0], Account: s.accounts[1]},
		},
		{name: "one account", accounts: s.accounts[1:2], want: commerce.PagingError{Account: s.accounts[1]}},
	} {
		got, err := commerce.Collect(s.Client().Subscriptions.AllByAccount(t.Context(), sequence(nil, tt.accounts...), nil))
		if len(got) != tt.want.Seen {
			t.Errorf("%s: got %d records, want %d", tt.name, len(got), tt.want.Seen)
		}
		tt.want.Err = commerce.ErrBadResponse
		checkStop(t, err, tt.want)
	}
}

// limited returns a store with more subscriptions than a walk by offset reads: accounts with 3
// each. The first of the list are those of the last accounts.
func limited(t *testing.T, subscriptions int) *accountStore {
	t.Helper()
	return newAccountStore(t, append(slices.Repeat([]int{3}, subscriptions/3), subscriptions%3)...)
}

// All and Pages read a store of any size, each record once. A walk of 10,100 records that did not
// reach the end costs the requests by account in addition.
func TestAll_anySize(t *testing.T) {
	t.Parallel()
	sizes := []struct{ size, most int }{{10_101, 260}, {10_099, 103}, {25_000, 480}}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, tt := range sizes {
		s := limited(t, tt.size)
		want := s.of(s.accounts...)
		got, err := commerce.Collect(s.Client().Subscriptions.All(t.Context(), nil))
		n := len(s.Requests())
		t.Logf("%d subscriptions: %d requests", tt.size, n)
		if err != nil || !slices.Equal(idsOf(got), want) || n > tt.most {
			t.Errorf("got %d of %d subscriptions in %d requests, error %v, want at most %d", len(got), tt.size, n, err, tt.most)
		}
		var ids []uuid.UUID
		finished := uuid.Nil
		opts := &commerce.SubscriptionListOptions{Concurrency: 8, Include: commerce.SubscriptionInclude{All: true}}
		for page, err := range s.Client().Subscriptions.Pages(t.Context(), opts) {
			if err != nil {
				t.Fatal(err)
			}
			if page.Finished != uuid.Nil && (compareIDs(page.Finished, finished) <= 0 || page.Offset != 0) {
				t.Errorf("page with Finished %s after %s, Offset %d", page.Finished, finished, page.Offset)
			}
			for i := range page.Subscriptions {
				ids = append(ids, page.Subscriptions[i].ID)
			}
			finished = cmp.Or(page.Finished, finished)
		}
		slices.SortFunc(ids, compareIDs)
		if !slices.Equal(ids, want) || (finished != uuid.Nil) != (tt.size > 10_100) {
			t.Errorf("got %d of %d subscriptions, the last Finished is %s", len(ids), tt.size, finished)
		}
	}
}

// hooked returns a client of the store that calls hook before each request, one at a time.
func (s *accountStore) hooked(hook func(*http.Request)) *commerce.Client {
	var mu sync.Mutex
	return s.Client(commerce.WithHTTPClient(&http.Client{Transport: roundTripper(
		func(req *http.Request) (*http.Response, error) {
			mu.Lock()
			hook(req)
			mu.Unlock()
			return s.Transport().RoundTrip(req)
		})}))
}

// add adds a subscription of an account as the newest one.
func (s *accountStore) add(account uuid.UUID) {
	sub := commerce.Subscription{ID: uuid.New()}
	sub.Attributes.AccountID = account
	s.AddSubscription(sub)
}

// limitedSize is more than an offset reaches.
const limitedSize = 10_200

var unlistedAccounts = []struct {
	name    string
	prepare func(s *accountStore)
	hook    func(s *accountStore, req *http.Request)
	want    int  // records
	hidden  bool // the walk ends in ErrOffsetLimit
}{
	{name: "all are listed", want: limitedSize},
	{
		name: "one is not, and all of it was read", want: limitedSize, hidden: true,
		prepare: func(s *accountStore) { s.RemoveAccount(s.accounts[len(s.accounts)-2]) },
	},
	{
		name: "one is not, and has records beyond the limit", want: limitedSize + 1, hidden: true,
		prepare: func(s *accountStore) {
			s.add(s.accounts[0])
			s.RemoveAccount(s.accounts[0])
		},
	},
	{
		name: "one is deleted with its subscriptions, after they were read", want: limitedSize,
		hook: func(s *accountStore, req *http.Request) {
			if account := s.accounts[len(s.accounts)-2]; isAccounts(req) && s.RemoveAccount(account) {
				for _, id := range s.subscriptions[account] {
					s.RemoveSubscription(id)
				}
			}
		},
	},
	{
		name: "one is listed late", want: limitedSize + 1,
		prepare: func(s *accountStore) {
			s.add(s.accounts[0])
			s.RemoveAccount(s.accounts[0])
		},
		hook: func(s *accountStore, req *http.Request) {
			if isAccounts(req) && !strings.Contains(req.URL.RawQuery, "sort") {
				s.AddAccount(s.accounts[0])
			}
		},
	},
	{
		name: "a record has no account", want: limitedSize + 1, hidden: true,
		prepare: func(s *accountStore) { s.AddSubscription(commerce.Subscription{ID: uuid.New()}) },
	},
	{
		name: "one that the walk does not know", want: limitedSize - 3, // documented
		prepare: func(s *accountStore) { s.RemoveAccount(s.accounts[0]) },
	},
}

// What a walk knows of accounts that the store does not list. The first of the list are the
// subscriptions that were added last.
func TestAll_unlistedAccounts(t *testing.T) {
	t.Parallel()
	for i, tt := range unlistedAccounts {
		if testing.Short() && i%2 == 0 {
			continue // one request at a time shows nothing about races
		}
		s := limited(t, limitedSize)
		if tt.prepare != nil {
			tt.prepare(s)
		}
		client := s.hooked(func(req *http.Request) {
			if tt.hook != nil {
				tt.hook(s, req)
			}
		})
		opts := &commerce.SubscriptionListOptions{Concurrency: []int{1, 8}[i%2]}
		got, err := commerce.Collect(client.Subscriptions.All(t.Context(), opts))
		diff(t, tt.name+": records", len(got), tt.want)
		diff(t, tt.name+": different records", len(slices.Compact(idsOf(got))), tt.want)
		if !tt.hidden {
			diff(t, tt.name+": error", err, nil)
			continue
		}
		checkStop(t, err, commerce.PagingError{Seen: tt.want, Err: commerce.ErrOffsetLimit})
		diff(t, tt.name+": reason", fmt.Sprint(commerce.ReasonOf(err), " ", commerce.IsFinal(err)), "offset_limit true")
	}
}

func isAccounts(req *http.Request) bool { return req.URL.Path == "/v2/accounts" }

// A walk that cannot go on says why. One that may go on later is not final.
func TestAll_cannotListAccounts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("walks 10,100 records 16 times")
	}
	const sameAccount = `{"id":"` + itemID + `"}`
	s := limited(t, 10_101)
	last := func(r commercetest.Request) bool { return !strings.Contains(r.RawQuery, "sort") }
	s.RemoveAccount(s.accounts[len(s.accounts)-2])
	for i, tt := range []struct {
		fault commercetest.Fault
		want  string // the reason, and whether it is final
	}{
		{commercetest.Fault{Status: 400}, "offset_limit true"},
		{commercetest.Fault{Status: 403}, "offset_limit true"},
		{commercetest.Fault{Status: 404}, "offset_limit true"},
		{commercetest.Fault{Status: 422}, "offset_limit true"},
		{commercetest.Fault{Status: 403, After: 2}, "offset_limit true"},
		{commercetest.Fault{Status: 400, Match: last}, "offset_limit true"},
		{commercetest.Fault{Status: 200, Body: `{}`}, "offset_limit true"},
		{commercetest.Fault{Status: 200, Body: `{"data":[{"id":"x"}]}`}, "offset_limit true"},
		{commercetest.Fault{Status: 200, Body: `{"data":[` + sameAccount + `,` + sameAccount + `]}`}, "offset_limit true"},
		{commercetest.Fault{Status: 200, Body: `{"data":[],"links":{"next":"/x"}}`}, "no_progress false"},
		{commercetest.Fault{Status: 401}, "unauthorized false"},
		{commercetest.Fault{Status: 408}, "other false"},
		{commercetest.Fault{Status: 429}, "rate_limited false"},
		{commercetest.Fault{Status: 403, Header: http.Header{"Retry-After": {"9"}}}, "rate_limited false"},
		{commercetest.Fault{Status: 500}, "server_error false"},
		{commercetest.Fault{Cut: true}, "connection false"},
	} {
		tt.fault.Operation, tt.fault.Times = commercetest.OpAccounts, -1
		s.ClearFaults()
		s.Inject(tt.fault)
		opts := &commerce.SubscriptionListOptions{Concurrency: []int{8, 1}[i%2]}
		got, err := commerce.Collect(s.Client(attempts(1)).Subscriptions.All(t.Context(), opts))
		what := fmt.Sprintf("status %d, %s, error %v", tt.fault.Status, tt.fault.Body, err)
		diff(t, what, fmt.Sprint(commerce.ReasonOf(err), " ", commerce.IsFinal(err)), tt.want)
		stop, ok := errors.AsType[*commerce.PagingError](err)
		if !ok || stop.Offset != 0 || stop.Seen != len(got) || len(got) < 10_100 {
			t.Fatalf("%s: got %d records and %+v", what, len(got), stop)
		}
		isFirst := strings.HasPrefix(stop.Err.Error(), commerce.ErrOffsetLimit.Error())
		diff(t, what+": the limit is named first", isFirst, strings.HasPrefix(tt.want, "offset_limit"))
		if e, ok := errors.AsType[*commerce.Error](err); ok && e.Op != "Accounts.IDs" {
			t.Errorf("%s: operation %s, want that of the accounts", what, e.Op)
		}
	}
}

// A walk that stops while it goes on by account says up to which account it is finished, and the
// rest is walked by account. Some of it comes again.
func TestAll_stopsByAccount(t *testing.T) {
	t.Parallel()
	s := limited(t, 10_400)
	want := s.of(s.accounts...)
	byAccount := func(r commercetest.Request) bool { return strings.Contains(r.RawQuery, "account_id") }
	check := func(what string, got []*commerce.Subscription, err error) {
		t.Helper()
		stop, ok := errors.AsType[*commerce.PagingError](err)
		if !ok || stop.Offset != 0 || stop.Seen != len(got) || stop.Finished == uuid.Nil || commerce.IsFinal(err) {
			t.Fatalf("%s: got %d records, error %+v, want a PagingError with Finished", what, len(got), err)
		}
		rest, err := commerce.Collect(s.Client().Subscriptions.AllByAccount(t.Context(),
			s.Client().Accounts.IDs(t.Context(), stop.Finished), nil))
		diff(t, what+": error", err, nil)
		if ids := slices.Compact(idsOf(append(got, rest...))); !slices.Equal(ids, want) {
			t.Errorf("%s: got %d of %d subscriptions", what, len(ids), len(want))
		}
	}
	for _, status := range []int{401, 403, 503} {
		s.Inject(commercetest.Fault{Operation: commercetest.OpList, Match: byAccount, After: 30, Status: status})
		got, err := commerce.Collect(s.Client(attempts(1)).Subscriptions.All(t.Context(), nil))
		check(fmt.Sprint(status), got, err)
	}
	s.Inject(commercetest.Fault{Match: isIn, Status: 400, Times: -1}) // each account is finished by itself
	for _, at := range []int{10_110, 10_399} {
		got, last := stopAt(t, at, func(ctx context.Context) iter.Seq2[*commerce.Subscription, error] {
			return s.Client().Subscriptions.All(ctx, nil)
		})
		check(fmt.Sprint("canceled at ", at), got, last)
	}
	s.ClearFaults()
	seen := 0
	opts := &commerce.SubscriptionListOptions{Concurrency: 8}
	for _, err := range s.Client().Subscriptions.All(t.Context(), opts) {
		if seen++; err != nil || seen == 10_250 {
			break // TestMain looks for goroutines that are left
		}
	}
	diff(t, "records before the break", seen, 10_250)
	// Accounts that are not listed are read last. A walk by account would not see them: start
	// again.
	hidden := s.accounts[:2]
	for _, account := range hidden {
		s.add(account)
		s.RemoveAccount(account)
	}
	s.Inject(
		commercetest.Fault{Operation: commercetest.OpList, Status: 503, Match: func(r commercetest.Request) bool {
			return strings.Contains(r.RawQuery, hidden[1].String()) && !isIn(r)
		}},
		commercetest.Fault{Match: isIn, Status: 400, Times: -1},
	)
	got, err := commerce.Collect(s.Client(attempts(1)).Subscriptions.All(t.Context(), nil))
	checkStop(t, err, commerce.PagingError{Seen: len(got), Err: commerce.ErrServer})
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, Match: byAccount, After: 30, Status: 503})
	got, err = commerce.Collect(s.Client(attempts(1)).Subscriptions.All(t.Context(), nil)) // before them
	checkStop(t, err, commerce.PagingError{Seen: len(got), Err: commerce.ErrServer})
	for page, err := range s.Client().Subscriptions.Pages(t.Context(), nil) {
		if err == nil && slices.Contains(hidden, page.Finished) {
			t.Error("a page finishes an account that is not listed")
		}
	}
	_, err = stopAt(t, 10_399, func(ctx context.Context) iter.Seq2[*commerce.Subscription, error] {
		return s.Client().Subscriptions.All(ctx, nil)
	})
	checkStop(t, err, commerce.PagingError{Seen: 10_399, Err: context.Canceled})
}

// An account whose list drifts is in the error, which is not that of the accounts.
func TestAll_driftOfAccount(t *testing.T) {
	t.Parallel()
	s := limited(t, limitedSize)
	transport := roundTripper(func(req *http.Request) (*http.Response, error) {
		if !strings.Contains(req.URL.RawQuery, "account_id") {
			return s.Transport().RoundTrip(req)
		}
		var records []string
		for range 100 { // others for each request
			records = append(records, fmt.Sprintf(`{"id":%q,"attributes":{"account_id":%q}}`, uuid.New(), s.accounts[0]))
		}
		return respond(200, `{"data":[`+strings.Join(records, ",")+`],"links":{"next":"/x"}}`)(req)
	})
	client := s.Client(commerce.WithHTTPClient(&http.Client{Transport: transport}))
	got, err := commerce.Collect(client.Subscriptions.All(t.Context(), nil))
	checkStop(t, err, commerce.PagingError{Seen: len(got), Account: s.accounts[0], Err: commerce.ErrListDrift})
	diff(t, "is final", commerce.IsFinal(err), false)
}
