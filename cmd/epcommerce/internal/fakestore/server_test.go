package fakestore

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const settingsPath = "/v2/settings"

// testServer is a server of stores with 3 subscriptions.
type testServer struct{ *Server }

func newTestServer(t *testing.T, cfg Config) *testServer {
	t.Helper()
	cfg.Subscriptions, cfg.Store.MaxRequests = 3, 10_000
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &testServer{s}
}

// store returns the store of the first namespace.
func (s *testServer) store() *commercetest.Store { return s.namespaces[0].current.Load().store }

// send sends a request without a network, with the token of the store, and other headers.
func (s *testServer) send(t *testing.T, line, body string, header ...string) (status int, response string) {
	t.Helper()
	w := s.record(t, line, body, header...)
	return w.Code, w.Body.String()
}

func (s *testServer) record(t *testing.T, line, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	method, path, _ := strings.Cut(line, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost:8080"+path, strings.NewReader(body))
	header = append([]string{"Authorization: Bearer commercetest-token", "Content-Type: application/json"}, header...)
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// wantSent sends a request, and compares the status of the response. It returns the body.
func (s *testServer) wantSent(t *testing.T, line, body string, want int) string {
	t.Helper()
	status, response := s.send(t, line, body)
	if status != want {
		t.Errorf("%s: status %d, %s, want %d", line, status, response, want)
	}
	return response
}

// No web site reaches the store or its control, whatever name it gives itself.
func TestGuard(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		header  string
		refused string // the header that is not allowed
	}{
		{name: "IPv6", header: "Host: [::1]:8080"},
		{name: "an address, any port", header: "Host: 127.0.0.1:9000"},
		{name: "a rebound name", header: "Host: evil.example:8080", refused: "Host"},
		{name: "a name that begins with localhost", header: "Host: localhost.evil.example", refused: "Host"},
		{name: "a name that ends in localhost", header: "Host: evil.localhost", refused: "Host"},
		{name: "a name that begins with an address", header: "Host: 127.0.0.1.evil.example", refused: "Host"},
		{name: "an address of the machine", header: "Host: 192.0.2.1:8080", refused: "Host"},
		{name: "no host", header: "Host: ", refused: "Host"},

		{name: "the store's own page", header: "Origin: http://localhost:8080"},
		{name: "a site", header: "Origin: https://evil.example", refused: "Origin"},
		{name: "a site without a name", header: "Origin: null", refused: "Origin"},
		{name: "a site on this machine", header: "Origin: http://localhost:3000", refused: "Origin"},
		{name: "typed by a person", header: "Sec-Fetch-Site: none"},
		{name: "from the store's own page", header: "Sec-Fetch-Site: same-origin"},
		{name: "an image of a site", header: "Sec-Fetch-Site: cross-site", refused: "Sec-Fetch-Site"},
		{name: "of a site on this machine", header: "Sec-Fetch-Site: same-site", refused: "Sec-Fetch-Site"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t, Config{})
			want := http.StatusOK
			if tt.refused != "" {
				want = http.StatusForbidden
			}
			for _, line := range []string{"GET " + settingsPath, "GET /_store/requests"} {
				status, body := s.send(t, line, "", tt.header)
				if status != want || !strings.Contains(body, tt.refused) {
					t.Errorf("%s: status %d, %s, want %d %s", line, status, body, want, tt.refused)
				}
			}
			if reached := len(s.store().Requests()) > 0; reached != (tt.refused == "") {
				t.Errorf("the request reached the store: %t", reached)
			}
		})
	}
}

