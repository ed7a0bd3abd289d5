package commercetest_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// orders returns the external refs of the seeded subscriptions from..to. from is the
// newest.
func orders(from, to int) []string {
	refs := []string{}
	for i := from; i >= to; i-- {
		refs = append(refs, fmt.Sprintf("order-%06d", i))
	}
	return refs
}

func TestList_pages(t *testing.T) {
	t.Parallel()
	const null = -1
	for _, tt := range []struct {
		name       string
		n          int // subscriptions in the store
		query      string
		want       []string
		limit      int // in the links
		next, prev int // offsets in the links
	}{
		{name: "empty", n: 0, want: orders(0, 1), limit: 25, next: null, prev: null},
		{name: "default length", n: 30, want: orders(30, 6), limit: 25, next: 25, prev: null},
		{name: "exactly one page", n: 25, want: orders(25, 1), limit: 25, next: null, prev: null},
		{name: "one more than a page", n: 26, want: orders(26, 2), limit: 25, next: 25, prev: null},
		{name: "offset", n: 30, query: "?page[offset]=25", want: orders(5, 1), limit: 25, next: null, prev: 0},
		{
			name: "encoded brackets", n: 30, query: "?page%5Boffset%5D=28&page%5Blimit%5D=1",
			want: orders(2, 2), limit: 1, next: 29, prev: 27,
		},
		{
			name: "last page", n: 30, query: "?page[limit]=10&page[offset]=20",
			want: orders(10, 1), limit: 10, next: null, prev: 10,
		},
		{
			name: "prev is not negative", n: 30, query: "?page[limit]=10&page[offset]=3",
			want: orders(27, 18), limit: 10, next: 13, prev: 0,
		},
		{name: "at the end", n: 30, query: "?page[offset]=30", want: orders(0, 1), limit: 25, next: null, prev: 5},
		{
			name: "beyond the end", n: 30, query: "?page[offset]=10000&page[limit]=100",
			want: orders(0, 1), limit: 100, next: null, prev: 9900,
		},
		{name: "largest page", n: 120, query: "?page[limit]=100", want: orders(120, 21), limit: 100, next: 100, prev: null},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			link := func(offset int) *string {
				if offset == null {
					return nil
				}
				return new(fmt.Sprintf("https://store-links.example/v2/subscriptions/subscriptions?"+
					"page%%5Blimit%%5D=%d&page%%5Boffset%%5D=%d", tt.limit, offset))
			}
			eachSender(t, func(t *testing.T, send sendFunc) {
				l := decodeList(t, send(seeded(commercetest.FirstGeneration, tt.n), get(listPath+tt.query)))
				wantEqual(t, "data", l.refs(), tt.want)
				wantEqual(t, "links", l.Links, map[string]*string{
					"first": link(0), "last": nil, "next": link(tt.next), "prev": link(tt.prev),
				})
				wantEqual(t, "has included", l.Included != nil, false)
			})
		})
	}
}

// The links of the second page of three, in all lists.
func TestList_links(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		links commercetest.Links
		want  string // FIRST, NEXT and PREV are addresses
	}{
		{
			name: "strings", links: commercetest.LinksAsStrings,
			want: `,"links":{"first":"FIRST","last":null,"next":"NEXT","prev":"PREV"}`,
		},
		{
			name: "objects", links: commercetest.LinksAsObjects,
			want: `,"links":{"first":{"href":"FIRST"},"last":null,"next":{"href":"NEXT"},"prev":{"href":"PREV"}}`,
		},
		{
			name: "without next", links: commercetest.LinksWithoutNext,
			want: `,"links":{"first":"FIRST","last":null,"prev":"PREV"}`,
		},
		{name: "none", links: commercetest.NoLinks},
	} {
		for _, list := range []struct{ path, meta string }{
			{path: listPath},
			{
				path: accountsPath,
				meta: `,"meta":{"page":{"limit":2,"offset":2,"current":2,"total":3},"results":{"total":5}}`,
			},
		} {
			t.Run(tt.name+list.path, func(t *testing.T) {
				t.Parallel()
				store := commercetest.NewStore(commercetest.Config{Links: tt.links})
				for _, id := range accountIDs() {
					sub := commerce.Subscription{ID: id}
					sub.Attributes.AccountID = id
					store.AddSubscription(sub)
				}
				resp := send(t, store, get(list.path+"?page[limit]=2&page[offset]=2"))
				var body struct{ Data json.RawMessage }
				if err := json.Unmarshal([]byte(resp.Body), &body); err != nil {
					t.Fatal(err)
				}
				page := "https://store-links.example" + list.path + "?page%5Blimit%5D=2&page%5Boffset%5D="
				links := strings.NewReplacer("FIRST", page+"0", "NEXT", page+"4", "PREV", page+"0").Replace(tt.want)
				wantJSON(t, resp, 200, `{"data":`+string(body.Data)+links+list.meta+`}`)
			})
		}
	}
}

