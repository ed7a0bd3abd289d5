package commerce_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jarcoal/httpmock"
	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
)

// timed is what a call is to take, to the nanosecond, and to end in.
type timed struct {
	took     time.Duration
	gaps     []time.Duration // bounds of the waits, where they are random: took is not exact then
	op       string          // "token" where the call itself was not begun
	attempts int
	sent     int // requests, where they are not the attempts
	status   int
	is       error // nil: the call succeeds
	outcome  commerce.Outcome
	after    time.Duration // Error.RetryAfter
}

// timingRow is a script and what comes of it. A zero write is as the read, but
// for the outcome, which a read does not have.
type timingRow struct {
	name    string
	steps   []httpmock.Responder
	retry   commerce.RetryPolicy
	opts    []commerce.Option
	timeout time.Duration // of the http.Client
	limiter *pacer
	ctx     func(context.Context) (context.Context, context.CancelFunc)
	read    *timed
	write   *timed
}

const (
	never     = time.Duration(math.MaxInt64) // a Retry-After too long to be told apart
	second    = time.Second
	quick     = 250 * time.Millisecond // the default MinBackoff
	accessTok = `{"access_token":"issued","expires_in":3600}`
)

// exactly makes backoffs take no time: a random wait below 1 ns is none.
var exactly = commerce.RetryPolicy{MinBackoff: 1, MaxBackoff: 1}

// says answers with a status and Retry-After headers.
func says(status int, retryAfter ...string) httpmock.Responder {
	return saysBody(status, "", retryAfter...)
}

func saysBody(status int, body string, retryAfter ...string) httpmock.Responder {
	return func(req *http.Request) (*http.Response, error) {
		resp := httpmock.NewStringResponse(status, body)
		resp.Header.Set("X-Request-Id", "req-1")
		for _, v := range retryAfter {
			resp.Header.Add("Retry-After", v)
		}
		resp.Request = req
		return resp, nil
	}
}

// fine is the answer that each operation wants.
func fine(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost {
		return saysBody(201, `{"data":[{"type":"custom_discount","external_id":"a"}]}`)(req)
	}
	return saysBody(200, emptyList)(req)
}

// late answers like then, after d.
func late(d time.Duration, then httpmock.Responder) httpmock.Responder {
	return func(req *http.Request) (*http.Response, error) {
		select {
		case <-time.After(d):
			return then(req)
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
}

// silent never answers.
func silent(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// stalled answers with a body that never ends.
func stalled(status int) httpmock.Responder {
	return func(req *http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: status, Header: http.Header{"X-Request-Id": {"req-1"}}}
		resp.Body = io.NopCloser(untilDone{req.Context()})
		return resp, nil
	}
}

// broken is a fault that proves nothing.
func broken(*http.Request) (*http.Response, error) { return nil, errors.New("broken") }

// unreached is a fault before anything was sent, and proves it: the stub does not
// read the body.
var unreached httpmock.Responder

func times(n int, r httpmock.Responder) []httpmock.Responder {
	return slices.Repeat([]httpmock.Responder{r}, n)
}

func script(r ...httpmock.Responder) []httpmock.Responder { return r }

// pacer is a limiter that takes its time.
type pacer struct {
	each   time.Duration
	most   int   // waits before it fails, if it has an error
	err    error // nil: it does not fail
	beyond int   // how often it is to be asked without a request after it
	asked  int
}

func (p *pacer) Wait(ctx context.Context) error {
	if p.asked++; p.err != nil && p.asked > p.most {
		return p.err
	}
	select {
	case <-time.After(p.each):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func within(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, d) }
}

func cancelAt(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(d, cancel)
		return ctx, cancel
	}
}

// unannounced is a context that ends without having told when.
type unannounced struct{ context.Context }

func (unannounced) Deadline() (time.Time, bool) { return time.Time{}, false }

func unannouncedAt(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithTimeout(ctx, d)
		return unannounced{ctx}, cancel
	}
}

// slowSource is a token source that takes its time.
type slowSource time.Duration

func (s slowSource) Token() (*oauth2.Token, error) {
	time.Sleep(time.Duration(s))
	return &oauth2.Token{AccessToken: "slow"}, nil
}

func ok(took time.Duration, attempts int) *timed { return &timed{took: took, attempts: attempts} }

// okWithin is a success after waits that are random below bounds.
func okWithin(bounds ...time.Duration) *timed { return &timed{gaps: bounds, attempts: len(bounds) + 1} }

func failed(took time.Duration, attempts, status int, is error, outcome commerce.Outcome, after time.Duration) *timed {
	return &timed{took: took, attempts: attempts, status: status, is: is, outcome: outcome, after: after}
}

// failedWithin is a failure after waits that are random below bounds.
func failedWithin(status int, is error, outcome commerce.Outcome, bounds ...time.Duration) *timed {
	return &timed{gaps: bounds, attempts: len(bounds) + 1, status: status, is: is, outcome: outcome}
}

// onTheWire sets the number of requests, where some were for a token.
func (w *timed) onTheWire(n int) *timed { w.sent = n; return w }

// ofToken marks the failure as one to get a token.
func (w *timed) ofToken() *timed { w.op, w.outcome = "token", commerce.OutcomeNotSent; return w }

