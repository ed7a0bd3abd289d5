package transport

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

var policy = Policy{MaxAttempts: 3, MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond, AttemptTimeout: 10 * time.Second}

func newCall(t *testing.T, class Class, address string) *Call {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	c := &Call{Op: "op", Class: class, Method: http.MethodGet, URL: u, Header: http.Header{"X-A": {"b"}}, Policy: policy}
	if class == Once {
		c.Method, c.Body = http.MethodPost, []byte(`{"body":1}`)
	}
	return c
}

// rawServer answers every connection by handle, which gets the connection and
// the number of connections so far.
func rawServer(t *testing.T, handle func(conn net.Conn, n int)) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 1; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				handle(conn, n)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return "http://" + l.Addr().String()
}

// newClient returns a client with connections of its own, closed at the end.
func newClient(t *testing.T) *Client {
	t.Helper()
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	return New(&http.Client{Transport: base})
}

// readRequest reads a request up to the end of its body of n bytes.
func readRequest(conn net.Conn) string {
	var b strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(b.String(), "\r\n\r\n") || strings.HasPrefix(b.String(), "POST") && !strings.HasSuffix(b.String(), "}") {
		n, err := conn.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			break
		}
	}
	return b.String()
}

func TestDo_faultsOnTheWire(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		handle func(conn net.Conn)
		status int  // of a Once call
		sent   bool // MaybeSent of a Once call
		failed bool // Err of a Once call
		reads  int  // attempts of a Replayable call
	}{
		{"closed before a byte", func(conn net.Conn) { readRequest(conn) }, 0, true, true, 3},
		{"closed in the status line", func(conn net.Conn) { readRequest(conn); send(conn, "HTTP/1.1 20") }, 0, true, true, 3},
		{"not HTTP", func(conn net.Conn) { readRequest(conn); send(conn, "SSH-2.0-x\r\n\r\n") }, 0, true, true, 3},
		{"cut in the header", func(conn net.Conn) { readRequest(conn); send(conn, "HTTP/1.1 200 OK\r\nX") }, 0, true, true, 3},
		{"cut in the body", func(conn net.Conn) {
			readRequest(conn)
			send(conn, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}")
		}, 200, false, true, 3},
		{"cut in a chunk", func(conn net.Conn) {
			readRequest(conn)
			send(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}")
		}, 200, false, true, 3},
		{"cut in the body of an error", func(conn net.Conn) {
			readRequest(conn)
			send(conn, "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\n{}")
		}, 404, false, true, 1},
		{"101", func(conn net.Conn) {
			readRequest(conn)
			send(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nraw")
		}, 101, false, true, 1},
		{"20 MB of headers", func(conn net.Conn) {
			readRequest(conn)
			send(conn, "HTTP/1.1 200 OK\r\n")
			for range 20 {
				if !send(conn, "X: "+strings.Repeat("x", 1<<20)+"\r\n") {
					return
				}
			}
		}, 0, true, true, 3},
		{"endless 1xx", func(conn net.Conn) {
			readRequest(conn)
			for send(conn, "HTTP/1.1 103 Early Hints\r\nX: "+strings.Repeat("x", 1000)+"\r\n\r\n") {
			}
		}, 0, true, true, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var conns atomic.Int32
			address := rawServer(t, func(conn net.Conn, _ int) { conns.Add(1); tt.handle(conn) })
			c := newClient(t)
			r := c.Do(t.Context(), newCall(t, Once, address))
			if r.StatusCode != tt.status || r.MaybeSent != tt.sent || (r.Err != nil) != tt.failed || r.Attempts != 1 || r.OK() {
				t.Errorf("once: %+v", r)
			}
			if n := conns.Swap(0); n != 1 {
				t.Errorf("once: %d connections", n)
			}
			r = c.Do(t.Context(), newCall(t, Replayable, address))
			if r.Attempts != tt.reads || r.StatusCode != tt.status || r.OK() {
				t.Errorf("replayable: %+v", r)
			}
			if n := conns.Load(); int(n) != tt.reads {
				t.Errorf("replayable: %d connections", n)
			}
		})
	}
}

func send(conn net.Conn, s string) bool {
	_, err := io.WriteString(conn, s)
	return err == nil
}

