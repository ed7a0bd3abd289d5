package ensure_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// sharedLock is a Locker for the goroutines of a process.
type sharedLock struct {
	lease time.Duration // after which a lock is lost; 0: never
	mu    sync.Mutex
	locks map[string]chan struct{}
}

func newSharedLock(lease time.Duration) *sharedLock {
	return &sharedLock{lease: lease, locks: map[string]chan struct{}{}}
}

func (l *sharedLock) Lock(ctx context.Context, key string) (context.Context, func(), error) {
	l.mu.Lock()
	lock, ok := l.locks[key]
	if !ok {
		lock = make(chan struct{}, 1)
		l.locks[key] = lock
	}
	l.mu.Unlock()
	select {
	case lock <- struct{}{}:
		if l.lease == 0 {
			return context.Background(), func() { <-lock }, nil
		}
		held, cancel := context.WithTimeout(context.Background(), l.lease)
		release := sync.OnceFunc(func() { <-lock })
		context.AfterFunc(held, release)
		return held, func() { cancel(); release() }, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// lockServer lends the locks of a process to others. A lock is held for as long as its
// connection is open, so one that belonged to a killed process is free again.
type lockServer struct {
	*sharedLock
	listener net.Listener
	running  sync.WaitGroup
}

func newLockServer(t *testing.T, lease time.Duration) *lockServer {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &lockServer{sharedLock: newSharedLock(lease), listener: listener}
	s.running.Go(s.accept)
	return s
}

// close returns when all connections are closed by their clients.
func (s *lockServer) close() {
	_ = s.listener.Close()
	s.running.Wait()
}

func (s *lockServer) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.running.Go(func() { s.serve(conn) })
	}
}

func (s *lockServer) serve(conn net.Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	in := bufio.NewReader(conn)
	key, err := in.ReadString('\n')
	if err == nil {
		s.running.Go(func() {
			_, _ = in.ReadByte() // until the client or this function closes the connection
			cancel()
		})
		if held, unlock, err := s.Lock(ctx, key); err == nil {
			_, _ = conn.Write([]byte("\n"))
			select {
			case <-ctx.Done():
			case <-held.Done():
			}
			unlock()
		}
	}
	_ = conn.Close()
	cancel()
}

// remoteLock is a Locker that borrows the locks of the lockServer with this address.
type remoteLock string

func (address remoteLock) Lock(ctx context.Context, key string) (context.Context, func(), error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", string(address))
	if err != nil {
		return nil, nil, err
	}
	disconnect := func() { _ = conn.Close() }
	stop := context.AfterFunc(ctx, disconnect)
	defer stop()
	if _, err = conn.Write([]byte(key + "\n")); err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	if err != nil || !stop() {
		disconnect()
		return nil, nil, errors.Join(err, ctx.Err())
	}
	held, lose := context.WithCancel(context.Background())
	go func() {
		_, _ = conn.Read(make([]byte, 1)) // until either side closes the connection
		lose()
	}()
	return held, disconnect, nil
}
