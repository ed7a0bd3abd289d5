package commercetest_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// The errors of single discounts.
const (
	errNotPresent = `{"status":404,"title":"Custom discount not added to cart item.",` +
		`"detail":"Cart Item is not present in the cart.","meta":{"id":"` + absentItem + `"}}`
	errMismatch = `{"Status":404,"Title":"Custom discount not added to cart item.",` +
		`"Detail":"Mismatch between bulk custom discount type (custom_item) and cart item type (cart_item).",` +
		`"meta":{"id":"` + cartItem + `"}}`
	errCartFull  = `{"status":422,"title":"Limit Reached","detail":"Custom discount limit reached for this cart"}`
	errCartLimit = `{"status":422,"title":"Custom discount not added to cart",` +
		`"detail":"Cannot exceed custom discount limit of (1) at the cart level."}`
	errItemFull = `{"status":422,"title":"Limit Reached",` +
		`"detail":"Custom discount limit reached for this cart item","meta":{"id":"` + cartItem + `"}}`
	errNotEnabled = `{"status":400,"title":"Bad Request","detail":"Custom discounts not enabled for this cart"}`
	errEmptyCart  = `{"status":422,"title":"Cart is empty","detail":"Custom discounts cannot be added to an empty cart."}`
	errNoDiscount = `{"errors":[{"status":"404","title":"Not Found","detail":"There is no such custom discount"}]}`
)

// The discounts of the tests.
var (
	onCartA    = onCart("a")
	onCartB    = onCart("b")
	item       = discount{"i", "cart_item", cartItem}
	item2      = discount{"i2", "cart_item", cartItem}
	custom     = discount{"c", "custom_item", customItem}
	absent     = discount{"x", "cart_item", absentItem}
	mismatched = discount{"m", "custom_item", cartItem}
)

var (
	limitOne  = commercetest.Config{CartDiscountLimit: 1, ItemDiscountLimit: 1}
	status200 = commercetest.Config{AddStatus: 200}
	disabled  = commercetest.Config{CartDiscountLimit: -1} // counts more than DiscountsEnabled
)

var addDiscountsTests = []struct {
	name         string
	cfg          commercetest.Config
	before       []discount // added by a request before
	send         []discount
	allOrNothing bool
	status       int
	added        []discount // in data
	errs         []string
	noData       bool // the response has no data
}{
	{name: "on the cart", send: []discount{onCartA}, status: 201, added: []discount{onCartA}},
	{name: "on items", send: []discount{item, custom}, allOrNothing: true, status: 201, added: []discount{item, custom}},
	{name: "same external id twice", send: []discount{onCartA, onCartA}, status: 201, added: []discount{onCartA, onCartA}},
	{
		name: "partial", send: []discount{absent, onCartB, mismatched},
		status: 201, added: []discount{onCartB}, errs: []string{errNotPresent, errMismatch},
	},
	{
		name: "partial, all or nothing", send: []discount{onCartB, absent}, allOrNothing: true,
		status: 404, errs: []string{errNotPresent}, noData: true,
	},
	{name: "none", send: []discount{absent, absent}, status: 404, errs: []string{errNotPresent, errNotPresent}},
	{name: "mismatch", send: []discount{mismatched}, status: 404, errs: []string{errMismatch}},
	{
		name: "mismatch, all or nothing", send: []discount{onCartA, mismatched}, allOrNothing: true,
		status: 404, errs: []string{errMismatch}, noData: true,
	},
	{
		name: "cart is full", cfg: limitOne, before: []discount{onCartA}, send: []discount{onCartB},
		status: 422, errs: []string{errCartFull},
	},
	{
		name: "cart is full, all or nothing", cfg: limitOne, before: []discount{onCartA}, send: []discount{custom, onCartB},
		allOrNothing: true, status: 422, errs: []string{errCartFull}, noData: true,
	},
	{
		name: "batch exceeds the limit of the cart", cfg: limitOne, send: []discount{onCartA, onCartB},
		status: 201, added: []discount{onCartA}, errs: []string{errCartLimit},
	},
	{
		name: "batch exceeds the limit of the cart, all or nothing", cfg: limitOne, send: []discount{onCartA, onCartB},
		allOrNothing: true, status: 422, errs: []string{errCartLimit}, noData: true,
	},
	{
		name: "item is full", cfg: limitOne, before: []discount{item}, send: []discount{item2},
		status: 422, errs: []string{errItemFull},
	},
	{
		name: "batch exceeds the limit of an item", cfg: limitOne, send: []discount{item, item2},
		status: 201, added: []discount{item}, errs: []string{errItemFull},
	},
	{
		name: "cart and items have separate limits", cfg: limitOne, before: []discount{onCartA}, send: []discount{custom},
		status: 201, added: []discount{custom},
	},
	{
		name: "items accept none", cfg: commercetest.Config{ItemDiscountLimit: -1}, send: []discount{item},
		status: 422, errs: []string{errItemFull},
	},
	{name: "status 200", cfg: status200, send: []discount{onCartA}, status: 200, added: []discount{onCartA}},
	{
		name: "status 200, partial", cfg: status200, send: []discount{absent, onCartB},
		status: 200, added: []discount{onCartB}, errs: []string{errNotPresent},
	},
	{name: "status 200, none", cfg: status200, send: []discount{absent}, status: 404, errs: []string{errNotPresent}},
	{
		name: "not enabled", cfg: disabled, send: []discount{onCartA},
		status: 400, errs: []string{errNotEnabled}, noData: true,
	},
	{
		name: "not enabled, on an item", cfg: disabled, send: []discount{item}, allOrNothing: true,
		status: 400, errs: []string{errNotEnabled}, noData: true,
	},
}

