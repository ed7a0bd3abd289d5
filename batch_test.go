package commerce_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// batchCall is a call of AddCustomDiscounts, and the response to it.
type batchCall struct {
	sent           []commerce.NewCustomDiscount
	allOrNothing   bool
	status         int
	body, encoding string
	sentTwice      bool // by the transport, which returns one response
}

// do makes the call. It checks that the outcome, the result and the error agree, and that
// only a refusal that says so is sent again.
func (b *batchCall) do(t *testing.T) (*commerce.AddCustomDiscountsResult, commerce.Outcome) {
	t.Helper()
	requests := 0
	c := newClient(t, roundTripper(func(req *http.Request) (*http.Response, error) {
		requests++
		if hooks := httptrace.ContextClientTrace(req.Context()); b.sentTwice {
			hooks.WroteHeaderField("Host", []string{"store.example"})
			hooks.WroteHeaderField("Host", []string{"store.example"})
		}
		return respond(b.status, b.body, "X-Request-Id", "req-1", "Content-Encoding", b.encoding)(req)
	}), attempts(2))
	opts := &commerce.AddCustomDiscountsOptions{AllOrNothing: b.allOrNothing, AllowRepeated: true}
	result, err := c.Carts.AddCustomDiscounts(t.Context(), cartID, b.sent, opts)
	outcome, is2xx := commerce.OutcomeOf(err), b.status >= 200 && b.status <= 299

	wantRequests := 1
	if outcome == commerce.OutcomeRejected && slices.Contains([]int{421, 425, 429}, b.status) {
		wantRequests = 2
	}
	if requests != wantRequests {
		t.Errorf("got %d requests with outcome %v, want %d", requests, outcome, wantRequests)
	}
	if outcome == commerce.OutcomeApplied {
		if err != nil || !is2xx || len(result.Errors)+len(result.Unconfirmed) > 0 || len(result.Added) != len(b.sent) {
			t.Errorf("got result %+v, error %v, want all discounts added", result, err)
		}
	} else {
		checkError(t, err, commerce.Error{
			Op: "Carts.AddCustomDiscounts", StatusCode: b.status, Outcome: outcome, Attempts: requests,
		})
	}
	isPartial := outcome == commerce.OutcomePartial
	if (result != nil) != (isPartial || outcome == commerce.OutcomeApplied) {
		t.Fatalf("got result %+v with outcome %v", result, outcome)
	}
	if result != nil {
		if resp := result.Response; len(result.Added) == 0 || resp.StatusCode != b.status || resp.RequestID != "req-1" {
			t.Errorf("got result %+v, want added discounts, and the status and request id of the response", result)
		}
		text, n := fmt.Sprint(err), len(b.sent)
		want := fmt.Sprintf("Carts.AddCustomDiscounts: %d of %d discounts added", n-len(result.Unconfirmed), n) // no status
		if strings.Contains(text, want) != isPartial || strings.Contains(text, "sent them twice") != b.sentTwice {
			t.Errorf("error %s with outcome %v, want %s: %t, and sent twice: %t", text, outcome, want, isPartial, b.sentTwice)
		}
	}
	for sentinel, want := range map[error]bool{
		commerce.ErrOutcomeUnknown: outcome == commerce.OutcomeUnknown,
		commerce.ErrPartialFailure: isPartial,
		commerce.ErrNotFound:       !isPartial && b.status == 404,
		commerce.ErrRateLimited:    !isPartial && b.status == 429,
		commerce.ErrServer:         !isPartial && b.status >= 500,
		commerce.ErrBadResponse:    outcome == commerce.OutcomeUnreadable || !isPartial && b.status >= 300 && b.status <= 399,
	} {
		if got := errors.Is(err, sentinel); got != want {
			t.Errorf("errors.Is(%v, %v) = %t, want %t", err, sentinel, got, want)
		}
	}
	if outcome == commerce.OutcomeUnreadable && !is2xx || outcome == commerce.OutcomeUnknown && is2xx {
		t.Errorf("got outcome %v with status %d", outcome, b.status)
	}
	return result, outcome
}

