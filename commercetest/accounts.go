package commercetest

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"
)

// accountSet holds the accounts that the store lists.
type accountSet struct {
	added  []uuid.UUID // in the order in which they were added
	sorted []uuid.UUID
}

// newAccountSet returns a set of these accounts. It keeps the slice.
func newAccountSet(added []uuid.UUID) accountSet {
	return accountSet{added: added, sorted: slices.SortedFunc(slices.Values(added), compareIDs)}
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

func (set *accountSet) add(id uuid.UUID) {
	if i, found := slices.BinarySearchFunc(set.sorted, id, compareIDs); !found {
		set.sorted = slices.Insert(set.sorted, i, id)
		set.added = append(set.added, id)
	}
}

func (set *accountSet) remove(id uuid.UUID) (ok bool) {
	i, ok := slices.BinarySearchFunc(set.sorted, id, compareIDs)
	if ok {
		set.sorted = slices.Delete(set.sorted, i, i+1)
		i = slices.Index(set.added, id)
		set.added = slices.Delete(set.added, i, i+1)
	}
	return ok
}

// matching returns the ids that meet all conditions, sorted. It copies the ids only if a
// condition lists them, and never looks at all of them: a store may have many accounts.
func (set *accountSet) matching(conditions []idCondition) []uuid.UUID {
	matching := set.sorted
	for _, c := range conditions {
		first, found := slices.BinarySearchFunc(matching, c.ids[0], compareIDs)
		after := first
		if found {
			after++
		}
		switch c.operator {
		case "lt":
			matching = matching[:first]
		case "le":
			matching = matching[:after]
		case "gt":
			matching = matching[after:]
		case "ge":
			matching = matching[first:]
		default:
			matching = intersection(matching, c.ids)
		}
	}
	return matching
}

// sortIDs sorts ids and removes repeated ones.
func sortIDs(ids []uuid.UUID) []uuid.UUID {
	slices.SortFunc(ids, compareIDs)
	return slices.Compact(ids)
}

// intersection returns the ids that are in both lists. Both lists are sorted, and so is the
// result. The second list should be the shorter one.
func intersection(long, short []uuid.UUID) []uuid.UUID {
	return slices.DeleteFunc(slices.Clone(short), func(id uuid.UUID) bool {
		_, found := slices.BinarySearchFunc(long, id, compareIDs)
		return !found
	})
}

// AddAccount adds an account to the list of GET /v2/accounts, unless it is there already.
// Its name is the name of its first [Subscriber], if it has one, otherwise its external ref.
func (s *Store) AddAccount(id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts.add(id)
}

// RemoveAccount removes an account from the list of GET /v2/accounts. It reports whether
// the list had it. The subscriptions and the subscriber of the account stay. To delete the
// subscriptions too, use [Store.RemoveSubscription].
func (s *Store) RemoveAccount(id uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accounts.remove(id)
}

// accountQuery is the query of a list of accounts after it was checked.
type accountQuery struct {
	pageQuery
	conditions []idCondition
	sort       string // id, -id, or empty: the order in which the accounts were added
}

// idCondition is a condition on an id.
type idCondition struct {
	operator string      // that of a condition
	ids      []uuid.UUID // sorted; at least one
}

// readAccountQuery checks the query of a list of accounts. A parameter that the store does
// not know is a problem, because it may be one that selects or sorts accounts.
func readAccountQuery(values url.Values, cfg Config) (q accountQuery, problem *errorObject) {
	for name := range values {
		if !slices.Contains([]string{"filter", "sort", "page[limit]", "page[offset]"}, name) {
			return q, validationError("The parameters must be filter, sort, page[limit] and page[offset]")
		}
	}
	q.sort = values.Get("sort")
	if values.Has("sort") && q.sort != "id" && q.sort != "-id" {
		return q, validationError("sort must be id or -id")
	}
	conditions, problem := accountFilter.read(values)
	if problem != nil {
		return q, problem
	}
	for _, c := range conditions {
		byID := idCondition{operator: c.operator}
		for _, value := range c.values {
			id, ok := parseID(value)
			if !ok {
				return q, badFilter()
			}
			byID.ids = append(byID.ids, id)
		}
		byID.ids = sortIDs(byID.ids)
		q.conditions = append(q.conditions, byID)
	}
	q.pageQuery, problem = readPageQuery(values, cfg)
	return q, problem
}

// parseID reads a UUID in the usual form, in small letters or capitals.
func parseID(text string) (id uuid.UUID, ok bool) {
	id, err := uuid.Parse(text)
	return id, err == nil && len(text) == len(id.String())
}

// accountResource is an account as a list sends it.
type accountResource struct {
	ID          uuid.UUID `json:"id"`
	Type        string    `json:"type"`
	Name        string    `json:"name"`
	ExternalRef string    `json:"external_ref"`
}

// listAccounts handles GET /v2/accounts.
func (s *Store) listAccounts(in *call) response {
	values, err := url.ParseQuery(in.RawQuery)
	if err != nil {
		return errorsResponse(http.StatusBadRequest, *validationError("Could not parse the query"))
	}
	query, problem := readAccountQuery(values, s.cfg)
	if problem != nil {
		return errorsResponse(http.StatusBadRequest, *problem)
	}
	page, total := s.accountPage(query)
	body := map[string]any{"data": page, "meta": query.meta(total)}
	if links := query.links(in.Path, total); links != nil {
		body["links"] = links
	}
	return jsonResponse(http.StatusOK, body)
}

// accountPage returns the accounts of a page, and the number of accounts on all pages.
func (s *Store) accountPage(q accountQuery) (page []accountResource, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	matching := s.accounts.matching(q.conditions)
	switch q.sort {
	case "-id":
		matching = slices.Clone(matching)
		slices.Reverse(matching)
	case "":
		matching = slices.DeleteFunc(slices.Clone(s.accounts.added), func(id uuid.UUID) bool {
			_, found := slices.BinarySearchFunc(matching, id, compareIDs)
			return !found
		})
	}
	start := min(q.offset, len(matching))
	end := min(start+q.limit, len(matching))
	page = []accountResource{}
	for _, id := range matching[start:end] {
		ref := "account-" + id.String()
		account := accountResource{ID: id, Type: "account", Name: ref, ExternalRef: ref}
		if who := s.subscribers[id]; len(who) > 0 {
			account.Name = who[0].Name
		}
		page = append(page, account)
	}
	return page, len(matching)
}