func TestAddDiscounts(t *testing.T) {
	t.Parallel()
	for _, tt := range addDiscountsTests {
		var members, data, inCart []string
		for i, d := range tt.added {
			data = append(data, d.response(discountIDs[len(tt.before)+i]))
		}
		if !tt.noData {
			members = append(members, `"data":[`+strings.Join(data, ",")+`]`)
		}
		if tt.errs != nil {
			members = append(members, `"errors":[`+strings.Join(tt.errs, ",")+`]`)
		}
		if tt.added != nil {
			members = append(members, fmt.Sprintf(`"options":{"add_all_or_nothing":%t}`, tt.allOrNothing))
		}
		for _, d := range slices.Concat(tt.before, tt.added) {
			inCart = append(inCart, d.externalID)
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachSender(t, func(t *testing.T, send sendFunc) {
				store := newCart(t, tt.cfg)
				if tt.before != nil {
					wantEqual(t, "status of the request before", send(store, addRequest(tt.before...)).Status, 201)
				}
				resp := send(store, post(cartPath+"/custom-discounts", bulk(tt.allOrNothing, tt.send...)))
				wantJSON(t, resp, tt.status, `{`+strings.Join(members, ",")+`}`)
				wantEqual(t, "external ids in the cart", externalIDs(store.Discounts(cartID)), inCart)
			})
		})
	}
}

func externalIDs(discounts []commerce.CustomDiscount) (ids []string) {
	for _, d := range discounts {
		ids = append(ids, d.ExternalID)
	}
	return ids
}

func TestAddDiscounts_itemOfAnotherCart(t *testing.T) {
	t.Parallel()
	store := newCart(t, commercetest.Config{})
	store.AddCart(commerce.CartItemRef{ID: uuid.MustParse(absentItem)})
	wantJSON(t, send(t, store, addRequest(absent, onCartB)), 201,
		`{"data":[`+onCartB.response(discountIDs[0])+`],"errors":[`+errNotPresent+`],`+
			`"options":{"add_all_or_nothing":false}}`)
}

func TestAddDiscounts_defaultLimits(t *testing.T) {
	t.Parallel()
	store := newCart(t, commercetest.Config{})
	var batch []discount
	for i := range 6 {
		batch = append(batch, onCart(fmt.Sprint("cart ", i)), discount{fmt.Sprint("item ", i), "cart_item", cartItem})
	}
	wantEqual(t, "status", send(t, store, addRequest(batch...)).Status, 201)
	got := strings.Join(externalIDs(store.Discounts(cartID)), ",")
	wantEqual(t, "discounts of the cart", strings.Count(got, "cart"), 5)
	wantEqual(t, "discounts of the item", strings.Count(got, "item"), 5)
}

