package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/rediscommerce"
)

// step is what to do: words, and the arguments of a command of the tool that does it, or that shows
// more. CART stands for the id of the cart.
type step struct{ text, command string }

// todo returns a step as messages have it, with its command on a line of its own. Without a cart,
// there is no command for it.
func (e *environment) todo(s step) string {
	if s.command == "" || e.cart == "" && strings.Contains(s.command, "CART") {
		return s.text
	}
	return s.text + "\n    " + e.line(s.command)
}

// line returns a command of the tool as a line for a POSIX shell, for the store that is in use.
func (e *environment) line(command string) string {
	words := []string{"epcommerce"}
	switch {
	case e.demo:
		words = append(words, "--demo")
	case e.envFile != "":
		words = append(words, "--env-file", quote(e.envFile))
	case e.store != "":
		words = append(words, "--store", e.store)
	}
	var last []string
	for _, word := range strings.Fields(command) {
		switch {
		case word == "CART" && strings.HasPrefix(e.cart, "-"): // it would be a flag
			last = []string{"--", quote(e.cart)}
		case word == "CART":
			words = append(words, quote(e.cart))
		default:
			words = append(words, quote(strings.ReplaceAll(word, "CART", url.PathEscape(e.cart))))
		}
	}
	return strings.Join(append(words, last...), " ")
}

var plainWord = regexp.MustCompile(`^[\w@%+:,./-][\w@%+=:,./-]*$`)

// quote returns a word for a POSIX shell.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// explain returns what happened, what is known, and what to do, a line each.
func (e *environment) explain(err error) string {
	text, todo := e.describe(err), e.advice(err)
	outcome := commerce.OutcomeOf(err)
	if e.done > 0 && (outcome == commerce.OutcomeNotSent || outcome == commerce.OutcomeRejected) {
		outcome = commerce.OutcomePartial // other writes succeeded
	}
	if known := outcomes[outcome]; known != "" && e.changes && is[*commerce.Error](err) {
		text += "\n  known: " + known
	}
	if todo != "" {
		text += "\n  to do: " + todo
	}
	return text
}

// goNames are the names of Go in the text of an error.
var goNames = regexp.MustCompile(
	`\b(redis)?commerce: (invalid argument: )?|\b(Client|Carts|Subscriptions|Accounts)\.\w+: |\bWalk: |` +
		` \(outcome [a-z ]+\)|outcome [a-z ]+, `)

var discountNumber = regexp.MustCompile(`\bdiscount (\d+): `)

// describe returns what happened, with what the service says about it, and with --verbose the
// response that says so.
func (e *environment) describe(err error) string {
	text := goNames.ReplaceAllString(err.Error(), "")
	text = strings.ReplaceAll(text, context.Canceled.Error(), "interrupted")
	if is[*commerce.ValidationError](err) { // people count from 1
		text = discountNumber.ReplaceAllStringFunc(text, func(match string) string {
			n, _ := strconv.Atoi(discountNumber.FindStringSubmatch(match)[1])
			return fmt.Sprintf("discount %d: ", n+1)
		})
	}
	failed, _ := errors.AsType[*commerce.Error](err)
	if exit, ok := errors.AsType[*exitError](err); failed == nil || ok && exit.text != "" {
		return text
	}
	for _, detail := range failed.Details() {
		text += "\n  the service: " + plain(detail)
	}
	if body := failed.Body(); e.verbose && len(body) > 0 {
		text += "\n  the response (" + plain(failed.ContentType()) + "): " + plain(string(body))
	}
	return text
}

