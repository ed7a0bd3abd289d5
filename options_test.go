package commerce_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/commerce-go/commerce"
)

type sourceFunc func() (*oauth2.Token, error)

func (f sourceFunc) Token() (*oauth2.Token, error) { return f() }

func TestNew_options(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		opts []commerce.Option // after WithToken, if it is not nil
		want []string          // fields
	}{
		{name: "no credentials", want: []string{"credentials"}},
		{name: "nil option", opts: []commerce.Option{nil}, want: []string{"option 1"}},
		{
			name: "everything at once",
			opts: []commerce.Option{
				commerce.WithToken(""), commerce.WithTokenSource(nil), commerce.WithClientCredentials("", ""),
				commerce.WithHTTPClient(nil), commerce.WithLimiter(nil), commerce.WithLogger(nil), commerce.WithUserAgent(" "),
				commerce.WithObserver(nil), commerce.WithCartLocker(nil),
				commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: -1, MinBackoff: -1, MaxBackoff: -1, AttemptTimeout: -1}),
			},
			want: []string{
				"token", "token source", "client id", "client secret", "http client", "limiter", "logger", "user agent",
				"observer", "cart locker",
				"retry.MaxAttempts", "retry.MinBackoff", "retry.MaxBackoff", "retry.AttemptTimeout",
			},
		},
		{
			name: "MaxBackoff alone is below the default MinBackoff",
			opts: []commerce.Option{commerce.WithRetry(commerce.RetryPolicy{MaxBackoff: time.Millisecond})},
		},
		{
			name: "MinBackoff above MaxBackoff",
			opts: []commerce.Option{commerce.WithRetry(commerce.RetryPolicy{MinBackoff: time.Minute})},
			want: []string{"retry.MinBackoff"},
		},
		{
			name: "header injection",
			opts: []commerce.Option{
				commerce.WithHeader("X-A\r\nX-B", "x"), commerce.WithHeader("", "x"),
				commerce.WithHeader("X-A", "x\r\nX-B: y"), commerce.WithUserAgent("a\r\nb"),
			},
			want: []string{"header key", "header key", "header X-A", "user agent"},
		},
	} {
		if tt.opts != nil {
			tt.opts = append([]commerce.Option{commerce.WithToken(token)}, tt.opts...)
		}
		_, err := commerce.New(baseURL, tt.opts...)
		diff(t, "invalid fields: "+tt.name, invalidFields(err), tt.want)
	}
}

// Headers of the library and of the connection cannot be set.
func TestWithHeader_refused(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"authorization", "Host", "content-length", "Content-Type", "Content-Anything", "Idempotency-Key",
		"x-idempotency-key", "Connection", "Transfer-Encoding", "Accept", "Accept-Encoding", "User-Agent", "TE", "Trailer",
		"Upgrade", "Expect", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection",
	} {
		_, err := commerce.New(baseURL, commerce.WithToken(token), commerce.WithHeader(key, "x"))
		diff(t, "invalid fields: "+key, invalidFields(err), []string{"header " + http.CanonicalHeaderKey(key)})
	}
}

// The characters of header keys, header values and tokens, byte by byte. The last characters have
// the low bytes of "a" and of a line break.
func TestNew_characters(t *testing.T) {
	t.Parallel()
	accepts := func(opts ...commerce.Option) bool {
		_, err := commerce.New(baseURL, append([]commerce.Option{commerce.WithToken(token)}, opts...)...)
		return err == nil
	}
	chars := []string{"é", "\u2028", "\u0161", "\u560a"}
	for b := range 256 {
		chars = append(chars, string([]byte{byte(b)}))
	}
	for _, char := range chars {
		const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
		isPrintable := len(char) == 1 && char >= " " && char <= "~"
		if got := accepts(commerce.WithClientCredentials("i"+char+"d", "s")); got != isPrintable {
			t.Errorf("client id with %q: accepted %t, want %t", char, got, isPrintable)
		}
		if got, want := accepts(commerce.WithClientCredentials("id", "s"+char)), isPrintable && char != " "; got != want {
			t.Errorf("client secret that ends in %q: accepted %t, want %t", char, got, want)
		}
		if got, want := accepts(commerce.WithHeader("X"+char, "v")), strings.Contains(letters, char); got != want {
			t.Errorf("header key with %q accepted: %t, want %t", char, got, want)
		}
		if got, want := accepts(commerce.WithHeader("X-A", "v"+char)), isPrintable; got != want {
			t.Errorf("header value with %q accepted: %t, want %t", char, got, want)
		} else if got := accepts(commerce.WithUserAgent("v" + char)); got != want {
			t.Errorf("user agent with %q accepted: %t, want %t", char, got, want)
		}
		if got, want := accepts(commerce.WithToken("t"+char)), isPrintable && char != " "; got != want {
			t.Errorf("token with %q accepted: %t, want %t", char, got, want)
		}
	}
}

