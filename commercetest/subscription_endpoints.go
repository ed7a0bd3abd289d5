package commercetest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"
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
