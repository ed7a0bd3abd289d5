package transport

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// ErrGate means that an attempt was not made: after a 429 calls wait, and this one must not wait so
// long.
var ErrGate = errors.New("the rate limit of the service makes calls wait longer than this one may")

// errClosed means that the gate was closed after the limiter let a call go on.
var errClosed = errors.New("the gate was closed meanwhile")

const (
	// minFirstRate is the least rate after a first 429, in calls per second. A client that sent
	// little cannot know more, and the lowest documented limit of a store is higher. Simulations:
	// TestIdeal_limits, TestWalk_herd.
	minFirstRate = 10
	// maxPause is the longest pause between two calls if the service asks for none, however many it
	// refuses. 50 clients that know nothing of each other then send 10 requests per second in all.
	// No simulation chose it.
	maxPause = 5 * time.Second
	// memory is how long calls are paced after a 429 and the wait that it asks for. No simulation
	// chose it.
	memory = time.Minute
	// maxRefused is how many refusals in a row show that the service accepts nothing. It is also
	// the default of MaxRefusals. Simulations: TestGate_outage, TestBurst_acceptsNothing.
	maxRefused = 12

	// These did best in simulations of walks, bursts, outages, many clients and many operations,
	// at stores that accept 10 to 100 requests per second and count them in four ways. Each names
	// those that fail if it is changed much. A refusal with a Retry-After costs a second or more,
	// so that fewer of them are best.

	// kept is the rate after a later refusal, of what was accepted in the last second:
	// TestGate_operations.
	kept = 0.98
	// … if the refusal has a Retry-After. No simulation fails with 0.7 or 1.
	keptWait = 0.9
	// … and of the rate, if none was accepted since the last refusal with one: TestWalk_herd,
	// TestGate_busyHerd.
	keptAgain = 0.85
	// slower is the least that a refusal multiplies the rate by: TestIdeal_limits,
	// TestWalk_rateLimit.
	slower = 0.65
	// longer is what each further refusal in a row multiplies the pause by: TestGate_outage,
	// TestIdeal_limits.
	longer = 2.4
	// probing is what a call that was accepted adds to the rate until there is a second refusal:
	// TestWalk_rateLimit, TestGate_operations.
	probing = 2.0
	// … and afterwards, for each second since the last refusal: TestGate_recovery.
	growth = 0.01
)

const (
	// secondPause is the least pause after a second refusal in a row, before it gets longer: twelve
	// of them then take about half a minute, however high the rate. Simulation: TestIdeal_limits.
	secondPause = 40 * time.Millisecond
	// behindProbe is the longest pause behind the first call after a refusal, whose response shows
	// whether others may follow. Simulations: TestGate_outage, TestIdeal_limits, TestWalk_herd.
	behindProbe = 100 * time.Millisecond
)

// Gate holds back the calls of a client after a 429. A Retry-After concerns all calls of the
// client, a 429 without one only the operation that got it: these are the two scopes of a call. A
// call passes when both are open. All scopes follow one law:
//   - Calls pass with a pause between two of them, in the order in which they came to their
//     operation.
//   - The rate is what was accepted in the last second before a refusal, or a little less; a later
//     refusal takes about a third of the rate at most, as one second shows little. Of calls in
//     flight together, only the first one that is refused counts.
//   - A refusal closes the scope for the time in Retry-After, or for one pause. If the next call is
//     refused too, this was too short: the pause gets longer, and the rate stays. Only a
//     Retry-After, which sets the pause, lowers the rate instead.
//   - A call that was accepted raises the rate if this scope made it wait: quickly until there is a
//     second refusal, and then the faster the longer there was none.
//   - If the service accepts nothing, one call at a time waits, to find out when that ends.
//
// A call that waits is a goroutine of the caller and nothing else, so the queue has no limit of its
// own.
//
// Use [NewGate] to make one. It is safe for concurrent use.
type Gate struct {
	mu       sync.Mutex
	client   scope
	ops      map[string]*scope
	closings int // refusals with a Retry-After
}

// NewGate returns an open gate.
func NewGate() *Gate { return &Gate{ops: map[string]*scope{}} }

