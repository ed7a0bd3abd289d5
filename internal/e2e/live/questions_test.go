package live_test

// question is a request whose response the service's documentation leaves open, or describes
// in two ways. It may also be a step that others need. Names in braces stand for ids.
type question struct {
	name  string
	ask   string // method and path
	query string // not encoded: name=value
	body  string
	clear string // a cart whose own discounts are deleted first, so that no limit is reached
	gives []id
}

// id is a part of a response that later questions use.
type id struct {
	name   string // in braces
	member string // of the object that has the id: see find
	value  string
	is     string // the member that is the id; default: id
}

const listPath = "GET /v2/subscriptions/subscriptions"

// Those that may delete something come last.
var questions = []question{
	{name: "create a cart", ask: "POST /v2/carts", body: openCart, gives: cartAs("{cart}")},
	{name: "create another cart", ask: "POST /v2/carts", body: openCart, gives: cartAs("{other cart}")},
	{name: "create an empty cart", ask: "POST /v2/carts", body: openCart, gives: cartAs("{empty cart}")},
	{
		name: "create a cart without custom discounts", ask: "POST /v2/carts", body: closedCart,
		gives: cartAs("{closed cart}"),
	},
	{
		name: "add an item", ask: "POST /v2/carts/{cart}/items", body: cartItem,
		gives: []id{{name: "{item}", member: "type", value: "custom_item"}},
	},
	{name: "add an item to another cart", ask: "POST /v2/carts/{other cart}/items", body: cartItem},
	{
		name: "add an item to a cart without custom discounts", ask: "POST /v2/carts/{closed cart}/items",
		body: cartItem,
	},
	{
		name: "add a discount of the cart and one of an item", ask: "POST /v2/carts/{cart}/custom-discounts",
		body: `{"data":[` + discountJSON("live-cart", "-1") + "," + discountJSON("live-item", "-1", "{item}") + `]}`,
		gives: []id{
			{name: "{discount}", member: "external_id", value: "live-cart"},
			{name: "{discount of the item}", member: "external_id", value: "live-item"},
		},
	},
	{
		name: "list one subscription", ask: listPath, query: "page[limit]=1",
		gives: []id{{name: "{account}", member: "account_id", is: "account_id"}},
	},

	{
		name: "add to an empty cart", ask: "POST /v2/carts/{empty cart}/custom-discounts",
		body: `{"data":[` + discountJSON("live-empty", "-1") + `]}`,
	},
	{
		name: "add to a cart without custom discounts", ask: "POST /v2/carts/{closed cart}/custom-discounts",
		body: `{"data":[` + discountJSON("live-closed", "-1") + `]}`,
	},
	{
		name: "update with a fractional amount", ask: "PUT /v2/carts/{cart}/custom-discounts/{discount}",
		body: `{"data":{"type":"custom_discount","amount":-1.5}}`,
	},
	{
		name: "update with the amount as an object", ask: "PUT /v2/carts/{cart}/custom-discounts/{discount}",
		body: `{"data":{"type":"custom_discount","amount":{"amount":-2,"currency":"USD"}}}`,
	},
	{
		name: "update a missing discount", ask: "PUT /v2/carts/{cart}/custom-discounts/{missing}",
		body: `{"data":{"type":"custom_discount","amount":-2}}`,
	},
	{
		name: "update a discount of the cart as one of an item",
		ask:  "PUT /v2/carts/{cart}/items/{item}/custom-discounts/{discount}",
		body: `{"data":{"type":"custom_discount","amount":-2}}`,
	},
	{
		name: "add the same external id again", ask: "POST /v2/carts/{cart}/custom-discounts",
		body: `{"data":[` + discountJSON("live-cart", "-1") + `]}`,
	},
	{
		name: "add a fractional amount", ask: "POST /v2/carts/{other cart}/custom-discounts", clear: "{other cart}",
		body: `{"data":[` + discountJSON("live-fraction", "-1.5") + `]}`,
	},
	{
		name: "add one object instead of an array", ask: "POST /v2/carts/{other cart}/custom-discounts",
		clear: "{other cart}",
		body:  `{"data":` + discountJSON("live-object", "-1") + `}`,
	},
	{
		name: "add for a missing item, all or nothing", ask: "POST /v2/carts/{cart}/custom-discounts",
		body: `{"data":[` + discountJSON("live-refused", "-1", "{missing}") +
			`],"options":{"add_all_or_nothing":true}}`,
	},
	{name: "delete a missing discount", ask: "DELETE /v2/carts/{cart}/custom-discounts/{missing}"},
	{
		name: "delete a missing discount of an item",
		ask:  "DELETE /v2/carts/{cart}/items/{item}/custom-discounts/{missing}",
	},
	{
		name: "delete a discount of the cart as one of an item",
		ask:  "DELETE /v2/carts/{cart}/items/{item}/custom-discounts/{discount}",
	},
	{
		name: "delete a discount of an item as one of the cart",
		ask:  "DELETE /v2/carts/{cart}/custom-discounts/{discount of the item}",
	},
	{name: "delete a missing item", ask: "DELETE /v2/carts/{cart}/items/{missing}"},

	{name: "in, not quoted", ask: listPath, query: "filter=in(account_id,{account},{missing})"},
	{name: "in, quoted", ask: listPath, query: `filter=in(account_id,"{account}","{missing}")`},
	{name: "a filter in capital letters", ask: listPath, query: "filter=EQ(account_id,{account})"},
	{name: "a page of 0 records", ask: listPath, query: "page[limit]=0"},
	{name: "a page of 101 records", ask: listPath, query: "page[limit]=101"},
	{name: "the highest offset", ask: listPath, query: "page[offset]=10000"},
	{name: "an offset beyond the highest", ask: listPath, query: "page[offset]=10001"},
	{name: "an include of the first generation", ask: listPath, query: "include=products"},
	{name: "an include of the second generation", ask: listPath, query: "include=pricing_options"},
}

// cartAs returns how the response to the creation of a cart names the cart.
func cartAs(name string) []id { return []id{{name: name, member: "type", value: "cart"}} }

// discountJSON returns the JSON of a discount, of an item if there is one.
func discountJSON(externalID, amount string, item ...string) string {
	text := `{"type":"custom_discount","external_id":"` + externalID + `","amount":` + amount +
		`,"discount_engine":"engine","description":"live-test","discount_code":"LIVE"`
	for _, item := range item {
		text += `,"relationships":{"item":{"data":{"type":"custom_item","id":"` + item + `"}}}`
	}
	return text + "}"
}
