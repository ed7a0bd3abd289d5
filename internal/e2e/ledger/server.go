package ledger

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is one listener of a store that books in a ledger.
type Server struct {
	ledger   *Ledger
	protocol Protocol
	listener net.Listener
	running  sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	plan     []*Fault
	arrivals []Arrival
	reached  int
	signal   chan struct{} // closed, and made anew, when a fault is reached
	open     map[*Conn]bool
}

// Arrival is a request, or a connection that was not let further.
type Arrival struct {
	Fault  string
	Reused bool // not the first request on its connection
}

// Conn is a connection to a server.
type Conn struct {
	net.Conn // the one to speak HTTP on
	raw      *net.TCPConn
	server   *Server
	in       *bufio.Reader
	requests int
}

// Serve opens a server on loopback. It plans no faults.
func Serve(ctx context.Context, l *Ledger, p Protocol) (*Server, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		ledger: l, protocol: p, listener: listener,
		plan: []*Fault{Clean()}, signal: make(chan struct{}), open: map[*Conn]bool{},
	}
	s.running.Go(s.accept)
	return s, nil
}

// URL returns the base address.
func (s *Server) URL() string {
	if s.protocol == HTTP1 || s.protocol == H2C {
		return "http://" + s.listener.Addr().String()
	}
	return "https://" + s.listener.Addr().String()
}

// Transport returns a transport of its own that trusts the server.
func (s *Server) Transport() *http.Transport {
	var protocols *http.Protocols // the usual ones
	if s.protocol == H2C {
		protocols = new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
	}
	return &http.Transport{
		Protocols:              protocols,
		TLSClientConfig:        &tls.Config{RootCAs: identity().roots, MinVersion: tls.VersionTLS12, CurvePreferences: []tls.CurveID{tls.X25519}}, // the fastest: much of a cell is its handshake
		ForceAttemptHTTP2:      s.protocol == HTTP2,
		MaxResponseHeaderBytes: 64 << 10, // as the library's own
	}
}

// Plan sets what becomes of the requests from now on, one fault each; the last
// holds for all that follow. It forgets what arrived before.
func (s *Server) Plan(faults ...*Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan, s.arrivals, s.reached = faults, nil, 0
}

// Arrivals returns what arrived since the last plan.
func (s *Server) Arrivals() []Arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Arrival(nil), s.arrivals...)
}

// Reached returns how many requests since the last plan came to the point of
// their fault, and a channel that is closed when another does.
func (s *Server) Reached() (int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reached, s.signal
}

// Open is how many connections are open.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// CloseConnections closes what is open, from the server's side.
func (s *Server) CloseConnections() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		_ = c.raw.Close()
	}
}

// Close closes the listener and all connections, and returns when nothing runs.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	_ = s.listener.Close()
	s.CloseConnections()
	s.running.Wait()
}

func (s *Server) accept() {
	for {
		raw, err := s.listener.Accept()
		if err != nil {
			return
		}
		c := &Conn{Conn: raw, raw: raw.(*net.TCPConn), server: s}
		s.mu.Lock()
		if s.closed {
			_ = raw.Close()
		}
		s.open[c] = true
		s.mu.Unlock()
		s.running.Go(func() {
			defer func() {
				_ = raw.Close()
				s.mu.Lock()
				delete(s.open, c)
				s.mu.Unlock()
			}()
			c.serve()
		})
	}
}

// take returns the next fault of the plan.
func (c *Conn) take() *Fault {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.plan[0]
	if len(s.plan) > 1 {
		s.plan = s.plan[1:]
	}
	s.arrivals = append(s.arrivals, Arrival{f.Name, c.requests > 0})
	c.requests++
	return f
}

// takeAt returns the next fault of the plan if it is for that stage of a
// connection, else nil.
func (c *Conn) takeAt(stage Stage) *Fault {
	c.server.mu.Lock()
	next := c.server.plan[0].Stage
	c.server.mu.Unlock()
	if next != stage {
		return nil
	}
	return c.take()
}

// reach tells those who wait that a fault is reached.
func (c *Conn) reach() {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached++
	close(s.signal)
	s.signal = make(chan struct{})
}

func (c *Conn) serve() {
	if f := c.takeAt(AtAccept); f != nil {
		c.reach()
		c.end(f.End)
		return
	}
	if c.server.protocol&anyTLS != 0 {
		config := &tls.Config{Certificates: identity().certificates, MinVersion: tls.VersionTLS12}
		if c.server.protocol == HTTP2 {
			config.NextProtos = []string{"h2"}
		}
		conn := tls.Server(c.raw, config)
		if conn.Handshake() != nil { //nolint:noctx // Close of the server ends it
			return
		}
		c.Conn = conn
	}
	if f := c.takeAt(AfterTLS); f != nil {
		c.reach()
		c.end(f.End)
		return
	}
	c.in = bufio.NewReader(c.Conn)
	if c.server.protocol&(HTTP2|H2C) != 0 {
		c.serveHTTP2()
	} else {
		c.serveHTTP1()
	}
}

// end ends an exchange and reports whether the connection goes on.
func (c *Conn) end(e End) bool {
	switch e {
	case Keep:
		return true
	case Close:
		_ = c.Conn.Close()
	case Cut:
		_ = c.raw.Close()
	case Reset:
		_ = c.raw.SetLinger(0)
		_ = c.raw.Close()
	case Stall:
		_, _ = io.Copy(io.Discard, c.Conn) // until the client goes, or the server is closed
	}
	return false
}

type certificate struct {
	certificates []tls.Certificate
	roots        *x509.CertPool
}

// identity makes the certificate of all servers, which signs itself.
var identity = sync.OnceValue(func() certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ledger"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return certificate{[]tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, roots}
})
