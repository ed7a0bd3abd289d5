package commerce

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"time"

	"github.com/google/uuid"
)

// Extra holds the members of a JSON object that its Go type does not name. The
// service counts new members as compatible changes, so they are kept through
// decoding and encoding, and with them values of named members that do not fit
// their field, which is then zero. nil where there are none. Delete an entry before
// you set the field of that name: with both, encoding is an error.
//
// [Subscription], [Plan], [Product], [PricingOption] and [CustomDiscount] read and
// write the service's JSON by encoding/json, Extra included. Other types do so only as
// a part of these: alone, their JSON is not the service's.
type Extra = map[string]json.RawMessage

// Links of a list or a relationship, by name: first, last, next, prev, current,
// self and related have been seen. They may point to another host than the one
// that was called, and are never followed. They are in the order of the answer.
type Links []NamedLink

// NamedLink is an entry of [Links].
type NamedLink struct {
	Name string
	Link
}

// Get returns the link with that name, and whether there is one. For "next": if Href is
// not empty, there is a next page; the zero Link is null, and says that there is none.
// Any other link without an Href, such as "", says neither.
func (l Links) Get(name string) (Link, bool) {
	for i := range l {
		if l[i].Name == name {
			return l[i].Link, true
		}
	}
	return Link{}, false
}

// Link is one entry of [Links]. On the wire it is a string, an object, or null. The
// zero Link is null, and no other value is decoded to it.
type Link struct {
	Href        string `json:"href,omitzero"`        // address
	Title       string `json:"title,omitzero"`       // for people
	DescribedBy string `json:"describedby,omitzero"` // address of a description
	// Extra holds members that this type does not name. It is empty but not nil in a
	// link that holds nothing and is not null.
	Extra Extra `json:",embed"`
}

// isNull reports whether the link is null, that is, says there is no such page.
func (l *Link) isNull() bool {
	return l.Href == "" && l.Title == "" && l.DescribedBy == "" && l.Extra == nil
}

// markNotNull is called for a link that was not null. It makes an empty one differ from null.
func (l *Link) markNotNull() {
	if l.isNull() {
		l.Extra = Extra{}
	}
}

// Relationships of a resource by name, e.g. "plans" (specification, section 2.3),
// in the order of the answer.
type Relationships []NamedRelationship

// NamedRelationship is an entry of [Relationships].
type NamedRelationship struct {
	Name string
	Relationship
}

// Get returns the relationship with that name; the zero Relationship if there is
// none.
func (r Relationships) Get(name string) Relationship {
	for i := range r {
		if r[i].Name == name {
			return r[i].Relationship
		}
	}
	return Relationship{}
}

// Relationship points to related resources. Either part may be absent.
type Relationship struct {
	Links Links            `json:"links,omitzero"` // by name
	Data  RelationshipData `json:"data,omitzero"`  // the related resources
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// RelationshipData names the related resources.
type RelationshipData struct {
	// Refs are the related resources; one where the answer has a single object.
	Refs []ResourceRef
	// Many tells whether the answer has an array rather than a single object.
	Many bool
}

// ResourceRef names a resource by type and id.
type ResourceRef struct {
	Type string    `json:"type,omitzero"` // kind of the resource
	ID   uuid.UUID `json:"id,omitzero"`   // identifier
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// Timestamps of a record (specification, section 2.3, meta.timestamps). A
// timestamp that is absent, null, empty or unreadable is the zero time.
type Timestamps struct {
	UpdatedAt   time.Time `json:"updated_at,omitzero"`    // last change
	CreatedAt   time.Time `json:"created_at,omitzero"`    // creation
	CanceledAt  time.Time `json:"canceled_at,omitzero"`   // when it was canceled
	PausedAt    time.Time `json:"paused_at,omitzero"`     // when it was paused
	ResumedAt   time.Time `json:"resumed_at,omitzero"`    // when it was last resumed
	EndDate     time.Time `json:"end_date,omitzero"`      // when it ends
	GoLiveAfter time.Time `json:"go_live_after,omitzero"` // goes live after this
	GoLive      time.Time `json:"go_live,omitzero"`       // goes live at this
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// PriceUnits is the unit that a price is for (section 2.4), e.g. 1 month.
type PriceUnits struct {
	Unit   string  `json:"unit,omitzero"` // "day" and "month" have been seen
	Amount Decimal `json:"amount"`        // number of units
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// DisplayPrice is a price as the store shows it (section 2.4).
type DisplayPrice struct {
	WithoutTax Money `json:"without_tax,omitzero"` // the price without tax
	WithTax    Money `json:"with_tax,omitzero"`    // the price with tax
	// Tax alone; second payload generation only.
	Tax Money `json:"tax,omitzero"`
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// OptionPrice is an entry of meta.prices: what a plan costs under a pricing
// option, or a pricing option with a plan. Second payload generation only.
type OptionPrice struct {
	Price        Prices       `json:"price,omitzero"`         // by currency
	DisplayPrice DisplayPrice `json:"display_price,omitzero"` // as the store shows it
	// Extra holds members that this type does not name.
	Extra Extra `json:",embed"`
}

// PaymentAuthority says who collects the payments of a subscription. Which fields
// are set depends on its Type.
//
// It prints and logs as "REDACTED", also within a [Subscription]: its ids belong
// in no log. Encoding it as JSON gives the true values, so that a record survives
// a round trip; so does a log handler that encodes as JSON a value that holds a
// subscription, such as a page or a list, or a part of one.
type PaymentAuthority struct {
	// Type: "elastic_path_payments_stripe" and "stripe_payment_intents", which have CustomerID
	// and CardID, and "authorize_net", which has the other two, are documented.
	Type              string `json:"type,omitzero"`
	CustomerID        string `json:"customer_id,omitzero"`         // at the authority
	CardID            string `json:"card_id,omitzero"`             // at the authority
	PaymentProfileID  string `json:"payment_profile_id,omitzero"`  // at the authority
	CustomerProfileID string `json:"customer_profile_id,omitzero"` // at the authority
	// Extra holds members that this type does not name, and under "" a value that
	// is no object.
	Extra Extra `json:",embed"`
}

const redacted = "REDACTED"

// Format prints "REDACTED" for every verb.
func (PaymentAuthority) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue logs "REDACTED".
func (PaymentAuthority) LogValue() slog.Value { return slog.StringValue(redacted) }

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
