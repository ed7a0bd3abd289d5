package rediscommerce

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/commerce-go/commerce/internal/lease"
)

// line is the queue of the calls of this process that want a lock. A goroutine asks for all of
// them, with one request at a time, so that the process has one place in the queue on the server.
type line struct {
	*Locker
	field string

	calls  []call    // that wait, in the order of arrival
	silent time.Time // since then the server has not responded; zero: it has, and the lock is taken
}

// call is a call of Lock that waits: where its result goes.
type call chan result

// result is a lock, or an error.
type result struct {
	*lease.Held

	unlocked chan struct{} // closed by the call
	released chan struct{} // closed when the lock is released on the server, or that has failed
	err      error
}

// unlock waits until the lock is released, but not after ctx has ended.
func (r result) unlock(ctx context.Context) {
	close(r.unlocked)
	r.End(context.Canceled)
	select {
	case <-r.released:
	case <-ctx.Done():
	}
}

// join lets a call wait at the end of a line.
func (l *Locker) join(field string) (*line, call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.lines[field]
	if q == nil {
		q = &line{Locker: l, field: field, silent: time.Now()}
		l.lines[field] = q
		go q.serve(context.Background()) // for all calls: it has the values of none
	}
	c := make(call, 1)
	q.calls = append(q.calls, c)
	return q, c
}

// leave reports false if the call has a result already.
func (q *line) leave(c call) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.calls, c)
	if i >= 0 {
		q.calls = slices.Delete(q.calls, i, i+1)
	}
	return i >= 0
}

// leaveIfSilent leaves if the server has not responded for the timeout, for which the call has
// waited at least. It returns how long to wait before that can be so, 0 if it is. If the call has a
// result already, it does not matter.
func (q *line) leaveIfSilent(c call, timeout time.Duration) (wait time.Duration) {
	q.mu.Lock()
	since := q.silent
	q.mu.Unlock()
	if since.IsZero() {
		return timeout
	}
	if wait = timeout - time.Since(since); wait > 0 || !q.leave(c) {
		return max(wait, time.Millisecond)
	}
	return 0
}

// serve asks for the lock until no call waits for it.
func (q *line) serve(ctx context.Context) {
	r := q.newRequest()
	for waiting := q.ask(); len(waiting) > 0; waiting = q.ask() {
		lock, late, err := r.ask(ctx)
		if err != nil {
			q.fail(waiting[0], err)
			go r.releaseLate(ctx, late)
			r = q.newRequest()
			continue
		}
		q.respond()
		if lock == nil {
			_ = sleep(ctx, r.pause()) // ctx does not end
			continue
		}
		q.use(ctx, r, lock)
		r = q.newRequest()
	}
	if r.counter > 0 { // it has asked
		_ = r.release(ctx)
	}
}

// ask is called before a request for the lock. It returns the calls that wait. If there are none,
// the line ends.
func (q *line) ask() []call {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.calls) == 0 {
		delete(q.lines, q.field)
	}
	if q.silent.IsZero() {
		q.silent = time.Now()
	}
	return slices.Clone(q.calls)
}

// respond is called when the server has responded.
func (q *line) respond() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.silent = time.Time{}
}

// fail ends the call for which a request failed, the first of those that waited. The others end
// when the server has been silent for too long.
func (q *line) fail(c call, err error) {
	if q.leave(c) {
		c <- result{err: err}
	}
}

// use passes a lock to the first call that waits, and returns when it is released, or lost.
func (q *line) use(ctx context.Context, r *request, lock *lease.Held) {
	granted := result{Held: lock, unlocked: make(chan struct{}), released: make(chan struct{})}
	if lock.Err() != nil || !q.pass(granted) { // the response came after the end of the lease, or all calls gave up
		lock.End(context.Canceled)
		_ = r.release(ctx)
		return
	}
	go r.extend(lock) //nolint:contextcheck // the lock is its context
	<-lock.Done()
	select {
	case <-granted.unlocked:
		defer close(granted.released)
		q.mu.Lock()
		q.silent = time.Now()
		q.mu.Unlock()
		if r.release(ctx) == nil { // otherwise the others ask: they may succeed
			q.respond()
		}
	default: // it was lost, but its call may be in the middle of a write
		go func() {
			<-granted.unlocked
			_ = r.release(ctx)
			close(granted.released)
		}()
	}
}

