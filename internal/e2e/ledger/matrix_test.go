package ledger

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
)

// TestFaults goes through the matrix: each fault, by both operations, on a fresh
// and a reused connection, over each protocol that it makes sense for.
func TestFaults(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, f := range Faults() {
		if names[f.Name] || len(f.Write) == 0 || len(f.Read) == 0 {
			t.Errorf("%s: a name that stands twice, or no verdict", f.Name)
		}
		names[f.Name] = true
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			runCells(t, f)
		})
	}
	t.Logf("%d kinds of fault", len(names))
	if len(names) < 48 {
		t.Errorf("%d kinds of fault", len(names))
	}
}

// runCells runs the cells of a fault one after the other: thousands of tests that wait
// for their turn would slow down the look at all goroutines that each takes.
func runCells(t *testing.T, f *Fault) {
	t.Helper()
	for _, p := range []Protocol{HTTP1, TLS, HTTP2} {
		for _, op := range operations {
			for _, reused := range []bool{false, true} {
				early := f.Stage == AtAccept || f.Stage == AfterTLS
				if f.On&p == 0 || early && reused {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/reused=%v", p, op.name, reused), func(t *testing.T) {
					cell{f, p, op, reused}.run(t)
				})
			}
		}
	}
}

type cell struct {
	*Fault
	protocol Protocol
	op       operation
	reused   bool
}

// run makes the call. Where only a timeout ends an attempt, a busy machine may let
// it pass before the server, or the client, came to the fault: such a try is no
// case of this cell, and is made again with twice the time. What was applied
// counts in each try, the verdict in the last.
func (c cell) run(t *testing.T) {
	t.Helper()
	if c.op.write && !c.WriteWaits || !c.op.write && !c.ReadWaits {
		c.try(t, quick, true)
		return
	}
	policy := quick
	policy.AttemptTimeout = 50 * time.Millisecond
	for !c.try(t, policy, policy.AttemptTimeout > time.Second) {
		policy.AttemptTimeout *= 2
	}
}

// try reports whether the verdict was as it must be, and fails the test if it was
// not and this is the last try.
func (c cell) try(t *testing.T, policy commerce.RetryPolicy, last bool) (ok bool) {
	t.Helper()
	leakless(t, func(ctx context.Context) {
		l, s := serve(ctx, t, c.protocol)
		defer s.Close()
		base := s.Transport()
		client := newClient(t, s.URL(), base, policy)
		if c.reused {
			warm := newClient(t, s.URL(), base, quick)
			if o := operations[1].do(ctx, warm, ""); o.err != nil {
				t.Fatal(o.err)
			}
		}
		s.Plan(c.Fault)
		o := c.op.do(ctx, client, "call")

		verdicts, applications := c.Read, 0
		if c.op.write {
			verdicts = c.Write
			if c.Applies {
				applications = 1
			}
		}
		wrong := o.checkAny(c.op, verdicts)
		ok = wrong == "" || last
		if wrong != "" && last {
			t.Error(wrong)
		}
		if arrivals := s.Arrivals(); ok && (len(arrivals) == 0 || arrivals[0].Reused != c.reused) {
			t.Errorf("not on the connection that it should be on: %v", arrivals)
		}
		noConnections(t, s, base)
		s.Close()
		if n := l.Applied("call"); n != applications && (ok || n > 1) {
			t.Errorf("applied %d times, want %d", n, applications)
		}
		if n := l.Copies("call"); n > 1 && verdicts[0].Outcome != commerce.OutcomeRejected {
			t.Errorf("%d copies of the body arrived", n)
		}
		if n := l.Copies("unreadable"); n > 0 {
			t.Errorf("%d bodies arrived that can't be read", n)
		}
	})
	return ok
}
