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
//	-format name        jsonl or csv (default: csv if the file name ends in .csv, else jsonl)
//	-account uuid       only subscriptions of this account
//	-name text          only subscriptions of the subscriber with this name
//	-email address      only subscriptions of the subscriber with this email address
//	-external-ref text  only subscriptions with this external reference
//	-offset n           skip n subscriptions, 0 to 10000, to continue an export that was
//	                    stopped; CSV then has no header
//	-concurrency n      requests in flight, 1 (the default) to 16
//	-rate n             maximum requests a second, e.g. 0.5 or 10 (default: no limit)
//	-q                  no progress bar
//	-n count            number of subscriptions in the embedded store (default 300)
//	-latency time       time that the embedded store takes to respond, e.g. 20ms (default 0)
//
// # Formats
//
// JSON Lines has one object a line:
//
//	{"subscription":{…},"plan":{…}}
//
// Both are as the service sends them, with members that the library does not know,
// and decode to [commerce.Subscription] and [commerce.Plan]. The plan is that of
// the subscription; it is null if the service did not include it. A line holds all
// members: this includes the ids of the payment authority.
//
// CSV has a header, commas between the cells, and a selection of the members:
// format.go lists the columns. Times are UTC. A spreadsheet could run a text as a
// formula if its first visible character is one of = + - @. Such a text gets an
// apostrophe in front, and so does a text that begins with an apostrophe. Programs
// that read the cells must remove one apostrophe from the start of a text.
//
// # The file
//
// The records are written to FILE.*.tmp, in the same folder. When the export is
// complete, that file is renamed to FILE, and replaces an older one. The temporary
// file is removed however the program ends, except by a second Ctrl-C, by kill -9 or
// by a crash of the machine: delete it then. Only the owner can read the files, as
// they hold data of customers.
//
// An export that is stopped, by Ctrl-C, by SIGTERM or by an error of the service,
// keeps its records in FILE.FIRST-NEXT.partial. FIRST is the offset of its first
// record, NEXT that of the first record that is missing. To continue, use -offset
// NEXT and another -o, and join the parts. Within one walk each record comes exactly
// once. Across the parts that does not hold: a record that is removed before the
// offset meanwhile hides another record, and one that is added makes a record come
// twice. If that must not happen, use a smaller -offset and drop the records whose
// ids you have; if you don't have the id of the first record, start over.
//
// If the output can't be written, e.g. because the disk is full, nothing is kept.
//
// The service limits offsets: a list shows at most 10,100 subscriptions. An export
// that reaches this limit ends with exit code 3, as there may be more, and keeps its
// records in a .partial file too. Export in parts, e.g. by -account.
//
// # Messages
//
// A progress bar and a summary go to standard error. The bar is shown only if
// standard error is a terminal, and the records don't go to a terminal. The exit
// code is
//
//	0    all subscriptions were exported
//	1    the list failed, or the output can't be written
//	2    invalid flag or environment
//	3    the highest offset was reached: there may be more
//	130  interrupted by Ctrl-C; 143 by SIGTERM
//
// go run prints the code, and exits with 1 itself.
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

// The exit codes. After a signal it is exitSignal plus the number of the signal.
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

// stopSignal is the signal that ended the context.
type stopSignal struct{ os.Signal }

// Error names the signal.
func (s stopSignal) Error() string { return "stopped by a signal: " + s.String() }

// system is what the program uses of the machine.
type system struct {
	getenv         func(string) string
	stdout, stderr io.Writer
	create         func(dir, pattern string) (file, error) // as os.CreateTemp
}

// config holds the values of the flags.
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

// options returns the options of the client.
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
	e := exporter{cfg: cfg, client: client, out: out, added: bar.add}
	begin := time.Now()
	err = e.run(ctx)
	bar.stop()
	e.took = time.Since(begin)
	return e.conclude(ctx, sys.stderr, err)
}

// exporter writes the subscriptions of a store to an output.
type exporter struct {
	cfg      config
	client   *commerce.Client
	out      *output
	added    func(n int) // called after each page is written
	exported int
	took     time.Duration
}

func (e *exporter) run(ctx context.Context) error {
	write := jsonLinesTo(e.out)
	if e.cfg.csv {
		write = csvTo(e.out)
		if e.cfg.list.Offset == 0 {
			if err := writeCSVHeader(e.out); err != nil {
				return e.out.cannotWrite(err)
			}
		}
	}
	for page, err := range e.client.Subscriptions.Pages(ctx, &e.cfg.list) {
		if err != nil {
			return err
		}
		err = write(page)
		if err == nil {
			err = e.out.Flush()
		}
		if err != nil {
			return e.out.cannotWrite(err)
		}
		e.exported += len(page.Subscriptions)
		e.added(len(page.Subscriptions))
	}
	return nil
}

// summary returns e.g. "300 subscriptions in 1.5s (200 a second)".
func (e *exporter) summary() string {
	text := fmt.Sprintf("%d subscriptions in %v", e.exported, e.took.Round(time.Millisecond))
	if e.exported == 1 {
		text = strings.Replace(text, "subscriptions", "subscription", 1)
	}
	if e.took > 0 {
		text += fmt.Sprintf(" (%.0f a second)", float64(e.exported)/e.took.Seconds())
	}
	return text
}

