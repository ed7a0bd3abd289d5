package commerce_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// ensureScenario is a call of EnsureCustomDiscounts, or of SetCustomDiscounts.
type ensureScenario struct {
	name string
	want []commerce.NewCustomDiscount // nil: a and b
	// choose is what SetCustomDiscounts calls, instead of want, for the n-th time, from 1 on.
	choose   func(cart *commerce.Cart, n int) ([]commerce.NewCustomDiscount, error)
	opts     commerce.EnsureCustomDiscountsOptions
	set      commerce.SetCustomDiscountsOptions // with choose
	store    commercetest.Config
	disabled bool                                       // the cart takes no custom discounts yet
	before   func(s *commercetest.Store, cartID string) // nil: the cart has an item and no discounts
	faults   []commercetest.Fault
	locker   commerce.Locker
	// cancel is a method: the context ends when the first response to it was read, and cancelAfter
	// has passed.
	cancel      string
	cancelAfter time.Duration
	// request edits the bodies of writes. respond returns the data of the response to an add,
	// from all discounts of the cart and from those that are new. nil: they do not change.
	request func(body string) string
	respond func(all, added []commerce.CustomDiscount) string
	after   func(s *commercetest.Store, cartID string, in commercetest.Request) // after each request

	requests string   // operations, e.g. "cart add cart"
	cart     []string // external ids and amounts on the cart at the end, sorted, e.g. "a -1000"
	counts   string   // numbers of the result that are not 0, e.g. "added 2"
	outcome  commerce.Outcome
	matches  []error
	differs  []error // that the error must not match
	isFinal  bool
	reason   string // of the error; "": not checked
	takes    time.Duration
	// retryAfter is that of the error, if it is not 0.
	retryAfter time.Duration
}

// counts returns the numbers of a result that are not 0.
func counts(r *commerce.CustomDiscountsResult) string {
	if r == nil {
		return "nil"
	}
	var texts []string
	for _, n := range []struct {
		name  string
		count int
	}{
		{"discounts", len(r.Discounts)}, {"added", len(r.Added)}, {"updated", len(r.Updated)},
		{"deleted", len(r.Deleted)}, {"missing", len(r.Missing)}, {"different", len(r.Different)},
		{"in doubt", len(r.InDoubt)}, {"lowered", len(r.Lowered)},
	} {
		if n.count > 0 {
			texts = append(texts, fmt.Sprint(n.name, " ", n.count))
		}
	}
	if r.Enabled {
		texts = append(texts, "enabled")
	}
	return strings.Join(texts, ", ")
}

