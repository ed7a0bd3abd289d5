package commerce_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/bits"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
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

// A walk yields what is in the list, but not what belongs to an account that is not listed.
func TestAllByAccount(t *testing.T) {
	t.Parallel()
	commercetest.EachGeneration(t, commercetest.Config{}, func(t *testing.T, s *commercetest.Store) {
		s.Seed(200)
		s.AddAccount(uuid.New()) // without subscriptions
		c := s.Client()
		var removed uuid.UUID
		for sub := range s.Subscriptions() {
			removed = sub.Attributes.AccountID
		}
		s.RemoveAccount(removed)
		var want []uuid.UUID
		for sub := range s.Subscriptions() {
			if sub.Attributes.AccountID != removed {
				want = append(want, sub.ID)
			}
		}
		slices.SortFunc(want, compareIDs)
		for _, opts := range []*commerce.SubscriptionListOptions{
			nil, {PageSize: 7}, {Concurrency: 8}, {PageSize: 1, Concurrency: 16},
		} {
			got, err := commerce.Collect(c.Subscriptions.AllByAccount(t.Context(), nil, opts))
			if err != nil {
				t.Fatalf("options %+v: %v", opts, err)
			}
			diff(t, "subscriptions", idsOf(got), want)
		}
	})
}

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

func TestAllByAccount_validation(t *testing.T) {
	t.Parallel()
	id := numberedID(1)
	for _, tt := range []struct {
		name string
		opts commerce.SubscriptionListOptions
		want []string // fields
	}{
		{
			name: "account", want: []string{"filter.account_id"},
			opts: commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{AccountID: id}},
		},
		{
			name: "accounts", want: []string{"filter.account_id"},
			opts: commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{AccountIDs: []uuid.UUID{id}}},
		},
		{name: "offset", opts: commerce.SubscriptionListOptions{Offset: 1}, want: []string{"offset"}},
		{
			name: "a filter without space for an account", want: []string{"filter"},
			opts: commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{Name: strings.Repeat("x", 8150)}},
		},
		{
			name: "others", want: []string{"filter.name", "page size", "concurrency"},
			opts: commerce.SubscriptionListOptions{
				Filter: commerce.SubscriptionFilter{Names: []string{""}}, PageSize: 101, Concurrency: 17,
			},
		},
	} {
		r := &recorder{respond: respond(200, emptyList)}
		c := newClient(t, r)
		_, allErr := commerce.Collect(c.Subscriptions.AllByAccount(t.Context(), nil, &tt.opts))
		_, pagesErr := commerce.Collect(c.Subscriptions.PagesByAccount(t.Context(), nil, &tt.opts))
		for _, err := range []error{allErr, pagesErr} {
			diff(t, "invalid fields: "+tt.name, invalidFields(err), tt.want)
			r.checkRefused(t, err, "")
		}
	}
}

// Options are copied, all requests have the other filters, and only pages have includes.
func TestPagesByAccount_options(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{})
	s.Seed(60)
	opts := &commerce.SubscriptionListOptions{
		Filter:   commerce.SubscriptionFilter{ExternalRefs: []string{"order-000003", "order-000050"}},
		Include:  commerce.SubscriptionInclude{Plans: true},
		PageSize: 7,
	}
	all := s.Client().Subscriptions.AllByAccount(t.Context(), nil, opts)
	pages := s.Client().Subscriptions.PagesByAccount(t.Context(), nil, opts)
	if len(s.Requests()) > 0 {
		t.Error("got a request before the loop, want none")
	}
	opts.Filter.ExternalRefs[0], opts.PageSize, opts.Include.Products = "order-000004", 1, true
	var refs []string
	for sub, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, sub.Attributes.ExternalRef)
	}
	var included int
	for page, err := range pages {
		if err != nil {
			t.Fatal(err)
		}
		included += len(page.Included.Plans)
		for _, sub := range page.Subscriptions {
			refs = append(refs, sub.Attributes.ExternalRef)
		}
		if page.Offset != 0 || page.Response.StatusCode != 200 || page.Links == nil {
			t.Errorf("got page %+v, want one without an offset, with response and links", page)
		}
	}
	slices.Sort(refs)
	diff(t, "refs", refs, []string{"order-000003", "order-000003", "order-000050", "order-000050"})
	var includes []string
	for _, r := range s.Requests() {
		if query := parseQuery(t, r.RawQuery); r.Operation == commercetest.OpList {
			includes = append(includes, query.Get("include")+" "+query.Get("page[limit]"))
		}
	}
	half := len(includes) / 2 // of each walk
	want := slices.Concat(slices.Repeat([]string{" 7"}, half), slices.Repeat([]string{"plans 7"}, half))
	diff(t, "include and limit of each request", includes, want)
	if included == 0 {
		t.Error("got no plans, want some")
	}
}

