package transport

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// The error of a call that ended while it waited says for what. It still matches that of its
// context.
func TestWaitError(t *testing.T) {
	t.Parallel()
	waiting := limiter(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	ignoring := limiter(func(context.Context) error { time.Sleep(time.Hour); return nil }) // that ctx has ended
	for _, tt := range []struct {
		what string
		wait func(c *Call) // makes c wait for an hour
	}{
		{what: "the gate", wait: func(c *Call) { c.Gate = refused(t, 1, c.Op, time.Hour) }},
		{what: "the limiter", wait: func(c *Call) { c.Limiter = waiting }},
		{what: "the limiter", wait: func(c *Call) { c.Limiter = ignoring }},
		{what: "the next attempt", wait: func(c *Call) { c.Policy.MinBackoff = math.MaxInt64 }},
	} {
		synctest.Test(t, func(t *testing.T) {
			call := newCall(t, Replayable, storeURL)
			call.Policy.MaxBackoff = math.MaxInt64
			tt.wait(call)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			r := (&script{statuses: []int{503, 503}}).do(ctx, call)
			want := "context canceled while waiting for " + tt.what
			if r.Err.Error() != want || !errors.Is(r.Err, context.Canceled) {
				t.Errorf("%+v, want %s", r, want)
			}
		})
	}
	if err := WaitError(t.Context(), "the gate"); err != nil {
		t.Errorf("WaitError() = %v before the context ended, want nil", err)
	}
}
