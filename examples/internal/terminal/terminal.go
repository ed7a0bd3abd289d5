// Package terminal detects terminals, and makes text from elsewhere safe to print on one.
package terminal

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/term"

	"github.com/commerce-go/commerce"
)

// Is reports whether w is a terminal.
func Is(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// Plain returns s with a space in place of each character that is not printable,
// such as a line break or an escape sequence. It returns "-" if nothing is visible.
func Plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	if strings.TrimSpace(s) == "" {
		return "-"
	}
	return s
}

// PrintDetails prints the details of the error entries of the service, one a line.
// The text of an error leaves them out because it may go to a log, and details may
// hold data of customers.
func PrintDetails(w io.Writer, err error) {
	failed, ok := errors.AsType[*commerce.Error](err)
	if !ok {
		return
	}
	for _, entry := range failed.Errors {
		if entry.Detail != "" {
			fmt.Fprintln(w, "\t"+Plain(entry.Detail))
		}
	}
}
