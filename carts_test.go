package commerce_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"

	"github.com/commerce-go/commerce"
)

const (
	cartID = "0a8d0b6c-cart"
	itemID = "3b4de20a-ccd0-44e6-894f-628e7afb3db0"
)

// documented is the answer printed in the service's documentation.
const documented = `{"data":[{"type":"custom_discount","id":"f09030b0-cdcd-4c47-b889-adbf690c537a","external_id":"cart discount 1","discount_engine":"Custom Discount Engine",
  "amount":{"amount":-1000,"currency":"USD","formatted":"-$10.00"},"description":"custom discount description","discount_code":"10 off cart"}],
 "errors":[{"status":404,"title":"Custom discount not added to cart item.","detail":"Cart Item is not present in the cart.","meta":{"id":"3b4de20a-ccd0-44e6-894f-628e7afb3db0"}}]}`

func documentedDiscount() commerce.CustomDiscount {
	return commerce.CustomDiscount{
		ID: id("f09030b0-cdcd-4c47-b889-adbf690c537a"), Type: "custom_discount",
		Amount:      commerce.Money{Amount: commerce.NewDecimal(-1000), Currency: "USD", Formatted: "-$10.00"},
		Description: "custom discount description", DiscountCode: "10 off cart",
		DiscountEngine: "Custom Discount Engine", ExternalID: "cart discount 1",
	}
}

