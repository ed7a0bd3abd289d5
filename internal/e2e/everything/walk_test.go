package everything_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// walked is what a walk yielded.
type walked struct {
	times   map[uuid.UUID]uint8 // by record
	maxHeap uint64              // bytes that the garbage collector found in use, times included
	kept    uint64              // bytes that are in use after the walk: most of them are times
}

// walkFunc is one of the two ways to walk a store.
type walkFunc func(
	context.Context, *commerce.Client, *commerce.SubscriptionListOptions,
) iter.Seq2[*commerce.Subscription, error]

func byOffset(
	ctx context.Context, c *commerce.Client, opts *commerce.SubscriptionListOptions,
) iter.Seq2[*commerce.Subscription, error] {
	return c.Subscriptions.All(ctx, opts)
}

func byAccount(
	ctx context.Context, c *commerce.Client, opts *commerce.SubscriptionListOptions,
) iter.Seq2[*commerce.Subscription, error] {
	return c.Subscriptions.AllByAccount(ctx, nil, opts)
}

// walk walks a store. All may end in ErrOffsetLimit after all records, as accounts disappear.
func walk(t *testing.T, url string, all walkFunc) *walked {
	t.Helper()
	c, err := commerce.New(url, commerce.WithToken(commercetest.DefaultToken))
	if err != nil {
		t.Fatal(err)
	}
	w := &walked{times: map[uuid.UUID]uint8{}}
	opts := &commerce.SubscriptionListOptions{Concurrency: 8}
	for sub, err := range all(t.Context(), c, opts) {
		if errors.Is(err, commerce.ErrOffsetLimit) {
			t.Log(err)
			break
		}
		if err != nil {
			t.Fatalf("the walk ended in the error %v", err)
		}
		w.times[sub.ID]++
		w.maxHeap = max(w.maxHeap, liveHeap())
	}
	runtime.GC()
	w.kept = liveHeap()
	return w
}

func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// A walk yields each subscription that stays, in accounts that stay.
//
//nolint:paralleltest // measures the memory of the whole process
func TestAllByAccount(t *testing.T) {
	for _, tt := range []struct {
		name string
		all  walkFunc
		big  []int
		size int
	}{
		{name: "small accounts", all: byAccount, size: size(12_000)},
		{name: "large accounts", all: byAccount, size: size(1000), big: []int{9000, 10_099}},
		{name: "by offset, and then by account", all: byOffset, size: max(size(12_000), 11_000)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && len(tt.big) > 0 {
				t.Skip("TestAllByAccount_offsetLimit of the root package has a large account too")
			}
			s := startStore(t, storeConfig{Seed: rand.Uint64(), Changes: 40, Subscriptions: tt.size, Big: tt.big})
			w := walk(t, s.URL, tt.all)
			checkWalk(t, w, s.report(t))
		})
	}
}

// checkWalk checks that the walk missed no record of those that stayed, and yielded none twice.
func checkWalk(t *testing.T, w *walked, r storeReport) {
	t.Helper()
	const maxHeap, mib = 24 << 20, float64(1 << 20) // an account with 10,099 subscriptions needs most of it
	missed, repeated := 0, 0
	for _, id := range r.Stayed {
		if w.times[id] == 0 {
			missed++
		}
	}
	for _, n := range w.times {
		if n > 1 {
			repeated++
		}
	}
	t.Logf("%d records, %d stayed, %d missed, %d repeated; %d changes; live heap at most %.1f MiB, %.1f of them kept",
		len(w.times), len(r.Stayed), missed, repeated, r.Changes, float64(w.maxHeap)/mib, float64(w.kept)/mib)
	if missed > 0 || repeated > 0 || w.maxHeap-w.kept > maxHeap {
		t.Errorf("%d records missed, %d repeated, live heap of %d bytes without what is kept, want none, none, at most %d",
			missed, repeated, w.maxHeap-w.kept, maxHeap)
	}
	if r.Changes == 0 {
		t.Error("the store did not change: the test proves nothing")
	}
}
