package commerce

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/transport"
	"github.com/commerce-go/commerce/internal/wire"
)

// unconfirmed returns the discounts sent that are not proved to be among those
// added: matched by external id as a multiset, those of the same engine first, and
// the rest by count with added ones that have no external id. Where these are too
// few, it can't be told whose they are.
func unconfirmed(sent []NewCustomDiscount, added []CustomDiscount) []NewCustomDiscount {
	anonymous := 0
	echoed := map[string]map[string]int{} // by external id and engine
	for _, d := range added {
		if d.ExternalID == "" {
			anonymous++
			continue
		}
		if echoed[d.ExternalID] == nil {
			echoed[d.ExternalID] = map[string]int{}
		}
		echoed[d.ExternalID][d.DiscountEngine]++
	}
	rest := slices.DeleteFunc(slices.Clone(sent), func(d NewCustomDiscount) bool {
		engines := echoed[d.ExternalID]
		same := engines[d.DiscountEngine] > 0
		if same {
			engines[d.DiscountEngine]--
		}
		return same
	})
	rest = slices.DeleteFunc(rest, func(d NewCustomDiscount) bool {
		for engine, n := range echoed[d.ExternalID] {
			if n > 0 {
				echoed[d.ExternalID][engine]--
				return true
			}
		}
		return false
	})
	if len(rest) <= anonymous {
		return nil
	}
	for i, d := range rest {
		if d.Item != nil {
			item := *d.Item // the caller's own may change later
			rest[i].Item = &item
		}
	}
	return rest
}

// batchResponse is what a response says about a batch of discounts. Of other writes,
// only mayHold counts.
type batchResponse struct {
	added        []CustomDiscount // each id once
	errors       []ErrorObject
	allOrNothing *bool // nil: the response does not say
	extra        Extra // other members
	mayHold      bool  // the response may hold discounts that are not in added
	problem      error // why it shows no discount

	sent        int                 // number of discounts in the batch
	unconfirmed []NewCustomDiscount // those not proved to be among added
}

// outcome decides what became of a write, from the result of its last attempt. The first
// case that matches counts. What a response shows comes before its status.
func (b *batchResponse) outcome(r *transport.Result) Outcome {
	switch ok := r.Is2xx(); {
	case r.MaybeSent:
		return OutcomeUnknown
	case r.StatusCode == 0:
		return OutcomeNotSent
	case len(b.added) > 0 && ok && b.confirmsAll():
		return OutcomeApplied
	case len(b.added) > 0:
		return OutcomePartial
	case ok && b.refusesAll() && !r.SentTwice:
		return OutcomeRejected
	case ok:
		return OutcomeUnreadable
	case isRefusal(r.StatusCode) && !b.mayHold && !r.SentTwice:
		return OutcomeRejected
	}
	return OutcomeUnknown
}

func (b *batchResponse) confirmsAll() bool {
	return len(b.errors) == 0 && len(b.unconfirmed) == 0 && len(b.added) <= b.sent
}

func (b *batchResponse) refusesAll() bool {
	none := b.allOrNothing != nil && *b.allOrNothing
	return !b.mayHold && b.sent > 0 && len(b.errors) > 0 && (none || len(b.errors) >= b.sent)
}

// isRefusal reports whether the service, or a gateway before it, says with a status
// that it did not act.
func isRefusal(status int) bool {
	return status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect ||
		status >= 400 && status <= 499 && status != http.StatusRequestTimeout
}

// mayHoldDiscounts reports whether a response shows discounts, or may hold some.
func mayHoldDiscounts(r *transport.Result) bool {
	b := readBatch(r)
	return len(b.added) > 0 || b.mayHold
}

// readBatch reads the response to a batch, whatever its status.
func readBatch(r *transport.Result) *batchResponse {
	b := &batchResponse{}
	if wire.HasTooManyValues(r.Body) {
		b.mayHold, b.problem = true, errors.New("the response has too many JSON values")
		return b
	}
	members, err := wire.Members(r.Body)
	if err == nil {
		err = b.readMembers(members)
	} else {
		b.errors = errorsOf(r.Body)
	}
	switch {
	case err != nil:
		b.problem = err
		b.mayHold = looksLikeJSON(r) || !isPlainText(r)
	case len(b.added) == 0:
		b.problem = errors.New("the response does not show what was added")
		b.mayHold = b.mayHold || r.Truncated || holdsDiscount(r.Body) || !isPlainText(r)
	}
	return b
}

