package commerce

import (
	"cmp"
	"errors"
	"slices"

	"github.com/google/uuid"
)

// writeKind is what a write does with a discount.
type writeKind uint8

const (
	addWrite writeKind = iota
	updateWrite
	deleteWrite
	enableWrite // of custom discounts for the cart; it has no discount
)

// ensureWrite is what became of one discount of a write, or of the write that enables discounts.
type ensureWrite struct {
	kind writeKind
	want *NewCustomDiscount // the wanted discount that is added or updated; a copy of a deleted one
	// discount to update or delete, as it was last seen or changed. For an add, the one that the
	// response or a read showed; before that the wanted one, without an ID.
	discount CustomDiscount
	outcome  Outcome // Applied, Unknown, Rejected or NotSent; None in a dry run; zero in a plan
	reasons  reasons // why it was refused
	settled  bool    // Settle has passed since
	// isSeen: a read showed the effect. Of an update or a deletion without a response, the last
	// read.
	isSeen    bool
	isChanged bool // an update: the response showed other contents than were sent
	isGone    bool // an update or a deletion: the response was a 404. An attempt before it may have had an effect
	isUndone  bool // an add: it was refused, as enabling was undone, or has no effect yet
	sentTo    *scene
	isOver    bool // it was refused, but the last read shows another scene: the same write may succeed
}

// scene is what a read shows of a cart, and what is wanted for it: a refusal is about both.
type scene struct {
	cart    *Cart
	want    []NewCustomDiscount
	isWhole bool // all or none are added: the discounts of the cart decide what is in the batch

	contents []string // see look
	there    map[uuid.UUID]bool
}

// look sets contents, and the discounts that are there.
func (s *scene) look() {
	if s.there != nil {
		return
	}
	s.contents, s.there = s.cart.contents(), map[uuid.UUID]bool{}
	for _, d := range s.want {
		s.contents = append(s.contents, d.contents())
	}
	for _, d := range s.cart.CustomDiscounts {
		if s.there[d.ID] = true; s.isWhole {
			s.contents = append(s.contents, d.ID.String())
		}
	}
	slices.Sort(s.contents)
}

// isSameIn reports whether the write would be the same in another scene: with the same contents
// and, if the service may have counted them, no fewer discounts.
func (w *ensureWrite) isSameIn(s *scene) bool {
	s.look()
	w.sentTo.look()
	mayCount := w.outcome == OutcomeRejected && !w.isEnabling()
	for id := range w.sentTo.there {
		if mayCount && !s.there[id] {
			return false
		}
	}
	return slices.Equal(w.sentTo.contents, s.contents)
}

// changes reports whether the write updates or deletes d.
func (w *ensureWrite) changes(d *CustomDiscount) bool {
	return (w.kind == updateWrite || w.kind == deleteWrite) && w.discount.ID == d.ID
}

// wanted returns the discount with the contents that it should have.
func (w *ensureWrite) wanted() CustomDiscount {
	d, want := w.discount, w.want.asAdded()
	d.Amount, d.Description, d.DiscountCode = want.Amount, want.Description, want.DiscountCode
	return d
}

// raises returns what a planned update or deletion adds to the price of the cart.
func (w *ensureWrite) raises() Decimal {
	raised := w.discount.Amount.Amount.Neg()
	if w.kind == updateWrite {
		raised = raised.Add(w.want.Amount)
	}
	return raised
}

// byRaise sorts writes that raise the price first, by how much.
func byRaise(a, b *ensureWrite) int { return b.raises().Cmp(a.raises()) }

// isSent reports whether the service may have received the write.
func (w *ensureWrite) isSent() bool { return w.outcome != OutcomeNotSent && w.outcome != OutcomeNone }

// isDone reports whether the write was applied. The writes of a dry run count.
func (w *ensureWrite) isDone() bool { return w.outcome == OutcomeApplied || w.outcome == OutcomeNone }

func (w *ensureWrite) isUnknown() bool { return w.outcome == OutcomeUnknown }

// isRefused reports whether nothing of the write was applied, by the service or by this call.
func (w *ensureWrite) isRefused() bool {
	return w.outcome == OutcomeRejected || w.outcome == OutcomeNotSent
}

// isFinal reports whether the write must not be made again in this call: it was refused, or
// the service changes the key that it is sent.
func (w *ensureWrite) isFinal() bool {
	return !w.isUndone && !w.isOver &&
		(w.isRefused() || len(w.reasons.entries) > 0 || w.isRenamed())
}

// isInDoubt reports whether the write may still take effect.
func (w *ensureWrite) isInDoubt() bool {
	return !w.isSeen && (w.isUnknown() || w.outcome == OutcomeApplied && (w.kind == addWrite || w.isGone))
}

func (w *ensureWrite) isEnabling() bool { return w.kind == enableWrite }

