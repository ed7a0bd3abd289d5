package commercetest_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

const listPath = "/v2/subscriptions/subscriptions"

// listBody is what the tests look at in a list.
type listBody struct {
	Data []struct {
		ID         string
		Attributes struct {
			ExternalRef string `json:"external_ref"`
			AccountID   string `json:"account_id"`
			PlanID      string `json:"plan_id"`
		}
	}
	Included map[string][]struct{ ID, Type string }
	Links    map[string]*string
}

// refs are the external refs of the list's subscriptions.
func (l listBody) refs() []string {
	refs := []string{}
	for _, d := range l.Data {
		refs = append(refs, d.Attributes.ExternalRef)
	}
	return refs
}

func decodeList(t *testing.T, a wireAnswer) (l listBody) {
	t.Helper()
	if a.Status != 200 {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	if err := json.Unmarshal([]byte(a.Body), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// orders are the external refs of the seeded subscriptions from..to, in that order.
func orders(from, to int) []string {
	refs := []string{}
	for i := from; i >= to; i-- {
		refs = append(refs, fmt.Sprintf("order-%06d", i))
	}
	return refs
}

func seeded(n int) *commercetest.Store {
	store := commercetest.NewStore(commercetest.Config{})
	store.Seed(n)
	return store
}

func TestListPages(t *testing.T) {
	t.Parallel()
	link := func(offset, limit int) string {
		return fmt.Sprintf("https://store-links.example/v2/subscriptions/subscriptions?page%%5Blimit%%5D=%d&page%%5Boffset%%5D=%d", limit, offset)
	}
	for _, tt := range []struct {
		name  string
		n     int
		query string
		refs  []string
		limit int // in the links
		next  int // -1: null
		prev  int // -1: null
	}{
		{"empty", 0, "", orders(0, 1), 25, -1, -1},
		{"default length", 30, "", orders(30, 6), 25, 25, -1},
		{"exactly a page", 25, "", orders(25, 1), 25, -1, -1},
		{"one more", 26, "", orders(26, 2), 25, 25, -1},
		{"offset", 30, "?page[offset]=25", orders(5, 1), 25, -1, 0},
		{"encoded brackets", 30, "?page%5Boffset%5D=28&page%5Blimit%5D=1", orders(2, 2), 1, 29, 27},
		{"last page", 30, "?page[limit]=10&page[offset]=20", orders(10, 1), 10, -1, 10},
		{"prev stops at the start", 30, "?page[limit]=10&page[offset]=3", orders(27, 18), 10, 13, 0},
		{"at the end", 30, "?page[offset]=30", orders(0, 1), 25, -1, 5},
		{"beyond the end", 30, "?page[offset]=10000&page[limit]=100", orders(0, 1), 100, -1, 9900},
		{"largest page", 120, "?page[limit]=100", orders(120, 21), 100, 100, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
				l := decodeList(t, send(seeded(tt.n), get(listPath+tt.query)))
				if diff := cmp.Diff(tt.refs, l.refs()); diff != "" {
					t.Errorf("data (-want +got):\n%s", diff)
				}
				want := map[string]*string{"first": new(string), "last": nil, "next": nil, "prev": nil}
				*want["first"] = link(0, tt.limit)
				for name, offset := range map[string]int{"next": tt.next, "prev": tt.prev} {
					if offset >= 0 {
						address := link(offset, tt.limit)
						want[name] = &address
					}
				}
				if diff := cmp.Diff(want, l.Links); diff != "" {
					t.Errorf("links (-want +got):\n%s", diff)
				}
				if l.Included != nil {
					t.Errorf("included without being asked: %v", l.Included)
				}
			})
		})
	}
}

