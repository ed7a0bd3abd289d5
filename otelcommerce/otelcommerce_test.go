package otelcommerce_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/otelcommerce"
)

// An Ensure that meets a 503, a 429 with Retry-After and a lost response, and gets a token first.
func TestEnsure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, store := newExported(), commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
		item := commerce.CartItemRef{ID: uuid.New(), Type: commerce.ItemTypeCartItem}
		cart := store.AddCart(item)
		store.Inject(
			commercetest.Fault{Operation: commercetest.OpToken, Delay: 10 * time.Millisecond},
			commercetest.Fault{Operation: commercetest.OpCart, Status: 503, Body: "canary", Delay: time.Second},
			commercetest.Fault{Operation: commercetest.OpAdd, Status: 429, Header: http.Header{"Retry-After": {"3"}}},
			commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Cut: true},
		)
		client := store.Client(e.observe(), credentials,
			commerce.WithRetry(commerce.RetryPolicy{MinBackoff: time.Nanosecond}))
		ctx, job := e.tracers.Tracer("test").Start(t.Context(), "job")
		_, err := client.Carts.EnsureCustomDiscounts(ctx, cart, discounts("canary-1", "canary-2"), nil)
		job.End()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ensureSpans(), e.all(t)); diff != "" {
			t.Errorf("spans (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(ensureMetrics(), e.metrics(t)); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
		secrets := []string{cart, item.ID.String()}
		for _, d := range store.Discounts(cart) {
			secrets = append(secrets, d.ID.String())
		}
		e.checkSecrets(t, secrets...)
	})
}

const (
	ensure = "Carts.EnsureCustomDiscounts"
	op     = "commerce.op=" + ensure
	post   = "http.request.method=POST"
	get    = "http.request.method=GET"
)

func ensureSpans() []span {
	return []span{
		{Name: "job", Kind: trace.SpanKindInternal},
		{Name: ensure, Parent: "job", Kind: trace.SpanKindInternal, Attrs: "commerce.attempts=5," + op +
			",commerce.outcome=applied,commerce.request_id=commercetest-000006," +
			"commerce.wait.backoff=3,commerce.wait.token=0.01"},
		{Name: "token", Parent: ensure, Kind: trace.SpanKindInternal, Attrs: "commerce.attempts=1," +
			"commerce.op=token,commerce.request_id=commercetest-000001"},
		{Name: "POST", Parent: "token", Kind: trace.SpanKindClient, Attrs: "commerce.op=token," +
			"commerce.request_id=commercetest-000001," + post + ",http.response.status_code=200"},
		{Name: "GET", Parent: ensure, Kind: trace.SpanKindClient, Status: failed(""), Attrs: op +
			",commerce.request_id=commercetest-000002,error.type=503," + get + ",http.response.status_code=503"},
		{Name: "GET", Parent: ensure, Kind: trace.SpanKindClient, Attrs: op +
			",commerce.request_id=commercetest-000003," + get +
			",http.request.resend_count=1,http.response.status_code=200"},
		{Name: "POST", Parent: ensure, Kind: trace.SpanKindClient, Status: failed(""), Attrs: op +
			",commerce.request_id=commercetest-000004,error.type=429," + post + ",http.response.status_code=429"},
		{Name: "POST", Parent: ensure, Kind: trace.SpanKindClient, Status: failed("unexpected EOF"), Attrs: op +
			",error.type=unexpected EOF," + post + ",http.request.resend_count=1"},
		{Name: "GET", Parent: ensure, Kind: trace.SpanKindClient, Attrs: op +
			",commerce.request_id=commercetest-000006," + get + ",http.response.status_code=200"},
	}
}

func ensureMetrics() map[string]map[string]string {
	// The last 2 s of the call are Settle.
	return map[string]map[string]string{
		"commerce.client.call.duration s": {op: "1 in 6.01", "commerce.op=token": "1 in 0.01"},
		"commerce.client.retries {retry}": {op: "2"},
		"commerce.client.writes {call}":   {op + ",commerce.outcome=applied": "1"},
		"commerce.client.wait.time s":     {op + ",commerce.wait=backoff": "3", op + ",commerce.wait=token": "0.01"},
		"http.client.request.duration s": {
			"commerce.op=token," + post + ",http.response.status_code=200":    "1 in 0.01",
			op + ",error.type=429," + post + ",http.response.status_code=429": "1 in 0",
			op + ",error.type=503," + get + ",http.response.status_code=503":  "1 in 1",
			op + ",error.type=unexpected EOF," + post:                         "1 in 0",
			op + "," + get + ",http.response.status_code=200":                 "2 in 0",
		},
	}
}

