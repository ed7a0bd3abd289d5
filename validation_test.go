package commerce_test

import (
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/internal/e2e/calls"
)

// The text has a maximum length, and says how many problems there are.
func TestValidationError_text(t *testing.T) {
	t.Parallel()
	list := make([]commerce.NewCustomDiscount, 10_000)
	opts := &commerce.AddCustomDiscountsOptions{AllowRepeated: true}
	_, err := newStub(t).client(t).Carts.AddCustomDiscounts(t.Context(), cartID, list, opts)
	if n := len(invalidFields(err)); n != 50_001 {
		t.Fatalf("got %d problems, want 50,001", n)
	}
	text := err.Error()
	if len(text) > 500 || !strings.Contains(text, "discount 0: amount ") || !strings.Contains(text, "50001") {
		t.Errorf("got %d bytes: %.500s, want the first problems and how many there are", len(text), text)
	}
}

// Invalid arguments of any call are refused before an observer is notified or anything is sent.
func TestValidationError_calls(t *testing.T) {
	t.Parallel()
	for _, call := range calls.All() {
		s, o := newStub(t), &observations{}
		if call.TakesAll {
			s.responders = successOf(call)
		}
		_, err := call.Do(t.Context(), s.client(t, commerce.WithObserver(o)), calls.InvalidArgs())
		isRefused := invalidFields(err) != nil && commerce.OutcomeOf(err) == commerce.OutcomeNotSent && len(o.list) == 0
		if isRefused == call.TakesAll || call.TakesAll && err != nil {
			t.Errorf("%s: error %v, notifications %v, want a ValidationError and none: %t", call.Name, err, o.list,
				!call.TakesAll)
		}
	}
}
