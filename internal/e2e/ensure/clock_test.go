package ensure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// TestChaos_clock makes calls with random faults on the clock of testing/synctest, where
// delays take no time. It checks what each call returned: half of the scenarios have a single
// caller, so that the content of the cart is known.
func TestChaos_clock(t *testing.T) {
	t.Parallel()
	duration, seed := settings(t)
	t.Logf("CHAOS_SEED=%d", seed)
	n := newTotals()
	start := time.Now()
	for number := 0; (time.Since(start) < duration/2 || number < 20) && !t.Failed(); number++ {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(number)))
			tr := &trial{t: t, scenario: newScenario(r, number), totals: n, random: r, name: fmt.Sprintf("scenario %d", number)}
			tr.run()
		})
		n.rounds++
	}
	t.Logf("CHAOS_SEED=%d: %d scenarios in %v, %d calls with the outcomes %v, %d without an error but in doubt, "+
		"%d of the others checked; %d late writes, %d surplus discounts deleted; %d wrong",
		seed, n.rounds, time.Since(start).Round(time.Millisecond), n.calls(), n.outcomes, n.doubtful,
		n.checked, n.late.Load(), n.surplus, n.wrong)
	if duration >= 10*time.Second && (n.late.Load() == 0 || n.surplus == 0 || n.checked == 0 || n.doubtful == 0) {
		t.Error("got no late write, no surplus discount, or no success to check: the test proves nothing")
	}
}

// trial is a scenario on one cart whose clients are in this process.
type trial struct {
	t *testing.T
	scenario
	totals *totals
	name   string
	random *rand.Rand
	store  *commercetest.Store
	cart   cart
	faults *randomFaults

	mu        sync.Mutex
	disturbed int  // how often another program changed the cart
	lateAfter bool // a late write was applied after the cart was last read
}

func (tr *trial) run() {
	cfg := tr.config()
	others := rand.New(rand.NewPCG(tr.random.Uint64(), 0))
	cfg.AfterRequest = func(s *commercetest.Store, in commercetest.Request) { tr.after(s, in, others) }
	tr.store = commercetest.NewStore(cfg)
	defer tr.store.Close()
	tr.cart = newCart(tr.store, tr.random)
	tr.faults = injectRandomFaults(tr.store, rand.New(rand.NewPCG(tr.random.Uint64(), 0)))

	if tr.random.IntN(2) == 0 {
		for range 4 {
			tr.checkedCall()
		}
	} else {
		tr.callTogether(2 + tr.random.IntN(3))
	}
	time.Sleep(2 * maxDelay) // until no write is in flight
	tr.faults.stopped.Store(true)
	tr.lastCall()
}

// after is called when a request has taken effect. After some writes, another program
// changes the cart.
func (tr *trial) after(s *commercetest.Store, in commercetest.Request, others *rand.Rand) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if in.Operation == commercetest.OpCart {
		tr.lateAfter = false
	}
	if !isWrite(in) {
		return
	}
	if tr.faults.ended(in) {
		tr.lateAfter = true
		tr.totals.late.Add(1)
	}
	if !tr.faults.stopped.Load() && others.IntN(4) == 0 {
		tr.disturbed++
		tr.disturb(s, tr.cart, others)
	}
}

func (tr *trial) client(opts ...commerce.Option) *commerce.Client {
	opts = append([]commerce.Option{impatient, tr.transport(tr.store.Transport())}, opts...)
	return tr.store.Client(opts...)
}

// callTogether makes calls by several clients at the same time. Each is canceled at a random
// time, like a process that is killed.
func (tr *trial) callTogether(clients int) {
	lock, mode := newSharedLock([]time.Duration{0, long(tr.random)}[tr.random.IntN(2)]), tr.scenario
	var running sync.WaitGroup
	for range clients {
		r, client := rand.New(rand.NewPCG(tr.random.Uint64(), 0)), tr.client()
		if mode.Locked {
			client = tr.client(commerce.WithCartLocker(lock))
		}
		running.Go(func() {
			for range 3 {
				ctx, cancel := context.WithTimeout(tr.t.Context(), time.Duration(r.Int64N(int64(20*attemptTimeout))))
				result, err := client.Carts.EnsureCustomDiscounts(ctx, tr.cart.ID, tr.cart.Want, mode.options(r))
				cancel()
				tr.report(result, err)
			}
		})
	}
	running.Wait()
}

// report counts a call and checks its error, and its result as far as that is possible
// without knowing the content of the cart.
func (tr *trial) report(result *commerce.EnsureCustomDiscountsResult, err error) {
	r := tr.cart.newReport(result, err)
	tr.totals.add(r)
	if r.Wrong != "" {
		tr.t.Errorf("%s, %+v: %s", tr.name, tr.scenario, r.Wrong)
	}
}

