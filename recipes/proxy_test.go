package recipes_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/fips140"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// corporate returns a transport that trusts the certificates in caPEM, besides those
// of the machine, and sends requests through proxy. If proxy is nil, HTTPS_PROXY and
// NO_PROXY decide.
func corporate(caPEM []byte, proxy *url.URL) (*http.Transport, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	if !roots.AppendCertsFromPEM(caPEM) {
		return nil, errors.New("there is no certificate in the PEM text")
	}
	t := commerce.NewTransport() // with http.ProxyFromEnvironment
	t.TLSClientConfig.RootCAs = roots
	if proxy != nil {
		t.Proxy = http.ProxyURL(proxy)
	}
	return t, nil
}

// The certificate of the store is signed by an authority that only the company knows,
// as it is if a proxy decrypts connections.
func Example_corporateCA() {
	ctx := context.Background()
	store := serveTLS()
	defer store.Close()

	once := commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1})
	token := commerce.WithToken(commercetest.DefaultToken)
	list := func(hc *http.Client) error {
		client, err := commerce.New(store.URL, token, once, commerce.WithHTTPClient(hc))
		if err != nil {
			return err
		}
		_, err = client.Subscriptions.List(ctx, nil)
		return err
	}

	var unknown x509.UnknownAuthorityError
	fmt.Println("unknown authority:", errors.As(list(&http.Client{}), &unknown))

	transport, err := corporate(store.caPEM, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer transport.CloseIdleConnections()
	fmt.Println("error:", list(&http.Client{Transport: transport}))
	// Output:
	// unknown authority: true
	// error: <nil>
}

// A proxy that the environment does not name.
func Example_proxy() {
	ctx := context.Background()
	store := serveTLS()
	defer store.Close()
	proxy := serveProxy(store.Listener.Addr().String())
	defer proxy.Close()

	address, err := url.Parse(proxy.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	transport, err := corporate(store.caPEM, address)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer transport.CloseIdleConnections()
	client, err := commerce.New("https://store.example",
		commerce.WithToken(commercetest.DefaultToken),
		commerce.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := client.Subscriptions.List(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(page.Subscriptions), "subscriptions through", proxy.asked())
	// Output: 3 subscriptions through [store.example:443]
}

// A client without WithHTTPClient finds its proxy in the environment. net/http and
// crypto/x509 read the environment once in a process, so the test starts another one.
func TestHTTPSProxy(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SSL_CERT_FILE replaces the machine's authorities on Linux only")
	}
	store := serveTLS()
	t.Cleanup(store.Close)
	proxy := serveProxy(store.Listener.Addr().String())
	t.Cleanup(proxy.Close)
	authorities := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authorities, store.caPEM, 0o600); err != nil {
		t.Fatal(err)
	}
	process := child(t, "proxy", "HTTPS_PROXY="+proxy.URL, "SSL_CERT_FILE="+authorities, "SSL_CERT_DIR="+t.TempDir())
	out, err := process.Output()
	if err != nil {
		t.Error(err)
	}
	if got := strings.TrimSpace(string(out)); got != "3 subscriptions" {
		t.Errorf("the other process printed %q, want %q", got, "3 subscriptions")
	}
	if got := proxy.asked(); !slices.Equal(got, []string{"store.example:443"}) {
		t.Errorf("tunnels through the proxy = %q, want one to store.example:443", got)
	}
}

func init() { children["proxy"] = listOnOwnTransport }

// listOnOwnTransport lists the subscriptions of https://store.example, which only
// the proxy of the test knows.
func listOnOwnTransport() int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := commerce.New("https://store.example", commerce.WithToken(commercetest.DefaultToken))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	page, err := client.Subscriptions.List(ctx, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(len(page.Subscriptions), "subscriptions")
	return 0
}

