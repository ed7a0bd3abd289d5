package fakestore

import (
	"errors"
	"io"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/commerce-go/commerce/commercetest"
)

// fault is a [commercetest.Fault] whose requests are selected without code.
type fault struct {
	commercetest.Fault

	Always bool  `json:"always"` // Times is negative
	Match  match `json:"match"`
}

// match selects requests, those that fit all of its members.
type match struct {
	Path    string            `json:"path"`    // with * for a part between slashes
	Cart    string            `json:"cart"`    // id
	Account string            `json:"account"` // id, in the path, the query or the body
	Header  map[string]string `json:"header"`
	Body    string            `json:"body"` // a part of it
}

// fits reports whether a request fits. The path was checked.
func (m *match) fits(in commercetest.Request) bool {
	if ok, _ := path.Match(m.Path, in.Path); m.Path != "" && !ok {
		return false
	}
	for name, value := range m.Header {
		if in.Header.Get(name) != value {
			return false
		}
	}
	return isOfCart(in, m.Cart) && strings.Contains(string(in.Body), m.Body) &&
		strings.Contains(in.Path+in.RawQuery+string(in.Body), m.Account)
}

// isOfCart reports whether a request is about a cart; "" is any.
func isOfCart(in commercetest.Request, id string) bool {
	return id == "" || strings.Contains(in.Path+"/", "/carts/"+url.PathEscape(id)+"/")
}

// ParseFault reads a fault from JSON. An error of a member names it.
func ParseFault(r io.Reader) (commercetest.Fault, error) {
	var f fault
	if err := readStrict(r, &f); err != nil {
		return commercetest.Fault{}, err
	}
	return f.fault()
}

// fault returns the fault of a store.
func (f *fault) fault() (commercetest.Fault, error) {
	m := &f.Match
	_, badPath := path.Match(m.Path, "")
	switch {
	case badPath != nil, m.Path != "" && !strings.HasPrefix(m.Path, "/"):
		return commercetest.Fault{}, errors.New("match.path must begin with /, with * for a part between slashes")
	case f.Times < 0:
		return commercetest.Fault{}, errors.New("times must not be negative")
	case f.Always && f.Times > 0:
		return commercetest.Fault{}, errors.New("always must not be set with times")
	}
	if err := f.Validate(); err != nil {
		return commercetest.Fault{}, inMembers(err)
	}
	if f.Always {
		f.Times = -1
	}
	if f.Late && f.Delay == 0 {
		f.Delay = 2 * time.Second
	}
	if m.Path+m.Cart+m.Account+m.Body != "" || len(m.Header) > 0 {
		f.Fault.Match = m.fits
	}
	return f.Fault, nil
}

func addFault(c *call, f fault) (none, error) {
	fault, err := f.fault()
	if err == nil {
		c.store().Inject(fault)
	}
	return none{}, err
}

// faultList says how often each fault was met.
type faultList struct {
	Faults []commercetest.FaultCount `json:"faults"`
}

func listFaults(c *call, _ none) (faultList, error) {
	return faultList{c.store().Faults()}, nil
}

func clearFaults(c *call, _ none) (none, error) {
	c.store().ClearFaults()
	return none{}, nil
}