func TestListEmptyIsAnArray(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
		first := "https://store-links.example/v2/subscriptions/subscriptions?include=plans%2Cproducts&page%5Blimit%5D=7&page%5Boffset%5D=0"
		wantJSON(t, send(commercetest.NewStore(commercetest.Config{PageLength: 7}), get(listPath+"?include=plans,products")), 200,
			`{"data":[],"included":{"plans":[],"products":[]},"links":{"first":"`+first+`","last":null,"next":null,"prev":null}}`)
	})
}

func TestListRefusals(t *testing.T) {
	t.Parallel()
	const (
		limit   = "page[limit] must be a whole number from 1 to 100"
		offset  = "page[offset] must be a whole number from 0 to 10000"
		include = "include must be plans, products or plans,products"
	)
	invalid := func(detail string) string {
		return `{"errors":[{"status":"400","title":"Validation Error","detail":"` + detail + `"}]}`
	}
	const unparsed = `{"errors":[{"title":"Bad Request","detail":"Could not parse the supplied filter"}]}`
	for _, tt := range []struct{ query, want string }{
		{"page[limit]=0", invalid(limit)},
		{"page[limit]=101", invalid(limit)},
		{"page[limit]=-1", invalid(limit)},
		{"page[limit]=", invalid(limit)},
		{"page[limit]=1.5", invalid(limit)},
		{"page[limit]=ten", invalid(limit)},
		{"page[limit]=99999999999999999999", invalid(limit)},
		{"page[offset]=-1", invalid(offset)},
		{"page[offset]=10001", invalid(offset)},
		{"page[offset]=", invalid(offset)},
		{"include=offerings", invalid(include)},
		{"include=plans,offerings", invalid(include)},
		{"include=plans,%20products", invalid(include)},
		{"include=plans,", invalid(include)},
		{"include=pricing_options", invalid(include)},
		{"filter=%zz", invalid("Could not parse the query")},
		{"filter=", unparsed},
		{"filter=email", unparsed},
		{"filter=eq(status,active)", unparsed},
		{"filter=eq(email,a%20b):", unparsed},
		{"filter=eq(name,a,b)", unparsed},
		{"filter=" + strings.Repeat("eq(name,a):", 10) + "eq(name,a)", unparsed},
	} {
		t.Run(tt.query, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
				wantJSON(t, send(seeded(1), get(listPath+"?"+tt.query)), 400, tt.want)
			})
		})
	}
}

