package fakestore

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/commerce-go/commerce/commercetest"
)

// sampleCalls has a call of each operation, with each member of its body.
var sampleCalls = map[string]string{
	"GET /_store":             "",
	"GET /_store/health":      "",
	"GET /_store/requests":    "?operation=add&cart=x&since=commercetest-000000",
	"DELETE /_store/requests": "",
	"GET /_store/wait":        "?operation=cart&cart=x&since=commercetest-000001&timeout=1ms",
	"GET /_store/events":      "",
	"GET /_store/faults":      "",
	"POST /_store/faults": `{"operation":"add","after":1,"times":2,"always":false,"apply":true,"late":false,
		"delay":"1ms","status":504,"header":{"Retry-After":["2"]},"body":"busy","cut":true,"cut_after":1,
		"match":{"path":"/v2/*","cart":"x","account":"y","header":{"A":"b"},"body":"z"}}`,
	"DELETE /_store/faults": "",
	"GET /_store/carts":     "",
	"POST /_store/carts": `{"items":[{"type":"cart_item","id":"11111111-2222-4333-8444-555555555555","price":250,
		"quantity":2}],"discounts_enabled":true,"promotion":true,
		"discounts":[{"type":"custom_discount","amount":-100,"description":"d","discount_code":"c",
		"discount_engine":"e","external_id":"1"}]}`,
	"GET /_store/subscriptions": "",
	"POST /_store/subscriptions": `{"number":2,"state":"paused","currency":"GBP",
		"account_id":"11111111-2222-4333-8444-555555555555","plan_id":"00000000-0000-0000-0000-000000000000"}`,
	"POST /_store/stubs": `{"method":"GET","path":"/v2/orders/{id}","status":203,"headers":{"X-A":"b"},
		"body":{"data":[]}}`,
	"GET /_store/namespaces": "",
	"POST /_store/namespaces": `{"name":"n","subscriptions":1,"generation":"first","token_life":"1m","page_length":3,
		"links":"objects","max_page":9,"add_status":200,"discounts_enabled":true,"empty_lists":"null",
		"promotions_stay":true,"fractional_amounts":true,"bare_prices":true,"tax_percent":20,"prices_include_tax":true,
		"errors_beside_carts":true,"cart_discount_limit":1,"item_discount_limit":1,"rate_limit":7,"rate_burst":9,
		"retry_after":"2s","close_at_once":true,"flags_follow_payment":true,"lose_overlapping_writes":true}`,
	"DELETE /_store/namespaces": "",
	"POST /_store/reset":        `{"subscriptions":2}`,
}

// Each operation does what the document says: its responses fit their schemas, and each member of
// its requests is one of the schema.
func TestOperations(t *testing.T) {
	t.Parallel()
	for _, o := range operations() {
		route := o.method + " " + o.path
		body, ok := sampleCalls[route]
		if !ok {
			t.Errorf("no test calls %s", route)
			continue
		}
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t, Config{})
			s.send(t, "POST /_store/faults", `{"operation":"cart","status":503}`)
			s.send(t, "GET /v2/carts/x", "")
			token := "commercetest-token"
			if route == "DELETE /_store/namespaces" {
				token = s.addNamespace(t, "").Token
			}
			if o.out.Kind() == reflect.String {
				return // it goes on: TestEvents reads it
			}
			query := ""
			if o.method == http.MethodGet {
				query, body = body, ""
			}
			status, text := s.send(t, route+query, body, auth(token))
			if status != o.status() {
				t.Fatalf("status %d, %s, want %d", status, text, o.status())
			}
			if o.status() != http.StatusNoContent && o.out.Kind() == reflect.Struct {
				mustFit(t, schemaOf(o.out, false), text)
			}
			if body != "" && route != "POST /_store/reset" {
				mustFit(t, schemaOf(o.in, true), body)
				mustFit(t, schemaOf(o.in, true), "{}")
				for name := range schemaOf(o.in, true).Properties {
					if !strings.Contains(body, `"`+name+`":`) {
						t.Errorf("the call does not have the member %s", name)
					}
				}
			}
		})
	}
	if len(sampleCalls) != len(operations()) {
		t.Error("a call is of no operation")
	}
}

func mustFit(t *testing.T, schema *jsonschema.Schema, text string) {
	t.Helper()
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(v); err != nil {
		t.Errorf("%s\ndoes not fit its schema: %v", text, err)
	}
}

