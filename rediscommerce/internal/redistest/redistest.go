// Package redistest runs redis-server for tests, on a socket in a directory of their own: a port
// may be taken by another process before the server has it.
package redistest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
	Addr string // the path of its socket, or its host and port

	args  []string
	stdin io.Closer // kills the server
	shell *exec.Cmd
	pid   int
}

// Start starts a server without persistence. It fails the test if there is no redis-server.
func Start(t testing.TB) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "redis") // that of t has a long name, and that of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "socket")
	return start(t, socket, "--port", "0", "--unixsocket", socket, "--dir", dir)
}

// start starts a server that responds at addr.
func start(t testing.TB, addr string, args ...string) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatal("these tests need redis-server: run `bash .ci/redis`, or `apt-get install redis-server`")
	}
	s := &Server{Addr: addr, args: append(args, "--save", "")}
	t.Cleanup(s.Kill)
	s.run(t)
	return s
}

// run starts the process, and waits until it responds.
func (s *Server) run(t testing.TB) {
	t.Helper()
	// The shell kills the server when its input ends, as it also does when the test dies.
	script := `redis-server "$@" >/dev/null & echo $!; read _; kill -9 $!; wait`
	args := append([]string{"-c", script, "sh"}, s.args...)
	s.shell = exec.Command("sh", args...) //nolint:gosec,noctx // constants; killed by Kill
	stdin, err1 := s.shell.StdinPipe()
	stdout, err2 := s.shell.StdoutPipe()
	if err := errors.Join(err1, err2, s.shell.Start()); err != nil {
		t.Fatal(err)
	}
	s.stdin = stdin
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	s.pid, _ = strconv.Atoi(strings.TrimSpace(line))
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		c := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1, DialerRetries: 1})
		err := c.Ping(t.Context()).Err()
		_ = c.Close()
		if err == nil {
			return
		}
		if time.Since(start) > time.Minute {
			t.Fatal("redis-server does not start: ", err)
		}
	}
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
	s.run(t)
}

// Client returns a client of the server, which is closed when the test ends.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	return Client(t, s.Addr)
}

// Client returns a client for an address, which is closed when the test ends.
func Client(t testing.TB, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, DialerRetries: 1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}
