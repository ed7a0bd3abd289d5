package live_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// question is a request whose response the service's documentation leaves open, or describes in two
// ways. Names in braces stand for ids.
type question struct {
	name       string
	ask        string // method and path
	query      string // not encoded: name=value
	body       string
	want       string // status of the fake store, and the number of records if there are some
	wantSecond string // of the second generation, if it differs
}

const (
	listPath    = "GET /v2/subscriptions/subscriptions"
	discountsOf = "/custom-discounts"
	newAmount   = `{"data":{"type":"custom_discount","amount":-2}}`
)

// Those that may delete something come last.
var questions = []question{
	{
		name: "add to an empty cart", ask: "POST /v2/carts/{empty cart}" + discountsOf,
		body: `{"data":[` + discountJSON("live-empty", "-1") + `]}`, want: "422",
	},
	{
		name: "add to a cart without custom discounts", ask: "POST /v2/carts/{closed cart}" + discountsOf,
		body: `{"data":[` + discountJSON("live-closed", "-1") + `]}`, want: "400",
	},
	{
		name: "update with a fractional amount", ask: "PUT /v2/carts/{cart}" + discountsOf + "/{discount}",
		body: `{"data":{"type":"custom_discount","amount":-1.5}}`, want: "400",
	},
	{
		name: "update with the amount as an object", ask: "PUT /v2/carts/{cart}" + discountsOf + "/{discount}",
		body: `{"data":{"type":"custom_discount","amount":{"amount":-2,"currency":"USD"}}}`, want: "400",
	},
	{
		name: "update a missing discount", ask: "PUT /v2/carts/{cart}" + discountsOf + "/{missing}",
		body: newAmount, want: "404",
	},
	{
		name: "update a discount of the cart as one of an item",
		ask:  "PUT /v2/carts/{cart}/items/{item}" + discountsOf + "/{discount}", body: newAmount, want: "404",
	},
	{
		name: "add the same external id again", ask: "POST /v2/carts/{cart}" + discountsOf,
		body: `{"data":[` + discountJSON("live-cart", "-1") + `]}`, want: "201, 1 records",
	},
	{
		name: "add a fractional amount", ask: "POST /v2/carts/{other cart}" + discountsOf,
		body: `{"data":[` + discountJSON("live-fraction", "-1.5") + `]}`, want: "201, 1 records",
	},
	{
		name: "add one object instead of an array", ask: "POST /v2/carts/{other cart}" + discountsOf,
		body: `{"data":` + discountJSON("live-object", "-1") + `}`, want: "201",
	},
	{
		name: "add for a missing item, all or nothing", ask: "POST /v2/carts/{cart}" + discountsOf,
		body: `{"data":[` + discountJSON("live-refused", "-1", "{missing}") +
			`],"options":{"add_all_or_nothing":true}}`,
		want: "404",
	},
	{name: "delete a missing discount", ask: "DELETE /v2/carts/{cart}" + discountsOf + "/{missing}", want: "404"},
	{
		name: "delete a missing discount of an item",
		ask:  "DELETE /v2/carts/{cart}/items/{item}" + discountsOf + "/{missing}", want: "404",
	},
	{
		name: "delete a discount of the cart as one of an item",
		ask:  "DELETE /v2/carts/{cart}/items/{item}" + discountsOf + "/{discount}", want: "404",
	},
	{
		name: "delete a discount of an item as one of the cart",
		ask:  "DELETE /v2/carts/{cart}" + discountsOf + "/{discount of the item}", want: "404",
	},
	{name: "delete a missing item", ask: "DELETE /v2/carts/{cart}/items/{missing}", want: "404"},

	{
		name: "in, not quoted", ask: listPath, query: "filter=in(account_id,{account},{missing})",
		want: "200, 1 records",
	},
	{
		name: "in, quoted", ask: listPath, query: `filter=in(account_id,"{account}","{missing}")`,
		want: "200, 1 records",
	},
	{name: "a filter in capital letters", ask: listPath, query: "filter=EQ(account_id,{account})", want: "400"},
	{name: "a page of 0 records", ask: listPath, query: "page[limit]=0", want: "400"},
	{name: "a page of 101 records", ask: listPath, query: "page[limit]=101", want: "400"},
	{name: "the highest offset", ask: listPath, query: "page[offset]=10000", want: "200, 0 records"},
	{name: "an offset beyond the highest", ask: listPath, query: "page[offset]=10001", want: "400"},
	{
		name: "an include of the first generation", ask: listPath, query: "include=products",
		want: "200, 8 records", wantSecond: "400",
	},
	{
		name: "an include of the second generation", ask: listPath, query: "include=pricing_options",
		want: "400", wantSecond: "200, 8 records",
	},
}

