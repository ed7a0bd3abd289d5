package verify

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// cartFacts are those of carts and their items, without discounts.
var cartFacts = []fact{
	{
		name: "f-unknown-cart", grade: "doc", need: need{1, 1}, want: "200, an empty cart", ask: func(a *asker) string {
			r := a.get("carts/"+a.newCartID(), "include", "items")
			isCart := textAt(r.body, "data.type") == "cart" && anyItem(r) == nil
			return fmt.Sprint(r.status) + or(isCart, ", an empty cart", ", something else")
		},
	},
	{
		name: "f-items", grade: "doc", need: need{2, 1}, want: "201 and 204", ask: func(a *asker) string {
			id := a.newCartID()
			r := a.post("carts/"+id+"/items", item("one", 10_000, 1))
			return refusedOr(r, r.status) + " and " + refusedOr(r, a.delete("carts/"+id).status)
		},
	},
	{
		name: "f-same-sku", grade: "doc", need: need{3, 1}, want: "one item, quantity 2", ask: func(a *asker) string {
			c := a.newCart(item("one", 10_000, 1))
			a.post(c.path+"/items", item("one", 10_000, 1))
			n, quantity := 0, 0.0
			for _, in := range a.read(c).list("included.items") {
				if textAt(in, "sku") == "verify-one" {
					n++
					quantity, _ = numberAt(in, "quantity")
				}
			}
			return or(n == 1, "one item", "other items") + or(quantity == 2, ", quantity 2", ", another quantity")
		},
	},
	{
		name: "f-price-below-zero", grade: "doc", need: need{1, 1}, want: "400", may: []string{"422"},
		ask: func(a *asker) string {
			return refusal(a.post("carts/"+a.newCartID()+"/items", item("one", -100, 1)))
		},
	},
	{
		name: "f-delete-items", grade: "doc", need: need{3, 1}, want: "204, the cart is empty", ask: func(a *asker) string {
			c := a.newCart(item("one", 10_000, 1))
			r := a.delete(c.path + "/items")
			return refusedOr(r, r.status) + or(anyItem(a.read(c)) == nil, ", the cart is empty", ", an item is left")
		},
	},
	{
		name: "f-off-by-default", grade: "doc", need: need{3, 1}, want: "off, 400 Bad Request",
		ask: func(a *asker) string {
			if a.kind.enabled {
				return a.skip("the settings enable them for new carts")
			}
			c := a.newCart(item("one", 10_000, 1))
			on := a.read(c).at("data.discount_settings.custom_discounts_enabled") == true
			return or(on, "on, ", "off, ") + a.add(c, discount("off", -300)).says()
		},
	},
	{
		name: "f-put-keeps", grade: "open", need: need{4, 1}, want: "name and attributes stay",
		ask: func(a *asker) string {
			c := a.newCart(item("one", 10_000, 1))
			attributes := object{"verify": object{"type": "string", "value": "kept"}}
			a.put(c.path, object{"name": "epcommerce-verify", "custom_attributes": attributes})
			a.put(c.path, settings(true, false))
			r := a.read(c)
			name := textAt(r.body, "data.name") == "epcommerce-verify"
			kept := textAt(r.body, "data.custom_attributes.verify.value") == "kept"
			return or(name, or(kept, "name and attributes stay", "attributes are cleared"), "the name is changed")
		},
	},
	{
		name: "f-put-without-data", grade: "doc", need: need{2, 1}, want: "422", ask: func(a *asker) string {
			return refusal(a.send(http.MethodPut, a.newCart(item("one", 10_000, 1)).path, nil, object{}))
		},
	},
	{
		name: "f-both-settings", grade: "doc", uses: "both settings", want: "422 Cannot use both discounts together",
		ask: func(a *asker) string { return a.bothSettings().says() },
	},
	{
		name: "f-bare-error", grade: "doc", uses: "both settings", want: "an object without errors",
		ask: func(a *asker) string {
			r := a.bothSettings()
			return or(r.at("errors") == nil && r.at("title") != nil, "an object without errors", "with errors")
		},
	},
	{
		name: "f-expires", grade: "doc", need: need{2, 1}, want: "as the settings state", ask: func(a *asker) string {
			r := a.read(a.newCart(item("one", 10_000, 1)))
			at := func(name string) time.Time {
				t, _ := time.Parse(time.RFC3339Nano, textAt(r.body, "data.meta.timestamps."+name))
				return t
			}
			days := 7
			if a.kind.expiryDays > 0 {
				days = a.kind.expiryDays
			}
			life := at("expires_at").Sub(at("updated_at"))
			isAbout := (life - time.Duration(days)*24*time.Hour).Abs() < time.Hour
			return or(isAbout, "as the settings state", "another time")
		},
	},
	{
		name: "f-value", grade: "doc", uses: "three pieces", want: "unit_price times quantity",
		ask: func(a *asker) string {
			three := anyItem(a.threePieces().before)
			value, _ := numberAt(three, "value.amount")
			return or(value == 30_000, "unit_price times quantity", "another amount")
		},
	},
	{
		name: "f-item-deleted", grade: "doc", uses: "emptied cart", want: "200, without it", ask: func(a *asker) string {
			r := a.emptied().deleted
			return fmt.Sprint(r.status) + or(anyOfType(r.list("data")), ", with an item", ", without it")
		},
	},
	{
		name: "f-one-page", grade: "open", need: need{31, 1}, want: "all 30 in one response", ask: func(a *asker) string {
			var items []object
			for i := range 30 {
				items = append(items, item(strconv.Itoa(i), 100, 1))
			}
			n := 0
			c := a.newCart(items...)
			_ = pause(a.ctx, a.kind.lag)
			for _, in := range a.get(c.path + "/items").list("data") {
				if textAt(in, "type") == "custom_item" {
					n++
				}
			}
			return or(n == 30, "all 30 in one response", fmt.Sprintf("%d of 30", n))
		},
	},
	{
		name: "f-parallel", grade: "doc", need: need{6, 1}, want: "all kept", may: []string{"some lost"},
		ask: func(a *asker) string {
			c := cart{path: "carts/" + a.newCartID()}
			a.post(c.path+"/items", item("one", 100, 1))
			_ = pause(a.ctx, time.Second) // so that the limiter starts them at once
			replies := a.together(4, func(i int) reply {
				in := object{"data": item("parallel"+strconv.Itoa(i), 100, 1)}
				return ask(a.ctx, a.client, http.MethodPost, c.path+"/items", nil, in)
			})
			_ = pause(a.ctx, a.kind.lag)
			confirmed := 1
			for _, r := range replies {
				if r.ok() {
					confirmed++
				}
			}
			n := 0
			for _, in := range a.get(c.path + "/items").list("data") {
				if textAt(in, "type") == "custom_item" {
					n++
				}
			}
			if confirmed < 2 {
				return a.skip("the parallel writes got no success")
			}
			return or(n >= confirmed, "all kept", "some lost")
		},
	},
}

