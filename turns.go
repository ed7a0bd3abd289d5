package commerce

import (
	"context"
	"fmt"
	"sync"

	"github.com/commerce-go/commerce/internal/transport"
)

// Locker is a lock that several processes share, so that they do not write to a cart at the
// same time: the service may then lose one of the writes. See [WithCartLocker].
//
// Lock waits for the lock with this key, at most until ctx ends. held ends when the lock is
// lost, e.g. because it expired. held.Err must be right when it is called: it must compare
// clocks, because a timer may fire late. unlock releases the lock; it is called once.
//
// The key is "commerce/", the host of the base address, "/carts/" and the cart id. A Locker
// must be safe for concurrent use. It need not be reentrant.
type Locker interface {
	Lock(ctx context.Context, key string) (held context.Context, unlock func(), err error)
}

// turns lets the writes of a client to a cart take turns, in the order they came. It keeps
// nothing about carts without a write.
type turns struct {
	mu    sync.Mutex
	carts map[string]*cartTurns // by cart id
}

type cartTurns struct {
	// current holds an element while a write has its turn. Those that wait send to the
	// channel: the runtime serves senders in order, and one that gives up leaves no gap.
	current chan struct{}
	writes  int // that have their turn, or wait for it
}

func newTurns() *turns { return &turns{carts: map[string]*cartTurns{}} }

// take waits for a turn. end ends it.
func (t *turns) take(ctx context.Context, cartID string) (end func(), err error) {
	t.mu.Lock()
	c := t.carts[cartID]
	if c == nil {
		c = &cartTurns{current: make(chan struct{}, 1)}
		t.carts[cartID] = c
	}
	c.writes++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if c.writes--; c.writes == 0 {
			delete(t.carts, cartID)
		}
	}
	if err := ctx.Err(); err != nil {
		leave()
		return nil, err
	}
	select {
	case c.current <- struct{}{}:
		return func() { <-c.current; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// cartLock is the right to write to a cart: the turn, and the lock if there is a Locker.
type cartLock struct {
	end  func()
	held context.Context //nolint:containedctx // the state of the lock, which lives as long
}

// lockCart waits for the turn of a cart, then for its lock. The error matches [ErrLock], or is
// that of ctx.
func (c *core) lockCart(ctx context.Context, cartID string) (lock *cartLock, err error) {
	call := c.observed(ctx)
	start := call.now()
	endTurn, err := c.cfg.turns.take(ctx, cartID)
	call.waitedForTurn(start)
	if err != nil {
		return nil, err
	}
	if c.cfg.locker == nil {
		return &cartLock{end: endTurn, held: context.Background()}, nil
	}
	defer func() {
		if lock == nil { // also if the locker panics
			endTurn()
		}
	}()
	start = call.now()
	held, unlock, err := c.cfg.locker.Lock(ctx, "commerce/"+c.base.Host+"/carts/"+cartID)
	call.waitedForLock(start)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w", ErrLock, transport.Withhold("the locker failed (its text is withheld)", err))
	}
	end := func() {
		defer endTurn() // also if unlock panics
		unlock()
	}
	return &cartLock{end: end, held: held}, nil
}

// check returns an error if the lock is lost. It is called before each attempt of a write: a
// write in flight goes on.
func (l *cartLock) check() error {
	if l.held.Err() != nil {
		return fmt.Errorf("%w: the lock was lost", ErrLock)
	}
	return nil
}
