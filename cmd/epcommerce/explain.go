package main

import (
	"context"
	"errors"
	"strings"

	"github.com/commerce-go/commerce"
)

// isDoubtful reports whether a write was applied in part, or may have been applied.
func isDoubtful(err error) bool {
	if _, ok := errors.AsType[*commerce.Error](err); !ok {
		return false
	}
	switch commerce.OutcomeOf(err) {
	case commerce.OutcomeUnknown, commerce.OutcomeUnreadable, commerce.OutcomePartial:
		return true
	}
	return false
}

// explain returns what happened, what is known, and what to do, a line each.
func explain(err error) string {
	lines := []string{err.Error()}
	if failed, ok := errors.AsType[*commerce.Error](err); ok {
		for _, detail := range failed.Details() {
			lines = append(lines, "the service: "+plain(detail))
		}
		if known := outcomes[commerce.OutcomeOf(err)]; known != "" {
			lines = append(lines, "known: "+known)
		}
	}
	if todo := advice(err); todo != "" {
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

// advice returns what to do about an error; "" if there is nothing to say.
func advice(err error) string {
	if _, ok := errors.AsType[*exitError](err); ok || errors.Is(err, context.Canceled) {
		return "" // the text says it
	}
	todo := todos[commerce.ReasonOf(err)]
	_, isCall := errors.AsType[*commerce.Error](err)
	switch {
	case todo != "":
		return todo
	case isDoubtful(err):
		return "run the same command again: it looks at the cart first"
	case isCall && !commerce.IsFinal(err):
		return "try again; epcommerce doctor shows what is wrong with the setup"
	}
	return ""
}

// todos has the advice for the names of commerce.ReasonOf.
var todos = map[string]string{
	"token":               "check COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET, and COMMERCE_BASE_URL",
	"unauthorized":        "the token is wrong or has expired: set COMMERCE_TOKEN to a new one",
	"forbidden":           "the token may not do this: use client credentials",
	"rate_limited":        "wait a minute and try again",
	"bad_response":        "check COMMERCE_BASE_URL: this is not what the service sends",
	"empty_cart":          "check the id: a cart that does not exist reads as an empty one; or add an item",
	"discount_limit":      "remove discounts, or raise custom_discount_limit in the settings of the store",
	"promotion_conflict":  "remove the promotions from the cart",
	"cart_item_not_found": "correct the id of the item: it is not in the cart",
	"item_type_mismatch":  "correct the type of the item: cart_item or custom_item",
	"discounts_disabled":  "run: epcommerce discounts enable CART",
	"not_found":           "check the id",
	"different":           "use --update to change what differs",
	"offset_limit":        "use epcommerce subscriptions export, which has no limit",
}
