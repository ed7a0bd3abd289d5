//go:build unix

package rediscommerce_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/rediscommerce/internal/redistest"
)

// callID is the number of a process, and that of a call of it.
type callID struct{ process, n int }

// size is the number of discounts that the call adds.
func (c callID) size() int { return 2 + c.n%2 }

// hasDeadline reports whether the context of the call ends soon.
func (c callID) hasDeadline() bool { return c.n%20 == 0 }

// externalID returns that of the i-th discount of the call.
func (c callID) externalID(i int) string { return fmt.Sprintf("%d-%d-%d", c.process, c.n, i) }

// callOf returns the call that adds the discount with an external id.
func callOf(externalID string) (c callID) {
	_, _ = fmt.Sscanf(externalID, "%d-%d-", &c.process, &c.n)
	return c
}

// set is a set of the discounts of a call, as bits.
type set uint8

func (s set) has(i int) bool { return s>>i&1 == 1 }

// returned is what a call returned.
type returned struct {
	Outcome            commerce.Outcome
	Added, Unconfirmed set
	Abandoned          bool // it did not wait for a response, or lost the lock
}

// String returns what calls.end reads.
func (r returned) String() string {
	return fmt.Sprintf("%d %d %d %t", r.Outcome, r.Added, r.Unconfirmed, r.Abandoned)
}

// record is what became of a call.
type record struct {
	times    uint8 // how often it was applied
	applied  set
	ended    bool // it returned; otherwise its process was killed
	returned returned
}

// contradiction returns how what was applied contradicts what the call returned; "" if it does not.
func (r record) contradiction(id callID) string {
	switch {
	case r.times > 1:
		return fmt.Sprintf("applied %d times", r.times)
	case !r.ended:
		return ""
	}
	ok, got, full := false, r.returned, all.of(id.size())
	switch got.Outcome {
	case commerce.OutcomeApplied:
		ok = r.applied == full && got.Added == full
	case commerce.OutcomePartial:
		ok = r.applied != 0 && r.applied == got.Added && got.Unconfirmed == full&^r.applied
	case commerce.OutcomeRejected, commerce.OutcomeNotSent:
		ok = r.applied == 0
	case commerce.OutcomeUnknown, commerce.OutcomeUnreadable:
		ok = true
	default: // not an outcome of a write
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("%v, with the result %03b and %03b unconfirmed, but %03b of %03b was applied",
		got.Outcome, got.Added, got.Unconfirmed, r.applied, full)
}

// calls are what became of all calls.
type calls struct {
	mu        sync.Mutex
	byProcess [][]record
	outcomes  map[string]int
	ended     int
}

// of returns the record of a call. The caller holds c.mu.
func (c *calls) of(id callID) *record {
	for len(c.byProcess) <= id.process {
		c.byProcess = append(c.byProcess, nil)
	}
	for len(c.byProcess[id.process]) <= id.n {
		c.byProcess[id.process] = append(c.byProcess[id.process], record{})
	}
	return &c.byProcess[id.process][id.n]
}

// apply records that discounts were added.
func (c *calls) apply(id callID, added set) {
	if added == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.of(id)
	r.times++
	r.applied |= added
}

// end reads the line that a process printed when a call returned.
func (c *calls) end(t *testing.T, process, line string) {
	t.Helper()
	id, got := callID{}, returned{}
	id.process, _ = strconv.Atoi(process)
	_, err := fmt.Sscan(line, &id.n, &got.Outcome, &got.Added, &got.Unconfirmed, &got.Abandoned)
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.of(id)
	if err != nil || r.ended {
		t.Errorf("process %s printed %q, want a call that has not ended before (%v)", process, line, err)
		return
	}
	r.ended, r.returned = true, got
	c.ended++
	c.outcomes[got.Outcome.String()]++
}

// check compares what each call returned with what was applied.
func (c *calls) check(t *testing.T) string {
	t.Helper()
	made, killed, twice, wrong := 0, 0, 0, 0
	for process, records := range c.byProcess {
		for n, r := range records {
			made++
			if !r.ended {
				killed++
			}
			text := r.contradiction(callID{process, n})
			switch {
			case text == "":
				continue
			case r.times > 1:
				twice++
			default:
				wrong++
			}
			if twice+wrong <= 20 {
				t.Errorf("call %d of process %d: %s", n, process, text)
			}
		}
	}
	if twice+wrong > 0 {
		t.Errorf("%d calls were applied twice, and %d had a wrong outcome, want none", twice, wrong)
	}
	return fmt.Sprintf("%d calls, in %d of them the process was killed: %d applied twice, %d wrong outcomes; outcomes %v",
		made, killed, twice, wrong, c.outcomes)
}

// judge tells the ledger what calls returned: whether their writes were abandoned, and whether
// their processes had released the lock before they were killed.
func (c *calls) judge(l *ledger) {
	for _, in := range slices.Concat(l.overlaps...) {
		if in.abandoned { // without a body it has no call
			continue
		}
		r := c.of(in.call)
		in.abandoned = r.returned.Abandoned || !r.ended
	}
	for _, in := range l.takeover {
		in.released = in.abandoned || in.call.hasDeadline() || c.of(in.call).ended
	}
}

// requests counts the requests of a store, and returns how many in a hundred met a fault.
func (s *faultyStore) requests() (n int, faulty float64) {
	for _, times := range s.met {
		n += times
	}
	return n, 100 - 100*float64(s.met[faults[0].name])/float64(max(1, n))
}

// missing returns what did not happen often enough to prove something; "" if everything did.
func (s *faultyStore) missing(l *ledger) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	n, faulty := s.requests()
	switch {
	case len(s.met) < len(faults) || len(s.outcomes) < 6:
		return fmt.Sprintf("the faults %v and the outcomes %v are not all", s.met, s.outcomes)
	case math.Abs(faulty-70) > 1+200/math.Sqrt(float64(n)): // it is chance
		return fmt.Sprintf("%.1f %% of %d requests met a fault, want about 70", faulty, n)
	case len(l.killed) < 4+s.ended/20_000 || l.turns < s.ended/10 || len(l.takeover) < s.ended/100_000:
		return fmt.Sprintf("%d kills, %d of a process that had a lock, and %d changes of the process at a cart are too few",
			len(l.killed), len(l.takeover), l.turns)
	}
	return ""
}

