package commercetest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// maxRequestBody is the maximum number of bytes that the store reads of a request body.
const maxRequestBody = 1 << 20

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

	bodyTooLarge bool
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

func (r Request) clone() Request {
	r.Header, r.Body = r.Header.Clone(), bytes.Clone(r.Body)
	return r
}

// newRequest reads a request that a server received or a client sends.
func newRequest(r *http.Request) (*Request, error) {
	in := &Request{
		Method:   r.Method,
		Host:     r.Host,
		Path:     r.URL.EscapedPath(),
		RawQuery: r.URL.RawQuery,
		Header:   r.Header.Clone(),
	}
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

// record adds a request to the list. It reports whether the rate limit allows the
// request. If so, it returns the fault that the request meets, or nil.
func (s *Store) record(in *Request, op Operation) (fault *Fault, allowed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.ID = fmt.Sprintf("commercetest-%06d", len(s.requests)+1)
	in.Time = time.Now()
	s.requests = append(s.requests, *in)
	if s.cfg.RateLimit > 0 && op != OpToken && !s.limiter.take(in.Time) {
		return nil, false
	}
	return s.nextFault(op), true
}