func TestDo_notSent(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	_ = l.Close()
	r := newClient(t).Do(t.Context(), newCall(t, Once, address))
	if r.StatusCode != 0 || r.MaybeSent || r.Attempts != 3 || !errors.Is(r.Err, syscall.ECONNREFUSED) {
		t.Errorf("connection refused: %+v", r)
	}
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(srv.Close)
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	r = newClient(t).Do(t.Context(), newCall(t, Once, srv.URL))
	if cert := (*tls.CertificateVerificationError)(nil); r.MaybeSent || r.StatusCode != 0 || !errors.As(r.Err, &cert) {
		t.Errorf("unknown authority: %+v", r)
	}
	r = newClient(t).Do(t.Context(), newCall(t, Once, strings.Replace(srv.URL, "https", "http", 1)))
	if r.StatusCode != 400 { // the server's word, not ours
		t.Errorf("plain text to TLS: %+v", r)
	}
}

// TestDo_staleConnection closes the connection after the first answer: net/http
// may repeat the call by itself only where it wrote nothing.
func TestDo_staleConnection(t *testing.T) {
	t.Parallel()
	var bodies atomic.Int32
	address := rawServer(t, func(conn net.Conn, _ int) {
		if strings.Contains(readRequest(conn), "body") {
			bodies.Add(1)
		}
		send(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	})
	c := newClient(t)
	var ok, unknown int
	const calls = 50
	for range calls {
		switch r := c.Do(t.Context(), newCall(t, Once, address)); {
		case r.OK():
			ok++
		case r.MaybeSent:
			unknown++
		default:
			t.Errorf("%+v", r)
		}
	}
	if n := int(bodies.Load()); n < ok || n > calls {
		t.Errorf("%d bodies arrived for %d answers and %d unknown outcomes", n, ok, unknown)
	}
}

// TestDo_http2 sends once calls over HTTP/2 to a server that answers one, and
// aborts the other after it has read the body.
func TestDo_http2(t *testing.T) {
	t.Parallel()
	var bodies atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if len(b) > 0 {
			bodies.Add(1)
		}
		if r.URL.Path == "/abort" {
			panic(http.ErrAbortHandler) // RST_STREAM
		}
		w.WriteHeader(201)
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	c := New(srv.Client())
	if r := c.Do(t.Context(), newCall(t, Once, srv.URL)); !r.OK() || bodies.Swap(0) != 1 {
		t.Errorf("%+v", r)
	}
	if r := c.Do(t.Context(), newCall(t, Once, srv.URL+"/abort")); !r.MaybeSent || r.StatusCode != 0 || r.Attempts != 1 || bodies.Load() != 1 {
		t.Errorf("%d bodies, %+v", bodies.Load(), r)
	}
}

// TestDo_gzipBomb reads an answer that grows beyond the limit as it is unpacked.
//
//nolint:paralleltest // measures the memory of the process
func TestDo_gzipBomb(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	zeros := make([]byte, 1<<20)
	for range MaxBody>>20 + 2 {
		_, _ = z.Write(zeros)
	}
	_ = z.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	}))
	t.Cleanup(srv.Close)
	c := newClient(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := c.Do(t.Context(), newCall(t, Replayable, srv.URL))
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 2*MaxBody+4<<20 {
		t.Errorf("%d MiB were allocated for a body of at most %d", got>>20, MaxBody>>20)
	}
	if r.Err != errTooLarge || r.Attempts != 1 || len(r.Body) != MaxBody || !r.Truncated {
		t.Errorf("%d bytes, %+v", len(r.Body), r.Err)
	}
}

func TestDo_stalledBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(&http.Client{Transport: stub(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(io.MultiReader(strings.NewReader("{"), stalled{req.Context()}))}, nil
		})})
		start := time.Now()
		r := c.Do(t.Context(), newCall(t, Once, "https://a.example"))
		if r.StatusCode != 200 || r.Err != errTimeout || r.MaybeSent || !r.Truncated || time.Since(start) != policy.AttemptTimeout {
			t.Errorf("after %v: %+v", time.Since(start), r)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		r = c.Do(ctx, newCall(t, Replayable, "https://a.example"))
		if r.Err != context.DeadlineExceeded || r.Attempts != 1 || time.Since(start) != time.Second {
			t.Errorf("after %v: %+v", time.Since(start), r)
		}
	})
}

