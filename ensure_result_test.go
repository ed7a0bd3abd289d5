package commerce_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// confirmed is a fault that confirms discounts a and b, and adds none.
var confirmed = commercetest.Fault{Operation: opAdd, Status: 201, Body: `{"data":[` +
	`{"type":"custom_discount","id":"` + itemID + `","external_id":"a","discount_engine":"engine"},` +
	`{"type":"custom_discount","id":"` + numberedID(1).String() + `","external_id":"b","discount_engine":"engine"}]}`}

// waitSecond is the header of a 429 that counts against MaxAttempts.
var waitSecond = http.Header{"Retry-After": {"1"}}

// Calls that end early, and what their errors match.
var ensureInterrupted = []ensureScenario{
	{
		name: "the context ends before an update", cancel: http.MethodGet, before: place(placed("a", -1), placed("b", -1000)),
		opts:     commerce.EnsureCustomDiscountsOptions{Update: true},
		requests: "cart", cart: []string{"a -1", "b -1000"}, counts: "discounts 2, different 1",
		outcome: commerce.OutcomeNotSent, matches: []error{context.Canceled}, differs: []error{commerce.ErrDifferent},
	},
	{
		name: "the context ends in the wait for late writes", cancel: http.MethodPost, cancelAfter: second,
		faults:   []commercetest.Fault{{Operation: opAdd, Status: 504}},
		requests: "cart add", counts: "missing 2, in doubt 2",
		outcome: commerce.OutcomeUnknown, matches: []error{context.Canceled}, takes: second,
	},
	{
		name:   "confirmed, and the cart cannot be read",
		faults: []commercetest.Fault{{Operation: opCart, After: 1, Status: 403, Times: -1}},
		cart:   both, requests: "cart add cart", counts: "added 2, in doubt 2",
		outcome: commerce.OutcomeUnknown, matches: []error{commerce.ErrForbidden},
	},
	{
		name:     "deleted, and the cart cannot be read",
		before:   place(placed("a", -1000), placed("a", -1000), placed("b", -1000)),
		faults:   []commercetest.Fault{{Operation: opCart, After: 1, Status: 403, Times: -1}},
		requests: "cart delete-discount cart", cart: both, counts: "discounts 2, deleted 1",
		outcome: commerce.OutcomeUnknown, matches: []error{commerce.ErrForbidden},
	},
	{
		name: "refused, and the cart cannot be read", want: []commerce.NewCustomDiscount{discountOf("b", numberedID(7))},
		faults:   []commercetest.Fault{{Operation: opCart, After: 1, Status: 403, Times: -1}},
		requests: "cart add cart", counts: "missing 1",
		outcome: commerce.OutcomeRejected, matches: []error{commerce.ErrForbidden, commerce.ErrCartItemNotFound},
	},
	{
		name: "the delete of a moved discount gets no response", before: place(forItem(placed("a", -1000))),
		opts: commerce.EnsureCustomDiscountsOptions{Update: true}, want: discounts("a"),
		faults:   []commercetest.Fault{{Operation: commercetest.OpDeleteDiscount, Status: 504, Times: 2}},
		requests: "cart delete-discount delete-discount cart delete-discount add cart", cart: []string{"a -1000"},
		counts: "discounts 1, added 1, deleted 1", outcome: commerce.OutcomeApplied, takes: 2 * second,
	},
	{
		name: "all or nothing, the delete of a moved discount is refused", before: place(forItem(placed("a", -1000))),
		opts:     commerce.EnsureCustomDiscountsOptions{Update: true, AllOrNothing: true},
		faults:   []commercetest.Fault{{Operation: commercetest.OpDeleteDiscount, Status: 403, Times: -1}},
		requests: "cart delete-discount cart", cart: []string{"a -1000 item"}, counts: "missing 2, different 1",
		outcome: commerce.OutcomeRejected, matches: []error{commerce.ErrForbidden}, differs: []error{commerce.ErrDifferent},
	},
}

// losingLocker loses each lock at once.
var losingLocker = lockerFunc(func(ctx context.Context, _ string) (context.Context, func(), error) {
	held, cancel := context.WithCancel(ctx)
	cancel()
	return held, cancel, nil
})

