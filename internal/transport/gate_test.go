package transport

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// leaveAll lets n calls pass at a time, and returns when each left, from start on.
func leaveAll(t *testing.T, g *Gate, n int, start time.Time) []time.Duration {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var left []time.Duration
	for range n {
		wg.Go(func() {
			if _, _, err := g.pass(t.Context(), time.Hour); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			left = append(left, time.Since(start))
		})
	}
	wg.Wait()
	slices.Sort(left)
	return left
}

func TestGate_open(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if left := leaveAll(t, NewGate(), 1000, time.Now()); left[999] != 0 {
			t.Errorf("the last call left after %v", left[999])
		}
	})
}

// TestGate_paces shows when calls leave that waited for the gate to open.
func TestGate_paces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		start := time.Now()
		g.close(start, 2*time.Second)
		left := leaveAll(t, g, 60, start)
		if left[0] != 2*time.Second {
			t.Errorf("the first call left after %v", left[0])
		}
		for n, at := range left[1:] {
			gap, least, most := at-left[n], time.Second/30, time.Second/20
			if gap < least || gap > most {
				t.Errorf("call %d left %v after the one before", n+1, gap)
			}
		}
		if rate := 1 / (left[59] - left[58]).Seconds(); rate < 25 {
			t.Errorf("the rate grew to %.1f a second only", rate)
		}
	})
}

// TestGate_refusedAgain shows how refusals bring the rate down, and to what.
func TestGate_refusedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		for n, want := range []time.Duration{50, 100, 200, 200, 200} { // ms
			start := time.Now()
			g.close(start, time.Second)
			left := leaveAll(t, g, 2, start)
			gap := left[1] - left[0]
			if left[0] != time.Second || gap.Round(10*time.Millisecond) != want*time.Millisecond || gap > time.Second/minRate {
				t.Errorf("after refusal %d calls left after %v", n+1, left)
			}
		}
	})
}

// TestGate_sameRefusal shows that what a burst of calls is told counts once.
func TestGate_sameRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		start := time.Now()
		for range 8 {
			g.close(start, time.Second)
		}
		time.Sleep(500 * time.Millisecond)
		g.close(start, time.Second) // a late answer: it moves the opening, and nothing else
		g.close(start, time.Millisecond)
		if left := leaveAll(t, g, 2, start); left[0] != 1500*time.Millisecond || left[1]-left[0] != 50*time.Millisecond {
			t.Errorf("calls left after %v", left)
		}
	})
}

// TestGate_rateOfBefore shows that pacing begins with half the rate that was
// refused, whenever in a second that is.
func TestGate_rateOfBefore(t *testing.T) {
	t.Parallel()
	for _, calls := range []int{300, 325, 350, 375} { // 100 a second
		synctest.Test(t, func(t *testing.T) {
			g := NewGate()
			for range calls {
				if _, _, err := g.pass(t.Context(), time.Hour); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Millisecond)
			}
			start := time.Now()
			g.close(start, time.Second)
			left := leaveAll(t, g, 2, start)
			if gap := left[1] - left[0]; gap < 19*time.Millisecond || gap > 21*time.Millisecond {
				t.Errorf("%d calls before: calls left after %v", calls, left)
			}
			time.Sleep(10 * time.Second) // what left long ago does not count
			start = time.Now()
			g.close(start, time.Second)
			if left := leaveAll(t, g, 2, start); left[1]-left[0] != 50*time.Millisecond {
				t.Errorf("after a rest calls left after %v", left)
			}
		})
	}
}

// TestGate_countsThoseThatWait shows that calls that left are not taken for some
// that wait: another one would be turned away for them.
func TestGate_countsThoseThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		start := time.Now()
		g.close(start, time.Second)
		leaveAll(t, g, 60, start)
		time.Sleep(pacing)
		start = time.Now()
		g.close(start, time.Second)
		if _, wait, err := g.pass(t.Context(), time.Second); err != nil || wait != time.Second {
			t.Errorf("wait %v, error %v", wait, err)
		}
	})
}

