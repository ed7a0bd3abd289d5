package commerce

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/commerce-go/commerce/internal/transport"
)

// EnsureCustomDiscountsOptions are the options of [CartService.EnsureCustomDiscounts].
type EnsureCustomDiscountsOptions struct {
	// Update changes discounts that have a wanted engine and external id, but another amount
	// or text, and replaces those with another item. Without Update, such discounts are in
	// Different and the error matches ErrDifferent.
	Update bool
	// Prune deletes unwanted discounts, if their engine is in Engines, or is the engine of a
	// wanted discount. It never touches others.
	Prune bool
	// Engines are further engines whose unwanted discounts Prune deletes. If no discount is
	// wanted, name at least one.
	Engines []string
	// AllOrNothing adds the missing discounts in one request that adds all of them or none. It
	// sends none as long as one of them cannot be sent. It does not apply to other changes.
	AllOrNothing bool
	// DryRun reads the cart and changes nothing. The result lists what would be added, updated
	// and deleted. The service may create a cart that does not exist, as in Get.
	DryRun bool
	// Enable enables custom discounts for the cart before the first add, if they are not, and
	// the cart shows no promotions of the store: see [CartService.EnableCustomDiscounts].
	// They stay enabled, even if the call fails.
	Enable bool
	// NotBelowZero needs Update. It lowers wanted discounts in whole units, so that neither the
	// cart nor an item costs less than 0: the last of the list first, to nothing if needed. If
	// discounts of others take more than the cart or an item costs, the wanted ones are taken off,
	// and the error matches ErrBelowZero. If a price that is needed cannot be read, nothing is
	// written, and the error matches ErrBadResponse.
	NotBelowZero bool
	// Settle is the time to wait after a write that got no response, or that the cart does not
	// show. The service may still apply it in that time. Then the cart is read again. 0 means 2 s.
	// If it is negative, or would last beyond the deadline of the context, the cart is read again
	// at once, and nothing is sent again.
	Settle time.Duration
}

// CustomDiscountsResult shows what is on the cart, and what a call of
// [CartService.SetCustomDiscounts] or [CartService.EnsureCustomDiscounts] did.
type CustomDiscountsResult struct {
	// Discounts are the wanted discounts as last read from the cart, in the order of want,
	// without the missing ones.
	Discounts []CustomDiscount
	// Added, Updated and Deleted by this call, as far as is known. With DryRun: what would be
	// added, updated and deleted.
	Added, Updated, Deleted []CustomDiscount
	// Missing are the wanted discounts that the cart does not have, with the reasons if the
	// service returned any.
	Missing []UnconfirmedDiscount
	// Different are discounts of the cart whose contents are not the wanted ones, those that should
	// have been updated or deleted, but were not, and those whose external id the service changed.
	Different []CustomDiscount
	// InDoubt are the discounts of writes that may still take effect: adds, updates and
	// deletions without a response, and adds that were confirmed, if the cart did not show
	// their effect. EnsureCustomDiscounts may set it even if the error is nil: a discount that
	// was sent twice may appear a second time. If another caller adds an equal discount
	// meanwhile, the call cannot tell them apart. It then takes its own write as done, and does
	// not list it.
	InDoubt []NewCustomDiscount
	// Cart as last read; nil if it was not read.
	Cart *Cart
	// Enabled reports whether this call enabled custom discounts for the cart: they were not, it
	// sent the request, and then they were. With DryRun: whether it would.
	Enabled bool
	// Lowered are the discounts that NotBelowZero lowered, as they were wanted.
	Lowered []NewCustomDiscount
}

const opEnsure = "Carts.EnsureCustomDiscounts"

