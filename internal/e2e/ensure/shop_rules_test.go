package ensure_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// broken returns which rules of SetCustomDiscounts a call broke, and how, by the log of the server.
func (c *shopCall) broken(s *cartServer) map[string]string {
	broken := map[string]string{}
	if c.readsTwoCarts() {
		return broken
	}
	rules := map[string]func(*cartServer) string{
		"nil only if the last read was as wanted":      c.falseNil,
		"no write makes the price less than 0":         c.belowZero,
		"want gets the price":                          c.wrongPrice,
		"writes only what it may":                      c.forbidden,
		"no resend before Settle, and two at most":     c.resent,
		"no add is sent again before Settle":           func(*cartServer) string { return c.earlyResend() },
		"four reads at most":                           func(s *cartServer) string { return c.excessReads(s, 4) },
		"Rejected and NotSent only if nothing changed": func(*cartServer) string { return c.falseRefusal() },
		"what is not readable ends the call":           c.unreadable,
		"IsFinal, RemedyOf and RetryAfter agree":       func(*cartServer) string { return c.wrongRemedy() },
		"the reason is right":                          c.wrongReason,
		"a quiet call ends as it must":                 c.wrongEnding,
	}
	if c.isAlone {
		rules["Added, Updated and Deleted are true"] = func(*cartServer) string { return c.falseReport() }
		rules["in doubt what may change"] = func(*cartServer) string { return c.missingDoubt() }
	}
	for rule, check := range rules {
		if text := check(s); text != "" {
			broken[rule] = text
		}
	}
	return broken
}

// readsTwoCarts reports whether the cart changed between the two requests of a read.
func (c *shopCall) readsTwoCarts() bool {
	last := 0
	for _, e := range c.exchanges {
		if e.Method == http.MethodGet && !e.isRead() && e.state != last {
			return true
		}
		last = e.state
	}
	return false
}

// mayHold reports whether a read of the call showed a total that may lower discounts more.
func (c *shopCall) mayHold(s *cartServer) bool {
	return slices.ContainsFunc(c.exchanges, func(e *exchange) bool { return e.isRead() && c.sc.mayHold(e.shows(s)) })
}

func (c *shopCall) falseNil(s *cartServer) string {
	if c.Err != nil || c.Options.DryRun {
		return ""
	}
	read := c.lastRead(len(c.exchanges))
	state := read.shows(s)
	price, _ := read.subtotal(state)
	isCredit := price < 0 // want is not called
	switch {
	case !c.endsWithRead():
		return "it returned nil, but did not read the cart in the end"
	case len(c.Result.InDoubt) > 0 || len(c.Result.Missing) > 0 || len(c.Result.Different) > 0:
		return fmt.Sprintf("it returned nil, but %+v", c.Result)
	case c.lateAdd() != "":
		return fmt.Sprintf("it returned nil, but %s may still be added", c.lateAdd())
	case state.items == 0 || state.prices.WithTax < 0:
		return fmt.Sprintf("it returned nil for a cart with %d items and the price %d", state.items, state.prices.WithTax)
	case isCredit && len(ofEngine(state.discounts, c.offers.Engine)) == 0:
		return ""
	case len(c.wants) == 0 || c.wants[len(c.wants)-1].read != read:
		return "it returned nil, but did not ask what is wanted for the cart that it read last"
	case read.differs(state):
		return fmt.Sprintf("it returned nil, but the total discount is %d", state.prices.Discount)
	}
	if price, err := c.Result.Cart.Total(); err != nil || whole(price.Amount) != state.prices.WithTax {
		return fmt.Sprintf("the total is %v, %v, want %d", price, err, state.prices.WithTax)
	}
	return c.wrongAmounts(read, s)
}

// lateAdd returns the key of a discount that was sent more often than reads showed a new one.
func (c *shopCall) lateAdd() string {
	sent, known := map[string]int{}, map[uuid.UUID]bool{}
	for _, e := range c.exchanges {
		isRefused := func(key string) bool { // beside others that were added
			isIt := func(d commerce.CustomDiscount) bool { return keyOf(d) == key }
			return !e.AppliedAt.IsZero() && !slices.ContainsFunc(e.Changed, isIt)
		}
		for _, key := range slices.DeleteFunc(slices.Clone(e.Posted), isRefused) {
			if e.Status < 400 || e.Status == http.StatusRequestTimeout || e.Status > 499 {
				sent[key]++
			}
		}
		for _, d := range e.Shown {
			if e.hasRead() && !known[d.ID] {
				known[d.ID] = true
				sent[keyOf(d)] = max(0, sent[keyOf(d)]-1)
			}
		}
	}
	for key, n := range sent {
		if n > 0 {
			return key
		}
	}
	return ""
}

