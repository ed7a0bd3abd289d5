package redistest

import (
	"context"
	"crypto/fips140"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

// Virtual is a server within the test, for testing/synctest: it has no sockets, and its clock is
// that of the bubble.
type Virtual struct {
	*miniredis.Miniredis

	mu     sync.Mutex
	conns  []net.Conn // the server's ends
	delay  time.Duration
	refuse bool
}

// StartVirtual starts a server that is closed when the test ends. With FIPS 140 it skips the test.
func StartVirtual(t testing.TB) *Virtual {
	t.Helper()
	if fips140.Enabled() {
		t.Skip("with FIPS 140, the clock of a bubble has no entropy for random numbers")
	}
	v := &Virtual{Miniredis: miniredis.NewMiniRedis()}
	t.Cleanup(func() {
		v.Refuse() // a dial of a command that nobody waits for must not look for the server
		v.Close()
		time.Sleep(time.Hour) // until commands that nobody waits for have given up
	})
	conn, err := v.Dial() // starts it
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	v.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
		switch cmd {
		case "INFO":
			c.WriteBulk("run_id:1\r\nmaster_replid:1\r\n")
		case "EVALSHA":
			v.mu.Lock()
			delay := v.delay
			v.mu.Unlock()
			time.Sleep(delay)
		}
		return cmd == "INFO"
	})
	return v
}

// Delay makes each script take so long before it runs.
func (v *Virtual) Delay(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.delay = d
}

// Cut closes all connections. New ones are accepted.
func (v *Virtual) Cut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.conns {
		_ = c.Close()
	}
	v.conns = nil
}

// Refuse closes all connections, and accepts none.
func (v *Virtual) Refuse() {
	v.mu.Lock()
	v.refuse = true
	v.mu.Unlock()
	v.Cut()
}

// Client returns a client with a pool of its own, which is closed when the test ends.
func (v *Virtual) Client(t testing.TB) *redis.Client {
	t.Helper()
	const addr = "127.0.0.1:1" // not a name: it would be looked up
	c := redis.NewClient(&redis.Options{
		Addr: addr, Dialer: v.dial, DialerRetries: 1,
		PoolSize: 1000, // commands that wait for a connection use timers of other bubbles
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (v *Virtual) dial(context.Context, string, string) (net.Conn, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.refuse {
		return nil, errors.New("refused")
	}
	here, there := net.Pipe()
	v.Server().ServeConn(there)
	v.conns = append(v.conns, there)
	return conn{here}, nil
}

// conn is an end of a pipe. When the other one is closed, its errors are those of a socket.
type conn struct{ net.Conn }

func (c conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = io.EOF
	}
	return n, err
}

func (c conn) SetReadDeadline(t time.Time) error {
	_ = c.Conn.SetReadDeadline(t) // the next Read fails
	return nil
}

func (c conn) SetWriteDeadline(t time.Time) error {
	_ = c.Conn.SetWriteDeadline(t) // the next Write fails
	return nil
}