// TestGate_pacingEnds shows that calls come through at once 5 s after the last 429.
func TestGate_pacingEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		start := time.Now()
		g.close(start, time.Second)
		time.Sleep(pacing - 1)
		if left := leaveAll(t, g, 2, start); left[1] == left[0] {
			t.Errorf("just before the end calls left after %v", left)
		}
		time.Sleep(time.Until(start.Add(pacing)))
		if left := leaveAll(t, g, 100, start); left[99] != left[0] {
			t.Errorf("calls left after %v to %v", left[0], left[99])
		}
		// Those that waited for a gate that opens later still leave one by one.
		time.Sleep(pacing)
		start = time.Now()
		g.close(start, 2*pacing)
		if left := leaveAll(t, g, 10, start); left[0] != 2*pacing || left[9]-left[0] < 300*time.Millisecond {
			t.Errorf("calls left after %v", left)
		}
	})
}

// TestGate_shutWhileWaiting shuts the gate again while calls wait for their turn.
func TestGate_shutWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		start := time.Now()
		g.close(start, time.Second)
		time.AfterFunc(1060*time.Millisecond, func() { g.close(start.Add(time.Second), 3*time.Second) })
		left := leaveAll(t, g, 4, start)
		if left[1] >= 1060*time.Millisecond || left[2] != 4060*time.Millisecond || left[3] <= left[2] {
			t.Errorf("calls left after %v", left)
		}
	})
}

// TestGate_mayNotWait shows which calls are turned away, and that they are at once.
func TestGate_mayNotWait(t *testing.T) {
	t.Parallel()
	const shut = 3 * time.Second
	for _, tt := range []struct {
		name     string
		deadline time.Duration // 0: none
		most     time.Duration
		waits    bool
	}{
		{"no deadline", 0, time.Hour, true},
		{"a deadline beyond the opening", shut + 1, time.Hour, true},
		{"a deadline at the opening", shut, time.Hour, false},
		{"a deadline before the opening", time.Second, time.Hour, false},
		{"a cap at the opening", 0, shut, true},
		{"a cap before the opening", 0, shut - 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tt.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				g := NewGate()
				start := time.Now()
				g.close(start, shut)
				_, wait, err := g.pass(ctx, tt.most)
				took := time.Since(start)
				if tt.waits && (err != nil || took != shut || wait != shut) || !tt.waits && (!errors.Is(err, ErrGate) || took != 0 || wait != shut) {
					t.Errorf("wait %v, error %v, after %v", wait, err, took)
				}
			})
		})
	}
}

func TestGate_cancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		g := NewGate()
		start := time.Now()
		g.close(start, 3*time.Second)
		if _, _, err := g.pass(ctx, time.Hour); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
		if left := leaveAll(t, g, 1, start); left[0] > 3100*time.Millisecond {
			t.Errorf("the next call left after %v", left[0])
		}
	})
}

// TestGate_cancelledLeaveNoGap lets many calls wait, and cancels them: those that
// come after do not wait for their turns.
func TestGate_cancelledLeaveNoGap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		start := time.Now()
		g.close(start, time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, _, err := g.pass(ctx, time.Hour); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		if left := leaveAll(t, g, 1, start); left[0] != time.Second {
			t.Errorf("the call after them left after %v", left[0])
		}
	})
}

// TestGate_order shows that calls leave in the order they came, also where the gate
// is shut again while they wait.
func TestGate_order(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		start := time.Now()
		g.close(start, time.Second)
		time.AfterFunc(1120*time.Millisecond, func() { g.close(start.Add(time.Second), time.Second) })
		var wg sync.WaitGroup
		var mu sync.Mutex
		var order []int
		for n := range 20 {
			wg.Go(func() {
				if _, _, err := g.pass(t.Context(), time.Hour); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, n)
			})
			time.Sleep(time.Millisecond)
		}
		wg.Wait()
		if !slices.IsSorted(order) || len(order) != 20 {
			t.Errorf("they left in the order %v", order)
		}
	})
}

// TestGate_queueIsBounded turns away those whose turn would come too late.
func TestGate_queueIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		start := time.Now()
		g.close(start, time.Second)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var turnedAway int
		var last time.Duration
		for range 100 {
			wg.Go(func() {
				_, _, err := g.pass(t.Context(), 2*time.Second)
				mu.Lock()
				defer mu.Unlock()
				switch took := time.Since(start); {
				case err == nil:
					last = max(last, took)
				case errors.Is(err, ErrGate) && took == 0:
					turnedAway++
				default:
					t.Errorf("error %v after %v", err, took)
				}
			})
		}
		wg.Wait()
		if turnedAway < 50 || turnedAway > 60 || last > 3*time.Second {
			t.Errorf("%d turned away, the last left after %v", turnedAway, last)
		}
	})
}
