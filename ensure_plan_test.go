package commerce

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// drawDiscount draws a discount from few values, so that keys and contents often agree.
func drawDiscount(t *rapid.T) NewCustomDiscount {
	d := NewCustomDiscount{
		Amount:         NewDecimal(-int64(rapid.IntRange(1, 2).Draw(t, "amount"))),
		Description:    rapid.SampledFrom([]string{"text", " text"}).Draw(t, "description"),
		DiscountCode:   "CODE",
		DiscountEngine: rapid.SampledFrom([]string{"engine", "other", "third"}).Draw(t, "engine"),
		ExternalID:     rapid.SampledFrom([]string{"a", "b", "c", "a "}).Draw(t, "external id"),
	}
	if n := rapid.IntRange(0, 2).Draw(t, "item"); n > 0 {
		d.Item = &CartItemRef{Type: ItemTypeCartItem, ID: uuid.UUID{byte(n)}}
	}
	return d
}

func (d *NewCustomDiscount) withID(id uuid.UUID) CustomDiscount {
	added := d.asAdded()
	added.ID = id
	return added
}

// drawCart draws a cart. No relationship shows the level of its unplaced discounts.
func drawCart(t *rapid.T) *cartRead {
	c := &cartRead{Cart: &Cart{}}
	for range rapid.IntRange(0, 6).Draw(t, "discounts") {
		drawn := drawDiscount(t)
		d := drawn.withID(uuid.UUID{byte(rapid.IntRange(1, 255).Draw(t, "id"))})
		if hasDiscount(c.CustomDiscounts, d.ID) {
			continue // each discount of a cart has an id of its own
		}
		if isPlaced := rapid.IntRange(0, 9).Draw(t, "placed") > 0; isPlaced && d.Item == nil {
			c.owned = append(c.owned, d.ID)
		}
		c.CustomDiscounts = append(c.CustomDiscounts, d)
	}
	return c
}

// apply makes the changes of a plan to the cart.
func (c *cartRead) apply(p *ensurePlan) {
	for _, w := range p.delete {
		c.CustomDiscounts = slices.DeleteFunc(c.CustomDiscounts, func(d CustomDiscount) bool { return w.changes(&d) })
	}
	for _, w := range p.update {
		for i := range c.CustomDiscounts {
			if w.changes(&c.CustomDiscounts[i]) {
				c.CustomDiscounts[i] = w.wanted()
			}
		}
	}
	for _, w := range p.add {
		d := w.withID(uuid.New())
		c.CustomDiscounts = append(c.CustomDiscounts, d)
		if d.Item == nil {
			c.owned = append(c.owned, d.ID)
		}
	}
}

// One round of changes brings every cart to the wanted state, unless something may not or
// cannot be changed; and nothing is changed that nobody asked for.
func TestEnsurePlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawCart(t)
		want := rapid.SliceOfNDistinct(rapid.Custom(drawDiscount), 0, 4,
			func(d NewCustomDiscount) discountKey { return d.key() }).Draw(t, "want")
		opts := &EnsureCustomDiscountsOptions{
			Update: rapid.Bool().Draw(t, "update"), Prune: rapid.Bool().Draw(t, "prune"),
		}
		if opts.Prune {
			opts.Engines = []string{"third"}
		}
		plan := newPlan(c, want, opts, newJournal())
		plan.check(t, c, want, opts)
		c.apply(plan)
		again := newPlan(c, want, opts, newJournal())
		if len(again.add) > 0 || len(again.update) > 0 || len(again.delete) > 0 {
			t.Fatalf("the second plan is %+v, want no changes", again)
		}
		if got := fmt.Sprint(again.different); got != fmt.Sprint(plan.different) {
			t.Fatalf("different = %v, want %v as before", got, plan.different)
		}
		again.checkDone(t, c, want)
	})
}

// Of several copies the one with the smallest id is kept, of those that match or can be updated.
func TestEnsurePlan_smallest(t *testing.T) {
	t.Parallel()
	w := NewCustomDiscount{Amount: NewDecimal(-1), DiscountEngine: "engine", ExternalID: "a"}
	other := w
	other.Amount = NewDecimal(-2)
	first, second, third := uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}
	for _, tt := range []struct {
		copies []CustomDiscount
		keep   uuid.UUID
	}{
		{copies: []CustomDiscount{w.withID(second), w.withID(first)}, keep: first},
		{copies: []CustomDiscount{w.withID(first), w.withID(second)}, keep: first},
		{copies: []CustomDiscount{w.withID(third), other.withID(first), w.withID(second)}, keep: second},
		{copies: []CustomDiscount{other.withID(third), other.withID(second)}, keep: second},
		{copies: []CustomDiscount{other.withID(second), other.withID(third)}, keep: second},
	} {
		cart := &cartRead{Cart: &Cart{CustomDiscounts: tt.copies}, owned: []uuid.UUID{first, second, third}}
		p := newPlan(cart, []NewCustomDiscount{w}, &EnsureCustomDiscountsOptions{Update: true}, newJournal())
		if len(p.found) != 1 || p.found[0].ID != tt.keep || len(p.delete) != len(tt.copies)-1 {
			t.Errorf("of %v: keeps %v, deletes %d, want %v", tt.copies, p.found, len(p.delete), tt.keep)
		}
	}
}

