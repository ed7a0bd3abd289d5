// Package queues is a recipe to copy: jobs of a queue give carts the discounts that they should
// have. The files river.go, asynq.go and temporal.go have the same worker for three queues. Take
// one of them, with queues.go. docs/recipes.md says when.
package queues

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/commerce-go/commerce"
)

var (
	errChanged = errors.New("the wish changed while it was carried out")
	errYoung   = errors.New("the customer may still fill the cart")
)

// Wish is what a cart should have.
type Wish struct {
	Version   int64     // grows with each change
	Changed   time.Time // when it changed
	Discounts []commerce.NewCustomDiscount
}

// Carts carries out the wishes for carts. The application stores them in its database, and adds a
// job for each new version, if it can in the same transaction.
type Carts struct {
	Client   *commerce.Client
	Locker   commerce.Locker // of all machines
	Wish     func(ctx context.Context, cart string) (Wish, error)
	Engine   string        // the name of the application: no other discounts are touched
	Deadline time.Duration // of a run, e.g. a minute
	Grace    time.Duration // how late the service may apply a write without a response, e.g. 10 s
}

// longest returns how long ensure may take: it may wait for the lock as long as for the service.
func (c *Carts) longest() time.Duration { return 2*c.Deadline + 2*c.Grace + time.Minute }

// Job is what a queue stores: the cart whose wish is to be carried out. The version makes jobs
// different. Without it, a queue that accepts a job only once would drop the one for a wish that
// changes while the job for the wish before runs.
type Job struct {
	Cart    string `json:"cart"`
	Version int64  `json:"version"`
}

// ensure carries out the present wish for a cart, whatever the version of the job. nil means done:
// the last read showed the wish, lowered if the cart would cost less than 0; nothing is in doubt,
// and the wish is still the same. If the error is final, by commerce.IsFinal, the job is of no use
// until the wish changes; else it must run again.
//
// No two runs of a cart overlap, and none begins while a write of an earlier one may still be
// applied: it would not see that write, and add the discount a second time, or leave one that
// nobody wants. Therefore a run that has begun goes on after ctx has ended, e.g. because the worker
// is shut down, and keeps the lock until nothing is in doubt. If the process is killed, the lock
// does: its Expiry must be at least twice the Grace.
func (c *Carts) ensure(ctx context.Context, cart string) error {
	waiting, cancel := context.WithTimeout(ctx, c.Deadline)
	defer cancel()
	// Not the key of the client, which takes that one itself. Without this lock, a worker that has
	// read an old wish could carry it out after another one has carried out the new one.
	held, unlock, err := c.Locker.Lock(waiting, "jobs/"+cart)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), c.Deadline)
	defer cancel()
	wish, err := c.Wish(ctx, cart)
	if err != nil {
		return err
	}
	want := func(context.Context, *commerce.Cart) ([]commerce.NewCustomDiscount, error) {
		return wish.Discounts, nil
	}
	opts := &commerce.SetCustomDiscountsOptions{Engine: c.Engine, Settle: c.Grace}
	result, err := c.Client.Carts.SetCustomDiscounts(ctx, cart, want, opts)
	isBare := errors.Is(err, commerce.ErrEmptyCart) && commerce.IsFinal(err) && result != nil && len(result.Different) == 0
	isWanted := func(d commerce.NewCustomDiscount) bool { return !d.Amount.IsZero() }
	switch {
	case isBare && !slices.ContainsFunc(wish.Discounts, isWanted):
		err = nil // as wished, although the call returns an error for each cart without items
	case errors.Is(err, commerce.ErrOutcomeUnknown):
		select {
		case <-time.After(2 * c.Grace):
		case <-held.Done():
		}
	case time.Since(wish.Changed) < time.Hour &&
		(errors.Is(err, commerce.ErrEmptyCart) || errors.Is(err, commerce.ErrBelowZero)):
		err = errors.Join(err, errYoung)
	}
	now, wishErr := c.Wish(ctx, cart)
	if wishErr == nil && now.Version != wish.Version {
		wishErr = errChanged
	}
	return errors.Join(err, wishErr, held.Err()) // one that is not of the library makes it not final
}

// pause returns the time to wait after a number of tries: 2 s at first, 10 minutes at most.
func pause(tries int) time.Duration {
	d := min(4*time.Second<<min(max(tries, 1)-1, 8), 10*time.Minute)
	return d/2 + rand.N(d/2)
}