// The first line of a request has at most 6,000 bytes.
func TestAllByAccount_requestLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		path string // of the base address
		opts commerce.SubscriptionListOptions
		max  int // bytes
	}{
		{name: "no options", max: 6_000},
		{
			name: "all includes", max: 6_000,
			opts: commerce.SubscriptionListOptions{
				PageSize: 10, Concurrency: 8,
				Include: commerce.SubscriptionInclude{Plans: true, Products: true, PricingOptions: true},
			},
		},
		{name: "a long path", path: strings.Repeat("/path", 500), max: 6_000},
		{
			name: "a long filter", max: 6_000,
			opts: commerce.SubscriptionListOptions{
				Filter: commerce.SubscriptionFilter{Names: []string{strings.Repeat("ö", 400), strings.Repeat("a", 3_000)}},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{respond: respond(200, emptyList)}
			c, err := commerce.New(baseURL+tt.path,
				commerce.WithToken(token), commerce.WithHTTPClient(&http.Client{Transport: r}))
			if err != nil {
				t.Fatal(err)
			}
			accounts := sortedIDs(400)
			walk := c.Subscriptions.AllByAccount(t.Context(), sequence(nil, accounts...), &tt.opts)
			if _, err := commerce.Collect(walk); err != nil {
				t.Fatal(err)
			}
			longest, named := 0, 0
			for _, written := range r.written {
				line, _, _ := strings.Cut(written, "\n")
				longest = max(longest, len(line)+1)
				for _, account := range accounts {
					named += strings.Count(line, account.String())
				}
			}
			if longest > tt.max || longest < tt.max-100 && tt.max == 6_000 {
				t.Errorf("the longest request line has %d bytes, want nearly %d", longest, tt.max)
			}
			diff(t, "accounts in all requests", named, len(accounts))
		})
	}
}

// However long the filter is, no line is too long. The walk is refused if there is no line for a
// single account.
func TestAllByAccount_longFilters(t *testing.T) {
	t.Parallel()
	perLine := map[int]bool{}
	for n := 5_600; ; n++ {
		r := &recorder{respond: respond(200, emptyList)}
		opts := &commerce.SubscriptionListOptions{PageSize: 100}
		opts.Filter.Email = strings.Repeat("a", n)
		walk := newClient(t, r).Subscriptions.AllByAccount(t.Context(), sequence(nil, sortedIDs(8)...), opts)
		_, err := commerce.Collect(walk)
		if err != nil {
			diff(t, "invalid fields", invalidFields(err), []string{"filter"})
			r.checkRefused(t, err, opts.Filter.Email)
			break
		}
		for _, written := range r.written {
			line, _, _ := strings.Cut(written, "\n")
			perLine[strings.Count(line, "%2C")] = true
			if longest := len(line + "\n&page%5Boffset%5D=10000"); longest > 6_000 {
				t.Fatalf("a filter of %d bytes: at the highest offset a line of %d bytes, want at most 6,000", n, longest)
			}
		}
	}
	if len(perLine) < 4 {
		t.Errorf("got %d numbers of accounts in a line, want at least 4", len(perLine))
	}
}

