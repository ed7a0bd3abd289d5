package commerce

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
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
