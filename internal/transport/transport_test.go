package transport

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

func TestNew_ownTransport(t *testing.T) {
	t.Parallel()
	own, ok := New(nil).base().(*http.Transport)
	if !ok || own != New(&http.Client{}).base() {
		t.Fatal("New(nil) and New(&http.Client{}) do not share the library's transport")
	}
	for name, ok := range map[string]bool{
		"TLS 1.2":           own.TLSClientConfig.MinVersion == tls.VersionTLS12,
		"limit of a header": own.MaxResponseHeaderBytes == maxHeader,
		"idle connections":  own.MaxIdleConnsPerHost == maxIdleConns,
		"proxy":             own.Proxy != nil,
		"HTTP/2":            own.ForceAttemptHTTP2,
		"pings":             own.HTTP2 != nil && own.HTTP2.SendPingTimeout > 0 && own.HTTP2.PingTimeout > 0,
	} {
		if !ok {
			t.Errorf("%s: not as wanted in %+v", name, own)
		}
	}
}

func TestDo_notSent(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(srv.Close)
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	// Nothing listens on the local port of a connection, and the kernel chooses it for no listener.
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	r := newClient(t).Do(t.Context(), newCall(t, Once, "http://"+conn.LocalAddr().String()))
	if r.StatusCode != 0 || r.MaybeSent || r.Attempts != 3 || !errors.Is(r.Err, syscall.ECONNREFUSED) {
		t.Errorf("connection refused: %+v, want ECONNREFUSED after 3 attempts", r)
	}
	r = newClient(t).Do(t.Context(), newCall(t, Once, srv.URL))
	if _, ok := errors.AsType[*tls.CertificateVerificationError](r.Err); !ok || r.MaybeSent || r.StatusCode != 0 {
		t.Errorf("unknown authority: %+v, want a CertificateVerificationError", r)
	}
}

func TestDo_brokenResponses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		response  string
		repeat    string // sent after response until the client closes the connection
		status    int
		maybeSent bool // of a Once call
		attempts  int  // of a Replayable call
	}{
		{name: "closed before the first byte", maybeSent: true, attempts: 3},
		{name: "closed in the status line", response: "HTTP/1.1 20", maybeSent: true, attempts: 3},
		{name: "not HTTP", response: "SSH-2.0-x\r\n\r\n", maybeSent: true, attempts: 3},
		{name: "status 000", response: "HTTP/1.1 000 X\r\nContent-Length: 0\r\n\r\n", maybeSent: true, attempts: 3},
		{name: "closed in the header", response: "HTTP/1.1 200 OK\r\nX", maybeSent: true, attempts: 3},
		{name: "closed in the body", status: 200, attempts: 3,
			response: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"},
		{name: "closed in a chunk", status: 200, attempts: 3,
			response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}"},
		{name: "closed in the body of an error", status: 404, attempts: 1,
			response: "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\n{}"},
		{name: "status 101", status: 101, attempts: 1,
			response: "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nraw"},
		{name: "endless header", maybeSent: true, attempts: 3,
			response: "HTTP/1.1 200 OK\r\n", repeat: "X: " + strings.Repeat("x", 1<<20) + "\r\n"},
		{name: "endless 1xx", maybeSent: true, attempts: 3,
			repeat: "HTTP/1.1 103 Early Hints\r\nX: " + strings.Repeat("x", 1000) + "\r\n\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			address := rawServer(t, func(conn net.Conn, _ string) {
				requests.Add(1)
				send(conn, tt.response)
				for open := tt.repeat != ""; open; {
					open = send(conn, tt.repeat)
				}
			})
			c := newClient(t)
			r := c.Do(t.Context(), newCall(t, Once, address))
			if n := requests.Swap(0); n != 1 || r.Attempts != 1 || r.StatusCode != tt.status ||
				r.MaybeSent != tt.maybeSent || r.Err == nil {
				t.Errorf("Once: %d requests, %+v, want 1 request, status %d, MaybeSent %v and an error",
					n, r, tt.status, tt.maybeSent)
			}
			r = c.Do(t.Context(), newCall(t, Replayable, address))
			if n := int(requests.Load()); n != tt.attempts || r.Attempts != tt.attempts || r.StatusCode != tt.status ||
				r.OK() {
				t.Errorf("Replayable: %d requests, %+v, want %d requests and status %d", n, r, tt.attempts, tt.status)
			}
		})
	}
}
