package commercetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// Operation selects the requests that a [Fault] is for.
type Operation string

// The operations of a [Store].
const (
	OpAny             Operation = ""                  // every request, also to an unknown endpoint
	OpAdd             Operation = "add"               // POST /v2/carts/{cartID}/custom-discounts
	OpAddItemDiscount Operation = "add item discount" // POST /v2/carts/{cartID}/items/{itemID}/custom-discounts
	OpUpdateDiscount  Operation = "update discount"   // PUT .../custom-discounts/{id}, of a cart or an item
	OpDeleteDiscount  Operation = "delete discount"   // DELETE .../custom-discounts/{id}, of a cart or an item
	OpDeleteDiscounts Operation = "delete discounts"  // DELETE /v2/carts/{cartID}/custom-discounts
	OpCart            Operation = "cart"              // GET /v2/carts/{cartID}
	OpCreateCart      Operation = "create cart"       // POST /v2/carts
	OpUpdateCart      Operation = "update cart"       // PUT /v2/carts/{cartID}
	OpDeleteCart      Operation = "delete cart"       // DELETE /v2/carts/{cartID}
	OpItems           Operation = "items"             // GET /v2/carts/{cartID}/items
	OpAddItem         Operation = "add item"          // POST /v2/carts/{cartID}/items
	OpUpdateItem      Operation = "update item"       // PUT /v2/carts/{cartID}/items/{itemID}
	OpDeleteItem      Operation = "delete item"       // DELETE /v2/carts/{cartID}/items/{itemID}
	OpDeleteItems     Operation = "delete items"      // DELETE /v2/carts/{cartID}/items
	OpCheckout        Operation = "checkout"          // POST /v2/carts/{cartID}/checkout
	OpOrders          Operation = "orders"            // GET /v2/orders
	OpOrder           Operation = "order"             // GET /v2/orders/{id}
	OpAccounts        Operation = "accounts"          // GET /v2/accounts
	OpList            Operation = "list"              // GET /v2/subscriptions/subscriptions
	OpSubscription    Operation = "subscription"      // GET /v2/subscriptions/subscriptions/{id}
	OpPlans           Operation = "plans"             // GET /v2/subscriptions/subscriptions/{id}/plans
	OpProducts        Operation = "products"          // GET /v2/subscriptions/subscriptions/{id}/products
	OpPricingOptions  Operation = "pricing options"   // GET /v2/subscriptions/subscriptions/{id}/pricing-options
	OpFeatures        Operation = "features"          // GET /v2/subscriptions/subscriptions/{id}/features
	OpSubscribers     Operation = "subscribers"       // GET /v2/subscriptions/subscribers
	OpInvoices        Operation = "invoices"          // GET /v2/subscriptions/invoices
	OpStates          Operation = "states"            // GET /v2/subscriptions/subscriptions/{id}/states
	OpChangeState     Operation = "change state"      // POST /v2/subscriptions/subscriptions/{id}/states
	OpState           Operation = "state"             // GET /v2/subscriptions/subscriptions/{id}/states/{state}
	OpCurrencies      Operation = "currencies"        // GET /v2/currencies
	OpSettings        Operation = "settings"          // GET /v2/settings
	OpGetCartSettings Operation = "get cart settings" // GET /v2/settings/cart
	OpCartSettings    Operation = "cart settings"     // PUT /v2/settings/cart
	OpToken           Operation = "token"             // POST /oauth/access_token
)

