package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const storeURL = "https://store.example"

var testPolicy = Policy{
	MaxAttempts: 3, MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond, AttemptTimeout: 10 * time.Second,
}

// newCall returns a GET if class is Replayable, and a POST if it is Once.
func newCall(t *testing.T, class Class, address string) *Call {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"X-A": {"b"}, "User-Agent": {"commerce-go"}}
	c := &Call{Op: "op", Class: class, Method: http.MethodGet, URL: u, Header: header, Policy: testPolicy}
	if class == Once {
		c.Method, c.Body = http.MethodPost, []byte(`{"body":1}`)
	}
	return c
}

// stub is a custom transport that calls no httptrace hooks.
type stub func(*http.Request) (*http.Response, error)

func (s stub) RoundTrip(req *http.Request) (*http.Response, error) { return s(req) }

func (s stub) do(ctx context.Context, call *Call) *Result {
	return New(&http.Client{Transport: s}).Do(ctx, call)
}

// script is a transport that responds to the n-th attempt with the n-th status, and to later ones with the last.
// Status 0 is an error that does not prove that nothing was sent.
type script struct {
	statuses   []int
	retryAfter string
	body       string
	start      time.Time
	at         []time.Duration // when each attempt came, since start
}

func (s *script) do(ctx context.Context, call *Call) *Result {
	s.start, s.at = time.Now(), nil
	return stub(func(*http.Request) (*http.Response, error) {
		s.at = append(s.at, time.Since(s.start))
		status := s.statuses[min(len(s.at), len(s.statuses))-1]
		if status == 0 {
			return nil, errors.New("stub")
		}
		h := http.Header{}
		if s.retryAfter != "" {
			h.Set("Retry-After", s.retryAfter)
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(s.body))}, nil
	}).do(ctx, call)
}

// auth returns the tokens t0, t1 and so on.
type auth int

func (a *auth) Token(context.Context) (string, error) { return fmt.Sprint("t", int(*a)), nil }

func (a *auth) Refresh(context.Context, string) (string, error) {
	*a++
	return fmt.Sprint("t", int(*a)), nil
}

// newClient returns a client with connections of its own.
func newClient(t *testing.T) *Client {
	t.Helper()
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	return New(&http.Client{Transport: base})
}

// rawServer starts a TCP server that reads one request from each connection, calls respond, and closes the connection.
func rawServer(t *testing.T, respond func(conn net.Conn, request string)) (address string) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				respond(conn, readRequest(conn))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return "http://" + l.Addr().String()
}

// readRequest reads a request. Its body must be absent, a JSON object, or chunked and empty.
func readRequest(conn net.Conn) string {
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		b.Write(buf[:n])
		text := b.String()
		complete := func(end string) bool { return strings.HasSuffix(text, end) }
		ends := []string{"\r\n\r\n"}
		if strings.HasPrefix(text, "POST") {
			ends = []string{"}", "\r\n\r\n0\r\n\r\n"}
		}
		if err != nil || slices.ContainsFunc(ends, complete) {
			return text
		}
	}
}

// send writes text, and reports whether the connection is still open.
func send(conn net.Conn, text string) bool {
	_, err := io.WriteString(conn, text)
	return err == nil
}
