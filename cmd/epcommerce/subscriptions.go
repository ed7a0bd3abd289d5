package main

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
)

func newSubscriptionsCommand(e *environment) *cobra.Command {
	return group(&cobra.Command{Use: "subscriptions", Short: "List and export subscriptions", Aliases: []string{"subs"}},
		newListCommand(e), newGetCommand(e), newExportCommand(e))
}

func newListCommand(e *environment) *cobra.Command {
	opts := commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{All: true}}
	var accounts []string
	limit := 0
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List subscriptions, newest first",
		Long: "List subscriptions, newest first. Each filter may be repeated: a subscription is listed if it\n" +
			"matches one value of each filter. A list ends at 10,100 subscriptions; export has no limit.",
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.Filter.Emails, "email", nil, "only of the subscriber with this `address`")
	flags.StringArrayVar(&opts.Filter.Names, "name", nil, "only of the subscriber with this `name`")
	flags.StringArrayVar(&accounts, "account", nil, "only of the account with this `id`")
	flags.StringArrayVar(&opts.Filter.ExternalRefs, "external-ref", nil, "only with this external `reference`")
	flags.IntVar(&limit, "limit", 0, "list at most `n` subscriptions; 0: all")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, text := range accounts {
			id, err := uuid.Parse(text)
			if err != nil || id == uuid.Nil {
				return usagef("--account must be a UUID, and not the zero UUID")
			}
			opts.Filter.AccountIDs = append(opts.Filter.AccountIDs, id)
		}
		if limit < 0 {
			return usagef("--limit must not be negative")
		}
		if limit > 0 {
			opts.PageSize = min(limit, commerce.MaxPageSize)
		}
		s, err := e.open()
		if err != nil {
			return err
		}
		p := newPrinter(e, subscriptionView)
		for page, err := range s.Subscriptions.Pages(cmd.Context(), &opts) {
			if err != nil {
				return fmt.Errorf("after %d subscriptions: %w", p.n, err)
			}
			for i := range page.Subscriptions {
				if err := p.print(listed{&page.Subscriptions[i], &page.Included}); err != nil {
					return err
				}
				if p.n == limit {
					return p.end()
				}
			}
			if err := p.flush(); err != nil {
				return err
			}
		}
		if p.n == 0 {
			say(e.stderr, "no subscription found")
		}
		return p.end()
	}
	return e.addOutputFlag(cmd)
}

func newGetCommand(e *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Show a subscription with its plan",
		Args:  cobra.ExactArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := uuid.Parse(args[0])
		if err != nil {
			return usagef("the ID of a subscription must be a UUID")
		}
		s, err := e.open()
		if err != nil {
			return err
		}
		result, err := s.Subscriptions.Get(cmd.Context(), id, commerce.SubscriptionInclude{All: true})
		if err != nil {
			return err
		}
		record := listed{&result.Subscription, &result.Included}
		if e.output != "table" {
			p := newPrinter(e, subscriptionView)
			if p.format == "json" {
				p.format = "jsonl" // an object, not a list of one
			}
			if err := p.print(record); err != nil {
				return err
			}
			return p.end()
		}
		p := newPrinter(e, view[cell]{widths: []int{28, 50}, lines: func(c cell) [][]string {
			return [][]string{row(c.column, cellText(c.value))}
		}})
		for _, c := range record.cells() {
			if cellText(c.value) != "" {
				if err := p.print(c); err != nil {
					return err
				}
			}
		}
		return p.end()
	}
	return e.addOutputFlag(cmd)
}

// listed is a subscription with what a response includes for it.
type listed struct {
	sub      *commerce.Subscription
	included *commerce.Included
}

var subscriptionView = view[listed]{
	widths: []int{36, 10, 14, 14},
	head: [][]string{
		{"ID", "STATUS", "NEXT INVOICE", "ENDS"},
		{"  PLAN", "PRICE", "BILLED EVERY", "EXTERNAL REF"},
	},
	lines:  listed.lines,
	cells:  listed.cells,
	object: listed.object,
}

