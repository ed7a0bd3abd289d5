package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// rounds is how often discounts are sent at most: all of them once, and what is
// missing of them in the rounds after that.
const rounds = 3

// adder adds discounts to a cart so that each is applied once, also where an
// answer gets lost: it reads the cart before and after, and sends again only what
// is missing. It is made to be copied.
//
// That is sound if nobody else adds discounts with the same external ids of the
// same engine to the cart meanwhile, or removes them. What it can't see is a
// request that is still on its way: a gateway gave up, and the service applies it
// later. This is why it lets things settle before it looks.
type adder struct {
	client  *commerce.Client
	cartID  string
	options commerce.AddCustomDiscountsOptions
	settle  time.Duration                    // from a lost answer to the look at the cart
	tell    func(format string, args ...any) // tells each step
}

// add adds the batch. What it returns is what AddCustomDiscounts would, with less
// doubt: an outcome that is partial or rejected is what the cart shows, and the
// discounts in Unconfirmed are not there. Where even the cart does not tell, the
// outcome is unknown, and the result, if there is one, what was known until then.
func (a *adder) add(ctx context.Context, batch []commerce.NewCustomDiscount) (*commerce.AddCustomDiscountsResult, error) {
	a.tell("reading the cart")
	before, err := a.read(ctx)
	if err != nil && !errors.Is(err, commerce.ErrInvalidArgument) { // the call names what is invalid, and sends nothing then
		a.tell("the cart can't be read: nothing is sent")
		return nil, conclude(err, commerce.OutcomeNotSent, nil)
	}
	var (
		send    = batch
		proved  = map[string]int{} // by external id: what answers prove to be added
		refused []commerce.ErrorObject
		known   *commerce.AddCustomDiscountsResult
		failure error // the last one
	)
	for round := 1; ; round++ {
		answer, err := a.client.Carts.AddCustomDiscounts(ctx, a.cartID, send, &a.options)
		outcome := commerce.OutcomeOf(err)
		if round == 1 && isDecided(outcome) {
			return answer, err // the usual case: no need to look
		}
		if err != nil {
			failure = err
		}
		if answer != nil && known == nil {
			known = answer
		}
		prove(proved, send, answer, err)
		refused = append(refused, refusals(answer, err)...)

		now, err := a.look(ctx, failure, outcome)
		if err != nil {
			return known, conclude(failure, commerce.OutcomeUnknown, fmt.Errorf("the cart can't be read: %w", err))
		}
		there, missing, err := compare(batch, before, now)
		known = &commerce.AddCustomDiscountsResult{Added: there, Errors: refused, Unconfirmed: missing, AllOrNothing: a.options.AllOrNothing}
		if err == nil && contradicts(batch, missing, proved) {
			err = errors.New("the cart does not show what the service says it added")
		}
		if err != nil {
			return known, conclude(failure, commerce.OutcomeUnknown, err)
		}
		a.tell("%d of %d are there", len(there), len(batch))
		if len(missing) == 0 {
			known.Errors = nil
			return known, nil
		}
		send = sendable(outcome, send, missing, answer)
		if len(send) == 0 || round == rounds {
			return settled(known, failure, outcome)
		}
		a.tell("sending %d again", len(send))
	}
}

// read returns the custom discounts of the cart and its items.
func (a *adder) read(ctx context.Context) ([]commerce.CustomDiscount, error) {
	var cart struct {
		Data struct {
			ID            string `json:"id"`
			Relationships struct {
				CustomDiscounts *struct {
					Data []json.RawMessage `json:"data"`
				} `json:"custom_discounts"`
			} `json:"relationships"`
			Meta struct {
				DisplayPrice struct {
					Discount *struct {
						Amount commerce.Decimal `json:"amount"`
					} `json:"discount"`
				} `json:"display_price"`
			} `json:"meta"`
		} `json:"data"`
		Included map[string]json.RawMessage `json:"included"`
	}
	query := url.Values{"include": {"custom_discounts"}}
	if _, err := a.client.Do(ctx, http.MethodGet, []string{"v2", "carts", a.cartID}, query, nil, &cart); err != nil {
		return nil, err
	}
	if cart.Data.ID == "" { // such as {}, which must not pass for a cart without discounts
		return nil, errors.New("the response does not hold it")
	}
	if included, ok := cart.Included["custom_discounts"]; ok {
		var discounts []commerce.CustomDiscount
		err := json.Unmarshal(included, &discounts)
		return discounts, err
	}
	// Without the list, something else must say that the cart has no discounts.
	related, discount := cart.Data.Relationships.CustomDiscounts, cart.Data.Meta.DisplayPrice.Discount
	switch {
	case related != nil && related.Data != nil && len(related.Data) == 0,
		related == nil && discount != nil && discount.Amount.IsZero():
		return nil, nil
	}
	return nil, errors.New("the response does not list its discounts")
}

