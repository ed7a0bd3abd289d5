package secrets_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// serveTCP responds to each connection with a template, expanded from the description of the
// request, and closes the connection. It returns its address.
func serveTCP(t *testing.T, template string) string {
	t.Helper()
	l := listen(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
				text := allSecrets
				r := bufio.NewReader(conn)
				if first, err := r.Peek(1); err == nil && first[0] >= 'A' && first[0] <= 'Z' { // not TLS, not SOCKS
					if req, err := http.ReadRequest(r); err == nil {
						text = describe(req)
					}
				}
				_, _ = io.WriteString(conn, expand(template, text))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Responses that are not HTTP, or nearly not.
func TestLeaks_wire(t *testing.T) {
	t.Parallel()
	faults := map[string]fault{}
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, response := range map[string]string{
		"nothing":               "",
		"text":                  "$TEXT",
		"status is a text":      "HTTP/1.1 $TEXT\r\n\r\n",
		"reason":                "HTTP/1.1 500 $TEXT\r\nContent-Length: 0\r\n\r\n",
		"malformed header line": ok + "$TEXT\r\n\r\n",
		"not gzip":              ok + "Content-Encoding: gzip\r\nContent-Length: 99999\r\n\r\n$TEXT",
		"truncated body":        ok + "Content-Length: 99999\r\n\r\n\"$JSON\"",
		"truncated error":       "HTTP/1.1 404 $TEXT\r\nContent-Length: 99999\r\n\r\n" + errorsBody,
		"upgrade":               "HTTP/1.1 101 $TEXT\r\nConnection: Upgrade\r\nUpgrade: $TEXT\r\n\r\n$TEXT",
		"redirect":              "HTTP/1.1 307 X\r\nLocation: https://$URL/\r\nContent-Length: 0\r\n\r\n",
	} {
		rt := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}
		faults[name] = fault{address: "http://" + serveTCP(t, response), transport: rt}
	}
	searchFaults(t, someCalls(), faults)
}

// connect returns a fault of a transport.
func connect(address string, change func(*http.Transport)) fault {
	rt := &http.Transport{DisableKeepAlives: true}
	if change != nil {
		change(rt)
	}
	return fault{address: address, transport: rt}
}

// refused is the error of a connection that is refused.
var refused = &net.OpError{
	Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 65443}, Err: syscall.ECONNREFUSED,
}

func TestLeaks_dialing(t *testing.T) {
	t.Parallel()
	dial := func(err error) fault {
		return connect(base, func(rt *http.Transport) {
			rt.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, err }
		})
	}
	lookup := func(err net.DNSError) fault { return dial(&net.OpError{Op: "dial", Net: "tcp", Err: &err}) }
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	// trusting returns a fault of a connection to the server, whose certificate is trusted.
	trusting := func(change func(*tls.Config)) fault {
		return connect(server.URL, func(rt *http.Transport) {
			rt.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
			change(rt.TLSClientConfig)
		})
	}
	searchFaults(t, someCalls(), map[string]fault{
		"refused":         dial(refused),
		"fails":           dial(errors.New(allSecrets)),
		"timeout":         dial(verboseError{"timeout " + allSecrets}),
		"unknown host":    lookup(net.DNSError{Err: "no such host", Name: host, Server: "127.0.0.53:53"}),
		"no name server":  lookup(net.DNSError{Err: "read udp 127.0.0.1:5->127.0.0.53:53: refused", Name: host}),
		"invalid address": dial(&net.AddrError{Err: "missing port in address", Addr: host}),
		"certificate":     dial(x509.HostnameError{Certificate: &x509.Certificate{}, Host: host}),

		"unknown authority":     connect(server.URL, nil),
		"wrong name":            trusting(func(c *tls.Config) { c.ServerName = host }),
		"plain to a TLS server": connect(strings.Replace(server.URL, "https:", "http:", 1), nil),
		"not TLS":               connect("https://"+serveTCP(t, "$TEXT"), nil),
		"the program refuses": trusting(func(c *tls.Config) {
			c.VerifyConnection = func(tls.ConnectionState) error { return errors.New(allSecrets) }
		}),
	})
}

func TestLeaks_proxies(t *testing.T) {
	t.Parallel()
	junk := serveTCP(t, "$TEXT")
	refusing := serveTCP(t, "HTTP/1.1 407 $TEXT\r\nProxy-Authenticate: Basic realm=\"$TEXT\"\r\n\r\n")
	through := func(scheme, host string) func(*http.Transport) {
		return func(rt *http.Transport) {
			rt.Proxy = http.ProxyURL(&url.URL{Scheme: scheme, User: url.UserPassword("user", secretProxy), Host: host})
			if host == "" {
				rt.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, refused }
			}
		}
	}
	const plain = "http://" + host
	searchFaults(t, someCalls(), map[string]fault{
		"HTTP, refused":     connect(base, through("http", "")),
		"HTTP, 407":         connect(base, through("http", refusing)),
		"HTTP, 407, no TLS": connect(plain, through("http", refusing)),
		"HTTP, junk":        connect(base, through("http", junk)),
		"HTTPS, junk":       connect(base, through("https", junk)),
		"SOCKS, refused":    connect(base, through("socks5", "")),
		"SOCKS, junk":       connect(base, through("socks5", junk)),
		"unknown scheme":    connect(base, through("gopher", "")),
		"unusable address": connect(base, func(rt *http.Transport) {
			rt.Proxy = func(req *http.Request) (*url.URL, error) {
				return nil, fmt.Errorf("%s: %w", req.URL, &url.Error{Op: "parse", URL: secretProxy, Err: url.EscapeError("%")})
			}
		}),
	})
}
