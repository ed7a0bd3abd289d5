package commercetest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const accountsPath = "/v2/accounts"

// accountIDs returns the ids of five accounts, sorted. Each ends in its first digit.
func accountIDs() (ids []uuid.UUID) {
	for _, digit := range "13579" {
		ids = append(ids, uuid.MustParse(string(digit)+"0000000-0000-4000-8000-00000000000"+string(digit)))
	}
	return ids
}

// accountStore returns a store with the accounts 5, 1, 9, 3 and 7, added in this order.
func accountStore() *commercetest.Store {
	store := commercetest.NewStore(commercetest.Config{PageLength: 3})
	ids := accountIDs()
	for _, i := range []int{2, 0, 4, 1, 3} {
		store.AddAccount(ids[i])
	}
	return store
}

// accountList is a list of accounts.
type accountList struct {
	Data  []struct{ ID uuid.UUID }
	Links map[string]*string
	Meta  struct {
		Results struct{ Total int }
	}
}

// digits returns the last digits of the ids.
func (l accountList) digits() (digits string) {
	for _, account := range l.Data {
		digits += account.ID.String()[35:]
	}
	return digits
}

func listAccounts(t *testing.T, store *commercetest.Store, query string) (l accountList) {
	t.Helper()
	resp := send(t, store, get(accountsPath+query))
	if resp.Status != http.StatusOK {
		t.Fatalf("status = %d, want 200: %s", resp.Status, resp.Body)
	}
	if err := json.Unmarshal([]byte(resp.Body), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestListAccounts(t *testing.T) {
	t.Parallel()
	const links = "https://store-links.example/v2/accounts?page%5Blimit%5D=2&page%5Boffset%5D="
	store := commercetest.NewStore(commercetest.Config{})
	store.SetSubscriber(uuid.MustParse(account2), commercetest.Subscriber{Name: "Li Wei"})
	for _, id := range []string{absentItem, cartItem, account2, account1} {
		store.AddAccount(uuid.MustParse(id))
	}
	eachSender(t, func(t *testing.T, send sendFunc) {
		wantJSON(t, send(store, get(accountsPath+"?page[limit]=2&page[offset]=2")), 200, fmt.Sprintf(
			`{"data":[{"id":"%[1]s","type":"account","name":"Li Wei","external_ref":"account-%[1]s"},`+
				`{"id":"%[2]s","type":"account","name":"account-%[2]s","external_ref":"account-%[2]s"}],`+
				`"links":{"first":"%[3]s0","last":null,"next":null,"prev":"%[3]s0"},`+
				`"meta":{"page":{"limit":2,"offset":2,"current":2,"total":2},"results":{"total":4}}}`,
			account2, account1, links))
		wantJSON(t, send(commercetest.NewStore(commercetest.Config{}), get(accountsPath+"?page[limit]=2")), 200,
			`{"data":[],"links":{"first":"`+links+`0","last":null,"next":null,"prev":null},`+
				`"meta":{"page":{"limit":2,"offset":0,"current":1,"total":0},"results":{"total":0}}}`)
	})
}

func TestListAccounts_queries(t *testing.T) {
	t.Parallel()
	store := accountStore()
	ids := accountIDs()
	id1, id5, id9 := ids[0].String(), ids[2].String(), ids[4].String()
	const four, all = "40000000-0000-4000-8000-000000000000", "&page[limit]=100"
	for _, tt := range []struct {
		name, query string
		want        string // digits
		total       int
		next        bool
	}{
		{name: "no query", want: "519", total: 5, next: true},
		{name: "second page", query: "page[offset]=3", want: "37", total: 5},
		{name: "beyond the end", query: "page[offset]=10000", total: 5},
		{name: "sorted", query: "sort=id", want: "135", total: 5, next: true},
		{name: "sorted, offset", query: "sort=id&page[offset]=1&page[limit]=2", want: "35", total: 5, next: true},
		{name: "descending", query: "sort=-id" + all, want: "97531", total: 5},
		{name: "descending, filtered", query: "sort=-id&filter=lt(id," + id5 + ")", want: "31", total: 2},
		{name: "not sorted again", query: "page[limit]=100", want: "51937", total: 5},
		{name: "greater", query: "sort=id&filter=gt(id," + id5 + ")", want: "79", total: 2},
		{name: "greater, in quotes", query: "sort=id&filter=gt(id,%22" + id5 + "%22)", want: "79", total: 2},
		{name: "greater than the last", query: "sort=id&filter=gt(id," + id9 + ")"},
		{name: "greater than zero", query: "sort=id&filter=gt(id," + uuid.Nil.String() + ")" + all, want: "13579", total: 5},
		{name: "greater than an absent one", query: "sort=id&filter=gt(id," + four + ")", want: "579", total: 3},
		{name: "greater, not sorted", query: "filter=gt(id," + id1 + ")" + all, want: "5937", total: 4},
		{name: "greater or equal", query: "sort=id&filter=ge(id," + id5 + ")", want: "579", total: 3},
		{name: "greater or equal, absent", query: "sort=id&filter=ge(id," + four + ")", want: "579", total: 3},
		{name: "less", query: "sort=id&filter=lt(id," + id5 + ")", want: "13", total: 2},
		{name: "less, absent", query: "sort=id&filter=lt(id," + four + ")", want: "13", total: 2},
		{name: "less or equal", query: "sort=id&filter=le(id," + id5 + ")", want: "135", total: 3},
		{name: "less or equal, absent", query: "sort=id&filter=le(id," + four + ")", want: "13", total: 2},
		{name: "between", query: "sort=id&filter=gt(id," + id1 + "):le(id," + id5 + ")", want: "35", total: 2},
		{name: "nothing between", query: "sort=id&filter=gt(id," + id5 + "):lt(id," + id1 + ")"},
		{name: "equal", query: "filter=eq(id," + id5 + ")", want: "5", total: 1},
		{name: "equal, absent", query: "filter=eq(id," + four + ")"},
		{
			name: "one of, sorted", query: "sort=id&filter=in(id," + id9 + "," + four + "," + id1 + "," + id9 + ")",
			want: "19", total: 2,
		},
		{name: "one of, greater", query: "filter=in(id," + id9 + "," + id1 + "):gt(id," + id5 + ")", want: "9", total: 1},
		{name: "one of, not sorted", query: "filter=in(id," + id1 + "," + id5 + ")", want: "51", total: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := listAccounts(t, store, "?"+tt.query)
			wantEqual(t, "accounts", l.digits(), tt.want)
			wantEqual(t, "total", l.Meta.Results.Total, tt.total)
			wantEqual(t, "has a next page", l.Links["next"] != nil, tt.next)
		})
	}
}

func TestListAccounts_refusals(t *testing.T) {
	t.Parallel()
	const (
		badSort   = "sort must be id or -id"
		badParam  = "The parameters must be filter, sort, page[limit] and page[offset]"
		badFilter = "Could not parse the supplied filter"
	)
	for _, tt := range []struct{ query, detail string }{
		{query: "page[limit]=101", detail: "page[limit] must be a whole number from 1 to 100"},
		{query: "page[offset]=10001", detail: "page[offset] must be a whole number from 0 to 10000"},
		{query: "filter=%zz", detail: "Could not parse the query"},
		{query: "sort=", detail: badSort},
		{query: "sort=name", detail: badSort},
		{query: "sort=created_at", detail: badSort},
		{query: "include=members", detail: badParam},
		{query: "page[limt]=1", detail: badParam},
		{query: "filter=", detail: badFilter},
		{query: "filter=gt(id," + absentItem + ")&filter=gt(id," + absentItem + ")", detail: badFilter},
		{query: "filter=gt(created_at,2026-01-01T00:00:00Z)", detail: badFilter},
		{query: "filter=eq(name,a)", detail: badFilter},
		{query: "filter=like(id,a)", detail: badFilter},
		{query: "filter=gt(id,1)", detail: badFilter},
		{query: "filter=eq(id,me)", detail: badFilter},
		{query: "filter=eq(id,urn:uuid:" + absentItem + ")", detail: badFilter},
		{query: "filter=gt(id,%7B" + absentItem + "%7D)", detail: badFilter},
		{query: "filter=gt(id," + absentItem + "," + absentItem + ")", detail: badFilter},
	} {
		t.Run(tt.query, func(t *testing.T) {
			t.Parallel()
			members := `"status":"400","title":"Validation Error"`
			if tt.detail == badFilter {
				members = `"title":"Bad Request"`
			}
			wantJSON(t, send(t, accountStore(), get(accountsPath+"?"+tt.query)), 400,
				`{"errors":[{`+members+`,"detail":"`+tt.detail+`"}]}`)
		})
	}
}

// An account is listed from AddAccount, AddSubscription or Seed on until RemoveAccount.
func TestAccounts_addAndRemove(t *testing.T) {
	t.Parallel()
	store := accountStore()
	ids := accountIDs()
	want := func(what, digits string) {
		t.Helper()
		wantEqual(t, what, listAccounts(t, store, "?page[limit]=100").digits(), digits)
	}
	store.AddAccount(ids[2])
	want("added again", "51937")
	wantEqual(t, "RemoveAccount", store.RemoveAccount(ids[2]), true)
	wantEqual(t, "RemoveAccount again", store.RemoveAccount(ids[2]), false)
	want("removed", "1937")

	sub := commerce.Subscription{ID: uuid.New()}
	store.AddSubscription(sub)
	want("subscription without an account", "1937")
	sub.Attributes.AccountID = ids[2]
	store.AddSubscription(sub)
	want("subscription of account 5", "19375")
	store.RemoveAccount(ids[2])
	store.UpdateSubscription(sub.ID, func(*commerce.Subscription) {})
	want("subscription changed", "1937")
	ofAccount := "?filter=eq(account_id," + ids[2].String() + ")"
	wantEqual(t, "subscriptions of a removed account", len(decodeList(t, send(t, store, get(listPath+ofAccount))).Data), 1)
}

// Seed adds the accounts of its subscriptions, oldest first. That is not the order of ids.
func TestSeed_accounts(t *testing.T) {
	t.Parallel()
	store := accountStore()
	store.Seed(100)
	var want []uuid.UUID
	for sub := range store.Subscriptions() {
		want = append(want, sub.Attributes.AccountID)
	}
	slices.Reverse(want)
	seen := map[uuid.UUID]bool{}
	want = slices.DeleteFunc(want, func(id uuid.UUID) bool {
		defer func() { seen[id] = true }()
		return seen[id]
	})
	list := func(query string) (got []uuid.UUID) {
		for _, account := range listAccounts(t, store, "?page[limit]=100"+query).Data {
			got = append(got, account.ID)
		}
		return got
	}
	wantEqual(t, "accounts", list(""), want)
	slices.SortFunc(want, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	wantEqual(t, "sorted accounts", list("&sort=id"), want)
	who, _ := store.SubscriberOf(want[0])
	body := send(t, store, get(accountsPath+"?sort=id&page[limit]=1")).Body
	name, _ := json.Marshal(who.Name) //nolint:errchkjson // a string
	if !strings.Contains(body, `"name":`+string(name)) {
		t.Errorf("account = %s, want the name %s", body, name)
	}
	store.Seed(0)
	wantEqual(t, "accounts after Seed(0)", len(list("")), 0)
}

// A client that walks by key reads all accounts, whatever is added behind its back.
func TestListAccounts_byKey(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(3_000) // 1,000 accounts
	last, requests, seen := uuid.Nil, 0, 0
	for {
		filter := url.QueryEscape("gt(id," + last.String() + ")")
		page := listAccounts(t, store, "?sort=id&page[limit]=100&filter="+filter).Data
		requests++
		for _, account := range page {
			if bytes.Compare(last[:], account.ID[:]) >= 0 {
				t.Fatalf("account %s after %s, want a greater id", account.ID, last)
			}
			last = account.ID
			seen++
		}
		if len(page) < 100 {
			break
		}
	}
	wantEqual(t, "accounts", seen, 1_000)
	wantEqual(t, "requests", requests, 11)
}
