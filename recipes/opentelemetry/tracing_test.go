package opentelemetry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/recipes/opentelemetry"
)

// secrets are in the calls of the tests, and must not be in a span, in any encoding.
var secrets = []string{
	"canary", "ron", "swanson", "commercetest-secret", "commercetest-token", "commercetest-issued",
	"eq(", "eq%28", "page", "bearer", "grant_type", "external_id", "amount", "withheld",
}

// traced is a provider that keeps its spans in memory.
type traced struct {
	*sdktrace.TracerProvider
	spans *tracetest.SpanRecorder
}

func newTraced(t *testing.T) *traced {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	t.Cleanup(func() {
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &traced{provider, recorder}
}

// client returns a client that sends requests by base, and traces them.
func (p *traced) client(t *testing.T, base http.RoundTripper, opts ...commerce.Option) *commerce.Client {
	t.Helper()
	all := append([]commerce.Option{
		commerce.WithHTTPClient(&http.Client{Transport: opentelemetry.NewTransport(base, p)}),
		commerce.WithToken(commercetest.DefaultToken),
		commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 2, MinBackoff: time.Nanosecond, MaxBackoff: time.Nanosecond}),
	}, opts...)
	client, err := commerce.New("https://store.example", all...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// span holds the parts of a span that tests compare.
type span struct {
	Name   string
	Kind   string
	Status codes.Code
	Attrs  string // sorted
}

// got returns the spans that ended. It fails the test if one did not, or if one
// holds a secret.
func (p *traced) got(t *testing.T) []span {
	t.Helper()
	if started, ended := len(p.spans.Started()), len(p.spans.Ended()); started != ended {
		t.Errorf("%d spans ended, want all %d", ended, started)
	}
	var list []span
	for _, s := range p.spans.Ended() {
		if found := leaked(s, secrets); len(found) > 0 {
			t.Errorf("span %q holds %q, want no secret", s.Name(), found)
		}
		list = append(list, span{
			Name: s.Name(), Kind: s.SpanKind().String(), Status: s.Status().Code, Attrs: show(s.Attributes()),
		})
	}
	return list
}

// show returns attributes as text.
func show(attrs []attribute.KeyValue) string {
	set := attribute.NewSet(attrs...)
	return set.Encoded(attribute.DefaultEncoder())
}

// leaked returns the secrets that a span holds, in any place that an exporter sees.
func leaked(s sdktrace.ReadOnlySpan, secrets []string) []string {
	text := fmt.Sprintln(s.Name(), s.Status().Description, s.SpanContext().TraceState(), show(s.Attributes()),
		s.Resource().Encoded(attribute.DefaultEncoder()), s.InstrumentationScope().Name, s.InstrumentationScope().Version)
	for _, e := range s.Events() {
		text += fmt.Sprintln(e.Name, show(e.Attributes))
	}
	for _, l := range s.Links() {
		text += show(l.Attributes)
	}
	// The default encoder escapes some bytes, and a query others.
	plain := strings.ReplaceAll(text, `\`, "")
	unescaped, err := url.QueryUnescape(plain)
	if err != nil {
		unescaped = plain
	}
	text = strings.ToLower(text + plain + unescaped)
	var found []string
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			found = append(found, secret)
		}
	}
	return found
}

// response describes a response of the fake store.
type response struct {
	method, template string
	status           int
	requestID        int
}

// span returns the span of an attempt that got r.
func (r response) span() span {
	want := span{Name: r.method + " " + r.template, Kind: "client", Attrs: fmt.Sprintf("http.request.method=%s,"+
		"http.response.header.x-request-id=commercetest-%06d,http.response.status_code=%d,"+
		"server.address=store.example,url.template=%s", r.method, r.requestID, r.status, r.template)}
	if r.status >= 400 {
		want.Status, want.Attrs = codes.Error, fmt.Sprintf("error.type=%d,%s", r.status, want.Attrs)
	}
	return want
}

const list, add = "/v2/subscriptions/subscriptions", "/v2/carts/{cartID}/custom-discounts"

// Each attempt of a read has a span, a child of the caller's.
func TestRetriedRead(t *testing.T) {
	t.Parallel()
	p, store := newTraced(t), commercetest.NewStore(commercetest.Config{})
	store.Seed(3)
	store.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 503, Body: "canary"})
	client := p.client(t, store.Transport())

	ctx, parent := p.Tracer("test").Start(t.Context(), "job")
	_, err := client.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{
		Filter: commerce.SubscriptionFilter{Email: "ron+canary@swanson.example", Name: `Ron "Canary" Swanson`},
	})
	if err != nil {
		t.Fatal(err)
	}
	parent.End()
	want := []span{
		response{method: "GET", template: list, status: 503, requestID: 1}.span(),
		response{method: "GET", template: list, status: 200, requestID: 2}.span(),
		{Name: "job", Kind: "internal"},
	}
	if diff := cmp.Diff(want, p.got(t)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	for _, s := range p.spans.Ended()[:2] {
		if s.Parent().SpanID() != parent.SpanContext().SpanID() {
			t.Errorf("the parent of %q is not the caller's span", s.Name())
		}
	}
}

// A write shows neither its body nor the cart, and a token request no secret.
func TestWrite(t *testing.T) {
	t.Parallel()
	p, store := newTraced(t), commercetest.NewStore(commercetest.Config{})
	client := p.client(t, store.Transport(),
		commerce.WithClientCredentials(commercetest.DefaultClientID, commercetest.DefaultClientSecret))

	_, err := client.Carts.AddCustomDiscounts(t.Context(), "canary-cart", []commerce.NewCustomDiscount{{
		Amount: commerce.NewDecimal(-100), Description: "canary", DiscountCode: "canary", DiscountEngine: "canary",
		ExternalID: "canary",
	}}, nil)
	if commerce.OutcomeOf(err) != commerce.OutcomeRejected { // there is no such cart: it is empty
		t.Fatalf("error = %v, want one with the outcome %v", err, commerce.OutcomeRejected)
	}
	want := []span{
		response{method: "POST", template: "/oauth/access_token", status: 200, requestID: 1}.span(),
		response{method: "POST", template: add, status: 422, requestID: 2}.span(),
	}
	if diff := cmp.Diff(want, p.got(t)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// A span shows no element of an unknown path.
func TestOtherEndpoint(t *testing.T) {
	t.Parallel()
	p, store := newTraced(t), commercetest.NewStore(commercetest.Config{})
	path, query := []string{"v2", "customers", "canary"}, url.Values{"filter": {"canary"}}
	_, err := p.client(t, store.Transport()).Do(t.Context(), "GET", path, query, nil, nil)
	if !errors.Is(err, commerce.ErrNotFound) {
		t.Fatalf("error = %v, want ErrNotFound", err)
	}
	want := []span{response{method: "GET", template: "other", status: 404, requestID: 1}.span()}
	if diff := cmp.Diff(want, p.got(t)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// loud is an error whose text holds the whole request, as some transports return.
type loud string

func (e loud) Error() string { return "canary: " + string(e) }

// failing is a transport that gets no response.
type failing struct{}

func (failing) RoundTrip(req *http.Request) (*http.Response, error) {
	return nil, loud(fmt.Sprint(req.URL, req.Header))
}

// broken returns a response whose body ends in an error.
type broken struct{}

func (broken) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: brokenBody{req}, Request: req}, nil
}

type brokenBody struct{ req *http.Request }

func (b brokenBody) Read([]byte) (int, error) { return 0, loud(fmt.Sprint(b.req.URL, b.req.Header)) }
func (brokenBody) Close() error               { return nil }

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		base   http.RoundTripper
		status string // attribute
	}{
		"no response":    {base: failing{}},
		"truncated body": {base: broken{}, status: "http.response.status_code=200,"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTraced(t)
			_, err := p.client(t, tt.base).Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{
				Filter: commerce.SubscriptionFilter{Email: "ron@swanson.example"},
			})
			if err == nil {
				t.Fatal("List() = nil, want an error")
			}
			want := span{Name: "GET " + list, Kind: "client", Status: codes.Error,
				Attrs: "error.type=opentelemetry_test.loud,http.request.method=GET," + tt.status +
					"server.address=store.example,url.template=" + list}
			if diff := cmp.Diff([]span{want, want}, p.got(t)); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
		})
	}
}

// leaked finds a secret wherever it is in a span.
func TestLeaked(t *testing.T) {
	t.Parallel()
	secret := attribute.String("url.full", "https://store.example/?filter=eq%28email%2CRON%40swanson.example%29")
	for name, leak := range map[string]func(trace.Tracer){
		"name":      func(tr trace.Tracer) { _, s := tr.Start(t.Context(), "GET ?email=ron"); s.End() },
		"attribute": func(tr trace.Tracer) { _, s := tr.Start(t.Context(), "a", trace.WithAttributes(secret)); s.End() },
		"key": func(tr trace.Tracer) {
			_, s := tr.Start(t.Context(), "a", trace.WithAttributes(attribute.Bool("ron", true)))
			s.End()
		},
		"event": func(tr trace.Tracer) { _, s := tr.Start(t.Context(), "a"); s.AddEvent("ron"); s.End() },
		"in event": func(tr trace.Tracer) {
			_, s := tr.Start(t.Context(), "a")
			s.AddEvent("b", trace.WithAttributes(secret))
			s.End()
		},
		"error": func(tr trace.Tracer) { _, s := tr.Start(t.Context(), "a"); s.RecordError(errors.New("ron")); s.End() },
		"description": func(tr trace.Tracer) {
			_, s := tr.Start(t.Context(), "a")
			s.SetStatus(codes.Error, "ron")
			s.End()
		},
		"link": func(tr trace.Tracer) {
			_, s := tr.Start(t.Context(), "a")
			_, other := tr.Start(t.Context(), "b")
			s.AddLink(trace.Link{SpanContext: other.SpanContext(), Attributes: []attribute.KeyValue{secret}})
			s.End()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTraced(t)
			leak(p.Tracer("test"))
			if found := leaked(p.spans.Ended()[0], []string{"ron"}); len(found) != 1 {
				t.Errorf("leaked() = %q, want the secret", found)
			}
		})
	}
}