var credentials = commerce.WithClientCredentials(commercetest.DefaultClientID, commercetest.DefaultClientSecret)

func failed(description string) sdktrace.Status {
	return sdktrace.Status{Code: codes.Error, Description: description}
}

func discounts(externalIDs ...string) (list []commerce.NewCustomDiscount) {
	for _, id := range externalIDs {
		list = append(list, commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(-123), Description: "canary", DiscountCode: "canary", DiscountEngine: "canary",
			ExternalID: id,
		})
	}
	return list
}

// A walk has a call for each page.
func TestWalk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, store := newExported(), commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
		store.Seed(250)
		secrets := []string{"ron@canary.example", "Ron Swanson"}
		ctx, job := e.tracers.Tracer("test").Start(t.Context(), "job")
		client, yielded := store.Client(e.observe()), 0
		for s, err := range client.Subscriptions.All(ctx, nil) {
			if err != nil {
				t.Fatal(err)
			}
			secrets = append(secrets, s.ID.String())
			yielded++
		}
		filter := commerce.SubscriptionFilter{Emails: []string{"ron@canary.example"}, Names: []string{"Ron Swanson"}}
		_, err := client.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{Filter: filter})
		if err != nil {
			t.Fatal(err)
		}
		job.End()

		want := []span{{Name: "job", Kind: trace.SpanKindInternal}}
		for i, records := range []string{",commerce.records=100", ",commerce.records=100", ",commerce.records=52", ""} {
			id := fmt.Sprintf(",commerce.request_id=commercetest-%06d", i+1)
			want = append(want, span{Name: list, Parent: "job", Kind: trace.SpanKindInternal,
				Attrs: "commerce.attempts=1,commerce.op=" + list + records + id},
				span{Name: "GET", Parent: list, Kind: trace.SpanKindClient,
					Attrs: "commerce.op=" + list + id + ",http.request.method=GET,http.response.status_code=200"})
		}
		if diff := cmp.Diff(want, e.all(t)); diff != "" {
			t.Errorf("spans (-want +got):\n%s", diff)
		}
		// Each page but the first begins with the last record of the one before.
		op := "commerce.op=" + list
		if got := e.metrics(t)["commerce.client.records {record}"]; got[op] != "252" || yielded != 250 {
			t.Errorf("got the records %v for %d that the walk yielded, want 252 for 250", got, yielded)
		}
		if got := e.metrics(t)["commerce.client.writes {call}"]; got != nil {
			t.Errorf("got the writes %v, want none", got)
		}
		e.checkSecrets(t, secrets...)
	})
}

const list = "Subscriptions.List"

// loud is an error whose text holds the whole request, as some transports return.
type loud string

func (e loud) Error() string { return "canary: " + string(e) }

type failing struct{}

func (failing) RoundTrip(req *http.Request) (*http.Response, error) {
	return nil, loud(fmt.Sprint(req.URL, req.Header))
}

type failingCall struct {
	fault commercetest.Fault
	opts  []commerce.Option
	write bool
	want  []span // call, attempt, call, attempt
}

