package ensure_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// plannedCall is a call of SetCustomDiscounts that will be made.
type plannedCall struct {
	Options commerce.SetCustomDiscountsOptions
	Pause   time.Duration // before the call
	Timeout time.Duration // 0: none
}

// shopCall is a call of SetCustomDiscounts that was made, and what it returned.
type shopCall struct {
	Number         int
	Options        commerce.SetCustomDiscountsOptions
	Started, Ended time.Time
	Result         *commerce.CustomDiscountsResult
	Err            error

	sc      *shopScenario
	offers  offers
	codes   []string
	timeout time.Duration
	wants   []wanting
	ending  *ending // how it must end, as nothing happens meanwhile; else nil

	exchanges []*exchange
	isAlone   bool // nobody else changes the discounts of the engine meanwhile
}

// wanting is a call of want.
type wanting struct {
	read   *exchange
	price  commerce.Money
	prices map[uuid.UUID]commerce.Money // of the items
	err    error
	list   []commerce.NewCustomDiscount
}

// String describes what a call returned.
func (c *shopCall) String() string {
	return fmt.Sprintf("call %d with %+v returned %+v, error %v", c.Number, c.Options, c.Result, c.Err)
}

// readLog finds the exchanges of the call, and whether it was alone.
func (c *shopCall) readLog(s *cartServer) {
	c.isAlone = len(c.sc.Callers) == 1
	for _, e := range s.log {
		if e.Call == c.Number {
			c.exchanges = append(c.exchanges, e)
		}
		if e.Call == 0 && strings.HasPrefix(e.Method, theCustomer) && !e.At.Before(c.Started) && !e.At.After(c.Ended) {
			c.isAlone = false // with an item, its discounts go
		}
		if e.Call < c.Number && e.isWrite() && e.AppliedAt.After(c.Started) {
			c.isAlone = false // a write of an earlier call appears during this one
		}
	}
}

// lastRead returns the last read of the cart before exchange n that reached the caller. If the read
// took a second request, for the items, that one reached the caller too. If there was none, it
// returns one that shows nothing.
func (c *shopCall) lastRead(n int) *exchange {
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
func (c *shopCall) endsWithRead() bool {
	if len(c.exchanges) == 0 {
		return false
	}
	last := c.exchanges[len(c.exchanges)-1]
	return !last.isWrite() && last.Delivered && last.Status == http.StatusOK
}

// earlyResend looks for a discount that was sent again, although it may have been added and the
// cart was not read after Settle.
func (c *shopCall) earlyResend() string {
	settle := settleOf(c.Options.Settle)
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

func (c *shopCall) falseRefusal() string {
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

// falseReport looks for a discount in Added, Updated or Deleted that the call did not write.
func (c *shopCall) falseReport() string {
	if c.Result == nil || c.Options.DryRun {
		return ""
	}
	written := map[string]bool{}
	for _, e := range c.exchanges {
		for _, d := range e.Changed {
			written[e.Method+d.ID.String()] = true
		}
	}
	for method, list := range map[string][]commerce.CustomDiscount{
		http.MethodPost: c.Result.Added, http.MethodPut: c.Result.Updated, http.MethodDelete: c.Result.Deleted,
	} {
		for _, d := range list {
			if !written[method+d.ID.String()] {
				return fmt.Sprintf("the result names %v %s, which no %s of the call changed", d.ID, d.ExternalID, method)
			}
		}
	}
	return ""
}

// missingDoubt looks for an add that took effect after the call, which had nothing in doubt.
func (c *shopCall) missingDoubt() string {
	for _, e := range c.exchanges {
		if e.Method == http.MethodPost && e.AppliedAt.After(c.Ended) && (c.Result == nil || len(c.Result.InDoubt) == 0) {
			return "nothing is in doubt, but this took effect later: " + e.String()
		}
	}
	return ""
}
