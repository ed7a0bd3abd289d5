package ledger

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
)

// TestFaults meets each fault with both operations, on a new and on a reused connection, over each
// protocol, but reads not over HTTP/1.1 with TLS. Complete responses on a connection that stays
// open come on new ones, over HTTP/1.1 without TLS and HTTP/2: they say the same everywhere. With
// -short all faults come so, and only to writes: more shows nothing about races.
func TestFaults(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, f := range Faults() {
		if names[f.Name] || len(f.Write) == 0 || len(f.Read) == 0 {
			t.Errorf("fault %q: want a unique name, and what a write and a read must return", f.Name)
		}
		names[f.Name] = true
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			withoutLeak(t, func(ctx context.Context) { runCells(ctx, t, f) })
		})
	}
	t.Logf("%d faults", len(names))
	if len(names) < 48 {
		t.Errorf("%d faults, want 48 or more", len(names))
	}
}

// runCells runs the cells of a fault sequentially, so that one search for leaked
// goroutines is enough for all. It is slow if thousands of tests wait for their turn.
func runCells(ctx context.Context, t *testing.T, f *Fault) {
	t.Helper()
	for _, p := range []Protocol{HTTP1, TLS, HTTP2} {
		for _, op := range operations {
			for _, reused := range []bool{false, true} {
				c := cell{f, p, op, reused}
				wants, _, _ := c.expected()
				beforeRequest := f.Stage == AtAccept || f.Stage == AfterTLS
				short := testing.Short() && (f.Heavy || !op.write)
				same := testing.Short() || f.Response != nil && f.End == Keep
				slow := wants[0].Attempts == slowed && p != HTTP1 // for a second
				if f.On&p == 0 || reused && (beforeRequest || same) || short || slow || p == TLS && (same || !op.write) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/reused=%v", p, op.name, reused), func(t *testing.T) { c.run(ctx, t) })
			}
		}
	}
}

// cell is one combination of the matrix.
type cell struct {
	*Fault
	protocol Protocol
	op       operation
	reused   bool
}

// expected returns what the call must return, how often it is applied, and whether only a
// timeout ends an attempt.
func (c cell) expected() (wants []Want, applications int, waits bool) {
	switch {
	case !c.op.write:
		return c.Read, 0, c.ReadWaits
	case c.Applies:
		applications = 1
	}
	return c.Write, applications, c.WriteWaits
}

// notKept is wrong only if it stays: net/http closes a connection after a response if the goroutine
// that wrote the request does not run within 50 ms, as on a busy machine.
const notKept = "the call came on a new connection, want the one of the call before"

// run makes the call, again if the connection was not kept. If only a timeout ends an attempt, it
// may pass on a busy machine before the server or the client reaches the fault. Then the call is
// made again with twice the timeout.
func (c cell) run(ctx context.Context, t *testing.T) {
	t.Helper()
	policy := twoAttempts
	_, _, waits := c.expected()
	if waits {
		policy.AttemptTimeout = 20 * time.Millisecond
	}
	wrong := c.try(ctx, t, policy)
	for n := 0; wrong == notKept && n < 5; n++ {
		wrong = c.try(ctx, t, policy)
	}
	for waits && wrong != "" && policy.AttemptTimeout <= 10*time.Second {
		policy.AttemptTimeout *= 2
		wrong = c.try(ctx, t, policy)
	}
	if wrong != "" {
		t.Error(wrong)
	}
}

// try makes the call, and checks what must hold even if the timeout was too short. It returns what
// else is wrong.
func (c cell) try(ctx context.Context, t *testing.T, policy commerce.RetryPolicy) (wrong string) {
	t.Helper()
	l, s := serve(ctx, t, c.protocol)
	defer s.Close()
	base := s.Transport()
	if c.reused {
		if first := listSubscriptions.do(ctx, newClient(t, s.URL(), base), ""); first.err != nil {
			t.Fatal(first.err)
		}
	}
	s.Plan(c.Fault)
	result := c.op.do(ctx, newClient(t, s.URL(), base, commerce.WithRetry(policy)), "call")
	arrivals := s.Arrivals()
	checkNoConnections(t, s, base)
	s.Close()
	wants, applications, _ := c.expected()
	applied := l.Applied("call")
	if applied > 1 {
		t.Errorf("applied %d times, want at most once", applied)
	}
	if n := l.Copies("call"); n > 1 && wants[0].Outcome != commerce.OutcomeRejected {
		t.Errorf("%d copies of the body arrived, want at most one", n)
	}
	if n := l.Copies(unreadable); n > 0 {
		t.Errorf("%d bodies can't be read, want none", n)
	}
	switch wrong = result.mismatchAll(wants); {
	case wrong != "":
	case len(arrivals) == 0 || arrivals[0].Reused && !c.reused:
		wrong = fmt.Sprintf("arrivals %v, want one, on a new connection", arrivals)
	case c.reused && !arrivals[0].Reused:
		wrong = notKept
	case applied != applications:
		wrong = fmt.Sprintf("applied %d times, want %d", applied, applications)
	}
	return wrong
}
