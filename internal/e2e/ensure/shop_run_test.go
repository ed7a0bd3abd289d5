package ensure_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// shopEvents must each happen in a long run, or it proves little.
var shopEvents = []string{
	"not sent", "rejected", "unknown", "partial", "applied",
	"below_zero", "empty_cart", "promotion_conflict", "bad_response", "discounts_disabled", "outcome_unknown",
	"price_differs", "want_changed", "an offer for an item", "a lowered offer for an item", "a total that lags",
	"two currencies", "shipping", "promotions of the older kind",
	"lowered", "enabled", "promotions replaced", "without Subtotal", "dry run", "price not the one of the first read",
	"the customer changes the cart", "the store promotes the cart", "another program disables discounts",
	"another program changes its discounts", "a write undone", "enabling ignored",
	"final, called again", "final, called again while another caller was frozen",
	"quiet call", "quiet call without a write", "two shops", "two callers of a shop",
}

// TestChaos_shop lets shops set their offers on a cart, for CHAOS, in at least 100 scenarios: the
// customer, the store, other programs and faults come in between. It compares what the calls did
// and returned with the log of the server. CHAOS_SCENARIO is the number of the only scenario of
// CHAOS_SEED to run.
func TestChaos_shop(t *testing.T) {
	t.Parallel()
	n, events := &findings{wrong: map[string][]int{}}, map[string]int{}
	scenarios := forScenarios(t, 100, func(t *testing.T, number int, r *rand.Rand) {
		sc := newShopScenario(r)
		run := &shopRun{t: t, number: number, sc: sc, server: sc.newServer(), findings: n, events: events}
		run.freezing = make(chan struct{}, 1)
		run.run()
	})
	n.report(t)
	t.Logf("%d calls in %d scenarios: %v; %d rules broken", n.calls, scenarios, events, len(n.wrong))
	for _, name := range shopEvents {
		if scenarios >= 2000 && events[name] == 0 {
			t.Errorf("%q never happened: the test proves little", name)
		}
	}
}

// shopRun is a scenario in progress.
type shopRun struct {
	t      *testing.T
	number int
	sc     *shopScenario
	server *cartServer
	*findings

	freezing chan struct{} // holds who freezes the others
	mu       sync.Mutex
	thawed   chan struct{} // closed when the callers may go on; nil: they may
	events   map[string]int
	calls    []*shopCall
	carts    int // changes by the customer
}

func (run *shopRun) count(name string) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.events[name]++
}

func (run *shopRun) run() {
	defer run.server.store.Close()
	var running sync.WaitGroup
	for n, c := range run.sc.Callers {
		running.Go(func() { run.callAll(n, c) })
	}
	running.Wait()
	run.server.settle()
	time.Sleep(time.Minute)
	run.callQuietly()
	for _, c := range run.calls {
		c.readLog(run.server)
		run.note(c)
		for rule, text := range c.broken(run.server) {
			run.fail(rule, run.number, func() string { return fmt.Sprintf("call %d: %s\n%v", c.Number, text, run) })
		}
	}
}

// String describes what happened.
func (run *shopRun) String() string {
	sc, text := run.sc, ""
	start := run.calls[0].Started
	for _, e := range run.server.log {
		text += fmt.Sprintf("%10v %v", e.At.Sub(start), e)
		if e.state > 0 || e.isRead() {
			text += fmt.Sprintf(" cart %d %+v %+v", e.state, e.shows(run.server).prices, e.shows(run.server).lines)
		}
		text += fmt.Sprintf(" %v\n", e.hidden)
	}
	for _, c := range run.calls {
		text += fmt.Sprintf("%v, codes %v of %+v\n", c.String(), c.codes, c.offers)
	}
	return fmt.Sprintf("%+v; hidden %v, any %t; %d callers; rates %+v\nat the start %v:\n%s\n%s", sc.Config,
		sc.Hidden, sc.HidesAny, len(sc.Callers), sc.Rates, sc.Start, describe(run.server.states[0].discounts), text)
}

