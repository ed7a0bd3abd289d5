package commerce_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

// changed returns a discount that change was applied to.
func changed(change func(*commerce.NewCustomDiscount)) []commerce.NewCustomDiscount {
	list := discounts("a")
	change(&list[0])
	return list
}

func TestAddCustomDiscounts_request(t *testing.T) {
	t.Parallel()
	const data = `{"type":"custom_discount","amount":-1000,"description":"ten off","discount_code":"TEN",` +
		`"discount_engine":"engine","external_id":"a"}`
	s := newStub(t, respond(400, ""))
	opts := &commerce.AddCustomDiscountsOptions{AllOrNothing: true, AllowRepeated: true}
	_, err := s.client(t).Carts.AddCustomDiscounts(t.Context(), cartID, discounts("a", "a"), opts)
	if !errors.Is(err, commerce.ErrBadRequest) {
		t.Errorf("error = %v, want ErrBadRequest", err)
	}
	diff(t, "requests", s.sent(), []request{{
		Method: "POST", Path: "/v2/carts/0a8d0b6c-cart/custom-discounts",
		Body: `{"data":[` + data + `,` + data + `],"options":{"add_all_or_nothing":true}}`,
		Header: http.Header{
			"Accept": {"application/json"}, "Authorization": {"Bearer " + token}, "Content-Type": {"application/json"},
			"User-Agent": {"commerce-go/" + commerce.Version + " (" + runtime.Version() + ")"},
		},
	}})
}

func TestAddCustomDiscounts_validation(t *testing.T) {
	t.Parallel()
	invalid := commerce.NewCustomDiscount{Item: &commerce.CartItemRef{Type: "other"}}
	blank := changed(func(d *commerce.NewCustomDiscount) { d.Description = " \n" })[0]
	for _, tt := range []struct {
		name, cartID string
		discounts    []commerce.NewCustomDiscount
		want         []commerce.FieldError // without messages
	}{
		{
			name: "all at once", cartID: "a/b", discounts: []commerce.NewCustomDiscount{invalid, discount("x"), blank},
			want: []commerce.FieldError{
				{Index: -1, Field: "cart id"}, {Index: 0, Field: "amount"}, {Index: 0, Field: "description"},
				{Index: 0, Field: "discount_code"}, {Index: 0, Field: "discount_engine"}, {Index: 0, Field: "external_id"},
				{Index: 0, Field: "relationships.item.data.type"}, {Index: 0, Field: "relationships.item.data.id"},
				{Index: 2, Field: "description"},
			},
		},
		{name: "nothing", want: []commerce.FieldError{{Index: -1, Field: "cart id"}, {Index: -1, Field: "discounts"}}},
		{
			name: "1,001", cartID: "c", discounts: discounts(strings.Split(elements(1_001, "%d"), ",")...),
			want: []commerce.FieldError{{Index: -1, Field: "discounts"}},
		},
		{
			name: "the same engine and external id", cartID: "c", discounts: discounts("a", "b", " a "),
			want: []commerce.FieldError{{Index: 2, Field: "external_id"}},
		},
	} {
		c := newStub(t).client(t)
		result, err := c.Carts.AddCustomDiscounts(t.Context(), tt.cartID, tt.discounts, nil)
		v, ok := errors.AsType[*commerce.ValidationError](err)
		if !ok || result != nil || commerce.OutcomeOf(err) != commerce.OutcomeNotSent {
			t.Fatalf("%s: result %v, error %v, want a ValidationError", tt.name, result, err)
		}
		for i := range v.Fields {
			v.Fields[i].Message = ""
		}
		diff(t, "problems: "+tt.name, v.Fields, tt.want)
	}
}

