package commerce_test

import (
	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// confirmed is a fault that confirms discounts a and b, and adds none.
var confirmed = commercetest.Fault{Operation: opAdd, Status: 201, Body: `{"data":[` +
	`{"type":"custom_discount","id":"` + itemID + `","external_id":"a","discount_engine":"engine"},` +
	`{"type":"custom_discount","id":"` + numberedID(1).String() + `","external_id":"b","discount_engine":"engine"}]}`}

// Calls that end early, and what their errors match.
var ensureInterrupted = []ensureScenario{
	{
		name:   "confirmed, and the cart cannot be read",
		faults: []commercetest.Fault{{Operation: opCart, After: 1, Status: 403, Times: -1}},
		cart:   both, requests: "cart add cart", counts: "added 2, in doubt 2",
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
}