// What Go has for faults and settings, other languages have too, but for what is code.
func TestOperations_asInGo(t *testing.T) {
	t.Parallel()
	notJSON := []string{
		"Config.ClientID", "Config.ClientSecret", "Config.Token", "Config.RandomTokens", "Config.MaxRequests",
		"Config.AfterRequest", "Fault.Match",
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[commercetest.Config](), reflect.TypeFor[commercetest.Fault]()} {
		for i := range typ.NumField() {
			field := typ.Field(i)
			name, member := typ.Name()+"."+field.Name, field.Tag.Get("json")
			if member == "" || member == "-" != slices.Contains(notJSON, name) {
				t.Errorf("%s has the JSON name %q", name, member)
			}
		}
	}
}

// The document names each operation once, and nothing that it does not have.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	var document struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Summary     string
		}
	}
	if err := json.Unmarshal(OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}
	seen, ids := 0, map[string]bool{}
	for path, methods := range document.Paths {
		for method, described := range methods {
			route := strings.ToUpper(method) + " " + path
			if _, ok := sampleCalls[route]; !ok || described.Summary == "" || ids[described.OperationID] {
				t.Errorf("%s is described as %+v", route, described)
			}
			ids[described.OperationID] = true
			seen++
		}
	}
	if document.OpenAPI != "3.1.0" || seen != len(operations()) {
		t.Errorf("OpenAPI %s with %d operations, want 3.1.0 with %d", document.OpenAPI, seen, len(operations()))
	}
	s := newTestServer(t, Config{})
	if got := s.wantSent(t, "GET /_store", "", http.StatusOK); strings.TrimSpace(got) != string(OpenAPI()) {
		t.Error("GET /_store sends another document")
	}
}

// An operation refuses what it does not know.
func TestOperations_refuse(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{})
	for _, row := range [][2]string{
		{"GET /_store/requests?operatoin=add", `unknown member \"operatoin\"`},
		{"GET /_store/requests?operation=ad", `operation must be one of [\"accounts\"`},
		{"GET /_store/requests?since=zzz", "since must be the id of a request"},
		{"GET /_store/requests?operation=ad;x=1", "the query cannot be read"},
		{"GET /_store/requests?%ff=1", "the query cannot be read"},
		{"GET /_store/carts?cart=x", `unknown member \"cart\"`},
		{"POST /_store/reset?rate_limit=2", "there must be no query"},
		{`POST /_store/reset null`, "the body must be an object"},
		{`DELETE /_store/requests {"cart":"x"}`, `unknown member \"cart\"`},
		{`DELETE /_store/faults garbage{`, "not JSON that can be read"},
		{`POST /_store/faults {"status":503,"cut_after":3}`, "cut_after must be set only with cut"},
		{`POST /_store/faults {"status":503,"match":{"path":"v2"}}`, "match.path must begin with /"},
		{`POST /_store/namespaces {"name":"a-issued-b"}`, "issued"},
		{`POST /_store/stubs {"method":"GET","path":"/v2/settings"}`, "the store has this endpoint itself"},
		{`POST /_store/stubs {"method":"GET","path":"/%6fauth/access_token"}`, "path must be"},
		{`POST /_store/stubs {"method":"GET","path":"/a","headers":{"Content-Length":"3"}}`, "headers must be"},
		{"GET /_store/requests?cart=a&cart=b", "more than once"},
		{"GET /_store/wait?timeout=2h", "timeout must be at most 1m0s"},
		{"GET /_store/wait?timeout=-1s", "timeout must be at most 1m0s"},
		{"GET /_store/wait?timeout=2", "must be a text such as"},
		{`POST /_store/subscriptions {"state":"gone"}`, "state must be one of"},
		{`POST /_store/subscriptions {"account_id":"x"}`, `member \"/account_id\"`},
		{`POST /_store/stubs {"method":"get","path":"/a"}`, "method must be"},
		{`POST /_store/stubs {"method":"GET","path":"/"}`, "path must be"},
		{`POST /_store/stubs {"method":"GET","path":"/_store/faults"}`, "path must be"},
		{`POST /_store/stubs {"method":"GET","path":"/_store"}`, "path must be"},
		{`POST /_store/stubs {"method":"GET","path":"/oauth/x"}`, "path must be"},
		{`POST /_store/stubs {"method":"GET","path":"/{x...}"}`, "path must be"},
		{`POST /_store/stubs {"method":"GET","path":"/a/{"}`, "braces but for names"},
		{`POST /_store/stubs {"method":"GET","path":"/a?b"}`, "path must be"},
		{`POST /_store/stubs {"method":"GET","path":"/a","status":101}`, "status must be"},
		{`POST /_store/stubs {"method":"GET","path":"/a","headers":{"a b":"c"}}`, "headers must be"},
		{`POST /_store/stubs {"method":"GET","path":"/a","headers":{"content-security-policy":""}}`, "headers must be"},
		{`POST /_store/stubs {"method":"GET","path":"/a","headers":{"A":"b\r\nc"}}`, "headers must be"},
	} {
		call, want := row[0], row[1]
		method, rest, _ := strings.Cut(call, " ")
		path, body, _ := strings.Cut(rest, " ")
		if text := s.wantSent(t, method+" "+path, body, http.StatusBadRequest); !strings.Contains(text, want) {
			t.Errorf("%s: got %s, want %s", call, text, want)
		}
	}
}

