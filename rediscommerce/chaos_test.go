//go:build unix

package rediscommerce_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/rediscommerce/internal/redistest"
)

// ledger is a store that records when writes to carts begin and end.
type ledger struct {
	store *commercetest.Store

	mu       sync.Mutex
	writes   []*write
	inFlight map[string][]*write  // by cart
	killed   map[string]time.Time // by process: when it was about to be killed
}

type write struct {
	cart       string
	process    string
	begin, end time.Time // end is zero while it is in flight
	overlaps   []*write  // that were in flight when this one began
}

// ServeHTTP implements [http.Handler].
func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		l.store.ServeHTTP(w, r)
		return
	}
	in := l.beginWrite(strings.Split(r.URL.Path, "/")[3], r.Header.Get(processHeader))
	end := sync.OnceFunc(func() { l.endWrite(in) })
	defer end() // also if the store cuts the connection
	l.store.ServeHTTP(&responseWriter{w, end}, r)
}

// responseWriter notices the beginning of the response: the client may begin its next write when
// it has read the last byte, which may be before the handler returns.
type responseWriter struct {
	http.ResponseWriter
	end func()
}

func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *responseWriter) WriteHeader(status int) {
	w.end()
	w.ResponseWriter.WriteHeader(status)
}

func (l *ledger) beginWrite(cart, process string) *write {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := &write{cart: cart, process: process, begin: time.Now(), overlaps: slices.Clone(l.inFlight[cart])}
	l.writes = append(l.writes, in)
	l.inFlight[cart] = append(l.inFlight[cart], in)
	return in
}

func (l *ledger) endWrite(in *write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in.end = time.Now()
	l.inFlight[in.cart] = slices.DeleteFunc(l.inFlight[in.cart], func(other *write) bool { return other == in })
}

// kill kills a process. Its writes are abandoned from then on.
func (l *ledger) kill(name string, p *process) {
	l.mu.Lock()
	l.killed[name] = time.Now()
	l.mu.Unlock()
	_ = p.cmd.Process.Kill()
}

// abandoned reports whether the process of a write was killed while it was in flight.
func (l *ledger) abandoned(in *write) bool {
	killed, ok := l.killed[in.process]
	return ok && !in.end.Before(killed)
}

// result counts the writes that overlapped, and those of them of which one was abandoned.
func (l *ledger) result() (overlaps, abandoned int) {
	for _, in := range l.writes {
		for _, other := range in.overlaps {
			if l.abandoned(in) || l.abandoned(other) {
				abandoned++
			} else {
				overlaps++
			}
		}
	}
	return overlaps, abandoned
}

// injectFaults lets a third of the writes fail, and makes all take a while.
func injectFaults(s *commercetest.Store) {
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for range 1000 {
		fault := commercetest.Fault{Delay: rand.N(40 * time.Millisecond)}
		switch r.IntN(9) {
		case 0:
			fault.Status = http.StatusServiceUnavailable
		case 1:
			fault.Status, fault.Apply = http.StatusBadGateway, true
		case 2:
			fault.Cut, fault.Apply = true, true
		default:
		}
		fault.Match = func(in commercetest.Request) bool { return in.Method != http.MethodGet }
		s.Inject(fault)
	}
}

// Four processes put discounts on the same carts, requests fail, processes are killed, and their
// connections to the server are cut. No two writes to a cart are in flight at a time.
func TestChaos(t *testing.T) {
	t.Parallel()
	duration := durationOf(t, "CHAOS", 8*time.Second)
	const expiry = 2 * time.Second // so that a delay of a busy machine is no overlap
	server := redistest.Start(t)
	open(t, server.Client(t))
	proxy := redistest.NewProxy(t, server.Addr)
	store := commercetest.New(t, commercetest.Config{
		DiscountsEnabled: true, CartDiscountLimit: 100, LoseOverlappingWrites: true,
	})
	injectFaults(store)
	l := &ledger{store: store, inFlight: map[string][]*write{}, killed: map[string]time.Time{}}
	front := httptest.NewServer(l)
	t.Cleanup(front.Close)
	carts := []string{store.AddCart(commerce.CartItemRef{}), store.AddCart(commerce.CartItemRef{})}

	end := time.Now().Add(duration)
	goesOn := func() bool { return time.Now().Before(end) || time.Now().Before(end.Add(time.Minute)) && !l.enough() }
	var running sync.WaitGroup
	outcomes := &counter{counts: map[string]int{}}
	for number := range 4 {
		running.Go(func() {
			for life := 0; goesOn() && !t.Failed(); life++ {
				cfg := childConfig{
					Mode: "chaos", Redis: proxy.Addr, Store: front.URL, Carts: carts, Expiry: expiry, Seed: rand.Uint64(),
					Name: fmt.Sprintf("%d-%d", number, life), NoLock: os.Getenv("CHAOS_NO_LOCK") != "",
				}
				l.live(start(t, cfg), cfg.Name, outcomes)
			}
		})
	}
	for goesOn() {
		time.Sleep(300 * time.Millisecond)
		proxy.Cut()
	}
	running.Wait()
	front.Close() // waits for the last writes

	enough := l.enough()
	l.mu.Lock()
	defer l.mu.Unlock()
	overlaps, abandoned := l.result()
	t.Logf("%d writes by %d processes, the process changed %d times; %d overlapped, and %d that a killed process "+
		"had abandoned; outcomes %v", len(l.writes), len(l.killed), l.turns(), overlaps, abandoned, outcomes.counts)
	if overlaps > 0 {
		t.Errorf("%d writes to a cart overlapped, want none", overlaps)
	}
	if !enough {
		t.Error("too few writes, kills or changes of the process: the test proves nothing")
	}
	checkCarts(t, store, carts)
}

// live reads the output of a process, and kills it after a while.
func (l *ledger) live(p *process, name string, outcomes *counter) {
	timer := time.AfterFunc(time.Second+rand.N(5*time.Second), func() { l.kill(name, p) })
	defer timer.Stop()
	for p.lines.Scan() {
		outcomes.add(p.lines.Text())
	}
}

// enough reports whether the test proves something.
func (l *ledger) enough() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.writes) >= 50 && l.turns() >= 5 && len(l.killed) >= 4
}

// turns counts how often a cart was written to by another process than before.
func (l *ledger) turns() (n int) {
	last := map[string]string{}
	for _, in := range l.writes {
		if last[in.cart] != "" && last[in.cart] != in.process {
			n++
		}
		last[in.cart] = in.process
	}
	return n
}

// checkCarts checks that one more call leaves each discount on the cart exactly once.
func checkCarts(t *testing.T, store *commercetest.Store, carts []string) {
	t.Helper()
	for _, cart := range carts {
		var err error
		for range 1001 { // until all faults are used up
			if _, err = store.Client().Carts.EnsureCustomDiscounts(t.Context(), cart, wanted(3),
				&commerce.EnsureCustomDiscountsOptions{Update: true, Settle: -1}); err == nil {
				break
			}
		}
		counts := map[string]int{}
		for _, d := range store.Discounts(cart) {
			counts[d.ExternalID]++
		}
		for i := range 3 {
			if name := "wanted-" + strconv.Itoa(i); err != nil || counts[name] != 1 || len(counts) != 3 {
				t.Errorf("the cart has %d of %s among %v (%v), want 1 and no other", counts[name], name, counts, err)
			}
		}
	}
}

type counter struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *counter) add(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[text]++
}
