//go:build unix

package rediscommerce_test

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/commerce-go/commerce/rediscommerce"
)

func TestMain(m *testing.M) {
	if config := os.Getenv(childVariable); config != "" {
		os.Exit(runChild(config))
	}
	goleak.VerifyTestMain(m)
}

const (
	// expiry is that of most lockers: the shortest, so that tests are short.
	expiry = time.Second
	// lease and patience are what the documentation of Locker says about it.
	lease, patience = expiry * 8 / 10, expiry * 9 / 10
	// maxWait is the maximum time to wait for something that must happen, on a busy machine.
	maxWait = 20 * time.Second
)

func newLocker(t *testing.T, c redis.UniversalClient) *rediscommerce.Locker {
	t.Helper()
	return newLockerOf(t, c, expiry)
}

// newLockerOf returns a locker with a longer expiry, for tests in which a delay of a busy machine must
// not look like an overlap.
func newLockerOf(t *testing.T, c redis.UniversalClient, expiry time.Duration) *rediscommerce.Locker {
	t.Helper()
	l, err := rediscommerce.NewLocker(c, rediscommerce.LockerConfig{Expiry: expiry})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func newLimiter(t *testing.T, c redis.UniversalClient, perSecond float64) *rediscommerce.Limiter {
	t.Helper()
	l, err := rediscommerce.NewLimiter(c, rediscommerce.LimiterConfig{PerSecond: perSecond})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// lock is a lock that a test has.
type lock struct {
	held   context.Context //nolint:containedctx // the state of the lock
	unlock func()
	at     time.Time // when it was granted
}

// acquire waits for the lock of the cart, and fails the test if it gets none.
func acquire(t *testing.T, l *rediscommerce.Locker) lock {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	t.Cleanup(cancel)
	held, unlock, err := l.Lock(ctx, cart)
	if err != nil {
		t.Fatalf("Lock() = %v, want no error", err)
	}
	return lock{held, unlock, time.Now()}
}

// cart is the key of a lock.
const cart = "commerce/store.example/carts/a-cart"

// section counts the holders that are in it at the same time.
type section struct {
	inside, writes, overlaps atomic.Int64
}

// write is what a process does between two checks of its lock. It reports whether it had the lock.
func (s *section) write(held context.Context) bool {
	if held.Err() != nil {
		return false
	}
	if s.inside.Add(1) > 1 {
		s.overlaps.Add(1)
	}
	time.Sleep(time.Millisecond) // a write that takes time, on a real clock
	s.inside.Add(-1)
	s.writes.Add(1)
	return true
}

// eventually polls until missing returns "".
func eventually(t *testing.T, missing func() string) {
	t.Helper()
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		what := missing()
		if what == "" {
			return
		}
		if time.Since(start) > maxWait {
			t.Fatal(what)
		}
	}
}

var errOwn = errors.New("own error")