// withoutReasons returns the unconfirmed discounts without their reasons.
func withoutReasons(result *commerce.AddCustomDiscountsResult) (list []commerce.NewCustomDiscount) {
	for _, d := range result.Unconfirmed {
		list = append(list, d.NewCustomDiscount)
	}
	return list
}

// outcomeRow is a response to a batch. Its body is written with the names of outcomeTexts.
type outcomeRow struct {
	name, sent   string // external ids; "": one discount, a
	allOrNothing bool
	status       int
	body         string
	encoding     string
	sentTwice    bool
	added        int
	unconfirmed  string // external ids
}

var outcomeTexts = strings.NewReplacer(
	"$again", `{"type":"custom_discount","id":"e09030b0-cdcd-4c47-b889-adbf690c537a","external_id":"a"}`,
	"$a", `{"type":"custom_discount","id":"f09030b0-cdcd-4c47-b889-adbf690c537a","external_id":"a"}`,
	"$b", `{"type":"custom_discount","id":"d09030b0-cdcd-4c47-b889-adbf690c537a","external_id":"b"}`,
	"$x", `{"type":"custom_discount","id":"c09030b0-cdcd-4c47-b889-adbf690c537a"}`,
	"$y", `{"type":"custom_discount","id":"b09030b0-cdcd-4c47-b889-adbf690c537a"}`,
	"$id", `"id":"`+itemID+`"`,
	"$failed", `{"status":404,"title":"Custom discount not added to cart item.","meta":{"id":"`+itemID+`"}}`,
)

