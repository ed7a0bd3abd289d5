package commerce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/paging"
	"github.com/commerce-go/commerce/internal/transport"
)

// All walks the list from opts.Offset to its end, record by record, however long it is. It includes
// no related resources; use [SubscriptionService.Pages] for them.
//
// Each record that is in the list from the start of the walk to its end is yielded exactly once,
// even if other records are added or removed meanwhile, as long as the order of the records that
// stay does not change, and the store shows where the list ends: see [SubscriptionService.Pages].
//
// An offset reaches 10,100 records. Beyond them, the walk goes on by account, in the order of
// [SubscriptionService.AllByAccount], with the exceptions that Pages describes.
//
// An error ends the walk. It is yielded last, after all records of the pages before it: a
// [*ValidationError] if opts are invalid, otherwise a [*PagingError], which says where another
// walk can resume. A change of the order that the walk notices ends in [ErrListDrift]. A page that
// is too large (see [SubscriptionService.List]), or has a record twice or without a UUID, ends in
// [ErrBadResponse].
//
// With opts.Concurrency, several pages are read at a time; the records and their order stay the
// same. Nothing is sent before the loop starts, and nothing is in flight when it ends. Each loop is
// a new walk, and several goroutines may loop at the same time. opts are copied. The caller may
// keep the records; a pointer to a record keeps its page in memory.
func (s *SubscriptionService) All(ctx context.Context, opts *SubscriptionListOptions) iter.Seq2[*Subscription, error] {
	return eachLoop(s.check, opts.withoutInclude(), func(o SubscriptionListOptions) iter.Seq2[*Subscription, error] {
		w := &subscriptionWalk{SubscriptionService: s, opts: o}
		return w.records(ctx, w.pages(ctx))
	})
}

// withoutInclude returns a copy of o that includes nothing. o may be nil.
func (o *SubscriptionListOptions) withoutInclude() *SubscriptionListOptions {
	c := *cmp.Or(o, &SubscriptionListOptions{})
	c.Include = SubscriptionInclude{}
	return &c
}

// Pages walks the list page by page, with related resources. The rules for order, errors and
// concurrency are the same as for [SubscriptionService.All].
//
// The Subscriptions of a page are the records that were not yielded before, at least one. Offset is
// the place of the first of them in the list. Included and Links come from the response.
//
// Without links, one or two more requests confirm the end of the list. The walk may end early,
// without an error, if a store has no links and shortens pages near the end to one record or to
// lengths that it did not use before, or if a shortened page states that it is the last.
//
// Beyond the offset limit, pages are like in PagesByAccount: first those of the accounts that the
// service lists, then of the other accounts of the first 10,100 records. A subscription of any
// other account is missed there.
//
// The walk ends in [ErrOffsetLimit]
//   - at the limit, if opts have an Offset or a filter on accounts, or the service does not list
//     accounts for this token, or not in the order of their ids,
//   - at an account that has 10,100 subscriptions or more,
//   - after all that it found, if an unlisted or unreadable account has subscriptions: there may be
//     more such accounts.
func (s *SubscriptionService) Pages(
	ctx context.Context, opts *SubscriptionListOptions,
) iter.Seq2[*SubscriptionPage, error] {
	return eachLoop(s.check, opts, func(o SubscriptionListOptions) iter.Seq2[*SubscriptionPage, error] {
		w := &subscriptionWalk{SubscriptionService: s, opts: o}
		return w.pages(ctx)
	})
}

// AllByAccount walks the subscriptions of accounts, however many there are, like
// [SubscriptionService.All]. If accounts is nil, it walks the whole store: all accounts of
// [AccountService.IDs]. No id may occur twice in accounts, except right after itself.
//
// Each subscription that exists from the start of the walk to its end, and whose account is one
// of accounts, is yielded exactly once. A walk of the whole store does not see subscriptions of
// accounts that the service does not list.
//
// opts.Filter may select by other fields than the account. A filter on accounts and an Offset are
// a [*ValidationError]. At most opts.Concurrency requests are in flight, and twice as many pages
// are in flight or wait for the caller. With Concurrency 1 it is a page and a request for accounts.
//
// All other errors are a [*PagingError]. To resume, pass the accounts after its Finished:
// Accounts.IDs(ctx, Finished), unless accounts is a sequence of your own. Subscriptions of later
// accounts are then yielded again; use [SubscriptionService.PagesByAccount] to avoid that. If one
// account cannot be read, e.g. because it has 10,100 subscriptions or more ([ErrOffsetLimit]),
// the error names it in Account. To go on without it, pass the accounts after it.
//
// accounts is read ahead, by one goroutine. An error of it, or a zero UUID, ends the walk after
// the accounts before it. The loop ends only after accounts has yielded an id or returned.
func (s *SubscriptionService) AllByAccount(
	ctx context.Context, accounts iter.Seq2[uuid.UUID, error], opts *SubscriptionListOptions,
) iter.Seq2[*Subscription, error] {
	return eachLoop(s.checkByAccount, opts.withoutInclude(),
		func(o SubscriptionListOptions) iter.Seq2[*Subscription, error] {
			w := &subscriptionWalk{SubscriptionService: s, opts: o, byAccount: true}
			return w.records(ctx, withPagingError(w.parts(ctx, accounts)))
		})
}

