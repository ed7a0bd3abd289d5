package commercetest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
)

// The limits on a request, in bytes.
const (
	maxRequestLine = 8 << 10 // percent-encoded, as it was sent
	maxRequestBody = 1 << 20 // what the store reads of a body
)

// maxJournal is what the requests that a store keeps may take with [Config.MaxRequests], in bytes.
const maxJournal = 32 << 20

// Request is a request that a [Store] received.
type Request struct {
	// ID is the X-Request-Id of the response: "commercetest-000001" for the first
	// request of a store.
	ID     string
	Time   time.Time // of arrival
	Method string
	Host   string
	// Path is percent-encoded, as it was sent.
	Path string
	// RawQuery is percent-encoded, as it was sent, without the question mark.
	RawQuery string
	// Header includes the Authorization header. Over [Store.Transport] it lacks the
	// headers that a network transport adds, such as Accept-Encoding.
	Header http.Header
	// Body has at most 1 MiB. Longer bodies are truncated.
	Body []byte
	// Operation of the store. It is OpAny for other endpoints.
	Operation Operation
	State     RequestState
	// Status of the response. 0: none was sent yet, or the connection was cut before it.
	Status int
	// Response is the body that was sent. The list of [Store.Requests] has it if
	// [Config.MaxRequests] is set.
	Response []byte
	// Duration is the time from the arrival to the response. 0: there was none yet.
	Duration time.Duration
	// Fault is the number of the [Fault] that the request met, as in [FaultCount]. 0: none.
	Fault int
	// Before and After are the cart before and after the request changed it. nil: it changed none.
	Before, After *CartState
}

// RequestState is how far a request is.
type RequestState string

// The states of a request.
const (
	StateInProgress RequestState = "in_progress" // there is no response yet
	StateLate       RequestState = "late"        // there was a response, or the connection was cut; it takes effect later
	StateEnded      RequestState = "ended"
)

// RequestStates returns the states of a request.
func RequestStates() []RequestState { return []RequestState{StateInProgress, StateLate, StateEnded} }

// CartState is what a cart held at some time, and what it cost.
type CartState struct {
	Items     []CartItemState           `json:"items"`
	Discounts []commerce.CustomDiscount `json:"discounts"` // of the cart and its items
	Total     commerce.Money            `json:"total"`     // with tax
}

// CartItemState is an item of a cart at some time.
type CartItemState struct {
	commerce.CartItemRef

	Name     string         `json:"name"`
	Quantity int64          `json:"quantity"`
	Price    commerce.Money `json:"price"` // of one piece
}

// journalEntry is a request in the list of a store, and how much memory it takes.
type journalEntry struct {
	Request

	size    int
	dropped bool
}

// call is a request on its way through the store.
type call struct {
	*Request // that of the entry when it has arrived

	stateMu      sync.Mutex    // is held while the state changes
	http         *http.Request // its body was read
	entry        *journalEntry
	bodyTooLarge bool
	account      uuid.UUID         // of a shopper, if the request may see only its subscriptions
	ids          map[string]string // path elements, by their name in the path of the endpoint
	handlers     http.Handler      // those of Handle, if one is meant
	// cartOnArrival is set only with Config.LoseOverlappingWrites.
	cartOnArrival *cart
}

// Requests returns the requests that the store received, in order of arrival,
// including those that it refused and those that met a [Fault]. With
// [Config.MaxRequests], it returns the last ones. The result is a copy.
func (s *Store) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Request, len(s.requests))
	for i, entry := range s.requests {
		list[i] = entry.clone()
	}
	return list
}

// ClearRequests forgets the requests. The ids of the next ones go on.
func (s *Store) ClearRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, entry := range s.requests {
		entry.dropped = true
	}
	s.requests, s.journalSize, s.droppedRequests = nil, 0, 0
}

// Dropped returns the number of requests that [Config.MaxRequests] dropped from the list.
func (s *Store) Dropped() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.droppedRequests
}

// grow notes that an entry takes more memory, and drops the oldest ones if that is too much. s.mu
// is held.
func (s *Store) grow(entry *journalEntry, size int) {
	if s.cfg.MaxRequests == 0 || entry.dropped {
		return
	}
	entry.size += size
	s.journalSize += size
	for len(s.requests) > s.cfg.MaxRequests || s.journalSize > maxJournal {
		oldest := s.requests[0]
		oldest.dropped = true
		s.requests[0] = nil // for the garbage collector
		s.requests = s.requests[1:]
		s.journalSize -= oldest.size
		s.droppedRequests++
	}
}