// A stub responds as it says, cannot act for the page, and goes with a reset.
func TestStubs(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{})
	for _, row := range []struct{ stub, line, want string }{
		{`{"method":"GET","path":"/v2/orders/{id}","body":{"data":[1]}}`, "GET /v2/orders/7", `200 {"data":[1]}`},
		{`{"method":"POST","path":"/pay","status":402,"body":"no \"money\""}`, "POST /pay", `402 no "money"`},
		{`{"method":"POST","path":"/pay","body":"yes"}`, "POST /pay", "200 yes"}, // replaced
		{`{"method":"GET","path":"/empty","status":204}`, "GET /empty", "204 "},
	} {
		s.wantSent(t, "POST /_store/stubs", row.stub, http.StatusNoContent)
		status, text := s.send(t, row.line, "")
		if got := fmt.Sprint(status, " ", text); !strings.HasPrefix(got, row.want) {
			t.Errorf("%s: got %s, want %s", row.stub, got, row.want)
		}
	}
	const page = `{"method":"GET","path":"/html","body":"<script>","headers":{"Content-Type":"text/html"}}`
	s.wantSent(t, "POST /_store/stubs", page, http.StatusNoContent)
	header := s.header(t, "GET /html")
	for name, want := range map[string]string{
		"Content-Type": "text/html", "Content-Security-Policy": "sandbox", "X-Content-Type-Options": "nosniff",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	s.wantSent(t, "POST /_store/reset", "", http.StatusNoContent)
	s.wantSent(t, "GET /html", "", http.StatusNotFound)
}

// A fault cannot make a response act for the page either.
func TestFaults_sandbox(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{Origins: []string{"https://shop.example"}})
	s.wantSent(t, "POST /_store/faults", `{"status":200,"body":"<script>","header":{"Content-Type":["text/html"],
		"Content-Security-Policy":["default-src *"],"X-Content-Type-Options":["x"],
		"Access-Control-Allow-Credentials":["true"]}}`, http.StatusNoContent)
	header := s.header(t, "GET "+settingsPath, "Origin: https://shop.example")
	for name, want := range map[string]string{
		"Content-Security-Policy": "sandbox", "X-Content-Type-Options": "nosniff", "Access-Control-Allow-Credentials": "",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

// Whatever a program sends, the list can be sent.
func TestRequests_notUTF8(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{})
	s.send(t, "GET /x?%ff&%fe", "\xff\xfe", "X-\xff: \xfe")
	var list requestList
	unmarshal(t, s.wantSent(t, "GET /_store/requests", "", http.StatusOK), &list)
	if len(list.Requests) != 1 {
		t.Errorf("%d requests, want 1", len(list.Requests))
	}
}

// A late write whose response came before it ends a wait at its timeout.
func TestWait_late(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, Config{})
		s.wantSent(t, "POST /_store/faults", `{"late":true,"delay":"8s","status":504}`, http.StatusNoContent)
		time.AfterFunc(time.Second, func() { s.send(t, "GET "+settingsPath, "") })
		text := s.wantSent(t, "GET /_store/wait?timeout=3s", "", http.StatusOK)
		if !strings.Contains(text, `"status": 504`) {
			t.Errorf("got %s, want the request whose response was sent", text)
		}
		time.Sleep(time.Minute) // the write
	})
}

