package recipes_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// eachOf calls do with each subscription of accounts, which are all different.
func eachOf(
	ctx context.Context, client *commerce.Client, accounts []uuid.UUID, do func(*commerce.Subscription),
) error {
	for some := range slices.Chunk(accounts, 100) {
		filter := commerce.SubscriptionFilter{AccountIDs: some}
		for sub, err := range client.Subscriptions.All(ctx, &commerce.SubscriptionListOptions{Filter: filter}) {
			if err != nil {
				return err
			}
			do(sub)
		}
	}
	return nil
}

// Exactly the subscriptions of the accounts are read, and nothing if there is no account.
func TestEachOf(t *testing.T) {
	t.Parallel()
	store := commercetest.New(t, commercetest.Config{})
	store.Seed(900)
	accounts, err := commerce.Collect(store.Client().Accounts.IDs(t.Context(), uuid.Nil))
	if err != nil || len(accounts) < 250 {
		t.Fatalf("got %d accounts, error %v, want at least 250", len(accounts), err)
	}
	for _, some := range [][]uuid.UUID{nil, {}, accounts[:1], accounts[20:]} {
		want := 0
		for sub := range store.Subscriptions() {
			if slices.Contains(some, sub.Attributes.AccountID) {
				want++
			}
		}
		got := map[uuid.UUID]bool{}
		err := eachOf(t.Context(), store.Client(), some, func(sub *commerce.Subscription) { got[sub.ID] = true })
		if err != nil || len(got) != want {
			t.Errorf("%d accounts: got %d subscriptions, error %v, want %d", len(some), len(got), err, want)
		}
	}
}
