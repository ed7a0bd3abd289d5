package rediscommerce

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce"
)

// LockerConfig sets up a [Locker].
type LockerConfig struct {
	// Expiry is the time after which the lock of a process that died is granted to another, from
	// 1 s to 10 min. Use the same in all processes: after a restart of the server, one with a
	// shorter Expiry may be granted a lock that another still holds. A process that cannot reach
	// the server loses its locks after 0.8 of it. Default 10 s.
	Expiry time.Duration
	// Timeout is how long a call waits for a response of the server, at most half of the time to
	// its deadline. Default 2 s.
	Timeout time.Duration
	// WithoutGrace lets a server that is new, has restarted, was promoted or has lost its data
	// grant locks at once. The price: for up to Expiry after that, a process that had a lock before
	// may write to a cart at the same time as the one that has it now.
	WithoutGrace bool
	// IfUnavailable is called if a lock cannot be requested because the server cannot be used. If
	// it returns nil, the call goes on without the lock, otherwise it ends with that error. Without
	// IfUnavailable, the call ends. A call that ends for this reason was not sent. A call that
	// waits for a lock until its deadline always ends, and one that has the lock and loses it
	// always ends in [commerce.ErrLock]. The text of err has no address, but errors.As finds in
	// err the error of go-redis, which may have one.
	IfUnavailable func(ctx context.Context, err error) error
}

// Locker is a [commerce.Locker] that processes share. It is safe for concurrent use.
//
// A lock is a lease, which its holder extends until it is released. Whether a lease has ended is
// decided by the clocks of the clients, never by the server's clock. A holder relies on its lease
// until 0.8 of Expiry after it sent the last extension that succeeded. Another process takes the
// lock over when its calls have seen the same value of it for 0.9 of Expiry, by a compare-and-set.
// Therefore the clock of the server may move, and a process may stop at any point between two
// writes.
//
// A server that has restarted, was promoted or has lost its data grants no lock until a process
// has waited for 0.9 of Expiry, unless WithoutGrace is set. By then all earlier leases have ended.
// The first lock ever takes that long too.
//
// Processes that wait for a lock get it in the order in which they asked, and so do the calls of a
// process among themselves: the first one asks for all, again and again. If a request fails, the
// first one ends, and the process asks for the others from the end of the queue. All calls end
// together when the server has not responded for Timeout. A process that was killed while it
// waited keeps its place for at most 2 s.
type Locker struct {
	server       *server
	expiry       time.Duration
	withoutGrace bool

	mu    sync.Mutex
	lines map[string]*line    // by field: the calls that wait
	seen  map[string]sighting // by field: the values because of which locks were not granted
}

var _ commerce.Locker = (*Locker)(nil)

// locksKey is the key of the hash that holds all locks. Its field serverField shows whether locks
// are granted, and sweepField when the locks of dead processes are removed.
const locksKey, serverField, sweepField = "commerce/locks", "server", "sweep"

// maxLocks is the number of fields after which the locks of dead processes are removed, and of
// values after which a process forgets those that it saw.
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
	acquireScript = &script{source: serverSource + acquireSource}
	extendScript  = &script{source: serverSource + extendSource}
	releaseScript = &script{source: serverSource + releaseSource}
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
	return &Locker{
		server: server, expiry: cfg.Expiry, withoutGrace: cfg.WithoutGrace,
		lines: map[string]*line{}, seen: map[string]sighting{},
	}, nil
}

// leaseOf is how long a holder believes in its lock after it sent the command that succeeded.
func leaseOf(expiry time.Duration) time.Duration { return expiry / 10 * 8 }

// patience is how long the others must see the same value. The difference to leaseOf is for clocks
// of different speed.
func patience(expiry time.Duration) time.Duration { return expiry / 10 * 9 }