// A page with Finished is the last one of the accounts up to it. TestModel_parts checks the walk,
// and TestAllByAccount_errors goes on after Finished.
func TestPagesByAccount_finished(t *testing.T) {
	t.Parallel()
	refusesMany := func(r commercetest.Request) bool { return strings.Count(r.RawQuery, "%2C") > 10 }
	for _, tt := range []struct {
		name    string
		sizes   []int
		opts    commerce.SubscriptionListOptions
		refuses func(commercetest.Request) bool
	}{
		{
			name: "several parts", sizes: append([]int{0, 1, 99, 100, 101, 0, 250, 3}, slices.Repeat([]int{1}, 500)...),
			opts: commerce.SubscriptionListOptions{PageSize: 7, Concurrency: 8},
		},
		{name: "10 accounts at a time", sizes: slices.Repeat([]int{1, 0, 2}, 30), refuses: refusesMany},
		// Before the end of a part that is halved, subscriptions of later accounts are yielded.
		{name: "too many subscriptions", sizes: slices.Repeat([]int{300, 0, 1}, 40)},
	} {
		s := newAccountStore(t, tt.sizes...)
		if tt.refuses != nil {
			s.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 400, Times: -1, Match: tt.refuses})
		}
		var yielded []*commerce.Subscription
		var last uuid.UUID
		for page, err := range s.Client().Subscriptions.PagesByAccount(t.Context(), nil, &tt.opts) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range page.Subscriptions {
				yielded = append(yielded, &page.Subscriptions[i])
			}
			if page.Finished != uuid.Nil {
				last = page.Finished
				diff(t, tt.name+": yielded up to "+last.String(), idsOf(yielded), s.upTo(last))
			}
		}
		diff(t, tt.name+": last Finished", last, s.accounts[len(s.accounts)-1])
	}
}

// A store may refuse several accounts in a filter, or more than a number of them.
func TestAllByAccount_refusedFilter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		status  int
		accepts int // accounts
	}{
		{name: "400 for several", status: 400, accepts: 1},
		{name: "413 for several", status: 413, accepts: 1},
		{name: "414 for several", status: 414, accepts: 1},
		{name: "431 for several", status: 431, accepts: 1},
		{name: "400 for more than 10", status: 400, accepts: 10},
	} {
		for _, concurrency := range []int{1, 8} {
			s := newAccountStore(t, slices.Repeat([]int{1, 0, 3, 2}, 100)...)
			s.Inject(commercetest.Fault{
				Operation: commercetest.OpList, Status: tt.status, Times: -1,
				Match: func(r commercetest.Request) bool {
					return isIn(r) && strings.Count(r.RawQuery, "%2C") > tt.accepts
				},
			})
			opts := &commerce.SubscriptionListOptions{Concurrency: concurrency}
			got, err := commerce.Collect(s.Client().Subscriptions.AllByAccount(t.Context(), nil, opts))
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			diff(t, tt.name, idsOf(got), s.of(s.accounts...))
			// A part is halved until the store accepts it: half of what it accepts in the worst
			// case.
			parts := len(s.accounts)
			if tt.accepts > 1 {
				parts = 2*len(s.accounts)/tt.accepts + concurrency
			}
			n, most := len(s.listed()), parts+1+bits.Len(uint(len(s.accounts)))
			t.Logf("%s, concurrency %d: %d requests for %d accounts", tt.name, concurrency, n, len(s.accounts))
			if n > most {
				t.Errorf("%s: got %d requests, want at most %d", tt.name, n, most)
			}
		}
	}
}

// If the number of accounts is not the reason, the first error ends the walk, and no account is
// blamed: not the first one, and not one in the middle, after a request with only its account.
func TestAllByAccount_refusedAll(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		after, requests int
	}{
		{name: "at once", requests: 1},
		{name: "in the middle", after: 3, requests: 5},
	} {
		s := newAccountStore(t, slices.Repeat([]int{1}, 300)...)
		s.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 400, After: tt.after, Times: -1})
		_, err := commerce.Collect(s.Client().Subscriptions.AllByAccount(t.Context(), nil, nil))
		stop, ok := errors.AsType[*commerce.PagingError](err)
		if !ok || stop.Account != uuid.Nil || !errors.Is(err, commerce.ErrBadRequest) {
			t.Fatalf("%s: error %+v, want ErrBadRequest and no account", tt.name, err)
		}
		listed := s.listed()
		if e, ok := errors.AsType[*commerce.Error](err); !ok || e.RequestID != listed[tt.after].ID ||
			len(listed) != tt.requests {
			t.Errorf("%s: got %d requests, error %v, want %d and that of the first refused one",
				tt.name, len(listed), err, tt.requests)
		}
	}
}

