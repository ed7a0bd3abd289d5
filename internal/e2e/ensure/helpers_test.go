// Package ensure_test checks the promise of EnsureCustomDiscounts over the public API:
// whatever becomes of requests, responses and processes, each wanted discount is on the cart
// exactly once in the end.
package ensure_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
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

// editor changes the bodies of requests and responses, if they are JSON objects.
type editor struct{ request, response func(body map[string]any) }

// transport returns a transport that edits what passes through base.
func (e editor) transport(base http.RoundTripper) http.RoundTripper {
	return calls.Transport(func(req *http.Request) (*http.Response, error) {
		if req.Body != nil && e.request != nil {
			req = req.Clone(req.Context())
			if err := edit(&req.Body, &req.ContentLength, e.request); err != nil {
				return nil, err
			}
		}
		resp, err := base.RoundTrip(req)
		if err == nil && e.response != nil {
			err = edit(&resp.Body, &resp.ContentLength, e.response)
		}
		return resp, err
	})
}

func edit(body *io.ReadCloser, length *int64, change func(map[string]any)) error {
	b, err := io.ReadAll(*body)
	if err := errors.Join(err, (*body).Close()); err != nil {
		return err
	}
	var object map[string]any
	if json.Unmarshal(b, &object) == nil {
		change(object)
		if b, err = json.Marshal(object); err != nil {
			return err
		}
	}
	*body, *length = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	return nil
}

func removeItems(body map[string]any) {
	if included, ok := body["included"].(map[string]any); ok {
		delete(included, "items")
	}
}