// Calls that fail: ReasonOf and IsFinal.
var ensureFailures = []ensureScenario{
	{
		name: "dry run on an empty cart", opts: commerce.EnsureCustomDiscountsOptions{DryRun: true},
		before:   func(s *commercetest.Store, cartID string) { s.RemoveItem(cartID, uuid.MustParse(itemID)) },
		requests: "cart items", counts: "missing 2",
		outcome: commerce.OutcomeNotSent, reason: "empty_cart", isFinal: true,
	},
	{
		name: "unknown reason", faults: []commercetest.Fault{{Operation: opAdd, Status: 400, Times: -1, Body: refusal}},
		requests: "cart add cart", counts: "missing 2",
		outcome: commerce.OutcomeRejected, reason: "bad_request", isFinal: true,
	},
	{
		name:     "unknown reason, and a wait",
		faults:   []commercetest.Fault{{Operation: opAdd, Status: 400, Times: -1, Body: refusal, Header: waitSecond}},
		requests: "cart add cart", counts: "missing 2", outcome: commerce.OutcomeRejected, reason: "bad_request",
	},
	{
		name:   "two refusals with the same text, the first one asks for a wait",
		before: place(placed("a", -1), placed("b", -1)), opts: commerce.EnsureCustomDiscountsOptions{Update: true},
		faults: []commercetest.Fault{
			{Operation: commercetest.OpUpdateDiscount, Status: 422, Body: refusal, Header: waitSecond},
			{Operation: commercetest.OpUpdateDiscount, Status: 422, Times: -1, Body: refusal},
		},
		requests: "cart update-discount update-discount cart", cart: []string{"a -1", "b -1"},
		counts: "discounts 2, different 2", outcome: commerce.OutcomeRejected, reason: "unprocessable",
	},
	{
		name:     "an update finds nothing, and the discount is there again",
		before:   place(placed("a", -1), placed("b", -1000)),
		opts:     commerce.EnsureCustomDiscountsOptions{Update: true},
		faults:   []commercetest.Fault{{Operation: opUpdate, Status: 404, Body: refusal}},
		requests: "cart update-discount cart", cart: []string{"a -1", "b -1000"},
		counts: "discounts 2, different 1", outcome: commerce.OutcomeRejected, reason: "not_found",
	},
	{
		name: "page of a gateway", faults: []commercetest.Fault{{Operation: opAdd, Status: 400, Times: -1, Body: gateway}},
		requests: "cart add cart", counts: "missing 2", outcome: commerce.OutcomeRejected, reason: "bad_request",
	},
	{
		name:   "different, and the delete of a copy refused, too many requests",
		before: place(placed("a", -1), placed("b", -1000), placed("b", -1000)),
		faults: []commercetest.Fault{
			{Operation: commercetest.OpDeleteDiscount, Status: 429, Header: waitSecond, Times: -1},
		},
		requests: "cart delete-discount cart", cart: []string{"a -1", "b -1000", "b -1000"},
		counts: "discounts 2, different 2", outcome: commerce.OutcomeRejected, reason: "rate_limited",
	},
	{
		name: "in doubt, and the cart is refused",
		faults: []commercetest.Fault{
			{Operation: opAdd, Cut: true}, {Operation: opCart, After: 1, Status: 404, Times: -1, Body: refusal},
		},
		requests: "cart add cart", counts: "missing 2, in doubt 2",
		outcome: commerce.OutcomeUnknown, reason: "not_found", takes: 2 * second,
	},
	{
		name: "in doubt, and the service asks for a longer wait than Settle",
		faults: []commercetest.Fault{
			{Operation: opAdd, Cut: true},
			{Operation: opCart, After: 1, Status: 429, Times: -1, Header: http.Header{"Retry-After": {"60"}}},
		},
		requests: "cart add cart", counts: "missing 2, in doubt 2",
		outcome: commerce.OutcomeUnknown, reason: "rate_limited", takes: 2 * second, retryAfter: time.Minute,
	},
	{
		name: "different, and more to delete than the call can read the cart", want: discounts("a"),
		before: place(placed("a", -1), placed("x", -1)), opts: commerce.EnsureCustomDiscountsOptions{Prune: true},
		after: func(s *commercetest.Store, cartID string, in commercetest.Request) {
			if in.Operation == opCart {
				s.AddDiscount(cartID, placed("x", -1))
			}
		},
		requests: "cart" + strings.Repeat(" delete-discount cart", 3), cart: []string{"a -1", "x -1", "x -1"},
		counts: "discounts 1, deleted 3, different 2", outcome: commerce.OutcomePartial,
		matches: []error{commerce.ErrDifferent},
	},
	{
		name:     "the cart is refused",
		faults:   []commercetest.Fault{{Operation: opCart, Status: 404, Times: -1, Body: refusal}},
		requests: "cart", counts: "nil", outcome: commerce.OutcomeNotSent, reason: "not_found", isFinal: true,
	},
	{
		name: "lock refused", locker: failingLocker{}, counts: "missing 2",
		outcome: commerce.OutcomeNotSent, reason: "lock",
	},
	{
		name: "lock lost", locker: losingLocker, requests: "cart", counts: "missing 2",
		outcome: commerce.OutcomeNotSent, reason: "lock",
	},
}

// undoing is a write that somebody undoes, before the next read.
type undoing struct {
	name     string
	kind     commercetest.Operation
	times    int // how often it is undone
	fault    *commercetest.Fault
	requests string
	outcome  commerce.Outcome
	reason   string
	takes    time.Duration
}

