package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
)

// saveInterval is the time between two states: how much work a crash costs.
const saveInterval = 250 * time.Millisecond

// maxSkipped is the number of accounts that an export goes on without. If more cannot be read,
// probably none can.
const maxSkipped = 100

func newExportCommand(e *environment) *cobra.Command {
	concurrency, restart := 4, false
	cmd := &cobra.Command{
		Use:   "export FILE",
		Short: "Write all subscriptions of a store to a .jsonl or .csv file",
		Long: "Write all subscriptions of a store, of any size, to a .jsonl or .csv file. FILE.part becomes FILE\n" +
			"when it is complete. After an error, Ctrl-C or a crash, the same command goes on.",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().IntVar(&concurrency, "concurrency", concurrency, "`n` requests at a time, 1 to 16")
	cmd.Flags().BoolVar(&restart, "restart", false, "start over, instead of going on")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format := strings.TrimPrefix(strings.ToLower(filepath.Ext(args[0])), ".")
		if format != "jsonl" && format != "csv" {
			return usagef("FILE must end in .jsonl or .csv")
		}
		s, err := e.open()
		if err != nil {
			return err
		}
		file, err := openPart(args[0], exportState{Store: s.identity, Began: time.Now()}, restart)
		if err != nil {
			return err
		}
		x := &export{partFile: file, format: format, concurrency: concurrency, client: s.Client, bar: noProgress()}
		if file.state.Count > 0 {
			say(e.stderr, "going on after %d subscriptions, of %s; --restart starts over",
				file.state.Count, file.state.Began.Format(time.DateTime))
		}
		if e.stderrTerminal {
			x.bar = startProgress(e.stderr)
		}
		begin, had := time.Now(), file.state.Count
		err = x.run(cmd.Context())
		x.bar.stop()
		if err != nil {
			return x.explain(cmd.Context(), err)
		}
		took := time.Since(begin)
		say(e.stderr, "%d subscriptions in %v (%.0f a second) are in %s",
			x.total, took.Round(time.Millisecond), float64(x.total-had)/took.Seconds(), args[0])
		if skipped := x.state.Skipped; len(skipped) > 0 {
			return &exitError{exitUnfinished, fmt.Errorf("%s lacks the accounts that can't be read: %v", args[0], skipped)}
		}
		return nil
	}
	return cmd
}

// export is an export in progress.
type export struct {
	*partFile
	client      *commerce.Client
	format      string
	concurrency int
	bar         progress
	total       int // subscriptions in the file
}

// explain returns the error of an export that ended early.
func (x *export) explain(ctx context.Context, err error) error {
	if errors.Is(err, commerce.ErrInvalidArgument) {
		return err
	}
	code := exitUnfinished
	if ctx.Err() != nil {
		code = exitInterrupted
	}
	return &exitError{code, fmt.Errorf("%w\n  known: %d subscriptions are safe in %s.part\n  to do: run the same command to go on",
		err, x.state.Count, x.path)}
}

// run walks until all accounts are read, without those that cannot be read, and publishes the file.
func (x *export) run(ctx context.Context) error {
	for {
		err := x.walk(ctx)
		if err == nil {
			return x.publish()
		}
		stop, ok := errors.AsType[*commerce.PagingError](err)
		if !ok || stop.Account == uuid.Nil || len(x.state.Skipped) == maxSkipped {
			return errors.Join(err, x.Close())
		}
		x.state.Skipped = append(x.state.Skipped, stop.Account)
	}
}

// walk writes what is missing. It saves what is finished, also if it ends early.
func (x *export) walk(ctx context.Context) error {
	if err := x.rewind(); err != nil {
		return err
	}
	out := bufio.NewWriter(x)
	p := &printer[listed]{
		view: subscriptionView, format: x.format, out: out, csv: csv.NewWriter(out), n: x.state.Count,
	}
	next, err := x.write(ctx, p)
	x.total = p.n
	return errors.Join(err, x.save(next))
}

// write writes what is missing, and returns the state up to which it is in the file.
func (x *export) write(ctx context.Context, p *printer[listed]) (next exportState, err error) {
	next = x.state
	saved, had := time.Now(), p.n
	opts := &commerce.SubscriptionListOptions{
		Concurrency: x.concurrency, Include: commerce.SubscriptionInclude{All: true},
	}
	for page, err := range x.client.Subscriptions.PagesByAccount(ctx, x.accounts(ctx), opts) {
		if err != nil {
			return next, err
		}
		for i := range page.Subscriptions {
			if err := p.print(listed{&page.Subscriptions[i], &page.Included}); err != nil {
				return next, err
			}
		}
		x.bar.set(p.n - had)
		if page.Finished == uuid.Nil {
			continue // an account is written in part: no place to go on from
		}
		if err := p.flush(); err != nil {
			return next, err
		}
		length, err := x.Seek(0, io.SeekCurrent)
		if err != nil {
			return next, err
		}
		next.Finished, next.Count, next.Length = page.Finished, p.n, length
		if time.Since(saved) < saveInterval {
			continue
		}
		if err := x.save(next); err != nil {
			return next, err
		}
		saved = time.Now()
	}
	return next, p.end()
}

// accounts yields the accounts that are missing.
func (x *export) accounts(ctx context.Context) func(yield func(uuid.UUID, error) bool) {
	return func(yield func(uuid.UUID, error) bool) {
		for id, err := range x.client.Accounts.IDs(ctx, x.state.Finished) {
			if !slices.Contains(x.state.Skipped, id) && !yield(id, err) {
				return
			}
		}
	}
}