func TestAddDiscounts_emptyOrNotEnabled(t *testing.T) {
	t.Parallel()
	addItem := post("/v2/carts/new/items", `{"data":{"type":"cart_item","id":"p","quantity":1}}`)
	for _, tt := range []struct {
		name   string
		before string // a request
		cart   string
		status int
		want   string
	}{
		{name: "unknown cart", cart: "new", status: 422, want: errEmptyCart},
		{name: "last item removed", before: del(itemPath), cart: cartID, status: 422, want: errEmptyCart},
		{name: "cart of a request", before: addItem, cart: "new", status: 400, want: errNotEnabled},
		{
			name: "disabled", before: put(cartPath, `{"data":{"discount_settings":{"custom_discounts_enabled":false}}}`),
			cart: cartID, status: 400, want: errNotEnabled,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := commercetest.NewStore(commercetest.Config{})
			store.AddCart(commerce.CartItemRef{ID: uuid.MustParse(cartItem)})
			if tt.before != "" {
				send(t, store, tt.before)
			}
			for path, body := range map[string]string{
				"/custom-discounts":                        bulk(false, onCartA, onCartB),
				"/items/" + cartItem + "/custom-discounts": `{"data":` + validDiscount + `}`,
			} {
				wantJSON(t, send(t, store, post("/v2/carts/"+tt.cart+path, body)), tt.status, `{"errors":[`+tt.want+`]}`)
			}
			wantEqual(t, "discounts of the cart", len(store.Discounts(tt.cart)), 0)
		})
	}
}