// retryAfterRows cross every form of Retry-After with every status that matters.
func retryAfterRows() []timingRow {
	// A bubble starts at midnight UTC of 2000-01-01, a Saturday.
	type value struct {
		name   string
		header []string
		wait   time.Duration // exact; 0: none is asked for, and the wait is an ordinary backoff
	}
	values := []value{
		{"none", nil, 0},
		{"empty", []string{""}, 0},
		{"0", []string{"0"}, 0},
		{"1", []string{"1"}, second},
		{"spaces", []string{"  3\t"}, 3 * second},
		{"leading zeros", []string{"007"}, 7 * second},
		{"fraction", []string{"1.5"}, 1500 * time.Millisecond},
		{"a nanosecond", []string{"0.000000001"}, 1},
		{"less than a nanosecond", []string{"0.0000000001"}, 0},
		{"fraction alone", []string{".5"}, 500 * time.Millisecond},
		{"dot at the end", []string{"5."}, 5 * second},
		{"a dot", []string{"."}, 0},
		{"fraction of zero", []string{"0.0"}, 0},
		{"just below the cap", []string{"19.999999999"}, 19999999999},
		{"the cap", []string{"20"}, 20 * second},
		{"a nanosecond above the cap", []string{"20.000000001"}, 20000000001},
		{"above the cap", []string{"21"}, 21 * second},
		{"a day", []string{"86400"}, 24 * time.Hour},
		{"the longest duration", []string{"9223372036"}, 9223372036 * second},
		{"longer than a duration", []string{"9223372037"}, never},
		{"2^64", []string{"18446744073709551616"}, never},
		{"400 nines", []string{strings.Repeat("9", 400)}, never},
		{"400 nines and a fraction", []string{strings.Repeat("9", 400) + ".5"}, never},
		{"IMF date", []string{"Sat, 01 Jan 2000 00:00:05 GMT"}, 5 * second},
		{"RFC 850 date", []string{"Saturday, 01-Jan-00 00:00:05 GMT"}, 5 * second},
		{"asctime date", []string{"Sat Jan  1 00:00:05 2000"}, 5 * second},
		{"date with spaces", []string{" Sat, 01 Jan 2000 00:00:05 GMT "}, 5 * second},
		{"date at the cap", []string{"Sat, 01 Jan 2000 00:00:20 GMT"}, 20 * second},
		{"date above the cap", []string{"Sat, 01 Jan 2000 00:00:21 GMT"}, 21 * second},
		{"RFC 850 date above the cap", []string{"Saturday, 01-Jan-00 00:01:00 GMT"}, time.Minute},
		{"asctime date above the cap", []string{"Sat Jan  1 01:00:00 2000"}, time.Hour},
		{"date now", []string{"Sat, 01 Jan 2000 00:00:00 GMT"}, 0},
		{"date past", []string{"Fri, 31 Dec 1999 23:59:59 GMT"}, 0},
		{"RFC 850 date past", []string{"Friday, 31-Dec-99 23:59:59 GMT"}, 0},
		{"asctime date past", []string{"Fri Dec 31 23:59:59 1999"}, 0},
		{"date long past", []string{"Mon, 01 Jan 0001 00:00:00 GMT"}, 0},
		{"date in 9999", []string{"Fri, 31 Dec 9999 23:59:59 GMT"}, never},
		{"negative", []string{"-1"}, 0},
		{"negative fraction", []string{"-0.5"}, 0},
		{"signed", []string{"+5"}, 0},
		{"exponent", []string{"1e1"}, 0},
		{"hexadecimal", []string{"0x5"}, 0},
		{"with a unit", []string{"5s"}, 0},
		{"comma", []string{"5, 6"}, 0},
		{"dots", []string{"1.2.3"}, 0},
		{"a word", []string{"soon"}, 0},
		{"infinite", []string{"Inf"}, 0},
		{"not a number", []string{"NaN"}, 0},
		{"date that is none", []string{"Sat, 99 Jan 2000 00:00:05 GMT"}, 0},
		{"RFC 3339 date", []string{"2000-01-01T00:00:05Z"}, 0},
		{"several, the first counts", []string{"3", "7"}, 3 * second},
		{"several, the first is garbage", []string{"soon", "7"}, 0},
	}
	const limit = 20 * second
	reads := []int{408, 421, 425, 429, 500, 502, 503, 504}
	writes := []int{421, 425, 429}
	var rows []timingRow
	for _, status := range []int{307, 400, 401, 403, 404, 408, 409, 421, 422, 425, 429, 500, 501, 502, 503, 504} {
		for _, v := range values {
			row := timingRow{name: fmt.Sprintf("%d, Retry-After %s", status, v.name), steps: script(says(status, v.header...), fine)}
			want := func(again []int) *timed {
				outcome := commerce.OutcomeRejected
				if status == 408 || status >= 500 {
					outcome = commerce.OutcomeUnknown
				}
				switch {
				case !slices.Contains(again, status), v.wait > limit:
					return failed(0, 1, status, sentinel(status), outcome, v.wait)
				case v.wait == 0:
					return okWithin(quick)
				}
				return ok(v.wait, 2)
			}
			row.read, row.write = want(reads), want(writes)
			rows = append(rows, row)
		}
	}
	return rows
}

// errAny stands for a failure that matches no sentinel.
var errAny = errors.New("any")

