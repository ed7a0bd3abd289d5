package commerce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/paging"
	"github.com/commerce-go/commerce/internal/transport"
)

// All walks the list from opts.Offset to its end, record by record, however long it is. An offset
// reaches 10,100 records; beyond, the walk goes on by account, see [SubscriptionService.Pages].
// With ByAccount it does so from the start. It includes no related resources; use Pages for them.
//
// Each record that is in the list from the start of the walk to its end is yielded exactly once,
// even if others are added or removed, as long as the store shows where the list ends, see Pages,
// and the order of those that stay does not change. If the records do not prove their order, a walk
// from Offset 0 reads the start of the list again, usually with one request. Then a list sorted by
// the last change loses none, or ends in [ErrListDrift], if each record has the time of it. A walk
// may miss records if the list is sorted by something else that changes, such as a name. With
// Concurrency, it may miss some if the last change is at the end, and several change at once.
//
// An error ends the walk, after all records of the pages before it: a [*ValidationError] if opts
// are invalid, otherwise a [*PagingError], which can be resumed. A page that is too large (see
// [SubscriptionService.List]), or has a record twice, ends in [ErrBadResponse].
//
// With opts.Concurrency, several pages are read at a time; the records and their order stay the
// same. Nothing is sent before the loop starts, and nothing is in flight when it ends. Each loop is
// a new walk, and several goroutines may loop at the same time. opts are copied. The caller may
// keep the records; a pointer to a record keeps its page in memory.
func (s *SubscriptionService) All(ctx context.Context, opts *SubscriptionListOptions) iter.Seq2[*Subscription, error] {
	o := *cmp.Or(opts, &SubscriptionListOptions{})
	o.Include = SubscriptionInclude{}
	return eachLoop(s, &o, func(w *subscriptionWalk) iter.Seq2[*Subscription, error] {
		return w.records(ctx, w.pages(ctx))
	})
}

// Pages walks the list page by page, with related resources. The rules for order, errors and
// concurrency are the same as for [SubscriptionService.All].
//
// The Subscriptions of a page are the records that were not yielded before, at least one. Offset is
// the place of the first of them in the list. Included and Links come from the response.
//
// Without links, one or two more requests confirm the end of the list. A walk may end early,
// without an error, in two cases. A shortened page states that it is the last. Or the store sends
// no links, and pages near the end have one record, or a length that no page had before.
//
// Beyond the offset limit, pages are like in a walk by account: first those of the accounts that
// the service lists, then of the other accounts of the first 10,100 records. A subscription of any
// other account is missed there.
//
// The walk ends in [ErrOffsetLimit]
//   - at the limit, if opts have an Offset or a filter on accounts, or the service does not list
//     accounts for this token, or not in the order of their ids,
//   - at an account that has more than 10,100 subscriptions,
//   - at the end, if an account with subscriptions is not listed, or if the walk cannot find out,
//     e.g. because a record has no readable account. It may have missed other accounts.
func (s *SubscriptionService) Pages(
	ctx context.Context, opts *SubscriptionListOptions,
) iter.Seq2[*SubscriptionPage, error] {
	return eachLoop(s, opts, func(w *subscriptionWalk) iter.Seq2[*SubscriptionPage, error] { return w.pages(ctx) })
}

// eachLoop checks options, and returns a sequence each of whose loops is a new walk.
func eachLoop[T any](
	s *SubscriptionService, opts *SubscriptionListOptions, begin func(*subscriptionWalk) iter.Seq2[T, error],
) iter.Seq2[T, error] {
	problems := &ValidationError{}
	o := s.check(opts, problems)
	o.checkWalk(problems)
	o.PageSize, o.Concurrency = cmp.Or(o.PageSize, MaxPageSize), max(1, o.Concurrency)
	return func(yield func(T, error) bool) {
		if err := problems.err(); err != nil {
			yield(*new(T), err)
			return
		}
		begin(&subscriptionWalk{SubscriptionService: s, opts: o, byAccount: o.goesByAccount()})(yield)
	}
}

