package commerce

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/internal/transport"
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
	// AllOrNothing adds no missing discount if one of them cannot be added. It is not about
	// the other changes.
	AllOrNothing bool
	// DryRun reads the cart and changes nothing. The result says what would be added,
	// updated and deleted. The service may create a cart that does not exist, as in Get.
	DryRun bool
	// Settle is the time to wait before the cart is read again, after a write without a
	// response, or one that the cart does not show: the service may still apply it. 0 means
	// 2 s. If it is negative, or would last beyond the deadline of the context, the cart is
	// read again at once, and nothing is sent again.
	Settle time.Duration
}

// EnsureCustomDiscountsResult says what is on the cart, and what the call did.
type EnsureCustomDiscountsResult struct {
	// Discounts are the wanted discounts as last read from the cart, in the order of want,
	// without the missing ones.
	Discounts []CustomDiscount
	// Added, Updated and Deleted by this call, as far as is known. With DryRun: what would be
	// added, updated and deleted.
	Added, Updated, Deleted []CustomDiscount
	// Missing are the wanted discounts that the cart does not have, with the reasons if the
	// service gave any.
	Missing []UnconfirmedDiscount
	// Different are discounts of the cart whose contents are not the wanted ones.
	Different []CustomDiscount
	// InDoubt are the discounts of writes that may still take effect: adds, updates and
	// deletions without a response, and adds that were confirmed, if the cart did not show
	// their effect. It may be set even if the error is nil: a discount that was sent twice may
	// appear a second time.
	InDoubt []NewCustomDiscount
}

const opEnsure = "Carts.EnsureCustomDiscounts"

// EnsureCustomDiscounts makes sure that each wanted discount is on the cart exactly once. It
// reads the cart, deletes surplus copies, adds what is missing, and reads the cart again. It
// is safe to call again at any time: after an unknown outcome, after a crash, from another
// process. The key of a discount is its engine and external id; all callers must want the
// same discounts.
//
// With Update and Prune, the cart then has exactly the wanted discounts of their engines.
//
// If the error is nil, the last read showed each wanted discount exactly once with the wanted
// contents and, with Prune, no other of these engines. That says nothing about the future: a
// write that is still on its way may change the cart later. Call it again after a crash, and
// right before checkout.
//
// A cart whose discounts are as wanted costs one request; adding costs three. The cart is
// read at most four times. A call holds the turn of the cart, and the lock of
// [WithCartLocker], from start to end; with DryRun it holds none.
//
// The error is a [*ValidationError] or an [*Error]. The Outcome of an Error is about the
// writes of this call: OutcomeNotSent if none began, OutcomeRejected if all were refused,
// OutcomeUnknown if InDoubt is not empty or the cart could not be read after a write, else
// OutcomePartial. It matches [ErrDifferent], [ErrEmptyCart], [ErrLock] and the reasons of
// Missing, and the errors of the calls that it made; its StatusCode is 0, and RequestID,
// RetryAfter and Attempts are those of the last call that failed. The result is nil only if
// the arguments are invalid or the first read failed. A cart that cannot be read in full is
// an [ErrBadResponse], and nothing is written to it.
func (s *CartService) EnsureCustomDiscounts(
	ctx context.Context, cartID string, want []NewCustomDiscount, opts *EnsureCustomDiscountsOptions,
) (*EnsureCustomDiscountsResult, error) {
	o := EnsureCustomDiscountsOptions{} // a copy, as opts may change during the call
	if opts != nil {
		o = *opts
		o.Engines = slices.Clone(o.Engines)
	}
	opts = &o
	if err := checkEnsure(cartID, want, opts); err != nil {
		return nil, err
	}
	method := "" // several
	if opts.DryRun {
		method = http.MethodGet
	}
	ctx, observed := s.core.startCall(ctx, opEnsure, method)
	defer observed.abandon()
	run := newEnsureRun(s, cartID, want, opts)
	if !opts.DryRun {
		w, err := s.lock(ctx, opEnsure, cartID)
		if err != nil {
			for i := range want {
				run.addMissing(i) // as far as is known
			}
			return run.result, observed.end(err)
		}
		defer w.unlock()
		run.writer = w
	}
	result, err := run.run(ctx)
	return result, observed.end(err)
}

