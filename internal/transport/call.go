package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// call is a Call in progress. Its RoundTrip makes an attempt, its checkRetry decides whether there
// is another one. Only one goroutine uses it; the hooks of httptrace, which may run in others, use
// evidence.
type call struct {
	*Call
	client *Client
	base   http.RoundTripper
	isOwn  bool            // base is the library's own transport
	ctx    context.Context // the caller's

	// The loop, and what passes through it. They are here to be allocated together.
	loop       retryablehttp.Client
	httpClient http.Client
	passed     retryablehttp.Request
	response   http.Response
	first      evidence // of the first attempt

	result    Result
	nextToken string        // for the next attempt, after a refresh, otherwise ""
	refreshed bool          // Refresh was called
	wait      time.Duration // before the next attempt
	retryAt   time.Time     // when it was decided that there is a next attempt; zero if there is none
	finished  bool          // there must be no other attempt
	refusals  int           // attempts that slowed the operation

	maybeAppliedBefore bool // an attempt before the last one may have been applied

	attemptState // of the last one
}

// attemptState is the state of an attempt. Each begins with a new one.
type attemptState struct {
	turn        turn // at the gate
	token       string
	evidence    *evidence
	tellEnd     func(AttemptResult) // nil: there is no observer, or it was called
	gotResponse bool
	refusedAll  bool // the service accepts nothing
}

// ErrTimeout means that an attempt took too long. The caller's context has not ended.
var ErrTimeout = errors.New("the attempt timed out")

// ErrCertificate is matched by an error of the HTTP transport about a certificate of the other end.
var ErrCertificate = errors.New("the certificate was not accepted")

// ErrConnection is matched by any other error of the HTTP transport.
var ErrConnection = errors.New("no response")

// ErrAddress is an [ErrConnection] because the host does not exist, or does not speak TLS.
var ErrAddress = fmt.Errorf("%w from this address", ErrConnection)

// byteOrderMark begins the bodies of some gateways. JSON must not have it.
var byteOrderMark = []byte("\ufeff")

var (
	errTooLarge   = errors.New("the response is larger than the limit")
	errNoResponse = errors.New("the transport returned neither an HTTP response nor an error")
	errSwitched   = errors.New("the service switched protocols")
)

// RoundTrip makes one attempt and records it in c.result.
func (c *call) RoundTrip(*http.Request) (*http.Response, error) {
	defer c.tell(AttemptResult{Error: Panicked}) // unless the attempt ended otherwise
	c.endBackoff()
	var err error
	if c.attemptState, err = c.waitToSend(); err != nil {
		c.finished = true
		c.result.Err, c.result.MaybeSent = err, false
		return nil, err
	}
	timeout := min(c.Policy.AttemptTimeout, c.client.timeout)
	ctx, cancel := context.WithTimeoutCause(c.startAttempt(), timeout, ErrTimeout)
	defer cancel()
	if c.evidence = &c.first; c.result.Attempts > 0 {
		c.evidence = &evidence{}
	}
	c.evidence.collect(c, cancel)
	req := c.newRequest(httptrace.WithClientTrace(ctx, &c.evidence.hooks))

	c.result.Attempts++
	start := time.Now()
	resp, err := c.send(req)
	if err != nil {
		c.recordError(ctx, err)
		c.endAttempt(start)
		return nil, c.result.Err
	}
	c.recordResponse(ctx, resp)
	c.endAttempt(start)
	// Without the header, http.Client follows no redirect, and quotes no Location in an error.
	c.response = http.Response{StatusCode: resp.StatusCode, Body: http.NoBody}
	return &c.response, nil
}

// waitToSend asks the limiter, obtains the token, and then takes the turn of the call: calls that a
// slow token held up do not leave together.
func (c *call) waitToSend() (next attemptState, err error) {
	for {
		next.turn = turn{closings: -1}
		if err := c.askLimiter(&next.turn); err != nil {
			return next, err
		}
		if next.token, err = c.getToken(); err != nil {
			return next, err
		}
		err := c.passGate(&next.turn, (*Gate).pass)
		if errors.Is(err, errClosed) {
			continue
		}
		if err == nil && c.BeforeAttempt != nil {
			err = c.BeforeAttempt()
		}
		return next, err
	}
}

// askLimiter asks the limiter when the gate is open.
func (c *call) askLimiter(t *turn) error {
	if c.Limiter == nil {
		return ctxErr(c.ctx)
	}
	if err := c.passGate(t, (*Gate).untilOpen); err != nil {
		return err
	}
	start := time.Now()
	err := c.Limiter.Wait(c.ctx)
	c.waited(Waits{Limiter: WaitSince(start)})
	if ended := WaitError(c.ctx, "the limiter"); ended != nil {
		return ended
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLimiter, Withhold("errors.Is finds why", err))
	}
	return nil
}

