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

// report prints what became of the discounts, and returns the exit code.
func (j *job) report(result *commerce.AddCustomDiscountsResult, err error) int {
	stdout, stderr, sent := j.stdout, j.stderr, j.discounts
	if invalid, ok := errors.AsType[*commerce.ValidationError](err); ok { // nothing was sent
		for _, problem := range invalid.Fields {
			fmt.Fprintln(stderr, "add-discounts:", problem)
		}
		return exitUsage
	}
	if err != nil {
		fmt.Fprintln(stderr, "add-discounts:", err)
	}
	fmt.Fprintln(stdout, "cart", terminal.Plain(j.cart))
	switch outcome := commerce.OutcomeOf(err); outcome {
	case commerce.OutcomeApplied:
		printAdded(stdout, result.Added)
		fmt.Fprintf(stdout, "outcome: all %d added\n", len(sent))
		return exitOK
	case commerce.OutcomePartial:
		printAdded(stdout, result.Added)
		printReasons(stdout, "rejected", result.Errors)
		label, advice := "missing", "fix the reason, then send the others again"
		if j.noReconcile {
			label, advice = "unconfirmed", "look at the cart before you send the others again"
		}
		printNew(stdout, label, result.Unconfirmed)
		fmt.Fprintf(stdout, "outcome: partial: %d of %d added; %s\n", len(result.Added), len(sent), advice)
		return exitPartial
	case commerce.OutcomeRejected:
		printReasons(stdout, "rejected", reasons(err))
		fmt.Fprintln(stdout, "outcome: rejected: none added; fix the reason, then send them again")
		return exitFailed
	case commerce.OutcomeNotSent:
		printReasons(stdout, "error", reasons(err))
		fmt.Fprintln(stdout, "outcome: not sent: none added; you may send them again")
		return exitFailed
	default: // unknown, unreadable, and outcomes of later versions
		if result != nil {
			printAdded(stdout, result.Added)
			printReasons(stdout, "rejected", result.Errors)
			printNew(stdout, "unconfirmed", result.Unconfirmed)
		} else {
			printReasons(stdout, "error", reasons(err))
			printNew(stdout, "unconfirmed", sent)
		}
		const advice = "some or all may have been added; look at the cart before you send them again"
		fmt.Fprintf(stdout, "outcome: %s: %s\n", outcome, advice)
		return exitUnknown
	}
}

func printAdded(w io.Writer, added []commerce.CustomDiscount) {
	for _, d := range added {
		amount := cmp.Or(d.Amount.Formatted, strings.TrimSpace(d.Amount.Amount.String()+" "+d.Amount.Currency))
		fmt.Fprintf(w, "added        %-20s %12s  id %s\n", terminal.Plain(d.ExternalID), terminal.Plain(amount), d.ID)
	}
}

// printReasons prints error entries of the service. They name items of the cart, not
// discounts; printNew prints the discounts that were not added.
func printReasons(w io.Writer, label string, list []commerce.ErrorObject) {
	for _, entry := range list {
		line := terminal.Plain(strings.TrimSuffix(entry.Title, ".")) + ": " + terminal.Plain(entry.Detail)
		if entry.Meta.ID != "" {
			line += " (item " + terminal.Plain(entry.Meta.ID) + ")"
		}
		fmt.Fprintf(w, "%-12s %s\n", label, line)
	}
}

func printNew(w io.Writer, label string, list []commerce.NewCustomDiscount) {
	for _, d := range list {
		fmt.Fprintf(w, "%-12s %-20s %12s\n", label, terminal.Plain(d.ExternalID), d.Amount)
	}
}

// reasons returns the error entries of the service.
func reasons(err error) []commerce.ErrorObject {
	if failed, ok := errors.AsType[*commerce.Error](err); ok {
		return failed.Errors
	}
	return nil
}