// outcomeRows are the table of outcomes in AddCustomDiscounts, in detail.
var outcomeRows = map[commerce.Outcome][]outcomeRow{
	commerce.OutcomeApplied: {
		{name: "all", sent: "a b", status: 201, body: `{"data":[$a,$b]}`, added: 2},
		{name: "200", status: 200, body: `{"data":[$a],"options":{"add_all_or_nothing":false}}`, added: 1},
		{name: "data is an object", status: 201, body: `{"data":$a}`, added: 1},
		{name: "errors: [0]", status: 201, body: `{"data":[$a],"errors":[0]}`, added: 1},
		{name: "errors are empty objects", status: 201, body: "{\"data\":[$a],\"errors\":[{ },{\n}]}", added: 1},
		{name: "no external ids", sent: "a b", status: 201, body: `{"data":[$x,$y]}`, added: 2},
		{name: "one without external id", sent: "a b", status: 201, body: `{"data":[$x,$a]}`, added: 2},
		{name: "one external id twice", sent: "a a", status: 201, body: `{"data":[$a,$again]}`, added: 2},
		{name: "one discount listed twice", status: 201, body: `{"data":[$a,$a]}`, added: 1},
		{name: "wrong Content-Encoding", status: 201, encoding: "utf-8", body: `{"data":[$a]}`, added: 1},
	},
	commerce.OutcomePartial: {
		{name: "one id twice, one added", sent: "a a", status: 201, body: `{"data":[$a]}`, added: 1, unconfirmed: "a"},
		{name: "one listed twice, two sent", sent: "a a", status: 201, body: `{"data":[$a,$a]}`, added: 1, unconfirmed: "a"},
		{name: "an error", sent: "a b", status: 201, body: `{"data":[$a],"errors":[$failed]}`, added: 1, unconfirmed: "b"},
		{name: "one not mentioned", sent: "a b", status: 201, body: `{"data":[$b]}`, added: 1, unconfirmed: "a"},
		{name: "too few without external id", sent: "a b", status: 201, body: `{"data":[$x]}`, added: 1, unconfirmed: "a b"},
		{name: "another external id", status: 201, body: `{"data":[$b]}`, added: 1, unconfirmed: "a"},
		{name: "more than were sent", status: 201, body: `{"data":[$a,$again,$b]}`, added: 3},
		{name: "all, and an error", status: 201, body: `{"data":[$a],"errors":[$failed]}`, added: 1},
		{name: "all, and Errors", status: 201, body: `{"data":[$a],"Errors":[$failed]}`, added: 1},
		{name: "all, and an error of text", status: 201, body: `{"data":[$a],"errors":["oops"]}`, added: 1},
		{name: "all, and an odd error", status: 201, body: `{"data":[$a],"errors":[{ },{"\u0061":1}]}`, added: 1},
		{name: "Data", sent: "a b", status: 201, body: `{"Data":[$a],"Errors":[$failed]}`, added: 1, unconfirmed: "b"},
		{name: "404", sent: "a b", status: 404, body: `{"data":[$a],"errors":[$failed]}`, added: 1, unconfirmed: "b"},
		{name: "500 with all", status: 500, body: `{"data":[$a]}`, added: 1},
		{name: "429", sent: "a b", status: 429, body: `{"data":[$a]}`, added: 1, unconfirmed: "b"},
		{name: "sent twice", sentTwice: true, status: 201, body: `{"data":[$a]}`, added: 1},
		{name: "b failed", sent: "a b", status: 201, body: `{"data":[$a,{"error":"b"}]}`, added: 1, unconfirmed: "b"},
		{name: "no id", sent: "a b", status: 201, body: `{"data":[$a,{"external_id":"b"}]}`, added: 1, unconfirmed: "b"},
		{name: "all, and an error in data", status: 201, body: `{"data":[$a,{"Error":"no"}]}`, added: 1},
	},
	commerce.OutcomeRejected: {
		{name: "as many errors as sent", sent: "a b", status: 201, body: `{"data":[],"errors":[$failed,$failed]}`},
		{name: "all or nothing", sent: "a b", allOrNothing: true, status: 200, body: `{"data":[],"errors":[$failed]}`},
		{
			name: "all or nothing in the response", sent: "a b", status: 200,
			body: `{"errors":[$failed],"options":{"add_all_or_nothing":true}}`,
		},
		{name: "400", status: 400, body: `{"errors":[{"title":"Bad Request","detail":"Custom discounts not enabled"}]}`},
		{name: "403 HTML", status: 403, body: `<html class="data">`},
		{name: "404 with empty data", status: 404, body: `{"data":[],"errors":[$failed]}`},
		{name: "422", status: 422, body: `{"errors":[{"status":"422","title":"Limit Reached"}]}`},
		{name: "422, empty array", status: 422, body: ` [ ] `},
		{name: "422, errors with external id", status: 422, body: `{"errors":[{"meta":{"external_id":"a"}}]}`},
		{name: "422, errors with type", status: 422, body: `{"errors":[{"type":"custom_discount"}]}`},
		{name: "422, other JSON", status: 422, body: `{"message":"no","type":"about:blank"}`},
		{name: "422, JSON string", status: 422, body: `"no"`},
		{name: "422, identity", status: 422, encoding: "identity", body: `{}`},
		{name: "422, gzip that was removed", status: 422, encoding: "gzip", body: `{}`},
		{name: "422, plain text", status: 422, body: `too many discounts`},
		{name: "429", status: 429, body: `<html class="data">`},
		{name: "499", status: 499},
		{name: "307", status: 307},
		{name: "308", status: 308},
	},
	commerce.OutcomeUnreadable: {
		{name: "fewer errors than sent", sent: "a b", status: 200, body: `{"data":[],"errors":[$failed]}`},
		{name: "all or nothing, nothing and no error", allOrNothing: true, status: 200, body: `{"data":[]}`},
		{name: "errors twice", status: 201, body: `{"data":[],"errors":[$failed],"errors":[]}`},
		{name: "errors: 0", status: 201, body: `{"data":[],"errors":0}`},
		{name: "200, br", status: 200, encoding: "br", body: `{"data":[],"errors":[$failed]}`},
		{name: "data without discounts", status: 201, body: `{"data":[{$id,"type":"cart_item"},null,5,{}]}`},
		{name: "data with an id only", status: 202, body: `{"data":{$id,"name":"My Cart"}}`},
		{name: "data twice", status: 201, body: `{"data":[],"data":[$a]}`},
		{name: "data and Data", status: 201, body: `{"data":[],"Data":[$a],"errors":[$failed]}`},
		{name: "no identity", status: 201, body: `{"data":[{"type":"custom_discount","id":"01JA"}],"errors":[$failed]}`},
		{name: "a name twice", status: 201, body: `{"data":[{$id,"external_id":"a","external_id":"b"}]}`},
		{name: "array in data", status: 201, body: `{"data":[[$a]],"errors":[$failed]}`},
		{name: "in another member", status: 201, body: `{"custom_discounts":[$a],"errors":[$failed]}`},
		{name: "refused, sent twice", sentTwice: true, status: 200, body: `{"errors":[$failed]}`},
		{name: "truncated", status: 201, body: `{"data":[$a]`},
		{name: "no id", status: 201, body: `{"data":[{"type":"custom_discount","external_id":"a"}]}`},
		{name: "an error", allOrNothing: true, status: 201, body: `{"data":{"external_id":"a",$id,"error":"no"}}`},
	},
	commerce.OutcomeUnknown: {
		{name: "404, sent twice", sentTwice: true, status: 404},
		{name: "429, sent twice", sentTwice: true, status: 429},
		{name: "302", status: 302},
		{name: "408", status: 408},
		{name: "500", status: 500, body: `{"errors":[{"status":500,"title":"Internal Server Error"}]}`},
		{name: "400, data is text", status: 400, body: `{"data":"","errors":[{"title":"A"}]}`},
		{name: "422, data is empty", status: 422, body: `{"data":{}}`},
		{name: "404, data with an id only", status: 404, body: `{"data":{$id}}`},
		{name: "400, no identity", status: 400, body: `{"data":[{"type":"custom_discount","id":"01JA"}],"errors":[$failed]}`},
		{name: "429, no identity", status: 429, body: `{"data":[{"type":"custom_discount","amount":{"amount":-1}}]}`},
		{name: "429, another type", status: 429, body: `{"data":[{"type":"discount",$id}]}`},
		{name: "422, array of others", status: 422, body: `[{"a":1}]`},
		{name: "422, the start of an array", status: 422, body: ` [ `},
		{name: "429, an array and more", status: 429, body: `[]]`},
		{name: "400, another member", status: 400, body: `{"custom_discounts":[$a]}`},
		{name: "422, type deep within", status: 422, body: `{"a":[{"b":{"type":"Custom_Discounts"}}]}`},
		{name: "422, code deep within", status: 422, body: `{"a":[{"b":{"discount_code":null}}]}`},
		{name: "422, engine deep within", status: 422, body: `{"a":[[{"Discount_Engine":"e"}]]}`},
		{name: "422, an error in data", status: 422, body: `{"data":[{"external_id":"a","errors":["no"]}]}`},
		{name: "404, truncated", sent: "a b", status: 404, body: `{"data":[$a],"err`},
		{name: "422, UTF-16", status: 422, body: "\xff\xfe{\x00}\x00"},
		{name: "422, UTF-16 without a mark", status: 422, body: "\x00{\x00}"},
		{name: "422, deflate", status: 422, encoding: "deflate", body: "\x4b\x4c"},
		{name: "422, gzip that was not removed", status: 422, encoding: "gzip", body: "\x1f\x8b\x08"},
	},
}

