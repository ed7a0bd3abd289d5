package commercetest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

type fault = commercetest.Fault

const ownStatus = 201 // of the store

var faultResponseTests = []struct {
	name      string
	fault     fault
	cut       bool   // before the first byte
	status    int    // 0 if cut
	body      string // of the fault; "" with ownStatus: ownBody
	bodyCut   bool
	discounts int // in the cart afterwards
}{
	{name: "nothing set", status: ownStatus, discounts: 1},
	{name: "status", fault: fault{Status: 503, NoBody: true}, status: 503},
	{name: "status, applied", fault: fault{Status: 504, Apply: true, NoBody: true}, status: 504, discounts: 1},
	{name: "status below 400", fault: fault{Status: 302}, status: 302},
	{name: "no body", fault: fault{Status: 200, NoBody: true}, status: 200},
	{name: "status and body", fault: fault{Status: 429, Body: "slow down"}, status: 429, body: "slow down"},
	{name: "object", fault: fault{Status: 429, Body: `{"errors":[]}`}, status: 429, body: `{"errors":[]}`},
	{name: "array", fault: fault{Status: 429, Body: "[]"}, status: 429, body: "[]"},
	{name: "no content", fault: fault{Status: 204, Body: "x"}, status: 204},
	{name: "switching protocols", fault: fault{Status: 101, Body: "x"}, status: 101},
	{name: "body", fault: fault{Body: "<html>"}, status: ownStatus, body: "<html>", discounts: 1},
	{
		name: "body, applied", fault: fault{Body: "<html>", Apply: true},
		status: ownStatus, body: "<html>", discounts: 1,
	},
	{name: "cut", fault: fault{Cut: true}, cut: true},
	{name: "cut, applied", fault: fault{Cut: true, Apply: true}, cut: true, discounts: 1},
	{
		name: "cut in the body of the store", fault: fault{Cut: true, CutAfter: 9},
		status: ownStatus, body: `{"data":[`, bodyCut: true, discounts: 1,
	},
	{
		name: "cut in the body of the fault", fault: fault{Cut: true, CutAfter: 2, Status: 500, Body: "12345"},
		status: 500, body: "12", bodyCut: true,
	},
	{
		name: "cut before the last byte", fault: fault{Cut: true, CutAfter: 99, Status: 500, Body: "12345"},
		status: 500, body: "1234", bodyCut: true,
	},
	{name: "cut without a body", fault: fault{Cut: true, CutAfter: 2, Status: 500}, cut: true},
}

// A status without a body has the one that the service, or a gateway, sends.
func TestFault_failure(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		400: `{"errors":[{"status":"400","title":"Bad Request"}]}`,
		401: `{"errors":{"status":"401","title":"Unable to validate access token"}}`, // of carts
		409: `{"errors":[{"status":"409","title":"Conflict","detail":"Write conflict detected"}]}`,
		422: `{"errors":[{"status":"422","title":"Unprocessable Entity"}]}`,
		429: "Too Many Requests\n",
		499: `{"errors":[{"status":"499","title":"Error"}]}`,
		500: `{"errors":[{"status":"500","title":"Internal Server Error"}]}`,
		502: "Bad Gateway\n", 503: "Service Unavailable\n", 504: "Gateway Timeout\n",
	} {
		store := commercetest.New(t, commercetest.Config{})
		store.Inject(fault{Status: status, Apply: true}, fault{Status: status, Late: true, Delay: time.Millisecond})
		for range 2 {
			resp := send(t, store, get("/v2/carts/c"))
			wantEqual(t, "status and body", fmt.Sprint(resp.Status, " ", resp.Body), fmt.Sprint(status, " ", want))
		}
	}
}

