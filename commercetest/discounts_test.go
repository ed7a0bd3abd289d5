package commercetest_test

import (
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
	disabled  = commercetest.Config{CartDiscountLimit: -1}
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

// A cart without items accepts discounts for itself, not for the items of other carts.
func TestAddDiscounts_cartWithoutItems(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{})
	id := store.AddCart()
	store.AddCart(commerce.CartItemRef{ID: uuid.MustParse(absentItem)})
	body := bulk(false, discount{"a", "cart_item", absentItem}, onCart("b"))
	wantJSON(t, send(t, store, post("/v2/carts/"+id+"/custom-discounts", body)), 201,
		`{"data":[`+onCart("b").response(discountIDs[0])+`],"errors":[`+errNotPresent+`],`+
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
