package transport

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrGate marks an attempt that was not made: the service asked all calls to
// wait, and this one may not wait that long.
var ErrGate = errors.New("the service asked all calls to wait longer than this one may")

const (
	// firstRate is how many calls a second leave a gate that opens: a little less
	// than the lowest limit that is documented for a store. leastRate is what
	// refusals can bring it down to.
	firstRate, leastRate = 20.0, 5.0
	// pacing is for how long calls are paced after the last 429.
	pacing = 5 * time.Second
)

// Gate holds back all calls of a client while the service asks for that, by a 429
// with a Retry-After. When it opens, calls leave it one by one in the order they
// came, at a rate that grows by a tenth each second, and that a refusal of one of
// them halves. Make one with [NewGate]; it is safe for concurrent use.
type Gate struct {
	// head is held by the call whose turn is next. Those behind it wait to get it, in
	// order; one that is cancelled leaves no gap.
	head chan struct{}

	mu      sync.Mutex
	waiting int       // calls, the one at the head included
	shuts   int       // how often it was shut
	opens   time.Time // when it does, or last did
	paced   time.Time // until when calls are paced
	next    time.Time // before which no call that is paced may leave
	rate    float64   // calls a second at opens
	second  time.Time // start of the second that is counted
	left    [2]int    // calls that left in that second, and in the one before
}

// NewGate returns an open gate.
func NewGate() *Gate { return &Gate{head: make(chan struct{}, 1)} }

// pass waits for the call's turn to leave. It returns how long that took, and how
// often the gate was shut before. It returns ErrGate at once, with the wait there
// would be, if the gate opens only after most, if the turn would come later than
// most after that, or only at the deadline of ctx.
func (g *Gate) pass(ctx context.Context, most time.Duration) (shuts int, wait time.Duration, err error) {
	g.mu.Lock()
	now := time.Now()
	if g.waiting == 0 && !g.turn(now).After(now) {
		defer g.mu.Unlock()
		return g.leave(now), 0, nil
	}
	wait = g.wait(now)
	if !g.may(ctx, now, wait, most) {
		defer g.mu.Unlock()
		return g.shuts, wait, ErrGate
	}
	g.waiting++
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.waiting--
	}()

	select {
	case g.head <- struct{}{}:
		defer func() { <-g.head }()
	case <-ctx.Done():
		return 0, 0, ctxErr(ctx)
	}
	for {
		g.mu.Lock()
		at := time.Now()
		left := g.turn(at).Sub(at)
		switch {
		case left <= 0:
			defer g.mu.Unlock()
			return g.leave(at), at.Sub(now), nil
		case !g.may(ctx, at, left, most): // it was shut again
			defer g.mu.Unlock()
			return g.shuts, left, ErrGate
		}
		g.mu.Unlock()
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, 0, ctxErr(ctx)
		}
	}
}

// turn is when the call at the head may leave.
func (g *Gate) turn(now time.Time) time.Time {
	turn := now
	if g.opens.After(turn) {
		turn = g.opens
	}
	// Those that waited leave one by one for a while also where the gate was shut for
	// longer than calls are paced.
	if (now.Before(g.paced) || g.waiting > 1 && now.Before(g.opens.Add(time.Second))) && g.next.After(turn) {
		turn = g.next
	}
	return turn
}

// wait is how long a call that comes now will wait, if it is not shut meanwhile.
func (g *Gate) wait(now time.Time) time.Duration {
	turn, end := g.turn(now), g.opens.Add(time.Second)
	if g.paced.After(end) {
		end = g.paced // from then on nobody waits
	}
	behind := time.Duration(float64(g.waiting) / g.rateAt(turn) * float64(time.Second))
	return min(turn.Sub(now)+behind, max(end.Sub(now), turn.Sub(now)))
}

// may reports whether a call may wait so long.
func (g *Gate) may(ctx context.Context, now time.Time, wait, most time.Duration) bool {
	shut := max(0, g.opens.Sub(now))
	deadline, ok := ctx.Deadline()
	return shut <= most && wait-shut <= most && (!ok || now.Add(wait).Before(deadline))
}

// leave lets a call leave.
func (g *Gate) leave(now time.Time) (shuts int) {
	g.roll(now)
	g.left[0]++
	if g.rate > 0 {
		g.next = now.Add(time.Duration(float64(time.Second) / g.rateAt(now)))
	}
	return g.shuts
}

// shutSince reports whether the gate is shut, and was not when a call left it.
func (g *Gate) shutSince(shuts int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shuts != shuts && time.Now().Before(g.opens)
}

// shut shuts the gate for d, after a 429 to a call that left at that time. It
// says nothing new of the rate if the gate was shut after the call left.
func (g *Gate) shut(left time.Time, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	switch {
	case left.Before(g.opens):
	case now.Before(g.paced):
		g.rate = max(leastRate, g.rateAt(left)/2)
	default:
		g.roll(now)
		lately := float64(g.left[0]) + float64(g.left[1])*(1-now.Sub(g.second).Seconds())
		g.rate = max(firstRate, lately/2)
	}
	g.paced = now.Add(pacing)
	if opens := now.Add(d); opens.After(g.opens) {
		g.shuts++
		g.opens, g.next = opens, opens
	}
}

func (g *Gate) rateAt(t time.Time) float64 { return g.rate * (1 + t.Sub(g.opens).Seconds()/10) }

// roll begins another second of the count when it is time.
func (g *Gate) roll(now time.Time) {
	switch since := now.Sub(g.second); {
	case since >= 2*time.Second:
		g.second, g.left = now, [2]int{}
	case since >= time.Second:
		g.second, g.left = g.second.Add(time.Second), [2]int{0, g.left[0]}
	}
}
