//go:build unix

package rediscommerce_test

import (
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/rediscommerce/internal/redistest"
)

// The lock of a process that was killed is granted to the next within the expiry.
func TestLocker_killed(t *testing.T) {
	t.Parallel()
	const expiry = 3 * time.Second
	server := redistest.Start(t)
	locker := newLockerOf(t, server.Client(t), expiry)
	for _, name := range []string{"the next waits already", "the next comes later"} {
		holder := start(t, childConfig{Mode: "hold", Redis: server.Addr, Expiry: expiry})
		holder.line(t)
		granted := make(chan lock, 1)
		if name == "the next waits already" {
			go func() { granted <- acquire(t, locker) }()
			time.Sleep(expiry) // it has seen extensions by now
		}
		holder.signal(t, syscall.SIGKILL)
		killed := time.Now()
		if name == "the next comes later" {
			go func() { granted <- acquire(t, locker) }()
		}
		next := <-granted
		took := next.at.Sub(killed)
		t.Logf("%s: granted %v after the kill, the expiry is %v", name, took.Round(time.Millisecond), expiry)
		if took > expiry || took < expiry/2 {
			t.Errorf("%s: the lock took %v, want at most %v, and more than half", name, took, expiry)
		}
		next.unlock()
	}
}

// A process that is stopped between two writes for longer than the expiry begins no further write.
func TestLocker_stopped(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	store := commercetest.New(t, commercetest.Config{})
	id := store.AddCart(commerce.CartItemRef{})
	store.AddDiscount(id, commerce.CustomDiscount{DiscountEngine: "engine", ExternalID: "unwanted"})
	child := start(t, childConfig{
		Mode: "stop", Redis: server.Addr, Store: store.URL(), Carts: []string{id}, Expiry: expiry, Name: "stopped",
	})
	if got := child.line(t); got != "stopped" {
		t.Fatalf("got %q, want stopped", got)
	}
	locker := newLocker(t, server.Client(t))
	held, unlock, err := locker.Lock(t.Context(), lockKey(store, id))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	child.signal(t, syscall.SIGCONT)
	if got, want := child.line(t), "ErrLock true, unknown"; got != want {
		t.Errorf("the call ended in %q, want %q", got, want)
	}
	time.Sleep(expiry / 2) // the next extension would notice
	if held.Err() != nil {
		t.Error("the second lock is lost, want it held: the first holder released it")
	}
	var writes []string
	for _, in := range store.Requests() {
		if in.Method != http.MethodGet {
			writes = append(writes, in.Method)
		}
	}
	if len(writes) != 1 || writes[0] != http.MethodDelete {
		t.Errorf("the store got the writes %q, want the DELETE before the stop", writes)
	}
}

// A process that was stopped while it waited for a lock does not take it from its holder, although
// the value that it saw before is old.
func TestLocker_stoppedWaiting(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	first := acquire(t, newLocker(t, server.Client(t)))
	defer first.unlock()
	waiting := start(t, childConfig{Mode: "hold", Redis: server.Addr, Expiry: expiry})
	locked := make(chan string, 1)
	go func() { locked <- waiting.line(t) }()
	time.Sleep(expiry)
	for range 3 {
		waiting.signal(t, syscall.SIGSTOP)
		time.Sleep(expiry)
		waiting.signal(t, syscall.SIGCONT)
		time.Sleep(expiry / 2)
	}
	select {
	case <-locked:
		t.Fatal("the process that was stopped has the lock")
	default:
	}
	if first.held.Err() != nil {
		t.Error("the first holder lost the lock")
	}
	first.unlock()
	<-locked
}

// lockKey is the key under which a client locks a cart of the store.
func lockKey(s *commercetest.Store, cartID string) string {
	return "commerce/" + s.URL()[len("http://"):] + "/carts/" + cartID
}

// sharedRate is 90 % of the rate of the store.
const (
	storeRate  = 25
	sharedRate = 22.5
)

// Eight processes share the rate limit of a store.
func TestLimiter_processes(t *testing.T) {
	t.Parallel()
	const processes, measured = 8, 15 * time.Second
	server := redistest.Start(t)
	var mu sync.Mutex
	seen := map[string]int{} // requests, by process
	var first time.Time      // since when all processes send requests
	var accepted, refused int
	store := commercetest.New(t, commercetest.Config{
		RateLimit: storeRate,
		AfterRequest: func(_ *commercetest.Store, in commercetest.Request) {
			mu.Lock()
			defer mu.Unlock()
			seen[in.Header.Get(processHeader)]++
			switch {
			case len(seen) < processes:
			case first.IsZero():
				first = in.Time
			case in.Time.Sub(first) > measured:
			case in.Status == http.StatusOK:
				accepted++
			default:
				refused++
			}
		},
	})
	for i := range processes {
		start(t, childConfig{Mode: "rate", Redis: server.Addr, Store: store.URL(), Name: string(rune('a' + i))})
	}
	done := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return !first.IsZero() && time.Since(first) > measured+time.Second
	}
	for !done() {
		time.Sleep(100 * time.Millisecond)
	}
	mu.Lock()
	defer mu.Unlock()
	rate := float64(accepted) / measured.Seconds()
	t.Logf("%d processes: %d accepted and %d refused in %v; %.2f a second are %.1f %% of the limiter's rate of %v, "+
		"and %.1f %% of the store's; by process %v",
		processes, accepted, refused, measured, rate, 100*rate/sharedRate, sharedRate, 100*rate/storeRate, seen)
	if 100*refused > accepted+refused {
		t.Errorf("the store refused %d of %d requests, want at most 1 %%", refused, accepted+refused)
	}
	if rate < 0.9*sharedRate || rate > 1.02*sharedRate {
		t.Errorf("%.2f requests a second, want 90 to 102 %% of %v", rate, sharedRate)
	}
}