// wrongAmounts compares the discounts of the last read with what was wanted, and with Lowered.
func (c *shopCall) wrongAmounts(read *exchange, s *cartServer) string {
	state := read.shows(s)
	there := ofEngine(state.discounts, c.offers.Engine)
	wanted := onCarts(c.wants[len(c.wants)-1].list)
	lowered := slices.Clone(wanted)
	if c.sc.lower(read, state, c.offers.Engine, lowered); c.mayHold(s) {
		cut(lowered, -sumOf(there), func(*commerce.CustomDiscount) bool { return true })
	}
	if got, want := describe(there), describe(withAmounts(lowered)); got != want {
		return fmt.Sprintf("the last read showed\n%s\nwant\n%s\nof\n%s", got, want, describe(wanted))
	}
	var want []commerce.CustomDiscount
	for i, d := range wanted {
		if !d.Amount.Amount.Equal(lowered[i].Amount.Amount) {
			want = append(want, d)
		}
	}
	if got, want := describe(onCarts(c.Result.Lowered)), describe(want); got != want {
		return fmt.Sprintf("Lowered is\n%s\nwant\n%s", got, want)
	}
	return c.belowItem(state)
}

// belowItem looks for an item whose discounts take more than it costs. Without the prices of items,
// those of the cart may be rounded.
func (c *shopCall) belowItem(state cartState) string {
	for _, l := range state.lines {
		list, rounded := onItem(state.discounts, l.ref.ID), int64(0)
		if slices.Contains(c.lastRead(len(c.exchanges)).hidden, "items") {
			rounded = int64(state.items)
		}
		isOwn := len(ofEngine(list, c.offers.Engine)) > 0
		if isOwn && l.net+rounded+l.promotion+sumOf(list) < 0 {
			return fmt.Sprintf("%+v has\n%s", l, describe(list))
		}
	}
	return ""
}

// belowZero looks for a write that took effect at once, and made the price less than 0, by more
// than rounding may take, although nobody else had changed the cart since it was read.
func (c *shopCall) belowZero(s *cartServer) string {
	for n, e := range c.exchanges {
		read := c.lastRead(n)
		isStale := read.prices != nil && *read.prices != s.states[read.state].prices
		if !e.isWrite() || e.AppliedAt.IsZero() || e.Fault.Late > 0 || read.At.IsZero() || isStale ||
			s.isChangedByOthers(c.Number, read.state, e.state) {
			continue
		}
		state := s.states[e.state]
		before, after := s.states[e.state-1].prices.WithTax, state.prices.WithTax
		if c.sc.Config.TaxPercent > 0 {
			after += int64(state.items)
		}
		if after < 0 && after < before {
			return fmt.Sprintf("the price was %d and became %d by %v", before, after, e)
		}
	}
	return ""
}

func (c *shopCall) wrongPrice(s *cartServer) string {
	for _, w := range c.wants {
		price, ok := w.read.subtotal(w.read.shows(s))
		switch {
		case !ok || price < 0 || w.read.hides("with_tax") || w.read.shows(s).items == 0:
			return fmt.Sprintf("want was called for %v %+v, Subtotal returned %v, %v",
				w.read.hidden, w.read.shows(s), w.price, w.err)
		case whole(w.price.Amount) != price:
			return fmt.Sprintf("Subtotal of %v is %v, want %d", w.read.hidden, w.price.Amount, price)
		}
		for _, l := range w.read.shows(s).lines {
			want, _ := c.sc.priceOf(w.read, w.read.shows(s), l)
			if got, ok := w.prices[l.ref.ID]; ok && whole(got.Amount) != want {
				return fmt.Sprintf("PriceOf %+v of %v is %v, want %d", l, w.read.hidden, got.Amount, want)
			}
		}
	}
	return ""
}

