package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// sentBy returns a discount to add; item may be nil.
func sentBy(engine, externalID string, amount int64, item *commerce.CartItemRef) commerce.NewCustomDiscount {
	return commerce.NewCustomDiscount{
		Amount: commerce.NewDecimal(amount), Description: "d", DiscountCode: "c",
		DiscountEngine: engine, ExternalID: externalID, Item: item,
	}
}

// inCart returns a discount of a cart, with an id made of n.
func inCart(n byte, engine, externalID string, amount int64, item *commerce.CartItemRef) commerce.CustomDiscount {
	return commerce.CustomDiscount{
		ID: uuid.UUID{15: n}, Amount: commerce.Money{Amount: commerce.NewDecimal(amount)},
		DiscountEngine: engine, ExternalID: externalID, Item: item,
	}
}

// batch returns discounts with one external id in two engines, and one key twice.
func batch() []commerce.NewCustomDiscount {
	return []commerce.NewCustomDiscount{
		sentBy("e", "a", -100, nil),
		sentBy("e", "b", -200, &demoItem),
		sentBy("f", "a", -300, nil),
		sentBy("e", "b", -250, nil),
	}
}

// sortedLines returns a line for each discount, in sorted order.
func sortedLines[D any](list []D, line func(D) string) []string {
	lines := []string{}
	for _, d := range list {
		lines = append(lines, line(d))
	}
	slices.Sort(lines)
	return lines
}

func lineOf(d commerce.CustomDiscount) string {
	return fmt.Sprint(d.DiscountEngine, " ", d.ExternalID, " ", d.Amount.Amount, " ", itemOf(d.Item).ID)
}

func lineOfNew(d commerce.NewCustomDiscount) string {
	return fmt.Sprint(d.DiscountEngine, " ", d.ExternalID, " ", d.Amount, " ", itemOf(d.Item).ID)
}

// scene is a store with a cart, on which the program runs.
type scene struct {
	store *commercetest.Store
	cfg   config
	// transport to the store; nil: the store's own.
	transport http.RoundTripper
}

// newScene returns a scene with discounts in the cart.
func newScene(t *testing.T, limits commercetest.Config, held ...commerce.NewCustomDiscount) *scene {
	t.Helper()
	s := commercetest.NewStore(limits)
	sc := &scene{store: s, cfg: config{cart: s.AddCart(demoItem), settle: 2 * time.Second}}
	if len(held) > 0 {
		if _, err := s.Client().Carts.AddCustomDiscounts(t.Context(), sc.cfg.cart, held, nil); err != nil {
			t.Fatal(err)
		}
	}
	return sc
}

// run adds discounts. An attempt may take 5 s.
func (sc *scene) run(ctx context.Context, discounts []commerce.NewCustomDiscount) ended {
	opts := []commerce.Option{commerce.WithRetry(commerce.RetryPolicy{AttemptTimeout: 5 * time.Second})}
	if sc.transport != nil {
		opts = append(opts, commerce.WithHTTPClient(&http.Client{Transport: sc.transport}))
	}
	var stdout, stderr bytes.Buffer
	j := job{config: sc.cfg, discounts: discounts, stdout: &stdout, stderr: &stderr}
	code := j.addAndReport(ctx, sc.store.Client(opts...))
	return ended{code, stdout.String(), stderr.String()}
}

// holds checks that the cart holds each of the lists, once.
func (sc *scene) holds(t *testing.T, want ...[]commerce.NewCustomDiscount) {
	t.Helper()
	if diff := cmp.Diff(sortedLines(slices.Concat(want...), lineOfNew), sortedLines(sc.store.Discounts(sc.cfg.cart), lineOf)); diff != "" {
		t.Errorf("discounts in the cart (-want +got):\n%s", diff)
	}
}

// posts returns how often discounts were sent, not counting those of newScene.
func (sc *scene) posts() (n int) {
	for _, r := range sc.store.Requests() {
		if r.Method == http.MethodPost {
			n++
		}
	}
	return n
}

// lost is a way in which a response is lost.
type lost struct {
	name    string
	fault   commercetest.Fault
	applied bool
}

// ways returns all ways in which the outcome of a call is unknown or unreadable.
func ways() []lost {
	var list []lost
	add := func(applied bool, name string, f commercetest.Fault) {
		f.Operation = commercetest.OpAdd
		list = append(list, lost{fmt.Sprintf("%s, applied %t", name, applied), f, applied})
	}
	for _, apply := range []bool{true, false} {
		for _, status := range []int{101, 300, 302, 304, 408, 500, 501, 502, 503, 504, 599} {
			add(apply, fmt.Sprint("status ", status), commercetest.Fault{Apply: apply, Status: status})
		}
		add(apply, "gateway page", commercetest.Fault{Apply: apply, Status: 502, Body: "<html>"})
		add(apply, "error object", commercetest.Fault{Apply: apply, Status: 500, Body: `{"errors":[{"title":"Oops"}]}`})
		for _, body := range []string{"<html>", "null", "{}", "", "[]", `""`, `{"data":[]}`, `{"data":null}`, `{"data":[{}]}`, `{"data":[{"type":"cart"`, `{"errors":[]}`} {
			add(apply, fmt.Sprintf("201 with %q", body), commercetest.Fault{Apply: apply, Status: 201, Body: body})
		}
		add(apply, "204", commercetest.Fault{Apply: apply, Status: 204})
		add(apply, "cut", commercetest.Fault{Apply: apply, Cut: true})
		add(apply, "cut error page", commercetest.Fault{Apply: apply, Status: 502, Body: "<html>", Cut: true, CutAfter: 3})
		add(apply, "cut 201", commercetest.Fault{Apply: apply, Status: 201, Body: `{"data":[]}`, Cut: true, CutAfter: 3})
		add(apply, "too late", commercetest.Fault{Apply: apply, Delay: time.Minute})
		add(apply, "too late and cut", commercetest.Fault{Apply: apply, Delay: time.Minute, Cut: true})
	}
	for _, n := range []int{1, 2, 9, 10, 40, 100, 300, 600} {
		add(true, fmt.Sprintf("cut after %d bytes", n), commercetest.Fault{Cut: true, CutAfter: n})
	}
	add(true, "slow, and cut in the middle", commercetest.Fault{Apply: true, Delay: time.Second, Cut: true, CutAfter: 200})
	for _, body := range []string{"<html>", "null", "{}"} {
		add(true, fmt.Sprintf("response without an attempt, with %q", body), commercetest.Fault{Body: body})
	}
	return list
}

