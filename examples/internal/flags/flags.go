// Package flags holds what the flags of the examples have in common.
package flags

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// Text returns a function for [flag.FlagSet.Func] that sets p. It rejects an empty
// text: an empty filter, such as an unset variable of a script, would select all.
func Text(p *string) func(string) error {
	return func(s string) error {
		if s == "" {
			return errors.New("must not be empty")
		}
		*p = s
		return nil
	}
}

// Number returns a function for [flag.FlagSet.Func] that sets p to a whole number
// from minimum to maximum.
func Number(p *int, minimum, maximum int) func(string) error {
	return func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < minimum || n > maximum {
			return fmt.Errorf("must be a whole number from %d to %d", minimum, maximum)
		}
		*p = n
		return nil
	}
}

// Filters defines the flags that select subscriptions.
func Filters(set *flag.FlagSet, filter *commerce.SubscriptionFilter) {
	set.Func("account", "only subscriptions of the account with this `uuid`", func(s string) error {
		id, err := uuid.Parse(s)
		if err != nil || id == uuid.Nil {
			return errors.New("must be a UUID, and not the zero UUID")
		}
		filter.AccountID = id
		return nil
	})
	set.Func("name", "only subscriptions of the subscriber with this `name`", Text(&filter.Name))
	set.Func("email", "only subscriptions of the subscriber with this email `address`", Text(&filter.Email))
	set.Func("external-ref", "only subscriptions with this external `reference`", Text(&filter.ExternalRef))
}

// Help is the text that -h prints before and after the list of flags.
type Help struct{ Before, After string }

// Parse parses args, which must hold flags only. For -h it prints the help to w and
// returns [flag.ErrHelp]. It prints nothing else.
func Parse(set *flag.FlagSet, args []string, help Help, w io.Writer) error {
	set.SetOutput(io.Discard) // the caller prints the error
	err := set.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(w, "%s\n\nUsage: %s [flags]\n\nFlags:\n", help.Before, set.Name())
		set.SetOutput(w)
		set.PrintDefaults()
		fmt.Fprintln(w, "\n"+help.After)
	}
	if err == nil && set.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	return err
}
