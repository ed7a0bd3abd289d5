package ensure_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce"
)

// TestChaos_randomCalls makes random calls to a cartServer for CHAOS, at least 500, and compares
// what they returned with the log of that server. CHAOS_SCENARIO is the number of the only scenario
// of CHAOS_SEED to run.
func TestChaos_randomCalls(t *testing.T) {
	t.Parallel()
	n := &findings{wrong: map[string][]int{}, outcomes: map[string]int{}}
	isEnough := func(int) bool { return n.calls >= 500 }
	scenarios := forScenarios(t, isEnough, func(t *testing.T, number int, r *rand.Rand) {
		sc := newRandomScenario(r)
		run := &randomRun{t: t, number: number, sc: sc, server: sc.newServer(), findings: n}
		run.run()
	})
	n.report(t)
	t.Logf("%d calls in %d scenarios with the outcomes %v; %d enabled, %d with a percentage, "+
		"%d changes of carts by customers; %d rules broken",
		n.calls, scenarios, n.outcomes, n.enabled, n.percent, n.cartChanges, len(n.wrong))
	if scenarios > 1 && (len(n.outcomes) < 5 || n.enabled == 0 || n.cartChanges == 0) {
		t.Error("got fewer than 5 outcomes, or no change of a cart: the test proves nothing")
	}
}

// forScenarios runs scenarios for CHAOS, and until there are enough. With CHAOS_SCENARIO it runs
// only that one of CHAOS_SEED. It returns how many it ran.
func forScenarios(
	t *testing.T, isEnough func(scenarios int) bool, run func(t *testing.T, number int, r *rand.Rand),
) (scenarios int) {
	t.Helper()
	duration, seed := settings(t)
	first, only := 0, os.Getenv("CHAOS_SCENARIO")
	if only != "" {
		var err error
		if first, err = strconv.Atoi(only); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("CHAOS_SEED=%d", seed)
	for start := time.Now(); scenarios == 0 || only == "" && (!isEnough(scenarios) || time.Since(start) < duration); {
		number := first + scenarios
		synctest.Test(t, func(t *testing.T) { run(t, number, rand.New(rand.NewPCG(seed, uint64(number)))) })
		scenarios++
	}
	return scenarios
}

// findings counts what a test found.
type findings struct {
	calls int
	// The calls that enabled custom discounts, those with a percentage, and how often the
	// customer changed the cart in between.
	enabled, percent, cartChanges int
	outcomes                      map[string]int
	wrong                         map[string][]int // numbers of the scenarios that broke a rule
	reports                       []string         // the first of each rule; a failed synctest.Test would end the test
}

// fail counts a broken rule. The first time it keeps the report.
func (n *findings) fail(rule string, number int, report func() string) {
	if n.wrong[rule] = append(n.wrong[rule], number); len(n.wrong[rule]) == 1 {
		n.reports = append(n.reports, fmt.Sprintf("rule %q: scenario %d: %s", rule, number, report()))
	}
}

// report fails the test if a rule was broken.
func (n *findings) report(t *testing.T) {
	t.Helper()
	for _, report := range n.reports {
		t.Error(report)
	}
	for _, rule := range slices.Sorted(maps.Keys(n.wrong)) {
		numbers := n.wrong[rule]
		t.Errorf("rule %q: broken %d times, in the scenarios %v", rule, len(numbers), numbers[:min(len(numbers), 20)])
	}
}

// randomRun is a scenario in progress.
type randomRun struct {
	t      *testing.T
	number int
	sc     *randomScenario
	server *cartServer
	*findings

	mu   sync.Mutex
	made []*madeCall
}

// madeCall is a call that was made, and what it returned.
type madeCall struct {
	Number         int
	Options        commerce.EnsureCustomDiscountsOptions
	Started, Ended time.Time
	Result         *commerce.EnsureCustomDiscountsResult
	Err            error

	scenario  *randomScenario
	exchanges []*exchange
	isAlone   bool // nobody else changes the discounts of the wanted engine meanwhile
}

// patient has no random waits, so that a seed always gives the same requests.
var patient = commerce.WithRetry(commerce.RetryPolicy{
	MaxAttempts: 4, MinBackoff: 1, MaxBackoff: 1, AttemptTimeout: attemptTimeout,
})

func (run *randomRun) run() {
	defer run.server.store.Close()
	var running sync.WaitGroup
	for n, c := range run.sc.Callers {
		running.Go(func() { run.callAll(n, c) })
	}
	running.Wait()
	time.Sleep(2 * longestLate) // until no write is in flight
	last := run.newClient(plannedCaller{}, nil).call(run.sc.Want, plannedCall{
		Options: commerce.EnsureCustomDiscountsOptions{Update: true, Prune: true, Enable: true},
	})
	time.Sleep(longestLate)
	for _, c := range run.made {
		run.calls++
		if c.Result != nil && c.Result.Enabled {
			run.enabled++
		}
		if run.sc.Percent {
			run.percent++
		}
		run.outcomes[commerce.OutcomeOf(c.Err).String()]++
		for rule, text := range c.broken(run.server) {
			run.fail(rule, run.number, func() string { return fmt.Sprintf("call %d: %s\n%v", c.Number, text, run) })
		}
	}
	if run.sc.isKind() && last.Err != nil {
		run.fail("converges", run.number, func() string {
			return fmt.Sprintf("the last call, without faults, returned %v, want no error\n%v", last.Err, run)
		})
	}
}

// String describes what happened.
func (run *randomRun) String() string {
	var lines []string
	for _, e := range run.server.log {
		lines = append(lines, fmt.Sprintf("%10v %v", e.At.Sub(run.made[0].Started), e))
	}
	for _, c := range run.made {
		lines = append(lines, c.String())
	}
	return run.sc.String() + strings.Join(lines, "\n")
}

// String describes what a call returned.
func (c *madeCall) String() string {
	return fmt.Sprintf("call %d with %+v returned %+v, error %v", c.Number, c.Options, c.Result, c.Err)
}

// runClient makes calls to the server.
type runClient struct {
	run       *randomRun
	client    *commerce.Client
	transport *serverClient
}

func (run *randomRun) newClient(c plannedCaller, after func(*exchange)) *runClient {
	transport := &serverClient{server: run.server, faults: c.Faults, latency: c.Latency, after: after}
	client, err := commerce.New("https://store.example", commerce.WithToken("token"), patient,
		commerce.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		run.t.Error(err)
	}
	return &runClient{run: run, client: client, transport: transport}
}

func (run *randomRun) callAll(n int, c plannedCaller) {
	r := rand.New(rand.NewPCG(run.sc.seed, uint64(n)))
	client := run.newClient(c, func(e *exchange) { run.disturb(e, r) })
	for _, p := range c.Calls {
		client.call(run.sc.Want, p)
	}
}

func (c *runClient) call(want []commerce.NewCustomDiscount, p plannedCall) *madeCall {
	ctx := c.run.t.Context()
	time.Sleep(p.Pause)
	if p.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.Timeout)
		defer cancel()
	}
	sc := c.run.sc
	if sc.Percent { // what SetCustomDiscounts sets
		p.Options.Update, p.Options.Prune, p.Options.Enable, p.Options.NotBelowZero = true, true, true, true
	}
	made := c.run.begin(p)
	c.transport.call = made.Number
	if sc.Percent {
		choose := func(cart *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
			return sc.wantedFor(cart.DisplayPrice.WithoutDiscount.Amount.IntPart()), nil
		}
		opts := &commerce.SetCustomDiscountsOptions{
			AllOrNothing: p.Options.AllOrNothing, DryRun: p.Options.DryRun, Settle: p.Options.Settle,
		}
		made.Result, made.Err = c.client.Carts.SetCustomDiscounts(
			ctx, c.run.server.cartID, sc.Want[0].DiscountEngine, choose, opts)
	} else {
		made.Result, made.Err = c.client.Carts.EnsureCustomDiscounts(ctx, c.run.server.cartID, want, &p.Options)
	}
	made.Ended = time.Now()
	return made
}