func sentinel(status int) error {
	switch status {
	case 307:
		return commerce.ErrBadResponse
	case 400:
		return commerce.ErrBadRequest
	case 401:
		return commerce.ErrUnauthorized
	case 403:
		return commerce.ErrForbidden
	case 404:
		return commerce.ErrNotFound
	case 409:
		return commerce.ErrConflict
	case 422:
		return commerce.ErrUnprocessable
	case 429:
		return commerce.ErrRateLimited
	}
	if status >= 500 {
		return commerce.ErrServer
	}
	return errAny
}

// boundRows hold the cap, the caller's deadline, the backoff and the number of
// attempts.
func boundRows() []timingRow {
	limited, unavailable := commerce.ErrRateLimited, commerce.ErrServer
	const rejected, unknown = commerce.OutcomeRejected, commerce.OutcomeUnknown
	own := commerce.RetryPolicy{MaxBackoff: 3 * second}
	once := commerce.RetryPolicy{MaxAttempts: 1}
	doubling := make([]time.Duration, 69) // of MinBackoff 1 ns and MaxBackoff 1 s
	for i := range doubling {
		doubling[i] = second
		if i < 30 {
			doubling[i] = 1 << i
		}
	}
	return []timingRow{
		{name: "own cap: at it", retry: own, steps: script(says(429, "3"), fine), read: ok(3*second, 2)},
		{name: "own cap: a fraction at it", retry: commerce.RetryPolicy{MaxBackoff: 17170 * time.Millisecond}, steps: script(says(429, "17.17"), fine), read: ok(17170*time.Millisecond, 2)},
		{name: "a fraction that no float64 holds", steps: script(says(429, "17.17"), fine), read: ok(17170*time.Millisecond, 2)},
		{name: "own cap: above it", retry: own, steps: script(says(429, "4")), read: failed(0, 1, 429, limited, rejected, 4*second)},
		{name: "own cap: a nanosecond above it", retry: own, steps: script(says(429, "3.000000001")), read: failed(0, 1, 429, limited, rejected, 3000000001)},
		{name: "own cap: longer than the default", retry: commerce.RetryPolicy{MaxBackoff: time.Hour}, steps: script(says(429, "3600"), fine), read: ok(time.Hour, 2)},
		{name: "own cap: a date at it", retry: own, steps: script(says(429, "Sat, 01 Jan 2000 00:00:03 GMT"), fine), read: ok(3*second, 2)},
		{name: "own cap: a date above it", retry: own, steps: script(says(429, "Sat, 01 Jan 2000 00:00:04 GMT")), read: failed(0, 1, 429, limited, rejected, 4*second)},
		{name: "own cap: 503 above it", retry: own, steps: script(says(503, "4")),
			read: failed(0, 1, 503, unavailable, unknown, 4*second)},
		{name: "own cap: the second answer is above it", retry: own, steps: script(says(429, "3"), says(429, "4")),
			read: failed(3*second, 2, 429, limited, rejected, 4*second)},
		{name: "no cap to speak of, and a deadline", retry: commerce.RetryPolicy{MaxBackoff: never}, ctx: within(5 * second), steps: script(says(429, "9223372037")),
			read: failed(0, 1, 429, limited, rejected, never)},

		{name: "deadline: just before it", ctx: within(5 * second), steps: script(says(429, "4.999999999"), fine), read: ok(4999999999, 2)},
		{name: "deadline: at it", ctx: within(5 * second), steps: script(says(429, "5")), read: failed(0, 1, 429, limited, rejected, 5*second)},
		{name: "deadline: beyond it", ctx: within(5 * second), steps: script(says(429, "6")), read: failed(0, 1, 429, limited, rejected, 6*second)},
		{name: "deadline: a date at it", ctx: within(5 * second), steps: script(says(429, "Sat, 01 Jan 2000 00:00:05 GMT")),
			read: failed(0, 1, 429, limited, rejected, 5*second)},
		{name: "deadline: a date just before it", ctx: within(5*second + 1), steps: script(says(429, "Sat, 01 Jan 2000 00:00:05 GMT"), fine), read: ok(5*second, 2)},
		{name: "deadline: 503 beyond it", ctx: within(5 * second), steps: script(says(503, "6")), read: failed(0, 1, 503, unavailable, unknown, 6*second)},
		{name: "deadline: what is left of it after a wait", ctx: within(5 * second), steps: script(says(429, "3"), says(429, "2")),
			read: failed(3*second, 2, 429, limited, rejected, 2*second)},
		{name: "deadline: what is left of it after a slow answer", ctx: within(5 * second), steps: script(late(3*second, says(429, "2"))),
			read: failed(3*second, 1, 429, limited, rejected, 2*second)},
		{name: "deadline: longer than the cap", ctx: within(time.Hour), steps: script(says(429, "21")), read: failed(0, 1, 429, limited, rejected, 21*second)},

		{name: "backoff: default", steps: times(4, says(429)), read: failedWithin(429, limited, rejected, quick, 2*quick, 4*quick)},
		{name: "backoff: default, 503", steps: times(4, says(503)), read: failedWithin(503, unavailable, unknown, quick, 2*quick, 4*quick),
			write: failed(0, 1, 503, unavailable, unknown, 0)},
		{name: "backoff: own bounds", retry: commerce.RetryPolicy{MaxAttempts: 5, MinBackoff: 100 * time.Millisecond, MaxBackoff: 150 * time.Millisecond},
			steps: times(5, says(429)),
			read:  failedWithin(429, limited, rejected, 100*time.Millisecond, 150*time.Millisecond, 150*time.Millisecond, 150*time.Millisecond)},
		{name: "backoff: equal bounds", retry: commerce.RetryPolicy{MinBackoff: second, MaxBackoff: second}, steps: times(4, says(429)),
			read: failedWithin(429, limited, rejected, second, second, second)},
		{name: "backoff: a bound that would overflow", retry: commerce.RetryPolicy{MaxAttempts: 70, MinBackoff: 1, MaxBackoff: second}, steps: times(70, says(429)),
			read: failedWithin(429, limited, rejected, doubling...)},
		{name: "backoff: the widest bounds, and a deadline", retry: commerce.RetryPolicy{MinBackoff: never, MaxBackoff: never}, ctx: within(1), steps: script(says(429)),
			read: failed(0, 1, 429, limited, rejected, 0)},
		{name: "backoff: Retry-After counts once", steps: script(says(429, "5"), says(429), fine), read: &timed{gaps: []time.Duration{-5 * second, 2 * quick}, attempts: 3}},
		{name: "backoff: success after three", steps: append(times(3, says(425)), fine), read: okWithin(quick, 2*quick, 4*quick)},

		{name: "attempts: 1", retry: once, steps: script(says(429, "1")), read: failed(0, 1, 429, limited, rejected, second)},
		{name: "attempts: 1, without Retry-After", retry: once, steps: script(says(503)), read: failed(0, 1, 503, unavailable, unknown, 0)},
		{name: "attempts: 2", retry: commerce.RetryPolicy{MaxAttempts: 2}, steps: times(2, says(429, "1")), read: failed(second, 2, 429, limited, rejected, second)},
		{name: "attempts: 4 by default", steps: times(4, says(429, "1")), read: failed(3*second, 4, 429, limited, rejected, second)},
		{name: "attempts: the fourth succeeds", steps: script(says(429, "1"), says(425, "2"), says(421, "4"), fine), read: ok(7*second, 4)},
		{name: "attempts: mixed statuses", steps: script(says(503, "1"), says(429, "2"), says(500, "4"), fine), read: ok(7*second, 4),
			write: failed(0, 1, 503, unavailable, unknown, second)},
		{name: "attempts: a refusal that is final", steps: script(says(429, "1"), says(400, "9")), read: failed(second, 2, 400, commerce.ErrBadRequest, rejected, 9*second)},

		{name: "faults: one, and success", retry: exactly, steps: script(broken, fine), read: ok(0, 2), write: failed(0, 1, 0, errAny, unknown, 0)},
		{name: "faults: default", steps: times(4, broken), read: failedWithin(0, errAny, unknown, quick, 2*quick, 4*quick), write: failed(0, 1, 0, errAny, unknown, 0)},
		{name: "faults: nothing sent", steps: times(4, unreached), read: failedWithin(0, errAny, commerce.OutcomeNotSent, quick, 2*quick, 4*quick)},
		{name: "faults: nothing sent, and success", retry: exactly, steps: script(unreached, unreached, fine), read: ok(0, 3)},
		{name: "faults: nothing sent after a refusal", retry: commerce.RetryPolicy{MinBackoff: 1}, steps: script(says(429, "5"), unreached, unreached, unreached),
			read: &timed{gaps: []time.Duration{-5 * second, 2, 4}, attempts: 4, status: 429, is: limited, outcome: rejected}},
		{name: "faults: after a refusal", steps: script(says(429, "5"), broken, fine), read: &timed{gaps: []time.Duration{-5 * second, 2 * quick}, attempts: 3},
			write: failed(5*second, 2, 0, errAny, unknown, 0)},
		{name: "faults: a 200 that is not JSON, whatever its Retry-After", steps: script(saysBody(200, "<html>", "5"), fine), read: okWithin(quick),
			write: failed(0, 1, 200, commerce.ErrBadResponse, commerce.OutcomeUnreadable, 0)},
		{name: "401 with a static token", steps: script(says(401)), read: failed(0, 1, 401, commerce.ErrUnauthorized, rejected, 0)},
	}
}

