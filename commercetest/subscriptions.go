package commercetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

const (
	maxPageLimit  = 100
	maxPageOffset = 10_000
	// linkHost is the host that the links of a list point to. A request that
	// follows one finds nothing.
	linkHost = "store-links.example"
)

// record is a subscription, encoded when it was added so that nothing a caller
// holds on to can change it.
type record struct {
	raw         json.RawMessage
	id          uuid.UUID
	accountID   uuid.UUID
	externalRef string
	offering    string       // its name
	plans       []uuid.UUID  // that it or its offering names
	own         [2]uuid.UUID // its plan and its pricing option
}

// resource is what a list may include, encoded.
type resource struct {
	id    uuid.UUID
	plans []uuid.UUID // that it belongs to; a plan: its own id
	// active is sent where it is a listed subscription's own, else other.
	active, other json.RawMessage
}

// newResource returns v, which is marked as active if its kind can be. What is
// not active has null for the mark.
func newResource(id uuid.UUID, plans []uuid.UUID, v any) *resource {
	active := encode(v)
	other := bytes.Replace(active, []byte(`"active_plan":true`), []byte(`"active_plan":null`), 1)
	other = bytes.Replace(other, []byte(`"active_pricing_option":true`), []byte(`"active_pricing_option":null`), 1)
	return &resource{id, plans, active, other}
}

// encode returns v as JSON.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("commercetest: " + err.Error())
	}
	return raw
}

func newRecord(sub commerce.Subscription) *record {
	a := sub.Attributes
	r := &record{
		raw:         encode(sub),
		id:          sub.ID,
		accountID:   a.AccountID,
		externalRef: a.ExternalRef,
		offering:    a.Offering.Attributes.Name,
		own:         [2]uuid.UUID{a.PlanID, a.PricingOptionID},
	}
	if a.PlanID != uuid.Nil {
		r.plans = []uuid.UUID{a.PlanID}
	}
	r.plans = append(r.plans, plansOf(sub.Relationships)...)
	r.plans = append(r.plans, plansOf(a.Offering.Relationships)...)
	return r
}

// plansOf returns the ids in the plans relationship.
func plansOf(rel commerce.Relationships) []uuid.UUID {
	var ids []uuid.UUID
	for _, ref := range rel.Get("plans").Data.Refs {
		ids = append(ids, ref.ID)
	}
	return ids
}

// AddSubscription puts sub at the front of the list, which is newest first. It is
// sent as it is, with nothing filled in. What the list can include with it are
// the plans of [Store.Seed] that it or its offering names, and their products or
// pricing options. It panics if sub can't be encoded.
func (s *Store) AddSubscription(sub commerce.Subscription) {
	r := newRecord(sub)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = slices.Insert(s.records, 0, r)
}

// RemoveSubscription removes the newest subscription with that id, and reports
// whether there was one.
func (s *Store) RemoveSubscription(id uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.records, func(r *record) bool { return r.id == id })
	if i < 0 {
		return false
	}
	s.records = slices.Delete(s.records, i, i+1)
	return true
}

// Subscriber is whom an account belongs to. A list can be filtered by it, but
// does not show it.
type Subscriber struct{ Name, Email string }

// SetSubscriber sets whom an account belongs to: what the filters name and email
// find its subscriptions by. A subscription of an account without a subscriber
// has the name of its offering and no email.
func (s *Store) SetSubscriber(accountID uuid.UUID, who Subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers[accountID] = who
}

// SubscriberOf returns whom an account belongs to, and whether that is known. It
// is for the accounts of [Store.Seed], and those given to [Store.SetSubscriber].
func (s *Store) SubscriberOf(accountID uuid.UUID) (Subscriber, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, ok := s.subscribers[accountID]
	return who, ok
}

// listQuery is the query of a list, checked.
type listQuery struct {
	conditions []condition
	include    []string
	limit      int
	offset     int
}

// includes returns what a list may include.
func (g Generation) includes() [2]string {
	if g == SecondGeneration {
		return [2]string{"plans", "pricing_options"}
	}
	return [2]string{"plans", "products"}
}

// readListQuery reads a query. The answer is the refusal, if ok is false.
func readListQuery(query url.Values, cfg Config) (q listQuery, refused answer, ok bool) {
	invalid := func(detail string) (listQuery, answer, bool) {
		return q, failure(http.StatusBadRequest, "Validation Error", detail), false
	}
	if query.Has("filter") {
		if q.conditions, ok = parseFilter(query.Get("filter")); !ok {
			return q, refusal(http.StatusBadRequest, errorObject{Title: "Bad Request", Detail: "Could not parse the supplied filter"}), false
		}
	}
	if include := query.Get("include"); include != "" {
		q.include = strings.Split(include, ",")
	}
	known := cfg.Generation.includes()
	for _, name := range q.include {
		if !slices.Contains(known[:], name) {
			return invalid(fmt.Sprintf("include must be %[1]s, %[2]s or %[1]s,%[2]s", known[0], known[1]))
		}
	}
	var fault string
	if q.limit, fault = number(query, "page[limit]", cfg.PageLength, 1, maxPageLimit); fault != "" {
		return invalid(fault)
	}
	if q.offset, fault = number(query, "page[offset]", 0, 0, maxPageOffset); fault != "" {
		return invalid(fault)
	}
	return q, answer{}, true
}