// onCart returns the external ids and amounts of the discounts on a cart, sorted.
func onCart(s *commercetest.Store, cartID string) []string {
	var list []string
	for _, d := range s.Discounts(cartID) {
		text := d.ExternalID + " " + d.Amount.Amount.String()
		if d.Item != nil {
			text += " item"
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

func operations(s *commercetest.Store) string {
	var list []string
	for _, r := range s.Requests() {
		list = append(list, strings.ReplaceAll(string(r.Operation), " ", "-"))
	}
	return strings.Join(list, " ")
}

// placed returns a discount that is on the cart already.
func placed(externalID string, amount int64) commerce.CustomDiscount {
	d := discount(externalID)
	return commerce.CustomDiscount{
		Amount: commerce.Money{Amount: commerce.NewDecimal(amount)}, Description: d.Description,
		DiscountCode: d.DiscountCode, DiscountEngine: d.DiscountEngine, ExternalID: externalID,
	}
}

func place(list ...commerce.CustomDiscount) func(*commercetest.Store, string) {
	return func(s *commercetest.Store, cartID string) {
		for _, d := range list {
			s.AddDiscount(cartID, d)
		}
	}
}

// foreign returns d as a discount of another engine.
func foreign(d commerce.CustomDiscount) commerce.CustomDiscount {
	d.DiscountEngine = "other"
	return d
}

func forItem(d commerce.CustomDiscount) commerce.CustomDiscount {
	d.Item = &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse(itemID)}
	return d
}

const (
	second = time.Second
	opAdd  = commercetest.OpAdd
	opCart = commercetest.OpCart
)

func ensureScenarios() []ensureScenario {
	return slices.Concat(ensureAdds, ensureRefusals, ensureChanges, ensureCredits, ensureInterrupted, ensureFailures,
		setScenarios, priceScenarios, ensureEnables)
}

func roundAmounts(body string) string { return strings.ReplaceAll(body, "-1000", "-990") }

func addSpace(body string) string { return strings.ReplaceAll(body, `"ten off"`, `" ten off\n"`) }

var both = []string{"a -1000", "b -1000"}

// Only adds are needed.
var ensureAdds = []ensureScenario{
	{
		name: "to be added", requests: "cart add cart", cart: both, counts: "discounts 2, added 2",
		outcome: commerce.OutcomeApplied,
	},
	{
		name:     "added, response lost",
		faults:   []commercetest.Fault{{Operation: opAdd, Apply: true, Status: 504}},
		requests: "cart add cart", cart: both, counts: "discounts 2, added 2",
		outcome: commerce.OutcomeApplied, takes: 2 * second,
	},
	{
		name:     "not added, response lost",
		faults:   []commercetest.Fault{{Operation: opAdd, Status: 504}},
		requests: "cart add cart add cart", cart: both, counts: "discounts 2, added 2, in doubt 2",
		outcome: commerce.OutcomeApplied, takes: 2 * second,
	},
	{
		name:     "response lost, must not wait",
		opts:     commerce.EnsureCustomDiscountsOptions{Settle: -1},
		faults:   []commercetest.Fault{{Operation: opAdd, Status: 504}},
		requests: "cart add cart", counts: "missing 2, in doubt 2",
		outcome: commerce.OutcomeUnknown, matches: []error{commerce.ErrServer, commerce.ErrOutcomeUnknown},
	},
	{
		name:     "the response is lost each time",
		faults:   []commercetest.Fault{{Operation: opAdd, Status: 504, Times: -1}},
		requests: "cart add cart add cart", counts: "missing 2, in doubt 2",
		outcome: commerce.OutcomeUnknown, takes: 4 * second,
	},
	{
		name:     "confirmed, but not on the cart",
		faults:   []commercetest.Fault{confirmed},
		requests: "cart add cart cart add cart", cart: both, counts: "discounts 2, added 2, in doubt 2",
		outcome: commerce.OutcomeApplied, takes: 2 * second,
	},
	{
		name:   "confirmed, but not on the cart, must not wait",
		faults: []commercetest.Fault{confirmed}, opts: commerce.EnsureCustomDiscountsOptions{Settle: -1},
		requests: "cart add cart", counts: "missing 2, in doubt 2", outcome: commerce.OutcomeUnknown,
	},
}

// The service refuses or loses something.
var ensureRefusals = []ensureScenario{
	{
		name:     "one is refused",
		want:     []commerce.NewCustomDiscount{discount("a"), discountOf("b", numberedID(7))},
		requests: "cart add cart", cart: []string{"a -1000"}, counts: "discounts 1, added 1, missing 1",
		outcome: commerce.OutcomePartial, isFinal: true,
		matches: []error{commerce.ErrCartItemNotFound, commerce.ErrPartialFailure},
	},
	{
		name: "all or nothing", opts: commerce.EnsureCustomDiscountsOptions{AllOrNothing: true},
		want:     []commerce.NewCustomDiscount{discount("a"), discountOf("b", numberedID(7))},
		requests: "cart add cart", counts: "missing 2",
		outcome: commerce.OutcomeRejected, matches: []error{commerce.ErrCartItemNotFound}, isFinal: true,
	},
	{
		name: "all or nothing, one is there", before: place(placed("a", -1000)),
		opts:     commerce.EnsureCustomDiscountsOptions{AllOrNothing: true},
		requests: "cart add cart", cart: both, counts: "discounts 2, added 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "limit reached", before: place(placed("x", -1), placed("y", -1), placed("z", -1), placed("v", -1)),
		requests: "cart add cart", cart: []string{"a -1000", "v -1", "x -1", "y -1", "z -1"},
		counts: "discounts 1, added 1, missing 1", outcome: commerce.OutcomePartial, reason: "discount_limit", isFinal: true,
	},
	{
		name: "the cart is read in part",
		faults: []commercetest.Fault{{
			Operation: opCart, Status: 200, Body: `{"data":{"id":"` + firstCartID + `"}}`, Times: 2,
		}},
		requests: "cart items cart items", counts: "nil", outcome: commerce.OutcomeNotSent, reason: "bad_response",
	},
	{
		name:     "a delete has no response, must not wait",
		before:   place(placed("a", -1000), placed("b", -1000), placed("c", -1)),
		opts:     commerce.EnsureCustomDiscountsOptions{Prune: true, Settle: -1},
		faults:   []commercetest.Fault{{Operation: commercetest.OpDeleteDiscount, Status: 504, Times: -1}},
		requests: "cart delete-discount delete-discount cart", cart: []string{"a -1000", "b -1000", "c -1"},
		counts: "discounts 2, different 1, in doubt 1", outcome: commerce.OutcomeUnknown,
	},
	{
		name: "a delete has no response, and then a 404", before: place(placed("a", -1000), placed("a", -1000)),
		want: discounts("a"), opts: commerce.EnsureCustomDiscountsOptions{Update: true},
		faults: []commercetest.Fault{
			{Operation: commercetest.OpDeleteDiscount, Cut: true},
			{Operation: commercetest.OpDeleteDiscount, Status: 404, Body: refusal, Times: -1},
		},
		requests: "cart delete-discount delete-discount cart cart delete-discount cart", takes: 2 * second,
		cart: []string{"a -1000", "a -1000"}, counts: "discounts 1, different 1, in doubt 1",
		outcome: commerce.OutcomeUnknown,
	},
	{
		name: "a delete is refused", before: place(forItem(placed("a", -1000))),
		opts:     commerce.EnsureCustomDiscountsOptions{Update: true},
		faults:   []commercetest.Fault{{Operation: commercetest.OpDeleteDiscount, Status: 403, Times: -1}},
		requests: "cart delete-discount add cart", cart: []string{"a -1000 item", "b -1000"},
		counts: "discounts 1, added 1, missing 1, different 1", outcome: commerce.OutcomePartial,
		matches: []error{commerce.ErrForbidden}, differs: []error{commerce.ErrDifferent},
	},
	{
		name: "an update is applied, response lost", before: place(placed("a", -1), placed("b", -1000)),
		opts:     commerce.EnsureCustomDiscountsOptions{Update: true},
		faults:   []commercetest.Fault{{Operation: commercetest.OpUpdateDiscount, Apply: true, Status: 504}},
		requests: "cart update-discount cart", cart: both, counts: "discounts 2, updated 1",
		outcome: commerce.OutcomeApplied, takes: 2 * second,
	},
}

// The cart has other discounts.
var ensureChanges = []ensureScenario{
	{
		name: "different amount, the others are added", before: place(placed("a", -1)),
		requests: "cart add cart", cart: []string{"a -1", "b -1000"}, counts: "discounts 2, added 1, different 1",
		outcome: commerce.OutcomePartial, matches: []error{commerce.ErrDifferent}, isFinal: true,
	},
	{
		name: "the service rounds amounts", request: roundAmounts, requests: "cart add cart",
		cart: []string{"a -990", "b -990"}, counts: "discounts 2, added 2, different 2",
		outcome: commerce.OutcomePartial, matches: []error{commerce.ErrDifferent},
	},
	{
		name: "the service rounds amounts, update", request: roundAmounts,
		opts:     commerce.EnsureCustomDiscountsOptions{Update: true},
		requests: "cart add cart update-discount update-discount cart",
		cart:     []string{"a -990", "b -990"}, counts: "discounts 2, added 2, updated 2, different 2",
		outcome: commerce.OutcomePartial, matches: []error{commerce.ErrDifferent}, isFinal: true,
	},
	{
		name: "the service adds white space", request: addSpace, opts: commerce.EnsureCustomDiscountsOptions{Update: true},
		requests: "cart add cart", cart: both, counts: "discounts 2, added 2", outcome: commerce.OutcomeApplied,
	},
	{
		name: "the service removes white space around an external id", want: discounts("a "),
		request:  func(body string) string { return strings.ReplaceAll(body, `"a "`, `"a"`) },
		requests: "cart add cart", cart: []string{"a -1000"}, counts: "discounts 1, added 1",
		outcome: commerce.OutcomeApplied,
	},
	{
		name:   "unwanted, prune",
		before: place(placed("a", -1000), placed("b", -1000), forItem(placed("c", -1)), foreign(placed("d", -1))),
		opts:   commerce.EnsureCustomDiscountsOptions{Prune: true}, requests: "cart delete-discount cart",
		cart: []string{"a -1000", "b -1000", "d -1"}, counts: "discounts 2, deleted 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "nothing is wanted, prune", want: []commerce.NewCustomDiscount{},
		before:   place(placed("a", -1000), foreign(placed("b", -1))),
		opts:     commerce.EnsureCustomDiscountsOptions{Prune: true, Engines: []string{" engine "}},
		requests: "cart delete-discount cart", cart: []string{"b -1"}, counts: "deleted 1",
		outcome: commerce.OutcomeApplied,
	},
	{
		name: "dry run", before: place(placed("a", -1), placed("c", -1)),
		opts:     commerce.EnsureCustomDiscountsOptions{Update: true, Prune: true, DryRun: true},
		requests: "cart", cart: []string{"a -1", "c -1"},
		counts: "discounts 1, added 1, updated 1, deleted 1", outcome: commerce.OutcomeApplied,
	},
	{
		name: "dry run on a cart below 0", want: []commerce.NewCustomDiscount{amountOf(discount("a"), -20_000)},
		before:   place(placed("a", -20_000)),
		opts:     commerce.EnsureCustomDiscountsOptions{Update: true, NotBelowZero: true, DryRun: true},
		requests: "cart", cart: []string{"a -20000"}, counts: "discounts 1, updated 1, lowered 1",
		outcome: commerce.OutcomeApplied,
	},
}

func discountOf(externalID string, item uuid.UUID) commerce.NewCustomDiscount {
	d := discount(externalID)
	d.Item = &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: item}
	return d
}

// inBubble runs a test beside others, in a bubble of testing/synctest.
func inBubble(t *testing.T, name string, run func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, run)
	})
}