// hasEnabled reports whether the write enabled custom discounts for the cart.
func (w *ensureWrite) hasEnabled() bool { return w.isEnabling() && (w.isSeen || w.isDone()) }

// isRenamed reports whether the service changed the key of the discount that was added.
func (w *ensureWrite) isRenamed() bool {
	return w.kind == addWrite && w.isSeen && w.discount.key() != w.want.key()
}

// journal lists the writes of a call, with an entry for each discount.
type journal struct {
	writes []*ensureWrite
	adds   map[discountKey][]*ensureWrite // those that add something
	read   int                            // number of writes before the last read that succeeded
	failed bool                           // a later read failed, which ended the call
	seen   map[uuid.UUID]bool             // discounts that the reads showed
	wanted map[discountKey]bool           // keys that were ever wanted
	// enables: the call may enable custom discounts for the cart.
	enables bool
	scene   *scene // of the last read
}

func newJournal() *journal {
	return &journal{seen: map[uuid.UUID]bool{}, wanted: map[discountKey]bool{}, adds: map[discountKey][]*ensureWrite{}}
}

func (j *journal) record(writes ...*ensureWrite) {
	for _, w := range writes {
		if w.sentTo = j.scene; w.kind == addWrite {
			j.adds[w.want.key()] = append(j.adds[w.want.key()], w)
		}
	}
	j.writes = append(j.writes, writes...)
}

// enter compares the last refusal of each write with the scene of a read.
func (j *journal) enter(s *scene) {
	j.scene = s
	for n, w := range j.writes {
		w.isOver = w.isRefused() && !w.isSameIn(s) && !j.isRepeated(n)
	}
}

// isRepeated reports whether a later write does the same as that at index n.
func (j *journal) isRepeated(n int) bool {
	w := j.writes[n]
	if w.kind == addWrite {
		adds := j.adds[w.want.key()]
		return adds[len(adds)-1] != w
	}
	return slices.ContainsFunc(j.writes[n+1:], func(o *ensureWrite) bool { return o.changes(&w.discount) })
}

// recent returns the writes since the last read.
func (j *journal) recent() []*ensureWrite { return j.writes[j.read:] }

func (j *journal) has(match func(w *ensureWrite) bool) bool {
	return slices.ContainsFunc(j.writes, match)
}

// permission states when a write may be made.
type permission uint8

const (
	never permission = iota // in this call
	later                   // after Settle and a read
	now
)

// permits states when a write may be made, by the writes of the same kind to the same discount: all
// of writes, if isSame is nil. One that the last read does not show is made again, once, after
// Settle: it may come late, or another write may have undone it.
func permits(writes []*ensureWrite, isSame func(w *ensureWrite) bool) permission {
	permitted, n := now, 0
	for _, w := range writes {
		if isSame != nil && !isSame(w) {
			continue
		}
		if n++; n == 2 || w.isFinal() {
			return never
		}
		if !w.settled && (!w.isSeen || w.kind == addWrite) {
			permitted = later
		}
	}
	return permitted
}

func (j *journal) mayAdd(d *NewCustomDiscount) permission { return permits(j.adds[d.key()], nil) }

func (j *journal) mayChange(kind writeKind, d *CustomDiscount) permission {
	return permits(j.writes, func(w *ensureWrite) bool { return w.kind == kind && w.changes(d) })
}

// recordBatch records adds that were sent in one request, which ended with result and err, or that
// were not sent, without both. A
// discount of the response that no read has shown confirms one of the adds: the one with its
// key, or else, as the service may change the key or leave it out, one that is like it, or any of
// its engine that is left, even one that was refused.
func (j *journal) recordBatch(adds []*ensureWrite, result *AddCustomDiscountsResult, err error) {
	j.record(adds...)
	var added []CustomDiscount
	if result != nil {
		added = slices.DeleteFunc(slices.Clone(result.Added), func(d CustomDiscount) bool { return j.seen[d.ID] })
	}
	failed, _ := errors.AsType[*Error](err)
	// The errors of a gateway do not tell what the service did.
	mayRefuse := failed != nil && (failed.StatusCode <= 299 || didNotAct(failed.StatusCode))
	reasonsOf := reasonsFor(cmp.Or(failed, &Error{}).Errors)
	for _, w := range adds {
		if mayRefuse && !slices.ContainsFunc(added, func(d CustomDiscount) bool { return d.key() == w.want.key() }) {
			w.reasons = reasonsOf(w.want)
		}
		if result != nil && len(w.reasons.entries) > 0 {
			w.outcome = OutcomeRejected
		}
	}
	attribution{
		isOpen: func(w *ensureWrite) bool { return w.discount.ID == uuid.Nil },
		signs:  []sign{hasKey, isLike, mayBeAccepted, mayHaveEngine},
		found: func(w *ensureWrite) {
			if w.outcome = OutcomeApplied; len(w.reasons.entries) > 0 {
				w.outcome = OutcomeUnknown
			}
		},
	}.apply(added, adds)
}