// Whatever happens to the response, each discount is applied exactly once, even if the
// cart held the same discount before.
func TestReconcile(t *testing.T) {
	t.Parallel()
	carts := map[string][]commerce.NewCustomDiscount{
		"empty cart":         nil,
		"one is there":       {sentBy("e", "a", -100, nil)},
		"duplicates there":   {sentBy("e", "b", -200, &demoItem), sentBy("e", "b", -200, &demoItem)},
		"another engine":     {sentBy("g", "a", -100, nil)},
		"the same elsewhere": {sentBy("e", "a", -100, &demoItem)},
	}
	for name, held := range carts {
		for _, way := range ways() {
			t.Run(name+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					sc := newScene(t, commercetest.Config{}, held...)
					before := sc.posts()
					sc.store.Inject(way.fault)
					got := sc.run(t.Context(), batch())
					if got.Code != exitOK || !strings.HasSuffix(got.Stdout, "\noutcome: all 4 added\n") {
						t.Errorf("code %d, stdout:\n%s\nstderr:\n%s", got.Code, got.Stdout, got.Stderr)
					}
					sc.holds(t, held, batch())
					want := map[bool]int{true: 1, false: 2}[way.applied]
					if n := sc.posts() - before; n != want {
						t.Errorf("sent %d times, want %d", n, want)
					}
				})
			})
		}
	}
}

// The response to the second call is lost too, in each combination of ways. If the third
// is also lost, the outcome depends on whether that call is applied.
func TestReconcileTwice(t *testing.T) {
	t.Parallel()
	const thrice = "cut, applied false"
	for _, first := range ways() {
		if first.applied {
			continue // there is no second call
		}
		t.Run(first.name, func(t *testing.T) {
			t.Parallel()
			for _, second := range ways() {
				synctest.Test(t, func(t *testing.T) {
					sc := newScene(t, commercetest.Config{})
					sc.store.Inject(first.fault, second.fault)
					if got := sc.run(t.Context(), batch()); got.Code != exitOK {
						t.Errorf("then %s: code %d, stderr:\n%s", second.name, got.Code, got.Stderr)
					}
					sc.holds(t, batch())
				})
				if first.name != thrice {
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					sc := newScene(t, commercetest.Config{})
					sc.store.Inject(first.fault, first.fault, second.fault)
					want, held := exitOK, batch()
					if !second.applied {
						want, held = exitUnknown, nil
					}
					if got := sc.run(t.Context(), batch()); got.Code != want {
						t.Errorf("again, then %s: code %d, want %d, stderr:\n%s", second.name, got.Code, want, got.Stderr)
					}
					sc.holds(t, held)
					if n := sc.posts(); n != rounds {
						t.Errorf("sent %d times, want %d", n, rounds)
					}
				})
			}
		})
	}
}

// A response that is truncated anywhere does not prove anything.
func TestReconcileCutAnywhere(t *testing.T) {
	t.Parallel()
	whole := newScene(t, commercetest.Config{})
	if got := whole.run(t.Context(), batch()); got.Code != exitOK {
		t.Fatal(got)
	}
	for n := range 1100 { // above its length, the last byte is missing
		synctest.Test(t, func(t *testing.T) {
			sc := newScene(t, commercetest.Config{})
			sc.store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Cut: true, CutAfter: n})
			if got := sc.run(t.Context(), batch()); got.Code != exitOK || sc.posts() != 1 {
				t.Errorf("after %d bytes: sent %d times, %+v", n, sc.posts(), got)
			}
			sc.holds(t, batch())
		})
	}
}

