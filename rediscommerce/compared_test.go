//go:build unix

package rediscommerce_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce/rediscommerce"
	"github.com/commerce-go/commerce/rediscommerce/internal/redistest"
)

// Our lock and one by SET NX, whose waiters try again every 10 ms, as those of most libraries do,
// for COMPARE each (1 s). Ours lets nobody wait for longest.
func TestLocker_compared(t *testing.T) {
	t.Parallel()
	ours := contend(t, "rediscommerce", func(c *redis.Client) func() func() {
		l, err := rediscommerce.NewLocker(c, rediscommerce.LockerConfig{Timeout: maxWait, WithoutGrace: true})
		if err != nil {
			t.Fatal(err)
		}
		return func() func() { return acquire(t, l).unlock }
	})
	theirs := contend(t, "SET NX", func(c *redis.Client) func() func() {
		return func() func() {
			ctx, cancel := context.WithTimeout(t.Context(), maxWait)
			t.Cleanup(cancel)
			for !c.SetNX(ctx, cart, "held", 10*time.Second).Val() && ctx.Err() == nil {
				time.Sleep(10 * time.Millisecond) // on a real clock
			}
			return func() { c.Del(ctx, cart) }
		}
	})
	if ours >= theirs {
		t.Errorf("the longest wait is %v, want less than the %v of SET NX", ours, theirs)
	}
}

// contend lets twelve processes hold a lock for 20 ms and ask for it again at once. It returns the
// longest wait. newLock returns a function that acquires the lock of a process.
func contend(
	t *testing.T, name string, newLock func(c *redis.Client) func() (unlock func()),
) (longest time.Duration) {
	t.Helper()
	const processes, hold = 12, 20 * time.Millisecond
	duration := durationOf(t, "COMPARE", time.Second)
	server := redistest.Start(t)
	start := time.Now()
	newLock(server.Client(t))()()
	first := time.Since(start)
	var mu sync.Mutex
	var waits []time.Duration
	var running sync.WaitGroup
	start = time.Now()
	for range processes {
		lock := newLock(server.Client(t))
		running.Go(func() {
			for time.Since(start) < duration {
				asked := time.Now()
				unlock := lock()
				mu.Lock()
				waits = append(waits, time.Since(asked))
				mu.Unlock()
				time.Sleep(hold) // on a real clock
				unlock()
			}
		})
	}
	running.Wait()
	slices.Sort(waits)
	quantile := func(percent int) time.Duration { return waits[(len(waits)-1)*percent/100].Round(time.Millisecond) }
	t.Logf("%s: the first lock after %v; then %.1f locks a second; waits: median %v, p99 %v, longest %v", name,
		first, float64(len(waits))/time.Since(start).Seconds(), quantile(50), quantile(99), quantile(100))
	return quantile(100)
}
