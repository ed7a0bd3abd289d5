package commerce_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/bits"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// accountStore is a store whose accounts have these numbers of subscriptions.
type accountStore struct {
	*commercetest.Store
	accounts      []uuid.UUID // sorted
	subscriptions map[uuid.UUID][]uuid.UUID
	added         []uuid.UUID // subscriptions, by add
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
			sub := commerce.Subscription{ID: uuid.NewHash(sha256.New(), account, []byte{byte(n >> 8), byte(n)}, 8)}
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

// listing responds with accounts, which are sorted, and with no subscriptions.
func listing(accounts []uuid.UUID) roundTripper {
	return func(req *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(req.URL.Path, "/v2/accounts") {
			return respond(200, emptyList)(req)
		}
		after := strings.TrimSuffix(strings.TrimPrefix(req.URL.Query().Get("filter"), "gt(id,"), ")")
		var list []string
		for _, id := range accounts {
			if id.String() > after && len(list) < 100 {
				list = append(list, `{"id":"`+id.String()+`"}`)
			}
		}
		return respond(200, `{"data":[`+strings.Join(list, ",")+`],"links":{"next":null}}`)(req)
	}
}

// isIn reports whether a request is for several accounts.
func isIn(r commercetest.Request) bool { return strings.Contains(r.RawQuery, "in%28account_id") }

// byAccount returns the options of a walk by account from its start.
func byAccount() *commerce.SubscriptionListOptions {
	return &commerce.SubscriptionListOptions{ByAccount: true}
}

// The store refuses filters with several accounts, so the order of the records shows that of
// the accounts. No account that is skipped, or not after After, is asked for.
func TestAll_byAccount(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, 1, 0, 2, 1)
	all := s.accounts
	a, empty, b, c := all[0], all[1], all[2], all[3]
	between := b
	between[15]++ // no account has it
	for _, tt := range []struct {
		name  string
		after uuid.UUID
		skip  []uuid.UUID
		want  []uuid.UUID // accounts that are read
	}{
		{name: "all", want: all},
		{name: "all, with an empty list to skip", skip: []uuid.UUID{}, want: all},
		{name: "after the first", after: a, want: all[1:]},
		{name: "after an id that is none", after: between, want: all[3:]},
		{name: "after the last", after: c},
		{name: "after all ids", after: uuid.Max},
		{name: "without one in the middle", skip: []uuid.UUID{b}, want: []uuid.UUID{a, empty, c}},
		{name: "without the first and the last", skip: []uuid.UUID{c, a, c}, want: []uuid.UUID{empty, b}},
		{name: "without any", skip: all},
		{name: "after the first, without the next", after: a, skip: []uuid.UUID{a, empty}, want: all[2:]},
	} {
		for _, concurrency := range []int{1, 16} {
			before := len(s.Requests())
			s.Inject(commercetest.Fault{Match: isIn, Status: 400, Times: -1})
			opts := &commerce.SubscriptionListOptions{
				ByAccount: tt.after == uuid.Nil, After: tt.after, Skip: tt.skip, Concurrency: concurrency,
			}
			subs, err := commerce.Collect(s.Client().Subscriptions.All(t.Context(), opts))
			diff(t, tt.name+": error", err, nil)
			diff(t, tt.name+": subscriptions", idsOf(subs), s.of(tt.want...))
			diff(t, tt.name+": in order", slices.IsSortedFunc(subs, func(x, y *commerce.Subscription) int {
				return compareIDs(x.Attributes.AccountID, y.Attributes.AccountID)
			}), true)
			for _, r := range s.Requests()[before:] {
				for _, account := range all {
					isNamed := r.Operation == commercetest.OpList && strings.Contains(r.RawQuery, account.String())
					if isNamed && !slices.Contains(tt.want, account) {
						t.Errorf("%s: account %s was asked for: %s", tt.name, account, r.RawQuery)
					}
				}
			}
		}
	}
}

