package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Hidden is a value that cannot be printed: a function that returns it. fmt prints fields in spite of String and Format
// methods if the struct is a field of another one, and packages that print values for tests follow pointers by
// reflection. None of them calls a function.
type Hidden[T any] func() T

// Hide returns v hidden.
func Hide[T any](v T) Hidden[T] { return func() T { return v } }

// ErrLimiter is matched by the error of a limiter.
var ErrLimiter = errors.New("the limiter refused the attempt")

// AuthError is an error of the Authorizer.
type AuthError struct{ Err error }

func (e *AuthError) Error() string { return e.Err.Error() }

func (e *AuthError) Unwrap() error { return e.Err }

// ctxErr returns the error of a context that has ended. A deadline that has passed counts even if the timer of the
// context has not fired yet: a dialer compares clocks, and may be first.
func ctxErr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// WaitError returns the error of a call that ended while it waited for what, or nil if ctx, its context, has not ended.
func WaitError(ctx context.Context, what string) error {
	if err := ctxErr(ctx); err != nil {
		return fmt.Errorf("%w while waiting for %s", err, what)
	}
	return nil
}

// redacted is an error that shows only a safe text. Errors of net/http and of custom transports may contain query
// values, or bytes of the response.
type redacted struct {
	text string
	safe error         // the part of the chain that may be shown; nil if there is none
	full Hidden[error] // the original, for errors.Is only
}

func (e *redacted) Error() string { return e.text }

func (e *redacted) Unwrap() error { return e.safe }

// Is reports whether the original error matches. It never matches the errors of a context: they mean that the caller's
// context has ended, but a connection that timed out matches context.DeadlineExceeded too.
func (e *redacted) Is(target error) bool {
	return target != context.Canceled && target != context.DeadlineExceeded && errors.Is(e.full(), target)
}

// Format keeps %+v and %#v from printing the fields.
func (e *redacted) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.text) }

// Withhold returns an error that shows only text. errors.Is matches err.
func Withhold(text string, err error) error {
	return &redacted{text: text, full: Hide(err)}
}

// redact returns an error for err that is safe to show, or the error of ctx, the caller's context, if that has ended.
func redact(ctx context.Context, err error) error {
	if e := ctxErr(ctx); e != nil {
		return e
	}
	for _, own := range []error{errTooLarge, errNoResponse, errBodySent} {
		if errors.Is(err, own) {
			return own // without what the transport may have added: errBodySent comes from GetBody
		}
	}
	timeout, isNetError := errors.AsType[net.Error](err)
	isTimeout := isNetError && timeout.Timeout()
	e := &redacted{full: Hide(err), safe: safePart(err)}
	if isTimeout {
		e.full = Hide(fmt.Errorf("%w: %w", ErrTimeout, err))
	}
	switch {
	case errors.Is(err, ErrLimiter):
		e.text = ErrLimiter.Error()
	case e.safe != nil:
		e.text = e.safe.Error()
	case isTimeout:
		e.text = ErrTimeout.Error()
	default:
		e.text = fmt.Sprintf("the request failed (%T; its text is withheld)", innermost(err))
	}
	return e
}

// innermost returns the last error of the chain of err.
func innermost(err error) error {
	switch e := err.(type) {
	case *redacted:
		if e.safe == nil {
			return innermost(e.full())
		}
	case interface{ Unwrap() []error }:
		if causes := e.Unwrap(); len(causes) > 0 {
			return innermost(causes[len(causes)-1])
		}
	}
	if cause := errors.Unwrap(err); cause != nil {
		return innermost(cause)
	}
	return err
}

// safePart returns the outermost error of the chain that is safe to show. Its text may contain host names and
// addresses, but nothing else of the request or the response.
func safePart(err error) error {
	for ; err != nil; err = errors.Unwrap(err) {
		if isSafe(err) {
			return err
		}
	}
	return nil
}

func isSafe(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false // it would match like an error of the caller's context
	}
	switch err {
	case io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe, os.ErrDeadlineExceeded:
		return true
	}
	switch e := err.(type) {
	case syscall.Errno, *net.DNSError, *net.AddrError,
		*tls.CertificateVerificationError, tls.RecordHeaderError, tls.AlertError,
		x509.UnknownAuthorityError, x509.HostnameError, x509.CertificateInvalidError:
		return true
	case *os.SyscallError:
		return isSafe(e.Err)
	case *net.OpError:
		return isSafe(e.Err)
	}
	return false
}
