package exhaustive_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// breaks records that a rule was broken.
func (w *world) breaks(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

// checkResend checks that a write that may take effect later is not sent again before Settle and a
// read, and that what was refused is not sent again.
func (c *call) checkResend(r *request) {
	if c.lastRead != nil {
		r.seen = c.lastRead.appliedAs
	}
	isReplayable := r.method == http.MethodDelete || r.path == cartPath
	if !r.isWrite() || isReplayable {
		return
	}
	for _, o := range c.requests {
		isEarly := c.lastRead == nil || c.lastRead.endedAt.Before(o.endedAt.Add(settle))
		switch {
		case !o.mayBecome(r) || o.status == http.StatusTooManyRequests:
		case o.hasRefused(r):
			c.breaks("%v was refused, and sent again", r)
		case c.isOnce || !strings.HasPrefix(r.path, cartPath):
			c.breaks("%v was sent again", r)
		case isEarly:
			c.breaks("%v was sent again before Settle and a read", r)
		}
	}
}

// mayBecome reports whether next does again what r may still do.
func (r *request) mayBecome(next *request) bool {
	if r.method != next.method || r.path != next.path {
		return false
	}
	isUnknown := r.status == 0 || r.status >= http.StatusInternalServerError
	return r.keys == nil && isUnknown && bytes.Equal(r.body, next.body) || slices.ContainsFunc(next.keys, r.has)
}

func (r *request) has(key string) bool { return slices.Contains(r.keys, key) }

// hasRefused reports whether the response to r showed the caller that something in next is refused
// for good.
func (r *request) hasRefused(next *request) bool {
	isRefused := func(key string) bool { return slices.Contains(r.refused, key) }
	isKnown := r.status != 0 && r.status < http.StatusInternalServerError && r.by.initial.IsEnabled
	return isKnown && slices.ContainsFunc(next.keys, isRefused)
}

// checkCopy checks that an add makes no second copy of a discount, unless the call could not know
// of the first one: an earlier add came late, or this one does, or another call wrote meanwhile.
func (w *world) checkCopy(r *request, before store) {
	for _, d := range before.Discounts {
		isShown := slices.ContainsFunc(w.states[r.seen].Discounts, func(o discount) bool { return o.ID == d.ID })
		mayCome := r.isLate || d.By != nil && (d.By.isLate || d.By.by != r.by && !w.hasLock)
		if d.Engine == engine && r.has(d.ExternalID) && (isShown || r.by.isOnce || !mayCome) {
			w.breaks("%v adds a copy", r)
		}
	}
}

// checkCalls checks what the calls returned.
func (w *world) checkCalls() {
	for _, c := range w.calls {
		if !c.isDead {
			c.checkOutcome()
			c.checkNil()
			c.checkFinal()
			c.checkResult()
		}
	}
}

// applied returns the writes of the call that took effect after the state with that number.
func (c *call) applied(after int) []*request {
	isNot := func(r *request) bool { return !r.isWrite() || r.appliedAs <= after }
	return slices.DeleteFunc(slices.Clone(c.requests), isNot)
}

func (c *call) checkOutcome() {
	applied, outcome := c.applied(0), commerce.OutcomeOf(c.err)
	isDoubtful := c.result != nil && len(c.result.InDoubt) > 0
	isSure := outcome == commerce.OutcomeApplied || outcome == commerce.OutcomePartial
	// If it was not alone, a copy of another call may be taken for its own.
	isLate := func(r *request) bool { return r.appliedAs > c.ended && r.keys != nil && len(c.calls) == 1 }
	switch {
	case outcome == commerce.OutcomeNotSent && slices.ContainsFunc(c.requests, (*request).isWrite):
		c.breaks("%s: not sent, but it wrote: %v", c.name, c.err)
	case outcome == commerce.OutcomeRejected && len(applied) > 0:
		c.breaks("%s: rejected, but %v was applied: %v", c.name, applied[0], c.err)
	case isSure && !isDoubtful && slices.ContainsFunc(applied, isLate):
		c.breaks("%s: nothing is in doubt, but an add was applied later: %v", c.name, c.err)
	case isDoubtful && c.err == nil && c.isSet:
		c.breaks("%s: no error, but something is in doubt", c.name)
	case c.isOnce && isSure && (len(applied) != 1 || c.added == nil):
		c.breaks("%s: %v, but it was applied %d times, with the result %v", c.name, outcome, len(applied), c.added)
	case c.isOnce && isSure && len(c.added.Added) != len(applied[0].keys)-len(applied[0].refused):
		c.breaks("%s: Added is %v after %v", c.name, c.added.Added, applied[0])
	}
}

// checkNil checks that without an error, the last read was as wanted. For a call that need not
// read, some state since it began must have been.
func (c *call) checkNil() {
	if c.err != nil || c.isOnce {
		return
	}
	switch {
	case c.isBlind && !c.wasRight():
		c.breaks("%s: no error, but the cart was never as wanted", c.name)
	case !c.isBlind && c.lastRead == nil:
		c.breaks("%s: no error, but it read nothing", c.name)
	case !c.isBlind && !c.isRight(c.states[c.lastRead.appliedAs]):
		c.breaks("%s: no error, but it read last: %v", c.name, c.states[c.lastRead.appliedAs])
	}
}

// wasRight reports whether some state since the call began was as wanted.
func (c *call) wasRight() bool {
	states := c.states[c.begun:]
	if c.isEnded {
		states = c.states[c.begun : c.ended+1]
	}
	return slices.ContainsFunc(states, c.isRight)
}

func (c *call) checkFinal() {
	if isFinal := commerce.IsFinal(c.err); isFinal && !c.isHopeless {
		c.breaks("%s: final, but the same call succeeds later: %v", c.name, c.err)
	}
	reads := 0
	for _, r := range c.requests {
		if r.path == cartPath && r.method == http.MethodGet && r.status == http.StatusOK {
			reads++
		}
	}
	if reads > 4 {
		c.breaks("%s: it read the cart %d times", c.name, reads)
	}
}

// checkResult checks that Added, Updated and Deleted are what the call did, if it was alone.
func (c *call) checkResult() {
	if c.result == nil || len(c.calls) > 1 {
		return
	}
	for method, list := range map[string][]commerce.CustomDiscount{
		http.MethodPost: c.result.Added, http.MethodPut: c.result.Updated, http.MethodDelete: c.result.Deleted,
	} {
		for _, d := range list {
			isOf := func(r *request) bool { return r.method == method && (r.isOf(d.ID) || r.has(d.ExternalID)) }
			if !slices.ContainsFunc(c.applied(0), isOf) {
				c.breaks("%s: the result names %s, which no %s changed", c.name, d.ExternalID, method)
			}
		}
	}
	if c.err != nil {
		return
	}
	for _, d := range c.states[c.lastRead.appliedAs].Discounts {
		isNamed := func(o commerce.CustomDiscount) bool { return o.ID == d.ID }
		if d.By != nil && !slices.ContainsFunc(c.result.Added, isNamed) {
			c.breaks("%s: Added does not name %s", c.name, d.ExternalID)
		}
	}
}

func (r *request) isOf(id uuid.UUID) bool { return strings.HasSuffix(r.path, id.String()) }

// checkEnd makes each call again, without faults, when everything has ended.
func (w *world) checkEnd() {
	w.faults = 0
	time.Sleep(time.Minute)
	for _, j := range w.jobs {
		if j.isOnce {
			continue
		}
		w.start(j, j.name+" at the end")
		w.run()
		c := w.calls[len(w.calls)-1]
		c.checkNil()
		c.checkOutcome()
		switch {
		case w.isHopeless && !commerce.IsFinal(c.err):
			w.breaks("%s: want a final error, got %v", c.name, c.err)
		case !w.isHopeless && (c.err != nil || !j.isRight(w.store)):
			w.breaks("%s: error %v, the cart is %v", c.name, c.err, w.store)
		}
	}
}
