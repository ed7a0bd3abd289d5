package ensure_test

import (
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func (e *exchange) hides(name string) bool { return slices.Contains(e.hidden, name) }

// subtotal returns what [commerce.Cart.Subtotal] must return; false: the response does not tell.
func (e *exchange) subtotal(state cartState) (price int64, ok bool) {
	shown := state.prices.WithoutDiscount - state.prices.Shipping
	if e.hides("zero") {
		shown = -state.prices.Shipping
	}
	net, ok := e.net(state)
	if !e.hides("without_discount") && (shown > 0 || !ok || net <= shown) {
		return shown, true
	}
	return net, ok
}

// net returns what the goods cost without tax, before discounts; false: the response does not tell.
func (e *exchange) net(state cartState) (price int64, ok bool) {
	p := state.prices
	switch {
	case e.hides("without_tax"), p.WithoutTax == 0 && p.WithTax != p.Tax:
		return 0, false
	case !e.hides("discount"):
		return p.WithoutTax - p.Shipping - p.Discount, true
	}
	return p.WithoutTax - p.Shipping - sumOf(state.discounts), !state.isPromoted
}

// priceOf returns what [commerce.Cart.PriceOf] must return; false: the response does not tell.
func (sc *shopScenario) priceOf(e *exchange, state cartState, l line) (price int64, ok bool) {
	net, ok := e.net(state)
	switch {
	case !e.hides("items"):
		return min(l.net, l.gross), true
	case !sc.Config.PricesIncludeTax, l.gross == 0:
		return l.gross, true
	}
	var all int64
	for _, o := range state.lines {
		all += o.gross
	}
	if subtotal, ok := e.subtotal(state); ok {
		all = max(all, subtotal)
	}
	return floor(l.gross*min(net, all), all), ok
}

// floor returns a / b, rounded down. b is above 0.
func floor(a, b int64) int64 {
	if n := a / b; n*b <= a {
		return n
	}
	return a/b - 1
}

// problem returns the reason of the error of a call that must not act on a response: the price is
// not known, there may be discounts that it does not show, or one may be a wanted one; else "".
func (sc *shopScenario) problem(e *exchange, state cartState, shop offers, codes []string) string {
	reason := "bad_response"
	if state.isPromoted {
		reason = "promotion_conflict"
	}
	if !sc.isListed(e, state) && !e.showsNone(state) {
		return reason
	}
	price, ok := e.subtotal(state)
	_, hasNet := e.net(state)
	isOfItem := func(code string) bool { return shop.Items[code] > 0 }
	isUnknown := func(l line) bool {
		_, ok := sc.priceOf(e, state, l)
		return !ok
	}
	mayBeWanted := func(d commerce.CustomDiscount) bool {
		return d.DiscountEngine == "" && slices.Contains(codes, d.ExternalID)
	}
	switch {
	case state.items == 0:
		return ""
	case !ok, e.hides("with_tax"), e.hides("currency"):
		return reason
	case price < 0:
		return ""
	case slices.ContainsFunc(state.discounts, mayBeWanted):
		return "bad_response"
	case state.isPromoted && !hasNet:
		return reason
	case slices.ContainsFunc(codes, isOfItem) && slices.ContainsFunc(state.lines, isUnknown):
		return reason
	}
	return ""
}

// showsNone reports whether a response without a list of discounts shows that there are none.
func (e *exchange) showsNone(state cartState) bool {
	if len(state.discounts) > 0 {
		return false
	}
	if e.hides("discount") {
		return state.items == 0
	}
	return state.prices.Discount == state.promotions()
}

// promotions returns what promotions of the store take off, 0 or less.
func (state cartState) promotions() (sum int64) {
	for _, l := range state.lines {
		sum += l.promotion
	}
	return sum
}

// differs reports whether the total discount is not the sum of what a response shows.
func (e *exchange) differs(state cartState) bool {
	sum, entries, items := state.promotions(), len(onItem(state.discounts, uuid.Nil)), state.items
	if sum += sumOf(state.discounts); state.isPromoted {
		entries, items = entries+1, items+1
	}
	difference := state.prices.Discount - sum
	return !e.hides("discount") && max(difference, -difference) > int64(items*entries)
}

// isListed reports whether a response has a list of discounts.
func (sc *shopScenario) isListed(e *exchange, state cartState) bool {
	lists := sc.Config.EmptyLists
	isSent := lists == commercetest.EmptyListsNull || lists == commercetest.EmptyListsAsArrays
	return !e.hides("list") && (len(state.discounts) > 0 || isSent)
}

// whole returns a whole number. It panics if d is not one.
func whole(d commerce.Decimal) int64 {
	n, err := strconv.ParseInt(d.String(), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func sumOf(list []commerce.CustomDiscount) (sum int64) {
	for _, d := range list {
		sum += whole(d.Amount.Amount)
	}
	return sum
}

func ofEngine(list []commerce.CustomDiscount, engine string) []commerce.CustomDiscount {
	isOther := func(d commerce.CustomDiscount) bool { return d.DiscountEngine != engine }
	return slices.DeleteFunc(slices.Clone(list), isOther)
}

// onItem returns the discounts on an item; on the cart itself if the id is zero.
func onItem(list []commerce.CustomDiscount, id uuid.UUID) []commerce.CustomDiscount {
	return slices.DeleteFunc(slices.Clone(list), func(d commerce.CustomDiscount) bool { return itemID(d.Item) != id })
}

func itemID(ref *commerce.CartItemRef) uuid.UUID {
	if ref == nil {
		return uuid.Nil
	}
	return ref.ID
}

// left returns what discounts of an engine may take off the cart, and off each item, as far as the
// response shows it; less than 0: others take more. An item is left out if it does not matter.
func (sc *shopScenario) left(e *exchange, state cartState, engine string) (cart int64, items map[uuid.UUID]int64) {
	price, _ := e.subtotal(state)
	if net, ok := e.net(state); ok {
		price = min(price, net)
	}
	items = map[uuid.UUID]int64{}
	for _, l := range state.lines {
		list := onItem(state.discounts, l.ref.ID)
		if price, ok := sc.priceOf(e, state, l); ok {
			items[l.ref.ID] = price + l.promotion + sumOf(list) - sumOf(ofEngine(list, engine))
		}
		if len(list) == len(ofEngine(list, engine)) { // a promotion alone never takes more than the item costs
			items[l.ref.ID] = max(0, items[l.ref.ID])
		}
	}
	return price + state.promotions() + sumOf(state.discounts) - sumOf(ofEngine(state.discounts, engine)), items
}

// isShort reports whether others take more than the cart or an item costs.
func (sc *shopScenario) isShort(e *exchange, state cartState, engine string) bool {
	cart, items := sc.left(e, state, engine)
	price, _ := e.subtotal(state)
	for _, left := range items {
		if left < 0 {
			return true
		}
	}
	return cart < 0 && price >= 0
}

// mayHold reports whether a response shows a total that is below 0, or that rounding may have made:
// then discounts may be lowered by more than its members say.
func (sc *shopScenario) mayHold(state cartState) bool {
	total, items := state.prices.WithTax-state.prices.Shipping, state.items
	if state.isPromoted {
		items++
	}
	return items > 0 && (total < 0 || sc.Config.TaxPercent > 0 && total <= int64(3*items))
}

// lower lowers wanted discounts to what is left for them: those of each item, then all, the last
// one first.
func (sc *shopScenario) lower(e *exchange, state cartState, engine string, want []commerce.CustomDiscount) {
	cart, items := sc.left(e, state, engine)
	for id, left := range items {
		cut(want, left, func(d *commerce.CustomDiscount) bool { return itemID(d.Item) == id })
	}
	if sc.isShort(e, state, engine) {
		cart = 0
	}
	cut(want, cart, func(*commerce.CustomDiscount) bool { return true })
}

// cut lowers those that are chosen, the last one first, so that they take no more than limit.
func cut(want []commerce.CustomDiscount, limit int64, isChosen func(*commerce.CustomDiscount) bool) {
	for i := range want {
		if isChosen(&want[i]) {
			limit += whole(want[i].Amount.Amount)
		}
	}
	for i := range slices.Backward(want) {
		if d := &want[i]; isChosen(d) {
			much := min(max(-limit, 0), -whole(d.Amount.Amount))
			d.Amount.Amount, limit = d.Amount.Amount.Add(commerce.NewDecimal(much)), limit+much
		}
	}
}

// withAmounts returns the discounts with another amount than 0.
func withAmounts(list []commerce.CustomDiscount) []commerce.CustomDiscount {
	isNone := func(d commerce.CustomDiscount) bool { return d.Amount.Amount.IsZero() }
	return slices.DeleteFunc(slices.Clone(list), isNone)
}

// offer returns the offer with a code for a cart whose subtotal, and items with their prices, are
// known.
func (o offers) offer(code string, subtotal int64, lines []line, priceOf func(line) int64) commerce.NewCustomDiscount {
	price, d := subtotal, newOffer(o.Engine, code, commerce.Decimal{})
	if n := o.Items[code]; n > 0 {
		l := lines[n%len(lines)]
		price, d.Item = priceOf(l), &l.ref
	}
	if d.Amount = commerce.NewDecimal(-o.Fixed[code]); o.Percent[code] > 0 {
		d.Amount = commerce.NewDecimal(price).Percent(commerce.NewDecimal(-o.Percent[code]))
	}
	return d
}

// ending is how a call must end.
type ending struct {
	reasons []string // one of them; "" is no error
	carts   []string // one of them: the discounts of the engine; nil: any
	reads   int      // at most
	isIdle  bool     // an earlier call has made all writes
}

// endingOf returns how a call must end that begins with a cart in this state, and meets nothing. It
// is nil if nothing shows whose the discounts are, or that totals lag: those of a small cart may
// differ by no more than rounding.
func (sc *shopScenario) endingOf(state cartState, shop offers, codes []string) *ending {
	read := &exchange{hidden: sc.Hidden}
	isVague := state.prices.WithoutDiscount < 1000 || state.isPromoted || read.hides("discount")
	if read.hides("engines") || sc.Config.TotalsLag > 0 && (isVague || sc.Config.TaxPercent > 0) {
		return nil
	}
	there, end := ofEngine(state.discounts, shop.Engine), &ending{reads: 2}
	if sc.Config.TotalsLag > 0 {
		end.reads = 4
	}
	if problem := sc.problem(read, state, shop, codes); problem != "" {
		return &ending{reasons: []string{problem}, carts: []string{describe(there)}, reads: 1}
	}
	if sc.Config.TotalsLag > 0 && !sc.isListed(read, cartState{}) { // an old total says that a list is left out
		end.reasons = []string{"bad_response"}
	}
	if state.items == 0 {
		return &ending{reasons: append(end.reasons, "empty_cart"), carts: []string{""}, reads: end.reads}
	}
	var want []commerce.CustomDiscount
	if price, _ := read.subtotal(state); price >= 0 {
		for _, code := range codes {
			want = append(want, onCart(shop.offer(code, price, state.lines, func(l line) int64 {
				price, _ := sc.priceOf(read, state, l)
				return price
			})))
		}
	}
	sc.lower(read, state, shop.Engine, want)
	want = withAmounts(want)
	after := state
	isOwn := func(d commerce.CustomDiscount) bool { return d.DiscountEngine == shop.Engine }
	after.discounts = slices.Concat(want, slices.DeleteFunc(slices.Clone(state.discounts), isOwn))
	isMissing := func(d commerce.CustomDiscount) bool {
		return !slices.ContainsFunc(there, func(o commerce.CustomDiscount) bool {
			return o.ExternalID == d.ExternalID && itemID(o.Item) == itemID(d.Item)
		})
	}
	switch {
	case sc.isShort(read, state, shop.Engine):
		end.reasons = append(end.reasons, "below_zero")
	case state.isPromoted && slices.ContainsFunc(want, isMissing):
		end.reasons, want = append(end.reasons, "promotion_conflict"), slices.DeleteFunc(want, isMissing)
	default:
		end.reasons = append(end.reasons, "")
	}
	end.carts = []string{describe(want)}
	if reason := sc.problem(read, after, shop, nil); reason != "" {
		end.reasons = append(end.reasons, reason)
	}
	if sc.Config.TotalsLag > defaultSettle {
		end.carts, end.reasons = nil, append(end.reasons, "price_differs", "below_zero", "partial")
	}
	return end
}
