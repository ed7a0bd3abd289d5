// Package ensure_test checks the promise of EnsureCustomDiscounts over the public API:
// whatever becomes of requests, responses and processes, each wanted discount is on the cart
// exactly once in the end.
package ensure_test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

func TestMain(m *testing.M) {
	if config := os.Getenv(childVariable); config != "" {
		os.Exit(runChild(config))
	}
	goleak.VerifyTestMain(m)
}

// settings returns how long a chaos test lasts (CHAOS), and its seed (CHAOS_SEED).
func settings(t *testing.T) (time.Duration, uint64) {
	t.Helper()
	duration, seed := 2*time.Second, rand.Uint64()
	var err error
	if s := os.Getenv("CHAOS"); s != "" {
		if duration, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	if s := os.Getenv("CHAOS_SEED"); s != "" {
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return duration, seed
}

// impatient gives up soon, so that late writes are applied after it.
var impatient = commerce.WithRetry(commerce.RetryPolicy{
	MaxAttempts: 4, MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond, AttemptTimeout: attemptTimeout,
})

// withoutItems returns a transport like base whose responses leave out the items of the cart.
func withoutItems(base http.RoundTripper) http.RoundTripper {
	return calls.Transport(func(req *http.Request) (*http.Response, error) {
		resp, err := base.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		r := reply{body: string(text)}.edit(removeItems)
		edited := *resp
		edited.Body, edited.ContentLength = io.NopCloser(strings.NewReader(r.body)), int64(len(r.body))
		return &edited, err
	})
}

func removeItems(body map[string]any) {
	if included, ok := body["included"].(map[string]any); ok {
		delete(included, "items")
	}
}