// The service has errors of another form for some operations.
func TestFault_failureForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		raw    string
		status int
		want   string
	}{
		{raw: get(settingsPath), status: 404, want: `{"errors":[{"status":404,"title":"Not Found"}]}`},
		{raw: get(settingsPath), status: 503, want: `{"errors":[{"status":503,"title":"Service Unavailable"}]}`},
		{raw: get(listPath), status: 401, want: `{"errors":[{"status":"401","title":"Unable to validate access token"}]}`},
		{
			raw: get("/v2/settings/cart"), status: 401,
			want: `{"errors":[{"status":"401","title":"Unable to validate access token"}]}`,
		},
		{raw: put("/v2/carts/c", `{"data":{}}`), status: 422, want: `{"status":422,"title":"Unprocessable Entity"}`},
	} {
		store := commercetest.New(t, commercetest.Config{})
		store.Inject(fault{Status: tt.status})
		wantEqual(t, "body", send(t, store, tt.raw).Body, tt.want)
	}
}

// The body of the store can be left out.
func TestFault_noBody(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	wantEqual(t, "numbers", fmt.Sprint(store.Inject(fault{NoBody: true}, fault{Status: 500})), "[1 2]")
	resp := send(t, store, get(settingsPath))
	wantEqual(t, "status and body", fmt.Sprint(resp.Status, " ", resp.Body), "200 ")
	err := (&fault{NoBody: true, Body: "x"}).Validate()
	if err == nil || !strings.Contains(err.Error(), "NoBody must not be set with Body") {
		t.Errorf("error = %v", err)
	}
}

// The state of a request is what a late write, and one in progress, are waited for by.
func TestOnState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		got := ""
		begin := time.Now()
		store := commercetest.New(t, commercetest.Config{OnState: func(s *commercetest.Store, in commercetest.Request) {
			mu.Lock()
			defer mu.Unlock()
			all := s.Requests()
			if listed := all[len(all)-1]; listed.State != in.State {
				t.Errorf("the list has %s, the call %s", listed.State, in.State)
			}
			got += fmt.Sprintf("%v %s %d, %d pending\n", time.Since(begin), in.State, in.Status, s.Pending())
		}})
		store.Inject(
			fault{Late: true, Delay: 2 * time.Second, Status: 504},
			fault{Late: true, Delay: 2 * time.Second},
			fault{Cut: true, Delay: time.Second},
			fault{Late: true, Delay: 2 * time.Second},
		)
		send(t, store, get(settingsPath))
		time.Sleep(time.Minute)
		send(t, store, get(settingsPath))
		_, _ = overRoundTripper(t, store.Transport(), get(settingsPath))
		if err := sendFor(t, time.Second, store); !errors.Is(err, context.DeadlineExceeded) { // it goes before the write
			t.Errorf("error = %v, want the end of the deadline", err)
		}
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		wantEqual(t, "states", got, "0s in_progress 0, 1 pending\n0s late 504, 1 pending\n2s ended 504, 0 pending\n"+
			"1m0s in_progress 0, 1 pending\n1m2s ended 200, 0 pending\n"+
			"1m2s in_progress 0, 1 pending\n1m3s ended 0, 0 pending\n"+
			"1m3s in_progress 0, 1 pending\n1m4s late 0, 1 pending\n1m5s ended 401, 0 pending\n")
	})
}

// sendFor reads the settings for a caller who goes after some time.
func sendFor(t *testing.T, patience time.Duration, store *commercetest.Store) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://store.example"+settingsPath, nil)
	if err != nil {
		return err
	}
	resp, err := store.Transport().RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	return err
}

// However a late write and the end of its caller meet, the last state is the end.
func TestOnState_order(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	last := map[string]commercetest.RequestState{}
	store := commercetest.New(t, commercetest.Config{OnState: func(_ *commercetest.Store, in commercetest.Request) {
		mu.Lock()
		defer mu.Unlock()
		last[in.ID] = in.State
	}})
	store.Inject(fault{Late: true, Delay: time.Millisecond, Times: -1})
	var callers sync.WaitGroup
	for range 200 {
		callers.Go(func() { _ = sendFor(t, time.Millisecond, store) })
	}
	callers.Wait()
	store.Close()
	for id, state := range last {
		if state != commercetest.StateEnded {
			t.Errorf("the last state of %s is %s", id, state)
		}
	}
}

