// Package ensure_test checks the promise of EnsureCustomDiscounts over the public API:
// whatever becomes of requests, responses and processes, each wanted discount is on the cart
// exactly once in the end.
package ensure_test

import (
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/commerce-go/commerce"
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
	duration, seed := time.Second, rand.Uint64()
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
	MaxAttempts: 4, MaxRefusals: 12, MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond,
	AttemptTimeout: attemptTimeout,
})

// patient has no random waits, so that a seed always gives the same requests.
var patient = commerce.WithRetry(commerce.RetryPolicy{
	MaxAttempts: 4, MaxRefusals: 12, MinBackoff: 1, MaxBackoff: 1, AttemptTimeout: attemptTimeout,
})

func newClient(t *testing.T, transport http.RoundTripper) *commerce.Client {
	t.Helper()
	client, err := commerce.New("https://store.example", commerce.WithToken("token"), patient,
		commerce.WithHTTPClient(&http.Client{Transport: transport}))
	if err != nil {
		t.Error(err)
	}
	return client
}