// EnsureCustomDiscounts makes sure that each wanted discount is on the cart exactly once. It
// reads the cart, deletes surplus copies, adds what is missing, and reads the cart again. It is
// safe to call at any time. The key of a discount is its engine and external id, which must not
// contain control characters or U+FEFF. Amounts must be whole numbers. want has at most 1,000
// discounts. All callers must want the same. Most programs need only
// [CartService.SetCustomDiscounts].
//
// If the error is nil, the last read showed each wanted discount exactly once, with the wanted
// contents and, with Prune, no other of these engines. A late request may still change the cart:
// call again before the payment. What the service refused is not sent again, unless the next read
// shows another cart; a write that the next read does not show is sent once more after Settle. The
// call holds the turn and the lock of the cart from start to end, unless DryRun is set. If the cart
// cannot be read in full, the error is an [ErrBadResponse], and nothing is written.
//
// The error is a [*ValidationError] or an [*Error], which matches [ErrEmptyCart], [ErrDifferent],
// [ErrBelowZero], [ErrLock], the reasons of Missing, and the errors of the calls that it made. Its
// Outcome describes the writes of this call: OutcomeNotSent if none began, OutcomeRejected if all
// were refused, OutcomeUnknown if InDoubt is not empty or the cart could not be read after a write,
// otherwise OutcomePartial. The result is nil only if the arguments are invalid or the first read
// failed.
func (s *CartService) EnsureCustomDiscounts(
	ctx context.Context, cartID string, want []NewCustomDiscount, opts *EnsureCustomDiscountsOptions,
) (*CustomDiscountsResult, error) {
	run := newEnsureRun(s, newCartWriter(ctx, opEnsure, cartID), cmp.Or(opts, &EnsureCustomDiscountsOptions{}))
	run.opts.check(run.problems)
	checkWanted(want, run.problems)
	if len(want) == 0 && len(run.opts.Engines) == 0 {
		run.problems.add("discounts", "must hold at least one, unless Prune and Engines are set")
	}
	run.setWant(want)
	run.given = run.want
	for i := range run.want {
		run.plan.add = append(run.plan.add, &run.want[i]) // as far as is known
	}
	return run.call(ctx)
}

// SetCustomDiscountsOptions are the options of [CartService.SetCustomDiscounts].
type SetCustomDiscountsOptions struct {
	// Engine is required. The call touches only discounts of this engine, which should be the name
	// of your program.
	Engine string
	// AllOrNothing adds what is missing in one request that adds all of it or nothing. It sends
	// none as long as one discount cannot be sent. It does not apply to other changes.
	AllOrNothing bool
	// DryRun reads the cart, without its turn and its lock, and changes nothing. The result lists
	// what would be added, updated and deleted. If the error is nil, the call found nothing that
	// would stop it.
	DryRun bool
	// Settle means the same as in [EnsureCustomDiscountsOptions].
	Settle time.Duration
	// Then is called once, when the cart is as it should be, before the call returns nil: to
	// compare the price with the one that the customer saw, and to place the order. It has the turn
	// and the lock of the call. Keep it short, as the lock must outlast it: e.g. authorize a
	// payment before, and take the money later. Its context ends when the lock is lost. It is not
	// called with DryRun, or if want was not called for the last read. Like want, it must not write
	// to this cart, except by Client.Do, which takes no turn.
	//
	// Its error is returned as it is, beside the result; no [Observer] gets it. To [RemedyOf] it is
	// RemedyAgain, unless it states another remedy: if the price has changed, RemedyCart; if
	// something may have been done that must not be done twice, RemedyRead.
	Then func(ctx context.Context, result *CustomDiscountsResult) error
	// AnyTotal lets the error be nil although the total discount of the cart is not the sum of the
	// discounts that it shows, for a store where that member means something else.
	AnyTotal bool
}

const opSet = "Carts.SetCustomDiscounts"

// SetCustomDiscounts makes the discounts of one engine on a cart those that want returns for it. It
// adds, changes and removes. Each is then there exactly once, unless a request of an earlier call
// is still on its way: call again before the payment. It is [CartService.EnsureCustomDiscounts]
// with Update, Prune, Enable and NotBelowZero.
//
// want gets a copy of the cart after each read. It must compute and not wait, and return the same
// for the same cart: see [Cart.Subtotal] and [Decimal.Percent]. An empty DiscountEngine means
// opts.Engine. Another one, or more than 1,000 discounts, is an invalid argument. An amount of 0 is
// left out. After an error of want nothing more is written; [errors.Is] finds it. If a later read
// shows the same cart, a new key ends in [ErrWantChanged], and so does a second change of contents
// or order. want must not write to carts. A write to this one ends in a [*ValidationError], or in a
// deadlock without the context of want.
//
// A nil error, without DryRun, means: the last read showed exactly what want returned, except what
// was Lowered. Nothing is in doubt. The cart has items, and neither it nor an item costs less than
// 0. The total discount, if shown, is the sum of the discounts, except for rounding; otherwise the
// error is [ErrPriceDiffers]. After [ErrOutcomeUnknown], call again when its RetryAfter is over.
//
// For a cart without items, or whose [Cart.Subtotal] is below 0, want is not called, and discounts
// of the engine are taken off. Without items, the error is [ErrEmptyCart].
func (s *CartService) SetCustomDiscounts(
	ctx context.Context, cartID string, want func(ctx context.Context, cart *Cart) ([]NewCustomDiscount, error),
	opts *SetCustomDiscountsOptions,
) (*CustomDiscountsResult, error) {
	o := *cmp.Or(opts, &SetCustomDiscountsOptions{})
	run := newEnsureRun(s, newCartWriter(ctx, opSet, cartID), &EnsureCustomDiscountsOptions{
		Update: true, Prune: true, Engines: []string{o.Engine}, Enable: true, NotBelowZero: true,
		AllOrNothing: o.AllOrNothing, DryRun: o.DryRun, Settle: o.Settle,
	})
	run.anyTotal, run.then = o.AnyTotal, o.Then
	checkEngine("engine", o.Engine, run.problems)
	if want == nil {
		run.problems.add("want", "must not be nil")
	}
	run.choose = func(ctx context.Context, c *Cart) ([]NewCustomDiscount, error) {
		list, err := want(ctx, c)
		if isNilPointer(err) {
			return nil, fmt.Errorf("want returned a nil %T as its error", err)
		}
		if err != nil {
			return nil, fmt.Errorf("%w", err) // not of an argument, even if it is a ValidationError
		}
		return withEngine(list, o.Engine)
	}
	return run.call(ctx)
}

