package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	const canary = "canary"
	refused := &net.OpError{
		Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, Err: syscall.ECONNREFUSED,
	}
	lookup := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "x", Name: "host", IsTimeout: true}}
	custom := errors.New(canary)
	withURL := func(err error) error { return &url.Error{Op: "Get", URL: storeURL + "/?" + canary, Err: err} }
	for _, tt := range []struct {
		name string
		err  error
		is   error // errors.Is reports true
		want string
	}{
		{name: "connection refused", err: withURL(refused), is: syscall.ECONNREFUSED,
			want: "dial tcp 127.0.0.1:1: connection refused"},
		{name: "unexpected EOF", err: withURL(io.ErrUnexpectedEOF), is: io.ErrUnexpectedEOF, want: "unexpected EOF"},
		{name: "lookup", err: withURL(lookup), is: lookup, want: lookup.Error()},
		{name: "of a custom transport", err: withURL(custom), is: custom,
			want: "the request failed (*errors.errorString; its text is withheld)"},
		{name: "of a custom dialer", err: &net.OpError{Op: "dial", Err: custom}, is: custom,
			want: "the request failed (*errors.errorString; its text is withheld)"},
		{name: "timeout", err: withURL(context.DeadlineExceeded), want: ErrTimeout.Error()},
		{name: "lookup of a canceled context", err: withURL(&net.DNSError{UnwrapErr: context.Canceled}),
			want: "the request failed (*errors.errorString; its text is withheld)"},
		{name: "limiter", err: fmt.Errorf("%w: %w", ErrLimiter, custom), is: custom, want: ErrLimiter.Error()},
		{name: "GetBody", err: withURL(errBodySent), is: errBodySent, want: errBodySent.Error()},
	} {
		got := redact(t.Context(), tt.err)
		if got.Error() != tt.want || tt.is != nil && !errors.Is(got, tt.is) {
			t.Errorf("%s: redact() = %v, want %s, and a match of %v", tt.name, got, tt.want, tt.is)
		}
		if s := fmt.Sprintf("%v %+v %#v %s %q", got, got, got, got, got); strings.Contains(s, canary) {
			t.Errorf("%s: printed as %s, want no %s", tt.name, s, canary)
		}
		if errors.Is(got, context.DeadlineExceeded) || errors.Is(got, context.Canceled) {
			t.Errorf("%s: matches the error of a context", tt.name)
		}
		if _, ok := errors.AsType[*url.Error](got); ok {
			t.Errorf("%s: matches the url.Error", tt.name)
		}
	}
}

// The error of a call that ended while it waited says for what. It still matches that of its context.
func TestWaitError(t *testing.T) {
	t.Parallel()
	limiter := waitFunc(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	ignoring := waitFunc(func(context.Context) error { time.Sleep(time.Hour); return nil }) // that ctx has ended
	for _, tt := range []struct {
		what string
		wait func(c *Call) // makes c wait for an hour
	}{
		{what: "the gate", wait: func(c *Call) { c.Gate = NewGate(); c.Gate.close(time.Now(), time.Hour) }},
		{what: "the limiter", wait: func(c *Call) { c.Limiter = limiter }},
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

// waitFunc is a limiter.
type waitFunc func(context.Context) error

func (f waitFunc) Wait(ctx context.Context) error { return f(ctx) }

// lateTimer is a context whose deadline has passed, but whose timer has not fired yet.
type lateTimer struct{ context.Context }

func (lateTimer) Deadline() (time.Time, bool) { return time.Unix(0, 0), true }

// A dialer that compares clocks may fail before the timer of the context fires: the error is the deadline all the same.
func TestRedact_deadlineBeforeTimer(t *testing.T) {
	t.Parallel()
	ctx := lateTimer{t.Context()}
	if err := redact(ctx, errors.New("dial: i/o timeout")); err != context.DeadlineExceeded {
		t.Errorf("redact() = %v, want %v", err, context.DeadlineExceeded)
	}
	if err := WaitError(ctx, "a token"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("WaitError() = %v, want %v", err, context.DeadlineExceeded)
	}
	for _, class := range []Class{Replayable, Once} {
		s := &script{statuses: []int{200}}
		r := s.do(ctx, newCall(t, class, storeURL))
		if r.Err != context.DeadlineExceeded || r.MaybeSent || r.Attempts != 0 || len(s.at) != 0 {
			t.Errorf("class %d: %+v, %d requests, want the deadline and no request", class, r, len(s.at))
		}
	}
}
