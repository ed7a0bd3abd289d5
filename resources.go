package commerce

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/commerce-go/commerce/internal/transport"
	"github.com/google/uuid"
)

// Response is what the client keeps of an HTTP response, without its body.
type Response struct {
	// StatusCode is a 2xx if there is no error.
	StatusCode int
	// Header holds only these header fields of the response: Cache-Control,
	// Content-Language, Content-Length, Content-Type, Date, Etag, Last-Modified,
	// Ratelimit-*, Retry-After, Server, X-Moltin-Request-Id, X-Ratelimit-* and
	// X-Request-Id. Others may hold secrets.
	Header http.Header
	// RequestID identifies the request to the service's support. It may be empty.
	RequestID string
	// Attempts is the number of times that the HTTP transport was called.
	Attempts int
}

func newResponse(r *transport.Result) *Response {
	return &Response{
		StatusCode: r.StatusCode,
		Header:     transport.KeptHeader(r.Header),
		RequestID:  transport.RequestID(r.Header),
		Attempts:   r.Attempts,
	}
}

// Extra holds the members of a JSON object for which its Go type has no field, so that they
// survive decoding and encoding. The service may add members at any time. If a value does
// not fit its field, the field is zero and Extra holds the value. Delete it there before you
// set the field: with both, encoding returns an error. Extra is nil if there is nothing to
// hold.
//
// The JSON of types with a MarshalJSON is like the service's, Extra included. The JSON of other
// types is so only if they are a part of these.
type Extra = map[string]json.RawMessage

// copyExtras replaces each by a copy.
func copyExtras(list ...*Extra) {
	for _, extra := range list {
		*extra = maps.Clone(*extra)
		for name, raw := range *extra {
			(*extra)[name] = slices.Clone(raw)
		}
	}
}

// Links of a list or a relationship, in the order of the response. Known names are first,
// last, next, prev, current, self and related. Links may point to another host; the client
// never follows them.
type Links []NamedLink

// NamedLink is an entry of [Links].
type NamedLink struct {
	Name string
	Link
}

// Get returns the link with that name, and whether there is one. If "next" has an Href,
// there is a next page. If "next" is the zero Link, which is null in JSON, there is none. Any
// other link without an Href, such as "", shows neither.
func (l Links) Get(name string) (Link, bool) {
	for i := range l {
		if l[i].Name == name {
			return l[i].Link, true
		}
	}
	return Link{}, false
}

// MarshalJSON encodes l like the service: as an object.
func (l Links) MarshalJSON() ([]byte, error) { return payloads.Marshal(&l) }

// UnmarshalJSON decodes the links of the service.
func (l *Links) UnmarshalJSON(b []byte) error { return decodeRecord(b, l) }

// Link is the value of a [NamedLink]. In JSON it is a string, an object, or null. Only null
// decodes to the zero Link.
type Link struct {
	Href        string `json:"href,omitzero"`
	Title       string `json:"title,omitzero"`
	DescribedBy string `json:"describedby,omitzero"` // URL of a description
	// Extra is empty but not nil if the link has no members and is not null.
	Extra Extra `json:",embed"`
}

// isNull reports whether the link is null: there is no such page.
func (l *Link) isNull() bool {
	return l.Href == "" && l.Title == "" && l.DescribedBy == "" && l.Extra == nil
}

// markNotNull is called for a link that was not null. It makes an empty link differ from
// null.
func (l *Link) markNotNull() {
	if l.isNull() {
		l.Extra = Extra{}
	}
}

// Relationships of a resource, e.g. "plans", in the order of the response.
type Relationships []NamedRelationship

// NamedRelationship is an entry of [Relationships].
type NamedRelationship struct {
	Name string
	Relationship
}

// Get returns the relationship with that name, or the zero Relationship if there is none.
func (r Relationships) Get(name string) Relationship {
	for i := range r {
		if r[i].Name == name {
			return r[i].Relationship
		}
	}
	return Relationship{}
}