const (
	opUpdate = commercetest.OpUpdateDiscount
	opDelete = commercetest.OpDeleteDiscount
	opEnable = commercetest.OpUpdateCart
)

var undoings = []undoing{
	{
		name: "add, undone once", kind: opAdd, times: 1,
		requests: "cart add cart cart add cart",
		outcome:  commerce.OutcomeUnknown, reason: "outcome_unknown", takes: 2 * second,
	},
	{
		name: "update, undone twice", kind: opUpdate, times: 2,
		requests: "cart update-discount cart cart update-discount cart",
		outcome:  commerce.OutcomePartial, reason: "different", takes: 2 * second,
	},
	{
		name: "deletion, undone once", kind: opDelete, times: 1,
		requests: "cart delete-discount cart cart delete-discount cart",
		outcome:  commerce.OutcomeApplied, takes: 2 * second,
	},
	{
		name: "enabling, undone twice", kind: opEnable, times: 2,
		requests: "cart update-cart update-cart add cart cart update-cart update-cart add cart",
		outcome:  commerce.OutcomePartial, reason: "discounts_disabled", takes: 2 * second,
	},
	{
		name: "enabling, late", kind: opEnable, fault: &commercetest.Fault{Late: true, Delay: second, Cut: true, Times: 2},
		requests: "cart update-cart update-cart cart cart add cart", outcome: commerce.OutcomeApplied, takes: 2 * second,
	},
}

// A write that the next read does not show is sent once more, after Settle. Whatever another
// program does, the error is not final, as the same call succeeds when it does not.
func TestEnsureCustomDiscounts_undone(t *testing.T) {
	t.Parallel()
	for _, tt := range undoings {
		inBubble(t, tt.name, tt.run)
	}
}

func (tt *undoing) run(t *testing.T) {
	cartID, undone, isUndoing := "", 0, false
	s := commercetest.New(t, commercetest.Config{
		DiscountsEnabled: tt.kind != opEnable,
		AfterRequest: func(s *commercetest.Store, in commercetest.Request) {
			if in.Operation == tt.kind && in.Status < 300 && undone < tt.times && !isUndoing {
				undone++
				isUndoing = true
				tt.undo(s, cartID)
				isUndoing = false
			}
		},
	})
	cartID = s.AddCart(commerce.CartItemRef{})
	if tt.kind == opUpdate || tt.kind == opDelete {
		d := placed("a", -1)
		if d.ID = numberedID(1); tt.kind == opDelete {
			d.ExternalID = "unwanted"
		}
		s.AddDiscount(cartID, d)
	}
	if tt.fault != nil {
		tt.fault.Operation = tt.kind
		s.Inject(*tt.fault)
	}
	choose := ids("a")
	if tt.kind == opDelete {
		choose = ids("")
	}
	want := func(_ context.Context, c *commerce.Cart) ([]commerce.NewCustomDiscount, error) { return choose(c, 1) }
	carts, start := s.Client(attempts(2)).Carts, time.Now()
	set := func() error {
		_, err := carts.SetCustomDiscounts(t.Context(), cartID, want, ofEngine)
		return err
	}
	err := set()
	took := time.Since(start).Truncate(time.Second)
	if got := operations(s); got != tt.requests || took != tt.takes {
		t.Errorf("requests = %q in %v, want %q in %v", got, took, tt.requests, tt.takes)
	}
	if got := commerce.OutcomeOf(err); got != tt.outcome || commerce.ReasonOf(err) != tt.reason || commerce.IsFinal(err) {
		t.Errorf("error %v, final %t, want outcome %v, reason %q, not final",
			err, commerce.IsFinal(err), tt.outcome, tt.reason)
	}
	time.Sleep(time.Minute)
	tt.times = 0
	if err := set(); err != nil {
		t.Errorf("the same call later: error %v, want none", err)
	}
	wanted := []string{"a -1000"}
	if tt.kind == opDelete {
		wanted = nil
	}
	diff(t, "cart", onCart(s, cartID), wanted)
}

// undo brings the cart back to what it was before the write.
func (tt *undoing) undo(s *commercetest.Store, cartID string) {
	for _, d := range s.Discounts(cartID) {
		s.RemoveDiscount(cartID, d.ID)
	}
	d := placed("a", -1)
	if d.ID = numberedID(1); tt.kind == opDelete {
		d.ExternalID = "unwanted"
	}
	if tt.kind == opDelete || tt.kind == opUpdate {
		s.AddDiscount(cartID, d)
	}
	if tt.kind == opEnable {
		send(s, http.MethodPut, `{"data":{"discount_settings":{"custom_discounts_enabled":false}}}`, "carts", cartID)
	}
}
