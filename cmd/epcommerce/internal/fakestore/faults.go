package fakestore

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/commerce-go/commerce/commercetest"
)

// ParsedFault is a [commercetest.Fault], and what its requests must match.
type ParsedFault struct {
	commercetest.Fault

	Matches match
}

// fault is a fault whose requests are selected without code.
type fault struct {
	commercetest.Fault

	Always bool           `json:"always"` // Times is negative
	Delay  *time.Duration `json:"delay"`  // nil: none, or two seconds with Late
	Header header         `json:"header"`
	Body   jsontext.Value `json:"body"`
	Match  *match         `json:"match"`
}

// match selects requests, those that fit all of its members.
type match struct {
	Path    pathPattern       `json:"path"`
	Cart    string            `json:"cart"`    // id
	Account string            `json:"account"` // id, in the path, the query or the body
	Header  map[string]string `json:"header"`
	Body    string            `json:"body"` // a part of it
}

// misfits names the members of m that a request does not fit. The path was checked.
func (m *match) misfits(in commercetest.Request) string {
	var list []string
	for name, fits := range map[string]bool{
		"path": m.Path == "" || m.Path.fits(in.Path), "cart": isOfCart(in, m.Cart),
		"account": strings.Contains(in.Path+in.RawQuery+string(in.Body), m.Account),
		"body":    strings.Contains(string(in.Body), m.Body),
	} {
		if !fits {
			list = append(list, name)
		}
	}
	for name, value := range m.Header {
		got := in.Header.Get(name)
		if strings.EqualFold(name, "Host") { // Go does not have it in the header
			got = in.Host
		}
		if got != value {
			list = append(list, "header "+name)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// isOfCart reports whether a request is about a cart; "" is any.
func isOfCart(in commercetest.Request, id string) bool {
	return id == "" || strings.Contains(in.Path+"/", "/carts/"+url.PathEscape(id)+"/")
}

// String returns the members of m that are set. It is empty if m selects all requests.
func (m *match) String() string {
	var list []string
	for _, part := range [][2]string{
		{"path", string(m.Path)}, {"cart", m.Cart}, {"account", m.Account}, {"body", m.Body},
	} {
		if part[1] != "" {
			list = append(list, part[0]+" "+part[1])
		}
	}
	for name, value := range m.Header {
		list = append(list, "header "+name+": "+value)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// ParseFault reads a fault from JSON. An error of a member names it.
func ParseFault(r io.Reader) (ParsedFault, error) {
	var f fault
	if err := readRequest(r, &f); err != nil {
		return ParsedFault{}, err
	}
	return f.parsed()
}

// delay returns the delay of f.
func (f *fault) delay() time.Duration {
	switch {
	case f.Delay != nil:
		return *f.Delay
	case f.Late:
		return 2 * time.Second
	}
	return 0
}

// parsed returns the fault of a store.
func (f *fault) parsed() (ParsedFault, error) {
	parsed, m := f.Fault, cmp.Or(f.Match, &match{})
	parsed.Header, parsed.Body, parsed.Delay = f.Header.http(), bodyText(f.Body), f.delay()
	parsed.NoBody = f.Body.Kind() == '"' && parsed.Body == ""
	if m.Path != "" {
		if err := m.Path.validate("match.path"); err != nil {
			return ParsedFault{}, err
		}
		if list := f.Operation.Endpoints(); len(list) > 0 && !slices.ContainsFunc(list, m.Path.overlaps) {
			return ParsedFault{}, fmt.Errorf("match.path fits no request of the operation: %s", strings.Join(list, ", "))
		}
	}
	switch {
	case f.Status == http.StatusSwitchingProtocols: // no client of a shop asks for it
		return ParsedFault{}, errors.New("status must be 200 to 599")
	case f.Match != nil && m.String() == "":
		return ParsedFault{}, errors.New("match must have a member that is not empty, or be absent for all requests")
	case f.Times < 0:
		return ParsedFault{}, errors.New("times must not be negative")
	case f.Always && f.Times > 0:
		return ParsedFault{}, errors.New("always must not be set with times")
	}
	if err := cmp.Or(f.Header.validate(), inMembers(parsed.Validate())); err != nil {
		return ParsedFault{}, err
	}
	if f.Always {
		parsed.Times = -1
	}
	return ParsedFault{Fault: parsed, Matches: *m}, nil
}

// faultMatches are those of the faults of a store, by their numbers.
type faultMatches struct {
	mu  sync.Mutex
	all map[int]*faultMatch
}

// faultMatch is a match, and the last request that did not fit.
type faultMatch struct {
	match

	missed atomic.Pointer[string]
}

// fits reports whether a request fits.
func (m *faultMatch) fits(in commercetest.Request) bool {
	misfits := m.misfits(in)
	if misfits != "" {
		m.missed.Store(new(in.ID + ": " + misfits))
	}
	return misfits == ""
}

// inject adds a fault to the store, and returns its number.
func (g *generation) inject(f ParsedFault) int {
	g.matches.mu.Lock()
	defer g.matches.mu.Unlock()
	added := &faultMatch{match: f.Matches}
	if added.String() != "" {
		f.Match = added.fits
	}
	number := g.store.Inject(f.Fault)[0]
	g.matches.all[number] = added
	return number
}

// injected has the number of a fault.
type injected struct {
	Number int `json:"number"`
}

func addFault(c *call, f fault) (injected, error) {
	parsed, err := f.parsed()
	if err != nil {
		return injected{}, err
	}
	return injected{c.namespace.current.Load().inject(parsed)}, nil
}

// faultList has the faults of a store, and how often each was met.
type faultList struct {
	Faults []faultEntry `json:"faults"`
}

type faultEntry struct {
	commercetest.FaultCount

	Body    *string `json:"body,omitzero"` // nil: that of the store, or of the status
	Matches string  `json:"matches,omitzero"`
	Missed  *string `json:"missed,omitzero"`
}

func listFaults(c *call, _ none) (list faultList, _ error) {
	current := c.namespace.current.Load()
	current.matches.mu.Lock()
	defer current.matches.mu.Unlock()
	for _, count := range current.store.Faults() {
		added := current.matches.all[count.Number]
		entry := faultEntry{FaultCount: count, Matches: added.String()}
		if count.Left != 0 {
			entry.Missed = added.missed.Load()
		}
		if count.Body != "" || count.NoBody {
			entry.Body = &count.Body
		}
		if count.Match != nil && entry.Matches == "" {
			entry.Matches = "a function"
		}
		list.Faults = append(list.Faults, entry)
	}
	return list, nil
}

func clearFaults(c *call, _ none) (none, error) {
	c.store().ClearFaults()
	return none{}, nil
}
