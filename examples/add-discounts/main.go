// Add-discounts adds custom discounts to a cart, and tells what became of each.
//
//	go run ./examples/add-discounts
//	go run ./examples/add-discounts -file discounts.json -all-or-nothing
//
// It runs on an embedded fake store with a demo cart, unless the environment
// names a live one: COMMERCE_BASE_URL, and either COMMERCE_TOKEN or
// COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET.
//
// The flags are
//
//	-cart id          cart to add to; required on a live store
//	-file path        JSON file with the discounts; - for standard input, which is
//	                  also read without -file if something is piped into it. With
//	                  neither, the embedded store gets sample discounts
//	-all-or-nothing   add none of the discounts if one of them can't be added
//
// The file holds an array, as discounts.json beside this program does:
//
//	[{"amount": -1000, "description": "Summer sale", "discount_code": "SUMMER-10",
//	  "discount_engine": "my engine", "external_id": "summer-10",
//	  "item": {"type": "cart_item", "id": "3b4de20a-ccd0-44e6-894f-628e7afb3db0"}}]
//
// Amounts are in the smallest unit of the cart's currency. Without item, which may
// also be a custom_item, the discount is for the whole cart.
//
// What was added and what was not go to standard output, errors to standard error.
// The exit code is 0 if all were added; 1 if none was, because they were rejected
// or not sent; 2 for a wrong flag, environment or discount; 3 if only a part was
// added; 4 if that is not known: then look at the cart before sending anything again.
package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/examples/internal/store"
	"github.com/commerce-go/commerce/examples/internal/terminal"
)

// The exit codes.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitPartial = 3
	exitUnknown = 4
)

// samples are discounts for the demo cart of the embedded store.
//
//go:embed discounts.json
var samples []byte

// demoItem is in the demo cart.
var demoItem = commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse("3b4de20a-ccd0-44e6-894f-628e7afb3db0")}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// config is what the flags say.
type config struct {
	cart, file string
	options    commerce.AddCustomDiscountsOptions
}

func run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	cfg, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "add-discounts: %v (-h for help)\n", err)
		return exitUsage
	}
	demoCart := "" // of the embedded store
	client, err := store.Open(getenv, stderr, func(s *commercetest.Store) { demoCart = s.AddCart(demoItem) })
	if err != nil {
		fmt.Fprintln(stderr, "add-discounts:", err)
		return exitUsage
	}
	if cfg.cart = cmp.Or(cfg.cart, demoCart); cfg.cart == "" {
		fmt.Fprintln(stderr, "add-discounts: -cart is required on a live store (-h for help)")
		return exitUsage
	}
	input, err := read(ctx, cfg.file, stdin, stderr)
	if err == nil && len(input) == 0 && cfg.file == "" && demoCart != "" {
		input = samples
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(stderr, "add-discounts: interrupted: nothing was sent")
		return exitFailed
	}
	var discounts []commerce.NewCustomDiscount
	if err == nil {
		discounts, err = decode(input)
	}
	if err != nil {
		fmt.Fprintln(stderr, "add-discounts:", err)
		return exitUsage
	}

	result, err := client.Carts.AddCustomDiscounts(ctx, cfg.cart, discounts, &cfg.options)
	return report(stdout, stderr, cfg.cart, discounts, result, err)
}

// report tells what became of the discounts, and returns the exit code.
func report(stdout, stderr io.Writer, cart string, sent []commerce.NewCustomDiscount, result *commerce.AddCustomDiscountsResult, err error) int {
	if invalid, ok := errors.AsType[*commerce.ValidationError](err); ok { // found before anything was sent
		for _, fault := range invalid.Fields {
			fmt.Fprintln(stderr, "add-discounts:", fault)
		}
		return exitUsage
	}
	if err != nil {
		fmt.Fprintln(stderr, "add-discounts:", err)
	}
	fmt.Fprintln(stdout, "cart", terminal.Plain(cart))
	switch outcome := commerce.OutcomeOf(err); outcome {
	case commerce.OutcomeNone:
		printAdded(stdout, result.Added)
		fmt.Fprintf(stdout, "outcome: all %d added\n", len(sent))
		return exitOK
	case commerce.OutcomePartial:
		printAdded(stdout, result.Added)
		printReasons(stdout, "rejected", result.Errors)
		printUnconfirmed(stdout, result.Unconfirmed)
		fmt.Fprintf(stdout, "outcome: partial: %d of %d added; look at the cart before sending the others again\n", len(result.Added), len(sent))
		return exitPartial
	case commerce.OutcomeRejected:
		printReasons(stdout, "rejected", reasons(err))
		fmt.Fprintln(stdout, "outcome: rejected: none added; send them again once the reason is gone")
		return exitFailed
	case commerce.OutcomeNotSent:
		printReasons(stdout, "error", reasons(err))
		fmt.Fprintln(stdout, "outcome: not sent: none added; they may be sent again")
		return exitFailed
	default: // unknown, unreadable, and what a later version may bring
		printReasons(stdout, "error", reasons(err))
		printUnconfirmed(stdout, sent)
		fmt.Fprintf(stdout, "outcome: %s: some or all may have been added; look at the cart before sending again\n", outcome)
		return exitUnknown
	}
}

