package fakestore

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/commerce-go/commerce/commercetest"
)

// stub is a response to requests for a path that the store does not have.
type stub struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    jsontext.Value    `json:"body"` // a text is sent as it is, other JSON as JSON
}

// stubs are those of a store, by method and path.
type stubs struct {
	mu  sync.Mutex
	all map[string]stub
}

var (
	stubMethod = regexp.MustCompile(`^[A-Z]+$`)
	stubPath   = regexp.MustCompile(`^/[^\s?#%]+$`)
	reserved   = regexp.MustCompile(`^/(\{|_store(/|$)|oauth(/|$))`)
	headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
	// safe are the headers that a stub must leave to the server.
	safe = []string{"Content-Security-Policy", "X-Content-Type-Options", "Content-Length"}
)

func (s *stub) validate() error {
	switch {
	case !stubMethod.MatchString(s.Method):
		return errors.New("method must be that of a request, such as GET")
	case !stubPath.MatchString(s.Path), reserved.MatchString(s.Path):
		return errors.New("path must be that of a request, and not /, /_store or /oauth")
	case commercetest.OperationOf(s.Method, s.Path) != commercetest.OpAny:
		return errors.New("the store has this endpoint itself: a fault can change its responses")
	case s.Status != 0 && (s.Status < 200 || s.Status > 599):
		return errors.New("status must be 200 to 599, or 0 for 200")
	}
	for name, value := range s.Headers {
		if !headerName.MatchString(name) || strings.ContainsAny(value, "\r\n\x00") ||
			slices.Contains(safe, http.CanonicalHeaderKey(name)) {
			return fmt.Errorf("headers must be those of a response, without %s", strings.Join(safe, ", "))
		}
	}
	return nil
}

// addStub adds a stub, or replaces the one with the same method and path.
func addStub(c *call, s stub) (_ none, err error) {
	if err := s.validate(); err != nil {
		return none{}, err
	}
	current, pattern := c.namespace.current.Load(), s.Method+" "+s.Path
	current.stubs.mu.Lock()
	defer current.stubs.mu.Unlock()
	if _, ok := current.stubs.all[pattern]; !ok {
		defer func() {
			if recover() != nil { // of Handle
				err = errors.New("path must not have braces but for names, such as /v2/{id}, " +
					"and must not fit the same requests as another stub")
			}
		}()
		current.store.Handle(pattern, current.stubs.handler(pattern))
	}
	if current.stubs.all == nil {
		current.stubs.all = map[string]stub{}
	}
	current.stubs.all[pattern] = s
	return none{}, nil
}

// handler returns what responds as the stub says.
func (all *stubs) handler(pattern string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		all.mu.Lock()
		s := all.all[pattern]
		all.mu.Unlock()
		body, text := []byte(s.Body), ""
		if s.Body.Kind() == '"' && json.Unmarshal(s.Body, &text) == nil {
			body = []byte(text)
		}
		for name, value := range s.Headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(cmp.Or(s.Status, http.StatusOK))
		_, _ = w.Write(body)
	}
}
