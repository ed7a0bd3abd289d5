package commerce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/transport"
	"github.com/commerce-go/commerce/internal/wire"
)

// CartService reads and changes carts. It is part of a [Client] and safe for concurrent use.
//
// The service may lose one of two writes to the same cart that overlap, although it confirms
// both. Therefore the writes of a client to a cart take turns; see [WithCartLocker] for writes of
// several processes.
type CartService struct{ core *core }

// AddCustomDiscounts adds discounts to a cart, or to items of it, in one request:
// https://developer.elasticpath.com/docs/api/carts/bulk-add-custom-discounts-to-cart
//
// The cart must have items, and custom discounts must be enabled for it. A store allows 5 of them
// on a cart and 5 on each item, unless it is configured otherwise: see [Client.Settings].
//
// The request is not idempotent. If the call fails, [OutcomeOf] reports what is known about the
// discounts; the comment of the package shows what to do then. With [OutcomePartial], the call
// returns both a result and an error that matches [ErrPartialFailure]: the result lists the
// discounts that were added and those that may not be, with the reasons. After any other error
// the result is nil.
//
// The arguments are checked first, and do not change: a [*ValidationError] lists all problems,
// with the index of the discount. Two discounts with the same engine and external id are a
// problem, because nothing tells them apart, unless AllowRepeated is set. If opts is nil, the
// defaults apply.
//
// cartID must not be empty, "." or "..", and has at most 1,024 bytes. It must not contain spaces,
// control characters, invalid UTF-8 or any of / \ ? # %.
func (s *CartService) AddCustomDiscounts(
	ctx context.Context, cartID string, discounts []NewCustomDiscount, opts *AddCustomDiscountsOptions,
) (*AddCustomDiscountsResult, error) {
	opts = cmp.Or(opts, &AddCustomDiscountsOptions{})
	w := s.writer("Carts.AddCustomDiscounts", cartID)
	if len(discounts) == 0 {
		w.problems.add("discounts", "must hold at least one")
	}
	checkBatch(discounts, opts, w.problems)
	return write(ctx, w, http.MethodPost, func(ctx context.Context) (*AddCustomDiscountsResult, error) {
		return w.add(ctx, discounts, opts)
	})
}

// UpdateCustomDiscount changes the amount and the texts of a discount, which it finds by d.ID
// and d.Item:
// https://developer.elasticpath.com/docs/api/carts/update-custom-discount-for-cart
//
// The amount must be a whole number less than zero. Texts that are empty do not change. The
// error is a [*ValidationError] or an [*Error]; it matches [ErrNotFound] if the cart has no such
// discount, or has it on another level. After OutcomeUnknown and OutcomeUnreadable, read the
// cart before you call again: [RetryPolicy] describes when the library sends the request again.
func (s *CartService) UpdateCustomDiscount(
	ctx context.Context, cartID string, d CustomDiscount,
) (*CustomDiscount, error) {
	w := s.writer("Carts.UpdateCustomDiscount", cartID)
	checkTarget(&d, w.problems)
	d.checkUpdate(w.problems)
	return write(ctx, w, http.MethodPut, func(ctx context.Context) (*CustomDiscount, error) {
		return w.update(ctx, d)
	})
}

// DeleteCustomDiscount deletes a discount, which it finds by d.ID and d.Item:
// https://developer.elasticpath.com/docs/api/carts/delete-custom-discount-from-cart
//
// The request may be sent again, as a second one does no harm. The error is a
// [*ValidationError] or an [*Error]. It matches [ErrNotFound] if the cart has no such
// discount, or has it on another level. But if an earlier attempt of the same call may have
// deleted the discount, a 404 is a success.
func (s *CartService) DeleteCustomDiscount(ctx context.Context, cartID string, d CustomDiscount) error {
	w := s.writer("Carts.DeleteCustomDiscount", cartID)
	checkTarget(&d, w.problems)
	_, err := write(ctx, w, http.MethodDelete, func(ctx context.Context) (none, error) {
		return none{}, w.delete(ctx, d)
	})
	return err
}

// DeleteCustomDiscounts deletes all discounts of the cart itself, but not the discounts of its
// items:
// https://developer.elasticpath.com/docs/api/carts/bulk-delete-custom-discounts-from-cart
//
// The request is not sent again if it may have been applied, see [RetryPolicy]: a late one would
// delete discounts that were added since. The error is a [*ValidationError] or an [*Error].
func (s *CartService) DeleteCustomDiscounts(ctx context.Context, cartID string) error {
	w := s.writer("Carts.DeleteCustomDiscounts", cartID)
	return w.writeNone(ctx, operation[none]{method: http.MethodDelete, path: cartPath(cartID, "custom-discounts")})
}

// EnableCustomDiscounts lets a cart take custom discounts, which it does not by default:
// https://developer.elasticpath.com/docs/api/carts/update-a-cart
//
// The service creates a cart that does not exist. It applies none of the store's own promotions
// to a cart with custom discounts. A store with the calculation method "simple" takes no custom
// discounts at all, see [Client.Settings].
//
// The request may be sent again, as a second one does no harm. One that arrives late enables the
// discounts again, if somebody disabled them meanwhile. The error is a [*ValidationError] or an
// [*Error].
func (s *CartService) EnableCustomDiscounts(ctx context.Context, cartID string) error {
	w := s.writer("Carts.EnableCustomDiscounts", cartID)
	_, err := write(ctx, w, http.MethodPut, func(ctx context.Context) (none, error) { return none{}, w.enable(ctx) })
	return err
}

// cartPath returns the path of a cart, whose id was checked, or of a resource below it.
func cartPath(cartID string, below ...string) string {
	path, _ := wire.Path(append([]string{"v2", "carts", cartID}, below...)...)
	return path
}

