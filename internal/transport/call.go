package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"reflect"
	"time"
)

// call is a Call under way: the innermost RoundTripper of its attempts, and the
// policy between them. The retry loop uses it from one goroutine; what a trace
// observes is in evidence, which has a lock.
type call struct {
	*Call
	client *Client
	ctx    context.Context

	result    Result
	last      ending    // of the last attempt
	evidence  *evidence // of the last attempt
	token     string    // of the last attempt
	next      string    // token for the next attempt, if a refresh gave one
	refreshed bool
	left      time.Time     // when the last attempt left the gate
	wait      time.Duration // before the next attempt
	ended     bool          // no further attempt may be made
}

// ending is how an attempt ended.
type ending uint8

const (
	notMade    ending = iota
	answered          // with a status, at least
	unanswered        // what is known of it is in MaybeSent
)

var (
	errTimeout     = errors.New("the attempt timed out")
	errTooLarge    = errors.New("the answer is larger than the limit")
	errNoAnswer    = errors.New("the transport returned neither an HTTP answer nor an error")
	errSwitched    = errors.New("the service switched protocols")
	errUnavailable = errors.New("attempt not made")
)

// RoundTrip makes one attempt. What it returns serves the retry loop and the
// cookie jar only; what counts is in c.result.
func (c *call) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := c.prepare(); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		c.ended, c.last = true, notMade
		c.result.Err, c.result.MaybeSent = err, false
		return nil, errUnavailable
	}
	timeout := c.Policy.AttemptTimeout
	if t := c.client.timeout; t > 0 && t < timeout {
		timeout = t
	}
	ctx, cancel := context.WithTimeoutCause(c.ctx, timeout, errTimeout)
	defer cancel()

	c.evidence = &evidence{class: c.Class, host: req.Host, userAgent: req.Header.Get("User-Agent"), end: cancel}
	out := req.WithContext(httptrace.WithClientTrace(ctx, c.evidence.trace()))
	u := *req.URL
	out.URL = &u // a transport that changes it must not reach the next attempt; the header is this one's own
	if c.token != "" {
		out.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.Class == Once {
		c.evidence.guard(out, c.Body, c.client.base(), c.client.own)
	}

	c.result.Attempts++
	start := time.Now()
	resp, err := c.client.base().RoundTrip(out)
	if rv := reflect.ValueOf(err); rv.Kind() == reflect.Pointer && rv.IsNil() {
		err = nil // a nil of a type is no error, and panics if it is asked
	}
	if resp != nil && resp.Body != nil && (err != nil || resp.StatusCode < 100) {
		_ = resp.Body.Close()
	}
	if err == nil && (resp == nil || resp.StatusCode < 100) {
		c.evidence.markSent() // something responded: it may have been sent, hooks or not
		err = errNoAnswer
	}
	if err != nil {
		c.noAnswer(ctx, err)
		c.logAttempt(start)
		return nil, c.result.Err
	}
	c.answer(ctx, resp)
	c.logAttempt(start)

	// The loop gets no Location, which http.Client would parse and quote in an error.
	header := http.Header{}
	if cookies := resp.Header["Set-Cookie"]; cookies != nil {
		header["Set-Cookie"] = cookies
	}
	return &http.Response{
		Status: resp.Status, StatusCode: resp.StatusCode,
		Proto: resp.Proto, ProtoMajor: resp.ProtoMajor, ProtoMinor: resp.ProtoMinor,
		Header: header, Body: http.NoBody, Request: req,
	}, nil
}

// prepare waits at the gate, asks the limiter and gets the token: again, if the gate
// was shut meanwhile. What a limiter allowed before that does not count: calls that
// waited would leave faster than it allows.
func (c *call) prepare() error {
	for {
		shuts, err := c.passGate()
		if err != nil {
			return err
		}
		if c.Limiter != nil {
			if err := c.Limiter.Wait(c.ctx); err != nil {
				return reduce(c.ctx, fmt.Errorf("%w: %w", ErrLimiter, err))
			}
		}
		if err := ctxErr(c.ctx); err != nil {
			return err
		}
		if err := c.getToken(); err != nil {
			return err
		}
		if c.left = time.Now(); c.Gate == nil || !c.Gate.shutSince(shuts) {
			return nil
		}
	}
}

// getToken gets the token for the attempt.
func (c *call) getToken() error {
	switch {
	case c.Auth == nil:
	case c.next != "":
		c.token, c.next = c.next, ""
	default:
		token, err := c.Auth.Token(c.ctx)
		if err != nil {
			return &AuthError{err}
		}
		c.token = token
	}
	return nil
}

func (c *call) passGate() (shuts int, err error) {
	if err := ctxErr(c.ctx); err != nil || c.Gate == nil {
		return 0, err
	}
	shuts, wait, err := c.Gate.pass(c.ctx, c.Policy.MaxBackoff)
	if errors.Is(err, ErrGate) {
		c.result.RetryAfter = wait
	} else if wait > 0 && c.Logger != nil {
		c.Logger.LogAttrs(c.ctx, slog.LevelDebug, "commerce: waited", append(c.attrs(), slog.Duration("wait", wait))...)
	}
	return shuts, err
}

// noAnswer records an attempt that ended without a status line.
func (c *call) noAnswer(ctx context.Context, err error) {
	sent := !c.evidence.notSent()
	if sent {
		c.result = Result{Attempts: c.result.Attempts}
	}
	c.last = unanswered
	c.result.MaybeSent, c.result.SentTwice = sent, c.evidence.sentTwice()
	c.result.RetryAfter = 0 // what an earlier answer asked for was waited for
	c.result.Err = c.reduce(ctx, err)
}

// answer records an attempt that was answered, and reads the body.
func (c *call) answer(ctx context.Context, resp *http.Response) {
	r := Result{Attempts: c.result.Attempts, StatusCode: resp.StatusCode, Header: resp.Header}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		r.Err = errSwitched // its body is the raw connection: never read
	} else {
		limit := MaxErrorBody
		if is2xx(resp.StatusCode) {
			limit = MaxBody
		} else {
			r.RetryAfter = retryAfter(resp.Header, time.Now())
		}
		if c.Gate != nil && r.StatusCode == http.StatusTooManyRequests && r.RetryAfter > 0 {
			c.Gate.shut(c.left, min(r.RetryAfter, c.Policy.MaxBackoff))
		}
		var err error
		if r.Body, err = readBody(resp, limit, c.Buffers.get()); err != nil {
			r.Err, r.Cut = c.reduce(ctx, err), true
		}
	}
	if r.Err == nil && r.Is2xx() && c.Accept != nil {
		if r.Err = c.Accept(r.Body); r.Err == nil && c.Buffers != nil {
			c.Buffers.put(r.Body)
			r.Body = nil
		}
	}
	r.SentTwice = c.evidence.sentTwice()
	c.result, c.last = r, answered
}

// reduce reduces the error of an attempt under ctx to what may be shown.
func (c *call) reduce(ctx context.Context, err error) error {
	if e := ctxErr(c.ctx); e != nil {
		return e
	}
	if reason := c.evidence.reason(); reason != nil {
		return reason
	}
	if errors.Is(context.Cause(ctx), errTimeout) {
		return errTimeout
	}
	return reduce(c.ctx, err)
}

// finish returns the result. err is the loop's: it counts only where the loop
// itself ended the call, in a wait or before any attempt.
func (c *call) finish(err error) *Result {
	if err != nil && (!c.ended || c.last == notMade && c.result.Err == nil) {
		c.result.Err = reduce(c.ctx, err) // what the last answer said stays
	}
	return &c.result
}
