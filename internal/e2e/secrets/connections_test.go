package secrets_test

import (
	"bufio"
	"context"
	"crypto/tls"
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

// closedPort returns an address on which nothing listens: that of the client of a connection. As
// long as the connection is open, the kernel chooses its port for no listener.
func closedPort(t *testing.T) string {
	t.Helper()
	l := listen(t)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = conn.Close(), l.Close() })
	return conn.LocalAddr().String()
}

// Responses that are not HTTP, or nearly not.
func TestLeaks_wire(t *testing.T) {
	t.Parallel()
	faults := map[string]fault{}
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, response := range map[string]string{
		"nothing":                  "",
		"text":                     "$TEXT",
		"status line":              "$TEXT\r\n\r\n",
		"status is a text":         "HTTP/1.1 $TEXT\r\n\r\n",
		"version is a text":        "HTTP/$TEXT 200 OK\r\n\r\n",
		"reason":                   "HTTP/1.1 500 $TEXT\r\nContent-Length: 0\r\n\r\n",
		"status below 100":         "HTTP/1.1 000 $TEXT\r\n\r\n",
		"malformed header line":    ok + "$TEXT\r\n\r\n",
		"control character in key": ok + "X-\x01$TEXT: x\r\n\r\n",
		"NUL in a header":          ok + "X-Echo: \x00$TEXT\r\n\r\n",
		"length is a text":         ok + "Content-Length: $TEXT\r\n\r\n",
		"two lengths":              ok + "Content-Length: 1\r\nContent-Length: $TEXT\r\n\r\n",
		"unknown encoding":         ok + "Transfer-Encoding: $TEXT\r\n\r\n",
		"chunk length is a text":   ok + "Transfer-Encoding: chunked\r\n\r\n$TEXT\r\n",
		"malformed trailer":        ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n$TEXT\r\n\r\n",
		"not gzip":                 ok + "Content-Encoding: gzip\r\nContent-Length: 99999\r\n\r\n$TEXT",
		"truncated body":           ok + "Content-Length: 99999\r\n\r\n\"$JSON\"",
		"truncated error":          "HTTP/1.1 404 $TEXT\r\nContent-Length: 99999\r\n\r\n" + errorsBody,
		"upgrade":                  "HTTP/1.1 101 $TEXT\r\nConnection: Upgrade\r\nUpgrade: $TEXT\r\n\r\n$TEXT",
		"redirect":                 "HTTP/1.1 307 X\r\nLocation: https://$URL/\r\nContent-Length: 0\r\n\r\n",
		"malformed redirect":       "HTTP/1.1 302 X\r\nLocation: %zz$TEXT\r\nContent-Length: 0\r\n\r\n",
		"only early hints":         "HTTP/1.1 103 X\r\nLink: <$TEXT>\r\n\r\n",
		"large headers":            ok + "X-Echo: " + strings.Repeat("$TEXT", 300) + "\r\n\r\n",
	} {
		rt := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}
		faults[name] = fault{address: "http://" + serveTCP(t, response), transport: rt}
	}
	searchFaults(t, faults)
}

// connect returns a fault of a transport.
func connect(address string, change func(*http.Transport)) fault {
	rt := &http.Transport{DisableKeepAlives: true}
	if change != nil {
		change(rt)
	}
	return fault{address: address, transport: rt}
}

func TestLeaks_dialing(t *testing.T) {
	t.Parallel()
	dial := func(err error) fault {
		return connect(base, func(rt *http.Transport) {
			rt.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, err }
		})
	}
	resolver := net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no name server")
	}}
	dialer := &net.Dialer{Resolver: &resolver}
	searchFaults(t, map[string]fault{
		"refused":  connect("http://"+closedPort(t), nil),
		"fails":    dial(errors.New(allSecrets)),
		"timeout":  dial(verboseError{"timeout " + allSecrets}),
		"resolver": connect(base, func(rt *http.Transport) { rt.DialContext = dialer.DialContext }),
		"unknown host": dial(&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{
			Err: "no such host", Name: "store.example", Server: "127.0.0.53:53", IsNotFound: true,
		}}),
	})
}

// startServer starts a server that repeats each request in its response.
func startServer(t *testing.T, start func(*httptest.Server)) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		http.Error(w, describe(req), http.StatusInternalServerError)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	start(server)
	t.Cleanup(server.Close)
	return server
}

func TestLeaks_TLS(t *testing.T) {
	t.Parallel()
	secure := startServer(t, (*httptest.Server).StartTLS)
	plain := startServer(t, (*httptest.Server).Start)
	wantsCertificate := startServer(t, func(s *httptest.Server) {
		s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
		s.StartTLS()
	})
	// trusting returns a fault of a connection to a server whose certificate is trusted.
	trusting := func(server *httptest.Server, change func(*tls.Config)) fault {
		return connect(server.URL, func(rt *http.Transport) {
			rt.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
			change(rt.TLSClientConfig)
		})
	}
	searchFaults(t, map[string]fault{
		"unknown authority":     connect(secure.URL, nil),
		"trusted":               trusting(secure, func(*tls.Config) {}),
		"wrong name":            trusting(secure, func(c *tls.Config) { c.ServerName = "other.example" }),
		"no certificate":        trusting(wantsCertificate, func(*tls.Config) {}),
		"no common version":     trusting(secure, func(c *tls.Config) { c.MinVersion, c.MaxVersion = 0, tls.VersionTLS11 }),
		"TLS to a plain server": connect(strings.Replace(plain.URL, "http:", "https:", 1), nil),
		"plain to a TLS server": connect(strings.Replace(secure.URL, "https:", "http:", 1), nil),
		"not TLS":               connect("https://"+serveTCP(t, "$TEXT"), nil),
		"the program refuses": trusting(secure, func(c *tls.Config) {
			c.VerifyConnection = func(tls.ConnectionState) error { return errors.New(allSecrets) }
		}),
	})
}

func TestLeaks_proxies(t *testing.T) {
	t.Parallel()
	junk, closed := serveTCP(t, "$TEXT"), closedPort(t)
	refusing := serveTCP(t, "HTTP/1.1 407 $TEXT\r\nProxy-Authenticate: Basic realm=\"$TEXT\"\r\n\r\n")
	through := func(scheme, host string) func(*http.Transport) {
		return func(rt *http.Transport) {
			rt.Proxy = http.ProxyURL(&url.URL{Scheme: scheme, User: url.UserPassword("user", secretProxy), Host: host})
		}
	}
	const plain = "http://store.example"
	searchFaults(t, map[string]fault{
		"HTTP, refused":     connect(base, through("http", closed)),
		"HTTP, 407":         connect(base, through("http", refusing)),
		"HTTP, 407, no TLS": connect(plain, through("http", refusing)),
		"HTTP, junk":        connect(base, through("http", junk)),
		"HTTP, junk, plain": connect(plain, through("http", junk)),
		"HTTPS, refused":    connect(base, through("https", closed)),
		"HTTPS, junk":       connect(base, through("https", junk)),
		"SOCKS, refused":    connect(base, through("socks5", closed)),
		"SOCKS, junk":       connect(base, through("socks5", junk)),
		"unknown scheme":    connect(base, through("gopher", closed)),
		"unusable address": connect(base, func(rt *http.Transport) {
			rt.Proxy = func(req *http.Request) (*url.URL, error) {
				return nil, fmt.Errorf("%s: %w", req.URL, &url.Error{Op: "parse", URL: secretProxy, Err: url.EscapeError("%")})
			}
		}),
	})
}
