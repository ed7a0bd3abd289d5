package commerce

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
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

// Subscription is a subscription (specification, section 2.3).
type Subscription struct {
	ID            uuid.UUID              `json:"id,omitzero"`            // identifier
	Type          string                 `json:"type,omitzero"`          // "subscription"
	Attributes    SubscriptionAttributes `json:"attributes,omitzero"`    // what it is
	Relationships Relationships          `json:"relationships,omitzero"` // by name
	Meta          SubscriptionMeta       `json:"meta,omitzero"`          // what the service knows about it
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// MarshalJSON encodes s in the service's form, Extra included. Members that
// are zero are mostly left out.
func (s Subscription) MarshalJSON() ([]byte, error) { return payloads.Marshal(&s) }

// UnmarshalJSON decodes what the service sends; unknown members go to Extra.
func (s *Subscription) UnmarshalJSON(b []byte) error { return decodeRecord(b, s) }

// LogValue logs s with its payment authority redacted.
func (s Subscription) LogValue() slog.Value {
	if p := &s.Attributes.PaymentAuthority; !reflect.ValueOf(*p).IsZero() {
		*p = PaymentAuthority{Type: redacted}
	}
	return slog.AnyValue(loggedSubscription(s))
}

// loggedSubscription is a Subscription to log: without LogValue, which would be asked again.
type loggedSubscription Subscription

// MarshalJSON encodes s as a Subscription.
func (s loggedSubscription) MarshalJSON() ([]byte, error) {
	return payloads.Marshal((*Subscription)(&s))
}

// SubscriptionAttributes are the attributes of a [Subscription].
type SubscriptionAttributes struct {
	// ExternalRef is the store's own reference for the subscription.
	ExternalRef string `json:"external_ref,omitzero"`
	// AccountID of the owning account.
	AccountID uuid.UUID `json:"account_id,omitzero"`
	// AddressID of the address record.
	AddressID uuid.UUID `json:"address_id,omitzero"`
	// Offering that was subscribed to.
	Offering Offering `json:"offering,omitzero"`
	// PlanID of the plan of the subscription.
	PlanID uuid.UUID `json:"plan_id,omitzero"`
	// PricingOptionID of the way it is billed; second payload generation only.
	PricingOptionID uuid.UUID `json:"pricing_option_id,omitzero"`
	// Currency code that it is billed in.
	Currency string `json:"currency,omitzero"`
	// PaymentAuthority that collects the payments. It prints as REDACTED.
	PaymentAuthority PaymentAuthority `json:"payment_authority,omitzero"`
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// Offering is what was subscribed to, as it was at that time.
type Offering struct {
	ID            uuid.UUID          `json:"id,omitzero"`            // identifier
	Type          string             `json:"type,omitzero"`          // "subscription_offering"
	Attributes    OfferingAttributes `json:"attributes,omitzero"`    // what it is
	Relationships Relationships      `json:"relationships,omitzero"` // by name
	Meta          OfferingMeta       `json:"meta,omitzero"`          // what the service knows about it
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// OfferingAttributes are the attributes of an [Offering].
type OfferingAttributes struct {
	ExternalRef string    `json:"external_ref,omitzero"` // reference of the store's own
	Name        string    `json:"name,omitzero"`         // for people to read
	Description string    `json:"description,omitzero"`  // for people to read
	UpdatedAt   time.Time `json:"updated_at,omitzero"`   // last change
	CreatedAt   time.Time `json:"created_at,omitzero"`   // creation
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// OfferingMeta is what the service knows about an [Offering].
type OfferingMeta struct {
	// ExternalProductRefs of the first payload generation.
	ExternalProductRefs []string `json:"external_product_refs,omitzero"`
	// ExternalPlanRefs of the second payload generation.
	ExternalPlanRefs []string   `json:"external_plan_refs,omitzero"`
	Owner            string     `json:"owner,omitzero"`      // "store" and "organization" have been seen
	Timestamps       Timestamps `json:"timestamps,omitzero"` // of the record
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// SubscriptionMeta is the state of a [Subscription]. A subscription can be
// canceled and still active until its next billing run.
type SubscriptionMeta struct {
	Owner      string     `json:"owner,omitzero"`      // "store" and "organization" have been seen
	Timestamps Timestamps `json:"timestamps,omitzero"` // of the record
	// Status: "active" and "inactive" have been seen. Other values are to be expected.
	Status string `json:"status,omitzero"`
	// State is the last change of state.
	State          SubscriptionState `json:"state,omitzero"`
	ManualPayments bool              `json:"manual_payments"` // payments are made by hand
	Canceled       bool              `json:"canceled"`        // is canceled; may be active until the next billing run
	Paused         bool              `json:"paused"`          // is paused
	Closed         bool              `json:"closed"`          // is closed
	Suspended      bool              `json:"suspended"`       // is suspended
	Pending        bool              `json:"pending"`         // is pending
	// InvoiceAfter is when the next invoice is due.
	InvoiceAfter time.Time `json:"invoice_after,omitzero"`
	// FirstInvoicePrepaid says whether the first billing period was paid for outside the
	// subscriptions service. The second payload generation always sends it, the first
	// never: nil. A bool could not tell "false" from "not sent", and encoding a record
	// again would lose the one or invent the other.
	FirstInvoicePrepaid *bool `json:"first_invoice_prepaid,omitzero"`
	// PausedBy tells who paused it: "subscriber", "merchandizer" and "dunning" are
	// documented. Second payload generation only, as are the fields that follow.
	PausedBy string `json:"paused_by,omitzero"`
	// LastRefundID is empty if there was no refund.
	LastRefundID string `json:"last_refund_id,omitzero"`
	// LastRefundAmount in the currency's smallest unit; nil if there was no refund.
	LastRefundAmount *Decimal `json:"last_refund_amount,omitempty"`
	// PendingPriceChange holds the prices that will apply later; nil if there are none.
	PendingPriceChange *PriceChanges `json:"pending_price_change,omitzero"`
	// PriceUpdateHistory holds the prices that applied before earlier changes.
	PriceUpdateHistory []PriceUpdate `json:"price_update_history,omitzero"`
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// PriceChanges are prices of plans and of pricing options: those that will apply, or those
// that applied before a change. Second payload generation only.
type PriceChanges struct {
	// PlanPrices by plan id.
	PlanPrices map[string]Prices `json:"plan_prices,omitzero"`
	// PricingOptionPrices by pricing option id.
	PricingOptionPrices map[string]PricingOptionPrice `json:"pricing_option_prices,omitzero"`
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// PricingOptionPrice is the price of a pricing option within [PriceChanges]: a
// percentage or a fixed price. An example in the service's documentation has the
// currencies here instead of in fixed_price; these are kept in Extra.
type PricingOptionPrice struct {
	// BasePricePercentage of the price of the plans, 0 to 100, may be fractional; nil if
	// there is none.
	BasePricePercentage *Decimal `json:"base_price_percentage,omitempty"`
	// FixedPrice by currency.
	FixedPrice Prices `json:"fixed_price,omitzero"`
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// PriceUpdate is an entry of [SubscriptionMeta].PriceUpdateHistory.
type PriceUpdate struct {
	// PriceChanges are the prices that applied until ValidUntil.
	PriceChanges PriceChanges `json:"price_changes"`
	ValidUntil   time.Time    `json:"valid_until,omitzero"`
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// SubscriptionState is a change of state of a [Subscription].
type SubscriptionState struct {
	ID         uuid.UUID                   `json:"id,omitzero"`         // identifier
	Type       string                      `json:"type,omitzero"`       // "subscription_state"
	Attributes SubscriptionStateAttributes `json:"attributes,omitzero"` // what it is
	Meta       SubscriptionStateMeta       `json:"meta,omitzero"`       // what the service knows about it
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// SubscriptionStateAttributes are the attributes of a [SubscriptionState].
type SubscriptionStateAttributes struct {
	// Action: "cancel", "pause", "resume" and "pending" have been seen.
	Action string `json:"action,omitzero"`
	// CancelImmediately says whether a cancel took effect at once (true) or at the end of
	// the billing period (false). nil if the service did not send it; the first payload
	// generation never does.
	CancelImmediately *bool `json:"cancel_immediately,omitzero"`
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// SubscriptionStateMeta tells when a [SubscriptionState] was entered.
type SubscriptionStateMeta struct {
	CreatedAt time.Time `json:"created_at,omitzero"` // creation
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}