func TestListFilter(t *testing.T) {
	t.Parallel()
	const (
		account1 = "29979e80-3e0f-52f4-9d48-2efc43cf8844"
		account2 = "ee6670c5-fa8f-51d1-a4a6-06f96559a9c4"
		own      = "6f1c2a52-98f6-4c0c-8d2b-6a5cf1f2f0aa"
		other    = "0b0f6f5e-9a3f-4d55-b1b4-6d1a1c6d6a10"
	)
	newStore := func() *commercetest.Store {
		store := seeded(12) // accounts 1 to 4, three subscriptions each
		store.SetSubscriber(uuid.MustParse(own), commercetest.Subscriber{Name: `a "b" \ c`, Email: "ron+1@swanson.com"})
		for _, s := range []struct{ account, ref, offering string }{{own, "own", "Box"}, {other, "a,b", "Gift (small)"}} {
			sub := commerce.Subscription{ID: uuid.NewSHA1(uuid.Nil, []byte(s.ref))}
			sub.Attributes.AccountID, sub.Attributes.ExternalRef = uuid.MustParse(s.account), s.ref
			sub.Attributes.Offering.Attributes.Name = s.offering
			store.AddSubscription(sub)
		}
		return store
	}

	for _, tt := range []struct {
		name, filter string
		want         []string
	}{
		{"account", `eq(account_id,` + account1 + `)`, []string{"order-000005", "order-000003", "order-000001"}},
		{"account in capitals", `eq(account_id,` + strings.ToUpper(account1) + `)`, []string{"order-000005", "order-000003", "order-000001"}},
		{"account that is not there", `eq(account_id,` + absentItem + `)`, []string{}},
		{"account that is no id", `eq(account_id,me)`, []string{}},
		{"email", `eq(email,subscriber-0002@example.com)`, []string{"order-000006", "order-000004", "order-000002"}},
		{"email with a plus", `eq(email,ron+1@swanson.com)`, []string{"own"}},
		{"email in other case", `eq(email,RON+1@swanson.com)`, []string{}},
		{"empty email", `eq(email,"")`, []string{}},
		{"name", `eq(name,Amara Okafor)`, []string{"order-000005", "order-000003", "order-000001"}},
		{"name in quotes", `eq(name,"Siobhán O'Brien")`, []string{"order-000006", "order-000004", "order-000002"}},
		{"name with all that needs an escape", `eq(name,"a \"b\" \\ c")`, []string{"own"}},
		{"name in single quotes", `eq(name,'a "b" \\ c')`, []string{"own"}},
		{"name is not the offering's", `eq(name,Box)`, []string{}},
		{"name of the offering, without a subscriber", `eq(name,"Gift (small)")`, []string{"a,b"}},
		{"external ref", `eq(external_ref,order-000007)`, []string{"order-000007"}},
		{"external ref in quotes", `eq(external_ref,"a,b")`, []string{"a,b"}},
		{"no part of an external ref", `eq(external_ref,order)`, []string{}},
		{"both hold", `eq(account_id,` + account2 + `):eq(external_ref,order-000004)`, []string{"order-000004"}},
		{"one holds", `eq(account_id,` + account1 + `):eq(external_ref,order-000004)`, []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
				l := decodeList(t, send(newStore(), get(listPath+"?filter="+url.QueryEscape(tt.filter))))
				if diff := cmp.Diff(tt.want, l.refs()); diff != "" {
					t.Errorf("refs (-want +got):\n%s", diff)
				}
			})
		})
	}
	t.Run("raw plus is a space", func(t *testing.T) {
		t.Parallel()
		eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
			l := decodeList(t, send(newStore(), get(listPath+"?filter=eq(email,ron+1@swanson.com)")))
			if diff := cmp.Diff([]string{}, l.refs()); diff != "" {
				t.Errorf("refs (-want +got):\n%s", diff)
			}
		})
	})
	t.Run("with paging", func(t *testing.T) {
		t.Parallel()
		eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
			l := decodeList(t, send(newStore(), get(listPath+"?filter=eq(account_id,"+account1+")&page[limit]=2")))
			if diff := cmp.Diff([]string{"order-000005", "order-000003"}, l.refs()); diff != "" {
				t.Errorf("refs (-want +got):\n%s", diff)
			}
			if next := l.Links["next"]; next == nil || !strings.Contains(*next, "filter=eq%28account_id%2C"+account1+"%29") {
				t.Errorf("next %v, want one with the filter", next)
			}
		})
	})
}

// TestFilterOnTheWire sends filters byte by byte as they stand here.
func TestFilterOnTheWire(t *testing.T) {
	t.Parallel()
	const account2 = "ee6670c5-fa8f-51d1-a4a6-06f96559a9c4" // Siobhán O'Brien
	for _, tt := range []struct {
		name, query string
		want        []string
	}{
		{"unquoted", `filter=eq(email,subscriber-0002@example.com)`, ofAccount2},
		{"other email", `filter=eq(email,a@b.c)`, []string{}},
		{"percent-encoded", `filter=eq%28email%2Csubscriber-0002%40example.com%29`, ofAccount2},
		{"double quotes", `filter=eq%28name%2C%22Siobh%C3%A1n+O%27Brien%22%29`, ofAccount2},
		{"single quotes, one escaped", `filter=eq(name,'Siobh%C3%A1n%20O\'Brien')`, ofAccount2},
		{"two conditions", `filter=eq(account_id,` + account2 + `):eq(external_ref,order-000004)`, []string{"order-000004"}},
		{"three, encoded and quoted", `filter=eq%28account_id%2C%22` + account2 + `%22%29%3Aeq%28email%2C%22subscriber-0002%40example.com%22%29%3Aeq%28external_ref%2C%22order-000002%22%29`, []string{"order-000002"}},
		{"two that exclude each other", `filter=eq(external_ref,order-000002):eq(external_ref,order-000004)`, []string{}},
		{"with other parameters", `include=plans&filter=eq(email,subscriber-0002@example.com)&page[limit]=2&page%5Boffset%5D=1`, ofAccount2[1:]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, g := range generations {
				t.Run(g.name, func(t *testing.T) {
					t.Parallel()
					eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
						l := decodeList(t, send(seededGeneration(g.generation, 12), get(listPath+"?"+tt.query)))
						if diff := cmp.Diff(tt.want, l.refs()); diff != "" {
							t.Errorf("refs (-want +got):\n%s", diff)
						}
					})
				})
			}
		})
	}
}