// stalled is a body of which nothing more comes until its context ends.
type stalled struct{ ctx context.Context }

func (s stalled) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// stub is a transport of functions.
type stub func(*http.Request) (*http.Response, error)

func (s stub) RoundTrip(req *http.Request) (*http.Response, error) { return s(req) }

func TestDo_foreignTransports(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]stub{
		"neither answer nor error": func(*http.Request) (*http.Response, error) { return nil, nil },
		"an error":                 func(*http.Request) (*http.Response, error) { return nil, errors.New("x") },
		"a context's error":        func(*http.Request) (*http.Response, error) { return nil, context.Canceled },
		"a timeout":                func(*http.Request) (*http.Response, error) { return nil, context.DeadlineExceeded },
	} {
		r := New(&http.Client{Transport: s}).Do(t.Context(), newCall(t, Once, "https://a.example"))
		if !r.MaybeSent || r.StatusCode != 0 || r.Attempts != 1 || errors.Is(r.Err, context.Canceled) || errors.Is(r.Err, context.DeadlineExceeded) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	r := New(&http.Client{Transport: stub(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 204}, nil
	})}).Do(t.Context(), newCall(t, Once, "https://a.example"))
	if !r.OK() {
		t.Errorf("no body: %+v", r)
	}
}

// odd is a body of a foreign transport.
type odd struct {
	read   func(p []byte) (int, error)
	closed *atomic.Bool
}

func (o odd) Read(p []byte) (int, error) { return o.read(p) }
func (o odd) Close() error               { o.closed.Store(true); return nil }

func TestDo_oddBodies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		read func(p []byte) (int, error)
		err  error // beside the answer
		fail error
	}{
		"an end that is wrapped is a fault": {func(p []byte) (int, error) { return copy(p, "12"), fmt.Errorf("the proxy is gone: %w", io.EOF) }, nil, io.EOF},
		"nothing, for ever":                 {func([]byte) (int, error) { return 0, nil }, nil, io.ErrNoProgress},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var closed atomic.Bool
			call := newCall(t, Once, "https://store.example")
			r := New(&http.Client{Transport: stub(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, ContentLength: -1, Body: odd{tt.read, &closed}}, tt.err
			})}).Do(t.Context(), call)
			if r.OK() || !errors.Is(r.Err, tt.fail) || !closed.Load() {
				t.Errorf("ok: %t, error %v, body closed: %t", r.OK(), r.Err, closed.Load())
			}
		})
	}
}

// A transport may not change its request, but some do: a proxy in a test, say. That
// must not reach the next attempt, nor the caller's call.
func TestDo_transportThatChangesItsRequest(t *testing.T) {
	t.Parallel()
	call := newCall(t, Replayable, "https://store.example/v2/carts")
	var seen []string
	r := New(&http.Client{Transport: stub(func(req *http.Request) (*http.Response, error) {
		seen = append(seen, req.URL.String()+" "+strings.Join(req.Header.Values("X-A"), ","))
		req.URL.Path += "/changed"
		req.URL.Host = "other.example"
		req.Header["X-A"][0] = "changed in place"
		req.Header.Add("X-A", "changed")
		req.Header.Del("Authorization")
		return nil, errors.New("no answer")
	})}).Do(t.Context(), call)
	if want := slices.Repeat([]string{"https://store.example/v2/carts b"}, 3); !slices.Equal(seen, want) || r.Attempts != 3 {
		t.Errorf("requests %q", seen)
	}
	if call.URL.String() != "https://store.example/v2/carts" || len(call.Header) != 1 || call.Header.Get("X-A") != "b" || len(call.Header["X-A"]) != 1 {
		t.Errorf("the call was changed: %v %v", call.URL, call.Header)
	}
}

func TestDo_timeoutOfTheCallersClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		block := stub(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		start := time.Now()
		r := New(&http.Client{Transport: block, Timeout: 2 * time.Second}).Do(t.Context(), newCall(t, Once, "https://a.example"))
		if time.Since(start) != 2*time.Second || r.Err != errTimeout || !r.MaybeSent {
			t.Errorf("after %v: %+v", time.Since(start), r)
		}
	})
}

