package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
)

// stateCommand changes the state of subscriptions.
type stateCommand struct {
	change  commerce.StateChange
	verb    string
	account uuid.UUID
	file    string // with ids
	dryRun  bool
}

func newStateCommands(e *environment) []*cobra.Command {
	var commands []*cobra.Command
	for _, c := range []*stateCommand{
		{verb: "cancel", change: commerce.StateChange{Action: commerce.ActionCancel}},
		{verb: "pause", change: commerce.StateChange{Action: commerce.ActionPause}},
		{verb: "resume", change: commerce.StateChange{Action: commerce.ActionResume}},
	} {
		short := "Make sure that subscriptions are " + map[string]string{
			"cancel": "canceled", "pause": "paused", "resume": "neither paused nor suspended",
		}[c.verb]
		cmd := e.command(c.verb, short, c.run(e))
		cmd.Use, cmd.Args = c.verb+" [ID... | -]", cobra.ArbitraryArgs
		cmd.Example = "  epcommerce subscriptions " + c.verb + " ID\n" +
			"  epcommerce subscriptions " + c.verb + " --account ID --dry-run"
		flags := cmd.Flags()
		flags.Func("account", "all of the account with this `id`", func(text string) (err error) {
			c.account, err = uuid.Parse(text)
			return err
		})
		flags.StringVar(&c.file, "file", "", "those whose ids are in `FILE`, one a line")
		flags.BoolVar(&c.dryRun, "dry-run", false, "change nothing, only list what would be changed")
		e.addYes(flags)
		if c.verb == "cancel" {
			flags.BoolVar(&c.change.CancelImmediately, "immediately", false, "end them now, not with their billing period")
		}
		if c.verb == "resume" {
			flags.BoolVar(&c.change.Reopen, "reopen", false, "also those that are canceled or closed: they are billed again")
		}
		commands = append(commands, cmd)
	}
	return commands
}

// run changes those that need it, after a question. EnsureState also looks at those that seem to be
// done: a flag that is absent looks like false.
func (c *stateCommand) run(e *environment) func(context.Context, *shop, []string) error {
	return func(ctx context.Context, s *shop, args []string) error {
		ids, err := c.readIDs(e, args)
		if err != nil {
			return err
		}
		l := &changes{environment: e, head: stateHead, none: stateRecord("", noSubscription, nil)}
		if c.account != uuid.Nil {
			err = c.addAccount(ctx, s, l)
		}
		for _, id := range ids {
			c.addID(ctx, s, l, id)
		}
		if err != nil {
			return err
		}
		needed := 0
		for _, change := range l.list {
			if change.result == resultNotTried && change.ifDone == "" {
				needed++
			}
		}
		if c.dryRun {
			for _, change := range l.list {
				change.result = cmp.Or(change.ifDone, change.result)
			}
			return errors.Join(l.print(e.stdout, e.output), l.finish(ctx, nil))
		}
		if needed > 0 {
			question := fmt.Sprintf("%s %s?", capital(c.verb), counted(needed, "subscription"))
			if err := l.ask(ctx, question); err != nil {
				return err
			}
		}
		return l.carryOut(ctx)
	}
}

