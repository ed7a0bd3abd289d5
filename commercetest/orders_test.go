package commercetest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const (
	ordersPath   = "/v2/orders"
	checkoutPath = cartPath + "/checkout"
	firstOrder   = "02e1ef4e-c8f9-8d37-89d6-c8fc08f7eb3a"

	customer = `"customer":{"name":"Ada","email":"ada@example.com"}`
	address  = `{"first_name":"Ada","last_name":"Byron","line_1":"1 Street","postcode":"1","country":"GB","county":"X"}`
)

// checkout returns the body of a checkout of a customer, with further members before them.
func checkout(more string) string {
	return `{"data":{` + more + customer + `,"billing_address":` + address + `,"shipping_address":` + address + `}}`
}

// byRef returns a request for the orders with an external ref.
func byRef(ref string) string {
	return get(ordersPath + "?filter=" + url.QueryEscape(`eq(external_ref,"`+ref+`")`))
}

// orderIDs returns the ids of a list of orders.
func orderIDs(t *testing.T, resp wireResponse) (ids []string) {
	t.Helper()
	for _, o := range decodeList(t, resp).Data {
		ids = append(ids, o.ID)
	}
	return ids
}

// An order has the prices and discounts of its cart, which stays as it is. A read shows it as the
// checkout did, also after the cart has changed.
func TestCheckout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCart(t, commercetest.Config{TaxPercent: 10, Links: commercetest.NoLinks})
		send(t, store, addRequest(onCartA, item))
		before := store.CartState(cartID)
		usd := func(amount int, formatted string) string {
			return fmt.Sprintf(`{"amount":%d,"currency":"USD","formatted":"%s"}`, amount, formatted)
		}
		now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		order := `{"id":"` + firstOrder + `","type":"order","order_number":"n","external_ref":"r",
			"status":"incomplete","payment":"unpaid","shipping":"unfulfilled","anonymized":false,` + customer + `,
			"billing_address":` + address + `,"shipping_address":` + address + `,
			"links":{"self":"https://store-links.example/v2/orders/` + firstOrder + `"},
			"meta":{"timestamps":{"created_at":"` + now + `","updated_at":"` + now + `"},"display_price":{
				"with_tax":` + usd(19800, "$198.00") + `,"without_tax":` + usd(18000, "$180.00") + `,
				"tax":` + usd(1800, "$18.00") + `,"discount":` + usd(-2000, "-$20.00") + `,
				"without_discount":` + usd(20000, "$200.00") + `,"balance_owing":` + usd(19800, "$198.00") + `,
				"paid":` + usd(0, "$0.00") + `,"authorized":` + usd(0, "$0.00") + `}},
			"relationships":{"custom_discounts":{"data":[{"type":"custom_discount","id":"` + firstID + `"}]}}}`
		raw := post(checkoutPath, checkout(`"order_number":"n","external_ref":"r",`))
		wantJSON(t, send(t, store, raw), 201, `{"data":`+order+`}`)
		wantEqual(t, "cart after the checkout", store.CartState(cartID), before)

		time.Sleep(time.Second)
		send(t, store, del(cartPath+"/custom-discounts"))
		wantJSON(t, send(t, store, byRef("r")), 200, `{"data":[`+order+`],
			"meta":{"page":{"limit":25,"offset":0,"current":1,"total":1},"results":{"total":1}}}`)
		ofItem := strings.Replace(discount{externalID: "i"}.response(secondID), `,"formatted":"-$10.00"`, "", 1)
		wantJSON(t, send(t, store, get(ordersPath+"/"+firstOrder+"?include=custom_discounts")), 200,
			`{"data":`+order+`,"included":{"custom_discounts":[`+onCartA.response(firstID)+`,`+ofItem+`]}}`)
	})
}

// A cart can be checked out again, with the same external ref. Orders returns copies.
func TestCheckout_again(t *testing.T) {
	t.Parallel()
	store := newCart(t, commercetest.Config{})
	raw := post(checkoutPath, checkout(`"external_ref":"`+strings.Repeat("é", 64)+`",`))
	send(t, store, raw)
	send(t, store, addRequest(onCartA))
	send(t, store, raw)
	send(t, store, post(checkoutPath, checkout(`"external_ref":null,"order_number":"2",`)))
	wantEqual(t, "orders", len(orderIDs(t, send(t, store, byRef(strings.Repeat("é", 64))))), 2)
	store.Orders()[1].Discounts[0].Description = "changed"
	for i, want := range []string{"$200.00 0", "$190.00 1", "$190.00 1"} {
		o := store.Orders()[i]
		wantEqual(t, "total and discounts", fmt.Sprint(o.Total.Formatted, " ", len(o.Discounts)), want)
		wantEqual(t, "cart", o.CartID, cartID)
		wantEqual(t, "is of the list", o.ID.String() == orderIDs(t, send(t, store, get(ordersPath)))[i], true)
	}
	wantEqual(t, "description", store.Orders()[1].Discounts[0].Description, "custom discount description")
	wantEqual(t, "refs", store.Orders()[0].ExternalRef+store.Orders()[2].ExternalRef, strings.Repeat("é", 64))
}

