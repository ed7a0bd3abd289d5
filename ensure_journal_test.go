package commerce_test

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// asData returns discounts as the data of a response.
func asData(discounts []commerce.CustomDiscount) string {
	data, err := json.Marshal(discounts)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// without returns a response that lists the added discounts from the last to the first, without
// some members.
func without(members ...string) func(all, added []commerce.CustomDiscount) string {
	return func(_, added []commerce.CustomDiscount) string {
		slices.Reverse(added)
		for i := range added {
			if slices.Contains(members, "external_id") {
				added[i].ExternalID = ""
			}
			if slices.Contains(members, "discount_engine") {
				added[i].DiscountEngine = ""
			}
		}
		return asData(added)
	}
}

func wholeCart(all, _ []commerce.CustomDiscount) string { return asData(all) }

func lowerCase(body string) string {
	return strings.NewReplacer("Code-A", "code-a", "Code-B", "code-b").Replace(body)
}

func amountOf(d commerce.NewCustomDiscount, amount int64) commerce.NewCustomDiscount {
	d.Amount = commerce.NewDecimal(amount)
	return d
}

// afterAdd adds a discount to the cart when the first add has arrived.
func afterAdd(d commerce.CustomDiscount) func(*commercetest.Store, string, commercetest.Request) {
	return func(s *commercetest.Store, cartID string, in commercetest.Request) {
		isThere := func(o commerce.CustomDiscount) bool { return o.DiscountEngine == d.DiscountEngine }
		if in.Operation == opAdd && !slices.ContainsFunc(s.Discounts(cartID), isThere) {
			s.AddDiscount(cartID, d)
		}
	}
}

func withoutEngine(d commerce.CustomDiscount) commerce.CustomDiscount {
	d.DiscountEngine = ""
	return d
}

// Discounts that appear, and the adds that they are credited to.
var ensureCredits = []ensureScenario{
	{
		name: "response without keys, in another order", respond: without("external_id", "discount_engine"),
		want:     []commerce.NewCustomDiscount{discount("a"), amountOf(discount("b"), -2)},
		requests: "cart add cart", cart: []string{"a -1000", "b -2"}, counts: "discounts 2, added 2",
		outcome: commerce.OutcomeApplied,
	},
	{
		name: "the service changes an external id, response without external ids", request: lowerCase,
		want: discounts("Code-A", "Code-B"), respond: without("external_id"),
		requests: "cart add cart", cart: []string{"code-a -1000", "code-b -1000"},
		counts: "added 2, missing 2, different 2", outcome: commerce.OutcomePartial, isFinal: true,
		matches: []error{commerce.ErrDifferent},
	},
	{
		name: "the service changes an external id to another wanted one", want: discounts("code-a", "Code-A"),
		request: lowerCase, requests: "cart add cart delete-discount cart", cart: []string{"code-a -1000"},
		counts:  "discounts 1, added 1, deleted 1, missing 1, different 1",
		outcome: commerce.OutcomePartial, matches: []error{commerce.ErrDifferent}, isFinal: true,
	},
	{
		name: "the service changes an external id, prune", want: discounts("Code-A"), request: lowerCase,
		opts:     commerce.EnsureCustomDiscountsOptions{Prune: true},
		requests: "cart add cart delete-discount cart", counts: "deleted 1, missing 1, different 1",
		outcome: commerce.OutcomePartial, matches: []error{commerce.ErrDifferent}, isFinal: true,
	},
	{
		name: "the service changes an external id, prune, the delete is refused", want: discounts("Code-A"),
		request: lowerCase, opts: commerce.EnsureCustomDiscountsOptions{Prune: true},
		faults:   []commercetest.Fault{{Operation: commercetest.OpDeleteDiscount, Status: 403, Times: -1}},
		requests: "cart add cart delete-discount cart", cart: []string{"code-a -1000"},
		counts: "added 1, missing 1, different 1", outcome: commerce.OutcomePartial,
		matches: []error{commerce.ErrDifferent, commerce.ErrForbidden},
	},
	{
		name: "the service changes an external id, response lost", want: discounts("Code-A"), request: lowerCase,
		faults:   []commercetest.Fault{{Operation: opAdd, Apply: true, Status: 504}},
		requests: "cart add cart", cart: []string{"code-a -1000"}, counts: "added 1, missing 1, different 1",
		outcome: commerce.OutcomePartial, matches: []error{commerce.ErrDifferent}, takes: 2 * second,
	},
	{
		name: "an equal discount without an engine appears", want: discounts("a"),
		after:    afterAdd(withoutEngine(placed("x", -1000))),
		faults:   []commercetest.Fault{{Operation: opAdd, Status: 504}},
		requests: "cart add cart add cart", cart: []string{"a -1000", "x -1000"},
		counts: "discounts 1, added 1, in doubt 1", outcome: commerce.OutcomeApplied, takes: 2 * second,
	},
	{
		name: "the response shows the discount, and a reason why it was refused", want: discounts("a"),
		faults: []commercetest.Fault{{Operation: opAdd, Status: 201, Body: `{"data":[{"type":"custom_discount",` +
			`"id":"` + discountID + `","amount":-1000,"description":"ten off","discount_code":"TEN",` +
			`"discount_engine":"engine"}],"errors":[{"status":422,"title":"Limit Reached"}]}`}},
		requests: "cart add cart", counts: "missing 1, in doubt 1", outcome: commerce.OutcomeUnknown, takes: 2 * second,
	},
	{
		name: "an error in data", faults: []commercetest.Fault{{
			Operation: opAdd, Status: 201, Body: `{"data":[{"external_id":"b","error":"Discount limit"},` +
				`{"type":"custom_discount","id":"` + discountID + `","external_id":"a","discount_engine":"engine"}]}`,
		}},
		requests: "cart add cart cart add cart", cart: []string{"a -1000"},
		counts:  "discounts 1, added 1, missing 1, in doubt 1",
		outcome: commerce.OutcomeUnknown, matches: []error{commerce.ErrDiscountLimit}, takes: 2 * second,
	},
	{
		name: "only an error in data", want: discounts("a"),
		faults:   []commercetest.Fault{{Operation: opAdd, Status: 201, Body: `{"data":{"error":"Discount limit"}}`}},
		requests: "cart add cart", counts: "missing 1, in doubt 1",
		outcome: commerce.OutcomeUnknown, matches: []error{commerce.ErrDiscountLimit}, takes: 2 * second,
	},
	{
		name: "only an error in data, but added", want: discounts("a"),
		faults:   []commercetest.Fault{{Operation: opAdd, Apply: true, Status: 201, Body: `{"data":{"error":"no"}}`}},
		requests: "cart add cart", cart: []string{"a -1000"}, counts: "discounts 1, added 1",
		outcome: commerce.OutcomeApplied, takes: 2 * second,
	},
	{
		name:   "a deletion is refused, and the discount is gone",
		before: place(placed("a", -1000), placed("a", -1000), placed("b", -1000)),
		faults: []commercetest.Fault{{Operation: commercetest.OpDeleteDiscount, Status: 422}},
		after: func(s *commercetest.Store, cartID string, in commercetest.Request) {
			if in.Operation == commercetest.OpDeleteDiscount {
				s.RemoveDiscount(cartID, uuid.MustParse(path.Base(in.Path)))
			}
		},
		requests: "cart delete-discount cart", cart: both, counts: "discounts 2", outcome: commerce.OutcomeApplied,
	},
	{
		name:     "two deletions of a discount have no response",
		before:   place(placed("a", -1000), placed("a", -1000), placed("b", -1000)),
		faults:   []commercetest.Fault{{Operation: commercetest.OpDeleteDiscount, Cut: true, Times: -1}},
		requests: "cart" + strings.Repeat(" delete-discount delete-discount cart", 2),
		cart:     []string{"a -1000", "a -1000", "b -1000"}, counts: "discounts 2, different 1, in doubt 1",
		outcome: commerce.OutcomeUnknown, takes: 4 * second,
	},
	{
		name: "the response shows only a discount of another engine that appeared", want: discounts("a"),
		after: afterAdd(foreign(placed("x", -1))), respond: wholeCart,
		faults:   []commercetest.Fault{{Operation: opAdd, Status: 201, Body: "{}", Times: 1}},
		requests: "cart add cart add cart", cart: []string{"a -1000", "x -1"},
		counts: "discounts 1, added 1, in doubt 1", outcome: commerce.OutcomeApplied, takes: 2 * second,
	},
	{
		name:     "the response shows the whole cart without external ids",
		respond:  func(all, _ []commerce.CustomDiscount) string { return without("external_id")(nil, all) },
		before:   place(placed("x", -1), foreign(placed("y", -1))),
		requests: "cart add cart", cart: []string{"a -1000", "b -1000", "x -1", "y -1"},
		counts: "discounts 2, added 2", outcome: commerce.OutcomeApplied,
	},
	{
		name: "refused, the response shows the whole cart without external ids", want: discounts("a"),
		respond:  func(all, _ []commerce.CustomDiscount) string { return without("external_id")(nil, all) },
		before:   place(placed("w", -1), placed("v", -1), placed("x", -1), placed("y", -1), placed("z", -1)),
		requests: "cart add cart", cart: []string{"v -1", "w -1", "x -1", "y -1", "z -1"}, counts: "missing 1",
		outcome: commerce.OutcomeRejected, matches: []error{commerce.ErrDiscountLimit}, isFinal: true,
	},
	{
		name: "500 with a part and a reason", want: discounts("a", "b"), faults: []commercetest.Fault{{
			Operation: opAdd, Status: 500, Body: `{"data":[{"type":"custom_discount","id":"` + itemID +
				`","external_id":"a","discount_engine":"engine"}],"errors":[{"title":"Gateway"}]}`,
		}},
		requests: "cart add cart add cart", cart: both, counts: "discounts 2, added 2, in doubt 2",
		outcome: commerce.OutcomeApplied, takes: 2 * second,
	},
}
