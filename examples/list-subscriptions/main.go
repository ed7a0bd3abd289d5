// List-subscriptions prints the subscriptions of a store, as a table or as JSON
// Lines, page by page as they are read.
//
//	go run ./examples/list-subscriptions
//	go run ./examples/list-subscriptions -email subscriber-0001@example.com -json
//
// It runs on an embedded fake store, unless the environment names a live one:
// COMMERCE_BASE_URL, and either COMMERCE_TOKEN or COMMERCE_CLIENT_ID and
// COMMERCE_CLIENT_SECRET.
//
// The flags are
//
//	-account uuid       only subscriptions of this account
//	-name text          only subscriptions of the subscriber with this name
//	-email address      only subscriptions of the subscriber with this email address
//	-external-ref text  only subscriptions with this external reference
//	-include list       included resources: plans, products, pricing_options,
//	                    separated by commas (default plans, for the PLAN column)
//	-page-size n        subscriptions in a request, 1 to 100 (0, the default: 100)
//	-limit n            stop after n subscriptions (0, the default: print all)
//	-json               print each subscription as one line of JSON, with all members:
//	                    this includes the ids of its payment authority
//	-n count            number of subscriptions in the embedded store (default 60)
//
// Subscriptions go to standard output, all else to standard error. If the list ends
// early, the subscriptions read until then are printed. The exit code is
//
//	0    all subscriptions were printed
//	1    the list failed
//	2    invalid flag or environment
//	3    the highest offset was reached: there may be more
//	130  interrupted
//
// go run prints the code, and exits with 1 itself.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/examples/internal/flags"
	"github.com/commerce-go/commerce/examples/internal/store"
	"github.com/commerce-go/commerce/examples/internal/terminal"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitOffsetLimit = 3
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], system{os.Getenv, os.Stdout, os.Stderr}))
}

// system is what the program uses of the machine.
type system struct {
	getenv         func(string) string
	stdout, stderr io.Writer
}

// config holds the values of the flags.
type config struct {
	list  commerce.SubscriptionListOptions
	limit int // 0: all
	json  bool
	n     int
}

func run(ctx context.Context, args []string, sys system) int {
	cfg, err := parse(args, sys.stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(sys.stderr, "list-subscriptions: %v (-h for help)\n", err)
		return exitUsage
	}
	client, err := store.Open(sys.getenv, sys.stderr, func(s *commercetest.Store) { s.Seed(cfg.n) })
	if err != nil {
		fmt.Fprintln(sys.stderr, "list-subscriptions:", err)
		return exitUsage
	}
	printPage := tableTo(sys.stdout)
	if cfg.json {
		printPage = jsonLinesTo(sys.stdout)
	}
	printed, err := list(ctx, client, cfg, printPage)
	return conclude(sys.stderr, cfg, printed, err)
}

// pagePrinter prints the subscriptions of a page.
type pagePrinter func(*commerce.SubscriptionPage) error

// list prints the pages, and returns how many subscriptions it printed.
func list(ctx context.Context, client *commerce.Client, cfg config, printPage pagePrinter) (printed int, err error) {
	for page, err := range client.Subscriptions.Pages(ctx, &cfg.list) {
		if err != nil {
			return printed, err
		}
		if left := cfg.limit - printed; cfg.limit > 0 && len(page.Subscriptions) > left {
			page.Subscriptions = page.Subscriptions[:left]
		}
		if err := printPage(page); err != nil {
			return printed, fmt.Errorf("can't write: %w", err)
		}
		printed += len(page.Subscriptions)
		if printed == cfg.limit {
			break
		}
	}
	return printed, nil
}