// endRows hold the timeouts, and contexts that end.
func endRows() []timingRow {
	canceled, exceeded, limited := context.Canceled, context.DeadlineExceeded, commerce.ErrRateLimited
	const rejected, unknown, notSent, unreadable = commerce.OutcomeRejected, commerce.OutcomeUnknown, commerce.OutcomeNotSent, commerce.OutcomeUnreadable
	three := commerce.RetryPolicy{MinBackoff: 1, MaxBackoff: 1, AttemptTimeout: 3 * second}
	return []timingRow{
		{name: "attempt timeout: default", retry: exactly, steps: times(4, silent), read: failed(120*second, 4, 0, errAny, unknown, 0),
			write: failed(30*second, 1, 0, errAny, unknown, 0)},
		{name: "attempt timeout: own", retry: three, steps: times(4, silent), read: failed(12*second, 4, 0, errAny, unknown, 0),
			write: failed(3*second, 1, 0, errAny, unknown, 0)},
		{name: "attempt timeout: one, and success", retry: three, steps: script(silent, late(2999999999, fine)), read: ok(5999999999, 2),
			write: failed(3*second, 1, 0, errAny, unknown, 0)},
		{name: "attempt timeout: just in time", retry: three, steps: script(late(2999999999, fine)), read: ok(2999999999, 1)},
		{name: "attempt timeout: each attempt has its own", retry: commerce.RetryPolicy{AttemptTimeout: 3 * second}, steps: script(late(2*second, says(429, "10")), late(2*second, fine)),
			read: ok(14*second, 2)},
		{name: "attempt timeout: in the body", retry: three, steps: times(4, stalled(200)), read: failed(12*second, 4, 200, commerce.ErrBadResponse, unknown, 0),
			write: failed(3*second, 1, 200, commerce.ErrBadResponse, unreadable, 0)},
		{name: "attempt timeout: in the body of an error", retry: three, steps: script(stalled(400)), read: failed(3*second, 1, 400, commerce.ErrBadRequest, unknown, 0)},
		{name: "http.Client.Timeout: shorter", timeout: 2 * second, retry: three, steps: times(4, silent), read: failed(8*second, 4, 0, errAny, unknown, 0),
			write: failed(2*second, 1, 0, errAny, unknown, 0)},
		{name: "http.Client.Timeout: longer", timeout: 4 * second, retry: three, steps: times(4, silent), read: failed(12*second, 4, 0, errAny, unknown, 0),
			write: failed(3*second, 1, 0, errAny, unknown, 0)},
		{name: "http.Client.Timeout: does not count waits", timeout: 2 * second, steps: script(says(429, "10"), fine), read: ok(10*second, 2)},
		{name: "http.Client.Timeout: in the body", timeout: 2 * second, retry: exactly, steps: script(stalled(200), fine), read: ok(2*second, 2),
			write: failed(2*second, 1, 200, commerce.ErrBadResponse, unreadable, 0)},

		{name: "deadline in an attempt", ctx: within(5 * second), steps: script(silent), read: failed(5*second, 1, 0, exceeded, unknown, 0)},
		{name: "deadline in a body", ctx: within(5 * second), steps: script(stalled(200)), read: failed(5*second, 1, 200, exceeded, unreadable, 0)},
		{name: "deadline in the second attempt", ctx: within(5 * second), steps: script(says(429, "3"), silent), read: failed(5*second, 2, 0, exceeded, unknown, 0)},
		{name: "deadline not announced, in an attempt", ctx: unannouncedAt(5 * second), steps: script(silent), read: failed(5*second, 1, 0, exceeded, unknown, 0)},
		{name: "deadline not announced, in a wait", ctx: unannouncedAt(5 * second), steps: script(says(429, "10")), read: failed(5*second, 1, 429, exceeded, rejected, 10*second)},
		{name: "deadline not announced, in the second wait", ctx: unannouncedAt(5 * second), steps: script(says(425, "2"), says(429, "10")),
			read: failed(5*second, 2, 429, exceeded, rejected, 10*second)},
		{name: "deadline passed before the call", ctx: within(0), read: failed(0, 0, 0, exceeded, notSent, 0)},
		{name: "deadline below the attempt timeout", ctx: within(2 * second), retry: three, steps: script(silent), read: failed(2*second, 1, 0, exceeded, unknown, 0)},
		{name: "deadline above the attempt timeout", ctx: within(4 * second), retry: three, steps: script(silent, silent),
			read: failed(4*second, 2, 0, exceeded, unknown, 0), write: failed(3*second, 1, 0, errAny, unknown, 0)},

		{name: "cancel in a wait", ctx: cancelAt(3 * second), steps: script(says(429, "10")), read: failed(3*second, 1, 429, canceled, rejected, 10*second)},
		{name: "cancel in a wait, a nanosecond after it began", ctx: cancelAt(1), steps: script(says(429, "10")), read: failed(1, 1, 429, canceled, rejected, 10*second)},
		{name: "cancel in a wait, a nanosecond before its end", ctx: cancelAt(10*second - 1), steps: script(says(429, "10")), read: failed(10*second-1, 1, 429, canceled, rejected, 10*second)},
		{name: "cancel in a wait for a date", ctx: cancelAt(3 * second), steps: script(says(429, "Sat, 01 Jan 2000 00:00:10 GMT")),
			read: failed(3*second, 1, 429, canceled, rejected, 10*second)},
		{name: "cancel in a wait, 425", ctx: cancelAt(3 * second), steps: script(says(425, "10")), read: failed(3*second, 1, 425, canceled, rejected, 10*second)},
		{name: "cancel in a wait, 503", ctx: cancelAt(3 * second), steps: script(says(503, "10")), read: failed(3*second, 1, 503, canceled, unknown, 10*second),
			write: failed(0, 1, 503, commerce.ErrServer, unknown, 10*second)},
		{name: "cancel in the third wait", ctx: cancelAt(7 * second), steps: script(says(429, "1"), says(421, "2"), says(429, "10")),
			read: failed(7*second, 3, 429, canceled, rejected, 10*second)},
		{name: "cancel in a wait after a slow answer", ctx: cancelAt(7 * second), steps: script(late(2*second, says(429, "10"))),
			read: failed(7*second, 1, 429, canceled, rejected, 10*second)},
		{name: "cancel in a wait after a fault that sent nothing", ctx: cancelAt(1), retry: commerce.RetryPolicy{MinBackoff: never, MaxBackoff: never}, steps: script(unreached),
			read: failed(1, 1, 0, canceled, notSent, 0)},
		{name: "cancel in an attempt", ctx: cancelAt(3 * second), steps: script(silent), read: failed(3*second, 1, 0, canceled, unknown, 0)},
		{name: "cancel in the second attempt", ctx: cancelAt(3 * second), steps: script(says(429, "1"), silent), read: failed(3*second, 2, 0, canceled, unknown, 0)},
		{name: "cancel in a body", ctx: cancelAt(3 * second), steps: script(stalled(200)), read: failed(3*second, 1, 200, canceled, unreadable, 0)},
		{name: "cancel in the body of an error", ctx: cancelAt(3 * second), steps: script(stalled(429)), read: failed(3*second, 1, 429, canceled, unknown, 0)},
		{name: "cancel before the call", ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		}, read: failed(0, 0, 0, canceled, notSent, 0)},
		{name: "cancel after the call", ctx: cancelAt(3 * second), steps: script(late(2*second, fine)), read: ok(2*second, 1)},
		{name: "an error that was final, and a cancel", ctx: cancelAt(3 * second), steps: script(says(429, "60")), read: failed(0, 1, 429, limited, rejected, time.Minute)},
	}
}

