package commerce

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/transport"
	"github.com/commerce-go/commerce/internal/wire"
)

// AddCustomDiscountsOptions are the options of [CartService.AddCustomDiscounts].
type AddCustomDiscountsOptions struct {
	// AllOrNothing adds no discount if one of them cannot be added. Otherwise the service
	// adds those that can be added, and reports the others.
	AllOrNothing bool
	// AllowRepeated allows two discounts of a batch with the same engine and external id.
	AllowRepeated bool
}

// AddCustomDiscountsResult lists which discounts of a batch were added.
type AddCustomDiscountsResult struct {
	// Added are the discounts that the service reports as added.
	Added []CustomDiscount
	// Errors of the discounts that were not added. If the discount is for an item of the
	// cart, Meta.ID names that item, not the discount. Extra of an error inside data has the
	// external_id that is beside it there.
	Errors []ErrorObject
	// Unconfirmed are the discounts that the response does not prove were added. Read the
	// cart before you send them again.
	Unconfirmed []UnconfirmedDiscount
	// AllOrNothing as the service understood it, or the option if the response does not say.
	AllOrNothing bool
	Response     *Response
	// Extra holds other members of the response, e.g. meta.
	Extra Extra
}

// UnconfirmedDiscount is a discount that may not have been added.
type UnconfirmedDiscount struct {
	NewCustomDiscount
	// Reasons are the error entries that may be about the discount: their Extra has its
	// external_id or, without one, they name its item or no item. See [ErrorObject.Reason].
	// Discounts with the same reasons share them: do not change them.
	Reasons []ErrorObject
}

// unconfirmedJSON is the JSON of an [UnconfirmedDiscount].
type unconfirmedJSON struct {
	Discount *NewCustomDiscount `json:"discount"`
	Reasons  *[]ErrorObject     `json:"reasons"`
}

// MarshalJSON encodes d as {"discount": {…}, "reasons": […]}. Reasons may hold data of customers.
func (d UnconfirmedDiscount) MarshalJSON() ([]byte, error) {
	return json.Marshal(unconfirmedJSON{&d.NewCustomDiscount, &d.Reasons})
}

// UnmarshalJSON decodes what MarshalJSON returns.
func (d *UnconfirmedDiscount) UnmarshalJSON(b []byte) error {
	var decoded UnconfirmedDiscount
	err := json.Unmarshal(b, &unconfirmedJSON{&decoded.NewCustomDiscount, &decoded.Reasons})
	if err == nil {
		*d = decoded
	}
	return err
}

// batchResponse is what a response shows of a batch of discounts. Added has each id once. compare
// completes the result.
type batchResponse struct {
	AddCustomDiscountsResult
	inline  []ErrorObject // of elements of data; also in Errors
	option  []byte        // add_all_or_nothing, as it is in the response
	mayHold bool          // the response shows discounts, or may hold some in an unknown form
	problem error         // why the response shows no discount; nil if it shows one
}

// shows returns what the response shows of a batch, after compare. docs/promises.md describes when
// a body shows, or may hold, a discount.
func (b *batchResponse) shows(sent int) bodyShows {
	switch {
	case len(b.Added) > sent, len(b.Added) > 0 && len(b.Errors)+len(b.Unconfirmed) > 0:
		return showsPart
	case len(b.Added) > 0:
		return showsAll
	case b.mayHold:
		return mayShow
	case len(b.Errors) > 0 && (b.AllOrNothing || len(b.Errors) >= sent):
		return showsRefusal
	}
	return showsNothing
}

// err returns the error of an add, after compare; nil if all that was sent was added. After
// OutcomePartial there is a result too.
func (b *batchResponse) err(call *transport.Call, r *transport.Result, sent int) error {
	if r.OK() {
		r.Err = b.problem
	}
	outcome := outcomeOfWrite(r, b.shows(sent))
	if outcome == OutcomeApplied {
		return nil
	}
	e := newError(call, r, outcome, b.Errors)
	if outcome == OutcomePartial {
		e.Err = fmt.Errorf("%d of %d discounts added", sent-len(b.Unconfirmed), sent)
		if r.SentTwice {
			e.Err = fmt.Errorf("%w, and the transport sent them twice", e.Err)
		}
	}
	return e
}

// readBatch reads the response to a write, whatever its status.
func readBatch(r *transport.Result) *batchResponse {
	b := &batchResponse{}
	if wire.HasTooManyValues(r.Body) {
		b.mayHold, b.problem = true, errExcessive
		return b
	}
	members, err := wire.Members(r.Body)
	err = cmp.Or(err, b.readMembers(members))
	if b.Errors == nil && !r.Is2xx() {
		b.Errors = readErrors(r.Body)
	}
	switch {
	case err != nil:
		b.Added, b.problem = nil, err
		b.mayHold = looksLikeJSON(r) || !isPlainText(r)
	case len(b.Added) > 0:
		b.mayHold = true
	default:
		b.problem = errors.New("the response does not show what was added")
		b.mayHold = b.mayHold || r.Truncated || holdsDiscount(r.Body) || !isPlainText(r)
	}
	return b
}

