// Package redistest runs redis-server for tests, on a free port of the loopback interface.
package redistest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// go-redis logs each connection that fails, and these tests make many fail.
func init() { redis.SetLogger(silent{}) }

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// Server is a server that is killed when its test ends, or the process of the test dies.
type Server struct {
	Addr string

	dir   string
	port  string
	stdin io.Closer // kills the server
	shell *exec.Cmd
	pid   int
}

// Start starts a server without persistence. It fails the test if there is no redis-server.
func Start(t testing.TB) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatal("these tests need redis-server: run `bash .ci/redis`, or `apt-get install redis-server`")
	}
	s := &Server{dir: t.TempDir()}
	t.Cleanup(s.Kill)
	for range 20 { // another process may take the port meanwhile
		s.port = freePort(t)
		s.Addr = "127.0.0.1:" + s.port
		if s.run(t) {
			return s
		}
	}
	t.Fatal("redis-server does not start")
	return nil
}

// freePort returns a port that the system does not give to outgoing connections, so that it stays
// free while the server restarts.
func freePort(t testing.TB) string {
	t.Helper()
	for {
		port := strconv.Itoa(20_000 + rand.N(12_000)) //nolint:gosec // no secret
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		_ = l.Close()
		return port
	}
}

// run starts the process, and reports whether it accepts connections.
func (s *Server) run(t testing.TB) bool {
	t.Helper()
	// The shell kills the server when its input ends, as it also does when the test dies.
	script := `redis-server "$@" >/dev/null & echo $!; read _; kill -9 $!; wait`
	args := []string{"-c", script, "sh", "--port", s.port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", ""}
	s.shell = exec.Command("sh", args...) //nolint:gosec,noctx // constants; killed by Kill
	stdin, err1 := s.shell.StdinPipe()
	stdout, err2 := s.shell.StdoutPipe()
	if err1 != nil || err2 != nil || s.shell.Start() != nil {
		t.Fatal("the shell does not start")
	}
	s.stdin = stdin
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	s.pid, _ = strconv.Atoi(strings.TrimSpace(line))
	for start := time.Now(); time.Since(start) < 10*time.Second; time.Sleep(5 * time.Millisecond) {
		if s.owned(t.Context()) {
			return true
		}
	}
	s.Kill()
	return false
}

// owned reports whether the process itself responds at the address.
func (s *Server) owned(ctx context.Context) bool {
	c := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1, DialerRetries: 1})
	defer func() { _ = c.Close() }()
	info, err := c.Info(ctx, "server").Result()
	return err == nil && strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", s.pid)) && c.Ping(ctx).Err() == nil
}

// Kill kills the server at once, without saving anything.
func (s *Server) Kill() {
	if s.stdin != nil {
		_ = s.stdin.Close()
		_ = s.shell.Wait()
		s.stdin = nil
	}
}

// Restart kills the server, and starts it again at the same address. It loads what SAVE wrote.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Kill()
	if !s.run(t) {
		t.Fatal("redis-server does not start again")
	}
}

// Client returns a client of the server, which is closed when the test ends.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	return Client(t, s.Addr)
}

// Client returns a client with short timeouts for an address, which is closed when the test ends.
func Client(t testing.TB, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: addr, DialTimeout: time.Second, ReadTimeout: time.Second, DialerRetries: 1,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}
