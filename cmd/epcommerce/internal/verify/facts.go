package verify

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// fact is what a row of docs/service.md states, as responses can show it.
type fact struct {
	name  string   // f- and the words after it: the anchor of the row
	grade string   // that of the row
	want  string   // what the row states, in words that ask can return
	may   []string // what it allows besides
	flag  string   // without which the fact is not asked
	uses  string   // what it shares with other facts: a name of shares
	need           // what only this fact needs
	// ask returns what the store does: in words of this program, statuses, and numbers that it
	// sent. What follows a "; " is a detail. It calls skip if the store cannot show the fact.
	ask func(*asker) string
}

// need is the number of requests, without deletions, and of carts that something takes at most.
type need struct{ requests, carts int }

// shares are what several facts use, by the name of asker.once.
var shares = map[string]need{
	"page": {requests: 1}, "accounts": {requests: 1}, "unknown subscription": {requests: 1},
	"first cart": {17, 1}, "shared cart": {5, 1}, "both settings": {2, 1}, "emptied cart": {6, 1},
	"three pieces": {5, 1}, "partial add": {4, 1}, "promoted cart": {6, 1}, "paused subscription": {requests: 5},
	"canceled subscription": {requests: 8}, "burst": {},
}

// The facts in the order in which they are asked. All others depend on the first ones.
var facts = slices.Concat(firstFacts, listFacts, cartFacts, discountFacts, flagFacts)

// firstFacts are always asked. They set asker.kind.
var firstFacts = []fact{
	{
		name: "f-settings", grade: "doc", need: need{requests: 2}, want: "has the four members",
		ask: func(a *asker) string {
			r := a.get("settings")
			limit, hasLimit := numberAt(r.body, "data.custom_discount_limit")
			length, hasLength := numberAt(r.body, "data.page_length")
			a.kind.limit, a.kind.pageLength = int(limit), int(length)
			a.kind.method = known(textAt(r.body, "data.calculation_method"), "line", "simple")
			if !hasLimit {
				a.kind.limit = 5
			}
			carts := a.get("settings/cart")
			a.kind.enabled = carts.at("data.discounts.custom_discounts_enabled") == true
			days, _ := numberAt(carts.body, "data.cart_expiry_days")
			a.kind.expiryDays = int(days)
			_, hasOffset := numberAt(r.body, "data.page_offset_limit")
			if r.ok() && (!hasLimit || !hasLength || !hasOffset || a.kind.method == "unknown") {
				return "lacks a member"
			}
			return or(r.ok(), "has the four members", r.says())
		},
	},
	{
		name: "f-currencies", grade: "doc", need: need{requests: 1}, want: "have the eight members",
		ask: func(a *asker) string {
			r := once(a, "currencies", func() reply { return a.get("currencies") })
			for _, name := range []string{
				"code", "decimal_places", "decimal_point", "thousand_separator", "format", "exchange_rate", "default", "enabled",
			} {
				if r.ok() && r.at("data.0."+name) == nil {
					return "lack " + name
				}
			}
			return or(r.ok(), "have the eight members", r.says())
		},
	},
	{
		name: "f-reads-follow", grade: "open", uses: "first cart", want: "by the next read",
		may: []string{"within 2 s"}, ask: func(a *asker) string { return when(a.firstCart().discount) },
	},
	{
		name: "f-totals-follow", grade: "open", uses: "first cart", want: "with the discount",
		ask: func(a *asker) string {
			seen := a.firstCart()
			if seen.discount < 0 {
				return a.skip("no read shows the discount")
			}
			return or(seen.total == seen.discount, "with the discount", when(seen.total))
		},
	},
}

// visible is when reads of a cart showed a discount and its total, after the add.
type visible struct{ discount, total time.Duration }

// firstCart adds a discount to a cart, and reads it until its total shows it.
func (a *asker) firstCart() visible {
	return once(a, "first cart", func() visible {
		c, seen, before := a.openCart(item("one", 10_000, 1)), visible{-1, -1}, reply{}
		a.until(func(time.Duration) bool {
			before = a.read(c)
			return price(before) > 0
		})
		a.kind.tax = taxOf(before)
		a.added(c, discount("first", -300))
		a.until(func(passed time.Duration) bool {
			after := a.read(c)
			if seen.discount < 0 && discountsOf(after) == 1 {
				seen.discount = passed
			}
			if seen.discount >= 0 && price(after) < price(before) {
				seen.total = passed
			}
			return seen.total >= 0
		})
		if seen.total > 0 { // it was not the first read
			a.kind.lag = seen.total
		}
		return seen
	})
}

