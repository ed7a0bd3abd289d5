package commerce_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
)

// elements returns n elements of an array, with the number of each in place of %d.
func elements(n int, element string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.ReplaceAll(element, "%d", strconv.Itoa(i))
	}
	return strings.Join(list, ",")
}

// Goes to each limit on the elements of a response, and beyond it.
func TestLimits(t *testing.T) {
	t.Parallel()
	included := func(member string) func(n int) string {
		return func(n int) string { return `{"data":[],"included":{"` + member + `":[` + elements(n, `{}`) + `]}}` }
	}
	for _, tt := range []struct {
		name  string
		body  func(n int) string
		limit int
	}{
		{name: "records", limit: 1_000, body: func(n int) string { return `{"data":[` + elements(n, `{}`) + `]}` }},
		{
			name: "records after an unusual name", limit: 1_000,
			body: func(n int) string { return `{"d\u0061ta":[` + elements(n, `{}`) + `]}` },
		},
		{
			name: "records with values that do not fit", limit: 1_000,
			body: func(n int) string { return `{"data":[` + elements(n, `{"id":%d}`) + `]}` },
		},
		{name: "plans", limit: 10_000, body: included("plans")},
		{name: "products", limit: 10_000, body: included("products")},
		{name: "pricing options", limit: 10_000, body: included("pricing_options")},
		{
			name: "included resources together", limit: 10_000,
			body: func(n int) string {
				return `{"data":[],"included":{"plans":[` + elements(9_990, `{}`) + `],"products":[` + elements(n-9_995, `{}`) +
					`],"pricing_options":[` + elements(5, `{}`) + `]}}`
			},
		},
		{
			name: "values", limit: 100_001,
			body: func(n int) string { return `{"data":[],"links":{` + elements(n-1, `"%d":""`) + `}}` },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for n, want := range map[int]error{tt.limit: nil, tt.limit + 1: commerce.ErrBadResponse} {
				c := newStub(t, respond(200, tt.body(n))).client(t, attempts(1))
				if err := list(t.Context(), c); !errors.Is(err, want) {
					t.Errorf("%d: error = %v, want %v", n, err, want)
				}
			}
		})
	}
}

// Entries of errors beyond the limit are not read.
func TestLimits_errors(t *testing.T) {
	t.Parallel()
	for _, n := range []int{999, 1_000, 1_001, 5_000} {
		c := newStub(t, respond(400, `{"errors":[`+elements(n, `{"title":"%d"}`)+`]}`)).client(t)
		e, ok := errors.AsType[*commerce.Error](list(t.Context(), c))
		if want := min(n, 1_000); !ok || len(e.Errors) != want || e.Errors[want-1].Title != fmt.Sprint(want-1) {
			t.Errorf("%d entries: got error %v, want the first %d", n, e, want)
		}
	}
}
