package ensure_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const (
	shortSettle   = 100 * time.Millisecond
	longestLate   = 4 * shortSettle
	faultsPerCall = 40
)

// randomScenario is what happens to a cart of a cartServer.
type randomScenario struct {
	habits
	Want     []commerce.NewCustomDiscount
	Items    []commerce.CartItemRef
	Initial  []commerce.CustomDiscount
	Callers  []plannedCaller
	Disturbs bool   // another program adds discounts of another engine
	Percent  bool   // the first wanted discount is a percentage of the cart, which the customer changes
	seed     uint64 // of what the other program does
}

// plannedCaller makes calls one after the other.
type plannedCaller struct {
	Calls   []plannedCall
	Faults  []fault
	Latency time.Duration // different for each caller, so that their requests have an order
}

type plannedCall struct {
	Options commerce.EnsureCustomDiscountsOptions
	Pause   time.Duration // before the call
	Timeout time.Duration // 0: none
}

// newRandomScenario returns a scenario. In a third of them the service has no habits.
func newRandomScenario(r *rand.Rand) *randomScenario {
	sc := &randomScenario{seed: r.Uint64()}
	sc.habits = habits{Limit: 1000}
	if r.IntN(6) == 0 {
		sc.Limit = 1 + r.IntN(3)
	}
	if r.IntN(3) > 0 {
		sc.addHabits(r)
	}
	sc.Lists, sc.Errors = commercetest.EmptyLists(r.IntN(4)), r.IntN(4) == 0
	sc.Disabled, sc.Percent = r.IntN(3) == 0, r.IntN(3) == 0
	sc.addDiscounts(r)
	callers := []int{1, 1, 1, 2, 3}[r.IntN(5)]
	rate := []int{60, 60, 60, 15}[r.IntN(4)]
	for n := range callers {
		var c plannedCaller
		for range 1 + r.IntN(3) {
			c.Calls = append(c.Calls, sc.newCall(r))
			for range faultsPerCall {
				c.Faults = append(c.Faults, sc.newFault(r, rate))
			}
		}
		if callers > 1 {
			c.Latency = time.Duration(n+1)*time.Millisecond + time.Duration(r.IntN(1e6))
		}
		sc.Callers = append(sc.Callers, c)
	}
	return sc
}

func (sc *randomScenario) addHabits(r *rand.Rand) {
	oneOf := func(values ...string) string { return values[r.IntN(len(values))] }
	sc.Rename = oneOf("", "", "", "trim", "lower", "cut", "lower engine")
	sc.LeaveOut = oneOf("", "", "", "external_id", "discount_engine", "relationships")
	sc.EchoCart, sc.Reversed = r.IntN(4) == 0, r.IntN(3) == 0
	sc.WithoutItems = r.IntN(4) == 0
	if sc.Disturbs = r.IntN(2) == 0; !sc.Disturbs && r.IntN(2) == 0 {
		sc.Lag = time.Duration(r.Int64N(int64(longestLate)))
	}
}

// addDiscounts sets the items, the wanted discounts, and those that are on the cart at the start:
// one of another engine, one that nobody wants, and perhaps copies of wanted ones.
func (sc *randomScenario) addDiscounts(r *rand.Rand) {
	for range 1 + r.IntN(2) {
		sc.Items = append(sc.Items, commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: newID(r)})
	}
	for n := range 1 + r.IntN(4) {
		d := newDiscount(fmt.Sprintf("Summer-%d", n), nil)
		d.DiscountEngine = "Engine"
		if r.IntN(4) == 0 {
			d.ExternalID += " "
		}
		switch r.IntN(12) {
		case 0, 1, 2, 3, 4:
			d.Item = &sc.Items[r.IntN(len(sc.Items))]
		case 5: // an item that is not on the cart
			d.Item = &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: newID(r)}
		}
		sc.Want = append(sc.Want, d)
		for range []int{0, 0, 0, 1, 1, 2}[r.IntN(6)] {
			sc.Initial = append(sc.Initial, sc.newCopy(r, d))
		}
	}
	unwanted := onCart(newDiscount("unwanted", nil))
	unwanted.DiscountEngine = "Engine"
	sc.Initial = append(sc.Initial, unwanted, sc.foreign(r))
	for i := range sc.Initial {
		sc.Initial[i].ID = newID(r)
	}
}