func checkEnsure(cartID string, want []NewCustomDiscount, opts *EnsureCustomDiscountsOptions) error {
	problems := checkCartID(cartID)
	checkBatch(want, &AddCustomDiscountsOptions{}, problems)
	for i, d := range want {
		if opts.Update && !d.Amount.IsInteger() {
			problems.addAt(i, "amount", "must be a whole number, as Update is set")
		}
	}
	for _, engine := range opts.Engines {
		if strings.TrimSpace(engine) == "" {
			problems.add("engines", "must not be empty texts")
		}
	}
	if len(opts.Engines) > 0 && !opts.Prune {
		problems.add("engines", "must not be set without Prune")
	}
	if len(want) == 0 && len(opts.Engines) == 0 {
		problems.add("discounts", "must hold at least one, unless Prune and Engines are set")
	}
	return problems.err()
}

// maxCartReads is how often a call reads the cart.
const maxCartReads = 4

// ensureRun is a call of EnsureCustomDiscounts in progress.
type ensureRun struct {
	service *CartService
	writer  *cartWriter // nil with DryRun
	cartID  string
	want    []NewCustomDiscount
	opts    *EnsureCustomDiscountsOptions
	result  *EnsureCustomDiscountsResult

	cart *cartRead // as last read
	plan *ensurePlan
	adds []addState // of each wanted discount

	seen        map[uuid.UUID]bool           // discounts that a read or a response showed
	updated     map[uuid.UUID]bool           // discounts that an update was sent for
	unconfirmed map[uuid.UUID]int            // updates without a response: index in want
	undeleted   map[uuid.UUID]CustomDiscount // deletes without a response
	undeletable map[uuid.UUID]bool           // deletes with a response: not sent again
	renamed     []CustomDiscount             // added by this call, but the service changed the key

	began, rejected int  // writes that may have been sent, and those that were refused
	roundUnanswered bool // a write of this round got no response
	failures        []error
}

// addState is what is known about the adds of a wanted discount.
type addState struct {
	unanswered int                // adds without a response that have not appeared on the cart
	unshown    map[uuid.UUID]bool // confirmed discounts that have not appeared on the cart
	unsettled  bool               // it was sent, and Settle has not passed since
	refused    bool               // with reasons, if the service gave any: not sent again
	reasons    []ErrorObject
}

func newEnsureRun(
	s *CartService, cartID string, want []NewCustomDiscount, opts *EnsureCustomDiscountsOptions,
) *ensureRun {
	run := &ensureRun{
		service: s, cartID: cartID, opts: opts, result: &EnsureCustomDiscountsResult{},
		adds: make([]addState, len(want)),
		seen: map[uuid.UUID]bool{}, updated: map[uuid.UUID]bool{}, unconfirmed: map[uuid.UUID]int{},
		undeleted: map[uuid.UUID]CustomDiscount{}, undeletable: map[uuid.UUID]bool{},
	}
	for i, d := range want {
		run.want = append(run.want, d.copyItem())
		run.adds[i].unshown = map[uuid.UUID]bool{}
	}
	return run
}

func (e *ensureRun) run(ctx context.Context) (*EnsureCustomDiscountsResult, error) {
	for reads, last := 1, false; ; reads++ {
		if err := e.read(ctx); err != nil {
			return e.unreadable(err)
		}
		if e.opts.DryRun {
			return e.dryRun()
		}
		if e.plan.isDone() || last || reads == maxCartReads {
			return e.finish()
		}
		began, hasUnsettled := e.began, e.hasUnsettled()
		if err := e.write(ctx); err != nil {
			return e.interrupted(began, err)
		}
		if e.roundUnanswered || hasUnsettled {
			last = !e.settle(ctx)
		}
		if err := ctx.Err(); err != nil {
			return e.interrupted(began, err)
		}
		if e.began == began && (last || !hasUnsettled) {
			return e.finish() // another read would show the same
		}
	}
}

