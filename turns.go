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
// A lock must outlive its process by the time that a write may be late (10 s): one that ends with a
// connection to a database does not.
//
// The key is "commerce/", the host of the base address, "/carts/" and the cart id. The host is
// in lower case, without a final dot, and has its port if that is not the default port of its
// scheme, e.g. "commerce/store.example:8443/carts/ID". A cart id that is a UUID is in lower case.
// During a rollout, versions of this module may have different keys for any other spelling of it. A
// Locker must be safe for concurrent use. It need not be reentrant.
//
// [errors.Is] finds the error of Lock in that of the call, [errors.As] does not. Its text is not
// shown, as it may hold addresses or secrets, unless it has a method SafeMessage() string.
type Locker interface {
	Lock(ctx context.Context, key string) (held context.Context, unlock func(), err error)
}

// turns are those of the writes of all clients: two clients of one store must not overlap either.
// There is nothing about carts without a write.
var turns = struct {
	mu    sync.Mutex
	carts map[turnKey]*cartTurns
}{carts: map[turnKey]*cartTurns{}}

// turnKey names a cart, and the transport of those that take turns to write to it. Transports may
// belong to different bubbles of testing/synctest, whose channels must not meet.
type turnKey struct {
	transport any
	cart      string // the key of its lock
}

// cartTurns lets writes to a cart take turns, in the order they came.
type cartTurns struct {
	// current holds an element while a write has its turn. Those that wait send to the
	// channel: the runtime serves senders in order, and one that gives up leaves no gap.
	current chan struct{}
	writes  int // that have their turn, or wait for it
}

// takeTurn waits for a turn. end ends it.
func takeTurn(ctx context.Context, key turnKey) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	turns.mu.Lock()
	c := turns.carts[key]
	if c == nil {
		c = &cartTurns{current: make(chan struct{}, 1)}
		turns.carts[key] = c
	}
	c.writes++
	turns.mu.Unlock()
	leave := func() {
		turns.mu.Lock()
		defer turns.mu.Unlock()
		if c.writes--; c.writes == 0 {
			delete(turns.carts, key)
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
