package commercetest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// With MaxRequests the list has the last requests, with what was sent to them, and takes at most 32
// MiB.
func TestStore_MaxRequests(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{MaxRequests: 3})
	for range 5 {
		send(t, store, get("/v2/settings"))
	}
	list := store.Requests()
	var ids []string
	for _, in := range list {
		ids = append(ids, in.ID)
		if !strings.Contains(string(in.Response), "custom_discount_limit") || in.Duration <= 0 {
			t.Errorf("got the response %q after %v, want the settings, after a time", in.Response, in.Duration)
		}
	}
	want := "[commercetest-000003 commercetest-000004 commercetest-000005]"
	if fmt.Sprint(ids) != want || store.Dropped() != 2 {
		t.Errorf("got %v, and %d were dropped, want %s and 2", ids, store.Dropped(), want)
	}
	store.ClearRequests()
	send(t, store, get("/v2/settings"))
	if list := store.Requests(); len(list) != 1 || list[0].ID != "commercetest-000006" || store.Dropped() != 0 {
		t.Errorf("after ClearRequests: got %d requests, and %d dropped, want the sixth and none", len(list), store.Dropped())
	}
	all := commercetest.New(t, commercetest.Config{})
	send(t, all, get("/v2/settings"))
	if in := all.Requests()[0]; in.Response != nil {
		t.Errorf("without MaxRequests the response %q is kept, want none", in.Response)
	}
}

func TestStore_MaxRequests_size(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("fills 32 MiB four times in one goroutine")
	}
	const size = 1 << 20
	large := commercetest.New(t, commercetest.Config{MaxRequests: 1000})
	for range 32 {
		send(t, large, put("/v2/settings/cart", strings.Repeat("x", size)))
	}
	if n := len(large.Requests()); n < 20 || n > 31 || large.Dropped() != 32-n {
		t.Errorf("%d requests of 1 MiB are kept, and %d dropped, want 20 to 31 and the others", n, large.Dropped())
	}
	headers := commercetest.New(t, commercetest.Config{MaxRequests: 1000})
	for range 32 {
		send(t, headers, strings.Replace(get("/v2/settings"), "\n", "\nX-Large: "+strings.Repeat("x", size)+"\n", 1))
	}
	if n := len(headers.Requests()); n > 31 {
		t.Errorf("%d requests with 1 MiB of headers are kept, want 31 at most", n)
	}
	full := commercetest.New(t, commercetest.Config{MaxRequests: 1000})
	cart := full.AddCart(commerce.CartItemRef{})
	for range 2000 { // before and after a change of the cart they take 1.6 MB
		full.AddDiscount(cart, commerce.CustomDiscount{})
	}
	many := full.AddCart(make([]commerce.CartItemRef, 3000)...) // they take 1.8 MB
	for _, large := range []string{cart, many} {
		full.ClearRequests()
		for range 21 {
			send(t, full, put("/v2/carts/"+large, `{"data":{"name":"a"}}`))
		}
		if n := len(full.Requests()); n > 20 {
			t.Errorf("%d requests that changed a large cart are kept, want 20 at most", n)
		}
	}
}

// Faults says how often each was met, and which requests did.
func TestStore_Faults(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	store.Inject(
		commercetest.Fault{Operation: commercetest.OpSettings, Status: http.StatusTeapot, Times: 2},
		commercetest.Fault{Operation: commercetest.OpAdd, Status: http.StatusTeapot},
		commercetest.Fault{Operation: commercetest.OpSettings, Status: http.StatusGone, Times: -1},
	)
	for range 3 {
		send(t, store, get("/v2/settings"))
	}
	var got []string
	for _, f := range store.Faults() {
		got = append(got, fmt.Sprintf("%d: %d met, %d left", f.Number, f.Met, f.Left))
	}
	if want := "[1: 2 met, 0 left 2: 0 met, 1 left 3: 1 met, -1 left]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	var met []int
	for _, in := range store.Requests() {
		met = append(met, in.Fault)
	}
	if want := "[1 1 3]"; fmt.Sprint(met) != want {
		t.Errorf("the requests met the faults %v, want %s", met, want)
	}
	store.ClearFaults()
	if list := store.Faults(); len(list) > 0 {
		t.Errorf("after ClearFaults: got %d faults, want none", len(list))
	}
}