// readIDs returns the ids that the command names, each once.
func (c *stateCommand) readIDs(e *environment, args []string) (ids []uuid.UUID, err error) {
	ways := 0
	for _, is := range []bool{len(args) > 0, c.file != "", c.account != uuid.Nil} {
		if is {
			ways++
		}
	}
	if ways != 1 {
		return nil, usagef("name subscriptions by their ids, by --file, or an account by --account")
	}
	if slices.Equal(args, []string{"-"}) {
		c.file, args = "-", nil
	}
	where := ""
	if c.file != "" {
		content, err := e.readFile(c.file)
		if err != nil {
			return nil, usagef("--file: %w", err)
		}
		args, where = strings.Split(strings.TrimPrefix(string(content), "\uFEFF"), "\n"), "line %d: "
	}
	for i, arg := range args {
		if arg = strings.TrimSpace(arg); arg == "" && where != "" {
			continue
		}
		id, err := parseID(arg)
		if err != nil && where != "" {
			err = usagef(where+"%w", i+1, err)
		}
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 && c.account == uuid.Nil {
		return nil, usagef("there are no ids")
	}
	return ids, nil
}

// addID adds the change of a subscription that was named.
func (c *stateCommand) addID(ctx context.Context, s *shop, l *changes, id uuid.UUID) {
	change := l.add(c.verb, resultNotTried, stateRecord(id.String(), record{}, nil))
	if ctx.Err() != nil {
		return
	}
	found, err := s.Subscriptions.Get(ctx, id, commerce.SubscriptionInclude{All: true})
	switch {
	case errors.Is(err, commerce.ErrNotFound) && commerce.IsFinal(err): // the service says so
		change.result, change.err = resultUnknown, fmt.Errorf("there is no subscription %s", id)
	case err != nil:
		change.end(err)
	default:
		c.addFound(ctx, s, change, &found.Subscription, &found.Included)
	}
}

// addAccount adds the changes of the subscriptions of an account, without those that have ended.
func (c *stateCommand) addAccount(ctx context.Context, s *shop, l *changes) error {
	opts := &commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{All: true}}
	opts.Filter.AccountIDs = []uuid.UUID{c.account}
	ended := 0
	for page, err := range s.Subscriptions.Pages(ctx, opts) {
		if err != nil {
			return err
		}
		for i := range page.Subscriptions {
			if sub := &page.Subscriptions[i]; c.isEnded(&sub.Meta) {
				ended++
			} else {
				c.addFound(ctx, s, l.add(c.verb, resultNotTried, record{}), sub, &page.Included)
			}
		}
	}
	switch {
	case ended > 0:
		say(s.stderr, "%s %s", counted(ended, "subscription"), hasEnded)
	case len(l.list) == 0:
		say(s.stderr, "the account %s has no subscriptions", c.account)
	}
	return nil
}

const hasEnded = "canceled or closed: with --reopen they are resumed, and billed again"

// addFound adds a subscription to its change.
func (c *stateCommand) addFound(
	ctx context.Context, s *shop, change *change, sub *commerce.Subscription, included *commerce.Included,
) {
	change.thing = stateRecord(id(sub.ID), s.newRecord(ctx, sub, included), &sub.Meta)
	change.do = func() error {
		_, err := s.Subscriptions.EnsureState(ctx, sub.ID, c.change)
		return err
	}
	switch {
	case c.isEnded(&sub.Meta):
		change.result, change.err = resultFailed, errors.New("it is "+hasEnded)
	case c.isDone(&sub.Meta):
		change.ifDone = resultUnchanged
	}
}

var stateHead = []row{
	columns([]int{10, 36, 12, 14}, "RESULT", "ID", "STATE BEFORE", "ENDS"), subscriptionHead[1],
}

// stateRecord returns how a subscription is printed in changes. meta is nil if it was not read.
func stateRecord(id string, of record, meta *commerce.SubscriptionMeta) record {
	before, ends := "", ""
	if meta != nil {
		before, ends = state(meta), at(meta.Timestamps.EndDate, time.DateOnly)
	}
	r := record{object: members{"id": id, "state_before": before}, cells: []cell{{"id", id}, {"state_before", before}}}
	r.lines = []row{columns([]int{36, 12, 14}, id, before, ends)}
	if meta != nil {
		r.lines = append(r.lines, of.lines[1:]...)
	}
	return r
}

// isDone reports whether a subscription seems to have the state already.
func (c *stateCommand) isDone(m *commerce.SubscriptionMeta) bool {
	switch c.change.Action {
	case commerce.ActionCancel:
		isInactive := m.Status == "inactive" && !m.Paused
		return m.Canceled && (m.Closed || isInactive || !c.change.CancelImmediately)
	case commerce.ActionPause:
		return m.Paused
	default:
		return !m.Canceled && !m.Paused && !m.Suspended && !m.Closed
	}
}

// isEnded reports whether EnsureState does not resume a subscription.
func (c *stateCommand) isEnded(m *commerce.SubscriptionMeta) bool {
	return c.change.Action == commerce.ActionResume && !c.change.Reopen && (m.Canceled || m.Closed)
}
