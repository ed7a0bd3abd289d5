package commerce_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce"
)

// limiterFunc is what users adapt a function with.
type limiterFunc func(context.Context) error

func (f limiterFunc) Wait(ctx context.Context) error { return f(ctx) }

func TestAPI_nilArguments(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]commerce.Option{
		"nil limiter": commerce.WithLimiter(nil), "nil pointer": commerce.WithLimiter((*waits)(nil)), "nil function": commerce.WithLimiter(limiterFunc(nil)),
		"nil source": commerce.WithTokenSource(nil), "nil source function": commerce.WithTokenSource(sourceFunc(nil)),
		"nil client": commerce.WithHTTPClient(nil), "nil transport": commerce.WithHTTPClient(&http.Client{Transport: (*http.Transport)(nil)}), "nil logger": commerce.WithLogger(nil), "nil option": nil,
	} {
		if _, err := commerce.New(base, commerce.WithToken(token), opt); !errors.Is(err, commerce.ErrInvalidArgument) || !strings.Contains(err.Error(), "must not be") || !strings.Contains(err.Error(), "nil") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	var (
		failed  *commerce.Error
		invalid *commerce.ValidationError
		stop    *commerce.PagingError
	)
	for _, err := range []error{failed, invalid, stop} {
		if err.Error() != "<nil>" || errors.Is(err, commerce.ErrNotFound) || errors.Unwrap(err) != nil {
			t.Errorf("%T(nil): %v", err, err)
		}
	}
	if got := commerce.OutcomeOf(failed); got != commerce.OutcomeUnknown {
		t.Errorf("outcome of a nil error of the type: %v", got)
	}
	s := newStub(t, answer(200, `{"data":[]}`), answer(200, `{"data":[]}`))
	if _, err := s.client(t).Subscriptions.List(bg, nil); err != nil {
		t.Error(err)
	}
	if subs, err := commerce.Collect(s.client(t).Subscriptions.All(bg, nil)); err != nil || len(subs) != 0 {
		t.Error(subs, err)
	}
}

type waits struct{}

func (*waits) Wait(context.Context) error { return nil }

// Zero values print, encode and decode.
func TestAPI_zeroValues(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		&commerce.Subscription{}, &commerce.Plan{}, &commerce.Product{}, &commerce.PricingOption{}, &commerce.CustomDiscount{}, &commerce.Included{}, &commerce.SubscriptionPage{},
		&commerce.Error{}, &commerce.ValidationError{}, &commerce.PagingError{Err: commerce.ErrListDrift}, &commerce.Response{}, &commerce.AddCustomDiscountsResult{}, &commerce.RetryPolicy{},
		&commerce.NewCustomDiscount{}, &commerce.SubscriptionListOptions{}, &commerce.Money{}, &commerce.Decimal{},
	} {
		if text := fmt.Sprintf("%v %+v %#v", v, v, v); text == "" || strings.Contains(text, "PANIC") {
			t.Errorf("%T prints as %q", v, text)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("%T: %v", v, err)
		}
	}
	for _, v := range []any{&commerce.Subscription{}, &commerce.Plan{}, &commerce.Product{}, &commerce.PricingOption{}, &commerce.CustomDiscount{}, &commerce.Decimal{}} {
		before := fmt.Sprintf("%+v", v)
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, v); err != nil || fmt.Sprintf("%+v", v) != before {
			t.Errorf("%s became %+v, %v", b, v, err)
		}
	}
}

// What a call was given may be changed as soon as it has returned, and is not
// changed by it.
func TestAPI_argumentsAreCopied(t *testing.T) {
	t.Parallel()
	s := newStub(t, answer(200, `{"data":[],"errors":[]}`), answer(200, `{"data":[{"id":"`+itemID+`"}]}`), answer(200, `{"data":[]}`))
	c := s.client(t)
	item := &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: nth(1)}
	batch := []commerce.NewCustomDiscount{discount("a"), discount("b")}
	batch[0].Item = item
	opts := &commerce.AddCustomDiscountsOptions{AllOrNothing: true}
	before := fmt.Sprintf("%+v %+v %+v", batch[1], *item, *opts)
	if _, err := c.Carts.AddCustomDiscounts(bg, "cart", batch, opts); err == nil {
		t.Error("an answer that says nothing is no error")
	}
	if after := fmt.Sprintf("%+v %+v %+v", batch[1], *item, *opts); after != before || batch[0].Item != item {
		t.Errorf("changed to %s", after)
	}
	list := &commerce.SubscriptionListOptions{PageSize: 7, Filter: commerce.SubscriptionFilter{Email: "a"}}
	walk := c.Subscriptions.All(bg, list)
	list.PageSize, list.Filter.Email = 9, "b"
	if _, err := commerce.Collect(walk); err != nil {
		t.Error(err)
	}
	if query := mustQuery(t, s.got(t)[1].RawQuery); query.Get("page[limit]") != "7" || query.Get("filter") != `eq(email,"a")` {
		t.Errorf("query %v", query)
	}
}