// waitRows hold what is waited for besides: a limiter and a token.
func waitRows() []timingRow {
	canceled, exceeded := context.Canceled, context.DeadlineExceeded
	const rejected, notSent = commerce.OutcomeRejected, commerce.OutcomeNotSent
	errFull := errors.New("no budget left")
	credentials := []commerce.Option{commerce.WithClientCredentials("id", "secret")}
	source := func(d time.Duration) []commerce.Option {
		return []commerce.Option{commerce.WithTokenSource(slowSource(d))}
	}
	issued := saysBody(200, accessTok)
	return []timingRow{
		{name: "limiter: one attempt", limiter: &pacer{each: second}, steps: script(fine), read: ok(second, 1)},
		{name: "limiter: asked for each attempt", limiter: &pacer{each: second}, steps: script(says(429, "2"), says(429, "4"), fine), read: ok(9*second, 3)},
		{name: "limiter: asked for repeats after faults", limiter: &pacer{each: second}, retry: exactly, steps: script(unreached, unreached, fine), read: ok(3*second, 3)},
		{name: "limiter: its wait is not the attempt's", limiter: &pacer{each: time.Minute}, retry: commerce.RetryPolicy{AttemptTimeout: second}, steps: script(fine), read: ok(time.Minute, 1)},
		{name: "limiter: ends the call", limiter: &pacer{each: second, most: 2, err: errFull, beyond: 1}, steps: script(says(429, "2"), says(425, "4")),
			read: failed(8*second, 2, 425, errFull, rejected, 4*second)},
		{name: "limiter: ends the call before it is sent", limiter: &pacer{err: errFull, beyond: 1}, read: failed(0, 0, 0, errFull, notSent, 0)},
		{name: "limiter: cancel in its wait", limiter: &pacer{each: 5 * second, beyond: 1}, ctx: cancelAt(3 * second), read: failed(3*second, 0, 0, canceled, notSent, 0)},
		{name: "limiter: deadline in its wait", limiter: &pacer{each: 5 * second, beyond: 1}, ctx: within(3 * second), read: failed(3*second, 0, 0, exceeded, notSent, 0)},
		{name: "limiter: cancel in its second wait", limiter: &pacer{each: 5 * second, beyond: 1}, ctx: cancelAt(12 * second), steps: script(says(429, "6")),
			read: failed(12*second, 1, 429, canceled, rejected, 6*second)},
		{name: "limiter: deadline in its second wait", limiter: &pacer{each: 5 * second, beyond: 1}, ctx: within(12 * second), steps: script(says(429, "6")),
			read: failed(12*second, 1, 429, exceeded, rejected, 6*second)},
		{name: "limiter: the error of a context that is not the caller's", limiter: &pacer{each: second, most: 1, err: exceeded, beyond: 1}, steps: script(says(429, "2")),
			read: failed(3*second, 1, 429, commerce.ErrRateLimited, rejected, 2*second)},

		{name: "token: the endpoint asks to wait", opts: credentials, steps: script(says(429, "2"), issued, fine), read: ok(2*second, 1).onTheWire(3)},
		{name: "token: the endpoint is unavailable for a while", opts: credentials, steps: script(says(503, "1"), says(500, "2"), says(408, "4"), issued, fine),
			read: ok(7*second, 1).onTheWire(5)},
		{name: "token: the endpoint asks for more than the cap", opts: credentials, steps: script(says(429, "21")),
			read: failed(0, 1, 429, commerce.ErrRateLimited, notSent, 21*second).ofToken()},
		{name: "token: the endpoint is down", opts: credentials, steps: times(4, says(503)),
			read: failedWithin(503, commerce.ErrServer, notSent, quick, 2*quick, 4*quick).ofToken()},
		{name: "token: the endpoint refuses", opts: credentials, steps: script(says(401, "1")), read: failed(0, 1, 401, commerce.ErrUnauthorized, notSent, second).ofToken()},
		{name: "token: the endpoint is silent", opts: credentials, retry: commerce.RetryPolicy{MaxAttempts: 2, MinBackoff: 1, MaxBackoff: 1, AttemptTimeout: 3 * second},
			steps: times(2, silent), read: failed(6*second, 2, 0, errAny, notSent, 0).ofToken()},
		{name: "token: the endpoint is slow", opts: credentials, steps: script(late(2*second, issued), fine), read: ok(2*second, 1).onTheWire(2)},
		{name: "token: cancel in a wait for the endpoint", opts: credentials, ctx: cancelAt(3 * second), steps: script(says(429, "10")),
			read: failed(3*second, 0, 0, canceled, notSent, 0).ofToken().onTheWire(1)},
		{name: "token: cancel in a request", opts: credentials, ctx: cancelAt(3 * second), steps: script(silent),
			read: failed(3*second, 0, 0, canceled, notSent, 0).ofToken().onTheWire(1)},
		// The token request is made for all callers, and does not know of this one's
		// deadline: the caller learns of it when it has passed.
		{name: "token: deadline in a wait for the endpoint", opts: credentials, ctx: within(5 * second), steps: script(says(429, "10")),
			read: failed(5*second, 0, 0, exceeded, notSent, 0).ofToken().onTheWire(1)},
		{name: "token: a new one after a 401 is got at once", opts: credentials, retry: commerce.RetryPolicy{MaxAttempts: 1},
			steps: script(issued, says(401, "9"), saysBody(200, strings.Replace(accessTok, "issued", "second", 1)), fine), read: ok(0, 2).onTheWire(4)},
		{name: "token: the repeat after a 401 counts", opts: credentials, retry: commerce.RetryPolicy{MaxAttempts: 2},
			steps: script(issued, says(401), saysBody(200, strings.Replace(accessTok, "issued", "second", 1)), says(429, "1")),
			read:  failed(0, 2, 429, commerce.ErrRateLimited, rejected, second).onTheWire(4)},
		{name: "token: the endpoint asks to wait after a 401", opts: credentials,
			steps: script(issued, says(401), says(429, "2"), saysBody(200, strings.Replace(accessTok, "issued", "second", 1)), fine), read: ok(2*second, 2).onTheWire(5)},
		{name: "token: the limiter is asked for its requests too", opts: credentials, limiter: &pacer{each: second}, steps: script(says(429, "2"), issued, says(429, "4"), fine),
			read: ok(second+second+2*second+second+4*second+second, 2).onTheWire(4)},
		{name: "token: a slow source is not the attempt's time", opts: source(40 * second), steps: script(fine), read: ok(40*second, 1)},
		{name: "token: a slow source, asked for each attempt", opts: source(second), steps: script(says(429, "2"), fine), read: ok(4*second, 2)},
		{name: "token: cancel in the wait for a source", opts: source(5 * second), ctx: cancelAt(3 * second), read: failed(3*second, 0, 0, canceled, notSent, 0).ofToken()},
		{name: "token: deadline in the wait for a source", opts: source(5 * second), ctx: within(3 * second), read: failed(3*second, 0, 0, exceeded, notSent, 0).ofToken()},
	}
}

