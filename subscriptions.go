package commerce

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/transport"
	"github.com/commerce-go/commerce/internal/wire"
)

// SubscriptionService reads subscriptions and changes their state. It is part of a [Client] and
// safe for concurrent use.
type SubscriptionService struct{ core *core }

const subscriptionsPath = "/v2/subscriptions/subscriptions"

// SubscriptionListOptions select the subscriptions to list. A nil pointer and the zero value
// list all subscriptions.
type SubscriptionListOptions struct {
	Filter  SubscriptionFilter
	Include SubscriptionInclude
	// Offset is the number of records to skip, at most MaxOffset. A walk with it ends in
	// [ErrOffsetLimit] at the limit, and does not look at the start of the list again.
	Offset int
	// PageSize is the number of records per page, 1 to MaxPageSize. 0 means the page length
	// setting of the store in List, and MaxPageSize in walks. Walks read at least 2 records per
	// page, because each page overlaps the one before by a record.
	PageSize int
	// Concurrency is the maximum number of page requests in flight in a walk, 1 to
	// MaxConcurrency. 0 means 1: the next page is read while the caller works on the current
	// one. More is faster, but uses more of the rate limit that the whole store shares, see
	// [WithLimiter]. A walk by offset begins with one request in flight and adds one with each full
	// page. It may ask for up to Concurrency-1 pages after the end of the list that a walk with
	// Concurrency 1 does not ask for.
	Concurrency int

	// ByAccount lets All and Pages go by account from the start: in the order of the accounts' ids,
	// with the subscriptions of many accounts in a request. Each subscription that exists from the
	// start of the walk to its end is yielded exactly once, if it keeps its account, and the
	// service lists that all the time; otherwise it may be missed, or come twice. The error of an
	// account that cannot be read names it.
	//
	// After the last account, the walk reads the first 10,100 subscriptions by offset, and which of
	// their accounts are listed: one or two requests for each page. Those of accounts that are not
	// listed come then, also if the ids are before After. If there are any, and more than 10,100 in
	// the list, it reads all of these accounts, and ends in [ErrOffsetLimit]: there may be others.
	//
	// A filter on accounts or an Offset is then a [*ValidationError]. With Concurrency n, up to 2*n
	// pages are in flight or wait for the caller. With Concurrency 1 it is a page, and a request
	// for accounts.
	ByAccount bool
	// After lets a walk by account begin with the first account whose id is greater, e.g. than the
	// Finished of a [SubscriptionPage]. It implies ByAccount. The zero UUID is before all ids.
	After uuid.UUID
	// Skip are accounts that a walk by account leaves out, because they cannot be read: see
	// Account in [PagingError]. The zero UUID in it is a [*ValidationError], and so is an account
	// without ByAccount or After.
	Skip []uuid.UUID
}

// SubscriptionPage is a page of a list of subscriptions.
type SubscriptionPage struct {
	Subscriptions []Subscription
	// Included are the resources that [SubscriptionInclude] asked for.
	Included Included
	// Links of the response. The client never follows them.
	Links Links
	// Offset of the first of Subscriptions in the list, when it was read. It is 0 in a walk by
	// account.
	Offset int
	// Finished is set by a walk by account: with this page it has yielded every subscription of
	// the listed accounts up to Finished, except Skip, and none of later accounts. It is the zero
	// UUID on other pages.
	//
	// To go on after a crash, store Finished together with what was written up to this page. Then
	// remove what was written after it, and walk with it as After. A walk that ends without an
	// error has finished all accounts, even if its last page has no Finished.
	Finished uuid.UUID
	// Unlisted is set by a walk by account if the service does not list the accounts of these
	// subscriptions. Such pages come last.
	Unlisted bool
	Response *Response
	// Extra holds other members of the response, e.g. meta.
	Extra Extra
}

func (p *SubscriptionPage) items() []Subscription { return p.Subscriptions }

// SubscriptionResult is a subscription with its related resources.
type SubscriptionResult struct {
	Subscription Subscription
	// Included are the resources that [SubscriptionInclude] asked for.
	Included Included
	Response *Response
	// Extra holds other members of the response, e.g. links.
	Extra Extra
}

// Get reads a subscription, with related resources:
// https://developer.elasticpath.com/docs/api/subscriptions/get-subscription
//
// If there is no subscription with that id, the error matches [ErrNotFound]. A response with
// another subscription, or with more than 10,000 included resources, is an [ErrBadResponse].
// The error is a [*ValidationError] if id is the zero UUID, otherwise an [*Error].
func (s *SubscriptionService) Get(
	ctx context.Context, id uuid.UUID, include SubscriptionInclude,
) (*SubscriptionResult, error) {
	if id == uuid.Nil {
		return nil, invalid("subscription id", "must not be the zero UUID")
	}
	o := s.get("Subscriptions.Get", id, SubscriptionListOptions{Include: include})
	result, r, err := o.do(ctx, s.core)
	if err != nil {
		return nil, err
	}
	result.Response = newResponse(r)
	return result, nil
}

