package commerce

import "github.com/commerce-go/commerce/internal/wire"

// fieldTables list the fields of the types that a page of records or a discount consists of, so
// that finding them needs no reflection. A test compares them with the types.
var fieldTables = []wire.Rule{
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
	wire.Fields(func(v *Subscription, to []any) []any {
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
	wire.Fields(func(v *Included, to []any) []any {
		return append(to, &v.Plans, &v.Products, &v.PricingOptions, &v.Extra)
	}),
	wire.Fields(func(v *Product, to []any) []any {
		return append(to, &v.ID, &v.Type, &v.Attributes, &v.Relationships, &v.Meta, &v.Extra)
	}),
	wire.Fields(func(v *ProductAttributes, to []any) []any {
		return append(to, &v.ExternalRef, &v.Name, &v.Description, &v.SKU, &v.MainImage, &v.Price, &v.PriceUnits,
			&v.UpdatedAt, &v.CreatedAt, &v.Extra)
	}),
	wire.Fields(func(v *ProductMeta, to []any) []any {
		return append(to, &v.DisplayPrice, &v.Owner, &v.Timestamps, &v.Extra)
	}),
	wire.Fields(func(v *Plan, to []any) []any {
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
	wire.Fields(func(v *PricingOption, to []any) []any {
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
}
