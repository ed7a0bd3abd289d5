package fakestore

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/commerce-go/commerce/commercetest"
)

// stub is a response to requests for a path that the store does not have.
type stub struct {
	Method string         `json:"method"`
	Path   pathPattern    `json:"path"`
	Status int            `json:"status"`
	Header header         `json:"header"`
	Body   jsontext.Value `json:"body"`
}

// stubs are those of a store, by method and path.
type stubs struct {
	mu  sync.Mutex
	all map[string]*stubEntry
}

// stubEntry is a stub, and how often it was met.
type stubEntry struct {
	stub

	Met int `json:"met"`
}

var (
	stubMethod = regexp.MustCompile(`^[A-Z]+$`)
	reserved   = regexp.MustCompile(`^/$|^/([*{]|_store(/|$)|oauth(/|$))`)
)

func (s *stub) validate() error {
	if err := s.Path.validate("path"); s.Path != "/" && err != nil {
		return err
	}
	switch {
	case !stubMethod.MatchString(s.Method):
		return errors.New("method must be that of a request, such as GET")
	case reserved.MatchString(string(s.Path)):
		return errors.New("path must not be that of all requests, /_store or /oauth")
	case commercetest.OperationOf(s.Method, string(s.Path)) != commercetest.OpAny:
		return errors.New("the store has this endpoint itself: a fault can change its responses")
	case s.Status != 0 && (s.Status < 200 || s.Status > 599):
		return errors.New("status must be 200 to 599, or 0 for 200")
	}
	return s.Header.validate()
}

// addStub adds a stub, or replaces the one with the same method and path.
func addStub(c *call, s stub) (_ none, err error) {
	if err := s.validate(); err != nil {
		return none{}, err
	}
	current, pattern := c.namespace.current.Load(), s.Method+" "+s.Path.forMux()
	current.stubs.mu.Lock()
	defer current.stubs.mu.Unlock()
	if _, ok := current.stubs.all[pattern]; !ok {
		defer func() {
			if recover() != nil { // of Handle
				err = errors.New("path must not fit the same requests as another stub: DELETE /_store/stubs removes all")
			}
		}()
		current.store.Handle(pattern, current.stubs.handler(pattern))
	}
	if current.stubs.all == nil {
		current.stubs.all = map[string]*stubEntry{}
	}
	current.stubs.all[pattern] = &stubEntry{stub: s}
	return none{}, nil
}

// handler returns what responds as the stub says.
func (all *stubs) handler(pattern string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		s, ok := all.meet(pattern)
		if !ok {
			refuse(w, http.StatusNotFound, "The stub was removed")
			return
		}
		maps.Copy(w.Header(), s.Header.http())
		w.WriteHeader(cmp.Or(s.Status, http.StatusOK))
		_, _ = w.Write([]byte(bodyText(s.Body)))
	}
}

// meet counts a request that meets a stub. It reports whether the stub is still there.
func (all *stubs) meet(pattern string) (stub, bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	s, ok := all.all[pattern]
	if !ok {
		return stub{}, false
	}
	s.Met++
	return s.stub, true
}

// stubList has the stubs of a store.
type stubList struct {
	Stubs []stubEntry `json:"stubs"`
}

func listStubs(c *call, _ none) (stubList, error) {
	all := &c.namespace.current.Load().stubs
	all.mu.Lock()
	defer all.mu.Unlock()
	var list stubList
	for _, pattern := range slices.Sorted(maps.Keys(all.all)) {
		list.Stubs = append(list.Stubs, *all.all[pattern])
	}
	return list, nil
}

func clearStubs(c *call, _ none) (none, error) {
	current := c.namespace.current.Load()
	current.stubs.mu.Lock()
	defer current.stubs.mu.Unlock()
	current.store.ClearHandlers()
	current.stubs.all = nil
	return none{}, nil
}
