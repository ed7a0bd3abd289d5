// Export-subscriptions writes all subscriptions of a store, with their plans, to a
// file or to standard output, as JSON Lines or CSV.
//
//	go run ./examples/export-subscriptions -o subscriptions.jsonl
//	go run ./examples/export-subscriptions -o subscriptions.csv -n 10000 -latency 20ms
//
// It runs on an embedded fake store, unless the environment names a live one:
// COMMERCE_BASE_URL, and either COMMERCE_TOKEN or COMMERCE_CLIENT_ID and
// COMMERCE_CLIENT_SECRET.
//
// The flags are
//
//	-o file             file to write; - for standard output, the default
//	-format name        jsonl or csv (default: csv if the file is named so, else jsonl)
//	-account uuid       only subscriptions of this account
//	-name text          only subscriptions of the subscriber with this name
//	-email address      only subscriptions of the subscriber with this address
//	-external-ref text  only subscriptions with this reference of the store's own
//	-offset n           skip n subscriptions, 0 to 10000, to go on with an export that
//	                    was stopped; CSV then has no header, as it is the part after
//	-concurrency n      requests in flight, 1 (the default) to 16
//	-rate n             requests a second at most, e.g. 0.5 or 10 (default: no limit)
//	-q                  no progress bar
//	-n count            count of subscriptions in the embedded store (default 300)
//	-latency time       of each answer of the embedded store, e.g. 20ms (default 0)
//
// # What is written
//
// JSON Lines has an object a line:
//
//	{"subscription":{…},"plan":{…}}
//
// Both are as the service sends them, with members that the library does not know,
// and decode to [commerce.Subscription] and [commerce.Plan]. The plan is the one that
// the subscription's plan_id names; it is null if the service did not include it. A
// line is complete: this includes the ids of the payment authority.
//
// CSV has a header, commas between the cells, and a choice of what the records
// hold: the columns are in format.go. Times are UTC. A text whose first visible
// character is one of = + - @ could run as a formula in a spreadsheet: it gets an
// apostrophe before it, and so does a text that begins with an apostrophe. Programs
// that read the cells drop one apostrophe at the start of a text.
//
// # The file
//
// The file appears under its name when it is complete, and replaces an older one
// then; before that, the records are in FILE.*.tmp beside it. That is removed
// however the program ends, except by a second Ctrl-C, by kill -9 or with the
// machine: delete it then. Files can be read by their owner only, as they hold
// data of customers.
//
// An export that is stopped, by Ctrl-C, by SIGTERM or by the service, keeps what it
// has in FILE.FIRST-NEXT.partial, named by the offset of its first record and of
// the first one that it lacks. To go on, use -offset NEXT and another -o, and put the
// parts together. The promise of a walk, that each record comes exactly once, does not
// reach across such a gap: a record removed before the offset meanwhile hides
// another one, one added repeats one. Where that matters, use a smaller -offset
// and drop the ids that are there already; if the first is none of them, start over.
//
// If the output can't be written, e.g. because the disk is full, nothing is kept.
//
// At most 10,100 subscriptions are within reach of the service's offsets. An
// export that gets there ends with exit code 3, as there may be more, and keeps
// what it has in a .partial file too: export in parts, e.g. by -account.
//
// # Messages
//
// A progress bar and a summary go to standard error; the bar only if that is a
// terminal, and the records are not shown on one. The exit code is
//
//	0    all subscriptions were exported
//	1    the list failed, or the output can't be written
//	2    wrong flag or environment
//	3    the highest offset was reached: there may be more
//	130  interrupted by Ctrl-C; 143 by SIGTERM
//
// (go run prints the code, and exits with 1 itself.)
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/examples/internal/flags"
	"github.com/commerce-go/commerce/examples/internal/store"
	"github.com/commerce-go/commerce/examples/internal/terminal"
)

// The exit codes. That of an interruption is 128 and the number of the signal.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitOffsetLimit = 3
	exitSignal      = 128
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		signal.Stop(signals) // a second Ctrl-C ends the program at once
		cancel(stopSignal{s})
	}()
	os.Exit(run(ctx, os.Args[1:], system{os.Getenv, os.Stdout, os.Stderr, createTemp}))
}

// stopSignal is the cause of the end of the context: a signal.
type stopSignal struct{ os.Signal }

// Error names the signal.
func (s stopSignal) Error() string { return "stopped by a signal: " + s.String() }

// system is what the program uses of the machine.
type system struct {
	getenv         func(string) string
	stdout, stderr io.Writer
	create         func(dir, pattern string) (file, error) // as os.CreateTemp
}

// config is what the flags say.
type config struct {
	list    commerce.SubscriptionListOptions
	path    string // "": standard output
	csv     bool
	rate    float64 // requests a second; 0: no limit
	quiet   bool
	n       int
	latency time.Duration
}

