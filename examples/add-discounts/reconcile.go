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

// rounds is the maximum number of calls: the first sends all discounts, the others
// those that are still missing.
const rounds = 3

// adder adds each discount to a cart exactly once, even if a response is lost: it
// reads the cart before and after the call, and sends again only what is missing. You
// may copy it into your program.
//
// This is correct as long as nobody else adds or removes discounts of the cart with
// the same engine and external id meanwhile. It can't see a request that is still
// under way: a gateway timed out, and the service applies the request later.
// Therefore it waits before it reads the cart.
type adder struct {
	client  *commerce.Client
	cartID  string
	options commerce.AddCustomDiscountsOptions
	settle  time.Duration                    // time to wait after a lost response
	logf    func(format string, args ...any) // prints each step
}

// add adds the batch. It returns what AddCustomDiscounts would return, with more
// certainty: if the outcome is partial or rejected, the cart has shown it, and the
// discounts in Unconfirmed are not in the cart. If the cart does not show what became
// of the batch either, the outcome is unknown, and the result, if not nil, holds what
// was known before.
func (a *adder) add(
	ctx context.Context, batch []commerce.NewCustomDiscount,
) (*commerce.AddCustomDiscountsResult, error) {
	a.logf("reading the cart")
	before, err := a.read(ctx)
	if err != nil && !errors.Is(err, commerce.ErrInvalidArgument) { // the call reports all problems, and sends nothing
		a.logf("the cart can't be read: nothing is sent")
		return nil, conclude(err, commerce.OutcomeNotSent, nil)
	}
	var (
		send    = batch
		proved  = map[string]int{} // by external id: how many the responses prove to be added
		refused []commerce.ErrorObject
		known   *commerce.AddCustomDiscountsResult
		failure error // the last one
	)
	for round := 1; ; round++ {
		result, err := a.client.Carts.AddCustomDiscounts(ctx, a.cartID, send, &a.options)
		outcome := commerce.OutcomeOf(err)
		if round == 1 && isDecided(outcome) {
			return result, err // the usual case: no need to read the cart
		}
		if err != nil {
			failure = err
		}
		if result != nil && known == nil {
			known = result
		}
		prove(proved, send, result, err)
		refused = append(refused, refusals(result, err)...)

		now, err := a.look(ctx, failure, outcome)
		if err != nil {
			return known, conclude(failure, commerce.OutcomeUnknown, fmt.Errorf("the cart can't be read: %w", err))
		}
		there, missing, err := compare(batch, before, now)
		known = &commerce.AddCustomDiscountsResult{
			Added: there, Errors: refused, Unconfirmed: missing, AllOrNothing: a.options.AllOrNothing,
		}
		if err == nil && contradicts(batch, missing, proved) {
			err = errors.New("the cart does not show what the service says it added")
		}
		if err != nil {
			return known, conclude(failure, commerce.OutcomeUnknown, err)
		}
		a.logf("the cart has %d of %d", len(there), len(batch))
		if len(missing) == 0 {
			known.Errors = nil
			return known, nil
		}
		send = sendable(outcome, send, missing, result)
		if len(send) == 0 || round == rounds {
			return settled(known, failure, outcome)
		}
		a.logf("sending %d again", len(send))
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
	if cart.Data.ID == "" { // such as {}, which must not count as a cart without discounts
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

// look reads the cart after a call. After a lost response it waits first.
func (a *adder) look(ctx context.Context, failure error, outcome commerce.Outcome) ([]commerce.CustomDiscount, error) {
	switch outcome {
	case commerce.OutcomeApplied:
		a.logf("the response says that they were added: reading the cart")
	case commerce.OutcomePartial:
		a.logf("the response does not prove that all were added: reading the cart")
	case commerce.OutcomeRejected, commerce.OutcomeNotSent:
		a.logf("%s: reading the cart", outcome)
	default: // unknown, unreadable
		a.logf("add-discounts: %v", failure)
		if a.settle > 0 {
			a.logf("the response was lost: reading the cart in %s", a.settle)
		} else {
			a.logf("the response was lost: reading the cart")
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

// isDecided reports whether an outcome is certain: each discount was added, or none.
func isDecided(outcome commerce.Outcome) bool {
	return outcome == commerce.OutcomeApplied || outcome == commerce.OutcomeRejected || outcome == commerce.OutcomeNotSent
}

// settled returns what is known after the last call, with some discounts missing.
func settled(
	known *commerce.AddCustomDiscountsResult, failure error, last commerce.Outcome,
) (*commerce.AddCustomDiscountsResult, error) {
	switch {
	case last == commerce.OutcomeUnknown || last == commerce.OutcomeUnreadable:
		// The cart does not show them yet. If we said that they were not added, the
		// user would add them again.
		return known, conclude(failure, commerce.OutcomeUnknown, fmt.Errorf("some are still missing after %d calls", rounds))
	case len(known.Added) == 0 && isDecided(last):
		return nil, failure
	}
	return known, conclude(failure, commerce.OutcomePartial, nil)
}

// conclude returns failure with the outcome that is known by now and, if reason is
// not nil, with the reason in place of its cause.
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

// key identifies a discount in the cart.
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

// gained returns the discounts that are in the cart more often now than before. The
// counts by key say how many; the ids say which.
func gained(before, now []commerce.CustomDiscount) []commerce.CustomDiscount {
	more := count(now, keyOf)
	old := map[uuid.UUID]bool{}
	for _, d := range before {
		more[keyOf(d)]--
		old[d.ID] = true
	}
	var list []commerce.CustomDiscount
	for _, wasThere := range []bool{false, true} { // if all ids are zero, the second pass finds them
		for _, d := range now {
			if old[d.ID] == wasThere && more[keyOf(d)] > 0 {
				more[keyOf(d)]--
				list = append(list, d)
			}
		}
	}
	return list
}

// pair matches the discounts of a batch with those that the cart gained, one to one,
// those with the same amount and item first. It returns those that are in the cart and
// those that are missing, both in the order of the batch, and the gained ones that
// match nothing.
func pair(
	batch []commerce.NewCustomDiscount, gained []commerce.CustomDiscount,
) (there []commerce.CustomDiscount, missing []commerce.NewCustomDiscount, over []commerce.CustomDiscount) {
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

// itemOf returns the item that a discount is for, or zero for the whole cart.
func itemOf(item *commerce.CartItemRef) commerce.CartItemRef {
	if item == nil {
		return commerce.CartItemRef{}
	}
	return *item
}

// compare returns which discounts of a batch the cart has gained, and which are
// missing. It fails if that is not certain: somebody else changed discounts with the
// same key, or the cart gained discounts without a key.
func compare(
	batch []commerce.NewCustomDiscount, before, now []commerce.CustomDiscount,
) (there []commerce.CustomDiscount, missing []commerce.NewCustomDiscount, err error) {
	there, missing, over := pair(batch, gained(before, now))
	sent, was, is := count(batch, keyOfNew), count(before, keyOf), count(now, keyOf)
	for _, d := range over {
		switch k := keyOf(d); {
		case sent[k] > 0:
			return append(there, over...), missing, errors.New(
				"the cart holds more of these discounts than were sent: somebody else adds them, or an earlier request was late")
		case k.engine == "" || k.externalID == "":
			return append(there, over...), missing, errors.New(
				"the cart holds new discounts without an engine or an external id")
		}
	}
	for k := range sent {
		if is[k] < was[k] {
			return there, missing, errors.New("somebody else removes these discounts from the cart")
		}
	}
	return there, missing, nil
}

// prove adds to proved, by external id, the discounts that a result proves to be added.
func prove(
	proved map[string]int, sent []commerce.NewCustomDiscount, result *commerce.AddCustomDiscountsResult, err error,
) {
	if result == nil {
		return
	}
	for _, d := range sent {
		proved[d.ExternalID]++
	}
	if err != nil {
		for _, d := range result.Unconfirmed {
			proved[d.ExternalID]--
		}
	}
}

// contradicts reports whether a missing discount is proved to be added. Then the cart
// that was read is out of date, and proves nothing.
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

// sendable returns the missing discounts that may be sent again: those that the last
// call sent and that the service did not reject. Discounts that the service rejected
// with a reason, in this or an earlier round, are not sent again.
func sendable(
	outcome commerce.Outcome, last, missing []commerce.NewCustomDiscount, result *commerce.AddCustomDiscountsResult,
) []commerce.NewCustomDiscount {
	switch outcome {
	case commerce.OutcomeUnknown, commerce.OutcomeUnreadable:
		return among(missing, last)
	case commerce.OutcomePartial:
		return unexplained(among(missing, last), result.Errors)
	default: // decided
		return nil
	}
}

// among returns the elements of list that are in set, each at most as often as in set.
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

// unexplained returns the missing discounts for which there is no reason. A reason
// that names an item of the cart counts for each missing discount of that item. A
// reason that names no such item counts for all.
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
	return slices.DeleteFunc(slices.Clone(missing), func(d commerce.NewCustomDiscount) bool {
		return d.Item != nil && refused[d.Item.ID]
	})
}

// refusals returns the reasons for discounts that the service did not add.
func refusals(result *commerce.AddCustomDiscountsResult, err error) []commerce.ErrorObject {
	switch commerce.OutcomeOf(err) {
	case commerce.OutcomePartial:
		return result.Errors
	case commerce.OutcomeRejected:
		return reasons(err)
	default:
		return nil
	}
}
