package commerce

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/transport"
	"github.com/commerce-go/commerce/internal/wire"
)

// CartService changes carts. It is part of a [Client], and safe for concurrent use.
type CartService struct{ core *core }

// CartItemType is the kind of an item of a cart.
type CartItemType string

// The kinds of items that a discount can be attached to (specification, section 2.1).
const (
	ItemTypeCartItem   CartItemType = "cart_item"
	ItemTypeCustomItem CartItemType = "custom_item"
)

// CartItemRef names an item of a cart. Both fields are required.
type CartItemRef struct {
	Type CartItemType `json:"type,omitzero"` // kind of the resource
	ID   uuid.UUID    `json:"id,omitzero"`   // identifier
}

// NewCustomDiscount is a discount to add (specification, section 2.1). All
// fields but Item are required; the wire's type member is filled in by the
// library.
type NewCustomDiscount struct {
	// Amount of the discount, less than zero, in the smallest unit of the cart's
	// currency: -1000 takes $10.00 off. At least -10^30, with at most 30 decimal places.
	Amount Decimal
	// Description of the discount.
	Description string
	// DiscountCode used.
	DiscountCode string
	// DiscountEngine names the system where the discount is applied from.
	DiscountEngine string
	// ExternalID identifies the discount in that system. Give each discount one of
	// its own: it is what tells afterwards which of them were added.
	ExternalID string
	// Item to attach the discount to. nil: the whole cart.
	Item *CartItemRef
}

// CustomDiscount is a discount that was added (specification, section 2.2).
type CustomDiscount struct {
	ID   uuid.UUID
	Type string // "custom_discount"
	// Amount of the discount, less than zero, with its currency.
	Amount         Money
	Description    string // as sent
	DiscountCode   string // as sent
	DiscountEngine string // as sent
	ExternalID     string // as sent; the identifier in that engine
	// Item that it is attached to. nil if the response has no relationship to an item:
	// in the response to an add that means the whole cart. In a cart that was read, the
	// service also sends the discounts of items without relationships: nil says nothing
	// there.
	Item *CartItemRef
	// Extra holds members that this type does not name.
	Extra Extra
}

// AddCustomDiscountsOptions are the options of [CartService.AddCustomDiscounts].
type AddCustomDiscountsOptions struct {
	// AllOrNothing adds none of the discounts if one of them can't be added. Without
	// it, those that can are added, and the others reported.
	AllOrNothing bool
}

// AddCustomDiscountsResult is the answer to a batch of which all or a part was added.
type AddCustomDiscountsResult struct {
	// Added are the discounts that the service says it added.
	Added []CustomDiscount
	// Errors of the items that were not added. For an item of the cart, Meta.ID
	// names that item, not the discount.
	Errors []ErrorObject
	// Unconfirmed are the discounts sent that the answer does not prove were
	// added. Look at the cart before sending them again.
	Unconfirmed []NewCustomDiscount
	// AllOrNothing as the service understood it, or as asked where it does not say.
	AllOrNothing bool
	// Response is the HTTP answer.
	Response *Response
	// Extra holds members of the answer that this type does not name, e.g. meta.
	Extra Extra
}

