package commerce

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/transport"
	"github.com/commerce-go/commerce/internal/wire"
)

// CartService reads and changes carts. It is part of a [Client] and safe for concurrent use.
//
// The service may lose one of two writes to the same cart that overlap, although it confirms both.
// Therefore the writes of a process to a cart take turns. That holds for all clients that [New]
// made with one transport, and for their copies; clients without [WithHTTPClient] have one
// transport. Two names of one host count as two stores. See [WithCartLocker] for writes of several
// processes.
type CartService struct{ core *core }

// AddCustomDiscounts adds discounts to a cart, or to items of it, in one request:
// https://developer.elasticpath.com/docs/api/carts/bulk-add-custom-discounts-to-cart
//
// The cart must have items, and custom discounts must be enabled for it. A store allows 5 of them
// on a cart and 5 on each item, unless it is configured otherwise: see [Client.Settings].
//
// The request is not idempotent. If the call fails, [OutcomeOf] reports what is known about the
// discounts; the comment of [Outcome] says what to do then. With [OutcomePartial], the call
// returns both a result and an error that matches [ErrPartialFailure]: the result lists the
// discounts that were added and those that may not be, with the reasons. After any other error
// the result is nil.
//
// The arguments are checked first, and do not change: a [*ValidationError] lists all problems,
// with the index of the discount. More than 1,000 discounts are a problem. Two discounts with the
// same engine and external id are a problem, because nothing tells them apart, unless AllowRepeated
// is set. If opts is nil, the defaults apply.
//
// cartID has 1 to 1,024 bytes. It must not be ".", "..", or the text of a missing value: undefined,
// null, nil, <nil>, none, NaN, the zero UUID. It must not contain spaces, control characters,
// invalid UTF-8 or any of / \ ? # %.
func (s *CartService) AddCustomDiscounts(
	ctx context.Context, cartID string, discounts []NewCustomDiscount, opts *AddCustomDiscountsOptions,
) (*AddCustomDiscountsResult, error) {
	opts = cmp.Or(opts, &AddCustomDiscountsOptions{})
	problems := checkCartID(cartID)
	if len(discounts) == 0 {
		problems.add("discounts", "must hold at least one")
	}
	for i := range discounts {
		discounts[i].check(i, problems)
	}
	if !opts.AllowRepeated {
		checkRepeated(discounts, problems)
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	result, _, err := newCartWriter(ctx, "Carts.AddCustomDiscounts", cartID).add(discounts, opts).do(ctx, s.core)
	return result, err
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
	problems := checkCartID(cartID)
	checkTarget(&d, problems)
	d.checkUpdate(problems)
	if err := problems.err(); err != nil {
		return nil, err
	}
	updated, _, err := newCartWriter(ctx, "Carts.UpdateCustomDiscount", cartID).update(d).do(ctx, s.core)
	return updated, err
}

// DeleteCustomDiscount deletes a discount, which it finds by d.ID and d.Item:
// https://developer.elasticpath.com/docs/api/carts/delete-custom-discount-from-cart
//
// The request may be sent again, as a second one does no harm. The error is a
// [*ValidationError] or an [*Error]. It matches [ErrNotFound] if the cart has no such
// discount, or has it on another level; after a call that failed with [RemedyAgain], that may mean
// that it is deleted. If an earlier attempt of the same call may have deleted it, a 404 is a
// success.
func (s *CartService) DeleteCustomDiscount(ctx context.Context, cartID string, d CustomDiscount) error {
	problems := checkCartID(cartID)
	checkTarget(&d, problems)
	if err := problems.err(); err != nil {
		return err
	}
	_, _, err := newCartWriter(ctx, "Carts.DeleteCustomDiscount", cartID).delete(d).do(ctx, s.core)
	return err
}

// DeleteCustomDiscounts deletes all discounts of the cart itself but not, as far as is known, those
// of its items:
// https://developer.elasticpath.com/docs/api/carts/bulk-delete-custom-discounts-from-cart
//
// The request is not sent again if it may have been applied, see [RetryPolicy]: a late one would
// delete discounts that were added since. The error is a [*ValidationError] or an [*Error].
func (s *CartService) DeleteCustomDiscounts(ctx context.Context, cartID string) error {
	if err := checkCartID(cartID).err(); err != nil {
		return err
	}
	w := newCartWriter(ctx, "Carts.DeleteCustomDiscounts", cartID)
	o := operation[none]{op: w.op, method: http.MethodDelete, path: cartPath(cartID, "custom-discounts"), cart: w}
	_, _, err := o.do(ctx, s.core)
	return err
}

// EnableCustomDiscounts lets a cart take custom discounts, which it does not by default:
// https://developer.elasticpath.com/docs/api/carts/update-a-cart
//
// The service creates a cart that does not exist. Enabling custom discounts may end the promotions
// of the store on the cart: the request also sets use_rule_promotions to false. A store with the
// calculation method "simple" takes no custom discounts at all, see [Client.Settings].
//
// It leaves out the custom attributes of the cart; whether the service keeps them then is not
// documented. [CartService.SetCustomDiscounts] sends them back.
//
// The request may be sent again, as a second one does no harm. One that arrives late enables the
// discounts again, if somebody disabled them meanwhile. The error is a [*ValidationError] or an
// [*Error]; its Outcome is OutcomeUnreadable if the response does not show that they are enabled.
func (s *CartService) EnableCustomDiscounts(ctx context.Context, cartID string) error {
	if err := checkCartID(cartID).err(); err != nil {
		return err
	}
	_, _, err := newCartWriter(ctx, "Carts.EnableCustomDiscounts", cartID).enable(nil).do(ctx, s.core)
	return err
}

// cartPath returns the path of a cart, whose id was checked, or of a resource below it.
func cartPath(cartID string, below ...string) string {
	path, _ := wire.Path(append([]string{"v2", "carts", cartID}, below...)...)
	return path
}

// missingTexts are what JavaScript, Go and Python print for a missing value, in lower case, except
// those that [wire.Path] refuses. All users of a program that sends one would share a cart.
var missingTexts = map[string]bool{
	"undefined": true, "null": true, "nil": true, "<nil>": true, "none": true, "nan": true,
}

func checkCartID(cartID string) *ValidationError {
	problems := &ValidationError{}
	if _, err := wire.Path(cartID); err != nil {
		problems.add("cart id", err.Error())
	}
	id, err := uuid.Parse(cartID)
	if err == nil && id == uuid.Nil || missingTexts[strings.ToLower(cartID)] {
		problems.add("cart id", "must not be the text of a missing value or the zero UUID")
	}
	return problems
}

// checkRepeated adds a problem for each discount with a key that one before it has.
func checkRepeated(discounts []NewCustomDiscount, problems *ValidationError) {
	seen := map[discountKey]bool{}
	for i := range discounts {
		key := discounts[i].key()
		if seen[key] {
			problems.addAt(i, "external_id", "must occur only once with the same discount_engine")
		}
		seen[key] = true
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

// cartWriter describes the writes of a call to a cart, and has the turn and the lock for them.
type cartWriter struct {
	op     string
	cartID string
	// end ends the turn and the lock of the cart, and held is the state of the lock: lock sets
	// both. Without a Locker held never ends.
	end    func()
	held   context.Context //nolint:containedctx // lives as long as the lock
	within *wantCall       // the caller's context is that of this function, or derived from it
}

// cartKey returns the key of the turn and of the lock of a cart.
func (c *core) cartKey(cartID string) string { return c.lockPrefix + canonicalCartID(cartID) }

// wantCall is a value of the context of a function, want or Then, that a call for a cart has
// called. A write to the cart in it would wait for the turn of the call, and the call waits for it.
type wantCall struct {
	key    string    // of the cart
	within *wantCall // the call was made in this function
	ended  atomic.Bool
}

type wantCallKey struct{}

// startWant returns a context for such a function, and what to call when it has returned.
func (w *cartWriter) startWant(ctx context.Context, c *core) (ofWant context.Context, end func()) {
	call := &wantCall{key: c.cartKey(w.cartID), within: w.within}
	return context.WithValue(ctx, wantCallKey{}, call), func() { call.ended.Store(true) }
}

// checkContext returns a [*ValidationError] if the writes belong to such a function of a call for
// the same cart.
func (w *cartWriter) checkContext(c *core) error {
	key := c.cartKey(w.cartID)
	for call := w.within; call != nil; call = call.within {
		if call.key == key && !call.ended.Load() {
			return invalid("context", "must not be that of the function want or Then of a call for this cart")
		}
	}
	return nil
}

func newCartWriter(ctx context.Context, op, cartID string) *cartWriter {
	within, _ := ctx.Value(wantCallKey{}).(*wantCall)
	return &cartWriter{op: op, cartID: cartID, held: context.Background(), within: within}
}

// lock waits for the turn of the cart, then for its lock. The error matches the error of ctx if
// that ended, and [ErrLock] if there was no lock when the turn had come.
func (w *cartWriter) lock(ctx context.Context, c *core) error {
	call := observedIn(ctx, c.cfg.observer, c.cfg.logger)
	start, key := time.Now(), c.cartKey(w.cartID)
	endTurn, err := takeTurn(ctx, turnKey{c.cfg.turnsOf.Key(), key})
	call.waited(Waits{Turn: transport.WaitSince(start)})
	if err != nil {
		return &Error{Op: w.op, Outcome: OutcomeNotSent, Err: err}
	}
	if c.cfg.locker == nil {
		w.end = endTurn
		return nil
	}
	defer func() {
		if w.end == nil { // also if the locker panics
			endTurn()
		}
	}()
	start = time.Now()
	held, unlock, err := c.cfg.locker.Lock(ctx, key)
	call.waited(Waits{Lock: transport.WaitSince(start)})
	if err != nil {
		cause := transport.WaitError(ctx, "the lock of the cart")
		switch {
		case cause == nil:
			cause = transport.Withhold("the locker failed, errors.Is finds why", err)
		case errors.Is(err, ctx.Err()) && err != ctx.Err(): //nolint:errorlint // it says more
			cause = fmt.Errorf("%w (%w)", cause, transport.Withhold("errors.Is finds why", err))
		}
		return &Error{Op: w.op, Outcome: OutcomeNotSent, Err: fmt.Errorf("%w: %w", ErrLock, cause)}
	}
	w.held = held
	w.end = func() {
		defer endTurn() // also if unlock panics; not before it, or the next call would wait for this lock
		unlock()
	}
	return nil
}

// checkLock returns an error if the lock is lost. It is called before each attempt of a write: a
// write in flight goes on.
func (w *cartWriter) checkLock() error {
	if w.held.Err() != nil {
		return fmt.Errorf("%w: the lock was lost", ErrLock)
	}
	return nil
}

// checkWritten returns an error if the lock was lost during a write that got a response: a write
// of another process may have overlapped it, and undone it.
func (w *cartWriter) checkWritten(r *transport.Result) error {
	if err := w.checkLock(); err != nil {
		return &Error{
			Op: w.op, StatusCode: r.StatusCode, Outcome: OutcomeUnknown,
			RequestID: transport.RequestID(r.Header), Attempts: r.Attempts, Err: err,
		}
	}
	return nil
}

// enable enables custom discounts. It sends the custom attributes of the cart back, as it is not
// known whether a request without any clears them.
func (w *cartWriter) enable(attributes json.RawMessage) *operation[none] {
	body := `{"data":{"discount_settings":{"custom_discounts_enabled":true,"use_rule_promotions":false}`
	if attributes != nil && string(attributes) != "null" {
		body += `,"custom_attributes":` + string(attributes)
	}
	return &operation[none]{
		op: w.op, method: http.MethodPut, path: cartPath(w.cartID), harmlessTwice: true, cart: w, body: []byte(body + `}}`),
		finish: func(_ *none, r *transport.Result) error {
			c, err := readCart(r.Body, w.cartID)
			if err == nil && !c.CustomDiscountsEnabled {
				err = errors.New("the response does not show that custom discounts are enabled")
			}
			return err
		},
	}
}

func (w *cartWriter) add(
	discounts []NewCustomDiscount, opts *AddCustomDiscountsOptions,
) *operation[*AddCustomDiscountsResult] {
	request := batchRequest{Data: make([]discountRequest, len(discounts))}
	for i := range discounts {
		request.Data[i] = newDiscountRequest(&discounts[i])
	}
	request.Options.AllOrNothing = opts.AllOrNothing
	body, _ := payloads.Marshal(&request) // no error: the discounts were checked
	return &operation[*AddCustomDiscountsResult]{
		op: w.op, method: http.MethodPost, path: cartPath(w.cartID, "custom-discounts"), body: body, cart: w,
		conclude: func(result **AddCustomDiscountsResult, call *transport.Call, r *transport.Result) error {
			b := readBatch(r)
			b.compare(discounts, opts)
			b.Response = newResponse(r)
			*result = new(b.AddCustomDiscountsResult) // what the caller keeps must not keep the body
			return b.err(call, r, len(discounts))
		},
	}
}

func (w *cartWriter) update(d CustomDiscount) *operation[*CustomDiscount] {
	request := d.asNew()
	request.Item = nil                                           // the path names it
	body, _ := payloads.Marshal(map[string]any{"data": request}) // no error: the discount was checked
	return &operation[*CustomDiscount]{
		op: w.op, method: http.MethodPut, path: cartPath(w.cartID, d.path()...), body: body, cart: w,
		finish: func(updated **CustomDiscount, r *transport.Result) error {
			b := readBatch(r)
			if len(b.Added) != 1 || b.Added[0].ID != d.ID || len(b.Errors) > 0 {
				return errors.New("the response does not show the discount")
			}
			*updated = &b.Added[0]
			if b.Added[0].Item == nil {
				b.Added[0].Item = d.Item.clone()
			}
			return checkConfirmation(r.Body)
		},
	}
}

func (w *cartWriter) delete(d CustomDiscount) *operation[none] {
	return &operation[none]{
		op: w.op, method: http.MethodDelete, path: cartPath(w.cartID, d.path()...), harmlessTwice: true, deletes: true,
		cart: w,
	}
}
