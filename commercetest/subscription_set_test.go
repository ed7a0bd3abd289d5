package commercetest_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// A subscription that the store yields or changes shares no memory with others.
func TestSubscriptions_areCopies(t *testing.T) {
	t.Parallel()
	for _, g := range generations {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			store := seeded(g.generation, 20)
			list := func() string { return send(t, store, get(listPath+"?page[limit]=19&include=plans,"+g.second)).Body }
			before := list()
			spoil := func(sub *commerce.Subscription) {
				offering := &sub.Attributes.Offering
				for _, refs := range [][]string{offering.Meta.ExternalProductRefs, offering.Meta.ExternalPlanRefs} {
					for i := range refs {
						refs[i] = "spoiled"
					}
				}
				for _, relationships := range []commerce.Relationships{sub.Relationships, offering.Relationships} {
					for i := range relationships {
						relationships[i].Links[0].Link.Href = "spoiled"
						relationships[i].Data.Refs[0].ID = uuid.Nil
						relationships[i].Name += " spoiled"
					}
				}
			}
			for sub := range store.Subscriptions() {
				spoil(&sub)
			}
			wantEqual(t, "list after a loop", list(), before)
			store.UpdateSubscription(uuid.MustParse(seededID(1)), spoil) // the twentieth
			wantEqual(t, "list after an update", list(), before)
		})
	}
}

// TestStore_model makes random changes to a store, and to a list of subscriptions and a list
// of accounts. The store must have the same.
func TestStore_model(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(t)
		rt.Repeat(map[string]func(*rapid.T){
			"add subscription":    m.add,
			"remove subscription": m.remove,
			"update subscription": m.update,
			"add account":         func(rt *rapid.T) { m.addAccount(drawAccount(rt)) },
			"remove account":      m.removeAccount,
			"check":               m.check,
		})
		m.check(rt)
	})
}

// model is a store, and what it should have.
type model struct {
	t             *testing.T
	store         *commercetest.Store
	subscriptions []commerce.Subscription // newest first
	accounts      []uuid.UUID             // in the order in which they were added
	changes       int
}

// newModel returns a store with seeded subscriptions of two accounts.
func newModel(t *testing.T) *model {
	t.Helper()
	m := &model{t: t, store: seeded(commercetest.SecondGeneration, 6)}
	m.subscriptions = slices.Collect(m.store.Subscriptions())
	m.accounts = []uuid.UUID{uuid.MustParse(account1), uuid.MustParse(account2)}
	return m
}

// drawID returns the id of a subscription. Two of Seed are among them.
func drawID(t *rapid.T) uuid.UUID {
	return uuid.MustParse(rapid.SampledFrom([]string{cartItem, absentItem, seededID(1), seededID(4)}).Draw(t, "id"))
}

func drawAccount(t *rapid.T) uuid.UUID {
	text := rapid.SampledFrom([]string{uuid.Nil.String(), cartItem, account1, account2}).Draw(t, "account")
	return uuid.MustParse(text)
}

// find returns the index of the newest subscription with this id, or -1.
func (m *model) find(id uuid.UUID) int {
	return slices.IndexFunc(m.subscriptions, func(sub commerce.Subscription) bool { return sub.ID == id })
}

func (m *model) add(t *rapid.T) {
	m.changes++
	sub := commerce.Subscription{ID: drawID(t)}
	sub.Attributes.AccountID, sub.Attributes.ExternalRef = drawAccount(t), fmt.Sprint(m.changes)
	m.store.AddSubscription(sub)
	m.subscriptions = slices.Insert(m.subscriptions, 0, sub)
	if sub.Attributes.AccountID != uuid.Nil {
		m.addAccount(sub.Attributes.AccountID)
	}
}

func (m *model) remove(t *rapid.T) {
	id := drawID(t)
	i := m.find(id)
	wantEqual(m.t, "RemoveSubscription", m.store.RemoveSubscription(id), i >= 0)
	if i >= 0 {
		m.subscriptions = slices.Delete(m.subscriptions, i, i+1)
	}
}

func (m *model) update(t *rapid.T) {
	m.changes++
	id, newID, account := drawID(t), drawID(t), drawAccount(t)
	change := func(sub *commerce.Subscription) {
		sub.ID, sub.Attributes.AccountID, sub.Attributes.ExternalRef = newID, account, fmt.Sprint(m.changes)
	}
	i := m.find(id)
	wantEqual(m.t, "UpdateSubscription", m.store.UpdateSubscription(id, change), i >= 0)
	if i < 0 {
		return
	}
	before := m.subscriptions[i].Attributes.AccountID
	change(&m.subscriptions[i])
	if account != before && account != uuid.Nil {
		m.addAccount(account)
	}
}