// shopClient is the client of a shop.
type shopClient struct {
	run       *shopRun
	shop      offers
	client    *commerce.Client
	transport *serverClient
	hidden    func() []string // by the next read
	read      *exchange       // the last one
	r         *rand.Rand
}

// newClient returns a client. It disturbs the cart after its requests only if c has calls.
func (run *shopRun) newClient(c shopCaller, r *rand.Rand) *shopClient {
	shop := &shopClient{run: run, shop: run.sc.Shops[c.Shop], r: r}
	shop.transport = &serverClient{server: run.server, faults: c.Faults, latency: c.Latency, edit: shop.edit}
	if len(c.Calls) > 0 {
		shop.transport.after = func(e *exchange) { run.disturb(e, r) }
		shop.transport.before = run.awaitThaw
	}
	shop.hidden = func() []string {
		if run.sc.HidesAny && len(c.Calls) > 0 {
			return run.sc.newHidden(r)
		}
		return run.sc.Hidden
	}
	shop.client = newClient(run.t, shop.transport)
	return shop
}

// edit changes a response. The service may ignore that custom discounts are to be enabled.
func (c *shopClient) edit(e *exchange, r reply) reply {
	switch s := c.run.server; {
	case e.isRead():
		c.read, e.hidden = e, c.hidden()
		return e.hide(r)
	case e.isEnable() && c.transport.after != nil && c.r.IntN(100) < c.run.sc.Rates.Ignore && s.undo(e):
		c.run.count("enabling ignored")
		if !s.last().isEnabled { // by another caller
			e.hidden = []string{"enabled"}
		}
		return s.last().cart
	}
	return r
}

func (run *shopRun) callAll(n int, c shopCaller) {
	client := run.newClient(c, rand.New(rand.NewPCG(run.sc.seed, uint64(n))))
	for n, p := range c.Calls {
		time.Sleep(p.Pause)
		made := client.call(client.inAnyOrder(c.Codes[n]), p)
		if commerce.IsFinal(made.Err) && !run.sc.Fickle {
			run.freeze(func() { run.confirm(made, c, p) })
		}
	}
}

// freeze lets f run while no other caller begins a request.
func (run *shopRun) freeze(f func()) {
	run.freezing <- struct{}{} // not a mutex, which synctest does not see
	defer func() { <-run.freezing }()
	thawed := make(chan struct{})
	run.setThawed(thawed)
	time.Sleep(2 * time.Second) // the requests that have begun end
	f()
	run.setThawed(nil)
	close(thawed)
}

func (run *shopRun) setThawed(thawed chan struct{}) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.thawed = thawed
}

func (run *shopRun) awaitThaw() {
	run.mu.Lock()
	thawed := run.thawed
	run.mu.Unlock()
	if thawed != nil {
		<-thawed
	}
}

// confirm makes a call again that failed with a final error, unless the cart has changed: then it
// must fail in the same way.
func (run *shopRun) confirm(made *shopCall, c shopCaller, p plannedCall) {
	run.server.settle()
	made.readLog(run.server)
	read := made.lastRead(len(made.exchanges))
	isFalse := func(e *exchange) bool { return e.Fault.WithCart } // a refusal that the service would not repeat
	mayLook := slices.ContainsFunc(made.exchanges, isFalse)
	hasChanged := run.server.isChangedByOthers(made.Number, read.state, len(run.server.states)-1)
	if made.exchanges = nil; read.At.IsZero() || mayLook || hasChanged || run.server.lags {
		return
	}
	client := run.newClient(shopCaller{Shop: c.Shop}, nil)
	client.hidden = func() []string { return read.hidden }
	p.Timeout = 0
	again := client.call(made.codes, p)
	run.count("final, called again")
	if len(run.sc.Callers) > 1 {
		run.count("final, called again while another caller was frozen")
	}
	if want := commerce.ReasonOf(made.Err); commerce.ReasonOf(again.Err) != want {
		run.fail("what is final stays so", run.number, func() string {
			return fmt.Sprintf("call %d: %s, but the same call again returned %v\n%v", made.Number, want, again.Err, run)
		})
	}
}