// Each fault is met by a request that adds a discount. The body determines the
// Content-Type.
func TestFault_response(t *testing.T) {
	t.Parallel()
	contentTypes := map[string]string{ // of a gateway's response, by its body
		"<html>": "text/html; charset=utf-8", "slow down": "text/plain; charset=utf-8",
		`{"errors":[]}`: "application/json", "[]": "application/json",
	}
	ownBody := `{"data":[` + onCart("a").response(discountIDs[0]) + `],"options":{"add_all_or_nothing":false}}`
	for _, tt := range faultResponseTests {
		for _, sender := range senders {
			t.Run(tt.name+"/"+sender.name, func(t *testing.T) {
				t.Parallel()
				store := newCart(t, commercetest.Config{})
				store.Inject(tt.fault)
				resp, err := sender.send(t, store, addRequest(onCart("a")))
				if (err != nil) != tt.cut {
					t.Fatalf("error = %v, want one: %t", err, tt.cut)
				}
				wantEqual(t, "status", resp.Status, tt.status)
				if (resp.BodyErr != nil) != tt.bodyCut || tt.bodyCut && !errors.Is(resp.BodyErr, io.ErrUnexpectedEOF) {
					t.Errorf("reading the body: error = %v, want %v: %t", resp.BodyErr, io.ErrUnexpectedEOF, tt.bodyCut)
				}
				if tt.body == "" && tt.status == ownStatus && !tt.fault.NoBody {
					wantJSON(t, resp, ownStatus, ownBody)
				} else {
					wantEqual(t, "body", resp.Body, tt.body)
					if tt.body == tt.fault.Body {
						wantEqual(t, "Content-Type", resp.Header.Get("Content-Type"), contentTypes[tt.body])
					}
				}
				wantEqual(t, "discounts of the cart", len(store.Discounts(cartID)), tt.discounts)
				wantEqual(t, "requests recorded", len(store.Requests()), 1)
			})
		}
	}
}

// The header of a fault replaces that of the store.
func TestFault_header(t *testing.T) {
	t.Parallel()
	eachSender(t, func(t *testing.T, send sendFunc) {
		store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
		header := http.Header{"retry-after": {"7"}, "X-Request-Id": {"mine"}}
		store.Inject(fault{Status: 429, Header: header}, fault{Header: header})
		header.Set("X-Request-Id", "changed")
		for _, status := range []int{429, 200} {
			resp := send(store, get(settingsPath))
			wantEqual(t, "status", resp.Status, status)
			wantEqual(t, "Retry-After", resp.Header.Get("Retry-After"), "7")
			wantEqual(t, "X-Request-Id", resp.Header.Get("X-Request-Id"), "mine")
		}
		third := send(store, get(settingsPath)).Header
		wantEqual(t, "X-Request-Id without a fault", third.Get("X-Request-Id"), "commercetest-000003")
	})
}

