// Add-discounts makes sure that a cart has the discounts of a file. Run it as often as you like.
//
//	go run ./examples/add-discounts
//	go run ./examples/add-discounts -cart ID -file FILE -update -prune -dry-run
//
// It runs on a fake store, unless COMMERCE_BASE_URL names a live one, with COMMERCE_TOKEN, or
// COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET. The file is like discounts.json in this folder.
//
// Exit codes: 0 done; 1 nothing was changed; 2 invalid flag, environment or file; 3 only a part
// was done; 4 unknown: a write without a response may still be applied, so run it again.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"text/template"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/examples/internal/store"
)

//go:embed discounts.json
var samples []byte // for a cart of the fake store with sampleItem

var sampleItem = commerce.CartItemRef{ID: uuid.MustParse("3b4de20a-ccd0-44e6-894f-628e7afb3db0")}

// report shows texts of the service quoted, so that they don't control the terminal.
var report = template.Must(template.New("report").Parse(`{{with .}}` +
	`{{if .Enabled}}enabled    custom discounts of the cart{{"\n"}}{{end}}` +
	`{{range .Added}}{{printf "added      %q\n" .ExternalID}}{{end}}` +
	`{{range .Updated}}{{printf "updated    %q\n" .ExternalID}}{{end}}` +
	`{{range .Deleted}}{{printf "deleted    %q\n" .ExternalID}}{{end}}` +
	`{{range .Different}}{{printf "different  %q\n" .ExternalID}}{{end}}` +
	`{{range .Missing}}{{printf "missing    %q\n" .ExternalID}}` +
	`{{range .Reasons}}{{printf "  reason   %q %q\n" .Title .Detail}}{{end}}{{end}}` +
	`{{range .InDoubt}}{{printf "in doubt   %q\n" .ExternalID}}{{end}}` +
	`{{end}}`))

func main() { os.Exit(run(os.Getenv, os.Args[1:], os.Stdout, os.Stderr)) }

func run(getenv func(string) string, args []string, stdout, stderr io.Writer) (exitCode int) {
	var opts commerce.EnsureCustomDiscountsOptions
	set := flag.NewFlagSet("add-discounts", flag.ExitOnError)
	cartID := set.String("cart", "", "`id` of the cart; required on a live store")
	file := set.String("file", "", "`path` of a JSON file with the discounts; required on a live store")
	set.BoolVar(&opts.Update, "update", false, "change discounts of the cart that differ from the file")
	set.BoolVar(&opts.Prune, "prune", false, "delete discounts of the same engines that are not in the file")
	set.BoolVar(&opts.Enable, "enable", true,
		"enable custom discounts; this may end the promotions of the store on the cart")
	set.BoolVar(&opts.DryRun, "dry-run", false, "change nothing; print what would be changed")
	set.DurationVar(&opts.Settle, "settle", 0, "`time` to wait for a write without a response; 0: 2s; negative: none")
	_ = set.Parse(args) // no error: it exits

	var input []byte
	client, err := store.Open(getenv, stderr, func(fake *commercetest.Store) {
		*cartID, input = cmp.Or(*cartID, fake.AddCart(sampleItem)), samples
	})
	if err == nil && *file != "" {
		input, err = os.ReadFile(*file)
	}
	var discounts []commerce.NewCustomDiscount
	if err == nil {
		if err = json.Unmarshal(input, &discounts); err != nil {
			err = fmt.Errorf("-file must name a JSON array of discounts: %w", err)
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "add-discounts:", err)
		return 2
	}
	result, err := client.Carts.EnsureCustomDiscounts(context.Background(), *cartID, discounts, &opts)
	if opts.DryRun {
		fmt.Fprintln(stdout, "nothing was changed; without -dry-run:")
	}
	_ = report.Execute(stdout, result)
	if err != nil {
		fmt.Fprintln(stderr, "add-discounts:", err)
	}
	switch outcome := commerce.OutcomeOf(err); {
	case errors.Is(err, commerce.ErrInvalidArgument):
		return 2
	case outcome == commerce.OutcomeUnknown || result != nil && len(result.InDoubt) > 0:
		return 4
	case outcome == commerce.OutcomePartial:
		return 3
	case err != nil:
		return 1
	}
	return 0
}
