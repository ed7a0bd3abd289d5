//go:build unix

package rediscommerce_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce/rediscommerce"
	"github.com/commerce-go/commerce/rediscommerce/internal/redistest"
)

// The calls of a process may all be too short to wait for a lock. Together they see that its holder
// is dead.
func TestLocker_shortCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		locker := newLockerOf(t, server.Client(t), 10*time.Second)
		for _, what := range []string{"new server", "dead holder"} {
			start := time.Now()
			for {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				_, unlock, err := locker.Lock(ctx, cart)
				cancel()
				if err == nil {
					unlock()
					break
				}
				if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > 20*time.Second {
					t.Fatalf("%s: after %v got %v, want the lock after 9 s", what, took, err)
				}
			}
			if took := time.Since(start); took < 9*time.Second || took > 9200*time.Millisecond {
				t.Errorf("%s: got the lock after %v, want 9 s", what, took)
			}
			server.HSet(locksKey, "lock/"+cart, "dead:1:10000")
		}
	})
}

// When a new server opens, no lock of before is left: nobody waits for its expiry once more.
func TestLocker_oldLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		server.HSet(locksKey, "server", "before the restart", "lock/"+cart, "dead:1:1000:")
		start := time.Now()
		lock := acquire(t, newLocker(t, server.Client(t)))
		if d := lock.at.Sub(start); d < patience || d > patience+50*time.Millisecond {
			t.Errorf("got the lock after %v, want %v", d, patience)
		}
		lock.unlock()
	})
}

// While a new server grants no locks, a process asks for one as seldom as at the end of a queue.
func TestLocker_newServerPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		l := newLockerOf(t, server.Client(t), 10*time.Second)
		before := server.CommandCount()
		acquire(t, l).unlock() // after 9 s
		if n := server.CommandCount() - before; n > 400 {
			t.Errorf("%d commands in 9 s, want about 200: two after each pause of 50 to 150 ms", n)
		}
	})
}

// A call that waits for a lock until its deadline has no time to ask once more. That must not look
// as if the server could not be used, and let the call go on without the lock.
func TestLocker_deadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		holder := acquire(t, newLockerOf(t, server.Client(t), expiry))
		defer holder.unlock()
		server.Delay(20 * time.Millisecond)
		locker, err := rediscommerce.NewLocker(server.Client(t), rediscommerce.LockerConfig{
			Expiry: expiry,
			IfUnavailable: func(_ context.Context, err error) error {
				t.Errorf("IfUnavailable was called with %v", err)
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second+time.Duration(i)*time.Millisecond)
			if _, _, err := locker.Lock(ctx, cart); err == nil {
				t.Error("the call goes on without the lock")
			}
			cancel()
		}
	})
}

// A lock is held for longer than its expiry, also if the connection is closed again and again.
func TestLocker_extends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		first := acquire(t, newLocker(t, server.Client(t)))
		second := make(chan lock, 1)
		go func() { second <- acquire(t, newLocker(t, server.Client(t))) }()
		for start := time.Now(); time.Since(start) < 10*expiry; time.Sleep(time.Millisecond) {
			if first.held.Err() != nil {
				t.Errorf("the lock was lost after %v, want it held", time.Since(first.at))
				break
			}
			if time.Since(start)%(50*time.Millisecond) == 0 {
				server.Cut()
			}
		}
		select {
		case <-second:
			t.Error("another process got the lock while it was held")
		default:
		}
		first.unlock()
		if other := <-second; other.held.Err() != nil {
			t.Error("the second lock is lost, want it held")
		} else {
			other.unlock()
		}
	})
}

// The lease begins when the command is sent, not when the response arrives.
func TestLocker_slowResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		l := newLocker(t, server.Client(t))
		acquire(t, l).unlock()
		server.Delay(expiry / 2)
		start := time.Now()
		first := acquire(t, l)
		server.Refuse() // no extension
		<-first.held.Done()
		if d, want := time.Since(start), expiry*8/10; first.at.Sub(start) != expiry/2 || d != want {
			t.Errorf("the lock was granted after %v, and its lease ended after %v, want %v and %v",
				first.at.Sub(start), d, expiry/2, want)
		}
		first.unlock()
	})
}

