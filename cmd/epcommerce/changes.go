package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/commerce-go/commerce"
)

// change is what a command wants of one thing, and what became of it.
type change struct {
	wanted string // such as cancel
	result string // one of results
	err    error  // why it is not done
	thing  record // with members as its object
	do     func() error
	ifDone string // the result of a success, if it is not done
}

// The results of changes.
const (
	resultDone      = "done"
	resultUnchanged = "unchanged" // it was so before
	resultFailed    = "failed"
	resultInDoubt   = "in doubt" // it may have been made, or may be made later
	resultNotTried  = "not tried"
	resultUnknown   = "unknown id"
)

var results = []string{resultDone, resultUnchanged, resultFailed, resultInDoubt, resultNotTried, resultUnknown}

// end sets what became of a change that was tried, from its error.
func (c *change) end(err error) {
	c.err, c.result = err, resultFailed
	outcome := commerce.OutcomeOf(err)
	switch {
	case err == nil:
		c.result = cmp.Or(c.ifDone, resultDone)
	case !is[*commerce.Error](err):
	case outcome == commerce.OutcomeUnknown || outcome == commerce.OutcomeUnreadable:
		c.result = resultInDoubt
	case errors.Is(err, context.Canceled) && (outcome == commerce.OutcomeNotSent || outcome == commerce.OutcomeNone):
		c.err, c.result = nil, resultNotTried
	}
}

// changes are all changes of a command.
type changes struct {
	*environment
	head []row
	none record // a thing without values, which has the columns
	list []*change
}

// add adds a change, and returns it.
func (l *changes) add(wanted, result string, thing record) *change {
	c := &change{wanted: wanted, result: result, thing: thing}
	l.list = append(l.list, c)
	return c
}

// recordOf returns how a change is printed.
func (l *changes) recordOf(c *change) record {
	r, message, todo := record{lines: slices.Clone(c.thing.lines)}, "", ""
	if len(r.lines) > 0 {
		first := r.lines[0]
		r.lines[0] = columns(append([]int{10}, first.widths...), append([]string{c.result}, first.texts...)...)
	}
	if c.err != nil {
		message, todo = l.describe(c.err), l.advice(c.err)
		if r.lines = append(r.lines, text("  "+message)); todo != "" {
			r.lines = append(r.lines, text("  to do: "+todo))
		}
	}
	todo, command := todoParts(todo)
	about := []cell{{"wanted", c.wanted}, {"result", c.result}, {"error", message}, {"todo", todo}, {"command", command}}
	r.cells = slices.Concat(about[:2], c.thing.cells, about[2:])
	if r.object = c.thing.object; r.object != nil {
		object := membersOf(about)
		maps.Copy(object, c.thing.object.(members))
		r.object = object
	}
	return r
}

func (l *changes) printer(w io.Writer, format string) *printer {
	return l.begin(newPrinter(w, format), l.head, l.recordOf(&change{thing: l.none}))
}

// print writes all changes as they are.
func (l *changes) print(w io.Writer, format string) error {
	p := l.printer(w, format)
	for _, c := range l.list {
		p.print(l.recordOf(c))
	}
	return p.end()
}

// ask shows the changes and asks whether to make them, unless a flag says yes.
func (l *changes) ask(ctx context.Context, question string) error {
	if l.canAsk() && !l.yes {
		if err := l.print(l.stderr, "table"); err != nil {
			return err
		}
	}
	return l.confirm(ctx, question, "--yes")
}

// carryOut makes the changes that were not tried, one after the other, and prints what became of
// each as soon as it is known. It goes on after an error, but not if nobody can read its output.
func (l *changes) carryOut(ctx context.Context) error {
	signal.Ignore(syscall.SIGPIPE) // as with a full disk, what became of the rest is said
	p, broken := l.printer(l.stdout, l.output), error(nil)
	for _, c := range l.list {
		if c.result == resultNotTried && ctx.Err() == nil && broken == nil {
			c.end(c.do())
		}
		p.print(l.recordOf(c))
		broken = cmp.Or(broken, p.flush())
	}
	return l.finish(ctx, cmp.Or(broken, p.end()))
}

// finish says how many changes have each result, and returns the error of the command. broken is
// that of the output.
func (l *changes) finish(ctx context.Context, broken error) error {
	counts, causes := map[string]int{}, error(nil)
	for _, c := range l.list {
		counts[c.result]++
		causes = errors.Join(causes, c.err)
	}
	var texts []string
	for _, result := range results {
		if n := counts[result]; n > 0 {
			texts = append(texts, fmt.Sprint(n, " ", result))
		}
	}
	l.done = counts[resultDone]
	end := &exitError{err: causes, text: strings.Join(texts, ", ")}
	switch {
	case broken != nil:
		_ = l.print(l.stderr, "table") // nobody has read it
		say(l.stderr, "%s", end.text)
		if l.done+counts[resultInDoubt] > 0 {
			broken = &exitError{code: exitUnfinished, err: broken}
		}
		return broken
	case counts[resultInDoubt] > 0, causes != nil && l.done > 0 && ctx.Err() == nil:
		end.code = exitUnfinished
	case ctx.Err() != nil && counts[resultNotTried] > 0:
		end.code, end.err, end.text = exitInterrupted, errors.Join(causes, ctx.Err()), "interrupted: "+end.text
	case causes != nil:
	case counts[resultUnchanged] == len(l.list):
		say(l.stderr, "nothing to do")
		return nil
	case counts[resultNotTried] == 0: // otherwise it is a plan
		say(l.stderr, "%s", end.text)
		return nil
	default:
		return nil
	}
	return end
}

// todoParts returns what to do, and the command that does it, of an advice.
func todoParts(todo string) (text, command string) {
	text, command, _ = strings.Cut(todo, "\n    ")
	return strings.Join(strings.Fields(text), " "), command
}
