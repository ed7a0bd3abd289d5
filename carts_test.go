package commerce_test

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"
	shopspring "github.com/shopspring/decimal"

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
	amount := func(coefficient int64, exponent int32) []commerce.NewCustomDiscount {
		return []commerce.NewCustomDiscount{with(discount("x"), func(d *commerce.NewCustomDiscount) {
			d.Amount = commerce.Decimal{Decimal: shopspring.New(coefficient, exponent)}
		})}
	}
	for name, discounts := range map[string][]commerce.NewCustomDiscount{
		"16 million digits": amount(-1, 16_000_000), "16 million places": amount(-1, -16_000_000), "-1e31": amount(-1, 31),
		"-10 times 1e30": amount(-10, 30), "31 places": amount(-1, -31), "just below -1e30": amount(-10_000_000_001, 20),
		"the greatest exponent": amount(-1, math.MaxInt32), "the least exponent": amount(-1, math.MinInt32),
	} {
		start := time.Now()
		_, err := newStub(t).client(t).Carts.AddCustomDiscounts(bg, cartID, discounts, nil)
		want := "commerce: invalid argument: discount 0: amount must be within ±10^30, with at most 30 decimal places"
		if err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: refused after %v", name, took)
		}
	}
	for name, discounts := range map[string][]commerce.NewCustomDiscount{
		"-1e30": amount(-1, 30), "30 places": amount(-1, -30), "-1e30 in digits": amount(-1_000_000_000_000_000_000, 12),
	} {
		s := newStub(t, answer(400, ""))
		_, err := s.client(t).Carts.AddCustomDiscounts(bg, cartID, discounts, nil)
		if !errors.Is(err, commerce.ErrBadRequest) {
			t.Errorf("%s: error %v, want it sent", name, err)
		}
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
		{"404 of JSON that is whole, before the end of the body", []httpmock.Responder{cutAnswer(404, `{"errors":[{"title":"x"}]}`)}, commerce.OutcomeUnknown, 404},
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

// Zeros at the end are no decimal places: what arithmetic leaves behind is sent.
func TestAddCustomDiscounts_trailingZeros(t *testing.T) {
	t.Parallel()
	factor := shopspring.RequireFromString("10000000000000000." + strings.Repeat("0", 16))
	thousand := shopspring.NewFromInt(-1000).Mul(shopspring.New(1, -16)).Mul(factor)
	for name, amount := range map[string]shopspring.Decimal{
		"-1": shopspring.RequireFromString("-1." + strings.Repeat("0", 31)), "-1000": thousand,
	} {
		s := newStub(t, answer(400, ""))
		d := with(discount("a"), func(d *commerce.NewCustomDiscount) { d.Amount = commerce.Decimal{Decimal: amount} })
		_, err := s.client(t).Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{d}, nil)
		if !errors.Is(err, commerce.ErrBadRequest) || !strings.Contains(s.got(t)[0].Body, `"amount":`+name+`,`) {
			t.Errorf("%s with exponent %d: error %v, want it sent", name, amount.Exponent(), err)
		}
	}
}
