//go:build unix

package rediscommerce_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
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
	open(t, server.Client(t))
	locker, worst := newLockerOf(t, server.Client(t), expiry), lateness(t, server.Client(t))
	for _, name := range []string{"the next waits already", "the next comes later"} {
		holder := start(t, childConfig{Mode: "hold", Redis: server.Addr, Expiry: expiry})
		holder.line(t)
		granted := make(chan lock, 1)
		if name == "the next waits already" {
			go func() { granted <- acquire(t, locker) }()
			time.Sleep(expiry) // it has seen extensions by now
		}
		worst()
		killed := time.Now()
		holder.signal(t, syscall.SIGKILL)
		if name == "the next comes later" {
			go func() { granted <- acquire(t, locker) }()
		}
		next := <-granted
		took := next.at.Sub(killed)
		// A grant needs four commands or pauses, which take longer on a busy machine. Of the
		// expiry, 210 ms are for them.
		late := 4 * worst()
		t.Logf("%s: granted %v after the kill, the expiry is %v; the machine may be %v late", name,
			took.Round(time.Millisecond), expiry, late)
		if took > expiry+late || took < expiry/2-late {
			t.Errorf("%s: the lock took %v, want at most %v, and more than half", name, took, expiry)
		}
		next.unlock()
	}
}

// A process that is stopped between two writes for longer than the expiry begins no further write.
func TestLocker_stopped(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	id := store.AddCart(commerce.CartItemRef{})
	store.AddDiscount(id, commerce.CustomDiscount{DiscountEngine: "engine", ExternalID: "unwanted"})
	child := start(t, childConfig{
		Mode: "stop", Redis: server.Addr, Store: store.URL(), Carts: []string{id}, Expiry: expiry, Name: "stopped",
	})
	if got := child.line(t); got != "deleted" {
		t.Fatalf("got %q, want deleted", got)
	}
	child.signal(t, syscall.SIGSTOP)
	client := server.Client(t)
	_, unlock, err := newLocker(t, client).Lock(t.Context(), lockKey(store, id))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	token := func() string {
		token, _, _ := strings.Cut(client.HGet(t.Context(), locksKey, "lock/"+lockKey(store, id)).Val(), ":")
		return token
	}
	before := token()
	child.signal(t, syscall.SIGCONT)
	if got, want := child.line(t), "ErrLock true, unknown"; got != want {
		t.Errorf("the call ended in %q, want %q", got, want)
	}
	if child.lines.Scan() {
		t.Errorf("got %q, want the process to end", child.lines.Text())
	}
	if after := token(); before == "" || after != before {
		t.Errorf("the second lock has the token %q, want %q: the first holder released it", after, before)
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
	const expiry = 3 * time.Second // long enough for the first holder to extend its lease on a busy machine
	server := redistest.Start(t)
	open(t, server.Client(t))
	first := acquire(t, newLockerOf(t, server.Client(t), expiry))
	defer first.unlock()
	waiting := start(t, childConfig{Mode: "hold", Redis: server.Addr, Expiry: expiry})
	locked := make(chan string, 1)
	go func() {
		waiting.lines.Scan()
		locked <- waiting.lines.Text()
	}()
	time.Sleep(expiry / 2)
	for range 3 {
		waiting.signal(t, syscall.SIGSTOP)
		time.Sleep(expiry)
		waiting.signal(t, syscall.SIGCONT)
		time.Sleep(expiry / 10)
	}
	if errors.Is(first.held.Err(), context.DeadlineExceeded) {
		t.Skip("the machine stalled for so long that the first holder could not extend its lease")
	}
	select {
	case got := <-locked:
		t.Fatalf("the process that was stopped has the lock, or has ended: got %q", got)
	default:
	}
	if first.held.Err() != nil {
		t.Error("the first holder lost the lock")
	}
	first.unlock()
	if got := <-locked; got != "locked" {
		t.Errorf("got %q, want locked", got)
	}
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

// requests are those that a store got in a while.
type requests struct {
	mu        sync.Mutex
	byProcess map[string]int
	accepted  int
	refused   int
}

func (r *requests) add(_ *commercetest.Store, in commercetest.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byProcess[in.Header.Get(processHeader)]++
	if in.Status == http.StatusOK {
		r.accepted++
	} else {
		r.refused++
	}
}

// reset forgets all requests.
func (r *requests) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byProcess, r.accepted, r.refused = map[string]int{}, 0, 0
}

// check returns "" if the rate was used and not exceeded. All processes have sent a request before.
func (r *requests) check(t *testing.T, during time.Duration) (problem string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	rate := float64(r.accepted) / during.Seconds()
	t.Logf("%d processes: %d accepted and %d refused in %v; %.2f a second are %.1f %% of the limiter's rate of %v, "+
		"and %.1f %% of the store's; by process %v", len(r.byProcess), r.accepted, r.refused,
		during.Round(time.Millisecond), rate, 100*rate/sharedRate, sharedRate, 100*rate/storeRate, r.byProcess)
	if 100*r.refused > r.accepted+r.refused {
		problem = fmt.Sprintf("the store refused %d of %d requests, want at most 1 %%", r.refused, r.accepted+r.refused)
	}
	if rate < 0.9*sharedRate || rate > 1.02*sharedRate {
		problem += fmt.Sprintf(" %.2f requests a second, want 90 to 102 %% of %v", rate, sharedRate)
	}
	return problem
}

// Eight processes share the rate limit of a store. On a machine that stalls, requests arrive at
// another time than their slot: the test then measures again.
func TestLimiter_processes(t *testing.T) {
	t.Parallel()
	const processes, measured, stall = 8, 15 * time.Second, 200 * time.Millisecond
	server, seen := redistest.Start(t), &requests{byProcess: map[string]int{}}
	store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true, RateLimit: storeRate, AfterRequest: seen.add})
	for i := range processes {
		start(t, childConfig{Mode: "rate", Redis: server.Addr, Store: store.URL(), Name: string(rune('a' + i))})
	}
	worst := lateness(t, server.Client(t))
	eventually(t, func() string {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		if len(seen.byProcess) < processes {
			return fmt.Sprintf("%d processes send requests, want %d", len(seen.byProcess), processes)
		}
		return ""
	})
	for range 3 {
		worst()
		seen.reset()
		begin := time.Now()
		time.Sleep(measured)
		problem := seen.check(t, time.Since(begin))
		if problem == "" {
			return
		}
		late := worst()
		if late < stall {
			t.Fatal(problem)
		}
		t.Logf("%s, but the machine stalled for %v", problem, late)
	}
	t.Skip("the machine stalls too often to measure the rate")
}