// PagesByAccount is like [SubscriptionService.AllByAccount], but yields pages, with related
// resources. The Subscriptions of a page are those that were not yielded before, at least one.
// Offset is always 0.
//
// If the Finished of a page is not zero, every subscription of this account and of the
// accounts before it is yielded with this page, and none of later accounts. To be able to
// resume after a crash, store Finished together with what is written up to this page, and
// remove what was written after it before you resume. When the walk ends without an error, all
// accounts are finished, even if the last page has no Finished.
func (s *SubscriptionService) PagesByAccount(
	ctx context.Context, accounts iter.Seq2[uuid.UUID, error], opts *SubscriptionListOptions,
) iter.Seq2[*SubscriptionPage, error] {
	return eachLoop(s.checkByAccount, opts, func(o SubscriptionListOptions) iter.Seq2[*SubscriptionPage, error] {
		w := &subscriptionWalk{SubscriptionService: s, opts: o}
		return withPagingError(w.parts(ctx, accounts))
	})
}

// eachLoop checks options, and returns a sequence each of whose loops is a new walk.
func eachLoop[T any](
	check func(*SubscriptionListOptions, *ValidationError) SubscriptionListOptions, opts *SubscriptionListOptions,
	begin func(SubscriptionListOptions) iter.Seq2[T, error],
) iter.Seq2[T, error] {
	problems := &ValidationError{}
	o := check(opts, problems)
	o.PageSize, o.Concurrency = cmp.Or(o.PageSize, MaxPageSize), max(1, o.Concurrency)
	return func(yield func(T, error) bool) {
		if err := problems.err(); err != nil {
			yield(*new(T), err)
			return
		}
		begin(o)(yield)
	}
}

// checkByAccount is check for a walk by account.
func (s *SubscriptionService) checkByAccount(
	o *SubscriptionListOptions, problems *ValidationError,
) SubscriptionListOptions {
	c := *cmp.Or(o, &SubscriptionListOptions{})
	if c.Filter.AccountIDs != nil {
		problems.add("filter.account_id", "must not be set in a walk by account")
	}
	if c.Offset != 0 {
		problems.add("offset", "must be 0 in a walk by account: resume after an account")
	}
	c.Filter.AccountIDs = []uuid.UUID{uuid.Max} // the request line has at least one account
	c = s.check(&c, problems)
	c.Filter.AccountIDs = nil
	return c
}

// subscriptionWalk is a loop over subscriptions.
type subscriptionWalk struct {
	*SubscriptionService
	opts      SubscriptionListOptions
	buffers   transport.Buffers
	begun     atomic.Bool // a request was made
	byAccount bool

	// What a walk by offset needs to go on by account:
	yielded  map[uuid.UUID]struct{} // ids of its records
	accounts map[uuid.UUID]struct{} // of its records, without those that the service lists
	mu       sync.Mutex             // guards accounts while the service lists others
	isLast   bool                   // it reads these accounts
	isHidden atomic.Bool            // one of them has a subscription
}

// records yields the records of pages.
func (w *subscriptionWalk) records(
	ctx context.Context, pages iter.Seq2[*SubscriptionPage, error],
) iter.Seq2[*Subscription, error] {
	return records(ctx, pages, (*SubscriptionPage).items, func(stop *PagingError, page *SubscriptionPage, n int) {
		if stop.Offset = page.Offset + n; w.byAccount {
			stop.Offset = 0
		}
		if n == len(page.Subscriptions) && page.Finished != uuid.Nil {
			stop.Finished = page.Finished
		}
		if w.isLast { // what was finished before is so no longer
			stop.Finished = w.finished(stop.Finished)
		}
	})
}

