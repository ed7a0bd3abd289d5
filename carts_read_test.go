package commerce_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

const (
	discountID = "f09030b0-cdcd-4c47-b889-adbf690c537a"
	// refs are the relationships of a cart, or of an item, that has the discount.
	refs = `"relationships":{"custom_discounts":{"data":[{"type":"custom_discount","id":"` + discountID + `"}]}}`
	item = `"id":"` + itemID + `","type":"cart_item"`
)

// documentedCart is like the example in the service's documentation, with a discount of the
// cart and one of an item, and members that the library does not know.
const documentedCart = `{"data":{"id":"0a8d0b6c-cart","type":"cart","name":"My cart","links":{"self":"x"},
  "discount_settings":{"custom_discounts_enabled":true,"new":1},
  "meta":{"display_price":{"with_tax":{"amount":8500,"currency":"USD","formatted":"$85.00"},"discount":{"amount":-1500},
    "new":2},"timestamps":{"created_at":"2026-01-02T03:04:05Z","updated_at":null,"expires_at":"x"},"new":3},
  "relationships":{"custom_discounts":{"data":[{"type":"custom_discount","id":"` + discountID + `"}]}},"new":4},
 "included":{
  "items":[{"id":"` + itemID + `","type":"custom_item","name":"Shirt","sku":"S-1","quantity":2,
    "relationships":{"custom_discounts":{"data":[
      {"type":"custom_discount","id":"e09030b0-cdcd-4c47-b889-adbf690c537a"}]}}}],
  "custom_discounts":[
   {"id":"` + discountID + `","type":"custom_discount","external_id":"a","amount":{"amount":-1000,"currency":"USD",
    "formatted":"-$10.00"},"description":"ten off","discount_code":"TEN","discount_engine":"engine"},
   {"id":"e09030b0-cdcd-4c47-b889-adbf690c537a","type":"custom_discount","external_id":"b","amount":-500,"new":5}]}}`

func TestCartsGet(t *testing.T) {
	t.Parallel()
	s := newStub(t, respond(200, documentedCart, "X-Request-Id", "req-1"))
	got, err := s.client(t).Carts.Get(t.Context(), cartID)
	if err != nil {
		t.Fatal(err)
	}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	want := &commerce.Cart{
		ID: cartID, Type: "cart", Name: "My cart", CustomDiscountsEnabled: true,
		Items: []commerce.CartItem{{
			ID: uuid.MustParse(itemID), Type: commerce.ItemTypeCustomItem, Name: "Shirt", SKU: "S-1", Quantity: 2,
			Extra: commerce.Extra{},
		}},
		CustomDiscounts: []commerce.CustomDiscount{
			{
				ID: uuid.MustParse(discountID), Type: "custom_discount", ExternalID: "a",
				Amount:      commerce.Money{Amount: commerce.NewDecimal(-1000), Currency: "USD", Formatted: "-$10.00"},
				Description: "ten off", DiscountCode: "TEN", DiscountEngine: "engine",
			},
			{
				ID: uuid.MustParse("e09030b0-cdcd-4c47-b889-adbf690c537a"), Type: "custom_discount", ExternalID: "b",
				Amount: commerce.Money{Amount: commerce.NewDecimal(-500)},
				Item:   &commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: uuid.MustParse(itemID)},
				Extra:  commerce.Extra{"new": raw("5")},
			},
		},
		DisplayPrice: commerce.CartDisplayPrice{
			WithTax:  commerce.Money{Amount: commerce.NewDecimal(8500), Currency: "USD", Formatted: "$85.00"},
			Discount: commerce.Money{Amount: commerce.NewDecimal(-1500)},
			Extra:    commerce.Extra{"new": raw("2")},
		},
		Timestamps: commerce.Timestamps{
			CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			Extra:     commerce.Extra{"expires_at": raw(`"x"`)},
		},
		Extra: commerce.Extra{
			"links": raw(`{"self":"x"}`), "new": raw("4"), "meta": raw(`{"new":3}`), "discount_settings": raw(`{"new":1}`),
		},
	}
	isKnown := cmpopts.IgnoreMapEntries(func(name string, _ json.RawMessage) bool { return name == "relationships" })
	if d := cmp.Diff(want, got, isKnown, cmpopts.IgnoreFields(commerce.Cart{}, "Response")); d != "" {
		t.Errorf("cart (-want +got):\n%s", d)
	}
	if _, ok := got.Extra["relationships"]; !ok || got.Response.RequestID != "req-1" {
		t.Errorf("got Extra %v, response %+v, want the relationships and req-1", got.Extra, got.Response)
	}
	sent := s.sent()
	if len(sent) != 1 || sent[0].Method != "GET" || sent[0].Path != "/v2/carts/0a8d0b6c-cart" ||
		parseQuery(t, sent[0].RawQuery).Get("include") != "items,custom_discounts" {
		t.Errorf("requests = %+v, want one GET of the cart with items and custom_discounts", sent)
	}
}