func TestAddCustomDiscounts_request(t *testing.T) {
	t.Parallel()
	item := &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: id(itemID)}
	plain := `{"type":"custom_discount","amount":-1000,"description":"ten off","discount_code":"TEN","discount_engine":"engine","external_id":"a"}`
	onItem := strings.TrimSuffix(plain, "}") + `,"relationships":{"item":{"data":{"type":"cart_item","id":"` + itemID + `"}}}}`
	tests := []struct {
		name      string
		discounts []commerce.NewCustomDiscount
		opts      *commerce.AddCustomDiscountsOptions
		body      string
	}{
		{"one on the cart, nil options", []commerce.NewCustomDiscount{discount("a")}, nil,
			`{"data":[` + plain + `],"options":{"add_all_or_nothing":false}}`},
		{"all or nothing", []commerce.NewCustomDiscount{discount("a")}, &commerce.AddCustomDiscountsOptions{AllOrNothing: true},
			`{"data":[` + plain + `],"options":{"add_all_or_nothing":true}}`},
		{"one on an item", []commerce.NewCustomDiscount{with(discount("a"), func(d *commerce.NewCustomDiscount) { d.Item = item })}, nil,
			`{"data":[` + onItem + `],"options":{"add_all_or_nothing":false}}`},
		{"a fractional amount", []commerce.NewCustomDiscount{with(discount("a"), func(d *commerce.NewCustomDiscount) { d.Amount = decimal(t, "-0.1") })}, nil,
			`{"data":[` + strings.Replace(plain, "-1000", "-0.1", 1) + `],"options":{"add_all_or_nothing":false}}`},
		{"the same id twice", []commerce.NewCustomDiscount{discount("a"), discount("a")}, nil,
			`{"data":[` + plain + `,` + plain + `],"options":{"add_all_or_nothing":false}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, answer(400, ""))
			_, err := s.client(t).Carts.AddCustomDiscounts(bg, cartID, tt.discounts, tt.opts)
			if !errors.Is(err, commerce.ErrBadRequest) {
				t.Errorf("error = %v", err)
			}
			diff(t, "requests", s.got(t), []request{{
				Method: "POST", Path: "/v2/carts/0a8d0b6c-cart/custom-discounts", Body: tt.body,
				Header: http.Header{
					"Accept": {"application/json"}, "Authorization": {"Bearer " + token}, "Content-Type": {"application/json"},
					"User-Agent": {"commerce-go/" + commerce.Version + " (" + runtime.Version() + ")"},
				},
			}})
		})
	}
}

func with(d commerce.NewCustomDiscount, change func(*commerce.NewCustomDiscount)) commerce.NewCustomDiscount {
	change(&d)
	return d
}

func decimal(t *testing.T, s string) commerce.Decimal {
	t.Helper()
	d, err := commerce.ParseDecimal(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAddCustomDiscounts_validation(t *testing.T) {
	t.Parallel()
	bad := commerce.NewCustomDiscount{Item: &commerce.CartItemRef{Type: "other"}}
	tests := []struct {
		name      string
		cart      string
		discounts []commerce.NewCustomDiscount
		want      []commerce.FieldError
	}{
		{"every fault of two items and the cart at once", "a/b", []commerce.NewCustomDiscount{bad, discount("fine"), with(discount("x"), func(d *commerce.NewCustomDiscount) { d.Description = " \n" })},
			[]commerce.FieldError{
				{Index: -1, Field: "cart id", Message: `must not contain white space, control characters, invalid UTF-8 or any of / \ ? # %`},
				{Index: 0, Field: "amount", Message: "must be less than zero"},
				{Index: 0, Field: "description", Message: "must not be empty"},
				{Index: 0, Field: "discount_code", Message: "must not be empty"},
				{Index: 0, Field: "discount_engine", Message: "must not be empty"},
				{Index: 0, Field: "external_id", Message: "must not be empty"},
				{Index: 0, Field: "relationships.item.data.type", Message: "must be cart_item or custom_item"},
				{Index: 0, Field: "relationships.item.data.id", Message: "must not be the zero UUID"},
				{Index: 2, Field: "description", Message: "must not be empty"},
			}},
		{"no discounts, empty cart id", "", nil, []commerce.FieldError{
			{Index: -1, Field: "cart id", Message: "must not be empty"}, {Index: -1, Field: "discounts", Message: "must hold at least one"},
		}},
		{"amount above zero", "c", []commerce.NewCustomDiscount{with(discount("x"), func(d *commerce.NewCustomDiscount) { d.Amount = commerce.NewDecimal(1) })},
			[]commerce.FieldError{{Index: 0, Field: "amount", Message: "must be less than zero"}}},
		{"invalid UTF-8", "c", []commerce.NewCustomDiscount{discount("\xff")},
			[]commerce.FieldError{{Index: 0, Field: "external_id", Message: "must be valid UTF-8"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res, err := newStub(t).client(t).Carts.AddCustomDiscounts(bg, tt.cart, tt.discounts, nil)
			var v *commerce.ValidationError
			if !errors.As(err, &v) || !errors.Is(err, commerce.ErrInvalidArgument) || res != nil {
				t.Fatalf("result %v, error %v", res, err)
			}
			diff(t, "fields", v.Fields, tt.want)
			if commerce.OutcomeOf(err) != commerce.OutcomeNotSent {
				t.Errorf("outcome = %v", commerce.OutcomeOf(err))
			}
		})
	}
	for _, cart := range []string{".", "..", "a b", "a\\b", "a?b", "a#b", "a%2fb", "a\x00b", "a\nb", "\xff", strings.Repeat("x", 1025)} {
		_, err := newStub(t).client(t).Carts.AddCustomDiscounts(bg, cart, []commerce.NewCustomDiscount{discount("x")}, nil)
		if !errors.Is(err, commerce.ErrInvalidArgument) {
			t.Errorf("cart id %q: error %v", cart, err)
		}
	}
}

