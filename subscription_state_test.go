package commerce_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
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

const (
	opRead   = commercetest.OpSubscription
	opChange = commercetest.OpChangeState
)

var (
	cancel    = commerce.StateChange{Action: commerce.ActionCancel}
	pause     = commerce.StateChange{Action: commerce.ActionPause}
	resume    = commerce.StateChange{Action: commerce.ActionResume}
	endAtOnce = commerce.StateChange{Action: commerce.ActionCancel, CancelImmediately: true}
)

var ensureStates = []struct {
	name      string
	change    commerce.StateChange
	meta      commerce.SubscriptionMeta // before
	faults    []commercetest.Fault
	requests  string
	want      commerce.SubscriptionMeta // the flags of the result; nil if isNil
	isNil     bool
	outcome   commerce.Outcome
	wantError error
}{
	{name: "cancel", change: cancel, requests: "r w r", want: commerce.SubscriptionMeta{Canceled: true}},
	{
		name: "canceled already", change: cancel, meta: commerce.SubscriptionMeta{Canceled: true}, requests: "r",
		want: commerce.SubscriptionMeta{Canceled: true},
	},
	{
		name: "canceled, but not at once", change: endAtOnce, meta: commerce.SubscriptionMeta{Canceled: true},
		requests: "r w r", want: commerce.SubscriptionMeta{Canceled: true, Closed: true},
	},
	{name: "pause", change: pause, requests: "r w r", want: commerce.SubscriptionMeta{Paused: true}},
	{name: "resume", change: resume, meta: commerce.SubscriptionMeta{Paused: true}, requests: "r w r"},
	{name: "undo a cancellation", change: resume, meta: commerce.SubscriptionMeta{Canceled: true}, requests: "r w r"},
	{name: "nothing to resume", change: resume, requests: "r"},
	{
		name: "the response is lost", change: pause,
		faults:   []commercetest.Fault{{Operation: opChange, Apply: true, Cut: true}},
		requests: "r w r", want: commerce.SubscriptionMeta{Paused: true},
	},
	{
		name: "the request is lost", change: pause, faults: []commercetest.Fault{{Operation: opChange, Cut: true}},
		requests: "r w r", outcome: commerce.OutcomeUnknown, wantError: commerce.ErrConnection,
	},
	{
		name: "the change is refused", change: pause, faults: []commercetest.Fault{{Operation: opChange, Status: 422}},
		requests: "r w", outcome: commerce.OutcomeRejected, wantError: commerce.ErrUnprocessable,
	},
	{
		name: "accepted, but not shown", change: pause, faults: []commercetest.Fault{{Operation: opChange, Status: 204}},
		requests: "r w r", outcome: commerce.OutcomeUnknown, wantError: commerce.ErrOutcomeUnknown,
	},
	{
		name: "the first read fails", change: pause, faults: []commercetest.Fault{{Operation: opRead, Status: 404}},
		requests: "r", isNil: true, outcome: commerce.OutcomeNotSent, wantError: commerce.ErrNotFound,
	},
	{
		name: "the last read fails", change: pause,
		faults:   []commercetest.Fault{{Operation: opRead, After: 1, Status: 404}},
		requests: "r w r", outcome: commerce.OutcomeUnknown, wantError: commerce.ErrNotFound,
	},
}

// What EnsureState does if requests fail or responses are lost.
func TestEnsureState(t *testing.T) {
	t.Parallel()
	for _, tt := range ensureStates {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := commercetest.New(t, commercetest.Config{})
			s.Seed(1)
			var id uuid.UUID
			for sub := range s.Subscriptions() {
				id = sub.ID
			}
			s.UpdateSubscription(id, func(sub *commerce.Subscription) {
				sub.Meta.Canceled, sub.Meta.Paused, sub.Meta.Pending = tt.meta.Canceled, tt.meta.Paused, false
			})
			s.Inject(tt.faults...)
			sub, err := s.Client(attempts(1)).Subscriptions.EnsureState(t.Context(), id, tt.change)
			var requests []string
			for _, r := range s.Requests() {
				requests = append(requests, map[commercetest.Operation]string{opRead: "r", opChange: "w"}[r.Operation])
			}
			diff(t, "requests", strings.Join(requests, " "), tt.requests)
			if !errors.Is(err, tt.wantError) || (sub == nil) != tt.isNil {
				t.Fatalf("subscription %+v, error %v, want %v", sub, err, tt.wantError)
			}
			if failed, ok := errors.AsType[*commerce.Error](err); ok {
				diff(t, "operation and outcome", fmt.Sprint(failed.Op, " ", failed.Outcome),
					fmt.Sprint("Subscriptions.EnsureState ", tt.outcome))
			}
			if sub != nil && err == nil {
				got := commerce.SubscriptionMeta{Canceled: sub.Meta.Canceled, Paused: sub.Meta.Paused, Closed: sub.Meta.Closed}
				diff(t, "flags", got, tt.want)
			}
		})
	}
	_, err := newStub(t).client(t).Subscriptions.EnsureState(t.Context(), uuid.Nil, pause)
	diff(t, "invalid fields", invalidFields(err), []string{"subscription id"})
}