// A fault is met by the requests that fit it, and the list says how often.
func TestFaults_match(t *testing.T) {
	t.Parallel()
	store := newTestServer(t, Config{}).store() // each has the same ids
	cart, other := store.Carts()[0], store.AddCart(commerce.CartItemRef{})
	discount := `{"data":[{"type":"custom_discount","amount":-1,"description":"d","discount_code":"c",` +
		`"discount_engine":"e","external_id":"promo-1"}]}`
	add := func(cart string) string { return "POST /v2/carts/" + cart + "/custom-discounts" }
	const settings = "GET " + settingsPath
	this, otherCart := "GET /v2/carts/"+cart, "GET /v2/carts/"+other
	for name, row := range map[string]struct {
		match        string
		met          string // a request that fits
		header, body string // of it
		passes       string // one that does not
	}{
		"path":       {match: `{"path":"/v2/carts/*"}`, met: this, passes: settings},
		"cart":       {match: `{"cart":"` + cart + `"}`, met: this, passes: otherCart},
		"item":       {match: `{"cart":"` + cart + `"}`, met: this + "/items", passes: otherCart},
		"account":    {match: `{"account":"ab-1"}`, met: settings + "?filter=ab-1", passes: settings},
		"header":     {match: `{"header":{"X-Worker":"7"}}`, met: settings, header: "X-Worker: 7", passes: settings},
		"body":       {match: `{"body":"promo-1"}`, met: add(cart), body: discount, passes: add(other)},
		"both":       {match: `{"path":"/v2/carts/*","cart":"` + cart + `"}`, met: this, passes: otherCart},
		"everything": {match: `null`, met: settings},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t, Config{})
			s.store().AddCart(commerce.CartItemRef{})
			s.wantSent(t, "POST /_store/faults", `{"status":418,"times":2,"match":`+row.match+`}`, http.StatusCreated)
			if row.passes != "" {
				if status, _ := s.send(t, row.passes, ""); status == http.StatusTeapot {
					t.Errorf("%s met the fault, want it not to", row.passes)
				}
			}
			header := []string{row.header}
			if row.header == "" {
				header = nil
			}
			if status, _ := s.send(t, row.met, row.body, header...); status != http.StatusTeapot {
				t.Errorf("%s: status %d, want %d", row.met, status, http.StatusTeapot)
			}
			if got := s.wantSent(t, "GET /_store/faults", "", http.StatusOK); !strings.Contains(got, `"met": 1`) ||
				!strings.Contains(got, `"left": 1`) {
				t.Errorf("got %s, want a fault that was met once, and is met once more", got)
			}
		})
	}
}

// The list of requests is filtered, has what was sent, and can be waited for.
func TestRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, Config{})
		cart := s.store().Carts()[0]
		busy := `{"operation":"settings","status":503,"body":"{\"busy\":true}"}`
		s.wantSent(t, "POST /_store/faults", busy, http.StatusCreated)
		s.wantSent(t, "GET "+settingsPath, "", http.StatusServiceUnavailable)
		s.wantSent(t, "GET /v2/carts/"+cart, "", http.StatusOK)
		for query, want := range map[string]string{
			"":                           `commercetest-000001 commercetest-000002`,
			"?operation=settings":        `commercetest-000001`,
			"?cart=" + cart:              `commercetest-000002`,
			"?since=commercetest-000001": `commercetest-000002`,
			"?since=commercetest-000002": ``,
		} {
			got := s.wantSent(t, "GET /_store/requests"+query, "", http.StatusOK)
			if ids := strings.Join(regexp.MustCompile(`commercetest-\d{6}`).FindAllString(got, -1), " "); ids != want {
				t.Errorf("%s: got the requests %q, want %q", query, ids, want)
			}
		}
		got := s.wantSent(t, "GET /_store/requests?operation=settings", "", http.StatusOK)
		for _, want := range []string{`"fault": 1`, `"status": 503`, `"busy": true`, `"dropped": 0`} {
			if !strings.Contains(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		for _, query := range []string{"?operatoin=add", "?operation=ad"} {
			s.wantSent(t, "GET /_store/requests"+query, "", http.StatusBadRequest)
		}
		s.wantSent(t, "GET /_store/wait?timeout=2h", "", http.StatusBadRequest)
		start := time.Now()
		time.AfterFunc(3*time.Second, func() { s.send(t, "GET "+settingsPath, "") })
		time.AfterFunc(5*time.Second, func() { s.send(t, "GET /v2/carts/"+cart, "") })
		got = s.wantSent(t, "GET /_store/wait?operation=cart&since=commercetest-000002", "", http.StatusOK)
		if waited := time.Since(start); waited != 5*time.Second || !strings.Contains(got, "commercetest-000004") {
			t.Errorf("after %v got %s, want the fourth request after 5s", waited, got)
		}
		s.wantSent(t, "DELETE /_store/requests", "", http.StatusNoContent)
		if got := s.wantSent(t, "GET /_store/requests", "", http.StatusOK); !strings.Contains(got, `"requests": []`) {
			t.Errorf("got %s, want none after DELETE", got)
		}
	})
}