// conclude publishes or discards the output, prints how the export ended, and
// returns the exit code. err is that of run.
func (e *exporter) conclude(ctx context.Context, stderr io.Writer, err error) int {
	say := func(line ...any) { fmt.Fprintln(stderr, append([]any{"export-subscriptions:"}, line...)...) }
	stop, stopped := errors.AsType[*commerce.PagingError](err)
	name := e.cfg.path
	if stopped {
		name = fmt.Sprintf("%s.%d-%d.partial", e.cfg.path, e.cfg.list.Offset, stop.Offset)
	}
	var outputErr error
	if err == nil || stopped && e.exported > 0 {
		if outputErr = e.out.publish(name); outputErr == nil {
			summary := e.summary()
			if e.cfg.path != "" {
				summary += " to " + name
			}
			fmt.Fprintln(stderr, summary)
		}
	} else {
		outputErr = e.out.discard()
	}
	if outputErr != nil {
		say(outputErr)
	}

	switch {
	case err == nil && outputErr == nil:
		return exitOK
	case err == nil:
		return exitFailed
	case errors.Is(err, commerce.ErrInvalidArgument):
		say(err)
		return exitUsage
	case !stopped || outputErr != nil:
		say(err)
		return exitFailed
	case errors.Is(err, context.Canceled): // by the signal: no other error matches
		say("interrupted: the export is not complete")
	default:
		say(err)
		terminal.PrintDetails(stderr, err)
	}
	if errors.Is(stop, commerce.ErrOffsetLimit) {
		fmt.Fprintln(stderr, "\tthe export may not be complete: export in parts, one -account, -name or -email at a time")
		return exitOffsetLimit
	}
	if e.exported > 0 && !errors.Is(stop, commerce.ErrListDrift) { // else the only way is to start over
		e.adviseToContinue(stderr, min(stop.Offset, commerce.MaxOffset))
	}
	if errors.Is(stop, context.Canceled) {
		return signalCode(ctx)
	}
	return exitFailed
}

// adviseToContinue prints how to continue an export at an offset.
func (e *exporter) adviseToContinue(w io.Writer, offset int) {
	another := ""
	if e.cfg.path != "" {
		another = " and another -o"
	}
	fmt.Fprintf(w, "\tto continue, use -offset %d%s, and join the parts\n", offset, another)
	fmt.Fprintln(w, "\tif records are added or removed meanwhile, one may come twice or be missing: to prevent")
	fmt.Fprintln(w, "\tthat, use a smaller -offset and drop the records whose ids you have; if the first record")
	fmt.Fprintln(w, "\tis a new one, start over")
}

// signalCode returns the exit code for the signal that ended ctx.
func signalCode(ctx context.Context) int {
	number := syscall.SIGINT
	if s, ok := errors.AsType[stopSignal](context.Cause(ctx)); ok {
		if n, ok := s.Signal.(syscall.Signal); ok {
			number = n
		}
	}
	return exitSignal + int(number)
}

var help = flags.Help{
	Before: `Export-subscriptions writes all subscriptions of a store, with their plans, to a
file or to standard output, as JSON Lines or CSV.`,
	After: `Exit codes:
  0    all subscriptions were exported
  1    the list failed, or the output can't be written
  2    invalid flag or environment
  3    the highest offset was reached: there may be more; export in parts
  130  interrupted by Ctrl-C; 143 by SIGTERM
An export that is stopped keeps its records in FILE.FIRST-NEXT.partial, never
under the name of the file.

The formats and the environment: go doc ./examples/export-subscriptions`,
}

// parse reads the flags. Help goes to stdout, with flag.ErrHelp as the error.
func parse(args []string, stdout io.Writer) (config, error) {
	cfg := config{n: 300}
	cfg.list.Include.Plans = true
	format := ""

	set := flag.NewFlagSet("export-subscriptions", flag.ContinueOnError)
	set.Func("o", "`file` to write; - for standard output, the default", flags.Text(&cfg.path))
	set.Func("format", "`name` of the format, jsonl or csv (default csv if the file name ends in .csv, else jsonl)",
		func(s string) error {
			if s != "jsonl" && s != "csv" {
				return errors.New("must be jsonl or csv")
			}
			format = s
			return nil
		})
	flags.Filters(set, &cfg.list.Filter)
	set.Func("offset", "skip `n` subscriptions, to continue an export that was stopped; CSV then has no header",
		flags.Number(&cfg.list.Offset, 0, commerce.MaxOffset))
	set.Func("concurrency", "`n` requests in flight, 1 (the default) to 16",
		flags.Number(&cfg.list.Concurrency, 1, commerce.MaxConcurrency))
	set.Func("rate", "at most `n` requests a second, e.g. 0.5 or 10 (default no limit)", func(s string) error {
		r, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(r) || r < 0.01 || r > 10_000 {
			return errors.New("must be a number from 0.01 to 10000")
		}
		cfg.rate = r
		return nil
	})
	set.BoolVar(&cfg.quiet, "q", false, "no progress bar")
	set.Func("n", "`number` of subscriptions in the embedded store (default 300)", flags.Number(&cfg.n, 0, 100_000))
	set.Func("latency", "`time` that the embedded store takes to respond, e.g. 20ms (default 0)", func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 || d > 10*time.Second {
			return errors.New("must be a time from 0s to 10s")
		}
		cfg.latency = d
		return nil
	})

	err := flags.Parse(set, args, help, stdout)
	if cfg.path == "-" {
		cfg.path = ""
	}
	cfg.csv = format == "csv" || format == "" && strings.EqualFold(filepath.Ext(cfg.path), ".csv")
	return cfg, err
}
