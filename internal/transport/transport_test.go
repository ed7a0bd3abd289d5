package transport

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestNew_ownTransport(t *testing.T) {
	t.Parallel()
	base, isOwn := New(nil).base()
	own, ok := base.(*http.Transport)
	if other, otherIsOwn := New(&http.Client{}).base(); !ok || other != base || !isOwn || !otherIsOwn {
		t.Fatal("New(nil) and New(&http.Client{}) do not share the library's transport")
	}
	for name, ok := range map[string]bool{
		"TLS 1.2":           own.TLSClientConfig.MinVersion == tls.VersionTLS12,
		"limit of a header": own.MaxResponseHeaderBytes == maxHeader,
		"idle connections":  own.MaxIdleConnsPerHost == maxIdleConns && own.MaxIdleConns == maxIdleConns,
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

// pipes is a listener whose connections are in memory.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
}

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p.conns <- &slowConn{server}
	return client, nil
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.ended); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// slowConn is a connection of a server. Its client notices a while later that it was closed.
type slowConn struct{ net.Conn }

func (c *slowConn) Close() error {
	time.AfterFunc(20*time.Millisecond, func() { _ = c.Conn.Close() })
	return c.SetDeadline(time.Now())
}

// TestOwnTransport_idle makes writes at a server that closes idle connections after 60 s, as load
// balancers do. None of them meets a connection that is being closed.
func TestOwnTransport_idle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		listener := &pipes{conns: make(chan net.Conn), ended: make(chan struct{})}
		server := &http.Server{
			IdleTimeout: time.Minute, ReadHeaderTimeout: time.Minute,
			Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		}
		go func() { _ = server.Serve(listener) }()
		own := NewTransport()
		own.DialContext, own.Proxy = listener.dial, nil
		client := New(&http.Client{Transport: own})
		call := newCall(t, Once, "http://store.example")
		writes, unknown := 0, 0
		for gap := 40 * time.Second; gap < 70*time.Second; gap += 10 * time.Millisecond {
			if r := client.Do(t.Context(), call); !r.OK() {
				unknown++
			}
			writes++
			time.Sleep(gap)
		}
		own.CloseIdleConnections()
		_ = server.Close()
		time.Sleep(time.Second)
		t.Logf("%d writes, %d of them with an unknown outcome", writes, unknown)
		if unknown > 0 {
			t.Errorf("%d of %d writes have an unknown outcome", unknown, writes)
		}
	})
}
