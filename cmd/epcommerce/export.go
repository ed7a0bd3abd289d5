package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
)

// saveInterval is the time between two states: how much work a crash costs.
const saveInterval = 250 * time.Millisecond

// maxAttempts is the number of attempts while the store is down. They last about two minutes.
const maxAttempts = 20

// maxOutages is the number of times that an export waits at the same account.
const maxOutages = 3

// maxSkipped is the number of accounts that an export goes on without. If more cannot be read,
// probably none can.
const maxSkipped = 100

// export is an export in progress. FILE.part becomes FILE when it is complete.
type export struct {
	exportState
	selection
	shop        *shop
	lock        *flock.Flock
	part        *os.File
	path        string // of FILE
	format      string
	concurrency int
	shown       time.Time // when the number of subscriptions was shown

	restart bool
}

// exportState says where an export goes on. It is the content of FILE.state.
type exportState struct {
	Store    string      // as in shop
	Content  string      // the selection
	Finished uuid.UUID   // the part has all subscriptions up to this account
	Length   int64       // of the part, in bytes
	Count    int         // of subscriptions
	Unknown  int         // of those without the address of a subscriber
	Skipped  []uuid.UUID // accounts that cannot be read
	Unlisted int         // subscriptions of accounts that the service does not list
	Beyond   bool        // there may be others of such accounts
	Done     bool        // nothing is missing but what these members say
}

func newExportCommand(e *environment) *cobra.Command {
	x := &export{concurrency: 4}
	short := "Write all subscriptions to a .jsonl or .csv file, or to -"
	cmd := e.command("export FILE", short, func(ctx context.Context, s *shop, args []string) error {
		x.shop, x.path, x.format = s, args[0], strings.ToLower(strings.TrimPrefix(filepath.Ext(args[0]), "."))
		if x.concurrency < 1 || x.concurrency > 16 {
			return usagef("--concurrency must be 1 to 16")
		}
		if x.path == "-" {
			if x.restart || e.yes {
				return usagef("--restart and --resume need a FILE")
			}
			if e.output == "table" {
				e.output, e.stdout = "jsonl", e.printable()
			}
			var err error
			if s.Client, err = s.patient(); err != nil {
				return err
			}
			return x.list(ctx, s, &commerce.SubscriptionListOptions{Concurrency: x.concurrency}, 0)
		}
		if x.format != "jsonl" && x.format != "csv" || e.output != "table" && e.output != x.format {
			return usagef("FILE must end in .jsonl or .csv, as -o, or be - for standard output")
		}
		if err := x.check(x.format); err != nil {
			return err
		}
		x.exportState = exportState{Store: s.identity, Content: fmt.Sprint(x.selection)}
		return x.toFile(ctx)
	})
	cmd.Long = short + ", the standard output.\nFILE.part becomes FILE when it is complete. " +
		"After an error, Ctrl-C or a crash,\nthe same command goes on."
	cmd.Flags().IntVar(&x.concurrency, "concurrency", x.concurrency, "`n` requests at a time, 1 to 16")
	cmd.Flags().BoolVar(&x.restart, "restart", false, "start over, instead of going on")
	cmd.Flags().BoolVar(&e.yes, "resume", false, "with COMMERCE_TOKEN: go on, the store is that of the run before")
	x.addFlags(cmd)
	cmd.Example = "  epcommerce subscriptions export subs.csv --subscribers\n" +
		"  epcommerce subscriptions export - --state active | wc -l"
	return cmd
}