// Resume returns a copy of opts, for a walk that goes on where the walk with opts stopped. Records
// may come again, after the offset limit all of them. None is missed, except by a walk by offset if
// the list has changed in between, see Offset.
//
// A walk by account goes on after Finished, and a walk by offset at Offset. The walk begins again
// after All and Pages have passed the offset limit, and after [ErrOffsetLimit], if opts have an
// Offset. If a filter on accounts selects more than an offset reaches, no walk can go on.
//
// Look at the cause first. If [IsFinal] is true, the walk ends in the same way, with two
// exceptions. One with an Offset that ended in ErrOffsetLimit begins again. To leave out Account,
// set ByAccount and add Account to Skip.
func (e *PagingError) Resume(opts *SubscriptionListOptions) *SubscriptionListOptions {
	o := *cmp.Or(opts, &SubscriptionListOptions{})
	o.Skip = slices.Clone(o.Skip)
	switch {
	case o.goesByAccount():
		o.After = cmp.Or(e.Finished, o.After)
	case errors.Is(e.Err, ErrOffsetLimit) && o.Filter.AccountIDs == nil:
		o.Offset = 0
	default:
		o.Offset = min(e.Offset, MaxOffset)
	}
	return &o
}

// maxListed is how many listed accounts a walk remembers, in a MiB. It asks about others.
const maxListed = 1 << 16

// subscriptionWalk is a loop over subscriptions.
type subscriptionWalk struct {
	*SubscriptionService
	opts      SubscriptionListOptions
	buffers   transport.Buffers
	begun     atomic.Bool // a request was made
	byAccount bool

	listed   []uuid.UUID            // accounts that the service lists, in the order of their ids
	ofNobody map[uuid.UUID]struct{} // yielded before the first records, without a readable account

	// What the first records show, those that an offset reaches:
	yielded    map[uuid.UUID]struct{}     // their ids
	isUnproven bool                       // a walk must begin at 0 to find all
	accounts   map[uuid.UUID]accountState // their accounts
	isLast     bool                       // the walk reads the accounts that are not read yet
	isHidden   atomic.Bool                // one that is hidden has a subscription
}

// accountState is what a walk knows about an account.
type accountState uint8

const (
	accountRead   accountState = iota // the walk read it, or began after it
	accountLate                       // the service lists it since the walk has passed it
	accountHidden                     // the service does not list it
)

// records yields the records of pages.
func (w *subscriptionWalk) records(
	ctx context.Context, pages iter.Seq2[*SubscriptionPage, error],
) iter.Seq2[*Subscription, error] {
	return records(ctx, pages, (*SubscriptionPage).items, func(stop *PagingError, page *SubscriptionPage, n int) {
		if stop.Offset = page.Offset + n; w.byAccount || w.isUnproven {
			stop.Offset = 0
		}
		if n == len(page.Subscriptions) {
			stop.Finished = cmp.Or(page.Finished, stop.Finished)
		}
	})
}

// pages walks the list by account, or by offset. At the offset limit, it goes on by account.
func (w *subscriptionWalk) pages(ctx context.Context) iter.Seq2[*SubscriptionPage, error] {
	return func(yield func(*SubscriptionPage, error) bool) {
		seen, finished := 0, uuid.Nil
		w.all(ctx, func(page *SubscriptionPage, err error) bool {
			if err != nil {
				return yield(nil, w.stopped(err, seen, finished))
			}
			seen, finished = seen+len(page.Subscriptions), cmp.Or(page.Finished, finished)
			return yield(page, nil)
		})
	}
}

// all yields the subscriptions of the first records, if the walk begins by offset, then of all
// accounts that the service lists, then of other accounts of the first records. An error is the
// last value.
func (w *subscriptionWalk) all(ctx context.Context, yield func(*SubscriptionPage, error) bool) {
	if !w.byAccount && !w.first(ctx, yield) {
		return
	}
	w.byAccount = true
	if !w.read(ctx, w.accountList(), yield) || w.opts.goesByAccount() && !w.first(ctx, yield) {
		return
	}
	isUnknown := w.accounts[uuid.Nil] == accountHidden
	var ids []uuid.UUID // not read yet
	for account, state := range w.accounts {
		if state != accountRead && account != uuid.Nil {
			ids = append(ids, account)
		}
	}
	slices.SortFunc(ids, compareIDs)
	if err := w.askListed(ctx, ids); err != nil {
		yield(nil, err)
		return
	}
	w.isLast = true
	list := w.accountList()
	list.After, list.Limit = uuid.Nil, len(ids)+1 // so that the page is not full, and the last one
	list.Fetch = func(context.Context, uuid.UUID, int) (paging.KeyPage[uuid.UUID], error) {
		return paging.KeyPage[uuid.UUID]{IDs: ids, Next: paging.NextNone}, nil
	}
	if w.read(ctx, list, yield) && (isUnknown || w.isHidden.Load()) {
		yield(nil, &paging.Error{Err: fmt.Errorf("%w: an account with subscriptions is not listed", ErrOffsetLimit)})
	}
}

