// Package opentelemetry traces the calls of package commerce with OpenTelemetry:
// a client span for each attempt. It is a recipe, to be copied.
//
//	client, err := commerce.New(baseURL, credentials,
//		commerce.WithHTTPClient(&http.Client{Transport: opentelemetry.NewTransport(base, provider)}))
//
// A span tells the method, the operation, the host, the status and the request id.
// It holds nothing of a query, a header of the request, a body, an id in the path, or
// the text of an error: a filter names customers, and the text of an error may hold
// the address. The instrumentation of package otelhttp records url.full, with the
// query.
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

// NewTransport returns a transport that makes the exchanges of base, and a span of
// provider for each, a child of the span in the caller's context. It sends no
// headers for tracing to the service, as nobody there could join them.
func NewTransport(base http.RoundTripper, provider trace.TracerProvider) http.RoundTripper {
	return &transport{base, provider.Tracer(scope)}
}

type transport struct {
	base   http.RoundTripper
	tracer trace.Tracer
}

// RoundTrip implements [http.RoundTripper]. The request goes on as it is, with its
// context, so that the hooks of net/http/httptrace in it fire: the library needs
// them as evidence of what was sent.
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

// template returns the path of an endpoint without what varies, "other" for one
// that it does not know: a path may hold ids. Add those that you use by Client.Do.
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

// fits reports whether path ends in the elements of template; the base address of
// the client may come before them.
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
