package commerce

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/paging"
	"github.com/commerce-go/commerce/internal/transport"
	"github.com/commerce-go/commerce/internal/wire"
)

// SubscriptionService lists subscriptions. It is part of a [Client], and safe
// for concurrent use.
type SubscriptionService struct{ core *core }

// SubscriptionListOptions say which subscriptions to list, and how. A nil
// pointer and the zero value list all.
type SubscriptionListOptions struct {
	Filter  SubscriptionFilter
	Include SubscriptionInclude
	// Offset of the first record to read, in records from zero; at most MaxOffset.
	// Also where a stopped walk resumes: see [PagingError].
	Offset int
	// PageSize is the number of records in a page, 1 to MaxPageSize. 0: the store's
	// page length setting in List, MaxPageSize in Pages and All. These read at
	// least 2 at a time, of which one is the overlap.
	PageSize int
	// Concurrency is the number of page requests in flight in Pages and All, 1 to
	// MaxConcurrency. 0 means 1: the next page is read while the consumer works on
	// the one in hand. More is faster where the store allows it, and takes from the
	// rate limit that the store's shop shares: see [WithLimiter]. It grows to that
	// number by one with each full page, so that a walk wastes no request on a list of
	// less than 2*PageSize-1 records, and at most Concurrency-1 on a longer one.
	Concurrency int
}

// SubscriptionFilter selects subscriptions by equality (specification, section
// 4.2). Zero fields do not filter; of several, all must hold.
type SubscriptionFilter struct {
	// AccountID of the owning account. Zero does not filter: check an id that you were
	// given, or you list the whole store.
	AccountID uuid.UUID
	// Name and Email, of the subscriber as far as is known, and ExternalRef, as the
	// service matches them. Any text is safe, up to 8 KB in all, percent-encoded.
	Name, Email, ExternalRef string
}

// SubscriptionInclude selects what comes along with the subscriptions.
//
// What belongs to the other payload generation than the store's may be refused
// with [ErrBadRequest], or left out. A store of the second generation has
// subscriptions with a PricingOptionID.
type SubscriptionInclude struct {
	Plans bool
	// Products of the first payload generation.
	Products bool
	// PricingOptions of the second payload generation; the specification does not know them.
	PricingOptions bool
}

// SubscriptionPage is a page of subscriptions (specification, section 2.5).
type SubscriptionPage struct {
	// Subscriptions of the page, in the order of the list.
	Subscriptions []Subscription
	// Included holds the resources asked for with [SubscriptionInclude].
	Included Included
	// Links of the answer (section 2.5). They are never followed.
	Links Links
	// Offset of the first record in Subscriptions, in the list as it was read.
	Offset int
	// Response is the HTTP answer.
	Response *Response
	// Extra holds members of the answer that this type does not name, e.g. meta.
	Extra Extra
}

// maxFilter is the service's limit on the filter of a request, in bytes.
const maxFilter = 8 << 10

// check checks o against section 8. It returns a copy to work with.
func (o *SubscriptionListOptions) check(ctx context.Context) (SubscriptionListOptions, error) {
	if o == nil {
		o = &SubscriptionListOptions{}
	}
	faults := &ValidationError{}
	if ctx == nil {
		faults.add("ctx", "must not be nil")
	}
	for _, text := range []struct{ field, value string }{
		{"filter.name", o.Filter.Name}, {"filter.email", o.Filter.Email}, {"filter.external_ref", o.Filter.ExternalRef},
	} {
		if !utf8.ValidString(text.value) {
			faults.add(text.field, "must be valid UTF-8")
		}
	}
	if len(url.QueryEscape(o.Filter.text())) > maxFilter {
		faults.add("filter", "must not be longer than 8 KB, percent-encoded")
	}
	if o.Offset < 0 || o.Offset > MaxOffset {
		faults.add("offset", "must be 0 to "+strconv.Itoa(MaxOffset))
	}
	if o.PageSize < 0 || o.PageSize > MaxPageSize {
		faults.add("page size", "must be 1 to "+strconv.Itoa(MaxPageSize)+", or 0 for the default")
	}
	if o.Concurrency < 0 || o.Concurrency > MaxConcurrency {
		faults.add("concurrency", "must be 1 to "+strconv.Itoa(MaxConcurrency)+", or 0 for the default")
	}
	return *o, faults.err()
}

// query returns the query of the request; zero values are left out.
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

