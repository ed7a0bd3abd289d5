package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/commerce-go/commerce"
)

// check is something that a command looked at. It failed if todo, how to repair it, is not empty.
type check struct {
	name, found, todo string
	skipped           bool
	took              time.Duration
}

var checkWidths = []int{4, 10, 8, 52}

func (c check) failed() bool { return c.todo != "" }

func (c check) record() record {
	result, found := "ok", c.found
	switch {
	case c.failed():
		result, found = "FAIL", found+"\n  to do: "+c.todo
	case c.skipped:
		result = "skip"
	}
	ms := fmt.Sprint(c.took.Milliseconds())
	parts := strings.Split(found, "\n")
	first := plain(parts[0])
	lines := []row{columns(checkWidths, result, c.name, ms+" ms", first)}
	if len(first) > checkWidths[3] {
		lines = []row{columns(checkWidths, result, c.name, ms+" ms", ""), text("  " + first)}
	}
	for _, part := range parts[1:] {
		lines = append(lines, text(part))
	}
	return record{
		lines:  lines,
		cells:  []cell{{"check", c.name}, {"result", result}, {"ms", ms}, {"found", found}},
		object: map[string]string{"check": c.name, "result": result, "ms": ms, "found": found},
	}
}

// failures returns an error if some checks failed.
func failures(checks []check) error {
	n := 0
	for _, c := range checks {
		if c.failed() {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return errors.New(counted(n, "check") + " failed")
}

// counted returns a number of things, which word is one of.
func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func newCheckCommand(e *environment) *cobra.Command {
	short := "Find out why a cart takes no discounts, or one twice"
	cmd := e.command("check CART", short, func(ctx context.Context, s *shop, args []string) error {
		begin := time.Now()
		cart, err := s.Carts.Get(ctx, args[0])
		if err != nil {
			return err
		}
		checks := s.checkCart(ctx, cart, cart.CustomDiscounts)
		checks[0].took = time.Since(begin)
		p := e.newPrinter(nil, check{}.record())
		for _, c := range checks {
			p.print(c.record())
		}
		if err := p.end(); err != nil {
			return err
		}
		return failures(checks)
	})
	cmd.Example = "  epcommerce carts check CART"
	return cmd
}

// checkCart looks at a cart. planned are its discounts after a change, or those that it has.
func (s *shop) checkCart(ctx context.Context, cart *commerce.Cart, planned []commerce.CustomDiscount) []check {
	return checkCart(cart, planned, func() (*commerce.Settings, error) { return s.Settings(ctx) })
}

// checkCart is [shop.checkCart] with settings that it asks for if it needs them.
func checkCart(
	cart *commerce.Cart, planned []commerce.CustomDiscount, settings func() (*commerce.Settings, error),
) []check {
	items := itemsOf(cart)
	if items.failed() {
		return []check{items} // the rest may be right for the cart that is meant
	}
	doubles, limit := doublesOf(cart.ID, planned), limitOf(cart, planned, settings)
	if doubles.failed() {
		limit.todo = "" // it may be full because of these
	}
	return []check{items, enabledFor(cart), promotionsOf(cart), doubles, limit, enginesOf(cart)}
}

func itemsOf(cart *commerce.Cart) check {
	c := check{name: "cart", found: counted(len(cart.Items), "item")}
	if len(cart.Items) > 0 {
		if !cart.ExpiresAt.IsZero() {
			c.found += ", expires on " + at(cart.ExpiresAt, time.DateOnly)
		}
		return c
	}
	c.found = "it has no items, and takes no discounts"
	if age := time.Since(cart.Timestamps.CreatedAt); !cart.Timestamps.CreatedAt.IsZero() && age < time.Minute {
		c.found = "it did not exist a minute ago: reading an unknown cart creates it"
	}
	c.todo = "check the id of the cart, or put something into it"
	return c
}

// mayEnd is what somebody must know before a cart is changed.
const mayEnd = "enabling custom discounts may end the promotions of the store on the cart"

func enabledFor(cart *commerce.Cart) check {
	c := check{name: "enabled", found: "it takes custom discounts"}
	if !cart.CustomDiscountsEnabled {
		c.found = "it takes no custom discounts"
		c.todo = "epcommerce discounts enable " + cart.ID + "; " + mayEnd
	}
	return c
}

// promotionsOf looks for promotions of the store, as items of their own or in other items.
func promotionsOf(cart *commerce.Cart) check {
	n := 0
	for _, item := range cart.Items {
		var discounts []struct {
			Source string `json:"promotion_source"`
		}
		_ = json.Unmarshal(item.Extra["discounts"], &discounts) // absent, or not for us
		if item.Type == "promotion_item" || len(discounts) > 0 && discounts[0].Source != "" {
			n++
		}
	}
	c := check{name: "promotions", found: "none of the store"}
	if n > 0 {
		c.found = counted(n, "item") + " with promotions of the store"
	}
	if n > 0 && cart.CustomDiscountsEnabled { // otherwise they may end when it is
		c.found += ", which exclude discounts"
		c.todo = todos["promotion_conflict"]
	}
	return c
}

func limitOf(
	cart *commerce.Cart, planned []commerce.CustomDiscount, settings func() (*commerce.Settings, error),
) check {
	c := check{name: "limit"}
	known, err := settings()
	if err != nil {
		c.found = counted(len(planned), "discount") + "; the limit cannot be read"
		return c
	}
	counts, fullest := map[uuid.UUID]int{}, 0 // by item
	for _, d := range planned {
		item := uuid.Nil
		if d.Item != nil {
			item = d.Item.ID
		}
		if counts[item]++; item != uuid.Nil {
			fullest = max(fullest, counts[item])
		}
	}
	limit := known.CustomDiscountLimit
	c.found = fmt.Sprintf("%d of %d on the cart", counts[uuid.Nil], limit)
	if fullest > 0 {
		c.found += fmt.Sprintf(", at most %d of %d on an item", fullest, limit)
	}
	if counts[uuid.Nil] > limit || fullest > limit ||
		limit > 0 && len(planned) == len(cart.CustomDiscounts) && max(counts[uuid.Nil], fullest) == limit {
		c.todo = "epcommerce discounts remove " + cart.ID + ", or ask the vendor's support to raise custom_discount_limit"
	}
	return c
}

func doublesOf(cartID string, planned []commerce.CustomDiscount) check {
	seen, ids := map[[2]string]bool{}, ""
	for _, d := range planned {
		k := [2]string{d.DiscountEngine, d.ExternalID}
		if seen[k] {
			ids += " --id " + id(d.ID)
		}
		seen[k] = true
	}
	c := check{name: "doubled", found: "no discount twice"}
	if ids != "" {
		c.found = fmt.Sprintf("%d too many of the same engine and external id", strings.Count(ids, "--id"))
		c.todo = "epcommerce discounts remove " + cartID + ids
	}
	return c
}

func enginesOf(cart *commerce.Cart) check {
	counts := map[string]int{}
	for _, d := range cart.CustomDiscounts {
		counts[plain(d.DiscountEngine)]++
	}
	var found []string
	for _, engine := range slices.Sorted(maps.Keys(counts)) {
		found = append(found, fmt.Sprintf("%s: %d", engine, counts[engine]))
	}
	return check{name: "engines", found: cmp.Or(strings.Join(found, ", "), "none")}
}
