package transport

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pass lets a call of op pass the gate, or returns the wait that it may not make.
func pass(ctx context.Context, g *Gate, op string) (t turn, wait time.Duration, err error) {
	t.closings = -1
	wait, err = g.pass(ctx, op, &t)
	return t, wait, err
}

// refused returns a gate that was closed by the refusals of n calls of op, one after the other.
func refused(t *testing.T, n int, op string, retryAfter time.Duration) *Gate {
	t.Helper()
	g := NewGate()
	for range n {
		call, _, err := pass(t.Context(), g, op)
		if err != nil {
			t.Fatal(err)
		}
		g.refuse(op, &call, retryAfter, time.Hour)
	}
	return g
}

// passed is a call that passed the gate, or was turned away.
type passed struct {
	n    int           // of the call
	at   time.Duration // since passAll was called
	wait time.Duration // that it may not make
	err  error
}

// passAll lets n calls of op pass, which come one after the other. It returns them in the order in
// which they passed.
func passAll(ctx context.Context, g *Gate, op string, n int) []passed {
	start := time.Now()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var calls []passed
	for i := range n {
		wg.Go(func() {
			_, wait, err := pass(ctx, g, op)
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, passed{n: i, at: time.Since(start), wait: wait, err: err})
		})
		synctest.Wait()
	}
	wg.Wait()
	return calls
}

// A refusal sets the rate to what was accepted, and a call that was accepted after a wait raises
// it.
func TestGate_rate(t *testing.T) {
	t.Parallel()
	const ten = "aaaaaaaaaa"
	// Each letter is a response. r: a 429; R: one with a Retry-After; a: another status; x, X, y:
	// the same for a call that passed before the last refusal. s: a second later; m: two minutes.
	for events, want := range map[string]float64{
		"r":                  10,
		ten + "aar":          12, // as many as were accepted in the last second
		ten + ten + "aar":    22,
		ten + "aasr":         10,
		"r" + "yyyyyyyyyyyy": 12, // accepted in the second of the first refusal
		"ra":                 12,
		"raaa":               16, // quickly until there is a second refusal
		"rr":                 10, // only the pause was too short
		"rra":                12,
		"rar":                12 * slower, // one was accepted: the rate does not fall so far at once
		"rara":               12 * slower, // and a little more
		"rary":               12 * slower,
		"rar" + ten + "r":    7 * kept, // accepted in the last second
		"rrrrrrrrrr":         10,
		"rxxx":               10,
		"ryr":                10, // in flight with the first refusal
		"rry":                10,
		"R":                  10,
		"RR":                 10 * keptAgain, // the service sets the pause
		"RRa":                10*keptAgain + growth,
		"RaR" + ten + "R":    7 * keptWait,
		"RXXXR":              10 * keptAgain,
		"rarmr":              10, // as if it was the first

		"r" + strings.Repeat("ar", 30): 1 / maxPause.Seconds(),
	} {
		synctest.Test(t, func(t *testing.T) {
			g := NewGate()
			var refusedAt time.Time
			for _, event := range events {
				if pause := map[rune]time.Duration{'s': time.Second, 'm': 2 * memory}[event]; pause > 0 {
					time.Sleep(pause)
					continue
				}
				call := turn{at: refusedAt}
				if strings.ContainsRune("rRa", event) {
					var err error
					if call, _, err = pass(t.Context(), g, "op"); err != nil {
						t.Fatalf("%s: %v", events, err)
					}
					time.Sleep(time.Millisecond)
				}
				switch event {
				case 'r', 'x':
					g.refuse("op", &call, 0, time.Hour)
				case 'R', 'X':
					g.refuse("op", &call, time.Second, time.Hour)
				default:
					g.accept("op", &call)
				}
				if refusedAt = g.ops["op"].refusedAt; refusedAt.IsZero() {
					refusedAt = g.client.refusedAt
				}
			}
			if got := max(g.client.rate, g.ops["op"].rate); math.Abs(got/want-1) > 1e-3 {
				t.Errorf("%s: %v per second, want %v", events, got, want)
			}
		})
	}
}

