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
	result := "ok"
	switch {
	case c.failed():
		result = "FAIL"
	case c.skipped:
		result = "skip"
	}
	ms := c.took.Milliseconds()
	parts := strings.Split(c.found, "\n")
	first := plain(parts[0])
	lines := []row{columns(checkWidths, result, c.name, fmt.Sprint(ms, " ms"), first)}
	if len(first) > checkWidths[3] {
		lines = []row{columns(checkWidths, result, c.name, fmt.Sprint(ms, " ms"), ""), text("  " + first)}
	}
	for _, part := range parts[1:] {
		lines = append(lines, text(part))
	}
	if c.failed() {
		lines = append(lines, text("  to do: "+c.todo))
	}
	todo, command := todoParts(c.todo)
	r := record{lines: lines, cells: []cell{
		{"check", c.name}, {"result", result}, {"ms", fmt.Sprint(ms)}, {"found", c.found},
		{"todo", todo}, {"command", command},
	}}
	object := membersOf(r.cells)
	object["ms"], r.object = ms, object
	return r
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
		cart, err := s.readCart(ctx, args[0])
		if err != nil {
			return err
		}
		checks := s.checkCart(ctx, cart, nil)
		checks[0].took = time.Since(begin)
		p := e.newPrinter(nil, check{}.record())
		for _, c := range checks {
			p.print(c.record())
		}
		return cmp.Or(p.end(), failures(checks))
	})
	cmd.Example = "  epcommerce carts check CART"
	return cmd
}

// readCart reads a cart with all of its discounts, or returns an error. Carts.Get takes a response
// without a list of them for a cart without discounts.
func (s *shop) readCart(ctx context.Context, id string) (*commerce.Cart, error) {
	nothing := &commerce.EnsureCustomDiscountsOptions{DryRun: true, Prune: true, Engines: []string{"epcommerce"}}
	plan, err := s.Carts.EnsureCustomDiscounts(ctx, id, nil, nothing)
	if plan == nil || plan.Cart == nil {
		return nil, err
	}
	return plan.Cart, nil
}

// checkCart looks at a cart. planned are its discounts after a change; nil: there is none.
func (s *shop) checkCart(ctx context.Context, cart *commerce.Cart, planned []commerce.CustomDiscount) []check {
	items := s.itemsOf(cart)
	if items.failed() {
		return []check{items} // the rest may be right for the cart that is meant
	}
	doubles, limit := s.doublesOf(after(cart, planned)), s.limitOf(ctx, cart, planned)
	if doubles.failed() {
		limit.todo = "" // it may be full because of these
	}
	return []check{
		items, s.enabledFor(cart), promotionsOf(cart), doubles, limit, enginesOf(cart), s.pricesOf(ctx, cart, planned),
		s.totalsOf(ctx, cart, planned),
	}
}

// after returns the discounts of a cart after a change; nil: there is none.
func after(cart *commerce.Cart, planned []commerce.CustomDiscount) []commerce.CustomDiscount {
	if planned == nil {
		return cart.CustomDiscounts
	}
	return planned
}

func (s *shop) itemsOf(cart *commerce.Cart) check {
	c := check{name: "cart", found: counted(len(cart.Items), "item")}
	if len(cart.Items) > 0 {
		if !cart.ExpiresAt.IsZero() {
			c.found += ", expires on " + at(cart.ExpiresAt, time.DateOnly)
		}
		return c
	}
	c.found = "it has no items, and takes no discounts"
	if age := time.Since(cart.Timestamps.CreatedAt); !cart.Timestamps.CreatedAt.IsZero() && age < time.Minute {
		c.found = "it is new and has no items: the id may be wrong, as reading an unknown cart creates it"
	}
	c.todo = "check the id of the cart, or put something into it"
	return c
}

func (s *shop) enabledFor(cart *commerce.Cart) check {
	c := check{name: "enabled", found: "it takes custom discounts"}
	if !cart.CustomDiscountsEnabled {
		c.found, c.todo = "it takes no custom discounts", s.todo(enabling)
		var settings struct {
			Rules bool `json:"use_rule_promotions"`
		}
		if _ = json.Unmarshal(cart.Extra["discount_settings"], &settings); settings.Rules { // it may be absent
			c.found += ", but rule promotions (use_rule_promotions), which end when they are enabled"
		}
	}
	return c
}

func promotionsOf(cart *commerce.Cart) check {
	c := check{name: "promotions", found: "none of the store"}
	n := len(cart.Promotions())
	if n > 0 {
		c.found = counted(n, "promotion") + " of the store"
	}
	if n > 0 && cart.CustomDiscountsEnabled { // otherwise they may end when it is
		c.found += ", which exclude discounts"
		c.todo = todos["promotion_conflict"].text
	}
	return c
}

