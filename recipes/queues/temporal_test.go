package queues

import (
	"testing"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// The workflow tries until the wish is carried out, or refused.
func TestTemporalWorker_workflow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fault commercetest.Fault
		isErr bool
		reads int // of the cart
	}{
		{name: "service down", fault: commercetest.Fault{Status: 503, Times: 3}, reads: 3 + 2},
		{
			name: "refused", fault: commercetest.Fault{Operation: commercetest.OpAdd, Status: 422, Body: moon, Times: -1},
			isErr: true, reads: 2,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, commerce.CartItemRef{})
			s.carts.Client = s.store.Client(commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}))
			s.store.Inject(tt.fault)
			w := &TemporalWorker{Carts: s.carts}
			env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment() // its clock skips pauses
			env.RegisterActivity(w.Ensure)
			env.ExecuteWorkflow(w.Workflow, Job{Cart: s.cart, Version: 1})
			err := env.GetWorkflowError()
			if !env.IsWorkflowCompleted() || (err != nil) != tt.isErr || tt.isErr && !temporal.IsApplicationError(err) {
				t.Errorf("the workflow ended: %t, with %v", env.IsWorkflowCompleted(), err)
			}
			reads := 0
			for _, in := range s.store.Requests() {
				if in.Operation == commercetest.OpCart {
					reads++
				}
			}
			if reads != tt.reads {
				t.Errorf("%d reads, want %d", reads, tt.reads)
			}
		})
	}
}