// The rate is measured by the calls of the operation, and its part of the others: the limit may be
// that of all.
func TestGate_otherOperations(t *testing.T) {
	t.Parallel()
	for calls, want := range map[[2]int]float64{{10, 0}: 10, {10, 10}: 15, {1, 4}: 1.8, {0, 10}: 0, {0, 0}: 0} {
		synctest.Test(t, func(t *testing.T) {
			g := NewGate()
			for range calls[0] {
				g.accept("op", &turn{})
			}
			for range calls[1] {
				g.accept("another", &turn{})
			}
			if got := g.share(g.operation("op"), time.Now()); got != want {
				t.Errorf("%d calls and %d others: %v per second, want %v", calls[0], calls[1], got, want)
			}
		})
	}
}

// After a second refusal, the rate grows the faster the longer there is none.
func TestGate_growth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := refused(t, 1, "op", 0)
		o := g.operation("op")
		accept := func() {
			call, _, _ := pass(t.Context(), g, "op")
			g.accept("op", &call)
		}
		accept()
		call, _, _ := pass(t.Context(), g, "op")
		g.refuse("op", &call, 0, time.Hour)
		for _, tt := range []struct {
			times float64
			least time.Duration // since the refusal
		}{{1.05, 3 * time.Second}, {2, 11 * time.Second}, {10, 21 * time.Second}} {
			for o.rate < 12*slower*tt.times && time.Since(o.refusedAt) < time.Minute {
				accept()
			}
			if took := time.Since(o.refusedAt); took < tt.least || took > tt.least*5/4 {
				t.Errorf("%v times the rate after %v, want %v or a little more", tt.times, took, tt.least)
			}
		}
	})
}

// Each refusal in a row makes the pause longer, up to the longest one.
func TestGate_pause(t *testing.T) {
	t.Parallel()
	for range 20 { // as pauses are random
		synctest.Test(t, checkPauses)
	}
}

func checkPauses(t *testing.T) {
	g := refused(t, 1, "op", 0)
	for want := 100 * time.Millisecond; want < 100*time.Second; want = time.Duration(float64(want) * longer) {
		pause, least := time.Until(g.ops["op"].opensAt), min(want*3/4, maxPause)
		if most := min(want*5/4, maxPause); pause < least-1 || pause > most {
			t.Errorf("a pause of %v, want %v to %v", pause, least, most)
		}
		call, _, _ := pass(t.Context(), g, "op")
		g.refuse("op", &call, 0, time.Hour)
	}
}

// After a second refusal the pause is not less than secondPause, however high the rate.
func TestGate_secondPause(t *testing.T) {
	t.Parallel()
	for refused, want := range map[int]time.Duration{1: time.Millisecond, 2: 96 * time.Millisecond} {
		s := scope{rate: 1000, refused: refused}
		if got := ofSeconds(s.pause()).Round(time.Microsecond); got != want {
			t.Errorf("after %d refusals: a pause of %v, want %v", refused, got, want)
		}
	}
}

// A call that was accepted without a wait, as it came when the gate opened, does not raise the
// rate, which is not what limits it.
func TestGate_noWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := refused(t, 1, "op", 0)
		for range 5 {
			time.Sleep(time.Until(g.ops["op"].opensAt))
			call, _, _ := pass(t.Context(), g, "op")
			g.accept("op", &call)
		}
		if rate := g.ops["op"].rate; rate != minFirstRate {
			t.Errorf("%v per second, want %v", rate, minFirstRate)
		}
	})
}

