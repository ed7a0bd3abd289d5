//go:build unix

package rediscommerce_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/rediscommerce"
	"github.com/commerce-go/commerce/rediscommerce/internal/redistest"
)

func TestNew_arguments(t *testing.T) {
	t.Parallel()
	client := redistest.Client(t, "127.0.0.1:1")
	ring := redis.NewRing(&redis.RingOptions{})
	t.Cleanup(func() { _ = ring.Close() })
	for _, tt := range []struct {
		name    string
		client  redis.UniversalClient
		limiter *rediscommerce.LimiterConfig
		locker  rediscommerce.LockerConfig // if limiter is nil
		want    string
	}{
		{name: "no client", want: "client must not be nil"},
		{name: "a nil pointer", client: (*redis.Client)(nil), want: "client must not be nil"},
		{name: "a ring", client: ring, want: "client must not be a Ring"},
		{name: "expiry too short", client: client, locker: rediscommerce.LockerConfig{Expiry: 999 * time.Millisecond},
			want: "Expiry must be from 1 s to 10 min"},
		{name: "expiry too long", client: client, locker: rediscommerce.LockerConfig{Expiry: time.Hour},
			want: "Expiry must be from 1 s to 10 min"},
		{name: "timeout", client: client, locker: rediscommerce.LockerConfig{Timeout: -1}, want: "Timeout must not be"},
		{name: "limiter without a client", limiter: &rediscommerce.LimiterConfig{PerSecond: 1},
			want: "client must not be nil"},
		{name: "no rate", client: client, limiter: &rediscommerce.LimiterConfig{}, want: "PerSecond must be from"},
		{name: "not a rate", client: client, limiter: &rediscommerce.LimiterConfig{PerSecond: math.NaN()},
			want: "PerSecond must be from"},
		{name: "burst", client: client, limiter: &rediscommerce.LimiterConfig{PerSecond: 1, Burst: -1},
			want: "Burst must be from 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var err error
			if tt.limiter != nil {
				_, err = rediscommerce.NewLimiter(tt.client, *tt.limiter)
			} else {
				_, err = rediscommerce.NewLocker(tt.client, tt.locker)
			}
			if !errors.Is(err, commerce.ErrInvalidArgument) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want ErrInvalidArgument with %q", err, tt.want)
			}
		})
	}
}

// Lockers on connections of their own take turns, also when all want the lock at once.
func TestLocker_excludes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	open(t, server.Client(t))
	var s section
	var running sync.WaitGroup
	for range 4 {
		l := newLockerOf(t, server.Client(t), long)
		running.Go(func() {
			for range 10 {
				lock := acquire(t, l)
				for range 5 {
					if !s.write(lock.held) {
						t.Error("the lock was lost, want it held until unlock")
					}
				}
				lock.unlock()
				if err := lock.held.Err(); !errors.Is(err, context.Canceled) {
					t.Errorf("after unlock, held.Err() = %v, want %v", err, context.Canceled)
				}
			}
		})
	}
	running.Wait()
	if n := s.overlaps.Load(); n > 0 || s.writes.Load() != 200 {
		t.Errorf("%d of %d writes overlapped, want 0 of 200", n, s.writes.Load())
	}
	if fields, err := server.Client(t).HKeys(t.Context(), locksKey).Result(); err != nil ||
		!slices.Equal(fields, []string{"server"}) {
		t.Errorf("the server has %q (%v) after the last unlock, want no lock", fields, err)
	}
	// Moving the server's clock can change nothing if no key expires.
	if ttl := server.Client(t).TTL(t.Context(), locksKey).Val(); ttl != -1 {
		t.Errorf("TTL is %v, want none", ttl)
	}
}

const locksKey = "commerce/locks"