// discountJSON returns the JSON of a discount, of an item if there is one.
func discountJSON(externalID, amount string, item ...string) string {
	text := `{"type":"custom_discount","external_id":"` + externalID + `","amount":` + amount +
		`,"discount_engine":"engine","description":"live-test","discount_code":"LIVE"`
	for _, item := range item {
		text += `,"relationships":{"item":{"data":{"type":"custom_item","id":"` + item + `"}}}`
	}
	return text + "}"
}

// TestLiveQuestions logs how the store responds to what the documentation leaves open.
func TestLiveQuestions(t *testing.T) {
	t.Parallel()
	ask(t, liveClient(t))
}

// The fake store responds as the table says, and no cart is left.
func TestQuestions_fakeStore(t *testing.T) {
	t.Parallel()
	for _, generation := range []commercetest.Generation{commercetest.FirstGeneration, commercetest.SecondGeneration} {
		store := commercetest.New(t, commercetest.Config{Generation: generation})
		store.Seed(8)
		t.Cleanup(func() { diff(t, "carts that are left", len(store.Carts()), 0) }) // it runs after those of ask
		for i, got := range ask(t, store.Client()) {
			want := questions[i].want
			if generation == commercetest.SecondGeneration {
				want = cmp.Or(questions[i].wantSecond, want)
			}
			diff(t, questions[i].name, got, want)
		}
	}
}

// ask asks all questions, and returns and logs the responses to them. The carts are removed when
// the test ends.
func ask(t *testing.T, c *commerce.Client) (responses []string) {
	t.Helper()
	ctx := liveContext(t)
	ids := newIDs(t, c)
	for _, q := range questions {
		method, path, _ := strings.Cut(q.ask, " /")
		elements := strings.Split(path, "/")
		for i := range elements {
			elements[i] = ids.Replace(elements[i])
		}
		query := url.Values{}
		if name, value, ok := strings.Cut(q.query, "="); ok {
			query.Set(name, ids.Replace(value))
		}
		var in any
		if q.body != "" {
			in = json.RawMessage(ids.Replace(q.body))
		}
		var body json.RawMessage
		resp, err := c.Do(ctx, method, elements, query, in, &body)
		response, texts := describeResponse(resp, body, err)
		t.Logf("%s: %s %s", q.name, response, texts)
		responses = append(responses, response)
	}
	return responses
}

// describeResponse returns the status of a response and the number of its records, if it has a
// list, and the service's texts about errors.
func describeResponse(resp *commerce.Response, body json.RawMessage, err error) (response, texts string) {
	if e, ok := errors.AsType[*commerce.Error](err); ok {
		return fmt.Sprint(e.StatusCode), fmt.Sprintf("%v %q", err, e.Details())
	} else if err != nil {
		return "no response", err.Error()
	}
	var list struct {
		Data   []json.RawMessage `json:"data"`
		Errors json.RawMessage   `json:"errors"`
	}
	_ = json.Unmarshal(body, &list) // what fits
	if response = fmt.Sprint(resp.StatusCode); list.Data != nil {
		response += fmt.Sprintf(", %d records", len(list.Data))
	}
	return response, string(list.Errors)
}

// newIDs makes the carts that the questions need, and returns what names the ids. An id that the
// store does not have is a new one.
func newIDs(t *testing.T, c *commerce.Client) *strings.Replacer {
	t.Helper()
	ctx := liveContext(t)
	cart, item := newCart(t, c, openCart)
	otherCart, _ := newCart(t, c, openCart)
	closedCart, _ := newCart(t, c, closedCart)
	account, cartDiscount, itemDiscount := uuid.New(), uuid.New(), uuid.New()
	result, err := c.Carts.AddCustomDiscounts(ctx, cart, discounts(item), nil)
	if err != nil {
		t.Logf("add discounts: %v", err)
		result = cmp.Or(result, &commerce.AddCustomDiscountsResult{})
	}
	for _, d := range result.Added {
		if d.Item == nil {
			cartDiscount = d.ID
		} else {
			itemDiscount = d.ID
		}
	}
	page, err := c.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{PageSize: 1})
	if err != nil {
		t.Logf("list one subscription: %v", err)
	} else if len(page.Subscriptions) > 0 {
		account = page.Subscriptions[0].Attributes.AccountID
	}
	return strings.NewReplacer("{cart}", cart, "{other cart}", otherCart, "{closed cart}", closedCart,
		"{empty cart}", createCart(t, c, openCart), "{item}", item.ID.String(), "{discount}", cartDiscount.String(),
		"{discount of the item}", itemDiscount.String(), "{account}", account.String(), "{missing}", uuid.NewString())
}