func failingCalls() map[string]failingCall {
	const listOp, addOp = "commerce.op=" + list, "commerce.op=" + add
	return map[string]failingCall{
		"no response to a read": {
			opts: []commerce.Option{commerce.WithHTTPClient(&http.Client{Transport: failing{}})},
			want: []span{
				{Status: failed("failed (otelcommerce_test.loud)"), Attrs: "commerce.attempts=1," + listOp +
					",commerce.reason=connection,commerce.remedy=again,error.type=failed (otelcommerce_test.loud)"},
				{Status: failed("failed (otelcommerce_test.loud)"), Attrs: listOp +
					",error.type=failed (otelcommerce_test.loud),http.request.method=GET"},
			},
		},
		"truncated body": {
			fault: commercetest.Fault{Cut: true, CutAfter: 10},
			want: []span{
				{Status: failed("unexpected EOF"), Attrs: "commerce.attempts=1," + listOp +
					",commerce.reason=connection,commerce.remedy=again" +
					",commerce.request_id=commercetest-000001,error.type=unexpected EOF"},
				{Status: failed("unexpected EOF"), Attrs: listOp + ",commerce.request_id=commercetest-000001," +
					"error.type=unexpected EOF,http.request.method=GET,http.response.status_code=200"},
			},
		},
		"no token": {
			fault: commercetest.Fault{Operation: commercetest.OpToken, Status: 401, Body: "canary"},
			opts:  []commerce.Option{credentials},
			want: []span{
				{Status: failed(""), Attrs: "commerce.attempts=0," + listOp +
					",commerce.reason=token,commerce.remedy=staff,error.type=401"},
				{Status: failed(""), Attrs: "commerce.attempts=1,commerce.op=token," +
					"commerce.reason=token,commerce.remedy=staff,commerce.request_id=commercetest-000001,error.type=401"},
				{Status: failed(""), Attrs: "commerce.op=token,commerce.request_id=commercetest-000001," +
					"error.type=401,http.request.method=POST,http.response.status_code=401"},
			},
		},
		"write refused": {
			fault: commercetest.Fault{Status: 422, Body: `{"errors":[{"title":"canary","detail":"canary"}]}`},
			write: true,
			want: []span{
				{Status: failed(""), Attrs: "commerce.attempts=1," + addOp + ",commerce.outcome=rejected," +
					"commerce.reason=unprocessable,commerce.remedy=cart,commerce.request_id=commercetest-000001,error.type=422"},
				{Status: failed(""), Attrs: addOp + ",commerce.request_id=commercetest-000001," +
					"error.type=422,http.request.method=POST,http.response.status_code=422"},
			},
		},
		"no response to a write": {
			fault: commercetest.Fault{Cut: true}, write: true,
			want: []span{
				{Status: failed("unexpected EOF"), Attrs: "commerce.attempts=1," + addOp +
					",commerce.outcome=unknown,commerce.reason=outcome_unknown,commerce.remedy=REMEDY,error.type=unexpected EOF"},
				{Status: failed("unexpected EOF"), Attrs: addOp + ",error.type=unexpected EOF,http.request.method=POST"},
			},
		},
	}
}

// The clock is virtual, so that no wait is long enough to be an attribute.
func TestErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range failingCalls() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, tt.check)
		})
	}
}

func (tt failingCall) check(t *testing.T) {
	e, store := newExported(), commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	store.Inject(tt.fault)
	client := store.Client(append(tt.opts, e.observe(),
		commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 1}))...)
	call := callList
	if tt.write {
		call = callAdd
	}
	err := call(t.Context(), client)
	if err == nil {
		t.Fatal("got no error")
	}
	var got []span
	for _, s := range e.all(t) {
		s.Attrs = strings.Replace(s.Attrs, "outcome_unknown,commerce.remedy="+commerce.RemedyOf(err).String(),
			"outcome_unknown,commerce.remedy=REMEDY", 1)
		got = append(got, span{Status: s.Status, Attrs: s.Attrs})
	}
	if diff := cmp.Diff(tt.want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if got := len(e.metrics(t)["commerce.client.writes {call}"]); (got == 1) != tt.write {
		t.Errorf("got %d kinds of write, want one if the call writes (%t)", got, tt.write)
	}
	e.checkSecrets(t)
}

// An empty cart has a reason and a remedy, but is not an error.
func TestEmptyCart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, store := newExported(), commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
		_, err := store.Client(e.observe()).Carts.EnsureCustomDiscounts(t.Context(), store.AddCart(), discounts("a"), nil)
		if !errors.Is(err, commerce.ErrEmptyCart) {
			t.Errorf("error = %v, want ErrEmptyCart", err)
		}
		const cause = ",commerce.reason=empty_cart,commerce.remedy=cart"
		want := span{Name: ensure, Kind: trace.SpanKindInternal, Attrs: "commerce.attempts=2," + op +
			",commerce.outcome=not sent" + cause + ",commerce.request_id=commercetest-000002"}
		if diff := cmp.Diff(want, e.all(t)[0]); diff != "" {
			t.Errorf("the span of the call (-want +got):\n%s", diff)
		}
		wantMetric := map[string]string{op + cause: "1 in 0"}
		if diff := cmp.Diff(wantMetric, e.metrics(t)["commerce.client.call.duration s"]); diff != "" {
			t.Errorf("durations of calls (-want +got):\n%s", diff)
		}
	})
}

const add = "Carts.AddCustomDiscounts"

func callAdd(ctx context.Context, client *commerce.Client) error {
	_, err := client.Carts.AddCustomDiscounts(ctx, "canary", discounts("canary"), nil)
	return err
}

func callList(ctx context.Context, client *commerce.Client) error {
	_, err := client.Subscriptions.List(ctx, nil)
	return err
}

