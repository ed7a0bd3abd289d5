package commercetest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
)

// The limits on a request, in bytes.
const (
	maxRequestLine = 8 << 10 // percent-encoded, as it was sent
	maxRequestBody = 1 << 20 // what the store reads of a body
)

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
	// Status of the response. 0: none was sent yet, or the connection was cut before it.
	Status int
}

// call is a request on its way through the store.
type call struct {
	*Request

	http         *http.Request // its body was read
	index        int           // in Store.requests
	bodyTooLarge bool
	account      uuid.UUID         // of a shopper, if the request may see only its subscriptions
	ids          map[string]string // path elements, by their name in the path of the endpoint
	// cartOnArrival is set only with Config.LoseOverlappingWrites.
	cartOnArrival *cart
}

// Requests returns the requests that the store received, in order of arrival,
// including those that it refused and those that met a [Fault]. The result is a
// copy.
func (s *Store) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.requests)
	for i := range list {
		list[i] = list[i].clone()
	}
	return list
}

// lineTooLong reports whether the first line of the request is longer than the limit.
func (in *call) lineTooLong() bool {
	return len(in.Method)+len(in.http.URL.RequestURI())+len("  HTTP/1.1\r\n") > maxRequestLine
}

func (r Request) clone() Request {
	r.Header, r.Body = r.Header.Clone(), bytes.Clone(r.Body)
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
	return s.nextFault(*in.Request), true
}

// record adds a request to the list. It reports whether the rate limit allows the
// request.
func (s *Store) record(in *call) (allowed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.index = len(s.requests)
	in.ID = fmt.Sprintf("commercetest-%06d", in.index+1)
	in.Time = time.Now()
	s.requests = append(s.requests, *in.Request)
	s.pending++
	if id, ok := in.ids["cart"]; ok && s.cfg.LoseOverlappingWrites {
		in.cartOnArrival = s.cart(id)
	}
	return s.cfg.RateLimit == 0 || in.Operation == OpToken || s.limiter.take(in.Time)
}

// recordResponse records the status of the response to a request. It returns the response
// with the headers that all have.
func (s *Store) recordResponse(in *call, resp response) response {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.Status, s.requests[in.index].Status = resp.status, resp.status
	return resp.withDefaultHeader(in.ID)
}

// recordEnd ends a request that record began.
func (s *Store) recordEnd() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending--
}

// Pending returns the number of requests that have arrived and are still in
// progress. A late write counts until it was applied or canceled; see [Fault].
func (s *Store) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending
}