// What the program prints.
func TestReconcileReport(t *testing.T) {
	t.Parallel()
	const (
		op       = "commerce: Carts.AddCustomDiscounts: "
		stranger = "11111111-2222-4333-8444-555555555555"
		timeout  = self + op + "504 Gateway Timeout (outcome unknown, attempts 1, request id commercetest-00000"
		lookIn2s = "the response was lost: reading the cart in 2s\n"
		missingC = "missing      c                            -300\n"
		unsure   = "outcome: unknown: some or all may have been added; look at the cart before you send them again\n"
	)
	absent := &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse(stranger)}
	a, b, c := sentBy("e", "a", -100, nil), sentBy("e", "b", -200, &demoItem), sentBy("e", "c", -300, nil)
	added := func(id string, amount string, n int) string {
		return fmt.Sprintf("added        %-20s %12s  id %s\n", id, amount, discountID(n))
	}
	gatewayTimeout := commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Status: 504}
	notApplied := commercetest.Fault{Operation: commercetest.OpAdd, Status: 504}
	respond := func(body string) commercetest.Fault {
		return commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Status: 201, Body: body}
	}
	cartIs := func(after int, body string) commercetest.Fault {
		return commercetest.Fault{After: after, Times: -1, Status: 200, Body: body}
	}
	firstOnly := `{"data":[{"type":"custom_discount","id":"` + discountID(1) + `","external_id":"a","discount_engine":"e","amount":-100}]}`
	tests := []struct {
		name           string
		limits         commercetest.Config
		held           []commerce.NewCustomDiscount
		faults         []commercetest.Fault
		options        commerce.AddCustomDiscountsOptions
		sent           []commerce.NewCustomDiscount
		code, posts    int
		stdout, stderr string
		inCart         []commerce.NewCustomDiscount
	}{
		{
			name: "in the cart after all", faults: []commercetest.Fault{gatewayTimeout}, sent: []commerce.NewCustomDiscount{a, b},
			code: exitOK, posts: 1, inCart: []commerce.NewCustomDiscount{a, b},
			stdout: added("a", "-$1.00", 1) + added("b", "-200 USD", 2) + "outcome: all 2 added\n",
			stderr: timeout + "2)\n" + lookIn2s + "the cart has 2 of 2\n",
		},
		{
			name: "sent again", faults: []commercetest.Fault{notApplied}, sent: []commerce.NewCustomDiscount{a, b},
			code: exitOK, posts: 2, inCart: []commerce.NewCustomDiscount{a, b},
			stdout: added("a", "-$1.00", 1) + added("b", "-200 USD", 2) + "outcome: all 2 added\n",
			stderr: timeout + "2)\n" + lookIn2s + "the cart has 0 of 2\nsending 2 again\n" +
				"the response says that they were added: reading the cart\nthe cart has 2 of 2\n",
		},
		{
			name: "the cart took a part, and is full", limits: commercetest.Config{CartDiscountLimit: 1},
			faults: []commercetest.Fault{gatewayTimeout}, sent: []commerce.NewCustomDiscount{a, b, c},
			code: exitPartial, posts: 2, inCart: []commerce.NewCustomDiscount{a, b},
			stdout: added("a", "-$1.00", 1) + added("b", "-200 USD", 2) +
				"rejected     Limit Reached: Custom discount limit reached for this cart\n" + missingC +
				"outcome: partial: 2 of 3 added; fix the reason, then send the others again\n",
			stderr: timeout + "2)\n" + lookIn2s + "the cart has 2 of 3\nsending 1 again\nrejected: reading the cart\nthe cart has 2 of 3\n" +
				self + op + "422 Unprocessable Entity: \"Limit Reached\" (outcome partial, attempts 1, request id commercetest-000004)\n",
		},
		{
			name: "the cart was full before", limits: commercetest.Config{CartDiscountLimit: 1}, held: []commerce.NewCustomDiscount{c},
			faults: []commercetest.Fault{gatewayTimeout}, sent: []commerce.NewCustomDiscount{a, c},
			code: exitFailed, posts: 2, inCart: []commerce.NewCustomDiscount{c},
			stdout: strings.Repeat("rejected     Limit Reached: Custom discount limit reached for this cart\n", 2) +
				"outcome: rejected: none added; fix the reason, then send them again\n",
			stderr: timeout + "3)\n" + lookIn2s + "the cart has 0 of 2\nsending 2 again\nrejected: reading the cart\nthe cart has 0 of 2\n" +
				self + op + "422 Unprocessable Entity: \"Limit Reached\", \"Limit Reached\" (outcome rejected, attempts 1, request id commercetest-000005)\n",
		},
		{
			name: "refused at once", limits: commercetest.Config{CartDiscountLimit: -1}, sent: []commerce.NewCustomDiscount{a},
			code: exitFailed, posts: 1,
			stdout: "rejected     Bad Request: Custom discounts not enabled for this cart\noutcome: rejected: none added; fix the reason, then send them again\n",
			stderr: self + op + "400 Bad Request: \"Bad Request\" (outcome rejected, attempts 1, request id commercetest-000002)\n",
		},
		{
			name: "partial: what is refused is not sent again", sent: []commerce.NewCustomDiscount{a, sentBy("e", "c", -300, absent)},
			code: exitPartial, posts: 1, inCart: []commerce.NewCustomDiscount{a},
			stdout: added("a", "-$1.00", 1) +
				"rejected     Custom discount not added to cart item: Cart Item is not present in the cart. (item " + stranger + ")\n" + missingC +
				"outcome: partial: 1 of 2 added; fix the reason, then send the others again\n",
			stderr: "the response does not prove that all were added: reading the cart\nthe cart has 1 of 2\n" +
				self + op + "201 Created: \"Custom discount not added to cart item.\" (outcome partial, attempts 1, request id commercetest-000002)\n",
		},
		{
			name: "lost, then partial: what is refused is not sent again", faults: []commercetest.Fault{notApplied}, sent: []commerce.NewCustomDiscount{a, sentBy("e", "c", -300, absent)},
			code: exitPartial, posts: 2, inCart: []commerce.NewCustomDiscount{a},
			stdout: added("a", "-$1.00", 1) +
				"rejected     Custom discount not added to cart item: Cart Item is not present in the cart. (item " + stranger + ")\n" + missingC +
				"outcome: partial: 1 of 2 added; fix the reason, then send the others again\n",
			stderr: timeout + "2)\n" + lookIn2s + "the cart has 0 of 2\nsending 2 again\nthe response does not prove that all were added: reading the cart\nthe cart has 1 of 2\n" +
				self + op + "201 Created: \"Custom discount not added to cart item.\" (outcome partial, attempts 1, request id commercetest-000004)\n",
		},
		{
			name: "partial: an unconfirmed one is in the cart after all", faults: []commercetest.Fault{respond(firstOnly)}, sent: []commerce.NewCustomDiscount{a, b},
			code: exitOK, posts: 1, inCart: []commerce.NewCustomDiscount{a, b},
			stdout: added("a", "-$1.00", 1) + added("b", "-200 USD", 2) + "outcome: all 2 added\n",
			stderr: "the response does not prove that all were added: reading the cart\nthe cart has 2 of 2\n",
		},
		{
			name: "partial: an unconfirmed one is missing, and no reason given", limits: commercetest.Config{ItemDiscountLimit: -1},
			faults: []commercetest.Fault{respond(firstOnly), respond(`{"data":[],"errors":[{"title":"No"}]}`)}, sent: []commerce.NewCustomDiscount{a, b},
			code: exitPartial, posts: 2, inCart: []commerce.NewCustomDiscount{a},
			stdout: added("a", "-$1.00", 1) + "rejected     No: -\nmissing      b                            -200\n" +
				"outcome: partial: 1 of 2 added; fix the reason, then send the others again\n",
			stderr: "the response does not prove that all were added: reading the cart\nthe cart has 1 of 2\nsending 1 again\nrejected: reading the cart\nthe cart has 1 of 2\n" +
				self + op + "201 Created: \"No\" (outcome partial, attempts 1, request id commercetest-000004)\n",
		},
		{
			name: "all or nothing", options: commerce.AddCustomDiscountsOptions{AllOrNothing: true}, faults: []commercetest.Fault{gatewayTimeout},
			sent: []commerce.NewCustomDiscount{a, sentBy("e", "c", -300, absent)}, code: exitFailed, posts: 2,
			stdout: "rejected     Custom discount not added to cart item: Cart Item is not present in the cart. (item " + stranger + ")\n" +
				"outcome: rejected: none added; fix the reason, then send them again\n",
			stderr: timeout + "2)\n" + lookIn2s + "the cart has 0 of 2\nsending 2 again\nrejected: reading the cart\nthe cart has 0 of 2\n" +
				self + op + "404 Not Found: \"Custom discount not added to cart item.\" (outcome rejected, attempts 1, request id commercetest-000004)\n",
		},
		{
			name: "amounts as numbers", faults: []commercetest.Fault{gatewayTimeout, cartIs(2, `{"data":{"id":"x"},"included":{"custom_discounts":[
				{"id":"`+discountID(1)+`","external_id":"a","discount_engine":"e","amount":-100}]}}`)},
			sent: []commerce.NewCustomDiscount{a}, code: exitOK, posts: 1, inCart: []commerce.NewCustomDiscount{a},
			stdout: added("a", "-100", 1) + "outcome: all 1 added\n",
			stderr: timeout + "2)\n" + lookIn2s + "the cart has 1 of 1\n",
		},
		{
			name: "the cart does not show what the response proves", faults: []commercetest.Fault{respond(firstOnly), cartIs(2, `{"data":{"id":"x"},"included":{"custom_discounts":[]}}`)},
			sent: []commerce.NewCustomDiscount{a, b}, code: exitUnknown, posts: 1, inCart: []commerce.NewCustomDiscount{a, b},
			stdout: "unconfirmed  a                            -100\nunconfirmed  b                            -200\n" + unsure,
			stderr: "the response does not prove that all were added: reading the cart\n" +
				self + op + "201 Created: the cart does not show what the service says it added (outcome unknown, attempts 1, request id commercetest-000002)\n",
		},
		{
			name: "the cart names no discount", faults: []commercetest.Fault{gatewayTimeout, cartIs(2, `{"data":{"id":"x"},"included":{"custom_discounts":[{"id":"`+discountID(1)+`","amount":-100}]}}`)},
			sent: []commerce.NewCustomDiscount{a}, code: exitUnknown, posts: 1, inCart: []commerce.NewCustomDiscount{a},
			stdout: "added        -                            -100  id " + discountID(1) + "\nunconfirmed  a                            -100\n" + unsure,
			stderr: timeout + "2)\n" + lookIn2s +
				self + op + "504 Gateway Timeout: the cart holds new discounts without an engine or an external id (outcome unknown, attempts 1, request id commercetest-000002)\n",
		},
		{
			name: "somebody removes the same", held: []commerce.NewCustomDiscount{a}, faults: []commercetest.Fault{gatewayTimeout, cartIs(2, `{"data":{"id":"x"},"included":{"custom_discounts":[]}}`)},
			sent: []commerce.NewCustomDiscount{a}, code: exitUnknown, posts: 1, inCart: []commerce.NewCustomDiscount{a, a},
			stdout: "unconfirmed  a                            -100\n" + unsure,
			stderr: timeout + "3)\n" + lookIn2s +
				self + op + "504 Gateway Timeout: somebody else removes these discounts from the cart (outcome unknown, attempts 1, request id commercetest-000003)\n",
		},
		{
			name: "lost three times", faults: []commercetest.Fault{notApplied, notApplied, notApplied}, sent: []commerce.NewCustomDiscount{a},
			code: exitUnknown, posts: 3,
			stdout: "unconfirmed  a                            -100\n" + unsure,
			stderr: timeout + "2)\n" + lookIn2s + "the cart has 0 of 1\nsending 1 again\n" +
				timeout + "4)\n" + lookIn2s + "the cart has 0 of 1\nsending 1 again\n" +
				timeout + "6)\n" + lookIn2s + "the cart has 0 of 1\n" +
				self + op + "504 Gateway Timeout: some are still missing after 3 calls (outcome unknown, attempts 1, request id commercetest-000006)\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sc := newScene(t, tt.limits, tt.held...)
				before := sc.posts()
				sc.store.Inject(tt.faults...)
				sc.cfg.options = tt.options
				want := ended{tt.code, "cart " + sc.cfg.cart + "\n" + tt.stdout, looking + tt.stderr}
				if diff := cmp.Diff(want, sc.run(t.Context(), tt.sent)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				sc.holds(t, tt.inCart)
				if n := sc.posts() - before; n != tt.posts {
					t.Errorf("sent %d times, want %d", n, tt.posts)
				}
			})
		})
	}
}