// compare compares the writes with the cart, which was read: it attributes discounts that
// appeared to adds, and finds out about the other writes.
func (j *journal) compare(c *Cart) {
	cart := c.CustomDiscounts
	j.credit(slices.DeleteFunc(slices.Clone(cart), func(d CustomDiscount) bool { return j.seen[d.ID] }))
	at := map[uuid.UUID]int{}
	for i := range cart {
		j.seen[cart[i].ID], at[cart[i].ID] = true, i
	}
	mayEnable := j.enables && (!c.CustomDiscountsEnabled || j.has((*ensureWrite).hasEnabled))
	for _, w := range j.writes {
		n, isThere := at[w.discount.ID]
		wasSeen := w.isSeen && w.outcome == OutcomeApplied && !w.isGone
		switch w.kind {
		case addWrite:
			w.isUndone = w.isUndone || mayEnable && slices.Contains(w.reasons.causes, ErrDiscountsDisabled)
		case updateWrite:
			if w.isSeen = wasSeen || isThere && w.want.hasContents(&cart[n]); w.isSeen && isThere {
				w.discount = cart[n]
			}
		case deleteWrite:
			w.isSeen = wasSeen || !isThere && !w.isFinal()
		case enableWrite:
			w.isSeen = wasSeen || c.CustomDiscountsEnabled
		}
	}
	j.read = len(j.writes)
}

// credit attributes discounts that appeared on the cart to adds that no read has shown: by
// their key if it is wanted; otherwise by the id that a response named; otherwise to one that
// wanted an equal discount of the same engine. The service then changed the external id.
func (j *journal) credit(appeared []CustomDiscount) {
	attribution{
		isOpen: func(w *ensureWrite) bool { return w.kind == addWrite && w.isInDoubt() },
		signs:  []sign{hasKey, j.isNamed, j.isRenamed},
		found:  func(w *ensureWrite) { w.isSeen = true },
	}.apply(appeared, j.writes)
}

// inDoubt returns the discounts of the writes that may still take effect, each once.
func (j *journal) inDoubt() []NewCustomDiscount {
	var list []NewCustomDiscount
	for n, w := range j.writes {
		isListed := func(o *ensureWrite) bool {
			isSameAdd := w.kind == addWrite && o.kind == addWrite && w.want.key() == o.want.key()
			return o.isInDoubt() && (isSameAdd || o.changes(&w.discount))
		}
		if !w.isEnabling() && w.isInDoubt() && !slices.ContainsFunc(j.writes[:n], isListed) {
			list = append(list, w.want.copyItem())
		}
	}
	return list
}

// sign reports whether a discount may be the one that a write added.
type sign func(w *ensureWrite, d *CustomDiscount) bool

func hasKey(w *ensureWrite, d *CustomDiscount) bool { return w.want.key() == d.key() }

func isLike(w *ensureWrite, d *CustomDiscount) bool { return w.want.isLike(d) }

func mayHaveEngine(w *ensureWrite, d *CustomDiscount) bool { return w.want.mayHaveEngine(d) }

// mayBeAccepted reports whether only the engine is known, and the service did not refuse the write.
func mayBeAccepted(w *ensureWrite, d *CustomDiscount) bool {
	return !w.isFinal() && mayHaveEngine(w, d)
}

// isNamed reports whether a response named the id of d. If d has the key of another wanted
// discount, the response must have confirmed the write.
func (j *journal) isNamed(w *ensureWrite, d *CustomDiscount) bool {
	return w.discount.ID == d.ID && (w.outcome == OutcomeApplied || j.isUnwanted(d))
}

// isRenamed reports whether the service may have changed the external id of the write.
func (j *journal) isRenamed(w *ensureWrite, d *CustomDiscount) bool {
	return w.discount.ID == uuid.Nil && j.isUnwanted(d) && d.DiscountEngine != "" && isLike(w, d)
}

// isUnwanted reports whether the key of d was never wanted.
func (j *journal) isUnwanted(d *CustomDiscount) bool { return !j.wanted[d.key()] }

// attribution finds out which discount belongs to which write.
type attribution struct {
	isOpen func(w *ensureWrite) bool // w has no discount yet
	signs  []sign                    // the surest first
	found  func(w *ensureWrite)      // w has one now: it must not be open any more
}

// apply sets the discounts of writes, each discount once: it looks for a sign in all discounts
// before the next one. It changes discounts.
func (a attribution) apply(discounts []CustomDiscount, writes []*ensureWrite) {
	for _, fits := range a.signs {
		discounts = slices.DeleteFunc(discounts, func(d CustomDiscount) bool {
			n := slices.IndexFunc(writes, func(w *ensureWrite) bool { return a.isOpen(w) && fits(w, &d) })
			if n >= 0 {
				writes[n].discount = d
				a.found(writes[n])
			}
			return n >= 0
		})
	}
}
