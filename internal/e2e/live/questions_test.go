package live_test

import (
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

const (
	ofCart      = "carts/${cart}/custom-discounts"
	ofOtherCart = "carts/${other cart}/custom-discounts"
	ofItem      = "carts/${cart}/items/${item}/custom-discounts"
	listOf      = "GET subscriptions/subscriptions?"

	update = `{"data":{"type":"custom_discount","amount":`
	one    = `{"type":"custom_discount","external_id":"live-cart","amount":-1,"discount_engine":"engine",` +
		`"description":"live-test","discount_code":"LIVE"}`
	add = `{"data":[` + one + `]}`

	settings = `{"data":{"discount_settings":`
)

// questions are requests whose responses the service's documentation leaves open, or describes in
// two ways. Names in braces stand for ids. Requests that may delete something come last. How the
// fake store responds is in the tests of commercetest.
var questions = []struct{ name, ask, body string }{
	{name: "add to an empty cart", ask: "POST carts/${empty cart}/custom-discounts", body: add},
	{name: "add to a cart without custom discounts", ask: "POST carts/${closed cart}/custom-discounts", body: add},
	{name: "use rule promotions", ask: "PUT carts/${closed cart}", body: settings + `{"use_rule_promotions":true}}}`},
	{
		name: "enable custom discounts beside rule promotions", ask: "PUT carts/${closed cart}",
		body: settings + `{"custom_discounts_enabled":true}}}`,
	},
	{
		name: "enable custom discounts instead of rule promotions", ask: "PUT carts/${closed cart}",
		body: settings + `{"custom_discounts_enabled":true,"use_rule_promotions":false}}}`,
	},
	{name: "update with a fractional amount", ask: "PUT " + ofCart + "/${discount}", body: update + `-1.5}}`},
	{
		name: "update with the amount as an object", ask: "PUT " + ofCart + "/${discount}",
		body: update + `{"amount":-2,"currency":"USD"}}}`,
	},
	{name: "update a missing discount", ask: "PUT " + ofCart + "/${missing}", body: update + `-2}}`},
	{
		name: "update a discount of the cart as one of an item", ask: "PUT " + ofItem + "/${discount}",
		body: update + `-2}}`,
	},
	{name: "add the same external id again", ask: "POST " + ofCart, body: add},
	{name: "add one object instead of an array", ask: "POST " + ofOtherCart, body: `{"data":` + one + `}`},
	{
		name: "add a fractional amount", ask: "POST " + ofOtherCart,
		body: strings.NewReplacer("live-cart", "live-fraction", ":-1,", ":-1.5,").Replace(add),
	},
	{
		name: "add for a missing item, all or nothing", ask: "POST " + ofCart,
		body: `{"options":{"add_all_or_nothing":true},"data":[` + strings.TrimSuffix(one, "}") +
			`,"relationships":{"item":{"data":{"type":"custom_item","id":"${missing}"}}}}]}`,
	},
	{name: "delete a missing discount", ask: "DELETE " + ofCart + "/${missing}"},
	{name: "delete a missing discount of an item", ask: "DELETE " + ofItem + "/${missing}"},
	{name: "delete a discount of the cart as one of an item", ask: "DELETE " + ofItem + "/${discount}"},
	{name: "delete a discount of an item as one of the cart", ask: "DELETE " + ofCart + "/${discount of the item}"},
	{name: "delete a missing item", ask: "DELETE carts/${cart}/items/${missing}"},

	{name: "in, not quoted", ask: listOf + "filter=in(account_id,${account},${missing})"},
	{name: "in, quoted", ask: listOf + `filter=in(account_id,"${account}","${missing}")`},
	{name: "a filter in capital letters", ask: listOf + "filter=EQ(account_id,${account})"},
	{name: "a page of 0 records", ask: listOf + "page[limit]=0"},
	{name: "a page of 101 records", ask: listOf + "page[limit]=101"},
	{name: "the highest offset", ask: listOf + "page[offset]=10000"},
	{name: "an offset beyond the highest", ask: listOf + "page[offset]=10001"},
	{name: "an include of the first generation", ask: listOf + "include=products"},
	{name: "an include of the second generation", ask: listOf + "include=pricing_options"},
}

// liveQuestions logs how the store responds to what the documentation leaves open.
func liveQuestions(t *testing.T, c *commerce.Client) {
	ids := newIDs(t, c)
	expand := func(text string) string { return os.Expand(text, func(name string) string { return ids[name] }) }
	for _, q := range questions {
		method, target, _ := strings.Cut(expand(q.ask), " ")
		path, rawQuery, _ := strings.Cut(target, "?")
		query, _ := url.ParseQuery(rawQuery) // no error: see questions
		var in any
		if q.body != "" {
			in = json.RawMessage(expand(q.body))
		}
		var body struct{ Data, Errors json.RawMessage }
		resp, err := c.Do(t.Context(), method, strings.Split("v2/"+path, "/"), query, in, &body)
		if err != nil {
			t.Logf("%s: %v %q", q.name, err, details(err))
			continue
		}
		var records []json.RawMessage
		_ = json.Unmarshal(body.Data, &records) // none if it is an object
		t.Logf("%s: %d, %d records, errors %s", q.name, resp.StatusCode, len(records), body.Errors)
	}
}

// newIDs makes the carts that the questions need, and returns ids by name. An id that the store
// does not have is a new one.
func newIDs(t *testing.T, c *commerce.Client) map[string]string {
	t.Helper()
	cart, item := newCart(t, c, openCart)
	otherCart, _ := newCart(t, c, openCart)
	closedCart, _ := newCart(t, c, closedCart)
	ids := map[string]string{
		"cart": cart, "item": item.ID.String(), "other cart": otherCart, "closed cart": closedCart,
		"empty cart": createCart(t, c, openCart), "missing": uuid.NewString(), "account": uuid.NewString(),
		"discount": uuid.NewString(), "discount of the item": uuid.NewString(),
	}
	result, err := c.Carts.AddCustomDiscounts(t.Context(), cart, discounts(item), nil)
	if err != nil {
		t.Logf("there are no discounts: %v", err)
		result = &commerce.AddCustomDiscountsResult{}
	}
	for _, d := range result.Added {
		name := "discount"
		if d.Item != nil {
			name = "discount of the item"
		}
		ids[name] = d.ID.String()
	}
	page, err := c.Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{PageSize: 1})
	if err == nil && len(page.Subscriptions) > 0 {
		ids["account"] = page.Subscriptions[0].Attributes.AccountID.String()
	}
	return ids
}