// Fault makes requests fail. It can delay the response, change it, replace it, or
// cut the connection:
//
//	Fault{Delay: time.Minute}                                   // a slow response
//	Fault{Status: 503, Times: 3}                                // three requests fail
//	Fault{Status: 429, Header: http.Header{"Retry-After": {"2"}}}
//	Fault{Operation: OpAdd, Apply: true, Status: 504}           // added, but the gateway gave up
//	Fault{Operation: OpAdd, Apply: true, Cut: true}             // added, but the response is lost
//	Fault{Operation: OpAdd, Apply: true, Delay: time.Hour}      // added, but the response takes too long
//	Fault{Operation: OpAdd, Late: true, Delay: time.Minute}     // added after the caller may have gone
//	Fault{Operation: OpAdd, Late: true, Delay: time.Minute, Status: 504} // added a minute after the 504
//	Fault{Operation: OpAdd, Body: "<html>"}                     // added, but the response is unreadable
//	Fault{Operation: OpList, Cut: true, CutAfter: 100}          // part of a page
//
// A request that meets a fault takes effect if Apply or Late is set. It also takes
// effect if the response keeps the status that the store gave it, that is, if Status is 0
// and a Cut does not come before the first byte. The fault comes before the check
// of the token. Requests that [Config.RateLimit] refuses meet no faults, and do not
// count for After. epcommerce serve reads faults as JSON; there a duration is a text such as "2s".
type Fault struct {
	// Operation selects the requests. Zero: all.
	Operation Operation `json:"operation,omitzero"`
	// Match limits the fault to requests for which it returns true. nil: no limit. It
	// may use the store, but must not send requests to it: they wait until it returns.
	Match func(Request) bool `json:"-"`
	// After is the number of requests for Operation and Match that the fault leaves
	// alone first. Counting starts with Inject; requests that meet another fault count too.
	After int `json:"after,omitzero"`
	// Times is the number of requests that meet the fault. 0: one. Negative: all.
	Times int `json:"times,omitzero"`

	// Apply makes the request take effect before Delay. Without it, a request that
	// takes effect does so after Delay, and only if its context has not ended by then.
	Apply bool `json:"apply,omitzero"`
	// Late makes the request take effect after Delay, even if its context has ended by
	// then, or its connection was closed: the caller gets an error, and the write is
	// applied nevertheless. A response that does not depend on the store is sent at once,
	// before Delay: one with Status, or a Cut before the first byte. A gateway that gives up
	// does the same. [Store.Close] cancels late writes that are still in their Delay, and
	// [Store.Pending] counts them. Late has no effect if Apply is set.
	Late bool `json:"late,omitzero"`
	// Delay before the response, or before a late write. Without Late it ends early if
	// the context of the request ends.
	Delay time.Duration `json:"delay,omitzero"`
	// Status of the response: 101, or 200 to 599. 0: the status of the store.
	Status int `json:"status,omitzero"`
	// Header is added to the header of the response. It replaces values with the
	// same key.
	Header http.Header `json:"header,omitempty"`
	// Body of the response. If it is empty, the response has the body of the store. With Status
	// it has none below 400, a line of plain text for 429, 502, 503 and 504, as gateways send it,
	// and for others an errors array as the service sends it: the settings of the service declare
	// one for each status.
	Body string `json:"body,omitzero"`
	// NoBody sends a response without a body.
	NoBody bool `json:"-"`
	// Cut closes the connection instead of sending a response. On a connection that
	// was used before, the HTTP client of the standard library sends a GET again, so
	// such a fault over [Store.URL] may need a higher Times to have an effect.
	Cut bool `json:"cut,omitzero"`
	// CutAfter is the number of bytes of the body that are sent before the Cut, with
	// the status and the headers; at most all bytes but one. 0: nothing is sent. With Status, it
	// counts the bytes of Body.
	CutAfter int `json:"cut_after,omitzero"`
}

// Validate returns an error if the fault cannot be, or changes nothing. The error names a field.
func (f *Fault) Validate() error {
	problem := ""
	switch {
	case f.Operation != OpAny && !slices.Contains(Operations(), f.Operation):
		problem = fmt.Sprintf("Operation must be one of %q, or empty for all", Operations())
	case !isStatus(f.Status) && f.Status != 0:
		problem = "Status must be 101, or 200 to 599"
	case f.After < 0, f.Delay < 0, f.CutAfter < 0:
		problem = "After, Delay and CutAfter must not be negative"
	case f.CutAfter > 0 && !f.Cut:
		problem = "CutAfter must be set only with Cut"
	case f.Apply && f.Late:
		problem = "Apply must not be set with Late"
	case f.NoBody && f.Body != "":
		problem = "NoBody must not be set with Body"
	case f.Status == 0 && !f.Cut && !f.Late && f.Delay == 0 && f.Body == "" && !f.NoBody && len(f.Header) == 0:
		problem = "Status, Cut, Late, Delay, Body and Header are unset: the fault changes nothing"
	default:
		return nil
	}
	return errors.New("commercetest: Fault." + problem)
}

// activeFault is a fault with its counters.
type activeFault struct {
	Fault
	number int // from 1
	seen   int // requests for its operation; Store.arrivalMu is held
	met    atomic.Int64
}

// left returns the number of requests that will meet the fault; -1: all.
func (f *activeFault) left() int {
	if f.Times < 0 {
		return -1
	}
	return max(f.Times, 1) - int(f.met.Load())
}

// FaultCount is a fault of a store, and how often it was met.
type FaultCount struct {
	Fault
	Number int `json:"number"` // from 1, in the order of Inject
	Met    int `json:"met"`    // the number of requests that met it
	Left   int `json:"left"`   // the number of requests that will; -1: all
}

// Faults returns the faults that were injected since the last [Store.ClearFaults]. One of which
// some are left at the end of a test was not what the test was about.
func (s *Store) Faults() []FaultCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []FaultCount
	for _, f := range s.faults {
		fault := f.Fault
		fault.Header = fault.Header.Clone()
		list = append(list, FaultCount{Fault: fault, Number: f.number, Met: int(f.met.Load()), Left: f.left()})
	}
	return list
}

