package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
)

// saveInterval is the time between two states: how much work a crash costs.
const saveInterval = 250 * time.Millisecond

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
	show        func(n int) // shows the number of subscriptions in the part
	total       int         // subscriptions in the part
}

// exportState says where an export goes on. It is the content of FILE.state.
type exportState struct {
	Store    string      // as in shop
	Content  string      // the selection
	Finished uuid.UUID   // the part has all subscriptions up to this account
	Length   int64       // of the part, in bytes
	Count    int         // of subscriptions
	Skipped  []uuid.UUID // accounts that cannot be read
}

func newExportCommand(e *environment) *cobra.Command {
	x := &export{concurrency: 4}
	restart, resume := false, false
	short := "Write all subscriptions to a .jsonl or .csv file, or to -"
	cmd := e.command("export FILE", short, func(ctx context.Context, s *shop, args []string) error {
		x.shop, x.path, x.format = s, args[0], strings.TrimPrefix(filepath.Ext(args[0]), ".")
		if x.path == "-" {
			return x.stream(ctx, e)
		}
		if x.concurrency < 1 || x.concurrency > 16 {
			return usagef("--concurrency must be 1 to 16")
		}
		if x.format != "jsonl" && x.format != "csv" {
			return usagef("FILE must end in .jsonl or .csv, or be - for standard output")
		}
		if err := x.check(x.format); err != nil {
			return err
		}
		x.exportState = exportState{Store: s.identity, Content: fmt.Sprint(x.selection)}
		if err := x.open(restart); err != nil {
			return err
		}
		defer x.unlock()
		again := "the same command goes on"
		if !s.identified {
			again = "the same command with --resume goes on"
		}
		if x.Length > 0 {
			if !s.identified {
				question := "A token does not say which store it is for. Is this the same store?"
				if err := e.confirm(ctx, resume, question, "--resume, or --restart"); err != nil {
					return err
				}
			}
			say(e.stderr, "going on after %d subscriptions; --restart starts over", x.Count)
		}
		shown := time.Now()
		x.show = func(n int) { // for a log
			if time.Since(shown) >= 10*time.Second {
				shown = time.Now()
				say(e.stderr, "%d subscriptions so far", n)
			}
		}
		if e.stderrTerminal {
			bar := progressbar.NewOptions(-1, // the service returns no total
				progressbar.OptionSetWriter(e.stderr), progressbar.OptionSetDescription("exporting"),
				progressbar.OptionShowCount(), progressbar.OptionShowTotalBytes(false), progressbar.OptionShowIts(),
				progressbar.OptionSetItsString("subscriptions"),
				progressbar.OptionSetSpinnerChangeInterval(0), // else a goroutine that never ends draws it
				progressbar.OptionThrottle(50*time.Millisecond), progressbar.OptionClearOnFinish())
			x.show = func(n int) { _ = bar.Set(n) } // a terminal that was closed must not stop the export
			defer func() { _ = bar.Finish() }()
		}
		if err := x.run(ctx); err != nil {
			code := exitUnfinished
			if ctx.Err() != nil {
				code, err = exitInterrupted, errors.New("interrupted")
			}
			return &exitError{code, fmt.Errorf("%w\n  known: %d subscriptions are safe in %s; %s",
				err, x.Count, x.part.Name(), again)}
		}
		say(e.stderr, "%d subscriptions are in %s", x.total, x.path)
		if len(x.Skipped) > 0 {
			return &exitError{exitUnfinished, fmt.Errorf("%s lacks the accounts that can't be read: %v", x.path, x.Skipped)}
		}
		return nil
	})
	cmd.Long = short + ", the standard output.\nFILE.part becomes FILE when it is complete. " +
		"After an error, Ctrl-C or a crash,\nthe same command goes on."
	cmd.Flags().IntVar(&x.concurrency, "concurrency", x.concurrency, "`n` requests at a time, 1 to 16")
	cmd.Flags().BoolVar(&restart, "restart", false, "start over, instead of going on")
	cmd.Flags().BoolVar(&resume, "resume", false, "with COMMERCE_TOKEN: go on, the store is that of the run before")
	x.addFlags(cmd)
	cmd.Example = "  epcommerce subscriptions export subs.csv --subscribers\n" +
		"  epcommerce subscriptions export - --state active | wc -l"
	return cmd
}

// stream writes to standard output. There is nothing to go on from.
func (x *export) stream(ctx context.Context, e *environment) error {
	if e.output == "table" {
		e.output = "jsonl"
	}
	if err := x.check(e.output); err != nil {
		return err
	}
	p := x.newPrinter(e.printable(), e.output)
	p.begin(nil, x.first())
	for page, err := range x.pages(ctx, x.shop.Accounts.IDs(ctx, uuid.Nil)) {
		if err == nil {
			err = x.print(ctx, p, page)
		}
		if err = cmp.Or(err, p.flush()); err != nil {
			return &exitError{exitUnfinished, fmt.Errorf("after %d subscriptions: %w", p.n, err)}
		}
	}
	return p.end()
}

