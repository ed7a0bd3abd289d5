package fakestore

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/commerce-go/commerce/commercetest"
)

// sampleCalls has a call of each operation, with each member of its body.
var sampleCalls = map[string]string{
	"GET /_store":             "",
	"GET /_store/health":      "",
	"GET /_store/requests":    "?operation=add&cart=x&since=commercetest-000000&state=ended",
	"DELETE /_store/requests": "",
	"GET /_store/wait":        "?operation=cart&cart=x&since=commercetest-000000&state=ended&count=1&pending=0&timeout=1s",
	"GET /_store/events":      "",
	"GET /_store/faults":      "",
	"POST /_store/faults": `{"operation":"add","after":1,"times":2,"always":false,"apply":true,"late":false,
		"delay":"1ms","status":504,"header":{"Retry-After":["2"]},"body":"busy","cut":true,"cut_after":1,
		"match":{"path":"/v2/carts/*/custom-discounts","cart":"x","account":"y","header":{"A":"b"},"body":"z"}}`,
	"DELETE /_store/faults": "",
	"GET /_store/carts":     "",
	"POST /_store/carts": `{"items":[{"type":"cart_item","id":"11111111-2222-4333-8444-555555555555","price":250,
		"quantity":2,"name":"n","tax_percent":20}],"discounts_enabled":true,"promotion":true,"currency":"EUR",
		"discounts":[{"type":"custom_discount","amount":-100,"description":"d","discount_code":"c",
		"discount_engine":"e","external_id":"1"}]}`,
	"GET /_store/subscriptions": "",
	"POST /_store/subscriptions": `{"number":2,"state":"paused","currency":"GBP",
		"account_id":"11111111-2222-4333-8444-555555555555","plan_id":"00000000-0000-0000-0000-000000000000"}`,
	"POST /_store/stubs": `{"method":"GET","path":"/v2/returns/{id}","status":203,"header":{"X-A":"b"},
		"body":{"data":[]}}`,
	"GET /_store/stubs":      "",
	"GET /_store/verify":     "",
	"DELETE /_store/stubs":   "",
	"GET /_store/namespaces": "",
	"POST /_store/namespaces": `{"name":"n","subscriptions":1,"generation":"first","token_life":"1m","page_length":3,
		"links":"objects","max_page":9,"unlisted_accounts":2,"add_status":200,"discounts_enabled":true,"empty_lists":"null",
		"promotions_stay":true,"fractional_amounts":true,"bare_prices":true,"tax_percent":7.25,"prices_include_tax":true,
		"currencies":[{"code":"ABC"}],"calculation_method":"simple","totals_not_below_zero":true,"totals_lag":"2s",
		"promotion_codes":[{"code":"A","standard":true}],"standard_promotions":true,"amount_per_piece":true,"shipping":700,
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
			if route != "GET /_store/verify" {
				s.send(t, "POST /_store/stubs", `{"method":"GET","path":"/a"}`)
			}
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
		"Config.AfterRequest", "Config.OnState", "Fault.Match", "Fault.NoBody",
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
	if regexp.MustCompile(`"null",\s*"array"`).Match(OpenAPI()) {
		t.Error("the document has lists that may be null")
	}
	if document.OpenAPI != "3.1.0" || seen != len(operations()) {
		t.Errorf("OpenAPI %s with %d operations, want 3.1.0 with %d", document.OpenAPI, seen, len(operations()))
	}
	for _, op := range commercetest.Operations() { // what Go has as constants
		if !strings.Contains(string(OpenAPI()), string(op)+": "+op.Endpoints()[0]) {
			t.Errorf("the document does not have the endpoint of %s", op)
		}
	}
	s := newTestServer(t, Config{})
	if got := s.wantSent(t, "GET /_store", "", http.StatusOK); strings.TrimSpace(got) != string(OpenAPI()) {
		t.Error("GET /_store sends another document")
	}
}

// refusals are calls of operations, and what the error says.
var refusals = [][2]string{
	{"GET /_store/requests?operatoin=add", `unknown member \"operatoin\"; there are cart, operation, since, state`},
	{`POST /_store/faults {"status":503,"headers":{}}`, `there are after, always, apply, body, cut, cut_after,`},
	{`POST /_store/faults {"status":503,"match":{"carts":"x"}}`, `there are account, body, cart,`},
	{`POST /_store/faults {"status":503,"match":{}}`, "match must have a member"},
	{`POST /_store/faults {"status":503,"match":{"cart":""}}`, "match must have a member"},
	{`POST /_store/faults {"operation":"add"}`, "the fault changes nothing"},
	{`POST /_store/faults {"operation":"add","status":503,"match":{"path":"/v2/carts/{id}"}}`,
		"match.path fits no request of the operation: POST /v2/carts/{cart}/custom-discounts"},
	{`POST /_store/faults {"operation":"items","status":503,"match":{"path":"/v2/cart/*/items"}}`, "fits no request"},
	{`POST /_store/carts {"items":[{"price":1998.9999999999998}]}`,
		`member \"/items/0/price\" must be a whole number, not 1998.9999999999998`},
	{`POST /_store/carts {"items":[{"price":-1}]}`, "items: the price and the quantity of item 0 must not be negative"},
	{`POST /_store/carts {"items":[{},{"quantity":0}]}`, `member \"/items/1/quantity\" must not be 0: leave it out`},
	{`POST /_store/faults {"status":503,"times":0}`, `member \"/times\" must not be 0: leave it out`},
	{`POST /_store/faults {"status":0,"cut":true}`, `member \"/status\" must not be 0`},
	{`POST /_store/subscriptions {"number":0}`, `member \"/number\" must not be 0`},
	{`POST /_store/stubs {"method":"GET","path":"/a","status":0}`, `member \"/status\" must not be 0`},
	{`POST /_store/reset {"page_length":0}`, `member \"/page_length\" must not be 0`},
	{`POST /_store/reset {"cart_discount_limit":0}`, `member \"/cart_discount_limit\" must not be 0`},
	{`POST /_store/reset {"token_life":"0s"}`, `member \"/token_life\" must not be 0`},
	{`POST /_store/namespaces {"currencies":[{"code":"EUR","exchange_rate":0.0}]}`,
		`member \"/currencies/0/exchange_rate\"`},
	{"GET /_store/wait?timeout=0s", `member \"/timeout\" must not be 0`},
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
	{`POST /_store/faults {"status":503,"match":{"path":"v2"}}`, "match.path must be a path that begins with /"},
	{`POST /_store/faults {"status":503,"match":{"path":"/v2/carts/:id"}}`, "must be written /v2/carts/{id}"},
	{`POST /_store/faults {"status":503,"header":{"Content-Length":"3"}}`, "header must be"},
	{`POST /_store/faults {"status":503,"header":{"A":3}}`, "must be a text or a list of texts"},
	{`POST /_store/namespaces {"name":"a-issued-b"}`, "issued"},
	{`POST /_store/stubs {"method":"GET","path":"/v2/settings"}`, "the store has this endpoint itself"},
	{`POST /_store/stubs {"method":"GET","path":"/%6fauth/access_token"}`, "must have no query, no %"},
	{`POST /_store/stubs {"method":"GET","path":"/a","header":{"Content-Length":"3"}}`, "header must be"},
	{"GET /_store/requests?cart=a&cart=b", "more than once"},
	{"GET /_store/wait?timeout=2h", "timeout must be at most 1m0s"},
	{"GET /_store/wait?timeout=-1s", "timeout must be at most 1m0s"},
	{"GET /_store/wait?timeout=2", "must be a text such as"},
	{`GET /_store/wait {"operation":"add"}`, "there must be no body"},
	{`POST /_store/faults {"status":101}`, "status must be 200 to 599"},
	{`POST /_store/faults {"status":503,"header":{"A":null}}`, "must be a text or a list of texts"},
	{`POST /_store/faults {"status":503,"header":{"Transfer-Encoding":"x"}}`, "header must be"},
	{"GET /_store/wait?count=-1", "count and pending must not be negative"},
	{"GET /_store/wait?pending=-1", "count and pending must not be negative"},
	{"GET /_store/wait?count=one", `member \"/count\"`},
	{"GET /_store/requests?state=done", `state must be one of [\"in_progress\"`},
	{`POST /_store/subscriptions {"state":"gone"}`, "state must be one of"},
	{`POST /_store/subscriptions {"account_id":"x"}`, `member \"/account_id\"`},
	{`POST /_store/stubs {"method":"get","path":"/a"}`, "method must be"},
	{`POST /_store/stubs {"method":"GET","path":"/"}`, "path must not be that of all requests"},
	{`POST /_store/stubs {"method":"GET","path":"/_store/faults"}`, "path must not be that of all requests"},
	{`POST /_store/stubs {"method":"GET","path":"/_store"}`, "path must not be that of all requests"},
	{`POST /_store/stubs {"method":"GET","path":"/oauth/x"}`, "path must not be that of all requests"},
	{`POST /_store/stubs {"method":"GET","path":"/{x...}"}`, "must be written /{x}"},
	{`POST /_store/stubs {"method":"GET","path":"/a/{"}`, "must have no query, no %, and a text, {name} or *"},
	{`POST /_store/stubs {"method":"GET","path":"/a?b"}`, "must have no query, no %"},
	{`POST /_store/stubs {"method":"GET","path":"/a","status":101}`, "status must be"},
	{`POST /_store/stubs {"method":"GET","path":"/a","header":{"a b":"c"}}`, "header must be"},
	{`POST /_store/stubs {"method":"GET","path":"/a","header":{"content-security-policy":""}}`, "header must be"},
	{`POST /_store/stubs {"method":"GET","path":"/a","header":{"A":"b\r\nc"}}`, "header must be"},
}

