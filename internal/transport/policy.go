package transport

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"
)

// checkRetry decides after each attempt whether there is another one, and sets the wait before it.
func (c *call) checkRetry(context.Context, *http.Response, error) (bool, error) {
	if c.finished = !c.shouldRetry(); c.finished {
		return false, nil
	}
	c.retryAt = time.Now()
	c.log(slog.LevelWarn, "commerce: retry", slog.Duration("wait", c.wait))
	c.maybeAppliedBefore = c.maybeAppliedBefore || c.attemptMaybeApplied()
	return true, nil
}

func (c *call) shouldRetry() bool {
	if c.finished {
		return false
	}
	r := &c.result
	refresh := r.StatusCode == http.StatusUnauthorized && r.Err == nil && !c.refreshed && c.Auth != nil
	if !refresh && (!c.retryable() || !c.hasAttempts()) {
		return false
	}
	if err := ctxErr(c.ctx); err != nil {
		r.Err = err
		return false
	}
	if !refresh && !c.setWait() || c.maybeApplied() {
		return false
	}
	return !refresh || c.refresh()
}

// hasAttempts reports whether the policy allows another attempt.
func (c *call) hasAttempts() bool {
	most, n := c.Policy.MaxAttempts, c.result.Attempts
	return !c.refusedAll && n-c.refusals < most && n < max(most, c.Policy.MaxRefusals)
}

// retryable reports whether sending the call again is safe and may help.
func (c *call) retryable() bool {
	r := &c.result
	if errors.Is(r.Err, errTooLarge) || errors.Is(r.Err, ErrCertificate) {
		return false // the next attempt would end in the same way
	}
	if !c.gotResponse {
		return c.Class == Replayable || !r.MaybeSent
	}
	switch r.StatusCode {
	case http.StatusMisdirectedRequest, http.StatusTooEarly, http.StatusTooManyRequests: // the service did nothing
		return true
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return c.Class == Replayable
	}
	return c.Class == Replayable && r.Is2xx() && r.Err != nil
}

// maybeApplied reports whether a Once call may have been applied, although the status suggests
// that it was not.
func (c *call) maybeApplied() bool {
	r := &c.result
	return c.Class == Once && r.StatusCode != 0 && (r.SentTwice || c.Applied != nil && c.Applied(r))
}

// attemptMaybeApplied reports whether the service may have applied the last attempt, which failed.
func (c *call) attemptMaybeApplied() bool {
	r := &c.result
	return r.MaybeSent || r.Is2xx() || r.StatusCode == http.StatusRequestTimeout || r.StatusCode >= 500
}

// setWait sets the wait before the next attempt. After a 429 that asks for no wait there is none:
// the pace of the operation is the wait. It reports whether the wait is at most MaxBackoff and ends
// before the deadline. Otherwise the call ends at once, instead of after a wait that cannot help.
func (c *call) setWait() bool {
	switch r := &c.result; {
	case r.RetryAfter > 0:
		c.wait = r.RetryAfter
	case c.Gate != nil && c.gotResponse && r.StatusCode == http.StatusTooManyRequests:
		c.wait = 0
	default:
		c.wait = c.backoff(r.Attempts)
	}
	return c.wait <= c.Policy.MaxBackoff && beforeDeadline(c.ctx, time.Now().Add(c.wait))
}

// refresh requests another token after a 401, once per call. The attempt with the new token is made
// at once, even if MaxAttempts is reached. It reports whether there is another token.
func (c *call) refresh() bool {
	c.refreshed = true
	next, err := c.requestToken(c.token)
	if err != nil {
		c.result.Err = err
		return false
	}
	c.nextToken, c.wait = next, 0
	return next != c.token
}

// backoff returns a random wait that is less than a bound (full jitter). The bound is MinBackoff
// after the first attempt and doubles after each further one, up to MaxBackoff.
func (c *call) backoff(attempts int) time.Duration {
	bound := c.Policy.MinBackoff
	for range attempts - 1 {
		bound += min(bound, c.Policy.MaxBackoff-bound)
	}
	return rand.N(max(1, bound))
}
