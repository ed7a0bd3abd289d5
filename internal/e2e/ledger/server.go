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

// Server is a listener that records writes in a ledger.
type Server struct {
	ledger   *Ledger
	protocol Protocol
	listener net.Listener
	running  sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	bodiless bool // see WriteWithoutBody
	plan     []*Fault
	last     *Fault // see Last
	arrivals []Arrival
	signal   chan struct{} // closed and replaced when a fault is reached
	open     map[*Conn]bool
}

// Arrival is a request, or a connection that a fault ended before any request.
type Arrival struct {
	Fault  string
	Reused bool // not the first request on its connection
}

// Conn is a connection to a server.
type Conn struct {
	net.Conn // of HTTP: raw, or TLS over raw
	raw      *net.TCPConn
	server   *Server
	in       *bufio.Reader
	requests int
}

// Serve opens a server on the loopback interface, without faults.
func Serve(ctx context.Context, l *Ledger, p Protocol) (*Server, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		ledger: l, protocol: p, listener: listener,
		plan: []*Fault{NoFault()}, signal: make(chan struct{}), open: map[*Conn]bool{},
	}
	s.running.Go(s.accept)
	return s, nil
}

// URL returns the base address of the server.
func (s *Server) URL() string {
	if s.protocol == HTTP1 || s.protocol == H2C {
		return "http://" + s.listener.Addr().String()
	}
	return "https://" + s.listener.Addr().String()
}

// Transport returns a new transport that trusts the server.
func (s *Server) Transport() *http.Transport {
	var protocols *http.Protocols // nil: the default
	if s.protocol == H2C {
		protocols = new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
	}
	return &http.Transport{
		Protocols: protocols,
		TLSClientConfig: &tls.Config{
			RootCAs: identity().roots, MinVersion: tls.VersionTLS12,
			CurvePreferences: []tls.CurveID{tls.CurveP256}, // fast: handshakes take much of the time of a test
		},
		ForceAttemptHTTP2:      s.protocol == HTTP2,
		MaxResponseHeaderBytes: 64 << 10, // like the transport of the library
	}
}

// WriteWithoutBody makes the server treat each request as a write, also one without a body: it does
// not decode the method of an HTTP/2 request.
func (s *Server) WriteWithoutBody() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodiless = true
}

// isWrite reports whether a request is a write.
func (s *Server) isWrite(hasBody bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return hasBody || s.bodiless
}

// Plan sets the faults of the following requests, one for each request; the last one
// is for all later requests. It clears the list of arrivals.
func (s *Server) Plan(faults ...*Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan, s.arrivals = faults, nil
}

// Last returns the last fault of the plan that was used; nil if none was.
func (s *Server) Last() *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Arrivals returns what has arrived since the last call of Plan.
func (s *Server) Arrivals() []Arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Arrival(nil), s.arrivals...)
}

// Reached returns a channel that is closed when the server next reaches the stage of a
// fault.
func (s *Server) Reached() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signal
}

// Open returns how many connections are open.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// CloseConnections closes all open connections.
func (s *Server) CloseConnections() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		_ = c.raw.Close()
	}
}

// Close closes the listener and all connections, and waits for their goroutines.
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

// nextFault removes the next fault from the plan, except the last one, and returns it.
func (c *Conn) nextFault() *Fault {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.plan[0]
	s.last = f
	if len(s.plan) > 1 {
		s.plan = s.plan[1:]
	}
	s.arrivals = append(s.arrivals, Arrival{f.Name, c.requests > 0})
	c.requests++
	return f
}

// nextFaultAt is like nextFault, but returns nil if the next fault is for another stage.
func (c *Conn) nextFaultAt(stage Stage) *Fault {
	c.server.mu.Lock()
	next := c.server.plan[0].Stage
	c.server.mu.Unlock()
	if next != stage {
		return nil
	}
	return c.nextFault()
}

// reached signals that the stage of a fault is reached.
func (c *Conn) reached() {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.signal)
	s.signal = make(chan struct{})
}

func (c *Conn) serve() {
	if f := c.nextFaultAt(AtAccept); f != nil {
		c.reached()
		c.end(f.End)
		return
	}
	if c.server.protocol&anyTLS != 0 {
		config := &tls.Config{Certificates: identity().certificates, MinVersion: tls.VersionTLS12}
		if c.server.protocol == HTTP2 {
			config.NextProtos = []string{"h2"}
		}
		conn := tls.Server(c.raw, config)
		if conn.Handshake() != nil { //nolint:noctx // Server.Close ends it
			return
		}
		c.Conn = conn
	}
	if f := c.nextFaultAt(AfterTLS); f != nil {
		c.reached()
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

// end ends an exchange, and reports whether the connection stays open.
func (c *Conn) end(e End) bool {
	switch e {
	case Keep:
		return true
	case Close:
		_ = c.Conn.Close()
	case CloseTCP:
		_ = c.raw.Close()
	case Reset:
		_ = c.raw.SetLinger(0)
		_ = c.raw.Close()
	case Stall:
		_, _ = io.Copy(io.Discard, c.Conn) // until the client or Server.Close closes it
	}
	return false
}

type certificate struct {
	certificates []tls.Certificate
	roots        *x509.CertPool
}

// identity returns the self-signed certificate of all servers.
var identity = sync.OnceValue(func() certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ledger"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
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
