package commercetest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// getSubscription handles GET /v2/subscriptions/subscriptions/{id}. It can include what a
// list can include.
func (s *Store) getSubscription(in *call) response {
	values, err := url.ParseQuery(in.RawQuery)
	if err != nil {
		return errorsResponse(http.StatusBadRequest, *validationError("Could not parse the query"))
	}
	include, problem := readInclude(values, s.cfg.Generation)
	if problem != nil {
		return errorsResponse(http.StatusBadRequest, *problem)
	}
	sub, includable := s.subscription(in)
	if sub == nil {
		return subscriptionNotFound()
	}
	encoded := sub.encoded()
	return jsonResponse(http.StatusOK, struct {
		Data     json.RawMessage              `json:"data"`
		Included map[string][]json.RawMessage `json:"included,omitempty"`
	}{encoded.raw, includedResources(include, includable, []*encodedSubscription{encoded})})
}

// subscription returns the subscription that the path of a request names, and what a
// response can include. It returns nil if there is none, or if a shopper must not see it.
func (s *Store) subscription(in *call) (sub *storedSubscription, includable []*resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub = s.subscriptions.newest(in.uuid("subscription"))
	if sub == nil || in.account != uuid.Nil && in.account != sub.accountID {
		return nil, nil
	}
	return sub, s.includable
}

func subscriptionNotFound() response {
	return errorResponse(http.StatusNotFound, "Not Found", "There is no such subscription")
}

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
	refusal := readBody(in, func(v *validator, root members) {
		if o, ok := v.object("data", root["data"]); ok {
			v.resourceType("data.type", o["type"], "subscription_state")
			attributes = v.stateAttributes(o["attributes"])
		}
	})
	if refusal != nil {
		return *refusal
	}
	sub, _ := s.subscription(in)
	enter := func(sub *commerce.Subscription) { s.enterState(sub, attributes, in.account) }
	if sub == nil || !s.UpdateSubscription(sub.id, enter) {
		return subscriptionNotFound()
	}
	return response{status: http.StatusNoContent}
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
	case "cancel", "pause", "resume", "":
	default:
		v.addProblem(path+".action", "must be cancel, pause or resume")
	}
	return a
}

// enterState gives sub a new state. shopper is the account that asked for it, or zero. The
// caller holds s.mu.
func (s *Store) enterState(sub *commerce.Subscription, a commerce.SubscriptionStateAttributes, shopper uuid.UUID) {
	now := time.Now().UTC()
	isSecond := s.cfg.Generation == SecondGeneration
	atOnce := isSecond && a.CancelImmediately != nil && *a.CancelImmediately
	a.CancelImmediately = nil
	m := &sub.Meta
	m.Timestamps.UpdatedAt = now
	switch a.Action {
	case "cancel":
		m.Canceled, m.Timestamps.CanceledAt = true, now
		if isSecond {
			a.CancelImmediately = &atOnce
		}
		if atOnce {
			m.Closed, m.Status = true, "inactive"
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
	}
	s.stateCount++
	m.State = commerce.SubscriptionState{
		ID:         newID("new-states", s.stateCount),
		Type:       "subscription_state",
		Attributes: a,
		Meta:       commerce.SubscriptionStateMeta{CreatedAt: now},
	}
}
