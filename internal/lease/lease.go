// Package lease is the clock of a process that has a lock which expires: it decides whether the
// process still has it. The lockers of rediscommerce and sqlcommerce share it.
package lease

import (
	"context"
	"sync"
	"time"
)

// Instant is a time on two clocks. The monotonic clock stops while a machine sleeps. The wall
// clock may be set.
type Instant struct {
	monotonic time.Time // has a monotonic reading
	wall      time.Time // has none
}

// Now returns the time on both clocks.
func Now() Instant {
	t := time.Now()
	return Instant{t, t.Round(0)}
}

// since returns the time since start, by the clock on which it is longer.
func (i Instant) since(start Instant) time.Duration {
	return max(i.monotonic.Sub(start.monotonic), i.wall.Sub(start.wall))
}

// Held is a context that ends when a lease ends. It is safe for concurrent use.
type Held struct {
	length time.Duration
	now    func() Instant
	done   chan struct{}
	timer  *time.Timer

	mu    sync.Mutex
	start Instant // of the last command that succeeded
	err   error   // nil: the lease has not ended, as far as is known
}

// New returns a lease that lasts until its length after start: take start before the command that
// requests the lock is sent. End must be called, or a timer is left behind.
func New(length time.Duration, start Instant) *Held { return newHeld(length, start, Now) }

func newHeld(length time.Duration, start Instant, now func() Instant) *Held {
	h := &Held{length: length, now: now, done: make(chan struct{}), start: start}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(length, func() { _ = h.Err() })
	return h
}

// Err implements [context.Context]. It compares clocks: the process may have been stopped, and its
// timers late.
func (h *Held) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return h.err
	}
	if left := h.length - h.now().since(h.start); left > 0 {
		h.timer.Reset(left)
		return nil
	}
	h.endLocked(context.DeadlineExceeded)
	return h.err
}

// Extend begins a new lease. start is from before the command that succeeded was sent. A lease that
// has ended stays so.
func (h *Held) Extend(start Instant) {
	if h.Err() != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if start.monotonic.After(h.start.monotonic) { // extensions may overlap
		h.start = start
	}
}

// End ends the lease, if it has not ended.
func (h *Held) End(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endLocked(err)
}

func (h *Held) endLocked(err error) {
	if h.err == nil {
		h.err = err
		h.timer.Stop()
		close(h.done)
	}
}

// Done implements [context.Context].
func (h *Held) Done() <-chan struct{} { return h.done }

// Deadline implements [context.Context]. The lease is extended, so it has none.
func (h *Held) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Value implements [context.Context].
func (h *Held) Value(any) any { return nil }