// readMembers reads the members of a body. Names may have any letter case.
func (b *batchResponse) readMembers(members []wire.Member) error {
	var data []byte
	var others []ErrorObject
	for _, m := range members {
		switch strings.ToLower(m.Name) {
		case "data":
			if data != nil {
				return errors.New("the response has data twice")
			}
			data = m.Value
			b.readData(data)
		case "errors":
			b.Errors = readErrorObjects(m.Value)
		case "error":
			others = readErrorObjects(m.Value)
		case "options":
			b.option = wire.ReadObject(m.Value).Peek("add_all_or_nothing")
		default:
			if b.Extra == nil {
				b.Extra = Extra{}
			}
			b.Extra[m.Name] = bytes.Clone(m.Value)
		}
	}
	others = append(others, b.inline...)
	b.Errors = append(b.Errors, others[:min(len(others), maxErrors-len(b.Errors))]...)
	return nil
}

// readData collects the discounts in data, which is an array or one object, and the errors of the
// others. Anything else in it may be a discount in an unknown form.
func (b *batchResponse) readData(data []byte) {
	seen, n := map[uuid.UUID]bool{}, 0
	for element := range wire.Elements(data) {
		if n++; n > maxDiscounts {
			b.Added, b.mayHold = nil, true
			return
		}
		var plain plainDiscount
		isKnown := element[0] == '{' && payloads.Unmarshal(element, &plain) == nil
		d := plain.withItem()
		isKnown = isKnown && isCustomDiscount(&d)
		if !isKnown || d.Extra != nil { // mostly there are no other members
			errs := readInlineErrors(element)
			b.inline = append(b.inline, errs[:min(len(errs), maxErrors-len(b.inline))]...)
			if !isKnown || len(errs) > 0 {
				b.mayHold = true
				continue
			}
		}
		if seen[d.ID] {
			continue // one discount, listed twice
		}
		seen[d.ID] = true
		b.Added = append(b.Added, d)
	}
}

// isCustomDiscount reports whether an object in data is a discount that was added: it has an id,
// and its type or an external id. An id alone is not enough, because the cart has one too.
func isCustomDiscount(d *CustomDiscount) bool {
	return d.ID != uuid.Nil && (d.Type == customDiscountType || d.Type == "" && d.ExternalID != "")
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
// discounts: it begins like an object, it is an array that is not empty or not valid, or it
// is truncated before its first character.
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
// discount. Objects in errors do not count.
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

// compare compares the response with the batch that was sent.
func (b *batchResponse) compare(sent []NewCustomDiscount, opts *AddCustomDiscountsOptions) {
	if rest := unconfirmed(sent, b.Added); len(rest) > 0 {
		reasonsOf := reasonsFor(b.Errors)
		for _, d := range rest {
			b.Unconfirmed = append(b.Unconfirmed, UnconfirmedDiscount{d.copyItem(), reasonsOf(&d).entries})
		}
	}
	b.AllOrNothing = string(b.option) == "true" || string(b.option) != "false" && opts.AllOrNothing
}

// unconfirmed returns the discounts in sent that have no match in added. It matches them by
// engine and external id, then those without an engine by external id alone, each discount of
// added once. An added discount without an external id may match any sent discount that has no
// match yet. If there are too few of these for all such sent discounts, each of them is
// unconfirmed.
func unconfirmed(sent []NewCustomDiscount, added []CustomDiscount) []NewCustomDiscount {
	byKey, byID := map[discountKey]int{}, map[string]int{} // number of discounts of added without a match
	for i := range added {
		key := added[i].key()
		byKey[key]++
		if key.engine == "" || key.externalID == "" {
			byID[key.externalID]++
		}
	}
	rest := slices.DeleteFunc(slices.Clone(sent), func(d NewCustomDiscount) bool { return takeOne(byKey, d.key()) })
	rest = slices.DeleteFunc(rest, func(d NewCustomDiscount) bool { return takeOne(byID, d.key().externalID) })
	if len(rest) <= byID[""] {
		return nil
	}
	return rest
}

// takeOne reduces the count of a key by one. It reports whether there was one.
func takeOne[K comparable](counts map[K]int, key K) bool {
	counts[key]--
	return counts[key] >= 0
}

// reasons are the error entries for a discount, and what [ErrorObject.Reason] returns for each.
type reasons struct {
	entries []ErrorObject
	causes  []error
}

// reasonsFor returns a function that finds the entries for a discount: those without a subject,
// then those whose subject is its external id or its item. Most discounts share theirs, as there
// may be 1,000 of both.
func reasonsFor(entries []ErrorObject) func(*NewCustomDiscount) reasons {
	about := map[string]reasons{}
	for _, o := range entries {
		r := about[o.subject()]
		about[o.subject()] = reasons{append(r.entries, o), append(r.causes, o.Reason())}
	}
	return func(d *NewCustomDiscount) reasons {
		r, item := about[""], cmp.Or(d.Item, &CartItemRef{})
		for _, name := range slices.Compact([]string{strings.ToLower(d.key().externalID), item.ID.String()}) {
			if named, ok := about[name]; ok {
				r = reasons{slices.Concat(r.entries, named.entries), slices.Concat(r.causes, named.causes)}
			}
		}
		return r
	}
}

type batchRequest struct {
	Data    []discountRequest `json:"data"`
	Options struct {
		AllOrNothing bool `json:"add_all_or_nothing"`
	} `json:"options"`
}