// withEngine returns discounts with their engine set.
func withEngine(list []NewCustomDiscount, engine string) ([]NewCustomDiscount, error) {
	problems, set := &ValidationError{}, make([]NewCustomDiscount, len(list))
	for i, d := range list {
		d.DiscountEngine = cmp.Or(d.DiscountEngine, engine)
		if strings.TrimSpace(d.DiscountEngine) != strings.TrimSpace(engine) {
			problems.addAt(i, "discount_engine", "must be empty, or the engine of the call")
		}
		set[i] = d
	}
	return set, problems.err()
}

func newEnsureRun(s *CartService, w *cartWriter, opts *EnsureCustomDiscountsOptions) *ensureRun {
	opts = new(*opts) // a copy, as opts may change during the call
	opts.Engines = slices.Clone(opts.Engines)
	run := &ensureRun{
		service: s, writer: w, problems: checkCartID(w.cartID), opts: opts,
		plan: &ensurePlan{}, journal: newJournal(),
	}
	run.journal.enables = opts.Enable
	return run
}

// call makes the call, if the arguments are valid.
func (e *ensureRun) call(ctx context.Context) (result *CustomDiscountsResult, err error) {
	if err := e.problems.err(); err != nil {
		return nil, err
	}
	method := "" // several
	if e.opts.DryRun {
		method = http.MethodGet
	} else if err := e.writer.checkContext(e.service.core); err != nil {
		return nil, err
	}
	defer func() {
		if e.writer.end != nil {
			e.writer.end()
		}
	}()
	err = e.service.core.observe(ctx, e.writer.op, method, func(ctx context.Context) (err error) {
		result, err = e.run(ctx)
		return err
	})
	if err != nil || e.then == nil || !e.wasAsked || e.opts.DryRun {
		return result, err
	}
	if err := e.mustStop(ctx); err != nil {
		return e.end(err)
	}
	ofThen, end := e.writer.startWant(ctx, e.service.core)
	defer end()
	ofThen, cancel := context.WithCancelCause(ofThen)
	defer cancel(nil)
	lost := e.writer.held
	defer context.AfterFunc(lost, func() { cancel(e.writer.checkLock()) })() //nolint:contextcheck // that of the lock
	return result, e.then(ofThen, result)
}

func checkEngine(field, engine string, problems *ValidationError) {
	if strings.TrimSpace(engine) == "" || hasHidden(engine) {
		problems.add(field, "must not be empty, or contain control characters or U+FEFF")
	}
}

func (opts *EnsureCustomDiscountsOptions) check(problems *ValidationError) {
	for _, engine := range opts.Engines {
		checkEngine("engines", engine, problems)
	}
	if len(opts.Engines) > 0 && !opts.Prune {
		problems.add("engines", "must not be set without Prune")
	}
	if opts.NotBelowZero && !opts.Update {
		problems.add("not below zero", "must not be set without Update")
	}
}

// maxCartReads is how often a call reads the cart.
const maxCartReads = 4

const defaultSettle = 2 * time.Second

