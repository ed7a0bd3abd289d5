package commerce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
)

// StateAction is what a [StateChange] does.
type StateAction string

// The actions that change the state of a subscription.
const (
	ActionCancel StateAction = "cancel"
	ActionPause  StateAction = "pause"
	// ActionResume ends a pause. With a store's own token, it also ends a suspension, undoes a
	// cancellation, and opens what was closed because payments failed.
	ActionResume StateAction = "resume"
)

// StateChange is a change of the state of a subscription.
type StateChange struct {
	Action StateAction `json:"action"`
	// CancelImmediately applies to ActionCancel: the subscription ends at once, and not with its
	// billing period. Second payload generation only.
	CancelImmediately bool `json:"cancel_immediately,omitzero"`
	// Reopen applies to ActionResume in [SubscriptionService.EnsureState]: resume also a
	// subscription that is canceled or closed. It undoes a cancellation that the customer may have
	// wished for, or bills an ended subscription again.
	Reopen bool `json:"-"`
}

// ChangeState cancels, pauses or resumes a subscription:
// https://developer.elasticpath.com/docs/api/subscriptions/create-subscription-state
//
// With client credentials, every action is allowed. With a shopper's token, CanPause and CanResume
// of the [Billing] decide, and CancelImmediately is not allowed: the error matches [ErrForbidden]
// or [ErrUnprocessable].
//
// The request is not sent again if it may have been applied, see [RetryPolicy]. After
// OutcomeUnknown, call [SubscriptionService.EnsureState], which makes the change if needed.
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

// EnsureState makes sure that a subscription has the state that a change leads to: it reads the
// subscription, changes the state only if needed, and reads again. Of two callers with opposite
// wishes, the last request wins: a cancellation after the first read may be undone, even without
// Reopen. A nil error means that flags of Meta, which must be there, showed the state:
//   - cancel: Canceled,
//   - cancel immediately: Canceled, and one of: Closed; Status "inactive" and not Paused; a State
//     that is an immediate cancellation,
//   - pause: Paused,
//   - resume: neither Canceled, Paused, Suspended nor Closed. If the service confirmed the request,
//     Suspended and Closed may stay true until a payment succeeds. Until then, each further call
//     sends a request.
//
// A resume of what is canceled or closed ends in [ErrEnded], unless Reopen is set. If the service
// confirms the change, but two reads, 2 s apart, show that it was not made, the error is
// [ErrStateNotShown], with OutcomeRejected. If the reads do not show what the request did, the
// Outcome is OutcomeUnknown: call again. If a flag is absent or unreadable, the error matches
// [ErrBadResponse].
//
// The error is a [*ValidationError] or an [*Error]. The subscription is nil if it was not read.
func (s *SubscriptionService) EnsureState(
	ctx context.Context, id uuid.UUID, change StateChange,
) (*Subscription, error) {
	if err := change.check(id); err != nil {
		return nil, err
	}
	const op = "Subscriptions.EnsureState"
	read, write := s.get(op, id, SubscriptionListOptions{}), change.operation(op, id)
	run := &stateRun{core: s.core, read: read, write: write, change: change}
	run.write.part = "change"
	err := s.core.observe(ctx, op, "", run.ensure) // several methods
	return run.latest, err
}

// stateRun is a call of EnsureState in progress.
type stateRun struct {
	core   *core
	read   operation[*SubscriptionResult]
	write  operation[none]
	change StateChange
	before SubscriptionMeta // at the first read
	latest *Subscription    // as last read
}

// ensure makes the change if it is needed.
func (r *stateRun) ensure(ctx context.Context) (err error) {
	r.before, err = r.look(ctx)
	switch {
	case err != nil:
		return withOutcome(err, OutcomeNotSent)
	case r.change.Action == ActionResume && !r.change.Reopen && (r.before.Canceled || r.before.Closed):
		return &Error{Op: r.read.op, Outcome: OutcomeNotSent, Err: ErrEnded}
	case r.change.isMade(r.before):
		return nil
	}
	_, _, err = r.write.request(ctx, r.core)
	failed, _ := err.(*Error) //nolint:errorlint // of an operation
	if failed != nil && (failed.Outcome == OutcomeNotSent || failed.Outcome == OutcomeRejected && failed.RetryAfter > 0) {
		return failed
	}
	return r.confirm(ctx, failed)
}