// MarshalJSON encodes r like the service: as an object.
func (r Relationships) MarshalJSON() ([]byte, error) { return payloads.Marshal(&r) }

// UnmarshalJSON decodes the relationships of the service.
func (r *Relationships) UnmarshalJSON(b []byte) error { return decodeRecord(b, r) }

// ids returns the ids of the resources that the relationship with that name has.
func (r Relationships) ids(name string) []uuid.UUID {
	var ids []uuid.UUID
	for _, ref := range r.Get(name).Data.Refs {
		if ref.ID != uuid.Nil { // it was not readable
			ids = append(ids, ref.ID)
		}
	}
	return ids
}

// idOr returns id. If that is zero, it returns the id of the only resource that the
// relationship with that name has, or the zero id.
func (r Relationships) idOr(name string, id uuid.UUID) uuid.UUID {
	if refs := r.Get(name).Data.Refs; id == uuid.Nil && len(refs) == 1 {
		return refs[0].ID
	}
	return id
}

// Relationship points to related resources. Either part may be absent.
type Relationship struct {
	Links Links            `json:"links,omitzero"`
	Data  RelationshipData `json:"data,omitzero"`
	Extra Extra            `json:",embed"`
}

// RelationshipData names the related resources.
type RelationshipData struct {
	Refs []ResourceRef
	// Many reports whether the response has an array. Otherwise it has a single object.
	Many bool
}

// ResourceRef names a resource by type and id.
type ResourceRef struct {
	Type  string    `json:"type,omitzero"`
	ID    uuid.UUID `json:"id,omitzero"`
	Extra Extra     `json:",embed"`
}

// Timestamps of a record. A timestamp that is absent, null, empty or unreadable is the zero
// time. Extra holds an unreadable one, and 0001-01-01T00:00:00Z.
type Timestamps struct {
	UpdatedAt   time.Time `json:"updated_at,omitzero"`
	CreatedAt   time.Time `json:"created_at,omitzero"`
	CanceledAt  time.Time `json:"canceled_at,omitzero"`
	PausedAt    time.Time `json:"paused_at,omitzero"`
	ResumedAt   time.Time `json:"resumed_at,omitzero"`
	EndDate     time.Time `json:"end_date,omitzero"`
	GoLiveAfter time.Time `json:"go_live_after,omitzero"`
	GoLive      time.Time `json:"go_live,omitzero"`
	Extra       Extra     `json:",embed"`
}

// PriceUnits is the time that a price is for, e.g. 1 month.
type PriceUnits struct {
	Unit   string  `json:"unit,omitzero"` // e.g. "day", "month"
	Amount Decimal `json:"amount"`
	Extra  Extra   `json:",embed"`
}

// Money is an amount of a currency. The amounts in the service's documentation are whole
// numbers of the currency's smallest unit: -1000 with currency USD is -$10.00.
type Money struct {
	Amount Decimal `json:"amount"`
	// Currency code, e.g. "USD". It is empty if the service sends only a number.
	Currency string `json:"currency,omitzero"`
	// Formatted is the amount as the store shows it, e.g. "-$10.00". The service may leave
	// it out.
	Formatted string `json:"formatted,omitzero"`
	Extra     Extra  `json:",embed"`
}

// MarshalJSON encodes m like the service.
func (m Money) MarshalJSON() ([]byte, error) { return payloads.Marshal(&m) }

// UnmarshalJSON decodes an amount of the service, which may be only a number.
func (m *Money) UnmarshalJSON(b []byte) error { return decodeRecord(b, m) }

// String returns m as the store shows it, e.g. "-$10.00". If the store does not, it says what the
// amount is: "-1000 (smallest unit of USD)".
func (m Money) String() string {
	if m.Formatted == "" && m.Currency != "" {
		return m.Amount.String() + " (smallest unit of " + m.Currency + ")"
	}
	return cmp.Or(m.Formatted, m.Amount.String())
}