// TestAll_longFilters has a filter without space for an account.
func TestAll_byAccountValidation(t *testing.T) {
	t.Parallel()
	id := numberedID(1)
	for _, tt := range []struct {
		name  string
		opts  commerce.SubscriptionListOptions
		list  []string // fields that are invalid in List
		walks []string // in All and Pages
	}{
		{name: "nothing to skip", opts: commerce.SubscriptionListOptions{Skip: []uuid.UUID{}}},
		{
			name: "only for walks", list: []string{"by account", "after", "skip"},
			opts: commerce.SubscriptionListOptions{ByAccount: true, After: id, Skip: []uuid.UUID{id}},
		},
		{
			name: "skip alone", opts: commerce.SubscriptionListOptions{Skip: []uuid.UUID{id}},
			list: []string{"skip"}, walks: []string{"skip"},
		},
		{
			name: "all at once", list: []string{"filter.name", "offset", "page size", "concurrency", "after", "skip"},
			opts: commerce.SubscriptionListOptions{
				Filter: commerce.SubscriptionFilter{AccountIDs: []uuid.UUID{id}, Names: []string{""}},
				After:  id, Skip: []uuid.UUID{id, {}}, Offset: -1, PageSize: 101, Concurrency: 17,
			},
			walks: []string{"filter.name", "offset", "page size", "concurrency", "filter.account_id", "offset", "skip"},
		},
	} {
		r := &recorder{respond: respond(200, emptyList)}
		subscriptions := newClient(t, r).Subscriptions
		_, pagesErr := commerce.Collect(subscriptions.Pages(t.Context(), &tt.opts))
		_, allErr := commerce.Collect(subscriptions.All(t.Context(), &tt.opts))
		for _, err := range []error{pagesErr, allErr} {
			diff(t, "walks: "+tt.name, invalidFields(err), tt.walks)
		}
		if tt.walks != nil {
			r.checkRefused(t, allErr, "")
		}
		_, err := subscriptions.List(t.Context(), &tt.opts)
		diff(t, "List: "+tt.name, invalidFields(err), tt.list)
	}
}