// A failed refresh leaves the call with the status of its own answer.
func TestAPI_refreshThatFails(t *testing.T) {
	t.Parallel()
	s := newStub(t, answer(200, accessTok), answer(401, ""), answer(400, `{"error":"invalid_client"}`))
	_, err := s.client(t, commerce.WithClientCredentials("id", "secret")).Subscriptions.List(bg, nil)
	if !errors.Is(err, commerce.ErrUnauthorized) || errors.Is(err, commerce.ErrBadRequest) {
		t.Errorf("matches ErrUnauthorized: %t, ErrBadRequest of the token request: %t", errors.Is(err, commerce.ErrUnauthorized), errors.Is(err, commerce.ErrBadRequest))
	}
	if err == nil || !strings.Contains(err.Error(), "token: 400 Bad Request") {
		t.Errorf("the text does not tell of the token request: %v", err)
	}
}

// A field that is set where Extra keeps another value for it is an error, not lost.
func TestAPI_fieldBesideExtra(t *testing.T) {
	t.Parallel()
	const in = `{"id":"` + itemID + `","type":"custom_discount","external_id":"a","relationships":{"item":{"data":{"type":"cart_item","id":"` + itemID + `"},"new":1}}}`
	var d commerce.CustomDiscount
	if err := json.Unmarshal([]byte(in), &d); err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(d); err != nil || !strings.Contains(string(b), `"new":1`) {
		t.Fatalf("unchanged: %s, %v", b, err)
	}
	d.Item = &commerce.CartItemRef{Type: commerce.ItemTypeCartItem, ID: nth(2)}
	if b, err := json.Marshal(d); err == nil {
		t.Errorf("a changed item is lost: %s", b)
	}
	delete(d.Extra, "relationships")
	if b, err := json.Marshal(d); err != nil || !strings.Contains(string(b), nth(2).String()) {
		t.Errorf("%s, %v", b, err)
	}
	var sub commerce.Subscription
	if err := json.Unmarshal([]byte(`{"attributes":{"account_id":7}}`), &sub); err != nil {
		t.Fatal(err)
	}
	sub.Attributes.AccountID = nth(1)
	if b, err := json.Marshal(sub); err == nil {
		t.Errorf("encoded %s", b)
	}
}

// What a record was decoded from it can be encoded to.
func TestAPI_oddRecordsComeBack(t *testing.T) {
	t.Parallel()
	for in, v := range map[string]any{
		`{"amount":{"amount":"ten","currency":"USD"}}`: &commerce.CustomDiscount{},
		`{"amount":"ten"}`:           &commerce.CustomDiscount{},
		`{"id":5,"type":[],"new":1}`: &commerce.Plan{},
		`{"meta":{"timestamps":{"created_at":"2024-01-02T03:04:05+24:00","updated_at":"2024-01-02T03:04:05+23:59"}}}`: &commerce.Subscription{},
	} {
		if err := json.Unmarshal([]byte(in), v); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		again := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		if err := json.Unmarshal(b, again); err != nil {
			t.Fatal(err)
		}
		diff(t, in, again, v)
	}
}

// Every number that is accepted can be read back.
func TestDecimal_longOnes(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"1e10000", "-1e10000", "-1e9999", "1e-9999", "-12.5e-9999", strings.Repeat("9", 10_000), "-" + strings.Repeat("9", 9_999)} {
		d, err := commerce.ParseDecimal(s)
		if err != nil {
			t.Fatalf("%.20s: %v", s, err)
		}
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var again commerce.Decimal
		if err := json.Unmarshal(b, &again); err != nil || !again.Equal(d) {
			t.Errorf("%.20s, %d characters as JSON: %v", s, len(b), err)
		}
		if plan := (commerce.Plan{Attributes: commerce.PlanAttributes{Billing: commerce.Billing{PlanLength: d}}}); true {
			b, err := json.Marshal(plan)
			var back commerce.Plan
			if err == nil {
				err = json.Unmarshal(b, &back)
			}
			if err != nil || !cmp.Equal(plan.Attributes.PlanLength, back.Attributes.PlanLength) {
				t.Errorf("%.20s in a plan: %v", s, err)
			}
		}
	}
}

// The alphabets of header keys and values, byte by byte.
func TestAPI_headerAlphabets(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		c := string([]byte{byte(b)})
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_'
		if _, err := commerce.New(base, commerce.WithToken(token), commerce.WithHeader("X"+c, "v")); (err == nil) != letter {
			t.Errorf("key with %q: %v", c, err)
		}
		if _, err := commerce.New(base, commerce.WithToken(token), commerce.WithHeader("X-A", "v"+c)); (err == nil) != (b >= ' ' && b <= '~') {
			t.Errorf("value with %q: %v", c, err)
		}
		if _, err := commerce.New(base, commerce.WithToken("t"+c)); (err == nil) != (b > ' ' && b <= '~') {
			t.Errorf("token with %q: %v", c, err)
		}
	}
}

// What is at a limit is within it.
func TestAPI_limits(t *testing.T) {
	t.Parallel()
	const filter, most = `eq(email,"")`, 8 << 10
	email := strings.Repeat("a", most-len(url.QueryEscape(filter)))
	for _, tt := range []struct {
		opts commerce.SubscriptionListOptions
		ok   bool
	}{
		{commerce.SubscriptionListOptions{Offset: commerce.MaxOffset, PageSize: commerce.MaxPageSize, Concurrency: commerce.MaxConcurrency}, true},
		{commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{Email: email}}, true},
		{commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{Email: email + "a"}}, false},
	} {
		s := newStub(t, answer(200, `{"data":[]}`))
		if _, err := s.client(t).Subscriptions.List(bg, &tt.opts); (err == nil) != tt.ok {
			t.Errorf("%.100v: %v", tt.opts, err)
		}
	}
}
