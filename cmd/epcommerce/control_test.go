package main

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce/commercetest"
)

// newTestControl returns the control of a store that has 3 subscriptions, and its handler.
func newTestControl(t *testing.T, latency time.Duration, faults ...commercetest.Fault) (*control, http.Handler) {
	t.Helper()
	c := &control{newStore: fakeStore{subscriptions: 3, faults: faults}.newStore}
	c.store.Store(c.newStore())
	t.Cleanup(func() { c.store.Load().Close() })
	return c, c.handler(latency)
}

// send sends a request to h without a network, with the token of the store, and other headers in
// pairs.
func send(t *testing.T, h http.Handler, line, body string, header ...string) (status int, response string) {
	t.Helper()
	method, path, _ := strings.Cut(line, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost:8080"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer commercetest-token")
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// wantSent sends a request, and compares the status of the response. It returns the body.
func wantSent(t *testing.T, h http.Handler, line, body string, want int) string {
	t.Helper()
	status, response := send(t, h, line, body)
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
		header  []string
		refused string // the header that is not allowed
	}{
		{name: "IPv6", header: []string{"Host", "[::1]:8080"}},
		{name: "another loopback address", header: []string{"Host", "127.8.9.1:8080"}},
		{name: "an address, any port", header: []string{"Host", "127.0.0.1:9000"}},
		{name: "a rebound name", header: []string{"Host", "evil.example:8080"}, refused: "Host"},
		{name: "a name that begins with localhost", header: []string{"Host", "localhost.evil.example"}, refused: "Host"},
		{name: "a name that ends in localhost", header: []string{"Host", "evil.localhost"}, refused: "Host"},
		{name: "a name that begins with an address", header: []string{"Host", "127.0.0.1.evil.example"}, refused: "Host"},
		{name: "an address of the machine", header: []string{"Host", "192.0.2.1:8080"}, refused: "Host"},
		{name: "no host", header: []string{"Host", ""}, refused: "Host"},

		{name: "the store's own page", header: []string{"Origin", "http://localhost:8080"}},
		{name: "a site", header: []string{"Origin", "https://evil.example"}, refused: "Origin"},
		{name: "a site without a name", header: []string{"Origin", "null"}, refused: "Origin"},
		{name: "a site on this machine", header: []string{"Origin", "http://localhost:3000"}, refused: "Origin"},
		{name: "other scheme", header: []string{"Origin", "https://localhost:8080"}, refused: "Origin"},
		{name: "typed by a person", header: []string{"Sec-Fetch-Site", "none"}},
		{name: "from the store's own page", header: []string{"Sec-Fetch-Site", "same-origin"}},
		{name: "an image of a site", header: []string{"Sec-Fetch-Site", "cross-site"}, refused: "Sec-Fetch-Site"},
		{name: "of a site on this machine", header: []string{"Sec-Fetch-Site", "same-site"}, refused: "Sec-Fetch-Site"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, h := newTestControl(t, 0)
			want := http.StatusOK
			if tt.refused != "" {
				want = http.StatusForbidden
			}
			for _, line := range []string{"GET " + settingsPath, "GET /_store/requests"} {
				status, body := send(t, h, line, "", tt.header...)
				if status != want || !strings.Contains(body, tt.refused) {
					t.Errorf("%s: status %d, %s, want %d %s", line, status, body, want, tt.refused)
				}
			}
			if reached := len(c.store.Load().Requests()) > 0; reached != (tt.refused == "") {
				t.Errorf("the request reached the store: %t", reached)
			}
		})
	}
}

func TestParseFault(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]commercetest.Fault{
		`{"operation":"add","status":504,"apply":true,"times":1}`: {
			Operation: commercetest.OpAdd, Status: 504, Apply: true, Times: 1,
		},
		`{"cut":true,"cut_after":100,"always":true}`: {Cut: true, CutAfter: 100, Times: -1},
		`{"late":true}`:                 {Late: true, Delay: 2 * time.Second},
		`{"late":true,"delay":"500ms"}`: {Late: true, Delay: 500 * time.Millisecond},
		`{"after":2,"status":429,"header":{"Retry-After":["2"]},"body":"slow down"}`: {
			After: 2, Status: 429, Header: http.Header{"Retry-After": {"2"}}, Body: "slow down",
		},
	} {
		got, err := parseFault(strings.NewReader(text))
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
		`{"Status":503}`:                       `unknown member "Status"`,
		`{"status":503,"status":504}`:          `"status"`,
		`{"status":"503"}`:                     `"/status"`,
		`{"delay":"2"}`:                        `"/delay"`,
		`{"header":{"A":"b"}}`:                 `"/header/A"`,
		``:                                     "EOF",
		`{"apply":true}`:                       "at least one of status, cut, late, delay, body and header",
		`{"status":503}{"status":504}`:         "after top-level value",
		`{"operation":"ad","status":503}`:      `operation must be one of ["accounts" "add" `,
		`{"status":199}`:                       "status must be 101, or 200 to 599",
		`{"status":600}`:                       "status must be 101, or 200 to 599",
		`{"status":503,"times":-1}`:            "must not be negative",
		`{"delay":"-1s"}`:                      "must not be negative",
		`{"cut":true,"always":true,"times":2}`: "always must not be set with times",
		`{"apply":true,"late":true}`:           "apply with late",
	} {
		if _, err := parseFault(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want %s", text, err, want)
		}
	}
}

