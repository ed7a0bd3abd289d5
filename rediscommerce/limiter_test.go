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

// Nobody waits for longer because the server's clock was set back.
func TestLimiter_clock(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		moved time.Duration
		want  time.Duration // wait of the next call
	}{
		{name: "not moved", want: 300 * time.Millisecond},
		{name: "set back an hour", moved: -time.Hour, want: 300 * time.Millisecond},
		{name: "set back ten years", moved: -87_600 * time.Hour, want: 300 * time.Millisecond},
		{name: "set forward", moved: time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := redistest.StartVirtual(t)
				begin := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
				server.SetTime(begin)
				l := newLimiter(t, server.Client(t), 10)
				ctx, cancel := context.WithCancel(t.Context())
				for range 3 {
					go func() { _ = l.Wait(ctx) }()
				}
				synctest.Wait() // they have their slots
				cancel()
				server.SetTime(begin.Add(tt.moved))
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