// The totals of an order are at least 0, and never those of an earlier moment.
func TestCheckout_total(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := commercetest.New(t, commercetest.Config{TotalsLag: time.Minute, TaxPercent: 10})
		f := commercetest.CartFixture{Items: []commercetest.ItemFixture{{Price: new(int64(300))}}, Currency: "EUR"}
		id, err := store.AddCartFixture(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"3,30 €", "1,10 €", "0,00 €"} {
			send(t, store, post("/v2/carts/"+id+"/checkout", checkout("")))
			orders := store.Orders()
			wantEqual(t, "total", orders[len(orders)-1].Total.Formatted, want)
			store.AddDiscount(id, commerce.CustomDiscount{Amount: commerce.Money{Amount: commerce.NewDecimal(-200)}})
		}
	})
}

func TestCheckout_refuses(t *testing.T) {
	t.Parallel()
	const account = `"contact":{"name":"Ada","email":"ada@example.com"}`
	with := func(from, to string) string { return strings.Replace(checkout(""), from, to, 1) }
	for _, tt := range []struct{ name, body, detail string }{ // no detail: a success
		{name: "no data", body: `{}`, detail: "data must be an object"},
		{name: "only an id", body: with(customer, `"customer":{"id":"c"}`)},
		{name: "no email", body: with(`,"email":"ada@example.com"`, ""), detail: "data.customer.email is required"},
		{name: "no name", body: with(`"name":"Ada",`, ""), detail: "data.customer.name is required"},
		{name: "customer text", body: with(customer, `"customer":"c"`), detail: "data.customer must be an object"},
		{name: "customer id", body: with(customer, `"customer":{"id":7}`), detail: "data.customer.id must be a string"},
		{name: "nobody", body: with(customer+",", ""), detail: "data.customer or data.contact is required"},
		{name: "account", body: with(customer, `"account":{"id":"a"},`+account)},
		{name: "no account", body: with(customer, account), detail: "data.account must be an object"},
		{name: "account id", body: with(customer, `"account":{"id":1},`+account), detail: "data.account.id is required"},
		{name: "no contact", body: with(customer, `"account":{"id":"a"}`), detail: "data.contact is required"},
		{name: "no billing", body: with(`"billing_address":`+address+`,`, ""), detail: "data.billing_address must be"},
		{name: "no shipping", body: with(`,"shipping_address":`+address, ""), detail: "data.shipping_address must be"},
		{name: "no country", body: with(`"country":"GB",`, ""), detail: "data.billing_address.country is required"},
		{name: "postcode", body: with(`"postcode":"1"`, `"postcode":1`), detail: "address.postcode is required"},
		{name: "region", body: with(`"county":"X"`, `"region":"X","line_2":null`)},
		{name: "neither", body: with(`"county":"X"`, `"city":"X"`), detail: "must have a region or a county"},
		{name: "city", body: with(`"county":"X"`, `"county":"X","city":7`), detail: "address.city must be a string"},
		{name: "number", body: checkout(`"order_number":7,`), detail: "data.order_number must be a string"},
		{name: "ref", body: checkout(`"external_ref":7,`), detail: "data.external_ref must be a string"},
		{
			name: "long ref", body: checkout(`"external_ref":"` + strings.Repeat("x", 65) + `",`),
			detail: "data.external_ref must have at most 64 characters",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, want := newCart(t, commercetest.Config{}), map[bool]int{true: 201, false: 400}[tt.detail == ""]
			resp := send(t, store, post(checkoutPath, tt.body))
			if resp.Status != want || !strings.Contains(resp.Body, tt.detail) || len(store.Orders()) != want%2 {
				t.Errorf("got %d %s, and %d orders, want %d %s", resp.Status, resp.Body, len(store.Orders()), want, tt.detail)
			}
		})
	}
	store := commercetest.NewStore(commercetest.Config{})
	wantJSON(t, send(t, store, post("/v2/carts/none/checkout", checkout(""))), 400,
		`{"errors":[{"status":"400","title":"Bad Request","detail":"The cart is empty"}]}`)
	wantEqual(t, "carts", len(store.Carts()), 0)
}

