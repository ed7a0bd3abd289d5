package everything_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// walks are the ways to walk a store.
var walks = []struct {
	name string
	walk func(ctx context.Context, c *commerce.Client, concurrency int) iter.Seq2[*commerce.Subscription, error]
}{
	{name: "All", walk: walkAll},
	{name: "Pages", walk: walkPages},
	{name: "AllByAccount", walk: walkByAccount},
}

func walkAll(ctx context.Context, c *commerce.Client, concurrency int) iter.Seq2[*commerce.Subscription, error] {
	return c.Subscriptions.All(ctx, &commerce.SubscriptionListOptions{Concurrency: concurrency})
}

func walkByAccount(ctx context.Context, c *commerce.Client, concurrency int) iter.Seq2[*commerce.Subscription, error] {
	return c.Subscriptions.AllByAccount(ctx, nil, &commerce.SubscriptionListOptions{Concurrency: concurrency})
}

func walkPages(ctx context.Context, c *commerce.Client, concurrency int) iter.Seq2[*commerce.Subscription, error] {
	opts := &commerce.SubscriptionListOptions{Concurrency: concurrency}
	return func(yield func(*commerce.Subscription, error) bool) {
		for page, err := range c.Subscriptions.Pages(ctx, opts) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Subscriptions {
				if !yield(&page.Subscriptions[i], nil) {
					return
				}
			}
		}
	}
}

// Whatever the links of a page are, and however short it is, a walk yields each record that stays
// exactly once, and no other twice. After each page, one record is removed, one is added at the
// front, or both.
func TestWalk_links(t *testing.T) {
	t.Parallel()
	for _, links := range []struct {
		name  string
		links commercetest.Links
	}{
		{name: "strings", links: commercetest.LinksAsStrings},
		{name: "objects", links: commercetest.LinksAsObjects},
		{name: "without next", links: commercetest.LinksWithoutNext},
		{name: "none", links: commercetest.NoLinks},
	} {
		for _, maxPage := range []int{0, 7} {
			for _, concurrency := range []int{1, 4} {
				for _, w := range walks {
					name := fmt.Sprintf("%s/links %s/at most %d a page/concurrency %d", w.name, links.name, maxPage, concurrency)
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						for _, c := range []changes{additions, removals, both} {
							store, stays := newChangingStore(c, commercetest.Config{Links: links.links, MaxPage: maxPage})
							checkOnce(t, c, w.walk(t.Context(), store.Client(), concurrency), stays)
						}
					})
				}
			}
		}
	}
}

// changes are what happens to a list after each page.
type changes string

const (
	additions changes = "additions"
	removals  changes = "removals"
	both      changes = "both"
)

// newChangingStore returns a store that changes after each page of subscriptions, and the
// subscriptions that stay.
func newChangingStore(c changes, cfg commercetest.Config) (store *commercetest.Store, stays []record) {
	var goes []uuid.UUID
	var account uuid.UUID // has hundreds of subscriptions
	var pages atomic.Int64
	cfg.AfterRequest = func(s *commercetest.Store, in commercetest.Request) {
		if in.Operation != commercetest.OpList {
			return
		}
		n := int(pages.Add(1))
		if c != additions && n <= len(goes) {
			s.RemoveSubscription(goes[n-1])
		}
		if c != removals {
			sub := commerce.Subscription{ID: uuid.NewSHA1(account, fmt.Append(nil, n))}
			sub.Attributes.AccountID = account
			s.AddSubscription(sub)
		}
	}
	store = commercetest.NewStore(cfg)
	store.Seed(300)
	i := 0
	for sub := range store.Subscriptions() {
		if i++; i%3 == 0 {
			goes = append(goes, sub.ID)
		} else {
			stays = append(stays, record{ID: sub.ID})
		}
		account = sub.Attributes.AccountID
	}
	return store, stays
}

// checkOnce checks that a walk yields each of these records, and none twice.
func checkOnce(t *testing.T, c changes, walk iter.Seq2[*commerce.Subscription, error], stays []record) {
	t.Helper()
	w := walked{times: map[uuid.UUID]int{}}
	for sub, err := range walk {
		if err != nil {
			t.Fatalf("%s: the walk ended in the error %v", c, err)
		}
		w.times[sub.ID]++
	}
	if missed, repeated := w.wrong(stays); missed+repeated > 0 {
		t.Errorf("%s: %d of %d records missed, %d yielded twice, want 0 and 0", c, missed, len(stays), repeated)
	}
}