// read reads the cart, and compares it with the wanted discounts.
func (e *ensureRun) read(ctx context.Context) error {
	c, err := e.service.read(ctx, opEnsure, e.cartID)
	if err == nil && c.needsItems() {
		err = e.service.readItems(ctx, opEnsure, e.cartID, c)
	}
	if err != nil {
		return err
	}
	if err := c.checkComplete(); err != nil {
		return &Error{
			Op: opEnsure, Outcome: OutcomeNone, StatusCode: c.Response.StatusCode,
			RequestID: c.Response.RequestID, Attempts: c.Response.Attempts, Err: badResponse(err),
		}
	}
	e.cart = c
	e.credit()
	planner := ensurePlanner{cart: c, want: e.want, opts: e.opts, updated: e.updated}
	e.plan = planner.plan()
	for _, d := range e.renamed {
		if hasDiscount(c.CustomDiscounts, d.ID) && !hasDiscount(e.plan.delete, d.ID) {
			e.plan.different = append(e.plan.different, d)
		}
	}
	return nil
}

// credit compares the cart with the writes of this call: it attributes discounts that
// appeared to adds, and finds out about updates and deletes without a response.
func (e *ensureRun) credit() {
	shown := map[uuid.UUID]bool{}
	for _, d := range e.cart.CustomDiscounts {
		shown[d.ID] = true
		if !e.seen[d.ID] {
			e.seen[d.ID] = true
			e.creditAdd(d)
		}
		i, isUpdate := e.unconfirmed[d.ID]
		if isUpdate && e.want[i].hasContents(&d) {
			delete(e.unconfirmed, d.ID)
			e.result.Updated = append(e.result.Updated, d.clone())
		}
	}
	for id, d := range e.undeleted {
		if !shown[id] {
			delete(e.undeleted, id)
			e.result.Deleted = append(e.result.Deleted, d.clone())
		}
	}
}

// creditAdd attributes a discount that appeared on the cart to an add of this call, if one has
// not appeared yet. If the service changed the key of the discount, the add is not repeated:
// each one would add another copy.
func (e *ensureRun) creditAdd(d CustomDiscount) {
	for i := range e.want {
		a, w := &e.adds[i], &e.want[i]
		sameKey := w.key() == d.key()
		switch {
		case a.unshown[d.ID]:
			delete(a.unshown, d.ID)
		case a.unanswered > 0 && e.cart.isFor(w, &d) && w.hasContents(&d) && (sameKey || !e.isWanted(d.key())):
			a.unanswered--
			e.result.Added = append(e.result.Added, d.clone())
		default:
			continue
		}
		if !sameKey {
			a.refused = true
			e.renamed = append(e.renamed, d)
		}
		return
	}
}

func (e *ensureRun) isWanted(key discountKey) bool {
	return slices.ContainsFunc(e.want, func(w NewCustomDiscount) bool { return w.key() == key })
}

// write makes the writes of a round: first deletes, because surplus discounts use up the
// limit, then updates, then the add. It returns an error if no further write must be made:
// the lock is lost, or ctx has ended.
func (e *ensureRun) write(ctx context.Context) error {
	e.roundUnanswered = false
	kept := map[discountKey]bool{} // keys of discounts that were not deleted
	for _, d := range e.plan.delete {
		if !e.undeletable[d.ID] && e.delete(ctx, d) {
			e.result.Deleted = append(e.result.Deleted, d.clone())
		} else {
			kept[d.key()] = true
		}
		if err := e.mustStop(ctx); err != nil {
			return err
		}
	}
	for _, u := range e.plan.update {
		wanted := u.wanted(&e.want[u.index])
		updated, err := e.writer.update(ctx, wanted)
		switch outcome := e.record(err); {
		case err == nil:
			e.result.Updated = append(e.result.Updated, *updated)
		case outcome == OutcomeUnknown || outcome == OutcomeUnreadable:
			e.unconfirmed[u.current.ID] = u.index
		}
		e.updated[u.current.ID] = true
		if err := e.mustStop(ctx); err != nil {
			return err
		}
	}
	e.add(ctx, kept)
	return e.mustStop(ctx)
}

