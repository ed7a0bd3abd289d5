package commercetest

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Operation selects the requests that a [Fault] is for.
type Operation string

// The operations of a [Store].
const (
	OpAny      Operation = ""         // every request, also to an endpoint that does not exist
	OpAdd      Operation = "add"      // POST /v2/carts/{cartID}/custom-discounts
	OpCart     Operation = "cart"     // GET /v2/carts/{cartID}
	OpList     Operation = "list"     // GET /v2/subscriptions/subscriptions
	OpSettings Operation = "settings" // GET /v2/settings
	OpToken    Operation = "token"    // POST /oauth/access_token
)

// Fault is something that goes wrong with a request. It may delay the answer,
// change it, put another one in its place, or cut the connection:
//
//	Fault{Delay: time.Minute}                                   // a slow answer
//	Fault{Status: 503, Times: 3}                                // down for three requests
//	Fault{Status: 429, Header: http.Header{"Retry-After": {"2"}}}
//	Fault{Operation: OpAdd, Apply: true, Status: 504}           // added, but the gateway gave up
//	Fault{Operation: OpAdd, Apply: true, Cut: true}             // added, but the answer is lost
//	Fault{Operation: OpAdd, Apply: true, Delay: time.Hour}      // added, but the answer takes too long
//	Fault{Operation: OpAdd, Body: "<html>"}                     // added, but the answer says nothing
//	Fault{Operation: OpList, Cut: true, CutAfter: 100}          // half a page
//
// A request met by a fault is handled by the store, and so takes effect, if Apply
// is set or if the fault leaves anything of the store's own answer. It is met
// before its token is looked at. A request that [Config.RateLimit] refuses meets
// no fault, and counts for none.
type Fault struct {
	// Operation that it is for. Zero: any.
	Operation Operation
	// After is the number of requests for Operation that arrive before the first
	// that is met, counted from Inject, whatever becomes of them.
	After int
	// Times is the number of requests that are met. 0: one. Negative: all.
	Times int

	// Apply handles the request before Delay. Without it, a request that is handled
	// at all is handled after Delay, unless its context has ended by then.
	Apply bool
	// Delay before the answer. It ends early with the context of the request.
	Delay time.Duration
	// Status of the answer, in place of the store's: 101, or 200 to 599. 0: the
	// answer is the store's own.
	Status int
	// Header of the answer, in addition to the store's own and in place of those
	// with the same key.
	Header http.Header
	// Body of the answer. Where it is empty the answer has none if Status is set,
	// else the store's own.
	Body string
	// Cut drops the connection in place of the answer. The HTTP client of the
	// standard library repeats a GET by itself where that happens on a connection
	// it used before, so over URL such a fault may need Times to be noticed.
	Cut bool
	// CutAfter is the number of bytes of the answer's body that get through before
	// the Cut, with the status and the headers; at most all but one. 0: nothing at
	// all gets through.
	CutAfter int
}

// script is a fault with what it saw so far.
type script struct {
	Fault
	seen, met int
}

// Inject adds faults. A request is met by the first, in the order they were
// added, whose turn it is: Inject(Fault{Status: 503}, Fault{Status: 429}) makes
// the next request fail with 503, and the one after it with 429. It panics if a
// Status can't be sent.
func (s *Store) Inject(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		if f.Status != 0 && f.Status != http.StatusSwitchingProtocols && (f.Status < 200 || f.Status > 599) {
			panic(fmt.Sprintf("commercetest: %d is not the status of an answer", f.Status))
		}
		f.Header = canonical(f.Header)
		s.faults = append(s.faults, &script{Fault: f})
	}
}

// canonical returns a copy of h with canonical keys.
func canonical(h http.Header) http.Header {
	c := http.Header{}
	for key, values := range h {
		for _, v := range values {
			c.Add(key, v)
		}
	}
	return c
}

// nextFault returns the fault that a request for op meets, or nil. s.mu is held.
func (s *Store) nextFault(op Operation) *Fault {
	var next *script
	for _, f := range s.faults {
		if f.Operation != OpAny && f.Operation != op {
			continue
		}
		f.seen++
		left := f.Times < 0 || f.met < max(f.Times, 1)
		if next == nil && f.seen > f.After && left {
			next = f
		}
	}
	if next == nil {
		return nil
	}
	next.met++
	return &next.Fault
}

// play answers a request that meets f; a nil f does no harm.
func (f *Fault) play(ctx context.Context, handle func() answer) (answer, error) {
	if f == nil {
		return handle(), nil
	}
	var a answer
	if f.Apply {
		a = handle()
	}
	if err := wait(ctx, f.Delay); err != nil {
		return answer{}, err
	}
	if f.Cut && f.CutAfter <= 0 {
		return answer{}, errCut
	}
	if f.Status != 0 {
		a = answer{status: f.Status, body: []byte(f.Body)}
	} else {
		if !f.Apply {
			a = handle()
		}
		if f.Body != "" {
			a.body = []byte(f.Body)
		}
	}
	if a.header == nil {
		a.header = http.Header{}
	}
	for key, values := range f.Header {
		a.header[key] = append([]string(nil), values...)
	}
	if f.Cut {
		a.sent = min(f.CutAfter, len(a.body)-1)
		if a.sent <= 0 || !bodyAllowed(a.status) {
			return answer{}, errCut
		}
	}
	return a, nil
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
