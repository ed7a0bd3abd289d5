package commercetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce"
)

// A subscription of Seed is not decoded from its JSON, but it is what its JSON decodes to.
func TestSeed_decodes(t *testing.T) {
	t.Parallel()
	store := NewStore(Config{})
	store.Seed(10)
	for _, sub := range store.subscriptions.all {
		if sub.kept != nil {
			t.Errorf("%s is encoded, want it encoded when a response needs it", sub.externalRef)
		}
		want := newStoredSubscription(sub.number, sub.decoded())
		want.seed = sub.seed
		if *sub != *want {
			t.Errorf("%s is found by other values than it has: got %+v, want %+v", sub.externalRef, sub, want)
		}
	}
	for _, g := range []Generation{FirstGeneration, SecondGeneration} {
		offerings, _ := newSeedOfferings(g)
		seed := &seed{offerings: offerings}
		for i := 1; i <= 120; i++ {
			var want commerce.Subscription
			if err := json.Unmarshal(encode(seed.subscription(i)), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, seed.subscription(i)); diff != "" {
				t.Fatalf("generation %d, subscription %d (-want +got):\n%s", g, i, diff)
			}
		}
	}
}

// The plans of the only subscription have two resources of each include. If the include has a
// mark, it is true for one of them and null for the other.
func TestSeed_includes(t *testing.T) {
	t.Parallel()
	for g, kinds := range includes {
		store := NewStore(Config{Generation: g})
		store.Seed(1)
		for _, r := range store.includable {
			if !slices.Contains(kinds, r.include) {
				t.Errorf("generation %d has %s, want them in its includes", g, r.include.name)
			}
		}
		for _, kind := range kinds {
			path := "/v2/subscriptions/subscriptions?include=" + kind.name
			req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			req.Header.Set("Authorization", "Bearer "+DefaultToken)
			rec := httptest.NewRecorder()
			store.ServeHTTP(rec, req)
			var body struct {
				Included map[string][]struct{ Meta map[string]any }
			}
			if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, r := range body.Included[kind.name] {
				for name, value := range r.Meta {
					if strings.HasPrefix(name, "active_") {
						got = append(got, fmt.Sprint(name, ": ", value))
					}
				}
			}
			slices.Sort(got)
			want := []string{kind.mark + ": <nil>", kind.mark + ": true"}
			if kind.mark == "" {
				want = []string{}
			}
			if n := len(body.Included[kind.name]); n != 2 {
				t.Errorf("generation %d: got %d %s, want 2", g, n, kind.name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("generation %d, marks of %s (-want +got):\n%s", g, kind.name, diff)
			}
		}
	}
}