func TestParseFault(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ParsedFault{
		`{"operation":"add","status":504,"apply":true,"times":1}`: {
			Fault: commercetest.Fault{Operation: commercetest.OpAdd, Status: 504, Apply: true, Times: 1},
		},
		`{"cut":true,"cut_after":100,"always":true}`: {Fault: commercetest.Fault{Cut: true, CutAfter: 100, Times: -1}},
		`{"late":true}`:                 {Fault: commercetest.Fault{Late: true, Delay: 2 * time.Second}},
		`{"late":true,"delay":"500ms"}`: {Fault: commercetest.Fault{Late: true, Delay: 500 * time.Millisecond}},
		`{"after":2,"status":429,"header":{"retry-after":"2","A":["b","c"]},"body":"slow down"}`: {Fault: commercetest.Fault{
			After: 2, Status: 429, Header: http.Header{"Retry-After": {"2"}, "A": {"b", "c"}}, Body: "slow down",
		}},
		`{"status":422,"body":{"errors":[1]}}`: {Fault: commercetest.Fault{Status: 422, Body: `{"errors":[1]}`}},
		`{"body":""}`:                          {Fault: commercetest.Fault{NoBody: true}},
		`{"status":503,"body":null}`:           {Fault: commercetest.Fault{Status: 503}},
	} {
		got, err := ParseFault(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: error = %v, want nil", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestParseFault_problems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"stauts":503}`:                       `unknown member "stauts"`,
		`{"status":503,"status":504}`:          `"status"`,
		`{"status":503,"match":{"carts":"x"}}`: `unknown member "carts"`,
		`{"status":503,"match":{"path":"["}}`:  `match.path must be a path that begins with /`,
		`{"status":"503"}`:                     `"/status"`,
		`{"delay":"2"}`:                        `"/delay"`,
		``:                                     "EOF",
		`{"apply":true}`:                       "delay, body and header are unset: the fault changes nothing",
		`{"status":503}{"status":504}`:         "after top-level value",
		`{"operation":"ad","status":503}`:      `operation must be one of ["accounts" "add" `,
		`{"status":199}`:                       "status must be 101, or 200 to 599",
		`{"status":600}`:                       "status must be 101, or 200 to 599",
		`{"status":503,"times":-1}`:            "must not be negative",
		`{"cut":true,"always":true,"times":2}`: "always must not be set with times",
		`{"apply":true,"late":true}`:           "apply must not be set with late",
	} {
		if _, err := ParseFault(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want %s", text, err, want)
		}
	}
}

func TestControl_faults(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{})
	s.wantSent(t, "POST /_store/faults", `{"operation":"settings","status":503,"always":true}`, 201)
	s.wantSent(t, "GET "+settingsPath, "", 503)
	body := s.wantSent(t, "POST /_store/faults", `{"stauts":504}`, 400)
	if !strings.Contains(body, `unknown member \"stauts\"`) {
		t.Errorf("response %s, want the name of the unknown member", body)
	}
	s.wantSent(t, "POST /_store/faults", `{"status":504}`+strings.Repeat(" ", 1<<20), 400)
	s.wantSent(t, "DELETE /_store/faults", "", 204)
	s.wantSent(t, "GET "+settingsPath, "", 200)
	s.wantSent(t, "PUT /_store/faults", "", 404)
	s.wantSent(t, "GET /_store/x", "", 404)
}