// The first line of a request names as many accounts as 6,000 bytes have space for, whatever else
// it has.
func TestAll_requestLine(t *testing.T) {
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
		r := &recorder{respond: httpmock.Responder(listing(accounts))}
		c := newClientAt(t, baseURL+tt.path, r)
		tt.opts.ByAccount = true
		if _, err := commerce.Collect(c.Subscriptions.All(t.Context(), &tt.opts)); err != nil {
			t.Fatal(err)
		}
		longest, named := 0, 0
		for _, line := range r.lines() {
			if strings.Contains(line, "/v2/accounts") {
				continue
			}
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
func TestAll_longFilters(t *testing.T) {
	t.Parallel()
	perLine := map[int]bool{}
	for n := 5_600; ; n++ {
		r := &recorder{respond: httpmock.Responder(listing(sortedIDs(8)))}
		opts := &commerce.SubscriptionListOptions{PageSize: 100, ByAccount: true}
		opts.Filter.Emails = []string{strings.Repeat("a", n)}
		if _, err := commerce.Collect(newClient(t, r).Subscriptions.All(t.Context(), opts)); err != nil {
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
// internal/paging checks the walk, and TestPagingError_Resume goes on after Finished.
func TestPages_finished(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, slices.Repeat([]int{1, 0, 2, 150}, 10)...)
	refusesMany := func(r commercetest.Request) bool { return strings.Count(r.RawQuery, "%2C") > 10 }
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 400, Times: -1, Match: refusesMany})
	var yielded []*commerce.Subscription
	var last uuid.UUID
	for page, err := range s.Client().Subscriptions.Pages(t.Context(), byAccount()) {
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
func TestAll_refusedFilter(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 413, 414, 431} {
		s := newAccountStore(t, slices.Repeat([]int{1, 0, 3, 2}, 40)...)
		s.Inject(commercetest.Fault{Status: status, Times: -1, Match: isIn})
		got, err := commerce.Collect(s.Client().Subscriptions.All(t.Context(), byAccount()))
		diff(t, fmt.Sprint(status, ": error"), err, nil)
		diff(t, fmt.Sprint(status, ": subscriptions"), idsOf(got), s.of(s.accounts...))
		if n, most := len(s.listed()), len(s.accounts)+1+bits.Len(uint(len(s.accounts))); n > most {
			t.Errorf("%d: got %d requests, want at most %d", status, n, most)
		}
	}
	s := newAccountStore(t, slices.Repeat([]int{1}, 300)...)
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 400, After: 3, Times: -1})
	got, err := commerce.Collect(s.Client().Subscriptions.All(t.Context(), byAccount()))
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

// A record without an id ends the walk. The error names the account, also if its part had others.
func TestAll_badRecord(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, 1, 1, 1)
	bad := commerce.Subscription{}
	bad.Attributes.AccountID = s.accounts[1]
	s.AddSubscription(bad)
	for _, tt := range []struct {
		name string
		opts commerce.SubscriptionListOptions
		want commerce.PagingError
	}{
		{
			name: "several accounts", opts: *byAccount(),
			want: commerce.PagingError{Seen: 1, Finished: s.accounts[0], Account: s.accounts[1]},
		},
		{
			name: "one account", opts: commerce.SubscriptionListOptions{After: s.accounts[0], Skip: s.accounts[2:]},
			want: commerce.PagingError{Account: s.accounts[1]},
		},
	} {
		got, err := commerce.Collect(s.Client().Subscriptions.All(t.Context(), &tt.opts))
		if len(got) != tt.want.Seen {
			t.Errorf("%s: got %d records, want %d", tt.name, len(got), tt.want.Seen)
		}
		tt.want.Err = commerce.ErrBadResponse
		checkStop(t, err, tt.want)
	}
}

// resumed are walks that stopped, and the options of the walk that goes on.
var resumed = []struct {
	name       string
	opts, want commerce.SubscriptionListOptions
	err        commerce.PagingError
}{
	{name: "by offset", err: commerce.PagingError{Offset: 7, Seen: 7}, want: offset(7)},
	{name: "by offset, nothing yielded", err: commerce.PagingError{}},
	{name: "after an offset", opts: offset(7), err: commerce.PagingError{Offset: 9, Seen: 2}, want: offset(9)},
	{name: "after an offset, nothing yielded", opts: offset(7), err: commerce.PagingError{Offset: 7}, want: offset(7)},
	{name: "right before the limit", err: commerce.PagingError{Offset: 10_030, Seen: 10_030}, want: offset(10_000)},
	{
		name: "at the limit after an offset: begins again", opts: offset(7),
		err: commerce.PagingError{Offset: 10_100, Seen: 10_093, Err: commerce.ErrOffsetLimit},
	},
	{
		name: "at the limit with accounts: ends there again", opts: ofAccount(0), want: ofAccount(10_000),
		err: commerce.PagingError{Offset: 10_100, Seen: 10_100, Err: commerce.ErrOffsetLimit},
	},
	{name: "beyond the limit: begins again", err: commerce.PagingError{Seen: 10_200, Finished: numberedID(1)}},
	{name: "beyond the limit, none finished", err: commerce.PagingError{Seen: 10_200, Account: numberedID(1)}},
	{name: "by account, none finished", opts: *byAccount(), err: commerce.PagingError{Seen: 3}, want: *byAccount()},
	{
		name: "by account", opts: *byAccount(), err: commerce.PagingError{Seen: 3, Finished: numberedID(1)},
		want: commerce.SubscriptionListOptions{ByAccount: true, After: numberedID(1)},
	},
	{
		name: "after an account, none finished", opts: after(1), want: after(1),
		err: commerce.PagingError{Account: numberedID(3), Err: commerce.ErrOffsetLimit},
	},
	{
		name: "after an account", opts: after(1), want: after(2),
		err: commerce.PagingError{Finished: numberedID(2), Account: numberedID(3), Err: commerce.ErrOffsetLimit},
	},
}

func offset(n int) commerce.SubscriptionListOptions {
	return commerce.SubscriptionListOptions{Offset: n}
}

func ofAccount(offset int) commerce.SubscriptionListOptions {
	of := commerce.SubscriptionFilter{AccountIDs: []uuid.UUID{numberedID(1)}}
	return commerce.SubscriptionListOptions{Filter: of, Offset: offset}
}

func after(n int) commerce.SubscriptionListOptions {
	return commerce.SubscriptionListOptions{After: numberedID(n), Skip: []uuid.UUID{numberedID(5)}, PageSize: 7}
}

// Resume changes neither the options nor what they share with others.
func TestPagingError_Resume(t *testing.T) {
	t.Parallel()
	for _, tt := range resumed {
		before := tt.opts
		diff(t, tt.name, *tt.err.Resume(&tt.opts), tt.want)
		diff(t, tt.name+": options of the walk", tt.opts, before)
	}
	stop := &commerce.PagingError{Offset: 7}
	diff(t, "no options", *stop.Resume(nil), offset(7))
	shared := &commerce.SubscriptionListOptions{ByAccount: true, Skip: make([]uuid.UUID, 0, 5)}
	first, second := stop.Resume(shared), stop.Resume(shared)
	first.Skip, second.Skip = append(first.Skip, numberedID(1)), append(second.Skip, numberedID(2))
	diff(t, "accounts to skip", first.Skip, []uuid.UUID{numberedID(1)})
}

// collectAll resumes a walk until it ends without an error, and returns the ids of all that it
// yielded, and the number of errors. It leaves out an account after its first 10,100 records.
func (s *accountStore) collectAll(
	t *testing.T, opts *commerce.SubscriptionListOptions,
) (ids []uuid.UUID, stops int) {
	t.Helper()
	yielded := map[uuid.UUID]bool{}
	for ; stops < 100; stops++ {
		subs, err := commerce.Collect(s.Client(attempts(1)).Subscriptions.All(t.Context(), opts))
		for _, sub := range subs {
			if compareIDs(sub.Attributes.AccountID, opts.After) <= 0 {
				t.Fatalf("got a subscription of account %s after %s", sub.Attributes.AccountID, opts.After)
			}
			yielded[sub.ID] = true
		}
		if err == nil {
			return slices.SortedFunc(maps.Keys(yielded), compareIDs), stops
		}
		stop, ok := errors.AsType[*commerce.PagingError](err)
		if !ok || stop.Seen != len(subs) {
			t.Fatalf("error = %+v after %d records, want a *PagingError", err, len(subs))
		}
		if cause := fmt.Sprintf("%T", stop.Err); strings.Contains(cause, "paging.") {
			t.Errorf("the cause is a %s, want an error that callers know", cause)
		}
		opts = stop.Resume(opts)
		if stop.Account != uuid.Nil {
			opts.Skip = append(opts.Skip, stop.Account)
		}
	}
	t.Fatalf("%d walks ended in an error", stops)
	return nil, stops
}

// A walk is resumed until it ends, whichever walk it is, and whatever stopped it: every record is
// found.
func TestPagingError_resumed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		sizes []int // of the accounts
		opts  commerce.SubscriptionListOptions
		long  bool
	}{
		{name: "by offset", sizes: slices.Repeat([]int{1, 0, 3}, 300)},
		{name: "by account", sizes: slices.Repeat([]int{1, 0, 3}, 300), opts: *byAccount()},
		{name: "by account, one too large", sizes: []int{5, 3, 10_101, 0, 5, 1}, opts: *byAccount()},
		{name: "beyond the limit", sizes: slices.Repeat([]int{90}, 117), long: true},
	} {
		s := newAccountStore(t, tt.sizes...)
		want := s.of(s.accounts...)
		if large := s.subscriptions[s.accounts[2]]; len(large) > 10_100 { // its oldest one is out of reach
			want = slices.DeleteFunc(want, func(id uuid.UUID) bool { return id == large[0] })
		}
		for _, concurrency := range []int{1, 16} {
			if testing.Short() && (tt.long || concurrency == 1) {
				continue // shows nothing about races that the others do not show
			}
			s.ClearFaults()
			for after := 0; after < 20; after += 6 {
				s.Inject(commercetest.Fault{Operation: commercetest.OpList, After: after, Status: 503},
					commercetest.Fault{Operation: commercetest.OpAccounts, After: after, Status: 403})
			}
			s.Inject(commercetest.Fault{Operation: commercetest.OpList, After: 120, Status: 503})
			tt.opts.Concurrency = concurrency
			got, stops := s.collectAll(t, &tt.opts)
			if !slices.Equal(got, want) || stops < 2 {
				t.Errorf("%s, concurrency %d: got %d of %d records after %d errors, want all, after 2 or more",
					tt.name, concurrency, len(got), len(want), stops)
			}
		}
	}
}

