// Epcommerce lists and exports the subscriptions of a store, shows and changes the discounts of a
// cart, finds out whether a setup is right, and runs a fake store. docs/tool.md describes it.
package main

import (
	"cmp"
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

	"github.com/redis/go-redis/v9/logging"
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
	changes       bool   // whether the command may change something
	yes           bool   // the reply to the question of confirm
	isAPI         bool   // whether it is the command api
	cart          string // the id of the cart that it is about, or ""
	done          int    // the number of things that it has changed

	files      fileLayer
	warned     []string // what was said of the file system
	running    string   // the file that stands for a lock; empty: none
	readSecret func() ([]byte, error)
}

func main() {
	logging.Disable() // go-redis writes to standard error
	// The first signal ends the context, the second one the program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
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
		files:          newFileLayer(),
		readSecret:     func() ([]byte, error) { return readSecret(ctx) },
	}))
}

// readSecret reads a line that the terminal does not show. After a signal it shows all again: the
// next signal ends the program.
func readSecret(ctx context.Context) ([]byte, error) {
	stdin := int(os.Stdin.Fd())
	if state, err := term.GetState(stdin); err == nil {
		defer context.AfterFunc(ctx, func() { _ = term.Restore(stdin, state) })()
	}
	return term.ReadPassword(stdin)
}

// run runs a command and returns the exit code.
func run(ctx context.Context, args []string, e *environment) int {
	root := newRootCommand(e) //nolint:contextcheck // the commands get the context by ExecuteContext
	root.SetArgs(args)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	say(e.stderr, "%s", e.explain(err))
	exit, ok := errors.AsType[*exitError](err)
	switch {
	case !e.started, errors.Is(err, commerce.ErrInvalidArgument):
		return exitUsage
	case ok && exit.code != 0:
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
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(formats, e.output) {
				return fmt.Errorf("--output must be one of %s", strings.Join(formats, ", "))
			}
			if e.output != "table" { // in a table, texts are plain
				e.stdout = e.printable()
			}
			for _, name := range []string{"env-file", "store", "file", "cart", "columns", "separator"} { // such as "$NOT_SET"
				if f := cmd.Flags().Lookup(name); f != nil && f.Changed && strings.Trim(f.Value.String(), "[]") == "" {
					return fmt.Errorf("--%s must not be empty", name)
				}
			}
			e.changes = cmd.Flags().Lookup("yes") != nil
			err := cmp.Or(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups())
			e.started = err == nil
			return err
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return inWords(err) })
	flags := root.PersistentFlags()
	flags.BoolVar(&e.demo, "demo", false, "use an embedded fake store")
	flags.StringVar(&e.envFile, "env-file", "", "use the store that `FILE`, or standard input (-), names instead")
	flags.StringVar(&e.store, "store", "", "use the store of `NAME`.env in the folder epcommerce of your configuration")
	flags.BoolVar(&e.verbose, "verbose", false, "log each request to standard error, and show a response that is an error")
	flags.StringVarP(&e.output, "output", "o", "table", "`format` of lists: table, json, jsonl or csv")
	root.AddCommand(
		newDoctorCommand(e),
		group("carts", "Check carts", newCheckCommand(e)),
		group("subscriptions", "List, export and change subscriptions",
			append(newStateCommands(e), newListCommand(e), newGetCommand(e), newExportCommand(e))...),
		group("discounts", "Show and change the custom discounts of a cart",
			newShowCommand(e), newAddCommand(e), newApplyCommand(e), newRemoveCommand(e), newEnableCommand(e)),
		newVerifyCommand(e), newStoresCommand(e), newAPICommand(e), newServeCommand(e), newVersionCommand(e))
	root.Version = commerce.Version // adds the flag --version
	root.SetVersionTemplate(versionLine + "\n")
	complete(root, "output", formats...)
	_ = root.RegisterFlagCompletionFunc("store", e.storeNames)
	root.SetUsageTemplate(strings.NewReplacer(
		".FlagUsages", ".FlagUsagesWrapped 80",
		`Use "{{.CommandPath}} [command] --help" for more information about a command.`,
		"{{.CommandPath}} COMMAND --help describes a command.",
	).Replace(root.UsageTemplate()))
	return root
}

const platform = runtime.GOOS + "/" + runtime.GOARCH

var versionLine = "epcommerce " + commerce.Version + " " + runtime.Version() + " " + platform

func newVersionCommand(e *environment) *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs}
	cmd.RunE = func(*cobra.Command, []string) error {
		return e.printOne(record{
			lines: []row{text(versionLine)},
			cells: []cell{{"version", commerce.Version}, {"go", runtime.Version()}, {"platform", platform}},
		})
	}
	return cmd
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
		Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != strings.Count(use, " ") {
				return fmt.Errorf("use it as %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for i, name := range strings.Fields(use)[1:] {
				if name == "CART" {
					e.cart = args[i]
				}
			}
			// What a command does after Ctrl-C may need the Redis server too.
			ctx, cancel := context.WithCancel(context.WithoutCancel(cmd.Context()))
			defer cancel()
			s, err := e.open(ctx)
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

// exitError is an error with the exit code that it causes; 0: that of err. If it has a text of its
// own, err was printed already.
type exitError struct {
	code int
	err  error
	text string
}

func (e *exitError) Error() string { return cmp.Or(e.text, e.err.Error()) }
func (e *exitError) Unwrap() error { return e.err }

// usagef returns an error of the command line or the environment.
func usagef(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// say writes a message, which is not data.
func say(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "epcommerce: "+format+"\n", args...)
}
