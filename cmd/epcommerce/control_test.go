package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
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

// request sends a request to h without a network.
func request(t *testing.T, h http.Handler, method, path, body string, header ...string) (status int, response string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost:8080"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+commercetest.DefaultToken)
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

// No web site reaches the store or its control, whatever name it gives itself.
func TestGuard(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		header  []string
		refused string // the header that is not allowed
	}{
		{name: "a program", header: []string{"Host", "127.0.0.1:8080"}},
		{name: "localhost", header: []string{"Host", "localhost:8080"}},
		{name: "IPv6", header: []string{"Host", "[::1]:8080"}},
		{name: "another loopback address", header: []string{"Host", "127.8.9.1:8080"}},
		{name: "no port", header: []string{"Host", "127.0.0.1"}},
		{name: "port of a tunnel", header: []string{"Host", "127.0.0.1:9000"}},
		{name: "a rebound name", header: []string{"Host", "evil.example:8080"}, refused: "Host"},
		{name: "a name that begins with localhost", header: []string{"Host", "localhost.evil.example"}, refused: "Host"},
		{name: "a name that ends in localhost", header: []string{"Host", "evil.localhost"}, refused: "Host"},
		{name: "a name that begins with an address", header: []string{"Host", "127.0.0.1.evil.example"}, refused: "Host"},
		{name: "an address of the machine", header: []string{"Host", "192.0.2.1:8080"}, refused: "Host"},
		{name: "all interfaces", header: []string{"Host", "0.0.0.0:8080"}, refused: "Host"},
		{name: "no host", header: []string{"Host", ""}, refused: "Host"},

		{name: "the store's own page", header: []string{"Origin", "http://localhost:8080"}},
		{name: "a site", header: []string{"Origin", "https://evil.example"}, refused: "Origin"},
		{name: "a site without a name", header: []string{"Origin", "null"}, refused: "Origin"},
		{name: "a site on this machine", header: []string{"Origin", "http://localhost:3000"}, refused: "Origin"},
		{name: "other scheme", header: []string{"Origin", "https://localhost:8080"}, refused: "Origin"},
		{
			name:   "a rebound name in both",
			header: []string{"Host", "evil.example:8080", "Origin", "http://evil.example:8080"}, refused: "Host",
		},

		{name: "typed by a person", header: []string{"Sec-Fetch-Site", "none"}},
		{name: "from the store's own page", header: []string{"Sec-Fetch-Site", "same-origin"}},
		{name: "an image of a site", header: []string{"Sec-Fetch-Site", "cross-site"}, refused: "Sec-Fetch-Site"},
		{name: "of a site on this machine", header: []string{"Sec-Fetch-Site", "same-site"}, refused: "Sec-Fetch-Site"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, h := newTestControl(t, 0)
			want := 200
			if tt.refused != "" {
				want = http.StatusForbidden
			}
			for _, path := range []string{settingsPath, "/_store/requests"} {
				status, body := request(t, h, "GET", path, "", tt.header...)
				if status != want || tt.refused != "" && !strings.Contains(body, `"detail": "`+tt.refused+" must be ") {
					t.Errorf("GET %s: status %d, %s, want %d %s", path, status, body, want, tt.refused)
				}
			}
			if reached := len(c.store.Load().Requests()) > 0; reached != (tt.refused == "") {
				t.Errorf("the request reached the store: %t", reached)
			}
			if status, _ := request(t, h, "OPTIONS", "/_store/reset", "", tt.header...); status == http.StatusNoContent {
				t.Error("a preflight request is confirmed")
			}
		})
	}
}