// delete reports whether d was deleted.
func (e *ensureRun) delete(ctx context.Context, d CustomDiscount) bool {
	err := e.writer.delete(ctx, d)
	switch outcome := e.record(err); outcome {
	case OutcomeUnknown, OutcomeUnreadable:
		e.undeleted[d.ID] = d
	default: // also if it was not found: it is on another level, or another writer deleted it
		e.undeletable[d.ID] = true
	}
	return err == nil
}

// wanted returns the discount with the contents of w.
func (u plannedUpdate) wanted(w *NewCustomDiscount) CustomDiscount {
	d := u.current
	d.Amount = Money{Amount: w.Amount}
	d.Description, d.DiscountCode = w.Description, w.DiscountCode
	return d
}

// add adds the missing discounts that may be sent now, in one request.
func (e *ensureRun) add(ctx context.Context, kept map[discountKey]bool) {
	var indexes []int
	var batch []NewCustomDiscount
	for _, i := range e.plan.add {
		if a := &e.adds[i]; !a.refused && !a.unsettled && !kept[e.want[i].key()] {
			indexes, batch = append(indexes, i), append(batch, e.want[i])
		}
	}
	if len(batch) == 0 {
		return
	}
	if e.cart.isEmpty() {
		for _, i := range indexes {
			e.adds[i].refused = true
		}
		e.failures = append(e.failures, ErrEmptyCart)
		return
	}
	result, err := e.writer.add(ctx, batch, &AddCustomDiscountsOptions{AllOrNothing: e.opts.AllOrNothing})
	outcome := e.record(err)
	for n, i := range indexes {
		before := e.adds[i].unanswered
		e.adds[i].sent(outcome, &batch[n], result, err)
		e.roundUnanswered = e.roundUnanswered || e.adds[i].unanswered > before
	}
	if result != nil {
		e.confirm(result.Added, indexes)
	}
}

// confirm records discounts that a response showed as added: by their key, or else as one of
// the batch that has no discount yet.
func (e *ensureRun) confirm(added []CustomDiscount, indexes []int) {
	for _, d := range added {
		e.result.Added = append(e.result.Added, d.clone())
		n := slices.IndexFunc(indexes, func(i int) bool { return e.want[i].key() == d.key() })
		if n < 0 {
			n = slices.IndexFunc(indexes, func(i int) bool { return len(e.adds[i].unshown) == 0 })
		}
		if n >= 0 && d.ID != uuid.Nil {
			e.adds[indexes[n]].unshown[d.ID] = true
		}
	}
}

// sent records the outcome of an add of d.
func (a *addState) sent(outcome Outcome, d *NewCustomDiscount, result *AddCustomDiscountsResult, err error) {
	isUnconfirmed := outcome != OutcomeApplied
	if outcome == OutcomePartial {
		i := slices.IndexFunc(result.Unconfirmed, func(u UnconfirmedDiscount) bool { return u.key() == d.key() })
		if isUnconfirmed = i >= 0; isUnconfirmed {
			a.reasons = result.Unconfirmed[i].Reasons
			a.refused = len(a.reasons) > 0
		}
	}
	if outcome == OutcomeRejected || outcome == OutcomeNotSent {
		a.refused = true
		if failed, ok := errors.AsType[*Error](err); ok {
			a.reasons = reasonsFor(d, failed.Errors)
		}
	}
	if !a.refused {
		a.unsettled = true
		if isUnconfirmed {
			a.unanswered++
		}
	}
}

// record counts a write, and returns its outcome.
func (e *ensureRun) record(err error) Outcome {
	outcome := OutcomeOf(err)
	if err != nil {
		e.failures = append(e.failures, err)
	}
	switch outcome {
	case OutcomeNotSent:
		return outcome
	case OutcomeRejected:
		e.rejected++
	case OutcomeUnknown, OutcomeUnreadable:
		e.roundUnanswered = true
	default: // applied, all or a part
	}
	e.began++
	return outcome
}