func TestEnsureCustomDiscounts(t *testing.T) {
	t.Parallel()
	for _, tt := range ensureScenarios() {
		inBubble(t, tt.name, tt.run)
	}
}

func (tt *ensureScenario) run(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	cartID := ""
	after := func(s *commercetest.Store, in commercetest.Request) {
		if tt.after != nil {
			tt.after(s, cartID, in)
		}
	}
	tt.store.DiscountsEnabled, tt.store.AfterRequest = !tt.disabled, after
	s := commercetest.New(t, tt.store)
	cartID = s.AddCart(commerce.CartItemRef{ID: uuid.MustParse(itemID)})
	if tt.before != nil {
		tt.before(s, cartID)
	}
	s.Inject(tt.faults...)
	want := tt.want
	if want == nil {
		want = discounts("a", "b")
	}
	e := editor{RoundTripper: s.Transport(), edit: tt.request, done: func(method string) {
		if method == tt.cancel {
			time.AfterFunc(tt.cancelAfter, cancel)
			synctest.Wait()
		}
	}}
	if before := s.Discounts(cartID); tt.respond != nil {
		e.respond = func(body string) string { return tt.editResponse(s.Discounts(cartID), before, body) }
	}
	opts := []commerce.Option{attempts(2), commerce.WithHTTPClient(&http.Client{Transport: e})}
	if tt.locker != nil {
		opts = append(opts, commerce.WithCartLocker(tt.locker))
	}
	start, carts := time.Now(), s.Client(opts...).Carts
	var result *commerce.CustomDiscountsResult
	var err error
	if n := 0; tt.choose == nil {
		result, err = carts.EnsureCustomDiscounts(ctx, cartID, want, &tt.opts)
	} else {
		choose := func(_ context.Context, c *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
			n++
			return tt.choose(c, n)
		}
		tt.set.Engine = "engine"
		result, err = carts.SetCustomDiscounts(ctx, cartID, choose, &tt.set)
	}
	took := time.Since(start).Truncate(time.Second)
	tt.checkError(t, err)
	if got := operations(s); got != tt.requests {
		t.Errorf("requests = %q, want %q", got, tt.requests)
	}
	diff(t, "cart", onCart(s, cartID), tt.cart)
	if got := counts(result); got != tt.counts {
		t.Errorf("result has %q, want %q", got, tt.counts)
	}
	if err == nil && !tt.opts.DryRun {
		checkUpdated(t, result.Updated, s.Discounts(cartID))
	}
	if took != tt.takes {
		t.Errorf("took %v, want %v", took, tt.takes)
	}
}

