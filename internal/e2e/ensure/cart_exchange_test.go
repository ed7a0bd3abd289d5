package ensure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing/iotest"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// exchange is a request and what became of it.
type exchange struct {
	Call         int // 0: not a request, but a change by another program
	Method, Path string
	Body         []byte
	Fault        fault
	At, Ended    time.Time
	AppliedAt    time.Time                 // zero: it did not take effect
	Status       int                       // of the response, 0: none
	Delivered    bool                      // the caller got the whole response
	Shown        []commerce.CustomDiscount // by the response to a read or an add
	Changed      []commerce.CustomDiscount // that the write added, changed or deleted, if it took effect
	Posted       []string                  // keys of the discounts of an add

	batch  []commerce.NewCustomDiscount // of an add
	state  int                          // of the cart: the number of the one that the request read or made
	hidden []string                     // members that are left out of the response to a read
	prices *prices                      // that a read showed; nil: those of the state
}

func (e *exchange) isRead() bool {
	return e.Method == http.MethodGet && !strings.HasSuffix(e.Path, "/items")
}

// isEnable reports whether the request enables custom discounts.
func (e *exchange) isEnable() bool {
	return e.Method == http.MethodPut && !strings.Contains(e.Path, "custom-discounts")
}

// hasRead reports whether the cart was read, and the whole response reached the caller.
func (e *exchange) hasRead() bool { return e.isRead() && e.Delivered && e.Status == http.StatusOK }

// shows returns the cart that a read shows, in part.
func (e *exchange) shows(s *cartServer) cartState {
	state := s.states[e.state]
	if e.prices != nil {
		state.prices = *e.prices
	}
	if slices.Contains(e.hidden, "engines") {
		state.discounts = slices.Clone(state.discounts)
		for i := range state.discounts {
			state.discounts[i].DiscountEngine = ""
		}
	}
	return state
}

func (e *exchange) isWrite() bool { return e.Call > 0 && e.Method != http.MethodGet }

// target returns the id of the discount that the path names; zero if it names none.
func (e *exchange) target() uuid.UUID {
	id, _ := uuid.Parse(e.Path[strings.LastIndex(e.Path, "/")+1:])
	return id
}

// String returns the exchange as a line.
func (e *exchange) String() string {
	if e.Call == 0 {
		return e.Method
	}
	return fmt.Sprintf("call %d: %s %s %s → %d after %v, delivered: %t, applied: %t, fault %+v",
		e.Call, e.Method, e.Path, e.Body, e.Status, e.Ended.Sub(e.At), e.Delivered, !e.AppliedAt.IsZero(), e.Fault)
}

// fault is what happens to a request. The request takes effect at once with Apply, after Late
// if that is set, and otherwise not at all.
type fault struct {
	Apply    bool
	Late     time.Duration
	Delay    time.Duration // before the response
	Status   int           // instead of the status and body of the server
	Lost     bool          // there is no response
	Cut      bool          // the body ends early
	WithCart bool          // the body has a reason in errors, and all discounts of the cart in data
}

var (
	noFault = fault{Apply: true}
	errLost = errors.New("the connection was lost")
)

// cutAfter is the number of bytes of a body that is cut.
const cutAfter = 20

// serverClient is the transport of one caller.
type serverClient struct {
	server  *cartServer
	call    int             // number of the current call
	faults  []fault         // of the next requests; those after them have none
	latency time.Duration   // of each request
	after   func(*exchange) // called after each request; may be nil
	before  func()          // called before each request; may be nil
	// edit changes the response to a request that was applied at once; may be nil.
	edit func(*exchange, reply) reply
}

// RoundTrip implements [http.RoundTripper].
func (c *serverClient) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.before != nil {
		c.before()
	}
	e := &exchange{Call: c.call, Method: req.Method, Path: req.URL.Path, Fault: noFault, At: time.Now()}
	if req.Body != nil {
		var err error
		if e.Body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close()
	}
	if e.Method == http.MethodPost {
		var body struct{ Data []commerce.NewCustomDiscount }
		if err := json.Unmarshal(e.Body, &body); err != nil {
			return nil, err
		}
		e.batch = body.Data
		for _, d := range e.batch {
			e.Posted = append(e.Posted, keyOf(onCart(d)))
		}
	}
	if len(c.faults) > 0 {
		e.Fault, c.faults = c.faults[0], c.faults[1:]
	}
	if e.Fault.WithCart && !e.isWrite() {
		e.Fault = noFault
	}
	c.server.add(e)
	defer func() { e.Ended = time.Now() }()
	if c.after != nil {
		defer c.after(e)
	}
	if err := sleep(req.Context(), c.latency); err != nil {
		return nil, err
	}
	var r reply
	switch {
	case e.Fault.Late > 0:
		time.AfterFunc(e.Fault.Late, func() { c.server.apply(e) })
	case e.Fault.Apply:
		r = c.server.apply(e)
		if c.edit != nil {
			r = c.edit(e, r)
		}
	}
	if err := sleep(req.Context(), e.Fault.Delay); err != nil {
		return nil, err
	}
	if e.Fault.Status != 0 {
		r = c.server.replace(e)
	}
	return e.respond(req, r)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *cartServer) add(e *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, e)
}

// respond returns what the caller gets of a reply.
func (e *exchange) respond(req *http.Request, r reply) (*http.Response, error) {
	body := []byte(r.body)
	isCut := e.Fault.Cut && len(body) > 1
	if e.Fault.Lost || e.Fault.Cut && !isCut {
		return nil, errLost
	}
	e.Status, e.Delivered = r.status, !isCut
	resp := &http.Response{StatusCode: r.status, Header: http.Header{}, Request: req, ContentLength: int64(len(body))}
	resp.Header.Set("Content-Type", "application/json")
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if isCut {
		body = body[:min(cutAfter, len(body)-1)]
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), iotest.ErrReader(io.ErrUnexpectedEOF)))
	}
	return resp, nil
}

// replace returns the reply of a fault that has a status.
func (s *cartServer) replace(e *exchange) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := reply{status: e.Fault.Status}
	switch {
	case e.Fault.WithCart:
		e.Shown = s.current()
		r.body = `{"errors":[{"status":422,"title":"Limit Reached"}]}`
		return r.edit(func(body map[string]any) { body["data"] = asData(e.Shown) })
	case e.Fault.Status == http.StatusTooManyRequests:
		r.body = "slow down"
	}
	return r
}