// A sequence may read all accounts before it yields its error: none of them is finished.
func TestAllByAccount_errorOfAnotherWalk(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, slices.Repeat([]int{1}, 250)...)
	s.Inject(commercetest.Fault{Operation: commercetest.OpAccounts, After: 2, Status: 403})
	c := s.Client()
	accounts := func(yield func(uuid.UUID, error) bool) {
		if ids, err := commerce.Collect(c.Accounts.IDs(t.Context(), uuid.Nil)); err != nil {
			yield(uuid.Nil, err)
		} else {
			t.Errorf("got %d accounts, want an error", len(ids))
		}
	}
	_, err := commerce.Collect(c.Subscriptions.AllByAccount(t.Context(), accounts, nil))
	checkStop(t, err, commerce.PagingError{Err: commerce.ErrForbidden})
}

// An error that the caller wrapped is returned with what the caller added.
func TestAllByAccount_wrappedError(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, 1)
	wrapped := fmt.Errorf("read the accounts: %w", &commerce.PagingError{Seen: 7, Err: commerce.ErrForbidden})
	accounts := func(yield func(uuid.UUID, error) bool) { yield(uuid.Nil, wrapped) }
	_, err := commerce.Collect(s.Client().Subscriptions.AllByAccount(t.Context(), accounts, nil))
	stop, ok := errors.AsType[*commerce.PagingError](err)
	if !ok || stop.Err != wrapped || stop.Seen != 0 { //nolint:errorlint // the error itself, not what it wraps
		t.Errorf("got error %#v, want a PagingError whose Err is %v", err, wrapped)
	}
}

// A walk is canceled at each record. Every subscription up to Finished was yielded by then, and a
// walk of the accounts after it yields the rest.
func TestAllByAccount_finishedWhenCanceled(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, 3, 0, 5, 1, 4, 2)
	c := s.Client()
	subscriptions := s.of(s.accounts...)
	for at := 1; at < len(subscriptions); at++ {
		for _, pageSize := range []int{4, 100} {
			opts := &commerce.SubscriptionListOptions{PageSize: pageSize}
			ctx, cancel := context.WithCancel(t.Context())
			var yielded []*commerce.Subscription
			var last error
			for sub, err := range c.Subscriptions.AllByAccount(ctx, nil, opts) {
				if last = err; err == nil {
					yielded = append(yielded, sub)
				}
				if len(yielded) == at {
					cancel()
				}
			}
			cancel()
			stop, ok := errors.AsType[*commerce.PagingError](last)
			if !ok || !errors.Is(last, context.Canceled) {
				t.Fatalf("canceled at record %d: got error %v, want %v", at, last, context.Canceled)
			}
			rest, err := commerce.Collect(
				c.Subscriptions.AllByAccount(t.Context(), c.Accounts.IDs(t.Context(), stop.Finished), opts))
			if err != nil {
				t.Fatal(err)
			}
			got := idsOf(append(yielded, rest...))
			slices.SortFunc(got, compareIDs)
			diff(t, fmt.Sprintf("canceled at record %d, pages of %d: subscriptions", at, pageSize),
				slices.Compact(got), subscriptions)
		}
	}
}

