package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/commerce-go/commerce/commercetest"
)

// fault is a [commercetest.Fault] as JSON.
type fault struct {
	Operation commercetest.Operation `json:"operation"`
	After     int                    `json:"after"`
	Times     int                    `json:"times"`
	Always    bool                   `json:"always"` // Times is negative
	Apply     bool                   `json:"apply"`
	Late      bool                   `json:"late"`
	Delay     delay                  `json:"delay"` // of a late write: 2s if it is 0
	Status    int                    `json:"status"`
	Header    http.Header            `json:"header"`
	Body      string                 `json:"body"`
	Cut       bool                   `json:"cut"`
	CutAfter  int                    `json:"cut_after"`
	Match     match                  `json:"match"`
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

// delay is a JSON string such as "2s".
type delay time.Duration

func (d *delay) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = delay(parsed)
	return err
}

// parseFault reads a fault. An error of a member names it.
func parseFault(r io.Reader) (commercetest.Fault, error) {
	var f fault
	if err := cmp.Or(readStrict(r, &f), f.check()); err != nil {
		return commercetest.Fault{}, fmt.Errorf("not a fault: %w", err)
	}
	if f.Always {
		f.Times = -1
	}
	if f.Late {
		f.Delay = cmp.Or(f.Delay, delay(2*time.Second))
	}
	fault := commercetest.Fault{
		Operation: f.Operation, After: f.After, Times: f.Times,
		Apply: f.Apply, Late: f.Late, Delay: time.Duration(f.Delay),
		Status: f.Status, Header: f.Header, Body: f.Body, Cut: f.Cut, CutAfter: f.CutAfter,
	}
	if m := &f.Match; m.Path+m.Cart+m.Account+m.Body != "" || len(m.Header) > 0 {
		fault.Match = m.fits
	}
	return fault, nil
}

func (f *fault) check() error {
	_, badPath := path.Match(f.Match.Path, "")
	switch {
	case badPath != nil:
		return errors.New("match.path must be a path, with * for a part between slashes")
	case f.Operation != commercetest.OpAny && !slices.Contains(commercetest.Operations(), f.Operation):
		return fmt.Errorf("operation must be one of %q, or absent for all", commercetest.Operations())
	case f.Status != 0 && f.Status != http.StatusSwitchingProtocols && (f.Status < 200 || f.Status > 599):
		return errors.New("status must be 101, or 200 to 599")
	case f.After < 0 || f.Times < 0 || f.Delay < 0 || f.CutAfter < 0:
		return errors.New("after, times, delay and cut_after must not be negative")
	case f.Always && f.Times > 0, f.Apply && f.Late:
		return errors.New("always must not be set with times, or apply with late")
	case f.Status == 0 && !f.Cut && !f.Late && f.Delay == 0 && f.Body == "" && len(f.Header) == 0:
		return errors.New("it must have at least one of status, cut, late, delay, body and header")
	}
	return nil
}