// A walk that went on by account does not know yet which of the accounts that it met are listed.
// Resume begins again, because a walk by account would miss the one that is not: without an error.
func TestPagingError_unlisted(t *testing.T) {
	t.Parallel()
	s, accounts := &accountStore{Store: commercetest.New(t, commercetest.Config{})}, sortedIDs(113)
	for _, account := range slices.Backward(accounts) {
		for range 90 {
			s.add(account)
		}
	}
	hidden := accounts[len(accounts)-1] // with the oldest subscriptions, and with the newest
	s.hide(hidden)
	byAccount := func(r commercetest.Request) bool { return strings.Contains(r.RawQuery, "account_id") }
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, Match: byAccount, After: 5, Status: 503})
	client := s.Client(attempts(1))
	got, err := commerce.Collect(client.Subscriptions.All(t.Context(), nil))
	stop, ok := errors.AsType[*commerce.PagingError](err)
	if !ok || stop.Finished == uuid.Nil {
		t.Fatalf("error = %+v after %d records, want a *PagingError with Finished", err, len(got))
	}
	rest, err := commerce.Collect(client.Subscriptions.All(t.Context(), stop.Resume(nil)))
	checkStop(t, err, commerce.PagingError{Seen: len(rest), Err: commerce.ErrOffsetLimit})
	diff(t, "records", len(slices.Compact(idsOf(append(got, rest...)))), 90*len(accounts)+1)
}