func (run *randomRun) begin(p plannedCall) *madeCall {
	run.mu.Lock()
	defer run.mu.Unlock()
	made := &madeCall{Number: len(run.made) + 1, Options: p.Options, Started: time.Now(), scenario: run.sc}
	run.made = append(run.made, made)
	return made
}

// disturb changes the cart as another program would, after a quarter of the adds. If there is one
// caller, only discounts of another engine change.
func (run *randomRun) disturb(e *exchange, r *rand.Rand) {
	if run.sc.Percent && r.IntN(4) == 0 {
		run.server.addItem()
		run.mu.Lock()
		run.cartChanges++
		run.mu.Unlock()
	}
	isAdd := e.Method == http.MethodPost && e.Status != http.StatusTooManyRequests
	if !run.sc.Disturbs || !isAdd || r.IntN(4) > 0 {
		return
	}
	d, isOld := run.sc.foreign(r), func(commerce.CustomDiscount) bool { return false }
	if len(run.sc.Callers) > 1 && r.IntN(2) == 0 {
		d = run.sc.newCopy(r, run.sc.Want[r.IntN(len(run.sc.Want))])
		d.ID = newID(r)
		isOld = func(o commerce.CustomDiscount) bool { return keyOf(o) == keyOf(d) }
	}
	run.server.exchangeDiscounts(d, isOld)
}
