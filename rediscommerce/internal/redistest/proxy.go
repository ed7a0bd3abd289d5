package redistest

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// Proxy passes connections on to the socket of a server, until they are cut.
type Proxy struct {
	Addr string

	listener net.Listener
	running  sync.WaitGroup
	mu       sync.Mutex
	conns    map[net.Conn]bool
	refuse   bool
}

// NewProxy returns a proxy that is closed when the test ends.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), listener: l, conns: map[net.Conn]bool{}}
	p.running.Go(func() { p.accept(target) })
	t.Cleanup(func() {
		_ = l.Close()
		p.Refuse()
		p.running.Wait()
	})
	return p
}

// Cut closes all connections. New ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// Refuse closes all connections, and new ones.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	p.refuse = true
	p.mu.Unlock()
	p.Cut()
}

// Accept ends Refuse.
func (p *Proxy) Accept() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = false
}

func (p *Proxy) accept(target string) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(context.Background(), "unix", target)
		if err != nil || !p.add(client, server) {
			_ = client.Close()
			if server != nil {
				_ = server.Close()
			}
			continue
		}
		p.running.Go(func() { p.pass(client, server) })
		p.running.Go(func() { p.pass(server, client) })
	}
}

// add reports whether connections are accepted.
func (p *Proxy) add(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse {
		return false
	}
	p.conns[client], p.conns[server] = true, true
	return true
}

func (p *Proxy) pass(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, from)
	delete(p.conns, to)
}
