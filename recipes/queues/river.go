package queues

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/riverqueue/river"

	"github.com/commerce-go/commerce"
)

// Kind names the jobs in River's table.
func (Job) Kind() string { return "cart_discounts" }

// InsertOpts lets a job be tried for months. Insert it by InsertTx, in the transaction that changes
// the wish.
func (Job) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: math.MaxInt16, UniqueOpts: river.UniqueOpts{ByArgs: true}}
}

// RiverWorker is the worker for github.com/riverqueue/river.
type RiverWorker struct {
	river.WorkerDefaults[Job]

	Carts *Carts
}

// Work returns nil if the job is done, JobCancel if it must never run again.
func (w *RiverWorker) Work(ctx context.Context, job *river.Job[Job]) error {
	err := w.Carts.ensure(ctx, job.Args.Cart)
	switch {
	case commerce.IsFinal(err):
		return river.JobCancel(err)
	case errors.Is(err, errChanged):
		return river.JobSnooze(0) // at once; this does not count as an attempt
	}
	return err
}

// NextRetry returns when a job that failed runs again.
func (w *RiverWorker) NextRetry(job *river.Job[Job]) time.Time {
	return time.Now().Add(pause(job.Attempt))
}

// Timeout is longer than a run may take. A client that is stopped waits as long for a job that is
// at work, if its context allows.
func (w *RiverWorker) Timeout(*river.Job[Job]) time.Duration { return w.Carts.longest() }
