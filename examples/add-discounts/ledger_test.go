package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/commerce-go/commerce"
	books "github.com/commerce-go/commerce/internal/e2e/ledger"
)

// TestAdder_ledger meets each fault of the matrix after which the outcome of a
// write is unknown or unreadable, on each protocol: in the end the server must
// have applied each discount exactly once, and the adder say so.
func TestAdder_ledger(t *testing.T) {
	t.Parallel()
	cells := 0
	for _, f := range books.Faults() {
		doubtful := slices.ContainsFunc(f.Write, func(v books.Verdict) bool {
			return v.Failed && (v.Outcome == commerce.OutcomeUnknown || v.Outcome == commerce.OutcomeUnreadable)
		})
		if !doubtful {
			continue
		}
		for _, p := range []books.Protocol{books.HTTP1, books.TLS, books.HTTP2} {
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
		t.Errorf("%d cells: where are the faults?", cells)
	}
}

func addOnLedger(t *testing.T, f *books.Fault, p books.Protocol) {
	t.Helper()
	l := books.New()
	s, err := books.Serve(t.Context(), l, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	base := s.Transport()
	t.Cleanup(base.CloseIdleConnections)
	patience := 10 * time.Second
	if f.WriteWaits {
		patience = 200 * time.Millisecond // nothing but the timeout ends the attempt
	}
	client, err := commerce.New(s.URL(), commerce.WithToken("token"),
		commerce.WithHTTPClient(&http.Client{Transport: cartOf{base, l}}),
		commerce.WithRetry(commerce.RetryPolicy{MaxAttempts: 2, MinBackoff: 1, MaxBackoff: 1, AttemptTimeout: patience}))
	if err != nil {
		t.Fatal(err)
	}
	var batch []commerce.NewCustomDiscount
	var want []string
	for n := range 3 {
		id := books.ExternalID("call", n)
		want = append(want, id)
		batch = append(batch, commerce.NewCustomDiscount{
			Amount: commerce.NewDecimal(-100), Description: "d", DiscountCode: "c", DiscountEngine: "ledger", ExternalID: id,
		})
	}
	s.Plan(f, books.Clean())
	a := &adder{client: client, cartID: "cart", logf: func(string, ...any) {}}
	if _, err := a.add(t.Context(), batch); err != nil {
		t.Errorf("error %v", err)
	}
	if got := slices.Sorted(slices.Values(l.Discounts())); !slices.Equal(got, want) {
		t.Errorf("applied %v", got)
	}
}

// cartOf answers reads of the cart from the books, and leaves the rest to base.
type cartOf struct {
	base   http.RoundTripper
	ledger *books.Ledger
}

func (c cartOf) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return c.base.RoundTrip(req)
	}
	type discount map[string]any
	list := []discount{}
	for n, id := range c.ledger.Discounts() {
		list = append(list, discount{"type": "custom_discount", "id": fmt.Sprintf("00000000-0000-4000-8000-%012d", n+1),
			"external_id": id, "discount_engine": "ledger", "amount": -100})
	}
	body, err := json.Marshal(map[string]any{"data": discount{"id": "cart", "type": "cart"}, "included": map[string]any{"custom_discounts": list}})
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(body))), Request: req}, nil
}