// toFile writes the file, or goes on with it.
func (x *export) toFile(ctx context.Context) error {
	if err := x.open(); err != nil {
		return err
	}
	defer x.unlock()
	goOn := "the same command goes on"
	if !x.shop.identified {
		goOn = "the same command with --resume goes on"
	}
	isResumed := x.Length > 0 || x.Finished != uuid.Nil || len(x.Skipped) > 0
	if isResumed && !x.shop.identified {
		question := "A token does not say which store it is for. Is this the same store?"
		if err := x.shop.confirm(ctx, question, "--resume, or --restart"); err != nil {
			return err
		}
	}
	if x.part == nil {
		say(x.shop.stderr, "the run before completed it; --restart makes a new one")
		return x.finish()
	}
	if isResumed {
		say(x.shop.stderr, "going on after %d subscriptions; --restart starts over", x.Count)
	}
	x.shown = time.Now()
	err := x.run(ctx)
	x.endLine()
	if err != nil {
		code, text, todo := exitUnfinished, x.shop.describe(err), x.shop.advice(err)
		if ctx.Err() != nil {
			code, text, todo = exitInterrupted, "interrupted", ""
		}
		if todo != "" && todo != x.shop.todo(again) { // how to go on is said below
			text += "\n  to do: " + todo
		}
		text += fmt.Sprintf("\n  known: %d subscriptions are safe in %s; %s", x.Count, x.part.Name(), goOn)
		return &exitError{code: code, err: errors.New(text)}
	}
	return x.finish()
}

// finish says that the file is complete, and what it lacks.
func (x *export) finish() error {
	if err := os.Remove(x.path + ".state"); err != nil { // the next run must not come here again
		return fmt.Errorf("%s is complete, but %w", x.path, err)
	}
	x.shop.unknown = x.Unknown
	x.shop.sayUnknown()
	say(x.shop.stderr, "%d subscriptions are in %s", x.Count, x.path)
	if x.Unlisted > 0 {
		say(x.shop.stderr, "%s of accounts that the service does not list", counted(x.Unlisted, "subscription"))
	}
	var lacks []error
	if len(x.Skipped) > 0 {
		lacks = append(lacks, fmt.Errorf("%s lacks the accounts that can't be read: %v", x.path, x.Skipped))
	}
	if x.Beyond {
		lacks = append(lacks, fmt.Errorf("%s may lack others of accounts that the service does not list: "+
			"not all subscriptions can be read without their accounts", x.path))
	}
	if len(lacks) == 0 {
		return nil
	}
	return &exitError{code: exitUnfinished, err: errors.Join(lacks...)}
}

// show shows the number of subscriptions in the part: on a terminal in one line, and in a log each
// 10 s.
func (x *export) show(n int) {
	interval, format := 10*time.Second, "epcommerce: %d subscriptions so far\n"
	if x.shop.stderrTerminal {
		interval, format = 100*time.Millisecond, "\r%d subscriptions"
	}
	if time.Since(x.shown) >= interval {
		x.shown = time.Now()
		fmt.Fprintf(x.shop.stderr, format, n)
	}
}

// endLine lets the next message, which is longer, take the place of the number.
func (x *export) endLine() {
	if x.shop.stderrTerminal {
		fmt.Fprint(x.shop.stderr, "\r")
	}
}

// open opens the part, and reads the state of an earlier run, if there is one. If it returns no
// error, unlock must be called.
func (x *export) open() (err error) {
	for _, suffix := range []string{"", ".part", ".state", ".lock"} {
		info, err := os.Lstat(x.path + suffix)
		if err == nil && !info.Mode().IsRegular() {
			return usagef("%s must be a file, not a link or a folder", x.path+suffix)
		}
	}
	x.lock = flock.New(x.path+".lock", flock.SetPermissions(0o600))
	if locked, err := x.shop.lockFile(x.lock); err != nil {
		return usagef("%s can't be written: %w", x.path, err)
	} else if opened, err := x.lock.Stat(); !locked || err != nil || !isAt(opened, x.lock.Path()) {
		_ = x.lock.Unlock() // of a file that another run has removed
		return usagef("another export writes %s", x.path)
	}
	if err = x.openPart(); err != nil {
		x.unlock()
	}
	return err
}

// isAt reports whether an open file is the one at a path, and not what a link leads to.
func isAt(opened fs.FileInfo, path string) bool {
	link, err := os.Lstat(path)
	return err == nil && os.SameFile(link, opened)
}