// After a Retry-After all calls wait, otherwise those of the operation. They pass in their order.
func TestGate_order(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		op           string
		retryAfter   time.Duration
		first, pause time.Duration
		randomFirst  time.Duration
	}{
		"the operation":             {op: "op", first: 75 * ms, randomFirst: 50 * ms, pause: 100 * ms},
		"another":                   {op: "another"},
		"Retry-After":               {op: "op", retryAfter: 2 * time.Second, first: 2 * time.Second, pause: 100 * ms},
		"Retry-After, another":      {op: "another", retryAfter: 2 * time.Second, first: 2 * time.Second, pause: 100 * ms},
		"Retry-After, for a minute": {op: "another", retryAfter: time.Minute, first: time.Minute, pause: 100 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := refused(t, 1, "op", tt.retryAfter)
			g.refuse("op", &turn{}, min(tt.retryAfter, 1), time.Hour) // in flight with the first one
			calls := passAll(t.Context(), g, tt.op, 700)
			first := calls[0].at
			if first < tt.first || first > tt.first+tt.randomFirst {
				t.Errorf("%s: the first passed after %v, want %v", name, first, tt.first)
			}
			for i, c := range calls {
				if want := first + time.Duration(i)*tt.pause; c.n != i || c.err != nil || c.at != want {
					t.Errorf("%s: number %d is call %d, after %v, error %v, want %v", name, i, c.n, c.at, c.err, want)
				}
			}
		})
	}
}

// A call that asked its limiter must ask again if the gate was closed meanwhile.
func TestGate_closed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		for n := range 3 {
			call := turn{closings: -1}
			if _, err := g.untilOpen(t.Context(), "op", &call); err != nil {
				t.Fatal(err)
			}
			g.refuse("another", &turn{at: time.Now()}, time.Second, time.Hour)
			if _, err := g.pass(t.Context(), "op", &call); !errors.Is(err, errClosed) {
				t.Errorf("closed %d times before: error %v, want %v", n, err, errClosed)
			}
		}
	})
}

// A call waits behind the others of its operation, also if the gate has opened meanwhile.
func TestGate_waiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		o := g.operation("op")
		o.waiting = 1
		<-o.head
		time.AfterFunc(time.Second, func() { o.head <- time.Time{} })
		if c := passAll(t.Context(), g, "op", 1)[0]; c.at != time.Second {
			t.Errorf("passed after %v, want 1s", c.at)
		}
	})
}

// A minute after the wait for a refusal is over, calls pass without pauses.
func TestGate_memory(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]time.Duration{
		10*time.Second + memory - 1: 100 * time.Millisecond,
		10*time.Second + memory:     0,
	} {
		synctest.Test(t, func(t *testing.T) {
			g := refused(t, 1, "op", 10*time.Second)
			time.Sleep(after)
			if calls := passAll(t.Context(), g, "op", 2); calls[1].at != want {
				t.Errorf("after %v the second call passed after %v, want %v", after, calls[1].at, want)
			}
		})
	}
}

// A call whose turn comes at its deadline or later ends at once, or at its turn if a refusal moved
// it.
func TestGate_deadline(t *testing.T) {
	t.Parallel()
	const closed = 3 * time.Second
	for _, tt := range []struct {
		deadline time.Duration
		before   int           // calls that came before
		again    time.Duration // when the gate is closed again; 0: never
		want     passed
	}{
		{deadline: closed + 1, want: passed{at: closed}},
		{deadline: closed, want: passed{wait: closed, err: ErrGate}},
		{deadline: 1, want: passed{wait: closed, err: ErrGate}},
		{deadline: 4 * time.Second, before: 9, want: passed{at: 3900 * time.Millisecond}},
		{deadline: 3800 * time.Millisecond, before: 20, want: passed{wait: 3804 * time.Millisecond, err: ErrGate}},
		{deadline: 4 * time.Second, again: time.Second, want: passed{at: closed, wait: time.Second, err: ErrGate}},
		{deadline: 5 * time.Second, again: time.Second, want: passed{at: 4 * time.Second}},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := refused(t, 1, "op", closed)
			for range tt.before {
				go func() { _, _, _ = pass(t.Context(), g, "op") }()
				synctest.Wait()
			}
			if tt.again > 0 {
				time.AfterFunc(tt.again, func() { g.refuse("op", &turn{at: time.Now()}, closed, time.Hour) })
			}
			ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
			defer cancel()
			got := passAll(ctx, g, "op", 1)[0]
			if got.wait = got.wait.Truncate(time.Millisecond); got != tt.want {
				t.Errorf("deadline %v behind %d calls: %+v, want %+v", tt.deadline, tt.before, got, tt.want)
			}
			time.Sleep(time.Minute)
		})
	}
}