// newCopy returns a discount with the key of d, and perhaps other contents.
func (sc *randomScenario) newCopy(r *rand.Rand, d commerce.NewCustomDiscount) commerce.CustomDiscount {
	c := onCart(d)
	switch r.IntN(6) {
	case 0:
		c.Amount.Amount = commerce.NewDecimal(-1 - r.Int64N(3))
	case 1:
		c.Item = nil
	case 2:
		c.Item = &sc.Items[0]
	}
	if c.Item != nil && !sc.hasItem(c.Item.ID) {
		c.Item = nil
	}
	return c
}

func (sc *randomScenario) hasItem(id uuid.UUID) bool {
	return slices.ContainsFunc(sc.Items, func(item commerce.CartItemRef) bool { return item.ID == id })
}

// foreign returns a discount of another engine that looks like a wanted one.
func (sc *randomScenario) foreign(r *rand.Rand) commerce.CustomDiscount {
	d := onCart(sc.Want[r.IntN(len(sc.Want))])
	d.ID, d.DiscountEngine = newID(r), "another engine"
	if d.Item != nil && !sc.hasItem(d.Item.ID) {
		d.Item = nil
	}
	return d
}

func (sc *randomScenario) newCall(r *rand.Rand) plannedCall {
	c := plannedCall{
		Options: commerce.EnsureCustomDiscountsOptions{
			Update: r.IntN(2) == 0, Prune: r.IntN(2) == 0, AllOrNothing: r.IntN(4) == 0, DryRun: r.IntN(20) == 0,
			Settle: []time.Duration{shortSettle, shortSettle, shortSettle, 0, -1}[r.IntN(5)],
			Enable: sc.Disabled,
		},
		Pause: time.Duration(r.IntN(2)) * time.Duration(r.Int64N(int64(2*longestLate))),
	}
	if r.IntN(5) == 0 {
		c.Timeout = time.Duration(1 + r.Int64N(int64(20*attemptTimeout)))
	}
	return c
}

// wantedFor returns the discounts that are wanted for a cart with items of this price.
func (sc *randomScenario) wantedFor(price int64) []commerce.NewCustomDiscount {
	want := slices.Clone(sc.Want)
	if sc.Percent {
		want[0].Amount = commerce.NewDecimal(-price / 100)
	}
	return want
}

// newFault returns a random fault with a probability of rate in a hundred.
func (sc *randomScenario) newFault(r *rand.Rand, rate int) fault {
	if r.IntN(100) >= rate {
		return noFault
	}
	late := time.Duration(1 + r.Int64N(int64(longestLate)))
	faults := []fault{
		{Lost: true, Delay: short(r)},
		{Apply: true, Lost: true, Delay: short(r)},
		{Apply: true, Delay: short(r)},
		{Apply: true, Delay: long(r)},
		{Lost: true, Delay: long(r)},
		{Late: late, Lost: true},
		{Late: late, Status: retryable(r)},
		{Status: retryable(r), Delay: short(r)},
		{Apply: true, Status: retryable(r), Delay: short(r)},
		{Status: http.StatusTooManyRequests},
		{Apply: true, Cut: true},
		{Status: http.StatusUnprocessableEntity, WithCart: true},
	}
	return faults[r.IntN(len(faults))]
}

// isKind reports whether the service, without faults, lets a call have what it wants.
func (sc *randomScenario) isKind() bool {
	for _, d := range sc.Want {
		if d.Item != nil && !sc.hasItem(d.Item.ID) {
			return false
		}
	}
	return sc.keepsIDs() && sc.Limit >= 1000 && sc.Lag == 0
}

// keepsIDs reports whether the cart shows discounts with the keys that were sent.
func (sc *randomScenario) keepsIDs() bool { return sc.Rename == "" || sc.Rename == "trim" }

// String describes the scenario in a failure.
func (sc *randomScenario) String() string {
	text := fmt.Sprintf("service %+v, disturbed: %t\nwanted:\n%s\nat the start:\n",
		sc.habits, sc.Disturbs, describe(onCarts(sc.Want)))
	for _, d := range sc.Initial {
		text += fmt.Sprintln(d.ID, describe([]commerce.CustomDiscount{d}))
	}
	return text
}