// Members of a cart and of its items that have a field are in no Extra.
func TestCartsGet_fields(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	cart, err := store.Client().Carts.Get(t.Context(), store.AddCart(commerce.CartItemRef{}))
	if err != nil {
		t.Fatal(err)
	}
	item := cart.Items[0]
	if life := cart.ExpiresAt.Sub(cart.Timestamps.UpdatedAt); life != 7*24*time.Hour || cart.Timestamps.Extra != nil {
		t.Errorf("the cart expires %v after its last change, Extra %v; want 168h and no Extra", life, cart.Timestamps.Extra)
	}
	if item.ProductID == uuid.Nil || item.UnitPrice.Amount.String() != "10000" || item.Value.Currency != "USD" {
		t.Errorf("item = %+v, want a product, and $100.00 twice", item)
	}
	for _, name := range []string{"product_id", "unit_price", "value"} {
		if _, ok := item.Extra[name]; ok {
			t.Errorf("Extra of the item has %s, want only other members", name)
		}
	}
	for _, odd := range []string{`"product_id":5`, `"unit_price":"x"`, `"value":[]`} {
		body := `{"data":{"id":"c"},"included":{"items":[{"id":"` + itemID + `",` + odd + `}]}}`
		cart, err := newStub(t, respond(200, body)).client(t).Carts.Get(t.Context(), "c")
		if err != nil || len(cart.Items[0].Extra) != 1 {
			t.Errorf("%s: cart %+v, error %v, want the value in Extra", odd, cart, err)
		}
	}
}

// The relationships of the discount, or those of an item, show which item it is for.
func TestCartsGet_itemOfDiscount(t *testing.T) {
	t.Parallel()
	const discount = `{"id":"` + discountID + `"}`
	ofItem := &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse(itemID)}
	for _, tt := range []struct {
		name            string
		data            string // other members of the cart
		items, discount string // included
		want            *commerce.CartItemRef
	}{
		{name: "of the cart", data: `,` + refs},
		{name: "no relationships"},
		{name: "relationships null", data: `,"relationships":null`, items: `{` + item + `,"relationships":null}`},
		{
			name: "relationship null", data: `,"relationships":{"custom_discounts":null,"items":{"data":null}}`,
			items: `{` + item + `,"relationships":{"custom_discounts":null}}`,
		},
		{
			name: "data null", data: `,"relationships":{"custom_discounts":{"data":null}}`,
			items: `{` + item + `,"relationships":{"custom_discounts":{"data":null}}}`,
		},
		{name: "of an item", items: `{` + item + `,` + refs + `}`, want: ofItem},
		{name: "of the second item", items: `{},{` + item + `,` + refs + `}`, want: ofItem},
		{
			name: "of an item, data is an object", want: ofItem,
			items: `{` + item + `,"relationships":{"custom_discounts":{"data":` + discount + `}}}`,
		},
		{
			name: "in the discount", want: ofItem,
			discount: `{"id":"` + discountID + `","relationships":{"item":{"data":{` + item + `}}}}`,
		},
		{name: "listed twice", items: `{` + item + `,` + refs + `}`, discount: discount + "," + discount, want: ofItem},
	} {
		if tt.discount == "" {
			tt.discount = discount
		}
		body := `{"data":{"id":"0a8d0b6c-cart"` + tt.data + `},"included":{"items":[` + tt.items + `],"custom_discounts":[` +
			tt.discount + `]}}`
		got, err := newStub(t, respond(200, body)).client(t).Carts.Get(t.Context(), cartID)
		if err != nil || len(got.CustomDiscounts) != 1 {
			t.Fatalf("%s: Get() = %+v, error %v, want one discount", tt.name, got, err)
		}
		diff(t, "item: "+tt.name, got.CustomDiscounts[0].Item, tt.want)
	}
}

// Ids that are UUIDs may differ in letter case.
func TestCartsGet_letterCase(t *testing.T) {
	t.Parallel()
	s := newStub(t, respond(200, `{"data":{"id":"`+itemID+`"}}`))
	if _, err := s.client(t).Carts.Get(t.Context(), strings.ToUpper(itemID)); err != nil {
		t.Error(err)
	}
}