// A reset ends late writes, and leaves the store as it was at the start.
func TestControl_reset(t *testing.T) {
	t.Parallel()
	fault := commercetest.Fault{Operation: commercetest.OpSettings, Status: 503}
	s := newTestServer(t, Config{Faults: []ParsedFault{{Fault: fault}}})
	before := s.store()
	s.wantSent(t, "POST /_store/faults", `{"operation":"create cart","late":true,"delay":"1h","status":504}`, 201)
	s.wantSent(t, "POST /_store/faults", `{"status":500}`, 201)
	s.wantSent(t, "POST /_store/carts", "", 201)
	s.wantSent(t, "GET "+settingsPath, "", 503)
	s.wantSent(t, "POST /v2/carts", `{"data":{}}`, 504)
	if list := s.wantSent(t, "GET /_store/requests", "", 200); !strings.Contains(list, `"pending": 1`) {
		t.Errorf("requests %s, want a late write", list)
	}
	s.wantSent(t, "POST /_store/reset", "", 204)
	after := s.store()
	if n := before.Pending() + after.Pending() + len(after.Requests()); n > 0 {
		t.Errorf("%d requests and late writes after the reset, want none", n)
	}
	if diff := cmp.Diff(before.Carts()[:1], after.Carts()); diff != "" {
		t.Errorf("carts (-want +got):\n%s", diff)
	}
	s.wantSent(t, "GET "+settingsPath, "", 503) // the fault of the start, and no other
	s.wantSent(t, "GET "+settingsPath, "", 200)
}

// A cart of the control accepts discounts of its items.
func TestControl_carts(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{})
	ids := regexp.MustCompile(`[0-9a-f-]{36}`).FindAllString(s.wantSent(t, "POST /_store/carts", "", 201), -1)
	if len(ids) != 3 {
		t.Fatalf("ids %v, want those of a cart and two items", ids)
	}
	const discount = `{"data":{"type":"custom_discount","amount":-1,"description":"d","discount_code":"c",` +
		`"discount_engine":"e","external_id":"x"}}`
	for _, item := range ids[1:] {
		s.wantSent(t, "POST /v2/carts/"+ids[0]+"/items/"+item+"/custom-discounts", discount, 201)
	}
}