// checkUpdated checks that the updated discounts have the amounts that they have on the cart.
func checkUpdated(t *testing.T, updated, cart []commerce.CustomDiscount) {
	t.Helper()
	for _, d := range updated {
		isSame := func(o commerce.CustomDiscount) bool { return o.ID == d.ID && o.Amount.Amount.Equal(d.Amount.Amount) }
		if !slices.ContainsFunc(cart, isSame) {
			t.Errorf("updated %+v, want what the cart has: %+v", d, cart)
		}
	}
}

func (tt *ensureScenario) checkError(t *testing.T, err error) {
	t.Helper()
	if got := commerce.OutcomeOf(err); got != tt.outcome {
		t.Errorf("outcome = %v (%v), want %v", got, err, tt.outcome)
	}
	checkIs(t, err, tt.matches, tt.differs)
	isUnknown, isPartial := errors.Is(err, commerce.ErrOutcomeUnknown), errors.Is(err, commerce.ErrPartialFailure)
	if isUnknown != (tt.outcome == commerce.OutcomeUnknown) || isPartial != (tt.outcome == commerce.OutcomePartial) {
		t.Errorf("%v matches the sentinels of unknown %t and partial %t", err, isUnknown, isPartial)
	}
	if got := commerce.IsFinal(err); got != tt.isFinal {
		t.Errorf("IsFinal(%v) = %t, want %t", err, got, tt.isFinal)
	}
	if tt.reason != "" {
		diff(t, fmt.Sprintf("ReasonOf(%v)", err), commerce.ReasonOf(err), tt.reason)
		checkCause(t, documentedCauses(t), err)
	}
	op := "Carts.EnsureCustomDiscounts"
	if tt.choose != nil {
		op = "Carts.SetCustomDiscounts"
	}
	failed, ok := errors.AsType[*commerce.Error](err)
	if errors.Is(err, commerce.ErrServer) && failed.RequestID == "" {
		t.Errorf("%v has no request id of the service", err)
	}
	if ok && tt.choose != nil && strings.Contains(tt.counts, "in doubt") && failed.RetryAfter < 2*time.Second {
		t.Errorf("%v has RetryAfter %v, want at least 2s", err, failed.RetryAfter)
	}
	if tt.retryAfter > 0 && (!ok || failed.RetryAfter != tt.retryAfter) {
		t.Errorf("error %+v, want RetryAfter %v", failed, tt.retryAfter)
	}
	if err != nil && (!ok || failed.Op != op) {
		t.Errorf("error = %#v, want an *Error of the operation", err)
	}
	if slices.Contains(tt.matches, commerce.ErrCartItemNotFound) && (!ok || len(failed.Errors) == 0) {
		t.Errorf("error %v has none of the service's errors", err)
	}
}

