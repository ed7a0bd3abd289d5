package commerce_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// A change of state is what the documentation shows.
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
