package commercetest_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"

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
		subscriber = `{"data":[{"id":"44048a10-e0b7-8445-baaa-7e44513bdff9","type":"subscription_subscriber",
			"attributes":{"account_id":"` + account1 + `","name":"Amara Okafor","email":"subscriber-0001@example.com",
				"external_ref":"account-` + account1 + `",` + created + `},
			"meta":{"owner":"store","timestamps":{` + created + `}}}]}`
		second = `,"pro_rata_remaining_value":0,"display_price":{
			"with_tax":{"amount":1000,"currency":"GBP","formatted":"10.00 GBP"},
			"without_tax":{"amount":1000,"currency":"GBP","formatted":"10.00 GBP"},
			"tax":{"amount":0,"currency":"GBP","formatted":"0.00 GBP"}}`
	)
	invoice := func(members, meta string) string {
		return `{"data":[{"id":"a20aadf5-ebc9-85db-9cf9-d5433a68f84b","type":"subscription_invoice",
			"attributes":{"number":2,"outstanding":true,"tax_required":false,"payment_retries_limit_reached":false,
				"manual_payment_pending":false,` + members + `
				"billing_period":{"start":"2024-02-02T10:07:00.123Z","end":"2024-03-02T10:07:00.123Z"},
				"invoice_items":[{"description":"Tea Box","price":{"amount":1000,"currency":"GBP"}}]},
			"meta":{"owner":"store","subscription_id":"0a78ef43-f062-848a-8e85-62b822a8da86","proration_events":[],
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
}

// A filter finds invoices by their subscription, their subscriber and their flags.
func TestListInvoices_filter(t *testing.T) {
	t.Parallel()
	store := seeded(commercetest.SecondGeneration, 6)
	one, two := seededID(1), seededID(2)
	subscriber := hashID(uuid.MustParse(account1), nil).String() // of 1, 3 and 5
	for query, want := range map[string][]int{
		"eq(outstanding,true)":                                                          {2, 4, 6, 8, 10, 12},
		"eq(outstanding,false)":                                                         {1, 3, 5, 7, 9, 11},
		"eq(outstanding,true)&page[limit]=2&page[offset]=3":                             {8, 10},
		"eq(outstanding,true)&page[offset]=6":                                           nil,
		"eq(outstanding,true):eq(subscription_id," + two + ")":                          {4},
		"in(subscription_id," + two + "," + one + ")":                                   {1, 2, 3, 4},
		"eq(subscription_id," + absentItem + ")":                                        nil,
		"eq(subscriber_id," + subscriber + ")":                                          {1, 2, 5, 6, 9, 10},
		"in(subscriber_id," + absentItem + "," + subscriber + "):eq(outstanding,false)": {1, 5, 9},
		"eq(tax_required,false):eq(subscription_id," + one + ")":                        {1, 2},
		"eq(tax_required,true)":                                                         nil,
	} {
		var list struct {
			Data []struct{ Attributes struct{ Number int } }
		}
		resp := send(t, store, get("/v2/subscriptions/invoices?filter="+query))
		if err := json.Unmarshal([]byte(resp.Body), &list); err != nil || resp.Status != 200 {
			t.Fatalf("%s: status %d, error %v", query, resp.Status, err)
		}
		var got []int
		for _, v := range list.Data {
			got = append(got, v.Attributes.Number)
		}
		wantEqual(t, query, got, want)
	}
	for _, filter := range []string{
		"eq(outstanding,maybe)", "eq(outstanding,)", "in(outstanding,true)", "in(tax_required,false)",
		"eq(tax_required,TRUE)", "eq(account_id," + account1 + ")", "eq(number,1)", "gt(subscription_id," + one + ")",
	} {
		wantEqual(t, filter, send(t, store, get("/v2/subscriptions/invoices?filter="+filter)).Status, 400)
	}
}

// Filters find an account by each of its subscribers, but not by a mixture of them.
func TestAddSubscriber(t *testing.T) {
	t.Parallel()
	store := seeded(commercetest.SecondGeneration, 2)
	account := uuid.MustParse(account1)
	before, _ := store.SubscriberOf(account)
	store.AddSubscriber(account, commercetest.Subscriber{Name: "New", Email: "new@example.com"})
	first, _ := store.SubscriberOf(account)
	wantEqual(t, "first subscriber", first, before)
	var ids []string
	read := func(list, filter string) (n int) {
		var page struct{ Data []struct{ ID string } }
		resp := send(t, store, get("/v2/subscriptions/"+list+"?filter="+filter))
		if err := json.Unmarshal([]byte(resp.Body), &page); err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Data {
			ids = append(ids, r.ID)
		}
		return len(page.Data)
	}
	wantEqual(t, "subscribers", read("subscribers", "eq(account_id,"+account1+")"), 2)
	wantEqual(t, "first id", ids[0], hashID(account, nil).String())
	wantEqual(t, "both have the same id", ids[0] == ids[1], false)
	wantEqual(t, "invoices of both, each once", read("invoices", "in(subscriber_id,"+ids[0]+","+ids[1]+")"), 2)
	wantEqual(t, "invoices of the second", read("invoices", "eq(subscriber_id,"+ids[1]+")"), 2)
	for filter, want := range map[string]int{
		"eq(email,subscriber-0001@example.com)": 1, "eq(email,new@example.com)": 1, "eq(name,New)": 1,
		"eq(name,New):eq(email,new@example.com)": 1, "eq(name,New):eq(email,subscriber-0001@example.com)": 0,
	} {
		wantEqual(t, "subscribers by "+filter, read("subscribers", filter), want)
		wantEqual(t, "subscriptions by "+filter, read("subscriptions", filter), want)
	}
	store.SetSubscriber(account, first)
	wantEqual(t, "subscriptions by the second, which is gone", read("subscriptions", "eq(name,New)"), 0)
}