// scope is what the gate knows about the client or about an operation. Gate.mu guards it.
type scope struct {
	// head is the queue of an operation. It holds an element if no call is the first. Receivers get
	// their turn in order, and one that is canceled leaves no gap.
	head    chan time.Time
	waiting int // calls of the scope that wait, including the first

	opensAt    time.Time   // no call passes before
	pacedUntil time.Time   // until then there are pauses
	refusedAt  time.Time   // when the last refusal came that counts
	rate       float64     // calls per second; 0: none was refused yet
	isKnown    bool        // a second refusal showed the rate
	refused    int         // refusals that count since a call was accepted
	accepted   []time.Time // when calls were accepted, in the last second
}

// turn is what the gate knows about an attempt.
type turn struct {
	at       time.Time // when it passed
	by       *scope    // made it wait; nil: none did
	closings int       // of the gate when the limiter was asked; -1: it was not
}

// untilOpen waits until a call could pass, so that it may ask its limiter.
func (g *Gate) untilOpen(ctx context.Context, op string, t *turn) (wait time.Duration, err error) {
	return g.wait(ctx, op, func(o *scope, now time.Time) (time.Duration, error) {
		t.closings = g.closings
		return g.due(o, now, t), nil
	})
}

// pass waits until the call passes. It returns errClosed if the gate was closed after the limiter
// was asked: calls that wait would otherwise leave the gate faster than the limiter allows.
func (g *Gate) pass(ctx context.Context, op string, t *turn) (wait time.Duration, err error) {
	return g.wait(ctx, op, func(o *scope, now time.Time) (time.Duration, error) {
		wait := g.due(o, now, t)
		switch {
		case wait <= 0:
			t.at = now
			for _, s := range g.scopes(o) {
				if s.isPaced(now) {
					s.close(now, ofSeconds(max(1/s.rate, min(s.pause(), behindProbe.Seconds()))))
				}
			}
		case t.closings >= 0 && t.closings != g.closings:
			return wait, errClosed
		}
		return wait, nil
	})
}

// wait waits until a call is the first of its operation, and try returns no further wait. It
// returns ErrGate and the expected wait at once
//   - if that would be over after the deadline of ctx,
//   - if the service accepts nothing, and another call waits.
func (g *Gate) wait(
	ctx context.Context, op string, try func(*scope, time.Time) (time.Duration, error),
) (time.Duration, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	o, now := g.operation(op), time.Now()
	if o.waiting == 0 {
		if wait, err := try(o, now); wait <= 0 || err != nil {
			return 0, err
		}
	}
	for _, s := range g.scopes(o) {
		s.waiting++
		defer func() { s.waiting-- }()
	}
	if wait := g.expectedWait(o, now); !g.mayWait(ctx, o, now.Add(wait)) {
		return wait, ErrGate
	}
	if err := g.sleep(ctx, o.head); err != nil {
		return 0, err
	}
	defer func() { o.head <- time.Time{} }()
	for {
		now := time.Now()
		wait, err := try(o, now)
		switch {
		case err != nil || wait <= 0:
			return 0, err
		case !g.mayWait(ctx, o, now.Add(wait)): // another call was refused
			return wait, ErrGate
		}
		if err := g.sleep(ctx, time.After(wait)); err != nil {
			return 0, err
		}
	}
}

// sleep unlocks the gate until it receives from wake.
func (g *Gate) sleep(ctx context.Context, wake <-chan time.Time) error {
	g.mu.Unlock()
	defer g.mu.Lock()
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
		return ctxErr(ctx)
	}
}

// operation returns the scope of an operation. The caller of this and of all methods below holds
// g.mu, except for refuse and accept.
func (g *Gate) operation(op string) *scope {
	o := g.ops[op]
	if o == nil {
		o = &scope{head: make(chan time.Time, 1)}
		o.head <- time.Time{}
		g.ops[op] = o
	}
	return o
}

// scopes returns those of a call of the operation.
func (g *Gate) scopes(o *scope) [2]*scope { return [2]*scope{&g.client, o} }

// due returns the wait of the first call of an operation. It notes in t which scope demands it.
func (g *Gate) due(o *scope, now time.Time, t *turn) (wait time.Duration) {
	for _, s := range g.scopes(o) {
		if d := s.opensAt.Sub(now); d > wait {
			wait, t.by = d, s
		}
	}
	return wait
}

// expectedWait returns the wait of the last call of an operation, if all calls before it are
// accepted.
func (g *Gate) expectedWait(o *scope, now time.Time) (wait time.Duration) {
	for _, s := range g.scopes(o) {
		if s.rate != 0 { // it grows meanwhile
			growth := max(s.growth(now), growth)
			passed := math.Log1p(float64(s.waiting-1)*growth/s.rate) / growth
			wait = max(wait, max(0, s.opensAt.Sub(now))+ofSeconds(passed))
		}
	}
	return wait
}