// isChangedByOthers reports whether something other than a call, or a late write of it, changed the
// cart between two states.
func (s *cartServer) isChangedByOthers(call, from, to int) bool {
	return slices.ContainsFunc(s.states[from+1:max(to, from)+1], func(state cartState) bool {
		return state.by == nil || state.by.Call != call || state.by.Fault.Late > 0
	})
}

func (c *shopClient) call(codes []string, p plannedCall) *shopCall {
	run := c.run
	call := &shopCall{Options: p.Options, sc: run.sc, offers: c.shop, codes: codes}
	run.mu.Lock()
	run.calls = append(run.calls, call)
	call.Number, call.Started = len(run.calls), time.Now()
	c.transport.call = call.Number
	run.mu.Unlock()
	call.timeout = cmp.Or(p.Timeout, 10*time.Second) // as in README
	ctx, cancel := context.WithTimeout(run.t.Context(), call.timeout)
	defer cancel()
	call.Result, call.Err = c.applyOffers(ctx, call)
	call.Ended = time.Now()
	return call
}

// applyOffers is that of README, for the offers of a shop.
func (c *shopClient) applyOffers(ctx context.Context, call *shopCall) (*commerce.CustomDiscountsResult, error) {
	opts, order := call.Options, call.codes
	opts.Engine = c.shop.Engine
	return c.client.Carts.SetCustomDiscounts(ctx, c.run.server.cartID,
		func(_ context.Context, cart *commerce.Cart) (want []commerce.NewCustomDiscount, err error) {
			price, err := cart.Subtotal()
			prices, lines := map[uuid.UUID]commerce.Money{}, []line{}
			for _, i := range cart.Items {
				if i.Type != "promotion_item" {
					lines = append(lines, line{ref: *i.Ref()})
				}
			}
			priceOf := func(l line) int64 {
				isIt := func(i commerce.CartItem) bool { return i.ID == l.ref.ID }
				price, errItem := cart.PriceOf(&cart.Items[slices.IndexFunc(cart.Items, isIt)])
				if err = errors.Join(err, errItem); errItem != nil {
					return 0
				}
				prices[l.ref.ID] = price
				return whole(price.Amount)
			}
			if c.run.sc.Fickle {
				order = c.inAnyOrder(order)
			}
			for _, code := range order {
				want = append(want, c.shop.offer(code, whole(price.Amount), lines, priceOf))
			}
			call.wants = append(call.wants, wanting{read: c.read, price: price, prices: prices, err: err, list: want})
			return want, err
		}, &opts)
}

// inAnyOrder returns codes in the order that a map may have.
func (c *shopClient) inAnyOrder(codes []string) []string {
	codes = slices.Clone(codes)
	if c.r != nil {
		c.r.Shuffle(len(codes), func(i, j int) { codes[i], codes[j] = codes[j], codes[i] })
	}
	return codes
}

