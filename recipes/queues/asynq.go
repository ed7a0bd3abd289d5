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

// newAsynqTask returns a task that is tried until it is done or final. Asynq has no transactions
// with the database of the wishes: enqueue the task after the commit, and have a job that enqueues
// those of all carts that changed in the last hour, in case the process dies between the two.
func newAsynqTask(job Job, timeout time.Duration) (*asynq.Task, error) {
	payload, err := json.Marshal(job)
	return asynq.NewTask(asynqType, payload, asynq.TaskID(fmt.Sprintf("%s/%d", job.Cart, job.Version)),
		asynq.MaxRetry(math.MaxInt32), asynq.Timeout(timeout)), err
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
