package transport

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"
)

// checkRetry decides after each attempt whether there is another, and how long
// to wait before it.
func (c *call) checkRetry(context.Context, *http.Response, error) (bool, error) {
	retry := c.decide()
	if !retry {
		c.ended = true
	} else if c.Logger != nil {
		c.Logger.LogAttrs(c.ctx, slog.LevelWarn, "commerce: retry", append(c.attrs(), slog.Duration("wait", c.wait))...)
	}
	return retry, nil
}

func (c *call) decide() bool {
	r := &c.result
	if c.ended {
		return false
	}
	refresh := r.StatusCode == http.StatusUnauthorized && r.Err == nil && !c.refreshed && c.Auth != nil
	again := c.repeatable() && r.Attempts < c.Policy.MaxAttempts
	if !refresh && !again {
		return false
	}
	if err := ctxErr(c.ctx); err != nil {
		r.Err = err
		return false
	}
	if !refresh && !c.mayWait() || c.maybeApplied() {
		return false
	}
	return !refresh || c.refresh()
}

// maybeApplied reports whether a Once call may have been applied although the status
// of the response says that it was not.
func (c *call) maybeApplied() bool {
	r := &c.result
	return c.Class == Once && r.StatusCode != 0 && (r.SentTwice || c.Applied != nil && c.Applied(r))
}

// mayWait sets the wait before the next attempt, and reports whether it is within
// MaxBackoff and the deadline: the caller learns it now, instead of after a long wait.
func (c *call) mayWait() bool {
	c.wait = c.backoff(c.result.Attempts)
	if after := c.result.RetryAfter; after > 0 {
		c.wait = after
		if after > c.Policy.MaxBackoff {
			return false
		}
	}
	deadline, ok := c.ctx.Deadline()
	return !ok || time.Until(deadline) > c.wait
}

// repeatable reports whether sending the call again is safe and may help.
func (c *call) repeatable() bool {
	r := &c.result
	switch {
	case c.last == notMade:
		return false
	case c.last == unanswered:
		return c.Class == Replayable || !r.MaybeSent
	case errors.Is(r.Err, errTooLarge) || errors.Is(r.Err, errSwitched):
		return false // it would come again
	}
	switch r.StatusCode {
	case http.StatusMisdirectedRequest, http.StatusTooEarly, http.StatusTooManyRequests: // nothing was done
		return true
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return c.Class == Replayable
	}
	return c.Class == Replayable && r.Is2xx() && r.Err != nil
}

// refresh gets another token after a 401, once a call. The repeat is made even
// where MaxAttempts allows no other.
func (c *call) refresh() bool {
	c.refreshed = true
	next, err := c.Auth.Refresh(c.ctx, c.token)
	if err != nil {
		c.result.Err = &AuthError{err}
		return false
	}
	if next == "" || next == c.token {
		return false
	}
	c.next, c.wait = next, 0
	return true
}

// backoff is full jitter: random between 0 and a bound that doubles with each
// attempt, from MinBackoff up to MaxBackoff.
func (c *call) backoff(attempts int) time.Duration {
	bound := c.Policy.MinBackoff
	for ; attempts > 1 && bound <= c.Policy.MaxBackoff/2; attempts-- {
		bound *= 2
	}
	if attempts > 1 {
		bound = c.Policy.MaxBackoff
	}
	if bound <= 0 {
		return 0
	}
	return rand.N(bound)
}
