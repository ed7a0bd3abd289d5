package commercetest_test

import (
	"fmt"
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

func TestAddDiscounts(t *testing.T) {
	t.Parallel()
	a, b := onCart("a"), onCart("b")
	item, item2 := discount{"i", "cart_item", cartItem}, discount{"i2", "cart_item", cartItem}
	custom := discount{"c", "custom_item", customItem}
	absent, mismatched := discount{"x", "cart_item", absentItem}, discount{"m", "custom_item", cartItem}

	limitOne := commercetest.Config{CartDiscountLimit: 1, ItemDiscountLimit: 1}
	status200 := commercetest.Config{AddStatus: 200}
	disabled := commercetest.Config{CartDiscountLimit: -1}
	type discounts = []discount
	type errs = []string
	for _, tt := range []struct {
		name         string
		cfg          commercetest.Config
		before       discounts // added by a request before
		send         discounts
		allOrNothing bool
		status       int
		added        discounts // in data
		errs         errs
		noData       bool // the response has no data
	}{
		{name: "on the cart", send: discounts{a}, status: 201, added: discounts{a}},
		{name: "on items", send: discounts{item, custom}, allOrNothing: true, status: 201, added: discounts{item, custom}},
		{name: "same external id twice", send: discounts{a, a}, status: 201, added: discounts{a, a}},
		{
			name: "partial", send: discounts{absent, b, mismatched},
			status: 201, added: discounts{b}, errs: errs{errNotPresent, errMismatch},
		},
		{
			name: "partial, all or nothing", send: discounts{b, absent}, allOrNothing: true,
			status: 404, errs: errs{errNotPresent}, noData: true,
		},
		{name: "none", send: discounts{absent, absent}, status: 404, errs: errs{errNotPresent, errNotPresent}},
		{name: "mismatch", send: discounts{mismatched}, status: 404, errs: errs{errMismatch}},
		{
			name: "mismatch, all or nothing", send: discounts{a, mismatched}, allOrNothing: true,
			status: 404, errs: errs{errMismatch}, noData: true,
		},
		{
			name: "cart is full", cfg: limitOne, before: discounts{a}, send: discounts{b},
			status: 422, errs: errs{errCartFull},
		},
		{
			name: "cart is full, all or nothing", cfg: limitOne, before: discounts{a}, send: discounts{custom, b},
			allOrNothing: true, status: 422, errs: errs{errCartFull}, noData: true,
		},
		{
			name: "batch exceeds the limit of the cart", cfg: limitOne, send: discounts{a, b},
			status: 201, added: discounts{a}, errs: errs{errCartLimit},
		},
		{
			name: "batch exceeds the limit of the cart, all or nothing", cfg: limitOne, send: discounts{a, b},
			allOrNothing: true, status: 422, errs: errs{errCartLimit}, noData: true,
		},
		{
			name: "item is full", cfg: limitOne, before: discounts{item}, send: discounts{item2},
			status: 422, errs: errs{errItemFull},
		},
		{
			name: "batch exceeds the limit of an item", cfg: limitOne, send: discounts{item, item2},
			status: 201, added: discounts{item}, errs: errs{errItemFull},
		},
		{
			name: "cart and items have separate limits", cfg: limitOne, before: discounts{a}, send: discounts{custom},
			status: 201, added: discounts{custom},
		},
		{
			name: "items accept none", cfg: commercetest.Config{ItemDiscountLimit: -1}, send: discounts{item},
			status: 422, errs: errs{errItemFull},
		},
		{name: "status 200", cfg: status200, send: discounts{a}, status: 200, added: discounts{a}},
		{
			name: "status 200, partial", cfg: status200, send: discounts{absent, b},
			status: 200, added: discounts{b}, errs: errs{errNotPresent},
		},
		{name: "status 200, none", cfg: status200, send: discounts{absent}, status: 404, errs: errs{errNotPresent}},
		{name: "not enabled", cfg: disabled, send: discounts{a}, status: 400, errs: errs{errNotEnabled}, noData: true},
		{
			name: "not enabled, on an item", cfg: disabled, send: discounts{item}, allOrNothing: true,
			status: 400, errs: errs{errNotEnabled}, noData: true,
		},
	} {
		var members, inCart []string
		var data []string
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
		for _, d := range append(tt.before, tt.added...) {
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
		`{"data":[`+onCart("b").response(discountIDs[0])+`],"errors":[`+errNotPresent+`],"options":{"add_all_or_nothing":false}}`)
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