// AddCustomDiscounts adds discounts to a cart, or to items of it, in one call:
// POST /v2/carts/{cartID}/custom-discounts (specification, section 4.1).
//
// A store takes at most 5 custom discounts on a cart and 5 on a cart item,
// unless it is configured otherwise (section 8). The limit in force is
// data.custom_discount_limit of GET /v2/settings, which the example of
// [Client.Do] reads. The vendor's support raises it.
//
// The call is not idempotent, so the library sends it again only after proof
// that nothing was sent, after 421, 425 and 429, and once after a 401 with a new
// token. What is known of a call that failed is in [Error.Outcome]:
//
//   - OutcomeNotSent, OutcomeRejected: nothing was added. Mend the reason (for
//     [ErrRateLimited], wait for [Error.RetryAfter], or for a backoff of your own where
//     that is 0) and send it again.
//   - OutcomePartial: the result comes with the error, which then matches
//     [ErrPartialFailure]. Added was added, Errors tells why others were not,
//     Unconfirmed names all that are not proved added.
//   - OutcomeUnknown (a timeout, a connection error, 5xx, 408, a redirect other than
//     307 and 308, a refusal whose body may hold discounts) and OutcomeUnreadable (a 2xx
//     that does not show what was added):
//     read the cart, GET /v2/carts/{cartID}?include=custom_discounts, and send only
//     what is missing. The discounts are at included.custom_discounts, which
//     [Client.Do] decodes into []CustomDiscount; see the example, and the program
//     examples/add-discounts. That is sound if nobody else adds the same external
//     ids to the cart meanwhile, and the request is not still on its way.
//
// Arguments are checked before anything is sent; a [*ValidationError] names all
// faults, with the index of the discount. The result is nil unless the error is
// nil or matches ErrPartialFailure. A nil opts means the defaults; discounts and
// opts are not changed.
func (s *CartService) AddCustomDiscounts(ctx context.Context, cartID string, discounts []NewCustomDiscount,
	opts *AddCustomDiscountsOptions,
) (*AddCustomDiscountsResult, error) {
	if opts == nil {
		opts = &AddCustomDiscountsOptions{}
	}
	path, err := checkAddCustomDiscounts(ctx, cartID, discounts)
	if err != nil {
		return nil, err
	}
	body, err := payloads.Marshal(newAddRequest(discounts, opts))
	if err != nil {
		return nil, invalid("discounts", "can't be encoded")
	}
	call := s.core.call("Carts.AddCustomDiscounts", transport.Once, http.MethodPost, s.core.address(path, ""), body)
	r := s.core.send(ctx, call)
	b := readBatch(r)
	b.compare(discounts, opts.AllOrNothing)
	outcome := b.outcome(r)
	if outcome == OutcomeApplied {
		return b.result(r), nil
	}
	if outcome == OutcomeUnreadable && r.Err == nil {
		r.Err = b.problem
	}
	e := failWith(call, r, outcome, b.errors)
	if outcome == OutcomePartial {
		return b.result(r), e
	}
	return nil, e
}

// checkAddCustomDiscounts checks the arguments against section 2.1. It returns
// the path of the operation.
func checkAddCustomDiscounts(ctx context.Context, cartID string, discounts []NewCustomDiscount) (string, error) {
	faults := &ValidationError{}
	if ctx == nil {
		faults.add("ctx", "must not be nil")
	}
	path, err := wire.Path("v2", "carts", cartID, "custom-discounts")
	if err != nil {
		faults.add("cart id", err.Error())
	}
	if len(discounts) == 0 {
		faults.add("discounts", "must hold at least one")
	}
	for i, d := range discounts {
		fault := func(field, message string) {
			faults.Fields = append(faults.Fields, FieldError{Index: i, Field: field, Message: message})
		}
		switch {
		case d.Amount.Sign() >= 0:
			fault("amount", "must be less than zero")
		case !d.Amount.isAmount():
			fault("amount", "must be within ±10^30, with at most 30 decimal places")
		}
		for _, text := range []struct{ field, value string }{
			{"description", d.Description},
			{"discount_code", d.DiscountCode},
			{"discount_engine", d.DiscountEngine},
			{"external_id", d.ExternalID},
		} {
			switch {
			case strings.TrimSpace(text.value) == "":
				fault(text.field, "must not be empty")
			case !utf8.ValidString(text.value):
				fault(text.field, "must be valid UTF-8")
			}
		}
		if d.Item == nil {
			continue
		}
		if d.Item.Type != ItemTypeCartItem && d.Item.Type != ItemTypeCustomItem {
			fault("relationships.item.data.type", "must be cart_item or custom_item")
		}
		if d.Item.ID == uuid.Nil {
			fault("relationships.item.data.id", "must not be the zero UUID")
		}
	}
	return path, faults.err()
}

// The request of section 4.1.
type (
	addRequest struct {
		Data    []discountRequest `json:"data"`
		Options addOptions        `json:"options"`
	}
	discountRequest struct {
		Type           string         `json:"type"`
		Amount         Decimal        `json:"amount"`
		Description    string         `json:"description"`
		DiscountCode   string         `json:"discount_code"`
		DiscountEngine string         `json:"discount_engine"`
		ExternalID     string         `json:"external_id"`
		Relationships  *itemRelations `json:"relationships,omitzero"`
	}
	itemRelations struct {
		Item  itemRelation `json:"item,omitzero"`
		Extra Extra        `json:",embed"` // of an answer
	}
	itemRelation struct {
		Data  *itemData `json:"data,omitzero"`
		Extra Extra     `json:",embed"` // of an answer
	}
	itemData struct {
		Type  CartItemType `json:"type,omitzero"`
		ID    uuid.UUID    `json:"id,omitzero"`
		Extra Extra        `json:",embed"` // of an answer
	}
	addOptions struct {
		AllOrNothing bool `json:"add_all_or_nothing"`
	}
)

