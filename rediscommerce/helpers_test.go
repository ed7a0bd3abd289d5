//go:build unix

package rediscommerce_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
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
	code := m.Run()
	// A goroutine of go-redis that dials, without success, ends a second after the client was
	// closed.
	for start := time.Now(); code == 0; {
		err := goleak.Find()
		if err == nil {
			break
		}
		if time.Since(start) > maxWait {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

const (
	// expiry is that of lockers in tests that wait for it: the shortest.
	expiry = time.Second
	// patience is what the documentation of Locker says about it.
	patience = expiry * 9 / 10
	// long is the expiry in tests that do not wait for it: a busy machine extends it in time.
	long = 30 * time.Second
	// maxWait is the maximum time to wait for something that must happen, on a busy machine.
	maxWait = 20 * time.Second
)

func newLocker(t *testing.T, c redis.UniversalClient) *rediscommerce.Locker {
	t.Helper()
	return newLockerOf(t, c, expiry)
}

// newLockerOf returns a locker with a longer expiry, for tests in which a delay of a busy machine
// must not look like an overlap.
func newLockerOf(t *testing.T, c redis.UniversalClient, expiry time.Duration) *rediscommerce.Locker {
	t.Helper()
	l, err := rediscommerce.NewLocker(c, rediscommerce.LockerConfig{Expiry: expiry, Timeout: maxWait})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func newLimiter(t *testing.T, c redis.UniversalClient, perSecond float64) *rediscommerce.Limiter {
	t.Helper()
	l, err := rediscommerce.NewLimiter(c, rediscommerce.LimiterConfig{PerSecond: perSecond, Timeout: maxWait})
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

// open lets a new server grant locks at once, as one does on which nobody can have a lock of
// before.
func open(t *testing.T, c *redis.Client) {
	t.Helper()
	source := script(t) + "return redis.call('HSET', KEYS[1], 'server', server())"
	must(t, c.Eval(t.Context(), source, []string{locksKey}))
}

// lateness measures until the test ends how busy this machine is: worst returns by how much a short
// sleep and a PING took too long, at most since the last call of worst.
func lateness(t *testing.T, c *redis.Client) (worst func() time.Duration) {
	t.Helper()
	var longest atomic.Int64
	var running sync.WaitGroup
	running.Go(func() {
		const pause = 10 * time.Millisecond
		for t.Context().Err() == nil {
			start := time.Now()
			time.Sleep(pause)
			_ = c.Ping(t.Context())
			longest.Store(max(longest.Load(), int64(time.Since(start)-pause)))
		}
	})
	t.Cleanup(running.Wait)
	return func() time.Duration { return time.Duration(longest.Swap(0)) }
}

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

// durationOf returns the duration in an environment variable, or the default one.
func durationOf(t *testing.T, variable string, byDefault time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return byDefault
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
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