// passGate waits at the gate.
func (c *call) passGate(
	t *turn, pass func(*Gate, context.Context, string, *turn) (time.Duration, error),
) error {
	if err := ctxErr(c.ctx); err != nil || c.Gate == nil {
		return err
	}
	start := time.Now()
	expected, err := pass(c.Gate, c.ctx, c.Op, t)
	waited := WaitSince(start)
	c.waited(Waits{Gate: waited})
	switch {
	case errors.Is(err, ErrGate):
		c.result.RetryAfter = expected
	case err != nil && !errors.Is(err, errClosed):
		err = fmt.Errorf("%w while waiting for the gate", err)
	case waited > 0:
		c.log(slog.LevelDebug, "commerce: waited", slog.Duration("wait", waited))
	}
	return err
}

func (c *call) getToken() (string, error) {
	if c.Auth == nil {
		return "", nil
	}
	if token := c.nextToken; token != "" {
		c.nextToken = ""
		return token, nil
	}
	return c.requestToken("")
}

func (c *call) requestToken(refused string) (string, error) {
	start := time.Now()
	token, err := c.Auth.Token(c.ctx, refused)
	c.waited(Waits{Token: WaitSince(start)})
	return token, err
}

// newRequest returns the request of an attempt. A transport that changes its address or its header
// changes neither the next attempt nor other calls.
func (c *call) newRequest(ctx context.Context) *http.Request {
	address := *c.URL
	req := (&http.Request{
		Method: c.Method, URL: &address, Host: address.Host, Header: c.Header.Clone(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(c.Body)),
	}).WithContext(ctx)
	if c.token != "" {
		req.Header["Authorization"] = []string{"Bearer " + c.token}
	}
	if c.Body != nil {
		req.Header["Content-Type"] = []string{c.ContentType}
	}
	if c.NoCache {
		req.Header.Set("Cache-Control", "no-cache")
	}
	if c.Class == Once {
		c.evidence.guard(req, c.Body)
	} else if c.Body != nil {
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.Body)), nil }
		req.Body, _ = req.GetBody() // no error
	}
	return req
}

// send passes req to the base transport. The response has a valid status and a body.
func (c *call) send(req *http.Request) (*http.Response, error) {
	resp, err := c.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp != nil && resp.Body == nil {
		resp.Body = http.NoBody
	}
	if resp != nil && resp.StatusCode >= 100 {
		return resp, nil
	}
	if resp != nil {
		_ = resp.Body.Close()
	}
	c.evidence.markSent() // something may have responded, even if the hooks show no connection
	return nil, errNoResponse
}

// recordError records an attempt without a response. ctx is the context of the attempt.
func (c *call) recordError(ctx context.Context, err error) {
	notSent, sentTwice, _ := c.evidence.findings()
	if !notSent {
		c.result = Result{Attempts: c.result.Attempts}
	}
	c.result.MaybeSent, c.result.SentTwice = !notSent, sentTwice
	c.result.RetryAfter = 0 // the wait that an earlier response asked for is over
	c.result.Err = c.attemptError(ctx, err)
}

// recordResponse reads the response and records it. ctx is the context of the attempt.
func (c *call) recordResponse(ctx context.Context, resp *http.Response) {
	defer func() { _ = resp.Body.Close() }()
	r := Result{Attempts: c.result.Attempts, StatusCode: resp.StatusCode, Header: resp.Header}
	r.Err = c.readResponse(ctx, resp, &r)
	_, r.SentTwice, _ = c.evidence.findings()
	c.result, c.gotResponse = r, true
}

func (c *call) readResponse(ctx context.Context, resp *http.Response, r *Result) error {
	if r.StatusCode == http.StatusSwitchingProtocols {
		return errSwitched // the body is the connection, and must not be read
	}
	limit := MaxBody
	if !r.Is2xx() {
		limit = MaxErrorBody
		r.RetryAfter = retryAfter(r, time.Now())
	}
	c.tellGate(r)
	var err error
	r.Body, err = readBody(resp, limit, c.Buffers.get())
	if r.Body = bytes.TrimPrefix(r.Body, byteOrderMark); err != nil {
		r.Truncated = true
		return c.attemptError(ctx, err)
	}
	if !r.Is2xx() || c.Accept == nil {
		return nil
	}
	if err := c.Accept(r.Body); err != nil {
		return err
	}
	if c.Buffers != nil {
		c.Buffers.put(r.Body)
		r.Body = nil
	}
	return nil
}

// tellGate lets the gate learn from a response.
func (c *call) tellGate(r *Result) {
	switch {
	case c.Gate == nil || r.StatusCode >= http.StatusInternalServerError:
	case r.StatusCode != http.StatusTooManyRequests:
		c.Gate.accept(c.Op, &c.turn)
	default:
		if r.RetryAfter == 0 {
			c.refusals++
		}
		c.refusedAll = c.Gate.refuse(c.Op, &c.turn, r.RetryAfter, c.Policy.MaxBackoff)
	}
}

// attemptError returns the error to report for err: why the attempt was canceled, if it was,
// otherwise err redacted.
func (c *call) attemptError(ctx context.Context, err error) error {
	if e := ctxErr(c.ctx); e != nil {
		return e
	}
	if _, _, reason := c.evidence.findings(); reason != nil {
		return reason
	}
	if errors.Is(context.Cause(ctx), ErrTimeout) {
		return ErrTimeout
	}
	return redact(c.ctx, err)
}