// ofAccount2 are the subscriptions of the second account.
var ofAccount2 = []string{"order-000006", "order-000004", "order-000002"}

func TestListIncludes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		query           string
		plans, products bool
	}{
		{"include=plans", true, false},
		{"include=products", false, true},
		{"include=plans,products", true, true},
		{"include=products%2Cplans", true, true},
		{"include=", false, false},
	} {
		t.Run(tt.query, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, send func(*commercetest.Store, string) wireAnswer) {
				// One subscription: of the second offering, which has two plans and two products.
				l := decodeList(t, send(seeded(9), get(listPath+"?page[limit]=1&"+tt.query)))
				types := map[string][]string{}
				for name, list := range l.Included {
					for _, r := range list {
						types[name] = append(types[name], r.Type)
					}
				}
				want := map[string][]string{}
				if tt.plans {
					want["plans"] = []string{"subscription_offering_plan", "subscription_offering_plan"}
				}
				if tt.products {
					want["products"] = []string{"subscription_offering_product", "subscription_offering_product"}
				}
				if diff := cmp.Diff(want, types); diff != "" {
					t.Errorf("included (-want +got):\n%s", diff)
				}
				own := func(r struct{ ID, Type string }) bool { return r.ID == l.Data[0].Attributes.PlanID }
				if tt.plans && !slices.ContainsFunc(l.Included["plans"], own) {
					t.Error("the subscription's own plan is not included")
				}
			})
		})
	}
}

func TestAddAndRemoveSubscription(t *testing.T) {
	t.Parallel()
	store := seeded(2)
	sub := commerce.Subscription{ID: uuid.MustParse(cartItem), Type: "subscription"}
	sub.Attributes.ExternalRef = "new"
	sub.Meta.Timestamps.CreatedAt = time.Date(2025, 1, 2, 3, 4, 5, 123456789, time.UTC)
	sub.Extra = commerce.Extra{"later": json.RawMessage(`{"a":1}`)}
	store.AddSubscription(sub)
	sub.Extra["later"][5] = '2' // must not reach the store

	list := func() listBody {
		t.Helper()
		a, err := overTransport(t, store, get(listPath))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(a.Body, `"new"`) {
			for _, part := range []string{`"later":{"a":1}`, `"created_at":"2025-01-02T03:04:05.123456789Z"`} {
				if !strings.Contains(a.Body, part) {
					t.Errorf("no %s in the list", part)
				}
			}
		}
		return decodeList(t, a)
	}
	if diff := cmp.Diff([]string{"new", "order-000002", "order-000001"}, list().refs()); diff != "" {
		t.Errorf("after adding (-want +got):\n%s", diff)
	}
	second := uuid.MustParse(list().Data[1].ID)
	if !store.RemoveSubscription(second) {
		t.Error("nothing to remove")
	}
	if store.RemoveSubscription(second) {
		t.Error("removed twice")
	}
	if diff := cmp.Diff([]string{"new", "order-000001"}, list().refs()); diff != "" {
		t.Errorf("after removing (-want +got):\n%s", diff)
	}
	defer func() {
		if recover() == nil {
			t.Error("a subscription that can't be encoded was taken")
		}
	}()
	store.AddSubscription(commerce.Subscription{Extra: commerce.Extra{"x": json.RawMessage("{")}})
}

