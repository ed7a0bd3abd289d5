package ensure_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
	"github.com/commerce-go/commerce/internal/e2e/calls"
	"github.com/commerce-go/commerce/internal/e2e/ledger"
)

// TestFaults meets each fault of package ledger with the add of a call. After a second call,
// without faults and by another client, each discount is on the cart exactly once.
func TestFaults(t *testing.T) {
	t.Parallel()
	cells := 0
	for _, f := range ledger.Faults() {
		var protocols []ledger.Protocol
		for _, p := range []ledger.Protocol{ledger.HTTP1, ledger.TLS, ledger.HTTP2} {
			// TLS costs much time, and adds only the faults of its own.
			if isKnown := p == ledger.TLS && f.On&ledger.HTTP1 != 0; f.On&p != 0 && !isKnown {
				protocols = append(protocols, p)
			}
		}
		cells += len(protocols)
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			for _, p := range protocols {
				meetFault(t, f, p)
			}
		})
	}
	t.Logf("%d cells", cells)
	if cells < 200 {
		t.Errorf("got %d cells, want 200 or more", cells)
	}
}

func meetFault(t *testing.T, f *ledger.Fault, p ledger.Protocol) {
	t.Helper()
	shop := newFaultyShop(t, p)
	defer shop.server.Close()
	policy := commerce.RetryPolicy{MaxAttempts: 2, MinBackoff: 1, MaxBackoff: 1}
	last := policy
	if f.WriteWaits {
		policy.AttemptTimeout = 50 * time.Millisecond
	}
	shop.server.Plan(f, ledger.NoFault())
	_, err := shop.ensure(t, policy)
	if _, ok := errors.AsType[*commerce.Error](err); err != nil && !ok {
		t.Errorf("%v: the error %v is of type %T", p, err, err)
	}
	shop.server.Plan(ledger.NoFault())
	if result, err := shop.ensure(t, last); err != nil || len(result.Missing) > 0 {
		t.Errorf("%v: the second call returned (%+v, %v), want no error", p, result, err)
	}
	var want []commerce.CustomDiscount
	for _, d := range shop.want {
		want = append(want, onCart(d))
	}
	if got, want := describe(shop.store.Discounts(shop.cartID)), describe(want); got != want {
		t.Errorf("%v: the cart has the discounts\n%s\nwant\n%s", p, got, want)
	}
	// If a timeout ends the attempt, the server may apply it after the next read.
	if n := len(shop.ledger.Discounts()); n != len(want) && !f.WriteWaits {
		t.Errorf("%v: the server added %d discounts in total, want %d", p, n, len(want))
	}
}

// faultyShop is a store whose adds go to a server with faults.
type faultyShop struct {
	server  *ledger.Server
	ledger  *ledger.Ledger
	store   *commercetest.Store
	cartID  string
	want    []commerce.NewCustomDiscount
	applied int // discounts of the ledger that are on the cart
}

func newFaultyShop(t *testing.T, p ledger.Protocol) *faultyShop {
	t.Helper()
	shop := &faultyShop{ledger: ledger.New(), store: commercetest.New(t, commercetest.Config{})}
	shop.cartID = shop.store.AddCart(commerce.CartItemRef{})
	for i := range 2 { // so that one of them can fail
		shop.want = append(shop.want, newDiscount(ledger.ExternalID("call", i), nil))
	}
	var err error
	if shop.server, err = ledger.Serve(t.Context(), shop.ledger, p); err != nil {
		t.Fatal(err)
	}
	return shop
}

// ensure makes a call by a new client, and waits until no request is in flight.
func (shop *faultyShop) ensure(
	t *testing.T, policy commerce.RetryPolicy,
) (*commerce.EnsureCustomDiscountsResult, error) {
	t.Helper()
	base := shop.server.Transport()
	client, err := commerce.New(shop.server.URL(), commerce.WithToken(commercetest.DefaultToken),
		commerce.WithRetry(policy), commerce.WithHTTPClient(&http.Client{
			Transport: calls.Transport(func(req *http.Request) (*http.Response, error) {
				if req.Method == http.MethodPost {
					return base.RoundTrip(req)
				}
				shop.apply()
				return shop.store.Transport().RoundTrip(req)
			}),
		}))
	if err != nil {
		t.Fatal(err)
	}
	result, err := client.Carts.EnsureCustomDiscounts(t.Context(), shop.cartID, shop.want,
		&commerce.EnsureCustomDiscountsOptions{Settle: time.Nanosecond})
	tick := time.NewTicker(100 * time.Microsecond)
	defer tick.Stop()
	for base.CloseIdleConnections(); shop.server.Open() > 0; base.CloseIdleConnections() {
		<-tick.C
	}
	shop.apply()
	return result, err
}

// apply puts those discounts on the cart that the server has applied.
func (shop *faultyShop) apply() {
	list := shop.ledger.Discounts()
	for _, externalID := range list[shop.applied:] {
		i := slices.IndexFunc(shop.want, func(d commerce.NewCustomDiscount) bool { return d.ExternalID == externalID })
		shop.store.AddDiscount(shop.cartID, onCart(shop.want[i]))
	}
	shop.applied = len(list)
}
