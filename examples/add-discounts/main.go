// Add-discounts adds custom discounts to a cart, and reports what became of each.
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
//	-no-reconcile     make one call, and don't read the cart
//	-settle time      time to wait after a lost response before the cart is read
//	                  again; 2s by default
//
// The file holds an array, like discounts.json in this folder:
//
//	[{"amount": -1000, "description": "Summer sale", "discount_code": "SUMMER-10",
//	  "discount_engine": "my engine", "external_id": "summer-10",
//	  "item": {"type": "cart_item", "id": "3b4de20a-ccd0-44e6-894f-628e7afb3db0"}}]
//
// Amounts are in the smallest unit of the cart's currency. The type of an item may
// also be custom_item. Without an item, the discount is for the whole cart.
//
// The program reads the cart before the call. If the response is lost, or does not
// prove that all discounts were added, it reads the cart again and counts, by
// discount engine and external id, what the cart has gained. It sends only what is
// missing, in at most three calls, and nothing that the service rejected. See
// reconcile.go, which can be copied. This is correct as long as nobody else adds or
// removes discounts of this cart with the same engine and external id meanwhile.
// It also can't see a request that is still under way: a gateway may have timed out
// while the service still works on the request. Therefore it waits before it reads
// the cart, 2 seconds by default. If your gateway has a short timeout and the service
// is slow, use a longer -settle.
//
// What was added and what was not goes to standard output, steps and errors to
// standard error. The exit code is
//
//	0  all discounts were added
//	1  none was added: they were rejected or not sent
//	2  invalid flag, environment or discount
//	3  only a part was added
//	4  unknown: the cart can't be read either, or what it shows is not conclusive;
//	   look at the cart before you send anything again
//
// go run prints the code, and exits with 1 itself.
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
	"github.com/commerce-go/commerce/examples/internal/flags"
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
var demoItem = commerce.CartItemRef{
	Type: commerce.ItemTypeCartItem,
	ID:   uuid.MustParse("3b4de20a-ccd0-44e6-894f-628e7afb3db0"),
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], system{os.Getenv, os.Stdin, os.Stdout, os.Stderr}))
}

// system is what the program uses of the machine.
type system struct {
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
}

// config holds the values of the flags.
type config struct {
	cart, file  string
	options     commerce.AddCustomDiscountsOptions
	noReconcile bool
	settle      time.Duration
}

func run(ctx context.Context, args []string, sys system) int {
	stderr := sys.stderr
	cfg, err := parse(args, sys.stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "add-discounts: %v (-h for help)\n", err)
		return exitUsage
	}
	demoCart := "" // of the embedded store
	client, err := store.Open(sys.getenv, stderr, func(s *commercetest.Store) { demoCart = s.AddCart(demoItem) })
	if err != nil {
		fmt.Fprintln(stderr, "add-discounts:", err)
		return exitUsage
	}
	if cfg.cart = cmp.Or(cfg.cart, demoCart); cfg.cart == "" {
		fmt.Fprintln(stderr, "add-discounts: -cart is required on a live store (-h for help)")
		return exitUsage
	}
	input, err := read(ctx, cfg.file, sys.stdin, stderr)
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
	j := job{config: cfg, discounts: discounts, stdout: sys.stdout, stderr: stderr}
	return j.addAndReport(ctx, client)
}

// job is a list of discounts to add, and how to add it.
type job struct {
	config
	discounts      []commerce.NewCustomDiscount
	stdout, stderr io.Writer
}

// addAndReport adds the discounts, reports what became of them, and returns the exit
// code.
func (j *job) addAndReport(ctx context.Context, client *commerce.Client) int {
	if j.noReconcile {
		return j.report(client.Carts.AddCustomDiscounts(ctx, j.cart, j.discounts, &j.options))
	}
	a := adder{
		client: client, cartID: j.cart, options: j.options, settle: j.settle,
		logf: func(format string, args ...any) { fmt.Fprintf(j.stderr, format+"\n", args...) },
	}
	return j.report(a.add(ctx, j.discounts))
}

// discount is a commerce.NewCustomDiscount with the JSON names of the file.
type discount struct {
	Amount         commerce.Decimal      `json:"amount"`
	Description    string                `json:"description"`
	DiscountCode   string                `json:"discount_code"`
	DiscountEngine string                `json:"discount_engine"`
	ExternalID     string                `json:"external_id"`
	Item           *commerce.CartItemRef `json:"item"`
}

// decode reads the discounts. It rejects unknown members: without a member whose name
// is misspelled, a discount would be a different one.
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

// explain returns an error of encoding/json without the names of Go types.
func explain(err error) string {
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return strings.TrimSpace(mismatch.Field + " must not be of the JSON type " + mismatch.Value)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("%v at byte %d", syntax, syntax.Offset)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// read returns the content of file, or of stdin if file is "-", or if file is "" and
// something is piped in; else nil. It stops waiting for stdin when ctx ends.
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

// isTerminal reports whether r is a terminal or the null device: nothing is piped in.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0
}

var help = flags.Help{
	Before: `Add-discounts adds custom discounts to a cart, each exactly once. If you run it
again, it adds the whole file again: then give it only those that it listed as
missing.

It reads the cart before the call. If a response is lost, it reads the cart again
and sends only what is missing. This is correct as long as nobody else adds or
removes discounts with the same engine and external id meanwhile. It can't see a
request that is still under way: therefore it waits before it reads the cart, see
-settle.`,
	After: "The format of the file, the environment and the exit codes: go doc ./examples/add-discounts",
}

// parse reads the flags. Help goes to stdout, with flag.ErrHelp as the error.
func parse(args []string, stdout io.Writer) (config, error) {
	var cfg config
	set := flag.NewFlagSet("add-discounts", flag.ContinueOnError)
	set.StringVar(&cfg.cart, "cart", "", "`id` of the cart to add to; required on a live store")
	set.StringVar(&cfg.file, "file", "", "`path` of a JSON file with the discounts; - for standard input")
	set.BoolVar(&cfg.options.AllOrNothing, "all-or-nothing", false,
		"add none of the discounts if one of them can't be added")
	set.BoolVar(&cfg.noReconcile, "no-reconcile", false, "make one call, and don't read the cart")
	set.DurationVar(&cfg.settle, "settle", 2*time.Second,
		"`time` to wait after a lost response before the cart is read again")
	err := flags.Parse(set, args, help, stdout)
	return cfg, err
}