// editResponse returns the body of the response to an add with other data.
func (tt *ensureScenario) editResponse(cart, before []commerce.CustomDiscount, body string) string {
	isOld := func(d commerce.CustomDiscount) bool {
		return slices.ContainsFunc(before, func(o commerce.CustomDiscount) bool { return o.ID == d.ID })
	}
	data := tt.respond(cart, slices.DeleteFunc(slices.Clone(cart), isOld))
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		return body
	}
	members["data"] = json.RawMessage(data)
	edited, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return string(edited)
}

// editor edits the bodies of writes on their way to a store, and those of the responses to POSTs,
// and to reads of a cart. Fields may be nil.
type editor struct {
	http.RoundTripper
	edit, respond, show func(body string) string
	done                func(method string) // a response was read
}

func (e editor) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil && req.Method != http.MethodGet && e.edit != nil {
		text, err := readAll(req.Body)
		if err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		text = e.edit(text)
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	}
	resp, err := e.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	var edit func(body string) string
	switch {
	case req.Method == http.MethodPost:
		edit = e.respond
	case req.Method == http.MethodGet && !strings.HasSuffix(req.URL.Path, "/items"):
		edit = e.show
	}
	if edit != nil {
		text, err := readAll(resp.Body)
		if err != nil {
			return nil, err
		}
		resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(edit(text))), -1
	}
	if e.done != nil {
		resp.Body = closer{resp.Body, func() { e.done(req.Method) }}
	}
	return resp, nil
}

func readAll(body io.ReadCloser) (string, error) {
	b, err := io.ReadAll(body)
	return string(b), errors.Join(err, body.Close())
}

// closer calls done when it is closed.
type closer struct {
	io.ReadCloser
	done func()
}

func (c closer) Close() error {
	c.done()
	return c.ReadCloser.Close()
}

