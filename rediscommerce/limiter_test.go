//go:build unix

package rediscommerce_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce/rediscommerce"
	"github.com/commerce-go/commerce/rediscommerce/internal/redistest"
)

// Two limiters with the same name return slots at the rate of one, and after a pause a burst.
func TestLimiter_rate(t *testing.T) {
	t.Parallel()
	const perSecond, burst, calls = 20, 5, 15
	synctest.Test(t, func(t *testing.T) {
		server := redistest.StartVirtual(t)
		round := func() time.Duration {
			start := time.Now()
			var running sync.WaitGroup
			for range 2 {
				l, err := rediscommerce.NewLimiter(server.Client(t), rediscommerce.LimiterConfig{
					Name: "another/limit", PerSecond: perSecond, Burst: burst,
				})
				if err != nil {
					t.Fatal(err)
				}
				running.Go(func() {
					for range calls {
						if err := l.Wait(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			running.Wait()
			return time.Since(start)
		}
		const want = (2*calls - burst) * time.Second / perSecond
		for range 2 {
			if d := round(); d != want {
				t.Errorf("%d calls took %v, want %v", 2*calls, d, want)
			}
			time.Sleep(burst * time.Second / perSecond)
		}
	})
}

// A call that would wait beyond its deadline takes no slot, and ends at once.
func TestLimiter_deadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, redistest.StartVirtual(t).Client(t), 0.5) // a slot each 2 s
		if err := l.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := l.Wait(ctx)
			cancel()
			if err == nil || !strings.Contains(err.Error(), "no slot before the deadline") {
				t.Errorf("Wait() = %v, want no slot before the deadline", err)
			}
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("three calls took %v, want them to end at once", d)
		}
		if err := l.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("the next slot came after %v, want 2 s: calls without a slot took one", d)
		}
	})
}

func TestLimiter_cancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, redistest.StartVirtual(t).Client(t), 0.001)
		ctx, cancel := context.WithCancel(t.Context())
		if err := l.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, cancel)
		for _, when := range []string{"while it waits", "before"} {
			if err := l.Wait(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("the context ends %s: Wait() = %v, want %v", when, err, context.Canceled)
			}
		}
	})
}

// Calls that give up hold up no other: neither those that wait already, nor those that come later.
// The slots that they gave up are used once.
func TestLimiter_givenUp(t *testing.T) {
	t.Parallel()
	const perSecond, cancelled, others = 22.5, 200, 10
	for _, tt := range []struct {
		name       string
		waiting    time.Duration // of the calls that give up
		delay      time.Duration // of the server
		interleave bool          // the others come between the calls that give up, not after them
		limit      time.Duration // of the others, after the calls gave up; alone they take 0.4 s
	}{
		{name: "the others wait behind", waiting: time.Second, limit: 1400 * time.Millisecond},
		{name: "the others wait between", waiting: time.Second, interleave: true, limit: 1400 * time.Millisecond},
		{name: "while their requests are under way", waiting: 10 * time.Millisecond, delay: 50 * time.Millisecond,
			limit: 1200 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := redistest.StartVirtual(t)
				server.Delay(tt.delay)
				ours, theirs := newLimiter(t, server.Client(t), perSecond), newLimiter(t, server.Client(t), perSecond)
				starts := make(chan time.Time, 2*others+cancelled)
				var running sync.WaitGroup
				wait := func(ctx context.Context, l *rediscommerce.Limiter) {
					running.Go(func() {
						if l.Wait(ctx) == nil {
							starts <- time.Now()
						}
					})
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				for i := range cancelled {
					wait(ctx, ours)
					if i%(cancelled/others) == 0 && tt.interleave {
						synctest.Wait()
						wait(t.Context(), theirs)
					}
				}
				if !tt.interleave {
					time.Sleep(tt.waiting / 2)
					for range others {
						wait(t.Context(), theirs)
					}
				}
				time.Sleep(tt.waiting / 2)
				cancel()
				gaveUp := time.Now()
				running.Wait()
				if d := time.Since(gaveUp); d > tt.limit {
					t.Errorf("%d calls that waited started within %v, want %v", others, d, tt.limit)
				}
				begin := time.Now()
				for range others {
					wait(t.Context(), theirs)
				}
				running.Wait()
				if d := time.Since(begin); d > tt.limit {
					t.Errorf("%d calls that came later started within %v, want %v", others, d, tt.limit)
				}
				close(starts)
				checkRate(t, starts, perSecond, tt.delay)
			})
		})
	}
}

