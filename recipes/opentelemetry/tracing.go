// Package opentelemetry traces the calls of package commerce with OpenTelemetry. Each
// attempt has a client span. It is a recipe, to be copied.
//
//	client, err := commerce.New(baseURL, credentials,
//		commerce.WithHTTPClient(&http.Client{Transport: opentelemetry.NewTransport(base, provider)}))
//
// A span holds the method, the operation, the host, the status and the request id. It
// holds no query, request header, body, id in the path or error text: a filter names
// customers, and an error text may hold the address. Package otelhttp is not used
// because it records url.full, with the query.
package opentelemetry

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// scope names this instrumentation to the provider.
const scope = "github.com/commerce-go/commerce/recipes/opentelemetry"

// NewTransport returns a transport that sends requests by base. Each request has a span
// of provider, a child of the span in the caller's context. It sends no tracing headers:
// the service could not use them.
func NewTransport(base http.RoundTripper, provider trace.TracerProvider) http.RoundTripper {
	return &transport{base, provider.Tracer(scope)}
}

type transport struct {
	base   http.RoundTripper
	tracer trace.Tracer
}

// RoundTrip implements [http.RoundTripper]. It passes the request on unchanged, with its
// context: the library needs the net/http/httptrace hooks in it, to know what was sent.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	template := template(req.URL.Path)
	_, span := t.tracer.Start(req.Context(), req.Method+" "+template,
		trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.String("http.request.method", req.Method),
			attribute.String("url.template", template),
			attribute.String("server.address", req.URL.Hostname()),
		))
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		fail(span, err)
		span.End()
		return resp, err
	}
	span.SetAttributes(attribute.Int("http.response.status_code", resp.StatusCode))
	if id := resp.Header.Get("X-Request-Id"); id != "" {
		span.SetAttributes(attribute.String("http.response.header.x-request-id", id))
	}
	if resp.StatusCode >= 400 {
		span.SetAttributes(attribute.String("error.type", strconv.Itoa(resp.StatusCode)))
		span.SetStatus(codes.Error, "")
	}
	if resp.Body == nil {
		span.End()
		return resp, nil
	}
	resp.Body = &body{resp.Body, span}
	return resp, nil
}

// fail marks the span with the type of err, not with its text.
func fail(span trace.Span, err error) {
	span.SetAttributes(attribute.String("error.type", fmt.Sprintf("%T", err)))
	span.SetStatus(codes.Error, "")
}

// body ends the span with the body, which the library always closes.
type body struct {
	io.ReadCloser
	span trace.Span
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		fail(b.span, err)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.span.End() // the first call counts
	return err
}

// template returns the path of a known endpoint with a placeholder for each id. Other
// paths may hold ids, so it returns "other" for them. Add the endpoints that you call by
// Client.Do.
func template(path string) string {
	for _, t := range []string{
		"/oauth/access_token",
		"/v2/subscriptions/subscriptions",
		"/v2/carts/{cartID}/custom-discounts",
		"/v2/carts/{cartID}",
		"/v2/settings",
	} {
		if fits(t, path) {
			return t
		}
	}
	return "other"
}

// fits reports whether path ends in the elements of template. The path of the client's
// base address may come before them.
func fits(template, path string) bool {
	want, got := strings.Split(template, "/")[1:], strings.Split(path, "/")
	if len(got) <= len(want) {
		return false
	}
	got = got[len(got)-len(want):]
	for i := range want {
		if want[i] != got[i] && !strings.HasPrefix(want[i], "{") {
			return false
		}
	}
	return true
}
