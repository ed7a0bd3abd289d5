package commerce

import (
	"bytes"
	"encoding/json"

	"github.com/commerce-go/commerce/internal/wire"
)

// payloads decodes and encodes the service's JSON. All payloads go through it,
// also where a caller's encoding/json reaches a record's methods.
var payloads *wire.Codec

// Twins of the records, without their JSON methods.
type (
	subscriptionWire  Subscription
	planWire          Plan
	productWire       Product
	pricingOptionWire PricingOption
)

func init() { // not an initialiser: the rules refer back to the codec
	payloads = wire.NewCodec(
		wire.Record(func(v *Subscription) *subscriptionWire { return (*subscriptionWire)(v) }),
		wire.Record(func(v *Plan) *planWire { return (*planWire)(v) }),
		wire.Record(func(v *Product) *productWire { return (*productWire)(v) }),
		wire.Record(func(v *PricingOption) *pricingOptionWire { return (*pricingOptionWire)(v) }),
		wire.Union(`0"`, readMoney, ordinary[Money]),
		wire.Union(`"0tf[`, readPaymentAuthority, writePaymentAuthority),
		wire.TextOr(func(l *Link) *string { return &l.Href }, writeLink),
		wire.Named[Links](2, func(l *NamedLink) (*string, *Link) { return &l.Name, &l.Link }),
		wire.Named[Relationships](1, func(r *NamedRelationship) (*string, *Relationship) { return &r.Name, &r.Relationship }),
		wire.Skip[unread](),
		wire.OneOrMany(func(d *RelationshipData) (*[]ResourceRef, *bool) { return &d.Refs, &d.Many }, writeRelationshipData),
	)
}

// readPaymentAuthority keeps a value that is no object inside, where it is redacted.
func readPaymentAuthority(raw []byte, p *PaymentAuthority) error {
	*p = PaymentAuthority{Extra: Extra{"": bytes.Clone(raw)}}
	return nil
}

func writePaymentAuthority(p *PaymentAuthority) ([]byte, error) {
	return p.Extra[""], nil
}

func ordinary[T any](*T) ([]byte, error) { return nil, nil }

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
