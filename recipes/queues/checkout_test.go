package queues

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

// What the checkout returns after the job was done.
func TestReadyToPay(t *testing.T) {
	t.Parallel()
	const add = commercetest.OpAdd
	tests := []struct {
		name   string
		before func(s *shop) // the customer pays
		want   error
	}{
		{name: "as wanted", before: func(*shop) {}},
		{name: "a discount is gone", before: (*shop).removeDiscount},
		{
			name: "a late write added a copy", before: func(s *shop) {
				late := s.store.Discounts(s.cart)[0]
				late.ID = uuid.Nil // a new one
				s.store.AddDiscount(s.cart, late)
			},
		},
		{
			name: "in doubt", want: commerce.ErrOutcomeUnknown, before: func(s *shop) {
				s.removeDiscount()
				s.store.Inject(commercetest.Fault{Operation: add, Late: true, Delay: time.Hour})
			},
		},
		{
			name: "refused", want: commerce.ErrPromotionConflict, before: func(s *shop) {
				s.removeDiscount()
				s.store.AddPromotion(s.cart)
			},
		},
		{
			name: "the wish changes meanwhile", want: errChanged, before: func(s *shop) {
				s.store.Inject(commercetest.Fault{Match: func(commercetest.Request) bool { s.set(-2); return true }})
			},
		},
		{
			name: "a worker has the cart", want: context.DeadlineExceeded, before: func(s *shop) {
				if _, _, err := s.carts.Locker.Lock(context.Background(), "jobs/"+s.cart); err != nil {
					panic(err)
				}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t, commerce.CartItemRef{})
				if err := s.carts.ensure(t.Context(), s.cart); err != nil {
					t.Fatal(err)
				}
				tt.before(s)
				if err := s.carts.readyToPay(t.Context(), s.cart); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
					t.Errorf("readyToPay() = %v, want %v", err, tt.want)
				}
				if got := s.amounts(); tt.want == nil && got != "-1" {
					t.Errorf("the cart has %q, want -1", got)
				}
			})
		})
	}
}

func (s *shop) removeDiscount() { s.store.RemoveDiscount(s.cart, s.store.Discounts(s.cart)[0].ID) }

// A customer waits no longer than the deadline, and what has begun goes on.
func TestReadyToPay_deadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, commerce.CartItemRef{})
		s.store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Late: true, Delay: 8 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		err := s.carts.readyToPay(ctx, s.cart)
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 2*time.Second {
			t.Errorf("got %v after %v, want the end of the context after 2 s", err, took)
		}
		<-time.After(time.Minute)
		if got := s.amounts(); got != "-1" {
			t.Errorf("the cart has %q, want -1", got)
		}
	})
}
