// Command prometheus counts the subscriptions of a store, and serves the metrics of its requests at
// http://localhost:9464/metrics until it is interrupted. It prints the spans to the standard
// output.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/otelcommerce"
)

func main() {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "localhost:9464")
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err = run(ctx, listener, os.Getenv("COMMERCE_BASE_URL"), os.Getenv("COMMERCE_TOKEN"))
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, listener net.Listener, baseURL, token string) error {
	printed, err := stdouttrace.New()
	if err != nil {
		return err
	}
	spans := trace.NewTracerProvider(trace.WithSyncer(printed)) // with a collector: WithBatcher
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		return err
	}
	metrics := metric.NewMeterProvider(metric.WithReader(exporter))

	client, err := commerce.New(baseURL, commerce.WithToken(token),
		commerce.WithObserver(otelcommerce.New(spans, metrics)))
	if err != nil {
		return err
	}
	count := 0
	for _, err := range client.Subscriptions.All(ctx, nil) {
		if err != nil {
			return err
		}
		count++
	}
	fmt.Println("subscriptions:", count)

	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
