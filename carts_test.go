package commerce_test

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/google/uuid"
	shopspring "github.com/shopspring/decimal"

	"github.com/commerce-go/commerce"
)

// changed returns a discount that change was applied to.
func changed(change func(*commerce.NewCustomDiscount)) []commerce.NewCustomDiscount {
	list := discounts("a")
	change(&list[0])
	return list
}

func TestAddCustomDiscounts_request(t *testing.T) {
	t.Parallel()
	const (
		data = `{"type":"custom_discount","amount":-1000,"description":"ten off","discount_code":"TEN",` +
			`"discount_engine":"engine","external_id":"a"}`
		item = `,"relationships":{"item":{"data":{"type":"cart_item","id":"` + itemID + `"}}}}`
	)
	ref := &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: uuid.MustParse(itemID)}
	for _, tt := range []struct {
		name      string
		discounts []commerce.NewCustomDiscount
		opts      *commerce.AddCustomDiscountsOptions
		want      string // data and options
	}{
		{name: "nil options", discounts: discounts("a"), want: data + `],"options":{"add_all_or_nothing":false}`},
		{
			name: "all or nothing", discounts: discounts("a"), opts: &commerce.AddCustomDiscountsOptions{AllOrNothing: true},
			want: data + `],"options":{"add_all_or_nothing":true}`,
		},
		{
			name: "on an item", discounts: changed(func(d *commerce.NewCustomDiscount) { d.Item = ref }),
			want: strings.TrimSuffix(data, "}") + item + `],"options":{"add_all_or_nothing":false}`,
		},
		{
			name:      "decimal places",
			discounts: changed(func(d *commerce.NewCustomDiscount) { d.Amount = parseDecimal(t, "-0.1") }),
			want:      strings.Replace(data, "-1000", "-0.1", 1) + `],"options":{"add_all_or_nothing":false}`,
		},
		{
			name: "the same external id twice", discounts: discounts("a", "a"),
			want: data + `,` + data + `],"options":{"add_all_or_nothing":false}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, respond(400, ""))
			_, err := s.client(t).Carts.AddCustomDiscounts(t.Context(), cartID, tt.discounts, tt.opts)
			if !errors.Is(err, commerce.ErrBadRequest) {
				t.Errorf("error = %v, want ErrBadRequest", err)
			}
			diff(t, "requests", s.sent(), []request{{
				Method: "POST", Path: "/v2/carts/0a8d0b6c-cart/custom-discounts", Body: `{"data":[` + tt.want + `}`,
				Header: http.Header{
					"Accept": {"application/json"}, "Authorization": {"Bearer " + token}, "Content-Type": {"application/json"},
					"User-Agent": {"commerce-go/" + commerce.Version + " (" + runtime.Version() + ")"},
				},
			}})
		})
	}
}

func TestAddCustomDiscounts_validation(t *testing.T) {
	t.Parallel()
	invalid := commerce.NewCustomDiscount{Item: &commerce.CartItemRef{Type: "other"}}
	blank := changed(func(d *commerce.NewCustomDiscount) { d.Description = " \n" })[0]
	type problem struct {
		Index int
		Field string
	}
	for _, tt := range []struct {
		name, cartID string
		discounts    []commerce.NewCustomDiscount
		want         []problem
	}{
		{
			name: "all at once", cartID: "a/b", discounts: []commerce.NewCustomDiscount{invalid, discount("x"), blank},
			want: []problem{
				{Index: -1, Field: "cart id"}, {Index: 0, Field: "amount"}, {Index: 0, Field: "description"},
				{Index: 0, Field: "discount_code"}, {Index: 0, Field: "discount_engine"}, {Index: 0, Field: "external_id"},
				{Index: 0, Field: "relationships.item.data.type"}, {Index: 0, Field: "relationships.item.data.id"},
				{Index: 2, Field: "description"},
			},
		},
		{name: "nothing", want: []problem{{Index: -1, Field: "cart id"}, {Index: -1, Field: "discounts"}}},
		{
			name: "amount above zero", cartID: "c", want: []problem{{Index: 0, Field: "amount"}},
			discounts: changed(func(d *commerce.NewCustomDiscount) { d.Amount = commerce.NewDecimal(1) }),
		},
		{name: "invalid UTF-8", cartID: "c", want: []problem{{Index: 0, Field: "external_id"}}, discounts: discounts("\xff")},
	} {
		c := newStub(t).client(t)
		result, err := c.Carts.AddCustomDiscounts(t.Context(), tt.cartID, tt.discounts, nil)
		v, ok := errors.AsType[*commerce.ValidationError](err)
		if !ok || result != nil || commerce.OutcomeOf(err) != commerce.OutcomeNotSent {
			t.Fatalf("%s: result %v, error %v, want a ValidationError", tt.name, result, err)
		}
		var got []problem
		for _, f := range v.Fields {
			got = append(got, problem{Index: f.Index, Field: f.Field})
		}
		diff(t, "problems: "+tt.name, got, tt.want)
	}
}

// Amounts are within ±10^30, with at most 30 decimal places. An amount that is refused
// costs no time, however many digits its exponent stands for.
func TestAddCustomDiscounts_amounts(t *testing.T) {
	t.Parallel()
	zeros := shopspring.RequireFromString("-1." + strings.Repeat("0", 31))
	product := shopspring.NewFromInt(-1000).Mul(shopspring.New(1, -16)).
		Mul(shopspring.RequireFromString("10000000000000000." + strings.Repeat("0", 16)))
	for _, tt := range []struct {
		name   string
		amount shopspring.Decimal
		want   string // in the request; "": the amount is refused
	}{
		{name: "-1e30", amount: shopspring.New(-1, 30), want: "-1" + strings.Repeat("0", 30)},
		{name: "-1e30 in digits", amount: shopspring.New(-1e18, 12), want: "-1" + strings.Repeat("0", 30)},
		{name: "30 places", amount: shopspring.New(-1, -30), want: "-0." + strings.Repeat("0", 29) + "1"},
		{name: "zeros are no places", amount: zeros, want: "-1"},
		{name: "nor are those of a product", amount: product, want: "-1000"},
		{name: "-1e31", amount: shopspring.New(-1, 31)},
		{name: "-10 times 1e30", amount: shopspring.New(-10, 30)},
		{name: "just below -1e30", amount: shopspring.New(-10_000_000_001, 20)},
		{name: "31 places", amount: shopspring.New(-1, -31)},
		{name: "16 million digits", amount: shopspring.New(-1, 16_000_000)},
		{name: "16 million places", amount: shopspring.New(-1, -16_000_000)},
		{name: "the greatest exponent", amount: shopspring.New(-1, math.MaxInt32)},
		{name: "the least exponent", amount: shopspring.New(-1, math.MinInt32)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{respond: respond(400, "")}
			list := changed(func(d *commerce.NewCustomDiscount) { d.Amount = commerce.Decimal{Decimal: tt.amount} })
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

// sentOnce are responses to one write. The last one ends the call.
var sentOnce = []struct {
	name       string
	responders responders
	want       commerce.Outcome
	status     int
}{
	{name: "transport error", responders: responders{failTransport}},
	{name: "429, transport error", responders: responders{rateLimited, failTransport}},
	{name: "429, 500", responders: responders{rateLimited, respond(500, "")}, status: 500},
	{
		name: "429, added", responders: responders{rateLimited, respond(201, `{"data":[{"external_id":"a"}]}`)},
		want: commerce.OutcomePartial, status: 201,
	},
	{
		name: "425, 421, 400", responders: responders{respond(425, ""), respond(421, ""), respond(400, "")},
		want: commerce.OutcomeRejected, status: 400,
	},
	{
		name:       "429 four times",
		responders: responders{rateLimited, rateLimited, rateLimited, respond(429, "<html>")},
		want:       commerce.OutcomeRejected, status: 429,
	},
	{
		name: "429 with HTML, 400", responders: responders{respond(429, `<html class="data">`), respond(400, "")},
		want: commerce.OutcomeRejected, status: 400,
	},
	{
		name:       "429 with truncated HTML, 400",
		responders: responders{respondTruncated(429, `<html>`), respond(400, "")},
		want:       commerce.OutcomeRejected, status: 400,
	},
	{name: "truncated 429", responders: responders{respondTruncated(429, `{"errors":[{}],`)}, status: 429},
	{name: "429 whose body does not arrive", responders: responders{respondTruncated(429, ``)}, status: 429},
	{
		name:       "429 with too large a body",
		responders: responders{respond(429, `{"data":[]`+strings.Repeat(" ", 1<<20)+`}`)}, status: 429,
	},
	{name: "truncated 404", responders: responders{respondTruncated(404, `{"errors":[`)}, status: 404},
	{
		name:       "404 that fails after its JSON",
		responders: responders{respondTruncated(404, `{"errors":[{"title":"x"}]}`)}, status: 404,
	},
	{name: "status 0", responders: responders{respond(0, "")}},
	{
		name: "refused connection, 400", responders: responders{refused, respond(400, "")},
		want: commerce.OutcomeRejected, status: 400,
	},
	{
		name:       "refused connection four times",
		responders: responders{refused, refused, refused, refused}, want: commerce.OutcomeNotSent,
	},
}

// A write is sent again only with proof that nothing was sent, or after a refusal whose
// response holds no discount. A repeated request is the same as the first.
func TestAddCustomDiscounts_isSentOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range sentOnce {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, tt.responders...)
			_, err := s.client(t).Carts.AddCustomDiscounts(t.Context(), cartID, discounts("a", "b"), nil)
			checkError(t, err, commerce.Error{
				Op: "Carts.AddCustomDiscounts", StatusCode: tt.status, Outcome: tt.want, Attempts: len(tt.responders),
			})
			if strings.Contains(err.Error(), token) {
				t.Errorf("error %q holds the text of the transport's", err)
			}
			sent := s.sent()
			for i := range sent {
				if tt.responders[i] != nil { // or the body was not read
					diff(t, "request", sent[i], sent[len(sent)-1])
				}
			}
		})
	}
}

// The arguments are not changed, and the result does not change with them later.
func TestAddCustomDiscounts_argumentsAreCopied(t *testing.T) {
	t.Parallel()
	batch := func() []commerce.NewCustomDiscount {
		list := discounts("a", "b")
		list[1].Item = &commerce.CartItemRef{Type: commerce.ItemTypeCustomItem, ID: uuid.MustParse(itemID)}
		return list
	}
	list, opts := batch(), &commerce.AddCustomDiscountsOptions{AllOrNothing: true}
	c := newStub(t, respond(201, `{"data":[{"external_id":"a"}],"options":{"add_all_or_nothing":false}}`)).client(t)
	result, err := c.Carts.AddCustomDiscounts(t.Context(), cartID, list, opts)
	if !errors.Is(err, commerce.ErrPartialFailure) || result.AllOrNothing {
		t.Fatalf("got result %+v, error %v, want a partial failure without AllOrNothing", result, err)
	}
	diff(t, "discounts", list, batch())
	diff(t, "options", *opts, commerce.AddCustomDiscountsOptions{AllOrNothing: true})
	list[1].ExternalID, list[1].Item.Type = "changed later", "changed later"
	diff(t, "unconfirmed", result.Unconfirmed, batch()[1:])
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
			if strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && id != "" && len(id) <= 1024 {
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
