package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/ledger"
)

// TestAdder_ledger meets each fault after which the outcome of a write is unknown or
// unreadable, over each protocol. In the end the server must have applied each discount
// exactly once, and the adder must return no error.
func TestAdder_ledger(t *testing.T) {
	t.Parallel()
	cells := 0
	for _, f := range ledger.Faults() {
		uncertain := slices.ContainsFunc(f.Write, func(want ledger.Want) bool {
			return want.Outcome == commerce.OutcomeUnreadable || want.Failed && want.Outcome == commerce.OutcomeUnknown
		})
		if !uncertain {
			continue
		}
		for _, p := range []ledger.Protocol{ledger.HTTP1, ledger.TLS, ledger.HTTP2} {
			if f.On&p == 0 {
				continue
			}
			cells++
			t.Run(fmt.Sprintf("%s/%s", f.Name, p), func(t *testing.T) {
				t.Parallel()
				addOnLedger(t, f, p)
			})
		}
	}
	t.Logf("%d cells", cells)
	if cells < 100 {
		t.Errorf("%d cells, want 100 or more", cells)
	}
}

func addOnLedger(t *testing.T, f *ledger.Fault, p ledger.Protocol) {
	t.Helper()
	l := ledger.New()
	s, err := ledger.Serve(t.Context(), l, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	base := s.Transport()
	t.Cleanup(base.CloseIdleConnections)
	timeout := 10 * time.Second
	if f.WriteWaits {
		timeout = 200 * time.Millisecond // only the timeout ends the attempt
	}
	client, err := commerce.New(s.URL(), commerce.WithToken("token"),
		commerce.WithHTTPClient(&http.Client{Transport: cartOf{base, l}}),
		commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 2, MinBackoff: 1, MaxBackoff: 1, AttemptTimeout: timeout}))
	if err != nil {
		t.Fatal(err)
	}
	var batch []commerce.NewCustomDiscount
	var want []string
	for n := range 3 {
		id := ledger.ExternalID("call", n)
		want = append(want, id)
		batch = append(batch, commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(-100), Description: "d", DiscountCode: "c", DiscountEngine: "ledger", ExternalID: id,
		})
	}
	s.Plan(f, ledger.NoFault())
	a := &adder{client: client, cartID: "cart", logf: func(string, ...any) {}}
	if _, err := a.add(t.Context(), batch); err != nil {
		t.Errorf("add() = %v, want nil", err)
	}
	if got := slices.Sorted(slices.Values(l.Discounts())); !slices.Equal(got, want) {
		t.Errorf("applied %v, want %v", got, want)
	}
}

// cartOf responds to reads of the cart with the content of the ledger, and passes other
// requests to base.
type cartOf struct {
	base   http.RoundTripper
	ledger *ledger.Ledger
}

func (c cartOf) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return c.base.RoundTrip(req)
	}
	type discount map[string]any
	list := []discount{}
	for n, id := range c.ledger.Discounts() {
		list = append(list, discount{
			"type": "custom_discount", "id": fmt.Sprintf("00000000-0000-4000-8000-%012d", n+1),
			"external_id": id, "discount_engine": "ledger", "amount": -100,
		})
	}
	body, err := json.Marshal(map[string]any{
		"data":     discount{"id": "cart", "type": "cart"},
		"included": map[string]any{"custom_discounts": list},
	})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: req,
	}, nil
}
