package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/commerce-go/commerce"
)

// The exit codes, besides 0.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitUnfinished  = 3 // a part is missing, or a write is in doubt
	exitInterrupted = 130
)

// exitError is an error with the exit code that it causes. Its text says what to do.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usagef returns an error of the command line or the environment.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// say writes a message, which is not data.
func say(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "epcommerce: "+format+"\n", args...)
}

// isDoubtful reports whether a write was applied in part, or may have been applied.
func isDoubtful(err error) bool {
	_, ok := errors.AsType[*commerce.Error](err)
	outcome := commerce.OutcomeOf(err)
	return ok && (outcome == commerce.OutcomeUnknown || outcome == commerce.OutcomeUnreadable ||
		outcome == commerce.OutcomePartial)
}

// explain returns what happened, what is known, and what to do, a line each.
func explain(err error) string {
	lines := []string{err.Error()}
	_, said := errors.AsType[*exitError](err)
	failed, ok := errors.AsType[*commerce.Error](err)
	if !ok || said {
		return lines[0]
	}
	for _, detail := range failed.Details() {
		lines = append(lines, "the service: "+plain(detail))
	}
	if known := outcomes[commerce.OutcomeOf(err)]; known != "" {
		lines = append(lines, "known: "+known)
	}
	todo := todos[commerce.ReasonOf(err)]
	switch {
	case errors.Is(err, context.Canceled), todo != "":
	case isDoubtful(err):
		todo = "run the same command again: it looks at the cart first"
	case !commerce.IsFinal(err):
		todo = "try again; epcommerce doctor shows what is wrong with the setup"
	}
	if todo != "" {
		lines = append(lines, "to do: "+todo)
	}
	return strings.Join(lines, "\n  ")
}

// outcomes say what is known about the changes of a command.
var outcomes = map[commerce.Outcome]string{
	commerce.OutcomeNotSent:    "nothing was changed, no write was sent",
	commerce.OutcomeRejected:   "nothing was changed, the service refused it",
	commerce.OutcomePartial:    "a part was changed",
	commerce.OutcomeUnknown:    "the change may or may not have been made",
	commerce.OutcomeUnreadable: "the change was probably made, but the response can't be read",
}

// todos has the advice for the names of commerce.ReasonOf.
var todos = map[string]string{
	"token":               "check COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET, and COMMERCE_BASE_URL",
	"unauthorized":        "the token is wrong or has expired: set COMMERCE_TOKEN to a new one",
	"forbidden":           "the token may not do this: use client credentials, not a shopper's token",
	"rate_limited":        "wait a minute and try again",
	"bad_response":        "check COMMERCE_BASE_URL: this is not what the service sends",
	"empty_cart":          "check the id: a cart that does not exist reads as an empty one, which takes no discounts",
	"discount_limit":      "remove discounts, or raise custom_discount_limit in the settings of the store",
	"promotion_conflict":  "remove the promotions from the cart",
	"cart_item_not_found": "correct the id of the item: it is not in the cart",
	"item_type_mismatch":  "correct the type of the item: cart_item or custom_item",
	"discounts_disabled":  "enable them: PUT /v2/carts/ID with data.discount_settings.custom_discounts_enabled true",
	"not_found":           "check the id",
	"different":           "use --update to change what differs",
	"offset_limit":        "use epcommerce subscriptions export, which has no limit",
}
