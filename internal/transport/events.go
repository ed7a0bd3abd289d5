package transport

import (
	"context"
	"log/slog"
	"time"
)

// Observer is notified of the waits and the attempts of a call. The call uses it from one
// goroutine.
type Observer interface {
	// Waited is called after each wait, also if no attempt follows it. All other waits are 0.
	Waited(Waits)
	// StartAttempt is called before attempt n of a request, the first of which is 1. The attempt
	// has the values of the context that it returns. The function is called when the attempt ends.
	StartAttempt(ctx context.Context, method string, n int) (context.Context, func(AttemptResult))
}

// Waits are how long a call waited before an attempt, and for what.
type Waits struct{ Gate, Limiter, Token, Backoff time.Duration }

// WaitSince returns how long a wait took that began at start. It is 0 for what was over at once.
func WaitSince(start time.Time) time.Duration {
	if d := time.Since(start); d >= time.Millisecond {
		return d
	}
	return 0
}

// AttemptResult is how an attempt ended.
type AttemptResult struct {
	StatusCode int // 0: no response
	RequestID  string
	Error      string // in a few words; empty if there was a usable response, of whatever status
	Duration   time.Duration
}

// startAttempt tells the observer that an attempt begins, and returns the context of the attempt.
func (c *call) startAttempt() context.Context {
	if c.Observer == nil {
		return c.ctx
	}
	var ctx context.Context
	ctx, c.tellEnd = c.Observer.StartAttempt(c.ctx, c.Method, c.result.Attempts+1)
	return WithValues(c.ctx, ctx)
}

// endAttempt tells the logger and the observer what is known of the attempt that began at start.
func (c *call) endAttempt(start time.Time) {
	r := AttemptResult{Duration: time.Since(start)}
	c.log(slog.LevelDebug, "commerce: attempt", slog.Duration("duration", r.Duration))
	if c.gotResponse {
		r.StatusCode, r.RequestID = c.result.StatusCode, RequestID(c.result.Header)
	}
	if c.result.Err != nil && c.tellEnd != nil {
		r.Error = c.describeError()
	}
	c.tell(r)
}

// tell tells the observer how an attempt ended, once.
func (c *call) tell(r AttemptResult) {
	if tell := c.tellEnd; tell != nil {
		c.tellEnd = nil
		tell(r)
	}
}

// Panicked is the Error that an observer gets if the code of the caller panicked.
const Panicked = "panic"

// describeError describes the error of the last attempt.
func (c *call) describeError() string {
	if c.gotResponse && c.result.Is2xx() && !c.result.Truncated {
		return "unusable response" // Accept refused it
	}
	return Describe(c.result.Err)
}

// endBackoff tells the observer about the wait before a retry.
func (c *call) endBackoff() {
	if !c.retryAt.IsZero() {
		c.waited(Waits{Backoff: WaitSince(c.retryAt)})
		c.retryAt = time.Time{}
	}
}

// waited tells the observer about a wait.
func (c *call) waited(w Waits) {
	if c.Observer != nil {
		c.Observer.Waited(w)
	}
}

// log writes an event with what is known of the last attempt: no URL, no network address, no
// header, no body.
func (c *call) log(level slog.Level, message string, last slog.Attr) {
	if c.Logger == nil {
		return
	}
	attrs := []slog.Attr{
		slog.String("op", c.Op),
		slog.String("method", c.Method),
		slog.Int("attempt", c.result.Attempts),
	}
	if c.result.StatusCode != 0 {
		attrs = append(attrs, slog.Int("status", c.result.StatusCode))
	}
	if id := RequestID(c.result.Header); id != "" {
		attrs = append(attrs, slog.String("request_id", id))
	}
	if c.result.Err != nil {
		attrs = append(attrs, slog.String("error", c.describeError()))
	}
	c.Logger.LogAttrs(c.ctx, level, message, append(attrs, last)...)
}