// 0 is a value: an item may be free, and a fault late without a delay. What a response holds is not
// looked at.
func TestOperations_zero(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{})
	cart := s.wantSent(t, "POST /_store/carts", `{"items":[{"price":0},{"price":250,"tax_percent":0}]}`,
		http.StatusCreated)
	if got := regexp.MustCompile(`"formatted": "[^"]*"`).FindAllString(cart, -1); len(got) != 3 ||
		got[0] != `"formatted": "$0.00"` || got[1] != got[2] || got[2] != `"formatted": "$2.50"` {
		t.Errorf("prices %q, want $0.00, $2.50 and their sum", got)
	}
	for body, want := range map[string]time.Duration{
		`{"late":true,"delay":"0s"}`: 0, `{"late":true}`: 2 * time.Second, `{"delay":"0s","cut":true}`: 0,
		`{"body":{"status":0},"header":{"Times":"0"},"after":0,"match":{"header":{"number":"0"}}}`: 0,
	} {
		f, err := ParseFault(strings.NewReader(body))
		if err != nil || f.Delay != want {
			t.Errorf("%s: delay %v, error %v, want %v", body, f.Delay, err, want)
		}
	}
	s.wantSent(t, "GET /_store/wait?count=0", "", http.StatusOK)
	s.wantSent(t, "POST /_store/reset", `{"subscriptions":0,"tax_percent":0,"rate_limit":0,"shipping":0}`,
		http.StatusNoContent)
}

