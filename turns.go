package commerce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/commerce-go/commerce/internal/transport"
)

// Locker is a lock that several processes share, so that they do not write to a cart at the
// same time: the service may then lose one of the writes. See [WithCartLocker].
//
// Lock waits for the lock with this key, at most until ctx ends. held ends when the lock is
// lost, e.g. because it expired. held.Err must be right when it is called: it must compare
// clocks, because a timer may fire late. unlock releases the lock; it is called once.
//
// The key is "commerce/", the host of the base address, "/carts/" and the cart id. The host is
// in lower case, without a final dot, and has its port if that is not the default port of its
// scheme, e.g. "commerce/store.example:8443/carts/ID". A Locker must be safe for concurrent use.
// It need not be reentrant.
//
// [errors.Is] finds the error of Lock in that of the call, [errors.As] does not. Its text is not
// shown, as it may hold addresses or secrets, unless it has a method SafeMessage() string.
type Locker interface {
	Lock(ctx context.Context, key string) (held context.Context, unlock func(), err error)
}

// turns lets writes to a cart take turns, in the order they came. It keeps nothing about carts
// without a write.
type turns struct {
	mu    sync.Mutex
	carts map[string]*cartTurns // by the key of the lock
}

// processTurns are those of all clients with the library's own transport: two clients of one store
// must not overlap either. Other transports may belong to different bubbles of testing/synctest,
// whose channels must not meet.
var processTurns = newTurns()

type cartTurns struct {
	// current holds an element while a write has its turn. Those that wait send to the
	// channel: the runtime serves senders in order, and one that gives up leaves no gap.
	current chan struct{}
	writes  int // that have their turn, or wait for it
}

func newTurns() *turns { return &turns{carts: map[string]*cartTurns{}} }

// take waits for a turn. end ends it.
func (t *turns) take(ctx context.Context, key string) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	c := t.carts[key]
	if c == nil {
		c = &cartTurns{current: make(chan struct{}, 1)}
		t.carts[key] = c
	}
	c.writes++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if c.writes--; c.writes == 0 {
			delete(t.carts, key)
		}
	}
	select {
	case c.current <- struct{}{}:
		return func() { <-c.current; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, transport.WaitError(ctx, "its turn")
	}
}

// cartWriter describes the writes of a call to a cart, and has the turn and the lock for them.
type cartWriter struct {
	op     string
	cartID string
	// end ends the turn and the lock of the cart, and held is the state of the lock: lock sets
	// both. Without a Locker held never ends.
	end  func()
	held context.Context //nolint:containedctx // lives as long as the lock
	// around is the turn that the caller's context belongs to: checkTurn sets it.
	around *heldTurn
}

// heldTurn is a value of the context of a function of the caller that is called in the turn of a
// cart. A write to the cart in that function would wait for itself for ever.
type heldTurn struct {
	key    string
	around *heldTurn   // which the call was made in
	ended  atomic.Bool // the function has returned
}

type heldTurnKey struct{}

// holdTurn returns a context for a function of the caller. leave must be called when it returns.
func (w *cartWriter) holdTurn(ctx context.Context, c *core) (held context.Context, leave func()) {
	turn := &heldTurn{key: c.lockPrefix + w.cartID, around: w.around}
	return context.WithValue(ctx, heldTurnKey{}, turn), func() { turn.ended.Store(true) }
}

// checkTurn returns a [*ValidationError] if ctx belongs to a function that is called in the turn of
// the cart.
func (w *cartWriter) checkTurn(ctx context.Context, c *core) error {
	w.around, _ = ctx.Value(heldTurnKey{}).(*heldTurn)
	for turn := w.around; turn != nil; turn = turn.around {
		if turn.key == c.lockPrefix+w.cartID && !turn.ended.Load() {
			return invalid("context", "must not belong to a function that is called in the turn of this cart")
		}
	}
	return nil
}

func newCartWriter(op, cartID string) *cartWriter {
	return &cartWriter{op: op, cartID: cartID, held: context.Background()}
}

// lock waits for the turn of the cart, then for its lock. The error matches the error of ctx if
// that ended, and [ErrLock] if there was no lock when the turn had come.
func (w *cartWriter) lock(ctx context.Context, c *core) error {
	call := observedIn(ctx, c.cfg.observer)
	start, key := time.Now(), c.lockPrefix+w.cartID
	endTurn, err := c.cfg.turns.take(ctx, key)
	call.waited(Waits{Turn: transport.WaitSince(start)})
	if err != nil {
		return &Error{Op: w.op, Outcome: OutcomeNotSent, Err: err}
	}
	if c.cfg.locker == nil {
		w.end = endTurn
		return nil
	}
	defer func() {
		if w.end == nil { // also if the locker panics
			endTurn()
		}
	}()
	start = time.Now()
	held, unlock, err := c.cfg.locker.Lock(ctx, key)
	call.waited(Waits{Lock: transport.WaitSince(start)})
	if err != nil {
		cause := transport.WaitError(ctx, "the lock of the cart")
		switch {
		case cause == nil:
			cause = transport.Withhold("the locker failed, errors.Is finds why", err)
		case errors.Is(err, ctx.Err()) && err != ctx.Err(): //nolint:errorlint // it says more
			cause = fmt.Errorf("%w (%w)", cause, transport.Withhold("errors.Is finds why", err))
		}
		return &Error{Op: w.op, Outcome: OutcomeNotSent, Err: fmt.Errorf("%w: %w", ErrLock, cause)}
	}
	w.held = held
	w.end = func() {
		defer endTurn() // also if unlock panics; not before it, or the next call would wait for this lock
		unlock()
	}
	return nil
}

var defaultPorts = map[string]string{"https": "443", "http": "80"}

// lockPrefix returns what the keys of the locks of all carts begin with. All spellings of a host
// have the same one, so that processes with different ones exclude each other.
func lockPrefix(base *url.URL) string {
	host, port := strings.TrimSuffix(strings.ToLower(base.Hostname()), "."), defaultPorts[base.Scheme]
	address := net.JoinHostPort(host, cmp.Or(base.Port(), port))
	return "commerce/" + strings.TrimSuffix(address, ":"+port) + "/carts/"
}

// checkLock returns an error if the lock is lost. It is called before each attempt of a write: a
// write in flight goes on.
func (w *cartWriter) checkLock() error {
	if w.held.Err() != nil {
		return fmt.Errorf("%w: the lock was lost", ErrLock)
	}
	return nil
}

// checkWritten returns an error if the lock was lost during a write that got a response: a write
// of another process may have overlapped it, and undone it.
func (w *cartWriter) checkWritten(r *transport.Result) error {
	if err := w.checkLock(); err != nil {
		return &Error{
			Op: w.op, StatusCode: r.StatusCode, Outcome: OutcomeUnknown,
			RequestID: transport.RequestID(r.Header), Attempts: r.Attempts, Err: err,
		}
	}
	return nil
}