// Amounts are within ±10^30, with at most 30 decimal places. An amount that is refused
// costs no time, however many digits its exponent stands for.
func TestAddCustomDiscounts_amounts(t *testing.T) {
	t.Parallel()
	zeros, minus1 := parseDecimal(t, "-1."+strings.Repeat("0", 31)), commerce.NewDecimal(-1)
	product := parseDecimal(t, "-1000e-16").Mul(parseDecimal(t, "10000000000000000."+strings.Repeat("0", 16)))
	for _, tt := range []struct {
		name   string
		amount commerce.Decimal
		want   string // in the request; "": the amount is refused
	}{
		{name: "-1e30", amount: minus1.Shift(30), want: "-1" + strings.Repeat("0", 30)},
		{name: "-1e30 in digits", amount: commerce.NewDecimal(-1e18).Shift(12), want: "-1" + strings.Repeat("0", 30)},
		{name: "30 places", amount: minus1.Shift(-30), want: "-0." + strings.Repeat("0", 29) + "1"},
		{name: "zeros are no places", amount: zeros, want: "-1"},
		{name: "nor are those of a product", amount: product, want: "-1000"},
		{name: "-1e31", amount: minus1.Shift(31)},
		{name: "-10 times 1e30", amount: commerce.NewDecimal(-10).Shift(30)},
		{name: "just below -1e30", amount: commerce.NewDecimal(-10_000_000_001).Shift(20)},
		{name: "31 places", amount: minus1.Shift(-31)},
		{name: "16 million digits", amount: minus1.Shift(16_000_000)},
		{name: "16 million places", amount: minus1.Shift(-16_000_000)},
		{name: "the greatest exponent", amount: minus1.Shift(math.MaxInt32)},
		{name: "the least exponent", amount: minus1.Shift(math.MinInt32)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{respond: respond(400, "")}
			list := changed(func(d *commerce.NewCustomDiscount) { d.Amount = tt.amount })
			_, err := newClient(t, r).Carts.AddCustomDiscounts(t.Context(), cartID, list, nil)
			if tt.want == "" {
				r.checkRefused(t, err, "")
				diff(t, "invalid fields", invalidFields(err), []string{"amount"})
			} else if want := `"amount":` + tt.want + `,`; len(r.written) != 1 || !strings.Contains(r.written[0], want) {
				t.Errorf("sent %q, error %v, want %s", r.written, err, want)
			}
		})
	}
}

var rateLimited = respond(429, "slow down")

// The arguments are not changed, and the result does not change with them later.
func TestAddCustomDiscounts_argumentsAreCopied(t *testing.T) {
	t.Parallel()
	batch := func() []commerce.NewCustomDiscount {
		list := discounts("a", "b")
		list[1].Item = &commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: uuid.MustParse(itemID)}
		return list
	}
	list, opts := batch(), &commerce.AddCustomDiscountsOptions{AllOrNothing: true}
	c := newStub(t, respond(201, outcomeTexts.Replace(`{"data":[$a],"options":{"add_all_or_nothing":false}}`))).client(t)
	result, err := c.Carts.AddCustomDiscounts(t.Context(), cartID, list, opts)
	if !errors.Is(err, commerce.ErrPartialFailure) || result.AllOrNothing {
		t.Fatalf("got result %+v, error %v, want a partial failure without AllOrNothing", result, err)
	}
	diff(t, "discounts", list, batch())
	diff(t, "options", *opts, commerce.AddCustomDiscountsOptions{AllOrNothing: true})
	list[1].ExternalID, list[1].Item.Type = "changed later", "changed later"
	diff(t, "unconfirmed", result.Unconfirmed, []commerce.UnconfirmedDiscount{{NewCustomDiscount: batch()[1]}})
}

// existing returns a discount that the cart has.
func existing() commerce.CustomDiscount {
	return commerce.CustomDiscount{
		ID: uuid.MustParse(discountID), Amount: commerce.Money{Amount: commerce.NewDecimal(-500)},
	}
}

// onItem returns a discount that an item of the cart has.
func onItem() commerce.CustomDiscount {
	d := existing()
	d.Item = &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse(itemID)}
	return d
}