// Price is the price of a product or plan in one currency.
type Price struct {
	// Amount in the currency's smallest unit.
	Amount Decimal `json:"amount"`
	// IncludesTax reports whether tax is part of Amount.
	IncludesTax bool  `json:"includes_tax"`
	Extra       Extra `json:",embed"`
}

// Prices maps a currency code to the price in that currency.
type Prices map[string]Price

// DisplayPrice is a price as the store shows it.
type DisplayPrice struct {
	WithoutTax Money `json:"without_tax,omitzero"`
	WithTax    Money `json:"with_tax,omitzero"`
	// Tax exists in the second payload generation only.
	Tax   Money `json:"tax,omitzero"`
	Extra Extra `json:",embed"`
}

// OptionPrice is what a plan costs with one pricing option. Second payload generation only.
type OptionPrice struct {
	Price        Prices       `json:"price,omitzero"`
	DisplayPrice DisplayPrice `json:"display_price,omitzero"`
	Extra        Extra        `json:",embed"`
}

// PaymentAuthority is who collects the payments of a subscription. Its Type decides which
// fields are set.
//
// Its ids must not be logged, so it prints and logs as "REDACTED", also within a
// [Subscription]. JSON holds the true values, so that a record survives encoding. Take care
// with log handlers that encode a page, a list or a part of a subscription as JSON.
type PaymentAuthority struct {
	// Type "elastic_path_payments_stripe" and "stripe_payment_intents" have CustomerID and
	// CardID; "authorize_net" has PaymentProfileID and CustomerProfileID.
	Type              string `json:"type,omitzero"`
	CustomerID        string `json:"customer_id,omitzero"`
	CardID            string `json:"card_id,omitzero"`
	PaymentProfileID  string `json:"payment_profile_id,omitzero"`
	CustomerProfileID string `json:"customer_profile_id,omitzero"`
	// Extra also holds, under "", a value that is not an object.
	Extra Extra `json:",embed"`
}

const redacted = "REDACTED"

// Format prints "REDACTED" for every verb.
func (PaymentAuthority) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue logs "REDACTED".
func (PaymentAuthority) LogValue() slog.Value { return slog.StringValue(redacted) }

// Subscription is a subscription of an account to an [Offering]:
// https://developer.elasticpath.com/docs/api/subscriptions/list-subscriptions
type Subscription struct {
	ID            uuid.UUID              `json:"id,omitzero"`
	Type          string                 `json:"type,omitzero"` // "subscription"
	Attributes    SubscriptionAttributes `json:"attributes,omitzero"`
	Relationships Relationships          `json:"relationships,omitzero"`
	Meta          SubscriptionMeta       `json:"meta,omitzero"`
	Extra         Extra                  `json:",embed"`
}

// MarshalJSON encodes s like the service. It leaves out fields that are zero, except
//   - the flags of a Meta that is not zero: ManualPayments, Canceled, Paused, Closed, Suspended
//     and Pending,
//   - Amount and IncludesTax of prices,
//   - PriceChanges of a PriceUpdate.
func (s Subscription) MarshalJSON() ([]byte, error) { return payloads.Marshal(&s) }

// UnmarshalJSON decodes a subscription of the service.
func (s *Subscription) UnmarshalJSON(b []byte) error { return decodeRecord(b, s) }

// LogValue logs s with its payment authority redacted.
func (s Subscription) LogValue() slog.Value {
	if p := &s.Attributes.PaymentAuthority; !reflect.ValueOf(*p).IsZero() {
		*p = PaymentAuthority{Type: redacted}
	}
	return slog.AnyValue(subscriptionWithoutLogValue(s))
}

// subscriptionWithoutLogValue has no LogValue method, which slog would call again.
type subscriptionWithoutLogValue Subscription

func (s subscriptionWithoutLogValue) MarshalJSON() ([]byte, error) {
	return payloads.Marshal((*Subscription)(&s))
}

