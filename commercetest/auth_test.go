package commercetest_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce/commercetest"
)

func TestIssueToken_refusals(t *testing.T) {
	t.Parallel()
	const (
		badCredentials = `"status":"401","title":"Unauthorized","detail":"The client credentials are not valid"`
		badGrant       = `"status":"400","title":"Bad Request","detail":"grant_type must be client_credentials or implicit"`
		badForm        = `"status":"400","title":"Bad Request","detail":"The body must be a form"`
	)
	asJSON := strings.Replace(postForm(validForm), "application/x-www-form-urlencoded", "application/json", 1)
	otherID := strings.Replace(validForm, "commercetest-id", "me", 1)
	otherGrant := strings.Replace(validForm, "client_credentials", "password", 1)
	for _, tt := range []struct {
		name, raw string
		status    int
		want      string
	}{
		{name: "wrong secret", raw: postForm(validForm + "x"), status: 401, want: badCredentials},
		{name: "wrong id", raw: postForm(otherID), status: 401, want: badCredentials},
		{name: "no credentials", raw: postForm("grant_type=client_credentials"), status: 401, want: badCredentials},
		{name: "other grant", raw: postForm(otherGrant), status: 400, want: badGrant},
		{name: "implicit, wrong id", raw: postForm("grant_type=implicit&client_id=me"), status: 401, want: badCredentials},
		{name: "empty", raw: postForm(""), status: 400, want: badGrant},
		{name: "bad escape", raw: postForm("%zz"), status: 400, want: badForm},
		{name: "JSON", raw: asJSON, status: 400, want: badForm},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp := send(t, commercetest.NewStore(commercetest.Config{DiscountsEnabled: true}), tt.raw)
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
				cfg := commercetest.Config{DiscountsEnabled: true, ClientID: "i d", ClientSecret: "s&=", Token: "mine"}
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
				store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true, TokenLife: tt.life})
				wantJSON(t, send(t, store, postForm(validForm)), 200, fmt.Sprintf(
					`{"access_token":"commercetest-issued-000001","token_type":"Bearer","expires_in":%d,"expires":%d,`+
						`"identifier":"client_credentials"}`, tt.expiresIn, time.Now().Add(tt.want).Unix()))

				issued := strings.Replace(get(settingsPath), "commercetest-token", "commercetest-issued-000001", 1)
				wantEqual(t, "status of a new token", send(t, store, issued).Status, 200)
				time.Sleep(tt.want - time.Nanosecond)
				wantEqual(t, "status before the expiry", send(t, store, issued).Status, 200)
				time.Sleep(time.Nanosecond)
				wantJSON(t, send(t, store, issued), 401, `{"errors":[{"status":401,"title":"Unable to validate access token"}]}`)
				wantEqual(t, "status of the configured token", send(t, store, get(settingsPath)).Status, 200)
			})
		})
	}
}

const (
	implicitForm  = "grant_type=implicit&client_id=commercetest-id"
	accountHeader = "EP-Account-Management-Authentication-Token"
)

// shopper returns a request with the first token that the store issued, and with the token
// of an account, which may be empty.
func shopper(raw, accountToken string) string {
	header := "Authorization: Bearer commercetest-issued-000001\r\n"
	if accountToken != "" {
		header += accountHeader + ": " + accountToken + "\r\n"
	}
	return strings.Replace(raw, bearer, header, 1)
}

func TestIssueToken_implicit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
		wantJSON(t, send(t, store, postForm(implicitForm)), 200, fmt.Sprintf(
			`{"access_token":"commercetest-issued-000001","token_type":"Bearer","expires_in":3600,"expires":%d,`+
				`"identifier":"implicit"}`, time.Now().Add(time.Hour).Unix()))
		wantEqual(t, "status of a new token", send(t, store, shopper(get(settingsPath), "")).Status, 200)
		time.Sleep(time.Hour)
		wantEqual(t, "status after the expiry", send(t, store, shopper(get(settingsPath), "")).Status, 401)
	})
}

