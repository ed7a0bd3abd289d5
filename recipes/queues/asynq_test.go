package queues

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"

	"github.com/commerce-go/commerce"
)

// A task is in the queue once. One that was archived after a final error can be enqueued again.
func TestEnqueueAsynq(t *testing.T) {
	t.Parallel()
	s := newShop(t, commerce.CartItemRef{})
	server := asynq.RedisClientOpt{Addr: miniredis.RunT(t).Addr()}
	client, inspector := asynq.NewClient(server), asynq.NewInspector(server)
	t.Cleanup(func() {
		_ = client.Close()
		_ = inspector.Close()
	})
	job := Job{Cart: s.cart, Version: 1}
	enqueue := func(when string, wantPending int) {
		t.Helper()
		if err := s.carts.enqueueAsynq(t.Context(), client, inspector, job); err != nil {
			t.Errorf("%s: error %v", when, err)
		}
		info, err := inspector.GetQueueInfo(asynqQueue)
		if err != nil || info.Pending != wantPending || info.Archived != 0 {
			t.Errorf("%s: %+v, error %v, want %d pending, none archived", when, info, err, wantPending)
		}
	}
	enqueue("at first", 1)
	enqueue("again", 1)
	if err := inspector.ArchiveTask(asynqQueue, job.asynqID()); err != nil { // as the server does after SkipRetry
		t.Fatal(err)
	}
	enqueue("after it was archived", 1)
	job.Version++
	enqueue("another version", 2)
}