// SubscriptionAttributes are the attributes of a [Subscription].
type SubscriptionAttributes struct {
	// ExternalRef is the store's own reference.
	ExternalRef string `json:"external_ref,omitzero"`
	// AccountID of the account that owns the subscription.
	AccountID uuid.UUID `json:"account_id,omitzero"`
	AddressID uuid.UUID `json:"address_id,omitzero"`
	Offering  Offering  `json:"offering,omitzero"`
	PlanID    uuid.UUID `json:"plan_id,omitzero"`
	// PricingOptionID exists in the second payload generation only.
	PricingOptionID uuid.UUID `json:"pricing_option_id,omitzero"`
	// Currency code of the bills.
	Currency         string           `json:"currency,omitzero"`
	PaymentAuthority PaymentAuthority `json:"payment_authority,omitzero"`
	Extra            Extra            `json:",embed"`
}

// Offering is what an account subscribed to, as it was at that time.
type Offering struct {
	ID            uuid.UUID          `json:"id,omitzero"`
	Type          string             `json:"type,omitzero"` // "subscription_offering"
	Attributes    OfferingAttributes `json:"attributes,omitzero"`
	Relationships Relationships      `json:"relationships,omitzero"`
	Meta          OfferingMeta       `json:"meta,omitzero"`
	Extra         Extra              `json:",embed"`
}

// MarshalJSON encodes o like the service.
func (o Offering) MarshalJSON() ([]byte, error) { return payloads.Marshal(&o) }

// UnmarshalJSON decodes an offering of the service.
func (o *Offering) UnmarshalJSON(b []byte) error { return decodeRecord(b, o) }

// OfferingAttributes are the attributes of an [Offering].
type OfferingAttributes struct {
	ExternalRef string    `json:"external_ref,omitzero"`
	Name        string    `json:"name,omitzero"`
	Description string    `json:"description,omitzero"`
	UpdatedAt   time.Time `json:"updated_at,omitzero"`
	CreatedAt   time.Time `json:"created_at,omitzero"`
	Extra       Extra     `json:",embed"`
}

// OfferingMeta is the meta member of an [Offering].
type OfferingMeta struct {
	// ExternalProductRefs exist in the first payload generation only.
	ExternalProductRefs []string `json:"external_product_refs,omitzero"`
	// ExternalPlanRefs exist in the second payload generation only.
	ExternalPlanRefs []string   `json:"external_plan_refs,omitzero"`
	Owner            string     `json:"owner,omitzero"`
	Timestamps       Timestamps `json:"timestamps,omitzero"`
	Extra            Extra      `json:",embed"`
}

// SubscriptionMeta is the state of a [Subscription].
type SubscriptionMeta struct {
	Owner      string     `json:"owner,omitzero"` // e.g. "store", "organization"
	Timestamps Timestamps `json:"timestamps,omitzero"`
	Status     string     `json:"status,omitzero"` // e.g. "active", "inactive"
	// State is the last change of state.
	State          SubscriptionState `json:"state,omitzero"`
	ManualPayments bool              `json:"manual_payments"`
	// Canceled subscriptions may be active until their next billing run.
	Canceled  bool `json:"canceled"`
	Paused    bool `json:"paused"`
	Closed    bool `json:"closed"`
	Suspended bool `json:"suspended"`
	Pending   bool `json:"pending"`
	// InvoiceAfter is when the next invoice is due.
	InvoiceAfter time.Time `json:"invoice_after,omitzero"`
	// FirstInvoicePrepaid reports whether the first billing period was paid outside of the
	// subscriptions service. It is nil in the first payload generation, which does not send
	// it. The second one sends it even if it is false.
	FirstInvoicePrepaid *bool `json:"first_invoice_prepaid,omitzero"`
	// PausedBy is e.g. "subscriber", "merchandizer" or "dunning". It exists in the second
	// payload generation only, and so do the fields that follow.
	PausedBy string `json:"paused_by,omitzero"`
	// LastRefundID is empty if there was no refund.
	LastRefundID string `json:"last_refund_id,omitzero"`
	// LastRefundAmount in the currency's smallest unit; nil if there was no refund.
	LastRefundAmount *Decimal `json:"last_refund_amount,omitempty"`
	// PendingPriceChange holds the prices that will apply later; nil if there are none.
	PendingPriceChange *PriceChanges `json:"pending_price_change,omitzero"`
	// PriceUpdateHistory holds the prices that applied before earlier changes.
	PriceUpdateHistory []PriceUpdate `json:"price_update_history,omitzero"`
	Extra              Extra         `json:",embed"`
}

