package exhaustive_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

const (
	engine                 = "engine"
	startPrice, otherPrice = 1000, 2000
)

// setting is what calls meet: the calls, and the store.
type setting struct {
	name       string
	initial    store
	jobs       []*job
	hasLock    bool
	prices     bool // the price may change
	isHopeless bool // the calls can only fail
	isSame     bool // all jobs are the same
	faults     limits
}

// limits are the maximum numbers of faults of a run, in go test and in make exhaustive.
type limits struct{ few, all int }

// job is a call of the library.
type job struct {
	name    string
	do      func(ctx context.Context, client *commerce.Client, c *call)
	isRight func(store) bool // without an error
	isOnce  bool             // it must not be called again
	isBlind bool             // it need not read
	isSet   bool             // it is SetCustomDiscounts
}

func newDiscount(externalID string, amount int64) commerce.NewCustomDiscount {
	return commerce.NewCustomDiscount{
		Amount: commerce.NewDecimal(amount), Description: externalID, DiscountCode: externalID,
		DiscountEngine: engine, ExternalID: externalID,
	}
}

func on(externalID string, amount int64, engine string, id byte) discount {
	return discount{
		ID: uuid.UUID{0: 2, 15: id}, Type: "custom_discount", Engine: engine, ExternalID: externalID, Amount: amount,
	}
}

func add(name string, ids ...string) *job {
	var batch []commerce.NewCustomDiscount
	for _, id := range ids {
		batch = append(batch, newDiscount(id, -10))
	}
	return &job{name: name, isOnce: true, do: func(ctx context.Context, client *commerce.Client, c *call) {
		c.added, c.err = client.Carts.AddCustomDiscounts(ctx, "cart", batch, nil)
	}}
}

func ensure(name, right string, want ...commerce.NewCustomDiscount) *job {
	opts := &commerce.EnsureCustomDiscountsOptions{Update: true, Prune: true}
	return &job{
		name: name, isRight: func(s store) bool { return s.String() == right },
		do: func(ctx context.Context, client *commerce.Client, c *call) {
			c.result, c.err = client.Carts.EnsureCustomDiscounts(ctx, "cart", want, opts)
		},
	}
}

// set wants 10 % and 5 off, and setOne only 10 %.
func set(name string) *job    { return setTo(name, ", engine/b -5", newDiscount("b", -5)) }
func setOne(name string) *job { return setTo(name, "") }

func setTo(name, right string, more ...commerce.NewCustomDiscount) *job {
	want := func(_ context.Context, c *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
		price, err := c.Subtotal()
		percent := newDiscount("a", 0)
		percent.Amount = price.Amount.Percent(commerce.NewDecimal(-10))
		return append(slices.Clone(more), percent), err
	}
	return &job{
		name: name, isSet: true,
		isRight: func(s store) bool {
			return s.IsEnabled && s.String() == fmt.Sprintf("engine/a %d%s, other/a -1", -s.Price/10, right)
		},
		do: func(ctx context.Context, client *commerce.Client, c *call) {
			opts := &commerce.SetCustomDiscountsOptions{Engine: engine}
			c.result, c.err = client.Carts.SetCustomDiscounts(ctx, "cart", want, opts)
		},
	}
}

func enable(name string) *job {
	return &job{
		name: name, isBlind: true, isRight: func(s store) bool { return s.IsEnabled },
		do: func(ctx context.Context, client *commerce.Client, c *call) {
			c.err = client.Carts.EnableCustomDiscounts(ctx, "cart")
		},
	}
}

func change(name string, action commerce.StateAction) *job {
	return &job{
		name: name, isRight: func(s store) bool { return s.IsPaused == (action == commerce.ActionPause) },
		do: func(ctx context.Context, client *commerce.Client, c *call) {
			_, c.err = client.Subscriptions.EnsureState(ctx, subscriptionID, commerce.StateChange{Action: action})
		},
	}
}

var (
	foreign = on("a", -1, "other", 1)
	empty   = store{Price: startPrice, Limit: 9, IsEnabled: true, Discounts: []discount{foreign}}
	wrong   = empty.with(on("a", -7, engine, 2))
	unlike  = wrong.with(on("x", -3, engine, 3))
)

