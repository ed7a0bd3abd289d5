package commerce

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/commerce-go/commerce/internal/wire"
)

// payloads decodes and encodes all JSON of the service. The JSON methods of the records use it
// too.
var payloads *wire.Codec

// Limits on the elements of a response. They apply in addition to the limit on its size, because a
// few bytes of JSON make a large record. The service sends at most 100 records per page.
const (
	maxRecords   = 1_000
	maxIncluded  = 10_000 // of each type, and together
	maxErrors    = 1_000  // further errors are dropped
	maxDiscounts = 10_000 // of a cart, and in the response to a batch
	maxItems     = 10_000 // of a cart
)

// The attributes with a [Billing] without their rule, which would be used again.
type (
	plainPlanAttributes          PlanAttributes
	plainPricingOptionAttributes PricingOptionAttributes
)

// billedAttributes is how attributes with a [Billing] are encoded: with the members that the
// service sends even if they are false or 0. These hide the members of A with the same names,
// because they are less deeply embedded.
type billedAttributes[A any] struct {
	Attributes *A      `json:",embed"`
	Zeros      zeroing `json:",embed"`
}

// zeroing holds the members of a Billing that are sent if they are false or 0.
type zeroing struct {
	BillingFrequency    setDecimal `json:"billing_frequency,omitzero"`
	TrialPeriod         setDecimal `json:"trial_period,omitzero"`
	PlanLength          setDecimal `json:"plan_length,omitzero"`
	CanPause            bool       `json:"can_pause"`
	CanResume           bool       `json:"can_resume"`
	CanCancel           bool       `json:"can_cancel"`
	BasePricePercentage setDecimal `json:"base_price_percentage,omitzero"`
}

// setDecimal is a number that is left out only if it was never set.
type setDecimal struct{ Decimal }

// IsZero hides that of Decimal, which is true for each 0.
func (d setDecimal) IsZero() bool { return !d.isSet() }

// withZeros returns attributes with the zeros of their Billing, or nil if that is zero: plans
// of the second payload generation have none.
func withZeros[A any](attributes *A, b *Billing) *billedAttributes[A] {
	if reflect.ValueOf(*b).IsZero() {
		return nil
	}
	return &billedAttributes[A]{attributes, zeroing{
		BillingFrequency:    setDecimal{b.BillingFrequency},
		TrialPeriod:         setDecimal{b.TrialPeriod},
		PlanLength:          setDecimal{b.PlanLength},
		CanPause:            b.CanPause,
		CanResume:           b.CanResume,
		CanCancel:           b.CanCancel,
		BasePricePercentage: setDecimal{b.BasePricePercentage},
	}}
}

// rules are how the types are read and written whose JSON methods call the codec, or that have more
// than one form in JSON.
func rules() []wire.Rule {
	return append(cartRules(),
		wire.Record[Subscription](maxRecords),
		wire.Record[Plan](maxIncluded),
		wire.Record[Product](maxIncluded),
		wire.Record[PricingOption](maxIncluded),
		wire.Record[SubscriptionMeta](1),
		wire.Record[SubscriptionState](1),
		wire.Repeated(wire.Record[Offering](1), (*Offering).separate), // few offerings have many subscribers
		wire.EncodedAs(func(a *PlanAttributes) *billedAttributes[plainPlanAttributes] {
			return withZeros((*plainPlanAttributes)(a), &a.Billing)
		}),
		wire.EncodedAs(func(a *PricingOptionAttributes) *billedAttributes[plainPricingOptionAttributes] {
			return withZeros((*plainPricingOptionAttributes)(a), &a.Billing)
		}),
		wire.As(`0"tf[{`, decodeMoney, nil, reflect.TypeFor[Decimal](), reflect.TypeFor[plainMoney]()),
		wire.EncodedAs(func(m *Money) *encodedMoney {
			return &encodedMoney{setDecimal{m.Amount}, m.Currency, m.Formatted, m.Extra}
		}),
		wire.As(`"0tf[`, func(_ byte, p *PaymentAuthority) any { return (*oddAuthority)(p) },
			writePaymentAuthority, reflect.TypeFor[oddAuthority]()),
		wire.As(`"`, func(_ byte, l *Link) any { return &l.Href }, writeLink),
		wire.Named[Links](2, func(l *NamedLink) (*string, *Link) { return &l.Name, &l.Link }, (*Link).markNotNull),
		wire.Named[Relationships](1, func(r *NamedRelationship) (*string, *Relationship) {
			return &r.Name, &r.Relationship
		}, nil),
		wire.As(`[{`, decodeRelationshipData, writeRelationshipData,
			reflect.TypeFor[[]ResourceRef](), reflect.TypeFor[ResourceRef]()),
	)
}

func init() { // the rules refer to payloads, so its declaration cannot hold them
	payloads = wire.NewCodec(rules()...)
}

// plainMoney is a [Money] without its methods.
type plainMoney Money

// encodedMoney is how a [Money] is encoded: an amount that was never set is left out, a 0 is not.
type encodedMoney struct {
	Amount    setDecimal `json:"amount,omitzero"`
	Currency  string     `json:"currency,omitzero"`
	Formatted string     `json:"formatted,omitzero"`
	Extra     Extra      `json:",embed"`
}

func decodeMoney(kind byte, m *Money) any {
	if kind == '0' || kind == '"' {
		return &m.Amount
	}
	return (*plainMoney)(m)
}

// An oddAuthority is decoded from a value that is not an object. Extra holds it, so that it is
// redacted.
type oddAuthority PaymentAuthority

func (p *oddAuthority) UnmarshalJSON(raw []byte) error {
	p.Extra = Extra{"": bytes.Clone(raw)}
	return nil
}

func writePaymentAuthority(p *PaymentAuthority) ([]byte, error) {
	if !reflect.DeepEqual(*p, PaymentAuthority{Extra: Extra{"": p.Extra[""]}}) {
		return nil, nil // it is an object, perhaps with a member whose name is empty
	}
	return p.Extra[""], nil
}

func writeLink(l *Link) ([]byte, error) {
	switch {
	case l.isNull():
		return []byte("null"), nil
	case l.Title == "" && l.DescribedBy == "" && len(l.Extra) == 0:
		return json.Marshal(l.Href)
	}
	return nil, nil
}

func decodeRelationshipData(kind byte, d *RelationshipData) any {
	if d.Many = kind == '['; d.Many {
		return &d.Refs
	}
	d.Refs = make([]ResourceRef, 1)
	return &d.Refs[0]
}

func writeRelationshipData(d *RelationshipData) ([]byte, error) {
	switch {
	case !d.Many && len(d.Refs) == 1:
		return payloads.Marshal(&d.Refs[0])
	case !d.Many && len(d.Refs) == 0:
		return []byte("null"), nil
	}
	return payloads.Marshal(&d.Refs) // nil too is []
}

// decodeRecord is the UnmarshalJSON of every record. null changes nothing, as in
// encoding/json; any other value replaces all of v.
func decodeRecord[T any](b []byte, v *T) error {
	if string(b) == "null" {
		return nil
	}
	var fresh T
	if err := payloads.Unmarshal(b, &fresh); err != nil {
		return err
	}
	*v = fresh
	return nil
}

var errExcessive = errors.New("the response has too many JSON values")

// isList reports whether the value of a member is an array, or null: the service sends null for
// some empty lists. A member that is absent has no value, and is no list.
func isList(raw []byte) bool { return string(raw) == "null" || bytes.HasPrefix(raw, []byte("[")) }