func TestList_lastPageLinks(t *testing.T) {
	t.Parallel()
	store := commercetest.NewStore(commercetest.Config{Links: commercetest.LinksAsObjects})
	wantJSON(t, send(t, store, get(listPath)), 200, `{"data":[],"links":{"first":{"href":"https://store-links.example`+
		`/v2/subscriptions/subscriptions?page%5Blimit%5D=25&page%5Boffset%5D=0"},"last":null,"next":null,"prev":null}}`)
}

// A page is shorter than asked for, and the links lead to all records.
func TestList_maxPage(t *testing.T) {
	t.Parallel()
	const limit = "https://store-links.example/v2/subscriptions/subscriptions?page%5Blimit%5D="
	for _, tt := range []struct {
		name, query string
		want        []string
		next        *string
	}{
		{name: "default length", want: orders(9, 6), next: new(limit + "4&page%5Boffset%5D=4")},
		{
			name: "more", query: "?page[limit]=100&page[offset]=4",
			want: orders(5, 2), next: new(limit + "4&page%5Boffset%5D=8"),
		},
		{name: "fewer", query: "?page[limit]=3", want: orders(9, 7), next: new(limit + "3&page%5Boffset%5D=3")},
		{name: "last", query: "?page[offset]=8", want: orders(1, 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := commercetest.NewStore(commercetest.Config{MaxPage: 4})
			store.Seed(9)
			l := decodeList(t, send(t, store, get(listPath+tt.query)))
			wantEqual(t, "data", l.refs(), tt.want)
			wantEqual(t, "next", l.Links["next"], tt.next)
		})
	}
}

func TestList_emptyArrays(t *testing.T) {
	t.Parallel()
	const first = "https://store-links.example/v2/subscriptions/subscriptions" +
		"?include=plans%2Cproducts&page%5Blimit%5D=7&page%5Boffset%5D=0"
	store := commercetest.NewStore(commercetest.Config{Generation: commercetest.FirstGeneration, PageLength: 7})
	wantJSON(t, send(t, store, get(listPath+"?include=plans,products")), 200,
		`{"data":[],"included":{"plans":[],"products":[]},"links":{"first":"`+first+`","last":null,"next":null,"prev":null}}`)
}

func TestList_refusals(t *testing.T) {
	t.Parallel()
	const (
		limit   = "page[limit] must be a whole number from 1 to 100"
		offset  = "page[offset] must be a whole number from 0 to 10000"
		include = "include must be plans, products or plans,products: the store sends the first generation of the " +
			"payload, see Config.Generation"
		badQuery  = "Could not parse the query"
		badFilter = "Could not parse the supplied filter"
	)
	for _, tt := range []struct{ query, detail string }{
		{query: "page[limit]=0", detail: limit},
		{query: "page[limit]=101", detail: limit},
		{query: "page[limit]=-1", detail: limit},
		{query: "page[limit]=", detail: limit},
		{query: "page[limit]=1.5", detail: limit},
		{query: "page[limit]=ten", detail: limit},
		{query: "page[limit]=99999999999999999999", detail: limit},
		{query: "page[offset]=-1", detail: offset},
		{query: "page[offset]=10001", detail: offset},
		{query: "page[offset]=", detail: offset},
		{query: "include=offerings", detail: include},
		{query: "include=plan", detail: include},
		{query: "include=plans,offerings", detail: include},
		{query: "include=plans,%20products", detail: include},
		{query: "include=plans,", detail: include},
		{query: "filter=%zz", detail: badQuery},
		{query: "filter=", detail: badFilter},
		{query: "filter=email", detail: badFilter},
		{query: "filter=eq(status,active)", detail: badFilter},
		{query: "filter=eq(email,a%20b):", detail: badFilter},
		{query: "filter=eq(name,a,b)", detail: badFilter},
		{query: "filter=eq(name,a)&filter=eq(name,a)", detail: badFilter},
		{query: "filter=eq(name,a)&page[limit]=1&filter=", detail: badFilter},
		{query: "filter=" + strings.Repeat("eq(name,a):", 10) + "eq(name,a)", detail: badFilter},
	} {
		t.Run(tt.query, func(t *testing.T) {
			t.Parallel()
			members := `"status":"400","title":"Validation Error"`
			if tt.detail == badFilter {
				members = `"title":"Bad Request"`
			}
			resp := send(t, seeded(commercetest.FirstGeneration, 1), get(listPath+"?"+tt.query))
			wantJSON(t, resp, 400, `{"errors":[{`+members+`,"detail":"`+tt.detail+`"}]}`)
		})
	}
}

