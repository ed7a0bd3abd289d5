package store_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/examples/internal/store"
)

func env(vars map[string]string) func(string) string {
	return func(key string) string { return vars[key] }
}

// unwanted fails the test if an embedded store is prepared.
func unwanted(t *testing.T) func(*commercetest.Store) {
	t.Helper()
	return func(*commercetest.Store) { t.Error("prepared an embedded store") }
}

func TestOpen_incompleteEnvironment(t *testing.T) {
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
		{name: "base alone", vars: map[string]string{base: ok},
			want: token + ", or " + id + " and " + secret + ", must be set too, as " + base + " is set"},
		{name: "token alone", vars: map[string]string{token: canary},
			want: base + " must be set too, as credentials are set"},
		{name: "credentials alone", vars: map[string]string{id: canary, secret: canary},
			want: base + " must be set too, as credentials are set"},
		{name: "no secret", vars: map[string]string{base: ok, id: canary},
			want: secret + " must be set too, as " + id + " is set"},
		{name: "no id", vars: map[string]string{base: ok, secret: canary},
			want: id + " must be set too, as " + secret + " is set"},
		{name: "both", vars: map[string]string{base: ok, token: canary, secret: canary},
			want: token + " must not be set together with " + id + " or " + secret},
		{name: "bad base", vars: map[string]string{base: "ftp://" + canary, token: canary}, want: "the COMMERCE_ variables " +
			"can't be used: commerce: invalid argument: base URL must start with https://"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			client, err := store.Open(env(tt.vars), &stderr, unwanted(t))
			if client != nil || err == nil {
				t.Fatalf("Open() = %v, %v, want an error", client, err)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error()+stderr.String(), canary) {
				t.Error("the error or stderr shows a value of the environment")
			}
		})
	}
}

func TestOpen_live(t *testing.T) {
	t.Parallel()
	live := commercetest.New(t, commercetest.Config{})
	live.Seed(2)
	for name, vars := range map[string]map[string]string{
		"token": {"COMMERCE_BASE_URL": live.URL(), "COMMERCE_TOKEN": commercetest.DefaultToken},
		"credentials": {
			"COMMERCE_BASE_URL":      live.URL() + "/v2",
			"COMMERCE_CLIENT_ID":     commercetest.DefaultClientID,
			"COMMERCE_CLIENT_SECRET": commercetest.DefaultClientSecret,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			client, err := store.Open(env(vars), &stderr, unwanted(t))
			if err != nil {
				t.Fatal(err)
			}
			page, err := client.Subscriptions.List(t.Context(), nil)
			if err != nil || len(page.Subscriptions) != 2 || stderr.Len() > 0 {
				t.Errorf("got %+v, error %v, %q on stderr, want 2 subscriptions", page, err, stderr.String())
			}
		})
	}
}
