package otelcommerce_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/otelcommerce"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// exported keeps what the providers export.
type exported struct {
	tracers *sdktrace.TracerProvider
	meters  *sdkmetric.MeterProvider
	spans   *tracetest.SpanRecorder
	reader  *sdkmetric.ManualReader
}

func newExported() *exported {
	e := &exported{spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	e.tracers = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(e.spans), sdktrace.WithIDGenerator(&ids{}))
	e.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(e.reader))
	return e
}

// ids counts traces and spans. Random ids, in base64 as metrics export them, may hold a secret by
// chance.
type ids struct{ last atomic.Uint64 }

func (i *ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id := i.NewSpanID(ctx, trace.TraceID{})
	return trace.TraceID(append(make([]byte, 8), id[:]...)), id
}

func (i *ids) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], i.last.Add(1))
	return id
}

func (e *exported) observe(opts ...otelcommerce.Option) commerce.Option {
	return commerce.WithObserver(otelcommerce.New(e.tracers, e.meters, opts...))
}

// span holds the parts of a span that tests compare.
type span struct {
	Name, Parent string
	Kind         trace.SpanKind
	Status       sdktrace.Status
	Attrs        string // sorted
}

// all returns the spans in the order in which they started. It fails the test if one did not end.
func (e *exported) all(t *testing.T) (list []span) {
	t.Helper()
	if started, ended := len(e.spans.Started()), len(e.spans.Ended()); started != ended {
		t.Errorf("%d spans ended, want all %d", ended, started)
	}
	names := map[trace.SpanID]string{}
	for _, s := range e.spans.Started() {
		names[s.SpanContext().SpanID()] = s.Name()
		list = append(list, span{
			Name: s.Name(), Parent: names[s.Parent().SpanID()], Kind: s.SpanKind(), Status: s.Status(),
			Attrs: show(s.Attributes()...),
		})
	}
	return list
}

func show(attrs ...attribute.KeyValue) string {
	set := attribute.NewSet(attrs...)
	return set.Encoded(attribute.DefaultEncoder())
}

func (e *exported) collect(t *testing.T) (data metricdata.ResourceMetrics) {
	t.Helper()
	if err := e.reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	return data
}

// metrics returns the values of each metric, by "name unit" and attributes. That of a histogram is
// its count and sum.
func (e *exported) metrics(t *testing.T) map[string]map[string]string {
	t.Helper()
	values := map[string]map[string]string{}
	for _, scope := range e.collect(t).ScopeMetrics {
		for _, m := range scope.Metrics {
			points := map[string]string{}
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					points[show(p.Attributes.ToSlice()...)] = fmt.Sprintf("%d in %.3g", p.Count, p.Sum)
				}
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					points[show(p.Attributes.ToSlice()...)] = fmt.Sprintf("%.3g", p.Value)
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					points[show(p.Attributes.ToSlice()...)] = fmt.Sprint(p.Value)
				}
			default:
				t.Errorf("%s is a %T", m.Name, data)
			}
			values[m.Name+" "+m.Unit] = points
		}
	}
	return values
}

// checkSecrets searches everything that was exported.
func (e *exported) checkSecrets(t *testing.T, secrets ...string) {
	t.Helper()
	secrets = append(secrets, commercetest.DefaultToken, commercetest.DefaultClientSecret, commercetest.DefaultClientID,
		"commercetest-issued", "store.example", "canary", "://", "url.", "/v2", "bearer", "page[")
	if found := leaked(e.text(t), secrets); len(found) > 0 {
		t.Errorf("exported %q, want no secret", found)
	}
}

// text returns all spans and metrics as JSON, without the one public address in them.
func (e *exported) text(t *testing.T) string {
	t.Helper()
	encoded, err := json.Marshal([]any{
		tracetest.SpanStubsFromReadOnlySpans(e.spans.Ended()), e.collect(t).ScopeMetrics,
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(encoded), semconv.SchemaURL, "")
}

// leaked returns the secrets that are in text, in any case, as they are or encoded for a query.
func leaked(text string, secrets []string) (found []string) {
	text = strings.ToLower(text)
	for _, secret := range secrets {
		secret = strings.ToLower(secret)
		if strings.Contains(text, secret) || strings.Contains(text, strings.ToLower(url.QueryEscape(secret))) {
			found = append(found, secret)
		}
	}
	return found
}

// The search finds a secret wherever it is exported.
func TestLeaked(t *testing.T) {
	t.Parallel()
	secret := attribute.String("url.full", "https://store.example/?filter=eq%28email%2CRON%40swanson.example%29")
	for name, leak := range map[string]func(context.Context, trace.Span, metric.Meter) error{
		"name": func(_ context.Context, s trace.Span, _ metric.Meter) error {
			s.SetName("ron@swanson.example")
			return nil
		},
		"attribute": func(_ context.Context, s trace.Span, _ metric.Meter) error { s.SetAttributes(secret); return nil },
		"key": func(_ context.Context, s trace.Span, _ metric.Meter) error {
			s.SetAttributes(attribute.Bool("ron@swanson.example", true))
			return nil
		},
		"event": func(_ context.Context, s trace.Span, _ metric.Meter) error {
			s.AddEvent("event", trace.WithAttributes(secret))
			return nil
		},
		"error": func(_ context.Context, s trace.Span, _ metric.Meter) error {
			s.RecordError(errors.New("ron@swanson.example"))
			return nil
		},
		"status": func(_ context.Context, s trace.Span, _ metric.Meter) error {
			s.SetStatus(codes.Error, "ron@swanson.example")
			return nil
		},
		"link": func(_ context.Context, s trace.Span, _ metric.Meter) error {
			s.AddLink(trace.Link{SpanContext: s.SpanContext(), Attributes: []attribute.KeyValue{secret}})
			return nil
		},
		"metric": func(ctx context.Context, _ trace.Span, m metric.Meter) error {
			c, err := m.Int64Counter("count", metric.WithDescription("ron@swanson.example"))
			c.Add(ctx, 1)
			return err
		},
		"attribute of a metric": func(ctx context.Context, _ trace.Span, m metric.Meter) error {
			c, err := m.Int64Counter("count")
			c.Add(ctx, 1, metric.WithAttributes(secret))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExported()
			ctx, s := e.tracers.Tracer("test").Start(t.Context(), "span")
			if err := leak(ctx, s, e.meters.Meter("test")); err != nil {
				t.Fatal(err)
			}
			s.End()
			if found := leaked(e.text(t), []string{"ron@swanson.example"}); len(found) != 1 {
				t.Errorf("found %q, want the secret", found)
			}
		})
	}
}