// look reads the cart after a call; after a lost answer not at once.
func (a *adder) look(ctx context.Context, failure error, outcome commerce.Outcome) ([]commerce.CustomDiscount, error) {
	switch outcome {
	case commerce.OutcomeApplied:
		a.tell("the answer says that they were added: looking at the cart")
	case commerce.OutcomePartial:
		a.tell("the answer does not prove that all were added: looking at the cart")
	case commerce.OutcomeRejected, commerce.OutcomeNotSent:
		a.tell("%s: looking at the cart", outcome)
	default: // unknown, unreadable
		a.tell("add-discounts: %v", failure)
		if a.settle > 0 {
			a.tell("the answer was lost: looking at the cart in %s", a.settle)
		} else {
			a.tell("the answer was lost: looking at the cart")
		}
		if err := pause(ctx, a.settle); err != nil {
			return nil, err
		}
	}
	return a.read(ctx)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isDecided reports whether an outcome tells all: each discount was added, or none.
func isDecided(outcome commerce.Outcome) bool {
	return outcome == commerce.OutcomeApplied || outcome == commerce.OutcomeRejected || outcome == commerce.OutcomeNotSent
}

// settled returns what is known in the end, with some discounts missing.
func settled(known *commerce.AddCustomDiscountsResult, failure error, last commerce.Outcome) (*commerce.AddCustomDiscountsResult, error) {
	switch {
	case last == commerce.OutcomeUnknown || last == commerce.OutcomeUnreadable:
		// The cart does not show them so far. To say that they were not added would
		// invite to add them anew.
		return known, conclude(failure, commerce.OutcomeUnknown, fmt.Errorf("some are still missing after %d calls", rounds))
	case len(known.Added) == 0 && isDecided(last):
		return nil, failure
	}
	return known, conclude(failure, commerce.OutcomePartial, nil)
}

// conclude returns the failure of a call with the outcome that is known by now,
// and with the reason for it.
func conclude(failure error, outcome commerce.Outcome, reason error) error {
	e := commerce.Error{Op: "Carts.AddCustomDiscounts", Err: failure}
	if failed, ok := errors.AsType[*commerce.Error](failure); ok {
		e = *failed
	}
	e.Outcome = outcome
	if reason != nil {
		e.Err = reason
	}
	return &e
}

// key is what a discount is found by in the cart.
type key struct{ engine, externalID string }

func keyOf(d commerce.CustomDiscount) key { return key{d.DiscountEngine, d.ExternalID} }

func keyOfNew(d commerce.NewCustomDiscount) key { return key{d.DiscountEngine, d.ExternalID} }

// count returns how often each key occurs.
func count[D any, K comparable](list []D, keyOf func(D) K) map[K]int {
	n := map[K]int{}
	for _, d := range list {
		n[keyOf(d)]++
	}
	return n
}

// gained returns the discounts that are in the cart more often now than before.
// Their number, by key, comes from the counts; which ones they are, from the ids.
func gained(before, now []commerce.CustomDiscount) []commerce.CustomDiscount {
	more := count(now, keyOf)
	old := map[uuid.UUID]bool{}
	for _, d := range before {
		more[keyOf(d)]--
		old[d.ID] = true
	}
	var list []commerce.CustomDiscount
	for _, wasThere := range []bool{false, true} { // a cart without ids still has counts
		for _, d := range now {
			if old[d.ID] == wasThere && more[keyOf(d)] > 0 {
				more[keyOf(d)]--
				list = append(list, d)
			}
		}
	}
	return list
}

// pair finds the discounts of a batch among those that the cart gained: each one
// once, those with the same amount and item first. It returns those that are there
// and those that are missing, both in the order of the batch, and the gained ones
// that are left over.
func pair(batch []commerce.NewCustomDiscount, gained []commerce.CustomDiscount) (there []commerce.CustomDiscount, missing []commerce.NewCustomDiscount, over []commerce.CustomDiscount) {
	over = slices.Clone(gained)
	found := make([]*commerce.CustomDiscount, len(batch))
	for _, same := range []func(commerce.NewCustomDiscount, commerce.CustomDiscount) bool{alike, sameKey} {
		for i, sent := range batch {
			if found[i] != nil {
				continue
			}
			at := slices.IndexFunc(over, func(d commerce.CustomDiscount) bool { return same(sent, d) })
			if at >= 0 {
				d := over[at]
				found[i], over = &d, slices.Delete(over, at, at+1)
			}
		}
	}
	for i, d := range found {
		if d != nil {
			there = append(there, *d)
		} else {
			missing = append(missing, batch[i])
		}
	}
	return there, missing, over
}

func sameKey(sent commerce.NewCustomDiscount, d commerce.CustomDiscount) bool {
	return keyOfNew(sent) == keyOf(d)
}

func alike(sent commerce.NewCustomDiscount, d commerce.CustomDiscount) bool {
	return sameKey(sent, d) && sent.Amount.Equal(d.Amount.Amount) && itemOf(sent.Item) == itemOf(d.Item)
}

// itemOf returns the item that a discount is for; zero: the whole cart.
func itemOf(item *commerce.CartItemRef) commerce.CartItemRef {
	if item == nil {
		return commerce.CartItemRef{}
	}
	return *item
}

// compare tells what of a batch is in the cart now that was not there before, and
// what is missing. It fails where that can't be told: what has to be counted was
// changed by others too, or can't be found by its key.
func compare(batch []commerce.NewCustomDiscount, before, now []commerce.CustomDiscount) (there []commerce.CustomDiscount, missing []commerce.NewCustomDiscount, err error) {
	there, missing, over := pair(batch, gained(before, now))
	sent, was, is := count(batch, keyOfNew), count(before, keyOf), count(now, keyOf)
	for _, d := range over {
		switch k := keyOf(d); {
		case sent[k] > 0:
			return append(there, over...), missing, errors.New("the cart holds more of these discounts than were sent: somebody else adds them, or an earlier request was late")
		case k.engine == "" || k.externalID == "":
			return append(there, over...), missing, errors.New("the cart holds new discounts without an engine or an external id")
		}
	}
	for k := range sent {
		if is[k] < was[k] {
			return there, missing, errors.New("somebody else removes these discounts from the cart")
		}
	}
	return there, missing, nil
}

// prove adds to proved, by external id, what the answer to a call proves to be added.
func prove(proved map[string]int, sent []commerce.NewCustomDiscount, answer *commerce.AddCustomDiscountsResult, err error) {
	if answer == nil {
		return
	}
	for _, d := range sent {
		proved[d.ExternalID]++
	}
	if err != nil {
		for _, d := range answer.Unconfirmed {
			proved[d.ExternalID]--
		}
	}
}

// contradicts reports whether some of what is missing is proved to be added: then
// what was read is not the cart as it is, and nothing can be told from it.
func contradicts(batch, missing []commerce.NewCustomDiscount, proved map[string]int) bool {
	externalID := func(d commerce.NewCustomDiscount) string { return d.ExternalID }
	sent, open := count(batch, externalID), count(missing, externalID)
	for id, n := range proved {
		if sent[id]-open[id] < n {
			return true
		}
	}
	return false
}

// sendable returns what may be sent again of what is missing: what was sent last,
// got no answer, and was not refused. Nothing that the service refused for a
// reason, now or in an earlier round, is sent again.
func sendable(outcome commerce.Outcome, last, missing []commerce.NewCustomDiscount, answer *commerce.AddCustomDiscountsResult) []commerce.NewCustomDiscount {
	switch outcome {
	case commerce.OutcomeUnknown, commerce.OutcomeUnreadable:
		return among(missing, last)
	case commerce.OutcomePartial:
		return unexplained(among(missing, last), answer.Errors)
	default: // it is decided
		return nil
	}
}

// among returns those of list that are in set, each as often as it is there.
func among(list, set []commerce.NewCustomDiscount) []commerce.NewCustomDiscount {
	set = slices.Clone(set)
	var common []commerce.NewCustomDiscount
	for _, d := range list {
		at := slices.IndexFunc(set, func(other commerce.NewCustomDiscount) bool {
			return keyOfNew(d) == keyOfNew(other) && d.Amount.Equal(other.Amount) && itemOf(d.Item) == itemOf(other.Item)
		})
		if at >= 0 {
			set = slices.Delete(set, at, at+1)
			common = append(common, d)
		}
	}
	return common
}

// unexplained returns those of missing that none of the reasons speaks of. A
// reason names an item of the cart, and is taken for all that is missing on it; one
// that names no such item is taken for everything.
func unexplained(missing []commerce.NewCustomDiscount, reasons []commerce.ErrorObject) []commerce.NewCustomDiscount {
	refused := map[uuid.UUID]bool{}
	for _, o := range reasons {
		item, err := uuid.Parse(o.Meta.ID)
		on := func(d commerce.NewCustomDiscount) bool { return d.Item != nil && d.Item.ID == item }
		if err != nil || !slices.ContainsFunc(missing, on) {
			return nil
		}
		refused[item] = true
	}
	return slices.DeleteFunc(slices.Clone(missing), func(d commerce.NewCustomDiscount) bool { return d.Item != nil && refused[d.Item.ID] })
}

// refusals returns what the service said about discounts that it did not add.
func refusals(answer *commerce.AddCustomDiscountsResult, err error) []commerce.ErrorObject {
	switch commerce.OutcomeOf(err) {
	case commerce.OutcomePartial:
		return answer.Errors
	case commerce.OutcomeRejected:
		return reasons(err)
	default:
		return nil
	}
}