func (m *model) addAccount(id uuid.UUID) {
	m.store.AddAccount(id)
	if !slices.Contains(m.accounts, id) {
		m.accounts = append(m.accounts, id)
	}
}

func (m *model) removeAccount(t *rapid.T) {
	id := drawAccount(t)
	i := slices.Index(m.accounts, id)
	wantEqual(m.t, "RemoveAccount", m.store.RemoveAccount(id), i >= 0)
	if i >= 0 {
		m.accounts = slices.Delete(m.accounts, i, i+1)
	}
}

// check compares the whole store with the model.
func (m *model) check(t *rapid.T) {
	want := func(what string, got, want any) {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", what, diff)
		}
	}
	var yielded []string
	for sub := range m.store.Subscriptions() {
		yielded = append(yielded, sub.Attributes.ExternalRef)
	}
	of := []uuid.UUID{drawAccount(t), drawAccount(t)}
	refs, ofRefs := []string{}, []string{}
	for _, sub := range m.subscriptions {
		refs = append(refs, sub.Attributes.ExternalRef)
		if slices.Contains(of, sub.Attributes.AccountID) {
			ofRefs = append(ofRefs, sub.Attributes.ExternalRef)
		}
	}
	want("subscriptions", slices.Concat([]string{}, yielded), refs)
	id := drawID(t)
	if i := m.find(id); i >= 0 {
		body := send(m.t, m.store, get(listPath+"/"+id.String())).Body
		want("subscription is the newest", strings.Contains(body, `"external_ref":"`+refs[i]+`"`), true)
	}
	list := func(query string) []string { return decodeList(m.t, send(m.t, m.store, get(listPath+query))).refs() }
	want("list", list("?page[limit]=100"), refs[:min(100, len(refs))])
	filter := fmt.Sprintf("?page[limit]=100&filter=in(account_id,%s,%s)", of[0], of[1])
	want("list of accounts", list(filter), ofRefs[:min(100, len(ofRefs))])

	ids := func(query string) (ids []uuid.UUID) {
		for _, account := range listAccounts(m.t, m.store, "?page[limit]=100"+query).Data {
			ids = append(ids, account.ID)
		}
		return ids
	}
	want("accounts", ids(""), slices.Concat(m.accounts))
	sorted := slices.SortedFunc(slices.Values(m.accounts), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	want("sorted accounts", ids("&sort=id"), sorted)
}

// BenchmarkStore measures a store of 250,000 subscriptions of 83,334 accounts. Seed should
// take less than two seconds. The MiB-live are the memory of the store.
func BenchmarkStore(b *testing.B) {
	const n = 250_000
	before := liveBytes()
	store := seeded(commercetest.SecondGeneration, n)
	live := float64(liveBytes()-before) / (1 << 20)
	b.Run("Seed", func(b *testing.B) {
		for b.Loop() {
			store.Seed(n)
		}
		b.ReportMetric(live, "MiB-live")
	})
	in := "in(account_id," + account1
	for sub := range store.Subscriptions() {
		if in += "," + sub.Attributes.AccountID.String(); len(in) > 5_500 {
			break
		}
	}
	for _, bm := range []struct{ name, target string }{
		{name: "page", target: listPath + "?page[limit]=100&page[offset]=10000"},
		{name: "page of 149 accounts", target: listPath + "?page[limit]=100&filter=" + in + ")"},
		{name: "page by ref", target: listPath + "?filter=eq(external_ref,order-000001)"},
		{name: "accounts by key", target: accountsPath + "?page[limit]=100&sort=id&filter=gt(id," + cartItem + ")"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			for b.Loop() {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, bm.target, nil)
				r.Header.Set("Authorization", "Bearer "+commercetest.DefaultToken)
				w := httptest.NewRecorder()
				if store.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Fatalf("status = %d, want 200", w.Code)
				}
			}
		})
	}
	b.Run("add and remove", func(b *testing.B) {
		sub := commerce.Subscription{ID: uuid.MustParse(cartItem)}
		sub.Attributes.AccountID = uuid.MustParse(absentItem)
		for b.Loop() {
			store.AddSubscription(sub)
			store.RemoveSubscription(sub.ID)
			store.RemoveAccount(sub.Attributes.AccountID)
		}
	})
	b.Run("Subscriptions", func(b *testing.B) {
		for b.Loop() {
			for range store.Subscriptions() {
			}
		}
	})
}

// liveBytes returns the memory that is in use after a garbage collection.
func liveBytes() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