// TestLedger makes calls in four processes with locks, while 70 % of the requests meet a fault and
// the processes are killed. What each call returned must be what the store applied, and no two
// writes to a cart overlap. LEDGER is the number of calls.
func TestLedger(t *testing.T) {
	t.Parallel()
	want, workers := 500, 4
	if text := os.Getenv("LEDGER"); text != "" {
		var err error
		if want, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		workers = 24
	}
	store := &faultyStore{calls: &calls{outcomes: map[string]int{}}, met: map[string]int{}}
	l := newLedger(store, time.Second)
	server := redistest.Start(t)
	client := server.Client(t)
	open(t, client)
	begin := time.Now()
	c := &chaos{
		ledger: l, life: min(max(100, want/20), 5000), childConfig: childConfig{
			Mode: "ledger", Redis: server.Addr, Workers: workers,
			Retry: commerce.RetryPolicy{MaxBackoff: time.Millisecond, AttemptTimeout: attemptTimeout},
		},
		cut: func() {
			if rand.IntN(10) == 0 { // new connections take time
				_ = client.ClientKillByFilter(t.Context(), "TYPE", "normal")
			}
		},
		read: func(process, line string) { store.end(t, process, line) },
		goesOn: func() bool {
			store.mu.Lock()
			ended := store.ended
			store.mu.Unlock()
			return ended < want || time.Since(begin) < time.Minute && store.missing(l) != ""
		},
	}
	for i := range 1024 {
		c.Carts = append(c.Carts, fmt.Sprintf("cart-%d", i))
	}
	c.run(t)
	store.late.Wait()

	_, faulty := store.requests()
	store.judge(l)
	t.Logf("%.0f s: %s; %.1f %% of the requests met one of %d kinds of fault; %s", time.Since(begin).Seconds(),
		store.check(t), faulty, len(faults)-1, l.check(t))
	if missing := store.missing(l); missing != "" {
		t.Errorf("the test proves nothing: %s", missing)
	}
}
