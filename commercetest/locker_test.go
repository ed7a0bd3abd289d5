package commercetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// hold takes a lock, and fails the test if there is an error.
func hold(t *testing.T, l *commercetest.Locker, key string) (held context.Context, unlock func()) {
	t.Helper()
	held, unlock, err := l.Lock(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return held, unlock
}

// A lock is held by one call at a time, in the order of the calls. A call that gives up leaves
// no gap, and another key is another lock.
func TestLocker_Lock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := commercetest.NewLocker()
		start := time.Now()
		var mu sync.Mutex
		var got []string
		note := func(n int, what string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprintf("%v: call %d %s", time.Since(start), n, what))
		}
		var running sync.WaitGroup
		for n := range 4 {
			running.Go(func() {
				time.Sleep(time.Duration(n) * time.Millisecond)
				ctx, cancel := t.Context(), func() {}
				if n == 2 {
					ctx, cancel = context.WithTimeout(ctx, time.Second)
				}
				defer cancel()
				held, unlock, err := l.Lock(ctx, "a")
				if err != nil {
					note(n, err.Error())
					return
				}
				note(n, "has the lock")
				time.Sleep(time.Second)
				if held.Err() != nil {
					t.Errorf("call %d lost the lock", n)
				}
				unlock()
			})
		}
		time.Sleep(10 * time.Millisecond)
		_, unlock := hold(t, l, "b")
		unlock()
		running.Wait()
		wantEqual(t, "events", got, []string{
			"0s: call 0 has the lock", "1s: call 1 has the lock", "1.002s: call 2 context deadline exceeded",
			"2s: call 3 has the lock",
		})
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := l.Lock(ended, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("Lock() with a context that has ended = %v, want context.Canceled", err)
		}
	})
}

// A lock that is lost goes to the next call. The call that lost it does not release it again.
func TestLocker_Lose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := commercetest.NewLocker()
		l.Lose("a") // nobody has ever held it
		first, unlockFirst := hold(t, l, "a")
		l.Lose("b")
		if first.Err() != nil {
			t.Error("the lock was lost with another key")
		}
		l.Lose("a")
		second, unlockSecond := hold(t, l, "a")
		unlockFirst()
		if first.Err() == nil || second.Err() != nil {
			t.Errorf("held.Err() = %v and %v, want that only the first lock was lost", first.Err(), second.Err())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := l.Lock(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Lock() of a lock that is held = %v, want a deadline that was exceeded", err)
		}
		unlockSecond()
		l.Lose("a") // it is free
		third, unlockThird := hold(t, l, "a")
		defer unlockThird()
		if third.Err() != nil {
			t.Errorf("held.Err() = %v, want nil", third.Err())
		}
	})
}

// Clients with the same locker do not write to a cart at the same time, and a client that loses
// the lock learns it.
func TestLocker_clients(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := commercetest.New(t, commercetest.Config{
			DiscountsEnabled: true, LoseOverlappingWrites: true, CartDiscountLimit: 20,
		})
		id, l := store.AddCart(commerce.CartItemRef{}), commercetest.NewLocker()
		store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Delay: time.Second, Times: -1})
		add := func(n int) error {
			c := store.Client(commerce.WithCartLocker(l))
			_, err := c.Carts.AddCustomDiscounts(t.Context(), id, newDiscounts(fmt.Sprint(n)), nil)
			return err
		}
		errs := make([]error, 5)
		var running sync.WaitGroup
		for n := range errs {
			running.Go(func() { errs[n] = add(n) })
		}
		running.Wait()
		if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
			t.Errorf("client %d: %v", i, errs[i])
		}
		wantEqual(t, "discounts", len(store.Discounts(id)), len(errs))

		running.Go(func() { errs[0] = add(5) })
		time.Sleep(time.Second / 2)
		l.Lose("commerce/store.example/carts/" + id)
		running.Wait()
		if !errors.Is(errs[0], commerce.ErrLock) {
			t.Errorf("error %v, want ErrLock", errs[0])
		}
	})
}
