package commerce_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
)

// many returns n elements, with the number of each in place of %d.
func many(n int, element string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(element, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

// TestLimits goes to each limit on the elements of a response, and one beyond it.
func TestLimits(t *testing.T) {
	t.Parallel()
	const included = `{"data":[],"included":{"plans":[%s],"products":[%s],"pricing_options":[%s]}}`
	for _, tt := range []struct {
		name string
		body func(n int) string
		most int
	}{
		{name: "records", most: 1_000, body: func(n int) string { return `{"data":[` + many(n, `{"type":"%d"}`) + `]}` }},
		{
			name: "records of an unusual form", most: 1_000,
			body: func(n int) string { return `{"d\u0061ta":[` + many(n, `{}`) + `]}` },
		},
		{
			name: "records with values that do not fit", most: 1_000,
			body: func(n int) string { return `{"data":[` + many(n, `{"id":%d}`) + `]}` },
		},
		{name: "plans", most: 10_000, body: func(n int) string { return fmt.Sprintf(included, many(n, `{}`), "", "") }},
		{name: "products", most: 10_000, body: func(n int) string { return fmt.Sprintf(included, "", many(n, `{}`), "") }},
		{
			name: "pricing options", most: 10_000,
			body: func(n int) string { return fmt.Sprintf(included, "", "", many(n, `{}`)) },
		},
		{
			name: "included resources together", most: 10_000,
			body: func(n int) string {
				return fmt.Sprintf(included, many(9_990, `{}`), many(n-9_995, `{}`), many(5, `{}`))
			},
		},
		{
			name: "values", most: 100_001,
			body: func(n int) string { return `{"data":[],"links":{` + many(n-1, `"%d":""`) + `}}` },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for n, want := range map[int]error{tt.most: nil, tt.most + 1: commerce.ErrBadResponse} {
				c := newStub(t, answer(200, tt.body(n))).client(t, commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}))
				if _, err := c.Subscriptions.List(bg, nil); !errors.Is(err, want) {
					t.Errorf("%d: error %v, want %v", n, err, want)
				}
			}
		})
	}
}

// TestLimits_errors reads as many entries of errors as are allowed, and no more.
func TestLimits_errors(t *testing.T) {
	t.Parallel()
	for _, n := range []int{999, 1_000, 1_001, 5_000} {
		c := newStub(t, answer(400, `{"errors":[`+many(n, `{"title":"%d"}`)+`]}`)).client(t)
		_, err := c.Subscriptions.List(bg, nil)
		e, ok := errors.AsType[*commerce.Error](err)
		if want := min(n, 1_000); !ok || len(e.Errors) != want || e.Errors[want-1].Title != fmt.Sprint(want-1) {
			t.Errorf("%d entries: %d read, want %d", n, len(e.Errors), want)
		}
	}
}

// TestLimits_batch: a batch whose response has more discounts than are read is neither
// confirmed nor refused.
func TestLimits_batch(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]commerce.Outcome{10_000: commerce.OutcomePartial, 10_001: commerce.OutcomeUnreadable} {
		c := newStub(t, answer(201, `{"data":[`+many(n, `{"external_id":"%d"}`)+`]}`)).client(t)
		_, err := c.Carts.AddCustomDiscounts(bg, cartID, []commerce.NewCustomDiscount{discount("0")}, nil)
		if got := commerce.OutcomeOf(err); got != want {
			t.Errorf("%d discounts: outcome %v, want %v", n, got, want)
		}
	}
}
