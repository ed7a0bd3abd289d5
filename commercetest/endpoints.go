package commercetest

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// endpoint is a method and a path that the store handles.
type endpoint struct {
	method, path string // a * in the path stands for one path element
	op           Operation
	handle       func(s *Store, in *Request, id string) response // id is the path element at the *
}

var endpoints = []*endpoint{
	{method: "POST", path: "/oauth/access_token", op: OpToken, handle: (*Store).issueToken},
	{method: "POST", path: "/v2/carts/*/custom-discounts", op: OpAdd, handle: (*Store).addDiscounts},
	{method: "GET", path: "/v2/carts/*", op: OpCart, handle: (*Store).getCart},
	{method: "GET", path: "/v2/subscriptions/subscriptions", op: OpList, handle: (*Store).listSubscriptions},
	{method: "GET", path: "/v2/settings", op: OpSettings, handle: (*Store).getSettings},
}

// respond handles a request from its arrival to its response. The error is errCut,
// or that of ctx.
func (s *Store) respond(ctx context.Context, in *Request) (response, error) {
	e, id := findEndpoint(in)
	handle := func() response { return s.handle(e, in, id) }
	fault, allowed := s.record(in, e.op)
	if !allowed {
		handle = func() response { return tooManyRequests(s.cfg.RetryAfter) }
	}
	resp, err := fault.respond(ctx, handle)
	if s.cfg.AfterRequest != nil {
		s.cfg.AfterRequest(s, in.clone())
	}
	if err != nil {
		return response{}, err
	}
	return resp.withDefaultHeader(in.ID), nil
}

// handle returns the response of an endpoint, if the body is not too large and the
// token is valid.
func (s *Store) handle(e *endpoint, in *Request, id string) response {
	needsToken := in.Path == "/v2" || strings.HasPrefix(in.Path, "/v2/")
	switch {
	case in.bodyTooLarge:
		return errorResponse(http.StatusRequestEntityTooLarge, "Request Entity Too Large", "")
	case needsToken && !s.authorized(in.Header.Get("Authorization")):
		return errorResponse(http.StatusUnauthorized, "Unable to validate access token", "")
	}
	return e.handle(s, in, id)
}

// findEndpoint returns the endpoint of a request. If there is none, it returns one
// that responds with 404 or 405.
func findEndpoint(in *Request) (e *endpoint, id string) {
	refuse := func(resp response) *endpoint {
		return &endpoint{handle: func(*Store, *Request, string) response { return resp }}
	}
	for _, e := range endpoints {
		id, ok := matchPath(e.path, in.Path)
		switch {
		case !ok || in.Host == linkHost:
			continue
		case e.method == in.Method:
			return e, id
		}
		resp := errorResponse(http.StatusMethodNotAllowed, "Method Not Allowed", "")
		resp.header = http.Header{"Allow": {e.method}}
		return refuse(resp), ""
	}
	return refuse(errorResponse(http.StatusNotFound, "Not Found", "There is no such endpoint")), ""
}

// matchPath reports whether path matches pattern. If so, it returns the path
// element at the *, decoded.
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
			id, _ = url.PathUnescape(got[i]) // cannot fail: net/url encoded it
		}
	}
	return id, true
}
