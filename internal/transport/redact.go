package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"unicode"
)

// Hidden is a value that cannot be printed: a function that returns it. fmt prints fields in spite
// of String and Format methods if the struct is a field of another one, and packages that print
// values for tests follow pointers by reflection. None of them calls a function.
type Hidden[T any] func() T

// Hide returns v hidden.
func Hide[T any](v T) Hidden[T] { return func() T { return v } }

// ErrLimiter is matched by the error of a limiter.
var ErrLimiter = errors.New("the limiter refused the attempt")

// redacted is an error that shows only a safe text. Errors of net/http and of custom transports may
// contain query values, or bytes of the response.
type redacted struct {
	text string
	safe error         // the part of the chain that may be shown; nil if there is none
	full Hidden[error] // the original, for errors.Is only
}

func (e *redacted) Error() string { return e.text }

func (e *redacted) Unwrap() error { return e.safe }

// Is reports whether the original error matches. It never matches the errors of a context: they
// mean that the caller's context has ended, but a connection that timed out matches
// context.DeadlineExceeded too.
func (e *redacted) Is(target error) bool {
	return target != context.Canceled && target != context.DeadlineExceeded && errors.Is(e.full(), target)
}

// Format keeps %+v and %#v from printing the fields.
func (e *redacted) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.text) }

// Withhold returns an error that shows the safe message of err, or text if it has none. errors.Is
// matches err.
func Withhold(text string, err error) error {
	if safe, ok := errors.AsType[interface {
		error
		SafeMessage() string
	}](err); ok {
		text = safe.SafeMessage()
	}
	return &redacted{text: text, full: Hide(err)}
}

// show is the table of what may be shown of an error. Everything else is withheld. inError reports
// whether the text of err may be in the text of an error: it may contain host names and addresses,
// but nothing else of the request or the response. inLog is the text for log events and observers,
// which contains no host name and no address either; "" means that there is none.
func show(err error) (inError bool, inLog string) {
	if isOfContext(err) {
		return false, "" // it would match like an error of the caller's context
	}
	switch err {
	case ErrGate, ErrLimiter, ErrTimeout, errTooLarge, errNoResponse, errBodySent, errSecondSend, errConnsFailed,
		errSwitched, io.EOF, io.ErrUnexpectedEOF, io.ErrNoProgress, io.ErrClosedPipe, net.ErrClosed, os.ErrDeadlineExceeded:
		return true, err.Error()
	}
	switch e := err.(type) {
	case syscall.Errno:
		return true, e.Error()
	case *os.SyscallError:
		return show(e.Err)
	case *net.OpError:
		if inError, _ = show(e.Err); inError {
			return true, describeOp(e)
		}
	case *net.DNSError:
		return true, describeLookup(e)
	case *net.AddrError, tls.RecordHeaderError, tls.AlertError:
		return true, ""
	}
	if isOfCertificate(err) {
		return true, ErrCertificate.Error()
	}
	return false, ""
}

func isOfContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// isOfCertificate reports whether err itself is why a certificate was not accepted.
func isOfCertificate(err error) bool {
	switch err.(type) {
	case *tls.CertificateVerificationError, x509.CertificateInvalidError, x509.ConstraintViolationError,
		x509.HostnameError, x509.InsecureAlgorithmError, x509.SystemRootsError, x509.UnhandledCriticalExtension,
		x509.UnknownAuthorityError:
		return true
	}
	return false
}

// isOfAddress reports whether err itself means that the address is wrong.
func isOfAddress(err error) bool {
	switch e := err.(type) {
	case *net.DNSError:
		return e.IsNotFound
	case tls.RecordHeaderError:
		return true
	}
	return errors.Is(err, http.ErrSchemeMismatch)
}

func describeOp(e *net.OpError) string {
	switch e.Op {
	case "dial", "read", "write", "proxyconnect", "remote error", "local error":
		return e.Op + ": " + Describe(e.Err)
	}
	return Describe(e.Err)
}

func describeLookup(e *net.DNSError) string {
	switch {
	case e.IsNotFound:
		return "lookup: no such host"
	case e.IsTimeout:
		return "lookup: timeout"
	}
	return "lookup: failed"
}

// redact returns an error for err that is safe to show, or the error of ctx, the caller's context,
// if that has ended.
func redact(ctx context.Context, err error) error {
	if e := ctxErr(ctx); e != nil {
		return e
	}
	for _, own := range []error{errTooLarge, errNoResponse, errBodySent} {
		if errors.Is(err, own) {
			return own // without what the transport may have added: errBodySent comes from GetBody
		}
	}
	e, kind := &redacted{}, ErrConnection
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		e.safe, kind = ErrTimeout, ErrTimeout
	}
	switch tree := slices.Collect(Tree(err)); {
	case slices.ContainsFunc(tree, isOfCertificate):
		kind = ErrCertificate
	case slices.ContainsFunc(tree, isOfAddress):
		kind = ErrAddress
	}
	e.full = Hide(fmt.Errorf("%w: %w", kind, err))
	var last error
	for last = range Tree(err) {
		if inError, _ := show(last); inError {
			e.safe = last
			break
		}
	}
	switch {
	case e.safe != nil:
		e.text = e.safe.Error()
	case !isOfContext(last) && isPlainWords(last.Error()): // e.g. of a stub that has no response
		e.text = "the request failed: " + last.Error()
	default:
		e.text = fmt.Sprintf("the request failed (%T; its text is withheld)", last)
	}
	return e
}

// isPlainWords reports whether a text of a custom transport may be shown: short, and so plain that
// it holds no address, token or id.
func isPlainWords(text string) bool {
	isOther := func(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune(" ,'", r) }
	isLong := func(word string) bool { return len(word) > 20 }
	return len(text) <= 100 && !strings.ContainsFunc(text, isOther) && !slices.ContainsFunc(strings.Fields(text), isLong)
}

// Describe returns the text of an error for log events and observers.
func Describe(err error) string {
	for _, e := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	var last error
	for last = range Tree(err) {
		if _, inLog := show(last); inLog != "" {
			return inLog
		}
	}
	return fmt.Sprintf("failed (%T)", last)
}

// Tree yields err and all errors that it wraps, each before those that it wraps. The last one is
// the innermost.
func Tree(err error) iter.Seq[error] {
	return func(yield func(error) bool) { walkTree(err, yield) }
}

func walkTree(err error, yield func(error) bool) (more bool) {
	if !yield(err) {
		return false
	}
	causes := []error{errors.Unwrap(err)}
	switch e := err.(type) {
	case *redacted:
		if e.safe == nil {
			causes[0] = e.full()
		}
	case interface{ Unwrap() []error }:
		causes = e.Unwrap()
	}
	for _, cause := range causes {
		if cause != nil && !walkTree(cause, yield) {
			return false
		}
	}
	return true
}
