package commercetest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce/commercetest"
)

// wireAnswer is an answer as it came over the wire.
type wireAnswer struct {
	Status int
	Header http.Header
	Body   string
	Err    error // of reading the body
}

// overLoopback writes the bytes of a request to the store's listener.
func overLoopback(t *testing.T, store *commercetest.Store, raw string) (wireAnswer, error) {
	t.Helper()
	t.Cleanup(store.Close)
	u, err := url.Parse(store.URL())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, raw); err != nil {
		return wireAnswer{}, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return wireAnswer{}, err
	}
	return readAnswer(resp), nil
}

// overTransport hands the same request to the store's transport.
func overTransport(t *testing.T, store *commercetest.Store, raw string) (wireAnswer, error) {
	t.Helper()
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Scheme, req.URL.Host, req.RequestURI = "https", req.Host, ""
	resp, err := store.Transport().RoundTrip(req.WithContext(t.Context()))
	if err != nil {
		return wireAnswer{}, err
	}
	return readAnswer(resp), nil
}

// overHandler hands the same request to the store as an http.Handler, without a server.
func overHandler(t *testing.T, store *commercetest.Store, raw string) (wireAnswer, error) {
	t.Helper()
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := handlerTransport{store}.RoundTrip(req.WithContext(t.Context()))
	if err != nil {
		return wireAnswer{}, err
	}
	return readAnswer(resp), nil
}

// handlerTransport hands requests to a handler, and does with an abort what a
// server does: it ends the body, or the connection if nothing was flushed.
type handlerTransport struct{ http.Handler }

func (h handlerTransport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	w := httptest.NewRecorder()
	defer func() {
		switch cut := recover(); {
		case cut == nil:
			resp = w.Result()
		case cut != http.ErrAbortHandler: //nolint:errorlint // a panic's value
			panic(cut)
		case w.Flushed:
			resp = w.Result()
			resp.Body = io.NopCloser(io.MultiReader(resp.Body, iotest.ErrReader(io.ErrUnexpectedEOF)))
		default:
			err = io.ErrUnexpectedEOF
		}
	}()
	if req.Body != nil {
		defer func() { _ = req.Body.Close() }()
	}
	in := req.Clone(req.Context())
	if in.Host == "" {
		in.Host = in.URL.Host
	}
	h.ServeHTTP(w, in)
	return nil, nil //nolint:nilnil // the deferred function sets them
}

func readAnswer(resp *http.Response) wireAnswer {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return wireAnswer{resp.StatusCode, resp.Header, string(body), err}
}

// ways are the ways to a store, which must not differ.
var ways = []struct {
	name string
	send func(t *testing.T, store *commercetest.Store, raw string) (wireAnswer, error)
}{{"loopback", overLoopback}, {"transport", overTransport}, {"handler", overHandler}}

// eachWay runs test over all ways.
func eachWay(t *testing.T, test func(t *testing.T, send func(store *commercetest.Store, raw string) wireAnswer)) {
	t.Helper()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			test(t, func(store *commercetest.Store, raw string) wireAnswer {
				t.Helper()
				a, err := way.send(t, store, raw)
				if err != nil {
					t.Fatal(err)
				}
				return a
			})
		})
	}
}

const bearer = "Authorization: Bearer commercetest-token\r\n"

// get writes a GET as the documentation has it. target is encoded already.
func get(target string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: store.test\r\nAccept: application/json\r\n" + bearer + "\r\n"
}

// post writes a POST as the documentation has it.
func post(target, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: store.test\r\nAccept: application/json\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		target, bearer, len(body), body)
}

