package commerce

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/commerce-go/commerce/internal/wire"
)

// payloads decodes and encodes the service's JSON. All payloads go through it,
// also where a caller's encoding/json reaches a record's methods.
var payloads *wire.Codec

// Limits on the elements of a response, besides those on its size: a few bytes of JSON
// make a large record. The service sends at most 100 records per page.
const (
	maxRecords   = 1_000
	maxIncluded  = 10_000
	maxErrors    = 1_000  // entries of errors that are read; the others are dropped
	maxDiscounts = 10_000 // in the response to a batch
)

// Twins of the records, without their JSON methods.
type (
	subscriptionWire  Subscription
	planWire          Plan
	productWire       Product
	pricingOptionWire PricingOption
)

// billingZeros are the members of [Billing] that the service sends even if they are
// false or 0. Attributes whose Billing is not zero are encoded with them; a number is
// left out only if it was never set. The tags are omitempty because omitzero calls
// [Decimal]'s IsZero through the pointer and would leave out a 0.
type billingZeros struct {
	BillingFrequency    *Decimal `json:"billing_frequency,omitempty"`
	TrialPeriod         *Decimal `json:"trial_period,omitempty"`
	PlanLength          *Decimal `json:"plan_length,omitempty"`
	CanPause            bool     `json:"can_pause"`
	CanResume           bool     `json:"can_resume"`
	CanCancel           bool     `json:"can_cancel"`
	BasePricePercentage *Decimal `json:"base_price_percentage,omitempty"`
}

// Attributes with a Billing as they are encoded. If two fields have the same name, the
// less deeply embedded one counts: billingZeros hides the fields of Billing.
type (
	planAttributesWire          PlanAttributes
	pricingOptionAttributesWire PricingOptionAttributes

	billedPlanWire struct {
		*planAttributesWire
		billingZeros
	}
	billedOptionWire struct {
		*pricingOptionAttributesWire
		billingZeros
	}
)

// zeros returns what to encode of b even if it is zero; ok is false if b as a whole is
// zero. A plan of the second generation has no Billing, and must not gain one.
func (b *Billing) zeros() (zeros billingZeros, ok bool) {
	sent := func(d *Decimal) *Decimal {
		if *d == (Decimal{}) { // unlike a 0 that was read or set
			return nil
		}
		return d
	}
	return billingZeros{
		BillingFrequency:    sent(&b.BillingFrequency),
		TrialPeriod:         sent(&b.TrialPeriod),
		PlanLength:          sent(&b.PlanLength),
		CanPause:            b.CanPause,
		CanResume:           b.CanResume,
		CanCancel:           b.CanCancel,
		BasePricePercentage: sent(&b.BasePricePercentage),
	}, !reflect.ValueOf(*b).IsZero()
}

func encodePlanAttributes(a *PlanAttributes) *billedPlanWire {
	if zeros, ok := a.Billing.zeros(); ok {
		return &billedPlanWire{(*planAttributesWire)(a), zeros}
	}
	return nil
}

func encodePricingOptionAttributes(a *PricingOptionAttributes) *billedOptionWire {
	if zeros, ok := a.Billing.zeros(); ok {
		return &billedOptionWire{(*pricingOptionAttributesWire)(a), zeros}
	}
	return nil
}

func init() { // not an initialiser: the rules refer back to the codec
	payloads = wire.NewCodec(
		wire.Record(func(v *Subscription) *subscriptionWire { return (*subscriptionWire)(v) }),
		wire.Record(func(v *Plan) *planWire { return (*planWire)(v) }),
		wire.Record(func(v *Product) *productWire { return (*productWire)(v) }),
		wire.Record(func(v *PricingOption) *pricingOptionWire { return (*pricingOptionWire)(v) }),
		wire.AtMost[Subscription](maxRecords),
		wire.AtMost[Plan](maxIncluded),
		wire.AtMost[Product](maxIncluded),
		wire.AtMost[PricingOption](maxIncluded),
		wire.EncodedAs(encodePlanAttributes),
		wire.EncodedAs(encodePricingOptionAttributes),
		wire.Union(`0"`, readMoney, nil),
		wire.Union(`"0tf[`, readPaymentAuthority, writePaymentAuthority),
		wire.TextOr(func(l *Link) *string { return &l.Href }, writeLink),
		wire.Named[Links](2, func(l *NamedLink) (*string, *Link) { return &l.Name, &l.Link }, (*Link).markNotNull),
		wire.Named[Relationships](1, func(r *NamedRelationship) (*string, *Relationship) {
			return &r.Name, &r.Relationship
		}, nil),
		wire.OneOrMany(func(d *RelationshipData) (*[]ResourceRef, *bool) { return &d.Refs, &d.Many }, writeRelationshipData),
	)
}

// readPaymentAuthority keeps a value that is no object inside, where it is redacted.
func readPaymentAuthority(raw []byte, p *PaymentAuthority) error {
	*p = PaymentAuthority{Extra: Extra{"": bytes.Clone(raw)}}
	return nil
}

func writePaymentAuthority(p *PaymentAuthority) ([]byte, error) {
	if !reflect.DeepEqual(*p, PaymentAuthority{Extra: Extra{"": p.Extra[""]}}) {
		return nil, nil // an object, which may have a member with an empty name
	}
	return p.Extra[""], nil
}

// readMoney reads a bare number as the amount.
func readMoney(raw []byte, m *Money) error {
	*m = Money{}
	return m.Amount.UnmarshalJSON(raw)
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

func writeRelationshipData(d *RelationshipData) ([]byte, error) {
	switch {
	case !d.Many && len(d.Refs) == 1:
		return payloads.Marshal(&d.Refs[0])
	case !d.Many && len(d.Refs) == 0:
		return []byte("null"), nil
	}
	refs := d.Refs
	if refs == nil {
		refs = []ResourceRef{}
	}
	return payloads.Marshal(&refs)
}

// decodeRecord is the UnmarshalJSON of every record. As with encoding/json, null
// changes nothing; otherwise v is replaced as a whole.
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
