package timing_test

import (
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/commerce-go/commerce/internal/e2e/calls"
	"github.com/commerce-go/commerce/internal/transport"
)

// load is what clients, each with a gate of its own, send to a store without an end.
type load struct {
	clients, operations, workers int // workers of each operation
	latency                      time.Duration
	header                       []string // Retry-After of a 429
	allow                        func(at time.Duration) bool

	mu              sync.Mutex
	refused, failed int
	usedUp          int         // of failed: calls that were refused twelve times
	served          map[int]int // by the second since the start
}

// run sends requests for d.
func (l *load) run(t *testing.T, d time.Duration) {
	t.Helper()
	l.served = map[int]int{}
	start := time.Now()
	send := func(req *http.Request) (*http.Response, error) {
		return after(l.latency, func(req *http.Request) (*http.Response, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if at := time.Since(start); l.allow(at) {
				l.served[int(at.Seconds())]++
				return body(http.StatusOK, "{}")(req)
			}
			l.refused++
			return status(http.StatusTooManyRequests, l.header...)(req)
		})(req)
	}
	address := &url.URL{Scheme: "https", Host: "store.example", Path: "/"}
	var wg sync.WaitGroup
	for range l.clients {
		gate, c := transport.NewGate(), transport.New(&http.Client{Transport: calls.Transport(send)})
		for n := range l.operations * l.workers {
			wg.Go(func() {
				for time.Since(start) < d {
					r := c.Do(t.Context(), &transport.Call{
						Op: fmt.Sprint(n % l.operations), Method: http.MethodGet, URL: address, Header: http.Header{}, Gate: gate,
						Policy: transport.Policy{
							MaxAttempts: 4, MaxRefusals: 12, MaxBackoff: 20 * time.Second, AttemptTimeout: time.Minute,
						},
					})
					if !r.OK() {
						l.mu.Lock()
						if l.failed++; r.Attempts == 12 {
							l.usedUp++
						}
						l.mu.Unlock()
						time.Sleep(time.Second) // some fail at once
					}
				}
			})
		}
	}
	wg.Wait()
}

// A store that refuses everything for a while, without a Retry-After, fails no call.
func TestGate_outage(t *testing.T) {
	t.Parallel()
	const fast, slow = 20 * time.Millisecond, 80 * time.Millisecond
	for _, tt := range []struct{ dark, latency time.Duration }{
		{time.Second, slow}, {3 * time.Second, slow}, {10 * time.Second, fast}, {10 * time.Second, slow},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &load{clients: 1, operations: 1, workers: 8, latency: tt.latency, allow: func(at time.Duration) bool {
				return at < 10*time.Second || at > 10*time.Second+tt.dark
			}}
			l.run(t, 30*time.Second)
			t.Logf("%v: %d refused, %d failed", tt, l.refused, l.failed)
			if l.failed > 0 || l.refused > 40 {
				t.Errorf("%v: %d refused, %d failed, want at most 40 and 0", tt, l.refused, l.failed)
			}
		})
	}
}

// A limit that falls to a fiftieth for 30 s, and rises again, is used again half a minute later.
func TestGate_recovery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		high, low := rate.NewLimiter(100, 25), rate.NewLimiter(2, 1)
		l := &load{clients: 1, operations: 1, workers: 8, latency: 20 * time.Millisecond, allow: func(at time.Duration) bool {
			if at > 30*time.Second && at < time.Minute {
				return low.Allow()
			}
			return high.Allow()
		}}
		l.run(t, 100*time.Second)
		t.Logf("served in seconds 50, 70, 80 and 90: %d, %d, %d, %d", l.served[50], l.served[70], l.served[80], l.served[90])
		if l.served[90] < 70 || l.failed > 0 {
			t.Errorf("%d served in a second, %d failed, want at least 70 and 0", l.served[90], l.failed)
		}
	})
}

// Eight operations share the limit of a store, and do not press it. As they know nothing of each
// other, a call may be refused twelve times by chance, about once in 100,000. No other call fails.
func TestGate_operations(t *testing.T) {
	t.Parallel()
	for _, limit := range limits {
		synctest.Test(t, func(t *testing.T) {
			allow := limit.new(25)
			l := &load{clients: 1, operations: 8, workers: 8, latency: 20 * time.Millisecond,
				allow: func(time.Duration) bool { return allow() }}
			l.run(t, 30*time.Second)
			refused := float64(l.refused) / 30
			t.Logf("%s: %.1f refused a second, %d failed", limit.name, refused, l.failed)
			if refused > 14 || l.failed > l.usedUp || l.usedUp > 1 {
				t.Errorf("%s: %.1f refused a second, %d failed, %d of them after twelve refusals, want at most 14, 1 and 1",
					limit.name, refused, l.failed, l.usedUp)
			}
		})
	}
}

// 50 clients do not starve each other at a store that counts what it refuses, with a Retry-After.
func TestGate_busyHerd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		allow := busyWindow(25)
		l := &load{clients: 50, operations: 1, workers: 1, latency: 20 * time.Millisecond, header: []string{"1"},
			allow: func(time.Duration) bool { return allow() }}
		l.run(t, time.Minute)
		served := 0
		for _, n := range l.served {
			served += n
		}
		t.Logf("%.1f served and %.1f refused a second, %d failed", float64(served)/60, float64(l.refused)/60, l.failed)
		if served < 60*7 {
			t.Errorf("%d served in a minute, want at least %d", served, 60*7)
		}
	})
}
