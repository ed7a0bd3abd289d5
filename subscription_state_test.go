package commerce_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// A change of state is what the documentation shows, and it is sent once.
func TestChangeState_request(t *testing.T) {
	t.Parallel()
	id := numberedID(1)
	for _, tt := range []struct {
		name   string
		change commerce.StateChange
		want   string // attributes
	}{
		{name: "cancel", change: commerce.StateChange{Action: commerce.ActionCancel}, want: `{"action":"cancel"}`},
		{
			name: "cancel at once", change: commerce.StateChange{Action: commerce.ActionCancel, CancelImmediately: true},
			want: `{"action":"cancel","cancel_immediately":true}`,
		},
		{name: "pause", change: commerce.StateChange{Action: commerce.ActionPause}, want: `{"action":"pause"}`},
		{name: "resume", change: commerce.StateChange{Action: commerce.ActionResume}, want: `{"action":"resume"}`},
	} {
		s := newStub(t, respond(204, ""))
		if err := s.client(t).Subscriptions.ChangeState(t.Context(), id, tt.change); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		sent := s.sent()[0]
		diff(t, tt.name+": request", sent.Method+" "+sent.Path, "POST /v2/subscriptions/subscriptions/"+id.String()+"/states")
		diff(t, tt.name+": body", sent.Body, `{"data":{"attributes":`+tt.want+`,"type":"subscription_state"}}`)
	}
	s := newStub(t, respond(503, ""))
	err := s.client(t).Subscriptions.ChangeState(t.Context(), id, commerce.StateChange{Action: commerce.ActionPause})
	if n := len(s.sent()); commerce.OutcomeOf(err) != commerce.OutcomeUnknown || n != 1 {
		t.Errorf("after a 503: outcome %v, %d requests, want an unknown one after 1", commerce.OutcomeOf(err), n)
	}
}

func TestChangeState_arguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		id     uuid.UUID
		change commerce.StateChange
		want   []string // fields
	}{
		{name: "no id", change: commerce.StateChange{Action: commerce.ActionPause}, want: []string{"subscription id"}},
		{name: "nothing", want: []string{"subscription id", "action"}},
		{name: "another action", id: numberedID(1), change: commerce.StateChange{Action: "close"}, want: []string{"action"}},
		{
			name: "an immediate pause", id: numberedID(1), want: []string{"cancel_immediately"},
			change: commerce.StateChange{Action: commerce.ActionPause, CancelImmediately: true},
		},
	} {
		r := &recorder{respond: respond(204, "")}
		err := newClient(t, r).Subscriptions.ChangeState(t.Context(), tt.id, tt.change)
		r.checkRefused(t, err, "")
		diff(t, tt.name, invalidFields(err), tt.want)
	}
}

// After an unknown outcome, the subscription shows what became of the change.
func TestChangeState_fakeStore(t *testing.T) {
	t.Parallel()
	commercetest.EachGeneration(t, commercetest.Config{}, func(t *testing.T, s *commercetest.Store) {
		s.Seed(1)
		var id uuid.UUID
		for sub := range s.Subscriptions() {
			id = sub.ID
		}
		c := s.Client()
		s.Inject(commercetest.Fault{Operation: commercetest.OpChangeState, Apply: true, Cut: true})
		err := c.Subscriptions.ChangeState(t.Context(), id, commerce.StateChange{Action: commerce.ActionPause})
		if commerce.OutcomeOf(err) != commerce.OutcomeUnknown {
			t.Errorf("response lost: %v, want an unknown outcome", err)
		}
		result, err := c.Subscriptions.Get(t.Context(), id, commerce.SubscriptionInclude{})
		if err != nil || !result.Subscription.Meta.Paused {
			t.Errorf("Get() = %+v, error %v, want a paused subscription", result, err)
		}
		err = c.Subscriptions.ChangeState(t.Context(), id, commerce.StateChange{Action: commerce.ActionResume})
		if err != nil {
			t.Error(err)
		}
		err = c.Subscriptions.ChangeState(t.Context(), uuid.Max, commerce.StateChange{Action: commerce.ActionCancel})
		if !errors.Is(err, commerce.ErrNotFound) || commerce.OutcomeOf(err) != commerce.OutcomeRejected {
			t.Errorf("unknown subscription: %v, want ErrNotFound, rejected", err)
		}
	})
}