func TestAddCustomDiscounts_outcome(t *testing.T) {
	t.Parallel()
	for want, rows := range outcomeRows {
		for _, tt := range rows {
			t.Run(fmt.Sprintf("%v: %s", want, tt.name), func(t *testing.T) {
				t.Parallel()
				sent := strings.Fields(tt.sent)
				if tt.sent == "" {
					sent = []string{"a"}
				}
				call := batchCall{
					sent: discounts(sent...), allOrNothing: tt.allOrNothing,
					status: tt.status, body: outcomeTexts.Replace(tt.body), encoding: tt.encoding,
					sentTwice: tt.sentTwice,
				}
				result, got := call.do(t)
				if got != want {
					t.Fatalf("outcome = %v, want %v; body %s", got, want, call.body)
				}
				if result != nil {
					diff(t, "unconfirmed", withoutReasons(result), discounts(strings.Fields(tt.unconfirmed)...))
					if len(result.Added) != tt.added {
						t.Errorf("got %d added, want %d: %+v", len(result.Added), tt.added, result.Added)
					}
				}
			})
		}
	}
}

// The response that the service's documentation shows as an example.
func TestAddCustomDiscounts_documentedResponse(t *testing.T) {
	t.Parallel()
	const body = `{"data":[{"type":"custom_discount","id":"f09030b0-cdcd-4c47-b889-adbf690c537a",
	  "external_id":"cart discount 1","discount_engine":"Custom Discount Engine",
	  "amount":{"amount":-1000,"currency":"USD","formatted":"-$10.00"},
	  "description":"custom discount description","discount_code":"10 off cart"}],
	 "errors":[{"status":404,"title":"Custom discount not added to cart item.",
	  "detail":"Cart Item is not present in the cart.","meta":{"id":"` + itemID + `"}}],"meta":{"new":1.0}}`
	sent := discounts("cart discount 1", "other")
	sent[0].DiscountEngine = "Custom Discount Engine"
	call := batchCall{sent: sent, status: 201, body: body}
	result, outcome := call.do(t)
	if outcome != commerce.OutcomePartial {
		t.Fatalf("outcome = %v, want partial", outcome)
	}
	diff(t, "added", result.Added, []commerce.CustomDiscount{{
		ID: uuid.MustParse("f09030b0-cdcd-4c47-b889-adbf690c537a"), Type: "custom_discount",
		Amount:      commerce.Money{Amount: commerce.NewDecimal(-1000), Currency: "USD", Formatted: "-$10.00"},
		Description: "custom discount description", DiscountCode: "10 off cart",
		DiscountEngine: "Custom Discount Engine", ExternalID: "cart discount 1",
	}})
	diff(t, "errors", result.Errors, []commerce.ErrorObject{{
		Status: 404, Title: "Custom discount not added to cart item.", Detail: "Cart Item is not present in the cart.",
		Meta: commerce.ErrorMeta{ID: itemID},
	}})
	diff(t, "unconfirmed", result.Unconfirmed, []commerce.UnconfirmedDiscount{{NewCustomDiscount: discount("other")}})
	diff(t, "extra", result.Extra, commerce.Extra{"meta": json.RawMessage(`{"new":1.0}`)})
}

