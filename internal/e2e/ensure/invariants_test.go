package ensure_test

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// broken returns which rules of EnsureCustomDiscounts a call broke, and how, by the log of the
// server.
func (c *madeCall) broken(s *cartServer) map[string]string {
	c.readLog(s)
	rules := map[string]func() string{
		"nil only if the last read was as wanted":         c.falseNil,
		"no foreign discount touched":                     func() string { return c.touched(s) },
		"no resend before Settle":                         c.earlyResend,
		"what was refused is not sent again":              c.refusedResend,
		"four reads at most":                              c.excessReads,
		"Rejected and NotSent only if nothing changed":    c.falseRefusal,
		"with AllOrNothing all that is missing is posted": c.partOfAll,
		"each wanted discount is in the result":           func() string { return c.unaccounted(s) },
	}
	if c.isAlone {
		rules["Added, Updated and Deleted are true"] = c.falseReport
		rules["in doubt only what may change"] = c.falseDoubt
		rules["in doubt what may change"] = c.missingDoubt
		rules["ErrDifferent only if nobody tried"] = c.falseDifferent
	}
	broken := map[string]string{}
	for rule, check := range rules {
		if text := check(); text != "" {
			broken[rule] = text
		}
	}
	return broken
}

// readLog finds the exchanges of the call, and whether it was alone.
func (c *madeCall) readLog(s *cartServer) {
	c.isAlone = len(c.scenario.Callers) == 1
	for _, e := range s.log {
		if e.Call == c.Number {
			c.exchanges = append(c.exchanges, e)
		}
		if e.Call < c.Number && e.isWrite() && e.AppliedAt.Add(s.Lag).After(c.Started) {
			c.isAlone = false // a write of an earlier call appears during this one
		}
	}
}

// lastRead returns the last read of the cart before exchange n that reached the caller. If the read
// took a second request, for the items, that one reached the caller too. If there was none, it
// returns one that shows nothing.
func (c *madeCall) lastRead(n int) *exchange {
	last, read, before := &exchange{}, &exchange{}, &exchange{}
	for _, e := range c.exchanges[:n] {
		reached := e.Delivered && e.Status == http.StatusOK
		switch {
		case e.isRead() && reached:
			last, read, before = e, e, last
		case e.isWrite() || e.isRead():
		case reached: // the items
			last = read
		default:
			last = before
		}
	}
	return last
}

// endsWithRead reports whether the call read the cart after its last write, and did not try to read
// it again.
func (c *madeCall) endsWithRead() bool {
	if len(c.exchanges) == 0 {
		return false
	}
	last := c.exchanges[len(c.exchanges)-1]
	return !last.isWrite() && last.Delivered && last.Status == http.StatusOK
}

func (c *madeCall) falseNil() string {
	if c.Err != nil || c.Options.DryRun {
		return ""
	}
	if !c.endsWithRead() {
		return "it returned nil, but did not read the cart in the end"
	}
	if c.scenario.Percent && len(c.Result.InDoubt) > 0 {
		return "SetCustomDiscounts returned nil, but something is in doubt"
	}
	read := c.lastRead(len(c.exchanges))
	var got []commerce.CustomDiscount
	for _, d := range read.Shown {
		if c.isWanted(d) || c.Options.Prune && d.DiscountEngine == c.scenario.Want[0].DiscountEngine {
			got = append(got, d)
		}
	}
	if got, want := describe(got), describe(onCarts(c.scenario.wantedFor(read.Price))); got != want {
		return fmt.Sprintf("it returned nil, but the last read showed\n%s\nwant\n%s", got, want)
	}
	return ""
}

func (c *madeCall) isWanted(d commerce.CustomDiscount) bool {
	return slices.ContainsFunc(c.scenario.Want, func(w commerce.NewCustomDiscount) bool {
		return keyOf(onCart(w)) == keyOf(d)
	})
}

