// Add-discounts adds custom discounts to a cart, and tells what became of each.
//
//	go run ./examples/add-discounts
//	go run ./examples/add-discounts -file examples/add-discounts/discounts.json -all-or-nothing
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
//	-no-reconcile     make one call, and don't look at the cart
//	-settle time      between a lost answer and the look at the cart; 2s by default
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
// It reads the cart before the call. Where the answer is lost, or does not prove
// that all were added, it reads the cart again, counts by discount engine and
// external id what is there more often than before, and sends only what is missing,
// in three calls at most; what the service refused is not sent again. See
// reconcile.go, which can be copied. That is sound if nobody else adds discounts with
// the same external ids of the same engine to this cart meanwhile, or removes them.
// And it can't see a request that is still on its way: a gateway may have given up
// while the service still works on it. So it waits a little before it looks, 2
// seconds unless -settle says otherwise; where gateways are impatient and the
// service is slow, wait longer.
//
// What was added and what was not go to standard output, steps and errors to
// standard error. The exit code is 0 if all were added; 1 if none was, because they
// were rejected or not sent; 2 for a wrong flag, environment or discount; 3 if only
// a part was added; 4 if that is not known, because the cart can't be read either, or
// shows what can't be: then look at it before sending anything again. (go run
// prints the code, and exits with 1 itself.)
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
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/examples/internal/store"
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

const help = `Add-discounts adds custom discounts to a cart, each one once. Run again it
adds all of the file again: give it only those that it listed as missing.

It reads the cart before the call. Where an answer is lost it reads the cart again,
and sends only what is missing there. That is sound if nobody else adds or removes
discounts with the same external ids of the same engine meanwhile. A request that
is still on its way can't be seen: hence the wait before it looks, see -settle.

Usage: add-discounts [flags]

Flags:`

// config is what the flags say.
type config struct {
	cart, file  string
	options     commerce.AddCustomDiscountsOptions
	noReconcile bool
	settle      time.Duration
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

	return addAndReport(ctx, client, &cfg, discounts, stdout, stderr)
}

// addAndReport adds the discounts, tells what became of them, and returns the exit code.
func addAndReport(ctx context.Context, client *commerce.Client, cfg *config, discounts []commerce.NewCustomDiscount, stdout, stderr io.Writer) int {
	if cfg.noReconcile {
		result, err := client.Carts.AddCustomDiscounts(ctx, cfg.cart, discounts, &cfg.options)
		return report(stdout, stderr, cfg, discounts, result, err)
	}
	a := adder{
		client: client, cartID: cfg.cart, options: cfg.options, settle: cfg.settle,
		tell: func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) },
	}
	result, err := a.add(ctx, discounts)
	return report(stdout, stderr, cfg, discounts, result, err)
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
	flags.BoolVar(&cfg.noReconcile, "no-reconcile", false, "make one call, and leave it to the user to look at the cart")
	flags.DurationVar(&cfg.settle, "settle", 2*time.Second, "`time` between a lost answer and the look at the cart")

	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, help)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		fmt.Fprintln(stdout, "\nThe format of the file, the environment and the exit codes: go doc ./examples/add-discounts")
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return cfg, err
}