const (
	cartDiscountPath = "/v2/carts/0a8d0b6c-cart/custom-discounts/" + discountID
	itemDiscountPath = "/v2/carts/0a8d0b6c-cart/items/" + itemID + "/custom-discounts/" + discountID
	updatedBody      = `{"data":{"type":"custom_discount","id":"` + discountID + `","amount":{"amount":-500}}}`
)

func TestUpdateCustomDiscount_request(t *testing.T) {
	t.Parallel()
	full := onItem()
	full.Description, full.DiscountCode, full.DiscountEngine, full.ExternalID = "five", "FIVE", "engine", "a"
	full.Amount = commerce.Money{Amount: parseDecimal(t, "-500.00"), Currency: "USD", Formatted: "-$5.00"}
	full.Extra = commerce.Extra{"new": []byte(`1`)}
	for _, tt := range []struct {
		name       string
		d          commerce.CustomDiscount
		path, body string
	}{
		{
			name: "of the cart", d: existing(), path: cartDiscountPath,
			body: `{"data":{"type":"custom_discount","amount":-500}}`,
		},
		{
			name: "of an item, all texts", d: full, path: itemDiscountPath,
			body: `{"data":{"type":"custom_discount","amount":-500,"description":"five","discount_code":"FIVE",` +
				`"discount_engine":"engine","external_id":"a"}}`,
		},
	} {
		s := newStub(t, respond(200, updatedBody))
		before := encode(t, tt.d)
		got, err := s.client(t).Carts.UpdateCustomDiscount(t.Context(), cartID, tt.d)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		want := existing()
		want.Type, want.Item = "custom_discount", tt.d.Item // which the response does not show
		diff(t, "result: "+tt.name, *got, want)
		if got.Item != nil {
			got.Item.ID = uuid.Nil
		}
		diff(t, "argument: "+tt.name, encode(t, tt.d), before)
		sent := s.sent()[0]
		diff(t, "request: "+tt.name, []string{sent.Method, sent.Path, sent.RawQuery, sent.Body},
			[]string{"PUT", tt.path, "", tt.body})
	}
}

func TestUpdateCustomDiscount_validation(t *testing.T) {
	t.Parallel()
	const bad = "\xff"
	for _, tt := range []struct {
		name, cartID string
		d            commerce.CustomDiscount
		want         []string
	}{
		{
			name: "all at once", cartID: "a/b", d: commerce.CustomDiscount{ExternalID: bad, Item: &commerce.CartItemRef{}},
			want: []string{"cart id", "discount id", "item id", "amount", "external_id"},
		},
		{
			name: "fraction and invalid UTF-8", cartID: cartID, d: commerce.CustomDiscount{
				ID: uuid.MustParse(discountID), Amount: commerce.Money{Amount: parseDecimal(t, "-0.5")},
				Description: bad, DiscountCode: bad, DiscountEngine: bad,
			},
			want: []string{"amount", "description", "discount_code", "discount_engine"},
		},
	} {
		got, err := newStub(t).client(t).Carts.UpdateCustomDiscount(t.Context(), tt.cartID, tt.d)
		diff(t, "invalid fields: "+tt.name, invalidFields(err), tt.want)
		if got != nil {
			t.Errorf("%s: result %+v, want nil", tt.name, got)
		}
	}
}

// writeRow is the responses to one write, the last of which ends the call.
type writeRow struct {
	name       string
	responders responders
	want       commerce.Outcome
	is         error // may be nil
}

// check makes the call, and checks its outcome and error. All responses must be used.
func (r *writeRow) check(t *testing.T, call func(context.Context, *commerce.Client) error) {
	t.Helper()
	s := newStub(t, r.responders...)
	err := call(t.Context(), s.client(t))
	got, requests := commerce.OutcomeOf(err), len(s.sent())
	if got != r.want || requests != len(r.responders) || r.is != nil && !errors.Is(err, r.is) {
		t.Errorf("%s: outcome %v after %d requests, error %v, want %v after %d, and %v",
			r.name, got, requests, err, r.want, len(r.responders), r.is)
	}
	if e, ok := errors.AsType[*commerce.Error](err); ok && (e.Attempts != len(r.responders) || e.StatusCode == 0 &&
		r.want == commerce.OutcomeRejected) {
		t.Errorf("%s: error %+v, want %d attempts, and the status of a refusal", r.name, e, len(r.responders))
	}
}

