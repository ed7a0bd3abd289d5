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

// secrets are what the calls of the tests hold and no span may, in any encoding.
var secrets = []string{
	"canary", "ron", "swanson", "commercetest-secret", "commercetest-token", "commercetest-issued", "eq(", "eq%28", "page", "bearer",
	"grant_type", "external_id", "amount", "withheld",
}

// traced is a provider that keeps its spans.
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

// client returns a client over base whose attempts are traced. The last options win.
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

// span is what is checked of a span.
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
		t.Errorf("%d spans started, %d ended", started, ended)
	}
	var list []span
	for _, s := range p.spans.Ended() {
		if found := leaked(s, secrets); len(found) > 0 {
			t.Errorf("the span %q holds %q", s.Name(), found)
		}
		list = append(list, span{s.Name(), s.SpanKind().String(), s.Status().Code, show(s.Attributes())})
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
	text := fmt.Sprintln(s.Name(), s.Status().Description, s.SpanContext().TraceState(), show(s.Attributes()), s.Resource().Encoded(attribute.DefaultEncoder()),
		s.InstrumentationScope().Name, s.InstrumentationScope().Version)
	for _, e := range s.Events() {
		text += fmt.Sprintln(e.Name, show(e.Attributes))
	}
	for _, l := range s.Links() {
		text += show(l.Attributes)
	}
	// The default encoder escapes some bytes, and a query has others escaped.
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

// attrs are the attributes of an attempt that was answered.
func attrs(errorType, method, status, requestID, template string) string {
	if errorType != "" {
		errorType = "error.type=" + errorType + ","
	}
	return errorType + "http.request.method=" + method + ",http.response.header.x-request-id=commercetest-00000" + requestID +
		",http.response.status_code=" + status + ",server.address=store.example,url.template=" + template
}

const list, add = "/v2/subscriptions/subscriptions", "/v2/carts/{cartID}/custom-discounts"

// A read that is repeated has a span for each attempt, children of the caller's.
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
		{"GET " + list, "client", codes.Error, attrs("503", "GET", "503", "1", list)},
		{"GET " + list, "client", codes.Unset, attrs("", "GET", "200", "2", list)},
		{"job", "internal", codes.Unset, ""},
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
	client := p.client(t, store.Transport(), commerce.WithClientCredentials(commercetest.DefaultClientID, commercetest.DefaultClientSecret))

	_, err := client.Carts.AddCustomDiscounts(t.Context(), "canary-cart", []commerce.NewCustomDiscount{{
		Amount: commerce.NewDecimal(-100), Description: "canary", DiscountCode: "canary", DiscountEngine: "canary", ExternalID: "canary",
	}}, nil)
	if !errors.Is(err, commerce.ErrNotFound) {
		t.Fatalf("error %v, want that there is no such cart", err)
	}
	want := []span{
		{"POST /oauth/access_token", "client", codes.Unset, attrs("", "POST", "200", "1", "/oauth/access_token")},
		{"POST " + add, "client", codes.Error, attrs("404", "POST", "404", "2", add)},
	}
	if diff := cmp.Diff(want, p.got(t)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// Of a path that is not known, no element is shown.
func TestOtherEndpoint(t *testing.T) {
	t.Parallel()
	p, store := newTraced(t), commercetest.NewStore(commercetest.Config{})
	_, err := p.client(t, store.Transport()).Do(t.Context(), "GET", []string{"v2", "customers", "canary"}, url.Values{"filter": {"canary"}}, nil, nil)
	if !errors.Is(err, commerce.ErrNotFound) {
		t.Fatal(err)
	}
	want := []span{{"GET other", "client", codes.Error, attrs("404", "GET", "404", "1", "other")}}
	if diff := cmp.Diff(want, p.got(t)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// loud is an error whose text tells the whole request, as that of some transports.
type loud string

func (e loud) Error() string { return "canary: " + string(e) }

// failing is a transport that gets no answer.
type failing struct{}

func (failing) RoundTrip(req *http.Request) (*http.Response, error) {
	return nil, loud(fmt.Sprint(req.URL, req.Header))
}

// broken answers with a body that ends in an error.
type broken struct{}

func (broken) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: brokenBody{req}, Request: req}, nil
}

type brokenBody struct{ req *http.Request }

func (b brokenBody) Read([]byte) (int, error) { return 0, loud(fmt.Sprint(b.req.URL, b.req.Header)) }
func (brokenBody) Close() error               { return nil }

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		base  http.RoundTripper
		attrs string
	}{
		"no answer":   {failing{}, "error.type=opentelemetry_test.loud,http.request.method=GET,server.address=store.example,url.template=" + list},
		"body is cut": {broken{}, "error.type=opentelemetry_test.loud,http.request.method=GET,http.response.status_code=200,server.address=store.example,url.template=" + list},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTraced(t)
			_, err := p.client(t, tt.base).Subscriptions.List(t.Context(), &commerce.SubscriptionListOptions{
				Filter: commerce.SubscriptionFilter{Email: "ron@swanson.example"},
			})
			if err == nil {
				t.Fatal("no error")
			}
			want := span{"GET " + list, "client", codes.Error, tt.attrs}
			if diff := cmp.Diff([]span{want, want}, p.got(t)); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
		})
	}
}

// The search that the other tests rely on finds a secret wherever it may be.
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
		"error":       func(tr trace.Tracer) { _, s := tr.Start(t.Context(), "a"); s.RecordError(errors.New("ron")); s.End() },
		"description": func(tr trace.Tracer) { _, s := tr.Start(t.Context(), "a"); s.SetStatus(codes.Error, "ron"); s.End() },
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
				t.Error("the secret is not found")
			}
		})
	}
}