// An operation refuses what it does not know.
func TestOperations_refuse(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{})
	for _, row := range refusals {
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
		{`{"method":"GET","path":"/v2/returns/{id}","body":{"data":[1]}}`, "GET /v2/returns/7", `200 {"data":[1]}`},
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
	const page = `{"method":"GET","path":"/html","body":"<script>","header":{"Content-Type":"text/html"}}`
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

// Stubs can be listed and removed; then their paths are free.
func TestStubs_list(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{})
	const pay = `{"method":"POST","path":"/pay/*/{id}","header":{"A":["b","c"]}}`
	s.wantSent(t, "POST /_store/stubs", pay, http.StatusNoContent)
	s.wantSent(t, "POST /_store/stubs", `{"method":"GET","path":"/a","body":{"x":1}}`, http.StatusNoContent)
	s.wantSent(t, "POST /_store/stubs", `{"method":"GET","path":"/a/*/7"}`, http.StatusNoContent)
	s.wantSent(t, "POST /_store/stubs", `{"method":"GET","path":"/a/b/{x}"}`, http.StatusBadRequest) // both fit /a/b/7
	if got := s.wantSent(t, "POST /pay/x/y", "", http.StatusOK); got != "" {
		t.Errorf("got %q, want no body", got)
	}
	var list stubList
	unmarshal(t, s.wantSent(t, "GET /_store/stubs", "", http.StatusOK), &list)
	if got := fmt.Sprint(list.Stubs); len(list.Stubs) != 3 || !strings.Contains(got, "{GET /a 0 map[] {") ||
		!strings.Contains(got, "{POST /pay/*/{id} 0 map[A:[b c]] null}") {
		t.Errorf("got %s, want all", got)
	}
	s.wantSent(t, "DELETE /_store/stubs", "", http.StatusNoContent)
	s.wantSent(t, "GET /a", "", http.StatusNotFound)
	if got := s.wantSent(t, "GET /_store/stubs", "", http.StatusOK); strings.Contains(got, "path") {
		t.Errorf("got %s, want none", got)
	}
	s.wantSent(t, "POST /_store/stubs", `{"method":"GET","path":"/a/b/{x}"}`, http.StatusNoContent)
	s.wantSent(t, "GET /a/b/7", "", http.StatusOK)
}