// pages returns the pages of the subscriptions of accounts.
func (x *export) pages(
	ctx context.Context, accounts iter.Seq2[uuid.UUID, error],
) iter.Seq2[*commerce.SubscriptionPage, error] {
	opts := &commerce.SubscriptionListOptions{Concurrency: x.concurrency}
	opts.Include.All = true
	return x.shop.Subscriptions.PagesByAccount(ctx, accounts, opts)
}

// print prints what is selected of a page.
func (x *export) print(ctx context.Context, p *printer, page *commerce.SubscriptionPage) error {
	records, err := x.records(ctx, x.shop, page)
	for _, r := range records {
		p.print(r)
	}
	return err
}

// open opens the part, and reads the state of an earlier run, if there is one. If it returns no
// error, unlock must be called.
func (x *export) open(restart bool) (err error) {
	x.lock = flock.New(x.path+".lock", flock.SetPermissions(0o600))
	if locked, err := x.lock.TryLock(); err != nil {
		return err
	} else if !locked {
		return usagef("another export writes %s", x.path)
	}
	if err = x.openPart(restart); err != nil {
		x.unlock()
	}
	return err
}

// unlock lets another run write. The file goes first: nobody may lock a file that is removed then.
func (x *export) unlock() {
	_ = os.Remove(x.lock.Path()) // Windows refuses: the file stays, and is no obstacle
	_ = x.lock.Unlock()
}

func (x *export) openPart(restart bool) (err error) {
	if restart { // before anything is written to the part
		if err := os.Remove(x.path + ".state"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// Only the owner can read it, as it holds data of customers.
	if x.part, err = os.OpenFile(x.path+".part", os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	link, err1 := os.Lstat(x.part.Name())
	opened, err2 := x.part.Stat()
	if err := errors.Join(err1, err2, x.part.Chmod(0o600)); err != nil {
		return err
	}
	if !os.SameFile(link, opened) {
		return usagef("%s must not be a symbolic link", x.part.Name())
	}
	text, err := os.ReadFile(x.path + ".state")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	store, content := x.Store, x.Content
	if err == nil {
		err = json.Unmarshal(text, &x.exportState)
	}
	if err == nil && (x.Store != store || x.Content != content || opened.Size() < x.Length) {
		err = errors.New("it belongs to another store, another part, or other flags")
	}
	if err != nil {
		return usagef("%s.state can't be used: %w\n  to do: use another FILE, or --restart", x.path, err)
	}
	return nil
}

// run walks until all accounts are read, without those that cannot be read, and publishes the file.
func (x *export) run(ctx context.Context) error {
	var failed uuid.UUID // the account that failed in the walk before
	for {
		err := x.walk(ctx)
		stop, ok := errors.AsType[*commerce.PagingError](err)
		switch {
		case err == nil:
			// The state goes first: without a part it would stop the next run.
			if err := errors.Join(x.part.Close(), os.Remove(x.path+".state")); err != nil {
				return err
			}
			return os.Rename(x.part.Name(), x.path)
		case !ok || stop.Account == uuid.Nil || len(x.Skipped) == maxSkipped:
			return errors.Join(err, x.part.Close())
		case failed != stop.Account && !errors.Is(err, commerce.ErrOffsetLimit):
			failed = stop.Account // once more: the error may pass
			continue
		}
		x.Skipped = append(x.Skipped, stop.Account)
	}
}

// walk writes what is missing, and saves what is finished, also if it ends early. It removes what
// was written after the state, because that comes again.
func (x *export) walk(ctx context.Context) (err error) {
	next, saved := x.exportState, time.Now()
	_, err = x.part.Seek(x.Length, io.SeekStart)
	if err = errors.Join(err, x.part.Truncate(x.Length)); err != nil {
		return err
	}
	p := x.newPrinter(x.part, x.format)
	if p.n = x.Count; x.Length == 0 {
		p.begin(nil, x.first())
	}
	defer func() {
		x.total, err = p.n, errors.Join(err, x.save(next))
	}()
	from, skipped := x.Finished, x.Skipped // the walk reads accounts ahead, while save changes x
	accounts := func(yield func(uuid.UUID, error) bool) {
		for id, err := range x.shop.Accounts.IDs(ctx, from) {
			if !slices.Contains(skipped, id) && !yield(id, err) {
				return
			}
		}
	}
	for page, err := range x.pages(ctx, accounts) {
		if err != nil {
			return err
		}
		if err := x.print(ctx, p, page); err != nil {
			return err
		}
		x.show(p.n)
		if page.Finished == uuid.Nil {
			continue // an account is written in part: no place to go on from
		}
		if err := p.flush(); err != nil {
			return err
		}
		next.Finished, next.Count = page.Finished, p.n
		if next.Length, err = x.part.Seek(0, io.SeekCurrent); err != nil {
			return err
		}
		if time.Since(saved) > saveInterval {
			if err := x.save(next); err != nil {
				return err
			}
			saved = time.Now()
		}
	}
	return p.end()
}

// save makes next the state. The part is on the disk before the state says so.
func (x *export) save(next exportState) error {
	text, err := json.Marshal(next)
	if err = errors.Join(err, x.part.Sync()); err != nil {
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
