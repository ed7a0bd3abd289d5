package commercetest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"
)

// listSubscribers handles GET /v2/subscriptions/subscribers: the accounts with a [Subscriber], in
// the order of their ids.
func (s *Store) listSubscribers(in *call) response {
	return listOf(s, in, func(conditions []condition) (all []any) {
		for _, account := range s.accounts.sorted {
			who, ok := s.subscribers[account]
			attributes := map[string]string{
				"account_id": account.String(), "name": who.Name, "email": who.Email, "external_ref": "account-" + account.String(),
			}
			isNot := func(c condition) bool { return !c.has(attributes[c.field]) }
			if ok && !slices.ContainsFunc(conditions, isNot) {
				all = append(all, map[string]any{
					"id": uuid.NewSHA1(account, nil), "type": "subscription_subscriber", "attributes": attributes,
				})
			}
		}
		return all
	})
}

// listInvoices handles GET /v2/subscriptions/invoices: two for each subscription, oldest first. It
// has no filter.
func (s *Store) listInvoices(in *call) response {
	if values, _ := url.ParseQuery(in.RawQuery); values.Has("filter") { // an error is for listOf
		return errorsResponse(http.StatusBadRequest, *badFilter())
	}
	return listOf(s, in, func([]condition) (all []any) {
		for _, sub := range s.subscriptions.all {
			for i := 1; i <= 2; i++ {
				number := 2*(sub.number-1) + i
				all = append(all, map[string]any{
					"id": newID("invoices", number), "type": "subscription_invoice",
					"attributes": map[string]any{"number": fmt.Sprintf("%06d", number), "outstanding": i == 2},
					"meta":       map[string]any{"owner": "store", "subscription_id": sub.id},
				})
			}
		}
		return all
	})
}

// listOf responds with a page of what find returns for the conditions of a filter. find is called
// while s.mu is held.
func listOf(s *Store, in *call, find func([]condition) []any) response {
	values, err := url.ParseQuery(in.RawQuery)
	if err != nil {
		return errorsResponse(http.StatusBadRequest, *validationError("Could not parse the query"))
	}
	conditions, problem := subscriptionFilter.read(values)
	if problem != nil {
		return errorsResponse(http.StatusBadRequest, *problem)
	}
	query, problem := readPageQuery(values, s.cfg)
	if problem != nil {
		return errorsResponse(http.StatusBadRequest, *problem)
	}
	s.mu.Lock()
	all := find(conditions)
	s.mu.Unlock()
	start := min(query.offset, len(all))
	page := append([]any{}, all[start:min(start+query.limit, len(all))]...)
	body := map[string]any{"data": page}
	if links := query.links(in.Path, len(all)); links != nil {
		body["links"] = links
	}
	return jsonResponse(http.StatusOK, body)
}