// Also if the context ends between two records, the error has the account that was finished last.
func TestAllByAccount_canceledLater(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, slices.Repeat([]int{1}, 500)...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var finished uuid.UUID
	for page, err := range s.Client().Subscriptions.PagesByAccount(t.Context(), nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if finished = page.Finished; finished != uuid.Nil {
			break
		}
	}
	at := len(s.upTo(finished)) + 1
	n, last := 0, error(nil)
	for _, err := range s.Client().Subscriptions.AllByAccount(ctx, nil, nil) {
		if last = err; err == nil {
			n++
		}
		if n == at {
			cancel()
		}
	}
	checkStop(t, last, commerce.PagingError{Seen: at, Finished: finished, Err: context.Canceled})
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

// Whenever an error ends the walk, its fields say what was yielded, and another walk yields
// the rest.
func TestAllByAccount_errors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		want   error
	}{
		{status: 401, want: commerce.ErrUnauthorized},
		{status: 403, want: commerce.ErrForbidden},
		{status: 429, want: commerce.ErrRateLimited},
		{status: 500, want: commerce.ErrServer},
	} {
		for _, operation := range []commercetest.Operation{commercetest.OpAccounts, commercetest.OpList} {
			for _, concurrency := range []int{1, 8} {
				s := newAccountStore(t, slices.Repeat([]int{1, 0, 3}, 100)...)
				for after := 0; after < 20; after += 3 {
					s.Inject(commercetest.Fault{Operation: operation, After: after, Status: tt.status})
				}
				s.checkResumes(t, &commerce.SubscriptionListOptions{Concurrency: concurrency}, tt.want)
			}
		}
	}
}

// checkResumes walks until no error is left, each time after the last account that was
// finished, and checks each walk.
func (s *accountStore) checkResumes(t *testing.T, opts *commerce.SubscriptionListOptions, want error) {
	t.Helper()
	c := s.Client(attempts(1))
	yielded := map[uuid.UUID]bool{}
	var finished uuid.UUID
	for stops := 0; ; stops++ {
		accounts := c.Accounts.IDs(t.Context(), finished)
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
		checkStop(t, err, commerce.PagingError{Seen: len(subs), Finished: stop.Finished, Err: want})
		if _, isNested := errors.AsType[*commerce.PagingError](stop.Err); isNested {
			t.Errorf("error %v has a PagingError in a PagingError", err)
		}
		if stop.Finished != uuid.Nil {
			finished = stop.Finished
		}
		for _, id := range s.upTo(finished) {
			if !yielded[id] {
				t.Fatalf("subscription %s was not yielded up to account %s", id, finished)
			}
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

// A shopper's token cannot list accounts, but it can read its own.
func TestAllByAccount_shopper(t *testing.T) {
	t.Parallel()
	s := newAccountStore(t, 2, 3)
	own := s.accounts[1]
	form := url.Values{"grant_type": {"implicit"}, "client_id": {s.Config().ClientID}}
	body := strings.NewReader(form.Encode())
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/oauth/access_token", body)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	var issued struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &issued); err != nil {
		t.Fatal(err)
	}
	c := s.Client(commerce.WithToken(issued.AccessToken),
		commerce.WithHeader("EP-Account-Management-Authentication-Token", s.AccountToken(own)))
	_, err := commerce.Collect(c.Subscriptions.AllByAccount(t.Context(), nil, nil))
	checkStop(t, err, commerce.PagingError{Err: commerce.ErrForbidden})
	got, err := commerce.Collect(c.Subscriptions.AllByAccount(t.Context(), sequence(nil, own), nil))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "subscriptions", idsOf(got), s.of(own))
}

// The number of requests for a store is a small part of the number of its accounts.
func TestAllByAccount_requests(t *testing.T) {
	t.Parallel()
	const subscriptions, most = 25_000, 480
	s := newAccountStore(t, append(slices.Repeat([]int{3}, subscriptions/3), subscriptions%3)...)
	for _, concurrency := range []int{1, 8} {
		before := len(s.Requests())
		opts := &commerce.SubscriptionListOptions{Concurrency: concurrency}
		got, err := commerce.Collect(s.Client().Subscriptions.AllByAccount(t.Context(), nil, opts))
		if err != nil {
			t.Fatal(err)
		}
		n := len(s.Requests()) - before
		t.Logf("%d subscriptions, %d accounts, concurrency %d: %d requests", len(got), len(s.accounts), concurrency, n)
		if !slices.Equal(idsOf(got), s.of(s.accounts...)) || n > most {
			t.Errorf("concurrency %d: got %d subscriptions in %d requests, want %d, each once, in at most %d",
				concurrency, len(got), n, subscriptions, most)
		}
	}
}
