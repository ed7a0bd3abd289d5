package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/cmd/epcommerce/internal/subscriptionstate"
)

func newListCommand(e *environment) *cobra.Command {
	x, opts := &selection{}, &commerce.SubscriptionListOptions{}
	var limit uint
	short := "List subscriptions, newest first"
	cmd := e.command("list", short, func(ctx context.Context, s *shop, _ []string) error {
		return x.list(ctx, s, opts, int(limit))
	})
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.Filter.Emails, "email", nil, "only of the subscriber with this `address`; may be repeated")
	flags.StringArrayVar(&opts.Filter.Names, "name", nil, "only of the subscriber with this `name`; may be repeated")
	flags.Func("account", "only of the account with this `id`; may be repeated", func(text string) error {
		id, err := parseUUID(text)
		opts.Filter.AccountIDs = append(opts.Filter.AccountIDs, id)
		return err
	})
	flags.StringArrayVar(&opts.Filter.ExternalRefs, "external-ref", nil, "only with this `reference`; may be repeated")
	flags.UintVar(&limit, "limit", 0, "list at most `n` subscriptions; 0: all")
	x.addFlags(cmd)
	cmd.Example = "  epcommerce subscriptions list --email EMAIL\n" +
		"  epcommerce subscriptions list -o csv --state paused --columns id,price"
	return cmd
}

// list prints at most limit of the subscriptions that are selected; 0: all.
func (x *selection) list(ctx context.Context, s *shop, opts *commerce.SubscriptionListOptions, limit int) error {
	if err := x.check(s.output); err != nil {
		return err
	}
	opts.Include.All = true
	if x.state == "" {
		opts.PageSize = min(limit, commerce.MaxPageSize) // 0: the default
	}
	p := s.begin(x.newPrinter(s.stdout, s.output), subscriptionHead, x.first())
	for page, err := range s.Subscriptions.Pages(ctx, opts) {
		var records []record
		if err == nil {
			records, err = x.records(ctx, s, page)
		}
		if err != nil && p.n > 0 && ctx.Err() == nil {
			err = &exitError{code: exitUnfinished, err: fmt.Errorf("after %d subscriptions: %w", p.n, err)}
		}
		if err != nil {
			return err
		}
		for _, r := range records {
			p.print(r)
			if p.n == limit {
				return p.end()
			}
		}
		if err := p.flush(); err != nil {
			return err
		}
	}
	if p.n == 0 {
		say(s.stderr, "no subscription matches")
	}
	s.sayUnknown()
	return p.end()
}

func newGetCommand(e *environment) *cobra.Command {
	short := "Show a subscription with its plan"
	cmd := e.command("get ID", short, func(ctx context.Context, s *shop, args []string) error {
		id, err := parseID(args[0])
		if err != nil {
			return err
		}
		result, err := s.Subscriptions.Get(ctx, id, commerce.SubscriptionInclude{All: true})
		if err != nil {
			return err
		}
		r := s.newRecord(ctx, &result.Subscription, &result.Included)
		r.lines = nil
		for _, c := range r.cells {
			r.lines = append(r.lines, columns([]int{28, 50}, c.column, plain(c.text)))
		}
		return e.printOne(r)
	})
	cmd.Example = "  epcommerce subscriptions get ID -o json"
	return cmd
}

// parseUUID reads an id in its usual form: of 38 characters, package uuid looks at 36.
func parseUUID(text string) (uuid.UUID, error) {
	if len(text) != len(uuid.UUID{}.String()) {
		return uuid.Nil, errors.New("not the usual form of a UUID")
	}
	return uuid.Parse(text)
}

// parseID reads the id of a subscription.
func parseID(text string) (uuid.UUID, error) {
	id, err := parseUUID(text)
	if err != nil {
		err = usagef("the ID of a subscription must be a UUID, not %q", text)
	}
	return id, err
}

var subscriptionWidths, planWidths = []int{36, 12, 12, 14}, []int{36, whole, 12, 14}

var subscriptionHead = []row{
	columns(subscriptionWidths, "ID", "STATE", "NEXT INVOICE", "ENDS"),
	columns(planWidths, "  PLAN", "PRICE", "BILLED EVERY", "EXTERNAL REF"),
}