// The reasons of a discount that was not added are the entries about its item, and those
// about no item.
func TestAddCustomDiscounts_reasons(t *testing.T) {
	t.Parallel()
	const (
		otherID  = "e09030b0-cdcd-4c47-b889-adbf690c537a"
		notFound = `{"title":"Custom discount not added","detail":"Cart Item is not present","meta":{"id":"` + itemID + `"}}`
		mismatch = `{"title":"Mismatch of item type","meta":{"id":"E09030B0-CDCD-4C47-B889-ADBF690C537A"}}`
		limit    = `{"title":"Limit Reached","detail":"Custom discount limit reached for this cart"}`
	)
	batch := discounts("a", "b", "c", "d")
	batch[2].Item = &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse(itemID)}
	batch[3].Item = &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse(otherID)}
	body := outcomeTexts.Replace(`{"data":[$a],"errors":[` + limit + `,` + notFound + `,` + mismatch + `]}`)
	c := newStub(t, respond(201, body)).client(t)
	result, err := c.Carts.AddCustomDiscounts(t.Context(), cartID, batch, nil)
	if !errors.Is(err, commerce.ErrPartialFailure) {
		t.Fatalf("error %v, want ErrPartialFailure", err)
	}
	got := map[string][]error{} // external id to reasons
	for _, d := range result.Unconfirmed {
		for _, o := range d.Reasons {
			got[d.ExternalID] = append(got[d.ExternalID], o.Reason())
		}
	}
	want := map[string][]error{
		"b": {commerce.ErrDiscountLimit},
		"c": {commerce.ErrDiscountLimit, commerce.ErrCartItemNotFound},
		"d": {commerce.ErrDiscountLimit, commerce.ErrItemTypeMismatch},
	}
	if d := cmp.Diff(want, got, cmpopts.EquateErrors()); d != "" {
		t.Errorf("reasons (-want +got):\n%s", d)
	}
	checkIs(t, err, []error{commerce.ErrDiscountLimit, commerce.ErrCartItemNotFound, commerce.ErrItemTypeMismatch},
		[]error{commerce.ErrEmptyCart, commerce.ErrNotFound})
}

