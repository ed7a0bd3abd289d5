package commercetest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	synctest.Test(t, func(t *testing.T) {
		store := commercetest.NewStore(commercetest.Config{})
		send := func(raw string) wireAnswer {
			t.Helper()
			a, err := overTransport(t, store, raw)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		a := send(form(goodForm))
		wantJSON(t, a, 200, fmt.Sprintf(`{"access_token":"commercetest-issued-000001","token_type":"Bearer","expires_in":3600,"expires":%d,"identifier":"client_credentials"}`,
			time.Now().Add(time.Hour).Unix()))
		var token struct {
			AccessToken string `json:"access_token"`
		}
		if err := json.Unmarshal([]byte(a.Body), &token); err != nil {
			t.Fatal(err)
		}
		settings := strings.Replace(get("/v2/settings"), "commercetest-token", token.AccessToken, 1)
		for _, step := range []struct {
			wait   time.Duration
			status int
		}{{0, 200}, {time.Hour - time.Nanosecond, 200}, {time.Nanosecond, 401}} {
			time.Sleep(step.wait)
			if a := send(settings); a.Status != step.status {
				t.Errorf("status %d after %v more, want %d", a.Status, step.wait, step.status)
			}
		}
		if a := send(get("/v2/settings")); a.Status != 200 {
			t.Errorf("status %d for the static token, which does not expire", a.Status)
		}
	})
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