// limited returns a store with more subscriptions than a walk by offset reads, and with so many of
// each account. The first of the list are those of the last accounts.
func limited(t *testing.T, subscriptions, each int) *accountStore {
	t.Helper()
	return newAccountStore(t, append(slices.Repeat([]int{each}, subscriptions/each), subscriptions%each)...)
}

// All and Pages read a store of any size, each record once. A walk of 10,100 records that did not
// reach the end costs the requests by account in addition.
func TestAll_anySize(t *testing.T) {
	t.Parallel()
	sizes := []struct{ size, most int }{{10_101, 260}, {25_000, 480}}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, tt := range sizes {
		s := limited(t, tt.size, 3)
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
		if !slices.Equal(ids, want) || finished == uuid.Nil {
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
	s.added = append(s.added, sub.ID)
}

// hide adds a subscription of an account, and takes the account off the list.
func (s *accountStore) hide(account uuid.UUID) {
	s.add(account)
	s.RemoveAccount(account)
}

// restore undoes add and RemoveAccount.
func (s *accountStore) restore() {
	for _, id := range s.added {
		s.RemoveSubscription(id)
	}
	for _, account := range s.accounts {
		s.AddAccount(account)
	}
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
	{
		name: "one is not, and has records beyond the limit", want: limitedSize + 1, hidden: true,
		prepare: func(s *accountStore) { s.hide(s.accounts[0]) },
	},
	{
		name: "one is not, and all of it was read", want: limitedSize, hidden: true,
		prepare: func(s *accountStore) { s.RemoveAccount(s.accounts[len(s.accounts)-2]) },
	},
	{
		name: "one is listed late", want: limitedSize + 1,
		prepare: func(s *accountStore) { s.hide(s.accounts[0]) },
		hook: func(s *accountStore, req *http.Request) {
			if isAccounts(req) && !strings.Contains(req.URL.RawQuery, "sort") {
				s.AddAccount(s.accounts[0])
			}
		},
	},
	{
		name: "a record has no account", want: limitedSize + 1, hidden: true,
		prepare: func(s *accountStore) { s.add(uuid.Nil) },
	},
	{
		name: "one that the walk does not know", want: limitedSize - 90, // documented
		prepare: func(s *accountStore) { s.RemoveAccount(s.accounts[0]) },
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
}

// What a walk knows of accounts that the store does not list. The first of the list are the
// subscriptions that were added last.
func TestAll_unlistedAccounts(t *testing.T) {
	t.Parallel()
	s := limited(t, limitedSize, 90)
	for i, tt := range unlistedAccounts {
		if testing.Short() && i%2 == 0 {
			continue // one request at a time shows nothing about races
		}
		client := s.hooked(func(req *http.Request) {
			if tt.hook != nil {
				tt.hook(s, req)
			}
		})
		for _, byAccount := range []bool{false, true} {
			if byAccount && tt.prepare == nil {
				continue // the account is deleted before that walk has read it
			}
			s.restore()
			if tt.prepare != nil {
				tt.prepare(s)
			}
			opts := &commerce.SubscriptionListOptions{Concurrency: []int{1, 8}[i%2], ByAccount: byAccount}
			got, err := commerce.Collect(client.Subscriptions.All(t.Context(), opts))
			diff(t, tt.name+": records", len(got), tt.want)
			diff(t, tt.name+": different records", len(slices.Compact(idsOf(got))), tt.want)
			if !tt.hidden {
				diff(t, tt.name+": error", err, nil)
				continue
			}
			stop, _ := errors.AsType[*commerce.PagingError](err)
			checkStop(t, err, commerce.PagingError{Seen: tt.want, Finished: stop.Finished, Err: commerce.ErrOffsetLimit})
			diff(t, tt.name+": reason", fmt.Sprint(commerce.ReasonOf(err), " ", commerce.IsFinal(err)), "offset_limit true")
		}
	}
}

func isAccounts(req *http.Request) bool { return req.URL.Path == "/v2/accounts" }

// A walk that cannot go on says why. One that may go on later is not final.
func TestAll_cannotListAccounts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("walks 10,100 records 11 times")
	}
	s := limited(t, 10_101, 90)
	last := func(r commercetest.Request) bool { return !strings.Contains(r.RawQuery, "sort") }
	s.RemoveAccount(s.accounts[len(s.accounts)-2])
	for i, tt := range []struct {
		fault commercetest.Fault
		want  string // the reason, and whether it is final
	}{
		{commercetest.Fault{Status: 404}, "offset_limit true"},
		{commercetest.Fault{Status: 403, After: 1}, "offset_limit true"},
		{commercetest.Fault{Status: 400, Match: last}, "offset_limit true"},
		{commercetest.Fault{Status: 200, Body: `{"data":[{"id":"x"}]}`}, "offset_limit true"},
		{commercetest.Fault{Status: 200, Body: `{"data":[` + elements(2, record) + `]}`}, "offset_limit true"},
		{commercetest.Fault{Status: 200, Body: `{"data":[],"links":{"next":"/x"}}`}, "no_progress false"},
		{commercetest.Fault{Status: 401}, "unauthorized false"},
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
		saysBoth := strings.Contains(stop.Error(), "narrow the filter, or fix this")
		diff(t, what+": both ways out are named", saysBoth, isFirst)
		if e, ok := errors.AsType[*commerce.Error](err); ok && e.Op != "Accounts.IDs" {
			t.Errorf("%s: operation %s, want that of the accounts", what, e.Op)
		}
	}
}

// A walk that stops while it goes on by account says up to which account it is finished, and the
// rest is walked by account. Some of it comes again.
func TestAll_stopsByAccount(t *testing.T) {
	t.Parallel()
	s := limited(t, 10_400, 25)
	seen := 0
	for _, err := range s.Client().Subscriptions.All(t.Context(), &commerce.SubscriptionListOptions{Concurrency: 8}) {
		if seen++; err != nil || seen == 10_250 {
			break // TestMain looks for goroutines that are left
		}
	}
	diff(t, "records before the break", seen, 10_250)
	if testing.Short() {
		return // one request at a time shows nothing about races
	}
	want := s.of(s.accounts...)
	byAccount := func(r commercetest.Request) bool { return strings.Contains(r.RawQuery, "account_id") }
	check := func(what string, got []*commerce.Subscription, err error) {
		t.Helper()
		stop, ok := errors.AsType[*commerce.PagingError](err)
		if !ok || stop.Offset != 0 || stop.Seen != len(got) || stop.Finished == uuid.Nil || commerce.IsFinal(err) {
			t.Fatalf("%s: got %d records, error %+v, want a PagingError with Finished", what, len(got), err)
		}
		after := &commerce.SubscriptionListOptions{After: stop.Finished}
		rest, err := commerce.Collect(s.Client().Subscriptions.All(t.Context(), after))
		diff(t, what+": error", err, nil)
		if ids := slices.Compact(idsOf(append(got, rest...))); !slices.Equal(ids, want) {
			t.Errorf("%s: got %d of %d subscriptions", what, len(ids), len(want))
		}
	}
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, Match: byAccount, After: 30, Status: 403})
	got, err := commerce.Collect(s.Client(attempts(1)).Subscriptions.All(t.Context(), nil))
	check("403", got, err)
	s.Inject(commercetest.Fault{Match: isIn, Status: 400, Times: -1}) // each account is finished by itself
	all := func(ctx context.Context) iter.Seq2[*commerce.Subscription, error] {
		return s.Client().Subscriptions.All(ctx, nil)
	}
	got, err = stopAt(t, 10_399, all)
	check("canceled", got, err)
	// Accounts that are not listed are read last.
	hidden := s.accounts[1:3]
	s.hide(hidden[0])
	s.hide(hidden[1])
	s.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 503, Match: func(r commercetest.Request) bool {
		return strings.Contains(r.RawQuery, hidden[1].String()) && !isIn(r)
	}})
	finished := uuid.Nil
	seen = 0
	for page, last := range s.Client(attempts(1)).Subscriptions.Pages(t.Context(), nil) {
		if err = last; err == nil {
			seen, finished = seen+len(page.Subscriptions), cmp.Or(page.Finished, finished)
			if slices.Contains(hidden, page.Finished) {
				t.Error("a page finishes an account that is not listed")
			}
		}
	}
	checkStop(t, err, commerce.PagingError{Seen: seen, Finished: finished, Err: commerce.ErrServer})
	_, err = stopAt(t, 10_401, all)
	checkStop(t, err, commerce.PagingError{Seen: 10_401, Finished: finished, Err: context.Canceled})
	opts := &commerce.SubscriptionListOptions{After: uuid.Max}
	got, err = commerce.Collect(s.Client().Subscriptions.All(t.Context(), opts))
	checkStop(t, err, commerce.PagingError{Seen: 52, Err: commerce.ErrOffsetLimit})
	diff(t, "after all that are listed", len(slices.Compact(idsOf(got))), 52)
	opts.Skip = hidden // there may be others, as without Skip
	_, err = commerce.Collect(s.Client().Subscriptions.All(t.Context(), opts))
	checkStop(t, err, commerce.PagingError{Err: commerce.ErrOffsetLimit})
}

