package transport

import (
	"crypto/tls"
	"net/http"
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
