package opentelemetry_test

import (
	"context"
	"fmt"
	"net/http"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/recipes/opentelemetry"
)

// A program uses an exporter to its collector, and http.DefaultTransport. This example
// keeps the spans in memory, and sends requests to a fake store.
func Example() {
	ctx := context.Background()
	store := commercetest.NewStore(commercetest.Config{})
	exporter, base := tracetest.NewInMemoryExporter(), store.Transport()
	credentials := commerce.WithToken(store.Config().Token)

	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	client, err := commerce.New("https://store.example", credentials,
		commerce.WithHTTPClient(&http.Client{Transport: opentelemetry.NewTransport(base, provider)}))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Subscriptions.List(ctx, &commerce.SubscriptionListOptions{
		Filter: commerce.SubscriptionFilter{Email: "ron@swanson.example"},
	})
	fmt.Println("error:", err)
	for _, span := range exporter.GetSpans() {
		fmt.Println(span.Name)
		for _, a := range span.Attributes {
			fmt.Println("   ", a.Key, a.Value.String())
		}
	}
	// Output:
	// error: <nil>
	// GET /v2/subscriptions/subscriptions
	//     http.request.method GET
	//     url.template /v2/subscriptions/subscriptions
	//     server.address store.example
	//     http.response.status_code 200
	//     http.response.header.x-request-id commercetest-000001
}
