package commercetest

import (
	"context"
	"sync"

	"github.com/commerce-go/commerce"
)

// Locker is a [commerce.Locker] in memory, for tests of several clients that write to the same
// carts as several processes would. Pass one Locker to [commerce.WithCartLocker] of each client.
// A lock never expires; [Locker.Lose] takes it away.
//
// Those that wait for a lock get it in the order in which they came. Use [NewLocker] to make a
// Locker. It is safe for concurrent use, and works inside a [testing/synctest] bubble.
type Locker struct {
	mu    sync.Mutex
	locks map[string]*lock // by key
}

var _ commerce.Locker = (*Locker)(nil)

type lock struct {
	// holder holds an element while the lock is held. Those that wait send to the channel: the
	// runtime serves senders in order.
	holder chan struct{}
	end    func() // ends the lock of the last holder, if it has not ended; nil: there was none
}

// NewLocker returns a Locker whose locks are free.
func NewLocker() *Locker { return &Locker{locks: map[string]*lock{}} }

// Lock waits for the lock with this key, until ctx ends. Then it returns the error of ctx.
func (l *Locker) Lock(ctx context.Context, key string) (held context.Context, unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	k := l.lock(key)
	select {
	case k.holder <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	held, cancel := context.WithCancel(context.Background())
	end := sync.OnceFunc(func() {
		cancel() // first, so that two calls never hold the lock
		<-k.holder
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	k.end = end
	return held, end, nil
}

func (l *Locker) lock(key string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.locks[key]
	if k == nil {
		k = &lock{holder: make(chan struct{}, 1)}
		l.locks[key] = k
	}
	return k
}

// Lose takes the lock with this key away from the call that holds it, as if it had expired. The
// next call that waits for the lock gets it. If the lock is free, Lose does nothing. The key of a
// cart is described at [commerce.Locker]; for [Store.Client] it is
// "commerce/store.example/carts/ID".
func (l *Locker) Lose(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.locks[key]; k != nil && k.end != nil {
		k.end()
	}
}
