//go:build unix

package rediscommerce_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce/rediscommerce"
	"github.com/commerce-go/commerce/rediscommerce/internal/redistest"
)

// Twelve processes hold a lock for 20 ms and ask for it again at once. Each gets it in its turn.
func TestLocker_fair(t *testing.T) {
	t.Parallel()
	const processes, hold, duration, limit = 12, 20 * time.Millisecond, 10 * time.Second, 260 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		acquire(t, newLocker(t, server.Client(t))).unlock() // the first lock takes longer
		begin := time.Now()
		var longest [processes]time.Duration
		var running sync.WaitGroup
		for i := range processes {
			l := newLockerOf(t, server.Client(t), 10*time.Second)
			running.Go(func() {
				for time.Since(begin) < duration {
					start := time.Now()
					lock := acquire(t, l)
					longest[i] = max(longest[i], lock.at.Sub(start))
					time.Sleep(hold)
					lock.unlock()
				}
			})
		}
		running.Wait()
		t.Logf("the longest wait of each process: %v", longest)
		if got := slices.Max(longest[:]); got == 0 || got > limit {
			t.Errorf("the longest wait was %v, want at most %v", got, limit)
		}
	})
}

// The calls of a process get the lock in the order in which they came, and at most one asks at a
// time.
func TestLocker_line(t *testing.T) {
	t.Parallel()
	const calls = 50
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		holder := acquire(t, newLocker(t, server.Client(t)))
		l := newLocker(t, server.Client(t))
		var order []int
		var running sync.WaitGroup
		for i := range calls {
			running.Go(func() {
				lock := acquire(t, l)
				order = append(order, i) // by the holder
				lock.unlock()
			})
			synctest.Wait()
		}
		before := server.TotalConnectionCount()
		time.Sleep(10 * time.Second)
		if n := server.TotalConnectionCount() - before; n > 0 {
			t.Errorf("%d calls opened %d connections while they waited, want none: one request at a time", calls, n)
		}
		holder.unlock()
		start := time.Now()
		running.Wait()
		if d := time.Since(start); d > 100*time.Millisecond {
			t.Errorf("%d calls took %v to pass the lock on, want no pause between them", calls, d)
		}
		if !slices.IsSorted(order) || len(order) != calls {
			t.Errorf("the calls got the lock in the order %v, want the order of arrival", order)
		}
	})
}

// Processes that died while they waited lose their places within 2 s, also if all calls are
// shorter.
func TestLocker_deadTickets(t *testing.T) {
	t.Parallel()
	const limit = 2200 * time.Millisecond
	for _, tt := range []struct {
		name    string
		timeout time.Duration // of each call
	}{
		{name: "long call", timeout: maxWait},
		{name: "short calls", timeout: 300 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := redistest.StartVirtual(t)
				l := newLockerOf(t, server.Client(t), 10*time.Second)
				acquire(t, l).unlock()
				server.HSet(locksKey, "queue/"+cart, "dead:3 dead-too:1 dead-three:12")
				start := time.Now()
				for time.Since(start) < 2*limit {
					ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
					_, unlock, err := l.Lock(ctx, cart)
					cancel()
					if err == nil {
						unlock()
						break
					}
				}
				if d := time.Since(start); d > limit {
					t.Errorf("got the lock after %v, want at most %v", d, limit)
				}
				checkNoLocks(t, server)
			})
		})
	}
}

// checkNoLocks checks that the server has neither locks nor tickets.
func checkNoLocks(t *testing.T, server *redistest.Virtual) {
	t.Helper()
	time.Sleep(200 * time.Millisecond) // until a call that gave up has taken its ticket back
	synctest.Wait()
	if fields, err := server.HKeys(locksKey); err != nil || !slices.Equal(fields, []string{"server"}) {
		t.Errorf("the server has %q (%v), want neither locks nor tickets", fields, err)
	}
}

// Calls that gave up hold up nobody: neither the others of their process nor other processes.
func TestLocker_gaveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		holder := acquire(t, newLocker(t, server.Client(t)))
		l := newLocker(t, server.Client(t))
		ctx, cancel := context.WithCancel(t.Context())
		for range 20 {
			go func() {
				if _, _, err := l.Lock(ctx, cart); !errors.Is(err, context.Canceled) {
					t.Errorf("Lock() = %v, want %v", err, context.Canceled)
				}
			}()
		}
		synctest.Wait()
		granted := make(chan lock)
		go func() { granted <- acquire(t, l) }()
		go func() { granted <- acquire(t, newLocker(t, server.Client(t))) }()
		time.Sleep(time.Second)
		cancel()
		holder.unlock()
		start := time.Now()
		for range 2 {
			(<-granted).unlock()
		}
		if d := time.Since(start); d > 100*time.Millisecond {
			t.Errorf("two calls got the lock within %v, want 100 ms", d)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		holder = acquire(t, l)
		if _, _, err := newLocker(t, server.Client(t)).Lock(ctx, cart); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Lock() = %v, want %v", err, context.DeadlineExceeded)
		}
		holder.unlock()
		checkNoLocks(t, server)
	})
}