// A server that has just started, or lost its data, may have granted locks before that are held.
func TestLocker_newServer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		lose func(t *testing.T, s *redistest.Server, c *redis.Client)
	}{
		{name: "restart", lose: func(t *testing.T, s *redistest.Server, _ *redis.Client) { t.Helper(); s.Restart(t) }},
		{name: "restart from an old snapshot", lose: func(t *testing.T, s *redistest.Server, _ *redis.Client) {
			t.Helper()
			s.Restart(t) // from the SAVE below
		}},
		{name: "FLUSHALL", lose: func(t *testing.T, _ *redistest.Server, c *redis.Client) {
			t.Helper()
			must(t, c.FlushAll(t.Context()))
		}},
		{name: "eviction", lose: func(t *testing.T, _ *redistest.Server, c *redis.Client) {
			t.Helper()
			must(t, c.Del(t.Context(), locksKey))
		}},
		{name: "promotion", lose: func(t *testing.T, _ *redistest.Server, c *redis.Client) {
			t.Helper()
			must(t, c.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1"))
			must(t, c.Do(t.Context(), "REPLICAOF", "NO", "ONE"))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			client := server.Client(t)
			open(t, client)
			if strings.Contains(tt.name, "snapshot") {
				must(t, client.Save(t.Context()))
			}
			takeOver(t, client, func() redis.UniversalClient {
				tt.lose(t, server, client)
				return server.Client(t)
			})
		})
	}
}

// A promoted replica may not have the locks that were granted last.
func TestLocker_sentinel(t *testing.T) {
	t.Parallel()
	for _, synced := range []bool{true, false} {
		t.Run(fmt.Sprintf("the replica has data: %t", synced), func(t *testing.T) {
			t.Parallel()
			group := redistest.StartGroup(t, synced)
			open(t, group.Master.Client(t))
			takeOver(t, group.Client(t), func() redis.UniversalClient {
				eventually(t, func() string {
					if group.Replica.Client(t).HExists(t.Context(), locksKey, "lock/"+cart).Val() != synced {
						return "the replica has the lock, or has it not"
					}
					return ""
				})
				group.Master.Kill()
				return group.Client(t)
			})
		})
	}
}

// takeOver lets a process hold a lock and write, until it loses it because the server loses its
// data. Another process gets it later, and not too early.
func takeOver(t *testing.T, c redis.UniversalClient, lose func() redis.UniversalClient) {
	t.Helper()
	const expiry, patience = 4 * time.Second, 3600 * time.Millisecond
	first := acquire(t, newLockerOf(t, c, expiry))
	var s section
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		for s.write(first.held) {
		}
	}()
	start := time.Now()
	other := newLockerOf(t, lose(), expiry)
	eventually(t, func() string { // until there is a server
		_, unlock, err := other.Lock(t.Context(), "another key")
		if err != nil {
			return err.Error()
		}
		unlock()
		return ""
	})
	second := acquire(t, other)
	for range 20 {
		s.write(second.held)
	}
	second.unlock()
	<-lost
	first.unlock()
	if n := s.overlaps.Load(); n > 0 {
		t.Errorf("%d of %d writes overlapped, want none", n, s.writes.Load())
	}
	if d := second.at.Sub(start); d < patience || d > 5*expiry {
		t.Errorf("the second lock took %v, want %v to %v", d, patience, 5*expiry)
	}
}