// A response that may be wrong is no reason to write.
func TestCartsGet_ensureWritesNothing(t *testing.T) {
	t.Parallel()
	const cart = `{"data":{"id":"0a8d0b6c-cart"},"included":{"custom_discounts":[]`
	for _, tt := range []struct{ name, cart, items string }{
		{
			name: "another cart",
			cart: `{"data":{"id":"0a8d0b6c-other"},"included":{"custom_discounts":[],"items":[{` + item + `}]}}`,
		},
		{
			name: "an item names a discount that is not included",
			cart: cart + `,"items":[{` + item + `,` + refs + `}]}}`,
		},
		{name: "too many items", cart: cart + `}}`, items: `{"data":[` + elements(10_001, `{}`) + `]}`},
	} {
		list := responders{respond(200, tt.cart)}
		if tt.items != "" {
			list = append(list, respond(200, tt.items))
		}
		c := newStub(t, list...).client(t, attempts(1)) // a write fails the test
		result, err := c.Carts.EnsureCustomDiscounts(t.Context(), cartID, discounts("a"), nil)
		if !errors.Is(err, commerce.ErrBadResponse) || commerce.OutcomeOf(err) != commerce.OutcomeNotSent || result != nil {
			t.Errorf("%s: result %+v, error %v, want ErrBadResponse, not sent", tt.name, result, err)
		}
	}
}

// cartOf returns a cart as the service prints it, with these members of data, and of the response.
func cartOf(data, included string) string {
	return `{"data":{"id":"0a8d0b6c-cart","type":"cart"` + data + `}` + included + `}`
}

const (
	hasItem = `,"relationships":{"items":{"data":[{` + item + `}]}}`
	noSum   = `,"meta":{"display_price":{"discount":{"amount":0,"currency":"USD","formatted":"$0.00"}}}`
	noTotal = `,"meta":{"display_price":{"with_tax":{"amount":0,"currency":"","formatted":"0"}}}`
	saleSum = `,"meta":{"display_price":{"discount":{"amount":-4000,"currency":"USD","formatted":"-$40.00"}}}`
	rebate  = `{"amount":{"amount":-2000,"currency":"USD"},"code":"SALE","promotion_source":"rule"}`
	oneItem = `{"data":[{` + item + `}]}`
	older   = `{"id":"` + another + `","code":"SALE","amount":{"amount":-3000}}`

	withPromotion = `,"relationships":{"promotions":{"data":[{"type":"promotion","id":"` + another + `"}]}}`
	another       = `e6a1ff20-ce5c-4e32-a4d9-6a1d1d3d5f10` // id of an item
)

// formOfCart is how the service, or its specification, shows a cart, and what Ensure does with it.
type formOfCart struct {
	name     string
	data     string // other members of the cart
	rest     string // of the response
	items    string // response to a request for the items
	want     error  // of a call that wants a discount
	requests string // of that call
	wantNone error  // of a call that wants none
	isBare   bool   // the lists of the response have no items
}