// until calls f until it returns true, with the time that has passed before the call: 0 at first.
// Then it waits longer each time, and gives up after 10 s.
func (a *asker) until(f func(passed time.Duration) bool) {
	start, passed := time.Now(), time.Duration(0)
	for wait := 250 * time.Millisecond; !f(passed) && passed < maxVisibleIn && a.why == ""; wait *= 2 {
		_ = pause(a.ctx, wait)
		passed = time.Since(start)
	}
}

func when(d time.Duration) string {
	switch {
	case d < 0:
		return fmt.Sprintf("not within %v", maxVisibleIn)
	case d == 0:
		return "by the next read"
	case d <= 2*time.Second:
		return "within 2 s"
	}
	return fmt.Sprintf("after %v", d.Round(time.Second))
}

// known returns text if it is one of those, otherwise "unknown".
func known(text string, texts ...string) string {
	return or(slices.Contains(texts, text), text, "unknown")
}

func or(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// taxOf returns in words which tax a cart has.
func taxOf(cart reply) string {
	tax, _ := numberAt(cart.body, "data.meta.display_price.tax.amount")
	switch {
	case dig(anyItem(cart), "unit_price.includes_tax") == true:
		return "included in prices"
	case tax != 0:
		return "added to prices"
	}
	return "none on custom items"
}

// price returns what a cart costs without tax.
func price(cart reply) float64 {
	n, _ := numberAt(cart.body, "data.meta.display_price.without_tax.amount")
	return n
}

// off returns the total discount of a cart, and whether it shows one.
func off(cart reply) (float64, bool) {
	return numberAt(cart.body, "data.meta.display_price.discount.amount")
}

// anyItem returns the first custom item of a cart.
func anyItem(cart reply) any {
	for _, in := range cart.list("included.items") {
		if textAt(in, "type") == "custom_item" {
			return in
		}
	}
	return nil
}

// cart is a cart of the run. Its items have ids in the order in which they were added.
type cart struct {
	path  string // its own, below /v2
	items []string
}

func (c cart) discounts() string { return c.path + "/custom-discounts" }

// item returns the path of its first item.
func (c cart) item() string { return c.path + "/items/" + c.first() }

// first returns the id of its first item, or "none": the asker knows why, and sends nothing.
func (c cart) first() string {
	if len(c.items) == 0 {
		return "none"
	}
	return c.items[0]
}

func item(sku string, price, quantity int) object {
	return object{
		"type": "custom_item", "name": "verify-" + sku, "sku": "verify-" + sku, "quantity": quantity,
		"price": object{"amount": price, "includes_tax": false},
	}
}

func discount(externalID string, amount any) object {
	return object{
		"type": "custom_discount", "external_id": "verify-" + externalID, "amount": amount,
		"discount_engine": "epcommerce-verify", "description": "verify", "discount_code": "VERIFY",
	}
}

// on returns the discount for the first item of a cart.
func on(c cart, d object) object {
	d = maps.Clone(d)
	d["relationships"] = object{"item": object{"data": object{"type": "custom_item", "id": c.first()}}}
	return d
}

// newCart creates a cart by adding items to it.
func (a *asker) newCart(items ...object) cart {
	c := cart{path: "carts/" + a.newCartID()}
	for _, in := range items {
		r := a.must(a.post(c.path+"/items", in), "an item")
		for _, line := range r.list("data") {
			if id := textAt(line, "id"); textAt(line, "sku") == in["sku"] && !slices.Contains(c.items, id) {
				c.items = append(c.items, id)
			}
		}
	}
	if len(c.items) < len(items) {
		a.skip("the response to an item does not show it")
	}
	return c
}

// openCart creates a cart that takes custom discounts.
func (a *asker) openCart(items ...object) cart {
	switch {
	case a.kind.method == "simple":
		a.skip("the calculation method is simple")
	case a.kind.limit < 1:
		a.skip("the store takes no discounts")
	}
	if a.why != "" {
		return cart{}
	}
	c := a.newCart(items...)
	a.must(a.put(c.path, settings(true, false)), "to enable custom discounts")
	return c
}

// settings are those of discounts of a cart.
func settings(custom, rules bool) object {
	return object{"discount_settings": object{"custom_discounts_enabled": custom, "use_rule_promotions": rules}}
}

func (a *asker) add(c cart, discounts ...object) reply { return a.post(c.discounts(), discounts) }

// added adds discounts that are valid. The fact ends if the store does not take them.
func (a *asker) added(c cart, discounts ...object) reply {
	return a.must(a.add(c, discounts...), "an add")
}

// read reads a cart, after its totals had time to follow the last write.
func (a *asker) read(c cart) reply {
	if wait := time.Until(a.lastWrite.Add(a.kind.lag)); wait > 0 && a.kind.lag > 0 {
		_ = pause(a.ctx, wait)
	}
	return a.must(a.get(c.path, "include", "items,custom_discounts"), "a read of a cart")
}

// discountsOf returns the number of discounts that a cart has, with those of its items.
func discountsOf(cart reply) int { return len(cart.list("included.custom_discounts")) }

// refusal returns in words how a write was refused, by its status.
func refusal(r reply) string {
	if r.ok() {
		return "accepted"
	}
	return fmt.Sprint(r.status)
}

const subscriptions = "subscriptions/subscriptions"

// page returns the first subscriptions. The fact ends if there are none.
func (a *asker) page() reply {
	return once(a, "page", func() reply {
		r := a.must(a.get(subscriptions, "page[limit]", "100"), "the list of subscriptions")
		if len(r.list("data")) == 0 {
			a.skip("the store has no subscriptions")
		}
		if a.kind.generation = "first"; hasAny(r.list("data"), "attributes.pricing_option_id") {
			a.kind.generation = "second"
		}
		return r
	})
}

func hasAny(list []any, path string) bool {
	return slices.ContainsFunc(list, func(v any) bool { return dig(v, path) != nil })
}

// idsOf returns the ids in a list.
func idsOf(list []any) (ids []string) {
	for _, v := range list {
		ids = append(ids, textAt(v, "id"))
	}
	return ids
}

// firstOf returns the text at a path of the first subscription that has one.
func (a *asker) firstOf(path string) string {
	for _, sub := range a.page().list("data") {
		if text := textAt(sub, path); text != "" {
			return text
		}
	}
	return a.skip("no subscription of the first page has " + path)
}

func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// account is that of the first subscription.
func (a *asker) account() string { return a.firstOf("attributes.account_id") }

// filtered reports in words what a filter on the account of the first subscription finds.
func (a *asker) filtered(format string) string {
	account := a.account()
	r := a.get(subscriptions, "filter", fmt.Sprintf(format, account), "page[limit]", "100")
	if a.why != "" || !r.ok() {
		return r.says()
	}
	for _, sub := range r.list("data") {
		if textAt(sub, "attributes.account_id") != account {
			return "finds others"
		}
	}
	return or(len(r.list("data")) > 0, "finds its subscriptions", "finds none")
}

const findsIts = "finds its subscriptions"

// direction returns in words how the values of a list change from each to the next.
func direction(values []string) string {
	rises, falls := 0, 0
	for i := 1; i < len(values); i++ {
		switch strings.Compare(values[i-1], values[i]) {
		case -1:
			rises++
		case 1:
			falls++
		}
	}
	switch {
	case rises > 0 && falls > 0:
		return "mixed"
	case rises > 0:
		return "rises"
	case falls > 0:
		return "falls"
	}
	return "is the same"
}

// instants returns the times at a path of each of a list, as texts that sort.
func instants(list []any, path string) (texts []string) {
	for _, v := range list {
		t, err := time.Parse(time.RFC3339Nano, textAt(v, path))
		if err == nil {
			texts = append(texts, t.UTC().Format("2006-01-02T15:04:05.000000000"))
		}
	}
	return texts
}

// near reports whether two amounts are the same, but for rounding.
func near(a, b float64) bool { return math.Abs(a-b) <= 1 }

// together sends requests at the same time, and returns the responses that there were.
func (a *asker) together(n int, send func(i int) reply) (replies []reply) {
	if a.why != "" {
		return nil
	}
	results := make(chan reply, n)
	for i := range n {
		go func() { results <- send(i) }()
	}
	for range n {
		replies = append(replies, <-results)
	}
	a.lost = a.lost || slices.ContainsFunc(replies, func(r reply) bool { return r.status == 0 || r.status/100 == 5 })
	return replies
}
