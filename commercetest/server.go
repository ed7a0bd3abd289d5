package commercetest

import (
	"context"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// server is the listener of a store on the loopback interface.
type server struct {
	http       http.Server
	url        string
	acceptLoop sync.WaitGroup
	conns      sync.WaitGroup
	cancel     context.CancelFunc // ends the delays of faults
}

// URL returns the address of the store on the loopback interface, such as
// "http://127.0.0.1:40123". The first call starts a server, which runs until
// [Store.Close]. URL panics if it cannot listen.
func (s *Store) URL() string {
	s.serverMu.Lock()
	defer s.serverMu.Unlock()
	if s.server != nil {
		return s.server.url
	}
	ctx, cancel := context.WithCancel(context.Background())
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		panic("commercetest: " + err.Error())
	}
	srv := &server{url: "http://" + l.Addr().String(), cancel: cancel}
	srv.http.Handler = s
	srv.http.ReadHeaderTimeout = time.Minute
	srv.http.BaseContext = func(net.Listener) context.Context { return ctx }
	srv.http.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew { // reported by the accept loop
			srv.conns.Add(1)
		}
		if state == http.StateClosed || state == http.StateHijacked { // by endWithoutResponse, which closes it
			srv.conns.Done()
		}
	}
	srv.acceptLoop.Go(func() { _ = srv.http.Serve(l) })
	s.server = srv
	return srv.url
}

// Close stops the server that [Store.URL] started: it closes all connections and
// waits for the requests in progress. It cancels late writes (see [Fault]) that are
// not applied yet, and waits for their goroutines. The store can still be used over
// [Store.Transport], and URL starts a new server at another address.
func (s *Store) Close() {
	s.serverMu.Lock()
	defer s.serverMu.Unlock()
	if s.server != nil {
		s.server.cancel()
		_ = s.server.http.Close()
		s.server.acceptLoop.Wait() // no new connections after this
		s.server.conns.Wait()
		s.server = nil
	}
	s.cancelLateWrites()
}

// ServeHTTP handles a request. If a [Fault] cuts the connection, it panics with
// [http.ErrAbortHandler], as [http.Handler] documents. A browser gets the begin of what is no
// response first: otherwise it sends the request again on its own, a POST too.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in, err := newRequest(r)
	if err != nil {
		panic(http.ErrAbortHandler) // the client has gone before it sent the whole request
	}
	resp, err := s.respond(r.Context(), in)
	if err != nil {
		endWithoutResponse(w, r)
	}
	maps.Copy(w.Header(), resp.header)
	w.WriteHeader(resp.status)
	_, _ = w.Write(resp.sent())
	if resp.cutAfter == 0 {
		return
	}
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// endWithoutResponse closes the connection of a request. It panics, as ServeHTTP says.
func endWithoutResponse(w http.ResponseWriter, r *http.Request) {
	h := r.Header
	isOfBrowser := strings.HasPrefix(h.Get("User-Agent"), "Mozilla/") ||
		h.Get("Sec-Fetch-Mode")+h.Get("Sec-Fetch-Site")+h.Get("Origin") != ""
	switch {
	case !isOfBrowser:
	case r.ProtoMajor > 1:
		w.WriteHeader(http.StatusProcessing) // Firefox sends it again without
	default:
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = conn.Write([]byte("H"))
			_ = conn.Close()
		}
	}
	panic(http.ErrAbortHandler)
}
