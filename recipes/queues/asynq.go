package queues

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hibiken/asynq"

	"github.com/commerce-go/commerce"
)

// asynqType names the tasks: mux.Handle(asynqType, &AsynqHandler{Carts: carts}).
const asynqType = "cart:discounts"

// asynqQueue is the queue of the tasks.
const asynqQueue = "default"

// newAsynqTask returns a task that is tried until it is done or final.
func newAsynqTask(job Job, timeout time.Duration) (*asynq.Task, error) {
	payload, err := json.Marshal(job)
	return asynq.NewTask(asynqType, payload, asynq.TaskID(job.asynqID()), asynq.Queue(asynqQueue),
		asynq.MaxRetry(math.MaxInt32), asynq.Timeout(timeout)), err
}

func (j Job) asynqID() string { return fmt.Sprintf("%s/%d", j.Cart, j.Version) }

// enqueueAsynq enqueues the task of a job, unless it is in the queue. Asynq has no transactions
// with the database of the wishes: call it after the commit, and have a job that calls it for all
// carts that changed in the last hour, in case the process dies between the two.
//
// Call it again for a job that ended in a final error, when the cart or the settings of the store
// have changed since: Asynq keeps the id of such a task for 90 days, and would refuse it.
func (c *Carts) enqueueAsynq(ctx context.Context, client *asynq.Client, inspector *asynq.Inspector, job Job) error {
	task, err := newAsynqTask(job, c.longest())
	if err != nil {
		return err
	}
	for range 2 {
		_, err = client.EnqueueContext(ctx, task)
		if !errors.Is(err, asynq.ErrTaskIDConflict) {
			return err
		}
		info, errInfo := inspector.GetTaskInfo(asynqQueue, job.asynqID())
		switch {
		case errors.Is(errInfo, asynq.ErrTaskNotFound): // it has ended meanwhile
			continue
		case errInfo != nil:
			return errInfo
		case info.State != asynq.TaskStateArchived:
			return nil
		}
		errInfo = inspector.DeleteTask(asynqQueue, job.asynqID())
		if errInfo != nil && !errors.Is(errInfo, asynq.ErrTaskNotFound) { // another process was faster
			return errInfo
		}
	}
	return err
}

// AsynqHandler is the worker for github.com/hibiken/asynq.
type AsynqHandler struct{ Carts *Carts }

// ProcessTask returns nil if the task is done, SkipRetry if it must never run again.
func (h *AsynqHandler) ProcessTask(ctx context.Context, task *asynq.Task) error {
	var job Job
	if err := json.Unmarshal(task.Payload(), &job); err != nil {
		return errors.Join(err, asynq.SkipRetry)
	}
	err := h.Carts.ensure(ctx, job.Cart)
	if commerce.IsFinal(err) {
		return errors.Join(err, asynq.SkipRetry)
	}
	return err
}

// asynqRetryDelay is the RetryDelayFunc of the server.
func asynqRetryDelay(retried int, err error, _ *asynq.Task) time.Duration {
	if errors.Is(err, errChanged) {
		return 0
	}
	return pause(retried + 1)
}