// TestAddCustomDiscounts_outcome goes through the table of outcomes, row by row.
func TestAddCustomDiscounts_outcome(t *testing.T) {
	t.Parallel()
	const (
		addedA = `{"type":"custom_discount","id":"f09030b0-cdcd-4c47-b889-adbf690c537a","external_id":"a"}`
		addedB = `{"type":"custom_discount","id":"d09030b0-cdcd-4c47-b889-adbf690c537a","external_id":"b"}`
		againA = `{"type":"custom_discount","id":"e09030b0-cdcd-4c47-b889-adbf690c537a","external_id":"a"}`
		noID   = `{"type":"custom_discount","id":"c09030b0-cdcd-4c47-b889-adbf690c537a"}`
		noID2  = `{"type":"custom_discount","id":"b09030b0-cdcd-4c47-b889-adbf690c537a"}`
		failed = `{"status":404,"title":"Custom discount not added to cart item.","meta":{"id":"` + itemID + `"}}`
	)
	const success = commerce.OutcomeApplied
	tests := []struct {
		name        string
		status      int
		body        string
		sent        string // external ids
		all         bool
		want        commerce.Outcome
		is          error
		added       int
		unconfirmed string
	}{
		{"all added", 201, `{"data":[` + addedA + `,` + addedB + `]}`, "a b", false, success, nil, 2, ""},
		{"all added under 200", 200, `{"data":[` + addedA + `],"options":{"add_all_or_nothing":false}}`, "a", false, success, nil, 1, ""},
		{"one added, as an object", 201, `{"data":` + addedA + `}`, "a", false, success, nil, 1, ""},
		{"added with empty errors", 201, `{"data":[` + addedA + `],"errors":[]}`, "a", false, success, nil, 1, ""},
		{"added with null errors", 201, `{"data":[` + addedA + `],"errors":null}`, "a", false, success, nil, 1, ""},
		{"added without external ids", 201, `{"data":[` + noID + `,` + noID2 + `]}`, "a b", false, success, nil, 2, ""},
		{"one of two without external id", 201, `{"data":[` + noID + `,` + addedA + `]}`, "a b", false, success, nil, 2, ""},
		{"one id twice, both added", 201, `{"data":[` + addedA + `,` + againA + `]}`, "a a", false, success, nil, 2, ""},

		{"one id twice, one added", 201, `{"data":[` + addedA + `]}`, "a a", false, commerce.OutcomePartial, commerce.ErrPartialFailure, 1, "a"},
		{"one added, one failed", 201, `{"data":[` + addedA + `],"errors":[` + failed + `]}`, "a b", false, commerce.OutcomePartial, commerce.ErrPartialFailure, 1, "b"},
		{"one added, silence on the other", 201, `{"data":[` + addedB + `]}`, "a b", false, commerce.OutcomePartial, commerce.ErrPartialFailure, 1, "a"},
		{"too few without external id", 201, `{"data":[` + noID + `]}`, "a b", false, commerce.OutcomePartial, commerce.ErrPartialFailure, 1, "a b"},
		{"another's id echoed", 201, `{"data":[` + addedB + `]}`, "a", false, commerce.OutcomePartial, commerce.ErrPartialFailure, 1, "a"},
		{"all added, and errors", 201, `{"data":[` + addedA + `],"errors":[` + failed + `]}`, "a", false, commerce.OutcomePartial, commerce.ErrPartialFailure, 1, ""},
		{"all added, and Errors in upper case", 201, `{"data":[` + addedA + `],"Errors":[` + failed + `]}`, "a", false, commerce.OutcomePartial, commerce.ErrPartialFailure, 1, ""},
		{"all added, and errors of text", 201, `{"data":[` + addedA + `],"errors":["oops"]}`, "a", false, commerce.OutcomePartial, commerce.ErrPartialFailure, 1, ""},
		{"one added under 404", 404, `{"data":[` + addedA + `],"errors":[` + failed + `]}`, "a b", false, commerce.OutcomePartial, commerce.ErrPartialFailure, 1, "b"},
		{"all added under 500", 500, `{"data":[` + addedA + `]}`, "a", false, commerce.OutcomePartial, commerce.ErrPartialFailure, 1, ""},
		{"one added under 429", 429, `{"data":[` + addedA + `]}`, "a b", false, commerce.OutcomePartial, commerce.ErrPartialFailure, 1, "b"},

		{"as many errors as sent", 201, `{"data":[],"errors":[` + failed + `,` + failed + `]}`, "a b", false, commerce.OutcomeRejected, nil, 0, ""},
		{"all or nothing, one error", 200, `{"data":[],"errors":[` + failed + `]}`, "a b", true, commerce.OutcomeRejected, nil, 0, ""},
		{"all or nothing, as echoed", 200, `{"errors":[` + failed + `],"options":{"add_all_or_nothing":true}}`, "a b", false, commerce.OutcomeRejected, nil, 0, ""},

		{"fewer errors than sent", 200, `{"data":[],"errors":[` + failed + `]}`, "a b", false, commerce.OutcomeUnreadable, commerce.ErrBadResponse, 0, ""},
		{"2xx: errors twice, the last one empty", 201, `{"data":[],"errors":[` + failed + `],"errors":[]}`, "a", false, commerce.OutcomeUnreadable, commerce.ErrBadResponse, 0, ""},
		{"2xx: no data", 201, `{}`, "a", false, commerce.OutcomeUnreadable, commerce.ErrBadResponse, 0, ""},
		{"2xx: data null", 201, `{"data":null}`, "a", false, commerce.OutcomeUnreadable, commerce.ErrBadResponse, 0, ""},
		{"2xx: data empty", 201, `{"data":[]}`, "a", false, commerce.OutcomeUnreadable, commerce.ErrBadResponse, 0, ""},
		{"2xx: data of no discounts", 201, `{"data":[{"id":"` + itemID + `","type":"cart_item"},null,5,{}]}`, "a", false, commerce.OutcomeUnreadable, commerce.ErrBadResponse, 0, ""},
		{"2xx: a discount that nothing names, and errors", 201, `{"data":[{"type":"custom_discount","id":"01JA"}],"errors":[` + failed + `]}`, "a", false, commerce.OutcomeUnreadable, commerce.ErrBadResponse, 0, ""},
		{"400: a discount that nothing names, and errors", 400, `{"data":[{"type":"custom_discount","id":"01JA"}],"errors":[` + failed + `]}`, "a", false, commerce.OutcomeUnknown, commerce.ErrOutcomeUnknown, 0, ""},
		{"429: a discount that nothing names", 429, `{"data":[{"type":"custom_discount","amount":{"amount":-1}}]}`, "a", false, commerce.OutcomeUnknown, commerce.ErrOutcomeUnknown, 0, ""},
		{"all added, and errors of nothing", 201, `{"data":[` + addedA + `],"errors":[{ },{"\u0061":1}]}`, "a", false, commerce.OutcomePartial, commerce.ErrPartialFailure, 1, ""},
		{"added with an empty error", 201, "{\"data\":[" + addedA + "],\"errors\":[{ },{\n}]}", "a", false, success, nil, 1, ""},
		{"2xx: null", 201, `null`, "a", false, commerce.OutcomeUnreadable, commerce.ErrBadResponse, 0, ""},
		{"2xx: empty", 204, ``, "a", false, commerce.OutcomeUnreadable, commerce.ErrBadResponse, 0, ""},
		{"2xx: HTML", 200, `<html>`, "a", false, commerce.OutcomeUnreadable, commerce.ErrBadResponse, 0, ""},
		{"2xx: ends early", 201, `{"data":[` + addedA + `]`, "a", false, commerce.OutcomeUnreadable, commerce.ErrBadResponse, 0, ""},
		{"2xx: a name twice in data", 201, `{"data":[{"id":"` + itemID + `","external_id":"a","external_id":"b"}]}`, "a", false, commerce.OutcomeUnreadable, commerce.ErrBadResponse, 0, ""},
		{"2xx: data twice", 201, `{"data":[],"data":[` + addedA + `]}`, "a", false, commerce.OutcomeUnreadable, commerce.ErrBadResponse, 0, ""},

		{"400", 400, `{"errors":[{"title":"Bad Request","detail":"Custom discounts not enabled for this cart"}]}`, "a", false, commerce.OutcomeRejected, commerce.ErrBadRequest, 0, ""},
		{"400 with data of text", 400, `{"data":"","errors":[{"title":"A"}]}`, "a", false, commerce.OutcomeUnknown, commerce.ErrBadRequest, 0, ""},
		{"403 HTML that speaks of data", 403, `<html class="data">`, "a", false, commerce.OutcomeRejected, commerce.ErrForbidden, 0, ""},
		{"401", 401, ``, "a", false, commerce.OutcomeRejected, commerce.ErrUnauthorized, 0, ""},
		{"403 HTML", 403, `<html>`, "a", false, commerce.OutcomeRejected, commerce.ErrForbidden, 0, ""},
		{"404 with empty data", 404, `{"data":[],"errors":[` + failed + `]}`, "a", false, commerce.OutcomeRejected, commerce.ErrNotFound, 0, ""},
		{"404 cut where data may hold discounts", 404, `{"data":[` + addedA + `],"err`, "a b", false, commerce.OutcomeUnknown, commerce.ErrOutcomeUnknown, 0, ""},
		{"409", 409, ``, "a", false, commerce.OutcomeRejected, commerce.ErrConflict, 0, ""},
		{"422", 422, `{"errors":[{"status":"422","title":"Limit Reached"}]}`, "a", false, commerce.OutcomeRejected, commerce.ErrUnprocessable, 0, ""},
		{"307", 307, ``, "a", false, commerce.OutcomeRejected, commerce.ErrBadResponse, 0, ""},
		{"308", 308, ``, "a", false, commerce.OutcomeRejected, commerce.ErrBadResponse, 0, ""},

		{"408", 408, ``, "a", false, commerce.OutcomeUnknown, commerce.ErrOutcomeUnknown, 0, ""},
		{"301", 301, ``, "a", false, commerce.OutcomeUnknown, commerce.ErrBadResponse, 0, ""},
		{"302", 302, ``, "a", false, commerce.OutcomeUnknown, commerce.ErrOutcomeUnknown, 0, ""},
		{"500", 500, `{"errors":[{"status":500,"title":"Internal Server Error"}]}`, "a", false, commerce.OutcomeUnknown, commerce.ErrOutcomeUnknown, 0, ""},
		{"502 HTML", 502, `<html>`, "a", false, commerce.OutcomeUnknown, commerce.ErrServer, 0, ""},
		{"503", 503, ``, "a", false, commerce.OutcomeUnknown, commerce.ErrOutcomeUnknown, 0, ""},
		{"504", 504, ``, "a", false, commerce.OutcomeUnknown, commerce.ErrServer, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var sent []commerce.NewCustomDiscount
			for externalID := range strings.FieldsSeq(tt.sent) {
				sent = append(sent, discount(externalID))
			}
			s := newStub(t, answer(tt.status, tt.body))
			res, err := s.client(t).Carts.AddCustomDiscounts(bg, cartID, sent, &commerce.AddCustomDiscountsOptions{AllOrNothing: tt.all})
			if got := commerce.OutcomeOf(err); got != tt.want {
				t.Errorf("outcome = %v, want %v (error %v)", got, tt.want, err)
			}
			if len(s.got(t)) != 1 {
				t.Errorf("%d requests", len(s.got(t)))
			}
			if got, want := errors.Is(err, commerce.ErrOutcomeUnknown), tt.want == commerce.OutcomeUnknown; got != want {
				t.Errorf("is ErrOutcomeUnknown: %v", got)
			}
			if tt.want == success {
				if err != nil || len(res.Added) != tt.added || res.Unconfirmed != nil || res.Response.StatusCode != tt.status || res.Response.RequestID != "req-1" {
					t.Errorf("result %+v, error %v", res, err)
				}
				return
			}
			var e *commerce.Error
			if !errors.As(err, &e) || e.StatusCode != tt.status || e.Op != "Carts.AddCustomDiscounts" || e.RequestID != "req-1" || e.Attempts != 1 {
				t.Fatalf("error = %+v", err)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v does not match %v", err, tt.is)
			}
			if (res != nil) != (tt.want == commerce.OutcomePartial) {
				t.Fatalf("result %+v with outcome %v", res, tt.want)
			}
			if res == nil {
				return
			}
			var unconfirmed []string
			for _, d := range res.Unconfirmed {
				unconfirmed = append(unconfirmed, d.ExternalID)
			}
			diff(t, "unconfirmed", strings.Join(unconfirmed, " "), tt.unconfirmed)
			if len(res.Added) != tt.added || len(res.Errors) != len(e.Errors) {
				t.Errorf("result %+v", res)
			}
			for _, sentinel := range []error{commerce.ErrNotFound, commerce.ErrServer, commerce.ErrRateLimited, commerce.ErrBadResponse} {
				if errors.Is(err, sentinel) {
					t.Errorf("a partial success matches %v", sentinel)
				}
			}
		})
	}
}