// unlock lets another run write.
func (x *export) unlock() {
	x.shop.unlockFile(x.lock)
}

// openPart reads the state, and opens the part, unless FILE is complete: then x.part is nil.
func (x *export) openPart() error {
	if x.restart { // before anything is written to the part
		if err := os.Remove(x.path + ".state"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	isComplete, err := x.readState()
	if err != nil {
		return usagef("%s.state can't be used: %w\n  to do: use another FILE, or --restart", x.path, err)
	}
	if isComplete {
		return nil
	}
	// Only the owner can read it, as it holds data of customers.
	if x.part, err = os.OpenFile(x.path+".part", os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if opened, err := x.part.Stat(); err != nil || !isAt(opened, x.part.Name()) {
		return cmp.Or(err, usagef("%s must not be a symbolic link", x.part.Name()))
	}
	return x.shop.ifKnown(x.shop.files.chmod(x.part.Name(), 0o600), "modes: others may read the file", syscall.EPERM)
}

// readState reads the state of an earlier run, if there is one. A state without a part means that
// FILE is complete.
func (x *export) readState() (isComplete bool, err error) {
	text, err := os.ReadFile(x.path + ".state")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	store, content := x.Store, x.Content
	if err == nil {
		err = json.Unmarshal(text, &x.exportState)
	}
	written, errWritten := os.Stat(x.path + ".part")
	if errors.Is(errWritten, fs.ErrNotExist) {
		isComplete = true
		written, errWritten = os.Stat(x.path)
	}
	if err = cmp.Or(err, errWritten); err != nil {
		return false, err
	}
	isOther := x.Store != store || x.Content != content
	if isOther || written.Size() < x.Length || isComplete && written.Size() != x.Length {
		err = errors.New("it belongs to another store, another part, or other flags")
	}
	return isComplete, err
}

// run walks until all accounts are read, without those that cannot be read, and publishes the file.
func (x *export) run(ctx context.Context) error {
	var failed uuid.UUID // the account that failed in the walk before
	outages, before := 0, x.Finished
	for {
		err := x.walk(ctx)
		if x.Finished != before {
			outages, before = 0, x.Finished
		}
		stop, ok := errors.AsType[*commerce.PagingError](err)
		switch {
		case outages < maxOutages && x.waitOut(ctx, err):
			outages++
			continue
		case err == nil:
			if err := x.part.Close(); err != nil {
				return err
			}
			if err := os.Rename(x.part.Name(), x.path); err != nil {
				return fmt.Errorf("%w\n  to do: close %s, if another program has it open", err, x.path)
			}
			return nil
		case !ok || stop.Account == uuid.Nil || len(x.Skipped) == maxSkipped:
			// Accounts that come again must not be left out.
			x.Skipped = slices.DeleteFunc(x.Skipped, func(id uuid.UUID) bool {
				return bytes.Compare(id[:], x.Finished[:]) > 0
			})
			return errors.Join(err, x.save(x.exportState), x.part.Close())
		case failed != stop.Account && !errors.Is(err, commerce.ErrOffsetLimit):
			failed = stop.Account // once more: the error may pass
			continue
		}
		x.Skipped = append(x.Skipped, stop.Account)
	}
}

// waitOut waits until the store is no longer down. It reports whether err was such an outage, and
// is over.
func (x *export) waitOut(ctx context.Context, err error) bool {
	_, isOfCall := errors.AsType[*commerce.Error](err)
	isOutage := isOfCall && commerce.RemedyOf(err) == commerce.RemedyAgain && !errors.Is(err, commerce.ErrBadResponse)
	if !isOutage || ctx.Err() != nil {
		return false
	}
	x.endLine()
	say(x.shop.stderr, "the store does not respond as it should; waiting up to two minutes")
	patient, err := x.shop.patient()
	if err == nil {
		_, err = patient.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{PageSize: 1})
	}
	if err == nil {
		for _, err = range patient.Accounts.IDs(ctx, uuid.Nil) {
			break
		}
	}
	return err == nil
}

// patient returns a client for work that nobody waits for.
func (s *shop) patient() (*commerce.Client, error) {
	return s.With(commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: maxAttempts}))
}