// Calls that wait behind others of their process wait for a server that hangs no longer than a call
// alone. Those that wait for a lock that is held do not take this for a server that hangs.
func TestLocker_lineTimeout(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		var called atomic.Int64
		l, err := rediscommerce.NewLocker(server.Client(t), rediscommerce.LockerConfig{
			Expiry: 10 * time.Second, Timeout: timeout,
			IfUnavailable: func(context.Context, error) error { called.Add(1); return errOwn },
		})
		if err != nil {
			t.Fatal(err)
		}
		holder := acquire(t, l)
		var running sync.WaitGroup
		call := func(name string, deadline, want time.Duration, wantErr error) {
			running.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				defer cancel()
				start := time.Now()
				_, _, err := l.Lock(ctx, cart)
				if d := time.Since(start); !errors.Is(err, wantErr) || d != want {
					t.Errorf("%s: Lock() = %v after %v, want %v after %v", name, err, d, wantErr, want)
				}
			})
		}
		for i := range 5 {
			call("the lock is held", time.Duration(i+1)*time.Second, time.Duration(i+1)*time.Second, context.DeadlineExceeded)
			call("the lock is held, near deadline", 20*time.Millisecond, 20*time.Millisecond, context.DeadlineExceeded)
		}
		running.Wait()
		if n := called.Load(); n > 0 {
			t.Errorf("IfUnavailable was called %d times while the lock was held, want never", n)
		}
		for i := range 5 {
			call(fmt.Sprint("waits when the server hangs ", i), time.Minute, time.Second+timeout, errOwn)
		}
		time.Sleep(time.Second)
		server.Delay(2 * time.Minute) // it hangs
		go holder.unlock()
		synctest.Wait()
		for i := range 5 {
			call(fmt.Sprint("comes later ", i), time.Minute, timeout, errOwn)
			call(fmt.Sprint("comes later, near deadline ", i), time.Second, time.Second/2, errOwn)
		}
		running.Wait()
	})
}

// A release or a request that fails does not end the calls that wait behind it.
func TestLocker_lineFailure(t *testing.T) {
	t.Parallel()
	const calls = 100
	for _, tt := range []struct {
		name   string
		failed int // requests that fail after the release
	}{
		{name: "only the release"},
		{name: "the release and a request", failed: 1},
		{name: "the release and three requests", failed: 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := redistest.StartVirtual(t)
				client := server.Client(t)
				var hook lineHook
				client.AddHook(&hook)
				l := newLocker(t, client)
				ctx := context.WithValue(t.Context(), lineHookKey{}, "of the first call")
				_, release, err := l.Lock(ctx, cart)
				if err != nil {
					t.Fatal(err)
				}
				var granted, failed atomic.Int64
				var running sync.WaitGroup
				for range calls {
					running.Go(func() {
						_, unlock, err := l.Lock(t.Context(), cart)
						if err != nil {
							failed.Add(1)
							return
						}
						granted.Add(1)
						unlock()
					})
				}
				synctest.Wait()
				hook.releases.Store(1)
				hook.asks.Store(int64(tt.failed))
				release()
				running.Wait()
				if int(failed.Load()) != tt.failed || int(granted.Load()) != calls-tt.failed {
					t.Errorf("%d calls failed and %d got the lock, want %d and %d",
						failed.Load(), granted.Load(), tt.failed, calls-tt.failed)
				}
				if hook.values.Load() {
					t.Error("a request for all calls has the values of one")
				}
				checkNoLocks(t, server)
			})
		})
	}
}

// lineHook makes commands fail.
type lineHook struct {
	releases, asks atomic.Int64 // that fail
	values         atomic.Bool  // a command had the values of a caller
}

type lineHookKey struct{}

func (*lineHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*lineHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *lineHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if ctx.Value(lineHookKey{}) != nil {
			h.values.Store(true)
		}
		const short = 6 // EVALSHA, the script, 1, the key, and what release.lua needs
		remaining := &h.asks
		if len(cmd.Args()) <= short {
			remaining = &h.releases
		}
		if remaining.Load() > 0 && remaining.Add(-1) >= 0 {
			cmd.SetErr(errOwn)
			return errOwn
		}
		return next(ctx, cmd)
	}
}