// disturb changes the cart after a request, as others would. It leaves a cart without items alone
// if a second request reads them: the read would show two carts.
func (run *shopRun) disturb(e *exchange, r *rand.Rand) {
	s, rates := run.server, run.sc.Rates
	if e.isRead() && s.last().items == 0 {
		return
	}
	isUndone := rates.Undone == "" || rates.Undone == e.Method
	switch happens := func(rate int) bool { return r.IntN(100) < rate }; {
	case e.isWrite() && e.Fault.Apply && !e.AppliedAt.IsZero() && isUndone && happens(rates.Undo):
		if s.undo(e) {
			run.count("a write undone")
		}
	case happens(rates.Customer):
		run.mu.Lock()
		prices := run.sc.Carts[run.carts%len(run.sc.Carts)]
		run.carts++
		run.mu.Unlock()
		run.count("the customer changes the cart")
		s.change(fmt.Sprint(theCustomer, " makes it ", prices), func() { s.setItems(prices) })
	case happens(rates.Promotion):
		run.count("the store promotes the cart")
		s.change("the store promotes the cart", func() { s.store.AddPromotion(s.cartID) })
	case happens(rates.Disable):
		run.count("another program disables discounts")
		s.change("another program disables discounts", func() { s.setSettings(discountSettings{UsesRules: r.IntN(2) == 0}) })
	case happens(rates.Others):
		run.count("another program changes its discounts")
		d, isKept := newForeign(r), r.IntN(2) == 0
		s.exchangeDiscounts(d, func(o commerce.CustomDiscount) bool { return o.DiscountEngine == third && !isKept })
	}
}

// callQuietly lets each shop make its calls when nothing else happens. What one of them takes off
// is what stays for the other, so each calls twice. A third call has nothing to do.
func (run *shopRun) callQuietly() {
	mayBeIdle := !run.server.last().isPromoted // else what shops lowered may change
	for round := range 3 {
		for n := range run.sc.Shops {
			client := run.newClient(shopCaller{Shop: n}, nil)
			p := plannedCall{}
			time.Sleep(run.sc.Config.TotalsLag)
			codes, state := client.shop.codes(), run.server.last()
			ends := run.sc.endingOf(state, client.shop, codes)
			if ends != nil {
				ends.isIdle = round == 2 && mayBeIdle
			}
			call := client.call(codes, p)
			call.ending = ends
			run.count("quiet call")
		}
	}
}

// note counts what a call met.
func (run *shopRun) note(c *shopCall) {
	run.findings.calls++
	run.count(commerce.OutcomeOf(c.Err).String())
	run.count(commerce.ReasonOf(c.Err))
	if errors.Is(c.Err, commerce.ErrOutcomeUnknown) {
		run.count("outcome_unknown")
	}
	if c.Options.DryRun {
		run.count("dry run")
	}
	if c.Number == 1 && len(run.sc.Callers) > 1 {
		run.count(map[int]string{1: "two callers of a shop", 2: "two shops"}[len(run.sc.Shops)])
	}
	if c.Result != nil && len(c.Result.Lowered) > 0 {
		run.count("lowered")
		if slices.ContainsFunc(c.Result.Lowered, func(d commerce.NewCustomDiscount) bool { return d.Item != nil }) {
			run.count("a lowered offer for an item")
		}
	}
	isOfItem := func(d commerce.CustomDiscount) bool { return d.Item != nil }
	if c.Result != nil && slices.ContainsFunc(c.Result.Discounts, isOfItem) {
		run.count("an offer for an item")
	}
	if c.Result != nil && c.Result.Enabled {
		run.count("enabled")
	}
	for _, w := range c.wants {
		if slices.Contains(w.read.hidden, "without_discount") && w.err == nil {
			run.count("without Subtotal")
		}
		if !w.price.Amount.Equal(c.wants[0].price.Amount) {
			run.count("price not the one of the first read")
		}
	}
	isWrite := (*exchange).isWrite
	if c.ending != nil && !slices.ContainsFunc(c.exchanges, isWrite) {
		run.count("quiet call without a write")
	}
	for _, e := range c.exchanges {
		state := e.shows(run.server)
		for name, happened := range map[string]bool{
			"a total that lags": state.prices != run.server.states[e.state].prices, "two currencies": e.hides("currency"),
			"shipping":                     state.prices.Shipping > 0 && e.isRead(),
			"promotions of the older kind": run.sc.Config.StandardPromotions && e.isRead() && state.isPromoted,
		} {
			if happened {
				run.count(name)
			}
		}
		before := run.server.states[max(0, e.state-1)]
		if e.isEnable() && !e.AppliedAt.IsZero() && before.isPromoted {
			run.count("promotions replaced")
		}
	}
}