// A call that gave up must not keep the lock that it gets afterwards.
func TestLocker_late(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		l := newLocker(t, server.Client(t))
		acquire(t, l).unlock()
		server.Delay(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, _, err := l.Lock(ctx, cart); err == nil {
			t.Error("Lock() = nil, want an error")
		}
		server.Delay(0)
		time.Sleep(time.Second)
		synctest.Wait()
		if fields, err := server.HKeys(locksKey); err != nil || len(fields) != 1 {
			t.Errorf("the server has %q (%v), want no lock: the late one was not released", fields, err)
		}
	})
}

// A request that got no response in time must not keep the lock that it gets afterwards, although
// the server responds quickly again meanwhile.
func TestLocker_lateRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		acquire(t, newLocker(t, server.Client(t))).unlock()
		l, err := rediscommerce.NewLocker(server.Client(t), rediscommerce.LockerConfig{
			Expiry: long, Timeout: 200 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		server.Delay(time.Second)
		time.AfterFunc(100*time.Millisecond, func() { server.Delay(0) })
		if _, _, err := l.Lock(t.Context(), cart); !errors.Is(err, rediscommerce.ErrUnavailable) {
			t.Errorf("Lock() = %v, want ErrUnavailable", err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if value := server.HGet(locksKey, "lock/"+cart); value != "" {
			t.Errorf("the lock is %q, want none: the late one was not released", value)
		}
	})
}

// A call that joins others while the server is silent waits for Timeout, as they did.
func TestLocker_joins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		l, err := rediscommerce.NewLocker(server.Client(t), rediscommerce.LockerConfig{Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		server.Delay(time.Hour)
		const later = 900 * time.Millisecond
		for _, begin := range []time.Duration{0, later, later} {
			time.AfterFunc(begin, func() {
				start := time.Now()
				_, _, err := l.Lock(t.Context(), cart)
				if took := time.Since(start); !errors.Is(err, rediscommerce.ErrUnavailable) || took != time.Second {
					t.Errorf("begun at %v: Lock() = %v after %v, want ErrUnavailable after 1s", begin, err, took)
				}
			})
		}
		time.Sleep(time.Minute)
	})
}

// A call that asked for an earlier slot, and got no response, may have given up its own. It must
// not do so again when it ends: another call may have that slot.
func TestLimiter_failedExchange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		l, err := rediscommerce.NewLimiter(server.Client(t), rediscommerce.LimiterConfig{
			PerSecond: 1, Timeout: 100 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		at := func(d time.Duration, f func()) { time.AfterFunc(d*time.Millisecond-time.Since(start), f) }
		wait := func(ctx context.Context, passes *time.Duration) {
			if l.Wait(ctx) == nil {
				*passes = time.Since(start).Round(100 * time.Millisecond)
			}
		}
		var first, third, last time.Duration
		gone, goAway := context.WithCancel(t.Context())
		late, giveUp := context.WithCancel(t.Context())
		at(1, func() { wait(t.Context(), &first) })
		at(2, func() { wait(gone, new(time.Duration)) }) // has the second slot, at 1 s
		at(3, func() { wait(late, new(time.Duration)) }) // has the third, at 2 s
		at(100, goAway)
		at(450, func() { server.Delay(200 * time.Millisecond) }) // when the third looks for an earlier slot
		at(600, func() { server.Delay(0) })
		at(1000, func() { wait(t.Context(), &third) }) // gets the third slot
		at(1900, giveUp)
		at(1950, func() { wait(t.Context(), &last) })
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if first != 0 || third != 2*time.Second || last != 3*time.Second {
			t.Errorf("the calls passed at %v, %v and %v, want 0s, 2s and 3s", first, third, last)
		}
	})
}

// A lock that is granted after the end of its lease is released, and requested again.
func TestLocker_lateGrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		l := newLocker(t, server.Client(t))
		acquire(t, l).unlock()
		const slow = expiry * 85 / 100
		server.Delay(slow) // longer than the lease
		time.AfterFunc(slow/2, func() { server.Delay(0) })
		start := time.Now()
		lock := acquire(t, l)
		if d := lock.at.Sub(start); d != slow || lock.held.Err() != nil {
			t.Errorf("got the lock after %v (%v), want it at once after the late grant, which took %v",
				d, lock.held.Err(), slow)
		}
		lock.unlock()
	})
}