var faultTests = []struct {
	name, text string
	want       commercetest.Fault
	problem    string // part of the error
}{
	{name: "status", text: `{"status":503}`, want: commercetest.Fault{Status: 503}},
	{
		name: "applied", text: `{"operation":"add","status":504,"apply":true,"times":1}`,
		want: commercetest.Fault{Operation: commercetest.OpAdd, Status: 504, Apply: true, Times: 1},
	},
	{
		name: "cut in the body, always", text: `{"operation":"list","cut":true,"cut_after":100,"always":true}`,
		want: commercetest.Fault{Operation: commercetest.OpList, Cut: true, CutAfter: 100, Times: -1},
	},
	{name: "late", text: `{"late":true}`, want: commercetest.Fault{Late: true, Delay: 2 * time.Second}},
	{
		name: "late, with a delay", text: `{"late":true,"delay":"500ms","cut":true}`,
		want: commercetest.Fault{Late: true, Delay: 500 * time.Millisecond, Cut: true},
	},
	{
		name: "response", text: `{"after":2,"status":429,"header":{"Retry-After":["2"]},"body":"slow down"}`,
		want: commercetest.Fault{
			After: 2, Status: 429, Header: http.Header{"Retry-After": {"2"}}, Body: "slow down",
		},
	},
	{name: "unknown member", text: `{"stauts":503}`, problem: `"stauts"`},
	{name: "other case", text: `{"Status":503}`, problem: `"Status"`},
	{name: "member twice", text: `{"status":503,"status":504}`, problem: `"status"`},
	{name: "other type", text: `{"status":"503"}`, problem: `"/status"`},
	{name: "delay without a unit", text: `{"delay":"2"}`, problem: `"/delay"`},
	{name: "delay as a number", text: `{"delay":2}`, problem: `"/delay"`},
	{name: "one header value", text: `{"header":{"A":"b"}}`, problem: `"/header/A"`},
	{name: "nothing", problem: "not a fault"},
	{name: "null", text: "null", problem: "at least one of status, cut, late, delay, body and header"},
	{name: "no effect", text: `{"apply":true}`, problem: "at least one of status, cut"},
	{name: "array", text: `[{"status":503}]`, problem: "array"},
	{name: "two", text: `{"status":503}{"status":504}`, problem: "after top-level value"},
	{name: "unknown operation", text: `{"operation":"ad","status":503}`, problem: `operation must be one of ["accounts" "add" `},
	{name: "status too low", text: `{"status":199}`, problem: "status must be 101, or 200 to 599"},
	{name: "status too high", text: `{"status":600}`, problem: "status must be 101, or 200 to 599"},
	{name: "negative times", text: `{"status":503,"times":-1}`, problem: "must not be negative"},
	{name: "negative delay", text: `{"delay":"-1s"}`, problem: "must not be negative"},
	{name: "always and times", text: `{"status":503,"always":true,"times":2}`, problem: "always must not be set with times"},
	{name: "apply and late", text: `{"apply":true,"late":true}`, problem: "apply with late"},
}

func TestParseFault(t *testing.T) {
	t.Parallel()
	for _, tt := range faultTests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseFault(strings.NewReader(tt.text))
			if (err != nil) != (tt.problem != "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("error = %v, want %q", err, tt.problem)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("fault (-want +got):\n%s", diff)
			}
		})
	}
}

func TestControl_faults(t *testing.T) {
	t.Parallel()
	_, h := newTestControl(t, 0)
	settings := func(want int) {
		t.Helper()
		if status, _ := request(t, h, "GET", settingsPath, ""); status != want {
			t.Errorf("status of a request to the store = %d, want %d", status, want)
		}
	}
	status, _ := request(t, h, "POST", "/_store/faults", `{"operation":"settings","status":503,"always":true}`)
	wantStatus(t, "POST", status, http.StatusNoContent)
	settings(503)
	settings(503)
	status, body := request(t, h, "POST", "/_store/faults", `{"stauts":504}`)
	wantStatus(t, "POST of an unknown member", status, http.StatusBadRequest)
	if !strings.Contains(body, `\"stauts\"`) {
		t.Errorf("response %s, want the name of the unknown member", body)
	}
	status, _ = request(t, h, "POST", "/_store/faults", `{"status":504}`+strings.Repeat(" ", 1<<20))
	wantStatus(t, "POST of more than 1 MiB", status, http.StatusBadRequest)
	settings(503)
	status, _ = request(t, h, "DELETE", "/_store/faults", "")
	wantStatus(t, "DELETE", status, http.StatusNoContent)
	settings(200)
}

func wantStatus(t *testing.T, what string, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("status of %s = %d, want %d", what, got, want)
	}
}

// A reset ends late writes, and leaves the store as it was at the start.
func TestControl_reset(t *testing.T) {
	t.Parallel()
	c, h := newTestControl(t, 0, commercetest.Fault{Operation: commercetest.OpSettings, Status: 503})
	before := c.store.Load()
	for _, body := range []string{`{"operation":"create cart","late":true,"delay":"1h","status":504}`, `{"status":500}`} {
		status, _ := request(t, h, "POST", "/_store/faults", body)
		wantStatus(t, "POST of a fault", status, http.StatusNoContent)
	}
	request(t, h, "POST", "/_store/carts", "")
	request(t, h, "GET", settingsPath, "")
	status, _ := request(t, h, "POST", "/v2/carts", `{"data":{}}`)
	wantStatus(t, "POST of a cart", status, 504)
	if _, body := request(t, h, "GET", "/_store/requests", ""); !strings.Contains(body, `"pending": 1`) {
		t.Errorf("requests %s, want a late write", body)
	}
	status, _ = request(t, h, "POST", "/_store/reset", "")
	wantStatus(t, "POST of a reset", status, http.StatusNoContent)
	if n := before.Pending(); n != 0 {
		t.Errorf("%d late writes after the reset, want 0", n)
	}
	after := c.store.Load()
	if len(after.Requests()) > 0 || after.Pending() > 0 || !slices.Equal(after.Carts(), before.Carts()[:1]) {
		t.Errorf("%d requests, %d pending, carts %v, want none, and the first cart of %v",
			len(after.Requests()), after.Pending(), after.Carts(), before.Carts())
	}
	for _, want := range []int{503, 200} { // of the fault at the start
		status, _ = request(t, h, "GET", settingsPath, "")
		wantStatus(t, "GET after the reset", status, want)
	}
}

