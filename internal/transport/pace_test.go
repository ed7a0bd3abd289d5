package transport

import (
	"cmp"
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// newPace returns the pace of an operation that was refused just now.
func newPace(maxBackoff time.Duration) *pace {
	g := NewGate()
	g.refuse("op", time.Now(), maxBackoff)
	return g.pace("op")
}

func TestPace_rate(t *testing.T) {
	t.Parallel()
	const refused, accepted, early, unhindered = 'r', 'a', 'e', 'u'
	for _, tt := range []struct {
		name   string
		events string // r: refused, a: accepted after a wait, e: both, sent before the last change, u: accepted at once
		max    time.Duration
		want   float64
	}{
		{name: "first refusal", want: 20},
		{name: "then accepted", events: "a", want: 20 * 1.05},
		{name: "accepted again", events: "aa", want: 20 * 1.05 * 1.05},
		{name: "refused again", events: "r", want: 8},
		{name: "accepted after two refusals", events: "ra", want: 12},
		{name: "as fast as before, nearly", events: "raa", want: 18},
		{name: "slowly above that", events: "raaa", want: 18 * 1.01},
		{name: "a little too fast", events: "raaar", want: 18 * 1.01 * 0.8},
		{name: "slowly at once", events: "raaara", want: 18 * 1.01 * 0.8 * 1.01},
		{name: "fewer than every maximum pause", events: "rrrrrrrrr", want: 0.2},
		{name: "a short MaxBackoff", events: "rrrrrrrrr", max: time.Second, want: 1},
		{name: "in flight together", events: "reee", want: 8},
		{name: "no faster than the calls", events: "uuu", want: 20},
		{name: "a success counts without a wait too", events: "ur", want: 16},
	} {
		synctest.Test(t, func(t *testing.T) {
			if tt.max == 0 {
				tt.max = time.Minute
			}
			p := newPace(tt.max)
			for _, event := range tt.events {
				now := time.Now()
				time.Sleep(time.Millisecond)
				switch event {
				case refused:
					p.refuse(time.Now())
				case accepted:
					p.accept(time.Now(), 1)
				case early:
					p.accept(now.Add(-time.Second), 1)
					p.refuse(now.Add(-time.Second))
				case unhindered:
					p.accept(time.Now(), 0)
				}
			}
			if math.Abs(p.rate/tt.want-1) > 1e-9 {
				t.Errorf("%s: %v per second, want %v", tt.name, p.rate, tt.want)
			}
		})
	}
}

// Calls pass one by one, in the order they came, with pauses that differ.
func TestPace_order(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPace(time.Minute)
		calls := passAll(40, func() (time.Duration, error) { return p.pass(t.Context(), time.Minute, 0) })
		shortest, longest, last := time.Hour, time.Duration(0), time.Duration(0)
		for i, c := range calls {
			if c.n != i || c.err != nil || c.wait != c.at {
				t.Errorf("call %d passed as number %d after %v, wait %v, error %v", c.n, i, c.at, c.wait, c.err)
			}
			pause := c.at - last
			shortest, longest, last = min(shortest, pause), max(longest, pause), c.at
		}
		const ms = time.Millisecond
		if shortest < 37*ms || shortest > 45*ms || longest < 55*ms || longest > 63*ms {
			t.Errorf("pauses of %v to %v, want about 37.5ms to 62.5ms", shortest, longest)
		}
	})
}

// A call waits at most maxWait, and only if that may help.
func TestPace_longestWait(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for _, tt := range []struct {
		name     string
		waiting  int // calls that came before
		attempts int
		maxWait  time.Duration
		deadline time.Duration // 0: none
		cancel   time.Duration // when the context is canceled; 0: never
		wantAt   time.Duration // when pass returns, at the latest
		atLeast  time.Duration // when it returns at the earliest; 0: wantAt
		want     error
	}{
		{name: "maxWait is shorter than the pause", maxWait: second, wantAt: second},
		{name: "behind 15 others", waiting: 15, maxWait: 20 * second, wantAt: 20 * second},
		{name: "behind 16 others", waiting: 16, maxWait: 20 * second, want: ErrGate},
		{name: "behind 16 others, for the second time", waiting: 16, attempts: 1, maxWait: 20 * second, wantAt: 20 * second},
		{name: "behind 16 others, but soon enough", waiting: 16, maxWait: 200 * second, wantAt: 85 * second,
			atLeast: 63 * second},
		{name: "a deadline before its turn", waiting: 1, maxWait: time.Minute, deadline: 5 * second, want: ErrGate},
		{name: "a deadline after maxWait", waiting: 15, maxWait: second, deadline: second + 1, wantAt: second},
		{name: "a deadline after maxWait, as the first", maxWait: second, deadline: second + 1, wantAt: second},
		{name: "a deadline at maxWait", waiting: 15, maxWait: second, deadline: second, want: ErrGate},
		{name: "canceled", waiting: 1, maxWait: time.Minute, cancel: second, wantAt: second, want: context.Canceled},
		{name: "canceled as the first", maxWait: time.Minute, cancel: second, wantAt: second, want: context.Canceled},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPace(time.Minute)
			for range 10 {
				p.refuse(time.Now())
			}
			others, end := context.WithCancel(t.Context())
			defer end()
			for range tt.waiting {
				go func() { _, _ = p.pass(others, time.Hour, 1) }()
				synctest.Wait()
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.cancel > 0 {
				time.AfterFunc(tt.cancel, cancel)
			}
			if tt.deadline > 0 {
				ctx, cancel = context.WithTimeout(ctx, tt.deadline)
				defer cancel()
			}
			start := time.Now()
			_, err := p.pass(ctx, tt.maxWait, tt.attempts)
			if at := time.Since(start); at > tt.wantAt || at < cmp.Or(tt.atLeast, tt.wantAt) || !errors.Is(err, tt.want) {
				t.Errorf("%s: error %v after %v, want %v after %v", tt.name, err, at, tt.want, tt.wantAt)
			}
		})
	}
}

// The first call of the queue ends at once if a refusal moves its turn beyond its deadline.
func TestPace_refusedWhileInQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPace(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.AfterFunc(10*time.Millisecond, func() {
			for range 10 {
				p.refuse(time.Now())
			}
		})
		start := time.Now()
		wait, err := p.pass(ctx, time.Minute, 0)
		if at := time.Since(start); !errors.Is(err, ErrGate) || wait < 3*time.Second || at > 100*time.Millisecond {
			t.Errorf("pass() = %v, %v after %v, want 3s or more, %v, at most 100ms", wait, err, at, ErrGate)
		}
	})
}

// An operation is forgotten a minute after its last refusal, but not while calls wait for it.
func TestPace_forgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		refuse := func() { g.refuse("op", time.Now(), time.Hour) }
		refuse()
		if g.pace("op") == nil || g.pace("another") != nil {
			t.Error("the operation is not slowed, or another one is")
		}
		time.Sleep(memory)
		if g.pace("op") == nil {
			t.Errorf("forgotten after %v, want a little later", memory)
		}
		refuse()
		time.Sleep(memory + 1)
		g.paces["op"].waiting = 1
		if g.pace("op") == nil {
			t.Error("forgotten while a call waits")
		}
		g.paces["op"].waiting = 0
		if g.pace("op") != nil || len(g.paces) != 0 {
			t.Errorf("remembered after %v: %v", memory+1, g.paces)
		}
	})
}