// Lock implements [commerce.Locker]. It waits for the lock at most until ctx ends. unlock waits
// until the server has released the lock, but not after ctx has ended.
func (l *Locker) Lock(ctx context.Context, key string) (held context.Context, unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	q, c := l.join("lock/" + key)
	timeout := l.server.timeoutOf(ctx)
	silent := time.NewTimer(timeout)
	defer silent.Stop()
	for {
		select {
		case r := <-c:
			if r.err == nil {
				return r.Held, sync.OnceFunc(func() { r.unlock(ctx) }), nil
			}
			err = r.err
		case <-ctx.Done():
			if !q.leave(c) {
				continue // there is a result
			}
			err = l.endOfWait(ctx)
		case <-silent.C:
			if wait := q.leaveIfSilent(c, timeout); wait > 0 {
				silent.Reset(wait)
				continue
			}
			err = &unavailableError{err: os.ErrDeadlineExceeded}
		}
		if err := l.server.goOn(ctx, err); err != nil {
			return nil, nil, err
		}
		return context.Background(), func() {}, nil
	}
}

// ErrNewServer is matched by the error of a call that waited for a lock until its context ended,
// because the server is new, has restarted, was promoted or has lost its data, see [Locker]. Its
// text says when locks are granted, if a call waits for one then.
var ErrNewServer = errors.New("rediscommerce: the server is new")

// newServerError says when a new server grants locks.
type newServerError struct {
	from time.Time
	err  error // of the context
}

func (e *newServerError) Error() string { return e.SafeMessage() + ": " + e.err.Error() }

// SafeMessage lets the library show the reason.
func (e *newServerError) SafeMessage() string {
	return fmt.Sprintf("%v, and grants locks from %s on", ErrNewServer, e.from.Format(time.RFC3339))
}

func (e *newServerError) Unwrap() []error { return []error{ErrNewServer, e.err} }

// endOfWait returns the error of a call that waited for a lock until ctx ended.
func (l *Locker) endOfWait(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	closed, ok := l.seen[serverField]
	if !ok {
		return ctx.Err()
	}
	return &newServerError{from: closed.first.Add(patience(l.expiry)), err: ctx.Err()}
}

// sighting is a value that the server sent, and when it was first seen. Calls share what they saw:
// each alone may be too short to see a value for long enough.
type sighting struct {
	value string
	first time.Time // of this process: it was received then
}

// see notes the value of a field.
func (l *Locker) see(field, value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[field].value == value {
		return
	}
	if len(l.seen) >= maxLocks { // of calls that gave up
		clear(l.seen)
	}
	l.seen[field] = sighting{value, time.Now()}
}

// unchanged returns the value of a field if it was seen for long enough, otherwise "". It uses the
// monotonic clock: a process that is not running measures too little rather than too much.
func (l *Locker) unchanged(field string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.seen[field]
	if time.Since(s.first) < patience(expiryOf(s.value, l.expiry)) {
		return ""
	}
	return s.value
}

// ticketLife is the time after which a process that has not asked again loses its place in a queue.
// It asks at least every 150 ms.
const ticketLife = time.Second

// oldQueue returns the queue for a lock that was seen last, and whether that was long enough ago: a
// ticket that is still the same belongs to a dead process.
func (l *Locker) oldQueue(field string) (queue string, old bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.seen[queueOf+field]
	return s.value, time.Since(s.first) >= ticketLife
}

// queueOf and the field of a lock are the name under which its queue is in Locker.seen.
const queueOf = "queue of "

// forget is called when a lock was granted.
func (l *Locker) forget(field string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.seen, field)
	delete(l.seen, queueOf+field)
}

// expiryOf returns the expiry in the value of a lock, or of a sweep: that of holders, which may
// differ from ours while a new version is deployed.
func expiryOf(value string, ours time.Duration) time.Duration {
	if parts := strings.Split(value, ":"); len(parts) > 2 {
		if ms, err := strconv.Atoi(parts[2]); err == nil && ms >= 1000 && ms <= 600_000 {
			return time.Duration(ms) * time.Millisecond
		}
	}
	return ours
}