// A walk by account asks only about accounts that it has not seen in the list, beside two that it
// has. One of these may be deleted meanwhile.
func TestAll_asksAboutUnlisted(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, slices.Repeat([]int{2}, 250)...)
	for hidden, want := range []string{"[]", "[3]", "[4]"} {
		if hidden > 0 {
			s.hide(s.accounts[100*hidden])
		}
		s.AddAccount(s.accounts[249])
		asked := []int{} // number of accounts
		client := s.hooked(func(r *http.Request) {
			if strings.Contains(r.URL.RawQuery, "in%28id") {
				asked = append(asked, strings.Count(r.URL.RawQuery, "%2C"))
				s.RemoveAccount(s.accounts[249])
			}
		})
		got, err := commerce.Collect(client.Subscriptions.All(t.Context(), byAccount()))
		diff(t, "records, error and questions", fmt.Sprint(len(got), err, asked), fmt.Sprint(500+hidden, " <nil> ", want))
	}
}

// A listed account beyond those that a walk remembers is not taken for a hidden one.
func TestAll_manyAccounts(t *testing.T) {
	t.Parallel()
	s := limited(t, 10_200, 120)
	for n := range 1 << 16 { // they come before the others
		s.AddAccount(uuid.UUID{6: 0x40, 8: 0x80, 14: byte(n >> 8), 15: byte(n)})
	}
	for _, opts := range []*commerce.SubscriptionListOptions{nil, byAccount()} {
		got, err := commerce.Collect(s.Client().Subscriptions.All(t.Context(), opts))
		diff(t, "records", fmt.Sprint(err, len(got), len(slices.Compact(idsOf(got)))), "<nil> 10200 10200")
	}
}