// entrySize is about what an entry takes without its texts, in bytes.
const entrySize = 1 << 10

func headerSize(h http.Header) (size int) {
	for name, values := range h {
		size += len(name) + len(strings.Join(values, ""))
	}
	return size
}

// lineTooLong reports whether the first line of the request is longer than the limit.
func (in *call) lineTooLong() bool {
	return len(in.Method)+len(in.http.URL.RequestURI())+len("  HTTP/1.1\r\n") > maxRequestLine
}

func (r Request) clone() Request {
	r.Header, r.Body, r.Response = r.Header.Clone(), bytes.Clone(r.Body), bytes.Clone(r.Response)
	r.Before, r.After = r.Before.clone(), r.After.clone()
	return r
}

// newRequest reads a request that a server received or a client sends.
func newRequest(r *http.Request) (*call, error) {
	in := &call{http: r, Request: &Request{
		Method:   r.Method,
		Host:     r.Host,
		Path:     r.URL.EscapedPath(),
		RawQuery: r.URL.RawQuery,
		Header:   r.Header.Clone(),
	}}
	if in.Header == nil {
		in.Header = http.Header{}
	}
	if r.Body == nil {
		return in, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequestBody+1))
	if in.bodyTooLarge = len(body) > maxRequestBody; in.bodyTooLarge {
		body = body[:maxRequestBody]
	}
	in.Body = body
	return in, err
}

// receive records a request. It reports whether the rate limit allows the request.
// If so, it returns the fault that the request meets, or nil.
func (s *Store) receive(in *call) (fault *Fault, allowed bool) {
	s.arrivalMu.Lock()
	defer s.arrivalMu.Unlock()
	if !s.record(in) {
		return nil, false
	}
	next := s.nextFault(*in.Request)
	if next == nil {
		return nil, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in.Fault = next.number
	return &next.Fault, true
}

// record adds a request to the list. It reports whether the rate limit allows the
// request.
func (s *Store) record(in *call) (allowed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received++
	in.ID = fmt.Sprintf("commercetest-%06d", s.received)
	in.Time, in.State = time.Now(), StateInProgress
	in.entry = &journalEntry{Request: *in.Request}
	in.Request = &in.entry.Request
	s.requests = append(s.requests, in.entry)
	s.grow(in.entry, entrySize+len(in.Path)+len(in.RawQuery)+len(in.Body)+headerSize(in.Header))
	s.pending++
	if id, ok := in.ids["cart"]; ok && s.cfg.LoseOverlappingWrites {
		in.cartOnArrival = s.cart(id)
	}
	return s.cfg.RateLimit == 0 || in.Operation == OpToken || s.limiter.take(in.Time)
}

// recordResponse records the status of the response to a request, or that there is none because of
// err. It returns the response with the headers that all have.
func (s *Store) recordResponse(in *call, resp response, err error) response {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.Duration == 0 { // there was no earlier response, before a late write
		in.Duration = max(time.Since(in.Time), 1) // in a bubble of synctest it may take no time
	}
	if err != nil {
		return resp
	}
	in.Status = resp.status
	if sent := resp.sent(); s.cfg.MaxRequests > 0 && in.Response == nil {
		in.Response = sent
		s.grow(in.entry, len(sent))
	}
	return resp.withDefaultHeader(in.ID)
}

// setState notes how far a request is, and calls [Config.OnState]: for one request, never two calls
// at the same time.
func (s *Store) setState(in *call, state RequestState) {
	in.stateMu.Lock()
	defer in.stateMu.Unlock()
	s.mu.Lock()
	if in.State == StateEnded { // a late write whose caller has gone at the same time
		s.mu.Unlock()
		return
	}
	in.State = state
	if in.Duration == 0 && state == StateLate {
		in.Duration = max(time.Since(in.Time), 1)
	}
	if state == StateEnded {
		s.pending--
	}
	now := in.clone()
	s.mu.Unlock()
	if s.cfg.OnState != nil {
		s.cfg.OnState(s, now)
	}
}

// Pending returns the number of requests that have arrived and are still in
// progress. A late write counts until it was applied or canceled; see [Fault].
func (s *Store) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending
}
