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

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/commerce-go/commerce"
)

// environment is what the commands use of the machine, and the flags that all of them have.
type environment struct {
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	// Whether they are terminals.
	stdinTerminal, stdoutTerminal, stderrTerminal bool

	demo, verbose bool
	output        string // one of formats
	started       bool   // whether the command has begun: its arguments are right
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
	exit, ok := errors.AsType[*exitError](err)
	switch {
	case !e.started, errors.Is(err, commerce.ErrInvalidArgument):
		return exitUsage
	case ok:
		return exit.code
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
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if !slices.Contains(formats, e.output) {
				return fmt.Errorf("--output must be one of %s", strings.Join(formats, ", "))
			}
			e.started = true
			return nil
		},
	}
	flags := root.PersistentFlags()
	flags.BoolVar(&e.demo, "demo", false, "use an embedded fake store")
	flags.BoolVar(&e.verbose, "verbose", false, "log each request to standard error")
	flags.StringVarP(&e.output, "output", "o", "table", "`format` of what is listed: table, json, jsonl or csv")
	version := &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs}
	version.RunE = func(*cobra.Command, []string) error {
		_, err := fmt.Fprintln(e.stdout, "epcommerce", commerce.Version, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
		return err
	}
	root.AddCommand(newDoctorCommand(e), newSubscriptionsCommand(e), newDiscountsCommand(e), newServeCommand(e), version)
	return root
}

// command returns a command that uses a store. The words after the first one of use are the names
// of its arguments.
func (e *environment) command(
	use, short string, run func(ctx context.Context, s *shop, args []string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(strings.Count(use, " ")),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := e.open()
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
