package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// The lease ends by the clock that ran further.
func TestHeld_clocks(t *testing.T) {
	t.Parallel()
	const lease = 8 * time.Second
	for _, tt := range []struct {
		name            string
		monotonic, wall time.Duration // since the start
		want            error
	}{
		{name: "just granted"},
		{name: "both before the end", monotonic: lease - 1, wall: lease - 1},
		{name: "both at the end", monotonic: lease, wall: lease, want: context.DeadlineExceeded},
		{name: "the machine slept", monotonic: time.Second, wall: lease, want: context.DeadlineExceeded},
		{name: "the wall clock was set back", monotonic: time.Second, wall: -time.Hour},
		{name: "… and the lease ended", monotonic: lease, wall: -time.Hour, want: context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			start := Now()
			h := newHeld(lease, start, func() Instant {
				return Instant{start.monotonic.Add(tt.monotonic), start.wall.Add(tt.wall)}
			})
			defer h.End(context.Canceled)
			if err := h.Err(); !errors.Is(err, tt.want) {
				t.Errorf("Err() = %v, want %v", err, tt.want)
			}
		})
	}
}

func TestHeld_extend(t *testing.T) {
	t.Parallel()
	const lease = 8 * time.Second
	synctest.Test(t, func(t *testing.T) {
		first := Now()
		h := New(lease, first)
		time.Sleep(2 * time.Second)
		second := Now()
		time.Sleep(2 * time.Second)
		h.Extend(second)
		h.Extend(first) // an extension that overlapped
		time.Sleep(6*time.Second - 1)
		if err := h.Err(); err != nil {
			t.Errorf("before the end of the second lease: Err() = %v, want nil", err)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		select {
		case <-h.Done():
		default:
			t.Error("Done is open at the end of the second lease, want closed")
		}
		h.Extend(Now())
		h.End(context.Canceled)
		if err := h.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("extended after the end: Err() = %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

// The timer of a lock that was released is stopped.
func TestHeld_end(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := New(time.Second, Now())
		h.End(context.Canceled)
		for range 2 {
			if err := h.Err(); !errors.Is(err, context.Canceled) {
				t.Errorf("Err() = %v, want %v", err, context.Canceled)
			}
		}
		if h.timer.Stop() {
			t.Error("the timer still runs")
		}
		if _, ok := h.Deadline(); ok || h.Value(0) != nil {
			t.Error("got a deadline or a value, want none")
		}
	})
}
