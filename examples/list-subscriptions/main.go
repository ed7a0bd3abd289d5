// List-subscriptions prints the subscriptions of a store as a table, page by page as they are read.
//
//	go run ./examples/list-subscriptions
//	go run ./examples/list-subscriptions -email subscriber-0001@example.com
//
// It runs on an embedded fake store with 60 subscriptions, unless the environment names a live one:
// COMMERCE_BASE_URL, and either COMMERCE_TOKEN or COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET.
//
// The table goes to standard output, everything else to standard error. If the list ends early, the
// subscriptions read until then are printed, and the exit code is 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/examples/internal/store"
)

func main() {
	opts := &commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{All: true}}
	flag.Func("email", "only subscriptions of the subscriber with this `address`", func(s string) error {
		opts.Filter.Emails = []string{s} // an empty one is refused, e.g. of an unset variable of a script
		return nil
	})
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	client, err := store.Open(os.Getenv, os.Stderr, func(s *commercetest.Store) { s.Seed(60) })
	if err == nil {
		err = list(ctx, client, opts, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "list-subscriptions:", err)
		os.Exit(1)
	}
}

// list prints the subscriptions that opts select.
func list(ctx context.Context, c *commerce.Client, opts *commerce.SubscriptionListOptions, w io.Writer) error {
	// It flushes after each page, so that memory is bounded, and pads cells to a usual width, so
	// that the pages line up.
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...any) { fmt.Fprintf(table, "%-36s\t%-8s\t%-20s\t%-8s\t%-9s\t%s\n", cells...) }
	row("ID", "STATUS", "PLAN", "BILLED", "PRICE", "NEXT INVOICE")
	n := 0
	for page, err := range c.Subscriptions.Pages(ctx, opts) {
		if err != nil {
			return fmt.Errorf("after %d subscriptions: %w", n, err)
		}
		for i := range page.Subscriptions {
			sub := &page.Subscriptions[i]
			next := "-"
			if t := sub.Meta.InvoiceAfter; !t.IsZero() {
				next = t.UTC().Format("2006-01-02")
			}
			plan, interval, price := billing(sub, &page.Included)
			row(sub.ID, plain(sub.Meta.Status), plain(plan), plain(interval), plain(price), next)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		n += len(page.Subscriptions)
	}
	fmt.Fprintf(w, "\n%d subscriptions\n", n)
	return nil
}

// billing returns the plan of a subscription, how often it is billed, and at what price.
func billing(sub *commerce.Subscription, included *commerce.Included) (name, interval, price string) {
	plan, ok := included.PlanOf(sub)
	if !ok {
		return "", "", ""
	}
	if b, ok := included.BillingOf(sub); ok {
		interval = b.BillingFrequency.String() + " " + b.BillingIntervalType
	}
	if p, ok := included.PriceOf(sub); ok {
		price = p.Amount.String() + " " + sub.Attributes.Currency // in the smallest unit, e.g. cents
		ofOption := plan.Meta.Prices[sub.Attributes.PricingOptionID.String()]
		for _, shown := range []commerce.Money{plan.Meta.DisplayPrice.WithoutTax, ofOption.DisplayPrice.WithoutTax} {
			if shown.Currency == sub.Attributes.Currency && shown.Amount.Equal(p.Amount) {
				price = shown.String() // as the store shows it
			}
		}
	}
	return plan.Attributes.Name, interval, price
}

// plain returns "-" for an empty text, and a space in place of each character that a terminal may
// take for a command.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	if strings.TrimSpace(s) == "" {
		return "-"
	}
	return s
}
