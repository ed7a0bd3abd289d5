package rediscommerce

import (
	"context"
	"crypto/rand"
	_ "embed"
	mathrand "math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce"
)

// LockerConfig sets up a [Locker].
type LockerConfig struct {
	// Expiry is the time after which the lock of a process that died is granted to another, from
	// 1 s to 10 min. It must be the same in all processes. A process that cannot reach the server
	// loses its locks after 0.8 of it. Default 10 s.
	Expiry time.Duration
	// Timeout is how long a call waits for a response of the server, at most half of the time to
	// its deadline. Default 2 s.
	Timeout time.Duration
	// IfUnavailable is called if a lock cannot be requested because the server cannot be used. If
	// it returns nil, the call goes on without the lock, else it ends with that error. Without
	// IfUnavailable, the call ends. A call that ends was not sent. A call that has the lock and loses
	// it always ends in [commerce.ErrLock]. The text of err has no address, but errors.As finds in
	// err the error of go-redis, which may have one.
	IfUnavailable func(ctx context.Context, err error) error
}

// Locker is a [commerce.Locker] that processes share. It is safe for concurrent use.
//
// A lock is a lease, which its holder extends until it is released. Whether a lease has ended is
// decided by the clocks of the clients, never by that of the server. A holder relies on its lease
// until 0.8 of Expiry after it sent the last extension that succeeded. Another process takes the
// lock over when it has seen the same value of it for 0.9 of Expiry, by a compare-and-set. So the
// clock of the server may move, and a process may stop at any point between two writes.
//
// A server that has restarted, was promoted or has lost its data grants no lock until a process
// has waited for 0.9 of Expiry. By then all earlier leases have ended. The first lock ever takes
// that long too. Waiting calls get the lock in no particular order.
type Locker struct {
	server *server
	expiry time.Duration
}

var _ commerce.Locker = (*Locker)(nil)

// locksKey is the key of the hash that holds all locks.
const locksKey = "commerce/locks"

// maxLocks is the number of locks after which those of dead processes are removed. It is far beyond the
// number of locks that are held at once.
const maxLocks = 10_000

//go:embed server.lua
var serverSource string

//go:embed acquire.lua
var acquireSource string

//go:embed extend.lua
var extendSource string

//go:embed release.lua
var releaseSource string

var (
	acquireScript = redis.NewScript(serverSource + acquireSource)
	extendScript  = redis.NewScript(serverSource + extendSource)
	releaseScript = redis.NewScript(releaseSource)
)

// NewLocker returns a locker on the server of c. c should have timeouts, as it has by default:
// a call ends in time without them, but leaves a goroutine behind if the server never responds.
func NewLocker(c redis.UniversalClient, cfg LockerConfig) (*Locker, error) {
	server, err := newServer(c, cfg.Timeout, cfg.IfUnavailable)
	if err != nil {
		return nil, err
	}
	if cfg.Expiry == 0 {
		cfg.Expiry = 10 * time.Second
	}
	if cfg.Expiry < time.Second || cfg.Expiry > 10*time.Minute {
		return nil, invalid("Expiry", "must be from 1 s to 10 min, or 0 for 10 s")
	}
	return &Locker{server: server, expiry: cfg.Expiry}, nil
}

// lease is how long a holder believes in its lock after it sent the command that succeeded.
func lease(expiry time.Duration) time.Duration { return expiry / 10 * 8 }

// patience is how long the others must see the same value. The difference to lease is for clocks
// of different speed.
func patience(expiry time.Duration) time.Duration { return expiry / 10 * 9 }

// Lock implements [commerce.Locker]. It waits for the lock at most until ctx ends. unlock waits
// until the server has released the lock, but not after ctx has ended.
func (l *Locker) Lock(ctx context.Context, key string) (held context.Context, unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	r := &request{Locker: l, field: "lock/" + key, token: rand.Text()}
	for {
		lock, late, err := r.ask(ctx)
		switch {
		case err != nil:
			go r.withdraw(context.WithoutCancel(ctx), late)
			if err := l.server.goOn(ctx, err); err != nil {
				return nil, nil, err
			}
			return context.Background(), func() {}, nil
		case lock != nil:
			go r.extend(lock)
			return lock, func() { r.unlock(ctx, lock) }, nil
		}
		if err := sleep(ctx, l.pause()); err != nil {
			return nil, nil, err
		}
	}
}