// touched looks for a write to a discount that the call must leave alone, whether or not it took
// effect.
func (c *madeCall) touched(s *cartServer) string {
	for _, e := range c.exchanges {
		isAllowed := e.isEnable() && c.Options.Enable && !c.Options.DryRun
		if isAllowed || e.Method != http.MethodPut && e.Method != http.MethodDelete {
			continue
		}
		d := s.find(e.target())
		isPruned := c.Options.Prune && e.Method == http.MethodDelete && d.DiscountEngine == c.scenario.Want[0].DiscountEngine
		switch {
		case c.Options.DryRun:
			return "a dry run sent a write: " + e.String()
		case e.Method == http.MethodPut && !c.Options.Update:
			return "it updated a discount without Update: " + e.String()
		case !c.isWanted(d) && !isPruned:
			return fmt.Sprintf("it wrote to %+v: %v", d, e)
		}
	}
	return ""
}

// earlyResend looks for a discount that was sent again, although it may have been added and the
// cart was not read after Settle.
func (c *madeCall) earlyResend() string {
	settle := c.Options.Settle
	switch {
	case settle == 0:
		settle = 2 * time.Second
	case settle < 0:
		settle = math.MaxInt64
	}
	sent := map[string]*exchange{}
	for n, e := range c.exchanges {
		for _, key := range e.Posted {
			if before := sent[key]; before != nil && c.lastRead(n).At.Sub(before.Ended) < settle {
				return fmt.Sprintf("%s was sent again before Settle and a read: %v", key, e)
			}
			if e.Status != http.StatusTooManyRequests {
				sent[key] = e
			}
		}
	}
	return ""
}

// refusedResend looks for a discount that was sent again although it was refused.
func (c *madeCall) refusedResend() string {
	refused := map[string]bool{}
	for n, e := range c.exchanges {
		for _, key := range e.Posted {
			if refused[key] {
				return key + " was sent again: " + e.String()
			}
		}
		if e.isClear(c.lastRead(n)) {
			for _, key := range e.Refused {
				refused[key] = true
			}
		}
	}
	return ""
}

// isClear reports whether the response to an add reached the caller, and whatever it shows was
// added by it or shown by the read before it: nothing else can be taken for an added discount.
func (e *exchange) isClear(read *exchange) bool {
	known := map[uuid.UUID]bool{}
	for _, d := range slices.Concat(e.Changed, read.Shown) {
		known[d.ID] = true
	}
	isUnknown := func(d commerce.CustomDiscount) bool { return !known[d.ID] }
	isWhole := e.Delivered && (e.Fault.Status == 0 || e.Fault.WithCart)
	return isWhole && !slices.ContainsFunc(e.Shown, isUnknown)
}

func (c *madeCall) excessReads() string {
	reads := 0
	for _, e := range c.exchanges {
		if e.hasRead() {
			reads++
		}
	}
	if reads > 4 {
		return fmt.Sprintf("it read the cart %d times", reads)
	}
	return ""
}

func (c *madeCall) falseRefusal() string {
	outcome := commerce.OutcomeOf(c.Err)
	for _, e := range c.exchanges {
		switch {
		case e.isWrite() && outcome == commerce.OutcomeNotSent:
			return "the outcome is NotSent, but it sent " + e.String()
		case e.isWrite() && !e.AppliedAt.IsZero() && outcome == commerce.OutcomeRejected:
			return "the outcome is Rejected, but this took effect: " + e.String()
		}
	}
	return ""
}

// partOfAll looks for an add that lacks a discount that the cart did not have.
func (c *madeCall) partOfAll() string {
	if !c.Options.AllOrNothing {
		return ""
	}
	sent := map[string]bool{} // earlier in this call
	for n, e := range c.exchanges {
		if len(e.Posted) == 0 {
			continue
		}
		for _, w := range c.scenario.Want {
			key := keyOf(onCart(w))
			isThere := func(d commerce.CustomDiscount) bool {
				return keyOf(d) == key && (itemOf(d) == itemOf(onCart(w)) || !c.Options.Update)
			}
			isSent := sent[key] || slices.Contains(e.Posted, key)
			if !isSent && !slices.ContainsFunc(c.lastRead(n).Shown, isThere) {
				return fmt.Sprintf("%s is missing too: %v", key, e)
			}
		}
		for _, key := range e.Posted {
			sent[key] = true
		}
	}
	return ""
}

