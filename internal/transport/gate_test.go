package transport

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// passed is a call that passed the gate, or was turned away.
type passed struct {
	n    int           // of the call
	at   time.Duration // since passAll was called
	wait time.Duration // as pass returned it
	err  error
}

// passGate lets n calls pass a gate, like passAll.
func passGate(ctx context.Context, g *Gate, n int, maxWait time.Duration) []passed {
	return passAll(n, func() (time.Duration, error) {
		_, wait, err := g.pass(ctx, maxWait)
		return wait, err
	})
}

// passAll lets n calls pass, which come one after the other. It returns them in the order in which
// they passed.
func passAll(n int, pass func() (time.Duration, error)) []passed {
	start := time.Now()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var calls []passed
	for i := range n {
		wg.Go(func() {
			wait, err := pass()
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, passed{n: i, at: time.Since(start), wait: wait, err: err})
		})
		synctest.Wait()
	}
	wg.Wait()
	return calls
}

// gateStep sleeps, lets calls pass at 100 per second, closes the gate, and lets more calls pass.
type gateStep struct {
	sleep   time.Duration
	before  int             // calls at 100 per second
	closes  []time.Duration // one after the other, for calls that passed now
	calls   int
	maxWait time.Duration // 0: an hour
	first   time.Duration // when the first call passes, since the gate was closed
	gap     time.Duration // between the first two calls, in whole milliseconds
	last    time.Duration // when the last call passes, in whole milliseconds; 0: first+gap
}

func TestGate_pace(t *testing.T) {
	t.Parallel()
	const ms, second = time.Millisecond, time.Second
	closed := []time.Duration{second}
	for _, tt := range []struct {
		name  string
		steps []gateStep
	}{
		{name: "open", steps: []gateStep{{calls: 1000, first: 0, gap: 0}}},
		{name: "the rate grows", steps: []gateStep{
			{closes: []time.Duration{2 * second}, calls: 60, first: 2 * second, gap: 50 * ms, last: 4614 * ms},
		}},
		{name: "each refusal halves the rate, down to the minimum", steps: []gateStep{
			{closes: closed, calls: 2, first: second, gap: 50 * ms},
			{closes: closed, calls: 2, first: second, gap: 99 * ms},
			{closes: closed, calls: 2, first: second, gap: 197 * ms},
			{closes: closed, calls: 2, first: second, gap: 200 * ms},
			{closes: closed, calls: 2, first: second, gap: 200 * ms},
		}},
		{name: "calls in flight together count once", steps: []gateStep{
			{closes: slices.Repeat(closed, 8)},
			{sleep: 500 * ms, closes: []time.Duration{second, 1}, calls: 2, first: second, gap: 50 * ms},
		}},
		{name: "half the rate before, 300 calls", steps: []gateStep{
			{before: 300, closes: closed, calls: 2, first: second, gap: 20 * ms},
		}},
		{name: "half the rate before, 350 calls", steps: []gateStep{
			{before: 350, closes: closed, calls: 2, first: second, gap: 20 * ms},
		}},
		{name: "calls of long ago do not count", steps: []gateStep{
			{before: 300}, {sleep: 10 * second, closes: closed, calls: 2, first: second, gap: 50 * ms},
		}},
		{name: "calls that passed are not in the queue", steps: []gateStep{
			{closes: closed, calls: 60, first: second, gap: 50 * ms, last: 3614 * ms},
			{sleep: pacing, closes: closed, calls: 1, maxWait: second, first: second},
		}},
		{name: "pacing ends", steps: []gateStep{
			{closes: closed}, {sleep: pacing - 1, calls: 2, first: 0, gap: 35 * ms}, {calls: 100, first: 0, gap: 0},
		}},
		{name: "a queue is paced for a second even after pacing has ended", steps: []gateStep{
			{closes: []time.Duration{2 * pacing}, calls: 10, first: 2 * pacing, gap: 50 * ms, last: 10393 * ms},
			{calls: 100, first: 0, gap: 0},
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := NewGate()
			for i, step := range tt.steps {
				time.Sleep(step.sleep)
				for range step.before {
					passGate(t.Context(), g, 1, time.Hour)
					time.Sleep(10 * time.Millisecond)
				}
				for _, d := range step.closes {
					g.close(time.Now(), d)
				}
				step.check(t, tt.name, i, passGate(t.Context(), g, step.calls, cmp.Or(step.maxWait, time.Hour)))
			}
		})
	}
}

