package commercetest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// listQuery is the query of a list of subscriptions after it was checked.
type listQuery struct {
	pageQuery
	conditions []condition // but those on accounts
	byAccount  bool        // only the subscriptions of accounts
	accounts   []uuid.UUID // sorted
	include    []string
}

// limitTo leaves only the accounts that are in ids, which is sorted.
func (q *listQuery) limitTo(ids []uuid.UUID) {
	if q.byAccount {
		ids = intersection(q.accounts, ids)
	}
	q.byAccount, q.accounts = true, ids
}

// listSubscriptions handles GET /v2/subscriptions/subscriptions.
func (s *Store) listSubscriptions(in *call) response {
	values, err := url.ParseQuery(in.RawQuery)
	if err != nil {
		return errorsResponse(http.StatusBadRequest, *validationError("Could not parse the query"))
	}
	query, problem := readListQuery(values, s.cfg)
	if problem != nil {
		return errorsResponse(http.StatusBadRequest, *problem)
	}
	if in.account != uuid.Nil {
		query.limitTo([]uuid.UUID{in.account})
	}
	stored, total, includable := s.page(query)
	var page []*encodedSubscription
	for _, sub := range stored {
		page = append(page, sub.encodedFor(in.account))
	}
	rest := encode(struct {
		Included map[string][]json.RawMessage `json:"included,omitempty"`
		Links    map[string]any               `json:"links,omitempty"`
	}{includedResources(query.include, includable, page), query.links(in.Path, total)})
	records := make([][]byte, len(page)) // joined: json.Marshal would read each of them again
	for i, sub := range page {
		records[i] = sub.raw
	}
	data := slices.Concat([]byte(`{"data":[`), bytes.Join(records, []byte(",")), []byte("]"))
	if rest = rest[1:]; len(rest) > 1 {
		data = append(data, ',')
	}
	return response{status: http.StatusOK, body: append(data, rest...)}
}

// readInclude checks the include parameter of a list or of a subscription.
func readInclude(values url.Values, g Generation) (names []string, problem *errorObject) {
	if text := values.Get("include"); text != "" {
		names = strings.Split(text, ",")
	}
	var known []string
	for _, kind := range includes[g] {
		known = append(known, kind.name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, validationError("include must be " + strings.Join(known, ", ") + " or " + strings.Join(known, ",") +
				": the store sends the " + g.String() + " generation of the payload, see Config.Generation")
		}
	}
	return names, nil
}

func validationError(detail string) *errorObject {
	return &errorObject{Status: "400", Title: "Validation Error", Detail: detail}
}

// readListQuery checks the query of a list of subscriptions.
func readListQuery(values url.Values, cfg Config) (q listQuery, problem *errorObject) {
	conditions, problem := subscriptionFilter.read(values)
	if problem != nil {
		return q, problem
	}
	for _, c := range conditions {
		if c.field == "account_id" {
			q.limitTo(c.ids())
		} else {
			q.conditions = append(q.conditions, c)
		}
	}
	if q.include, problem = readInclude(values, cfg.Generation); problem != nil {
		return q, problem
	}
	q.pageQuery, problem = readPageQuery(values, cfg)
	return q, problem
}

// ids returns the values that are UUIDs, sorted. No account has another id.
func (c condition) ids() (ids []uuid.UUID) {
	for _, value := range c.values {
		if id, ok := parseID(value); ok {
			ids = append(ids, id)
		}
	}
	return sortIDs(ids)
}

// page returns the subscriptions of a page, newest first, the number of subscriptions on all
// pages, and what the list can include. Later changes of the store do not change the
// results.
func (s *Store) page(q listQuery) (page []*storedSubscription, total int, includable []*resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	matching := s.subscriptions.all // oldest first
	if q.byAccount {
		matching = s.subscriptions.ofAccounts(q.accounts)
	}
	if len(q.conditions) > 0 {
		all := matching
		matching = nil
		for _, sub := range all {
			if s.matches(sub, q.conditions) {
				matching = append(matching, sub)
			}
		}
	}
	end := max(len(matching)-q.offset, 0)
	page = slices.Clone(matching[max(end-q.limit, 0):end])
	slices.Reverse(page)
	return page, len(matching), s.includable
}

// matches reports whether sub meets all conditions with one of the subscribers of its account. The
// caller holds s.mu.
func (s *Store) matches(sub *storedSubscription, conditions []condition) bool {
	subscribers := s.subscribers[sub.accountID]
	known := len(subscribers) > 0
	if !known {
		subscribers = []Subscriber{{Name: sub.offeringName}}
	}
	return slices.ContainsFunc(subscribers, func(who Subscriber) bool {
		return !slices.ContainsFunc(conditions, func(c condition) bool {
			switch c.field {
			case "name":
				return !c.has(who.Name)
			case "email":
				return !known || !c.has(who.Email)
			default: // external_ref
				return !c.has(sub.externalRef)
			}
		})
	})
}

// includedResources returns the resources with these names that belong to the plans of a page.
func includedResources(
	names []string, includable []*resource, page []*encodedSubscription,
) map[string][]json.RawMessage {
	plans, own := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for _, sub := range page {
		for _, id := range sub.plans {
			plans[id] = true
		}
		for _, id := range sub.own {
			own[id] = true
		}
	}
	included := map[string][]json.RawMessage{}
	for _, name := range names {
		included[name] = []json.RawMessage{}
	}
	for _, r := range includable {
		list, isWanted := included[r.include.name]
		switch {
		case !isWanted || !slices.ContainsFunc(r.plans, func(id uuid.UUID) bool { return plans[id] }):
		case own[r.id]:
			included[r.include.name] = append(list, r.active)
		default:
			included[r.include.name] = append(list, r.inactive)
		}
	}
	return included
}
