package queues

import "context"

// readyToPay returns nil if the cart has what is wished for it, so that the customer may pay. Call
// it right before the payment, and tell the customer to try again after any error. It looks at the
// cart once more, because a late write may have changed it after the job was done. It waits for a
// job that is at work on the cart: give ctx a deadline.
//
// It does not protect from what happens after its last read of the cart: a write of an earlier call
// that arrives only then, another program that writes to the cart, or a customer who changes the
// items in another window. It adds no job: if it fails, and the customer does not come back, nobody
// looks at the cart again. Compare the total of the order with what the customer saw.
func (c *Carts) readyToPay(ctx context.Context, cart string) error {
	done := make(chan error, 1)
	go func() { done <- c.ensure(ctx, cart) }() // goes on if the customer does not wait
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