// Faults are met in order, and as often as they say.
func TestInject(t *testing.T) {
	t.Parallel()
	type faults = []fault
	list, settings, token := get(listPath), get(settingsPath), postForm(validForm)
	for _, tt := range []struct {
		name     string
		faults   faults
		requests []string
		want     []int // statuses
	}{
		{name: "once", faults: faults{{Status: 500}}, requests: []string{list, list}, want: []int{500, 200}},
		{
			name: "twice", faults: faults{{Status: 500, Times: 2}},
			requests: []string{list, list, list}, want: []int{500, 500, 200},
		},
		{
			name: "always", faults: faults{{Status: 500, Times: -1}},
			requests: []string{list, list, list}, want: []int{500, 500, 500},
		},
		{
			name: "after two", faults: faults{{Status: 500, After: 2}},
			requests: []string{list, list, list, list}, want: []int{200, 200, 500, 200},
		},
		{
			name: "one after the other", faults: faults{{Status: 500}, {Status: 503}},
			requests: []string{list, list, list}, want: []int{500, 503, 200},
		},
		{
			name:     "After counts requests that meet other faults",
			faults:   faults{{Status: 503, After: 2}, {Status: 500, Times: 2}},
			requests: []string{list, list, list, list}, want: []int{500, 500, 503, 200},
		},
		{
			name: "two operations", requests: []string{list, settings, token, list, token}, want: []int{200, 200, 503, 500, 200},
			faults: faults{
				{Operation: commercetest.OpToken, Status: 503},
				{Operation: commercetest.OpList, Status: 500, After: 1},
			},
		},
		{
			name: "any operation", faults: faults{{Status: 500, Times: 4}},
			requests: []string{settings, token, list, get("/nowhere")}, want: []int{500, 500, 500, 500},
		},
		{
			name: "before the check of the token", faults: faults{{Status: 500}},
			requests: []string{strings.Replace(list, "commercetest-token", "x", 1)}, want: []int{500},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := newCart(t, commercetest.Config{})
			store.Inject(tt.faults...)
			var got []int
			for _, raw := range tt.requests {
				got = append(got, send(t, store, raw).Status)
			}
			wantEqual(t, "statuses", got, tt.want)
		})
	}
}

// operationRequest is a request for an operation, and its status without a fault.
type operationRequest struct {
	op     commercetest.Operation
	raw    string
	status int
}

// operationRequests are for a cart with one discount on the cart and one on the item.
func operationRequests() []operationRequest {
	const (
		discountPath     = cartPath + "/custom-discounts/" + firstID
		itemDiscountPath = itemPath + "/custom-discounts/" + secondID
		update           = `{"data":{"type":"custom_discount"}}`
		newDiscount      = `{"data":` + validDiscount + `}`
		newItem          = `{"data":{"type":"cart_item","id":"p","quantity":1}}`
	)
	return []operationRequest{
		{op: commercetest.OpAdd, raw: addRequest(onCart("a")), status: 201},
		{op: commercetest.OpAddItemDiscount, raw: post(itemPath+"/custom-discounts", newDiscount), status: 201},
		{op: commercetest.OpUpdateDiscount, raw: put(discountPath, update), status: 200},
		{op: commercetest.OpUpdateDiscount, raw: put(itemDiscountPath, update), status: 200},
		{op: commercetest.OpDeleteDiscount, raw: del(discountPath), status: 204},
		{op: commercetest.OpDeleteDiscount, raw: del(itemDiscountPath), status: 204},
		{op: commercetest.OpDeleteDiscounts, raw: del(cartPath + "/custom-discounts"), status: 204},
		{op: commercetest.OpCart, raw: get(cartPath), status: 200},
		{op: commercetest.OpCreateCart, raw: post("/v2/carts", `{"data":{}}`), status: 201},
		{op: commercetest.OpUpdateCart, raw: put(cartPath, `{"data":{}}`), status: 200},
		{op: commercetest.OpDeleteCart, raw: del(cartPath), status: 204},
		{op: commercetest.OpItems, raw: get(cartPath + "/items"), status: 200},
		{op: commercetest.OpAddItem, raw: post(cartPath+"/items", newItem), status: 201},
		{op: commercetest.OpUpdateItem, raw: put(itemPath, `{"data":{"quantity":3}}`), status: 200},
		{op: commercetest.OpDeleteItem, raw: del(itemPath), status: 200},
		{op: commercetest.OpDeleteItems, raw: del(cartPath + "/items"), status: 204},
		{op: commercetest.OpCheckout, raw: post(cartPath+"/checkout", checkout("")), status: 201},
		{op: commercetest.OpOrders, raw: get(ordersPath), status: 200},
		{op: commercetest.OpOrder, raw: get(ordersPath + "/" + absentItem), status: 404},
		{op: commercetest.OpAccounts, raw: get(accountsPath), status: 200},
		{op: commercetest.OpList, raw: get(listPath), status: 200},
		{op: commercetest.OpSubscription, raw: get(listPath + "/" + absentItem), status: 404},
		{op: commercetest.OpPlans, raw: get(listPath + "/" + absentItem + "/plans"), status: 404},
		{op: commercetest.OpProducts, raw: get(listPath + "/" + absentItem + "/products"), status: 404},
		{op: commercetest.OpPricingOptions, raw: get(listPath + "/" + absentItem + "/pricing-options"), status: 404},
		{op: commercetest.OpFeatures, raw: get(listPath + "/" + absentItem + "/features"), status: 404},
		{op: commercetest.OpSubscribers, raw: get("/v2/subscriptions/subscribers"), status: 200},
		{op: commercetest.OpInvoices, raw: get("/v2/subscriptions/invoices"), status: 200},
		{op: commercetest.OpStates, raw: get(listPath + "/" + absentItem + "/states"), status: 404},
		{op: commercetest.OpChangeState, raw: post(listPath+"/"+absentItem+"/states", newState("pause", "")), status: 404},
		{op: commercetest.OpState, raw: get(listPath + "/" + absentItem + "/states/s"), status: 404},
		{op: commercetest.OpCurrencies, raw: get("/v2/currencies"), status: 200},
		{op: commercetest.OpSettings, raw: get(settingsPath), status: 200},
		{op: commercetest.OpGetCartSettings, raw: get("/v2/settings/cart"), status: 200},
		{op: commercetest.OpCartSettings, raw: put("/v2/settings/cart", `{"data":{"type":"settings"}}`), status: 200},
		{op: commercetest.OpToken, raw: postForm(validForm), status: 200},
	}
}

