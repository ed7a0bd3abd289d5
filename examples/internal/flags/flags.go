// Package flags defines flags whose values are checked when they are read.
package flags

import (
	"errors"
	"flag"
	"fmt"
	"strconv"

	"github.com/google/uuid"
)

// Text defines a flag for a text. It can't be empty: a filter that is empty by
// mistake, such as an unset variable of a script, would select all.
func Text(set *flag.FlagSet, p *string, name, usage string) {
	set.Func(name, usage, func(s string) error {
		if s == "" {
			return errors.New("must not be empty")
		}
		*p = s
		return nil
	})
}

// Number defines a flag for a whole number from least to most.
func Number(set *flag.FlagSet, p *int, name string, least, most int, usage string) {
	set.Func(name, usage, func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most {
			return fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		*p = n
		return nil
	})
}

// UUID defines a flag for an id.
func UUID(set *flag.FlagSet, p *uuid.UUID, name, usage string) {
	set.Func(name, usage, func(s string) error {
		id, err := uuid.Parse(s)
		if err != nil || id == uuid.Nil {
			return errors.New("must be a UUID, and not the zero one")
		}
		*p = id
		return nil
	})
}