// An implicit token may use carts, items and reads, but not write discounts and settings.
func TestImplicitToken(t *testing.T) {
	t.Parallel()
	const (
		forbidden        = `"detail":"An implicit token does not allow this request"`
		discountPath     = cartPath + "/custom-discounts/" + firstID
		itemDiscountPath = itemPath + "/custom-discounts/" + secondID
		update           = `{"data":{"type":"custom_discount"}}`
	)
	for _, tt := range []struct {
		name, raw string
		status    int
	}{
		{name: "create a cart", raw: post("/v2/carts", `{"data":{}}`), status: 201},
		{name: "read a cart", raw: get(cartPath + "?include=items,custom_discounts"), status: 200},
		{name: "update a cart", raw: put(cartPath, `{"data":{}}`), status: 200},
		{name: "delete a cart", raw: del(cartPath), status: 204},
		{
			name: "add an item", raw: post(cartPath+"/items", `{"data":{"type":"cart_item","id":"p","quantity":1}}`),
			status: 201,
		},
		{name: "read items", raw: get(cartPath + "/items"), status: 200},
		{name: "delete an item", raw: del(itemPath), status: 200},
		{name: "check out", raw: post(cartPath+"/checkout", checkout("")), status: 201},
		{name: "read orders", raw: get(ordersPath), status: 200},
		{name: "read settings", raw: get(settingsPath), status: 200},
		{name: "read currencies", raw: get("/v2/currencies"), status: 200},
		{name: "read cart settings", raw: get("/v2/settings/cart"), status: 200},
		{name: "unknown path", raw: get("/v2/nothing"), status: 404},
		{name: "add a discount", raw: addRequest(onCartA), status: 403},
		{name: "add a discount of an item", raw: post(itemPath+"/custom-discounts", update), status: 403},
		{name: "update a discount", raw: put(discountPath, update), status: 403},
		{name: "update a discount of an item", raw: put(itemDiscountPath, update), status: 403},
		{name: "delete a discount", raw: del(discountPath), status: 403},
		{name: "delete a discount of an item", raw: del(itemDiscountPath), status: 403},
		{name: "delete all discounts", raw: del(cartPath + "/custom-discounts"), status: 403},
		{name: "change the settings", raw: put("/v2/settings/cart", `{"data":{"type":"settings"}}`), status: 403},
		{name: "list accounts", raw: get(accountsPath), status: 403},
		{name: "list subscribers", raw: get("/v2/subscriptions/subscribers"), status: 403},
		{name: "list invoices", raw: get("/v2/subscriptions/invoices"), status: 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachSender(t, func(t *testing.T, send sendFunc) {
				store := newCart(t, commercetest.Config{})
				send(store, postForm(implicitForm))
				send(store, addRequest(onCartA, item))
				resp := send(store, shopper(tt.raw, store.AccountToken(uuid.MustParse(account1))))
				wantEqual(t, "status", resp.Status, tt.status)
				if tt.status == 403 {
					wantJSON(t, resp, 403, `{"errors":[{"status":"403","title":"Forbidden",`+forbidden+`}]}`)
					wantEqual(t, "discounts", externalIDs(store.Discounts(cartID)), []string{"a", "i"})
				}
			})
		})
	}
}

