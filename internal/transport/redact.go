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

// ErrLimiter marks the error of a limiter.
var ErrLimiter = errors.New("the limiter refused the attempt")

// AuthError is a failure to get a token, as the Authorizer returned it.
type AuthError struct{ Err error }

func (e *AuthError) Error() string { return e.Err.Error() }

func (e *AuthError) Unwrap() error { return e.Err }

// ctxErr returns the error of a context that has ended. A deadline that has
// passed counts even where the context's timer has yet to fire: dialers compute
// with the deadline and may be first.
func ctxErr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// cause is an error of which only a safe text is shown. Errors of net/http and
// of foreign transports may hold addresses with query values, or bytes of the
// answer.
type cause struct {
	text string
	safe error         // the part of the chain that is fit to be seen; nil if none is
	full Hidden[error] // the original, for errors.Is only
}

func (c *cause) Error() string { return c.text }

func (c *cause) Unwrap() error { return c.safe }

// Is reports whether the original error matches. The errors of a context do
// not: they stand for the caller's context alone, and a timeout of a connection
// matches them too.
func (c *cause) Is(target error) bool {
	return target != context.Canceled && target != context.DeadlineExceeded && errors.Is(c.full(), target)
}

// Format keeps %+v and %#v from printing the fields.
func (c *cause) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.text) }

// Withhold returns an error that shows text, and that errors.Is finds err in.
func Withhold(text string, err error) error {
	return &cause{text: text, full: Hide(err)}
}

// reduce returns err as it may be shown. ctx is the caller's.
func reduce(ctx context.Context, err error) error {
	if e := ctxErr(ctx); e != nil {
		return e
	}
	c := &cause{full: Hide(err), safe: safePart(err)}
	var timeout net.Error
	switch {
	case errors.Is(err, ErrLimiter):
		c.text = ErrLimiter.Error()
	case errors.Is(err, errTooLarge):
		return errTooLarge // alone: what a foreign transport put around it may hold the address
	case errors.Is(err, errNoAnswer):
		return errNoAnswer
	case errors.Is(err, errBodySent):
		return errBodySent
	case c.safe != nil:
		c.text = c.safe.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		c.text = errTimeout.Error()
	default:
		c.text = fmt.Sprintf("the exchange failed (%T; its text is withheld)", innermost(err))
	}
	return c
}

// innermost returns the last error of the chain of err.
func innermost(err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		err = e
	}
	return err
}

// safePart returns the outermost error of the chain whose text is known to hold
// host names, addresses and reasons, and nothing of the exchange.
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
		return false // it would match the caller's context
	}
	switch err {
	case io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe, os.ErrDeadlineExceeded:
		return true
	}
	switch e := err.(type) {
	case syscall.Errno, *net.DNSError, *net.AddrError, *tls.CertificateVerificationError, tls.RecordHeaderError, tls.AlertError,
		x509.UnknownAuthorityError, x509.HostnameError, x509.CertificateInvalidError:
		return true
	case *os.SyscallError:
		return isSafe(e.Err)
	case *net.OpError:
		return isSafe(e.Err)
	}
	return false
}

// Hidden is a value that cannot be printed. fmt shows the fields of a value if a verb
// does not fit it, and packages that print values for tests follow pointers to anything;
// none of them looks into a function.
type Hidden[T any] func() T

// Hide returns v hidden.
func Hide[T any](v T) Hidden[T] { return func() T { return v } }