func TestUpdateCustomDiscount_outcome(t *testing.T) {
	t.Parallel()
	rows := []writeRow{
		{name: "429, 200", responders: responders{rateLimited, respond(200, updatedBody)}, want: commerce.OutcomeApplied},
		{name: "refused connections", responders: responders{refused, refused, refused, refused},
			want: commerce.OutcomeNotSent},
		{name: "an array of one", want: commerce.OutcomeApplied, responders: responders{
			respond(200, `{"data":[{"type":"custom_discount","id":"`+discountID+`"}]}`)}},
	}
	for name, body := range map[string]string{
		"empty": ``, "HTML": `<html>`, "no data": `{}`, "no discount": `{"data":[]}`, "truncated": `{"data":{`,
		"errors too":       strings.TrimSuffix(updatedBody, "}") + `,"errors":[{"title":"x"}]}`,
		"another discount": `{"data":{"type":"custom_discount","id":"` + itemID + `"}}`,
		"an error in data": `{"data":{"type":"custom_discount","id":"` + discountID + `","error":"no"}}`,
		"two discounts": `{"data":[{"type":"custom_discount","id":"` + discountID + `"},` +
			`{"type":"custom_discount","id":"` + itemID + `"}]}`,
	} {
		rows = append(rows, writeRow{name: "200, " + name, responders: responders{respond(200, body)},
			want: commerce.OutcomeUnreadable, is: commerce.ErrBadResponse})
	}
	for _, row := range rows {
		row.check(t, func(ctx context.Context, c *commerce.Client) error {
			got, err := c.Carts.UpdateCustomDiscount(ctx, cartID, existing())
			if (got == nil) != (err != nil) {
				t.Errorf("%s: result %+v, error %v, want one of them", row.name, got, err)
			}
			return err
		})
	}
}

// An error in data is no confirmation of an update.
func TestUpdateCustomDiscount_inlineErrors(t *testing.T) {
	t.Parallel()
	for form, want := range inlineForms {
		s := newStub(t, respond(200, `{"data":{"type":"custom_discount","id":"`+discountID+`",`+form+`}}`))
		_, err := s.client(t).Carts.UpdateCustomDiscount(t.Context(), cartID, existing())
		switch outcome := commerce.OutcomeOf(err); {
		case (err != nil) != (want != nil), err != nil && outcome != commerce.OutcomeUnreadable:
			t.Errorf("%s: error %v, outcome %v, want unreadable: %t", form, err, outcome, want != nil)
		case err != nil:
			diff(t, "errors of "+form, texts(err.(*commerce.Error).Errors), want) //nolint:errorlint // of an operation
		}
	}
}

// A delete is sent again after any error that a retry may fix. A 404 is a success only if an
// earlier attempt may have deleted the discount.
func TestDeleteCustomDiscount(t *testing.T) {
	t.Parallel()
	unavailable, deleted, notFound := respond(503, ""), respond(204, ""), respond(404, `{"errors":[{"title":"x"}]}`)
	for _, row := range []writeRow{
		{name: "503, 204", responders: responders{unavailable, deleted}, want: commerce.OutcomeApplied},
		{name: "503, 404", responders: responders{unavailable, notFound}, want: commerce.OutcomeApplied},
		{name: "truncated 200, 404", responders: responders{respondTruncated(200, "{"), notFound},
			want: commerce.OutcomeApplied},
		{name: "429, 404", responders: responders{rateLimited, notFound}, want: commerce.OutcomeRejected,
			is: commerce.ErrNotFound},
		{name: "503, 403", responders: responders{unavailable, respond(403, "")}, want: commerce.OutcomeUnknown,
			is: commerce.ErrForbidden},
		{name: "503, truncated 404", responders: responders{unavailable, respondTruncated(404, "")},
			want: commerce.OutcomeUnknown},
	} {
		row.check(t, func(ctx context.Context, c *commerce.Client) error {
			return c.Carts.DeleteCustomDiscount(ctx, cartID, existing())
		})
	}
}