// forbidden looks for a write that the read before it does not allow.
func (c *shopCall) forbidden(s *cartServer) string {
	enables, isEnabled := 0, false
	for n, e := range c.exchanges {
		read := c.lastRead(n)
		state := read.shows(s)
		if !e.isWrite() {
			isEnabled = false
			continue
		}
		mayAdd, problem := state.isEnabled || isEnabled || enables > 1, ""
		switch {
		case read.At.IsZero() || c.Options.DryRun || c.sc.problem(read, state, c.offers, c.codes) != "":
			problem = "it must write nothing"
		case e.isEnable() && state.isPromoted:
			problem = "the cart has promotions, which may stay"
		case e.isEnable() && (state.isEnabled || state.items == 0):
			problem = "custom discounts are enabled, or there are no items"
		case e.isEnable():
		case e.Method == http.MethodPost && (state.items == 0 || state.isPromoted || !mayAdd):
			problem = fmt.Sprintf("the cart takes no discounts: %+v", state)
		case e.Method == http.MethodPost:
			isOther := func(d commerce.NewCustomDiscount) bool { return d.DiscountEngine != c.offers.Engine }
			if slices.ContainsFunc(e.batch, isOther) {
				problem = "of another engine"
			}
		case s.find(e.target()).DiscountEngine != c.offers.Engine:
			problem = "a discount of others"
		}
		if problem != "" {
			return fmt.Sprintf("%s: %v", problem, e)
		}
		if e.isEnable() {
			enables++
			isEnabled = e.Delivered && e.Status == http.StatusOK && !e.hides("enabled")
		}
	}
	return ""
}

// resent looks for a change that was made a third time, or again before Settle although no read had
// shown it.
func (c *shopCall) resent(s *cartServer) string {
	settle := settleOf(c.Options.Settle)
	made := map[string][]*exchange{} // the first attempts of writes
	rounds := map[string]*exchange{} // the read before the last attempt
	for n, e := range c.exchanges {
		if !e.isWrite() || e.Status == http.StatusTooManyRequests {
			continue
		}
		keys := e.Posted
		if e.Method != http.MethodPost {
			keys = []string{e.Method + e.Path}
		}
		for _, key := range keys {
			read := c.lastRead(n)
			if rounds[key] == read && e.Method != http.MethodPost { // another attempt
				continue
			}
			rounds[key] = read
			if made[key] = append(made[key], e); len(made[key]) > 2 {
				return "for the third time: " + e.String()
			}
			before := made[key][0]
			if before != e && e.Method != http.MethodPost && !c.wasShown(before, e, s) && read.At.Sub(before.Ended) < settle {
				return "again before Settle: " + e.String()
			}
		}
	}
	return ""
}

func settleOf(settle time.Duration) time.Duration {
	switch {
	case settle == 0:
		return 2 * time.Second
	case settle < 0:
		return time.Hour // never
	}
	return settle
}

// wasShown reports whether a read between two writes showed the effect of the first.
func (c *shopCall) wasShown(write, next *exchange, s *cartServer) bool {
	var body struct{ Data struct{ Amount int64 } }
	_ = json.Unmarshal(write.Body, &body) // a deletion has none
	from, to := slices.Index(c.exchanges, write), slices.Index(c.exchanges, next)
	return slices.ContainsFunc(c.exchanges[from:to], func(e *exchange) bool {
		if !e.hasRead() {
			return false
		}
		i := slices.IndexFunc(e.Shown, func(d commerce.CustomDiscount) bool { return d.ID == write.target() })
		switch {
		case write.isEnable():
			return e.shows(s).isEnabled
		case write.Method == http.MethodDelete:
			return i < 0
		}
		return i >= 0 && whole(e.Shown[i].Amount.Amount) == body.Data.Amount
	})
}

// unreadable reports another error than it must be after a read that does not show what it must.
func (c *shopCall) unreadable(s *cartServer) string {
	read := c.lastRead(len(c.exchanges))
	hasEnded := c.Ended.Sub(c.Started) >= c.timeout || !c.endsWithRead()
	problem := c.sc.problem(read, read.shows(s), c.offers, c.codes)
	want := map[string]error{"bad_response": commerce.ErrBadResponse, "promotion_conflict": commerce.ErrPromotionConflict}
	isBad := errors.Is(c.Err, commerce.ErrBadResponse) && !c.sc.isListed(read, read.shows(s)) // the read before was
	if hasEnded || problem == "" || errors.Is(c.Err, want[problem]) || isBad {
		return ""
	}
	return fmt.Sprintf("without %v the call must end with %s, but returned %v: %v", read.hidden, problem, c.Err, read)
}

// reads counts the reads. One without a list of discounts may be made again, with another query.
func (c *shopCall) reads(s *cartServer) (reads int) {
	isAgain := false
	for _, e := range c.exchanges {
		isRead := e.hasRead()
		if isRead && !isAgain {
			reads++
		}
		if isRead || e.isWrite() {
			isAgain = isRead && !isAgain && !c.sc.isListed(e, e.shows(s))
		}
	}
	return reads
}

func (c *shopCall) excessReads(s *cartServer, most int) string {
	if n := c.reads(s); n > most {
		return fmt.Sprintf("it read the cart %d times, want at most %d", n, most)
	}
	return ""
}