// refusedOr returns a status of a write that needs that of r to be a success.
func refusedOr(r reply, status int) string { return or(r.ok(), strconv.Itoa(status), refusal(r)) }

func anyOfType(list []any) bool {
	return slices.ContainsFunc(list, func(v any) bool { return textAt(v, "type") == "custom_item" })
}

func (a *asker) bothSettings() reply {
	return once(a, "both settings", func() reply {
		return a.put(a.newCart(item("one", 10_000, 1)).path, settings(true, true))
	})
}

// emptiedCart is what a cart with a discount of its own does when its only item is deleted.
type emptiedCart struct{ deleted, after, added reply }

func (a *asker) emptied() emptiedCart {
	return once(a, "emptied cart", func() (e emptiedCart) {
		c := a.openCart(item("one", 10_000, 1))
		a.added(c, discount("stays", -300))
		e.deleted = a.delete(c.item())
		e.after = a.read(c)
		e.added = a.add(c, discount("empty", -300))
		return e
	})
}

// pieces is a cart with three pieces of an item, before and after -300 on the item.
type pieces struct{ before, after reply }

func (a *asker) threePieces() pieces {
	return once(a, "three pieces", func() (p pieces) {
		c := a.openCart(item("three", 10_000, 3))
		p.before = a.read(c)
		a.added(c, on(c, discount("item", -300)))
		p.after = a.read(c)
		return p
	})
}

// sharedCart is a cart with an item, before and after it got a discount, and one for its item.
type sharedCart struct {
	cart
	before, added, after reply
}

func (a *asker) shared() sharedCart {
	return once(a, "shared cart", func() (s sharedCart) {
		s.cart = a.openCart(item("one", 10_000, 1))
		s.before = a.read(s.cart)
		if textAt(s.before.body, "data.type") != "cart" {
			a.skip("a read of a cart shows none")
		}
		s.added = a.added(s.cart, discount("cart", -300), on(s.cart, discount("item", -200)))
		s.after = a.read(s.cart)
		return s
	})
}