var formsOfCarts = []formOfCart{
	{
		name: "lists", data: hasItem + noSum, requests: "GET POST GET",
		rest: `,"included":{"items":[{` + item + `}],"custom_discounts":[]}`,
	},
	{
		name: "errors beside the cart", data: hasItem + noSum, requests: "GET POST GET",
		rest: `,"included":{"items":[{` + item + `}],"custom_discounts":[]},"errors":[{"title":"x"}]`,
	},
	{
		name: "errors beside the items", data: hasItem + noSum, requests: "GET GET POST GET",
		items: `{"data":[{` + item + `}],"errors":[{"title":"x"}]}`,
	},
	{
		name: "lists without items", data: hasItem + noSum, rest: `,"included":{"custom_discounts":[]}`, isBare: true,
		items: oneItem, requests: "GET GET POST GET GET",
	},
	{name: "no included", data: hasItem + noSum, items: oneItem, requests: "GET GET POST GET"},
	{
		name: "included empty", data: hasItem + noSum, rest: `,"included":{}`,
		items: `{"data":[{` + item + `,"discounts":[]}]}`, requests: "GET GET POST GET",
	},
	{
		name: "relationship empty", requests: "GET GET POST GET",
		data: `,"relationships":{"custom_discounts":{}}` + noSum, items: oneItem,
	},
	{name: "empty", data: noSum, items: `{"data":null}`, want: commerce.ErrEmptyCart, requests: "GET GET"},
	{
		name: "empty without a sum", data: `,"relationships":{"items":{"data":null}}`,
		items: `{"data":[]}`, want: commerce.ErrEmptyCart, requests: "GET GET",
	},
	{
		name: "empty with lists of null", rest: `,"included":{"items":null,"custom_discounts":null}`,
		want: commerce.ErrEmptyCart, requests: "GET",
	},
	{name: "only an id", items: `{"data":[]}`},
	{name: "empty, a total of 0", data: noTotal, items: `{"data":[]}`, want: commerce.ErrEmptyCart, requests: "GET GET"},
	{
		name: "lists, and a promotion", data: hasItem + saleSum, want: commerce.ErrPromotionConflict, requests: "GET",
		rest: `,"included":{"items":[{` + item + `,"discounts":[` + rebate + `]}],"custom_discounts":[]}`,
	},
	{
		name: "lists, and a promotion in another form", data: hasItem + saleSum, want: commerce.ErrPromotionConflict,
		rest:     `,"included":{"items":[{` + item + `,"discounts":[{"promotion_source":{}}]}],"custom_discounts":[]}`,
		requests: "GET",
	},
	{
		name: "lists, and discounts in another form", data: hasItem + saleSum, want: commerce.ErrPromotionConflict,
		rest:     `,"included":{"items":[{` + item + `,"discounts":{"promotion_source":"x"}}],"custom_discounts":[]}`,
		requests: "GET",
	},
	{
		name: "lists, and a discount without a source", data: hasItem + saleSum, want: commerce.ErrPromotionConflict,
		rest:     `,"included":{"items":[{` + item + `,"discounts":[{"promotion_source":null}]}],"custom_discounts":[]}`,
		requests: "GET",
	},
	{
		name: "lists, and the cart names a promotion", data: withPromotion, want: commerce.ErrPromotionConflict,
		rest: `,"included":{"items":[{` + item + `}],"custom_discounts":[]}`, requests: "GET",
	},
	{
		name: "promotions of the older kind", data: hasItem + saleSum, want: commerce.ErrPromotionConflict,
		items: `{"data":[{` + item + withPromotion + `,"discounts":[` + older + `]},` +
			`{"type":"promotion_item","promotion_id":"` + another + `","value":{"amount":-3000}},` +
			`{"type":"promotion_item","promotion_id":"` + discountID + `","value":{"amount":-1000}}]}`,
		requests: "GET GET",
	},
	{
		name: "a promotion of the older kind that nothing names", data: hasItem + saleSum,
		items: `{"data":[{` + item + `,"discounts":[` + older + `]}]}`,
	},
	{
		name: "lists, and a promotion item", data: hasItem, want: commerce.ErrPromotionConflict, requests: "GET",
		rest: `,"included":{"items":[{` + item + `},{"type":"promotion_item"}],"custom_discounts":null}`,
	},
	{
		name: "promotions of the store", data: hasItem + saleSum,
		items: `{"data":[{` + item + `,"discounts":[` + rebate + `]},{"id":"` + another + `","discounts":[` + rebate + `]}]}`,
		want:  commerce.ErrPromotionConflict, requests: "GET GET",
	},
	{
		name: "a promotion that takes nothing off", data: hasItem + noSum,
		items: `{"data":[{` + item + `},{"type":"promotion_item"}]}`,
		want:  commerce.ErrPromotionConflict, wantNone: commerce.ErrPromotionConflict, requests: "GET GET",
	},
	{
		name: "a discount that is no promotion", data: hasItem + saleSum,
		items: `{"data":[{` + item + `,"discounts":[` + rebate + `,{"amount":{"amount":-2000},"promotion_source":""}]}]}`,
	},
	{
		name: "promotions do not explain the sum", data: hasItem + saleSum,
		items: `{"data":[{` + item + `,"discounts":[` + rebate + `]}]}`,
	},
	{name: "a sum that nothing shows", data: hasItem + saleSum, items: oneItem},
	{name: "no sum", data: hasItem, items: oneItem},
	{name: "a sum of null", data: hasItem + strings.Replace(noSum, "0", "null", 1), items: oneItem},
	{name: "promotions without a sum", data: hasItem, items: `{"data":[{` + item + `,"discounts":[` + rebate + `]}]}`},
	{
		name: "a promotion item without a sum", items: `{"data":[{"type":"promotion_item"}]}`, requests: "GET GET",
		want: commerce.ErrPromotionConflict, wantNone: commerce.ErrPromotionConflict,
	},
	{
		name: "an item that is nowhere", data: hasItem + noSum, items: `{"data":[{"id":"` + another + `"}]}`,
		want: commerce.ErrBadResponse, wantNone: commerce.ErrBadResponse,
		requests: "GET GET GET GET GET GET GET GET GET",
	},
	{
		name: "discounts that cancel out", data: hasItem + noSum,
		items: `{"data":[{` + item + `,"discounts":[{"amount":{"amount":-5}},{"amount":{"amount":5}}]}]}`,
	},
	{name: "discounts that are no array", data: hasItem + noSum, items: `{"data":[{` + item + `,"discounts":7}]}`},
	{name: "an item names a discount", data: hasItem + noSum, items: `{"data":[{` + item + `,` + refs + `}]}`},
	{name: "the cart names a discount", data: "," + refs + noSum, items: oneItem},
	{name: "empty with a sum", data: saleSum, items: `{"data":[]}`},
	{name: "no items anywhere", data: hasItem + noSum, items: cartOf(hasItem+noSum, "")},
}