func TestBackoff_isFullJitter(t *testing.T) {
	t.Parallel()
	c := &call{Call: &Call{Policy: Policy{MinBackoff: 100 * time.Millisecond, MaxBackoff: 350 * time.Millisecond}}}
	for attempts, bound := range map[int]time.Duration{1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 3: 350 * time.Millisecond, 1000: 350 * time.Millisecond} {
		var low, high bool
		for range 2000 {
			d := c.backoff(attempts)
			if d < 0 || d >= bound {
				t.Fatalf("attempt %d: %v is out of bounds", attempts, d)
			}
			low, high = low || d < bound/10, high || d > bound*9/10
		}
		if !low || !high {
			t.Errorf("attempt %d: not spread over [0, %v)", attempts, bound)
		}
	}
	if d := (&call{Call: &Call{}}).backoff(1); d != 0 {
		t.Errorf("without bounds: %v", d)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "1": time.Second, " 3 ": 3 * time.Second, "1.5": 1500 * time.Millisecond, "17.17": 17170 * time.Millisecond, ".5": time.Second / 2, "5.": 5 * time.Second, "0.0000000001": 0, "120": 2 * time.Minute,
		"-1": 0, "+1": 0, "1e3": 0, "1s": 0, "soon": 0, ".": 0, "1.2.3": 0, "0x10": 0,
		"9223372036": 9223372036 * time.Second, "9223372037": maxRetryAfter, strings.Repeat("9", 400): maxRetryAfter,
		"Tue, 02 Jan 2024 03:04:15 GMT":   10 * time.Second,
		"Tuesday, 02-Jan-24 03:04:15 GMT": 10 * time.Second,
		"Tue Jan  2 03:04:15 2024":        10 * time.Second,
		"Tue, 02 Jan 2024 03:04:00 GMT":   0,
		"Fri, 31 Dec 9999 23:59:59 GMT":   maxRetryAfter,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		header http.Header
		want   string
	}{
		{http.Header{"X-Request-Id": {"a-1"}}, "a-1"},
		{http.Header{"X-Request-Id": {"a-1"}, "X-Moltin-Request-Id": {"b/2"}}, "b/2"},
		{http.Header{"X-Request-Id": {"a-1"}, "X-Moltin-Request-Id": {"not an id"}}, "a-1"},
		{http.Header{"X-Request-Id": {"a\x1b[31m"}}, ""},
		{http.Header{"X-Request-Id": {strings.Repeat("a", 129)}}, ""},
		{nil, ""},
	} {
		if got := RequestID(tt.header); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.header, got, tt.want)
		}
	}
}

func TestReduce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const canary = "canary"
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, Err: syscall.ECONNREFUSED}
	timeout := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "x", Name: "host", IsTimeout: true}}
	foreign := errors.New(canary)
	for _, tt := range []struct {
		err  error
		text string
	}{
		{&url.Error{Op: "Get", URL: "https://x/?" + canary, Err: refused}, "dial tcp 127.0.0.1:1: connection refused"},
		{&url.Error{Op: "Get", URL: canary, Err: io.ErrUnexpectedEOF}, "unexpected EOF"},
		{&url.Error{Op: "Get", URL: canary, Err: timeout}, timeout.Error()},
		{&url.Error{Op: "Get", URL: canary, Err: foreign}, "the request failed (*errors.errorString; its text is withheld)"},
		{&net.OpError{Op: "dial", Err: foreign}, "the request failed (*errors.errorString; its text is withheld)"},
		{&url.Error{Op: "Get", URL: canary, Err: context.DeadlineExceeded}, errTimeout.Error()},
		{fmt.Errorf("%w: %w", ErrLimiter, foreign), ErrLimiter.Error()},
	} {
		got := redact(ctx, tt.err)
		if got.Error() != tt.text || strings.Contains(fmt.Sprintf("%v %+v %#v %s %q", got, got, got, got, got), canary) {
			t.Errorf("%v: %v, want %s", tt.err, got, tt.text)
		}
		if errors.Is(got, context.DeadlineExceeded) || errors.Is(got, context.Canceled) {
			t.Errorf("%v matches a context", got)
		}
		if _, ok := errors.AsType[*url.Error](got); ok {
			t.Errorf("%v leads to the URL", got)
		}
	}
	if !errors.Is(redact(ctx, refused), syscall.ECONNREFUSED) || !errors.Is(redact(ctx, foreign), foreign) {
		t.Error("errors.Is does not find the cause")
	}
	passed, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	defer cancel()
	if got := redact(passed, foreign); got != context.DeadlineExceeded {
		t.Errorf("after the deadline: %v", got)
	}
}

