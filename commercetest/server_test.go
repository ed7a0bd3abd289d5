package commercetest_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/commerce-go/commerce/commercetest"
)

func TestClose(t *testing.T) { //nolint:paralleltest // it counts goroutines
	before := runtime.NumGoroutine()
	store := commercetest.NewStore(commercetest.Config{})
	store.Close() // there is no server yet
	address := store.URL()
	wantEqual(t, "second URL", store.URL(), address)

	hc := &http.Client{Transport: &http.Transport{}}
	fetch := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+settingsPath, nil)
		if err != nil {
			return err
		}
		resp, err := hc.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	// Close must end a request that would take an hour.
	store.Inject(commercetest.Fault{Delay: time.Hour})
	result := make(chan error)
	go func() { result <- fetch() }()
	for len(store.Requests()) == 0 { // until the request has arrived
		select {
		case err := <-result:
			t.Fatal(err)
		default:
		}
	}
	store.Close()
	if err := <-result; err == nil {
		t.Error("request during Close: error = nil, want one")
	}
	store.Close()
	_ = fetch() // another process may have got the port, and respond
	wantEqual(t, "requests", len(store.Requests()), 1)
	hc.CloseIdleConnections()
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			t.Fatalf("%d goroutines after Close, want %d:\n%s", runtime.NumGoroutine(), before, stacks)
		}
	}
	for _, sender := range senders { // the loopback sender starts a new server
		resp, err := sender.send(t, store, get(settingsPath))
		if err != nil || resp.Status != http.StatusOK {
			t.Errorf("%s after Close: status %d, error %v; want 200, nil", sender.name, resp.Status, err)
		}
	}
}

// Over HTTP/2, a browser gets an informational response.
func TestServeHTTP_lostResponseHTTP2(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]int{"Go": 0, "Mozilla/5.0": http.StatusProcessing} {
		store := commercetest.New(t, commercetest.Config{})
		store.Inject(commercetest.Fault{Cut: true})
		server := httptest.NewUnstartedServer(store)
		server.EnableHTTP2 = true
		server.StartTLS()
		got := 0
		trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
			got = code
			return nil
		}}
		ctx := httptrace.WithClientTrace(t.Context(), trace)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/v2/carts", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", agent)
		resp, err := server.Client().Do(req)
		if err == nil {
			t.Errorf("%s: status %d, want an error", agent, resp.StatusCode)
			_ = resp.Body.Close()
		}
		server.Close()
		wantEqual(t, agent, got, want)
		wantEqual(t, agent+": requests", len(store.Requests()), 1)
	}
}

// A browser sends a request again on its own if the connection ends before a response: it gets the
// byte H first. Everybody else gets nothing.
func TestServeHTTP_lostResponse(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"": "", "User-Agent: curl/8": "", "User-Agent: Mozilla/5.0": "H", "Sec-Fetch-Mode: cors": "H",
		"Sec-Fetch-Site: same-origin": "H", "Origin: http://shop.example": "H",
	} {
		store := commercetest.New(t, commercetest.Config{})
		cart := store.AddCart()
		store.Inject(commercetest.Fault{Operation: commercetest.OpDeleteCart, Apply: true, Cut: true})
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(store.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(conn, "DELETE /v2/carts/%s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n%s\r\n\r\n",
			cart, commercetest.DefaultToken, header)
		got, err := io.ReadAll(conn)
		_ = conn.Close()
		if string(got) != want || err != nil || len(store.Carts()) != 0 {
			t.Errorf("%q: got %q, %v, want %q; carts %v", header, got, err, want, store.Carts())
		}
	}
}
