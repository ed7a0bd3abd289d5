package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
)

func newSubscriptionsCommand(e *environment) *cobra.Command {
	return group("subscriptions", "List and export subscriptions",
		newListCommand(e), newGetCommand(e), newExportCommand(e))
}

func newListCommand(e *environment) *cobra.Command {
	opts := commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{All: true}}
	var accounts []string
	limit := 0
	cmd := e.command("list", "List subscriptions, newest first", func(ctx context.Context, s *shop, _ []string) error {
		for _, text := range accounts {
			id, err := uuid.Parse(text)
			if err != nil {
				return usagef("--account must be a UUID")
			}
			opts.Filter.AccountIDs = append(opts.Filter.AccountIDs, id)
		}
		if limit < 0 {
			return usagef("--limit must not be negative")
		}
		opts.PageSize = min(limit, commerce.MaxPageSize) // 0: the default
		p := e.newPrinter(subscriptionLayout)
		for page, err := range s.Subscriptions.Pages(ctx, &opts) {
			if err != nil {
				return fmt.Errorf("after %d subscriptions: %w", p.n, err)
			}
			for i := range page.Subscriptions {
				p.printSubscription(&page.Subscriptions[i], &page.Included)
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
	})
	cmd.Long = "List subscriptions, newest first. Each filter may be repeated: a subscription is listed if it\n" +
		"matches one value of each filter. A list ends at 10,100 subscriptions; export has no limit."
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.Filter.Emails, "email", nil, "only of the subscriber with this `address`")
	flags.StringArrayVar(&opts.Filter.Names, "name", nil, "only of the subscriber with this `name`")
	flags.StringArrayVar(&accounts, "account", nil, "only of the account with this `id`")
	flags.StringArrayVar(&opts.Filter.ExternalRefs, "external-ref", nil, "only with this external `reference`")
	flags.IntVar(&limit, "limit", 0, "list at most `n` subscriptions; 0: all")
	return cmd
}

func newGetCommand(e *environment) *cobra.Command {
	short := "Show a subscription with its plan"
	return e.command("get ID", short, func(ctx context.Context, s *shop, args []string) error {
		id, err := uuid.Parse(args[0])
		if err != nil {
			return usagef("the ID of a subscription must be a UUID")
		}
		result, err := s.Subscriptions.Get(ctx, id, commerce.SubscriptionInclude{All: true})
		if err != nil {
			return err
		}
		p := e.newPrinter(layout{widths: []int{28, 50}}) // a line for each column
		if p.format == "json" {
			p.format = "jsonl" // an object, not a list of one
		}
		p.printSubscription(&result.Subscription, &result.Included)
		return p.end()
	})
}

var subscriptionLayout = layout{
	zero: subscriptionCells(&commerce.Subscription{}, nil),
	lines: [][]string{
		{"id", "state", "invoice_after", "end_date"},
		{"plan_name", "price", "billed_every", "external_ref"},
	},
	widths: []int{36, 10, 14, 14},
}

func (p *printer) printSubscription(sub *commerce.Subscription, included *commerce.Included) {
	plan, _ := included.PlanOf(sub)
	option, _ := included.PricingOptionOf(sub)
	p.print(subscriptionCells(sub, included), map[string]any{
		"subscription": sub, "plan": plan, "pricing_option": option,
	})
}

// state returns the state that matters: a subscription can be active and canceled.
func state(m *commerce.SubscriptionMeta) string {
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

func subscriptionCells(sub *commerce.Subscription, included *commerce.Included) []cell {
	a, m, at := &sub.Attributes, &sub.Meta, &sub.Meta.Timestamps
	plan, ok := included.PlanOf(sub)
	if !ok {
		plan = &commerce.Plan{}
	}
	shown := plan.Meta.DisplayPrice
	option, ok := included.PricingOptionOf(sub)
	if ok { // the second payload generation: a price for each option
		shown = plan.Meta.Prices[option.ID.String()].DisplayPrice
	} else {
		option = &commerce.PricingOption{}
	}
	price := any("")
	if shown.WithTax.Currency != "" {
		price = shown.WithTax
	}
	interval, frequency := "", ""
	if b, ok := included.BillingOf(sub); ok {
		interval, frequency = b.BillingIntervalType, b.BillingFrequency.String()
	}
	return []cell{
		{"id", sub.ID},
		{"external_ref", a.ExternalRef},
		{"account_id", a.AccountID},
		{"state", state(m)},
		{"status", m.Status},
		{"canceled", m.Canceled},
		{"paused", m.Paused},
		{"closed", m.Closed},
		{"suspended", m.Suspended},
		{"pending", m.Pending},
		{"offering_id", a.Offering.ID},
		{"offering_name", a.Offering.Attributes.Name},
		{"plan_id", a.PlanID},
		{"plan_name", plan.Attributes.Name},
		{"plan_external_ref", plan.Attributes.ExternalRef},
		{"pricing_option_id", a.PricingOptionID},
		{"pricing_option_name", option.Attributes.Name},
		{"pricing_option_external_ref", option.Attributes.ExternalRef},
		{"billed_every", frequency + " " + interval},
		{"billing_interval_type", interval},
		{"billing_frequency", frequency},
		{"price", price},
		{"currency", a.Currency},
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