func TestNew_ownTransport(t *testing.T) {
	t.Parallel()
	own, ok := New(nil).base().(*http.Transport)
	if !ok || own != New(&http.Client{}).base() {
		t.Fatal("the library's transport is not shared")
	}
	if own.TLSClientConfig.MinVersion != tls.VersionTLS12 || own.MaxResponseHeaderBytes != maxHeader || own.MaxIdleConnsPerHost != maxIdleConns || own.Proxy == nil || !own.ForceAttemptHTTP2 ||
		own.HTTP2 == nil || own.HTTP2.SendPingTimeout <= 0 || own.HTTP2.PingTimeout <= 0 {
		t.Errorf("%+v", own)
	}
	if r := New(nil).Do(t.Context(), &Call{Method: "bad method", URL: &url.URL{}, Policy: policy}); r.Err == nil || r.Attempts != 0 || r.MaybeSent {
		t.Errorf("%+v", r)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	answers := []int{503, 200}
	call := newCall(t, Replayable, "https://a.example/path?query")
	call.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "time" || a.Key == "duration" || a.Key == "wait" {
			return slog.Attr{}
		}
		return a
	}}))
	r := New(&http.Client{Transport: stub(func(*http.Request) (*http.Response, error) {
		status := answers[0]
		answers = answers[1:]
		return &http.Response{StatusCode: status, Header: http.Header{"X-Request-Id": {"id-1"}}, Body: http.NoBody}, nil
	})}).Do(t.Context(), call)
	if !r.OK() {
		t.Errorf("%+v", r)
	}
	const want = `level=DEBUG msg="commerce: attempt" op=op method=GET attempt=1 status=503 request_id=id-1
level=WARN msg="commerce: retry" op=op method=GET attempt=1 status=503 request_id=id-1
level=DEBUG msg="commerce: attempt" op=op method=GET attempt=2 status=200 request_id=id-1
`
	if log.String() != want {
		t.Errorf("got\n%swant\n%s", log.String(), want)
	}
}

// TestDo_http2Resets sends once calls to a server that resets every stream: with
// REFUSED_STREAM and PROTOCOL_ERROR net/http repeats by itself as often as it can
// get the body again, or as often as it likes where there is none.
func TestDo_http2Resets(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]byte{"PROTOCOL_ERROR": 1, "REFUSED_STREAM": 7, "CANCEL": 8} {
		for _, body := range []string{"", "{}"} {
			t.Run(name+body, func(t *testing.T) {
				t.Parallel()
				var requests atomic.Int32
				srv := httptest.NewUnstartedServer(http.NotFoundHandler())
				srv.TLS = &tls.Config{NextProtos: []string{"h2"}}
				srv.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
					"h2": func(_ *http.Server, conn *tls.Conn, _ http.Handler) { resetStreams(conn, code, &requests) },
				}
				srv.StartTLS()
				t.Cleanup(srv.Close)
				srv.Client().Transport.(*http.Transport).ForceAttemptHTTP2 = true
				call := newCall(t, Once, srv.URL)
				call.Method, call.Body = http.MethodDelete, nil
				if body != "" {
					call.Method, call.Body = http.MethodPost, []byte(body)
				}
				call.Policy.MaxAttempts = 1
				call.Policy.AttemptTimeout = 3 * time.Second
				c := New(srv.Client())
				r := c.Do(t.Context(), call)
				if n := requests.Swap(0); n != 1 || !r.MaybeSent || r.StatusCode != 0 {
					t.Errorf("%d requests, %+v", n, r)
				}
				// A read may be repeated, but not as often as net/http likes.
				read := newCall(t, Replayable, srv.URL)
				read.Policy.MaxAttempts, read.Policy.AttemptTimeout = 1, time.Second/2 // after REFUSED_STREAM it waits
				r = c.Do(t.Context(), read)
				if n := requests.Load(); n > 4 || r.Err == nil {
					t.Errorf("a read: %d requests, want at most 4; %+v", n, r)
				}
			})
		}
	}
}