// A cart is as its body says.
func TestControl_cartFixtures(t *testing.T) {
	t.Parallel()
	const discount = `{"amount":-100,"description":"d","discount_code":"c","discount_engine":"e","external_id":"1"}`
	for body, want := range map[string]string{
		``:                            "enabled true, cart_item custom_item; promoted false",
		`{}`:                          "enabled true, cart_item custom_item; promoted false",
		`{"items":[]}`:                "enabled true,; promoted false",
		`{"discounts_enabled":false}`: "enabled false, cart_item custom_item; promoted false",
		`{"items":[{"type":"custom_item"}],"promotion":true}`: "enabled true, custom_item promotion_item; promoted true",
		`{"discounts":[` + discount + `,` + discount + `]}`:   "enabled true, cart_item custom_item; e/1 e/1 promoted false",
	} {
		s := newTestServer(t, Config{})
		id := regexp.MustCompile(`[0-9a-f-]{36}`).FindString(s.wantSent(t, "POST /_store/carts", body, http.StatusCreated))
		cart, err := s.store().Client().Carts.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("enabled %t,", cart.CustomDiscountsEnabled)
		for _, item := range cart.Items {
			got += " " + string(item.Type)
		}
		got += ";"
		for _, d := range cart.CustomDiscounts {
			got += " " + d.DiscountEngine + "/" + d.ExternalID
		}
		got += fmt.Sprintf(" promoted %t", len(cart.Items) > 0 && cart.Items[len(cart.Items)-1].Type == "promotion_item")
		if got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	s := newTestServer(t, Config{})
	for body, want := range map[string]string{
		`{"itmes":[]}`:                   `unknown member \"itmes\"`,
		`{"items":[{"type":"product"}]}`: "must be cart_item or custom_item",
		`{"discounts":[{"amount":1}]}`:   "amount must be less than zero",
		`[]`:                             "the body must be an object",
		`null`:                           "the body must be an object",
		`{"items":[{"price":"1"}]}`:      `member \"/items/0/price\" must not be a text`,
		`{} {}`:                          "not JSON that can be read: invalid character",
	} {
		if got := s.wantSent(t, "POST /_store/carts", body, http.StatusBadRequest); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	if n := len(s.store().Carts()); n != 1 {
		t.Errorf("the store has %d carts, want the one of the start", n)
	}
}

// What may hold credentials is not shown, wherever it is. All else is shown as it was sent: it is
// why a fault with match.header was met, or not.
func TestControl_requests(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{})
	const secret = "s3cr3t"
	s.send(t, "GET /v2/carts/a?include=items&include=custom_discounts&fliter=eq(a,b)&bad=%ff&token="+secret, "",
		"EP-Account-Management-Authentication-Token: "+secret, "Cookie: "+secret, "X-Session-Id: "+secret,
		"Proxy-Authorization: Basic "+secret, "Accept: a/b", "X-Worker: 7", "Idempotency-Key: k", "X-A: eyJ0.eyJ1."+secret)
	s.send(t, "POST /v2/carts?api_key="+secret+"&Client_Secret="+secret+"&X-Amz-Signature="+secret,
		`{"data":{"name":"test"}}`, "Authorization: bearer  "+secret)
	s.send(t, "POST /v2/carts", "client_secret="+secret, "Authorization: "+secret+" "+secret)
	s.send(t, "POST /oauth/access_token", `{"client_secret":"`+secret+`"}`)
	s.send(t, "POST /oauth/access_token", "grant_type=client_credentials&client_id=commercetest-id&"+
		"client_secret=commercetest-secret", "Content-Type: application/x-www-form-urlencoded")
	s.send(t, "POST /login?a;"+secret, `{"password":"`+secret+`"}`)
	list := s.wantSent(t, "GET /_store/requests", "", 200)
	if regexp.MustCompile(secret + "|commercetest-(token|secret|issued)").MatchString(list) {
		t.Errorf("requests %s, want no credentials", list)
	}
	compact := regexp.MustCompile(`\n *`).ReplaceAllString(list, "")
	for _, want := range []string{
		`"query": {"bad": ["�"],"fliter": ["eq(a,b)"],"include": ["items","custom_discounts"],"token": ["redacted"]}`,
		`"X-Worker": ["7"]`, `"Idempotency-Key": ["k"]`, `"Accept": ["a/b"]`, `"Cookie": ["redacted"]`,
		`"Authorization": ["Bearer redacted"]`, `"Authorization": ["bearer redacted"]`, `"Authorization": ["redacted"]`,
		`"Proxy-Authorization": ["Basic redacted"]`, `{"Client_Secret": ["redacted"],"X-Amz-`, `"X-A": ["redacted"]`,
		`"body": {"data": {"name": "test"}}`, `"query": {"not readable": ["redacted"]}`,
	} {
		if !strings.Contains(compact, want) {
			t.Errorf("requests %s, want %s", compact, want)
		}
	}
	if n := strings.Count(list, `"body": null`); n != 5 {
		t.Errorf("%d bodies are not shown, want 5: %s", n, list)
	}
}

// The latency is that of the store, not of its control.
func TestControl_latency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestServer(t, Config{Latency: time.Minute})
		for path, want := range map[string]time.Duration{settingsPath: time.Minute, "/_store/requests": 0} {
			begin := time.Now()
			s.wantSent(t, "GET "+path, "", 200)
			if got := time.Since(begin); got != want {
				t.Errorf("GET %s took %s, want %s", path, got, want)
			}
		}
	})
}

// header sends a request, and returns the header of the response.
func (s *testServer) header(t *testing.T, line string, header ...string) http.Header {
	t.Helper()
	return s.record(t, line, "", header...).Header()
}