// text returns the filter in the service's grammar, not yet percent-encoded;
// "" if it does not filter.
func (f SubscriptionFilter) text() string {
	var conditions []wire.Equal
	if f.AccountID != uuid.Nil {
		conditions = append(conditions, wire.Equal{Field: "account_id", Value: f.AccountID.String()})
	}
	for _, text := range []wire.Equal{{Field: "name", Value: f.Name}, {Field: "email", Value: f.Email}, {Field: "external_ref", Value: f.ExternalRef}} {
		if text.Value != "" {
			conditions = append(conditions, text)
		}
	}
	return wire.Filter(conditions)
}

// text returns the value of the include parameter; "" if nothing is included.
func (i SubscriptionInclude) text() string {
	var names []string
	if i.Plans {
		names = append(names, "plans")
	}
	if i.Products {
		names = append(names, "products")
	}
	if i.PricingOptions {
		names = append(names, "pricing_options")
	}
	return strings.Join(names, ",")
}

// List reads one page: GET /v2/subscriptions/subscriptions (specification,
// section 4.2). It makes one call, repeated after faults as [RetryPolicy] says.
//
// A record without a readable id has the zero ID. A nil opts means the first
// page of all, of the store's page length; opts is not changed. Errors are a
// [*ValidationError] before anything is sent, and an [*Error] after.
func (s *SubscriptionService) List(ctx context.Context, opts *SubscriptionListOptions) (*SubscriptionPage, error) {
	o, err := opts.check(ctx)
	if err != nil {
		return nil, err
	}
	return s.list(ctx, &o, nil)
}

// list makes the call with options that were checked. buffers may be nil.
func (s *SubscriptionService) list(ctx context.Context, o *SubscriptionListOptions,

	buffers *transport.Buffers,
) (*SubscriptionPage, error) {
	u := s.core.address("/v2/subscriptions/subscriptions", o.query())
	call := s.core.call("Subscriptions.List", transport.Replayable, http.MethodGet, u, nil)
	var page *SubscriptionPage
	call.Accept = func(b []byte) (err error) {
		page, err = readList(b, cmp.Or(o.PageSize, MaxPageSize))
		return err
	}
	call.Buffers = buffers
	r := s.core.send(ctx, call)
	if !r.OK() {
		return nil, fail(call, r)
	}
	page.Offset, page.Response = o.Offset, newResponse(r)
	return page, nil
}

// listBody is the body of a response to List.
type listBody struct {
	Data     []Subscription `json:"data"`
	Included Included       `json:"included"`
	Links    Links          `json:"links"`
	Extra    Extra          `json:",embed"`
}

// readList decodes a response that should hold a page of at most size records.
func readList(b []byte, size int) (*SubscriptionPage, error) {
	const short = 512 // bytes of a record that is shorter than most
	l := listBody{Data: make([]Subscription, 0, min(size, len(b)/short))}
	err := payloads.Unmarshal(b, &l)
	if err != nil {
		return nil, err
	}
	if len(l.Data) == 0 { // it was allocated above: not nil even if the response has no list
		var list struct {
			Data []struct{} `json:"data"`
		}
		if payloads.Unmarshal(b, &list) != nil || list.Data == nil {
			return nil, errors.New("data is missing, or not an array of objects")
		}
	}
	if l.Included.len() > maxIncluded {
		return nil, errors.New("more included resources than a response may have")
	}
	for name, raw := range l.Extra {
		if !strings.EqualFold(name, "errors") {
			continue
		}
		if len(newErrorObjects(raw)) > 0 {
			return nil, errors.New("a success with errors in it")
		}
		delete(l.Extra, name)
	}
	return &SubscriptionPage{Subscriptions: l.Data, Included: l.Included, Links: l.Links, Extra: l.Extra}, nil
}

// Pages walks the list page by page, with what each page includes. It is
// [SubscriptionService.All] for those who need included resources: the same
// promise, bounds and errors. A page's Subscriptions are those not yielded before,
// at least one, and its Offset is that of the first of them; Included and Links are
// as they came.
func (s *SubscriptionService) Pages(ctx context.Context, opts *SubscriptionListOptions) iter.Seq2[*SubscriptionPage, error] {
	o, err := opts.check(ctx)
	if err != nil {
		return func(yield func(*SubscriptionPage, error) bool) { yield(nil, err) }
	}
	if o.PageSize == 0 {
		o.PageSize = MaxPageSize
	}
	buffers := &transport.Buffers{}
	walk := paging.Walk(ctx, paging.Config[Subscription, uuid.UUID, *SubscriptionPage]{
		Fetch: func(ctx context.Context, offset, limit int) (paging.Page[Subscription, *SubscriptionPage], error) {
			part := o
			part.Offset, part.PageSize = offset, limit
			return s.fetch(ctx, &part, buffers)
		},
		ID:        func(sub *Subscription) uuid.UUID { return sub.ID },
		Offset:    o.Offset,
		Limit:     o.PageSize,
		MaxOffset: MaxOffset,
		MaxLimit:  MaxPageSize,

		Concurrency: max(1, o.Concurrency),
	})
	return func(yield func(*SubscriptionPage, error) bool) {
		for chunk, err := range walk {
			if stop := (*paging.Stop)(nil); errors.As(err, &stop) {
				yield(nil, &PagingError{Offset: stop.Offset, Seen: stop.Seen, Err: stop.Err})
				return
			}
			chunk.Info.Subscriptions, chunk.Info.Offset = chunk.Items, chunk.Offset
			if !yield(chunk.Info, nil) {
				return
			}
		}
	}
}