// After all accounts, a walk by account cannot find out whether there are others. It says so, and
// does not ask again for ever.
func TestAll_orOthers(t *testing.T) {
	t.Parallel()
	for what, fault := range map[string]commercetest.Fault{
		"accounts by id are refused": {Operation: commercetest.OpAccounts, Status: 400},
		"no account has its id":      {Operation: commercetest.OpAccounts, Status: 200, Body: `{"data":[]}`},
		"accounts of any id": {
			Operation: commercetest.OpAccounts, Status: 200, Body: `{"data":[{"id":"` + itemID + `"}]}`,
		},
		"a record has no id": {Operation: commercetest.OpList, Status: 200, Body: `{"data":[{}]}`},
	} {
		fault.Match = func(r commercetest.Request) bool {
			isByOffset := r.Operation == commercetest.OpList && !strings.Contains(r.RawQuery, "account_id")
			return isByOffset || strings.Contains(r.RawQuery, "in%28id")
		}
		s := newAccountStore(t, 1, 2, 1)
		s.hide(s.accounts[2])
		fault.Times = -1
		s.Inject(fault)
		_, err := commerce.Collect(s.Client(attempts(1)).Subscriptions.All(t.Context(), byAccount()))
		checkStop(t, err, commerce.PagingError{Seen: 3, Finished: s.accounts[1], Err: commerce.ErrOffsetLimit})
		if _, ok := errors.AsType[*commerce.Error](err); !ok && !errors.Is(err, commerce.ErrBadResponse) {
			t.Errorf("%s: error %v, want the cause too", what, err)
		}
	}
}

