package ensure_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const (
	cartID        = "cart"
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
	Shared   bool   // commercetest can do the same: the results are compared
	Disturbs bool   // another program adds discounts of another engine
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

// newRandomScenario returns a scenario. A third of them have one caller, and nothing that
// commercetest does not do.
func newRandomScenario(r *rand.Rand) *randomScenario {
	sc := &randomScenario{seed: r.Uint64()}
	sc.Shared = r.IntN(3) == 0
	sc.habits = habits{Limit: 1000}
	if r.IntN(6) == 0 {
		sc.Limit = 1 + r.IntN(3)
	}
	if !sc.Shared {
		sc.addHabits(r)
	}
	sc.addDiscounts(r)
	callers := 1
	if !sc.Shared && r.IntN(2) == 0 {
		callers = 2 + r.IntN(2)
	}
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
	sc.BareAmounts, sc.WithoutItems = r.IntN(4) == 0, r.IntN(4) == 0
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
	for _, item := range sc.Items {
		if item.ID == id {
			return true
		}
	}
	return false
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
		},
		Pause: time.Duration(r.IntN(2)) * time.Duration(r.Int64N(int64(2*longestLate))),
	}
	if !sc.Shared && r.IntN(5) == 0 {
		c.Timeout = time.Duration(1 + r.Int64N(int64(20*attemptTimeout)))
	}
	return c
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
	if sc.Shared {
		faults = faults[:len(faults)-1]
	}
	return faults[r.IntN(len(faults))]
}

// asStoreFault returns the same fault of commercetest for the request after the first n.
func (f fault) asStoreFault(n int) commercetest.Fault {
	sf := commercetest.Fault{
		After: n, Apply: f.Apply, Late: f.Late > 0, Delay: f.Late + f.Delay, Status: f.Status, Cut: f.Lost || f.Cut,
	}
	if f.Cut {
		sf.CutAfter = cutAfter
	}
	if f.Status == http.StatusTooManyRequests {
		sf.Body = "slow down"
	}
	return sf
}

// newServer returns a server with the cart as it is at the start.
func (sc *randomScenario) newServer() *cartServer {
	s := &cartServer{habits: sc.habits, items: sc.Items}
	var list []savedDiscount
	for _, d := range sc.Initial {
		list = append(list, newSavedDiscount(d))
	}
	s.states = []cartState{{since: time.Now().Add(-time.Hour), discounts: list}}
	return s
}

func newSavedDiscount(d commerce.CustomDiscount) savedDiscount {
	saved := savedDiscount{
		ID: d.ID, Amount: d.Amount.Amount.IntPart(), Description: d.Description, Code: d.DiscountCode,
		Engine: d.DiscountEngine, ExternalID: d.ExternalID,
	}
	if d.Item != nil {
		saved.Relationships.Item.Data = *d.Item
	}
	return saved
}

// onCart returns d as the library returns it, without its id and without white space.
func (d *savedDiscount) onCart() commerce.CustomDiscount {
	c := commerce.CustomDiscount{
		Amount: commerce.Money{Amount: commerce.NewDecimal(d.Amount)}, Description: d.Description,
		DiscountCode: d.Code, DiscountEngine: d.Engine, ExternalID: strings.TrimSpace(d.ExternalID),
	}
	if d.item() != uuid.Nil {
		c.Item = &d.Relationships.Item.Data
	}
	return c
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
	var b strings.Builder
	fmt.Fprintf(&b, "service %+v, disturbed: %t\nwanted:\n", sc.habits, sc.Disturbs)
	for _, d := range sc.Want {
		fmt.Fprintln(&b, "  "+describe([]commerce.CustomDiscount{onCart(d)}))
	}
	fmt.Fprintln(&b, "at the start:")
	for _, d := range sc.Initial {
		fmt.Fprintln(&b, " ", d.ID, describe([]commerce.CustomDiscount{d}))
	}
	return b.String()
}