// formStore is a store with one cart in a form. It takes any add, and then shows it in a list.
type formStore struct {
	formOfCart
	methods []string
}

func (s *formStore) RoundTrip(req *http.Request) (*http.Response, error) {
	const added = `{"id":"` + discountID + `","type":"custom_discount","external_id":"a","amount":-1000,` +
		`"description":"ten off","discount_code":"TEN","discount_engine":"engine"}`
	const lists = `,"included":{"items":[{` + item + `}],"custom_discounts":[`
	s.methods = append(s.methods, req.Method)
	switch {
	case req.Method == http.MethodPut:
		const enabled = `,"discount_settings":{"custom_discounts_enabled":true}`
		s.data = enabled + s.data
		return respond(200, cartOf(enabled, ""))(req)
	case req.Method == http.MethodPost:
		s.data, s.rest = ","+refs, lists+added+`]}`
		if s.isBare {
			s.rest = `,"included":{"custom_discounts":[` + added + `]}`
		}
		return respond(201, `{"data":[`+added+`]}`)(req)
	case strings.HasSuffix(req.URL.Path, "/items"):
		return respond(200, s.items)(req)
	}
	return respond(200, cartOf(s.data, s.rest))(req)
}

func TestEnsureCustomDiscounts_formsOfCarts(t *testing.T) {
	t.Parallel()
	for _, tt := range formsOfCarts {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.requests == "" { // the cart and its items, with both queries
				tt.requests, tt.want, tt.wantNone = "GET GET GET GET", commerce.ErrBadResponse, commerce.ErrBadResponse
			}
			tt.ensure(t, &commerce.EnsureCustomDiscountsOptions{})
			s := &formStore{formOfCart: tt}
			_, err := newClient(t, s, attempts(1)).Carts.EnsureCustomDiscounts(t.Context(), cartID, nil,
				&commerce.EnsureCustomDiscountsOptions{Prune: true, Engines: []string{"another"}})
			reads, _, _ := strings.Cut(tt.requests, " POST")
			if !errors.Is(err, tt.wantNone) || strings.Join(s.methods, " ") != reads {
				t.Errorf("without a discount: error %v, requests %v, want %v, %s", err, s.methods, tt.wantNone, reads)
			}
			// The cart is enabled only if something may be added.
			tt.requests = strings.Replace(tt.requests, " POST", " PUT POST", 1)
			tt.ensure(t, &commerce.EnsureCustomDiscountsOptions{Enable: true})
		})
	}
}

// ensure wants a discount on the cart, and checks the requests and the end.
func (tt formOfCart) ensure(t *testing.T, opts *commerce.EnsureCustomDiscountsOptions) {
	t.Helper()
	s := &formStore{formOfCart: tt}
	_, err := newClient(t, s, attempts(1)).Carts.EnsureCustomDiscounts(t.Context(), cartID, discounts("a"), opts)
	t.Logf("enable %t: %v: %v", opts.Enable, s.methods, err)
	isFinal := err != nil && !errors.Is(err, commerce.ErrBadResponse)
	if !errors.Is(err, tt.want) || commerce.IsFinal(err) != isFinal || strings.Join(s.methods, " ") != tt.requests {
		t.Errorf("%+v: error %v, final %t, requests %v, want %v, %t, %s",
			opts, err, commerce.IsFinal(err), s.methods, tt.want, isFinal, tt.requests)
	}
}

// The errors beside a cart and its items are kept.
func TestCartsGet_errors(t *testing.T) {
	t.Parallel()
	s := newStub(t,
		respond(200, cartOf(hasItem, `,"errors":[{"title":"x"}]`)),
		respond(200, `{"data":[{`+item+`}],"errors":{"title":"y","status":"404"}}`))
	got, err := s.client(t).Carts.Get(t.Context(), cartID)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "errors", got.Errors, []commerce.ErrorObject{{Title: "x"}, {Title: "y", Status: 404}})
	if len(got.Items) != 1 || got.Extra["errors"] != nil {
		t.Errorf("cart %+v, want an item and no errors in Extra", got)
	}
}

const (
	withItems, withoutItems = "include=items,custom_discounts", "include=custom_discounts"
	badInclude              = `{"errors":[{"status":"400","title":"Bad Request","detail":"Invalid Include"}]}`
	unplaced                = `,"included":{"custom_discounts":[{"id":"` + discountID +
		`","discount_engine":"e","external_id":"a"}]}`
)