// get returns the request for a subscription. Of opts only Include counts.
func (s *SubscriptionService) get(
	op string, id uuid.UUID, opts SubscriptionListOptions,
) operation[*SubscriptionResult] {
	return operation[*SubscriptionResult]{
		op: op, method: http.MethodGet, path: subscriptionsPath + "/" + id.String(), decides: true,
		vary: func(send func(string) *transport.Result) *transport.Result {
			return s.core.cfg.generation.try(opts, send)
		},
		accept: func(b []byte) (*SubscriptionResult, error) { return readSubscription(b, id) },
		finish: func(result **SubscriptionResult, _ *transport.Result) error {
			s.core.cfg.generation.learn([]Subscription{(*result).Subscription})
			return nil
		},
	}
}

// readSubscription decodes a response that should hold the subscription with that id.
func readSubscription(b []byte, id uuid.UUID) (*SubscriptionResult, error) {
	var body struct {
		Data     *Subscription `json:"data"`
		Included Included      `json:"included"`
		Extra    Extra         `json:",embed"`
	}
	if err := payloads.Unmarshal(b, &body); err != nil {
		return nil, err
	}
	switch {
	case body.Data == nil:
		return nil, errors.New("data is missing, or not an object")
	case body.Data.ID != id:
		return nil, errors.New("data is not the subscription that was asked for")
	}
	if err := checkRelated(&body.Included, body.Extra); err != nil {
		return nil, err
	}
	return &SubscriptionResult{Subscription: *body.Data, Included: body.Included, Extra: body.Extra}, nil
}

// List reads one page: https://developer.elasticpath.com/docs/api/subscriptions/list-subscriptions
//
// If opts is nil, List reads the first page of all subscriptions, with the page length of the
// store. A page with more than 1,000 records, 10,000 included resources or 100,000 JSON values is
// an [ErrBadResponse]; a smaller PageSize helps. So is a record without an id that is a UUID. The
// error is a [*ValidationError] before anything is sent, and an [*Error] after.
func (s *SubscriptionService) List(ctx context.Context, opts *SubscriptionListOptions) (*SubscriptionPage, error) {
	problems := &ValidationError{}
	o := s.check(opts, problems)
	o.checkList(problems)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return s.list(ctx, o, nil)
}

// listBuffers keeps the buffers of calls that belong to no walk.
var listBuffers = sync.Pool{New: func() any { return &transport.Buffers{} }}

// list reads a page. The options were checked. walk has the buffers of a walk.
func (s *SubscriptionService) list(
	ctx context.Context, o SubscriptionListOptions, walk *transport.Buffers,
) (*SubscriptionPage, error) {
	request := operation[*SubscriptionPage]{
		op: "Subscriptions.List", method: http.MethodGet, path: subscriptionsPath,
		vary: func(send func(string) *transport.Result) *transport.Result {
			return s.core.cfg.generation.try(o, send)
		},
		accept: func(b []byte) (*SubscriptionPage, error) { return readPage(b, cmp.Or(o.PageSize, MaxPageSize)) },
		finish: func(page **SubscriptionPage, _ *transport.Result) error {
			subs := (*page).Subscriptions
			err := cmp.Or(o.Filter.checkAccounts(subs), checkIDs(subs))
			s.core.cfg.generation.learn(subs)
			return err
		},
		count: func(page *SubscriptionPage) int { return len(page.Subscriptions) },
	}
	if request.buffers = walk; walk == nil {
		request.buffers = listBuffers.Get().(*transport.Buffers)
		defer listBuffers.Put(request.buffers)
	}
	page, r, err := request.do(ctx, s.core)
	if err != nil {
		return nil, err
	}
	page.Offset, page.Response = o.Offset, newResponse(r)
	return page, nil
}

// checkIDs returns an error if a record has no id.
func checkIDs(subs []Subscription) error {
	for i := range subs {
		if subs[i].ID == uuid.Nil {
			return errors.New("a subscription has no id that is a UUID")
		}
	}
	return nil
}

// listBody is the body of a response to List.
type listBody struct {
	Data     []Subscription `json:"data"`
	Included Included       `json:"included"`
	Links    Links          `json:"links"`
	Extra    Extra          `json:",embed"`
}

// readPage decodes a response that should hold at most size records.
func readPage(b []byte, size int) (*SubscriptionPage, error) {
	const minRecord = 512 // bytes; most records are longer
	body := listBody{Data: make([]Subscription, 0, min(size, len(b)/minRecord))}
	err := payloads.Unmarshal(b, &body)
	if err != nil {
		return nil, err
	}
	err = cmp.Or(checkList(b, len(body.Data), body.Extra), checkRelated(&body.Included, body.Extra))
	if err != nil {
		return nil, err
	}
	return &SubscriptionPage{
		Subscriptions: body.Data, Included: body.Included, Links: body.Links, Extra: body.Extra,
	}, nil
}

