// Epcommerce lists and exports the subscriptions of a store, shows and changes the discounts of a
// cart, finds out whether a setup is right, and runs a fake store. docs/tool.md describes it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"

	"github.com/commerce-go/commerce"
)

// environment is what the commands use of the machine, and the flags that all of them have.
type environment struct {
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	// Whether they are terminals.
	stdinTerminal, stdoutTerminal, stderrTerminal bool

	width int // of the terminal in columns; 0: not known

	demo, verbose bool
	output        string // one of formats
	envFile       string // that names a store
	store         string // the name of such a file
	from          string // the file that was read, or ""
	started       bool   // whether the command has begun: its arguments are right
}

func main() {
	// The first signal ends the context, the second one the program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop()
		fmt.Fprintln(os.Stderr, "\nepcommerce: stopping; Ctrl-C again ends it at once")
	})
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err == nil {
		width = min(max(width, 60), 200)
	}
	os.Exit(run(ctx, os.Args[1:], &environment{
		width:  width,
		getenv: os.Getenv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		stdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		stdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		stderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
	}))
}

// run runs a command and returns the exit code.
func run(ctx context.Context, args []string, e *environment) int {
	root := newRootCommand(e)
	root.SetArgs(args)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	say(e.stderr, "%s", explain(err))
	exit, ok := errors.AsType[*exitError](err)
	switch {
	case !e.started, errors.Is(err, commerce.ErrInvalidArgument):
		return exitUsage
	case ok:
		return exit.code
	case errors.Is(err, commerce.ErrOutcomeUnknown), errors.Is(err, commerce.ErrPartialFailure):
		return exitUnfinished
	case ctx.Err() != nil:
		return exitInterrupted
	}
	return exitFailed
}

func newRootCommand(e *environment) *cobra.Command {
	root := &cobra.Command{
		Use:           "epcommerce",
		Short:         "Subscriptions and custom discounts of Elastic Path Commerce Cloud",
		SilenceErrors: true, // run prints them
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if !slices.Contains(formats, e.output) {
				return fmt.Errorf("--output must be one of %s", strings.Join(formats, ", "))
			}
			if e.output != "table" { // in a table, texts are plain
				e.stdout = e.printable()
			}
			e.started = true
			return nil
		},
	}
	flags := root.PersistentFlags()
	flags.BoolVar(&e.demo, "demo", false, "use an embedded fake store")
	flags.StringVar(&e.envFile, "env-file", "", "use the store that `FILE` names, not the environment")
	flags.StringVar(&e.store, "store", "", "use the store of `NAME`.env in the folder epcommerce of your configuration")
	flags.BoolVar(&e.verbose, "verbose", false, "log each request to standard error")
	flags.StringVarP(&e.output, "output", "o", "table", "`format` of lists: table, json, jsonl or csv")
	version := &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs}
	version.RunE = func(*cobra.Command, []string) error {
		_, err := fmt.Fprintln(e.stdout, "epcommerce", commerce.Version, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
		return err
	}
	root.AddCommand(
		newDoctorCommand(e),
		group("carts", "Check carts", newCheckCommand(e)),
		group("subscriptions", "List, export and change subscriptions",
			append(newStateCommands(e), newListCommand(e), newGetCommand(e), newExportCommand(e))...),
		group("discounts", "Show and change the custom discounts of a cart",
			newShowCommand(e), newAddCommand(e), newApplyCommand(e), newRemoveCommand(e), newEnableCommand(e)),
		newAPICommand(e), newServeCommand(e), version)
	complete(root, "output", formats...)
	root.SetUsageTemplate(strings.NewReplacer(
		".FlagUsages", ".FlagUsagesWrapped 80",
		`Use "{{.CommandPath}} [command] --help" for more information about a command.`,
		"{{.CommandPath}} COMMAND --help says more.",
	).Replace(root.UsageTemplate()))
	return root
}

