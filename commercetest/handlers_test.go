package commercetest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/commerce-go/commerce/commercetest"
)

func TestHandle(t *testing.T) {
	t.Parallel()
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Seen", fmt.Sprintf("%s %s %s %s %q %d",
			r.Method, r.Host, r.PathValue("id"), r.RequestURI, body, r.ContentLength))
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "teapot")
	})
	eachSender(t, func(t *testing.T, send sendFunc) {
		store := commercetest.NewStore(commercetest.Config{DiscountsEnabled: true})
		store.Handle("POST /v2/carts/{id}/copy", echo)
		store.Handle("PATCH /v2/carts/{id}", echo)
		store.Handle("/v2/settings", echo) // only for the methods that the store does not handle
		store.Handle("/open", echo)
		store.Inject(fault{After: 5, Status: 503})
		unauthorized := "GET /v2/settings HTTP/1.1\r\nHost: store.test\r\n\r\n"
		for _, tt := range []struct {
			name, raw string
			status    int
			seen      string // by the handler
			body      string // default: teapot
		}{
			{
				name: "other path", raw: post("/v2/carts/c%20d/copy?x=1", "hello"), status: 418,
				seen: `POST store.test c d /v2/carts/c%20d/copy?x=1 "hello" 5`,
			},
			{
				name: "other method", raw: "PATCH /v2/carts/c HTTP/1.1\r\nHost: store.test\r\n" + bearer + "\r\n", status: 418,
				seen: `PATCH store.test c /v2/carts/c "" 0`,
			},
			{
				name: "endpoint of the store", raw: get(settingsPath), status: 200,
				body: `{"data":{"type":"settings","page_length":25,"page_offset_limit":10000,` +
					`"custom_discount_limit":5,"calculation_method":"line"}}`,
			},
			{name: "other method of it", raw: del(settingsPath), status: 418, seen: `DELETE store.test  /v2/settings "" 0`},
			{
				name: "no token", raw: unauthorized, status: 401,
				body: `{"errors":[{"status":401,"title":"Unable to validate access token"}]}`,
			},
			{name: "fault", raw: get("/open"), status: 503, body: "Service Unavailable\n"},
			{name: "outside of /v2", raw: get("/open"), status: 418, seen: `GET store.test  /open "" 0`},
		} {
			resp := send(store, tt.raw)
			wantEqual(t, tt.name+": status", resp.Status, tt.status)
			if tt.status == http.StatusTeapot {
				tt.body = "teapot"
			}
			wantEqual(t, tt.name+": body", resp.Body, tt.body)
			wantEqual(t, tt.name+": the handler saw", resp.Header.Get("X-Seen"), tt.seen)
		}
		requests := store.Requests()
		wantEqual(t, "requests", len(requests), 7)
		wantEqual(t, "recorded status", requests[0].Status, 418)
		wantEqual(t, "recorded operation", requests[0].Operation, commercetest.OpAny)
		wantEqual(t, "recorded body", string(requests[0].Body), "hello")
	})
}

func TestClearHandlers(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	for _, status := range []int{http.StatusTeapot, http.StatusAccepted} { // the second has the same pattern
		store.Handle("GET /open", http.RedirectHandler("/", status))
		wantEqual(t, "status", send(t, store, get("/open")).Status, status)
		store.ClearHandlers()
		wantEqual(t, "status after ClearHandlers", send(t, store, get("/open")).Status, http.StatusNotFound)
	}
}

// A path that is encoded in another way needs a token as well.
func TestHandle_encodedPath(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	store.Handle("GET /v2/returns", http.NotFoundHandler())
	for path, want := range map[string]int{"/v2/returns": 401, "/%762/returns": 404} {
		raw := strings.Replace(get(path), "commercetest-token", "unknown", 1)
		wantEqual(t, path, send(t, store, raw).Status, want)
	}
	store.Handle("GET /v2/refunds", http.RedirectHandler("/", http.StatusTeapot))
	wantEqual(t, "status with a token", send(t, store, get("/v2/refunds")).Status, http.StatusTeapot)
	wantEqual(t, "status of an encoded path", send(t, store, get("/%762/refunds")).Status, http.StatusNotFound)
}
