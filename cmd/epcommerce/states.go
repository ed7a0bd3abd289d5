package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
			c.account, err = parseUUID(text)
			return err
		})
		flags.StringVar(&c.file, "file", "", "those whose ids are in `FILE`, one a line")
		flags.BoolVar(&c.dryRun, "dry-run", false, "change nothing, only list what would be changed")
		cmd.MarkFlagsMutuallyExclusive("account", "file")
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
		l := &changes{environment: e, head: stateHead, none: stateThing(noSubscription)}
		if c.account != uuid.Nil {
			if err := c.addAccount(ctx, s, l); err != nil {
				return err
			}
		}
		for _, id := range ids {
			c.addID(ctx, s, l, id)
		}
		needed := 0
		for _, change := range l.list {
			if change.result == resultNotTried && change.ifDone == "" {
				needed++
			} else if c.dryRun {
				change.result = cmp.Or(change.ifDone, change.result)
			}
		}
		if c.dryRun {
			return errors.Join(l.print(e.stdout, e.output), l.finish(ctx, nil))
		}
		if needed > 0 {
			if err := l.ask(ctx, capital(c.verb)+" "+counted(needed, "subscription")+"?"); err != nil {
				return err
			}
		}
		return l.carryOut(ctx)
	}
}

// readIDs returns the ids that the command names, each once.
func (c *stateCommand) readIDs(e *environment, args []string) (ids []uuid.UUID, err error) {
	if (len(args) > 0) == (c.file != "" || c.account != uuid.Nil) {
		return nil, usagef("name subscriptions by their ids, by --file, or an account by --account")
	}
	if slices.Equal(args, []string{"-"}) {
		c.file = "-"
	}
	if c.file != "" {
		content, err := e.readFile(c.file)
		if args = strings.Fields(strings.TrimPrefix(string(content), "\uFEFF")); err != nil || len(args) == 0 {
			return nil, usagef("--file: %w", cmp.Or(err, errors.New("there are no ids")))
		}
	}
	for _, arg := range args {
		id, err := parseID(arg)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// addID adds the change of a subscription that was named.
func (c *stateCommand) addID(ctx context.Context, s *shop, l *changes, id uuid.UUID) {
	change := l.add(c.verb, resultNotTried, stateThing(s.newRecord(ctx, &commerce.Subscription{ID: id}, nil)))
	change.thing.lines = change.thing.lines[:1]
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

var stateHead = []row{
	columns([]int{10, 36, 12, 12}, append([]string{"RESULT"}, subscriptionHead[0].texts[:3]...)...), subscriptionHead[1],
}

const hasEnded = "canceled or closed: with --reopen they are resumed, and billed again"

// addFound adds a subscription to its change.
func (c *stateCommand) addFound(
	ctx context.Context, s *shop, change *change, sub *commerce.Subscription, included *commerce.Included,
) {
	change.thing = stateThing(s.newRecord(ctx, sub, included))
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

// stateThing returns the record of a subscription for changes.
func stateThing(r record) record {
	first := r.lines[0]
	r.lines = append([]row{columns(first.widths[:3], first.texts[:3]...)}, r.lines[1:]...)
	r.cells, r.object = []cell{r.cells[0], {"state_before", strings.Trim(r.cells[3].text, "-")}}, nil
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
