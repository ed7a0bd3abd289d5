package transport

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	// firstRate is how many calls of an operation pass per second after its first 429. It is a
	// little less than the lowest documented limit of a store.
	firstRate = 20.0
	// maxPause is the longest pause between two calls of an operation, however many are refused. 50
	// clients that know nothing of each other then send 10 requests per second in all.
	maxPause = 5 * time.Second
	// memory is how long an operation is paced after its last 429.
	memory = time.Minute
	// maxPatient is the number of calls that may wait for an operation however low its rate is. A
	// walk never has more.
	maxPatient = 16
)

// pace holds back the calls of one operation after a 429 without a Retry-After. They pass one by
// one in the order they came, at a rate that follows the responses:
//   - A refusal lowers the rate. If it is the first one after a call was accepted, the rate was a
//     little too high. If not, it was much too high.
//   - A call that was accepted raises the rate: quickly up to the rate at which calls were accepted
//     before, as if only a burst was refused, and slowly above that.
//
// The rate stays near the limit of the service, whether that counts in windows or by a bucket, and
// a single 429 of a service without a limit costs about a second. The factors are those that did
// best in simulations of walks and of many clients, at stores that accept 10 to 100 requests per
// second.
type pace struct {
	queue
	rate     float64       // calls per second
	known    float64       // rate that the service probably accepts
	growth   float64       // factor of a rate above known, for each call that was accepted
	maxPause time.Duration // between two calls
	nextPass time.Time     // no call may pass before this time
	slowedAt time.Time     // when a refusal last lowered the rate
	accepted bool          // a call was accepted since then
}

// pace returns the pace of an operation, or nil if its calls need not wait.
func (g *Gate) pace(op string) *pace {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.paces[op]; p != nil && p.isOver() {
		delete(g.paces, op)
	}
	return g.paces[op]
}

// refuse slows an operation, because a call that was sent at sentAt got a 429 without a
// Retry-After.
func (g *Gate) refuse(op string, sentAt time.Time, maxBackoff time.Duration) {
	if p := g.pace(op); p != nil {
		p.refuse(sentAt)
		return
	}
	now := time.Now()
	p := &pace{
		queue: queue{head: make(chan struct{}, 1)}, rate: firstRate, known: firstRate, growth: 1.05,
		maxPause: min(maxPause, maxBackoff), slowedAt: now,
	}
	p.letPass(now)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.paces[op] == nil { // otherwise a call in flight with this one was refused just now
		g.paces[op] = p
	}
}

func (p *pace) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting == 0 && time.Since(p.slowedAt) > memory
}

// pass waits until the call may be sent, at most for maxWait: then the call is sent before its
// turn. It returns ErrGate and the expected wait at once
//   - if the call would not be sent before the deadline of ctx,
//   - if it would be sent for the first time after more than maxWait, behind maxPatient others.
func (p *pace) pass(ctx context.Context, maxWait time.Duration, attempts int) (wait time.Duration, err error) {
	p.mu.Lock()
	start := time.Now()
	wait = max(0, p.nextPass.Sub(start)) + time.Duration(float64(p.waiting)/p.rate*float64(time.Second))
	isTooMuch := attempts == 0 && p.waiting >= maxPatient && wait > maxWait
	switch {
	case wait == 0:
		defer p.mu.Unlock()
		p.letPass(start)
		return 0, nil
	case isTooMuch || !beforeDeadline(ctx, start.Add(min(wait, maxWait))):
		defer p.mu.Unlock()
		return wait, ErrGate
	}
	p.waiting++
	p.mu.Unlock()

	err = p.wait(ctx, maxWait, func() (time.Duration, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		now := time.Now()
		wait = min(p.nextPass.Sub(now), start.Add(maxWait).Sub(now))
		switch {
		case wait <= 0:
			p.letPass(now)
		case !beforeDeadline(ctx, now.Add(wait)): // another call was refused
			return wait, ErrGate
		}
		return wait, nil
	})
	switch {
	case errors.Is(err, ErrGate):
		return wait, err
	case errors.Is(err, errLate):
		p.mu.Lock()
		defer p.mu.Unlock()
		p.letPass(time.Now())
		err = nil
	}
	return time.Since(start), err
}

// letPass sets the pause after a call that passes, or was refused, now. It varies by a quarter, to
// keep the clients of a store from sending at the same time. The caller holds p.mu.
func (p *pace) letPass(now time.Time) {
	pause := (0.75 + rand.Float64()/2) / p.rate
	p.nextPass = now.Add(min(p.maxPause, time.Duration(pause*float64(time.Second))))
}

// refuse lowers the rate, because a call that was sent at sentAt was refused. Of calls in flight
// together, the first one that is refused counts.
func (p *pace) refuse(sentAt time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case sentAt.Before(p.slowedAt):
		return
	case p.accepted:
		p.rate *= 0.8
		p.known = p.rate
	default:
		p.rate *= 0.4
		p.known *= 0.9
	}
	p.rate = max(p.rate, 1/p.maxPause.Seconds())
	p.growth, p.accepted, p.slowedAt = 1.01, false, time.Now()
	p.letPass(p.slowedAt)
}

// accept raises the rate, because a call that was sent at sentAt was not refused. If it did not
// wait, the rate is not what limits the calls, and stays.
func (p *pace) accept(sentAt time.Time, waited time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sentAt.Before(p.slowedAt) {
		return
	}
	p.accepted = true
	switch {
	case waited == 0:
	case p.rate < p.known:
		p.rate = min(p.known, p.rate*1.5)
	default:
		p.rate *= p.growth
	}
}