// TestAddCustomDiscounts_causes tells what is behind an answer that can't be used.
func TestAddCustomDiscounts_causes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		responder httpmock.Responder
		cause     string // of the error; "" for none
	}{
		{"404 of HTML: the status says it all", answer(404, "<html>"), ""},
		{"201 of HTML", answer(201, "<html>"), "unusable answer: not a JSON object"},
		{"201 that is cut", cutAnswer(201, `{"data":[`), "unusable answer: unexpected EOF"},
		{"201 without a word", answer(201, `{}`), "unusable answer: the response neither adds the discounts nor says why not"},
		{"302", answer(302, ""), ""},
	} {
		_, err := newStub(t, tt.responder).client(t).Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{discount("a")}, nil)
		var e *commerce.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", tt.name, err)
		}
		cause := ""
		if e.Err != nil {
			cause = e.Err.Error()
		}
		diff(t, tt.name, cause, tt.cause)
	}
}

func TestAddCustomDiscounts_documentedAnswer(t *testing.T) {
	t.Parallel()
	res, err := newStub(t, answer(201, documented)).client(t).Carts.AddCustomDiscounts(bg, cartID,
		[]commerce.NewCustomDiscount{discount("cart discount 1"), discount("other")}, nil)
	if !errors.Is(err, commerce.ErrPartialFailure) {
		t.Fatal(err)
	}
	diff(t, "added", res.Added, []commerce.CustomDiscount{documentedDiscount()})
	diff(t, "errors", res.Errors, []commerce.ErrorObject{{
		Status: 404, Title: "Custom discount not added to cart item.", Detail: "Cart Item is not present in the cart.",
		Meta: commerce.ErrorMeta{ID: itemID},
	}})
	diff(t, "unconfirmed", res.Unconfirmed, []commerce.NewCustomDiscount{discount("other")})
}

