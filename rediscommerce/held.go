package rediscommerce

import (
	"context"
	"sync"
	"time"
)

// instant is a time on two clocks. The monotonic clock stops while a machine sleeps. The wall
// clock may be set.
type instant struct {
	monotonic time.Time // has a monotonic reading
	wall      time.Time // has none
}

func now() instant {
	t := time.Now()
	return instant{t, t.Round(0)}
}

// since returns the time since start, by the clock on which it is longer.
func (i instant) since(start instant) time.Duration {
	return max(i.monotonic.Sub(start.monotonic), i.wall.Sub(start.wall))
}

// held is a context that ends when a lease ends.
type held struct {
	lease time.Duration
	now   func() instant
	done  chan struct{}
	timer *time.Timer

	mu    sync.Mutex
	start instant // of the last command that succeeded
	err   error   // nil: the lease has not ended, as far as is known
}

func newHeld(lease time.Duration, start instant, now func() instant) *held {
	h := &held{lease: lease, now: now, done: make(chan struct{}), start: start}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(lease, func() { _ = h.Err() })
	return h
}

// Err implements [context.Context]. It compares clocks: the process may have been stopped, and its
// timers late.
func (h *held) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return h.err
	}
	if left := h.lease - h.now().since(h.start); left > 0 {
		h.timer.Reset(left)
		return nil
	}
	h.endLocked(context.DeadlineExceeded)
	return h.err
}

// extend begins a new lease, with the start of a command. A lease that has ended stays so.
func (h *held) extend(start instant) {
	if h.Err() != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if start.monotonic.After(h.start.monotonic) { // extensions may overlap
		h.start = start
	}
}

// end ends the lease, if it has not ended.
func (h *held) end(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endLocked(err)
}

func (h *held) endLocked(err error) {
	if h.err == nil {
		h.err = err
		h.timer.Stop()
		close(h.done)
	}
}

// Done implements [context.Context].
func (h *held) Done() <-chan struct{} { return h.done }

// Deadline implements [context.Context]. The lease is extended, so it has none.
func (h *held) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Value implements [context.Context].
func (h *held) Value(any) any { return nil }