// orOthers returns the error of a walk by account that has read all accounts, but cannot find out
// whether there are others: nobody can leave out what fails by Skip.
func orOthers(err error) error {
	e, isCall := errors.AsType[*Error](err)
	isForbidden := isCall && e.StatusCode == http.StatusForbidden // the accounts were listed before
	if isForbidden || !isOfOneAccount(err) && !cannotList(err) {
		return err
	}
	return &paging.Error{Err: fmt.Errorf("%w: an account with subscriptions may be not listed: %w", ErrOffsetLimit, err)}
}

// first yields the first records, in a walk by account only those whose account the service does
// not list. It reports whether the walk can go on after them.
func (w *subscriptionWalk) first(ctx context.Context, yield func(*SubscriptionPage, error) bool) (goesOn bool) {
	w.yielded, w.accounts = map[uuid.UUID]struct{}{}, map[uuid.UUID]accountState{}
	canGoOn := w.opts.Offset == 0 && w.opts.Filter.AccountIDs == nil
	for page, err := range paging.Walk(ctx, paging.Config[*SubscriptionPage, uuid.UUID]{
		Fetch: func(ctx context.Context, offset, limit int) (*SubscriptionPage, error) {
			return w.fetch(ctx, w.opts.Filter.AccountIDs, offset, limit)
		},
		Pages: subscriptionPages, Yielded: w.yielded, Unproven: &w.isUnproven, Concurrency: w.opts.Concurrency,
		Offset: w.opts.Offset, Limit: w.opts.PageSize, MaxOffset: MaxOffset, MaxLimit: MaxPageSize,
	}) {
		if canGoOn && errors.Is(err, ErrOffsetLimit) {
			return true
		}
		if err == nil && canGoOn {
			err = w.learn(ctx, page)
		}
		if err != nil && w.byAccount {
			err = orOthers(err)
		}
		if (err != nil || len(page.Subscriptions) > 0) && (!yield(page, err) || err != nil) {
			return false
		}
	}
	return false
}

// learn remembers the accounts of a page. In a walk by account, it removes the subscriptions of
// those that were read.
func (w *subscriptionWalk) learn(ctx context.Context, page *SubscriptionPage) error {
	var others []uuid.UUID
	for i := range page.Subscriptions {
		account := page.Subscriptions[i].Attributes.AccountID
		_, isListed := slices.BinarySearchFunc(w.listed, account, compareIDs)
		if _, isKnown := w.accounts[account]; isKnown || isListed {
			continue
		}
		if w.accounts[account] = accountHidden; account != uuid.Nil {
			others = append(others, account)
		}
	}
	if !w.byAccount {
		return nil
	}
	slices.SortFunc(others, compareIDs)
	err := w.askListed(ctx, others)
	page.Offset, page.Unlisted = 0, true
	page.Subscriptions = slices.DeleteFunc(page.Subscriptions, func(sub Subscription) bool {
		account := sub.Attributes.AccountID
		_, isYielded := w.ofNobody[sub.ID]
		if isYielded || w.accounts[account] == accountRead {
			return true
		}
		w.isHidden.CompareAndSwap(false, w.isOfHidden(sub))
		return slices.Contains(w.opts.Skip, account)
	})
	return err
}

// read yields the subscriptions of accounts. It reports whether it yielded all.
func (w *subscriptionWalk) read(
	ctx context.Context, accounts paging.KeysConfig[uuid.UUID], yield func(*SubscriptionPage, error) bool,
) bool {
	w.ofNobody = map[uuid.UUID]struct{}{}
	for page, err := range w.parts(ctx, accounts) {
		if err == nil {
			w.rememberNobodys(page)
		}
		if !yield(page, err) || err != nil {
			return false
		}
	}
	return true
}

func (w *subscriptionWalk) rememberNobodys(page *SubscriptionPage) {
	for i := range page.Subscriptions {
		if sub := &page.Subscriptions[i]; sub.Attributes.AccountID == uuid.Nil {
			w.ofNobody[sub.ID] = struct{}{}
		}
	}
}