// Each wait has its name. A span shows none below a millisecond, and a HEAD request is no write.
func TestWaits(t *testing.T) {
	t.Parallel()
	e := newExported()
	o := otelcommerce.New(e.tracers, e.meters)
	_, end := o.StartCall(t.Context(), commerce.CallInfo{Op: "Client.Do", Method: http.MethodHead})
	end(commerce.CallResult{Attempts: 1, Waits: commerce.Waits{
		Turn: time.Second, Lock: 2 * time.Second, Gate: 3 * time.Second, Limiter: 4 * time.Second,
		Token: 5 * time.Second,
	}})
	want := []span{{Name: "Client.Do", Kind: trace.SpanKindInternal, Attrs: "commerce.attempts=1,commerce.op=Client.Do," +
		"commerce.wait.gate=3,commerce.wait.limiter=4,commerce.wait.lock=2,commerce.wait.token=5," +
		"commerce.wait.turn=1"}}
	if diff := cmp.Diff(want, e.all(t)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	const wait = "commerce.op=Client.Do,commerce.wait="
	wantMetrics := map[string]map[string]string{
		"commerce.client.call.duration s": {"commerce.op=Client.Do": "1 in 0"},
		"commerce.client.wait.time s": {
			wait + "turn": "1", wait + "lock": "2", wait + "gate": "3", wait + "limiter": "4", wait + "token": "5",
		},
	}
	if diff := cmp.Diff(wantMetrics, e.metrics(t)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestWithServerAddress(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		host string
		port int
		want string
	}{
		"neither": {want: ""},
		"host":    {host: "shop.example", want: ",server.address=shop.example"},
		"both":    {host: "shop.example", port: 443, want: ",server.address=shop.example,server.port=443"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, store := newExported(), commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
			client := store.Client(e.observe(otelcommerce.WithServerAddress(tt.host, tt.port)))
			if err := callList(t.Context(), client); err != nil {
				t.Fatal(err)
			}
			spans, metrics := e.all(t), e.metrics(t)
			if strings.Contains(spans[0].Attrs, "server.") || !strings.HasSuffix(spans[1].Attrs, "=200"+tt.want) {
				t.Errorf("got the spans %v, want %q at the end of the attempt's attributes only", spans, tt.want)
			}
			for attrs := range metrics["http.client.request.duration s"] {
				if !strings.HasSuffix(attrs, "=200"+tt.want) {
					t.Errorf("got the attributes %s of the metric, want %q at the end", attrs, tt.want)
				}
			}
			delete(metrics, "http.client.request.duration s")
			if text := fmt.Sprint(metrics); strings.Contains(text, "server.") {
				t.Errorf("got the metrics %s, want no server", text)
			}
		})
	}
}

// No provider means the global one.
func TestNew_global(t *testing.T) {
	t.Parallel()
	e, store := newExported(), commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	otel.SetTracerProvider(e.tracers)
	otel.SetMeterProvider(e.meters)
	if err := callList(t.Context(), store.Client(commerce.WithObserver(otelcommerce.New(nil, nil)))); err != nil {
		t.Fatal(err)
	}
	if spans, metrics := e.all(t), e.metrics(t); len(spans) != 2 || len(metrics) < 2 {
		t.Errorf("got %d spans and %d metrics, want 2 and at least 2", len(spans), len(metrics))
	}
}

var errBroken = errors.New("broken")

type brokenProvider struct{ noop.MeterProvider }

func (brokenProvider) Meter(string, ...metric.MeterOption) metric.Meter { return broken{} }

// broken creates no instrument.
type broken struct{ noop.Meter }

func (broken) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return nil, errBroken
}

func (broken) Float64Counter(string, ...metric.Float64CounterOption) (metric.Float64Counter, error) {
	return nil, errBroken
}

func (broken) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return nil, errBroken
}

func TestNew_broken(t *testing.T) {
	t.Parallel()
	var handled atomic.Int32
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if errors.Is(err, errBroken) {
			handled.Add(1)
		}
	}))
	e, store := newExported(), commercetest.New(t, commercetest.Config{DiscountsEnabled: true})
	store.Inject(commercetest.Fault{Status: 503})
	client := store.Client(commerce.WithObserver(otelcommerce.New(e.tracers, brokenProvider{})),
		commerce.WithRetry(commerce.RetryPolicy{MinBackoff: time.Nanosecond, MaxBackoff: time.Nanosecond}))
	if err := callList(t.Context(), client); err != nil {
		t.Error(err)
	}
	if err := callAdd(t.Context(), client); err == nil {
		t.Error("got no error for a cart without items")
	}
	if got := handled.Load(); got != 6 {
		t.Errorf("got %d errors, want one for each of 6 instruments", got)
	}
	if got := len(e.all(t)); got != 5 {
		t.Errorf("got %d spans, want 5", got)
	}
}