// Calls that are canceled return at once, and those that come later do not wait for their turns.
func TestGate_canceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(200*time.Millisecond, cancel)
		g := refused(t, 1, "op", time.Second)
		for _, c := range passAll(ctx, g, "op", 50) {
			if c.at != 200*time.Millisecond || c.err != context.Canceled {
				t.Errorf("call %d: after %v, error %v, want %v after 200ms", c.n, c.at, c.err, context.Canceled)
			}
		}
		if c := passAll(t.Context(), g, "op", 1)[0]; c.at != 800*time.Millisecond {
			t.Errorf("the call after them passed after %v, want 800ms", c.at)
		}
	})
}

// If the service accepts nothing, one call at a time waits, until one is accepted.
func TestGate_acceptsNothing(t *testing.T) {
	t.Parallel()
	for _, retryAfter := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			g := refused(t, maxRefused-1, "op", retryAfter)
			if calls := passAll(t.Context(), g, "op", 2); calls[1].err != nil {
				t.Errorf("after %d refusals: %+v, want both to pass", maxRefused-1, calls)
			}
			last, _, _ := pass(t.Context(), g, "op")
			if !g.refuse("op", &last, retryAfter, time.Hour) {
				t.Error("refuse() = false, want true")
			}
			calls := passAll(t.Context(), g, "op", 2)
			if turnedAway := calls[0]; turnedAway.n != 1 || turnedAway.at != 0 || turnedAway.err != ErrGate ||
				calls[1].err != nil {
				t.Errorf("%+v, want one call to wait, and the other one to be turned away", calls)
			}
			call, _, _ := pass(t.Context(), g, "op")
			g.accept("op", &call)
			if calls := passAll(t.Context(), g, "op", 2); errors.Join(calls[0].err, calls[1].err) != nil {
				t.Errorf("after one was accepted: %+v, want both to pass", calls)
			}
		})
	}
}

// A queue is paced to its end, and the wait of its last call counts all calls before it.
func TestGate_limits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, now := NewGate(), time.Now()
		for _, tt := range []struct {
			scope scope
			paced bool
			wait  time.Duration
		}{
			{scope: scope{waiting: 2}},
			{scope: scope{rate: 10, waiting: 1, pacedUntil: now}},
			{scope: scope{rate: 10, waiting: 1, pacedUntil: now.Add(1)}, paced: true},
			{scope: scope{rate: 10, waiting: 1, opensAt: now.Add(3)}, wait: 3},
			{
				scope: scope{rate: 10, waiting: 11, opensAt: now.Add(-3)}, paced: true,
				wait: 549_306_144, // ln 3 / 2 s: at first 10 calls per second, at the end 30
			},
			{ // it does not grow yet
				scope: scope{rate: 10, isKnown: true, refusedAt: now, waiting: 11}, paced: true, wait: 995_033_085,
			},
		} {
			if got, wait := tt.scope.isPaced(now), g.expectedWait(&tt.scope, now); got != tt.paced || wait != tt.wait {
				t.Errorf("%+v: paced %t, the last call waits for %v, want %t, %v", tt.scope, got, wait, tt.paced, tt.wait)
			}
		}
		o := g.operation("op")
		for range 30 {
			g.accept("op", &turn{})
		}
		if n := o.lately(now.Add(time.Second - 1)); n != 30 {
			t.Errorf("%v calls were accepted within a second, want 30", n)
		}
		if n := o.lately(now.Add(time.Second)); n != 0 || len(o.accepted) > 0 {
			t.Errorf("%v calls were accepted in the second after them, want 0", n)
		}
	})
}
