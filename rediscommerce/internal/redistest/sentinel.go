package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Group is a master with a replica, which a sentinel promotes soon after the master has died.
type Group struct {
	Master, Replica, sentinel *Server
}

// StartGroup starts a group. If it is not synced, the replica has no data of the master.
func StartGroup(t testing.TB, synced bool) *Group {
	t.Helper()
	delay := "0"
	if !synced {
		delay = "3600"
	}
	g := &Group{Master: startTCP(t, "--repl-diskless-sync-delay", delay)}
	host, port, _ := net.SplitHostPort(g.Master.Addr)
	g.Replica = startTCP(t, "--replicaof", host+" "+port)
	const wait = time.Minute
	for start := time.Now(); synced && g.Replica.Client(t).DBSize(t.Context()).Val() == 0; {
		must(t, g.Master.Client(t).Set(t.Context(), "synced", "true", 0).Err())
		if time.Since(start) > wait {
			t.Fatal("the replica gets no data")
		}
	}
	config := filepath.Join(t.TempDir(), "sentinel.conf") // it writes to it
	text := fmt.Sprintf("sentinel monitor group %s %s 1\nsentinel down-after-milliseconds group 500\n", host, port)
	must(t, os.WriteFile(config, []byte(text), 0o600))
	g.sentinel = startTCP(t, config, "--sentinel")
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: g.sentinel.Addr})
	defer func() { _ = sentinel.Close() }()
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if replicas, err := sentinel.Replicas(t.Context(), "group").Result(); err == nil && len(replicas) == 1 {
			return g
		}
		if time.Since(start) > wait {
			t.Fatal("the sentinel finds no replica")
		}
	}
}

// Client returns a client of the master of the group, which is closed when the test ends.
func (g *Group) Client(t testing.TB) redis.UniversalClient {
	t.Helper()
	c := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "group", SentinelAddrs: []string{g.sentinel.Addr}, DialerRetries: 1,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// startTCP starts a server on a port of the loopback interface.
func startTCP(t testing.TB, args ...string) *Server {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	addr := l.Addr().(*net.TCPAddr)
	must(t, l.Close())
	return start(t, addr.String(), append(args, "--port", strconv.Itoa(addr.Port), "--bind", "127.0.0.1",
		"--dir", t.TempDir())...)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