// wantJSON compares a body with JSON.
func wantJSON(t *testing.T, a wireAnswer, status int, want string) {
	t.Helper()
	if a.Err != nil {
		t.Errorf("reading the body: %v", a.Err)
	}
	if a.Status != status {
		t.Errorf("status %d, want %d", a.Status, status)
	}
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q, want application/json", got)
	}
	if diff := cmp.Diff(decode(t, want), decode(t, a.Body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func decode(t *testing.T, body string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(body))
	dec.UseNumber() // 5 is not 5.0
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const (
		unauthorized = `{"errors":[{"status":"401","title":"Unable to validate access token"}]}`
		notFound     = `{"errors":[{"status":"404","title":"Not Found","detail":"There is no such endpoint"}]}`
		notAllowed   = `{"errors":[{"status":"405","title":"Method Not Allowed"}]}`
	)
	request := func(line, headers string) string {
		return line + " HTTP/1.1\r\nHost: store.test\r\n" + headers + "\r\n"
	}
	const list = "GET /v2/subscriptions/subscriptions"
	for _, tt := range []struct {
		name, raw string
		status    int
		want      string
	}{
		{"no token", request(list, ""), 401, unauthorized},
		{"wrong token", request(list, "Authorization: Bearer nobody\r\n"), 401, unauthorized},
		{"token in another scheme", request(list, "Authorization: Basic commercetest-token\r\n"), 401, unauthorized},
		{"token without a scheme", request(list, "Authorization: commercetest-token\r\n"), 401, unauthorized},
		{"no token for a cart", request("GET /v2/carts/c", ""), 401, unauthorized},
		{"no token for settings", request("GET /v2/settings", ""), 401, unauthorized},
		{"no token for discounts", request("POST /v2/carts/c/custom-discounts", "Content-Length: 0\r\n"), 401, unauthorized},
		{"no token for an unknown path", request("GET /v2/nothing", ""), 401, unauthorized},
		{"no token for the root of the version", request("GET /v2", ""), 401, unauthorized},
		{"unknown path", request("GET /v2/nothing", bearer), 404, notFound},
		{"version twice", request("GET /v2/v2/settings", bearer), 404, notFound},
		{"no version", request("GET /settings", bearer), 404, notFound},
		{"escaped version", request("GET /%762/settings", ""), 404, notFound},
		{"empty cart id", request("GET /v2/carts/", bearer), 404, notFound},
		{"trailing slash", request(list+"/", bearer), 404, notFound},
		{"root", request("GET /", ""), 404, notFound},
		{"host of the links", list + " HTTP/1.1\r\nHost: store-links.example\r\n" + bearer + "\r\n", 404, notFound},
		{"DELETE of the list", request("DELETE /v2/subscriptions/subscriptions", bearer), 405, notAllowed},
		{"GET of the token", request("GET /oauth/access_token", ""), 405, notAllowed},
		{"GET of discounts", request("GET /v2/carts/c/custom-discounts", bearer), 405, notAllowed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
				a := send(commercetest.NewStore(commercetest.Config{}), tt.raw)
				wantJSON(t, a, tt.status, tt.want)
				if got := a.Header.Get("X-Request-Id"); got != "commercetest-000001" {
					t.Errorf("X-Request-Id %q", got)
				}
				if allow := a.Header.Get("Allow"); (tt.status == 405) != (allow != "") {
					t.Errorf("Allow %q with status %d", allow, tt.status)
				}
			})
		})
	}
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	for _, tt := range []struct {
		name   string
		size   int
		status int
	}{{"at the limit", limit, 400}, {"beyond it", limit + 1, 413}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
				store := commercetest.NewStore(commercetest.Config{})
				a := send(store, post("/v2/carts/c/custom-discounts", strings.Repeat("x", tt.size)))
				if a.Status != tt.status {
					t.Errorf("status %d, want %d", a.Status, tt.status)
				}
				if got := len(store.Requests()[0].Body); got != limit {
					t.Errorf("%d bytes recorded, want %d", got, limit)
				}
			})
		})
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
		store := commercetest.NewStore(commercetest.Config{})
		send(store, get("/v2/carts/a%20b?include=custom_discounts&x=%2B"))
		send(store, post("/nowhere", "hello"))

		got := store.Requests()
		want := []commercetest.Request{
			{
				ID: "commercetest-000001", Method: "GET", Host: "store.test", Path: "/v2/carts/a%20b",
				RawQuery: "include=custom_discounts&x=%2B",
				Header:   http.Header{"Accept": {"application/json"}, "Authorization": {"Bearer commercetest-token"}},
			},
			{
				ID: "commercetest-000002", Method: "POST", Host: "store.test", Path: "/nowhere",
				Header: http.Header{
					"Accept": {"application/json"}, "Authorization": {"Bearer commercetest-token"},
					"Content-Type": {"application/json"}, "Content-Length": {"5"},
				},
				Body: []byte("hello"),
			},
		}
		opts := cmp.FilterPath(func(p cmp.Path) bool {
			name := p.Last().String()
			return name == ".Time" || name == ".bodyTooLarge"
		}, cmp.Ignore())
		empty := cmp.Transformer("text", func(b []byte) string { return string(b) }) // nil and empty are the same
		if diff := cmp.Diff(want, got, opts, empty); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if got[0].Time.IsZero() || got[1].Time.Before(got[0].Time) {
			t.Errorf("times %v, %v", got[0].Time, got[1].Time)
		}

		got[1].Body[0], got[1].Header["Accept"][0] = 'J', "changed"
		if again := store.Requests()[1]; string(again.Body) != "hello" || again.Header.Get("Accept") != "application/json" {
			t.Error("a change of the result changed what is recorded")
		}
	})
}