// resetStreams speaks as much HTTP/2 as it takes to reset each stream that opens.
func resetStreams(conn net.Conn, code byte, opened *atomic.Int32) {
	const data, headers, settings, rst = 0, 1, 4, 3
	preface := make([]byte, 24)
	if _, err := io.ReadFull(conn, preface); err != nil {
		return
	}
	_, _ = conn.Write([]byte{0, 0, 0, settings, 0, 0, 0, 0, 0})
	for {
		frame := make([]byte, 9)
		if _, err := io.ReadFull(conn, frame); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, conn, int64(frame[0])<<16|int64(frame[1])<<8|int64(frame[2])); err != nil {
			return
		}
		ended := frame[4]&1 != 0
		switch {
		case frame[3] == settings && !ended:
			_, _ = conn.Write([]byte{0, 0, 0, settings, 1, 0, 0, 0, 0})
		case frame[3] == headers:
			opened.Add(1)
			fallthrough
		case frame[3] == data:
			if ended {
				_, _ = conn.Write(append(append([]byte{0, 0, 4, rst, 0}, frame[5:9]...), 0, 0, 0, code))
			}
		}
	}
}

// TestDo_withoutBody shows what goes out for a once call without a body.
func TestDo_withoutBody(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{http.MethodDelete: "", http.MethodPost: "Transfer-Encoding: chunked"} {
		got := make(chan string, 1)
		address := rawServer(t, func(conn net.Conn, _ int) {
			buf := make([]byte, 4096)
			n, _ := conn.Read(buf)
			got <- string(buf[:n])
			send(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		})
		call := newCall(t, Once, address)
		call.Method, call.Body = method, nil
		if r := newClient(t).Do(t.Context(), call); !r.OK() {
			t.Errorf("%s: %+v", method, r)
		}
		if text := <-got; strings.Contains(text, "Transfer-Encoding: chunked") != (want != "") || strings.Contains(text, "Content-Length") {
			t.Errorf("%s:\n%s", method, text)
		}
	}
}

func TestDo_statusBelow100(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	address := rawServer(t, func(conn net.Conn, _ int) {
		n.Add(1)
		readRequest(conn)
		send(conn, "HTTP/1.1 000 X\r\nContent-Length: 0\r\n\r\n")
	})
	for name, c := range map[string]*Client{
		"on the wire": newClient(t),
		"of a stub": New(&http.Client{Transport: stub(func(*http.Request) (*http.Response, error) {
			return &http.Response{Body: http.NoBody}, nil
		})}),
	} {
		if r := c.Do(t.Context(), newCall(t, Once, address)); !r.MaybeSent || r.Attempts != 1 || r.Err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if n.Load() != 1 {
		t.Errorf("%d requests", n.Load())
	}
}

func TestDo_appliedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 421, 425, 429} {
		n := 0
		c := New(&http.Client{Transport: stub(func(*http.Request) (*http.Response, error) {
			n++
			return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader("applied"))}, nil
		})})
		call := newCall(t, Once, "https://a.example")
		call.Auth = new(auth)
		call.Applied = func(r *Result) bool { return r.StatusCode == status && string(r.Body) == "applied" }
		if r := c.Do(t.Context(), call); n != 1 || r.StatusCode != status {
			t.Errorf("%d: %d requests, want 1; %+v", status, n, r)
		}
	}
}

// The body is looked at only if the call would be sent again: on success, on a final
// refusal and on the last attempt it is not.
func TestDo_appliedIsAskedRarely(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status, attempts, asked int
	}{
		{status: 201, attempts: 3, asked: 0},
		{status: 422, attempts: 3, asked: 0},
		{status: 500, attempts: 3, asked: 0},
		{status: 429, attempts: 1, asked: 0},
		{status: 429, attempts: 3, asked: 2},
	} {
		asked := 0
		call := newCall(t, Once, "https://a.example")
		call.Policy.MaxAttempts = tt.attempts
		call.Applied = func(*Result) bool {
			asked++
			return false
		}
		New(&http.Client{Transport: stub(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: tt.status, Body: http.NoBody}, nil
		})}).Do(t.Context(), call)
		if asked != tt.asked {
			t.Errorf("status %d, %d attempts: asked %d times, want %d", tt.status, tt.attempts, asked, tt.asked)
		}
	}
}