func TestSeed(t *testing.T) {
	t.Parallel()
	body := func(store *commercetest.Store) string {
		t.Helper()
		a, err := overTransport(t, store, get(listPath+"?include=plans,products&page[limit]=100"))
		if err != nil {
			t.Fatal(err)
		}
		return a.Body
	}
	again := seeded(3)
	again.Seed(100)
	first := body(seeded(100))
	if diff := cmp.Diff(first, body(again)); diff != "" {
		t.Errorf("the same n gives another store (-first +second):\n%s", diff)
	}
	again.Seed(-1)
	if l := decodeList(t, wireAnswer{Status: 200, Body: body(again)}); len(l.Data) != 0 {
		t.Errorf("%d subscriptions after Seed(-1)", len(l.Data))
	}

	var l struct{ Data []commerce.Subscription }
	if err := json.Unmarshal([]byte(first), &l); err != nil {
		t.Fatal(err)
	}
	store := seeded(100)
	seen := map[string]int{}
	accounts := map[uuid.UUID]int{}
	ids := map[uuid.UUID]bool{}
	for i, sub := range l.Data {
		times := sub.Meta.Timestamps
		ids[sub.ID] = true
		accounts[sub.Attributes.AccountID]++
		who, ok := store.SubscriberOf(sub.Attributes.AccountID)
		if !ok || who.Name == "" || !regexp.MustCompile(`^subscriber-\d{4}@example\.com$`).MatchString(who.Email) {
			t.Errorf("%s: subscriber %+v", sub.Attributes.ExternalRef, who)
		}
		if i > 0 && !sub.Meta.Timestamps.CreatedAt.Before(l.Data[i-1].Meta.Timestamps.CreatedAt) {
			t.Errorf("%s is not older than the one before", sub.Attributes.ExternalRef)
		}
		seen["status "+sub.Meta.Status]++
		seen["action "+sub.Meta.State.Attributes.Action]++
		for name, flag := range map[string]bool{
			"paused": sub.Meta.Paused, "canceled": sub.Meta.Canceled, "closed": sub.Meta.Closed,
			"canceled, yet active": sub.Meta.Canceled && sub.Meta.Status == "active",
			"suspended":            sub.Meta.Suspended, "pending": sub.Meta.Pending, "manual payments": sub.Meta.ManualPayments,
			"goes live later": times.GoLive.IsZero() && times.GoLiveAfter.After(times.CreatedAt),
		} {
			if flag {
				seen[name]++
			}
		}
		fraction := sub.Meta.Timestamps.CreatedAt.Format(time.RFC3339Nano)
		_, fraction, _ = strings.Cut(strings.TrimSuffix(fraction, "Z"), ".")
		seen[fmt.Sprint("digits ", len(fraction))]++
	}
	if len(ids) != 100 {
		t.Errorf("%d ids for 100 subscriptions", len(ids))
	}
	want := []string{
		"status active", "status inactive", "action ", "action cancel", "action pause", "action resume", "action pending",
		"paused", "canceled", "closed", "canceled, yet active", "suspended", "pending", "manual payments", "goes live later",
		"digits 3", "digits 6", "digits 9",
	}
	for _, what := range want {
		if seen[what] == 0 {
			t.Errorf("no seeded subscription with %q; there are %v", what, seen)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("seeded subscriptions with something else: %v", seen)
	}
	if len(accounts) != 34 {
		t.Errorf("%d accounts share 100 subscriptions, want 34", len(accounts))
	}
	if _, ok := store.SubscriberOf(uuid.Nil); ok {
		t.Error("a subscriber of no account")
	}
}