// confirm reads what became of the change. failed is the error of its request; nil: there was none.
func (r *stateRun) confirm(ctx context.Context, failed *Error) error {
	after, err := r.look(ctx)
	isEarly := true
	if err == nil && failed == nil && r.change.isRefuted(r.before, after) {
		isEarly = !pause(ctx, showsWithin)
		after, err = r.look(ctx)
	}
	switch {
	case err == nil && r.change.isMadeAfter(r.before, after, failed):
		return nil
	case failed != nil && failed.Outcome == OutcomeRejected:
		if err != nil || !reflect.DeepEqual(r.before, after) { // it was refused for a state that is over
			failed.RetryAfter = showsWithin
		}
		return failed
	case failed != nil:
		return withOutcome(failed, OutcomeUnknown)
	case err != nil:
		return withOutcome(err, OutcomeUnknown)
	case isEarly || !r.change.isRefuted(r.before, after):
		return &Error{Op: r.read.op, Outcome: OutcomeUnknown, Err: errors.New("the subscription does not show the change")}
	}
	return &Error{Op: r.read.op, Outcome: OutcomeRejected, Err: ErrStateNotShown}
}

// showsWithin is the time after which a read shows a change, if it shows that it was made.
const showsWithin = 2 * time.Second

// look reads the subscription. It is an error if a member that the change needs cannot be read.
func (r *stateRun) look(ctx context.Context) (SubscriptionMeta, error) {
	result, response, err := r.read.request(ctx, r.core)
	if err != nil {
		return SubscriptionMeta{}, err
	}
	r.latest = &result.Subscription
	meta := r.latest.Meta
	var body struct{ Data struct{ Meta Extra } }
	_ = json.Unmarshal(response.Body, &body)    // if it fails, there is no flag
	for _, flag := range r.change.flags(meta) { // one that is absent is false in meta
		if value := string(body.Data.Meta[flag]); value != "true" && value != "false" {
			err = fmt.Errorf("%w: %s of the subscription is absent, or not a flag", ErrBadResponse, flag)
			return meta, &Error{
				Op: r.read.op, StatusCode: response.StatusCode, Attempts: response.Attempts, Err: err,
				Raw: newRawResponse(response),
			}
		}
	}
	return meta, nil
}

// flags returns the flags that decide whether the change is made.
func (c StateChange) flags(m SubscriptionMeta) []string {
	switch {
	case c.Action == ActionPause:
		return []string{"paused"}
	case c.Action == ActionResume:
		return []string{"canceled", "paused", "suspended", "closed"}
	case !c.CancelImmediately:
		return []string{"canceled"}
	case m.Status != "":
		return []string{"canceled", "paused"}
	}
	return []string{"canceled", "paused", "closed"}
}

// isMade reports whether a subscription has the state that the change leads to.
func (c StateChange) isMade(m SubscriptionMeta) bool {
	switch c.Action {
	case ActionCancel:
		state, isEnded := m.State.Attributes, m.Status == "inactive" && !m.Paused
		endsNow := state.Action == string(ActionCancel) && state.CancelImmediately != nil && *state.CancelImmediately
		return m.Canceled && (!c.CancelImmediately || m.Closed || isEnded || endsNow)
	case ActionPause:
		return m.Paused
	case ActionResume:
	}
	return !m.Paused && !m.Canceled && !m.Suspended && !m.Closed
}

// isMadeAfter is isMade after the request, whose error is failed. If the service confirmed a
// resume, what dunning set may follow the payment.
func (c StateChange) isMadeAfter(before, after SubscriptionMeta, failed *Error) bool {
	if failed == nil && c.Action == ActionResume {
		after.Suspended = after.Suspended && !before.Suspended && !c.Reopen
		after.Closed = after.Closed && !before.Closed
	}
	return c.isMade(after)
}

// isRefuted reports whether a subscription shows that the service did not make the change: its
// state is that of the change, and its flags are not.
func (c StateChange) isRefuted(before, after SubscriptionMeta) bool {
	state := after.State
	isNew := state.ID != uuid.Nil && state.ID != before.State.ID && state.Attributes.Action == string(c.Action)
	if c.Action == ActionResume { // dunning may have set them since
		after.Suspended, after.Closed = false, false
	}
	endsNow := state.Attributes.CancelImmediately
	isOfOther := c.CancelImmediately && endsNow != nil && !*endsNow // another caller's plain cancellation
	return isNew && !isOfOther && !c.isMade(after)
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
	if c.Reopen && c.Action != ActionResume {
		problems.add("reopen", "must not be set without ActionResume")
	}
	return problems.err()
}
