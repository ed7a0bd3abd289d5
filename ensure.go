package commerce

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// EnsureCustomDiscountsOptions are the options of [CartService.EnsureCustomDiscounts].
type EnsureCustomDiscountsOptions struct {
	// Update changes discounts that have a wanted engine and external id, but another amount
	// or text, and replaces those with another item. All wanted amounts must then be whole
	// numbers. Without Update, such discounts are in Different and the error matches
	// ErrDifferent.
	Update bool
	// Prune deletes discounts that are not wanted, if their engine occurs in the wanted
	// discounts or in Engines. Discounts of other engines are never touched.
	Prune bool
	// Engines whose unwanted discounts Prune deletes too. If no discount is wanted, Prune
	// needs it.
	Engines []string
	// AllOrNothing adds the missing discounts in one request that adds all of them or none. It
	// sends none as long as one of them cannot be sent. It does not apply to other changes.
	AllOrNothing bool
	// DryRun reads the cart and changes nothing. The result lists what would be added, updated
	// and deleted. The service may create a cart that does not exist, as in Get.
	DryRun bool
	// Enable enables custom discounts for the cart before the first add, if they are not. That
	// turns the store's promotions off for this cart, and is not undone, also if the call fails.
	Enable bool
	// Settle is the time to wait before the cart is read again, after a write without a
	// response, or an add that the cart does not show: the service may still apply it. 0 means
	// 2 s. If it is negative, or would last beyond the deadline of the context, the cart is
	// read again at once, and nothing is sent again.
	Settle time.Duration
}

// EnsureCustomDiscountsResult shows what is on the cart, and what the call did.
type EnsureCustomDiscountsResult struct {
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
	// their effect. It may be set even if the error is nil: a discount that was sent twice may
	// appear a second time. If another caller adds the same discount meanwhile, the call takes
	// it for its own, and no longer lists it here.
	InDoubt []NewCustomDiscount
	// Cart as last read; nil if it was not read.
	Cart *Cart
	// Enabled reports whether this call enabled custom discounts for the cart: they were not, it
	// sent the request, and then they were. With DryRun: whether it would.
	Enabled bool
}

const opEnsure = "Carts.EnsureCustomDiscounts"

// EnsureCustomDiscounts makes sure that each wanted discount is on the cart exactly once. It
// reads the cart, deletes surplus copies, adds what is missing, and reads the cart again. It is
// safe to call at any time. The key of a discount is its engine and external id, which must not
// contain control characters or U+FEFF. All callers must want the same discounts.
//
// If the error is nil, the last read showed each wanted discount exactly once, with the wanted
// contents and, with Prune, no other of these engines. A write that is still on its way may
// change the cart later.
//
// What the service refused is not sent again by the same call; other discounts that are missing are
// sent again after Settle. The call holds the turn of the cart, and the lock of [WithCartLocker],
// from start to end, unless DryRun is set. If the cart cannot be read in full, the error is an
// [ErrBadResponse], and nothing is written.
//
// The error is a [*ValidationError] or an [*Error], which matches [ErrEmptyCart], [ErrDifferent],
// [ErrLock], the reasons of Missing, and the errors of the calls that it made. Its Outcome
// describes the writes of this call: OutcomeNotSent if none began, OutcomeRejected if all were
// refused, OutcomeUnknown if InDoubt is not empty or the cart could not be read after a write,
// otherwise OutcomePartial. The result is nil only if the arguments are invalid or the first read
// failed.
func (s *CartService) EnsureCustomDiscounts(
	ctx context.Context, cartID string, want []NewCustomDiscount, opts *EnsureCustomDiscountsOptions,
) (*EnsureCustomDiscountsResult, error) {
	run := s.newEnsureRun(cartID, opts)
	checkWanted(want, run.opts, run.problems)
	if len(want) == 0 && len(run.opts.Engines) == 0 {
		run.problems.add("discounts", "must hold at least one, unless Prune and Engines are set")
	}
	run.setWant(want)
	for i := range run.want {
		run.plan.add = append(run.plan.add, &run.want[i]) // as far as is known
	}
	return run.call(ctx)
}