// checkedCall makes one call, while no other client makes any, and compares what it returned
// with the cart and with the requests.
func (tr *trial) checkedCall() {
	ctx, opts := tr.t.Context(), tr.options(tr.random)
	if tr.random.IntN(5) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(tr.random.Int64N(int64(20*attemptTimeout))))
		defer cancel()
	}
	tr.mu.Lock()
	disturbed := tr.disturbed
	tr.mu.Unlock()
	c := checkedCall{
		trial: tr, opts: opts, skip: len(tr.store.Requests()), disturbedBefore: disturbed,
		pendingBefore: tr.store.Pending(), before: describe(tr.store.Discounts(tr.cart.ID)),
	}
	result, err := tr.client().Carts.EnsureCustomDiscounts(ctx, tr.cart.ID, tr.cart.Want, opts)
	tr.report(result, err)
	if text := c.contradiction(result, err); text != "" {
		tr.fail("the call with %+v returned (%+v, %v), but %s", *opts, result, err, text)
	}
	if tr.random.IntN(2) == 0 {
		time.Sleep(2 * maxDelay)
	}
}

// checkedCall is a call while no other client makes any, and the cart before it.
type checkedCall struct {
	*trial
	opts            *commerce.EnsureCustomDiscountsOptions
	skip            int // requests before the call
	pendingBefore   int
	disturbedBefore int
	before          string
}

// contradiction returns how the result contradicts the cart or the requests; "" if it does
// not.
func (c checkedCall) contradiction(result *commerce.EnsureCustomDiscountsResult, err error) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	requests, after := c.store.Requests()[c.skip:], c.store.Discounts(c.cart.ID)
	outcome, inDoubt := commerce.OutcomeOf(err), result != nil && len(result.InDoubt) > 0
	isQuiet := c.store.Pending() == 0 && !c.lateAfter // the last read was not out of date
	isAlone := c.pendingBefore == 0 && c.disturbed == c.disturbedBefore
	switch {
	case outcome == commerce.OutcomeNotSent && slices.ContainsFunc(requests, isWrite):
		return "it sent a write"
	case outcome == commerce.OutcomeRejected && isQuiet && isAlone && describe(after) != c.before:
		return fmt.Sprintf("the cart changed from\n%s\nto\n%s", c.before, describe(after))
	case err != nil && inDoubt && outcome != commerce.OutcomeUnknown:
		return "discounts are in doubt"
	case isAlone && !inDoubt && slices.ContainsFunc(requests, c.isPendingAdd):
		return "a late add is in flight, and nothing is in doubt"
	}
	if err == nil && isQuiet {
		c.totals.checked++
		if text := c.surplus(after); text != "" {
			return text
		}
	}
	return c.earlyResend(requests)
}

// surplus returns how the discounts of the cart differ from what a nil error promises.
func (c checkedCall) surplus(discounts []commerce.CustomDiscount) string {
	wanted := map[string]bool{}
	for _, d := range c.cart.Want {
		wanted[d.ExternalID] = true
	}
	var got, want []commerce.CustomDiscount
	for _, d := range discounts {
		if d.DiscountEngine == engine && (wanted[d.ExternalID] || c.opts.Prune) {
			got = append(got, d)
		}
	}
	for _, d := range c.cart.Want {
		want = append(want, onCart(d))
	}
	if got, want := describe(got), describe(want); got != want {
		return fmt.Sprintf("the cart has the discounts\n%s\nwant\n%s", got, want)
	}
	return ""
}

// isPendingAdd reports whether a request is an add that will be applied late.
func (c checkedCall) isPendingAdd(in commercetest.Request) bool {
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	return in.Operation == commercetest.OpAdd && c.faults.pending[in.ID]
}

// earlyResend returns which discount was sent again although it may have been added, before
// Settle had passed and the cart was read after it; "" if none was.
func (c checkedCall) earlyResend(requests []commercetest.Request) string {
	sent := map[string]commercetest.Request{}
	var lastRead time.Time
	for _, in := range requests {
		if in.Operation == commercetest.OpCart {
			lastRead = in.Time
		}
		if in.Operation != commercetest.OpAdd {
			continue
		}
		var body struct {
			Data []struct {
				ExternalID string `json:"external_id"`
			} `json:"data"`
		}
		if err := json.Unmarshal(in.Body, &body); err != nil {
			return err.Error()
		}
		for _, d := range body.Data {
			before, ok := sent[d.ExternalID]
			sent[d.ExternalID] = in
			if ok && before.Status != 429 && lastRead.Sub(before.Time) < c.opts.Settle {
				return fmt.Sprintf("%s was sent again %v after it was sent, before the cart was read after Settle",
					d.ExternalID, in.Time.Sub(before.Time))
			}
		}
	}
	return ""
}

// lastCall makes a call without faults, after which the cart must be as wanted.
func (tr *trial) lastCall() {
	before := describe(tr.store.Discounts(tr.cart.ID))
	result, err := tr.client().Carts.EnsureCustomDiscounts(tr.t.Context(), tr.cart.ID, tr.cart.Want,
		&commerce.EnsureCustomDiscountsOptions{Update: tr.Update, Prune: tr.Prune})
	tr.report(result, err)
	if err != nil {
		tr.fail("the last call returned %v, want no error; before it, the cart had the discounts\n%s", err, before)
		return
	}
	if text := tr.cart.mismatch(tr.store, tr.scenario); text != "" {
		tr.fail("after the last call, %s", text)
	}
}

func (tr *trial) fail(format string, args ...any) {
	tr.t.Helper()
	tr.totals.wrong++
	tr.t.Errorf("%s, %+v: %s", tr.name, tr.scenario, fmt.Sprintf(format, args...))
}