// A response that names an id, but does not confirm the add, does not prove that the discount with
// this id and the key of another wanted one comes from it.
func TestJournal_namedID(t *testing.T) {
	t.Parallel()
	a := NewCustomDiscount{Amount: NewDecimal(-1), DiscountEngine: "engine", ExternalID: "a"}
	b := NewCustomDiscount{Amount: NewDecimal(-1), DiscountEngine: "engine", ExternalID: "b"}
	for _, tt := range []struct {
		outcome  Outcome
		isWanted bool // b
		want     bool
	}{
		{outcome: OutcomeUnknown, isWanted: true}, {outcome: OutcomeUnknown, want: true},
		{outcome: OutcomeApplied, isWanted: true, want: true},
	} {
		j, w := newJournal(), &ensureWrite{want: &a, discount: a.withID(uuid.UUID{1}), outcome: tt.outcome}
		j.wanted[a.key()], j.wanted[b.key()] = true, tt.isWanted
		j.record(w)
		j.compare(&Cart{CustomDiscounts: []CustomDiscount{b.withID(uuid.UUID{1})}})
		if w.isSeen != tt.want {
			t.Errorf("%v, b is wanted %t: the add is seen %t, want %t", tt.outcome, tt.isWanted, w.isSeen, tt.want)
		}
	}
}

// A copy whose level is unknown may be the wanted one: it is neither deleted nor added again.
func TestEnsurePlan_unplaced(t *testing.T) {
	t.Parallel()
	w := NewCustomDiscount{Amount: NewDecimal(-1), DiscountEngine: "engine", ExternalID: "a"}
	cart := &cartRead{Cart: &Cart{CustomDiscounts: []CustomDiscount{w.withID(uuid.UUID{1})}}}
	p := newPlan(cart, []NewCustomDiscount{w}, &EnsureCustomDiscountsOptions{Update: true}, newJournal())
	if len(p.add)+len(p.update)+len(p.delete) > 0 || len(p.different) != 1 {
		t.Errorf("plan = %+v, want only a different discount", p)
	}
}

// check checks that a plan changes only what it may change.
func (p *ensurePlan) check(t *rapid.T, c *cartRead, want []NewCustomDiscount, opts *EnsureCustomDiscountsOptions) {
	isWanted := func(d CustomDiscount) bool {
		return slices.ContainsFunc(want, func(w NewCustomDiscount) bool { return w.key() == d.key() })
	}
	isPruned := func(d CustomDiscount) bool {
		sameEngine := func(w NewCustomDiscount) bool { return w.DiscountEngine == d.DiscountEngine }
		return opts.Prune && (d.DiscountEngine == "third" || slices.ContainsFunc(want, sameEngine))
	}
	for _, change := range p.delete {
		d := change.discount
		if !isWanted(d) && !isPruned(d) {
			t.Fatalf("deletes %+v, which nobody asked for", d)
		}
		if !c.isPlaced(&d) {
			t.Fatalf("deletes %+v, whose level is unknown", d)
		}
	}
	for i, w := range want {
		var best *CustomDiscount // the one to keep, if one matches
		for _, d := range c.CustomDiscounts {
			sameLevel := w.Item == nil && d.Item == nil && c.isPlaced(&d) ||
				w.Item != nil && d.Item != nil && w.Item.ID == d.Item.ID
			sameContents := w.Amount.Equal(d.Amount.Amount) && strings.Trim(d.Description, " ") == "text"
			if w.key() == d.key() && sameLevel && sameContents && (best == nil || d.ID.String() < best.ID.String()) {
				best = &d
			}
			if w.key() == d.key() && !c.isPlaced(&d) && slices.Contains(p.add, &want[i]) {
				t.Fatalf("adds %+v, although %+v may be the same", w, d)
			}
		}
		isOfBest := func(change *ensureWrite) bool {
			return best != nil && (change.discount.ID == best.ID || change.want == &want[i])
		}
		if slices.ContainsFunc(slices.Concat(p.delete, p.update), isOfBest) {
			t.Fatalf("changes %+v, which is as wanted, of %+v", best, c.CustomDiscounts)
		}
	}
	for _, change := range p.update {
		if !opts.Update || !c.isPlaced(&change.discount) {
			t.Fatalf("updates %+v", change.discount)
		}
	}
}

// checkDone checks that a plan without changes has found each wanted discount once.
func (p *ensurePlan) checkDone(t *rapid.T, c *cartRead, want []NewCustomDiscount) {
	if !p.isDone() {
		return
	}
	for i, w := range want {
		n := 0
		for _, d := range c.CustomDiscounts {
			if w.key() != d.key() {
				continue
			}
			if n++; !w.hasContents(&d) || (w.Item == nil) != (d.Item == nil) {
				t.Fatalf("the cart has %+v, want %+v", d, w)
			}
		}
		if n != 1 || p.found[i].key() != w.key() || p.matched != len(want) {
			t.Fatalf("the cart has %d of %+v, want 1; found %+v", n, w, p.found)
		}
	}
}
