package commercetest_test

import (
	"net/http"
	"runtime"
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