// unreadableCarts are faults of a read that a retry does not fix.
func unreadableCarts() map[string]commercetest.Fault {
	faults := map[string]commercetest.Fault{"cut": {Cut: true}, "cut in the middle": {Cut: true, CutAfter: 20}, "too late": {Delay: time.Hour}}
	for _, status := range []int{302, 401, 403, 404, 429, 500, 502, 503, 504} {
		faults[fmt.Sprint(status)] = commercetest.Fault{Status: status}
	}
	for _, body := range []string{
		"", "<html>", "null", "{}", "[]", `{"data":null}`, `{"data":{}}`, `{"data":[]}`, `{"included":{"custom_discounts":[]}}`,
		`{"data":{"id":"x"},"included":{"custom_discounts":{}}}`, `{"data":{"id":"x"},"included":{"custom_discounts":[3]}}`, `{"data":{"id":"x"},"included":3}`,
		`{"data":{"id":"x"}}`, `{"data":{"id":"x"},"included":{}}`, `{"data":{"id":"x"},"included":null}`,
		`{"data":{"id":"x","relationships":{"custom_discounts":{}}},"included":{}}`,
		`{"data":{"id":"x","meta":{"display_price":{"discount":{"amount":-5}}}},"included":{}}`,
	} {
		faults["200 "+body] = commercetest.Fault{Status: 200, Body: body}
	}
	return faults
}

