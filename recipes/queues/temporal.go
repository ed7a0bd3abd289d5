package queues

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/commerce-go/commerce"
)

// TemporalWorker has the workflow and the activity for Temporal. Start the workflow with the id
// "CART/VERSION", so that each version has one.
type TemporalWorker struct{ Carts *Carts }

// Workflow carries out the wish for the cart of a job. It ends when that is done, or final.
func (w *TemporalWorker) Workflow(ctx workflow.Context, job Job) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: w.Carts.longest(), // then the worker was killed
		RetryPolicy:         &temporal.RetryPolicy{MaximumInterval: 10 * time.Minute},
	})
	return workflow.ExecuteActivity(ctx, w.Ensure, job).Get(ctx, nil)
}

// Ensure is the activity. It returns nil if the job is done, a non-retryable error if it must never
// run again.
func (w *TemporalWorker) Ensure(ctx context.Context, job Job) error {
	err := w.Carts.ensure(ctx, job.Cart)
	if err == nil {
		return nil
	}
	options := temporal.ApplicationErrorOptions{Cause: err, NonRetryable: commerce.IsFinal(err)}
	if options.NextRetryDelay = pause(int(activity.GetInfo(ctx).Attempt)); errors.Is(err, errChanged) {
		options.NextRetryDelay = time.Millisecond
	}
	return temporal.NewApplicationErrorWithOptions(err.Error(), commerce.ReasonOf(err), options)
}
