package everything_test

import (
	"errors"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/commerce-go/commerce"
	"github.com/commerce-go/commerce/commercetest"
)

// walked is what a walk yielded.
type walked struct {
	times   map[uuid.UUID]uint8 // by record
	maxHeap uint64              // bytes that the garbage collector found in use, times included
	took    time.Duration
	skipped []uuid.UUID // accounts that cannot be read
}

// walk walks a store by account. After an account that cannot be read, it goes on.
func walk(t *testing.T, url string) *walked {
	t.Helper()
	c, err := commerce.New(url, commerce.WithToken(commercetest.DefaultToken))
	if err != nil {
		t.Fatal(err)
	}
	w, begin := &walked{times: map[uuid.UUID]uint8{}}, time.Now()
	opts := &commerce.SubscriptionListOptions{Concurrency: 8}
	for after, ended := uuid.Nil, false; !ended; {
		ended = true
		for sub, err := range c.Subscriptions.AllByAccount(t.Context(), c.Accounts.IDs(t.Context(), after), opts) {
			stop, ok := errors.AsType[*commerce.PagingError](err)
			switch {
			case ok && errors.Is(err, commerce.ErrOffsetLimit) && stop.Account != uuid.Nil:
				after, ended = stop.Account, false
				w.skipped = append(w.skipped, after)
			case err != nil:
				t.Fatalf("the walk ended in the error %v", err)
			default:
				w.times[sub.ID]++
				w.maxHeap = max(w.maxHeap, liveHeap())
			}
		}
	}
	w.took = time.Since(begin)
	return w
}

func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// A walk yields each subscription that stays, in accounts that stay, except those of an account
// with too many.
//
//nolint:paralleltest // measures the memory of the whole process
func TestAllByAccount(t *testing.T) {
	for _, tt := range []struct {
		name    string
		big     []int
		size    int
		skipped int // the last accounts of big
	}{
		{name: "small accounts", size: 12_000},
		{name: "large accounts", size: 1000, big: []int{9000, 10_099}},
		{name: "an account with too many", size: 1000, big: []int{10_100}, skipped: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && len(tt.big) > 0 {
				t.Skip("TestAllByAccount_offsetLimit of the root package has a large account too")
			}
			s := startStore(t, storeConfig{Seed: seed(t), Changes: 40, Subscriptions: size(tt.size), Big: tt.big})
			w := walk(t, s.URL)
			r := s.report(t)
			if want := s.Big[len(s.Big)-tt.skipped:]; !slices.Equal(w.skipped, want) {
				t.Errorf("accounts %v cannot be read, want %v", w.skipped, want)
			}
			checkWalk(t, w, r.Stayed)
			checkRequests(t, s, r)
			for _, filter := range r.AtLimit {
				if strings.Count(filter, ",") > 1 {
					t.Errorf("got a request at the highest offset for %s, want one for a single account only", filter)
				}
			}
		})
	}
}

// checkWalk checks that the walk missed no record of those that stayed, and yielded none twice.
func checkWalk(t *testing.T, w *walked, stayed []record) {
	t.Helper()
	const maxHeap = 48 << 20
	missed, repeated := 0, 0
	for _, r := range stayed {
		if w.times[r.ID] == 0 && !slices.Contains(w.skipped, r.Account) {
			missed++
		}
	}
	for _, n := range w.times {
		if n > 1 {
			repeated++
		}
	}
	t.Logf("%d records in %v, %d stayed, %d missed, %d repeated; live heap at most %.1f MiB",
		len(w.times), w.took.Round(time.Millisecond), len(stayed), missed, repeated, float64(w.maxHeap)/(1<<20))
	if missed > 0 || repeated > 0 || w.maxHeap > maxHeap {
		t.Errorf("%d records missed, %d repeated, live heap of %d bytes, want none, none and at most %d",
			missed, repeated, w.maxHeap, maxHeap)
	}
}

// checkRequests checks the number of requests of one walk.
func checkRequests(t *testing.T, s *remoteStore, r storeReport) {
	t.Helper()
	most := 1.15 * (float64(s.Accounts)/100 + float64(s.Subscriptions)/100 + float64(r.Parts))
	if s.Subscriptions < 100_000 {
		most += 40 * float64(len(s.Big)) // to find out that a part is too long, which is much for a small store only
	}
	t.Logf("%d requests for %d accounts and %d for %d subscriptions in %d parts, at most %.0f; %d changes",
		r.Accounts, s.Accounts, r.Lists, s.Subscriptions, r.Parts, most, r.Changes)
	if n := r.Accounts + r.Lists; float64(n) > most {
		t.Errorf("%d requests, want at most %.0f", n, most)
	}
	if r.Changes == 0 {
		t.Error("the store did not change: the test proves nothing")
	}
}