// With an implicit token, a shopper sees only the subscriptions of one account.
func TestImplicitToken_subscriptions(t *testing.T) {
	t.Parallel()
	of := func(path string, i int) string { return listPath + "/" + seededID(i) + path }
	seven := "/states/" + seededIDOf("states", 7)
	requests := []struct {
		name, raw string
		own       bool // of account 3
		status    int
	}{
		{name: "list", raw: get(listPath), own: true, status: 200},
		{name: "list of another account", raw: get(listPath + "?filter=eq(account_id," + account1 + ")"), status: 200},
		{name: "subscription", raw: get(of("", 7)), own: true, status: 200},
		{name: "subscription of another account", raw: get(of("", 8)), status: 404},
		{name: "states", raw: get(of("/states", 7)), own: true, status: 200},
		{name: "states of another account", raw: get(of("/states", 8)), status: 404},
		{name: "state", raw: get(of(seven, 7)), own: true, status: 200},
		{name: "state of another account", raw: get(of(seven, 8)), status: 404},
		{name: "pause", raw: post(of("/states", 7), newState("pause", "")), status: 204},
		{name: "pause of another account", raw: post(of("/states", 8), newState("pause", "")), status: 404},
	}
	account3 := seededAccount(t, 7)
	for _, r := range requests {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			eachSender(t, func(t *testing.T, send sendFunc) {
				store := seeded(commercetest.SecondGeneration, 12)
				send(store, postForm(implicitForm))
				before := send(store, get(of("", 8))).Body
				resp := send(store, shopper(r.raw, store.AccountToken(account3)))
				wantEqual(t, "status", resp.Status, r.status)
				if r.status == 200 {
					wantEqual(t, "shows something", !strings.HasPrefix(resp.Body, `{"data":[]`), r.own)
				}
				wantEqual(t, "the other subscription", send(store, get(of("", 8))).Body, before)
				for _, token := range []string{"", "me", uuid.NewString(), store.AccountToken(uuid.Nil), "commercetest-token"} {
					wantJSON(t, send(store, shopper(r.raw, token)), 403, `{"errors":[{"status":"403","title":"Forbidden",`+
						`"detail":"With an implicit token, the header `+accountHeader+` must have the token of an account"}]}`)
				}
			})
		})
	}
}

// The filter and the account must both match, and who paused a subscription is recorded. With
// a client-credentials token, the account has no effect.
func TestAccountToken(t *testing.T) {
	t.Parallel()
	eachSender(t, func(t *testing.T, send sendFunc) {
		store := seeded(commercetest.SecondGeneration, 12)
		send(store, postForm(implicitForm))
		token := store.AccountToken(uuid.MustParse(account1))
		list := func(raw string) []string { return decodeList(t, send(store, raw)).refs() }
		wantEqual(t, "list", list(shopper(get(listPath), token)), ofAccount1)
		filtered := get(listPath + "?filter=in(external_ref,order-000001,order-000002)&page[limit]=1")
		wantEqual(t, "filtered list", list(shopper(filtered, token)), []string{"order-000001"})
		ten := get(listPath + "?filter=" + strings.Repeat("eq(account_id,"+account1+"):", 9) + "eq(name,Amara+Okafor)")
		wantEqual(t, "list with ten conditions", list(shopper(ten, token)), ofAccount1)

		target := listPath + "/" + seededID(1)
		send(store, shopper(post(target+"/states", newState("pause", "")), token))
		wantEqual(t, "paused", describeState(t, send(store, get(target))), "pause: paused paused_at active by subscriber")

		withHeader := strings.Replace(get(listPath), bearer, bearer+accountHeader+": "+token+"\r\n", 1)
		wantEqual(t, "list of a client", list(withHeader), orders(12, 1))
	})
}

// seededID returns the id of the i-th subscription of Seed.
func seededID(i int) string { return seededIDOf("subscriptions", i) }

func seededIDOf(kind string, i int) string {
	return hashID(uuid.NameSpaceURL, fmt.Appendf(nil, "https://store.example/%s/%d", kind, i)).String()
}

// hashID returns an id made from data, as the store makes it.
func hashID(space uuid.UUID, data []byte) uuid.UUID {
	return uuid.NewHash(sha256.New(), space, data, 8)
}

// seededAccount returns the account of the i-th subscription of Seed.
func seededAccount(t *testing.T, i int) uuid.UUID {
	t.Helper()
	for sub := range seeded(commercetest.FirstGeneration, i).Subscriptions() {
		return sub.Attributes.AccountID
	}
	t.Fatalf("Seed(%d) adds nothing", i)
	return uuid.Nil
}

// The tokens that a store issues begin like its client id, so that those of several stores differ.
func TestToken_ofStore(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{ClientID: "worker-id", ClientSecret: "s"})
	form := "grant_type=client_credentials&client_id=worker-id&client_secret=s"
	if body := send(t, store, postForm(form)).Body; !strings.Contains(body, `"worker-issued-000001"`) {
		t.Errorf("got %s, want a token of the worker", body)
	}
}
