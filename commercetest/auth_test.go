package commercetest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// form writes a token request as the documentation has it.
func form(body string) string {
	return fmt.Sprintf("POST /oauth/access_token HTTP/1.1\r\nHost: store.test\r\n"+
		"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

const goodForm = "grant_type=client_credentials&client_id=commercetest-id&client_secret=commercetest-secret"

func TestTokenRefusals(t *testing.T) {
	t.Parallel()
	const (
		wrong = `{"errors":[{"status":"401","title":"Unauthorized","detail":"The client credentials are not valid"}]}`
		grant = `{"errors":[{"status":"400","title":"Bad Request","detail":"grant_type must be client_credentials"}]}`
		body  = `{"errors":[{"status":"400","title":"Bad Request","detail":"The body must be a form"}]}`
	)
	for _, tt := range []struct {
		name, raw string
		status    int
		want      string
	}{
		{"wrong secret", form(goodForm + "x"), 401, wrong},
		{"wrong id", form(strings.Replace(goodForm, "commercetest-id", "me", 1)), 401, wrong},
		{"no credentials", form("grant_type=client_credentials"), 401, wrong},
		{"other grant", form(strings.Replace(goodForm, "client_credentials", "implicit", 1)), 400, grant},
		{"empty", form(""), 400, grant},
		{"bad escape", form("%zz"), 400, body},
		{"JSON", strings.Replace(form(goodForm), "application/x-www-form-urlencoded", "application/json", 1), 400, body},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
				wantJSON(t, send(commercetest.NewStore(commercetest.Config{}), tt.raw), tt.status, tt.want)
			})
		})
	}
}

func TestConfiguredCredentials(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
		store := commercetest.NewStore(commercetest.Config{ClientID: "i d", ClientSecret: "s&=", Token: "mine"})
		if a := send(store, form("grant_type=client_credentials&client_id=i+d&client_secret=s%26%3D")); a.Status != 200 {
			t.Errorf("status %d for the store's credentials", a.Status)
		}
		if a := send(store, form(goodForm)); a.Status != 401 {
			t.Errorf("status %d for the default credentials, want 401", a.Status)
		}
		settings := get("/v2/settings")
		if a := send(store, settings); a.Status != 401 {
			t.Errorf("status %d for the default token, want 401", a.Status)
		}
		if a := send(store, strings.Replace(settings, "Bearer commercetest-token", "bearer mine", 1)); a.Status != 200 {
			t.Errorf("status %d for the store's token", a.Status)
		}
	})
}

func TestTokenExpires(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  commercetest.Config
		life time.Duration
		told int // in seconds
	}{
		{"default", commercetest.Config{}, time.Hour, 3600},
		{"set", commercetest.Config{TokenLife: 90 * time.Second}, 90 * time.Second, 90},
		{"told in whole seconds", commercetest.Config{TokenLife: 2*time.Second - 1}, 2*time.Second - 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := commercetest.NewStore(tt.cfg)
				send := func(raw string) wireAnswer {
					t.Helper()
					a, err := overTransport(t, store, raw)
					if err != nil {
						t.Fatal(err)
					}
					return a
				}
				a := send(form(goodForm))
				wantJSON(t, a, 200, fmt.Sprintf(`{"access_token":"commercetest-issued-000001","token_type":"Bearer","expires_in":%d,"expires":%d,"identifier":"client_credentials"}`,
					tt.told, time.Now().Add(tt.life).Unix()))
				settings := strings.Replace(get("/v2/settings"), "commercetest-token", "commercetest-issued-000001", 1)
				for _, wait := range []time.Duration{0, tt.life - time.Nanosecond} {
					time.Sleep(wait)
					if a := send(settings); a.Status != 200 {
						t.Errorf("status %d after %v more, want 200", a.Status, wait)
					}
				}
				time.Sleep(time.Nanosecond)
				wantJSON(t, send(settings), 401, `{"errors":[{"status":"401","title":"Unable to validate access token"}]}`)
				if a := send(get("/v2/settings")); a.Status != 200 {
					t.Errorf("status %d for the static token, which does not expire", a.Status)
				}
			})
		})
	}
}

// TestClientRenewsToken holds that the library gets another token before one
// expires, and after one was refused.
func TestClientRenewsToken(t *testing.T) {
	t.Parallel()
	const token = "/oauth/access_token"
	for _, tt := range []struct {
		name  string
		life  time.Duration
		fault commercetest.Fault
		wait  time.Duration // between two calls
		want  []string
	}{
		{"still good", time.Hour, commercetest.Fault{}, 30 * time.Minute, []string{token, listPath, listPath}},
		{"expired between the calls", 0, commercetest.Fault{}, 2 * time.Hour, []string{token, listPath, token, listPath}},
		{
			"expires under way, and is refused", 20 * time.Second, commercetest.Fault{Operation: commercetest.OpList, Delay: 25 * time.Second}, 0,
			[]string{token, listPath, token, listPath, listPath},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := commercetest.NewStore(commercetest.Config{TokenLife: tt.life})
				store.Inject(tt.fault)
				cfg := store.Config()
				client := store.Client(commerce.WithClientCredentials(cfg.ClientID, cfg.ClientSecret))
				for range 2 {
					if _, err := client.Subscriptions.List(t.Context(), nil); err != nil {
						t.Error(err)
					}
					time.Sleep(tt.wait)
				}
				var paths []string
				tokens := map[string]bool{}
				for _, r := range store.Requests() {
					paths = append(paths, r.Path)
					if r.Path == listPath {
						tokens[r.Header.Get("Authorization")] = true
					}
				}
				if diff := cmp.Diff(tt.want, paths); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				issued := 0
				for _, path := range tt.want {
					if path == token {
						issued++
					}
				}
				if len(tokens) != issued {
					t.Errorf("%d tokens used, want %d", len(tokens), issued)
				}
			})
		})
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  commercetest.Config
		want string
	}{
		{"defaults", commercetest.Config{}, `{"data":{"type":"settings","page_length":25,"custom_discount_limit":5}}`},
		{"set", commercetest.Config{PageLength: 100, CartDiscountLimit: 8}, `{"data":{"type":"settings","page_length":100,"custom_discount_limit":8}}`},
		{"not enabled", commercetest.Config{CartDiscountLimit: -1}, `{"data":{"type":"settings","page_length":25,"custom_discount_limit":0}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
				wantJSON(t, send(commercetest.NewStore(tt.cfg), get("/v2/settings")), 200, tt.want)
			})
		})
	}
}