func TestReconcileUnreadableCart(t *testing.T) {
	t.Parallel()
	for name, fault := range unreadableCarts() {
		fault.Times = -1
		check := func(t *testing.T, sc *scene, got ended, code, posts int, sentences ...string) {
			t.Helper()
			if n := sc.posts(); got.Code != code || n != posts {
				t.Errorf("code %d, sent %d times, want %d and %d", got.Code, n, code, posts)
			}
			for _, want := range sentences {
				if !strings.Contains(got.Stderr+got.Stdout, want) {
					t.Errorf("%q is not in\n%s\n%s", want, got.Stderr, got.Stdout)
				}
			}
		}
		t.Run("before the call/"+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sc := newScene(t, commercetest.Config{})
				sc.store.Inject(fault)
				got := sc.run(t.Context(), batch())
				check(t, sc, got, exitFailed, 0, "the cart can't be read: nothing is sent\n", "outcome: not sent: none added; you may send them again\n")
				sc.holds(t)
			})
		})
		t.Run("after the call/"+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sc := newScene(t, commercetest.Config{})
				fault := fault
				fault.After = 2
				sc.store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Status: 504}, fault)
				got := sc.run(t.Context(), batch())
				check(t, sc, got, exitUnknown, 1, ": the cart can't be read: ", "outcome unknown", "unconfirmed  a  ", "look at the cart before you send them again\n")
				sc.holds(t, batch())
			})
		})
		t.Run("after a partial response/"+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sc := newScene(t, commercetest.Config{CartDiscountLimit: 1})
				fault := fault
				fault.After = 2
				sc.store.Inject(fault)
				got := sc.run(t.Context(), batch()[:3])
				check(t, sc, got, exitUnknown, 1, ": the cart can't be read: ", "added        a  ", "unconfirmed  a  ", "rejected     Custom discount not added to cart: ")
				sc.holds(t, batch()[:2])
			})
		})
		t.Run("after the second call/"+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sc := newScene(t, commercetest.Config{})
				fault := fault
				fault.After = 4
				sc.store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Status: 504}, commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Cut: true}, fault)
				got := sc.run(t.Context(), batch())
				check(t, sc, got, exitUnknown, 2, "the cart has 0 of 4\nsending 4 again\n", ": the cart can't be read: ")
				sc.holds(t, batch())
			})
		})
	}
}

