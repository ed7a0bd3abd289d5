package ensure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// TestChaos_processes lets several processes call EnsureCustomDiscounts on the same carts,
// while requests fail, other programs change the carts, and processes are killed. When all
// that has ended, a single call must leave each wanted discount on its cart exactly once.
func TestChaos_processes(t *testing.T) {
	t.Parallel()
	duration, seed := settings(t)
	t.Logf("CHAOS_SEED=%d", seed)
	n := newTotals()
	start := time.Now()
	for number := 0; time.Since(start) < duration && !t.Failed(); number++ {
		r := rand.New(rand.NewPCG(seed, uint64(number)))
		sc := newScenario(r, number+int(seed%4))
		(&round{t: t, scenario: sc, totals: n, name: fmt.Sprintf("round %d", number)}).run(r)
		n.rounds++
	}
	t.Logf("CHAOS_SEED=%d: %d rounds in %v, %d calls with the outcomes %v, %d without an error but in doubt; "+
		"%d kills, %d late writes, %d surplus discounts deleted; %d wrong",
		seed, n.rounds, time.Since(start).Round(time.Millisecond), n.calls(), n.outcomes, n.doubtful,
		n.kills, n.late.Load(), n.surplus, n.wrong)
	if duration >= 10*time.Second && (n.kills == 0 || n.late.Load() == 0 || n.surplus == 0 || n.outcomes["nil"] == 0) {
		t.Error("got no kill, no late write, no surplus discount or no success: the test proves nothing")
	}
}

// round is a part of TestChaos_processes with its own store.
type round struct {
	t *testing.T
	scenario
	totals *totals
	name   string
	store  *commercetest.Store
	carts  []cart
	faults *randomFaults
}

func (rd *round) run(r *rand.Rand) {
	cfg := rd.config()
	cfg.AfterRequest = func(_ *commercetest.Store, in commercetest.Request) {
		if rd.faults.ended(in) && in.Status > 0 {
			rd.totals.late.Add(1)
		}
	}
	rd.store = commercetest.NewStore(cfg)
	defer rd.store.Close()
	for range 1 + r.IntN(3) {
		rd.carts = append(rd.carts, newCart(rd.store, r))
	}
	rd.faults = injectRandomFaults(rd.store, rand.New(rand.NewPCG(r.Uint64(), 0)))
	locks := newLockServer(rd.t, []time.Duration{0, 2 * long(r)}[r.IntN(2)])
	defer locks.close()

	ctx, cancel := context.WithTimeout(rd.t.Context(), time.Second+time.Duration(r.IntN(500))*time.Millisecond)
	defer cancel()
	var running sync.WaitGroup
	for range 2 + r.IntN(3) {
		child := child{round: rd, random: rand.New(rand.NewPCG(r.Uint64(), 0)), config: childConfig{
			URL: rd.store.URL(), Carts: rd.carts, Scenario: rd.scenario, Locks: locks.listener.Addr().String(),
		}}
		running.Go(func() { child.restart(ctx) })
	}
	other := rand.New(rand.NewPCG(r.Uint64(), 0))
	running.Go(func() { rd.disturb(ctx, other) })
	running.Wait()
	rd.settle()
	for _, c := range rd.carts {
		rd.check(c)
	}
}

// disturb changes carts until ctx ends.
func (rd *round) disturb(ctx context.Context, r *rand.Rand) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if r.IntN(4) == 0 {
				rd.scenario.disturb(rd.store, rd.carts[r.IntN(len(rd.carts))], r)
			}
		}
	}
}

// settle waits until no write is in flight.
func (rd *round) settle() {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for rd.store.Pending() > 0 {
		<-tick.C
	}
	rd.store.Close() // waits for requests that had not been read from their connections
	rd.faults.stopped.Store(true)
}

// check makes a call without faults, after which the cart must be as wanted.
func (rd *round) check(c cart) {
	opts := &commerce.EnsureCustomDiscountsOptions{Update: rd.Update, Prune: rd.Prune}
	before := describe(rd.store.Discounts(c.ID))
	result, err := rd.store.Client().Carts.EnsureCustomDiscounts(rd.t.Context(), c.ID, c.Want, opts)
	rd.totals.add(c.newReport(result, err))
	if err != nil {
		rd.fail("the last call returned %v, want no error; before it, the cart had the discounts\n%s", err, before)
		return
	}
	if text := c.mismatch(rd.store, rd.scenario); text != "" {
		rd.fail("after the last call, %s", text)
	}
}

func (rd *round) fail(format string, args ...any) {
	rd.t.Helper()
	rd.totals.mu.Lock()
	defer rd.totals.mu.Unlock()
	rd.totals.wrong++
	rd.t.Errorf("%s, %+v: %s", rd.name, rd.scenario, fmt.Sprintf(format, args...))
}

// child is a process that is started again and again.
type child struct {
	*round
	random *rand.Rand
	config childConfig
}

// restart starts processes, one after the other, and kills each at a random time. The last
// one may end by itself when ctx ends.
func (c *child) restart(ctx context.Context) {
	for ctx.Err() == nil {
		c.config.Seed = c.random.Uint64()
		c.start(ctx, time.Duration(100+c.random.IntN(900))*time.Millisecond)
	}
}

func (c *child) start(ctx context.Context, life time.Duration) {
	config, err := json.Marshal(c.config)
	if err != nil {
		c.fail("%v", err)
		return
	}
	cmd := exec.Command(os.Args[0]) //nolint:gosec,noctx // this test; killed below
	cmd.Env = append(os.Environ(), childVariable+"="+string(config))
	var errorOutput bytes.Buffer
	cmd.Stderr = &errorOutput
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil || cmd.Start() != nil {
		c.fail("a child process can't be started")
		return
	}
	var running sync.WaitGroup
	running.Go(func() { c.read(stdout) })
	timer := time.NewTimer(life)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		if c.random.IntN(2) == 0 {
			_ = stdin.Close()
			running.Wait()
		}
	}
	killed := cmd.Process.Kill() == nil
	running.Wait()
	_ = cmd.Wait()
	if errorOutput.Len() > 0 {
		c.fail("the child process wrote\n%s", &errorOutput)
	}
	if killed && !cmd.ProcessState.Exited() {
		c.totals.mu.Lock()
		defer c.totals.mu.Unlock()
		c.totals.kills++
	}
}

// read reads the reports of a process until it ends.
func (c *child) read(stdout io.Reader) {
	decoder := json.NewDecoder(stdout)
	for {
		var r report
		if decoder.Decode(&r) != nil {
			return
		}
		c.totals.add(r)
		if r.Wrong != "" {
			c.t.Errorf("%s, %+v: %s", c.name, c.scenario, r.Wrong)
		}
	}
}