func TestList_include(t *testing.T) {
	t.Parallel()
	for _, g := range generations {
		other := generations[1-int(g.generation)].second
		for _, tt := range []struct {
			include       string
			plans, second bool
			refused       bool
		}{
			{include: ""},
			{include: "plans", plans: true},
			{include: g.second, second: true},
			{include: "plans," + g.second, plans: true, second: true},
			{include: g.second + "%2Cplans", plans: true, second: true},
			{include: other, refused: true},
			{include: "plans," + other, refused: true},
			{include: g.second + "," + other, refused: true},
		} {
			t.Run(g.name+" generation/"+tt.include, func(t *testing.T) {
				t.Parallel()
				// The newest subscription. Its offering has two plans and two of the others.
				resp := send(t, seeded(g.generation, 9), get(listPath+"?page[limit]=1&include="+tt.include))
				if tt.refused {
					wantJSON(t, resp, 400, fmt.Sprintf(`{"errors":[{"status":"400","title":"Validation Error",`+
						`"detail":"include must be plans, %[1]s or plans,%[1]s: the store sends the %[2]s generation of the payload, `+
						`see Config.Generation"}]}`, g.second, g.name))
					return
				}
				l := decodeList(t, resp)
				got, want := map[string][]string{}, map[string][]string{}
				for name, list := range l.Included {
					for _, r := range list {
						got[name] = append(got[name], r.Type)
					}
				}
				if tt.plans {
					want["plans"] = []string{"subscription_offering_plan", "subscription_offering_plan"}
				}
				if tt.second {
					want[g.second] = []string{g.secondType, g.secondType}
				}
				wantEqual(t, "types of included", got, want)
				isOwn := func(r struct{ ID, Type string }) bool { return r.ID == l.Data[0].Attributes.PlanID }
				wantEqual(t, "includes the own plan", slices.ContainsFunc(l.Included["plans"], isOwn), tt.plans)
			})
		}
	}
}

// The first two accounts of Seed, and their subscriptions of the first twelve.
const (
	account1 = "57b804da-8b91-863e-97c1-ed2c129fb536"
	account2 = "8e5fd674-38de-8460-a19b-cfb64d1f162f" // of Siobhán O'Brien
)

var (
	ofAccount1 = []string{"order-000005", "order-000003", "order-000001"}
	ofAccount2 = []string{"order-000006", "order-000004", "order-000002"}
)

// filterStore returns a store with twelve seeded subscriptions and two others. The account of
// one of these has a subscriber.
func filterStore() *commercetest.Store {
	store := seeded(commercetest.SecondGeneration, 12)
	withSubscriber := uuid.MustParse("6f1c2a52-98f6-4c0c-8d2b-6a5cf1f2f0aa")
	store.SetSubscriber(withSubscriber, commercetest.Subscriber{Name: `a "b" \ c`, Email: "ron+1@swanson.com"})
	for _, s := range []struct {
		account       uuid.UUID
		ref, offering string
	}{
		{account: withSubscriber, ref: "known", offering: "Box"},
		{account: uuid.MustParse("0b0f6f5e-9a3f-4d55-b1b4-6d1a1c6d6a10"), ref: "a,b", offering: "Gift (small)"},
	} {
		sub := commerce.Subscription{ID: uuid.New()}
		sub.Attributes.AccountID, sub.Attributes.ExternalRef = s.account, s.ref
		sub.Attributes.Offering.Attributes.Name = s.offering
		store.AddSubscription(sub)
	}
	return store
}