// Inject adds faults. A request meets at most one: the first, in the order they
// were added, that is due. Inject(Fault{Status: 503}, Fault{Status: 429}) makes
// the next request fail with 503 and the one after it with 429. The result is their numbers, as in
// [FaultCount]. Inject panics if a Status cannot be sent.
func (s *Store) Inject(faults ...Fault) (numbers []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		if f.Status != 0 && !isStatus(f.Status) {
			panic(fmt.Sprintf("commercetest: Fault.Status is %d, must be 101 or 200 to 599", f.Status))
		}
		f.Header = canonicalHeader(f.Header)
		s.faultCount++
		s.faults = append(s.faults, &activeFault{Fault: f, number: s.faultCount})
		numbers = append(numbers, s.faultCount)
	}
	return numbers
}

// isStatus reports whether a server can send a status.
func isStatus(n int) bool { return n == http.StatusSwitchingProtocols || n >= 200 && n <= 599 }

// ClearFaults removes all faults. Late writes whose requests met one before still take effect.
func (s *Store) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// canonicalHeader returns a copy of h with canonical keys.
func canonicalHeader(h http.Header) http.Header {
	c := http.Header{}
	for key, values := range h {
		for _, v := range values {
			c.Add(key, v)
		}
	}
	return c
}

// nextFault returns the fault that a request meets, or nil. The caller holds
// s.arrivalMu, but not s.mu, because Match may use the store.
func (s *Store) nextFault(in Request) *activeFault {
	s.mu.Lock()
	faults := slices.Clone(s.faults)
	s.mu.Unlock()
	var next *activeFault
	for _, f := range faults {
		if f.Operation != OpAny && f.Operation != in.Operation || f.Match != nil && !f.Match(in.clone()) {
			continue
		}
		f.seen++
		if next == nil && f.seen > f.After && f.left() != 0 {
			next = f
		}
	}
	if next == nil {
		return nil
	}
	next.met.Add(1)
	return next
}

// respondLate runs finish in a goroutine. It returns the response of the fault, if that does
// not depend on the store, otherwise the results of finish, or an error as soon as ctx ends.
func (s *Store) respondLate(
	ctx context.Context, in *call, fault *Fault, finish func(context.Context) (response, error),
) (response, error) {
	if !fault.needsStore() {
		resp, err := fault.change(in.Operation, response{})
		resp = s.recordResponse(in, resp, err)
		s.setState(in, StateLate)
		s.startLate(ctx, in, finish)
		return resp, err
	}
	result := s.startLate(ctx, in, finish)
	select {
	case r := <-result:
		return r.resp, r.err
	case <-ctx.Done():
		s.setState(in, StateLate)
		return response{}, ctx.Err()
	}
}

// lateResult is what the goroutine of a late write returns.
type lateResult struct {
	resp response
	err  error
}

// startLate runs finish in a goroutine, with a context that does not end with ctx.
func (s *Store) startLate(
	ctx context.Context, in *call, finish func(context.Context) (response, error),
) <-chan lateResult {
	lateCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	in.http = in.http.WithContext(lateCtx)
	ended := make(chan struct{})
	s.mu.Lock()
	s.lateWrites[ended] = cancel
	s.mu.Unlock()
	result := make(chan lateResult, 1)
	go func() {
		defer func() {
			cancel()
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.lateWrites, ended)
			close(ended)
		}()
		resp, err := finish(lateCtx)
		result <- lateResult{resp: resp, err: err}
	}()
	return result
}

// cancelLateWrites ends the delays of all late writes, and waits for their goroutines.
func (s *Store) cancelLateWrites() {
	s.mu.Lock()
	late := maps.Clone(s.lateWrites)
	s.mu.Unlock()
	for ended, cancel := range late {
		cancel()
		<-ended
	}
}

// respond returns the response to a request that meets f. If f is nil, it is the
// response of the store, which handle returns.
func (f *Fault) respond(ctx context.Context, op Operation, handle func() response) (response, error) {
	if f == nil {
		return handle(), nil
	}
	var resp response
	if f.Apply {
		resp = handle()
	}
	if err := wait(ctx, f.Delay); err != nil {
		return response{}, err
	}
	if !f.Apply && (f.Late || f.needsStore()) {
		resp = handle()
	}
	return f.change(op, resp)
}

// needsStore reports whether the response depends on the response of the store.
func (f *Fault) needsStore() bool { return f.Status == 0 && (!f.Cut || f.CutAfter > 0) }

// change returns what is sent instead of resp, the response of the store to a request of op.
func (f *Fault) change(op Operation, resp response) (response, error) {
	switch {
	case f.Cut && f.CutAfter <= 0:
		return response{}, errCut
	case f.Status != 0:
		resp = response{status: f.Status}
		if !f.Cut {
			resp = failure(op, f.Status)
		}
	}
	if f.Body != "" || f.NoBody {
		resp.body = []byte(f.Body)
	}
	if resp.header == nil {
		resp.header = http.Header{}
	}
	for key, values := range f.Header {
		resp.header[key] = slices.Clone(values)
	}
	if f.Cut {
		resp.cutAfter = min(f.CutAfter, len(resp.body)-1)
		if resp.cutAfter <= 0 || !bodyAllowed(resp.status) {
			return response{}, errCut
		}
	}
	return resp, nil
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
