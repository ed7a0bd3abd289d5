package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
)

// stateCommand changes the state of subscriptions.
type stateCommand struct {
	change  commerce.StateChange
	verb    string
	account uuid.UUID
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
		cmd.Use, cmd.Args = c.verb+" [ID...]", cobra.ArbitraryArgs
		cmd.Example = "  epcommerce subscriptions " + c.verb + " ID\n" +
			"  epcommerce subscriptions " + c.verb + " --account ID --dry-run"
		flags := cmd.Flags()
		flags.Func("account", "all of the account with this `id`", func(text string) (err error) {
			c.account, err = uuid.Parse(text)
			return err
		})
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

// run changes those that need it, after a question. It goes on after an error: the others may
// succeed. EnsureState also looks at those that seem to be done: a flag that is absent looks like
// false.
func (c *stateCommand) run(e *environment) func(context.Context, *shop, []string) error {
	return func(ctx context.Context, s *shop, args []string) error {
		p := e.newPrinter(subscriptionHead, noSubscription)
		var ids []uuid.UUID
		left, ended := map[uuid.UUID]bool{}, 0 // those that need the change
		errRest, err := c.each(ctx, s, args, func(sub *commerce.Subscription, included *commerce.Included) {
			if c.isEnded(&sub.Meta) {
				ended++
				return
			}
			ids = append(ids, sub.ID)
			if !c.isDone(&sub.Meta) {
				left[sub.ID] = true
				p.print(s.newRecord(ctx, sub, included))
			}
		})
		if err = errors.Join(err, p.end()); err != nil {
			return err
		}
		text := counted(ended, "subscription") + " canceled or closed: with --reopen they are resumed, and billed again"
		switch {
		case ended > 0 && c.account != uuid.Nil: // they were not named
			say(e.stderr, "%s", text)
		case ended > 0:
			errRest = errors.Join(errRest, errors.New(text))
		case c.account != uuid.Nil && len(ids) == 0:
			say(e.stderr, "the account %s has no subscriptions", c.account)
		}
		if c.dryRun && len(left) == 0 && errRest == nil {
			say(e.stderr, "nothing to do")
		}
		if c.dryRun || len(ids) == 0 && errRest != nil {
			return errRest
		}
		if len(left) > 0 {
			question := fmt.Sprintf("%s %s?", capital(c.verb), counted(len(left), "subscription"))
			if err := e.confirm(ctx, question, "--yes"); err != nil {
				return err
			}
		}
		if err := c.ensure(ctx, s, ids, left); err != nil || errRest == nil {
			return err
		}
		return &exitError{code: exitUnfinished, err: errRest}
	}
}

// ensure changes subscriptions, of which some are left.
func (c *stateCommand) ensure(ctx context.Context, s *shop, ids []uuid.UUID, left map[uuid.UUID]bool) error {
	done, failed := 0, error(nil)
	for _, id := range ids {
		_, err := s.Subscriptions.EnsureState(ctx, id, c.change)
		if err == nil {
			if done++; left[id] {
				s.done++
			}
			continue
		}
		say(s.stderr, "%s: %s", id, s.describe(err))
		if failed = errors.Join(failed, err); ctx.Err() != nil {
			break
		}
	}
	if len(left) == 0 && failed == nil {
		say(s.stderr, "nothing to do")
		return nil
	}
	say(s.stderr, "%d of %d done", done, len(ids))
	return s.unfinished(failed, "not all are done")
}

// each calls f once with each of the subscriptions that the command names. missing says which do
// not exist.
func (c *stateCommand) each(
	ctx context.Context, s *shop, args []string, f func(*commerce.Subscription, *commerce.Included),
) (missing, err error) {
	if (len(args) > 0) == (c.account != uuid.Nil) {
		return nil, usagef("name subscriptions by their ids, or an account by --account")
	}
	seen := map[uuid.UUID]bool{}
	for _, arg := range args {
		id, err := parseID(arg)
		if err != nil {
			return nil, err
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		result, err := s.Subscriptions.Get(ctx, id, commerce.SubscriptionInclude{All: true})
		switch {
		case errors.Is(err, commerce.ErrNotFound) && commerce.IsFinal(err): // the service says so
			missing = errors.Join(missing, fmt.Errorf("there is no subscription %s", id))
		case err != nil:
			return nil, err
		default:
			f(&result.Subscription, &result.Included)
		}
	}
	if c.account == uuid.Nil {
		return missing, nil
	}
	opts := &commerce.SubscriptionListOptions{Include: commerce.SubscriptionInclude{All: true}}
	opts.Filter.AccountIDs = []uuid.UUID{c.account}
	for page, err := range s.Subscriptions.Pages(ctx, opts) {
		if err != nil {
			return nil, err
		}
		for i := range page.Subscriptions {
			f(&page.Subscriptions[i], &page.Included)
		}
	}
	return nil, nil
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