func TestList_filter(t *testing.T) {
	t.Parallel()
	store := filterStore()
	for _, tt := range []struct {
		name, filter string
		want         []string
	}{
		{name: "account", filter: `eq(account_id,` + account1 + `)`, want: ofAccount1},
		{name: "account in capitals", filter: `eq(account_id,` + strings.ToUpper(account1) + `)`, want: ofAccount1},
		{name: "unknown account", filter: `eq(account_id,` + absentItem + `)`},
		{name: "account is not a UUID", filter: `eq(account_id,me)`},
		{name: "email", filter: `eq(email,subscriber-0002@example.com)`, want: ofAccount2},
		{name: "email with a plus", filter: `eq(email,ron+1@swanson.com)`, want: []string{"known"}},
		{name: "email in other case", filter: `eq(email,RON+1@swanson.com)`},
		{name: "empty email", filter: `eq(email,"")`},
		{name: "name", filter: `eq(name,Amara Okafor)`, want: ofAccount1},
		{name: "name in quotes", filter: `eq(name,"Siobhán O'Brien")`, want: ofAccount2},
		{name: "name with escapes", filter: `eq(name,"a \"b\" \\ c")`, want: []string{"known"}},
		{name: "name in single quotes", filter: `eq(name,'a "b" \\ c')`, want: []string{"known"}},
		{name: "name of the offering, with a subscriber", filter: `eq(name,Box)`},
		{name: "name of the offering, without a subscriber", filter: `eq(name,"Gift (small)")`, want: []string{"a,b"}},
		{name: "external ref", filter: `eq(external_ref,order-000007)`, want: orders(7, 7)},
		{name: "external ref in quotes", filter: `eq(external_ref,"a,b")`, want: []string{"a,b"}},
		{name: "part of an external ref", filter: `eq(external_ref,order)`},
		{
			name: "both conditions match", filter: `eq(account_id,` + account2 + `):eq(external_ref,order-000004)`,
			want: orders(4, 4),
		},
		{name: "one condition matches", filter: `eq(account_id,` + account1 + `):eq(external_ref,order-000004)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := decodeList(t, send(t, store, get(listPath+"?filter="+url.QueryEscape(tt.filter))))
			wantEqual(t, "data", l.refs(), append([]string{}, tt.want...))
		})
	}
}

func TestList_filterIn(t *testing.T) {
	t.Parallel()
	store := filterStore()
	for _, tt := range []struct {
		name, filter string
		want         []string
	}{
		{
			name: "accounts", filter: `in(account_id,` + account1 + `,"` + strings.ToUpper(account2) + `")`,
			want: orders(6, 1),
		},
		{
			name: "one account is unknown", filter: `in(account_id,` + absentItem + `,` + account1 + `)`,
			want: ofAccount1,
		},
		{name: "names", filter: `in(name,"Siobhán O'Brien",Amara Okafor)`, want: orders(6, 1)},
		{
			name: "emails", filter: `in(email,ron+1@swanson.com,"subscriber-0001@example.com")`,
			want: append([]string{"known"}, ofAccount1...),
		},
		{name: "external refs", filter: `in(external_ref,order-000008,'order-000009')`, want: orders(9, 8)},
		{name: "a value twice", filter: `in(external_ref,order-000008,order-000008)`, want: orders(8, 8)},
		{
			name: "in and eq", filter: `in(account_id,` + account1 + `,` + account2 + `):eq(external_ref,order-000004)`,
			want: orders(4, 4),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := decodeList(t, send(t, store, get(listPath+"?filter="+url.QueryEscape(tt.filter))))
			wantEqual(t, "data", l.refs(), tt.want)
		})
	}
}

// The queries are sent exactly as they are written here.
func TestList_filterEncoding(t *testing.T) {
	t.Parallel()
	const ofAccount = `filter=eq(account_id,` + account2 + `)`
	const link = "https://store-links.example/v2/subscriptions/subscriptions?filter=eq%28account_id%2C" + account2 +
		"%29&page%5Blimit%5D=2&page%5Boffset%5D=2"
	for _, tt := range []struct {
		name, query string
		want        []string
		next        *string
	}{
		{name: "unquoted", query: `filter=eq(email,subscriber-0002@example.com)`, want: ofAccount2},
		{name: "raw plus is a space", query: `filter=eq(name,Amara+Okafor)`, want: ofAccount1},
		{name: "percent-encoded", query: `filter=eq%28email%2Csubscriber-0002%40example.com%29`, want: ofAccount2},
		{name: "double quotes", query: `filter=eq%28name%2C%22Siobh%C3%A1n+O%27Brien%22%29`, want: ofAccount2},
		{name: "single quotes, one escaped", query: `filter=eq(name,'Siobh%C3%A1n%20O\'Brien')`, want: ofAccount2},
		{name: "two conditions", query: ofAccount + `:eq(external_ref,order-000004)`, want: orders(4, 4)},
		{
			name: "three conditions, encoded and quoted",
			query: `filter=eq%28account_id%2C%22` + account2 + `%22%29%3Aeq%28email%2C%22subscriber-0002%40example.com%22%29` +
				`%3Aeq%28external_ref%2C%22order-000002%22%29`,
			want: orders(2, 2),
		},
		{name: "conditions exclude each other", query: ofAccount + `:eq(account_id,` + account1 + `)`, want: []string{}},
		{name: "with paging", query: ofAccount + `&page[limit]=2`, want: ofAccount2[:2], next: new(link)},
		{
			name:  "with other parameters",
			query: `include=plans&filter=eq(email,subscriber-0002@example.com)&page[limit]=2&page%5Boffset%5D=1`,
			want:  ofAccount2[1:],
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachSender(t, func(t *testing.T, send sendFunc) {
				l := decodeList(t, send(seeded(commercetest.FirstGeneration, 12), get(listPath+"?"+tt.query)))
				wantEqual(t, "data", l.refs(), tt.want)
				wantEqual(t, "next", l.Links["next"], tt.next)
			})
		})
	}
}