// WithoutGrace, the first lock is granted at once, and a lock that the server still knows after a
// restart stays with its holder.
func TestLocker_withoutGrace(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	late := lateness(t, redistest.Start(t).Client(t))
	newLocker := func() *rediscommerce.Locker {
		l, err := rediscommerce.NewLocker(server.Client(t), rediscommerce.LockerConfig{
			Expiry: long, Timeout: maxWait, WithoutGrace: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	start := time.Now()
	first := acquire(t, newLocker())
	if d, most := first.at.Sub(start), time.Second+late(); d > most {
		t.Errorf("the first lock took %v, want at most %v", d, most)
	}
	must(t, client.Save(t.Context()))
	server.Restart(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, _, err := newLocker().Lock(ctx, cart); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a lock that is held: got error %v, want the end of the context", err)
	}
	if first.held.Err() != nil {
		t.Error("the lock is lost, want it held")
	}
	first.unlock()
	acquire(t, newLocker()).unlock()
}

// A call that ends while a new server grants no locks says so, and when it does.
func TestErrNewServer(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client(t)
	l := newLockerOf(t, client, long)
	store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	add := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := store.Client(commerce.WithCartLocker(l)).Carts.AddCustomDiscounts(
			ctx, store.AddCart(commerce.CartItemRef{}), wanted(1), nil)
		return err
	}
	before := time.Now().Truncate(time.Second)
	err := add()
	_, text, _ := strings.Cut(fmt.Sprint(err), "grants locks from ")
	text, _, _ = strings.Cut(text, " ")
	from, _ := time.Parse(time.RFC3339, text)
	if from.Before(before.Add(long*9/10)) || from.After(time.Now().Add(long*9/10)) {
		t.Errorf("got %q, want a time in 27 s", err)
	}
	if !errors.Is(err, rediscommerce.ErrNewServer) || !errors.Is(err, commerce.ErrLock) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want ErrNewServer, ErrLock, and the end of the context", err)
	}
	open(t, client)
	if err := add(); err != nil {
		t.Errorf("the server is open: got %v, want no error", err)
	}
}

// Locks and tickets of processes that died do not fill the server, and cost the holder of another
// lock nothing, also if its Expiry is longer than that of the process that removes them.
func TestLocker_deadLocks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		holder, other time.Duration // the expiries
	}{
		{name: "the same expiry", holder: expiry, other: expiry},
		{name: "the holder's is longer", holder: 10 * expiry, other: expiry},
		{name: "the holder's is shorter", holder: expiry, other: 10 * expiry},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := redistest.StartVirtual(t)
				holder := acquire(t, newLockerOf(t, server.Client(t), tt.holder))
				for i := range 10_000 {
					server.HSet(locksKey, fmt.Sprint("lock/", i), "dead:1:1000:")
				}
				server.HSet(locksKey, "queue/dead", "dead:1")
				patience, other := tt.holder*9/10, newLockerOf(t, server.Client(t), tt.other)
				for start := time.Now(); time.Since(start) < 3*tt.holder; time.Sleep(tt.holder / 10) {
					ctx, cancel := context.WithTimeout(t.Context(), expiry/10)
					_, unlock, err := other.Lock(ctx, cart+"2")
					if err != nil {
						t.Fatalf("after %v: Lock() = %v, want the lock at once", time.Since(start), err)
					}
					unlock()
					cancel()
					fields, err := server.HKeys(locksKey)
					if err != nil {
						t.Fatal(err)
					}
					want, early := []string{"lock/" + cart, "server", "sweep"}, time.Since(start) < patience
					if early != (len(fields) > 10_000) || !early && !slices.Equal(fields, want) {
						t.Errorf("after %v there are %d fields, want those of dead processes until %v, and then %q",
							time.Since(start), len(fields), patience, want)
					}
				}
				if holder.held.Err() != nil {
					t.Error("another lock was lost, want it held")
				}
				holder.unlock()
			})
		})
	}
}

// A sweep names the longest expiry of the locks that it leaves: so long the next one waits. That
// removes those that were not written since. On a real server.
func TestLocker_sweep(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client(t)
	open(t, client)
	must(t, client.HSet(t.Context(), locksKey,
		"lock/dead", "dead:1:1000:", "lock/live", "live:1:600000:", "queue/dead", "dead:1"))
	sweep := func(name, seen string) any {
		cmd := client.Eval(t.Context(), script(t, "acquire.lua"), []string{locksKey},
			"lock/"+name, name, "1", "1000", "", "", seen, name, "1", "", "0")
		must(t, cmd)
		return cmd.Val().([]any)[1]
	}
	if got, want := sweep("first", ""), "first::600000"; got != want {
		t.Errorf("the first sweep is %q, want %q", got, want)
	}
	must(t, client.Eval(t.Context(), script(t, "extend.lua"), []string{locksKey}, "lock/live", "live", "2", "600000"))
	if got, want := sweep("second", "first::600000"), "second::600000"; got != want {
		t.Errorf("the second sweep is %q, want %q", got, want)
	}
	got := client.HKeys(t.Context(), locksKey).Val()
	want := []string{"lock/first", "lock/live", "lock/second", "server", "sweep"}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("after it the server has %q, want %q", got, want)
	}
}

// A lock that was held when the snapshot was made comes back with it. Its holder must not extend
// it: another process may have had the lock since.
func TestLocker_oldHolder(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	open(t, client)
	first := acquire(t, newLockerOf(t, client, 3*time.Second))
	must(t, client.Save(t.Context()))
	server.Restart(t)
	select {
	case <-first.held.Done():
	case <-time.After(maxWait):
		t.Error("the lock is still held after a restart, want it lost after its lease")
	}
	first.unlock()
}