// A lock that was lost stays on the server until unlock: its call may be in the middle of a write.
func TestLocker_lost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		lock := acquire(t, newLocker(t, server.Client(t)))
		server.Delay(time.Hour) // no extension
		time.Sleep(expiry * 7 / 10)
		server.Delay(0)
		<-lock.held.Done()
		synctest.Wait()
		if server.HGet(locksKey, "lock/"+cart) == "" {
			t.Error("the lock was released when it was lost, want it on the server until unlock")
		}
		lock.unlock()
		if value := server.HGet(locksKey, "lock/"+cart); value != "" {
			t.Errorf("after unlock the lock is %q, want none", value)
		}
	})
}

// The lease of a holder is judged by its own expiry, not by that of the process that waits: they
// may differ while a new version is deployed.
func TestLocker_expiries(t *testing.T) {
	t.Parallel()
	const long, short = 10 * time.Second, time.Second
	for _, tt := range []struct {
		name           string
		holder, waiter time.Duration
	}{
		{name: "the holder's is longer", holder: long, waiter: short},
		{name: "the holder's is shorter", holder: short, waiter: long},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := redistest.StartVirtual(t)
				holder := acquire(t, newLockerOf(t, server.Client(t), tt.holder))
				granted := make(chan lock, 1)
				go func() { granted <- acquire(t, newLockerOf(t, server.Client(t), tt.waiter)) }()
				time.Sleep(long)
				if holder.held.Err() != nil || len(granted) > 0 {
					t.Errorf("the lock is lost (%v), or was granted twice, want it held", holder.held.Err())
				}
				server.HSet(locksKey, "lock/"+cart, fmt.Sprint("dead:1:", tt.holder.Milliseconds()))
				start := time.Now()
				next := <-granted
				want := tt.holder * 9 / 10
				if d := next.at.Sub(start); d < want || d > want+400*time.Millisecond {
					t.Errorf("the lock of a dead holder took %v, want %v", d, want)
				}
				next.unlock()
				holder.unlock()
			})
		})
	}
}

// Each call waits for the server for at most Timeout, and at most half of the time to its deadline.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name              string
		timeout, deadline time.Duration
		want              time.Duration
	}{
		{name: "default", want: 2 * time.Second},
		{name: "set", timeout: 300 * time.Millisecond, want: 300 * time.Millisecond},
		{name: "far deadline", deadline: time.Minute, want: 2 * time.Second},
		{name: "near deadline", deadline: time.Second, want: 500 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := redistest.StartVirtual(t)
				server.Delay(2 * time.Minute) // it hangs
				ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(tt.deadline, 24*time.Hour))
				defer cancel()
				start, called := time.Now(), 0
				goOn := func(context.Context, error) error {
					if called++; time.Since(start) != tt.want {
						t.Errorf("IfUnavailable was called after %v, want %v", time.Since(start), tt.want)
					}
					return nil
				}
				limiter, err1 := rediscommerce.NewLimiter(server.Client(t),
					rediscommerce.LimiterConfig{PerSecond: 1, Timeout: tt.timeout, IfUnavailable: goOn})
				locker, err2 := rediscommerce.NewLocker(server.Client(t),
					rediscommerce.LockerConfig{Timeout: tt.timeout, IfUnavailable: goOn})
				if err := errors.Join(err1, err2); err != nil {
					t.Fatal(err)
				}
				if err := limiter.Wait(ctx); err != nil {
					t.Errorf("Wait() = %v, want it to go on", err)
				}
				ctx, cancel = context.WithTimeout(t.Context(), cmp.Or(tt.deadline, 24*time.Hour))
				defer cancel()
				start = time.Now()
				if _, unlock, err := locker.Lock(ctx, cart); err != nil {
					t.Errorf("Lock() = %v, want it to go on", err)
				} else {
					unlock()
				}
				if called != 2 {
					t.Errorf("IfUnavailable was called %d times, want 2", called)
				}
			})
		})
	}
}
