// Epcommerce lists and exports the subscriptions of a store, shows and repairs the discounts of a
// cart, tells whether a setup is right, and runs a fake store. docs/tool.md describes it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/commerce-go/commerce"
)

// The exit codes, besides 0.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitUnfinished  = 3 // a part is missing, or a write is in doubt
	exitInterrupted = 130
)

// exitError is an error with the exit code that it causes.
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

// environment is what the commands use of the machine, and the flags that all of them have.
type environment struct {
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	// Whether they are terminals.
	stdinTerminal, stdoutTerminal, stderrTerminal bool

	demo, verbose bool
	output        string // table, json, jsonl or csv
	started       bool   // whether a command has begun: its arguments are right
}

func main() {
	// The first signal ends the context, the second one the program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop()
		say(os.Stderr, "stopping; Ctrl-C again ends at once")
	})
	os.Exit(run(ctx, os.Args[1:], &environment{
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
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	say(e.stderr, "%s", explain(err))
	return e.exitCode(ctx, err)
}

func (e *environment) exitCode(ctx context.Context, err error) int {
	exit, ok := errors.AsType[*exitError](err)
	switch {
	case !e.started:
		return exitUsage // the arguments are wrong
	case ok:
		return exit.code
	case errors.Is(err, commerce.ErrInvalidArgument):
		return exitUsage
	case isDoubtful(err):
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
	}
	root.SuggestionsMinimumDistance = 2
	group(root)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w (-h for help)", err) })
	flags := root.PersistentFlags()
	flags.BoolVar(&e.demo, "demo", false, "use an embedded fake store")
	flags.BoolVar(&e.verbose, "verbose", false, "log each request to standard error")
	e.output = "table"
	root.PersistentPreRun = func(*cobra.Command, []string) { e.started = true }
	root.AddCommand(newDoctorCommand(e), newSubscriptionsCommand(e), newDiscountsCommand(e), newServeCommand(e),
		newVersionCommand(e))
	return root
}

// group makes cmd a command that only has others.
func group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint := ""
		if names := cmd.SuggestionsFor(args[0]); len(names) > 0 {
			hint = ": did you mean " + strings.Join(names, " or ") + "?"
		}
		return usagef("%s has no command %q%s (-h for help)", cmd.CommandPath(), args[0], hint)
	}
	cmd.AddCommand(commands...)
	return cmd
}

func newVersionCommand(e *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(e.stdout, "epcommerce", commerce.Version, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
			return err
		},
	}
}
