package commercetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

const (
	maxPageLimit  = 100
	maxPageOffset = 10_000
	// linkHost is the host in the links of a list. Like the service, the store links
	// to another host than the one called. A request to it gets a 404.
	linkHost = "store-links.example"
)

// listQuery is the query of a list after it was checked.
type listQuery struct {
	conditions []condition
	include    []string
	limit      int
	offset     int
}

// listSubscriptions handles GET /v2/subscriptions/subscriptions.
func (s *Store) listSubscriptions(in *call) response {
	values, err := url.ParseQuery(in.RawQuery)
	if err != nil {
		return errorResponse(http.StatusBadRequest, "Validation Error", "Could not parse the query")
	}
	query, problem := readListQuery(values, s.cfg)
	if problem != nil {
		return errorsResponse(http.StatusBadRequest, *problem)
	}
	page, total, includable := s.page(query)
	body := struct {
		Data     []json.RawMessage            `json:"data"`
		Included map[string][]json.RawMessage `json:"included,omitempty"`
		Links    map[string]*string           `json:"links"`
	}{Data: []json.RawMessage{}, Included: map[string][]json.RawMessage{}, Links: pageLinks(values, query, total)}
	for _, sub := range page {
		body.Data = append(body.Data, sub.raw)
	}
	for _, name := range query.include {
		body.Included[name] = relatedResources(includable[name], page)
	}
	return jsonResponse(http.StatusOK, body)
}

// readListQuery checks the query of a list.
func readListQuery(values url.Values, cfg Config) (q listQuery, problem *errorObject) {
	invalid := func(detail string) (listQuery, *errorObject) {
		return q, &errorObject{Status: "400", Title: "Validation Error", Detail: detail}
	}
	if values.Has("filter") {
		var ok bool
		if q.conditions, ok = parseFilter(values.Get("filter")); !ok {
			return q, &errorObject{Title: "Bad Request", Detail: "Could not parse the supplied filter"}
		}
	}
	if include := values.Get("include"); include != "" {
		q.include = strings.Split(include, ",")
	}
	known := cfg.Generation.includeNames()
	for _, name := range q.include {
		if !slices.Contains(known[:], name) {
			return invalid(fmt.Sprintf("include must be %[1]s, %[2]s or %[1]s,%[2]s", known[0], known[1]))
		}
	}
	limit := intParam{name: "page[limit]", absent: cfg.PageLength, min: 1, max: maxPageLimit}
	offset := intParam{name: "page[offset]", absent: 0, min: 0, max: maxPageOffset}
	var err error
	if q.limit, err = limit.read(values); err != nil {
		return invalid(err.Error())
	}
	if q.offset, err = offset.read(values); err != nil {
		return invalid(err.Error())
	}
	return q, nil
}

// includeNames returns the names that the include parameter of a list accepts.
func (g Generation) includeNames() [2]string {
	if g == SecondGeneration {
		return [2]string{"plans", "pricing_options"}
	}
	return [2]string{"plans", "products"}
}

// intParam describes a query parameter that is a whole number.
type intParam struct {
	name     string
	absent   int // the value if there is no such parameter
	min, max int
}

func (p intParam) read(values url.Values) (int, error) {
	if !values.Has(p.name) {
		return p.absent, nil
	}
	n, err := strconv.Atoi(values.Get(p.name))
	if err != nil || n < p.min || n > p.max {
		return 0, fmt.Errorf("%s must be a whole number from %d to %d", p.name, p.min, p.max)
	}
	return n, nil
}

// page returns the subscriptions of a page, the number of subscriptions on all
// pages, and what the list can include. Later changes of the store do not change
// the results.
func (s *Store) page(q listQuery) (page []*storedSubscription, total int, includable map[string][]*resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	matching := s.subscriptions
	if len(q.conditions) > 0 {
		matching = nil
		for _, sub := range s.subscriptions {
			if s.matches(sub, q.conditions) {
				matching = append(matching, sub)
			}
		}
	}
	start := min(q.offset, len(matching))
	end := min(start+q.limit, len(matching))
	return slices.Clone(matching[start:end]), len(matching), s.includable
}

// matches reports whether sub meets all conditions. The caller holds s.mu.
func (s *Store) matches(sub *storedSubscription, conditions []condition) bool {
	who, known := s.subscribers[sub.accountID]
	if !known {
		who.Name = sub.offeringName
	}
	for _, c := range conditions {
		var ok bool
		switch c.field {
		case "account_id":
			ok = strings.EqualFold(sub.accountID.String(), c.value)
		case "name":
			ok = who.Name == c.value
		case "email":
			ok = known && who.Email == c.value
		case "external_ref":
			ok = sub.externalRef == c.value
		}
		if !ok {
			return false
		}
	}
	return true
}

// relatedResources returns the resources that belong to the plans of a page.
func relatedResources(resources []*resource, page []*storedSubscription) []json.RawMessage {
	plans, own := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for _, sub := range page {
		for _, id := range sub.plans {
			plans[id] = true
		}
		for _, id := range sub.ownResources {
			own[id] = true
		}
	}
	list := []json.RawMessage{}
	for _, r := range resources {
		switch {
		case !slices.ContainsFunc(r.plans, func(id uuid.UUID) bool { return plans[id] }):
		case own[r.id]:
			list = append(list, r.active)
		default:
			list = append(list, r.inactive)
		}
	}
	return list
}

// pageLinks returns the links of a page. As in responses of the service, a link to
// a page that does not exist is null, and so is last, always.
func pageLinks(values url.Values, q listQuery, total int) map[string]*string {
	link := func(offset int) *string {
		v := maps.Clone(values)
		v.Set("page[limit]", strconv.Itoa(q.limit))
		v.Set("page[offset]", strconv.Itoa(offset))
		return new("https://" + linkHost + "/v2/subscriptions/subscriptions?" + v.Encode())
	}
	links := map[string]*string{"first": link(0), "last": nil, "next": nil, "prev": nil}
	if next := q.offset + q.limit; next < total {
		links["next"] = link(next)
	}
	if q.offset > 0 {
		links["prev"] = link(max(q.offset-q.limit, 0))
	}
	return links
}