// unaccounted looks for a wanted discount of which the result does not say whether the cart has it.
func (c *madeCall) unaccounted(s *cartServer) string {
	if c.Result == nil || c.Options.DryRun || !c.scenario.keepsIDs() {
		return ""
	}
	known := map[string]bool{}
	list := slices.Concat(c.Result.Discounts, c.Result.Different)
	if !c.readSincePost() {
		for _, d := range c.Result.Added {
			known[keyOf(s.find(d.ID))] = true // the response may have left out its key
		}
	}
	for _, d := range list {
		known[keyOf(d)] = true
	}
	for _, d := range c.Result.Missing {
		known[keyOf(onCart(d.NewCustomDiscount))] = true
	}
	for _, w := range c.scenario.Want {
		if key := keyOf(onCart(w)); !known[key] {
			return key + " is neither in Discounts nor in Missing nor in Different"
		}
	}
	return ""
}

// readSincePost reports whether the call read the cart after its last add. A read that another
// caller's write came between, so that it was incomplete, does not count.
func (c *madeCall) readSincePost() bool {
	if errors.Is(c.Err, commerce.ErrBadResponse) {
		return false
	}
	read := c.lastRead(len(c.exchanges))
	for _, e := range slices.Backward(c.exchanges) {
		if e.Method == http.MethodPost || e == read {
			return e == read
		}
	}
	return true
}

// falseReport looks for a discount in Added, Updated or Deleted that the call did not write.
func (c *madeCall) falseReport() string {
	if c.Result == nil || c.Options.DryRun {
		return ""
	}
	written := map[string]bool{}
	for _, e := range c.exchanges {
		for _, d := range e.Changed {
			written[e.Method+d.ID.String()] = true
		}
	}
	for _, part := range []struct {
		name, method string
		list         []commerce.CustomDiscount
	}{
		{name: "Added", method: http.MethodPost, list: c.Result.Added},
		{name: "Updated", method: http.MethodPut, list: c.Result.Updated},
		{name: "Deleted", method: http.MethodDelete, list: c.Result.Deleted},
	} {
		for _, d := range part.list {
			if !written[part.method+d.ID.String()] {
				return fmt.Sprintf("%s names %v %s, which it did not write", part.name, d.ID, d.ExternalID)
			}
		}
	}
	return ""
}

// falseDoubt looks for something in doubt although each write got its response, and a read showed
// the effects.
func (c *madeCall) falseDoubt() string {
	if c.scenario.Lag > 0 || !c.endsWithRead() {
		return ""
	}
	for _, e := range c.exchanges {
		isSure := e.Delivered && (e.Fault.Status == 0 || e.Fault.Status == http.StatusTooManyRequests)
		if e.isWrite() && !isSure {
			return ""
		}
	}
	inDoubt := c.Result != nil && len(c.Result.InDoubt) > 0
	if inDoubt || commerce.OutcomeOf(c.Err) == commerce.OutcomeUnknown {
		return "each write got its response, but something is in doubt"
	}
	return ""
}

// missingDoubt looks for an add that took effect after the call, which had nothing in doubt.
func (c *madeCall) missingDoubt() string {
	for _, e := range c.exchanges {
		if e.Method == http.MethodPost && e.AppliedAt.After(c.Ended) && (c.Result == nil || len(c.Result.InDoubt) == 0) {
			return "nothing is in doubt, but this took effect later: " + e.String()
		}
	}
	return ""
}

// falseDifferent looks for an ErrDifferent although the call may change all that differs, and the
// service keeps what it is sent.
func (c *madeCall) falseDifferent() string {
	isChanger := !c.scenario.keepsIDs() || c.scenario.Lag > 0
	if c.Options.Update && !isChanger && !c.Options.DryRun && errors.Is(c.Err, commerce.ErrDifferent) {
		return "the error matches ErrDifferent, although Update is set and the service changes nothing: " +
			strings.TrimSpace(c.Err.Error())
	}
	return ""
}