// EnsureCustomDiscountsFunc is like [CartService.EnsureCustomDiscounts], for discounts that depend
// on the cart. It calls want with the cart after each read, in the turn and under the lock of the
// cart. A nil error means that the last read showed what want returned for that cart.
//
// want gets a copy of the cart. It should compute and not wait, and must return the same for the
// same cart. What it returns is checked each time. Its error ends the call before a write, and
// [errors.Is] finds it. A key that it did not return before is not added after another discount
// was: the call ends in an error that is not final. With other amounts and Update, discounts are
// updated again. Prune needs Engines. If want returns no discounts, and Prune is not set, the
// cart is as wanted.
func (s *CartService) EnsureCustomDiscountsFunc(
	ctx context.Context, cartID string, want func(*Cart) ([]NewCustomDiscount, error),
	opts *EnsureCustomDiscountsOptions,
) (*EnsureCustomDiscountsResult, error) {
	run := s.newEnsureRun(cartID, opts)
	if run.choose = want; want == nil {
		run.problems.add("want", "must not be nil")
	}
	if run.opts.Prune && len(run.opts.Engines) == 0 {
		run.problems.add("engines", "must be set with Prune, as the wanted discounts may change")
	}
	return run.call(ctx)
}

func (s *CartService) newEnsureRun(cartID string, opts *EnsureCustomDiscountsOptions) *ensureRun {
	opts = new(*cmp.Or(opts, &EnsureCustomDiscountsOptions{})) // a copy, as opts may change during the call
	opts.Engines = slices.Clone(opts.Engines)
	run := &ensureRun{
		service: s, writer: newCartWriter(opEnsure, cartID), problems: checkCartID(cartID), opts: opts,
		plan: &ensurePlan{}, journal: newJournal(),
	}
	opts.check(run.problems)
	return run
}

// call makes the call, if the arguments are valid.
func (e *ensureRun) call(ctx context.Context) (*EnsureCustomDiscountsResult, error) {
	if err := e.problems.err(); err != nil {
		return nil, err
	}
	method := "" // several
	if e.opts.DryRun {
		method = http.MethodGet
	}
	ctx, observed := e.service.core.startCall(ctx, opEnsure, method)
	defer observed.abandon()
	result, err := e.run(ctx)
	return result, observed.end(err)
}

// checkWanted adds the problems of the wanted discounts.
func checkWanted(want []NewCustomDiscount, opts *EnsureCustomDiscountsOptions, problems *ValidationError) {
	checkBatch(want, &AddCustomDiscountsOptions{}, problems)
	for i, d := range want {
		if opts.Update && !d.Amount.IsInteger() {
			problems.addAt(i, "amount", "must be a whole number, as Update is set")
		}
		d.checkKey(i, problems)
	}
}

func (opts *EnsureCustomDiscountsOptions) check(problems *ValidationError) {
	for _, engine := range opts.Engines {
		if strings.TrimSpace(engine) == "" || hasHidden(engine) {
			problems.add("engines", "must not be empty, or contain control characters or U+FEFF")
		}
	}
	if len(opts.Engines) > 0 && !opts.Prune {
		problems.add("engines", "must not be set without Prune")
	}
}

// maxCartReads is how often a call reads the cart.
const maxCartReads = 4

// ensureRun is a call of EnsureCustomDiscounts in progress.
type ensureRun struct {
	service  *CartService
	writer   *cartWriter                              // without turn and lock in a dry run
	problems *ValidationError                         // of the arguments
	choose   func(*Cart) ([]NewCustomDiscount, error) // returns want; nil: want does not change
	want     []NewCustomDiscount
	opts     *EnsureCustomDiscountsOptions
	cart     *cartRead   // as last read; nil before the first read
	plan     *ensurePlan // how the cart differs from want
	journal  *journal
	failures []error // of the writes
	mustEnd  bool    // the next read is the last, as there is no time to wait for late writes
}

func (e *ensureRun) run(ctx context.Context) (*EnsureCustomDiscountsResult, error) {
	if !e.opts.DryRun {
		if err := e.writer.lock(ctx, e.service.core); err != nil {
			return e.end(err)
		}
		defer e.writer.end()
	}
	for reads := 1; ; reads++ {
		if err := e.read(ctx); err != nil {
			return e.unreadable(err)
		}
		if err := e.decide(ctx); err != nil {
			return e.undecided(err)
		}
		e.plan = newPlan(e.cart, e.want, e.opts, e.journal)
		if err := e.checkKeys(); err != nil {
			return e.end(err)
		}
		if e.mustEnable() {
			if e.enable(ctx).isFinal() {
				return e.end(nil)
			}
			if !e.opts.DryRun {
				reads--
				continue
			}
		}
		if e.plan.isDone() || e.mustEnd || reads == maxCartReads {
			return e.end(nil)
		}
		if err := e.write(ctx); err != nil {
			return e.end(err)
		}
		if !e.wait(ctx) {
			return e.end(nil)
		}
	}
}

// read reads the cart, and compares it with the writes.
func (e *ensureRun) read(ctx context.Context) error {
	c, err := e.service.readComplete(ctx, opEnsure, e.writer.cartID)
	if err == nil {
		e.cart = c
		e.journal.compare(c.Cart)
	}
	return err
}