// printable returns standard output without what would control a terminal, if it is one.
func (e *environment) printable() io.Writer {
	if !e.stdoutTerminal {
		return e.stdout
	}
	return transform.NewWriter(e.stdout, runes.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return unicode.ReplacementChar
	}))
}

// command returns a command that uses a store. The words after the first one of use are the names
// of its arguments.
func (e *environment) command(
	use, short string, run func(ctx context.Context, s *shop, args []string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(strings.Count(use, " ")),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := e.open(cmd.Context())
			if err != nil {
				return err
			}
			return run(cmd.Context(), s, args)
		},
	}
}

// group returns a command that only has others.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	help := func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd := &cobra.Command{Use: name, Short: short, Args: cobra.NoArgs, RunE: help}
	cmd.AddCommand(commands...)
	return cmd
}

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

// explain returns what happened, what is known, and what to do, a line each.
func explain(err error) string {
	text, todo := describe(err), advice(err)
	if known := outcomes[commerce.OutcomeOf(err)]; known != "" && is[*commerce.Error](err) {
		text += "\n  known: " + known
	}
	if todo != "" {
		text += "\n  to do: " + todo
	}
	return text
}

// describe returns what happened, with what the service says about it.
func describe(err error) string {
	text := strings.NewReplacer("commerce: invalid argument: ", "", "commerce: ", "").Replace(err.Error())
	if failed, ok := errors.AsType[*commerce.Error](err); ok {
		for _, detail := range failed.Details() {
			text += "\n  the service: " + plain(detail)
		}
	}
	return text
}

// advice returns what to do, or "".
func advice(err error) string {
	if !is[*commerce.Error](err) {
		return ""
	}
	if todo, ok := todos[commerce.ReasonOf(err)]; ok {
		return todo
	}
	if commerce.RemedyOf(err) != commerce.RemedyAgain {
		return "the service says what is wrong: change that"
	}
	return again
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
const again = "run the same command again; if that does not help, epcommerce doctor says why"

// todos has the advice for names of commerce.ReasonOf. For others, advice asks commerce.RemedyOf.
// CART is the id of the cart.
var todos = map[string]string{
	"invalid_argument":    "", // the message says it
	"canceled":            "",
	"list_drift":          "the store changed meanwhile: run the same command again",
	"conflict":            "somebody changed it meanwhile: run the same command again",
	"partial":             "run the same command again: it does what is missing",
	"outcome_unknown":     "run the same command again: it first finds out what was done",
	"lock":                "another program works on this cart: try again soon",
	"limiter":             "the rate limit that programs share refused it: try again soon, and check COMMERCE_REDIS_URL",
	"rate_limited":        "wait a minute and try again",
	"certificate":         "epcommerce doctor says what is wrong with the certificate",
	"token":               "check COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET, and COMMERCE_BASE_URL",
	"unauthorized":        "the token is wrong or has expired: set COMMERCE_TOKEN to a new one",
	"forbidden":           "the credentials may not do this: use client credentials that may",
	"bad_response":        "check COMMERCE_BASE_URL: this is not what the service sends",
	"empty_cart":          "check the id: a cart that does not exist reads as an empty one, which takes no discounts",
	"below_zero":          "remove discounts of other engines: epcommerce discounts show CART",
	"discount_limit":      "remove discounts, or ask the vendor's support to raise custom_discount_limit",
	"discounts_disabled":  "epcommerce discounts enable CART",
	"promotion_conflict":  "remove the promotions of the store from the cart in the shop, or take another cart",
	"cart_item_not_found": "epcommerce api GET /v2/carts/CART/items shows the items: a discount names another one",
	"item_type_mismatch":  "epcommerce api GET /v2/carts/CART/items shows the types: a discount has another one",
	"not_found":           "check the id",
	"different":           "use --update to change what differs",
	"ended":               "--reopen resumes it, and it is billed again",
	"state_not_shown":     "the store does not make this change: ask the vendor's support",
	"offset_limit":        "use client credentials that may list all accounts, or select fewer",
}