// The transport closes an idle connection before a load balancer does, and leaves an HTTP/2
// connection that is dead within 45 s.
func TestCorporate_connections(t *testing.T) {
	t.Parallel()
	if fips140.Enabled() {
		t.Skip("with FIPS 140, the clock of a bubble has no entropy for TLS")
	}
	synctest.Test(t, func(t *testing.T) {
		fake := commercetest.NewStore(commercetest.Config{})
		caPEM, certificate := certify("store.example", net.IPv4(127, 0, 0, 1))
		transport, err := corporate(caPEM, nil)
		if err != nil {
			t.Fatal(err)
		}
		var conns pipes = make(chan net.Conn)
		server := &http.Server{Handler: fake, ReadHeaderTimeout: time.Minute, TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12,
			SessionTicketsDisabled: true, // a pipe has no buffer for the ticket
		}}
		go func() { _ = server.ServeTLS(conns, "", "") }()
		defer func() { _ = server.Close() }()
		defer transport.CloseIdleConnections()
		var dialed []*mortal
		transport.Proxy = nil
		transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			conns <- there
			dialed = append(dialed, &mortal{Conn: here})
			return dialed[len(dialed)-1], nil
		}
		client := fake.Client(commerce.WithHTTPClient(&http.Client{Transport: transport}))
		list := func(want int, limit time.Duration) {
			t.Helper()
			start := time.Now()
			_, err := client.Subscriptions.List(t.Context(), nil)
			if took := time.Since(start); err != nil || took > limit || len(dialed) != want {
				t.Fatalf("List() = %v after %v, on connection %d, want no error within %v, on connection %d",
					err, took, len(dialed), limit, want)
			}
		}
		list(1, 0)
		time.Sleep(59 * time.Second)
		list(2, 0)
		dialed[1].dead.Store(true)
		list(3, 46*time.Second) // with pauses between attempts
	})
}

// pipes is a listener whose connections are in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { close(p); return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// mortal is a connection that can die: nothing that is sent arrives, and neither end is told.
type mortal struct {
	net.Conn

	dead atomic.Bool
}

func (c *mortal) Write(b []byte) (int, error) {
	if c.dead.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func TestCorporateWithoutCertificate(t *testing.T) {
	t.Parallel()
	if _, err := corporate([]byte("not PEM"), nil); err == nil {
		t.Error("corporate() = nil, want an error for a text without a certificate")
	}
}

// tlsStore is a fake store with three subscriptions. It uses HTTPS on the loopback
// interface, with a certificate of an unknown authority.
type tlsStore struct {
	*httptest.Server
	caPEM []byte
}

func serveTLS() *tlsStore {
	fake := commercetest.NewStore(commercetest.Config{})
	fake.Seed(3)
	s := &tlsStore{Server: httptest.NewUnstartedServer(fake)}
	var certificate tls.Certificate
	s.caPEM, certificate = certify("store.example", net.IPv4(127, 0, 0, 1))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that refuse the certificate
	s.StartTLS()
	return s
}

// certify returns a new authority and a certificate that it signed. It panics if that
// fails, which needs a machine without random numbers.
func certify(name string, ip net.IP) (caPEM []byte, leaf tls.Certificate) {
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Example Company"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	check(err)
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		DNSNames: []string{name}, IPAddresses: []net.IP{ip},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, server, ca, key.Public(), caKey)
	check(err)
	caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
	return caPEM, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// proxyServer is a proxy on the loopback interface. All tunnels through it lead to
// target, so that nothing leaves the machine.
type proxyServer struct {
	*httptest.Server
	target string

	mu      sync.Mutex
	hosts   []string
	tunnels sync.WaitGroup
}

func serveProxy(target string) *proxyServer {
	p := &proxyServer{target: target}
	p.Server = httptest.NewServer(p)
	return p
}

// asked returns the hosts that clients asked for tunnels to.
func (p *proxyServer) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.hosts)
}

// Close stops the proxy, and waits until clients have closed its tunnels.
func (p *proxyServer) Close() {
	p.Server.Close()
	p.asked() // takes the lock: each Add in ServeHTTP happens before this Wait
	p.tunnels.Wait()
}

func (p *proxyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only tunnels", http.StatusMethodNotAllowed)
		return
	}
	p.mu.Lock()
	p.hosts = append(p.hosts, r.Host)
	p.tunnels.Add(1)
	p.mu.Unlock()
	defer p.tunnels.Done()
	store, err := new(net.Dialer).DialContext(r.Context(), "tcp", p.target)
	if err != nil {
		http.Error(w, "no store", http.StatusBadGateway)
		return
	}
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = store.Close()
		return
	}
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	forward := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_, _ = to.Close(), from.Close()
	}
	var directions sync.WaitGroup
	directions.Go(func() { forward(store, client) })
	directions.Go(func() { forward(client, store) })
	directions.Wait()
}