func checkCartID(cartID string) *ValidationError {
	problems := &ValidationError{}
	if _, err := wire.Path(cartID); err != nil {
		problems.add("cart id", err.Error())
	}
	return problems
}

// checkBatch adds the problems of discounts.
func checkBatch(discounts []NewCustomDiscount, opts *AddCustomDiscountsOptions, problems *ValidationError) {
	seen := map[discountKey]bool{}
	for i := range discounts {
		d := &discounts[i]
		d.check(i, problems)
		if seen[d.key()] && !opts.AllowRepeated {
			problems.addAt(i, "external_id", "must occur only once with the same discount_engine")
		}
		seen[d.key()] = true
	}
}

// checkTarget adds the problems of the ids by which d is found.
func checkTarget(d *CustomDiscount, problems *ValidationError) {
	if d.ID == uuid.Nil {
		problems.add("discount id", "must not be the zero UUID")
	}
	if d.Item != nil && d.Item.ID == uuid.Nil {
		problems.add("item id", "must not be the zero UUID")
	}
}

func (s *CartService) writer(op, cartID string) *cartWriter {
	return &cartWriter{
		core: s.core, op: op, cartID: cartID, problems: checkCartID(cartID), held: context.Background(),
	}
}

// write makes a call that is one write to a cart: do, with the turn and the lock of the cart.
func write[T any](
	ctx context.Context, w *cartWriter, method string, do func(context.Context) (T, error),
) (result T, err error) {
	if err := w.problems.err(); err != nil {
		return result, err
	}
	ctx, observed := w.core.startCall(ctx, w.op, method)
	defer observed.abandon()
	if err := w.lock(ctx); err != nil {
		return result, observed.end(err)
	}
	defer w.end()
	result, err = do(ctx)
	return result, observed.end(err)
}

// writeNone makes a call that is one write without a result.
func (w *cartWriter) writeNone(ctx context.Context, o operation[none]) error {
	_, err := write(ctx, w, o.method, func(ctx context.Context) (none, error) {
		result, _, err := send(ctx, w, o)
		return result, err
	})
	return err
}

// send makes a write to the cart.
func send[T any](ctx context.Context, w *cartWriter, o operation[T]) (T, *transport.Result, error) {
	o.op, o.beforeAttempt = w.op, w.checkLock
	result, r, err := o.send(ctx, w.core)
	if err == nil {
		err = w.checkWritten(r)
	}
	return result, r, err
}

func (w *cartWriter) enable(ctx context.Context) error {
	_, _, err := send(ctx, w, operation[none]{
		method: http.MethodPut, path: cartPath(w.cartID), harmlessTwice: true,
		body: []byte(`{"data":{"discount_settings":{"custom_discounts_enabled":true}}}`),
	})
	return err
}

func (w *cartWriter) add(
	ctx context.Context, discounts []NewCustomDiscount, opts *AddCustomDiscountsOptions,
) (*AddCustomDiscountsResult, error) {
	request := batchRequest{Data: make([]discountRequest, len(discounts))}
	for i := range discounts {
		request.Data[i] = newDiscountRequest(&discounts[i])
	}
	request.Options.AllOrNothing = opts.AllOrNothing
	o := operation[none]{
		op: w.op, method: http.MethodPost, path: cartPath(w.cartID, "custom-discounts"), beforeAttempt: w.checkLock,
	}
	o.body, _ = payloads.Marshal(&request) // no error: the discounts were checked
	call := o.call(w.core)
	r := w.core.send(ctx, call)
	b := readBatch(r)
	b.compare(discounts, opts)
	b.Response = newResponse(r)
	if r.OK() {
		r.Err = b.problem
	}
	outcome := outcomeOfWrite(r, b.shown(len(discounts)))
	if outcome == OutcomeApplied || outcome == OutcomePartial {
		if err := w.checkWritten(r); err != nil {
			return nil, err
		}
	}
	if outcome == OutcomeApplied {
		return &b.AddCustomDiscountsResult, nil
	}
	e := newError(call, r, outcome, b.Errors)
	if outcome == OutcomePartial {
		e.Err = fmt.Errorf("%d of %d discounts added", len(discounts)-len(b.Unconfirmed), len(discounts))
		if r.SentTwice {
			e.Err = fmt.Errorf("%w, and the transport sent them twice", e.Err)
		}
		return &b.AddCustomDiscountsResult, e
	}
	return nil, e
}

func (w *cartWriter) update(ctx context.Context, d CustomDiscount) (*CustomDiscount, error) {
	request := d.asNew()
	request.Item = nil                                           // the path names it
	body, _ := payloads.Marshal(map[string]any{"data": request}) // no error: the discount was checked
	updated, _, err := send(ctx, w, operation[*CustomDiscount]{
		method: http.MethodPut, path: cartPath(w.cartID, d.path()...), body: body,
		finish: func(updated **CustomDiscount, r *transport.Result) error {
			b := readBatch(r)
			if len(b.Added) != 1 || b.Added[0].ID != d.ID || len(b.Errors) > 0 {
				return errors.New("the response does not show the discount")
			}
			*updated = &b.Added[0]
			return checkConfirmation(r.Body)
		},
	})
	if err != nil {
		return nil, err
	}
	if updated.Item == nil {
		updated.Item = d.Item.clone()
	}
	return updated, nil
}

func (w *cartWriter) delete(ctx context.Context, d CustomDiscount) error {
	_, r, err := send(ctx, w, operation[none]{
		method: http.MethodDelete, path: cartPath(w.cartID, d.path()...), harmlessTwice: true,
	})
	if r.StatusCode == http.StatusNotFound && r.Err == nil && r.MaybeAppliedBefore {
		return w.checkWritten(r) // an earlier attempt deleted it
	}
	return err
}