func TestInject_operation(t *testing.T) {
	t.Parallel()
	requests := operationRequests()
	operations := map[commercetest.Operation]bool{}
	for _, r := range requests {
		operations[r.op] = true
	}
	wantEqual(t, "operations of operationRequests", slices.Sorted(maps.Keys(operations)), commercetest.Operations())
	for _, r := range requests {
		for _, want := range []int{r.status, 503} { // with a fault for each other operation, or for this one
			store := newCart(t, commercetest.Config{})
			send(t, store, addRequest(onCartA, item))
			for op := range operations {
				if (op == r.op) == (want == 503) {
					store.Inject(fault{Operation: op, Status: 503, Times: -1})
				}
			}
			wantEqual(t, fmt.Sprintf("status of %q", r.op), send(t, store, r.raw).Status, want)
			wantEqual(t, "operation", store.Requests()[1].Operation, r.op)
			wantEqual(t, "recorded status", store.Requests()[1].Status, want)
		}
	}
}

// A fault with Match leaves other requests alone, and After counts only its own.
func TestInject_match(t *testing.T) {
	t.Parallel()
	store := newCart(t, commercetest.Config{})
	store.Inject(fault{
		Operation: commercetest.OpCart, Status: 500, Times: -1, After: 1,
		Match: func(r commercetest.Request) bool {
			r.Header.Set("Accept", "changed")
			// Requests would block if the store were locked.
			return r.RawQuery == "x=1" && r.ID != "" && len(store.Requests()) > 0
		},
	})
	var got []int
	for _, target := range []string{cartPath, cartPath + "?x=1", cartPath, cartPath + "?x=1", settingsPath + "?x=1"} {
		got = append(got, send(t, store, get(target)).Status)
	}
	wantEqual(t, "statuses", got, []int{200, 200, 200, 500, 200})
	wantEqual(t, "recorded header", store.Requests()[0].Header.Get("Accept"), "application/json")
}

func TestInject_refusesStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{-1, 1, 100, 103, 199, 600} {
		store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
		if panicText(func() { store.Inject(fault{Status: status}) }) == "" {
			t.Errorf("Inject(Fault{Status: %d}) does not panic, want a panic", status)
		}
	}
}

