package commercetest

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// listStates handles GET .../states.
func (s *Store) listStates(in *call) response {
	sub, _ := s.subscription(in)
	if sub == nil {
		return subscriptionNotFound()
	}
	states := []json.RawMessage{}
	for _, state := range sub.encoded().states {
		states = append(states, state.raw)
	}
	return jsonResponse(http.StatusOK, map[string]any{"data": states})
}

// getState handles GET .../states/{state}.
func (s *Store) getState(in *call) response {
	sub, _ := s.subscription(in)
	if sub == nil {
		return subscriptionNotFound()
	}
	for _, state := range sub.encoded().states {
		if state.id == in.uuid("state") {
			return jsonResponse(http.StatusOK, map[string]any{"data": state.raw})
		}
	}
	return errorResponse(http.StatusNotFound, "Not Found", "The subscription has no such state")
}

// changeState handles POST .../states.
func (s *Store) changeState(in *call) response {
	var attributes commerce.SubscriptionStateAttributes
	refusal := s.readBody(in, func(v *validator, root members) {
		if o, ok := v.object("data", root["data"]); ok {
			v.resourceType("data.type", o["type"], "subscription_state")
			attributes = v.stateAttributes(o["attributes"])
		}
	})
	if refusal != nil {
		return *refusal
	}
	sub, includable := s.subscription(in)
	if sub == nil {
		return subscriptionNotFound()
	}
	resp := response{status: http.StatusNoContent}
	found := s.UpdateSubscription(sub.id, func(sub *commerce.Subscription) {
		if refusal := s.refuseState(sub, attributes, shopper{in.account, includable}); refusal != nil {
			resp = *refusal
			return
		}
		s.enterState(sub, attributes, in.account)
	})
	if !found {
		return subscriptionNotFound()
	}
	return resp
}

// stateAttributes reads the attributes of a new state.
func (v *validator) stateAttributes(raw json.RawMessage) (a commerce.SubscriptionStateAttributes) {
	const path = "data.attributes"
	o, ok := v.object(path, raw)
	if !ok {
		return a
	}
	a.CancelImmediately = v.boolean(path+".cancel_immediately", o["cancel_immediately"])
	a.Action = v.text(path+".action", o["action"])
	switch a.Action {
	case "cancel", "pause", "resume", "pending", "":
	default:
		v.addProblem(path+".action", "must be cancel, pause, resume or pending")
	}
	return a
}

// shopper is the account that asks for a state, or zero, and the resources that say what it may do.
type shopper struct {
	account    uuid.UUID
	includable []*resource
}

// refuseState returns why a shopper must not change the state of sub, or nil. A store's own token
// may do everything, and the first generation has no rules.
func (s *Store) refuseState(
	sub *commerce.Subscription, a commerce.SubscriptionStateAttributes, by shopper,
) *response {
	if by.account == uuid.Nil || s.cfg.Generation == FirstGeneration {
		return nil
	}
	const cannot = "Unprocessable Entity"
	billing, isKnown := by.billing(sub)
	switch {
	case a.CancelImmediately != nil && *a.CancelImmediately:
		return new(errorResponse(http.StatusForbidden, "Forbidden", "Only a store may cancel a subscription immediately"))
	case a.Action == "pause" && isKnown && !billing.CanPause:
		return new(errorResponse(http.StatusUnprocessableEntity, cannot, "The subscription cannot be paused"))
	case a.Action == "resume" && isKnown && !billing.CanResume,
		a.Action == "resume" && (sub.Meta.PausedBy == "" || sub.Meta.PausedBy == "dunning"):
		return new(errorResponse(http.StatusUnprocessableEntity, cannot, "The subscription cannot be resumed"))
	}
	return nil
}

// billing returns the billing of the pricing option of sub, if the store has it.
func (by shopper) billing(sub *commerce.Subscription) (billing commerce.Billing, isKnown bool) {
	for _, r := range by.includable {
		var option commerce.PricingOption
		if r.include == pricingOptionsInclude && r.id == sub.Attributes.PricingOptionID &&
			json.Unmarshal(r.active, &option) == nil {
			return option.Attributes.Billing, true
		}
	}
	return billing, false
}

// enterState gives sub a new state. shopper is the account that asked for it, or zero. A resume
// leaves the status as it is: the next billing run changes it, and the store has none. The caller
// holds s.mu.
func (s *Store) enterState(sub *commerce.Subscription, a commerce.SubscriptionStateAttributes, shopper uuid.UUID) {
	now := time.Now().UTC()
	isSecond := s.cfg.Generation == SecondGeneration
	m := &sub.Meta
	atOnce := isSecond && (m.Pending || a.CancelImmediately != nil && *a.CancelImmediately)
	a.CancelImmediately = nil
	m.Timestamps.UpdatedAt = now
	switch a.Action {
	case "cancel":
		m.Canceled, m.Timestamps.CanceledAt = true, now
		if isSecond {
			a.CancelImmediately = &atOnce
		}
		if atOnce {
			m.Closed, m.Pending, m.Status = m.Closed || s.cfg.CloseAtOnce, false, "inactive"
		}
	case "pause":
		m.Paused, m.Timestamps.PausedAt = true, now
		if isSecond {
			m.PausedBy = "merchandizer"
			if shopper != uuid.Nil {
				m.PausedBy = "subscriber"
			}
		}
	case "resume":
		m.Paused, m.PausedBy, m.Timestamps.ResumedAt = false, "", now
		if isSecond && shopper == uuid.Nil {
			m.Canceled, m.Timestamps.CanceledAt = false, time.Time{}
		}
		if shopper == uuid.Nil && !s.cfg.FlagsFollowPayment {
			m.Suspended, m.Closed = false, false
		}
	case "pending":
		m.Pending = true
	}
	m.State = s.newState(a, now)
}

// newState returns a state with a new id. The caller holds s.mu.
func (s *Store) newState(a commerce.SubscriptionStateAttributes, now time.Time) commerce.SubscriptionState {
	s.stateCount++
	return commerce.SubscriptionState{
		ID:         newID("new-states", s.stateCount),
		Type:       "subscription_state",
		Attributes: a,
		Meta:       commerce.SubscriptionStateMeta{CreatedAt: now},
	}
}
