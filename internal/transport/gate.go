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
// with a Retry-After. When it opens, calls leave it one by one, at a rate that
// grows by a tenth each second, and that a refusal of one of them halves. Its zero
// value is open; it is safe for concurrent use.
type Gate struct {
	mu     sync.Mutex
	shuts  int       // how often it was shut
	opens  time.Time // when it does, or last did
	paced  time.Time // until when calls are paced
	next   time.Time // turn of the next call that is paced
	rate   float64   // calls a second at opens
	second time.Time // start of the second that is counted
	left   [2]int    // calls that left in that second, and in the one before
}

// pass waits for the call's turn to leave, and returns how long that took. It
// returns ErrGate at once, with the wait there would be, if the gate opens only
// after most, or if the turn comes only at the deadline of ctx.
func (g *Gate) pass(ctx context.Context, most time.Duration) (waited time.Duration, err error) {
	for {
		wait, shuts, err := g.enter(ctx, most)
		if err != nil {
			return wait, err
		}
		if wait == 0 {
			return waited, nil
		}
		turn := time.NewTimer(wait)
		select {
		case <-turn.C:
		case <-ctx.Done():
			turn.Stop()
			return waited, ctxErr(ctx)
		}
		if waited += wait; g.leave(shuts) {
			return waited, nil
		}
	}
}

// enter lets a call leave, or gives it a turn after wait.
func (g *Gate) enter(ctx context.Context, most time.Duration) (wait time.Duration, shuts int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if !now.Before(g.opens) && !now.Before(g.paced) {
		g.count(now)
		return 0, g.shuts, nil
	}
	turn := now
	for _, t := range []time.Time{g.opens, g.next} {
		if t.After(turn) {
			turn = t
		}
	}
	wait = turn.Sub(now)
	if deadline, ok := ctx.Deadline(); g.opens.Sub(now) > most || ok && wait > 0 && !turn.Before(deadline) {
		return wait, g.shuts, ErrGate
	}
	g.next = turn.Add(time.Duration(float64(time.Second) / g.rateAt(turn)))
	if wait == 0 {
		g.count(now)
	}
	return wait, g.shuts, nil
}

// leave lets a call leave whose turn has come, unless the gate was shut meanwhile.
func (g *Gate) leave(shuts int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shuts != shuts {
		return false
	}
	g.count(time.Now())
	return true
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

// count counts a call that leaves.
func (g *Gate) count(now time.Time) {
	g.roll(now)
	g.left[0]++
}

// roll begins another second of the count when it is time.
func (g *Gate) roll(now time.Time) {
	switch since := now.Sub(g.second); {
	case since >= 2*time.Second:
		g.second, g.left = now, [2]int{}
	case since >= time.Second:
		g.second, g.left = g.second.Add(time.Second), [2]int{0, g.left[0]}
	}
}