// finished returns the account up to which all subscriptions are yielded: that one, or none if an
// account that is not listed comes before it. A walk of the accounts that follow would miss those.
func (w *subscriptionWalk) finished(account uuid.UUID) uuid.UUID {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.accounts {
		if compareAccounts(id, account) <= 0 || w.isLast {
			return uuid.Nil
		}
	}
	return account
}

// pages walks the list by offset. At the offset limit, it goes on by account.
func (w *subscriptionWalk) pages(ctx context.Context) iter.Seq2[*SubscriptionPage, error] {
	w.yielded, w.accounts = map[uuid.UUID]struct{}{}, map[uuid.UUID]struct{}{}
	byOffset := paging.Walk(ctx, paging.Config[*SubscriptionPage, uuid.UUID]{
		Fetch: func(ctx context.Context, offset, limit int) (*SubscriptionPage, error) {
			return w.fetch(ctx, w.opts.Filter.AccountIDs, offset, limit)
		},
		Pages:       subscriptionPages,
		Offset:      w.opts.Offset,
		Limit:       w.opts.PageSize,
		MaxOffset:   MaxOffset,
		MaxLimit:    MaxPageSize,
		Concurrency: w.opts.Concurrency,
		Yielded:     w.yielded,
	})
	canGoOn := w.opts.Offset == 0 && w.opts.Filter.AccountIDs == nil
	return func(yield func(*SubscriptionPage, error) bool) {
		for page, err := range withPagingError(byOffset) {
			if canGoOn && errors.Is(err, ErrOffsetLimit) {
				w.goOn(ctx, yield)
				return
			}
			if err == nil && canGoOn {
				for i := range page.Subscriptions {
					w.accounts[page.Subscriptions[i].Attributes.AccountID] = struct{}{}
				}
			}
			if !yield(page, err) {
				return
			}
		}
	}
}

// goOn yields what a walk by offset did not reach: first of the accounts that the service lists,
// then of the others that the walk knows.
func (w *subscriptionWalk) goOn(ctx context.Context, yield func(*SubscriptionPage, error) bool) {
	w.byAccount = true
	seen := len(w.yielded)
	stop := func(err error) { yield(nil, w.stopped(err, seen)) }
	read := func(accounts iter.Seq2[uuid.UUID, error]) (isRead bool) {
		for page, err := range w.parts(ctx, accounts) {
			if err != nil {
				stop(err)
				return false
			}
			seen += len(page.Subscriptions)
			if !yield(page, nil) {
				return false
			}
		}
		return true
	}
	if !read(nil) {
		return
	}
	_, isUnknown := w.accounts[uuid.Nil]
	delete(w.accounts, uuid.Nil)
	others := slices.SortedFunc(maps.Keys(w.accounts), compareAccounts)
	for some := range slices.Chunk(others, MaxPageSize) { // a list may lag: ask for them
		listed, err := (&AccountService{w.core}).listed(ctx, some)
		if err != nil {
			stop(&paging.Error{Err: err})
			return
		}
		for _, account := range listed {
			delete(w.accounts, account)
		}
	}
	w.isLast = true
	isRead := read(func(yield func(uuid.UUID, error) bool) {
		for _, account := range others {
			if !yield(account, nil) {
				return
			}
		}
	})
	if isRead && (isUnknown || w.isHidden.Load()) {
		stop(&paging.Error{Err: fmt.Errorf("%w: an account with subscriptions is not listed", ErrOffsetLimit)})
	}
}

// stopped returns the error of a walk that went on by account.
func (w *subscriptionWalk) stopped(err error, seen int) *PagingError {
	stop := newPagingError(err)
	stop.Seen, stop.Finished = seen, w.finished(stop.Finished)
	if stop.Account == uuid.Nil && cannotList(stop.Err) {
		stop.Err = matching(ErrOffsetLimit, stop.Err)
	}
	return stop
}

// cannotList reports whether an error that concerns no single account shows that the service does
// not list the accounts for this token, or not in the order of their ids.
func cannotList(err error) bool {
	e, isCall := errors.AsType[*Error](err)
	if !isCall {
		return errors.Is(err, ErrListDrift)
	}
	mayPass := e.RetryAfter > 0 || slices.Contains([]int{401, 408, 429}, e.StatusCode)
	isRefused := e.StatusCode >= 400 && e.StatusCode <= 499 && !mayPass
	return e.Op == opAccountIDs && (isRefused || errors.Is(err, ErrBadResponse))
}