// checkAny returns an error if there are subscriptions: a walk has found none, and FILE must not be
// replaced by an empty one.
func (x *export) checkAny(ctx context.Context) error {
	page, err := x.shop.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{PageSize: 1})
	if err == nil && len(page.Subscriptions) > 0 {
		err = errors.New("no account can be read, but there are subscriptions: the file of before stays")
	}
	return err
}

// goOn returns a printer that goes on where the state ends. It removes what was written after that,
// because it comes again.
func (x *export) goOn() (*printer, error) {
	_, err := x.part.Seek(x.Length, io.SeekStart)
	if err = errors.Join(err, x.part.Truncate(x.Length)); err != nil {
		return nil, err
	}
	x.shop.unknown = x.Unknown
	p := x.newPrinter(x.part, x.format)
	if p.n = x.Count; x.Length == 0 {
		p.begin(nil, x.first())
	}
	return p, nil
}

// mark writes what p holds, and notes in next what is in the part then.
func (x *export) mark(next *exportState, p *printer) error {
	if err := p.flush(); err != nil {
		return err
	}
	length, err := x.part.Seek(0, io.SeekCurrent)
	if err == nil {
		next.Count, next.Length, next.Unknown = p.n, length, x.shop.unknown
	}
	return err
}

// walk writes what is missing, and saves what is finished, also if it ends early.
func (x *export) walk(ctx context.Context) (err error) {
	if x.Done {
		return nil
	}
	next, saved := x.exportState, time.Now()
	p, err := x.goOn()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.save(next)) }()
	opts := &commerce.SubscriptionListOptions{
		ByAccount: true, After: x.Finished, Skip: x.Skipped, Concurrency: x.concurrency,
	}
	opts.Include.All = true
	read, unlisted := 0, 0
	for page, err := range x.shop.Subscriptions.Pages(ctx, opts) {
		stop, _ := errors.AsType[*commerce.PagingError](err)
		if next.Beyond = errors.Is(err, commerce.ErrOffsetLimit) && stop.Account == uuid.Nil; next.Beyond {
			break // after all that can be found
		}
		if err != nil {
			return err
		}
		records, err := x.records(ctx, x.shop, page)
		if err != nil {
			return err
		}
		read += len(page.Subscriptions)
		for _, r := range records {
			p.print(r)
		}
		if page.Unlisted {
			unlisted += len(records)
		}
		x.show(p.n)
		if page.Finished == uuid.Nil {
			continue // an account is written in part: no place to go on from
		}
		if err := x.mark(&next, p); err != nil {
			return err
		}
		next.Finished = page.Finished
		if time.Since(saved) > saveInterval {
			if err := x.save(next); err != nil {
				return err
			}
			saved = time.Now()
		}
	}
	if read == 0 && next.Finished == uuid.Nil {
		err = x.checkAny(ctx)
	}
	next.Unlisted = unlisted // not before: a run that goes on reads these again
	if err == nil {
		err = x.mark(&next, p)
	}
	next.Done = err == nil
	return err
}

func (x *export) sync() error {
	const warning = "fsync: after a crash of the machine, use --restart"
	return x.shop.ifKnown(x.shop.files.sync(x.part), warning, syscall.EINVAL)
}

// save makes next the state. The part is on the disk before the state says so.
func (x *export) save(next exportState) error {
	text, err := json.Marshal(next)
	if err = errors.Join(err, x.sync()); err != nil {
		return err
	}
	temporary := x.path + ".state.tmp"
	_ = os.Remove(temporary) // of a crash, or a link to another file
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	x.exportState = next
	return os.Rename(temporary, x.path+".state") // atomic: a crash leaves one of the two
}