// A command that arrives late must not bring back a value that others have seen: they would take
// the lock over too early.
func TestLocker_counter(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	lock := acquire(t, newLocker(t, client))
	defer lock.unlock()
	before := client.HGet(t.Context(), locksKey, "lock/"+cart).Val()
	var after string
	eventually(t, func() string {
		if after = client.HGet(t.Context(), locksKey, "lock/"+cart).Val(); after == before {
			return "the counter does not change"
		}
		return ""
	})
	token, _, _ := strings.Cut(before, ":")
	late := []any{"lock/" + cart, token, "1", "1000"}
	must(t, client.Eval(t.Context(), script(t, "extend.lua"), []string{locksKey}, late...))
	must(t, client.Eval(t.Context(), script(t, "acquire.lua"), []string{locksKey},
		append(late, "", "", "", "nonce", "100", "", "0")...))
	if got := client.HGet(t.Context(), locksKey, "lock/"+cart).Val(); counterOf(t, got) < counterOf(t, after) {
		t.Errorf("after late commands the value is %q, want at least %q", got, after)
	}
}

// counterOf returns the counter in the value of a lock.
func counterOf(t *testing.T, value string) int {
	t.Helper()
	parts := strings.Split(value, ":")
	n, err := strconv.Atoi(parts[min(1, len(parts)-1)])
	if err != nil {
		t.Fatalf("the value of the lock is %q, want TOKEN:COUNTER:EXPIRY", value)
	}
	return n
}

// An extension that arrives after another process took the lock over does not take it back.
func TestLocker_lateExtension(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client(t)
	lock := acquire(t, newLocker(t, client))
	defer lock.unlock()
	before := client.HGet(t.Context(), locksKey, "lock/"+cart).Val()
	response, err := client.Eval(t.Context(), script(t, "extend.lua"), []string{locksKey},
		"lock/"+cart, "another", "9", "1000").StringSlice()
	if err != nil || response[0] != "lost" {
		t.Errorf("got %q (%v), want lost", response, err)
	}
	token, _, _ := strings.Cut(before, ":")
	if after := client.HGet(t.Context(), locksKey, "lock/"+cart).Val(); !strings.HasPrefix(after, token) {
		t.Errorf("the lock is %q, want the token %q", after, token)
	}
}

// script returns the source of server.lua and of other scripts.
func script(t *testing.T, names ...string) (source string) {
	t.Helper()
	for _, name := range append([]string{"server.lua"}, names...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source += string(text)
	}
	return source
}

// The rights that README.md names are enough.
func TestRights(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	rights := regexp.MustCompile("A user of the server needs `(.*?)`").FindSubmatch(readme)
	if rights == nil {
		t.Fatal("README.md names no rights")
	}
	server := redistest.Start(t)
	args := []any{"ACL", "SETUSER", "pod", "on", ">password", "~commerce/limit", "~commerce/locks"}
	for right := range strings.FieldsSeq(string(rights[1])) {
		args = append(args, right)
	}
	must(t, server.Client(t).Do(t.Context(), args...))
	client := redis.NewClient(&redis.Options{Addr: server.Addr, Username: "pod", Password: "password"})
	t.Cleanup(func() { _ = client.Close() })
	locker := newLocker(t, client)
	acquire(t, locker).unlock()
	dead := map[string]any{}
	for i := range 10_000 {
		dead[fmt.Sprint("lock/", i)] = "dead:1:1000:"
	}
	must(t, server.Client(t).HSet(t.Context(), locksKey, dead))
	acquire(t, locker).unlock()
	lock := acquire(t, locker)
	time.Sleep(expiry) // it is extended
	lock.unlock()
	acquire(t, locker).unlock()
	if n := server.Client(t).HLen(t.Context(), locksKey).Val(); n != 2 {
		t.Errorf("the server has %d fields, want 2: those of dead processes are removed", n)
	}
	config := rediscommerce.LimiterConfig{PerSecond: 10, Burst: 100_000, Timeout: maxWait}
	limiter, err := rediscommerce.NewLimiter(client, config)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := limiter.Wait(t.Context()); err != nil {
			t.Errorf("Wait() = %v, want no error", err)
		}
		soon := time.Now().Add(time.Hour).UnixMicro()
		must(t, server.Client(t).ZAdd(t.Context(), "commerce/limit", redis.Z{Score: float64(soon), Member: soon}))
	}
	if err := client.HKeys(t.Context(), locksKey).Err(); !redis.HasErrorPrefix(err, "NOPERM") {
		t.Errorf("HKEYS: %v, want NOPERM: the user has all rights", err)
	}
}

func must(t *testing.T, cmd redis.Cmder) {
	t.Helper()
	if err := cmd.Err(); err != nil {
		t.Fatalf("%s: %v", cmd.Name(), err)
	}
}
