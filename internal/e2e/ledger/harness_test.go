package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
)

// patience bounds every wait for something that must come.
const patience = time.Minute

// quick is the policy of the cells: two attempts, and no wait between them.
var quick = commerce.RetryPolicy{MaxAttempts: 2, MinBackoff: 1, MaxBackoff: 1, AttemptTimeout: patience}

// newClient returns a client that makes its calls over rt.
func newClient(t *testing.T, address string, rt http.RoundTripper, policy commerce.RetryPolicy, opts ...commerce.Option) *commerce.Client {
	t.Helper()
	c, err := commerce.New(address, append([]commerce.Option{
		commerce.WithToken("an-invented-token"), commerce.WithHTTPClient(&http.Client{Transport: rt}), commerce.WithRetry(policy),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serve opens a server with a ledger of its own. The caller closes it.
func serve(ctx context.Context, t *testing.T, p Protocol) (*Ledger, *Server) {
	t.Helper()
	l := New()
	s, err := Serve(ctx, l, p)
	if err != nil {
		t.Fatal(err)
	}
	return l, s
}

// batch is what each write sends: two discounts, so that half of it can be added.
func batch(call string) []commerce.NewCustomDiscount {
	list := make([]commerce.NewCustomDiscount, 2)
	for i := range list {
		list[i] = commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(-100), Description: "one off", DiscountCode: "ONE", DiscountEngine: "ledger", ExternalID: ExternalID(call, i),
		}
	}
	return list
}

// operation is one of the two that the cells make.
type operation struct {
	name  string
	write bool
}

var operations = []operation{{"Carts.AddCustomDiscounts", true}, {"Subscriptions.List", false}}

// outcome is what a call returned, of either operation.
type outcome struct {
	err      error
	result   bool // not nil
	status   int  // of a success
	attempts int  // of a success
}

func (op operation) do(ctx context.Context, c *commerce.Client, call string) outcome {
	var resp *commerce.Response
	if op.write {
		result, err := c.Carts.AddCustomDiscounts(ctx, "a-cart", batch(call), nil)
		if result != nil {
			resp = result.Response
		}
		return newOutcome(err, result != nil, resp)
	}
	list, err := c.Subscriptions.List(ctx, nil)
	if list != nil {
		resp = list.Response
	}
	return newOutcome(err, list != nil, resp)
}

func newOutcome(err error, result bool, resp *commerce.Response) outcome {
	o := outcome{err: err, result: result}
	if resp != nil {
		o.status, o.attempts = resp.StatusCode, resp.Attempts
	}
	return o
}

// check says how an outcome differs from a verdict; "" if it does not.
func (o outcome) check(op operation, v Verdict) string {
	if !v.Failed {
		if o.err != nil || !o.result || o.status != v.Status || o.attempts != v.Attempts {
			return fmt.Sprintf("%+v, want a success of %d after %d attempts", o, v.Status, v.Attempts)
		}
		return ""
	}
	want := v.Outcome
	if !op.write {
		want = commerce.OutcomeNone
	}
	var e *commerce.Error
	if !errors.As(o.err, &e) {
		return fmt.Sprintf("error %v (%T) is no *commerce.Error", o.err, o.err)
	}
	if e.Op != op.name || e.Outcome != want || e.StatusCode != v.Status || e.Attempts != v.Attempts {
		return fmt.Sprintf("%s: outcome %q, status %d, attempts %d (%v), want %q, %d, %d", e.Op, e.Outcome, e.StatusCode, e.Attempts, e, want, v.Status, v.Attempts)
	}
	for sentinel, match := range map[error]bool{
		commerce.ErrOutcomeUnknown: want == commerce.OutcomeUnknown,
		commerce.ErrPartialFailure: want == commerce.OutcomePartial,
		context.Canceled:           v.Is == context.Canceled,
		context.DeadlineExceeded:   v.Is == context.DeadlineExceeded,
	} {
		if errors.Is(o.err, sentinel) != match {
			return fmt.Sprintf("%v: is %q: %v", e, sentinel, !match)
		}
	}
	if v.Is != nil && !errors.Is(o.err, v.Is) {
		return fmt.Sprintf("%v is not %q", e, v.Is)
	}
	if o.result != (want == commerce.OutcomePartial) {
		return fmt.Sprintf("%v: with a result: %v", e, o.result)
	}
	return ""
}

// checkAny says how an outcome differs from each of several verdicts.
func (o outcome) checkAny(op operation, verdicts []Verdict) string {
	var faults []string
	for _, v := range verdicts {
		fault := o.check(op, v)
		if fault == "" {
			return ""
		}
		faults = append(faults, fault)
	}
	return strings.Join(faults, "\nnor: ")
}

// eventually waits until a condition holds that nothing announces.
func eventually(t *testing.T, what func() string) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for {
		missing := what()
		if missing == "" {
			return
		}
		select {
		case <-deadline.C:
			t.Error(missing)
			return
		case <-tick.C:
		}
	}
}

var cells atomic.Int64

// leakless runs f and checks that no goroutine is left that it started, directly
// or not: goroutines inherit the labels of those that start them, so that cells
// which run at the same time can be told apart.
func leakless(t *testing.T, f func(ctx context.Context)) {
	t.Helper()
	label := fmt.Sprintf("cell-%d", cells.Add(1))
	pprof.Do(t.Context(), pprof.Labels("ledger", label), f)
	eventually(t, func() string {
		if left := goroutines(label); left != "" {
			return "goroutines left:\n" + left
		}
		return ""
	})
}

// goroutines returns the stacks of the goroutines with that label.
func goroutines(label string) string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return err.Error()
	}
	var left []string
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(stack, fmt.Sprintf("%q:%q", "ledger", label)) {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

// noConnections checks that no connection of the transport is left at the server.
func noConnections(t *testing.T, s *Server, base *http.Transport) {
	t.Helper()
	eventually(t, func() string {
		base.CloseIdleConnections()
		if n := s.Open(); n > 0 {
			return fmt.Sprintf("%d connections left", n)
		}
		return ""
	})
}

// TestGoroutines proves that the check for leaks can fail.
func TestGoroutines(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	defer close(stop)
	pprof.Do(t.Context(), pprof.Labels("ledger", "leak"), func(context.Context) { go func() { go func() { <-stop }() }() })
	eventually(t, func() string {
		if !strings.Contains(goroutines("leak"), "TestGoroutines") {
			return "a goroutine that was left is not found"
		}
		return ""
	})
	if left := goroutines("another"); left != "" {
		t.Errorf("found\n%s", left)
	}
}