func TestDo_headHasNoBody(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(MaxBody+1))
	}))
	t.Cleanup(srv.Close)
	call := newCall(t, Replayable, srv.URL)
	call.Method = http.MethodHead
	if r := newClient(t).Do(t.Context(), call); !r.OK() {
		t.Errorf("%+v", r)
	}
}

func TestDo_foreignErrorsAreReducedWhole(t *testing.T) {
	t.Parallel()
	// A transport that puts the address around the errors of the library's own.
	for _, own := range []error{errBodySent, errNoResponse, errTooLarge} {
		c := New(&http.Client{Transport: stub(func(req *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("%s: %w", req.URL, own)
		})})
		if r := c.Do(t.Context(), newCall(t, Once, "https://a.example/?canary")); r.Err != own {
			t.Errorf("%v", r.Err)
		}
	}
}

func TestDo_retryAfterCountsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		c := New(&http.Client{Transport: stub(func(*http.Request) (*http.Response, error) {
			at = append(at, time.Since(start))
			if len(at) == 1 {
				return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"5"}}, Body: http.NoBody}, nil
			}
			return nil, errors.New("fault")
		})})
		call := newCall(t, Replayable, "https://a.example")
		call.Policy.MaxBackoff = 10 * time.Second
		call.Policy.MinBackoff = 0
		c.Do(t.Context(), call)
		if want := []time.Duration{0, 5 * time.Second, 5 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
	})
}

// auth gives numbered tokens.
type auth int

func (a *auth) Token(context.Context) (string, error) { return fmt.Sprint("t", int(*a)), nil }
func (a *auth) Refresh(context.Context, string) (string, error) {
	*a++
	return fmt.Sprint("t", int(*a)), nil
}

// TestDo_faultAfterRefresh has a fault after a 401: what is repeated then goes by
// the fault, not by the answer before it.
func TestDo_faultAfterRefresh(t *testing.T) {
	t.Parallel()
	var tokens []string
	c := New(&http.Client{Transport: stub(func(req *http.Request) (*http.Response, error) {
		tokens = append(tokens, req.Header.Get("Authorization"))
		switch len(tokens) {
		case 1:
			return &http.Response{StatusCode: 401, Body: http.NoBody}, nil
		case 2:
			httptrace.ContextClientTrace(req.Context()).GetConn("a.example") // sought, and nothing written
			return nil, errors.New("dial")
		}
		return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
	})})
	for _, class := range []Class{Replayable, Once} {
		tokens = nil
		call := newCall(t, class, "https://a.example")
		call.Auth = new(auth)
		r := c.Do(t.Context(), call)
		if want := []string{"Bearer t0", "Bearer t1", "Bearer t1"}; !r.OK() || !slices.Equal(tokens, want) {
			t.Errorf("class %d: tokens %v, %+v", class, tokens, r)
		}
	}
}

func TestKeptHeader(t *testing.T) {
	t.Parallel()
	if !slices.IsSorted(keptHeaders) {
		t.Error("the headers to keep are not sorted")
	}
	h := http.Header{"Set-Cookie": {"canary"}, "Location": {"canary"}, "X-Request-Id": {"no id, canary", "id-1"}, "X-Moltin-Request-Id": {" canary"}, "Etag": {"\ncanary"}, "Server": {}}
	want := http.Header{"X-Request-Id": {"id-1"}}
	for _, key := range keptHeaders {
		if h[key] == nil {
			h.Set(key, key)
			want.Set(key, key)
		}
	}
	kept := KeptHeader(h)
	if fmt.Sprint(kept) != fmt.Sprint(want) {
		t.Errorf("kept %v, want %v", kept, want)
	}
	kept["Date"][0] = "changed"
	if h.Get("Date") == "changed" {
		t.Error("the values are those of the answer")
	}
}
