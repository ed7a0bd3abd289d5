package ensure_test

import (
	"slices"
	"strconv"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

func (e *exchange) hides(name string) bool { return slices.Contains(e.hidden, name) }

// subtotal returns what [commerce.Cart.Subtotal] must return; false: the response does not tell.
func (e *exchange) subtotal(state cartState) (price int64, ok bool) {
	p := state.prices
	switch {
	case !e.hides("without_discount") && !e.hides("zero"):
		return p.WithoutDiscount, true
	case e.hides("without_tax"):
		return 0, false
	case !e.hides("discount"):
		return p.WithoutTax - p.Discount, true
	}
	return p.WithoutTax - sumOf(state.discounts, ""), !state.isPromoted
}

// isUnreadable reports whether a response must not be acted on: the price is not known, or there
// may be discounts that it does not show.
func (sc *shopScenario) isUnreadable(e *exchange, state cartState) bool {
	isNone := len(state.discounts) == 0 && (!e.hides("discount") || state.items == 0)
	if !sc.isListed(e, state) && !isNone {
		return true
	}
	_, ok := e.subtotal(state)
	isUnknown := state.isPromoted && e.hides("discount") // how much the promotions take off
	return state.items > 0 && (!ok || isUnknown || e.hides("with_tax"))
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

// sumOf returns the sum of the discounts of an engine; of all if it is empty.
func sumOf(list []commerce.CustomDiscount, engine string) (sum int64) {
	for _, d := range list {
		if engine == "" || d.DiscountEngine == engine {
			sum += whole(d.Amount.Amount)
		}
	}
	return sum
}

func ofEngine(list []commerce.CustomDiscount, engine string) []commerce.CustomDiscount {
	isOther := func(d commerce.CustomDiscount) bool { return d.DiscountEngine != engine }
	return slices.DeleteFunc(slices.Clone(list), isOther)
}

// staying returns what promotions and discounts of others take off, 0 or less.
func (state cartState) staying(engine string) int64 {
	return state.prices.Discount - sumOf(state.discounts, engine)
}

// top returns what discounts may take off at most, as far as the response shows it.
func (e *exchange) top(state cartState) int64 {
	price, ok := e.subtotal(state)
	net := state.prices.WithoutTax - state.prices.Discount
	switch {
	case e.hides("without_tax"):
		return price
	case !ok:
		return net
	}
	return min(price, net)
}

// amounts returns what the offers take off a price, by their codes, 0 or less.
func (o offers) amounts(codes []string, price int64) map[string]int64 {
	amounts := map[string]int64{}
	for _, code := range codes {
		amounts[code] = -o.Fixed[code]
		if percent := o.Percent[code]; percent > 0 {
			amounts[code] = -(price*percent + 50) / 100 // half away from zero
		}
	}
	return amounts
}

// lower lowers amounts by so much, the last code first.
func lower(amounts map[string]int64, much int64) {
	codes := []string{}
	for code := range amounts {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	for _, code := range slices.Backward(codes) {
		cut := min(max(much, 0), -amounts[code])
		amounts[code] += cut
		much -= cut
	}
}

func total(amounts map[string]int64) (sum int64) {
	for _, amount := range amounts {
		sum += amount
	}
	return sum
}

// ending is how a call must end.
type ending struct {
	reasons []string // one of them; "" is no error
	carts   []string // one of them: the discounts of the engine
	reads   int      // at most
	isIdle  bool     // an earlier call has made all writes
}

// endingOf returns how a call must end that begins with a cart in this state, and meets nothing.
func (sc *shopScenario) endingOf(state cartState, shop offers, codes []string) *ending {
	read, there := &exchange{hidden: sc.Hidden}, ofEngine(state.discounts, shop.Engine)
	switch {
	case sc.isUnreadable(read, state):
		return &ending{reasons: []string{"bad_response"}, carts: []string{describe(there)}, reads: 1}
	case state.items == 0:
		return &ending{reasons: []string{"empty_cart"}, carts: []string{""}, reads: 2}
	}
	price, _ := read.subtotal(state)
	end, staying := &ending{reads: 2}, state.staying(shop.Engine)
	amounts := shop.amounts(codes, price)
	lower(amounts, -(read.top(state) + staying + total(amounts)))
	missing := end.addCart(shop, amounts, nil)
	for _, d := range there {
		delete(missing, d.ExternalID)
	}
	switch {
	case read.top(state)+staying < 0:
		end.reasons = []string{"below_zero"}
	case state.isPromoted && len(missing) > 0:
		end.carts, end.reasons = nil, []string{"promotion_conflict"}
		end.addCart(shop, amounts, missing)
	default:
		end.reasons = []string{""}
	}
	after := state
	if after.discounts = nil; end.carts[0] != "" || len(there) < len(state.discounts) {
		after.discounts = make([]commerce.CustomDiscount, 1)
	}
	if sc.isUnreadable(read, after) {
		end.reasons = append(end.reasons, "bad_response")
	}
	return end
}

// addCart adds a cart with these discounts, without those that are missing, to those that end may
// leave. It returns the discounts.
func (end *ending) addCart(shop offers, amounts map[string]int64, missing map[string]bool) map[string]bool {
	list, codes := []commerce.CustomDiscount{}, map[string]bool{}
	for code, amount := range amounts {
		if amount < 0 && !missing[code] {
			list = append(list, onCart(newOffer(shop.Engine, code, commerce.NewDecimal(amount))))
			codes[code] = true
		}
	}
	end.carts = append(end.carts, describe(list))
	return codes
}