// The library retries a read, so a temporary fault has no effect.
func TestReconcilePassingReadFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sc := newScene(t, commercetest.Config{})
		sc.store.Inject(commercetest.Fault{Status: 503, Times: 2}, commercetest.Fault{Operation: commercetest.OpAdd, Cut: true}, commercetest.Fault{After: 4, Status: 200, Body: "<html>", Times: 2})
		if got := sc.run(t.Context(), batch()); got.Code != exitOK {
			t.Errorf("%+v", got)
		}
		sc.holds(t, batch())
	})
}

// The user interrupts the program while it waits.
func TestReconcileInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sc := newScene(t, commercetest.Config{})
		sc.cfg.settle = time.Hour
		sc.store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Status: 504})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		start := time.Now()
		got := sc.run(ctx, []commerce.NewCustomDiscount{sentBy("e", "a", -100, nil)})
		if took := time.Since(start); took != time.Minute {
			t.Errorf("it took %s", took)
		}
		const failed = self + "commerce: Carts.AddCustomDiscounts: 504 Gateway Timeout"
		want := ended{
			Code: exitUnknown,
			Stdout: "cart " + sc.cfg.cart + "\nunconfirmed  a                            -100\n" +
				"outcome: unknown: some or all may have been added; look at the cart before you send them again\n",
			Stderr: looking + failed + " (outcome unknown, attempts 1, request id commercetest-000002)\n" +
				"the response was lost: reading the cart in 1h0m0s\n" +
				failed + ": the cart can't be read: context canceled (outcome unknown, attempts 1, request id commercetest-000002)\n",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if n := len(sc.store.Requests()); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}

// late is a transport that loses the first request to add discounts, and delivers it to
// the store when arrive calls deliver.
type late struct {
	store  http.RoundTripper
	posts  atomic.Int32
	arrive func(post int32, deliver func())
}

func (l *late) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		return l.store.RoundTrip(r)
	}
	n := l.posts.Add(1)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	again := func() *http.Request {
		c := r.Clone(context.WithoutCancel(r.Context()))
		c.Body = io.NopCloser(bytes.NewReader(body))
		return c
	}
	l.arrive(n, func() {
		if resp, err := l.store.RoundTrip(again()); err == nil {
			_ = resp.Body.Close()
		}
	})
	if n == 1 {
		return nil, errors.New("gone")
	}
	return l.store.RoundTrip(again())
}

// The service applies a request after the client got an error. The program waits for
// that. If it takes longer, each discount may be applied twice, as documented. If the cart
// shows that, the program says so.
func TestReconcileLateRequest(t *testing.T) {
	t.Parallel()
	discounts := []commerce.NewCustomDiscount{sentBy("e", "a", -100, nil)}

	t.Run("within the pause", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			sc := newScene(t, commercetest.Config{})
			sc.transport = &late{store: sc.store.Transport(), arrive: func(post int32, deliver func()) {
				if post == 1 {
					time.AfterFunc(1900*time.Millisecond, deliver)
				}
			}}
			if got := sc.run(t.Context(), discounts); got.Code != exitOK {
				t.Errorf("%+v", got)
			}
			sc.holds(t, discounts)
		})
	})

	t.Run("after it", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			sc := newScene(t, commercetest.Config{})
			var first func()
			sc.transport = &late{store: sc.store.Transport(), arrive: func(post int32, deliver func()) {
				if post == 1 {
					first = deliver
				} else {
					first()
				}
			}}
			got := sc.run(t.Context(), discounts)
			const sentence = "the cart holds more of these discounts than were sent: somebody else adds them, or an earlier request was late"
			if got.Code != exitUnknown || !strings.Contains(got.Stderr, sentence) || strings.Count(got.Stdout, "added        a ") != 2 {
				t.Errorf("%+v", got)
			}
			sc.holds(t, discounts, discounts)
		})
	})
}

