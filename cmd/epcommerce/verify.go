package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/cmd/epcommerce/internal/verify"
)

var verdictWidths = []int{9, 5, 22, 38}

var verdictHead = []row{columns(verdictWidths, "VERDICT", "GRADE", "FACT", "OBSERVED")}

func verdictRecord(r verify.Result) record {
	lines := []row{columns(verdictWidths, string(r.Verdict), r.Grade, r.Fact, r.Observed)}
	if r.Verdict == verify.Differs || len(r.Observed) > verdictWidths[3] {
		lines = []row{columns(verdictWidths, string(r.Verdict), r.Grade, r.Fact, ""), text("  observed:   " + r.Observed)}
	}
	if r.Verdict == verify.Differs || r.Verdict == verify.Allowed {
		lines = append(lines, text("  documented: "+r.Documented))
	}
	return record{lines: lines, object: r, cells: []cell{
		{"verdict", string(r.Verdict)}, {"grade", r.Grade}, {"fact", r.Fact},
		{"documented", r.Documented}, {"observed", r.Observed},
	}}
}

func newVerifyCommand(e *environment) *cobra.Command {
	o, file := verify.Options{}, ""
	short := "Ask the store whether docs/service.md is right about it"
	cmd := e.command("verify", short, func(ctx context.Context, s *shop, _ []string) error {
		if err := o.Validate(); err != nil {
			return usagef("%w", err)
		}
		return s.verify(ctx, o, file)
	})
	cmd.Long = short + `.
It asks in carts of its own, and deletes them at the end, after Ctrl-C too. It
changes no settings. It sends at most 20 requests a second, and 300 in all. It
prints statuses, names of members and what it sent, and nothing of the store.`
	cmd.Example = "  epcommerce verify --report report.md\n  epcommerce verify --only f-cart-limit,f-item-limit"
	flags := cmd.Flags()
	flags.StringVar(&file, "report", "", "write the report to `FILE` too, in Markdown")
	flags.StringSliceVar(&o.Only, "only", nil, "ask only about these facts, such as `f-add`, and what they need")
	flags.StringVar(&o.Promotion, "promotion", "", "ask how a promotion shows: the `CODE` of one for any cart")
	flags.StringVar(&o.Currency, "currency", "", "ask about carts in a currency: a `CODE` that is not the default")
	flags.BoolVar(&o.Shipping, "shipping", false, "ask about shipping, if all carts of the store have it")
	flags.StringVar(&o.Subscription, "subscription", "", "pause and resume the subscription with this `ID`, for tests")
	flags.BoolVar(&o.Destroy, "destroy", false, "then cancel the subscription immediately: this cannot be undone")
	flags.IntVar(&o.Burst, "burst", 0, "send `N` requests at once, to see a refusal")
	e.addYes(flags)
	complete(cmd, "only", verify.Names()...)
	return cmd
}

// verify asks the store, prints the results and writes the report.
func (s *shop) verify(ctx context.Context, o verify.Options, file string) error {
	if o.Only != nil && len(o.Only) == 0 {
		return usagef("--only must name a fact")
	}
	if file != "" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return usagef("%w", err)
		}
		_ = f.Close()
	}
	host := s.address
	if u, err := url.Parse(s.address); err == nil {
		host = u.Host
	}
	question := fmt.Sprintf("Create up to %d carts at %s, and delete them?", o.Carts(), plain(host))
	switch {
	case o.Destroy:
		question = fmt.Sprintf("Cancel subscription %s. %s", o.Subscription, question)
	case o.Subscription != "":
		question = fmt.Sprintf("Pause and resume subscription %s. %s", o.Subscription, question)
	}
	if err := s.confirm(ctx, question, "--yes"); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // the carts must be deleted, also if nobody reads the results
	p := s.newPrinter(verdictHead, verdictRecord(verify.Result{}))
	o.Interrupted = func(carts []string) {
		say(s.stderr, "deleting %d carts, in 30 s at most; Ctrl-C again leaves\n%s", len(carts), strings.Join(carts, "\n"))
	}
	report, err := verify.Run(ctx, s.Client, s.transport, o, func(r verify.Result) {
		p.print(verdictRecord(r))
		if s.output == "table" {
			_ = p.flush() // end returns the error
		}
	})
	if err != nil {
		return err
	}
	for _, left := range report.Left {
		say(s.stderr, "left in the store: %s", left)
	}
	if file != "" {
		text := report.Markdown("epcommerce " + commerce.Version)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := p.end(); err != nil {
		return err
	}
	return s.concluded(report)
}

// concluded says what a report shows, and returns the error with the exit code.
func (s *shop) concluded(r *verify.Report) error {
	text := fmt.Sprintf("%d same, %d allowed, %d differ, %d not asked; %d requests in %.0f s",
		r.Count(verify.Same), r.Count(verify.Allowed), r.Count(verify.Differs), r.Count(verify.NotAsked),
		r.Requests, r.Took.Seconds())
	code := 0
	switch {
	case r.Interrupted:
		text, code = "interrupted: "+text, exitInterrupted
	case r.Count(verify.Differs) > 0, len(r.Left) > 0:
		code = exitFailed
	case r.Unasked() > 0:
		code = exitUnfinished
	}
	if code == 0 {
		say(s.stderr, "%s", text)
		return nil
	}
	return &exitError{code: code, err: errors.New(text)}
}
