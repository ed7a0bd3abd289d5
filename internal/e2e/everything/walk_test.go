package everything_test

import (
	"errors"
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

// walk walks a store. All may end in ErrOffsetLimit after all records, as accounts disappear.
func walk(t *testing.T, url string, opts commerce.SubscriptionListOptions) *walked {
	t.Helper()
	c, err := commerce.New(url, commerce.WithToken(commercetest.DefaultToken))
	if err != nil {
		t.Fatal(err)
	}
	w := &walked{times: map[uuid.UUID]uint8{}}
	opts.Concurrency = 8
	for sub, err := range c.Subscriptions.All(t.Context(), &opts) {
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

var byAccount = commerce.SubscriptionListOptions{ByAccount: true}

// A walk yields each subscription that stays, in accounts that stay.
//
//nolint:paralleltest // measures the memory of the whole process
func TestAll(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts commerce.SubscriptionListOptions
		big  []int
		size int
	}{
		{name: "small accounts", opts: byAccount, size: size(2000)},
		{name: "large accounts", opts: byAccount, size: size(1000), big: []int{10_099}},
		{name: "by offset, and then by account", size: size(11_000)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && tt.name != "small accounts" {
				t.Skip("takes long, and small accounts show races too")
			}
			s := startStore(t, storeConfig{Seed: rand.Uint64(), Changes: 40, Subscriptions: tt.size, Big: tt.big})
			w := walk(t, s.URL, tt.opts)
			checkWalk(t, w, s.report(t))
		})
	}
}

// checkWalk checks that the walk missed no record of those that stayed, and yielded none twice.
func checkWalk(t *testing.T, w *walked, r storeReport) {
	t.Helper()
	const maxHeap, mib = 24 << 20, float64(1 << 20) // an account with 10,099 subscriptions needs most of it
	missed, repeated := 0, 0
	for _, id := range r.Stayed { // others may come again, if their account has disappeared from the list
		switch w.times[id] {
		case 0:
			missed++
		case 1:
		default:
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