// checkRelated checks what a response holds besides its data. It removes an empty list of
// errors from extra.
func checkRelated(included *Included, extra Extra) error {
	if included.len() > maxIncluded {
		return errors.New("more included resources than a response may have; include less, or use a smaller PageSize")
	}
	return checkErrors(extra)
}

// maxLine is the maximum length of the first line of a request, in bytes. Gateways refuse longer
// ones, often from 8 KB on.
const maxLine = 6_000

// lineLength returns the length of the first line of a request for the last page of a walk.
func (s *SubscriptionService) lineLength(o SubscriptionListOptions) int {
	o.Offset, o.PageSize = MaxOffset, MaxPageSize
	return len("GET  HTTP/1.1\r\n") + len(s.core.address(subscriptionsPath, o.query()).RequestURI())
}

// check returns a copy of o, which may be nil, and adds its problems.
func (s *SubscriptionService) check(o *SubscriptionListOptions, problems *ValidationError) SubscriptionListOptions {
	checked := *cmp.Or(o, &SubscriptionListOptions{})
	checked.Filter, checked.Skip = checked.Filter.check(problems), slices.Clone(checked.Skip)
	if checked.Offset < 0 || checked.Offset > MaxOffset {
		problems.add("offset", "must be 0 to "+strconv.Itoa(MaxOffset))
	}
	checkPaging(problems, checked.PageSize, checked.Concurrency)
	longest := checked
	if checked.goesByAccount() && checked.Filter.AccountIDs == nil {
		longest.Filter.AccountIDs = []uuid.UUID{uuid.Max} // a request of the walk has one or more
	}
	if longest.Filter.text() != "" && s.lineLength(longest) > maxLine {
		problems.add("filter", "must be shorter: the request line must not have more than "+strconv.Itoa(maxLine)+
			" bytes; read many accounts in parts, by slices.Chunk")
	}
	return checked
}

// goesByAccount reports whether a walk goes by account from the start.
func (o *SubscriptionListOptions) goesByAccount() bool { return o.ByAccount || o.After != uuid.Nil }

// checkList adds the problems of options that are only for walks.
func (o *SubscriptionListOptions) checkList(problems *ValidationError) {
	const onlyWalks = "must not be set: it is for All and Pages"
	if o.ByAccount {
		problems.add("by account", onlyWalks)
	}
	if o.After != uuid.Nil {
		problems.add("after", onlyWalks)
	}
	if len(o.Skip) > 0 {
		problems.add("skip", onlyWalks)
	}
}

// checkWalk adds the problems of options that depend on the kind of a walk.
func (o *SubscriptionListOptions) checkWalk(problems *ValidationError) {
	if !o.goesByAccount() {
		if len(o.Skip) > 0 {
			problems.add("skip", "must not be set without ByAccount or After")
		}
		return
	}
	if o.Filter.AccountIDs != nil {
		problems.add("filter.account_id", "must not be set in a walk by account")
	}
	if o.Offset != 0 {
		problems.add("offset", "must be 0 in a walk by account, which begins after an account")
	}
	if slices.Contains(o.Skip, uuid.Nil) {
		problems.add("skip", "must not have the zero UUID")
	}
}

// query returns the query of the request, without values that are zero.
func (o *SubscriptionListOptions) query() string {
	q := url.Values{}
	if filter := o.Filter.text(); filter != "" {
		q.Set("filter", filter)
	}
	if include := o.Include.text(); include != "" {
		q.Set("include", include)
	}
	if o.Offset > 0 {
		q.Set("page[offset]", strconv.Itoa(o.Offset))
	}
	if o.PageSize > 0 {
		q.Set("page[limit]", strconv.Itoa(o.PageSize))
	}
	return wire.Query(q)
}

// try makes the request of a read of subscriptions. With All, it makes a second one if the store
// refuses the includes of the generation that it remembers.
func (g *generation) try(o SubscriptionListOptions, send func(query string) *transport.Result) *transport.Result {
	if !o.Include.All {
		return send(o.query())
	}
	var queries [2]string
	for n := range queries {
		o.Include = allIncludes(n == 1)
		queries[n] = o.query()
	}
	return g.rememberedQuery.try(queries, func(body []byte) bool { return !isForeign(body) }, send)
}

// learn corrects what is remembered if a record shows the second generation: a store may refuse its
// own includes once by mistake.
func (g *generation) learn(subs []Subscription) {
	for i := range subs {
		if subs[i].Attributes.PricingOptionID != uuid.Nil {
			g.swap(1)
			return
		}
	}
}