// TestAddCustomDiscounts_enginesShareAnID sends one id for two engines: the one
// that is echoed is not the one to look up.
func TestAddCustomDiscounts_enginesShareAnID(t *testing.T) {
	t.Parallel()
	of := func(engine string) commerce.NewCustomDiscount {
		return with(discount("a"), func(d *commerce.NewCustomDiscount) { d.DiscountEngine = engine })
	}
	for echo, want := range map[string][]commerce.NewCustomDiscount{"f": {of("e")}, "e": {of("f")}, "": {of("f")}, "other": {of("f")}} {
		body := `{"data":[{"id":"` + itemID + `","external_id":"a","discount_engine":"` + echo + `"}]}`
		res, err := newStub(t, answer(201, body)).client(t).Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{of("e"), of("f")}, nil)
		if !errors.Is(err, commerce.ErrPartialFailure) {
			t.Fatal(err)
		}
		diff(t, "unconfirmed when "+echo+" is echoed", res.Unconfirmed, want)
	}
}

func TestAddCustomDiscounts_unknownMembers(t *testing.T) {
	t.Parallel()
	body := `{"data":[{"id":"` + itemID + `","external_id":"a"}],"errors":[],"options":{},"meta":{"new":1.0}}`
	res, err := newStub(t, answer(201, body)).client(t).Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{discount("a")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "extra", res.Extra, commerce.Extra{"meta": json.RawMessage(`{"new":1.0}`)})
}

