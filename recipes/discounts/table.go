package discounts

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/commerce-go/commerce"
)

// row is a row of schema.sql that a worker has claimed. Until busyUntil no other worker writes to
// the cart. A later claim has a later busyUntil, so this names the claim, too.
type row struct {
	cart, wish                               string
	version, done, tries, changed, busyUntil int64
}

// SetWish stores what a cart should have. tx is the transaction in which the application decides.
func SetWish(ctx context.Context, tx *sql.Tx, cart string, want []commerce.NewCustomDiscount) error {
	wish, err := json.Marshal(want)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO cart_discounts (cart, wish, changed_at) VALUES ($1, $2, $3)
		ON CONFLICT (cart) DO UPDATE SET wish = excluded.wish, changed_at = excluded.changed_at,
		version = cart_discounts.version + 1, tries = 0, next_try = 0`, cart, string(wish), millis(0))
	return err
}

// LookAgain opens the row of a cart that may no longer be as wanted. It does not end a pause.
func (w *Worker) LookAgain(ctx context.Context, cart string) error {
	_, err := w.DB.ExecContext(ctx, `UPDATE cart_discounts SET version = version + 1 WHERE cart = $1`, cart)
	return err
}

// claim returns an open row that no worker has: that of cart, or any if cart is "". The outer
// busy_until is for databases that let another claim wait for the row, such as PostgreSQL: after
// that they look at it again, and not at the inner one.
func (w *Worker) claim(ctx context.Context, cart string) (*row, error) {
	ctx, cancel := context.WithTimeout(ctx, w.Deadline) // also if the database hangs
	defer cancel()
	r := &row{busyUntil: millis(w.Deadline + w.Grace)}
	err := w.DB.QueryRowContext(ctx, `UPDATE cart_discounts SET busy_until = $1
		WHERE busy_until <= $2 AND cart = (SELECT cart FROM cart_discounts
			WHERE version <> done_version AND next_try <= $2 AND busy_until <= $2 AND (cart = $3 OR $3 = '')
			ORDER BY next_try LIMIT 1)
		RETURNING cart, wish, version, done_version, tries, changed_at`, r.busyUntil, millis(0), cart).
		Scan(&r.cart, &r.wish, &r.version, &r.done, &r.tries, &r.changed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNone
	}
	return r, err
}

// release gives a row back. A wish that came meanwhile is tried at once: it keeps its next_try.
func (w *Worker) release(ctx context.Context, r *row, busyUntil, nextTry int64, problem string) error {
	ctx, cancel := context.WithTimeout(ctx, w.Deadline)
	defer cancel()
	var version int64
	err := w.DB.QueryRowContext(ctx, `UPDATE cart_discounts SET done_version = $1, busy_until = $2, problem = $3,
		tries = CASE WHEN changed_at = $4 THEN $5 ELSE tries END,
		next_try = CASE WHEN changed_at = $4 THEN $6 ELSE next_try END
		WHERE cart = $7 AND busy_until = $8 RETURNING version`,
		r.done, busyUntil, problem, r.changed, r.tries, nextTry, r.cart, r.busyUntil).Scan(&version)
	switch {
	case errors.Is(err, sql.ErrNoRows): // writes of this claim may have undone those of the next one
		return errors.Join(errLost, w.LookAgain(ctx, r.cart))
	case err == nil && version != r.version:
		return errChanged
	}
	return err
}

// millis returns the time in d, in the table's unit.
func millis(d time.Duration) int64 { return time.Now().Add(d).UnixMilli() }
