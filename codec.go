package commerce

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/commerce-go/commerce/internal/wire"
)

// payloads decodes and encodes all JSON of the service. The JSON methods of the records use it
// too.
var payloads *wire.Codec

// Limits on the elements of a response. They exist besides the limits on its size, because a
// few bytes of JSON make a large record. The service sends at most 100 records per page.
const (
	maxRecords   = 1_000
	maxIncluded  = 10_000 // of each type, and together
	maxErrors    = 1_000  // further errors are dropped
	maxDiscounts = 10_000 // of a cart, and in the response to a batch
	maxItems     = 10_000 // of a cart
)

// tables register each type whose JSON methods call the codec, with the limit on a list of it, and
// list the fields of the types that a record or a discount consists of, so that finding them
// needs no reflection. A test finds a type or a field that is missing.
var tables = slices.Concat(
	wire.Fields(func(v *Relationship, to []any) []any {
		return append(to, &v.Links, &v.Data, &v.Extra)
	}),
	wire.Fields(func(v *ResourceRef, to []any) []any {
		return append(to, &v.Type, &v.ID, &v.Extra)
	}),
	wire.Fields(func(v *Link, to []any) []any {
		return append(to, &v.Href, &v.Title, &v.DescribedBy, &v.Extra)
	}),
	wire.Fields(func(v *Timestamps, to []any) []any {
		return append(to, &v.UpdatedAt, &v.CreatedAt, &v.CanceledAt, &v.PausedAt, &v.ResumedAt, &v.EndDate,
			&v.GoLiveAfter, &v.GoLive, &v.Extra)
	}),
	wire.Fields(func(v *PriceUnits, to []any) []any {
		return append(to, &v.Unit, &v.Amount, &v.Extra)
	}),
	wire.Fields(func(v *DisplayPrice, to []any) []any {
		return append(to, &v.WithoutTax, &v.WithTax, &v.Tax, &v.Extra)
	}),
	wire.Fields(func(v *OptionPrice, to []any) []any {
		return append(to, &v.Price, &v.DisplayPrice, &v.Extra)
	}),
	wire.Fields(func(v *PaymentAuthority, to []any) []any {
		return append(to, &v.Type, &v.CustomerID, &v.CardID, &v.PaymentProfileID, &v.CustomerProfileID, &v.Extra)
	}),
	wire.Record(maxRecords, func(v *Subscription, to []any) []any {
		return append(to, &v.ID, &v.Type, &v.Attributes, &v.Relationships, &v.Meta, &v.Extra)
	}),
	wire.Fields(func(v *SubscriptionAttributes, to []any) []any {
		return append(to, &v.ExternalRef, &v.AccountID, &v.AddressID, &v.Offering, &v.PlanID, &v.PricingOptionID,
			&v.Currency, &v.PaymentAuthority, &v.Extra)
	}),
	wire.Fields(func(v *Offering, to []any) []any {
		return append(to, &v.ID, &v.Type, &v.Attributes, &v.Relationships, &v.Meta, &v.Extra)
	}),
	wire.Fields(func(v *OfferingAttributes, to []any) []any {
		return append(to, &v.ExternalRef, &v.Name, &v.Description, &v.UpdatedAt, &v.CreatedAt, &v.Extra)
	}),
	wire.Fields(func(v *OfferingMeta, to []any) []any {
		return append(to, &v.ExternalProductRefs, &v.ExternalPlanRefs, &v.Owner, &v.Timestamps, &v.Extra)
	}),
	wire.Fields(func(v *SubscriptionMeta, to []any) []any {
		return append(to, &v.Owner, &v.Timestamps, &v.Status, &v.State, &v.ManualPayments, &v.Canceled, &v.Paused,
			&v.Closed, &v.Suspended, &v.Pending, &v.InvoiceAfter, &v.FirstInvoicePrepaid, &v.PausedBy,
			&v.LastRefundID, &v.LastRefundAmount, &v.PendingPriceChange, &v.PriceUpdateHistory, &v.Extra)
	}),
	wire.Fields(func(v *PriceChanges, to []any) []any {
		return append(to, &v.PlanPrices, &v.PricingOptionPrices, &v.Extra)
	}),
	wire.Fields(func(v *PricingOptionPrice, to []any) []any {
		return append(to, &v.BasePricePercentage, &v.FixedPrice, &v.Extra)
	}),
	wire.Fields(func(v *PriceUpdate, to []any) []any {
		return append(to, &v.PriceChanges, &v.ValidUntil, &v.Extra)
	}),
	wire.Fields(func(v *SubscriptionState, to []any) []any {
		return append(to, &v.ID, &v.Type, &v.Attributes, &v.Meta, &v.Extra)
	}),
	wire.Fields(func(v *SubscriptionStateAttributes, to []any) []any {
		return append(to, &v.Action, &v.CancelImmediately, &v.Extra)
	}),
	wire.Fields(func(v *SubscriptionStateMeta, to []any) []any {
		return append(to, &v.CreatedAt, &v.Extra)
	}),
	wire.Record(maxIncluded, func(v *Product, to []any) []any {
		return append(to, &v.ID, &v.Type, &v.Attributes, &v.Relationships, &v.Meta, &v.Extra)
	}),
	wire.Fields(func(v *ProductAttributes, to []any) []any {
		return append(to, &v.ExternalRef, &v.Name, &v.Description, &v.SKU, &v.MainImage, &v.Price, &v.PriceUnits,
			&v.UpdatedAt, &v.CreatedAt, &v.Extra)
	}),
	wire.Fields(func(v *ProductMeta, to []any) []any {
		return append(to, &v.DisplayPrice, &v.Owner, &v.Timestamps, &v.Extra)
	}),
	wire.Record(maxIncluded, func(v *Plan, to []any) []any {
		return append(to, &v.ID, &v.Type, &v.Attributes, &v.Relationships, &v.Meta, &v.Extra)
	}),
	wire.Fields(func(v *PlanAttributes, to []any) []any {
		return append(to, &v.ExternalRef, &v.Name, &v.Description, &v.BillingIntervalType, &v.BillingFrequency,
			&v.TrialPeriod, &v.PlanLength, &v.EndBehavior, &v.CanPause, &v.CanResume, &v.CanCancel,
			&v.BasePricePercentage, &v.FixedPrice, &v.UpdatedAt, &v.CreatedAt, &v.SKU, &v.MainImage, &v.Price,
			&v.PriceUnits, &v.FeatureConfigurations, &v.Extra)
	}),
	wire.Fields(func(v *FeatureConfiguration, to []any) []any {
		return append(to, &v.Type, &v.Tag, &v.DefaultValue, &v.Extra)
	}),
	wire.Fields(func(v *PlanMeta, to []any) []any {
		return append(to, &v.Price, &v.Prices, &v.DisplayPrice, &v.ActivePlan, &v.Owner, &v.Timestamps, &v.Extra)
	}),
	wire.Record(maxIncluded, func(v *PricingOption, to []any) []any {
		return append(to, &v.ID, &v.Type, &v.Attributes, &v.Relationships, &v.Meta, &v.Extra)
	}),
	wire.Fields(func(v *PricingOptionAttributes, to []any) []any {
		return append(to, &v.ExternalRef, &v.Name, &v.Description, &v.BillingIntervalType, &v.BillingFrequency,
			&v.TrialPeriod, &v.PlanLength, &v.EndBehavior, &v.CanPause, &v.CanResume, &v.CanCancel,
			&v.BasePricePercentage, &v.FixedPrice, &v.LeadTime, &v.NotificationSchedule, &v.UpdatedAt, &v.CreatedAt,
			&v.Extra)
	}),
	wire.Fields(func(v *LeadTime, to []any) []any {
		return append(to, &v.Type, &v.Time, &v.Extra)
	}),
	wire.Fields(func(v *Notification, to []any) []any {
		return append(to, &v.Name, &v.Unit, &v.Amount, &v.Extra)
	}),
	wire.Fields(func(v *PricingOptionMeta, to []any) []any {
		return append(to, &v.Prices, &v.Price, &v.DisplayPrice, &v.ActivePricingOption, &v.Owner, &v.Timestamps,
			&v.Extra)
	}),
	wire.Fields(func(v *Money, to []any) []any {
		return append(to, &v.Amount, &v.Currency, &v.Formatted, &v.Extra)
	}),
	wire.Fields(func(v *customDiscountWire, to []any) []any {
		return append(to, &v.ID, &v.Type, &v.Amount, &v.Description, &v.DiscountCode, &v.DiscountEngine, &v.ExternalID,
			&v.Extra)
	}),
	wire.Fields(func(v *Price, to []any) []any {
		return append(to, &v.Amount, &v.IncludesTax, &v.Extra)
	}),
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

// zeroing holds the members of a Billing that are sent if they are false or 0. A number is
// left out only if it was never set. The tag is omitempty, because omitzero would leave out a
// pointer to 0: it calls the IsZero method of Decimal.
type zeroing struct {
	BillingFrequency    *Decimal `json:"billing_frequency,omitempty"`
	TrialPeriod         *Decimal `json:"trial_period,omitempty"`
	PlanLength          *Decimal `json:"plan_length,omitempty"`
	CanPause            bool     `json:"can_pause"`
	CanResume           bool     `json:"can_resume"`
	CanCancel           bool     `json:"can_cancel"`
	BasePricePercentage *Decimal `json:"base_price_percentage,omitempty"`
}

// withZeros returns attributes with the zeros of their Billing, or nil if that is zero: plans
// of the second payload generation have none.
func withZeros[A any](attributes *A, b *Billing) *billedAttributes[A] {
	if reflect.ValueOf(*b).IsZero() {
		return nil
	}
	ifSet := func(d *Decimal) *Decimal {
		if d.isSet() {
			return d
		}
		return nil
	}
	return &billedAttributes[A]{attributes, zeroing{
		BillingFrequency:    ifSet(&b.BillingFrequency),
		TrialPeriod:         ifSet(&b.TrialPeriod),
		PlanLength:          ifSet(&b.PlanLength),
		CanPause:            b.CanPause,
		CanResume:           b.CanResume,
		CanCancel:           b.CanCancel,
		BasePricePercentage: ifSet(&b.BasePricePercentage),
	}}
}

func init() { // the rules refer to payloads, so its declaration cannot hold them
	payloads = wire.NewCodec(append(tables,
		wire.EncodedAs(func(a *PlanAttributes) *billedAttributes[plainPlanAttributes] {
			return withZeros((*plainPlanAttributes)(a), &a.Billing)
		}),
		wire.EncodedAs(func(a *PricingOptionAttributes) *billedAttributes[plainPricingOptionAttributes] {
			return withZeros((*plainPricingOptionAttributes)(a), &a.Billing)
		}),
		wire.Union(`0"`, readMoney, nil),
		wire.Union(`"0tf[`, readPaymentAuthority, writePaymentAuthority),
		wire.TextOr(func(l *Link) *string { return &l.Href }, writeLink),
		wire.Named[Links](2, func(l *NamedLink) (*string, *Link) { return &l.Name, &l.Link }, (*Link).markNotNull),
		wire.Named[Relationships](1, func(r *NamedRelationship) (*string, *Relationship) {
			return &r.Name, &r.Relationship
		}, nil),
		wire.OneOrMany(func(d *RelationshipData) (*[]ResourceRef, *bool) { return &d.Refs, &d.Many }, writeRelationshipData),
	)...)
}

// readPaymentAuthority keeps a value that is not an object in Extra, so that it is redacted.
func readPaymentAuthority(raw []byte, p *PaymentAuthority) error {
	*p = PaymentAuthority{Extra: Extra{"": bytes.Clone(raw)}}
	return nil
}

func writePaymentAuthority(p *PaymentAuthority) ([]byte, error) {
	if !reflect.DeepEqual(*p, PaymentAuthority{Extra: Extra{"": p.Extra[""]}}) {
		return nil, nil // it is an object, perhaps with a member whose name is empty
	}
	return p.Extra[""], nil
}

// readMoney decodes a number alone as the amount.
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
