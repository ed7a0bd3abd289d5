package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/otelcommerce"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scrape returns the samples of the library, with their values.
func scrape(t *testing.T, address string) map[string]string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{commercetest.DefaultToken, "canary", "127.0.0.1", "store.example", "/v2"} {
		if strings.Contains(strings.ToLower(string(text)), secret) {
			t.Errorf("the metrics hold %q:\n%s", secret, text)
		}
	}
	samples := map[string]string{}
	// Labels of the scope are the same in all samples.
	labels := regexp.MustCompile(`,?otel_scope_[a-z_]+="[^"]*"`)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if strings.HasPrefix(name, "commerce_") || strings.HasPrefix(name, "http_client_") {
			samples[labels.ReplaceAllString(name, "")+"}"] = value
		}
	}
	return samples
}

// The names and values that Prometheus sees.
func TestNames(t *testing.T) {
	t.Parallel()
	registry, store := prometheus.NewRegistry(), commercetest.New(t, commercetest.Config{})
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()

	store.Seed(3)
	store.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 503, Body: "canary"},
		commercetest.Fault{Operation: commercetest.OpToken, Delay: 2 * time.Millisecond}) // a wait for the token
	client := store.Client(commerce.WithRetry(commerce.RetryPolicy{MinBackoff: time.Nanosecond}),
		commerce.WithClientCredentials(commercetest.DefaultClientID, commercetest.DefaultClientSecret), commerce.WithObserver(
			otelcommerce.New(noop.NewTracerProvider(), metric.NewMeterProvider(metric.WithReader(exporter)))))
	if _, err := client.Subscriptions.List(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := client.Carts.DeleteCustomDiscounts(t.Context(), "canary"); err != nil {
		t.Fatal(err)
	}
	const list, del = `commerce_op="Subscriptions.List"`, `commerce_op="Carts.DeleteCustomDiscounts"`
	want := map[string]string{
		`commerce_client_call_duration_seconds_count{` + list + `}`:                   "1",
		`commerce_client_call_duration_seconds_count{` + del + `}`:                    "1",
		`commerce_client_retries_total{` + list + `}`:                                 "1",
		`commerce_client_records_total{` + list + `}`:                                 "3",
		`commerce_client_writes_total{` + del + `,commerce_outcome="applied"}`:        "1",
		`commerce_client_wait_time_seconds_total{` + list + `,commerce_wait="token"}`: "positive",
	}
	want[`http_client_request_duration_seconds_count{`+list+
		`,error_type="503",http_request_method="GET",http_response_status_code="503"}`] = "1"
	got := scrape(t, server.URL)
	for name := range got {
		if strings.Contains(name, "_wait_time_") && strings.Contains(name, "token") && got[name] > "0" {
			got[name] = "positive"
		}
		if _, ok := want[name]; !ok {
			delete(got, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

// The program serves its metrics until it is interrupted.
func TestRun(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	store.Seed(3)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	address := store.URL()
	go func() { ended <- run(ctx, listener, address, commercetest.DefaultToken) }()
	samples := scrape(t, "http://"+listener.Addr().String()+"/metrics")
	const name = `commerce_client_records_total{commerce_op="Subscriptions.List"}`
	if got := samples[name]; got != "3" {
		t.Errorf("%s is %q, want 3", name, got)
	}
	interrupt()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// The README of otelcommerce shows a part of the program.
func TestREADME(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../otelcommerce/README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, sample, _ := strings.Cut(string(readme), "```go\n")
	if sample, _, _ = strings.Cut(sample, "```\n"); sample == "" || !strings.Contains(string(program), sample) {
		t.Errorf("this sample of otelcommerce/README.md is not a part of main.go:\n%s", sample)
	}
}
