package transport

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"
)

// ErrGate means that an attempt was not made: after a 429 calls wait, and this one must not wait so
// long.
var ErrGate = errors.New("the rate limit of the service makes calls wait longer than this one may")

// errLate means that a call waited in a queue as long as it may.
var errLate = errors.New("the longest wait is over")

const (
	// minFirstRate is how many calls per second pass a gate that has just opened, or more if more
	// passed before it was closed. It is a little less than the lowest documented limit of a store.
	minFirstRate = 20.0
	// minRate is the lowest rate, after repeated refusals.
	minRate = 5.0
	// pacing is how long calls are paced after the last 429.
	pacing = 5 * time.Second
)

// Gate holds back all calls of a client after a 429 with a Retry-After, until the service accepts
// requests again. When the gate opens, calls pass one by one in the order they came, at a rate that
// grows by a tenth per second. If the service refuses one of them, the gate closes again and the
// rate is halved.
//
// A 429 without a Retry-After concerns only the operation that got it: see [pace].
//
// Use [NewGate] to make one. It is safe for concurrent use.
type Gate struct {
	queue
	closings   int       // how often the gate was closed
	opensAt    time.Time // in the past if the gate is open
	pacedUntil time.Time
	nextPass   time.Time // if calls are paced, none may pass before this time
	rate       float64   // calls per second at opensAt
	countStart time.Time // when the current second of the count began
	passed     [2]int    // calls that passed in the current second, and in the previous one

	paces map[string]*pace // by Op
}

// NewGate returns an open gate.
func NewGate() *Gate {
	return &Gate{queue: queue{head: make(chan struct{}, 1)}, paces: map[string]*pace{}}
}

// queue is a queue of calls, and the lock of what they wait for.
type queue struct {
	// head holds an element while a call is first in the queue. Those behind it wait to send to the
	// channel: senders get their turn in order, and one that is cancelled leaves no gap.
	head chan struct{}

	mu      sync.Mutex
	waiting int // calls in the queue, including the first one
}

// wait waits until the call is first in the queue and try, which then lets it pass, returns no
// further wait. It returns errLate if the call is not the first one after maxWait, and any error of
// try. The caller has counted it in q.waiting.
func (q *queue) wait(ctx context.Context, maxWait time.Duration, try func() (time.Duration, error)) error {
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.waiting--
	}()
	select {
	case q.head <- struct{}{}:
		defer func() { <-q.head }()
	case <-time.After(maxWait):
		return errLate
	case <-ctx.Done():
		return ctxErr(ctx)
	}
	for {
		wait, err := try()
		if wait <= 0 || err != nil {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctxErr(ctx)
		}
	}
}

// pass waits until the call may pass. It returns how long that took, and how often the gate had
// been closed before.
//
// It returns ErrGate and the expected wait at once
//   - if the gate opens later than maxWait from now,
//   - if the call would pass later than maxWait after that,
//   - if the call would not pass before the deadline of ctx.
//
// If the gate is closed again meanwhile, it returns ErrGate after 2*maxWait at the latest.
func (g *Gate) pass(ctx context.Context, maxWait time.Duration) (closings int, wait time.Duration, err error) {
	g.mu.Lock()
	start := time.Now()
	if g.waiting == 0 && !g.turn(start).After(start) {
		defer g.mu.Unlock()
		return g.letPass(start), 0, nil
	}
	if wait = g.expectedWait(start); !g.mayWait(ctx, start, wait, maxWait) {
		defer g.mu.Unlock()
		return g.closings, wait, ErrGate
	}
	g.waiting++
	g.mu.Unlock()

	maxTotal := 2 * min(maxWait, math.MaxInt64/2)
	err = g.wait(ctx, maxTotal, func() (time.Duration, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		now := time.Now()
		wait := g.turn(now).Sub(now)
		isLate := now.Add(wait).After(start.Add(maxTotal))
		switch {
		case wait <= 0:
			closings = g.letPass(now)
		case isLate || !g.mayWait(ctx, now, wait, maxWait): // the gate was closed again
			return wait, ErrGate
		}
		return wait, nil
	})
	if errors.Is(err, ErrGate) || errors.Is(err, errLate) {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.closings, g.expectedWait(time.Now()), ErrGate
	}
	return closings, time.Since(start), err
}