// cartQueries are what a store responds to requests for a cart, and to which it gets them.
var cartQueries = []struct {
	name     string
	isEnsure bool // the calls are dry runs of EnsureCustomDiscounts; otherwise Get
	respond  func(query string) (status int, body string)
	queries  []string // of two calls
	fails    bool
}{
	{name: "ignored", respond: anyQuery(200, cartOf("", unplaced)), queries: []string{withItems, withItems}},
	{
		name: "refused", respond: onlyWithoutItems(400, badInclude),
		queries: []string{withItems, withoutItems, withoutItems},
	},
	{
		name: "refused for another reason", respond: onlyWithoutItems(400, `{"errors":[{"title":"Bad Request"}]}`),
		queries: []string{withItems, withItems}, fails: true,
	},
	{
		name: "refused in both forms", respond: anyQuery(400, badInclude),
		queries: []string{withItems, withoutItems, withItems, withoutItems}, fails: true,
	},
	{
		name: "ignored as a whole", isEnsure: true, respond: onlyWithoutItems(200, cartOf(saleSum, "")),
		queries: []string{withItems, withoutItems, withoutItems},
	},
	{
		name: "no list in any form", isEnsure: true, respond: anyQuery(200, cartOf(saleSum, "")),
		queries: []string{withItems, withoutItems, withItems, withoutItems}, fails: true,
	},
}

func anyQuery(status int, body string) func(string) (int, string) {
	return func(string) (int, string) { return status, body }
}

func onlyWithoutItems(status int, body string) func(string) (int, string) {
	return func(query string) (int, string) {
		if query == withoutItems {
			return 200, cartOf("", unplaced)
		}
		return status, body
	}
}

// A store that ignores or refuses the include of items: they are read apart, so that the item of
// each discount is right. What it refused is not asked for again.
func TestCarts_includeOfItems(t *testing.T) {
	t.Parallel()
	for _, tt := range cartQueries {
		var queries []string
		c := newClient(t, roundTripper(func(req *http.Request) (*http.Response, error) {
			if strings.HasSuffix(req.URL.Path, "/items") {
				return respond(200, `{"data":[{`+item+`,`+refs+`}]}`)(req)
			}
			query, err := url.QueryUnescape(req.URL.RawQuery)
			if err != nil {
				return nil, err
			}
			queries = append(queries, query)
			status, body := tt.respond(query)
			return respond(status, body)(req)
		}), attempts(1))
		for range 2 {
			var found []commerce.CustomDiscount
			var err error
			if tt.isEnsure {
				var result *commerce.CustomDiscountsResult
				if result, err = c.Carts.EnsureCustomDiscounts(t.Context(), cartID, nil,
					&commerce.EnsureCustomDiscountsOptions{Prune: true, Engines: []string{"e"}, DryRun: true}); err == nil {
					found = result.Deleted
				}
			} else {
				var cart *commerce.Cart
				if cart, err = c.Carts.Get(t.Context(), cartID); err == nil {
					found = cart.CustomDiscounts
				}
			}
			if isRight := len(found) == 1 && found[0].Item != nil; isRight == tt.fails || (err != nil) != tt.fails {
				t.Errorf("%s: discounts %+v, error %v, want one of an item: %t", tt.name, found, err, !tt.fails)
			}
		}
		diff(t, tt.name, queries, tt.queries)
	}
}