// conclude prints how the list ended, and returns the exit code.
func conclude(stderr io.Writer, cfg config, printed int, err error) int {
	summary := fmt.Sprintf("%d subscriptions", printed)
	if printed == 1 {
		summary = "1 subscription"
	}
	if err == nil && printed > 0 && printed == cfg.limit {
		summary += ", the -limit: there may be more"
	}
	fmt.Fprintln(stderr, summary)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled): // by the signal: no other error matches
		fmt.Fprintln(stderr, "list-subscriptions: interrupted: the list is not complete")
		return exitInterrupted
	case errors.Is(err, commerce.ErrInvalidArgument):
		fmt.Fprintln(stderr, "list-subscriptions:", err)
		return exitUsage
	}
	fmt.Fprintln(stderr, "list-subscriptions:", err)
	terminal.PrintDetails(stderr, err)
	if errors.Is(err, commerce.ErrOffsetLimit) {
		fmt.Fprintln(stderr, "\tlist it in parts: one -account, -name or -email at a time")
		return exitOffsetLimit
	}
	return exitFailed
}

// tableTo returns a function that prints pages as a table. It flushes after each
// page, so that memory is bounded, and pads cells to the usual width of their
// column, so that the pages line up.
func tableTo(w io.Writer) pagePrinter {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...any) {
		fmt.Fprintf(tw, "%-36s\t%-36s\t%-12s\t%-8s\t%-8s\t%s\n", cells...)
	}
	row("ID", "ACCOUNT", "PLAN", "STATUS", "CURRENCY", "CREATED")
	return func(page *commerce.SubscriptionPage) error {
		for i := range page.Subscriptions {
			sub := &page.Subscriptions[i]
			account, plan, created := "-", "-", "-"
			if id := sub.Attributes.AccountID; id != uuid.Nil {
				account = id.String()
			}
			if p, ok := page.Included.PlanOf(sub); ok {
				plan = terminal.Plain(p.Attributes.Name)
			}
			if t := sub.Meta.Timestamps.CreatedAt; !t.IsZero() {
				created = t.UTC().Format(time.RFC3339)
			}
			status, currency := terminal.Plain(sub.Meta.Status), terminal.Plain(sub.Attributes.Currency)
			row(sub.ID, account, plan, status, currency, created)
		}
		return tw.Flush()
	}
}

// jsonLinesTo returns a function that prints pages as JSON Lines.
func jsonLinesTo(w io.Writer) pagePrinter {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return func(page *commerce.SubscriptionPage) error {
		for _, sub := range page.Subscriptions {
			if err := enc.Encode(sub); err != nil {
				return err
			}
		}
		return nil
	}
}

var help = flags.Help{
	Before: "List-subscriptions prints the subscriptions of a store.",
	After:  "The environment and the exit codes: go doc ./examples/list-subscriptions",
}

// parse reads the flags. Help goes to stdout, with flag.ErrHelp as the error.
func parse(args []string, stdout io.Writer) (config, error) {
	cfg := config{n: 60}
	cfg.list.Include.Plans = true

	set := flag.NewFlagSet("list-subscriptions", flag.ContinueOnError)
	flags.Filters(set, &cfg.list.Filter)
	set.Func("include", "included resources: a comma-separated `list` of plans, products, and, in the second payload "+
		"generation, pricing_options (default plans)", func(s string) (err error) {
		cfg.list.Include, err = parseInclude(s)
		return err
	})
	set.Func("page-size", "`n` subscriptions in a request, 1 to 100; 0 for the default, 100",
		flags.Number(&cfg.list.PageSize, 0, commerce.MaxPageSize))
	set.Func("limit", "stop after `n` subscriptions; 0 for the default, all", flags.Number(&cfg.limit, 0, 1_000_000))
	set.BoolVar(&cfg.json, "json", false,
		"print each subscription as one line of JSON, with all members: this includes the ids of its payment authority")
	set.Func("n", "`number` of subscriptions in the embedded store (default 60)", flags.Number(&cfg.n, 0, 100_000))
	err := flags.Parse(set, args, help, stdout)
	return cfg, err
}

// parseInclude reads a list of included resources, which may be empty.
func parseInclude(s string) (include commerce.SubscriptionInclude, err error) {
	if s == "" {
		return include, nil
	}
	for name := range strings.SplitSeq(s, ",") {
		switch strings.TrimSpace(name) {
		case "plans":
			include.Plans = true
		case "products":
			include.Products = true
		case "pricing_options":
			include.PricingOptions = true
		default:
			return include, errors.New("must be a list of plans, products and pricing_options, separated by commas")
		}
	}
	return include, nil
}