// inWords returns an error of a flag without names of Go.
func inWords(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	cause := strings.TrimPrefix(invalid.Unwrap().Error(), "time: ")
	switch {
	case is[*strconv.NumError](invalid):
		cause = "it is no number, or out of range"
	case strings.Contains(cause, "UUID"):
		cause = "it must be an id like 57299b58-10d4-80b4-b91e-00a631f1e25d"
	}
	return fmt.Errorf("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), cause)
}

// advice returns what to do, or "".
func (e *environment) advice(err error) string {
	reason := commerce.ReasonOf(err)
	next, isKnown := todos[reason]
	isInDoubt := is[*commerce.Error](err) && commerce.OutcomeOf(err) == commerce.OutcomeUnknown
	remedy := commerce.RemedyOf(err)
	switch {
	case remedy == commerce.RemedyRead:
		return "look at what it should change first: the same command sends the request again"
	case isInDoubt && e.cart != "":
		return e.todo(mayBeLate)
	case isInDoubt:
		return e.todo(todos["outcome_unknown"])
	case isGateway(err):
		return "a gateway or a firewall refused it, not the service: ask who runs the network"
	case errors.Is(err, rediscommerce.ErrUnavailable):
		return "check COMMERCE_REDIS_URL, and whether the server runs"
	case reason == "not_found" && e.isAPI:
		return "check the path and its ids: paths begin with v2"
	case isKnown:
		return e.todo(next)
	case !is[*commerce.Error](err) && !is[*commerce.PagingError](err):
		return ""
	case remedy != commerce.RemedyAgain:
		return "correct what the service names"
	}
	return e.todo(again)
}

// isGateway reports whether a 403 is not of the service, which would say more.
func isGateway(err error) bool {
	failed, ok := errors.AsType[*commerce.Error](err)
	isOfService := func(o commerce.ErrorObject) bool { return o.Title != "" || o.Status != 0 }
	return ok && failed.StatusCode == http.StatusForbidden && !slices.ContainsFunc(failed.Errors, isOfService)
}

// outcomes say what is known about the changes of a command.
var outcomes = map[commerce.Outcome]string{
	commerce.OutcomeNotSent:    "nothing was changed, no write was sent",
	commerce.OutcomeRejected:   "nothing was changed",
	commerce.OutcomePartial:    "a part was changed",
	commerce.OutcomeUnknown:    "the change may or may not have been made",
	commerce.OutcomeUnreadable: "the change was probably made, but the response can't be read",
}

// again is the advice if an error may pass.
var again = step{"run the same command again; if it fails again, this finds out why", "doctor"}

// mayBeLate is the advice after a write to a cart without a response.
var mayBeLate = step{
	"wait a minute, as a late write may still come; run the same command again; then look at the cart: a\n" +
		"  discount may be there twice", "carts check CART",
}

// takesMore is how a full cart takes another discount.
var takesMore = step{
	"remove one that is not needed: this shows their ids. Only Elastic Path's support can raise custom_discount_limit",
	"discounts show CART",
}

// mayEnd is what somebody must know before a cart is changed.
const mayEnd = "enabling custom discounts may end the promotions of the store on the cart"

var enabling = step{"enable them; " + mayEnd, "discounts enable CART"}

// todos has the advice for names of commerce.ReasonOf. For others, advice asks commerce.RemedyOf.
var todos = map[string]step{
	"invalid_argument":    {text: ""}, // the message says it
	"canceled":            {text: ""},
	"list_drift":          {text: "the store changed meanwhile: run the same command again"},
	"conflict":            {text: "somebody changed it meanwhile: run the same command again"},
	"partial":             {text: "run the same command again: it does what is missing"},
	"outcome_unknown":     {text: "run the same command again: it first finds out what was done"},
	"lock":                {text: "another program works on this cart: try again soon"},
	"limiter":             {text: "the shared rate limit refused it: try again soon, and check COMMERCE_REDIS_URL"},
	"rate_limited":        {text: "wait a minute and try again"},
	"certificate":         {"this finds out what is wrong with the certificate", "doctor"},
	"token":               {text: "check COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET, and COMMERCE_BASE_URL"},
	"unauthorized":        {text: "the token is not accepted: set COMMERCE_TOKEN to a new one, or check the client id"},
	"forbidden":           {text: "the credentials may not do this: use client credentials that may"},
	"bad_response":        {text: "check COMMERCE_BASE_URL: this is not what the service sends"},
	"empty_cart":          {text: "check the id: a cart that does not exist reads as an empty one"},
	"below_zero":          {"the discounts are more than the price, remove some: this shows them", "discounts show CART"},
	"price_differs":       {"check again in a minute: the total discount is not the sum of all", "carts check CART"},
	"discount_limit":      takesMore,
	"discounts_disabled":  enabling,
	"promotion_conflict":  {text: "remove the promotions of the store from the cart in the shop, or take another cart"},
	"cart_item_not_found": {"a discount names an item that is not there: this shows them", "api GET v2/carts/CART/items"},
	"item_type_mismatch":  {"a discount names another type: this shows the types", "api GET v2/carts/CART/items"},
	"not_found":           {text: "check the id, and COMMERCE_BASE_URL"},
	"different":           {text: "use --update to change what differs"},
	"ended":               {text: "--reopen resumes it, and it is billed again"},
	"state_not_shown":     {text: "the store does not make this change: ask Elastic Path's support"},
	"offset_limit":        {text: "use client credentials that may list all accounts, or select fewer"},
}