// limitOf looks at what limits the number of discounts.
func (s *shop) limitOf(ctx context.Context, cart *commerce.Cart, planned []commerce.CustomDiscount) check {
	c := check{name: "limit"}
	known, err := s.settings(ctx)
	switch {
	case err != nil:
		c.found, c.skipped = counted(len(cart.CustomDiscounts), "discount")+"; the limit is not known", true
		return c
	case known.CalculationMethod == "simple":
		c.found, c.todo = "the store takes no custom discounts: its calculation method is simple", toLine
		return c
	case known.CustomDiscountLimit == 0:
		c.found = "the store takes no custom discounts: its limit is 0"
		c.todo = "only Elastic Path's support can raise custom_discount_limit"
		return c
	}
	counts, limit := map[uuid.UUID]int{}, known.CustomDiscountLimit // by item
	for _, d := range after(cart, planned) {
		counts[cmp.Or(d.Item, &commerce.CartItemRef{}).ID]++
	}
	var found []string
	for _, item := range append([]commerce.CartItem{{}}, cart.Items...) { // the cart has the zero id
		n, where := counts[item.ID], "the cart"
		if item.ID != uuid.Nil {
			where = fmt.Sprintf("item %s (%s)", plain(item.Name), item.ID)
		}
		if n >= limit || item.ID == uuid.Nil {
			found = append(found, fmt.Sprintf("%d of %d on %s", n, limit, where))
		}
		if n > limit || n == limit && planned == nil {
			c.todo = s.todo(takesMore)
		}
	}
	c.found = strings.Join(found, ", ")
	return c
}

// toLine is what a store with the calculation method simple needs.
const toLine = "change the calculation method to line, which custom discounts need"

// sumOf returns the sum of discounts. It is not ok if one shows no amount.
func sumOf(discounts []commerce.CustomDiscount) (sum commerce.Decimal, ok bool) {
	ok = true
	for _, d := range discounts {
		sum = sum.Add(d.Amount.Amount)
		ok = ok && isShown(d.Amount)
	}
	return sum, ok
}

// isShown reports whether an amount is there: an absent one is not 0.
func isShown(m commerce.Money) bool { return m.Amount != commerce.Decimal{} }

// pricesOf looks for items whose discounts take more than they cost.
func (s *shop) pricesOf(ctx context.Context, cart *commerce.Cart, planned []commerce.CustomDiscount) check {
	c := check{name: "items", found: "no item costs less than 0"}
	for _, item := range cart.Items {
		discounts := slices.DeleteFunc(slices.Clone(after(cart, planned)), func(d commerce.CustomDiscount) bool {
			return d.Item == nil || d.Item.ID != item.ID
		})
		price, err := cart.PriceOf(&item)
		sum, isReadable := sumOf(discounts)
		switch left := price.Amount.Add(sum); {
		case len(discounts) == 0:
		case err != nil, !isReadable:
			return check{name: "items", found: "the store does not show what each item costs", skipped: true}
		case left.IsNegative():
			price.Amount, price.Formatted = left, ""
			c.found = fmt.Sprintf("item %s (%s) costs %s", plain(item.Name), item.ID, s.money(ctx, price))
			c.todo = s.todo(todos["below_zero"])
		}
	}
	return c
}

// totalsOf compares the totals of a cart with its discounts. That display_price.discount is their
// sum is a guess, so it fails only if the prices do not show them either.
func (s *shop) totalsOf(ctx context.Context, cart *commerce.Cart, planned []commerce.CustomDiscount) check {
	price, pays := &cart.DisplayPrice, cart.DisplayPrice.WithTax
	sum, hasSum := sumOf(cart.CustomDiscounts)
	next, hasNext := sumOf(after(cart, planned))
	if planned != nil {
		pays.Amount, pays.Formatted = pays.Amount.Add(next.Sub(sum)), ""
	}
	discount, lowered := s.money(ctx, price.Discount), price.WithoutTax.Amount.Sub(price.WithoutDiscount.Amount)
	c := check{name: "totals", found: "discounts " + discount + ", the customer pays " + s.money(ctx, pays)}
	skip := check{name: "totals", found: "the store does not show all of them", skipped: true}
	switch {
	case !isShown(price.WithTax), !hasSum, !hasNext, !isShown(price.Discount) && len(cart.CustomDiscounts) > 0:
		return skip
	case pays.Amount.IsNegative():
		c.found, c.todo = "the customer pays "+s.money(ctx, pays), s.todo(todos["below_zero"])
	case planned != nil, len(cart.Promotions()) > 0, price.Discount.Amount.Equal(sum), lowered.Equal(sum): // right
	case !isShown(price.WithoutTax), !isShown(price.WithoutDiscount):
		return skip
	default:
		c.found = "the total discount is " + discount + ", but the discounts are " +
			s.money(ctx, commerce.Money{Amount: sum, Currency: currencyOf(cart)})
		c.todo = s.todo(step{"check again in a minute; if they still differ, ask Elastic Path's support", "carts check CART"})
	}
	return c
}

func (s *shop) doublesOf(planned []commerce.CustomDiscount) check {
	seen, ids, sameAmount := map[[2]string]commerce.Decimal{}, "", true
	for _, d := range planned {
		k := [2]string{d.DiscountEngine, d.ExternalID}
		if first, ok := seen[k]; ok {
			ids += " --id " + id(d.ID)
			sameAmount = sameAmount && first.Equal(d.Amount.Amount)
			continue
		}
		seen[k] = d.Amount.Amount
	}
	c := check{name: "doubled", found: "no discount twice"}
	if ids == "" {
		return c
	}
	c.found = fmt.Sprintf("%d too many of the same engine and external id", strings.Count(ids, "--id"))
	c.todo = s.todo(step{"remove them", "discounts remove CART" + ids})
	if !sameAmount {
		c.found += ", with other amounts"
		c.todo = s.todo(step{"remove the wrong ones: this shows their ids", "discounts show CART"})
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
