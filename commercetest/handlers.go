package commercetest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
)

// Handle adds a handler for other endpoints, with a pattern of [http.ServeMux]. It is
// called over [Store.Transport] too. The endpoints of the store come first. Tokens,
// faults, the rate limit and [Store.Requests] are the same as for these. The response
// is sent when the handler has returned. Handle panics if the pattern is not valid, or
// conflicts with one that was added before.
func (s *Store) Handle(pattern string, h http.Handler) { s.handlers.Load().Handle(pattern, h) }

// ClearHandlers removes all handlers of [Store.Handle].
func (s *Store) ClearHandlers() { s.handlers.Store(http.NewServeMux()) }

// callHandlers passes a request to the handlers of [Store.Handle] that there were at its arrival.
func (s *Store) callHandlers(in *call) response {
	r := in.http.Clone(in.http.Context())
	r.RequestURI = r.URL.RequestURI()
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(in.Body)), int64(len(in.Body))
	w := httptest.NewRecorder()
	in.handlers.ServeHTTP(w, r)
	result := w.Result()
	defer func() { _ = result.Body.Close() }()
	return response{status: result.StatusCode, header: result.Header, body: w.Body.Bytes()}
}
