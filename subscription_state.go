package commerce

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
	if err := change.check(id); err != nil {
		return err
	}
	o := change.operation("Subscriptions.ChangeState", id)
	_, _, err := o.do(ctx, s.core)
	return err
}

// operation returns the request for the change.
func (c StateChange) operation(op string, id uuid.UUID) operation[none] {
	body, _ := json.Marshal(map[string]any{ // no error: a text and a flag
		"data": map[string]any{"type": "subscription_state", "attributes": c},
	})
	return operation[none]{
		op: op, method: http.MethodPost, path: subscriptionsPath + "/" + id.String() + "/states", body: body,
	}
}

// EnsureState makes sure that a subscription has the state that a change leads to. It reads the
// subscription, changes the state only if needed, and reads again. It is safe to call at any time.
// A nil error means that the last read, which it returns, showed the state: after a cancellation
// Canceled, and Closed too if it is immediate; after a pause Paused; after a resumption neither
// Canceled nor Paused.
//
// The error is a [*ValidationError] or an [*Error]. If the service accepts the change but does not
// show the state, its Outcome is OutcomeUnknown. The subscription is nil if it was not read.
func (s *SubscriptionService) EnsureState(
	ctx context.Context, id uuid.UUID, change StateChange,
) (*Subscription, error) {
	if err := change.check(id); err != nil {
		return nil, err
	}
	const op = "Subscriptions.EnsureState"
	ctx, observed := s.core.startCall(ctx, op, "") // several methods
	defer observed.abandon()
	sub, err := s.ensureState(ctx, op, id, change)
	return sub, observed.end(err)
}

func (s *SubscriptionService) ensureState(
	ctx context.Context, op string, id uuid.UUID, change StateChange,
) (*Subscription, error) {
	read, write := s.get(op, id, SubscriptionInclude{}), change.operation(op, id)
	write.part = "change"
	before, _, err := read.send(ctx, s.core)
	if err != nil {
		return nil, withOutcome(err, OutcomeNotSent)
	}
	if change.isMade(&before.Subscription.Meta) {
		return &before.Subscription, nil
	}
	_, _, errChange := write.send(ctx, s.core)
	if outcome := OutcomeOf(errChange); outcome == OutcomeNotSent || outcome == OutcomeRejected {
		return &before.Subscription, errChange
	}
	after, _, err := read.send(ctx, s.core)
	switch {
	case err != nil:
		return &before.Subscription, withOutcome(cmp.Or(errChange, err), OutcomeUnknown)
	case change.isMade(&after.Subscription.Meta):
		return &after.Subscription, nil
	case errChange == nil:
		errChange = &Error{Op: op, Outcome: OutcomeUnknown, Err: errors.New("the subscription does not show the change")}
	}
	return &after.Subscription, errChange
}

// isMade reports whether a subscription has the state that the change leads to.
func (c StateChange) isMade(m *SubscriptionMeta) bool {
	switch c.Action {
	case ActionCancel:
		return m.Canceled && (m.Closed || !c.CancelImmediately)
	case ActionPause:
		return m.Paused
	case ActionResume:
	}
	return !m.Paused && !m.Canceled
}

// check returns the problems of a change of a subscription.
func (c StateChange) check(id uuid.UUID) error {
	problems := &ValidationError{}
	if id == uuid.Nil {
		problems.add("subscription id", "must not be the zero UUID")
	}
	if !slices.Contains([]StateAction{ActionCancel, ActionPause, ActionResume}, c.Action) {
		problems.add("action", "must be ActionCancel, ActionPause or ActionResume")
	} else if c.CancelImmediately && c.Action != ActionCancel {
		problems.add("cancel_immediately", "must not be set without ActionCancel")
	}
	return problems.err()
}
