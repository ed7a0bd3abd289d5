package commercetest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/commerce-go/commerce/commercetest"
)

func TestIssueToken_refusals(t *testing.T) {
	t.Parallel()
	const (
		badCredentials = `"status":"401","title":"Unauthorized","detail":"The client credentials are not valid"`
		badGrant       = `"status":"400","title":"Bad Request","detail":"grant_type must be client_credentials"`
		badForm        = `"status":"400","title":"Bad Request","detail":"The body must be a form"`
	)
	asJSON := strings.Replace(postForm(validForm), "application/x-www-form-urlencoded", "application/json", 1)
	otherID := strings.Replace(validForm, "commercetest-id", "me", 1)
	otherGrant := strings.Replace(validForm, "client_credentials", "implicit", 1)
	for _, tt := range []struct {
		name, raw string
		status    int
		want      string
	}{
		{name: "wrong secret", raw: postForm(validForm + "x"), status: 401, want: badCredentials},
		{name: "wrong id", raw: postForm(otherID), status: 401, want: badCredentials},
		{name: "no credentials", raw: postForm("grant_type=client_credentials"), status: 401, want: badCredentials},
		{name: "other grant", raw: postForm(otherGrant), status: 400, want: badGrant},
		{name: "empty", raw: postForm(""), status: 400, want: badGrant},
		{name: "bad escape", raw: postForm("%zz"), status: 400, want: badForm},
		{name: "JSON", raw: asJSON, status: 400, want: badForm},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp := send(t, commercetest.NewStore(commercetest.Config{}), tt.raw)
			wantJSON(t, resp, tt.status, `{"errors":[{`+tt.want+`}]}`)
		})
	}
}

func TestIssueToken_configuredCredentials(t *testing.T) {
	t.Parallel()
	settings := get(settingsPath)
	for _, tt := range []struct {
		name, raw string
		status    int
	}{
		{
			name: "configured credentials", status: 200,
			raw: postForm("grant_type=client_credentials&client_id=i+d&client_secret=s%26%3D"),
		},
		{name: "default credentials", raw: postForm(validForm), status: 401},
		{name: "configured token", raw: strings.Replace(settings, bearer, "Authorization: bearer mine\r\n", 1), status: 200},
		{name: "default token", raw: settings, status: 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachSender(t, func(t *testing.T, send sendFunc) {
				cfg := commercetest.Config{ClientID: "i d", ClientSecret: "s&=", Token: "mine"}
				wantEqual(t, "status", send(commercetest.NewStore(cfg), tt.raw).Status, tt.status)
			})
		})
	}
}

func TestIssueToken_expiry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		life      time.Duration // of the Config
		want      time.Duration
		expiresIn int // seconds
	}{
		{name: "default", life: 0, want: time.Hour, expiresIn: 3600},
		{name: "configured", life: 90 * time.Second, want: 90 * time.Second, expiresIn: 90},
		{name: "rounded down", life: 2*time.Second - 1, want: 2*time.Second - 1, expiresIn: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := commercetest.NewStore(commercetest.Config{TokenLife: tt.life})
				wantJSON(t, send(t, store, postForm(validForm)), 200, fmt.Sprintf(
					`{"access_token":"commercetest-issued-000001","token_type":"Bearer","expires_in":%d,"expires":%d,`+
						`"identifier":"client_credentials"}`, tt.expiresIn, time.Now().Add(tt.want).Unix()))

				issued := strings.Replace(get(settingsPath), "commercetest-token", "commercetest-issued-000001", 1)
				wantEqual(t, "status of a new token", send(t, store, issued).Status, 200)
				time.Sleep(tt.want - time.Nanosecond)
				wantEqual(t, "status before the expiry", send(t, store, issued).Status, 200)
				time.Sleep(time.Nanosecond)
				wantJSON(t, send(t, store, issued), 401, `{"errors":[{"status":"401","title":"Unable to validate access token"}]}`)
				wantEqual(t, "status of the configured token", send(t, store, get(settingsPath)).Status, 200)
			})
		})
	}
}
