package store_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/examples/internal/store"
)

func env(vars map[string]string) func(string) string {
	return func(key string) string { return vars[key] }
}

func TestOpenRefusesHalfAnEnvironment(t *testing.T) {
	t.Parallel()
	const (
		base, token = "COMMERCE_BASE_URL", "COMMERCE_TOKEN"
		id, secret  = "COMMERCE_CLIENT_ID", "COMMERCE_CLIENT_SECRET"
		canary      = "canary-5f2e"
	)
	const ok = "https://store.example"
	tests := []struct {
		name string
		vars map[string]string
		want string
	}{
		{"base alone", map[string]string{base: ok}, "COMMERCE_TOKEN, or COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET, must be set too, as COMMERCE_BASE_URL is set"},
		{"token alone", map[string]string{token: canary}, "COMMERCE_BASE_URL must be set too, as credentials are set"},
		{"credentials alone", map[string]string{id: canary, secret: canary}, "COMMERCE_BASE_URL must be set too, as credentials are set"},
		{"no secret", map[string]string{base: ok, id: canary}, "COMMERCE_CLIENT_SECRET must be set too, as COMMERCE_CLIENT_ID is set"},
		{"no id", map[string]string{base: ok, secret: canary}, "COMMERCE_CLIENT_ID must be set too, as COMMERCE_CLIENT_SECRET is set"},
		{"both", map[string]string{base: ok, token: canary, secret: canary}, "COMMERCE_TOKEN must not be set together with COMMERCE_CLIENT_ID or COMMERCE_CLIENT_SECRET"},
		{"bad base", map[string]string{base: "ftp://" + canary, token: canary}, "the COMMERCE_ variables can't be used: commerce: invalid argument: base URL must start with https://"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			client, err := store.Open(env(tt.vars), &stderr, func(*commercetest.Store) { t.Error("prepared an embedded store") })
			if client != nil || err == nil {
				t.Fatalf("Open: %v, %v, want an error", client, err)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error()+stderr.String(), canary) {
				t.Error("a value of the environment is shown")
			}
		})
	}
}

func TestOpenEmbedded(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	client, err := store.Open(env(nil), &stderr, func(s *commercetest.Store) { s.Seed(3) })
	if err != nil {
		t.Fatal(err)
	}
	page, err := client.Subscriptions.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(page.Subscriptions); got != 3 {
		t.Errorf("%d subscriptions, want 3", got)
	}
	if !strings.Contains(stderr.String(), "embedded fake store") {
		t.Errorf("stderr %q does not say which store it is", stderr.String())
	}
}

func TestOpenLive(t *testing.T) {
	t.Parallel()
	live := commercetest.NewStore(commercetest.Config{})
	t.Cleanup(live.Close)
	live.Seed(2)
	for name, vars := range map[string]map[string]string{
		"token":       {"COMMERCE_BASE_URL": live.URL(), "COMMERCE_TOKEN": commercetest.DefaultToken},
		"credentials": {"COMMERCE_BASE_URL": live.URL() + "/v2", "COMMERCE_CLIENT_ID": commercetest.DefaultClientID, "COMMERCE_CLIENT_SECRET": commercetest.DefaultClientSecret},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			client, err := store.Open(env(vars), &stderr, func(*commercetest.Store) { t.Error("prepared an embedded store") })
			if err != nil {
				t.Fatal(err)
			}
			page, err := client.Subscriptions.List(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(page.Subscriptions); got != 2 {
				t.Errorf("%d subscriptions, want 2", got)
			}
			if stderr.Len() > 0 {
				t.Errorf("stderr %q, want nothing", stderr.String())
			}
		})
	}
}

// refusal is a limiter that lets nothing through.
type refusal struct{}

func (refusal) Wait(context.Context) error { return errors.New("no more requests") }

func TestOpenWithOptions(t *testing.T) {
	t.Parallel()
	for name, vars := range map[string]map[string]string{
		"embedded": nil,
		"live":     {"COMMERCE_BASE_URL": "https://store.example", "COMMERCE_TOKEN": commercetest.DefaultToken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, err := store.Open(env(vars), &bytes.Buffer{}, func(*commercetest.Store) {}, commerce.WithLimiter(refusal{}))
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Subscriptions.List(t.Context(), nil)
			if failed := (*commerce.Error)(nil); !errors.As(err, &failed) || failed.Attempts != 0 {
				t.Errorf("List: %v, want an error before any attempt", err)
			}
		})
	}
}
