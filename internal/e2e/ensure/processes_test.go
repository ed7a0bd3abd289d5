package ensure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// TestChaos_processes lets several processes call EnsureCustomDiscounts on the same carts,
// while requests fail, another program adds copies, and processes are killed. When all that has
// ended, a single call must leave each wanted discount on its cart exactly once.
func TestChaos_processes(t *testing.T) {
	t.Parallel()
	duration, seed := settings(t)
	t.Logf("CHAOS_SEED=%d", seed)
	var n totals
	start := time.Now()
	for ; time.Since(start) < duration && !t.Failed(); n.rounds++ {
		r := rand.New(rand.NewPCG(seed, uint64(n.rounds)))
		(&round{t: t, scenario: newScenario(r), totals: &n}).run(r)
	}
	t.Logf("CHAOS_SEED=%d: %d rounds in %v with %d requests and %d kills; the last calls changed %d discounts",
		seed, n.rounds, time.Since(start).Round(time.Millisecond), n.requests, n.kills.Load(), n.changes)
	if duration >= 10*time.Second && (n.kills.Load() == 0 || n.changes == 0) {
		t.Error("got no kill, or the last calls had nothing to change: the test proves nothing")
	}
}

// totals counts what happened in TestChaos_processes.
type totals struct {
	rounds, requests int
	kills            atomic.Int64
	changes          int // by the last calls on each cart
}

// round is a part of TestChaos_processes with its own store.
type round struct {
	t *testing.T
	scenario
	*totals
	store *commercetest.Store
	carts []cart
	url   string // of the store
}

func (rd *round) run(r *rand.Rand) {
	rd.store = commercetest.NewStore(rd.config())
	defer rd.store.Close()
	for range 1 + r.IntN(3) {
		c := newCart(rd.store, r)
		if rd.Update {
			changed := onCart(c.Want[0])
			changed.Description = "Winter sale"
			rd.store.AddDiscount(c.ID, changed)
		}
		rd.carts = append(rd.carts, c)
	}
	rd.url = rd.store.URL()
	injectRandomFaults(rd.store, rand.New(rand.NewPCG(r.Uint64(), 0)))
	ctx, cancel := context.WithTimeout(rd.t.Context(), time.Second+time.Duration(r.IntN(500))*time.Millisecond)
	defer cancel()
	var running sync.WaitGroup
	for range 2 + r.IntN(3) {
		random := rand.New(rand.NewPCG(r.Uint64(), 0))
		running.Go(func() {
			for ctx.Err() == nil {
				rd.runChild(ctx, random)
			}
		})
	}
	for tick := time.Tick(40 * time.Millisecond); ctx.Err() == nil; <-tick { // another program adds copies
		c := rd.carts[r.IntN(len(rd.carts))]
		rd.store.AddDiscount(c.ID, onCart(c.Want[r.IntN(len(c.Want))]))
	}
	running.Wait()
	rd.settle()
	rd.requests += len(rd.store.Requests())
	for _, c := range rd.carts {
		rd.check(c)
	}
}

// runChild runs a process, and kills it at a random time.
func (rd *round) runChild(ctx context.Context, r *rand.Rand) {
	config, err := json.Marshal(childConfig{
		URL: rd.url, Seed: r.Uint64(), Carts: rd.carts, Scenario: rd.scenario,
	})
	if err != nil {
		rd.fail("%v", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(100+r.IntN(900))*time.Millisecond)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0]) //nolint:gosec // this test
	cmd.Env = append(os.Environ(), childVariable+"="+string(config))
	var errorOutput bytes.Buffer
	cmd.Stderr = &errorOutput
	if _, err := cmd.StdinPipe(); err != nil { // it ends when this process does
		rd.fail("%v", err)
		return
	}
	if err := cmd.Run(); ctx.Err() == nil || errorOutput.Len() > 0 {
		rd.fail("the child process ended by %v, and wrote\n%s", err, &errorOutput)
	}
	rd.kills.Add(1)
}

// settle waits until no write is in flight.
func (rd *round) settle() {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for rd.store.Pending() > 0 {
		<-tick.C
	}
	rd.store.Close() // waits for requests that had not been read from their connections
	rd.store.ClearFaults()
}

// check makes a call without faults, after which the cart must be as wanted.
func (rd *round) check(c cart) {
	opts := &commerce.EnsureCustomDiscountsOptions{Update: rd.Update, Prune: rd.Prune, Enable: true}
	before := describe(rd.store.Discounts(c.ID))
	result, err := rd.store.Client().Carts.EnsureCustomDiscounts(rd.t.Context(), c.ID, c.Want, opts)
	if err != nil {
		rd.fail("the last call returned %v, want no error; before it, the cart had the discounts\n%s", err, before)
		return
	}
	rd.changes += len(result.Added) + len(result.Updated) + len(result.Deleted)
	if text := c.contradiction(result) + c.mismatch(rd.store, rd.scenario); text != "" {
		rd.fail("after the last call, %s", text)
	}
}

func (rd *round) fail(format string, args ...any) {
	rd.t.Helper()
	rd.t.Errorf("round %d, %+v: %s", rd.rounds, rd.scenario, fmt.Sprintf(format, args...))
}
