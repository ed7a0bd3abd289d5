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

// CartService changes carts. It is part of a [Client] and safe for concurrent use.
type CartService struct{ core *core }

// AddCustomDiscountsOptions are the options of [CartService.AddCustomDiscounts].
type AddCustomDiscountsOptions struct {
	// AllOrNothing adds no discount if one of them cannot be added. Otherwise the service
	// adds those that can be added, and reports the others.
	AllOrNothing bool
}

// AddCustomDiscountsResult says which discounts of a batch were added.
type AddCustomDiscountsResult struct {
	// Added are the discounts that the service says it added.
	Added []CustomDiscount
	// Errors of the discounts that were not added. If the discount is for an item of the
	// cart, Meta.ID names that item, not the discount.
	Errors []ErrorObject
	// Unconfirmed are the discounts that the response does not prove were added. Read the
	// cart before you send them again.
	Unconfirmed []NewCustomDiscount
	// AllOrNothing as the service understood it, or the option if the response does not say.
	AllOrNothing bool
	Response     *Response
	// Extra holds other members of the response, e.g. meta.
	Extra Extra
}

// AddCustomDiscounts adds discounts to a cart, or to items of it, in one request:
// https://developer.elasticpath.com/docs/api/carts/bulk-add-custom-discounts-to-cart
//
// A store allows 5 custom discounts on a cart and 5 on each item, unless it is configured
// otherwise. The limit is data.custom_discount_limit of GET /v2/settings, which the example
// of [Client.Do] reads. The vendor's support can raise it.
//
// The request is not idempotent. The library sends it again only if it is certain that
// nothing was sent, after a 421, 425 or 429, and once after a 401 with a new token. If the
// call fails, [Error.Outcome] says what is known:
//
//   - OutcomeNotSent, OutcomeRejected: nothing was added. Fix the cause and call again.
//     After [ErrRateLimited], wait for [Error.RetryAfter], or some time if that is 0.
//   - OutcomePartial: the call also returns a result, and the error matches
//     [ErrPartialFailure]. The result says which discounts were added, which were not, and
//     why.
//   - OutcomeUnknown (a timeout, a connection error, 5xx, 408, a redirect other than 307
//     and 308, or a refusal whose body may hold discounts) and OutcomeUnreadable (a 2xx
//     that does not show what was added): read the cart, GET
//     /v2/carts/{cartID}?include=custom_discounts, and send only what is missing.
//     [Client.Do] decodes included.custom_discounts into []CustomDiscount; see the example,
//     and the program examples/add-discounts. This is safe if nobody else adds the same
//     external ids to the cart, and the request is not still on its way.
//
// After any other error than an ErrPartialFailure, the result is nil. Arguments are checked
// first: a [*ValidationError] lists all problems, with the index of the discount. If opts is
// nil, the defaults apply. The arguments do not change.
//
// cartID must not be empty, "." or "..", and has at most 1,024 bytes. It must not contain
// spaces, control characters, invalid UTF-8 or any of / \ ? # %.
//
// Do not write to one cart from several goroutines or programs at the same time: the service
// may lose one of two parallel writes, although both succeed.
func (s *CartService) AddCustomDiscounts(
	ctx context.Context, cartID string, discounts []NewCustomDiscount, opts *AddCustomDiscountsOptions,
) (*AddCustomDiscountsResult, error) {
	if opts == nil {
		opts = &AddCustomDiscountsOptions{}
	}
	path, err := checkBatch(cartID, discounts)
	if err != nil {
		return nil, err
	}
	body, err := payloads.Marshal(newBatchRequest(discounts, opts))
	if err != nil {
		return nil, invalid("discounts", "can't be encoded")
	}
	call := &transport.Call{
		Op: "Carts.AddCustomDiscounts", Class: transport.Once,
		Method: http.MethodPost, URL: s.core.address(path, ""), Body: body,
	}
	r := s.core.send(ctx, call)
	b := readBatch(r)
	b.compare(discounts, *opts)
	if r.OK() {
		r.Err = b.problem
	}
	switch outcome := b.outcome(r); outcome {
	case OutcomeApplied:
		return b.result(r), nil
	case OutcomePartial:
		return b.result(r), newError(call, r, outcome, b.errors)
	default:
		return nil, newError(call, r, outcome, b.errors)
	}
}

// checkBatch checks the arguments, and returns the path of the request.
func checkBatch(cartID string, discounts []NewCustomDiscount) (string, error) {
	problems := &ValidationError{}
	path, err := wire.Path("v2", "carts", cartID, "custom-discounts")
	if err != nil {
		problems.add("cart id", err.Error())
	}
	if len(discounts) == 0 {
		problems.add("discounts", "must hold at least one")
	}
	for i := range discounts {
		discounts[i].check(i, problems)
	}
	return path, problems.err()
}

// check adds the problems of the discount at index to problems.
func (d *NewCustomDiscount) check(index int, problems *ValidationError) {
	switch {
	case d.Amount.Sign() >= 0:
		problems.addAt(index, "amount", "must be less than zero")
	case !d.Amount.isAmount():
		problems.addAt(index, "amount", "must be within ±10^30, with at most 30 decimal places")
	}
	for _, text := range []struct{ field, value string }{
		{"description", d.Description},
		{"discount_code", d.DiscountCode},
		{"discount_engine", d.DiscountEngine},
		{"external_id", d.ExternalID},
	} {
		switch {
		case strings.TrimSpace(text.value) == "":
			problems.addAt(index, text.field, "must not be empty")
		case !utf8.ValidString(text.value):
			problems.addAt(index, text.field, "must be valid UTF-8")
		}
	}
	if d.Item == nil {
		return
	}
	if d.Item.Type != ItemTypeCartItem && d.Item.Type != ItemTypeCustomItem {
		problems.addAt(index, "relationships.item.data.type", "must be cart_item or custom_item")
	}
	if d.Item.ID == uuid.Nil {
		problems.addAt(index, "relationships.item.data.id", "must not be the zero UUID")
	}
}

type batchRequest struct {
	Data    []discountRequest `json:"data"`
	Options struct {
		AllOrNothing bool `json:"add_all_or_nothing"`
	} `json:"options"`
}

type discountRequest struct {
	Type           string         `json:"type"`
	Amount         Decimal        `json:"amount"`
	Description    string         `json:"description"`
	DiscountCode   string         `json:"discount_code"`
	DiscountEngine string         `json:"discount_engine"`
	ExternalID     string         `json:"external_id"`
	Relationships  *itemRelations `json:"relationships,omitzero"`
}

func newBatchRequest(discounts []NewCustomDiscount, opts *AddCustomDiscountsOptions) *batchRequest {
	req := &batchRequest{Data: make([]discountRequest, len(discounts))}
	req.Options.AllOrNothing = opts.AllOrNothing
	for i, d := range discounts {
		req.Data[i] = discountRequest{
			Type:           customDiscountType,
			Amount:         d.Amount,
			Description:    d.Description,
			DiscountCode:   d.DiscountCode,
			DiscountEngine: d.DiscountEngine,
			ExternalID:     d.ExternalID,
			Relationships:  newItemRelations(d.Item),
		}
	}
	return req
}