// ensureRun is a call of EnsureCustomDiscounts or SetCustomDiscounts in progress.
type ensureRun struct {
	service    *CartService
	writer     *cartWriter                                               // without turn and lock in a dry run
	problems   *ValidationError                                          // of the arguments
	choose     func(context.Context, *Cart) ([]NewCustomDiscount, error) // of SetCustomDiscounts; else nil
	returned   map[discountKey][2]string                                 // by choose: the first and the last contents
	shown      []string                                                  // what choose saw then
	anyTotal   bool                                                      // of SetCustomDiscountsOptions, as is then
	then       func(context.Context, *CustomDiscountsResult) error
	wasAsked   bool // choose, for the last read
	given      []NewCustomDiscount
	want       []NewCustomDiscount // given, lowered; with the amount 0, it must not be on the cart
	wanted     int                 // number of discounts in given with another amount than 0
	opts       *EnsureCustomDiscountsOptions
	cart       *cartRead   // as last read; nil before the first read
	plan       *ensurePlan // how the cart differs from want
	price      priceLimit
	journal    *journal
	wasEnabled bool    // at the first read
	before     look    // what the reads showed before anything was written
	failures   []error // of the writes
	waited     bool    // since the last write, for a total that is the sum of what the cart shows
	mustEnd    bool    // the next read is the last, as there is no time to wait for late writes
	isCut      bool    // more would be updated or deleted, if the call could read the cart again
}

func (e *ensureRun) run(ctx context.Context) (*CustomDiscountsResult, error) {
	if !e.opts.DryRun {
		if err := e.writer.lock(ctx, e.service.core); err != nil {
			return e.end(err)
		}
	}
	for reads := 1; ; reads++ {
		if err := e.read(ctx); err != nil {
			return e.unreadable(err)
		}
		if e.totalDiffers() && !e.waited && !e.mustEnd && reads < maxCartReads {
			if e.waited = true; e.settle(ctx) {
				continue
			}
		}
		e.waited = false
		if err := e.decide(ctx); err != nil {
			return e.undecided(err)
		}
		e.makePlan()
		if e.plan.isDone() || e.mustEnd || reads == maxCartReads {
			e.isCut = len(e.plan.unchanged()) > 0
			return e.end(e.objection())
		}
		if err := e.write(ctx); err != nil {
			return e.end(err)
		}
		if !e.wait(ctx) {
			return e.end(e.objection())
		}
	}
}

// read reads the cart, and compares it with the writes.
func (e *ensureRun) read(ctx context.Context) error {
	c, err := e.service.readComplete(ctx, e.writer.op, e.writer.cartID)
	if err != nil {
		return err
	}
	e.wasEnabled = e.wasEnabled || e.cart == nil && c.CustomDiscountsEnabled
	e.cart = c
	e.journal.compare(c.Cart)
	return nil
}

// unreadable returns the result if the cart could not be read.
func (e *ensureRun) unreadable(err error) (*CustomDiscountsResult, error) {
	if e.cart != nil {
		e.journal.failed = true
		if e.plan.cart != e.cart && e.want != nil { // read again as its total lagged
			e.makePlan()
		}
		return e.end(err)
	}
	return nil, withOutcome(err, OutcomeNotSent)
}

// write makes the writes of a round: it enables custom discounts, if that is needed, and then
// deletes, because surplus discounts use up the limit, then updates, those that take less off
// first, then the add, so that no price is below 0. It returns an error if no further write must
// be made: the lock is lost, or ctx has ended.
func (e *ensureRun) write(ctx context.Context) error {
	isRefused := false
	if e.plan.enable {
		w := e.enable(ctx)
		isRefused = w.isFinal()
		if !isRefused && !w.isDone() {
			return e.mustStop(ctx) // the cart must be read before anything else
		}
	}
	for _, w := range slices.Concat(e.plan.delete, e.plan.update) {
		if err := e.mustStop(ctx); err != nil {
			return err
		}
		isReplaced := func(d *NewCustomDiscount) bool { return isRefused && d.key() == w.discount.key() }
		if more := w.raises(); e.price.mayTake(w.discount.Item, more) && !slices.ContainsFunc(e.plan.add, isReplaced) {
			e.change(ctx, w)
			e.price.changed(w, more)
		}
	}
	if err := e.mustStop(ctx); err != nil || isRefused {
		return err
	}
	e.add(ctx)
	return e.mustStop(ctx)
}

// mustStop returns why no further write must be made.
func (e *ensureRun) mustStop(ctx context.Context) error {
	return cmp.Or(ctx.Err(), e.writer.checkLock())
}

// writePart makes a write as a part of the call, unless that is a dry run. r is nil in a dry run.
func writePart[T any](
	ctx context.Context, e *ensureRun, part string, o *operation[T],
) (result T, r *transport.Result, err error) {
	if e.opts.DryRun {
		return result, nil, nil
	}
	o.part = part
	result, r, err = o.request(ctx, e.service.core)
	failed, _ := err.(*Error) //nolint:errorlint // of an operation
	// The journal knows more than a partial success without errors.
	if failed != nil && (failed.Outcome != OutcomePartial || len(failed.Errors) > 0) {
		e.failures = append(e.failures, err)
	}
	return result, r, err
}

