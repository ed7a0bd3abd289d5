package transport

import (
	"context"
	"fmt"
	"time"
)

// ctxErr returns the error of a context that has ended. A deadline that has passed counts even if
// the timer of the context has not fired yet: a dialer compares clocks, and may be first.
func ctxErr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// beforeDeadline reports whether t is before the deadline of ctx.
func beforeDeadline(ctx context.Context, t time.Time) bool {
	deadline, ok := ctx.Deadline()
	return !ok || t.Before(deadline)
}

// WaitError returns the error of a call that ended while it waited for what, or nil if ctx, its
// context, has not ended.
func WaitError(ctx context.Context, what string) error {
	if err := ctxErr(ctx); err != nil {
		return fmt.Errorf("%w while waiting for %s", err, what)
	}
	return nil
}

// withValues is a context with the values of another one. With it, an observer can pass values
// on, but cannot change when the call ends.
type withValues struct {
	context.Context
	values context.Context //nolint:containedctx // it is a context
}

func (c withValues) Value(key any) any { return c.values.Value(key) }

// WithValues returns ctx with the values of another context, which may be nil.
func WithValues(ctx, values context.Context) context.Context {
	if values == nil {
		return ctx
	}
	return withValues{ctx, values}
}
