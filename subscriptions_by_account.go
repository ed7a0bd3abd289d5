package commerce

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/paging"
)

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
	return records(ctx, s.PagesByAccount(ctx, accounts, opts.withoutInclude()), (*SubscriptionPage).items,
		func(stop *PagingError, page *SubscriptionPage, n int) {
			if n == len(page.Subscriptions) && page.Finished != uuid.Nil {
				stop.Finished = page.Finished
			}
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
// accounts are finished, even if the last page does not say so.
func (s *SubscriptionService) PagesByAccount(
	ctx context.Context, accounts iter.Seq2[uuid.UUID, error], opts *SubscriptionListOptions,
) iter.Seq2[*SubscriptionPage, error] {
	problems := &ValidationError{}
	o := s.checkByAccount(opts, problems)
	if err := problems.err(); err != nil {
		return func(yield func(*SubscriptionPage, error) bool) { yield(nil, err) }
	}
	return withPagingError(s.parts(ctx, accounts, o))
}

// checkByAccount is check for a walk by account.
func (s *SubscriptionService) checkByAccount(
	o *SubscriptionListOptions, problems *ValidationError,
) SubscriptionListOptions {
	c := *cmp.Or(o, &SubscriptionListOptions{})
	if c.Filter.AccountID != uuid.Nil || c.Filter.AccountIDs != nil {
		problems.add("filter.account_id", "must not be set in a walk by account")
	}
	if c.Offset != 0 {
		problems.add("offset", "must be 0 in a walk by account: resume after an account")
	}
	c.Filter.AccountID, c.Filter.AccountIDs = uuid.Max, nil // the request line has at least one account
	c = s.check(&c, problems)
	c.Filter.AccountID = uuid.Nil
	return c
}

// parts walks the subscriptions of accounts.
func (s *SubscriptionService) parts(
	ctx context.Context, accounts iter.Seq2[uuid.UUID, error], o SubscriptionListOptions,
) iter.Seq2[*SubscriptionPage, error] {
	reader := &walkReader{SubscriptionService: s}
	var keys func(context.Context) iter.Seq2[uuid.UUID, error]
	if accounts != nil {
		keys = func(context.Context) iter.Seq2[uuid.UUID, error] { return withoutZero(accounts) }
	}
	return paging.Parts(ctx, paging.PartsConfig[*SubscriptionPage, uuid.UUID, uuid.UUID]{
		Keys:    keys,
		KeyList: (&AccountService{s.core}).list(uuid.Nil),
		MaxKeys: s.accountsPerRequest(o),
		Fetch: func(ctx context.Context, accounts []uuid.UUID, offset, limit int) (*SubscriptionPage, error) {
			part := o
			part.Filter.AccountIDs, part.Offset, part.PageSize = accounts, offset, limit
			return reader.fetch(ctx, part)
		},
		TooManyKeys: func(err error) bool {
			e, ok := errors.AsType[*Error](err)
			return ok && slices.Contains(tooManyAccounts, e.StatusCode)
		},
		OfOneKey:    isOfOneAccount,
		Finish:      func(page *SubscriptionPage, account uuid.UUID) { page.Finished = account },
		Pages:       subscriptionPages,
		Limit:       cmp.Or(o.PageSize, MaxPageSize),
		MaxOffset:   MaxOffset,
		MaxLimit:    MaxPageSize,
		Concurrency: max(1, o.Concurrency),
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
// The options were checked with one account.
func (s *SubscriptionService) accountsPerRequest(o SubscriptionListOptions) int {
	lineWith := func(n int) int {
		o.Filter.AccountIDs = make([]uuid.UUID, n)
		return s.lineLength(o)
	}
	two := lineWith(2)
	each := lineWith(3) - two
	return max(1, (maxLine-(two-2*each))/each) // a line with one has another form, and is longer
}