func (l listed) object() any {
	plan, _ := l.included.PlanOf(l.sub)
	option, _ := l.included.PricingOptionOf(l.sub)
	return struct {
		Subscription  *commerce.Subscription  `json:"subscription"`
		Plan          *commerce.Plan          `json:"plan"`
		PricingOption *commerce.PricingOption `json:"pricing_option"`
	}{l.sub, plan, option}
}

func (l listed) lines() [][]string {
	plan, _ := l.parts()
	day := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.DateOnly)
	}
	_, price := l.price()
	every := ""
	if b, ok := l.included.BillingOf(l.sub); ok {
		every = b.BillingFrequency.String() + " " + b.BillingIntervalType
	}
	return [][]string{
		row(l.sub.ID.String(), status(&l.sub.Meta), day(l.sub.Meta.InvoiceAfter), day(l.sub.Meta.Timestamps.EndDate)),
		row("  "+plain(plan.Attributes.Name), price, every, l.sub.Attributes.ExternalRef),
	}
}

// status returns the state that matters: a subscription can be active and canceled.
func status(m *commerce.SubscriptionMeta) string {
	switch {
	case m.Closed:
		return "closed"
	case m.Canceled:
		return "canceled"
	case m.Paused:
		return "paused"
	case m.Suspended:
		return "suspended"
	case m.Pending:
		return "pending"
	}
	return m.Status
}

// parts returns the plan and the pricing option, or zero ones if there are none.
func (l listed) parts() (*commerce.Plan, *commerce.PricingOption) {
	plan, ok := l.included.PlanOf(l.sub)
	if !ok {
		plan = &commerce.Plan{}
	}
	option, ok := l.included.PricingOptionOf(l.sub)
	if !ok {
		option = &commerce.PricingOption{}
	}
	return plan, option
}

// price returns the price of the plan; in the second payload generation with the pricing option.
// The values are empty texts if there is none.
func (l listed) price() (amount any, formatted string) {
	plan, option := l.parts()
	shown := plan.Meta.DisplayPrice
	if option.ID != uuid.Nil {
		shown = plan.Meta.Prices[option.ID.String()].DisplayPrice
	}
	price := shown.WithTax
	if price.Currency == "" && price.Formatted == "" {
		return "", ""
	}
	return price.Amount, price.String()
}

// cells returns the columns of CSV. All are empty if l is zero.
func (l listed) cells() []cell {
	if l.sub == nil {
		l.sub = &commerce.Subscription{}
	}
	a, m, at := &l.sub.Attributes, &l.sub.Meta, &l.sub.Meta.Timestamps
	plan, option := l.parts()
	billing, billed := l.included.BillingOf(l.sub)
	interval, frequency := "", any("")
	if billed {
		interval, frequency = billing.BillingIntervalType, billing.BillingFrequency
	}
	amount, formatted := l.price()
	return []cell{
		{"id", l.sub.ID},
		{"external_ref", a.ExternalRef},
		{"account_id", a.AccountID},
		{"status", m.Status},
		{"canceled", m.Canceled},
		{"paused", m.Paused},
		{"closed", m.Closed},
		{"suspended", m.Suspended},
		{"pending", m.Pending},
		{"currency", a.Currency},
		{"offering_id", a.Offering.ID},
		{"offering_name", a.Offering.Attributes.Name},
		{"plan_id", a.PlanID},
		{"plan_name", plan.Attributes.Name},
		{"plan_external_ref", plan.Attributes.ExternalRef},
		{"pricing_option_id", a.PricingOptionID},
		{"pricing_option_name", option.Attributes.Name},
		{"pricing_option_external_ref", option.Attributes.ExternalRef},
		{"billing_interval_type", interval},
		{"billing_frequency", frequency},
		{"price_amount", amount},
		{"price_formatted", formatted},
		{"created_at", at.CreatedAt},
		{"updated_at", at.UpdatedAt},
		{"go_live", at.GoLive},
		{"invoice_after", m.InvoiceAfter},
		{"paused_at", at.PausedAt},
		{"resumed_at", at.ResumedAt},
		{"canceled_at", at.CanceledAt},
		{"end_date", at.EndDate},
	}
}