// mayWait reports whether a call, which is counted as waiting, may wait until t.
func (g *Gate) mayWait(ctx context.Context, o *scope, t time.Time) bool {
	for _, s := range g.scopes(o) {
		if s.refused >= maxRefused && s.waiting > 1 {
			return false
		}
	}
	return beforeDeadline(ctx, t)
}

// isPaced reports whether there are pauses. A queue is paced to its end.
func (s *scope) isPaced(now time.Time) bool {
	return now.Before(s.pacedUntil) || s.rate > 0 && s.waiting > 1
}

// pause returns the pause after the last refusal, or between two calls, in seconds.
func (s *scope) pause() float64 {
	if s.refused < 2 {
		return 1 / s.rate
	}
	return max(1/s.rate, secondPause.Seconds()) * math.Pow(longer, float64(s.refused-1))
}

// growth returns what a call that is accepted adds to the rate.
func (s *scope) growth(now time.Time) float64 {
	if !s.isKnown {
		return probing
	}
	return growth * now.Sub(s.refusedAt).Seconds()
}

func ofSeconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// close lets no call pass for d.
func (s *scope) close(now time.Time, d time.Duration) {
	if opensAt := now.Add(d); opensAt.After(s.opensAt) {
		s.opensAt = opensAt
	}
}

// refuse lets the gate learn that a call got a 429. wait is the time in Retry-After; 0: none. It
// reports whether the service accepts nothing, so that the call must not be sent again.
func (g *Gate) refuse(op string, t *turn, wait, maxBackoff time.Duration) (acceptsNothing bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, now, longest := g.operation(op), time.Now(), min(maxPause, maxBackoff)
	if wait > 0 {
		s = &g.client
		g.closings++
	}
	if t.at.After(s.refusedAt) {
		g.slow(s, now, wait)
		s.rate = max(s.rate, 1/longest.Seconds())
		if wait == 0 {
			// The pause varies, so that the clients of a store do not come back together.
			wait = ofSeconds(min(s.pause()*(0.75+rand.Float64()/2), longest.Seconds()))
		}
	}
	wait = min(wait, maxBackoff)
	s.close(now, wait)
	s.pacedUntil = s.opensAt.Add(memory)
	return s.refused >= maxRefused
}

// slow lowers the rate of a scope after a refusal that asks for this wait.
func (g *Gate) slow(s *scope, now time.Time, wait time.Duration) {
	s.refusedAt = now
	part := kept
	if wait > 0 {
		part = keptWait
	}
	switch {
	case !s.isPaced(now): // the first refusal, or the first one after a long time
		s.rate, s.isKnown, s.refused = max(s.lately(now), minFirstRate), false, 0
	case s.refused == 0:
		s.rate, s.isKnown = max(min(s.rate, g.share(s, now))*part, s.rate*slower), true
	case wait > 0:
		s.rate, s.isKnown = s.rate*keptAgain, true
	default: // the pause was too short, which shows nothing about the rate
	}
	s.refused++
}

// share returns how many calls of a scope were accepted in the last second, and, as the limit may
// be that of all operations, its part of the others.
func (g *Gate) share(s *scope, now time.Time) float64 {
	own, all := s.lately(now), g.client.lately(now)
	return own + (all-own)*own/max(all, 1)
}

// lately returns how many calls were accepted in the last second.
func (s *scope) lately(now time.Time) float64 {
	old, _ := slices.BinarySearchFunc(s.accepted, now.Add(1-time.Second), time.Time.Compare)
	s.accepted = s.accepted[old:]
	return float64(len(s.accepted))
}

// accept lets the gate learn that a call was accepted.
func (g *Gate) accept(op string, t *turn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	for _, s := range g.scopes(g.operation(op)) {
		s.accepted = append(s.accepted, now)
		lately := s.lately(now)
		switch {
		case !t.at.After(s.refusedAt):
			if !s.isKnown { // in flight together with the first refusal
				s.rate = max(s.rate, lately)
			}
			continue
		case s == t.by: // otherwise this rate does not limit the calls
			s.rate += s.growth(now)
		}
		s.refused = 0
	}
}