// askListed asks which of these accounts the service lists, as its list may lag. It asks for two
// that were listed too, as one may be deleted: it is not documented that a filter selects accounts
// by their ids, and without that all would seem hidden, and come twice.
func (w *subscriptionWalk) askListed(ctx context.Context, accounts []uuid.UUID) error {
	service := &AccountService{w.core}
	if len(w.listed) == 0 && len(accounts) > 0 {
		page, err := service.idsAfter(ctx, uuid.Nil, 1)
		if err != nil {
			return &paging.Error{Err: err}
		}
		w.listed = page.IDs
	}
	control := w.listed[max(0, len(w.listed)-2):]
	isControl := func(id uuid.UUID) bool { return slices.Contains(control, id) }
	for some := range slices.Chunk(accounts, MaxPageSize-2) {
		some = slices.Concat(some, control)
		listed, err := service.listed(ctx, some)
		isOther := func(id uuid.UUID) bool { return !slices.Contains(some, id) }
		isIgnored := len(control) > 0 && !slices.ContainsFunc(listed, isControl) || slices.ContainsFunc(listed, isOther)
		if err == nil && isIgnored {
			err = matching(ErrBadResponse, errors.New("the service does not select accounts by their ids"))
		}
		if err != nil {
			return &paging.Error{Err: err}
		}
		for _, account := range listed {
			w.accounts[account] = accountRead
			if len(w.listed) < maxListed && !isControl(account) && compareIDs(account, w.opts.After) > 0 {
				w.accounts[account] = accountLate
			}
		}
	}
	return nil
}

// stopped returns the error of a walk after that many records. finished is the last account that a
// page finished.
func (w *subscriptionWalk) stopped(err error, seen int, finished uuid.UUID) *PagingError {
	stop := newPagingError(err)
	if stop.Seen = seen; w.byAccount {
		stop.Offset = 0
	}
	if stop.Finished == uuid.Nil || w.isLast {
		stop.Finished = finished
	}
	if w.byAccount && !w.opts.goesByAccount() && stop.Account == uuid.Nil && cannotList(stop.Err) {
		stop.Err = fmt.Errorf("%w, or fix this, as the walk then goes on by account: %w", ErrOffsetLimit, stop.Err)
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
	mayPass := e.RetryAfter > 0 || e.StatusCode != http.StatusForbidden && isTemporary(e.StatusCode)
	isRefused := e.StatusCode >= 400 && !mayPass
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
	if err == nil && w.isLast {
		page.Unlisted = true
		w.isHidden.CompareAndSwap(false, slices.ContainsFunc(page.Subscriptions, w.isOfHidden))
	}
	return page, err
}

// isOfHidden reports whether a subscription belongs to an account that is not listed. One whose
// account cannot be read may.
func (w *subscriptionWalk) isOfHidden(sub Subscription) bool {
	return w.accounts[sub.Attributes.AccountID] == accountHidden || sub.Attributes.AccountID == uuid.Nil
}

// accountList describes the accounts that the service lists, from where the walk begins.
func (w *subscriptionWalk) accountList() paging.KeysConfig[uuid.UUID] {
	return (&AccountService{w.core}).list(w.opts.After)
}

// parts walks the subscriptions of accounts, but for those to skip.
func (w *subscriptionWalk) parts(
	ctx context.Context, accounts paging.KeysConfig[uuid.UUID],
) iter.Seq2[*SubscriptionPage, error] {
	return paging.Parts(ctx, paging.PartsConfig[*SubscriptionPage, uuid.UUID, uuid.UUID]{
		KeyList: accounts,
		Listed: func(account uuid.UUID) (isRead bool) {
			if !w.isLast {
				if len(w.listed) < maxListed {
					w.listed = append(w.listed, account)
				}
				delete(w.accounts, account)
			}
			return !slices.Contains(w.opts.Skip, account)
		},
		MaxKeys: w.accountsPerRequest(w.opts),
		Fetch:   w.fetch,
		TooManyKeys: func(err error) bool {
			e, ok := errors.AsType[*Error](err)
			return ok && slices.Contains(tooManyAccounts, e.StatusCode)
		},
		OfOneKey: isOfOneAccount,
		Before:   w.yielded,
		Finish: func(page *SubscriptionPage, account uuid.UUID) {
			if !w.isLast {
				page.Finished = account
			}
		},
		Pages: subscriptionPages, Concurrency: w.opts.Concurrency,
		Limit: w.opts.PageSize, MaxOffset: MaxOffset, MaxLimit: MaxPageSize,
	})
}

// tooManyAccounts are the statuses of a refused filter, and of a request line that is too long.
var tooManyAccounts = []int{
	http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong,
	http.StatusRequestHeaderFieldsTooLarge,
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
	Compare: compareIDs,
	Times: func(p *SubscriptionPage, i int) (created, updated time.Time) {
		times := &p.Subscriptions[i].Meta.Timestamps
		return times.CreatedAt, times.UpdatedAt
	},
}