// discountFacts are those of custom discounts, and of the prices that they change.
var discountFacts = []fact{
	{
		name: "f-add", grade: "doc", uses: "shared cart", want: "201", may: []string{"200"},
		ask: func(a *asker) string { return fmt.Sprint(a.shared().added.status) },
	},
	{
		name: "f-add-data", grade: "doc", uses: "shared cart", want: "an array, amount an object",
		may: []string{"an array, amount a number"},
		ask: func(a *asker) string {
			r := a.shared().added
			if len(r.list("data")) != 2 {
				return "no array of both"
			}
			_, isNumber := numberAt(r.body, "data.0.amount")
			_, isObject := numberAt(r.body, "data.0.amount.amount")
			return or(isNumber, "an array, amount a number", or(isObject, "an array, amount an object", "no amount"))
		},
	},
	{
		name: "f-include", grade: "seen", uses: "shared cart", want: "items and discounts", ask: func(a *asker) string {
			r := a.shared().after
			return or(anyItem(r) != nil, "items", "no items") + or(discountsOf(r) > 0, " and discounts", ", no discounts")
		},
	},
	{
		name: "f-included", grade: "doc", uses: "shared cart", want: "2 discounts, each in its relationships",
		ask: func(a *asker) string {
			r := a.shared().after
			own := idsOf(r.list("data.relationships.custom_discounts.data"))
			ofItem := idsOf(listAt(anyItem(r), "relationships.custom_discounts.data"))
			both := slices.Sorted(slices.Values(append(slices.Clone(own), ofItem...)))
			all := slices.Sorted(slices.Values(idsOf(r.list("included.custom_discounts"))))
			isEach := len(own) == 1 && len(ofItem) == 1 && slices.Equal(both, all)
			return fmt.Sprintf("%d discounts, ", len(all)) + or(isEach, "each in its relationships", "other relationships")
		},
	},
	{
		name: "f-no-discounts", grade: "seen", uses: "shared cart", want: "missing or null", ask: func(a *asker) string {
			r := a.shared().before
			own := r.at("data.relationships.custom_discounts.data")
			ofItem := dig(anyItem(r), "relationships.custom_discounts.data")
			return or(own == nil && ofItem == nil && r.at("included.custom_discounts") == nil, "missing or null", "empty arrays")
		},
	},
	{
		name: "f-errors-beside", grade: "doc", uses: "shared cart", want: "none on a read",
		may: []string{"errors beside data"},
		ask: func(a *asker) string {
			return or(a.shared().after.at("errors") == nil, "none on a read", "errors beside data")
		},
	},
	{
		name: "f-total-discount", grade: "seen", uses: "shared cart", want: "the sum of both", ask: func(a *asker) string {
			total, ok := off(a.shared().after)
			if !ok {
				return a.skip("the prices of the cart have no discount")
			}
			return or(total == -500, "the sum of both", "another amount")
		},
	},
	{
		name: "f-bare-prices", grade: "seen", uses: "shared cart", want: "both are there", may: []string{"one is absent"},
		ask: func(a *asker) string {
			_, hasDiscount := off(a.shared().after)
			_, hasSubtotal := subtotal(a.shared().after)
			return or(hasDiscount && hasSubtotal, "both are there", "one is absent")
		},
	},
	{
		name: "f-subtotal", grade: "doc", uses: "shared cart", want: "as before the discounts",
		ask: func(a *asker) string {
			before, _ := subtotal(a.shared().before)
			after, ok := subtotal(a.shared().after)
			if !ok {
				return a.skip("the prices of the cart have no without_discount")
			}
			return or(before == after, "as before the discounts", "another amount")
		},
	},
	{
		name: "f-subtotal-tax", grade: "open", uses: "shared cart", want: "the prices of the items",
		ask: func(a *asker) string {
			n, ok := subtotal(a.shared().before)
			if !ok {
				return a.skip("the prices of the cart have no without_discount")
			}
			shipping, _ := numberAt(a.shared().before.body, "data.meta.display_price.shipping.amount")
			return or(n == 10_000+shipping, "the prices of the items", or(n > 10_000+shipping, "more", "less"))
		},
	},
	{
		name: "f-item-prices", grade: "doc", uses: "three pieces", want: "after discounts, for all and for one",
		ask: func(a *asker) string {
			before, after := anyItem(a.threePieces().before), anyItem(a.threePieces().after)
			const path = "meta.display_price.without_tax."
			full, _ := numberAt(before, path+"value.amount")
			value, ok := numberAt(after, path+"value.amount")
			unit, _ := numberAt(after, path+"unit.amount")
			switch {
			case !ok:
				return "absent"
			case value >= full:
				return "before discounts"
			}
			return or(near(unit*3, value), "after discounts, for all and for one", "after discounts, the unit is not a third")
		},
	},
	{
		name: "f-once-per-item", grade: "open", uses: "three pieces", want: "taken off once", ask: func(a *asker) string {
			switch p := a.threePieces(); price(p.before) - price(p.after) {
			case 300:
				return "taken off once"
			case 900:
				return "taken off each piece"
			}
			return "another amount"
		},
	},
	{
		name: "f-spread", grade: "doc", need: need{6, 1}, want: "by value", ask: func(a *asker) string {
			c := a.openCart(item("one", 20_000, 1), item("two", 10_000, 1))
			a.added(c, discount("cart", -300))
			parts := map[string]float64{}
			for _, in := range a.read(c).list("included.items") {
				parts[textAt(in, "sku")], _ = numberAt(in, "meta.display_price.discount.value.amount")
			}
			one, two := parts["verify-one"], parts["verify-two"]
			if one == 0 && two == 0 {
				return a.skip("the prices of the items have no discount")
			}
			return or(near(one, -200) && near(two, -100), "by value", "in another way")
		},
	},
	{
		name: "f-below-zero", grade: "open", need: need{5, 1}, want: "below 0", ask: func(a *asker) string {
			c := a.openCart(item("one", 10_000, 1))
			before := a.read(c)
			if r := a.add(c, discount("cart", -1_000_000)); !r.ok() {
				return "the add got " + r.says()
			}
			after := a.read(c)
			isWhole := near(price(before)-price(after), 1_000_000)
			return or(isWhole, "below 0", or(price(after) < 0, "below 0, other", "not below 0"))
		},
	},
	{
		name: "f-whole-amounts", grade: "doc", need: need{3, 1}, want: "400", may: []string{"422"},
		ask: func(a *asker) string {
			return refusal(a.add(a.openCart(item("one", 10_000, 1)), discount("fraction", -1.5)))
		},
	},
	{
		name: "f-negative-amounts", grade: "doc", need: need{3, 1}, want: "400", may: []string{"422"},
		ask: func(a *asker) string {
			return refusal(a.add(a.openCart(item("one", 10_000, 1)), discount("positive", 300)))
		},
	},
	{
		name: "f-one-object", grade: "doc", need: need{4, 1}, want: "accepted", ask: func(a *asker) string {
			c := a.openCart(item("one", 10_000, 1))
			r := a.post(c.discounts(), discount("object", -300))
			return refusal(r) + or(r.ok() && discountsOf(a.read(c)) != 1, ", but not added", "")
		},
	},
	{
		name: "f-item-endpoint", grade: "doc", need: need{5, 1}, want: "one on the item; 422 without data",
		ask: func(a *asker) string {
			c := a.openCart(item("one", 10_000, 1))
			path := c.item() + "/custom-discounts"
			added := a.post(path, discount("item", -300))
			empty := a.send(http.MethodPost, path, nil, object{})
			ids := listAt(anyItem(a.read(c)), "relationships.custom_discounts.data")
			if empty.status != http.StatusUnprocessableEntity {
				return refusal(empty) + " without data"
			}
			return or(added.ok() && len(ids) == 1, "one on the item; 422 without data", refusal(added)+"; not on the item")
		},
	},
	{
		name: "f-partial", grade: "doc", uses: "partial add", want: "1 added, 1 error with the item",
		ask: func(a *asker) string {
			r := a.partial().added
			hasItem := textAt(r.error(), "meta.id") == missing
			return fmt.Sprintf("%d added, %d error", len(r.list("data")), len(r.list("errors"))) +
				or(hasItem, " with the item", " without the item")
		},
	},
	{
		name: "f-rest-failed", grade: "guess", uses: "partial add", want: "those in data are there",
		ask: func(a *asker) string {
			p := a.partial()
			if len(p.added.list("data")) == 0 {
				return a.skip("the add shows no discount")
			}
			same := slices.Equal(idsOf(p.added.list("data")), idsOf(p.after.list("included.custom_discounts")))
			return or(same, "those in data are there", "others are there")
		},
	},
	{
		name: "f-4xx-no-change", grade: "guess", need: need{4, 1}, want: "nothing is added", ask: func(a *asker) string {
			c := a.openCart(item("one", 10_000, 1))
			r := a.send(http.MethodPost, c.discounts(), nil, object{
				"data":    []object{discount("good", -300), onMissing(c)},
				"options": object{"add_all_or_nothing": true},
			})
			if r.status/100 != 4 {
				return a.skip("the add got " + r.says())
			}
			return or(discountsOf(a.read(c)) == 0, "nothing is added", "a part is added")
		},
	},
	{
		name: "f-same-external-id", grade: "open", need: need{5, 1}, want: "a second discount",
		ask: func(a *asker) string {
			if a.kind.limit < 2 {
				return a.skip("a cart takes one discount only")
			}
			c := a.openCart(item("one", 10_000, 1))
			a.added(c, discount("same", -100))
			if r := a.add(c, discount("same", -100)); !r.ok() {
				return r.says()
			}
			return or(discountsOf(a.read(c)) == 2, "a second discount", "one discount")
		},
	},
	{
		name: "f-texts", grade: "open", need: need{4, 1}, want: "unchanged", ask: func(a *asker) string {
			c, d := a.openCart(item("one", 10_000, 1)), discount(texts, -100)
			d["description"] = texts
			added := a.added(c, d)
			read := a.read(c).at("included.custom_discounts.0")
			for _, name := range []string{"external_id", "description", "discount_code", "discount_engine"} {
				if dig(read, name) != d[name] || added.at("data.0."+name) != d[name] {
					return "another " + name
				}
			}
			return or(textAt(read, "id") == textAt(added.body, "data.0.id"), "unchanged", "another id")
		},
	},
	{
		name: "f-empty-cart", grade: "open", uses: "emptied cart", want: "422 Cart is empty",
		ask: func(a *asker) string { return a.emptied().added.says() },
	},
	{
		name: "f-emptied", grade: "open", uses: "emptied cart", want: "its discount stays",
		ask: func(a *asker) string {
			return or(discountsOf(a.emptied().after) == 1, "its discount stays", "its discount goes")
		},
	},
	{
		name: "f-deleted-with-item", grade: "open", need: need{7, 1}, want: "deleted with it", ask: func(a *asker) string {
			c := a.openCart(item("one", 10_000, 1), item("two", 10_000, 1))
			a.added(c, on(c, discount("item", -300)))
			if discountsOf(a.read(c)) != 1 {
				return a.skip("a read does not show the discount")
			}
			a.must(a.delete(c.item()), "the deletion of an item")
			return or(discountsOf(a.read(c)) == 0, "deleted with it", "stays")
		},
	},
	{
		name: "f-quantity", grade: "open", need: need{5, 1}, want: "stays", ask: func(a *asker) string {
			c := a.openCart(item("one", 10_000, 1))
			added := a.added(c, on(c, discount("item", -300)))
			a.must(a.put(c.item(), object{"type": "custom_item", "quantity": 2}), "a change of the quantity")
			read := a.read(c).list("included.custom_discounts")
			return or(slices.Equal(idsOf(read), idsOf(added.list("data"))), "stays", "goes")
		},
	},
	{
		name: "f-delete-all", grade: "open", need: need{5, 1}, want: "204; that of the item stays",
		ask: func(a *asker) string {
			c := a.openCart(item("one", 10_000, 1))
			a.added(c, discount("cart", -300), on(c, discount("item", -200)))
			r := a.delete(c.discounts())
			n := discountsOf(a.read(c))
			return fmt.Sprint(r.status) + []string{"; none stays", "; that of the item stays", "; both stay"}[min(n, 2)]
		},
	},
	{
		name: "f-delete-unknown", grade: "guess", uses: "shared cart", need: need{requests: 1}, want: "404",
		ask: func(a *asker) string { return refusal(a.delete(a.shared().discounts() + "/" + missing)) },
	},
	{
		name: "f-delete-other-level", grade: "guess", uses: "shared cart", need: need{requests: 1}, want: "404",
		ask: func(a *asker) string {
			s := a.shared()
			own := textAt(s.after.body, "data.relationships.custom_discounts.data.0.id")
			return refusal(a.delete(s.item() + "/custom-discounts/" + own))
		},
	},
	{
		name: "f-delete-one", grade: "open", need: need{4, 1}, want: "204",
		ask: func(a *asker) string {
			c := a.openCart(item("one", 10_000, 1))
			added := a.added(c, discount("cart", -300))
			return fmt.Sprint(a.delete(c.discounts() + "/" + textAt(added.body, "data.0.id")).status)
		},
	},
	{
		name: "f-update", grade: "doc", need: need{5, 1}, want: "200; other members stay", ask: func(a *asker) string {
			c := a.openCart(item("one", 10_000, 1))
			path := c.discounts() + "/" + textAt(a.added(c, discount("cart", -300)).body, "data.0.id")
			r := a.put(path, object{"type": "custom_discount", "amount": -150})
			d := a.read(c).at("included.custom_discounts.0")
			amount, isNumber := numberAt(d, "amount")
			if !isNumber {
				amount, _ = numberAt(d, "amount.amount")
			}
			isRight := amount == -150 && textAt(d, "discount_code") == "VERIFY"
			return refusedOr(r, r.status) + or(isRight, "; other members stay", "; not what was sent")
		},
	},
	{
		name: "f-update-fraction", grade: "doc", uses: "shared cart", need: need{requests: 1}, want: "400",
		may: []string{"422"},
		ask: func(a *asker) string { return a.updateShared(-1.5) },
	},
	{
		name: "f-update-object", grade: "doc", uses: "shared cart", need: need{requests: 1}, want: "400",
		may: []string{"422"},
		ask: func(a *asker) string { return a.updateShared(object{"amount": -2, "currency": "USD"}) },
	},
	{
		name: "f-cart-limit", grade: "doc", need: need{4, 1}, want: "as the setting; then 422 Limit Reached",
		ask: func(a *asker) string { return a.limitOf(func(_ cart, d object) object { return d }) },
	},
	{
		name: "f-item-limit", grade: "doc", need: need{4, 1}, want: "as the setting; then 422 Limit Reached",
		ask: func(a *asker) string { return a.limitOf(on) },
	},
	{
		name: "f-method", grade: "doc", uses: "shared cart", need: need{3, 1}, want: "only with the method line",
		ask: func(a *asker) string {
			switch a.kind.method {
			case "line":
				return or(a.shared().added.ok(), "only with the method line", "not with the method line")
			case "unknown":
				return a.skip("the settings state no method")
			}
			c := a.newCart(item("one", 10_000, 1))
			a.put(c.path, settings(true, false))
			return or(a.add(c, discount("simple", -300)).ok(), "also with the method simple", "only with the method line")
		},
	},
}