func printAdded(w io.Writer, added []commerce.CustomDiscount) {
	for _, d := range added {
		amount := cmp.Or(d.Amount.Formatted, strings.TrimSpace(d.Amount.Amount.String()+" "+d.Amount.Currency))
		fmt.Fprintf(w, "added        %-20s %12s  id %s\n", terminal.Plain(d.ExternalID), terminal.Plain(amount), d.ID)
	}
}

// printReasons prints errors of the service. They name items of the cart, not
// discounts: which discounts were not added is told by printUnconfirmed.
func printReasons(w io.Writer, label string, list []commerce.ErrorObject) {
	for _, o := range list {
		line := terminal.Plain(strings.TrimSuffix(o.Title, ".")) + ": " + terminal.Plain(o.Detail)
		if o.Meta.ID != "" {
			line += " (item " + terminal.Plain(o.Meta.ID) + ")"
		}
		fmt.Fprintf(w, "%-12s %s\n", label, line)
	}
}

func printUnconfirmed(w io.Writer, list []commerce.NewCustomDiscount) {
	for _, d := range list {
		fmt.Fprintf(w, "unconfirmed  %-20s %12s\n", terminal.Plain(d.ExternalID), d.Amount)
	}
}

// reasons returns what the service said about a call that added nothing for sure.
func reasons(err error) []commerce.ErrorObject {
	if failed, ok := errors.AsType[*commerce.Error](err); ok {
		return failed.Errors
	}
	return nil
}

// discount is a discount in the file: a NewCustomDiscount with names.
type discount struct {
	Amount         commerce.Decimal      `json:"amount"`
	Description    string                `json:"description"`
	DiscountCode   string                `json:"discount_code"`
	DiscountEngine string                `json:"discount_engine"`
	ExternalID     string                `json:"external_id"`
	Item           *commerce.CartItemRef `json:"item"`
}

// decode reads the discounts. It is strict: a member with a misspelt name would
// otherwise give another discount than was meant.
func decode(input []byte) ([]commerce.NewCustomDiscount, error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(input, &elements); err != nil {
		return nil, fmt.Errorf("the discounts must be one JSON array of objects: %s", explain(err))
	}
	list := make([]commerce.NewCustomDiscount, len(elements))
	for i, element := range elements {
		var d discount
		dec := json.NewDecoder(bytes.NewReader(element))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&d); err != nil {
			return nil, fmt.Errorf("discount %d: %s", i, explain(err))
		}
		list[i] = commerce.NewCustomDiscount(d)
	}
	return list, nil
}

// explain says in the words of the file what encoding/json says in those of Go.
func explain(err error) string {
	var (
		mismatch *json.UnmarshalTypeError
		syntax   *json.SyntaxError
	)
	switch {
	case errors.As(err, &mismatch):
		return strings.TrimSpace(mismatch.Field + " must not be of the JSON type " + mismatch.Value)
	case errors.As(err, &syntax):
		return fmt.Sprintf("%v at byte %d", syntax, syntax.Offset)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// read returns what is in the file, or on stdin if that is meant; nil if neither
// is. It gives up waiting for stdin when ctx ends.
func read(ctx context.Context, file string, stdin io.Reader, stderr io.Writer) ([]byte, error) {
	switch {
	case file != "" && file != "-":
		return os.ReadFile(file)
	case file == "" && isTerminal(stdin):
		return nil, nil
	}
	fmt.Fprintln(stderr, "reading discounts from standard input")
	type input struct {
		data []byte
		err  error
	}
	done := make(chan input, 1)
	go func() {
		data, err := io.ReadAll(stdin)
		done <- input{data, err}
	}()
	select {
	case in := <-done:
		return in.data, in.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// isTerminal reports whether r is a terminal, or the null device: nothing is piped in.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0
}

// parse reads the flags. Help goes to stdout, with flag.ErrHelp as the error.
func parse(args []string, stdout io.Writer) (config, error) {
	var cfg config
	flags := flag.NewFlagSet("add-discounts", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // one sentence is enough, see run
	flags.StringVar(&cfg.cart, "cart", "", "`id` of the cart to add to; required on a live store")
	flags.StringVar(&cfg.file, "file", "", "`path` of a JSON file with the discounts; - for standard input")
	flags.BoolVar(&cfg.options.AllOrNothing, "all-or-nothing", false, "add none of the discounts if one of them can't be added")

	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, "Add-discounts adds custom discounts to a cart.\n\nUsage: add-discounts [flags]\n\nFlags:")
		flags.SetOutput(stdout)
		flags.PrintDefaults()
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return cfg, err
}
