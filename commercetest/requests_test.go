package commercetest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/commerce-go/commerce/commercetest"
)

func TestRequests(t *testing.T) {
	t.Parallel()
	eachSender(t, func(t *testing.T, send sendFunc) {
		store := commercetest.NewStore(commercetest.Config{})
		send(store, get("/v2/carts/a%20b?include=custom_discounts&x=%2B"))
		send(store, post("/nowhere", "hello"))

		got := store.Requests()
		accept, authorization := []string{"application/json"}, []string{"Bearer commercetest-token"}
		want := []commercetest.Request{
			{
				ID: "commercetest-000001", Method: "GET", Host: "store.test", Path: "/v2/carts/a%20b",
				RawQuery:  "include=custom_discounts&x=%2B",
				Header:    http.Header{"Accept": accept, "Authorization": authorization},
				Operation: commercetest.OpCart, State: commercetest.StateEnded, Status: 200,
			},
			{
				ID: "commercetest-000002", Method: "POST", Host: "store.test", Path: "/nowhere",
				Header: http.Header{
					"Accept": accept, "Authorization": authorization,
					"Content-Type": {"application/json"}, "Content-Length": {"5"},
				},
				Body: []byte("hello"), State: commercetest.StateEnded, Status: 404,
			},
		}
		ignored := cmp.Options{
			cmpopts.EquateEmpty(), cmpopts.IgnoreFields(commercetest.Request{}, "Time", "Duration"),
		}
		if diff := cmp.Diff(want, got, ignored); diff != "" {
			t.Errorf("Requests() (-want +got):\n%s", diff)
		}
		if got[0].Time.IsZero() || got[1].Time.Before(got[0].Time) {
			t.Errorf("times = %v, %v; want them in order of arrival", got[0].Time, got[1].Time)
		}

		got[1].Body[0], got[1].Header["Accept"][0] = 'J', "changed"
		again := store.Requests()[1]
		wantEqual(t, "body after the result was changed", string(again.Body), "hello")
		wantEqual(t, "header after the result was changed", again.Header.Get("Accept"), "application/json")
	})
}

func TestRequests_bodyLimit(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	for _, tt := range []struct {
		name   string
		size   int
		status int
	}{
		{name: "at the limit", size: limit, status: 400},
		{name: "beyond the limit", size: limit + 1, status: 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachSender(t, func(t *testing.T, send sendFunc) {
				store := commercetest.NewStore(commercetest.Config{})
				resp := send(store, post(cartPath+"/custom-discounts", strings.Repeat("x", tt.size)))
				wantEqual(t, "status", resp.Status, tt.status)
				wantEqual(t, "bytes recorded", len(store.Requests()[0].Body), limit)
			})
		})
	}
}

// The limit on a request line counts what was sent, so an escape has three bytes.
func TestRequests_lineLimit(t *testing.T) {
	t.Parallel()
	const limit = 8 << 10
	eachSender(t, func(t *testing.T, send sendFunc) {
		for name, letter := range map[string]string{"letters": "a", "escapes": "%20"} {
			for over, status := range map[int]int{0: 200, 1: 414} {
				request := func(text string) string { return get(listPath + "?filter=eq(name,%22" + text + "%22)") }
				line, _, _ := strings.Cut(request(""), "\n")
				n := limit + over - len(line) - len("\n")
				text := strings.Repeat("b", n%len(letter)) + strings.Repeat(letter, n/len(letter))
				store := commercetest.NewStore(commercetest.Config{})
				if got := send(store, request(text)).Status; got != status {
					t.Errorf("%s, %d bytes over the limit: status %d, want %d", name, over, got, status)
				}
			}
		}
	})
}
