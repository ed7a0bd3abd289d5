package discounts

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// payment is a customer who pays.
type payment struct {
	name   string
	before func(tb *table, cart string) // the customer pays
	want   error
	open   bool // afterwards
}

func payments() []payment {
	const add = commercetest.OpAdd
	return []payment{
		{name: "as wanted", before: func(*table, string) {}},
		{
			name: "a late write added a copy", before: func(tb *table, cart string) {
				late := tb.store.Discounts(cart)[0]
				late.ID = uuid.Nil // a new one
				tb.store.AddDiscount(cart, late)
			},
		},
		{
			name: "a discount is gone", before: func(tb *table, cart string) {
				tb.store.RemoveDiscount(cart, tb.store.Discounts(cart)[0].ID)
			},
		},
		{
			name: "in doubt", want: commerce.ErrOutcomeUnknown, open: true, before: func(tb *table, cart string) {
				tb.store.RemoveDiscount(cart, tb.store.Discounts(cart)[0].ID)
				tb.store.Inject(commercetest.Fault{Operation: add, Late: true, Delay: time.Hour})
			},
		},
		{
			name: "service down", want: commerce.ErrServer, open: true, before: func(tb *table, _ string) {
				tb.store.Inject(commercetest.Fault{Status: 503, Times: -1})
			},
		},
		{
			name: "deadline", want: context.DeadlineExceeded, open: true, before: func(tb *table, _ string) {
				tb.store.Inject(commercetest.Fault{Delay: time.Hour, Times: -1})
			},
		},
		{
			name: "refused", want: commerce.ErrPromotionConflict, before: func(tb *table, cart string) {
				tb.store.RemoveDiscount(cart, tb.store.Discounts(cart)[0].ID)
				tb.store.AddPromotion(cart)
			},
		},
		{
			name: "a worker has the row", want: errNone, open: true, before: func(tb *table, cart string) {
				_ = tb.LookAgain(tb.t.Context(), cart)
				if _, err := tb.claim(tb.t.Context(), cart); err != nil {
					tb.t.Error(err)
				}
			},
		},
		{
			name: "the wish changes meanwhile", want: errChanged, open: true, before: func(tb *table, cart string) {
				tb.store.Inject(commercetest.Fault{Match: func(commercetest.Request) bool {
					return tb.wish(tb.t.Context(), cart, -9) == nil
				}})
			},
		},
	}
}

// What the checkout returns, and that the cart is right after it returned nil. The worker was done
// before.
func TestReadyToPay(t *testing.T) {
	t.Parallel()
	for _, tt := range payments() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tb := newTable(t)
				cart := tb.addCart(-1)
				if err := tb.try(t.Context(), cart); err != nil {
					t.Fatal(err)
				}
				tt.before(tb, cart)
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
				defer cancel()
				if err := tb.readyToPay(ctx, cart); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
					t.Errorf("readyToPay() = %v, want %v", err, tt.want)
				}
				if s := tb.state(cart); s.Version != s.Done != tt.open {
					t.Errorf("got %+v, want an open row: %t", s, tt.open)
				}
				if got := amounts(tb.store, cart); tt.want == nil && got != wanted(-1) {
					t.Errorf("the cart has %q, want %q", got, wanted(-1))
				}
			})
		})
	}
}
