package discounts

import "context"

// readyToPay returns nil if the cart has what its row wants, so that the customer may pay. Call it
// right before the payment, and tell the customer to try again after any error. It looks at the
// cart once more, because a late write may have changed it after the worker was done. Every cart
// that is paid for needs a row, also one without discounts.
//
// It does not protect from what happens after its last read of the cart: a write that arrives more
// than Grace after the call that sent it, another program that writes to the cart, or a customer
// who changes the items in another window. Compare the total of the order with what the customer
// saw.
func (w *Worker) readyToPay(ctx context.Context, cart string) error {
	// The row is open from now on, so a worker repairs the cart if this process dies.
	_, err := w.DB.ExecContext(ctx,
		`UPDATE cart_discounts SET version = version + 1, next_try = 0 WHERE cart = $1`, cart)
	if err != nil {
		return err
	}
	return w.try(ctx, cart)
}
