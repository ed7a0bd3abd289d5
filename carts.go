package commerce

import (
	"context"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/transport"
	"github.com/commerce-go/commerce/internal/wire"
)

// CartService changes carts. It is part of a [Client], and safe for concurrent use.
type CartService struct{ core *core }

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
