package recipes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// Invoice is an invoice of a subscription. For what is in the attributes, use a struct.
type Invoice struct {
	ID         string          `json:"id"`
	Attributes json.RawMessage `json:"attributes"`
}

// writeInvoices writes all invoices as JSON Lines.
func writeInvoices(ctx context.Context, client *commerce.Client, w io.Writer) error {
	list := commerce.OffsetList[Invoice]{
		Path:        []string{"v2", "subscriptions", "invoices"},
		ID:          func(i *Invoice) string { return i.ID },
		Concurrency: 4,
	}
	lines := json.NewEncoder(w)
	for invoice, err := range commerce.Walk(ctx, client, list) {
		if err != nil {
			return err // a *commerce.PagingError says where to resume
		}
		if err := lines.Encode(invoice); err != nil {
			return err
		}
	}
	return nil
}

func TestWriteInvoices(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	store.Seed(125)
	var got bytes.Buffer
	if err := writeInvoices(t.Context(), store.Client(), &got); err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for line := range strings.Lines(got.String()) {
		var invoice Invoice
		if err := json.Unmarshal([]byte(line), &invoice); err != nil || invoice.Attributes == nil {
			t.Errorf("line %s: error %v, want an invoice with attributes", line, err)
		}
		ids[invoice.ID] = true
	}
	if lines := strings.Count(got.String(), "\n"); lines != 250 || len(ids) != 250 {
		t.Errorf("got %d lines with %d ids, want the 250 invoices", lines, len(ids))
	}
}