func TestEnsureCustomDiscounts_invalid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		want []commerce.NewCustomDiscount
		opts commerce.EnsureCustomDiscountsOptions
		bad  []string
	}{
		{name: "tab", want: discounts("a\tb"), bad: []string{"external_id"}},
		{name: "line feed at the end", want: discounts("a\n"), bad: []string{"external_id"}},
		{name: "byte order mark", want: discounts("\ufeffa"), bad: []string{"external_id"}},
		{name: "control character of Unicode", want: discounts("a\u0085"), bad: []string{"external_id"}},
		{
			name: "fraction", bad: []string{"amount"}, opts: commerce.EnsureCustomDiscountsOptions{Update: true},
			want: changed(func(d *commerce.NewCustomDiscount) { d.Amount = parseDecimal(t, "-0.5") }),
		},
		{
			name: "engine", bad: []string{"discount_engine"},
			want: changed(func(d *commerce.NewCustomDiscount) { d.DiscountEngine = "\x00" }),
		},
		{
			name: "engines", bad: []string{"engines"}, want: discounts("a"),
			opts: commerce.EnsureCustomDiscountsOptions{Prune: true, Engines: []string{"engine", "\ufeff"}},
		},
		{
			name: "engines without prune", bad: []string{"engines"},
			opts: commerce.EnsureCustomDiscountsOptions{Engines: []string{"engine"}},
		},
		{name: "nothing", bad: []string{"discounts"}},
		{name: "1,001", want: discounts(strings.Split(elements(1_001, "%d"), ",")...), bad: []string{"discounts"}},
		{
			name: "not below zero without update", bad: []string{"not below zero"}, want: discounts("a"),
			opts: commerce.EnsureCustomDiscountsOptions{NotBelowZero: true},
		},
	} {
		_, err := newStub(t).client(t).Carts.EnsureCustomDiscounts(t.Context(), cartID, tt.want, &tt.opts)
		diff(t, "invalid fields: "+tt.name, invalidFields(err), tt.bad)
	}
	s := newStub(t, respond(201, `{"data":[{"id":"`+itemID+`","external_id":"a\tb","discount_engine":"engine"}]}`))
	if _, err := s.client(t).Carts.AddCustomDiscounts(t.Context(), cartID, discounts("a\tb"), nil); err != nil {
		t.Errorf("add: error = %v, want none", err)
	}
}

// The caller may change what it passed while the call runs, and what it got afterwards.
func TestEnsureCustomDiscounts_copies(t *testing.T) {
	t.Parallel()
	s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	cartID := s.AddCart(commerce.CartItemRef{ID: uuid.MustParse(itemID)})
	s.AddDiscount(cartID, foreign(placed("unwanted", -1)))
	want := []commerce.NewCustomDiscount{discountOf("a", uuid.MustParse(itemID))}
	opts := &commerce.EnsureCustomDiscountsOptions{Prune: true, Engines: []string{"unused"}}
	change := func(body string) string {
		opts.Engines[0], want[0].ExternalID, want[0].Item.ID = "other", "changed", uuid.UUID{}
		return body
	}
	c := s.Client(commerce.WithHTTPClient(&http.Client{Transport: editor{RoundTripper: s.Transport(), edit: change}}))
	result, err := c.Carts.EnsureCustomDiscounts(t.Context(), cartID, want, opts)
	if err != nil || len(result.Discounts) != 1 || result.Discounts[0].Item == result.Added[0].Item {
		t.Errorf("got %s, error %v, want one discount with its own item", counts(result), err)
	}
	diff(t, "cart", onCart(s, cartID), []string{"a -1000 item", "unwanted -1"})
}

// thenCall is a call with Then.
type thenCall struct {
	name   string
	offer  int64 // what the shop takes off; 0: nothing
	others []commerce.CustomDiscount
	show   func(object) // changes what the cart shows
	cartID string       // of a cart that does not exist; "": one that costs 1000
	dryRun bool
	fail   error // of want
	want   bool  // Then is called
}