func TestDeleteCustomDiscount_request(t *testing.T) {
	t.Parallel()
	s := newStub(t, respond(204, ""), respond(204, ""), respond(204, ""))
	carts := s.client(t).Carts
	err := errors.Join(
		carts.DeleteCustomDiscount(t.Context(), cartID, existing()),
		carts.DeleteCustomDiscount(t.Context(), cartID, onItem()),
		carts.DeleteCustomDiscounts(t.Context(), cartID),
	)
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range []string{cartDiscountPath, itemDiscountPath, "/v2/carts/0a8d0b6c-cart/custom-discounts"} {
		if r := s.sent()[i]; r.Method != "DELETE" || r.Path != path || r.Body != "" || r.RawQuery != "" {
			t.Errorf("request = %+v, want DELETE %s", r, path)
		}
	}
	err = carts.DeleteCustomDiscount(t.Context(), "..", commerce.CustomDiscount{Item: &commerce.CartItemRef{}})
	diff(t, "invalid fields", invalidFields(err), []string{"cart id", "discount id", "item id"})
}

// missingIDs are what programs print for an id that is missing.
var missingIDs = []string{
	"undefined", "null", "NULL", "NaN", "nan", "None", "nil", "<nil>", "%!s(<nil>)", "[object Object]",
	uuid.Nil.String(), "00000000000000000000000000000000", "{" + uuid.Nil.String() + "}", "urn:uuid:" + uuid.Nil.String(),
}

// No call reads or changes the cart that all users of a broken program share.
func TestCartID_missing(t *testing.T) {
	t.Parallel()
	for _, call := range calls.All() {
		if !strings.HasPrefix(call.Op, "Carts.") {
			continue
		}
		for _, id := range missingIDs {
			err := doFor(t.Context(), newStub(t).client(t), call, id)
			if got := invalidFields(err); !slices.Contains(got, "cart id") {
				t.Errorf("%s of %q: error %v, want an invalid cart id", call.Name, id, err)
			}
		}
	}
}

// A cart id stays in its element of the path.
func FuzzCartID(f *testing.F) {
	for _, id := range []string{
		"cart-1", "", ".", "..", "a/b", `a\b`, "a?b", "a#b", "%2e%2e", "a b", "a\r\nHost: evil", "a\x00b", "é", "\xff",
		"@evil.example", ";x", "a:80", "000,", ",|^", "++", strings.Repeat("x", 1024), strings.Repeat("x", 1025),
	} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		r := &recorder{respond: respond(200, `{}`)}
		_, err := newClient(t, r).Carts.AddCustomDiscounts(t.Context(), id, discounts("a"), nil)
		if errors.Is(err, commerce.ErrInvalidArgument) {
			r.checkRefused(t, err, id)
			isMissing := slices.Contains(missingIDs, id) || strings.Trim(id, "0-") == ""
			if strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && !isMissing && len(id) <= 1024 {
				t.Errorf("%q is refused", id)
			}
			return
		}
		req := r.read(t)
		elements := strings.Split(req.URL.EscapedPath(), "/")
		if req.Host != "store.example" || req.URL.RawQuery != "" || len(elements) != 5 {
			t.Fatalf("sent to %s %s", req.Host, req.RequestURI)
		}
		got, err := url.PathUnescape(elements[3])
		if err != nil || got != id || strings.Trim(id, ".") == "" && len(id) < 3 || len(id) > 1024 {
			t.Errorf("cart id %q arrived as %q, error %v", id, got, err)
		}
	})
}