// The data of a request and of its response may be one discount.
func TestAddDiscounts_object(t *testing.T) {
	t.Parallel()
	const itemDiscounts = "/custom-discounts"
	onItem := discount{"a", "cart_item", cartItem}
	onCustomItem := discount{"a", "custom_item", customItem}
	for _, tt := range []struct {
		name, path string
		before     []discount
		data       string
		status     int
		want       string
	}{
		{
			name: "on the cart", path: cartPath + "/custom-discounts", data: onCartA.request(),
			status: 201, want: `{"data":` + onCartA.response(firstID) + `}`,
		},
		{
			name: "on the cart, for an item", path: cartPath + "/custom-discounts", data: onItem.request(),
			status: 201, want: `{"data":` + onItem.response(firstID) + `}`,
		},
		{
			name: "on the cart, refused", path: cartPath + "/custom-discounts", data: absent.request(),
			status: 404, want: `{"errors":[` + errNotPresent + `]}`,
		},
		{
			name: "on an item", path: itemPath + itemDiscounts, data: onCartA.request(),
			status: 201, want: `{"data":` + onItem.response(firstID) + `}`,
		},
		{
			name: "on a custom item", path: cartPath + "/items/" + customItem + itemDiscounts, data: onItem.request(),
			status: 201, want: `{"data":` + onCustomItem.response(firstID) + `}`,
		},
		{
			name: "on an absent item", path: cartPath + "/items/" + absentItem + itemDiscounts, data: onCartA.request(),
			status: 404, want: `{"errors":[` + errNotPresent + `]}`,
		},
		{
			name: "on a full item", path: itemPath + itemDiscounts, before: []discount{item}, data: onCartA.request(),
			status: 422, want: `{"errors":[` + errItemFull + `]}`,
		},
		{
			name: "fraction on an item", path: itemPath + itemDiscounts,
			data: strings.Replace(onCartA.request(), "-1000", "-0.5", 1), status: 400,
			want: `{"errors":[{"status":400,"title":"Validation Error","detail":"data.amount must be a whole number"}]}`,
		},
		{
			name: "array on an item", path: itemPath + itemDiscounts, data: `[` + onCartA.request() + `]`, status: 400,
			want: `{"errors":[{"status":400,"title":"Validation Error","detail":"data must be an object"}]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachSender(t, func(t *testing.T, send sendFunc) {
				store := newCart(t, limitOne)
				if tt.before != nil {
					send(store, addRequest(tt.before...))
				}
				wantJSON(t, send(store, post(tt.path, `{"data":`+tt.data+`}`)), tt.status, tt.want)
			})
		})
	}
}

// The published schema of the body leaves out data.
func TestAddItemDiscount_withoutData(t *testing.T) {
	t.Parallel()
	store := newCart(t, commercetest.Config{})
	resp := send(t, store, post(itemPath+"/custom-discounts", onCartA.request()))
	wantJSON(t, resp, 422,
		`{"errors":[{"status":"422","title":"Unprocessable Entity","detail":"The data field is required"}]}`)
	wantEqual(t, "discounts of the cart", len(store.Discounts(cartID)), 0)
}

// An update may set a fraction if adds may.
func TestFractionalAmounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  commercetest.Config
		want int
		cart string // after it, see summary
	}{
		{name: "refused", want: 400, cart: "2 items: a=-1000"},
		{name: "allowed", cfg: commercetest.Config{FractionalAmounts: true}, want: 200, cart: "2 items: a=-0.5"},
	} {
		store := newCart(t, tt.cfg)
		send(t, store, addRequest(onCartA))
		resp := send(t, store, put(ofCart+firstID, `{"data":{"type":"custom_discount","amount":-0.5}}`))
		wantEqual(t, tt.name+": status", resp.Status, tt.want)
		wantEqual(t, tt.name+": cart", summary(t, store), tt.cart)
	}
}

// Paths and bodies of requests that change discounts, and discounts that they changed.
const (
	ofCart    = cartPath + "/custom-discounts/"
	ofItem    = itemPath + "/custom-discounts/"
	newAmount = `{"data":{"type":"custom_discount","amount":-500}}`
	newTexts  = `{"data":{"type":"custom_discount",` +
		`"description":"d","discount_code":"e","discount_engine":"f","external_id":"g"}}`
)

var (
	updatedAmount = strings.Replace(onCartA.response(firstID), `-1000,"currency":"USD","formatted":"-$10.00"`,
		`-500,"currency":"USD","formatted":"-$5.00"`, 1)
	updatedTexts = strings.NewReplacer("custom discount description", "d", "10 off cart", "e",
		"Custom Discount Engine", "f", `"i"`, `"g"`).Replace(item.response(secondID))
)

var changeDiscountsTests = []struct {
	name, raw string
	status    int
	want      string // data of the response
	problem   string // detail of its error
	cart      string // see summary; default: unchanged
}{
	{
		name: "amount", raw: put(ofCart+firstID, newAmount),
		status: 200, want: updatedAmount, cart: "a=-500 i=-1000 c=-1000",
	},
	{
		name: "texts", raw: put(ofItem+secondID, newTexts),
		status: 200, want: updatedTexts, cart: "a=-1000 g=-1000 c=-1000",
	},
	{name: "update of an unknown id", raw: put(ofCart+absentItem, newAmount), status: 404},
	{name: "update of no UUID", raw: put(ofCart+"x", newAmount), status: 404},
	{name: "update on the level of an item", raw: put(ofItem+firstID, newAmount), status: 404},
	{name: "update on the level of the cart", raw: put(ofCart+secondID, newAmount), status: 404},
	{
		name: "update without a type", raw: put(ofCart+firstID, `{"data":{"amount":-1}}`),
		status: 400, problem: "data.type" + textRequired,
	},
	{
		name: "update without data", raw: put(ofCart+firstID, `{}`),
		status: 400, problem: "data must be an object",
	},
	{
		name: "amount is an object", raw: put(ofCart+firstID, `{"data":{"type":"custom_discount","amount":{"amount":-1}}}`),
		status: 400, problem: "data.amount" + numberRequired,
	},
	{
		name: "text is null", raw: put(ofCart+firstID, `{"data":{"type":"custom_discount","description":null}}`),
		status: 400, problem: "data.description" + textRequired,
	},
	{name: "delete", raw: del(ofCart + firstID), status: 204, cart: "i=-1000 c=-1000"},
	{name: "delete of an item", raw: del(ofItem + secondID), status: 204, cart: "a=-1000 c=-1000"},
	{name: "delete of an unknown id", raw: del(ofCart + absentItem), status: 404},
	{name: "delete on the level of an item", raw: del(ofItem + firstID), status: 404},
	{
		name: "delete on an item that is no UUID", raw: del(cartPath + "/items/x/custom-discounts/" + firstID),
		status: 404,
	},
	{name: "delete on the level of the cart", raw: del(ofCart + secondID), status: 404},
	{
		name: "delete on another item", raw: del(cartPath + "/items/" + customItem + "/custom-discounts/" + secondID),
		status: 404,
	},
	{name: "delete all of the cart", raw: del(cartPath + "/custom-discounts"), status: 204, cart: "i=-1000 c=-1000"},
}

// Discounts are updated and deleted only by a path of their own level. The cart has
// the discounts a, of the cart, and i and c, of its items.
func TestChangeDiscounts(t *testing.T) {
	t.Parallel()
	for _, tt := range changeDiscountsTests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachSender(t, func(t *testing.T, send sendFunc) {
				store := newCart(t, commercetest.Config{})
				send(store, addRequest(onCartA, item, custom))
				switch resp := send(store, tt.raw); tt.status {
				case 200:
					wantJSON(t, resp, 200, `{"data":`+tt.want+`}`)
				case 204:
					wantNoContent(t, resp)
				case 404:
					wantJSON(t, resp, 404, errNoDiscount)
				default:
					wantJSON(t, resp, 400,
						`{"errors":[{"status":400,"title":"Validation Error","detail":"`+tt.problem+`"}]}`)
				}
				wantEqual(t, "cart", summary(t, store), "2 items: "+cmp.Or(tt.cart, "a=-1000 i=-1000 c=-1000"))
			})
		})
	}
}