// prepare fills the embedded store.
func (c *config) prepare(s *commercetest.Store) {
	s.Seed(c.n)
	if c.latency > 0 {
		s.Inject(commercetest.Fault{Operation: commercetest.OpList, Delay: c.latency, Times: -1})
	}
}

// options are those of the client.
func (c *config) options() []commerce.Option {
	if c.rate == 0 {
		return nil
	}
	return []commerce.Option{commerce.WithLimiter(rate.NewLimiter(rate.Limit(c.rate), 1))}
}

func run(ctx context.Context, args []string, sys system) int {
	cfg, err := parse(args, sys.stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(sys.stderr, "export-subscriptions: %v (-h for help)\n", err)
		return exitUsage
	}
	client, err := store.Open(sys.getenv, sys.stderr, cfg.prepare, cfg.options()...)
	if err != nil {
		fmt.Fprintln(sys.stderr, "export-subscriptions:", err)
		return exitUsage
	}
	out, err := openOutput(cfg.path, sys)
	if err != nil {
		fmt.Fprintln(sys.stderr, "export-subscriptions:", err)
		if errors.Is(err, errNotPlain) {
			return exitUsage
		}
		return exitFailed
	}
	bar := noProgress()
	if !cfg.quiet && terminal.Is(sys.stderr) && (cfg.path != "" || !terminal.Is(sys.stdout)) {
		bar = startProgress(sys.stderr)
	}
	begin := time.Now()
	exported, err := export(ctx, client, cfg, out, bar.add)
	bar.stop()
	return conclude(ctx, sys.stderr, cfg, out, sum{exported, time.Since(begin)}, err)
}

// export writes the subscriptions to out, and returns how many it wrote. It tells
// added of each page that was written.
func export(ctx context.Context, client *commerce.Client, cfg config, out *output, added func(int)) (exported int, err error) {
	write := jsonLinesTo(out)
	if cfg.csv {
		write, err = csvTo(out, cfg.list.Offset == 0)
		if err != nil {
			return 0, out.fault(err)
		}
	}
	for page, err := range client.Subscriptions.Pages(ctx, &cfg.list) {
		if err != nil {
			return exported, err
		}
		err = write(page)
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			return exported, out.fault(err)
		}
		exported += len(page.Subscriptions)
		added(len(page.Subscriptions))
	}
	return exported, nil
}

// sum is what was exported, and in what time.
type sum struct {
	count int
	time  time.Duration
}

// to returns e.g. "300 subscriptions in 1.5s (200 a second) to subs.csv"; path is ""
// for standard output.
func (s sum) to(path, name string) string {
	text := fmt.Sprintf("%d subscriptions in %v", s.count, s.time.Round(time.Millisecond))
	if s.count == 1 {
		text = strings.Replace(text, "subscriptions", "subscription", 1)
	}
	if s.time > 0 {
		text += fmt.Sprintf(" (%.0f a second)", float64(s.count)/s.time.Seconds())
	}
	if path != "" {
		text += " to " + name
	}
	return text
}

// conclude brings the output to its end, says how it ended, and returns the exit
// code. err is that of the export.
func conclude(ctx context.Context, stderr io.Writer, cfg config, out *output, total sum, err error) int {
	say := func(line ...any) { fmt.Fprintln(stderr, append([]any{"export-subscriptions:"}, line...)...) }
	stop, stopped := errors.AsType[*commerce.PagingError](err)
	name := cfg.path
	if stopped {
		name = fmt.Sprintf("%s.%d-%d.partial", cfg.path, cfg.list.Offset, stop.Offset)
	}
	var fault error // of the output
	if err == nil || stopped && total.count > 0 {
		if fault = out.publish(name); fault == nil {
			fmt.Fprintln(stderr, total.to(cfg.path, name))
		}
	} else {
		fault = out.discard()
	}
	if fault != nil {
		say(fault)
	}

	switch {
	case err == nil && fault == nil:
		return exitOK
	case err == nil:
		return exitFailed
	case errors.Is(err, commerce.ErrInvalidArgument):
		say(err)
		return exitUsage
	case !stopped || fault != nil:
		say(err)
		return exitFailed
	case errors.Is(err, context.Canceled): // by the signal: other timeouts and cuts don't match
		say("interrupted: the export is not complete")
	default:
		say(err)
		explain(stderr, err)
	}
	return advise(ctx, stderr, stop, total.count, cfg.path != "")
}

// explain tells what the service said. The text of an error holds no details, as it
// may go to a log. This is for the user.
func explain(stderr io.Writer, err error) {
	failed, ok := errors.AsType[*commerce.Error](err)
	if !ok {
		return
	}
	for _, o := range failed.Errors {
		if o.Detail != "" {
			fmt.Fprintln(stderr, "\t"+terminal.Plain(o.Detail))
		}
	}
}