// compare matches the response with the batch that was sent.
func (b *batchResponse) compare(sent []NewCustomDiscount, allOrNothing bool) {
	b.sent, b.unconfirmed = len(sent), unconfirmed(sent, b.added)
	if b.allOrNothing == nil {
		b.allOrNothing = &allOrNothing
	}
}

// result returns what became of the batch.
func (b *batchResponse) result(r *transport.Result) *AddCustomDiscountsResult {
	return &AddCustomDiscountsResult{
		Added:        b.added,
		Errors:       b.errors,
		Unconfirmed:  b.unconfirmed,
		AllOrNothing: *b.allOrNothing,
		Response:     newResponse(r),
		Extra:        b.extra,
	}
}

// readMembers reads the members of a body, whose names it knows in any letter case.
func (b *batchResponse) readMembers(members []wire.Member) error {
	var data []byte
	for _, m := range members {
		switch strings.ToLower(m.Name) {
		case "data":
			if data != nil {
				b.added = nil
				return errors.New("the response has data twice")
			}
			data = m.Value
			b.readData(data)
		case "errors":
			b.errors = newErrorObjects(m.Value)
		case "options":
			var options struct {
				AllOrNothing *bool `json:"add_all_or_nothing"`
				Extra        Extra `json:",embed"`
			}
			if payloads.Unmarshal(m.Value, &options) == nil {
				b.allOrNothing = options.AllOrNothing
			}
		default:
			if b.extra == nil {
				b.extra = Extra{}
			}
			b.extra[m.Name] = m.Value
		}
	}
	return nil
}

// readData collects the discounts in data, an array or one object. Anything else in it
// may be a discount in a form that is not known.
func (b *batchResponse) readData(data []byte) {
	seen := map[uuid.UUID]bool{}
	n := 0
	for element := range wire.Elements(data) {
		if n++; n > maxDiscounts {
			b.added, b.mayHold = nil, true
			return
		}
		var d CustomDiscount
		if element[0] != '{' || payloads.Unmarshal(element, &d) != nil || !isCustomDiscount(&d) {
			b.mayHold = true
			continue
		}
		if d.ID != uuid.Nil && seen[d.ID] {
			continue // one discount, listed twice
		}
		seen[d.ID] = true
		b.added = append(b.added, d)
	}
}

// isCustomDiscount reports whether an object in data is a discount that has an identity:
// an external id, or an id together with the type. An id alone does not count, because
// the cart has one too.
func isCustomDiscount(d *CustomDiscount) bool {
	return d.Type == customDiscountType && d.ID != uuid.Nil ||
		(d.Type == "" || d.Type == customDiscountType) && d.ExternalID != ""
}

// isPlainText reports whether a body is UTF-8 text that is not compressed. A body that is
// still compressed with gzip is never UTF-8.
func isPlainText(r *transport.Result) bool {
	switch strings.ToLower(strings.Join(r.Header.Values("Content-Encoding"), ",")) {
	case "", "gzip", "identity":
		return utf8.Valid(r.Body)
	}
	return false
}

// looksLikeJSON reports whether a body that could not be read as an object may still hold
// discounts: it begins like an object, is an array that is not empty or not valid, or is
// truncated before it begins.
func looksLikeJSON(r *transport.Result) bool {
	body := bytes.TrimLeft(r.Body, " \t\r\n\x00\ufeff") // UTF-16 may begin with a NUL
	switch {
	case len(body) == 0:
		return r.Truncated
	case body[0] == '[':
		return r.Truncated || len(bytes.TrimLeft(body[1:], " \t\r\n]")) > 0 || !wire.Valid(body)
	}
	return body[0] == '{'
}

// holdsDiscount reports whether an object in a JSON body, at any depth, looks like a
// discount. The errors of the response do not count.
func holdsDiscount(body []byte) bool {
	return wire.HasMember(body, "errors", func(name, text string) bool {
		switch strings.ToLower(name) {
		case "external_id", "discount_code", "discount_engine":
			return true
		case "type":
			return strings.HasPrefix(strings.ToLower(text), customDiscountType)
		}
		return false
	})
}
