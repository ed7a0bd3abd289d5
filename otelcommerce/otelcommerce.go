// Package otelcommerce traces and measures the calls of package commerce with OpenTelemetry.
//
//	client, err := commerce.New(baseURL, credentials,
//		commerce.WithObserver(otelcommerce.New(tracerProvider, meterProvider)))
//
// Each call has a span, a child of the span in the caller's context. Each attempt has a client
// span, a child of its call. README.md lists the names, units and attributes of spans and metrics.
// Spans and metrics of attempts follow https://opentelemetry.io/docs/specs/semconv/http/http-spans/
// and https://opentelemetry.io/docs/specs/semconv/http/http-metrics/, except for two things.
// server.address and server.port are set by an option, see [WithServerAddress]. And url.full is
// left out: a filter in the query names customers, and a path holds ids. For the same reason, do
// not give the client a transport of package otelhttp.
//
// No tracing headers are sent: the service could not use them.
package otelcommerce

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/commerce-go/commerce"
)

// scope names this instrumentation to the providers.
const scope = "github.com/commerce-go/commerce/otelcommerce"

const (
	opKey        = attribute.Key("commerce.op")
	outcomeKey   = attribute.Key("commerce.outcome")
	reasonKey    = attribute.Key("commerce.reason")
	remedyKey    = attribute.Key("commerce.remedy")
	attemptsKey  = attribute.Key("commerce.attempts")
	recordsKey   = attribute.Key("commerce.records")
	requestIDKey = attribute.Key("commerce.request_id")
	waitKey      = attribute.Key("commerce.wait")
)

// buckets are those that the conventions advise for http.client.request.duration, in seconds.
var buckets = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}

// Option is an option of [New].
type Option func(*observer)

// WithServerAddress sets the attributes server.address and server.port of attempts, in spans and
// metrics: the host of the client's base address, without the port, and the port, e.g. 443. By
// default there are none. An empty host or a port of 0 leaves out its attribute.
func WithServerAddress(host string, port int) Option {
	return func(o *observer) {
		o.server = nil
		if host != "" {
			o.server = append(o.server, semconv.ServerAddress(host))
		}
		if port != 0 {
			o.server = append(o.server, semconv.ServerPort(port))
		}
	}
}

// New returns an observer for [commerce.WithObserver]. It is safe for concurrent use, and several
// clients may share it. If a provider is nil, it is the global one of package otel, which may also
// be set later. To have only traces or only metrics, pass the provider of a package noop for the
// other. An instrument that the provider cannot create is reported by [otel.Handle] and does
// nothing.
func New(tracerProvider trace.TracerProvider, meterProvider metric.MeterProvider, opts ...Option) commerce.Observer {
	if tracerProvider == nil {
		tracerProvider = otel.GetTracerProvider()
	}
	if meterProvider == nil {
		meterProvider = otel.GetMeterProvider()
	}
	m := meter{meterProvider.Meter(scope,
		metric.WithInstrumentationVersion(commerce.Version), metric.WithSchemaURL(semconv.SchemaURL))}
	o := &observer{
		tracer: tracerProvider.Tracer(scope,
			trace.WithInstrumentationVersion(commerce.Version), trace.WithSchemaURL(semconv.SchemaURL)),
		attempts: m.duration("http.client.request.duration", "Duration of HTTP client requests.", buckets...),
		calls: m.duration("commerce.client.call.duration", "Duration of calls, with all waits and attempts.",
			slices.Concat(buckets, []float64{30, 60, 120})...), // a call may wait for the end of a Retry-After
		retries: m.counter("commerce.client.retries", "{retry}", "Attempts after the first of a request."),
		writes:  m.counter("commerce.client.writes", "{call}", "Calls that write, by outcome."),
		records: m.counter("commerce.client.records", "{record}", "Records that lists returned."),
		waits:   m.seconds("commerce.client.wait.time", "Time that calls waited before they could send a request."),
	}
	for _, opt := range opts {
		opt(o)
	}
	return o
}

type observer struct {
	tracer trace.Tracer
	server []attribute.KeyValue // of attempts

	attempts, calls          metric.Float64Histogram
	retries, writes, records metric.Int64Counter
	waits                    metric.Float64Counter
}

// StartCall implements [commerce.Observer].
func (o *observer) StartCall(
	ctx context.Context, call commerce.CallInfo,
) (context.Context, func(commerce.CallResult)) {
	op := opKey.String(call.Op)
	ctx, span := o.tracer.Start(ctx, call.Op, trace.WithAttributes(op))
	return ctx, func(r commerce.CallResult) {
		defer span.End()
		o.calls.Record(ctx, r.Duration.Seconds(), metric.WithAttributes(append(failCall(span, r), op)...))
		span.SetAttributes(attemptsKey.Int(r.Attempts))
		if isWrite(call) {
			outcome := outcomeKey.String(r.Outcome.String())
			o.writes.Add(ctx, 1, metric.WithAttributes(op, outcome))
			span.SetAttributes(outcome)
		}
		if r.Records > 0 {
			o.records.Add(ctx, int64(r.Records), metric.WithAttributes(op))
			span.SetAttributes(recordsKey.Int(r.Records))
		}
		if r.RequestID != "" {
			span.SetAttributes(requestIDKey.String(r.RequestID))
		}
		o.addWaits(ctx, op, r.Waits)
	}
}