// pass reports false if no call waits any more.
func (q *line) pass(granted result) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.calls) == 0 {
		return false
	}
	q.calls[0] <- granted
	q.calls = q.calls[1:]
	return true
}

// request asks for a lock until it is granted, extends it, and releases it.
type request struct {
	*Locker
	field, token string
	counter      int       // of the last command
	ahead        int       // the number of processes that get the lock before this one
	moved        time.Time // when ahead was seen to change
}

func (q *line) newRequest() *request {
	return &request{Locker: q.Locker, field: q.field, token: rand.Text()}
}

// ask asks for the lock once. lock is nil if it was not granted. If err is not nil, the command may
// still acquire the lock until late receives.
func (r *request) ask(ctx context.Context) (lock *lease.Held, late <-chan []string, err error) {
	r.counter++
	start := lease.Now()
	queue, old := r.oldQueue(r.field)
	if !old {
		queue = ""
	}
	response, late, err := r.server.run(ctx, acquireScript, locksKey, r.field, r.token, r.counter,
		r.expiry.Milliseconds(), r.unchanged(r.field), r.unchanged(serverField), r.unchanged(sweepField),
		rand.Text(), maxLocks, queue, r.withoutGrace)
	if err != nil {
		return nil, late, err
	}
	if response[0] != "closed" {
		r.forget(serverField)
	}
	switch response[0] {
	case "granted":
		r.forget(r.field)
		r.see(sweepField, response[1])
		return lease.New(leaseOf(r.expiry), start), nil, nil
	case "closed":
		r.see(serverField, response[1])
		r.move(maxLocks)
	default:
		value, queue, _ := strings.Cut(response[1], " ")
		r.see(r.field, value)
		if old {
			r.see(queueOf+r.field, queue)
		}
		before, _, _ := strings.Cut(queue, r.token)
		r.move(strings.Count(before, " "))
	}
	return nil, nil, nil
}

// move notes how many processes get the lock before this one.
func (r *request) move(ahead int) {
	if r.ahead != ahead || r.moved.IsZero() {
		r.ahead, r.moved = ahead, time.Now()
	}
}

// pause returns the time between two requests for a lock. It is short for the processes that are
// next, the more so the shorter the holder has the lock, so that the lock is free for a small part
// of the time. It is random, so that processes do not ask in step.
func (r *request) pause() time.Duration {
	pause := 10 * time.Millisecond
	if r.ahead <= 1 {
		pause = min(max(time.Since(r.moved)/8, 2*time.Millisecond), pause)
	}
	pause = min(time.Duration(1+r.ahead)*pause, r.expiry/100, 100*time.Millisecond)
	return pause/2 + mathrand.N(pause) //nolint:gosec // no secret
}

// release deletes the lock or the ticket, if there may be one. If the server does not respond,
// others wait until it expires.
func (r *request) release(ctx context.Context) error {
	_, _, err := r.server.run(ctx, releaseScript, locksKey, r.field, r.token)
	return err
}

// releaseLate releases the lock that a request may still acquire.
func (r *request) releaseLate(ctx context.Context, late <-chan []string) {
	<-late
	_ = r.release(ctx)
}

// extend extends the lease until the lock is lost or released. Extensions may overlap, so that one
// that hangs on a broken connection does not lose the lock.
func (r *request) extend(lock *lease.Held) {
	tick := time.NewTicker(r.expiry / 5)
	defer tick.Stop()
	for {
		select {
		case <-lock.Done():
			return
		case <-tick.C:
		}
		r.counter++
		start := lease.Now()
		go func(counter int) {
			response, _, err := r.server.run(lock, extendScript, locksKey, r.field, r.token, counter,
				r.expiry.Milliseconds())
			switch {
			case err != nil: // the next one may succeed
			case response[0] == "granted":
				lock.Extend(start)
			case response[0] == "lost":
				lock.End(context.Canceled)
			} // "closed": no other process gets the lock before this lease has ended
		}(r.counter)
	}
}