// Then is called once, with the result of a call that would return nil, after the end of the call
// for the observer. Its error is returned as it is.
func TestSetCustomDiscounts_then(t *testing.T) {
	t.Parallel()
	declined := errors.New("declined")
	for _, tt := range []thenCall{
		{name: "with a discount", offer: -100, want: true},
		{name: "nothing to write", want: true},
		{name: "a dry run", offer: -100, dryRun: true},
		{name: "an empty cart", offer: -100, cartID: "unknown"},
		{name: "discounts of others take more", others: []commerce.CustomDiscount{foreign(placed("x", -2000))}},
		{name: "a price below 0", show: func(cart object) {
			setAmount("without_discount", -100)(cart)
			setAmount("without_tax", -100)(cart)
		}},
		{name: "want fails", fail: declined},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
			cartID := cmp.Or(tt.cartID, addCart(t, s, at(1000), tt.others))
			observer, calls := &observations{}, 0
			c, err := showing(s, tt.show).With(commerce.WithObserver(observer))
			if err != nil {
				t.Fatal(err)
			}
			opts := &commerce.SetCustomDiscountsOptions{Engine: "engine", DryRun: tt.dryRun}
			opts.Then = func(_ context.Context, r *commerce.CustomDiscountsResult) error {
				calls++
				if end, ok := observer.list[len(observer.list)-1].(commerce.CallResult); !ok || end.Error != "" {
					t.Errorf("before Then, the observer was told %+v last, want the end of a call without an error", end)
				}
				if total, err := r.Cart.Total(); err != nil || !total.Amount.Equal(commerce.NewDecimal(1000+tt.offer)) {
					t.Errorf("the total is %v, %v, want %d", total, err, 1000+tt.offer)
				}
				return declined
			}
			result, err := c.Carts.SetCustomDiscounts(t.Context(), cartID,
				func(context.Context, *commerce.Cart) (list []commerce.NewCustomDiscount, _ error) {
					if tt.offer != 0 {
						list = append(list, offCart("a", tt.offer))
					}
					return list, tt.fail
				}, opts)
			isAsItIs := err == declined //nolint:errorlint // the error itself
			if isAsItIs != tt.want || (calls == 1) != tt.want || calls > 1 || result == nil {
				t.Errorf("Then was called %d times, result %v, error %v, want a call: %t", calls, result, err, tt.want)
			}
		})
	}
}

// Then has the turn and the lock: another call waits, a write to the cart is an invalid argument,
// and a lost lock ends the context. If it panics, both are free.
func TestSetCustomDiscounts_thenHasTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
		cartID, otherID := s.AddCart(commerce.CartItemRef{}), s.AddCart(commerce.CartItemRef{})
		locker := commercetest.NewLocker()
		c := s.Client(commerce.WithCartLocker(locker))
		set := func(id, code string, then func(context.Context, *commerce.CustomDiscountsResult) error) error {
			opts := &commerce.SetCustomDiscountsOptions{Engine: "engine", Then: then}
			want := func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
				return discounts(code), nil
			}
			_, err := c.Carts.SetCustomDiscounts(t.Context(), id, want, opts)
			return err
		}
		var paid []commerce.CustomDiscount
		var tab sync.WaitGroup
		err := set(cartID, "a", func(ctx context.Context, _ *commerce.CustomDiscountsResult) error {
			tab.Go(func() {
				if err := set(cartID, "b", nil); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(time.Second) // of the bubble: the other tab could write
			paid = s.Discounts(cartID)
			_, err := c.Carts.EnsureCustomDiscounts(ctx, cartID, discounts("c"), nil)
			diff(t, "a write to the cart in Then", invalidFields(err), []string{"context"})
			_, err = c.Carts.EnsureCustomDiscounts(ctx, otherID, discounts("c"), nil)
			_, errDo := c.Do(ctx, http.MethodGet, []string{"v2", "carts", cartID}, nil, nil, nil)
			return errors.Join(err, errDo)
		})
		tab.Wait()
		if after := s.Discounts(cartID); err != nil || paid[0].ExternalID != "a" || after[0].ExternalID != "b" {
			t.Errorf("error %v; in Then the cart had %v, after the other tab %v, want a, then b", err, paid, after)
		}
		err = set(cartID, "a", func(ctx context.Context, _ *commerce.CustomDiscountsResult) error {
			locker.Lose("commerce/store.example/carts/" + cartID)
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if !errors.Is(err, commerce.ErrLock) {
			t.Errorf("the lock is lost: error %v, want ErrLock", err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = set(cartID, "a", func(context.Context, *commerce.CustomDiscountsResult) error { panic("test") })
		}()
		if err := set(cartID, "b", nil); err != nil {
			t.Errorf("after a panic: %v", err)
		}
	})
}
