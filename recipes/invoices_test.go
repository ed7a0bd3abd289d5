package recipes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
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
	const total = 250
	invoice := func(i int) string { return fmt.Sprintf(`{"id":"invoice-%d","attributes":{"number":%d}}`, i, i) }
	store := commercetest.New(t, commercetest.Config{})
	store.Handle("GET /v2/subscriptions/invoices", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		offset, err1 := strconv.Atoi(r.FormValue("page[offset]"))
		limit, err2 := strconv.Atoi(r.FormValue("page[limit]"))
		if err1 != nil || err2 != nil {
			t.Errorf("query %s has no offset and limit", r.URL.RawQuery)
		}
		var data []string
		for i := offset; i < min(offset+limit, total); i++ {
			data = append(data, invoice(i))
		}
		next := `"/next"`
		if offset+limit >= total {
			next = "null"
		}
		_, _ = fmt.Fprintf(w, `{"data":[%s],"links":{"next":%s}}`, strings.Join(data, ","), next)
	}))
	var got bytes.Buffer
	if err := writeInvoices(t.Context(), store.Client(), &got); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for i := range total {
		want.WriteString(invoice(i) + "\n")
	}
	if got.String() != want.String() {
		t.Errorf("got %d bytes, want the %d invoices in %d bytes", got.Len(), total, want.Len())
	}
}