const customDiscountType = "custom_discount"

func newAddRequest(discounts []NewCustomDiscount, opts *AddCustomDiscountsOptions) *addRequest {
	req := &addRequest{Data: make([]discountRequest, len(discounts)), Options: addOptions{opts.AllOrNothing}}
	for i, d := range discounts {
		req.Data[i] = discountRequest{
			Type:           customDiscountType,
			Amount:         d.Amount,
			Description:    d.Description,
			DiscountCode:   d.DiscountCode,
			DiscountEngine: d.DiscountEngine,
			ExternalID:     d.ExternalID,
		}
		req.Data[i].Relationships = newItemRelations(d.Item)
	}
	return req
}

func newItemRelations(item *CartItemRef) *itemRelations {
	if item == nil {
		return nil
	}
	return &itemRelations{Item: itemRelation{Data: &itemData{Type: item.Type, ID: item.ID}}}
}

// customDiscountWire is the form of a [CustomDiscount] on the wire.
type customDiscountWire struct {
	ID             uuid.UUID       `json:"id,omitzero"`
	Type           string          `json:"type,omitzero"`
	Amount         Money           `json:"amount,omitzero"`
	Description    string          `json:"description,omitzero"`
	DiscountCode   string          `json:"discount_code,omitzero"`
	DiscountEngine string          `json:"discount_engine,omitzero"`
	ExternalID     string          `json:"external_id,omitzero"`
	Relationships  json.RawMessage `json:"relationships,omitzero"`
	Extra          Extra           `json:",embed"`
}

// MarshalJSON encodes d in the service's form, Extra included. Members that are zero
// are mostly left out. It is an error if Item was changed while Extra holds the
// relationships.
func (d CustomDiscount) MarshalJSON() ([]byte, error) {
	w := customDiscountWire{
		ID: d.ID, Type: d.Type, Amount: d.Amount, Description: d.Description,
		DiscountCode: d.DiscountCode, DiscountEngine: d.DiscountEngine, ExternalID: d.ExternalID, Extra: d.Extra,
	}
	if kept, ok := d.Extra["relationships"]; ok {
		if was, _ := readItem(kept); (was == nil) != (d.Item == nil) || was != nil && *was != *d.Item {
			return nil, errors.New("commerce: Item differs from the relationships in Extra: delete them there")
		}
	} else if d.Item != nil {
		var err error
		if w.Relationships, err = payloads.Marshal(newItemRelations(d.Item)); err != nil {
			return nil, err
		}
	}
	return payloads.Marshal(&w)
}

// UnmarshalJSON decodes what the service sends; unknown members go to Extra, and
// so do relationships as a whole where they hold more than the item.
func (d *CustomDiscount) UnmarshalJSON(b []byte) error {
	var w customDiscountWire
	if string(b) == "null" {
		return nil
	}
	if err := payloads.Unmarshal(b, &w); err != nil {
		return err
	}
	*d = CustomDiscount{
		ID: w.ID, Type: w.Type, Amount: w.Amount, Description: w.Description,
		DiscountCode: w.DiscountCode, DiscountEngine: w.DiscountEngine, ExternalID: w.ExternalID, Extra: w.Extra,
	}
	if w.Relationships == nil {
		return nil
	}
	var more bool
	if d.Item, more = readItem(w.Relationships); more {
		if d.Extra == nil {
			d.Extra = Extra{}
		}
		d.Extra["relationships"] = w.Relationships
	}
	return nil
}

// readItem returns the item that relationships hold, and whether they hold more.
func readItem(relationships []byte) (item *CartItemRef, more bool) {
	var rel itemRelations
	more = payloads.Unmarshal(relationships, &rel) != nil || len(rel.Extra) > 0 || len(rel.Item.Extra) > 0
	if data := rel.Item.Data; data != nil {
		more = more || len(data.Extra) > 0
		if data.Type != "" || data.ID != uuid.Nil {
			item = &CartItemRef{Type: data.Type, ID: data.ID}
		}
	}
	return item, more
}

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
