package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	const canary = "canary-7"
	refused := &net.OpError{
		Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, Err: syscall.ECONNREFUSED,
	}
	lookup := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "x", Name: "host", IsTimeout: true}}
	custom := errors.New(canary)
	untrusted := &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
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
		{name: "unknown authority", err: withURL(untrusted), is: untrusted, want: untrusted.Error()},
		{name: "of a custom transport", err: withURL(custom), is: custom,
			want: "the request failed (*errors.errorString; its text is withheld)"},
		{name: "plain words of a custom transport", err: withURL(errors.New("no responder found, isn't it")),
			want: "the request failed: no responder found, isn't it"},
		{name: "a long word of a custom transport", err: withURL(errors.New("token eyJhbGciOiJIUzIIsInRAcCI")),
			want: "the request failed (*errors.errorString; its text is withheld)"},
		{name: "of a custom dialer", err: &net.OpError{Op: "dial", Err: custom}, is: custom,
			want: "the request failed (*errors.errorString; its text is withheld)"},
		{name: "timeout", err: withURL(context.DeadlineExceeded), want: ErrTimeout.Error()},
		{name: "lookup of a canceled context", err: withURL(&net.DNSError{UnwrapErr: context.Canceled}),
			want: "the request failed (*errors.errorString; its text is withheld)"},
		{name: "limiter", err: fmt.Errorf("%w: %w", ErrLimiter, custom), is: custom, want: ErrLimiter.Error()},
		{name: "one of several", err: withURL(errors.Join(custom, refused)), is: custom, want: refused.Error()},
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

// An error of a certificate has a sentinel of its own, whatever is around it.
func TestRedact_certificate(t *testing.T) {
	t.Parallel()
	wrapped := func(err error) error { return fmt.Errorf("canary: %w", errors.Join(errors.New("canary"), err)) }
	for _, err := range []error{
		&tls.CertificateVerificationError{Err: errors.New("canary of a callback")},
		x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: x509.Expired}, x509.ConstraintViolationError{},
		x509.HostnameError{Certificate: &x509.Certificate{}}, x509.InsecureAlgorithmError(x509.MD5WithRSA),
		x509.SystemRootsError{}, x509.UnhandledCriticalExtension{}, x509.UnknownAuthorityError{},
	} {
		for _, err := range []error{err, wrapped(err), &net.OpError{Op: "proxyconnect", Err: err}, wrapped(io.EOF)} {
			got, want := redact(t.Context(), err), ErrCertificate
			if errors.Is(err, io.EOF) {
				want = ErrConnection
			}
			for _, kind := range []error{ErrCertificate, ErrConnection, ErrTimeout} {
				if errors.Is(got, kind) != (kind == want) {
					t.Errorf("redact(%T %v) = %v: matches %v: %t", err, err, got, kind, kind != want)
				}
			}
			if text := Describe(got); want == ErrCertificate && !strings.HasSuffix(text, ErrCertificate.Error()) {
				t.Errorf("Describe(%T %v) = %q, want %q", err, err, text, ErrCertificate)
			}
		}
	}
}

// lateTimer is a context whose deadline has passed, but whose timer has not fired yet.
type lateTimer struct{ context.Context }

func (lateTimer) Deadline() (time.Time, bool) { return time.Unix(0, 0), true }

// A dialer that compares clocks may fail before the timer of the context fires: the error is the
// deadline all the same.
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

func TestDescribe(t *testing.T) {
	t.Parallel()
	dial := func(err error) error { return &net.OpError{Op: "dial", Addr: &net.TCPAddr{Port: 1234}, Err: err} }
	for _, tt := range []struct {
		err  error
		want string
	}{
		{err: fmt.Errorf("canary: %w", io.EOF), want: "EOF"},
		{err: redact(t.Context(), fmt.Errorf("canary: %w", context.Canceled)), want: "failed (*errors.errorString)"},
		{err: Withhold("canary", dial(syscall.ECONNREFUSED)), want: "dial: connection refused"},
		{err: dial(&net.AddrError{Addr: "canary"}), want: "dial: failed (*net.AddrError)"},
		{err: dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), want: "dial: connection refused"},
		{err: &net.OpError{Op: "canary", Err: net.ErrClosed}, want: "use of closed network connection"},
		{err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}, want: "read: connection reset by peer"},
		{err: dial(&net.DNSError{Name: "canary", IsNotFound: true}), want: "dial: lookup: no such host"},
		{err: dial(&net.DNSError{Name: "canary", IsTimeout: true}), want: "dial: lookup: timeout"},
		{err: dial(&net.DNSError{Name: "canary"}), want: "dial: lookup: failed"},
		{err: fmt.Errorf("canary: %w", context.Canceled), want: "context canceled"},
		{err: fmt.Errorf("canary: %w", errors.New("canary")), want: "failed (*errors.errorString)"},
	} {
		if got := Describe(tt.err); got != tt.want {
			t.Errorf("Describe(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}