// StartAttempt implements [commerce.Observer].
func (o *observer) StartAttempt(
	ctx context.Context, attempt commerce.AttemptInfo,
) (context.Context, func(commerce.AttemptResult)) {
	op := opKey.String(attempt.Op)
	attrs := append([]attribute.KeyValue{op, semconv.HTTPRequestMethodKey.String(attempt.Method)}, o.server...)
	// The URL would be the target in the name of the span. Without it, the name is the method.
	ctx, span := o.tracer.Start(ctx, attempt.Method,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
	if attempt.Attempt > 1 {
		o.retries.Add(ctx, 1, metric.WithAttributes(op))
		span.SetAttributes(semconv.HTTPRequestResendCount(attempt.Attempt - 1))
	}
	return ctx, func(r commerce.AttemptResult) {
		defer span.End()
		if r.StatusCode != 0 {
			status := semconv.HTTPResponseStatusCode(r.StatusCode)
			span.SetAttributes(status)
			attrs = append(attrs, status)
		}
		if r.Error == "" && r.StatusCode >= http.StatusBadRequest {
			r.Error = strconv.Itoa(r.StatusCode)
		}
		if r.RequestID != "" {
			span.SetAttributes(requestIDKey.String(r.RequestID))
		}
		attrs = append(attrs, fail(span, r.Error)...)
		o.attempts.Record(ctx, r.Duration.Seconds(), metric.WithAttributes(attrs...))
	}
}

// isWrite reports whether the outcome of a call describes a write.
func isWrite(call commerce.CallInfo) bool {
	return call.Method != http.MethodGet && call.Method != http.MethodHead && call.Op != "token"
}

// emptyCart is the reason of a call that is not an error here: customers have empty carts.
var emptyCart = commerce.ReasonOf(commerce.ErrEmptyCart)

// failCall marks the span of a call as failed, if the call failed, and returns the attributes that
// tell why.
func failCall(span trace.Span, r commerce.CallResult) (attrs []attribute.KeyValue) {
	if r.Reason == "" {
		return nil
	}
	if r.Reason != emptyCart {
		attrs = fail(span, r.Error)
	}
	cause := []attribute.KeyValue{reasonKey.String(r.Reason), remedyKey.String(r.Remedy.String())}
	span.SetAttributes(cause...)
	return append(attrs, cause...)
}

// fail marks the span as failed, if text is not empty, and returns its attribute error.type: the
// status if text begins with one, otherwise text, of which there are few. A status needs no
// description.
func fail(span trace.Span, text string) []attribute.KeyValue {
	if text == "" {
		return nil
	}
	description := text
	if first, _, _ := strings.Cut(text, " "); isNumber(first) {
		text, description = first, ""
	}
	kind := semconv.ErrorTypeKey.String(text)
	span.SetStatus(codes.Error, description)
	span.SetAttributes(kind)
	return []attribute.KeyValue{kind}
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// addWaits counts the waits of a call, and adds them to its span.
func (o *observer) addWaits(ctx context.Context, op attribute.KeyValue, w commerce.Waits) {
	for _, wait := range []struct {
		cause string
		d     time.Duration
	}{
		{"turn", w.Turn}, {"lock", w.Lock}, {"gate", w.Gate}, {"limiter", w.Limiter}, {"token", w.Token},
		{"backoff", w.Backoff},
	} {
		if wait.d > 0 {
			o.waits.Add(ctx, wait.d.Seconds(), metric.WithAttributes(op, waitKey.String(wait.cause)))
			trace.SpanFromContext(ctx).SetAttributes(attribute.Float64(string(waitKey)+"."+wait.cause, wait.d.Seconds()))
		}
	}
}

// meter creates instruments.
type meter struct{ metric.Meter }

func (m meter) duration(name, description string, buckets ...float64) metric.Float64Histogram {
	h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(buckets...))
	if err != nil {
		otel.Handle(err)
		return noop.Float64Histogram{}
	}
	return h
}

func (m meter) counter(name, unit, description string) metric.Int64Counter {
	c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
	if err != nil {
		otel.Handle(err)
		return noop.Int64Counter{}
	}
	return c
}

func (m meter) seconds(name, description string) metric.Float64Counter {
	c, err := m.Float64Counter(name, metric.WithUnit("s"), metric.WithDescription(description))
	if err != nil {
		otel.Handle(err)
		return noop.Float64Counter{}
	}
	return c
}