// MarshalJSON encodes m like the service, with all its flags: see [Subscription.MarshalJSON].
func (m SubscriptionMeta) MarshalJSON() ([]byte, error) { return payloads.Marshal(&m) }

// UnmarshalJSON decodes the meta member of a subscription.
func (m *SubscriptionMeta) UnmarshalJSON(b []byte) error { return decodeRecord(b, m) }

// PriceChanges are the prices of plans and pricing options that will apply after a change, or
// that applied before it. Second payload generation only.
type PriceChanges struct {
	// PlanPrices by plan id.
	PlanPrices map[string]Prices `json:"plan_prices,omitzero"`
	// PricingOptionPrices by pricing option id.
	PricingOptionPrices map[string]PricingOptionPrice `json:"pricing_option_prices,omitzero"`
	Extra               Extra                         `json:",embed"`
}

// PricingOptionPrice is the price of a pricing option within [PriceChanges]: a percentage or
// a fixed price. An example in the service's documentation has the currencies here instead
// of in fixed_price; Extra keeps them.
type PricingOptionPrice struct {
	// BasePricePercentage means the same as in [Billing]. It is nil if there is none.
	BasePricePercentage *Decimal `json:"base_price_percentage,omitempty"`
	FixedPrice          Prices   `json:"fixed_price,omitzero"`
	Extra               Extra    `json:",embed"`
}

// PriceUpdate is an entry of [SubscriptionMeta].PriceUpdateHistory.
type PriceUpdate struct {
	// PriceChanges are the prices that applied until ValidUntil.
	PriceChanges PriceChanges `json:"price_changes"`
	ValidUntil   time.Time    `json:"valid_until,omitzero"`
	Extra        Extra        `json:",embed"`
}

// SubscriptionState is a change of state of a [Subscription].
type SubscriptionState struct {
	ID         uuid.UUID                   `json:"id,omitzero"`
	Type       string                      `json:"type,omitzero"` // "subscription_state"
	Attributes SubscriptionStateAttributes `json:"attributes,omitzero"`
	Meta       SubscriptionStateMeta       `json:"meta,omitzero"`
	Extra      Extra                       `json:",embed"`
}

// MarshalJSON encodes s like the service.
func (s SubscriptionState) MarshalJSON() ([]byte, error) { return payloads.Marshal(&s) }

// UnmarshalJSON decodes a state of the service.
func (s *SubscriptionState) UnmarshalJSON(b []byte) error { return decodeRecord(b, s) }

// SubscriptionStateAttributes are the attributes of a [SubscriptionState].
type SubscriptionStateAttributes struct {
	// Action is e.g. "cancel", "pause", "resume" or "pending".
	Action string `json:"action,omitzero"`
	// CancelImmediately decides whether a cancel takes effect at once or at the end of the
	// billing period. It is nil if the service did not send it, as in the first payload
	// generation.
	CancelImmediately *bool `json:"cancel_immediately,omitzero"`
	Extra             Extra `json:",embed"`
}

// SubscriptionStateMeta states when a [SubscriptionState] began.
type SubscriptionStateMeta struct {
	CreatedAt time.Time `json:"created_at,omitzero"`
	Extra     Extra     `json:",embed"`
}