// advise says what to do after a walk that stopped, and returns the exit code.
func advise(ctx context.Context, stderr io.Writer, stop *commerce.PagingError, exported int, toFile bool) int {
	switch {
	case errors.Is(stop, commerce.ErrOffsetLimit):
		fmt.Fprintln(stderr, "\tthe export may not be complete: export in parts, one -account, -name or -email at a time")
		return exitOffsetLimit
	case errors.Is(stop, commerce.ErrListDrift), exported == 0: // the way is to start over
	default:
		another := ""
		if toFile {
			another = " and another -o"
		}
		fmt.Fprintf(stderr, "\tto go on, use -offset %d%s, and put the parts together\n", min(stop.Offset, commerce.MaxOffset), another)
		fmt.Fprintln(stderr, "\trecords added or removed meanwhile can repeat or hide one: where that matters, use a smaller")
		fmt.Fprintln(stderr, "\t-offset and drop the ids that are there already; if the first is none of them, start over")
	}
	if !errors.Is(stop, context.Canceled) {
		return exitFailed
	}
	number := syscall.SIGINT
	if s, ok := errors.AsType[stopSignal](context.Cause(ctx)); ok {
		if n, ok := s.Signal.(syscall.Signal); ok {
			number = n
		}
	}
	return exitSignal + int(number)
}

const help = `Export-subscriptions writes all subscriptions of a store, with their plans, to a
file or to standard output, as JSON Lines or CSV.

Usage: export-subscriptions [flags]

Flags:`

const exitCodes = `
Exit codes:
  0    all subscriptions were exported
  1    the list failed, or the output can't be written
  2    wrong flag or environment
  3    the highest offset was reached: there may be more; export in parts
  130  interrupted by Ctrl-C; 143 by SIGTERM
An export that is stopped keeps what it has in FILE.FIRST-NEXT.partial, never
under the name of the file.

What is written, and the environment: go doc ./examples/export-subscriptions`

// parse reads the flags. Help goes to stdout, with flag.ErrHelp as the error.
func parse(args []string, stdout io.Writer) (config, error) {
	cfg := config{n: 300}
	cfg.list.Include.Plans = true
	format := ""

	set := flag.NewFlagSet("export-subscriptions", flag.ContinueOnError)
	set.SetOutput(io.Discard) // one sentence is enough, see run
	flags.Text(set, &cfg.path, "o", "`file` to write; - for standard output, the default")
	set.Func("format", "`name` of the format, jsonl or csv (default csv if the file is named so, else jsonl)", func(s string) error {
		if s != "jsonl" && s != "csv" {
			return errors.New("must be jsonl or csv")
		}
		format = s
		return nil
	})
	flags.UUID(set, &cfg.list.Filter.AccountID, "account", "only subscriptions of the account with this `uuid`")
	flags.Text(set, &cfg.list.Filter.Name, "name", "only subscriptions of the subscriber with this `name`")
	flags.Text(set, &cfg.list.Filter.Email, "email", "only subscriptions of the subscriber with this `address`")
	flags.Text(set, &cfg.list.Filter.ExternalRef, "external-ref", "only subscriptions with this `reference` of the store's own")
	flags.Number(set, &cfg.list.Offset, "offset", 0, commerce.MaxOffset, "skip `n` subscriptions, to go on with an export that was stopped; CSV then has no header")
	flags.Number(set, &cfg.list.Concurrency, "concurrency", 1, commerce.MaxConcurrency, "`n` requests in flight, 1 (the default) to 16")
	set.Func("rate", "`n` requests a second at most, e.g. 0.5 or 10 (default no limit)", func(s string) error {
		r, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(r) || r < 0.01 || r > 10_000 {
			return errors.New("must be a number from 0.01 to 10000")
		}
		cfg.rate = r
		return nil
	})
	set.BoolVar(&cfg.quiet, "q", false, "no progress bar")
	flags.Number(set, &cfg.n, "n", 0, 100_000, "`count` of subscriptions in the embedded store (default 300)")
	set.Func("latency", "`time` that each answer of the embedded store takes, e.g. 20ms (default 0)", func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 || d > 10*time.Second {
			return errors.New("must be a time from 0s to 10s")
		}
		cfg.latency = d
		return nil
	})

	err := set.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, help)
		set.SetOutput(stdout)
		set.PrintDefaults()
		fmt.Fprintln(stdout, exitCodes)
	}
	if err == nil && set.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	if cfg.path == "-" {
		cfg.path = ""
	}
	cfg.csv = format == "csv" || format == "" && strings.EqualFold(filepath.Ext(cfg.path), ".csv")
	return cfg, err
}