// A stub may be removed while a request is on its way to it.
func TestStubs_removedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, Config{})
		const stub = `{"method":"GET","path":"/a"}`
		s.wantSent(t, "POST /_store/stubs", stub, http.StatusNoContent)
		s.wantSent(t, "POST /_store/faults", `{"delay":"5s"}`, http.StatusCreated)
		time.AfterFunc(time.Second, func() { s.send(t, "DELETE /_store/stubs", "") })
		s.wantSent(t, "GET /a", "", http.StatusNotFound)
		s.wantSent(t, "POST /_store/stubs", stub, http.StatusNoContent)
		s.wantSent(t, "GET /a", "", http.StatusOK)
		s.wantSent(t, "GET /_store/verify", "", http.StatusNoContent)
	})
}

// A late write counts also if the list was cleared after its response.
func TestVerify_cleared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, Config{})
		s.wantSent(t, "POST /_store/faults", `{"late":true,"delay":"5s","status":504}`, http.StatusCreated)
		s.wantSent(t, "POST /v2/carts", `{"data":{}}`, http.StatusGatewayTimeout)
		s.wantSent(t, "DELETE /_store/requests", "", http.StatusNoContent)
		text := s.wantSent(t, "GET /_store/verify", "", http.StatusConflict)
		if !strings.Contains(text, "1 requests are pending that the list does not have") {
			t.Errorf("got %s", text)
		}
		start := time.Now()
		s.wantSent(t, "GET /_store/wait?count=0&pending=0", "", http.StatusOK)
		if waited := time.Since(start); waited != 5*time.Second {
			t.Errorf("it waited %v, want 5s", waited)
		}
		s.wantSent(t, "GET /_store/verify", "", http.StatusNoContent)
	})
}

