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
	isLarge    bool // without a lock, two calls that write much can meet in very many ways
}

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

func set(name string) *job {
	return &job{
		name: name, isSet: true,
		isRight: func(s store) bool {
			return s.IsEnabled && s.String() == fmt.Sprintf("engine/a %d, engine/b -5, other/a -1", -s.Price/10)
		},
		do: func(ctx context.Context, client *commerce.Client, c *call) {
			c.result, c.err = client.Carts.SetCustomDiscounts(ctx, "cart", engine, want, nil)
		},
	}
}

// want is for SetCustomDiscounts: 10 % and 5.
func want(c *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
	price, err := c.Subtotal()
	percent := newDiscount("a", 0)
	percent.Amount = price.Amount.Percent(commerce.NewDecimal(-10))
	return []commerce.NewCustomDiscount{percent, newDiscount("b", -5)}, err
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
	pause, resume := commerce.ActionPause, commerce.ActionResume
	with := func(jobs ...*job) []*job { return jobs }
	locked := []*setting{
		{name: "add", initial: empty, jobs: with(add("A", "a", "b"))},
		{name: "add, limit", initial: full, jobs: with(add("A", "a", "b", "c")), isHopeless: true},
		{name: "ensure", initial: unlike, jobs: with(two("A"))},
		{name: "ensure, limit", initial: full, jobs: with(ensure("A", "", a, b, c)), isHopeless: true},
		{name: "set", initial: unlike, jobs: with(set("A")), prices: true},
		{name: "set, disabled", initial: disabled, jobs: with(set("A"))},
		{name: "enable", initial: disabled, jobs: with(enable("A"))},
		{name: "two adds", initial: empty, jobs: with(add("A", "a"), add("B", "b"))},
		{name: "two ensures", initial: unlike, jobs: with(two("A"), two("B")), isSame: true},
		{name: "two sets", initial: unlike, jobs: with(set("A"), set("B")), prices: true, isSame: true},
		{name: "two sets, disabled", initial: disabled, jobs: with(set("A"), set("B")), isSame: true},
		{name: "enable and set", initial: disabled, jobs: with(enable("A"), set("B"))},
	}
	for _, s := range locked {
		s.hasLock = true
	}
	return append(locked, []*setting{
		{name: "two adds, no lock", initial: empty, jobs: with(add("A", "a"), add("B", "b"))},
		{name: "two ensures, no lock", initial: empty, jobs: with(one("A"), one("B")), isSame: true},
		{name: "two updates, no lock", initial: wrong, jobs: with(one("A"), one("B")), isSame: true},
		{name: "two prunes, no lock", initial: unlike, jobs: with(one("A"), one("B")), isSame: true, isLarge: true},
		{name: "two sets, no lock", initial: empty, jobs: with(set("A"), set("B")), isSame: true, isLarge: true},
		{name: "enable and set, no lock", initial: disabled, jobs: with(enable("A"), set("B")), isLarge: true},
		{name: "state", initial: empty, jobs: with(change("A", pause))},
		{name: "two pauses", initial: empty, jobs: with(change("A", pause), change("B", pause)), isSame: true},
		{name: "pause and resume", initial: empty, jobs: with(change("A", pause), change("B", resume))},
	}...)
}
