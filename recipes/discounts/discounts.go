// Package discounts is a recipe to copy: a table holds the discounts that carts should have, and
// workers carry them out. docs/recipes.md says when to take it.
package discounts

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/commerce-go/commerce"
)

var (
	errNone    = errors.New("no row is open, or another worker has it")
	errChanged = errors.New("the row changed meanwhile")
	errLost    = errors.New("this took too long, and another worker may have got the row")
)

// Worker carries out the rows of schema.sql. Any number of workers may share the table, if their
// clocks differ by less than Grace.
type Worker struct {
	DB       *sql.DB
	Client   *commerce.Client
	Engine   string        // the name of the application: no other discounts are touched
	Rows     int           // worked on at the same time, e.g. 8
	Deadline time.Duration // of a row, e.g. a minute
	Grace    time.Duration // how late the service may apply a write without a response, e.g. 10 s
}

// Run works on open rows until ctx ends, and on those that it has begun until their deadline.
func (w *Worker) Run(ctx context.Context) {
	var running sync.WaitGroup
	for range w.Rows {
		running.Go(func() {
			for ctx.Err() == nil {
				r, err := w.claim(ctx, "")
				if err == nil {
					err = w.carryOut(context.WithoutCancel(ctx), r)
				}
				if err == nil {
					continue
				}
				if !errors.Is(err, errNone) {
					slog.WarnContext(ctx, "discounts", "reason", commerce.ReasonOf(err), "error", err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
			}
		})
	}
	running.Wait()
}

// try carries out an open row: that of cart, or any if cart is "".
func (w *Worker) try(ctx context.Context, cart string) error {
	r, err := w.claim(ctx, cart)
	if err != nil {
		return err
	}
	return w.carryOut(ctx, r)
}

// carryOut works once on a row. nil means that the last read showed the wish, lowered if the cart
// would cost less than 0, that nothing is in doubt, and that the row has not changed since.
func (w *Worker) carryOut(ctx context.Context, r *row) error {
	err := w.ensure(ctx, r)
	if err = w.end(context.WithoutCancel(ctx), r, err); err != nil {
		return fmt.Errorf("cart %s: %w", r.cart, err)
	}
	return nil
}

func (w *Worker) ensure(ctx context.Context, r *row) error {
	ctx, cancel := context.WithTimeout(ctx, w.Deadline)
	defer cancel()
	var wish []commerce.NewCustomDiscount
	if err := json.Unmarshal([]byte(r.wish), &wish); err != nil {
		return err
	}
	want := func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) { return wish, nil }
	opts := &commerce.SetCustomDiscountsOptions{Engine: w.Engine, Settle: w.Grace}
	result, err := w.Client.Carts.SetCustomDiscounts(ctx, r.cart, want, opts)
	isBare := errors.Is(err, commerce.ErrEmptyCart) && commerce.IsFinal(err) && result != nil && len(result.Different) == 0
	isWanted := func(d commerce.NewCustomDiscount) bool { return !d.Amount.IsZero() }
	if isBare && !slices.ContainsFunc(wish, isWanted) {
		return nil // as wished, although the call returns an error for each cart without items
	}
	return err
}

// end gives the row back after a try that returned err.
func (w *Worker) end(ctx context.Context, r *row, err error) error {
	pause := min(4*time.Second<<min(r.tries, 8), 10*time.Minute)
	nextTry, busyUntil, problem := millis(pause/2+rand.N(pause/2)), int64(0), ""
	r.tries++
	switch {
	case err == nil:
		r.done, r.tries, nextTry = r.version, 0, 0
	case isFinal(err, r):
		r.done = r.version
	case commerce.OutcomeOf(err) == commerce.OutcomeUnknown:
		busyUntil = millis(w.Grace) // also if the wish changes: a late write would undo the next one
	}
	if err != nil {
		problem = err.Error()
	}
	if e, ok := errors.AsType[*commerce.Error](err); ok && len(e.Details()) > 0 {
		problem = fmt.Sprintf("%s: %q", problem, e.Details())
	}
	return errors.Join(err, w.release(ctx, r, busyUntil, nextTry, problem))
}

// isFinal reports whether another try is of no use until the row changes. The customer may still
// fill a cart that is empty, or costs less than the discounts of others.
func isFinal(err error, r *row) bool {
	if (errors.Is(err, commerce.ErrEmptyCart) || errors.Is(err, commerce.ErrBelowZero)) && r.changed > millis(-time.Hour) {
		return false
	}
	return commerce.IsFinal(err)
}