// What was added without a request is listed.
func TestFixtures_listed(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{})
	s.wantSent(t, "POST /_store/carts", `{"items":[]}`, http.StatusCreated)
	var carts cartList
	unmarshal(t, s.wantSent(t, "GET /_store/carts", "", http.StatusOK), &carts)
	if len(carts.Carts) != 2 || len(carts.Carts[0].Items) != 1 || len(carts.Carts[1].Items) != 0 {
		t.Errorf("carts %+v, want the one of the start, and an empty one", carts)
	}
	s.wantSent(t, "POST /_store/subscriptions", `{"number":120,"state":"paused","currency":"GBP"}`, http.StatusCreated)
	var list subscriptionList
	unmarshal(t, s.wantSent(t, "GET /_store/subscriptions", "", http.StatusOK), &list)
	newest := list.Subscriptions[0]
	if len(list.Subscriptions) != maxListed || newest.State != "paused" || newest.Currency != "GBP" ||
		newest.ExternalRef != "order-000123" || newest.Email != "subscriber-0041@example.com" {
		t.Errorf("%d subscriptions, the first %+v, want 100, the newest first", len(list.Subscriptions), newest)
	}
}

func unmarshal(t *testing.T, text string, v any) {
	t.Helper()
	if err := readStrict(strings.NewReader(text), v); err != nil {
		t.Fatal(err)
	}
}

// A request whose response is lost has ended, and shows the cart before and after it.
func TestWait_cut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, Config{})
		cart := s.Namespaces()[0].Cart
		s.wantSent(t, "POST /_store/faults", `{"operation":"add","apply":true,"cut":true}`, http.StatusNoContent)
		time.AfterFunc(3*time.Second, func() {
			defer func() { _ = recover() }() // the connection was cut
			s.send(t, "POST /v2/carts/"+cart+"/custom-discounts", `{"data":[{"type":"custom_discount","amount":-1,
				"description":"d","discount_code":"c","discount_engine":"e","external_id":"1"}]}`)
		})
		start := time.Now()
		var list struct {
			Requests []struct {
				Status        int
				Before, After *struct{ Items, Discounts []json.RawMessage }
			}
		}
		text := s.wantSent(t, "GET /_store/wait?operation=add", "", http.StatusOK)
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited != 3*time.Second || len(list.Requests) != 1 {
			t.Fatalf("after %v got %s, want the request after 3s", waited, text)
		}
		in := list.Requests[0]
		if in.Status != 0 || in.Before == nil || in.After == nil ||
			len(in.Before.Discounts) != 0 || len(in.After.Discounts) != 1 {
			t.Errorf("got %s, want no discount before, and one after", text)
		}
	})
}

// A wait is for requests that have ended.
func TestWait_underWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, Config{})
		s.wantSent(t, "POST /_store/faults", `{"operation":"settings","delay":"5s"}`, http.StatusNoContent)
		start := time.Now()
		go s.send(t, "GET "+settingsPath, "")
		time.Sleep(time.Second)
		text := s.wantSent(t, "GET /_store/wait", "", http.StatusOK)
		if waited := time.Since(start); waited != 5*time.Second || !strings.Contains(text, `"duration_ms": 5000`) {
			t.Errorf("after %v got %s, want the request after 5s", waited, text)
		}
	})
}

// A wait ends when the server does, and does not miss a request that comes between two looks.
func TestWait_ends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, Config{})
		time.AfterFunc(time.Second, s.EndWaits)
		start := time.Now()
		s.wantSent(t, "GET /_store/wait?timeout=1m", "", http.StatusOK)
		s.wantSent(t, "GET /_store/wait?timeout=1m", "", http.StatusOK) // a new one does not wait
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("they ended after %v, want 1s", waited)
		}
	})
}

// A listener that is too slow loses its channel, and others do not wait for it.
func TestFeed(t *testing.T) {
	t.Parallel()
	var f feed
	slow, stopSlow := f.listen()
	quick, stop := f.listen()
	for i := range waiting + 1 {
		f.add(update{request: &commercetest.Request{Status: i}})
		if u := <-quick; u.request.Status != i {
			t.Fatalf("got %d, want %d", u.request.Status, i)
		}
	}
	n := 0
	for range slow {
		n++
	}
	if n != waiting {
		t.Errorf("the slow listener got %d updates before its channel was closed, want %d", n, waiting)
	}
	stopSlow()
	stop()
	f.add(update{name: "changed"})
	f.close()
	f.close()
	if len(quick) > 0 {
		t.Error("an update came after stop")
	}
	closed, stop := f.listen()
	defer stop()
	if _, ok := <-closed; ok || !f.ended() {
		t.Error("a feed that has ended has updates")
	}
}