// Faults that are cleared are gone for good; a late write of one comes nevertheless.
func TestClearFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newCart(t, commercetest.Config{})
		store.Inject(
			fault{Operation: commercetest.OpAdd, Status: 504, Late: true, Delay: time.Minute},
			fault{Status: 503, Times: -1},
		)
		wantEqual(t, "status with a fault", send(t, store, addRequest(onCartA)).Status, 504)
		store.ClearFaults()
		wantEqual(t, "status without a fault", send(t, store, get(cartPath)).Status, 200)
		time.Sleep(2 * time.Minute)
		wantEqual(t, "late discounts", len(store.Discounts(cartID)), 1)
		store.Inject(fault{Status: 500})
		wantEqual(t, "status with a new fault", send(t, store, get(cartPath)).Status, 500)
	})
}

func TestFault_delay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		fault     fault
		timeout   time.Duration // of the request
		wantErr   error
		discounts int
	}{
		{name: "waits", fault: fault{Delay: time.Minute}, timeout: time.Hour, discounts: 1},
		{name: "waits, then fails", fault: fault{Delay: time.Minute, Status: 500}, timeout: time.Hour},
		{
			name: "timeout before it is applied", fault: fault{Delay: time.Hour},
			timeout: time.Minute, wantErr: context.DeadlineExceeded,
		},
		{
			name: "timeout after it is applied", fault: fault{Delay: time.Hour, Apply: true},
			timeout: time.Minute, wantErr: context.DeadlineExceeded, discounts: 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := newCart(t, commercetest.Config{})
				store.Inject(tt.fault)
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()
				body := &trackedBody{Reader: strings.NewReader(bulk(false, onCart("a")))}
				start := time.Now()
				err := sendBody(ctx, t, store, body)
				if !errors.Is(err, tt.wantErr) {
					t.Errorf("error = %v, want %v", err, tt.wantErr)
				}
				wantEqual(t, "time", time.Since(start), time.Minute)
				wantEqual(t, "discounts of the cart", len(store.Discounts(cartID)), tt.discounts)
				wantEqual(t, "request body closed", body.closed, true)
			})
		})
	}
}

// sendBody sends the body of a bulk request over the transport of the store.
func sendBody(ctx context.Context, t *testing.T, store *commercetest.Store, body io.Reader) error {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://store.test"+cartPath+"/custom-discounts", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer commercetest-token")
	req.Header.Set("Content-Type", "application/json")
	resp, err := store.Transport().RoundTrip(req)
	if resp != nil {
		_ = resp.Body.Close()
	}
	return err
}

var lateTests = []struct {
	name      string
	fault     fault
	timeout   time.Duration // of the request; the fault has a Delay of an hour
	closed    bool          // the store is closed after the timeout
	wantErr   error
	waits     time.Duration // of the caller
	after     int           // discounts right after the response
	pending   int           // right after the response
	discounts int           // discounts in the end
	status    int           // recorded in the end
}{
	{name: "the caller waits", timeout: 2 * time.Hour, waits: time.Hour, after: 1, discounts: 1, status: 201},
	{
		name: "the caller has gone", timeout: time.Minute, waits: time.Minute,
		wantErr: context.DeadlineExceeded, pending: 1, discounts: 1, status: 201,
	},
	{name: "status", fault: fault{Status: 504}, timeout: time.Minute, pending: 1, discounts: 1, status: 504},
	{
		name: "status and cut in its body", fault: fault{Status: 504, Body: "<html>", Cut: true, CutAfter: 3},
		timeout: time.Minute, pending: 1, discounts: 1, status: 504,
	},
	{
		name: "cut", fault: fault{Cut: true}, timeout: time.Minute,
		wantErr: io.ErrUnexpectedEOF, pending: 1, discounts: 1,
	},
	{
		name: "cut in the body of the store", fault: fault{Cut: true, CutAfter: 3}, timeout: 2 * time.Hour,
		waits: time.Hour, after: 1, discounts: 1, status: 201,
	},
	{
		name: "applied at once", fault: fault{Apply: true}, timeout: time.Minute, waits: time.Minute,
		wantErr: context.DeadlineExceeded, after: 1, discounts: 1,
	},
	{
		name: "applied before a status", fault: fault{Apply: true, Status: 504}, timeout: 2 * time.Hour,
		waits: time.Hour, after: 1, discounts: 1, status: 504,
	},
	{
		name: "Close cancels", timeout: time.Minute, waits: time.Minute, closed: true,
		wantErr: context.DeadlineExceeded, pending: 1,
	},
	{
		name: "Close cancels after a status", fault: fault{Status: 504}, timeout: time.Minute, closed: true,
		pending: 1, status: 504,
	},
}