// TestTiming shows to the nanosecond when attempts are made and calls return, in
// virtual time. The whole of it is to take less than 2 seconds of real time.
func TestTiming(t *testing.T) {
	t.Parallel()
	var cases, spent atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d timing cases in %v of real time", cases.Load(), time.Duration(spent.Load()))
		// It takes a fraction of 2 seconds; the bound here allows for a machine under load.
		if d := time.Duration(spent.Load()); d > 20*time.Second {
			t.Errorf("virtual time took %v of real time", d)
		}
	})
	names := map[string]bool{}
	for _, row := range slices.Concat(retryAfterRows(), boundRows(), endRows(), waitRows()) {
		if names[row.name] {
			t.Errorf("two rows are called %q", row.name)
		}
		names[row.name] = true
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			write := row.write
			if write == nil {
				write = row.read
			}
			read := *row.read
			if read.op == "" {
				read.outcome = commerce.OutcomeNone
			}
			synctest.Test(t, func(t *testing.T) {
				row.check(t, "Subscriptions.List", &read, func(ctx context.Context, c *commerce.Client) (*commerce.Response, error) {
					page, err := c.Subscriptions.List(ctx, nil)
					if err != nil {
						return nil, err
					}
					return page.Response, nil
				})
			})
			synctest.Test(t, func(t *testing.T) {
				row.check(t, "Carts.AddCustomDiscounts", write, func(ctx context.Context, c *commerce.Client) (*commerce.Response, error) {
					result, err := c.Carts.AddCustomDiscounts(ctx, cartID, []commerce.NewCustomDiscount{discount("a")}, nil)
					if err != nil {
						return nil, err
					}
					return result.Response, nil
				})
			})
			cases.Add(2)
			spent.Add(int64(time.Since(start)))
		})
	}
}