func TestAddCustomDiscounts_isSentOnce(t *testing.T) {
	t.Parallel()
	fault := func(*http.Request) (*http.Response, error) { return nil, errors.New("foreign fault with " + token) }
	tests := []struct {
		name       string
		responders []httpmock.Responder
		want       commerce.Outcome
		status     int
	}{
		{"a foreign transport's error proves nothing", []httpmock.Responder{fault}, commerce.OutcomeUnknown, 0},
		{"429, then a fault", []httpmock.Responder{answer(429, "slow down"), fault}, commerce.OutcomeUnknown, 0},
		{"429, then added", []httpmock.Responder{answer(429, "slow down"), answer(201, documented)}, commerce.OutcomePartial, 201},
		{"425 and 421, then 400", []httpmock.Responder{answer(425, ""), answer(421, ""), answer(400, "")}, commerce.OutcomeRejected, 400},
		{"429 to the end", []httpmock.Responder{answer(429, ""), answer(429, ""), answer(429, ""), answer(429, "<html>")}, commerce.OutcomeRejected, 429},
		{"429 of HTML that speaks of data, then 400", []httpmock.Responder{answer(429, `<html class="data">`), answer(400, "")}, commerce.OutcomeRejected, 400},
		{"429 of which the body is cut", []httpmock.Responder{cutAnswer(429, `{"errors":[{"title":"x"}],`)}, commerce.OutcomeUnknown, 429},
		{"429 of which no body arrives", []httpmock.Responder{cutAnswer(429, ``)}, commerce.OutcomeUnknown, 429},
		{"429 of HTML that is cut, then 400", []httpmock.Responder{cutAnswer(429, `<html>`), answer(400, "")}, commerce.OutcomeRejected, 400},
		{"429 that is too large", []httpmock.Responder{answer(429, `{"data":[]`+strings.Repeat(" ", 1<<20)+`}`)}, commerce.OutcomeUnknown, 429},
		{"404 of which the body is cut", []httpmock.Responder{cutAnswer(404, `{"errors":[`)}, commerce.OutcomeUnknown, 404},
		{"an answer of status 0", []httpmock.Responder{answer(0, "")}, commerce.OutcomeUnknown, 0},
		{"429, then 500", []httpmock.Responder{answer(429, ""), answer(500, "")}, commerce.OutcomeUnknown, 500},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, tt.responders...)
			_, err := s.client(t).Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{discount("cart discount 1"), discount("b")}, nil)
			var e *commerce.Error
			if !errors.As(err, &e) || e.Outcome != tt.want || e.StatusCode != tt.status || e.Attempts != len(tt.responders) {
				t.Errorf("error %v", err)
			}
			if strings.Contains(err.Error(), token) {
				t.Errorf("the error holds the token: %v", err)
			}
			got := s.got(t)
			if len(got) != len(tt.responders) {
				t.Fatalf("%d requests", len(got))
			}
			for _, r := range got[1:] {
				diff(t, "repeated request", r, got[0])
			}
		})
	}
}