// A list shows what each fault matches, and what it sends.
func TestFaults_list(t *testing.T) {
	t.Parallel()
	byCode := commercetest.Fault{Status: 503, Match: func(commercetest.Request) bool { return false }}
	parsed, err := ParseFault(strings.NewReader(`{"status":503,"match":{"cart":"z"}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := newTestServer(t, Config{Faults: []ParsedFault{{Fault: byCode}, parsed}})
	for i, body := range []string{
		`{"status":503,"body":"","match":{"path":"/v2/*","cart":"c","account":"a","header":{"X-Worker":"7"},"body":"b"}}`,
		`{"status":504,"body":"late"}`,
	} {
		if got := s.wantSent(t, "POST /_store/faults", body, http.StatusCreated); !strings.Contains(got, fmt.Sprint(i+3)) {
			t.Errorf("POST returns %s, want the number %d", got, i+3)
		}
	}
	var list struct {
		Faults []struct {
			Number  int
			Matches string
			Body    *string
		}
	}
	if err := json.Unmarshal([]byte(s.wantSent(t, "GET /_store/faults", "", http.StatusOK)), &list); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, f := range list.Faults {
		got += fmt.Sprintf("%d %q %s\n", f.Number, f.Matches, encode(f.Body))
	}
	want := "1 \"a function\" null\n2 \"cart z\" null\n" +
		"3 \"account a, body b, cart c, header X-Worker: 7, path /v2/*\" \"\"\n4 \"\" \"late\"\n"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A list shows the last request of the operation that a fault left alone, and why: a value that
// did not match may be a secret, which no list of requests shows.
func TestFaults_missed(t *testing.T) {
	t.Parallel()
	const authorization = `{"operation":"settings","status":503,"match":{"header":{"authorization":"Bearer a"}}}`
	parsed, err := ParseFault(strings.NewReader(authorization))
	if err != nil {
		t.Fatal(err)
	}
	s := newTestServer(t, Config{Tokens: []string{"first", "second"}, Faults: []ParsedFault{parsed}})
	send := func(line, body string, header ...string) string {
		_, response := s.send(t, line, body, header...)
		return response
	}
	for _, f := range []string{
		`{"status":503,"match":{"path":"/v2/x","header":{"X-Worker":"7"}}}`,
		`{"operation":"add item","status":503,"match":{"cart":"c","account":"z","body":"b","path":"/v2/carts/*/items"}}`,
		`{"operation":"add item","status":503,"match":{"cart":"d"}}`,
		`{"operation":"settings","status":503,"after":9,"match":{"header":{"X-Worker":"7"}}}`,
	} {
		send("POST /_store/faults", f, "Authorization: Bearer first")
	}
	missed := func(token string) string {
		text := send("GET /_store/faults", "", "Authorization: Bearer "+token)
		return strings.Join(regexp.MustCompile(`"missed": ".*"`).FindAllString(text, -1), "\n")
	}
	if got := missed("first"); got != "" {
		t.Errorf("before any request: got %s, want none", got)
	}
	send("GET "+settingsPath, "", "Authorization: Bearer first")
	send("POST /v2/carts/d/items", "{}", "Authorization: Bearer first")
	send("POST /v2/carts/e/items", "{}", "Authorization: Bearer first")
	send("GET "+settingsPath, "", "Authorization: Bearer first", "X-Worker: 7")
	want := strings.Join([]string{
		`"missed": "commercetest-000004: header authorization"`, `"missed": "commercetest-000004: path"`,
		`"missed": "commercetest-000003: account, body, cart"`, `"missed": "commercetest-000001: header X-Worker"`,
	}, "\n")
	if diff := cmp.Diff(want, missed("first")); diff != "" {
		t.Errorf("missed (-want +got):\n%s", diff)
	}
	host := match{Header: map[string]string{"host": "a:1"}}
	got := host.misfits(commercetest.Request{Host: "a:1"}) + host.misfits(commercetest.Request{Host: "b"})
	if got != "header host" {
		t.Errorf("a request to the host, and one to another: %q do not fit", got)
	}
	if got := missed("second"); got != "" {
		t.Errorf("in another namespace: got %s, want none", got)
	}
	verify := send("GET /_store/verify", "", "Authorization: Bearer first")
	if !strings.Contains(verify, `commercetest-000004: header authorization`) {
		t.Errorf("verify reports %s, want why the fault was not met", verify)
	}
}

// The paths of faults and of stubs are written in one way, and what looks like another tool's is
// refused with the right one.
func TestPathPattern(t *testing.T) {
	t.Parallel()
	for path, fits := range map[pathPattern][]string{
		"/v2/carts/*":        {"/v2/carts/a", "/v2/carts/a%2Fb"},
		"/v2/carts/{cart}":   {"/v2/carts/a"},
		"/v2/{a}/x/*":        {"/v2/carts/x/a"},
		"/v2/größe":          {"/v2/gr%C3%B6%C3%9Fe", "/v2/größe"},
		"/v2/returns-1,2@3;": {"/v2/returns-1,2@3;"},
	} {
		if err := path.validate("path"); err != nil {
			t.Error(err)
		}
		for _, p := range fits {
			if !path.fits(p) {
				t.Errorf("%s does not fit %s", path, p)
			}
		}
		for _, p := range []string{"/v2/carts", "/v2/carts/", "/v2/carts/a/b", "/v2/Carts/a", "/v2//x/a", "/"} {
			if path.fits(p) {
				t.Errorf("%s fits %s", path, p)
			}
		}
	}
	for path, want := range map[pathPattern]string{
		"/v2/carts/:id":         `path "/v2/carts/:id" must be written /v2/carts/{id}`,
		"/v2/carts/:id?/items":  "must be written /v2/carts/{id}/items",
		"/v2/carts/<id>/x":      "must be written /v2/carts/{id}/x",
		"/v2/carts/<uuid:id>":   "must be written /v2/carts/{id}",
		"/v2/carts/{id}/**":     "must be written /v2/carts/{id}/*",
		"/v2/carts/{id...}":     "must be written /v2/carts/{id}",
		"/v2/carts/{id:[0-9]+}": "must be written /v2/carts/{id}",
		"/v2/carts/{id":         "must be written /v2/carts/{id}",
		"/v2/carts/id}":         "must be written /v2/carts/{id}",
		"/v2/carts/{}":          "a text, {name} or * for each part between slashes",
		"/v2/carts/a*":          "a text, {name} or * for each part between slashes",
		"/v2/carts/a{b}":        "a text, {name} or * for each part between slashes",
		"/v2/carts/a?b=c":       "must have no query, no %",
		"/v2/carts/":            "a text, {name} or * for each part between slashes",
		"/":                     "a text, {name} or * for each part between slashes",
		"v2/carts":              "must be a path that begins with /",
		"":                      "must be a path that begins with /",
		"https://a/v2":          "must be a path that begins with /",
	} {
		if err := path.validate("path"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want %s", path, err, want)
		}
	}
}

// Probes need no token and no Host, in public too. They meet no fault and are in no list.
func TestHealth(t *testing.T) {
	t.Parallel()
	for _, public := range []bool{false, true} {
		fault := ParsedFault{Fault: commercetest.Fault{Status: 503, Times: -1}}
		s := newTestServer(t, Config{Public: public, Faults: []ParsedFault{fault}})
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			r := httptest.NewRequestWithContext(t.Context(), method, "http://10.1.2.3:8080"+HealthPath, nil)
			r.Header.Set("Origin", "http://shop.example")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Errorf("%s: status %d", method, w.Code)
			}
		}
		if n := len(s.store().Requests()); n > 0 {
			t.Errorf("%d requests in the list", n)
		}
	}
}

// HEAD works wherever GET does, and a path of the control may end with a slash.
func TestHead(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{Page: true})
	for _, path := range []string{
		"/", "/_store", "/_store/", "/_store/requests", "/_store/requests/", "/_store/events", settingsPath, "/v2/carts/a",
	} {
		s.wantSent(t, "HEAD "+path, "", http.StatusOK)
	}
	s.wantSent(t, "POST /_store/carts/", "", http.StatusCreated)
}

// Only a browser that opens the page asks for a password.
func TestDriven_password(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{Page: true})
	for accept, want := range map[string]bool{"*/*": false, "application/json": false, "text/html,*/*;q=0.8": true} {
		header := s.header(t, "GET /_store/events", "Authorization: Bearer gone", "Accept: "+accept)
		if got := header.Get("WWW-Authenticate") != ""; got != want {
			t.Errorf("%s: a password is asked for: %t", accept, got)
		}
	}
}

// A fault cannot make a response act for the page either.
func TestFaults_sandbox(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{Origins: []string{"https://shop.example"}})
	s.wantSent(t, "POST /_store/faults", `{"status":200,"body":"<script>","header":{"Content-Type":"text/html",
		"Access-Control-Allow-Credentials":["true"]}}`, http.StatusCreated)
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
		s.wantSent(t, "POST /_store/faults", `{"late":true,"delay":"8s","status":504}`, http.StatusCreated)
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
		s.wantSent(t, "POST /_store/faults", `{"operation":"add","apply":true,"cut":true}`, http.StatusCreated)
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
		s.wantSent(t, "POST /_store/faults", `{"operation":"settings","delay":"5s"}`, http.StatusCreated)
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
		for range 2 { // the second does not wait
			text := s.wantSent(t, "GET /_store/wait?timeout=1m", "", http.StatusRequestTimeout)
			if !strings.Contains(text, "the namespace commercetest ended while a request waited for 1 request") {
				t.Errorf("got %s", text)
			}
		}
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("they ended after %v, want 1s", waited)
		}
	})
}

// A wait that ends without its requests is an error that says what came instead.
func TestWait_timeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, Config{})
		detail := func(query string) string {
			t.Helper()
			var list errorList
			start := time.Now()
			unmarshal(t, s.wantSent(t, "GET /_store/wait?timeout=3s"+query, "", http.StatusRequestTimeout), &list)
			if waited := time.Since(start); waited != 3*time.Second {
				t.Errorf("it waited %v, want 3s", waited)
			}
			return strings.TrimPrefix(list.Errors[0].Detail, "GET /_store/wait: ")
		}
		want := "waited 3s for 1 request, and 0 came; 0 are pending; the namespace commercetest got no request at all"
		if got := detail(""); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		s.wantSent(t, "GET "+settingsPath, "", http.StatusOK)
		s.wantSent(t, "GET /v2/carts/c", "", http.StatusOK)
		s.wantSent(t, "GET /v2/cart/d", "", http.StatusNotFound)
		s.wantSent(t, "POST /_store/faults", `{"operation":"items","delay":"1h"}`, http.StatusCreated)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { _ = recover() }() // the client goes
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/v2/carts/c/items", nil)
			r.Header.Set("Authorization", "Bearer commercetest-token")
			s.ServeHTTP(httptest.NewRecorder(), r)
		}()
		synctest.Wait()
		for query, want := range map[string]string{
			"&count=2&operation=cart&cart=c": "2 requests (operation cart, cart c), and 1 came; 0 are pending",
			"&operation=items":               "1 request (operation items), and 0 came; 1 is pending",
			"&pending=0":                     "1 request and at most 0 pending, and 3 came; 1 is pending",
			"&state=late":                    "1 request (state late), and 0 came; 1 is pending",
			"&since=commercetest-000004":     "1 request (since commercetest-000004), and 0 came",
		} {
			got := detail(query)
			if !strings.HasPrefix(got, "waited 3s for "+want) || !strings.HasSuffix(got, `; the last requests were `+
				`"cart" GET /v2/carts/c, no operation GET /v2/cart/d, "items" GET /v2/carts/c/items`) {
				t.Errorf("%s: got  %s\nwant %s", query, got, want)
			}
		}
		cancel()
		<-ended
		s.wantSent(t, "GET /_store/wait?count=4&pending=0", "", http.StatusOK)
	})
}

// Requests in progress and late writes can be listed, and waited for.
func TestWait_states(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, Config{})
		s.wantSent(t, "POST /_store/faults", `{"operation":"create cart","late":true,"delay":"8s","status":504}`,
			http.StatusCreated)
		s.wantSent(t, "POST /_store/faults", `{"operation":"settings","delay":"4s"}`, http.StatusCreated)
		updates, stop := s.namespaces[0].feed.listen()
		start := time.Now()
		time.AfterFunc(time.Second, func() { s.send(t, "POST /v2/carts", `{"data":{}}`) })
		time.AfterFunc(time.Second, func() { s.send(t, "GET "+settingsPath, "") })
		for _, row := range []struct {
			query, want string
			after       time.Duration
		}{
			{query: "?state=in_progress", want: "settings", after: time.Second},
			{query: "?state=late", want: "create cart", after: time.Second},
			{query: "?operation=settings", want: "settings", after: 5 * time.Second},
			{query: "?operation=settings&pending=0", want: "settings", after: 5 * time.Second},
			{query: "?operation=create%20cart", want: "create cart", after: 5 * time.Second}, // its response was sent
			{query: "?pending=0&operation=create%20cart", want: "create cart", after: 9 * time.Second},
			{query: "?state=ended&count=2", want: "create cart", after: 9 * time.Second},
		} {
			var list requestList
			unmarshal(t, s.wantSent(t, "GET /_store/wait"+row.query, "", http.StatusOK), &list)
			waited := time.Since(start)
			if waited != row.after || !slices.ContainsFunc(list.Requests, func(e entry) bool {
				return string(e.Operation) == row.want
			}) {
				t.Errorf("%s: after %v got %+v, want %s after %v", row.query, waited, list, row.want, row.after)
			}
		}
		stop()
		var states []string
		for range len(updates) {
			if u := <-updates; u.request != nil {
				states = append(states, fmt.Sprint(u.request.Operation, " ", u.request.State))
			}
		}
		slices.Sort(states)
		want := "create cart ended,create cart in_progress,create cart late,settings ended,settings in_progress"
		if got := strings.Join(states, ","); got != want {
			t.Errorf("events %s, want %s", got, want)
		}
		if s.store().Pending() != 0 {
			t.Error("a request is pending")
		}
	})
}

// verify names what a test forgot, one line for each.
func TestVerify(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, Config{})
		s.wantSent(t, "GET /_store/verify", "", http.StatusNoContent)
		for _, fault := range []string{
			`{"operation":"settings","status":503,"always":true}`, `{"operation":"items","status":503,"match":{"cart":"c"}}`,
			`{"operation":"create cart","late":true,"delay":"5s","status":504}`, `{"operation":"states","status":503,"times":2}`,
		} {
			s.wantSent(t, "POST /_store/faults", fault, http.StatusCreated)
		}
		s.wantSent(t, "POST /_store/stubs", `{"method":"GET","path":"/a/*"}`, http.StatusNoContent)
		verify := func() (details []string) {
			t.Helper()
			var list errorList
			unmarshal(t, s.wantSent(t, "GET /_store/verify", "", http.StatusConflict), &list)
			for _, e := range list.Errors {
				details = append(details, strings.TrimPrefix(e.Detail, "GET /_store/verify: "))
			}
			return details
		}
		const unmet = `fault %d was not met: `
		items := fmt.Sprintf(unmet, 2) + `{"operation":"items","status":503,"number":2,"met":0,"left":1,"matches":"cart c"}`
		want := []string{
			fmt.Sprintf(unmet, 1) + `{"operation":"settings","times":-1,"status":503,"number":1,"met":0,"left":-1}` +
				"; the namespace commercetest got no request at all",
			items,
			fmt.Sprintf(unmet, 3) +
				`{"operation":"create cart","late":true,"delay":"5s","status":504,"number":3,"met":0,"left":1}`,
			fmt.Sprintf(unmet, 4) + `{"operation":"states","times":2,"status":503,"number":4,"met":0,"left":2}`,
			"the stub GET /a/* was not met",
		}
		if diff := cmp.Diff(want, verify()); diff != "" {
			t.Errorf("before any request (-want +got):\n%s", diff)
		}
		s.wantSent(t, "GET "+settingsPath, "", http.StatusServiceUnavailable)
		s.wantSent(t, "GET /a/b", "", http.StatusOK)
		const states = "/v2/subscriptions/subscriptions/s/states"
		s.wantSent(t, "GET "+states, "", http.StatusServiceUnavailable)
		s.wantSent(t, "POST /v2/carts", `{"data":{}}`, http.StatusGatewayTimeout)
		want = []string{
			items + `; the last requests were no operation GET /a/b, "states" GET ` + states + `, "create cart" POST /v2/carts`,
			`fault 4 was met 1 of 2 times: ` +
				`{"operation":"states","times":2,"status":503,"number":4,"met":1,"left":1}`,
			`"create cart" POST /v2/carts is pending: GET /_store/wait?pending=0 waits for it`,
		}
		if diff := cmp.Diff(want, verify()); diff != "" {
			t.Errorf("after requests (-want +got):\n%s", diff)
		}
		s.send(t, "GET "+states, "")
		s.send(t, "GET /v2/carts/c/items", "")
		s.wantSent(t, "GET /_store/wait?pending=0", "", http.StatusOK)
		s.wantSent(t, "GET /_store/verify", "", http.StatusNoContent)
	})
}

// With several namespaces, what drives one needs its token.
func TestDriven_forgottenToken(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{Page: true})
	statuses := func() string {
		got := ""
		for _, line := range []string{
			"GET /_store/faults", "POST /_store/carts", "GET /_store/requests", "GET /_store", "GET /_store/namespaces",
			"GET /_store/health", "GET /",
		} {
			got += fmt.Sprint(s.record(t, line, "", "Authorization: ").Code, " ")
		}
		return got
	}
	if got := statuses(); got != "200 201 200 200 200 200 200 " {
		t.Errorf("with one namespace: %s", got)
	}
	own := s.addNamespace(t, "")
	if got := statuses(); got != "401 401 401 200 200 200 200 " {
		t.Errorf("with two namespaces: %s", got)
	}
	_, text := s.send(t, "GET /_store/wait?timeout=1ms", "", auth(own.Token))
	want := "the namespace " + own.Name + " got no request at all: a request without its token goes to commercetest"
	if !strings.Contains(text, want) {
		t.Errorf("got %s, want %s", text, want)
	}
}

// A reset while a request waits for pending ones ends the wait.
func TestWait_reset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, Config{})
		s.wantSent(t, "POST /_store/faults", `{"late":true,"delay":"1h","status":504}`, http.StatusCreated)
		s.wantSent(t, "POST /v2/carts", `{"data":{}}`, http.StatusGatewayTimeout)
		time.AfterFunc(time.Second, func() { s.send(t, "POST /_store/reset", "") })
		start := time.Now()
		s.wantSent(t, "GET /_store/wait?count=0&pending=0", "", http.StatusOK)
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("it waited %v, want 1s", waited)
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