// check makes the call of a row in a bubble of its own.
func (row *timingRow) check(t *testing.T, op string, want *timed, call func(context.Context, *commerce.Client) (*commerce.Response, error)) {
	t.Helper()
	start := time.Now()
	var mu sync.Mutex
	var at []time.Duration
	s := newStub(t, row.steps...)
	clock := tripper(func(req *http.Request) (*http.Response, error) {
		mu.Lock()
		at = append(at, time.Since(start))
		mu.Unlock()
		return s.RoundTrip(req)
	})
	opts := append([]commerce.Option{
		commerce.WithRetry(row.retry), commerce.WithHTTPClient(&http.Client{Transport: clock, Timeout: row.timeout}),
	}, row.opts...)
	var l pacer
	if row.limiter != nil {
		l = *row.limiter
		opts = append(opts, commerce.WithLimiter(&l))
	}
	c := s.client(t, opts...)
	ctx, cancel := bg, context.CancelFunc(func() {})
	if row.ctx != nil {
		ctx, cancel = row.ctx(bg)
	}
	defer cancel()
	resp, err := call(ctx, c)
	took := time.Since(start)

	if want.gaps == nil {
		if took != want.took {
			t.Errorf("%s: took %v, want %v", op, took, want.took)
		}
	} else {
		mu.Lock()
		row.checkGaps(t, op, want.gaps, append(at, took))
		mu.Unlock()
	}
	sent := want.sent
	if sent == 0 {
		sent = want.attempts
	}
	time.Sleep(time.Hour) // nothing is sent after the return
	if n := len(s.got(t)); n != sent {
		t.Errorf("%s: %d requests, want %d", op, n, sent)
	}
	checkTimedEnd(t, op, want, resp, err)
	if row.limiter != nil && l.asked != sent+l.beyond {
		t.Errorf("%s: the limiter was asked %d times for %d requests", op, l.asked, sent)
	}
}

