package commerce_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
)

func TestAPI_nilArguments(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]commerce.Option{
		"nil limiter": commerce.WithLimiter(nil),
		"nil source":  commerce.WithTokenSource(nil),
		"nil client":  commerce.WithHTTPClient(nil), "nil logger": commerce.WithLogger(nil), "nil option": nil,
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