// A cart of the control accepts discounts, also on its items.
func TestControl_carts(t *testing.T) {
	t.Parallel()
	c, h := newTestControl(t, 0)
	status, body := request(t, h, "POST", "/_store/carts", "")
	wantStatus(t, "POST", status, http.StatusCreated)
	var cart struct {
		ID    string
		Items []struct{ ID, Type string }
	}
	if err := json.Unmarshal([]byte(body), &cart); err != nil {
		t.Fatal(err)
	}
	for _, item := range cart.Items {
		status, body := request(t, h, "POST", "/v2/carts/"+cart.ID+"/custom-discounts",
			`{"data":[{"type":"custom_discount","amount":-1,"description":"d","discount_code":"c","discount_engine":"e",`+
				`"external_id":"x","relationships":{"item":{"data":{"type":"`+item.Type+`","id":"`+item.ID+`"}}}}]}`)
		if status != http.StatusCreated {
			t.Errorf("discount of a %s: status %d, %s, want 201", item.Type, status, body)
		}
	}
	if got := len(c.store.Load().Discounts(cart.ID)); got != 2 {
		t.Errorf("%d discounts on the cart, want 2", got)
	}
}

// What may hold credentials is not shown, wherever it is.
func TestControl_requests(t *testing.T) {
	t.Parallel()
	_, h := newTestControl(t, 0)
	const secret = "s3cr3t"
	request(t, h, "GET", "/v2/carts/a?include=items&include=custom_discounts&access_token="+secret+"&"+secret+"x", "",
		"EP-Account-Management-Authentication-Token", secret, "Cookie", secret, "X-Api-Key", secret, "Accept", "a/b")
	request(t, h, "POST", "/v2/carts", `{"data":{"name":"test"}}`, "Authorization", "Bearer "+secret)
	request(t, h, "POST", "/v2/carts", "client_secret="+secret)
	request(t, h, "POST", "/oauth/access_token", `{"client_secret":"`+secret+`"}`)
	request(t, h, "POST", "/login?a;"+secret, `{"password":"`+secret+`"}`)

	status, body := request(t, h, "GET", "/_store/requests", "")
	wantStatus(t, "GET", status, 200)
	if strings.Contains(body, "Bearer") || strings.Contains(strings.ReplaceAll(body, secret+"x", ""), secret) {
		t.Errorf("requests %s, want no credentials", body)
	}
	type shown struct {
		Method, Path, Operation string
		Query, Header           map[string][]string
		Body                    any
		Status                  int
	}
	var got struct{ Requests []shown }
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	hidden := []string{"redacted"}
	authorized := map[string][]string{"Authorization": hidden}
	want := []shown{
		{
			Method: "GET", Path: "/v2/carts/a", Operation: "cart", Status: 200,
			Query: map[string][]string{
				"include": {"items", "custom_discounts"}, "access_token": hidden, secret + "x": hidden,
			},
			Header: map[string][]string{
				"Accept": {"a/b"}, "Authorization": hidden, "Cookie": hidden, "X-Api-Key": hidden,
				"Ep-Account-Management-Authentication-Token": hidden,
			},
		},
		{
			Method: "POST", Path: "/v2/carts", Operation: "create cart", Status: 401, Header: authorized,
			Body: map[string]any{"data": map[string]any{"name": "test"}},
		},
		{Method: "POST", Path: "/v2/carts", Operation: "create cart", Status: 422, Header: authorized},
		{Method: "POST", Path: "/oauth/access_token", Operation: "token", Status: 400, Header: authorized},
		{
			Method: "POST", Path: "/login", Status: 404, Header: authorized,
			Query: map[string][]string{"not readable": hidden},
		},
	}
	for i := range want[1:] {
		if want[i+1].Query == nil {
			want[i+1].Query = map[string][]string{}
		}
	}
	if diff := cmp.Diff(want, got.Requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestControl_unknownEndpoint(t *testing.T) {
	t.Parallel()
	c, h := newTestControl(t, 0)
	for _, line := range []string{"GET /_store/", "GET /_store/x", "PUT /_store/requests", "GET /_store/reset"} {
		method, path, _ := strings.Cut(line, " ")
		status, body := request(t, h, method, path, "")
		if status != http.StatusNotFound || !strings.Contains(body, `"There is no endpoint `+line+`"`) {
			t.Errorf("%s: status %d, %s, want 404 with its name", line, status, body)
		}
	}
	if n := len(c.store.Load().Requests()); n > 0 {
		t.Errorf("the store received %d requests, want none", n)
	}
}

// The latency is that of the store, not of its control.
func TestControl_latency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, h := newTestControl(t, time.Minute)
		for path, want := range map[string]time.Duration{settingsPath: time.Minute, "/_store/requests": 0} {
			begin := time.Now()
			request(t, h, "GET", path, "")
			if got := time.Since(begin); got != want {
				t.Errorf("GET %s took %s, want %s", path, got, want)
			}
		}
	})
}