// mustStop returns why no further write must be made.
func (e *ensureRun) mustStop(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return e.writer.lock.check()
}

// hasUnsettled reports whether the cart does not show a discount that was sent before it was
// last read.
func (e *ensureRun) hasUnsettled() bool {
	return slices.ContainsFunc(e.plan.add, func(i int) bool { return e.adds[i].unsettled })
}

// settle waits for late writes. It reports whether it did.
func (e *ensureRun) settle(ctx context.Context) bool {
	wait := cmp.Or(e.opts.Settle, 2*time.Second)
	if deadline, ok := ctx.Deadline(); wait < 0 || ok && time.Until(deadline) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	for i := range e.adds {
		e.adds[i].unsettled = false
	}
	return true
}

// finish returns the result after the last read.
func (e *ensureRun) finish() (*EnsureCustomDiscountsResult, error) {
	isShown := func(d CustomDiscount) bool { return hasDiscount(e.cart.CustomDiscounts, d.ID) }
	isHidden := func(d CustomDiscount) bool { return !isShown(d) }
	e.result.Added = slices.DeleteFunc(e.result.Added, isHidden)
	e.result.Deleted = slices.DeleteFunc(e.result.Deleted, isShown)
	e.plan.different = append(e.plan.different, e.plan.delete...) // surplus that could not be deleted
	for _, u := range e.plan.update {
		e.plan.different = append(e.plan.different, u.current)
	}
	e.fill()
	for _, i := range e.plan.add {
		e.addMissing(i)
	}
	if e.plan.isDone() {
		return e.result, nil
	}
	outcome := OutcomePartial
	switch {
	case len(e.result.InDoubt) > 0:
		outcome = OutcomeUnknown
	case e.began == 0:
		outcome = OutcomeNotSent
	case e.rejected == e.began:
		outcome = OutcomeRejected
	}
	return e.result, e.newError(outcome, nil)
}

// interrupted returns the result if no further write or read was made because of err, which
// may be that of a read. written is the number of writes before the last read.
func (e *ensureRun) interrupted(written int, err error) (*EnsureCustomDiscountsResult, error) {
	e.fill()
	for _, i := range e.plan.add {
		isConfirmed := len(e.adds[i].unshown) > 0 && e.adds[i].unanswered == 0 // since the last read
		if !isConfirmed {
			e.addMissing(i)
		}
	}
	outcome := OutcomeUnknown
	switch inDoubt := len(e.result.InDoubt) > 0; {
	case e.began == 0:
		outcome = OutcomeNotSent
	case e.rejected == e.began && !inDoubt:
		outcome = OutcomeRejected
	case e.began == written && !inDoubt:
		outcome = OutcomePartial
	}
	return e.result, e.newError(outcome, err)
}

// unreadable returns the result if the cart could not be read.
func (e *ensureRun) unreadable(err error) (*EnsureCustomDiscountsResult, error) {
	if e.cart != nil {
		return e.interrupted(-1, err)
	}
	if failed, ok := errors.AsType[*Error](err); ok {
		unshared := *failed // calls that wait for one token share its error
		unshared.Outcome = OutcomeNotSent
		return nil, &unshared
	}
	return nil, err
}

// fill sets what the last read showed.
func (e *ensureRun) fill() {
	e.result.Discounts = cloneAll(e.plan.found)
	e.result.Different = cloneAll(e.plan.different)
	for i, a := range e.adds {
		if a.unanswered > 0 || len(a.unshown) > 0 {
			e.result.InDoubt = append(e.result.InDoubt, e.want[i].copyItem())
		}
	}
	for _, id := range sortedIDs(e.unconfirmed) {
		e.result.InDoubt = append(e.result.InDoubt, e.want[e.unconfirmed[id]].copyItem())
	}
	for _, id := range sortedIDs(e.undeleted) {
		d := e.undeleted[id]
		e.result.InDoubt = append(e.result.InDoubt, *d.asNew())
	}
}

