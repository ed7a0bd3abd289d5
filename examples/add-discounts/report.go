package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/examples/internal/terminal"
)

// report tells what became of the discounts, and returns the exit code.
func report(stdout, stderr io.Writer, cfg *config, sent []commerce.NewCustomDiscount, result *commerce.AddCustomDiscountsResult, err error) int {
	if invalid, ok := errors.AsType[*commerce.ValidationError](err); ok { // found before anything was sent
		for _, fault := range invalid.Fields {
			fmt.Fprintln(stderr, "add-discounts:", fault)
		}
		return exitUsage
	}
	if err != nil {
		fmt.Fprintln(stderr, "add-discounts:", err)
	}
	fmt.Fprintln(stdout, "cart", terminal.Plain(cfg.cart))
	switch outcome := commerce.OutcomeOf(err); outcome {
	case commerce.OutcomeApplied:
		printAdded(stdout, result.Added)
		fmt.Fprintf(stdout, "outcome: all %d added\n", len(sent))
		return exitOK
	case commerce.OutcomePartial:
		printAdded(stdout, result.Added)
		printReasons(stdout, "rejected", result.Errors)
		label, advice := "missing", "send the others again once the reason is gone"
		if cfg.noReconcile {
			label, advice = "unconfirmed", "look at the cart before sending the others again"
		}
		printNew(stdout, label, result.Unconfirmed)
		fmt.Fprintf(stdout, "outcome: partial: %d of %d added; %s\n", len(result.Added), len(sent), advice)
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
		if result != nil {
			printAdded(stdout, result.Added)
			printReasons(stdout, "rejected", result.Errors)
			printNew(stdout, "unconfirmed", result.Unconfirmed)
		} else {
			printReasons(stdout, "error", reasons(err))
			printNew(stdout, "unconfirmed", sent)
		}
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
// discounts: which discounts were not added is told by printNew.
func printReasons(w io.Writer, label string, list []commerce.ErrorObject) {
	for _, o := range list {
		line := terminal.Plain(strings.TrimSuffix(o.Title, ".")) + ": " + terminal.Plain(o.Detail)
		if o.Meta.ID != "" {
			line += " (item " + terminal.Plain(o.Meta.ID) + ")"
		}
		fmt.Fprintf(w, "%-12s %s\n", label, line)
	}
}

func printNew(w io.Writer, label string, list []commerce.NewCustomDiscount) {
	for _, d := range list {
		fmt.Fprintf(w, "%-12s %-20s %12s\n", label, terminal.Plain(d.ExternalID), d.Amount)
	}
}

// reasons returns what the service said about a call that added nothing for sure.
func reasons(err error) []commerce.ErrorObject {
	if failed, ok := errors.AsType[*commerce.Error](err); ok {
		return failed.Errors
	}
	return nil
}