// turn returns when the first call of the queue may pass. The caller of this and of the next four
// methods holds g.mu.
func (g *Gate) turn(now time.Time) time.Time {
	turn := now
	if g.opensAt.After(turn) {
		turn = g.opensAt
	}
	// Even if the gate was closed for longer than calls are paced, the queue is paced for the first
	// second.
	queuePaced := g.waiting > 1 && now.Before(g.opensAt.Add(time.Second))
	if (now.Before(g.pacedUntil) || queuePaced) && g.nextPass.After(turn) {
		turn = g.nextPass
	}
	return turn
}

// expectedWait returns how long a call that comes now will wait, unless the gate is closed
// meanwhile.
func (g *Gate) expectedWait(now time.Time) time.Duration {
	turn := g.turn(now)
	pacingEnd := g.opensAt.Add(time.Second)
	if g.pacedUntil.After(pacingEnd) {
		pacingEnd = g.pacedUntil
	}
	queue := time.Duration(float64(g.waiting) / g.rateAt(turn) * float64(time.Second))
	return min(turn.Sub(now)+queue, max(pacingEnd.Sub(now), turn.Sub(now)))
}

// mayWait reports whether a call with this context and maxWait may wait that long.
func (g *Gate) mayWait(ctx context.Context, now time.Time, wait, maxWait time.Duration) bool {
	closedFor := max(0, g.opensAt.Sub(now))
	return closedFor <= maxWait && wait-closedFor <= maxWait && beforeDeadline(ctx, now.Add(wait))
}

// beforeDeadline reports whether t is before the deadline of ctx.
func beforeDeadline(ctx context.Context, t time.Time) bool {
	deadline, ok := ctx.Deadline()
	return !ok || t.Before(deadline)
}

// letPass counts a call that passes now. It returns the number of closings so far.
func (g *Gate) letPass(now time.Time) (closings int) {
	g.updateCount(now)
	g.passed[0]++
	if g.rate > 0 {
		g.nextPass = now.Add(time.Duration(float64(time.Second) / g.rateAt(now)))
	}
	return g.closings
}

// updateCount starts another second of the count if the current one is over.
func (g *Gate) updateCount(now time.Time) {
	switch since := now.Sub(g.countStart); {
	case since >= 2*time.Second:
		g.countStart, g.passed = now, [2]int{}
	case since >= time.Second:
		g.countStart, g.passed = g.countStart.Add(time.Second), [2]int{0, g.passed[0]}
	}
}

func (g *Gate) rateAt(t time.Time) float64 { return g.rate * (1 + t.Sub(g.opensAt).Seconds()/10) }

// closedSince reports whether the gate is closed, and was closed after the call for which pass
// returned closings.
func (g *Gate) closedSince(closings int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closings != closings && time.Now().Before(g.opensAt)
}

// close closes the gate for d, because a call that passed at passedAt was refused with a 429. The
// refusal changes the rate only if the call passed after the gate last opened: of the calls that
// were in flight together, the first counts.
func (g *Gate) close(passedAt time.Time, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	switch {
	case passedAt.Before(g.opensAt):
	case now.Before(g.pacedUntil):
		g.rate = max(minRate, g.rateAt(passedAt)/2)
	default:
		g.updateCount(now)
		// The calls of the last second: all that the current second of the count has, and a part of
		// the one before it.
		lastRate := float64(g.passed[0]) + float64(g.passed[1])*(1-now.Sub(g.countStart).Seconds())
		g.rate = max(minFirstRate, lastRate/2)
	}
	g.pacedUntil = now.Add(pacing)
	if opensAt := now.Add(d); opensAt.After(g.opensAt) {
		g.closings++
		g.opensAt, g.nextPass = opensAt, opensAt
	}
}
