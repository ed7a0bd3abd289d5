package commercetest_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// The lists can be walked, whatever their links and pages are.
func TestListOf(t *testing.T) {
	t.Parallel()
	type record struct{ ID string }
	for _, links := range []commercetest.Links{
		commercetest.LinksAsStrings, commercetest.LinksAsObjects, commercetest.LinksWithoutNext, commercetest.NoLinks,
	} {
		store := commercetest.New(t, commercetest.Config{Links: links, MaxPage: 7})
		store.Seed(60)
		for list, want := range map[string]int{"subscribers": 20, "invoices": 120} {
			records, err := commerce.Collect(commerce.Walk(t.Context(), store.Client(), commerce.OffsetList[record]{
				Path: []string{"v2", "subscriptions", list}, ID: func(r *record) string { return r.ID }, Concurrency: 4,
			}))
			ids := map[string]bool{}
			for _, r := range records {
				ids[r.ID] = true
			}
			if err != nil || len(records) != want || len(ids) != want {
				t.Errorf("links %d, %s: %d records with %d ids, error %v, want %d", links, list, len(records), len(ids), err, want)
			}
		}
	}
}

// Subscribers and invoices have the members that are required in their generation.
func TestListRelated_members(t *testing.T) {
	t.Parallel()
	const (
		created    = `"created_at":"2024-01-02T08:30:00.000Z","updated_at":"2024-01-02T08:30:00.000Z"`
		subscriber = `{"data":[{"id":"83445a1f-d202-5af5-9815-caa1313d062c","type":"subscription_subscriber",
			"attributes":{"account_id":"` + account1 + `","name":"Amara Okafor","email":"subscriber-0001@example.com",
				"external_ref":"account-` + account1 + `",` + created + `},
			"meta":{"owner":"store","timestamps":{` + created + `}}}]}`
		second = `,"pro_rata_remaining_value":0,"display_price":{
			"with_tax":{"amount":1000,"currency":"GBP","formatted":"10.00 GBP"},
			"without_tax":{"amount":1000,"currency":"GBP","formatted":"10.00 GBP"},
			"tax":{"amount":0,"currency":"GBP","formatted":"0.00 GBP"}}`
	)
	invoice := func(members, meta string) string {
		return `{"data":[{"id":"1d7f0680-3b36-529d-aa80-4a54d31c14f4","type":"subscription_invoice",
			"attributes":{"number":2,"outstanding":true,"tax_required":false,"payment_retries_limit_reached":false,
				"manual_payment_pending":false,` + members + `
				"billing_period":{"start":"2024-02-02T10:07:00.123Z","end":"2024-03-02T10:07:00.123Z"},
				"invoice_items":[{"description":"Tea Box","price":{"amount":1000,"currency":"GBP"}}]},
			"meta":{"owner":"store","subscription_id":"50babc88-edc9-5c16-b82b-2d0d723bc6f0","proration_events":[],
				"timestamps":{"created_at":"2024-02-02T10:07:00.123Z","updated_at":"2024-02-02T10:07:00.123Z"}` + meta + `}}]}`
	}
	for i, want := range []string{invoice(`"pro_forma":false,`, second), invoice("", "")} { // as in generations
		store := commercetest.New(t, commercetest.Config{Links: commercetest.NoLinks, Generation: generations[i].generation})
		if _, err := store.AddSubscriptionFixture(commercetest.SubscriptionFixture{Currency: "GBP"}); err != nil {
			t.Fatal(err)
		}
		wantJSON(t, send(t, store, get("/v2/subscriptions/subscribers")), 200, subscriber)
		wantJSON(t, send(t, store, get("/v2/subscriptions/invoices?page[offset]=1")), 200, want)
	}
}

// A filter finds subscribers by what filters of subscriptions find them by.
func TestListSubscribers_filter(t *testing.T) {
	t.Parallel()
	store := seeded(commercetest.SecondGeneration, 6)
	for _, tt := range []struct {
		filter string
		want   int
	}{
		{filter: "eq(account_id," + account1 + ")", want: 1},
		{filter: "in(account_id," + account1 + "," + account2 + ")", want: 2},
		{filter: "eq(email,subscriber-0001@example.com)", want: 1},
		{filter: "eq(account_id," + account1 + "):eq(email,nobody@example.com)"},
		{filter: "eq(name,Nobody)"},
	} {
		var list struct {
			Data []struct {
				Type       string
				Attributes struct {
					Name, Email string
				}
			}
		}
		resp := send(t, store, get("/v2/subscriptions/subscribers?filter="+tt.filter))
		if err := json.Unmarshal([]byte(resp.Body), &list); err != nil || len(list.Data) != tt.want {
			t.Errorf("%s: got %s, error %v, want %d subscribers", tt.filter, resp.Body, err, tt.want)
		}
		for _, s := range list.Data {
			if s.Type != "subscription_subscriber" || s.Attributes.Name == "" || s.Attributes.Email == "" {
				t.Errorf("%s: got %+v, want a subscriber with a name and an e-mail address", tt.filter, s)
			}
		}
	}
	for _, query := range []string{"filter=x", "page[limit]=0", "filter=%zz"} {
		for _, list := range []string{"subscribers", "invoices"} {
			resp := send(t, store, get(fmt.Sprintf("/v2/subscriptions/%s?%s", list, query)))
			wantEqual(t, list+"?"+query, resp.Status, 400)
		}
	}
	invoices := send(t, store, get("/v2/subscriptions/invoices?filter=eq(account_id,"+account1+")"))
	wantEqual(t, "filtered invoices", invoices.Status, 400)
}