func hasDiscount(list []CustomDiscount, id uuid.UUID) bool {
	return slices.ContainsFunc(list, func(d CustomDiscount) bool { return d.ID == id })
}

func sortedIDs[V any](m map[uuid.UUID]V) []uuid.UUID {
	return slices.SortedFunc(maps.Keys(m), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}

func (e *ensureRun) addMissing(i int) {
	e.result.Missing = append(e.result.Missing, UnconfirmedDiscount{
		NewCustomDiscount: e.want[i].copyItem(), Reasons: e.adds[i].reasons,
	})
}

// dryRun returns what would be written.
func (e *ensureRun) dryRun() (*EnsureCustomDiscountsResult, error) {
	e.result.Discounts, e.result.Different = cloneAll(e.plan.found), cloneAll(e.plan.different)
	e.result.Deleted = cloneAll(e.plan.delete)
	for _, i := range e.plan.add {
		if e.cart.isEmpty() {
			e.addMissing(i)
			continue
		}
		w := e.want[i].copyItem()
		e.result.Added = append(e.result.Added, CustomDiscount{
			Type: customDiscountType, Amount: Money{Amount: w.Amount}, Description: w.Description,
			DiscountCode: w.DiscountCode, DiscountEngine: w.DiscountEngine, ExternalID: w.ExternalID, Item: w.Item,
		})
	}
	for _, u := range e.plan.update {
		e.result.Updated = append(e.result.Updated, u.wanted(&e.want[u.index]).clone())
	}
	if len(e.plan.add) > 0 && e.cart.isEmpty() {
		e.failures = append(e.failures, ErrEmptyCart)
	}
	if len(e.plan.different) > 0 || len(e.failures) > 0 {
		return e.result, e.newError(OutcomeNotSent, nil)
	}
	return e.result, nil
}

// newError returns the error of a call that did not reach its aim. err is why it stopped; nil
// if it made all the reads and writes that it could.
func (e *ensureRun) newError(outcome Outcome, err error) *Error {
	causes := causeList{fmt.Errorf("%d of %d discounts are as wanted", e.plan.matched, len(e.want))}
	failed := &Error{Op: opEnsure, Outcome: outcome}
	if len(e.result.Different) > 0 {
		causes = append(causes, ErrDifferent)
	}
	if n := len(e.result.InDoubt); n > 0 {
		causes = append(causes, fmt.Errorf("%d may still change the cart", n))
	}
	for _, cause := range append(slices.Clone(e.failures), err) {
		f, ok := errors.AsType[*Error](cause)
		if !ok {
			causes = causes.with(cause)
			continue
		}
		if f.Attempts > 0 {
			failed.RequestID, failed.RetryAfter, failed.Attempts = f.RequestID, f.RetryAfter, f.Attempts
		}
		failed.Errors = append(failed.Errors, f.Errors...)
		causes = causes.with(failedCall{transport.Hide(f)})
	}
	failed.Err = causes
	return failed
}

// causeList is an error with several causes, shown in one line.
type causeList []error

// with returns the list with err, unless it is nil or has the same text as another cause.
func (l causeList) with(err error) causeList {
	if err == nil || slices.ContainsFunc(l, func(o error) bool { return o.Error() == err.Error() }) {
		return l
	}
	return append(l, err)
}

func (l causeList) Error() string {
	texts := make([]string, len(l))
	for i, err := range l {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (l causeList) Unwrap() []error { return l }

// failedCall is the error of one of the calls of EnsureCustomDiscounts. It matches what that
// error matches, except the outcome: only that of the whole call counts.
type failedCall struct{ err transport.Hidden[*Error] }

func (f failedCall) Error() string { return f.err().problem() }

func (f failedCall) Unwrap() error { return f.err().Err }

func (f failedCall) Is(target error) bool {
	return target != ErrOutcomeUnknown && target != ErrPartialFailure && f.err().Is(target)
}