// fetch reads a page for a walk, which can't go on without ids.
func (s *SubscriptionService) fetch(ctx context.Context, o *SubscriptionListOptions,

	buffers *transport.Buffers,
) (paging.Page[Subscription, *SubscriptionPage], error) {
	var none paging.Page[Subscription, *SubscriptionPage]
	page, err := s.list(ctx, o, buffers)
	if err != nil {
		return none, err
	}
	for i := range page.Subscriptions {
		if page.Subscriptions[i].ID == uuid.Nil {
			return none, &Error{
				Op:         "Subscriptions.List",
				StatusCode: page.Response.StatusCode,
				Outcome:    OutcomeNone,
				RequestID:  page.Response.RequestID,
				Attempts:   page.Response.Attempts,
				Err:        badResponse(errors.New("a subscription has no id that is a UUID")),
			}
		}
	}
	return paging.Page[Subscription, *SubscriptionPage]{
		Items: page.Subscriptions, Next: page.Links.next(), Info: page,
	}, nil
}

// next returns what the links of a page say of the page after it.
func (l Links) next() paging.Next {
	link, ok := l.Get("next")
	switch {
	case ok && link.isNull():
		return paging.NextNone
	case link.Href != "":
		return paging.NextExists
	}
	return paging.NextUnknown
}

// All walks the list record by record, from opts.Offset to the end of the list.
// It yields no included resources, so it does not ask for any, whatever opts.Include
// says: use [SubscriptionService.Pages] for them.
//
// Each record that is in the list from the start of the walk to its end is
// yielded exactly once, whatever is added or removed meanwhile, as long as the
// relative order of the records is stable. The price is one record of overlap a
// page, and more where the list moves. If the order changes, the walk ends in
// [ErrListDrift] where it can be noticed; a record that moves from ahead of the
// cursor to behind it can't be noticed by any client.
//
// The list ends at a page that is not full and whose links say, by null, that there
// is no next one. Without that, a short page does not show the end, as a store may
// return fewer records than were asked for: one more request confirms it, and a second
// one if the pages before had different lengths. There is one limit: if a store sends no
// links, and returns a single record right after its first short page, or while records
// are removed, the walk may end early and without an error. Stubs in tests should send
// "links": {"next": null} with the last page, and use page[offset].
//
// The service's highest offset puts 10,100 records within reach. A list that
// may be longer ends in [ErrOffsetLimit] after the last of them: read a larger
// store in parts, by filters that are disjoint, e.g. one walk for each account.
// Without links, any list of more than 10,000 records may be longer.
//
// The next page is read while the consumer works on the one in hand, and with
// opts.Concurrency several are read at a time. That does not change what is
// yielded, nor its order. When the loop ends, by whatever means, no request is
// under way any more; on the way out it waits for those it cancels.
//
// An error ends the walk and is yielded last, as a [*PagingError], or as a
// [*ValidationError] if it is about opts. It comes in its place: after the records
// of all pages before it. PagingError.Offset lets another walk go on from there.
// Nothing is requested before the iterator is ranged over; ranging again starts
// anew, and several goroutines may do so, each for itself. opts is copied. The
// records are the caller's; one that is kept holds its page in memory. A record
// without a UUID for its id ends the walk in [ErrBadResponse].
func (s *SubscriptionService) All(ctx context.Context, opts *SubscriptionListOptions) iter.Seq2[*Subscription, error] {
	if opts != nil {
		o := *opts
		o.Include = SubscriptionInclude{}
		opts = &o
	}
	pages := s.Pages(ctx, opts)
	return func(yield func(*Subscription, error) bool) {
		seen := 0
		for page, err := range pages {
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Subscriptions {
				if err := ctx.Err(); err != nil {
					yield(nil, &PagingError{Offset: page.Offset + i, Seen: seen, Err: err})
					return
				}
				seen++
				if !yield(&page.Subscriptions[i], nil) {
					return
				}
			}
		}
	}
}
