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