var noSubscription = (&shop{}).newRecord(context.Background(), &commerce.Subscription{}, nil)

// priceOf returns a price of a subscription as the store shows it, if it does so in its currency,
// otherwise in figures.
func (s *shop) priceOf(
	ctx context.Context, p commerce.Price, sub *commerce.Subscription, plan *commerce.Plan,
) string {
	shown := []commerce.DisplayPrice{
		plan.Meta.Prices[sub.Attributes.PricingOptionID.String()].DisplayPrice, plan.Meta.DisplayPrice,
	}
	for _, price := range shown {
		for _, m := range []commerce.Money{price.WithTax, price.WithoutTax} {
			if m.Currency == sub.Attributes.Currency && m.Amount.Equal(p.Amount) && m.Formatted != "" {
				return m.Formatted
			}
		}
	}
	return s.money(ctx, commerce.Money{Amount: p.Amount, Currency: sub.Attributes.Currency})
}

// newRecord returns how a subscription is printed. included is what the response includes.
func (s *shop) newRecord(ctx context.Context, sub *commerce.Subscription, included *commerce.Included) record {
	a, m, times := &sub.Attributes, &sub.Meta, &sub.Meta.Timestamps
	plan, _ := included.PlanOf(sub)
	option, _ := included.PricingOptionOf(sub)
	object := members{"subscription": sub, "plan": plan, "pricing_option": option}
	plan, option = cmp.Or(plan, &commerce.Plan{}), cmp.Or(option, &commerce.PricingOption{})
	price, cents, includesTax := "", "", ""
	if p, ok := included.PriceOf(sub); ok {
		price, cents, includesTax = s.priceOf(ctx, p, sub, plan), p.Amount.String(), strconv.FormatBool(p.IncludesTax)
		object["price_amount"], object["price_includes_tax"] = p.Amount, p.IncludesTax
	}
	interval, frequency := "", ""
	if b, ok := included.BillingOf(sub); ok {
		interval, frequency = b.BillingIntervalType, b.BillingFrequency.String()
	}
	lines := []row{
		columns(subscriptionWidths, id(sub.ID), state(m),
			plain(at(m.InvoiceAfter, time.DateOnly)), plain(at(times.EndDate, time.DateOnly))),
		columns(planWidths, "  "+plain(plan.Attributes.Name), plain(price),
			plain(frequency+" "+interval), plain(a.ExternalRef)),
	}
	return record{lines: lines, object: object, cells: []cell{
		{"id", id(sub.ID)},
		{"external_ref", a.ExternalRef},
		{"account_id", id(a.AccountID)},
		{"state", state(m)},
		{"status", m.Status},
		{"offering_id", id(a.Offering.ID)},
		{"offering_name", a.Offering.Attributes.Name},
		{"plan_id", id(a.PlanID)},
		{"plan_name", plan.Attributes.Name},
		{"plan_external_ref", plan.Attributes.ExternalRef},
		{"pricing_option_id", id(a.PricingOptionID)},
		{"pricing_option_name", option.Attributes.Name},
		{"pricing_option_external_ref", option.Attributes.ExternalRef},
		{"billing_interval_type", interval},
		{"billing_frequency", frequency},
		{"price", price},
		{"price_amount", cents},
		{"currency", a.Currency},
		{"created_at", at(times.CreatedAt, time.RFC3339Nano)},
		{"updated_at", at(times.UpdatedAt, time.RFC3339Nano)},
		{"go_live", at(times.GoLive, time.RFC3339Nano)},
		{"invoice_after", at(m.InvoiceAfter, time.RFC3339Nano)},
		{"paused_by", m.PausedBy},
		{"paused_at", at(times.PausedAt, time.RFC3339Nano)},
		{"resumed_at", at(times.ResumedAt, time.RFC3339Nano)},
		{"canceled_at", at(times.CanceledAt, time.RFC3339Nano)},
		{"end_date", at(times.EndDate, time.RFC3339Nano)},
		{"price_includes_tax", includesTax},
	}}
}

// state returns what matters: a subscription can be active and canceled.
func state(m *commerce.SubscriptionMeta) string { return plain(subscriptionstate.Of(m)) }