// An account whose list drifts is in the error, which is not that of the accounts.
func TestAll_driftOfAccount(t *testing.T) {
	t.Parallel()
	s := limited(t, limitedSize, 90)
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

// lastChangeFirst returns a store of two accounts that sorts subscriptions by their last change,
// the last one first. After each of the first requests for subscriptions, two that a walk has not
// read change.
func lastChangeFirst(t *testing.T, requests int32) *accountStore {
	t.Helper()
	s := &accountStore{accounts: sortedIDs(2), subscriptions: map[uuid.UUID][]uuid.UUID{}}
	var mu sync.Mutex
	now := time.Unix(0, 0)
	add := func(id, account uuid.UUID) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		sub := commerce.Subscription{ID: id, Attributes: commerce.SubscriptionAttributes{AccountID: account}}
		sub.Meta.Timestamps.UpdatedAt = now
		s.AddSubscription(sub)
	}
	var count atomic.Int32
	s.Store = commercetest.New(t, commercetest.Config{AfterRequest: func(_ *commercetest.Store, in commercetest.Request) {
		n := count.Load()
		if in.Operation != commercetest.OpList || n == requests || !count.CompareAndSwap(n, n+1) {
			return
		}
		for _, account := range s.accounts {
			id := s.subscriptions[account][n]
			s.RemoveSubscription(id)
			add(id, account)
		}
	}})
	for n := range 350 {
		id, account := uuid.New(), s.accounts[n%2]
		add(id, account)
		s.subscriptions[account] = append(s.subscriptions[account], id)
	}
	return s
}

// If the store sorts by the last change, a walk looks at the start of the list again. One that is
// stopped there begins again.
func TestAll_lastChangeFirst(t *testing.T) {
	t.Parallel()
	for _, opts := range []commerce.SubscriptionListOptions{{}, {Concurrency: 8}, {ByAccount: true}} {
		s := lastChangeFirst(t, 9)
		got, err := commerce.Collect(s.Client().Subscriptions.All(t.Context(), &opts))
		diff(t, "error", err, nil)
		diff(t, fmt.Sprintf("subscriptions with %+v", opts), idsOf(got), s.of(s.accounts...))
	}
	_, err := stopAt(t, 349, func(ctx context.Context) iter.Seq2[*commerce.Subscription, error] {
		return lastChangeFirst(t, 1).Client().Subscriptions.All(ctx, nil)
	})
	checkStop(t, err, commerce.PagingError{Seen: 349, Err: context.Canceled})
}
