package transport

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"
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
		"timeouts":          own.TLSHandshakeTimeout >= time.Second && own.IdleConnTimeout >= time.Second,
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