func (s gateStep) check(t *testing.T, name string, i int, calls []passed) {
	t.Helper()
	if len(calls) == 0 {
		return
	}
	first, gap, last := calls[0].at, time.Duration(0), calls[len(calls)-1].at.Truncate(time.Millisecond)
	if len(calls) > 1 {
		gap = (calls[1].at - first).Truncate(time.Millisecond)
	}
	wantLast := cmp.Or(s.last, s.first+s.gap)
	if first != s.first || gap != s.gap || last != wantLast {
		t.Errorf("%s, step %d: first call after %v, gap %v, last after %v, want %v, %v, %v",
			name, i, first, gap, last, s.first, s.gap, wantLast)
	}
	for _, c := range calls {
		if c.err != nil {
			t.Errorf("%s, step %d: call %d: %v", name, i, c.n, c.err)
		}
	}
}

// If the gate is closed again, the calls of the queue keep their order.
func TestGate_closedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		start := time.Now()
		g.close(start, time.Second)
		time.AfterFunc(1060*time.Millisecond, func() { g.close(start.Add(time.Second), 3*time.Second) })
		calls := passGate(t.Context(), g, 20, time.Hour)
		for i, c := range calls {
			if c.n != i || c.err != nil {
				t.Errorf("call %d passed as number %d, error %v", c.n, i, c.err)
			}
		}
		if at1, at2, at3 := calls[1].at, calls[2].at, calls[3].at; at1 >= 1060*time.Millisecond ||
			at2 != 4060*time.Millisecond || at3 <= at2 {
			t.Errorf("calls 1 to 3 passed after %v, %v, %v, want before 1.06s, at 4.06s and later", at1, at2, at3)
		}
	})
}

// A call that may not wait until the gate opens is turned away at once.
func TestGate_mayNotWait(t *testing.T) {
	t.Parallel()
	const closed = 3 * time.Second
	for _, tt := range []struct {
		name     string
		deadline time.Duration // 0: none
		maxWait  time.Duration
		want     error
	}{
		{name: "no deadline", maxWait: time.Hour},
		{name: "deadline after the opening", deadline: closed + 1, maxWait: time.Hour},
		{name: "deadline at the opening", deadline: closed, maxWait: time.Hour, want: ErrGate},
		{name: "deadline before the opening", deadline: time.Second, maxWait: time.Hour, want: ErrGate},
		{name: "maximum at the opening", maxWait: closed},
		{name: "maximum before the opening", maxWait: closed - 1, want: ErrGate},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			if tt.deadline > 0 {
				ctx, cancel = context.WithTimeout(ctx, tt.deadline)
			}
			defer cancel()
			g := NewGate()
			g.close(time.Now(), closed)
			want := passed{at: closed, wait: closed, err: tt.want}
			if tt.want != nil {
				want.at = 0
			}
			if got := passGate(ctx, g, 1, tt.maxWait)[0]; got != want {
				t.Errorf("%s: %+v, want %+v", tt.name, got, want)
			}
		})
	}
}

// Calls that are cancelled return at once, and those that come later do not wait for their turns.
func TestGate_cancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(200*time.Millisecond, cancel)
		g := NewGate()
		g.close(time.Now(), time.Second)
		for _, c := range passGate(ctx, g, 50, time.Hour) {
			if c.at != 200*time.Millisecond || c.err != context.Canceled {
				t.Errorf("call %d: after %v, error %v, want %v after 200ms", c.n, c.at, c.err, context.Canceled)
			}
		}
		if c := passGate(t.Context(), g, 1, time.Hour)[0]; c.at != 800*time.Millisecond {
			t.Errorf("the call after them passed after %v, want 800ms", c.at)
		}
	})
}

// Calls whose turn would come too late are turned away at once.
func TestGate_queueIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		g.close(time.Now(), time.Second)
		turnedAway := 0
		for _, c := range passGate(t.Context(), g, 100, 2*time.Second) {
			switch {
			case c.err == ErrGate && c.at == 0:
				turnedAway++
			case c.err != nil || c.at > 3*time.Second:
				t.Errorf("call %d: after %v, error %v, want at most 3s", c.n, c.at, c.err)
			}
		}
		if turnedAway < 50 || turnedAway > 60 {
			t.Errorf("%d calls turned away, want 50 to 60", turnedAway)
		}
	})
}

// A call waits at most maxWait for the gate to open and as long again for its turn, even if the
// gate is closed again while the call is in the queue.
func TestGate_closedWhileInQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const calls, maxWait = 20, time.Second
		g := NewGate()
		g.close(time.Now(), maxWait)
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				start := time.Now()
				_, _, err := g.pass(t.Context(), maxWait)
				if waited := time.Since(start); waited > 2*maxWait {
					t.Errorf("pass() = %v after %v, want at most %v", err, waited, 2*maxWait)
				}
			})
		}
		for range 5 {
			time.Sleep(maxWait + 60*time.Millisecond) // time for two calls to pass
			g.close(time.Now(), maxWait)
		}
		wg.Wait()
	})
}