// inlineForms are members of an element of data, and the titles and details of their errors.
var inlineForms = map[string][]string{
	`"error":"oops"`:                               {"oops"},
	`"error":{"title":"oops"}`:                     {"oops"},
	`"ERROR":["oops",{"detail":"no"}]`:             {"oops", "no"},
	`"errors":[{"title":"oops"},"no"]`:             {"oops", "no"},
	`"errors":{"title":"oops","status":422}`:       {"oops"},
	`"Errors":"oops","errors":[]`:                  {"oops"},
	`"title":"oops","status":"422"`:                {"oops"},
	`"Title":"oops","title":"","status":422`:       {"oops"},
	`"status":422,"title":"no","errors":["oops"]`:  {"oops", "no"},
	`"status":"422","detail":"oops"`:               {"oops"},
	`"error":"","errors":[],"title":"","status":0`: nil,
	`"error":null,"errors":{},"title":"summer"`:    nil,
	`"error":false,"errors":[null,{}],"status":1`:  nil,
}

func texts(entries []commerce.ErrorObject) (list []string) {
	for _, o := range entries {
		list = append(list, o.Title+o.Detail)
	}
	return list
}

// An element of data with an error is no discount that was added. Its errors are the reasons of the
// unconfirmed discount with its external id, or of all if it has none.
func TestAddCustomDiscounts_inlineErrors(t *testing.T) {
	t.Parallel()
	const item = `"relationships":{"item":{"data":{"type":"cart_item",$id}}},`
	for form, want := range inlineForms {
		for element, isOfB := range map[string]bool{
			`"external_id":" B ",` + item: true, `"External_ID":"b",`: true, `"external_id":"",`: false, item: false,
		} {
			call := batchCall{sent: discounts("a", "b", "c"), status: 201}
			call.body = outcomeTexts.Replace(`{"data":[$a,{"type":"custom_discount",$id,` + element + form + `}]}`)
			if want == nil { // it is a discount, of another key
				call.sent = discounts("a", "c", "d", "e")
			}
			result, outcome := call.do(t)
			if outcome != commerce.OutcomePartial || len(result.Added) == 2 != (want == nil) || len(result.Unconfirmed) < 2 {
				t.Fatalf("%s: got outcome %v, result %+v, want partial", call.body, outcome, result)
			}
			diff(t, "errors of "+call.body, texts(result.Errors), want)
			for _, d := range result.Unconfirmed {
				reasons := want
				if isOfB && d.ExternalID != "b" {
					reasons = nil
				}
				diff(t, "reasons of "+d.ExternalID+" in "+call.body, texts(d.Reasons), reasons)
			}
		}
	}
}

// checkIs checks that err matches the first errors, and not the others.
func checkIs(t *testing.T, err error, is, not []error) {
	t.Helper()
	for _, target := range is {
		if !errors.Is(err, target) {
			t.Errorf("error %v does not match %v", err, target)
		}
	}
	for _, target := range not {
		if errors.Is(err, target) {
			t.Errorf("error %v matches %v", err, target)
		}
	}
}

// Two engines use the same external id. The response names one of them.
func TestAddCustomDiscounts_enginesShareAnID(t *testing.T) {
	t.Parallel()
	withEngine := func(engine string) commerce.NewCustomDiscount {
		return changed(func(d *commerce.NewCustomDiscount) { d.DiscountEngine = engine })[0]
	}
	for engine, unconfirmed := range map[string][]string{"f": {"e"}, "e": {"f"}, "": {"f"}, "other": {"e", "f"}} {
		call := batchCall{
			sent: []commerce.NewCustomDiscount{withEngine("e"), withEngine("f")}, status: 201,
			body: `{"data":[{"id":"` + discountID + `","external_id":"a","discount_engine":"` + engine + `"}]}`,
		}
		result, _ := call.do(t)
		var want []commerce.NewCustomDiscount
		for _, engine := range unconfirmed {
			want = append(want, withEngine(engine))
		}
		diff(t, "unconfirmed if "+engine+" is added", withoutReasons(result), want)
	}
}