// checkGaps compares the waits between attempts with their bounds. A negative
// bound is exact. The last moment is that of the return.
func (row *timingRow) checkGaps(t *testing.T, op string, bounds, at []time.Duration) {
	t.Helper()
	if len(at) != len(bounds)+2 {
		t.Errorf("%s: attempts and return at %v, want %d waits", op, at, len(bounds))
		return
	}
	if at[0] != 0 || at[len(at)-1] != at[len(at)-2] {
		t.Errorf("%s: attempts and return at %v: a wait before the first or after the last", op, at)
	}
	for i, bound := range bounds {
		gap := at[i+1] - at[i]
		if bound < 0 && gap != -bound || bound >= 0 && (gap < 0 || gap >= bound) {
			t.Errorf("%s: wait %d was %v, want below %v", op, i+1, gap, bound)
		}
	}
}

func checkTimedEnd(t *testing.T, op string, want *timed, resp *commerce.Response, err error) {
	t.Helper()
	if want.is == nil {
		if err != nil || resp == nil || resp.Attempts != want.attempts || resp.RequestID != "req-1" {
			t.Errorf("%s: %+v, error %v, want %d attempts", op, resp, err, want.attempts)
		}
		return
	}
	var e *commerce.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: error %v", op, err)
		return
	}
	type facts struct {
		Op               string
		Status, Attempts int
		Outcome          string
		After            time.Duration
		RequestID        string
	}
	wanted := facts{op, want.status, want.attempts, want.outcome.String(), want.after, ""}
	if want.op != "" {
		wanted.Op = want.op
	}
	if want.status != 0 {
		wanted.RequestID = "req-1"
	}
	diff(t, op, facts{e.Op, e.StatusCode, e.Attempts, e.Outcome.String(), e.RetryAfter, e.RequestID}, wanted)
	if !errors.Is(want.is, errAny) && !errors.Is(err, want.is) {
		t.Errorf("%s: %v is not %v", op, err, want.is)
	}
	for _, kind := range []error{context.Canceled, context.DeadlineExceeded} {
		if got := errors.Is(err, kind); got != errors.Is(want.is, kind) {
			t.Errorf("%s: is %v: %v (error %v)", op, kind, got, err)
		}
	}
	for kind, matches := range map[error]bool{
		commerce.ErrRateLimited:     want.status == 429,
		commerce.ErrServer:          want.status >= 500,
		commerce.ErrOutcomeUnknown:  want.outcome == commerce.OutcomeUnknown,
		commerce.ErrInvalidArgument: false,
		commerce.ErrPartialFailure:  false,
	} {
		if got := errors.Is(err, kind); got != matches {
			t.Errorf("%s: is %v: %v (error %v)", op, kind, got, err)
		}
	}
}

// TestTiming_jitterIsFull shows that waits are spread over the whole of [0, bound).
func TestTiming_jitterIsFull(t *testing.T) {
	t.Parallel()
	const milli = time.Millisecond
	for _, tt := range []struct {
		name   string
		retry  commerce.RetryPolicy
		before int // answers before the wait that counts
		bound  time.Duration
	}{
		{"the first", commerce.RetryPolicy{}, 1, quick},
		{"the second", commerce.RetryPolicy{}, 2, 2 * quick},
		{"the first of own bounds", commerce.RetryPolicy{MinBackoff: 100 * milli, MaxBackoff: 150 * milli}, 1, 100 * milli},
		{"the second is capped", commerce.RetryPolicy{MinBackoff: 100 * milli, MaxBackoff: 150 * milli}, 2, 150 * milli},
		{"the third is capped", commerce.RetryPolicy{MinBackoff: 100 * milli, MaxBackoff: 300 * milli}, 3, 300 * milli},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const calls = 100
				var sum time.Duration
				var fifths [5]int
				for range calls {
					var last time.Time
					answered := func(req *http.Request) (*http.Response, error) {
						last = time.Now()
						return says(429)(req)
					}
					s := newStub(t, append(times(tt.before, answered), fine)...)
					if _, err := s.client(t, commerce.WithRetry(tt.retry)).Subscriptions.List(bg, nil); err != nil {
						t.Fatal(err)
					}
					gap := time.Since(last)
					if gap >= tt.bound {
						t.Fatalf("a wait of %v", gap)
					}
					sum += gap
					fifths[gap*5/tt.bound]++
				}
				if slices.Min(fifths[:]) == 0 || sum/calls < tt.bound/3 || sum/calls > tt.bound*2/3 {
					t.Errorf("mean %v, fifths %v", sum/calls, fifths)
				}
			})
		})
	}
}