// unreadable returns the result if the cart could not be read.
func (e *ensureRun) unreadable(err error) (*EnsureCustomDiscountsResult, error) {
	if e.cart != nil {
		e.journal.failed = true
		return e.end(err)
	}
	return nil, withOutcome(err, OutcomeNotSent)
}

// write makes the writes of a round: first deletes, because surplus discounts use up the
// limit, then updates, then the add. It returns an error if no further write must be made:
// the lock is lost, or ctx has ended.
func (e *ensureRun) write(ctx context.Context) error {
	for _, w := range slices.Concat(e.plan.delete, e.plan.update) {
		e.change(ctx, w)
		if err := e.mustStop(ctx); err != nil {
			return err
		}
	}
	e.add(ctx)
	return e.mustStop(ctx)
}

// mustStop returns why no further write must be made.
func (e *ensureRun) mustStop(ctx context.Context) error {
	return cmp.Or(ctx.Err(), e.writer.checkLock())
}

// send makes a write, unless the call is a dry run, and returns its outcome: OutcomeUnknown
// too if it was applied in part, or its response cannot be read.
func (e *ensureRun) send(write func() error) Outcome {
	if e.opts.DryRun {
		return OutcomeNone
	}
	err := write()
	if err != nil {
		e.failures = append(e.failures, err)
	}
	if outcome := OutcomeOf(err); outcome != OutcomeUnreadable && outcome != OutcomePartial {
		return outcome
	}
	return OutcomeUnknown
}

// change makes a planned update or deletion.
func (e *ensureRun) change(ctx context.Context, w *ensureWrite) {
	d := w.wanted()
	w.outcome = e.send(func() error {
		if w.kind == deleteWrite {
			_, _, err := e.writer.delete(w.discount).send(ctx, e.service.core)
			return err
		}
		updated, _, err := e.writer.update(d).send(ctx, e.service.core)
		if err == nil {
			d = *updated
		}
		return err
	})
	if w.kind == updateWrite && w.isDone() {
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
		if e.mayAdd(d) {
			batch = append(batch, *d)
			adds = append(adds, &ensureWrite{kind: addWrite, want: d, discount: d.asAdded(), outcome: OutcomeNotSent})
		}
	}
	if len(batch) == 0 || e.opts.AllOrNothing && len(batch) < len(e.want)-len(e.plan.found) {
		return
	}
	if err := e.cart.takesNone(); err != nil {
		e.failures = append(e.failures, err)
		e.journal.record(adds...)
		return
	}
	var result *AddCustomDiscountsResult
	var err error
	outcome := e.send(func() error {
		add := e.writer.add(batch, &AddCustomDiscountsOptions{AllOrNothing: e.opts.AllOrNothing})
		result, _, err = add.send(ctx, e.service.core)
		return err
	})
	for _, w := range adds {
		w.outcome = outcome
	}
	e.journal.recordBatch(adds, result, err)
}

// mayAdd reports whether a missing discount may be sent now: no copy that was sent before may still
// appear, it was not refused, and none that should be deleted is still there.
func (e *ensureRun) mayAdd(d *NewCustomDiscount) bool {
	isSurplus := func(o CustomDiscount) bool { return o.key() == d.key() }
	return e.journal.mayAdd(d) && !slices.ContainsFunc(append(e.plan.unchanged(), e.plan.different...), isSurplus)
}

// wait waits for late writes, if there may be any. It reports whether another read may show
// something else: something was sent since the last one, or an earlier add may have appeared.
func (e *ensureRun) wait(ctx context.Context) (mayDiffer bool) {
	recent, mayAppear := e.journal.recent(), e.mayAppear()
	if mayAppear || slices.ContainsFunc(recent, (*ensureWrite).isUnknown) {
		e.mustEnd = !e.settle(ctx)
	}
	return slices.ContainsFunc(recent, (*ensureWrite).isSent) || mayAppear && !e.mustEnd
}

// mayAppear reports whether the cart did not show a discount that was sent before it was last read,
// and Settle has not passed since.
func (e *ensureRun) mayAppear() bool {
	return slices.ContainsFunc(e.journal.writes[:e.journal.read], func(w *ensureWrite) bool {
		isMissing := slices.ContainsFunc(e.plan.add, w.isAddOf)
		return isMissing && !w.settled && !w.isFinal()
	})
}

// settle waits for late writes, unless that would last too long: then it returns false. If ctx ends
// meanwhile, the next read fails.
func (e *ensureRun) settle(ctx context.Context) bool {
	wait := cmp.Or(e.opts.Settle, 2*time.Second)
	if deadline, ok := ctx.Deadline(); wait < 0 || ok && time.Until(deadline) <= wait {
		return false
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	<-waiting.Done()
	for _, w := range e.journal.writes {
		w.settled = true
	}
	return true
}
