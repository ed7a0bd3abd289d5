package commercetest

import (
	"encoding/json"
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