// number reads a parameter, or says what is wrong with it.
func number(query url.Values, name string, absent, least, most int) (n int, fault string) {
	if !query.Has(name) {
		return absent, ""
	}
	n, err := strconv.Atoi(query.Get(name))
	if err != nil || n < least || n > most {
		return 0, fmt.Sprintf("%s must be a whole number from %d to %d", name, least, most)
	}
	return n, ""
}

// listSubscriptions is GET /v2/subscriptions/subscriptions.
func (s *Store) listSubscriptions(in *Request, _ string) answer {
	query, err := url.ParseQuery(in.RawQuery)
	if err != nil {
		return failure(http.StatusBadRequest, "Validation Error", "Could not parse the query")
	}
	q, refused, ok := readListQuery(query, s.cfg)
	if !ok {
		return refused
	}
	page, more, catalog := s.page(q)
	body := struct {
		Data     []json.RawMessage            `json:"data"`
		Included map[string][]json.RawMessage `json:"included,omitempty"`
		Links    map[string]*string           `json:"links"`
	}{Data: []json.RawMessage{}, Links: pageLinks(query, q, more)}
	for _, r := range page {
		body.Data = append(body.Data, r.raw)
	}
	for _, name := range q.include {
		if body.Included == nil {
			body.Included = map[string][]json.RawMessage{}
		}
		body.Included[name] = related(catalog[name], page)
	}
	return reply(http.StatusOK, body)
}

// page returns a page, whether there are records after it, and what may be
// included with it. All of it stays as it is when the store changes.
func (s *Store) page(q listQuery) (page []*record, more bool, catalog map[string][]*resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	matching := s.matching(q.conditions)
	start := min(q.offset, len(matching))
	end := min(start+q.limit, len(matching))
	return slices.Clone(matching[start:end]), end < len(matching), s.catalog
}

// matching returns the records that meet all conditions. s.mu is held.
func (s *Store) matching(conditions []condition) []*record {
	if len(conditions) == 0 {
		return s.records
	}
	var list []*record
	for _, r := range s.records {
		if !slices.ContainsFunc(conditions, func(c condition) bool { return !s.meets(r, c) }) {
			list = append(list, r)
		}
	}
	return list
}

// meets reports whether r meets c. s.mu is held.
func (s *Store) meets(r *record, c condition) bool {
	who, ok := s.subscribers[r.accountID]
	if !ok {
		who.Name = r.offering
	}
	switch c.field {
	case "account_id":
		return strings.EqualFold(r.accountID.String(), c.value)
	case "name":
		return who.Name == c.value
	case "email":
		return ok && who.Email == c.value
	}
	return r.externalRef == c.value
}

// related returns the resources that belong to the plans of a page.
func related(from []*resource, page []*record) []json.RawMessage {
	plans, own := map[uuid.UUID]bool{}, map[uuid.UUID]bool{}
	for _, r := range page {
		for _, id := range r.plans {
			plans[id] = true
		}
		for _, id := range r.own {
			own[id] = true
		}
	}
	list := []json.RawMessage{}
	for _, r := range from {
		switch {
		case !slices.ContainsFunc(r.plans, func(id uuid.UUID) bool { return plans[id] }):
		case own[r.id]:
			list = append(list, r.active)
		default:
			list = append(list, r.other)
		}
	}
	return list
}

// pageLinks returns the links of a page, as the service writes them: to another
// host, and null for what there is not; last always is.
func pageLinks(query url.Values, q listQuery, more bool) map[string]*string {
	link := func(offset int) *string {
		v := maps.Clone(query)
		v.Set("page[limit]", strconv.Itoa(q.limit))
		v.Set("page[offset]", strconv.Itoa(offset))
		address := "https://" + linkHost + "/v2/subscriptions/subscriptions?" + v.Encode()
		return &address
	}
	links := map[string]*string{"first": link(0), "last": nil, "next": nil, "prev": nil}
	if more {
		links["next"] = link(q.offset + q.limit)
	}
	if q.offset > 0 {
		links["prev"] = link(max(q.offset-q.limit, 0))
	}
	return links
}