func TestControl_faults(t *testing.T) {
	t.Parallel()
	_, h := newTestControl(t, 0)
	wantSent(t, h, "POST /_store/faults", `{"operation":"settings","status":503,"always":true}`, 204)
	wantSent(t, h, "GET "+settingsPath, "", 503)
	body := wantSent(t, h, "POST /_store/faults", `{"stauts":504}`, 400)
	if !strings.Contains(body, `unknown member \"stauts\"`) {
		t.Errorf("response %s, want the name of the unknown member", body)
	}
	wantSent(t, h, "POST /_store/faults", `{"status":504}`+strings.Repeat(" ", 1<<20), 400)
	wantSent(t, h, "DELETE /_store/faults", "", 204)
	wantSent(t, h, "GET "+settingsPath, "", 200)
	wantSent(t, h, "PUT /_store/faults", "", 404)
	wantSent(t, h, "GET /_store/x", "", 404)
}

// A reset ends late writes, and leaves the store as it was at the start.
func TestControl_reset(t *testing.T) {
	t.Parallel()
	c, h := newTestControl(t, 0, commercetest.Fault{Operation: commercetest.OpSettings, Status: 503})
	before := c.store.Load()
	wantSent(t, h, "POST /_store/faults", `{"operation":"create cart","late":true,"delay":"1h","status":504}`, 204)
	wantSent(t, h, "POST /_store/faults", `{"status":500}`, 204)
	wantSent(t, h, "POST /_store/carts", "", 201)
	wantSent(t, h, "GET "+settingsPath, "", 503)
	wantSent(t, h, "POST /v2/carts", `{"data":{}}`, 504)
	if list := wantSent(t, h, "GET /_store/requests", "", 200); !strings.Contains(list, `"pending": 1`) {
		t.Errorf("requests %s, want a late write", list)
	}
	wantSent(t, h, "POST /_store/reset", "", 204)
	after := c.store.Load()
	if n := before.Pending() + after.Pending() + len(after.Requests()); n > 0 {
		t.Errorf("%d requests and late writes after the reset, want none", n)
	}
	if diff := cmp.Diff(before.Carts()[:1], after.Carts()); diff != "" {
		t.Errorf("carts (-want +got):\n%s", diff)
	}
	wantSent(t, h, "GET "+settingsPath, "", 503) // the fault of the start, and no other
	wantSent(t, h, "GET "+settingsPath, "", 200)
}

// A cart of the control accepts discounts of its items.
func TestControl_carts(t *testing.T) {
	t.Parallel()
	_, h := newTestControl(t, 0)
	ids := regexp.MustCompile(`[0-9a-f-]{36}`).FindAllString(wantSent(t, h, "POST /_store/carts", "", 201), -1)
	if len(ids) != 3 {
		t.Fatalf("ids %v, want those of a cart and two items", ids)
	}
	const discount = `{"data":{"type":"custom_discount","amount":-1,"description":"d","discount_code":"c",` +
		`"discount_engine":"e","external_id":"x"}}`
	for _, item := range ids[1:] {
		wantSent(t, h, "POST /v2/carts/"+ids[0]+"/items/"+item+"/custom-discounts", discount, 201)
	}
}

// What may hold credentials is not shown, wherever it is.
func TestControl_requests(t *testing.T) {
	t.Parallel()
	_, h := newTestControl(t, 0)
	const secret = "s3cr3t"
	send(t, h, "GET /v2/carts/a?include=items&include=custom_discounts&filter=%ff&token="+secret, "",
		"EP-Account-Management-Authentication-Token", secret, "Cookie", secret, "Accept", "a/b")
	send(t, h, "POST /v2/carts", `{"data":{"name":"test"}}`, "Authorization", "Bearer "+secret)
	send(t, h, "POST /v2/carts", "client_secret="+secret)
	send(t, h, "POST /oauth/access_token", `{"client_secret":"`+secret+`"}`)
	send(t, h, "POST /login?a;"+secret, `{"password":"`+secret+`"}`)
	list := wantSent(t, h, "GET /_store/requests", "", 200)
	if regexp.MustCompile(secret + "|commercetest-token|Bearer").MatchString(list) {
		t.Errorf("requests %s, want no credentials", list)
	}
	compact := regexp.MustCompile(`\n *`).ReplaceAllString(list, "")
	for _, want := range []string{
		`"include": ["items","custom_discounts"],"token": ["redacted"]}`, `"Accept": ["a/b"]`,
		`"Authorization": ["redacted"]`, `"body": {"data": {"name": "test"}}`, `"query": {"not readable": ["redacted"]}`,
	} {
		if !strings.Contains(compact, want) {
			t.Errorf("requests %s, want %s", compact, want)
		}
	}
	if n := strings.Count(list, `"body": null`); n != 4 {
		t.Errorf("%d bodies are not shown, want 4: %s", n, list)
	}
}

// The latency is that of the store, not of its control.
func TestControl_latency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, h := newTestControl(t, time.Minute)
		for path, want := range map[string]time.Duration{settingsPath: time.Minute, "/_store/requests": 0} {
			begin := time.Now()
			wantSent(t, h, "GET "+path, "", 200)
			if got := time.Since(begin); got != want {
				t.Errorf("GET %s took %s, want %s", path, got, want)
			}
		}
	})
}
