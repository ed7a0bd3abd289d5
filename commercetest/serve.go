package commercetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxBody is the largest request body that is read, in bytes.
const maxBody = 1 << 20

// Request is a request as it arrived at a [Store].
type Request struct {
	// ID is the X-Request-Id of the answer: "commercetest-000001" for the first
	// request of a store.
	ID     string
	Time   time.Time // when it arrived, by time.Now
	Method string
	Host   string
	// Path is percent-encoded, as it was sent.
	Path string
	// RawQuery is percent-encoded, as it was sent, without the question mark.
	RawQuery string
	// Header is complete, with the Authorization header. Over Transport it lacks
	// what the connection would add, such as Accept-Encoding.
	Header http.Header
	// Body is complete, up to 1 MiB.
	Body []byte

	tooLarge bool // the body goes on
}

// Requests returns the requests that arrived, in order of arrival; also those
// refused, by the rate limit too, or met by a [Fault]. The result is the caller's
// own copy.
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

// answer is what goes back for a request.
type answer struct {
	status int
	header http.Header // may be nil
	body   []byte
	// sent is the number of bytes of the body that go out before the connection is
	// cut; 0 means that it is not cut.
	sent int
}

// errCut ends an exchange without an answer.
var errCut = fmt.Errorf("commercetest: connection cut: %w", io.ErrUnexpectedEOF)

// exchange answers a request. Its error is errCut, or that of ctx.
func (s *Store) exchange(ctx context.Context, in *Request) (answer, error) {
	e, id := findEndpoint(in)
	handle := func() answer { return s.handle(e, in, id) }
	fault, allowed := s.arrive(in, e)
	if !allowed {
		handle = func() answer { return tooManyRequests(s.cfg.RetryAfter) }
	}
	a, err := fault.play(ctx, handle)
	if s.cfg.AfterRequest != nil {
		s.cfg.AfterRequest(s, in.clone())
	}
	if err != nil {
		return answer{}, err
	}
	header := http.Header{"X-Request-Id": {in.ID}}
	if len(a.body) > 0 {
		header.Set("Content-Type", contentType(a.body))
	}
	if bodyAllowed(a.status) {
		header.Set("Content-Length", strconv.Itoa(len(a.body)))
	} else {
		a.body = nil
	}
	maps.Copy(header, a.header)
	a.header = header
	return a, nil
}

// arrive records a request. It reports whether the rate limit allows it, and if
// so, returns the fault that it meets, or nil.
func (s *Store) arrive(in *Request, e *endpoint) (fault *Fault, allowed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.ID = fmt.Sprintf("commercetest-%06d", len(s.requests)+1)
	in.Time = time.Now()
	s.requests = append(s.requests, *in)
	if s.cfg.RateLimit > 0 && e.op != OpToken && !s.limit.take(in.Time) {
		return nil, false
	}
	return s.nextFault(e.op), true
}

// endpoint is an operation of the store.
type endpoint struct {
	method, path string // a * in the path stands for one element
	op           Operation
	handle       func(s *Store, in *Request, id string) answer // id: the element at the *
}

var endpoints = []*endpoint{
	{"POST", "/oauth/access_token", OpToken, (*Store).issueToken},
	{"POST", "/v2/carts/*/custom-discounts", OpAdd, (*Store).addDiscounts},
	{"GET", "/v2/subscriptions/subscriptions", OpList, (*Store).listSubscriptions},
	{"GET", "/v2/carts/*", OpCart, (*Store).getCart},
	{"GET", "/v2/settings", OpSettings, (*Store).getSettings},
}

// findEndpoint returns the endpoint for in, or one that refuses it.
func findEndpoint(in *Request) (e *endpoint, id string) {
	refuse := func(a answer) *endpoint {
		return &endpoint{handle: func(*Store, *Request, string) answer { return a }}
	}
	for _, e := range endpoints {
		id, ok := matchPath(e.path, in.Path)
		switch {
		case !ok || in.Host == linkHost:
			continue
		case e.method == in.Method:
			return e, id
		}
		a := failure(http.StatusMethodNotAllowed, "Method Not Allowed", "")
		a.header = http.Header{"Allow": {e.method}}
		return refuse(a), ""
	}
	return refuse(failure(http.StatusNotFound, "Not Found", "There is no such endpoint")), ""
}

// matchPath reports whether path fits pattern, and returns the element at its *.
func matchPath(pattern, path string) (id string, ok bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return "", false
	}
	for i := range want {
		switch {
		case want[i] == got[i]:
		case want[i] != "*" || got[i] == "":
			return "", false
		default:
			id, _ = url.PathUnescape(got[i]) // was escaped by net/url: can't fail
		}
	}
	return id, true
}

// handle answers a request as the service would.
func (s *Store) handle(e *endpoint, in *Request, id string) answer {
	switch {
	case in.tooLarge:
		return failure(http.StatusRequestEntityTooLarge, "Request Entity Too Large", "")
	case (in.Path == "/v2" || strings.HasPrefix(in.Path, "/v2/")) && !s.authorized(in.Header.Get("Authorization")):
		return failure(http.StatusUnauthorized, "Unable to validate access token", "")
	}
	return e.handle(s, in, id)
}

// newRequest reads a request, of a server or of a client, for an exchange.
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
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if in.tooLarge = len(body) > maxBody; in.tooLarge {
		body = body[:maxBody]
	}
	in.Body = body
	return in, err
}

// ServeHTTP answers a request. Where a [Fault] cuts the connection it panics with
// [http.ErrAbortHandler], which an [http.Server] understands.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in, err := newRequest(r)
	if err != nil {
		panic(http.ErrAbortHandler) // the client is gone: half a request is none
	}
	a, err := s.exchange(r.Context(), in)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	if a.sent == 0 {
		_, _ = w.Write(a.body)
		return
	}
	_, _ = w.Write(a.body[:a.sent])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// Transport returns a transport that hands requests to the store in memory,
// whatever their host, in the caller's goroutine. It works inside a
// [testing/synctest] bubble. A cut connection is an error that matches
// [io.ErrUnexpectedEOF].
func (s *Store) Transport() http.RoundTripper { return transport{s} }

type transport struct{ store *Store }

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.URL == nil {
		return nil, errors.New("commercetest: the request has no URL")
	}
	in, err := newRequest(r)
	if err != nil {
		return nil, err
	}
	if in.Method == "" {
		in.Method = http.MethodGet
	}
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	a, err := t.store.exchange(r.Context(), in)
	if err != nil {
		return nil, err
	}
	body := &responseBody{ctx: r.Context(), rest: a.body, end: io.EOF}
	if a.sent > 0 {
		body.rest, body.end = a.body[:a.sent], errCut
	}
	return &http.Response{
		Status:        strconv.Itoa(a.status) + " " + http.StatusText(a.status),
		StatusCode:    a.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        a.header,
		Body:          body,
		ContentLength: int64(len(a.body)),
		Request:       r,
	}, nil
}

// responseBody is a body in memory that behaves like one from a connection: it
// ends with the request's context, and after Close.
type responseBody struct {
	ctx    context.Context
	rest   []byte
	end    error // after rest
	closed bool
}

func (b *responseBody) Read(p []byte) (int, error) {
	switch {
	case b.closed:
		return 0, http.ErrBodyReadAfterClose
	case b.ctx.Err() != nil:
		return 0, b.ctx.Err()
	case len(b.rest) == 0:
		return 0, b.end
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *responseBody) Close() error {
	b.closed = true
	return nil
}