// The call reports all problems of the arguments, and sends nothing.
func TestReconcileInvalid(t *testing.T) {
	t.Parallel()
	sc := newScene(t, commercetest.Config{})
	sc.cfg.cart = "a/b"
	got := sc.run(t.Context(), []commerce.NewCustomDiscount{sentBy("e", "", -100, nil)})
	if got.Code != exitUsage || !strings.Contains(got.Stderr, "cart id ") || !strings.Contains(got.Stderr, "discount 0: external_id must not be empty\n") {
		t.Errorf("%+v", got)
	}
	if n := len(sc.store.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

// From the command line, over a connection.
func TestReconcileLive(t *testing.T) {
	t.Parallel()
	s, cart, vars := live(t)
	s.Inject(
		commercetest.Fault{Operation: commercetest.OpAdd, Cut: true},
		commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Status: 504},
	)
	got := start(t.Context(), vars, strings.NewReader("["+one("a", "")+","+one("b", demoItem.ID.String())+"]"), "-cart", cart, "-settle", "0")
	want := "cart " + cart + "\nadded        a                          -$1.00  id " + discountID(1) +
		"\nadded        b                        -100 USD  id " + discountID(2) + "\noutcome: all 2 added\n"
	if diff := cmp.Diff(want, got.Stdout); diff != "" || got.Code != exitOK {
		t.Errorf("code %d, stderr %s, stdout (-want +got):\n%s", got.Code, got.Stderr, diff)
	}
	if n := len(s.Discounts(cart)); n != 2 {
		t.Errorf("%d discounts in the cart, want 2", n)
	}
}

func TestGained(t *testing.T) {
	t.Parallel()
	a1, a2, a3 := inCart(1, "e", "a", -1, nil), inCart(2, "e", "a", -1, nil), inCart(3, "e", "a", -1, nil)
	f4 := inCart(4, "f", "a", -1, nil)
	none := inCart(0, "e", "a", -1, nil)
	type list = []commerce.CustomDiscount
	tests := []struct {
		name              string
		before, now, want list
	}{
		{"nothing", nil, nil, nil},
		{"one", nil, list{a1}, list{a1}},
		{"one more", list{a1}, list{a1, a2}, list{a2}},
		{"one more, in another order", list{a1, a2}, list{a3, a2, a1}, list{a3}},
		{"another engine", list{a1}, list{a1, f4}, list{f4}},
		{"as often as before", list{a1, f4}, list{f4, a1}, nil},
		{"one removed, another added", list{a1}, list{a2}, nil},
		{"less", list{a1, a2}, list{a1}, nil},
		{"without ids", list{none}, list{none, none, none}, list{none, none}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(sortedLines(tt.want, lineOfID), sortedLines(gained(tt.before, tt.now), lineOfID)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func lineOfID(d commerce.CustomDiscount) string { return d.ID.String() }

func TestCompare(t *testing.T) {
	t.Parallel()
	other := &commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: uuid.UUID{9}}
	a, b := sentBy("e", "a", -1, nil), sentBy("e", "b", -1, nil)
	a1, a2, b3 := inCart(1, "e", "a", -1, nil), inCart(2, "e", "a", -1, nil), inCart(3, "e", "b", -1, nil)
	type (
		sent = []commerce.NewCustomDiscount
		cart = []commerce.CustomDiscount
	)
	tests := []struct {
		name        string
		batch       sent
		before, now cart
		there       cart
		missing     sent
		fails       string
	}{
		{name: "all missing", batch: sent{a, b}, missing: sent{a, b}},
		{name: "all there", batch: sent{a, b}, now: cart{b3, a1}, there: cart{a1, b3}},
		{name: "one missing", batch: sent{a, b}, now: cart{b3}, there: cart{b3}, missing: sent{a}},
		{name: "there before", batch: sent{a, b}, before: cart{a1}, now: cart{a1, b3}, there: cart{b3}, missing: sent{a}},
		{name: "there before and again", batch: sent{a}, before: cart{a1}, now: cart{a2, a1}, there: cart{a2}},
		{name: "twice in the batch, once there", batch: sent{a, a}, now: cart{a1}, there: cart{a1}, missing: sent{a}},
		{name: "twice in the batch, twice there", batch: sent{a, a}, now: cart{a1, a2}, there: cart{a1, a2}},
		{
			name: "twice in the batch, the one with the other amount there", batch: sent{a, sentBy("e", "a", -5, nil)},
			now: cart{inCart(7, "e", "a", -5, nil)}, there: cart{inCart(7, "e", "a", -5, nil)}, missing: sent{a},
		},
		{
			name: "twice in the batch, the one on the other item there", batch: sent{sentBy("e", "a", -1, &demoItem), a, sentBy("e", "a", -1, other)},
			now:   cart{inCart(7, "e", "a", -1, other), inCart(8, "e", "a", -1, nil)},
			there: cart{inCart(8, "e", "a", -1, nil), inCart(7, "e", "a", -1, other)}, missing: sent{sentBy("e", "a", -1, &demoItem)},
		},
		{name: "the amount is not as sent", batch: sent{a}, now: cart{inCart(7, "e", "a", -9, other)}, there: cart{inCart(7, "e", "a", -9, other)}},
		{name: "another engine is another discount", batch: sent{a}, now: cart{inCart(7, "f", "a", -1, nil)}, missing: sent{a}},
		{name: "others come and go", batch: sent{a}, before: cart{b3}, now: cart{inCart(7, "g", "x", -1, nil), a1}, there: cart{a1}},
		{name: "too many", batch: sent{a}, now: cart{a1, a2}, there: cart{a1, a2}, fails: "the cart holds more of these discounts than were sent: somebody else adds them, or an earlier request was late"},
		{name: "removed", batch: sent{a}, before: cart{a1}, missing: sent{a}, fails: "somebody else removes these discounts from the cart"},
		{name: "without a key", batch: sent{a}, now: cart{inCart(7, "e", "", -1, nil)}, there: cart{inCart(7, "e", "", -1, nil)}, missing: sent{a}, fails: "the cart holds new discounts without an engine or an external id"},
		{name: "without a key, as before", batch: sent{a}, before: cart{inCart(7, "", "x", -1, nil)}, now: cart{inCart(7, "", "x", -1, nil), a1}, there: cart{a1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			there, missing, err := compare(tt.batch, tt.before, tt.now)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff([]any{tt.there, tt.missing, tt.fails}, []any{there, missing, text}, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSendable(t *testing.T) {
	t.Parallel()
	other := uuid.UUID{9}
	a, b, c := sentBy("e", "a", -1, nil), sentBy("e", "b", -1, &demoItem), sentBy("e", "c", -1, &commerce.CartItemRef{ID: other})
	on := func(id string) commerce.ErrorObject { return commerce.ErrorObject{Meta: commerce.ErrorMeta{ID: id}} }
	type (
		list    = []commerce.NewCustomDiscount
		reasons = []commerce.ErrorObject
	)
	tests := []struct {
		name                string
		outcome             commerce.Outcome
		last, missing, want list
		errors              reasons
	}{
		{"lost", commerce.OutcomeUnknown, list{a, b}, list{a, b}, list{a, b}, nil},
		{"unreadable", commerce.OutcomeUnreadable, list{a, b}, list{b}, list{b}, nil},
		{"refused before", commerce.OutcomeUnknown, list{b}, list{a, b}, list{b}, nil},
		{"one of two refused before", commerce.OutcomeUnknown, list{a}, list{a, a}, list{a}, nil},
		{"rejected", commerce.OutcomeRejected, list{a}, list{a}, nil, nil},
		{"not sent", commerce.OutcomeNotSent, list{a}, list{a}, nil, nil},
		{"added, the missing one refused before", commerce.OutcomeApplied, list{a}, list{b}, nil, nil},
		{"partial without a reason", commerce.OutcomePartial, list{a, b}, list{b}, list{b}, nil},
		{"partial with a reason", commerce.OutcomePartial, list{a, b}, list{b}, nil, reasons{on(demoItem.ID.String())}},
		{"the reason is about another item", commerce.OutcomePartial, list{a, b, c}, list{b, c}, list{c}, reasons{on(demoItem.ID.String())}},
		{"upper case", commerce.OutcomePartial, list{a, b, c}, list{b, c}, list{c}, reasons{on(strings.ToUpper(demoItem.ID.String()))}},
		{"the reason is about the cart", commerce.OutcomePartial, list{a, b, c}, list{b, c}, nil, reasons{on("")}},
		{"the reason is about something else", commerce.OutcomePartial, list{a, b, c}, list{b, c}, nil, reasons{on(demoItem.ID.String()), on("x")}},
		{"the reason is about what is there after all", commerce.OutcomePartial, list{a, b, c}, list{a, b}, nil, reasons{on(other.String())}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := sendable(tt.outcome, tt.last, tt.missing, &commerce.AddCustomDiscountsResult{Errors: tt.errors})
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestContradicts(t *testing.T) {
	t.Parallel()
	a, b := sentBy("e", "a", -1, nil), sentBy("e", "b", -1, nil)
	type list = []commerce.NewCustomDiscount
	tests := []struct {
		name    string
		missing list
		proved  map[string]int
		want    bool
	}{
		{"nothing proved", list{a, a, b}, nil, false},
		{"proved and there", list{b}, map[string]int{"a": 2}, false},
		{"proved and missing", list{a}, map[string]int{"a": 2}, true},
		{"one of two proved", list{a, b}, map[string]int{"a": 1, "b": 0}, false},
		{"another one proved", list{a}, map[string]int{"b": 1}, false},
	}
	for _, tt := range tests {
		if got := contradicts(list{a, a, b}, tt.missing, tt.proved); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}

// The adder returns errors of the library, with the outcome that is known in the end.
func TestAddResult(t *testing.T) {
	t.Parallel()
	discounts := []commerce.NewCustomDiscount{sentBy("e", "a", -100, nil), sentBy("e", "b", -200, nil)}
	half := `{"data":[{"id":"` + discountID(1) + `","external_id":"a","discount_engine":"e"}],"errors":[{"title":"Oops"}]}`
	tests := []struct {
		name    string
		limits  commercetest.Config
		faults  []commercetest.Fault
		matches error // nil: no error
		outcome commerce.Outcome
		added   int
	}{
		{"there after all", commercetest.Config{}, []commercetest.Fault{{Operation: commercetest.OpAdd, Apply: true, Status: 201, Body: half}}, nil, commerce.OutcomeApplied, 2},
		{"lost, then partial", commercetest.Config{CartDiscountLimit: 1}, []commercetest.Fault{{Operation: commercetest.OpAdd, Cut: true}}, commerce.ErrPartialFailure, commerce.OutcomePartial, 1},
		{"cart can't be read", commercetest.Config{}, []commercetest.Fault{{Operation: commercetest.OpAdd, Apply: true, Status: 201, Body: half}, {After: 2, Times: -1, Status: 403}}, commerce.ErrForbidden, commerce.OutcomeUnknown, 1},
		{"cart can't be read before", commercetest.Config{}, []commercetest.Fault{{Times: -1, Status: 403}}, commerce.ErrForbidden, commerce.OutcomeNotSent, 0},
		{"given up", commercetest.Config{}, []commercetest.Fault{{Operation: commercetest.OpAdd, Status: 504, Times: rounds}}, commerce.ErrOutcomeUnknown, commerce.OutcomeUnknown, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sc := newScene(t, tt.limits)
				sc.store.Inject(tt.faults...)
				a := adder{client: sc.store.Client(), cartID: sc.cfg.cart, logf: t.Logf}
				result, err := a.add(t.Context(), discounts)
				if !errors.Is(err, tt.matches) || commerce.OutcomeOf(err) != tt.outcome {
					t.Errorf("error %v, outcome %s", err, commerce.OutcomeOf(err))
				}
				if result == nil {
					result = &commerce.AddCustomDiscountsResult{}
				}
				if len(result.Added) != tt.added || err == nil && len(result.Errors) > 0 {
					t.Errorf("result %+v", result)
				}
			})
		})
	}
}