// fetch reads a page. With All, the first request finds out what to include. No other is in flight
// then, and in a walk by account it is for a single account, so that a store does not refuse it for
// having several.
func (w *subscriptionWalk) fetch(
	ctx context.Context, accounts []uuid.UUID, offset, limit int,
) (*SubscriptionPage, error) {
	o := w.opts
	o.Filter.AccountIDs, o.Offset, o.PageSize = accounts, offset, limit
	if w.begun.Swap(true) && o.Include.All {
		o.Include = w.core.cfg.generation.includes()
	}
	page, err := w.list(ctx, o, &w.buffers)
	if err == nil && w.isLast && slices.ContainsFunc(page.Subscriptions, w.isOfHidden) {
		w.isHidden.Store(true)
	}
	return page, err
}

// isOfHidden reports whether a subscription belongs to an account that is not listed. One whose
// account cannot be read may.
func (w *subscriptionWalk) isOfHidden(sub Subscription) bool {
	_, isHidden := w.accounts[sub.Attributes.AccountID]
	return isHidden || sub.Attributes.AccountID == uuid.Nil
}

// parts walks the subscriptions of accounts. nil means those that the service lists.
func (w *subscriptionWalk) parts(
	ctx context.Context, accounts iter.Seq2[uuid.UUID, error],
) iter.Seq2[*SubscriptionPage, error] {
	var keys func(context.Context) iter.Seq2[uuid.UUID, error]
	if accounts != nil {
		keys = func(context.Context) iter.Seq2[uuid.UUID, error] { return withoutZero(accounts) }
	}
	return paging.Parts(ctx, paging.PartsConfig[*SubscriptionPage, uuid.UUID, uuid.UUID]{
		Keys:    keys,
		KeyList: (&AccountService{w.core}).list(uuid.Nil),
		Listed: func(account uuid.UUID) {
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.accounts, account)
		},
		MaxKeys: w.accountsPerRequest(w.opts),
		Fetch:   w.fetch,
		TooManyKeys: func(err error) bool {
			e, ok := errors.AsType[*Error](err)
			return ok && slices.Contains(tooManyAccounts, e.StatusCode)
		},
		OfOneKey:    isOfOneAccount,
		Before:      w.yielded,
		Finish:      func(page *SubscriptionPage, account uuid.UUID) { page.Finished = w.finished(account) },
		Pages:       subscriptionPages,
		Limit:       w.opts.PageSize,
		MaxOffset:   MaxOffset,
		MaxLimit:    MaxPageSize,
		Concurrency: w.opts.Concurrency,
	})
}

// tooManyAccounts are the statuses of a refused filter, and of a request line that is too long.
var tooManyAccounts = []int{
	http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
	http.StatusRequestHeaderFieldsTooLarge,
}

// withoutZero ends in an error at a zero UUID.
func withoutZero(accounts iter.Seq2[uuid.UUID, error]) iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) {
		for id, err := range accounts {
			if err == nil && id == uuid.Nil {
				err = invalid("accounts", "must not have the zero UUID")
			}
			if !yield(id, err) {
				return
			}
		}
	}
}

// accountsPerRequest returns the number of accounts that the first line of a request can name.
// It is at least 1.
func (s *SubscriptionService) accountsPerRequest(o SubscriptionListOptions) int {
	lineWith := func(n int) int {
		o.Filter.AccountIDs = slices.Repeat([]uuid.UUID{uuid.Max}, n)
		return s.lineLength(o)
	}
	two := lineWith(2)
	each := lineWith(3) - two
	return max(1, (maxLine-(two-2*each))/each) // a line with one has another form, and is longer
}

// subscriptionPages says how a walk uses pages of subscriptions.
var subscriptionPages = paging.Pages[*SubscriptionPage, uuid.UUID]{
	Look: func(p *SubscriptionPage) ([]uuid.UUID, paging.Next) {
		return idsOf(p.Subscriptions, func(sub *Subscription) uuid.UUID { return sub.ID }), p.Links.next()
	},
	Keep: func(p *SubscriptionPage, indexes []int, offset int) {
		p.Subscriptions, p.Offset = paging.Kept(p.Subscriptions, indexes), offset
	},
	Repeats: errRepeats,
}