func (c *shopCall) wrongRemedy() string {
	remedy, failed := commerce.RemedyOf(c.Err), (*commerce.Error)(nil)
	isUnknown := errors.Is(c.Err, commerce.ErrOutcomeUnknown)
	switch isFinal := commerce.IsFinal(c.Err); {
	case c.Err == nil && (remedy != 0 || isFinal):
		return "an error that is nil has the remedy " + remedy.String()
	case c.Err == nil:
		return ""
	case isFinal && remedy != commerce.RemedyCart && remedy != commerce.RemedyStaff, remedy == 0, isFinal && isUnknown:
		return "IsFinal is " + strconv.FormatBool(isFinal) + ", but RemedyOf " + remedy.String()
	case isUnknown != (commerce.OutcomeOf(c.Err) == commerce.OutcomeUnknown):
		return "ErrOutcomeUnknown does not match the outcome " + commerce.OutcomeOf(c.Err).String()
	}
	least := min(settleOf(c.Options.Settle), 2*time.Second)
	isDoubtful := isUnknown && c.Result != nil && len(c.Result.InDoubt) > 0
	if isDoubtful && (!errors.As(c.Err, &failed) || failed.RetryAfter < least) {
		return fmt.Sprintf("the outcome is unknown, but RetryAfter is %v, want %v", failed.RetryAfter, least)
	}
	return ""
}

// wrongReason looks for a reason that no read and no refusal showed.
func (c *shopCall) wrongReason(s *cartServer) string {
	isEmpty, isPromoted, isBelow, differs := false, false, false, false
	for _, e := range c.exchanges {
		state := e.shows(s)
		if e.isWrite() {
			state = s.states[max(0, e.state-1)]
		}
		isRefusal := e.isWrite() && e.Status > 299
		isEmpty = isEmpty || (e.isRead() || isRefusal) && state.items == 0
		isPromoted = isPromoted || e.isRead() && state.isPromoted
		isBelow = isBelow || e.isRead() && (c.sc.isShort(e, state, c.offers.Engine) || state.prices.WithTax < 0)
		differs = differs || e.isRead() && e.differs(state)
		if isRefusal && e.AppliedAt.IsZero() {
			isPromoted, isEmpty = true, true
		}
	}
	switch {
	case errors.Is(c.Err, commerce.ErrEmptyCart) && !isEmpty:
		return "the cart was never empty"
	case errors.Is(c.Err, commerce.ErrPromotionConflict) && !isPromoted:
		return "the cart never had a promotion"
	case errors.Is(c.Err, commerce.ErrBelowZero) && !isBelow:
		return "others never took more than the cart costs"
	case errors.Is(c.Err, commerce.ErrPriceDiffers) && !differs:
		return "the total discount was always the sum"
	case errors.Is(c.Err, commerce.ErrWantChanged) && !c.sc.Fickle && !c.sc.HidesAny: // which changes PriceOf
		return "the shop always returned the same list for the same cart"
	}
	return ""
}

// wrongEnding compares a call that met nothing with how it must end.
func (c *shopCall) wrongEnding(s *cartServer) string {
	if c.ending == nil {
		return ""
	}
	state, price := s.states[0], s.states[0].prices.WithTax
	if n := len(c.exchanges); n > 0 {
		state, price = c.exchanges[n-1].shows(s), s.states[c.exchanges[n-1].state].prices.WithTax
	}
	reason, there := commerce.ReasonOf(c.Err), describe(ofEngine(state.discounts, c.offers.Engine))
	isWrite := slices.ContainsFunc(c.exchanges, (*exchange).isWrite)
	mayHold, reads := c.mayHold(s), c.ending.reads
	if mayHold {
		reads = 4
	}
	switch {
	case !slices.Contains(c.ending.reasons, reason) && (!mayHold || reason != ""):
		return fmt.Sprintf("the reason is %q, want one of %q; the cart has\n%s", reason, c.ending.reasons, there)
	case !slices.Contains(c.ending.carts, there) && c.ending.carts != nil && !mayHold:
		return fmt.Sprintf("the cart has\n%s\nwant one of\n%q", there, c.ending.carts)
	case c.ending.reads > 1 && price < 0 && there != "":
		return fmt.Sprintf("the cart costs %d, and has\n%s", price, there)
	case c.excessReads(s, reads) != "":
		return c.excessReads(s, reads)
	case c.ending.isIdle && !mayHold && reason != "promotion_conflict" && isWrite:
		return "it has written something, although an earlier call had set all"
	}
	return ""
}