// missing is the id of an item or a discount that no cart has.
const missing = "b5c9e1a0-7c3f-4f5e-9d8a-2f6f0c1d7e42"

// texts are texts that a discount may have.
const texts = "Zehn Prozent für Łódź, «été» 10 % – \"quoted\" 'and' <tags> & more: " +
	"0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789"

func onMissing(c cart) object {
	c.items = []string{missing}
	return on(c, discount("missing", -300))
}

// partialAdd is an add of two discounts, one of them for an item that is not there.
type partialAdd struct{ added, after reply }

func (a *asker) partial() partialAdd {
	return once(a, "partial add", func() (p partialAdd) {
		c := a.openCart(item("one", 10_000, 1))
		p.added = a.add(c, discount("good", -300), onMissing(c))
		p.after = a.read(c)
		return p
	})
}

// subtotal returns what a cart would cost without discounts, and whether it shows that.
func subtotal(cart reply) (float64, bool) {
	return numberAt(cart.body, "data.meta.display_price.without_discount.amount")
}

// updateShared sends another amount for the discount of the shared cart.
func (a *asker) updateShared(amount any) string {
	s := a.shared()
	own := textAt(s.after.body, "data.relationships.custom_discounts.data.0.id")
	return refusal(a.put(s.discounts()+"/"+own, object{"type": "custom_discount", "amount": amount}))
}

// limitOf adds as many discounts as the setting allows and one more, then one alone.
func (a *asker) limitOf(target func(cart, object) object) string {
	limit := a.kind.limit
	if limit > 50 {
		return a.skip("the limit is above 50")
	}
	c := a.openCart(item("one", 1_000_000, 1))
	var list []object
	for i := range limit + 1 {
		list = append(list, target(c, discount(strconv.Itoa(i), -1)))
	}
	r := a.add(c, list...)
	n := len(r.list("data"))
	last := a.add(c, target(c, discount("last", -1)))
	if n != limit {
		return or(n < limit, "fewer than the setting", "more than the setting")
	}
	return "as the setting; then " + last.says()
}