// known returns the outcome of a write: OutcomeUnknown too if it was applied in part, or its
// response cannot be read.
func (e *ensureRun) known(err error) Outcome {
	switch failed, _ := err.(*Error); { //nolint:errorlint // of an operation
	case e.opts.DryRun:
		return OutcomeNone
	case failed == nil:
		return OutcomeApplied
	case failed.Outcome == OutcomeUnreadable || failed.Outcome == OutcomePartial:
		return OutcomeUnknown
	default:
		return failed.Outcome
	}
}

// enable enables custom discounts for the cart.
func (e *ensureRun) enable(ctx context.Context) *ensureWrite {
	_, _, err := writePart(ctx, e, "enable", e.writer.enable(e.cart.Extra["custom_attributes"]))
	w := &ensureWrite{kind: enableWrite, outcome: e.known(err)}
	e.journal.record(w)
	return w
}

// change makes a planned update or deletion.
func (e *ensureRun) change(ctx context.Context, w *ensureWrite) {
	isGone := func(r *transport.Result) bool { return r != nil && r.StatusCode == http.StatusNotFound }
	if w.kind == deleteWrite {
		_, r, err := writePart(ctx, e, "delete", e.writer.delete(w.discount))
		w.outcome, w.isGone = e.known(err), isGone(r)
		e.journal.record(w)
		return
	}
	d := w.wanted()
	updated, r, err := writePart(ctx, e, "update", e.writer.update(d))
	w.outcome, w.isGone = e.known(err), isGone(r)
	switch {
	case updated != nil:
		w.discount, w.isChanged = *updated, w.want.contradicts(updated)
	case w.isDone(): // in a dry run
		w.discount = d
	}
	e.journal.record(w)
}

// add adds the missing discounts that may be sent now, in one request. With AllOrNothing it
// adds all that are missing, or none.
func (e *ensureRun) add(ctx context.Context) {
	var adds []*ensureWrite
	var batch []NewCustomDiscount
	for _, d := range e.plan.add {
		if e.mayAdd(d) && e.price.mayTake(d.Item, d.Amount) {
			e.price.take(d.Item, d.Amount)
			batch = append(batch, *d)
			adds = append(adds, &ensureWrite{kind: addWrite, want: d, discount: d.asAdded(), outcome: OutcomeNotSent})
		}
	}
	if len(batch) == 0 || e.opts.AllOrNothing && len(batch) < e.plan.wanted-len(e.plan.found) {
		return
	}
	if err := e.cart.takesNone(); err != nil {
		e.failures = append(e.failures, err)
		e.journal.recordBatch(adds, nil, nil)
		return
	}
	o := e.writer.add(batch, &AddCustomDiscountsOptions{AllOrNothing: e.opts.AllOrNothing})
	result, _, err := writePart(ctx, e, "add", o)
	for _, w := range adds {
		w.outcome = e.known(err)
	}
	e.journal.recordBatch(adds, result, err)
}

// mayAdd reports whether a missing discount may be sent now: no copy that was sent before may still
// appear, it was not refused, and none that should be deleted is still there.
func (e *ensureRun) mayAdd(d *NewCustomDiscount) bool {
	isSurplus := func(o CustomDiscount) bool { return o.key() == d.key() }
	return e.journal.mayAdd(d) == now && !e.plan.holdsAdds &&
		!slices.ContainsFunc(append(e.plan.unchanged(), e.plan.different...), isSurplus)
}

// wait waits for late writes, if there may be any. It reports whether another read may show
// something else: something was sent since the last one, or an earlier write may have appeared.
func (e *ensureRun) wait(ctx context.Context) (mayDiffer bool) {
	recent := e.journal.recent()
	mayBeLate := func(w *ensureWrite) bool { return w.isUnknown() && !w.isEnabling() }
	if e.plan.mustSettle || slices.ContainsFunc(recent, mayBeLate) {
		e.mustEnd = !e.settle(ctx)
	}
	mayShow := func(w *ensureWrite) bool { return w.isSent() && (!w.isEnabling() || !w.isFinal()) }
	return slices.ContainsFunc(recent, mayShow) || e.plan.mustSettle && !e.mustEnd
}

// settle waits for late writes, unless that would last too long: then it returns false. If ctx ends
// meanwhile, the next read fails.
func (e *ensureRun) settle(ctx context.Context) bool {
	if !pause(ctx, cmp.Or(e.opts.Settle, defaultSettle)) {
		return false
	}
	for _, w := range e.journal.writes {
		w.settled = true
	}
	return true
}