// threeOrders returns a store with three orders. The second is of account1, whose token it returns.
func threeOrders(t *testing.T) (store *commercetest.Store, token string) {
	t.Helper()
	store = newCart(t, commercetest.Config{MaxPage: 2})
	send(t, store, postForm(implicitForm))
	token = store.AccountToken(uuid.MustParse(account1))
	ofAccount := strings.Replace(checkout(`"external_ref":"b",`), customer, `"contact":{"name":"n","email":"e"}`, 1)
	for _, raw := range []string{
		post(checkoutPath, checkout(`"external_ref":"a",`)), shopper(post(checkoutPath, ofAccount), token),
		post(checkoutPath, checkout(`"external_ref":"a","order_number":"7",`)),
	} {
		wantEqual(t, "status", send(t, store, raw).Status, 201)
	}
	return store, token
}

// Orders can be filtered and walked.
func TestListOrders(t *testing.T) {
	t.Parallel()
	store, _ := threeOrders(t)
	for _, tt := range []struct {
		filter string
		refs   string // of the page
		total  int
	}{
		{filter: "", refs: "ab", total: 3},
		{filter: "eq(external_ref,a)", refs: "aa", total: 2},
		{filter: "eq(external_ref,A)"},
		{filter: "eq(order_number,7)", refs: "a", total: 1},
		{filter: "eq(account_id," + account1 + ")", refs: "b", total: 1},
		{filter: "eq(status,incomplete):eq(payment,unpaid)", refs: "ab", total: 3},
		{filter: "eq(payment,paid)"},
		{filter: "eq(name,Ada)", total: -1},
		{filter: "in(external_ref,a)", total: -1},
	} {
		path := ordersPath + "?filter=" + tt.filter
		if tt.filter == "" {
			path = ordersPath
		}
		resp := send(t, store, get(path))
		if tt.total < 0 {
			wantEqual(t, tt.filter, resp.Status, http.StatusBadRequest)
			continue
		}
		var list struct {
			Data []struct {
				Ref string `json:"external_ref"`
			}
			Meta struct{ Results struct{ Total int } }
		}
		if err := json.Unmarshal([]byte(resp.Body), &list); err != nil {
			t.Fatal(err)
		}
		refs := ""
		for _, o := range list.Data {
			refs += o.Ref
		}
		wantEqual(t, tt.filter, fmt.Sprint(refs, list.Meta.Results.Total), fmt.Sprint(tt.refs, tt.total))
	}
	records, err := commerce.Collect(commerce.Walk(t.Context(), store.Client(), commerce.OffsetList[struct{ ID string }]{
		Path: []string{"v2", "orders"}, ID: func(r *struct{ ID string }) string { return r.ID },
	}))
	wantEqual(t, "walked", fmt.Sprint(len(records), err), "3 <nil>")
}

// A shopper sees only the orders of an account.
func TestListOrders_account(t *testing.T) {
	t.Parallel()
	store, token := threeOrders(t)
	own, other := store.Orders()[1].ID.String(), store.Orders()[0].ID.String()
	wantEqual(t, "of the account", orderIDs(t, send(t, store, shopper(get(ordersPath), token))), []string{own})
	for _, path := range []string{"", "/" + own} {
		wantEqual(t, "without an account", send(t, store, shopper(get(ordersPath+path), "")).Status, 403)
	}
	wantEqual(t, "own", send(t, store, shopper(get(ordersPath+"/"+own), token)).Status, 200)
	wantJSON(t, send(t, store, shopper(get(ordersPath+"/"+other), token)), 404,
		`{"errors":[{"status":"404","title":"Not Found","detail":"Order not found"}]}`)
}

// A checkout whose response is lost makes an order; a late one makes it later.
func TestCheckout_faults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCart(t, commercetest.Config{})
		defer store.Close()
		path := []string{"v2", "carts", cartID, "checkout"}
		for i, f := range []fault{
			{Status: 400}, {Apply: true, Cut: true}, {Apply: true, Status: 502}, {Late: true, Delay: time.Minute, Cut: true},
		} {
			f.Operation = commercetest.OpCheckout
			store.Inject(f)
			_, err := store.Client().Do(t.Context(), "POST", path, nil, json.RawMessage(checkout("")), nil)
			if err == nil || errors.Is(err, commerce.ErrOutcomeUnknown) != (i > 0) {
				t.Errorf("fault %d: error = %v", i, err)
			}
			wantEqual(t, fmt.Sprintf("orders after fault %d", i), len(store.Orders()), min(i, 2))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		wantEqual(t, "orders after the late one", len(store.Orders()), 3)
	})
}
