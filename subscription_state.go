package commerce

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/google/uuid"
)

// StateAction is what a [StateChange] does.
type StateAction string

// The actions that change the state of a subscription.
const (
	ActionCancel StateAction = "cancel"
	ActionPause  StateAction = "pause"
	// ActionResume ends a pause. With a store's own token, it also undoes a cancellation that
	// has not taken effect.
	ActionResume StateAction = "resume"
)

// StateChange is a change of the state of a subscription.
type StateChange struct {
	Action StateAction `json:"action"`
	// CancelImmediately is for ActionCancel: the subscription ends at once, and not with its
	// billing period. Second payload generation only.
	CancelImmediately bool `json:"cancel_immediately,omitzero"`
}

// ChangeState cancels, pauses or resumes a subscription:
// https://developer.elasticpath.com/docs/api/subscriptions/create-subscription-state
//
// With client credentials, every action is allowed. With a shopper's token, CanPause and CanResume
// of the [Billing] decide, and CancelImmediately is not allowed: the error matches [ErrForbidden]
// or [ErrUnprocessable].
//
// The request is not sent again if it may have been applied, see [RetryPolicy]. After
// OutcomeUnknown, read the subscription by [SubscriptionService.Get]: the flags Canceled and Paused
// of its Meta, and its State, show whether the change was made. If not, call again.
//
// The error is a [*ValidationError] if an argument is invalid, otherwise an [*Error]. It matches
// [ErrNotFound] if there is no such subscription.
func (s *SubscriptionService) ChangeState(ctx context.Context, id uuid.UUID, change StateChange) error {
	problems := &ValidationError{}
	if id == uuid.Nil {
		problems.add("subscription id", "must not be the zero UUID")
	}
	if !slices.Contains([]StateAction{ActionCancel, ActionPause, ActionResume}, change.Action) {
		problems.add("action", "must be ActionCancel, ActionPause or ActionResume")
	} else if change.CancelImmediately && change.Action != ActionCancel {
		problems.add("cancel_immediately", "must not be set without ActionCancel")
	}
	if err := problems.err(); err != nil {
		return err
	}
	body, _ := json.Marshal(map[string]any{ // no error: a text and a flag
		"data": map[string]any{"type": "subscription_state", "attributes": change},
	})
	o := operation[none]{
		op: "Subscriptions.ChangeState", method: http.MethodPost,
		path: subscriptionsPath + "/" + id.String() + "/states", body: body,
	}
	_, _, err := o.do(ctx, s.core)
	return err
}