func TestCartsGet_badResponse(t *testing.T) {
	t.Parallel()
	with := func(included string) string { return `{"data":{"id":"0a8d0b6c-cart"},"included":` + included + `}` }
	var many []string
	for n := range 10_001 {
		many = append(many, `{"id":"`+numberedID(n).String()+`"}`)
	}
	names := ""
	for n := range 1000 { // it would take almost a second to find a name for each
		names += `,"` + strings.Repeat("/", n) + `x":1`
	}
	for name, body := range map[string]string{
		"empty":                        ``,
		"no data":                      `{"included":{}}`,
		"data is an array":             `{"data":[{"id":"0a8d0b6c-cart"}]}`,
		"no id":                        `{"data":{"name":"My cart"}}`,
		"truncated":                    `{"data":{"id":"0a8d0b6c-cart"`,
		"data twice":                   `{"data":{"id":"0a8d0b6c-cart"},"data":{"id":"0a8d0b6c-cart"}}`,
		"included is an array":         with(`[]`),
		"discounts are an object":      with(`{"custom_discounts":{"id":"` + discountID + `"}}`),
		"discount without id":          with(`{"custom_discounts":[{"external_id":"a"}]}`),
		"discount with an odd id":      with(`{"custom_discounts":[{"id":"7"}]}`),
		"discount with an odd key":     with(`{"custom_discounts":[{"id":"` + itemID + `","external_id":5}]}`),
		"relationships are a text":     `{"data":{"id":"0a8d0b6c-cart","relationships":"x"}}`,
		"discount null":                with(`{"custom_discounts":[null]}`),
		"item null":                    with(`{"items":[null]}`),
		"relationship without id":      `{"data":{"id":"0a8d0b6c-cart","relationships":{"custom_discounts":{"data":[{}]}}}}`,
		"relationship with an odd id":  `{"data":{"id":"0a8d0b6c-cart","relationships":{"items":{"data":[{"id":"7"}]}}}}`,
		"relationship of an item":      with(`{"items":[{"relationships":{"custom_discounts":{"data":[null]}}}]}`),
		"more discounts than are read": with(`{"custom_discounts":[` + strings.Join(many, ",") + `]}`),
		"more items than are read":     with(`{"items":[` + elements(10_001, `{}`) + `]}`),
		"names that are taken":         `{"data":{"id":"0a8d0b6c-cart"` + names + `}` + names + `}`,
		"another cart":                 `{"data":{"id":"0a8d0b6c-other"}}`,
		"other letter case":            `{"data":{"id":"0A8D0B6C-cart"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newStub(t, respond(200, body)).client(t, attempts(1)).Carts.Get(t.Context(), cartID)
			checkError(t, err, commerce.Error{Op: "Carts.Get", StatusCode: 200, Outcome: commerce.OutcomeNone, Attempts: 1})
			if !errors.Is(err, commerce.ErrBadResponse) {
				t.Errorf("error %v, want ErrBadResponse", err)
			}
		})
	}
}

// An odd part beside good ones is an error that names it. Relationships that do not count are not
// looked at.
func TestCartsGet_oddPart(t *testing.T) {
	t.Parallel()
	const discount, id = `{"id":"` + discountID + `"}`, `{"type":"x","id":"` + itemID + `"}`
	body := func(relationships, included string) string {
		return cartOf(`,"relationships":{`+relationships+`}`, `,"included":{`+included+`}`)
	}
	for _, tt := range []struct{ body, want string }{
		{body: cartOf("", `,"included":5`), want: "included is not an object"},
		{body: body("", `"items":[{},5,{}]`), want: "included.items is not an array of objects"},
		{body: body("", `"items":{}`), want: "included.items is not an array of objects"},
		{body: body("", `"items":[{},null]`), want: "an item is not an object"},
		{
			body: body("", `"custom_discounts":[`+discount+`,"x"]`),
			want: "included.custom_discounts is not an array of objects",
		},
		{body: body("", `"custom_discounts":[`+discount+`,null]`), want: "a custom discount is not an object with an id"},
		{body: body(`"items":{"data":[`+id+`,{}]}`, ""), want: "a relationship names a resource without an id"},
		{body: body(`"items":{"data":5}`, ""), want: "a relationship names a resource without an id"},
		{body: body("", `"items":[{"relationships":{"custom_discounts":5}}]`), want: "a relationship is not an object"},
		{body: body(`"items":{"data":`+id+`},"x":5,"promotions":{"data":[{"id":"a"}]}`, `"items":[{"id":"`+itemID+`"}]`)},
	} {
		_, err := newStub(t, respond(200, tt.body)).client(t, attempts(1)).Carts.Get(t.Context(), cartID)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), ": "+tt.want+" (") {
			t.Errorf("%s: error %v, want %q", tt.body, err, tt.want)
		}
	}
}

const promoted = `"items":[{` + item + `,"discounts":[{"amount":{"amount":-100},"promotion_source":"rule"}]}]`

// No cache may respond to a read that decides what is written.
func TestReads_noCache(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Carts.Get": "no-cache", "Carts.EnsureCustomDiscounts": "no-cache", "Client.Settings": "no-cache",
		"Subscriptions.Get": "no-cache", "Subscriptions.EnsureState": "no-cache",
		"Subscriptions.List": "", "Carts.AddCustomDiscounts": "",
	} {
		var got []string
		c := newClient(t, roundTripper(func(req *http.Request) (*http.Response, error) {
			got = append(got, req.Header.Get("Cache-Control"))
			return respond(500, "")(req)
		}), attempts(1))
		if _, err := calls.Named(name).Do(t.Context(), c, calls.NewArgs()); err == nil {
			t.Errorf("%s: no error", name)
		}
		diff(t, "Cache-Control of "+name, got, []string{want})
	}
}

// A second read that fails does not change how carts are read later.
func TestEnsureCustomDiscounts_secondReadFails(t *testing.T) {
	t.Parallel()
	var queries []string
	c := newClient(t, roundTripper(func(req *http.Request) (*http.Response, error) {
		queries = append(queries, req.URL.RawQuery)
		if strings.HasSuffix(req.URL.Path, "/items") {
			return respond(200, oneItem)(req)
		}
		if req.URL.RawQuery == withoutItems {
			return respond(500, "")(req)
		}
		return respond(200, cartOf(hasItem, ""))(req)
	}), attempts(1))
	for range 2 {
		_, err := c.Carts.EnsureCustomDiscounts(t.Context(), cartID, discounts("a"), nil)
		if !errors.Is(err, commerce.ErrServer) {
			t.Errorf("error %v, want ErrServer", err)
		}
	}
	once := []string{withItems, withoutItems, withoutItems} // the cart, its items, and the cart again
	diff(t, "queries", queries, slices.Concat(once, once))
}

// A cart may have more items than a response includes: the list of its items is read page by page.
func TestEnsureCustomDiscounts_pagesOfItems(t *testing.T) {
	t.Parallel()
	var named, all []string
	for n := range 5 {
		named = append(named, fmt.Sprintf(`{"type":"cart_item","id":"%v"}`, numberedID(n)))
		all = append(all, fmt.Sprintf(`{"type":"cart_item","id":"%v",%s}`, numberedID(n), strings.ReplaceAll(refs, discountID,
			numberedID(10+n).String())))
	}
	page := func(from, to int) string { return `{"data":[` + strings.Join(all[from:min(to, len(all))], ",") + `]}` }
	var list []string
	for n := range 5 {
		const ofOthers = `{"id":"%v","amount":-1,"external_id":"x%d","discount_engine":"other"}`
		list = append(list, fmt.Sprintf(ofOthers, numberedID(10+n), n))
	}
	named = append(named, `{"type":"shipping_group","id":"`+another+`"}`, `{"type":"promotion_item"}`)
	cart := cartOf(`,"relationships":{"items":{"data":[`+strings.Join(named, ",")+`]}}`,
		`,"included":{"items":[`+all[0]+`],"custom_discounts":[`+strings.Join(list, ",")+`]}`)
	var offsets []string
	c := newClient(t, roundTripper(func(req *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(req.URL.Path, "/items") {
			return respond(200, cart)(req)
		}
		offset := req.URL.Query().Get("page[offset]")
		n, _ := strconv.Atoi(offset)
		offsets = append(offsets, offset)
		return respond(200, page(n, n+2))(req)
	}))
	opts := &commerce.EnsureCustomDiscountsOptions{Prune: true, Engines: []string{"engine"}}
	result, err := c.Carts.EnsureCustomDiscounts(t.Context(), cartID, nil, opts)
	if err != nil || len(result.Cart.Items) != 5 || result.Cart.CustomDiscounts[4].Item.ID != numberedID(4) {
		t.Errorf("result %+v, error %v, want 5 items, and the item of each discount", result, err)
	}
	diff(t, "offsets", offsets, []string{"", "2", "4"})
}

// Enabling keeps the custom attributes of the cart: a request that has some replaces all.
func TestEnsureCustomDiscounts_customAttributes(t *testing.T) {
	t.Parallel()
	const some = `,"custom_attributes":{"a":{"type":"string","value":"b"}}`
	for attributes, want := range map[string]string{"": "", `,"custom_attributes":null`: "", some: some} {
		lists := `,"included":{"items":[{` + item + `}],"custom_discounts":[]}`
		s := newStub(t, respond(200, cartOf(attributes, lists)), respond(500, ""), respond(200, cartOf(attributes, lists)))
		opts := &commerce.EnsureCustomDiscountsOptions{Enable: true, Settle: -1}
		_, _ = s.client(t, attempts(1)).Carts.EnsureCustomDiscounts(t.Context(), cartID, discounts("a"), opts)
		diff(t, attributes, s.sent()[1].Body, `{"data":{"discount_settings":`+
			`{"custom_discounts_enabled":true,"use_rule_promotions":false}`+want+`}}`)
	}
}

// A store that has ever more items is left.
func TestGet_endlessItems(t *testing.T) {
	t.Parallel()
	cart := cartOf(`,"relationships":{"items":{"data":[{"type":"cart_item","id":"`+another+`"}]}}`,
		`,"included":{"items":[],"custom_discounts":[]}`)
	pages := 0
	c := newClient(t, roundTripper(func(req *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(req.URL.Path, "/items") {
			return respond(200, cart)(req)
		}
		pages++
		var list []string
		for range 500 {
			list = append(list, `{"type":"cart_item","id":"`+uuid.NewString()+`"}`)
		}
		return respond(200, `{"data":[`+strings.Join(list, ",")+`]}`)(req)
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := c.Carts.Get(ctx, cartID); pages > 25 {
		t.Errorf("%d pages of 500 items, error %v, want 10,000 items at most", pages, err)
	}
}