// cutAnswer is an answer of which the body ends in a fault.
func cutAnswer(status int, body string) httpmock.Responder {
	return func(*http.Request) (*http.Response, error) {
		cut := io.MultiReader(strings.NewReader(body), iotest.ErrReader(io.ErrUnexpectedEOF))
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(cut)}, nil
	}
}

func TestAddCustomDiscounts_inputsUnchanged(t *testing.T) {
	t.Parallel()
	in := []commerce.NewCustomDiscount{discount("a"), discount("b")}
	in[1].Item = &commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: id(itemID)}
	opts := &commerce.AddCustomDiscountsOptions{AllOrNothing: true}
	res, err := newStub(t, answer(201, `{"data":[{"id":"`+itemID+`","external_id":"a"}],"options":{"add_all_or_nothing":false}}`)).
		client(t).Carts.AddCustomDiscounts(bg, cartID, in, opts)
	if !errors.Is(err, commerce.ErrPartialFailure) || res.AllOrNothing {
		t.Fatalf("result %+v, error %v", res, err)
	}
	want := []commerce.NewCustomDiscount{discount("a"), discount("b")}
	want[1].Item = &commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: id(itemID)}
	diff(t, "discounts", in, want)
	diff(t, "options", *opts, commerce.AddCustomDiscountsOptions{AllOrNothing: true})
	in[1].ExternalID, in[1].Item.Type = "changed later", "changed later"
	if res.Unconfirmed[0].ExternalID != "b" || res.Unconfirmed[0].Item.Type != commerce.ItemTypeCustomItem {
		t.Error("Unconfirmed shares memory with the caller's slice")
	}
}

