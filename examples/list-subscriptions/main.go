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
//	-email address      only subscriptions of the subscriber with this address
//	-external-ref text  only subscriptions with this reference of the store's own
//	-include list       what comes along: plans, products, pricing_options, with
//	                    commas between (default plans, for the PLAN column)
//	-page-size n        subscriptions in a request, 1 to 100 (0, the default: 100)
//	-limit n            stop after n subscriptions (0, the default: print all)
//	-json               print one subscription a line, complete: this includes the
//	                    ids of its payment authority
//	-n count            count of subscriptions in the embedded store (default 60)
//
// Subscriptions go to standard output, all else to standard error. The exit code
// is 0 if all were printed, 1 if the list failed, 2 for a wrong flag or
// environment, 3 if the highest offset was reached and there may be more, 130 if it
// was interrupted; go run prints the code, and exits with 1 itself. What was read
// before is printed.
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
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// config is what the flags say.
type config struct {
	list  commerce.SubscriptionListOptions
	limit int // 0: all
	json  bool
	n     int
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	cfg, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "list-subscriptions: %v (-h for help)\n", err)
		return exitUsage
	}
	client, err := store.Open(getenv, stderr, func(s *commercetest.Store) { s.Seed(cfg.n) })
	if err != nil {
		fmt.Fprintln(stderr, "list-subscriptions:", err)
		return exitUsage
	}
	emit := tableTo(stdout)
	if cfg.json {
		emit = jsonLinesTo(stdout)
	}
	printed, err := list(ctx, client, cfg, emit)
	return conclude(stderr, cfg, printed, err)
}

// list hands the pages to emit, and returns how many subscriptions it printed.
func list(ctx context.Context, client *commerce.Client, cfg config, emit func(*commerce.SubscriptionPage) error) (printed int, err error) {
	for page, err := range client.Subscriptions.Pages(ctx, &cfg.list) {
		if err != nil {
			return printed, err
		}
		if left := cfg.limit - printed; cfg.limit > 0 && len(page.Subscriptions) > left {
			page.Subscriptions = page.Subscriptions[:left]
		}
		if err := emit(page); err != nil {
			return printed, fmt.Errorf("can't write: %w", err)
		}
		printed += len(page.Subscriptions)
		if printed == cfg.limit {
			break
		}
	}
	return printed, nil
}

// conclude says how it ended, and returns the exit code.
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
	case errors.Is(err, context.Canceled): // by the signal: other timeouts and cuts don't match
		fmt.Fprintln(stderr, "list-subscriptions: interrupted: the list is not complete")
		return exitInterrupted
	case errors.Is(err, commerce.ErrInvalidArgument):
		fmt.Fprintln(stderr, "list-subscriptions:", err)
		return exitUsage
	}
	fmt.Fprintln(stderr, "list-subscriptions:", err)
	// The text of an error holds no details, as it may go to a log. This is a terminal.
	if failed := (*commerce.Error)(nil); errors.As(err, &failed) {
		for _, o := range failed.Errors {
			if o.Detail != "" {
				fmt.Fprintln(stderr, "\t"+terminal.Plain(o.Detail))
			}
		}
	}
	if errors.Is(err, commerce.ErrOffsetLimit) {
		fmt.Fprintln(stderr, "\tlist it in parts: one -account, -name or -email at a time")
		return exitOffsetLimit
	}
	return exitFailed
}

// tableTo returns a function that prints pages as a table. Each page is
// flushed by itself, so that memory is bounded; cells are padded to the usual
// width of their column, so that the pages line up.
func tableTo(w io.Writer) func(*commerce.SubscriptionPage) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(id, account, plan, status, currency, created string) {
		fmt.Fprintf(tw, "%-36s\t%-36s\t%-12s\t%-8s\t%-8s\t%s\n", id, account, plan, status, currency, created)
	}
	headed := false
	return func(page *commerce.SubscriptionPage) error {
		if !headed {
			row("ID", "ACCOUNT", "PLAN", "STATUS", "CURRENCY", "CREATED")
			headed = true
		}
		for _, sub := range page.Subscriptions {
			account, plan, created := "-", "-", "-"
			if id := sub.Attributes.AccountID; id != uuid.Nil {
				account = id.String()
			}
			if p, ok := page.Included.Plan(sub.Attributes.PlanID); ok {
				plan = terminal.Plain(p.Attributes.Name)
			}
			if t := sub.Meta.Timestamps.CreatedAt; !t.IsZero() {
				created = t.UTC().Format(time.RFC3339)
			}
			row(sub.ID.String(), account, plan, terminal.Plain(sub.Meta.Status), terminal.Plain(sub.Attributes.Currency), created)
		}
		return tw.Flush()
	}
}

// jsonLinesTo returns a function that prints pages as JSON Lines.
func jsonLinesTo(w io.Writer) func(*commerce.SubscriptionPage) error {
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

// parse reads the flags. Help goes to stdout, with flag.ErrHelp as the error.
func parse(args []string, stdout io.Writer) (config, error) {
	cfg := config{n: 60}
	cfg.list.Include.Plans = true

	set := flag.NewFlagSet("list-subscriptions", flag.ContinueOnError)
	set.SetOutput(io.Discard) // one sentence is enough, see run
	flags.UUID(set, &cfg.list.Filter.AccountID, "account", "only subscriptions of the account with this `uuid`")
	flags.Text(set, &cfg.list.Filter.Name, "name", "only subscriptions of the subscriber with this `name`")
	flags.Text(set, &cfg.list.Filter.Email, "email", "only subscriptions of the subscriber with this `address`")
	flags.Text(set, &cfg.list.Filter.ExternalRef, "external-ref", "only subscriptions with this `reference` of the store's own")
	set.Func("include", "what comes along: a comma-separated `list` of plans, products, and, of the second payload generation, pricing_options (default plans)", func(s string) error {
		include, err := parseInclude(s)
		cfg.list.Include = include
		return err
	})
	flags.Number(set, &cfg.list.PageSize, "page-size", 0, commerce.MaxPageSize, "`n` subscriptions in a request, 1 to 100; 0 for the default, 100")
	flags.Number(set, &cfg.limit, "limit", 0, 1_000_000, "stop after `n` subscriptions; 0 for the default, all")
	set.BoolVar(&cfg.json, "json", false, "print one subscription a line as JSON, complete with the ids of its payment authority")
	flags.Number(set, &cfg.n, "n", 0, 100_000, "`count` of subscriptions in the embedded store (default 60)")

	err := set.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, "List-subscriptions prints the subscriptions of a store.\n\nUsage: list-subscriptions [flags]\n\nFlags:")
		set.SetOutput(stdout)
		set.PrintDefaults()
		fmt.Fprintln(stdout, "\nThe environment and the exit codes: go doc ./examples/list-subscriptions")
	}
	if err == nil && set.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	return cfg, err
}

// parseInclude reads the names of what to include; none for "".
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
			return include, errors.New("must be of plans, products and pricing_options, with commas between")
		}
	}
	return include, nil
}
