package commercetest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"

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
	encoded := sub.encodedFor(in.account)
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

// listRelated returns the handler of GET .../plans and the like: the related resources of one
// subscription, of a kind that its generation has.
func listRelated(kind include) func(*Store, *call) response {
	return func(s *Store, in *call) response {
		sub, includable := s.subscription(in)
		if sub == nil || !slices.Contains(includes[s.cfg.Generation], kind) {
			return subscriptionNotFound()
		}
		found := includedResources([]string{kind.name}, includable, []*encodedSubscription{sub.encoded()})
		return jsonResponse(http.StatusOK, map[string]any{"data": found[kind.name]})
	}
}

// listFeatures handles GET .../features: those of the plan of a subscription, in the order of their
// ids. Only the second generation has features.
func (s *Store) listFeatures(in *call) response {
	sub, includable := s.subscription(in)
	if sub == nil || s.cfg.Generation == FirstGeneration {
		return subscriptionNotFound()
	}
	created, plan := timestamp(seedStart), planOf(sub.decoded(), includable)
	return listOf(s, in, nil, func([]condition) (all []any) {
		for _, id := range slices.Sorted(maps.Keys(plan.Attributes.FeatureConfigurations)) {
			configuration := plan.Attributes.FeatureConfigurations[id]
			all = append(all, map[string]any{
				"id": id, "type": "subscription_offering_feature",
				"attributes": map[string]any{"name": "Feature: " + configuration.Type, "configuration": configuration},
				"meta":       map[string]any{"owner": "store", "timestamps": timestamps{CreatedAt: created, UpdatedAt: created}},
			})
		}
		return all
	})
}

// planOf returns the plan of sub, if the store has it.
func planOf(sub commerce.Subscription, includable []*resource) (plan commerce.Plan) {
	i := slices.IndexFunc(includable, func(r *resource) bool {
		return r.include == plansInclude && r.id == sub.Attributes.PlanID
	})
	if i >= 0 {
		_ = json.Unmarshal(includable[i].active, &plan) // it was encoded from a commerce.Plan
	}
	return plan
}