func TestCustomDiscount_forms(t *testing.T) {
	t.Parallel()
	amount := func(n int64) commerce.Money { return commerce.Money{Amount: commerce.NewDecimal(n)} }
	tests := []struct {
		name, json string
		want       commerce.CustomDiscount
	}{
		{"amount as a number", `{"external_id":"a","amount":-5}`, commerce.CustomDiscount{ExternalID: "a", Amount: amount(-5)}},
		{"amount without formatted", `{"external_id":"a","amount":{"amount":-5,"currency":"USD"}}`,
			commerce.CustomDiscount{ExternalID: "a", Amount: commerce.Money{Amount: commerce.NewDecimal(-5), Currency: "USD"}}},
		{"amount null", `{"external_id":"a","amount":null}`, commerce.CustomDiscount{ExternalID: "a"}},
		{"an item", `{"external_id":"a","relationships":{"item":{"data":{"type":"custom_item","id":"` + itemID + `"}}}}`,
			commerce.CustomDiscount{ExternalID: "a", Item: &commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: id(itemID)}}},
		{"an item, and more", `{"external_id":"a","relationships":{"item":{"data":{"type":"cart_item","id":"` + itemID + `"}},"cart":{"data":5}}}`,
			commerce.CustomDiscount{ExternalID: "a", Item: &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: id(itemID)},
				Extra: commerce.Extra{"relationships": json.RawMessage(`{"item":{"data":{"type":"cart_item","id":"` + itemID + `"}},"cart":{"data":5}}`)}}},
		{"an item with more than its id", `{"external_id":"a","relationships":{"item":{"data":{"type":"cart_item","id":"` + itemID + `","new":1}}}}`,
			commerce.CustomDiscount{ExternalID: "a", Item: &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: id(itemID)},
				Extra: commerce.Extra{"relationships": json.RawMessage(`{"item":{"data":{"type":"cart_item","id":"` + itemID + `","new":1}}}`)}}},
		{"an item of which the id is odd", `{"external_id":"a","relationships":{"item":{"data":{"type":"cart_item","id":"7"}}}}`,
			commerce.CustomDiscount{ExternalID: "a", Item: &commerce.CartItemRef{Type: commerce.ItemTypeCartItem},
				Extra: commerce.Extra{"relationships": json.RawMessage(`{"item":{"data":{"type":"cart_item","id":"7"}}}`)}}},
		{"an item of id alone", `{"external_id":"a","relationships":{"item":{"data":{"id":"` + itemID + `"}}}}`,
			commerce.CustomDiscount{ExternalID: "a", Item: &commerce.CartItemRef{ID: id(itemID)}}},
		{"an item of type alone", `{"external_id":"a","relationships":{"item":{"data":{"type":"cart_item"}}}}`,
			commerce.CustomDiscount{ExternalID: "a", Item: &commerce.CartItemRef{Type: commerce.ItemTypeCartItem}}},
		{"an item of nothing", `{"external_id":"a","relationships":{"item":{"data":{}}}}`, commerce.CustomDiscount{ExternalID: "a"}},
		{"an item without data", `{"external_id":"a","relationships":{"item":{"data":null}}}`, commerce.CustomDiscount{ExternalID: "a"}},
		{"relationships of another kind", `{"external_id":"a","relationships":[1]}`,
			commerce.CustomDiscount{ExternalID: "a", Extra: commerce.Extra{"relationships": json.RawMessage(`[1]`)}}},
		{"odd values and unknown members", `{"id":"x","external_id":"a","amount":true,"new":[1]}`,
			commerce.CustomDiscount{ExternalID: "a", Extra: commerce.Extra{
				"id": json.RawMessage(`"x"`), "amount": json.RawMessage(`true`), "new": json.RawMessage(`[1]`)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			roundTrip(t, tt.json, tt.want)
		})
	}
	var kept = commerce.CustomDiscount{ID: uuid.New()}
	if err := json.Unmarshal([]byte("null"), &kept); err != nil || kept.ID == uuid.Nil {
		t.Errorf("null changed the value: %v", err)
	}
	if err := json.Unmarshal([]byte(`{"id":1,"id":2}`), &kept); err == nil {
		t.Error("a name twice is no error")
	}
}

// roundTrip decodes text by the caller's encoding/json, compares, encodes and
// decodes again.
func roundTrip[T any](t *testing.T, text string, want T) {
	t.Helper()
	var got, again T
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("decode: %v", err)
	}
	diff(t, "decoded", got, want)
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	if err := json.Unmarshal(b, &again); err != nil {
		t.Fatalf("decode again: %v", err)
	}
	diff(t, "after a round trip", again, want)
}