// A response with more discounts than are read neither confirms nor refuses the batch.
func TestAddCustomDiscounts_limit(t *testing.T) {
	t.Parallel()
	const record = `{"id":"` + discountID + `","external_id":"0"}`
	for _, tt := range []struct {
		name, data, other string
		want              commerce.Outcome
	}{
		{name: "10,000", data: elements(10_000, record), want: commerce.OutcomeApplied},
		{name: "10,001", data: elements(10_001, record), want: commerce.OutcomeUnreadable},
		{name: "many other values", data: record, other: elements(600_000, `1`), want: commerce.OutcomeUnreadable},
	} {
		call := batchCall{sent: discounts("0"), status: 201, body: `{"data":[` + tt.data + `],"x":[` + tt.other + `]}`}
		if _, got := call.do(t); got != tt.want {
			t.Errorf("%s: outcome = %v, want %v", tt.name, got, tt.want)
		}
	}
}

// holdsInlineError reports whether encoding/json finds an error in an element of data. It misses
// those with no other letters than empty values have.
func holdsInlineError(body []byte) bool {
	var one struct{ Data map[string]any }
	var many struct{ Data []map[string]any }
	_, _ = json.Unmarshal(body, &one), json.Unmarshal(body, &many)
	return slices.ContainsFunc(append(many.Data, one.Data), func(element map[string]any) bool {
		has := map[string]bool{}
		for name, value := range element {
			name = strings.ToLower(name)
			has[name] = has[name] || strings.Trim(fmt.Sprint(value), "<nil> fasemp[:]0") != ""
		}
		return has["error"] || has["errors"] || has["title"] && has["status"]
	})
}

// Whatever the body, the outcome, the result and the error agree, a response in which encoding/json
// finds a discount is no rejection, and one with an error in data is no success.
func FuzzBatchBody(f *testing.F) {
	for _, rows := range outcomeRows {
		for _, row := range rows {
			f.Add(uint16(row.status), []byte(outcomeTexts.Replace(row.body)), uint8(len(row.sent)), row.allOrNothing)
		}
	}
	for _, body := range []string{
		`nul`, `{"":{`, `,`, "{\"\xd3data\":null}", `{"data":{"type":"custom_discount","id":"3b4de20a-%b3db0"}}`,
	} {
		f.Add(uint16(201), []byte(body), uint8(2), true)
	}
	f.Fuzz(func(t *testing.T, code uint16, body []byte, n uint8, allOrNothing bool) {
		sent := discounts("a", "b", "c", "d")[:1+n%4]
		call := batchCall{sent: sent, allOrNothing: allOrNothing, status: 200 + (int(code)+200)%400, body: string(body)}
		result, outcome := call.do(t)
		if outcome == commerce.OutcomePartial {
			for _, d := range result.Unconfirmed {
				if !slices.ContainsFunc(sent, func(s commerce.NewCustomDiscount) bool { return s == d.NewCustomDiscount }) {
					t.Errorf("unconfirmed, but not sent: %+v", d)
				}
			}
		}
		if outcome == commerce.OutcomeApplied && holdsInlineError(body) {
			t.Errorf("status %d is applied, but data has an error: %s", call.status, body)
		}
		var members map[string]json.RawMessage
		var data []map[string]json.RawMessage
		if outcome != commerce.OutcomeRejected || json.Unmarshal(body, &members) != nil ||
			json.Unmarshal(members["data"], &data) != nil {
			return
		}
		for _, d := range data {
			if string(d["type"]) == `"custom_discount"` {
				t.Errorf("status %d is rejected, but has a discount: %s", call.status, body)
			}
		}
	})
}