// However many calls give up, and in whatever order, a call that comes later waits for at most a
// second.
func TestLimiter_manyGivenUp(t *testing.T) {
	t.Parallel()
	const perSecond, limit = 90, time.Second
	for _, tt := range []struct {
		name  string
		calls int
		later time.Duration // until the next call
	}{
		{name: "later", calls: 1500, later: 12 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := redistest.StartVirtual(t)
				l := newLimiter(t, server.Client(t), perSecond)
				var contexts [6]context.Context
				var cancels [6]context.CancelFunc
				for i := range contexts {
					contexts[i], cancels[i] = context.WithCancel(t.Context())
				}
				for i := range tt.calls {
					go func() { _ = l.Wait(contexts[i%6]) }()
					if i%50 == 0 {
						synctest.Wait() // the client has a limited number of connections
					}
				}
				synctest.Wait()
				for _, i := range []int{3, 0, 5, 1, 4, 2} {
					cancels[i]()
					synctest.Wait()
				}
				time.Sleep(tt.later)
				start := time.Now()
				if err := l.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				if d := time.Since(start); d > limit {
					t.Errorf("after %d calls gave up, the next one waited for %v, want at most %v", tt.calls, d, limit)
				}
			})
		})
	}
}

// checkRate checks that no two calls started earlier after each other than the rate allows, but for
// the time that a response took.
func checkRate(t *testing.T, starts <-chan time.Time, perSecond float64, jitter time.Duration) {
	t.Helper()
	var last time.Time
	for start := range starts {
		least := time.Duration(float64(time.Second)/perSecond) - jitter - time.Microsecond
		if d := start.Sub(last); d < least {
			t.Errorf("a call started %v after the one before, want at least %v", d, least)
		}
		last = start
	}
}

// A slot that was given up serves the next call, also if its time is near, and none that has passed
// is used.
func TestLimiter_nextSlot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		when time.Duration // the call with the slot at 100 ms gives up
		ask  time.Duration // the next call asks
		want time.Duration // its slot
	}{
		{name: "before its time", when: 20 * time.Millisecond, ask: 30 * time.Millisecond, want: 100 * time.Millisecond},
		{name: "its time has passed", when: 20 * time.Millisecond, ask: 150 * time.Millisecond, want: 300 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, start := newLimiter(t, redistest.StartVirtual(t).Client(t), 10), time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var running sync.WaitGroup
				for _, ctx := range []context.Context{t.Context(), ctx, t.Context()} { // 0, 100 and 200 ms
					running.Go(func() { _ = l.Wait(ctx) })
					synctest.Wait()
				}
				time.Sleep(tt.when)
				cancel()
				time.Sleep(tt.ask - tt.when)
				if err := l.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				if d := time.Since(start); d != tt.want {
					t.Errorf("the next call started at %v, want %v", d, tt.want)
				}
				running.Wait()
			})
		})
	}
}

// Nobody waits for longer because the server's clock was set back.
func TestLimiter_clock(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		moved  time.Duration
		gaveUp int           // before (-1) or after (1) the clock was set, the second of the calls gave up
		lost   bool          // the server lost its data when the clock was set
		want   time.Duration // wait of the next call
	}{
		{name: "not moved", want: 300 * time.Millisecond},
		{name: "set back an hour", moved: -time.Hour, want: 300 * time.Millisecond},
		{name: "set back ten years", moved: -87_600 * time.Hour, want: 300 * time.Millisecond},
		{name: "set forward", moved: time.Hour},
		{name: "gave up, then set back", moved: -time.Hour, gaveUp: -1, want: 100 * time.Millisecond},
		{name: "set back, then gave up", moved: -time.Hour, gaveUp: 1, want: 100 * time.Millisecond},
		{name: "gave up, then set forward", moved: time.Hour, gaveUp: -1},
		{name: "set forward, then gave up", moved: time.Hour, gaveUp: 1},
		{name: "lost its data, then gave up", lost: true, gaveUp: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := redistest.StartVirtual(t)
				begin := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
				server.SetTime(begin)
				l := newLimiter(t, server.Client(t), 10)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				second, giveUp := context.WithCancel(t.Context())
				defer giveUp()
				for _, ctx := range []context.Context{ctx, second, ctx} {
					go func() { _ = l.Wait(ctx) }()
					synctest.Wait() // it has its slot
				}
				if tt.gaveUp < 0 {
					giveUp()
					synctest.Wait()
				}
				server.SetTime(begin.Add(tt.moved))
				if tt.lost {
					server.FlushAll()
				}
				if tt.gaveUp > 0 {
					giveUp()
					synctest.Wait()
				}
				start := time.Now()
				if err := l.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				if d := time.Since(start); d != tt.want {
					t.Errorf("Wait() took %v, want %v", d, tt.want)
				}
			})
		})
	}
}
