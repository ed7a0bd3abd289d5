package commerce

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// A cart is read several times. What others take off counts by the last read.
func TestPriceLimit(t *testing.T) {
	t.Parallel()
	type read struct {
		price, others string
		want          []int64 // of the discounts a, b and so on
		got           []int64
		lowered       int
		isShort       bool
	}
	for _, tt := range []struct {
		name  string
		reads []read
	}{
		{name: "enough", reads: []read{{price: "100", others: "-10", want: []int64{-40, -50}, got: []int64{-40, -50}}}},
		{name: "the last first", reads: []read{{price: "100", want: []int64{-70, -60}, got: []int64{-70, -30}, lowered: 1}}},
		{name: "to nothing", reads: []read{{price: "100", want: []int64{-120, -60}, got: []int64{-100, 0}, lowered: 2}}},
		{name: "0 is not lowered", reads: []read{{price: "10", want: []int64{-20, 0}, got: []int64{-10, 0}, lowered: 1}}},
		{name: "whole units", reads: []read{{price: "99.5", want: []int64{-100}, got: []int64{-99}, lowered: 1}}},
		{
			name:  "others take more",
			reads: []read{{price: "99.5", others: "-100", want: []int64{-1}, got: []int64{0}, lowered: 1, isShort: true}},
		},
		{
			name: "others took more before",
			reads: []read{
				{price: "100", others: "-90", want: []int64{-20}, got: []int64{-10}, lowered: 1},
				{price: "100", others: "-10", want: []int64{-20}, got: []int64{-20}},
				{price: "200", others: "-10", want: []int64{-20}, got: []int64{-20}},
			},
		},
	} {
		p := priceLimit{}
		for n, r := range tt.reads {
			price, err1 := ParseDecimal(r.price)
			c := &cartRead{Cart: &Cart{Items: []CartItem{{}}}}
			c.DisplayPrice.WithoutDiscount.Amount = price
			var others []CustomDiscount
			var err2 error
			if r.others != "" {
				others = []CustomDiscount{{ID: uuid.UUID{1}}}
				others[0].Amount.Amount, err2 = ParseDecimal(r.others)
			}
			var want []NewCustomDiscount
			for i, amount := range r.want {
				want = append(want, NewCustomDiscount{Amount: NewDecimal(amount), ExternalID: string(rune('a' + i))})
			}
			if err := errors.Join(err1, err2, p.lower(c, want, others)); err != nil {
				t.Fatal(err)
			}
			var got, wantAmounts []Decimal
			for i, d := range want {
				got, wantAmounts = append(got, d.Amount), append(wantAmounts, NewDecimal(r.got[i]))
			}
			if d := cmp.Diff(wantAmounts, got); d != "" || len(p.lowered) != r.lowered || p.isShort != r.isShort {
				t.Errorf("%s, read %d: %d lowered, short %t, want %d, %t; amounts (-want +got):\n%s",
					tt.name, n+1, len(p.lowered), p.isShort, r.lowered, r.isShort, d)
			}
		}
	}
}
