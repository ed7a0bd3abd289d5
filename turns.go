package commerce

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"strings"
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
// The key is "commerce/", the host of the base address, "/carts/" and the cart id. The host is
// in lower case, without a final dot, and has its port if that is not the default port of its
// scheme, e.g. "commerce/store.example:8443/carts/ID". A cart id that is a UUID is in lower case. A
// Locker must be safe for concurrent use. It need not be reentrant.
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

var defaultPorts = map[string]string{"https": "443", "http": "80"}

// lockPrefix returns what the keys of the locks of all carts begin with. All spellings of a host
// have the same one, so that processes with different ones exclude each other.
func lockPrefix(base *url.URL) string {
	host, port := strings.TrimSuffix(strings.ToLower(base.Hostname()), "."), defaultPorts[base.Scheme]
	address := net.JoinHostPort(host, cmp.Or(base.Port(), port))
	return "commerce/" + strings.TrimSuffix(address, ":"+port) + "/carts/"
}
