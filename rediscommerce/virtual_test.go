//go:build unix

package rediscommerce_test

import (
	"context"
	"errors"
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
