package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/commerce-go/commerce"
)

// flagFacts are asked only with a flag. The last one cannot be undone.
var flagFacts = []fact{
	{
		name: "f-shipping", grade: "doc", uses: "shared cart", flag: "shipping", want: "in all totals",
		ask: func(a *asker) string {
			r := a.shared().before
			shipping, _ := numberAt(r.body, "data.meta.display_price.shipping.amount")
			if shipping == 0 {
				return a.skip("the cart has no shipping")
			}
			withTax, _ := numberAt(r.body, "data.meta.display_price.with_tax.amount")
			total, ok := subtotal(r)
			if !ok {
				return a.skip("the prices of the cart have no without_discount")
			}
			return or(total == 10_000+shipping && withTax >= total, "in all totals", "not in all totals")
		},
	},
	{
		name: "f-currency", grade: "open", flag: "currency", need: need{2, 1}, want: "a read without the header keeps it",
		ask: func(a *asker) string {
			c, err := a.client.With(commerce.WithHeader("X-Moltin-Currency", a.opts.Currency))
			if err != nil {
				return a.skip("the client refuses the currency")
			}
			id := a.newCartID()
			r := ask(a.ctx, c, http.MethodPost, "carts/"+id+"/items", nil, object{"data": item("one", 10_000, 1)})
			a.lost = a.lost || r.status == 0
			if !r.ok() {
				return a.skip("an item in this currency got " + r.says())
			}
			read := a.get("carts/"+id, "include", "items")
			currencies, _ := a.known["currencies"].value.(reply)
			for _, in := range currencies.list("data") {
				if textAt(in, "code") == a.opts.Currency && dig(in, "default") == true {
					return a.skip("the currency is the default")
				}
			}
			kept := textAt(anyItem(read), "unit_price.currency") == a.opts.Currency
			return or(kept, "a read without the header keeps it", "a read without the header converts it")
		},
	},
	{
		name: "f-promotion", grade: "seen", uses: "promoted cart", flag: "promotion", want: "in discounts and as an item",
		may: []string{"in discounts", "as an item"}, ask: func(a *asker) string {
			inDiscounts, asItem := shownPromotions(a.promoted().before)
			shows := []string{"in no way", "as an item", "in discounts", "in discounts and as an item"}
			return shows[asNumber(inDiscounts != 0)*2+asNumber(asItem != 0)]
		},
	},
	{
		name: "f-promotion-only", grade: "open", uses: "promoted cart", flag: "promotion", want: "the total is what shows",
		ask: func(a *asker) string {
			p := a.promoted()
			inDiscounts, asItem := shownPromotions(p.before)
			total, ok := off(p.before)
			if inDiscounts == 0 && asItem == 0 && total == 0 {
				return a.skip("the promotion shows in no way")
			}
			if !ok {
				return a.skip("the prices of the cart have no discount")
			}
			return or(near(total, min(inDiscounts, asItem)), "the total is what shows", "the total is another")
		},
	},
	{
		name: "f-promotion-removed", grade: "open", uses: "promoted cart", flag: "promotion", want: "removed",
		may: []string{"a standard one stays"}, ask: func(a *asker) string {
			p := a.promoted()
			if inDiscounts, asItem := shownPromotions(p.before); inDiscounts == 0 && asItem == 0 {
				return a.skip("the promotion shows in no way")
			}
			inDiscounts, asItem := shownPromotions(p.after)
			isBuilder := slices.ContainsFunc(p.before.list("included.items"), func(in any) bool {
				return dig(in, "promotion_source") != nil || dig(in, "discounts.0.promotion_source") != nil
			})
			stays := or(isBuilder, "stays", "a standard one stays")
			return or(inDiscounts == 0 && asItem == 0, "removed", stays)
		},
	},
	{
		name: "f-code-refused", grade: "doc", flag: "promotion", need: need{3, 1}, want: "422",
		ask: func(a *asker) string {
			return refusal(a.applyCode(a.openCart(item("one", 10_000, 1))))
		},
	},
	{
		name: "f-429", grade: "doc", uses: "burst", flag: "burst", want: "no Retry-After",
		may: []string{"with Retry-After"},
		ask: func(a *asker) string {
			return or(a.burst()["Retry-After"], "with Retry-After", "no Retry-After")
		},
	},
	{
		name: "f-429-reset", grade: "guess", uses: "burst", flag: "burst", want: "no reset",
		may: []string{"RateLimit-Reset", "X-RateLimit-Reset"}, ask: func(a *asker) string {
			headers := a.burst()
			reset := or(headers["Ratelimit-Reset"], "RateLimit-Reset", "no reset")
			reset = or(headers["X-Ratelimit-Reset"], "X-RateLimit-Reset", reset)
			var names []string // others may be those of the store
			for name := range headers {
				if name == "Retry-After" || strings.Contains(name, "Ratelimit") {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			return fmt.Sprintf("%s; headers %s, %d others", reset, strings.Join(names, ", "), len(headers)-len(names))
		},
	},
	{
		name: "f-pause", grade: "doc", uses: "paused subscription", flag: "subscription", want: "204 and 204",
		ask: func(a *asker) string {
			p := a.paused()
			return fmt.Sprintf("%d and %d", p.pause, p.resume)
		},
	},
	{
		name: "f-flag-at-once", grade: "guess", uses: "paused subscription", flag: "subscription", want: "paused at once",
		ask: func(a *asker) string {
			return or(a.paused().during.at("data.meta.paused") == true, "paused at once", "not at once")
		},
	},
	{
		name: "f-new-state", grade: "guess", uses: "paused subscription", flag: "subscription",
		want: "a new id and the action",
		ask: func(a *asker) string {
			p := a.paused()
			isNew := textAt(p.during.body, state+"id") != textAt(p.before.body, state+"id")
			action := textAt(p.during.body, state+"attributes.action")
			return or(isNew, "a new id", "the old id") + or(action == "pause", " and the action", " and another action")
		},
	},
	{
		name: "f-resume", grade: "open", uses: "paused subscription", flag: "subscription", want: "clears paused at once",
		ask: func(a *asker) string {
			return or(a.paused().after.at("data.meta.paused") == false, "clears paused at once", "paused stays")
		},
	},
	{
		name: "f-cancel-immediately", grade: "doc", uses: "canceled subscription", flag: "destroy", want: "inactive",
		may: []string{"inactive and closed"}, ask: func(a *asker) string {
			r := a.canceled()
			return or(textAt(r.body, "data.meta.status") == "inactive", "inactive", "active") +
				or(r.at("data.meta.closed") == true, " and closed", "")
		},
	},
	{
		name: "f-ended", grade: "guess", uses: "canceled subscription", flag: "destroy",
		want: "canceled, and inactive or closed",
		ask: func(a *asker) string {
			r := a.canceled()
			isEnded := textAt(r.body, "data.meta.status") == "inactive" || r.at("data.meta.closed") == true
			return or(r.at("data.meta.canceled") == true, "canceled", "not canceled") +
				or(isEnded, ", and inactive or closed", ", neither inactive nor closed")
		},
	},
}

func asNumber(is bool) int {
	if is {
		return 1
	}
	return 0
}

// promotedCart is a cart with the promotion of a code, before and after custom discounts are
// enabled for it.
type promotedCart struct{ before, after reply }

func (a *asker) promoted() promotedCart {
	return once(a, "promoted cart", func() (p promotedCart) {
		c := a.newCart(item("one", 10_000, 1))
		a.put(c.path, settings(false, true)) // such a cart has promotions of both kinds
		a.must(a.applyCode(c), "the code")
		p.before = a.read(c)
		a.must(a.put(c.path, settings(true, false)), "to enable custom discounts")
		p.after = a.read(c)
		return p
	})
}

func (a *asker) applyCode(c cart) reply {
	return a.post(c.path+"/items", object{"type": "promotion_item", "code": a.opts.Promotion})
}

// shownPromotions returns what promotions take off a cart: what the discounts of its items show,
// and what its promotion items show.
func shownPromotions(cart reply) (inDiscounts, asItem float64) {
	for _, in := range cart.list("included.items") {
		for _, d := range listAt(in, "discounts") {
			n, _ := numberAt(d, "amount.amount")
			inDiscounts += n
		}
		if textAt(in, "type") == "promotion_item" {
			n, _ := numberAt(in, "value.amount")
			asItem += n
		}
	}
	return inDiscounts, asItem
}

// burst sends requests at once, and returns the names of the headers of the responses with 429.
func (a *asker) burst() map[string]bool {
	return once(a, "burst", func() map[string]bool {
		ctx := context.WithValue(a.ctx, inBurst{}, true)
		a.together(a.opts.Burst, func(int) reply { return ask(ctx, a.client, http.MethodGet, "settings", nil, nil) })
		headers := a.limiter.refusals()
		if len(headers) == 0 {
			a.skip("no response with 429")
		}
		return headers
	})
}

const state = "data.meta.state."

// pausedSubscription is a subscription before a pause, after it, and after the resume.
type pausedSubscription struct {
	before, during, after reply
	pause, resume         int // statuses
}

func (a *asker) paused() pausedSubscription {
	return once(a, "paused subscription", func() (p pausedSubscription) {
		path := subscriptions + "/" + a.opts.Subscription
		p.before = a.get(path)
		isActive := textAt(p.before.body, "data.meta.status") == "active"
		for _, name := range flags {
			isActive = isActive && p.before.at("data.meta."+name) != true
		}
		if !isActive {
			a.skip("the subscription is not active, or has a flag")
		}
		if a.why != "" {
			return p
		}
		resumed := false
		a.restore = append(a.restore, func(ctx context.Context) error {
			for !resumed {
				r := a.try(ctx, http.MethodPost, path+"/states", nil, object{"data": change("resume")})
				if resumed = r.ok(); !resumed && pause(ctx, 2*time.Second) != nil {
					return errors.New("subscription " + a.opts.Subscription + ", which may be paused")
				}
			}
			return nil
		})
		p.pause = a.post(path+"/states", change("pause")).status
		resumed = p.pause/100 == 4 // it was refused: there is nothing to undo
		p.during = a.get(path)
		r := a.post(path+"/states", change("resume"))
		p.resume, resumed = r.status, resumed || r.ok()
		p.after = a.get(path)
		return p
	})
}

// change is a change of the state of a subscription.
func change(action string) object {
	return object{"type": "subscription_state", "attributes": object{"action": action}}
}

// canceled cancels the subscription at once, and reads it.
func (a *asker) canceled() reply {
	return once(a, "canceled subscription", func() reply {
		a.paused() // checks it
		if a.page(); a.kind.generation == "first" {
			a.skip("the first generation has no immediate cancellation")
		}
		path := subscriptions + "/" + a.opts.Subscription
		data := object{
			"type": "subscription_state", "attributes": object{"action": "cancel", "cancel_immediately": true},
		}
		a.must(a.post(path+"/states", data), "the cancellation")
		return a.get(path)
	})
}