// pause returns the time between two requests for a lock. It is random, so that processes do not
// ask in step.
func (l *Locker) pause() time.Duration {
	pause := min(max(l.expiry/100, 10*time.Millisecond), 100*time.Millisecond)
	return pause/2 + mathrand.N(pause) //nolint:gosec // no secret
}

// request is one call of Lock.
type request struct {
	*Locker
	field, token string
	counter      int      // of the last command
	taken        sighting // the value of the lock, if another process has it
	closed       sighting // the value of the field "server", if no locks are granted
}

// sighting is a value that the server sent, and when it was first seen.
type sighting struct {
	value string
	first time.Time // of this process: it was received then
}

func (s *sighting) see(value string) {
	if value != s.value {
		*s = sighting{value, time.Now()}
	}
}

// since returns the value if it has been seen for d, else "". It uses the monotonic clock: a
// process that is not running measures too little rather than too much.
func (s *sighting) since(d time.Duration) string {
	if s.value == "" || time.Since(s.first) < d {
		return ""
	}
	return s.value
}

// ask asks for the lock once. lock is nil if it was not granted. If err is not nil, late holds a
// command that may yet acquire the lock.
func (r *request) ask(ctx context.Context) (lock *held, late *command, err error) {
	r.counter++
	start := now()
	response, late, err := r.server.run(ctx, acquireScript, locksKey, r.field, r.token, r.counter,
		r.expiry.Milliseconds(), r.taken.since(patience(expiryOf(r.taken.value, r.expiry))),
		r.closed.since(patience(r.expiry)), rand.Text(), maxLocks)
	if err != nil {
		return nil, late, err
	}
	switch response[0] {
	case "taken":
		r.taken.see(response[1])
	case "closed":
		r.closed.see(response[1])
	case "granted":
		if lock := newHeld(lease(r.expiry), start, now); lock.Err() == nil {
			return lock, nil, nil
		}
		late := *r // the response came after the end of the lease
		go late.release(context.WithoutCancel(ctx))
		r.token, r.counter = rand.Text(), 0
	}
	return nil, nil, nil
}

// expiryOf returns the expiry in the value of a lock: that of its holder, which may differ from
// ours while a new version is deployed.
func expiryOf(value string, ours time.Duration) time.Duration {
	ms, err := strconv.Atoi(value[strings.LastIndexByte(value, ':')+1:])
	if err != nil || ms < 1000 || ms > 600_000 {
		return ours
	}
	return time.Duration(ms) * time.Millisecond
}

// withdraw releases a lock that a late command may acquire.
func (r *request) withdraw(ctx context.Context, late *command) {
	<-late.response
	r.release(ctx)
}

// release gives up when the timeout has passed. The lock then expires.
func (r *request) release(ctx context.Context) {
	_, _, _ = r.server.run(ctx, releaseScript, locksKey, r.field, r.token)
}

// extend extends the lease until the lock is lost or released. Extensions may overlap, so that one
// that hangs on a broken connection does not lose the lock.
func (r *request) extend(lock *held) {
	tick := time.NewTicker(r.expiry / 5)
	defer tick.Stop()
	for {
		select {
		case <-lock.Done():
			return
		case <-tick.C:
		}
		r.counter++
		start := now()
		go func(counter int) {
			response, _, err := r.server.run(lock, extendScript, locksKey, r.field, r.token, counter,
				r.expiry.Milliseconds())
			switch {
			case err != nil: // the next one may succeed
			case response[0] == "granted":
				lock.extend(start)
			case response[0] == "lost":
				lock.end(context.Canceled)
			} // "closed": no other process gets the lock before this lease has ended
		}(r.counter)
	}
}

func (r *request) unlock(ctx context.Context, lock *held) {
	lock.end(context.Canceled)
	released := make(chan struct{})
	go func() {
		defer close(released)
		r.release(context.WithoutCancel(ctx))
	}()
	select {
	case <-released:
	case <-ctx.Done():
	}
}
