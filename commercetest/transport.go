package commercetest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
)

// Transport returns a transport that passes requests to the store in memory, in
// the goroutine of the caller and whatever their host. It works inside a
// [testing/synctest] bubble, but not for one cart in two bubbles at a time: that is a
// fatal error of the runtime. If a [Fault] cuts the connection, the error matches
// [io.ErrUnexpectedEOF].
//
// Each call returns another transport. Clients take turns with their writes to a cart if they
// have the same one, as in one process: see [commerce.CartService].
func (s *Store) Transport() http.RoundTripper { return &transport{store: s} }

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
	received := r.Clone(r.Context())
	received.Method, received.Host = cmp.Or(r.Method, http.MethodGet), cmp.Or(r.Host, r.URL.Host)
	in, err := newRequest(received)
	if err != nil {
		return nil, err
	}
	resp, err := t.store.respond(r.Context(), in)
	if err != nil {
		return nil, err
	}
	return resp.received(r), nil
}

// received returns what a client gets for a request.
func (r response) received(request *http.Request) *http.Response {
	length := int64(len(r.body))
	if request.Method == http.MethodHead {
		length, _ = strconv.ParseInt(r.header.Get("Content-Length"), 10, 64) // as for a GET
		r.body, r.cutAfter = nil, 0
	}
	body := &responseBody{ctx: request.Context(), rest: r.body, endErr: io.EOF}
	if r.cutAfter > 0 {
		body.rest, body.endErr = r.body[:r.cutAfter], errCut
	}
	return &http.Response{
		Status:        strconv.Itoa(r.status) + " " + http.StatusText(r.status),
		StatusCode:    r.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        r.header,
		Body:          body,
		ContentLength: length,
		Request:       request,
	}
}

// responseBody behaves like the body of a response from a network connection:
// Read fails after the context of the request has ended, and after Close.
type responseBody struct {
	ctx    context.Context
	rest   []byte
	endErr error // returned after rest
	closed bool
}

func (b *responseBody) Read(p []byte) (int, error) {
	switch {
	case b.closed:
		return 0, http.ErrBodyReadAfterClose
	case b.ctx.Err() != nil:
		return 0, b.ctx.Err()
	case len(b.rest) == 0:
		return 0, b.endErr
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *responseBody) Close() error {
	b.closed = true
	return nil
}
