package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// CartRows is the table carts in the application's database. Whoever changes the discounts that
// a cart should have also increases its version, in the same transaction.
type CartRows interface {
	// Open returns the carts to work on: SELECT id FROM carts WHERE done <> version.
	Open(ctx context.Context) (cartIDs []string, err error)
	// Wanted reads the version of a cart and its discounts, in one transaction.
	Wanted(ctx context.Context, cartID string) (version int, want []commerce.NewCustomDiscount, err error)
	// SetDone does: UPDATE carts SET done = $version, problem = $problem WHERE id = $id. It must
	// not keep a higher done: that of a call which this one may have undone.
	SetDone(ctx context.Context, cartID string, version int, problem error) error
}

// engines are all discount engines of the application.
var engines = []string{"promo-engine"}

var errInDoubt = errors.New("a write without a response may still be applied")

// ensureCart gives a cart the discounts that its row wants. The worker calls it for each open
// row, and the checkout calls it once more. Only nil means that the customer may pay.
func ensureCart(ctx context.Context, client *commerce.Client, rows CartRows, cartID string) error {
	version, want, err := rows.Wanted(ctx, cartID)
	if err != nil {
		return err
	}
	opts := &commerce.EnsureCustomDiscountsOptions{Update: true, Prune: true, Engines: engines}
	result, err := client.Carts.EnsureCustomDiscounts(ctx, cartID, want, opts)
	if err == nil && len(result.InDoubt) > 0 {
		err = errInDoubt
	}
	if err == nil || commerce.IsFinal(err) {
		err = errors.Join(err, rows.SetDone(ctx, cartID, version, err))
	}
	return err
}

// work works on all open rows once. A worker calls it again and again, with a pause.
func work(ctx context.Context, client *commerce.Client, rows CartRows) error {
	open, err := rows.Open(ctx)
	for _, cartID := range open {
		if err := ensureCart(ctx, client, rows, cartID); err != nil {
			slog.WarnContext(ctx, "discounts", "cart", cartID, "error", err)
		}
	}
	return errors.Join(err, ctx.Err())
}

// memoryRows are the rows of one cart.
type memoryRows struct {
	cartID        string
	version, done int
	problem       error
	want          []commerce.NewCustomDiscount
}

func (m *memoryRows) Open(context.Context) ([]string, error) {
	if m.done == m.version {
		return nil, nil
	}
	return []string{m.cartID}, nil
}

func (m *memoryRows) Wanted(context.Context, string) (int, []commerce.NewCustomDiscount, error) {
	return m.version, m.want, nil
}

func (m *memoryRows) SetDone(_ context.Context, _ string, version int, problem error) error {
	m.done, m.problem = version, problem
	return nil
}

// promos returns n discounts.
func promos(n int) []commerce.NewCustomDiscount {
	var list []commerce.NewCustomDiscount
	for i := range n {
		list = append(list, commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(-100), Description: "One dollar off", DiscountCode: "ONE",
			DiscountEngine: "promo-engine", ExternalID: fmt.Sprintf("promo-%d", i+1),
		})
	}
	return list
}

// Whatever happens to the writes of the worker, the cart is right after the call before the
// checkout.
func TestEnsureCart(t *testing.T) {
	t.Parallel()
	add := commercetest.OpAdd
	tests := []struct {
		name    string
		faults  []commercetest.Fault
		want    int // discounts
		rounds  int // of the worker, until the row is done
		inCart  int
		problem error
	}{
		{name: "no fault", want: 2, rounds: 1, inCart: 2},
		{name: "no discount wanted", rounds: 1},
		{
			name: "response lost", faults: []commercetest.Fault{{Operation: add, Apply: true, Cut: true}},
			want: 2, rounds: 1, inCart: 2,
		},
		{
			name: "request lost, sent again", faults: []commercetest.Fault{{Operation: add, Cut: true}},
			want: 2, rounds: 2, inCart: 2,
		},
		{
			name: "applied late", faults: []commercetest.Fault{{Operation: add, Late: true, Delay: time.Hour}},
			want: 2, rounds: 2, inCart: 2,
		},
		{name: "service down", faults: []commercetest.Fault{{Status: 503, Times: 10}}, want: 2, rounds: 3, inCart: 2},
		{name: "limit reached", want: 6, rounds: 1, inCart: 5, problem: commerce.ErrDiscountLimit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := commercetest.New(t, commercetest.Config{})
				store.Inject(tt.faults...)
				rows := &memoryRows{cartID: store.AddCart(commerce.CartItemRef{}), version: 1, want: promos(tt.want)}
				for round := range tt.rounds {
					if rows.done == 1 {
						t.Errorf("done after %d rounds, want %d", round, tt.rounds)
					}
					if err := work(t.Context(), store.Client(), rows); err != nil {
						t.Fatal(err)
					}
					<-time.After(time.Minute)
				}
				if rows.done != 1 || !errors.Is(rows.problem, tt.problem) {
					t.Errorf("done = %d, problem = %v, want 1, %v", rows.done, rows.problem, tt.problem)
				}
				<-time.After(time.Hour)
				if err := ensureCart(t.Context(), store.Client(), rows, rows.cartID); !errors.Is(err, tt.problem) {
					t.Errorf("ensureCart() = %v, want %v", err, tt.problem)
				}
				if n := len(store.Discounts(rows.cartID)); n != tt.inCart {
					t.Errorf("the cart has %d discounts, want %d", n, tt.inCart)
				}
			})
		})
	}
}

// The row changes while the cart is written to: it stays open, and the next round is right.
func TestEnsureCart_newVersion(t *testing.T) {
	t.Parallel()
	rows := &memoryRows{version: 1, want: promos(2)}
	store := commercetest.New(t, commercetest.Config{AfterRequest: func(_ *commercetest.Store, in commercetest.Request) {
		if in.Operation == commercetest.OpAdd {
			rows.version, rows.want = 2, promos(1)
		}
	}})
	rows.cartID = store.AddCart(commerce.CartItemRef{})
	for round, want := range []int{2, 1} {
		if err := work(t.Context(), store.Client(), rows); err != nil {
			t.Fatal(err)
		}
		if n := len(store.Discounts(rows.cartID)); n != want || rows.done != round+1 {
			t.Errorf("round %d: %d discounts, done = %d, want %d, %d", round+1, n, rows.done, want, round+1)
		}
	}
}