// Tokens and header values arrive as they are, and add no other header.
func FuzzHeaders(f *testing.F) {
	for _, value := range []string{
		"", "v", "a b", "a\r\nX-Evil: 1", "a\x00", "é", "\t", " lead", "trail ", `"q"`, "a: b", "\x7f", "\xc1", "y_2\x99",
	} {
		f.Add("token", "X-Key", value, "product")
		f.Add(value, "x-key_2", "value", value)
		f.Add("t", value, "Authorization", "p")
	}
	f.Add("t", "content-length", "5", "p")
	f.Add("t", "accept", "5", "p")
	f.Fuzz(func(t *testing.T, secret, key, value, product string) {
		r := &recorder{respond: respond(200, emptyList)}
		c, err := commerce.New(baseURL, commerce.WithHTTPClient(&http.Client{Transport: r}),
			commerce.WithToken(secret), commerce.WithHeader(key, value), commerce.WithUserAgent(product))
		if err != nil {
			r.checkRefused(t, err, secret)
			return
		}
		if err := list(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		req := r.read(t)
		diff(t, "Authorization", req.Header.Values("Authorization"), []string{"Bearer " + secret})
		// A server removes the white space around a value.
		diff(t, key, req.Header.Values(key), []string{strings.TrimSpace(value)})
		if got := req.UserAgent(); !strings.HasPrefix(got, strings.TrimLeft(product, " ")+" commerce-go/") {
			t.Errorf("User-Agent = %q, want %q first", got, product)
		}
		if len(req.Header) != 4 || req.Host != "store.example" {
			t.Errorf("got Host %s and headers %v, want store.example and 4 headers", req.Host, req.Header)
		}
	})
}

func TestClient_httpClientIsCopied(t *testing.T) {
	t.Parallel()
	hc := &http.Client{Transport: newStub(t, respond(200, emptyList)), Timeout: time.Minute}
	c, err := commerce.New(baseURL, commerce.WithToken(token), commerce.WithHTTPClient(hc))
	if err != nil {
		t.Fatal(err)
	}
	hc.Transport = nil // too late to matter
	if err := list(t.Context(), c); err != nil {
		t.Error(err)
	}
	if hc.Timeout != time.Minute || hc.CheckRedirect != nil {
		t.Error("the caller's client was changed")
	}
}

// logFunc is called with the context of each event. It is a slog.Handler.
type logFunc func(context.Context)

func (logFunc) Enabled(context.Context, slog.Level) bool          { return true }
func (f logFunc) Handle(ctx context.Context, _ slog.Record) error { f(ctx); return nil }
func (f logFunc) WithAttrs([]slog.Attr) slog.Handler              { return f }
func (f logFunc) WithGroup(string) slog.Handler                   { return f }

//nolint:paralleltest // changes the default logger, which is where a careless library would log to
func TestWithLogger(t *testing.T) {
	byDefault, events := 0, 0
	before := slog.Default()
	slog.SetDefault(slog.New(logFunc(func(context.Context) { byDefault++ }))) // also that of package log
	t.Cleanup(func() { slog.SetDefault(before) })
	silent := newStub(t, respond(500, ""), respond(200, emptyList)).client(t)
	logger := slog.New(logFunc(func(context.Context) { events++ }))
	logged := newStub(t, respond(500, ""), respond(200, emptyList)).client(t, commerce.WithLogger(logger))
	if err := errors.Join(list(t.Context(), silent), list(t.Context(), logged)); err != nil {
		t.Fatal(err)
	}
	if byDefault != 0 || events != 3 { // two attempts and a retry
		t.Errorf("got %d events by default and %d with a logger, want 0 and 3", byDefault, events)
	}
}

// The comment of RetryPolicy lists the statuses after which a read, and a write, is sent again.
func TestRetryPolicy_statuses(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("options.go")
	if err != nil {
		t.Fatal(err)
	}
	lists := regexp.MustCompile(`after a ([0-9,or/\s]+), *(which|\n)`).FindAllStringSubmatch(string(source), -1)
	if len(lists) != 2 {
		t.Fatalf("options.go has %d lists of statuses, want 2: %q", len(lists), lists)
	}
	documented := func(list int, status int) bool { return strings.Contains(lists[list][1], strconv.Itoa(status)) }
	for status := 300; status <= 599; status++ {
		for i, call := range []func(context.Context, *commerce.Client) error{list, addDiscount} {
			requests := 0
			c := newClient(t, roundTripper(func(req *http.Request) (*http.Response, error) {
				requests++
				return respond(status, "")(req)
			}))
			if err := call(t.Context(), c); err == nil {
				t.Errorf("status %d: no error", status)
			}
			if got, want := requests > 1, documented(i, status); got != want {
				t.Errorf("status %d: call %d is sent again: %t, documented: %t", status, i, got, want)
			}
		}
	}
}