// with returns the state with further discounts on the cart.
func (s store) with(more ...discount) store {
	s.Discounts = append(slices.Clone(s.Discounts), more...)
	return s
}

// settings returns all settings.
func settings() []*setting {
	disabled, full := empty, empty
	disabled.IsEnabled, full.Limit = false, 3
	a, b, c := newDiscount("a", -100), newDiscount("b", -5), newDiscount("c", -1)
	one := func(name string) *job { return ensure(name, "engine/a -100, other/a -1", a) }
	two := func(name string) *job { return ensure(name, "engine/a -100, engine/b -5, other/a -1", a, b) }
	pause := func(name string) *job { return change(name, commerce.ActionPause) }
	resume := func(name string) *job { return change(name, commerce.ActionResume) }
	with := func(jobs ...*job) []*job { return jobs }
	locked := []*setting{
		{name: "add", faults: limits{2, 3}, initial: empty, jobs: with(add("A", "a", "b"))},
		{name: "add, limit", faults: limits{2, 3}, initial: full, jobs: with(add("A", "a", "b", "c")), isHopeless: true},
		{name: "ensure", faults: limits{1, 3}, initial: unlike, jobs: with(two("A"))},
		{name: "ensure one", faults: limits{2, 3}, initial: empty, jobs: with(one("A"))},
		{name: "update one", faults: limits{2, 3}, initial: wrong, jobs: with(one("A"))},
		{name: "ensure, limit", faults: limits{1, 3}, initial: full, jobs: with(ensure("A", "", a, b, c)), isHopeless: true},
		{name: "set", faults: limits{1, 3}, initial: unlike, jobs: with(set("A")), prices: true},
		{name: "set, disabled", faults: limits{1, 3}, initial: disabled, jobs: with(set("A"))},
		{name: "enable", faults: limits{2, 3}, initial: disabled, jobs: with(enable("A"))},
		{name: "two adds", faults: limits{1, 2}, initial: empty, jobs: with(add("A", "a"), add("B", "b"))},
		{name: "two ensures", faults: limits{1, 2}, initial: unlike, jobs: with(two("A"), two("B")), isSame: true},
		{name: "two sets", faults: limits{1, 2}, initial: unlike, jobs: with(set("A"), set("B")), prices: true, isSame: true},
		{name: "two sets, disabled", faults: limits{1, 2}, initial: disabled, jobs: with(set("A"), set("B")), isSame: true},
		{name: "enable and set", faults: limits{1, 2}, initial: disabled, jobs: with(enable("A"), set("B"))},
	}
	for _, s := range locked {
		s.hasLock = true
	}
	return append(locked, []*setting{
		{name: "two adds, no lock", faults: limits{1, 2}, initial: empty, jobs: with(add("A", "a"), add("B", "b"))},
		{name: "two ensures, no lock", faults: limits{0, 2}, initial: empty, jobs: with(one("A"), one("B")), isSame: true},
		{name: "two updates, no lock", faults: limits{1, 2}, initial: wrong, jobs: with(one("A"), one("B")), isSame: true},
		{name: "two prunes, no lock", faults: limits{0, 1}, initial: unlike, jobs: with(one("A"), one("B")), isSame: true},
		{name: "two sets, no lock", faults: limits{0, 1}, initial: empty, jobs: with(set("A"), set("B")), isSame: true},
		{name: "two sets of one, no lock", faults: limits{0, 2}, initial: empty,
			jobs: with(setOne("A"), setOne("B")), isSame: true},
		{name: "enable and set, no lock", faults: limits{0, 2}, initial: disabled, jobs: with(enable("A"), set("B"))},
		{name: "state", faults: limits{2, 3}, initial: empty, jobs: with(pause("A"))},
		{name: "two pauses", faults: limits{1, 2}, initial: empty, jobs: with(pause("A"), pause("B")), isSame: true},
		{name: "pause and resume", faults: limits{1, 2}, initial: empty, jobs: with(pause("A"), resume("B"))},
	}...)
}
