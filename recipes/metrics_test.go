package recipes_test

import (
	"context"
	"expvar"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// Counting is a transport that counts attempts by operation and class of status:
// "list 2xx", "add 4xx", "token none" if there was no response. The names hold nothing
// else, so there are few of them and none is secret.
type Counting struct {
	Base   http.RoundTripper
	Counts *expvar.Map // e.g. expvar.NewMap("commerce"), published at /debug/vars
}

// RoundTrip implements [http.RoundTripper].
func (c *Counting) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.Base.RoundTrip(req)
	result := "none"
	if err == nil {
		result = fmt.Sprintf("%dxx", resp.StatusCode/100)
	}
	c.Counts.Add(operation(req)+" "+result, 1)
	return resp, err
}

// operation names what a request is for.
func operation(req *http.Request) string {
	switch path := req.URL.Path; {
	case strings.HasSuffix(path, "/v2/subscriptions/subscriptions"):
		return "list"
	case strings.HasSuffix(path, "/custom-discounts"):
		return "add"
	case strings.HasSuffix(path, "/oauth/access_token"):
		return "token"
	}
	return "other" // by Client.Do
}

// A read that fails once takes two attempts.
func Example_metrics() {
	store := commercetest.NewStore(commercetest.Config{})
	store.Inject(commercetest.Fault{Operation: commercetest.OpList, Status: 503})

	counts := new(expvar.Map)
	client, err := commerce.New("https://store.example",
		commerce.WithToken(store.Config().Token),
		commerce.WithHTTPClient(&http.Client{Transport: &Counting{store.Transport(), counts}}),
		commerce.WithRetry(commerce.RetryPolicy{MinBackoff: time.Millisecond}))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Subscriptions.List(context.Background(), nil)
	fmt.Println("error:", err)
	fmt.Println(counts)
	// Output:
	// error: <nil>
	// {"list 2xx": 1, "list 5xx": 1}
}

func TestCounting(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{})
	cart := store.AddCart(commerce.CartItemRef{})
	store.Inject(commercetest.Fault{Operation: commercetest.OpAdd, Apply: true, Cut: true})
	counts := new(expvar.Map)
	client := store.Client(
		commerce.WithHTTPClient(&http.Client{Transport: &Counting{store.Transport(), counts}}),
		commerce.WithClientCredentials(commercetest.DefaultClientID, commercetest.DefaultClientSecret))
	discounts := []commerce.NewCustomDiscount{{
		Amount: commerce.NewDecimal(-1), Description: "d", DiscountCode: "c", DiscountEngine: "e", ExternalID: "canary",
	}}
	for _, id := range []string{cart, cart, "canary"} {
		_, _ = client.Carts.AddCustomDiscounts(t.Context(), id, discounts, nil) // the counts show the error
	}
	filter := &commerce.SubscriptionListOptions{Filter: commerce.SubscriptionFilter{Email: "canary@store.example"}}
	if _, err := client.Subscriptions.List(t.Context(), filter); err != nil {
		t.Error(err)
	}
	if _, err := client.Do(t.Context(), "GET", []string{"v2", "carts", cart}, nil, nil, nil); err != nil {
		t.Error(err)
	}
	got := map[string]string{}
	counts.Do(func(kv expvar.KeyValue) { got[kv.Key] = kv.Value.String() })
	want := map[string]string{
		"token 2xx": "1", "add none": "1", "add 2xx": "1", "add 4xx": "1", "list 2xx": "1", "other 2xx": "1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}