func TestFault_late(t *testing.T) {
	t.Parallel()
	for _, tt := range lateTests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				store := newCart(t, commercetest.Config{AfterRequest: func(*commercetest.Store, commercetest.Request) { calls++ }})
				tt.fault.Delay, tt.fault.Late = time.Hour, true
				store.Inject(tt.fault)
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()
				start := time.Now()
				if err := sendBody(ctx, t, store, strings.NewReader(bulk(false, onCart("a")))); !errors.Is(err, tt.wantErr) {
					t.Errorf("error = %v, want %v", err, tt.wantErr)
				}
				wantEqual(t, "time", time.Since(start), tt.waits)
				wantEqual(t, "discounts right after the response", len(store.Discounts(cartID)), tt.after)
				wantEqual(t, "Pending()", store.Pending(), tt.pending)
				if tt.closed {
					store.Close()
				} else {
					time.Sleep(time.Hour)
					synctest.Wait()
				}
				wantEqual(t, "Pending() in the end", store.Pending(), 0)
				wantEqual(t, "discounts in the end", len(store.Discounts(cartID)), tt.discounts)
				wantEqual(t, "recorded status", store.Requests()[0].Status, tt.status)
				wantEqual(t, "calls of AfterRequest", calls, 1)
			})
		})
	}
}

// A late write is applied although its connection was closed.
func TestFault_lateOverLoopback(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	client, err := commerce.New(store.URL(), commerce.WithToken(store.Config().Token))
	if err != nil {
		t.Fatal(err)
	}
	id := store.AddCart(commerce.CartItemRef{})
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	store.Inject(fault{Late: true, Delay: time.Millisecond, Match: func(commercetest.Request) bool {
		cancel()
		<-gone // the delay begins after the client has returned
		return true
	}})
	_, err = client.Carts.AddCustomDiscounts(ctx, id, newDiscounts("a"), nil)
	close(gone)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("AddCustomDiscounts: error = %v, want %v", err, context.Canceled)
	}
	waitForPending(store, 0)
	wantEqual(t, "discounts of the cart", len(store.Discounts(id)), 1)
}

// The response of a late write is sent before the write is applied.
func TestFault_lateAfterResponse(t *testing.T) {
	t.Parallel()
	for _, sender := range senders {
		t.Run(sender.name, func(t *testing.T) {
			t.Parallel()
			store := newCart(t, commercetest.Config{})
			t.Cleanup(store.Close)
			store.Inject(
				fault{Late: true, Delay: time.Hour, Status: 504}, // longer than the test
				fault{Late: true, Delay: time.Millisecond, Cut: true},
			)
			resp, err := sender.send(t, store, addRequest(onCart("a")))
			if err != nil || resp.Status != 504 {
				t.Errorf("first request: status %d, error = %v, want 504, nil", resp.Status, err)
			}
			if _, err := sender.send(t, store, addRequest(onCart("b"))); err == nil {
				t.Error("second request: error = nil, want a cut")
			}
			waitForPending(store, 1)
			wantEqual(t, "discounts", externalIDs(store.Discounts(cartID)), []string{"b"})
		})
	}
}

// waitForPending waits until at most n requests are in progress.
func waitForPending(store *commercetest.Store, n int) {
	for store.Pending() > n {
		runtime.Gosched()
	}
}
